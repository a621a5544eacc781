"""torch.backends.cuda: how products on GPUs are computed."""

from tenon import _C, _missing


class _Matmul:
    """allow_tf32 is another name for the precision of float32 products."""

    @property
    def allow_tf32(self):
        """May factors of float32 products be rounded to TensorFloat32?"""
        return _C.get_float32_matmul_precision() != "highest"

    @allow_tf32.setter
    def allow_tf32(self, on):
        if not isinstance(on, bool):
            raise RuntimeError(f"set_allow_tf32_cublas expects a bool, but got {type(on).__name__}")
        _C.set_float32_matmul_precision("high" if on else "highest")

    def __setattr__(self, name, value):
        if name != "allow_tf32":
            raise AttributeError(f"Unknown attribute {name}")
        super().__setattr__(name, value)


matmul = _Matmul()


def is_built():
    """True: Tenon's CUDA backend is in every build; whether there is a GPU, torch.cuda.is_available() tells."""
    return True


__getattr__ = _missing.getattr_of(__name__)
