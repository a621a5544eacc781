"""torch.backends.cpu."""


def get_cpu_capability():
    """The widest instructions that this machine has, of those that PyTorch names: 'AVX512', 'AVX2' or 'DEFAULT'."""
    try:
        with open("/proc/cpuinfo", encoding="ascii", errors="replace") as file:
            flags = next((line for line in file if line.startswith("flags")), "").split()
    except OSError:
        flags = []
    return "AVX512" if "avx512f" in flags else "AVX2" if "avx2" in flags else "DEFAULT"
