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
