/* functions_forms.c: functions that take what the library's own do not: a number for a tensor, a tensor for a
 * number or a shape, a dtype that must be the tensor's. */
#include "functions.h"
#include "out.h"

#include <stdio.h>

tn_tensor *call_copy_any(const py_value *v)
{
    tn_tensor *x = v[0].s.v.t;
    tn_copy__options o = {.struct_size = sizeof o, .site = "", .non_blocking = v[2].s.v.i != 0};
    if (v[1].s.kind == TN_SCALAR_TENSOR)
        return (tn_copy__opt)(x, v[1].s.v.t, &o);
    tn_options like = {.struct_size = sizeof like, .site = "", .device = tn_tensor_device(x)};
    like.dtype = v[1].s.kind == TN_SCALAR_FLOAT ? TN_F64 : v[1].s.kind == TN_SCALAR_BOOL ? TN_BOOL : TN_I64;
    tn_tensor *src = (tn_full_opt)(TN__DIMS((tn_dims){0}), v[1].s, &like);
    tn_tensor *r = src ? (tn_copy__opt)(x, src, &o) : NULL;
    tn_release(src);
    return r;
}

/* The value of a tensor of no dimensions, which is waited for without the GIL. */
static tn_scalar value_of(tn_tensor *t)
{
    const bool floating = tn_dtype_is_floating_point(tn_tensor_dtype(t));
    return floating ? tn_scalar_f(tn_item(t)) : tn_scalar_i(tn_item_int(t));
}

tn_tensor *call_narrow_any(const py_value *v)
{
    tn_scalar start = v[2].s;
    if (start.kind == TN_SCALAR_TENSOR) {
        const tn_dtype dtype = tn_tensor_dtype(start.v.t);
        if (tn_tensor_ndim(start.v.t) || tn_dtype_is_floating_point(dtype) || dtype == TN_BOOL) {
            PyGILState_STATE gil = PyGILState_Ensure();
            PyErr_SetString(PyExc_RuntimeError, "start must be an 0-dim integral Tensor.");
            PyGILState_Release(gil);
            return NULL;
        }
        tn_error_clear();
        start = value_of(start.v.t);
        if (tn_error_code())
            return NULL;
    }
    return (tn_narrow_at)("", v[0].s.v.t, v[1].s.v.i, start.v.i, v[3].s.v.i);
}

/* Which of the ends are tensors with dimensions is said as PyTorch does; tensors become numbers. */
static bool ends_are_values(const char *name, const py_value *v, tn_scalar *end)
{
    char text[160];
    bool fit = true;
    snprintf(text, sizeof text, "%s only supports 0-dimensional start and end tensors, but got", name);
    for (int i = 0, said = 0; i < 2; i++)
        if (v[i].s.kind == TN_SCALAR_TENSOR) {
            const int n = tn_tensor_ndim(v[i].s.v.t);
            const size_t at = strlen(text);
            snprintf(text + at, sizeof text - at, "%s %s with %d dimension(s)", said++ ? " and" : "",
                     i ? "end" : "start", n);
            fit &= n == 0;
        }
    if (!fit) {
        PyGILState_STATE gil = PyGILState_Ensure();
        PyErr_Format(PyExc_RuntimeError, "%s.", text);
        PyGILState_Release(gil);
        return false;
    }
    tn_error_clear();
    for (int i = 0; i < 2; i++)
        end[i] = v[i].s.kind == TN_SCALAR_TENSOR ? value_of(v[i].s.v.t) : v[i].s;
    return !tn_error_code();
}

/* What stands behind a factory's own values, from that slot on. */
static tn_options made_as(const py_value *v)
{
    tn_options o = {.struct_size = sizeof o, .site = "", .device = v[0].device, .dtype = v[1].dtype};
    o.requires_grad = v[2].s.v.i != 0;
    o.pin_memory = v[3].s.v.i != 0;
    return o;
}

/* slots: start end steps device dtype requires_grad pin_memory */
tn_tensor *call_linspace_any(const py_value *v)
{
    tn_scalar end[2];
    if (!ends_are_values("linspace", v, end))
        return NULL;
    const tn_options o = made_as(v + 3);
    return (tn_linspace_opt)(end[0], end[1], v[2].s.v.i, &o);
}

/* slots: start end steps base device dtype requires_grad pin_memory */
tn_tensor *call_logspace_any(const py_value *v)
{
    tn_scalar end[2];
    if (!ends_are_values("logspace", v, end))
        return NULL;
    const tn_options o = made_as(v + 4);
    return (tn_logspace_opt)(end[0], end[1], v[2].s.v.i, tn_scalar_f(v[3].s.v.f), &o);
}

/* slots: y dim x dx. trapezoid refuses a bool, its older name takes it as a number. */
tn_tensor *call_trapz_any(const py_value *v)
{
    tn_trapezoid_options o = {.struct_size = sizeof o, .site = "", .dx = v[3].s};
    o.x = v[2].given ? v[2].s.v.t : NULL;
    if (o.dx.kind == TN_SCALAR_BOOL)
        o.dx = tn_scalar_f((double)v[3].s.v.i);
    return (tn_trapezoid_opt)(v[0].s.v.t, v[1].s.v.i, &o);
}

/* slots: y dim x dx */
tn_tensor *call_cumulative_trapezoid_any(const py_value *v)
{
    tn_cumulative_trapezoid_options o = {.struct_size = sizeof o, .site = "", .dx = v[3].s};
    o.x = v[2].given ? v[2].s.v.t : NULL;
    return (tn_cumulative_trapezoid_opt)(v[0].s.v.t, v[1].s.v.i, &o);
}

/* slots: input q dim keepdim interpolation. A number q is read as a float. */
static tn_scalar part_of(const py_value *q)
{
    return q->s.kind == TN_SCALAR_TENSOR ? q->s : tn_scalar_f(q->s.v.f);
}

tn_tensor *call_quantile_any(const py_value *v)
{
    tn_quantile_options o = {
        .struct_size = sizeof o, .site = "", .keepdim = v[3].s.v.i != 0, .interpolation = v[4].u.text};
    o.dim_given = py_one_dim(&v[2], &o.dim);
    return (tn_quantile_opt)(v[0].s.v.t, part_of(&v[1]), &o);
}

tn_tensor *call_nanquantile_any(const py_value *v)
{
    tn_nanquantile_options o = {
        .struct_size = sizeof o, .site = "", .keepdim = v[3].s.v.i != 0, .interpolation = v[4].u.text};
    o.dim_given = py_one_dim(&v[2], &o.dim);
    return (tn_nanquantile_opt)(v[0].s.v.t, part_of(&v[1]), &o);
}

/* In place a running sum is of the tensor's own dtype, which no other may be asked for. */
static tn_tensor *running(const py_value *v, tn_tensor *(*f)(tn_tensor *x, int64_t dim, tn_dtype dtype))
{
    const tn_dtype own = tn_tensor_dtype(v[0].s.v.t), asked = v[2].dtype ? v[2].dtype : own;
    tn_tensor *r = f(v[0].s.v.t, v[1].s.v.i, own == TN_BOOL ? asked : own); /* what else is wrong is said first */
    if (!r || asked == own)
        return r;
    PyGILState_STATE gil = PyGILState_Ensure();
    PyErr_Format(PyExc_RuntimeError, "Bad in-place call: input tensor dtype %s and output tensor dtype %s should match",
                 py_c_type_name(own), py_c_type_name(v[2].dtype));
    PyGILState_Release(gil);
    tn_release(r);
    return NULL;
}

static tn_tensor *running_sum(tn_tensor *x, int64_t dim, tn_dtype dtype)
{
    tn_cumsum_options o = {.struct_size = sizeof o, .site = "", .dtype = dtype};
    return (tn_cumsum_opt)(x, dim, &o);
}

static tn_tensor *running_product(tn_tensor *x, int64_t dim, tn_dtype dtype)
{
    tn_cumprod_options o = {.struct_size = sizeof o, .site = "", .dtype = dtype};
    return (tn_cumprod_opt)(x, dim, &o);
}

tn_tensor *call_cumsum_own(const py_value *v)
{
    return running(v, running_sum);
}

tn_tensor *call_cumprod_own(const py_value *v)
{
    return running(v, running_product);
}

tn_tensor *call_reshape_as(const py_value *v)
{
    return (tn_reshape_at)("", v[0].s.v.t, TN__DIMS(tn_tensor_shape(v[1].s.v.t)));
}

tn_tensor *call_flatten_all(const py_value *v)
{
    tn_tensor *whole = (tn_contiguous_at)("", v[0].s.v.t); /* reshape would keep a view of every second element one */
    tn_tensor *flat = whole ? (tn_reshape_at)("", whole, TN__DIMS(TN_DIMS(-1))) : NULL;
    tn_release(whole);
    return flat;
}

tn_tensor *call_as_strided_at(const py_value *v)
{
    int64_t offset = v[3].given ? v[3].s.v.i : tn_tensor_storage_offset(v[0].s.v.t);
    return (tn_as_strided_at)("", v[0].s.v.t, TN__DIMS(py_dims(&v[1])), TN__DIMS(py_dims(&v[2])), offset);
}

static int64_t offset_of(const py_value *offset, const tn_tensor *x)
{
    return offset->given ? offset->s.v.i : tn_tensor_storage_offset(x);
}

/* slots: input size stride storage_offset */
tn_tensor *call_as_strided_copy_at(const py_value *v)
{
    tn_tensor *x = v[0].s.v.t;
    return tn_as_strided_copy_at("", x, TN__DIMS(py_dims(&v[1])), TN__DIMS(py_dims(&v[2])), offset_of(&v[3], x));
}

/* slots: input src size stride storage_offset */
tn_tensor *call_as_strided_scatter_at(const py_value *v)
{
    tn_tensor *x = v[0].s.v.t;
    return tn_as_strided_scatter_at("", x, v[1].s.v.t, TN__DIMS(py_dims(&v[2])), TN__DIMS(py_dims(&v[3])),
                                    offset_of(&v[4], x));
}

/* Bounds of a slice that are not said are those of the dimension. slots: from 'start' on: start end step */
static int64_t start_of(const py_value *v)
{
    return v[0].given ? v[0].s.v.i : 0;
}

static int64_t end_of(const py_value *v)
{
    return v[1].given ? v[1].s.v.i : INT64_MAX;
}

/* slots: input src dim start end step */
tn_tensor *call_slice_scatter_at(const py_value *v)
{
    return tn_slice_scatter_at("", v[0].s.v.t, v[1].s.v.t, v[2].s.v.i, start_of(v + 3), end_of(v + 3), v[5].s.v.i);
}

/* slots: input dim start end step */
tn_tensor *call_slice_copy_at(const py_value *v)
{
    return tn_slice_copy_at("", v[0].s.v.t, v[1].s.v.i, start_of(v + 2), end_of(v + 2), v[4].s.v.i);
}

/* slots: input shape dtype */
tn_tensor *call_view_copy_any(const py_value *v)
{
    if (!v[2].given)
        return tn_view_copy_at("", v[0].s.v.t, TN__DIMS(py_dims(&v[1])));
    tn_tensor *view = (tn_view_dtype_at)("", v[0].s.v.t, v[2].dtype);
    tn_tensor *copy = view ? tn_alias_copy_at("", view) : NULL;
    tn_release(view);
    return copy;
}

/* slots: input index padding_idx scale_grad_by_freq */
tn_tensor *call_embedding_of(const py_value *v)
{
    const tn_embedding_options o = {.struct_size = sizeof o,
                                    .site = "",
                                    .padding_idx = v[2].s.v.i < 0 ? tn_scalar_none() : tn_scalar_i(v[2].s.v.i),
                                    .scale_grad_by_freq = v[3].s.v.i != 0};
    return (tn_embedding_opt)(v[0].s.v.t, v[1].s.v.t, &o);
}

/* slots: start end step device dtype requires_grad pin_memory */
tn_tensor *call_range_warned(const py_value *v)
{
    PyGILState_STATE gil = PyGILState_Ensure();
    const int status =
        PyErr_WarnEx(PyExc_UserWarning,
                     "torch.range is deprecated and will be removed in a future release because its behavior "
                     "is inconsistent with Python's range builtin. Instead, use torch.arange, which produces "
                     "values in [start, end).",
                     1);
    PyGILState_Release(gil);
    if (status)
        return NULL;
    const tn_options o = made_as(v + 3);
    return (tn_range_opt)(v[0].s, v[1].s, v[2].s, &o);
}
