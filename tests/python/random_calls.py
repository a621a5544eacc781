"""Calls that draw random numbers: what tests/python/data/make_random.py asks of PyTorch and test_random_numbers.py of Tenon.

Each is a function of the library that gives a tensor. EXACT numbers have no transcendental function in them, or one that both
libraries compute alike; NEAR ones may differ in the last place.
"""

import zlib

EXACT, NEAR = "exact", "near"
SEEDS = (0, 1, 42, 2**40 + 17, -5)
FLOATS = ("float32", "float64", "bfloat16", "float16")


def of_dtype(t, d):
    def made(*shape):
        return t.empty(*shape, dtype=d)

    def weights():
        return t.arange(12).to(d).reshape(2, 6)

    yield "rand", EXACT, lambda: t.rand(1003, dtype=d)
    yield "uniform_", EXACT, lambda: made(500).uniform_(-0.3, 0.9)
    yield "random_", EXACT, lambda: made(100).random_()
    yield "geometric_", EXACT, lambda: made(100).geometric_(0.3)
    yield "bernoulli_", EXACT, lambda: made(100).bernoulli_(0.3)
    yield "bernoulli", EXACT, lambda: t.bernoulli(t.full((100,), 0.3, dtype=d))
    yield "dropout", EXACT, lambda: t.nn.functional.dropout(t.arange(100).to(d), 0.3)
    yield "alpha_dropout", NEAR, lambda: t.nn.functional.alpha_dropout(t.arange(100).to(d), 0.3, True)
    yield "dropout2d", EXACT, lambda: t.nn.functional.dropout2d(t.arange(100).to(d).reshape(5, 5, 2, 2), 0.3)
    yield "poisson", EXACT, lambda: t.poisson(t.arange(100).to(d) / 2)
    yield "multinomial, again", EXACT, lambda: t.multinomial(weights(), 50, replacement=True)
    yield "multinomial, once", EXACT, lambda: t.multinomial(weights(), 5)
    yield "multinomial, one", EXACT, lambda: t.multinomial(weights(), 1)
    for n in (7, 16, 1003, 5000):
        yield f"randn {n}", EXACT if n > 15 and d == t.float32 else NEAR, lambda n=n: t.randn(n, dtype=d)
    yield "normal_", NEAR, lambda: made(333).normal_(0.3, 1.7)
    yield "normal_, gaps", NEAR, lambda: made(40, 2)[:, 0].normal_(1, 2)
    yield "exponential_", NEAR, lambda: made(100).exponential_(2.5)
    yield "cauchy_", NEAR, lambda: made(100).cauchy_(0.5, 2)
    yield "log_normal_", NEAR, lambda: made(100).log_normal_(0.5, 2)


def of_laws(t, d):
    def shapes():
        return t.arange(1, 101).to(d) / 4

    yield "binomial", EXACT, lambda: t.binomial(t.arange(1, 101).to(d), t.arange(1, 101).to(d) / 128)
    yield "binomial, many", EXACT, lambda: t.binomial(t.full((100,), 1000.0, dtype=d), t.full((100,), 0.75, dtype=d))
    yield "rrelu", EXACT, lambda: t.nn.functional.rrelu(t.arange(-50, 50).to(d), training=True)
    if d == t.float64:  # of float32 each step rounds
        yield "gumbel_softmax", NEAR, lambda: t.nn.functional.gumbel_softmax(t.arange(100).to(d).reshape(10, 10) / 8, tau=0.5)
    yield "_standard_gamma", NEAR, lambda: t._standard_gamma(shapes())
    yield "_sample_dirichlet", NEAR, lambda: t._sample_dirichlet(shapes().reshape(20, 5))


def of_integers(t):
    for name in ("int64", "int32", "int16", "int8", "uint8", "bool"):
        d = getattr(t, name)
        yield f"random_ {name}", EXACT, lambda d=d: t.empty(100, dtype=d).random_()
        yield f"bernoulli_ {name}", EXACT, lambda d=d: t.empty(100, dtype=d).bernoulli_(0.3)
    for high in (2, 10, 2**28, 2**28 - 1, 2**40 + 3):
        yield f"randint {high}", EXACT, lambda high=high: t.randint(high, (200,))
    yield "randint -50 7", EXACT, lambda: t.randint(-50, 7, (200,))
    for name in ("int64", "int32", "int8", "float32", "bool"):
        d = getattr(t, name)
        yield f"random_ from, {name}", EXACT, lambda d=d: t.empty(200, dtype=d).random_(0 if d == t.bool else -5, None)
    yield "random_ of 64 bits", EXACT, lambda: t.empty(200, dtype=t.int64).random_(-(2**63), None)
    yield "randint float32", EXACT, lambda: t.randint(5, (200,), dtype=t.float32)
    yield "random_ to", EXACT, lambda: t.empty(200, dtype=t.int32).random_(1000)
    yield "random_ from to", EXACT, lambda: t.empty(200).random_(10, 1000)
    for n in (1, 5, 1000, 100000):
        yield f"randperm {n}", EXACT, lambda n=n: t.randperm(n)
    yield "randperm int32", EXACT, lambda: t.randperm(300, dtype=t.int32)


def of_layouts(t):
    def turned(**options):
        return t.empty(60, 40, **options).t()

    yield "uniform_, turned", EXACT, lambda: turned().uniform_()
    yield "normal_, turned", NEAR, lambda: turned().normal_()
    yield "random_, turned", EXACT, lambda: turned(dtype=t.int64).random_(100)
    yield "bernoulli_, turned", EXACT, lambda: turned().bernoulli_(0.5)
    yield "exponential_, turned", NEAR, lambda: turned().exponential_()
    yield "uniform_, gaps", EXACT, lambda: t.empty(6, 8, 10)[::2, :, ::3].permute(2, 0, 1).uniform_()
    yield "rand_like, turned", EXACT, lambda: t.rand_like(turned())
    yield "randint_like, turned", EXACT, lambda: t.randint_like(turned(), 100)
    yield "bernoulli, turned", EXACT, lambda: t.bernoulli(t.full((6, 4), 0.5).t())
    yield "dropout, turned", EXACT, lambda: t.nn.functional.dropout(t.ones(60, 40).t())


def mixed(t):
    return t.cat([t.randn(5), t.rand(3), t.randn(2), t.randperm(5).float(), t.randn(20)])


def of_generator(t):
    g = t.Generator().manual_seed(7)
    return t.cat([t.rand(5, generator=g), t.rand(5), t.randperm(6, generator=g).float()])


def of_composed(t):
    init, data = t.nn.init, t.utils.data
    yield "normal, both", NEAR, lambda: t.normal(t.arange(50.0), t.ones(50) * 2)
    yield "normal, mean", NEAR, lambda: t.normal(t.arange(5.0), 2.0)
    yield "normal, std", NEAR, lambda: t.normal(1.0, t.arange(50.0))
    yield "normal, numbers", EXACT, lambda: t.normal(1.0, 2.0, (50,))
    yield "Linear", EXACT, lambda: t.nn.Linear(784, 500).weight.detach()
    yield "Embedding", EXACT, lambda: t.nn.Embedding(100, 16).weight.detach()
    yield "xavier_normal_", EXACT, lambda: init.xavier_normal_(t.empty(30, 40))
    yield "kaiming_normal_", EXACT, lambda: init.kaiming_normal_(t.empty(30, 40))
    yield "trunc_normal_", EXACT, lambda: init.trunc_normal_(t.empty(500))
    yield "trunc_normal_, narrow", EXACT, lambda: init.trunc_normal_(t.empty(500), 0, 1, 1.0, 2.0)
    yield "trunc_normal_, far", EXACT, lambda: init.trunc_normal_(t.empty(50), 0, 1, 3.0, 6.0)
    yield "multinomial, many", EXACT, lambda: t.multinomial(t.rand(3, 500), 300, replacement=True)
    yield "multinomial, most", EXACT, lambda: t.multinomial(t.rand(3, 500), 300)
    yield "mixed", NEAR, lambda: mixed(t)
    yield "generator", EXACT, lambda: of_generator(t)
    yield "DataLoader", EXACT, lambda: t.cat(list(data.DataLoader(list(range(37)), batch_size=5, shuffle=True)))
    yield "random_split", EXACT, lambda: t.tensor([i for s in data.random_split(list(range(20)), [15, 5]) for i in s.indices])
    sampler = data.RandomSampler
    yield "RandomSampler, again", EXACT, lambda: t.tensor(list(sampler(range(50), replacement=True, num_samples=100)))
    yield "RandomSampler, more", EXACT, lambda: t.tensor(list(sampler(range(30), num_samples=100)))
    yield "WeightedRandomSampler", EXACT, lambda: t.tensor(list(data.WeightedRandomSampler([0.1, 2, 3, 0.5], 50)))


def calls(t):
    """(name, EXACT or NEAR, function) of every call of library t."""
    for name in FLOATS:
        for call, kind, f in of_dtype(t, getattr(t, name)):
            yield f"{call} {name}", kind, f
    for name in FLOATS[:2]:
        for call, kind, f in of_laws(t, getattr(t, name)):
            yield f"{call} {name}", kind, f
    yield from of_integers(t)
    yield from of_layouts(t)
    yield from of_composed(t)


def asked(t, f, kind, seed):
    """[dtype, shape, leading numbers, checksum of all (of EXACT ones), the number drawn next] of one call"""
    t.manual_seed(seed)
    r = f()
    numbers = r.reshape(-1).tolist()
    exact = kind == EXACT
    checksum = zlib.crc32(" ".join(float(x).hex() for x in numbers).encode()) if exact else 0
    return [str(r.dtype).split(".")[-1], list(r.shape), numbers[: 3 if exact else 12], checksum, t.rand(1).item()]
