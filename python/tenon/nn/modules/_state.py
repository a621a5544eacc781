"""state_dict() and load_state_dict()."""

import warnings
import weakref
from collections import OrderedDict, namedtuple

from tenon import _C
from tenon.autograd import no_grad

from ..parameter import Parameter
from . import _hooks

_EXTRA = "_extra_state"


class _IncompatibleKeys(namedtuple("IncompatibleKeys", ["missing_keys", "unexpected_keys"])):
    """What load_state_dict returns: the names that only one side has."""

    __slots__ = ()

    def __repr__(self):
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return f"_IncompatibleKeys(missing_keys={self.missing_keys}, unexpected_keys={self.unexpected_keys})"

    __str__ = __repr__


class State:
    """What Module has for saving and restoring its parameters and buffers."""

    def get_extra_state(self):
        """What else is saved with the module. A subclass that has something defines this and set_extra_state."""
        raise RuntimeError(f"{type(self).__name__} has no get_extra_state()")

    def set_extra_state(self, state):
        """Takes what get_extra_state returned when the module was saved."""
        raise RuntimeError(f"{type(self).__name__} has no set_extra_state()")

    # ---- saving ----

    def state_dict(self, *args, destination=None, prefix="", keep_vars=False):
        """Parameters and persistent buffers by dotted name: tensors without history that share the module's memory, or,
        with keep_vars, the module's own. A parameter that several modules share comes under each of its names."""
        if args:
            warnings.warn("Positional args are being deprecated, use kwargs instead.", FutureWarning, stacklevel=2)
            destination = args[0] if destination is None else destination
            prefix = args[1] if len(args) > 1 and prefix == "" else prefix
            keep_vars = args[2] if len(args) > 2 and keep_vars is False else keep_vars
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        local_metadata = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = local_metadata
        for hook in self._state_dict_pre_hooks.values():
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        for key, hook in self._state_dict_hooks.items():
            changed = hook(self, destination, prefix, local_metadata)
            if changed is None:
                continue
            if key in self.__dict__.get("_state_dict_public_hooks", ()):
                raise RuntimeError("state_dict post-hook must return None")
            destination = changed
        return destination

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        for name, tensor in self._saved_members():
            destination[prefix + name] = tensor if keep_vars else tensor.detach()
        if type(self).get_extra_state is not State.get_extra_state:
            destination[prefix + _EXTRA] = self.get_extra_state()

    def _saved_members(self):
        members = [(n, p) for n, p in self._parameters.items() if p is not None]
        unsaved = self._non_persistent_buffers_set
        return members + [(n, b) for n, b in self._buffers.items() if b is not None and n not in unsaved]

    # ---- loading ----

    def load_state_dict(self, state_dict, strict=True, assign=False):
        """Copies the tensors of state_dict into the parameters and buffers of those names or, with assign, puts them in
        their place. RuntimeError lists what does not fit: differing shapes, and with strict also the names that only
        one side has. Returns those names."""
        if not hasattr(state_dict, "keys"):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        metadata = getattr(state_dict, "_metadata", None)
        state_dict = OrderedDict(state_dict)
        if metadata is not None:
            state_dict._metadata = metadata
        missing, unexpected, errors = [], [], []
        self._load(state_dict, "", metadata or {}, strict, assign, (missing, unexpected, errors))
        if strict and unexpected:
            errors.insert(0, f"Unexpected key(s) in state_dict: {_quoted(unexpected)}. ")
        if strict and missing:
            errors.insert(0, f"Missing key(s) in state_dict: {_quoted(missing)}. ")
        if errors:
            raise RuntimeError("Error(s) in loading state_dict for {}:\n\t{}".format(type(self).__name__,
                                                                                    "\n\t".join(errors)))
        return _IncompatibleKeys(missing, unexpected)

    def _load(self, state_dict, prefix, metadata, strict, assign, found):
        local_metadata = dict(metadata.get(prefix[:-1], {}))
        if assign:
            local_metadata["assign_to_params_buffers"] = True
        missing, unexpected, errors = found
        self._load_from_state_dict(state_dict, prefix, local_metadata, True, missing, unexpected, errors)
        for name, module in self._modules.items():
            if module is not None:
                inner = f"{prefix}{name}."
                part = OrderedDict((k, v) for k, v in state_dict.items() if k.startswith(inner))
                module._load(part, inner, metadata, strict, assign, found)
        keys = _IncompatibleKeys(missing, unexpected)
        for hook in self._load_state_dict_post_hooks.values():
            if hook(self, keys) is not None:
                raise AssertionError("Hooks registered with ``register_load_state_dict_post_hook`` are not expected to "
                                     "return new values, if incompatible_keys need to be modified, it should be done "
                                     "inplace.")

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys,
                              error_msgs):
        """Loads what is directly in this module. Layers that changed their layout between versions override this."""
        for hook in self._load_state_dict_pre_hooks.values():
            hook(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
        assign = local_metadata.get("assign_to_params_buffers", False)
        members = dict(self._saved_members())
        for name, tensor in members.items():
            key = prefix + name
            if key in state_dict:
                problem = self._load_member(name, key, tensor, state_dict[key], assign)
                if problem:
                    error_msgs.append(problem)
            elif strict:
                missing_keys.append(key)
        self._load_extra(state_dict, prefix + _EXTRA, strict, missing_keys, unexpected_keys)
        if strict:
            unexpected_keys += [k for k in state_dict if k.startswith(prefix) and k != prefix + _EXTRA
                                and not self._knows(k[len(prefix):], members)]

    def _knows(self, name, members):
        head, dot, _ = name.partition(".")
        return head in self._modules if dot else name in members

    def _load_extra(self, state_dict, key, strict, missing_keys, unexpected_keys):
        if type(self).set_extra_state is not State.set_extra_state:
            if key in state_dict:
                self.set_extra_state(state_dict[key])
            elif strict:
                missing_keys.append(key)
        elif strict and key in state_dict:
            unexpected_keys.append(key)

    def _load_member(self, name, key, tensor, value, assign):
        """Loads one parameter or buffer; returns what is wrong, or None."""
        if not isinstance(value, _C.Tensor):
            return (f'While copying the parameter named "{key}", expected torch.Tensor or Tensor-like object from '
                    f"checkpoint but received {type(value)}")
        if len(tensor.shape) == 0 and len(value.shape) == 1 and value.shape[0] == 1:
            value = value[0]  # a 0-dim tensor was once saved with one dimension
        if tensor.shape != value.shape:
            return (f"size mismatch for {key}: copying a param with shape {value.shape} from checkpoint, the shape in "
                    f"current model is {tensor.shape}.")
        if tensor.device.type == "meta" and value.device.type != "meta" and not assign:
            warnings.warn(f"for {key}: copying from a non-meta parameter in the checkpoint to a meta parameter in the "
                          "current model, which is a no-op. (Did you mean to pass `assign=True` to assign items in the "
                          "state dictionary to their corresponding key in the module instead of copying them in place?)",
                          stacklevel=2)
        try:
            if assign:
                self._assign_member(name, tensor, value)
            else:
                with no_grad():
                    tensor.copy_(value)
        except Exception as error:
            return (f'While copying the parameter named "{key}", whose dimensions in the model are {tensor.size()} and '
                    f"whose dimensions in the checkpoint are {value.size()}, an exception occurred : {error.args}.")
        return None

    def _assign_member(self, name, tensor, value):
        if isinstance(tensor, Parameter):
            if not isinstance(value, Parameter):
                value = Parameter(value, requires_grad=tensor.requires_grad)
            else:
                value.requires_grad_(tensor.requires_grad)
        setattr(self, name, value)

    # ---- hooks ----

    def register_state_dict_pre_hook(self, hook):
        """Calls hook(module, prefix, keep_vars) before this module's part of a state_dict is made."""
        return _hooks.add(self, "_state_dict_pre_hooks", hook)

    def register_state_dict_post_hook(self, hook):
        """Calls hook(module, state_dict, prefix, local_metadata) when its part is made; it may change it in place."""
        return _hooks.add(self, "_state_dict_hooks", hook, marks=("_state_dict_public_hooks",))

    def _register_state_dict_hook(self, hook):
        return _hooks.add(self, "_state_dict_hooks", hook)

    def register_load_state_dict_pre_hook(self, hook):
        """Calls hook(module, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
        before this module's part is loaded."""
        return _hooks.add(self, "_load_state_dict_pre_hooks", _WithModule(self, hook))

    def _register_load_state_dict_pre_hook(self, hook, with_module=False):
        return _hooks.add(self, "_load_state_dict_pre_hooks", _WithModule(self, hook) if with_module else hook)

    def register_load_state_dict_post_hook(self, hook):
        """Calls hook(module, incompatible_keys) when the module and what is inside it are loaded."""
        return _hooks.add(self, "_load_state_dict_post_hooks", hook)


class _WithModule:
    """A hook whose first argument is the module, which it does not keep alive (they would hold each other)."""

    def __init__(self, module, hook):
        self.module = weakref.ref(module)
        self.hook = hook

    def __call__(self, *args):
        return self.hook(self.module(), *args)

    def __getstate__(self):
        return self.module(), self.hook

    def __setstate__(self, state):
        self.__init__(*state)


def _quoted(names):
    return ", ".join(f'"{name}"' for name in names)
