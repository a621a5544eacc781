/* What modules see of being replicated: buffers, parameters that change between steps, contexts, modes, the thread and the
 * streams that forwards run on; what DataParallel is as a module, and what it refuses. */
#include "fake/parallel/helpers.h"
#include <pthread.h>

/* ---- buffers ---- */

/* A running mean and a count, as normalisation layers keep them. */
static tn_tensor *running_forward(tn_module *self, tn_tensor *x)
{
    tn_tensor *mean = tn_module_buffer(self, "mean"), *count = tn_module_buffer(self, "count");
    bool was = tn_set_grad_enabled(false);
    bool ok = tn_mul_(mean, 0.9) && tn_add_(mean, tn_mul(tn_mean(x, .dim = 0), 0.1)) && tn_add_(count, 1);
    tn_set_grad_enabled(was);
    return ok ? tn_linear(x, tn_module_parameter(self, "w"), TN_NONE) : NULL;
}

static tn_module *running(void)
{
    static const tn_module_class cls = {.struct_size = sizeof cls, .name = "Running", .forward = running_forward};
    tn_manual_seed(9);
    tn_module *m = tn_module_new(&cls, NULL);
    tn_module_add_parameter(m, "w", tn_randn(TN_SHAPE(KIT_OUT, KIT_IN)));
    tn_module_add_buffer(m, "mean", tn_zeros(TN_SHAPE(KIT_IN)));
    tn_module_add_buffer(m, "count", tn_zeros(TN_SHAPE(1), .dtype = TN_I64));
    return m;
}

/* As if the module had seen the first chunk alone. */
static void buffers_of_the_first(void **state)
{
    (void)state;
    for (int recording = 0; recording < 2; recording++)
        for (size_t n = 1; n <= (size_t)tn_cuda_device_count(); n++) {
            tn_scope *scope = tn_scope_open();
            tn_module *near = BUILT(running()), *dp = kit_over(n, running()), *net = tn_module_child(dp, "module");
            tn_tensor *mean = tn_module_buffer(net, "mean"), *count = tn_module_buffer(net, "count");
            bool was = tn_set_grad_enabled(recording);
            for (int i = 1; i <= 5; i++) {
                tn_tensor *x = kit_rows(4 + i);
                int64_t rows = (4 + i + (int64_t)n - 1) / (int64_t)n;
                uint32_t version = tn_tensor_version(mean);
                MADE(tn_forward(near, tn_narrow(x, 0, 0, rows)));
                tn_tensor *y = MADE(tn_forward(dp, x));
                if (recording)
                    OK(tn_backward(tn_sum(y)));
                assert_ptr_equal(tn_module_buffer(net, "mean"), mean);
                CLOSE_TO(mean, tn_module_buffer(near, "mean"), 1e-6);
                assert_int_equal(tn_item_int(tn_select(count, 0, 0)), i);
                assert_int_equal(tn_tensor_version(mean), version + 2);
                tn_module_zero_grad(dp);
            }
            tn_set_grad_enabled(was);
            kit_end(scope);
        }
}

/* Adds 1 to its buffer where it is not on cuda:0, and shows what that was before. */
static tn_tensor *scribbles_forward(tn_module *self, tn_tensor *x)
{
    tn_tensor *b = tn_module_buffer(self, "b"), *y = tn_add(tn_mul(x, 0), b);
    if (!y || tn_tensor_device(x).index == 0)
        return y;
    bool was = tn_set_grad_enabled(false);
    bool ok = tn_add_(b, 1) != NULL;
    tn_set_grad_enabled(was);
    return ok ? y : NULL;
}

/* What another replica writes to its buffer is not seen in the next step, also where the original never changes. */
static void writes_of_others_are_lost(void **state)
{
    (void)state;
    static const tn_module_class cls = {.struct_size = sizeof cls, .name = "Scribbles", .forward = scribbles_forward};
    for (int recording = 0; recording < 2; recording++) {
        tn_scope *scope = tn_scope_open();
        tn_module *net = BUILT(tn_module_new(&cls, NULL));
        MADE(tn_module_add_buffer(net, "b", tn_full(TN_SHAPE(1), 7.0)));
        tn_module *dp = kit_over((size_t)tn_cuda_device_count(), net);
        bool was = tn_set_grad_enabled(recording);
        for (int i = 0; i < 4; i++) {
            tn_tensor *x = MADE(tn_ones(TN_SHAPE(9), .requires_grad = recording));
            CLOSE_TO(MADE(tn_forward(dp, x)), tn_full(TN_SHAPE(9), 7.0), 0);
        }
        tn_set_grad_enabled(was);
        CLOSE_TO(tn_module_buffer(net, "b"), tn_full(TN_SHAPE(1), 7.0), 0);
        kit_end(scope);
    }
}

/* ---- kept copies follow what they are copies of ---- */

static tn_tensor *shows_forward(tn_module *self, tn_tensor *x)
{
    return tn_add(tn_add(tn_mul(x, 0), tn_module_parameter(self, "w")), tn_module_buffer(self, "b"));
}

static tn_module *showing(double w)
{
    static const tn_module_class cls = {.struct_size = sizeof cls, .name = "Shows", .forward = shows_forward};
    tn_module *m = tn_module_new(&cls, NULL);
    tn_module_add_parameter(m, "w", tn_full(TN_SHAPE(1), w));
    tn_module_add_buffer(m, "b", tn_zeros(TN_SHAPE(1)));
    return m;
}

static void check_shown(tn_module *dp, double value, const char *file, int line)
{
    tn_scope *scope = tn_scope_open();
    tn_tensor *y = tn_forward(dp, tn_zeros(TN_SHAPE(8)));
    check_made_(y, "a forward", file, line);
    kit_near(y, tn_full(TN_SHAPE(8), value), 1e-6, "what replicas show", file, line);
    tn_scope_close(scope);
}
#define SHOWN(value) check_shown(dp, (value), __FILE__, __LINE__)

static void change_in_place(tn_module *dp)
{
    tn_tensor *w = tn_module_parameter(dp, "module.w");
    bool was = tn_set_grad_enabled(false);
    SHOWN(1);
    SHOWN(1);
    MADE(tn_add_(w, 1));
    SHOWN(2);
    MADE(tn_copy_(w, tn_full(TN_SHAPE(1), 3.0)));
    SHOWN(3);
    MADE(tn_fill_(tn_detach(w), 4.0));
    SHOWN(4);
    MADE(tn_mul_(tn_narrow(w, 0, 0, 1), 2));
    SHOWN(8);
    MADE(tn_fill_(tn_module_buffer(dp, "module.b"), 0.5));
    SHOWN(8.5);
    MADE(tn_fill_(tn_module_buffer(dp, "module.b"), 0.0));
    tn_set_grad_enabled(was);
}

/* The tensor is another one, or shows other memory. */
static void change_the_tensor(tn_module *dp)
{
    tn_module *net = tn_module_child(dp, "module");
    for (int i = 0; i < 20; i++) { /* often enough that memory and structs are those of earlier ones */
        tn_scope *scope = tn_scope_open();
        MADE(tn_module_add_parameter(net, "w", tn_full(TN_SHAPE(1), (double)i, .device = TN_CUDA(0))));
        tn_scope_close(scope);
        SHOWN(i);
    }
    for (int i = 0; i < 20; i++) {
        tn_scope *scope = tn_scope_open();
        OK(tn_tensor_set_data(tn_module_parameter(net, "w"), tn_full(TN_SHAPE(1), 30.0 + i, .device = TN_CUDA(0))));
        tn_scope_close(scope);
        SHOWN(30 + i);
    }
    tn_named state[2] = {{"w", tn_full(TN_SHAPE(1), 60.0)}, {"b", tn_full(TN_SHAPE(1), 1.0)}};
    OK(tn_module_load_state(net, state, 2));
    SHOWN(61);
    BUILT(tn_module_to_dtype(dp, TN_F64));
    SHOWN(61);
    BUILT(tn_module_to_dtype(dp, TN_F32));
    BUILT(tn_module_cpu(dp));
    FAILS(tn_forward(dp, tn_zeros(TN_SHAPE(8))), TN_EDEVICE,
          "module must have its parameters and buffers on device cuda:0 (device_ids[0]) but found one of them on "
          "device: cpu");
    BUILT(tn_module_to(dp, TN_CUDA(0)));
    SHOWN(61);
}

static void copies_follow(void **state)
{
    (void)state;
    for (int recording = 0; recording < 2; recording++) {
        tn_scope *scope = tn_scope_open();
        tn_module *dp = kit_over((size_t)tn_cuda_device_count(), showing(1));
        bool was = tn_set_grad_enabled(recording);
        change_in_place(dp);
        change_the_tensor(dp);
        tn_set_grad_enabled(was);
        kit_end(scope);
    }
}

/* A result that shows a replica's parameter outlives the next step unchanged. */
static tn_tensor *gives_forward(tn_module *self, tn_tensor *x)
{
    (void)x;
    return tn_module_parameter(self, "w");
}

static void a_result_that_is_a_parameter(void **state)
{
    (void)state;
    static const tn_module_class cls = {.struct_size = sizeof cls, .name = "Gives", .forward = gives_forward};
    tn_scope *scope = tn_scope_open();
    tn_module *net = BUILT(tn_module_new(&cls, NULL)), *r[2];
    tn_tensor *w = MADE(tn_module_add_parameter(net, "w", tn_full(TN_SHAPE(1), 1.0))), *x = tn_zeros(TN_SHAPE(2)),
              *xs[2], *out[2], *later[2];
    BUILT(tn_module_to(net, TN_CUDA(0)));
    size_t n;
    tn_team *team = tn_team_new(kit_gpus(2));
    tn_team_step *step = tn_team_step_new(team), *next;
    assert_non_null(step);
    tn_device_list d = tn_team_step_devices(step);
    OK(tn_parallel_scatter(x, d, xs, &n, .step = step));
    OK(tn_parallel_replicate(net, d, r, .step = step));
    OK(tn_parallel_apply(r, ((tn_tensors){xs, 2}), out, .step = step));
    bool was = tn_set_grad_enabled(false);
    MADE(tn_fill_(w, 2.0));
    tn_set_grad_enabled(was);
    next = tn_team_step_new(team);
    assert_non_null(next);
    OK(tn_parallel_replicate(net, d, r, .step = next));
    OK(tn_parallel_apply(r, ((tn_tensors){xs, 2}), later, .step = next));
    CLOSE_TO(later[1], tn_full(TN_SHAPE(1), 2.0), 0);
    CLOSE_TO(out[1], tn_full(TN_SHAPE(1), 1.0), 0); /* was still in use: the copy was made anew */
    tn_team_step_release(step);
    tn_team_step_release(next);
    tn_team_release(team);
    kit_end(scope);
}

/* ---- where forwards run ---- */

typedef struct spy {
    tn_stream *stream[KIT_GPUS]; /* that should be current */
    bool grad;
    pthread_t caller;
    _Atomic int seen, wrong, threads;
} spy;

static tn_tensor *spy_forward(tn_module *self, tn_tensor *x)
{
    spy *s = tn_module_context(self);
    tn_device d = tn_tensor_device(x);
    bool ok = tn_cuda_current_device() == d.index && tn_is_grad_enabled() == s->grad &&
              tn_tensor_device(tn_module_parameter(self, "w")).index == d.index && !tn_is_inference_mode();
    for (int32_t i = 0; i < tn_cuda_device_count(); i++) {
        tn_stream *now = tn_cuda_current_stream(TN_CUDA(i));
        ok &= now == s->stream[i];
        tn_stream_release(now);
    }
    atomic_fetch_add(&s->wrong, !ok);
    atomic_fetch_add(&s->threads, !pthread_equal(pthread_self(), s->caller));
    atomic_fetch_add(&s->seen, 1);
    return tn_mul(x, tn_module_parameter(self, "w"));
}

static void look_around(tn_module *dp, spy *s, bool grad)
{
    tn_tensor *x = MADE(tn_ones(TN_SHAPE(8)));
    s->grad = grad;
    bool was = tn_set_grad_enabled(grad);
    atomic_store(&s->seen, 0);
    CLOSE_TO(MADE(tn_forward(dp, x)), tn_full(TN_SHAPE(8), 2.0), 0);
    tn_set_grad_enabled(was);
    assert_int_equal(atomic_load(&s->seen), tn_cuda_device_count());
    assert_int_equal(atomic_load(&s->wrong), 0);
}

/* A user's forward runs with its device current and the caller's streams and gradient mode; the caller's device, streams and
 * mode are as before. */
static void where_replicas_run(void **state)
{
    (void)state;
    static const tn_module_class cls = {.struct_size = sizeof cls, .name = "Spy", .forward = spy_forward};
    static spy s;
    const int32_t n = tn_cuda_device_count();
    tn_scope *scope = tn_scope_open();
    s.caller = pthread_self();
    tn_module *net = BUILT(tn_module_new(&cls, &s));
    MADE(tn_module_add_parameter(net, "w", tn_full(TN_SHAPE(1), 2.0)));
    tn_module *dp = kit_over((size_t)n, net);
    for (int own = 0; own < 2; own++) {
        tn_stream_guard g[KIT_GPUS];
        for (int32_t i = 0; i < n; i++) {
            s.stream[i] = own ? tn_cuda_stream_new(TN_CUDA(i), 0) : tn_cuda_default_stream(TN_CUDA(i));
            tn_stream *before = tn_cuda_current_stream(TN_CUDA(i));
            OK(tn_stream_wait_stream(s.stream[i], before));
            tn_stream_release(before);
            g[i] = tn_stream_enter(s.stream[i]);
        }
        OK(tn_cuda_set_device(n - 1));
        look_around(dp, &s, true);
        look_around(dp, &s, false);
        assert_int_equal(tn_cuda_current_device(), n - 1);
        for (int32_t i = 0; i < n; i++) {
            tn_stream *now = tn_cuda_current_stream(TN_CUDA(i));
            assert_ptr_equal(now, s.stream[i]);
            tn_stream_release(now);
        }
        for (int32_t i = n - 1; i >= 0; i--) {
            OK(tn_synchronize(TN_CUDA(i)));
            tn_stream_leave(g[i]);
            tn_stream_release(s.stream[i]);
        }
        OK(tn_cuda_set_device(0));
    }
    print_message("count: %d of %d forwards of a user's class ran on threads of their own\n", atomic_load(&s.threads),
                  4 * n);
    kit_end(scope);
}

/* ---- contexts ---- */

static void contexts_are_replicated(void **state)
{
    (void)state;
    tn_scope *scope = tn_scope_open();
    int made = atomic_load(&kit_parts_made), gone = atomic_load(&kit_parts_gone);
    tn_module *net = BUILT(tn_module_to(kit_held(), TN_CUDA(0))), *r[2];
    OK(tn_parallel_replicate(net, kit_gpus(2), r));
    for (int i = 0; i < 2; i++) {
        const kit_parts *p = tn_module_context(r[i]);
        assert_ptr_not_equal(p, tn_module_context(net));
        assert_ptr_equal(p->w, tn_module_parameter(r[i], "w"));
        assert_ptr_equal(p->head, tn_module_child(r[i], "head"));
        kit_on(p->w, i ? "cuda:1" : "cuda:0");
        assert_string_equal(tn_module_class_name(r[i]), "Held");
    }
    assert_int_equal(atomic_load(&kit_parts_made), made + 3);
    kit_end(scope);
    assert_int_equal(atomic_load(&kit_parts_gone) - gone, 3);
}

static void *fails_elsewhere(const tn_module *self, tn_module *replica)
{
    (void)self;
    tn_tensor *w = tn_module_parameter(replica, "w");
    if (tn_tensor_device(w).index == 1)
        return tn_matmul(w, w) ? NULL : NULL; /* w is 5 x 6 */
    return kit_parts_of(replica);
}

static void a_context_that_cannot_be_made(void **state)
{
    (void)state;
    static const tn_module_class cls = {.struct_size = sizeof cls,
                                        .name = "Fails",
                                        .forward = kit_parts_forward,
                                        .destroy = kit_parts_free,
                                        .replicate = fails_elsewhere};
    tn_scope *scope = tn_scope_open();
    int made = atomic_load(&kit_parts_made), gone = atomic_load(&kit_parts_gone);
    kit_parts *p = calloc(1, sizeof *p);
    tn_module *net = BUILT(tn_module_new(&cls, p));
    p->w = tn_module_add_parameter(net, "w", tn_randn(TN_SHAPE(KIT_HIDDEN, KIT_IN)));
    p->head = tn_module_add_child(net, "head", tn_nn_linear(KIT_HIDDEN, KIT_OUT));
    tn_module *dp = kit_over(2, net);
    for (int i = 0; i < 2; i++) {
        FAILS(tn_forward(dp, kit_rows(4)), TN_EINVAL, "mat1 and mat2 shapes cannot be multiplied");
        MADE(tn_forward(dp, kit_rows(1))); /* one replica */
    }
    kit_end(scope);
    assert_int_equal(atomic_load(&kit_parts_made) - made + 1, atomic_load(&kit_parts_gone) - gone);
}

/* ---- modes ---- */

static void modes_reach_replicas(void **state)
{
    (void)state;
    tn_scope *scope = tn_scope_open();
    tn_module *dp = kit_over((size_t)tn_cuda_device_count(), tn_nn_sequential(tn_nn_identity(), tn_nn_dropout(1)));
    tn_tensor *x = MADE(tn_ones(TN_SHAPE(9, 2)));
    CLOSE_TO(MADE(tn_forward(dp, x)), tn_zeros(TN_SHAPE(9, 2)), 0);
    tn_module_eval(dp);
    assert_false(tn_module_is_training(tn_module_child(dp, "module")));
    CLOSE_TO(MADE(tn_forward(dp, x)), x, 0);
    tn_module_train(dp);
    CLOSE_TO(MADE(tn_forward(dp, x)), tn_zeros(TN_SHAPE(9, 2)), 0);
    tn_module_eval(tn_module_child(dp, "module"));
    CLOSE_TO(MADE(tn_forward(dp, x)), x, 0);
    kit_end(scope);
}

/* Parameters that are frozen, or thawed, between two steps. */
static void freezing(void **state)
{
    (void)state;
    tn_scope *scope = tn_scope_open();
    tn_tensor *x = kit_rows(8), *y = kit_classes(8);
    tn_module *dp = kit_over(2, kit_sequential()), *net = tn_module_child(dp, "module");
    kit_outcome free_one = kit_reference(kit_sequential, x, y), frozen = kit_reference(kit_frozen, x, y), got;
    for (int i = 0; i < 3; i++) {
        BUILT(tn_module_requires_grad_(tn_module_nth_child(net, 0), i == 1));
        got = kit_step(dp, x, y);
        const kit_outcome *want = i == 1 ? &free_one : &frozen;
        SAME(got, *want, 1e-5, "frozen or not");
        tn_module_zero_grad(dp);
    }
    BUILT(tn_module_requires_grad_(dp, false)); /* nothing asks for a gradient */
    assert_false(tn_tensor_requires_grad(MADE(tn_forward(dp, x))));
    kit_end(scope);
}

/* ---- results and inputs of other kinds ---- */

static tn_tensor *largest_forward(tn_module *self, tn_tensor *x)
{
    (void)self;
    return tn_argmax(x, .dim = 1);
}

static tn_tensor *total_forward(tn_module *self, tn_tensor *x)
{
    (void)self;
    return tn_sum(x);
}

static void results_of_other_kinds(void **state)
{
    (void)state;
    static const tn_module_class largest = {.struct_size = sizeof largest,
                                            .name = "Largest",
                                            .forward = largest_forward},
                                 total = {.struct_size = sizeof total, .name = "Total", .forward = total_forward};
    const size_t n = (size_t)tn_cuda_device_count();
    tn_scope *scope = tn_scope_open();
    tn_tensor *x = kit_rows(7), *y = MADE(tn_forward(kit_over(n, tn_module_new(&largest, NULL)), x));
    assert_int_equal(tn_tensor_dtype(y), TN_I64);
    assert_true(tn_equal(tn_cpu(y), tn_argmax(x, .dim = 1)));
    tn_module *sum = kit_over(n, tn_module_new(&total, NULL));
    tn_tensor *leaf = MADE(tn_requires_grad_(tn_to(x, .device = TN_CUDA(0)), true));
    y = MADE(tn_forward(sum, leaf)); /* scalars become a vector */
    assert_int_equal(tn_tensor_ndim(y), n > 1);
    assert_int_equal(tn_tensor_numel(y), kit_chunks(7, n));
    NEAR(tn_item(tn_sum(y)), tn_item(tn_sum(x)), 1e-5);
    OK(tn_backward(tn_sum(y)));
    CLOSE_TO(tn_tensor_grad(leaf), tn_ones(TN_SHAPE(7, KIT_IN)), 0);
    tn_module *same = kit_over(n, tn_nn_identity());
    CLOSE_TO(MADE(tn_forward(same, x)), x, 0);
    y = MADE(tn_forward(kit_over(n, kit_sequential()), tn_zeros(TN_SHAPE(0, KIT_IN)))); /* no samples */
    assert_int_equal(tn_tensor_size(y, 0), 0);
    assert_int_equal(tn_tensor_size(y, 1), KIT_OUT);
    if (n > 1)
        FAILS(tn_forward(same, tn_ones(TN_SHAPE())), TN_EVALUE, "");
    kit_end(scope);
}

/* ---- DataParallel as a module ---- */

static void is_a_module(void **state)
{
    (void)state;
    tn_scope *scope = tn_scope_open();
    tn_module *net = BUILT(tn_module_to(running(), TN_CUDA(0))), *dp = BUILT(tn_nn_data_parallel(net));
    tn_named names[8];
    assert_int_equal(tn_module_state(dp, names, 8), 3);
    assert_string_equal(names[0].name, "module.w");
    assert_string_equal(names[1].name, "module.mean");
    assert_string_equal(names[2].name, "module.count");
    assert_ptr_equal(names[0].tensor, tn_module_parameter(net, "w"));
    assert_ptr_equal(tn_module_child(dp, "module"), net);
    assert_string_equal(tn_module_class_name(dp), "DataParallel");
    MODULE_PRINTS(BUILT(tn_nn_data_parallel(tn_module_to(tn_nn_linear(2, 3), TN_CUDA(0)))),
                  "DataParallel(\n  (module): Linear(in_features=2, out_features=3, bias=True)\n)");
    tn_team *team = tn_data_parallel_team(dp);
    tn_device d[KIT_GPUS];
    assert_non_null(team);
    assert_int_equal(tn_team_devices(team, d, KIT_GPUS), tn_cuda_device_count());
    for (int32_t i = 0; i < tn_cuda_device_count(); i++)
        assert_true(tn_device_equal(d[i], TN_CUDA(i)));
    memset(d, 0, sizeof d);
    assert_int_equal(tn_team_devices(team, d, 1), tn_cuda_device_count());
    assert_int_equal(d[1].type, 0); /* no more than there is room for */
    FAILS(tn_data_parallel_team(net), TN_ETYPE, "");
    kit_end(scope);
}

static void refusals(void **state)
{
    (void)state;
    tn_scope *scope = tn_scope_open();
    tn_module *net = BUILT(tn_module_to(kit_sequential(), TN_CUDA(1)));
    FAILS(tn_nn_data_parallel(net, .device_ids = TN_DEVICES(TN_CUDA(0), TN_CPU)), TN_EVALUE,
          "Expected a non cpu device, but got: cpu");
    FAILS(tn_nn_data_parallel(net, .device_ids = TN_DEVICES(TN_CUDA(0), TN_CUDA(0))), TN_EINVAL, "cuda:0");
    FAILS(tn_nn_data_parallel(net, .device_ids = TN_DEVICES(TN_CUDA(0), TN_CUDA(7))), TN_EDEVICE,
          "invalid device ordinal");
    FAILS(tn_nn_data_parallel(net, .output_device = TN_CUDA(7)), TN_EDEVICE, "invalid device ordinal");
    tn_module *dp = BUILT(tn_nn_data_parallel(net, .device_ids = kit_gpus(2))); /* nothing moved: as PyTorch */
    FAILS(tn_forward(dp, kit_rows(4)), TN_EDEVICE,
          "module must have its parameters and buffers on device cuda:0 (device_ids[0]) but found one of them on "
          "device: cuda:1");
    dp = BUILT(tn_nn_data_parallel(net, .device_ids = TN_DEVICES(TN_CUDA(1), TN_CUDA(2)))); /* the document's */
    BUILT(tn_module_to(net, TN_CUDA(2)));
    FAILS(tn_forward(dp, kit_rows(4)), TN_EDEVICE,
          "module must have its parameters and buffers on device cuda:1 (device_ids[0]) but found one of them on "
          "device: cuda:2");
    BUILT(tn_module_to(net, TN_CUDA(1)));
    MADE(tn_forward(dp, kit_rows(4)));
    MADE(tn_module_add_buffer(net, "b", tn_ones(TN_SHAPE(1)))); /* a buffer alone, and also for one sample */
    FAILS(tn_forward(dp, kit_rows(4)), TN_EDEVICE, "but found one of them on device: cpu");
    FAILS(tn_forward(dp, kit_rows(1)), TN_EDEVICE, "but found one of them on device: cpu");
    kit_end(scope);
}

static void one_device_id(void **state)
{
    (void)state;
    tn_scope *scope = tn_scope_open();
    tn_tensor *x = kit_rows(5), *y = kit_classes(5);
    kit_outcome want = kit_reference(kit_user, x, y), got;
    tn_module *net = BUILT(kit_user()), *dp = BUILT(tn_nn_data_parallel(net, .device_ids = TN_DEVICES(TN_CUDA(1))));
    kit_on(tn_module_parameter(net, "w"), "cuda:1"); /* moved there at once */
    got = kit_step(dp, x, y);
    SAME(got, want, 1e-5, "one device");
    kit_on(MADE(tn_forward(dp, x)), "cuda:1");
    kit_end(scope);
}

int main(int argc, char **argv)
{
    static const alone tests[] = {
        ANYWHERE(buffers_of_the_first, "TENON_FAKE_GPUS=3"),
        ANYWHERE(writes_of_others_are_lost, "TENON_FAKE_GPUS=3"),
        ANYWHERE(copies_follow, "TENON_FAKE_GPUS=3"),
        ALONE(a_result_that_is_a_parameter, "TENON_FAKE_GPUS=2"),
        ANYWHERE(where_replicas_run, "TENON_FAKE_GPUS=4"),
        ALONE(contexts_are_replicated, "TENON_FAKE_GPUS=2"),
        ALONE(a_context_that_cannot_be_made, "TENON_FAKE_GPUS=2"),
        ANYWHERE(modes_reach_replicas, "TENON_FAKE_GPUS=3"),
        ALONE(freezing, "TENON_FAKE_GPUS=2"),
        ANYWHERE(results_of_other_kinds, "TENON_FAKE_GPUS=3"),
        ANYWHERE(is_a_module, "TENON_FAKE_GPUS=3"),
        ALONE(refusals, "TENON_FAKE_GPUS=3"),
        ALONE(one_device_id, "TENON_FAKE_GPUS=2"),
    };
    return alone_main(tests, sizeof tests / sizeof *tests, argc, argv);
}
