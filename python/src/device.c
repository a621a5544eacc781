/* device.c: torch.device: where a tensor lives. */
#include "py.h"

PyTypeObject *py_device_type;

static tn_device device_of(PyObject *self)
{
    return ((py_device *)(void *)self)->d;
}

PyObject *py_device_object(tn_device device)
{
    py_device *o = PyObject_New(py_device, py_device_type);
    if (o)
        o->d = device;
    return (PyObject *)o;
}

static int parse(const char *text, tn_device *out)
{
    *out = tn_device_parse(text);
    if (out->type != TN_DEVICE_INVALID)
        return 0;
    py_raise();
    return -1;
}

/* An int alone is that one of the accelerators: Tenon's are CUDA's. */
static int of_number(int64_t n, tn_device *out)
{
    if (n < 0)
        PyErr_SetString(PyExc_RuntimeError, "Device index must not be negative");
    else if (!tn_cuda_device_count())
        PyErr_SetString(PyExc_RuntimeError, "Cannot access accelerator device when none is available.");
    else if (n > INT32_MAX)
        PyErr_Format(PyExc_RuntimeError, "Device index %lld is too large", (long long)n);
    else {
        *out = TN_CUDA((int32_t)n);
        return 0;
    }
    return -1;
}

int py_device_from(PyObject *o, tn_device *out)
{
    if (Py_IS_TYPE(o, py_device_type)) {
        *out = device_of(o);
        return 0;
    }
    if (PyUnicode_Check(o)) {
        Py_ssize_t n;
        const char *text = PyUnicode_AsUTF8AndSize(o, &n);
        if (text && (size_t)n != strlen(text))
            PyErr_Format(PyExc_RuntimeError, "Invalid device string: %R", o);
        return !text || PyErr_Occurred() ? -1 : parse(text, out);
    }
    if (PyBytes_Check(o))
        return parse(PyBytes_AsString(o), out);
    int64_t n;
    int status = PyBool_Check(o) ? 1 : py_int(o, &n);
    return status ? status : of_number(n, out);
}

/* ---- torch.device(...) ---- */

static PyObject *invalid(PyObject *o)
{
    PyObject *name = PyType_GetName(Py_TYPE(o));
    if (name)
        PyErr_Format(
            PyExc_TypeError,
            "device() received an invalid combination of arguments - got (%U), but expected one of:\n"
            " * (torch.device device)\n      didn't match because some of the arguments have invalid types: (!%U!)\n"
            " * (str type, int index = -1)\n",
            name, name);
    Py_XDECREF(name);
    return NULL;
}

static PyObject *with_index(PyObject *type, PyObject *index)
{
    tn_device d;
    int64_t n = -1;
    const char *text = PyUnicode_Check(type) ? PyUnicode_AsUTF8AndSize(type, NULL) : NULL;
    if (!text)
        return PyErr_Occurred() ? NULL : invalid(type);
    if (strchr(text, ':'))
        return PyErr_Format(PyExc_RuntimeError,
                            "type (string) must not include an index because index was passed explicitly: %s", text);
    int status = index == Py_None ? 0 : py_int(index, &n);
    if (status)
        return status > 0 ? invalid(index) : NULL;
    if (index != Py_None && n < 0)
        return PyErr_Format(PyExc_RuntimeError, "Device index must not be negative");
    if (n > INT32_MAX)
        return PyErr_Format(PyExc_RuntimeError, "Device index %lld is too large", (long long)n);
    if (parse(text, &d))
        return NULL;
    d.index = (int32_t)n;
    return py_device_object(d);
}

static PyObject *new (PyTypeObject *cls, PyObject *args, PyObject *kwds)
{
    static char *names[] = {"device", "index", NULL}, *typed[] = {"type", "index", NULL};
    PyObject *what = NULL, *index = NULL;
    tn_device d;
    (void)cls;
    bool by_type = kwds && PyDict_GetItemString(kwds, "type");
    if (!PyArg_ParseTupleAndKeywords(args, kwds, "O|O:device", by_type ? typed : names, &what, &index))
        return NULL;
    if (index)
        return with_index(what, index);
    int status = py_device_from(what, &d);
    if (status)
        return status > 0 ? invalid(what) : NULL;
    return py_device_object(d);
}

/* ---- what it answers ---- */

static PyObject *text_of(PyObject *self)
{
    return PyUnicode_FromString(tn_device_text(device_of(self)).s);
}

static const char *type_name(tn_device d, char *out, size_t n)
{
    snprintf(out, n, "%s", tn_device_text(tn_device_make(d.type, -1)).s);
    return out;
}

static PyObject *repr(PyObject *self)
{
    char name[24];
    tn_device d = device_of(self);
    type_name(d, name, sizeof name);
    return d.index < 0 ? PyUnicode_FromFormat("device(type='%s')", name)
                       : PyUnicode_FromFormat("device(type='%s', index=%d)", name, (int)d.index);
}

static Py_hash_t hash(PyObject *self)
{
    tn_device d = device_of(self);
    return (Py_hash_t)d.type * 65537 + d.index + 1;
}

static PyObject *compare(PyObject *a, PyObject *b, int op)
{
    if (op != Py_EQ && op != Py_NE)
        return PyErr_Format(PyExc_TypeError, "comparison not implemented");
    if (!Py_IS_TYPE(a, py_device_type) || !Py_IS_TYPE(b, py_device_type))
        Py_RETURN_NOTIMPLEMENTED;
    return PyBool_FromLong(tn_device_equal(device_of(a), device_of(b)) == (op == Py_EQ));
}

static PyObject *get_type(PyObject *self, void *unused)
{
    char name[24];
    (void)unused;
    return PyUnicode_FromString(type_name(device_of(self), name, sizeof name));
}

static PyObject *get_index(PyObject *self, void *unused)
{
    (void)unused;
    if (device_of(self).index < 0)
        Py_RETURN_NONE;
    return PyLong_FromLong(device_of(self).index);
}

static int read_only(PyObject *self, PyObject *value, void *name)
{
    (void)self, (void)value;
    PyErr_Format(PyExc_AttributeError, "attribute '%s' of 'torch.device' objects is not writable", (const char *)name);
    return -1;
}

static PyObject *reduce(PyObject *self, PyObject *unused)
{
    char name[24];
    tn_device d = device_of(self);
    (void)unused;
    type_name(d, name, sizeof name);
    return d.index < 0 ? Py_BuildValue("O(s)", py_device_type, name)
                       : Py_BuildValue("O(si)", py_device_type, name, (int)d.index);
}

/* ---- 'with device:' sets the default device. What was there before is kept per thread, in a stack ---- */

enum { DEPTH = 64 };
static _Thread_local struct {
    tn_device before[DEPTH];
    int n;
} outer;

static PyObject *enter(PyObject *self, PyObject *unused)
{
    (void)unused;
    if (outer.n == DEPTH)
        return PyErr_Format(PyExc_RuntimeError, "'with device:' nests at most %d deep", DEPTH);
    tn_device before = tn_get_default_device();
    if (tn_set_default_device(device_of(self)))
        return py_raise();
    outer.before[outer.n++] = before;
    return Py_NewRef(self);
}

static PyObject *leave(PyObject *self, PyObject *args)
{
    (void)self, (void)args;
    if (outer.n && tn_set_default_device(outer.before[--outer.n]))
        return py_raise();
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"__reduce__", reduce, METH_NOARGS, NULL},
    {"__enter__", enter, METH_NOARGS, NULL},
    {"__exit__", leave, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef getset[] = {
    {"type", get_type, read_only, "'cpu', 'cuda', 'meta'...", (void *)"type"},
    {"index", get_index, read_only, "Which one of that type; None: the current one.", (void *)"index"},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_new, (void *)new},
    {Py_tp_repr, (void *)repr},
    {Py_tp_str, (void *)text_of},
    {Py_tp_hash, (void *)hash},
    {Py_tp_richcompare, (void *)compare},
    {Py_tp_methods, methods},
    {Py_tp_getset, getset},
    {Py_tp_doc,
     (void *)"device(type, index=None)\n\nWhere a tensor lives: device('cuda:1'), device('cuda', 1), device('cpu').\n"
             "As a context manager: the device of factories that are told none."},
    {0, NULL},
};

static PyType_Spec spec = {"tenon.device", sizeof(py_device), 0, Py_TPFLAGS_DEFAULT, slots};

int py_add_devices(PyObject *module)
{
    py_device_type = py_type_new(module, &spec, NULL);
    return py_device_type ? 0 : -1;
}
