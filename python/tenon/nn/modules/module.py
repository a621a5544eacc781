"""Module: what every layer and network is made of."""

import inspect
import weakref

from tenon import _C, _missing

from ..parameter import Buffer, Parameter
from . import _hooks
from ._convert import Conversion
from ._hooks import register_module_forward_hook, register_module_forward_pre_hook
from ._members import Members, adopt, made_for, without_copies
from ._state import State

__all__ = ["Module", "register_module_forward_hook", "register_module_forward_pre_hook"]

_Tensor = _C.Tensor
_KINDS = {"_parameters", "_buffers", "_modules"}
_NO_HOOKS = _hooks.NONE


def typename(x):
    """How error messages name the type of x: 'torch.FloatTensor', 'int', 'package.module.Class'."""
    if isinstance(x, _Tensor):
        return x.type()
    cls = type(x)
    return cls.__qualname__ if cls.__module__ in ("builtins", "", None) else f"{cls.__module__}.{cls.__qualname__}"


def _indent(text, by=2):
    first, *rest = text.split("\n")
    return "\n".join([first] + [" " * by + line for line in rest])


def _collect(module, found):
    """Makes module and all inside it keys of found: named_modules() for who needs neither names nor a generator."""
    found[module] = None
    for child in module._modules.values():
        if child is not None and child not in found:
            _collect(child, found)


class Module(State, Conversion):
    """A layer or network: parameters, buffers and other modules, found as its attributes, and forward().

    Assigning a Parameter, a Buffer or a Module to an attribute registers it; calling the module calls forward() with
    whatever hooks there are. Subclasses call super().__init__() before they assign any.
    """

    dump_patches = False
    call_super_init = False
    _version = 1
    _hooked = False  # whether a hook was ever registered: the only thing that a call looks at
    _forward_hooks = _forward_hooks_with_kwargs = _forward_hooks_always_called = _NO_HOOKS
    _forward_pre_hooks = _forward_pre_hooks_with_kwargs = _NO_HOOKS
    _backward_hooks = _backward_pre_hooks = _NO_HOOKS
    _state_dict_hooks = _state_dict_pre_hooks = _NO_HOOKS
    _load_state_dict_pre_hooks = _load_state_dict_post_hooks = _NO_HOOKS

    def __init__(self, *args, **kwargs):
        if not self.call_super_init:
            if kwargs:
                raise TypeError(f"{type(self).__name__}.__init__() got an unexpected keyword argument "
                                f"'{next(iter(kwargs))}'")
            if args:
                raise TypeError(f"{type(self).__name__}.__init__() takes 1 positional argument but {len(args) + 1} were "
                                "given")
        attributes = self.__dict__
        attributes["training"] = True
        attributes["_parameters"] = Members(self)
        attributes["_buffers"] = Members(self)
        attributes["_non_persistent_buffers_set"] = set()
        attributes["_modules"] = Members(self)
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    # ---- running ----

    def __call__(self, *args, **kwargs):
        if self._hooked:
            return _hooks.call(self, args, kwargs)
        return self.forward(*args, **kwargs)

    def forward(self, *input):
        """The result for these inputs. Every subclass that is called has its own."""
        raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')

    # ---- registration ----

    def _check_new_name(self, name, what, held):
        if not isinstance(name, str):
            raise TypeError(f"{what} name should be a string. Got {typename(name)}")
        if "." in name:
            raise KeyError(f'{what} name can\'t contain "."' + (f", got: {name}" if what == "module" else ""))
        if name == "":
            raise KeyError(f'{what} name can\'t be empty string ""')
        if name not in held and hasattr(self, name):
            raise KeyError(f"attribute '{name}' already exists")

    def _drop(self, name, but):
        """Takes name from everything that could hold it, save `but`."""
        attributes = self.__dict__
        for kind in _KINDS:
            held = attributes.get(kind)
            if held is not None and held is not but:
                held.pop(name, None)
        attributes.pop(name, None)
        if attributes.get("_buffers") is not but:
            unsaved = attributes.get("_non_persistent_buffers_set")
            if unsaved is not None:
                unsaved.discard(name)

    def register_parameter(self, name, param):
        """Adds a parameter (or None: a place where there is none). KeyError for a name that is taken."""
        held = self.__dict__.get("_parameters")
        if held is None:
            raise AttributeError("cannot assign parameter before Module.__init__() call")
        self._check_new_name(name, "parameter", held)
        if param is not None:
            if not isinstance(param, Parameter):
                raise TypeError(f"cannot assign '{typename(param)}' object to parameter '{name}' "
                                "(torch.nn.Parameter or None required)")
            if param.grad_fn is not None:
                raise ValueError(f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be created "
                                 f"explicitly. To express '{name}' as a function of another Tensor, compute the value in "
                                 "the forward() method.")
        held[name] = param

    def register_buffer(self, name, tensor, persistent=True):
        """Adds a tensor that is moved with the module and, where persistent, saved with it; it is not trained."""
        held = self.__dict__.get("_buffers")
        if held is None:
            raise AttributeError("cannot assign buffer before Module.__init__() call")
        self._check_new_name(name, "buffer", held)
        if tensor is not None and not isinstance(tensor, _Tensor):
            raise TypeError(f"cannot assign '{typename(tensor)}' object to buffer '{name}' (torch Tensor or None required)")
        held[name] = tensor
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def add_module(self, name, module):
        """Adds a child (or None)."""
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"{typename(module)} is not a Module subclass")
        self._check_new_name(name, "module", self._modules)
        self._modules[name] = module

    def register_module(self, name, module):
        """add_module under another name."""
        self.add_module(name, module)

    def __setattr__(self, name, value):
        attributes = self.__dict__
        parameters = attributes.get("_parameters")
        if isinstance(value, Parameter):
            if parameters is None:
                raise AttributeError("cannot assign parameters before Module.__init__() call")
            self._drop(name, but=parameters)
            self.register_parameter(name, value)
        elif parameters is not None and name in parameters:
            if value is not None:
                raise TypeError(f"cannot assign '{typename(value)}' as parameter '{name}' "
                                "(torch.nn.Parameter or None expected)")
            self.register_parameter(name, None)
        elif isinstance(value, Module):
            children = attributes.get("_modules")
            if children is None:
                raise AttributeError("cannot assign module before Module.__init__() call")
            self._drop(name, but=children)
            children[name] = value
        else:
            self._set_other(attributes, name, value)

    def _set_other(self, attributes, name, value):
        children = attributes.get("_modules")
        if children is not None and name in children:
            if value is not None:
                raise TypeError(f"cannot assign '{typename(value)}' as child module '{name}' "
                                "(torch.nn.Module or None expected)")
            children[name] = None
            return
        buffers = attributes.get("_buffers")
        if isinstance(value, Buffer) or (buffers is not None and name in buffers):
            if buffers is None:
                raise AttributeError("cannot assign buffer before Module.__init__() call")
            self._set_buffer(buffers, name, value)
        elif name in _KINDS and isinstance(value, dict):
            adopt(self, name, value)
        else:
            super().__setattr__(name, value)

    def _set_buffer(self, buffers, name, value):
        if value is not None and not isinstance(value, _Tensor):
            raise TypeError(f"cannot assign '{typename(value)}' as buffer '{name}' "
                            "(torch.nn.Buffer, torch.Tensor or None expected)")
        if not isinstance(value, Buffer):
            buffers[name] = value
        elif type(self).register_buffer is Module.register_buffer:
            self.register_buffer(name, value, value.persistent)
        else:
            self._register_own_way(name, value)

    def _register_own_way(self, name, buffer):
        """By a register_buffer of the subclass, which may be of the time when all buffers were saved."""
        if "persistent" in inspect.signature(self.register_buffer).parameters:
            self.register_buffer(name, buffer, buffer.persistent)
            return
        if not buffer.persistent:
            raise RuntimeError("Registering a non-persistent buffer on a Module subclass that implements register_buffer() "
                               "without the persistent argument is not allowed.")
        self.register_buffer(name, buffer)

    def __getattr__(self, name):
        # reached only for what has no attribute: the members' copies were lost, or there is none of that name
        attributes = self.__dict__
        for kind in _KINDS:
            held = attributes.get(kind)
            if held is not None and name in held:
                return held[name]
        raise _missing.error_of_object("torch.nn.Module", self, name)

    def __delattr__(self, name):
        attributes = self.__dict__
        for kind in _KINDS:
            held = attributes.get(kind)
            if held is not None and name in held:
                del held[name]
                if kind == "_buffers":
                    self._non_persistent_buffers_set.discard(name)
                return
        super().__delattr__(name)

    def __dir__(self):
        names = set(dir(type(self))).union(self.__dict__, self._parameters, self._buffers, self._modules)
        return sorted(name for name in names if not name[:1].isdigit())

    def __getstate__(self):
        return without_copies(self.__dict__)

    def __setstate__(self, state):
        attributes = self.__dict__
        attributes.update(state)
        attributes.setdefault("_non_persistent_buffers_set", set())
        for kind in _KINDS:
            held = attributes.get(kind)
            if held is not None:
                attributes[kind] = Members(self, held)

    # ---- what is inside ----

    def get_submodule(self, target):
        """The module of this dotted name; '' is self. AttributeError if there is none."""
        module = self
        for atom in target.split(".") if target else ():
            if not hasattr(module, atom):
                raise AttributeError(f"{module._get_name()} has no attribute `{atom}`")
            module = getattr(module, atom)
            if not isinstance(module, Module):
                raise AttributeError(f"`{atom}` is not an nn.Module")
        return module

    def set_submodule(self, target, module, strict=False):
        """Puts module in the place of the child of this dotted name; strict: only where there is one."""
        if target == "":
            raise ValueError("Cannot set the submodule without a target name!")
        if not isinstance(module, Module):
            raise ValueError(f"`module` is not an nn.Module, found {type(module)}")
        path, _, name = target.rpartition(".")
        parent = self.get_submodule(path)
        if strict and not hasattr(parent, name):
            raise AttributeError(f"{parent._get_name()} has no attribute `{name}`")
        if hasattr(parent, name) and not isinstance(getattr(parent, name), Module):
            raise AttributeError(f"`{name}` is not an nn.Module")
        setattr(parent, name, module)

    def _get_member(self, target):
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        if not hasattr(module, name):
            raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
        return module, name, getattr(module, name)

    def get_parameter(self, target):
        """The parameter of this dotted name. AttributeError if there is none."""
        _, name, found = self._get_member(target)
        if not isinstance(found, Parameter):
            raise AttributeError(f"`{name}` is not an nn.Parameter")
        return found

    def get_buffer(self, target):
        """The buffer of this dotted name. AttributeError if there is none."""
        module, name, found = self._get_member(target)
        if name not in module._buffers:
            raise AttributeError(f"`{name}` is not a buffer")
        return found

    def _named_members(self, get_members_fn, prefix="", recurse=True, remove_duplicate=True):
        seen = set()
        modules = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate) if recurse else [(prefix, self)]
        for path, module in modules:
            for name, member in get_members_fn(module):
                if member is None or member in seen:
                    continue
                if remove_duplicate:
                    seen.add(member)
                yield (f"{path}.{name}" if path else name), member

    def named_parameters(self, prefix="", recurse=True, remove_duplicate=True):
        """Pairs of dotted name and parameter; one that several modules share comes once, under its first name."""
        yield from self._named_members(lambda m: m._parameters.items(), prefix, recurse, remove_duplicate)

    def parameters(self, recurse=True):
        """The parameters of this module and, unless told otherwise, of all that are inside it."""
        for _, parameter in self.named_parameters(recurse=recurse):
            yield parameter

    def named_buffers(self, prefix="", recurse=True, remove_duplicate=True):
        """Pairs of dotted name and buffer."""
        yield from self._named_members(lambda m: m._buffers.items(), prefix, recurse, remove_duplicate)

    def buffers(self, recurse=True):
        """The buffers of this module and, unless told otherwise, of all that are inside it."""
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def named_children(self):
        """Pairs of name and module, for the modules directly inside this one."""
        seen = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def children(self):
        """The modules directly inside this one."""
        for _, module in self.named_children():
            yield module

    def named_modules(self, memo=None, prefix="", remove_duplicate=True):
        """Pairs of dotted name and module: this one, named prefix, and all inside it, parents first."""
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                yield from module.named_modules(memo, f"{prefix}.{name}" if prefix else name, remove_duplicate)

    def modules(self):
        """This module and all inside it, parents first."""
        for _, module in self.named_modules():
            yield module

    def apply(self, fn):
        """Calls fn with every module inside this one, then with it. Returns self."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    # ---- modes ----

    def train(self, mode=True):
        """Training mode, or eval mode, for this module and all inside it. Returns self."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self):
        """train(False)."""
        return self.train(False)

    def requires_grad_(self, requires_grad=True):
        """Whether the parameters are to get gradients. Returns self."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none=True):
        """Removes the gradients of all parameters, or makes them zero."""
        if self.__dict__.get("_is_replica"):
            import warnings

            warnings.warn("Calling .zero_grad() from a module created with nn.DataParallel() has no effect. The parameters "
                          "are copied (in a differentiable manner) from the original module. This means they are not leaf "
                          "nodes in autograd and so don't accumulate gradients. If you need gradients in your forward "
                          "method, consider using autograd.grad instead.", stacklevel=2)
        modules = {}
        _collect(self, modules)
        _C._zero_grads([p for m in modules for p in m._parameters.values() if p is not None], set_to_none)

    # ---- copies ----

    def _replicate_for_data_parallel(self):
        """A shallow copy without parameters, for one forward: nn.parallel.replicate gives it tensors and children."""
        replica = self.__new__(type(self))
        attributes = replica.__dict__
        attributes.update(self.__dict__)
        owner = weakref.ref(replica)
        attributes["_parameters"] = made_for(owner, ())
        attributes["_buffers"] = made_for(owner, self._buffers)
        attributes["_modules"] = made_for(owner, self._modules)
        attributes["_is_replica"] = True
        return replica

    # ---- hooks ----

    def register_forward_pre_hook(self, hook, *, prepend=False, with_kwargs=False):
        """Calls hook(module, args[, kwargs]) before forward(); what it returns, if anything, replaces the arguments."""
        marks = ("_forward_pre_hooks_with_kwargs",) if with_kwargs else ()
        self._hooked = True
        return _hooks.add(self, "_forward_pre_hooks", hook, prepend=prepend, marks=marks)

    def register_forward_hook(self, hook, *, prepend=False, with_kwargs=False, always_call=False):
        """Calls hook(module, args[, kwargs], output) after forward(); what it returns, if anything, replaces the output.
        always_call: also where forward() failed, with None for the output."""
        marks = ("_forward_hooks_with_kwargs",) if with_kwargs else ()
        marks += ("_forward_hooks_always_called",) if always_call else ()
        self._hooked = True
        return _hooks.add(self, "_forward_hooks", hook, prepend=prepend, marks=marks)

    def register_full_backward_pre_hook(self, hook, prepend=False):
        """Calls hook(module, grad_output) as the gradients of the outputs are known; may return others."""
        self._hooked = True
        return _hooks.add(self, "_backward_pre_hooks", hook, prepend=prepend)

    def register_full_backward_hook(self, hook, prepend=False):
        """Calls hook(module, grad_input, grad_output) as the gradients of the inputs are known; may return others."""
        self._hooked = True
        return _hooks.add(self, "_backward_hooks", hook, prepend=prepend)

    # ---- printing ----

    def _get_name(self):
        return type(self).__name__

    def extra_repr(self):
        """What is printed between the brackets."""
        return ""

    def __repr__(self):
        extra = self.extra_repr()
        lines = extra.split("\n") if extra else []
        children = [f"({name}): {_indent(repr(module))}" for name, module in self._modules.items()]
        if not children and len(lines) <= 1:
            return f"{self._get_name()}({extra})"
        return self._get_name() + "(\n  " + "\n  ".join(lines + children) + "\n)"
