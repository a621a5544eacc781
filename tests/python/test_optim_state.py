"""Optimisers: groups, state_dict, what is printed and refused. Texts are PyTorch's."""

import pytest

import tenon as torch
from tenon import nn, optim


def parameter():
    return nn.Parameter(torch.ones(2))


def refused(error, text, call):
    with pytest.raises(error) as caught:
        call()
    assert str(caught.value.args[0]) == text


@pytest.mark.parametrize("cls,options,text", [
    ("SGD", {"lr": -1}, "Invalid learning rate: -1"), ("SGD", {"momentum": -1}, "Invalid momentum value: -1"),
    ("SGD", {"weight_decay": -1}, "Invalid weight_decay value: -1"),
    ("SGD", {"nesterov": True}, "Nesterov momentum requires a momentum and zero dampening"),
    ("SGD", {"momentum": 0.9, "dampening": 0.1, "nesterov": True},
     "Nesterov momentum requires a momentum and zero dampening"),
    ("SGD", {"lr": "two"}, "Tensor lr must be 1-element"),
    ("Adam", {"lr": -1}, "Invalid learning rate: -1"), ("Adam", {"eps": -1}, "Invalid epsilon value: -1"),
    ("Adam", {"betas": (1.0, 0.9)}, "Invalid beta parameter at index 0: 1.0"),
    ("AdamW", {"betas": (0.9, -0.1)}, "Invalid beta parameter at index 1: -0.1"),
    ("AdamW", {"weight_decay": -1}, "Invalid weight_decay value: -1"),
    ("Adam", {"betas": (0, 0.9)}, "betas must be either both floats or both Tensors"),
    ("Adam", {"betas": (0.9, "t")}, "betas must be either both floats or both Tensors"),
    ("AdamW", {"betas": ("t", "t"), "foreach": True}, "betas[0] as a Tensor is not supported for capturable=False and foreach=True"),
    ("Adam", {"lr": "t", "foreach": True}, "lr as a Tensor is not supported for capturable=False and foreach=True"),
    ("RMSprop", {"alpha": -1}, "Invalid alpha value: -1"), ("Adagrad", {"lr_decay": -1}, "Invalid lr_decay value: -1"),
    ("Adagrad", {"initial_accumulator_value": -1}, "Invalid initial_accumulator_value value: -1")])
def test_options_that_are_refused(cls, options, text):
    tensors = {"two": torch.ones(2), "t": torch.tensor(0.5)}
    options = {k: tensors.get(v, v) if not isinstance(v, tuple) else tuple(tensors.get(b, b) for b in v) for k, v in options.items()}
    refused(ValueError, text, lambda: getattr(optim, cls)([parameter()], **options))


@pytest.mark.parametrize("cls", ["SGD", "Adam", "AdamW", "Adagrad"])
def test_ways_that_are_refused(cls):
    made = getattr(optim, cls)
    refused(RuntimeError, "`fused` does not support `differentiable`", lambda: made([parameter()], fused=True, differentiable=True))
    refused(RuntimeError, "`fused` and `foreach` cannot be `True` together.", lambda: made([parameter()], fused=True, foreach=True))
    p = nn.Parameter(torch.ones(2, device="meta"))
    p.grad = torch.ones(2, device="meta")
    with pytest.raises(RuntimeError, match="`fused=True` requires all the params to be floating point Tensors of supported devices"):
        made([p], fused=True).step()


def test_parameters_that_are_refused():
    p = parameter()
    refused(ValueError, "optimizer got an empty parameter list", lambda: optim.SGD([]))
    refused(TypeError, "params argument given to the optimizer should be an iterable of Tensors or dicts, but got "
            "torch.FloatTensor", lambda: optim.SGD(p))
    refused(ValueError, "can't optimize a non-leaf Tensor", lambda: optim.SGD([p * 2]))
    refused(TypeError, "optimizer can only optimize Tensors, but one of the params is int", lambda: optim.SGD([3]))
    refused(TypeError, "optimizer parameters need to be organized in ordered collections, but the ordering of tensors in "
            "sets will change between runs. Please use a list instead.", lambda: optim.SGD([{"params": {p}}]))
    refused(ValueError, "some parameters appear in more than one parameter group",
            lambda: optim.SGD([{"params": p}, {"params": [p]}]))
    refused(ValueError, "all optimizer params should be with/without names. Some param names are missing",
            lambda: optim.SGD([("a", p), parameter()]))
    refused(KeyError, "params", lambda: optim.SGD([{"lr": 3}]))
    refused(TypeError, "param_group must be a dict, but got <class 'int'>", lambda: optim.SGD([p]).add_param_group(3))
    refused(RuntimeError, "`fused` and `foreach` cannot be `True` together.",
            lambda: optim.SGD([p], foreach=True, fused=True))
    with pytest.warns(UserWarning, match="optimizer contains a parameter group with duplicate parameters; in future, this"):
        optim.SGD([p, p])
    with pytest.warns(FutureWarning, match="This will be an error in a future release."):
        optim.SGD({p})


def test_repr():
    o = optim.SGD([{"params": parameter(), "lr": 3}, {"params": [parameter()]}], lr=1, momentum=0.5)
    group = ("\nParameter Group {}\n    dampening: 0\n    differentiable: False\n    foreach: None\n    fused: None\n"
             "    lr: {}\n    maximize: False\n    momentum: 0.5\n    nesterov: False\n    weight_decay: 0\n")
    assert repr(o) == "SGD (" + group.format(0, 3) + group.format(1, 1) + ")"
    assert repr(optim.AdamW([parameter()])) == (
        "AdamW (\nParameter Group 0\n    amsgrad: False\n    betas: (0.9, 0.999)\n    capturable: False\n"
        "    decoupled_weight_decay: True\n    differentiable: False\n    eps: 1e-08\n    foreach: None\n    fused: None\n"
        "    lr: 0.001\n    maximize: False\n    weight_decay: 0.01\n)")


def test_state_dict_of_a_fresh_optimizer():
    o = optim.Adam([{"params": [parameter(), parameter()]}, {"params": parameter(), "lr": 2.0}])
    options = {"lr": 0.001, "betas": (0.9, 0.999), "eps": 1e-08, "weight_decay": 0, "amsgrad": False, "maximize": False,
               "foreach": None, "capturable": False, "differentiable": False, "fused": None,
               "decoupled_weight_decay": False}
    assert o.state_dict() == {"state": {}, "param_groups": [dict(options, params=[0, 1]),
                                                            dict(options, lr=2.0, params=[2])]}
    assert o.defaults == options


def test_named_parameters():
    net = nn.Linear(1, 1)
    o = optim.SGD(net.named_parameters())
    assert o.param_groups[0]["param_names"] == ["weight", "bias"]
    assert o.param_groups[0]["params"][0] is net.weight
    assert o.state_dict()["param_groups"][0]["param_names"] == ["weight", "bias"]


def test_load_state_dict():
    p = parameter()
    p.grad = torch.ones(2)
    o = optim.SGD([p], lr=0.5, momentum=0.9)
    o.step()
    q = nn.Parameter(torch.ones(2, dtype=torch.float64))
    q.grad = torch.ones(2, dtype=torch.float64)
    other = optim.SGD([q], lr=0.1)
    other.load_state_dict(o.state_dict())
    assert other.param_groups[0]["lr"] == 0.5 and other.param_groups[0]["params"][0] is q
    buffer = other.state[q]["momentum_buffer"]
    assert buffer.dtype == torch.float64 and buffer.tolist() == [1.0, 1.0]
    other.step()
    assert q.tolist() == pytest.approx([1 - 0.5 * 1.9] * 2) and o.state[p]["momentum_buffer"].tolist() == [1.0, 1.0]
    refused(ValueError, "loaded state dict has a different number of parameter groups",
            lambda: o.load_state_dict({"state": {}, "param_groups": []}))
    refused(ValueError, "loaded state dict contains a parameter group that doesn't match the size of optimizer's group",
            lambda: o.load_state_dict({"state": {}, "param_groups": [{"params": [0, 1]}]}))


def test_steps_of_older_states_are_numbers():
    p = parameter()
    p.grad = torch.ones(2)
    o = optim.Adam([p])
    state = {0: {"step": 3, "exp_avg": torch.zeros(2), "exp_avg_sq": torch.zeros(2)}}
    o.load_state_dict({"state": state, "param_groups": o.state_dict()["param_groups"]})
    o.step()
    assert o.state[p]["step"].item() == 4.0


def test_add_param_group():
    p, q = parameter(), parameter()
    o = optim.SGD([p], lr=0.5)
    o.add_param_group({"params": q, "momentum": 0.9})
    assert o.param_groups[1]["lr"] == 0.5 and o.param_groups[1]["momentum"] == 0.9
    assert o.param_groups[1]["params"] == [q]
    refused(ValueError, "some parameters appear in more than one parameter group",
            lambda: o.add_param_group({"params": [p]}))


def test_state_hooks():
    o, log = optim.SGD([parameter()]), []
    o.register_state_dict_pre_hook(lambda opt: log.append("saving"))
    o.register_state_dict_post_hook(lambda opt, state: dict(state, extra=1))
    o.register_load_state_dict_pre_hook(lambda opt, state: log.append(state["extra"]))
    o.register_load_state_dict_post_hook(lambda opt: log.append("loaded"))
    o.load_state_dict(o.state_dict())
    assert log == ["saving", 1, "loaded"]
