"""What PyTorch answers to expressions about storages, versions, comparisons and products of derivatives: said.json. Run where it is
installed:

    python3 tests/python/data/make_said.py > tests/python/data/said.json

An expression's answer is its repr, or the class and the text of its error. Each group is evaluated in order, with its names.
"""

import json
import warnings

import torch

SETUP = {
    "storages": "t = torch.ones(2, 3); u = torch.ones(2, 2, requires_grad=True) * 2; s = t.storage()",
    "versions": "V = torch.torch_version.TorchVersion",
    "assert_close": "import numpy as np; T = torch.tensor; ac = torch.testing.assert_close",
    "make_tensor": "from torch.testing import make_tensor",
    "formats": """import hashlib, itertools, warnings; from torch.nn import functional as F; warnings.simplefilter("ignore")
last, last3, rows, keep = torch.channels_last, torch.channels_last_3d, torch.contiguous_format, torch.preserve_format
a = torch.arange(120.).reshape(2, 3, 4, 5); c = a.to(memory_format=last); e = torch.arange(240.).reshape(2, 3, 4, 5, 2).to(memory_format=last3)
w, q = torch.tensor([1.0, 2.0, 3.0]), c[:, :, ::2]
def keeps(f, sizes, strides):
    x = torch.empty_strided(sizes, strides)
    return x.to(memory_format=f) is x
def asked(f, of, by, n):
    flags = bytes(keeps(f, s, t) for s in itertools.product(of, repeat=n) for t in itertools.product(by, repeat=n))
    return len(flags), sum(flags), hashlib.sha256(flags).hexdigest()[:16]
def grad_of(f, x):
    x = x.detach().requires_grad_(); y = f(x); y.backward(torch.ones_like(y)); return y.stride(), x.grad.stride()
def to(m, f): m.to(memory_format=f); return [p.stride() for p in m.parameters()]
m = torch.nn.Module(); m.a, m.b, m.c = (torch.nn.Parameter(torch.zeros(s)) for s in ((2, 3, 4, 5), (3,), (2, 3))); m.register_buffer("d", torch.ones(2, 3, 2, 2))
n = torch.nn.Module(); n.a = torch.nn.Parameter(torch.zeros(2, 3, 4, 5, 6))""",
    "nn_utils": """import copy, warnings; warnings.simplefilter("ignore")
from torch import nn
from torch.nn import init, utils
from torch.nn.utils import parametrize, parametrizations
from torch import func
torch.manual_seed(3)
def seeded(f): torch.manual_seed(1); return f()
def lin(a=3, b=2): return seeded(lambda: nn.Linear(a, b))
x, img = torch.tensor([[1.0, -2.0, 0.5], [0.0, 3.0, 1.0]]), torch.arange(96.0).reshape(2, 3, 4, 4) / 10
def keys(m): return [(k, tuple(v.shape)) for k, v in m.state_dict().items()]
class Sym(nn.Module):
    def forward(self, x): return x.triu() + x.triu(1).mT
    def right_inverse(self, x): return x.triu()
class Twice(nn.Module):
    def forward(self, x): return 2 * x
class Pair(nn.Module):
    def forward(self, a, b): return a * b
    def right_inverse(self, x): return x / 2, torch.full_like(x, 2.0)
class Wide(nn.Module):
    def forward(self, x): return x.double()
class Long(nn.Module):
    def forward(self, x): return torch.cat([x, x])
class No(nn.Module):
    def forward(self, x): return 3
def trained(m, *xs):
    m.train(); [m(y) for y in xs]; m(xs[0]).sum().backward(); return [round(float(p.grad.sum()), 4) for p in m.parameters()]
def norms():
    bn = nn.BatchNorm1d(2); bn.running_mean[:] = torch.tensor([0.5, -1.0]); bn.running_var[:] = torch.tensor([2.0, 0.25]); bn.weight.data[:] = torch.tensor([1.5, -2.0]); return bn.eval()
class Tied(nn.Module):
    def __init__(self):
        super().__init__(); self.a = nn.Parameter(torch.ones(2)); self.b = self.a; self.register_buffer("c", torch.zeros(2))
    def forward(self, x): self.c.add_(1); return x * self.a + self.b + self.c
asm = seeded(lambda: nn.AdaptiveLogSoftmaxWithLoss(4, 9, [3, 6], 2.0)); z = torch.arange(20.0).reshape(5, 4) / 10""",
    "functional": """T = torch.tensor
from torch.autograd.functional import hessian, hvp, jacobian, jvp, vhp, vjp
x, y, w = T([1.0, 2.0, 3.0]), T([2.0, 3.0, 4.0]), T([1.0, 2.0, 3.0], requires_grad=True)
f, g, h, k = lambda x: (x * x).sum(), lambda x: x**3, lambda x, y: (x * y, x + y), lambda x, y: (x * y * y).sum()
c, ind = lambda x: torch.ones(2), lambda x, y: (x * 2,)""",
}
ASKED = {
    "storages": """\
t.layout
t.name
t.output_nr
u.output_nr
[getattr(t,'is_'+n) for n in 'xla xpu ipu vulkan mtia maia sparse sparse_csr quantized mkldnn mps nested'.split()]
torch.strided
torch.contiguous_format, torch.preserve_format
torch.legacy_contiguous_format is torch.contiguous_format
__import__('pickle').loads(__import__('pickle').dumps(torch.strided)) is torch.strided
isinstance(torch.strided, torch.layout), isinstance(torch.contiguous_format, torch.memory_format), isinstance(torch.strided, torch.memory_format)
torch.zeros(2, layout=torch.strided)
t.clone(memory_format=torch.contiguous_format).is_contiguous(memory_format=torch.contiguous_format)
t.storage_type()
t.storage()
t.storage().type()
t.storage().tolist()
torch.FloatStorage(3).size()
torch.FloatStorage([1.,2.])
torch.FloatStorage([1.,2.]).tolist()
isinstance(t.storage(), torch.FloatStorage)
isinstance(t.storage(), torch.LongStorage)
isinstance(torch.FloatStorage(2), torch.TypedStorage)
t.untyped_storage()
t.untyped_storage()[3]
t.untyped_storage()[0:4]
t.untyped_storage()[0:4:2]
t.untyped_storage()[-1]
t.untyped_storage().tolist()
t.storage()[0:4]
t.storage()[0]
t.storage()[-1]
t.storage()['a']
t.untyped_storage() == t.untyped_storage()
t.untyped_storage() == t[1:].untyped_storage()
t.untyped_storage() == u.untyped_storage()
t[1:].storage()
torch.UntypedStorage([1,2])
torch.UntypedStorage('a')
torch.UntypedStorage([1.5])
torch.TypedStorage([1.,2.], dtype=torch.float64)
torch.tensor(torch.FloatStorage([1.,2.]))
torch.FloatTensor(torch.FloatStorage([1.,2.]))
torch.FloatStorage.dtype, torch.LongStorage.dtype, torch.BFloat16Storage.dtype, torch.BoolStorage.dtype
t.storage().device, t.storage().dtype, t.storage().is_cuda, t.storage().nbytes(), len(t.storage()), t.storage().element_size(), t.storage().data_ptr()==t.data_ptr()
t.untyped_storage().device, t.untyped_storage().is_cuda, t.untyped_storage().nbytes(), len(t.untyped_storage()), t.untyped_storage().element_size(), t.untyped_storage().data_ptr()==t.data_ptr()
str(torch.UntypedStorage([1,2]))
t.storage().copy_(torch.ones(2).storage())
t.untyped_storage().copy_(torch.UntypedStorage(3))
t.storage()[99]
t.untyped_storage()[99]
t.storage().double()
t.storage().half().dtype
t.storage().long()
t.storage().clone().fill_(3)
t.storage().pickle_storage_type()
s.__setitem__(0, 9.)
t
s.untyped().__setitem__(slice(4, 8), 0)
t
s.fill_(2)
t
t.storage().untyped().fill_(0)
t
torch.is_storage(t.storage()), torch.is_storage(t.untyped_storage()), torch.is_storage(t)
t.const_data_ptr() == t.data_ptr()
t.is_shared()
torch.get_device(t)
torch.is_inference(t)
t.is_nonzero()
t[0,0].is_nonzero(), torch.ones(1).is_nonzero()
torch.empty(0).is_nonzero()
torch.get_device_module('cpu').__name__
torch.get_device_module(3)
torch.get_device_module('meta')
torch.get_deterministic_debug_mode()
torch.set_deterministic_debug_mode('warn')
torch.get_deterministic_debug_mode()
torch.are_deterministic_algorithms_enabled()
torch.set_deterministic_debug_mode(2)
torch.get_deterministic_debug_mode()
torch.set_deterministic_debug_mode('bad')
torch.set_deterministic_debug_mode(7)
torch.set_deterministic_debug_mode(2.)
torch.set_deterministic_debug_mode('default')
torch.get_deterministic_debug_mode()
torch.set_flush_denormal(1)
torch.cpu.is_available(), torch.cpu.device_count(), torch.cpu.current_device(), torch.cpu.synchronize(), torch.cpu.is_initialized()
torch.cpu.current_stream() is torch.cpu.current_stream()
torch.cpu.Event().query()
type(torch.to_dlpack(t)).__name__
torch.from_dlpack(torch.to_dlpack(t)).data_ptr() == t.data_ptr()
""",
    "versions": """\
torch.__version__ >= "2"
torch.__version__ >= "2.0.1"
torch.__version__ >= "10"
torch.__version__ < "1.13"
torch.__version__ >= (2, 1)
torch.__version__ < (3,)
torch.__version__ != None
torch.__version__ > 1
torch.__version__ == "2.15.0"
torch.__version__ > "2.15.0"
torch.__version__.split('+')[0]
tuple(map(int, torch.__version__.split('+')[0].split('.')[:2])) >= (2, 0)
hash(torch.__version__) == hash(str(torch.__version__))
isinstance(torch.__version__, str)
V('1.10.0a') > '1.10.0'
V('1.10.0a') > (1, 9)
V('1.10.0a') == '1.10.0a'
V('1.10.0') == 1
V('1.10.0') == '1.10'
V('1.10.0') == (1, 10)
V('1.10.0') >= 'parrot'
V('parrot') >= '1.0'
V('1.10.0.dev20210701') < '1.10.0a1'
V('1.10.0.dev20210701') < '1.10.0'
V('1.10.0rc1') > '1.10.0b3'
V('1.10.0.post1') > '1.10.0'
V('1.10.0.post1.dev3') < '1.10.0.post1'
V('1.10.0+cu113') > '1.10.0'
V('1.10.0+cu113') == '1.10.0'
V('1.10.0+cu113') < '1.10.0+cu113.git'
V('1.10.0+cu113') < '1.10.0+1'
V('1!0.1') > '2.0'
V('1.10.0') < V('1.9.0')
V('v1.10') == '1.10.0'
V('1.10.0-1') == '1.10.0.post1'
V('1.10.0alpha.2') == '1.10a2'
V('1.0') <= '1.0', V('1.0') >= '1.0', V('1.0') < '1.0', V('1.0') > '1.0', V('1.0') != '1.0'
str(V('1.10.0a')), repr(V('1.10.0a'))
""",
    "assert_close": """\
ac(T([1.,2.,3.]),T([1.,2.,4.]))
ac(T([1,2,3]),T([1,2,4]))
ac(T([[1.,2.],[3.,float('nan')]]),T([[1.,2.],[3.,float('nan')]]))
ac(T([1.,float('nan')]),T([1.,float('nan')]),equal_nan=True)
ac(T(1.),T(2.))
ac(T([1.]),T([2.]))
ac(1.,2.)
ac(1,2)
ac(1,1.)
ac(1,1.,check_dtype=False)
ac(True,False)
ac(None,1)
ac(None,None)
ac('a','a')
ac('a','b')
ac([1,'a'],[1,'a'])
ac([1.,2.],[1.])
ac([1.,T([2.])],[1.,T([3.])])
ac((1.,),[1.])
ac({'a':1.},{'b':1.})
ac({'a':1.,'c':2},{'a':1.})
ac({'a':[1.,2.]},{'a':[1.,3.]})
ac(T([1.]),T([1.],dtype=torch.float64))
ac(T([1.]),T([1.],dtype=torch.float64),check_dtype=False)
ac(T([1.]),T([1.,2.]))
ac(torch.ones(2,3),torch.ones(3,2).t(),check_stride=True)
ac(T([1.]),np.array([1.],dtype='f4'))
ac(np.array([1.]),np.array([2.]))
ac(T([1.]),T([1.1]),rtol=.2)
ac(T([1.]),T([1.1]),rtol=.2,atol=0)
ac(T([1.]),T([1.1]),rtol=0,atol=.01)
ac(T([1.]),T([1.1]),rtol=0,atol=0)
ac(T([1.]),T([2.]),msg='hello')
ac(T([1.]),T([2.]),msg=lambda m: 'X '+m)
ac([T([1.])],[T([2.])],msg=lambda m: 'X '+m)
ac([T([1.])],[T([2.])],msg='hello')
ac(1.,T(1.))
ac(object(),object())
ac(T([True,False]),T([True,True]))
ac(T([1,2],dtype=torch.uint8),T([1,250],dtype=torch.uint8))
ac(T([float('inf'),1.]),T([1.,1.]))
ac(T([0.,1.]),T([1.,0.]))
ac(torch.empty(0),torch.empty(0))
ac(torch.empty(0,2),torch.empty(0,3))
ac(torch.ones(2,device='meta'),torch.ones(2,device='meta'))
ac(torch.ones(2,device='meta'),torch.ones(2))
ac(torch.ones(2,dtype=torch.half),torch.ones(2,dtype=torch.half)*1.01)
ac(torch.nn.Parameter(torch.ones(2)),torch.ones(2))
ac(torch.nn.Parameter(torch.ones(2)),torch.ones(2),allow_subclasses=False)
ac(torch.ones(2),3.)
ac(1.0,float('nan'))
ac(float('nan'),float('nan'),equal_nan=True)
ac(torch.ones(2).requires_grad_(),torch.ones(2)*2)
ac(2**70,2**70)
ac(1+0j,1+1j)
ac([],[])
ac({},[])
ac([[1.]],[1.])
ac(torch.zeros(3,2),torch.arange(6.).reshape(3,2))
ac(iter([1]),iter([1]))
""",
    "make_tensor": """\
make_tensor(3, dtype=torch.float32, device='cpu').shape
make_tensor((2, 3), dtype=torch.int64, device='cpu').dtype
make_tensor(2, 3, dtype=torch.float32, device='cpu', requires_grad=True).requires_grad
make_tensor(2, 3, dtype=torch.int32, device='cpu', requires_grad=True)
make_tensor(4, 4, dtype=torch.float32, device='cpu', noncontiguous=True).is_contiguous()
make_tensor(4, 4, dtype=torch.float32, device='cpu', noncontiguous=True).stride()
make_tensor(4, dtype=torch.float32, device='cpu', low=3, high=2)
make_tensor(4, dtype=torch.uint8, device='cpu', low=300, high=400)
make_tensor(4, dtype=torch.float32, device='cpu', low=float('nan'), high=2)
make_tensor(4, dtype=torch.float32, device='cpu', noncontiguous=True, memory_format=torch.contiguous_format)
make_tensor((), dtype=torch.float64, device='cpu').shape
(lambda a: (bool((a >= 2).all()), bool((a < 3).all())))(make_tensor(1000, dtype=torch.float32, device='cpu', low=2, high=3))
(lambda a: (int(a.min()), int(a.max())))(make_tensor(1000, dtype=torch.uint8, device='cpu'))
(lambda a: (int(a.min()), int(a.max())))(make_tensor(1000, dtype=torch.int16, device='cpu'))
(lambda a: int(a.min()))(make_tensor(1000, dtype=torch.uint8, device='cpu', exclude_zero=True))
make_tensor(100, dtype=torch.bool, device='cpu').unique()
""",
    "formats": """\
torch.channels_last, torch.channels_last_3d, type(torch.channels_last)
__import__('pickle').loads(__import__('pickle').dumps(torch.channels_last)) is torch.channels_last
asked(last, (0, 1, 3), (0, 1, 3), 4)
asked(last, (1, 2), (1, 2, 4), 4)
asked(last3, (1, 2), (1, 2), 5)
asked(rows, (1, 2), (1, 2), 4)
a.contiguous(memory_format=last).stride(), a.contiguous(memory_format=last).is_contiguous(memory_format=last), c.is_contiguous(), c.contiguous().stride()
c.contiguous(memory_format=last) is c, c.is_contiguous(memory_format=last3), e.is_contiguous(memory_format=last3), e.stride()
c.tolist() == a.tolist(), c.flatten().tolist() == a.flatten().tolist(), torch.equal(a, c)
a.contiguous(memory_format=keep) is a
c.contiguous(memory_format=keep)
q.contiguous(memory_format=keep)
w.contiguous(memory_format=last)
w.contiguous(memory_format=None)
w.contiguous(memory_format='channels_last')
w.is_contiguous(memory_format=last), w.is_contiguous(memory_format=keep)
w.is_contiguous(memory_format=1)
a.to(memory_format=last3)
w.to(memory_format=last)
w.clone(memory_format=last)
w.clone(memory_format=1)
a.clone(memory_format=last).stride(), c.clone().stride(), c.clone(memory_format=rows).stride(), q.clone().stride(), q.clone(memory_format=keep).stride()
a.to(torch.float64, memory_format=last).stride(), c.to(torch.float64).stride(), c.double(memory_format=rows).stride(), a.half(memory_format=last).stride()
a.type(torch.int64, memory_format=last).stride(), a.cpu(memory_format=last).stride(), c.cpu() is c, c.to('cpu', memory_format=last) is c
c.to(memory_format=rows).stride(), c.to(memory_format=keep) is c, q.to(memory_format=last) is q, c.to(c.dtype, memory_format=last, copy=True).stride()
a.cpu(memory_format=1)
a.double(memory_format='x')
torch.empty(2, 3, 4, 5, memory_format=last).stride(), torch.empty((2, 3, 4, 5, 6), memory_format=last3).stride(), torch.empty(2, 0, 4, 5, memory_format=last).stride()
torch.empty(2, 3, memory_format=last)
torch.empty(2, 3, memory_format=last3)
torch.empty(2, 3, memory_format=keep)
torch.empty(2, 3, memory_format=3)
[f(a, memory_format=last).stride() for f in (torch.empty_like, torch.zeros_like, torch.ones_like, torch.rand_like, torch.randn_like)]
[f(c, memory_format=rows).stride() for f in (torch.empty_like, torch.zeros_like, torch.ones_like, torch.rand_like, torch.randn_like)]
[f(c).stride() for f in (torch.empty_like, torch.zeros_like, torch.ones_like, torch.rand_like, torch.randn_like)], torch.empty_like(q).stride()
torch.full_like(a, 2, memory_format=last).stride(), torch.randint_like(a, 9, memory_format=last).stride(), torch.randint_like(a, 2, 9, memory_format=last).stride()
torch.zeros_like(w, memory_format=last)
c.new_empty(2, 3, 4, 5).stride(), c.new_zeros((2, 3, 4, 5)).stride()
torch.ones(2, 60).resize_(2, 3, 4, 5, memory_format=last).stride(), torch.ones(2, 3, 4, 5).resize_(2, 3, 4, 5, memory_format=last).stride()
torch.ones(1).resize_as_(c).stride(), torch.ones(1).resize_as_(c, memory_format=keep).stride(), torch.ones(1).resize_as_(a, memory_format=last).stride()
torch.ones(2, 3).resize_(2, 3, memory_format=keep)
torch.ones(2, 3).resize_(2, 3, memory_format=last)
a.requires_grad_().contiguous(memory_format=last).grad_fn.name(), a.to(memory_format=last).grad_fn.name(), a.requires_grad_(False).requires_grad
to(m, last), m.d.stride()
to(m, rows), m.d.stride()
to(m, last3)
to(n, last3)
to(n, last)
[f(c).stride() for f in (torch.neg, torch.relu, torch.exp, torch.isnan, torch.logical_not, torch.sign)], c.gt(0).stride(), c.bool().stride()
(c + 1).stride(), (a + c).stride(), (c + a).stride(), (c * w.view(3, 1, 1)).stride(), (w.view(1, 3, 1, 1) * c).stride(), (c + c[:, :1]).stride(), (c[:1, :1] + c).stride()
torch.where(c > 0, c, a).stride(), torch.lerp(c, c, 0.5).stride(), torch.addcmul(c, c, a).stride(), c.clamp(0, 1).stride(), c.masked_fill(c > 1, 0.0).stride(), torch.maximum(c, a).stride()
q.neg().stride(), (q + 1).stride(), (q + q).stride(), c[:, :1].neg().stride(), c[:, :, :1, :1].neg().stride(), c[:, :1].clone().stride()
torch.cat([c, c]).stride(), torch.cat([c, c], 1).stride(), torch.cat([c, a], 1).stride(), torch.cat([a, c], 1).stride(), torch.cat([c, c], 3).stride(), torch.cat([q, q], 1).stride(), torch.stack([c, c]).stride(), torch.cat([e, e], 1).stride()
F.batch_norm(c, None, None, w, w, True).stride(), F.batch_norm(c, w, w, w, w).stride(), F.batch_norm(c, w, w).stride(), F.batch_norm(q, w, w).stride(), F.batch_norm(e, w, w).stride(), F.batch_norm(e, None, None, None, None, True).stride(), F.batch_norm(c, w, w, w, w, True).stride()
F.group_norm(c, 3).stride(), F.group_norm(c, 3, w, w).stride(), F.group_norm(e, 3, w, w).stride(), F.group_norm(q, 3).stride()
F.instance_norm(c).stride(), F.instance_norm(c, w.clone(), w.clone(), w, w, True).stride(), F.instance_norm(e).stride(), F.instance_norm(c, w, w, use_input_stats=False).stride()
F.layer_norm(c, (4, 5)).stride(), F.layer_norm(c, (5,)).stride(), F.local_response_norm(c, 2).stride(), F.normalize(c).stride()
c.softmax(1).stride(), c.log_softmax(1).stride(), c.softmax(3).stride(), F.softmin(c, 1).stride(), F.glu(c, 2).stride(), F.gumbel_softmax(c, 1.0, dim=1).stride()
F.gelu(c).stride(), F.silu(c).stride(), F.hardswish(c).stride(), F.prelu(c, w).stride(), F.prelu(c, w[:1]).stride(), F.elu(c).stride(), F.leaky_relu(c).stride(), F.threshold(c, 0, 0).stride(), F.softplus(c).stride()
F.dropout(c).stride(), F.dropout2d(c).stride(), F.feature_alpha_dropout(c, 0.5, True).stride(), F.alpha_dropout(c, 0.5, True).stride(), F.dropout3d(e).stride(), torch.bernoulli(c / 120).stride()
c.sum(1, True).stride(), c.mean((2, 3), True).stride(), c.mean((2, 3)).stride(), c.sum(0).stride(), c.amax((2, 3), True).stride(), c.max(1)[0].stride(), c.max(1, True)[1].stride(), c.argmax(1).stride(), c.var((0, 2, 3), keepdim=True).stride(), c.norm(dim=1).stride(), c.logsumexp(1).stride(), c.any(1).stride(), c.prod(1).stride()
c.cumsum(1).stride(), c.cumprod(1).stride(), c.cummax(1)[0].stride(), c.logcumsumexp(1).stride(), c.sort(1)[0].stride(), c.sort(1)[1].stride(), c.topk(2, 1)[0].stride(), c.kthvalue(2, 1)[0].stride(), c.median(1)[0].stride(), c.mode(1)[0].stride(), c.flip(1).stride(), c.flip(2).stride(), c.roll(1, 1).stride(), c.roll(1).stride(), c.rot90().stride()
F.pad(c, (1, 1)).stride(), F.pad(c, (1, 1, 2, 2)).stride(), F.pad(c, (1, 1), value=2).stride(), F.pad(e, (1, 1)).stride(), F.pad(c, (0, 0)).stride(), F.pixel_shuffle(torch.zeros(1, 4, 2, 3).to(memory_format=last), 2).stride(), F.pixel_unshuffle(torch.zeros(1, 2, 2, 4).to(memory_format=last), 2).stride(), F.channel_shuffle(torch.zeros(1, 4, 2, 3).to(memory_format=last), 2).stride()
c.index_select(1, torch.tensor([0, 1])).stride(), c[:, [0, 1]].stride(), c[[0, 1]].stride(), c[torch.tensor([[0, 1]])].stride(), c.gather(1, torch.zeros(2, 3, 4, 5, dtype=torch.int64)).stride(), c.take_along_dim(torch.zeros(1, 1, 1, 1, dtype=torch.int64), 1).stride(), c.masked_select(c > 3).stride(), c.repeat(1, 1, 1, 1).stride(), c.repeat_interleave(2, 1).stride(), c.tile((1, 2)).stride()
c.reshape(2, 3, 20).stride(), c.flatten(2).stride(), c.view(2, 3, 20).stride(), c.permute(0, 2, 3, 1).is_contiguous(), c.transpose(1, 3).stride(), c.unsqueeze(0).stride(), c.mT.stride(), c.squeeze().stride(), c.unfold(2, 2, 1).stride()
c.tril().stride(), c.diff(dim=2).stride(), torch.fill(c, 2).stride(), c.nan_to_num().stride(), c.square().stride(), c.pow(2).stride(), c.scatter(1, torch.zeros(2, 3, 4, 5, dtype=torch.int64), c).stride(), c.index_add(1, torch.tensor([0]), c[:, :1]).stride(), c.index_fill(1, torch.tensor([0]), 1.0).stride(), c.index_copy(1, torch.tensor([0]), c[:, :1]).stride(), c.put(torch.tensor([0]), torch.tensor([1.0])).stride(), c.masked_scatter(c > 3, c).stride()
F.mse_loss(c, a, reduction='none').stride(), F.l1_loss(c, c, reduction='none').stride(), F.binary_cross_entropy_with_logits(c, c, reduction='none').stride(), F.cross_entropy(c, torch.zeros(2, 4, 5, dtype=torch.int64), reduction='none').stride(), F.nll_loss(c, torch.zeros(2, 4, 5, dtype=torch.int64), reduction='none').stride(), F.cosine_similarity(c, a).stride()
F.linear(c, torch.zeros(2, 5)).stride(), torch.matmul(c, torch.zeros(5, 2)).stride(), torch.einsum('nchw,cd->ndhw', c, torch.zeros(3, 2)).stride(), c.masked_fill_(c > 1000, 0.0).stride(), c.detach().stride(), c.expand(2, 3, 4, 5).stride()
[torch.allclose(f(c), f(a), 1e-3, 1e-3) for f in (lambda x: torch.cat([x, x], 1), lambda x: torch.stack([x, x], 4), lambda x: torch.stack([x, x], 2), lambda x: F.batch_norm(x, None, None, w, w, True), lambda x: F.group_norm(x, 3, w, w), lambda x: F.instance_norm(x, w, w, use_input_stats=False))]
[torch.equal(f(c), f(a)) for f in (lambda x: F.pixel_shuffle(x.permute(0, 2, 1, 3), 2), lambda x: F.pixel_unshuffle(x[..., :4], 2), lambda x: F.channel_shuffle(x, 3), lambda x: F.pad(x, (1, 1, 2, 0)), lambda x: F.pad(x, (1, 2)), lambda x: x.roll(1, 1), lambda x: x.put(torch.tensor([7]), torch.tensor([9.0])), lambda x: x.contiguous())]
grad_of(torch.relu, c), grad_of(lambda x: x * a, c), grad_of(lambda x: x.contiguous(), c), grad_of(lambda x: x.contiguous(memory_format=last), a), grad_of(lambda x: F.batch_norm(x, None, None, w, w, True), c), grad_of(lambda x: F.batch_norm(x, w, w), c)
grad_of(lambda x: F.group_norm(x, 3), c), grad_of(lambda x: F.instance_norm(x), c), grad_of(lambda x: x.softmax(1), c), grad_of(lambda x: torch.cat([x, x], 1), c), grad_of(lambda x: F.pad(x, (1, 1)), c), grad_of(lambda x: x.mean((2, 3), True), c), grad_of(lambda x: F.dropout(x), c), grad_of(lambda x: F.prelu(x, w), c), grad_of(F.gelu, c)
""",
    "nn_utils": """\
nn.SyncBatchNorm(3), nn.LazyBatchNorm2d(), nn.LazyInstanceNorm1d(), nn.LazyInstanceNorm3d(affine=False), nn.CrossMapLRN2d(5)
nn.SyncBatchNorm(3)(img).sum((0, 2, 3)).abs().lt(1e-3), seeded(lambda: nn.SyncBatchNorm(3).eval()(img))[1, 2, 3]
nn.SyncBatchNorm(3)(x[0])
nn.SyncBatchNorm(0)(img[:, :0])
nn.SyncBatchNorm.convert_sync_batchnorm(nn.Sequential(nn.Linear(2, 2), nn.Sequential(nn.BatchNorm1d(2), nn.InstanceNorm1d(2)), nn.BatchNorm2d(3, affine=False)))
[keys(nn.SyncBatchNorm.convert_sync_batchnorm(nn.BatchNorm1d(2, affine=False))), nn.SyncBatchNorm.convert_sync_batchnorm(nn.BatchNorm1d(2).eval()).training]
(lambda m: (m(img).shape, m, keys(m), m.num_batches_tracked))(nn.LazyBatchNorm2d())
(lambda m: (m(img).shape, m, keys(m)))(nn.LazyInstanceNorm2d(track_running_stats=False))
(lambda m: (m.load_state_dict(nn.BatchNorm2d(3).state_dict()), m, m(img).shape, m))(nn.LazyBatchNorm2d())
list(nn.LazyBatchNorm1d().state_dict()), nn.LazyBatchNorm1d(affine=False, track_running_stats=False).state_dict()
nn.LazyBatchNorm2d()(img[0])
nn.CrossMapLRN2d(3)(img)[0, :, 1, 2], nn.CrossMapLRN2d(4, 0.5)(img)[1, :, 1, 2], nn.CrossMapLRN2d(5, 0.5, 0.5, 2.0)(img)[1, :, 3, 0]
nn.CrossMapLRN2d(3)(img[0])
keys(asm), asm.cutoffs, asm.shortlist_size, asm.n_clusters, asm.head_size
asm(z, torch.tensor([0, 8, 4, 3, 2])), asm.log_prob(z)[:, ::4], asm.predict(z), asm.log_prob(z).exp().sum(1)
asm(z[0], torch.tensor(5)), torch.autograd.grad(asm(z, torch.tensor([0, 8, 4, 3, 2])).loss, asm.head.weight)[0].sum(1)
asm(z, torch.tensor([0, 9, 4, 3, 2]))
asm(z, torch.tensor([0, 1]))
asm(z[0], torch.tensor([0]))
asm(z, torch.tensor([[0]]))
nn.AdaptiveLogSoftmaxWithLoss(4, 9, [3, 3])
nn.AdaptiveLogSoftmaxWithLoss(4, 9, [])
nn.AdaptiveLogSoftmaxWithLoss(8, 20, [2, 10], head_bias=True)
init.dirac_(torch.ones(3, 2, 3)).tolist(), init.dirac_(torch.ones(4, 3, 2, 2), 2).nonzero().tolist(), init.dirac_(torch.ones(2, 2, 1, 3, 2)).nonzero().tolist()
init.dirac_(torch.ones(3, 2))
init.dirac_(torch.ones(3, 2, 3), 2)
init.sparse_(torch.ones(3, 3, 3), 0.1)
seeded(lambda: init.sparse_(torch.ones(4, 3), 0.3))
seeded(lambda: init.orthogonal_(torch.ones(3, 3))), seeded(lambda: init.orthogonal_(torch.ones(2, 2, 2), 2.0)), seeded(lambda: init.orthogonal_(torch.ones(4, 2)))
seeded(lambda: init.orthogonal_(torch.empty(100, 130)))[70:73, 5], seeded(lambda: init.orthogonal_(torch.empty(130, 100)))[99, 64:68]
init.orthogonal_(torch.ones(3))
init.orthogonal_(torch.ones(0, 3)), init.constant(torch.ones(2), 3.0), init.eye(torch.ones(2, 2)), seeded(lambda: init.xavier_normal(torch.ones(2, 2)))
(lambda m: (m, keys(m), m(x), m.weight_g, utils.remove_weight_norm(m), keys(m), m(x)))(utils.weight_norm(lin()))
(lambda m: (keys(m), m(x), trained(m, x)))(utils.weight_norm(lin(), dim=None)), keys(utils.weight_norm(lin(), 'weight', 1)), keys(utils.weight_norm(lin(), 'bias'))
utils.weight_norm(utils.weight_norm(lin()))
utils.remove_weight_norm(lin())
utils.weight_norm(nn.LazyLinear(3))
(lambda m: (m, keys(m), trained(m, x, x), m.weight_u.norm(), m.eval()(x), utils.remove_spectral_norm(m), keys(m)))(seeded(lambda: utils.spectral_norm(lin())))
(lambda m: (keys(m), [m(x) for _ in range(30)][-1], m.weight))(seeded(lambda: utils.spectral_norm(lin(), dim=1, n_power_iterations=2)))
utils.spectral_norm(lin(), n_power_iterations=0)
utils.spectral_norm(utils.spectral_norm(lin()))
utils.spectral_norm(nn.Linear(2, 2, bias=False), 'bias')
utils.remove_spectral_norm(lin())
(lambda m: (m, keys(m), m(x), trained(m, x), m.parametrizations.weight.original0))(parametrizations.weight_norm(lin()))
(lambda m: (m.load_state_dict(utils.weight_norm(nn.Linear(3, 2)).state_dict()), parametrize.remove_parametrizations(m, 'weight'), keys(m), type(m).__name__))(parametrizations.weight_norm(lin()))
(lambda m: (m, keys(m), m(x), trained(m, x), m.eval()(x)))(seeded(lambda: parametrizations.spectral_norm(lin())))
(lambda m: (keys(m), m.bias.detach(), m.weight))(parametrizations.spectral_norm(seeded(lambda: parametrizations.spectral_norm(lin(), n_power_iterations=3)), 'bias'))
parametrizations.spectral_norm(lin(), 'nothing')
parametrizations.spectral_norm(lin(), dim=2)
parametrizations.spectral_norm(lin(), n_power_iterations=0)
(lambda m: (m, keys(m), m.weight, type(m).__name__, parametrize.type_before_parametrizations(m).__name__, parametrize.is_parametrized(m), parametrize.is_parametrized(m, 'bias'), list(dict(m.named_parameters()))))(parametrize.register_parametrization(lin(2, 2), 'weight', Sym()))
(lambda m: (setattr(m, 'weight', torch.tensor([[1.0, 2.0], [2.0, 5.0]])), m.weight, m.parametrizations.weight.original, trained(m, torch.ones(1, 2)), isinstance(m, nn.Linear)))(parametrize.register_parametrization(lin(2, 2), 'weight', Sym()))
(lambda m: (m.weight, m.parametrizations, keys(m)))(parametrize.register_parametrization(parametrize.register_parametrization(lin(2, 2), 'weight', Sym()), 'weight', Twice()))
(lambda m: (m, keys(m), m.bias, setattr(m, 'bias', torch.tensor([8.0, 2.0])), m.bias, m.parametrizations.bias.original0, parametrize.remove_parametrizations(m, 'bias'), keys(m)))(parametrize.register_parametrization(lin(), 'bias', Pair()))
(lambda m: (parametrize.remove_parametrizations(m, 'weight', False), m.weight))(parametrize.register_parametrization(lin(2, 2), 'weight', Twice()))
(lambda m, p: (parametrize.remove_parametrizations(m, 'weight'), m.weight is p, m.weight, type(m).__name__))(*(lambda m: (parametrize.register_parametrization(m, 'weight', Twice()), m.parametrizations.weight.original))(lin(2, 2)))
(lambda m: (copy.deepcopy(m).weight, m.weight.is_leaf, copy.deepcopy(m).parametrizations.weight.original is m.parametrizations.weight.original))(parametrize.register_parametrization(lin(2, 2), 'weight', Twice()))
__import__('pickle').dumps(parametrize.register_parametrization(lin(), 'weight', Twice()))
parametrize.register_parametrization(lin(), 'weight', Wide())
parametrize.register_parametrization(lin(), 'weight', Long())
parametrize.register_parametrization(lin(), 'weight', No())
parametrize.register_parametrization(parametrize.register_parametrization(lin(), 'weight', Twice()), 'weight', Long())
parametrize.register_parametrization(parametrize.register_parametrization(lin(), 'weight', Twice()), 'weight', No())
parametrize.register_parametrization(lin(), 'weight', Wide(), unsafe=True).weight.dtype
parametrize.register_parametrization(lin(), 'nothing', Twice())
parametrize.remove_parametrizations(lin(), 'weight')
parametrize.remove_parametrizations(parametrize.register_parametrization(lin(), 'bias', Pair()), 'bias', False)
setattr(parametrize.register_parametrization(lin(), 'weight', Twice()), 'weight', torch.ones(2, 3))
(lambda m, c: (c.__enter__(), m.weight is m.weight, c.__exit__(None, None, None), m.weight is m.weight))(parametrize.register_parametrization(lin(), 'weight', Twice()), parametrize.cached())
(lambda m: (parametrize.transfer_parametrizations_and_params(parametrize.register_parametrization(lin(2, 2), 'weight', Twice()), m), m.weight))(nn.Linear(2, 2))
(lambda f: (f, f(x), norms()(lin()(x)).detach(), f.weight.requires_grad))(utils.fuse_linear_bn_eval(lin().eval(), norms()))
utils.fuse_conv_bn_weights(torch.ones(2, 1, 1), None, torch.tensor([1.0, 2.0]), torch.tensor([4.0, 9.0]), 0.0, None, None), utils.fuse_conv_bn_weights(torch.ones(1, 2, 1), torch.ones(2), torch.tensor([1.0, 2.0]), torch.tensor([4.0, 9.0]), 0.0, torch.tensor([3.0, 1.0]), torch.ones(2), True)
utils.fuse_linear_bn_eval(lin(), norms())
utils.fuse_linear_bn_eval(lin(3, 3).eval(), norms())
func.functional_call(lin(), {'weight': torch.ones(2, 3)}, x), func.functional_call(lin(), ({'weight': torch.ones(2, 3)}, {'bias': torch.zeros(2)}), (x,))
(lambda m, d: (func.functional_call(m, d, x[0, :2]), d, m.c, m.a, m.a is m.b))(Tied(), {'a': torch.full((2,), 3.0), 'c': torch.ones(2)})
func.functional_call(Tied(), {'a': torch.ones(2), 'b': torch.zeros(2)}, x[0, :2])
func.functional_call(Tied(), {'a': torch.ones(2), 'b': torch.zeros(2)}, x[0, :2], tie_weights=False)
func.functional_call(lin(), {'weight': torch.ones(2, 3), 'z': x}, x, strict=True)
func.functional_call(lin(), {'z': x}, x)
func.functional_call(lin(), ({'weight': x}, {'weight': x}), x)
func.functional_call(lin(), 3, x)
func.functional_call(lin(), [3], x)
func.functional_call(parametrize.register_parametrization(lin(), 'weight', Twice()), {'weight': torch.ones(2, 3)}, x), func.functional_call(parametrize.register_parametrization(lin(), 'weight', Twice()), {'parametrizations.weight.original': torch.ones(2, 3)}, x)
(lambda w: torch.autograd.grad(func.functional_call(lin(), {'weight': w}, (), {'input': x}).sum(), w))(torch.ones(2, 3, requires_grad=True))
utils.stateless.functional_call(lin(), {'bias': torch.ones(2)}, x), utils.clip_grad_norm([], 1.0)
""",
    "functional": """\
vjp(g,x,torch.ones(3))
vjp(f,x)
vjp(g,x)
vjp(h,(x,y),(x,y))
vjp(g,x,torch.ones(2))
vjp(c,x,torch.ones(2))
vjp(c,x,torch.ones(2),strict=True)
vjp(lambda x: 3.,x)
vjp(g,3.)
jvp(g,x,torch.ones(3))
jvp(f,T(2.))
jvp(g,x)
jvp(h,(x,y),(x,y))
jvp(c,x,torch.ones(3))
jvp(c,x,torch.ones(3),strict=True)
jvp(lambda x:x*2,x,torch.ones(3),strict=True)
jacobian(g,x)
jacobian(f,x)
jacobian(h,(x,y))
jacobian(ind,(x,y))
jacobian(ind,(x,y),strict=True)
jacobian(g,x,vectorize=True)
jacobian(g,x,strategy='forward-mode')
jacobian(g,x,strategy='forward-mode',vectorize=True)
jacobian(g,x,strategy='nosuch')
jacobian(c,x,strict=True)
hessian(f,x)
hessian(k,(x,y))
hessian(g,x)
hessian(h,(x,y))
hessian(lambda x:x.sum(),x)
hessian(lambda x:x.sum(),x,strict=True)
hessian(k,(x,y),vectorize=True)
hessian(f,x,outer_jacobian_strategy='forward-mode')
vhp(f,x,x)
vhp(k,(x,y),(x,y))
vhp(g,x,x)
vhp(f,x)
vhp(lambda x:x.sum(),x,x,strict=True)
vhp(lambda x:x.sum(),x,x)
hvp(f,x,x)
hvp(k,(x,y),(x,y))
hvp(lambda x:x.sum(),x,x,strict=True)
hvp(lambda x:x.sum(),x,x)
hvp(f,x,T([1.,2.]))
vhp(f,x,(x,y))
vjp(h,(x,y),(x,))
jacobian(lambda x: (x,3.),x)
hessian(lambda x:(x.sum(),),x)
jacobian(lambda x: x.clone(), (x,))
torch.autograd.graph.increment_version(x)
x._version
torch.autograd.graph.increment_version([x,y])
x._version, y._version
torch.autograd.graph.increment_version(3)
vjp(g,x,torch.ones(3),create_graph=True)[1].requires_grad
jvp(g,x,x,create_graph=True)[1].requires_grad
jacobian(g,x,create_graph=True).requires_grad
hessian(lambda x:(x**3).sum(),x,create_graph=True).requires_grad
jacobian(g,x,strict=True,vectorize=True)
hvp(lambda x:(x*x).sum(),x,x,strict=True)
jacobian(lambda x:x*2,x,strict=True,create_graph=True)
vjp(lambda x:x*2,x,torch.ones(3),strict=True,create_graph=True)
jacobian(lambda x: x.reshape(3,1)*y,x).shape
hessian(lambda x:(x**3).sum(),torch.ones(2,2)).shape
torch.autograd.grad(jacobian(g,w,create_graph=True).sum(),w)
torch.autograd.grad(vjp(g,w,y,create_graph=True)[1].sum(),w)
torch.autograd.grad(hvp(lambda x:(x**4).sum(),w,y,create_graph=True)[1].sum(),w)
""",
}


def answer(expression, names):
    """Its repr; or its error's class and text."""
    try:
        return [expression, "", repr(eval(expression, names))]
    except Exception as error:
        return [expression, type(error).__name__, str(error)]


def main():
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    made = {}
    for group, setup in SETUP.items():
        names = {"torch": torch}
        exec(setup, names)
        made[group] = {"setup": setup, "said": [answer(e, names) for e in ASKED[group].splitlines()]}
    print(json.dumps({"torch": torch.__version__.split("+")[0], "groups": made}, indent=0, ensure_ascii=True))


if __name__ == "__main__":
    main()
