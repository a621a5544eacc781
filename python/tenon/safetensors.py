"""Tensors by name in safetensors files, with the functions of the package `safetensors.torch`.

Files hold no code. Tensors that are loaded show the mapped file: reading costs nothing until they are used, and they
are copied when they are first asked for as writable tensors, as `load_file` does.

What this module needs from the extension: `_C._safetensors_load(path) -> (dict, metadata)`,
`_C._safetensors_parse(bytes) -> (dict, metadata)` and `_C._safetensors_save(dict, path, metadata)`.
"""

import os
import tempfile

from . import _C, _utils

__all__ = ["load", "load_file", "load_model", "safe_open", "save", "save_file", "save_model"]


def _check_tensors(tensors):
    if not isinstance(tensors, dict):
        raise ValueError(f"Expected a dict of [str, torch.Tensor] but received {type(tensors)}")
    for name, tensor in tensors.items():
        if not isinstance(tensor, _C.Tensor):
            raise ValueError(f"Key `{name}` is invalid, expected torch.Tensor but received {type(tensor)}")
    _refuse_shared(tensors)


def _refuse_shared(tensors):
    """The format has no way to say that two tensors share memory."""
    owners = {}
    for name, tensor in tensors.items():
        if tensor.device.type != "meta" and tensor.numel():
            owners.setdefault(_utils.flat_storage(tensor)[0], set()).add(name)
    shared = [names for names in owners.values() if len(names) > 1]
    if shared:
        raise RuntimeError(
            f"\n            Some tensors share memory, this will lead to duplicate memory on disk and potential "
            f"differences when loading them again: {shared}.\n            A potential way to correctly save your model "
            "is to use `save_model`."
        )


def save_file(tensors, filename, metadata=None):
    """Writes a dict of tensors, and texts about them. A save that fails leaves the old file."""
    _check_tensors(tensors)
    _C._safetensors_save(tensors, os.fspath(filename), metadata or {})


def save(tensors, metadata=None):
    """The bytes of the file that save_file writes."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "tensors")
        save_file(tensors, path, metadata)
        with open(path, "rb") as file:
            return file.read()


def _placed(tensors, device):
    """Tensors on a device; on the CPU as memory of their own, which may be written to."""
    if isinstance(device, int):
        device = f"cuda:{device}"
    device = _C.device(device)
    on_cpu = device.type == "cpu"
    return {name: t.clone() if on_cpu else t.to(device) for name, t in tensors.items()}


def load_file(filename, device="cpu", *, backend="mmap"):
    """All tensors of a file, by name."""
    return _placed(_C._safetensors_load(os.fspath(filename))[0], device)


def load(data):
    """All tensors of a file's bytes, by name."""
    return _placed(_C._safetensors_parse(data)[0], "cpu")


class safe_open:
    """A file whose tensors are taken one by one: `with safe_open(path, framework="pt") as f: f.get_tensor(name)`."""

    def __init__(self, filename, framework, device="cpu", *, backend="mmap"):
        if framework not in ("pt", "torch", "pytorch"):
            raise ValueError(f"framework {framework} is invalid: Tenon gives its own tensors, which are 'pt'")
        self._device = device
        self._tensors, self._metadata = _C._safetensors_load(os.fspath(filename))

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self._tensors = {}

    def keys(self):
        """Names of all tensors, sorted."""
        return sorted(self._tensors)

    def offset_keys(self):
        """Names of all tensors, in the order in which they lie in the file."""
        return list(self._tensors)

    def metadata(self):
        """The texts that were saved along; None if there were none."""
        return dict(self._metadata) or None

    def _named(self, name):
        if name not in self._tensors:
            raise KeyError(f"File does not contain tensor {name}")
        return self._tensors[name]

    def get_tensor(self, name):
        """The tensor of that name. KeyError if there is none."""
        return _placed({name: self._named(name)}, self._device)[name]

    def get_slice(self, name):
        """Something to take parts of: only what its indexing names is read."""
        return _Slice(self._named(name), self._device)


class _Slice:
    def __init__(self, tensor, device):
        self._tensor = tensor
        self._device = device

    def get_shape(self):
        """The whole tensor's shape, as a list."""
        return list(self._tensor.shape)

    def get_dtype(self):
        """The file's name of the dtype, such as F32."""
        return self._tensor.dtype._safetensors

    def __getitem__(self, index):
        return _placed({"": self._tensor[index]}, self._device)[""]


def _distinct(state):
    """(tensors with memory of their own, name left out -> name that stands for it)."""
    kept, first, alias = {}, {}, {}
    for name in sorted(state):
        tensor = state[name]
        identity = (_utils.flat_storage(tensor)[0], tuple(tensor.shape), tuple(tensor.stride()))
        if tensor.numel() and identity in first:
            alias[name] = first[identity]
        else:
            first[identity] = name
            kept[name] = tensor
    return kept, alias


def save_model(model, filename, metadata=None, force_contiguous=True):
    """Writes a module's state; tensors that are shared (tied weights) once, with a note of the names left out."""
    kept, alias = _distinct(model.state_dict())
    if force_contiguous:
        kept = {name: tensor.contiguous() for name, tensor in kept.items()}
    save_file(kept, filename, {**(metadata or {}), **alias})


def load_model(model, filename, strict=True, device="cpu", *, backend="mmap"):
    """Loads a module's state. Returns (missing, unexpected) names; RuntimeError where there are any and `strict`."""
    state = load_file(filename, device=device)
    _, alias = _distinct(model.state_dict())
    missing, unexpected = model.load_state_dict(state, strict=False)
    missing = sorted(set(missing) - set(alias))
    unexpected = sorted(unexpected)
    if strict and (missing or unexpected):
        lines = [f"Error(s) in loading state_dict for {type(model).__name__}:"]
        if missing:
            lines.append("    Missing key(s) in state_dict: " + ", ".join(f'"{name}"' for name in missing))
        if unexpected:
            lines.append("    Unexpected key(s) in state_dict: " + ", ".join(f'"{name}"' for name in unexpected))
        raise RuntimeError("\n".join(lines))
    return missing, unexpected
