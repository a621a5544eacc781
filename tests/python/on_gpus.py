"""Tests on fake GPUs, or on none: Tenon reads the environment once, so each runs in a process of its own."""

import functools
import inspect
import os
import subprocess
import sys
import textwrap

import pytest

START = "import pytest\nimport re\nimport warnings\nimport tenon as torch\nfrom tenon import cuda\n\n"


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
            if count:
                environment["TENON_FAKE_GPUS"] = str(count)
            else:
                environment["CUDA_VISIBLE_DEVICES"] = ""
            paths = [os.path.dirname(__file__), environment.get("PYTHONPATH")]
            environment["PYTHONPATH"] = os.pathsep.join(p for p in paths if p)
            environment.update(variables)
            done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=300)
            if done.returncode:
                pytest.fail(done.stdout + done.stderr, pytrace=False)

        return test

    return decorate
