/* tensor_methods.c: Tensor's methods that are no operations: what it is, moving it, its numbers. */
#include "args.h"

#include "functions.h"

/* ---- what it is ---- */

static PyObject *size(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *names)
{
    tn_tensor *t = py_t(self);
    PyObject *dim = n == 1 ? args[0] : Py_None;
    int64_t d;
    if (n > 1 || (names && (PyTuple_Size(names) != 1 || n ||
                            PyUnicode_CompareWithASCIIString(PyTuple_GetItem(names, 0), "dim"))))
        return PyErr_Format(PyExc_TypeError, "size() received an invalid combination of arguments: it takes one dim");
    if (names)
        dim = args[0];
    if (dim == Py_None)
        return py_size(tn_tensor_shape(t));
    if (py_int(dim, &d))
        return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_TypeError, "size(): argument 'dim' must be int");
    int64_t of = tn_tensor_size(t, d);
    return of < 0 ? py_raise() : PyLong_FromLongLong(of);
}

static PyObject *ints(tn_dims d)
{
    PyObject *tuple = PyTuple_New(d.ndim);
    for (int32_t i = 0; tuple && i < d.ndim; i++) {
        PyObject *n = PyLong_FromLongLong(d.dim[i]);
        if (!n || PyTuple_SetItem(tuple, i, n))
            Py_CLEAR(tuple);
    }
    return tuple;
}

static PyObject *run_stride(PyObject *self, py_value *v, int which)
{
    tn_tensor *t = v[0].s.v.t;
    tn_dims s = tn_tensor_stride(t);
    int64_t d = v[1].s.v.i;
    (void)self, (void)which;
    if (!v[1].given)
        return ints(s);
    return tn_tensor_size(t, d) < 0 ? py_raise() : PyLong_FromLongLong(s.dim[d < 0 ? d + s.ndim : d]);
}

static PyObject *stride(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *names)
{
    static py_function f = {
        .name = "stride", .slots = "input dim", .text = {"stride(Tensor input, int? dim=None)"}, .run = run_stride};
    return py_call(&f, self, args, n, names);
}

static PyObject *dim(PyObject *self, PyObject *unused)
{
    (void)unused;
    return PyLong_FromLong(tn_tensor_ndim(py_t(self)));
}

static PyObject *numel(PyObject *self, PyObject *unused)
{
    (void)unused;
    return PyLong_FromLongLong(tn_tensor_numel(py_t(self)));
}

static PyObject *element_size(PyObject *self, PyObject *unused)
{
    (void)unused;
    return PyLong_FromSize_t(tn_dtype_size(tn_tensor_dtype(py_t(self))));
}

static PyObject *storage_offset(PyObject *self, PyObject *unused)
{
    (void)unused;
    return PyLong_FromLongLong(tn_tensor_storage_offset(py_t(self)));
}

/* The address of its first element, 0 where it has none; of a GPU's tensor that address is the device's. */
static PyObject *data_ptr(PyObject *self, PyObject *unused)
{
    (void)unused;
    return PyLong_FromVoidPtr(tn_tensor_numel(py_t(self)) ? tn_tensor_address(py_t(self)) : NULL);
}

static PyObject *run_is_contiguous(PyObject *self, py_value *v, int which)
{
    (void)self, (void)which;
    return PyBool_FromLong(tn_tensor_is_contiguous_in(v[0].s.v.t, (tn_memory_format)v[1].s.v.i));
}

static PyObject *is_contiguous(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *names)
{
    static py_function f = {.name = "is_contiguous",
                            .slots = "input memory_format",
                            .text = {"is_contiguous(Tensor input, *, memory_format memory_format=contiguous_format)"},
                            .run = run_is_contiguous};
    return n || names ? py_call(&f, self, args, n, names) : PyBool_FromLong(tn_tensor_is_contiguous(py_t(self)));
}

static PyObject *is_floating_point(PyObject *self, PyObject *unused)
{
    (void)unused;
    return PyBool_FromLong(tn_dtype_is_floating_point(tn_tensor_dtype(py_t(self))));
}

static PyObject *is_false(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    Py_RETURN_FALSE;
}

static PyObject *is_signed(PyObject *self, PyObject *unused)
{
    tn_dtype d = tn_tensor_dtype(py_t(self));
    (void)unused;
    return PyBool_FromLong(py_dtypes[d].is_signed);
}

static PyObject *is_inference(PyObject *self, PyObject *unused)
{
    (void)unused;
    return PyBool_FromLong(tn_tensor_is_inference(py_t(self)));
}

static PyObject *is_pinned(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *names)
{
    (void)args, (void)n, (void)names; /* device: there is one that needs such memory */
    return PyBool_FromLong(tn_tensor_is_pinned(py_t(self)));
}

static PyObject *get_device(PyObject *self, PyObject *unused)
{
    tn_device d = tn_tensor_device(py_t(self));
    (void)unused;
    return PyLong_FromLong(d.type == TN_DEVICE_CPU ? -1 : d.index);
}

static PyObject *shares_memory(PyObject *self, PyObject *other)
{
    if (!py_is_tensor(other))
        return PyErr_Format(PyExc_TypeError, "_shares_memory(): another tensor is asked for");
    return PyBool_FromLong(tn_tensor_shares_memory(py_t(self), py_t(other)));
}

/* ---- its numbers ---- */

static PyObject *item(PyObject *self, PyObject *unused)
{
    int64_t n = tn_tensor_numel(py_t(self));
    (void)unused;
    if (n != 1)
        return PyErr_Format(PyExc_RuntimeError, "a Tensor with %lld elements cannot be converted to Scalar",
                            (long long)n);
    return py_item(self);
}

/* One element of each kind of row in core/dtypes.def; the 16-bit floating ones are converted before. */
#define NUMBER_BOOL(v)   PyBool_FromLong(v)
#define NUMBER_INT(v)    PyLong_FromLongLong(v)
#define NUMBER_UINT(v)   PyLong_FromUnsignedLongLong(v)
#define NUMBER_HALF(v)   ((void)(v), NULL)
#define NUMBER_BFLOAT(v) ((void)(v), NULL)
#define NUMBER_FLOAT(v)  PyFloat_FromDouble((double)(v))

static PyObject *number_at(const char *p, tn_dtype d)
{
    switch (d) {
#define DTYPE(ID, token, name, storage, kind, ...) \
    case TN_##ID: { \
        storage v; \
        memcpy(&v, p, sizeof v); \
        return NUMBER_##kind(v); \
    }
#include "dtypes.def"
    default: return NULL;
    }
}

static PyObject *list_of(const char **p, tn_dtype d, tn_dims shape, int32_t level)
{
    if (level == shape.ndim) {
        PyObject *n = number_at(*p, d);
        *p += tn_dtype_size(d);
        return n;
    }
    PyObject *list = PyList_New((Py_ssize_t)shape.dim[level]);
    for (int64_t i = 0; list && i < shape.dim[level]; i++) {
        PyObject *item = list_of(p, d, shape, level + 1);
        if (!item || PyList_SetItem(list, (Py_ssize_t)i, item))
            Py_CLEAR(list);
    }
    return list;
}

static PyObject *tolist(PyObject *self, PyObject *unused)
{
    tn_dtype d = tn_tensor_dtype(py_t(self));
    tn_to_options o = {
        .struct_size = sizeof o, .site = "", .device = TN_CPU, .dtype = d == TN_F16 || d == TN_BF16 ? TN_F32 : 0};
    tn_tensor *host, *flat = NULL, *bare = tn_detach(py_t(self));
    (void)unused;
    PY_BEGIN_OWNING(bare)
        host = bare ? (tn_to_opt)(bare, &o) : NULL;
        flat = host ? tn_contiguous(host) : NULL;
    PY_END_OWNING
    const char *p = flat ? tn_data(flat) : NULL;
    PyObject *list = flat && (p || !tn_tensor_numel(flat))
                         ? list_of(&p, tn_tensor_dtype(flat), tn_tensor_shape(flat), 0)
                         : py_raise();
    tn_release(flat);
    tn_release(host);
    tn_release(bare);
    return list;
}

static PyObject *numpy(PyObject *self, PyObject *args, PyObject *kwds)
{
    static char *names[] = {"force", NULL};
    int force = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwds, "|$p:numpy", names, &force))
        return NULL;
    if (!force)
        return py_to_numpy(self);
    PyObject *bare = py_wrap(tn_detach(py_t(self)));
    PyObject *host = bare ? py_wrap((tn_cpu_at)("", py_t(bare))) : NULL;
    PyObject *array = host ? py_to_numpy(host) : NULL;
    Py_XDECREF(host);
    Py_XDECREF(bare);
    return array;
}

/* ---- moving it ---- */

static PyObject *moved(tn_tensor *t, tn_to_options o)
{
    tn_tensor *r;
    o.struct_size = sizeof o;
    o.site = "";
    PY_BEGIN_OWNING(t)
        r = (tn_to_opt)(t, &o);
    PY_END_OWNING
    return py_wrap(r);
}

/* slots: input device dtype other non_blocking copy memory_format */
PyObject *run_to(PyObject *self, py_value *v, int which)
{
    tn_to_options o = {.device = v[1].device,
                       .dtype = v[2].dtype,
                       .non_blocking = v[4].s.v.i != 0,
                       .copy = v[5].s.v.i != 0,
                       .memory_format = (tn_memory_format)v[6].s.v.i};
    (void)self, (void)which;
    if (o.device.type == TN_DEVICE_CPU && o.device.index >= 0 && tn_tensor_device(v[0].s.v.t).type == TN_DEVICE_CPU)
        o.copy = true; /* 'cpu:0' is another device than 'cpu', where every tensor is */
    if (v[3].given) {
        o.device = tn_tensor_device(v[3].s.v.t);
        o.dtype = tn_tensor_dtype(v[3].s.v.t);
    }
    return moved(v[0].s.v.t, o);
}

/* slots: input device non_blocking memory_format */
PyObject *run_cuda(PyObject *self, py_value *v, int which)
{
    tn_device d = TN_CUDA(-1);
    int64_t index;
    PyObject *o = v[1].u.object;
    (void)self, (void)which;
    if (v[1].given && o != Py_None) {
        if (PyLong_Check(o) && !py_int(o, &index))
            d = TN_CUDA((int32_t)(index < -1 || index > INT32_MAX ? INT32_MAX : index));
        else if (py_device_from(o, &d))
            return PyErr_Occurred() ? NULL
                                    : PyErr_Format(PyExc_TypeError, "cuda(): argument 'device' must be torch.device");
    }
    if (d.type != TN_DEVICE_CUDA)
        return PyErr_Format(PyExc_RuntimeError, "Invalid device, must be cuda device");
    return moved(
        v[0].s.v.t,
        (tn_to_options){.device = d, .non_blocking = v[2].s.v.i != 0, .memory_format = (tn_memory_format)v[3].s.v.i});
}

/* slots: input memory_format */
PyObject *run_cpu(PyObject *self, py_value *v, int which)
{
    (void)self, (void)which;
    return moved(v[0].s.v.t, (tn_to_options){.device = TN_CPU, .memory_format = (tn_memory_format)v[1].s.v.i});
}

/* Tensor.float() and its like, where a row of core/dtypes.def has one. */
#define DEFINE_BARE(ID, token, method)
#define DEFINE_FULL(ID, token, method) \
    static PyObject *run_to_##token(PyObject *self, py_value *v, int which) \
    { \
        (void)self, (void)which; \
        return moved(v[0].s.v.t, (tn_to_options){.dtype = TN_##ID, .memory_format = (tn_memory_format)v[1].s.v.i}); \
    } \
    static PyObject *to_##token(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *names) \
    { \
        static py_function f = {.name = method, \
                                .slots = "input memory_format", \
                                .text = {method "(Tensor input, *, memory_format? memory_format=None)"}, \
                                .run = run_to_##token}; \
        return py_call(&f, self, args, n, names); \
    }
#define DTYPE(ID, token, name, storage, kind, has, digits, compute, legacy, scalar, value, older, method, ...) \
    DEFINE_##has(ID, token, method)
#include "dtypes.def"

static PyObject *pin_memory(PyObject *self, PyObject *args)
{
    tn_tensor *r;
    (void)args;
    PY_BEGIN_OWNING(py_t(self))
        r = (tn_pin_memory_at)("", py_t(self));
    PY_END_OWNING
    return py_wrap(r);
}

/* ---- autograd ---- */

static PyObject *run_requires_grad_(PyObject *self, py_value *v, int which)
{
    (void)which;
    return tn_requires_grad_(v[0].s.v.t, v[1].s.v.i != 0) ? Py_NewRef(self) : py_raise();
}

static PyObject *requires_grad_(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *names)
{
    static py_function f = {.name = "requires_grad_",
                            .slots = "input requires_grad",
                            .text = {"requires_grad_(Tensor input, bool requires_grad=True)"},
                            .run = run_requires_grad_};
    return py_call(&f, self, args, n, names);
}

static PyObject *retain_grad(PyObject *self, PyObject *unused)
{
    (void)unused;
    return py_done(tn_retain_grad(py_t(self)));
}

#define HAND(name, f, flags, doc) \
    { \
        name, (PyCFunction)(void (*)(void))f, flags, doc \
    }
#define CONVERT_BARE(token, method)
#define CONVERT_FULL(token, method) \
    HAND(method, to_##token, METH_FASTCALL | METH_KEYWORDS, method "() -> Tensor\n\nIts values in that dtype."),

PyMethodDef py_tensor_methods[] = {
    HAND("size", size, METH_FASTCALL | METH_KEYWORDS,
         "size(dim: int | None = None) -> Any\n\nThe sizes of its dimensions, or of one."),
    HAND("stride", stride, METH_FASTCALL | METH_KEYWORDS,
         "stride(dim: int | None = None) -> Any\n\nSteps between neighbours, in elements."),
    HAND("dim", dim, METH_NOARGS, "dim() -> int\n\nHow many dimensions it has."),
    HAND("ndimension", dim, METH_NOARGS, "ndimension() -> int\n\nHow many dimensions it has."),
    HAND("numel", numel, METH_NOARGS, "numel() -> int\n\nHow many elements it has."),
    HAND("nelement", numel, METH_NOARGS, "nelement() -> int\n\nHow many elements it has."),
    HAND("element_size", element_size, METH_NOARGS, "element_size() -> int\n\nBytes of one element."),
    HAND("storage_offset", storage_offset, METH_NOARGS,
         "storage_offset() -> int\n\nWhere it begins in its memory, in elements."),
    HAND("data_ptr", data_ptr, METH_NOARGS, "data_ptr() -> int\n\nThe address of its first element."),
    HAND("is_contiguous", is_contiguous, METH_FASTCALL | METH_KEYWORDS,
         "is_contiguous() -> bool\n\nIs it row-major without gaps?"),
    HAND("is_floating_point", is_floating_point, METH_NOARGS,
         "is_floating_point() -> bool\n\nIs its dtype a floating one?"),
    HAND("is_complex", is_false, METH_NOARGS, "is_complex() -> bool\n\nFalse."),
    HAND("is_signed", is_signed, METH_NOARGS, "is_signed() -> bool\n\nHas its dtype negative numbers?"),
    HAND("is_inference", is_inference, METH_NOARGS, "is_inference() -> bool\n\nWas it made in inference mode?"),
    HAND("is_pinned", is_pinned, METH_FASTCALL | METH_KEYWORDS, "is_pinned() -> bool\n\nIs it in page-locked memory?"),
    HAND("get_device", get_device, METH_NOARGS, "get_device() -> int\n\nIts GPU's index; -1 on the CPU."),
    HAND("_shares_memory", shares_memory, METH_O, "_shares_memory(other) -> bool"),
    HAND("item", item, METH_NOARGS, "item() -> Any\n\nThe one element, as a Python number."),
    HAND("tolist", tolist, METH_NOARGS, "tolist() -> list\n\nIts elements as nested lists of Python numbers."),
    HAND("numpy", numpy, METH_VARARGS | METH_KEYWORDS,
         "numpy(*, force: bool = False) -> Any\n\nAn array that shares its memory."),
    HAND("pin_memory", pin_memory, METH_VARARGS, "pin_memory() -> Tensor\n\nIts copy in page-locked memory."),
    HAND("requires_grad_", requires_grad_, METH_FASTCALL | METH_KEYWORDS,
         "requires_grad_(requires_grad: bool = True) -> Tensor\n\nRecords operations on it from now on, or not."),
    HAND("retain_grad", retain_grad, METH_NOARGS, "retain_grad() -> None\n\nKeeps .grad of a tensor that is no leaf."),
#define DTYPE(ID, token, name, storage, kind, has, digits, compute, legacy, scalar, value, older, method, ...) \
    CONVERT_##has(token, method)
#include "dtypes.def"
    {NULL, NULL, 0, NULL},
};
