"""What wrong calls are answered with: PyTorch's class and text first, Tenon's help after it.

Each text was seen on PyTorch: on the CPU, but for those of GPUs, which its documents and sources give.
"""
# ruff: noqa: E501
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

os.environ.setdefault("TENON_FAKE_GPUS", "2")
import tenon as torch  # noqa: E402

SOURCE = Path(__file__).resolve().parents[2]

DEVICES = [
    ("torch.device('')", RuntimeError, 'Device string must not be empty'),
    ("torch.device('cuda:-1')", RuntimeError, "Invalid device string: 'cuda:-1'"),
    ("torch.device('cuda:')", RuntimeError, "Invalid device string: 'cuda:'"),
    ("torch.device('cuda:01')", RuntimeError, "Invalid device string: 'cuda:01'"),
    ("torch.device('cuda:1:2')", RuntimeError, "Invalid device string: 'cuda:1:2'"),
    ("torch.device(' cuda')", RuntimeError, "Invalid device string: ' cuda'"),
    ("torch.device('cuda:99999999999')", RuntimeError, "Could not parse device index '99999999999' in device string 'cuda:99999999999'"),
    ("torch.device('cuda:1',1)", RuntimeError, 'type (string) must not include an index because index was passed explicitly: cuda:1'),
    ("torch.device('cuda',-1)", RuntimeError, 'Device index must not be negative'),
    ('torch.device(-1)', RuntimeError, 'Device index must not be negative'),
    ("setattr(torch.device('cpu'),'index',3)", AttributeError, "attribute 'index' of 'torch.device' objects is not writable"),
    ("setattr(torch.device('cpu'),'type','cuda')", AttributeError, "attribute 'type' of 'torch.device' objects is not writable"),
    ("torch.device('cpu') < torch.device('cuda')", TypeError, 'comparison not implemented'),
]

CREATION = [
    ('torch.tensor([[1,2],[3]])', ValueError, 'expected sequence of length 2 at dim 1 (got 1)'),
    ('torch.tensor([[1],[2,3]])', ValueError, 'expected sequence of length 1 at dim 1 (got 2)'),
    ('torch.tensor([[1],2])', TypeError, 'not a sequence'),
    ("torch.tensor('abc')", TypeError, "new(): invalid data type 'str'"),
    ("torch.tensor(['a','b'])", ValueError, "too many dimensions 'str'"),
    ('torch.tensor(None)', RuntimeError, 'Could not infer dtype of NoneType'),
    ('torch.tensor([None])', RuntimeError, 'Could not infer dtype of NoneType'),
    ('torch.tensor(object())', RuntimeError, 'Could not infer dtype of object'),
    ('torch.tensor([1,object()])', RuntimeError, 'Could not infer dtype of object'),
    ('torch.tensor()', TypeError, 'tensor() missing 1 required positional arguments: "data"'),
    ('torch.tensor([1,2],requires_grad=True)', RuntimeError, 'Only Tensors of floating point and complex dtype can require gradients'),
    ('torch.tensor([1,2],dtype=torch.int8,requires_grad=True)', RuntimeError, 'Only Tensors of floating point and complex dtype can require gradients'),
    ('torch.ones(2,dtype=torch.int64,requires_grad=True)', RuntimeError, 'Only Tensors of floating point and complex dtype can require gradients'),
    ('torch.tensor([1,2]).requires_grad_()', RuntimeError, 'only Tensors of floating point dtype can require gradients'),
    ("torch.tensor([1.5],dtype='float32')", TypeError, "tensor(): argument 'dtype' must be torch.dtype, not str"),
    ('torch.tensor([300],dtype=torch.uint8)', RuntimeError, 'value cannot be converted to type uint8 without overflow'),
    ('torch.tensor({1:2})', RuntimeError, 'Could not infer dtype of dict'),
    ('torch.tensor({1,2})', RuntimeError, 'Could not infer dtype of set'),
    ("torch.tensor(b'ab')", TypeError, "new(): invalid data type 'bytes'"),
    ("torch.zeros('a')", TypeError, "zeros(): argument 'size' (position 1) must be tuple of ints, not str"),
    ('torch.zeros(2.5)', TypeError, "zeros(): argument 'size' (position 1) must be tuple of ints, not float"),
    ("torch.zeros(2,dtype='f')", TypeError, "zeros(): argument 'dtype' must be torch.dtype, not str"),
    ('torch.zeros(2,device=1.5)', TypeError, "zeros(): argument 'device' must be torch.device, not float"),
    ("torch.full((2,),'a')", TypeError, "full(): argument 'fill_value' (position 2) must be Number, not str"),
    ('torch.full(2,3)', TypeError, "full(): argument 'size' (position 1) must be tuple of ints, not int"),
    ('torch.arange(0,10,0)', RuntimeError, 'step must be nonzero'),
    ('torch.arange(0,10,-1)', RuntimeError, 'upper bound and lower bound inconsistent with step sign'),
    ('torch.arange(10,0,1)', RuntimeError, 'upper bound and lower bound inconsistent with step sign'),
    ("torch.arange(0,float('inf'))", RuntimeError, 'unsupported range: 0 -> inf'),
    ("torch.arange(0,float('nan'))", RuntimeError, 'unsupported range: 0 -> nan'),
    ('torch.linspace(0,1,-1)', RuntimeError, 'number of steps must be non-negative'),
    ('torch.eye(-1)', RuntimeError, 'n must be greater or equal to 0, got -1'),
    ('torch.eye(2,-1)', RuntimeError, 'm must be greater or equal to 0, got -1'),
    ('torch.rand(-1)', RuntimeError, 'Trying to create tensor with negative dimension -1: [-1]'),
    ('torch.randint(5,5,(2,))', RuntimeError, "random_ expects 'from' to be less than 'to', but got from=5 >= to=5"),
    ('torch.randint(0,(2,))', RuntimeError, "random_ expects 'from' to be less than 'to', but got from=0 >= to=0"),
    ("torch.Tensor('a')", TypeError, "new(): invalid data type 'str'"),
    ('torch.Tensor(2.5)', TypeError, 'new(): data must be a sequence (got float)'),
    ('torch.Tensor(-1)', RuntimeError, 'Trying to create tensor with negative dimension -1: [-1]'),
    ("torch.as_tensor('a')", TypeError, "new(): invalid data type 'str'"),
    ("torch.Size([1,'a'])", TypeError, "torch.Size() takes an iterable of 'int' (item 1 is 'str')"),
]

VALUES = [
    ('torch.ones(2).item()', RuntimeError, 'a Tensor with 2 elements cannot be converted to Scalar'),
    ('torch.ones(0).item()', RuntimeError, 'a Tensor with 0 elements cannot be converted to Scalar'),
    ('bool(torch.ones(2))', RuntimeError, 'Boolean value of Tensor with more than one value is ambiguous'),
    ('bool(torch.ones(0))', RuntimeError, 'Boolean value of Tensor with no values is ambiguous'),
    ('float(torch.ones(2))', ValueError, 'only one element tensors can be converted to Python scalars'),
    ('int(torch.ones(3))', ValueError, 'only one element tensors can be converted to Python scalars'),
    ('int(torch.ones(0))', ValueError, 'only one element tensors can be converted to Python scalars'),
    ('range(3)[torch.ones(2,dtype=int)]', TypeError, 'only integer tensors of a single element can be converted to an index'),
    ('range(3)[torch.tensor(1.)]', TypeError, 'only integer tensors of a single element can be converted to an index'),
    ('len(torch.tensor(1))', TypeError, 'len() of a 0-d tensor'),
    ('iter(torch.tensor(1))', TypeError, 'iteration over a 0-d tensor'),
    ('torch.tensor(1)[0]', IndexError, 'invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to convert a 0-dim tensor to a number'),
    ('torch.ones(3)[5]', IndexError, 'index 5 is out of bounds for dimension 0 with size 3'),
    ('torch.ones(3)[-4]', IndexError, 'index -4 is out of bounds for dimension 0 with size 3'),
    ('torch.ones(3)[1,2]', IndexError, 'too many indices for tensor of dimension 1'),
    ("torch.ones(3)['a']", TypeError, "new(): invalid data type 'str'"),
    ('torch.ones(3)[1.5]', IndexError, 'only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices (got float)'),
    ('torch.ones(3)[::-1]', ValueError, 'step must be greater than zero'),
    ('torch.ones(3)[::0]', ValueError, 'slice step cannot be zero'),
    ('torch.ones(3)[[0,5]]', IndexError, 'index 5 is out of bounds for dimension 0 with size 3'),
    ('torch.ones(3)[torch.tensor([0,5])]', IndexError, 'index 5 is out of bounds for dimension 0 with size 3'),
    ('torch.ones(3)[torch.tensor([0.5])]', IndexError, 'tensors used as indices must be long, int, byte or bool tensors'),
    ('torch.ones(3)[torch.tensor([True,False])]', IndexError, 'The shape of the mask [2] at index 0 does not match the shape of the indexed tensor [3] at index 0'),
    ('torch.ones(2,3)[torch.tensor([0,1]),torch.tensor([0,1,2])]', IndexError, 'shape mismatch: indexing tensors could not be broadcast together with shapes [2], [3]'),
    ('torch.ones(3).__setitem__(0,torch.ones(2))', RuntimeError, 'expand(torch.FloatTensor{[2]}, size=[]): the number of sizes provided (0) must be greater or equal to the number of dimensions in the tensor (1)'),
    ('torch.ones(3).__setitem__(slice(0,2),torch.ones(3))', RuntimeError, 'The expanded size of the tensor (2) must match the existing size (3) at non-singleton dimension 0.  Target sizes: [2].  Tensor sizes: [3]'),
    ("torch.ones(3).__setitem__(0,'a')", TypeError, "can't assign a str to a torch.FloatTensor"),
    ('torch.ones(3).__setitem__(7,1)', IndexError, 'index 7 is out of bounds for dimension 0 with size 3'),
]

MOVES = [
    ("torch.ones(3).to('float64')", RuntimeError, "Invalid device string: 'float64'"),
    ("torch.ones(3).cuda('cpu')", RuntimeError, 'Invalid device, must be cuda device'),
]

DTYPES = [
    ('torch.tensor(2**63)', ValueError, 'Overflow when unpacking long long'),
    ('torch.tensor([2**63])', ValueError, 'Overflow when unpacking long long'),
    ('torch.tensor(2**64)', ValueError, 'Overflow when unpacking long long'),
    ('torch.tensor([-2**63-1])', ValueError, 'Overflow when unpacking long long'),
    ('torch.dot(torch.ones(3),torch.ones(3,dtype=int))', RuntimeError, 'dot : expected both vectors to have same dtype, but found Float and Long'),
    ('torch.mm(torch.ones(2,2),torch.ones(2,2,dtype=int))', RuntimeError, 'expected m1 and m2 to have the same dtype, but got: float != long int'),
    ('torch.mm(torch.ones(2,2,dtype=int),torch.ones(2,2))', RuntimeError, 'expected m1 and m2 to have the same dtype, but got: long int != float'),
    ('torch.ones(2,2)@torch.ones(2,2,dtype=torch.float64)', RuntimeError, 'expected m1 and m2 to have the same dtype, but got: float != double'),
    ('torch.ones(3,dtype=int).add_(1.5)', RuntimeError, "result type Float can't be cast to the desired output type Long"),
    ('torch.ones(3,dtype=int).add_(torch.ones(3))', RuntimeError, "result type Float can't be cast to the desired output type Long"),
    ('torch.ones(3,dtype=int).div_(2)', RuntimeError, "result type Float can't be cast to the desired output type Long"),
    ('torch.ones(3,dtype=bool)-torch.ones(3,dtype=bool)', NotImplementedError, 'Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` operator instead.'),
    ('-torch.ones(3,dtype=bool)', NotImplementedError, 'Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, use the `~` or `logical_not()` operator instead.'),
    ('torch.ones(3,dtype=bool)-1', NotImplementedError, 'Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a mask, use the `~` or `logical_not()` operator instead.'),
    ('1-torch.ones(3,dtype=bool)', NotImplementedError, 'Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a mask, use the `~` or `logical_not()` operator instead.'),
    ('torch.ones(3)&1', NotImplementedError, '"bitwise_and_cpu" not implemented for \'Float\''),
    ('torch.ones(3)&torch.ones(3)', NotImplementedError, '"bitwise_and_cpu" not implemented for \'Float\''),
    ('~torch.ones(3)', TypeError, '~ (operator.invert) is only implemented on integer and Boolean-type tensors'),
    ('torch.ones(3)<<1', NotImplementedError, '"lshift_cpu" not implemented for \'Float\''),
    ('torch.ones(3,dtype=int)//0', RuntimeError, 'ZeroDivisionError'),
    ('torch.ones(3,dtype=int)%0', RuntimeError, 'ZeroDivisionError'),
    ('torch.tensor([2])**-1', RuntimeError, 'Integers to negative integer powers are not allowed.'),
    ('torch.add(torch.ones(3,dtype=int),1,alpha=1.5)', RuntimeError, 'For integral input tensors, argument alpha must not be a floating point number.'),
    ('torch.add(torch.ones(2),1,out=torch.zeros(2,dtype=int))', RuntimeError, "result type Float can't be cast to the desired output type Long"),
]

SHAPES_AND_ARGUMENTS = [
    ('torch.ones(3)+torch.ones(4)', RuntimeError, 'The size of tensor a (3) must match the size of tensor b (4) at non-singleton dimension 0'),
    ('torch.ones(2,3)+torch.ones(2,4)', RuntimeError, 'The size of tensor a (3) must match the size of tensor b (4) at non-singleton dimension 1'),
    ('torch.ones(3)@torch.ones(4)', RuntimeError, 'inconsistent tensor size, expected tensor [3] and src [4] to have the same number of elements, but got 3 and 4 elements respectively'),
    ('torch.ones(2,3)@torch.ones(4)', RuntimeError, 'size mismatch, got input (2), mat (2x3), vec (4)'),
    ('torch.tensor(1.)@torch.ones(2)', RuntimeError, 'both arguments to matmul need to be at least 1D, but they are 0D and 1D'),
    ('torch.dot(torch.ones(3),torch.ones(4))', RuntimeError, 'inconsistent tensor size, expected tensor [3] and src [4] to have the same number of elements, but got 3 and 4 elements respectively'),
    ('torch.dot(torch.ones(3,1),torch.ones(3))', RuntimeError, '1D tensors expected, but got 2D and 1D tensors'),
    ('torch.mv(torch.ones(2,3),torch.ones(4))', RuntimeError, 'size mismatch, got input (2), mat (2x3), vec (4)'),
    ('torch.bmm(torch.ones(2,3,4),torch.ones(2,3,4))', RuntimeError, 'Expected size for first two dimensions of batch2 tensor to be: [2, 4] but got: [2, 3].'),
    ('torch.bmm(torch.ones(2,3,4),torch.ones(3,4,4))', RuntimeError, 'Expected size for first two dimensions of batch2 tensor to be: [2, 4] but got: [3, 4].'),
    ('torch.bmm(torch.ones(3,4),torch.ones(3,4,4))', RuntimeError, 'batch1 must be a 3D tensor'),
    ('torch.tensor([2]).pow_(-1)', RuntimeError, 'Integers to negative integer powers are not allowed.'),
    ('torch.ones(3).view(2)', RuntimeError, "shape '[2]' is invalid for input of size 3"),
    ('torch.ones(6).view(4,-1)', RuntimeError, "shape '[4, -1]' is invalid for input of size 6"),
    ('torch.ones(6).view(-1,-1)', RuntimeError, 'only one dimension can be inferred'),
    ('torch.ones(6).reshape(4,-1)', RuntimeError, "shape '[4, -1]' is invalid for input of size 6"),
    ('torch.ones(6).reshape(5)', RuntimeError, "shape '[5]' is invalid for input of size 6"),
    ('torch.ones(0).view(0,-1)', RuntimeError, 'cannot reshape tensor of 0 elements into shape [0, -1] because the unspecified dimension size -1 can be any value and is ambiguous'),
    ('torch.ones(2,3).t().view(6)', RuntimeError, "view size is not compatible with input tensor's size and stride (at least one dimension spans across two contiguous subspaces). Use .reshape(...) instead."),
    ('torch.ones(2,3).view(torch.int64)', RuntimeError, 'self.size(-1) must be divisible by 2 to view Float as Long (different element sizes), but got 3'),
    ('torch.ones(2,3).transpose(0,2)', IndexError, 'Dimension out of range (expected to be in range of [-2, 1], but got 2)'),
    ('torch.ones(2,3).permute(0,0)', RuntimeError, 'permute(): duplicate dims are not allowed.'),
    ('torch.ones(2,3).permute(0,2)', IndexError, 'Dimension out of range (expected to be in range of [-2, 1], but got 2)'),
    ('torch.ones(2,3,4).t()', RuntimeError, 't() expects a tensor with <= 2 dimensions, but self is 3D'),
    ('torch.ones(2,3).expand(4,3)', RuntimeError, 'The expanded size of the tensor (4) must match the existing size (2) at non-singleton dimension 0.  Target sizes: [4, 3].  Tensor sizes: [2, 3]'),
    ('torch.ones(3).expand(-1,3)', RuntimeError, "The expanded size of the tensor (-1) isn't allowed in a leading, non-existing dimension 0"),
    ('torch.ones(2,3).expand(3)', RuntimeError, 'expand(torch.FloatTensor{[2, 3]}, size=[3]): the number of sizes provided (1) must be greater or equal to the number of dimensions in the tensor (2)'),
    ('torch.ones(2,3).squeeze(5)', IndexError, 'Dimension out of range (expected to be in range of [-2, 1], but got 5)'),
    ('torch.ones(2,3).unsqueeze(4)', IndexError, 'Dimension out of range (expected to be in range of [-3, 2], but got 4)'),
    ('torch.ones(2,3).sum(3)', IndexError, 'Dimension out of range (expected to be in range of [-2, 1], but got 3)'),
    ('torch.ones(2,3).sum((0,0))', RuntimeError, 'dim 0 appears multiple times in the list of dims'),
    ('torch.ones(2,3).argmax(4)', IndexError, 'Dimension out of range (expected to be in range of [-2, 1], but got 4)'),
    ('torch.ones(0).max()', RuntimeError, "max(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the 'dim' argument."),
    ('torch.ones(0).argmax()', IndexError, 'argmax(): Expected reduction dim to be specified for input.numel() == 0.'),
    ('torch.ones(2,0).max(1)', IndexError, 'max(): Expected reduction dim 1 to have non-zero size.'),
    ('torch.ones(0).amax()', RuntimeError, "amax(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the 'dim' argument."),
    ('torch.ones(2,3).amax(dim=(0,5))', IndexError, 'Dimension out of range (expected to be in range of [-2, 1], but got 5)'),
    ('torch.ones(3).split(0)', RuntimeError, 'split_size can only be 0 if dimension size is 0, but got dimension size of 3'),
    ('torch.ones(3).split(-1)', RuntimeError, 'split expects split_size be non-negative, but got split_size=-1'),
    ('torch.ones(3).split([1,1])', RuntimeError, "split_with_sizes expects split_sizes to sum exactly to 3 (input tensor's size at dimension 0), but got split_sizes=[1, 1]"),
    ('torch.ones(3).split([4,-1])', RuntimeError, 'split_with_sizes expects split_sizes have only non-negative entries, but got split_sizes=[4, -1]'),
    ('torch.ones(3).chunk(0)', RuntimeError, 'chunk expects `chunks` to be greater than 0, got: 0'),
    ('torch.tensor(1).chunk(2)', RuntimeError, 'chunk expects at least a 1-dimensional tensor'),
    ('torch.tensor(1).split(1)', RuntimeError, 'split expects at least a 1-dimensional tensor'),
    ('torch.ones(3).unbind(2)', IndexError, 'Dimension out of range (expected to be in range of [-1, 0], but got 2)'),
    ('torch.ones(3).narrow(0,2,5)', RuntimeError, 'start (2) + length (5) exceeds dimension size (3).'),
    ('torch.ones(3).narrow(0,-5,1)', IndexError, 'start out of range (expected to be in range of [-3, 3], but got -5)'),
    ('torch.ones(3).narrow(0,0,-1)', RuntimeError, 'narrow(): length must be non-negative.'),
    ('torch.ones(3).select(0,5)', IndexError, 'select(): index 5 out of range for tensor of size [3] at dimension 0'),
    ('torch.ones(2,3).flatten(1,0)', RuntimeError, 'flatten() has invalid args: start_dim cannot come after end_dim'),
    ('torch.ones(2,3).diagonal(0,1,1)', RuntimeError, 'diagonal dimensions cannot be identical 1, 1'),
    ('torch.ones(3).diagonal()', IndexError, 'Dimension out of range (expected to be in range of [-1, 0], but got 1)'),
    ('torch.cat([torch.ones(2),torch.ones(2,2)])', RuntimeError, 'Tensors must have same number of dimensions: got 1 and 2'),
    ('torch.cat([torch.ones(2,3),torch.ones(3,2)])', RuntimeError, 'Sizes of tensors must match except in dimension 0. Expected size 3 but got size 2 for tensor number 1 in the list.'),
    ('torch.cat([torch.ones(2,3),torch.ones(3,2)],1)', RuntimeError, 'Sizes of tensors must match except in dimension 1. Expected size 2 but got size 3 for tensor number 1 in the list.'),
    ('torch.cat([torch.ones(2),1])', TypeError, 'expected Tensor as element 1 in argument 0, but got int'),
    ('torch.cat(torch.ones(2))', TypeError, "cat(): argument 'tensors' (position 1) must be tuple of Tensors, not Tensor"),
    ('torch.cat([torch.ones(2)],3)', IndexError, 'Dimension out of range (expected to be in range of [-1, 0], but got 3)'),
    ('torch.cat([torch.tensor(1.),torch.tensor(2.)])', RuntimeError, 'zero-dimensional tensor (at position 0) cannot be concatenated'),
    ('torch.stack([])', RuntimeError, 'stack expects a non-empty TensorList'),
    ('torch.stack([torch.ones(2),torch.ones(3)])', RuntimeError, 'stack expects each tensor to be equal size, but got [2] at entry 0 and [3] at entry 1'),
    ('torch.ones(3).masked_fill(torch.tensor([1,0,1]),0)', RuntimeError, 'masked_fill_ only supports boolean masks, but got mask with dtype long int'),
    ('torch.ones(3).masked_fill(torch.tensor([True]*3),torch.ones(2))', RuntimeError, 'masked_fill_ only supports a 0-dimensional value tensor, but got tensor with 1 dimension(s).'),
    ('torch.where(torch.ones(3),1,2)', RuntimeError, 'where expected condition to be a boolean tensor, but got a tensor with dtype Float'),
    ('torch.where(torch.tensor([True,False]),torch.ones(3),torch.ones(3))', RuntimeError, 'The size of tensor a (2) must match the size of tensor b (3) at non-singleton dimension 0'),
    ('torch.ones(3).clamp()', RuntimeError, "torch.clamp: At least one of 'min' or 'max' must not be None"),
    ("torch.add(torch.ones(3),'a')", TypeError, "add(): argument 'other' (position 2) must be Tensor, not str"),
    ("torch.add(torch.ones(3),torch.ones(3),alpha='a')", TypeError, "add(): argument 'alpha' must be Number, not str"),
    ("torch.ones(3)+'a'", TypeError, "unsupported operand type(s) for +: 'Tensor' and 'str'"),
    ('torch.ones(3)+None', TypeError, "unsupported operand type(s) for +: 'Tensor' and 'NoneType'"),
    ('torch.ones(3)+[1,2]', TypeError, "unsupported operand type(s) for +: 'Tensor' and 'list'"),
    ("'a'+torch.ones(3)", TypeError, 'can only concatenate str (not "Tensor") to str'),
    ("torch.ones(3)<'a'", TypeError, "'<' not supported between instances of 'Tensor' and 'str'"),
    ('torch.ones(3)@2', TypeError, "unsupported operand type(s) for @: 'Tensor' and 'int'"),
    ('torch.exp(3)', TypeError, "exp(): argument 'input' (position 1) must be Tensor, not int"),
    ("torch.exp('a')", TypeError, "exp(): argument 'input' (position 1) must be Tensor, not str"),
    ('torch.exp()', TypeError, 'exp() missing 1 required positional arguments: "input"'),
    ('torch.exp(torch.ones(2),1)', TypeError, 'exp() takes 1 positional argument but 2 were given'),
    ('torch.ones(2).reshape()', TypeError, 'reshape() missing 1 required positional arguments: "shape"'),
    ('torch.ones(2,requires_grad=True).add_(1)', RuntimeError, 'a leaf Variable that requires grad is being used in an in-place operation.'),
    ('torch.ones(2).copy_(torch.ones(3))', RuntimeError, 'The size of tensor a (2) must match the size of tensor b (3) at non-singleton dimension 0'),
    ('torch.ones(2).fill_(torch.ones(2))', RuntimeError, 'fill_ only supports 0-dimension value tensor but got tensor with 1 dimensions.'),
    ('torch.ones(1).expand(3).add_(1)', RuntimeError, 'unsupported operation: more than one element of the written-to tensor refers to a single memory location. Please clone() the tensor before performing the operation.'),
    ("torch.ones(2,2).tril('a')", TypeError, "tril(): argument 'diagonal' (position 1) must be int, not str"),
    ('torch.ones(2).expand_as(torch.ones(3))', RuntimeError, 'The expanded size of the tensor (3) must match the existing size (2) at non-singleton dimension 0.  Target sizes: [3].  Tensor sizes: [2]'),
    ('torch.flip(torch.ones(2),(0,0))', RuntimeError, 'dim 0 appears multiple times in the list of dims'),
    ('torch.cumsum(torch.ones(2),3)', IndexError, 'Dimension out of range (expected to be in range of [-1, 0], but got 3)'),
    ('torch.ones(2).logical_and(1)', TypeError, "logical_and(): argument 'other' (position 1) must be Tensor, not int"),
    ('torch.maximum(torch.ones(2),1)', TypeError, "maximum(): argument 'other' (position 2) must be Tensor, not int"),
    ('torch.bitwise_and(torch.ones(2),torch.ones(2))', NotImplementedError, '"bitwise_and_cpu" not implemented for \'Float\''),
]

APART = "Expected all tensors to be on the same device, but found at least two devices, "
ON_GPUS = [
    ("torch.ones(3, device='cuda') + torch.ones(3)", RuntimeError, APART + "cuda:0 and cpu!"),
    ("torch.ones(3) + torch.ones(3, device='cuda')", RuntimeError, APART + "cuda:0 and cpu!"),
    ("torch.ones(3, device='cuda').add_(torch.ones(3))", RuntimeError, APART + "cuda:0 and cpu!"),
    ("torch.tensor(1, device='cuda') + torch.ones(3)", RuntimeError, APART + "cuda:0 and cpu!"),
    ("torch.ones(3, device='cuda') == torch.ones(3)", RuntimeError, APART + "cuda:0 and cpu!"),
    ("torch.ones(3, device='cuda:1') + torch.ones(3, device='cuda:0')", RuntimeError, APART + "cuda:1 and cuda:0!"),
    ("torch.mm(torch.ones(2, 2, device='cuda'), torch.ones(2, 2))", RuntimeError, APART + "cuda:0 and cpu! (when checking argument for argument mat2 in method wrapper_CUDA_mm)"),
    ("torch.nn.functional.linear(torch.ones(2, 2), torch.ones(1, 2, device='cuda'), torch.ones(1, device='cuda'))", RuntimeError, APART + "cuda:0 and cpu! (when checking argument for argument mat1 in method wrapper_CUDA_addmm)"),
    ("torch.cat([torch.ones(2), torch.ones(2, device='cuda')])", RuntimeError, APART + "cpu and cuda:0! (when checking argument for argument tensors in method wrapper_CUDA_cat)"),
    ("torch.ones(3)[torch.tensor([0], device='cuda')]", RuntimeError, "indices should be either on cpu or on the same device as the indexed tensor (cpu)"),
    ("torch.ones(3, device='cuda').numpy()", TypeError, "can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first."),
    ("torch.ones(3, device='cuda:7')", torch.AcceleratorError, "CUDA error: invalid device ordinal\nGPU device may be out of range, do you have enough GPUs?\n"),
    ("torch.ones(3).cuda(7)", torch.AcceleratorError, "CUDA error: invalid device ordinal\nGPU device may be out of range, do you have enough GPUs?\n"),
    ("torch.ones(3).to('cuda:7')", torch.AcceleratorError, "CUDA error: invalid device ordinal\nGPU device may be out of range, do you have enough GPUs?\n"),
    ("torch.ones(3, device='cuda').pin_memory()", RuntimeError, "cannot pin 'torch.cuda.FloatTensor' only dense CPU tensors can be pinned"),
    ("torch.cuda.get_device_name(99)", AssertionError, "Invalid device id"),
    ("torch.cuda.set_device('cpu')", ValueError, "Expected a cuda device, but got: cpu"),
    ("torch.empty(10**13, device='cuda')", torch.OutOfMemoryError, "CUDA out of memory. Tried to allocate "),
]

# What is refused in words of Tenon's own where PyTorch's name things that it has and Tenon has not.
OWN = [
    ("torch.device('gpu')", RuntimeError, r"Expected one of cpu, cuda, .* device type at start of device string: gpu"),
    ("torch.device('CUDA')", RuntimeError, r"Expected one of cpu, cuda, .* device type at start of device string: CUDA"),
    ("torch.device(1.5)", TypeError, r"device\(\)"),
    ("torch.ones(2, 4) @ torch.ones(3, 1)", RuntimeError, r"mm: mat1 and mat2 shapes cannot be multiplied \(2x4 and 3x1\)"),
    ("torch.ones(3, dtype=int).mean()", RuntimeError, r"mean\(\): could not infer output dtype. Input dtype must be either a floating point or complex dtype. Got: Long"),
    ("torch.nn.functional.linear(torch.ones(2, 3, dtype=int), torch.ones(1, 3), torch.ones(1))", RuntimeError, r"mat1 and mat2 must have the same dtype, but got Long and Float"),
    ("torch.max(torch.ones(3), 'a')", TypeError, r"max\(\) received an invalid combination of arguments - got \(Tensor, str\), but expected one of:"),
    ("torch.ones(3).to(torch.float32, torch.float64)", TypeError, r"to\(\) received an invalid combination of arguments - got \(torch.dtype, torch.dtype\)"),
]


def raised(expression):
    with pytest.raises(Exception) as error:  # noqa: B017: its class is looked at
        eval(expression, {"torch": torch})
    return error.value


@pytest.mark.parametrize("expression, kind, text", DEVICES + CREATION + VALUES + MOVES + DTYPES + SHAPES_AND_ARGUMENTS + ON_GPUS)
def test_message(expression, kind, text):
    error = raised(expression)
    assert type(error) is kind
    assert str(error)[: len(text)] == text


@pytest.mark.parametrize("expression, kind, pattern", OWN)
def test_own_message(expression, kind, pattern):
    error = raised(expression)
    assert isinstance(error, kind)
    assert re.match(pattern, str(error))


def test_errors_of_gpus_are_runtime_errors():
    assert issubclass(torch.AcceleratorError, RuntimeError) and issubclass(torch.OutOfMemoryError, RuntimeError)
    assert torch.cuda.OutOfMemoryError is torch.OutOfMemoryError


def test_help_speaks_python():
    lines = str(raised("torch.ones(3) + torch.ones(3, device='cuda:1')")).splitlines()
    assert lines[0] == APART + "cuda:1 and cpu!"
    assert lines[1] == "  add(float32 [3] on cpu; float32 [3] on cuda:1): move operand 1, for example with x.cuda(1)"
    assert str(raised("torch.ones(2) + torch.ones(2, device='meta')")).endswith("for example with x.to('meta')")
    for expression in ("torch.cuda.Event().elapsed_time(torch.cuda.Event(enable_timing=True))",
                       "torch.ones(2, device='cuda').numpy()", "setattr(torch.ones(2, requires_grad=True) * 1, 'data', torch.ones(3))",
                       "torch.from_dlpack(torch.ones(2, device='meta'))"):
        assert not re.search(r"tn_|TN_|\.\w+ = |in C", str(raised(expression))), expression
    assert str(raised("torch.cuda.Event().elapsed_time(torch.cuda.Event())")) == (
        "Both events must be created with argument 'enable_timing=True'.")


def test_one_element_is_a_number_and_zero_dimensional_cpu_tensors_go_anywhere():
    assert torch.ones(1, 1).item() == 1.0 and bool(torch.tensor([0])) is False and int(torch.tensor([[3]])) == 3
    assert (torch.ones(2, device="cuda") + torch.tensor(1)).tolist() == [2.0, 2.0]
    assert torch.add(1, torch.arange(2)).tolist() == [1, 2] and torch.sub(5, torch.arange(2), alpha=2).tolist() == [5, 3]


@pytest.mark.parametrize("program", ["tests/documents/python/000_10_complete.py", "-c"])
def test_without_a_gpu_the_program_ends_with_the_hint(program, tmp_path):
    """The first document's program as it stands, under python -m tenon; and a short one that says import tenon."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("TENON_FAKE", "CUDA_"))}
    environment["CUDA_VISIBLE_DEVICES"] = "-1"
    command = ["-c", "import tenon as torch; torch.ones(2).cuda()"] if program == "-c" else ["-m", "tenon", str(SOURCE / program)]
    done = subprocess.run([sys.executable, *command], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300,
                          check=False)
    assert done.returncode == 1
    error = re.search(r"^RuntimeError: (.*(?:\n  .*)*)\Z", done.stderr.rstrip(), re.M)
    first, *rest = error[1].splitlines()
    assert first.startswith("Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU and installed a "
                            "driver from http") or first == "No CUDA GPUs are available"
    if first.startswith("Found"):
        assert rest[-1] == "  no NVIDIA GPU: try TENON_FAKE_GPUS=1 (simulated: correct results, no speed)"
