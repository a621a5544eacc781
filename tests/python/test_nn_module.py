"""tenon.nn.Module: registration, traversal, modes, conversion, printing, copies. Texts are PyTorch's."""

import copy
import gc
import pickle
import weakref

import pytest

import tenon as torch
from tenon import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 3)
        self.scale = nn.Parameter(torch.ones(1))
        self.register_buffer("mean", torch.zeros(2))
        self.note = "x"

    def forward(self, x):
        return self.fc(x) * self.scale


def refused(error, text, call):
    with pytest.raises(error) as caught:
        call()
    message = caught.value.args[0] if caught.value.args else ""
    assert str(message).startswith(text), message


def test_registration_by_assignment():
    m = Net()
    assert [n for n, _ in m.named_parameters()] == ["scale", "fc.weight", "fc.bias"]
    assert [n for n, _ in m.named_buffers()] == ["mean"]
    assert [n for n, _ in m.named_children()] == ["fc"]
    assert [n for n, _ in m.named_modules()] == ["", "fc"]
    assert list(m.state_dict()) == ["scale", "mean", "fc.weight", "fc.bias"]
    assert m.note == "x"


@pytest.mark.parametrize("name,text", [("a.b", 'parameter name can\'t contain "."'),
                                       ("", 'parameter name can\'t be empty string ""'),
                                       ("forward", "attribute 'forward' already exists")])
def test_parameter_names_that_are_refused(name, text):
    refused(KeyError, text, lambda: nn.Module().register_parameter(name, None))


def test_names_of_other_kinds_that_are_refused():
    m = nn.Module()
    refused(TypeError, "parameter name should be a string. Got int", lambda: m.register_parameter(3, None))
    refused(KeyError, 'buffer name can\'t contain "."', lambda: m.register_buffer("a.b", None))
    refused(KeyError, "attribute 'forward' already exists", lambda: m.register_buffer("forward", None))
    refused(KeyError, 'module name can\'t contain ".", got: a.b', lambda: m.add_module("a.b", None))
    refused(TypeError, "module name should be a string. Got int", lambda: m.add_module(3, None))
    refused(TypeError, "int is not a Module subclass", lambda: m.add_module("p", 3))


def test_values_that_are_refused():
    m = nn.Module()
    refused(TypeError, "cannot assign 'torch.FloatTensor' object to parameter 'p' (torch.nn.Parameter or None required)",
            lambda: m.register_parameter("p", torch.ones(2)))
    refused(TypeError, "cannot assign 'int' object to buffer 'p' (torch Tensor or None required)",
            lambda: m.register_buffer("p", 3))
    m = Net()
    refused(TypeError, "cannot assign 'int' as child module 'fc' (torch.nn.Module or None expected)",
            lambda: setattr(m, "fc", 3))
    refused(TypeError, "cannot assign 'torch.FloatTensor' as parameter 'scale' (torch.nn.Parameter or None expected)",
            lambda: setattr(m, "scale", torch.ones(1)))
    refused(TypeError, "cannot assign 'int' as buffer 'mean' (torch.nn.Buffer, torch.Tensor or None expected)",
            lambda: setattr(m, "mean", 3))


@pytest.mark.parametrize("value,text", [
    (lambda: nn.Parameter(torch.ones(1)), "cannot assign parameters before Module.__init__() call"),
    (lambda: nn.ReLU(), "cannot assign module before Module.__init__() call"),
    (lambda: nn.Buffer(torch.ones(1)), "cannot assign buffer before Module.__init__() call")])
def test_assignment_before_init(value, text):
    class Early(nn.Module):
        def __init__(self):
            self.x = value()

    refused(AttributeError, text, Early)


def test_init_takes_no_arguments():
    refused(TypeError, "Module.__init__() takes 1 positional argument but 2 were given", lambda: nn.Module(1))
    refused(TypeError, "Module.__init__() got an unexpected keyword argument 'a'", lambda: nn.Module(a=1))


def test_module_without_forward():
    refused(NotImplementedError, 'Module [Module] is missing the required "forward" function', lambda: nn.Module()(1))


def test_missing_attribute():
    refused(AttributeError, "'Net' object has no attribute 'nope'", lambda: Net().nope)
    with pytest.raises(AttributeError):
        del Net().nope


def test_attribute_follows_the_dictionaries():
    m = Net()
    p = nn.Parameter(torch.zeros(1))
    m._parameters["scale"] = p
    assert m.scale is p
    m._parameters.update(extra=p)
    assert m.extra is p
    del m._parameters["extra"]
    assert not hasattr(m, "extra")
    assert m._parameters.pop("scale") is p
    assert not hasattr(m, "scale") and m._parameters.pop("scale", 5) == 5
    fresh = nn.Linear(1, 1)
    m._modules["fc"] = fresh
    assert m.fc is fresh
    m._buffers.clear()
    assert not hasattr(m, "mean")
    m._parameters = {"scale": p}
    assert m.scale is p and m._parameters.setdefault("scale", None) is p
    m._parameters = {}
    assert not hasattr(m, "scale")


def test_one_name_is_of_one_kind():
    m = Net()
    m.scale = None
    assert m.scale is None and list(m.named_parameters(recurse=False)) == []
    del m.scale
    m.scale = nn.ReLU()
    assert [n for n, _ in m.named_children()] == ["fc", "scale"]
    m.scale = nn.Parameter(torch.ones(2))
    assert [n for n, _ in m.named_children()] == ["fc"]
    assert m.scale is m._parameters["scale"]
    m.fc = None
    assert m.fc is None and list(m.children()) == []
    del m.mean
    m.mean = 3
    assert m.mean == 3 and "mean" not in m.state_dict()
    refused(KeyError, "attribute 'mean' already exists", lambda: m.register_parameter("mean", None))


def test_class_attributes_hide_members():
    class Hidden(nn.Module):
        fc = None
        weight = None

        def __init__(self, parameter):
            super().__init__()
            self.fc = nn.ReLU()
            if parameter:
                self.weight = nn.Parameter(torch.ones(1))

    assert Hidden(False).fc is None
    refused(KeyError, "attribute 'weight' already exists", lambda: Hidden(True))


def test_wrapper_with_getattr():
    class Wrapper(nn.Module):
        def __init__(self, inner):
            super().__init__()
            self.inner = inner

        def __getattr__(self, name):
            try:
                return super().__getattr__(name)
            except AttributeError:
                return getattr(self.inner, name)

    w = Wrapper(Net())
    assert w.note == "x" and w.inner.note == "x"
    with pytest.raises(AttributeError):
        w.nope


def test_buffers():
    m = nn.Module()
    m.a = nn.Buffer(torch.ones(1))
    m.b = nn.Buffer(torch.ones(2), persistent=False)
    m.register_buffer("c", None)
    assert list(m.state_dict()) == ["a"]
    assert [n for n, _ in m.named_buffers()] == ["a", "b"]
    m.b = torch.zeros(2)
    assert list(m.state_dict()) == ["a"] and m.b.tolist() == [0.0, 0.0]
    m.c = torch.zeros(1)
    assert list(m.state_dict()) == ["a", "c"]
    assert nn.Buffer().shape == (0,)
    assert isinstance(m.a, nn.Buffer) and not isinstance(torch.ones(1), nn.Buffer)
    m.other = 5
    with pytest.raises(KeyError, match="attribute 'other' already exists"):
        m.other = nn.Buffer(torch.ones(1))


def test_register_buffer_of_a_subclass():
    class Older(nn.Module):
        def __init__(self, persistent):
            super().__init__()
            self.b = nn.Buffer(torch.ones(1), persistent=persistent)

        def register_buffer(self, name, value):
            super().register_buffer(name, value + 1)

    assert list(Older(True).state_dict()) == ["b"] and Older(True).b.item() == 2.0
    refused(RuntimeError, "Registering a non-persistent buffer on a Module subclass that implements register_buffer() without the "
            "persistent argument is not allowed.", lambda: Older(False))


def test_getters_by_dotted_name():
    m = nn.Sequential(Net())
    assert m.get_submodule("0.fc") is m[0].fc and m.get_submodule("") is m
    assert m.get_parameter("0.fc.weight") is m[0].fc.weight
    assert m.get_buffer("0.mean") is m[0].mean
    refused(AttributeError, "Net has no attribute `no`", lambda: m.get_submodule("0.no"))
    refused(AttributeError, "`note` is not an nn.Module", lambda: m.get_submodule("0.note"))
    refused(AttributeError, "`mean` is not an nn.Parameter", lambda: m.get_parameter("0.mean"))
    refused(AttributeError, "`scale` is not a buffer", lambda: m.get_buffer("0.scale"))
    m.set_submodule("0.fc", nn.ReLU())
    assert isinstance(m[0].fc, nn.ReLU)
    refused(ValueError, "Cannot set the submodule without a target name!", lambda: m.set_submodule("", nn.ReLU()))
    refused(AttributeError, "`note` is not an nn.Module", lambda: m.set_submodule("0.note", nn.ReLU()))


def test_shared_members_come_once():
    shared = nn.Linear(2, 2)
    m = nn.Sequential(shared, shared)
    assert [n for n, _ in m.named_parameters()] == ["0.weight", "0.bias"]
    assert [n for n, _ in m.named_parameters(remove_duplicate=False)] == ["0.weight", "0.bias", "1.weight", "1.bias"]
    assert [n for n, _ in m.named_modules()] == ["", "0"]
    assert [n for n, _ in m.named_parameters(prefix="net")] == ["net.0.weight", "net.0.bias"]
    assert list(m.state_dict()) == ["0.weight", "0.bias", "1.weight", "1.bias"]
    assert list(m.parameters(recurse=False)) == []
    assert len(list(m.children())) == 1


def test_modes_and_apply():
    m = nn.Sequential(nn.Dropout(), nn.Sequential(nn.ReLU()))
    assert m.training and m.eval() is m
    assert [x.training for x in m.modules()] == [False] * 4
    m[1].train()
    assert [x.training for x in m.modules()] == [False, False, True, True]
    refused(ValueError, "training mode is expected to be boolean", lambda: m.train(3))
    seen = []
    assert m.apply(lambda x: seen.append(type(x).__name__)) is m
    assert seen == ["Dropout", "ReLU", "Sequential", "Sequential"]


def test_requires_grad_and_zero_grad():
    m = Net()
    m(torch.ones(1, 2)).sum().backward()
    grad = m.fc.weight.grad
    assert grad.tolist() == [[1.0, 1.0]] * 3
    m.zero_grad(set_to_none=False)
    assert m.fc.weight.grad is grad and grad.tolist() == [[0.0, 0.0]] * 3
    m.zero_grad()
    assert all(p.grad is None for p in m.parameters())
    assert m.requires_grad_(False) is m
    assert not any(p.requires_grad for p in m.parameters())


def test_to_keeps_parameters_and_moves_gradients():
    m = Net()
    weight, buffer = m.fc.weight, m.mean
    weight.grad = torch.ones(3, 2)
    m.register_buffer("count", torch.tensor(3))
    assert m.double() is m
    assert m.fc.weight is weight and weight.dtype == torch.float64
    assert weight.grad.dtype == torch.float64 and weight.grad.tolist() == [[1.0, 1.0]] * 3
    assert m.mean is not buffer and m.mean.dtype == torch.float64
    assert m.count.dtype == torch.int64
    for call, dtype in ((m.float, torch.float32), (m.half, torch.float16), (m.bfloat16, torch.bfloat16)):
        assert call() is m and weight.dtype == dtype and weight.requires_grad and weight.is_leaf
    assert m.to("cpu", torch.float64).scale.dtype == torch.float64
    assert m.to(torch.ones(1)).scale.dtype == torch.float32
    assert m.to(dtype=torch.float64, non_blocking=True).scale.dtype == torch.float64
    assert m.to() is m and m.to(None, torch.float32).scale.dtype == torch.float32
    assert m.cpu() is m and m.to(torch.device("cpu")) is m


def test_to_refuses():
    m = nn.Linear(1, 1)
    refused(TypeError, "nn.Module.to only accepts floating point or complex dtypes, but got desired dtype=torch.int64",
            lambda: m.to(torch.int64))
    refused(TypeError, "to() received an invalid combination of arguments - got (str, str), but expected one of:",
            lambda: m.to("cpu", "cpu"))
    refused(TypeError, "to() received an invalid combination of arguments - got (foo=int, ), but expected one of:",
            lambda: m.to(foo=1))
    refused(TypeError, "to() received an invalid combination of arguments - got (Tensor, torch.dtype), but",
            lambda: m.to(torch.ones(1), torch.float64))
    refused(TypeError, "to() takes from 0 to 4 positional arguments but 5 were given",
            lambda: m.to("cpu", None, False, False, True))
    for device in ("cpu", None):
        refused(TypeError, "to() received an invalid combination of arguments - got (", lambda device=device: m.to(device, True))
    for call in (lambda: m.to("cpu", copy=True), lambda: m.to(copy=False), lambda: m.to("cpu", torch.float64, True, False)):
        refused(RuntimeError, ".to() does not accept copy argument", call)
    with pytest.raises(RuntimeError):
        m.to("nowhere")


def test_writes_by_apply_are_counted():
    m = nn.Linear(2, 2)
    m.weight.grad = torch.ones(2, 2).requires_grad_()
    made, grad = m.weight * m.weight, m.weight.grad
    of_grad, versions = grad * grad, (m.weight._version, grad._version)
    m._apply(lambda t: t.add_(1.0))
    assert (m.weight._version, grad._version) == (versions[0] + 1, versions[1] + 1) and m.weight.grad is grad
    for y in (made, of_grad):
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            y.sum().backward()


def test_moved_all_or_nothing():
    """A conversion that fails half way leaves every tensor and every dict as it was."""
    m = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    m.register_buffer("seen", torch.ones(3))
    (m(torch.ones(1, 2)).sum()).backward()
    slots = lambda: [*m.parameters(), *m.buffers(), *(p.grad for p in m.parameters())]
    before, memory = slots(), [t.data_ptr() for t in slots()]

    def fails_at(n):
        calls = iter(range(100))

        def convert(t):
            if next(calls) == n:
                raise MemoryError("no more")
            return t.double()

        return convert

    for n in range(9):
        with pytest.raises(MemoryError, match="no more"):
            m._apply(fails_at(n))
        assert all(a is b for a, b in zip(slots(), before)) and [t.data_ptr() for t in slots()] == memory
        assert {t.dtype for t in slots()} == {torch.float32}
    m._apply(fails_at(9))
    assert {t.dtype for t in slots()} == {torch.float64} and all(a is b for a, b in zip(m.parameters(), before))
    m[0].weight.grad = None
    w = m[1].weight
    made = iter([torch.ones(2, 2), torch.ones(2), torch.ones(2), "no tensor"])
    old = m[0].weight.tolist()
    with pytest.raises((AttributeError, TypeError)):
        m._apply(lambda t: next(made))
    assert m[0].weight.tolist() == old and m[1].weight is w and w.dtype == torch.float64


def test_move_of_what_is_shared():
    m = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    m[1].weight = m[0].weight
    m.register_buffer("same", m[0].weight.detach())
    m.double()
    assert m[1].weight is m[0].weight and {t.dtype for t in (*m.parameters(), m.same)} == {torch.float64}
    old = m[0].weight.tolist()
    m._apply(lambda t: t * 2)  # twice, once from each of both modules, as in PyTorch
    assert m[0].weight.tolist() == [[4 * x for x in row] for row in old]


def test_meta():
    m = nn.Linear(2, 3, device="meta", dtype=torch.float64)
    assert m.weight.device.type == "meta" and m.weight.dtype == torch.float64
    refused(NotImplementedError, "Cannot copy out of meta tensor; no data! Please use torch.nn.Module.to_empty() instead of "
            "torch.nn.Module.to() when moving module from meta to a different device.", lambda: m.to("cpu"))
    m.to_empty(device="cpu")
    assert m.weight.device.type == "cpu" and m.weight.shape == (3, 2) and m.weight.requires_grad
    m.load_state_dict({"weight": torch.ones(3, 2), "bias": torch.ones(3)})
    assert m(torch.ones(1, 2, dtype=torch.float64)).tolist() == [[3.0, 3.0, 3.0]]


def test_repr():
    class Two(nn.Module):
        def extra_repr(self):
            return "a\nb"

    assert repr(nn.Module()) == "Module()"
    assert repr(Two()) == "Two(\n  a\n  b\n)"
    assert repr(Net()) == "Net(\n  (fc): Linear(in_features=2, out_features=3, bias=True)\n)"
    m = Two()
    m.add_module("q", None)
    m.s = nn.Sequential(nn.ReLU())
    assert repr(m) == "Two(\n  a\n  b\n  (q): None\n  (s): Sequential(\n    (0): ReLU()\n  )\n)"


def test_dir():
    names = dir(Net())
    assert {"fc", "scale", "mean", "note", "forward"} <= set(names)
    assert "0" not in dir(nn.Sequential(nn.ReLU()))


def test_deepcopy_and_pickle():
    m = Net()
    for other in (copy.deepcopy(m), pickle.loads(pickle.dumps(m))):
        assert repr(other) == repr(m)
        assert other.fc.weight is not m.fc.weight and other.fc.weight.tolist() == m.fc.weight.tolist()
        assert isinstance(other.scale, nn.Parameter) and other.scale.requires_grad
        with torch.no_grad():
            other.scale.add_(1)
        assert m.scale.tolist() == [1.0] and other.scale.tolist() == [2.0]
        other.fc = nn.Linear(2, 1)
        assert m.fc.out_features == 3 and other(torch.ones(1, 2)).shape == (1, 1)
        other._parameters["scale"] = None
        assert other.scale is None and m.scale is not None
    shared = nn.ReLU()
    pair = copy.deepcopy(nn.Sequential(shared, shared))
    assert pair[0] is pair[1]


def test_a_module_is_freed_with_its_last_reference():
    gc.disable()
    try:
        m = nn.Sequential(Net(), nn.ReLU())
        gone = weakref.ref(m[0])
        m(torch.ones(1, 2))
        del m
        assert gone() is None
    finally:
        gc.enable()


def test_parameter():
    p = nn.Parameter(torch.ones(2))
    assert repr(p) == "Parameter containing:\ntensor([1., 1.], requires_grad=True)"
    assert repr(nn.Parameter(torch.ones(2), False)) == "Parameter containing:\ntensor([1., 1.])"
    assert nn.Parameter().shape == (0,) and p.is_leaf and isinstance(p, torch.Tensor)
    assert type(p + 1) is torch.Tensor
    data = torch.zeros(2)
    q = nn.Parameter(data)
    data.add_(1)
    assert q.tolist() == [1.0, 1.0]
    for other in (copy.deepcopy(p), pickle.loads(pickle.dumps(p))):
        assert isinstance(other, nn.Parameter) and other.requires_grad and other.tolist() == [1.0, 1.0]
    refused(RuntimeError, "Only Tensors of floating point and complex dtype can require gradients",
            lambda: nn.Parameter(torch.ones(2, dtype=torch.int64)))
    with pytest.raises(AttributeError):
        nn.Parameter([1, 2])
