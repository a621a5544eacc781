"""Results with names: tenon.return_types.max(values=..., indices=...)."""


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


max = _result("max", "values", "indices")
min = _result("min", "values", "indices")
aminmax = _result("aminmax", "min", "max")
sort = _result("sort", "values", "indices")
topk = _result("topk", "values", "indices")
kthvalue = _result("kthvalue", "values", "indices")
median = _result("median", "values", "indices")
mode = _result("mode", "values", "indices")
cummax = _result("cummax", "values", "indices")
cummin = _result("cummin", "values", "indices")
