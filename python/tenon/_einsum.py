"""torch.einsum: the ways to call it. The library reads the equation."""

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


def einsum(*args):
    """Sums of products over named dimensions: einsum("ij,jk->ik", a, b) is a @ b.

    A letter names a dimension; one that the result has not is summed over; repeated in one operand it takes the diagonal;
    '...' stands for any number of dimensions, which broadcast.
    """
    return _C._einsum(*_arguments(args))
