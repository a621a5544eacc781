"""Numbers at and beyond the ends of a dtype, out=, keywords, older overloads: beside what PyTorch 2.15 (CPU) answers.

A row: an expression, or statements that leave their result in o; then the dtype and the values that PyTorch gives, or the
class and the first line of its error.
"""

import os
import warnings

import pytest

import tenon as torch
import tenon.nn.functional as F
from on_gpus import START, on_gpus

inf = float("inf")
ROWS = [
    ('torch.tensor([0, 2, 250], dtype=torch.uint8).clamp(min=-1)', 'uint8', [0, 2, 250]),
    ('torch.tensor([0, 2, 250], dtype=torch.uint8).clamp(-3, 300)', 'uint8', [0, 2, 250]),
    ('torch.tensor([0, 2, 250], dtype=torch.uint8).clamp(-3, 200)', 'uint8', [0, 2, 200]),
    ('torch.tensor([0, 2, 250], dtype=torch.uint8).clamp(min=300)', RuntimeError, 'Clamp min value 300 is outside the representable range of Byte'),
    ('torch.tensor([0, 2, 250], dtype=torch.uint8).clamp(max=-1)', RuntimeError, 'Clamp max value -1 is outside the representable range of Byte'),
    ('torch.tensor([-128, 2, 120], dtype=torch.int8).clamp(max=300)', 'int8', [-128, 2, 120]),
    ('torch.tensor([-128, 2, 120], dtype=torch.int8).clamp_(-300, 100)', 'int8', [-128, 2, 100]),
    ('torch.tensor([-128, 2, 120], dtype=torch.int8).clamp_min(128)', RuntimeError, 'Clamp min value 128 is outside the representable range of Char'),
    ('torch.tensor([0, 5]).clamp(max=2**64 - 1)', 'int64', [0, 5]),
    ('torch.tensor([True]).clamp(min=True)', NotImplementedError, '"clamp_min_scalar_cpu" not implemented for \'Bool\''),
    ('torch.tensor([0, 2, 250], dtype=torch.uint8).masked_fill(torch.tensor([True, False, False]), -1)', 'uint8', [255, 2, 250]),
    ('torch.tensor([-128, 2, 120], dtype=torch.int8).masked_fill(torch.tensor([True, False, False]), torch.tensor(300))', RuntimeError, 'value cannot be converted to type int8_t without overflow'),
    ('torch.addcmul(torch.ones(2), torch.tensor([2, 3]), torch.tensor([2, 3]), value=-1.5)', 'float32', [-5.0, -12.5]),
    ('torch.addcmul(torch.ones(2, dtype=torch.int32), torch.tensor([True, False]), torch.tensor([True, True]))', 'int32', [2, 1]),
    ('torch.addcmul(torch.tensor([0, 2, 250], dtype=torch.uint8), torch.tensor([0, 2, 250], dtype=torch.uint8), torch.tensor([0, 2, 250], dtype=torch.uint8), value=300)', RuntimeError, 'value cannot be converted to type uint8_t without overflow'),
    ('torch.addcmul(torch.tensor([-7.7, 6.6, 3.3], dtype=torch.float16), torch.tensor([-7.7, 6.6, 3.3], dtype=torch.float16), torch.tensor([-7.7, 6.6, 3.3], dtype=torch.float16), value=70000)', 'float16', [inf, inf, inf]),
    ('torch.tensor([True]).addcmul(torch.tensor([True]), torch.tensor([True]))', NotImplementedError, '"addcmul_cpu_out" not implemented for \'Bool\''),
    ('torch.ones(2).addcmul_(torch.ones(2, dtype=torch.float64), torch.tensor([2, 3]), value=2)', 'float32', [5.0, 7.0]),
    ('torch.ones(2, dtype=torch.int32).addcmul_(torch.ones(2), torch.ones(2))', RuntimeError, "result type Float can't be cast to the desired output type Int"),
    ('torch.ones(2).addcdiv_(torch.ones(2), torch.tensor([2, 4]), value=2)', 'float32', [2.0, 1.5]),
    ('torch.addcdiv(torch.ones(2), torch.tensor([2, 3]), torch.tensor([2, 3]))', RuntimeError, 'Integer division with addcdiv is no longer supported, and in a future  release addcdiv will perform a true division of tensor1 and tensor2. The historic addcdiv behavior can be implemented as (input + value * torch.trunc(tensor1 / tensor2)).to(input.dtype) for integer inputs and as (input + value * tensor1 / tensor2) for float inputs. The future addcdiv behavior is just the latter implementation: (input + value * tensor1 / tensor2), for all dtypes.'),
    ('torch.add(torch.zeros(2, dtype=torch.int16), torch.tensor([1, 2], dtype=torch.uint8), alpha=300)', 'int16', [300, 600]),
    ('torch.zeros(2, dtype=torch.int16).sub_(torch.tensor([1, 2], dtype=torch.uint8), alpha=300)', 'int16', [-300, -600]),
    ('torch.rsub(torch.tensor([1, 2], dtype=torch.uint8), torch.zeros(2, dtype=torch.int16), alpha=300)', 'int16', [-300, -600]),
    ('torch.add(torch.tensor([0, 2, 250], dtype=torch.uint8), torch.tensor([0, 2, 250], dtype=torch.uint8), alpha=300)', RuntimeError, 'value cannot be converted to type uint8_t without overflow'),
    ('torch.add(torch.tensor([-7.7, 6.6, 3.3], dtype=torch.float16), torch.tensor([-7.7, 6.6, 3.3], dtype=torch.float16), alpha=1e6)', RuntimeError, 'value cannot be converted to type c10::Half without overflow'),
    ('torch.add(torch.tensor([False, True]), torch.tensor([True, True]), alpha=-1)', 'bool', [True, True]),
    ('torch.add(torch.tensor([1]), torch.tensor([1]), alpha=True)', RuntimeError, 'Boolean alpha only supported for Boolean results.'),
    ('torch.add(torch.tensor([1]), torch.tensor([1]), alpha=1.5)', RuntimeError, 'For integral input tensors, argument alpha must not be a floating point number.'),
    ('torch.add(torch.ones(2, dtype=torch.bfloat16), torch.ones(2, dtype=torch.int16), alpha=1.5)', 'bfloat16', [2.5, 2.5]),
    ('torch.index_add(torch.tensor([-128, 2, 120], dtype=torch.int8), 0, torch.tensor([1]), torch.tensor([1], dtype=torch.int8), alpha=-129)', RuntimeError, 'value cannot be converted to type int8_t without overflow'),
    ('torch.index_add(torch.tensor([-128, 2, 120], dtype=torch.int8), 0, torch.tensor([1]), torch.tensor([1], dtype=torch.int8), alpha=2.5)', 'int8', [-128, 4, 120]),
    ('torch.fmod(torch.tensor([5, 6], dtype=torch.uint8), -1)', 'uint8', [5, 6]),
    ('torch.fmod(torch.tensor([-128, 2, 120], dtype=torch.int8), -7)', 'int8', [-2, 2, 1]),
    ('torch.fmod(torch.tensor([True]), -2)', 'int64', [1]),
    ('torch.fmod(torch.tensor([-7.5, 7.5]), 2)', 'float32', [-1.5, 1.5]),
    ('torch.tensor([5, 6]).fmod_(4)', 'int64', [1, 2]),
    ('torch.tensor([5, 6], dtype=torch.uint8) // 256', RuntimeError, 'ZeroDivisionError'),
    ('torch.tensor([-7.7, 6.6, 3.3], dtype=torch.float16) == 3.3', 'bool', [False, False, True]),
    ('torch.tensor([-7.7, 6.6, 3.3], dtype=torch.float16) > 3.3', 'bool', [False, True, False]),
    ('torch.tensor([-7.7, 6.6, 3.3], dtype=torch.float16) % 3.3', 'float16', [2.2031, 0.0, 0.0]),
    ('torch.tensor([-7.7, 6.6, 3.3], dtype=torch.float16) + 257.1', 'float16', [249.25, 263.5, 260.25]),
    ('torch.tensor([-7.7, 6.6, 3.3], dtype=torch.float16) ** 70000', RuntimeError, 'value cannot be converted to type c10::Half without overflow'),
    ('torch.full((2,), 70000, dtype=torch.float16)', RuntimeError, 'value cannot be converted to type c10::Half without overflow'),
    ('torch.lerp(torch.ones(2), torch.ones(2, dtype=torch.float64), 0.5)', RuntimeError, 'expected dtype float for `end` but got dtype double'),
    ('torch.lerp(torch.ones(2), torch.ones(2), torch.tensor([1, 1]))', RuntimeError, 'expected dtype float for `weight` but got dtype long int'),
    ('torch.lerp(torch.tensor([1, 2]), torch.tensor([1, 2]), 0.5)', NotImplementedError, '"lerp_kernel_scalar" not implemented for \'Long\''),
    ('torch.ones(2).lerp_(torch.zeros(2), torch.tensor(0.25, dtype=torch.float64))', 'float32', [0.75, 0.75]),
    ('torch.zeros(1) + 2**64', OverflowError, 'int too big to convert'),
    ('F.hardtanh(torch.tensor([-128, 2, 120], dtype=torch.int8), -300, 100)', 'int8', [-128, 2, 100]),
    ('torch.linspace(4.3, 1, 8, dtype=torch.int64)', 'int64', [4, 3, 3, 2, 2, 1, 1, 1]),
    ('torch.linspace(-1.7, -9.9, 6, dtype=torch.int32)', 'int32', [-1, -2, -4, -5, -7, -9]),
    ('torch.linspace(0, -1, 3, dtype=torch.uint8)', 'uint8', [0, 127, 255]),
    ('F.cosine_similarity(torch.arange(6.0).view(1, 2, 3), torch.ones(2, 1, 3), dim=-2)', 'float32', [[0.70711, 0.85749, 0.91914], [0.70711, 0.85749, 0.91914]]),
    ('F.cosine_similarity(torch.full((1, 2), 300.0, dtype=torch.float16), torch.tensor([[300, 200]], dtype=torch.float16))', 'float16', [0.98047]),
    ('F.cosine_similarity(torch.ones(2, 3), torch.arange(3.0))', 'float32', [0.7746, 0.7746]),
    ('F.cosine_similarity(torch.tensor([1, 2]), torch.tensor([1, 2]), dim=0)', RuntimeError, 'expected common dtype to be floating point, yet common dtype is Long'),
    ('F.pad(torch.arange(5.0).view(1, 5), (-1, 2), mode="circular")', 'float32', [[1.0, 2.0, 3.0, 4.0, 1.0, 2.0]]),
    ('F.pad(torch.arange(12.0).view(1, 3, 4), (1, -1, -1, 2), mode="circular")', 'float32', [[[6.0, 4.0, 5.0, 6.0], [10.0, 8.0, 9.0, 10.0], [6.0, 4.0, 5.0, 6.0], [10.0, 8.0, 9.0, 10.0]]]),
    ('F.pad(torch.arange(5.0).view(1, 5), (-3, -3), mode="circular")', RuntimeError, 'Negative padding value is resulting in an empty dimension'),
    ('F.mse_loss(torch.ones(2), torch.tensor(3.0, dtype=torch.float64))', 'float64', 4.0),
    ('F.l1_loss(torch.tensor(3.0, dtype=torch.float64), torch.ones(2), reduction="none")', 'float64', [2.0, 2.0]),
    ('F.smooth_l1_loss(torch.ones(2), torch.tensor(3.0, dtype=torch.float64))', 'float64', 1.5),
    ('F.huber_loss(torch.ones(2), torch.tensor(3.0, dtype=torch.float64))', 'float32', 1.5),
    ('F.huber_loss(torch.tensor(3.0, dtype=torch.float64), torch.ones(2), reduction="none")', 'float64', [1.5, 1.5]),
    ('F.binary_cross_entropy(torch.tensor([0.5]), torch.tensor([0.5], dtype=torch.float64))', RuntimeError, 'Found dtype Double but expected Float'),
    ('F.binary_cross_entropy_with_logits(torch.tensor([0.5], dtype=torch.float64), torch.tensor([0.5]))', 'float32', 0.72408),
    ('F.binary_cross_entropy_with_logits(torch.tensor([0.5]), torch.tensor([1]))', RuntimeError, "result type Float can't be cast to the desired output type Long"),
    ('torch.ones(2).H', RuntimeError, 'tensor.H is only supported on matrices (2-D tensors). Got 1-D tensor.'),
    ('torch.ones(2, 3, 4).H', RuntimeError, 'tensor.H is only supported on matrices (2-D tensors). Got 3-D tensor. For batches of matrices, consider using tensor.mH'),
    ('torch.ones(2, 3).H', 'float32', [[1.0, 1.0], [1.0, 1.0], [1.0, 1.0]]),
    ('torch.ones(2).mH', RuntimeError, 'tensor.mH is only supported on matrices or batches of matrices. Got 1-D tensor.'),
    ('torch.add(torch.ones(2), 10, torch.ones(2))', 'float32', [11.0, 11.0]),
    ('torch.ones(2).add_(-0.5, torch.ones(2))', 'float32', [0.5, 0.5]),
    ('torch.sub(torch.ones(2), 3, torch.ones(2))', 'float32', [-2.0, -2.0]),
    ('torch.addcmul(torch.ones(2), 0.5, torch.ones(2), torch.ones(2))', 'float32', [1.5, 1.5]),
    ('torch.ones(2).addcdiv_(0.5, torch.ones(2), torch.ones(2))', 'float32', [1.5, 1.5]),
    ('torch.addmm(2, torch.ones(2, 2), 3, torch.ones(2, 2), torch.ones(2, 2))', 'float32', [[8.0, 8.0], [8.0, 8.0]]),
    ('torch.addmm(2, torch.ones(2, 2), torch.ones(2, 2), torch.ones(2, 2))', 'float32', [[4.0, 4.0], [4.0, 4.0]]),
    ('torch.ones(2, 2).addmm(2, 3, torch.ones(2, 2), torch.ones(2, 2))', 'float32', [[8.0, 8.0], [8.0, 8.0]]),
    ('torch.ones(2, 2).addmm_(2, torch.ones(2, 2), torch.ones(2, 2))', 'float32', [[4.0, 4.0], [4.0, 4.0]]),
    ('torch.baddbmm(2, torch.ones(1, 2, 2), 3, torch.ones(1, 2, 2), torch.ones(1, 2, 2))', 'float32', [[[8.0, 8.0], [8.0, 8.0]]]),
    ('torch.ones(1, 2, 2).baddbmm_(2, 3, torch.ones(1, 2, 2), torch.ones(1, 2, 2))', 'float32', [[[8.0, 8.0], [8.0, 8.0]]]),
    ('torch.ones(2).double(out=torch.zeros(2))', TypeError, "double() got an unexpected keyword argument 'out'"),
    ('torch.ones(2).float(True)', TypeError, 'float() takes 0 positional arguments but 1 was given'),
    ('torch.ones(2).is_contiguous(foo=1)', TypeError, "is_contiguous() got an unexpected keyword argument 'foo'"),
    ('torch.ones(2).stride(foo=1)', TypeError, "stride() got an unexpected keyword argument 'foo'"),
    ('torch.ones(2).requires_grad_(foo=1)', TypeError, "requires_grad_() got an unexpected keyword argument 'foo'"),
    ('torch.ones(2).add(1, out=torch.zeros(2))', TypeError, "add() got an unexpected keyword argument 'out'"),
    ('torch.ones(2).max(0, out=(torch.zeros(()), torch.zeros((), dtype=torch.int64)))', TypeError, "max() got an unexpected keyword argument 'out'"),
    ('torch.sum(torch.ones(2), 0, foo=1)', TypeError, "sum() got an unexpected keyword argument 'foo'"),
    ('(torch.ones(2, requires_grad=True) // 2).sum().backward()', RuntimeError, 'derivative for aten::floor_divide is not implemented'),
    ('(2 % torch.ones(2, requires_grad=True)).sum().backward()', RuntimeError, 'derivative for aten::remainder is not implemented'),
    ('torch.add(torch.ones(2, requires_grad=True), 1, out=torch.zeros(2))', RuntimeError, "add(): functions with out=... arguments don't support automatic differentiation, but one of the arguments requires grad."),
    ('torch.zeros(2, out=torch.ones(2, requires_grad=True))', RuntimeError, "aten::zeros(): functions with out=... arguments don't support automatic differentiation, but one of the arguments requires grad."),
    ('torch.max(torch.ones(2, requires_grad=True), 0, out=(torch.zeros(()), torch.zeros((), dtype=torch.int64)))', RuntimeError, "max(): functions with out=... arguments don't support automatic differentiation, but one of the arguments requires grad."),
    ('torch.add(torch.ones(2), 1, out=torch.zeros(2, dtype=torch.int32))', RuntimeError, "result type Float can't be cast to the desired output type Int"),
    ('torch.abs(torch.ones(2), out=torch.zeros(2, dtype=torch.float64))', RuntimeError, 'Found dtype Double but expected Float'),
    ('torch.mm(torch.ones(2, 2), torch.ones(2, 2), out=torch.zeros(2, 2, dtype=torch.float64))', RuntimeError, 'Expected out tensor to have dtype float, but got double instead'),
    ('torch.amax(torch.ones(2, 2), 0, out=torch.zeros(2, dtype=torch.float64))', RuntimeError, "Expected the dtype for input and out to match, but got Float for input's dtype and Double for out's dtype."),
    ('torch.index_select(torch.ones(2), 0, torch.tensor([0]), out=torch.zeros(1, dtype=torch.float64))', RuntimeError, 'index_select(): self and result must have the same scalar type'),
    ('torch.cat([torch.ones(2)], out=torch.zeros(2, dtype=torch.int32))', TypeError, "torch.cat(): input types can't be cast to the desired output type Int"),
    ('torch.any(torch.ones(2), 0, out=torch.zeros((), dtype=torch.int32))', RuntimeError, 'any only supports bool tensor for result, got: Int'),
    ('torch.zeros(2, dtype=torch.float32, out=torch.zeros(2, dtype=torch.int32))', RuntimeError, 'dtype Float does not match dtype of out parameter (Int)'),
    ('torch.mean(torch.ones(2), 0, dtype=torch.float32, out=torch.zeros((), dtype=torch.float64))', RuntimeError, 'Expected out tensor to have dtype float, but got double instead'),
    ('torch.max(torch.ones(2), 0, out=(torch.zeros(()),))', TypeError, 'expected tuple of 2 elements but got 1'),
    ('torch.sort(torch.ones(2), out=(torch.zeros(2, dtype=torch.float64), torch.zeros(2, dtype=torch.int64)))', RuntimeError, 'Expected out tensor to have dtype float, but got double instead'),
    ('o = torch.zeros(2); torch.max(torch.tensor([1., 2]), torch.tensor([2., 1]), out=o)', 'float32', [2.0, 2.0]),
    ('o = torch.zeros(()); torch.min(torch.tensor([1., 2]), out=o)', 'float32', 1.0),
    ('o = torch.zeros(0); torch.max(torch.tensor([[1., 2], [5, 4]]), 0, out=(o, torch.zeros(0, dtype=torch.int64)))', 'float32', [5.0, 4.0]),
    ('o = torch.zeros(0, dtype=torch.int64); torch.sort(torch.tensor([3., 1, 2]), out=(torch.zeros(0), o))', 'int64', [1, 2, 0]),
    ('o = torch.zeros(0); torch.topk(torch.tensor([3., 1, 2]), 2, out=[o, torch.zeros(0, dtype=torch.int64)])', 'float32', [3.0, 2.0]),
    ('o = torch.zeros(0); torch.aminmax(torch.tensor([3., 1, 2]), dim=0, out=(torch.zeros(0), o))', 'float32', 3.0),
    ('o = torch.zeros(2); torch.where(torch.tensor([True, False]), torch.ones(2), torch.zeros(2), out=o)', 'float32', [1.0, 0.0]),
    ('o = torch.zeros(2, 2, dtype=torch.int32); torch.eye(2, out=o)', 'int32', [[1, 0], [0, 1]]),
    ('o = torch.zeros(5, dtype=torch.int64); torch.linspace(0, 3, 5, out=o)', 'int64', [0, 0, 1, 2, 3]),
    ('o = torch.zeros(5, 2)[:, 0]; torch.arange(5, out=o)', 'float32', [0.0, 1.0, 2.0, 3.0, 4.0]),
    ('o = torch.zeros(3, dtype=torch.int32); torch.full((2,), 1.5, out=o)', 'int32', [1, 1]),
    ('o = torch.zeros(2, dtype=torch.int64); torch.sum(torch.ones(3, 2) * 1.5, 0, out=o)', 'int64', [3, 3]),
    ('o = torch.zeros(2, dtype=torch.float64); torch.add(torch.ones(2), 1, out=o)', 'float64', [2.0, 2.0]),
    ('o = torch.zeros(2); torch.fmod(torch.ones(2) * 5, 3, out=o)', 'float32', [2.0, 2.0]),
    ('b = torch.zeros(9); o = b[5:5]; torch.add(torch.ones(3), 1, out=o); o = b', 'float32', [0.0, 0.0, 0.0, 0.0, 0.0, 2.0, 2.0, 2.0, 0.0]),
    ('o = torch.empty(0); torch.add(torch.ones(2, 3).t(), 1, out=o)', 'float32', [[2.0, 2.0], [2.0, 2.0], [2.0, 2.0]]),
]

# what a GPU would have to be waited for: a value on it that the dtype cannot hold, a divisor on it that is zero
HOST_ALONE = [
    "torch.tensor([-128, 2, 120], dtype=torch.int8).masked_fill(torch.tensor([True, False, False]), torch.tensor(300))",
    "torch.tensor([5, 6], dtype=torch.uint8) // 256",
]


def flat(x):
    return [v for row in x for v in flat(row)] if isinstance(x, list) else [x]


def check(source, kind, want, device="cpu"):
    names = {"torch": torch, "F": F}
    with warnings.catch_warnings(), torch.device(device):
        warnings.simplefilter("ignore")
        if not isinstance(kind, str):
            with pytest.raises(kind) as error:
                exec(source, names)
            first = str(error.value).splitlines()[0]
            want = want if device == "cpu" else want.replace("_cpu_out", "_cuda").replace("_cpu", "_cuda")
            assert type(error.value) is kind and first == want, source
            return
        if source.startswith(("o =", "b =")):
            exec(source, names)
        else:
            names["o"] = eval(source, names)
    got = names["o"]
    assert str(got.dtype) == f"torch.{kind}" and got.device.type == device, source
    assert flat(got.tolist()) == pytest.approx(flat(want), rel=2e-4, nan_ok=True), source


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_as_pytorch(row):
    check(*row)


@on_gpus(1, imports=START + f"import sys; sys.path.insert(0, {os.path.dirname(os.path.abspath(__file__))!r})\n")
def test_as_pytorch_on_a_gpu():
    from test_call_forms import HOST_ALONE, ROWS, check

    for row in ROWS:
        if row[0] not in HOST_ALONE:
            check(*row, device="cuda")


def test_out_that_takes_another_shape_warns():
    o = torch.zeros(3, 3)
    with pytest.warns(UserWarning, match=r"^An output with one or more elements was resized since it had shape \[3, 3\], which does "
                      r"not match the required output shape \[2\]\."):
        assert torch.add(torch.ones(2), 1, out=o) is o
    assert o.tolist() == [2, 2]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        torch.add(torch.ones(2), 1, out=torch.zeros(0))
        torch.zeros(2, out=torch.zeros(3))


def test_out_that_overlaps_an_input_in_part_is_refused():
    b = torch.zeros(5)
    with pytest.raises(RuntimeError, match="^unsupported operation: some elements of the input tensor and the written-to tensor"):
        torch.exp(b[:4], out=b[1:])
    with pytest.raises(RuntimeError, match="^unsupported operation: more than one element of the written-to tensor"):
        torch.exp(torch.zeros(2), out=torch.zeros(1).expand(2))
    assert torch.exp(b, out=b) is b and b.tolist() == [1] * 5


def test_out_is_written_once():
    x, out = torch.arange(6.).reshape(2, 3), torch.zeros(3, 2).t()
    place = out.data_ptr()
    assert torch.sub(x, 1, out=out) is out and (out.data_ptr(), out.stride(), out._version) == (place, (1, 2), 1)
    assert torch.mul(out, out, out=out).tolist() == [[1, 0, 1], [4, 9, 16]] and out._version == 2
    with pytest.raises(RuntimeError, match="refer to a single memory location"):
        torch.add(out[:, :2], out[:, :2].t(), out=out[:, :2])
    assert out.tolist() == [[1, 0, 1], [4, 9, 16]]
    w = torch.ones(2, 3, requires_grad=True)
    with pytest.raises(RuntimeError, match="automatic differentiation"):
        torch.add(w, 1, out=out)
    assert out.tolist() == [[1, 0, 1], [4, 9, 16]]
    kept = (w * out).sum()
    torch.exp(x, out=out)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        kept.backward()


def test_results_with_names_of_out():
    values, indices = torch.zeros(0), torch.zeros(0, dtype=torch.int64)
    both = torch.max(torch.tensor([[1.0, 2], [5, 4]]), 0, out=(values, indices))
    assert both.values is values and both.indices is indices
    assert indices.tolist() == [1, 1]


@on_gpus(0)
def test_an_older_overload_warns_once():
    with pytest.warns(UserWarning) as seen:
        torch.add(torch.ones(2), 10, torch.ones(2))
    assert str(seen[0].message) == (
        "This overload of add is deprecated:\n\tadd(Tensor input, Number alpha, Tensor other, *, Tensor out = None)\n"
        "Consider using one of the following signatures instead:\n"
        "\tadd(Tensor input, Tensor other, *, Number alpha = 1, Tensor out = None)")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        torch.ones(2).sub_(2, torch.ones(2))


@on_gpus(2)
def test_devices_are_not_mixed():
    a, b = torch.ones(2, device="cuda:0"), torch.ones(2, device="cuda:1")
    for elements, others in ((a, torch.ones(2)), (torch.ones(2), a), (a, b)):
        with pytest.raises(RuntimeError, match="^Expected all tensors to be on the same device, but got test_elements is on"):
            torch.isin(elements, others)
    with pytest.raises(RuntimeError, match="^Expected all tensors to be on the same device, but found at least two devices"):
        torch.add(a, 1, out=torch.zeros(2))
    with pytest.raises(RuntimeError, match="^Expected out tensor to have device cuda:0, but got cpu instead"):
        torch.mm(torch.ones(2, 2, device="cuda"), torch.ones(2, 2, device="cuda"), out=torch.zeros(2, 2))
    o = torch.zeros(2, device="cuda:1")
    assert torch.arange(2, out=o) is o and o.tolist() == [0, 1] and o.device.index == 1
