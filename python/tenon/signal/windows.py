"""Windows of signals. sym: symmetric ones; else the first M elements of one that is longer by 1, whose Fourier transform is that
of a period. Formulas: Harris, "On the use of windows for harmonic analysis with the discrete Fourier transform" (1978)."""

import math

import tenon as torch

__all__ = ["bartlett", "blackman", "cosine", "exponential", "gaussian", "general_cosine", "general_hamming", "hamming", "hann",
           "kaiser", "nuttall"]


def _made(name, M, dtype, device, requires_grad):
    """What the factory is to be given, and the result where nothing is to be computed."""
    dtype = torch.get_default_dtype() if dtype is None else dtype
    if M < 0:
        raise ValueError(f"{name} requires non-negative window length, got M={M}")
    if dtype not in (torch.float32, torch.float64):
        raise ValueError(f"{name} expects float32 or float64 dtypes, got: {dtype}")
    options = {"dtype": dtype, "device": device, "requires_grad": requires_grad}
    return options, torch.ones(M, **options) if M <= 1 else None


def _line(M, start, step, options):
    """start, start + step ... M numbers."""
    return torch.linspace(start, start + (M - 1) * step, M, **options)


def exponential(M, *, center=None, tau=1.0, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """exp(-|n - center| / tau); center is the middle, unless sym is False and another one is given."""
    options, done = _made("exponential", M, dtype, device, requires_grad)
    if tau <= 0:
        raise ValueError(f"Tau must be positive, got: {tau} instead.")
    if sym and center is not None:
        raise ValueError("Center must be None for symmetric windows")
    if done is not None:
        return done
    if center is None:
        center = (M if not sym else M - 1) / 2.0
    return torch.exp(-torch.abs(_line(M, -center / tau, 1 / tau, options)))


def cosine(M, *, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """sin(pi (n + 0.5) / M)"""
    options, done = _made("cosine", M, dtype, device, requires_grad)
    if done is not None:
        return done
    step = math.pi / (M if sym else M + 1)
    return torch.sin(_line(M, 0.5 * step, step, options))


def gaussian(M, *, std=1.0, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """exp(-(n / std)^2 / 2), n counted from the middle."""
    options, done = _made("gaussian", M, dtype, device, requires_grad)
    if std <= 0:
        raise ValueError(f"Standard deviation must be positive, got: {std} instead.")
    if done is not None:
        return done
    step = 1 / (std * math.sqrt(2))
    line = _line(M, -(M if not sym else M - 1) / 2.0 * step, step, options)
    return torch.exp(-line ** 2)


def kaiser(M, *, beta=12.0, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """I0(beta sqrt(1 - ((n - N/2) / (N/2))^2)) / I0(beta), N being M - 1, or M of one that is not sym."""
    options, done = _made("kaiser", M, dtype, device, requires_grad)
    if beta < 0:
        raise ValueError(f"beta must be non-negative, got: {beta} instead.")
    return torch.kaiser_window(M, not sym, float(beta), **options) if done is None else done


def hamming(M, *, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """0.54 - 0.46 cos(2 pi n / (M - 1))"""
    return general_hamming(M, sym=sym, dtype=dtype, device=device, requires_grad=requires_grad)


def hann(M, *, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """0.5 - 0.5 cos(2 pi n / (M - 1))"""
    return general_hamming(M, alpha=0.5, sym=sym, dtype=dtype, device=device, requires_grad=requires_grad)


def blackman(M, *, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """0.42 - 0.5 cos(2 pi n / (M - 1)) + 0.08 cos(4 pi n / (M - 1))"""
    options, _ = _made("blackman", M, dtype, device, requires_grad)
    return general_cosine(M, a=[0.42, 0.5, 0.08], sym=sym, **options)


def bartlett(M, *, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """1 - |2 n / (M - 1) - 1|"""
    options, done = _made("bartlett", M, dtype, device, requires_grad)
    if done is not None:
        return done
    return 1 - torch.abs(_line(M, -1, 2 / (M if not sym else M - 1), options))


def general_cosine(M, *, a, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """The sum of (-1)^i a_i cos(2 pi i n / (M - 1))"""
    options, done = _made("general_cosine", M, dtype, device, requires_grad)
    if done is not None:
        return done
    if not isinstance(a, (list, tuple)):
        raise TypeError("Coefficients must be a list/tuple")
    if not a:
        raise ValueError("Coefficients cannot be empty")
    line = _line(M, 0, 2 * math.pi / (M if not sym else M - 1), options)
    total = None
    for i, factor in enumerate(a):
        term = torch.cos(line * i) * ((-1) ** i * factor)
        total = term if total is None else total + term
    return total


def general_hamming(M, *, alpha=0.54, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """alpha - (1 - alpha) cos(2 pi n / (M - 1))"""
    return general_cosine(M, a=[alpha, 1.0 - alpha], sym=sym, dtype=dtype, device=device, requires_grad=requires_grad)


def nuttall(M, *, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """0.3635819 - 0.4891775 cos(x) + 0.1365995 cos(2 x) - 0.0106411 cos(3 x), x being 2 pi n / (M - 1)"""
    return general_cosine(M, a=[0.3635819, 0.4891775, 0.1365995, 0.0106411], sym=sym, dtype=dtype, device=device,
                          requires_grad=requires_grad)
