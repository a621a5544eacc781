"""Tensors of modules that are computed from others: module.weight = f(module.parametrizations.weight.original)."""

import contextlib
import copy
import copyreg

from tenon import _C
from tenon.autograd import no_grad

from ..modules.container import ModuleDict, ModuleList
from ..parameter import Parameter

__all__ = ["ParametrizationList", "cached", "is_parametrized", "register_parametrization", "remove_parametrizations",
           "transfer_parametrizations_and_params", "type_before_parametrizations"]

_open = 0  # contexts of cached() that are open
_kept = {}  # meanwhile: what was computed, by the module's id and the tensor's name


@contextlib.contextmanager
def cached():
    """Inside, what is parametrized is computed once, when it is first asked for."""
    global _open
    _open += 1
    try:
        yield
    finally:
        _open -= 1
        if not _open:
            _kept.clear()


def _hold(module, name, tensor):
    """The tensor as a parameter or a buffer of the module, whichever it is."""
    if isinstance(tensor, Parameter):
        module.register_parameter(name, tensor)
    else:
        module.register_buffer(name, tensor)


def _show(tensor, other):
    """tensor, which stays the object that it is, shows other's memory."""
    if tensor is not other:
        tensor.data = other.detach()


def _differ(first, second, names, head, of=("dtype", "shape")):
    """A ValueError if the second tensor has another dtype or shape; names: how the lines of the error call both."""
    for what in of:
        a, b = getattr(first, what), getattr(second, what)
        if a != b:
            raise ValueError(f"{head.format(what)}\n{names[0].format(what)}: {a}\n{names[1].format(what)}: {b}")


def _must_be_tensor(value, head):
    if not isinstance(value, _C.Tensor):
        raise ValueError(f"{head} {type(value).__name__}{'.' if head.endswith('Got') else ''}")


class ParametrizationList(ModuleList):
    """The parametrizations of one tensor, applied in their order, and what the first one is given: original; or original0, original1
    ..., where its right_inverse gives several tensors."""

    def __init__(self, modules, original, unsafe=False):
        if len(modules) == 0:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        shape_of = original.detach()
        with no_grad():
            new = original
            for module in reversed(self):
                with contextlib.suppress(NotImplementedError):
                    new = module.right_inverse(new) if hasattr(module, "right_inverse") else new
        if not isinstance(new, (_C.Tensor, list, tuple)):
            raise ValueError("'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). Got "
                             f"{type(new).__name__}")
        self.is_tensor = isinstance(new, _C.Tensor)
        self.ntensors = 1 if self.is_tensor else len(new)
        if self.is_tensor:
            _differ(original, new, ("original.{}", "right_inverse(original).{}"),
                    "When `right_inverse` outputs one tensor, it may not change the {}.", ("dtype", "device"))
            _show(original, new)
            _hold(self, "original", original)
        else:
            self._hold_several(original, new)
        if not unsafe:
            made = self()
            _must_be_tensor(made, "A parametrization must return a tensor. Got")
            _differ(shape_of, made, ("unparametrized {}", "parametrized {}"),
                    "Registering a parametrization may not change the {} of the tensor, unless `unsafe` flag is enabled.")

    def _hold_several(self, original, tensors):
        for i, tensor in enumerate(tensors):
            if not isinstance(tensor, _C.Tensor):
                raise ValueError("'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). Got element "
                                 f"{i} of the sequence with type {type(tensor).__name__}.")
            if isinstance(original, Parameter):
                tensor = Parameter(tensor, original.requires_grad)
            tensor.requires_grad_(original.requires_grad)
            _hold(self, f"original{i}", tensor)

    def _originals(self):
        return [self.original] if self.is_tensor else [getattr(self, f"original{i}") for i in range(self.ntensors)]

    def right_inverse(self, value):
        """Gives original such values that the parametrized tensor is value, as far as the parametrizations' right_inverse can."""
        with no_grad():
            for module in reversed(self):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(f"parametrization {type(module).__name__} does not implement right_inverse.")
                value = module.right_inverse(value)
            if self.is_tensor:
                _must_be_tensor(value, "`right_inverse` should return a tensor. Got")
                if value.dtype != self.original.dtype:
                    raise ValueError(f"The tensor returned by `right_inverse` has dtype {value.dtype} while `original` has dtype "
                                     f"{self.original.dtype}")
                _show(self.original, value)
                return
            if not isinstance(value, (list, tuple)):
                raise ValueError(f"'right_inverse' must return a sequence of tensors. Got {type(value).__name__}.")
            if len(value) != self.ntensors:
                raise ValueError(f"'right_inverse' must return a sequence of tensors of length {self.ntensors}. Got a sequence of "
                                 f"length {len(value)}.")
            for i, (original, tensor) in enumerate(zip(self._originals(), value)):
                if tensor.dtype != original.dtype:
                    raise ValueError(f"Tensor {i} returned by `right_inverse` has dtype {tensor.dtype} while `original{i}` has dtype "
                                     f"{original.dtype}")
                _show(original, tensor)

    def forward(self):
        first, *rest = self
        x = first(*self._originals())
        for module in rest:
            x = module(x)
        return x


def _deepcopy(self, memo):
    made = memo[id(self)] = self.__new__(self.__class__)
    made.__dict__ = copy.deepcopy(self.__dict__, memo)
    for slot in copyreg._slotnames(self.__class__):
        if hasattr(self, slot):
            setattr(made, slot, copy.deepcopy(getattr(self, slot), memo))
    return made


def _getstate(self):
    raise RuntimeError("Serialization of parametrized modules is only supported through state_dict(). See:\n"
                       "https://pytorch.org/tutorials/beginner/saving_loading_models.html"
                       "#saving-loading-a-general-checkpoint-for-inference-and-or-resuming-training")


def _own_class(module):
    """Gives the module a class of its own, which has room for properties."""
    cls = type(module)
    members = {"__getstate__": _getstate}
    if not hasattr(cls, "__deepcopy__"):
        members["__deepcopy__"] = _deepcopy
    module.__class__ = type(f"Parametrized{cls.__name__}", (cls,), members)


def _add_property(module, name):
    def get(self):
        made = self.parametrizations[name]
        if not _open:
            return made()
        key = id(self), name
        if key not in _kept:
            _kept[key] = made()
        return _kept[key]

    def put(self, value):
        self.parametrizations[name].right_inverse(value)

    setattr(type(module), name, property(get, put))


def _fits(module, name, parametrization):
    """Does it map tensors like module.name to such, both ways?"""
    now = getattr(module, name)
    made = parametrization(now)
    _must_be_tensor(made, "A parametrization must return a tensor. Got")
    _differ(now, made, (f"module.{name}.{{}}", f"parametrization(module.{name}).{{}}"),
            "Registering a parametrization may not change the {} of the tensor, unless the `unsafe` flag is enabled.")
    if not hasattr(parametrization, "right_inverse"):
        return
    try:
        back = parametrization.right_inverse(made)
    except NotImplementedError:
        return
    _must_be_tensor(back, "parametrization.right_inverse must return a tensor. Got:")
    _differ(now, back, (f"module.{name}.{{}}", "returned {}"), "The tensor returned by parametrization.right_inverse must have the "
            f"same {{}} as module.{name}, unless the `unsafe` flag is enabled.")


def register_parametrization(module, tensor_name, parametrization, *, unsafe=False):
    """From here on module.tensor_name is parametrization(what it was), computed whenever it is asked for; several are applied in the
    order in which they come. unsafe: it may change dtype and shape, and nothing is checked."""
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        if not unsafe:
            _fits(module, tensor_name, parametrization)
        module.parametrizations[tensor_name].append(parametrization)
        module.parametrizations[tensor_name].unsafe |= unsafe
    elif tensor_name in module._buffers or tensor_name in module._parameters:
        all_of_it = ParametrizationList([parametrization], getattr(module, tensor_name), unsafe=unsafe)
        delattr(module, tensor_name)
        if not is_parametrized(module):
            _own_class(module)
            module.parametrizations = ModuleDict()
        _add_property(module, tensor_name)
        module.parametrizations[tensor_name] = all_of_it
    else:
        raise ValueError(f"Module '{module}' does not have a parameter, a buffer, or a parametrized element with name '{tensor_name}'")
    return module


def is_parametrized(module, tensor_name=None):
    """Is that tensor of the module parametrized? None: is any?"""
    all_of_it = getattr(module, "parametrizations", None)
    if not isinstance(all_of_it, ModuleDict):
        return False
    return len(all_of_it) > 0 if tensor_name is None else tensor_name in all_of_it


def remove_parametrizations(module, tensor_name, leave_parametrized=True):
    """module.tensor_name is a parameter or buffer again: as it is now, or (leave_parametrized=False) what it was computed from."""
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    of = module.parametrizations[tensor_name]
    if not of.is_tensor and not leave_parametrized:
        raise ValueError("Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is parametrized in terms of a "
                         "sequence of tensors.")
    if of.is_tensor:
        original = of.original
        if leave_parametrized:
            with no_grad():
                _show(original, getattr(module, tensor_name))
    else:
        original = getattr(module, tensor_name)
        original = Parameter(original) if original.requires_grad else original
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    _hold(module, tensor_name, original)
    if not is_parametrized(module):
        delattr(module, "parametrizations")
        module.__class__ = type(module).__bases__[0]
    return module


def type_before_parametrizations(module):
    """The module's class without what parametrizations made of it."""
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


def transfer_parametrizations_and_params(from_module, to_module, tensor_name=None):
    """Gives to_module the parametrizations of from_module (of tensor_name, or all), and the tensors that they are computed from."""
    if not is_parametrized(from_module):
        return to_module
    for name in list(from_module.parametrizations) if tensor_name is None else [tensor_name]:
        of = from_module.parametrizations[name]
        if not hasattr(to_module, name):
            setattr(to_module, name, Parameter(getattr(from_module, name)))
        for parametrization in of:
            register_parametrization(to_module, name, parametrization)
        for key in ["original"] if of.is_tensor else [f"original{i}" for i in range(of.ntensors)]:
            setattr(to_module.parametrizations[name], key, getattr(of, key))
    return to_module
