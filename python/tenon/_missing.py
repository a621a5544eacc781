"""Names that PyTorch has and Tenon has not: an error says so, and what there is instead. Nothing is read before there is one."""

import functools
import inspect
import os
import re
import sys

# PyTorch's name, as far as it goes: what Tenon does not have, and what serves instead
_INSTEAD = (
    (r"nn\.(Lazy)?Conv(Transpose)?\dd|(nn\.functional\.)?conv(_transpose)?\dd|nn\.modules\.conv",
     "convolutions; torch.as_strided and a product of matrices make them"),
    (r"(nn\.|nn\.functional\.)?(Adaptive|Fractional|adaptive_|fractional_)?(Avg|Max|LP|avg_|max_|lp_)_?(Pool|Unpool|pool|unpool)\dd.*"
     r"|nn\.modules\.pooling", "pooling; torch.as_strided or reshape, then Tensor.amax or Tensor.mean, make it"),
    (r"nn\.(RNN|LSTM|GRU)\w*|nn\.modules\.rnn|nn\.utils\.rnn|rnn_\w+|lstm\w*|gru\w*",
     "recurrent layers; a loop over torch.nn.Linear makes them"),
    (r"nn\.(MultiheadAttention|Transformer)\w*|nn\.modules\.transformer|nn\.attention|nn\.functional\.\w*attention\w*",
     "attention; torch.nn.Linear, torch.matmul and torch.softmax make it"),
    (r"nn\.(BatchNorm[23]d|SyncBatchNorm|LazyBatchNorm\dd)", "it; torch.nn.BatchNorm1d takes (N, C) and (N, C, L): flatten the rest into L"),
    (r"(nn\.|nn\.functional\.)?(GroupNorm|InstanceNorm\dd|RMSNorm|LocalResponseNorm|group_norm|instance_norm|rms_norm)",
     "it; torch.nn.LayerNorm and torch.nn.BatchNorm1d are there"),
    (r"(nn\.|nn\.functional\.)?\w*(Pad\dd|_pad_nd)|nn\.modules\.padding", "it; torch.nn.functional.pad is there"),
    (r"optim\.\w+", "it; torch.optim has SGD, LBFGS, Adam and what is like it"),
    (r"compile|compiler\b.*|jit\b.*|Tensor\.compile|nn\.Module\.compile", "a compiler; programs run without it: leave the call out"),
    (r"(cuda\.)?amp\b.*|\w*autocast\w*|GradScaler", "automatic mixed precision; half-precision tensors and modules work: .to(torch.float16)"),
    (r"distributed\b.*|nn\.parallel\.(Distributed.*|distributed)|utils\.data\.(DistributedSampler|distributed)",
     "torch.distributed; torch.nn.DataParallel uses the GPUs of one process"),
    (r"distributions\b.*", "distributions; torch.randn, torch.rand, torch.bernoulli, torch.normal and torch.multinomial draw"),
    (r"complex\d*|c(float|double|half)|chalf|view_as_(complex|real)|imag|fft\b.*|stft|istft",
     "complex numbers"),
    (r"(Tensor\.)?(to_sparse|sparse|is_sparse|coalesce|to_dense)\w*|sparse\..*", "sparse tensors"),
    (r"(ao|quantization|nn\.q\w+|nn\.intrinsic)\b.*|(Tensor\.)?(quantize|dequantize|fake_quantize|q_|qint|quint)\w*", "quantized tensors"),
    (r"channels_last\w*|memory_format", "formats of memory: every tensor is strided"),
    (r"multiprocessing\b.*", "it; Python's multiprocessing works, and torch.utils.data.DataLoader has workers"),
    (r"func\b.*|vmap", "transforms of functions; torch.autograd.grad is there"),
    (r"hub\b.*", "it; torch.load and torch.safetensors read files"),
    (r"onnx\b.*|export\b.*|fx\b.*", "it; torch.save and torch.safetensors write files"),
    (r"linalg", "torch.linalg; torch.norm, torch.matmul and torch.cross are there"),
    (r"cuda\.(CUDAGraph|graph|graphs|make_graphed_callables)", "CUDA graphs"),
    (r"cuda\.MemPool", "private memory pools"),
    (r"(cuda|nn\.parallel\.comm)\.nccl", "NCCL; copies between GPUs, torch.nn.DataParallel and torch.cuda.comm work"),
    (r"cuda\.nvtx", "NVTX marks"),
    (r"cuda\.cudart", "a door to the CUDA runtime; Tenon uses the driver"),
    (r"cuda\.jiterator", "kernels from strings"),
)


@functools.cache
def names():
    """PyTorch's public names, {module or class: names}, by the file that tools/torch_names.py writes."""
    with open(os.path.join(os.path.dirname(__file__), "_torch_names.txt"), encoding="ascii") as file:
        lines = [line.split() for line in file]
    return {first: frozenset(rest) for first, *rest in lines}


def is_pytorchs(name):
    """Is it a public name of PyTorch ("torch.nn.Conv2d"), as far as the table goes?"""
    owner, _, last = name.rpartition(".")
    return name in names() or last in names().get(owner, ())


def _elsewhere(name):
    """Where Tenon has something of the same name; or None."""
    import tenon

    last = name.rpartition(".")[2]
    places = (("torch", tenon), ("torch.Tensor", tenon.Tensor), ("torch.nn.functional", tenon.nn.functional))
    for candidate in (last, last.removesuffix("_")) if last[:1].islower() else ():
        for place, owner in places:
            if f"{place}.{candidate}" != name and candidate in dir(owner) and inspect.isroutine(getattr(owner, candidate)):
                return f"{place}.{candidate}"
    return None


def lacking(name):
    """What Tenon does not have where PyTorch has that name, and what there is instead: the end of a sentence."""
    short = name.removeprefix("torch.")
    for pattern, text in _INSTEAD:
        if re.fullmatch(pattern, short):
            return f"Tenon does not have {name if text[:3] == 'it;' else ''}{text.removeprefix('it')}"
    other = _elsewhere(name)
    return f"Tenon does not have PyTorch's {name}" + (f"; {other} is there" if other else "")


def _is_import(frame):
    """Is the frame in the middle of `from module import name`, which would drop an AttributeError's words?"""
    import dis

    return frame.f_lasti >= 0 and frame.f_code.co_code[frame.f_lasti] == dis.opmap["IMPORT_FROM"]


def error(module, name):
    """The exception for a name that a module lacks, to be raised by the module's __getattr__."""
    known = "torch" + module.removeprefix("torch").removeprefix("tenon") + "." + name
    if name.startswith("_") or not is_pytorchs(known):
        return AttributeError(f"module '{module}' has no attribute '{name}'", name=name, obj=sys.modules.get(module))
    caller = sys._getframe(1).f_back
    if caller is not None and _is_import(caller):
        return ImportError(f"cannot import name '{name}' from '{module}': {lacking(known)}", name=module)
    return AttributeError(f"module '{module}' has no attribute '{name}': {lacking(known)}")


def error_of_object(owner, thing, name):
    """The same for an attribute of an object whose class is PyTorch's owner ("torch.nn.Module")."""
    text = f"'{type(thing).__name__}' object has no attribute '{name}'"
    if name.startswith("_") or not is_pytorchs(f"{owner}.{name}"):
        return AttributeError(text, name=name, obj=thing)
    return AttributeError(f"{text}: {lacking(f'{owner}.{name}')}")


class _Finder:
    """The last that is asked for a module: says of PyTorch's ones what there is instead, to who imports, not to who looks for one
    (importlib.util.find_spec)."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if not name.startswith("tenon.") or not is_pytorchs("torch" + name.removeprefix("tenon")):
            return None
        owner, _, last = name.rpartition(".")
        caller = sys._getframe(1).f_back  # of importlib._bootstrap._find_spec
        if caller is None or caller.f_code.co_name != "_find_and_load_unlocked" or hasattr(sys.modules.get(owner), last):
            return None
        raise ModuleNotFoundError(f"No module named {name!r}: {lacking('torch' + name.removeprefix('tenon'))}", name=name)


def watch_imports():
    """From now on `import tenon.fft` fails with the same words as `tenon.fft`."""
    if not any(getattr(finder, "__module__", None) == __name__ for finder in sys.meta_path):
        sys.meta_path.append(_Finder)


def getattr_of(module):
    """The __getattr__ of a module that has nothing to import late."""

    def __getattr__(name):
        raise error(module, name)

    return __getattr__
