"""Settings in the environment that are wrong: warned of once, when the package is imported or when there is no GPU."""

import os
import re
import subprocess
import sys

import pytest
import tenon as torch

WRONG = {
    "TENON_FAKE_GPUS": ("2x1GB", "it is neither COUNT nor COUNTxSIZE"),
    "TENON_NUM_THREADS": ("abc", "it is not a whole number from 1 to 256"),
    "TENON_BLAS": ("/etc/passwd", "it is no shared library"),
    "TENON_CPU": ("avx9", "it is none of baseline, avx2, avx512"),
    "TENON_CACHE_DIR": ("/etc/passwd", "it is no folder"),
    "TENON_CUDA_MEMORY_LIMIT": ("lots", "it is not a size"),
    "TENON_GPU_SHUFFLE": ("maybe", "it is neither 1 (yes, on, true) nor 0"),
    "TENON_VISIBLE_DEVICES": ("a,b", "it is no list of numbers"),
    "TENON_NUM_THREAD": ("2", "nothing reads it; did you mean TENON_NUM_THREADS?"),
}


def ran(program, *options, **variables):
    """The process that ran a program with these variables and no other of Tenon's; its warnings are lines of stderr."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("TENON_", "CUDA_"))}
    environment.update(TENON_BLAS="off", PYTHONPATH=os.pathsep.join(os.path.abspath(p) for p in sys.path if p))
    environment.update(variables)
    return subprocess.run([sys.executable, *options, "-c", program], env=environment, capture_output=True, text=True, timeout=300)


def warned(done):
    return re.findall(r"UserWarning: (TENON_\w+=.*)", done.stderr)


def test_each_is_warned_of_once():
    program = "import tenon\nimport tenon.nn\nprint(tenon.cuda.is_available(), tenon.cuda.device_count(), tenon.ones(2).sum().item())"
    done = ran(program, **{name: value for name, (value, _) in WRONG.items()})
    assert done.returncode == 0 and done.stdout == "False 0 2.0\n", done.stderr
    said = warned(done)
    assert len(said) == len(WRONG)
    for name, (value, why) in WRONG.items():
        (line,) = [s for s in said if s.startswith(f"{name}={value}: ")]
        assert why in line
        assert "nothing reads it" in line or f"right is {name}=" in line
    assert "<string>:1: UserWarning" in done.stderr  # the program's line, not one of the package


def test_what_is_right_is_quiet():
    done = ran("import tenon; print(tenon.get_num_threads())", TENON_NUM_THREADS="2", TENON_CPU="baseline", TENON_CUDA_MEMORY_LIMIT="1GiB")
    assert (done.returncode, done.stdout, done.stderr) == (0, "2\n", "")


@pytest.mark.parametrize(
    "variables, why",
    [
        ({"TENON_FAKE_GPUS": "x"}, "TENON_FAKE_GPUS=x: it is neither COUNT nor COUNTxSIZE"),
        ({"TENON_FAKE_GPUS": "1", "TENON_VISIBLE_DEVICES": "0,5"}, "TENON_VISIBLE_DEVICES=0,5: it names what is none of the driver's devices"),
        ({"TENON_FAKE_GPUS": "1", "TENON_FAKE_GPU_FAULTS": "oops@1"}, "TENON_FAKE_GPU_FAULTS=oops@1: it is not understood at 'oops@1'"),
        ({"TENON_FAKE_GPUS": "1", "TENON_FAKEGPU_LIBRARY": "/nowhere.so"}, "TENON_FAKEGPU_LIBRARY=/nowhere.so: there is no such file"),
    ],
)
@pytest.mark.parametrize("asked", ["is_available()", "device_count()"])
def test_no_gpu_is_never_without_its_reason(variables, why, asked):
    """Set by the program itself, after the import: a plain False, or 0, would be all that it sees."""
    program = f"import os, tenon\nos.environ.update({variables!r})\nprint(int(tenon.cuda.{asked}), int(tenon.cuda.{asked}))"
    done = ran(program)
    assert done.stdout == "0 0\n", done.stderr
    (said,) = warned(done)
    assert said.startswith(why) and "; as it is, " in said


def test_warnings_are_pythons():
    done = ran("import tenon", "-W", "ignore", TENON_NUM_THREADS="abc")
    assert (done.returncode, done.stderr) == (0, "")
    done = ran("import tenon", "-W", "error", TENON_NUM_THREADS="abc")
    assert done.returncode == 1 and "UserWarning: TENON_NUM_THREADS=abc" in done.stderr


def test_threads_out_of_range():
    was = torch.get_num_threads()
    with pytest.raises(RuntimeError, match="^set_num_threads expects at most 256 threads, got 257"):
        torch.set_num_threads(257)
    with pytest.raises(RuntimeError, match="^set_num_threads expects a positive integer"):
        torch.set_num_threads(0)
    assert torch.get_num_threads() == was


def test_a_warning_that_became_an_exception_comes_again():
    """Whoever catches it and imports anew has not been told yet."""
    program = """
import warnings
warnings.simplefilter("error")
try:
    import tenon
except UserWarning as e:
    print("raised")
warnings.simplefilter("always")
import tenon
tenon._C._warn_of_settings()
"""
    done = ran(program, TENON_NUM_THREADS="abc")
    assert (done.returncode, done.stdout) == (0, "raised\n"), done.stderr
    assert len(warned(done)) == 1


def test_where_pip_put_nvidias_libraries(tmp_path):
    """Those of the Python that runs; the user's word goes first."""
    (tmp_path / "nvidia" / "cu13" / "lib").mkdir(parents=True)
    program = f"import os, sys; sys.path.append({str(tmp_path)!r}); import tenon; print(os.environ.get('TENON_SITE_PACKAGES'))"
    found = ran(program).stdout.strip()
    assert str(tmp_path) in found.split(os.pathsep)
    assert ran(program, TENON_SITE_PACKAGES="/usr").stdout.strip() == "/usr"


def test_warnings_of_the_library():
    """Of the library itself: Python's UserWarning, once, also of a thread; where warnings are errors, that error."""
    program = """
import threading, warnings
import tenon as torch
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    worker = threading.Thread(target=lambda: torch.ones(3, device="cuda") + 1)
    worker.start()
    worker.join()
    print((torch.ones(3, device="cuda") * 2).sum().item())
print([(w.category.__name__, str(w.message).split(",")[0]) for w in caught])
"""
    done = ran(program, TENON_FAKE_GPUS="1x64MiB", TENON_CACHE_DIR="/proc/nowhere", TENON_FAKE_CC=os.environ.get("TENON_FAKE_CC", ""))
    said = "compiled GPU kernels cannot be kept in /proc/nowhere (No such file or directory)"
    assert done.stdout == f"6.0\n[('UserWarning', '{said}')]\n", done.stderr
    assert done.stderr == ""
    done = ran("import tenon\ntenon.ones(3, device='cuda') + 1\nfor i in range(9): pass", "-W", "error", TENON_FAKE_GPUS="1x64MiB", TENON_CACHE_DIR="/proc/nowhere")
    assert done.returncode == 1 and f"UserWarning: {said}" in done.stderr
