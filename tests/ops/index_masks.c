/* Reading and writing by several indices and by masks. */
#include "ops/family.h"
#include <string.h>

/* ---- one draw of x[i0, :, mask ...] ---- */

typedef struct draw {
    const kit_array *x;
    tn_tensor *list[TN_MAX_DIMS]; /* the argument */
    size_t n_list;
    int64_t *at[TN_MAX_DIMS]; /* by dimension of x: coordinates, one for each element of the common shape; NULL: all */
    kit_array index[TN_MAX_DIMS];
    int n_index;
    int32_t ndim, result_ndim, place;
    int64_t common[TN_MAX_DIMS], count, result[TN_MAX_DIMS];
} draw;

static tn_tensors list_of(draw *p)
{
    return (tn_tensors){p->list, p->n_list};
}

/* A mask over k dimensions from d on, alone or with indices that fit it: the common shape is how many are true. */
static void draw_mask(draw *p, int32_t d, int32_t k)
{
    kit_array *m = &p->index[p->n_index++];
    kit_array_init(m, TN_BOOL, k, p->x->shape + d, (kit_layout)kit_below(KIT_LAYOUTS));
    for (int64_t i = 0; i < m->numel; i++)
        m->v[i] = kit_below(3) == 0;
    kit_show(m);
    p->count = 0;
    for (int64_t i = 0; i < m->numel; i++)
        p->count += m->v[i] != 0;
    for (int32_t j = 0; j < k; j++)
        p->at[d + j] = calloc((size_t)p->count + 1, sizeof(int64_t));
    for (int64_t i = 0, n = 0; i < m->numel; i++) {
        int64_t at[TN_MAX_DIMS];
        if (m->v[i] == 0)
            continue;
        kit_unravel(i, k, m->shape, at);
        for (int32_t j = 0; j < k; j++)
            p->at[d + j][n] = at[j];
        n++;
    }
    p->ndim = 1;
    p->common[0] = p->count;
    p->list[p->n_list++] = m->t;
}

/* Integers for dimension d, of a shape that broadcasts to the common one; some count from the end. full: it has that
 * shape itself. */
static void draw_integers(draw *p, int32_t d, bool full)
{
    kit_array *index = &p->index[p->n_index++];
    int64_t shape[TN_MAX_DIMS], size = p->x->shape[d];
    const int32_t from = full ? 0 : (int32_t)kit_below(p->ndim + 1);
    for (int32_t i = from; i < p->ndim; i++)
        shape[i - from] = !full && kit_below(4) == 0 && p->common[i] ? 1 : p->common[i];
    kit_array_init(index, kit_random() & 1 ? TN_I64 : TN_I32, p->ndim - from, shape,
                   (kit_layout)kit_below(KIT_LAYOUTS));
    for (int64_t i = 0; i < index->numel; i++)
        index->v[i] = (real)(kit_below(2 * size) - size);
    kit_show(index);
    p->at[d] = calloc((size_t)p->count + 1, sizeof(int64_t));
    for (int64_t i = 0; i < p->count; i++) {
        const int64_t v = (int64_t)index->v[kit_broadcast(index, p->ndim, p->common, i)];
        p->at[d][i] = v < 0 ? v + size : v;
    }
    p->list[p->n_list++] = index->t;
}

static void shape_result(draw *p)
{
    int32_t first = -1, last = -1, indexed = 0, n = 0;
    for (int32_t d = 0; d < p->x->ndim; d++)
        if (p->at[d]) {
            first = first < 0 ? d : first;
            last = d;
            indexed++;
        }
    p->place = last - first + 1 == indexed ? first : 0;
    for (int32_t d = 0; d <= p->x->ndim; d++) {
        for (int32_t k = 0; d == p->place && k < p->ndim && n < TN_MAX_DIMS; k++)
            p->result[n++] = p->common[k];
        if (d < p->x->ndim && !p->at[d] && n < TN_MAX_DIMS)
            p->result[n++] = p->x->shape[d];
    }
    p->result_ndim = p->ndim + p->x->ndim - indexed;
}

/* False where nothing can be indexed, or the result would have too many dimensions. */
static bool draw_indices(draw *p, const kit_array *x, int form)
{
    *p = (draw){.x = x, .count = 1};
    if (x->ndim == 0)
        return false;
    const int32_t masked = form % 3 == 0 ? (int32_t)kit_below(x->ndim) : -1;
    const int32_t wide = masked >= 0 ? 1 + (int32_t)kit_below(x->ndim - masked) : 0;
    p->ndim = (int32_t)kit_below(3);
    for (int32_t d = 0; d < p->ndim; d++)
        p->count *= p->common[d] = 1 + kit_below(3);
    bool integers = false;
    const int32_t always = (int32_t)kit_below(x->ndim);
    tn_tensor *mask = NULL;
    if (masked >= 0) { /* first, for its count; it is put in its place below */
        draw_mask(p, masked, wide);
        mask = p->list[--p->n_list];
    }
    for (int32_t d = 0; d < x->ndim; d++) {
        if (d == masked) {
            p->list[p->n_list++] = mask;
            d += wide - 1;
            continue;
        }
        if (x->shape[d] && (kit_below(3) == 0 || (masked < 0 && d == always))) {
            draw_integers(p, d, masked < 0 && !integers);
            integers = true;
            continue;
        }
        p->list[p->n_list++] = TN_NONE;
    }
    while (p->n_list && p->list[p->n_list - 1] == TN_NONE && kit_random() & 1)
        p->n_list--;
    shape_result(p);
    return (integers || masked >= 0) && p->result_ndim <= TN_MAX_DIMS;
}

static void draw_free(draw *p)
{
    for (int i = 0; i < p->n_index; i++)
        kit_array_free(&p->index[i]);
    for (int d = 0; d < TN_MAX_DIMS; d++)
        free(p->at[d]);
}

/* Which of x's row-major values the result's element i is. */
static int64_t picked(const draw *p, int64_t i)
{
    int64_t at[TN_MAX_DIMS], common = 0, o = 0;
    int32_t n = 0;
    kit_unravel(i, p->result_ndim, p->result, at);
    for (int32_t k = 0; k < p->ndim; k++)
        common = common * p->common[k] + at[p->place + k];
    for (int32_t d = 0; d < p->x->ndim; d++) {
        n += n == p->place ? p->ndim : 0;
        o = o * p->x->shape[d] + (p->at[d] ? p->at[d][common] : at[n++]);
    }
    return o;
}

static const char *draw_text(const draw *p)
{
    static char text[200];
    size_t n = 0;
    text[0] = '\0';
    for (size_t i = 0; i < p->n_list && n < sizeof text; i++) {
        tn_tensor *t = p->list[i];
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%s%s", i ? ", " : "",
                              t == TN_NONE                    ? ":"
                              : tn_tensor_dtype(t) == TN_BOOL ? "mask"
                                                              : "",
                              t == TN_NONE ? "" : kit_shape_text(tn_tensor_ndim(t), tn_tensor_shape(t).dim));
    }
    return text;
}

static void index_each(kit_array *x)
{
    for (int form = 0; form < 6; form++) {
        draw p;
        expected e;
        if (draw_indices(&p, x, form)) {
            expected_init(&e, x->dtype, p.result_ndim, p.result);
            e.bits = true;
            for (int64_t i = 0; i < e.numel; i++)
                e.v[i] = x->v[picked(&p, i)];
            check_free(&e, tn_index(x->t, list_of(&p)), "index of %s %s %s by %s", tn_dtype_name(x->dtype),
                       kit_shape_text(x->ndim, x->shape), kit_layout_names[x->layout], draw_text(&p));
        }
        draw_free(&p);
    }
}

static void run_index(void)
{
    each_array(index_each, false);
    tn_scope *s = tn_scope_open();
    tn_tensor *x = tn_reshape(tn_arange(0, 6, 1), TN_SHAPE(2, 3)), *i = tn_tensor_from(TN_LIST(0, 3));
    REFUSED_INDEX(tn_index(x, TN_TENSORS(TN_NONE, i)), TN_EINDEX, /* PyTorch counts the indices, not the dimensions */
                  "index 3 is out of bounds for dimension 0 with size 3",
                  "index 3 is out of bounds for dimension with size 3\n  seen by index");
    REFUSED_INDEX(tn_index(x, TN_TENSORS(tn_tensor_from(TN_LIST(-3)))), TN_EINDEX,
                  "index -3 is out of bounds for dimension 0 with size 2",
                  "index -3 is out of bounds for dimension with size 2");
    REFUSED(tn_index(x, TN_TENSORS(i, i, i)), TN_EINDEX, "too many indices for tensor of dimension 2");
    REFUSED(tn_index(x, TN_TENSORS(TN_NONE, tn_eq(x, x))), TN_EINDEX,
            "The shape of the mask [2, 3] at index 0 does not match the shape of the indexed tensor [2, 3] at index 1");
    REFUSED(tn_index(x, TN_TENSORS(i, tn_ones(TN_SHAPE(3, 3), .dtype = TN_BOOL))), TN_EINDEX, "Dimension out of range");
    REFUSED(tn_index(x, TN_TENSORS(tn_eq(x, x), i)), TN_EINDEX, "too many indices for tensor of dimension 2 (got 3)");
    REFUSED(tn_index(tn_zeros(TN_SHAPE(0, 3)), TN_TENSORS(i)), TN_EINDEX, "out of bounds for dimension with size 0");
    TRUTH(tn_equal(tn_index(tn_zeros(TN_SHAPE(2, 0)), TN_TENSORS(i)),
                   tn_zeros(TN_SHAPE(2, 0)))); /* nothing is looked at */
    REFUSED(tn_index(x, TN_TENSORS(tn_ones(TN_SHAPE(2)))), TN_EINDEX,
            "tensors used as indices must be long, int, byte or bool tensors");
    REFUSED(tn_index(x, TN_TENSORS(i, tn_arange(0, 3, 1))), TN_EINDEX,
            "shape mismatch: indexing tensors could not be broadcast together with shapes [2], [3]");
    REFUSED(tn_index(x, TN_TENSORS(tn_ones(TN_SHAPE(3), .dtype = TN_BOOL))), TN_EINDEX,
            "The shape of the mask [3] at index 0 does not match the shape of the indexed tensor [2, 3] at index 0");
    REFUSED(tn_index(x, TN_TENSORS(TN_NONE)), TN_EINDEX, "at least one index must be given");
    REFUSED(tn_index(x, ((tn_tensors){NULL, 0})), TN_EINDEX, "at least one index must be given");
    REFUSED(tn_index(TN_NONE, TN_TENSORS(i)), TN_ETYPE, "must be a tensor is TN_NONE");
    /* a 0-dim mask is a dimension of size 0 or 1 */
    tn_tensor *yes = tn_full(TN_SHAPE(), 1, .dtype = TN_BOOL), *no = tn_full(TN_SHAPE(), 0, .dtype = TN_BOOL);
    TRUTH(tn_equal(tn_index(x, TN_TENSORS(yes)), tn_unsqueeze(x, 0)));
    TRUTH(tn_equal(tn_index(x, TN_TENSORS(no)), tn_empty(TN_SHAPE(0, 2, 3), .dtype = TN_I64)));
    TRUTH(tn_equal(tn_index(tn_full(TN_SHAPE(), 7), TN_TENSORS(yes)), tn_full(TN_SHAPE(1), 7)));
    TRUTH(tn_equal(tn_index(x, TN_TENSORS(tn_tensor_from(TN_LIST(0, 1), .dtype = TN_U8))),
                   tn_slice(x, 0, 1, 2, 1))); /* uint8 is a mask */
    tn_scope_close(s);
}

/* ---- writing ---- */

/* As the library adds: each element rounded to its dtype. */
static real added(tn_dtype d, real a, real b)
{
    if (d == TN_BOOL)
        return a != 0 || b != 0;
    return kit_round(kit_is_float(d) ? a + b : (real)(int64_t)((uint64_t)(int64_t)a + (uint64_t)(int64_t)b), d);
}

/* Values of the result's shape, or of one that broadcasts to it. */
static void draw_values(kit_array *v, const draw *p, bool tame)
{
    int64_t shape[TN_MAX_DIMS];
    const int32_t from = (int32_t)kit_below(p->result_ndim + 1) * (int32_t)(kit_random() & 1);
    for (int32_t i = from; i < p->result_ndim; i++)
        shape[i - from] = kit_below(5) == 0 && p->result[i] ? 1 : p->result[i];
    random_array(v, p->x->dtype, p->result_ndim - from, shape, (kit_layout)kit_below(KIT_LAYOUTS), tame);
}

static void put_once(kit_array *x, int form, bool inplace, bool number)
{
    draw p;
    kit_array v;
    expected e;
    const bool add = form & 1;
    if (draw_indices(&p, x, form)) {
        draw_values(&v, &p, add);
        expected_init(&e, x->dtype, x->ndim, x->shape);
        e.bits = !add;
        e.ulps = add ? 2 : 0; /* long double rounds once more, for each that is added */
        memcpy(e.v, x->v, (size_t)x->numel * sizeof *x->v);
        const int64_t n = kit_count(p.result_ndim, p.result);
        for (int64_t i = 0; i < n; i++) {
            real *to = &e.v[picked(&p, i)],
                 from = number ? kit_round(1, x->dtype) : v.v[kit_broadcast(&v, p.result_ndim, p.result, i)];
            if (!number || add)
                expected_write(&e, to - e.v, from);
            *to = add ? added(x->dtype, *to, from) : from;
        }
        expected_any_order(&e, add ? SUMS : WRITES);
        const tn_scalar values = number ? tn_scalar_i(1) : tn_scalar_t(v.t);
        tn_tensor *got = inplace ? tn_index_put_(x->t, list_of(&p), values, .accumulate = add)
                                 : tn_index_put(x->t, list_of(&p), values, .accumulate = add);
        if (inplace && x->layout == KIT_EXPANDED && n && !got)
            refused(got, TN_EINVAL, "refers to a single memory location", "index_put_");
        else
            check(&e, got, "index_put%s of %s %s %s by %s%s", inplace ? "_" : "", tn_dtype_name(x->dtype),
                  kit_shape_text(x->ndim, x->shape), kit_layout_names[x->layout], draw_text(&p), add ? ", added" : "");
        if (inplace && got) {
            TRUTH(got == x->t);
            expected_in_place(&e, x);
        }
        if (inplace && !kit_surroundings_intact(x))
            kit_fail("index_put_ wrote beside the tensor");
        expected_free(&e);
        kit_array_free(&v);
    }
    draw_free(&p);
}

static void index_put_each(kit_array *x)
{
    for (int form = 0; form < 12; form++)
        put_once(x, form % 6, form & 4 ? x->layout != KIT_EXPANDED : false, form >= 10);
}

static void run_index_put(void)
{
    each_array(index_put_each, true);
    tn_scope *s = tn_scope_open();
    tn_tensor *x = tn_zeros(TN_SHAPE(2, 3)), *i = tn_tensor_from(TN_LIST(0, 1));
    REFUSED(
        tn_index_put(x, TN_TENSORS(i), tn_scalar_t(tn_tensor_from(TN_LIST(0)))), TN_EDTYPE,
        "Index put requires the source and destination dtypes match, got Float for the destination and Long for the "
        "source.");
    REFUSED(tn_index_put(x, TN_TENSORS(i), tn_scalar_t(tn_ones(TN_SHAPE(2)))), TN_EINVAL,
            "shape mismatch: value tensor of shape [2] cannot be broadcast to indexing result of shape [2, 3]");
    REFUSED_INDEX(tn_index_put(x, TN_TENSORS(tn_tensor_from(TN_LIST(2))), 1), TN_EINDEX,
                  "index 2 is out of bounds for dimension 0 with size 2",
                  "index 2 is out of bounds for dimension with size 2");
    tn_tensor *wide = tn_expand(tn_zeros(TN_SHAPE(3)), TN_SHAPE(2, 3)); /* one memory, twice */
    TRUTH(tn_equal(tn_index_put_(wide, TN_TENSORS(TN_NONE, i), 5),
                   tn_expand(tn_tensor_from(TN_LIST(5.f, 5.f, 0.f)), TN_SHAPE(2, 3))));
    TRUTH(tn_equal(tn_index_put_(wide, TN_TENSORS(tn_eq(wide, 0)), 1),
                   tn_expand(tn_tensor_from(TN_LIST(5.f, 5.f, 1.f)), TN_SHAPE(2, 3))));
    REFUSED(tn_index_put_(tn_requires_grad_(tn_ones(TN_SHAPE(3)), true), TN_TENSORS(i), 1), TN_EGRAD,
            "a leaf Variable that requires grad is being used in an in-place operation.");
    REFUSED(tn_index_put(x, TN_TENSORS(i), tn_scalar_none()), TN_ETYPE, "values must be a tensor or a number");
    REFUSED(tn_index_put(tn_full(TN_SHAPE(3), 1), TN_TENSORS(i), 1e30), TN_EINVAL, "");
    tn_scope_close(s);
}

static void index_copy_each(kit_array *x)
{
    for (int32_t d = 0; d < x->ndim; d++)
        for (int inplace = 0; inplace < 2; inplace++) {
            const lane l = lane_of(x, d);
            int64_t shape[TN_MAX_DIMS], n = l.n ? kit_below(9) : 0;
            kit_array index, src;
            expected e;
            index_array(&index, kit_random() & 1 ? TN_I64 : TN_I32, 1, &n, (kit_layout)kit_below(KIT_LAYOUTS),
                        l.n ? l.n : 1);
            memcpy(shape, x->shape, sizeof shape);
            shape[d] = n;
            random_array(&src, x->dtype, x->ndim, shape, (kit_layout)kit_below(KIT_LAYOUTS), false);
            expected_init(&e, x->dtype, x->ndim, x->shape);
            e.bits = true;
            memcpy(e.v, x->v, (size_t)x->numel * sizeof *x->v);
            for (int64_t i = 0; i < src.numel; i++) { /* the last one written stays */
                const int64_t to =
                    (i / (n * l.inner) * l.n + (int64_t)index.v[i / l.inner % n]) * l.inner + i % l.inner;
                expected_write(&e, to, src.v[i]);
                e.v[to] = src.v[i];
            }
            expected_any_order(&e, WRITES);
            tn_tensor *got = inplace ? tn_index_copy_(x->t, d, index.t, src.t) : tn_index_copy(x->t, d, index.t, src.t);
            if (inplace && x->layout == KIT_EXPANDED && x->numel > 1)
                refused(got, TN_EINVAL, "refers to a single memory location", "index_copy_");
            else
                check(&e, got, "index_copy of %s %s %s, dim %d, %lld indices", tn_dtype_name(x->dtype),
                      kit_shape_text(x->ndim, x->shape), kit_layout_names[x->layout], (int)d, (long long)n);
            if (inplace && got)
                expected_in_place(&e, x);
            expected_free(&e);
            kit_array_free(&index);
            kit_array_free(&src);
        }
}

static void run_index_copy(void)
{
    each_array(index_copy_each, false);
    tn_scope *s = tn_scope_open();
    tn_tensor *x = tn_zeros(TN_SHAPE(2, 3)), *i = tn_tensor_from(TN_LIST(0, 1));
    REFUSED_INDEX(tn_index_copy(x, 0, tn_tensor_from(TN_LIST(0, 2)), x), TN_EINDEX,
                  "index 2 is out of bounds for dimension 0 with size 2",
                  "index 2 is out of bounds for dimension with size 2\n  seen by index_copy");
    REFUSED(tn_index_copy(x, 0, i, tn_full(TN_SHAPE(2, 3), 1)), TN_EDTYPE,
            "expected to have the same dtype, but got (self) Float and (source) Long");
    REFUSED(tn_index_copy(x, 0, i, tn_ones(TN_SHAPE(3, 3))), TN_EINDEX, "Number of indices (2) should be equal");
    tn_scope_close(s);
}

/* ---- where something is true ---- */

static void nonzero_each(kit_array *x)
{
    int64_t n = 0, k = 0, shape[2];
    expected e;
    for (int64_t i = 0; i < x->numel; i++)
        n += x->v[i] != 0; /* NaN is not zero */
    shape[0] = n;
    shape[1] = x->ndim;
    expected_init(&e, TN_I64, 2, shape);
    for (int64_t i = 0; i < x->numel; i++) {
        int64_t at[TN_MAX_DIMS];
        if (x->v[i] == 0)
            continue;
        kit_unravel(i, x->ndim, x->shape, at);
        for (int32_t d = 0; d < x->ndim; d++)
            e.v[k++] = (real)at[d];
    }
    check_free(&e, tn_nonzero(x->t), "nonzero of %s %s %s", tn_dtype_name(x->dtype), kit_shape_text(x->ndim, x->shape),
               kit_layout_names[x->layout]);
}

static void run_nonzero(void)
{
    each_array(nonzero_each, false);
    tn_scope *s = tn_scope_open();
    REFUSED(tn_nonzero(TN_NONE), TN_ETYPE, "must be a tensor is TN_NONE");
    TRUTH(!tn_nonzero(tn_ones(TN_SHAPE(3), .device = tn_device_parse("meta")))); /* numbers it has none */
    tn_scope_close(s);
}

/* The mask's shape broadcasts against x's. */
static bool draw_any_mask(kit_array *m, const kit_array *x, int64_t *shape, int32_t *ndim)
{
    int64_t of_mask[TN_MAX_DIMS];
    const int32_t from = (int32_t)kit_below(x->ndim + 1),
                  more = from == 0 && x->ndim < TN_MAX_DIMS && kit_below(4) == 0;
    *ndim = x->ndim + more;
    for (int32_t d = from; d < x->ndim; d++)
        of_mask[d - from + more] = kit_below(4) == 0 ? 1 : x->shape[d];
    if (more)
        of_mask[0] = 2;
    kit_array_init(m, TN_BOOL, x->ndim - from + more, of_mask, (kit_layout)kit_below(KIT_LAYOUTS));
    for (int64_t i = 0; i < m->numel; i++)
        m->v[i] = (real)(kit_random() & 1);
    kit_show(m);
    shape[0] = 2;
    memcpy(shape + more, x->shape, sizeof *shape * (size_t)x->ndim);
    return true;
}

static void masked_each(kit_array *x)
{
    kit_array m, src;
    expected e;
    int64_t shape[TN_MAX_DIMS], n = 0, k = 0;
    int32_t ndim;
    draw_any_mask(&m, x, shape, &ndim);
    const int64_t all = kit_count(ndim, shape);
    for (int64_t i = 0; i < all; i++)
        n += m.v[kit_broadcast(&m, ndim, shape, i)] != 0;
    expected_init(&e, x->dtype, 1, &n);
    e.bits = true;
    for (int64_t i = 0; i < all; i++)
        if (m.v[kit_broadcast(&m, ndim, shape, i)] != 0)
            e.v[k++] = x->v[kit_broadcast(x, ndim, shape, i)];
    check_free(&e, tn_masked_select(x->t, m.t), "masked_select of %s %s %s, mask %s", tn_dtype_name(x->dtype),
               kit_shape_text(x->ndim, x->shape), kit_layout_names[x->layout], kit_shape_text(m.ndim, m.shape));
    const int64_t more = n + kit_below(3);
    random_array(&src, x->dtype, 1, &more, (kit_layout)kit_below(KIT_LAYOUTS), false);
    expected_init(&e, x->dtype, ndim, shape);
    e.bits = true;
    k = 0;
    for (int64_t i = 0; i < all; i++)
        e.v[i] = m.v[kit_broadcast(&m, ndim, shape, i)] != 0 ? src.v[k++] : x->v[kit_broadcast(x, ndim, shape, i)];
    check_free(&e, tn_masked_scatter(x->t, m.t, src.t), "masked_scatter of %s %s %s, mask %s", tn_dtype_name(x->dtype),
               kit_shape_text(x->ndim, x->shape), kit_layout_names[x->layout], kit_shape_text(m.ndim, m.shape));
    kit_array_free(&m);
    kit_array_free(&src);
}

static void run_masked(void)
{
    each_array(masked_each, false);
    tn_scope *s = tn_scope_open();
    tn_tensor *x = tn_ones(TN_SHAPE(2, 3)), *all = tn_eq(x, x);
    REFUSED(tn_masked_select(x, x), TN_EDTYPE, "masked_select: expected BoolTensor for mask");
    REFUSED(tn_masked_select(x, tn_t(all)), TN_EINVAL, "The size of tensor a (3) must match the size of tensor b (2)");
    REFUSED(tn_masked_scatter(x, all, tn_arange(0, 6, 1)), TN_EDTYPE,
            "masked_scatter: expected self and source to have same dtypes but got Float and Long");
    REFUSED(tn_masked_scatter(x, x, x), TN_EDTYPE, "only supports boolean masks, but got mask with dtype Float");
    REFUSED(tn_masked_scatter(x, all, tn_ones(TN_SHAPE(5))), TN_EINVAL,
            "Number of elements of source < number of ones in mask");
    tn_scope_close(s);
}

static void take_along_dim_each(kit_array *x)
{
    for (int32_t d = 0; d < x->ndim; d++) {
        kit_array index;
        expected e;
        int64_t of_index[TN_MAX_DIMS], shape[TN_MAX_DIMS], at[TN_MAX_DIMS];
        for (int32_t k = 0; k < x->ndim; k++) {
            of_index[k] = k == d ? (x->shape[d] ? 3 : 0) : kit_random() & 1 ? x->shape[k] : 1;
            shape[k] = k == d ? of_index[k] : x->shape[k];
        }
        index_array(&index, TN_I64, x->ndim, of_index, (kit_layout)kit_below(KIT_LAYOUTS),
                    x->shape[d] ? x->shape[d] : 1);
        expected_init(&e, x->dtype, x->ndim, shape);
        e.bits = true;
        for (int64_t i = 0; i < e.numel; i++) {
            int64_t o = 0;
            kit_unravel(i, x->ndim, shape, at);
            at[d] = (int64_t)index.v[kit_broadcast(&index, x->ndim, shape, i)];
            for (int32_t k = 0; k < x->ndim; k++)
                o = o * x->shape[k] + at[k];
            e.v[i] = x->v[o];
        }
        check_free(&e, tn_take_along_dim(x->t, index.t, .dim = d), "take_along_dim of %s %s %s, dim %d",
                   tn_dtype_name(x->dtype), kit_shape_text(x->ndim, x->shape), kit_layout_names[x->layout], (int)d);
        kit_array_free(&index);
    }
}

static void run_take_along_dim(void)
{
    each_array(take_along_dim_each, false);
    tn_scope *s = tn_scope_open();
    tn_tensor *x = tn_reshape(tn_arange(0, 6, 1), TN_SHAPE(2, 3));
    TRUTH(tn_equal(tn_take_along_dim(x, tn_tensor_from(TN_LIST(5, 0), .shape = TN_SHAPE(2, 1))),
                   tn_tensor_from(TN_LIST(5, 0))));
    REFUSED(tn_take_along_dim(x, tn_tensor_from(TN_LIST(1)), .dim = 0), TN_EINVAL,
            "input and indices should have the same number of dimensions");
    REFUSED(tn_take_along_dim(x, tn_ones(TN_SHAPE(1, 1)), .dim = 0), TN_EDTYPE,
            "dtype of indices should be Long but got Float");
    tn_scope_close(s);
}

static const structural_case cases[] = {
    {"index", run_index},
    {"index_put", run_index_put},
    {"index_put_", run_index_put},
    {"index_copy", run_index_copy},
    {"nonzero", run_nonzero},
    {"masked_select", run_masked},
    {"masked_scatter", run_masked},
    {"take_along_dim", run_take_along_dim},
    {NULL, NULL},
};

/* ---- gradients ---- */

F(index_copy, tn_index_copy(x, 0, tn_tensor_from(TN_LIST(2, 0)), tn_slice(y, 0, 0, 2, 1)))
F(index, tn_index(x, TN_TENSORS(few_indices(), tn_tensor_from(TN_LIST(-1, 0, 3)))))
F(index_far, tn_index(x, TN_TENSORS(tn_tensor_from(TN_LIST(1, 0, 1)), TN_NONE, tn_tensor_from(TN_LIST(0, 1, 0)))))
F(index_mask, tn_index(x, TN_TENSORS(TN_NONE, tn_tensor_from(TN_LIST(1, 0, 1, 1), .dtype = TN_BOOL))))
F(index_put, tn_index_put(x, TN_TENSORS(TN_NONE, tn_tensor_from(TN_LIST(3, 0))), tn_scalar_t(tn_slice(y, 1, 0, 2, 1))))
F(index_put_added, tn_index_put(x, TN_TENSORS(few_indices()), tn_scalar_t(tn_select(y, 0, 1)), .accumulate = true))
F(index_put_mask, tn_index_put(x, TN_TENSORS(tn_eq(tn_arange(0, 3, 1), 1)), tn_scalar_t(tn_sum(y))))
F(index_put_far,
  tn_mul(tn_index_put_(tn_mul(x, 2), TN_TENSORS(tn_tensor_from(TN_LIST(1, 0)), TN_NONE, tn_tensor_from(TN_LIST(0, 1))),
                       tn_scalar_t(y)),
         3))
F(masked_select, tn_masked_select(x, tn_tensor_from(TN_LIST(1, 0, 1, 1), .dtype = TN_BOOL)))
F(masked_scatter, tn_masked_scatter(x, tn_tensor_from(TN_LIST(1, 0, 1, 1), .dtype = TN_BOOL), y))
F(take_along_dim, tn_take_along_dim(x, tn_tensor_from(TN_LIST(3, 0, 3), .shape = TN_SHAPE(1, 3)), .dim = 1))

static const gradient_case gradients[] = {
    TWO(index_copy),
    ONE(index),
    {"index_far", f_index_far, 1, {{3, {2, 2, 2}}}, false},
    ONE(index_mask),
    TWO(index_put),
    TWO(index_put_added),
    TWO(index_put_mask),
    {"index_put_far", f_index_put_far, 2, {{3, {2, 3, 2}}, {2, {2, 3}}}, false},
    ONE(masked_select),
    TWO(masked_scatter),
    ONE(take_along_dim),
    {NULL, NULL, 0, {{0, {0}}}, false},
};

/* ---- PyTorch's records ---- */

static bool record_nonzero(record *r, results *out)
{
    (void)record_arg(r, -1, "as_tuple");
    return give(out, tn_nonzero(r->input.t));
}

static bool record_masked_select(record *r, results *out)
{
    return give(out, tn_masked_select(r->input.t, record_arg(r, 0, "mask").t));
}

static bool record_masked_scatter(record *r, results *out)
{
    return give(out, tn_masked_scatter(r->input.t, record_arg(r, 0, "mask").t, record_arg(r, 1, "source").t));
}

static bool record_index_put(record *r, results *out)
{
    tn_tensor *t[8];
    value indices = record_arg(r, 0, "indices");
    return give(out, tn_index_put(r->input.t, tensors_of(&indices, t), scalar_of(record_arg(r, 1, "values")),
                                  .accumulate = flag_of(record_arg(r, 2, "accumulate"))));
}

static bool record_index_copy(record *r, results *out)
{
    return give(out, tn_index_copy(r->input.t, int_of(record_arg(r, 0, "dim"), 0), record_arg(r, 1, "index").t,
                                   record_arg(r, 2, "source").t));
}

static bool record_take_along_dim(record *r, results *out)
{
    dims_buffer b;
    tn_dims dim = dims_of(record_arg(r, 1, "dim"), &b);
    tn_tensor *at = record_arg(r, 0, "indices").t;
    return give(out,
                dim.ndim ? tn_take_along_dim(r->input.t, at, .dim = dim.dim[0]) : tn_take_along_dim(r->input.t, at));
}

/* x.put(index, source, accumulate): the same, written */
static bool record_put(record *r, results *out)
{
    tn_tensor *index = record_arg(r, 0, "index").t, *source = record_arg(r, 1, "source").t;
    tn_tensor *flat = tn_reshape(r->input.t, TN_SHAPE(-1));
    flat = tn_index_put(flat, TN_TENSORS(index), tn_scalar_t(tn_reshape(source, tn_tensor_shape(index))),
                        .accumulate = flag_of(record_arg(r, 2, "accumulate")));
    return give(out, tn_reshape(flat, tn_tensor_shape(r->input.t)));
}

static const named_adapter adapters[] = {
    {"nonzero", record_nonzero},
    {"argwhere", record_nonzero},
    {"masked_select", record_masked_select},
    {"masked_scatter", record_masked_scatter},
    {"index_put", record_index_put},
    {"index_copy", record_index_copy},
    {"take_along_dim", record_take_along_dim},
    {"put", record_put},
    {NULL, NULL},
};

const family_tests index_masks_tests = {cases, gradients, adapters};
