"""Kernels given as text: one text in the dialect of docs/custom-operations.md for GPUs, and for the CPU by the C compiler."""

import ctypes
import os
import re
import shutil
import subprocess
import sys
import tempfile

from . import _C

_RULES = {"same": 0, "broadcast": 1, "any": 2, "fake": 2}
_ITEMS = {"elements": 0, "rows": 1, "whole": 2}
_LETTERS = {"float": "f", "int": "i", "SymInt": "i", "bool": "b", "Scalar": "f"}

# The dialect's words on the host: one group of one work item. What it runs over, where a loop over all items was found: a range.
_PRELUDE = """
#include <stdint.h>
#include <tgmath.h>
typedef int8_t i8; typedef uint8_t u8; typedef int16_t i16; typedef uint16_t u16; typedef int32_t i32; typedef uint32_t u32;
typedef int64_t i64; typedef uint64_t u64; typedef float f32;
static _Thread_local i64 tn_begin, tn_end;
#define GLOBAL
#define LOCAL
#define DEVICE static inline
#define RESTRICT restrict
#define LOCAL_MEM(type, name, n) type name[n]
#define BARRIER() ((void)0)
#define BARRIER_ALL() ((void)0)
#define GLOBAL_ID(d) 0
#define GLOBAL_SIZE(d) 1
#define GROUP_ID(d) 0
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
#define m_sigmoid(x) (1 / (1 + exp(-(x))))
"""
_MATH = ("fabs exp exp2 expm1 log log2 log10 log1p sqrt cbrt sin cos tan asin acos atan atan2 sinh cosh tanh asinh acosh atanh erf erfc "
         "lgamma tgamma hypot pow fmod floor ceil trunc rint copysign nextafter").split()
_PRELUDE += "".join(f"#define m_{name} {name}\n" for name in _MATH)

_keep = []  # libraries whose functions are registered stay


_LOOP = r"for\s*\(\s*(?:i64|int64_t|long|int)\s+(\w+)\s*=\s*{0}\(0\)\s*;\s*\1\s*<\s*{2}\s*;\s*\1\s*\+=\s*{1}\(0\)\s*\)"


def _body_of(text, entry):
    """Where in the text the parameters of the kernel are, and its body."""
    found = re.search(rf"\bKERNEL(?:_B)?\s*\(\s*{entry}\s*\)\s*\(([^()]*)\)", text)
    if not found:
        return None
    after = re.search(r"\b(?:KERNEL(?:_B)?|DEVICE)\b", text[found.end():])
    return found[1], found.end(), found.end() + after.start() if after else len(text)


def _by_ranges(text, entry, before, rows):
    """The text with its loops over all items (for (i64 i = GLOBAL_ID(0); i < n; i += GLOBAL_SIZE(0)), of rows GROUP_ID and
    NUM_GROUPS) run over a range of them, and whether it may be run by ranges: not where it asks in another way who it is."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*", lambda m: re.sub(r"[^\n]", " ", m[0]), text, flags=re.S)
    place = _body_of(text, entry)
    names = place[0].split(",") if place else []
    items = re.search(r"(\w+)\s*$", names[before]) if before < len(names) else None
    if not items:
        return text, False
    _, begin, end = place
    loop = _LOOP.format(*(("GROUP_ID", "NUM_GROUPS") if rows else ("GLOBAL_ID", "GLOBAL_SIZE")), items[1])
    body, loops = re.subn(loop, r"for (i64 \1 = tn_begin; \1 < tn_end; \1++)", text[begin:end])
    changed = text[:begin] + body + text[end:]
    written = rf"\b{items[1]}\s*(?:[-+*/%&|^]|<<|>>)?=(?!=)|\b{items[1]}\s*(?:\+\+|--)|(?:\+\+|--|&)\s*{items[1]}\b|#"
    if not loops or re.search(r"\b(?:GLOBAL_ID|GLOBAL_SIZE|GROUP_ID|NUM_GROUPS)\b", changed) or re.search(written, body):
        return text, False
    return changed, True


def _run_function(entry, n, rows, letters):
    """A function of one shape for every kernel: memory, a range of items, all of them, the width of rows, parameters."""
    arguments = [f"p[{i}]" for i in range(n)] + ["items"] + (["width"] if rows else [])
    arguments += [f"*(const double *)&param[{i}]" if letter == "f" else f"param[{i}]" for i, letter in enumerate(letters)]
    return ("void tn_run(void **p, i64 begin, i64 end, i64 items, i64 width, const i64 *param)\n"
            f"{{\n    tn_begin = begin, tn_end = end;\n    (void)width, (void)param;\n    tn_text_{entry}({', '.join(arguments)});\n}}\n")


def _compile(command, source, path, name):
    done = subprocess.run([*command, "-o", path, "-lm"], input=source, text=True, capture_output=True)
    if done.returncode:
        raise RuntimeError(f"{name}: its text does not compile for the CPU:\n{done.stderr.strip()}")
    library = ctypes.CDLL(path)
    _keep.append(library)
    return ctypes.cast(library.tn_run, ctypes.c_void_p).value


def compile_for_cpu(text, entry, name, outputs, inputs, rows, letters):
    """The text as C for float and double: the addresses of its two functions, and whether they run by ranges of items."""
    cc = next((c for c in (os.environ.get("CC"), "cc", "gcc", "clang") if c and shutil.which(c.split()[0])), None)
    if cc is None:
        raise RuntimeError(f"{name}: the text of its CPU function needs a C compiler, and there is none (cc, gcc, clang; CC names one)")
    text, ranges = _by_ranges(text, entry, outputs + inputs, rows)
    # Not -w: gcc's would let a function that nobody declared pass. What is warned of is shown where the text fails alone.
    command = [*cc.split(), "-std=gnu11", "-O2", "-Werror=implicit-function-declaration", "-shared", "-fPIC", "-ffp-contract=off", "-x", "c", "-"]
    if sys.platform == "linux":
        command.append("-Wl,-z,defs")
    source = (_PRELUDE + "#define KERNEL(name) static void tn_text_##name\n#define KERNEL_B(name) static void tn_text_##name\n"
              f'#line 1 "{name}"\n{text}\n#line 1 "call"\n' + _run_function(entry, outputs + inputs, rows, letters))
    with tempfile.TemporaryDirectory(prefix="tenon-") as folder:  # one library for each: what the text defines is theirs
        narrow, wide = (_compile(command, f"#define T {kind}\n#define ST {kind}\n#define OT {kind}\n{source}", os.path.join(folder, f"{kind}.so"),
                                 name) for kind in ("float", "double"))
    return narrow, wide, ranges


_BOUNDS = r"__launch_bounds__\s*\([^)]*\)\s*"  # CUDA C's, on either side of void


def _entry_of(text, entry):
    found = re.findall(r"\bKERNEL(?:_B)?\s*\(\s*(\w+)\s*\)|__global__\s+(?:" + _BOUNDS + r")?void\s+(?:" + _BOUNDS + r")?(\w+)", text)
    names = [a or b for a, b in found]
    if not names:
        raise ValueError("the text has no kernel: KERNEL(name)(arguments) { ... } was expected, or in CUDA C __global__ void name(arguments)")
    if entry is None and len(names) == 1:
        return names[0]
    if entry not in names:
        raise ValueError(f"entry: the text has the kernels {', '.join(names)}: name one of them")
    return entry


class Kernel:
    """A function of tensors made from a text; runs on GPUs, or on the CPU, or on both."""

    def __init__(self, operation, text, devices, *, entry=None, rule="same", items="elements", dtypes=None, local=0):
        schema = operation.schema
        self._operation, self._rule = operation, rule
        if rule not in tuple(_RULES) or items not in tuple(_ITEMS):
            raise ValueError(f"rule is one of {', '.join(_RULES)}, items one of {', '.join(_ITEMS)}")
        if not isinstance(dtypes, (list, tuple, set, frozenset, type(None))) or not all(isinstance(d, _C.dtype) for d in dtypes or ()):
            raise TypeError(f"dtypes: a list of dtypes was expected, not {dtypes!r}")
        if not isinstance(local, int) or not 0 <= local <= 1024:
            raise ValueError(f"local: groups are of 1 to 1024 work items (0: 128), not of {local!r}")
        if "\0" in text:
            raise ValueError(f"{operation.qualname}: its text has a null character")
        self._inputs = [i for i, a in enumerate(schema.arguments) if a.type.startswith("Tensor")]
        self._params = [i for i, a in enumerate(schema.arguments) if not a.type.startswith("Tensor")]
        kinds = [schema.arguments[i].type for i in self._params]
        if any("[" in schema.arguments[i].type for i in self._inputs) or any(k not in _LETTERS for k in kinds):
            raise TypeError(f"{operation.qualname}: a kernel given as text takes tensors, floats, ints and bools, not {schema}")
        if any(r != "Tensor" for r in schema.returns) or len(schema.returns) > 2:
            raise TypeError(f"{operation.qualname}: a kernel given as text gives one or two tensors, not {schema}")
        if schema.is_mutable or not schema.returns:
            raise TypeError(f"{operation.qualname}: a kernel given as text writes to results alone, not to an argument as {schema} says")
        if not 1 <= len(self._inputs) <= 12 or len(kinds) > 8 or schema.arguments[self._inputs[0]].type.endswith("?"):
            raise TypeError(f"{operation.qualname}: a kernel given as text takes 1 to 12 tensors, the first of which is there, and at most 8 "
                            f"numbers, not {schema}")
        letters = "".join(_LETTERS[k] for k in kinds)
        entry = _entry_of(text, entry)
        optional = sum(1 << i for i, k in enumerate(self._inputs) if schema.arguments[k].type.endswith("?"))
        cpu = (0, 0, True)
        if "cpu" in devices:
            cpu = compile_for_cpu(text, entry, operation.qualname, len(schema.returns), len(self._inputs), items == "rows", letters)
        self._handle = _C._op_register(self._free_name(), len(self._inputs), len(schema.returns), optional, letters, _RULES[rule], _ITEMS[items],
                                       tuple(dtypes or ()), text if "cuda" in devices else None, entry, local, *cpu, rule == "fake")

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
        op.schema.check(result)
        return tuple((t.dtype, tuple(t.shape)) for t in (result if isinstance(result, (tuple, list)) else (result,)))

    def check(self, values):
        """The library's own check: layouts, dtypes, devices (tn_op_check). values: the call's arguments, in the schema's order."""
        if self._rule != "fake":
            _C._op_check(self._handle, *self._apart(values))
