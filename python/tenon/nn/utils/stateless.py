"""Modules called with other parameters and buffers than their own."""

import warnings

__all__ = ["functional_call"]

_NOTHING = object()


def _places(module):
    """{name: where it is held}: the dictionary and the key of each parameter and buffer, shared ones under each of their names."""
    return {f"{prefix}{'.' if prefix else ''}{key}": (held, key)
            for prefix, part in module.named_modules(remove_duplicate=False)
            for held in (part._parameters, part._buffers) for key in held}


def _with_shared(places, given):
    """given, and the same under the other names of tensors that the module has under several."""
    names = {}
    for name, (held, key) in places.items():
        if held[key] is not None:
            names.setdefault(id(held[key]), []).append(name)
    out = dict(given)
    for shared in (n for n in names.values() if len(n) > 1):
        said = [name for name in shared if name in given]
        if len({id(given[name]) for name in said}) > 1:
            raise ValueError(f"functional_call got multiple values for keys {sorted(shared)}, which are tied. Consider using "
                             "tie_weights=False")
        out.update({name: given[said[0]] for name in shared} if said else {})
    return out


def _check(module, places, given):
    unexpected = [name for name in given if name not in places]
    missing = [name for name in places if name not in given]
    said = [f"Unexpected key(s): {', '.join(map(repr, unexpected))}."] if unexpected else []
    said += [f"Missing key(s): {', '.join(map(repr, missing))}."] if missing else []
    if said:
        raise RuntimeError(f"Error(s) in reparametrizing for {module._get_name()}:\n\t" + "\n\t".join(said))


def _exchange(module, places, name, tensor):
    """Puts the tensor where a name says, and returns what was there: a parameter, a buffer, or any other attribute."""
    if name in places:
        held, key = places[name]
        before, held[key] = held[key], tensor
        return before
    *path, key = name.split(".")
    for part in path:
        module = getattr(module, part)
    before = getattr(module, key, _NOTHING)
    if tensor is _NOTHING:
        delattr(module, key)
    else:
        setattr(module, key, tensor)
    return before


def _functional_call(module, parameters_and_buffers, args=None, kwargs=None, *, tie_weights=True, strict=False):
    from ..parallel import DataParallel

    if isinstance(module, DataParallel):
        raise RuntimeError("The stateless API can't be used with nn.DataParallel module")
    places = _places(module)
    given = _with_shared(places, parameters_and_buffers) if tie_weights else parameters_and_buffers
    if strict:
        _check(module, places, given)
    args = () if args is None else args if isinstance(args, tuple) else (args,)
    before = []
    try:
        for name, tensor in given.items():
            before.append((name, _exchange(module, places, name, tensor)))
        return module(*args, **(kwargs or {}))
    finally:
        for name, tensor in reversed(before):
            now = _exchange(module, places, name, tensor)
            if name in parameters_and_buffers and now is not _NOTHING:
                parameters_and_buffers[name] = now


def functional_call(module, parameters_and_buffers, args=None, kwargs=None, *, tie_weights=True, strict=False):
    """Deprecated: torch.func.functional_call."""
    warnings.warn("`torch.nn.utils.stateless.functional_call` is deprecated as of PyTorch 2.0 and will be removed in a future version "
                  "of PyTorch. Please use `torch.func.functional_call` instead which is a drop-in replacement.", FutureWarning, stacklevel=2)
    return _functional_call(module, parameters_and_buffers, args, kwargs, tie_weights=tie_weights, strict=strict)
