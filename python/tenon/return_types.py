"""Results with names: tenon.return_types.max(values=..., indices=...)."""

from tenon import _missing

from ._C import _named_results


def _result(name, *fields):
    """A class of tuples whose items have names, printed as PyTorch prints them."""

    def show(self):
        return f"torch.return_types.{name}(\n" + ",\n".join(f"{f}={v!r}" for f, v in zip(fields, self)) + ")"

    def reduce(self):
        return (cls, (tuple(self),))

    body = {"__slots__": (), "__repr__": show, "__reduce__": reduce, "_fields": fields, "__doc__": f"What {name}() gives."}
    for i, field in enumerate(fields):
        body[field] = property(lambda self, i=i: self[i], doc=f"The {field}, item {i}.")
    cls = type(name, (tuple,), body)
    cls.__module__ = __name__
    return cls


for _line in _named_results:  # of the list of operations: "max values indices"
    _name, *_fields = _line.split()
    globals()[_name] = _result(_name, *_fields)


__getattr__ = _missing.getattr_of(__name__)
