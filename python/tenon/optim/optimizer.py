"""Optimizer: parameter groups and state. The updates are its subclasses'."""

import copy
import itertools
import warnings
from collections import defaultdict
from types import MappingProxyType

from tenon import _C
from tenon.autograd import enable_grad, set_grad_enabled

from ..nn.modules import _hooks
from ..nn.modules.module import typename
from ._update import zero_grads

__all__ = ["Optimizer"]

_NO_HOOKS = MappingProxyType({})
_WARNED_SETS = ("optimizer parameters need to be organized in ordered collections, but the ordering of tensors in sets will "
                "change between runs. Please use a list instead.")


class _Required:
    """The default of an option that every group must say."""

    def __repr__(self):
        return "<required parameter>"


required = _Required()


def as_number(lr):
    """A learning rate, which may be a tensor of one element, as a float."""
    return lr.item() if isinstance(lr, _C.Tensor) else lr


def check_lr(lr):
    """ValueError for a learning rate that is none."""
    if isinstance(lr, _C.Tensor) and lr.numel() != 1:
        raise ValueError("Tensor lr must be 1-element")
    check_not_negative("learning rate", lr)


def check_not_negative(what, value):
    """ValueError 'Invalid <what>: <value>' unless value >= 0."""
    if not 0.0 <= value:
        raise ValueError(f"Invalid {what}: {value}")


def check_betas(betas):
    """ValueError for averages that would not forget."""
    for i, beta in enumerate(betas):
        if not 0.0 <= beta < 1.0:
            raise ValueError(f"Invalid beta parameter at index {i}: {beta}")


def check_ways(differentiable, foreach, fused):
    """RuntimeError for ways of running a step that PyTorch does not have together: programs see the same as there."""
    if fused and differentiable:
        raise RuntimeError("`fused` does not support `differentiable`")
    if fused and foreach:
        raise RuntimeError("`fused` and `foreach` cannot be `True` together.")


def check_fused(params):
    """RuntimeError if fused=True was asked for parameters that have no such step."""
    for p in params:
        if p.grad is not None and (p.is_meta or not p.is_floating_point()):
            raise RuntimeError("`fused=True` requires all the params to be floating point Tensors of supported devices: "
                               f"['cuda', 'cpu'] but {p.dtype} and {p.device.type}")


def new_step(begun=0.0):
    """The counter of one parameter's steps: on the CPU, float32 unless floats are float64, as PyTorch's."""
    wide = _C.get_default_dtype() is _C.float64
    return _C.full((), begun, dtype=_C.float64 if wide else _C.float32, device="cpu")


def make_steps_tensors(optimizer, name="step"):
    """States of older programs, and of programs that count themselves, have numbers where a counter is."""
    for group in optimizer.param_groups:
        for p in group["params"]:
            own = optimizer.state.get(p)
            if own and name in own and not isinstance(own[name], _C.Tensor):
                own[name] = new_step(float(own[name]))


class Optimizer:
    """Groups of parameters with their options, and what is remembered of each parameter.

    params     tensors, or dictionaries {'params': tensors, option: value...}, or pairs of name and tensor
    defaults   the options of groups that do not say them

    A subclass has step(closure=None): one update of every parameter that has a gradient.
    """

    _optimizer_step_pre_hooks = _optimizer_step_post_hooks = _NO_HOOKS
    _optimizer_state_dict_pre_hooks = _optimizer_state_dict_post_hooks = _NO_HOOKS
    _optimizer_load_state_dict_pre_hooks = _optimizer_load_state_dict_post_hooks = _NO_HOOKS
    _opt_called = False  # whether step() has run: learning-rate schedulers ask

    def __init__(self, params, defaults):
        if isinstance(params, _C.Tensor):
            raise TypeError("params argument given to the optimizer should be an iterable of Tensors or dicts, but got "
                            + typename(params))
        if isinstance(params, (set, frozenset)):
            warnings.warn(_WARNED_SETS + " This will be an error in a future release.", FutureWarning, stacklevel=3)
        self.defaults = defaults
        self.state = defaultdict(dict)
        self.param_groups = []
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)

    # ---- groups ----

    def add_param_group(self, param_group):
        """Adds a group: {'params': tensors, option: value...}. Options that it does not say are the defaults'."""
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        _take_params(param_group)
        for param in param_group["params"]:
            if not isinstance(param, _C.Tensor):
                raise TypeError("optimizer can only optimize Tensors, but one of the params is " + typename(param))
            if not self.defaults.get("differentiable", None) and not (param.is_leaf or getattr(param, "retains_grad", False)):
                raise ValueError("can't optimize a non-leaf Tensor")
        for name, default in self.defaults.items():
            if default is required and name not in param_group:
                raise ValueError(f"parameter group didn't specify a value of required optimization parameter {name}")
            param_group.setdefault(name, default)
        params = set(param_group["params"])
        if len(params) != len(param_group["params"]):
            warnings.warn("optimizer contains a parameter group with duplicate parameters; in future, this will cause an "
                          "error", stacklevel=3)
        if any(not params.isdisjoint(group["params"]) for group in self.param_groups):
            raise ValueError("some parameters appear in more than one parameter group")
        if self.param_groups and ("param_names" in param_group) != ("param_names" in self.param_groups[0]):
            raise ValueError("all optimizer param groups should be with/without names. cannot add param group with"
                             + ("" if "param_names" in param_group else "out") + " names to the optimizer")
        self.param_groups.append(param_group)

    def zero_grad(self, set_to_none=True):
        """Removes the gradients of all parameters, or makes them zero."""
        for group in self.param_groups:
            zero_grads(group["params"], set_to_none)

    def step(self, closure=None):
        """One update. closure, if given, computes the loss anew with its gradients; its result is returned."""
        raise NotImplementedError

    def _loss_of(self, closure):
        with enable_grad():
            return closure()

    # ---- state ----

    def state_dict(self):
        """{'state': {i: what is remembered of the i-th parameter}, 'param_groups': the groups, parameters as numbers}"""
        for hook in self._optimizer_state_dict_pre_hooks.values():
            hook(self)
        numbers = {}
        for param in itertools.chain.from_iterable(group["params"] for group in self.param_groups):
            numbers.setdefault(id(param), len(numbers))
        groups = []
        for group in self.param_groups:
            packed = {name: value for name, value in group.items() if name != "params"}
            packed["params"] = [numbers[id(param)] for param in group["params"]]
            groups.append(packed)
        state = {numbers[id(key)] if isinstance(key, _C.Tensor) else key: value for key, value in self.state.items()}
        made = {"state": state, "param_groups": groups}
        for hook in self._optimizer_state_dict_post_hooks.values():
            changed = hook(self, made)
            if changed is not None:
                made = changed
        return made

    def load_state_dict(self, state_dict):
        """Takes the options and copies of the state of another optimiser's state_dict(); groups must agree in number
        and size. Tensors are converted to the dtype and device of their parameters."""
        state_dict = state_dict.copy()
        for hook in self._optimizer_load_state_dict_pre_hooks.values():
            changed = hook(self, state_dict)
            if changed is not None:
                state_dict = changed
        saved = copy.deepcopy(state_dict["param_groups"])
        if len(saved) != len(self.param_groups):
            raise ValueError("loaded state dict has a different number of parameter groups")
        if any(len(g["params"]) != len(s["params"]) for g, s in zip(self.param_groups, saved)):
            raise ValueError("loaded state dict contains a parameter group that doesn't match the size of optimizer's group")
        params = {}
        for group, loaded in zip(self.param_groups, saved):
            params.update(zip(loaded["params"], group["params"]))
        state = defaultdict(dict)
        for key, value in state_dict["state"].items():
            if key in params:
                state[params[key]] = _cast(params[key], value)
            else:
                state[key] = value
        groups = []
        for group, loaded in zip(self.param_groups, saved):
            loaded["params"] = group["params"]
            if "param_names" in group and "param_names" not in loaded:
                loaded["param_names"] = group["param_names"]
            groups.append(loaded)
        self.__setstate__({"state": state, "param_groups": groups})
        for hook in self._optimizer_load_state_dict_post_hooks.values():
            hook(self)

    def __getstate__(self):
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state):
        self.__dict__.update(state)
        for group in self.param_groups:
            for name, default in self.__dict__.get("defaults", {}).items():
                group.setdefault(name, default)

    def __repr__(self):
        text = type(self).__name__ + " ("
        for i, group in enumerate(self.param_groups):
            text += f"\nParameter Group {i}\n"
            text += "".join(f"    {name}: {group[name]}\n" for name in sorted(group) if name != "params")
        return text + ")"

    # ---- hooks ----

    def register_step_pre_hook(self, hook):
        """Calls hook(optimizer, args, kwargs) before each step, args beginning with the optimizer; may return others."""
        self._step_through_hooks()
        return _hooks.add(self, "_optimizer_step_pre_hooks", hook)

    def register_step_post_hook(self, hook):
        """Calls hook(optimizer, args, kwargs) after each step."""
        self._step_through_hooks()
        return _hooks.add(self, "_optimizer_step_post_hooks", hook)

    def _step_through_hooks(self):
        # an attribute of this one object hides the method: optimisers without hooks pay nothing for them
        if not isinstance(self.__dict__.get("step"), _HookedStep):
            self.step = _HookedStep(self)

    def register_state_dict_pre_hook(self, hook, prepend=False):
        """Calls hook(optimizer) before a state_dict is made."""
        return _hooks.add(self, "_optimizer_state_dict_pre_hooks", hook, prepend=prepend)

    def register_state_dict_post_hook(self, hook, prepend=False):
        """Calls hook(optimizer, state_dict) when it is made; may return another."""
        return _hooks.add(self, "_optimizer_state_dict_post_hooks", hook, prepend=prepend)

    def register_load_state_dict_pre_hook(self, hook, prepend=False):
        """Calls hook(optimizer, state_dict) before it is loaded; may return another."""
        return _hooks.add(self, "_optimizer_load_state_dict_pre_hooks", hook, prepend=prepend)

    def register_load_state_dict_post_hook(self, hook, prepend=False):
        """Calls hook(optimizer) when it is loaded."""
        return _hooks.add(self, "_optimizer_load_state_dict_post_hooks", hook, prepend=prepend)


class _HookedStep:
    """step() of an optimiser with hooks."""

    def __init__(self, optimizer):
        self.optimizer = optimizer
        self.method = type(optimizer).step

    def __call__(self, *args, **kwargs):
        optimizer = self.optimizer
        args = (optimizer, *args)  # as PyTorch's hooks see them
        for hook in list(optimizer._optimizer_step_pre_hooks.values()):
            changed = hook(optimizer, args, kwargs)
            if changed is None:
                continue
            if not isinstance(changed, tuple) or len(changed) != 2:
                raise RuntimeError(f"{self.method} must return None or a tuple of (new_args, new_kwargs), but got {changed}.")
            args, kwargs = changed
        loss = self.method(*args, **kwargs)
        for hook in list(optimizer._optimizer_step_post_hooks.values()):
            hook(optimizer, args, kwargs)
        return loss


def _take_params(group):
    """Makes group['params'] a list of tensors; names that came with them go to group['param_names']."""
    params = group["params"]
    if isinstance(params, _C.Tensor):
        group["params"] = [params]
        return
    if isinstance(params, (set, frozenset)):
        raise TypeError(_WARNED_SETS)
    params = list(params)
    named = [isinstance(p, tuple) for p in params]
    if any(named):
        if not all(named):
            raise ValueError("all optimizer params should be with/without names. Some param names are missing")
        group["param_names"] = [name for name, _ in params]
        params = [param for _, param in params]
    group["params"] = params


def _cast(param, value, key=None):
    """A copy of state of this parameter, its tensors (but the step count) in the parameter's dtype and place."""
    if isinstance(value, _C.Tensor):
        if key == "step":
            return value.detach().to(device="cpu", copy=True)  # steps are counted on the CPU, whatever counted them before
        if param.is_floating_point():
            return value.detach().to(dtype=param.dtype, device=param.device, copy=True)
        return value.detach().to(device=param.device, copy=True)
    if isinstance(value, dict):
        return {k: _cast(param, v, k) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_cast(param, v) for v in value)
    return copy.deepcopy(value)


class OneByOne(Optimizer):
    """An optimiser that updates one parameter after the other: classes define _update(p, group), which runs with recording
    off, or on where the group is differentiable."""

    def step(self, closure=None):
        """One update of every parameter that has a gradient. Returns closure's result."""
        loss = None if closure is None else self._loss_of(closure)
        self._opt_called = True
        for group in self.param_groups:
            self._update_group(group)
        return loss

    def _update_group(self, group):
        if group.get("fused"):
            check_fused(group["params"])
        with set_grad_enabled(group.get("differentiable", False)):
            for p in group["params"]:
                if p.grad is not None:
                    self._update(p, group)
