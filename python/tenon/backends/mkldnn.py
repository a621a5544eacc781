"""torch.backends.mkldnn: Tenon does not use oneDNN."""


def is_available():
    """False."""
    return False
