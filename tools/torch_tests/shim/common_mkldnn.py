"""torch.testing._internal.common_mkldnn."""


def bf32_on_and_off(bf32_precision=1e-5):
    return lambda test: test
