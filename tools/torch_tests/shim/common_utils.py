"""torch.testing._internal.common_utils: TestCase, switches, small helpers."""

import contextlib
import functools
import gc
import inspect
import io
import itertools
import math
import os
import sys
import tempfile
import unittest
import warnings

import numpy as np
import torch
from torch.testing import make_tensor  # noqa: F401
from torch_tests.absent import DTYPES, Absent, AbsentError
from torch_tests.parametrize import (  # noqa: F401
    Parametrizer,
    Variant,
    decorateIf,
    dtype_name,
    instantiate_parametrized_tests,
    parametrize,
    reparametrize,
    subtest,
)
from torch_tests.testcase import NUMPY_DTYPES, SEED, TestCase, set_rng_seed, set_warn_always_context  # noqa: F401

TestCaseBase = TestCase
_TestParametrizer = Parametrizer


NATIVE_DEVICES = ("cpu", "cuda")
IS_LINUX, IS_WINDOWS, IS_MACOS = sys.platform == "linux", False, False
IS_CI = IS_FBCODE = IS_SANDCASTLE = IS_REMOTE_GPU = IS_JETSON = IS_PPC = IS_ARM64 = IS_S390X = IS_X86 = False
IS_FILESYSTEM_UTF8_ENCODING = sys.getfilesystemencoding() == "utf-8"
NO_MULTIPROCESSING_SPAWN = False
TEST_CUDA = torch.cuda.is_available()
TEST_MULTIGPU = TEST_CUDA and torch.cuda.device_count() >= 2
TEST_NUMPY, TEST_SCIPY, TEST_DILL, TEST_LIBROSA = True, False, False, False  # whatever is installed: absent.THIRD_PARTY
TEST_MKL = TEST_ACL = TEST_MPS = TEST_XPU = TEST_HPU = TEST_NUMBA = TEST_CUDNN = TEST_OPT_EINSUM = False
TEST_WITH_ASAN = TEST_WITH_TSAN = TEST_WITH_UBSAN = TEST_WITH_ROCM = TEST_WITH_CROSSREF = False
TEST_WITH_TORCHDYNAMO = TEST_WITH_TORCHINDUCTOR = TEST_WITH_AOT_EAGER = TEST_WITH_SLOW_GRADCHECK = False
TEST_PRIVATEUSE1, TEST_PRIVATEUSE1_DEVICE_TYPE, TEST_CUDA_GRAPH, TEST_SKIP_CUDAGRAPH = False, "privateuse1", False, True
TEST_WITH_SLOW, TEST_SKIP_FAST, DISABLE_RUNNING_SCRIPT_CHK = False, False, True
GRADCHECK_NONDET_TOL = 1e-12
UNITTEST_ARGS = [sys.argv[0]]

numpy_to_torch_dtype_dict = {numpy: ours for ours, numpy in NUMPY_DTYPES.items()}
numpy_to_torch_dtype_dict.update({np.complex64: DTYPES["complex64"], np.complex128: DTYPES["complex128"]})
torch_to_numpy_dtype_dict = {ours: numpy for numpy, ours in numpy_to_torch_dtype_dict.items()}
torch_to_numpy_dtype_dict[torch.bfloat16] = np.float32
torch_to_numpy_dtype_dict[DTYPES["complex32"]] = np.complex64
# the tolerances of older tests, by dtype
dtype2prec_DONTUSE = {torch.float: 1e-5, torch.double: 1e-5, torch.half: 1e-2, torch.bfloat16: 1e-1}


def numpy_to_torch_dtype(np_dtype):
    return numpy_to_torch_dtype_dict[np_dtype if np_dtype in numpy_to_torch_dtype_dict else np.dtype(np_dtype).type]


def run_tests(argv=None):
    """The files are run by scripts/torch-tests."""


def load_tests(loader, tests, pattern):
    return tests


# ---- decorators ----


def _leave(test=None, *args, **kwargs):
    """A decorator, with or without arguments, about something that is not tried here."""
    return test if callable(test) else _leave


def _skip(reason):
    def decorate(test=None, *args, **kwargs):
        return unittest.skip(reason)(test) if callable(test) else decorate

    return decorate


skipIfTorchDynamo = skipIfTorchInductor = skipIfCrossRef = skipIfRocm = skipIfMPS = skipIfXpu = skipIfHpu = _leave
xfailIfTorchDynamo = xpassIfTorchDynamo_np = xfailIfACL = xfailIfS390X = markDynamoStrictTest = unMarkDynamoStrictTest = _leave
skipRocmIfTorchInductor = skipIfWindows = skipIfLegacyJitExecutor = skipIfSlowGradcheckEnv = serialTest = _leave
skipCUDAMemoryLeakCheckIf = skipCUDANonDefaultStreamIf = skipIfRocmVersionLessThan = skipIfNNModuleInlined = _leave
skipIfNoLapack = skipIfCompiledWithoutNumpy = gcIfJetson = skip_if_pytest = setLinalgBackendsToDefaultFinally = _leave
skipIfNoSciPy = _leave if TEST_SCIPY else _skip("test require SciPy, but SciPy not found")
skipIfNoDill = _leave if TEST_DILL else _skip("no dill")
slowTest = _skip("test is slow")
xfailIfLinux = unittest.expectedFailure


def slowTestIf(condition):
    return slowTest if condition else _leave


def skipIfNoXNNPACK(test):
    return unittest.skip("no XNNPACK")(test)


def skip_but_pass_in_sandcastle_if(condition, reason):
    return unittest.skip(reason) if condition else _leave


def skip_but_pass_in_sandcastle(reason):
    return unittest.skip(reason)


def suppress_warnings(test):
    @functools.wraps(test)
    def run(*args, **kwargs):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return test(*args, **kwargs)

    return run


def wrapDeterministicFlagAPITest(test):
    @functools.wraps(test)
    def run(*args, **kwargs):
        with DeterministicGuard(
            torch.are_deterministic_algorithms_enabled(), warn_only=torch.is_deterministic_algorithms_warn_only_enabled()
        ):
            return test(*args, **kwargs)

    return run


class SwapTensorsGuard:
    def __init__(self, use_swap_tensors):
        self.wanted = use_swap_tensors

    def __enter__(self):
        if self.wanted:
            torch.__future__.set_swap_module_params_on_conversion(True)

    def __exit__(self, *error):
        if self.wanted:
            torch.__future__.set_swap_module_params_on_conversion(False)


def wrapSwapTensorsTest(swap=None):
    def decorate(test):
        @functools.wraps(test)
        def run(*args, **kwargs):
            with SwapTensorsGuard(swap):
                test(*args, **kwargs)

        return run

    return decorate


class swap(Parametrizer):
    def __init__(self, swap_values):
        self.values = swap_values

    def variants(self, test, cls, device_class):
        for value in self.values:
            yield Variant(wrapSwapTensorsTest(value)(test), f"swap_{value}")


# ---- settings for the time of a block ----


class DeterministicGuard:
    def __init__(self, deterministic, *, warn_only=False, fill_uninitialized_memory=True):
        self.wanted, self.fill = (deterministic, warn_only), fill_uninitialized_memory

    def __enter__(self):
        self.filled = torch.utils.deterministic.fill_uninitialized_memory
        torch.utils.deterministic.fill_uninitialized_memory = self.fill
        self.before = torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()
        torch.use_deterministic_algorithms(self.wanted[0], warn_only=self.wanted[1])

    def __exit__(self, *error):
        torch.use_deterministic_algorithms(self.before[0], warn_only=self.before[1])
        torch.utils.deterministic.fill_uninitialized_memory = self.filled


class AlwaysWarnTypedStorageRemoval:
    def __init__(self, always_warn):
        self.wanted = always_warn

    def __enter__(self):
        self.before = torch.storage._get_always_warn_typed_storage_removal()
        torch.storage._set_always_warn_typed_storage_removal(self.wanted)

    def __exit__(self, *error):
        torch.storage._set_always_warn_typed_storage_removal(self.before)


class CudaSyncGuard:
    def __init__(self, sync_debug_mode):
        self.wanted = sync_debug_mode

    def __enter__(self):
        self.before = torch.cuda.get_sync_debug_mode()
        torch.cuda.set_sync_debug_mode(self.wanted)

    def __exit__(self, *error):
        torch.cuda.set_sync_debug_mode(self.before)


def _for_a_block(get, set_):
    @contextlib.contextmanager
    def block(value):
        before = get()
        set_(value)
        try:
            yield
        finally:
            set_(before)

    return block


set_default_dtype = _for_a_block(torch.get_default_dtype, lambda d: torch.set_default_dtype(d))
set_default_tensor_type = _for_a_block(lambda: torch.tensor([]).type(), lambda t: torch.set_default_tensor_type(t))
set_cwd = _for_a_block(os.getcwd, os.chdir)


@contextlib.contextmanager
def freeze_rng_state():
    before = torch.get_rng_state()
    gpu = torch.cuda.get_rng_state() if TEST_CUDA else None
    try:
        yield
    finally:
        torch.set_rng_state(before)
        if gpu is not None:
            torch.cuda.set_rng_state(gpu)


@contextlib.contextmanager
def disable_gc():
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


class BytesIOContext(io.BytesIO):
    def __exit__(self, *error):
        pass


@contextlib.contextmanager
def TemporaryFileName(*args, **kwargs):
    kwargs.pop("delete", None)
    file = tempfile.NamedTemporaryFile(*args, delete=False, **kwargs)
    file.close()
    try:
        yield file.name
    finally:
        os.unlink(file.name)


@contextlib.contextmanager
def TemporaryDirectoryName(suffix=None):
    with tempfile.TemporaryDirectory(suffix=suffix) as folder:
        yield folder


def download_file(url, binary=True):
    raise AbsentError("files from the network")


def scoped_load_inline(test):
    return Absent("torch.utils.cpp_extension")


# ---- tensors ----


def noncontiguous_like(t):
    """The same values with every second place between them unused."""
    if not t.is_contiguous():
        return t
    unused = math.nan if t.dtype.is_floating_point else True if t.dtype is torch.bool else 12
    wide = t.new_empty((*t.shape, 2))
    wide[..., 0] = unused
    wide[..., 1] = t.detach()
    return wide[..., 1].requires_grad_(t.requires_grad)


def iter_indices(tensor):
    if tensor.dim() < 2:
        return range(tensor.size(0)) if tensor.dim() else range(0)
    return itertools.product(*(range(s) for s in tensor.size()))


def is_iterable(obj):
    return hasattr(type(obj), "__iter__")


def is_iterable_of_tensors(iterable, include_empty=False):
    if isinstance(iterable, torch.Tensor) or not isinstance(iterable, (tuple, list)):
        return False
    return all(isinstance(t, torch.Tensor) for t in iterable) if iterable else include_empty


def to_gpu(obj, type_map=None):
    if isinstance(obj, torch.Tensor):
        with torch.no_grad():
            moved = obj.clone().to(dtype=(type_map or {}).get(obj.dtype, obj.dtype), device="cuda")
        return moved.requires_grad_(obj.requires_grad)
    if isinstance(obj, (list, tuple)):
        return type(obj)(to_gpu(o, type_map) for o in obj)
    return obj


def get_function_arglist(func):
    return inspect.getfullargspec(func).args


def bytes_to_scalar(byte_list, dtype, device):
    """The number of a dtype that these bytes are."""
    kinds = {torch.bool: "?", torch.uint8: "B", torch.int8: "b", torch.int16: "h", torch.int32: "i", torch.int64: "q"}
    kinds.update({torch.float32: "f", torch.float64: "d", torch.float16: "e"})
    number = np.frombuffer(bytes(byte_list), kinds[dtype])[0].item()
    return torch.tensor(number, dtype=dtype, device=device)


def do_test_dtypes(self, dtypes, layout, device):
    for dtype in dtypes:
        out = torch.zeros((2, 3), dtype=dtype, layout=layout, device=device)
        self.assertIs(dtype, out.dtype)
        self.assertEqual(str(device).split(":")[0], out.device.type)


def do_test_empty_full(self, dtypes, layout, device):
    """Factories of each dtype, with out=, of a tensor (new_*) and like one."""

    def check(made, dtype, value, requires_grad):
        self.assertEqual(torch.Size([2, 3]), made.shape)
        self.assertIs(dtype, made.dtype)
        self.assertEqual(made.requires_grad, requires_grad)
        if value is not None:
            self.assertEqual(made, made.new(made.shape).fill_(value))

    shape, usual = torch.Size([2, 3]), torch.get_default_dtype()
    check(torch.empty(shape), usual, None, False)
    check(torch.full(shape, -5.0), usual, -5.0, False)
    for dtype in dtypes:
        for grad in {dtype.is_floating_point, False}:
            v = torch.empty(shape, dtype=dtype, device=device, layout=layout, requires_grad=grad)
            check(v, dtype, None, grad)
            out = v.new()
            check(torch.empty(shape, out=out, device=device, layout=layout, requires_grad=grad), dtype, None, grad)
            check(v.new_empty(shape), dtype, None, False)
            check(torch.empty_like(v, dtype=torch.int64, layout=layout, device=device), torch.int64, None, False)
            v = torch.full(shape, 3, dtype=dtype, layout=layout, device=device, requires_grad=grad)
            check(v, dtype, 3, grad)
            check(v.new_full(shape, 4), dtype, 4, False)
            out = v.new()
            check(torch.full(shape, 5, out=out, device=device, layout=layout, requires_grad=grad), dtype, 5, grad)
            check(v.new_full(shape, 6, dtype=torch.int64, device=device, requires_grad=False), torch.int64, 6, False)
            check(torch.full_like(v, 7), dtype, 7, False)
            check(torch.full_like(v, 8, dtype=torch.int64, layout=layout, device=device), torch.int64, 8, False)


# ---- gradients ----


def _checked(check, arguments, kwargs):
    # PyTorch's own tests try vmap and a faster comparison along with it: those are not asked for here
    kwargs = {k: v for k, v in kwargs.items() if k not in ("check_batched_grad", "fast_mode", "check_batched_forward_grad")}
    if kwargs.pop("check_forward_ad", False) or kwargs.pop("check_fwd_over_rev", False):
        raise AbsentError("torch.autograd.forward_ad")
    return check(*arguments, **kwargs)


def gradcheck(fn, inputs, **kwargs):
    return _checked(torch.autograd.gradcheck, (fn, inputs), kwargs)


def gradgradcheck(fn, inputs, grad_outputs=None, **kwargs):
    return _checked(torch.autograd.gradgradcheck, (fn, inputs, grad_outputs), kwargs)


def _assertGradAndGradgradChecks(test_case, apply_fn, inputs, **kwargs):
    test_case.assertTrue(gradcheck(apply_fn, inputs, **kwargs))
    test_case.assertTrue(gradgradcheck(apply_fn, inputs, **kwargs))


