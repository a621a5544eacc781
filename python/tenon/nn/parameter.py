"""Tensors that a module knows as its own: Parameter (trained) and Buffer (saved and moved, not trained)."""

from tenon import _C, _missing, _utils

__all__ = ["Parameter", "Buffer", "UninitializedParameter", "UninitializedBuffer", "UninitializedTensorMixin", "is_lazy"]


def _rebuild(cls, data, requires_grad):
    """What pickle calls: a Parameter or Buffer around a tensor that it has read."""
    return cls._alias(data, requires_grad)


class Parameter(_C.Tensor):
    """A leaf that a module lists among its parameters as soon as it is assigned to an attribute.

    data           tensor whose memory it shows; an empty float tensor unless given
    requires_grad  whether backward() leaves a gradient in .grad; data must then be of a floating dtype
    """

    def __new__(cls, data=None, requires_grad=True):
        if data is None:
            data = _C.empty(0)
        data = data.detach()
        if requires_grad and not data.is_floating_point():
            raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
        return cls._alias(data, requires_grad)

    @classmethod
    def _alias(cls, data, requires_grad):
        return _C.Tensor._make_subclass(cls, data, requires_grad)

    def __repr__(self):
        return "Parameter containing:\n" + _C.Tensor.__repr__(self)

    def __deepcopy__(self, memo):
        known = memo.get(id(self))
        if known is None:
            known = type(self)._alias(self.detach().clone(), self.requires_grad)
            memo[id(self)] = known
        return known

    def __reduce_ex__(self, protocol):
        return _utils._reduce_parameter(self, protocol)


class Buffer(_C.Tensor):
    """A tensor that a module lists among its buffers as soon as it is assigned to an attribute.

    data        tensor whose memory it shows; an empty float tensor unless given
    persistent  whether state_dict() holds it
    """

    def __new__(cls, data=None, *, persistent=True):
        if data is None:
            data = _C.empty(0)
        made = cls._alias(data.detach(), data.requires_grad)
        made.persistent = persistent
        return made

    @classmethod
    def _alias(cls, data, requires_grad):
        return _C.Tensor._make_subclass(cls, data, requires_grad)

    def __deepcopy__(self, memo):
        known = memo.get(id(self))
        if known is None:
            known = type(self)._alias(self.detach().clone(), self.requires_grad)
            known.persistent = self.persistent
            memo[id(self)] = known
        return known

    def __reduce_ex__(self, protocol):
        return _rebuild, (type(self), self.detach(), self.requires_grad), {"persistent": self.persistent}


class UninitializedTensorMixin:
    """A tensor of a dtype and a device that has no shape yet: materialize() gives it one."""

    cls_to_become = None

    def materialize(self, shape, device=None, dtype=None):
        """Gives it this shape and uninitialised memory; from now on it is a Parameter, or a plain buffer."""
        data = self.data
        data = _C.empty(shape, device=data.device if device is None else device, dtype=data.dtype if dtype is None else dtype)
        self.__class__ = self.cls_to_become
        self.data = data

    @property
    def shape(self):
        """There is none: RuntimeError."""
        raise RuntimeError("Can't access the shape of an uninitialized parameter or buffer. This error usually happens in "
                           "`load_state_dict` when trying to load an uninitialized parameter into an initialized one. Call "
                           "`forward` to initialize the parameters before accessing their attributes.")

    def share_memory_(self):
        """There is none to share: RuntimeError."""
        raise RuntimeError("Can't share memory on an uninitialized parameter or buffer. Call `forward` to initialize the "
                           "parameters before calling `module.share_memory()`.")

    def __repr__(self):
        return f"<{type(self).__name__}>"

    def __reduce_ex__(self, protocol):
        return type(self), (self.requires_grad,)

    def __deepcopy__(self, memo):
        known = memo.get(id(self))
        if known is None:
            data = self.data
            known = type(self)(self.requires_grad, data.device, data.dtype)
            memo[id(self)] = known
        return known


class UninitializedParameter(UninitializedTensorMixin, Parameter):
    """A Parameter without a shape yet."""

    cls_to_become = Parameter

    def __new__(cls, requires_grad=True, device=None, dtype=None):
        return cls._alias(_C.empty(0, device=device, dtype=dtype), requires_grad)


class UninitializedBuffer(UninitializedTensorMixin, Buffer):
    """A Buffer without a shape yet."""

    cls_to_become = Buffer

    def __new__(cls, requires_grad=False, device=None, dtype=None, persistent=True):
        made = cls._alias(_C.empty(0, device=device, dtype=dtype), requires_grad)
        made.persistent = persistent
        return made


def is_lazy(param):
    """Is it a parameter or buffer without a shape?"""
    return isinstance(param, UninitializedTensorMixin)


__getattr__ = _missing.getattr_of(__name__)
