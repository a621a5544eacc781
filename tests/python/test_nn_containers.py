"""Sequential, ModuleList, ModuleDict, ParameterList, ParameterDict. Texts are PyTorch's."""

from collections import OrderedDict

import pytest

import tenon as torch
from tenon import nn


def kinds(modules):
    return [type(m).__name__ for m in modules]


def three():
    return nn.Sequential(nn.ReLU(), nn.Tanh(), nn.Sigmoid())


def refused(error, text, call):
    with pytest.raises(error) as caught:
        call()
    assert str(caught.value.args[0]).startswith(text), caught.value


def test_sequential_runs_in_order():
    class Plus(nn.Module):
        def __init__(self, n):
            super().__init__()
            self.n = n

        def forward(self, x):
            return x * 2 + self.n

    net = nn.Sequential(Plus(1), Plus(3))
    assert net(torch.zeros(1)).item() == 5.0
    assert nn.Sequential()(3) == 3
    net[0].n = 5
    net.append(Plus(0))
    assert net(torch.zeros(1)).item() == 26.0


def test_sequential_indexing():
    s = three()
    assert kinds([s[0], s[-1], s[-3]]) == ["ReLU", "Sigmoid", "ReLU"] and len(s) == 3
    assert repr(s[1:]) == "Sequential(\n  (1): Tanh()\n  (2): Sigmoid()\n)"
    refused(IndexError, "index 3 is out of range", lambda: s[3])
    refused(TypeError, "'str' object cannot be interpreted as an integer", lambda: s["a"])
    s[1] = nn.Identity()
    assert kinds(s) == ["ReLU", "Identity", "Sigmoid"]
    del s[0]
    assert [n for n, _ in s.named_children()] == ["0", "1"] and kinds(s) == ["Identity", "Sigmoid"]
    del s[:]
    assert len(s) == 0


def test_sequential_changes():
    s = three()
    assert s.insert(1, nn.Identity()) is s and kinds(s) == ["ReLU", "Identity", "Tanh", "Sigmoid"]
    assert kinds([s.pop(1)]) == ["Identity"] and len(s) == 3
    assert s.extend([nn.Identity()]) is s and s.append(nn.ReLU()) is s
    assert kinds(s) == ["ReLU", "Tanh", "Sigmoid", "Identity", "ReLU"]
    refused(IndexError, "Index out of range: 7", lambda: s.insert(7, nn.ReLU()))
    refused(AssertionError, "module should be of type: ", lambda: s.insert(1, 3))
    refused(TypeError, "int is not a Module subclass", lambda: nn.Sequential(1))


def test_sequential_arithmetic():
    s = nn.Sequential(nn.ReLU(), nn.Tanh())
    assert kinds(s + s) == ["ReLU", "Tanh"] * 2 and len(s) == 2
    assert kinds(s * 2) == kinds(2 * s) == ["ReLU", "Tanh"] * 2
    s += nn.Sequential(nn.Identity())
    s *= 2
    assert kinds(s) == ["ReLU", "Tanh", "Identity"] * 2
    refused(ValueError, "add operator supports only objects of Sequential class, but <class 'int'> is given.", lambda: s + 3)
    refused(ValueError, "Non-positive multiplication factor -1 for ", lambda: s * -1)
    refused(TypeError, "unsupported operand type(s) for *: ", lambda: s * 1.5)


def test_sequential_of_names():
    s = nn.Sequential(OrderedDict(a=nn.ReLU(), b=nn.Tanh()))
    assert repr(s) == "Sequential(\n  (a): ReLU()\n  (b): Tanh()\n)"
    assert s.a is s[0]
    s.c = nn.Identity()
    assert kinds(s) == ["ReLU", "Tanh", "Identity"]


def test_module_list():
    m = nn.ModuleList([nn.Linear(2, 2), nn.Linear(2, 2), nn.ReLU()])
    assert repr(m) == ("ModuleList(\n  (0-1): 2 x Linear(in_features=2, out_features=2, bias=True)\n  (2): ReLU()\n)")
    assert repr(nn.ModuleList()) == "ModuleList()"
    assert [n for n, _ in m.named_parameters()] == ["0.weight", "0.bias", "1.weight", "1.bias"]
    m.insert(0, nn.Tanh())
    assert m.append(nn.ReLU()) is m and m.extend([nn.Identity()]) is m
    assert kinds(m) == ["Tanh", "Linear", "Linear", "ReLU", "ReLU", "Identity"]
    assert type(m[1:3]) is nn.ModuleList and kinds(m[1:3]) == ["Linear", "Linear"]
    assert kinds([m.pop(-1)]) == ["Identity"]
    m[0] = nn.Sigmoid()
    del m[1:3]
    assert kinds(m + [nn.Tanh()]) == ["Sigmoid", "ReLU", "ReLU", "Tanh"] and len(m) == 3
    m += [nn.Tanh()]
    assert m[3] in m and list(m)[-1] is m[-1]


def test_module_list_refuses():
    m = nn.ModuleList([nn.ReLU()])
    refused(IndexError, "index 5 is out of range", lambda: m[5])
    refused(TypeError, "int is not a Module subclass", lambda: m.append(3))
    refused(TypeError, "ModuleList.extend should be called with an iterable, but got int", lambda: m.extend(3))
    refused(NotImplementedError, 'Module [ModuleList] is missing the required "forward" function', lambda: m(1))


def test_module_dict():
    d = nn.ModuleDict({"b": nn.ReLU(), "a": nn.Tanh()})
    assert repr(d) == "ModuleDict(\n  (b): ReLU()\n  (a): Tanh()\n)"
    assert list(d) == list(d.keys()) == ["b", "a"] and kinds(d.values()) == ["ReLU", "Tanh"]
    d["c"] = nn.Identity()
    d.update([("d", nn.ReLU())])
    assert len(d) == 4 and "d" in d and d["d"] is d.d
    assert kinds([d.pop("a")]) == ["Tanh"] and "a" not in d
    del d["b"]
    assert [k for k, _ in d.items()] == ["c", "d"]
    d.clear()
    assert len(d) == 0


def test_module_dict_refuses():
    refused(KeyError, "q", lambda: nn.ModuleDict()["q"])
    refused(TypeError, "ModuleDict.update should be called with an iterable of key/value pairs, but got int",
            lambda: nn.ModuleDict(3))
    refused(TypeError, "int is not a Module subclass", lambda: nn.ModuleDict({"a": 3}))
    refused(TypeError, "module name should be a string. Got int", lambda: nn.ModuleDict({3: nn.ReLU()}))
    refused(ValueError, "ModuleDict update sequence element #0 has length 1; 2 is required", lambda: nn.ModuleDict([("a",)]))
    refused(KeyError, "attribute 'forward' already exists", lambda: nn.ModuleDict({"forward": nn.ReLU()}))


def test_parameter_list():
    p = nn.ParameterList([nn.Parameter(torch.ones(2, 2)), torch.ones(1), 3])
    assert repr(p) == ("ParameterList(\n    (0): Parameter containing: [torch.float32 of size 2x2]\n"
                       "    (1): Parameter containing: [torch.float32 of size 1]\n    (2): Object of type: int\n)")
    assert repr(nn.ParameterList([torch.ones(1, device="meta")])) == "ParameterList(  (0): Parameter containing: [torch.float32 of size 1])"
    assert repr(nn.ParameterDict()) == "ParameterDict()"
    assert [n for n, _ in p.named_parameters()] == ["0", "1"] and len(p) == 3
    assert isinstance(p[1], nn.Parameter) and p[-1] == 3
    p[0] = torch.zeros(1)
    p.append(torch.zeros(2))
    p += [5]
    assert [q.shape[0] for q in p.parameters()] == [1, 1, 2] and list(p)[-1] == 5
    assert len(p[1:3]) == 2 and type(p[1:3]) is nn.ParameterList
    refused(IndexError, "index 9 is out of range", lambda: p[9])
    refused(RuntimeError, "ParameterList should not be called.", lambda: p(1))
    refused(TypeError, "ParameterList.extend should be called with an iterable, but got int", lambda: nn.ParameterList(3))


def test_parameter_dict():
    p = nn.ParameterDict({"b": torch.ones(1), "a": nn.Parameter(torch.ones(2, 2)), "c": 3})
    assert list(p) == ["a", "b", "c"]  # a plain dictionary is sorted
    assert list(nn.ParameterDict(OrderedDict(b=1, a=2))) == ["b", "a"]
    assert repr(p) == ("ParameterDict(\n    (a): Parameter containing: [torch.FloatTensor of size 2x2]\n"
                       "    (b): Parameter containing: [torch.FloatTensor of size 1]\n    (c): Object of type: int\n)")
    assert [n for n, _ in p.named_parameters()] == ["a", "b"]
    assert p.get("z", 5) == 5 and p.setdefault("c", 9) == 3 and p.pop("c") == 3 and "c" not in p
    assert list((p | {"z": 1}).keys()) == ["a", "b", "z"] and len(p) == 2
    assert list({"z": 1} | p) == ["z", "a", "b"]
    assert p.popitem()[0] == "b" and list(reversed(p)) == ["a"]
    refused(AttributeError, "'ParameterDict' object has no attribute 'q'", lambda: p["q"])
    refused(TypeError, "Index given to ParameterDict cannot be used as a key as it is not a string (type is 'int').",
            lambda: nn.ParameterDict({3: 1}))
    refused(TypeError, "ParametersDict.update should be called with an iterable of key/value pairs, but got int",
            lambda: nn.ParameterDict(3))
