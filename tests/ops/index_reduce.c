/* Reducing by index, and writing by places of a whole tensor. Values are PyTorch's. */
#include "ops/family.h"
#include <math.h>

static tn_tensor *places(void)
{
    return tn_tensor_from(TN_LIST(0, 0, 1, 0, 1, 1), .shape = TN_SHAPE(2, 3));
}

static tn_tensor *sources(void)
{
    return tn_tensor_from(TN_LIST(2.0f, 3.0f, 5.0f, 7.0f, 0.0f, 4.0f), .shape = TN_SHAPE(2, 3));
}

/* NaN is the largest and the smallest; every dtype. */
static void extremes(void)
{
    tn_scope *s = tn_scope_open();
    tn_tensor *x = tn_tensor_from(TN_LIST(1.0, 2.0, 3.0)), *i = tn_tensor_from(TN_LIST(0, 0, 2, 1));
    tn_tensor *src = tn_tensor_from(TN_LIST(5.0, (double)NAN, -1.0, 2.0));
    static const tn_dtype dtypes[] = {TN_F32, TN_F64, TN_F16, TN_BF16};
    for (int k = 0; k < 4; k++) {
        tn_tensor *y = tn_to(x, .dtype = dtypes[k]), *v = tn_to(src, .dtype = dtypes[k]);
        tn_tensor *most = tn__scatter_max(y, 0, i, v), *least = tn__scatter_min(y, 0, i, v);
        TRUTH(isnan(tn_item(tn_select(most, 0, 0))) && isnan(tn_item(tn_select(least, 0, 0))));
        HOLDS(tn_slice(most, 0, 1, 3, 1), TN_SHAPE(2), 2, 3);
        HOLDS(tn_slice(least, 0, 1, 3, 1), TN_SHAPE(2), 2, -1);
    }
    static const tn_dtype whole[] = {TN_I8, TN_U8, TN_I16, TN_I32, TN_I64};
    for (int k = 0; k < 5; k++) {
        tn_tensor *y = tn_to(x, .dtype = whole[k]), *v = tn_to(tn_tensor_from(TN_LIST(5, 0, 7, 1)), .dtype = whole[k]);
        HOLDS(tn__scatter_max(y, 0, i, v), TN_SHAPE(3), 5, 2, 7);
        HOLDS(tn__scatter_min(y, 0, i, v), TN_SHAPE(3), 0, 1, 3);
    }
    tn_scope_close(s);
}

static void run_scatter_reduce(void)
{
    tn_scope *s = tn_scope_open();
    tn_tensor *x = counted(TN_SHAPE(2, 3), 6), *i = places(), *src = sources();
    HOLDS(tn_scatter_reduce(x, 1, i, src, "sum", true), TN_SHAPE(2, 3), 6, 7, 3, 11, 9, 6);
    HOLDS(tn_scatter_reduce(x, 1, i, src, "sum", false), TN_SHAPE(2, 3), 5, 5, 3, 7, 4, 6);
    HOLDS(tn_scatter_reduce(x, 1, i, src, "prod", true), TN_SHAPE(2, 3), 6, 10, 3, 28, 0, 6);
    HOLDS(tn_scatter_reduce(x, 1, i, src, "prod", false), TN_SHAPE(2, 3), 6, 5, 3, 7, 0, 6);
    HOLDS(tn_scatter_reduce(x, 1, i, src, "mean", true), TN_SHAPE(2, 3), 2, 3.5, 3, 5.5, 3, 6);
    HOLDS(tn_scatter_reduce(x, 1, i, src, "mean", false), TN_SHAPE(2, 3), 2.5, 5, 3, 7, 2, 6);
    HOLDS(tn_scatter_reduce(x, 1, i, src, "amax", true), TN_SHAPE(2, 3), 3, 5, 3, 7, 5, 6);
    HOLDS(tn_scatter_reduce(x, 1, i, src, "amax", false), TN_SHAPE(2, 3), 3, 5, 3, 7, 4, 6);
    HOLDS(tn_scatter_reduce(x, 1, i, src, "amin", true), TN_SHAPE(2, 3), 1, 2, 3, 4, 0, 6);
    HOLDS(tn_scatter_reduce(x, 1, i, src, "amin", false), TN_SHAPE(2, 3), 2, 5, 3, 7, 0, 6);
    HOLDS(tn_scatter_reduce(tn_to(x, .dtype = TN_I32), 1, i, tn_to(tn_sub(src, 6), .dtype = TN_I32), "mean", true),
          TN_SHAPE(2, 3), -2, 0, 3, 2, -1, 6);
    HOLDS(tn_scatter_reduce(tn_to(x, .dtype = TN_I8), 1, i, tn_to(tn_neg(src), .dtype = TN_I8), "amax", false),
          TN_SHAPE(2, 3), -2, -5, 3, -7, 0, 6);
    HOLDS(tn_scatter_reduce(x, 1, tn_slice(i, 1, 0, 2, 1), src, "amax", true), TN_SHAPE(2, 3), 3, 2, 3, 7, 5, 6);
    HOLDS(tn_scatter_reduce(tn_gt(x, 1), 1, i, tn_gt(src, 2), "amin", true), TN_SHAPE(2, 3), 0, 1, 1, 1, 0, 1);
    REFUSED(tn_scatter_reduce(x, 1, i, src, "add", true), TN_EINVAL,
            "reduce argument must be either sum, prod, mean, amax or amin, got add");
    REFUSED(tn_scatter_reduce(x, 1, x, src, "amax", true), TN_EDTYPE,
            "scatter(): Expected dtype int32/int64 for index");
    REFUSED(tn_scatter_reduce(x, 1, i, i, "amax", false), TN_EDTYPE, "Expected self.dtype to be equal to src.dtype");
    REFUSED(tn_scatter_reduce(tn_gt(x, 1), 1, i, tn_gt(src, 2), "mean", true), TN_EDTYPE, "not implemented for 'Bool'");
    REFUSED_INDEX(tn_scatter_reduce(x, 0, tn_add(i, 1), src, "amax", true), TN_EINDEX,
                  "index 2 is out of bounds for dimension 0 with size 2",
                  "index 2 is out of bounds for dimension with size 2\n  seen by scatter_max");
    TRUTH(tn_scatter_reduce_(x, 1, i, src, "amax", true) == x);
    HOLDS(x, TN_SHAPE(2, 3), 3, 5, 3, 7, 5, 6);
    TRUTH(tn_scatter_reduce_(x, 1, i, src, "mean", false) == x);
    HOLDS(x, TN_SHAPE(2, 3), 2.5, 5, 3, 7, 2, 6);
    tn_scope_close(s);
    extremes();
}

static void run_index_reduce(void)
{
    tn_scope *s = tn_scope_open();
    tn_tensor *x = counted(TN_SHAPE(2, 3), 6), *i = tn_tensor_from(TN_LIST(1, 1)), *src = sources();
    HOLDS(tn_index_reduce(x, 0, i, src, "prod", true), TN_SHAPE(2, 3), 1, 2, 3, 56, 0, 120);
    HOLDS(tn_index_reduce(x, 0, i, src, "prod", false), TN_SHAPE(2, 3), 1, 2, 3, 14, 0, 20);
    HOLDS(tn_index_reduce(x, 0, i, src, "mean", false), TN_SHAPE(2, 3), 1, 2, 3, 4.5, 1.5, 4.5);
    HOLDS(tn_index_reduce(x, 0, i, src, "amax", true), TN_SHAPE(2, 3), 1, 2, 3, 7, 5, 6);
    HOLDS(tn_index_reduce(x, 0, i, src, "amin", true), TN_SHAPE(2, 3), 1, 2, 3, 2, 0, 4);
    REFUSED(tn_index_reduce(x, 0, i, src, "sum", true), TN_EINVAL,
            "index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got sum.");
    REFUSED(tn_index_reduce(x, 1, i, src, "amax", true), TN_EINVAL,
            "index_reduce_(): Number of indices (2) should be equal to source.size(dim): (3), for dim: 1");
    REFUSED(tn_index_reduce(x, 0, x, src, "amax", true), TN_EINDEX,
            "index_reduce_(): Index is supposed to be a vector");
    REFUSED_INDEX(tn_index_reduce(x, 0, tn_add(i, 1), src, "amax", true), TN_EINDEX, "index out of range in self",
                  "index 2 is out of bounds for dimension with size 2\n  seen by scatter_max");
    TRUTH(tn_index_reduce_(x, 0, i, src, "amin", true) == x);
    HOLDS(x, TN_SHAPE(2, 3), 1, 2, 3, 2, 0, 4);
    tn_scope_close(s);
}

static void run_put(void)
{
    tn_scope *s = tn_scope_open();
    tn_tensor *x = counted(TN_SHAPE(2, 3), 6), *v = tn_tensor_from(TN_LIST(9.0f, 8.0f)),
              *i = tn_tensor_from(TN_LIST(1, -2), .shape = TN_SHAPE(1, 2));
    HOLDS(tn_put(x, i, v), TN_SHAPE(2, 3), 1, 9, 3, 4, 8, 6);
    HOLDS(tn_put(x, tn_tensor_from(TN_LIST(1, 1)), v, .accumulate = true), TN_SHAPE(2, 3), 1, 19, 3, 4, 5, 6);
    REFUSED(tn_put(x, i, tn_ones(TN_SHAPE(3))), TN_EINDEX,
            "put_(): Expected source and index to have the same number of elements, but got source.numel() = 3, "
            "index.numel() = 2");
    REFUSED(tn_put(x, v, v), TN_EDTYPE, "put_(): Expected a long tensor for index, but got Float");
    REFUSED(tn_put(x, i, i), TN_EDTYPE, "put_(): self and source expected to have the same dtype");
    REFUSED(tn_put(x, tn_add(i, 5), v), TN_EINDEX, "out of range: tried to access index 6 on a tensor of 6 elements.");
    REFUSED(tn_put(tn_empty(TN_SHAPE(0)), i, v), TN_EINDEX, "put_(): Tried to put elements into an empty tensor");
    tn_tensor *turned = tn_t(x);
    TRUTH(tn_put_(turned, i, v) == turned);
    HOLDS(x, TN_SHAPE(2, 3), 1, 2, 8, 9, 5, 6);
    TRUTH(tn_put_(x, i, v) == x);
    HOLDS(x, TN_SHAPE(2, 3), 1, 9, 8, 9, 8, 6);
    tn_scope_close(s);
}

static void run_embedding_renorm_(void)
{
    tn_scope *s = tn_scope_open();
    tn_tensor *w = tn_tensor_from(TN_LIST(3.0, 4.0, 6.0, 8.0), .shape = TN_SHAPE(2, 2));
    TRUTH(tn_embedding_renorm_(w, tn_tensor_from(TN_LIST(1)), 5, 2) == w);
    TRUTH(fabs(tn_item(tn_select(tn_select(w, 0, 1), 0, 0)) - 3) < 1e-6);
    HOLDS(tn_select(w, 0, 0), TN_SHAPE(2), 3, 4);
    REFUSED(tn_embedding_renorm_(w, w, 5, 2), TN_EDTYPE, "checking arguments for embedding_renorm_");
    tn_scope_close(s);
}

static const structural_case cases[] = {
    {"scatter_reduce", run_scatter_reduce},
    {"scatter_reduce_", run_scatter_reduce},
    {"index_reduce", run_index_reduce},
    {"index_reduce_", run_index_reduce},
    {"put", run_put},
    {"put_", run_put},
    {"embedding_renorm_", run_embedding_renorm_},
    {NULL, NULL},
};

/* ---- gradients ---- */

static tn_tensor *where(void)
{
    return tn_tensor_from(TN_LIST(0, 0, 3, 1, 2, 2, 0, 1, 1, 1, 1, 1), .shape = TN_SHAPE(3, 4));
}

F(scatter_amax, tn_scatter_reduce(x, 1, where(), y, "amax", true))
F(scatter_amin, tn_scatter_reduce(x, 1, where(), y, "amin", false))
F(scatter_mean, tn_scatter_reduce(x, 1, where(), y, "mean", true))
F(scatter_mean_alone, tn_scatter_reduce(x, 1, where(), y, "mean", false))
F(scatter_prod_alone, tn_scatter_reduce(x, 1, where(), y, "prod", false))
F(index_reduced, tn_index_reduce(x, 0, tn_tensor_from(TN_LIST(2, 0, 2)), y, "mean", true))
F(put, tn_put(x, tn_tensor_from(TN_LIST(0, 3, 5, -1, 7, 2, 1, 4, 6, 8, 9, 10)), y))
F(put_added, tn_put(x, tn_tensor_from(TN_LIST(0, 3, 3, -1, 7, 2, 1, 0, 0, 8, 9, 10)), y, .accumulate = true))

static const gradient_case gradients[] = {
    TWO(scatter_amax),
    TWO(scatter_amin),
    TWO(scatter_mean),
    TWO(scatter_mean_alone),
    TWO(scatter_prod_alone),
    TWO(index_reduced),
    TWO(put),
    TWO(put_added),
    {NULL, NULL, 0, {{0, {0}}}, false},
};

const family_tests index_reduce_tests = {cases, gradients, NULL};
