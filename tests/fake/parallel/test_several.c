/* Modules of several inputs and results on several GPUs: every input is cut, every result joined, gradients as on one. */
#include "fake/parallel/helpers.h"
#include "unit/gate_module.h"

static void a_gate_on_gpus(void **state)
{
    (void)state;
    for (size_t n = 1; n <= (size_t)tn_cuda_device_count(); n++)
        for (int in_net = 0; in_net < 2; in_net++) {
            tn_scope *scope = tn_scope_open();
            tn_module *m = in_net ? tn_nn_sequential(gate_module(), tn_nn_sequential()) : gate_module();
            tn_module *dp = kit_over(n, m);
            assert_int_equal(tn_module_inputs(dp), 2);
            assert_int_equal(tn_module_outputs(dp), 2);
            for (int step = 0; step < 3; step++) { /* replicas are kept from step to step */
                gate_step(dp, in_net ? "module.0." : "module.");
                tn_module_zero_grad(dp);
            }
            tn_tensor *x[2], *y[2];
            gate_inputs(x);
            OK(tn_forward_n(dp, TN_TENSORS(x[0], TN_NONE), y, 2));
            kit_on(y[0], "cuda:0");
            NEAR(element(tn_cpu(y[0]), 1), 5, 1e-12);
            OK(tn_forward_n(tn_nn_data_parallel(m, .device_ids = kit_gpus(n), .output_device = TN_CPU),
                            ((tn_tensors){x, 2}), y, 2));
            kit_on(y[1], n > 1 ? "cpu" : "cuda:0"); /* one device runs the module as it is */
            gate_equals(tn_cpu(y[1]), gate_y1);
            OK(tn_forward_n(dp, TN_TENSORS(tn_narrow(x[0], 0, 0, 1), tn_narrow(x[1], 0, 0, 1)), y, 2)); /* one chunk */
            assert_int_equal(tn_tensor_size(y[1], 0), 1);
            kit_end(scope);
        }
}

/* v = 0.5 v + g; p -= lr v */
static tn_status ball_step(tn_optimizer *self, const tn_update *u)
{
    (void)self;
    tn_tensor *v = tn_add_(tn_mul_(u->state[0], u->option[0]), u->gradient);
    return tn_sub_(u->parameter, tn_mul(v, u->lr)) ? TN_OK : tn_error_code();
}

/* Four steps of m with an optimiser of one's own; the second matrix has another rate. */
static void train(tn_module *m, const char *prefix)
{
    static const tn_optimizer_class cls = {.struct_size = sizeof cls,
                                           .name = "Ball",
                                           .options = {{"friction", 0.5}},
                                           .states = {"velocity"},
                                           .step = ball_step};
    char w[64], v[64];
    snprintf(w, sizeof w, "%sw", prefix);
    snprintf(v, sizeof v, "%sv", prefix);
    tn_optimizer *opt = tn_optimizer_new(&cls, TN_TENSORS(tn_module_parameter(m, w)), 0.05);
    assert_non_null(opt);
    OK(tn_optimizer_add_group(opt, TN_TENSORS(tn_module_parameter(m, v)), TN_HYPERS({"lr", 0.3})));
    for (int k = 0; k < 4; k++) {
        tn_scope *scope = tn_scope_open();
        tn_tensor *x[2], *y[2];
        gate_inputs(x);
        tn_optimizer_zero_grad(opt);
        OK(tn_forward_n(m, ((tn_tensors){x, 2}), y, 2));
        OK(tn_backward(MADE(tn_add(tn_mean(tn_square(y[0])), tn_sum(y[1])))));
        OK(tn_clip_grad_norm_(m, 2, NULL));
        OK(tn_optimizer_step(opt));
        tn_scope_close(scope);
    }
    tn_named state[4];
    assert_int_equal(tn_optimizer_state(opt, state, 4), 4);
    assert_true(tn_device_equal(tn_tensor_device(state[1].tensor), tn_tensor_device(tn_module_parameter(m, w))));
    tn_optimizer_free(opt);
}

static void trained_by_an_optimiser_of_ones_own(void **state)
{
    (void)state;
    tn_scope *scope = tn_scope_open();
    tn_module *near = gate_module(), *far = gate_module();
    train(near, "");
    train(kit_over((size_t)tn_cuda_device_count(), far), "module.");
    kit_on(tn_module_parameter(far, "v"), "cuda:0");
    CLOSE_TO(tn_module_parameter(far, "w"), tn_module_parameter(near, "w"), 1e-12);
    CLOSE_TO(tn_module_parameter(far, "v"), tn_module_parameter(near, "v"), 1e-12);
    NEAR(element(tn_module_parameter(near, "w"), 0), 0.5, 10); /* it moved, and is a number */
    assert_false(element(tn_module_parameter(near, "w"), 0) == 0.5);
    kit_end(scope);
}

/* {x[0], ..., x[n - 1]} shifted by one place, each doubled: more than fits where few tensors are kept. */
static tn_status many_forward(tn_module *self, tn_tensor *const *x, size_t n, tn_tensor **y, size_t n_y)
{
    (void)self;
    assert_int_equal(n, n_y);
    for (size_t i = 0; i < n; i++)
        y[i] = tn_mul(x[(i + 1) % n], 2);
    return TN_OK;
}

static void many_tensors(void **state)
{
    (void)state;
    enum { N = TN_FORWARD_MAX };
    static const tn_module_class cls = {
        .struct_size = sizeof cls, .name = "Many", .forward_n = many_forward, .inputs = N, .outputs = N};
    tn_scope *scope = tn_scope_open();
    tn_module *dp = BUILT(tn_nn_data_parallel(tn_module_new(&cls, NULL)));
    size_t devices = (size_t)tn_cuda_device_count();
    tn_tensor *x[N], *y[N];
    for (int i = 0; i < N; i++)
        x[i] = tn_full(TN_SHAPE((int64_t)devices * 2, i % 3), i, .device = TN_CUDA(i % (int)devices));
    OK(tn_forward_n(dp, ((tn_tensors){x, N}), y, N));
    for (int i = 0; i < N; i++) {
        kit_on(y[i], "cuda:0");
        assert_int_equal(tn_tensor_size(y[i], 0), devices * 2);
        assert_int_equal(tn_tensor_size(y[i], 1), (i + 1) % N % 3);
        if (tn_tensor_numel(y[i]))
            NEAR(tn_item(tn_cpu(tn_max(y[i]))), 2 * ((i + 1) % N), 0);
    }
    kit_end(scope);
}

static tn_status picky_forward(tn_module *self, tn_tensor *const *x, size_t n, tn_tensor **y, size_t n_y)
{
    (void)self;
    (void)n;
    (void)n_y;
    y[0] = tn_relu(x[0]);
    y[1] = tn_tensor_device(x[0]).index ? tn_reshape(x[1], TN_SHAPE(77)) : x[1];
    return TN_OK;
}

static void what_fails(void **state)
{
    (void)state;
    static const tn_module_class cls = {
        .struct_size = sizeof cls, .name = "Picky", .forward_n = picky_forward, .inputs = 2, .outputs = 2};
    tn_scope *scope = tn_scope_open();
    tn_tensor *x[2], *y[2], *in[4], *out[4];
    tn_module *dp = kit_over(2, gate_module()), *picky = BUILT(tn_nn_data_parallel(tn_module_new(&cls, NULL)));
    gate_inputs(x);
    FAILS(tn_forward(dp, x[0]), TN_EINVAL, "Gate takes 2 tensors, got 1");
    FAILS_STATUS(tn_forward_n(dp, TN_TENSORS(x[0], x[1]), y, 1), TN_EINVAL, "DataParallel gives 2 tensors, not 1");
    FAILS_STATUS(tn_forward_n(dp, TN_TENSORS(x[0], tn_narrow(x[1], 0, 0, 1)), y, 2), TN_EINVAL,
                 "input 0 has shape [4, 2], input 1 shape [1, 3]: the batch, dimension 0, must be as long in both");
    /* as many chunks of each, but of other sizes */
    FAILS_STATUS(tn_forward_n(dp, TN_TENSORS(x[0], tn_narrow(x[1], 0, 0, 3)), y, 2), TN_EINVAL,
                 "input 0 has shape [4, 2], input 1 shape [3, 3]");
    FAILS_STATUS(tn_forward_n(dp, TN_TENSORS(TN_NONE, TN_NONE), y, 2), TN_ETYPE, "every input is TN_NONE");
    FAILS_STATUS(tn_forward_n(dp, TN_TENSORS(x[0], tn_ones(TN_SHAPE())), y, 2), TN_EVALUE,
                 "chunk expects at least a 1-dimensional tensor");
    FAILS_STATUS(tn_forward_n(picky, ((tn_tensors){x, 2}), y, 2), TN_EINVAL,
                 "Caught an error in replica 1 on device 1.");
    assert_null(y[0]);
    for (int i = 0; i < 4; i++)
        in[i] = tn_to(x[i % 2], .device = TN_CUDA(i / 2));
    tn_module *r[2];
    OK(tn_parallel_replicate(gate_module(), kit_gpus(2), r));
    OK(tn_parallel_apply(r, ((tn_tensors){in, 4}), out, .n_in = 2, .n_out = 2));
    gate_equals(tn_cpu(out[3]), gate_y1);
    kit_on(out[2], "cuda:1");
    FAILS_STATUS(tn_parallel_apply(r, ((tn_tensors){in, 3}), out, .n_in = 2, .n_out = 2), TN_EINVAL,
                 "tn_parallel_apply: 3 tensors are not 2 for each replica");
    FAILS_STATUS(tn_parallel_apply(r, ((tn_tensors){in, 4}), out, .n_in = 2), TN_EINVAL, "Gate gives 2 tensors, not 1");
    kit_end(scope);
}

int main(int argc, char **argv)
{
    static const alone tests[] = {
        ANYWHERE(a_gate_on_gpus, "TENON_FAKE_GPUS=3"),
        ANYWHERE(trained_by_an_optimiser_of_ones_own, "TENON_FAKE_GPUS=3"),
        ALONE(many_tensors, "TENON_FAKE_GPUS=5"),
        ANYWHERE(what_fails, "TENON_FAKE_GPUS=2"),
    };
    return alone_main(tests, sizeof tests / sizeof *tests, argc, argv);
}
