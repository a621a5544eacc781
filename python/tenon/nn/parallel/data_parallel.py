"""DataParallel: a module that runs on several GPUs, each with a part of the batch."""

import warnings
from collections import namedtuple
from types import GenericAlias

from tenon import _C, cuda

from ..modules.module import Module
from ._devices import device_index, device_indices
from ._functions import current
from .parallel_apply import parallel_apply
from .replicate import Inside, Plan, replicate
from .scatter_gather import gather, scatter_kwargs

__all__ = ["DataParallel", "data_parallel"]

DeviceReport = namedtuple(
    "DeviceReport",
    "device samples scatter_ms broadcast_ms forward_ms gather_ms backward_ms reduce_ms host_ms "
    "scatter_bytes broadcast_bytes gather_bytes reduce_bytes",
)

_IMBALANCE = """
    There is an imbalance between your GPUs. You may want to exclude GPU {} which
    has less than 75% of the memory or cores of GPU {}. You can do so by setting
    the device_ids argument to DataParallel, or by setting the CUDA_VISIBLE_DEVICES
    environment variable."""


def _check_balance(ids):
    """Warns where one of the GPUs has much less memory, or fewer multiprocessors, than another."""
    properties = [cuda.get_device_properties(i) for i in ids]
    for what in ("total_memory", "multi_processor_count"):
        values = [getattr(p, what) for p in properties]
        least, most = min(values), max(values)
        if least / most < 0.75:
            warnings.warn(_IMBALANCE.format(ids[values.index(least)], ids[values.index(most)]), stacklevel=3)
            return


def _check_place(tensors, device):
    """RuntimeError unless all are on the main GPU."""
    other = _C._parallel_elsewhere(tensors, device)
    if other is not None:
        raise RuntimeError(f"module must have its parameters and buffers on device {device} (device_ids[0]) but found one of "
                           f"them on device: {other.device}\n  module.to('{device}') moves it")


class DataParallel(Module):
    """A module that runs on several GPUs: its input is cut along dim, a replica of the module on each GPU takes a chunk, and
    the outputs are joined. Gradients are summed into the parameters of the module.

    module         where the parameters are: on device_ids[0], the main GPU. What is saved is named 'module....'
    device_ids     GPUs, as ints, devices or strings; all there are unless said. Empty where there is none: the module is
                   called as it is
    output_device  where outputs are joined; the main GPU unless said
    dim            of the batch

    Replicas are made anew for each forward, over memory that is kept from one to the next. What they do to their attributes
    is lost; what they write into buffers is kept of the first one. explain() says what the last step cost.
    """

    __class_getitem__ = classmethod(GenericAlias)  # DataParallel[Net], for type checkers

    def __init__(self, module, device_ids=None, output_device=None, dim=0):
        super().__init__()
        self.module = module
        self.dim = dim
        self.device_ids = []
        if not cuda.is_available():
            return
        if device_ids is None:
            device_ids = range(cuda.device_count())
        if output_device is None:
            output_device = device_ids[0]
        self.device_ids = [device_index(d, True) for d in device_ids]
        self.output_device = device_index(output_device, True)
        self.src_device_obj = _C.device("cuda", self.device_ids[0])
        _check_balance(self.device_ids)
        if len(self.device_ids) == 1:
            self.module.to(self.src_device_obj)

    def forward(self, *inputs, **kwargs):
        """The module's output for these arguments, whose tensors are cut over the GPUs."""
        if not self.device_ids:
            return self.module(*inputs, **kwargs)
        inside = self._inside()
        _check_place(inside.tensors, self.src_device_obj)
        if len(self.device_ids) == 1:
            args, named = self.scatter(inputs, kwargs, self.device_ids)
            return self.module(*args[0], **named[0]) if args else self.module()
        step = self._team().step()
        self._note_lost(step.device_ids)
        before = current.step, current.inside
        current.step, current.inside = step, inside
        try:
            return self._run(inputs, kwargs, step.device_ids)
        finally:
            current.step, current.inside = before

    def _run(self, inputs, kwargs, ids):
        args, named = self.scatter(inputs, kwargs, ids)
        if not args and not named:  # no argument: one replica
            args, named = ((),), ({},)
        replicas = self.replicate(self.module, ids[: len(args)])
        return self.gather(self.parallel_apply(replicas, args, named), self.output_device)

    # ---- the parts of a forward, which subclasses may have their own of ----

    def replicate(self, module, device_ids):
        """Replicas of the module, one for each GPU."""
        return replicate(module, device_ids, not _C.is_grad_enabled())

    def scatter(self, inputs, kwargs, device_ids):
        """The arguments cut for each GPU: a tuple of tuples, a tuple of dictionaries."""
        return scatter_kwargs(inputs, kwargs, device_ids, dim=self.dim)

    def parallel_apply(self, replicas, inputs, kwargs):
        """The outputs of the replicas."""
        ids = self.device_ids if current.step is None else current.step.device_ids
        return parallel_apply(replicas, inputs, kwargs, ids[: len(replicas)])

    def gather(self, outputs, output_device):
        """The outputs joined on a GPU."""
        return gather(outputs, output_device, dim=self.dim)

    # ---- what is kept ----

    def _inside(self):
        plan = self.__dict__.get("_kept_plan")
        if plan is None or not plan.is_valid(self.module):
            plan = self.__dict__["_kept_plan"] = Plan(self.module)
        return Inside(plan)

    def _team(self):
        kept = self.__dict__.get("_kept_team")
        if kept is None or kept[0] != self.device_ids:
            kept = self.__dict__["_kept_team"] = list(self.device_ids), _C._Team(device_indices(self.device_ids))
        return kept[1]

    def _note_lost(self, ids):
        """Warns, once, of each GPU that a step goes on without."""
        lost = self.__dict__.get("_lost", ())
        if not lost and len(ids) == len(self.device_ids):
            return
        missing = [d for d in device_indices(self.device_ids) if d not in ids]
        self.__dict__["_lost"] = missing
        for d in missing:
            if d not in lost:
                warnings.warn(f"DataParallel goes on without cuda:{d}, which is lost since an error on it; "
                              f"torch.cuda.reset({d}) makes it usable again", stacklevel=4)

    def __getstate__(self):
        state = super().__getstate__()
        for name in ("_kept_team", "_kept_plan", "_lost"):
            state.pop(name, None)
        return state

    # ---- what a step cost ----

    def report(self):
        """Tenon's own: what the last step cost, a DeviceReport for each GPU. Waits until it is done; times are of the GPU's
        stream, -1 for what was no part of the step. Empty before the first step, and where one GPU or none is used."""
        if len(self.device_ids) < 2:
            return []
        return [DeviceReport._make(row) for row in self._team().report()]

    def explain(self):
        """Tenon's own: the same as text, with bars and what bounds the step."""
        if len(self.device_ids) < 2:
            where = "one GPU" if self.device_ids else "no GPU"
            return f"DataParallel on {where}: the module is called as it is\n"
        return self._team().explain()


def data_parallel(module, inputs, device_ids=None, output_device=None, dim=0, module_kwargs=None):
    """The output of module(*inputs, **module_kwargs), computed on several GPUs: DataParallel for one call.

    inputs is a tensor or a tuple of arguments; output_device may be -1: the CPU.
    """
    if not isinstance(inputs, tuple):
        inputs = (inputs,) if inputs is not None else ()
    if not cuda.is_available():
        raise RuntimeError("device type could not be determined")
    ids = device_indices(range(cuda.device_count()) if device_ids is None else device_ids)
    output_device = ids[0] if output_device is None else device_index(output_device, True)
    inside = Inside(Plan(module))
    _check_place(inside.tensors, _C.device("cuda", ids[0]))
    args, named = scatter_kwargs(inputs, module_kwargs, ids, dim)
    if not args and not named:
        args, named = ((),), ({},)
    if len(ids) == 1:
        return module(*args[0], **named[0])
    ids = ids[: len(args)]
    before, current.inside = current.inside, inside
    try:
        replicas = replicate(module, ids)
    finally:
        current.inside = before
    return gather(parallel_apply(replicas, args, named, ids), output_device, dim)
