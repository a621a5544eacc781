/* Gradient clipping; values from torch.nn.utils 2.14.1. */
#include "nn_check.h"

/* Three parameters: gradients [2, 3] and [2], and one without. */
static void make(tn_tensor **p, tn_dtype dtype)
{
    p[0] = tn_zeros(TN_SHAPE(2, 3), .dtype = dtype, .requires_grad = true);
    p[1] = tn_zeros(TN_SHAPE(2), .dtype = dtype, .requires_grad = true);
    p[2] = tn_zeros(TN_SHAPE(4), .dtype = dtype, .requires_grad = true);
    OK(tn_tensor_set_grad(
        p[0], tn_tensor_from(TN_LIST(0.5, -1.5, 2.0, 3.25, -0.125, 1.0), .shape = TN_SHAPE(2, 3), .dtype = dtype)));
    OK(tn_tensor_set_grad(p[1], tn_tensor_from(TN_LIST(-2.5, 4.0), .dtype = dtype)));
}

static void norm_scales_what_is_too_long(void **state)
{
    (void)state;
    static const double unit[] = {0.078734653519602335, -0.23620396055880699,  0.31493861407840934,
                                  0.51177524787741513,  -0.019683663379900584, 0.15746930703920467,
                                  -0.39367326759801169, 0.62987722815681868};
    static const double five[] = {0.39367326759801169,   -1.1810198027940351, 1.5746930703920468,  2.5588762393870761,
                                  -0.098418316899502922, 0.78734653519602338, -1.9683663379900584, 3.1493861407840935};
    static const double same[] = {0.5, -1.5, 2, 3.25, -0.125, 1, -2.5, 4};
    static const struct {
        double max;
        const double *want;
    } cases[] = {{1, unit}, {5, five}, {100, same}, {(double)INFINITY, same}};
    for (int d = 0; d < 2; d++)
        for (size_t c = 0; c < 4; c++) {
            tn_scope *scope = tn_scope_open();
            tn_tensor *p[3];
            double norm = -1;
            make(p, d ? TN_F32 : TN_F64);
            OK(tn_clip_grad_norm_(TN_TENSORS(p[0], p[1], p[2]), cases[c].max, &norm));
            NEAR(norm, 6.3504428979402689, d ? 2e-7 : 1e-15);
            for (int i = 0; i < 8; i++)
                NEAR(element(tn_tensor_grad(p[i / 6]), i % 6), cases[c].want[i], d ? 1e-7 : 1e-15);
            assert_null(tn_tensor_grad(p[2]));
            tn_scope_close(scope);
        }
}

static void norm_of_a_module(void **state)
{
    (void)state;
    tn_scope *scope = tn_scope_open();
    tn_module *net = BUILT(tn_nn_linear(2, 2));
    double norm = -1;
    OK(tn_clip_grad_norm_(net, 1, &norm)); /* no gradient at all */
    NEAR(norm, 0, 0);
    OK(tn_tensor_set_grad(tn_module_parameter(net, "bias"), tn_tensor_from(TN_LIST(3.0, 4.0))));
    tn_tensor *g = tn_tensor_grad(tn_module_parameter(net, "bias"));
    OK(tn_clip_grad_norm_(net, 1, NULL));
    assert_ptr_equal(tn_tensor_grad(tn_module_parameter(net, "bias")), g);
    PRINTS(g, "tensor([0.6000, 0.8000])");
    tn_scope_close(scope);
}

/* 16-bit squares would overflow from 256 on; the norm is 500, and the gradients keep their dtype: the nearest numbers to
 * 0.6 and 0.8 that it has (torch rounds the factor first, which makes 0.8003 of the second in float16). */
static void norm_of_halves(void **state)
{
    (void)state;
    const tn_dtype dtypes[] = {TN_F16, TN_BF16};
    for (int i = 0; i < 2; i++) {
        tn_scope *scope = tn_scope_open();
        tn_tensor *p = tn_zeros(TN_SHAPE(2), .dtype = dtypes[i], .requires_grad = true);
        double norm;
        OK(tn_tensor_set_grad(p, tn_tensor_from(TN_LIST(300.0, 400.0), .dtype = dtypes[i])));
        OK(tn_clip_grad_norm_(TN_TENSORS(p), 1, &norm));
        NEAR(norm, 500, 0);
        PRINTS(tn_tensor_grad(p),
               i ? "tensor([0.6016, 0.8008], dtype=torch.bfloat16)" : "tensor([0.6001, 0.7998], dtype=torch.float16)");
        tn_scope_close(scope);
    }
}

static void norm_that_is_no_number(void **state)
{
    (void)state;
    static const struct {
        double a, norm;
        const char *text;
    } cases[] = {{(double)NAN, (double)NAN, "tensor([nan, nan])"},
                 {(double)INFINITY, (double)INFINITY, "tensor([nan, 0.])"},
                 {0, 1, "tensor([0., 1.])"}};
    for (size_t i = 0; i < 3; i++) {
        tn_scope *scope = tn_scope_open();
        tn_tensor *p = tn_zeros(TN_SHAPE(2), .requires_grad = true);
        double norm;
        OK(tn_tensor_set_grad(p, tn_tensor_from(TN_LIST(cases[i].a, 1.0))));
        OK(tn_clip_grad_norm_(TN_TENSORS(p), 2, &norm));
        NEAR(norm, cases[i].norm, 0);
        PRINTS(tn_tensor_grad(p), cases[i].text);
        tn_scope_close(scope);
    }
}

static void value_limits_each_element(void **state)
{
    (void)state;
    tn_scope *scope = tn_scope_open();
    tn_tensor *p[3], *q = tn_zeros(TN_SHAPE(2), .requires_grad = true);
    make(p, TN_F64);
    OK(tn_clip_grad_value_(((tn_tensors){p, 3}), 1.25));
    PRINTS(tn_tensor_grad(p[0]), "tensor([[ 0.5000, -1.2500,  1.2500],\n        [ 1.2500, -0.1250,  1.0000]], "
                                 "dtype=torch.float64)");
    PRINTS(tn_tensor_grad(p[1]), "tensor([-1.2500,  1.2500], dtype=torch.float64)");
    OK(tn_tensor_set_grad(q, tn_tensor_from(TN_LIST((double)NAN, -(double)INFINITY))));
    OK(tn_clip_grad_value_(TN_TENSORS(q), 1));
    PRINTS(tn_tensor_grad(q), "tensor([nan, -1.])");
    assert_true(tn_is_grad_enabled());
    tn_scope_close(scope);
}

/* A gradient that has a history itself is written in place all the same. */
static void gradients_with_history(void **state)
{
    (void)state;
    tn_scope *scope = tn_scope_open();
    tn_tensor *x = tn_tensor_from(TN_LIST(3.0, 4.0), .requires_grad = true);
    OK(tn_backward(tn_sum(tn_pow(x, 2)), .create_graph = true));
    assert_true(tn_tensor_requires_grad(tn_tensor_grad(x)));
    double norm;
    OK(tn_clip_grad_norm_(TN_TENSORS(x), 1, &norm));
    NEAR(norm, 10, 1e-6);
    OK(tn_clip_grad_value_(TN_TENSORS(x), 0.7));
    PRINTS(values(tn_tensor_grad(x)), "tensor([0.6000, 0.7000])");
    OK(tn_tensor_set_grad(x, TN_NONE));
    tn_scope_close(scope);
}

static void bad_input(void **state)
{
    (void)state;
    tn_scope *scope = tn_scope_open();
    tn_tensor *p = tn_zeros(TN_SHAPE(2), .requires_grad = true);
    double norm = 7;
    FAILS_STATUS(tn_clip_grad_norm_(TN_TENSORS(p, tn_zeros(TN_SHAPE(-1))), 1, &norm), TN_EINVAL, "");
    FAILS_STATUS(tn_clip_grad_norm_((tn_module *)NULL, 1, &norm), TN_EINVAL, "tn_clip_grad_norm_: an operand is NULL");
    FAILS_STATUS(tn_clip_grad_value_(TN_TENSORS(TN_NONE), 1), TN_ETYPE, "parameter 0 is TN_NONE");
    NEAR(norm, 7, 0); /* not written on error */
    tn_tensor *m = tn_zeros(TN_SHAPE(2), .device = TN_META, .requires_grad = true);
    OK(tn_tensor_set_grad(m, tn_zeros(TN_SHAPE(2), .device = TN_META)));
    FAILS_STATUS(tn_clip_grad_norm_(TN_TENSORS(m), 1, &norm), TN_EDEVICE, "meta");
    assert_true(tn_is_grad_enabled());
    tn_scope_close(scope);
}

static void nothing_leaks(void **state)
{
    int64_t tensors = tn_live_tensors(), blocks = tn__door_live();
    norm_scales_what_is_too_long(state);
    value_limits_each_element(state);
    bad_input(state);
    assert_int_equal(tn_live_tensors(), tensors);
    assert_int_equal(tn__door_live(), blocks);
}

int main(void)
{
    setenv("TENON_NO_CACHE", "1", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(norm_scales_what_is_too_long),
        cmocka_unit_test(norm_of_a_module),
        cmocka_unit_test(norm_of_halves),
        cmocka_unit_test(norm_that_is_no_number),
        cmocka_unit_test(value_limits_each_element),
        cmocka_unit_test(gradients_with_history),
        cmocka_unit_test(bad_input),
        cmocka_unit_test(nothing_leaks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
