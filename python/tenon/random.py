"""torch.random: seeds and states of the random number generators."""

import contextlib
import warnings

from tenon import _C, _missing
from tenon._C import default_generator, get_rng_state, initial_seed, manual_seed, seed, set_rng_state

__all__ = [
    "default_generator",
    "fork_rng",
    "get_rng_state",
    "initial_seed",
    "manual_seed",
    "seed",
    "set_rng_state",
    "use_philox",
]


def use_philox(on=True):
    """Whether the CPU's generators are Philox, as GPUs' are, so that one seed gives the same numbers on both.

    Otherwise, as at first, the CPU gives PyTorch's numbers. States of the two do not fit each other.
    """
    _C._use_torch_numbers(not on)


@contextlib.contextmanager
def fork_rng(devices=None, enabled=True, _caller="fork_rng", _devices_kw="devices", device_type="cuda"):
    """A context after which the generators of the CPU and of the devices (by default all GPUs) are as before.

    With more than one GPU and no devices named, it warns: every GPU's state is kept, named or not.
    """
    if device_type != "cuda":
        raise RuntimeError(
            f"torch has no module of `{device_type}`, you should register a module by `torch._register_device_module`."
        )
    if not enabled:
        yield
        return
    if devices is None:
        count = _C._cuda.device_count()
        if count > 1:
            warnings.warn(
                f"CUDA reports that you have {count} available devices, and you have used {_caller} without explicitly "
                f"specifying which devices are being used. All of them are kept; {_devices_kw}=[...] names the ones "
                f"that matter.",
                stacklevel=3,
            )
        devices = range(count)
    generators = [_C._generator_of(d if not isinstance(d, int) else f"cuda:{d}") for d in devices]
    cpu, states = get_rng_state(), [g.get_state() for g in generators]
    try:
        yield
    finally:
        set_rng_state(cpu)
        for generator, state in zip(generators, states):
            generator.set_state(state)


__getattr__ = _missing.getattr_of(__name__)
