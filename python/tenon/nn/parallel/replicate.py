"""Copies of a module for one forward: other objects of its classes, over copies of its tensors."""

import weakref

from tenon import _C
from tenon.autograd import no_grad

from ..modules import _members
from ..modules.module import Module, _collect
from ._devices import device_indices
from ._functions import current

__all__ = ["replicate"]

_new = object.__new__
_own = {}  # class -> does it come from tenon.nn, and with it a forward that only queues work?


def _is_own(cls):
    known = _own.get(cls)
    if known is None:
        known = _own[cls] = cls.__module__.startswith("tenon.nn.modules.")
    return known


def _is_plain(cls):
    """May a replica of this class be made by copying, with nothing of the class's own asked?"""
    return (cls._replicate_for_data_parallel is Module._replicate_for_data_parallel
            and cls.__setattr__ is Module.__setattr__ and cls.__new__ is _new)


def only_queues(modules):
    """Does the forward of each do nothing but queue work: classes of tenon.nn, exactly, with no hook?"""
    return all(_is_own(type(m)) and not m._hooked and "forward" not in m.__dict__ for m in modules)


def _row(module, order, tensors):
    """What the extension makes a replica of a module from (replica.c): (plain, parameters, buffers, children)."""

    def numbered(held, numbers):
        return tuple((name, -1 if value is None else numbers[value]) for name, value in held.items())

    return (_is_plain(type(module)), numbered(module._parameters, tensors), numbered(module._buffers, tensors),
            numbered(module._modules, order))


class Plan:
    """What is in a module: all modules, parents first, and all tensors, each once.

    It keeps nothing alive, and is valid until something is added to a module, taken away or exchanged, which
    _members.changes() tells; of a module with plain dictionaries (a __setstate__ may leave such) it does not.
    """

    def __init__(self, network):
        self.changes = _members.changes()
        modules, tensors, self.where = {}, {}, []
        _collect(network, modules)
        order = {m: i for i, m in enumerate(modules)}
        for m in modules:
            if not all(isinstance(held, _members.Members) for held in (m._parameters, m._buffers, m._modules)):
                self.changes = None
            for held in (m._parameters, m._buffers):
                for name, t in held.items():
                    if t is not None and t not in tensors:
                        tensors[t] = len(tensors)
                        self.where.append((order[m], held is m._parameters, name))
        self.rows = [_row(m, order, tensors) for m in modules]
        self.modules = [weakref.ref(m) for m in modules]

    def is_valid(self, network):
        return self.modules[0]() is network and self.changes == _members.changes()


class Inside:
    """What a valid plan means: its modules, the tensors that these name by numbers. It lives for one forward."""

    __slots__ = ("plan", "modules", "tensors")

    def __init__(self, plan):
        self.plan = plan
        self.modules = m = [ref() for ref in plan.modules]
        self.tensors = [(m[i]._parameters if parameter else m[i]._buffers)[name] for i, parameter, name in plan.where]


class Replicas(list):
    """Replicas of one module, and whether their forwards only queue work."""

    queueing = False


def _by_class(module, row, tensors):
    """A replica, without its children, of a module whose class has a say in how it is copied, or how attributes are set."""
    replica = module._replicate_for_data_parallel()
    former = replica.__dict__["_former_parameters"] = {}
    for name, i in row[1]:
        if i < 0:
            replica._parameters[name] = None
        else:
            setattr(replica, name, tensors[i])
            former[name] = tensors[i]
    for name, i in row[2]:
        if i < 0:
            replica._buffers[name] = None
        else:
            setattr(replica, name, tensors[i])
    return replica


def _replica(inside, tensors):
    """The replica of the module over these tensors."""
    return _C._replica(inside.modules, inside.plan.rows, tensors, _members.Members, _by_class)


def _check_place(tensors, main, detach):
    other = _C._parallel_elsewhere(tensors, main)
    if other is not None and other.device.type == "cpu" and not detach:
        raise AssertionError("Broadcast function not implemented for CPU tensors")
    if other is not None:
        raise RuntimeError(f"All tensors must be on devices[0]: {main}")


def replicate(network, devices, detach=False):
    """Copies of a module, one for each GPU, for one forward. Their tensors are copies of the module's, which gradients go
    back to unless detach says so: they are no parameters, so replica.parameters() is empty. On the module's own GPU they
    share its memory. Attributes are shared, not copied."""
    if not devices:
        return []
    ids = device_indices(devices)
    inside = current.inside
    if inside is None or not inside.plan.is_valid(network):
        inside = Inside(Plan(network))
    tensors = inside.tensors
    _check_place(tensors, ids[0], detach)
    if detach and _C.is_grad_enabled():
        with no_grad():
            copies = _C._parallel_broadcast(tensors, ids, current.step)
    else:
        copies = _C._parallel_broadcast(tensors, ids, current.step)
    replicas = Replicas(_replica(inside, mine) for mine in copies)
    replicas.queueing = only_queues(inside.modules)
    return replicas
