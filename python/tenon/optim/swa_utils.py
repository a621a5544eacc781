"""Averages of a model's parameters as it is trained (Izmailov et al. 2018): AveragedModel keeps them, SWALR is the schedule that goes
with them, update_bn computes batch norm's statistics for them."""

import copy
import math

import tenon as torch
from tenon.nn import Module

from .lr_scheduler import LRScheduler, _for_each_group

__all__ = ["AveragedModel", "update_bn", "SWALR", "get_ema_multi_avg_fn", "get_swa_multi_avg_fn", "get_ema_avg_fn", "get_swa_avg_fn"]


def _check_decay(decay):
    if decay < 0.0 or decay > 1.0:
        raise ValueError(f"Invalid decay value {decay} provided. Please provide a value in [0,1] range.")


def get_ema_avg_fn(decay=0.999):
    """For AveragedModel: a parameter's exponential moving average, average * decay + parameter * (1 - decay)."""
    _check_decay(decay)

    @torch.no_grad()
    def average(averaged, current, num_averaged):
        return decay * averaged + (1 - decay) * current

    return average


def get_swa_avg_fn():
    """For AveragedModel: the mean of all values that a parameter had."""

    @torch.no_grad()
    def average(averaged, current, num_averaged):
        return averaged + (current - averaged) / (num_averaged + 1)

    return average


def _of_lists(average):
    """The same of lists of parameters, in place."""

    @torch.no_grad()
    def averages(averaged_params, current_params, num_averaged):
        for averaged, current in zip(averaged_params, current_params, strict=True):
            averaged.copy_(average(averaged, current, num_averaged))

    return averages


def get_ema_multi_avg_fn(decay=0.999):
    """For AveragedModel: get_ema_avg_fn of lists of parameters, in place."""
    return _of_lists(get_ema_avg_fn(decay))


def get_swa_multi_avg_fn():
    """For AveragedModel: get_swa_avg_fn of lists of parameters, in place."""
    return _of_lists(get_swa_avg_fn())


class AveragedModel(Module):
    """A copy of a model whose parameters are averages of those that the model had whenever update_parameters was called.

    device         where the copy is; None: where the model is
    avg_fn         average, parameter, count -> the new average; without: the mean
    multi_avg_fn   the same of lists, in place
    use_buffers    averages the model's buffers too, in place of copying them
    """

    def __init__(self, model, device=None, avg_fn=None, multi_avg_fn=None, use_buffers=False):
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = copy.deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", torch.tensor(0, dtype=torch.long, device=device))
        self.avg_fn = avg_fn
        self.multi_avg_fn = multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args, **kwargs):
        return self.module(*args, **kwargs)

    @torch.no_grad()
    def update_parameters(self, model):
        """Takes the model's parameters into the averages; the first time they are the averages."""
        mine, theirs = list(self.module.parameters()), list(model.parameters())
        buffers = list(zip(self.module.buffers(), model.buffers(), strict=True))
        if self.use_buffers:
            mine += [b for b, _ in buffers]
            theirs += [b for _, b in buffers]
        pairs = [(a.detach(), b.detach().to(a.device)) for a, b in zip(mine, theirs, strict=True)]
        if self.n_averaged == 0:
            for averaged, current in pairs:
                averaged.copy_(current)
        else:
            self._average(pairs)
        if not self.use_buffers:
            for mine_, theirs_ in buffers:
                mine_.detach().copy_(theirs_.detach())
        self.n_averaged += 1

    def _average(self, pairs):
        if self.multi_avg_fn is None:
            average = self.avg_fn or get_swa_avg_fn()
            for averaged, current in pairs:
                averaged.copy_(average(averaged, current, self.n_averaged.to(averaged.device)))
            return
        groups = {}
        for averaged, current in pairs:
            groups.setdefault((averaged.device, averaged.dtype), []).append((averaged, current))
        for (device, _), group in groups.items():
            self.multi_avg_fn([a for a, _ in group], [b for _, b in group], self.n_averaged.to(device))


@torch.no_grad()
def update_bn(loader, model, device=None):
    """Computes the running statistics of the model's batch norms anew, by one pass over a loader's batches: tensors, or lists whose
    first element is what the model takes."""
    norms = [m for m in model.modules() if hasattr(m, "reset_running_stats")]
    if not norms:
        return
    momenta = [m.momentum for m in norms]
    was_training = model.training
    for m in norms:
        m.reset_running_stats()
        m.momentum = None
    model.train()
    for batch in loader:
        x = batch[0] if isinstance(batch, (list, tuple)) else batch
        model(x if device is None else x.to(device))
    for m, momentum in zip(norms, momenta):
        m.momentum = momentum
    model.train(was_training)


class SWALR(LRScheduler):
    """From the rate of each group to swa_lr in anneal_epochs, along a cosine or a line, and constant from there on."""

    def __init__(self, optimizer, swa_lr, anneal_epochs=10, anneal_strategy="cos", last_epoch=-1):
        for group, rate in zip(optimizer.param_groups, _for_each_group(optimizer, swa_lr, "values for swa_lr")):
            group["swa_lr"] = rate
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        self._anneal_strategy = anneal_strategy
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    def _done(self, step):
        """How much of the way lies behind a step, from 0 to 1."""
        t = max(0, min(1, step / max(1, self.anneal_epochs)))
        return t if self._anneal_strategy == "linear" else (1 - math.cos(math.pi * t)) / 2

    def get_lr(self):
        rates = self._rates()
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        before, now = self._done(step - 1), self._done(step)
        ends = [group["swa_lr"] for group in self.optimizer.param_groups]
        starts = [end if before == 1 else (rate - before * end) / (1 - before) for rate, end in zip(rates, ends)]
        return [end * now + start * (1 - now) for start, end in zip(starts, ends)]
