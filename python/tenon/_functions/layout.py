"""Methods that tell of a tensor's layout, and that ask Python of each element."""

from .. import _C

__all__ = []
METHODS = ["dim_order", "is_nonzero", "map_", "map2_"]


def dim_order(self, *, ambiguity_check=False):
    """The dimensions from the widest stride to the narrowest."""
    formats = isinstance(ambiguity_check, list) and all(isinstance(f, _C.memory_format) for f in ambiguity_check)
    if not formats and not isinstance(ambiguity_check, bool):
        raise TypeError("The ambiguity_check argument must be a bool or a list of memory formats.")
    size, stride = self.size(), self.stride()
    order = list(range(self.dim())) if self.is_contiguous() else []
    for d in range(len(order), self.dim()):  # those of stride 0, and those that cannot be told apart, stay where they are
        at = len(order)
        for k in range(len(order) - 1, -1, -1):
            a, b = order[k], d
            if not stride[a] or not stride[b] or (stride[a] == stride[b] and size[a] >= size[b]):
                continue
            if stride[a] > stride[b] or (stride[a] == stride[b] and size[a] > size[b]):
                break
            at = k
        order.insert(at, d)
    if ambiguity_check is not False:
        lines = [stride[d] for d in order]
        if len(set(lines)) < len(lines) or 1 in [size[d] for d in order]:
            raise RuntimeError("The tensor does not have unique dim order, or cannot map to exact one of the given memory formats.")
    return tuple(order)


def is_nonzero(self):
    """Is the one element other than zero?"""
    return bool(self)


def _mapped(name, self, others, function):
    """Writes what the function makes of each element and those of the others at its place."""
    if self.requires_grad or any(o.requires_grad for o in others.values()):
        raise RuntimeError(f"Can't call {name}() on Variable that requires grad. Use var.detach().{name}() instead.")
    for word, other in others.items():
        if other.type() != self.type():
            raise TypeError(f"{name}: expected {self.type()} for {word} (got {other.type()})")
    if self.device.type != "cpu":
        raise TypeError(f"{name} is only implemented on CPU tensors")
    lists = [self.reshape(-1).tolist()] + [o.expand(self.shape).reshape(-1).tolist() for o in others.values()]
    made = [function(*elements) for elements in zip(*lists)]
    convert = float if self.is_floating_point() else bool if self.dtype is _C.bool else int
    for i, value in enumerate(made):
        if not isinstance(value, (int, float, _C.Tensor)):
            raise TypeError(f"must be real number, not {type(value).__name__}")
        made[i] = convert(value)
    return self.copy_(_C.tensor(made, dtype=self.dtype).reshape(self.shape))


def _is_tensor(name, word, position, value):
    if not isinstance(value, _C.Tensor):
        raise TypeError(f"{name}(): argument '{word}' (position {position}) must be Tensor, not {type(value).__name__}")
    return value


def map_(self, other, callable):
    """Writes callable(a, b) for each element a and other's b at its place. On the CPU; slow, for it asks Python each time."""
    return _mapped("map_", self, {"'other'": _is_tensor("map_", "other", 1, other)}, callable)


def map2_(self, x, y, callable):
    """Writes callable(a, b, c) for each element a, x's b and y's c at its place. On the CPU; slow."""
    others = {"argument 'x'": _is_tensor("map2_", "x", 1, x), "argument 'y'": _is_tensor("map2_", "y", 2, y)}
    return _mapped("map2_", self, others, callable)
