"""Programs that make cycles through the graph: hooks, and what functions of one's own keep, that refer to their owner. Each is
given torch (PyTorch or Tenon), drops all it made, and returns weak references to what ought to be gone after a collection.
data/make_cycles.py counts what PyTorch still holds; test_cycles.py, what Tenon does."""

import functools
import gc
import weakref

PROGRAMS = {}


class Mark:
    """Something to have a weak reference to."""


def program(f):
    PROGRAMS[f.__name__] = f
    return f


def left(torch, name):
    """How many objects are alive when the program is over and the collector has been."""
    gc.collect()
    refs = PROGRAMS[name](torch)
    gc.collect()
    return sum(r() is not None for r in refs)


def clipped(torch, register, train=True, keep_output=False):
    """A module of which a hook knows the module."""

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = torch.nn.Linear(3, 2)
            register(self)

        def clip(self, gradient):
            return gradient.clamp(-1, 1)

        def note(self, *seen):
            self.count = len(seen)

        def forward(self, x):
            y = self.fc(x)
            if keep_output:
                self.output = y
            return y

    net = Net()
    refs = [weakref.ref(net), weakref.ref(net.fc)]
    if train:
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
        for _ in range(2):
            optimizer.zero_grad()
            net(torch.ones(1, 3, requires_grad=True)).sum().backward()
            optimizer.step()
    return refs


@program
def parameter_hook_bound_to_the_module(torch):
    return clipped(torch, lambda net: net.fc.weight.register_hook(net.clip))


@program
def parameter_hook_of_a_module_never_called(torch):
    return clipped(torch, lambda net: net.fc.weight.register_hook(net.clip), train=False)


@program
def parameter_hook_whose_handle_the_module_keeps(torch):
    return clipped(torch, lambda net: setattr(net, "handle", net.fc.weight.register_hook(net.clip)))


@program
def post_accumulate_grad_hook(torch):
    return clipped(torch, lambda net: net.fc.weight.register_post_accumulate_grad_hook(net.note))


@program
def forward_hooks(torch):
    def register(net):
        net.fc.register_forward_hook(net.note)
        net.fc.register_forward_pre_hook(lambda module, args: (net, None)[1])

    return clipped(torch, register)


@program
def full_backward_hooks(torch):
    def register(net):
        net.fc.register_full_backward_hook(net.note)
        net.register_full_backward_pre_hook(lambda module, gradients: (net, None)[1])

    return clipped(torch, register)


@program
def partial_of_the_parameter(torch):
    def register(net):
        net.fc.weight.register_hook(functools.partial(lambda parameter, gradient: gradient, net.fc.weight))

    return clipped(torch, register)


# ---- functions ----


def function(torch, keep, leaf=False, steps=0, train=True, owner=False):
    """y = Function(x), whose ctx keeps what keep(ctx, x, y) sets; steps more operations, and a backward pass."""
    mark = Mark()

    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x * 2
            ctx.mark = mark
            keep(ctx, x, y)
            return y

        @staticmethod
        def backward(ctx, gradient):
            return gradient * 2

    x = torch.ones(2, requires_grad=True)
    a = x if leaf else x * 3
    y = Twice.apply(a)
    if owner:
        a.child = y
    for _ in range(steps):
        y = y + 1
    if train:
        y.sum().backward()
    return [weakref.ref(mark), weakref.ref(x), weakref.ref(a), weakref.ref(y)]


def keep_input(ctx, x, y):
    ctx.a = x


def keep_output(ctx, x, y):
    ctx.a = y


def keep_itself(ctx, x, y):
    ctx.a = [ctx]


def keep_all(ctx, x, y):
    ctx.a = {"x": x, "y": y, "ctx": ctx}


def save_input(ctx, x, y):
    ctx.save_for_backward(x)


def save_output(ctx, x, y):
    ctx.save_for_backward(y)


for _keep in (keep_input, keep_output, keep_itself, keep_all, save_input, save_output):
    for _case, _options in {
        "": {},
        "_of_a_leaf": {"leaf": True},
        "_and_no_pass": {"train": False},
        "_with_operations_after_it": {"steps": 3},
        "_and_its_input_refers_to_it": {"owner": True},
    }.items():
        PROGRAMS[f"function_{_keep.__name__}{_case}"] = functools.partial(function, keep=_keep, **_options)


def module_in_ctx(torch, after):
    """A module keeps an output, whose function knows the module."""

    class Same(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, module):
            ctx.module = module
            return x * 1

        @staticmethod
        def backward(ctx, gradient):
            return gradient, None

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.ones(2))

        def forward(self, x):
            self.output = after(Same.apply(x * self.weight, self))
            return self.output.sum()

    net = Net()
    net(torch.ones(2)).backward()
    return [weakref.ref(net), weakref.ref(net.weight)]


@program
def module_that_keeps_a_function_of_itself(torch):
    return module_in_ctx(torch, lambda y: y)


@program
def module_that_keeps_what_comes_after_a_function_of_itself(torch):
    return module_in_ctx(torch, lambda y: (y * 2).exp())


# ---- hooks of tensors ----


def hook(torch, of, holds, register="register_hook", retain=False, train=True):
    mark = Mark()
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    z = y.exp() + 1
    if retain:
        y.retain_grad()
        z.retain_grad()
    things = {"x": x, "y": y, "z": z, "node of y": y.grad_fn, "node of z": z.grad_fn}
    held = things[holds]
    getattr(things[of], register)(lambda gradient: (held, mark, None)[2])
    if train:
        z.sum().backward()
    return [weakref.ref(mark), weakref.ref(x), weakref.ref(y), weakref.ref(z)]


for _of in "xyz":
    for _holds in ("x", "y", "z", "node of y", "node of z"):
        PROGRAMS[f"hook of {_of} holds {_holds}"] = functools.partial(hook, of=_of, holds=_holds)
for _holds in "xyz":
    PROGRAMS[f"hook after x's accumulation holds {_holds}"] = functools.partial(
        hook, of="x", holds=_holds, register="register_post_accumulate_grad_hook")
    PROGRAMS[f"hook of z holds {_holds}, gradients are retained"] = functools.partial(hook, of="z", holds=_holds, retain=True)
    PROGRAMS[f"hook of z holds {_holds}, no pass"] = functools.partial(hook, of="z", holds=_holds, train=False)


@program
def built_in_method_of_the_tensor(torch):
    """Which nothing but an end of the hook can take apart."""
    x = torch.ones(2, requires_grad=True)
    x.register_hook(x.mul)
    return [weakref.ref(x)]


@program
def built_in_method_of_a_computed_tensor(torch):
    y = torch.ones(2, requires_grad=True) * 2
    y.register_hook(y.mul)
    return [weakref.ref(y)]


@program
def handle_as_an_attribute(torch):
    x = torch.ones(2, requires_grad=True)
    x.handle = x.register_hook(lambda gradient: (x.handle, gradient)[1])
    return [weakref.ref(x)]
