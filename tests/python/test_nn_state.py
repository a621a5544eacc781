"""state_dict and load_state_dict. Texts are PyTorch's."""

from collections import OrderedDict

import pytest

import tenon as torch
from tenon import nn


def net():
    m = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 1, bias=False))
    m.register_buffer("count", torch.tensor(2))
    return m


def refused(text, call, error=RuntimeError):
    with pytest.raises(error) as caught:
        call()
    assert str(caught.value) == text


def test_state_dict():
    m = net()
    state = m.state_dict()
    assert type(state) is OrderedDict
    assert list(state) == ["count", "0.weight", "0.bias", "1.weight"]
    assert state._metadata == OrderedDict([("", {"version": 1}), ("0", {"version": 1}), ("1", {"version": 1})])
    assert not state["0.weight"].requires_grad and not isinstance(state["0.weight"], nn.Parameter)
    with torch.no_grad():
        state["0.bias"].fill_(7)
    assert m[0].bias.tolist() == [7.0, 7.0, 7.0]
    assert m.state_dict(keep_vars=True)["0.weight"] is m[0].weight
    mine = {}
    m[0].state_dict(destination=mine, prefix="x.")
    assert list(mine) == ["x.weight", "x.bias"]
    with pytest.warns(FutureWarning, match="Positional args are being deprecated, use kwargs instead."):
        assert list(m[1].state_dict(None, "p.")) == ["p.weight"]


def test_load_copies():
    a, b = net(), net()
    weight = b[0].weight
    result = b.load_state_dict(a.state_dict())
    assert repr(result) == "<All keys matched successfully>" == str(result)
    assert b[0].weight is weight and weight.tolist() == a[0].weight.tolist() and weight.requires_grad
    with torch.no_grad():
        a[0].weight.fill_(5)
    assert weight.tolist() != a[0].weight.tolist()
    b.load_state_dict({k: v.double() if v.is_floating_point() else v for k, v in a.state_dict().items()})
    assert weight.dtype == torch.float32 and weight.tolist() == [[5.0, 5.0]] * 3


def test_load_assigns():
    m = nn.Linear(2, 3)
    given = torch.ones(3, 2, dtype=torch.float64)
    m.bias.requires_grad_(False)
    m.load_state_dict({"weight": given, "bias": nn.Parameter(torch.zeros(3))}, assign=True)
    assert isinstance(m.weight, nn.Parameter) and m.weight.requires_grad and m.weight.dtype == torch.float64
    assert not m.bias.requires_grad
    given.fill_(3)
    assert m.weight.tolist() == [[3.0, 3.0]] * 3


def test_names_that_do_not_match():
    m = net()
    refused("Error(s) in loading state_dict for Sequential:\n"
            '\tMissing key(s) in state_dict: "count", "0.weight", "0.bias", "1.weight". ', lambda: m.load_state_dict({}))
    result = m.load_state_dict({"0.bias": torch.zeros(3), "z": torch.ones(1)}, strict=False)
    assert result.missing_keys == ["count", "0.weight", "1.weight"] and result.unexpected_keys == ["z"]
    assert repr(result) == "_IncompatibleKeys(missing_keys=['count', '0.weight', '1.weight'], unexpected_keys=['z'])"
    assert m[0].bias.tolist() == [0.0, 0.0, 0.0]


def test_every_problem_is_listed():
    m = net()
    state = m.state_dict()
    del state["1.weight"]
    state["0.weight"] = torch.ones(6)
    state["0.bias"] = 3
    state["0.weight.x"] = torch.ones(1)
    state["y"] = torch.ones(1)
    refused("Error(s) in loading state_dict for Sequential:\n"
            '\tMissing key(s) in state_dict: "1.weight". \n'
            '\tUnexpected key(s) in state_dict: "y", "0.weight.x". \n'
            "\tsize mismatch for 0.weight: copying a param with shape torch.Size([6]) from checkpoint, the shape in current "
            "model is torch.Size([3, 2]).\n"
            '\tWhile copying the parameter named "0.bias", expected torch.Tensor or Tensor-like object from checkpoint but '
            "received <class 'int'>", lambda: m.load_state_dict(state))


def test_not_a_dictionary():
    refused("Expected state_dict to be dict-like, got <class 'list'>.", lambda: net().load_state_dict([]), TypeError)


def test_a_dimension_of_one_fits_a_number():
    m = net()
    m.load_state_dict({"count": torch.tensor([9])}, strict=False)
    assert m.count.item() == 9 and m.count.shape == ()


def test_load_from_meta_warns():
    m = nn.Linear(1, 1, device="meta")
    with pytest.warns(UserWarning, match="for weight: copying from a non-meta parameter in the checkpoint to a meta"):
        m.load_state_dict({"weight": torch.ones(1, 1), "bias": torch.ones(1)})
    m.load_state_dict({"weight": torch.ones(1, 1), "bias": torch.ones(1)}, assign=True)
    assert m(torch.ones(1, 1)).tolist() == [[2.0]]


class Extra(nn.Module):
    def __init__(self):
        super().__init__()
        self.extra = 1

    def get_extra_state(self):
        return {"a": self.extra}

    def set_extra_state(self, state):
        self.extra = state["a"]


def test_extra_state():
    m = Extra()
    m.extra = 5
    other = Extra()
    other.load_state_dict(m.state_dict())
    assert m.state_dict() == {"_extra_state": {"a": 5}} and other.extra == 5
    refused('Error(s) in loading state_dict for Extra:\n\tMissing key(s) in state_dict: "_extra_state". ',
            lambda: m.load_state_dict({}))
    refused('Error(s) in loading state_dict for ReLU:\n\tUnexpected key(s) in state_dict: "_extra_state". ',
            lambda: nn.ReLU().load_state_dict(m.state_dict()))


def test_hooks():
    m, log = nn.Linear(1, 1), []
    m.register_state_dict_pre_hook(lambda *a: log.append(("pre", a[0] is m) + a[1:]))
    post = m.register_state_dict_post_hook(lambda *a: log.append(("post", list(a[1])) + a[2:]))
    m.register_load_state_dict_pre_hook(lambda *a: log.append(("load", len(a), a[0] is m)))
    m._register_load_state_dict_pre_hook(lambda *a: log.append(("old", len(a))))
    m.register_load_state_dict_post_hook(lambda module, keys: keys.missing_keys.clear())
    m.state_dict(prefix="q.")
    assert log == [("pre", True, "q.", False), ("post", ["q.weight", "q.bias"], "q.", {"version": 1})]
    log.clear()
    assert m.load_state_dict({}).missing_keys == []
    assert log == [("load", 8, True), ("old", 7)]
    post.remove()
    m.register_state_dict_post_hook(lambda *a: 3)
    refused("state_dict post-hook must return None", m.state_dict)
    m.register_load_state_dict_post_hook(lambda *a: 3)
    refused("Hooks registered with ``register_load_state_dict_post_hook`` are not expected to return new values, if "
            "incompatible_keys need to be modified, it should be done inplace.", lambda: m.load_state_dict({}),
            AssertionError)
