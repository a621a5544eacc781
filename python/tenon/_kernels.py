"""Kernels given as text: one text in the dialect of docs/custom-operations.md for GPUs, and for the CPU by the C compiler."""

import ctypes
import os
import re
import shutil
import subprocess
import tempfile

from . import _C

_RULES = {"same": 0, "broadcast": 1, "any": 2, "fake": 2}
_ITEMS = {"elements": 0, "rows": 1, "whole": 2}
_LETTERS = {"float": "f", "int": "i", "SymInt": "i", "bool": "b", "Scalar": "f"}

# The dialect's words for one work item on the host: a range of items is one group of one.
_PRELUDE = """
#include <stdint.h>
#include <tgmath.h>
typedef int8_t i8; typedef uint8_t u8; typedef int16_t i16; typedef uint16_t u16; typedef int32_t i32; typedef uint32_t u32;
typedef int64_t i64; typedef uint64_t u64; typedef float f32;
static _Thread_local i64 tn_begin;
#define GLOBAL
#define LOCAL
#define DEVICE static inline
#define RESTRICT restrict
#define LOCAL_MEM(type, name, n) type name[n]
#define BARRIER() ((void)0)
#define BARRIER_ALL() ((void)0)
#define GLOBAL_ID(d) ((d) ? 0 : tn_begin)
#define GLOBAL_SIZE(d) 1
#define GROUP_ID(d) ((d) ? 0 : (int)tn_begin)
#define NUM_GROUPS(d) 1
#define LOCAL_ID(d) 0
#define LOCAL_SIZE(d) 1
#define LD(x) ((T)(x))
#define SV(x) ((ST)(x))
#define LDO(x) ((T)(x))
#define SVO(x) ((OT)(x))
#define K(x) ((T)(x))
#define E(name) name
#define M(f) m_##f
#define TN_IS_FLOAT 1
#define m_abs fabs
#define m_rsqrt(x) (1 / sqrt(x))
#define m_sigmoid(x) (1 / (1 + exp(-(x))))
"""
_MATH = ("fabs exp exp2 expm1 log log2 log10 log1p sqrt cbrt sin cos tan asin acos atan atan2 sinh cosh tanh asinh acosh atanh erf erfc "
         "lgamma tgamma hypot pow fmod floor ceil trunc rint copysign nextafter").split()
_PRELUDE += "".join(f"#define m_{name} {name}\n" for name in _MATH)

_keep = []  # libraries whose functions are registered stay


def _run_function(name, kind, entry, outputs, inputs, rows, letters):
    """A function of one shape for every kernel: memory, a range of items, the width of rows, parameters."""
    n = outputs + inputs
    arguments = [f"p[{i}]" for i in range(n)] + ["end"] + (["width"] if rows else [])
    arguments += [f"*(const double *)&param[{i}]" if letter == "f" else f"param[{i}]" for i, letter in enumerate(letters)]
    return (f"void {name}(void **p, i64 begin, i64 end, i64 width, const i64 *param)\n"
            f"{{\n    tn_begin = begin;\n    (void)width, (void)param;\n    {entry}_{kind}({', '.join(arguments)});\n}}\n")


def compile_for_cpu(text, entry, name, outputs, inputs, rows, letters):
    """The text as C for float and double: the addresses of its two functions."""
    cc = next((c for c in (os.environ.get("CC"), "cc", "gcc", "clang") if c and shutil.which(c.split()[0])), None)
    if cc is None:
        raise RuntimeError(f"{name}: the text of its CPU function needs a C compiler, and there is none (cc, gcc, clang; CC names one)")
    source = _PRELUDE
    for kind in ("float", "double"):
        source += f"#define T {kind}\n#define ST {kind}\n#define OT {kind}\n#define {entry} {entry}_{kind}\n"
        source += f"#define KERNEL(name) static void {entry}_{kind}\n#define KERNEL_B(name) static void {entry}_{kind}\n"
        source += f'#line 1 "{name}"\n{text}\n#line 1 "call"\n#undef {entry}\n'
        source += _run_function(f"tn_run_{kind}", kind, entry, outputs, inputs, rows, letters)
        source += "".join(f"#undef {word}\n" for word in ("T", "ST", "OT", "KERNEL", "KERNEL_B"))
    with tempfile.TemporaryDirectory(prefix="tenon-") as folder:
        path = os.path.join(folder, "kernel.so")
        done = subprocess.run([*cc.split(), "-std=gnu11", "-O2", "-w", "-shared", "-fPIC", "-ffp-contract=off", "-x", "c", "-", "-o", path, "-lm"],
                              input=source, text=True, capture_output=True)
        if done.returncode:
            raise RuntimeError(f"{name}: its text does not compile for the CPU:\n{done.stderr.strip()}")
        library = ctypes.CDLL(path)
    _keep.append(library)
    return tuple(ctypes.cast(getattr(library, f"tn_run_{kind}"), ctypes.c_void_p).value for kind in ("float", "double"))


def _entry_of(text, entry):
    found = re.findall(r"\bKERNEL(?:_B)?\s*\(\s*(\w+)\s*\)|__global__\s+void\s+(\w+)", text)
    names = [a or b for a, b in found]
    if entry is None and len(names) == 1:
        return names[0]
    if entry not in names:
        raise ValueError(f"entry: the text has the kernels {', '.join(names) or 'of no name'}: name one of them")
    return entry


class Kernel:
    """A function of tensors made from a text; runs on GPUs, or on the CPU, or on both."""

    def __init__(self, operation, text, devices, *, entry=None, rule="same", items="elements", dtypes=None, local=0):
        schema = operation.schema
        self._operation, self._rule = operation, rule
        if rule not in _RULES or items not in _ITEMS:
            raise ValueError(f"rule is one of {', '.join(_RULES)}, items one of {', '.join(_ITEMS)}")
        self._inputs = [i for i, a in enumerate(schema.arguments) if a.type.startswith("Tensor")]
        self._params = [i for i, a in enumerate(schema.arguments) if not a.type.startswith("Tensor")]
        kinds = [schema.arguments[i].type for i in self._params]
        if any("[" in schema.arguments[i].type for i in self._inputs) or any(k not in _LETTERS for k in kinds):
            raise TypeError(f"{operation.qualname}: a kernel given as text takes tensors, floats, ints and bools, not {schema}")
        if any(r != "Tensor" for r in schema.returns) or len(schema.returns) > 2:
            raise TypeError(f"{operation.qualname}: a kernel given as text gives one or two tensors, not {schema}")
        letters = "".join(_LETTERS[k] for k in kinds)
        entry = _entry_of(text, entry)
        optional = sum(1 << i for i, k in enumerate(self._inputs) if schema.arguments[k].type.endswith("?"))
        cpu = (0, 0)
        if "cpu" in devices:
            cpu = compile_for_cpu(text, entry, operation.qualname, len(schema.returns), len(self._inputs), items == "rows", letters)
        self._handle = _C._op_register(self._free_name(), len(self._inputs), len(schema.returns), optional, letters, _RULES[rule], _ITEMS[items],
                                       tuple(dtypes or ()), text if "cuda" in devices else None, entry, local, cpu[0], cpu[1], rule == "fake")

    def _free_name(self):
        name, i = self._operation.qualname, 1
        while _C._op_known(name):
            i += 1
            name = f"{self._operation.qualname}_{i}"
        return name

    def _apart(self, values):
        return tuple(values[i] for i in self._inputs), tuple(values[i] for i in self._params)

    def __call__(self, *args, **kwargs):
        values = self._operation.schema.bind(args, kwargs)
        tensors, params = self._apart(values)
        specs = self._specs(values) if self._rule == "fake" else None
        return _C._op_call(self._handle, tensors, params, specs)

    def _specs(self, values):
        """Dtypes and shapes of the results, as register_fake's function says of tensors on meta."""
        op = self._operation
        if not op.fake:
            raise RuntimeError(f"There was no fake impl registered for {op.definition}: rule='fake' asks it for the results' shapes")
        far = [v.detach().to("meta") if isinstance(v, _C.Tensor) else v for v in values]
        places, named = op._arguments(far)
        result = op.fake(*places, **named)
        return tuple((t.dtype, tuple(t.shape)) for t in (result if isinstance(result, tuple) else (result,)))

    def check(self, values):
        """The library's own check: layouts, dtypes, devices (tn_op_check). values: the call's arguments, in the schema's order."""
        if self._rule != "fake":
            _C._op_check(self._handle, *self._apart(values))
