/* Functions of the family arrange that are composed of others. */
#include "autograd/functions.h"
#include <math.h>
#include <string.h>

/* ---- repeating ---- */

/* 'times' copies along one dimension: of each index ('each'), or of them all in a row. */
static tn_tensor *repeat_along(tn_tensor *x, int32_t dim, int64_t times, bool each)
{
    if (!x || times == 1)
        return x;
    int64_t shape[TN_MAX_DIMS], outer = 1, inner = 1;
    if (__builtin_mul_overflow(x->numel, times, &(int64_t){0}) ||
        __builtin_mul_overflow(x->shape[dim], times, &(int64_t){0}))
        return tn__fail(TN_EINVAL, "Storage size calculation overflowed: %lld copies of %lld elements",
                        (long long)times, (long long)x->numel);
    for (int32_t d = 0; d < x->ndim; d++) {
        shape[d] = x->shape[d] * (d == dim ? times : 1);
        outer *= d < dim || (each && d == dim) ? x->shape[d] : 1;
        inner *= d > dim || (!each && d == dim) ? x->shape[d] : 1;
    }
    tn_tensor *wide = tn_expand(tn_reshape(x, TN_SHAPE(outer, 1, inner)), TN_SHAPE(outer, times, inner));
    return tn_reshape(tn_clone(wide),
                      tn_dims_of(shape, x->ndim)); /* of one element the expanded view would do: no copy */
}

/* What was repeated is a copy, however often and even if there is nothing of it. */
static tn_tensor *copied(tn_tensor *out, const tn_tensor *x)
{
    return out && out->storage && out->storage == x->storage ? tn_clone_in(out, TN_CONTIGUOUS_FORMAT) : out;
}

/* x, of as many dimensions as are repeated, so often along each: one copy, where tensors can have as many dimensions as that
 * takes to show. NULL: they cannot, or an error. */
static tn_tensor *repeat_at_once(tn_tensor *x, const tn_dims *repeats)
{
    int64_t own[TN_MAX_DIMS], wide[TN_MAX_DIMS], shape[TN_MAX_DIMS], total;
    int32_t n = 0;
    for (int32_t d = 0; d < x->ndim; d++) {
        const int64_t times = repeats->dim[d];
        if (n + (times == 1 ? 1 : 2) > TN_MAX_DIMS)
            return NULL;
        if (times != 1) {
            own[n] = 1;
            wide[n++] = times;
        }
        own[n] = wide[n] = x->shape[d];
        n++;
        if (__builtin_mul_overflow(x->shape[d], times, &shape[d]))
            return NULL;
    }
    if (!tn__shape_numel(wide, n, tn__dtype_size(x->dtype), &total))
        return NULL;
    tn_tensor *shown = tn_expand(tn_reshape(x, tn_dims_of(own, n)), tn_dims_of(wide, n));
    return shown ? tn__no_view(tn_view(tn_clone_in(shown, TN_CONTIGUOUS_FORMAT), tn_dims_of(shape, x->ndim))) : NULL;
}

tn_tensor *tn__fn_repeat(tn_tensor *x, const tn_dims *repeats)
{
    int64_t shape[TN_MAX_DIMS];
    if (!tn__usable("repeat", x) || !tn__dims_fit("repeat", repeats))
        return NULL;
    const int32_t n = repeats->ndim, more = n - x->ndim;
    if (more < 0)
        return tn__fail(TN_EINVAL,
                        "Number of dimensions of repeat dims can not be smaller than number of dimensions of "
                        "tensor");
    for (int32_t d = 0; d < n; d++) {
        if (repeats->dim[d] < 0)
            return tn__fail(TN_EINVAL, "Trying to create tensor with negative dimension %lld",
                            (long long)repeats->dim[d]);
        shape[d] = d < more ? 1 : x->shape[d - more];
    }
    tn_tensor *out = tn_reshape(x, tn_dims_of(shape, n)), *once = out ? repeat_at_once(out, repeats) : NULL;
    if (once || !out)
        return once;
    for (int32_t d = n - 1; d >= 0; d--)
        out = repeat_along(out, d, repeats->dim[d], false);
    return tn__no_view(copied(out, x));
}

tn_tensor *tn__fn_tile(tn_tensor *x, const tn_dims *dims)
{
    int64_t repeats[TN_MAX_DIMS];
    if (!tn__usable("tile", x) || !tn__dims_fit("tile", dims))
        return NULL;
    const int32_t n = TN_MAX(dims->ndim, x->ndim);
    for (int32_t d = 0; d < n; d++)
        repeats[d] = d < n - dims->ndim ? 1 : dims->dim[d - (n - dims->ndim)];
    return tn__fn_repeat(x, TN__DIMS(tn_dims_of(repeats, n)));
}

/* The same on the CPU, one after the other. */
static tn_tensor *places_of_counts(tn_tensor *repeats, int64_t total)
{
    tn_tensor *places = tn_empty(TN_SHAPE(total), .dtype = TN_I64, .device = repeats->device);
    tn_tensor *dense = tn_contiguous(repeats);
    int64_t *to = places && total ? tn_data(places) : NULL;
    const int64_t *times = dense ? tn_data(dense) : NULL;
    for (int64_t i = 0; to && times && i < dense->numel; i++)
        for (int64_t k = 0; k < times[i]; k++)
            *to++ = i;
    return places && dense ? places : NULL;
}

/* Index i as often as repeats[i] says: at each place, how many have begun by then. */
static tn_tensor *repeated_indices(tn_tensor *repeats)
{
    if (!repeats || repeats->numel == 0)
        return tn_zeros(TN_SHAPE(0), .dtype = TN_I64, .device = repeats ? repeats->device : TN_CPU);
    tn_tensor *wide = tn_to(repeats, .dtype = TN_I64), *ends = tn_cumsum(wide, 0), *least = tn_min(wide),
              *last = tn_select(ends, 0, -1);
    if (!least || !last)
        return NULL;
    if (tn_item(least) < 0)
        return tn__fail(TN_EINVAL, "repeats can not be negative");
    const double total = tn_item(last);
    if (isnan(total))
        return NULL;
    if (total < 0 || total > 0x1p53) /* more than any memory holds, or a sum that wrapped */
        return tn__fail(TN_EINVAL, "repeats sum to more than a tensor can hold");
    if (repeats->device.type == TN_DEVICE_CPU)
        return places_of_counts(wide, (int64_t)total);
    tn_tensor *begun = tn_zeros(TN_SHAPE((int64_t)total + 1), .dtype = TN_I64, .device = repeats->device);
    begun = tn_index_add(begun, 0, tn_sub(ends, wide), tn_ones_like(wide));
    return tn_sub(tn_slice(tn_cumsum(begun, 0), 0, 0, (int64_t)total, 1), 1);
}

/* dim: NULL for x as one row. */
static tn_tensor *repeat_each(tn_tensor *x, tn_scalar repeats, const int64_t *dim)
{
    int32_t d = 0;
    const tn_tensor *list = tn__operand(&repeats);
    if (!tn__usable("repeat_interleave", x))
        return NULL;
    if (repeats.kind == TN_SCALAR_NONE || (repeats.kind == TN_SCALAR_TENSOR && !list))
        return tn__fail(TN_ETYPE, "repeat_interleave: repeats must be a number or a tensor");
    if (!dim)
        x = tn_reshape(x, TN_SHAPE(-1));
    if (!x || (dim && tn__wrap_own_dim(*dim, x->ndim, &d)))
        return NULL;
    if (!list) {
        const int64_t times = tn__scalar_int(&repeats);
        if (times < 0)
            return tn__fail(TN_EINVAL, "Repeats must be non-negative");
        return copied(repeat_along(x, d, times, true), x);
    }
    if (list->dtype == TN_BOOL || tn__dtype_is_float(list->dtype)) {
        tn__no_dtype("repeat_interleave_cpu", list->dtype);
        return NULL;
    }
    if (list->ndim > 1 || (list->numel != 1 && list->numel != x->shape[d]))
        return tn__fail(TN_EINVAL,
                        "repeats must have the same size as input along dim, but got repeats.size(0) = %lld and "
                        "input.size(%d) = %lld",
                        (long long)list->numel, (int)d, (long long)x->shape[d]);
    return tn_index_select(x, d, repeated_indices(tn_expand(repeats.v.t, TN_SHAPE(x->shape[d]))));
}

/* r, if it is as long as was said. By a list PyTorch makes room for as many as were said. */
static tn_tensor *of_size(tn_tensor *r, const int64_t *dim, tn_scalar said, bool by_list)
{
    if (!r || !said.kind)
        return r;
    const int64_t want = tn__scalar_int(&said), is = r->ndim ? tn_tensor_size(r, dim ? *dim : 0) : 1;
    if (want == is)
        return r;
    if (!by_list)
        return tn__fail(TN_EINVAL, "repeat_interleave: Invalid output_size, expected %lld but got %lld", (long long)is,
                        (long long)want);
    if (want < 0)
        return tn__fail(TN_EINVAL, "Trying to create tensor with negative dimension %lld: [%lld]", (long long)want,
                        (long long)want);
    return tn__fail(TN_EINVAL, "allocated size does not match required size");
}

tn_tensor *tn__fn_repeat_interleave(tn_tensor *x, tn_scalar repeats, const tn_repeat_interleave_options *o)
{
    const int64_t *dim = o->dim_given ? &o->dim : NULL;
    return of_size(repeat_each(x, repeats, dim), dim, o->output_size, tn__operand(&repeats));
}

tn_tensor *tn__fn_repeated_places(tn_tensor *repeats, const tn_repeated_places_options *o)
{
    if (!tn__usable("repeat_interleave", repeats))
        return NULL;
    if (repeats->dtype == TN_BOOL || tn__dtype_is_float(repeats->dtype)) {
        tn__no_dtype("repeat_interleave_cpu", repeats->dtype);
        return NULL;
    }
    if (repeats->ndim != 1)
        return tn__fail(TN_EINVAL, "repeat_interleave only accept 1D vector as repeat");
    tn_tensor *places = tn_arange(0, repeats->numel, 1, .dtype = repeats->dtype, .device = repeats->device);
    return of_size(repeat_each(places, tn_scalar_t(repeats), NULL), NULL, o->output_size, true);
}

/* ---- moving ---- */

/* x, rolled along one dimension after the other. */
static tn_tensor *rolled(tn_tensor *x, const tn__dims *shifts, const tn__dims *dims)
{
    for (int32_t i = 0; i < shifts->n && x; i++) {
        int32_t d;
        if (x->numel == 0) { /* as PyTorch, which looks at no dimension then */
            x = tn_clone(x);
            continue;
        }
        if (tn__wrap_own_dim(dims->d[i], x->ndim, &d))
            return NULL;
        const int64_t n = x->shape[d], by = (shifts->d[i] % n + n) % n;
        x = by == 0 ? tn_clone_in(x, TN_CONTIGUOUS_FORMAT)
                    : tn_cat(TN_TENSORS(tn_slice(x, d, n - by, n, 1), tn_slice(x, d, 0, n - by, 1)), d);
    }
    return x;
}

tn_tensor *tn__fn_roll(const tn_scalar *in, tn__roll_params *p)
{
    tn_tensor *x = in[0].v.t;
    if (p->shifts.n == 0)
        return tn__fail(TN_EINVAL, "`shifts` required");
    if (p->dim.n == 0) {
        if (p->shifts.n != 1)
            return tn__fail(TN_EINVAL, "shifts and dimensions must align. shifts: %d, dims:0", (int)p->shifts.n);
        tn_tensor *row = rolled(tn_reshape(x, TN_SHAPE(-1)), &p->shifts, &(tn__dims){.n = 1});
        return tn__no_view(tn_reshape(row, tn__shape_of(x)));
    }
    if (p->dim.n != p->shifts.n)
        return tn__fail(TN_EINVAL, "shifts and dimensions must align. shifts: %d, dims:%d", (int)p->shifts.n,
                        (int)p->dim.n);
    return rolled(x, &p->shifts, &p->dim);
}
