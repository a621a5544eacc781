/* Writing by index of what is scaled, multiplied, or one value. Values are PyTorch's. */
#include "ops/family.h"

static tn_tensor *places(void)
{
    return tn_tensor_from(TN_LIST(0, 0, 1, 0, 1, 1), .shape = TN_SHAPE(2, 3));
}

static tn_tensor *sources(void)
{
    return tn_tensor_from(TN_LIST(2.0f, 3.0f, 5.0f, 7.0f, 0.0f, 4.0f), .shape = TN_SHAPE(2, 3));
}

static void run_index_add_scaled(void)
{
    tn_scope *s = tn_scope_open();
    tn_tensor *x = counted(TN_SHAPE(2, 3), 6), *i = tn_tensor_from(TN_LIST(2, 0)),
              *src = tn_slice(sources(), 1, 0, 2, 1);
    HOLDS(tn_index_add_scaled(x, 1, i, src, -2), TN_SHAPE(2, 3), -5, 2, -1, 4, 5, -8);
    HOLDS(tn_index_add_scaled(x, 1, i, src, 1), TN_SHAPE(2, 3), 4, 2, 5, 4, 5, 13);
    HOLDS(tn_index_add_scaled(x, 1, i, src, tn_scalar_none()), TN_SHAPE(2, 3), 4, 2, 5, 4, 5, 13);
    TRUTH(tn_index_add_scaled_(x, 1, i, src, -2) == x);
    HOLDS(x, TN_SHAPE(2, 3), -5, 2, -1, 4, 5, -8);
    REFUSED(tn_index_add_scaled(x, 1, i, TN_NONE, 2), TN_ETYPE, "operand 3 must be a tensor");
    REFUSED(tn_index_add_scaled(x, 1, i, tn_ones(TN_SHAPE(2, 3)), 2), TN_EINVAL, "Number of indices (2) should be");
    tn_scope_close(s);
}

static void run_scatter_reduced(void)
{
    tn_scope *s = tn_scope_open();
    tn_tensor *x = counted(TN_SHAPE(2, 3), 6), *i = places(), *src = sources();
    HOLDS(tn_scatter_reduced(x, 0, i, src, "multiply"), TN_SHAPE(2, 3), 14, 6, 3, 4, 0, 120);
    HOLDS(tn_scatter_reduced(x, 1, i, src, "multiply"), TN_SHAPE(2, 3), 6, 10, 3, 28, 0, 6);
    HOLDS(tn_scatter_reduced(x, 1, i, src, "add"), TN_SHAPE(2, 3), 6, 7, 3, 11, 9, 6);
    HOLDS(tn_scatter_reduced(x, 1, i, 3, "multiply"), TN_SHAPE(2, 3), 9, 6, 3, 12, 45, 6);
    HOLDS(tn_scatter_reduced(x, 1, i, 3, "add"), TN_SHAPE(2, 3), 7, 5, 3, 7, 11, 6);
    HOLDS(tn_scatter_reduced(x, 1, tn_slice(i, 1, 0, 2, 1), src, "multiply"), TN_SHAPE(2, 3), 6, 2, 3, 28, 0, 6);
    HOLDS(tn_scatter_reduced(x, 1, i, 3, NULL), TN_SHAPE(2, 3), 3, 3, 3, 3, 3, 6);
    HOLDS(tn_scatter_reduced(tn_ones(TN_SHAPE()), 0, tn_full(TN_SHAPE(), 0), 3, "multiply"), TN_SHAPE(), 3);
    HOLDS(tn_scatter_reduced(x, 0, tn_slice(i, 0, 0, 0, 1), src, "multiply"), TN_SHAPE(2, 3), 1, 2, 3, 4, 5, 6);
    REFUSED(tn_scatter_reduced(x, 1, i, src, "mean"), TN_EINVAL, "reduce argument must be either add or multiply.");
    REFUSED(tn_scatter_reduced(x, 1, x, src, "mean"), TN_EDTYPE, "scatter(): Expected dtype int32/int64 for index");
    REFUSED(tn_scatter_reduced(x, 1, x, src, "add"), TN_EDTYPE, "scatter(): Expected dtype int32/int64 for index");
    REFUSED(tn_scatter_reduced(x, 1, i, i, "multiply"), TN_EDTYPE, "Expected self.dtype to be equal to src.dtype");
    REFUSED(tn_scatter_reduced(tn_to(x, .dtype = TN_I8), 1, i, 1000, "add"), TN_EINVAL, "without overflow");
    REFUSED_INDEX(tn_scatter_reduced(x, 0, tn_add(i, 1), src, "multiply"), TN_EINDEX,
                  "index 2 is out of bounds for dimension 0 with size 2",
                  "index 2 is out of bounds for dimension with size 2\n  seen by scatter_mul");
    TRUTH(tn_scatter_reduced_(x, 1, i, src, "add") == x);
    HOLDS(x, TN_SHAPE(2, 3), 6, 7, 3, 11, 9, 6);
    TRUTH(tn_scatter_reduced_(x, 1, i, -1, "multiply") == x);
    HOLDS(x, TN_SHAPE(2, 3), 6, -7, 3, -11, 9, 6);
    TRUTH(tn_scatter_reduced_(x, 1, i, 2, NULL) == x);
    REFUSED(
        tn_scatter_reduced_(tn_expand(tn_ones(TN_SHAPE(1)), TN_SHAPE(3)), 0, tn_full(TN_SHAPE(3), 0), 2, "multiply"),
        TN_EINVAL, "more than one element of the written-to tensor refers to a single memory location");
    tn_scope_close(s);
}

static void run_index_fill(void)
{
    tn_scope *s = tn_scope_open();
    tn_tensor *x = counted(TN_SHAPE(2, 3), 6), *i = tn_tensor_from(TN_LIST(2, 0));
    HOLDS(tn_index_fill(x, 1, i, 9), TN_SHAPE(2, 3), 9, 2, 9, 9, 5, 9);
    HOLDS(tn_index_fill(x, 0, tn_full(TN_SHAPE(), -1), tn_scalar_t(tn_full(TN_SHAPE(), 8))), TN_SHAPE(2, 3), 1, 2, 3, 8,
          8, 8);
    HOLDS(tn_index_fill(tn_ones(TN_SHAPE()), 0, tn_full(TN_SHAPE(1), 0), 3), TN_SHAPE(), 3);
    REFUSED(tn_index_fill(x, 0, tn_ones(TN_SHAPE(1)), 3), TN_EINDEX, "index_fill_(): Expected dtype int64 for index.");
    REFUSED(tn_index_fill(x, 0, tn_full(TN_SHAPE(1, 1), 0), 3), TN_EINVAL, "Index has to be a vector/scalar");
    REFUSED(tn_index_fill(x, 2, i, 3), TN_EINDEX, "expected to be in range of [-2, 1], but got 2");
    REFUSED(tn_index_fill(x, 1, i, tn_scalar_t(tn_ones(TN_SHAPE(1)))), TN_EINVAL,
            "only supports a 0-dimensional value tensor, but got tensor with 1 dimension(s).");
    TRUTH(tn_index_fill_(x, -1, i, 9) == x);
    HOLDS(x, TN_SHAPE(2, 3), 9, 2, 9, 9, 5, 9);
    REFUSED(tn_index_fill_(tn_requires_grad_(tn_ones(TN_SHAPE(2, 3)), true), 1, i, 9), TN_EGRAD,
            "a leaf Variable that requires grad");
    tn_scope_close(s);
}

/* Many short rows, which threads share out: each row is the last one that was written there (on a GPU, one of those). */
static void run_many_rows(void)
{
    tn_scope *s = tn_scope_open();
    const int64_t n = 12000, rows = 5000;
    tn_tensor *r = tn_arange(rows), *at = tn_sub(rows - 1, tn_fmod(tn_arange(n), rows)); /* 4999, 4998 .. 0, 4999 .. */
    tn_tensor *source = tn_reshape(tn_arange(8 * n), TN_SHAPE(n, 8)),
              *x = tn_full(TN_SHAPE(rows + 1, 8), -1, .dtype = TN_I64);
    tn_tensor *last = tn_where(tn_ge(r, 3000), tn_sub(3 * rows - 1, r), tn_sub(2 * rows - 1, r));
    tn_tensor *wanted = tn_add(tn_mul(tn_unsqueeze(last, 1), 8), tn_arange(8)),
              *put = MADE(tn_index_copy(x, 0, at, source));
    TRUTH(!kit_on_cpu() || tn_equal(tn_narrow(put, 0, 0, rows), wanted));
    HOLDS(tn_select(put, 0, rows), TN_SHAPE(8), -1, -1, -1, -1, -1, -1, -1, -1);
    tn_tensor *even = tn_mul(tn_arange(rows / 2), 2),
              *filled = MADE(tn_index_fill(x, 0, tn_repeat(even, TN_DIMS(5)), 3));
    HOLDS(tn_sum(filled), TN_SHAPE(), 4 * 8 * rows / 2 - 8 * (rows + 1));
    HOLDS(tn_sum(tn_index_select(filled, 0, even)), TN_SHAPE(), 3 * 8 * rows / 2);
    tn_scope_close(s);
}

/* Of 16 bits, beside the same in float, which is rounded once. */
static void reduced_beside(tn_tensor *x, int64_t dim, tn_tensor *index, tn_tensor *src)
{
    static const char *const ways[] = {"sum", "prod"};
    for (int i = 0; i < 2; i++) {
        tn_tensor *wide =
            tn_scatter_reduce(tn_to(x, .dtype = TN_F32), dim, index, tn_to(src, .dtype = TN_F32), ways[i], true);
        tn_tensor *wanted = MADE(tn_to(wide, .dtype = x->dtype)), *own = MADE(tn_clone(x));
        TRUTH(tn_equal(MADE(tn_scatter_reduce(x, dim, index, src, ways[i], true)), wanted));
        TRUTH(tn_scatter_reduce_(own, dim, index, src, ways[i], true) == own && tn_equal(own, wanted));
    }
}

/* Few are named of a large table, some of them several times: points, and slices of rows and of columns. */
static void few_named(void)
{
    enum { ROWS = 300, COLUMNS = 80 };
    static const tn_dtype dtypes[] = {TN_BF16, TN_F16};
    for (int i = 0; i < 4 && kit_on_cpu(); i++) {
        tn_scope *s = tn_scope_open();
        tn_tensor *n = tn_reshape(tn_arange(ROWS * COLUMNS), TN_SHAPE(ROWS, COLUMNS));
        tn_tensor *x = tn_to(tn_add(tn_div(tn_fmod(n, 37), 31), 0.1), .dtype = dtypes[i % 2]);
        tn_tensor *list = tn_tensor_from(TN_LIST(7, 3, 7, 79, 7, 0)), *column = tn_unsqueeze(list, 1);
        if (i >= 2)
            x = tn_t(tn_contiguous(tn_t(x)));
        tn_tensor *src = tn_div(tn_narrow(x, 0, 100, 6), 3), *across = tn_div(tn_narrow(x, 1, 20, 6), 3);
        reduced_beside(x, 0, tn_expand(column, TN_SHAPE(6, COLUMNS)), src);
        reduced_beside(x, 1, tn_expand(list, TN_SHAPE(ROWS, 6)), across);
        reduced_beside(x, 0, tn_expand(column, TN_SHAPE(6, 9)), src);
        reduced_beside(x, 1, tn_contiguous(tn_expand(list, TN_SHAPE(40, 6))), across);
        reduced_beside(tn_narrow(x, 1, 0, 8), 0, tn_expand(column, TN_SHAPE(6, 8)), tn_narrow(src, 1, 0, 8));
        REFUSED(tn_scatter_add(x, 1, tn_expand(tn_add(list, 1), TN_SHAPE(9, 6)), across), TN_EINDEX,
                "index 80 is out of bounds for dimension 1 with size 80");
        REFUSED(tn_scatter_add(x, 0, tn_expand(tn_add(column, 221), TN_SHAPE(6, COLUMNS)), src), TN_EINDEX,
                "index 300 is out of bounds for dimension 0 with size 300");
        tn_tensor *few = tn_expand(list, TN_SHAPE(9, 6)),
                  *wide = MADE(tn_scatter_reduced(tn_to(x, .dtype = TN_F32), 1, few, 2, "add"));
        TRUTH(tn_equal(MADE(tn_scatter_reduced(x, 1, few, 2, "add")), tn_to(wide, .dtype = x->dtype)));
        tn_scope_close(s);
    }
}

/* What gather reads by a list for whole slices is what index_select reads. */
static void whole_slices(void)
{
    tn_scope *s = tn_scope_open();
    tn_tensor *x = tn_reshape(tn_arange(9 * 20 * 30), TN_SHAPE(9, 20, 30)), *list = tn_tensor_from(TN_LIST(7, 3, 7, 0));
    tn_tensor *turned = tn_contiguous(tn_permute(x, TN_DIMS(2, 1, 0))), *one = tn_full(TN_SHAPE(1), 4);
    tn_tensor *tables[] = {x, tn_permute(turned, TN_DIMS(2, 1, 0)), tn_to(x, .dtype = TN_BF16),
                           tn_slice(x, 2, 1, 30, 3)};
    for (int64_t d = 0; d < 3; d++)
        for (size_t k = 0; k < 2 * TN_COUNT(tables); k++) {
            tn_tensor *t = tables[k / 2], *at = k % 2 ? list : one;
            int64_t shape[3] = {t->shape[0], t->shape[1], t->shape[2]}, column[3] = {1, 1, 1};
            shape[d] = column[d] = at->shape[0];
            tn_tensor *shown = tn_expand(tn_reshape(at, tn_dims_of(column, 3)), tn_dims_of(shape, 3));
            TRUTH(tn_equal(MADE(tn_gather(t, d, shown)), tn_index_select(t, d, at)));
            TRUTH(!kit_on_cpu() || !tn_gather(t, d, tn_add(shown, 30))); /* a GPU would say so later */
            tn_error_clear();
        }
    tn_scope_close(s);
}

/* A source that is larger than the index by far, of 16 bits, which are added up in float. */
static void run_named(void)
{
    tn_scope *s = tn_scope_open();
    tn_tensor *x = tn_zeros(TN_SHAPE(4), .dtype = TN_BF16), *one = tn_ones(TN_SHAPE(1), .dtype = TN_BF16);
    HOLDS(tn_scatter_add(x, 0, tn_tensor_from(TN_LIST(1, 1, 3)), tn_expand(one, TN_SHAPE(INT64_C(1) << 40))),
          TN_SHAPE(4), 0, 2, 0, 1);
    tn_scope_close(s);
    few_named();
    whole_slices();
}

static void run_masked_fill_expanded(void)
{
    tn_scope *s = tn_scope_open();
    tn_tensor *x = tn_expand(tn_zeros(TN_SHAPE(1, 3)), TN_SHAPE(2, 3));
    tn_tensor *mask = tn_ne(tn_tensor_from(TN_LIST(1, 0, 2)), 0);
    REFUSED(tn_masked_fill_(x, mask, 3), TN_EINVAL, "refers to a single memory location");
    TRUTH(tn_masked_fill_expanded_(x, mask, 3) == x);
    HOLDS(x, TN_SHAPE(2, 3), 3, 0, 3, 3, 0, 3);
    tn_scope_close(s);
}

static void run_nonzero_columns(void)
{
    tn_tensor *out[3];
    tn_scope *s = tn_scope_open();
    tn_tensor *x = tn_tensor_from(TN_LIST(1, 0, 2, 3), .shape = TN_SHAPE(2, 2));
    TRUTH(tn_nonzero_columns(x, NULL, 0) == 2 && tn_nonzero_columns(x, out, 3) == 2);
    HOLDS(out[0], TN_SHAPE(3), 0, 1, 1);
    HOLDS(out[1], TN_SHAPE(3), 0, 0, 1);
    TRUTH(tn_nonzero_columns(tn_full(TN_SHAPE(), 3), out, 3) == 1);
    HOLDS(out[0], TN_SHAPE(1), 0);
    REFUSED((void *)(intptr_t)tn_nonzero_columns(x, out, 1), TN_EINVAL, "there are 2 columns, but room for 1");
    tn_scope_close(s);
    tn_tensor *mine = tn_ones(TN_SHAPE(2)); /* the results are the caller's where there is no scope */
    TRUTH(tn_nonzero_columns(mine, out, 3) == 1);
    HOLDS(out[0], TN_SHAPE(2), 0, 1);
    tn_release(out[0]);
    tn_release(mine);
}

static const structural_case cases[] = {
    {"index_add_scaled", run_index_add_scaled},
    {"index_add_scaled_", run_index_add_scaled},
    {"scatter_reduced", run_scatter_reduced},
    {"scatter_reduced_", run_scatter_reduced},
    {"index_fill", run_index_fill},
    {"index_fill_", run_index_fill},
    {"index_copy", run_many_rows},
    {"scatter_add", run_named},
    {"masked_fill_expanded_", run_masked_fill_expanded},
    {"nonzero_columns", run_nonzero_columns},
    {NULL, NULL},
};

/* ---- gradients ---- */

F(index_add_scaled, tn_index_add_scaled(x, 0, tn_tensor_from(TN_LIST(2, 0, 2)), y, -1.5))
F(scatter_multiplied, tn_scatter_reduced(x, 1, tn_tensor_from(TN_LIST(0, 0, 0, 2, 2, 1), .shape = TN_SHAPE(2, 3)),
                                         tn_scalar_t(y), "multiply"))
F(scatter_multiplied_number,
  tn_scatter_reduced(x, 0, tn_tensor_from(TN_LIST(0, 1, 1, 0, 1, 1), .shape = TN_SHAPE(3, 2)), 2.5, "multiply"))
F(scatter_added_number,
  tn_scatter_reduced(x, 0, tn_tensor_from(TN_LIST(0, 1, 1, 0, 1, 1), .shape = TN_SHAPE(3, 2)), 2.5, "add"))
F(index_fill, tn_index_fill(x, 1, tn_tensor_from(TN_LIST(3, 0)), 2))
F(index_fill_value, tn_index_fill(x, 1, tn_tensor_from(TN_LIST(3, 0)), tn_scalar_t(tn_sum(y))))

/* One zero at a place leaves its own gradient, two leave none: PyTorch's, of x[0] * s[0] * s[1] ... */
static tn_tensor *f_scatter_multiplied_zeros(tn_tensor **in)
{
    tn_tensor *s = tn_mul(in[0], tn_tensor_from(TN_LIST(1, 0, 1, 1, 1, 0, 0, 1, 1, 1, 1, 1), .shape = TN_SHAPE(3, 4)));
    tn_tensor *i = tn_tensor_from(TN_LIST(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 2, 2), .shape = TN_SHAPE(3, 4));
    return tn_scatter_reduced(tn_ones(TN_SHAPE(3, 4), .dtype = TN_F64), 1, i, s, "multiply");
}

static const gradient_case gradients[] = {
    TWO(index_add_scaled),
    TWO(scatter_multiplied),
    ONE(scatter_multiplied_number),
    ONE(scatter_added_number),
    ONE(index_fill),
    TWO(index_fill_value),
    {"scatter_multiplied_zeros", f_scatter_multiplied_zeros, 1, {M34}, true}, /* beside a zero the second is not told */
    {NULL, NULL, 0, {{0, {0}}}, false},
};

/* ---- PyTorch's records ---- */

ADAPTER(index_fill, tn_index_fill(x, DIM(0, "dim", 0), TENSOR(1, "index"), AT(2, "value")))

static const named_adapter adapters[] = {
    {"index_fill", record_index_fill},
    {NULL, NULL},
};

const family_tests index_write_tests = {cases, gradients, adapters};
