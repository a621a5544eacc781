"""Optimisers: their updates against PyTorch's (tests/data/make_python_golden.py), closures, hooks."""

import copy
import json
import os
import pickle
import re

import pytest

os.environ.setdefault("TENON_FAKE_GPUS", "2")
import tenon as torch  # noqa: E402
from tenon import nn, optim

GOLDEN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data", "golden", "python_optim.json")
with open(GOLDEN) as f:
    RECORDS = json.load(f)["optimizers"]


def flat(x):
    return [v for row in x for v in flat(row)] if isinstance(x, list) else [x]


def close(x):
    return pytest.approx(flat(x), rel=2e-5, abs=1e-6)


@pytest.mark.parametrize("record", RECORDS, ids=lambda r: r["expression"])
def test_four_steps_and_a_fifth(record):
    a = nn.Parameter(torch.tensor([1.0, 2.0, -3.0]))
    b = nn.Parameter(torch.tensor([[0.5], [0.25]]))
    c = nn.Parameter(torch.ones(1))

    def made():
        return eval(record["expression"], {"optim": optim, "q": [{"params": [a, b]}, {"params": [c]}]})

    o = made()
    for i in range(4):
        o.zero_grad()
        ((a**2).sum() * (i + 1) + (b * 3).sum() + (b**3).sum() * (i >= 2)).backward()
        o.step()
    assert [flat(p.tolist()) for p in (a, b, c)] == [close(p) for p in record["parameters"]]
    state = o.state_dict()["state"]
    assert {str(i): sorted(s) for i, s in state.items()} == {i: sorted(s) for i, s in record["state"].items()}
    for i, s in record["state"].items():
        for name, expected in s.items():
            value = state[int(i)][name]
            assert flat(value.tolist()) == close(expected), (i, name)
            assert value.dtype == torch.float32 and value.device.type == "cpu"
    again = made()
    again.load_state_dict(o.state_dict())
    a.grad = torch.ones(3)
    again.step()
    assert flat(a.tolist()) == close(record["fifth"])
    step = state.get(0, {}).get("step")
    assert step is None or step.item() == 4.0  # what was loaded was copied


def one(value=1.0, grad=0.5):
    p = nn.Parameter(torch.tensor([value]))
    p.grad = torch.tensor([grad])
    return p


def test_sgd_by_hand():
    p = one(1.0, 0.5)
    o = optim.SGD([p], lr=0.1, momentum=0.5, weight_decay=2.0)
    o.step()  # d = 0.5 + 2 = 2.5
    assert p.item() == pytest.approx(0.75)
    o.step()  # d = 0.5 + 1.5 = 2, b = 1.25 + 2
    assert p.item() == pytest.approx(0.425)


def test_adam_by_hand():
    p = one(1.0, 0.5)
    o = optim.Adam([p], lr=0.1)
    o.step()  # m / (1 - beta1) = g, sqrt(v / (1 - beta2)) = |g|: one step of lr
    assert p.item() == pytest.approx(0.9, abs=1e-6)
    p = one(1.0, -0.5)
    optim.AdamW([p], lr=0.1, weight_decay=0.5).step()
    assert p.item() == pytest.approx(0.95 + 0.1, abs=1e-6)


def test_parameters_without_gradient_stay():
    p, q = one(), nn.Parameter(torch.ones(2))
    for made in (optim.SGD([p, q], 0.1, momentum=0.9), optim.Adam([p, q]), optim.RMSprop([p, q])):
        made.step()
        assert q.tolist() == [1.0, 1.0] and q not in made.state and p in made.state


def test_a_gradient_that_comes_later_begins_anew():
    p, q = one(), nn.Parameter(torch.ones(1))
    o = optim.Adam([p, q], lr=0.1)
    o.step()
    q.grad = torch.ones(1)
    o.step()
    assert q.item() == pytest.approx(0.9, abs=1e-6)
    assert o.state[p]["step"].item() == 2.0 and o.state[q]["step"].item() == 1.0


def test_state_is_the_truth():
    p = one(0.0, 1.0)
    o = optim.SGD([p], lr=1.0, momentum=0.5)
    o.step()
    assert o.state[p]["momentum_buffer"].item() == 1.0
    o.state[p]["momentum_buffer"] = torch.tensor([4.0])
    o.step()
    assert p.item() == -1.0 - 3.0
    o.state.clear()
    o.step()
    assert p.item() == -5.0 and o.state[p]["momentum_buffer"].item() == 1.0


def test_groups_have_their_own_options():
    p, q = one(), one()
    o = optim.SGD([{"params": [p], "lr": 1.0}, {"params": [q]}], lr=0.1)
    o.step()
    assert p.item() == 0.5 and q.item() == pytest.approx(0.95)
    o.param_groups[1]["lr"] = 2.0
    o.step()
    assert q.item() == pytest.approx(-0.05)


def test_rate_as_tensor():
    p = one()
    optim.SGD([p], lr=torch.tensor(0.5)).step()
    assert p.item() == 0.75


@pytest.mark.parametrize("device", ["cpu", "cuda"])
@pytest.mark.parametrize("amsgrad", [False, True])
def test_options_as_tensors_on_the_cpu(device, amsgrad):
    """As PyTorch's test_optim has them: of one element and any shape, on the CPU for parameters that are not."""
    made, values = [], []
    for lr, betas in ((0.1, (0.5, 0.75)), (torch.tensor(0.1), (torch.tensor([[[0.5]]]), torch.tensor([[0.75]])))):
        for kind in (optim.Adam, optim.AdamW):
            p = nn.Parameter(torch.tensor([1.0, -2.0], device=device))
            made.append(kind([p], lr=lr, betas=betas, weight_decay=0.1, amsgrad=amsgrad))
            for grad in ([0.5, 1.0], [-0.25, 4.0], [0.0, 0.5]):
                p.grad = torch.tensor(grad, device=device)
                made[-1].step()
            values.append(p.tolist())
    assert [b.shape for b in made[-1].param_groups[0]["betas"]] == [(), ()]
    assert values[2] == pytest.approx(values[0]) and values[3] == pytest.approx(values[1])
    # PyTorch 2.15
    adam, adamw = ([0.8565475, -2.2494855], [0.8722890, -2.1929960]) if amsgrad else ([0.8486738, -2.2575562], [0.8722890, -2.2013676])
    assert values[:2] == [pytest.approx(adam), pytest.approx(adamw)]


@pytest.mark.parametrize("options, message", [
    ({"betas": (0.5, torch.tensor(0.5))}, "betas must be either both floats or both Tensors"),
    ({"betas": (torch.ones(2) / 2, torch.tensor(0.5))}, None),
    ({"betas": (torch.tensor(0.5), torch.tensor(0.5)), "foreach": True},
     "betas[0] as a Tensor is not supported for capturable=False and foreach=True"),
    ({"lr": torch.tensor(0.5), "foreach": True}, "lr as a Tensor is not supported for capturable=False and foreach=True"),
    ({"lr": torch.ones(2)}, "Tensor lr must be 1-element"),
])
def test_options_that_are_refused(options, message):
    with pytest.raises(RuntimeError if message is None else ValueError) as raised:
        optim.Adam([one()], **options)
    assert message is None or str(raised.value) == message


def test_closure():
    p = one(2.0)
    o = optim.SGD([p], lr=0.25)

    def closure():
        o.zero_grad()
        loss = (p * p).sum()
        loss.backward()
        return loss

    with torch.no_grad():
        assert o.step(closure).item() == 4.0
    assert p.item() == 1.0 and o.step(lambda: 5) == 5
    with pytest.raises(TypeError, match="'int' object is not callable"):
        o.step(3)


def test_zero_grad():
    p = one()
    o = optim.SGD([p])
    grad = p.grad
    o.zero_grad(set_to_none=False)
    assert p.grad is grad and grad.item() == 0.0
    o.zero_grad()
    assert p.grad is None
    o.zero_grad(set_to_none=False)
    assert p.grad is None


def test_step_leaves_no_graph():
    p = one()
    for o in (optim.SGD([p], momentum=0.9), optim.Adam([p]), optim.Adam([p], amsgrad=True), optim.RMSprop([p]),
              optim.Adagrad([p])):
        o.step()
        assert p.is_leaf and p.grad_fn is None and p.requires_grad
        for value in o.state[p].values():
            assert not value.requires_grad


def test_step_hooks():
    p, log = one(), []
    o = optim.SGD([p], lr=1.0)
    o.register_step_pre_hook(lambda opt, args, kwargs: log.append((opt is o, args[0] is o, len(args), kwargs)))
    handle = o.register_step_post_hook(lambda opt, args, kwargs: log.append(p.item()))
    o.step()
    assert log == [(True, True, 1, {}), 0.5]
    handle.remove()
    assert o.step(closure=lambda: 4) == 4 and len(log) == 3
    for other in (copy.deepcopy(o), pickle.loads(pickle.dumps(o))):
        other.step()
        assert len(log) == 3 and repr(other) == repr(o)


def test_own_optimizer():
    class Sign(optim.Optimizer):
        def __init__(self, params, lr):
            super().__init__(params, {"lr": lr})

        def step(self, closure=None):
            with torch.no_grad():
                for group in self.param_groups:
                    for p in group["params"]:
                        p -= group["lr"] * p.grad.sign()

    p = one(1.0, -7.0)
    Sign([p], 0.25).step()
    assert p.item() == 1.25
    with pytest.raises(NotImplementedError):
        optim.Optimizer([p], {}).step()


def test_training_converges():
    torch.manual_seed(0)
    x = torch.randn(256, 2)
    y = x @ torch.tensor([[2.0], [-3.4]]) + 4.2
    for make, rounds in ((lambda p: optim.SGD(p, lr=0.1), 100), (lambda p: optim.Adam(p, lr=0.1), 300)):
        net = nn.Linear(2, 1)
        o = make(net.parameters())
        for _ in range(rounds):
            o.zero_grad()
            nn.functional.mse_loss(net(x), y).backward()
            o.step()
        assert net.weight.tolist() == [pytest.approx([2.0, -3.4], abs=1e-3)]
        assert net.bias.item() == pytest.approx(4.2, abs=1e-3)


def test_more_than_256_parameters_with_momentum():
    params = [torch.nn.Parameter(torch.ones(2)) for _ in range(300)]
    opt = torch.optim.SGD(params, lr=0.5, momentum=0.9)
    for _ in range(2):
        opt.zero_grad()
        sum(p.sum() for p in params).backward()
        opt.step()
    # first step: 1 - 0.5 * 1; second: buffer 0.9 + 1, so 0.5 - 0.5 * 1.9
    assert all(p.tolist() == pytest.approx([-0.45, -0.45]) for p in params)


# the gradients of sum(q) to the parameter and to the factor of its gradients, behind two recorded steps
DIFFERENTIABLE = [
    ("SGD", {}, [0.7, 0.95], [-0.14, -0.29]),
    ("SGD", dict(momentum=0.9, weight_decay=0.1, nesterov=True), [0.40689, 0.87714], [-0.11919, -0.44333]),
    ("SGD", dict(momentum=0.9, maximize=True), [1.3, 1.05], [0.13, 0.205]),
    ("Adam", dict(weight_decay=0.1), [0.99438751, 1.00310859], [-0.0, 0.00193017]),
]


@pytest.mark.parametrize("name, options, to_p, to_g", DIFFERENTIABLE)
def test_differentiable_steps_are_recorded(name, options, to_p, to_g):
    p = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    g = torch.tensor([3.0, 0.5], dtype=torch.float64, requires_grad=True)
    q = p.clone()
    q.grad = g
    o = getattr(optim, name)([q], lr=0.1, differentiable=True, **options)
    o.step()
    q.grad = g * q.clone()
    o.step()
    got = torch.autograd.grad(q.sum(), [p, g])
    assert [t.tolist() for t in got] == [pytest.approx(to_p, abs=1e-7), pytest.approx(to_g, abs=1e-7)]


def test_a_differentiable_amsgrad_step():
    p = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    state = {"step": torch.tensor(10.0)}
    for name, start in ("exp_avg", 0.3), ("exp_avg_sq", 0.4), ("max_exp_avg_sq", 0.39):
        state[name] = torch.full((2,), start, dtype=torch.float64, requires_grad=True)

    def step(p, grad, *values):
        q = p.clone()
        q.grad = grad
        o = optim.Adam([q], lr=0.9, differentiable=True, amsgrad=True, weight_decay=0.1)
        o.state[q] = {"step": state["step"].clone(), **dict(zip(("exp_avg", "exp_avg_sq", "max_exp_avg_sq"), (v.clone() for v in values)))}
        o.step()
        return q

    grad = torch.tensor([3.0, 0.5], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(step, (p, grad, *list(state.values())[1:]))


@pytest.mark.parametrize("name", ["Adam", "RMSprop", "Adagrad"])
@pytest.mark.parametrize("default", [torch.float64, torch.float16])
def test_steps_are_counted_in_float32_at_least(name, default):
    p = nn.Parameter(torch.ones(2, dtype=torch.float32))
    p.grad = torch.ones(2, dtype=torch.float32)
    torch.set_default_dtype(default)
    try:
        o = getattr(optim, name)([p])
        o.step()
        o.step()
    finally:
        torch.set_default_dtype(torch.float32)
    step = o.state[p]["step"]
    assert step.item() == 2 and step.dtype is (torch.float64 if default is torch.float64 else torch.float32)
    loaded = getattr(optim, name)([p])
    state = o.state_dict()
    state["state"][0]["step"] = 2  # as programs that count themselves keep it
    loaded.load_state_dict(state)
    loaded.step()
    assert loaded.state[p]["step"].item() == 3


def test_a_step_is_counted_in_place():
    for start in (torch.zeros(()), torch.tensor([4]), torch.tensor(2.0, dtype=torch.float64)):
        want, version = start.item() + 1, start._version
        assert torch._C._count_step(start) == want == start.item() and start._version == version + 1
    for wrong in (torch.zeros(2), 3, None):
        with pytest.raises(TypeError, match="a tensor of one element"):
            torch._C._count_step(wrong)


@pytest.mark.parametrize("options, x, evaluations, steps, losses", [  # Rosenbrock's function; numbers of PyTorch 2.15
    ({}, [0.99980332591276, 0.9996078455480785], 60, 60, [24.2, 1.9456874727314497, 0.5793136907775303]),
    ({"lr": 0.1, "history_size": 3}, [-0.0008574993576591915, -0.04651928288028018], 60, 60,
     [24.2, 4.265216967112937, 2.3444674294511016]),
    ({"line_search_fn": "strong_wolfe"}, [0.9999814210791366, 0.9999619651810989], 45, 36,
     [24.2, 0.4234823024380289, 4.221457511263308e-10]),
    ({"line_search_fn": "strong_wolfe", "max_iter": 4, "history_size": 2, "maximize": True},
     [-0.5125309076136719, 0.21876859574661656], 15, 10, [-24.2, -4.121126775765638, -3.7930742512723468]),
])
def test_lbfgs(options, x, evaluations, steps, losses):
    p, asked = nn.Parameter(torch.tensor([-1.2, 1.0], dtype=torch.float64)), []
    o = optim.LBFGS([p], **options)

    def closure():
        o.zero_grad()
        loss = 100 * (p[1] - p[0] ** 2) ** 2 + (1 - p[0]) ** 2
        loss = -loss if options.get("maximize") else loss
        loss.backward()
        asked.append(loss.item())
        return loss

    assert [o.step(closure).item() for _ in range(3)] == pytest.approx(losses, rel=1e-4, abs=1e-9)
    assert p.tolist() == pytest.approx(x, rel=1e-5) and len(asked) == evaluations
    assert (o.state[p]["func_evals"], o.state[p]["n_iter"]) == (evaluations, steps)


def test_refusals_of_the_further_optimisers():
    p = one()
    for wrong, text in (("Rprop([p], etas=(1.5, 2.0))", "Invalid eta values: 1.5, 2.0"), ("ASGD([p], lr=-1)", "Invalid learning rate: -1"),
                        ("Adadelta([p], rho=2)", "Invalid rho value: 2"), ("Adamax([p], betas=(2, 0.1))", "Invalid beta parameter at index 0: 2"),
                        ("NAdam([p], momentum_decay=-1)", "Invalid momentum_decay value: -1"), ("RAdam([p], eps=-1)", "Invalid epsilon value: -1"),
                        ("LBFGS([{'params': [p]}, {'params': [one()]}])", "LBFGS doesn't support per-parameter options (parameter groups)")):
        with pytest.raises(ValueError, match=re.escape(text)):
            eval(f"optim.{wrong}", {"optim": optim, "p": p, "one": one})
    with pytest.raises(RuntimeError, match="only 'strong_wolfe' is supported"):
        optim.LBFGS([p], line_search_fn="armijo").step(lambda: p.sum())
    assert p.item() == 1.0


def test_sparse_adam_of_dense_gradients():
    p, q = one(1.0, 0.5), one(1.0, 0.5)
    for o in (optim.SparseAdam([p], lr=0.1, eps=1e-12), optim.Adam([q], lr=0.1, eps=1e-12)):
        for _ in range(3):
            o.step()
    assert p.item() == pytest.approx(q.item(), rel=1e-6)


@pytest.mark.parametrize("expression", ["Adadelta(q, lr, rho=0.5, differentiable=True)", "Adamax(q, lr, differentiable=True)",
                                        "NAdam(q, lr, differentiable=True)", "RAdam(q, lr, differentiable=True)",
                                        "ASGD(q, lr, differentiable=True)", "Rprop(q, lr, differentiable=True)"])
def test_steps_that_are_recorded(expression):
    """Gradients flow through two steps to what the parameter was computed from; the result is that of the plain step."""
    def after(x, differentiable):
        q = (x * 1).requires_grad_() if differentiable else nn.Parameter(x.detach().clone())
        o = eval("optim." + expression.replace("differentiable=True", f"differentiable={differentiable}"),
                 {"optim": optim, "q": [q], "lr": 0.1})
        for grad in ([0.5, -1.0], [0.25, 2.0]):
            q.grad = torch.tensor(grad, dtype=torch.float64)
            o.step()
        return q

    x = torch.tensor([1.0, -2.0], dtype=torch.float64, requires_grad=True)
    with torch.no_grad():
        plain = after(x, False).tolist()
    recorded = after(x, True)
    assert recorded.tolist() == pytest.approx(plain, rel=1e-12)
    recorded.sum().backward()
    assert x.grad is not None and torch.isfinite(x.grad).all()
