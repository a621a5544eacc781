"""torch.backends.mps: Tenon does not use Apple's GPUs."""


def is_available():
    """False."""
    return False


def is_built():
    """False."""
    return False
