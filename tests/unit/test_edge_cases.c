/* Edge cases: operands that share memory, sizes and numbers at the ends of int64, tensors without dimensions. Values and
 * texts: PyTorch 2.14.1. */
#include "check.h"
#include "core/base.h"
#include <math.h>

#define I64(...) \
    MADE(tn_tensor_from( \
        ((tn_array){(const int64_t[]){__VA_ARGS__}, sizeof((const int64_t[]){__VA_ARGS__}) / 8, TN_I64, true})))
#define MATRIX(t) MADE(tn_reshape((t), TN_SHAPE(2, 2)))

/* ---- products ---- */

static void addmm_in_place_of_a_factor(void **state)
{
    (void)state;
    tn_scope *s = tn_scope_open();
    tn_tensor *a = MATRIX(I64(1, 2, 3, 4)), *b = MATRIX(I64(1, 2, 3, 4));
    MADE(tn_addmm_(a, a, a)); /* torch: a.addmm_(a, a) */
    PRINTS(a, "tensor([[ 8, 12],\n        [18, 26]])");
    MADE(tn_addmm_(b, MATRIX(I64(1, 0, 0, 1)), b));
    PRINTS(b, "tensor([[2, 4],\n        [6, 8]])");
    for (int64_t n = 64; n <= 600; n += 536) {
        tn_manual_seed(1);
        tn_tensor *x = MADE(tn_randn(TN_SHAPE(n, n))), *y = MADE(tn_clone(x)), *z = MADE(tn_clone(x));
        tn_tensor *want = MADE(tn_addmm(y, z, MADE(tn_clone(x)))), *got = MADE(tn_addmm_(x, x, x));
        assert_true(tn_allclose(got, want, .rtol = tn_scalar_f(1e-4), .atol = tn_scalar_f(1e-4)));
    }
    tn_scope_close(s);
}

static void linear_of_rows_beside_a_dimension_of_one(void **state)
{
    (void)state;
    tn_scope *s = tn_scope_open();
    tn_tensor *x = MADE(tn_reshape(MADE(tn_arange(0., 30., 1.)), TN_SHAPE(5, 1, 3, 2))),
              *w = MADE(tn_ones(TN_SHAPE(1, 2)));
    tn_tensor *y = MADE(tn_linear(MADE(tn_slice(x, 2, 0, 1, 1)), w, TN_NONE)); /* torch: F.linear(x[:, :, 0:1], w) */
    PRINTS(MADE(tn_flatten(y, 0, -1)), "tensor([ 1., 13., 25., 37., 49.])");
    y = MADE(tn_linear(MADE(tn_slice(x, 2, 1, 3, 1)), w, TN_NONE));
    PRINTS(MADE(tn_flatten(y, 0, -1)), "tensor([ 5.,  9., 17., 21., 29., 33., 41., 45., 53., 57.])");
    y = MADE(tn_linear(MADE(tn_expand(MADE(tn_slice(x, 0, 4, 5, 1)), TN_SHAPE(2, 1, 3, 2))), w, TN_NONE));
    PRINTS(MADE(tn_flatten(y, 0, -1)), "tensor([49., 53., 57., 49., 53., 57.])");
    y = MADE(tn_linear(MADE(tn_slice(MADE(tn_slice(x, 0, 1, 2, 1)), 2, 1, 2, 1)), w, TN_NONE));
    PRINTS(MADE(tn_flatten(y, 0, -1)), "tensor([17.])");
    tn_scope_close(s);
}

/* ---- indices and tensors without dimensions ---- */

static void index_select_of_one_number(void **state)
{
    (void)state;
    tn_scope *s = tn_scope_open();
    tn_tensor *x = MADE(tn_full(TN_SHAPE(), 5.0));
    FAILS(tn_index_select(x, 0, I64(0, 0, 0)), TN_EINVAL,
          "index_select(): Index to scalar can have only 1 value, got 3 value(s)");
    FAILS(tn_index_select(x, 0, MADE(tn_zeros(TN_SHAPE(0), .dtype = TN_I64))), TN_EINVAL, "got 0 value(s)");
    PRINTS(MADE(tn_index_select(x, 0, I64(0))), "tensor(5.)");
    PRINTS(MADE(tn_index_select(x, -1, MADE(tn_full(TN_SHAPE(), 0)))), "tensor(5.)");
    PRINTS(MADE(tn_index_select(I64(10, 20, 30), 0, I64(2, 2, 0, 1))), "tensor([30, 30, 10, 20])");
    tn_scope_close(s);
}

static void an_index_without_dimensions_is_one_index(void **state)
{
    (void)state;
    tn_scope *s = tn_scope_open();
    tn_tensor *x = I64(10, 20, 30), *two = MADE(tn_full(TN_SHAPE(), 2)), *seven = MADE(tn_full(TN_SHAPE(), 7));
    tn_tensor *one = MADE(tn_full(TN_SHAPE(), 1)), *zeros = I64(0, 0, 0);
    PRINTS(MADE(tn_gather(x, 0, two)), "tensor(30)");
    PRINTS(MADE(tn_scatter(x, 0, two, 7)), "tensor([10, 20,  7])");
    PRINTS(MADE(tn_scatter(x, 0, two, seven)), "tensor([10, 20,  7])");
    PRINTS(MADE(tn_scatter(x, 0, two, I64(7, 8))), "tensor([10, 20,  7])");
    PRINTS(MADE(tn_scatter(x, 0, I64(2), seven)), "tensor([10, 20,  7])");
    PRINTS(MADE(tn_scatter_add(x, 0, two, seven)), "tensor([10, 20, 37])");
    PRINTS(MADE(tn_scatter_add(x, 0, two, I64(7))), "tensor([10, 20, 37])");
    FAILS(tn_gather(x, 0, MADE(tn_full(TN_SHAPE(), 3))), TN_EINDEX,
          "index 3 is out of bounds for dimension 0 with size 3");
    PRINTS(MADE(tn_gather(seven, 0, zeros)), "tensor([7, 7, 7])");
    PRINTS(MADE(tn_gather(seven, 0, MADE(tn_full(TN_SHAPE(), 0)))), "tensor(7)");
    PRINTS(MADE(tn_scatter(one, 0, zeros, 9)), "tensor(9)");
    PRINTS(MADE(tn_scatter_add(one, 0, I64(0), I64(7))), "tensor(8)");
    tn_tensor *y = MADE(tn_ones(TN_SHAPE(3), .requires_grad = true));
    OK(tn_backward(MADE(tn_mul(MADE(tn_gather(y, 0, two)), 5))));
    PRINTS(MADE(tn_tensor_grad(y)), "tensor([0., 0., 5.])");
    tn_scope_close(s);
}

/* ---- the ends of int64 ---- */

static void diagonals_far_outside(void **state)
{
    (void)state;
    tn_scope *s = tn_scope_open();
    tn_tensor *x = MADE(tn_reshape(I64(1, 2, 3, 4, 5, 6), TN_SHAPE(2, 3)));
    const char *all = "tensor([[1, 2, 3],\n        [4, 5, 6]])", *none = "tensor([[0, 0, 0],\n        [0, 0, 0]])";
    const int64_t far[] = {INT64_MAX, INT64_MAX - 1, INT64_C(1) << 40, 3};
    for (size_t i = 0; i < TN_COUNT(far); i++) {
        PRINTS(MADE(tn_tril(x, far[i])), all);
        PRINTS(MADE(tn_triu(x, far[i])), none);
        PRINTS(MADE(tn_tril(x, -far[i] - (i == 0))), none);
        PRINTS(MADE(tn_triu(x, -far[i] - (i == 0))), all);
        assert_int_equal(tn_tensor_numel(MADE(tn_diagonal(x, far[i], 0, 1))), 0);
        assert_int_equal(tn_tensor_numel(MADE(tn_diagonal(x, -far[i] - (i == 0), 0, 1))), 0);
    }
    PRINTS(MADE(tn_tril(x, -1)), "tensor([[0, 0, 0],\n        [4, 0, 0]])");
    PRINTS(MADE(tn_triu(x, 2)), "tensor([[0, 0, 3],\n        [0, 0, 0]])");
    tn_scope_close(s);
}

static void steps_and_pieces_of_any_size(void **state)
{
    (void)state;
    tn_scope *s = tn_scope_open();
    tn_tensor *x = MADE(tn_arange(0, 10, 1)), *piece[4];
    PRINTS(MADE(tn_slice(x, 0, 0, 10, INT64_MAX)), "tensor([0])");
    PRINTS(MADE(tn_slice(x, 0, 3, INT64_MAX, INT64_MAX - 1)), "tensor([3])");
    PRINTS(MADE(tn_slice(x, 0, 0, 10, 4)), "tensor([0, 4, 8])");
    PRINTS(MADE(tn_slice(MADE(tn_ones(TN_SHAPE(1, 3))), 0, 0, 1, INT64_MAX)), "tensor([[1., 1., 1.]])");
    tn_tensor *y = MADE(tn_slice(x, 0, 0, 3, 1));
    assert_int_equal(tn_chunk(y, INT64_MAX, 0, piece, 4), 3);
    PRINTS(piece[2], "tensor([2])");
    assert_int_equal(tn_split(y, INT64_MAX, 0, piece, 4), 1);
    PRINTS(piece[0], "tensor([0, 1, 2])");
    tn_tensor *z = MADE(tn_ones(TN_SHAPE(2, 3), .requires_grad = true));
    OK(tn_backward(MADE(tn_sum(MADE(tn_slice(z, 0, 1, 2, INT64_MAX))))));
    PRINTS(MADE(tn_tensor_grad(z)), "tensor([[0., 0., 0.],\n        [1., 1., 1.]])");
    tn_scope_close(s);
}

static void joined_sizes_that_overflow(void **state)
{
    (void)state;
    tn_scope *s = tn_scope_open();
    tn_tensor *x = MADE(tn_expand(MADE(tn_ones(TN_SHAPE(1), .dtype = TN_BOOL)), TN_SHAPE(INT64_C(1) << 61)));
    FAILS(tn_cat(TN_TENSORS(x, x, x, x), 0), TN_EINVAL, "more than an index can count");
    FAILS(tn_cat(TN_TENSORS(x, x), 0), TN_EINVAL, "larger than memory can be");
    FAILS(tn_stack(TN_TENSORS(x, x, x, x), 0), TN_EINVAL, "larger than memory can be");
    PRINTS(MADE(tn_cat(TN_TENSORS(I64(1), I64(2, 3)), 0)), "tensor([1, 2, 3])");
    tn_scope_close(s);
}

static void products_and_sums_of_sizes_that_overflow(void **state)
{
    (void)state;
    tn_scope *s = tn_scope_open();
    const int64_t huge = INT64_C(1) << 40, most = INT64_MAX;
    tn_tensor *x = MADE(tn_ones(TN_SHAPE(0))), *y = I64(1, 2, 3), *piece[3];
    FAILS(tn_view(x, TN_SHAPE(0, huge, huge)), TN_EINVAL, "more elements than memory can hold");
    FAILS(tn_reshape(x, TN_SHAPE(huge, huge, 0)), TN_EINVAL, "more elements than memory can hold");
    FAILS(tn_ones(TN_SHAPE(0, huge, huge)), TN_EINVAL, "more elements than memory can hold");
    FAILS(tn_view(x, TN_SHAPE(0, -1)), TN_EINVAL,
          "the unspecified dimension size -1 can be any value and is ambiguous");
    FAILS(tn_as_strided(x, TN_SHAPE(0, 5), TN_DIMS(most, most), 0), TN_EINVAL, "beyond what an index can count");
    FAILS(tn_as_strided(y, TN_SHAPE(2), TN_DIMS(most / 2), most / 2), TN_EINVAL,
          "out of bounds for storage of size 24");
    MADE(tn_as_strided(y, TN_SHAPE(1, 3), TN_DIMS(most, 1), 0)); /* a stride that no step is made with */
    PRINTS(MADE(tn_as_strided(y, TN_SHAPE(2), TN_DIMS(2), 0)), "tensor([1, 3])");
    assert_int_equal(tn_tensor_numel(MADE(tn_view(x, TN_SHAPE(0, huge)))), 0);
    assert_int_equal(tn_split_sizes(y, TN_INTS(most, most, 5), 0, piece, 3), 0);
    FAILS_STATUS(tn_error_code(), TN_EINVAL, "split_sizes to sum exactly to 3");
    assert_int_equal(tn_split_sizes(y, TN_INTS(1, 2), 0, piece, 3), 2);
    PRINTS(piece[1], "tensor([2, 3])");
    FAILS(tn_one_hot(I64(INT64_MAX), -1), TN_EINVAL, "leaves no room for a number of classes");
    FAILS(tn_one_hot(I64(INT64_MAX - 1), -1), TN_EINVAL, "larger than memory can be");
    PRINTS(MADE(tn_one_hot(I64(1, 0), -1)), "tensor([[0, 1],\n        [1, 0]])");
    tn_scope_close(s);
}

/* ---- lists that cannot be read ---- */

static void lists_of_sizes_are_checked(void **state)
{
    (void)state;
    tn_scope *s = tn_scope_open();
    tn_tensor *x = MADE(tn_ones(TN_SHAPE(2, 3))), *piece[2];
    const int64_t nine[9] = {0};
    const tn_dims bad[] = {
        tn_dims_of(NULL, 1), {.ndim = -1}, tn_dims_of(nine, -1), {.ndim = INT32_MIN}, tn_dims_of(nine, 9)};
    const tn_ints no_lists[] = {{NULL, 1}, {nine, SIZE_MAX}};
    for (size_t i = 0; i < TN_COUNT(no_lists); i++) {
        assert_int_equal(tn_split_sizes(x, no_lists[i], 0, piece, 2), 0);
        FAILS_STATUS(tn_error_code(), TN_EINVAL, "split_with_sizes: a list of");
    }
    for (size_t i = 0; i < TN_COUNT(bad); i++) {
        FAILS(tn_sum_to_size(x, bad[i]), TN_EINVAL, "sum_to_size: a list of");
        FAILS(tn_reshape(x, bad[i]), TN_EINVAL, "");
        FAILS(tn_view(x, bad[i]), TN_EINVAL, "");
        FAILS(tn_expand(x, bad[i]), TN_EINVAL, "");
        FAILS(tn_permute(x, bad[i]), TN_EINVAL, "");
        FAILS(tn_flip(x, bad[i]), TN_EINVAL, "");
        FAILS(tn_as_strided(x, bad[i], bad[i], 0), TN_EINVAL, "");
        FAILS(tn_sum(x, .dims = bad[i]), TN_EINVAL, "");
        FAILS(tn_logsumexp(x, .dims = bad[i]), TN_EINVAL, "");
        FAILS(tn_squeeze(x, .dims = bad[i]), TN_EINVAL, "");
        FAILS(tn_zeros(bad[i]), TN_EINVAL, "");
        FAILS(tn_randint(0, 2, bad[i]), TN_EINVAL, "");
    }
    FAILS(tn_sum_to_size(x, TN_SHAPE(-1)), TN_EINVAL, "is not expandable to size");
    PRINTS(MADE(tn_sum_to_size(x, TN_SHAPE(3))), "tensor([2., 2., 2.])");
    PRINTS(MADE(tn_sum_to_size(x, TN_SHAPE())), "tensor(6.)");
    tn_scope_close(s);
}

/* ---- losses ---- */

static void a_weight_of_none_is_no_weight(void **state)
{
    (void)state;
    tn_scope *s = tn_scope_open();
    tn_tensor *x = MADE(tn_tensor_from(TN_LIST(1., 2., 3., 0., -1., 2.), .shape = TN_SHAPE(2, 3)));
    tn_tensor *p = MADE(tn_tensor_from(TN_LIST(.2, .3, .5, 1., 0., 0.), .shape = TN_SHAPE(2, 3))), *y = I64(2, 0);
    PRINTS(MADE(tn_cross_entropy(x, y, .weight = TN_NONE, .label_smoothing = 0.1)), "tensor(1.3221)");
    PRINTS(MADE(tn_cross_entropy(x, y, .label_smoothing = 0.1)), "tensor(1.3221)");
    PRINTS(MADE(tn_cross_entropy(x, p, .weight = TN_NONE, .label_smoothing = 0.1)), "tensor(1.6371)");
    PRINTS(MADE(tn_cross_entropy(x, y, .weight = TN_NONE)), "tensor(1.2887)");
    MADE(tn_nll_loss(x, y, .weight = TN_NONE));
    MADE(tn_binary_cross_entropy_with_logits(x, p, .weight = TN_NONE, .pos_weight = TN_NONE));
    tn_scope_close(s);
}

static void targets_gradient_far_from_zero(void **state)
{
    (void)state;
    static const double slope[] = {600, 9.097174703147484, 1.3862943611198904, -1.746143977914055, -200};
    static const double second[] = {-3, -2.9051482536448665, -2, -1.2384058440442351, -1};
    tn_scope *s = tn_scope_open();
    tn_tensor *x = MADE(tn_tensor_from(TN_LIST(-200., -3., 0., 2., 200.), .dtype = TN_F64, .requires_grad = true));
    tn_tensor *y = MADE(tn_full(TN_SHAPE(5), 0.25, .dtype = TN_F64, .requires_grad = true)), *gx, *gy;
    tn_tensor *loss = MADE(tn_binary_cross_entropy_with_logits(
        x, y, .pos_weight = MADE(tn_full(TN_SHAPE(), 3.0, .dtype = TN_F64)), .reduction = TN_SUM));
    OK(tn_grad(TN_TENSORS(loss), TN_TENSORS(y), &gy, .create_graph = true));
    OK(tn_grad(TN_TENSORS(gy), TN_TENSORS(x), &gx, .grad_outputs = TN_TENSORS(MADE(tn_ones_like(gy)))));
    for (int64_t i = 0; i < 5; i++) {
        assert_true(fabs(tn_item(MADE(tn_select(gy, 0, i))) - slope[i]) <= 1e-12);
        assert_true(fabs(tn_item(MADE(tn_select(gx, 0, i))) - second[i]) <= 1e-12);
    }
    tn_scope_close(s);
}

/* ---- derivatives ---- */

static void product_over_everything(void **state)
{
    (void)state;
    static const struct {
        int64_t n;
        double x[5], first[5], second[5]; /* second: of sum((i + 1) * first[i]) */
    } cases[] = {
        {5, {2, 3, 4, 5, .5}, {30, 20, 15, 12, 120}, {366.5, 241, 179.5, 143, 326}},
        {5, {2, 0, 4, 5, .5}, {0, 20, 0, 0, 0}, {20, 241, 10, 8, 80}},
        {5, {2, 0, 4, 0, .5}, {0}, {0, 16, 0, 8, 0}},
        {1, {7}, {1}, {0}},
        {2, {7, 3}, {3, 7}, {2, 1}},
        {2, {0, 3}, {3, 0}, {2, 1}},
    };
    for (size_t c = 0; c < TN_COUNT(cases); c++) {
        tn_scope *s = tn_scope_open();
        const tn_array data = {cases[c].x, (size_t)cases[c].n, TN_F64, false};
        tn_tensor *x = MADE(tn_tensor_from(data, .requires_grad = true)), *g, *h;
        OK(tn_grad(TN_TENSORS(MADE(tn_prod(x))), TN_TENSORS(x), &g, .create_graph = true));
        OK(tn_grad(TN_TENSORS(g), TN_TENSORS(x), &h, .allow_unused = true,
                   .grad_outputs = TN_TENSORS(MADE(tn_arange(1., cases[c].n + 1., 1., .dtype = TN_F64)))));
        for (int64_t i = 0; i < cases[c].n; i++) {
            assert_true(tn_item(MADE(tn_select(g, 0, i))) == cases[c].first[i]);
            /* a few roundings: the product divided by its factors, and sums of that */
            assert_true(fabs((h ? tn_item(MADE(tn_select(h, 0, i))) : 0) - cases[c].second[i]) <= 1e-14 * 366.5);
        }
        tn_scope_close(s);
    }
    tn_scope *s = tn_scope_open();
    tn_tensor *x = MADE(tn_full(TN_SHAPE(100000), 1.0, .requires_grad = true)); /* took minutes when it was quadratic */
    OK(tn_backward(tn_prod(x)));
    assert_true(tn_item(MADE(tn_sum(tn_tensor_grad(x)))) == 100000);
    tn_scope_close(s);
}

/* ---- ranges and numbers at the ends of their dtypes ---- */

static void ranges_of_whole_numbers_are_exact(void **state)
{
    (void)state;
    tn_scope *s = tn_scope_open();
    const int64_t big = INT64_C(1) << 53, most = INT64_MAX, least = INT64_MIN;
    PRINTS(MADE(tn_arange(big, big + 3, 1)), "tensor([9007199254740992, 9007199254740993, 9007199254740994])");
    PRINTS(MADE(tn_arange(big, big + 7, 3)), "tensor([9007199254740992, 9007199254740995, 9007199254740998])");
    PRINTS(MADE(tn_arange(big + 3, big, -1)), "tensor([9007199254740995, 9007199254740994, 9007199254740993])");
    PRINTS(MADE(tn_arange(most - 2, most, 1)), "tensor([9223372036854775805, 9223372036854775806])");
    PRINTS(MADE(tn_arange(least, least + 2, 1)), "tensor([-9223372036854775808, -9223372036854775807])");
    PRINTS(MADE(tn_sub(MADE(tn_arange(least, most, most)), 1)),
           "tensor([9223372036854775807,                  -2, 9223372036854775805])");
    FAILS(tn_arange(least, most, 1), TN_EINVAL, "invalid size, possible overflow");
    FAILS(tn_arange(big, big - 1, 1), TN_EINVAL, "upper bound and lower bound inconsistent with step sign");
    FAILS(tn_arange(big, big + 1, -1), TN_EINVAL, "upper bound and lower bound inconsistent with step sign");
    FAILS(tn_arange(big, big + 1, 0), TN_EINVAL, "step must be nonzero");
    assert_int_equal(tn_tensor_numel(MADE(tn_arange(most, most, least))), 0);
    PRINTS(MADE(tn_arange(0, 300, 100, .dtype = TN_I8)), "tensor([  0, 100, -56], dtype=torch.int8)");
    /* other dtypes count in double, as PyTorch's do */
    assert_int_equal(tn_tensor_numel(MADE(tn_arange(big, big + 3, 1, .dtype = TN_F64))), 4);
    assert_int_equal(tn_tensor_numel(MADE(tn_arange(0, 4.7, 1, .dtype = TN_I64))), 5);
    tn_scope_close(s);
}

static void numbers_a_dtype_cannot_hold_are_refused(void **state)
{
    (void)state;
    tn_scope *s = tn_scope_open();
    const char *i8 = "value cannot be converted to type int8_t without overflow", *u8 = "type uint8_t without overflow";
    tn_tensor *x = MADE(tn_tensor_from(TN_LIST(100, -100, 5), .dtype = TN_I8)), *positive = MADE(tn_gt(x, 0));
    tn_tensor *y = MADE(tn_tensor_from(TN_LIST(5, 200, 100), .dtype = TN_U8)),
              *i32 = MADE(tn_ones(TN_SHAPE(2), .dtype = TN_I32));
    tn_tensor *h = MADE(tn_ones(TN_SHAPE(2), .dtype = TN_F16)), *f = MADE(tn_ones(TN_SHAPE(2)));
    const double bad8[] = {300, 128, -129, -128.5, 128.5, 1e300, (double)INFINITY, (double)NAN};
    for (size_t i = 0; i < TN_COUNT(bad8); i++)
        FAILS(tn_full(TN_SHAPE(1), bad8[i], .dtype = TN_I8), TN_EINVAL, i8);
    FAILS(tn_full(TN_SHAPE(1), 300, .dtype = TN_I8), TN_EINVAL, i8);
    FAILS(tn_full_like(x, -129), TN_EINVAL, i8);
    FAILS(tn_fill_(i32, INFINITY), TN_EINVAL, "type int without overflow");
    FAILS(tn_fill_(i32, INT64_C(1) << 40), TN_EINVAL, "type int without overflow");
    FAILS(tn_full(TN_SHAPE(1), 40000, .dtype = TN_I16), TN_EINVAL, "type int16_t without overflow");
    FAILS(tn_full(TN_SHAPE(1), 0x1p63, .dtype = TN_I64), TN_EINVAL, "type int64_t without overflow");
    FAILS(tn_full(TN_SHAPE(1), UINT64_MAX, .dtype = TN_I64), TN_EINVAL, "type int64_t without overflow");
    FAILS(tn_full(TN_SHAPE(1), 1e300), TN_EINVAL, "type float without overflow");
    FAILS(tn_full(TN_SHAPE(1), -0.5, .dtype = TN_U8), TN_EINVAL, u8);
    FAILS(tn_full(TN_SHAPE(1), -256, .dtype = TN_U8), TN_EINVAL, u8);
    FAILS(tn_masked_fill(x, positive, 300), TN_EINVAL, i8);
    FAILS(tn_masked_fill(h, MADE(tn_gt(h, 0)), -1e9), TN_EINVAL, "type c10::Half without overflow");
    FAILS(tn_scatter(x, 0, I64(0), 300), TN_EINVAL, i8);
    FAILS(tn_clamp(x, 300, TN_NONE), TN_EINVAL, "Clamp min value 300 is outside the representable range of Char");
    FAILS(tn_clamp(x, -300, -200), TN_EINVAL, "Clamp max value -200 is outside the representable range of Char");
    FAILS(tn_clamp_max_(y, -1), TN_EINVAL, "Clamp max value -1 is outside the representable range of Byte");
    FAILS(tn_clamp_min(y, 256), TN_EINVAL, "Clamp min value 256 is outside the representable range of Byte");
    FAILS(tn_add_scaled(x, x, 300), TN_EINVAL, i8);
    FAILS(tn_addcmul(y, y, y, .value = TN_SCALAR(256)), TN_EINVAL, u8);
    FAILS(tn_lerp(f, f, 1e300), TN_EINVAL, "type float without overflow");
    FAILS(tn_pow(h, 70000), TN_EINVAL, "type c10::Half without overflow");
    FAILS(tn_full(TN_SHAPE(2), 70000, .dtype = TN_F16), TN_EINVAL, "type c10::Half without overflow");
    FAILS(tn_where(positive, x, 300), TN_EINVAL, i8);
    FAILS(tn_where(MADE(tn_gt(f, 0)), f, 1e300), TN_EINVAL, "type float without overflow");
    FAILS(tn_pow(x, 300), TN_EINVAL, i8);
    FAILS(tn_linspace(0, 300, 3, .dtype = TN_I8), TN_EINVAL, i8);
    PRINTS(MADE(tn_full(TN_SHAPE(2), 127.9, .dtype = TN_I8)), "tensor([127, 127], dtype=torch.int8)");
    PRINTS(MADE(tn_full(TN_SHAPE(2), -255, .dtype = TN_U8)), "tensor([1, 1], dtype=torch.uint8)");
    PRINTS(MADE(tn_full(TN_SHAPE(2), 255.9, .dtype = TN_U8)), "tensor([255, 255], dtype=torch.uint8)");
    PRINTS(MADE(tn_full(TN_SHAPE(1), NAN, .dtype = TN_BOOL)), "tensor([True])");
    PRINTS(MADE(tn_full(TN_SHAPE(1), -0x1p63, .dtype = TN_I64)), "tensor([-9223372036854775808])");
    PRINTS(MADE(tn_masked_fill(f, MADE(tn_gt(f, 0)), -INFINITY)), "tensor([-inf, -inf])");
    PRINTS(MADE(tn_where(positive, x, -128)), "tensor([ 100, -128,    5], dtype=torch.int8)");
    PRINTS(MADE(tn_where(MADE(tn_gt(h, 2)), h, -1e9)), "tensor([-inf, -inf], dtype=torch.float16)");
    tn_scope_close(s);
}

/* Arithmetic wraps the number in the tensor's dtype, as PyTorch does. */
static void numbers_wrap_in_arithmetic(void **state)
{
    (void)state;
    tn_scope *s = tn_scope_open();
    tn_tensor *x = MADE(tn_tensor_from(TN_LIST(100, -100, 5), .dtype = TN_I8));
    tn_tensor *y = MADE(tn_tensor_from(TN_LIST(5, 200, 100), .dtype = TN_U8));
    PRINTS(MADE(tn_add(x, 300)), "tensor([-112,  -56,   49], dtype=torch.int8)");
    PRINTS(MADE(tn_div_floor(x, 300)), "tensor([ 2, -3,  0], dtype=torch.int8)");
    PRINTS(MADE(tn_div_floor(300, x)), "tensor([ 0, -1,  8], dtype=torch.int8)");
    PRINTS(MADE(tn_remainder(x, 300)), "tensor([12, 32,  5], dtype=torch.int8)");
    PRINTS(MADE(tn_remainder(y, -3)), "tensor([  5, 200, 100], dtype=torch.uint8)");
    PRINTS(MADE(tn_div_floor(y, -128)), "tensor([0, 1, 0], dtype=torch.uint8)");
    PRINTS(MADE(tn_clamp_min(y, -1)), "tensor([  5, 200, 100], dtype=torch.uint8)");
    PRINTS(MADE(tn_clamp(y, -128, 7)), "tensor([5, 7, 7], dtype=torch.uint8)");
    PRINTS(MADE(tn_clamp(x, -129, 300)), "tensor([ 100, -100,    5], dtype=torch.int8)");
    PRINTS(MADE(tn_clamp_max(x, UINT64_MAX)), "tensor([ 100, -100,    5], dtype=torch.int8)");
    PRINTS(MADE(tn_fmod(y, -1)), "tensor([  5, 200, 100], dtype=torch.uint8)");
    PRINTS(MADE(tn_fmod(x, 7)), "tensor([ 2, -2,  5], dtype=torch.int8)");
    PRINTS(MADE(tn_maximum(x, 300)), "tensor([100,  44,  44], dtype=torch.int8)");
    FAILS(tn_div_floor(x, 256), TN_EVALUE, "ZeroDivisionError");
    PRINTS(MADE(tn_div(x, 300)), "tensor([ 0.3333, -0.3333,  0.0167])");
    PRINTS(MADE(tn_remainder_(MADE(tn_clone(y)), -3)), "tensor([  5, 200, 100], dtype=torch.uint8)");
    tn_scope_close(s);
}

/* Comparisons are of the numbers themselves. (PyTorch wraps here too: int8 100 < 300 is False there.) */
static void comparisons_know_larger_numbers(void **state)
{
    (void)state;
    tn_scope *s = tn_scope_open();
    const tn_dtype dtypes[] = {TN_U8, TN_I8, TN_I16, TN_I32, TN_I64};
    for (size_t i = 0; i < TN_COUNT(dtypes); i++) {
        tn_tensor *x = MADE(tn_tensor_from(TN_LIST(100, 0, 1), .dtype = dtypes[i]));
        const int64_t big = INT64_C(1) << (dtypes[i] == TN_I64 ? 62 : 40);
        PRINTS(MADE(tn_lt(x, big)), "tensor([True, True, True])");
        PRINTS(MADE(tn_gt(x, -big)), "tensor([True, True, True])");
        PRINTS(MADE(tn_eq(x, big)), "tensor([False, False, False])");
        PRINTS(MADE(tn_ge(-big, x)), "tensor([False, False, False])");
        PRINTS(MADE(tn_lt(x, 100)), "tensor([False,  True,  True])");
        PRINTS(MADE(tn_to(MADE(tn_lt_(x, big)), .dtype = TN_BOOL)), "tensor([True, True, True])");
    }
    PRINTS(MADE(tn_lt(MADE(tn_full(TN_SHAPE(1), 100, .dtype = TN_I8)), 300)), "tensor([True])");
    PRINTS(MADE(tn_gt_(MADE(tn_full(TN_SHAPE(1), 100, .dtype = TN_U8)), -1)), "tensor([1], dtype=torch.uint8)");
    tn_scope_close(s);
}

static void factors_of_integer_products_are_integers(void **state)
{
    (void)state;
    tn_scope *s = tn_scope_open();
    const int64_t odd = (INT64_C(1) << 53) + 1;
    tn_tensor *a = MATRIX(I64(1, 2, 3, 4)), *i8 = MADE(tn_to(a, .dtype = TN_I8)), *u8 = MADE(tn_to(a, .dtype = TN_U8));
    PRINTS(MADE(tn_addmm(a, a, a, .alpha = tn_scalar_i(odd))),
           "tensor([[ 63050394783186952,  90071992547409932],\n        [135107988821114898, 198158383604301850]])");
    PRINTS(MADE(tn_addmm(a, a, a, .beta = tn_scalar_i(odd))),
           "tensor([[ 9007199254741000, 18014398509481996],\n        [27021597764222994, 36028797018963994]])");
    PRINTS(MADE(tn_addmm(a, a, a, .alpha = tn_scalar_i(INT64_MAX), .beta = tn_scalar_i(INT64_MIN))),
           "tensor([[ -7, -10],\n        [-15, -22]])");
    PRINTS(MADE(tn_addmm(a, a, a, .alpha = tn_scalar_f(1.5))), "tensor([[ 8, 12],\n        [18, 26]])");
    PRINTS(MADE(tn_addmm(a, a, a, .beta = tn_scalar_f(0.5))), "tensor([[ 7, 10],\n        [15, 22]])");
    PRINTS(MADE(tn_addmm(u8, u8, u8, .alpha = tn_scalar_i(-1))),
           "tensor([[250, 248],\n        [244, 238]], dtype=torch.uint8)");
    FAILS(tn_addmm(a, a, a, .alpha = tn_scalar_f(NAN)), TN_EINVAL, "value cannot be converted to type int64_t");
    FAILS(tn_addmm(a, a, a, .beta = tn_scalar_f(INFINITY)), TN_EINVAL, "value cannot be converted to type int64_t");
    FAILS(tn_addmm(i8, i8, i8, .alpha = tn_scalar_i(300)), TN_EINVAL, "value cannot be converted to type int8_t");
    tn_tensor *f = MADE(tn_to(a, .dtype = TN_F32));
    PRINTS(MADE(tn_addmm(f, f, f, .alpha = tn_scalar_f(1.5))),
           "tensor([[11.5000, 17.0000],\n        [25.5000, 37.0000]])");
    tn_scope_close(s);
}

/* Products of integers in blocks: against a sum of each element's own. */
static void integer_products_of_every_size(void **state)
{
    (void)state;
    const int64_t sizes[][3] = {{4, 4, 1},      {4, 5, 7},  {17, 33, 300}, {64, 64, 64},
                                {30, 100, 513}, {3, 70, 9}, {70, 3, 9}};
    const tn_dtype dtypes[] = {TN_U8, TN_I8, TN_I16, TN_I32, TN_I64};
    tn_manual_seed(3);
    for (size_t c = 0; c < TN_COUNT(sizes) * TN_COUNT(dtypes) * 2; c++) {
        tn_scope *s = tn_scope_open();
        const int64_t *n = sizes[c / 2 % TN_COUNT(sizes)], big = INT64_C(1) << 40;
        tn_dtype d = dtypes[c / 2 / TN_COUNT(sizes)];
        tn_tensor *a = MADE(tn_to(MADE(tn_randint(-big, big, TN_SHAPE(n[0], n[2]))), .dtype = d));
        tn_tensor *b = MADE(tn_to(MADE(tn_randint(-big, big, TN_SHAPE(n[2], n[1]))), .dtype = d));
        if (c % 2)
            b = MADE(tn_t(MADE(tn_contiguous(MADE(tn_t(b))))));
        tn_tensor *each =
            MADE(tn_mul(MADE(tn_unsqueeze(MADE(tn_to(a, .dtype = TN_I64)), 2)), MADE(tn_to(b, .dtype = TN_I64))));
        tn_tensor *sum = MADE(tn_sum(each, .dim = 1));
        assert_true(tn_equal(MADE(tn_mm(a, b)), MADE(tn_to(sum, .dtype = d))));
        tn_tensor *thrice = MADE(tn_addmm(MADE(tn_full(TN_SHAPE(), 2, .dtype = d)), a, b, .alpha = tn_scalar_i(3)));
        assert_true(tn_equal(thrice, MADE(tn_to(MADE(tn_add(MADE(tn_mul(sum, 3)), 2)), .dtype = d))));
        tn_scope_close(s);
    }
}

/* Indices are checked in pieces: the first wrong one is named, whoever finds it. */
static void the_first_index_outside_is_named(void **state)
{
    (void)state;
    tn_scope *s = tn_scope_open();
    tn_tensor *x = MADE(tn_ones(TN_SHAPE(300, 300))), *index = MADE(tn_zeros(TN_SHAPE(300, 300), .dtype = TN_I64));
    tn_tensor *row = MADE(tn_arange(0, 300, 1)), *every = MADE(tn_expand(row, TN_SHAPE(300, 300)));
    MADE(tn_fill_(MADE(tn_select(MADE(tn_select(index, 0, 120)), 0, 7)), 300));
    MADE(tn_fill_(MADE(tn_select(MADE(tn_select(index, 0, 120)), 0, 8)), 302));
    MADE(tn_fill_(MADE(tn_select(MADE(tn_select(index, 0, 299)), 0, 299)), -1));
    FAILS(tn_gather(x, 1, index), TN_EINDEX, "index 300 is out of bounds for dimension 1 with size 300");
    FAILS(tn_scatter_add(x, 0, index, x), TN_EINDEX, "index 300 is out of bounds for dimension 0 with size 300");
    FAILS(tn_gather(x, 1, MADE(tn_flip(index, TN_DIMS(0)))), TN_EINDEX, "index -1 is out of bounds");
    FAILS(tn_gather(x, 1, MADE(tn_to(index, .dtype = TN_I32))), TN_EINDEX, "index 300 is out of bounds");
    tn_tensor *y = MADE(tn_reshape(MADE(tn_arange(0, 90000, 1)), TN_SHAPE(300, 300)));
    assert_true(tn_equal(MADE(tn_gather(y, 1, every)), y));
    assert_true(tn_equal(MADE(tn_gather(y, 0, MADE(tn_t(every)))), y));
    assert_true(tn_equal(MADE(tn_gather(MADE(tn_t(y)), 1, every)), MADE(tn_t(y))));
    assert_true(tn_equal(MADE(tn_scatter(MADE(tn_zeros_like(y)), 1, MADE(tn_flip(every, TN_DIMS(1))), y)),
                         MADE(tn_flip(y, TN_DIMS(1)))));
    tn_scope_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addmm_in_place_of_a_factor),
        cmocka_unit_test(linear_of_rows_beside_a_dimension_of_one),
        cmocka_unit_test(index_select_of_one_number),
        cmocka_unit_test(an_index_without_dimensions_is_one_index),
        cmocka_unit_test(diagonals_far_outside),
        cmocka_unit_test(steps_and_pieces_of_any_size),
        cmocka_unit_test(joined_sizes_that_overflow),
        cmocka_unit_test(products_and_sums_of_sizes_that_overflow),
        cmocka_unit_test(lists_of_sizes_are_checked),
        cmocka_unit_test(a_weight_of_none_is_no_weight),
        cmocka_unit_test(targets_gradient_far_from_zero),
        cmocka_unit_test(product_over_everything),
        cmocka_unit_test(ranges_of_whole_numbers_are_exact),
        cmocka_unit_test(numbers_a_dtype_cannot_hold_are_refused),
        cmocka_unit_test(numbers_wrap_in_arithmetic),
        cmocka_unit_test(comparisons_know_larger_numbers),
        cmocka_unit_test(factors_of_integer_products_are_integers),
        cmocka_unit_test(integer_products_of_every_size),
        cmocka_unit_test(the_first_index_outside_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
