/* A long random life of one DataParallel beside the same network on the CPU: steps, evaluations, parameters that change in every
 * way there is, streams, graphs that wait, failures, devices that are lost and reset. Whatever came before, each output and
 * each gradient is the CPU's. The seed of a failure is printed; TENON_TEST_SEED runs that one alone. */
#include "fake/parallel/helpers.h"

enum { LIFE = 60, LIVES = 6 };

typedef struct life {
    uint64_t seed;
    tn_module *near, *dp, *net;
    tn_tensor *p[KIT_MOST], *q[KIT_MOST]; /* near's and net's parameters */
    size_t n;
    tn_stream *own[KIT_GPUS], *home[KIT_GPUS];
    bool on_own;
} life;

static uint32_t chance(life *l, uint32_t n)
{
    l->seed = l->seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(l->seed >> 33) % n;
}

static tn_tensor *some_rows(life *l)
{
    return kit_rows(1 + chance(l, 12));
}

static void list_parameters(life *l)
{
    l->n = tn_module_parameters(l->near, l->p, KIT_MOST);
    assert_int_equal(tn_module_parameters(l->net, l->q, KIT_MOST), l->n);
}

static void same_gradients(life *l)
{
    kit_outcome got = {0}, want = {0};
    kit_gradients(l->net, &got);
    kit_gradients(l->near, &want);
    SAME(got, want, 1e-4, "a random step");
}

static void clear(life *l)
{
    tn_module_zero_grad(l->near);
    tn_module_zero_grad(l->net);
}

/* ---- what happens ---- */

/* Gradients, and what an optimiser makes of them. */
static void a_step(life *l)
{
    tn_tensor *x = some_rows(l), *y = MADE(tn_randint(0, KIT_OUT, TN_SHAPE(tn_tensor_size(x, 0))));
    bool twice = chance(l, 4) == 0;
    tn_tensor *a = MADE(kit_loss(l->near, x, y)), *b = MADE(kit_loss(l->dp, x, y));
    if (!tn_tensor_requires_grad(a))
        return;
    if (twice) {
        OK(tn_backward(a, .retain_graph = true));
        OK(tn_backward(b, .retain_graph = true));
    }
    OK(tn_backward(a));
    OK(tn_backward(b));
    same_gradients(l);
    bool was = tn_set_grad_enabled(false);
    for (size_t i = 0; i < l->n; i++)
        if (tn_tensor_grad(l->p[i])) {
            MADE(tn_sub_(l->p[i], tn_mul(tn_tensor_grad(l->p[i]), 0.1)));
            MADE(tn_sub_(l->q[i], tn_mul(tn_tensor_grad(l->q[i]), 0.1)));
        }
    tn_set_grad_enabled(was);
    clear(l);
}

static void two_graphs(life *l)
{
    tn_tensor *x[2] = {some_rows(l), some_rows(l)}, *a[2], *b[2];
    for (int i = 0; i < 2; i++) {
        a[i] = MADE(tn_sum(tn_square(tn_forward(l->near, x[i]))));
        b[i] = MADE(tn_sum(tn_square(tn_forward(l->dp, x[i]))));
    }
    if (!tn_tensor_requires_grad(a[0]))
        return;
    for (int i = 1; i >= (int)chance(l, 2); i--) { /* one may never be walked */
        OK(tn_backward(a[i]));
        OK(tn_backward(b[i]));
    }
    same_gradients(l);
    clear(l);
}

static void an_evaluation(life *l)
{
    tn_tensor *x = some_rows(l), *want = MADE(tn_forward(l->near, x));
    bool grad = tn_set_grad_enabled(false), inference = tn_set_inference_mode(chance(l, 2));
    tn_tensor *got = MADE(tn_forward(l->dp, chance(l, 2) ? x : tn_to(x, .device = TN_CUDA(0))));
    tn_set_inference_mode(inference);
    tn_set_grad_enabled(grad);
    CLOSE_TO(got, want, 1e-4);
}

static void a_parameter_changes(life *l)
{
    size_t i = chance(l, (uint32_t)l->n);
    bool was = tn_set_grad_enabled(false);
    tn_tensor *value = MADE(tn_mul(tn_randn_like(values(l->p[i])), 0.5)), *far = tn_to(value, .device = TN_CUDA(0));
    switch (chance(l, 4)) {
    case 0:
        MADE(tn_copy_(l->p[i], value));
        MADE(tn_copy_(l->q[i], value));
        break;
    case 1:
        OK(tn_tensor_set_data(l->p[i], value));
        OK(tn_tensor_set_data(l->q[i], far));
        break;
    case 2:
        MADE(tn_mul_(tn_narrow(l->p[i], 0, 0, 1), 0.5));
        MADE(tn_mul_(tn_narrow(l->q[i], 0, 0, 1), 0.5));
        break;
    default: {
        bool wants = tn_tensor_requires_grad(l->p[i]);
        MADE(tn_requires_grad_(l->p[i], !wants));
        MADE(tn_requires_grad_(l->q[i], !wants));
    }
    }
    tn_set_grad_enabled(was);
}

/* Another tensor under the old name. */
static void a_parameter_is_replaced(life *l)
{
    tn_tensor *value = MADE(tn_randn(TN_SHAPE(KIT_HIDDEN)));
    MADE(tn_module_add_parameter(l->near, "b", value));
    MADE(tn_module_add_parameter(l->net, "b", tn_to(values(value), .device = TN_CUDA(0), .copy = true)));
    list_parameters(l);
}

static void a_failure(life *l)
{
    assert_null(tn_forward(l->dp, tn_ones(TN_SHAPE(1 + chance(l, 9), KIT_IN + 1))));
    assert_int_equal(tn_error_code(), TN_EINVAL);
    tn_error_clear();
}

static void a_reset(life *l)
{
    int32_t i = 1 + (int32_t)chance(l, (uint32_t)tn_cuda_device_count() - 1);
    if (l->on_own)
        return; /* its streams would be void */
    if (chance(l, 2)) {
        char fault[32];
        snprintf(fault, sizeof fault, "lost@1:%d", i);
        tn__cu.fake_set_faults(fault);
        tn_tensor *t = tn_ones(TN_SHAPE(4), .device = TN_CUDA(i));
        assert_true(!t || tn_synchronize(TN_CUDA(i)) != TN_OK);
        tn_error_clear();
        tn__cu.fake_set_faults("");
        a_step(l);
        an_evaluation(l);
    }
    OK(tn_cuda_reset(TN_CUDA(i)));
    for (int32_t d = 1; d < tn_cuda_device_count(); d++) { /* one of the reset device's is void */
        tn_stream_release(l->own[d]);
        tn_stream_release(l->home[d]);
        l->own[d] = tn_cuda_stream_new(TN_CUDA(d), 0);
        l->home[d] = tn_cuda_default_stream(TN_CUDA(d));
        assert_true(l->own[d] && l->home[d]);
    }
}

static void other_streams(life *l)
{
    l->on_own = !l->on_own;
    for (int32_t d = 0; d < tn_cuda_device_count(); d++) {
        tn_stream *to = l->on_own ? l->own[d] : l->home[d], *from = l->on_own ? l->home[d] : l->own[d];
        OK(tn_stream_wait_stream(to, from));
        OK(tn_cuda_set_stream(to));
    }
    OK(tn_cuda_set_device(0));
}

/* ---- a life ---- */

static void live(kit_maker make, uint64_t seed)
{
    static void (*const events[])(life * l) = {
        a_step,        a_step,    a_step,  a_step,        two_graphs,          an_evaluation,
        an_evaluation, a_failure, a_reset, other_streams, a_parameter_changes, a_parameter_changes};
    enum { EVENTS = sizeof events / sizeof *events };
    tn_scope *scope = tn_scope_open();
    life l = {.seed = seed, .near = BUILT(make())};
    l.dp = kit_over((size_t)tn_cuda_device_count(), make());
    l.net = tn_module_child(l.dp, "module");
    list_parameters(&l);
    for (int32_t d = 0; d < tn_cuda_device_count(); d++) {
        l.own[d] = tn_cuda_stream_new(TN_CUDA(d), 0);
        l.home[d] = tn_cuda_default_stream(TN_CUDA(d));
    }
    for (int i = 0; i < LIFE; i++) {
        tn_scope *inner = tn_scope_open();
        if (make == kit_user && chance(&l, 12) == 0)
            a_parameter_is_replaced(&l);
        events[chance(&l, EVENTS)](&l);
        tn_scope_close(inner);
    }
    if (l.on_own)
        other_streams(&l);
    for (int32_t d = 0; d < tn_cuda_device_count(); d++) {
        tn_stream_release(l.own[d]);
        tn_stream_release(l.home[d]);
    }
    kit_end(scope);
}

static void lives(void **state)
{
    (void)state;
    static const kit_maker makers[] = {kit_sequential, kit_user, kit_shared};
    const char *only = getenv("TENON_TEST_SEED");
    for (uint64_t s = only ? strtoull(only, NULL, 10) : 1; s <= (only ? strtoull(only, NULL, 10) : LIVES); s++) {
        print_message("seed %d\n", (int)s);
        live(makers[s % 3], s * 7919);
    }
}

int main(int argc, char **argv)
{
    static const alone tests[] = {
        {"lives_on_2", lives, false, {"TENON_FAKE_GPUS=2"}},
        {"lives_on_4", lives, false, {"TENON_FAKE_GPUS=4"}},
    };
    return alone_main(tests, sizeof tests / sizeof *tests, argc, argv);
}
