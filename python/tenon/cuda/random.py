"""torch.cuda.random: seeds and states of the GPUs' generators. Seeding needs no GPU: the seed is for those that may come."""

from tenon import _C

from ._utils import checked_index

__all__ = [
    "get_rng_state",
    "get_rng_state_all",
    "initial_seed",
    "manual_seed",
    "manual_seed_all",
    "seed",
    "seed_all",
    "set_rng_state",
    "set_rng_state_all",
]


def manual_seed(seed):
    """Seeds the current GPU's generator."""
    _C._cuda_manual_seed(seed)


def manual_seed_all(seed):
    """Seeds the generators of all GPUs, alike."""
    _C._cuda_manual_seed_all(seed)


def _generator(device):
    return _C._generator_of(_C.device("cuda", checked_index(device)))


def get_rng_state(device="cuda"):
    """The state of a GPU's generator: a CPU tensor, uint8 [16]."""
    return _generator(device).get_state()


def get_rng_state_all():
    """Those of all GPUs, in a list."""
    return [get_rng_state(i) for i in range(_C._cuda.device_count())]


def set_rng_state(new_state, device="cuda"):
    """Makes a GPU's generator go on where get_rng_state was called."""
    _generator(device).set_state(new_state)


def set_rng_state_all(new_states):
    """The same of all GPUs."""
    for i, state in enumerate(new_states):
        set_rng_state(state, i)


def _entropy():
    return _C.Generator().seed()


def seed():
    """Seeds the current GPU's generator from the system's entropy."""
    manual_seed(_entropy())


def seed_all():
    """Seeds those of all GPUs, alike, from the system's entropy."""
    manual_seed_all(_entropy())


def initial_seed():
    """The seed of the current GPU's generator."""
    return _generator(None).initial_seed()
