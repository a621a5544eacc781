/* Copies of a tensor with another one written where a view of it would show; windows, shuffles of pixels and channels. */
#include "op/infer.h"
#include "ops/compose.h"

/* ---- written where a view shows ---- */

/* whole, a copy, with src in the view of it. */
static tn_tensor *with(tn_tensor *whole, tn_tensor *view, tn_tensor *src)
{
    if (!view)
        return NULL;
    if (!tn__same_shape(view->shape, view->ndim, src->shape, src->ndim))
        return tn__fail(TN_EINVAL,
                        "expected src to have a size equal to the slice of self. src size = %s, slice size = %s",
                        tn__shape_str(src->shape, src->ndim).s, tn__shape_str(view->shape, view->ndim).s);
    return tn_copy_(view, src) ? whole : NULL;
}

/* A copy that lies as x does, with what is between its elements, unless it shows some of them twice. */
static tn_tensor *copy_as_it_lies(tn_tensor *x)
{
    if (tn__is_dense(x->shape, x->stride, x->ndim) || tn__overlaps_itself(x->shape, x->stride, x->ndim))
        return tn_clone(x);
    tn_tensor *copy =
        tn_empty_strided(tn__shape_of(x), tn_dims_of(x->stride, x->ndim), .dtype = x->dtype, .device = x->device);
    return copy ? tn_copy_(copy, x) : NULL;
}

tn_tensor *tn__fn_select_scatter(tn_tensor *x, tn_tensor *src, int64_t dim, int64_t index)
{
    if (!tn__usable("select_scatter", x) || !tn__usable("select_scatter", src) || !(x = copy_as_it_lies(x)))
        return NULL;
    return with(x, tn_select(x, dim, index), src);
}

tn_tensor *tn__fn_slice_scatter(tn_tensor *x, tn_tensor *src, int64_t dim, int64_t start, int64_t end, int64_t step)
{
    if (!tn__usable("slice_scatter", x) || !tn__usable("slice_scatter", src) || !(x = copy_as_it_lies(x)))
        return NULL;
    return with(x, tn_slice(x, dim, start, end, step), src);
}

tn_tensor *tn__fn_diagonal_scatter(tn_tensor *x, tn_tensor *src, int64_t offset, int64_t dim1, int64_t dim2)
{
    if (!tn__usable("diagonal_scatter", x) || !tn__usable("diagonal_scatter", src) || !(x = copy_as_it_lies(x)))
        return NULL;
    return with(x, tn_diagonal(x, offset, dim1, dim2), src);
}

/* The places are those of x's memory, so the copy is laid out as x is: with what lies before it, and between its elements. */
tn_tensor *tn__fn_as_strided_scatter(tn_tensor *x, tn_tensor *src, const tn_dims *size, const tn_dims *stride,
                                     int64_t storage_offset)
{
    if (!tn__usable("as_strided_scatter", x) || !tn__usable("as_strided_scatter", src) ||
        !tn__dims_fit("as_strided_scatter", size) || !tn__dims_fit("as_strided_scatter", stride))
        return NULL;
    if (x->offset == 0 && tn__is_dense(x->shape, x->stride, x->ndim))
        return (x = tn_clone(x)) ? with(x, tn_as_strided(x, *size, *stride, storage_offset), src) : NULL;
    const tn_dims own = tn__shape_of(x), steps = tn_dims_of(x->stride, x->ndim);
    const int64_t at = x->offset, span = x->numel ? at + tn__reach(x->shape, x->stride, x->ndim) + 1 : 0;
    tn_tensor *whole = tn_clone(tn_as_strided(x, TN_SHAPE(span), TN_SHAPE(1), 0));
    if (!whole || !with(whole, tn_as_strided(whole, *size, *stride, storage_offset), src))
        return NULL;
    return tn__no_view(tn_as_strided(whole, own, steps, x->numel ? at : 0));
}

/* ---- the diagonal ---- */

tn_tensor *tn__fn_fill_diagonal_(tn_tensor *x, tn_scalar fill_value, bool wrap)
{
    if (!tn__usable("fill_diagonal_", x))
        return NULL;
    if (x->ndim < 2)
        return tn__fail(TN_EINVAL, "dimensions must larger than 1");
    int64_t least = x->shape[0], step = 0;
    for (int32_t d = 0; d < x->ndim; d++) {
        if (x->ndim > 2 && x->shape[d] != x->shape[0])
            return tn__fail(TN_EINVAL, "all dimensions of input must be of equal length");
        least = TN_MIN(least, x->shape[d]);
        step += x->stride[d];
    }
    if (!wrap || x->ndim != 2 || x->shape[0] <= x->shape[1] + 1)
        return tn_fill_(tn_as_strided(x, TN_SHAPE(least), TN_SHAPE(step), x->offset), fill_value) ? x : NULL;
    /* of a tall matrix it begins anew, one row further down each time */
    const int64_t columns = x->shape[1], down = columns + 1, whole = (x->shape[0] + 1) / down,
                  rest = TN_MAX(x->shape[0] - whole * down, 0);
    tn_tensor *lines = tn_as_strided(x, TN_SHAPE(whole, columns), TN_SHAPE(down * x->stride[0], step), x->offset);
    if (!tn_fill_(lines, fill_value))
        return NULL;
    tn_tensor *last =
        rest ? tn_as_strided(x, TN_SHAPE(rest), TN_SHAPE(step), x->offset + whole * down * x->stride[0]) : NULL;
    return !rest || tn_fill_(last, fill_value) ? x : NULL;
}

/* ---- pixels and channels ---- */

static bool few_dims(const char *what, const tn_tensor *x)
{
    if (!tn__usable(what, x))
        return true;
    if (x->ndim < 3)
        tn__error(TN_EINVAL, "%s expects input to have at least 3 dimensions, but got input with %d dimension(s)", what,
                  (int)x->ndim);
    return x->ndim < 3;
}

/* A copy of parts in that shape, (n, c, ...), whose channels lie last where x's do. Of parts those dimensions from 1 to 'picture'
 * become the channels. */
static tn_tensor *laid_as(const tn_tensor *x, tn_tensor *parts, int32_t picture, tn_dims shape)
{
    int64_t order[TN_MAX_DIMS] = {0}, back[TN_MAX_DIMS] = {0};
    if (!parts || parts->shape[0] != shape.dim[0] ||
        tn__suggest_format(x->shape, x->stride, x->ndim) == TN_CONTIGUOUS_FORMAT)
        return parts ? tn__no_view(tn_reshape(tn_clone_in(parts, TN_CONTIGUOUS_FORMAT), shape)) : NULL;
    const tn_dims was = shape;
    const int32_t n = parts->ndim;
    for (int32_t d = 1; d < n; d++)
        order[d] = d - 1 < n - picture ? d - 1 + picture : d - (n - picture);
    for (int32_t d = 1; d < shape.ndim; d++) {
        shape.dim[d] = was.dim[d == shape.ndim - 1 ? 1 : d + 1];
        back[d] = d == 1 ? shape.ndim - 1 : d - 1;
    }
    tn_tensor *turned = tn_clone_in(tn_permute(parts, tn_dims_of(order, n)), TN_CONTIGUOUS_FORMAT);
    return tn__no_view(tn_permute(tn_reshape(turned, shape), tn_dims_of(back, shape.ndim)));
}

tn_tensor *tn__fn_pixel_shuffle(tn_tensor *x, int64_t upscale_factor)
{
    const int64_t r = upscale_factor;
    int64_t shape[TN_MAX_DIMS];
    if (few_dims("pixel_shuffle", x))
        return NULL;
    const int32_t n = x->ndim - 3;
    const int64_t c = x->shape[n], h = x->shape[n + 1], w = x->shape[n + 2];
    if (r <= 0)
        return tn__fail(TN_EINVAL, "pixel_shuffle expects a positive upscale_factor, but got %lld", (long long)r);
    if (r > 1 << 20 || c % (r * r))
        return tn__fail(TN_EINVAL,
                        "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of "
                        "upscale_factor, but input.size(-3)=%lld is not divisible by %lld",
                        (long long)c, (long long)(r * r));
    memcpy(shape, x->shape, sizeof shape);
    const int64_t before = tn__numel(x->shape, n);
    tn_tensor *parts = tn_reshape(x, TN_SHAPE(before, c / (r * r), r, r, h, w));
    parts = tn_permute(parts, TN_DIMS(0, 1, 4, 2, 5, 3));
    shape[n] = c / (r * r);
    shape[n + 1] = h * r;
    shape[n + 2] = w * r;
    return laid_as(x, parts, 2, tn_dims_of(shape, x->ndim));
}

tn_tensor *tn__fn_pixel_unshuffle(tn_tensor *x, int64_t downscale_factor)
{
    const int64_t r = downscale_factor;
    int64_t shape[TN_MAX_DIMS];
    if (few_dims("pixel_unshuffle", x))
        return NULL;
    const int32_t n = x->ndim - 3;
    const int64_t c = x->shape[n], h = x->shape[n + 1], w = x->shape[n + 2];
    if (r <= 0)
        return tn__fail(TN_EINVAL, "pixel_unshuffle expects a positive downscale_factor, but got %lld", (long long)r);
    for (int side = 0; side < 2; side++)
        if ((side ? w : h) % r)
            return tn__fail(
                TN_EINVAL,
                "pixel_unshuffle expects %s to be divisible by downscale_factor, but input.size(%d)=%lld is not "
                "divisible by %lld",
                side ? "width" : "height", side - 2, (long long)(side ? w : h), (long long)r);
    memcpy(shape, x->shape, sizeof shape);
    const int64_t before = tn__numel(x->shape, n);
    tn_tensor *parts = tn_reshape(x, TN_SHAPE(before, c, h / r, r, w / r, r));
    parts = tn_permute(parts, TN_DIMS(0, 1, 3, 5, 2, 4));
    shape[n] = c * r * r;
    shape[n + 1] = h / r;
    shape[n + 2] = w / r;
    return laid_as(x, parts, 4, tn_dims_of(shape, x->ndim));
}

tn_tensor *tn__fn_channel_shuffle(tn_tensor *x, int64_t groups)
{
    if (!tn__usable("channel_shuffle", x))
        return NULL;
    if (x->ndim < 3)
        return tn__fail(TN_EINVAL, "channel_shuffle expects input with > 2 dims, but got input with sizes %s",
                        tn__shape_str(x->shape, x->ndim).s);
    if (groups <= 0)
        return tn__fail(TN_EINVAL, "Number of groups to divide channels in must be positive. Value of groups:%lld",
                        (long long)groups);
    const int64_t n = x->shape[0], c = x->shape[1];
    if (c % groups)
        return tn__fail(TN_EINVAL, "Number of channels must be divisible by groups. Got %lld channels and %lld groups.",
                        (long long)c, (long long)groups);
    const int64_t rest = tn__numel(x->shape + 2, x->ndim - 2);
    tn_tensor *parts = tn_transpose(tn_reshape(x, TN_SHAPE(n, groups, c / groups, rest)), 1, 2);
    return laid_as(x, parts, 3, tn__shape_of(x));
}

/* ---- padding by a number ---- */

tn_tensor *tn__fn_constant_pad_nd(tn_tensor *x, tn_ints pad, tn_scalar value)
{
    if (!tn__usable("constant_pad_nd", x) || !tn__usable_ints("constant_pad_nd", pad))
        return NULL;
    if (pad.n % 2)
        return tn__fail(TN_EINVAL, "Length of pad must be even but instead it equals %zu", pad.n);
    if (pad.n > 2 * (size_t)x->ndim)
        return tn__fail(
            TN_EINVAL,
            "Length of pad should be no more than twice the number of dimensions of the input. Pad length is "
            "%zuwhile the input has %ddimensions.",
            pad.n, (int)x->ndim);
    return tn_pad(x, pad, .value = value);
}

/* ---- choices of r elements ---- */

/* The next choice after 'at' of n in r places, or false: the last place that can move moves. */
static bool next_choice(int64_t *at, int64_t r, int64_t n, bool again)
{
    int64_t i = r - 1;
    while (i >= 0 && at[i] >= (again ? n - 1 : n - r + i))
        i--;
    if (i < 0)
        return false;
    at[i]++;
    for (int64_t k = i + 1; k < r; k++)
        at[k] = again ? at[i] : at[k - 1] + 1;
    return true;
}

/* How many choices there are; -1: more than can be. */
static int64_t choices_of(int64_t n, int64_t r, bool again)
{
    int64_t total = 1;
    if (again)
        n += n ? r - 1 : 0;
    if (n < r)
        return 0;
    for (int64_t i = 1; i <= r; i++) { /* exact: the product of i neighbours is a multiple of i! */
        if (__builtin_mul_overflow(total, n - r + i, &total))
            return -1;
        total /= i;
    }
    return total <= INT64_MAX / 8 / r ? total : -1;
}

tn_tensor *tn__fn_combinations(tn_tensor *x, int64_t r, bool with_replacement)
{
    if (!tn__usable("combinations", x))
        return NULL;
    if (x->ndim != 1)
        return tn__fail(TN_EINVAL, "Expect a 1D vector, but got shape %s", tn__shape_str(x->shape, x->ndim).s);
    if (r < 0)
        return tn__fail(TN_EINVAL, "Expect a non-negative number, but got %lld", (long long)r);
    if (r == 0)
        return tn_empty(TN_SHAPE(0), .dtype = x->dtype, .device = x->device);
    const int64_t total = r > 1 << 16 && x->shape[0] >= r ? -1 : choices_of(x->shape[0], r, with_replacement);
    if (total < 0)
        return tn__fail(TN_EINVAL, "combinations: more than memory can hold");
    tn_tensor *places = tn_empty(TN_SHAPE(total, r), .dtype = TN_I64, .device = TN_CPU);
    int64_t *to = places && total ? tn_data(places) : NULL;
    for (int64_t k = 0; to && k < r; k++)
        to[k] = with_replacement ? 0 : k;
    for (int64_t i = 1; to && i < total; i++, to += r) {
        memcpy(to + r, to, (size_t)r * sizeof *to);
        next_choice(to + r, r, x->shape[0], with_replacement);
    }
    tn_tensor *flat = places ? tn_reshape(tn_to(places, .device = x->device), TN_SHAPE(-1)) : NULL;
    return tn__no_view(tn_view(tn_index_select(x, 0, flat), TN_SHAPE(total, r)));
}
