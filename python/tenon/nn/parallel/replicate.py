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
_set = object.__setattr__  # Module.__setattr__ would look at each name
_put = dict.__setitem__
_made_for = _members.made_for
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


class _Row:
    """One module of a plan: where its tensors and children are among those of the plan; None for what is None."""

    __slots__ = ("module", "plain", "parameters", "buffers", "children")

    def __init__(self, module, order, tensors):
        self.module = weakref.ref(module)
        self.plain = _is_plain(type(module))
        self.parameters = [(name, None if t is None else tensors[t]) for name, t in module._parameters.items()]
        self.buffers = [(name, None if t is None else tensors[t]) for name, t in module._buffers.items()]
        self.children = [(name, None if m is None else order[m]) for name, m in module._modules.items()]


class Plan:
    """What is in a module: all modules, parents first, and all tensors, each once.

    It keeps nothing alive, and is valid until something is added to a module, taken away or exchanged, which
    _members.changes() tells.
    """

    def __init__(self, network):
        self.changes = _members.changes()
        modules, tensors, self.where = {}, {}, []
        _collect(network, modules)
        order = {m: i for i, m in enumerate(modules)}
        for m in modules:
            for held in (m._parameters, m._buffers):
                for name, t in held.items():
                    if t is not None and t not in tensors:
                        tensors[t] = len(tensors)
                        self.where.append((order[m], held is m._parameters, name))
        self.rows = [_Row(m, order, tensors) for m in modules]

    def is_valid(self, network):
        return self.rows[0].module() is network and self.changes == _members.changes()


class Inside:
    """What a valid plan means: the modules of its rows, the tensors that these name by numbers. It lives for one forward."""

    __slots__ = ("plan", "modules", "tensors")

    def __init__(self, plan):
        self.plan = plan
        self.modules = m = [row.module() for row in plan.rows]
        self.tensors = [(m[i]._parameters if parameter else m[i]._buffers)[name] for i, parameter, name in plan.where]


class Replicas(list):
    """Replicas of one module, and whether their forwards only queue work."""

    queueing = False


def _fresh(module, row, tensors):
    """A replica of a plain module, without its children."""
    replica = _new(type(module))
    attributes = module.__dict__.copy()
    _set(replica, "__dict__", attributes)
    attributes["_is_replica"] = True
    attributes["_former_parameters"] = former = {}
    owner = weakref.ref(replica)
    attributes["_parameters"] = empty = _made_for(owner)
    attributes["_buffers"] = buffers = _made_for(owner)
    attributes["_modules"] = _made_for(owner)
    for name, i in row.parameters:
        if i is None:
            _put(empty, name, None)
        else:
            attributes[name] = former[name] = tensors[i]
    for name, i in row.buffers:
        attributes[name] = value = None if i is None else tensors[i]
        _put(buffers, name, value)
    return replica


def _fresh_by_class(module, row, tensors):
    """The same of a module whose class has a say in how it is copied, or in how attributes are set."""
    replica = module._replicate_for_data_parallel()
    former = replica.__dict__["_former_parameters"] = {}
    for name, i in row.parameters:
        if i is None:
            replica._parameters[name] = None
        else:
            setattr(replica, name, tensors[i])
            former[name] = tensors[i]
    for name, i in row.buffers:
        if i is None:
            replica._buffers[name] = None
        else:
            setattr(replica, name, tensors[i])
    return replica


def _assemble(inside, tensors):
    """The replica of the module over these tensors."""
    rows = inside.plan.rows
    replicas = [(_fresh if row.plain else _fresh_by_class)(m, row, tensors) for m, row in zip(inside.modules, rows)]
    for row, replica in zip(rows, replicas):
        for name, i in row.children:
            if i is None:
                replica._modules[name] = None
            elif row.plain:
                _put(replica._modules, name, replicas[i])
                replica.__dict__[name] = replicas[i]
            else:
                setattr(replica, name, replicas[i])
    return replicas[0]


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
    replicas = Replicas(_assemble(inside, mine) for mine in copies)
    replicas.queueing = only_queues(inside.modules)
    return replicas
