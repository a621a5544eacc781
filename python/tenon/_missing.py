"""Names that PyTorch has and Tenon has not: an error says so, and what there is instead. Nothing is read before there is one."""

import functools
import inspect
import os
import re
import sys

# PyTorch's name, as far as it goes: what Tenon does not have, and what serves instead; docs/missing-names.md shows them in this order.
_INSTEAD = (
    (r"nn\.functional\.grad|nn\.grad|(mkldnn|cudnn|miopen)_(depthwise_)?convolution\w*",
     "it; torch.nn.functional.conv2d and what is like it record their gradients"),
    (r"(nn\.|nn\.functional\.|mkldnn_|quantized_)?(Adaptive|Fractional|adaptive_|fractional_)?(Avg|Max|LP|avg_|max_|lp_)_?(Pool|Unpool|pool|unpool)\dd.*"
     r"|mkldnn_adaptive_avg_pool2d|nn\.modules\.pooling", "pooling; torch.as_strided or reshape, then Tensor.amax or Tensor.mean, make it"),
    (r"nn\.(RNN|LSTM|GRU)\w*|nn\.modules\.rnn|nn\.utils\.rnn|rnn_\w+|lstm\w*|gru\w*|(mkldnn|miopen)_rnn\w*",
     "recurrent layers; a loop over torch.nn.Linear makes them"),
    (r"nn\.(MultiheadAttention|Transformer)\w*|nn\.modules\.transformer|nn\.attention|nn\.functional\.(\w*attention\w*|multi_head_\w+)",
     "attention; torch.nn.Linear, torch.matmul and torch.softmax make it"),
    (r"(nn\.functional\.)?(grid_sampler?\w*|affine_grid\w*|interpolate|upsample\w*)|nn\.Upsampl\w+", "the sampling of pictures"),
    (r"optim\.\w+", "it; torch.optim has SGD, LBFGS, Adam and what is like it"),
    (r"compile|compiler\b.*|jit\b.*|Tensor\.compile|nn\.Module\.compile", "a compiler; programs run without it: leave the call out"),
    (r"\w+Type|Script\w+|LiteScript\w+|\w*ModuleTypeBuilder|AliasDb|Argument(Spec)?|Complete\w+|Block|CallStack|Capsule|Code|CompilationUnit"
     r"|DeepCopyMemoTable|ErrorReport|ExecutionPlan|FileCheck|FunctionSchema|Gradient|Graph(ExecutorState)?|IODescriptor|JITException|Use|Value|Type"
     r"|StaticModule|TracingState|(Locking|Noop)Logger|fork|wait|import_ir_module\w*|parse_\w+|merge_type_\w+|unify_type_list|OperatorInfo"
     r"|Future|futures\b.*|(De)?[Ss]erializationStorageContext|BufferDict|ModuleDict|ParameterDict|DeviceObjType|StreamObjType|AwaitType",
     "what a compiler is made from (TorchScript)"),
    (r"DisableTorchFunction\w*|DispatchKey\w*|ExcludeDispatchKeyGuard|Tag|(nn\.functional\.)?(has|handle)_torch_function\w*|overrides\b.*|AggregationType"
     r"|AVG|SUM|BenchmarkConfig|BenchmarkExecutionStats|ThroughputBenchmark|FatalError|PyTorchFile\w+|PRIVATE_OPS|TYPE_CHECKING|USE_\w+|classes|classproperty"
     r"|compiled_with_cxx11_abi|contrib|cpp|get_file_path|init_num_threads|prepare_multiprocessing_environment|nativert|numa|monitor|package|export|thread_safe_generator"
     r"|profiler_allow_\w+|nn\.(common_types|backends|Container)|nn\.Module\.T_destination|nn\.functional\.assert_int_or_pair|read_vitals|set_vital"
     r"|types|Tensor\.(grad_dtype|module_load|reinforce|volatile|hash_tensor)|hash_tensor|quasirandom"
     r"|AggregationType|foreach|sym_\w+|Sym\w+|cond|while_loop|native_(batch|group|layer)?_?norm|batch_norm_(?!$)\w+|cudnn_\w+|miopen_\w+|mkldnn_\w+",
     "what PyTorch's own parts are made from"),
    (r"(Tensor\.)?slice_inverse", "what compilers ask for in the place of views"),
    (r"(cuda\.)?amp\b.*|\w*autocast\w*|GradScaler", "automatic mixed precision; half-precision tensors and modules work: .to(torch.float16)"),
    (r"distributed\b.*|nn\.parallel\.(Distributed.*|distributed)|utils\.data\.(DistributedSampler|distributed)|(Tensor\.)?is_distributed",
     "torch.distributed; torch.nn.DataParallel uses the GPUs of one process"),
    (r"distributions\.\w+", "it; distributions that need no decomposition of a matrix are there"),
    (r"((Tensor|nn\.Module)\.)?(b?complex\d*|c(float|double|half)|chalf|view_as_(complex|real)(_copy)?|imag"
     r"|polar|stft|istft)|fft\b.*|Complex\w+Storage|cuda\.Complex\w+Storage", "complex numbers"),
    (r"(Tensor\.)?(to_sparse|sparse|is_coalesced|coalesce|to_dense|dense_dim|(ccol_|crow_|col_|row_)?indices|values|resize_as_sparse|hspmm|hsmm|dsmm|smm|spmm"
     r"|sspaddmm|saddmm)\w*|sparse\..*|jagged|nested\b.*|Tensor\.to_padded_tensor", "sparse tensors"),
    (r"(ao|quantization|nn\.q\w+|nn\.intrinsic)\b.*|(Tensor\.)?(quantize|dequantize|fake_quantize|q_|qint|quint|qscheme|int_repr|per_channel|per_tensor|fbgemm)\w*"
     r"|quantized_\w+|QU?Int\w+Storage|empty_quantized|choose_qparams_optimized|fused_moving_avg_obs_fake_quant|u?int[1-7]|bits\w*|bit|float[48]_\w+"
     r"|nn\.functional\.(scaled_\w+|grouped_mm|ScalingType|SwizzleType)", "quantized tensors"),
    (r"(Tensor\.)?(to_mkldnn|ipu|xpu|mtia)|nn\.Module\.(ipu|xpu|mtia)|mps|mtia|xpu|windows|is_vulkan_available",
     "hardware of that kind; GPUs are NVIDIA's"),
    (r"utils\.tensorboard\b.*", "a writer for TensorBoard; the package tensorboardX takes what .item() and .numpy() give"),
    (r"autograd\.forward_ad\b.*", "derivatives forwards; torch.autograd.functional.jvp makes them of two backwards"),
    (r"autograd\.graph\.(saved_tensors_hooks|save_on_cpu|disable_saved_tensors_hooks|allow_mutation_on_saved_tensors)",
     "hooks of what is saved for backward; torch.utils.checkpoint computes it again"),
    (r"(autograd\.)?profiler\.\w+", "profiles; linux's perf and NVIDIA's tools see its kernels by name"),
    (r"Stream|Event|cpu\.amp", "streams of no kind of device in particular; torch.cuda.Stream and torch.cuda.Event are there"),
    (r"func\..+|vmap", "transforms of functions; torch.autograd.grad is there"),
    (r"hub\b.*", "it; torch.load and torch.safetensors read files"),
    (r"onnx\b.*|export\b.*|fx\b.*", "it; torch.save and torch.safetensors write files"),
    (r"linalg\.(norm|matrix_norm)", "it; torch.norm and torch.linalg.vector_norm are there"),
    (r"linalg\..*", "decompositions of matrices"),
    (r"(Tensor\.)?(cholesky\w*|(log|slog)?det|eig|symeig|svd\w*|qr|lstsq|lu|lu_\w+|p?inverse|geqrf|orgqr|ormqr|solve|triangular_solve|matrix_(exp|rank)"
     r"|lobpcg|pca_lowrank|nuclear_norm)", "torch.linalg; torch.norm, torch.matmul and torch.cross are there"),
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
