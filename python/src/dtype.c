/* dtype.c: torch.float32 and the others: one object for each element type. */
#include "py.h"

#include <float.h>
#include <stddef.h>

PyTypeObject *py_dtype_type;

/* A buffer's format by kind and size: struct's letters. */
#define OF_SIZE(S, one, two, four, eight) \
    (sizeof(S) == 1 ? (one) : sizeof(S) == 2 ? (two) : sizeof(S) == 4 ? (four) : (eight))
#define FORMAT_BOOL(S)   "?"
#define FORMAT_INT(S)    OF_SIZE(S, "b", "h", "i", "q")
#define FORMAT_UINT(S)   OF_SIZE(S, "B", "H", "I", "Q")
#define FORMAT_HALF(S)   "e"
#define FORMAT_BFLOAT(S) ""
#define FORMAT_FLOAT(S)  OF_SIZE(S, "", "", "f", "d")
#define IS_FULL          false
#define IS_BARE          true
#define SIGNED_BOOL      false
#define SIGNED_INT       true
#define SIGNED_UINT      false
#define SIGNED_HALF      true
#define SIGNED_BFLOAT    true
#define SIGNED_FLOAT     true
/* 2^digits, which a floating dtype holds and an integer one just misses */
#define HIGH_BOOL(bits)   1
#define HIGH_INT(bits)    (int64_t)((UINT64_C(1) << (bits)) - 1)
#define HIGH_UINT(bits)   HIGH_INT((bits) < 64 ? (bits) : 63)
#define HIGH_HALF(bits)   (INT64_C(1) << (bits))
#define HIGH_BFLOAT(bits) (INT64_C(1) << (bits))
#define HIGH_FLOAT(bits)  (INT64_C(1) << (bits))
#define LOW_BOOL(bits)    0
#define LOW_INT(bits)     (-HIGH_INT(bits) - 1)
#define LOW_UINT(bits)    0
#define LOW_HALF(bits)    (-HIGH_HALF(bits))
#define LOW_BFLOAT(bits)  (-HIGH_BFLOAT(bits))
#define LOW_FLOAT(bits)   (-HIGH_FLOAT(bits))

#define MOST_BOOL(S)   0
#define MOST_INT(S)    0
#define MOST_UINT(S)   0
#define MOST_HALF(S)   65504.0
#define MOST_BFLOAT(S) 0x1.fep127
#define MOST_FLOAT(S)  (sizeof(S) == sizeof(float) ? (double)FLT_MAX : DBL_MAX)

const py_dtype_row py_dtypes[PY_DTYPES] = {
    [TN_DTYPE_DEFAULT] = {.name = "default", .legacy = "Undefined", .scalar = "Undefined", .npy = "", .format = ""},
#define DTYPE(ID, token, dtype, storage, kind, full, bits, compute, words, type, value, alias, method, code, file) \
    [TN_##ID] = {.name = (dtype), \
                 .older = (alias), \
                 .legacy = (words), \
                 .scalar = (type), \
                 .npy = (code), \
                 .safetensors = (file), \
                 .format = FORMAT_##kind(storage), \
                 .size = sizeof(storage), \
                 .digits = (bits), \
                 .is_signed = SIGNED_##kind, \
                 .is_bare = IS_##full, \
                 .low = LOW_##kind(bits), \
                 .high = HIGH_##kind(bits), \
                 .most = MOST_##kind(storage)},
#include "dtypes.def"
};

static PyObject *objects[PY_DTYPES];

PyObject *py_dtype_of(tn_dtype dtype)
{
    PyObject *o = dtype > 0 && dtype < (tn_dtype)PY_DTYPES ? objects[dtype] : Py_None;
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
    return PyBool_FromLong(py_dtypes[value(self)].is_signed);
}

static PyObject *itemsize(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromSize_t(tn_dtype_size(value(self)));
}

/* Rows of core/dtypes.def, for the package's own modules. */
static PyObject *text(PyObject *self, void *which)
{
    const py_dtype_row *row = &py_dtypes[value(self)];
    return PyUnicode_FromString(*(const char *const *)((const char *)row + (size_t)(uintptr_t)which));
}

static PyObject *is_bare(PyObject *self, void *unused)
{
    (void)unused;
    return PyBool_FromLong(py_dtypes[value(self)].is_bare);
}

static PyObject *digits(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromLong(py_dtypes[value(self)].digits);
}

static PyMethodDef methods[] = {
    {"__reduce__", reduce, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

#define TEXT(field) (void *)(uintptr_t)offsetof(py_dtype_row, field)
static PyGetSetDef getset[] = {
    {"is_floating_point", is_floating_point, NULL, "Is it float16, bfloat16, float32 or float64?", NULL},
    {"is_complex", is_complex, NULL, "False: Tenon has no complex numbers.", NULL},
    {"is_signed", is_signed, NULL, "Has it negative numbers?", NULL},
    {"itemsize", itemsize, NULL, "Bytes of one element.", NULL},
    {"_legacy", text, NULL, "Float: in the names of FloatTensor and FloatStorage.", TEXT(legacy)},
    {"_npy", text, NULL, "f4: in NumPy's files and interfaces; '' where it has none.", TEXT(npy)},
    {"_safetensors", text, NULL, "F32: in safetensors.", TEXT(safetensors)},
    {"_bare", is_bare, NULL, "Has it few operations and no storage class, as uint32 in PyTorch?", NULL},
    {"_digits", digits, NULL, "Bits of an integer without its sign, or of the significand.", NULL},
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

int py_add_dtypes(PyObject *module)
{
    py_dtype_type = py_type_new(module, &spec, NULL);
    PyObject *all = py_dtype_type ? PyTuple_New(PY_DTYPES - 1) : NULL;
    for (tn_dtype v = 1; all && v < (tn_dtype)PY_DTYPES; v++) {
        py_dtype *o = PyObject_New(py_dtype, py_dtype_type);
        objects[v] = (PyObject *)o;
        if (o)
            o->v = v;
        if (!o || PyModule_AddObjectRef(module, py_dtypes[v].name, objects[v]) ||
            (py_dtypes[v].older && PyModule_AddObjectRef(module, py_dtypes[v].older, objects[v])) ||
            PyTuple_SetItem(all, v - 1, Py_NewRef(objects[v])))
            Py_CLEAR(all);
    }
    int status = all ? PyModule_AddObjectRef(module, "_dtypes", all) : -1;
    Py_XDECREF(all);
    return status;
}
