/* creation.c: tensors from data: torch.tensor, as_tensor, from_numpy, frombuffer, and the class Tensor called. */
#include "functions.h"
#include "generator.h"

/* ---- factories whose arguments have several forms ---- */

static tn_options options_at(const py_value *v)
{
    return (tn_options){.struct_size = sizeof(tn_options),
                        .site = "",
                        .device = v[0].device,
                        .dtype = v[1].dtype,
                        .requires_grad = v[2].s.v.i != 0,
                        .pin_memory = v[3].s.v.i != 0};
}

tn_tensor *call_eye_any(const py_value *v)
{
    tn_options o = options_at(v + 2);
    if (v[1].given && v[1].s.v.i < 0) {
        PyGILState_STATE gil = PyGILState_Ensure();
        PyErr_Format(PyExc_RuntimeError, "m must be greater or equal to 0, got %lld", (long long)v[1].s.v.i);
        PyGILState_Release(gil);
        return NULL;
    }
    return (tn_eye_opt)(v[0].s.v.i, v[1].given ? v[1].s.v.i : -1, &o);
}

tn_tensor *call_arange_any(const py_value *v)
{
    tn_options o = options_at(v + 3);
    return (tn_arange_opt)(v[0].given ? v[0].s : tn_scalar_i(0), v[1].s, v[2].given ? v[2].s : tn_scalar_i(1), &o);
}

/* ---- from data ---- */

/* The device that is asked for: by the call, or by a default that is not the CPU. Else none: data stays where it is. */
static tn_device wanted(tn_device device)
{
    tn_device usual = tn_get_default_device();
    return device.type || usual.type == TN_DEVICE_CPU ? device : usual;
}

PyObject *py_grad_needs_floating(void)
{
    PyErr_SetString(PyExc_RuntimeError, "Only Tensors of floating point and complex dtype can require gradients");
    return NULL;
}

static PyObject *with_grad(PyObject *t, bool on)
{
    if (!t || !on)
        return t;
    bool floating = tn_dtype_is_floating_point(tn_tensor_dtype(py_t(t)));
    if (floating && tn_requires_grad_(py_t(t), true))
        return t;
    Py_DECREF(t);
    return floating ? py_raise() : py_grad_needs_floating();
}

/* slots: data dtype device requires_grad pin_memory */
PyObject *run_tensor(PyObject *self, py_value *v, int which)
{
    (void)self, (void)which;
    PyObject *data = v[0].u.object;
    if (py_is_tensor(data) &&
        PyErr_WarnEx(PyExc_UserWarning,
                     "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
                     "sourceTensor.detach().clone().requires_grad_(True), rather than torch.tensor(sourceTensor).",
                     1))
        return NULL;
    PyObject *t = py_tensor_from_data(data, v[1].dtype, wanted(v[2].device));
    if (t && v[4].s.v.i) {
        PyObject *pinned = py_wrap((tn_pin_memory_at)("", py_t(t)));
        Py_DECREF(t);
        t = pinned;
    }
    return with_grad(t, v[3].s.v.i != 0);
}

static PyObject *converted(PyObject *t, tn_dtype dtype, tn_device device, bool copy)
{
    if (!t)
        return NULL;
    PyObject *r = py_wrap((tn_to_opt)(py_t(t), &(tn_to_options){.struct_size = sizeof(tn_to_options),
                                                                .site = "",
                                                                .dtype = dtype,
                                                                .device = device,
                                                                .copy = copy}));
    Py_DECREF(t);
    return r;
}

static PyObject *shared_or_new(PyObject *data, tn_dtype dtype, tn_device device, bool copy)
{
    if (PyCapsule_CheckExact(data))
        return converted(py_from_dlpack(data), dtype, device, copy);
    if (py_is_tensor(data))
        return converted(Py_NewRef(data), dtype, device, copy);
    if (py_is_ndarray(data))
        return converted(py_from_numpy(data, copy), dtype, device.type ? device : tn_get_default_device(), copy);
    return py_tensor_from_data(data, dtype, device);
}

PyObject *run_as_tensor(PyObject *self, py_value *v, int which)
{
    (void)self, (void)which;
    return shared_or_new(v[0].u.object, v[1].dtype, wanted(v[2].device), false);
}

/* The memory of a tensor, a capsule, an array or a buffer as a tensor. */
static PyObject *shared(PyObject *data)
{
    return py_is_tensor(data)           ? Py_NewRef(data)
           : PyCapsule_CheckExact(data) ? py_from_dlpack(data)
                                        : py_from_numpy(data, false);
}

/* What asarray(copy=False) refuses: t, of the data's memory, is not what is asked for. */
static PyObject *refuse_copy(PyObject *t, tn_dtype dtype, tn_device device)
{
    tn_tensor *x = t ? py_t(t) : NULL;
    if (x && dtype && dtype != tn_tensor_dtype(x))
        PyErr_Format(PyExc_ValueError, "can't alias tensor with dtype '%s' into dtype '%s'.",
                     py_scalar_type_name(tn_tensor_dtype(x)), py_scalar_type_name(dtype));
    else if (x && device.type &&
             (device.type != tn_tensor_device(x).type ||
              (device.index >= 0 && tn_tensor_device(x).index >= 0 && device.index != tn_tensor_device(x).index)))
        PyErr_Format(PyExc_ValueError, "can't alias tensor from device '%s' to '%s'.",
                     tn_device_text(tn_tensor_device(x)).s, tn_device_text(device).s);
    else
        return t;
    Py_DECREF(t);
    return NULL;
}

/* slots: data dtype device copy requires_grad */
PyObject *run_asarray(PyObject *self, py_value *v, int which)
{
    (void)self, (void)which;
    PyObject *data = v[0].u.object;
    tn_device device = wanted(v[2].device);
    bool buffer =
        !py_is_tensor(data) && !py_is_ndarray(data) && !py_is_numpy_scalar(data) && PyObject_CheckBuffer(data);
    bool copy = v[3].given && v[3].s.v.i, never = v[3].given && !copy;
    if (never && py_is_numpy_scalar(data))
        return PyErr_Format(PyExc_RuntimeError,
                            "can't alias NumPy scalars. Either remove copy=False or transform it in a ndarray. ");
    if (never && !buffer && !py_is_tensor(data) && !py_is_ndarray(data) && !PyCapsule_CheckExact(data))
        return PyErr_Format(PyExc_ValueError, "can't alias arbitrary sequence into a tensor.");
    PyObject *t = never    ? refuse_copy(shared(data), v[1].dtype, device)
                  : buffer ? converted(py_from_numpy(data, copy), v[1].dtype, device, copy)
                           : shared_or_new(data, v[1].dtype, device, copy);
    if (t && py_is_tensor(data) && tn_tensor_requires_grad(py_t(data)) &&
        !tn_dtype_is_floating_point(tn_tensor_dtype(py_t(t)))) {
        Py_DECREF(t);
        return py_grad_needs_floating();
    }
    if (t && v[4].given && !v[4].s.v.i && tn_tensor_requires_grad(py_t(t))) { /* said: without its history */
        PyObject *alone = py_wrap(tn_detach_at("", py_t(t)));
        Py_DECREF(t);
        return alone;
    }
    return with_grad(t, v[4].s.v.i != 0);
}

PyObject *run_from_numpy(PyObject *self, py_value *v, int which)
{
    char name[64];
    (void)self, (void)which;
    if (!py_is_ndarray(v[0].u.object))
        return PyErr_Format(PyExc_TypeError, "expected np.ndarray (got %s)",
                            py_type_name(v[0].u.object, name, sizeof name));
    return py_from_numpy(v[0].u.object, false);
}

/* slots: data dtype count offset requires_grad */
PyObject *run_frombuffer(PyObject *self, py_value *v, int which)
{
    (void)self, (void)which;
    int64_t count = v[2].s.v.i, offset = v[3].s.v.i;
    PyObject *t = py_from_buffer(v[0].u.object, v[1].dtype, count, offset);
    return with_grad(t, v[4].s.v.i != 0);
}

/* ---- Tensor(2, 3), Tensor([1, 2]), Tensor() ---- */

PyObject *py_tensor_new(PyTypeObject *type, PyObject *args, PyObject *kwds);

/* Sizes that are none: "new() received ... got (tuple, int)" by the first, as in PyTorch, else by the one that is wrong. */
static PyObject *wrong_sizes(PyObject *args, Py_ssize_t at)
{
    char name[64], all[256] = "";
    if (at)
        return PyErr_Format(PyExc_TypeError,
                            "new(): argument 'size' failed to unpack the object at pos %zd with error \"type must be "
                            "tuple of ints,but got %s\"",
                            at + 1, py_type_name(PyTuple_GetItem(args, at), name, sizeof name));
    for (Py_ssize_t i = 0; i < PyTuple_Size(args); i++) {
        const size_t n = strlen(all);
        snprintf(all + n, sizeof all - n, "%s%s", i ? ", " : "",
                 py_type_name(PyTuple_GetItem(args, i), name, sizeof name));
    }
    return PyErr_Format(PyExc_TypeError,
                        "new() received an invalid combination of arguments - got (%s), but expected one of:\n"
                        " * (*, torch.device device = None)\n * (Tensor other)\n"
                        " * (tuple of ints size, *, torch.device device = None)\n"
                        " * (object data, *, torch.device device = None)\n",
                        all);
}

static PyObject *of_sizes(PyObject *args)
{
    int64_t shape[TN_MAX_DIMS];
    Py_ssize_t n = PyTuple_Size(args);
    if (n > TN_MAX_DIMS)
        return PyErr_Format(PyExc_RuntimeError, "tensors have at most %d dimensions", TN_MAX_DIMS);
    for (Py_ssize_t i = 0; i < n; i++)
        if (py_int(PyTuple_GetItem(args, i), &shape[i]))
            return PyErr_Occurred() ? NULL : wrong_sizes(args, i);
    if (!n && !Py_IS_TYPE(args, py_size_type)) /* Tensor() is empty, Tensor(torch.Size()) a number */
        shape[n++] = 0;
    return py_wrap((tn_empty_opt)(TN__DIMS(tn_dims_of(shape, (int32_t)n)),
                                  &(tn_options){.struct_size = sizeof(tn_options), .site = ""}));
}

/* Tensor(..., device=...): the CPU, and of no tensor. */
static int check_older_device(PyObject *first, PyObject *kwds)
{
    PyObject *given = PyDict_GetItemString(kwds, "device");
    tn_device device;
    if (!given || given == Py_None)
        return 0;
    int status = py_device_from(given, &device);
    if (status)
        return PyErr_Occurred()
                   ? -1
                   : (PyErr_SetString(PyExc_TypeError, "new(): argument 'device' must be torch.device"), -1);
    if (first && py_is_tensor(first))
        PyErr_SetString(PyExc_RuntimeError,
                        "Legacy tensor constructor of the form torch.Tensor(tensor, device=device) is not supported.  "
                        "Use torch.tensor(...) or torch.as_tensor(...) instead.");
    else if (device.type != TN_DEVICE_CPU)
        PyErr_Format(PyExc_RuntimeError, "legacy constructor expects device type: cpu but device type: %s was passed",
                     tn_device_text(tn_device_make(device.type, -1)).s);
    return PyErr_Occurred() ? -1 : 0;
}

PyObject *py_tensor_new(PyTypeObject *type, PyObject *args, PyObject *kwds)
{
    PyObject *first = PyTuple_Size(args) ? PyTuple_GetItem(args, 0) : NULL, *made;
    char name[64];
    if (kwds && type == py_tensor_type && check_older_device(first, kwds)) /* those of a subclass are its own */
        return NULL;
    if (first && py_is_tensor(first))
        made = py_wrap(tn_detach(py_t(first)));
    else if (first && Py_IS_TYPE(first, py_size_type))
        made = of_sizes(first);
    else if (first && PyTuple_Size(args) == 1 && !PyIndex_Check(first) && !PySequence_Check(first))
        return PyErr_Format(PyExc_TypeError, "new(): data must be a sequence (got %s)",
                            py_type_name(first, name, sizeof name));
    else if (first && !PyLong_Check(first) && PyTuple_Size(args) == 1) {
        bool same = py_is_ndarray(first);
        made = same ? shared_or_new(first, tn_get_default_dtype(), TN_CPU, false)
                    : py_tensor_from_data(first, tn_get_default_dtype(), tn_device_make(0, 0));
    } else
        made = of_sizes(args);
    if (!made || type == py_tensor_type)
        return made;
    tn_tensor *alias = tn_detach(py_t(made));
    Py_DECREF(made);
    return py_wrap_as(type, alias);
}

static PyObject *no_subclass(void)
{
    return PyErr_Format(PyExc_TypeError, "Creating a Tensor subclass from a class that does not inherit from Tensor is "
                                         "not possible. Make sure your class inherits from Tensor.");
}

/* Tensor._make_subclass(cls, data, requires_grad=False): data's memory as a tensor of that class. */
static PyObject *make_subclass(PyObject *unused, PyObject *args, PyObject *kwds)
{
    static char *names[] = {"cls", "data", "require_grad", NULL};
    PyObject *cls, *data;
    int on = 0;
    (void)unused;
    if (!PyArg_ParseTupleAndKeywords(args, kwds, "O!O!|p:_make_subclass", names, &PyType_Type, &cls, py_tensor_type,
                                     &data, &on))
        return NULL;
    if (!PyType_IsSubtype((PyTypeObject *)cls, py_tensor_type))
        return no_subclass();
    return with_grad(py_wrap_as((PyTypeObject *)cls, tn_detach(py_t(data))), on != 0);
}

/* _as_subclass(tensor, cls): the tensor, with its history, as an instance of cls. */
static PyObject *as_subclass(PyObject *unused, PyObject *args)
{
    PyObject *self, *cls;
    char name[64];
    (void)unused;
    if (!PyArg_ParseTuple(args, "O!O:as_subclass", py_tensor_type, &self, &cls))
        return NULL;
    if (!PyType_Check(cls))
        return PyErr_Format(PyExc_TypeError, "cls must be a type (got %s)", py_type_name(cls, name, sizeof name));
    if (!PyType_IsSubtype((PyTypeObject *)cls, py_tensor_type))
        return no_subclass();
    return py_wrap_as((PyTypeObject *)cls, tn_alias_at("", py_t(self)));
}

static PyObject *live_tensors(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    return PyLong_FromLongLong(tn_live_tensors());
}

static PyMethodDef functions[] = {
    {"_as_subclass", as_subclass, METH_VARARGS, NULL},
    {"_live_tensors", live_tensors, METH_NOARGS, "_live_tensors() -> int\n\nHow many tensors the library holds."},
    {"_make_subclass", (PyCFunction)(void (*)(void))make_subclass, METH_VARARGS | METH_KEYWORDS, NULL},
    {NULL, NULL, 0, NULL},
};

int py_add_creation(PyObject *module)
{
    if (PyModule_AddFunctions(module, functions))
        return -1;
    PyObject *f = PyObject_GetAttrString(module, "_make_subclass"), *method = NULL;
    PyObject *builtins = PyImport_ImportModule("builtins");
    if (f && builtins)
        method = PyObject_CallMethod(builtins, "staticmethod", "O", f);
    int status = method ? PyObject_SetAttrString((PyObject *)py_tensor_type, "_make_subclass", method) : -1;
    Py_XDECREF(method);
    Py_XDECREF(builtins);
    Py_XDECREF(f);
    return status;
}
