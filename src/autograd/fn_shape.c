/* Functions that repeat, move and combine elements, composed of views and copies. */
#include "autograd/functions.h"
#include "op/infer.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <tenon/dtype.h>

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
                      tn__dims_from(shape, x->ndim)); /* of one element the expanded view would do: no copy */
}

/* What was repeated is a copy, however often and even if there is nothing of it. */
static tn_tensor *copied(tn_tensor *out, const tn_tensor *x)
{
    return out && out->storage && out->storage == x->storage ? tn__contiguous_copy(out) : out;
}

tn_tensor *tn__fn_repeat(tn_tensor *x, tn_dims repeats)
{
    int64_t shape[TN_MAX_DIMS];
    if (!tn__usable("repeat", x) || !tn__dims_fit("repeat", repeats))
        return NULL;
    const int32_t n = repeats.ndim, more = n - x->ndim;
    if (more < 0)
        return tn__fail(TN_EINVAL,
                        "Number of dimensions of repeat dims can not be smaller than number of dimensions of "
                        "tensor");
    for (int32_t d = 0; d < n; d++) {
        if (repeats.dim[d] < 0)
            return tn__fail(TN_EINVAL, "Trying to create tensor with negative dimension %lld",
                            (long long)repeats.dim[d]);
        shape[d] = d < more ? 1 : x->shape[d - more];
    }
    tn_tensor *out = tn_reshape(x, tn__dims_from(shape, n));
    for (int32_t d = n - 1; d >= 0; d--)
        out = repeat_along(out, d, repeats.dim[d], false);
    return tn__no_view(copied(out, x));
}

tn_tensor *tn__fn_tile(tn_tensor *x, tn_dims dims)
{
    int64_t repeats[TN_MAX_DIMS];
    if (!tn__usable("tile", x) || !tn__dims_fit("tile", dims))
        return NULL;
    const int32_t n = TN_MAX(dims.ndim, x->ndim);
    for (int32_t d = 0; d < n; d++)
        repeats[d] = d < n - dims.ndim ? 1 : dims.dim[d - (n - dims.ndim)];
    return tn__fn_repeat(x, tn__dims_from(repeats, n));
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
    tn_tensor *begun = tn_zeros(TN_SHAPE((int64_t)total + 1), .dtype = TN_I64, .device = repeats->device);
    begun = tn_index_add(begun, 0, tn_sub(ends, wide), tn_ones_like(wide));
    return tn_sub(tn_slice(tn_cumsum(begun, 0), 0, 0, (int64_t)total, 1), 1);
}

tn_tensor *tn__fn_repeat_interleave(tn_tensor *x, tn_scalar repeats, const tn_repeat_interleave_options *o)
{
    int32_t d = 0;
    const tn_tensor *list = tn__operand(&repeats);
    if (!tn__usable("repeat_interleave", x) || !tn__dims_fit("repeat_interleave", o->dim))
        return NULL;
    if (repeats.kind == TN_SCALAR_NONE || (repeats.kind == TN_SCALAR_TENSOR && !list))
        return tn__fail(TN_ETYPE, "repeat_interleave: repeats must be a number or a tensor");
    if (o->dim.ndim == 0)
        x = tn_reshape(x, TN_SHAPE(-1));
    if (!x || (o->dim.ndim && tn__wrap_own_dim(o->dim.dim[0], x->ndim, &d)))
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

/* ---- moving ---- */

tn_tensor *tn__fn_roll(tn_tensor *x, tn_dims shifts, const tn_roll_options *o)
{
    if (!tn__usable("roll", x) || !tn__dims_fit("roll", shifts) || !tn__dims_fit("roll", o->dim))
        return NULL;
    if (shifts.ndim == 0)
        return tn__fail(TN_EINVAL, "`shifts` required");
    if (o->dim.ndim == 0) {
        if (shifts.ndim != 1)
            return tn__fail(TN_EINVAL, "shifts and dimensions must align. shifts: %d, dims:0", (int)shifts.ndim);
        const tn_roll_options along = {.struct_size = sizeof along, .dim = TN_DIMS(0)};
        tn_tensor *rolled = tn__fn_roll(tn_reshape(x, TN_SHAPE(-1)), shifts, &along);
        return tn__no_view(tn_reshape(rolled, tn__dims_from(x->shape, x->ndim)));
    }
    if (o->dim.ndim != shifts.ndim)
        return tn__fail(TN_EINVAL, "shifts and dimensions must align. shifts: %d, dims:%d", (int)shifts.ndim,
                        (int)o->dim.ndim);
    for (int32_t i = 0; i < shifts.ndim && x; i++) {
        int32_t d;
        if (x->numel == 0) { /* as PyTorch, which looks at no dimension then */
            x = tn_clone(x);
            continue;
        }
        if (tn__wrap_own_dim(o->dim.dim[i], x->ndim, &d))
            return NULL;
        const int64_t n = x->shape[d], by = (shifts.dim[i] % n + n) % n;
        x = by == 0 ? tn__contiguous_copy(x)
                    : tn_cat(TN_TENSORS(tn_slice(x, d, n - by, n, 1), tn_slice(x, d, 0, n - by, 1)), d);
    }
    return x;
}

tn_tensor *tn__fn_movedim(tn_tensor *x, tn_dims source, tn_dims destination)
{
    int64_t order[TN_MAX_DIMS];
    uint32_t from = 0, to = 0;
    if (!tn__usable("movedim", x) || !tn__dims_fit("movedim", source) || !tn__dims_fit("movedim", destination))
        return NULL;
    if (source.ndim != destination.ndim)
        return tn__fail(TN_EINVAL,
                        "movedim: Invalid source or destination dims: source (%d dims) should contain the same "
                        "number of dims as destination (%d dims)",
                        (int)source.ndim, (int)destination.ndim);
    for (int32_t i = 0; i < source.ndim; i++) {
        int32_t s, d;
        if (tn__wrap_dim(source.dim[i], x->ndim, &s) || tn__wrap_dim(destination.dim[i], x->ndim, &d))
            return NULL;
        if (from >> s & 1 || to >> d & 1)
            return tn__fail(TN_EINVAL, "movedim: repeated dim in `%s`", from >> s & 1 ? "source" : "destination");
        from |= 1U << s;
        to |= 1U << d;
        order[d] = s;
    }
    if (x->ndim == 0)
        return tn_alias(x);
    for (int32_t d = 0, s = 0; d < x->ndim; d++) {
        if (to >> d & 1)
            continue;
        while (from >> s & 1)
            s++;
        order[d] = s++;
    }
    return tn_permute(x, tn__dims_from(order, x->ndim));
}

/* The sizes that a dimension d of n is cut into, a -1 among them made out. */
static bool part_sizes(tn_dims sizes, int32_t d, int64_t n, int64_t *part)
{
    int64_t known = 1;
    int32_t open = -1;
    for (int32_t i = 0; i < sizes.ndim; i++) {
        part[i] = sizes.dim[i];
        const char *wrong = part[i] < -1                 ? "invalid shape dimension"
                            : part[i] == -1 && open >= 0 ? "only one dimension can be inferred"
                                                         : NULL;
        if (wrong) {
            tn__error(TN_EINVAL, "unflatten got an unexpected error:\n%s", wrong);
            return false;
        }
        if (part[i] == -1)
            open = i;
        else if (__builtin_mul_overflow(known, part[i], &known))
            known = -1;
    }
    if (open >= 0 && known == 0 && n == 0) {
        tn__error(TN_EINVAL,
                  "unflatten got an unexpected error:\ncannot reshape tensor of 0 elements into shape %s "
                  "because the unspecified dimension size -1 can be any value and is ambiguous",
                  tn__shape_str(part, sizes.ndim).s);
        return false;
    }
    if (open >= 0 ? known <= 0 || n % known : known != n) {
        tn__error(TN_EINVAL,
                  "unflatten: Provided sizes %s don't multiply up to the size of dim %d (%lld) in the input "
                  "tensor",
                  tn__shape_str(part, sizes.ndim).s, (int)d, (long long)n);
        return false;
    }
    if (open >= 0)
        part[open] = n / known;
    return true;
}

tn_tensor *tn__fn_unflatten(tn_tensor *x, int64_t dim, tn_dims sizes)
{
    int64_t shape[TN_MAX_DIMS], part[TN_MAX_DIMS];
    int32_t d, n = 0;
    if (!tn__usable("unflatten", x) || !tn__dims_fit("unflatten", sizes))
        return NULL;
    if (sizes.ndim == 0)
        return tn__fail(TN_EINVAL, "unflatten: sizes must be non-empty");
    if (tn__wrap_dim(dim, x->ndim, &d))
        return NULL;
    if (x->ndim == 0)
        return tn__fail(TN_EINVAL,
                        "unflatten got an unexpected error:\nDimension specified as %d but tensor has no "
                        "dimensions",
                        (int)d);
    if (x->ndim - 1 + sizes.ndim > TN_MAX_DIMS)
        return tn__fail(TN_EINVAL, "unflatten: the result would have more than %d dimensions", TN_MAX_DIMS);
    if (!part_sizes(sizes, d, x->shape[d], part))
        return NULL;
    for (int32_t k = 0; k < x->ndim; k++) {
        if (k != d)
            shape[n++] = x->shape[k];
        for (int32_t i = 0; k == d && i < sizes.ndim; i++)
            shape[n++] = part[i];
    }
    return tn_reshape(x, tn__dims_from(shape, n));
}

/* ---- running product ---- */

/* In log2(n) steps: each multiplies by what lies as far behind as there are factors already. */
tn_tensor *tn__fn_cumprod(tn_tensor *x, int64_t dim, const tn_cumprod_options *o)
{
    int32_t d;
    if (!tn__usable("cumprod", x) || tn__wrap_dim(dim, x->ndim, &d))
        return NULL;
    const tn_dtype to = o->dtype ? o->dtype : tn__dtype_is_float(x->dtype) ? x->dtype : TN_I64;
    if (tn__check_derived(x, to) || !(x = tn_to(x, .dtype = to)))
        return NULL;
    if (to == TN_BOOL && x->ndim && x->numel) {
        tn__no_dtype(x->device.type == TN_DEVICE_CUDA ? "cumprod_cuda" : "cumprod_out_cpu", to);
        return NULL;
    }
    const int64_t n = x->ndim ? x->shape[d] : 1;
    if (n <= 1)
        return tn__contiguous_copy(x);
    for (int64_t step = 1; step < n && x; step *= 2)
        x = tn_cat(
            TN_TENSORS(tn_slice(x, d, 0, step, 1), tn_mul(tn_slice(x, d, step, n, 1), tn_slice(x, d, 0, n - step, 1))),
            d);
    return x;
}

/* ---- norms ---- */

/* The p-th root of a sum, and its gradient, are zero where that is. */
static tn_tensor *root(tn_tensor *sum, double p)
{
    tn_tensor *zero = tn_eq(sum, 0), *other = tn_masked_fill(sum, zero, 1);
    other = p == 2 ? tn_sqrt(other) : tn_pow(other, 1 / p);
    return tn_where(zero, tn_scalar_t(p < 0 ? tn_pow(sum, 1 / p) : sum), tn_scalar_t(other));
}

/* |x|^p, whose slope at 0 is 0, as PyTorch has it also for p < 1. */
static tn_tensor *powers(tn_tensor *size, double p)
{
    if (p > 1)
        return tn_pow(size, p);
    tn_tensor *zero = tn_eq(size, 0);
    return tn_masked_fill(tn_pow(tn_masked_fill(size, zero, 1), p), zero, p < 0 ? INFINITY : 0);
}

/* How many are not 0: the gradient is 0, and there is one. */
static tn_tensor *count(tn_tensor *x, const tn_norm_options *o)
{
    tn_tensor *one = tn_add(tn_to(tn_ne(x, 0), .dtype = x->dtype), tn_mul(tn_sign(x), 0));
    return tn_sum(one, .dim = o->dim, .keepdim = o->keepdim);
}

/* What PyTorch's linalg.vector_norm asks of dtypes, in its order. */
static bool is_vector_norm(const tn_tensor *x, tn_dtype asked)
{
    if (!tn__dtype_is_float(x->dtype))
        tn__error(TN_EDTYPE, "linalg.vector_norm: Expected a floating point or complex tensor as input. Got %s",
                  tn__dtypes[x->dtype].legacy);
    else if (asked && !tn__dtype_is_float(asked))
        tn__error(TN_EINVAL, "linalg.vector_norm: dtype should be floating point or complex, but got %s",
                  tn__dtypes[asked].legacy);
    else if (asked && tn_promote_types(x->dtype, asked) != asked)
        tn__error(TN_EINVAL,
                  "linalg.vector_norm: the dtype of the input (%s) should be convertible without narrowing to the "
                  "specified dtype (%s)",
                  tn__dtypes[x->dtype].legacy, tn__dtypes[asked].legacy);
    else
        return true;
    return false;
}

tn_tensor *tn__fn_norm(tn_tensor *x, const tn_norm_options *o)
{
    const double p = o->p.kind ? tn__scalar_double(&o->p) : 2;
    if (!tn__usable("norm", x) || !is_vector_norm(x, o->dtype))
        return NULL;
    if (o->dtype)
        x = tn_to(x, .dtype = o->dtype);
    if (x && (x->dtype == TN_F16 || x->dtype == TN_BF16)) { /* whose squares are often more than they can hold */
        tn_norm_options wide = *o;
        wide.dtype = TN_F32;
        return tn_to(tn__fn_norm(x, &wide), .dtype = x->dtype);
    }
    if (p == 2)
        return root(tn_sum(tn_square(x), .dim = o->dim, .keepdim = o->keepdim), 2);
    tn_tensor *size = tn_abs(x);
    if (p == INFINITY)
        return tn_amax(size, .dim = o->dim, .keepdim = o->keepdim);
    if (p == -INFINITY)
        return tn_amin(size, .dim = o->dim, .keepdim = o->keepdim);
    if (p == 1)
        return tn_sum(size, .dim = o->dim, .keepdim = o->keepdim);
    if (p == 0 && x)
        return count(x, o);
    return root(tn_sum(powers(size, p), .dim = o->dim, .keepdim = o->keepdim), p);
}

/* What PyTorch's linalg.matrix_norm asks of its operands, in its order; the two dimensions, wrapped. */
static bool is_matrix_norm(const tn_tensor *x, tn_dims dim, tn_dtype dtype, int32_t d[2])
{
    static const char name[] = "linalg.matrix_norm";
    char got[24 * TN_MAX_DIMS + 1] = "";
    if (x->ndim < 2)
        return tn__error(TN_EINVAL, "%s: The input tensor A must have at least 2 dimensions.", name), false;
    if (!tn__dtype_is_float(x->dtype))
        return tn__error(TN_EDTYPE, "%s: Expected a floating point or complex tensor as input. Got %s", name,
                         tn__dtypes[x->dtype].legacy),
               false;
    if (x->dtype != TN_F32 && x->dtype != TN_F64)
        return tn__error(TN_EDTYPE, "%s: Low precision dtypes not supported. Got %s", name,
                         tn__dtypes[x->dtype].legacy),
               false;
    if (dim.ndim != 2) {
        for (int32_t i = 0; i < dim.ndim; i++)
            snprintf(got + strlen(got), 24, i ? " %lld" : "%lld", (long long)dim.dim[i]);
        return tn__error(TN_EINVAL, "%s: dim must be a 2-tuple. Got %s", name, got), false;
    }
    if (tn__wrap_dim(dim.dim[0], x->ndim, &d[0]) || tn__wrap_dim(dim.dim[1], x->ndim, &d[1]))
        return false;
    if (d[0] == d[1])
        return tn__error(TN_EINVAL, "%s: dims must be different. Got (%d, %d)", name, (int)d[0], (int)d[1]), false;
    if (dtype && !tn__dtype_is_float(dtype))
        return tn__error(TN_EINVAL, "%s: dtype should be floating point or complex, but got %s", name,
                         tn__dtypes[dtype].legacy),
               false;
    if (dtype && tn__dtype_size(dtype) < tn__dtype_size(x->dtype))
        return tn__error(TN_EINVAL,
                         "%s: the dtype of the input (%s) should be convertible without narrowing to the specified "
                         "dtype (%s)",
                         name, tn__dtypes[x->dtype].legacy, tn__dtypes[dtype].legacy),
               false;
    return true;
}

/* Matrices in the last two dimensions that a GPU gets: its kernel cannot refuse, so they are asked first, and waited for (as in
 * PyTorch). The CPU's kernel refuses itself, in these words. */
static bool are_numbers(tn_tensor *x)
{
    if (!x || x->device.type != TN_DEVICE_CUDA)
        return x != NULL;
    tn_tensor *bad = tn_any(tn_isnan(x), .dim = TN_DIMS(-2, -1));
    if (!bad || tn_item_int(tn_any(bad)) == 0)
        return bad != NULL;
    char element[48] = "";
    if (bad->ndim)
        snprintf(element, sizeof element,
                 "(Batch element %lld): ", (long long)tn_item_int(tn_argmax(tn_to(bad, .dtype = TN_I32))));
    return tn__error(
               TN_EINVAL,
               "linalg.svd: %sThe algorithm failed to converge because the input matrix contained non-finite values.",
               element),
           false;
}

tn_tensor *tn__fn_nuclear_norm(tn_tensor *x, const tn_nuclear_norm_options *o)
{
    int64_t all[TN_MAX_DIMS], order[TN_MAX_DIMS], back[TN_MAX_DIMS];
    int32_t d[2], n = 0;
    if (!tn__usable("nuclear_norm", x) || !tn__dims_fit("nuclear_norm", o->dim))
        return NULL;
    for (int32_t i = 0; i < x->ndim; i++)
        all[i] = i;
    if (!is_matrix_norm(x, o->dim.ndim ? o->dim : tn__dims_from(all, x->ndim), o->dtype, d))
        return NULL;
    if (o->dtype)
        x = tn_to(x, .dtype = o->dtype);
    if (!x)
        return NULL;
    for (int32_t i = 0; i < x->ndim; i++)
        if (i != d[0] && i != d[1])
            order[n++] = i;
    order[n] = d[0];
    order[n + 1] = d[1];
    for (int32_t i = 0; i < x->ndim; i++)
        back[order[i]] = i;
    tn_tensor *matrices = tn_permute(x, tn__dims_from(order, x->ndim));
    tn_tensor *norm = are_numbers(matrices) ? tn__nuclear_norm(matrices) : NULL;
    return o->keepdim ? tn_permute(tn_unsqueeze(tn_unsqueeze(norm, -1), -1), tn__dims_from(back, x->ndim)) : norm;
}
