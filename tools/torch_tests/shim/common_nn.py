"""torch.testing._internal.common_nn. PyTorch's tables of modules are not taken over: tests/python goes over Tenon's modules."""

import itertools

import torch
from torch import nn
from torch_tests.absent import AbsentError
from torch_tests.testcase import TestCase

module_tests = new_module_tests = criterion_tests = []
loss_reference_fns = {}
TEST_CUDA = torch.cuda.is_available()
PRECISION = 1e-5
_numbers = itertools.count()


class NNTestCase(TestCase):
    def check_jacobian(self, module, input, jacobian_input=True):
        inputs = input if isinstance(input, tuple) else (input,)
        tracked = [i.detach().double().requires_grad_() if i.is_floating_point() else i for i in inputs]
        self.assertTrue(torch.autograd.gradcheck(module.double(), tuple(tracked)))


class NewModuleTest:
    """A test of one module beside a reference of PyTorch's tables, which are not taken over."""

    def __init__(self, *args, fullname=None, desc=None, check_bfloat16=False, check_half=False, **kwargs):
        self.name = fullname or f"{desc or 'module'}_{next(_numbers)}"
        self.test_cpu, self.kwargs = True, kwargs
        self.check_bfloat16 = self.check_half = self.with_tf32 = False

    def get_name(self):
        return f"test_{self.name}"

    def __call__(self, test_case):
        raise AbsentError("PyTorch's tables of modules (common_nn)")

    test_cuda = __call__


CriterionTest = ModuleTest = NewModuleTest


def _absent_table(*args, **kwargs):
    raise AbsentError("PyTorch's tables of modules (common_nn)")


ctcloss_reference = single_batch_reference_fn = _absent_table


def _test_bfloat16_ops(test_case, op, device, inp_dims=(), prec=1e-2, scale_factor=None):
    """A module's result and gradient in bfloat16 beside those in float32."""
    x = torch.randn(inp_dims, dtype=torch.float32, device=device, requires_grad=True)
    wide = op(x)
    g = torch.randn_like(wide)
    wide.backward(g)
    op = op.bfloat16()
    narrow_x = x.detach().bfloat16().requires_grad_()
    narrow = op(narrow_x)
    narrow.backward(g.bfloat16())
    test_case.assertEqual(wide, narrow, atol=prec, rtol=prec, exact_dtype=False)
    test_case.assertEqual(x.grad, narrow_x.grad, atol=prec, rtol=prec, exact_dtype=False)


def _test_module_empty_input(test_case, module, inp, check_size=True, inference=False):
    """A batch of none: the shape is kept, and all gradients are zeros."""
    if not inference:
        inp.requires_grad_(True)
    out = module(inp)
    if not inference:
        out.backward(torch.rand_like(out))
    if check_size:
        test_case.assertEqual(out.size(), inp.size())
    if not inference:
        for p in module.parameters():
            if p.requires_grad:
                test_case.assertEqual(p.grad, torch.zeros_like(p.grad))
        test_case.assertEqual(inp.grad, torch.zeros_like(inp))


def _create_basic_net():
    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer_dummy_param = nn.Parameter(torch.empty(3, 5))
            self.layer_dummy_buf = nn.Buffer(torch.zeros(1, 3, 3, 7))

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.l1 = Layer()
            self.dummy_param = nn.Parameter(torch.empty(3, 5))
            self.dummy_buf = nn.Buffer(torch.zeros(7, 3, 3, 1))

    net = Net()
    return Layer(), net, nn.Sequential(net, net)
