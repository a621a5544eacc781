"""Makes the fixtures of this folder: see README.md. python make_fixtures.py"""
import gzip
import json
import os
import struct

import numpy as np
import safetensors.torch
import torch

os.chdir(os.path.dirname(os.path.abspath(__file__)))
NAN, INF = float("nan"), float("inf")
F = [-1.5, 0.1, -0.0, INF, NAN, 1e-7]
VALUES = {  # six values of each dtype, shape (2, 3); tests/unit/test_data.h has the same
    "b1": [True, False, False, True, True, False],
    "u1": [0, 1, 2, 127, 128, 255],
    "i1": [-128, -2, -1, 0, 1, 127],
    "i2": [-32768, -2, -1, 0, 1, 32767],
    "i4": [-(2**31), -2, -1, 0, 1, 2**31 - 1],
    "i8": [-(2**63), -2, -1, 0, 1, 2**63 - 1],
    "f2": F, "f4": F, "f8": F,
}


def array(kind):
    return np.array(VALUES[kind], dtype=kind).reshape(2, 3)


def npy(name, a, version=(1, 0), **options):
    with open(name + ".npy", "wb") as f:
        np.lib.format.write_array(f, a, version=version, **options)


def make_npy():
    for kind in VALUES:
        npy(kind, array(kind))
        if kind[1] != "1":
            npy("big_" + kind, array(kind).astype(">" + kind))
    npy("fortran_2d", np.asfortranarray(np.arange(12, dtype="i4").reshape(3, 4)))
    npy("fortran_3d", np.asfortranarray(np.arange(24, dtype="f8").reshape(2, 3, 4)))
    npy("big_fortran", np.asfortranarray(np.arange(6, dtype=">f4").reshape(2, 3)))
    npy("v2", np.arange(5, dtype="i2"), (2, 0))
    npy("v3", np.arange(5, dtype="i2"), (3, 0))
    npy("scalar", np.array(2.5, dtype="f4"))
    npy("empty", np.zeros((0, 3), dtype="f4"))
    npy("dims8", np.arange(16, dtype="u1").reshape(1, 2, 1, 2, 1, 2, 1, 2))
    npy("dims9", np.zeros((1,) * 9, dtype="u1"))
    for kind in ("u2", "u4", "u8", "c8", "S5", "U3", "M8[D]", "f16"):
        npy("no_" + kind.split("[")[0], np.zeros(2, dtype=kind))
    npy("no_structured", np.zeros(2, dtype=[("x", "f4"), ("y", "i4")]))
    npy("no_object", np.array([None, 1], dtype=object), allow_pickle=True)


def idx(name, code, shape, data, members=None):
    b = bytes([0, 0, code, len(shape)]) + struct.pack(">%dI" % len(shape), *shape) + data
    if members is None:
        open(name + ".idx", "wb").write(b)
    else:
        cuts = [0] + members + [len(b)]
        with open(name + ".idx.gz", "wb") as f:
            for i in range(len(cuts) - 1):
                f.write(gzip.compress(b[cuts[i]:cuts[i + 1]], mtime=0))


def make_idx():
    codes = {"u1": 8, "i1": 9, "i2": 11, "i4": 12, "f4": 13, "f8": 14}
    for kind, code in codes.items():
        data = array(kind).astype(">" + kind).tobytes()
        idx(kind, code, (2, 3), data)
        idx(kind, code, (2, 3), data, [])
    idx("members", 8, (2, 3), array("u1").tobytes(), [3, 14])
    idx("zeros", 8, (100, 1000), bytes(100000), [])  # compressed to less than a hundredth
    idx("empty", 8, (0, 28, 28), b"")
    idx("scalar", 12, (), struct.pack(">i", -7))
    idx("dims8", 8, (1, 2, 1, 2, 1, 2, 1, 2), bytes(range(16)))
    idx("dims9", 8, (1,) * 9, b"\0")


def raw_safetensors(name, header, data):
    if not isinstance(header, bytes):
        header = json.dumps(header).encode()
    open(name + ".safetensors", "wb").write(struct.pack("<Q", len(header)) + header + data)


def make_safetensors():
    names = {"b1": "BOOL", "u1": "U8", "i1": "I8", "i2": "I16", "i4": "I32", "i8": "I64", "f2": "F16", "f4": "F32", "f8": "F64"}
    tensors = {names[k]: torch.from_numpy(array(k)) for k in VALUES}
    tensors["BF16"] = torch.tensor(F).to(torch.bfloat16).reshape(2, 3)
    tensors["scalar"] = torch.tensor(2.5)
    tensors["empty"] = torch.zeros(0, 4)
    tensors["another f32"] = torch.arange(4.0)
    safetensors.torch.save_file(tensors, "dtypes.safetensors", metadata={"format": "pt"})
    safetensors.torch.save_file({}, "none.safetensors")
    text = ["", 'a "quoted" one', "back\\slash", "tab\tnewline\nbell\x07", "caf\u00e9", "\u65e5\u672c", "\U0001f600", "del\x7f"]
    safetensors.torch.save_file({n: torch.tensor([i], dtype=torch.int32) for i, n in enumerate(text)},
                                "names.safetensors", metadata={"key \u00e9 \"": "value\n\\"})
    foreign = {"u16": torch.uint16, "u32": torch.uint32, "u64": torch.uint64, "c64": torch.complex64,
               "f8_e4m3": torch.float8_e4m3fn, "f8_e5m2": torch.float8_e5m2, "f32": torch.float32}
    safetensors.torch.save_file({n: torch.ones(2).to(d) for n, d in foreign.items()}, "foreign.safetensors")
    # what other writers may do: data not aligned, header in another order than the data, white space, escapes
    raw_safetensors("misaligned", b'{"x":{"dtype":"F32","shape":[2],"data_offsets":[1,9]},"b":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}',
                    b"\x07" + struct.pack("<2f", 1.5, -2.0))
    raw_safetensors("unusual", b'{ "\\u0062\\ud83d\\ude00\\/" : {"data_offsets":[2, 4],\n\t"shape":[] , "dtype":"I16"}, '
                    b'"__metadata__": { "k" : "v", "\\u006c":""},\r\n"flags":{"dtype":"BOOL","shape":[2],"data_offsets":[0,2]}}   ',
                    b"\x02\x00" + struct.pack("<h", -5))
    raw_safetensors("subbyte", {"f4": {"dtype": "F4", "shape": [4], "data_offsets": [0, 2]},
                                "f6": {"dtype": "F6_E2M3", "shape": [4], "data_offsets": [2, 5]}}, bytes(5))


make_npy()
make_idx()
make_safetensors()
