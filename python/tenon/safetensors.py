"""Tensors by name in safetensors files, with the functions of the package `safetensors.torch`.

Files hold no code. A file that is cut or written to while it is open cannot harm the program: what goes to the CPU is
read into memory of its own when it is asked for, and only what goes to a GPU comes from the mapped file.

What this module needs from the extension: `_C._safetensors_open(path)` and `_C._safetensors_parse(bytes)`, which give
(handle, names, metadata), `_C._safetensors_tensor(handle, name, copy)` and `_C._safetensors_save(dict, path, metadata)`.
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


def _placed(handle, name, device):
    """A tensor of a file on a device; on the CPU as memory of its own, which may be written to."""
    if isinstance(device, int):
        device = f"cuda:{device}"
    device = _C.device(device)
    on_cpu = device.type == "cpu"
    tensor = _C._safetensors_tensor(handle, name, on_cpu)
    return tensor if on_cpu else tensor.to(device)


def load_file(filename, device="cpu", *, backend="mmap"):
    """All tensors of a file, by name."""
    handle, names, _ = _C._safetensors_open(os.fspath(filename))
    return {name: _placed(handle, name, device) for name in names}


def load(data):
    """All tensors of a file's bytes, by name."""
    handle, names, _ = _C._safetensors_parse(data)
    return {name: _placed(handle, name, "cpu") for name in names}


class safe_open:
    """A file whose tensors are taken one by one: `with safe_open(path, framework="pt") as f: f.get_tensor(name)`."""

    def __init__(self, filename, framework, device="cpu", *, backend="mmap"):
        if framework not in ("pt", "torch", "pytorch"):
            raise ValueError(f"framework {framework} is invalid: Tenon gives its own tensors, which are 'pt'")
        self._device = device
        self._handle, names, self._metadata = _C._safetensors_open(os.fspath(filename))
        self._names = dict.fromkeys(names)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self._handle, self._names = None, {}

    def keys(self):
        """Names of all tensors, sorted."""
        return sorted(self._names)

    def offset_keys(self):
        """Names of all tensors, in the order in which they lie in the file."""
        return list(self._names)

    def metadata(self):
        """The texts that were saved along; None if there were none."""
        return dict(self._metadata) or None

    def _check(self, name):
        if name not in self._names:
            raise KeyError(f"File does not contain tensor {name}")

    def get_tensor(self, name):
        """The tensor of that name. KeyError if there is none."""
        self._check(name)
        return _placed(self._handle, name, self._device)

    def get_slice(self, name):
        """Something to take parts of: only what its indexing names is read."""
        self._check(name)
        return _Slice(self._handle, name, self._device)


class _Slice:
    def __init__(self, handle, name, device):
        self._handle = handle
        self._name = name
        self._device = device

    def _shown(self):
        return _C._safetensors_tensor(self._handle, self._name, False)

    def get_shape(self):
        """The whole tensor's shape, as a list."""
        return list(self._shown().shape)

    def get_dtype(self):
        """The file's name of the dtype, such as F32."""
        return self._shown().dtype._safetensors

    def __getitem__(self, index):
        part = self._shown()[index]
        device = f"cuda:{self._device}" if isinstance(self._device, int) else self._device
        return part.clone() if _C.device(device).type == "cpu" else part.to(device)


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
