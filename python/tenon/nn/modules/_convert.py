"""Moving and converting a module: to(), cuda(), cpu(), half() and the like."""

from tenon import _C
from tenon.autograd import no_grad

from ..parameter import Parameter

_FORMS = """, but expected one of:
 * (torch.device device = None, torch.dtype dtype = None, bool non_blocking = False, bool copy = False, *, \
torch.memory_format memory_format = None)
 * (torch.dtype dtype, bool non_blocking = False, bool copy = False, *, torch.memory_format memory_format = None)
 * (Tensor tensor, bool non_blocking = False, bool copy = False, *, torch.memory_format memory_format = None)
"""
_NAMES = {"device", "dtype", "tensor", "non_blocking", "copy", "memory_format"}


def _is_device(x):
    return isinstance(x, (_C.device, str)) or (isinstance(x, int) and not isinstance(x, bool))


def _type_text(x):
    name = type(x).__name__
    return f"torch.{name}" if isinstance(x, (_C.dtype, _C.device, _C.memory_format)) else name


def _refuse(args, kwargs):
    got = ", ".join([_type_text(a) for a in args] + [f"{k}={_type_text(v)}" for k, v in kwargs.items()])
    if kwargs and not args:
        got += ", "
    raise TypeError(f"to() received an invalid combination of arguments - got ({got}){_FORMS}")


def parse_to(args, kwargs):
    """Device, dtype, non_blocking and memory_format of a call to(*args, **kwargs), in any of its forms; None where not said."""
    if len(args) > 4:
        raise TypeError(f"to() takes from 0 to 4 positional arguments but {len(args)} were given")
    if not kwargs.keys() <= _NAMES:
        _refuse(args, kwargs)
    named = dict(kwargs)
    rest = list(args)
    if rest and isinstance(rest[0], _C.Tensor):
        named["tensor"] = rest.pop(0)
    elif rest and isinstance(rest[0], _C.dtype):
        named["dtype"] = rest.pop(0)
    elif rest and (rest[0] is None or _is_device(rest[0])):
        named["device"] = rest.pop(0)
        if rest and (rest[0] is None or isinstance(rest[0], _C.dtype)):
            named["dtype"] = rest.pop(0)
        elif rest:
            _refuse(args, kwargs)  # a dtype stands between a device and what follows
    for name in ("non_blocking", "copy"):
        if rest and isinstance(rest[0], bool):
            named[name] = rest.pop(0)
    if args and kwargs and not (isinstance(args[0], _C.Tensor) or "device" not in kwargs):
        _refuse(args, kwargs)  # a device is the first argument, or there is no other before it
    device, dtype, tensor = named.get("device"), named.get("dtype"), named.get("tensor")
    if rest or not (device is None or _is_device(device)) or not (dtype is None or isinstance(dtype, _C.dtype)):
        _refuse(args, kwargs)
    if tensor is not None:
        if not isinstance(tensor, _C.Tensor) or device is not None or dtype is not None:
            _refuse(args, kwargs)
        device, dtype = tensor.device, tensor.dtype
    if "copy" in named:
        raise RuntimeError(".to() does not accept copy argument")
    format = named.get("memory_format")
    if not (format is None or isinstance(format, _C.memory_format)):
        _refuse(args, kwargs)
    return None if device is None else _C.device(device), dtype, named.get("non_blocking", False), format


class _Move:
    """A conversion of a module: everything is made first, then put in its place, so that nothing is half moved."""

    def __init__(self, fn):
        self.fn = fn
        self.data = {}  # tensors that stay the same objects, by id: (it, what it is to show)
        self.others = []  # (dict, name, tensor): buffers, and parameters that are others afterwards

    def make(self, module, recurse):
        """What becomes of the module. Those below it with an _apply of their own are converted by that, here."""
        if recurse:
            for child in module.children():
                if getattr(child._apply, "__func__", None) is Conversion._apply:
                    self.make(child, True)
                else:
                    child._apply(self.fn)
        with no_grad():
            for name, parameter in module._parameters.items():
                if parameter is not None:
                    self.make_parameter(module, name, parameter)
        for name, buffer in module._buffers.items():
            if buffer is not None:
                self.make_buffer(module, name, buffer)

    def make_parameter(self, module, name, parameter):
        data = self.converted(parameter)
        if (data.device.type == "meta") != (parameter.device.type == "meta"):
            # what has no memory cannot become what has some, nor the other way round: it is another parameter
            self.others.append((module._parameters, name, Parameter(data, parameter.requires_grad)))
            return
        if data is not parameter:
            self.data[id(parameter)] = parameter, data
        gradient = parameter.grad
        if gradient is not None and (data := self.converted(gradient)) is not gradient:
            self.data[id(gradient)] = gradient, data

    def converted(self, tensor):
        """fn of it, or of what it has become already: what two modules share goes through fn twice, as in PyTorch. The
        tensor itself, not its .data: what fn writes in place is counted."""
        seen = self.data.get(id(tensor))
        return self.fn(seen[1] if seen else tensor)

    def make_buffer(self, module, name, buffer):
        fresh = self.converted(buffer)
        if fresh is not self.data.get(id(buffer), (None, buffer))[1]:  # a parameter that is a buffer too stays itself
            self.others.append((module._buffers, name, fresh))

    def put(self):
        before = [tensor.data for tensor, _ in self.data.values()]
        try:
            for tensor, data in self.data.values():
                tensor.data = data
        except BaseException:  # what the tensor may not show: nobody's is changed
            for (tensor, _), data in zip(self.data.values(), before):
                tensor.data = data
            raise
        for slots, name, tensor in self.others:
            slots[name] = tensor


class Conversion:
    """What Module has for moving its parameters and buffers. All of it works in place and returns self."""

    def _apply(self, fn, recurse=True):
        """Puts fn(tensor) in the place of each parameter, gradient and buffer; of all of them, or, where fn fails, of none.
        Parameters stay the same objects, unless they go to or come from the device meta."""
        move = _Move(fn)
        move.make(self, recurse)
        move.put()
        return self

    def to(self, *args, **kwargs):
        """to(device, dtype, non_blocking), to(dtype, non_blocking) or to(tensor, non_blocking): moves and converts.
        Only floating tensors take the dtype, which must be floating. memory_format: of those of 4 and 5 dimensions."""
        device, dtype, non_blocking, memory_format = parse_to(args, kwargs)
        if dtype is not None and not (dtype.is_floating_point or dtype.is_complex):
            raise TypeError("nn.Module.to only accepts floating point or complex dtypes, but got desired "
                            f"dtype={dtype}")

        def convert(t):
            wanted = dtype if dtype is not None and t.is_floating_point() else None
            if device is not None and t.device.type == "meta" and device.type != "meta":
                raise NotImplementedError("Cannot copy out of meta tensor; no data! Please use torch.nn.Module.to_empty() "
                                          "instead of torch.nn.Module.to() when moving module from meta to a different "
                                          "device.")
            wanted_format = memory_format if t.dim() in (4, 5) else None
            return t.to(device=device, dtype=wanted, non_blocking=non_blocking, memory_format=wanted_format)

        return self._apply(convert)

    def to_empty(self, *, device, recurse=True):
        """Uninitialised tensors of the same shapes on another device."""
        return self._apply(lambda t: _C.empty_like(t, device=device), recurse=recurse)

    def cuda(self, device=None):
        """All parameters and buffers on a GPU, the current one unless said."""
        return self._apply(lambda t: t.cuda(device))

    def cpu(self):
        """All parameters and buffers in the host's memory."""
        return self._apply(lambda t: t.cpu())

    def share_memory(self):
        """All parameters and buffers in memory that processes share (torch.multiprocessing)."""
        return self._apply(lambda t: t.share_memory_())

    def type(self, dst_type):
        """All parameters and buffers, integers too, in this dtype."""
        return self._apply(lambda t: t.type(dst_type))

    def _floats(self, dtype):
        return self._apply(lambda t: t.to(dtype) if t.is_floating_point() else t)

    def float(self):
        """Floating parameters and buffers in float32."""
        return self._floats(_C.float32)

    def double(self):
        """Floating parameters and buffers in float64."""
        return self._floats(_C.float64)

    def half(self):
        """Floating parameters and buffers in float16."""
        return self._floats(_C.float16)

    def bfloat16(self):
        """Floating parameters and buffers in bfloat16."""
        return self._floats(_C.bfloat16)
