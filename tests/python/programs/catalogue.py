"""Every operation that Tenon has and PyTorch too, with PyTorch's own signatures.

Names come from the two libraries, not from a list that somebody wrote: what is callable in both torch, both Tensor or both
torch.nn.functional. Signatures are PyTorch's schemas of its operators, or Python's of its functions.
"""

import collections
import inspect

import torch

Param = collections.namedtuple("Param", "name type optional default keyword")
Call = collections.namedtuple("Call", "where name params out")  # where: torch, method, F, torch.special, torch.linalg

# No operations of tensors, or what no program may do: settings, files, streams, devices, hooks, Python's own protocols.
LEFT_OUT = {
    # of the process, not of a program
    "seed", "initial_seed", "manual_seed", "load", "save", "set_rng_state", "get_rng_state", "fork_rng", "typename",
    "set_default_device", "set_default_dtype", "set_grad_enabled", "set_num_threads", "set_num_interop_threads", "no_grad",
    "set_printoptions", "set_float32_matmul_precision", "use_deterministic_algorithms", "enable_grad", "inference_mode",
    "get_num_threads", "get_num_interop_threads", "get_float32_matmul_precision", "get_default_device", "is_pinned",
    "are_deterministic_algorithms_enabled", "is_deterministic_algorithms_warn_only_enabled", "get_device",
    "get_default_dtype", "is_grad_enabled", "set_warn_always", "is_warn_always_enabled", "is_storage", "is_tensor", "default_generator",
    # of memory and of devices
    "cuda", "cpu", "pin_memory", "share_memory_", "record_stream", "data_ptr", "untyped_storage", "is_shared", "is_mkldnn",
    "is_mps", "is_cuda", "is_cpu", "is_meta", "is_sparse", "is_nested", "is_quantized", "from_dlpack", "from_numpy", "numpy",
    "frombuffer", "as_subclass", "apply_", "finfo", "iinfo", "Generator", "Size", "Tensor", "Node", "device", "dtype",
    "get_device_module", "get_deterministic_debug_mode", "set_deterministic_debug_mode", "set_flush_denormal", "to_dlpack",
    "is_anomaly_enabled", "is_anomaly_check_nan_enabled", "set_anomaly_enabled", "storage", "storage_type", "const_data_ptr",
    "layout", "memory_format", "TypedStorage", "UntypedStorage", "Storage",
    "AcceleratorError", "OutOfMemoryError", "new", "register_hook", "register_post_accumulate_grad_hook", "warnings",
    # their results are drawn: generate.py has lines of them that say no more than their layout
    "bernoulli", "bernoulli_", "multinomial", "uniform_", "normal_", "random_", "exponential_", "log_normal_", "cauchy_",
    "geometric_", "normal", "rand", "rand_like", "randn", "randn_like", "randint", "randint_like", "randperm", "dropout",
    "empty", "empty_like", "new_empty", "empty_strided", "empty_permuted", "new_empty_strided",
    "poisson", "binomial", "rrelu", "rrelu_", "gumbel_softmax", "alpha_dropout", "alpha_dropout_", "dropout_", "dropout1d", "dropout2d",
    "dropout3d", "feature_dropout", "feature_dropout_", "feature_alpha_dropout", "feature_alpha_dropout_", "native_dropout",
    # they leave memory that nobody wrote to, call Python, or are of storages
    "resize_", "resize_as_", "resize", "resize_as", "set_", "map_", "map2_", "storage", "storage_type", "const_data_ptr", "to_dlpack", "module_load", "from_file",
    # lines of generate.py
    "backward", "tensor", "asarray", "as_tensor", "new_tensor", "retain_grad",
}  # fmt: skip

# Calls that no schema says, or says as no Python program would write them.
SAID = {
    "where": ["condition:Tensor", "condition:Tensor input:Operand other:Operand"],
    "method where": ["input:Tensor condition:Tensor other:Operand"],
    "einsum": ["equation:equation operands:Tensor*"],
    "broadcast_shapes": ["shapes:int[]*"],
    "broadcast_tensors": ["tensors:Tensor*"],
    "cartesian_prod": ["tensors:Tensor*"],
    "block_diag": ["tensors:Tensor*"],
    "meshgrid": ["tensors:Tensor* indexing:str=*"],
    "can_cast": ["from:dtype to:dtype"],
    "promote_types": ["type1:dtype type2:dtype"],
    "searchsorted": ["sorted_sequence:Tensor input:Operand out_int32:bool=* right:bool=* side:str=*"],
    "type": ["input:Tensor", "input:Tensor dtype:dtype"],
    "norm": ["input:Tensor p:norm= dim:int[]= keepdim:bool= dtype:dtype="],
    "unique": ["input:Tensor sorted:bool= return_inverse:bool= return_counts:bool= dim:int?="],
    "index_put": ["input:Tensor indices:indices values:Tensor accumulate:bool="],
    "index_put_": ["input:Tensor indices:indices values:Tensor accumulate:bool="],
    "cov": ["input:Tensor correction:int=* fweights:Tensor=* aweights:Tensor=*"],
    "tensordot": ["a:Tensor b:Tensor dims:any="],
    "softsign": ["input:Tensor"],
    "tanhshrink": ["input:Tensor"],
    "logsigmoid": ["input:Tensor"],
    # PyTorch's older ways
    "add": ["input:Tensor alpha:Scalar other:Tensor"],
    "sub": ["input:Tensor alpha:Scalar other:Tensor"],
    "add_": ["input:Tensor alpha:Scalar other:Tensor"],
    "sub_": ["input:Tensor alpha:Scalar other:Tensor"],
    "addcmul": ["input:Tensor value:Scalar tensor1:Tensor tensor2:Tensor"],
    "addcdiv": ["input:Tensor value:Scalar tensor1:Tensor tensor2:Tensor"],
    "addmm": ["beta:Scalar input:Tensor alpha:Scalar mat1:Tensor mat2:Tensor", "beta:Scalar input:Tensor mat1:Tensor mat2:Tensor"],
}
SETTINGS = ("set_", "get_", "is_autocast", "is_anomaly", "autocast")  # how names of settings begin
PLACES = {"torch.special": "special_", "torch.linalg": "linalg_"}  # how schemas call what is there
OLDER = {"add", "sub", "add_", "sub_", "addcmul", "addcdiv", "addmm"}  # said beside the schemas, not instead of them
NOT_PYTHON = {"out_dtype", "cudnn_enabled", "cudnn_enable", "path", "_stacklevel"}  # parameters

TYPES = {"number": "Scalar", "Tensor": "Tensor", "int": "int", "SymInt": "int", "bool": "bool", "float": "float", "str": "str"}
SPECIAL = {"dtype": "dtype", "device": "device", "layout": "skip", "memory_format": "skip", "generator": "skip", "pin_memory": "skip"}


def type_of(text):
    """(type, optional) of an argument, as schemas and annotations write it."""
    text = text.replace("torch.", "").replace(" | None", "?")
    optional = text.endswith("?") or text.startswith("Optional[")
    text = text.removesuffix("?").removeprefix("Optional[").removesuffix("]") if optional else text
    lists = {"List[int": "int[]", "List[int]": "int[]", "list[int]": "int[]", "List[Tensor]": "Tensor[]", "List[Tensor": "Tensor[]",
             "List[float": "float[]", "List[float]": "float[]"}  # fmt: skip
    return lists.get(text, TYPES.get(text, text)), optional


def schemas():
    found = collections.defaultdict(list)
    for s in torch._C._jit_get_all_schemas():
        if s.name.startswith("aten::"):
            found[s.name[6:]].append(s)
    return found


def from_words(where, name, words):
    """A call as SAID writes it: name:type, with ? (None is taken), = (has a default), * (by name alone; of a type, any number)."""
    params = []
    for word in words.split():
        param, kind = word.split(":")
        keyword, default = kind.endswith("=*"), "=" in kind
        kind = kind.removesuffix("*") if keyword else kind
        kind = kind.removesuffix("=")
        params.append(Param(param, kind.removesuffix("?"), kind.endswith("?"), default, keyword))
    return Call(where, name, params, name in ("where", "take", "norm", "searchsorted"))


def from_schema(where, name, schema):
    """A call of a schema, or None where it is none of Python's."""
    params = []
    for a in schema.arguments:
        kind, optional = type_of(str(a.type))
        kind = SPECIAL.get(a.name, kind)
        if kind == "skip" or a.name in NOT_PYTHON:
            continue
        if kind not in ("Tensor", "Tensor[]", "Scalar", "int", "bool", "float", "str", "int[]", "float[]", "dtype", "device"):
            return None
        params.append(Param("input" if a.name == "self" else a.name, kind, optional, a.has_default_value(), a.kwarg_only))
    return Call(where, name, params, False)


def is_python_call(call):
    """Not one of TorchScript's own overloads, on numbers and lists alone, and callable as a method where it must be."""
    if call is None or any(p.name == "out" or p.type == "Tensor" and p.keyword and p.name != "out" for p in call.params):
        return False
    if call.where == "method":
        return bool(call.params) and call.params[0].name == "input" and call.params[0].type == "Tensor"
    kinds = {p.type for p in call.params}
    return "Tensor" in kinds or "Tensor[]" in kinds or "dtype" in kinds and not call.name.endswith("_")


def from_python(where, name, function):
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return None
    params = []
    for p in signature.parameters.values():
        if p.name in ("out", "size_average", "reduce") or p.name in NOT_PYTHON or p.kind is p.VAR_KEYWORD:
            continue
        if p.kind is p.VAR_POSITIONAL:
            params.append(Param(p.name, "Tensor*", False, False, False))
            continue
        kind = p.annotation if isinstance(p.annotation, str) else getattr(p.annotation, "__name__", "") or str(p.annotation)
        kind, optional = type_of("" if p.annotation is p.empty else kind if "|" not in str(p.annotation) else str(p.annotation))
        kind = SPECIAL.get(p.name, kind)
        params.append(Param(p.name, kind if kind in TYPES.values() or kind.endswith("[]") or kind == "dtype" else "any",
                            optional, p.default is not p.empty, p.kind is p.KEYWORD_ONLY))  # fmt: skip
    return Call(where, name, params, "out" in signature.parameters)


def calls_of(where, name, theirs, known):
    """PyTorch's ways to call it."""
    said = [from_words(where, name, words) for words in SAID.get(f"{where} {name}", SAID.get(name, []))]
    if said and name not in OLDER:
        return said
    theirs_known = known[PLACES.get(where, "") + name] or known[name]
    out = any(a.name in ("out", "values") and "a!" in str(s) for s in theirs_known for a in s.arguments)
    python = from_python(where, name, theirs) if inspect.isfunction(theirs) or where == "F" else None
    if python and not any(p.type == "any" for p in python.params):
        return [python]
    found = [c for c in (from_schema(where, name, s) for s in theirs_known) if is_python_call(c)]
    if not found:
        call = from_python(where, name, theirs)
        return [call] if call else [Call(where, name, [Param("input", "Tensor", False, False, False)], False)]
    seen, calls = set(), []
    for c in found:
        if str(c.params) not in seen:
            seen.add(str(c.params))
            calls.append(c._replace(out=out and not name.endswith("_")))
    return calls + said


def catalogue(ours):
    """{(where, name): [Call, ...]} of all that both libraries have; ours: the module tenon."""
    known, found = schemas(), {}
    places = [("torch", torch, ours), ("method", torch.Tensor, ours.Tensor), ("F", torch.nn.functional, ours.nn.functional)]
    for where in PLACES:
        part = where.removeprefix("torch.")
        if hasattr(ours, part):
            places.append((where, getattr(torch, part), getattr(ours, part)))
    for where, theirs, mine in places:
        for name in sorted(set(dir(theirs)) & set(dir(mine))):
            function = getattr(theirs, name)
            if name.startswith("_") or name in LEFT_OUT or not callable(function) or not callable(getattr(mine, name)):
                continue
            if isinstance(function, (type, torch.dtype)) or inspect.ismodule(function) or name.startswith(SETTINGS):
                continue
            found[where, name] = calls_of(where, name, function, known)
    return found
