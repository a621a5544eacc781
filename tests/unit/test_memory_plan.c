/* tn_memory_plan against what the CPU's allocator measures for the same step. */
#include "nn_check.h"

static tn_module *perceptron(void)
{
    return tn_nn_sequential(tn_nn_flatten(), tn_nn_linear(28 * 28, 256), tn_nn_relu(), tn_nn_dropout(0.1),
                            tn_nn_linear(256, 100), tn_nn_tanh(), tn_nn_linear(100, 10));
}

enum { ROWS = 2000 };

typedef tn_optimizer *(*maker)(tn_module *net);

static tn_optimizer *plain_sgd(tn_module *net)
{
    return tn_sgd(net, 0.1);
}

static tn_optimizer *momentum_sgd(tn_module *net)
{
    return tn_sgd(net, 0.1, .momentum = 0.9);
}

static tn_optimizer *adamw(tn_module *net)
{
    return tn_adamw(net, 0.1);
}

static void step(tn_module *net, tn_optimizer *opt, tn_tensor *x, tn_tensor *y)
{
    tn_scope *scope = tn_scope_open();
    tn_optimizer_zero_grad(opt);
    OK(tn_backward(tn_cross_entropy(tn_forward(net, x), y)));
    OK(tn_optimizer_step(opt));
    tn_scope_close(scope);
}

/* The bound: the CPU's allocator counts blocks of up to 64 KiB into the peak as they are when it is asked, not as they
 * were at the peak. Here these are biases, their gradients and state, the last layer's weights and 0-dim tensors. */
static void near_enough(int64_t planned, int64_t measured)
{
    if (planned != measured)
        print_message("planned %lld, measured %lld\n", (long long)planned, (long long)measured);
    assert_true(llabs(planned - measured) <= 4 * (256 + 100 + 10 + 1000) * 4);
}

static void agrees_with_the_cpu(void **state)
{
    static const struct {
        maker make;
        const char *name;
        double momentum;
        int states;
    } cases[] = {{plain_sgd, "sgd", 0, 0}, {momentum_sgd, "sgd", 0.9, 1}, {adamw, "adamw", 0, 2}};
    (void)state;
    warm_up();
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        tn_scope *scope = tn_scope_open();
        int64_t base = tn_memory_stats(TN_CPU).allocated;
        tn_module *net = BUILT(perceptron());
        tn_memory_needs n;
        int64_t held = tn_memory_stats(TN_CPU).allocated;
        tn_reset_peak_memory_stats(TN_CPU);
        OK(tn_memory_plan(net, TN_SHAPE(ROWS, 1, 28, 28), &n, .optimizer = cases[c].name, .momentum = cases[c].momentum,
                          .loss = "cross_entropy"));
        assert_true(tn_memory_stats(TN_CPU).allocated_peak - held < 4096); /* nothing was allocated for it */
        assert_int_equal(n.parameters, tn_module_numel(net) * 4);
        assert_int_equal(n.gradients, n.parameters);
        assert_int_equal(n.optimizer_state, n.parameters * cases[c].states);
        assert_int_equal(n.buffers, 0);
        assert_int_equal(n.input, ROWS * (28 * 28 * 4 + 8));

        tn_tensor *x = tn_rand(TN_SHAPE(ROWS, 1, 28, 28)), *y = tn_randint(0, 10, TN_SHAPE(ROWS));
        tn_optimizer *opt = cases[c].make(net);
        for (int i = 0; i < 2; i++) {
            tn_reset_peak_memory_stats(TN_CPU);
            step(net, opt, x, y);
        }
        near_enough(n.training_peak, tn_memory_stats(TN_CPU).allocated_peak - base);
        tn_optimizer_zero_grad(opt);
        tn_optimizer_free(opt);

        bool was = tn_set_grad_enabled(false);
        tn_reset_peak_memory_stats(TN_CPU);
        tn_scope *inner = tn_scope_open();
        MADE(tn_forward(net, x));
        tn_scope_close(inner);
        near_enough(n.inference_peak, tn_memory_stats(TN_CPU).allocated_peak - base - ROWS * 8);
        tn_set_grad_enabled(was);
        assert_true(n.activations > ROWS * (256 + 256 + 100 + 10) * 4);
        assert_true(n.activations < n.training_peak - n.parameters);
        tn_scope_close(scope);
    }
}

/* The module is as before: values, gradients, mode, and graphs that were recorded with it. */
static void leaves_the_module_alone(void **state)
{
    (void)state;
    tn_scope *scope = tn_scope_open();
    tn_module *net = BUILT(perceptron());
    tn_module_add_buffer(net, "steps", tn_zeros(TN_SHAPE(5)));
    tn_tensor *x = tn_rand(TN_SHAPE(3, 28, 28)), *w = tn_module_parameter(net, "1.weight");
    tn_tensor *before = tn_clone(tn_detach(w));
    void *data = tn_data(w);
    OK(tn_backward(tn_sum(tn_forward(net, x))));
    tn_tensor *g = tn_tensor_grad(w), *loss = tn_sum(tn_forward(net, x));
    tn_rng_state rng = tn_get_rng_state(TN_CPU);
    tn_memory_needs n;
    OK(tn_memory_plan(net, TN_SHAPE(64, 28, 28), &n, .optimizer = "adam"));
    assert_int_equal(n.buffers, 20);
    assert_ptr_equal(tn_tensor_grad(w), g);
    assert_ptr_equal(tn_data(w), data);
    assert_true(tn_tensor_requires_grad(w) && tn_tensor_is_leaf(w));
    assert_true(tn_equal(w, before));
    assert_true(tn_module_is_training(net));
    assert_int_equal(tn_get_rng_state(TN_CPU).offset, rng.offset);
    OK(tn_backward(loss));
    assert_ptr_equal(tn_tensor_grad(w), g);
    tn_scope_close(scope);
}

static tn_tensor *read_forward(tn_module *self, tn_tensor *x)
{
    double sum = tn_item(tn_sum(x));
    return tn_error_code() ? NULL : tn_mul(tn_linear(x, tn_module_parameter(self, "w"), TN_NONE), sum);
}

static tn_tensor *keep_forward(tn_module *self, tn_tensor *x)
{
    tn_tensor **kept = tn_module_context(self);
    tn_release(*kept);
    *kept = tn_retain(tn_linear(x, tn_module_parameter(self, "w"), TN_NONE));
    return *kept;
}

/* Mistakes, and what a module of a user's may do. */
static void bad_input(void **state)
{
    static const tn_module_class reads = {.struct_size = sizeof reads, .name = "Reads", .forward = read_forward};
    static const tn_module_class keeps = {.struct_size = sizeof keeps, .name = "Keeps", .forward = keep_forward};
    (void)state;
    int64_t tensors = tn_live_tensors();
    tn_scope *scope = tn_scope_open();
    tn_module *net = BUILT(perceptron());
    tn_memory_needs n;
    tn_tensor *kept = NULL;
    FAILS_STATUS(tn_memory_plan(NULL, TN_SHAPE(2), &n), TN_EINVAL, "tn_memory_plan");
    FAILS_STATUS(tn_memory_plan(net, TN_SHAPE(2, 784), NULL), TN_EINVAL, "it is NULL");
    FAILS_STATUS(tn_memory_plan(net, TN_SHAPE(2, 784), &n, .optimizer = "lion"), TN_EVALUE, "\"lion\"");
    FAILS_STATUS(tn_memory_plan(net, TN_SHAPE(2, 784), &n, .loss = "hinge"), TN_EVALUE, "\"hinge\"");
    FAILS_STATUS(tn_memory_plan(net, TN_SHAPE(2, 785), &n), TN_EINVAL, "while a step was planned on meta");
    FAILS_STATUS(tn_memory_plan(net, TN_SHAPE(2, -784), &n), TN_EINVAL, "negative dimension");
    tn_module *m = BUILT(tn_module_new(&reads, NULL));
    MADE(tn_module_add_parameter(m, "w", tn_rand(TN_SHAPE(3, 4))));
    FAILS_STATUS(tn_memory_plan(m, TN_SHAPE(2, 4), &n), TN_EDEVICE, "cannot be called on meta tensors");
    assert_int_equal(tn_tensor_device(tn_module_parameter(m, "w")).type, TN_DEVICE_CPU);
    m = BUILT(tn_module_new(&keeps, &kept));
    MADE(tn_module_add_parameter(m, "w", tn_rand(TN_SHAPE(3, 4))));
    OK(tn_memory_plan(m, TN_SHAPE(2, 4), &n, .device = TN_CUDA(0)));
    assert_int_equal(n.parameters, 512); /* a GPU's allocator rounds */
    tn_release(kept);
    tn_scope_close(scope);
    assert_int_equal(tn_live_tensors(), tensors);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(agrees_with_the_cpu), cmocka_unit_test(leaves_the_module_alone),
                                       cmocka_unit_test(bad_input)};
    return cmocka_run_group_tests_name("memory plan", tests, NULL, NULL);
}
