/* Scopes, references, errors: who owns what, and what a failed call leaves behind. */
#include "check.h"

static void scope_owns_what_is_made_in_it(void **state)
{
    (void)state;
    int64_t before = tn_live_tensors();
    tn_scope *s = tn_scope_open();
    tn_tensor *x = MADE(tn_ones(TN_SHAPE(2, 3)));
    MADE(tn_add(tn_mul(x, 2), 1));
    assert_int_equal(tn_live_tensors(), before + 3);
    tn_scope_close(s);
    assert_int_equal(tn_live_tensors(), before);
}

static void caller_owns_without_a_scope(void **state)
{
    (void)state;
    int64_t before = tn_live_tensors();
    tn_tensor *x = MADE(tn_ones(TN_SHAPE(2)));
    tn_tensor *same = MADE(tn_to(x));
    assert_ptr_equal(same, x);
    tn_release(x);
    assert_int_equal(tn_live_tensors(), before + 1); /* 'same' is a reference of its own */
    tn_release(same);
    assert_int_equal(tn_live_tensors(), before);
}

static void close_keep_hands_outside(void **state)
{
    (void)state;
    int64_t before = tn_live_tensors();
    tn_scope *outer = tn_scope_open(), *inner = tn_scope_open();
    tn_tensor *y = tn_scope_close_keep(inner, MADE(tn_add(MADE(tn_ones(TN_SHAPE(2))), 1)));
    assert_int_equal(tn_live_tensors(), before + 1);
    PRINTS(y, "tensor([2., 2.])");
    tn_scope_close(outer);
    assert_int_equal(tn_live_tensors(), before);
    inner = tn_scope_open();
    y = tn_scope_close_keep(inner, MADE(tn_ones(TN_SHAPE(1))));
    assert_int_equal(tn_live_tensors(), before + 1);
    tn_release(y);
    assert_int_equal(tn_live_tensors(), before);
}

static void keep_takes_out_of_the_scope(void **state)
{
    (void)state;
    int64_t before = tn_live_tensors();
    tn_scope *s = tn_scope_open();
    tn_tensor *x = tn_keep(MADE(tn_ones(TN_SHAPE(1)))), *early = MADE(tn_ones(TN_SHAPE(1)));
    tn_release(early); /* early release of what the scope owns is allowed */
    assert_int_equal(tn_live_tensors(), before + 1);
    tn_scope_close(s);
    assert_int_equal(tn_live_tensors(), before + 1);
    tn_release(x);
    assert_int_equal(tn_live_tensors(), before);
}

static void closing_closes_inner_scopes(void **state)
{
    (void)state;
    int64_t before = tn_live_tensors();
    tn_scope *outer = tn_scope_open();
    tn_scope *inner = tn_scope_open();
    tn_tensor *x = MADE(tn_ones(TN_SHAPE(1)));
    assert_ptr_equal(tn_scope_close_keep(outer, x), x);
    assert_int_equal(tn_live_tensors(), before + 1);
    tn_release(x);
    assert_int_equal(tn_live_tensors(), before);
    tn_scope_close(inner); /* is closed already */
    assert_int_equal(tn_error_code(), TN_EINVAL);
    tn_error_clear();
    tn_scope_close(NULL);
    assert_int_equal(tn_error_code(), TN_OK);
}

/* A call that gives its argument back (here: nothing to convert) gives one reference more, to the innermost scope. */
static void the_same_tensor_again_is_one_reference_more(void **state)
{
    (void)state;
    int64_t before = tn_live_tensors();
    tn_tensor *mine = MADE(tn_ones(TN_SHAPE(2)));
    tn_scope *outer = tn_scope_open();
    tn_tensor *x = MADE(tn_ones(TN_SHAPE(3)));
    tn_scope *inner = tn_scope_open();
    for (int i = 0; i < 100; i++) {
        assert_ptr_equal(MADE(tn_to(x)), x);
        assert_ptr_equal(MADE(tn_contiguous(mine)), mine);
    }
    assert_ptr_equal(tn_keep(x), x); /* the inner scope's: the outer one still has its own */
    tn_scope_close(inner);
    PRINTS(x, "tensor([1., 1., 1.])");
    PRINTS(mine, "tensor([1., 1.])");
    tn_scope_close(outer);
    PRINTS(x, "tensor([1., 1., 1.])");
    tn_release(x);
    assert_int_equal(tn_live_tensors(), before + 1);
    tn_release(mine);
    assert_int_equal(tn_live_tensors(), before);
}

/* close_keep moves such a reference outside, whatever else the two scopes hold. */
static void references_move_outward(void **state)
{
    (void)state;
    int64_t before = tn_live_tensors();
    for (int outside = 0; outside < 30; outside += 7)
        for (int inside = 1; inside < 30; inside++) {
            tn_tensor *x = MADE(tn_ones(TN_SHAPE(2))), *other = MADE(tn_ones(TN_SHAPE(2)));
            tn_scope *outer = tn_scope_open();
            for (int i = 0; i < outside; i++)
                MADE(tn_to(other));
            tn_scope *inner = tn_scope_open();
            for (int i = 0; i < inside; i++)
                MADE(tn_to(i == inside / 2 ? x : other));
            assert_ptr_equal(tn_scope_close_keep(inner, x), x);
            tn_release(x); /* what this function made: the outer scope's is the last one */
            assert_int_equal(tn_live_tensors(), before + 2);
            tn_scope_close(outer);
            assert_int_equal(tn_live_tensors(), before + 1);
            inner = tn_scope_open();
            MADE(tn_to(other));
            assert_ptr_equal(tn_scope_close_keep(inner, other), other); /* to the caller */
            tn_release(other);
            assert_int_equal(tn_live_tensors(), before + 1);
            tn_release(other);
            assert_int_equal(tn_live_tensors(), before);
        }
}

/* A gradient that is the very tensor that was passed in, asked for twice. */
static void gradients_passed_through_are_references(void **state)
{
    (void)state;
    int64_t before = tn_live_tensors();
    for (int scoped = 0; scoped < 2; scoped++) {
        tn_tensor *x = MADE(tn_ones(TN_SHAPE(2), .requires_grad = true)), *g = MADE(tn_full(TN_SHAPE(2), 3));
        tn_scope *s = scoped ? tn_scope_open() : NULL;
        tn_tensor *y = MADE(tn_add(x, 0)), *grads[2];
        OK(tn_grad(TN_TENSORS(y), TN_TENSORS(x, x), grads, .grad_outputs = TN_TENSORS(g)));
        for (int i = 0; i < 2; i++) {
            PRINTS(grads[i], "tensor([3., 3.])");
            if (!s)
                tn_release(grads[i]);
        }
        if (s)
            tn_scope_close(s);
        else
            tn_release(y);
        tn_release(g);
        tn_release(x);
        assert_int_equal(tn_live_tensors(), before);
    }
}

static void failed_calls_poison(void **state)
{
    (void)state;
    tn_scope *s = tn_scope_open();
    tn_tensor *x = MADE(tn_ones(TN_SHAPE(2, 3))), *y = MADE(tn_ones(TN_SHAPE(2, 4)));
    tn_tensor *z = tn_relu(tn_add(tn_mul(x, y), 1));
    assert_null(z);
    assert_int_equal(tn_error_code(), TN_EINVAL);
    assert_non_null(strstr(tn_error_message(), "The size of tensor a (3) must match the size of tensor b (4) at "
                                               "non-singleton dimension 1"));
    assert_non_null(strstr(tn_error_message(), "mul(float32 [2, 3] on cpu; float32 [2, 4] on cpu)"));
    assert_non_null(strstr(tn_error_message(), "test_scope.c:"));
    tn_error_clear();
    FAILS(tn_relu(NULL), TN_EINVAL, "no failed call is on record");
    FAILS(tn_add(x, TN_NONE), TN_ETYPE, "operand 2 must be a tensor or a number");
    FAILS(tn_mm(x, TN_NONE), TN_ETYPE, "operand 2 must be a tensor");
    tn_scope_close(s);
}

static void success_leaves_the_record_alone(void **state)
{
    (void)state;
    tn_scope *s = tn_scope_open();
    assert_null(tn_zeros(TN_SHAPE(-1)));
    assert_int_equal(tn_error_code(), TN_EINVAL);
    MADE(tn_zeros(TN_SHAPE(1)));
    assert_int_equal(tn_error_code(), TN_EINVAL);
    tn_error_clear();
    assert_string_equal(tn_error_message(), "");
    tn_scope_close(s);
}

/* Functions that are called as such, without the macros of tenon/sites.h, note no call site, and must not show an earlier
 * call's. */
static void no_error_shows_another_calls_site(void **state)
{
    (void)state;
    tn_tensor *x = MADE(tn_ones(TN_SHAPE(2))), *i = MADE(tn_arange(0, 3, 1));
#define STALE(call) \
    do { \
        tn_error_clear(); \
        assert_null(tn_mean(i)); \
        assert_non_null(strstr(tn_error_message(), "test_scope.c:")); \
        tn_error_clear(); \
        if (call) \
            fail_msg("%s", #call); \
        if (tn_error_code() == TN_OK || strstr(tn_error_message(), "test_scope.c:")) \
            fail_msg("%s: %s", #call, tn_error_message()); \
    } while (0)
    STALE((tn_requires_grad_)(i, true) != NULL);
    STALE((tn_tensor_size)(x, 7) >= 0);
    STALE((tn_data)(NULL) != NULL);
    STALE((tn_tensor_set_grad)(x, i) == TN_OK);
    STALE((tn_to_string)(NULL, NULL, 0) >= 0);
    STALE((tn_device_parse)("gpu").type > 0);
    STALE((tn_dtype_parse)("f99") > 0);
    STALE((tn_set_default_dtype)(TN_I32) == TN_OK);
    STALE((tn_set_num_threads)(0) == TN_OK);
    STALE(((tn_scope_close)((tn_scope *)(void *)x), false));
    STALE((tn_safetensors_name)(NULL, 0) != NULL);
    STALE((tn_init_gain)(-1, 0) > 0);
    STALE((tn_module_to_string)(NULL, NULL, 0) >= 0);
    STALE((tn_loader_set_state)(NULL, (tn_loader_state){0}) == TN_OK);
#undef STALE
    tn_error_clear();
    tn_release(x);
    tn_release(i);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scope_owns_what_is_made_in_it),
        cmocka_unit_test(caller_owns_without_a_scope),
        cmocka_unit_test(close_keep_hands_outside),
        cmocka_unit_test(keep_takes_out_of_the_scope),
        cmocka_unit_test(closing_closes_inner_scopes),
        cmocka_unit_test(failed_calls_poison),
        cmocka_unit_test(the_same_tensor_again_is_one_reference_more),
        cmocka_unit_test(references_move_outward),
        cmocka_unit_test(gradients_passed_through_are_references),
        cmocka_unit_test(no_error_shows_another_calls_site),
        cmocka_unit_test(success_leaves_the_record_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
