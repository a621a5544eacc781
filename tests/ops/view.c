/* Views: what a view shows is compared with where its elements come from in the row-major values; it shares x's
 * memory, and strides are what PyTorch gives. */
#include "core/alloc.h"
#include "ops/view.h"
#include <string.h>

void shows(const tn_tensor *got, const kit_array *x, int32_t ndim, const int64_t *shape, const mapping *m, bool shares,
           const char *name)
{
    expected e;
    int64_t at[TN_MAX_DIMS], from[TN_MAX_DIMS] = {0};
    expected_init(&e, x->dtype, ndim, shape);
    e.bits = true;
    for (int64_t i = 0; i < e.numel; i++) {
        int64_t o = 0;
        kit_unravel(i, ndim, shape, at);
        m->map(at, from, m);
        for (int32_t d = 0; d < x->ndim; d++)
            o = o * x->shape[d] + from[d];
        e.v[i] = x->v[o];
    }
    check(&e, got, "%s of %s %s %s", name, tn_dtype_name(x->dtype), kit_shape_text(x->ndim, x->shape),
          kit_layout_names[x->layout]);
    if (got && x->numel && tn_tensor_shares_memory(got, x->t) != shares)
        kit_fail("%s of %s %s: %s", name, kit_shape_text(x->ndim, x->shape), kit_layout_names[x->layout],
                 shares ? "does not share memory" : "shares memory");
    expected_free(&e);
}

/* ---- dimensions in another order ---- */

static void by_order(const int64_t *at, int64_t *from, const mapping *m)
{
    for (int32_t d = 0; d < m->n; d++)
        from[m->list[d]] = at[d];
}

static void in_order(kit_array *x, const int64_t *order, tn_tensor *got, const char *name)
{
    int64_t shape[TN_MAX_DIMS];
    const mapping m = {.map = by_order, .list = order, .n = x->ndim};
    for (int32_t d = 0; d < x->ndim; d++)
        shape[d] = x->shape[order[d]];
    shows(got, x, x->ndim, shape, &m, true, name);
}

static void permute_each(kit_array *x)
{
    for (int k = 0; k < 6; k++) {
        int64_t order[TN_MAX_DIMS], asked[TN_MAX_DIMS];
        for (int32_t d = 0; d < x->ndim; d++) {
            int32_t j = (int32_t)kit_below(d + 1);
            order[d] = order[j];
            order[j] = d;
        }
        for (int32_t d = 0; d < x->ndim; d++)
            asked[d] = order[d] - (int64_t)(kit_random() & 1) * x->ndim;
        in_order(x, order, tn_permute(x->t, tn_dims_of(asked, x->ndim)), "permute");
    }
}

static void transpose_each(kit_array *x)
{
    for (int32_t a = 0; a < x->ndim; a++)
        for (int32_t b = 0; b < x->ndim; b++) {
            int64_t order[TN_MAX_DIMS];
            for (int32_t d = 0; d < x->ndim; d++)
                order[d] = d == a ? b : d == b ? a : d;
            in_order(x, order, tn_transpose(x->t, a, b - (int64_t)(kit_random() & 1) * x->ndim), "transpose");
        }
}

static void t_each(kit_array *x)
{
    static const int64_t swap[2] = {1, 0}, same[1] = {0};
    if (x->ndim > 2)
        REFUSED(tn_t(x->t), TN_EINVAL, "t() expects a tensor with <= 2 dimensions");
    else
        in_order(x, x->ndim == 2 ? swap : same, tn_t(x->t), "t");
}

static void run_permute(void)
{
    each_array(permute_each, false);
    tn_scope *s = tn_scope_open();
    tn_tensor *x = tn_ones(TN_SHAPE(2, 3));
    REFUSED(tn_permute(x, TN_DIMS(0)), TN_EINVAL, "permute");
    REFUSED(tn_permute(x, TN_DIMS(0, 0)), TN_EINVAL, "duplicate dims are not allowed");
    REFUSED(tn_permute(x, TN_DIMS(0, 2)), TN_EINDEX,
            "Dimension out of range (expected to be in range of [-2, 1], but got 2)");
    tn_scope_close(s);
}

static void run_transpose(void)
{
    each_array(transpose_each, false);
    tn_scope *s = tn_scope_open();
    REFUSED(tn_transpose(tn_ones(TN_SHAPE(2, 3)), 0, 2), TN_EINDEX,
            "Dimension out of range (expected to be in range of [-2, 1], but got 2)");
    tn_scope_close(s);
}

static void run_t(void)
{
    each_array(t_each, false);
}

/* ---- other shapes ---- */

/* Row-major order is kept: a place in the one shape is the same place in the other. */
static void by_count(const int64_t *at, int64_t *from, const mapping *m)
{
    int64_t i = 0;
    for (int32_t d = 0; d < m->n; d++)
        i = i * m->list[d] + at[d];
    kit_unravel(i, (int32_t)m->a, (const int64_t *)(intptr_t)m->b, from);
}

static void same_order(kit_array *x, int32_t ndim, const int64_t *shape, tn_tensor *got, bool shares, const char *name)
{
    const mapping m = {.map = by_count, .list = shape, .n = ndim, .a = x->ndim, .b = (int64_t)(intptr_t)x->shape};
    shows(got, x, ndim, shape, &m, shares, name);
}

/* PyTorch's rule: a block of x's dimensions can be shown as a block of others where it is contiguous in itself. Here by
 * brute force: are there strides that agree with every element's place? */
static bool can_view(const kit_array *x, int32_t ndim, const int64_t *shape)
{
    int64_t stride[TN_MAX_DIMS], at[TN_MAX_DIMS], mine[TN_MAX_DIMS], step = 1;
    for (int32_t d = x->numel ? ndim - 1 : -1; d >= 0; d--) { /* from the place of the first element along d */
        kit_unravel(step % x->numel, x->ndim, x->shape, mine);
        stride[d] = shape[d] > 1 ? kit_ravel(x->ndim, x->stride, mine) : 0;
        step *= shape[d];
    }
    for (int64_t i = 0; i < x->numel; i++) {
        kit_unravel(i, ndim, shape, at);
        kit_unravel(i, x->ndim, x->shape, mine);
        if (kit_ravel(ndim, stride, at) != kit_ravel(x->ndim, x->stride, mine))
            return false;
    }
    return true;
}

/* Shapes of the same count: merged neighbours, split dimensions, ones put in. */
static int32_t another_shape(const kit_array *x, int64_t *shape)
{
    int32_t n = 0;
    for (int32_t d = 0; d < x->ndim; d++) {
        if (n && kit_below(3) == 0)
            shape[n - 1] *= x->shape[d];
        else
            shape[n++] = x->shape[d];
        if (n + x->ndim - d - 1 < TN_MAX_DIMS && shape[n - 1] % 2 == 0 && shape[n - 1] && kit_below(4) == 0) {
            shape[n - 1] /= 2;
            shape[n++] = 2;
        }
    }
    return n;
}

static void view_each(kit_array *x)
{
    for (int k = 0; k < 8; k++) {
        int64_t shape[TN_MAX_DIMS], asked[TN_MAX_DIMS];
        int32_t n = another_shape(x, shape);
        memcpy(asked, shape, sizeof asked);
        if (n && x->numel && kit_random() & 1)
            asked[kit_below(n)] = -1;
        const tn_dims dims = tn_dims_of(asked, n);
        tn_tensor *view = tn_view(x->t, dims);
        bool possible = can_view(x, n, shape);
        if (possible)
            same_order(x, n, shape, view, true, "view");
        else
            refused(view, TN_EINVAL,
                    "view size is not compatible with input tensor's size and stride (at least one dimension spans "
                    "across two contiguous subspaces). Use .reshape(...) instead.",
                    "view");
        same_order(x, n, shape, tn_reshape(x->t, dims), possible, "reshape");
    }
}

static void run_view(void)
{
    each_array(view_each, false);
    tn_scope *s = tn_scope_open();
    tn_tensor *x = tn_ones(TN_SHAPE(2, 3));
    REFUSED(tn_view(x, TN_SHAPE(4)), TN_EINVAL, "shape '[4]' is invalid for input of size 6");
    REFUSED(tn_view(x, TN_SHAPE(-1, 4)), TN_EINVAL, "shape '[-1, 4]' is invalid for input of size 6");
    REFUSED(tn_view(x, TN_SHAPE(-1, -1)), TN_EINVAL, "only one dimension can be inferred");
    REFUSED(tn_view(x, TN_SHAPE(-2, 3)), TN_EINVAL, "invalid shape dimension -2");
    REFUSED(tn_view(tn_ones(TN_SHAPE(0)), TN_SHAPE(-1, 0)), TN_EINVAL,
            "cannot reshape tensor of 0 elements into shape [-1, 0] because the unspecified dimension size -1 can be "
            "any value and is ambiguous");
    tn_scope_close(s);
}

static void run_reshape(void)
{
    run_view(); /* each view is also asked for as a reshape */
}

static void view_as_each(kit_array *x)
{
    int64_t shape[TN_MAX_DIMS];
    int32_t n = another_shape(x, shape);
    tn_tensor *other = tn_ones(tn_dims_of(shape, n));
    tn_tensor *got = tn_view_as(x->t, other);
    if (can_view(x, n, shape))
        same_order(x, n, shape, got, true, "view_as");
    else
        refused(got, TN_EINVAL, "view size is not compatible", "view_as");
}

static void run_view_as(void)
{
    each_array(view_as_each, false);
}

static void flatten_each(kit_array *x)
{
    if (x->ndim == 0) {
        same_order(x, 1, (int64_t[]){1}, tn_flatten(x->t, 0, -1), true, "flatten");
        return;
    }
    for (int32_t a = 0; a < x->ndim; a++)
        for (int32_t b = a; b < x->ndim; b++) {
            int64_t shape[TN_MAX_DIMS], run = 1;
            int32_t n = 0;
            for (int32_t d = 0; d < x->ndim; d++) {
                run *= d >= a && d <= b ? x->shape[d] : 1;
                if (d < a || d > b)
                    shape[n++] = x->shape[d];
                else if (d == b)
                    shape[n++] = run;
            }
            same_order(x, n, shape, tn_flatten(x->t, a, b - x->ndim), can_view(x, n, shape), "flatten");
        }
}

static void run_flatten(void)
{
    each_array(flatten_each, false);
    tn_scope *s = tn_scope_open();
    tn_tensor *x = tn_ones(TN_SHAPE(2, 3));
    REFUSED(tn_flatten(x, 1, 0), TN_EINVAL, "flatten() has invalid args: start_dim cannot come after end_dim");
    REFUSED(tn_flatten(x, 0, 2), TN_EINDEX, "Dimension out of range (expected to be in range of [-2, 1], but got 2)");
    tn_scope_close(s);
}

static void squeeze_each(kit_array *x)
{
    for (uint32_t mask = 0; mask<1U << x->ndim; mask += x->ndim> 4 ? 17 : 1) { /* 0: none named, all are meant */
        int64_t shape[TN_MAX_DIMS], dims[TN_MAX_DIMS];
        int32_t n = 0, named = 0;
        for (int32_t d = 0; d < x->ndim; d++) {
            if (mask >> d & 1)
                dims[named++] = d - (int64_t)(kit_random() & 1) * x->ndim;
            if (x->shape[d] != 1 || (mask && !(mask >> d & 1)))
                shape[n++] = x->shape[d];
        }
        tn_tensor *got = mask ? tn_squeeze(x->t, .dims = tn_dims_of(dims, named)) : tn_squeeze(x->t);
        same_order(x, n, shape, got, true, "squeeze");
    }
}

static void run_squeeze(void)
{
    each_array(squeeze_each, false);
    tn_scope *s = tn_scope_open();
    REFUSED(tn_squeeze(tn_ones(TN_SHAPE(1)), .dim = 1), TN_EINDEX,
            "Dimension out of range (expected to be in range of [-1, 0], but got 1)");
    tn_scope_close(s);
}

static void unsqueeze_each(kit_array *x)
{
    if (x->ndim == TN_MAX_DIMS) {
        REFUSED(tn_unsqueeze(x->t, 0), TN_EINVAL, "more than 8 dimensions");
        return;
    }
    for (int32_t at = 0; at <= x->ndim; at++) {
        int64_t shape[TN_MAX_DIMS];
        for (int32_t d = 0; d <= x->ndim; d++)
            shape[d] = d == at ? 1 : x->shape[d - (d > at)];
        same_order(x, x->ndim + 1, shape, tn_unsqueeze(x->t, at - (int64_t)(kit_random() & 1) * (x->ndim + 1)), true,
                   "unsqueeze");
    }
}

static void run_unsqueeze(void)
{
    each_array(unsqueeze_each, false);
    tn_scope *s = tn_scope_open();
    REFUSED(tn_unsqueeze(tn_ones(TN_SHAPE(2)), 2), TN_EINDEX,
            "Dimension out of range (expected to be in range of [-2, 1], but got 2)");
    tn_scope_close(s);
}

/* ---- expand ---- */

static void by_broadcast(const int64_t *at, int64_t *from, const mapping *m)
{
    const kit_array *x = (const kit_array *)(intptr_t)m->b;
    for (int32_t d = 0; d < x->ndim; d++)
        from[d] = x->shape[d] == 1 ? 0 : at[d + m->a];
}

static void expand_each(kit_array *x)
{
    for (int32_t lead = 0; lead < 3 && x->ndim + lead <= TN_MAX_DIMS; lead++) {
        int64_t shape[TN_MAX_DIMS], asked[TN_MAX_DIMS];
        int32_t n = x->ndim + lead;
        for (int32_t d = 0; d < n; d++) {
            shape[d] = d < lead ? 2 + d : x->shape[d - lead] == 1 ? kit_below(4) : x->shape[d - lead];
            asked[d] = d >= lead && shape[d] == x->shape[d - lead] && kit_random() & 1 ? -1 : shape[d];
        }
        const mapping m = {.map = by_broadcast, .a = lead, .b = (int64_t)(intptr_t)x};
        shows(tn_expand(x->t, tn_dims_of(asked, n)), x, n, shape, &m, true, "expand");
        shows(tn_expand_as(x->t, tn_empty(tn_dims_of(shape, n))), x, n, shape, &m, true, "expand_as");
    }
}

static void run_expand(void)
{
    each_array(expand_each, false);
    tn_scope *s = tn_scope_open();
    tn_tensor *x = tn_ones(TN_SHAPE(2, 1));
    REFUSED(tn_expand(x, TN_SHAPE(3, 1)), TN_EINVAL,
            "The expanded size of the tensor (3) must match the existing size (2) at non-singleton "
            "dimension 0.  Target sizes: [3, 1].  Tensor sizes: [2, 1]");
    REFUSED(tn_expand(x, TN_SHAPE(2)), TN_EINVAL,
            "the number of sizes provided (1) must be greater or equal to the number of dimensions in the tensor (2)");
    REFUSED(tn_expand(x, TN_SHAPE(-1, 2, 1)), TN_EINVAL,
            "The expanded size of the tensor (-1) isn't allowed in a leading, non-existing dimension 0");
    tn_scope_close(s);
}

/* ---- diagonal ---- */

static void by_diagonal(const int64_t *at, int64_t *from, const mapping *m)
{
    int32_t k = 0;
    for (int32_t d = 0; d < m->n; d++)
        if (d != m->a && d != m->b)
            from[d] = at[k++];
    from[m->a] = at[k] + (m->c < 0 ? -m->c : 0);
    from[m->b] = at[k] + (m->c > 0 ? m->c : 0);
}

static void diagonal_each(kit_array *x)
{
    for (int32_t a = 0; a < x->ndim; a++)
        for (int32_t b = 0; b < x->ndim; b++)
            for (int64_t offset = -3; offset <= 3 && a != b; offset++) {
                int64_t shape[TN_MAX_DIMS], rows = x->shape[a] + (offset < 0 ? offset : 0),
                                            cols = x->shape[b] - (offset > 0 ? offset : 0);
                int32_t n = 0;
                const mapping m = {.map = by_diagonal, .n = x->ndim, .a = a, .b = b, .c = offset};
                for (int32_t d = 0; d < x->ndim; d++)
                    if (d != a && d != b)
                        shape[n++] = x->shape[d];
                shape[n] = rows < cols ? rows : cols;
                shape[n] = shape[n] < 0 ? 0 : shape[n];
                shows(tn_diagonal(x->t, offset, a, b - x->ndim), x, n + 1, shape, &m, true, "diagonal");
            }
}

static void run_diagonal(void)
{
    each_array(diagonal_each, false);
    tn_scope *s = tn_scope_open();
    tn_tensor *x = tn_ones(TN_SHAPE(2, 3));
    REFUSED(tn_diagonal(x, 0, 0, 0), TN_EINVAL, "diagonal dimensions cannot be identical 0, 0");
    REFUSED(tn_diagonal(x, 0, 0, 2), TN_EINDEX,
            "Dimension out of range (expected to be in range of [-2, 1], but got 2)");
    tn_scope_close(s);
}

/* ---- as_strided, detach, alias ---- */

static void as_strided_each(kit_array *x)
{
    if (x->numel == 0)
        return;
    kit_fence(x, false);
    int64_t bytes = (int64_t)x->size - (int64_t)x->offset, room = bytes / kit_size(x->dtype), size = kit_size(x->dtype);
    for (int k = 0; k < 4; k++) {
        int64_t shape[2] = {1 + kit_below(3), 1 + kit_below(3)}, stride[2] = {kit_below(3), kit_below(3)}, at[2];
        int64_t last = (shape[0] - 1) * stride[0] + (shape[1] - 1) * stride[1], start = kit_below(3);
        /* storage begins at the view's first byte for user memory, at the whole's for views of it */
        bool whole = x->flat || x->layout == KIT_SLICED || x->layout == KIT_STEPPED || x->layout == KIT_EXPANDED;
        const unsigned char *base = whole ? x->bytes : x->bytes + x->offset;
        int64_t n = whole ? (int64_t)x->size / size : room;
        tn_tensor *got = tn_as_strided(x->t, TN_DIMS(shape[0], shape[1]), TN_DIMS(stride[0], stride[1]), start);
        if (start + last >= n) {
            refused(got, TN_EINVAL, "are out of bounds for storage of size", "as_strided");
            continue;
        }
        expected e;
        expected_init(&e, x->dtype, 2, shape);
        for (int64_t i = 0; i < e.numel; i++) {
            kit_unravel(i, 2, shape, at);
            e.v[i] = kit_load(x->dtype, base + (start + kit_ravel(2, stride, at)) * size);
        }
        check_free(&e, got, "as_strided of %s %s", tn_dtype_name(x->dtype), kit_layout_names[x->layout]);
    }
}

static void run_as_strided(void)
{
    each_array(as_strided_each, false);
    tn_scope *s = tn_scope_open();
    tn_tensor *x = tn_ones(TN_SHAPE(4));
    REFUSED(tn_as_strided(x, TN_DIMS(2), TN_DIMS(-1), 1), TN_EINVAL,
            "as_strided: Negative strides are not supported at the moment, got strides: [-1]");
    REFUSED(tn_as_strided(x, TN_DIMS(2, 2), TN_DIMS(1), 0), TN_EINVAL, "mismatch in length of strides and shape");
    REFUSED(tn_as_strided(x, TN_DIMS(2), TN_DIMS(1), -1), TN_EINVAL, "Tensor: invalid storage offset -1");
    REFUSED(tn_as_strided(x, TN_DIMS(2), TN_DIMS(INT64_MAX), 1), TN_EINVAL, "");
    REFUSED(tn_as_strided(x, TN_DIMS(2), TN_DIMS(3), 1), TN_EINVAL,
            "setStorage: sizes [2], strides [3], storage offset 1, and itemsize 4 requiring a storage size of 20 are "
            "out of bounds for storage of size 16");
    tn_scope_close(s);
}

static void detach_each(kit_array *x)
{
    tn_tensor *got = tn_detach(x->t);
    same_order(x, x->ndim, x->shape, got, true, "detach");
    TRUTH(got != x->t && !tn_tensor_requires_grad(got));
}

static void alias_each(kit_array *x)
{
    tn_tensor *got = tn_alias(x->t);
    same_order(x, x->ndim, x->shape, got, true, "alias");
}

static void run_alias(void)
{
    each_array(alias_each, false);
}

static void run_detach(void)
{
    each_array(detach_each, false);
}

/* ---- moved, raised and broadcast ---- */

static void run_movedim(void)
{
    tn_scope *s = tn_scope_open();
    tn_tensor *x = tn_reshape(tn_arange(0, 6, 1), TN_SHAPE(1, 2, 3)), *zero = tn_ones(TN_SHAPE());
    HOLDS(tn_movedim(x, TN_DIMS(2), TN_DIMS(0)), TN_SHAPE(3, 1, 2), 0, 3, 1, 4, 2, 5);
    HOLDS(tn_movedim(x, TN_DIMS(0, -1), TN_DIMS(-1, -2)), TN_SHAPE(2, 3, 1), 0, 1, 2, 3, 4, 5);
    HOLDS(tn_movedim(x, TN_DIMS(1, 2), TN_DIMS(2, 0)), TN_SHAPE(3, 1, 2), 0, 3, 1, 4, 2, 5);
    HOLDS(tn_movedim(zero, TN_DIMS(-1), TN_DIMS(0)), TN_SHAPE(), 1);
    TRUTH(tn_tensor_shares_memory(tn_movedim(x, TN_DIMS(2), TN_DIMS(0)), x));
    REFUSED(
        tn_movedim(x, TN_DIMS(0, 1), TN_DIMS(0)), TN_EINVAL,
        "movedim: Invalid source or destination dims: source ([0, 1] dims) should contain the same number of dims as "
        "destination ([0] dims)");
    REFUSED(tn_movedim(x, TN_DIMS(0, 0), TN_DIMS(3, 0)), TN_EINDEX,
            "Dimension out of range (expected to be in range of [-3, 2], but got 3)");
    REFUSED(tn_movedim(x, TN_DIMS(0, -3), TN_DIMS(0, 0)), TN_EINVAL, "movedim: repeated dim in `source` ([0, -3])");
    REFUSED(tn_movedim(x, TN_DIMS(0, 1), TN_DIMS(1, -2)), TN_EINVAL,
            "movedim: repeated dim in `destination` ([1, -2])");
    tn_scope_close(s);
}

static void run_atleast(void)
{
    tn_scope *s = tn_scope_open();
    tn_tensor *zero = tn_ones(TN_SHAPE()), *v = tn_arange(0, 2, 1), *m = tn_reshape(v, TN_SHAPE(2, 1));
    tn_tensor *c = tn_reshape(v, TN_SHAPE(1, 1, 2));
    HOLDS(tn_atleast_1d(zero), TN_SHAPE(1), 1);
    HOLDS(tn_atleast_2d(zero), TN_SHAPE(1, 1), 1);
    HOLDS(tn_atleast_3d(zero), TN_SHAPE(1, 1, 1), 1);
    HOLDS(tn_atleast_2d(v), TN_SHAPE(1, 2), 0, 1);
    HOLDS(tn_atleast_3d(v), TN_SHAPE(1, 2, 1), 0, 1);
    HOLDS(tn_atleast_3d(m), TN_SHAPE(2, 1, 1), 0, 1);
    TRUTH(tn_atleast_1d(v) == v && tn_atleast_2d(m) == m && tn_atleast_3d(c) == c);
    TRUTH(tn_tensor_shares_memory(tn_atleast_3d(v), v));
    tn_scope_close(s);
}

static void run_broadcast_tensors(void)
{
    tn_scope *s = tn_scope_open();
    tn_tensor *v = tn_arange(0, 2, 1), *m = tn_ones(TN_SHAPE(2, 1)), *c = tn_ones(TN_SHAPE(2, 2)), *out[3],
              *three[] = {v, m, c};
    const tn_tensors all = {three, 3};
    TRUTH(tn_broadcast_tensors(all, NULL, 0) == 3 && tn_broadcast_tensors(all, out, 3) == 3);
    HOLDS(out[0], TN_SHAPE(2, 2), 0, 1, 0, 1);
    HOLDS(out[1], TN_SHAPE(2, 2), 1, 1, 1, 1);
    TRUTH(out[2] == c && tn_tensor_shares_memory(out[0], v));
    TRUTH(tn_broadcast_tensors(((tn_tensors){NULL, 0}), out, 3) == 0 && tn_error_code() == TN_OK);
    TRUTH(tn_broadcast_tensors(TN_TENSORS(v, tn_ones(TN_SHAPE(3))), out, 3) == 0 &&
          strstr(tn_error_message(),
                 "The size of tensor a (2) must match the size of tensor b (3) at non-singleton dimension 0"));
    TRUTH(tn_broadcast_tensors(all, out, 2) == 0 && strstr(tn_error_message(), "there are 3 tensors, but room for 2"));
    tn_error_clear();
    tn_scope_close(s);
}

static void no_grid(tn_tensors sides, const char *indexing, size_t cap, const char *text)
{
    tn_tensor *out[16];
    TRUTH(tn_meshgrid(sides, indexing, out, cap) == 0 && tn_error_code() == TN_EINVAL &&
          strstr(tn_error_message(), text) != NULL);
}

/* Without a scope each result is the caller's, and nothing else is left. */
static void lists_without_a_scope(void)
{
    tn_tensor *a = tn_arange(0, 2, 1), *b = tn_arange(0, 3, 1), *out[2];
    const int64_t live = tn__door_live();
    TRUTH(tn_meshgrid(TN_TENSORS(a, b), "ij", out, 2) == 2);
    tn_release(out[0]);
    tn_release(out[1]);
    TRUTH(tn_broadcast_tensors(TN_TENSORS(a, a), out, 2) == 2 && out[0] == a);
    tn_release(out[0]);
    tn_release(out[1]);
    TRUTH(tn__door_live() == live);
    tn_release(a);
    tn_release(b);
}

static void run_meshgrid(void)
{
    tn_scope *s = tn_scope_open();
    tn_tensor *a = tn_arange(0, 2, 1), *b = tn_arange(5, 8, 1), *zero = tn_full(TN_SHAPE(), 4), *out[3];
    TRUTH(tn_meshgrid(TN_TENSORS(a, b), "ij", NULL, 0) == 2 && tn_meshgrid(TN_TENSORS(a, b), "ij", out, 3) == 2);
    HOLDS(out[0], TN_SHAPE(2, 3), 0, 0, 0, 1, 1, 1);
    HOLDS(out[1], TN_SHAPE(2, 3), 5, 6, 7, 5, 6, 7);
    TRUTH(tn_tensor_shares_memory(out[0], a) && tn_tensor_shares_memory(out[1], b));
    TRUTH(tn_meshgrid(TN_TENSORS(a, b, tn_to(zero, .dtype = TN_I64)), "xy", out, 3) == 3);
    HOLDS(out[0], TN_SHAPE(3, 2, 1), 0, 1, 0, 1, 0, 1);
    HOLDS(out[1], TN_SHAPE(3, 2, 1), 5, 5, 6, 6, 7, 7);
    HOLDS(out[2], TN_SHAPE(3, 2, 1), 4, 4, 4, 4, 4, 4);
    TRUTH(tn_meshgrid(TN_TENSORS(a), "xy", out, 1) == 1);
    HOLDS(out[0], TN_SHAPE(2), 0, 1);
    no_grid(TN_TENSORS(a, b), "yx", 2, "indexing must be one of \"xy\" or \"ij\", but received: yx");
    no_grid(TN_TENSORS(a, b), NULL, 2, "but received: NULL");
    no_grid(TN_TENSORS(a, b), "ij", 1, "there are 2 tensors, but room for 1");
    no_grid(((tn_tensors){NULL, 0}), "ij", 1, "meshgrid expects a non-empty TensorList");
    no_grid(TN_TENSORS(a, tn_to(b, .dtype = TN_F32)), "ij", 2, "expects all tensors to have the same dtype");
    no_grid(TN_TENSORS(a, tn_empty(TN_SHAPE(2), .dtype = TN_I64, .device = TN_META)), "ij", 2,
            "expects all tensors to have the same device");
    no_grid(TN_TENSORS(tn_reshape(a, TN_SHAPE(1, 2))), "ij", 1, "Expected 0D or 1D tensor in the tensor list but got");
    no_grid(TN_TENSORS(a, a, a, a, a, a, a, a, a), "ij", 16, "at most 8 dimensions");
    tn_scope_close(s);
    lists_without_a_scope();
}

static const structural_case cases[] = {
    {"view", run_view},           {"reshape", run_reshape},
    {"view_as", run_view_as},     {"permute", run_permute},
    {"transpose", run_transpose}, {"t", run_t},
    {"expand", run_expand},       {"expand_as", run_expand},
    {"squeeze", run_squeeze},     {"unsqueeze", run_unsqueeze},
    {"diagonal", run_diagonal},   {"as_strided", run_as_strided},
    {"detach", run_detach},       {"alias", run_alias},
    {"flatten", run_flatten},     {"movedim", run_movedim},
    {"atleast_1d", run_atleast},  {"atleast_2d", run_atleast},
    {"atleast_3d", run_atleast},  {"broadcast_tensors", run_broadcast_tensors},
    {"meshgrid", run_meshgrid},   {NULL, NULL},
};

/* ---- gradients ---- */

F(restride, tn__restride(x, TN_DIMS(1, 3)))
F(view, tn_view(tn_contiguous(tn_mul(x, 2)), TN_SHAPE(2, -1)))
F(permute, tn_permute(x, TN_DIMS(2, 0, 1)))
F(transpose, tn_transpose(x, 0, -1))
F(t, tn_t(x))
F(expand, tn_expand(x, TN_SHAPE(2, 3, 4)))
F(squeeze, tn_squeeze(x))
F(squeeze_dim, tn_squeeze(x, .dim = 1))
F(unsqueeze, tn_unsqueeze(x, 1))
F(diagonal, tn_diagonal(x, 1, 0, 1))
F(diagonal_low, tn_diagonal(x, -1, 1, 2))
F(as_strided, tn_as_strided(tn_clone(x), TN_DIMS(2, 2), TN_DIMS(5, 1), 1))
/* of elements 4 to 7 of twelve, a view of 1, 2, 6 and 7: the first two are none of its input's, and made not to count */
F(as_strided_beyond,
  tn_mul(tn_as_strided(tn_slice(tn_reshape(tn_mul(x, 2), TN_SHAPE(12)), 0, 4, 8, 1), TN_DIMS(2, 2), TN_DIMS(5, 1), 1),
         tn_tensor_from(TN_LIST(0.0, 0.0, 1.0, 3.0), .shape = TN_SHAPE(2, 2), .dtype = TN_F64)))
F(alias, tn_alias(x))
F(reshape, tn_reshape(tn_t(x), TN_SHAPE(6, 2)))
F(flatten, tn_flatten(x, 0, 1))
F(view_as, tn_view_as(tn_contiguous(x), y))
F(expand_as, tn_expand_as(x, y))

F(movedim, tn_movedim(x, TN_DIMS(0), TN_DIMS(1)))
F(atleast_2d, tn_atleast_2d(x))
F(atleast_3d, tn_atleast_3d(x))

static tn_tensor *f_atleast_zero(tn_tensor **in)
{
    return tn_cat(TN_TENSORS(tn_atleast_2d(in[0]), tn_atleast_2d(tn_reshape(tn_atleast_3d(in[0]), TN_SHAPE(1)))), 0);
}

/* Both results, one beside the other. */
static tn_tensor *f_meshgrid(tn_tensor **in)
{
    tn_tensor *out[2];
    return tn_meshgrid(((tn_tensors){in, 2}), "xy", out, 2) == 2 ? tn_cat(((tn_tensors){out, 2}), 1) : NULL;
}

static tn_tensor *f_broadcast(tn_tensor **in)
{
    tn_tensor *out[2];
    return tn_broadcast_tensors(((tn_tensors){in, 2}), out, 2) == 2 ? tn_cat(((tn_tensors){out, 2}), 1) : NULL;
}

/* writing to a view changes the base: CopySlices */
static tn_tensor *f_slices(tn_tensor **in)
{
    tn_tensor *base = tn_mul(in[0], 2), *second = tn_select(base, 0, 1);
    return tn_mul_(second, tn_select(in[1], 0, 0)) ? tn_mul(base, in[1]) : NULL;
}

static tn_tensor *f_slices_deep(tn_tensor **in)
{
    tn_tensor *base = tn_mul(in[0], 2), *part = tn_slice(tn_t(base), 0, 0, 4, 2);
    return tn_copy_(part, tn_t(tn_slice(in[1], 1, 1, 3, 1))) && tn_exp_(tn_select(base, 0, 2)) ? base : NULL;
}

static const gradient_case gradients[] = {
    ONE(restride),
    ONE(view),
    {"permute", f_permute, 1, {{3, {2, 3, 2}}}, false},
    ONE(transpose),
    ONE(t),
    {"t of a vector", f_t, 1, {NINE}, false},
    {"expand", f_expand, 1, {{2, {3, 1}}}, false},
    {"squeeze", f_squeeze, 1, {{3, {1, 3, 1}}}, false},
    {"squeeze_dim", f_squeeze_dim, 1, {{3, {1, 1, 3}}}, false},
    ONE(unsqueeze),
    ONE(diagonal),
    {"diagonal_low", f_diagonal_low, 1, {{3, {2, 3, 2}}}, false},
    ONE(as_strided),
    ONE(as_strided_beyond),
    ONE(alias),
    ONE(reshape),
    ONE(flatten),
    {"view_as", f_view_as, 2, {M34, {2, {2, 6}}}, false},
    {"expand_as", f_expand_as, 2, {NINE, M34}, false},
    ONE(movedim),
    {"atleast_2d", f_atleast_2d, 1, {NINE}, false},
    {"atleast_3d", f_atleast_3d, 1, {NINE}, false},
    {"atleast of no dimensions", f_atleast_zero, 1, {{0, {0}}}, false},
    {"meshgrid", f_meshgrid, 2, {NINE, {1, {3}}}, false},
    {"broadcast_tensors", f_broadcast, 2, {NINE, M34}, false},
    TWO(slices),
    TWO(slices_deep),
    {NULL, NULL, 0, {{0, {0}}}, false},
};

/* ---- PyTorch's records ---- */

TWO_TENSORS(view_as)
TWO_TENSORS(expand_as)
SHAPED(view, tn_view, "size")
SHAPED(reshape, tn_reshape, "shape")
SHAPED(expand, tn_expand, "size")
SHAPED(permute, tn_permute, "dims")

static bool record_reshape_as(record *r, results *out)
{
    return give(out, tn_reshape(r->input.t, tn_tensor_shape(record_arg(r, 0, "other").t)));
}

static bool record_transpose(record *r, results *out)
{
    return give(out,
                tn_transpose(r->input.t, int_of(record_arg(r, 0, "dim0"), 0), int_of(record_arg(r, 1, "dim1"), 0)));
}

static bool record_t(record *r, results *out)
{
    return give(out, tn_t(r->input.t));
}

/* x.T: dimensions reversed */
static bool record_T(record *r, results *out)
{
    dims_buffer b;
    int32_t n = tn_tensor_ndim(r->input.t);
    for (int32_t d = 0; d < n; d++)
        b.d[d] = n - 1 - d;
    return give(out, tn_permute(r->input.t, tn_dims_of(b.d, n)));
}

static bool record_squeeze(record *r, results *out)
{
    dims_buffer b;
    tn_dims dim = dims_of(record_arg(r, 0, "dim"), &b);
    return give(out, tn_squeeze(r->input.t, .dims = dim));
}

static bool record_unsqueeze(record *r, results *out)
{
    return give(out, tn_unsqueeze(r->input.t, int_of(record_arg(r, 0, "dim"), 0)));
}

static bool record_diagonal(record *r, results *out)
{
    return give(out, tn_diagonal(r->input.t, int_of(record_arg(r, 0, "offset"), 0), int_of(record_arg(r, 1, "dim1"), 0),
                                 int_of(record_arg(r, 2, "dim2"), 1)));
}

static bool record_flatten(record *r, results *out)
{
    return give(
        out, tn_flatten(r->input.t, int_of(record_arg(r, 0, "start_dim"), 0), int_of(record_arg(r, 1, "end_dim"), -1)));
}

static bool record_as_strided(record *r, results *out)
{
    dims_buffer size, stride;
    tn_dims s = dims_of(record_arg(r, 0, "size"), &size), t = dims_of(record_arg(r, 1, "stride"), &stride);
    return give(out, tn_as_strided(r->input.t, s, t, int_of(record_arg(r, 2, "storage_offset"), 0)));
}

static bool record_movedim(record *r, results *out)
{
    dims_buffer b, c;
    tn_dims from = dims_of(record_arg(r, 0, "source"), &b), to = dims_of(record_arg(r, 1, "destination"), &c);
    return give(out, tn_movedim(r->input.t, from, to));
}

static bool record_unflatten(record *r, results *out)
{
    dims_buffer b;
    return give(out,
                tn_unflatten(r->input.t, int_of(record_arg(r, 0, "dim"), 0), dims_of(record_arg(r, 1, "sizes"), &b)));
}

static const named_adapter adapters[] = {
    {"view", record_view},
    {"reshape", record_reshape},
    {"view_as", record_view_as},
    {"reshape_as", record_reshape_as},
    {"expand", record_expand},
    {"expand_as", record_expand_as},
    {"broadcast_to", record_expand},
    {"permute", record_permute},
    {"transpose", record_transpose},
    {"t", record_t},
    {"T", record_T},
    {"squeeze", record_squeeze},
    {"squeeze.multiple", record_squeeze},
    {"unsqueeze", record_unsqueeze},
    {"diagonal", record_diagonal},
    {"flatten", record_flatten},
    {"as_strided", record_as_strided},
    {"movedim", record_movedim},
    {"unflatten", record_unflatten},
    {NULL, NULL},
};

const family_tests view_tests = {cases, gradients, adapters};
