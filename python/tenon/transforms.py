"""Pictures made ready for a network, one at a time: what torchvision.transforms has of it for tensors (C, H, W) and arrays (H, W, C)."""

import numbers

from tenon import _C, nn

__all__ = ["CenterCrop", "Compose", "ConvertImageDtype", "Lambda", "Normalize", "Pad", "RandomCrop", "RandomHorizontalFlip",
           "RandomVerticalFlip", "ToPILImage", "ToTensor"]


def _pair(size):
    if isinstance(size, numbers.Integral):
        return int(size), int(size)
    if len(size) not in (1, 2):
        raise ValueError("Please provide only two dimensions (h, w) for size.")
    return int(size[0]), int(size[-1])


class Compose:
    """Transforms one after the other."""

    def __init__(self, transforms):
        self.transforms = transforms

    def __call__(self, img):
        for transform in self.transforms:
            img = transform(img)
        return img

    def __repr__(self):
        return "Compose(\n" + "".join(f"    {t}\n" for t in self.transforms) + ")"


class Lambda:
    """A function of a program's own."""

    def __init__(self, lambd):
        if not callable(lambd):
            raise TypeError(f"Argument lambd should be callable, got {type(lambd).__name__!r}")
        self.lambd = lambd

    def __call__(self, img):
        return self.lambd(img)

    def __repr__(self):
        return "Lambda()"


def _from_picture(picture):
    """A tensor (C, H, W) of what PIL or NumPy has."""
    if not hasattr(picture, "__array_interface__") and not hasattr(picture, "__array__"):
        raise TypeError(f"pic should be PIL Image or ndarray. Got {type(picture)}")
    import numpy

    array = numpy.array(picture)
    if array.ndim not in (2, 3):
        raise ValueError(f"pic should be 2/3 dimensional. Got {array.ndim} dimensions.")
    tensor = _C.from_numpy(array if array.ndim == 3 else array[:, :, None])
    return tensor.permute(2, 0, 1).contiguous()


class ToTensor:
    """A picture (PIL's, an array (H, W, C) or (H, W), a tensor (C, H, W)) as a tensor (C, H, W); of bytes, floats from 0 to 1."""

    def __call__(self, pic):
        tensor = pic if isinstance(pic, _C.Tensor) else _from_picture(pic)
        return tensor.to(_C.get_default_dtype()).div(255) if tensor.dtype == _C.uint8 else tensor

    def __repr__(self):
        return "ToTensor()"


class ToPILImage:
    """A tensor (C, H, W) as PIL's picture, where PIL is installed; floats are from 0 to 1."""

    def __init__(self, mode=None):
        self.mode = mode

    def __call__(self, pic):
        try:
            from PIL import Image
        except ImportError as error:
            raise ImportError("ToPILImage makes pictures of PIL, which is not installed: pip install pillow") from error
        pic = pic.mul(255).to(_C.uint8) if pic.is_floating_point() else pic
        array = pic.cpu().permute(1, 2, 0).contiguous().numpy()
        return Image.fromarray(array[:, :, 0] if array.shape[2] == 1 else array, mode=self.mode)

    def __repr__(self):
        return f"ToPILImage({f'mode={self.mode}' if self.mode is not None else ''})"


def _largest(dtype):
    return 1 if dtype.is_floating_point or dtype == _C.bool else (1 << dtype._digits) - 1


class ConvertImageDtype:
    """Another dtype, whose range is the picture's: floats from 0 to 1, integers up to their largest."""

    def __init__(self, dtype):
        self.dtype = dtype

    def __call__(self, image):
        before, after = image.dtype, self.dtype
        if before == after or before.is_floating_point and after.is_floating_point:
            return image.to(after)
        if before.is_floating_point:
            if before == _C.float32 and after in (_C.int32, _C.int64) or before == _C.float64 and after == _C.int64:
                raise RuntimeError(f"The cast from {before} to {after} cannot be performed safely")
            return image.mul(_largest(after) + 1.0 - 1e-3).to(after)
        if after.is_floating_point:
            return image.to(after).div(_largest(before))
        most, least = _largest(before), _largest(after)
        if most > least:
            return _C.div(image, (most + 1) // (least + 1), rounding_mode="floor").to(after)
        return image.to(after).mul((least + 1) // (most + 1))

    def __repr__(self):
        return "ConvertImageDtype()"


class Normalize:
    """Each channel less its mean, divided by its standard deviation."""

    def __init__(self, mean, std, inplace=False):
        self.mean, self.std, self.inplace = mean, std, inplace

    def __call__(self, tensor):
        if not isinstance(tensor, _C.Tensor):
            raise TypeError(f"img should be Tensor Image. Got {type(tensor)}")
        if not tensor.is_floating_point():
            raise TypeError(f"Input tensor should be a float tensor. Got {tensor.dtype}.")
        if tensor.dim() < 3:
            raise ValueError("Expected tensor to be a tensor image of size (..., C, H, W). Got tensor.size() = "
                             f"{tensor.size()}")
        mean, std = (_C.as_tensor(of, dtype=tensor.dtype, device=tensor.device) for of in (self.mean, self.std))
        if (std == 0).any():
            raise ValueError(f"std evaluated to zero after conversion to {tensor.dtype}, leading to division by zero.")
        mean, std = (of.reshape(-1, 1, 1) if of.dim() == 1 else of for of in (mean, std))
        return (tensor if self.inplace else tensor.clone()).sub_(mean).div_(std)

    def __repr__(self):
        return f"Normalize(mean={self.mean}, std={self.std})"


_MODES = {"constant": "constant", "reflect": "reflect", "edge": "replicate"}


class Pad:
    """Elements around a picture: padding is for all sides, (left and right, top and bottom) or (left, top, right, bottom).
    padding_mode: "constant" (fill), "edge" or "reflect"."""

    def __init__(self, padding, fill=0, padding_mode="constant"):
        if padding_mode not in _MODES:
            raise ValueError("Padding mode should be either constant, edge or reflect")
        if not isinstance(padding, numbers.Number) and len(padding) not in (1, 2, 4):
            raise ValueError(f"Padding must be an int or a 1, 2, or 4 element tuple, not a {len(padding)} element tuple")
        self.padding, self.fill, self.padding_mode = padding, fill, padding_mode

    def __call__(self, img):
        p = [self.padding] if isinstance(self.padding, numbers.Number) else list(self.padding)
        left, top, right, bottom = p * (4 // len(p))
        value = self.fill if self.padding_mode == "constant" else None
        return nn.functional.pad(img, (left, right, top, bottom), _MODES[self.padding_mode], value)

    def __repr__(self):
        return f"Pad(padding={self.padding}, fill={self.fill}, padding_mode={self.padding_mode})"


class CenterCrop:
    """The middle of a picture; zeros around what is smaller."""

    def __init__(self, size):
        self.size = _pair(size)

    def __call__(self, img):
        (h, w), (height, width) = self.size, img.shape[-2:]
        if h > height or w > width:
            more = [max(w - width, 0), max(h - height, 0)]
            img = Pad((more[0] // 2, more[1] // 2, (more[0] + 1) // 2, (more[1] + 1) // 2))(img)
            height, width = img.shape[-2:]
        top, left = int(round((height - h) / 2.0)), int(round((width - w) / 2.0))
        return img[..., top:top + h, left:left + w]

    def __repr__(self):
        return f"CenterCrop(size={self.size})"


class RandomCrop:
    """A part of a picture, anywhere in it, which is padded first where padding is given."""

    def __init__(self, size, padding=None, pad_if_needed=False, fill=0, padding_mode="constant"):
        self.size, self.padding, self.pad_if_needed = _pair(size), padding, pad_if_needed
        self.fill, self.padding_mode = fill, padding_mode

    def __call__(self, img):
        h, w = self.size
        if self.padding is not None:
            img = self._padded(img, self.padding)
        if self.pad_if_needed:
            for side, missing in enumerate((w - img.shape[-1], h - img.shape[-2])):
                img = self._padded(img, [(missing, 0), (0, missing)][side]) if missing > 0 else img
        height, width = img.shape[-2:]
        if height < h or width < w:
            raise ValueError(f"Required crop size {(h, w)} is larger than input image size {(height, width)}")
        if (height, width) == (h, w):
            return img
        top, left = (int(_C.randint(0, more + 1, (1,)).item()) for more in (height - h, width - w))
        return img[..., top:top + h, left:left + w]

    def _padded(self, img, padding):
        return Pad(padding, self.fill, self.padding_mode)(img)

    def __repr__(self):
        return f"RandomCrop(size={self.size}, padding={self.padding})"


class _RandomFlip:
    def __init__(self, p=0.5):
        self.p = p

    def __call__(self, img):
        return img.flip(self._dim) if _C.rand(1).item() < self.p else img

    def __repr__(self):
        return f"{type(self).__name__}(p={self.p})"


class RandomHorizontalFlip(_RandomFlip):
    """The picture, or, as often as p says, what a mirror shows."""

    _dim = -1


class RandomVerticalFlip(_RandomFlip):
    """The picture, or, as often as p says, upside down."""

    _dim = -2
