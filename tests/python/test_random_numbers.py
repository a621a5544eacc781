"""The same seed, the same numbers: what the CPU draws is what PyTorch's drew (data/random.json, by data/make_random.py)."""

import json
import math
import pathlib

import pytest
from random_calls import EXACT, SEEDS, asked, calls

import tenon as torch
import tenon.utils.data

RECORDED = json.loads((pathlib.Path(__file__).parent / "data" / "random.json").read_text())
CALLS = {name: (kind, f) for name, kind, f in calls(torch)}


def test_every_call_is_recorded():
    assert set(CALLS) == set(RECORDED["drawn"]) and len(CALLS) > 60


def close(a, b, dtype):
    """Within one unit of the last place; float64, where a formula has several functions, within a few."""
    if a == b or (math.isnan(a) and math.isnan(b)) or "float" not in dtype:
        return a == b or a != a
    eps = torch.finfo(getattr(torch, dtype)).eps
    return abs(a - b) <= 1.01 * eps * abs(a) + (1e-14 if dtype == "float64" else 0)


@pytest.mark.parametrize("name", CALLS)
def test_numbers_are_those_of_pytorch(name):
    kind, f = CALLS[name]
    for seed, expected in zip(SEEDS, RECORDED["drawn"][name]):
        dtype, shape, numbers, checksum, after = asked(torch, f, kind, seed)
        assert [dtype, shape] == expected[:2]
        if kind == EXACT:
            assert [numbers, checksum] == expected[2:4], seed
        assert all(close(a, b, dtype) for a, b in zip(expected[2], numbers)), (seed, expected[2], numbers)
        assert after == expected[4], f"{name} takes more or fewer numbers from the generator"


def test_states_move_between_the_libraries():
    """A normal number waits in the state, too."""
    state = torch.tensor(list(bytes.fromhex(RECORDED["state"]["state"])), dtype=torch.uint8)
    torch.manual_seed(3)
    torch.randn(3)
    mine = torch.get_rng_state()
    assert mine.shape == (5056,)
    g = torch.Generator()
    g.set_state(state)
    torch.set_rng_state(state)
    for options in ({}, {"generator": g}):
        numbers = torch.randn(4, **options).tolist() + torch.rand(3, **options).tolist()
        assert all(close(a, b, "float32") for a, b in zip(RECORDED["state"]["next"], numbers))
    different = (mine != state).nonzero().flatten().tolist()
    assert all(5024 <= i < 5032 for i in different), "but for the last place of the waiting number the bytes are PyTorch's"
    with pytest.raises(RuntimeError, match="Invalid mt19937 state"):
        torch.set_rng_state(torch.zeros(5056, dtype=torch.uint8))
    with pytest.raises(RuntimeError, match="RNG state is wrong size"):
        torch.set_rng_state(torch.zeros(16, dtype=torch.uint8))


def test_philox_takes_its_place():
    """Then the CPU's numbers are those of C, and of GPUs."""
    try:
        torch.random.use_philox()
        torch.manual_seed(1)
        first, state = torch.rand(7), torch.get_rng_state()
        assert state.shape == (16,)
        torch.manual_seed(1)
        assert torch.equal(first, torch.rand(7)) and torch.initial_seed() == 1
        g = torch.Generator().manual_seed(1)
        assert torch.equal(first, torch.rand(7, generator=g))
    finally:
        torch.random.use_philox(False)
    torch.manual_seed(1)
    assert not torch.equal(first, torch.rand(7)) and torch.get_rng_state().shape == (5056,)
