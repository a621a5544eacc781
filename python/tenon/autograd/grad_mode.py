"""Whether operations are recorded: context managers that are decorators too."""

import functools
import inspect
import warnings

from tenon import _C

_set = _C._set_grad_enabled


class _Mode:
    """Sets the mode on entering, brings back what was on leaving; decorates functions, generators and classes."""

    __slots__ = ("_before",)
    _on = False

    def __enter__(self):
        self._before = _set(self._on)

    def __exit__(self, kind, value, trace):
        _set(self._before)

    def _again(self):
        return type(self)()

    def __call__(self, f):
        if inspect.isclass(f):
            warnings.warn("Decorating classes is deprecated and will be disabled in future versions. You should only decorate "
                          "functions or methods. To preserve the current behavior of class decoration, you can directly decorate the "
                          "`__init__` method and nothing else.", FutureWarning, stacklevel=2)
        if inspect.isgeneratorfunction(f):
            return self._wrap_generator(f)

        @functools.wraps(f)
        def wrapped(*args, **kwargs):
            with self._again():
                return f(*args, **kwargs)

        return wrapped

    def _wrap_generator(self, f):
        """The mode holds while the generator runs, not while its caller does."""

        @functools.wraps(f)
        def wrapped(*args, **kwargs):
            generator = f(*args, **kwargs)
            send, value = generator.send, None
            while True:
                try:
                    with self._again():
                        item = send(value)
                except StopIteration as end:
                    return end.value
                try:
                    value = yield item
                    send = generator.send
                except GeneratorExit:
                    with self._again():
                        generator.close()
                    raise
                except BaseException as error:
                    send, value = generator.throw, error

        return wrapped


class no_grad(_Mode):
    """Nothing is recorded inside: results require no gradient. `with no_grad():`, or `@no_grad()` on a function."""

    __slots__ = ()

    def __new__(cls, f=None):
        self = super().__new__(cls)
        return self if f is None else self(f)


class enable_grad(_Mode):
    """Operations are recorded inside, also within no_grad."""

    __slots__ = ()
    _on = True

    def __new__(cls, f=None):
        self = super().__new__(cls)
        return self if f is None else self(f)


class inference_mode(_Mode):
    """Nothing is recorded inside, and what is made there stays out of graphs for good: outside it is not written in place,
    asks for no gradient and is not saved for backward. inference_mode(False): neither, within another one."""

    __slots__ = ("_inferred", "mode")

    def __new__(cls, mode=True):
        self = super().__new__(cls)
        self.mode = mode if isinstance(mode, bool) else True
        return self if isinstance(mode, bool) else self(mode)

    def __init__(self, mode=True):
        pass

    def __enter__(self):
        self._before, self._inferred = _set(not self.mode), _C._set_inference_mode(self.mode)

    def __exit__(self, kind, value, trace):
        _C._set_inference_mode(self._inferred)
        _set(self._before)

    def _again(self):
        return inference_mode(self.mode)


class set_grad_enabled(_Mode):
    """Recording on or off, at once; as a context manager, until its end."""

    __slots__ = ("_on",)

    def __init__(self, mode):
        self._on = bool(mode)
        self._before = _set(self._on)

    def __enter__(self):
        _set(self._on)

    def __call__(self, f):
        _set(self._before)  # a decorator changes nothing by itself
        return super().__call__(f)

    def _again(self):
        return set_grad_enabled(self._on)


