"""`python -m tenon` and install_as_torch: programs that say `import torch`, each in a process of its own."""

import subprocess
import sys

import pytest

import tenon


def python(*arguments, cwd=None):
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, cwd=cwd, timeout=120)


def ok(*arguments, cwd=None):
    """The lines that a command prints; it must succeed and say nothing else."""
    done = python(*arguments, cwd=cwd)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


def code(text, *arguments):
    return ok("-m", "tenon", "-c", text, *arguments)


def test_torch_is_tenon():
    assert code("import torch, tenon; print(torch is tenon, torch.__name__, torch.tensor([1, 2]).tolist())") == [
        "True tenon [1, 2]"
    ]


def test_submodules_are_the_same_modules():
    program = """
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
import torch.utils.data.dataset
import tenon.nn.functional, tenon.utils.data, sys
print(F is tenon.nn.functional, nn is tenon.nn, nn.functional is F, DataLoader is tenon.utils.data.DataLoader)
print(torch.utils.data.dataset.__spec__.name, sys.modules['torch.utils.data'] is tenon.utils.data)
"""
    assert code(program) == ["True True True True", "tenon.utils.data.dataset True"]


def test_what_is_missing_is_said():
    program = """
try:
    import torch.no_such_part
except ModuleNotFoundError as error:
    print(error.name, '|', error)
try:
    from torch.nn import no_such_name
except ImportError as error:
    print(type(error).__name__)
"""
    lines = code(program)
    assert lines[0].startswith("torch.no_such_part | Tenon has no module 'tenon.no_such_part'")
    assert lines[1] == "ImportError"


def test_without_asking_torch_is_not_tenon():
    program = """
import sys, tenon
ours = [f for f in sys.meta_path if 'Finder' in repr(f) and 'tenon' in repr(f)]
print('torch' in sys.modules, *ours)
print(*(f.find_spec(name) for f in ours for name in ('torch', 'torch.nn', 'torch.fft')))
"""
    # the one says of tenon.fft what there is instead (test_missing.py)
    assert ok("-c", program) == ["False <class 'tenon._missing._Finder'>", "None None None"]


def test_install_twice():
    program = "import tenon, sys; tenon.install_as_torch(); n = len(sys.meta_path); tenon.install_as_torch(); import torch; print(torch is tenon, len(sys.meta_path) - n)"
    assert ok("-c", program) == ["True 0"]


def test_refuses_beside_the_real_one():
    program = """
import sys, types, tenon
sys.modules['torch'] = types.ModuleType('torch')
try:
    tenon.install_as_torch()
except RuntimeError as error:
    print(error)
"""
    assert "PyTorch is already imported" in ok("-c", program)[0]


def test_script(tmp_path):
    script = tmp_path / "program.py"
    (tmp_path / "beside.py").write_text("value = 42\n")
    script.write_text(
        "import sys, torch, beside, pickle\n"
        "class Own: pass\n"
        "if __name__ == '__main__':\n"
        "    print(__file__, sys.argv, sys.path[0], beside.value, __spec__ if '__spec__' in globals() else None)\n"
        "    print(type(pickle.loads(pickle.dumps(Own()))) is Own, sys.modules['__main__'].Own is Own)\n"
    )
    lines = ok("-m", "tenon", str(script), "-x", "y")
    assert lines == [f"{script} {[str(script), '-x', 'y']} {tmp_path} 42 None", "True True"]


def test_module(tmp_path):
    (tmp_path / "part").mkdir()
    (tmp_path / "part" / "__init__.py").write_text("")
    (tmp_path / "part" / "run.py").write_text("import sys, torch; print(__name__, sys.argv[1:], torch.__name__)\n")
    assert ok("-m", "tenon", "-m", "part.run", "a", "b", cwd=tmp_path) == ["__main__ ['a', 'b'] tenon"]


def test_code_and_arguments():
    assert code("import sys; print(sys.argv, __name__)", "a", "-b") == ["['-c', 'a', '-b'] __main__"]


def test_traceback_is_the_programs(tmp_path):
    script = tmp_path / "program.py"
    script.write_text("import torch\ndef f():\n    raise ValueError('boo')\nf()\n")
    done = python("-m", "tenon", str(script))
    assert done.returncode == 1
    lines = done.stderr.splitlines()
    assert lines[0] == "Traceback (most recent call last):" and lines[1] == f'  File "{script}", line 4, in <module>'
    assert lines[-1] == "ValueError: boo" and "tenon" not in done.stderr.replace(str(tmp_path), "")
    script.write_text("import torch\nx = = 1\n")
    done = python("-m", "tenon", str(script))
    assert done.returncode == 1 and done.stderr.startswith(f'  File "{script}", line 2\n') and "SyntaxError" in done.stderr


def test_exit_status(tmp_path):
    assert python("-m", "tenon", "-c", "raise SystemExit(7)").returncode == 7
    done = python("-m", "tenon", "-c", "import sys; sys.exit('words')")
    assert (done.returncode, done.stderr) == (1, "words\n")
    done = python("-m", "tenon", str(tmp_path / "missing.py"))
    assert done.returncode == 2 and "can't open file" in done.stderr
    done = python("-m", "tenon", "-m")
    assert done.returncode == 2 and "usage: python -m tenon" in done.stderr
    done = python("-m", "tenon", "-x")
    assert done.returncode == 2 and "-x: no such option" in done.stderr


def test_without_arguments():
    text = "\n".join(ok("-m", "tenon"))
    assert text.startswith(f"Tenon {tenon.version.tenon}: a tensor library") and "usage: python -m tenon" in text
    assert ok("-m", "tenon", "--help")[0].startswith("usage: python -m tenon")
    assert "doctor" not in text  # this folder has no command to recommend; an installed package has (wheel.sh)


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_workers_know_torch_too(tmp_path, method):
    script = tmp_path / "program.py"
    script.write_text(
        "import torch\n"
        "from torch.utils.data import DataLoader, Dataset\n"
        "class Own(Dataset):\n"
        "    def __len__(self): return 4\n"
        "    def __getitem__(self, i): return torch.tensor(i)\n"
        "if __name__ == '__main__':\n"
        f"    loader = DataLoader(Own(), 2, num_workers=1, multiprocessing_context='{method}')\n"
        "    print([b.tolist() for b in loader])\n"
    )
    assert ok("-m", "tenon", str(script)) == ["[[0, 1], [2, 3]]"]


def test_a_module_does_not_hide_the_function_of_its_name():
    program = "import torch, torch.autograd.gradcheck; from torch.autograd.gradcheck import GradcheckError\n"
    program += "print(torch.autograd.gradcheck(lambda x: x * 2, torch.ones(2, dtype=torch.float64, requires_grad=True)))"
    assert code(program) == ["True"]


def test_an_output_that_cannot_be_written():
    for arguments in ([], ["--help"], ["-h"]):
        with open("/dev/full", "w") as full:
            done = subprocess.run(
                [sys.executable, "-m", "tenon", *arguments], stdout=full, stderr=subprocess.PIPE, text=True, timeout=120
            )
        assert (done.returncode, done.stderr) == (1, "python -m tenon: standard output: No space left on device\n")
