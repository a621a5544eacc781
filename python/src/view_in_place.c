/* view_in_place.c: x.t_() and the like: x shows its elements as a view of it would. */
#include "functions.h"

/* May x show its elements otherwise? That is refused before the view is looked at. */
static bool may_change(tn_tensor *x)
{
    return !tn_tensor_check_inplace(x, false) || py_raise();
}

/* x, which shows what the view shows; the view is taken. */
static PyObject *show(tn_tensor *x, tn_tensor *view)
{
    const bool done = view && !tn_tensor_set_view(x, view);
    tn_release(view);
    return done ? py_borrowed(x) : py_raise();
}

/* slots: input dim */
PyObject *run_squeeze_(PyObject *self, py_value *v, int which)
{
    const tn_squeeze_options o = {.struct_size = sizeof o, .site = "", .dims = py_dims(&v[1])};
    tn_tensor *x = v[0].s.v.t;
    (void)self, (void)which;
    return may_change(x) ? show(x, (tn_squeeze_opt)(x, &o)) : NULL;
}

PyObject *run_unsqueeze_(PyObject *self, py_value *v, int which)
{
    tn_tensor *x = v[0].s.v.t;
    (void)self, (void)which;
    return may_change(x) ? show(x, (tn_unsqueeze_at)("", x, v[1].s.v.i)) : NULL;
}

PyObject *run_t_(PyObject *self, py_value *v, int which)
{
    tn_tensor *x = v[0].s.v.t;
    (void)self, (void)which;
    if (!may_change(x))
        return NULL;
    if (tn_tensor_ndim(x) > 2)
        return PyErr_Format(PyExc_RuntimeError, "t_() expects a tensor with <= 2 dimensions, but self is %dD",
                            (int)tn_tensor_ndim(x));
    return show(x, (tn_t_at)("", x));
}

/* slots: input dim0 dim1 */
PyObject *run_transpose_(PyObject *self, py_value *v, int which)
{
    tn_tensor *x = v[0].s.v.t;
    (void)self, (void)which;
    return may_change(x) ? show(x, (tn_transpose_at)("", x, v[1].s.v.i, v[2].s.v.i)) : NULL;
}

/* slots: input size stride storage_offset */
PyObject *run_as_strided_(PyObject *self, py_value *v, int which)
{
    (void)self, (void)which;
    return may_change(v[0].s.v.t) ? show(v[0].s.v.t, call_as_strided_at(v)) : NULL;
}

/* ---- resize_ ---- */

/* All elements of the memory that x shows a part of, in one dimension. */
static tn_tensor *all_memory(tn_tensor *x)
{
    int64_t bytes = 0, step = 1;
    (void)tn_tensor_storage(x, &bytes);
    const int64_t n = bytes / (int64_t)tn_dtype_size(tn_tensor_dtype(x));
    return (tn_as_strided_at)("", x, TN__DIMS(tn_dims_of(&n, 1)), TN__DIMS(tn_dims_of(&step, 1)), 0);
}

/* Longer memory, which begins with what x's holds. */
static tn_tensor *longer_memory(tn_tensor *x, int64_t n)
{
    const tn_options like = {
        .struct_size = sizeof like, .site = "", .dtype = tn_tensor_dtype(x), .device = tn_tensor_device(x)};
    const tn_copy__options plain = {.struct_size = sizeof plain, .site = ""};
    tn_tensor *memory = (tn_empty_opt)(TN__DIMS(tn_dims_of(&n, 1)), &like), *old = all_memory(x);
    tn_tensor *begin = memory && old ? tn_narrow_at("", memory, 0, 0, tn_tensor_numel(old)) : NULL;
    if (!begin || !(tn_copy__opt)(begin, old, &plain)) {
        tn_release(memory);
        memory = NULL;
    }
    tn_release(begin);
    tn_release(old);
    return memory;
}

/* In which order dimensions follow each other in memory, from the slowest: the format's. NULL, and an exception, where its rank
 * is another. */
static const int32_t *order_of(tn_memory_format format, int32_t ndim)
{
    static const int32_t orders[][TN_MAX_DIMS] = {{0, 1, 2, 3, 4, 5, 6, 7}, {0, 2, 3, 1}, {0, 2, 3, 4, 1}};
    const int which = format == TN_CHANNELS_LAST ? 1 : format == TN_CHANNELS_LAST_3D ? 2 : 0;
    if (!which || ndim == 3 + which)
        return orders[which];
    PyErr_Format(PyExc_RuntimeError, "required rank %d tensor to use channels_last%s format", 3 + which,
                 which == 1 ? "" : "_3d");
    return NULL;
}

static PyObject *resize(tn_tensor *x, tn_dims size, tn_memory_format format)
{
    int64_t stride[TN_MAX_DIMS], n = 1, bytes = 0;
    const int32_t *order = order_of(format, size.ndim);
    if (!order)
        return NULL;
    if (tn_tensor_requires_grad(x))
        return PyErr_Format(PyExc_RuntimeError, "cannot resize variables that require grad");
    if (py_same_dims(tn_tensor_shape(x), size) && !format)
        return py_borrowed(x);
    for (int32_t i = size.ndim - 1; i >= 0; i--) {
        const int32_t d = order[i];
        stride[d] = n;
        if (size.dim[d] < 0 || __builtin_mul_overflow(n, size.dim[d] > 1 ? size.dim[d] : 1, &n))
            return PyErr_Format(PyExc_RuntimeError, "numel: integer multiplication overflow");
    }
    for (int32_t d = 0; d < size.ndim; d++)
        n = size.dim[d] ? n : 0;
    const int64_t at = tn_tensor_storage_offset(x);
    (void)tn_tensor_storage(x, &bytes);
    tn_tensor *bare = tn_tensor_data(x), *memory = NULL;
    if (bare && n && (at + n) * (int64_t)tn_dtype_size(tn_tensor_dtype(x)) > bytes)
        memory = longer_memory(bare, at + n);
    else
        memory = bare ? tn_retain(bare) : NULL;
    tn_tensor *view =
        memory ? (tn_as_strided_at)("", memory, TN__DIMS(size), TN__DIMS(tn_dims_of(stride, size.ndim)), at) : NULL;
    tn_tensor *alone = view ? tn_detach_at("", view) : NULL;
    const bool done = alone && !tn_tensor_set_data(x, alone);
    tn_release(alone);
    tn_release(view);
    tn_release(memory);
    tn_release(bare);
    return done ? py_borrowed(x) : py_raise();
}

/* slots: input size memory_format */
PyObject *run_resize_(PyObject *self, py_value *v, int which)
{
    (void)self, (void)which;
    if (v[2].s.v.i == TN_PRESERVE_FORMAT)
        return PyErr_Format(PyExc_RuntimeError, "Unsupported memory formatPreserve");
    return resize(v[0].s.v.t, py_dims(&v[1]), (tn_memory_format)v[2].s.v.i);
}

/* slots: input other memory_format */
PyObject *run_resize_as_(PyObject *self, py_value *v, int which)
{
    (void)self, (void)which;
    const tn_tensor *other = v[1].s.v.t;
    tn_memory_format format = (tn_memory_format)v[2].s.v.i;
    if (format == TN_PRESERVE_FORMAT)
        format = tn_tensor_memory_format(other);
    return resize(v[0].s.v.t, tn_tensor_shape(other), format);
}
