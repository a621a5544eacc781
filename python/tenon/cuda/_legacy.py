"""torch.cuda.FloatTensor and the like: PyTorch's older constructors, on the current GPU."""

from tenon._legacy import all_older

_classes = all_older("cuda")
globals().update(_classes)
__all__ = [*_classes]
