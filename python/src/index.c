/* index.c: x[...] and x[...] = v, as NumPy and PyTorch read an index.
 *
 * Numbers, slices, None and '...' make views, one after the other. Tensors, lists and arrays among them are collected, one
 * for each dimension of that view (TN_NONE where there is none), and handed to tn_index or tn_index_put_ together.
 */
#include "py.h"
#include "generator.h"

#include <stdlib.h>

enum { MOST = TN_MAX_DIMS };

typedef struct indexing {
    tn_tensor *view;            /* what the items read so far show; owned */
    int64_t dim;                /* the view's next dimension */
    tn_tensor *index[MOST + 1]; /* of each dimension of the view: an owned tensor, or TN_NONE */
    tn_tensor *given[MOST + 1]; /* the same for the library; borrowed */
    bool advanced;
} indexing;

static void indexing_free(indexing *x)
{
    tn_release(x->view);
    for (int i = 0; i <= MOST; i++)
        tn_release(x->index[i]);
}

/* The view becomes r, which is taken over. */
static int step(indexing *x, tn_tensor *r)
{
    if (!r) {
        py_raise();
        return -1;
    }
    tn_release(x->view);
    x->view = r;
    return 0;
}

static int too_many(PyObject *self)
{
    PyErr_Format(PyExc_IndexError, "too many indices for tensor of dimension %d", (int)tn_tensor_ndim(py_t(self)));
    return -1;
}

/* ---- slices ---- */

/* A bound of a slice, clipped as Python clips it: the number, or 'missing'. */
static int bound(PyObject *slice, const char *name, int64_t missing, int64_t *out)
{
    PyObject *o = PyObject_GetAttrString(slice, name);
    int status = 0;
    *out = missing;
    if (!o)
        return -1;
    if (o != Py_None) {
        PyObject *n = PyNumber_Index(o);
        int overflow = 0;
        long long i = n ? PyLong_AsLongLongAndOverflow(n, &overflow) : -1;
        if (!n)
            status = -1;
        *out = overflow > 0 ? INT64_MAX : overflow < 0 ? -INT64_MAX : i;
        Py_XDECREF(n);
    }
    Py_DECREF(o);
    return status;
}

static int take_slice(indexing *x, PyObject *o)
{
    int64_t start, end, by;
    if (bound(o, "start", 0, &start) || bound(o, "stop", INT64_MAX, &end) || bound(o, "step", 1, &by))
        return -1;
    if (by <= 0) {
        PyErr_SetString(PyExc_ValueError, by ? "step must be greater than zero" : "slice step cannot be zero");
        return -1;
    }
    int64_t n = tn_tensor_size(x->view, x->dim);
    if (by == 1 && end >= n && (start == 0 || start <= -n)) { /* all of it */
        x->dim++;
        return 0;
    }
    return step(x, tn_slice_at("", x->view, x->dim++, start, end, by));
}

/* ---- tensors and what becomes one ---- */

static int take_tensor(indexing *x, tn_tensor *t, PyObject *self)
{
    tn_dtype dtype = tn_tensor_dtype(t);
    bool mask = dtype == TN_BOOL || dtype == TN_U8;
    int64_t spans = mask ? tn_tensor_ndim(t) : 1;
    if (tn_dtype_is_floating_point(dtype)) {
        PyErr_SetString(PyExc_IndexError, "tensors used as indices must be long, int, byte or bool tensors");
        return -1;
    }
    if (mask && !spans) { /* x[True]: a dimension of size 1 in front, kept or emptied */
        if (step(x, tn_unsqueeze_at("", x->view, x->dim)))
            return -1;
        t = tn_unsqueeze_at("", t, 0);
        spans = 1;
    } else
        t = dtype == TN_U8 ? tn_ne_at("", tn_scalar_t(t), tn_scalar_i(0)) : tn_retain(t);
    if (!t)
        return py_raise(), -1;
    if (x->dim + spans > tn_tensor_ndim(x->view)) {
        tn_release(t);
        return too_many(self);
    }
    x->index[x->dim] = t;
    x->dim += spans;
    x->advanced = true;
    return 0;
}

/* Lists, tuples inside an index, arrays. */
static int take_data(indexing *x, PyObject *o, PyObject *self)
{
    PyObject *t = py_tensor_from_data(o, 0, TN_CPU);
    if (!t)
        return -1;
    tn_tensor *index = py_t(t);
    bool empty = !tn_tensor_numel(index) && tn_dtype_is_floating_point(tn_tensor_dtype(index));
    tn_tensor *whole =
        empty ? (tn_to_opt)(index, &(tn_to_options){.struct_size = sizeof(tn_to_options), .site = "", .dtype = TN_I64})
              : tn_retain(index);
    int status = whole ? take_tensor(x, whole, self) : (py_raise(), -1);
    tn_release(whole);
    Py_DECREF(t);
    return status;
}

/* ---- one item of an index ---- */

static int take_int(indexing *x, PyObject *o, PyObject *self)
{
    int64_t i;
    if (py_int(o, &i))
        return PyErr_Occurred() ? -1 : too_many(self);
    if (x->dim >= tn_tensor_ndim(x->view)) {
        if (tn_tensor_ndim(py_t(self)))
            return too_many(self);
        PyErr_SetString(PyExc_IndexError, "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or "
                                          "`tensor.item<T>()` in C++ to convert a 0-dim tensor to a number");
        return -1;
    }
    int64_t n = tn_tensor_size(x->view, x->dim);
    if (i < -n || i >= n) {
        PyErr_Format(PyExc_IndexError, "index %lld is out of bounds for dimension %lld with size %lld", (long long)i,
                     (long long)x->dim, (long long)n);
        return -1;
    }
    return step(x, tn_select_at("", x->view, x->dim, i));
}

static int wrong_item(PyObject *o)
{
    PyObject *name = PyType_GetName(Py_TYPE(o));
    if (name && PyUnicode_Check(o))
        PyErr_SetString(PyExc_TypeError, "new(): invalid data type 'str'");
    else if (name)
        PyErr_Format(
            PyExc_IndexError,
            "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices (got %U)",
            name);
    Py_XDECREF(name);
    return -1;
}

static int take_item(indexing *x, PyObject *o, PyObject *self)
{
    if (PyBool_Check(o)) {
        tn_scalar value = tn_scalar_b(o == Py_True);
        tn_tensor *mask = (tn_full_opt)((tn_dims){0, (const int64_t[]){0}}, value,
                                        &(tn_options){.struct_size = sizeof(tn_options),
                                                      .site = "",
                                                      .dtype = TN_BOOL,
                                                      .device = tn_tensor_device(x->view)});
        int status = mask ? take_tensor(x, mask, self) : (py_raise(), -1);
        tn_release(mask);
        return status;
    }
    if (PyLong_Check(o))
        return take_int(x, o, self);
    if (PySlice_Check(o)) {
        if (x->dim >= tn_tensor_ndim(x->view))
            return too_many(self);
        return take_slice(x, o);
    }
    if (o == Py_None) {
        int status = step(x, tn_unsqueeze_at("", x->view, x->dim));
        x->dim++;
        return status;
    }
    if (py_is_tensor(o)) {
        tn_tensor *t = py_t(o);
        tn_dtype d = tn_tensor_dtype(t);
        if (!tn_tensor_ndim(t) && d != TN_BOOL && d != TN_U8 && !tn_dtype_is_floating_point(d) &&
            tn_tensor_device(t).type == TN_DEVICE_CPU)
            return take_int(x, o, self);
        return take_tensor(x, t, self);
    }
    if (PyList_Check(o) || PyTuple_Check(o) || py_is_ndarray(o))
        return take_data(x, o, self);
    if (PyIndex_Check(o) || py_is_numpy_scalar(o))
        return PyFloat_Check(o) ? wrong_item(o) : take_int(x, o, self);
    if (PySequence_Check(o) && !PyUnicode_Check(o) && !PyBytes_Check(o))
        return take_data(x, o, self);
    return wrong_item(o);
}

/* How many dimensions an item stands for. */
static int64_t spans(PyObject *o)
{
    if (o == Py_None || o == Py_Ellipsis || PyBool_Check(o))
        return 0;
    if (py_is_tensor(o) && (tn_tensor_dtype(py_t(o)) == TN_BOOL || tn_tensor_dtype(py_t(o)) == TN_U8))
        return tn_tensor_ndim(py_t(o));
    if (py_is_ndarray(o)) { /* a mask of several dimensions spans as many */
        PyObject *dtype = PyObject_GetAttrString(o, "dtype"),
                 *kind = dtype ? PyObject_GetAttrString(dtype, "kind") : NULL;
        PyObject *ndim = PyObject_GetAttrString(o, "ndim");
        bool mask = kind && PyUnicode_CompareWithASCIIString(kind, "b") == 0;
        int64_t n = mask && ndim ? PyLong_AsLongLong(ndim) : 1;
        Py_XDECREF(dtype);
        Py_XDECREF(kind);
        Py_XDECREF(ndim);
        PyErr_Clear();
        return n;
    }
    return 1;
}

/* Skips the dimensions that '...' stands for: what the items after it leave. */
static int take_ellipsis(indexing *x, PyObject *items, Py_ssize_t at, PyObject *self)
{
    int64_t after = 0;
    for (Py_ssize_t i = at + 1; i < PyTuple_Size(items); i++)
        after += spans(PyTuple_GetItem(items, i));
    int64_t skip = tn_tensor_ndim(x->view) - x->dim - after;
    if (skip < 0)
        return too_many(self);
    x->dim += skip;
    return 0;
}

/* A list of less than 32 items that holds slices, None, '...', tensors or sequences is read as a tuple would be: PyTorch
 * has it from the NumPy of old. */
static bool is_tuple_in_disguise(PyObject *index)
{
    if (!PyList_Check(index) || PyList_Size(index) >= 32)
        return false;
    for (Py_ssize_t i = 0; i < PyList_Size(index); i++) {
        PyObject *o = PyList_GetItem(index, i);
        if (o == Py_None || o == Py_Ellipsis || PySlice_Check(o) || py_is_tensor(o) || PySequence_Check(o))
            return true;
    }
    return false;
}

static PyObject *items_of(PyObject *index)
{
    if (PyTuple_Check(index))
        return Py_NewRef(index);
    if (is_tuple_in_disguise(index))
        return PyList_AsTuple(index);
    return PyTuple_Pack(1, index);
}

static int read_index(indexing *x, PyObject *self, PyObject *index)
{
    memset(x, 0, sizeof *x);
    for (int i = 0; i <= MOST; i++)
        x->index[i] = TN_NONE;
    x->view = tn_retain(py_t(self));
    PyObject *items = items_of(index);
    int status = items ? 0 : -1;
    bool dots = false;
    for (Py_ssize_t i = 0; !status && i < PyTuple_Size(items); i++) {
        PyObject *o = PyTuple_GetItem(items, i);
        if (o == Py_Ellipsis && dots) {
            PyErr_SetString(PyExc_IndexError, "an index can only have a single ellipsis ('...')");
            status = -1;
        } else if (o == Py_Ellipsis) {
            dots = true;
            status = take_ellipsis(x, items, i, self);
        } else
            status = take_item(x, o, self);
    }
    Py_XDECREF(items);
    return status;
}

/* As the library takes them: a mask stands for all the dimensions that it spans. */
static tn_tensors indices(indexing *x)
{
    size_t n = 0;
    for (int32_t d = 0; d < tn_tensor_ndim(x->view); n++) {
        tn_tensor *t = x->given[n] = x->index[d];
        d += t != TN_NONE && tn_tensor_dtype(t) == TN_BOOL ? tn_tensor_ndim(t) : 1;
    }
    return (tn_tensors){x->given, n};
}

/* ---- the two doors ---- */

PyObject *py_get_item(PyObject *self, PyObject *index)
{
    indexing x;
    if (PyLong_CheckExact(index) && tn_tensor_ndim(py_t(self)) > 0) { /* the usual one: x[i] */
        int64_t i, n = tn_tensor_shape(py_t(self)).dim[0];
        if (!py_int(index, &i) && i >= -n && i < n)
            return py_wrap(tn_select_at("", py_t(self), 0, i));
        PyErr_Clear();
    }
    tn_tensor *r = NULL;
    if (!read_index(&x, self, index)) {
        if (x.advanced) {
            Py_BEGIN_ALLOW_THREADS
                r = tn_index_at("", x.view, indices(&x));
            Py_END_ALLOW_THREADS
        } else
            r = x.view == py_t(self) ? tn_alias_at("", x.view) : tn_retain(x.view);
        if (!r)
            py_raise();
    }
    indexing_free(&x);
    return r ? py_wrap(r) : NULL;
}

/* What is written: a tensor as it is, a number as a number, anything else as a tensor made of it. *made is to be released. */
static int value_of(PyObject *value, tn_tensor *to, tn_scalar *out, PyObject **made)
{
    *made = NULL;
    if (py_is_tensor(value)) {
        *out = tn_scalar_t(py_t(value));
        return 0;
    }
    int status = py_is_ndarray(value) ? 1 : py_number(value, out);
    if (status <= 0)
        return status;
    if (PyUnicode_Check(value) || value == Py_None) {
        PyObject *name = PyType_GetName(Py_TYPE(value));
        PyErr_Format(PyExc_TypeError, "can't assign a %S to a torch.%sTensor", name ? name : Py_None,
                     py_scalar_type_name(tn_tensor_dtype(to)));
        Py_XDECREF(name);
        return -1;
    }
    *made = py_tensor_from_data(value, tn_tensor_dtype(to), tn_tensor_device(to));
    if (*made)
        *out = tn_scalar_t(py_t(*made));
    return *made ? 0 : -1;
}

/* The value without dimensions of size 1 in front that the place has not: torch lets them be. */
static tn_tensor *fitted(tn_tensor *value, int32_t ndim)
{
    tn_tensor *t = tn_retain(value);
    while (t && tn_tensor_ndim(t) > ndim && tn_tensor_shape(t).dim[0] == 1) {
        tn_tensor *less = tn_select_at("", t, 0, 0);
        tn_release(t);
        t = less;
    }
    return t;
}

static tn_tensor *write_view(tn_tensor *view, tn_scalar value)
{
    if (value.kind != TN_SCALAR_TENSOR)
        return tn_fill__at("", view, value);
    tn_tensor *src = fitted(value.v.t, tn_tensor_ndim(view));
    tn_tensor *shown = src ? (tn_expand_at)("", src, tn_tensor_shape(view)) : NULL; /* its error is PyTorch's */
    tn_release(src);
    src = shown;
    tn_tensor *r =
        src ? (tn_copy__opt)(view, src, &(tn_copy__options){.struct_size = sizeof(tn_copy__options), .site = ""})
            : NULL;
    tn_release(src);
    return r;
}

/* Values are converted and carried to the place, as PyTorch does for 0-dim ones and as copy_ does for all. */
static tn_tensor *write_indices(indexing *x, tn_scalar value)
{
    tn_tensor *src = NULL;
    if (value.kind == TN_SCALAR_TENSOR) {
        src = (tn_to_opt)(value.v.t, &(tn_to_options){.struct_size = sizeof(tn_to_options),
                                                      .site = "",
                                                      .dtype = tn_tensor_dtype(value.v.t) == tn_tensor_dtype(x->view)
                                                                   ? 0
                                                                   : tn_tensor_dtype(x->view),
                                                      .device = tn_tensor_ndim(value.v.t) ? tn_device_make(0, 0)
                                                                                          : tn_tensor_device(x->view)});
        if (!src)
            return NULL;
        value = tn_scalar_t(src);
    }
    tn_index_put__options o = {.struct_size = sizeof o, .site = ""};
    tn_tensor *r = (tn_index_put__opt)(x->view, indices(x), value, &o);
    tn_release(src);
    return r;
}

int py_set_item(PyObject *self, PyObject *index, PyObject *value)
{
    indexing x;
    tn_scalar v;
    PyObject *made = NULL;
    int status = -1;
    if (!value) {
        PyErr_SetString(PyExc_TypeError, "Tensor does not support deleting items");
        return -1;
    }
    if (!read_index(&x, self, index) && !value_of(value, py_t(self), &v, &made)) {
        tn_tensor *r;
        Py_BEGIN_ALLOW_THREADS
            r = x.advanced ? write_indices(&x, v) : write_view(x.view, v);
        Py_END_ALLOW_THREADS
        status = r ? 0 : (py_raise(), -1);
    }
    Py_XDECREF(made);
    indexing_free(&x);
    return status;
}

/* _index_put_(x, indices, values, accumulate): indices is a tuple of tensors and None, as x[...] takes them. */
static PyObject *index_put_(PyObject *self, PyObject *args)
{
    PyObject *t, *index, *values;
    int accumulate;
    indexing x;
    (void)self;
    if (!PyArg_ParseTuple(args, "O!O!O!p:index_put_", py_tensor_type, &t, &PyTuple_Type, &index, py_tensor_type,
                          &values, &accumulate))
        return NULL;
    tn_tensor *r = NULL;
    if (!read_index(&x, t, index)) {
        tn_index_put__options o = {.struct_size = sizeof o, .site = "", .accumulate = accumulate != 0};
        r = (tn_index_put__opt)(x.view, indices(&x), tn_scalar_t(py_t(values)), &o);
        if (!r)
            py_raise();
    }
    indexing_free(&x);
    return r ? Py_NewRef(Py_None) : NULL;
}

static PyMethodDef functions[] = {
    {"_index_put_", index_put_, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

int py_add_index(PyObject *module)
{
    return PyModule_AddFunctions(module, functions);
}
