"""Tests on fake GPUs, or on none: Tenon reads the environment once, so each runs in a process of its own."""

import functools
import inspect
import os
import subprocess
import sys
import textwrap

import pytest

START = "import pytest\nimport re\nimport warnings\nimport tenon as torch\nfrom tenon import cuda\n\n"


def gpus(count):
    """Variables of an environment with so many GPUs: fake ones. With TENON_TEST_LOGICAL all are one GPU; and that is a real
    one where TENON_FAKE_GPUS is set and empty."""
    if not count:
        return {"CUDA_VISIBLE_DEVICES": ""}
    if not os.environ.get("TENON_TEST_LOGICAL"):
        return {"TENON_FAKE_GPUS": str(count)}
    one = {} if os.environ.get("TENON_FAKE_GPUS") == "" else {"TENON_FAKE_GPUS": "1"}
    return {**one, "TENON_VISIBLE_DEVICES": ",".join("0" * count)}


def on_gpus(count, imports=START, **variables):
    """The decorated test's source runs in a new interpreter that sees so many fake GPUs, with torch, cuda and pytest.

    count: also as TENON_FAKE_GPUS takes it ("2x64MiB"); imports: what the interpreter imports; variables: of its environment.
    """

    def decorate(function):
        lines = inspect.getsource(function).splitlines()
        start = next(i for i, line in enumerate(lines) if line.startswith("def "))
        code = imports + textwrap.dedent("\n".join(lines[start:])) + f"\n\n{function.__name__}()\n"

        @functools.wraps(function)
        def test():
            environment = {k: v for k, v in os.environ.items() if not k.startswith(("TENON_FAKE", "TENON_VISIBLE", "CUDA_"))}
            if os.environ.get("TENON_TEST_LOGICAL") and (isinstance(count, str) or variables):
                pytest.skip("faults and sizes of fake GPUs")
            environment.update(gpus(count))
            paths = [os.path.dirname(__file__), environment.get("PYTHONPATH")]
            environment["PYTHONPATH"] = os.pathsep.join(p for p in paths if p)
            environment.update(variables)
            done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=300)
            if done.returncode:
                pytest.fail(done.stdout + done.stderr, pytrace=False)

        return test

    return decorate
