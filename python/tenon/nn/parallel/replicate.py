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
    """One module of a plan: where its tensors and children are among those of the plan."""

    __slots__ = ("module", "plain", "parameters", "buffers", "children")


class Plan:
    """What is in a module: all modules, parents first, and all tensors, parameters and buffers, each once.

    Valid until something is added to a module, taken away or exchanged: _members.changes() says whether it was.
    """

    def __init__(self, network):
        self.network = network
        self.changes = _members.changes()
        modules, places = {}, {}
        _collect(network, modules)
        order = {m: i for i, m in enumerate(modules)}
        self.rows = [self._row(m, order, places) for m in modules]
        self.tensors = list(places)

    @staticmethod
    def _row(module, order, places):
        def at(table, held):
            return [(k, None if v is None else table.setdefault(v, len(table))) for k, v in held.items()]

        row = _Row()
        row.module = module
        row.plain = _is_plain(type(module))
        row.parameters = at(places, module._parameters)
        row.buffers = at(places, module._buffers)
        row.children = at(order, module._modules)
        return row

    def is_valid(self, network):
        return self.network is network and self.changes == _members.changes()


class Replicas(list):
    """Replicas of one module, and whether their forwards only queue work."""

    queueing = False


def _fresh(row, tensors):
    """A replica of a plain module, without its children."""
    module = row.module
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


def _fresh_by_class(row, tensors):
    """The same of a module whose class has a say in how it is copied, or in how attributes are set."""
    replica = row.module._replicate_for_data_parallel()
    replica._former_parameters = {}
    for name, i in row.parameters:
        if i is None:
            replica._parameters[name] = None
        else:
            setattr(replica, name, tensors[i])
            replica._former_parameters[name] = tensors[i]
    for name, i in row.buffers:
        if i is None:
            replica._buffers[name] = None
        else:
            setattr(replica, name, tensors[i])
    return replica


def _assemble(plan, tensors):
    """The replica of plan's module over these tensors."""
    replicas = [(_fresh if row.plain else _fresh_by_class)(row, tensors) for row in plan.rows]
    for row, replica in zip(plan.rows, replicas):
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
    plan = current.plan
    if plan is None or plan.network is not network:
        plan = Plan(network)
    _check_place(plan.tensors, ids[0], detach)
    if detach and _C.is_grad_enabled():
        with no_grad():
            copies = _C._parallel_broadcast(plan.tensors, ids, current.step)
    else:
        copies = _C._parallel_broadcast(plan.tensors, ids, current.step)
    replicas = Replicas(_assemble(plan, tensors) for tensors in copies)
    replicas.queueing = only_queues(row.module for row in plan.rows)
    return replicas
