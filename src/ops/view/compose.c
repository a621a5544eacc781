/* Functions of the family view that are composed of others. */
#include "autograd/functions.h"
#include <string.h>

/* ---- layout ---- */

/* A copy of x of this shape. Where no history is kept of it, it is given the shape as it is; else a view of it has that. */
static tn_tensor *reshaped_copy(tn_tensor *x, const tn_dims *shape)
{
    tn_tensor *copy = tn_clone_in(x, TN_CONTIGUOUS_FORMAT);
    if (!copy || atomic_load_explicit(&copy->node, memory_order_relaxed))
        return tn__no_view(tn_view_at(TN_HERE, copy, shape));
    copy->ndim = shape->ndim;
    memcpy(copy->shape, shape->dim, (size_t)shape->ndim * sizeof *shape->dim);
    tn__contiguous_strides(copy->shape, copy->ndim, copy->stride);
    return copy;
}

tn_tensor *tn__fn_reshape(tn_tensor *x, const tn_dims *shape)
{
    int64_t stride[TN_MAX_DIMS];
    tn_dims full; /* its numbers: as many as are used */
    full.no_number = NULL;
    if (!tn__usable("reshape", x) || (!shape && !tn__dims_fit("reshape", shape)) ||
        tn__shape_check("reshape", shape->dim, shape->ndim, x->numel, full.dim))
        return NULL;
    full.ndim = shape->ndim;
    full.said = true;
    if (tn__numel(full.dim, full.ndim) != x->numel ||
        tn__view_strides(x->shape, x->stride, x->ndim, full.dim, full.ndim, stride))
        return tn_view_at(TN_HERE, x, &full); /* which says what is wrong with the count */
    return reshaped_copy(x, &full);
}

tn_tensor *tn__fn_flatten(tn_tensor *x, int64_t start_dim, int64_t end_dim)
{
    int32_t from, to, n = 0;
    int64_t shape[TN_MAX_DIMS], run = 1;
    if (!tn__usable("flatten", x) || tn__wrap_dim(start_dim, x->ndim, &from) || tn__wrap_dim(end_dim, x->ndim, &to))
        return NULL;
    if (from > to)
        return tn__fail(TN_EINVAL, "flatten() has invalid args: start_dim cannot come after end_dim");
    if (x->ndim == 0)
        return tn_reshape(x, TN_SHAPE(1));
    if (from == to)
        return x;
    for (int32_t d = 0; d < x->ndim; d++) {
        if (d < from || d > to) {
            shape[n++] = x->shape[d];
            continue;
        }
        run *= x->shape[d];
        if (d == to)
            shape[n++] = run;
    }
    return tn_reshape(x, tn_dims_of(shape, n));
}

tn_tensor *tn__fn_narrow(tn_tensor *x, int64_t dim, int64_t start, int64_t length)
{
    int32_t d;
    if (!tn__usable("narrow", x))
        return NULL;
    if (x->ndim == 0)
        return tn__fail(TN_EINVAL, "narrow() cannot be applied to a 0-dim tensor.");
    if (length < 0)
        return tn__fail(TN_EINVAL, "narrow(): length must be non-negative.");
    if (tn__wrap_dim(dim, x->ndim, &d))
        return NULL;
    int64_t n = x->shape[d];
    if (start < -n || start > n)
        return tn__fail(TN_EINDEX, "start out of range (expected to be in range of [%lld, %lld], but got %lld)",
                        (long long)-n, (long long)n, (long long)start);
    start += start < 0 ? n : 0;
    if (start > n - length)
        return tn__fail(TN_EINVAL, "start (%lld) + length (%lld) exceeds dimension size (%lld).", (long long)start,
                        (long long)length, (long long)n);
    return tn_slice(x, d, start, start + length, 1);
}

tn_tensor *tn__fn_view_as(tn_tensor *x, tn_tensor *other)
{
    return tn__usable("view_as", other) ? tn_view(x, tn__shape_of(other)) : NULL;
}

tn_tensor *tn__fn_expand_as(tn_tensor *x, tn_tensor *other)
{
    return tn__usable("expand_as", other) ? tn_expand(x, tn__shape_of(other)) : NULL;
}

/* ---- as many dimensions as are asked for ---- */

tn_tensor *tn__fn_atleast_1d(tn_tensor *x)
{
    return !tn__usable("atleast_1d", x) ? NULL : x->ndim == 0 ? tn_reshape(x, TN_SHAPE(1)) : x;
}

tn_tensor *tn__fn_atleast_2d(tn_tensor *x)
{
    if (!tn__usable("atleast_2d", x))
        return NULL;
    return x->ndim == 0 ? tn_reshape(x, TN_SHAPE(1, 1)) : x->ndim == 1 ? tn_unsqueeze(x, 0) : x;
}

tn_tensor *tn__fn_atleast_3d(tn_tensor *x)
{
    if (!tn__usable("atleast_3d", x))
        return NULL;
    if (x->ndim == 0)
        return tn_reshape(x, TN_SHAPE(1, 1, 1));
    return x->ndim == 1 ? tn_unsqueeze(tn_unsqueeze(x, 0), -1) : x->ndim == 2 ? tn_unsqueeze(x, -1) : x;
}

/* ---- splitting: results go to the scope outside, as those of rows do ---- */

/* Views of the sizes given by size_at. Counts only, where out is NULL. */
static int64_t split_into(const char *what, tn_tensor *x, int64_t dim, int64_t n, const int64_t *sizes, int64_t each,
                          tn_tensor **out, size_t cap)
{
    int64_t at = 0, total = x->shape[dim];
    if (!out)
        return n;
    if ((size_t)n > cap) {
        tn__error(TN_EINVAL, "%s: there are %lld pieces, but room for %zu", what, (long long)n, cap);
        return 0;
    }
    for (int64_t i = 0; i < n; i++) {
        int64_t len = sizes ? sizes[i] : TN_MIN(each, total - at);
        out[i] = tn__split(x, dim, at, at + len, 1, i, sizes != NULL);
        if (!out[i]) {
            while (i-- > 0)
                tn_release(out[i]);
            return 0;
        }
        at += len;
    }
    return n;
}

static bool can_split(const char *what, const tn_tensor *x)
{
    if (tn__usable(what, x) && x->ndim == 0)
        tn__error(TN_EINVAL, "%s expects at least a 1-dimensional tensor", what);
    return tn__usable(what, x) && x->ndim > 0;
}

int64_t tn__fn_split(tn_tensor *x, int64_t size, int64_t dim, tn_tensor **out, size_t cap)
{
    int32_t d;
    if (!can_split("split", x))
        return 0;
    if (size < 0) {
        tn__error(TN_EINVAL, "split expects split_size be non-negative, but got split_size=%lld", (long long)size);
        return 0;
    }
    if (tn__wrap_dim(dim, x->ndim, &d))
        return 0;
    if (size == 0 && x->shape[d] != 0) {
        tn__error(TN_EINVAL, "split_size can only be 0 if dimension size is 0, but got dimension size of %lld",
                  (long long)x->shape[d]);
        return 0;
    }
    int64_t n = size ? TN_MAX(tn__div_up(x->shape[d], size), 1) : 1;
    return split_into("split", x, d, n, NULL, size, out, cap);
}

int64_t tn__fn_split_sizes(tn_tensor *x, tn_ints sizes, int64_t dim, tn_tensor **out, size_t cap)
{
    int32_t d;
    int64_t total = 0;
    bool sums = true;
    if (!can_split("split", x) || !tn__usable_ints("split_with_sizes", sizes) || tn__wrap_dim(dim, x->ndim, &d))
        return 0;
    for (size_t i = 0; i < sizes.n; i++) {
        if (sizes.i[i] < 0) {
            tn__error(TN_EINVAL,
                      "split_with_sizes expects split_sizes have only non-negative entries, but got split_sizes=%s",
                      tn__shape_str(sizes.i, (int32_t)sizes.n).s);
            return 0;
        }
        if (__builtin_add_overflow(total, sizes.i[i], &total))
            total = INT64_MAX, sums = false;
    }
    if (!sums || total != x->shape[d]) {
        tn__error(TN_EINVAL,
                  "split_with_sizes expects split_sizes to sum exactly to %lld (input tensor's size at dimension "
                  "%d), but got split_sizes=%s",
                  (long long)x->shape[d], (int)dim, tn__shape_str(sizes.i, (int32_t)sizes.n).s);
        return 0;
    }
    return split_into("split_with_sizes", x, d, (int64_t)sizes.n, sizes.i, 0, out, cap);
}

int64_t tn__fn_chunk(tn_tensor *x, int64_t chunks, int64_t dim, tn_tensor **out, size_t cap)
{
    int32_t d;
    if (!can_split("chunk", x))
        return 0;
    if (chunks < 1) {
        tn__error(TN_EINVAL, "chunk expects `chunks` to be greater than 0, got: %lld", (long long)chunks);
        return 0;
    }
    if (tn__wrap_dim(dim, x->ndim, &d))
        return 0;
    int64_t each = tn__div_up(x->shape[d], chunks), n = each ? tn__div_up(x->shape[d], each) : chunks;
    return split_into("chunk", x, d, n, NULL, each, out, cap);
}

int64_t tn__fn_unbind(tn_tensor *x, int64_t dim, tn_tensor **out, size_t cap)
{
    int32_t d;
    if (!tn__usable("unbind", x) || tn__wrap_dim(dim, x->ndim, &d))
        return 0;
    if (x->ndim == 0) {
        tn__error(TN_EINDEX, "Dimension specified as 0 but tensor has no dimensions");
        return 0;
    }
    int64_t n = x->shape[d];
    if (!out)
        return n;
    if ((size_t)n > cap) {
        tn__error(TN_EINVAL, "unbind: there are %lld pieces, but room for %zu", (long long)n, cap);
        return 0;
    }
    for (int64_t i = 0; i < n; i++)
        if (!(out[i] = tn__unbind(x, d, i))) {
            while (i-- > 0)
                tn_release(out[i]);
            return 0;
        }
    return n;
}

/* An index within a dimension of that size: negative ones count from its end. */
static int64_t within(int64_t i, int64_t size)
{
    if (i < 0)
        i += size;
    return TN_MAX(TN_MIN(i, size), 0);
}

/* x in n pieces that end at at[0], at[step] ..., or (at NULL) of nearly equal size. */
static int64_t cut_into(tn_tensor *x, int64_t n, const int64_t *at, int64_t step, int64_t dim, tn_tensor **out,
                        size_t cap)
{
    int32_t d;
    if (tn__wrap_dim(dim, x->ndim, &d))
        return 0;
    if (n <= 0) {
        tn__error(TN_EINVAL, "number of sections must be larger than 0, got %lld", (long long)n);
        return 0;
    }
    if (out && (size_t)n > cap) {
        tn__error(TN_EINVAL, "tensor_split: there are %lld pieces, but room for %zu", (long long)n, cap);
        return 0;
    }
    const int64_t size = x->shape[d];
    for (int64_t i = 0, start = 0, end; out && i < n; i++, start = end) {
        end = !at ? start + size / n + (i < size % n) : i < n - 1 ? within(at[i * step], size) : size;
        if ((out[i] = tn_slice(x, d, start, TN_MAX(start, end), 1)))
            continue;
        while (i-- > 0)
            tn_release(out[i]);
        return 0;
    }
    return n;
}

static bool can_cut(const tn_tensor *x)
{
    if (!tn__usable("tensor_split", x))
        return false;
    if (!x->ndim)
        tn__error(TN_EINVAL, "tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims");
    return x->ndim;
}

int64_t tn__fn_tensor_split(tn_tensor *x, int64_t sections, int64_t dim, tn_tensor **out, size_t cap)
{
    return can_cut(x) ? cut_into(x, sections, NULL, 0, dim, out, cap) : 0;
}

int64_t tn__fn_tensor_split_indices(tn_tensor *x, tn_ints indices, int64_t dim, tn_tensor **out, size_t cap)
{
    if (!can_cut(x) || !tn__usable_ints("tensor_split", indices))
        return 0;
    static const int64_t none = 0;
    return cut_into(x, (int64_t)indices.n + 1, indices.n ? indices.i : &none, 1, dim, out, cap);
}

int64_t tn__fn_tensor_split_by(tn_tensor *x, tn_tensor *by, int64_t dim, tn_tensor **out, size_t cap)
{
    const char *what = "tensor_split expected tensor_indices_or_sections to";
    if (!can_cut(x) || !tn__usable("tensor_split", by))
        return 0;
    if (by->device.type != TN_DEVICE_CPU)
        tn__error(TN_EDEVICE, "%s be on cpu, but it's on %s", what, tn_device_text(by->device).s);
    else if (by->dtype != TN_I64)
        tn__error(TN_EDTYPE, "%s have dtype of long, but got %s", what, tn__dtypes[by->dtype].legacy);
    else if (by->ndim > 1)
        tn__error(TN_EINVAL, "%s be a zero-dimensional or one-dimensional tensor, but got a tensor with %d dims", what,
                  (int)by->ndim);
    else {
        const int64_t *at = tn_data(by);
        return by->ndim ? cut_into(x, by->numel + 1, at, by->stride[0], dim, out, cap)
                        : cut_into(x, *at, NULL, 0, dim, out, cap);
    }
    return 0;
}

/* ---- moving ---- */

/* The dimensions, counted from the front; false with an error. */
static bool wrapped(const tn_dims *dims, const tn_tensor *x, int32_t *out)
{
    for (int32_t i = 0; i < dims->ndim; i++)
        if (tn__wrap_dim(dims->dim[i], x->ndim, &out[i]))
            return false;
    return true;
}

/* Which dimensions are named, as bits; sets the error of one that is named twice. */
static uint32_t named(const char *which, const tn_dims *dims, const int32_t *wrapped_to)
{
    uint32_t seen = 0;
    for (int32_t i = 0; i < dims->ndim; i++) {
        if (seen >> wrapped_to[i] & 1) {
            tn__error(TN_EINVAL, "movedim: repeated dim in `%s` (%s)", which, tn__shape_str(dims->dim, dims->ndim).s);
            return UINT32_MAX;
        }
        seen |= 1U << wrapped_to[i];
    }
    return seen;
}

tn_tensor *tn__fn_movedim(tn_tensor *x, const tn_dims *source, const tn_dims *destination)
{
    int64_t order[TN_MAX_DIMS];
    int32_t from[TN_MAX_DIMS], to[TN_MAX_DIMS];
    uint32_t moved, taken;
    if (!tn__usable("movedim", x) || !tn__dims_fit("movedim", source) || !tn__dims_fit("movedim", destination))
        return NULL;
    if (source->ndim != destination->ndim)
        return tn__fail(TN_EINVAL,
                        "movedim: Invalid source or destination dims: source (%s dims) should contain the same "
                        "number of dims as destination (%s dims)",
                        tn__shape_str(source->dim, source->ndim).s,
                        tn__shape_str(destination->dim, destination->ndim).s);
    if (!wrapped(source, x, from) || !wrapped(destination, x, to) ||
        (moved = named("source", source, from)) == UINT32_MAX ||
        (taken = named("destination", destination, to)) == UINT32_MAX)
        return NULL;
    if (x->ndim == 0)
        return tn_alias(x);
    for (int32_t i = 0; i < source->ndim; i++)
        order[to[i]] = from[i];
    for (int32_t d = 0, s = 0; d < x->ndim; d++) {
        if (taken >> d & 1)
            continue;
        while (moved >> s & 1)
            s++;
        order[d] = s++;
    }
    return tn_permute(x, tn_dims_of(order, x->ndim));
}

/* The sizes that a dimension d of n is cut into, a -1 among them made out. */
static bool part_sizes(const tn_dims *sizes, int32_t d, int64_t n, int64_t *part)
{
    int64_t known = 1;
    int32_t open = -1;
    for (int32_t i = 0; i < sizes->ndim; i++) {
        part[i] = sizes->dim[i];
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
                  tn__shape_str(part, sizes->ndim).s);
        return false;
    }
    if (open >= 0 ? known <= 0 || n % known : known != n) {
        tn__error(TN_EINVAL,
                  "unflatten: Provided sizes %s don't multiply up to the size of dim %d (%lld) in the input "
                  "tensor",
                  tn__shape_str(part, sizes->ndim).s, (int)d, (long long)n);
        return false;
    }
    if (open >= 0)
        part[open] = n / known;
    return true;
}

tn_tensor *tn__fn_unflatten(tn_tensor *x, int64_t dim, const tn_dims *sizes)
{
    int64_t shape[TN_MAX_DIMS], part[TN_MAX_DIMS];
    int32_t d, n = 0;
    if (!tn__usable("unflatten", x) || !tn__dims_fit("unflatten", sizes))
        return NULL;
    if (sizes->ndim == 0)
        return tn__fail(TN_EINVAL, "unflatten: sizes must be non-empty");
    if (tn__wrap_dim(dim, x->ndim, &d))
        return NULL;
    if (x->ndim == 0)
        return tn__fail(TN_EINVAL,
                        "unflatten got an unexpected error:\nDimension specified as %d but tensor has no "
                        "dimensions",
                        (int)d);
    if (x->ndim - 1 + sizes->ndim > TN_MAX_DIMS)
        return tn__fail(TN_EINVAL, "unflatten: the result would have more than %d dimensions", TN_MAX_DIMS);
    if (!part_sizes(sizes, d, x->shape[d], part))
        return NULL;
    for (int32_t k = 0; k < x->ndim; k++) {
        if (k != d)
            shape[n++] = x->shape[k];
        for (int32_t i = 0; k == d && i < sizes->ndim; i++)
            shape[n++] = part[i];
    }
    return tn_reshape(x, tn_dims_of(shape, n));
}
