/* functions_tuples.c: functions that give a tuple of as many tensors as it takes: pieces, coordinates. */
#include "functions.h"

#include <stdlib.h>

typedef struct pieces {
    tn_tensor *x;
    int64_t n, dim;
    tn_ints sizes;
    tn_tensor *by;
} pieces;
typedef int64_t cut(const pieces *p, tn_tensor **out, size_t cap);

/* Asks how many there are, then for them. */
static PyObject *tuple_of(cut *f, const pieces *p)
{
    tn_error_clear();
    int64_t n = f(p, NULL, 0);
    if (n <= 0)
        return tn_error_code() ? py_raise() : PyTuple_New(0);
    tn_tensor **out = n < INT32_MAX ? malloc((size_t)n * sizeof *out) : NULL;
    if (!out)
        return PyErr_Format(PyExc_RuntimeError, "%lld pieces are more than memory holds", (long long)n);
    PyObject *tuple = f(p, out, (size_t)n) == n ? py_wrap_tuple(out, (Py_ssize_t)n) : py_raise();
    free(out);
    return tuple;
}

static int64_t cut_split(const pieces *p, tn_tensor **out, size_t cap)
{
    return (tn_split_at)("", p->x, p->n, p->dim, out, cap);
}

static int64_t cut_sizes(const pieces *p, tn_tensor **out, size_t cap)
{
    return (tn_split_sizes_at)("", p->x, p->sizes, p->dim, out, cap);
}

static int64_t cut_chunk(const pieces *p, tn_tensor **out, size_t cap)
{
    return (tn_chunk_at)("", p->x, p->n, p->dim, out, cap);
}

static int64_t cut_unbind(const pieces *p, tn_tensor **out, size_t cap)
{
    return (tn_unbind_at)("", p->x, p->dim, out, cap);
}

PyObject *run_split(PyObject *self, py_value *v, int which)
{
    (void)self, (void)which;
    pieces p = {v[0].s.v.t, v[1].s.v.i, v[3].s.v.i, py_ints(&v[2]), NULL};
    return tuple_of(v[2].given ? cut_sizes : cut_split, &p);
}

PyObject *run_chunk(PyObject *self, py_value *v, int which)
{
    (void)self, (void)which;
    pieces p = {v[0].s.v.t, v[1].s.v.i, v[2].s.v.i, {NULL, 0}, NULL};
    return tuple_of(cut_chunk, &p);
}

PyObject *run_unbind(PyObject *self, py_value *v, int which)
{
    (void)self, (void)which;
    pieces p = {v[0].s.v.t, 0, v[1].s.v.i, {NULL, 0}, NULL};
    return tuple_of(cut_unbind, &p);
}

static int64_t cut_sections(const pieces *p, tn_tensor **out, size_t cap)
{
    return tn_tensor_split_at("", p->x, p->n, p->dim, out, cap);
}

static int64_t cut_indices(const pieces *p, tn_tensor **out, size_t cap)
{
    return tn_tensor_split_indices_at("", p->x, p->sizes, p->dim, out, cap);
}

static int64_t cut_by(const pieces *p, tn_tensor **out, size_t cap)
{
    return tn_tensor_split_by_at("", p->x, p->by, p->dim, out, cap);
}

PyObject *run_tensor_split(PyObject *self, py_value *v, int which)
{
    static cut *const form[] = {cut_indices, cut_by, cut_sections};
    (void)self;
    pieces p = {v[0].s.v.t, v[1].s.v.i, v[3].s.v.i, py_ints(&v[2]), v[4].s.v.t};
    return tuple_of(form[which], &p);
}

/* ---- in equal parts, along the dimension that the name says ---- */

/* slots: input sections indices */
static PyObject *split_along(const char *name, int32_t least, int64_t dim, const py_value *v, int which)
{
    tn_tensor *x = v[0].s.v.t;
    const int32_t ndim = tn_tensor_ndim(x);
    if (ndim < least)
        return PyErr_Format(
            PyExc_RuntimeError,
            "torch.%s requires a tensor with at least %d dimension, but got a tensor with %d dimensions!", name,
            (int)least, (int)ndim);
    pieces p = {x, v[1].s.v.i, ndim == 1 ? 0 : dim, py_ints(&v[2]), NULL};
    if (which)
        return tuple_of(cut_indices, &p);
    const int64_t size = tn_tensor_size(x, p.dim);
    if (p.n == 0 || size % p.n)
        return PyErr_Format(
            PyExc_RuntimeError,
            "torch.%s attempted to split along dimension %lld, but the size of the dimension %lld is not "
            "divisible by the split_size %lld!",
            name, (long long)p.dim, (long long)size, (long long)p.n);
    return tuple_of(cut_sections, &p);
}

PyObject *run_hsplit(PyObject *self, py_value *v, int which)
{
    (void)self;
    return split_along("hsplit", 1, 1, v, which);
}

PyObject *run_vsplit(PyObject *self, py_value *v, int which)
{
    (void)self;
    return split_along("vsplit", 2, 0, v, which);
}

PyObject *run_dsplit(PyObject *self, py_value *v, int which)
{
    (void)self;
    return split_along("dsplit", 3, 2, v, which);
}

/* ---- pieces that are not views of one kind: copies, and slices that may be written in place ---- */

/* Pieces, each of them made into something else, which it is released for. */
static int64_t made_of(int64_t n, tn_tensor **out, tn_tensor *(*make)(const char *site, tn_tensor *x))
{
    int64_t made = 0;
    for (int64_t i = 0; out && i < n; i++) {
        tn_tensor *piece = out[i];
        made += (out[i] = make("", piece)) != NULL;
        tn_release(piece);
    }
    for (int64_t i = 0; out && made < n && i < n; i++)
        tn_release(out[i]);
    return out && made < n ? 0 : n;
}

static int64_t copy_split(const pieces *p, tn_tensor **out, size_t cap)
{
    return made_of(cut_split(p, out, cap), out, tn_alias_copy_at);
}

static int64_t copy_sizes(const pieces *p, tn_tensor **out, size_t cap)
{
    return made_of(cut_sizes(p, out, cap), out, tn_alias_copy_at);
}

static int64_t copy_unbind(const pieces *p, tn_tensor **out, size_t cap)
{
    return made_of(cut_unbind(p, out, cap), out, tn_alias_copy_at);
}

/* The pieces that 'cut' would give, each as a slice of its own. */
static int64_t slices(cut *f, const pieces *p, tn_tensor **out, size_t cap)
{
    const int64_t n = f(p, out, cap);
    int64_t at = 0, given = 0;
    for (int64_t i = 0; out && i < n; i++) {
        const int64_t size = tn_tensor_size(out[i], p->dim);
        tn_release(out[i]);
        given += (out[i] = tn_narrow_at("", p->x, p->dim, at, size)) != NULL;
        at += size;
    }
    for (int64_t i = 0; out && given < n && i < n; i++)
        tn_release(out[i]);
    return out && given < n ? 0 : n;
}

static int64_t slice_split(const pieces *p, tn_tensor **out, size_t cap)
{
    return slices(cut_split, p, out, cap);
}

static int64_t slice_sizes(const pieces *p, tn_tensor **out, size_t cap)
{
    return slices(cut_sizes, p, out, cap);
}

static int64_t slice_chunk(const pieces *p, tn_tensor **out, size_t cap)
{
    return slices(cut_chunk, p, out, cap);
}

/* slots: input size sizes dim */
PyObject *run_split_copy(PyObject *self, py_value *v, int which)
{
    (void)self, (void)which;
    pieces p = {v[0].s.v.t, v[1].s.v.i, v[3].s.v.i, py_ints(&v[2]), NULL};
    return tuple_of(v[2].given ? copy_sizes : copy_split, &p);
}

PyObject *run_unsafe_split(PyObject *self, py_value *v, int which)
{
    (void)self, (void)which;
    pieces p = {v[0].s.v.t, v[1].s.v.i, v[3].s.v.i, py_ints(&v[2]), NULL};
    return tuple_of(v[2].given ? slice_sizes : slice_split, &p);
}

PyObject *run_unsafe_chunk(PyObject *self, py_value *v, int which)
{
    (void)self, (void)which;
    pieces p = {v[0].s.v.t, v[1].s.v.i, v[2].s.v.i, {NULL, 0}, NULL};
    return tuple_of(slice_chunk, &p);
}

PyObject *run_unbind_copy(PyObject *self, py_value *v, int which)
{
    (void)self, (void)which;
    pieces p = {v[0].s.v.t, 0, v[1].s.v.i, {NULL, 0}, NULL};
    return tuple_of(copy_unbind, &p);
}

/* ---- where ---- */

static int64_t cut_nonzero(const pieces *p, tn_tensor **out, size_t cap)
{
    return tn_nonzero_columns_at("", p->x, out, cap);
}

static PyObject *nonzero_tuple(tn_tensor *x)
{
    return tuple_of(cut_nonzero, &(pieces){.x = x});
}

PyObject *run_nonzero(PyObject *self, py_value *v, int which)
{
    (void)self, (void)which;
    if (v[1].s.v.i && v[2].given) /* 'out', behind the slots */
        return PyErr_Format(PyExc_RuntimeError, "nonzero does not support the out kwarg when as_tuple is True");
    return v[1].s.v.i ? nonzero_tuple(v[0].s.v.t) : py_wrap(tn_nonzero_at("", v[0].s.v.t));
}

PyObject *run_where(PyObject *self, py_value *v, int which)
{
    (void)self;
    return which ? nonzero_tuple(v[0].s.v.t) : py_wrap((tn_where_at)("", v[0].s, v[1].s, v[2].s));
}

PyObject *run_where_method(PyObject *self, py_value *v, int which)
{
    (void)self, (void)which;
    return py_wrap((tn_where_at)("", v[1].s, v[0].s, v[2].s));
}
