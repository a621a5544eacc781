"""Programs that say `import torch` run on Tenon: on request only."""

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys

_ALIAS, _REAL = "torch", "tenon"


def _ours(name):
    """The module of Tenon that stands for a module of PyTorch."""
    return _REAL + name[len(_ALIAS) :]


def _is_alias(name):
    return name == _ALIAS or name.startswith(_ALIAS + ".")


class _Loader(importlib.abc.Loader):
    """Hands out the module that is already Tenon's, under a second name."""

    def __init__(self, name):
        self._name = name

    def create_module(self, spec):
        module = importlib.import_module(_ours(self._name))
        self._kept = module.__spec__, module.__dict__.get("__loader__")
        return module

    def exec_module(self, module):
        # the import system has just given the module the alias's spec; relative imports need its own
        module.__spec__, module.__loader__ = self._kept
        _share_loaded()


class _Finder(importlib.abc.MetaPathFinder):
    """Answers for torch and torch.*: with Tenon's modules, or with what Tenon lacks."""

    def find_spec(self, name, path=None, target=None):
        if not _is_alias(name):
            return None
        ours = _ours(name)
        if ours not in sys.modules and importlib.util.find_spec(ours) is None:
            from ._missing import is_pytorchs, lacking

            why = f"; {lacking(name)}" if is_pytorchs(name) else ""
            raise ModuleNotFoundError(
                f"Tenon has no module {ours!r}: this program imports {name!r}, and 'torch' is Tenon here "
                f"(tenon.install_as_torch){why}",
                name=name,
            )
        spec = importlib.machinery.ModuleSpec(name, _Loader(name), origin=f"alias of {ours}")
        spec.submodule_search_locations = []  # every module may have submodules: this finder is asked for them
        return spec


def _share_loaded():
    """Names every module of Tenon that is loaded: importing it later finds it, and does not put it in its package in the
    place of a function of the same name (autograd.gradcheck)."""
    for name in [n for n in sys.modules if n.startswith(_REAL + ".")]:
        sys.modules.setdefault(_ALIAS + name[len(_REAL) :], sys.modules[name])


def install_as_torch():
    """From now on `import torch` in this process imports Tenon: torch, torch.nn, torch.utils.data and what else Tenon
    has. Calling it again does nothing.

    RuntimeError if the real PyTorch has been imported already: two libraries under one name would be mixed up.
    A module that Tenon lacks is a ModuleNotFoundError that says so. Worker processes that multiprocessing starts
    afresh (spawn, forkserver) inherit the alias.
    """
    import tenon

    current = sys.modules.get(_ALIAS)
    if current is not None and current is not tenon:
        raise RuntimeError(
            f"PyTorch is already imported (from {getattr(current, '__file__', 'somewhere')}): call "
            "tenon.install_as_torch() before the first `import torch`"
        )
    if any(isinstance(finder, _Finder) for finder in sys.meta_path):
        return
    sys.meta_path.insert(0, _Finder())
    importlib.import_module(_ALIAS)
    _inherit()


def _install_in_child():
    """Unpickled by a child process, before it imports the program: see _inherit."""
    install_as_torch()


class _InstallInChild:
    def __reduce__(self):
        return _install_in_child, ()


def _inherit():
    """Children that do not inherit memory get the alias with the data that multiprocessing prepares them with."""
    from multiprocessing import spawn

    prepare = spawn.get_preparation_data

    def get_preparation_data(name):
        return {**prepare(name), "tenon": _InstallInChild()}

    spawn.get_preparation_data = get_preparation_data
