"""Random numbers: generators, factories, distributions. Seeds are fixed, so no test can fail by chance.

Texts of errors are PyTorch 2.14's. Means and spreads are compared with the distributions' own, within five standard errors.
"""

import copy
import math
import pickle
import re

import pytest

import tenon as torch
from on_gpus import on_gpus

N = 20000


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(1)


def error(kind, text):
    return pytest.raises(kind, match="^" + re.escape(text))


def near(t, mean, std):
    """Is the mean of t's elements near that of a distribution of that standard deviation?"""
    t = t.to(torch.float64)
    return abs(t.mean().item() - mean) < 5 * std / math.sqrt(t.numel())


# ---- Generator ----


def test_seeds():
    assert torch.manual_seed(7) is torch.default_generator
    assert torch.initial_seed() == 7 == torch.default_generator.initial_seed()
    a = torch.rand(5)
    torch.manual_seed(7)
    assert torch.equal(a, torch.rand(5)) and not torch.equal(a, torch.rand(5))
    torch.manual_seed(-1)
    assert torch.initial_seed() == 2**64 - 1
    assert torch.manual_seed(1.7).initial_seed() == 1
    assert torch.seed() == torch.initial_seed()
    with error(ValueError, "Overflow when unpacking long long"):
        torch.manual_seed(2**64)
    with error(ValueError, "Overflow when unpacking long long"):
        torch.manual_seed(-(2**63) - 1)
    with error(ValueError, "invalid literal for int() with base 10: 'a'"):
        torch.manual_seed("a")
    with pytest.raises(TypeError):
        torch.manual_seed(None)


def test_generator_is_apart():
    g = torch.Generator()
    assert g.initial_seed() == 67280421310721 and g.device == torch.device("cpu") and g != torch.Generator()
    assert g.manual_seed(3) is g and g.initial_seed() == 3
    torch.manual_seed(3)
    expected, more = torch.rand(5), torch.rand(5)
    torch.manual_seed(4)
    outside = torch.rand(5)
    torch.manual_seed(4)
    assert torch.equal(torch.rand(5, generator=g), expected)
    assert torch.equal(torch.rand(5), outside)
    assert torch.equal(torch.rand(5, generator=g), more)
    assert torch.rand(2, generator=None).shape == (2,)
    before = torch.get_rng_state()
    torch.rand(2, generator=torch.default_generator)
    assert not torch.equal(before, torch.get_rng_state())
    assert isinstance(g.seed(), int) and g.initial_seed() != 3


def test_generator_state():
    g = torch.Generator().manual_seed(9)
    torch.rand(3, generator=g)
    state = g.get_state()
    assert state.dtype == torch.uint8 and state.dim() == 1
    copies = [torch.Generator().set_state(state), g.clone_state(), pickle.loads(pickle.dumps(g)), copy.deepcopy(g)]
    a = torch.rand(3, generator=g)
    for other in copies:
        assert torch.equal(torch.rand(3, generator=other), a) and other.initial_seed() == 9
    g.set_state(state)
    assert torch.equal(torch.rand(3, generator=g), a)
    state = torch.get_rng_state()
    a = torch.rand(3)
    torch.set_rng_state(state)
    assert torch.equal(a, torch.rand(3))
    for set_state in (g.set_state, torch.set_rng_state):
        with error(TypeError, "expected a torch.ByteTensor, but got int"):
            set_state(3)
        with error(TypeError, "RNG state must be a torch.ByteTensor"):
            set_state(torch.zeros(3))
        with error(RuntimeError, "RNG state is wrong size"):
            set_state(torch.zeros(3, dtype=torch.uint8))


def test_generator_errors():
    with error(RuntimeError, "manual_seed expected a long, but got str"):
        torch.Generator().manual_seed("a")
    with error(RuntimeError, "manual_seed expected a long, but got float"):
        torch.Generator().manual_seed(1.5)
    with error(ValueError, "Overflow when unpacking long long"):
        torch.Generator().manual_seed(2**64)
    with pytest.raises(RuntimeError):
        torch.Generator("meta")
    with pytest.raises(RuntimeError):
        torch.Generator("gpu")
    for use in (torch.rand, torch.randn, torch.randperm):
        with error(TypeError, f"{use.__name__}(): argument 'generator' must be torch.Generator, not int"):
            use(3, generator=3)


def test_a_failed_call_gives_the_generator_back():
    g, before = torch.Generator(), torch.get_rng_state()
    with pytest.raises(RuntimeError):
        torch.randint(5, 5, (2,), generator=g)
    assert torch.equal(before, torch.get_rng_state())


def test_generators_in_threads():
    import threading

    expected = [torch.rand(50000, generator=torch.Generator().manual_seed(i)) for i in range(4)]
    wrong = []

    def work(i):
        for _ in range(20):
            if not torch.equal(torch.rand(50000, generator=torch.Generator().manual_seed(i)), expected[i]):
                wrong.append(i)
            torch.randn(100)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_child_of_fork_draws():
    import os

    g = torch.Generator().manual_seed(3)
    child = os.fork()
    if not child:
        os._exit(0 if torch.rand(3, generator=g).shape == (3,) else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_fork_rng():
    before = torch.get_rng_state()
    with torch.random.fork_rng():
        torch.manual_seed(1234)
    assert torch.equal(before, torch.get_rng_state())
    with torch.random.fork_rng(enabled=False):
        torch.rand(1)
    assert not torch.equal(before, torch.get_rng_state())


# ---- factories ----


def test_rand():
    x = torch.rand(N)
    assert x.dtype == torch.float32 and 0 <= x.min().item() and x.max().item() < 1
    assert near(x, 0.5, math.sqrt(1 / 12)) and near((x - 0.5) ** 2, 1 / 12, 0.08)
    assert torch.rand(2, 3).shape == torch.rand((2, 3)).shape == torch.rand(size=(2, 3)).shape == (2, 3)
    assert torch.rand(()).shape == () and torch.rand(0, 2).shape == (0, 2)
    assert torch.rand(2, dtype=torch.float64).dtype == torch.float64
    assert torch.rand(2, requires_grad=True).requires_grad and torch.rand(2, device="meta").device.type == "meta"
    out = torch.zeros(3)
    assert torch.rand(2, 2, out=out) is out and out.shape == (2, 2)
    assert torch.rand(2, out=torch.zeros(2, dtype=torch.float64)).dtype == torch.float64
    with error(RuntimeError, "dtype Float does not match dtype of out parameter (Double)"):
        torch.rand(2, out=torch.zeros(2, dtype=torch.float64), dtype=torch.float32)
    with error(TypeError, "rand(): argument 'size' (position 1) must be tuple of ints, not float"):
        torch.rand(2.5)
    with error(TypeError, "rand(): argument 'size' (position 1) must be tuple of ints, not str"):
        torch.rand("a")
    with error(RuntimeError, "Trying to create tensor with negative dimension -1: [-1]"):
        torch.rand(-1)
    with pytest.raises(RuntimeError, match="not implemented for 'Long'"):
        torch.rand(2, dtype=torch.int64)


def test_randn():
    x = torch.randn(N)
    assert near(x, 0, 1) and near(x**2, 1, math.sqrt(2)) and near(x**4, 3, math.sqrt(96))
    assert torch.randn(2, 3, dtype=torch.float16).dtype == torch.float16
    with pytest.raises(RuntimeError, match="not implemented for 'Long'"):
        torch.randn(2, dtype=torch.int64)


def test_like():
    x = torch.zeros(2, 3, dtype=torch.float64)
    for like in (torch.rand_like, torch.randn_like):
        assert like(x).dtype == torch.float64 and like(x).shape == (2, 3)
        assert like(x, dtype=torch.float32).dtype == torch.float32 and like(x, requires_grad=True).requires_grad
        with error(TypeError, f"{like.__name__}(): argument 'input' (position 1) must be Tensor, not int"):
            like(3)
    assert torch.equal(
        torch.rand_like(x, generator=torch.Generator().manual_seed(1)),
        torch.rand(2, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(1)),
    )
    y = torch.randint_like(torch.zeros(N), 3, 6)
    assert y.dtype == torch.float32 and sorted(set(y.tolist())) == [3, 4, 5]
    assert torch.randint_like(x, 2).max().item() <= 1 and torch.randint_like(x, 2, dtype=torch.int8).dtype == torch.int8


def test_randint():
    x = torch.randint(10, (N,))
    assert x.dtype == torch.int64 and sorted(set(x.tolist())) == list(range(10)) and near(x, 4.5, math.sqrt(99 / 12))
    assert sorted(set(torch.randint(-2, 1, (N,)).tolist())) == [-2, -1, 0]
    assert torch.randint(low=3, high=4, size=[2, 2]).tolist() == [[3, 3], [3, 3]]
    assert torch.randint(0, 256, (N,), dtype=torch.uint8).max().item() == 255
    assert torch.randint(0, 2, (3,), dtype=torch.bool).dtype == torch.bool
    assert torch.randint(10, (3,), dtype=torch.float32).dtype == torch.float32
    for low, high in ((5, 5), (0, 0), (5, 2)):
        with error(RuntimeError, f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}"):
            torch.randint(low, high, (2,))
    with error(RuntimeError, "to - 1 is out of bounds for unsigned char"):
        torch.randint(0, 300, (2,), dtype=torch.uint8)
    with error(RuntimeError, "from is out of bounds for unsigned char"):
        torch.randint(-5, 2, (3,), dtype=torch.uint8)
    with error(RuntimeError, "from is out of bounds for bool"):
        torch.randint(-3, 2, (3,), dtype=torch.bool)
    for arguments in ((5, 2), (1.5, (2,)), (0, 5, 3), ("a", (2,))):
        with pytest.raises(TypeError):
            torch.randint(*arguments)


def test_randperm():
    x = torch.randperm(100)
    assert x.dtype == torch.int64 and sorted(x.tolist()) == list(range(100)) and x.tolist() != list(range(100))
    assert torch.randperm(0).shape == (0,) and torch.randperm(3, dtype=torch.float32).dtype == torch.float32
    assert sorted(torch.randperm(256, dtype=torch.uint8).tolist()) == list(range(256))
    orders = {tuple(torch.randperm(3).tolist()) for _ in range(200)}
    assert len(orders) == 6
    for n, dtype in ((-1, None), (257, torch.uint8), (2**24 + 2, torch.float32)):
        with pytest.raises(RuntimeError):
            torch.randperm(n, dtype=dtype)


def test_normal():
    x = torch.normal(3.0, 2.0, (N,))
    assert near(x, 3, 2) and near((x - 3) ** 2, 4, 4 * math.sqrt(2)) and torch.normal(0, 1, (2,)).dtype == torch.float32
    mean, std = torch.tensor([[0.0], [100.0]]).expand(2, N), torch.tensor([[1.0], [10.0]])
    y = torch.normal(mean, std)
    assert y.shape == (2, N) and near(y[0], 0, 1) and near(y[1], 100, 10) and near((y[1] - 100) ** 2, 100, 142)
    assert near(torch.normal(mean)[1], 100, 1) and near(torch.normal(5.0, torch.full((N,), 0.5)), 5, 0.5)
    assert near(torch.normal(mean[0], 3.0), 0, 3)
    for draw in (torch.normal, lambda p: torch.bernoulli(p), lambda p: torch.normal(0.0, p), lambda p: torch.normal(torch.zeros(3, 1), p)):
        x = torch.zeros(2, requires_grad=True)  # what is drawn has a history, by which nothing but 0 comes back
        draw(x).sum().backward()
        assert x.grad.tolist() == [0.0, 0.0]
    with error(RuntimeError, "normal expects std >= 0.0, but found std -1"):
        torch.normal(0.0, -1.0, (2,))
    with error(RuntimeError, "normal expects all elements of std >= 0.0"):
        torch.normal(torch.zeros(3), -torch.ones(3))
    with error(RuntimeError, "The size of tensor a (3) must match the size of tensor b (4) at non-singleton dimension 0"):
        torch.normal(torch.zeros(3), torch.ones(4))
    with pytest.raises(NotImplementedError, match="not implemented for 'Long'"):
        torch.normal(torch.zeros(3, dtype=torch.int64))
    for arguments in ((1.0,), (0, 1, 2)):
        with pytest.raises(TypeError):
            torch.normal(*arguments)


# ---- in place ----


def test_uniform_and_normal_in_place():
    x = torch.zeros(N)
    assert x.uniform_(-2, 4) is x and x.min().item() >= -2 and x.max().item() < 4 and near(x, 1, math.sqrt(3))
    assert x.normal_(mean=2, std=0.5) is x and near(x, 2, 0.5)
    g = torch.Generator().manual_seed(2)
    a = torch.zeros(3).uniform_(generator=g)
    assert torch.equal(a, torch.zeros(3).uniform_(0, 1, generator=g.manual_seed(2)))
    with error(RuntimeError, "uniform_ expects to return a [from, to) range, but found from=1 > to=0"):
        x.uniform_(1, 0)
    with error(RuntimeError, "normal expects std >= 0.0, but found std -1"):
        x.normal_(0, -1)
    with pytest.raises(RuntimeError, match="leaf"):
        torch.zeros(2, requires_grad=True).uniform_()


def test_random_in_place():
    x = torch.zeros(N, dtype=torch.int64)
    assert x.random_(3) is x and sorted(set(x.tolist())) == [0, 1, 2]
    assert sorted(set(x.random_(-1, 1).tolist())) == [-1, 0]
    assert x.random_().min().item() >= 0 and x.max().item() > 2**62
    assert torch.zeros(N, dtype=torch.uint8).random_().max().item() == 255
    assert sorted(set(torch.zeros(99, dtype=torch.bool).random_().tolist())) == [False, True]
    f = torch.zeros(N).random_()
    assert f.max().item() <= 2**24 and f.max().item() > 2**23 and torch.equal(f, f.trunc())
    assert isinstance(torch.empty((), dtype=torch.int64).random_(generator=torch.Generator()).item(), int)
    assert torch.zeros(9, dtype=torch.int8).random_(120, None).min().item() >= 120
    with error(RuntimeError, "random_ expects 'from' to be less than 'to', but got from=0 >= to=0"):
        x.random_(0)
    with error(RuntimeError, "to - 1 is out of bounds for unsigned char"):
        torch.zeros(2, dtype=torch.uint8).random_(0, 300)
    for wrong in ("a", 2.5):
        with pytest.raises(TypeError):
            x.random_(wrong)


def test_bernoulli():
    assert torch.bernoulli(torch.tensor([0.0, 1.0])).tolist() == [0, 1]
    p = torch.full((N,), 0.3)
    assert near(torch.bernoulli(p), 0.3, math.sqrt(0.21)) and near(p.bernoulli(), 0.3, math.sqrt(0.21))
    assert torch.bernoulli(p.double()).dtype == torch.float64 and near(torch.bernoulli(p, 0.9), 0.9, 0.3)
    x = torch.zeros(N, dtype=torch.int64)
    assert x.bernoulli_(0.25) is x and near(x, 0.25, 0.44) and near(x.bernoulli_(), 0.5, 0.5)
    assert torch.zeros(3).bernoulli_(torch.tensor([0.0, 1.0, 1.0])).tolist() == [0, 1, 1]
    out = torch.zeros(2)
    assert torch.bernoulli(torch.ones(2), out=out) is out and out.tolist() == [1, 1]
    with error(RuntimeError, "Expected p_in >= 0 && p_in <= 1 to be true, but got false."):
        torch.bernoulli(torch.tensor([0.0, 1.5]))
    with error(RuntimeError, "Expected p_in >= 0 && p_in <= 1 to be true, but got false."):
        torch.bernoulli(torch.tensor([0.0, float("nan")]))
    with error(RuntimeError, "bernoulli_ expects p to be in [0, 1], but got p=1.5"):
        torch.zeros(3).bernoulli_(1.5)
    with error(RuntimeError, "bernoulli_ expects p to be in [0, 1], but got p=2"):
        torch.bernoulli(torch.zeros(3), 2.0)
    with pytest.raises(NotImplementedError, match="not implemented for 'Long'"):
        torch.bernoulli(torch.tensor([0, 1]))


def test_distributions():
    x = torch.zeros(N, dtype=torch.float64)
    assert x.exponential_(2.0) is x and x.min().item() >= 0 and near(x, 0.5, 0.5) and near(x**2, 0.5, math.sqrt(1.25))
    assert near((x > 1).double(), math.exp(-2), 0.35)
    assert near(torch.log(x.log_normal_(1, 0.5)), 1, 0.5)
    x.cauchy_(3, 2)
    assert near((x < 3).double(), 0.5, 0.5) and near((x < 5).double(), 0.75, 0.44)
    x.geometric_(0.25)
    assert x.min().item() == 1 and near(x, 4, math.sqrt(12)) and near((x == 2).double(), 0.1875, 0.4)
    assert torch.zeros(5, dtype=torch.int64).geometric_(0.5).dtype == torch.int64
    assert near(torch.zeros(N, dtype=torch.float16).exponential_(), 1, 1.01)
    i = torch.zeros(2, dtype=torch.int64)
    for call, kind, text in (
        (lambda: x.exponential_(0), RuntimeError, "exponential_ expects lambda > 0.0, but found lambda=0"),
        (lambda: x.exponential_(-1), RuntimeError, "exponential_ expects lambda > 0.0, but found lambda=-1"),
        (lambda: x.log_normal_(0, -1), RuntimeError, "log_normal_ expects std > 0.0, but found std=-1"),
        (lambda: x.cauchy_(0, 0), RuntimeError, "cauchy_ expects sigma > 0.0, but found sigma=0"),
        (lambda: x.geometric_(0), RuntimeError, "geometric_ expects p to be in (0, 1), but got p=0"),
        (lambda: x.geometric_(1.5), RuntimeError, "geometric_ expects p to be in (0, 1), but got p=1.5"),
        (i.exponential_, RuntimeError, "Exponential distribution is a continuous probability distribution."),
        (i.cauchy_, RuntimeError, "Cauchy distribution is a continuous probability distribution."),
        (i.log_normal_, NotImplementedError, '"log_normal'),
    ):
        with error(kind, text):
            call()


# ---- multinomial ----


def test_multinomial_with_replacement():
    p = torch.tensor([1.0, 0.0, 3.0, 4.0])
    x = torch.multinomial(p, N, replacement=True)
    assert x.dtype == torch.int64 and x.shape == (N,)
    for i, share in enumerate((0.125, 0, 0.375, 0.5)):
        assert near((x == i).double(), share, math.sqrt(share * (1 - share)) + 1e-9)
    rows = torch.multinomial(torch.tensor([[0.0, 1.0], [1.0, 0.0]]), 2, True)
    assert rows.tolist() == [[1, 1], [0, 0]]
    assert torch.equal(
        torch.multinomial(p, 9, True, generator=torch.Generator().manual_seed(1)),
        p.multinomial(9, True, generator=torch.Generator().manual_seed(1)),
    )
    many = torch.multinomial(torch.ones(3000), 3000, True)  # more than one piece of work
    assert 0 <= many.min().item() and many.max().item() < 3000 and near(many, 1499.5, 866)


def test_multinomial_without_replacement():
    p = torch.tensor([0.2, 0.3, 0.5])
    first = torch.multinomial(p.expand(N, 3), 2)
    assert first.shape == (N, 2) and (first[:, 0] != first[:, 1]).all().item()
    for i, share in enumerate((0.2, 0.3, 0.5)):
        assert near((first[:, 0] == i).double(), share, math.sqrt(share * (1 - share)))
    # the second, after the third was drawn: 0.2 / (0.2 + 0.3)
    after = first[first[:, 0] == 2][:, 1]
    assert near((after == 0).double(), 0.4, math.sqrt(0.24))
    assert torch.multinomial(torch.tensor([0.0, 1.0]), 2).tolist() == [1, 0]
    assert sorted(torch.multinomial(torch.ones(50), 50).tolist()) == list(range(50))


def test_multinomial_errors():
    for p, arguments, text in (
        ([0.0, 1.0], (3,), "cannot sample n_sample > prob_dist.size(-1) samples without replacement"),
        ([0.0, 1.0], (0,), "cannot sample n_sample <= 0 samples"),
        ([0.0, -1.0], (1,), "probability tensor contains either `inf`, `nan` or element < 0"),
        ([0.0, float("nan")], (1,), "probability tensor contains either `inf`, `nan` or element < 0"),
        ([0.0, float("inf")], (1, True), "probability tensor contains either `inf`, `nan` or element < 0"),
        ([0.0, 0.0], (1,), "invalid multinomial distribution (sum of probabilities <= 0)"),
        ([[0.0, 1.0], [0.0, 0.0]], (2, True), "invalid multinomial distribution (sum of probabilities <= 0)"),
        ([[[1.0]]], (1,), "prob_dist must be 1 or 2 dim"),
        (1.0, (1,), "prob_dist must be 1 or 2 dim"),
        ([0, 1], (1,), "multinomial only supports floating-point dtypes for input, got: Long"),
    ):
        with error(RuntimeError, text):
            torch.multinomial(torch.tensor(p), *arguments)
    with error(TypeError, "multinomial(): argument 'generator' must be torch.Generator, not int"):
        torch.multinomial(torch.ones(2), 2, generator=3)


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
def test_exponential_numbers_are_above_zero(dtype):
    """1 - u is 1 for one u of Philox's 2^24: that one, which this seed draws twice, gives the smallest number, not 0."""
    try:
        torch.random.use_philox()
        torch.manual_seed(39)
        assert torch.empty(1 << 20, dtype=dtype).exponential_().min() == torch.finfo(torch.float32).eps / 2
    finally:
        torch.random.use_philox(False)


@on_gpus(1)
def test_nothing_is_permuted_by_any_generator():
    assert torch.randperm(0, device="cuda", generator=torch.Generator("cpu")).shape == (0,)
    with pytest.raises(RuntimeError, match="Expected a 'cuda' device type for generator but found 'cpu'"):
        torch.randperm(1, device="cuda", generator=torch.Generator("cpu"))
