"""torch.backends.mkl: Tenon does not use Intel's MKL."""


def is_available():
    """False."""
    return False
