"""torch.testing._internal.common_optimizers: the optimisers that Tenon has, with what tests build them with."""

import copy
import enum
import itertools

import torch
from torch.nn import Parameter
from torch.optim.lr_scheduler import ReduceLROnPlateau, StepLR
from torch_tests import parametrize as p
from torch_tests.absent import Absent


class OptimizerErrorEnum(enum.Enum):
    CONSTRUCTION_ERROR = 0
    STEP_ERROR = 1


class OptimizerInput:
    def __init__(self, params, kwargs, desc=""):
        self.params, self.kwargs, self.desc = params, kwargs, desc

    def __repr__(self):
        return f"params={self.params}, kwargs={self.kwargs}, desc={self.desc}"


class ErrorOptimizerInput:
    def __init__(self, optim_error_inputs, *, error_on=OptimizerErrorEnum.CONSTRUCTION_ERROR, error_type=RuntimeError, error_regex=""):
        self.optimizer_error_input, self.error_on = optim_error_inputs, error_on
        self.error_type, self.error_regex = error_type, error_regex


class OptimizerInfo:
    """An optimiser: its class, the keywords it is tried with, and which of the ways to run it has."""

    step_requires_closure = only_supports_sparse_grads = supports_sparse = has_capturable_arg = False
    supports_param_groups = supports_multiple_devices = supports_complex = True
    metadata_for_sparse = ({}, [])
    not_og_supported_flags = ("foreach", "differentiable", "maximize", "capturable")
    supported_impls, supports_fused_on = ("foreach", "differentiable"), ()
    scheduler_inputs = ([lambda opt: StepLR(opt, gamma=0.9, step_size=10), lambda opt: ReduceLROnPlateau(opt)],)
    decorators = ()

    def __init__(self, name, inputs, capturable=(), errors=(), fused=(), **flags):
        self.name = name
        self.optim_cls = getattr(torch.optim, name)
        self._inputs, self._capturable, self._errors, self.supports_fused_on = inputs, capturable, errors, fused
        if fused:
            self.supported_impls = ("foreach", "differentiable", "fused")
            self.not_og_supported_flags = ("foreach", "differentiable", "fused", "maximize", "capturable")
        self.has_capturable_arg = bool(capturable)
        self.__dict__.update(flags)

    def optim_inputs_func(self, device, dtype=None):
        rows = [*self._inputs, *(self._capturable if _get_device_type(device) == "cuda" else ())]
        made = [OptimizerInput(None, copy.deepcopy(row), str(row)) for row in rows]
        if dtype is torch.float16 and self.name != "SGD":
            for one in made:
                one.kwargs["eps"] = 0.1
        return made

    def optim_error_inputs_func(self, device, dtype):
        if _get_device_type(device) == "cuda":
            one = torch.empty((), device=device, dtype=dtype)
            rows = _FUSED_ERRORS if self.supports_fused_on else ()
            return [ErrorOptimizerInput(OptimizerInput([one], k), error_type=RuntimeError, error_regex=r) for k, r in rows]
        rows = [ErrorOptimizerInput(OptimizerInput(None, k), error_type=ValueError, error_regex=r) for k, r in self._errors]
        return _errors_of_all(device, dtype) + rows


def _get_device_type(device):
    return torch.device(device).type


_FUSED_ERRORS = (
    ({"foreach": True, "fused": True}, "`fused` and `foreach` cannot be `True` together"),
    ({"fused": True, "differentiable": True}, "`fused` does not support `differentiable`"),
)


def _errors_of_all(device, dtype):
    """What every optimiser refuses."""
    a, b = (Parameter(torch.randn(1, device=device, dtype=dtype)) for _ in range(2))
    named = "all optimizer params should be with/without names. Some param names are missing"
    groups = "all optimizer param groups should be with/without names. cannot add param group with names to the optimizer"
    rows = [
        (a, {}, TypeError, "params argument given to the optimizer should be an iterable of Tensors or dicts"),
        ([a, a], {}, UserWarning, ".*a parameter group with duplicate parameters.*"),
        ([{"params": a}, {"params": a}], {}, ValueError, "some parameters appear in more than one parameter group"),
        (None, {"lr": torch.tensor([0.001, 0.001])}, ValueError, "Tensor lr must be 1-element"),
        ([("weight", a), b], {}, ValueError, named),
        ([{"params": [a], "lr": 1e-2}, {"params": [("weight", b)]}], {}, ValueError, groups),
    ]
    return [ErrorOptimizerInput(OptimizerInput(params, k), error_type=kind, error_regex=r) for params, k, kind, r in rows]


def _t(value):
    return torch.tensor(value)


_PLAIN = ({}, {"lr": 0.01}, {"weight_decay": 0.1}, {"weight_decay": 0.1, "maximize": True})
_ADAM = (*_PLAIN, {"weight_decay": 0.1, "amsgrad": True})
_ADAM_CAPTURABLE = (
    {"capturable": True},
    {"weight_decay": 0.1, "amsgrad": True, "capturable": True},
    {"lr": _t(0.001), "amsgrad": True, "capturable": True},
    {"lr": _t(0.001), "betas": (_t(0.9), _t(0.99)), "amsgrad": True, "capturable": True},
    {"lr": _t(0.001), "betas": (_t(0.9), _t(0.99)), "amsgrad": False, "capturable": True},
)
_BETAS = "betas must be either both floats or both Tensors"
_ADAM_ERRORS = (
    ({"lr": 1e-2, "betas": (1.0, 0.0)}, "Invalid beta parameter at index 0: 1.0"),
    ({"lr": 1e-2, "weight_decay": -1}, "Invalid weight_decay value: -1"),
    ({"lr": _t(0.001), "foreach": True}, "lr as a Tensor is not supported for capturable=False and foreach=True"),
    ({"lr": 1e-2, "betas": (0.9, _t(0.99))}, _BETAS),
    ({"lr": 1e-2, "betas": (_t(0.9), 0.99)}, _BETAS),
    (
        {"lr": 1e-2, "betas": (_t(0.9), _t(0.99)), "foreach": True},
        r"betas\[0\] as a Tensor is not supported for capturable=False and foreach=True",
    ),
)
_SGD = (
    {},
    {"lr": 1e-2},
    {"lr": _t(0.001)},
    {"weight_decay": 0.5},
    {"momentum": 0.9},
    {"momentum": 0.9, "weight_decay": 0.1, "maximize": True},
    {"momentum": 0.9, "dampening": 0.5},
    {"momentum": 0.9, "weight_decay": 0.1},
    {"momentum": 0.9, "nesterov": True, "weight_decay": 0.1},
)
_RMSPROP = (
    {},
    {"lr": 1e-3},
    {"weight_decay": 0.1},
    {"weight_decay": 0.1, "centered": True},
    {"weight_decay": 0.1, "centered": True, "momentum": 0.1},
    {"weight_decay": 0.1, "centered": True, "momentum": 0.1, "maximize": True},
)
_ADAGRAD = (
    {},
    {"weight_decay": 0.1},
    {"weight_decay": 0.1, "maximize": True},
    {"lr": 0.1},
    {"initial_accumulator_value": 0.1, "weight_decay": 0.1},
    {"lr": 0.1, "lr_decay": 0.5, "weight_decay": 0.1},
    {"lr": _t(0.001)},
)
_MISSING = "Adadelta Adamax ASGD LBFGS NAdam RAdam Rprop SparseAdam Adafactor".split()

optim_db = [
    OptimizerInfo("Adam", _ADAM, _ADAM_CAPTURABLE, _ADAM_ERRORS, fused=("cpu", "cuda")),
    OptimizerInfo("AdamW", _ADAM, _ADAM_CAPTURABLE, _ADAM_ERRORS, fused=("cpu", "cuda")),
    OptimizerInfo(
        "SGD",
        _SGD,
        errors=(({"lr": 1e-2, "momentum": -0.5}, "Invalid momentum value: -0.5"),),
        fused=("cpu", "cuda"),
        supports_sparse=True,
    ),
    OptimizerInfo(
        "RMSprop",
        _RMSPROP,
        tuple({**row, "capturable": True} for row in _RMSPROP[:5]),
        (({"lr": 1e-2, "momentum": -1.0}, "Invalid momentum value: -1.0"),),
    ),
    OptimizerInfo(
        "Adagrad", _ADAGRAD, errors=(({"lr": 1e-2, "lr_decay": -0.5}, "Invalid lr_decay value: -0.5"),), fused=("cpu",), supports_sparse=True
    ),
    *(OptimizerInfo(name, ({},)) for name in _MISSING),
]


class optims(p.Parametrizer):
    def __init__(self, optim_info_iterable, dtypes=None):
        self.infos, self.dtypes = list(optim_info_iterable), dtypes or [torch.float32]

    def variants(self, test, cls, device_class):
        for info, dtype in itertools.product(self.infos, self.dtypes):
            given = info.optim_cls if isinstance(info.optim_cls, Absent) else info
            yield p.Variant(test, info.name, {"optim_info": given, "dtype": dtype})


def _get_optim_inputs_including_global_cliquey_kwargs(device, dtype, optim_info, skip=()):
    """Every input with none and with one of the flags foreach, fused and differentiable."""
    flags = [f for f in optim_info.supported_impls if f not in skip]
    if _get_device_type(device) not in optim_info.supports_fused_on and "fused" in flags:
        flags.remove("fused")
    found = []
    for one in optim_info.optim_inputs_func(device=device, dtype=dtype):
        base = {**one.kwargs, **{f: False for f in flags}}
        found.append(OptimizerInput(None, base, one.desc))
        for flag in flags:
            tensor_lr = isinstance(base.get("lr"), torch.Tensor) and not base.get("capturable", False)
            if flag == "foreach" and tensor_lr:
                continue  # refused by the optimisers themselves
            found.append(OptimizerInput(None, {**base, flag: True}, f"{one.desc} & {flag}"))
    return found


class TensorTracker:
    """Copies of tensors in an order, for two ways of computing that are compared step by step."""

    def __init__(self, assert_eq_kwargs=None):
        self.tensors, self.options = [], assert_eq_kwargs or {}

    def add(self, tensor):
        self.tensors.append(tensor.detach().clone())

    def pop_check_set(self, tensor_to_set, testcase):
        testcase.assertGreater(len(self.tensors), 0, "no tensors to pop")
        expected = self.tensors.pop(0)
        testcase.assertEqual(tensor_to_set, expected, **self.options)
        with torch.no_grad():
            tensor_to_set.copy_(expected)

    def all_popped(self):
        return not self.tensors
