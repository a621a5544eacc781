"""torch.einsum: sums of products over named dimensions, as products of matrices, two operands at a time from the left."""

import math

from . import _C

_ELLIPSIS = "..."


def _letter(number):
    """The subscript that a number of the list form stands for: 0 .. 25 are A .. Z, 26 .. 51 a .. z."""
    if not 0 <= number < 52:
        raise ValueError("einsum(): subscripts in subscript list are not within the valid range [0, 52)")
    return chr(ord("A") + number) if number < 26 else chr(ord("a") + number - 26)


def _from_lists(args):
    """The equation and operands of einsum(a, [0, 1], b, [1, 2], [0, 2])."""

    def spelled(subscripts):
        return "".join(_ELLIPSIS if s is Ellipsis else _letter(s) for s in subscripts)

    n = len(args) // 2 * 2
    equation = ",".join(spelled(args[i]) for i in range(1, n, 2))
    if len(args) > n:
        equation += "->" + spelled(args[-1])
    return equation, list(args[:n:2])


def _arguments(args):
    if len(args) < 2:
        raise ValueError(
            "einsum(): must specify the equation string and at least one operand, or at least one operand and its "
            "subscripts list"
        )
    if isinstance(args[0], _C.Tensor):
        return _from_lists(args)
    equation, *operands = args
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = list(operands[0])
    if not operands:
        raise RuntimeError("einsum(): must provide at least one operand")
    return equation, operands


def _subscripts(text, at, equation):
    """The subscripts of one term, which begins at that index: letters, and '...' at most once."""
    found, i = [], 0
    while i < len(text):
        if text[i].isascii() and text[i].isalpha():
            found.append(text[i])
        elif text.startswith(_ELLIPSIS, i):
            if _ELLIPSIS in found:
                raise RuntimeError(f"einsum(): found '.' in {equation!r} where there is an ellipsis already")
            found.append(_ELLIPSIS)
            i += 2
        elif text[i] != " ":
            raise RuntimeError(
                f"einsum(): invalid subscript given at index {at + i} in the equation string, subscripts must be in [a-zA-Z]"
            )
        i += 1
    return found


def _terms(equation, n):
    """Subscripts of each operand, and of the result (None: not said)."""
    left, arrow, right = equation.partition("->")
    inputs, at = [], 0
    for term in left.split(","):
        inputs.append(_subscripts(term, at, equation))
        at += len(term) + 1
    if len(inputs) != n:
        raise RuntimeError(f"einsum(): {'more' if len(inputs) < n else 'fewer'} operands were provided than specified in the equation")
    return inputs, _subscripts(right, at + 1, equation) if arrow else None


def _named(i, operand, subscripts, covered):
    """The subscripts of one operand, one for each dimension: those under '...' are numbers, counted from the right."""
    names = [s for s in subscripts if s is not _ELLIPSIS]
    under = operand.dim() - len(names)
    if _ELLIPSIS not in subscripts:
        if under:
            raise RuntimeError(
                f"einsum(): the number of subscripts in the equation ({len(names)}) does not match the number of dimensions "
                f"({operand.dim()}) for operand {i} and no ellipsis was given"
            )
        return names
    if under < 0:
        raise RuntimeError(
            f"einsum(): the number of subscripts in the equation ({len(names)}) is more than the number of dimensions "
            f"({operand.dim()}) for operand {i}"
        )
    at = subscripts.index(_ELLIPSIS)
    return names[:at] + list(range(covered - under, covered)) + names[at:]


def _once(i, operand, names):
    """The operand with each subscript once: of repeated ones the diagonal."""
    for name in dict.fromkeys(names):
        while names.count(name) > 1:
            a = names.index(name)
            b = names.index(name, a + 1)
            if operand.shape[a] != operand.shape[b]:
                raise RuntimeError(
                    f"einsum(): subscript {name} is repeated for operand {i} but the sizes don't match, "
                    f"{operand.shape[b]} != {operand.shape[a]}"
                )
            operand = operand.diagonal(0, a, b)
            names = [s for k, s in enumerate(names) if k not in (a, b)] + [name]
    return operand, names


def _check_sizes(operands, names):
    sizes = {}
    for i, (operand, subscripts) in enumerate(zip(operands, names)):
        for n, s in zip(operand.shape, subscripts):
            seen = sizes.setdefault(s, n)
            if seen != n and seen != 1 and n != 1:
                raise RuntimeError(
                    f"einsum(): subscript {s if isinstance(s, str) else _ELLIPSIS} has size {n} for operand {i} which does not "
                    f"broadcast with previously seen size {seen}"
                )
            if seen == 1:
                sizes[s] = n


def _result_names(output, names, covered):
    """The subscripts of the result. Not said: '...', then those that occur once, in the order of the alphabet."""
    every = [s for subscripts in names for s in subscripts]
    under = list(range(covered))
    if output is None:
        return under + sorted(s for s in set(every) if isinstance(s, str) and every.count(s) == 1)
    result = []
    for s in output:
        if s is not _ELLIPSIS and output.count(s) > 1:
            raise RuntimeError(f"einsum(): output subscript {s} appears more than once in the output")
        if s is not _ELLIPSIS and s not in every:
            raise RuntimeError(f"einsum(): output subscript {s} does not appear in the equation for any input operand")
        result += under if s is _ELLIPSIS else [s]
    return result


def _summed(x, names, keep):
    """x summed over the dimensions whose subscripts are not kept."""
    dims = [i for i, s in enumerate(names) if s not in keep]
    return (x.sum(dims) if dims else x), [s for s in names if s in keep]


def _without_ones(x, names, other, other_names):
    """x without dimensions of size 1 that broadcast to the other's."""
    for s in [s for s in names if s in other_names]:
        i = names.index(s)
        if x.shape[i] == 1 and other.shape[other_names.index(s)] != 1:
            x, names = x.squeeze(i), names[:i] + names[i + 1 :]
    return x, names


def _product(a, a_names, b, b_names, keep):
    """The product of two operands, summed over the subscripts that are not kept; and its subscripts."""
    a, a_names = _without_ones(a, a_names, b, b_names)
    b, b_names = _without_ones(b, b_names, a, a_names)
    a, a_names = _summed(a, a_names, keep | set(b_names))
    b, b_names = _summed(b, b_names, keep | set(a_names))
    batch = [s for s in a_names if s in b_names and s in keep]
    inner = [s for s in a_names if s in b_names and s not in keep]
    rows = [s for s in a_names if s not in b_names]
    columns = [s for s in b_names if s not in a_names]

    def size(x, names, subscripts):
        return [x.shape[names.index(s)] for s in subscripts]

    shape = size(a, a_names, batch) + size(a, a_names, rows) + size(b, b_names, columns)
    n, r, c, k = (math.prod(p) for p in (size(a, a_names, batch), size(a, a_names, rows), size(b, b_names, columns), size(a, a_names, inner)))
    a = a.permute([a_names.index(s) for s in batch + rows + inner]).reshape(n, r, k)
    b = b.permute([b_names.index(s) for s in batch + inner + columns]).reshape(n, k, c)
    product = _C.bmm(a, b) if inner else a * b
    return product.reshape(shape), batch + rows + columns


def einsum(*args):
    """Sums of products over named dimensions: einsum("ij,jk->ik", a, b) is a @ b.

    A letter names a dimension; one that the result has not is summed over; repeated in one operand it takes the diagonal;
    '...' stands for any number of dimensions, which broadcast.
    """
    equation, operands = _arguments(args)
    inputs, output = _terms(equation, len(operands))
    covered = max((x.dim() - len(s) + 1 for x, s in zip(operands, inputs) if _ELLIPSIS in s), default=0)
    names = [_named(i, x, s, covered) for i, (x, s) in enumerate(zip(operands, inputs))]
    result = _result_names(output, names, covered)
    pairs = [_once(i, x, s) for i, (x, s) in enumerate(zip(operands, names))]
    operands, names = [p[0] for p in pairs], [p[1] for p in pairs]
    _check_sizes(operands, names)
    x, x_names = operands[0], names[0]
    for i in range(1, len(operands)):
        keep = set(result).union(*names[i + 1 :])
        x, x_names = _product(x, x_names, operands[i], names[i], keep)
    x, x_names = _summed(x, x_names, set(result))
    return x.permute([x_names.index(s) for s in result])
