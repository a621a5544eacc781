"""`python -m tenon program.py arguments`: runs a program that says `import torch` on Tenon."""

import os
import platform
import runpy
import sys
import traceback
import types

_USAGE = """usage: python -m tenon program.py [arguments]
       python -m tenon -m module [arguments]
       python -m tenon -c code [arguments]
       python -m tenon --missing program.py   what it uses of PyTorch and Tenon lacks, before it runs
       python -m tenon                        what there is on this machine

The program runs as `python program.py` would run it, but its `import torch` is Tenon. --missing reads notebooks, too, and says
'perhaps' of what is guarded (try, hasattr, contextlib.suppress, TYPE_CHECKING) or may be no tensor's."""


def _command():
    """How a shell here calls the command of this package; None where the package has none, as in a build folder."""
    import shlex
    import shutil

    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "tenon")
    if not os.access(program, os.X_OK):
        return None
    beside = os.path.join(os.path.dirname(sys.executable), "tenon")
    if not os.access(beside, os.X_OK):
        return shlex.quote(program)
    return "tenon" if shutil.which("tenon") == beside else shlex.quote(beside)


def _describe():
    """What Tenon is and what it found, as text."""
    import tenon

    cuda, command = tenon.cuda, _command()
    lines = [f"Tenon {tenon.version.tenon}: a tensor library with PyTorch's Python interface", ""]
    lines.append(f"python   {platform.python_version()} ({sys.executable})")
    lines.append(f"package  {os.path.dirname(os.path.abspath(tenon.__file__))}")
    if command is not None:
        lines.append(f"command  {command}")
    lines.append(f"threads  {tenon.get_num_threads()}")
    if cuda.is_available():
        for i in range(cuda.device_count()):
            lines.append(f"cuda:{i}   {cuda.get_device_name(i)}")
    else:
        tells = "" if command is None else f" (`{command} doctor` tells what is missing)"
        lines.append(f"cuda     no GPU found; TENON_FAKE_GPUS=1 simulates one{tells}")
    return "\n".join([*lines, "", _USAGE])


def _new_main(filename=None):
    """A fresh module __main__, in place of this one."""
    module = types.ModuleType("__main__")
    module.__builtins__ = __builtins__
    if filename is not None:
        module.__file__ = filename
        module.__cached__ = None
    sys.modules["__main__"] = module
    return module


def _run_script(path, arguments):
    if os.path.isdir(path) or path.endswith(".zip"):
        sys.argv = [path, *arguments]
        runpy.run_path(path, run_name="__main__")
        return
    try:
        with open(path, "rb") as file:
            source = file.read()
    except OSError as error:
        sys.stderr.write(f"python -m tenon: can't open file {path!r}: {error}\n")
        raise SystemExit(2) from None
    sys.argv = [path, *arguments]
    sys.path[0] = os.path.dirname(os.path.realpath(path))
    module = _new_main(path)
    exec(compile(source, path, "exec"), module.__dict__)


def _run_module(name, arguments):
    sys.argv = [name, *arguments]
    sys.path[0] = os.getcwd()
    runpy.run_module(name, run_name="__main__", alter_sys=True)


def _run_code(code, arguments):
    sys.argv = ["-c", *arguments]
    sys.path[0] = ""
    module = _new_main()
    exec(compile(code, "<string>", "exec"), module.__dict__)


def _is_ours(frame):
    return frame.f_code.co_filename in (__file__, runpy.__file__, "<frozen runpy>")


def _report(error):
    """Shows an exception as Python does, from the program's first frame on."""
    trace = error.__traceback__
    while trace is not None and _is_ours(trace.tb_frame):
        trace = trace.tb_next
    error.__traceback__ = trace
    if sys.excepthook is sys.__excepthook__:
        traceback.print_exception(error)
    else:
        sys.excepthook(type(error), error, trace)


def main(arguments):
    """Runs what the command line says. Returns the exit status."""
    if not arguments:
        return _told(_describe())
    first, rest = arguments[0], arguments[1:]
    if first in ("-h", "--help"):
        return _told(_USAGE)
    if first == "--missing" and rest:
        from ._uses import report

        lines, status = report(rest)
        return lines and _told("\n".join(lines)) or status
    runners = {"-m": _run_module, "-c": _run_code}
    takes = (*runners, "--missing")
    if first in takes and not rest or first.startswith("-") and first not in takes:
        sys.stderr.write(f"python -m tenon: {first}: {'needs an argument' if first in takes else 'no such option'}\n")
        sys.stderr.write(_USAGE + "\n")
        return 2
    from ._install import install_as_torch

    install_as_torch()
    try:
        if first in runners:
            runners[first](rest[0], rest[1:])
        else:
            _run_script(first, rest)
    except KeyboardInterrupt as error:
        _report(error)
        return 130  # as shells say it of a program that SIGINT has ended
    except Exception as error:
        _report(error)
        return 1
    return 0


def _told(text):
    """Writes the text to standard output. The exit status: 1, with one line that says why, if it cannot be written."""
    try:
        print(text, flush=True)
        return 0
    except (OSError, ValueError) as error:
        sys.stderr.write(f"python -m tenon: standard output: {getattr(error, 'strerror', None) or error}\n")
        try:
            sys.stdout.close()  # or Python tries again at its end, and says so in lines of its own
        except OSError:
            pass
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
