/* A training step on a GPU, counted and compared: what crosses between host and device, what is allocated, how often the
 * host waits; and the losses beside those of the CPU. Runs on fake GPUs and on real ones. */
#include "check.h"
#include <math.h>
#include <stdlib.h>

enum { BATCH = 100, STEPS = 50 };

typedef struct run {
    tn_device device;
    tn_module *net;
    tn_optimizer *opt;
    tn_tensor *x, *y;
} run;

/* Made on the CPU from one seed, then moved: every run begins with the same numbers. */
static void run_begin(run *r, tn_device device)
{
    r->device = device;
    tn_manual_seed(7);
    r->net = tn_nn_sequential(tn_nn_linear(784, 100), tn_nn_relu(), tn_nn_linear(100, 10));
    tn_tensor *x = MADE(tn_rand(TN_SHAPE(BATCH, 784))), *y = MADE(tn_randint(0, 10, TN_SHAPE(BATCH)));
    r->x = MADE(tn_to(x, .device = device));
    r->y = MADE(tn_to(y, .device = device));
    assert_non_null(tn_module_to(r->net, device));
    r->opt = tn_adamw(r->net, 1e-3);
    assert_non_null(r->opt);
}

static tn_tensor *run_step(run *r)
{
    tn_tensor *loss = MADE(tn_cross_entropy(tn_forward(r->net, r->x), r->y));
    tn_optimizer_zero_grad(r->opt);
    OK(tn_backward(loss));
    OK(tn_optimizer_step(r->opt));
    return loss;
}

static tn_device gpu(void)
{
    return TN_CUDA(tn_cuda_device_count() - 1); /* the last one: nothing may rest on being cuda:0 */
}

static void losses_are_the_cpus(void **state)
{
    (void)state;
    double losses[2][STEPS];
    for (int k = 0; k < 2; k++) {
        run r;
        tn_scope *s = tn_scope_open();
        run_begin(&r, k ? gpu() : TN_CPU);
        for (int i = 0; i < STEPS; i++) {
            tn_scope *step = tn_scope_open();
            losses[k][i] = tn_item(run_step(&r));
            tn_scope_close(step);
        }
        tn_optimizer_free(r.opt);
        tn_scope_close(s);
    }
    double worst = 0;
    for (int i = 0; i < STEPS; i++)
        worst = fmax(worst, fabs(losses[0][i] - losses[1][i]));
    printf("count: %d steps: losses differ from the CPU's by %.1e at most\n", STEPS, worst);
    assert_true(worst <= 1e-4);
    assert_true(losses[1][STEPS - 1] < losses[1][0] - 0.5); /* and it learns */
    assert_int_equal(tn_live_tensors(), 0);
}

/* After the third step: no copy but the loss, no allocation, no wait but for the loss, at most 40 launches. */
static void a_step_is_lean(void **state)
{
    (void)state;
    enum { REPORT = 10, MEASURED = 40 };
    run r;
    tn_scope *s = tn_scope_open();
    run_begin(&r, gpu());
    for (int i = 0; i < 3; i++) {
        tn_scope *step = tn_scope_open();
        run_step(&r);
        tn_scope_close(step);
    }
    OK(tn_synchronize(r.device));
    tn_reset_transfer_stats(r.device);
    int64_t allocations = tn_memory_stats(r.device).allocations;
    for (int i = 0; i < MEASURED; i++) {
        tn_scope *step = tn_scope_open();
        tn_tensor *loss = run_step(&r);
        if (i % REPORT == REPORT - 1)
            assert_true(isfinite(tn_item(loss)));
        tn_scope_close(step);
    }
    tn_transfer_statistics t = tn_transfer_stats(r.device);
    int64_t down = t.download_pinned.copies + t.download_pageable.copies,
            up = t.upload_pinned.copies + t.upload_pageable.copies;
    printf("count: MNIST step: %.1f launches, %.2f copies down, %.2f up, %.2f waits, %.2f allocations\n",
           (double)t.launches / MEASURED, (double)down / MEASURED, (double)up / MEASURED,
           (double)t.synchronizations / MEASURED,
           (double)(tn_memory_stats(r.device).allocations - allocations) / MEASURED);
    assert_int_equal(down, MEASURED / REPORT);
    assert_int_equal(t.download_pinned.bytes + t.download_pageable.bytes, 4 * MEASURED / REPORT);
    assert_int_equal(up, 0);
    assert_int_equal(t.peer_in.copies + t.peer_out.copies, 0);
    assert_int_equal(t.synchronizations, MEASURED / REPORT);
    if (!getenv("TENON_NO_CACHE")) /* with it each request is the driver's */
        assert_int_equal(tn_memory_stats(r.device).allocations, allocations);
    assert_true(t.launches <= 40 * MEASURED);
    tn_optimizer_free(r.opt);
    tn_scope_close(s);
    assert_int_equal(tn_live_tensors(), 0);
}

/* The other devices took no part. */
static void others_are_untouched(void **state)
{
    (void)state;
    for (int32_t i = 0; i + 1 < tn_cuda_device_count(); i++)
        assert_int_equal(tn_memory_stats(TN_CUDA(i)).allocations, 0);
}

int main(void)
{
    if (!tn_cuda_is_available()) {
        printf("FAILED: no GPU, not even a fake one\n");
        return 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(losses_are_the_cpus),
        cmocka_unit_test(a_step_is_lean),
        cmocka_unit_test(others_are_untouched),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
