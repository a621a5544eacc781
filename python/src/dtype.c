/* dtype.c: torch.float32 and the others: one object for each element type. */
#include "py.h"

PyTypeObject *py_dtype_type;

/* name, the older name or NULL, the library's number */
#define DTYPES(X) \
    X("bool", NULL, TN_BOOL) \
    X("uint8", NULL, TN_U8) \
    X("int8", NULL, TN_I8) \
    X("int16", "short", TN_I16) \
    X("int32", "int", TN_I32) \
    X("int64", "long", TN_I64) \
    X("float16", "half", TN_F16) \
    X("bfloat16", NULL, TN_BF16) \
    X("float32", "float", TN_F32) \
    X("float64", "double", TN_F64)

static PyObject *objects[TN_U64 + 1];

PyObject *py_dtype_of(tn_dtype dtype)
{
    PyObject *o = dtype > 0 && dtype <= TN_U64 && objects[dtype] ? objects[dtype] : Py_None;
    return Py_NewRef(o);
}

int py_dtype_from(PyObject *o, tn_dtype *out)
{
    if (Py_IS_TYPE(o, py_dtype_type))
        *out = ((py_dtype *)(void *)o)->v;
    else if (o == (PyObject *)&PyFloat_Type)
        *out = TN_F64;
    else if (o == (PyObject *)&PyLong_Type)
        *out = TN_I64;
    else if (o == (PyObject *)&PyBool_Type)
        *out = TN_BOOL;
    else
        return 1;
    return 0;
}

static tn_dtype value(PyObject *self)
{
    return ((py_dtype *)(void *)self)->v;
}

static PyObject *repr(PyObject *self)
{
    return PyUnicode_FromFormat("torch.%s", tn_dtype_name(value(self)));
}

/* Pickled by name, as PyTorch pickles it: an attribute of the module. */
static PyObject *reduce(PyObject *self, PyObject *unused)
{
    (void)unused;
    return PyUnicode_FromString(tn_dtype_name(value(self)));
}

static PyObject *is_floating_point(PyObject *self, void *unused)
{
    (void)unused;
    return PyBool_FromLong(tn_dtype_is_floating_point(value(self)));
}

static PyObject *is_complex(PyObject *self, void *unused)
{
    (void)self, (void)unused;
    Py_RETURN_FALSE;
}

static PyObject *is_signed(PyObject *self, void *unused)
{
    (void)unused;
    return PyBool_FromLong(value(self) != TN_BOOL && value(self) != TN_U8);
}

static PyObject *itemsize(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromSize_t(tn_dtype_size(value(self)));
}

static PyMethodDef methods[] = {
    {"__reduce__", reduce, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef getset[] = {
    {"is_floating_point", is_floating_point, NULL, "Is it float16, bfloat16, float32 or float64?", NULL},
    {"is_complex", is_complex, NULL, "False: Tenon has no complex numbers.", NULL},
    {"is_signed", is_signed, NULL, "Has it negative numbers?", NULL},
    {"itemsize", itemsize, NULL, "Bytes of one element.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_repr, (void *)repr},
    {Py_tp_methods, methods},
    {Py_tp_getset, getset},
    {Py_tp_doc, (void *)"The type of a tensor's elements."},
    {0, NULL},
};

static PyType_Spec spec = {"tenon.dtype", sizeof(py_dtype), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE, slots};

static int add(PyObject *module, const char *name, const char *older, tn_dtype v)
{
    py_dtype *o = PyObject_New(py_dtype, py_dtype_type);
    if (!o)
        return -1;
    o->v = v;
    objects[v] = (PyObject *)o;
    if (PyModule_AddObjectRef(module, name, objects[v]))
        return -1;
    return older ? PyModule_AddObjectRef(module, older, objects[v]) : 0;
}

int py_add_dtypes(PyObject *module)
{
    py_dtype_type = py_type_new(module, &spec, NULL);
    if (!py_dtype_type)
        return -1;
#define ADD(name, older, v) \
    if (add(module, name, older, v)) \
        return -1;
    DTYPES(ADD)
    return 0;
}
