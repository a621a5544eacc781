/* Steps over several GPUs on streams: the default ones, the caller's own, another one for the backward pass than for the
 * forward. The fake GPUs refuse every access that is not ordered, so a call that succeeds was ordered. In builds with
 * TENON_TEST_WAITS each wait of src/parallel is dropped in turn: then one of the same scenes must be refused. */
#include "fake/parallel/helpers.h"

/* ---- a stage: three sets of streams, one for each device ---- */

typedef tn_stream *streams[KIT_GPUS];

typedef struct stage {
    tn_scope *scope;
    int32_t n;
    streams home, a, b;
    tn_tensor *x, *y;
} stage;

static bool begin(stage *s)
{
    *s = (stage){.scope = tn_scope_open(), .n = tn_cuda_device_count()};
    for (int32_t i = 0; i < s->n; i++) {
        s->home[i] = tn_cuda_current_stream(TN_CUDA(i));
        s->a[i] = tn_cuda_stream_new(TN_CUDA(i), 0);
        s->b[i] = tn_cuda_stream_new(TN_CUDA(i), 0);
        if (!s->home[i] || !s->a[i] || !s->b[i])
            return false;
    }
    s->x = tn_to(kit_rows(9), .device = TN_CUDA(0));
    s->y = tn_to(kit_classes(9), .device = TN_CUDA(0));
    return s->x && s->y;
}

/* What is on those streams from now on comes after what is on the others. */
static bool after(const stage *s, const streams later, const streams sooner)
{
    bool ok = true;
    for (int32_t i = 0; i < s->n; i++)
        ok &= tn_stream_wait_stream(later[i], sooner[i]) == TN_OK;
    return ok;
}

static void enter(const stage *s, const streams on, tn_stream_guard *g)
{
    for (int32_t i = 0; i < s->n; i++)
        g[i] = tn_stream_enter(on[i]);
}

static void leave(const stage *s, const tn_stream_guard *g)
{
    for (int32_t i = s->n; i-- > 0;)
        tn_stream_leave(g[i]);
}

/* Are the caller's streams current again? All is given back. */
static bool end(stage *s, bool ok)
{
    for (int32_t i = 0; i < s->n; i++) {
        tn_stream *now = tn_cuda_current_stream(TN_CUDA(i));
        ok &= now == s->home[i];
        tn_stream_release(now);
        tn_stream_release(s->home[i]);
        tn_stream_release(s->a[i]);
        tn_stream_release(s->b[i]);
    }
    tn_scope_close(s->scope);
    return ok;
}

static tn_module *over_all(tn_module *net)
{
    return net ? tn_nn_data_parallel(tn_module_to(net, TN_CUDA(0)), .device_ids = kit_all()) : NULL;
}

/* All elements equal, the tensor read on the streams that are current. */
static bool all_are(tn_tensor *t, double value)
{
    tn_tensor *near = t ? tn_cpu(tn_detach(t)) : NULL;
    return near && tn_equal(near, tn_full_like(near, value));
}

static bool alike(tn_tensor *a, tn_tensor *b)
{
    return a && b &&
           tn_allclose(tn_cpu(tn_detach(a)), tn_cpu(tn_detach(b)), .rtol = TN_SCALAR(1e-5), .atol = TN_SCALAR(1e-5));
}

/* ---- scenes: true if every call succeeded and the numbers are right ---- */

static bool train(tn_module *net, tn_tensor *x, tn_tensor *y, int steps)
{
    tn_optimizer *opt = tn_sgd(net, 0.1, .momentum = 0.9);
    bool ok = opt != NULL;
    for (int i = 0; i < steps && ok; i++) {
        tn_scope *scope = tn_scope_open();
        tn_optimizer_zero_grad(opt);
        tn_tensor *loss = kit_loss(net, x, y);
        ok = loss && tn_backward(loss) == TN_OK && tn_optimizer_step(opt) == TN_OK;
        tn_scope_close(scope);
    }
    tn_optimizer_free(opt);
    return ok;
}

/* As on the CPU after some steps in which nobody waits. */
static bool trained_alike(stage *s, kit_maker make, tn_module *dp)
{
    tn_module *near = make();
    tn_tensor *p[KIT_MOST], *q[KIT_MOST];
    bool ok = near && train(near, tn_cpu(s->x), tn_cpu(s->y), 4);
    size_t n = ok ? tn_module_parameters(near, p, KIT_MOST) : 0;
    ok = ok && tn_module_parameters(dp, q, KIT_MOST) == n;
    for (size_t i = 0; i < n && ok; i++)
        ok = alike(q[i], p[i]);
    return ok;
}

static bool training(kit_maker make)
{
    stage s;
    bool ok = begin(&s);
    tn_module *dp = ok ? over_all(make()) : NULL;
    ok = dp && train(dp, s.x, s.y, 4) && trained_alike(&s, make, dp);
    return end(&s, ok);
}

static bool plain(void)
{
    return training(kit_sequential);
}

static bool plain_user(void)
{
    return training(kit_user);
}

static bool training_on_own(kit_maker make)
{
    stage s;
    tn_stream_guard g[KIT_GPUS];
    bool ok = begin(&s);
    tn_module *dp = ok ? over_all(make()) : NULL;
    ok = dp && after(&s, s.a, s.home);
    enter(&s, s.a, g);
    ok = ok && train(dp, s.x, s.y, 4) && trained_alike(&s, make, dp);
    leave(&s, g);
    return end(&s, ok && after(&s, s.home, s.a));
}

static bool own_streams(void)
{
    return training_on_own(kit_sequential);
}

static bool own_streams_user(void)
{
    return training_on_own(kit_held);
}

/* Forward on one set, backward from another one, read on a third. */
static bool backward_elsewhere(void)
{
    stage s;
    tn_stream_guard g[KIT_GPUS];
    bool ok = begin(&s);
    tn_module *dp = ok ? over_all(kit_sequential()) : NULL, *near = kit_sequential();
    for (int i = 1; i <= 3 && ok; i++) {
        ok = dp && after(&s, s.a, s.home);
        enter(&s, s.a, g);
        tn_tensor *loss = ok ? kit_loss(dp, s.x, s.y) : NULL;
        leave(&s, g);
        ok = loss && after(&s, s.b, s.a);
        enter(&s, s.b, g);
        ok = ok && tn_backward(loss) == TN_OK;
        leave(&s, g);
        ok = ok && after(&s, s.home, s.b) && tn_backward(kit_loss(near, tn_cpu(s.x), tn_cpu(s.y))) == TN_OK;
        for (int k = 0; k < 3 && ok; k += 2) {
            tn_tensor *w = tn_module_parameter(tn_module_nth_child(tn_module_child(dp, "module"), k), "weight");
            ok = alike(tn_tensor_grad(w), tn_tensor_grad(tn_module_parameter(tn_module_nth_child(near, k), "weight")));
        }
    }
    return end(&s, ok);
}

/* Without recording, on two sets that are not ordered with each other: both only read. */
static bool two_readers(void)
{
    stage s;
    tn_stream_guard g[KIT_GPUS];
    bool ok = begin(&s);
    tn_module *dp = ok ? over_all(kit_sequential()) : NULL;
    tn_tensor *want = ok ? tn_forward(kit_sequential(), tn_cpu(s.x)) : NULL;
    bool was = tn_set_grad_enabled(false);
    ok = dp && want && after(&s, s.a, s.home) && after(&s, s.b, s.home);
    for (int i = 0; i < 3 && ok; i++) {
        enter(&s, s.a, g);
        tn_tensor *first = tn_forward(dp, s.x);
        leave(&s, g);
        enter(&s, s.b, g);
        tn_tensor *second = tn_forward(dp, s.x);
        ok = second && alike(second, want);
        leave(&s, g);
        enter(&s, s.a, g);
        ok = ok && first && alike(first, want);
        leave(&s, g);
        /* all have read: the parameters may change */
        ok = ok && after(&s, s.home, s.a) && after(&s, s.home, s.b) &&
             tn_mul_(tn_module_parameter(dp, "module.0.bias"), 1) && after(&s, s.a, s.home) && after(&s, s.b, s.home);
    }
    tn_set_grad_enabled(was);
    return end(&s, ok);
}

/* The sum of two parameters, whatever the input: their gradients are one tensor. */
static tn_tensor *both_forward(tn_module *self, tn_tensor *x)
{
    (void)x;
    return tn_add(tn_module_parameter(self, "u"), tn_module_parameter(self, "v"));
}

/* A parameter that is used on cuda:1 alone, and one that is used on the others. */
static tn_tensor *apart_forward(tn_module *self, tn_tensor *x)
{
    bool last = tn_tensor_device(x).index == 1;
    tn_tensor *w = tn_module_parameter(self, last ? "u" : "v");
    return tn_mul(tn_exp(tn_mul(w, 0)), tn_select(tn_select(x, 0, 0), 0, 0));
}

static tn_module *of_two(tn_tensor *(*forward)(tn_module *, tn_tensor *), int64_t size)
{
    const tn_module_class cls = {.struct_size = sizeof cls, .name = "Two", .forward = forward};
    tn_module *m = tn_module_new(&cls, NULL);
    tn_module_add_parameter(m, "u", tn_full(TN_SHAPE(size), 2.0));
    tn_module_add_parameter(m, "v", tn_full(TN_SHAPE(size), 3.0));
    return m;
}

/* Of a size that is summed in several chunks; and of a small one. */
static bool sums_of(int64_t size)
{
    stage s;
    bool ok = begin(&s);
    tn_module *dp = ok ? over_all(of_two(both_forward, size)) : NULL;
    const double replicas = (double)kit_chunks(9, (size_t)s.n);
    for (int i = 1; i <= 2 && ok; i++) {
        tn_tensor *out = dp ? tn_forward(dp, s.x) : NULL;
        ok = out && tn_backward(tn_sum(out)) == TN_OK &&
             all_are(tn_tensor_grad(tn_module_parameter(dp, "module.u")), replicas * i) &&
             all_are(tn_tensor_grad(tn_module_parameter(dp, "module.v")), replicas * i);
    }
    return end(&s, ok);
}

static bool shared_gradients(void)
{
    return sums_of(50);
}

static bool large_gradients(void)
{
    return sums_of(2500 * 1000);
}

/* Gradients that only one replica has, the backward pass called from other streams. */
static bool gradients_apart(void)
{
    stage s;
    tn_stream_guard g[KIT_GPUS];
    bool ok = begin(&s);
    tn_module *dp = ok ? over_all(of_two(apart_forward, 8)) : NULL;
    ok = dp && after(&s, s.a, s.home);
    enter(&s, s.a, g);
    tn_tensor *x = ok ? tn_zeros_like(s.x) : NULL, *out = x ? tn_forward(dp, x) : NULL;
    leave(&s, g);
    ok = out && after(&s, s.b, s.a);
    enter(&s, s.b, g);
    ok = ok && tn_backward(tn_sum(out)) == TN_OK;
    leave(&s, g);
    tn_tensor *gu = ok ? tn_tensor_grad(tn_module_parameter(dp, "module.u")) : NULL;
    ok = ok && after(&s, s.home, s.b) && (s.n == 1 ? !gu : all_are(gu, 0)) &&
         all_are(tn_tensor_grad(tn_module_parameter(dp, "module.v")), 0);
    return end(&s, ok);
}

/* Results go before anybody has read them, parameters change at once: memory is reused while devices still work. */
static bool nobody_waits(void)
{
    stage s;
    bool ok = begin(&s);
    tn_module *dp = ok ? over_all(kit_sequential()) : NULL;
    tn_tensor *x = ok ? tn_randn(TN_SHAPE(9, KIT_IN)) : NULL; /* on the CPU: pageable */
    ok = dp && x;
    for (int i = 0; i < 30 && ok; i++) {
        tn_scope *scope = tn_scope_open();
        bool was = tn_set_grad_enabled(i % 3 == 0);
        tn_tensor *out = tn_forward(dp, i % 2 ? x : s.x);
        ok = out != NULL;
        if (i % 6 == 0)
            ok = ok && tn_backward(tn_sum(out)) == TN_OK;
        tn_set_grad_enabled(false);
        ok = ok && tn_mul_(tn_module_parameter(dp, i % 2 ? "module.0.weight" : "module.2.weight"), 1.01);
        tn_set_grad_enabled(was);
        tn_scope_close(scope);
    }
    bool rest = tn_synchronize(TN_CUDA(0)) == TN_OK;
    return end(&s, ok && rest);
}

/* Every replica writes to its buffers in its forward, and copies of them are made in the next step. */
static tn_tensor *busy_forward(tn_module *self, tn_tensor *x)
{
    tn_tensor *seen = tn_module_buffer(self, "seen");
    bool was = tn_set_grad_enabled(false);
    tn_tensor *before = tn_clone(seen);
    bool ok = before && tn_add_(seen, tn_add(tn_mul(tn_mean(x, .dim = 0), 0), 1));
    tn_set_grad_enabled(was);
    return ok ? tn_add(tn_mul(x, tn_module_parameter(self, "u")), before) : NULL;
}

static bool buffers(void)
{
    stage s;
    const tn_module_class cls = {.struct_size = sizeof cls, .name = "Busy", .forward = busy_forward};
    bool ok = begin(&s);
    tn_module *m = tn_module_new(&cls, NULL);
    tn_module_add_parameter(m, "u", tn_zeros(TN_SHAPE(1)));
    tn_module_add_buffer(m, "seen", tn_zeros(TN_SHAPE(KIT_IN)));
    tn_module *dp = ok ? over_all(m) : NULL;
    for (int i = 0; i < 6 && ok; i++) {
        tn_tensor *out = dp ? tn_forward(dp, s.x) : NULL;
        ok = out && all_are(out, i);
        if (i % 2)
            ok = ok && tn_backward(tn_sum(out)) == TN_OK;
    }
    return end(&s, ok && all_are(tn_module_buffer(m, "seen"), 6));
}

/* Scatter, broadcast, sum and gather by themselves, between sets of streams. */
static bool pieces(void)
{
    stage s;
    tn_stream_guard g[KIT_GPUS];
    bool ok = begin(&s);
    tn_tensor *out[KIT_GPUS], *copies[KIT_GPUS], *whole = NULL, *sum = NULL;
    tn_tensor *w = ok ? tn_full(TN_SHAPE(5000), 2.0, .device = TN_CUDA(0), .requires_grad = true) : NULL;
    size_t k = 0;
    ok = w && after(&s, s.a, s.home);
    enter(&s, s.a, g);
    ok = ok && tn_parallel_scatter(s.x, kit_all(), out, &k) == TN_OK &&
         tn_parallel_broadcast(TN_TENSORS(w), kit_gpus(k), copies) == TN_OK;
    if (ok) {
        whole = tn_parallel_gather(((tn_tensors){out, k}), TN_CUDA(s.n - 1));
        sum = tn_parallel_reduce_add(((tn_tensors){copies, k}), TN_CUDA(s.n - 1));
    }
    leave(&s, g);
    ok = whole && sum && after(&s, s.b, s.a);
    enter(&s, s.b, g);
    ok = ok && alike(whole, s.x) && all_are(sum, 2.0 * (double)k) && tn_backward(tn_sum(sum)) == TN_OK;
    leave(&s, g);
    return end(&s, ok && after(&s, s.home, s.b) && all_are(tn_tensor_grad(w), (double)k));
}

/* A gradient of gradients, over streams. */
static bool twice(void)
{
    stage s;
    tn_stream_guard g[KIT_GPUS];
    bool ok = begin(&s);
    tn_module *dp = ok ? over_all(kit_sequential()) : NULL;
    tn_tensor *w = dp ? tn_module_parameter(dp, "module.0.weight") : NULL, *grad[1] = {NULL};
    ok = w && after(&s, s.a, s.home);
    enter(&s, s.a, g);
    tn_tensor *loss = ok ? kit_loss(dp, s.x, s.y) : NULL;
    ok = loss && tn_grad(TN_TENSORS(loss), TN_TENSORS(w), grad, .create_graph = true) == TN_OK;
    leave(&s, g);
    ok = ok && after(&s, s.b, s.a);
    enter(&s, s.b, g);
    ok = ok && tn_backward(tn_sum(tn_square(grad[0]))) == TN_OK;
    leave(&s, g);
    return end(&s, ok && after(&s, s.home, s.b) && tn_cpu(tn_tensor_grad(w)));
}

static bool (*const scenes[])(void) = {plain,
                                       plain_user,
                                       own_streams,
                                       own_streams_user,
                                       backward_elsewhere,
                                       two_readers,
                                       shared_gradients,
                                       gradients_apart,
                                       nobody_waits,
                                       buffers,
                                       pieces,
                                       twice,
                                       large_gradients};
enum { SCENES = sizeof scenes / sizeof *scenes };

/* ---- tests ---- */

static void every_scene(void **state)
{
    (void)state;
    for (int i = 0; i < SCENES; i++)
        if (!scenes[i]()) {
            print_error("scene %d: %s\n", i, tn_error_message());
            fail();
        }
    for (int32_t i = 0; i < tn_cuda_device_count(); i++)
        OK(tn_synchronize(TN_CUDA(i)));
    assert_int_equal(tn_live_tensors(), 0);
    SILENT();
}

/* Without the wait that DROP names, one scene must be refused, with a report. */
#ifdef TENON_TEST_WAITS
static void dropped(void **state)
{
    (void)state;
    const char *name = getenv("DROP");
    tn__drop_wait(name);
    for (int i = 0; i < SCENES; i++) {
        char report[512] = "";
        bool ok = scenes[i]();
        tn__cu.fake_report(report, sizeof report);
        if (ok && !*report)
            continue;
        print_message("count: without %s scene %d is refused: %s\n", name, i, ok ? report : tn_error_message());
        assert_non_null(
            strstr(ok ? report : tn_error_message(), "nothing orders")); /* not refused for another reason */
        assert_true(tn__waits_left_out() > 0);
        return;
    }
    print_error("without the wait %s (left out %d times) nothing is refused\n", name, (int)tn__waits_left_out());
    fail();
}
#define WAIT(name, why) {"without " #name, dropped, false, {"TENON_FAKE_GPUS=3", "DROP=" #name}},
#endif

int main(int argc, char **argv)
{
    static const alone tests[] = {
        {"every_scene_on_1", every_scene, true, {"TENON_FAKE_GPUS=1"}},
        {"every_scene_on_2", every_scene, true, {"TENON_FAKE_GPUS=2"}},
        {"every_scene_on_4", every_scene, true, {"TENON_FAKE_GPUS=4"}},
        {"with_delays", every_scene, false, {"TENON_FAKE_GPUS=3", "TENON_FAKE_GPU_FAULTS=delay=random:11"}},
        {"with_slow_copies", every_scene, false, {"TENON_FAKE_GPUS=3", "TENON_FAKE_GPU_FAULTS=slowcopy=300us"}},
        {"without_links", every_scene, false, {"TENON_FAKE_GPUS=3", "TENON_FAKE_GPU_FAULTS=peer=0-1,peer=0-2"}},
        {"without_a_cache", every_scene, false, {"TENON_FAKE_GPUS=2", "TENON_NO_CACHE=1"}},
#ifdef TENON_TEST_WAITS
#include "parallel/waits.def"
#endif
    };
    return alone_main(tests, sizeof tests / sizeof *tests, argc, argv);
}
