"""A hundred thousand calls with arguments that mean no good, in processes of their own: exceptions, never a crash."""

import os
import re
import subprocess
import sys

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
SANITIZED = "libasan" in os.environ.get("LD_PRELOAD", "")
LIMIT = [] if SANITIZED else [str(4 << 30)]  # address space: a giant allocation is an error


@pytest.mark.parametrize("seed", [1, 2])
def test_calls(seed, tmp_path):
    env = dict(os.environ, TENON_FAKE_GPUS="2x64MiB", PYTHONPATH=os.pathsep.join(os.path.abspath(p) for p in sys.path if p))
    if SANITIZED:
        env["ASAN_OPTIONS"] = env.get("ASAN_OPTIONS", "") + ":max_allocation_size_mb=3000"
    last = tmp_path / "last"
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", os.path.join(HERE, "fuzz_calls.py"), str(seed), "50000", str(last), *LIMIT],
        cwd=tmp_path,
        env=env,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=300,
    )
    assert done.returncode == 0, f"last call: {last.read_text()[:500].strip()}\n{done.stdout[-2000:]}{done.stderr[-4000:]}"
    assert "BAD" not in done.stdout, done.stdout
    reached = re.match(r"50000 calls of (\d+) functions, (\d+) of which took something", done.stdout)
    assert int(reached[1]) > 1000 and int(reached[2]) > 600  # the arguments are not all nonsense
