"""The container of PyTorch's files: a zip archive of uncompressed records, each on a multiple of 64 bytes.

Format: PKWARE's APPNOTE.TXT. All records lie in one folder, named after the
file. The reader trusts no number in the file: every record is checked against the file's real size before a byte is
allocated for it.
"""

import hashlib
import io
import struct
import zipfile
import zlib

_ALIGN = 64
_LOCAL = struct.Struct("<IHHHHHIIIHH")
_CENTRAL = struct.Struct("<IHHHHHHIIIHHHHHII")
_END = struct.Struct("<IHHHHIIH")
_END64 = struct.Struct("<IQHHIIQQQQ")
_LOCATOR64 = struct.Struct("<IIQI")
_LOCAL_MAGIC = 0x04034B50
_FULL = 0xFFFFFFFF  # a field of 32 bits that sends the reader to the one of 64 bits
_UTF8 = 0x0800
_DATE = 0x0021  # 1980-01-01: the same tensors give the same file
_PADDING = 0x4246  # id of the extra field that fills up to the alignment


class ArchiveWriter:
    """Writes records one after another; needs only a `write` function. `close()` completes the archive."""

    def __init__(self, write, folder):
        self._write = write
        self._folder = folder
        self._at = 0
        self._entries = []  # (name, crc, size, offset)

    def _put(self, data):
        self._write(data)
        self._at += len(data)

    def add(self, name, data):
        """One record: a name within the folder, and bytes or a memoryview of them."""
        path = f"{self._folder}/{name}".encode()
        size, crc, offset = len(data), zlib.crc32(data), self._at
        large = size >= _FULL
        extra = struct.pack("<HHQQ", 1, 16, size, size) if large else b""
        pad = -(offset + _LOCAL.size + len(path) + len(extra)) % _ALIGN
        if 0 < pad < 4:  # an extra field has a head of 4 bytes
            pad += _ALIGN
        if pad:
            extra += struct.pack("<HH", _PADDING, pad - 4) + bytes(pad - 4)
        shown = _FULL if large else size
        version = 45 if large else 20
        self._put(
            _LOCAL.pack(_LOCAL_MAGIC, version, _UTF8, 0, 0, _DATE, crc, shown, shown, len(path), len(extra))
        )
        self._put(path + extra)
        if size:
            self._put(data)
        self._entries.append((path, crc, size, offset))

    def close(self):
        """A record that identifies the content, then the directory."""
        digest = hashlib.sha256(b"".join(struct.pack("<IQ", e[1], e[2]) + e[0] for e in self._entries)).digest()
        self.add(".data/serialization_id", b"%040d" % (int.from_bytes(digest[:16], "little")))
        start = self._at
        for path, crc, size, offset in self._entries:
            wide = [n for n in (size, size, offset) if n >= _FULL]
            extra = struct.pack(f"<HH{len(wide)}Q", 1, 8 * len(wide), *wide) if wide else b""
            shown, where = min(size, _FULL), min(offset, _FULL)
            version = 45 if wide else 20
            self._put(
                _CENTRAL.pack(
                    *(0x02014B50, version, version, _UTF8, 0, 0, _DATE, crc, shown, shown),
                    *(len(path), len(extra), 0, 0, 0, 0, where),
                )
            )
            self._put(path + extra)
        self._end(start, self._at - start)

    def _end(self, start, size):
        count, here = len(self._entries), self._at
        if start >= _FULL or size >= _FULL or count >= 0xFFFF:
            self._put(_END64.pack(0x06064B50, 44, 45, 45, 0, 0, count, count, size, start))
            self._put(_LOCATOR64.pack(0x07064B50, 0, here, 1))
        short = min(count, 0xFFFF)
        self._put(_END.pack(0x06054B50, 0, 0, short, short, min(size, _FULL), min(start, _FULL), 0))


def _failed(name, why):
    return RuntimeError(f"PytorchStreamReader failed reading zip archive: {why} ({name})")


class ArchiveReader:
    """The records of an archive in a seekable binary file. `name` stands for the file in errors."""

    def __init__(self, file, name):
        self.name = name
        self._file = file
        self._size = file.seek(0, io.SEEK_END)
        try:
            with zipfile.ZipFile(file) as archive:
                entries = archive.infolist()
        except (zipfile.BadZipFile, ValueError, EOFError, struct.error, NotImplementedError, OverflowError) as error:
            raise _failed(
                name,
                f"failed finding central directory: {error}. The file is corrupted: it was not saved or transferred in "
                "whole, or modified afterwards",
            ) from None
        self._records = {}
        for entry in entries:
            self._note(entry)
        if sum(entry.file_size for entry in entries) > self._size:
            raise _failed(name, f"its records claim more than the file's {self._size} bytes")

    def _note(self, entry):
        folder, _, record = entry.filename.partition("/")
        if entry.is_dir():
            return
        if not record:
            raise _failed(self.name, f"record {entry.filename[:80]!r} lies in no folder")
        if entry.compress_type != zipfile.ZIP_STORED or entry.compress_size != entry.file_size:
            raise _failed(self.name, f"record {record[:80]!r} is compressed: PyTorch's files never are")
        if not 0 <= entry.header_offset < self._size:
            raise _failed(self.name, f"record {record[:80]!r} lies at byte {entry.header_offset} of {self._size}")
        if entry.flag_bits & 1:
            raise _failed(self.name, f"record {record[:80]!r} is encrypted")
        self._records[record] = entry

    def __contains__(self, record):
        return record in self._records

    def size(self, record):
        """Bytes of a record. RuntimeError if there is none of that name."""
        if record not in self._records:
            raise RuntimeError(
                f"PytorchStreamReader failed locating file {record[:80]}: file not found ({self.name})"
            )
        return self._records[record].file_size

    def span(self, record):
        """(offset in the file, bytes) of a record, checked to lie within the file."""
        size, entry = self.size(record), self._records[record]
        self._file.seek(entry.header_offset)
        head = self._file.read(_LOCAL.size)
        if len(head) < _LOCAL.size or _LOCAL.unpack(head)[0] != _LOCAL_MAGIC:
            raise _failed(self.name, f"record {record[:80]!r} has no header at byte {entry.header_offset}")
        start = entry.header_offset + _LOCAL.size + sum(_LOCAL.unpack(head)[9:11])
        if start + size > self._size:
            raise _failed(self.name, f"record {record[:80]!r} ends at byte {start + size} of {self._size}")
        return start, size

    def read_into(self, record, memory):
        """Fills a writable memoryview, as large as the record, and checks the checksum."""
        start, size = self.span(record)
        self._file.seek(start)
        got = 0
        while got < size:
            step = self._step(memory[got:])
            if not step:
                raise _failed(self.name, f"record {record[:80]!r} is cut at byte {start + got}")
            got += step
        if zlib.crc32(memory) != self._records[record].CRC:
            raise _failed(self.name, f"record {record[:80]!r} is damaged: its checksum is another")

    def _step(self, memory):
        if hasattr(self._file, "readinto"):
            return self._file.readinto(memory)
        data = self._file.read(len(memory))
        memory[: len(data)] = data
        return len(data)

    def read(self, record):
        """The bytes of a record."""
        data = bytearray(self.size(record))
        self.read_into(record, memoryview(data))
        return bytes(data)
