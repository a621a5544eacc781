"""The .pyi stubs beside the package, and the docstrings: every public name has both."""

import ast
import builtins
import importlib
import inspect
import pathlib
import types

import pytest

import tenon as torch

PACKAGE = pathlib.Path(torch.__file__).parent
STUBS = sorted(PACKAGE.rglob("*.pyi"))
MODULES = """tenon tenon.accelerator tenon.autograd tenon.autograd.anomaly_mode tenon.autograd.functional
tenon.autograd.graph tenon.backends tenon.backends.cuda tenon.backends.cudnn tenon.cpu tenon.cuda tenon.cuda.comm
tenon.distributions tenon.distributions.constraints tenon.distributions.transforms tenon.func tenon.linalg tenon.masked tenon.nn
tenon.nn.functional tenon.nn.init tenon.nn.parallel tenon.nn.parallel.comm tenon.nn.parameter tenon.nn.utils
tenon.nn.utils.parametrizations tenon.nn.utils.parametrize tenon.nn.utils.stateless
tenon.optim tenon.optim.lr_scheduler tenon.optim.swa_utils tenon.profiler tenon.random tenon.return_types
tenon.safetensors tenon.serialization tenon.storage tenon.testing tenon.torch_version tenon.utils
tenon.transforms tenon.datasets tenon.utils.checkpoint tenon.utils.data""".split()


def stub_of(module):
    path = PACKAGE.joinpath(*module.split(".")[1:])
    for candidate in (path.with_suffix(".pyi") if path != PACKAGE else None, path / "__init__.pyi"):
        if candidate and candidate.exists():
            return candidate
    return None


def names_in(module):
    """The names that a type checker finds in a module: defined, assigned, or imported to be given on."""
    path = stub_of(module)
    assert path, f"{module} has no stub"
    package = module if path.stem == "__init__" else module.rpartition(".")[0]
    found = {}
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found[node.name] = node
        elif isinstance(node, ast.Assign):
            found.update({t.id: node for t in node.targets if isinstance(t, ast.Name)})
        elif isinstance(node, ast.AnnAssign):
            found[node.target.id] = node
        elif isinstance(node, ast.ImportFrom):
            base = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            source = ".".join(base + ([node.module] if node.module else []))
            for alias in node.names:
                if alias.name == "*":
                    names = names_in(source)
                    only = ast.literal_eval(names["__all__"].value) if "__all__" in names else [n for n in names if n[0] != "_"]
                    found.update({n: names[n] for n in only})
                elif alias.asname == alias.name or alias.asname:
                    found[alias.asname] = node
    return found


def public(module):
    """Its names; of modules those of the package that an import of this one does not bring along anyway."""
    names = [n for n in getattr(module, "__all__", None) or dir(module) if n[0] != "_"]
    return [n for n in names if not isinstance(getattr(module, n), types.ModuleType) or stub_of(f"{module.__name__}.{n}") is None
            and getattr(module, n).__name__.startswith("tenon")]


def test_there_are_stubs_and_the_mark_of_typed_packages():
    assert (PACKAGE / "py.typed").exists()
    assert {"__init__.pyi", "_C.pyi"} <= {p.name for p in STUBS}
    assert not list(pathlib.Path(__file__).parents[2].joinpath("python", "tenon").rglob("*.pyi")), "made in the build alone"


@pytest.mark.parametrize("path", STUBS, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_stubs_are_python(path):
    compile(path.read_text(), str(path), "exec", dont_inherit=True)


@pytest.mark.parametrize("name", MODULES)
def test_every_public_name_is_in_the_stub(name):
    module, found = importlib.import_module(name), names_in(name)
    assert [n for n in public(module) if n not in found] == []


@pytest.mark.parametrize("name", MODULES)
def test_what_the_stub_says_is_there(name):
    module = importlib.import_module(name)
    private = {"Any", "ClassVar", "Sequence"}
    assert [n for n in names_in(name) if n[0] != "_" and n not in private and not hasattr(module, n)] == []


@pytest.mark.parametrize("name", MODULES)
def test_every_public_name_is_documented(name):
    module = importlib.import_module(name)
    missing = [] if (module.__doc__ or "").strip() else [name]
    for n in public(module):
        value = getattr(module, n)
        if not callable(value) and not isinstance(value, types.ModuleType):
            continue
        if not (inspect.getdoc(value) or "").strip():
            missing.append(n)
        if isinstance(value, type) and value.__module__.startswith(("tenon", "torch")):
            for m in dir(value):
                member = inspect.getattr_static(value, m)
                if m[0] != "_" and not hasattr(BaseException, m) and (callable(member) or isinstance(member, (property, types.GetSetDescriptorType))):
                    if not (inspect.getdoc(getattr(value, m)) or "").strip():
                        missing.append(f"{n}.{m}")
    assert missing == []


def tensor_stub():
    return names_in("tenon._C")["Tensor"].body


def test_named_results_are_those_of_the_list():
    """The classes and their items, as PyTorch has them."""
    want = {"max": "values indices", "min": "values indices", "aminmax": "min max", "frexp": "mantissa exponent",
            "sort": "values indices",
            "topk": "values indices", "cummax": "values indices", "cummin": "values indices", "kthvalue": "values indices",
            "median": "values indices", "nanmedian": "values indices", "mode": "values indices",
            "histogram": "hist bin_edges", "histogramdd": "hist bin_edges"}  # fmt: skip
    stub = {k: [n.target.id for n in v.body if isinstance(n, ast.AnnAssign)]
            for k, v in names_in("tenon.return_types").items() if isinstance(v, ast.ClassDef)}  # fmt: skip
    real = {k: list(v._fields) for k, v in vars(torch.return_types).items() if isinstance(v, type)}
    assert stub == real == {k: v.split() for k, v in want.items()}


def test_tensor_in_the_stub_is_tensor():
    stub = {n.name for n in tensor_stub() if isinstance(n, ast.FunctionDef)}
    real = {n for n in dir(torch.Tensor) if n[0] != "_"}
    assert real - stub == set()
    assert {n for n in stub if n[0] != "_"} - real == set()
    operators = {n for n in vars(torch.Tensor) if n.startswith("__") and callable(getattr(torch.Tensor, n))}
    known = {"__new__", "__dir__", "__repr__", "__str__", "__format__", "__reduce_ex__", "__sizeof__", "__delitem__"}
    assert {n for n in operators if n not in known and n not in dir(object)} - stub == set()


def test_functions_of_the_extension_begin_with_their_signature():
    bare = []
    for name in dir(torch._C):
        value = getattr(torch._C, name)
        if name[0] != "_" and isinstance(value, types.BuiltinFunctionType):
            if not value.__doc__.startswith(f"{name}("):
                bare.append(name)
    assert bare == []


def test_documentation_shows_every_way_to_call_and_no_slots():
    lines = torch.pow.__doc__.split("\n")
    assert lines[0] == "pow(Tensor input, Operand exponent, *, Tensor? out=None)"
    assert lines[1] == "pow(Operand self, Tensor exponent, *, Tensor? out=None)"
    assert lines[2] == "" and lines[3]
    for owner in (torch._C, torch._C._nn, torch._C._special, torch.Tensor):
        documents = {n: getattr(owner, n).__doc__ for n in dir(owner) if n[0] != "_"}
        assert [n for n, doc in documents.items() if "@" in doc.split("\n\n")[0]] == []


def parameters(node):
    a = node.args
    return [p.arg for p in a.args] + [p.arg for p in a.kwonlyargs]


def test_overloads_stand_for_the_ways_to_call():
    sums = [n for n in tensor_stub() if isinstance(n, ast.FunctionDef) and n.name == "sum"]
    assert [parameters(n) for n in sums] == [["self", "dtype"], ["self", "dim", "keepdim", "dtype", "out"]]
    assert all(ast.unparse(n.decorator_list[0]) == "overload" for n in sums)
    assert {ast.unparse(n.returns) for n in tensor_stub() if isinstance(n, ast.FunctionDef) and n.name == "max"} == {
        "Tensor",
        "return_types.max",
    }


def test_python_functions_have_the_parameters_of_the_code():
    node = names_in("tenon.nn.modules.linear")["Linear"]
    init = next(n for n in node.body if isinstance(n, ast.FunctionDef) and n.name == "__init__")
    assert parameters(init) == list(inspect.signature(torch.nn.Linear.__init__).parameters)
    assert ast.unparse(init.args.args[1].annotation) == "int"
    assert ast.unparse(init.args.args[3].annotation) == "bool"


def test_classes_of_the_errors():
    stub = names_in("tenon._C")
    for name in ("OutOfMemoryError", "AcceleratorError"):
        assert [ast.unparse(b) for b in stub[name].bases] == [b.__name__ for b in getattr(torch, name).__bases__]
        assert issubclass(getattr(torch, name), builtins.RuntimeError)
