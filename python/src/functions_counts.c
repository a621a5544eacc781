/* functions_counts.c: histograms, and places of elements, whose forms are more than a call. */
#include "functions.h"

/* ---- histograms ---- */

/* range=: a sequence of numbers. */
typedef struct ends {
    double v[2 * TN_MAX_DIMS];
    int64_t n;
} ends;

/* False with the error; n is 0 where there is no range. */
static bool ends_of(const py_value *v, ends *to)
{
    to->n = 0;
    if (!v->given || v->u.object == Py_None)
        return true;
    PyObject *list = PySequence_Check(v->u.object) ? PySequence_Tuple(v->u.object) : NULL;
    if (!list) {
        PyErr_Clear();
        PyErr_Format(PyExc_TypeError, "histogram(): argument 'range' must be tuple of floats, not %R",
                     (PyObject *)Py_TYPE(v->u.object));
        return false;
    }
    const Py_ssize_t n = PyTuple_Size(list);
    for (Py_ssize_t i = 0; i < n && i < 2 * TN_MAX_DIMS; i++)
        to->v[i] = PyFloat_AsDouble(PyTuple_GetItem(list, i));
    to->n = n;
    Py_DECREF(list);
    return !PyErr_Occurred();
}

/* Between the edges, which are a result, too. */
static PyObject *histogram_between(const py_value *v)
{
    tn_histogram_between_options o = {.struct_size = sizeof o, .site = "", .density = v[4].s.v.i != 0};
    o.weight = v[3].given ? v[3].s.v.t : NULL;
    tn_tensor *both[2] = {(tn_histogram_between_opt)(v[0].s.v.t, v[1].s.v.t, &o)};
    if (!both[0])
        return py_raise();
    both[1] = tn_retain(v[1].s.v.t);
    return py_named_result("histogram", both, 2);
}

static PyObject *histogram_of_bins(const py_value *v)
{
    tn_tensor *both[2] = {NULL, NULL};
    tn_histogram_options o = {.struct_size = sizeof o, .site = "", .density = v[4].s.v.i != 0, .bin_edges = &both[1]};
    ends range;
    o.weight = v[3].given ? v[3].s.v.t : NULL;
    if (!ends_of(&v[2], &range))
        return NULL;
    if (range.n && range.n != 2)
        return PyErr_Format(
            PyExc_RuntimeError,
            "torch.histogramdd: for a 1-dimensional histogram range should have 2 elements, but got %lld",
            (long long)range.n);
    if (range.n) {
        o.min = tn_scalar_f(range.v[0]);
        o.max = tn_scalar_f(range.v[1]);
    }
    both[0] = (tn_histogram_opt)(v[0].s.v.t, v[1].s.v.i, &o);
    return both[0] ? py_named_result("histogram", both, 2) : py_raise();
}

/* slots: input bins range weight density; with a tensor for bins it is the edges */
PyObject *run_histogram(PyObject *self, py_value *v, int which)
{
    (void)self;
    return which == 0 ? histogram_between(v) : histogram_of_bins(v);
}

/* torch.return_types.histogramdd(hist=..., bin_edges=(...)): takes the references. */
static PyObject *points_counted(tn_tensor *hist, tn_tensor **edges, Py_ssize_t n)
{
    PyObject *first = py_wrap(hist), *rest = py_wrap_tuple(edges, n), *values = NULL, *result = NULL;
    if (first && rest)
        values = PyTuple_Pack(2, first, rest);
    PyObject *module = values ? PyImport_ImportModule("tenon.return_types") : NULL;
    if (module)
        result = PyObject_CallMethod(module, "histogramdd", "(O)", values);
    Py_XDECREF(module);
    Py_XDECREF(values);
    Py_XDECREF(first);
    Py_XDECREF(rest);
    return result;
}

static PyObject *counted_between(tn_tensor *x, tn_tensor **edges, size_t n, const py_value *v)
{
    tn_histogramdd_options o = {.struct_size = sizeof o, .site = "", .density = v[4].s.v.i != 0};
    o.weight = v[3].given ? v[3].s.v.t : NULL;
    tn_tensor *hist = (tn_histogramdd_opt)(x, (tn_tensors){edges, n}, &o);
    if (hist)
        return points_counted(hist, edges, (Py_ssize_t)n);
    for (size_t i = 0; i < n; i++)
        tn_release(edges[i]);
    return py_raise();
}

/* slots: input bins range weight density edges; bins: one for all coordinates, or one for each */
PyObject *run_histogramdd(PyObject *self, py_value *v, int which)
{
    tn_tensor *x = v[0].s.v.t, *edges[TN_MAX_DIMS], *said = NULL;
    ends range;
    int64_t bins[TN_MAX_DIMS];
    (void)self;
    if (which == 2) {
        const tn_tensors given = py_list(&v[5]);
        if (given.n > TN_MAX_DIMS)
            return PyErr_Format(PyExc_RuntimeError, "histogramdd: more than %d dimensions", TN_MAX_DIMS);
        for (size_t i = 0; i < given.n; i++)
            edges[i] = tn_retain(given.t[i]);
        return counted_between(x, edges, given.n, v);
    }
    const int32_t ndim = tn_tensor_ndim(x);
    tn_ints each = py_ints(&v[1]);
    if (which == 0) {
        const int64_t n = ndim ? tn_tensor_size(x, -1) : 0;
        for (int64_t d = 0; d < n && d < TN_MAX_DIMS; d++)
            bins[d] = v[1].s.v.i;
        each = (tn_ints){bins, (size_t)(n < TN_MAX_DIMS ? n : TN_MAX_DIMS)};
    }
    if (!ends_of(&v[2], &range))
        return NULL;
    if (range.n) {
        tn_from_data_options o = {.struct_size = sizeof o, .site = ""};
        const int64_t size[1] = {range.n < 2 * TN_MAX_DIMS ? range.n : 2 * TN_MAX_DIMS};
        said = (tn_from_data_opt)(range.v, TN_F64, TN__DIMS(tn_dims_of(size, 1)), &o);
        if (!said)
            return py_raise();
    }
    const int64_t n = (tn_histogramdd_edges_at)("", x, each, said ? said : TN_NONE, edges, TN_MAX_DIMS);
    tn_release(said);
    return n ? counted_between(x, edges, (size_t)n, v) : py_raise();
}

/* ---- places ---- */

/* slots: input size fill_value */
tn_tensor *call_nonzero_static_of(const py_value *v)
{
    tn_nonzero_static_options o = {.struct_size = sizeof o, .site = "", .fill_value = tn_scalar_i(v[2].s.v.i)};
    return (tn_nonzero_static_opt)(v[0].s.v.t, v[1].s.v.i, &o);
}

static bool sizes_of(PyObject *shape, tn_dims *to)
{
    static int64_t none;
    *to = tn_dims_of(&none, 0);
    if (PyLong_Check(shape)) {
        const int64_t size = PyLong_AsLongLong(shape);
        *to = tn_dims_of(&size, 1);
        return !PyErr_Occurred();
    }
    const int is_tensor = PyObject_HasAttrString(shape, "dtype");
    PyObject *list = PySequence_Check(shape) && !is_tensor ? PySequence_Tuple(shape) : NULL;
    if (!list) {
        PyErr_Clear();
        PyErr_Format(PyExc_TypeError, "expected 'shape' to be int or sequence of ints, but got %R",
                     (PyObject *)Py_TYPE(shape));
        return false;
    }
    int64_t size[TN_MAX_DIMS];
    const Py_ssize_t n = PyTuple_Size(list);
    if (n > TN_MAX_DIMS)
        PyErr_Format(PyExc_RuntimeError, "unravel_index: more than %d dimensions", TN_MAX_DIMS);
    for (Py_ssize_t i = 0; i < n && !PyErr_Occurred(); i++) {
        PyObject *item = PyTuple_GetItem(list, i);
        if (PyLong_Check(item))
            size[i] = PyLong_AsLongLong(item);
        else
            PyErr_Format(PyExc_TypeError, "expected 'shape' sequence to only contain ints, but got %R",
                         (PyObject *)Py_TYPE(item));
        if (!PyErr_Occurred() && size[i] < 0)
            PyErr_Format(PyExc_ValueError, "'shape' cannot have negative values, but got %R", list);
    }
    if (!PyErr_Occurred())
        *to = tn_dims_of(size, (int32_t)n);
    Py_DECREF(list);
    return !PyErr_Occurred();
}

/* slots: indices shape */
PyObject *run_unravel_index(PyObject *self, py_value *v, int which)
{
    tn_tensor *x = v[0].s.v.t, *out[TN_MAX_DIMS];
    const tn_dtype d = tn_tensor_dtype(x);
    tn_dims shape;
    (void)self, (void)which;
    if (tn_dtype_is_floating_point(d) || d == TN_BOOL)
        return PyErr_Format(PyExc_TypeError, "expected 'indices' to be integer dtype, but got torch.%s",
                            tn_dtype_name(d));
    if (!sizes_of(v[1].u.object, &shape))
        return NULL;
    for (int32_t i = 0; i < shape.ndim && tn_tensor_numel(x); i++)
        if (shape.dim[i] == 0)
            return PyErr_Format(PyExc_ValueError,
                                "'shape' cannot have zero dimensions when 'indices' is non-empty, but got %R",
                                v[1].u.object);
    if (shape.ndim == 0)
        return PyTuple_New(0);
    const int64_t n = (tn_unravel_index_at)("", x, TN__DIMS(shape), out, TN_MAX_DIMS);
    return n ? py_wrap_tuple(out, (Py_ssize_t)n) : py_raise();
}
