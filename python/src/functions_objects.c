/* functions_objects.c: functions that take at one place what is of several kinds, or judge 'out' in a way of their own. */
#include "args_error.h"
#include "functions.h"
#include "generator.h"

/* ---- normalize ---- */

/* The order of a norm: a number, None, or its name, of which 'nuc' is the nuclear one. */
static bool read_order(PyObject *o, tn_scalar *p, bool *nuclear)
{
    char name[64];
    if (!o || o == Py_None)
        return true;
    if (PyUnicode_Check(o)) {
        *nuclear = !PyUnicode_CompareWithASCIIString(o, "nuc");
        if (!*nuclear && PyUnicode_CompareWithASCIIString(o, "fro"))
            PyErr_Format(PyExc_RuntimeError, "linalg.matrix_norm: Order %U not supported.", o);
        return !PyErr_Occurred();
    }
    if (py_number(o, p) > 0)
        PyErr_Format(PyExc_TypeError, "normalize(): argument 'p' (position 2) must be Number, not %s",
                     py_type_name(o, name, sizeof name));
    return !PyErr_Occurred();
}

/* slots: input p dim eps */
PyObject *run_normalize(PyObject *self, py_value *v, int which)
{
    int64_t second = 1;
    tn_normalize_options o = {.struct_size = sizeof o, .site = "", .eps = v[3].s};
    const tn_dims dim = v[2].n < 0 ? tn_dims_of(&second, 1) : py_dims(&v[2]); /* -1: not said */
    tn_tensor *result;
    (void)self, (void)which;
    if (!read_order(v[1].u.object, &o.p, &o.nuclear))
        return NULL;
    PY_BEGIN_OWNING(v[0].s.v.t)
        result = (tn_normalize_opt)(v[0].s.v.t, TN__DIMS(dim), &o);
    PY_END_OWNING
    return py_wrap(result);
}

/* ---- tensordot ---- */

/* The tensor that an argument is, into its value; else PyTorch's error, which asks it for its dimensions. */
static bool take_tensor(py_value *v)
{
    char name[64];
    if (py_is_tensor(v->u.object))
        v->s = tn_scalar_t(py_t(v->u.object));
    else
        PyErr_Format(PyExc_AttributeError, "'%s' object has no attribute 'dim'",
                     py_type_name(v->u.object, name, sizeof name));
    return !PyErr_Occurred();
}

/* The last n dimensions of a with the first n of b. */
static PyObject *over_ends(py_value *v, PyObject *count)
{
    int64_t n, left[TN_MAX_DIMS], right[TN_MAX_DIMS];
    if (py_int(count, &n))
        return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_TypeError, "tensordot(): dims is no int");
    if (n < 0)
        return PyErr_Format(PyExc_RuntimeError, "tensordot expects dims >= 0, but got dims=%S", count);
    if (!take_tensor(&v[0]) || !take_tensor(&v[1]))
        return NULL;
    tn_tensor *a = v[0].s.v.t, *b = v[1].s.v.t, *result;
    if (n > tn_tensor_ndim(a) || n > tn_tensor_ndim(b))
        return PyErr_Format(PyExc_RuntimeError, "tensordot expects dims < ndim_a or ndim_b, but got dims=%S", count);
    for (int32_t i = 0; i < n; i++) {
        left[i] = tn_tensor_ndim(a) - n + i;
        right[i] = i;
    }
    const tn_dims of_a = tn_dims_of(left, (int32_t)n), of_b = tn_dims_of(right, (int32_t)n);
    PY_BEGIN_OWNING(a, b)
        result = (tn_tensordot_at)("", a, b, &of_a, &of_b);
    PY_END_OWNING
    return py_wrap(result);
}

/* The dimensions of two lists, read by the signature of _tensordot. */
static PyObject *over_lists(py_value *v, PyObject *dims)
{
    PyObject *lists = PySequence_Tuple(dims), *module = NULL, *result = NULL;
    const Py_ssize_t n = lists ? PyTuple_Size(lists) : 2;
    if (n < 2)
        PyErr_Format(PyExc_ValueError, "not enough values to unpack (expected 2, got %zd)", n);
    else if (n > 2)
        PyErr_SetString(PyExc_ValueError, "too many values to unpack (expected 2)");
    else if (lists && (module = PyImport_ImportModule("tenon._C")))
        result = PyObject_CallMethod(module, "_tensordot", "OOOO", v[0].u.object, v[1].u.object,
                                     PyTuple_GetItem(lists, 0), PyTuple_GetItem(lists, 1));
    Py_XDECREF(module);
    Py_XDECREF(lists);
    if (result && !(take_tensor(&v[0]) && take_tensor(&v[1]))) /* which 'out' is held against */
        Py_CLEAR(result);
    return result;
}

/* slots: a b dims. dims: how many, or two lists of them; either may be a tensor. */
PyObject *run_tensordot(PyObject *self, py_value *v, int which)
{
    PyObject *dims = v[2].u.object, *own = NULL, *result;
    (void)self, (void)which;
    if (!dims)
        own = PyLong_FromLong(2);
    else if (py_is_tensor(dims))
        own = PyObject_CallMethod(dims, tn_tensor_numel(py_t(dims)) == 1 ? "__int__" : "tolist", NULL);
    else
        own = Py_NewRef(dims);
    if (!own)
        return NULL;
    if (PyLong_Check(own))
        result = over_ends(v, own);
    else if (PyTuple_Check(own) || PyList_Check(own))
        result = over_lists(v, own);
    else
        result = PyErr_Format(PyExc_RuntimeError,
                              "tensordot expects dims to be int or tuple[list[int], list[int]] or list[list[int]] "
                              "containing two lists, but got dims=%S",
                              own);
    Py_DECREF(own);
    return result;
}

/* ---- nansum ---- */

/* What PyTorch refuses of an 'out' that floating elements are summed in: another dtype than is said, and integers. */
static bool sums_into(tn_dtype said, tn_tensor *out)
{
    const tn_dtype own = tn_tensor_dtype(out);
    if (said == own && tn_dtype_is_floating_point(own))
        return true;
    PyGILState_STATE gil = PyGILState_Ensure();
    if (said != own)
        PyErr_Format(PyExc_RuntimeError, "nansum: provided dtype must match dtype of result. Got %s and %s.",
                     py_scalar_type_name(own), py_scalar_type_name(said));
    else
        PyErr_Format(PyExc_NotImplementedError, "\"nansum_%s\" not implemented for '%s'",
                     tn_tensor_device(out).type == TN_CPU.type ? "cpu" : "cuda", py_scalar_type_name(own));
    PyGILState_Release(gil);
    return false;
}

/* slots: input dim keepdim dtype out; the dtype is that of 'out' where it is not said */
tn_tensor *call_nansum_into(const py_value *v)
{
    const tn_nansum_options o = {
        .struct_size = sizeof o, .site = "", .dims = py_dims(&v[1]), .keepdim = v[2].s.v.i != 0, .dtype = v[3].dtype};
    tn_tensor *x = v[0].s.v.t;
    if (v[4].given && tn_dtype_is_floating_point(tn_tensor_dtype(x)) && !sums_into(v[3].dtype, v[4].s.v.t))
        return NULL;
    return (tn_nansum_opt)(x, &o);
}
