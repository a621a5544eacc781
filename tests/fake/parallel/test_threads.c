/* Threads of the user's: several that evaluate with one DataParallel at once, several that train one each on the same devices,
 * pieces and reports from all sides. Fit for ThreadSanitizer. */
#include "fake/parallel/helpers.h"
#include <pthread.h>

enum { THREADS = 4, ROUNDS = 12 };

typedef struct worker {
    tn_module *dp;
    tn_team *team;
    kit_maker make;
    tn_tensor *x, *y, *want; /* on the CPU; only read */
    uint64_t seed;
    bool own_streams;
    pthread_barrier_t *start;
    bool ok;
    char said[512];
} worker;

/* Streams of its own for the thread, if it is to have some. */
static bool dress(const worker *w, tn_stream **s)
{
    for (int32_t i = 0; w->own_streams && i < tn_cuda_device_count(); i++) {
        tn_stream *home = tn_cuda_default_stream(TN_CUDA(i));
        s[i] = tn_cuda_stream_new(TN_CUDA(i), 0);
        bool ok = home && s[i] && tn_stream_wait_stream(s[i], home) == TN_OK && tn_cuda_set_stream(s[i]) == TN_OK;
        tn_stream_release(home);
        if (!ok)
            return false;
    }
    return true;
}

/* The host waits: what the thread's streams did is done. */
static bool undress(const worker *w, tn_stream **s, bool ok)
{
    for (int32_t i = 0; w->own_streams && i < tn_cuda_device_count(); i++) {
        tn_stream *home = tn_cuda_default_stream(TN_CUDA(i));
        ok &= s[i] && tn_stream_synchronize(s[i]) == TN_OK && tn_cuda_set_stream(home) == TN_OK;
        tn_stream_release(home);
        tn_stream_release(s[i]);
    }
    return ok;
}

static void *work_with(worker *w, bool (*round)(worker *w, int i))
{
    tn_stream *s[KIT_GPUS] = {NULL};
    bool ok = dress(w, s);
    pthread_barrier_wait(w->start);
    for (int i = 0; i < ROUNDS && ok; i++) {
        tn_scope *scope = tn_scope_open();
        ok = round(w, i);
        tn_scope_close(scope);
    }
    w->ok = undress(w, s, ok);
    snprintf(w->said, sizeof w->said, "%s", tn_error_message());
    return NULL;
}

static void run_all(worker *w, int n, void *(*body)(void *))
{
    pthread_t t[THREADS];
    pthread_barrier_t start;
    pthread_barrier_init(&start, NULL, (unsigned)n);
    for (int32_t i = 0; i < tn_cuda_device_count(); i++)
        OK(tn_synchronize(TN_CUDA(i)));
    for (int i = 0; i < n; i++) {
        w[i].start = &start;
        assert_int_equal(pthread_create(&t[i], NULL, body, &w[i]), 0);
    }
    for (int i = 0; i < n; i++)
        assert_int_equal(pthread_join(t[i], NULL), 0);
    pthread_barrier_destroy(&start);
    for (int i = 0; i < n; i++)
        if (!w[i].ok) {
            print_error("thread %d: %s\n", i, w[i].said);
            fail();
        }
}

static bool near_enough(tn_tensor *a, tn_tensor *b)
{
    return a && b && tn_allclose(tn_cpu(tn_detach(a)), b, .rtol = TN_SCALAR(1e-5), .atol = TN_SCALAR(1e-5));
}

/* ---- one DataParallel, evaluated by all ---- */

static bool evaluate(worker *w, int i)
{
    bool was = tn_set_grad_enabled(i % 3 == 1); /* each thread for itself */
    tn_tensor *y = tn_forward(w->dp, w->x);
    bool ok = near_enough(y, w->want) && tn_tensor_requires_grad(y) == (i % 3 == 1);
    tn_set_grad_enabled(was);
    return ok;
}

static void *evaluates(void *arg)
{
    return work_with(arg, evaluate);
}

static void all_evaluate(kit_maker make, bool own_streams)
{
    worker w[THREADS] = {{0}};
    tn_scope *scope = tn_scope_open();
    tn_module *dp = kit_over((size_t)tn_cuda_device_count(), make()), *near = BUILT(make());
    tn_module_eval(dp);
    for (int i = 0; i < THREADS; i++) {
        w[i] = (worker){.dp = dp, .x = kit_rows(5 + i), .own_streams = own_streams};
        bool was = tn_set_grad_enabled(false);
        w[i].want = MADE(tn_forward(near, w[i].x));
        tn_set_grad_enabled(was);
    }
    run_all(w, THREADS, evaluates);
    kit_end(scope);
}

static void one_for_all(void **state)
{
    (void)state;
    static const kit_maker makers[] = {kit_sequential, kit_user, kit_held};
    for (int m = 0; m < 3; m++)
        for (int own = 0; own < 2; own++)
            all_evaluate(makers[m], own);
    assert_int_equal(atomic_load(&kit_parts_made), atomic_load(&kit_parts_gone));
}

/* ---- each trains its own ---- */

static bool train_a_step(worker *w, int i)
{
    (void)i;
    tn_module_zero_grad(w->dp);
    tn_tensor *loss = kit_loss(w->dp, w->x, w->y), *g;
    if (!loss || tn_backward(loss) != TN_OK)
        return false;
    tn_tensor *p[KIT_MOST];
    size_t n = tn_module_parameters(w->dp, p, KIT_MOST);
    g = n ? tn_tensor_grad(p[0]) : NULL;
    return g && near_enough(g, w->want);
}

static void *trains(void *arg)
{
    return work_with(arg, train_a_step);
}

static void each_its_own(void **state)
{
    (void)state;
    static const kit_maker makers[] = {kit_sequential, kit_user, kit_shared, kit_held};
    for (int own = 0; own < 2; own++) {
        worker w[THREADS] = {{0}};
        tn_scope *scope = tn_scope_open();
        for (int i = 0; i < THREADS; i++) {
            w[i] = (worker){.make = makers[i], .x = kit_rows(5 + i), .y = kit_classes(5 + i), .own_streams = own};
            w[i].want = kit_reference(makers[i], w[i].x, w[i].y).grad[0];
            w[i].dp = kit_over((size_t)tn_cuda_device_count(), makers[i]());
        }
        run_all(w, THREADS, trains);
        kit_end(scope);
    }
}

/* ---- one team, steps and reports of all ---- */

static bool use_the_team(worker *w, int i)
{
    tn_parallel_report rows[KIT_GPUS];
    char text[256];
    tn_tensor *xs[KIT_GPUS], *copies[2 * KIT_GPUS];
    tn_team_step *step = tn_team_step_new(w->team);
    size_t k = 0;
    bool ok =
        step && tn_parallel_scatter(w->x, tn_team_step_devices(step), xs, &k, .step = step) == TN_OK &&
        tn_parallel_broadcast(TN_TENSORS(w->want, w->y), tn_team_step_devices(step), copies, .step = step) == TN_OK;
    tn_tensor *back =
        ok ? tn_parallel_gather(((tn_tensors){xs, k}), TN_CUDA(i % tn_cuda_device_count()), .step = step) : NULL;
    ok = back && near_enough(back, w->x);
    for (size_t d = 1; d < tn_team_step_devices(step).n && ok; d++)
        ok = tn_equal(tn_cpu(tn_detach(copies[2 * d])), tn_cpu(tn_detach(w->want))) &&
             tn_equal(tn_cpu(copies[2 * d + 1]), tn_cpu(w->y));
    tn_team_step_release(step);
    return ok &&
           (i % 4 ||
            (tn_team_report(w->team, rows, KIT_GPUS) > 0 && tn_team_explain(w->team, text, sizeof text) > 0)) &&
           tn_team_devices(w->team, NULL, 0) == (size_t)tn_cuda_device_count();
}

static void *uses_the_team(void *arg)
{
    return work_with(arg, use_the_team);
}

static void one_team(void **state)
{
    (void)state;
    worker w[THREADS] = {{0}};
    tn_scope *scope = tn_scope_open();
    tn_team *team = tn_team_new(kit_all());
    for (int i = 0; i < THREADS; i++)
        w[i] = (worker){.team = team,
                        .x = kit_rows(5 + i),
                        .y = MADE(tn_to(kit_classes(3 + i), .device = TN_CUDA(0))),
                        .want = MADE(tn_full(TN_SHAPE(50), (double)i, .device = TN_CUDA(0), .requires_grad = true)),
                        .own_streams = i % 2};
    run_all(w, THREADS, uses_the_team);
    tn_team_release(team);
    kit_end(scope);
}

/* A forward on one thread, its backward on another. */
static void *walks_back(void *arg)
{
    worker *w = arg;
    pthread_barrier_wait(w->start);
    w->ok = tn_backward(w->y) == TN_OK;
    snprintf(w->said, sizeof w->said, "%s", tn_error_message());
    return NULL;
}

static void backward_on_another_thread(void **state)
{
    (void)state;
    tn_scope *scope = tn_scope_open();
    tn_module *dp = kit_over((size_t)tn_cuda_device_count(), kit_user());
    for (int i = 1; i <= 5; i++) {
        tn_tensor *x = kit_rows(4 + i), *y = kit_classes(4 + i);
        kit_outcome want = kit_reference(kit_user, x, y), got;
        worker w = {.y = MADE(kit_loss(dp, x, y))};
        run_all(&w, 1, walks_back);
        got.loss = w.y;
        kit_gradients(dp, &got);
        SAME(got, want, 1e-5, "walked back on another thread");
        tn_module_zero_grad(dp);
    }
    kit_end(scope);
}

int main(int argc, char **argv)
{
    static const alone tests[] = {
        ANYWHERE(one_for_all, "TENON_FAKE_GPUS=4"),
        ANYWHERE(each_its_own, "TENON_FAKE_GPUS=4"),
        ANYWHERE(one_team, "TENON_FAKE_GPUS=4"),
        ANYWHERE(backward_on_another_thread, "TENON_FAKE_GPUS=4"),
    };
    return alone_main(tests, sizeof tests / sizeof *tests, argc, argv);
}
