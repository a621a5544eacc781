"""Tests that run once for each device: the CPU and, where there is one, the first GPU."""

import enum
import functools
import inspect
import unittest
from collections import namedtuple

import torch
from torch.testing._internal.common_utils import TestCase
from torch_tests import parametrize as p
from torch_tests.absent import Absent

PYTORCH_CUDA_MEMCHECK = False
NATIVE_DEVICES = ("cpu", "cuda")


class DeviceTypeTestBase(TestCase):
    device_type = "generic"

    @classmethod
    def get_primary_device(cls):
        return cls.device_type

    @classmethod
    def get_all_devices(cls):
        return [cls.get_primary_device()]


class CPUTestBase(DeviceTypeTestBase):
    device_type = "cpu"


class CUDATestBase(DeviceTypeTestBase):
    device_type = "cuda"
    no_magma, no_cudnn, cudnn_version = True, True, 0

    @classmethod
    def get_primary_device(cls):
        return "cuda:0"

    @classmethod
    def get_all_devices(cls):
        return [f"cuda:{i}" for i in range(torch.cuda.device_count())]


def _bases(except_for, only_for):
    bases = [CPUTestBase, *([CUDATestBase] if torch.cuda.is_available() else [])]
    named = [d for d in ([only_for] if isinstance(only_for, str) else only_for or [])]
    bases = [b for b in bases if b.device_type in named] if named else bases
    return [b for b in bases if b.device_type not in (except_for or [])]


def _dtypes_of(test, device_type):
    by_device = getattr(test, "dtypes", None)
    return None if by_device is None else by_device.get(device_type, by_device.get("all"))


def _suffix(arguments):
    d = arguments.get("dtype", arguments.get("dtypes"))
    if d is None:
        return ""
    return "_" + "_".join(p.dtype_name(one) for one in (d if isinstance(d, (list, tuple)) else [d]))


def _with_precision(bound, test, arguments):
    """Runs a test with the tolerances that its decorators ask for."""
    key = arguments.get("dtype", arguments.get("dtypes"))

    @functools.wraps(bound)
    def run(self):
        before = self.precision, self.rel_tol
        atol = getattr(test, "precision_overrides", {}).get(key, self.precision)
        self.precision, self.rel_tol = getattr(test, "tolerance_overrides", {}).get(key, (atol, self.rel_tol))
        try:
            return bound(self)
        finally:
            self.precision, self.rel_tol = before

    return run


def _instantiate(cls, name, test, generic):
    """All variants of a generic test on one device."""
    if isinstance(test, Absent):
        setattr(cls, f"{name}_{cls.device_type}", p.bind(p.Variant(test, arguments={"test": test})))
        return
    dtypes_asked = _dtypes_of(test, cls.device_type)
    ways = ((p.DtypeVariants(dtypes_asked),) if dtypes_asked is not None else ()) + getattr(test, "parametrizers", ())
    for v in p.multiply(test, ways, generic, cls):
        taken = inspect.signature(v.function).parameters
        argument = "device" if "device" in taken else "devices" if "devices" in taken else None
        if argument:
            several = hasattr(v.function, "num_required_devices")
            v.arguments[argument] = cls.get_all_devices() if several else cls.get_primary_device()
        full = p.join(name, v.suffix, cls.device_type) + _suffix(v.arguments)
        setattr(cls, full, _with_precision(p.bind(v), v.function, v.arguments))


def instantiate_device_type_tests(generic, scope, except_for=None, only_for=None, include_lazy=False, allow_mps=False, allow_xpu=False):
    """Puts classes for each device beside the generic one, which is taken out of the scope."""
    del scope[generic.__name__]
    methods = {}
    for name in generic.__dict__:
        value = inspect.getattr_static(generic, name)
        if name.startswith("test") and not isinstance(value, (staticmethod, classmethod)):
            methods[name] = value
    for name in methods:
        delattr(generic, name)
    empty = type(generic.__name__ + "_base", (generic,), {})
    for base in _bases(except_for, only_for):
        made = type(generic.__name__ + base.device_type.upper(), (base, empty), {})
        for name, test in methods.items():
            _instantiate(made, name, test, generic)
        made.__module__ = generic.__module__
        scope[made.__name__] = made


def get_all_device_types():
    return ["cpu", "cuda"] if torch.cuda.is_available() else ["cpu"]


# ---- decorators ----


class OpDTypes(enum.Enum):
    supported = 0
    unsupported = 1
    supported_backward = 2
    unsupported_backward = 3
    any_one = 4
    none = 5
    any_common_cpu_cuda_one = 6


class ops(p.Parametrizer):
    """Over a list of operations; PyTorch's list is not taken over, so there is nothing to go over: not applicable."""

    def __init__(self, op_list, *, dtypes=OpDTypes.supported, allowed_dtypes=None, skip_if_dynamo=True):
        self.op_list = op_list

    def variants(self, test, cls, device_class):
        yield p.Variant(test, "", {"op": Absent("PyTorch's list of operations (opinfo)")})


class _ByDevice:
    """Skips a test on one kind of device."""

    device_type = None

    def __init__(self, dep, reason, device_type=None):
        self.dep, self.reason = dep, reason
        self.device_type = device_type or self.device_type

    def __call__(self, test):
        if isinstance(test, type):
            return test

        @functools.wraps(test)
        def run(slf, *args, **kwargs):
            if self.device_type is None or slf.device_type == self.device_type:
                dep = getattr(slf, self.dep, True) if isinstance(self.dep, str) else self.dep
                if dep:
                    raise unittest.SkipTest(self.reason)
            return test(slf, *args, **kwargs)

        return run


skipIf = _ByDevice


def _by_device(device):
    return type(f"skip{device}If", (_ByDevice,), {"device_type": device})


skipCPUIf, skipCUDAIf, skipMetaIf, skipXPUIf = (_by_device(d) for d in ("cpu", "cuda", "meta", "xpu"))
skipMPSIf, skipXLAIf, skipLazyIf, skipHPUIf = (_by_device(d) for d in ("mps", "xla", "lazy", "hpu"))


def _only(device):
    def decorate(test):
        @functools.wraps(test)
        def run(self, *args, **kwargs):
            if self.device_type not in device:
                raise unittest.SkipTest(f"Only runs on {device}")
            return test(self, *args, **kwargs)

        return run

    return decorate


class onlyOn:
    def __init__(self, device_type):
        self.device_type = device_type

    def __call__(self, test):
        return _only([self.device_type] if isinstance(self.device_type, str) else self.device_type)(test)


onlyCPU, onlyCUDA, onlyMPS, onlyXPU = _only(["cpu"]), _only(["cuda"]), _only(["mps"]), _only(["xpu"])
onlyHPU, onlyPRIVATEUSE1 = _only(["hpu"]), _only(["privateuse1"])
onlyCUDAAndPRIVATEUSE1 = onlyCUDA
onlyNativeDeviceTypes = _only(NATIVE_DEVICES)


def onlyNativeDeviceTypesAnd(devices=None):
    return _only((*NATIVE_DEVICES, *([devices] if isinstance(devices, str) else devices or ())))


def _leave(test=None, **kwargs):
    """Decorators about devices that are not here."""
    return test if callable(test) else _leave


skipMeta = skipXLA = skipLazy = skipMPS = skipHPU = skipPRIVATEUSE1 = _leave
expectedFailureMeta = expectedFailureXLA = expectedFailureMPS = expectedFailureHPU = expectedFailureXPU = _leave
expectedFailureMPSPre15 = expectedFailureMPSPre14 = _leave
skipCUDAIfRocm = skipCUDAIfMiopen = _leave


def skipCUDAIfRocmVersionLessThan(version=None):
    return _leave


class expectedFailure:
    def __init__(self, device_type):
        self.device_type = device_type

    def __call__(self, test):
        @functools.wraps(test)
        def run(slf, *args, **kwargs):
            if slf.device_type != self.device_type:
                return test(slf, *args, **kwargs)
            try:
                test(slf, *args, **kwargs)
            except Exception:
                return None
            slf.fail("expected test to fail, but it passed")

        return run


expectedFailureCPU, expectedFailureCUDA = expectedFailure("cpu"), expectedFailure("cuda")

_NONE = "not a machine of this kind"
skipCPUIfNoLapack = skipCPUIfNoFFT = skipCPUIfNoMkl = skipCPUIfNoMklSparse = skipCPUIfNoMkldnn = _leave
skipCUDAIfNoMagma = skipCUDAIfNoCusolver = skipCUDAIfNoMagmaAndNoCusolver = skipCUDAIfNoMagmaAndNoLinalgsolver = _leave
skipCUDAIfNoCusparseGeneric = skipCUDAIfNoSparseGeneric = _leave
skipCUDAIfNotRocm = skipCUDAIfNoHipsparseGeneric = skipCUDAIfNotMiopenSuggestNHWC = skipCUDAIf(True, _NONE)
skipCUDAIfNoCudnn = skipCUDAIfNoMiopen = skipCUDAIf(True, "no cuDNN")
disablecuDNN = disableMkldnn = _leave


def skipCUDAIfCudnnVersionLessThan(version=0):
    return skipCUDAIf(True, "no cuDNN")


def skipCUDAVersionIn(versions=None):
    return _leave


def skipCUDAIfVersionLessThan(versions=None):
    return _leave


def largeTensorTest(size, device=None):
    """Tests of gigabytes: left out, for the fakes have the memory of this machine."""
    return lambda test: unittest.skip(f"needs {size} of memory")(test)


class deviceCountAtLeast:
    def __init__(self, num_required_devices):
        self.count = num_required_devices

    def __call__(self, test):
        @functools.wraps(test)
        def run(slf, devices, *args, **kwargs):
            if len(devices) < self.count:
                raise unittest.SkipTest(f"fewer than {self.count} devices")
            return test(slf, devices, *args, **kwargs)

        run.num_required_devices = self.count
        return run


tol = namedtuple("tol", ["atol", "rtol"])


class precisionOverride:
    def __init__(self, d):
        self.by_dtype = d

    def __call__(self, test):
        test.precision_overrides = self.by_dtype
        return test


class toleranceOverride:
    def __init__(self, d):
        self.by_dtype = d

    def __call__(self, test):
        test.tolerance_overrides = self.by_dtype
        return test


class dtypes:
    device_type = "all"

    def __init__(self, *args, device_type=None):
        self.dtypes = [tuple(d) if isinstance(d, (list, tuple)) else d for d in args]
        self.device_type = device_type or self.device_type

    def __call__(self, test):
        if not isinstance(test, Absent):
            test.dtypes = {**getattr(test, "dtypes", {}), self.device_type: self.dtypes}
        return test


def _dtypes_if(device):
    return type(f"dtypesIf{device}", (dtypes,), {"device_type": device})


dtypesIfCPU, dtypesIfCUDA, dtypesIfMPS = _dtypes_if("cpu"), _dtypes_if("cuda"), _dtypes_if("mps")
dtypesIfHPU, dtypesIfPRIVATEUSE1, dtypesIfXPU = _dtypes_if("hpu"), _dtypes_if("privateuse1"), _dtypes_if("xpu")
