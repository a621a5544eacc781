/* Views: what a view shows is compared with where its elements come from in the row-major values; it shares x's
 * memory, and strides are what PyTorch gives. */
#include "ops/structural.h"
#include <string.h>

/* A mapping from the view's coordinates to x's, set by each case before it calls 'shows'. */
typedef struct mapping {
    void (*map)(const int64_t *at, int64_t *from, const struct mapping *m);
    int64_t a, b, c, e;
    const int64_t *list;
    int32_t n;
} mapping;

/* got has that shape and shows, at each place, x's element that the mapping names; copies are told apart. */
static void shows(const tn_tensor *got, const kit_array *x, int32_t ndim, const int64_t *shape, const mapping *m,
                  bool shares, const char *name)
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
        in_order(x, order, tn_permute(x->t, ((tn_dims){x->ndim, asked})), "permute");
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
        const tn_dims dims = {n, asked};
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
    tn_tensor *other = tn_ones(((tn_dims){n, shape}));
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
        tn_tensor *got = mask ? tn_squeeze(x->t, .dim = ((tn_dims){named, dims})) : tn_squeeze(x->t);
        same_order(x, n, shape, got, true, "squeeze");
    }
}

static void run_squeeze(void)
{
    each_array(squeeze_each, false);
    tn_scope *s = tn_scope_open();
    REFUSED(tn_squeeze(tn_ones(TN_SHAPE(1)), .dim = TN_DIMS(1)), TN_EINDEX,
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
        shows(tn_expand(x->t, ((tn_dims){n, asked})), x, n, shape, &m, true, "expand");
        shows(tn_expand_as(x->t, tn_empty(((tn_dims){n, shape}))), x, n, shape, &m, true, "expand_as");
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

/* ---- parts ---- */

static void by_part(const int64_t *at, int64_t *from, const mapping *m)
{
    for (int32_t d = 0, k = 0; d < m->n; d++)
        from[d] = d == m->a ? m->b + (m->e ? 0 : at[k++] * m->c) : at[k++];
}

static void select_each(kit_array *x)
{
    for (int32_t d = 0; d < x->ndim; d++)
        for (int64_t i = -x->shape[d]; i < x->shape[d]; i++) {
            int64_t shape[TN_MAX_DIMS];
            const mapping m = {.map = by_part, .n = x->ndim, .a = d, .b = i < 0 ? i + x->shape[d] : i, .e = 1};
            int32_t n = without_dim(x, d, false, shape);
            shows(tn_select(x->t, d, i), x, n, shape, &m, true, "select");
        }
}

static void run_select(void)
{
    each_array(select_each, false);
    tn_scope *s = tn_scope_open();
    tn_tensor *x = tn_ones(TN_SHAPE(2, 3));
    REFUSED(tn_select(x, 0, 2), TN_EINDEX, "select(): index 2 out of range for tensor of size [2, 3] at dimension 0");
    REFUSED(tn_select(x, 0, -3), TN_EINDEX, "select(): index -3 out of range for tensor of size [2, 3] at dimension 0");
    REFUSED(tn_select(tn_ones(TN_SHAPE()), 0, 0), TN_EINDEX, "select() cannot be applied to a 0-dim tensor.");
    tn_scope_close(s);
}

/* Python's slice with a positive step. */
static int64_t slice_length(int64_t n, int64_t *start, int64_t end, int64_t step)
{
    *start = *start < 0 ? *start + n : *start;
    end = end < 0 ? end + n : end;
    *start = *start < 0 ? 0 : *start > n ? n : *start;
    end = end > n ? n : end;
    int64_t count = 0;
    for (int64_t i = *start; i < end; i += step)
        count++;
    return count;
}

static void one_slice(kit_array *x, int32_t d, int64_t start, int64_t end, int64_t step)
{
    int64_t shape[TN_MAX_DIMS], first = start, n = slice_length(x->shape[d], &first, end, step);
    const mapping m = {.map = by_part, .n = x->ndim, .a = d, .b = first, .c = step};
    memcpy(shape, x->shape, sizeof shape);
    shape[d] = n;
    shows(tn_slice(x->t, d, start, end, step), x, x->ndim, shape, &m, true, "slice");
}

static void slice_each(kit_array *x)
{
    for (int32_t d = 0; d < x->ndim; d++) {
        for (int k = 0; k < 8; k++)
            one_slice(x, d, kit_below(14) - 7, kit_below(14) - 7, 1 + kit_below(4));
        one_slice(x, d, 0, INT64_MAX, 1);
        one_slice(x, d, INT64_MIN / 2, INT64_MAX, 2);
    }
}

static void run_slice(void)
{
    each_array(slice_each, false);
    tn_scope *s = tn_scope_open();
    tn_tensor *x = tn_ones(TN_SHAPE(2, 3));
    REFUSED(tn_slice(x, 0, 0, 2, 0), TN_EINVAL, "slice step must be positive");
    REFUSED(tn_slice(x, 0, 0, 2, -1), TN_EINVAL, "slice step must be positive");
    REFUSED(tn_slice(tn_ones(TN_SHAPE()), 0, 0, 1, 1), TN_EINDEX, "slice() cannot be applied to a 0-dim tensor.");
    tn_scope_close(s);
}

static void narrow_each(kit_array *x)
{
    for (int32_t d = 0; d < x->ndim; d++)
        for (int k = 0; k < 4; k++) {
            int64_t n = x->shape[d], start = kit_below(n + 1), length = kit_below(n - start + 1), shape[TN_MAX_DIMS];
            const mapping m = {.map = by_part, .n = x->ndim, .a = d, .b = start, .c = 1};
            memcpy(shape, x->shape, sizeof shape);
            shape[d] = length;
            shows(tn_narrow(x->t, d, start < n && k & 1 ? start - n : start, length), x, x->ndim, shape, &m, true,
                  "narrow");
        }
}

static void run_narrow(void)
{
    each_array(narrow_each, false);
    tn_scope *s = tn_scope_open();
    tn_tensor *x = tn_ones(TN_SHAPE(2, 3));
    REFUSED(tn_narrow(x, 1, 2, 2), TN_EINVAL, "start (2) + length (2) exceeds dimension size (3).");
    REFUSED(tn_narrow(x, 1, 4, 0), TN_EINDEX, "start out of range (expected to be in range of [-3, 3], but got 4)");
    REFUSED(tn_narrow(x, 1, 0, -1), TN_EINVAL, "narrow(): length must be non-negative.");
    REFUSED(tn_narrow(tn_ones(TN_SHAPE()), 0, 0, 1), TN_EINVAL, "narrow() cannot be applied to a 0-dim tensor.");
    tn_scope_close(s);
}

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

/* ---- pieces ---- */

static void pieces_are(kit_array *x, int32_t d, tn_tensor *const *got, int64_t n, const int64_t *length,
                       const char *name)
{
    int64_t at = 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t shape[TN_MAX_DIMS];
        const mapping m = {.map = by_part, .n = x->ndim, .a = d, .b = at, .c = 1};
        memcpy(shape, x->shape, sizeof shape);
        shape[d] = length[i];
        shows(got[i], x, x->ndim, shape, &m, true, name);
        at += length[i];
    }
}

static void same_count(int64_t got, int64_t want, const char *name)
{
    kit.cases++;
    if (got != want)
        kit_fail("%s gives %lld pieces, not %lld; %s", name, (long long)got, (long long)want, tn_error_message());
    tn_error_clear();
}

/* Pieces of at most 'each'. */
static int64_t lengths_of(int64_t n, int64_t each, int64_t *length)
{
    int64_t count = 0;
    do {
        length[count++] = n < each ? n : each;
        n -= n < each ? n : each;
    } while (n > 0);
    return count;
}

static void split_each(kit_array *x)
{
    for (int32_t d = 0; d < x->ndim; d++)
        for (int64_t each = 1; each < 5; each++) {
            tn_tensor *out[16];
            int64_t length[16], n = lengths_of(x->shape[d], each, length);
            same_count(tn_split(x->t, each, d, NULL, 0), n, "split (counting)");
            int64_t got = tn_split(x->t, each, d, out, 16);
            same_count(got, n, "split");
            if (got == n)
                pieces_are(x, d, out, n, length, "split");
        }
}

static void split_sizes_each(kit_array *x)
{
    for (int32_t d = 0; d < x->ndim; d++) {
        tn_tensor *out[3];
        int64_t a = kit_below(x->shape[d] + 1), b = kit_below(x->shape[d] - a + 1),
                length[3] = {a, b, x->shape[d] - a - b};
        int64_t got = tn_split_sizes(x->t, TN_DIMS(length[0], length[1], length[2]), d, out, 3);
        same_count(got, 3, "split_sizes");
        if (got == 3)
            pieces_are(x, d, out, 3, length, "split_sizes");
    }
}

static void chunk_each(kit_array *x)
{
    for (int32_t d = 0; d < x->ndim; d++)
        for (int64_t chunks = 1; chunks < 6; chunks++) {
            tn_tensor *out[16];
            int64_t length[16] = {0}, n = x->shape[d], each = (n + chunks - 1) / chunks, want = chunks;
            if (n) /* else that many empty ones */
                want = lengths_of(n, each, length);
            int64_t got = tn_chunk(x->t, chunks, d, out, 16);
            same_count(got, want, "chunk");
            if (got == want)
                pieces_are(x, d, out, want, length, "chunk");
        }
}

static void unbind_each(kit_array *x)
{
    for (int32_t d = 0; d < x->ndim; d++) {
        tn_tensor *out[16];
        int64_t got = tn_unbind(x->t, d, out, 16);
        same_count(got, x->shape[d], "unbind");
        for (int64_t i = 0; i < x->shape[d] && got == x->shape[d]; i++) {
            int64_t shape[TN_MAX_DIMS];
            const mapping m = {.map = by_part, .n = x->ndim, .a = d, .b = i, .e = 1};
            int32_t n = without_dim(x, d, false, shape);
            shows(out[i], x, n, shape, &m, true, "unbind");
        }
    }
}

static void no_pieces(int64_t got, const char *text, const char *what)
{
    refused(got ? "" : NULL, TN_EINVAL, text, what);
}

static void run_split(void)
{
    tn_tensor *out[2];
    each_array(split_each, false);
    tn_scope *s = tn_scope_open();
    tn_tensor *x = tn_ones(TN_SHAPE(5));
    no_pieces(tn_split(x, -1, 0, out, 2), "split expects split_size be non-negative, but got split_size=-1", "split");
    no_pieces(tn_split(x, 0, 0, out, 2), "split_size can only be 0 if dimension size is 0, but got dimension size of ",
              "split");
    no_pieces(tn_split(x, 1, 0, out, 2), "there are 5 pieces, but room for 2", "split");
    no_pieces(tn_split(tn_ones(TN_SHAPE()), 1, 0, out, 2), "split expects at least a 1-dimensional tensor", "split");
    tn_scope_close(s);
}

static void run_split_sizes(void)
{
    tn_tensor *out[2];
    each_array(split_sizes_each, false);
    tn_scope *s = tn_scope_open();
    tn_tensor *x = tn_ones(TN_SHAPE(5));
    no_pieces(tn_split_sizes(x, TN_DIMS(2, 2), 0, out, 2),
              "split_with_sizes expects split_sizes to sum exactly to 5 (input tensor's size at dimension 0), but got "
              "split_sizes=[2, 2]",
              "split");
    no_pieces(tn_split_sizes(x, TN_DIMS(6, -1), 0, out, 2),
              "split_with_sizes expects split_sizes have only non-negative entries, but got split_sizes=[6, -1]",
              "split");
    tn_scope_close(s);
}

static void run_chunk(void)
{
    tn_tensor *out[2];
    each_array(chunk_each, false);
    tn_scope *s = tn_scope_open();
    no_pieces(tn_chunk(tn_ones(TN_SHAPE(5)), 0, 0, out, 2), "chunk expects `chunks` to be greater than 0, got: 0",
              "chunk");
    no_pieces(tn_chunk(tn_ones(TN_SHAPE()), 1, 0, out, 2), "chunk expects at least a 1-dimensional tensor", "chunk");
    tn_scope_close(s);
}

static void run_unbind(void)
{
    tn_tensor *out[2];
    each_array(unbind_each, false);
    tn_scope *s = tn_scope_open();
    no_pieces(tn_unbind(tn_ones(TN_SHAPE(5)), 0, out, 2), "there are 5 pieces, but room for 2", "unbind");
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

/* ---- sum_to_size ---- */

static void sum_to_size_each(kit_array *x)
{
    for (uint32_t mask = 0; mask<1U << x->ndim; mask += x->ndim> 4 ? 11 : 1) {
        int64_t shape[TN_MAX_DIMS], at[TN_MAX_DIMS];
        int32_t lead = 0, n;
        while (lead < x->ndim && mask >> lead & 1 && kit_random() & 1)
            lead++; /* these go altogether */
        n = x->ndim - lead;
        for (int32_t d = lead; d < x->ndim; d++)
            shape[d - lead] = mask >> d & 1 ? 1 : x->shape[d];
        expected e;
        bool same = n == x->ndim;
        for (int32_t d = 0; same && d < n; d++)
            same = shape[d] == x->shape[d];
        expected_init(&e, kit_is_float(x->dtype) || (same && x->ndim) ? x->dtype : TN_I64, n, shape);
        expected_tolerate(&e);
        for (int64_t i = 0; i < x->numel; i++) {
            int64_t o = 0;
            kit_unravel(i, x->ndim, x->shape, at);
            for (int32_t d = lead; d < x->ndim; d++)
                o = o * shape[d - lead] + (shape[d - lead] == 1 ? 0 : at[d]);
            e.v[o] += x->v[i];
            e.tol[o] += 8 * compute_eps(x->dtype) * fabsl(x->v[i]);
        }
        e.ulps = 1;
        check_free(&e, tn_sum_to_size(x->t, ((tn_dims){n, shape})), "sum_to_size of %s %s %s to %s",
                   tn_dtype_name(x->dtype), kit_shape_text(x->ndim, x->shape), kit_layout_names[x->layout],
                   kit_shape_text(n, shape));
    }
}

static void run_sum_to_size(void)
{
    each_array(sum_to_size_each, true);
    tn_scope *s = tn_scope_open();
    REFUSED(tn_sum_to_size(tn_ones(TN_SHAPE(2, 3)), TN_SHAPE(2)), TN_EINVAL,
            "size {[2]} is not expandable to size {[2, 3]}.");
    tn_scope_close(s);
}

const structural_case cases_view[] = {
    {"view", run_view},
    {"reshape", run_reshape},
    {"view_as", run_view_as},
    {"permute", run_permute},
    {"transpose", run_transpose},
    {"t", run_t},
    {"expand", run_expand},
    {"expand_as", run_expand},
    {"squeeze", run_squeeze},
    {"unsqueeze", run_unsqueeze},
    {"select", run_select},
    {"slice", run_slice},
    {"narrow", run_narrow},
    {"diagonal", run_diagonal},
    {"as_strided", run_as_strided},
    {"detach", run_detach},
    {"alias", run_alias},
    {"flatten", run_flatten},
    {"sum_to_size", run_sum_to_size},
    {"split", run_split},
    {"split_sizes", run_split_sizes},
    {"chunk", run_chunk},
    {"unbind", run_unbind},
    {NULL, NULL},
};
