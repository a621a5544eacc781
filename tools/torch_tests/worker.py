"""Runs the tests of one file of PyTorch's and prints a line of JSON when a test begins and when it ends, on a descriptor.

    python -m torch_tests.worker TEST_FOLDER FILE --out DESCRIPTOR [--skip N] [--only PATTERN] [--leave PATTERNS]

The tests have one order, so that one that ends the process can be left out when the rest is run again.
"""

import faulthandler
import fnmatch
import gc
import importlib.util
import json
import os
import sys
import traceback
import unittest
import warnings

from torch_tests import absent, install


def load(folder, file):
    """The module of a test file, under the name it has when PyTorch's runner imports it."""
    sys.path.insert(0, folder)
    path = os.path.join(folder, file + ".py")
    sys.path.insert(0, os.path.dirname(path))
    os.chdir(os.path.dirname(path))
    name = os.path.basename(file)
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    sys.argv = [path]
    spec.loader.exec_module(module)
    return module


def tests_of(module):
    """[(class, method's name)] in the order of the file's classes, methods by name."""
    found = []
    for value in list(vars(module).values()):
        if isinstance(value, type) and issubclass(value, unittest.TestCase) and value.__module__ in (module.__name__, *_siblings()):
            found += [(value, name) for name in unittest.defaultTestLoader.getTestCaseNames(value)]
    return found


def _siblings():
    """Modules of the test folder that a file takes classes of tests from."""
    return [n for n in sys.modules if n.startswith(("optim.test_", "autograd.test_"))]


class Result(unittest.TestResult):
    """What became of one test."""

    def __init__(self):
        super().__init__()
        self.outcome, self.message = "passed", ""

    def _ended(self, error):
        from torch_tests.testcase import through

        error = through(error)
        why = absent.reason(error)
        if why:
            self._say("absent", why)
        else:
            said = "".join(traceback.format_exception_only(type(error), error)).strip()
            self._say("failed", said, "".join(traceback.format_exception(type(error), error, error.__traceback__)))

    def _say(self, outcome, message, trace=""):
        if self.outcome == "failed":
            return  # the first failure is what is told
        self.outcome, self.message, self.trace = outcome, message, trace

    trace = ""

    def addError(self, test, error):
        self._ended(error[1])

    addFailure = addError

    def addSubTest(self, test, subtest, error):
        if error is not None:
            self._ended(error[1])

    def addSkip(self, test, reason):
        self._say("skipped", str(reason))

    def addExpectedFailure(self, test, error):
        why = absent.reason(error[1])
        if why:
            self._say("absent", why)

    def addUnexpectedSuccess(self, test):
        self._say("failed", "unexpected success")


def clear_hooks():
    """Hooks of all modules: tests reset PyTorch's own dictionaries of them, which are others here."""
    from tenon.nn.modules import _hooks

    for hooks in (_hooks._global_pre, _hooks._global_forward, _hooks._global_always):
        hooks.clear()


class Classes:
    """setUpClass and tearDownClass around the tests of each class."""

    def __init__(self):
        self.current, self.error = None, None

    def enter(self, cls):
        if cls is self.current:
            return self.error
        self.leave()
        self.current, self.error = cls, None
        try:
            cls.setUpClass()
        except unittest.SkipTest as skip:
            self.error = skip
        except BaseException as error:
            self.error = error
        return self.error

    def leave(self):
        if self.current is not None and self.error is None:
            try:
                self.current.tearDownClass()
                self.current.doClassCleanups()
            except Exception:
                pass
        self.current = None


def run_one(cls, name, classes):
    result = Result()
    if getattr(cls, "__unittest_skip__", False):
        result.addSkip(None, cls.__unittest_skip_why__)
        return result
    error = classes.enter(cls)
    if isinstance(error, unittest.SkipTest):
        result.addSkip(None, str(error))
    elif error is not None:
        result._ended(error)
    else:
        with warnings.catch_warnings():
            cls(name).run(result)
    return result


def main():
    folder, file = sys.argv[1:3]
    options = dict(zip(sys.argv[3::2], sys.argv[4::2]))
    begin, only, leave = int(options.get("--skip", 0)), options.get("--only", "*"), options.get("--leave", "").split()
    out = os.fdopen(int(options["--out"]), "w", buffering=1)
    os.set_inheritable(out.fileno(), False)  # processes of the tests' own do not hold it

    def tell(**what):
        print(json.dumps(what), file=out, flush=True)

    faulthandler.enable()
    install.install(collecting=True)
    try:
        module = load(folder, file)
    except BaseException as error:
        tell(collected=0, error=f"{type(error).__name__}: {error}", trace=traceback.format_exc())
        return
    install.run_phase()
    import torch

    grad, default = torch.is_grad_enabled(), torch.get_default_dtype()
    tests = [(cls, name) for cls, name in tests_of(module) if fnmatch.fnmatch(f"{cls.__name__}.{name}", only)]
    tell(collected=len(tests))
    classes = Classes()
    for number, (cls, name) in enumerate(tests):
        if number < begin:
            continue
        tell(begin=number, test=f"{cls.__name__}.{name}")
        if any(fnmatch.fnmatchcase(f"{file}::{cls.__name__}.{name}", pattern) for pattern in leave):
            tell(end=number, outcome="failed", message="left out", trace="")
            continue
        result = run_one(cls, name, classes)
        tell(end=number, outcome=result.outcome, message=result.message, trace=result.trace)
        # what a test that failed may have left behind
        torch.set_grad_enabled(grad)
        torch.set_default_dtype(default)
        clear_hooks()
        if result.outcome != "passed":
            result = None
            gc.collect()
    classes.leave()
    tell(done=True)
    out.flush()
    os._exit(0)  # threads that tests left behind must not keep the process


if __name__ == "__main__":
    main()
