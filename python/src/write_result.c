/* write_result.c: results written into a tensor that is there: out=, and in-place forms computed beside their operand. */
#include "args.h"
#include "args_error.h"
#include "generator.h"
#include "out.h"

static int cannot_cast(tn_dtype from, tn_dtype to)
{
    PyErr_Format(PyExc_RuntimeError, "result type %s can't be cast to the desired output type %s",
                 py_scalar_type_name(from), py_scalar_type_name(to));
    return -1;
}

/* [2, 3] */
static PyObject *list_of(tn_dims d)
{
    PyObject *list = PyList_New(d.ndim);
    for (int32_t i = 0; list && i < d.ndim; i++) {
        PyObject *n = PyLong_FromLongLong(d.dim[i]);
        if (!n || PyList_SetItem(list, i, n))
            Py_CLEAR(list);
    }
    return list;
}

void py_shapes_differ(const char *text, tn_dims have, tn_dims want)
{
    PyObject *a = list_of(have), *b = list_of(want);
    if (a && b)
        PyErr_Format(PyExc_RuntimeError, text, a, b);
    Py_XDECREF(a);
    Py_XDECREF(b);
}

static int no_tensor(void)
{
    PyErr_SetString(PyExc_TypeError, "out=... is given, but the result is no tensor");
    return -1;
}

/* What the pieces that are copies are written by, in PyTorch: its errors name it, and its result is none. */
static const char *pieces_writer(const char *function)
{
    static const char *const names[][2] = {{"split_copy", "split_copy_Tensor_out()"},
                                           {"split_with_sizes_copy", "split_with_sizes_copy_out"},
                                           {"unbind_copy", "unbind_copy_int_out"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(names[i][0], function))
            return names[i][1];
    return NULL;
}

/* One tensor of a result, into one that was given: the wrapper of that. */
static PyObject *write_one(const py_function *f, int which, const py_value *v, tn_tensor *out, PyObject *result)
{
    if (!py_is_tensor(result) && no_tensor())
        return NULL;
    if (py_t(result) != out && ((py_same_shape(out, py_t(result)) && !py_out_apart(f, which, v, out)) ||
                                py_write_out(f->name, py_out_rule_of(f, which), out, py_t(result))))
        return NULL;
    return py_borrowed(out);
}

/* The class of the tuple is that of the results: torch.return_types.max. */
static PyObject *write_all(const py_function *f, int which, const py_value *v, PyObject *results)
{
    tn_tensors out = py_list(&v[f->out]);
    Py_ssize_t n = PyTuple_Check(results) ? PyTuple_Size(results) : 1;
    const char *pieces = pieces_writer(f->name);
    if (pieces && (size_t)n != out.n)
        return PyErr_Format(PyExc_RuntimeError, "%s expected an out= argument of size %zd, got size %zu", pieces, n,
                            out.n);
    if (!PyTuple_Check(results) || (size_t)n != out.n) {
        PyErr_Format(PyExc_TypeError, "expected tuple of %zd elements but got %zu", n, out.n);
        return NULL;
    }
    PyObject *tuple = PyTuple_New(n), *named = NULL;
    for (Py_ssize_t i = 0; tuple && i < n; i++) {
        PyObject *one = write_one(f, which, v, out.t[i], PyTuple_GetItem(results, i));
        if (!one || PyTuple_SetItem(tuple, i, one))
            Py_CLEAR(tuple);
    }
    if (tuple && pieces) {
        Py_DECREF(tuple);
        return Py_NewRef(Py_None);
    }
    if (tuple && !PyTuple_CheckExact(results))
        named = PyObject_CallFunctionObjArgs((PyObject *)Py_TYPE(results), tuple, NULL);
    if (tuple && PyTuple_CheckExact(results))
        return tuple;
    Py_XDECREF(tuple);
    return named;
}

PyObject *py_write_result(const py_function *f, int which, const py_value *v, PyObject *result)
{
    tn_scalar out = v[f->out].s;
    PyObject *r =
        out.kind == TN_SCALAR_TENSOR ? write_one(f, which, v, out.v.t, result) : write_all(f, which, v, result);
    Py_DECREF(result);
    return r;
}

bool py_can_scale(tn_tensor *x)
{
    const tn_dtype own = tn_tensor_dtype(x);
    if (!tn_dtype_is_floating_point(own))
        PyErr_Format(PyExc_RuntimeError, "ldexp can't be cast to the desired output type %s", py_scalar_type_name(own));
    return tn_dtype_is_floating_point(own);
}

PyObject *py_put_into(tn_tensor *x, tn_tensor *result)
{
    tn_copy__options o = {.struct_size = sizeof o, .site = ""};
    tn_tensor *r = NULL;
    if (!py_same_shape(x, result))
        py_shapes_differ("output with shape %S doesn't match the broadcast shape %S", tn_tensor_shape(x),
                         tn_tensor_shape(result));
    else if (!tn_can_cast(tn_tensor_dtype(result), tn_tensor_dtype(x)))
        cannot_cast(tn_tensor_dtype(result), tn_tensor_dtype(x));
    else if (!(r = (tn_copy__opt)(x, result, &o)))
        py_raise();
    tn_release(result);
    return r ? py_borrowed(r) : NULL;
}
