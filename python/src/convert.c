/* convert.c: Python's numbers, and NumPy's, recognised without importing NumPy. */
#include "py.h"

/* numpy.ndarray or numpy.generic, taken from sys.modules once somebody else has imported NumPy; else NULL, borrowed. */
static PyObject *numpy_type(PyObject **kept, const char *name)
{
    if (*kept)
        return *kept;
    static PyObject *key; /* made once: this is asked of every index and number */
    PyObject *modules = PyImport_GetModuleDict();
    if (!key)
        key = PyUnicode_InternFromString("numpy");
    PyObject *numpy = modules && key ? PyDict_GetItemWithError(modules, key) : NULL;
    if (numpy)
        *kept = PyObject_GetAttrString(numpy, name);
    PyErr_Clear();
    return *kept;
}

static bool is_numpy(PyObject *o, PyObject **kept, const char *name)
{
    if (PyLong_CheckExact(o) || PyFloat_CheckExact(o) || PyUnicode_Check(o) || PyTuple_CheckExact(o) || py_is_tensor(o))
        return false;
    PyObject *type = numpy_type(kept, name);
    return type && PyObject_TypeCheck(o, (PyTypeObject *)type);
}

bool py_is_ndarray(PyObject *o)
{
    static PyObject *kept;
    return is_numpy(o, &kept, "ndarray");
}

bool py_is_numpy_scalar(PyObject *o)
{
    static PyObject *kept;
    return is_numpy(o, &kept, "generic");
}

static int of_long(PyObject *o, tn_scalar *out)
{
    int overflow;
    long long i = PyLong_AsLongLongAndOverflow(o, &overflow);
    if (!overflow) {
        *out = tn_scalar_i(i);
        return i == -1 && PyErr_Occurred() ? -1 : 0;
    }
    if (overflow > 0) {
        uint64_t u = PyLong_AsUnsignedLongLong(o);
        if (!PyErr_Occurred()) {
            *out = tn_scalar_u(u);
            return 0;
        }
    }
    PyErr_Clear();
    PyErr_SetString(PyExc_OverflowError, "int too big to convert");
    return -1;
}

/* A number whose type says no more than that it can be one: NumPy's and tensors of one element. */
static int of_item(PyObject *o, tn_scalar *out)
{
    PyObject *n = PyObject_CallMethod(o, "item", NULL);
    int status = !n ? -1 : PyLong_Check(n) || PyFloat_Check(n) ? py_number(n, out) : 1;
    Py_XDECREF(n);
    return status;
}

int py_number(PyObject *o, tn_scalar *out)
{
    if (PyFloat_Check(o)) {
        *out = tn_scalar_f(PyFloat_AsDouble(o));
        return 0;
    }
    if (PyBool_Check(o)) {
        *out = tn_scalar_b(o == Py_True);
        return 0;
    }
    if (PyLong_Check(o))
        return of_long(o, out);
    if (py_is_tensor(o))
        return tn_tensor_ndim(py_t(o)) || tn_tensor_requires_grad(py_t(o)) ? 1 : of_item(o, out);
    if (py_is_numpy_scalar(o))
        return of_item(o, out);
    if (!PyIndex_Check(o))
        return 1;
    PyObject *n = PyNumber_Index(o);
    int status = n ? of_long(n, out) : -1;
    Py_XDECREF(n);
    return status;
}

int py_int(PyObject *o, int64_t *out)
{
    if (!PyLong_Check(o) && (!PyIndex_Check(o) || PyFloat_Check(o)))
        return 1;
    if (py_is_tensor(o) && (tn_tensor_numel(py_t(o)) != 1 || tn_dtype_is_floating_point(tn_tensor_dtype(py_t(o)))))
        return 1;
    PyObject *n = PyLong_Check(o) ? Py_NewRef(o) : PyNumber_Index(o);
    if (!n && PyErr_ExceptionMatches(PyExc_TypeError)) { /* an array of several numbers, or of fractions */
        PyErr_Clear();
        return 1;
    }
    if (!n)
        return -1;
    int overflow;
    long long i = PyLong_AsLongLongAndOverflow(n, &overflow);
    Py_DECREF(n);
    if (overflow) {
        PyErr_SetString(PyExc_ValueError, "Overflow when unpacking long long");
        return -1;
    }
    *out = i;
    return i == -1 && PyErr_Occurred() ? -1 : 0;
}
