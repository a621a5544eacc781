/* Elements arranged anew: diagonals, triangles, rotations, grids, differences of neighbours. */
#include "ops/compose.h"

/* ---- diagonals ---- */

tn_tensor *tn__fn_diag_embed(tn_tensor *x, int64_t offset, int64_t dim1, int64_t dim2)
{
    int32_t at[2];
    int64_t shape[TN_MAX_DIMS];
    if (!tn__usable("diag_embed", x) || tn__wrap_dim(dim1, x->ndim + 1, &at[0]) ||
        tn__wrap_dim(dim2, x->ndim + 1, &at[1]))
        return NULL;
    if (at[0] == at[1])
        return tn__fail(TN_EINVAL, "diagonal dimensions cannot be identical %lld, %lld", (long long)dim1,
                        (long long)dim2);
    if (x->ndim == 0)
        return tn__fail(TN_EINDEX, "Dimension specified as -1 but tensor has no dimensions");
    if (x->ndim == TN_MAX_DIMS)
        return tn__fail(TN_EINVAL, "diag_embed: at most %d dimensions", TN_MAX_DIMS);
    /* one that is too large wraps around to a negative size, which is refused */
    const uint64_t away = offset < 0 ? -(uint64_t)offset : (uint64_t)offset,
                   side = (uint64_t)x->shape[x->ndim - 1] + away;
    for (int32_t d = 0, from = 0; d <= x->ndim; d++)
        shape[d] = d == at[0] || d == at[1] ? (int64_t)side : x->shape[from++];
    return tn__embed_diagonal(x, tn_dims_of(shape, x->ndim + 1), offset, dim1, dim2);
}

tn_tensor *tn__fn_diag(tn_tensor *x, int64_t diagonal)
{
    if (!tn__usable("diag", x))
        return NULL;
    if (x->ndim != 1 && x->ndim != 2)
        return tn__fail(TN_EINVAL, "diag(): Supports 1D or 2D tensors. Got %dD", (int)x->ndim);
    if (x->ndim == 1)
        return tn_diag_embed(x, diagonal, -2, -1);
    tn_tensor *line = tn_diagonal(x, diagonal, 0, 1);
    return tn_cat(TN_TENSORS(line), 0);
}

tn_tensor *tn__fn_diagflat(tn_tensor *x, int64_t offset)
{
    return tn_diag_embed(tn_reshape(x, TN_SHAPE(-1)), offset, -2, -1);
}

tn_tensor *tn__fn_trace(tn_tensor *x)
{
    if (!tn__usable("trace", x))
        return NULL;
    if (x->ndim != 2)
        return tn__fail(TN_EINVAL, "trace: expected a matrix, but got tensor with dim %d", (int)x->ndim);
    if (x->dtype == TN_BOOL)
        return tn__no_kernel("trace", x), NULL;
    return tn_sum(tn_diagonal(x, 0, 0, 1));
}

/* ---- turning ---- */

tn_tensor *tn__fn_fliplr(tn_tensor *x)
{
    if (!tn__usable("fliplr", x))
        return NULL;
    return x->ndim < 2 ? tn__fail(TN_EINVAL, "Input must be >= 2-d.") : tn_flip(x, TN_DIMS(1));
}

tn_tensor *tn__fn_flipud(tn_tensor *x)
{
    if (!tn__usable("flipud", x))
        return NULL;
    return x->ndim < 1 ? tn__fail(TN_EINVAL, "Input must be >= 1-d.") : tn_flip(x, TN_DIMS(0));
}

/* Two dimensions of a tensor that was just made swapped: nobody else sees its memory, so it is no view. */
static tn_tensor *swapped(tn_tensor *x, int32_t a, int32_t b)
{
    return tn__no_view(tn_transpose(x, a, b));
}

tn_tensor *tn__fn_rot90(tn_tensor *x, int64_t k, const tn_dims *dims)
{
    int32_t a, b;
    if (!tn__usable("rot90", x) || !tn__dims_fit("rot90", dims))
        return NULL;
    if (dims->ndim != 2)
        return tn__fail(TN_EINVAL, "expected total rotation dims == 2, but got dims = %d", (int)dims->ndim);
    if (x->ndim < 2)
        return tn__fail(TN_EINVAL, "expected total dims >= 2, but got total dims = %d", (int)x->ndim);
    if (tn__wrap_dim(dims->dim[0], x->ndim, &a) || tn__wrap_dim(dims->dim[1], x->ndim, &b))
        return NULL;
    if (a == b)
        return tn__fail(TN_EINVAL, "expected rotation dims to be different, but got dim0 = %lld and dim1 = %lld",
                        (long long)dims->dim[0], (long long)dims->dim[1]);
    switch (((k % 4) + 4) % 4) {
    case 1: return swapped(tn_flip(x, TN_DIMS(b)), a, b);
    case 2: return tn_flip(x, TN_DIMS(a, b));
    case 3: return swapped(tn_flip(x, TN_DIMS(a)), a, b);
    default: return tn_clone(x);
    }
}

/* ---- triangles ---- */

/* Of rows x columns, which an int64 counts: a row has the columns left of row + edge, or an upper triangle's from there on. */
typedef struct triangle {
    int64_t rows, columns, edge;
    bool upper;
} triangle;

static triangle triangle_of(int64_t rows, int64_t columns, int64_t offset, bool upper)
{
    /* no triangle has more than all columns, or fewer than none */
    const int64_t edge = offset >= columns ? columns : offset < -rows ? -rows : upper ? offset : offset + 1;
    return (triangle){rows, columns, edge, upper};
}

/* Columns of a row that it has: from 'first' on. */
static int64_t in_row(const triangle *t, int64_t row, int64_t *first)
{
    const int64_t edge = TN_MAX(TN_MIN(row + t->edge, t->columns), 0);
    *first = t->upper ? edge : 0;
    return t->upper ? t->columns - edge : edge;
}

/* Elements of it, and the rows that may have any. */
static int64_t in_triangle(const triangle *t, int64_t *begin, int64_t *end)
{
    const int64_t none = TN_MIN(TN_MAX(-t->edge, 0), t->rows); /* rows before it have nothing left of the edge */
    const int64_t all = TN_MAX(TN_MIN(t->columns - t->edge, t->rows), none); /* rows from it on have everything there */
    const int64_t m = all - none;
    const int64_t left = m * (none + t->edge) + m * (m - 1) / 2 + (t->rows - all) * t->columns;
    *begin = t->upper ? 0 : none;
    *end = t->upper ? all : t->rows;
    return t->upper ? t->rows * t->columns - left : left;
}

/* n numbers of an integer dtype: from 'first' on, 'step' apart. */
static void count_on(tn_dtype d, void *memory, int64_t at, int64_t first, int64_t step, int64_t n)
{
    if (d == TN_I64)
        for (int64_t k = 0; k < n; k++)
            ((int64_t *)memory)[at + k] = first + k * step;
    else if (d == TN_I32)
        for (int64_t k = 0; k < n; k++)
            ((int32_t *)memory)[at + k] = (int32_t)(first + k * step);
    else
        for (int64_t k = 0; k < n; k++)
            ((int16_t *)memory)[at + k] = (int16_t)(first + k * step);
}

/* On GPUs they are looked for, in the rows that have any: that is quicker than to copy them there. NULL with an error set. */
static tn_tensor *found_in(const triangle *t, int64_t total, int64_t begin, int64_t end, tn_tensor *at)
{
    tn_tensor *mask = tn_ones(TN_SHAPE(end - begin, t->columns), .dtype = TN_BOOL, .device = at->device);
    mask = t->upper ? tn_triu(mask, t->edge + begin) : tn_tril(mask, t->edge + begin - 1);
    tn_tensor *found = tn_t(tn_nonzero_static(mask, total));
    if (begin > 0 && !tn_add_(tn_select(found, 0, 0), begin))
        return NULL;
    return tn_copy_(at, found);
}

static tn_tensor *indices_of(int64_t rows, int64_t columns, int64_t offset, bool upper, const tn_options *o)
{
    if (rows < 0 || columns < 0)
        return tn__fail(TN_EINVAL, "%s must be non-negative, got%lld", rows < 0 ? "row" : "col",
                        (long long)(rows < 0 ? rows : columns));
    const tn_dtype d = o->dtype ? o->dtype : TN_I64;
    int64_t total, first, begin, end;
    if (__builtin_mul_overflow(rows, columns, &total))
        return tn__fail(TN_EINVAL, "%s_indices: more elements than an index can count", upper ? "triu" : "tril");
    const triangle t = triangle_of(rows, columns, offset, upper);
    total = in_triangle(&t, &begin, &end);
    if (d != TN_I64 && d != TN_I32 && d != TN_I16) {
        tn__no_dtype_on(o->device, upper ? "triu_indices" : "tril_indices", upper ? "triu_indices_*" : "tril_indices_*",
                        d);
        return NULL;
    }
    tn_options plain = *o;
    plain.dtype = d;
    tn_tensor *at = tn__factory(TN__DIMS(TN_SHAPE(2, total)), &plain, d);
    if (!at || at->device.type == TN_DEVICE_META || total == 0)
        return at;
    if (at->device.type != TN_DEVICE_CPU && end - begin <= (4 * total + 65536) / t.columns) {
        TN__INITIALISED(at, found_in(&t, total, begin, end, at));
        return at;
    }
    tn_tensor *here =
        at->device.type == TN_DEVICE_CPU ? at : tn_empty(TN_SHAPE(2, total), .dtype = d, .device = TN_CPU);
    void *memory = here ? tn_data(here) : NULL;
    int64_t done = 0;
    for (int64_t row = begin, n; memory && row < end; row++, done += n) {
        n = in_row(&t, row, &first);
        count_on(d, memory, done, row, 0, n);
        count_on(d, memory, total + done, first, 1, n);
    }
    if (memory && here != at)
        TN__INITIALISED(at, tn_copy_(at, here));
    return memory ? at : NULL;
}

tn_tensor *tn__fn_tril_indices(int64_t row, int64_t col, int64_t offset, const tn_options *o)
{
    return indices_of(row, col, offset, false, o);
}

tn_tensor *tn__fn_triu_indices(int64_t row, int64_t col, int64_t offset, const tn_options *o)
{
    return indices_of(row, col, offset, true, o);
}

/* ---- picking, grids, neighbours ---- */

/* The least and the largest of some; few on the CPU are looked at here. */
static bool find_range(tn_tensor *places, int64_t *least, int64_t *most)
{
    enum { FEW = 256 };
    if (places->device.type == TN_DEVICE_CPU && places->numel <= FEW) {
        const int64_t *p = tn_data(places);
        *least = *most = p[0];
        for (int64_t i = 1; i < places->numel; i++) {
            *least = TN_MIN(*least, p[i]);
            *most = TN_MAX(*most, p[i]);
        }
        return true;
    }
    tn_tensor *high = NULL, *low = tn_aminmax(places, .max = &high);
    if (!low)
        return false;
    tn_error_clear();
    *least = tn_item_int(low);
    *most = tn_item_int(high);
    return !tn_error_code();
}

/* Indices are counted from the front only when one of them is negative. */
tn_tensor *tn__places_in(tn_tensor *index, int64_t n)
{
    int64_t least, most;
    tn_tensor *places = tn_reshape(index, TN_SHAPE(-1));
    if (!places || index->numel == 0 || index->device.type == TN_DEVICE_META)
        return places;
    places = tn_contiguous(places);
    if (!places || !find_range(places, &least, &most))
        return NULL;
    if (least < -n || most >= n) {
        tn_tensor *out = tn_masked_select(places, tn_logical_or(tn_lt(places, -n), tn_ge(places, n)));
        return out ? tn__fail(TN_EINDEX, "out of range: tried to access index %lld on a tensor of %lld elements.",
                              (long long)tn_item_int(tn_select(out, 0, 0)), (long long)n)
                   : NULL;
    }
    return least < 0 ? tn__pick(tn_lt(places, 0), tn_add(places, n), places) : places;
}

tn_tensor *tn__fn_take(tn_tensor *x, tn_tensor *index)
{
    if (!tn__usable("take", x) || !tn__usable("take", index))
        return NULL;
    if (index->dtype != TN_I64)
        return tn__fail(TN_EDTYPE, "take(): Expected a long tensor for index, but got %s",
                        tn__dtypes[index->dtype].legacy);
    const int64_t n = x->numel;
    if (n == 0 && index->numel)
        return tn__fail(TN_EINDEX, "take(): tried to take from an empty tensor");
    const tn_dims shape = tn__shape_of(index);
    index = tn__places_in(index, n);
    return index ? tn_reshape(tn_index_select(tn_reshape(x, TN_SHAPE(-1)), 0, index), shape) : NULL;
}

static bool joins(const tn_tensor *x, const tn_tensor *t, int32_t dim)
{
    if (t->ndim != x->ndim)
        return tn__error(TN_EINVAL, "diff expects prepend or append to be the same dimension as input"), false;
    for (int32_t d = 0; d < t->ndim; d++)
        if (d != dim && t->shape[d] != x->shape[d])
            return tn__error(
                       TN_EINVAL,
                       "diff expects the shape of tensor to prepend or append to match that of input except along "
                       "the differencing dimension; input.size(%d) = %lld, but got tensor.size(%d) = %lld",
                       (int)d, (long long)x->shape[d], (int)d, (long long)t->shape[d]),
                   false;
    return true;
}

tn_tensor *tn__fn_diff(tn_tensor *x, int64_t n, int64_t dim, const tn_diff_options *o)
{
    tn_tensor *part[3], *all[] = {tn__given(o->prepend), x, tn__given(o->append)};
    size_t parts = 0;
    int32_t at;
    if (!tn__usable("diff", x))
        return NULL;
    if (x->ndim == 0)
        return tn__fail(TN_EINVAL, "diff expects input to be at least one-dimensional");
    if (n < 0)
        return tn__fail(TN_EINVAL, "order must be non-negative but got %lld", (long long)n);
    if (n == 0 && !all[0] && !all[2])
        return tn_clone(x);
    if (tn__wrap_dim(dim, x->ndim, &at))
        return NULL;
    for (int i = 0; i < 3; i++)
        if (all[i] && !joins(x, part[parts++] = all[i], at))
            return NULL;
    if (n == 0)
        return tn_clone(x);
    if (parts > 1)
        x = tn_cat(((tn_tensors){part, parts}), at);
    for (int64_t i = 0, times = x ? TN_MIN(n, x->shape[at]) : 0; i < times && x; i++) {
        const int64_t have = x->shape[at], size = have > 0 ? have - 1 : 0;
        tn_tensor *after = tn_narrow(x, at, have > 0 ? 1 : 0, size), *before = tn_narrow(x, at, 0, size);
        x = x->dtype == TN_BOOL ? tn_bitwise_xor(after, before) : tn_sub(after, before);
    }
    return x;
}

/* ---- factories ---- */

static tn_tensor *laid_out(const tn_dims *size, const int64_t *stride, const tn_options *o)
{
    bool blank = false, negative = false, back = false;
    int64_t n = 1;
    for (int32_t d = 0; d < size->ndim; d++) {
        int64_t reach = 0;
        blank |= size->dim[d] == 0;
        negative |= size->dim[d] < 0;
        back |= stride[d] < 0;
        if (size->dim[d] > 0 &&
            (__builtin_mul_overflow(size->dim[d] - 1, stride[d], &reach) || __builtin_add_overflow(n, reach, &n)))
            n = INT64_MAX;
    }
    n = blank ? 0 : n;
    if (!negative && (back || n > (int64_t)1 << 60))
        return tn__fail(TN_EINVAL, "Storage size calculation overflowed with sizes=%s and strides=%s",
                        tn__shape_str(size->dim, size->ndim).s, tn__shape_str(stride, size->ndim).s);
    tn_options plain = *o;
    plain.requires_grad = false;
    tn_tensor *memory = tn__fn_empty(negative ? size : TN__DIMS(TN_SHAPE(n)), &plain);
    memory = tn_detach(tn_as_strided(memory, *size, tn_dims_of(stride, size->ndim), 0)); /* it is no view */
    return memory && o->requires_grad ? tn__require_grad(memory, true) : memory;
}

tn_tensor *tn__fn_empty_strided(const tn_dims *size, const tn_dims *stride, const tn_options *o)
{
    if (!tn__dims_fit("empty_strided", size) || !tn__dims_fit("empty_strided", stride))
        return NULL;
    if (size->ndim != stride->ndim)
        return tn__fail(TN_EINVAL, "dimensionality of sizes (%d) must match dimensionality of strides (%d)",
                        (int)size->ndim, (int)stride->ndim);
    return laid_out(size, stride->dim, o);
}

tn_tensor *tn__fn_empty_permuted(const tn_dims *size, const tn_dims *physical_layout, const tn_options *o)
{
    if (!tn__dims_fit("empty_permuted", size) || !tn__dims_fit("empty_permuted", physical_layout))
        return NULL;
    const int32_t n = size->ndim;
    int64_t stride[TN_MAX_DIMS], step = 1;
    bool seen[TN_MAX_DIMS] = {false};
    if (physical_layout->ndim != n)
        return tn__fail(
            TN_EINVAL,
            "Number of dimensions in size does not match the length of the physical_layout; i.e. len(size) = "
            "%d is not equal to len(physical_layout) = %d",
            (int)n, (int)physical_layout->ndim);
    for (int32_t i = n - 1; i >= 0; i--) {
        const int64_t d = physical_layout->dim[i];
        if (d < 0 || d >= n)
            return tn__fail(TN_EINVAL,
                            "Dimension out of range (expected to be between 0 and %d, but got %lld at index %d).  NB: "
                            "negative dims not currently supported; file an issue if you want it.",
                            (int)n - 1, (long long)d, (int)i);
        if (seen[d])
            return tn__fail(TN_EINVAL, "Duplicate dim not allowed");
        seen[d] = true;
        stride[d] = step;
        step *= size->dim[d] > 1 ? size->dim[d] : 1;
    }
    return laid_out(size, stride, o);
}
