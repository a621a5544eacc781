"""torch.cuda.FloatTensor and the like: PyTorch's older constructors, on the current GPU."""

from tenon import _C
from tenon._legacy import older

BFloat16Tensor = older("BFloat16Tensor", _C.bfloat16, "cuda")
BoolTensor = older("BoolTensor", _C.bool, "cuda")
ByteTensor = older("ByteTensor", _C.uint8, "cuda")
CharTensor = older("CharTensor", _C.int8, "cuda")
DoubleTensor = older("DoubleTensor", _C.float64, "cuda")
FloatTensor = older("FloatTensor", _C.float32, "cuda")
HalfTensor = older("HalfTensor", _C.float16, "cuda")
IntTensor = older("IntTensor", _C.int32, "cuda")
LongTensor = older("LongTensor", _C.int64, "cuda")
ShortTensor = older("ShortTensor", _C.int16, "cuda")
