/* What a step over several GPUs costs: bytes that cross, memory, tensors, waits of the host; and what tn_team_report and
 * tn_team_explain say of it. All of it follows from the shapes. */
#include "fake/parallel/helpers.h"

enum { IN = 50, WIDE = 40, OUT = 10, PARAMETERS = WIDE * IN + WIDE + OUT * WIDE + OUT, BYTES = 4 * PARAMETERS };

static tn_module *perceptron(void)
{
    tn_manual_seed(3);
    return tn_nn_sequential(tn_nn_linear(IN, WIDE), tn_nn_relu(), tn_nn_linear(WIDE, OUT));
}

static tn_tensor *rows_on(int64_t rows, tn_device d)
{
    return MADE(tn_to(tn_randn(TN_SHAPE(rows, IN)), .device = d));
}

typedef struct tally {
    int64_t in, out, up, down, waits; /* bytes; times */
} tally;

static tally since(int32_t device)
{
    tn_transfer_statistics s = tn_transfer_stats(TN_CUDA(device));
    tn_reset_transfer_stats(TN_CUDA(device));
    return (tally){s.peer_in.bytes, s.peer_out.bytes, s.upload_pageable.bytes + s.upload_pinned.bytes,
                   s.download_pageable.bytes + s.download_pinned.bytes, s.synchronizations};
}

static tally since_all(void)
{
    tally sum = {0, 0, 0, 0, 0};
    for (int32_t i = 0; i < tn_cuda_device_count(); i++) {
        tally t = since(i);
        sum = (tally){sum.in + t.in, sum.out + t.out, sum.up + t.up, sum.down + t.down, sum.waits + t.waits};
    }
    return sum;
}

static void train_step(tn_module *dp, tn_optimizer *opt, tn_tensor *x, tn_tensor *y)
{
    tn_scope *scope = tn_scope_open();
    tn_tensor *loss = MADE(tn_cross_entropy(tn_forward(dp, x), y));
    tn_optimizer_zero_grad(opt);
    OK(tn_backward(loss));
    OK(tn_optimizer_step(opt));
    tn_scope_close(scope);
}

/* ---- what crosses ---- */

static void a_training_step(void **state)
{
    (void)state;
    const int64_t n = tn_cuda_device_count(), rows = 4 * n + 1, first = (rows + n - 1) / n, away = rows - first;
    tn_scope *scope = tn_scope_open();
    tn_module *dp = kit_over((size_t)n, perceptron());
    tn_optimizer *opt = tn_sgd(dp, 0.1, .momentum = 0.9);
    tn_tensor *x = rows_on(rows, TN_CUDA(0)),
              *y = MADE(tn_zeros(TN_SHAPE(rows), .dtype = TN_I64, .device = TN_CUDA(0)));
    for (int i = 0; i < 5; i++) {
        (void)since_all();
        train_step(dp, opt, x, y);
        if (n == 2) { /* each way once */
            tally one = since(1), zero = since(0);
            assert_int_equal(one.in, away * IN * 4 + BYTES + away * OUT * 4);
            assert_int_equal(one.out, away * OUT * 4 + BYTES);
            assert_int_equal(zero.in, one.out);
            assert_int_equal(zero.out, one.in);
            assert_int_equal(one.up + one.down + zero.up + zero.down, 0);
            if (i) /* in the first step the link between two devices is tried */
                assert_int_equal(one.waits + zero.waits, 0);
            continue;
        }
        tally t =
            since_all(); /* inputs, outputs and their gradients; parameters down and gradients up: once a replica */
        assert_int_equal(t.in, away * (IN + 2 * OUT) * 4 + (n - 1) * 2 * BYTES);
        assert_int_equal(t.in, t.out);
        assert_int_equal(t.up + t.down, 0);
        if (i)
            assert_int_equal(t.waits, 0);
    }
    tn_optimizer_free(opt);
    kit_end(scope);
}

/* Without recording parameters cross once, and again only when they were written to. */
static void evaluation(void **state)
{
    (void)state;
    const int64_t n = tn_cuda_device_count(), rows = 4 * n, away = rows - 4;
    tn_scope *scope = tn_scope_open();
    tn_module *dp = kit_over((size_t)n, perceptron());
    tn_tensor *x = rows_on(rows, TN_CUDA(0));
    tn_module_eval(dp);
    bool was = tn_set_grad_enabled(false);
    for (int i = 0; i < 6; i++) {
        tn_scope *inner = tn_scope_open();
        (void)since_all();
        if (i == 4)
            MADE(tn_mul_(tn_module_parameter(dp, "module.2.bias"), 2));
        MADE(tn_forward(dp, x));
        int64_t parameters = i == 0 ? BYTES : i == 4 ? 4 * OUT : 0;
        tally t = since_all();
        assert_int_equal(t.in, away * (IN + OUT) * 4 + (n - 1) * parameters);
        assert_int_equal(t.up + t.down + (i ? t.waits : 0), 0); /* at first the links are tried */
        tn_scope_close(inner);
    }
    tn_set_grad_enabled(was);
    kit_end(scope);
}

/* Frozen parameters do not cross again in training, and have no gradients to bring back. */
static void frozen_ones_stay(void **state)
{
    (void)state;
    const int64_t n = tn_cuda_device_count(), rows = 2 * n, away = rows - 2, head = 4 * (OUT * WIDE + OUT);
    tn_scope *scope = tn_scope_open();
    tn_module *dp = kit_over((size_t)n, perceptron());
    BUILT(tn_module_requires_grad_(tn_module_nth_child(tn_module_child(dp, "module"), 0), false));
    tn_tensor *p[] = {tn_module_parameter(dp, "module.2.weight"), tn_module_parameter(dp, "module.2.bias")};
    tn_optimizer *opt = tn_sgd(((tn_tensors){p, 2}), 0.1);
    tn_tensor *x = rows_on(rows, TN_CUDA(0)),
              *y = MADE(tn_zeros(TN_SHAPE(rows), .dtype = TN_I64, .device = TN_CUDA(0)));
    for (int i = 0; i < 3; i++) {
        (void)since_all();
        train_step(dp, opt, x, y);
        int64_t down = i == 0 ? BYTES : head;
        assert_int_equal(since_all().in, away * (IN + 2 * OUT) * 4 + (n - 1) * (down + head));
    }
    tn_optimizer_free(opt);
    kit_end(scope);
}

/* ---- what is allocated ---- */

typedef struct held {
    int64_t allocations, pinned, tensors;
    uint64_t streams, events;
} held;

static held held_now(void)
{
    held h = {0, tn_pinned_memory_stats().allocations, tn_live_tensors(), 0, 0};
    for (int32_t i = 0; i < tn_cuda_device_count(); i++) {
        uint64_t n[16] = {0};
        h.allocations += tn_memory_stats(TN_CUDA(i)).allocations;
        if (tn__cu.fake_counters)
            tn__cu.fake_counters(i, n);
        h.streams += n[TN__FAKE_STREAMS];
        h.events += n[TN__FAKE_EVENTS];
    }
    return h;
}

static void steps_are_lean(kit_maker make, bool on_the_cpu)
{
    enum { STEPS = 200 };
    tn_scope *scope = tn_scope_open();
    tn_module *dp = kit_over((size_t)tn_cuda_device_count(), make());
    tn_optimizer *opt = tn_adamw(dp, 1e-3);
    tn_tensor *x = kit_rows(9), *y = MADE(tn_to(kit_classes(9), .device = TN_CUDA(0)));
    x = on_the_cpu ? x : MADE(tn_to(x, .device = TN_CUDA(0)));
    held before = {0}, now;
    for (int i = 0; i < STEPS; i++) {
        train_step(dp, opt, x, y);
        tn_optimizer_zero_grad(opt);
        if (i == 2)
            before = held_now();
        if (i == 20) { /* events are pooled: how many there are depends on how far the devices are behind */
            now = held_now();
            before.streams = now.streams;
            before.events = now.events;
        }
    }
    now = held_now();
    print_message("count: %d steps: %d driver allocations, %d pinned, %d tensors, %d streams, %d events more\n", STEPS,
                  (int)(now.allocations - before.allocations), (int)(now.pinned - before.pinned),
                  (int)(now.tensors - before.tensors), (int)(now.streams - before.streams),
                  (int)(now.events - before.events));
    assert_int_equal(now.allocations, before.allocations);
    assert_int_equal(now.pinned, before.pinned);
    assert_int_equal(now.tensors, before.tensors);
    assert_int_equal(now.streams, before.streams);
    assert_true(now.events < before.events + STEPS);
    tn_optimizer_free(opt);
    kit_end(scope);
    CLEAN();
}

static void nothing_grows(void **state)
{
    (void)state;
    steps_are_lean(kit_sequential, false);
    steps_are_lean(kit_sequential, true);
    steps_are_lean(kit_user, false);
}

/* ---- the report ---- */

static bool a_time(double ms)
{
    return ms >= 0 || ms == -1;
}

static size_t report_of(tn_module *dp, tn_parallel_report *r)
{
    size_t n = tn_team_report(tn_data_parallel_team(dp), r, KIT_GPUS);
    for (size_t i = 0; i < n; i++) {
        assert_true(tn_device_equal(r[i].device, TN_CUDA((int32_t)i)));
        assert_true(a_time(r[i].scatter_ms) && a_time(r[i].broadcast_ms) && a_time(r[i].forward_ms));
        assert_true(a_time(r[i].gather_ms) && a_time(r[i].backward_ms) && a_time(r[i].reduce_ms));
    }
    return n;
}

static void before_the_first_step(void **state)
{
    (void)state;
    tn_scope *scope = tn_scope_open();
    tn_parallel_report r[KIT_GPUS];
    tn_module *dp = kit_over(2, perceptron());
    char text[64] = "x";
    assert_int_equal(report_of(dp, r), 0);
    assert_true(tn_data_parallel_explain(dp, text, sizeof text) >= 0);
    assert_int_equal(tn_error_code(), TN_OK);
    tn_team *team = tn_team_new(kit_gpus(2));
    assert_int_equal(tn_team_report(team, r, KIT_GPUS), 0);
    tn_team_release(team);
    assert_true(tn_data_parallel_explain(BUILT(tn_nn_relu()), text, sizeof text) < 0);
    assert_int_equal(tn_error_code(), TN_ETYPE);
    tn_error_clear();
    kit_end(scope);
}

/* 5 samples on 4 devices, from the CPU, nothing recorded: 2, 2, 1, none. */
static void report_of_a_forward(void **state)
{
    (void)state;
    static const int64_t samples[] = {2, 2, 1, 0};
    tn_scope *scope = tn_scope_open();
    tn_parallel_report r[KIT_GPUS];
    tn_module *dp = kit_over(4, perceptron());
    bool was = tn_set_grad_enabled(false);
    for (int again = 0; again < 2; again++) {
        MADE(tn_forward(dp, rows_on(5, TN_CPU)));
        assert_int_equal(report_of(dp, r), 4);
        for (int i = 0; i < 4; i++) {
            assert_int_equal(r[i].samples, samples[i]);
            assert_int_equal(r[i].scatter_bytes, samples[i] * IN * 4);
            assert_int_equal(r[i].broadcast_bytes, (i == 1 || i == 2) && !again ? BYTES : 0);
            assert_int_equal(r[i].gather_bytes, i == 0 ? 0 : samples[i] * OUT * 4);
            assert_int_equal(r[i].reduce_bytes, 0);
            assert_true(r[i].backward_ms == -1 && r[i].reduce_ms == -1);
            assert_int_equal(r[i].forward_ms >= 0, samples[i] > 0);
        }
    }
    tn_set_grad_enabled(was);
    kit_end(scope);
}

static void report_of_a_training_step(void **state)
{
    (void)state;
    for (size_t n = 2; n <= 4; n++) {
        tn_scope *scope = tn_scope_open();
        tn_parallel_report r[KIT_GPUS];
        tn_module *dp = kit_over(n, perceptron());
        tn_optimizer *opt = tn_sgd(dp, 0.1);
        tn_tensor *x = rows_on(16, TN_CUDA(0)),
                  *y = MADE(tn_zeros(TN_SHAPE(16), .dtype = TN_I64, .device = TN_CUDA(0)));
        int64_t each = (16 + (int64_t)n - 1) / (int64_t)n, up = 0, samples = 0;
        for (int i = 0; i < 3; i++)
            train_step(dp, opt, x, y);
        assert_int_equal(report_of(dp, r), n);
        for (size_t i = 0; i < n; i++) {
            int64_t here = each < 16 - samples ? each : 16 - samples;
            assert_int_equal(r[i].samples, here);
            assert_int_equal(r[i].scatter_bytes, i ? here * IN * 4 : 0);
            assert_int_equal(r[i].broadcast_bytes, i ? BYTES : 0);
            assert_true(r[i].forward_ms >= 0 && r[i].backward_ms >= 0);
            samples += r[i].samples;
            up += r[i].reduce_bytes;
        }
        assert_int_equal(samples, 16);
        assert_int_equal(up, (int64_t)(n - 1) * BYTES);
        if (n == 2)
            assert_int_equal(r[1].reduce_bytes, BYTES);
        assert_int_equal(tn_team_report(tn_data_parallel_team(dp), r, 1), n); /* no more rows than there is room for */
        tn_optimizer_free(opt);
        kit_end(scope);
    }
}

/* Every device is named, and what bounds the step; the length is snprintf's. */
static void explains(void **state)
{
    (void)state;
    tn_scope *scope = tn_scope_open();
    tn_module *dp = kit_over(3, perceptron());
    tn_tensor *x = rows_on(16, TN_CUDA(0));
    char text[8192], cut[40];
    OK(tn_backward(tn_sum(tn_forward(dp, x))));
    int64_t n = tn_data_parallel_explain(dp, text, sizeof text);
    assert_true(n > 0 && n < (int64_t)sizeof text);
    assert_int_equal(strlen(text), n);
    print_message("%s\n", text);
    for (int32_t i = 0; i < 3; i++)
        assert_non_null(strstr(text, tn_device_text(TN_CUDA(i)).s));
    assert_non_null(strstr(text, "bound"));
    memset(cut, 'x', sizeof cut);
    (void)tn_data_parallel_explain(dp, cut, 20);
    assert_int_equal(strlen(cut), 19);
    assert_int_equal(memcmp(cut, text, 10), 0);
    assert_int_equal(cut[20], 'x');
    assert_true(tn_team_explain(tn_data_parallel_team(dp), NULL, 0) > 0);
    kit_end(scope);
}

/* Of the pieces, where they are given a step. */
static void report_of_pieces(void **state)
{
    (void)state;
    tn_scope *scope = tn_scope_open();
    tn_team *team = tn_team_new(kit_gpus(2));
    tn_team_step *step = tn_team_step_new(team);
    tn_tensor *x = rows_on(6, TN_CPU), *xs[2], *out[2];
    tn_module *net = BUILT(tn_module_to(perceptron(), TN_CUDA(0))), *r[2];
    tn_parallel_report rows[4];
    size_t n;
    OK(tn_parallel_scatter(x, tn_team_step_devices(step), xs, &n, .step = step));
    OK(tn_parallel_replicate(net, tn_team_step_devices(step), r, .step = step));
    OK(tn_parallel_apply(r, ((tn_tensors){xs, 2}), out, .step = step));
    MADE(tn_parallel_gather(((tn_tensors){out, 2}), TN_CUDA(0), .step = step));
    assert_int_equal(tn_team_report(team, rows, 4), 2);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(rows[i].samples, 3);
        assert_int_equal(rows[i].scatter_bytes, 3 * IN * 4);
        assert_int_equal(rows[i].broadcast_bytes, i ? BYTES : 0);
        assert_int_equal(rows[i].gather_bytes, i ? 3 * OUT * 4 : 0);
    }
    tn_team_step_release(step);
    tn_team_release(team);
    kit_end(scope);
}

int main(int argc, char **argv)
{
    static const alone tests[] = {
        {"a_training_step_on_2", a_training_step, false, {"TENON_FAKE_GPUS=2"}},
        {"a_training_step_on_3", a_training_step, false, {"TENON_FAKE_GPUS=3"}},
        {"a_training_step_on_4", a_training_step, false, {"TENON_FAKE_GPUS=4"}},
        {"evaluation_on_2", evaluation, false, {"TENON_FAKE_GPUS=2"}},
        {"evaluation_on_4", evaluation, false, {"TENON_FAKE_GPUS=4"}},
        ALONE(frozen_ones_stay, "TENON_FAKE_GPUS=3"),
        ALONE(nothing_grows, "TENON_FAKE_GPUS=3"),
        ALONE(before_the_first_step, "TENON_FAKE_GPUS=2"),
        ALONE(report_of_a_forward, "TENON_FAKE_GPUS=4"),
        ALONE(report_of_a_training_step, "TENON_FAKE_GPUS=4"),
        ALONE(explains, "TENON_FAKE_GPUS=3"),
        ALONE(report_of_pieces, "TENON_FAKE_GPUS=2"),
    };
    return alone_main(tests, sizeof tests / sizeof *tests, argc, argv);
}
