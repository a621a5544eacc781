"""torch.backends.openmp: Tenon does not use OpenMP."""


def is_available():
    """False."""
    return False
