/* Reading and writing by index along a dimension. */
#include "ops/family.h"
#include <string.h>

/* ---- gather, scatter, scatter_add ---- */

static const tn_dtype index_dtypes[2] = {TN_I64, TN_I32};

/* An index with fewer rows elsewhere, and more or fewer along dim. */
static void draw_index(kit_array *index, const kit_array *x, int32_t dim, bool longer)
{
    int64_t shape[TN_MAX_DIMS];
    for (int32_t d = 0; d < x->ndim; d++)
        shape[d] = d == dim ? x->shape[d] + longer : x->shape[d] > 1 ? x->shape[d] - kit_below(2) : x->shape[d];
    int64_t n = x->ndim ? x->shape[dim] : 1;
    if (n == 0)
        shape[dim] = 0; /* there is nothing to name */
    index_array(index, index_dtypes[kit_below(2)], x->ndim, shape, (kit_layout)kit_below(KIT_LAYOUTS), n ? n : 1);
}

/* Where in x's row-major values the index's element i points. */
static int64_t pointed(const kit_array *x, const kit_array *index, int32_t dim, int64_t i)
{
    int64_t at[TN_MAX_DIMS], o = 0;
    kit_unravel(i, index->ndim, index->shape, at);
    if (x->ndim)
        at[dim] = (int64_t)index->v[i];
    for (int32_t d = 0; d < x->ndim; d++)
        o = o * x->shape[d] + at[d];
    return o;
}

/* Tables of more than one tile in every layout. */
static void each_large(void (*body)(kit_array *x))
{
    static const shape_list large[] = {{2, {70, 37}}, {2, {33, 150}}, {2, {12, 300}}, {2, {200, 37}}, {3, {3, 40, 21}}};
    for (size_t k = 0; k < TN_COUNT(large); k++)
        for (int i = 0; i < KIT_DTYPES; i++)
            for (int layout = 0; layout < KIT_LAYOUTS; layout++) {
                tn_scope *scope = tn_scope_open();
                kit_array x;
                random_array(&x, kit_dtypes[i], large[k].ndim, large[k].dim, (kit_layout)layout, true);
                body(&x);
                kit_array_free(&x);
                tn_scope_close(scope);
            }
}

static void gather_each(kit_array *x)
{
    for (int32_t d = 0; d < (x->ndim ? x->ndim : 1); d++) {
        kit_array index;
        expected e;
        draw_index(&index, x, d, true);
        expected_init(&e, x->dtype, index.ndim, index.shape);
        e.bits = true;
        for (int64_t i = 0; i < index.numel; i++)
            e.v[i] = x->v[pointed(x, &index, d, i)];
        check_free(&e, tn_gather(x->t, d, index.t), "gather of %s %s %s, dim %d, index %s %s", tn_dtype_name(x->dtype),
                   kit_shape_text(x->ndim, x->shape), kit_layout_names[x->layout], (int)d, tn_dtype_name(index.dtype),
                   kit_shape_text(index.ndim, index.shape));
        kit_array_free(&index);
    }
}

static void run_gather(void)
{
    each_array(gather_each, false);
    each_large(gather_each);
    tn_scope *s = tn_scope_open();
    tn_tensor *x = tn_ones(TN_SHAPE(2, 3)), *i = tn_full(TN_SHAPE(2, 2), 2);
    MADE(tn_gather(x, 1, i));
    REFUSED_INDEX(tn_gather(x, 0, i), TN_EINDEX, "index 2 is out of bounds for dimension 0 with size 2",
                  "index 2 is out of bounds for dimension with size 2\n  seen by gather");
    REFUSED_INDEX(tn_gather(x, 1, tn_full(TN_SHAPE(2, 2), -1)), TN_EINDEX,
                  "index -1 is out of bounds for dimension 1 with size 3",
                  "index -1 is out of bounds for dimension with size 3");
    REFUSED(tn_gather(x, 1, tn_zeros(TN_SHAPE(2, 2))), TN_EDTYPE, "gather(): Expected dtype int32/int64 for index");
    REFUSED(tn_gather(x, 1, tn_full(TN_SHAPE(2), 0)), TN_EINVAL,
            "Index tensor must have the same number of dimensions as input tensor");
    REFUSED(tn_gather(x, 1, tn_full(TN_SHAPE(3, 1), 0)), TN_EINVAL, "Size does not match at dimension 0");
    REFUSED(tn_gather(x, 2, i), TN_EINDEX, "Dimension out of range (expected to be in range of [-2, 1], but got 2)");
    tn_scope_close(s);
}

typedef enum writing { WRITE, WRITE_NUMBER, ADD, MULTIPLY } writing;

/* As the library adds: each element rounded to its dtype, and once. */
static real added(tn_dtype d, real a, real b)
{
    if (d == TN_BOOL)
        return a != 0 || b != 0;
    if (d == TN_F64)
        return (double)a + (double)b;
    return kit_round(kit_is_float(d) ? a + b : (real)(int64_t)((uint64_t)(int64_t)a + (uint64_t)(int64_t)b), d);
}

static real multiplied(tn_dtype d, real a, real b)
{
    if (d == TN_F64)
        return (double)a * (double)b;
    return kit_round(kit_is_float(d) ? a * b : (real)(int64_t)((uint64_t)(int64_t)a * (uint64_t)(int64_t)b), d);
}

static void scatter_once(kit_array *x, int32_t d, writing how, bool inplace)
{
    /* the CPU adds up in float what has 16 bits, and rounds once, as PyTorch does */
    const bool half = kit_on_cpu() && (x->dtype == TN_F16 || x->dtype == TN_BF16);
    const tn_dtype wide = half ? TN_F32 : x->dtype;
    kit_array index, src;
    expected e;
    draw_index(&index, x, d, false);
    random_array(&src, x->dtype, index.ndim, index.shape, (kit_layout)kit_below(KIT_LAYOUTS), how >= ADD);
    expected_init(&e, x->dtype, x->ndim, x->shape);
    e.bits = true;
    e.ulps = how == ADD ? 1 : how == MULTIPLY ? 2 : 0; /* long double rounds once more */
    memcpy(e.v, x->v, (size_t)x->numel * sizeof *x->v);
    for (int64_t i = 0; i < index.numel; i++) { /* the last one written stays */
        real *to = &e.v[pointed(x, &index, d, i)];
        if (how != WRITE_NUMBER)
            expected_write(&e, to - e.v, src.v[i]);
        *to = how == ADD        ? added(wide, *to, src.v[i])
              : how == MULTIPLY ? multiplied(wide, *to, src.v[i])
              : how == WRITE    ? src.v[i]
                                : kit_round(1, x->dtype);
    }
    for (int64_t i = 0; i < x->numel && wide != x->dtype; i++)
        e.v[i] = kit_round(e.v[i], x->dtype);
    expected_any_order(&e, how == ADD ? SUMS : how == MULTIPLY ? PRODUCTS : WRITES);
    tn_tensor *got;
    if (how == ADD)
        got = inplace ? tn_scatter_add_(x->t, d, index.t, src.t) : tn_scatter_add(x->t, d, index.t, src.t);
    else if (how == MULTIPLY)
        got = inplace ? tn_scatter_reduced_(x->t, d, index.t, src.t, "multiply")
                      : tn_scatter_reduced(x->t, d, index.t, src.t, "multiply");
    else if (how == WRITE)
        got = inplace ? tn_scatter_(x->t, d, index.t, src.t) : tn_scatter(x->t, d, index.t, src.t);
    else
        got = inplace ? tn_scatter_(x->t, d, index.t, 1) : tn_scatter(x->t, d, index.t, 1);
    if (inplace && x->layout == KIT_EXPANDED && x->numel > 1)
        refused(got, TN_EINVAL, "more than one element of the written-to tensor refers to a single memory location",
                "scatter_");
    else
        check(&e, got, "scatter %d of %s %s %s, dim %d%s", (int)how, tn_dtype_name(x->dtype),
              kit_shape_text(x->ndim, x->shape), kit_layout_names[x->layout], (int)d, inplace ? ", in place" : "");
    if (inplace && got)
        expected_in_place(&e, x);
    if (inplace && !kit_surroundings_intact(x))
        kit_fail("scatter_ wrote beside the tensor");
    expected_free(&e);
    kit_array_free(&index);
    kit_array_free(&src);
}

static void scatter_each(kit_array *x)
{
    for (int32_t d = 0; d < (x->ndim ? x->ndim : 1); d++)
        for (int form = 0; form < 4; form++)
            scatter_once(x, d, form & 1 ? WRITE_NUMBER : WRITE, form >> 1);
}

static void scatter_add_each(kit_array *x)
{
    for (int32_t d = 0; d < (x->ndim ? x->ndim : 1); d++)
        for (int form = 0; form < 4; form++)
            scatter_once(x, d, form & 1 ? MULTIPLY : ADD, form >> 1);
}

static void run_scatter(void)
{
    each_array(scatter_each, false);
    each_large(scatter_each);
    tn_scope *s = tn_scope_open();
    tn_tensor *x = tn_ones(TN_SHAPE(2, 3)), *i = tn_full(TN_SHAPE(2, 3), 2);
    REFUSED_INDEX(tn_scatter(x, 0, i, x), TN_EINDEX, "index 2 is out of bounds for dimension 0 with size 2",
                  "index 2 is out of bounds for dimension with size 2\n  seen by scatter");
    REFUSED(tn_scatter(x, 1, i, tn_ones(TN_SHAPE(2, 2))), TN_EINVAL,
            "Expected index [2, 3] to be no larger than self [2, 3]");
    REFUSED(tn_scatter(x, 1, i, tn_full(TN_SHAPE(2, 3), 1)), TN_EDTYPE,
            "scatter(): Expected self.dtype to be equal to src.dtype");
    REFUSED(tn_scatter(x, 1, tn_ones(TN_SHAPE(2, 3)), 1), TN_EDTYPE, "scatter(): Expected dtype int32/int64 for index");
    tn_scope_close(s);
}

static void run_scatter_add(void)
{
    each_array(scatter_add_each, true);
    each_large(scatter_add_each);
    tn_scope *s = tn_scope_open();
    tn_tensor *x = tn_zeros(TN_SHAPE(3)), *i = tn_tensor_from(TN_LIST(0, 0, 3));
    REFUSED_INDEX(tn_scatter_add(x, 0, i, x), TN_EINDEX, "index 3 is out of bounds for dimension 0 with size 3",
                  "index 3 is out of bounds for dimension with size 3\n  seen by scatter_add");
    tn_scope_close(s);
}

/* ---- index_select, index_add, embedding, one_hot ---- */

/* Of a dimension of so many. */
static int64_t how_many(int64_t size)
{
    return size > 20 ? 60 + kit_below(20) : size ? kit_below(9) : 0;
}

static void index_select_each(kit_array *x)
{
    for (int32_t d = 0; d < (x->ndim ? x->ndim : 1); d++) {
        const lane l = lane_of(x, d);
        int64_t shape[TN_MAX_DIMS], n = x->ndim == 0 ? 1 : how_many(l.n);
        kit_array index;
        expected e;
        index_array(&index, index_dtypes[kit_below(2)], 1, &n, (kit_layout)kit_below(KIT_LAYOUTS), l.n ? l.n : 1);
        memcpy(shape, x->shape, sizeof shape);
        shape[d] = n;
        expected_init(&e, x->dtype, x->ndim, shape);
        e.bits = true;
        for (int64_t i = 0; i < e.numel; i++)
            e.v[i] = x->v[(i / (n * l.inner) * l.n + (int64_t)index.v[i / l.inner % n]) * l.inner + i % l.inner];
        check_free(&e, tn_index_select(x->t, d, index.t), "index_select of %s %s %s, dim %d, %lld indices",
                   tn_dtype_name(x->dtype), kit_shape_text(x->ndim, x->shape), kit_layout_names[x->layout], (int)d,
                   (long long)n);
        kit_array_free(&index);
    }
}

static void run_index_select(void)
{
    each_array(index_select_each, false);
    each_large(index_select_each);
    tn_scope *s = tn_scope_open();
    tn_tensor *x = tn_ones(TN_SHAPE(2, 3));
    REFUSED_INDEX(tn_index_select(x, 0, tn_tensor_from(TN_LIST(0, 2))), TN_EINDEX, "index out of range in self",
                  "index 2 is out of bounds for dimension with size 2\n  seen by index_select");
    REFUSED_INDEX(tn_index_select(x, 0, tn_tensor_from(TN_LIST(-1))), TN_EINDEX, "index out of range in self",
                  "index -1 is out of bounds for dimension with size 2");
    REFUSED(tn_index_select(x, 0, tn_ones(TN_SHAPE(2))), TN_EDTYPE,
            "index_select(): Expected dtype int32 or int64 for index");
    REFUSED(tn_index_select(x, 0, tn_full(TN_SHAPE(2, 2), 0)), TN_EINDEX,
            "index_select(): Index is supposed to be a vector");
    tn_scope_close(s);
}

static void index_add_each(kit_array *x)
{
    for (int32_t d = 0; d < x->ndim; d++)
        for (int inplace = 0; inplace < 2; inplace++) {
            const lane l = lane_of(x, d);
            int64_t shape[TN_MAX_DIMS], n = how_many(l.n);
            kit_array index, src;
            expected e;
            index_array(&index, index_dtypes[kit_below(2)], 1, &n, KIT_DENSE, l.n ? l.n : 1);
            memcpy(shape, x->shape, sizeof shape);
            shape[d] = n;
            random_array(&src, x->dtype, x->ndim, shape, (kit_layout)kit_below(KIT_LAYOUTS), true);
            expected_init(&e, x->dtype, x->ndim, x->shape);
            e.ulps = 1;
            memcpy(e.v, x->v, (size_t)x->numel * sizeof *x->v);
            for (int64_t i = 0; i < src.numel; i++) {
                real *to = &e.v[(i / (n * l.inner) * l.n + (int64_t)index.v[i / l.inner % n]) * l.inner + i % l.inner];
                expected_write(&e, to - e.v, src.v[i]);
                *to = added(x->dtype, *to, src.v[i]);
            }
            expected_any_order(&e, SUMS);
            tn_tensor *got = inplace ? tn_index_add_(x->t, d, index.t, src.t) : tn_index_add(x->t, d, index.t, src.t);
            if (inplace && x->layout == KIT_EXPANDED && x->numel > 1)
                refused(got, TN_EINVAL, "refers to a single memory location", "index_add_");
            else
                check(&e, got, "index_add of %s %s %s, dim %d, %lld indices", tn_dtype_name(x->dtype),
                      kit_shape_text(x->ndim, x->shape), kit_layout_names[x->layout], (int)d, (long long)n);
            if (inplace && got)
                expected_in_place(&e, x);
            expected_free(&e);
            kit_array_free(&index);
            kit_array_free(&src);
        }
}

static void run_index_add(void)
{
    each_array(index_add_each, true);
    each_large(index_add_each);
    tn_scope *s = tn_scope_open();
    tn_tensor *x = tn_zeros(TN_SHAPE(2, 3)), *i = tn_tensor_from(TN_LIST(0, 1));
    REFUSED_INDEX(tn_index_add(x, 0, tn_tensor_from(TN_LIST(0, 2)), x), TN_EINDEX, "out of",
                  "index 2 is out of bounds for dimension with size 2\n  seen by index_add");
    REFUSED(tn_index_add(x, 0, i, tn_full(TN_SHAPE(2, 3), 1)), TN_EDTYPE, "must have the same scalar type");
    REFUSED(tn_index_add(x, 0, i, tn_ones(TN_SHAPE(3, 3))), TN_EINVAL, "Number of indices (2) should be equal");
    tn_scope_close(s);
}

/* Each array of at most 4 dimensions serves as a shape of indices. */
static void embedding_each(kit_array *x)
{
    static const int64_t table[2] = {6, 5};
    kit_array weight, index;
    int64_t shape[TN_MAX_DIMS];
    expected e;
    if (x->ndim == TN_MAX_DIMS)
        return;
    random_array(&weight, x->dtype, 2, table, (kit_layout)kit_below(KIT_LAYOUTS), false);
    index_array(&index, index_dtypes[kit_below(2)], x->ndim, x->shape, x->layout, 6);
    memcpy(shape, x->shape, sizeof shape);
    shape[x->ndim] = 5;
    expected_init(&e, x->dtype, x->ndim + 1, shape);
    e.bits = true;
    for (int64_t i = 0; i < e.numel; i++)
        e.v[i] = weight.v[(int64_t)index.v[i / 5] * 5 + i % 5];
    check_free(&e, tn_embedding(weight.t, index.t), "embedding of %s %s, index %s %s", tn_dtype_name(x->dtype),
               kit_layout_names[weight.layout], kit_shape_text(x->ndim, x->shape), kit_layout_names[x->layout]);
    kit_array_free(&weight);
    kit_array_free(&index);
}

static void run_embedding(void)
{
    each_array(embedding_each, true);
    tn_scope *s = tn_scope_open();
    tn_tensor *w = tn_reshape(tn_arange(0, 12, 1, .dtype = TN_F32), TN_SHAPE(4, 3)), *i = tn_tensor_from(TN_LIST(1, 3));
    REFUSED_INDEX(tn_embedding(w, tn_tensor_from(TN_LIST(4))), TN_EINDEX, "index out of range in self",
                  "index 4 is out of bounds for dimension with size 4");
    REFUSED(tn_embedding(w, tn_ones(TN_SHAPE(2))), TN_EDTYPE,
            "Expected tensor for argument #1 'indices' to have one of the following "
            "scalar types: Long, Int; but got");
    REFUSED(tn_embedding(tn_ones(TN_SHAPE(4)), i), TN_EINVAL, "'weight' must be 2-D");
    REFUSED(tn_embedding(w, i, .padding_idx = tn_scalar_i(4)), TN_EINVAL, "Padding_idx must be within num_embeddings");
    /* rows 1 (3, 4, 5: norm 50^.5) and 3 (9, 10, 11: norm 302^.5) are scaled to norm 1, the others left; PyTorch
     * divides by norm + 1e-7 */
    tn_tensor *scaled = MADE(tn_embedding(w, i, .max_norm = TN_SCALAR(1.0)));
    const real norm[2] = {sqrtl(50) + 1e-7L, sqrtl(302) + 1e-7L};
    for (int k = 0; k < 6; k++)
        TRUTH(fabsl(kit_item(scaled, k) - (real)(k < 3 ? 3 + k : 6 + k) / norm[k / 3]) < 1e-6L);
    TRUTH(kit_item(w, 1) == 1 && kit_item(w, 6) == 6 && fabsl(kit_item(w, 3) - 3 / norm[0]) < 1e-6L);
    /* the 0-norm counts what is not 0: PyTorch 2.15 gives 1/3, 2/3, 1 and 0, 5/2, 3; at most 0 is 0 */
    tn_tensor *few = tn_tensor_from(TN_LIST(1.0, 2.0, 3.0, 0.0, 5.0, 6.0), .shape = TN_SHAPE(2, 3));
    tn_tensor *both = tn_arange(0, 2, 1),
              *counted = MADE(tn_embedding(few, both, .max_norm = TN_SCALAR(1), .norm_type = TN_SCALAR(0)));
    const real want[6] = {1 / 3.0L, 2 / 3.0L, 1, 0, 2.5L, 3};
    for (int k = 0; k < 6; k++)
        TRUTH(fabsl(kit_item(counted, k) - want[k]) < 1e-6L);
    TRUTH(kit_item(tn_sum(tn_abs(tn_embedding(few, both, .max_norm = TN_SCALAR(0)))), 0) == 0);
    tn_scope_close(s);
}

static void one_hot_each(kit_array *x)
{
    if (x->ndim == TN_MAX_DIMS || x->dtype != TN_I64)
        return;
    kit_array index;
    int64_t shape[TN_MAX_DIMS], most = 0;
    index_array(&index, TN_I64, x->ndim, x->shape, x->layout, 6);
    for (int64_t i = 0; i < index.numel; i++)
        most = index.v[i] > most ? (int64_t)index.v[i] : most;
    for (int inferred = 0; inferred < 2; inferred++) {
        int64_t n = inferred ? most + 1 : 7;
        expected e;
        memcpy(shape, x->shape, sizeof shape);
        shape[x->ndim] = n;
        if (inferred && index.numel == 0) {
            REFUSED(tn_one_hot(index.t, -1), TN_EINVAL, "Can not infer total number of classes from empty tensor.");
            continue;
        }
        expected_init(&e, TN_I64, x->ndim + 1, shape);
        for (int64_t i = 0; i < index.numel; i++)
            e.v[i * n + (int64_t)index.v[i]] = 1;
        check_free(&e, tn_one_hot(index.t, inferred ? -1 : n), "one_hot of %s %s", kit_shape_text(x->ndim, x->shape),
                   kit_layout_names[x->layout]);
    }
    kit_array_free(&index);
}

static void run_one_hot(void)
{
    each_array(one_hot_each, true);
    tn_scope *s = tn_scope_open();
    tn_tensor *x = tn_tensor_from(TN_LIST(0, 2, -1));
    REFUSED_INDEX(tn_one_hot(x, 3), TN_EINVAL, "Class values must be non-negative.", "index -1 is out of bounds");
    REFUSED_INDEX(tn_one_hot(tn_tensor_from(TN_LIST(0, 2)), 2), TN_EINVAL,
                  "Class values must be smaller than num_classes.",
                  "index 2 is out of bounds for dimension with size 2");
    REFUSED(tn_one_hot(tn_ones(TN_SHAPE(2)), 3), TN_EDTYPE,
            "one_hot is only applicable to index tensor of type LongTensor.");
    tn_scope_close(s);
}

static const structural_case cases[] = {
    {"gather", run_gather},           {"scatter", run_scatter},
    {"scatter_add", run_scatter_add}, {"index_select", run_index_select},
    {"index_add", run_index_add},     {"embedding", run_embedding},
    {"one_hot", run_one_hot},         {NULL, NULL},
};

/* ---- gradients ---- */

F(gather, tn_gather(x, 1, tn_tensor_from(TN_LIST(0, 0, 3, 2, 2, 1), .shape = TN_SHAPE(3, 2))))
F(scatter,
  tn_scatter(x, 1, tn_tensor_from(TN_LIST(0, 1, 3, 2, 2, 1), .shape = TN_SHAPE(3, 2)), tn_slice(y, 1, 0, 2, 1)))
F(scatter_number, tn_scatter(x, 0, tn_tensor_from(TN_LIST(0, 1, 2, 0), .shape = TN_SHAPE(1, 4)), 2.5))
F(scatter_add,
  tn_scatter_add(x, 1, tn_tensor_from(TN_LIST(0, 0, 3, 2, 2, 2), .shape = TN_SHAPE(3, 2)), tn_slice(y, 1, 0, 2, 1)))
F(index_select, tn_index_select(x, 1, tn_tensor_from(TN_LIST(3, 0, 3))))
F(index_add, tn_index_add(x, 0, tn_tensor_from(TN_LIST(2, 0, 2)), y))
F(embedding, tn_embedding(x, few_indices()))
/* the padding row is given no gradient, by definition: its elements are made not to count (its zero: test_autograd) */
F(embedding_padded,
  tn_mul(tn_embedding(x, few_indices(), .padding_idx = tn_scalar_i(-1)), tn_unsqueeze(tn_ne(few_indices(), 2), -1)))

static const gradient_case gradients[] = {
    ONE(gather),      TWO(scatter),          ONE(scatter_number),
    TWO(scatter_add), ONE(index_select),     TWO(index_add),
    ONE(embedding),   ONE(embedding_padded), {NULL, NULL, 0, {{0, {0}}}, false},
};

/* ---- PyTorch's records ---- */

static bool record_gather(record *r, results *out)
{
    return give(out, tn_gather(r->input.t, int_of(record_arg(r, 0, "dim"), 0), record_arg(r, 1, "index").t));
}

static bool record_scatter(record *r, results *out)
{
    int64_t dim = int_of(record_arg(r, 0, "dim"), 0);
    return give(out, tn_scatter(r->input.t, dim, record_arg(r, 1, "index").t, scalar_of(record_arg(r, 2, "src"))));
}

static bool record_scatter_add(record *r, results *out)
{
    int64_t dim = int_of(record_arg(r, 0, "dim"), 0);
    return give(out, tn_scatter_add(r->input.t, dim, record_arg(r, 1, "index").t, record_arg(r, 2, "src").t));
}

static bool record_index_select(record *r, results *out)
{
    return give(out, tn_index_select(r->input.t, int_of(record_arg(r, 0, "dim"), 0), record_arg(r, 1, "index").t));
}

static bool record_index_add(record *r, results *out)
{
    value alpha = record_arg(r, -1, "alpha");
    tn_tensor *src = record_arg(r, 2, "source").t;
    if (alpha.kind != V_ABSENT)
        src = tn_to(tn_mul(src, scalar_of(alpha)), .dtype = tn_tensor_dtype(src));
    return give(out, tn_index_add(r->input.t, int_of(record_arg(r, 0, "dim"), 0), record_arg(r, 1, "index").t, src));
}

/* F.embedding(indices, weight): in these records the weight is the input */
static bool record_embedding(record *r, results *out)
{
    return give(out, tn_embedding(r->input.t, record_arg(r, 0, "weight").t,
                                  .padding_idx = scalar_of(record_arg(r, 1, "padding_idx")),
                                  .max_norm = SCALAR("max_norm"), .norm_type = SCALAR("norm_type")));
}

static bool record_one_hot(record *r, results *out)
{
    return give(out, tn_one_hot(r->input.t, int_of(record_arg(r, 0, "num_classes"), -1)));
}

static const named_adapter adapters[] = {
    {"gather", record_gather},
    {"scatter", record_scatter},
    {"scatter_add", record_scatter_add},
    {"index_select", record_index_select},
    {"index_add", record_index_add},
    {"nn.functional.embedding", record_embedding},
    {"nn.functional.one_hot", record_one_hot},
    {NULL, NULL},
};

const family_tests index_tests = {cases, gradients, adapters};
