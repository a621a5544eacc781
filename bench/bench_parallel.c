/* DataParallel beside the module alone: a training step and an evaluation step of two perceptrons, on 1, 2 and 4 GPUs.
 *
 *     bench_parallel              seconds a step, as the other programs
 *     bench_parallel --counts     a table: what the host computes a step, what crosses, launches, waits, driver allocations
 *
 * On fake GPUs a step's seconds are the simulation's; what the calling thread computes (its processor time) is Tenon's own
 * work and the fake driver's queueing. Rows of more GPUs than there are fail: TENON_FAKE_GPUS=4, or
 * TENON_VISIBLE_DEVICES=0,0,0,0 on a machine with one. */
#include "bench.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST = 4, STEPS = 50, WARM = 5 };

typedef struct model {
    const char *name;
    int64_t in, hidden, batch;
    bool adam;
} model;

static const model perceptron = {"64-128-10, batch 32", 64, 128, 32, false},
                   digits = {"784-500-10, batch 128", 784, 500, 128, true};

/* What is measured: a model on so many GPUs, through DataParallel; 0: without it, on cuda:0. */
typedef struct setting {
    const model *m;
    bool train;
    int gpus;
} setting;

static setting at;
static tn_module *plain, *net;
static tn_optimizer *opt;
static tn_tensor *x, *y;

static void finish(void)
{
    for (int i = 0; i < (at.gpus ? at.gpus : 1); i++)
        if (tn_synchronize(TN_CUDA(i)))
            bench_check(NULL);
}

static void begin(const setting *s)
{
    static const tn_device gpu[MOST] = {
        {TN_DEVICE_CUDA, 0}, {TN_DEVICE_CUDA, 1}, {TN_DEVICE_CUDA, 2}, {TN_DEVICE_CUDA, 3}};
    tn_scope *scope = tn_scope_open();
    at = *s;
    tn_manual_seed(1);
    plain = tn_module_keep(tn_module_to(
        tn_nn_sequential(tn_nn_linear(s->m->in, s->m->hidden), tn_nn_relu(), tn_nn_linear(s->m->hidden, 10)), gpu[0]));
    net = s->gpus ? tn_module_keep(tn_nn_data_parallel(plain, .device_ids = {gpu, (size_t)s->gpus}))
                  : tn_module_retain(plain);
    CHECK(net);
    opt = s->m->adam ? tn_adamw(plain, 1e-3) : tn_sgd(plain, 0.1);
    x = tn_keep(tn_rand(TN_SHAPE(s->m->batch, s->m->in), .device = gpu[0]));
    y = tn_keep(tn_randint(0, 10, TN_SHAPE(s->m->batch), .device = gpu[0]));
    CHECK(opt && x ? y : NULL);
    if (!s->train)
        tn_module_eval(net);
    tn_set_grad_enabled(s->train);
    tn_scope_close(scope);
}

static void end(void)
{
    tn_set_grad_enabled(true);
    tn_optimizer_free(opt);
    tn_module_release(net);
    tn_module_release(plain);
    tn_release(x);
    tn_release(y);
}

static void run(void)
{
    tn_scope *s = tn_scope_open();
    tn_tensor *scores = tn_forward(net, x);
    if (at.train) {
        tn_tensor *loss = tn_cross_entropy(scores, y);
        tn_optimizer_zero_grad(opt);
        CHECK(loss && !tn_backward(loss) && !tn_optimizer_step(opt) ? loss : NULL);
    } else
        CHECK(tn_argmax(scores, .dim = 1));
    tn_scope_close(s);
}

/* ---- counts ---- */

typedef struct counts {
    int64_t crossed, launches, waits, segments; /* crossed: bytes from one GPU to another */
} counts;

static counts count(void)
{
    counts c = {0};
    for (int i = 0; i < (at.gpus ? at.gpus : 1); i++) {
        tn_transfer_statistics t = tn_transfer_stats(TN_CUDA(i));
        tn_memory_statistics m = tn_memory_stats(TN_CUDA(i));
        c.crossed += t.peer_in.bytes;
        c.launches += t.launches;
        c.waits += t.synchronizations;
        c.segments += m.segments + m.releases;
    }
    c.segments += tn_pinned_memory_stats().allocations;
    return c;
}

static double seconds(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int by_value(const void *a, const void *b)
{
    double p = *(const double *)a, q = *(const double *)b;
    return p < q ? -1 : p > q;
}

/* Processor time of the calling thread for a step, where nothing disturbs it: the tenth percentile. Wakeups of the threads
 * that stand in for GPUs cost more the busier the machine is. */
static double host_seconds(double *wall)
{
    double host[STEPS], all[STEPS];
    for (int i = 0; i < STEPS; i++) {
        double start = seconds(CLOCK_MONOTONIC), cpu = seconds(CLOCK_THREAD_CPUTIME_ID);
        run();
        host[i] = seconds(CLOCK_THREAD_CPUTIME_ID) - cpu;
        finish();
        all[i] = seconds(CLOCK_MONOTONIC) - start;
    }
    qsort(host, STEPS, sizeof *host, by_value);
    qsort(all, STEPS, sizeof *all, by_value);
    *wall = all[STEPS / 2];
    return host[STEPS / 10];
}

/* What must cross for a replica that is not on the main GPU: its part of the batch and of the outputs; in training also the
 * parameters, their gradients, and the gradient of its outputs. */
static int64_t formula(const setting *s)
{
    const model *m = s->m;
    int64_t parameters = m->in * m->hidden + m->hidden + m->hidden * 10 + 10, outputs = m->batch / s->gpus * 10;
    int64_t elements = m->batch / s->gpus * m->in + outputs + (s->train ? 2 * parameters + outputs : 0);
    return elements * (int64_t)sizeof(float);
}

/* One row. alone: what the host computes in a step of the module alone; 0: this is that. Returns it for this one. */
static double count_row(const setting *s, double alone)
{
    double wall;
    begin(s);
    for (int i = 0; i < WARM; i++)
        run();
    finish();
    counts before = count();
    for (int i = 0; i < STEPS; i++)
        run();
    finish();
    counts after = count();
    double host = host_seconds(&wall);
    printf("| %s | %s | %d%s | %.1f us | %.1fx | %.0f us | ", s->m->name, s->train ? "training" : "evaluation",
           s->gpus ? s->gpus : 1, s->gpus ? "" : ", alone", host * 1e6, alone > 0 ? host / alone : 1, wall * 1e6);
    if (s->gpus > 1)
        printf("%.1f | %lld", (double)(after.crossed - before.crossed) / STEPS / (s->gpus - 1), (long long)formula(s));
    else
        printf("- | -");
    printf(" | %.1f | %.2f | %lld |\n", (double)(after.launches - before.launches) / STEPS,
           (double)(after.waits - before.waits) / STEPS, (long long)(after.segments - before.segments));
    fflush(stdout);
    end();
    return host;
}

static int count_all(void)
{
    const model *models[] = {&perceptron, &digits};
    static const int gpus[] = {0, 1, 2, 4};
    int there = tn_cuda_device_count();
    printf("| model | step | GPUs | host, a step | of alone | step | bytes across, a replica | by the formula | "
           "launches | "
           "waits | driver allocations in %d steps |\n|---|---|---|---|---|---|---|---|---|---|---|\n",
           STEPS);
    for (int m = 0; m < 2; m++)
        for (int train = 1; train >= 0; train--) {
            double alone = 0;
            for (int i = 0; i < 4; i++) {
                setting s = {models[m], train != 0, gpus[i]};
                if (s.gpus > there)
                    continue;
                double host = count_row(&s, alone);
                alone = i ? alone : host;
            }
        }
    return 0;
}

#define BEGIN(model_, gpus_) \
    static void begin_##model_##_train_##gpus_(void) \
    { \
        begin(&(setting){&model_, true, gpus_}); \
    } \
    static void begin_##model_##_eval_##gpus_(void) \
    { \
        begin(&(setting){&model_, false, gpus_}); \
    }
BEGIN(perceptron, 0)
BEGIN(perceptron, 1)
BEGIN(perceptron, 2)
BEGIN(perceptron, 4)
BEGIN(digits, 0)
BEGIN(digits, 1)
BEGIN(digits, 2)
BEGIN(digits, 4)
#define ROW(model_, kind_, gpus_) \
    { \
        "parallel_" #model_ "_" #kind_ "_" #gpus_, 0, NULL, begin_##model_##_##kind_##_##gpus_, run, end \
    }
#define ROWS(model_, kind_) ROW(model_, kind_, 0), ROW(model_, kind_, 1), ROW(model_, kind_, 2), ROW(model_, kind_, 4)

int main(int argc, char **argv)
{
    static const bench list[] = {
        ROWS(perceptron, train),
        ROWS(perceptron, eval),
        ROWS(digits, train),
        ROWS(digits, eval),
    };
    if (argc > 1 && !strcmp(argv[1], "--counts"))
        return count_all();
    bench_finish = finish;
    return bench_main(argc, argv, list, (int)(sizeof list / sizeof *list));
}
