/* index.c: x[...] and x[...] = v, as NumPy and PyTorch read an index.
 *
 * Numbers, slices, None and '...' make views, one after the other. Tensors, lists and arrays among them are collected, one
 * for each dimension of that view (TN_NONE where there is none), and handed to tn_index or tn_index_put_ together.
 */
#include "py.h"
#include "functions.h"
#include "generator.h"

#include <math.h>

enum { MOST = TN_MAX_DIMS };

typedef struct indexing {
    int64_t ndim;               /* of the tensor that is indexed */
    tn_tensor *view;            /* what the items read so far show; owned */
    int64_t named;              /* dimensions that the items stand for, as PyTorch counts them before it reads one */
    int64_t dim;                /* the view's next dimension */
    int64_t end;                /* behind the last dimension that has an index */
    tn_tensor *index[MOST + 1]; /* of each dimension of the view: an owned tensor, or TN_NONE */
    tn_tensor *given[MOST + 1]; /* the same for the library; borrowed */
    int bytes;                  /* how many of them were masks of uint8 */
} indexing;

static void indexing_free(indexing *x)
{
    tn_release(x->view);
    for (int64_t i = 0; i < x->end; i++)
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

static int too_many(const indexing *x)
{
    PyErr_Format(PyExc_IndexError, "too many indices for tensor of dimension %d", (int)x->ndim);
    return -1;
}

/* ---- items that make views ---- */

static int take_slice(indexing *x, PyObject *o)
{
    Py_ssize_t start, end, by;
    if (PySlice_Unpack(o, &start, &end, &by))
        return -1;
    if (by < 0) {
        PyErr_SetString(PyExc_ValueError, "step must be greater than zero");
        return -1;
    }
    if (by == 1 && !start && end == PY_SSIZE_T_MAX && x->dim >= tn_tensor_ndim(x->view) && x->ndim) {
        x->dim++; /* behind a second '...', where PyTorch does not look which dimension that is */
        return 0;
    }
    if (by == 1 && x->dim < tn_tensor_ndim(x->view)) {
        int64_t n = tn_tensor_size(x->view, x->dim);
        if (end >= n && (start == 0 || start <= -n)) { /* all of it */
            x->dim++;
            return 0;
        }
    }
    return step(x, tn_slice_at("", x->view, x->dim++, start, end, by));
}

/* at: the place of the item in the index, for PyTorch calls that the dimension. */
static int take_int(indexing *x, PyObject *o, Py_ssize_t at)
{
    int64_t i;
    if (py_int(o, &i)) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_TypeError, "an integer is required");
        return -1;
    }
    bool there = x->dim < tn_tensor_ndim(x->view);
    if (!there && !x->dim && !i) {
        PyErr_SetString(PyExc_IndexError, "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or "
                                          "`tensor.item<T>()` in C++ to convert a 0-dim tensor to a number");
        return -1;
    }
    int64_t n = there ? tn_tensor_size(x->view, x->dim) : 0;
    if (i < -n || i >= n) {
        PyErr_Format(PyExc_IndexError, "index %lld is out of bounds for dimension %zd with size %lld", (long long)i, at,
                     (long long)n);
        return -1;
    }
    return step(x, tn_select_at("", x->view, x->dim, i));
}

/* ---- tensors and what becomes one ---- */

/* t, taken over, is the index of so many dimensions. What is too many the library says, when it has seen the rest. */
static int record(indexing *x, tn_tensor *t, int64_t spans)
{
    if (!t)
        return py_raise(), -1;
    if (x->dim + spans > MOST + 1) {
        tn_release(t);
        return too_many(x);
    }
    x->index[x->dim] = t;
    x->dim += spans;
    x->end = x->dim;
    return 0;
}

/* x[True]: a dimension of size 1 in front, of which the index 0 is taken, or none. */
static int take_bool(indexing *x, bool truth)
{
    tn_options o = {.struct_size = sizeof o, .site = "", .dtype = TN_I64, .device = tn_tensor_device(x->view)};
    if (step(x, tn_unsqueeze_at("", x->view, x->dim)))
        return -1;
    return record(x, (tn_full_opt)(TN__DIMS(TN_SHAPE(truth)), tn_scalar_i(0), &o), 1);
}

static int take_truth(indexing *x, const tn_tensor *t)
{
    double truth = tn_item(t);
    return truth == truth ? take_bool(x, truth != 0) : (py_raise(), -1);
}

static int record_mask(indexing *x, tn_tensor *t)
{
    bool bytes = tn_tensor_dtype(t) == TN_U8;
    x->bytes += bytes;
    return record(x, bytes ? tn_ne_at("", tn_scalar_t(t), tn_scalar_i(0)) : tn_retain(t), tn_tensor_ndim(t));
}

static int take_tensor(indexing *x, PyObject *o, Py_ssize_t at)
{
    tn_tensor *t = py_t(o);
    tn_dtype dtype = tn_tensor_dtype(t);
    int64_t n = tn_tensor_ndim(t);
    bool mask = dtype == TN_BOOL || dtype == TN_U8;
    if (!mask)
        return n || tn_dtype_is_floating_point(dtype) ? record(x, tn_retain(t), 1) : take_int(x, o, at);
    return n ? record_mask(x, t) : take_truth(x, t);
}

/* Lists, tuples inside an index, arrays: masks, or whole numbers whatever their dtype is. */
static int take_data(indexing *x, PyObject *o, Py_ssize_t at)
{
    PyObject *t = py_tensor_from_data(o, 0, TN_CPU);
    if (!t)
        return -1;
    tn_dtype dtype = tn_tensor_dtype(py_t(t));
    if (dtype != TN_BOOL && dtype != TN_U8 && dtype != TN_I64) {
        tn_to_options whole = {.struct_size = sizeof whole, .site = "", .dtype = TN_I64};
        PyObject *r = py_wrap((tn_to_opt)(py_t(t), &whole));
        Py_DECREF(t);
        t = r;
    }
    int status = t ? take_tensor(x, t, at) : -1;
    Py_XDECREF(t);
    return status;
}

/* ---- one item of an index ---- */

static int wrong_item(PyObject *o)
{
    char name[200];
    py_type_name(o, name, sizeof name);
    if (PyUnicode_Check(o) || PyBytes_Check(o))
        PyErr_Format(PyExc_TypeError, "new(): invalid data type '%s'", name);
    else
        PyErr_Format(
            PyExc_IndexError,
            "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices (got %s)",
            name);
    return -1;
}

static int take_item(indexing *x, PyObject *o, Py_ssize_t at)
{
    if (o == Py_Ellipsis) {
        x->dim += x->ndim - x->named;
        return 0;
    }
    if (o == Py_None)
        return step(x, tn_unsqueeze_at("", x->view, x->dim++));
    if (PyBool_Check(o))
        return take_bool(x, o == Py_True);
    if (PyLong_Check(o))
        return take_int(x, o, at);
    if (PySlice_Check(o))
        return take_slice(x, o);
    if (py_is_tensor(o))
        return take_tensor(x, o, at);
    if (py_is_ndarray(o) || (PySequence_Check(o) && !PyUnicode_Check(o) && !PyBytes_Check(o)))
        return take_data(x, o, at);
    if (!PyIndex_Check(o) || PyFloat_Check(o))
        return wrong_item(o);
    PyObject *n = PyNumber_Index(o);
    if (!n) { /* NumPy's bool_ and floats say that they have it */
        PyErr_Clear();
        return wrong_item(o);
    }
    int status = take_int(x, n, at);
    Py_DECREF(n);
    return status;
}

/* ---- all items ---- */

/* How many dimensions an item stands for, as PyTorch counts: only of tensors it sees that a mask spans several. */
static int64_t names(PyObject *o)
{
    if (o == Py_None || o == Py_Ellipsis || PyBool_Check(o))
        return 0;
    if (py_is_tensor(o) && (tn_tensor_dtype(py_t(o)) == TN_BOOL || tn_tensor_dtype(py_t(o)) == TN_U8))
        return tn_tensor_ndim(py_t(o));
    return 1;
}

/* A sequence of less than 32 items that holds slices, None, '...', tensors or sequences is read as a tuple would be: PyTorch
 * has it from the NumPy of old. 1: it is one; -1: the warning has become an exception. */
static int is_tuple_in_disguise(PyObject *index)
{
    bool tuple = false;
    if (py_is_tensor(index) || py_is_ndarray(index) || !PySequence_Check(index))
        return 0;
    Py_ssize_t n = PySequence_Size(index);
    for (Py_ssize_t i = 0; i < n && n < 32 && !tuple; i++) {
        PyObject *o = PySequence_GetItem(index, i);
        if (!o)
            break;
        tuple = o == Py_None || o == Py_Ellipsis || PySlice_Check(o) || py_is_tensor(o) || PySequence_Check(o);
        Py_DECREF(o);
    }
    PyErr_Clear();
    if (tuple && PyErr_WarnEx(PyExc_UserWarning,
                              "Using a non-tuple sequence for multidimensional indexing is deprecated and will be "
                              "changed in pytorch 2.9; use x[tuple(seq)] instead of x[seq]. In pytorch 2.9 this will "
                              "be interpreted as tensor index, x[torch.tensor(seq)], which will result either in an "
                              "error or a different result",
                              1))
        return -1;
    return tuple;
}

static PyObject *items_of(PyObject *index)
{
    if (PyTuple_Check(index))
        return Py_NewRef(index);
    int tuple = is_tuple_in_disguise(index);
    if (tuple < 0)
        return NULL;
    return tuple ? PySequence_Tuple(index) : PyTuple_Pack(1, index);
}

static bool is_simple(PyObject *o)
{
    return o == Py_None || o == Py_Ellipsis || PyLong_Check(o) || PySlice_Check(o) ||
           (py_is_numpy_scalar(o) && PyIndex_Check(o));
}

static int read_items(indexing *x, PyObject *items)
{
    Py_ssize_t n = PyTuple_Size(items);
    for (Py_ssize_t i = 0; i < n; i++)
        x->named += names(PyTuple_GetItem(items, i));
    if (x->named > x->ndim)
        return too_many(x);
    for (Py_ssize_t i = 0; i < n; i++)
        if (take_item(x, PyTuple_GetItem(items, i), i))
            return -1;
    return 0;
}

static void begin(indexing *x, tn_tensor *t)
{
    memset(x, 0, sizeof *x);
    for (int i = 0; i <= MOST; i++)
        x->index[i] = TN_NONE;
    x->ndim = tn_tensor_ndim(t);
    x->view = tn_retain(t);
}

static int read_index(indexing *x, PyObject *self, PyObject *index)
{
    begin(x, py_t(self));
    if (is_simple(index)) { /* x[0] of a 0-dim one is not called too many */
        x->named = names(index);
        return index == Py_Ellipsis ? 0 : take_item(x, index, 0);
    }
    PyObject *items = items_of(index);
    int status = items ? read_items(x, items) : -1;
    Py_XDECREF(items);
    return status;
}

/* As the library takes them: a mask stands for all the dimensions that it spans. */
static tn_tensors indices(indexing *x)
{
    size_t n = 0;
    for (int64_t d = 0; d < x->end; n++) {
        tn_tensor *t = x->given[n] = x->index[d];
        d += t != TN_NONE && tn_tensor_dtype(t) == TN_BOOL ? tn_tensor_ndim(t) : 1;
    }
    return (tn_tensors){x->given, n};
}

static int warn_bytes(const indexing *x)
{
    int status = 0;
    for (int i = 0; i < x->bytes && !status; i++)
        status = PyErr_WarnEx(
            PyExc_UserWarning,
            "indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool instead.", 1);
    return status;
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
    if (!read_index(&x, self, index) && !warn_bytes(&x)) {
        if (x.end) {
            PY_BEGIN_OWNING(NULL)
                r = tn_index_at("", x.view, indices(&x));
            PY_END_OWNING
        } else
            r = x.view != py_t(self)   ? tn_retain(x.view)
                : PySlice_Check(index) ? tn_slice_at("", x.view, 0, 0, INT64_MAX, 1)
                                       : tn_alias_at("", x.view);
        if (!r)
            py_raise();
    }
    indexing_free(&x);
    return r ? py_wrap(r) : NULL;
}

/* Filling lets a number overflow to infinity in 16 bits; what is assigned may not. */
static int check_half(tn_scalar value, tn_dtype dtype)
{
    double most = py_dtypes[dtype].size == 2 && py_dtypes[dtype].most > 0 ? py_dtypes[dtype].most : INFINITY;
    double x = fabs(value.kind == TN_SCALAR_FLOAT  ? value.v.f
                    : value.kind == TN_SCALAR_UINT ? (double)value.v.u
                                                   : (double)value.v.i);
    if (!(x > most) || isinf(x))
        return 0;
    PyErr_Format(PyExc_RuntimeError, "value cannot be converted to type %s without overflow", py_dtypes[dtype].scalar);
    return -1;
}

/* What is written: a tensor, or a number. */
static int value_of(PyObject *value, tn_tensor *to, tn_scalar *out)
{
    char name[200];
    if (py_is_tensor(value)) {
        *out = tn_scalar_t(py_t(value));
        return 0;
    }
    if (PyLong_Check(value) || PyFloat_Check(value) || (py_is_numpy_scalar(value) && PyIndex_Check(value)))
        return py_number(value, out) ? -1 : check_half(*out, tn_tensor_dtype(to));
    if (PyComplex_Check(value))
        PyErr_Format(PyExc_RuntimeError,
                     "value cannot be converted to type %s without overflow: Tenon has no complex "
                     "numbers",
                     tn_dtype_name(tn_tensor_dtype(to)));
    else
        PyErr_Format(PyExc_TypeError, "can't assign a %s to a torch.%s%sTensor", py_type_name(value, name, sizeof name),
                     tn_tensor_device(to).type == TN_DEVICE_CUDA ? "cuda." : "",
                     py_scalar_type_name(tn_tensor_dtype(to)));
    return -1;
}

/* The value without its dimensions of size 1 in front, which PyTorch does not count. */
static tn_tensor *without_ones(tn_tensor *value)
{
    tn_dims all = tn_tensor_shape(value);
    int32_t ones = 0;
    while (ones < all.ndim && all.dim[ones] == 1)
        ones++;
    return ones ? tn_view_at("", value, TN__DIMS(tn_dims_of(all.dim + ones, all.ndim - ones))) : tn_retain(value);
}

static tn_tensor *write_view(tn_tensor *view, tn_tensor *value)
{
    tn_dims shape = tn_tensor_shape(view);
    tn_copy__options o = {.struct_size = sizeof o, .site = ""};
    if (py_same_dims(tn_tensor_shape(value), shape))
        return (tn_copy__opt)(view, value, &o);
    if (!tn_tensor_ndim(value) && tn_tensor_device(value).type == TN_DEVICE_CPU)
        return tn_fill__at("", view, tn_scalar_t(value));
    tn_tensor *bare = without_ones(value), *shown = bare ? (tn_expand_at)("", bare, TN__DIMS(shape)) : NULL;
    tn_tensor *r = shown ? (tn_copy__opt)(view, shown, &o) : NULL; /* the error of expand is PyTorch's */
    tn_release(bare);
    tn_release(shown);
    return r;
}

static tn_tensor *write_indices(indexing *x, tn_scalar value, bool accumulate)
{
    tn_index_put__options o = {.struct_size = sizeof o, .site = "", .accumulate = accumulate};
    return (tn_index_put__opt)(x->view, indices(x), value, &o);
}

static bool is_own_element(tn_tensor *t, tn_tensor *value)
{
    int64_t size;
    return !tn_tensor_ndim(value) && tn_tensor_storage(value, &size) == tn_tensor_storage(t, &size);
}

static tn_tensor *write_number(indexing *x, tn_scalar value)
{
    return x->end ? write_indices(x, value, false) : tn_fill__at("", x->view, value);
}

static tn_tensor *write_tensor(indexing *x, tn_tensor *value)
{
    tn_tensor *shown = x->end ? without_ones(value) : tn_retain(value);
    tn_tensor *r = !shown ? NULL : x->end ? write_indices(x, tn_scalar_t(shown), false) : write_view(x->view, shown);
    tn_release(shown);
    return r;
}

static tn_tensor *write_value(indexing *x, tn_scalar value)
{
    if (value.kind != TN_SCALAR_TENSOR)
        return write_number(x, value);
    if (!is_own_element(x->view, value.v.t))
        return write_tensor(x, value.v.t);
    tn_tensor *was = tn_clone_at("", value.v.t); /* x[:] = x[1]: its value as it was */
    tn_tensor *written = was ? write_tensor(x, was) : NULL;
    tn_release(was);
    return written;
}

static bool value_is_one(tn_scalar value)
{
    return value.kind != TN_SCALAR_TENSOR || !tn_tensor_ndim(value.v.t);
}

static int warn_expanded(const char *name, const char *also)
{
    return PyErr_WarnFormat(PyExc_UserWarning, 1,
                            "Use of %s on expanded tensors is deprecated. Please clone() the tensor before performing "
                            "this operation. This also applies to advanced indexing e.g. tensor[%s",
                            name, also);
}

/* What PyTorch says before it writes. One value it writes by masked_fill_, which takes no bytes, or by index_fill_. */
static int check_written(indexing *x, tn_scalar value, bool accumulate)
{
    tn_tensors all = indices(x);
    tn_tensor *only = NULL;
    size_t given = 0;
    for (size_t i = 0; i < all.n; i++)
        if (all.t[i] != TN_NONE && !given++)
            only = all.t[i];
    bool one = !accumulate && given == 1 && (value.kind != TN_SCALAR_TENSOR || tn_tensor_numel(value.v.t) == 1);
    bool mask = one && tn_tensor_dtype(only) == TN_BOOL, expanded = given && py_is_expanded(x->view);
    if (mask && x->bytes) {
        PyErr_SetString(PyExc_RuntimeError,
                        "masked_fill_ only supports boolean masks, but got mask with dtype unsigned char");
        return -1;
    }
    if (expanded && (mask || (one && value.kind != TN_SCALAR_TENSOR && tn_tensor_ndim(only) == 1)))
        return warn_expanded(mask ? "masked_fill_" : "index_fill_", "mask] = scalar");
    if (expanded && warn_expanded("index_put_", "indices] = tensor"))
        return -1;
    return warn_bytes(x);
}

int py_set_item(PyObject *self, PyObject *index, PyObject *value)
{
    indexing x;
    tn_scalar v;
    int status = -1;
    if (!value) {
        PyErr_SetString(PyExc_TypeError, "Tensor does not support deleting items");
        return -1;
    }
    if (value_of(value, py_t(self), &v))
        return -1;
    if (index == Py_False) /* nothing, not even a look at the value */
        return 0;
    if (!read_index(&x, self, index == Py_True ? Py_None : index) && !check_written(&x, v, false)) {
        tn_tensor *r;
        PY_BEGIN_OWNING(py_tensor_in(v))
            r = write_value(&x, v);
        PY_END_OWNING
        status = r ? 0 : (py_raise(), -1);
    }
    indexing_free(&x);
    return status;
}

/* ---- index_put, index_fill_, masked_fill_ ---- */

static bool write_checked(indexing *x, tn_scalar value, bool accumulate)
{
    tn_tensor *r;
    if (check_written(x, value, accumulate))
        return false;
    PY_BEGIN_OWNING(py_tensor_in(value))
        r = write_indices(x, value, accumulate);
    PY_END_OWNING
    if (!r)
        py_raise();
    return r;
}

/* A truth as the one index, and one element: all or nothing is filled with the number, whatever its dtype. */
static bool fills_all(const tn_tensors *list, tn_scalar value)
{
    const tn_tensor *truth = list->t[0];
    return truth != TN_NONE && tn_tensor_dtype(truth) == TN_BOOL && !tn_tensor_ndim(truth) &&
           value.kind == TN_SCALAR_TENSOR && tn_tensor_numel(value.v.t) == 1;
}

static bool fill_all(tn_tensor *t, tn_tensor *truth, tn_tensor *value)
{
    tn_tensor *one = tn_reshape_at("", value, TN__DIMS((tn_dims){0}));
    tn_tensor *r = one ? tn_masked_fill__at("", t, tn_scalar_t(truth), tn_scalar_t(one)) : NULL;
    tn_release(one);
    return r || py_raise();
}

/* Every index is one of the library's, 0-dim ones too. */
static bool put_at(tn_tensor *t, const tn_tensors *list, tn_scalar value, bool accumulate)
{
    indexing x;
    int status = 0;
    begin(&x, t);
    for (size_t i = 0; i < list->n && !status; i++) {
        tn_dtype d = tn_tensor_dtype(list->t[i]);
        bool mask = d == TN_BOOL || d == TN_U8, truth = mask && !tn_tensor_ndim(list->t[i]);
        status = truth  ? take_truth(&x, list->t[i])
                 : mask ? record_mask(&x, list->t[i])
                        : record(&x, tn_retain(list->t[i]), 1);
    }
    bool done = !status && write_checked(&x, value, accumulate);
    indexing_free(&x);
    return done;
}

static bool put(tn_tensor *t, const py_value *v)
{
    const tn_tensors list = py_list(&v[1]);
    const bool accumulate = v[3].s.v.i != 0;
    if (!list.n) {
        PyErr_SetString(PyExc_RuntimeError, "index_put: at least one index must be given");
        return false;
    }
    const bool wants =
        tn_tensor_requires_grad(t) || (v[2].s.kind == TN_SCALAR_TENSOR && tn_tensor_requires_grad(v[2].s.v.t));
    if (tn_tensor_check_inplace(t, wants && tn_is_grad_enabled()))
        return py_raise() != NULL;
    if (list.n > (size_t)tn_tensor_ndim(t)) {
        PyErr_Format(PyExc_IndexError, "too many indices for tensor of dimension %d (got %zd)", (int)tn_tensor_ndim(t),
                     (Py_ssize_t)list.n);
        return false;
    }
    return list.n == 1 && !accumulate && fills_all(&list, v[2].s) ? fill_all(t, list.t[0], v[2].s.v.t)
                                                                  : put_at(t, &list, v[2].s, accumulate);
}

/* slots: a b c: the tensor, the mask, the value. Of an expanded tensor the masked elements alone are written, as by an index. */
PyObject *run_masked_fill_(PyObject *self, py_value *v, int which)
{
    tn_tensor *x = v[0].s.v.t, *mask = v[1].s.v.t, *r;
    (void)which;
    const bool wide = py_is_expanded(x) && tn_tensor_dtype(mask) == TN_BOOL && value_is_one(v[2].s);
    if (wide && warn_expanded("masked_fill_", "mask] = scalar"))
        return NULL;
    PY_BEGIN_OWNING(x, mask, py_tensor_in(v[2].s))
        r = wide ? tn_masked_fill_expanded__at("", x, mask, v[2].s) : tn_masked_fill__at("", x, v[1].s, v[2].s);
    PY_END_OWNING
    return r ? Py_NewRef(self) : py_raise();
}

PyObject *run_index_put(PyObject *self, py_value *v, int which)
{
    (void)self, (void)which;
    PyObject *r = py_wrap(tn_clone_at("", v[0].s.v.t));
    if (r && !put(py_t(r), v))
        Py_CLEAR(r);
    return r;
}

PyObject *run_index_put_(PyObject *self, py_value *v, int which)
{
    (void)self, (void)which;
    return put(v[0].s.v.t, v) ? py_borrowed(v[0].s.v.t) : NULL;
}

PyObject *run_index_fill_(PyObject *self, py_value *v, int which)
{
    tn_tensor *x = v[0].s.v.t, *r;
    const bool number = v[3].s.kind != TN_SCALAR_TENSOR;
    (void)which;
    if (py_is_expanded(x) &&
        warn_expanded(number ? "index_fill_" : "index_put_", number ? "mask] = scalar" : "indices] = tensor"))
        return NULL;
    PY_BEGIN_OWNING(x, v[2].s.v.t, py_tensor_in(v[3].s))
        r = tn_index_fill__at("", x, v[1].s.v.i, v[2].s.v.t, v[3].s);
    PY_END_OWNING
    return r ? Py_NewRef(self) : py_raise();
}
