/* What goes wrong on a device: bad indices, launches that fail, a device that is lost; and who goes on after it. */
#include "fake/kernels/own_kernels.h"

enum { N = 1000 };

static tn__storage *memory(tn_device d)
{
    tn__storage *s = tn__gpu_allocate(d, N * sizeof(int32_t));
    check_ok_(s != NULL, "tn__gpu_allocate", __FILE__, __LINE__);
    return s;
}

static void others_go_on(void)
{
    OK(tn_synchronize(TN_CUDA(1)));
    tn__storage *m = memory(TN_CUDA(1));
    OK(kit_set(TN_CUDA(1), kit_function(TN_CUDA(1), "set"), m->data, 3, N, "set"));
    OK(tn_synchronize(TN_CUDA(1)));
    tn__storage_release(m);
    tn_scope *scope = tn_scope_open();
    PRINTS(MADE(tn_add(MADE(tn_ones(TN_SHAPE(2))), 1)), "tensor([2., 2.])");
    tn_scope_close(scope);
}

static void revives(void *function)
{
    OK(tn_cuda_reset(TN_CUDA(0)));
    OK(tn_synchronize(TN_CUDA(0)));
    (void)function;
    tn__storage *m = memory(TN_CUDA(0));
    OK(kit_set(TN_CUDA(0), kit_function(TN_CUDA(0), "set"), m->data, 3, N, "set"));
    OK(tn_synchronize(TN_CUDA(0)));
    tn__storage_release(m);
}

/* A kernel writes where no memory is: heard of at the next wait, with the launches that may have done it. */
static void illegal_address(void **state)
{
    (void)state;
    tn__storage *m = memory(TN_CUDA(0));
    void *set = kit_function(TN_CUDA(0), "set");
    OK(kit_set(TN_CUDA(0), set, m->data, 1, N, "first"));
    OK(tn_synchronize(TN_CUDA(0)));
    OK(kit_set(TN_CUDA(0), set, m->data, 2, N, "second"));
    OK(kit_set(TN_CUDA(0), set, (char *)m->data + (40 << 20), 2, N, "third"));
    FAILS_STATUS(tn_synchronize(TN_CUDA(0)), TN_EDEVICE,
                 "CUDA error: an illegal memory access was encountered\n"
                 "CUDA kernel errors might be asynchronously reported at some other API call.\n"
                 "For debugging consider passing CUDA_LAUNCH_BLOCKING=1\n"
                 "  seen by waiting for the device on cuda:0");
    FAILS_STATUS(tn_synchronize(TN_CUDA(0)), TN_EDEVICE,
                 "  launched and not known to be done: second, third on the default stream\n"
                 "  cuda:0 is out of use since then: tn_cuda_reset(TN_CUDA(0)) revives it, without its tensors; other "
                 "devices and the cpu go on");
    FAILS_STATUS(kit_set(TN_CUDA(0), set, m->data, 2, N, "fourth"), TN_EDEVICE, "an illegal memory access");
    FAILS(tn__gpu_allocate(TN_CUDA(0), 100), TN_EDEVICE, "an illegal memory access");
    others_go_on();
    tn__storage_release(m); /* a dead device's memory is let go without a word */
    revives(set);
}

static void unfinished_launches_of_every_stream(void **state)
{
    (void)state;
    tn__storage *m = memory(TN_CUDA(0));
    void *set = kit_function(TN_CUDA(0), "set");
    tn_stream *s = tn_cuda_stream_new(TN_CUDA(0), 0);
    for (int i = 0; i < 20; i++)
        OK(kit_set(TN_CUDA(0), set, m->data, i, N, "many"));
    OK(tn_stream_wait_stream(s, &tn__gpu_use(TN_CUDA(0))->stream));
    OK(tn_cuda_set_stream(s));
    OK(kit_set(TN_CUDA(0), set, (char *)m->data + (40 << 20), 2, N, "wild"));
    FAILS_STATUS(tn_stream_synchronize(s), TN_EDEVICE, "many, many on the default stream; wild on stream 1");
    FAILS_STATUS(tn_stream_synchronize(s), TN_EDEVICE, "done: ... many, many");
    tn__storage_release(m);
    tn_stream_release(s);
}

static void blocking_launches_name_their_own(void **state)
{
    (void)state;
    tn__storage *m = memory(TN_CUDA(0));
    void *set = kit_function(TN_CUDA(0), "set");
    OK(kit_set(TN_CUDA(0), set, m->data, 1, N, "first"));
    FAILS_STATUS(kit_set(TN_CUDA(0), set, (char *)m->data + (40 << 20), 2, N, "culprit"), TN_EDEVICE,
                 "CUDA error: an illegal memory access was encountered\n  seen by culprit on cuda:0");
    FAILS_STATUS(tn_synchronize(TN_CUDA(0)), TN_EDEVICE, "culprit");
    assert_null(strstr(tn_error_message(), "first"));
    tn__storage_release(m);
    revives(set);
}

static void a_launch_that_is_refused_kills_nothing(void **state)
{
    (void)state;
    tn__storage *m = memory(TN_CUDA(0));
    void *set = kit_function(TN_CUDA(0), "set"), *p = m->data;
    int32_t value = 1;
    int64_t n = N;
    const tn__gpu_arg args[] = {TN__GPU_MEMORY(p), TN__GPU_VALUE(value), TN__GPU_VALUE(n)};
    const tn__gpu_launch l = {
        .device = TN_CUDA(0), .groups = {1}, .local = {4096}, .arg = args, .n_arg = 3, .label = "too_large"};
    FAILS_STATUS(tn__gpu_launch_function(&l, set), TN_EDEVICE, "in too_large on cuda:0");
    OK(kit_set(TN_CUDA(0), set, m->data, 1, N, "set"));
    OK(tn_synchronize(TN_CUDA(0)));
    tn__storage_release(m);
}

static void bad_indices_are_reported_once(void **state)
{
    (void)state;
    void *fault = kit_function(TN_CUDA(0), "fault");
    tn_event *e = tn_event_new(0);
    OK(kit_fault(TN_CUDA(0), fault, TN__OP_gather));
    FAILS_STATUS(tn_synchronize(TN_CUDA(0)), TN_EINDEX,
                 "index 7 is out of bounds for dimension with size 3\n  seen by gather");
    OK(tn_synchronize(TN_CUDA(0)));
    OK(kit_fault(TN_CUDA(0), fault, TN__OP_scatter));
    OK(tn_event_record(e, NULL));
    FAILS_STATUS(tn_event_synchronize(e), TN_EINDEX,
                 "index 7 is out of bounds for dimension with size 3\n  seen by scatter");
    OK(tn_event_synchronize(e));
    OK(kit_fault(TN_CUDA(0), fault, TN__OP__embedding)); /* by its public name */
    FAILS_STATUS(tn_synchronize(TN_CUDA(0)), TN_EINDEX, "\n  seen by embedding on cuda:0");
    tn_event_release(e);
}

/* A tensor whose memory a reset took is refused, by name, for ever; its release gives nothing back twice. */
static void tensors_are_void_after_reset(void **state)
{
    (void)state;
    tn_scope *scope = tn_scope_open();
    tn_tensor *host = MADE(tn_ones(TN_SHAPE(3))), *x = MADE(tn_cuda(host, 0)), *y = MADE(tn_cuda(host, 1));
    tn_tensor *view = MADE(tn_narrow(x, 0, 1, 2));
    PRINTS(MADE(tn_cpu(x)), "tensor([1., 1., 1.])");
    OK(tn_cuda_reset(TN_CUDA(0)));
    FAILS(tn_cpu(x), TN_EDEVICE, "operand 1 is void: tn_cuda_reset took the memory of cuda:0 away");
    FAILS(tn_cpu(view), TN_EDEVICE, "operand 1 is void");
    FAILS(tn_add(x, 1), TN_EDEVICE, "add(float32 [3] on cuda:0; 1): operand 1 is void");
    assert_int_equal((tn_to_string)(x, NULL, 0), -1);
    assert_null(strstr(tn_error_message(), "\n  at ")); /* that was where tn_add is */
    tn_error_clear();
    PRINTS(MADE(tn_cpu(y)), "tensor([1., 1., 1.])");
    PRINTS(MADE(tn_add(host, 1)), "tensor([2., 2., 2.])");
    tn_tensor *again = MADE(tn_cuda(host, 0)); /* the same place, the device's next life */
    PRINTS(MADE(tn_cpu(again)), "tensor([1., 1., 1.])");
    tn_scope_close(scope);
    OK(tn_synchronize(TN_CUDA(0)));
}

/* So are tensors that its context had page-locked, but that they are ordinary ones from then on. */
static void pinned_tensors_are_ordinary_after_reset(void **state)
{
    (void)state;
    tn_scope *scope = tn_scope_open();
    OK(tn_synchronize(TN_CUDA(0)));
    tn_tensor *t = MADE(tn_pin_memory(MADE(tn_ones(TN_SHAPE(3)))));
    assert_true(tn_tensor_is_pinned(t));
    OK(tn_cuda_reset(TN_CUDA(0)));
    PRINTS(t, "tensor([1., 1., 1.])");
    assert_false(tn_tensor_is_pinned(t));
    PRINTS(MADE(tn_cpu(MADE(tn_cuda(t, 0)))), "tensor([1., 1., 1.])");
    assert_int_equal(tn_transfer_stats(TN_CUDA(0)).upload_pinned.copies, 0);
    assert_int_equal(tn_transfer_stats(TN_CUDA(0)).upload_pageable.copies, 1);
    tn_tensor *again = MADE(tn_pin_memory(t));
    assert_true(tn_tensor_is_pinned(again));
    PRINTS(again, "tensor([1., 1., 1.])");
    tn_scope_close(scope);
}

/* ---- faults that were ordered ---- */

static void the_second_launch_fails(void **state)
{
    (void)state;
    tn__storage *m = memory(TN_CUDA(0));
    void *set = kit_function(TN_CUDA(0), "set");
    OK(kit_set(TN_CUDA(0), set, m->data, 1, N, "one"));
    OK(tn_synchronize(TN_CUDA(0)));
    OK(kit_set(TN_CUDA(0), set, m->data, 2, N, "two"));
    FAILS_STATUS(tn_synchronize(TN_CUDA(0)), TN_EDEVICE,
                 "launched and not known to be done: two on the default stream");
    others_go_on();
    tn__storage_release(m);
    revives(set);
}

static void a_lost_device(void **state)
{
    (void)state;
    tn__storage *m = memory(TN_CUDA(0));
    void *set = kit_function(TN_CUDA(0), "set");
    OK(kit_set(TN_CUDA(0), set, m->data, 1, N, "one"));
    tn_status e = tn_synchronize(TN_CUDA(0));
    assert_int_equal(e, TN_EDEVICE);
    print_message("%s\n", tn_error_message());
    tn_error_clear();
    FAILS_STATUS(tn_synchronize(TN_CUDA(0)), TN_EDEVICE, "cuda:0 is out of use since then");
    tn__storage_release(m);
    others_go_on();
}

/* Who waits for an event of a device that failed hears of it, and stays usable: before the failure is known, and after. */
static void an_event_of_a_dead_device(void **state)
{
    (void)state;
    tn__storage *m = memory(TN_CUDA(0));
    void *set = kit_function(TN_CUDA(0), "set");
    tn_stream *other = tn_cuda_stream_new(TN_CUDA(1), 0);
    tn_event *e = tn_stream_record_event(&tn__gpu_slot(TN_CUDA(0))->stream);
    assert_non_null(e);
    OK(kit_set(TN_CUDA(0), set, m->data, 1, N, "one"));
    while (tn__cu.stream_query(NULL) == TN__CU_NOT_READY) /* the launch fails when its turn comes */
        usleep(100);
    for (int i = 0; i < 2; i++)
        FAILS_STATUS(tn_stream_wait_event(other, e), TN_EDEVICE, "cuda:0 is out of use since then");
    OK(tn_stream_synchronize(other));
    others_go_on();
    tn_event_release(e);
    tn_stream_release(other);
    tn__storage_release(m);
    revives(set);
}

static tn__cu_result refuse_reset(tn__cu_device device)
{
    (void)device;
    return TN__CU_ECC_UNCORRECTABLE;
}

static tn__cu_result refuse_context(tn__cu_context *context, tn__cu_device device)
{
    (void)context;
    (void)device;
    return TN__CU_ILLEGAL_ADDRESS;
}

/* A reset that the driver refused leaves the device dead, says so, and can be tried again; of a device that was dead the
 * trial says more than what the driver answered. */
static void a_reset_that_fails(void **state)
{
    (void)state;
    OK(tn_synchronize(TN_CUDA(0)));
    tn__cu_result (*reset)(tn__cu_device) = tn__cu.primary_ctx_reset;
    tn__cu.primary_ctx_reset = refuse_reset;
    FAILS_STATUS(tn_cuda_reset(TN_CUDA(0)), TN_EDEVICE, "in tn_cuda_reset on cuda:0");
    FAILS_STATUS(tn_synchronize(TN_CUDA(0)), TN_EDEVICE, "tn_cuda_reset(TN_CUDA(0)) revives it");
    tn__cu_result (*retain)(tn__cu_context *, tn__cu_device) = tn__cu.primary_ctx_retain;
    tn__cu.primary_ctx_retain = refuse_context;
    for (int i = 0; i < 2; i++)
        FAILS_STATUS(tn_cuda_reset(TN_CUDA(0)), TN_EDEVICE, "this process has to be started again");
    tn__cu.primary_ctx_retain = retain;
    revives(NULL);
    tn__cu.primary_ctx_reset = reset;
    revives(NULL);
}

/* What the driver's reference says of these: "any further CUDA work will return the same error", or the process must end. */
static void failures_that_stay(void **state)
{
    static const tn__cu_result results[] = {214, 220, 226, 700, 702, 710, 714, 715,
                                            716, 717, 718, 719, 721, 810, 911, 999};
    (void)state;
    for (size_t i = 0; i < TN_COUNT(results); i++) {
        FAILS_STATUS(tn__gpu_failed(tn__gpu_use(TN_CUDA(0)), results[i], "a call"), TN_EDEVICE, "seen by a call");
        FAILS_STATUS(tn_synchronize(TN_CUDA(0)), TN_EDEVICE, "cuda:0 is out of use since then");
        OK(tn_cuda_reset(TN_CUDA(0)));
    }
}

/* A driver that makes no healthy context in this process any more: said by the reset, and by all that comes after it. */
static void a_device_that_stays_lost(void **state)
{
    (void)state;
    tn__storage *m = memory(TN_CUDA(0));
    OK(kit_set(TN_CUDA(0), kit_function(TN_CUDA(0), "set"), m->data, 1, N, "one"));
    FAILS_STATUS(tn_synchronize(TN_CUDA(0)), TN_EDEVICE, "tn_cuda_reset(TN_CUDA(0)) revives it, without its tensors");
    tn__storage_release(m);
    for (int i = 0; i < 2; i++) {
        FAILS_STATUS(
            tn_cuda_reset(TN_CUDA(0)), TN_EDEVICE,
            "CUDA error: an illegal memory access was encountered\n  cuda:0 is out of use since then: a new context "
            "fails as well, so this process has to be started again; other devices and the cpu go on");
        assert_true(tn_cuda_is_lost(TN_CUDA(0)));
        FAILS_STATUS(tn_synchronize(TN_CUDA(0)), TN_EDEVICE, "this process has to be started again");
        FAILS(tn__gpu_allocate(TN_CUDA(0), 100), TN_EDEVICE, "this process has to be started again");
    }
    others_go_on();
}

/* The context can be made, but its first kernel dies: launch@1 is the program's, launch@2 the reset's. The next one helps. */
static void a_launch_that_fails_after_reset(void **state)
{
    (void)state;
    tn__storage *m = memory(TN_CUDA(0));
    OK(kit_set(TN_CUDA(0), kit_function(TN_CUDA(0), "set"), m->data, 1, N, "one"));
    FAILS_STATUS(tn_synchronize(TN_CUDA(0)), TN_EDEVICE, "revives it");
    tn__storage_release(m);
    FAILS_STATUS(tn_cuda_reset(TN_CUDA(0)), TN_EDEVICE, "this process has to be started again");
    FAILS_STATUS(tn_synchronize(TN_CUDA(0)), TN_EDEVICE, "this process has to be started again");
    revives(NULL);
}

static bool lost(tn_device d)
{
    bool yes = tn_cuda_is_lost(d);
    assert_int_equal(tn_error_code(), TN_OK); /* it only answers */
    return yes;
}

static void lost_is_told(void **state)
{
    (void)state;
    assert_false(lost(TN_CUDA(0))); /* never used */
    tn__storage *m = memory(TN_CUDA(0));
    void *set = kit_function(TN_CUDA(0), "set");
    OK(kit_set(TN_CUDA(0), set, m->data, 1, N, "one"));
    FAILS_STATUS(tn_synchronize(TN_CUDA(0)), TN_EDEVICE, "cuda:0 is out of use since then");
    assert_true(lost(TN_CUDA(0)));
    assert_true(lost(TN_CUDA(-1)));
    assert_true(lost((tn_device){0})); /* the current GPU */
    assert_false(lost(TN_CUDA(1)));
    OK(tn_cuda_set_device(1));
    assert_false(lost(TN_CUDA(-1)));
    assert_false(lost(TN_CUDA(2))); /* there is none */
    assert_false(lost(TN_CUDA(TN__GPU_EACH + 1)));
    assert_false(lost(TN_CPU));
    tn__storage_release(m);
    revives(set);
    assert_false(lost(TN_CUDA(0)));
}

static void none_is_lost_where_there_is_none(void **state)
{
    (void)state;
    assert_false(lost(TN_CUDA(0)));
    assert_false(lost(TN_CUDA(-1)));
}

int main(int argc, char **argv)
{
    static const alone tests[] = {
        ALONE(illegal_address, "TENON_FAKE_GPUS=2x64MiB"),
        ALONE(unfinished_launches_of_every_stream, "TENON_FAKE_GPUS=2x64MiB"),
        ALONE(blocking_launches_name_their_own, "TENON_FAKE_GPUS=2x64MiB", "CUDA_LAUNCH_BLOCKING=1"),
        ALONE(a_launch_that_is_refused_kills_nothing, "TENON_FAKE_GPUS=1x64MiB"),
        ALONE(bad_indices_are_reported_once, "TENON_FAKE_GPUS=1x64MiB"),
        ALONE(tensors_are_void_after_reset, "TENON_FAKE_GPUS=2x64MiB"),
        ALONE(pinned_tensors_are_ordinary_after_reset, "TENON_FAKE_GPUS=1x64MiB"),
        ALONE(the_second_launch_fails, "TENON_FAKE_GPUS=2x64MiB", "TENON_FAKE_GPU_FAULTS=launch@2"),
        ALONE(an_event_of_a_dead_device, "TENON_FAKE_GPUS=2x64MiB", "TENON_FAKE_GPU_FAULTS=launch@1:0"),
        ALONE(a_reset_that_fails, "TENON_FAKE_GPUS=1x64MiB"),
        ALONE(failures_that_stay, "TENON_FAKE_GPUS=1x64MiB"),
        ALONE(a_device_that_stays_lost, "TENON_FAKE_GPUS=2x64MiB", "TENON_FAKE_GPU_FAULTS=launch@1:0,fatal"),
        ALONE(a_launch_that_fails_after_reset, "TENON_FAKE_GPUS=1x64MiB", "TENON_FAKE_GPU_FAULTS=launch@1,launch@2"),
        ALONE(a_lost_device, "TENON_FAKE_GPUS=2x64MiB", "TENON_FAKE_GPU_FAULTS=lost@1:0"),
        ALONE(lost_is_told, "TENON_FAKE_GPUS=2x64MiB", "TENON_FAKE_GPU_FAULTS=lost@1:0"),
        ALONE(none_is_lost_where_there_is_none, "TENON_FAKE_GPUS=2", "CUDA_VISIBLE_DEVICES="),
    };
    return alone_main(tests, TN_COUNT(tests), argc, argv);
}
