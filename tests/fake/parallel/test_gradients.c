/* One step of a network on one, two, three and four GPUs gives the loss and the gradients of one device, whatever the network
 * and however the batch falls. */
#include "fake/parallel/helpers.h"

static const int64_t batches[] = {1, 5, 16, 64};
enum { BATCHES = sizeof batches / sizeof *batches };

/* ---- every network and batch ---- */

static void equal_one_device(void **state)
{
    (void)state;
    for (int m = 0; m < KIT_MODELS; m++)
        for (int b = 0; b < BATCHES; b++) {
            tn_scope *scope = tn_scope_open();
            tn_tensor *x = kit_rows(batches[b]), *y = kit_classes(batches[b]), *far = tn_to(x, .device = TN_CUDA(0));
            kit_outcome want = kit_reference(kit_models[m].make, x, y);
            tn_module *dp = BUILT(tn_nn_data_parallel(tn_module_to(kit_models[m].make(), TN_CUDA(0))));
            char what[80];
            for (int i = 0; i < 3; i++) { /* the first step makes copies, later ones refresh them */
                snprintf(what, sizeof what, "%s, batch %d, step %d", kit_models[m].name, (int)batches[b], i);
                kit_outcome got = kit_step(dp, far, y);
                SAME(got, want, 1e-5, what);
                tn_module_zero_grad(dp);
            }
            kit_end(scope);
        }
    assert_int_equal(atomic_load(&kit_parts_made), atomic_load(&kit_parts_gone));
}

/* ---- trained: parameters change between the steps ---- */

static void train(tn_module *net, tn_tensor *x, tn_tensor *y, double *losses, int n)
{
    tn_optimizer *opt = tn_sgd(net, 0.1, .momentum = 0.9);
    assert_non_null(opt);
    for (int i = 0; i < n; i++) {
        tn_scope *scope = tn_scope_open();
        tn_optimizer_zero_grad(opt);
        tn_tensor *loss = MADE(kit_loss(net, x, y));
        OK(tn_backward(loss));
        OK(tn_optimizer_step(opt));
        losses[i] = tn_item(loss);
        tn_scope_close(scope);
    }
    tn_optimizer_free(opt);
}

static void trains_as_one_device(void **state)
{
    (void)state;
    enum { STEPS = 20 };
    double want[STEPS], got[STEPS];
    for (int m = 0; m < KIT_MODELS; m++) {
        tn_scope *scope = tn_scope_open();
        tn_tensor *x = kit_rows(11), *y = kit_classes(11);
        train(BUILT(kit_models[m].make()), x, y, want, STEPS);
        train(kit_over((size_t)tn_cuda_device_count(), kit_models[m].make()), x, y, got, STEPS);
        for (int i = 0; i < STEPS; i++)
            NEAR(got[i], want[i], 1e-4);
        assert_true(got[STEPS - 1] < 0.95 * got[0]);
        kit_end(scope);
    }
}

/* ---- backward more than once ---- */

static void adds_up(void **state)
{
    (void)state;
    tn_scope *scope = tn_scope_open();
    tn_tensor *x = kit_rows(5), *y = kit_classes(5), *x2 = kit_rows(16), *y2 = kit_classes(16);
    tn_module *near = BUILT(kit_user()), *dp = kit_over(2, kit_user());
    (void)kit_step(near, x, y);
    kit_outcome want = kit_step(near, x2, y2);
    (void)kit_step(dp, x, y);
    kit_outcome got = kit_step(dp, x2, y2);
    SAME(got, want, 1e-5, "two batches");
    kit_end(scope);
}

/* Two forwards before one backward: the second one's copies must not disturb the first one's. */
static void two_forwards(void **state)
{
    (void)state;
    tn_scope *scope = tn_scope_open();
    tn_tensor *x = kit_rows(5), *y = kit_classes(5), *x2 = kit_rows(16), *y2 = kit_classes(16);
    tn_module *near = BUILT(kit_sequential()), *dp = kit_over(2, kit_sequential());
    kit_outcome got, want;
    want.loss = MADE(tn_add(kit_loss(near, x, y), kit_loss(near, x2, y2)));
    OK(tn_backward(want.loss));
    kit_gradients(near, &want);
    tn_tensor *first = MADE(kit_loss(dp, x, y)), *second = MADE(kit_loss(dp, x2, y2));
    got.loss = MADE(tn_add(first, second));
    OK(tn_backward(got.loss));
    kit_gradients(dp, &got);
    SAME(got, want, 1e-5, "the sum of two losses");
    kit_end(scope);
}

/* A forward, the parameters change, another forward; then the first is walked back: as on one device an error where its
 * values are gone, never a wrong gradient. */
static void a_changed_parameter(void **state)
{
    (void)state;
    tn_scope *scope = tn_scope_open();
    tn_tensor *x = kit_rows(8), *y = kit_classes(8);
    tn_module *dp = kit_over(2, kit_sequential());
    tn_tensor *first = MADE(kit_loss(dp, x, y));
    bool was = tn_set_grad_enabled(false);
    MADE(tn_mul_(tn_module_parameter(dp, "module.2.weight"), 3));
    tn_set_grad_enabled(was);
    tn_tensor *second = MADE(kit_loss(dp, x, y));
    tn_module *near = BUILT(kit_sequential());
    was = tn_set_grad_enabled(false);
    MADE(tn_mul_(tn_module_parameter(near, "2.weight"), 3));
    tn_set_grad_enabled(was);
    kit_outcome want = kit_step(near, x, y), got;
    FAILS_STATUS(tn_backward(first), TN_EGRAD, "modified by an inplace operation");
    tn_module_zero_grad(dp);
    got.loss = second;
    OK(tn_backward(second));
    kit_gradients(dp, &got);
    SAME(got, want, 1e-5, "the second forward");
    kit_end(scope);
}

static void walked_twice(void **state)
{
    (void)state;
    tn_scope *scope = tn_scope_open();
    tn_tensor *x = kit_rows(5), *y = kit_classes(5);
    for (int m = 0; m < 2; m++) {
        kit_maker make = m ? kit_user : kit_sequential;
        kit_outcome want = kit_reference(make, x, y), got;
        tn_module *dp = kit_over(2, make());
        got.loss = MADE(kit_loss(dp, x, y));
        OK(tn_backward(got.loss, .retain_graph = true));
        tn_module_zero_grad(dp);
        OK(tn_backward(got.loss));
        kit_gradients(dp, &got);
        SAME(got, want, 1e-5, "the second walk");
        FAILS_STATUS(tn_backward(got.loss), TN_EGRAD, "Trying to backward through the graph a second time");
    }
    kit_end(scope);
}

/* ---- the gradient of a gradient ---- */

static kit_outcome penalty(tn_module *net, tn_tensor *x, tn_tensor *y)
{
    tn_tensor *p[KIT_MOST], *g[KIT_MOST], *sum = NULL;
    kit_outcome out;
    size_t n = tn_module_parameters(net, p, KIT_MOST);
    tn_tensor *loss = MADE(kit_loss(net, x, y));
    OK(tn_grad(TN_TENSORS(loss), ((tn_tensors){p, n}), g, .create_graph = true));
    for (size_t i = 0; i < n; i++) {
        tn_tensor *s = tn_sum(tn_square(g[i]));
        sum = MADE(sum ? tn_add(sum, s) : s);
    }
    OK(tn_backward(tn_sqrt(sum)));
    out.loss = kit_copy(sum);
    kit_gradients(net, &out);
    return out;
}

static void double_backward(void **state)
{
    (void)state;
    static const kit_maker makers[] = {kit_sequential, kit_user, kit_held};
    for (size_t m = 0; m < 3; m++)
        for (size_t n = 2; n <= (size_t)tn_cuda_device_count(); n++) {
            tn_scope *scope = tn_scope_open();
            tn_tensor *x = kit_rows(5), *y = kit_classes(5);
            kit_outcome want = penalty(BUILT(makers[m]()), x, y), got = penalty(kit_over(n, makers[m]()), x, y);
            SAME(got, want, 1e-5, "double backward");
            kit_end(scope);
        }
}

/* ---- inputs: wherever they are, whatever their layout ---- */

/* Forms of the same values: on the CPU, pinned, on each GPU, not contiguous, cut out of something larger. */
enum { FORMS = 6 };
static tn_tensor *in_form(tn_tensor *x, int form)
{
    tn_tensor *far = tn_to(x, .device = TN_CUDA(0));
    switch (form) {
    case 0: return x;
    case 1: return tn_pin_memory(x);
    case 2: return far;
    case 3: return tn_to(x, .device = TN_CUDA(tn_cuda_device_count() - 1));
    case 4: return tn_t(tn_contiguous(tn_t(far)));
    default: return tn_narrow(tn_cat(TN_TENSORS(far, far, far), 1), 1, KIT_IN, KIT_IN);
    }
}

static void inputs_have_gradients(void **state)
{
    (void)state;
    for (int b = 0; b < 3; b++) {
        tn_scope *scope = tn_scope_open();
        tn_tensor *x = kit_rows(batches[b]), *y = kit_classes(batches[b]), *want[2], *got[2];
        tn_tensor *leaf = MADE(tn_requires_grad_(tn_clone(x), true));
        tn_module *near = BUILT(kit_sequential()), *dp = kit_over((size_t)tn_cuda_device_count(), kit_sequential());
        tn_tensor *w = tn_module_parameter(near, "0.weight"), *v = tn_module_parameter(dp, "module.0.weight");
        OK(tn_grad(TN_TENSORS(kit_loss(near, leaf, y)), TN_TENSORS(leaf, w), want));
        for (int form = 0; form < FORMS; form++) {
            tn_tensor *in = MADE(tn_requires_grad_(tn_detach(in_form(x, form)), true));
            OK(tn_grad(TN_TENSORS(kit_loss(dp, in, y)), TN_TENSORS(in, v), got));
            assert_true(tn_device_equal(tn_tensor_device(got[0]), tn_tensor_device(in)));
            CLOSE_TO(got[0], want[0], 1e-5);
            CLOSE_TO(got[1], want[1], 1e-5);
            assert_null(tn_tensor_grad(v));
            OK(tn_backward(kit_loss(dp, in, y)));
            CLOSE_TO(tn_tensor_grad(in), want[0], 1e-5);
            tn_module_zero_grad(dp);
        }
        kit_end(scope);
    }
}

static tn_tensor *words_forward(tn_module *self, tn_tensor *x)
{
    return tn_sum(tn_embedding(tn_module_parameter(self, "table"), x), .dim = 1);
}

static tn_module *words(void)
{
    static const tn_module_class cls = {.struct_size = sizeof cls, .name = "Words", .forward = words_forward};
    tn_manual_seed(9);
    tn_module *m = tn_module_new(&cls, NULL);
    tn_module_add_parameter(m, "table", tn_randn(TN_SHAPE(10, KIT_OUT)));
    return m;
}

static void integer_inputs(void **state)
{
    (void)state;
    for (int b = 0; b < BATCHES; b++) {
        tn_scope *scope = tn_scope_open();
        tn_manual_seed(5);
        tn_tensor *x = MADE(tn_randint(0, 10, TN_SHAPE(batches[b], 3))), *y = kit_classes(batches[b]);
        kit_outcome want = kit_reference(words, x, y), got;
        tn_module *dp = kit_over((size_t)tn_cuda_device_count(), words());
        got = kit_step(dp, x, y);
        SAME(got, want, 1e-5, "indices");
        kit_end(scope);
    }
}

/* ---- the batch along dimension 1; the outputs elsewhere ---- */

static tn_tensor *sideways_forward(tn_module *self, tn_tensor *x)
{
    return tn_matmul(tn_module_parameter(self, "w"), x);
}

static tn_module *sideways(void)
{
    static const tn_module_class cls = {.struct_size = sizeof cls, .name = "Sideways", .forward = sideways_forward};
    tn_manual_seed(9);
    tn_module *m = tn_module_new(&cls, NULL);
    tn_module_add_parameter(m, "w", tn_randn(TN_SHAPE(KIT_OUT, KIT_IN)));
    return m;
}

static void along_dimension_1(void **state)
{
    (void)state;
    for (int64_t dim = -1; dim < 2; dim += 2)
        for (int b = 0; b < BATCHES; b++) {
            tn_scope *scope = tn_scope_open();
            tn_tensor *x = MADE(tn_t(kit_rows(batches[b])));
            tn_module *near = BUILT(sideways()), *net = BUILT(tn_module_to(sideways(), TN_CUDA(0)));
            tn_module *dp = BUILT(tn_nn_data_parallel(net, .device_ids = kit_all(), .dim = dim));
            tn_tensor *want = MADE(tn_forward(near, x)), *got = MADE(tn_forward(dp, x));
            CLOSE_TO(got, want, 1e-5);
            OK(tn_backward(tn_sum(tn_square(want))));
            OK(tn_backward(tn_sum(tn_square(got))));
            CLOSE_TO(tn_tensor_grad(tn_module_parameter(net, "w")), tn_tensor_grad(tn_module_parameter(near, "w")),
                     1e-5);
            kit_end(scope);
        }
}

static void outputs_elsewhere(void **state)
{
    (void)state;
    static const char *const names[] = {"cuda:0", "cuda:1", "cpu"};
    for (int i = 0; i < 3; i++) {
        tn_scope *scope = tn_scope_open();
        tn_tensor *x = kit_rows(5), *y = kit_classes(5);
        kit_outcome want = kit_reference(kit_user, x, y), got;
        tn_module *net = BUILT(tn_module_to(kit_user(), TN_CUDA(0)));
        tn_module *dp =
            BUILT(tn_nn_data_parallel(net, .device_ids = kit_gpus(2), .output_device = tn_device_parse(names[i])));
        kit_on(MADE(tn_forward(dp, x)), names[i]);
        got = kit_step(dp, x, y);
        SAME(got, want, 1e-5, names[i]);
        tn_tensor *one = MADE(tn_forward(dp, kit_rows(1))); /* one chunk: it goes there as well */
        kit_on(one, names[i]);
        kit_end(scope);
    }
}

/* The main one is not cuda:0; devices in another order. */
static void another_main_device(void **state)
{
    (void)state;
    tn_scope *scope = tn_scope_open();
    tn_tensor *x = kit_rows(5), *y = kit_classes(5);
    kit_outcome want = kit_reference(kit_sequential, x, y), got;
    tn_module *net = BUILT(tn_module_to(kit_sequential(), TN_CUDA(1)));
    tn_module *dp = BUILT(tn_nn_data_parallel(net, .device_ids = TN_DEVICES(TN_CUDA(1), TN_CUDA(0))));
    kit_on(MADE(tn_forward(dp, x)), "cuda:1");
    got = kit_step(dp, x, y);
    SAME(got, want, 1e-5, "cuda:1 and cuda:0");
    kit_on(tn_tensor_grad(tn_module_parameter(net, "0.weight")), "cuda:1");
    assert_int_equal(tn_cuda_current_device(), 0);
    kit_end(scope);
}

/* ---- losses on each device, nothing gathered ---- */

static void each_its_loss(size_t n, int64_t rows, bool with_step)
{
    tn_scope *scope = tn_scope_open();
    tn_tensor *x = kit_rows(rows), *y = kit_classes(rows), *xs[KIT_GPUS], *ys[KIT_GPUS], *out[KIT_GPUS], *l[KIT_GPUS];
    tn_module *near = BUILT(kit_user()), *net = BUILT(tn_module_to(kit_user(), TN_CUDA(0))), *r[KIT_GPUS];
    kit_outcome want, got;
    want.loss = MADE(tn_cross_entropy(tn_forward(near, x), y, .reduction = TN_SUM));
    OK(tn_backward(want.loss));
    kit_gradients(near, &want);
    tn_team *team = tn_team_new(kit_gpus(n));
    tn_team_step *step = with_step ? tn_team_step_new(team) : NULL;
    assert_true(team && (step || !with_step));
    tn_device_list d = with_step ? tn_team_step_devices(step) : kit_gpus(n);
    size_t k, k2;
    OK(tn_parallel_scatter(x, d, xs, &k, .step = step));
    OK(tn_parallel_scatter(y, d, ys, &k2, .step = step));
    assert_int_equal(k, kit_chunks(rows, n));
    assert_int_equal(k2, k);
    d.n = k;
    OK(tn_parallel_replicate(net, d, r, .step = step));
    OK(tn_parallel_apply(r, ((tn_tensors){xs, k}), out, .step = step));
    got.loss = NULL;
    double total = 0;
    for (size_t i = 0; i < k; i++) {
        assert_true(tn_device_equal(tn_tensor_device(out[i]), d.d[i]));
        l[i] = MADE(tn_cross_entropy(out[i], ys[i], .reduction = TN_SUM));
        total += tn_item(l[i]);
    }
    OK(tn_backward_all(((tn_tensors){l, k})));
    kit_gradients(net, &got);
    got.loss = MADE(tn_tensor_from(TN_LIST(total), .shape = TN_SHAPE()));
    SAME(got, want, 1e-5, "losses on each device");
    tn_team_step_release(step);
    tn_team_release(team);
    kit_end(scope);
}

static void losses_without_gather(void **state)
{
    (void)state;
    for (size_t n = 1; n <= (size_t)tn_cuda_device_count(); n++)
        for (int b = 0; b < BATCHES; b++) {
            each_its_loss(n, batches[b], true);
            each_its_loss(n, batches[b], false);
        }
}

/* ---- hooks on parameters: once for a pass, with the sum over all replicas ---- */

typedef struct seen {
    int calls, after;
    double sum;
    tn_tensor *leaf;
} seen;

static tn_status doubles(void *ctx, tn_tensor *t, tn_tensor **replaced)
{
    seen *s = ctx;
    s->calls++;
    s->sum = tn_item(tn_sum(t));
    *replaced = tn_mul(t, 2);
    return *replaced ? TN_OK : tn_error_code();
}

static tn_status counts(void *ctx, tn_tensor *leaf, tn_tensor **replaced)
{
    seen *s = ctx;
    (void)replaced;
    s->after += leaf == s->leaf;
    return TN_OK;
}

static void hooks_see_the_sum(void **state)
{
    (void)state;
    tn_scope *scope = tn_scope_open();
    tn_tensor *x = kit_rows(16), *y = kit_classes(16);
    kit_outcome want = kit_reference(kit_sequential, x, y);
    tn_module *dp = kit_over((size_t)tn_cuda_device_count(), kit_sequential());
    tn_tensor *w = tn_module_parameter(dp, "module.0.weight");
    seen s = {.leaf = w};
    OK(tn_tensor_add_hook(w, doubles, &s, NULL, NULL));
    OK(tn_tensor_add_accumulate_hook(w, counts, &s, NULL, NULL));
    for (int i = 1; i <= 3; i++) {
        kit_outcome got = kit_step(dp, x, y);
        assert_int_equal(s.calls, i);
        assert_int_equal(s.after, i);
        NEAR(s.sum, tn_item(tn_sum(want.grad[0])), 1e-5);
        CLOSE_TO(got.grad[0], tn_mul(want.grad[0], 2), 1e-5);
        CLOSE_TO(got.grad[1], want.grad[1], 1e-5);
        tn_module_zero_grad(dp);
    }
    kit_end(scope);
}

/* ---- other dtypes ---- */

/* Beside the gradients in float64: half types have 11 and 8 digits, and each partial sum is rounded. */
static void half_types(void **state)
{
    (void)state;
    static const tn_dtype dtypes[] = {TN_F16, TN_BF16, TN_F64};
    static const double tolerance[] = {4e-3, 3e-2, 1e-12};
    for (int k = 0; k < 3; k++) {
        tn_scope *scope = tn_scope_open();
        tn_tensor *x = MADE(tn_to(kit_rows(16), .dtype = dtypes[k])), *y = kit_classes(16), *p[KIT_MOST];
        tn_module *net = BUILT(tn_module_to_dtype(kit_sequential(), dtypes[k]));
        tn_module *near = BUILT(tn_module_to_dtype(tn_module_to_dtype(kit_sequential(), dtypes[k]), TN_F64));
        kit_outcome want = kit_step(near, tn_to(x, .dtype = TN_F64), y);
        tn_module *dp = kit_over((size_t)tn_cuda_device_count(), net);
        kit_outcome got = kit_step(dp, x, y);
        SAME(got, want, tolerance[k], tn_dtype_name(dtypes[k]));
        size_t n = tn_module_parameters(dp, p, KIT_MOST);
        for (size_t i = 0; i < n; i++)
            assert_int_equal(tn_tensor_dtype(tn_tensor_grad(p[i])), dtypes[k]);
        kit_end(scope);
    }
}

/* ---- without recording ---- */

static void eval_without_recording(void **state)
{
    (void)state;
    for (int m = 0; m < KIT_MODELS; m++)
        for (int b = 0; b < BATCHES; b++) {
            tn_scope *scope = tn_scope_open();
            tn_tensor *x = kit_rows(batches[b]), *want = MADE(tn_forward(BUILT(kit_models[m].make()), x));
            tn_module *dp = kit_over((size_t)tn_cuda_device_count(), kit_models[m].make());
            tn_module_eval(dp);
            bool was = tn_set_grad_enabled(false);
            for (int i = 0; i < 3; i++) {
                tn_tensor *y = MADE(tn_forward(dp, x));
                CLOSE_TO(y, want, 1e-5);
                assert_false(tn_tensor_requires_grad(y));
            }
            tn_set_grad_enabled(was);
            tn_tensor *y = MADE(tn_forward(dp, x)); /* and with recording again */
            assert_true(tn_tensor_requires_grad(y));
            OK(tn_backward(tn_sum(y)));
            kit_end(scope);
        }
}

int main(int argc, char **argv)
{
    static const alone tests[] = {
        {"equal_one_device_on_1", equal_one_device, true, {"TENON_FAKE_GPUS=1"}},
        {"equal_one_device_on_2", equal_one_device, true, {"TENON_FAKE_GPUS=2"}},
        {"equal_one_device_on_3", equal_one_device, true, {"TENON_FAKE_GPUS=3"}},
        {"equal_one_device_on_4", equal_one_device, true, {"TENON_FAKE_GPUS=4"}},
        {"equal_without_links",
         equal_one_device,
         false,
         {"TENON_FAKE_GPUS=3", "TENON_FAKE_GPU_FAULTS=peer=0-1,badpeer=0-2"}},
        {"equal_with_delays", equal_one_device, false, {"TENON_FAKE_GPUS=3", "TENON_FAKE_GPU_FAULTS=delay=random:3"}},
        ANYWHERE(trains_as_one_device, "TENON_FAKE_GPUS=3"),
        ALONE(adds_up, "TENON_FAKE_GPUS=2"),
        ALONE(two_forwards, "TENON_FAKE_GPUS=2"),
        ALONE(a_changed_parameter, "TENON_FAKE_GPUS=2"),
        ALONE(walked_twice, "TENON_FAKE_GPUS=2"),
        ANYWHERE(double_backward, "TENON_FAKE_GPUS=4"),
        ANYWHERE(inputs_have_gradients, "TENON_FAKE_GPUS=3"),
        ANYWHERE(integer_inputs, "TENON_FAKE_GPUS=3"),
        ANYWHERE(along_dimension_1, "TENON_FAKE_GPUS=3"),
        ALONE(outputs_elsewhere, "TENON_FAKE_GPUS=2"),
        ALONE(another_main_device, "TENON_FAKE_GPUS=2"),
        ANYWHERE(losses_without_gather, "TENON_FAKE_GPUS=4"),
        ANYWHERE(hooks_see_the_sum, "TENON_FAKE_GPUS=3"),
        ANYWHERE(half_types, "TENON_FAKE_GPUS=3"),
        ANYWHERE(eval_without_recording, "TENON_FAKE_GPUS=3"),
    };
    return alone_main(tests, sizeof tests / sizeof *tests, argc, argv);
}
