/* Scatter, gather, broadcast, reduce_add, replicate and apply between CPU devices, DataParallel where there is no GPU, and
 * what each of them says to bad arguments. What needs two devices is in tests/fake. */
#include "nn_check.h"

/* The call fails with an error set, whichever; says so if it does not. */
#define REFUSED(call)      refused_((call) != TN_OK, #call, __FILE__, __LINE__)
#define REFUSED_NULL(call) refused_((call) == NULL, #call, __FILE__, __LINE__)

static void refused_(bool failed, const char *what, const char *file, int line)
{
    if (!failed || tn_error_code() == TN_OK || !*tn_error_message()) {
        print_error("%s: expected an error, got %s '%s'\n", what, failed ? "failure without one" : "success",
                    tn_error_message());
        _fail(file, line);
    }
    tn_error_clear();
}

/* devices times the CPU */
static tn_device_list cpus(size_t n)
{
    static tn_device d[8];
    for (size_t i = 0; i < 8; i++)
        d[i] = TN_CPU;
    return (tn_device_list){d, n};
}

static tn_tensor *counting(tn_dims shape)
{
    int64_t n = 1;
    for (int32_t i = 0; i < shape.ndim; i++)
        n *= shape.dim[i];
    return MADE(tn_reshape(tn_arange(0.0, (double)n, 1.0), shape));
}

/* ---- scatter ---- */

static void chunk_sizes(void **state)
{
    (void)state;
    static const struct {
        int64_t size, devices, n, length[5];
    } rows[] = {{16, 2, 2, {8, 8}},      {5, 2, 2, {3, 2}},    {5, 4, 3, {2, 2, 1}}, {1, 4, 1, {1}},
                {4, 4, 4, {1, 1, 1, 1}}, {7, 3, 3, {3, 3, 1}}, {6, 4, 3, {2, 2, 2}}, {9, 1, 1, {9}}};
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
        for (int64_t dim = -2; dim < 2; dim++) {
            tn_scope *scope = tn_scope_open();
            bool second = dim == 1 || dim == -1;
            tn_tensor *x = counting(second ? TN_SHAPE(3, rows[r].size) : TN_SHAPE(rows[r].size, 3)), *out[8] = {NULL};
            size_t n = 77;
            OK(tn_parallel_scatter(x, cpus((size_t)rows[r].devices), out, &n, .dim = dim));
            assert_int_equal(n, rows[r].n);
            for (int64_t i = 0, at = 0; i < rows[r].n; at += rows[r].length[i++]) {
                assert_int_equal(tn_tensor_size(out[i], dim), rows[r].length[i]);
                assert_true(tn_equal(out[i], tn_narrow(x, second ? 1 : 0, at, rows[r].length[i])));
                assert_true(tn_tensor_shares_memory(out[i], x));
            }
            tn_scope_close(scope);
        }
    assert_int_equal(tn_live_tensors(), 0);
}

static void explicit_sizes(void **state)
{
    (void)state;
    tn_scope *scope = tn_scope_open();
    tn_tensor *x = counting(TN_SHAPE(6, 2)), *out[3];
    size_t n = 0;
    OK(tn_parallel_scatter(x, cpus(3), out, &n, .sizes = (const int64_t[]){1, 3, 2}));
    assert_int_equal(n, 3);
    PRINTS(out[0], "tensor([[0., 1.]])");
    PRINTS(out[1], "tensor([[2., 3.],\n        [4., 5.],\n        [6., 7.]])");
    PRINTS(out[2], "tensor([[ 8.,  9.],\n        [10., 11.]])");
    REFUSED(tn_parallel_scatter(x, cpus(3), out, &n, .sizes = (const int64_t[]){1, 3, 1}));
    REFUSED(tn_parallel_scatter(x, cpus(3), out, &n, .sizes = (const int64_t[]){1, 3, 3}));
    REFUSED(tn_parallel_scatter(x, cpus(3), out, &n, .sizes = (const int64_t[]){7, -3, 2}));
    tn_scope_close(scope);
    assert_int_equal(tn_live_tensors(), 0);
}

static void other_inputs(void **state)
{
    (void)state;
    tn_scope *scope = tn_scope_open();
    tn_tensor *out[4], *x = MADE(tn_t(counting(TN_SHAPE(2, 5)))); /* not contiguous */
    size_t n = 0;
    OK(tn_parallel_scatter(x, cpus(2), out, &n));
    assert_int_equal(n, 2);
    PRINTS(out[1], "tensor([[3., 8.],\n        [4., 9.]])");
    x = MADE(tn_tensor_from(TN_LIST(5, -6, 7)));
    OK(tn_parallel_scatter(x, cpus(2), out, &n));
    PRINTS(out[0], "tensor([ 5, -6])");
    PRINTS(out[1], "tensor([7])");
    assert_int_equal(tn_tensor_dtype(out[1]), TN_I64);
    /* torch.zeros(0, 3).chunk(2): two empty ones */
    OK(tn_parallel_scatter(tn_zeros(TN_SHAPE(0, 3)), cpus(2), out, &n));
    assert_int_equal(n, (size_t)tn_chunk(tn_zeros(TN_SHAPE(0, 3)), 2, 0, NULL, 0));
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(tn_tensor_size(out[i], 0), 0);
        assert_int_equal(tn_tensor_size(out[i], 1), 3);
    }
    OK(tn_parallel_scatter(tn_zeros(TN_SHAPE(4, 0)), cpus(2), out, &n));
    assert_int_equal(n, 2);
    assert_int_equal(tn_tensor_size(out[1], 0), 2);
    tn_scope_close(scope);
    assert_int_equal(tn_live_tensors(), 0);
}

static void bad_scatter(void **state)
{
    (void)state;
    tn_scope *scope = tn_scope_open();
    tn_tensor *x = tn_ones(TN_SHAPE(4, 2)), *out[4];
    size_t n;
    FAILS_STATUS(tn_parallel_scatter(tn_ones(TN_SHAPE()), cpus(2), out, &n), TN_EVALUE, "");
    FAILS_STATUS(tn_parallel_scatter(x, cpus(2), out, &n, .dim = 2), TN_EINDEX,
                 "Dimension out of range (expected to be in range of [-2, 1], but got 2)");
    FAILS_STATUS(tn_parallel_scatter(x, cpus(2), out, &n, .dim = -3), TN_EINDEX, "but got -3)");
    REFUSED(tn_parallel_scatter(x, cpus(0), out, &n));
    REFUSED(tn_parallel_scatter(TN_NONE, cpus(2), out, &n));
    REFUSED(tn_parallel_scatter(x, TN_DEVICES(TN_CPU, tn_device_parse("gpu:0")), out, &n));
    tn_tensor *failed = tn_matmul(x, x); /* 4x2 times 4x2 */
    char said[512];
    assert_null(failed);
    snprintf(said, sizeof said, "%s", tn_error_message());
    assert_int_not_equal(tn_parallel_scatter(failed, cpus(2), out, &n), TN_OK);
    assert_string_equal(tn_error_message(), said); /* a failed operand leaves the record alone */
    tn_error_clear();
    FAILS_STATUS(tn_parallel_scatter(x, TN_DEVICES(TN_CPU, TN_CUDA(0)), out, &n), TN_EDEVICE, "");
    tn_scope_close(scope);
    assert_int_equal(tn_live_tensors(), 0);
}

/* ---- gather ---- */

static void joins(void **state)
{
    (void)state;
    tn_scope *scope = tn_scope_open();
    tn_tensor *a = counting(TN_SHAPE(2, 2)), *b = tn_full(TN_SHAPE(1, 2), 7.0), *c = tn_full(TN_SHAPE(2, 1), 8.0);
    tn_tensor *rows = MADE(tn_parallel_gather(TN_TENSORS(a, b), TN_CPU));
    PRINTS(rows, "tensor([[0., 1.],\n        [2., 3.],\n        [7., 7.]])");
    PRINTS(tn_parallel_gather(TN_TENSORS(a, c), TN_CPU, .dim = 1), "tensor([[0., 1., 8.],\n        [2., 3., 8.]])");
    PRINTS(tn_parallel_gather(TN_TENSORS(a, c), TN_CPU, .dim = -1), "tensor([[0., 1., 8.],\n        [2., 3., 8.]])");
    tn_tensor *one = MADE(tn_parallel_gather(TN_TENSORS(a), TN_CPU));
    assert_true(tn_equal(one, a));
    assert_false(tn_tensor_shares_memory(one, a)); /* a new one */
    tn_tensor *s = MADE(tn_parallel_gather(TN_TENSORS(tn_tensor_from(TN_LIST(1.5), .shape = TN_SHAPE()),
                                                      tn_tensor_from(TN_LIST(2.5), .shape = TN_SHAPE())),
                                           TN_CPU));
    PRINTS(s, "tensor([1.5000, 2.5000])"); /* scalars become a vector */
    PRINTS(tn_parallel_gather(TN_TENSORS(tn_tensor_from(TN_LIST(1, 2)), tn_tensor_from(TN_LIST(3))), TN_CPU),
           "tensor([1, 2, 3])");
    PRINTS(tn_parallel_gather(TN_TENSORS(tn_t(a), b), TN_CPU),
           "tensor([[0., 2.],\n        [1., 3.],\n        [7., 7.]])");
    tn_tensor *empty = MADE(tn_parallel_gather(TN_TENSORS(tn_zeros(TN_SHAPE(0, 2)), a), TN_CPU));
    assert_true(tn_equal(empty, a));
    tn_scope_close(scope);
    assert_int_equal(tn_live_tensors(), 0);
}

static void bad_gather(void **state)
{
    (void)state;
    tn_scope *scope = tn_scope_open();
    tn_tensor *a = tn_ones(TN_SHAPE(2, 2)), *b = tn_ones(TN_SHAPE(2, 3)), *s = tn_ones(TN_SHAPE());
    REFUSED_NULL(tn_parallel_gather(TN_TENSORS(a, b), TN_CPU));
    REFUSED_NULL(tn_parallel_gather(TN_TENSORS(a, tn_ones(TN_SHAPE(2))), TN_CPU));
    REFUSED_NULL(tn_parallel_gather(TN_TENSORS(a, s), TN_CPU));
    REFUSED_NULL(tn_parallel_gather(((tn_tensors){NULL, 0}), TN_CPU));
    REFUSED_NULL(tn_parallel_gather(TN_TENSORS(a, TN_NONE), TN_CPU));
    FAILS(tn_parallel_gather(TN_TENSORS(a, a), TN_CPU, .dim = 2), TN_EINDEX, "Dimension out of range");
    tn_tensor *huge = MADE(tn_expand(tn_ones(TN_SHAPE(1)), TN_SHAPE(INT64_C(1) << 61))); /* one element, shown often */
    FAILS(tn_parallel_gather(TN_TENSORS(huge, huge), TN_CPU), TN_EINVAL, "larger than memory can be");
    FAILS(tn_parallel_gather(TN_TENSORS(huge, huge, huge, huge), TN_CPU), TN_EINVAL, "more than an index can count");
    FAILS(tn_parallel_gather(TN_TENSORS(a, a), TN_CUDA(0)), TN_EDEVICE, "");
    tn_scope_close(scope);
    assert_int_equal(tn_live_tensors(), 0);
}

/* ---- broadcast, reduce_add ---- */

static void copies_of_each(void **state)
{
    (void)state;
    tn_scope *scope = tn_scope_open();
    tn_tensor *a = tn_tensor_from(TN_LIST(1.0, 2.0), .requires_grad = true), *b = tn_tensor_from(TN_LIST(3, 4)),
              *out[6] = {NULL};
    OK(tn_parallel_broadcast(TN_TENSORS(a, b), cpus(3), out));
    for (int i = 0; i < 3; i++) {
        tn_tensor *copy = out[2 * i];
        assert_true(copy != a && tn_tensor_shares_memory(copy, a)); /* its own device: another tensor of its memory */
        assert_true(tn_tensor_requires_grad(copy) && !tn_tensor_is_leaf(copy));
        PRINTS(values(copy), "tensor([1., 2.])");
        PRINTS(out[2 * i + 1], "tensor([3, 4])");
        assert_false(tn_tensor_requires_grad(out[2 * i + 1]));
    }
    tn_tensor *y = tn_add(tn_sum(tn_mul(out[0], 1)), tn_add(tn_sum(tn_mul(out[2], 10)), tn_sum(tn_mul(out[4], 100))));
    OK(tn_backward(y));
    PRINTS(tn_tensor_grad(a), "tensor([111., 111.])");
    assert_null(tn_tensor_grad(b));
    bool was = tn_set_grad_enabled(false);
    OK(tn_parallel_broadcast(TN_TENSORS(a), cpus(2), out));
    assert_false(tn_tensor_requires_grad(out[0]));
    tn_set_grad_enabled(was);
    REFUSED(tn_parallel_broadcast(TN_TENSORS(a), cpus(0), out));
    REFUSED(tn_parallel_broadcast(TN_TENSORS(a, TN_NONE), cpus(2), out));
    FAILS_STATUS(tn_parallel_broadcast(TN_TENSORS(a), TN_DEVICES(TN_CUDA(0)), out), TN_EDEVICE, "");
    tn_scope_close(scope);
    assert_int_equal(tn_live_tensors(), 0);
}

static void sums(void **state)
{
    (void)state;
    tn_scope *scope = tn_scope_open();
    tn_tensor *t[7];
    for (int i = 0; i < 7; i++)
        t[i] = tn_full(TN_SHAPE(2, 3), (double)(1 << i), .requires_grad = true);
    for (size_t n = 1; n <= 7; n++) {
        tn_tensor *sum = MADE(tn_parallel_reduce_add(((tn_tensors){t, n}), TN_CPU));
        assert_true(tn_equal(sum, tn_full(TN_SHAPE(2, 3), (double)((1 << n) - 1))));
        OK(tn_backward(tn_sum(tn_mul(sum, 2))));
        for (size_t i = 0; i < 7; i++) {
            tn_tensor *g = tn_tensor_grad(t[i]);
            assert_int_equal(g != NULL, i < n);
            if (g)
                assert_true(tn_equal(g, tn_full(TN_SHAPE(2, 3), 2.0)));
            OK(tn_tensor_set_grad(t[i], TN_NONE));
        }
    }
    for (int i = 0; i < 7; i++) /* the operands are as they were */
        assert_true(tn_equal(t[i], tn_full(TN_SHAPE(2, 3), (double)(1 << i))));
    tn_tensor *a = tn_tensor_from(TN_LIST(5, -7)), *b = tn_tensor_from(TN_LIST(1, 2));
    PRINTS(tn_parallel_reduce_add(TN_TENSORS(a, b, a), TN_CPU), "tensor([ 11, -12])");
    PRINTS(a, "tensor([ 5, -7])");
    REFUSED_NULL(tn_parallel_reduce_add(TN_TENSORS(a, tn_tensor_from(TN_LIST(1, 2, 3))), TN_CPU));
    REFUSED_NULL(tn_parallel_reduce_add(TN_TENSORS(a, tn_tensor_from(TN_LIST(1.0, 2.0))), TN_CPU));
    REFUSED_NULL(tn_parallel_reduce_add(((tn_tensors){NULL, 0}), TN_CPU));
    REFUSED_NULL(tn_parallel_reduce_add(TN_TENSORS(a, TN_NONE), TN_CPU));
    FAILS(tn_parallel_reduce_add(TN_TENSORS(a, b), TN_CUDA(0)), TN_EDEVICE, "");
    tn_scope_close(scope);
    assert_int_equal(tn_live_tensors(), 0);
}

/* ---- what scatter and gather do to gradients ---- */

static void gradients_go_back(void **state)
{
    (void)state;
    tn_scope *scope = tn_scope_open();
    tn_tensor *x = MADE(tn_requires_grad_(counting(TN_SHAPE(5, 2)), true)), *out[2], *w = counting(TN_SHAPE(5, 2));
    size_t n;
    OK(tn_parallel_scatter(x, cpus(2), out, &n));
    tn_tensor *y = MADE(tn_parallel_gather(TN_TENSORS(tn_mul(out[0], 2), tn_mul(out[1], 3)), TN_CPU));
    OK(tn_backward(tn_sum(tn_mul(y, w))));
    PRINTS(tn_tensor_grad(x), "tensor([[ 0.,  2.],\n        [ 4.,  6.],\n        [ 8., 10.],\n        [18., 21.],\n"
                              "        [24., 27.]])");
    tn_tensor *s = MADE(tn_parallel_gather(TN_TENSORS(tn_sum(out[0]), tn_mean(out[1])), TN_CPU)), *g[1];
    OK(tn_grad(TN_TENSORS(s), TN_TENSORS(x), g, .grad_outputs = TN_TENSORS(tn_tensor_from(TN_LIST(1.0, 4.0)))));
    assert_true(tn_equal(g[0], tn_ones(TN_SHAPE(5, 2))));
    tn_scope_close(scope);
    assert_int_equal(tn_live_tensors(), 0);
}

/* ---- replicate, apply ---- */

static void replicas_on_the_cpu(void **state)
{
    (void)state;
    tn_scope *scope = tn_scope_open();
    tn_manual_seed(3);
    tn_module *net = BUILT(tn_nn_sequential(tn_nn_linear(3, 4), tn_nn_tanh(), tn_nn_linear(4, 2))), *r[2];
    tn_tensor *count = MADE(tn_module_add_buffer(net, "count", tn_tensor_from(TN_LIST(4, 5))));
    BUILT(tn_module_requires_grad_(tn_module_nth_child(net, 2), false));
    OK(tn_parallel_replicate(net, cpus(2), r));
    tn_tensor *x = tn_randn(TN_SHAPE(5, 3)), *in[2], *out[2];
    size_t n;
    for (int i = 0; i < 2; i++) {
        assert_true(r[i] != net);
        assert_string_equal(tn_module_class_name(r[i]), "Sequential");
        assert_int_equal(tn_module_child_count(r[i]), 3);
        assert_true(tn_module_is_training(r[i]));
        tn_tensor *w = MADE(tn_module_parameter(r[i], "0.weight")), *f = MADE(tn_module_parameter(r[i], "2.weight"));
        assert_true(tn_equal(w, tn_module_parameter(net, "0.weight")) && tn_tensor_requires_grad(w));
        assert_false(tn_tensor_requires_grad(f));
        assert_true(tn_tensor_shares_memory(tn_module_buffer(r[i], "count"), count)); /* the device of m's own */
    }
    OK(tn_parallel_scatter(x, cpus(2), in, &n));
    OK(tn_parallel_apply(r, ((tn_tensors){in, 2}), out));
    tn_tensor *y = MADE(tn_parallel_gather(((tn_tensors){out, 2}), TN_CPU)), *want = MADE(tn_forward(net, x));
    assert_true(tn_allclose(y, want, .atol = TN_SCALAR(1e-6)));
    OK(tn_backward(tn_sum(y)));
    tn_tensor *w = tn_module_parameter(net, "0.weight"), *g = MADE(tn_clone(tn_tensor_grad(w)));
    tn_module_zero_grad(net);
    OK(tn_backward(tn_sum(want)));
    assert_true(tn_allclose(g, tn_tensor_grad(w), .atol = TN_SCALAR(1e-6)));
    assert_null(tn_tensor_grad(tn_module_parameter(net, "2.weight")));
    tn_scope_close(scope);
    assert_int_equal(tn_live_tensors(), 0);
}

static void apply_fails(void **state)
{
    (void)state;
    tn_scope *scope = tn_scope_open();
    tn_module *net = BUILT(tn_nn_linear(3, 2)), *r[2];
    tn_tensor *out[2], *good = tn_ones(TN_SHAPE(1, 3)), *bad = tn_ones(TN_SHAPE(1, 4));
    OK(tn_parallel_replicate(net, cpus(2), r));
    assert_int_not_equal(tn_parallel_apply(r, TN_TENSORS(good, bad), out), TN_OK);
    assert_int_equal(tn_error_code(), TN_EINVAL); /* the product's own */
    assert_non_null(strstr(tn_error_message(), "mat1 and mat2 shapes cannot be multiplied"));
    tn_error_clear();
    REFUSED(tn_parallel_replicate(NULL, cpus(2), r));
    REFUSED(tn_parallel_replicate(net, cpus(0), r));
    FAILS_STATUS(tn_parallel_replicate(net, TN_DEVICES(TN_CUDA(0)), r), TN_EDEVICE, "");
    tn_scope_close(scope);
    assert_int_equal(tn_live_tensors(), 0);
}

/* ---- DataParallel and teams where there is no GPU ---- */

static void runs_the_module(void **state)
{
    (void)state;
    if (tn_cuda_is_available())
        skip();
    tn_scope *scope = tn_scope_open();
    tn_module *net = BUILT(tn_nn_sequential(tn_nn_linear(3, 2), tn_nn_relu())), *dp = BUILT(tn_nn_data_parallel(net));
    tn_tensor *x = tn_randn(TN_SHAPE(5, 3));
    tn_tensor *y = MADE(tn_forward(dp, x));
    assert_true(tn_equal(y, tn_forward(net, x)));
    assert_ptr_equal(tn_module_child(dp, "module"), net);
    tn_named names[4];
    assert_int_equal(tn_module_state(dp, names, 4), 2);
    assert_string_equal(names[0].name, "module.0.weight");
    assert_string_equal(names[1].name, "module.0.bias");
    MODULE_PRINTS(dp,
                  "DataParallel(\n  (module): Sequential(\n    (0): Linear(in_features=3, out_features=2, bias=True)\n"
                  "    (1): ReLU()\n  )\n)");
    assert_null(tn_data_parallel_team(dp));
    assert_int_equal(tn_error_code(), TN_OK);
    FAILS(tn_data_parallel_team(net), TN_ETYPE, "");
    OK(tn_backward(tn_sum(y)));
    assert_non_null(tn_tensor_grad(tn_module_parameter(dp, "module.0.weight")));
    FAILS(tn_nn_data_parallel(net, .device_ids = TN_DEVICES(TN_CPU)), TN_EVALUE,
          "Expected a non cpu device, but got: cpu");
    FAILS(tn_nn_data_parallel(net, .device_ids = TN_DEVICES(TN_CUDA(0))), TN_EDEVICE, "");
    REFUSED_NULL(tn_nn_data_parallel(NULL));
    tn_scope_close(scope);
    assert_int_equal(tn_live_tensors(), 0);
}

static void bad_teams(void **state)
{
    (void)state;
    FAILS(tn_team_new((tn_device_list){NULL, 0}), TN_EINVAL, "");
    FAILS(tn_team_new(TN_DEVICES(TN_CPU, TN_CPU)), TN_EINVAL, "cpu");
    tn_team_release(NULL);
    tn_team_step_release(NULL);
    assert_null(tn_team_retain(NULL));
    assert_null(tn_team_step_retain(NULL));
    if (!tn_cuda_is_available())
        FAILS(tn_team_new(TN_DEVICES(TN_CUDA(0), TN_CUDA(1))), TN_EDEVICE, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chunk_sizes),  cmocka_unit_test(explicit_sizes),    cmocka_unit_test(bad_scatter),
        cmocka_unit_test(joins),        cmocka_unit_test(bad_gather),        cmocka_unit_test(copies_of_each),
        cmocka_unit_test(sums),         cmocka_unit_test(gradients_go_back), cmocka_unit_test(replicas_on_the_cpu),
        cmocka_unit_test(apply_fails),  cmocka_unit_test(runs_the_module),   cmocka_unit_test(bad_teams),
        cmocka_unit_test(other_inputs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
