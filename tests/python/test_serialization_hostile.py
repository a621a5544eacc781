"""Files that are damaged, foreign or made to do harm: errors, no code run, no memory taken from a number in the file."""

import io
import os
import pathlib
import pickle
import random
import resource
import struct
import zipfile

import pytest

import tenon as torch

DATA = pathlib.Path(__file__).parent / "data"
ERRORS = (RuntimeError, pickle.UnpicklingError, EOFError, ValueError)

STORAGE = b"(X\x07\x00\x00\x00storagectorch\nFloatStorage\nX\x01\x00\x00\x000X\x03\x00\x00\x00cpu"
HOOKS = b"ccollections\nOrderedDict\n)R"


def archive(pickled, records=(("data/0", bytes(16)),), compression=zipfile.ZIP_STORED):
    """A file with that pickle."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compression) as made:
        made.writestr("archive/data.pkl", pickled)
        made.writestr("archive/version", b"3\n")
        for name, data in records:
            made.writestr(f"archive/{name}", data)
    return out.getvalue()


def load_pickle(pickled, **options):
    return torch.load(io.BytesIO(archive(pickled)), **options)


def tensor(count=b"K\x04", offset=b"K\x00", size=b"K\x04\x85", stride=b"K\x01\x85"):
    """A pickle of one tensor over record data/0, 16 bytes."""
    return (
        b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n("
        + STORAGE
        + count
        + b"tQ"
        + offset
        + size
        + stride
        + b"\x89"
        + HOOKS
        + b"tR."
    )


def refused(pickled, text, kind=pickle.UnpicklingError):
    with pytest.raises(kind) as info:
        load_pickle(pickled)
    assert text in str(info.value)


@pytest.fixture
def little_memory():
    """No more than 512 MiB on top of what there is."""
    with open("/proc/self/statm") as file:
        now = int(file.read().split()[0]) * resource.getpagesize()
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (now + (512 << 20), before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)


def test_the_made_up_tensor_loads():
    t = load_pickle(tensor())
    assert t.tolist() == [0.0] * 4 and t.dtype == torch.float32


# ---- code ----


def test_globals_of_pytorch_files():
    with pytest.raises(pickle.UnpicklingError, match="GLOBAL print was not an allowed global by default"):
        torch.load(DATA / "global.pt")
    with pytest.raises(pickle.UnpicklingError) as info:
        torch.load(DATA / "blocked.pt")
    assert "Trying to load unsupported GLOBAL posix.system whose module posix is blocked." in str(info.value)
    assert torch.serialization.get_unsafe_globals_in_checkpoint(DATA / "values.pt") == []
    assert torch.serialization.get_unsafe_globals_in_checkpoint(DATA / "global.pt") == ["builtins.print"]


@pytest.mark.parametrize(
    "module, name",
    [
        ("builtins", "eval"),
        ("builtins", "getattr"),
        ("__builtin__", "exec"),
        ("subprocess", "Popen"),
        ("torch.serialization", "load"),
        ("torch._utils", "_set_state"),
        ("tenon._utils", "LoadedStorage"),
        ("torch.storage", "_load_from_bytes"),
        ("collections", "defaultdict"),
    ],
)
def test_no_other_names(module, name):
    pickled = f"c{module}\n{name}\n".encode()
    refused(b"\x80\x02" + pickled + b".", "was not an allowed global by default")
    text = b"\x8c" + bytes([len(module)]) + module.encode() + b"\x8c" + bytes([len(name)]) + name.encode()
    refused(b"\x80\x04" + text + b"\x93.", "was not an allowed global by default")


def test_blocked_even_if_allowed():
    with torch.serialization.safe_globals([os.system]):
        refused(b"\x80\x02cposix\nsystem\nX\x02\x00\x00\x00ls\x85R.", "whose module posix is blocked")


def test_nothing_is_executed(tmp_path):
    mark = tmp_path / "mark"

    class Evil:
        def __reduce__(self):
            return open, (str(mark), "w")

    out = io.BytesIO(archive(pickle.dumps(Evil(), 2)))
    with pytest.raises(pickle.UnpicklingError):
        torch.load(out)
    assert not mark.exists()
    torch.load(out, weights_only=False).close()
    assert mark.exists(), "weights_only=False does execute"


@pytest.mark.parametrize(
    "pickled, text",
    [
        (b"ctorch._utils\n_rebuild_tensor_v2\n}X\x08\x00\x00\x00__code__NsbN.", "Can only build"),
        (b"ctorch\nSize\n)\x81.", "Can only create new object for nn.Parameter or classes allowlisted"),
        (b"ctorch\nTensor\n)R.", "cannot be called"),
        (b"K\x01)R.", "Trying to call reduce for unrecognized function 1"),
        (b"c__builtin__\nbytearray\nJ\xff\xff\xff\x7f\x85R.", "bytearray of int"),
        (b"c_codecs\nencode\nX\x01\x00\x00\x00aX\x04\x00\x00\x00zlib\x86R.", "_codecs.encode of str as zlib"),
        (b"ccollections\nOrderedDict\nK\x01\x85R.", "OrderedDict of int"),
        (b"ctorch._tensor\n_rebuild_from_type_v2\n(ctorch\nSize\nctorch\nTensor\n)}tR.", "a function of its own"),
        (b"ctorch\ndevice\nJ\x01\x00\x00\x00\x85R.", "torch.device of what is not a name"),
        (b"K\x01Q.", "Unknown typename for persistent_load, expected 'storage' but got 1"),
        (b"]K\x01K\x02s.", "Can only SETITEM for dict, collections.OrderedDict, collections.Counter, but got"),
        (b"}K\x01a.", "Can only append to lists, but got <class 'dict'>"),
        (b"}(K\x01u.", "SETITEMS of a key without a value"),
        (b"}]K\x01s.", "unhashable"),
        (b"i__main__\nX\n.", "Unsupported operand 105"),
        (b"h\x07.", "damaged at byte"),
        (b"t.", "no mark on the stack"),
        (b"0.", "damaged at byte"),
        (b"", "damaged at byte"),
        (b"X\xff\xff\xff\xffabc.", "the pickle ends within a value of 4294967295 bytes"),
        (b"\x8d\xff\xff\xff\xff\xff\xff\xff\xffabc.", "the pickle ends within a value of"),
        (b"\x8b\xff\xff\xff\x7f.", "the pickle ends within a value of"),
    ],
)
def test_bad_pickles(pickled, text):
    refused(b"\x80\x02" + pickled, text)


def test_keys_that_take_for_ever_to_hash():
    doubled = b")" + b"".join(b"q" + bytes([i]) + b"h" + bytes([i]) + b"\x86" for i in range(64))
    refused(b"\x80\x02}" + doubled + b"Ns.", "a key is too large a tuple")
    nested = b")" + b"\x85" * 100000
    refused(b"\x80\x02}" + nested + b"Ns.", "a key is too large a tuple")
    deep = load_pickle(b"\x80\x02" + nested + b".")
    assert type(deep) is tuple
    load_pickle(b"\x80\x02" + b"]" * 100000 + b"a" * 99999 + b".")


# ---- sizes ----


@pytest.mark.parametrize(
    "parts, kind, text",
    [
        ({"size": b"K\x05\x85"}, RuntimeError, "requiring a storage size of 20 are out of bounds for storage of size 16"),
        ({"offset": b"K\x01"}, RuntimeError, "are out of bounds for storage of size 16"),
        ({"stride": b"K\x02\x85"}, RuntimeError, "are out of bounds for storage of size 16"),
        ({"size": b"J\xff\xff\xff\xff\x85"}, RuntimeError, "must be non-negative ints"),
        ({"stride": b"J\xff\xff\xff\xff\x85"}, RuntimeError, "must be non-negative ints"),
        ({"offset": b"J\xff\xff\xff\xff"}, RuntimeError, "must be non-negative ints"),
        ({"offset": b"N"}, RuntimeError, "must be non-negative ints"),
        ({"size": b"K\x01K\x01\x86"}, RuntimeError, "mismatch in length of strides and shape"),
        ({"size": b"\x8a\x09" + bytes(8) + b"\x01\x85"}, RuntimeError, "out of bounds"),
        ({"size": b"\x8a\x09" + bytes(8) + b"\x01\x85", "stride": b"K\x00\x85"}, RuntimeError, "out of bounds"),
        ({"count": b"K\x05"}, RuntimeError, "has 16 bytes, but 5 elements of torch.float32 take 20"),
        ({"count": b"K\x03"}, RuntimeError, "has 16 bytes, but 3 elements of torch.float32 take 12"),
        ({"count": b"\x8a\x08" + bytes(7) + b"\x40"}, RuntimeError, "has 16 bytes"),
        ({"count": b"N"}, pickle.UnpicklingError, "damaged reference to a storage"),
    ],
)
def test_tensors_stay_within_their_storage(parts, kind, text, little_memory):
    refused(tensor(**parts), text, kind)


def test_storage_that_is_not_there():
    with pytest.raises(RuntimeError, match="PytorchStreamReader failed locating file data/0: file not found"):
        torch.load(io.BytesIO(archive(tensor(), records=())))


def test_storage_of_a_dtype_that_tenon_lacks():
    refused(tensor().replace(b"FloatStorage", b"ComplexFloatStorage"), "Tenon has no dtype for torch.ComplexFloatStorage")


def test_sizes_in_the_directory(little_memory):
    """A record that claims more than the file has."""
    data = bytearray(archive(tensor(), records=(("data/0", bytes(16)),)))
    at = data.rfind(b"archive/data/0") - 46
    assert data[at : at + 4] == b"PK\x01\x02"
    data[at + 20 : at + 28] = struct.pack("<II", 0x7FFFFFFF, 0x7FFFFFFF)
    with pytest.raises(RuntimeError, match="its records claim more than the file's"):
        torch.load(io.BytesIO(data))


def test_compressed_records(little_memory):
    data = archive(tensor(), records=(("data/0", bytes(1 << 20)),), compression=zipfile.ZIP_DEFLATED)
    with pytest.raises(RuntimeError, match="is compressed: PyTorch's files never are"):
        torch.load(io.BytesIO(data))


# ---- other files ----


def test_foreign_files(tmp_path):
    with pytest.raises(RuntimeError, match=r"legacy.pt is in the format that PyTorch wrote before version 1\.6"):
        torch.load(DATA / "legacy.pt")
    with pytest.raises(pickle.UnpicklingError, match=r"is not a file of torch\.save: it begins with b'hello wo'"):
        torch.load(io.BytesIO(b"hello world"))
    with pytest.raises(pickle.UnpicklingError, match="is not a file of torch.save"):
        torch.load(io.BytesIO(pickle.dumps({"a": 1}, 4)))
    with pytest.raises(EOFError, match="is empty"):
        torch.load(io.BytesIO())
    with pytest.raises(RuntimeError, match="TorchScript archive"):
        torch.load(io.BytesIO(archive(tensor(), records=(("constants.pkl", b""),))))
    with pytest.raises(RuntimeError, match="failed locating file data.pkl"):
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as made:
            made.writestr("other/file", b"x")
        out.seek(0)
        torch.load(out)
    with pytest.raises(IsADirectoryError):
        torch.load(tmp_path)


def test_byte_order():
    big = struct.pack(">4f", 1, -2, 3.5, 4)
    t = torch.load(io.BytesIO(archive(tensor(), records=(("data/0", big), ("byteorder", b"big")))))
    assert t.tolist() == [1.0, -2.0, 3.5, 4.0]
    with pytest.raises(ValueError, match="Unknown endianness type: middle"):
        torch.load(io.BytesIO(archive(tensor(), records=(("data/0", big), ("byteorder", b"middle")))))


def test_damaged_bytes_are_noticed():
    file = io.BytesIO()
    torch.save(torch.arange(100), file)
    data = bytearray(file.getvalue())
    data[data.index(bytes([57] + [0] * 7 + [58]))] ^= 1
    with pytest.raises(RuntimeError, match="record 'data/0' is damaged: its checksum is another"):
        torch.load(io.BytesIO(data))


@pytest.mark.parametrize("name", ["views.pt", "cuda.pt"])
def test_every_truncation(name):
    data = (DATA / name).read_bytes()
    for n in range(len(data)):
        with pytest.raises(ERRORS):
            torch.load(io.BytesIO(data[:n]), map_location="cpu")


def test_mutations(little_memory):
    """Files with bytes changed at random load, or are refused; nothing else."""
    data, chance = (DATA / "views.pt").read_bytes(), random.Random(1)
    outcomes = {"loaded": 0, "refused": 0}
    for _ in range(5000):
        changed = bytearray(data)
        for _ in range(chance.choice((1, 1, 2, 8))):
            changed[chance.randrange(len(data))] = chance.randrange(256)
        try:
            torch.load(io.BytesIO(changed))
            outcomes["loaded"] += 1
        except ERRORS:
            outcomes["refused"] += 1
    assert outcomes["loaded"] > 100 and outcomes["refused"] > 1000


def test_mutations_of_the_pickle(little_memory):
    """The same within the pickle, which a checksum protects in files."""
    with zipfile.ZipFile(DATA / "values.pt") as file:
        records = [(e.filename.partition("/")[2], file.read(e)) for e in file.infolist()]
    pickled = dict(records).pop("data.pkl")
    records = [r for r in records if r[0] not in ("data.pkl", "version")]
    chance, outcomes = random.Random(2), {"loaded": 0, "refused": 0}
    for _ in range(3000):
        changed = bytearray(pickled)
        for _ in range(chance.choice((1, 1, 2, 4))):
            i = chance.randrange(len(changed))
            kind = chance.randrange(3)
            if kind == 0:
                changed[i] = chance.randrange(256)
            elif kind == 1:
                del changed[i : i + chance.randrange(4)]
            else:
                changed[i:i] = bytes([chance.choice(b"(.0NQRabehijqrst}])\x80\x81\x85\x86\x87\x88\x93\x94")])
        try:
            torch.load(io.BytesIO(archive(bytes(changed), records)))
            outcomes["loaded"] += 1
        except ERRORS:
            outcomes["refused"] += 1
    assert outcomes["refused"] > 1000
