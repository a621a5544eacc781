"""torch.testing._internal."""
