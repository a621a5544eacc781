"""What PyTorch refuses, in its words: functions that are written in Python here and in C there, functionals, and out=. The
rows are PyTorch 2.15's answers: the exception's class and the first line of its text; "ok": the value, as it prints."""

import os

import pytest

import tenon as torch
import tenon.nn.functional as F
from on_gpus import START, on_gpus

NAMES = """
x = torch.tensor([[0.5, 1.0, 2.0], [4.0, 0.25, 3.0]])
v = torch.tensor([0.5, 1.0, 2.0])
n = torch.tensor(1.0)
i = torch.ones(2, 3, dtype=torch.int64)
b = i.bool()
t = torch.tensor([0, 1])
g = torch.ones(3, requires_grad=True)
f64 = v.double()
"""

FUNCTIONS = [
    ('torch.kron(x,None)', 'TypeError', "kron(): argument 'other' (position 2) must be Tensor, not NoneType"),
    ('v.hypot([1.5])', 'TypeError', "hypot(): argument 'other' (position 1) must be Tensor, not list"),
    ('torch.hypot(i,i)', 'NotImplementedError', '"hypot_cpu" not implemented for \'Long\''),
    ('t.clone().hypot_(t)', 'NotImplementedError', '"hypot_cpu" not implemented for \'Long\''),
    ("torch.nan_to_num(v,'a')", 'TypeError', "nan_to_num(): argument 'nan' (position 2) must be float, not str"),
    ('v.nan_to_num(nan=2**70)', 'ok', 'tensor([0.5000, 1.0000, 2.0000])'),
    ('torch.nansum(v,keepdim=1)', 'TypeError', "nansum(): argument 'keepdim' must be bool, not int"),
    ("torch.nansum(v,'a')", 'TypeError', "nansum(): argument 'dim' (position 2) must be tuple of ints, not str"),
    ('torch.nanmean(v,None,{})', 'TypeError', "nanmean(): argument 'keepdim' (position 3) must be bool, not dict"),
    ('v.count_nonzero(1.5)', 'TypeError', 'count_nonzero() received an invalid combination of arguments - got (float), but expected one of:'),
    ('torch.dist(v,2**70)', 'TypeError', "dist(): argument 'other' (position 2) must be Tensor, not int"),
    ('torch.dist(i,i)', 'NotImplementedError', 'norm(): input dtype should be either floating point or complex. Got Long instead.'),
    ('torch.cdist(x,x,2,-1)', 'ValueError', '-1 is not a valid value for compute_mode'),
    ('torch.cdist(x,None)', 'TypeError', "cdist(): argument 'x2' (position 2) must be Tensor, not NoneType"),
    ('torch.cdist(v,x)', 'RuntimeError', 'cdist only supports at least 2D tensors, X1 got: 1D'),
    ('torch.cdist(v,i)', 'RuntimeError', 'cdist only supports at least 2D tensors, X1 got: 1D'),
    ("torch.cdist(x,x,'a')", 'TypeError', "cdist(): argument 'p' (position 3) must be float, not str"),
    ('torch.cross(v,n,-2)', 'RuntimeError', 'linalg.cross: inputs must have the same number of dimensions.'),
    ('torch.cross(b[0],b[0])', 'NotImplementedError', '"cross" not implemented for \'Bool\''),
    ('torch.vdot(v,2)', 'TypeError', "vdot(): argument 'other' (position 2) must be Tensor, not int"),
    ('v.vdot(torch.float32)', 'TypeError', "vdot(): argument 'other' (position 1) must be Tensor, not torch.dtype"),
    ('torch.logspace(x,2,3)', 'RuntimeError', 'logspace only supports 0-dimensional start and end tensors, but got start with 2 dimension(s).'),
    ('torch.logspace(0,v,3)', 'RuntimeError', 'logspace only supports 0-dimensional start and end tensors, but got end with 1 dimension(s).'),
    ("torch.logspace(0,1,'a')", 'TypeError', 'logspace() received an invalid combination of arguments - got (int, int, str), but expected one of:'),
    ('torch.logspace(0,1,3,2,1)', 'TypeError', 'logspace() received an invalid combination of arguments - got (int, int, int, int, int), but expected one of:'),
    ('torch.trapezoid(b,dx=2)', 'NotImplementedError', 'trapezoid: received a bool input for `y`, but bool is not supported'),
    ('torch.trapz(v,1)', 'TypeError', 'trapz() received an invalid combination of arguments - got (Tensor, int), but expected one of:'),
    ('torch.trapezoid(n)', 'IndexError', 'Dimension specified as -1 but tensor has no dimensions'),
    ('torch.trapezoid(v,dim=[1])', 'TypeError', 'trapezoid() received an invalid combination of arguments - got (Tensor, dim=list), but expected one of:'),
    ('torch.trapz(v,n)', 'RuntimeError', 'The size of tensor a (2) must match the size of tensor b (0) at non-singleton dimension 0'),
    ('torch.trapezoid(v,bogus=1)', 'TypeError', 'trapezoid() received an invalid combination of arguments - got (Tensor, bogus=int), but expected one of:'),
    ('v.cov(1)', 'TypeError', 'cov() takes 0 positional arguments but 1 was given'),
    ('torch.cov(b)', 'NotImplementedError', 'cov(): bool dtype is not supported for input'),
    ('torch.cov(v,fweights=v)', 'RuntimeError', 'cov(): expected fweights to have integral dtype but got fweights with Float dtype'),
    ('torch.cov(x,aweights=x)', 'RuntimeError', 'cov(): expected aweights to have one or fewer dimensions but got aweights with 2 dimensions'),
    ('torch.cov(v,fweights=t)', 'RuntimeError', 'cov(): expected fweights to have the same numel as there are observations in the input but got 2 != 3'),
    ('torch.cov(v,aweights=-v)', 'RuntimeError', 'cov(): aweights cannot be negative'),
    ('torch.cov(v,aweights=torch.ones(3,dtype=torch.int64))', 'RuntimeError', 'cov(): expected aweights to have floating point dtype but got aweights with Long dtype'),
    ('torch.cov(torch.zeros(1,0),aweights=torch.zeros(0))', 'RuntimeError', "cov(): weights sum to zero, can't be normalized"),
    ('torch.cov(v,fweights=torch.tensor([-1,1,1]))', 'RuntimeError', 'cov(): fweights cannot be negative'),
    ('b.positive()', 'NotImplementedError', 'The `+` operator, on a bool tensor is not supported.'),
    ('torch.trace(v)', 'RuntimeError', 'trace: expected a matrix, but got tensor with dim 1'),
    ('torch.trace(b)', 'NotImplementedError', '"trace" not implemented for \'Bool\''),
    ('torch.tril_indices(2,2,dtype=torch.uint8)', 'NotImplementedError', '"tril_indices" not implemented for \'Byte\''),
    ('torch.triu_indices(2,2,dtype=torch.float32)', 'NotImplementedError', '"triu_indices" not implemented for \'Float\''),
    ('torch.tril_indices(-1,True)', 'TypeError', "tril_indices(): argument 'col' (position 2) must be int, not bool"),
    ('torch.triu_indices(v,2)', 'TypeError', "triu_indices(): argument 'row' (position 1) must be int, not Tensor"),
    ('torch.tril_indices(2,1.5)', 'TypeError', "tril_indices(): argument 'col' (position 2) must be int, not float"),
    ('torch.tril_indices(2,2,device=[1])', 'TypeError', "tril_indices(): argument 'device' must be torch.device, not list"),
    ('torch.diag_embed(v,1,1.5)', 'TypeError', "diag_embed(): argument 'dim1' (position 3) must be int, not float"),
    ('torch.diagflat(v,[1])', 'TypeError', "diagflat(): argument 'offset' (position 2) must be int, not list"),
    ('v.diagflat(1,2)', 'TypeError', 'diagflat() takes from 0 to 1 positional arguments but 2 were given'),
    ("torch.diag(v,'a')", 'TypeError', "diag(): argument 'diagonal' (position 2) must be int, not str"),
    ('torch.fliplr(1)', 'TypeError', "fliplr(): argument 'input' (position 1) must be Tensor, not int"),
    ('torch.rot90(x,dims=1)', 'TypeError', "rot90(): argument 'dims' must be tuple of ints, not int"),
    ('torch.take(v,torch.float32)', 'TypeError', "take(): argument 'index' (position 2) must be Tensor, not torch.dtype"),
    ('v.take([])', 'TypeError', "take(): argument 'index' (position 1) must be Tensor, not list"),
    ("torch.diff(v,'a')", 'TypeError', "diff(): argument 'n' (position 2) must be int, not str"),
    ('v.diff(0,-3).shape', 'ok', 'torch.Size([3])'),
    ('torch.diff(v,1,(1,2))', 'TypeError', "diff(): argument 'dim' (position 3) must be int, not tuple"),
    ('torch.meshgrid(v,x,indexing=1)', 'TypeError', "meshgrid(): argument 'indexing' must be str, not int"),
    ('v.bincount()', 'NotImplementedError', '"bincount_cpu" not implemented for \'Float\''),
    ('torch.bincount(v,minlength=-1)', 'NotImplementedError', '"bincount_cpu" not implemented for \'Float\''),
    ('torch.bincount(t,0)', 'TypeError', "bincount(): argument 'weights' (position 2) must be Tensor, not int"),
    ('torch.histc(b)', 'NotImplementedError', '"linspace_cpu" not implemented for \'Bool\''),
    ('torch.histc(i)', 'NotImplementedError', '"histogram_cpu" not implemented for \'Long\''),
    ('torch.histc(v,0)', 'RuntimeError', 'torch.histogram(): bins must be > 0, but got 0 for dimension 0'),
    ('torch.histc(v,2,300)', 'RuntimeError', 'torch.histc: max must be larger than min'),
    ('torch.histc(i,2,3,1)', 'RuntimeError', 'torch.histc: max must be larger than min'),
    ('torch.histc(v,min=[])', 'TypeError', "histc(): argument 'min' must be Number, not list"),
    ('torch.unique(v,return_counts=1)', 'TypeError', "_unique2(): argument 'return_counts' must be bool, not int"),
    ("torch.unique(v,dim='a')", 'TypeError', "unique_dim(): argument 'dim' (position 2) must be int, not str"),
    ('torch.unique_consecutive(v,v)', 'RuntimeError', 'Boolean value of Tensor with more than one value is ambiguous'),
    ("v.unique_consecutive(dim='a')", 'TypeError', "unique_consecutive(): argument 'dim' must be int, not str"),
    ('torch.isin(v,2,invert=[1])', 'TypeError', 'isin() received an invalid combination of arguments - got (Tensor, int, invert=list), but expected one of:'),
    ("torch.isin(v,'a')", 'TypeError', 'isin() received an invalid combination of arguments - got (Tensor, str), but expected one of:'),
    ('torch.searchsorted(v,v,side=True)', 'TypeError', 'searchsorted() received an invalid combination of arguments - got (Tensor, Tensor, side=bool), but expected one of:'),
    ('torch.searchsorted(v,[1])', 'TypeError', 'searchsorted() received an invalid combination of arguments - got (Tensor, list), but expected one of:'),
    ('torch.bucketize(v,1)', 'TypeError', 'bucketize() received an invalid combination of arguments - got (Tensor, int), but expected one of:'),
    ('v.movedim([0],0)', 'TypeError', 'movedim() received an invalid combination of arguments - got (list, int), but expected one of:'),
    ('x.moveaxis(1,[0])', 'TypeError', 'moveaxis() received an invalid combination of arguments - got (int, list), but expected one of:'),
    ('x.movedim((1,0))', 'TypeError', 'movedim() received an invalid combination of arguments - got (tuple), but expected one of:'),
    ("torch.moveaxis(x,0,'a')", 'TypeError', 'moveaxis() received an invalid combination of arguments - got (Tensor, int, str), but expected one of:'),
    ('x.movedim(0,torch.tensor(1)).shape', 'ok', 'torch.Size([3, 2])'),
    ('torch.is_same_size(v,other=v)', 'ok', 'True'),
    ('v.is_same_size()', 'TypeError', 'is_same_size() missing 1 required positional arguments: "other"'),
    ('v.is_set_to(tensor=v)', 'ok', 'True'),
    ('v.is_set_to()', 'TypeError', 'is_set_to() missing 1 required positional arguments: "tensor"'),
    ('v.new_ones(size=()).shape', 'ok', 'torch.Size([])'),
    ('v.new_zeros()', 'TypeError', 'new_zeros() missing 1 required positional arguments: "size"'),
    ("v.new_empty('a')", 'TypeError', "new_empty(): argument 'size' (position 1) must be tuple of ints, not str"),
    ('v.new_full(2,1)', 'TypeError', "new_full(): argument 'size' (position 1) must be tuple of ints, not int"),
    ('v.new_full((2,),1,1)', 'TypeError', 'new_full() takes 2 positional arguments but 3 were given'),
    ('v.clone().squeeze_(dim=0).shape', 'ok', 'torch.Size([3])'),
    ('v.unsqueeze_()', 'TypeError', 'unsqueeze_() missing 1 required positional arguments: "dim"'),
    ('v.transpose_(0)', 'TypeError', 'transpose_() missing 1 required positional arguments: "dim1"'),
    ('x.transpose_(0,1,2)', 'TypeError', 'transpose_() takes 2 positional arguments but 3 were given'),
    ('x.swapdims_(dim0=[],dim1=1)', 'TypeError', "swapdims_(): argument 'dim0' must be int, not list"),
    ('v.clone().as_strided_(1,1)', 'TypeError', "as_strided_(): argument 'size' (position 1) must be tuple of ints, not int"),
    ('torch.mm(x,x)', 'RuntimeError', 'mm: mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3)'),
    ('torch.addmm(n,x,x)', 'RuntimeError', 'addmm: mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3)'),
]

OUT = [
    ('torch.kron(g,v,out=torch.zeros(9))', 'RuntimeError', "mul(): functions with out=... arguments don't support automatic differentiation, but one of the arguments requires grad."),
    ('torch.hypot(g,t,out=v)', 'RuntimeError', "hypot(): functions with out=... arguments don't support automatic differentiation, but one of the arguments requires grad."),
    ('torch.hypot(g,x[0,:2],out=v)', 'RuntimeError', "hypot(): functions with out=... arguments don't support automatic differentiation, but one of the arguments requires grad."),
    ('torch.frac(i,out=v)', 'RuntimeError', 'Found dtype Float but expected Long'),
    ('torch.frac(v,out=f64)', 'RuntimeError', 'Found dtype Double but expected Float'),
    ('torch.nan_to_num(v,out=f64)', 'RuntimeError', 'nan_to_num: dtype of out: Double should be same as input: Float'),
    ('torch.nanmean(g,out=n)', 'RuntimeError', "nansum(): functions with out=... arguments don't support automatic differentiation, but one of the arguments requires grad."),
    ('torch.diag(g,out=torch.zeros(3,3)).requires_grad', 'ok', 'True'),
    ('torch.take(v,t,out=f64)', 'RuntimeError', 'take(): self and out expected to have the same dtype, but got self.dtype = Float and out.dtype = Double'),
    ('torch.diff(g,out=v)', 'RuntimeError', "sub(): functions with out=... arguments don't support automatic differentiation, but one of the arguments requires grad."),
    ('torch.bucketize(2.,v,out=v)', 'TypeError', 'bucketize() received an invalid combination of arguments - got (float, Tensor, out=Tensor), but expected one of:'),
    ('torch.row_stack([v,v],out=x).shape', 'ok', 'torch.Size([2, 3])'),
    ('torch.vstack([g,g],out=x)', 'RuntimeError', "cat(): functions with out=... arguments don't support automatic differentiation, but one of the arguments requires grad."),
    ('torch.dstack([g,g],out=x)', 'RuntimeError', "cat(): functions with out=... arguments don't support automatic differentiation, but one of the arguments requires grad."),
    ('torch.arccos(g,out=v)', 'RuntimeError', "acos(): functions with out=... arguments don't support automatic differentiation, but one of the arguments requires grad."),
    ('torch.absolute(g,out=v)', 'RuntimeError', "abs(): functions with out=... arguments don't support automatic differentiation, but one of the arguments requires grad."),
    ('torch.subtract(g,v,out=v)', 'RuntimeError', "sub(): functions with out=... arguments don't support automatic differentiation, but one of the arguments requires grad."),
    ('torch.clip(g,0,1,out=v)', 'RuntimeError', "clamp(): functions with out=... arguments don't support automatic differentiation, but one of the arguments requires grad."),
    ('torch.outer(g,v,out=torch.zeros(3,3))', 'RuntimeError', "mul(): functions with out=... arguments don't support automatic differentiation, but one of the arguments requires grad."),
    ('torch.square(g,out=v)', 'RuntimeError', "pow(): functions with out=... arguments don't support automatic differentiation, but one of the arguments requires grad."),
    ('torch.concat([g,g],out=v)', 'RuntimeError', "cat(): functions with out=... arguments don't support automatic differentiation, but one of the arguments requires grad."),
    ('torch.mm(x.clone().requires_grad_(),x,out=x)', 'RuntimeError', "mm(): functions with out=... arguments don't support automatic differentiation, but one of the arguments requires grad."),
    ('torch.tril(g,out=v)', 'RuntimeError', "tril(): functions with out=... arguments don't support automatic differentiation, but one of the arguments requires grad."),
    ('torch.norm(g,out=n)', 'RuntimeError', "linalg_vector_norm(): functions with out=... arguments don't support automatic differentiation, but one of the arguments requires grad."),
    ('torch.take_along_dim(g,t,0,out=v)', 'RuntimeError', "gather(): functions with out=... arguments don't support automatic differentiation, but one of the arguments requires grad."),
    ('torch.softmax(g,0,out=torch.zeros(3)).requires_grad', 'ok', 'True'),
    ('torch.log_softmax(g,0,out=torch.zeros(3)).requires_grad', 'ok', 'True'),
    ('torch.floor_divide(g,v,out=torch.zeros(3)).requires_grad', 'ok', 'True'),
    ('torch.lerp(g,t,t,out=v)', 'RuntimeError', "lerp(): functions with out=... arguments don't support automatic differentiation, but one of the arguments requires grad."),
    ('torch.addmm(x,g,x,out=x)', 'RuntimeError', "addmm(): functions with out=... arguments don't support automatic differentiation, but one of the arguments requires grad."),
    ('torch.cumsum(g,5,out=v)', 'RuntimeError', "cumsum(): functions with out=... arguments don't support automatic differentiation, but one of the arguments requires grad."),
    ('torch.gather(g,5,t,out=v)', 'RuntimeError', "gather(): functions with out=... arguments don't support automatic differentiation, but one of the arguments requires grad."),
    ('F.gelu(i,out=v)', 'RuntimeError', 'Found dtype Float but expected Long'),
    ('F.softplus(i,out=v)', 'RuntimeError', 'Found dtype Float but expected Long'),
    ('F.tanh(v,out=v)', 'TypeError', "tanh() got an unexpected keyword argument 'out'"),
    ('F.sigmoid(v,out=v)', 'TypeError', "sigmoid() got an unexpected keyword argument 'out'"),
]

NN = [
    ('F.logsigmoid(v,1)', 'TypeError', 'log_sigmoid() takes 1 positional argument but 2 were given'),
    ('F.hardshrink(i)', 'NotImplementedError', '"hardshrink_cpu" not implemented for \'Long\''),
    ('F.softshrink(i)', 'NotImplementedError', '"softshrink_check" not implemented for \'Long\''),
    ('F.softshrink(v,-1)', 'RuntimeError', 'lambda must be in range [0, 3.40282e+38] for input dtype Float, but found -1'),
    ('F.hardsigmoid(i)', 'NotImplementedError', '"hardsigmoid_cpu" not implemented for \'Long\''),
    ('F.hardsigmoid(b,True)', 'NotImplementedError', '"hardsigmoid_cpu" not implemented for \'Bool\''),
    ('F.hardswish(i)', 'NotImplementedError', '"hardswish_cpu" not implemented for \'Long\''),
    ('F.mish(i)', 'NotImplementedError', '"mish_cpu" not implemented for \'Long\''),
    ('F.celu(i)', 'NotImplementedError', '"elu_cpu" not implemented for \'Long\''),
    ("F.celu(v,'a')", 'TypeError', "celu(): argument 'alpha' (position 2) must be Number, not str"),
    ('F.glu(b,0)', 'NotImplementedError', '"glu_cpu" not implemented for \'Bool\''),
    ('F.glu(n)', 'RuntimeError', 'glu does not support scalars because halving size must be even'),
    ('F.glu(x,7)', 'IndexError', 'Dimension out of range (expected to be in range of [-2, 1], but got 7)'),
    ("F.glu(x,'a')", 'TypeError', "glu(): argument 'dim' (position 2) must be int, not str"),
    ('F.threshold(b,0,1)', 'NotImplementedError', '"threshold_cpu" not implemented for \'Bool\''),
    ("F.threshold(i,0,-float('inf'))", 'RuntimeError', 'value cannot be converted to type int64_t without overflow'),
    ('F.prelu(i,i[0,:1])', 'NotImplementedError', '"prelu_cpu" not implemented for \'Long\''),
    ('F.prelu(x,None)', 'TypeError', "prelu(): argument 'weight' (position 2) must be Tensor, not NoneType"),
    ('F.prelu(x,f64)', 'RuntimeError', 'prelu: Type promoting not supported. Got Float and Double'),
    ('F.prelu(x,x)', 'RuntimeError', 'Mismatch of parameter numbers and input channel size. Found parameter numbers = 6 and channel size = 3.'),
    ("F.hardtanh(i,-float('inf'),1)", 'RuntimeError', 'value cannot be converted to type int64_t without overflow'),
    ('F.softmax(x,None,1.5)', 'TypeError', "'float' object cannot be interpreted as an integer"),
    ('F.softmax(i,1)', 'NotImplementedError', '"softmax_lastdim_kernel_impl" not implemented for \'Long\''),
    ('F.softmax(i,0)', 'NotImplementedError', '"softmax_kernel_impl" not implemented for \'Long\''),
    ('F.log_softmax(i,0)', 'NotImplementedError', '"log_softmax_kernel_impl" not implemented for \'Long\''),
    ('F.softmax(i[:0],0).dtype', 'ok', 'torch.int64'),
    ("F.softmax(x,'a')", 'TypeError', "softmax(): argument 'dim' (position 1) must be int, not str"),
    ("F.dropout(x,'a')", 'TypeError', "'<' not supported between instances of 'str' and 'float'"),
    ('F.dropout(i,0).dtype', 'ok', 'torch.int64'),
    ('F.batch_norm(i,v,v)', 'NotImplementedError', '"batch_norm" not implemented for \'Long\''),
    ('F.batch_norm(x,v,None)', 'RuntimeError', 'running_var must be defined in evaluation mode'),
    ('F.batch_norm(x,None,None)', 'RuntimeError', 'running_mean must be defined in evaluation mode'),
    ('F.batch_norm(x,v,None,training=True)', 'ValueError', 'running_mean and running_var must either both be None or neither be None'),
    ('F.batch_norm(v,v,v)', 'RuntimeError', 'running_mean should contain 0 elements not 3'),
    ('F.batch_norm(x,v,v,eps=-2)', 'ValueError', 'batch_norm eps must be non-negative, but got -2'),
    ('F.batch_norm(x,v,v,training=True,eps=0)', 'ValueError', 'batch_norm eps must be positive during training, but got 0'),
    ('F.batch_norm(x,f64,f64)', 'RuntimeError', 'mixed dtype (CPU): expect parameter to have scalar type of Float'),
    ('F.batch_norm(x,v,(1,2))', 'TypeError', "batch_norm(): argument 'running_var' (position 5) must be Tensor, not tuple"),
    ('F.layer_norm(i,[3])', 'NotImplementedError', '"LayerNormKernelImpl" not implemented for \'Long\''),
    ('F.layer_norm(x,[3],f64)', 'RuntimeError', 'mixed dtype (CPU): expect parameter to have scalar type of Float'),
    ('F.layer_norm(x,3)', 'TypeError', "layer_norm(): argument 'normalized_shape' (position 2) must be tuple of ints, not int"),
    ('F.layer_norm(x,[3],1)', 'TypeError', "layer_norm(): argument 'weight' (position 3) must be Tensor, not int"),
    ('F.layer_norm(x,[1.5])', 'TypeError', "layer_norm(): argument 'normalized_shape' (position 2) must be tuple of ints, but found element of type float at pos 0"),
    ('F.cross_entropy(x,t,None,-100).dtype', 'ok', 'torch.float32'),
    ('F.cross_entropy(x,t,label_smoothing=-1).dtype', 'ok', 'torch.float32'),
    ('F.cross_entropy(x,i)', 'RuntimeError', 'Expected floating point type for target with class probabilities, got Long'),
    ('F.cross_entropy(x,t.int())', 'RuntimeError', 'expected target dtype to be Long or Byte, but got Int'),
    ('F.cross_entropy(n,t)', 'IndexError', 'Dimension out of range (expected to be in range of [-1, 0], but got 1)'),
    ('F.cross_entropy(v,t)', 'ValueError', 'For 1D input, 1D target must have size 1, but got target size: 2'),
    ('F.cross_entropy(i,t)', 'NotImplementedError', '"log_softmax_lastdim_kernel_impl" not implemented for \'Long\''),
    ('F.cross_entropy(x,torch.tensor(1))', 'ValueError', 'Expected input batch_size (2) to match target batch_size (0).'),
    ("F.cross_entropy(x,t,None,None,'a')", 'TypeError', "cross_entropy_loss(): argument 'ignore_index' (position 5) must be int, not str"),
    ('F.nll_loss(n,t)', 'ValueError', 'Expected 1 or more dimensions (got 0)'),
    ('F.nll_loss(x,i)', 'RuntimeError', '0D or 1D target tensor expected, multi-target not supported'),
    ('F.nll_loss(i,t)', 'NotImplementedError', '"nll_loss_out_frame" not implemented for \'Long\''),
    ('F.nll_loss(x,t,None,1,2).dtype', 'ok', 'torch.float32'),
    ('F.nll_loss(x[None],i[:1,:2])', 'RuntimeError', 'Expected target size [1, 3], got [1, 2]'),
    ('F.nll_loss(x,t.float())', 'RuntimeError', 'expected target dtype to be Long or Byte, but got Float'),
    ("F.nll_loss(x,t,None,None,'a')", 'TypeError', "nll_loss_nd(): argument 'ignore_index' (position 5) must be int, not str"),
    ("F.binary_cross_entropy(x,(1,2),reduction='b')", 'ValueError', 'b is not a valid value for reduction'),
    ('F.binary_cross_entropy(x,(1,2))', 'AttributeError', "'tuple' object has no attribute 'size'"),
    ('F.binary_cross_entropy_with_logits(i,i)', 'NotImplementedError', '"log_sigmoid_cpu" not implemented for \'Long\''),
    ("F.binary_cross_entropy_with_logits(x,(1,2),reduction='b')", 'ValueError', 'b is not a valid value for reduction'),
    ('F.huber_loss(i,i,weight=v)', 'ValueError', 'Weights and input must have the same size.'),
    ('F.huber_loss(b,b)', 'NotImplementedError', '"huber_cpu" not implemented for \'Bool\''),
    ('F.huber_loss(x,b).dtype', 'ok', 'torch.float32'),
    ('F.mse_loss(b,b)', 'NotImplementedError', '"mse_cpu" not implemented for \'Bool\''),
    ('F.mse_loss(x,b).dtype', 'ok', 'torch.float32'),
    ('F.mse_loss(x,{})', 'AttributeError', "'dict' object has no attribute 'size'"),
    ('F.smooth_l1_loss(b,b)', 'NotImplementedError', '"smooth_l1_cpu" not implemented for \'Bool\''),
    ('F.smooth_l1_loss(i,i,beta=0)', 'NotImplementedError', 'mean(): could not infer output dtype. Input dtype must be either a floating point or complex dtype. Got: Long'),
    ("F.l1_loss(x,x,weight=x,reduction='b')", 'ValueError', "Invalid reduction mode: b. Expected one of 'none', 'mean', 'sum'."),
    ('F.embedding(t,x,sparse=[])', 'TypeError', "embedding(): argument 'sparse' (position 5) must be bool, not list"),
    ('F.embedding(t,v,0,2)', 'RuntimeError', "Expected 2-dimensional tensor, but got 1-dimensional tensor for argument #1 'self' (while checking arguments for embedding_renorm_)"),
    ('F.embedding(t,n,-1)', 'IndexError', 'Dimension specified as 0 but tensor has no dimensions'),
    ('F.embedding(t,i,0,1)', 'NotImplementedError', 'norm(): input dtype should be either floating point or complex. Got Long instead.'),
    ('F.embedding([1],x)', 'TypeError', "embedding(): argument 'indices' (position 2) must be Tensor, not list"),
    ('F.embedding(t,x,scale_grad_by_freq=True,sparse=True).shape', 'ok', 'torch.Size([2, 3])'),
    ('F.linear(n,x)', 'RuntimeError', 'both arguments to linear need to be at least 1D, but they are 0D and 2D'),
    ('F.linear(x,x[None])', 'RuntimeError', 't() expects a tensor with <= 2 dimensions, but self is 3D'),
    ('F.linear(x,x,torch.ones(5))', 'RuntimeError', 'The expanded size of the tensor (2) must match the existing size (5) at non-singleton dimension 1.  Target sizes: [2, 2].  Tensor sizes: [5]'),
    ('F.linear(x,x.t())', 'RuntimeError', 'mm: mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3)'),
    ('F.linear(x,t.float())', 'RuntimeError', 'size mismatch, got input (2), mat (2x3), vec (2)'),
    ('F.linear(v,t.float())', 'RuntimeError', 'inconsistent tensor size, expected tensor [3] and src [2] to have the same number of elements, but got 3 and 2 elements respectively'),
    ('F.linear(x,x.t(),v)', 'RuntimeError', 'addmm: mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3)'),
    ("F.pairwise_distance(x,x,'a')", 'TypeError', "pairwise_distance(): argument 'p' (position 3) must be float, not str"),
    ('F.pairwise_distance(x,x,eps=x)', 'TypeError', "pairwise_distance(): argument 'eps' must be float, not Tensor"),
    ('F.cosine_similarity(x,x,0,-3)', 'RuntimeError', 'eps must be non-negative, got: -3'),
    ('F.cosine_similarity(x,1)', 'TypeError', "cosine_similarity(): argument 'x2' (position 2) must be Tensor, not int"),
    ("F.normalize(x,'a')", 'RuntimeError', 'linalg.matrix_norm: Order a not supported.'),
    ('F.pad(x,1)', 'TypeError', "pad(): argument 'pad' (position 2) must be tuple of ints, not int"),
    ('F.pad(x,(1,1),1)', 'TypeError', "pad(): argument 'mode' (position 3) must be str, not int"),
    ("F.pad(x,(1,1),'constant','a')", 'TypeError', "pad(): argument 'value' (position 4) must be float, not str"),
    ("F.pad(x,(1,1),'reflect',1)", 'RuntimeError', 'Padding mode "reflect" doesn\'t take in value argument'),
    ("F.pad(v,(1,1),'reflect')", 'NotImplementedError', 'Padding size 2 is not supported for 1D input tensor.'),
    ("F.pad(v,(1,1),'circular')", 'NotImplementedError', 'Padding size 2 is not supported for 1D input tensor.'),
    ("F.pad(x,(1,1,1,1),'replicate')", 'NotImplementedError', 'Padding size 4 is not supported for 2D input tensor.'),
    ("F.pad(b,(1,1),'reflect')", 'NotImplementedError', '"reflection_pad1d" not implemented for \'Bool\''),
    ("F.pad(x[:,:0],(1,1),'replicate')", 'RuntimeError', 'Expected 2D or 3D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for input, but got: [2, 0]'),
    ("F.pad(x,(-2,-2),'reflect')", 'RuntimeError', 'input (W: 3) is too small. Calculated output W: -1'),
    ('F.pad(x,(1.5,1))', 'TypeError', "pad(): argument 'pad' (position 2) must be tuple of ints, but found element of type float at pos 0"),
]


def check(source, kind, want, device="cpu"):
    names = {"torch": torch, "F": F}
    with torch.device(device):
        exec(NAMES, names)
        try:
            got = "ok", str(eval(source, names))
        except Exception as error:  # noqa: BLE001: the class is what is looked at
            got = type(error).__name__, str(error).splitlines()[0].replace("tenon", "torch")
    kernel = " not implemented for " in want and want.partition('"')[2].partition('"')[2]
    if device != "cpu" and kernel:  # whose name is the device's
        assert got[0] == kind and got[1].endswith(kernel), source
    else:
        assert (got[0], got[1].replace("torch.cuda.", "torch.").replace(", device='cuda:0'", "")) == (kind, want), source


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("row", FUNCTIONS + OUT + NN, ids=lambda row: row[0])
def test_as_pytorch(row):
    check(*row)


@on_gpus(1, imports=START + f"import sys; sys.path.insert(0, {os.path.dirname(os.path.abspath(__file__))!r})\n")
def test_as_pytorch_on_a_gpu():
    from test_refusals import FUNCTIONS, NN, OUT, check

    for row in FUNCTIONS + OUT + NN:
        check(*row, device="cuda")
