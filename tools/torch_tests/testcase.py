"""The TestCase of PyTorch's tests, in Tenon's own words."""

import contextlib
import gc
import os
import random
import re
import subprocess
import sys
import unittest
import unittest.mock
import warnings
from collections.abc import Iterable

import numpy as np
import torch
from torch_tests import absent
from torch_tests.compare import mismatch
from torch_tests.parametrize import refuse_absent

SEED = 1234
NUMPY_DTYPES = {
    torch.bool: np.bool_,
    torch.uint8: np.uint8,
    torch.int8: np.int8,
    torch.int16: np.int16,
    torch.int32: np.int32,
    torch.int64: np.int64,
    torch.float16: np.float16,
    torch.float32: np.float32,
    torch.float64: np.float64,
}


def set_rng_seed(seed):
    torch.manual_seed(seed)
    random.seed(seed)
    np.random.seed(seed)


@contextlib.contextmanager
def _lets_absent_pass(context):
    """assertRaises(Exception) must not take a name that is not there for the error it waits for."""
    with context as manager:
        try:
            yield manager
        except Exception as error:
            if absent.reason(error):
                raise _Through(error) from error
            raise


class _Through(BaseException):
    def __init__(self, error):
        super().__init__(str(error))
        self.error = error


class TestCase(unittest.TestCase):
    maxDiff = None
    precision = 0.0
    rel_tol = 0.0
    _default_dtype_check_enabled = False

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        refuse_absent(cls)

    def setUp(self):
        set_rng_seed(SEED)
        self._grad_was_enabled = torch.is_grad_enabled()

    def tearDown(self):
        if hasattr(self, "_grad_was_enabled"):
            torch.set_grad_enabled(self._grad_was_enabled)

    # ---- equality ----

    def assertEqual(
        self,
        x,
        y,
        msg=None,
        *,
        atol=None,
        rtol=None,
        equal_nan=True,
        exact_dtype=True,
        exact_device=False,
        exact_layout=False,
        exact_stride=False,
        exact_is_coalesced=False,
    ):
        said = mismatch(
            x,
            y,
            rtol=rtol,
            atol=atol,
            equal_nan=equal_nan,
            exact_dtype=exact_dtype,
            exact_device=exact_device,
            exact_stride=exact_stride,
            least=(self.precision, self.rel_tol),
            number=torch.float32,
        )
        if said:
            raise AssertionError(msg(said) if callable(msg) else f"{said}\n{msg}" if msg is not None else said)

    def assertNotEqual(self, x, y, msg=None, *, atol=None, rtol=None, **kwargs):
        options = {k: v for k, v in kwargs.items() if k not in ("exact_layout", "exact_is_coalesced")}
        if mismatch(x, y, rtol=rtol, atol=atol, least=(self.precision, self.rel_tol), number=torch.float32, **options) is None:
            raise AssertionError(msg or f"{x!r} equals {y!r}")

    def assertEqualIgnoreType(self, *args, **kwargs):
        return self.assertEqual(*args, exact_dtype=False, **kwargs)

    def assertEqualBroadcasting(self, x, y, *args, **kwargs):
        if not isinstance(y, torch.Tensor):
            y = torch.ones_like(x) * (torch.tensor(y) if isinstance(y, Iterable) else y)
        return self.assertEqual(x, y, *args, **kwargs)

    def assertEqualTypeString(self, x, y):
        self.assertEqual(x.device, y.device)
        self.assertEqual(x.dtype, y.dtype)

    def assertObjectIn(self, obj, iterable):
        if not any(obj is other for other in iterable):
            raise AssertionError("object not found in iterable")

    def compare_with_numpy(self, torch_fn, np_fn, tensor_like, device=None, dtype=None, **kwargs):
        """The same function of a tensor and of an array."""
        if isinstance(tensor_like, torch.Tensor):
            tensor, cpu = tensor_like, tensor_like.detach().cpu()
            array = (cpu.float() if cpu.dtype is torch.bfloat16 else cpu).numpy()
        else:
            array = np.array(tensor_like, dtype={**NUMPY_DTYPES, torch.bfloat16: np.float32}[dtype])
            tensor = torch.tensor(tensor_like, device=device, dtype=dtype)
        expected, result = np_fn(array), torch_fn(tensor).cpu()
        if isinstance(expected, np.ndarray):
            expected = torch.from_numpy(np.ascontiguousarray(expected).reshape(expected.shape).copy())
            if tensor.dtype is torch.bfloat16 and result.dtype is torch.bfloat16 and expected.dtype is torch.float32:
                result = result.float()
        self.assertEqual(expected, result, **kwargs)

    # ---- errors and warnings ----

    def assertRaises(self, expected_exception, *args, **kwargs):
        return self._raises(super().assertRaises, (expected_exception,), args, kwargs)

    def assertRaisesRegex(self, expected_exception, expected_regex, *args, **kwargs):
        return self._raises(super().assertRaisesRegex, (expected_exception, expected_regex), args, kwargs)

    @staticmethod
    def _raises(check, expected, args, kwargs):
        if not args:
            return _lets_absent_pass(check(*expected, **kwargs))
        function, *rest = args
        if function is None:
            return check(*expected, *args, **kwargs)
        with _lets_absent_pass(check(*expected)):
            return function(*rest, **kwargs)

    def assertExpectedRaises(self, exc_type, callable, *args, **kwargs):
        with self.assertRaises(exc_type):
            callable(*args, **kwargs)

    def assertNoUnraisable(self, callable, *args, **kwargs):
        caught, enabled = [], gc.isenabled()
        gc.disable()
        try:
            with unittest.mock.patch("sys.unraisablehook", caught.append):
                callable(*args, **kwargs)
        finally:
            if enabled:
                gc.enable()
        self.assertEqual(caught, [])

    def assertNotWarn(self, callable, msg=""):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            with set_warn_always_context(True):
                callable()
        self.assertTrue(len(caught) == 0, f"{msg} {[str(w.message) for w in caught]}")

    @contextlib.contextmanager
    def assertWarnsOnceRegex(self, category, regex=""):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            with set_warn_always_context(True):
                yield
        if not caught:
            self.fail("no warning caught")
        self.assertTrue(any(type(w.message) is category for w in caught))
        self.assertTrue(any(re.match(regex, str(w.message)) for w in caught), f"{regex}, {[str(w.message) for w in caught]}")

    def assertExpectedInline(self, actual, expect, skip=0, **kwargs):
        if actual != expect:
            raise AssertionError(f"{actual!r} is not {expect!r}")

    def assertExpected(self, s, subname=None):
        raise absent.AbsentError("files of expected output")

    assertExpectedStripMangled = assertExpected

    def assertExpectedRaisesInline(self, exc_type, callable, expect, *args, skip=0, **kwargs):
        with self.assertRaises(exc_type) as caught:
            callable(*args, **kwargs)
        self.assertExpectedInline(str(caught.exception), expect)

    def check_nondeterministic_alert(self, fn, caller_name, should_alert=True):
        torch.use_deterministic_algorithms  # says that it is not there
        raise absent.AbsentError("alerts about operations that are not deterministic")

    # ---- what is about devices and processes ----

    @contextlib.contextmanager
    def assertLeaksNoCudaTensors(self, name=None):
        gc.collect()
        before = [torch.cuda.memory_allocated(i) for i in range(torch.cuda.device_count())]
        yield
        gc.collect()
        after = [torch.cuda.memory_allocated(i) for i in range(torch.cuda.device_count())]
        self.assertEqual(before, after)

    def wrap_with_cuda_policy(self, method_name, policy):
        pass

    wrap_with_policy = wrap_with_cuda_policy

    @staticmethod
    def run_process_no_exception(code, env=None):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, env=env)
        return done.stdout, done.stderr

    @staticmethod
    def runWithPytorchAPIUsageStderr(code):
        return TestCase.run_process_no_exception(code, {**os.environ, "PYTORCH_API_USAGE_STDERR": "1"})[1].decode("ascii")

    def _attempt_load_from_subprocess(self, file, import_string, expected_failure_message=None):
        script = f"import torch;{import_string}torch.load(r'{file}', weights_only=True)"
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
        if expected_failure_message is None:
            self.assertEqual(done.returncode, 0, done.stderr)
        else:
            self.assertNotEqual(done.returncode, 0)
            self.assertRegex(done.stderr, re.escape(expected_failure_message))


def through(error):
    """The exception that _lets_absent_pass carried past assertRaises."""
    return error.error if isinstance(error, _Through) else error


@contextlib.contextmanager
def set_warn_always_context(new_val):
    before = torch.is_warn_always_enabled()
    torch.set_warn_always(new_val)
    try:
        yield
    finally:
        torch.set_warn_always(before)


