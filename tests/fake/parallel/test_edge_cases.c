/* What one does not do every day: parameters of odd layouts and dtypes, several graphs at once, backward for some inputs alone,
 * inference mode, no scope, an error on record, a DataParallel that is gone or whose device was reset before backward. */
#include "fake/parallel/helpers.h"

/* ---- layouts and dtypes ---- */

/* Parameters: transposed, with gaps, of 0 dimensions, without elements, float64. */
static tn_tensor *odd_forward(tn_module *self, tn_tensor *x)
{
    tn_tensor *h = tn_matmul(x, tn_module_parameter(self, "turned"));
    h = tn_mul(tn_add(h, tn_module_parameter(self, "gaps")), tn_module_parameter(self, "scalar"));
    h = tn_add(h, tn_sum(tn_module_parameter(self, "none")));
    return tn_add(h, tn_to(tn_module_parameter(self, "wide"), .dtype = TN_F32));
}

static tn_module *odd(void)
{
    static const tn_module_class cls = {.struct_size = sizeof cls, .name = "Odd", .forward = odd_forward};
    tn_manual_seed(7);
    tn_module *m = tn_module_new(&cls, NULL);
    tn_module_add_parameter(m, "turned", tn_t(tn_randn(TN_SHAPE(KIT_OUT, KIT_IN))));
    tn_module_add_parameter(m, "gaps", tn_slice(tn_randn(TN_SHAPE(2 * KIT_OUT)), 0, 0, 2 * KIT_OUT, 2));
    tn_module_add_parameter(m, "scalar", tn_full(TN_SHAPE(), 1.25));
    tn_module_add_parameter(m, "none", tn_zeros(TN_SHAPE(0, 3)));
    tn_module_add_parameter(m, "wide", tn_randn(TN_SHAPE(1, KIT_OUT), .dtype = TN_F64));
    return m;
}

/* A DataParallel between layers of the main device. */
static tn_module *in_the_middle(void)
{
    tn_manual_seed(7);
    return tn_nn_sequential(tn_nn_linear(KIT_IN, 3), tn_nn_sequential(tn_nn_tanh(), tn_nn_linear(3, 3), tn_nn_tanh()),
                            tn_nn_linear(3, KIT_OUT));
}

static void odd_parameters(void **state)
{
    (void)state;
    for (size_t n = 2; n <= (size_t)tn_cuda_device_count(); n++) {
        tn_scope *scope = tn_scope_open();
        tn_tensor *x = kit_rows(7), *y = kit_classes(7);
        kit_outcome want = kit_reference(odd, x, y);
        tn_module *dp = kit_over(n, odd());
        for (int i = 0; i < 3; i++) {
            kit_outcome got = kit_step(dp, x, y);
            SAME(got, want, 1e-5, "odd parameters");
            tn_module_zero_grad(dp);
        }
        kit_end(scope);
    }
}

static void inside_a_network(void **state)
{
    (void)state;
    tn_scope *scope = tn_scope_open();
    tn_tensor *x = kit_rows(7), *y = kit_classes(7);
    kit_outcome want = kit_reference(in_the_middle, x, y);
    tn_module *m = BUILT(tn_module_to(in_the_middle(), TN_CUDA(0))), *inner = tn_module_nth_child(m, 1);
    tn_module *net = BUILT(tn_nn_sequential(
        tn_module_nth_child(m, 0), tn_nn_data_parallel(inner, .device_ids = kit_all()), tn_module_nth_child(m, 2)));
    for (int i = 0; i < 3; i++) {
        kit_outcome got = kit_step(net, tn_to(x, .device = TN_CUDA(0)), y);
        SAME(got, want, 1e-5, "in the middle");
        tn_module_zero_grad(net);
    }
    kit_end(scope);
}

/* 120 layers. */
static void many_parameters(void **state)
{
    (void)state;
    enum { LAYERS = 120 };
    tn_scope *scope = tn_scope_open();
    tn_tensor *x = kit_rows(5), *first[2];
    for (int k = 0; k < 2; k++) {
        tn_module *layer[LAYERS];
        tn_manual_seed(4);
        for (int i = 0; i < LAYERS; i++) {
            layer[i] = BUILT(tn_nn_linear(KIT_IN, KIT_IN));
            MADE(tn_init_xavier_uniform_(tn_module_parameter(layer[i], "weight")));
        }
        tn_module *net = BUILT(tn_nn_sequential_n(layer, LAYERS)), *whole = k ? kit_over(2, net) : net;
        OK(tn_backward(tn_sum(tn_forward(whole, x))));
        first[k] = kit_copy(tn_tensor_grad(tn_module_parameter(net, "3.weight")));
    }
    CLOSE_TO(first[1], first[0], 1e-5);
    kit_end(scope);
}

/* ---- several graphs ---- */

/* Four forwards, then their backward passes in another order. */
static void graphs_side_by_side(void **state)
{
    (void)state;
    static const kit_maker makers[] = {kit_sequential, kit_user, kit_held};
    static const int order[] = {2, 0, 3, 1};
    for (int m = 0; m < 3; m++) {
        tn_scope *scope = tn_scope_open();
        tn_module *near = BUILT(makers[m]()), *dp = kit_over(2, makers[m]());
        tn_tensor *loss[4];
        kit_outcome got, want;
        for (int i = 0; i < 4; i++)
            loss[i] = MADE(kit_loss(dp, kit_rows(3 + i), kit_classes(3 + i)));
        for (int i = 0; i < 4; i++) {
            int k = order[i];
            OK(tn_backward(loss[k], .retain_graph = i % 2));
            (void)kit_step(near, kit_rows(3 + k), kit_classes(3 + k));
            kit_gradients(dp, &got);
            kit_gradients(near, &want);
            got.loss = want.loss = NULL;
            SAME(got, want, 1e-5, "graphs side by side");
        }
        kit_end(scope);
    }
}

/* A graph that is never walked, one whose DataParallel is gone. */
static void graphs_that_outlive(void **state)
{
    (void)state;
    tn_scope *scope = tn_scope_open();
    tn_tensor *x = kit_rows(5), *y = kit_classes(5);
    kit_outcome want = kit_reference(kit_held, x, y), got;
    tn_module *net = BUILT(tn_module_to(kit_held(), TN_CUDA(0)));
    tn_scope *inner = tn_scope_open();
    tn_module *dp = BUILT(tn_nn_data_parallel(net, .device_ids = kit_gpus(2)));
    MADE(kit_loss(dp, x, y));
    tn_tensor *loss = MADE(kit_loss(dp, x, y));
    loss = tn_scope_close_keep(inner, loss);
    OK(tn_backward(loss));
    kit_gradients(net, &got);
    got.loss = loss;
    SAME(got, want, 1e-5, "the DataParallel is gone");
    tn_release(loss);
    kit_end(scope);
}

/* ---- backward for some alone ---- */

static void some_inputs(void **state)
{
    (void)state;
    tn_scope *scope = tn_scope_open();
    tn_tensor *x = kit_rows(5), *y = kit_classes(5), *g[2];
    kit_outcome want = kit_reference(kit_unused, x, y); /* w, b, spare, head's, idle's */
    tn_module *dp = kit_over(2, kit_unused()), *net = tn_module_child(dp, "module");
    tn_tensor *b = tn_module_parameter(net, "b"), *w = tn_module_parameter(net, "w");
    OK(tn_backward(kit_loss(dp, x, y), .inputs = TN_TENSORS(b)));
    CLOSE_TO(tn_tensor_grad(b), want.grad[1], 1e-5);
    assert_null(tn_tensor_grad(w));
    OK(tn_grad(TN_TENSORS(kit_loss(dp, x, y)), TN_TENSORS(w, tn_module_parameter(net, "spare")), g,
               .allow_unused = true));
    CLOSE_TO(g[0], want.grad[0], 1e-5);
    assert_null(g[1]);
    FAILS_STATUS(tn_grad(TN_TENSORS(kit_loss(dp, x, y)), TN_TENSORS(tn_module_parameter(net, "spare")), g), TN_EGRAD,
                 "appears to not have been used in the graph");
    kit_end(scope);
}

/* A loss that sees one chunk's outputs alone. */
static void part_of_the_outputs(void **state)
{
    (void)state;
    tn_scope *scope = tn_scope_open();
    tn_tensor *x = kit_rows(6);
    tn_module *near = BUILT(kit_user()), *dp = kit_over(2, kit_user());
    for (int64_t from = 0; from < 6; from += 3) {
        OK(tn_backward(tn_sum(tn_square(tn_narrow(tn_forward(near, x), 0, from, 3)))));
        OK(tn_backward(tn_sum(tn_square(tn_narrow(tn_forward(dp, x), 0, from, 3)))));
        kit_outcome got = {0}, want = {0};
        kit_gradients(near, &want);
        kit_gradients(dp, &got);
        SAME(got, want, 1e-5, "a loss of one chunk");
    }
    kit_end(scope);
}

/* ---- inference mode ---- */

/* Copies made in inference mode are kept, and used in a recorded step after it. */
static void inference_and_training(void **state)
{
    (void)state;
    static const kit_maker makers[] = {kit_sequential, kit_user, kit_reads};
    for (int m = 0; m < 3; m++) {
        tn_scope *scope = tn_scope_open();
        tn_tensor *x = kit_rows(5), *y = kit_classes(5), *want_y = MADE(tn_forward(makers[m](), x));
        kit_outcome want = kit_reference(makers[m], x, y);
        tn_module *dp = kit_over(2, makers[m]());
        for (int i = 0; i < 3; i++) {
            bool grad = tn_set_grad_enabled(false), mode = tn_set_inference_mode(true);
            tn_tensor *out = MADE(tn_forward(dp, x));
            assert_true(tn_tensor_is_inference(out));
            tn_set_inference_mode(mode);
            tn_set_grad_enabled(grad);
            CLOSE_TO(out, want_y, 1e-5);
            kit_outcome got = kit_step(dp, x, y);
            SAME(got, want, 1e-5, "after inference");
            tn_module_zero_grad(dp);
        }
        kit_end(scope);
    }
}

/* ---- scopes and the error record ---- */

/* Without a scope the result is the caller's, and nothing else is left. */
static void without_a_scope(void **state)
{
    (void)state;
    static const kit_maker makers[] = {kit_sequential, kit_user, kit_held};
    for (int m = 0; m < 3; m++) {
        tn_scope *scope = tn_scope_open();
        tn_module *dp = tn_module_keep(kit_over(2, makers[m]()));
        tn_tensor *x = tn_keep(kit_rows(5)), *parts[2];
        size_t n;
        tn_scope_close(scope);
        tn_release(MADE(tn_forward(dp, x)));
        int64_t before = tn_live_tensors();
        for (int i = 0; i < 3; i++) {
            tn_tensor *out = MADE(tn_forward(dp, x));
            tn_release(out);
            assert_int_equal(tn_live_tensors(), before);
            OK(tn_parallel_scatter(x, kit_gpus(2), parts, &n));
            tn_tensor *whole = MADE(tn_parallel_gather(((tn_tensors){parts, 2}), TN_CUDA(0)));
            tn_tensor *sum = MADE(tn_parallel_reduce_add(TN_TENSORS(whole, whole), TN_CUDA(1)));
            tn_release(sum);
            tn_release(whole);
            tn_release(parts[0]);
            tn_release(parts[1]);
            assert_int_equal(tn_live_tensors(), before);
        }
        tn_release(x);
        tn_module_release(dp);
        assert_int_equal(tn_live_tensors(), 0);
        SILENT();
    }
}

/* Calls that succeed leave the record of an earlier failure alone; a later one is the caller's, or the user's forward's. */
static void the_record_is_kept(void **state)
{
    (void)state;
    static const kit_maker makers[] = {kit_sequential, kit_user};
    for (int m = 0; m < 2; m++) {
        tn_scope *scope = tn_scope_open();
        tn_tensor *x = kit_rows(5), *y = kit_classes(5);
        tn_module *dp = kit_over(2, makers[m]());
        char said[1024];
        assert_null(tn_matmul(x, x));
        snprintf(said, sizeof said, "%s", tn_error_message());
        for (int i = 0; i < 3; i++)
            (void)kit_step(dp, x, y);
        tn_parallel_report rows[2];
        assert_int_equal(tn_team_report(tn_data_parallel_team(dp), rows, 2), 2);
        assert_int_equal(tn_error_code(), TN_EINVAL);
        assert_string_equal(tn_error_message(), said);
        tn_error_clear();
        FAILS(tn_forward(dp, tn_ones(TN_SHAPE(4, 1))), TN_EINVAL, m ? "helpers.h" : "test_edge_cases.c");
        kit_end(scope);
    }
}

/* ---- between forward and backward ---- */

static void changed_before_backward(void **state)
{
    (void)state;
    static const kit_maker makers[] = {kit_sequential, kit_user};
    for (int m = 0; m < 2; m++) {
        tn_scope *scope = tn_scope_open();
        tn_tensor *x = kit_rows(5), *y = kit_classes(5);
        kit_outcome want = kit_reference(makers[m], x, y), got;
        tn_module *dp = kit_over(2, makers[m]());
        for (int i = 0; i < 3; i++) { /* cuda:1 is reset: what the graph has there is void */
            tn_scope *inner = tn_scope_open();
            tn_tensor *loss = MADE(kit_loss(dp, x, y));
            OK(tn_cuda_reset(TN_CUDA(1)));
            FAILS_STATUS(tn_backward(loss), TN_EDEVICE, "");
            tn_module_zero_grad(dp);
            tn_scope_close(inner);
            got = kit_step(dp, x, y);
            SAME(got, want, 1e-5, "after a reset");
            tn_module_zero_grad(dp);
        }
        tn_tensor *loss = MADE(kit_loss(dp, x, y)); /* the module moves away */
        BUILT(tn_module_cpu(dp));
        assert_int_not_equal(tn_backward(loss), TN_OK);
        tn_error_clear();
        tn_module_zero_grad(dp);
        BUILT(tn_module_to(dp, TN_CUDA(0)));
        got = kit_step(dp, x, y);
        SAME(got, want, 1e-5, "moved there and back");
        kit_end(scope);
    }
}

/* ---- settings of the thread ---- */

static tn_tensor *made_here_forward(tn_module *self, tn_tensor *x)
{
    (void)self;
    tn_tensor *one = tn_ones(TN_SHAPE(1), .device = TN_CUDA(-1)); /* on the current one: the replica's */
    return tn_add(tn_mul(x, one), tn_to(tn_ones(TN_SHAPE(1)), .device = tn_tensor_device(x)));
}

static void defaults_of_the_thread(void **state)
{
    (void)state;
    static const tn_module_class cls = {.struct_size = sizeof cls, .name = "Here", .forward = made_here_forward};
    tn_scope *scope = tn_scope_open();
    tn_tensor *x = kit_rows(6), *want = MADE(tn_add(x, 1));
    tn_module *dp = kit_over((size_t)tn_cuda_device_count(), tn_module_new(&cls, NULL));
    OK(tn_set_default_device(TN_CUDA(1)));
    OK(tn_cuda_set_device(1));
    tn_tensor *y = MADE(tn_forward(dp, x)), *z = MADE(tn_forward(kit_over(2, kit_sequential()), x));
    assert_true(tn_device_equal(tn_get_default_device(), TN_CUDA(1)));
    assert_int_equal(tn_cuda_current_device(), 1);
    OK(tn_set_default_device(TN_CPU));
    OK(tn_cuda_set_device(0));
    CLOSE_TO(y, want, 1e-6);
    CLOSE_TO(z, tn_forward(kit_sequential(), x), 1e-5);
    kit_end(scope);
}

/* A user's class that gives back its input, or something that is not on its device. */
static tn_tensor *same_forward(tn_module *self, tn_tensor *x)
{
    (void)self;
    return x;
}

static tn_tensor *elsewhere_forward(tn_module *self, tn_tensor *x)
{
    (void)self;
    return tn_mul(tn_to(x, .device = TN_CPU), 2);
}

static void results_elsewhere(void **state)
{
    (void)state;
    static const tn_module_class same = {.struct_size = sizeof same, .name = "Same", .forward = same_forward},
                                 elsewhere = {
                                     .struct_size = sizeof elsewhere, .name = "Away", .forward = elsewhere_forward};
    tn_scope *scope = tn_scope_open();
    tn_tensor *x = MADE(tn_requires_grad_(kit_rows(6), true));
    tn_tensor *y = MADE(tn_forward(kit_over(2, tn_module_new(&same, NULL)), x)),
              *z = MADE(tn_forward(kit_over(2, tn_module_new(&elsewhere, NULL)), x));
    CLOSE_TO(y, x, 0);
    CLOSE_TO(z, tn_mul(values(x), 2), 0);
    kit_on(y, "cuda:0");
    kit_on(z, "cuda:0");
    OK(tn_backward(tn_add(tn_sum(y), tn_sum(z))));
    CLOSE_TO(tn_tensor_grad(x), tn_full(TN_SHAPE(6, KIT_IN), 3.0), 0);
    kit_end(scope);
}

int main(int argc, char **argv)
{
    static const alone tests[] = {
        ANYWHERE(odd_parameters, "TENON_FAKE_GPUS=3"),       ANYWHERE(inside_a_network, "TENON_FAKE_GPUS=3"),
        ALONE(many_parameters, "TENON_FAKE_GPUS=2"),         ALONE(graphs_side_by_side, "TENON_FAKE_GPUS=2"),
        ALONE(graphs_that_outlive, "TENON_FAKE_GPUS=2"),     ALONE(some_inputs, "TENON_FAKE_GPUS=2"),
        ALONE(part_of_the_outputs, "TENON_FAKE_GPUS=2"),     ALONE(inference_and_training, "TENON_FAKE_GPUS=2"),
        ALONE(without_a_scope, "TENON_FAKE_GPUS=2"),         ALONE(the_record_is_kept, "TENON_FAKE_GPUS=2"),
        ALONE(changed_before_backward, "TENON_FAKE_GPUS=2"), ALONE(defaults_of_the_thread, "TENON_FAKE_GPUS=2"),
        ALONE(results_elsewhere, "TENON_FAKE_GPUS=2"),
    };
    return alone_main(tests, sizeof tests / sizeof *tests, argc, argv);
}
