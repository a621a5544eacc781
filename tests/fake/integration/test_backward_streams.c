/* Backward over several streams: nodes run on the stream of their forward, what crosses waits, the caller's stream waits at
 * the end, and the thread's current streams come back. The fake GPUs refuse every access that is not ordered, so that a call
 * that succeeds was ordered. In builds with TENON_TEST_WAITS each wait of autograd/waits.def is dropped in turn: then one
 * of the same scenes must be refused. */
#include "fake/own_process_gpu.h"
#include "backend/stream.h"
#include <pthread.h>
#include <tenon/cuda.h>

/* ---- a stage: a leaf, two streams beside the default one ---- */

typedef struct stage {
    tn_scope *scope;
    tn_device device;
    tn_stream *home, *a, *b;
    tn_tensor *x, *seed;
} stage;

static bool begin(stage *s, tn_device device)
{
    *s = (stage){.scope = tn_scope_open(), .device = device};
    s->home = tn_cuda_current_stream(device);
    s->a = tn_cuda_stream_new(device, 0);
    s->b = tn_cuda_stream_new(device, 0);
    s->x = tn_tensor_from(TN_LIST(1.0, 2.0, 3.0, 4.0), .device = device, .requires_grad = true);
    s->seed = tn_tensor_from(TN_LIST(1.0, 1.0, 2.0, 2.0), .device = device);
    return s->home && s->a && s->b && s->x && s->seed;
}

/* x * k on another stream, in order with the one that is current before and after. */
static tn_tensor *times_on(stage *s, tn_stream *on, tn_tensor *x, double k)
{
    tn_stream *before = tn_cuda_current_stream(s->device);
    if (tn_stream_wait_stream(on, before))
        return NULL;
    tn_stream_guard g = tn_stream_enter(on);
    tn_tensor *y = tn_mul(x, k);
    tn_stream_leave(g);
    bool ok = y && tn_stream_wait_stream(before, on) == TN_OK;
    tn_stream_release(before);
    return ok ? y : NULL;
}

static bool is(tn_tensor *t, double a, double b, double c, double d)
{
    return t && tn_equal(tn_cpu(t), tn_tensor_from(TN_LIST(a, b, c, d)));
}

/* Is the caller's stream current again, and everything given back? */
static bool end(stage *s, bool ok)
{
    tn_stream *now = tn_cuda_current_stream(s->device);
    ok &= now == s->home;
    tn_stream_release(now);
    tn_stream_release(s->home);
    tn_stream_release(s->a);
    tn_stream_release(s->b);
    tn_scope_close(s->scope);
    return ok;
}

/* ---- scenes: true if every call succeeded and the gradients are right ---- */

/* A chain over both streams. */
static bool chain(void)
{
    stage s;
    bool ok = begin(&s, TN_CUDA(0));
    tn_tensor *y = ok ? times_on(&s, s.b, times_on(&s, s.a, s.x, 2), 3) : NULL;
    ok = y && tn_backward(y, .gradient = s.seed) == TN_OK && is(tn_tensor_grad(s.x), 6, 6, 12, 12);
    return end(&s, ok);
}

/* One tensor used on two streams: its node's gradients are added up. */
static bool sum(void)
{
    stage s;
    bool ok = begin(&s, TN_CUDA(0));
    tn_tensor *m = tn_mul(s.x, 5);
    tn_tensor *y = ok ? tn_add(times_on(&s, s.a, m, 2), times_on(&s, s.b, m, 3)) : NULL;
    ok = y && tn_backward(y, .gradient = s.seed) == TN_OK && is(tn_tensor_grad(s.x), 25, 25, 50, 50);
    return end(&s, ok);
}

/* A leaf used on two streams, twice over: its gradient grows in place. */
static bool leaf(void)
{
    stage s;
    bool ok = begin(&s, TN_CUDA(0));
    for (int i = 1; i <= 2 && ok; i++) {
        tn_tensor *y = tn_add(times_on(&s, s.a, s.x, 2), times_on(&s, s.b, s.x, 3));
        ok = y && tn_backward(y, .gradient = s.seed) == TN_OK && is(tn_tensor_grad(s.x), 5 * i, 5 * i, 10 * i, 10 * i);
    }
    return end(&s, ok);
}

/* Results of tn_grad, and retained gradients, are ready for the caller too. */
static bool results(void)
{
    stage s;
    bool ok = begin(&s, TN_CUDA(0));
    tn_tensor *m = ok ? times_on(&s, s.a, s.x, 2) : NULL, *y = m ? times_on(&s, s.b, m, 3) : NULL, *grads[2];
    ok = y && tn_grad(TN_TENSORS(y), TN_TENSORS(s.x, m), grads, .grad_outputs = TN_TENSORS(s.seed),
                      .retain_graph = true) == TN_OK;
    ok = ok && is(grads[0], 6, 6, 12, 12) && is(grads[1], 3, 3, 6, 6) && tn_retain_grad(m) == TN_OK &&
         tn_backward(y, .gradient = s.seed, .create_graph = true) == TN_OK && is(tn_tensor_grad(m), 3, 3, 6, 6);
    ok = ok && is(tn_tensor_grad(s.x), 6, 6, 12, 12);
    if (ok)
        ok = tn_tensor_set_grad(s.x, TN_NONE) == TN_OK && tn_tensor_set_grad(m, TN_NONE) == TN_OK;
    return end(&s, ok);
}

/* The caller is on a stream of its own; the forward was on the default one. */
static bool other_caller(void)
{
    stage s;
    bool ok = begin(&s, TN_CUDA(0));
    tn_tensor *y = tn_exp(tn_mul(s.x, 0));
    ok = ok && y && tn_stream_wait_stream(s.a, s.home) == TN_OK;
    tn_stream_guard g = tn_stream_enter(s.a);
    ok = ok && tn_backward(tn_mul(y, 2), .gradient = s.seed) == TN_OK && is(tn_tensor_grad(s.x), 0, 0, 0, 0);
    tn_stream *now = tn_cuda_current_stream(s.device);
    ok = ok && now == s.a;
    tn_stream_release(now);
    tn_stream_leave(g);
    return end(&s, ok && tn_stream_wait_stream(s.home, s.a) == TN_OK);
}

static tn_status doubled(void *ctx, tn_tensor *t, tn_tensor **replaced)
{
    (void)ctx;
    *replaced = tn_mul(t, 2);
    return *replaced ? TN_OK : tn_error_code();
}

static tn_status scaled(tn_node *self, void *ctx, tn_tensor *const *g, size_t n_out, tn_tensor **grad, size_t n)
{
    (void)self;
    (void)ctx;
    (void)n_out;
    (void)n;
    grad[0] = tn_add(g[0], tn_mul(g[1], 10));
    return grad[0] ? TN_OK : tn_error_code();
}

/* An own function of two outputs, on the stream that is current. */
static tn_tensor *own_function(tn_tensor *x)
{
    static const tn_function_class cls = {.struct_size = sizeof cls, .name = "Own", .backward = scaled};
    bool was = tn_set_grad_enabled(false);
    tn_tensor *a = tn_clone(x), *b = tn_mul(x, 10), *y[2];
    tn_set_grad_enabled(was);
    return tn_function_apply(&cls, NULL, TN_TENSORS(x), TN_TENSORS(a, b), y) ? NULL : y[1];
}

/* Reads the leaf's gradient on the stream of the caller. */
static tn_status sum_up(void *ctx, tn_tensor *leaf, tn_tensor **replaced)
{
    (void)replaced;
    tn_tensor *sum = tn_sum(tn_tensor_grad(leaf));
    *(double *)ctx = sum ? tn_item(sum) : 0;
    return sum ? TN_OK : tn_error_code();
}

/* Hooks and own functions: on the stream of the forward where there is one, else on the caller's, which changes between two
 * passes. */
static bool callbacks(void)
{
    stage s;
    double total = 0;
    bool ok = begin(&s, TN_CUDA(0));
    tn_tensor *m = ok ? times_on(&s, s.a, s.x, 2) : NULL;
    ok = m && tn_stream_wait_stream(s.b, s.home) == TN_OK;
    tn_stream_guard g = tn_stream_enter(s.b);
    tn_tensor *f = m ? own_function(m) : NULL;
    tn_stream_leave(g);
    ok = ok && f && tn_stream_wait_stream(s.home, s.b) == TN_OK;
    tn_tensor *y = ok ? tn_add(f, times_on(&s, s.a, s.x, 3)) : NULL;
    ok = y && tn_tensor_add_hook(m, doubled, NULL, NULL, NULL) == TN_OK &&
         tn_tensor_add_hook(s.x, doubled, NULL, NULL, NULL) == TN_OK &&
         tn_tensor_add_accumulate_hook(s.x, sum_up, &total, NULL, NULL) == TN_OK;
    ok = ok && tn_backward(y, .gradient = s.seed, .retain_graph = true) == TN_OK && total == 6 * 86 &&
         is(tn_tensor_grad(s.x), 86, 86, 172, 172) && tn_stream_wait_stream(s.b, s.home) == TN_OK;
    g = tn_stream_enter(s.b);
    ok = ok && tn_backward(y, .gradient = s.seed) == TN_OK && total == 12 * 86;
    tn_stream_leave(g);
    return end(&s, ok && tn_stream_wait_stream(s.home, s.b) == TN_OK && is(tn_tensor_grad(s.x), 172, 172, 344, 344));
}

/* Two devices, a stream of its own on each, and the host. */
static bool devices(void)
{
    stage s, t;
    const bool first = begin(&s, TN_CUDA(0)), second = begin(&t, TN_CUDA(tn_cuda_device_count() > 1 ? 1 : 0));
    bool ok = first && second;
    tn_tensor *w = tn_tensor_from(TN_LIST(2.0, 2.0, 2.0, 2.0), .requires_grad = true);
    tn_tensor *far = ok ? tn_to(times_on(&s, s.a, s.x, 2), .device = t.device) : NULL;
    tn_tensor *y = far ? times_on(&t, t.b, tn_mul(far, tn_to(w, .device = t.device)), 3) : NULL;
    tn_tensor *back = y ? tn_add(times_on(&s, s.b, tn_to(y, .device = s.device), 1), tn_mul(s.x, 0)) : NULL;
    ok = back && tn_backward(back, .gradient = s.seed) == TN_OK && is(tn_tensor_grad(s.x), 12, 12, 24, 24) &&
         is(tn_tensor_grad(w), 6, 12, 36, 48) && tn_tensor_device(tn_tensor_grad(w)).type == TN_DEVICE_CPU;
    bool rest = end(&t, ok);
    return end(&s, rest);
}

/* Memory that is released while another stream still reads it is not given to anybody before that is done: every operation
 * says which streams use its operands. */
static bool reuse(void)
{
    stage s;
    bool ok = begin(&s, TN_CUDA(0));
    for (int i = 0; i < 10 && ok; i++) {
        tn_scope *inner = tn_scope_open();
        tn_tensor *m = tn_mul(s.x, 2), *late = NULL, *next;
        ok = m && tn_stream_wait_stream(s.a, s.home) == TN_OK;
        tn_stream_guard g = tn_stream_enter(s.a);
        bool was = tn_set_grad_enabled(false);
        late = ok ? tn_mul(m, 5) : NULL; /* the default stream does not wait for it */
        tn_set_grad_enabled(was);
        tn_stream_leave(g);
        tn_keep(late);
        tn_scope_close(inner); /* m goes */
        next = tn_mul(s.seed, 7);
        ok = late && is(next, 7, 7, 14, 14) && tn_stream_wait_stream(s.home, s.a) == TN_OK && is(late, 10, 20, 30, 40);
        tn_release(late);
    }
    return end(&s, ok);
}

typedef struct worker {
    stage *s;
    tn_tensor *y;
    bool ok;
} worker;

static void *walk_back(void *arg)
{
    worker *w = arg;
    tn_stream *own = tn_cuda_stream_new(w->s->device, 0);
    w->ok = own && tn_stream_wait_stream(own, w->s->home) == TN_OK && tn_cuda_set_stream(own) == TN_OK;
    for (int i = 0; i < 10 && w->ok; i++)
        w->ok = tn_backward(w->y, .gradient = w->s->seed, .retain_graph = true) == TN_OK;
    w->ok = w->ok && tn_stream_synchronize(own) == TN_OK;
    tn_stream_release(own);
    return NULL;
}

/* Threads, each with a stream of its own, that reach one leaf. */
static bool threads(void)
{
    stage s;
    bool ok = begin(&s, TN_CUDA(0));
    worker w[2] = {{&s, ok ? times_on(&s, s.a, s.x, 2) : NULL, false},
                   {&s, ok ? times_on(&s, s.b, s.x, 3) : NULL, false}};
    pthread_t t[2];
    ok = w[0].y && w[1].y;
    for (int i = 0; i < 2 && ok; i++)
        pthread_create(&t[i], NULL, walk_back, &w[i]);
    for (int i = 0; i < 2 && ok; i++)
        pthread_join(t[i], NULL);
    ok = ok && w[0].ok && w[1].ok && tn_synchronize(s.device) == TN_OK && is(tn_tensor_grad(s.x), 50, 50, 100, 100);
    return end(&s, ok);
}

static bool (*const scenes[])(void) = {chain, sum, leaf, results, other_caller, callbacks, devices, reuse, threads};
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
    assert_int_equal(tn_live_tensors(), 0);
}

/* A walk that fails on another stream leaves the caller's current. */
static void errors_bring_streams_back(void **state)
{
    (void)state;
    stage s;
    assert_true(begin(&s, TN_CUDA(0)));
    tn_tensor *m = MADE(times_on(&s, s.a, s.x, 2)), *y;
    OK(tn_stream_wait_stream(s.b, s.home));
    tn_stream_guard g = tn_stream_enter(s.b);
    y = MADE(tn_mul(tn_mul(m, m), m));
    tn_stream_leave(g);
    OK(tn_stream_wait_stream(s.home, s.b));
    MADE(tn_add_(m, 1)); /* what the derivative needs is overwritten */
    FAILS_STATUS(tn_backward(y, .gradient = s.seed), TN_EGRAD, "modified by an inplace operation");
    assert_true(end(&s, true));
    assert_int_equal(tn_live_tensors(), 0);
}

/* Nothing to do with streams: none is made, nobody waits. */
static void one_stream_waits_for_nothing(void **state)
{
    (void)state;
    tn_scope *scope = tn_scope_open();
    tn_tensor *x = tn_ones(TN_SHAPE(4), .device = TN_CUDA(0), .requires_grad = true), *y = tn_mul(tn_exp(x), x);
    tn_tensor *seed = tn_ones(TN_SHAPE(4), .device = TN_CUDA(0));
    tn_reset_transfer_stats(TN_CUDA(0));
    OK(tn_backward(y, .gradient = seed));
    tn_transfer_statistics s = tn_transfer_stats(TN_CUDA(0));
    assert_int_equal(s.synchronizations, 0);
    assert_int_equal(s.upload_pageable.copies + s.download_pageable.copies + s.upload_pinned.copies, 0);
    tn_scope_close(scope);
}

#ifdef TENON_TEST_WAITS
/* Without the wait that DROP names, one scene must be refused, with a report of what is not ordered. */
static void dropped(void **state)
{
    (void)state;
    const char *name = getenv("DROP");
    tn__drop_wait(name);
    for (int i = 0; i < SCENES; i++) {
        char report[1024] = "";
        const bool ok = scenes[i] == threads || scenes[i](); /* threads come at random */
        tn__cu.fake_report(report, sizeof report);
        if (ok && !*report)
            continue;
        const char *said = *report ? report : tn_error_message();
        print_message("count: without %s scene %d is refused: %s\n", name, i, said);
        assert_true(tn__waits_left_out() > 0);
        assert_non_null(strstr(said, "nothing orders"));
        return;
    }
    print_error("without the wait %s (left out %d times) nothing is refused\n", name, (int)tn__waits_left_out());
    fail();
}
#define WAIT(name, why) {"without " #name, dropped, false, {"TENON_FAKE_GPUS=2", "DROP=" #name}},
#endif

int main(int argc, char **argv)
{
    static const alone tests[] = {
        ANYWHERE(every_scene, "TENON_FAKE_GPUS=2"),
        ANYWHERE(errors_bring_streams_back, "TENON_FAKE_GPUS=1"),
        ANYWHERE(one_stream_waits_for_nothing, "TENON_FAKE_GPUS=1"),
#ifdef TENON_TEST_WAITS
#include "autograd/waits.def"
#endif
    };
    return alone_main(tests, sizeof tests / sizeof *tests, argc, argv);
}
