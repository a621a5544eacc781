/* What a language binding needs of a tensor: a slot for its object, other memory under the same identity, results in memory
 * that is there. Values and texts are PyTorch 2.14's, but where Tenon refuses more: what was recorded before does not use the
 * new values. */
#include "check.h"

static void a_slot_for_a_binding(void **state)
{
    (void)state;
    tn_scope *s = tn_scope_open();
    int object;
    tn_tensor *x = MADE(tn_ones(TN_SHAPE(2)));
    assert_null(tn_tensor_binding(x));
    tn_tensor_bind(x, &object);
    assert_ptr_equal(tn_tensor_binding(x), &object);
    assert_null(tn_tensor_binding(MADE(tn_detach(x)))); /* another tensor */
    assert_null(tn_tensor_binding(MADE(tn_slice(x, 0, 0, 1, 1))));
    tn_tensor_bind(x, NULL);
    assert_null(tn_tensor_binding(x));
    tn_tensor_bind(NULL, &object);
    tn_tensor_bind(TN_NONE, &object);
    assert_null(tn_tensor_binding(NULL));
    assert_null(tn_tensor_binding(TN_NONE));
    tn_scope_close(s);
}

static void everything_but_identity(void **state)
{
    (void)state;
    tn_scope *s = tn_scope_open();
    tn_tensor *x = MADE(tn_ones(TN_SHAPE(3), .requires_grad = true));
    tn_tensor *y = MADE(tn_tensor_from(TN_LIST(1, 2, 3, 4, 5, 6), .shape = TN_SHAPE(2, 3), .dtype = TN_F64));
    OK(tn_tensor_set_data(x, MADE(tn_t(y))));
    assert_true(tn_tensor_requires_grad(x) && tn_tensor_is_leaf(x));
    PRINTS(tn_detach(x), "tensor([[1., 4.],\n        [2., 5.],\n        [3., 6.]], dtype=torch.float64)");
    assert_false(tn_tensor_is_contiguous(x));
    assert_int_equal(tn_tensor_numel(x), 6);
    assert_true(tn_tensor_shares_memory(x, y));
    MADE(tn_mul_(y, 10)); /* it is shared, not copied */
    OK(tn_backward(tn_sum(tn_mul(x, x))));
    PRINTS(tn_tensor_grad(x),
           "tensor([[ 20.,  80.],\n        [ 40., 100.],\n        [ 60., 120.]], dtype=torch.float64)");
    uint32_t version = tn_tensor_version(x);
    OK(tn_tensor_set_data(x, x)); /* nothing */
    assert_int_equal(tn_tensor_version(x), version);
    OK(tn_tensor_set_data(x, MADE(tn_zeros(TN_SHAPE(), .dtype = TN_F16))));
    assert_int_equal(tn_tensor_ndim(x), 0);
    assert_int_equal(tn_tensor_dtype(x), TN_F16);
    assert_true(tn_tensor_version(x) > version);
    PRINTS(y, "tensor([[10., 20., 30.],\n        [40., 50., 60.]], dtype=torch.float64)");
    tn_scope_close(s);
}

#define MODIFIED "has been modified by an inplace operation"

static void what_was_recorded_before(void **state)
{
    (void)state;
    tn_scope *s = tn_scope_open();
    tn_tensor *x = MADE(tn_ones(TN_SHAPE(3), .requires_grad = true)), *five = MADE(tn_full(TN_SHAPE(3), 5.0));
    tn_tensor *square = MADE(tn_sum(tn_mul(x, x))), *twice = MADE(tn_sum(tn_mul(x, 2)));
    OK(tn_tensor_set_data(x, five));
    OK(tn_backward(twice)); /* needs no old value */
    PRINTS(tn_tensor_grad(x), "tensor([2., 2., 2.])");
    FAILS_STATUS(tn_backward(square), TN_EGRAD, MODIFIED);
    OK(tn_backward(tn_sum(tn_mul(five, MADE(tn_requires_grad_(tn_ones(TN_SHAPE(3)), true))))));
    tn_tensor *y = MADE(tn_sum(tn_mul(x, 3)));
    OK(tn_tensor_set_data(x, MADE(tn_ones(TN_SHAPE(2, 2)))));
    FAILS_STATUS(tn_backward(y), TN_EGRAD, "got [3] but expected shape compatible with [2, 2]");
    tn_scope_close(s);
}

/* A tensor that was computed keeps its history: the gradient is that of what it was computed from. */
static void of_a_computed_tensor(void **state)
{
    (void)state;
    tn_scope *s = tn_scope_open();
    tn_tensor *x = MADE(tn_ones(TN_SHAPE(3), .requires_grad = true)), *y = MADE(tn_mul(x, 2));
    OK(tn_tensor_set_data(y, MADE(tn_full(TN_SHAPE(3), 7.0))));
    tn_tensor *z = MADE(tn_sum(tn_mul(y, y)));
    assert_true(tn_item(z) == 147);
    OK(tn_backward(z));
    PRINTS(tn_tensor_grad(x), "tensor([28., 28., 28.])");
    FAILS_STATUS(tn_tensor_set_data(y, MADE(tn_ones(TN_SHAPE(5)))), TN_EGRAD, "computed by MulBackward0");
    FAILS_STATUS(tn_tensor_set_data(y, MADE(tn_ones(TN_SHAPE(3), .dtype = TN_F64))), TN_EGRAD, "float64 [3] on cpu");
    PRINTS(tn_detach(y), "tensor([7., 7., 7.])");
    tn_scope_close(s);
}

static void views_keep_the_old_memory(void **state)
{
    (void)state;
    tn_scope *s = tn_scope_open();
    tn_tensor *b = MADE(tn_zeros(TN_SHAPE(4))), *v = MADE(tn_slice(b, 0, 0, 2, 1));
    OK(tn_tensor_set_data(b, MADE(tn_ones(TN_SHAPE(3)))));
    MADE(tn_add_(v, 1));
    PRINTS(v, "tensor([1., 1.])");
    PRINTS(b, "tensor([1., 1., 1.])");
    tn_tensor *w = MADE(tn_ones(TN_SHAPE(2), .requires_grad = true));
    FAILS(tn_mul_(v, w), TN_EGRAD, "a view is used whose base was given other memory");
    OK(tn_backward(tn_sum(tn_mul(tn_slice(b, 0, 0, 2, 1), w))));
    PRINTS(tn_tensor_grad(w), "tensor([1., 1.])");
    /* a view of a leaf, made while nothing was recorded: it has no history, nor gets one */
    tn_tensor *x = MADE(tn_ones(TN_SHAPE(4), .requires_grad = true));
    bool was = tn_set_grad_enabled(false);
    tn_tensor *part = MADE(tn_slice(x, 0, 0, 2, 1));
    tn_set_grad_enabled(was);
    OK(tn_tensor_set_data(x, MADE(tn_ones(TN_SHAPE(1)))));
    OK(tn_backward(tn_sum(tn_mul(part, 2))));
    assert_null(tn_tensor_grad(x));
    /* of a view: it is one no more */
    tn_tensor *base = MADE(tn_zeros(TN_SHAPE(4))), *half = MADE(tn_slice(base, 0, 0, 2, 1));
    OK(tn_tensor_set_data(half, MADE(tn_full(TN_SHAPE(2), 3.0))));
    MADE(tn_mul_(half, w));
    OK(tn_backward(tn_sum(half)));
    PRINTS(tn_tensor_grad(w), "tensor([4., 4.])");
    PRINTS(base, "tensor([0., 0., 0., 0.])");
    tn_scope_close(s);
}

static void what_is_refused(void **state)
{
    (void)state;
    tn_scope *s = tn_scope_open();
    tn_tensor *x = MADE(tn_ones(TN_SHAPE(3), .requires_grad = true)),
              *meta = MADE(tn_ones(TN_SHAPE(3), .device = TN_META));
    FAILS_STATUS(tn_tensor_set_data(x, MADE(tn_ones(TN_SHAPE(3), .dtype = TN_I64))), TN_EDTYPE,
                 "data set to a tensor that requires gradients must be floating point or complex dtype");
    FAILS_STATUS(tn_tensor_set_data(x, meta), TN_EINVAL,
                 "Attempted to call `variable.set_data(tensor)`, but `variable` and `tensor` have incompatible tensor "
                 "type.");
    FAILS_STATUS(tn_tensor_set_data(meta, x), TN_EINVAL, "incompatible tensor type.");
    FAILS_STATUS(tn_tensor_set_data(NULL, x), TN_EINVAL, "tn_tensor_set_data");
    FAILS_STATUS(tn_tensor_set_data(x, NULL), TN_EINVAL, "tn_tensor_set_data");
    FAILS_STATUS(tn_tensor_set_data(x, TN_NONE), TN_ETYPE, "TN_NONE");
    OK(tn_tensor_set_data(meta, MADE(tn_ones(TN_SHAPE(2), .device = TN_META))));
    PRINTS(tn_detach(x), "tensor([1., 1., 1.])");
    assert_int_equal(tn_tensor_version(x), 0);
    tn_scope_close(s);
}

static void memory_that_is_offered(void **state)
{
    (void)state;
    tn_scope *s = tn_scope_open();
    tn_tensor *x = MADE(tn_ones(TN_SHAPE(2, 2))), *out = MADE(tn_zeros(TN_SHAPE(2, 2)));
    tn_into(out, false);
    assert_true(tn_into_taken(out, MADE(tn_add(x, 1))));
    PRINTS(out, "tensor([[2., 2.],\n        [2., 2.]])");
    assert_int_equal(tn_tensor_version(out), 1);
    assert_false(tn_into_taken(out, MADE(tn_add(x, 1)))); /* the offer has ended */
    tn_into(out, false);
    MADE(tn_mul(out, out)); /* at the same places */
    PRINTS(out, "tensor([[4., 4.],\n        [4., 4.]])");
    tn_into(out, false);
    assert_null(tn_add(x, TN_NONE)); /* ends it, too */
    assert_false(tn_into_taken(out, MADE(tn_add(x, 1))));
    tn_tensor *other[] = {MADE(tn_zeros(TN_SHAPE(4))), MADE(tn_zeros(TN_SHAPE(2, 2), .dtype = TN_F64)),
                          MADE(tn_zeros(TN_SHAPE(2, 2), .requires_grad = true)), MADE(tn_t(x)),
                          MADE(tn_expand(tn_zeros(TN_SHAPE(1)), TN_SHAPE(2, 2)))};
    for (size_t i = 0; i < sizeof other / sizeof *other; i++) {
        tn_into(other[i], false);
        assert_false(tn_tensor_shares_memory(MADE(tn_add(x, 2)), other[i]));
    }
    tn_into(out, true);
    assert_false(tn_into_taken(out, MADE(tn_sum(x))));
    assert_true(tn_into_taken(out, MADE(tn_cat(TN_TENSORS(tn_narrow(x, 0, 0, 1), tn_narrow(x, 0, 1, 1)), 0))));
    PRINTS(out, "tensor([[1., 1.],\n        [1., 1.]])");
    tn_into(out, true);
    tn_into(NULL, false);
    assert_false(tn_into_taken(out, MADE(tn_mul(x, 2))));
    tn_into(out, false);
    assert_false(tn_into_taken(out, MADE(tn_mul(other[2], 2)))); /* recorded */
    PRINTS(out, "tensor([[1., 1.],\n        [1., 1.]])");
    assert_int_equal(tn_tensor_version(out), 2);
    tn_tensor *both = MADE(tn_arange(2)), *threes = MADE(tn_mul(x, 3)),
              *outside = MADE(tn_full(TN_SHAPE(2), 7, .dtype = TN_I64));
    tn_into(out, false);
    assert_null(tn_index_select(x, 0, outside)); /* which is seen before anything is written */
    PRINTS(out, "tensor([[1., 1.],\n        [1., 1.]])");
    tn_into(out, false);
    assert_true(tn_into_taken(out, MADE(tn_index_select(threes, 0, both))));
    PRINTS(out, "tensor([[3., 3.],\n        [3., 3.]])");
    tn_scope_close(s);
}

static int nothing_is_left(void **state)
{
    (void)state;
    return tn_live_tensors() != 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_slot_for_a_binding, nothing_is_left),
        cmocka_unit_test_teardown(everything_but_identity, nothing_is_left),
        cmocka_unit_test_teardown(what_was_recorded_before, nothing_is_left),
        cmocka_unit_test_teardown(of_a_computed_tensor, nothing_is_left),
        cmocka_unit_test_teardown(views_keep_the_old_memory, nothing_is_left),
        cmocka_unit_test_teardown(what_is_refused, nothing_is_left),
        cmocka_unit_test_teardown(memory_that_is_offered, nothing_is_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
