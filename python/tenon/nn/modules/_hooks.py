"""Hooks of modules: their registration, and the call of a module that has some.

A module without hooks never comes here: Module.__call__ looks at one flag. Module._hooked is set when the first hook is
registered and stays set; call() reads the dictionaries, which are the truth.
"""

import itertools
import weakref
from collections import OrderedDict
from types import MappingProxyType

NONE = MappingProxyType({})  # the hooks of a module that never had one
_ids = itertools.count()

_global_pre = OrderedDict()
_global_forward = OrderedDict()
_global_always = OrderedDict()
_global_keyworded = OrderedDict()


class RemovableHandle:
    """What registering a hook returns: remove() takes the hook away; with `with` it goes at the end of the block."""

    def __init__(self, hooks_dict, *, extra_dict=()):
        self.id = next(_ids)
        self._dicts = [weakref.ref(hooks_dict)]
        self._dicts += [weakref.ref(d) for d in (extra_dict if isinstance(extra_dict, (list, tuple)) else (extra_dict,))]

    def remove(self):
        for ref in self._dicts:
            hooks = ref()
            if hooks is not None:
                hooks.pop(self.id, None)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.remove()

    def __getstate__(self):
        return self.id, [ref() for ref in self._dicts]

    def __setstate__(self, state):
        self.id, dicts = state
        self._dicts = [weakref.ref(OrderedDict() if d is None else d) for d in dicts]


def table(module, kind):
    """The module's dictionary of hooks of this kind, made where it has none yet."""
    hooks = module.__dict__.get(kind)
    if hooks is None:
        hooks = module.__dict__[kind] = OrderedDict()
    return hooks


def add(module, kind, hook, *, prepend=False, marks=()):
    """Registers hook; marks are dictionaries that say more about it (such as: takes keyword arguments)."""
    hooks = table(module, kind)
    marked = [table(module, mark) for mark in marks]
    handle = RemovableHandle(hooks, extra_dict=marked)
    hooks[handle.id] = hook
    for mark in marked:
        mark[handle.id] = True
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle


def call(module, args, kwargs):
    """module.forward(*args, **kwargs) with every hook around it."""
    done = set()
    result = None
    try:
        args, kwargs = _before(module, args, kwargs)
        backward = _backward(module)
        if backward is not None:
            args = backward.inputs(args)
        result = module.forward(*args, **kwargs)
        for key, hook, keyworded in _after(module):
            done.add(key)
            changed = hook(module, args, kwargs, result) if keyworded else hook(module, args, result)
            if changed is not None:
                result = changed
        if backward is not None:
            result = backward.outputs(result)
        return result
    except Exception:
        _after_failure(module, args, kwargs, result, done)
        raise


def _before(module, args, kwargs):
    for hook in list(_global_pre.values()):
        args = _as_args(hook(module, args), args)
    keyworded = module._forward_pre_hooks_with_kwargs
    for key, hook in list(module._forward_pre_hooks.items()):
        if key not in keyworded:
            args = _as_args(hook(module, args), args)
            continue
        changed = hook(module, args, kwargs)
        if changed is None:
            continue
        if not isinstance(changed, tuple) or len(changed) != 2:
            raise RuntimeError("forward pre-hook must return None or a tuple of (new_args, new_kwargs), "
                               f"but got {changed}.")
        args, kwargs = changed
    return args, kwargs


def _as_args(changed, args):
    if changed is None:
        return args
    return changed if isinstance(changed, tuple) else (changed,)


def _after(module):
    for key, hook in list(_global_forward.items()):
        yield key, hook, key in _global_keyworded
    keyworded = module._forward_hooks_with_kwargs
    for key, hook in list(module._forward_hooks.items()):
        yield key, hook, key in keyworded


def _after_failure(module, args, kwargs, result, done):
    """Runs the hooks that asked to be called even so; what they raise must not hide the error."""
    always = module._forward_hooks_always_called
    for key, hook, keyworded in _after(module):
        if key in done or not (key in always or key in _global_always):
            continue
        try:
            changed = hook(module, args, kwargs, result) if keyworded else hook(module, args, result)
            if changed is not None:
                result = changed
        except Exception as error:
            import warnings

            warnings.warn("forward hook with ``always_call=True`` raised an exception that was silenced as another "
                          f"error was raised in forward: {error}", stacklevel=2)


def _backward(module):
    if not module._backward_hooks and not module._backward_pre_hooks:
        return None
    from ._backward_hooks import Boundary

    return Boundary(module, list(module._backward_pre_hooks.values()), list(module._backward_hooks.values()))


def register_module_forward_pre_hook(hook):
    """Calls hook(module, args) before every module's forward. Returns a handle."""
    return _add_global(_global_pre, hook)


def register_module_forward_hook(hook, *, with_kwargs=False, always_call=False):
    """Calls hook(module, args, output), or hook(module, args, kwargs, output), after every module's forward. Returns a handle."""
    handle = _add_global(_global_forward, hook, _global_always, _global_keyworded)
    if with_kwargs:
        _global_keyworded[handle.id] = True
    if always_call:
        _global_always[handle.id] = True
    return handle


def _add_global(hooks, hook, *extra):
    from .module import Module

    handle = RemovableHandle(hooks, extra_dict=extra)
    hooks[handle.id] = hook
    Module._hooked = True  # what every module sees that has no flag of its own
    return handle
