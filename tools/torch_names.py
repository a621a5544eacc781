"""Writes python/tenon/_torch_names.txt: PyTorch's public names, which Tenon looks into when it has no such name. Run where PyTorch
is installed:

    python3 tools/torch_names.py > python/tenon/_torch_names.txt

A line is a module or class and the names in it; lines without names are modules of which it is enough to know that they are
there. Names are facts about PyTorch; nothing else of it is written.
"""

import importlib
import pkgutil
import types
import warnings

import torch

warnings.simplefilter("ignore")
# below these, modules alone: programs that Tenon can run import none of them
COARSE = ("torch.ao", "torch.contrib", "torch.distributed", "torch.export", "torch.fx", "torch.onnx", "torch.package",
          "torch.quantization", "torch.testing", "torch.nn.intrinsic", "torch.nn.qat", "torch.nn.quantizable", "torch.nn.quantized",
          "torch.utils.benchmark", "torch.utils.tensorboard", "torch.utils.data.datapipes", "torch.distributions", "torch.masked",
          "torch.nativert", "torch.mtia", "torch.xpu", "torch.mps", "torch.numa", "torch.monitor", "torch.futures", "torch.backends",
          "torch.utils.model_dump", "torch.utils.hipify", "torch.utils.jit", "torch.utils.bottleneck", "torch.utils.serialization",
          "torch.utils.viz", "torch.utils.bundled_inputs", "torch.utils.mobile_optimizer", "torch.utils.collect_env",
          "torch.compiler.config", "torch.cuda.tunable", "torch.foreach", "torch.multiprocessing.reductions", "torch.jit.annotations",
          "torch.jit.frontend", "torch.jit.quantized", "torch.jit.unsupported_tensor_ops", "torch.overrides")
FINE = ("torch.distributed", "torch.distributions", "torch.backends.cudnn")
CLASSES = (torch.Tensor, torch.nn.Module)


def is_public(name):
    return not any(part.startswith("_") for part in name.split("."))


def belongs(module, name, value):
    """Is it PyTorch's own, and not something that the module has imported?"""
    if isinstance(value, types.ModuleType):
        return value.__name__.startswith("torch.") and is_public(value.__name__)
    if isinstance(value, types.BuiltinFunctionType):
        return not value.__module__ or value.__module__.startswith("torch")
    home = str(getattr(value, "__module__", None) or type(value).__module__)
    if module is torch:  # what its C++ half keeps for itself has no other mark than that
        return home.startswith("torch") and home != "torch._C" or home == "builtins" or name in torch.__all__
    return home.startswith("torch") and (hasattr(module, "__path__") or home == module.__name__)


def names_of(module):
    listed = getattr(module, "__all__", None)
    names = {n for n in dir(module) if not n.startswith("_") and belongs(module, n, getattr(module, n, None))}
    return sorted((names if hasattr(module, "__path__") or listed is None else set()) | {n for n in listed or () if is_public(n)})


def modules():
    yield "torch"
    for found in pkgutil.walk_packages(torch.__path__, "torch.", onerror=lambda name: None):
        if is_public(found.name):
            yield found.name


def is_coarse(name):
    return name not in FINE and any(name == c or name.startswith(c + ".") for c in COARSE)


def main():
    for name in sorted(modules()):
        coarse = is_coarse(name)
        if coarse and name.count(".") > 2:
            continue
        names = []
        if not coarse:
            try:
                names = names_of(importlib.import_module(name))
            except Exception:
                pass  # of another system, or with a package that is not here
        print(name, *names)
    for cls in CLASSES:
        print(f"{cls.__module__}.{cls.__name__}" if cls is torch.Tensor else "torch.nn.Module",
              *(n for n in sorted(dir(cls)) if not n.startswith("_")))


if __name__ == "__main__":
    main()
