/* DLPack on a GPU: memory goes out and comes back without a copy, in the order of streams. */
#include "fake/own_process_gpu.h"

static void memory_is_shared(void **state)
{
    (void)state;
    tn_scope *s = tn_scope_open();
    tn_device gpu = tn_device_make(TN_DEVICE_CUDA, 1);
    tn_tensor *x = MADE(tn_full(TN_SHAPE(2, 3), 4, .device = gpu));
    tn_dl_managed_versioned *m = tn_to_dlpack(MADE(tn_t(x)), 1);
    assert_non_null(m);
    assert_int_equal(m->tensor.device.type, TN_DL_CUDA);
    assert_int_equal(m->tensor.device.id, 1);
    assert_int_equal(m->tensor.strides[1], 3);
    tn_tensor *back = MADE(tn_from_dlpack(m));
    assert_true(tn_device_equal(tn_tensor_device(back), gpu));
    MADE(tn_add_(x, 1));
    PRINTS(MADE(tn_cpu(tn_sum(tn_mul(back, 2)))), "tensor(60)");
    MADE(tn_mul_(back, 0));
    PRINTS(MADE(tn_cpu(x)), "tensor([[0, 0, 0],\n        [0, 0, 0]])");
    tn_scope_close(s);
}

/* A consumer's stream waits for what was queued, and the host for nothing. */
static void streams_are_ordered(void **state)
{
    (void)state;
    tn_scope *s = tn_scope_open();
    tn_device gpu = tn_device_make(TN_DEVICE_CUDA, 0);
    tn_stream *side = tn_cuda_stream_new(gpu, 0);
    assert_non_null(side);
    tn_stream_guard guard = tn_stream_enter(side);
    tn_tensor *x = MADE(tn_zeros(TN_SHAPE(1 << 16), .device = gpu));
    for (int i = 0; i < 20; i++)
        MADE(tn_add_(x, 1));
    int64_t before = tn_transfer_stats(gpu).synchronizations;
    tn_dl_managed *same = tn_to_dlpack_legacy(x, (int64_t)(intptr_t)tn_stream_handle(side));
    assert_non_null(same);
    assert_int_equal(tn_transfer_stats(gpu).synchronizations, before);
    same->deleter(same);
    tn_dl_managed *m = tn_to_dlpack_legacy(x, 1);
    assert_non_null(m);
    m->deleter(m);
    m = tn_to_dlpack_legacy(x, 2);
    assert_non_null(m);
    m->deleter(m);
    tn_stream *theirs = tn_cuda_stream_new(gpu, 0);
    m = tn_to_dlpack_legacy(x, (int64_t)(intptr_t)tn_stream_handle(theirs));
    assert_non_null(m);
    assert_int_equal(tn_transfer_stats(gpu).synchronizations, before);
    tn_stream_guard consumer = tn_stream_enter(theirs);
    assert_true(tn_item(MADE(tn_sum(MADE(tn_from_dlpack_legacy(m))))) == 20 << 16);
    tn_stream_leave(consumer);
    tn_stream_release(theirs);
    FAILS(tn_to_dlpack(x, 0x7770), TN_EDEVICE, "invalid resource handle");
    FAILS(tn_to_dlpack(x, 0), TN_EVALUE, "0 is no stream");
    FAILS(tn_to_dlpack(x, -2), TN_EVALUE, "-2 is no stream");
    tn_stream_leave(guard);
    tn_stream_release(side);
    tn_scope_close(s);
}

/* Memory goes from one stream to another and back. Was all of it in order? */
static bool there_and_back(void)
{
    tn_scope *s = tn_scope_open();
    tn_device gpu = TN_CUDA(0);
    tn_stream *side = tn_cuda_stream_new(gpu, 0);
    tn_stream_guard guard = tn_stream_enter(side);
    tn_tensor *x = tn_zeros(TN_SHAPE(1 << 16), .device = gpu);
    tn_add_(x, 1);
    tn_dl_managed_versioned *m = tn_to_dlpack(x, 1);
    tn_stream_leave(guard);
    tn_scope *theirs = tn_scope_open();
    tn_add_(tn_from_dlpack(m), 2);
    tn_scope_close(theirs);
    guard = tn_stream_enter(side);
    bool ok = tn_item(tn_sum(tn_add_(x, 3))) == 6 << 16;
    tn_stream_leave(guard);
    ok = tn_error_code() == TN_OK && ok;
    tn_stream_release(side);
    tn_scope_close(s);
    return ok;
}

static void memory_comes_back_in_order(void **state)
{
    (void)state;
    assert_true(there_and_back());
    SILENT();
}

#ifdef TENON_TEST_WAITS
static void dropped(void **state)
{
    (void)state;
    char report[1024] = "";
    tn__drop_wait(getenv("DROP"));
    const bool ok = there_and_back();
    tn__cu.fake_report(report, sizeof report);
    assert_true(tn__waits_left_out() > 0);
    assert_true(!ok || *report);
    assert_non_null(strstr(*report ? report : tn_error_message(), "nothing orders"));
    tn_error_clear();
}
#define WAIT(name, why) {"without_" #name, dropped, false, {"TENON_FAKE_GPUS=1", "DROP=" #name}},
#endif

static void a_device_that_is_not_there(void **state)
{
    (void)state;
    int64_t shape[] = {1};
    float value = 0;
    tn_dl_managed m = {.tensor = {&value, {TN_DL_CUDA, 99}, 1, {TN_DL_FLOAT, 32, 1}, shape, NULL, 0}};
    FAILS(tn_from_dlpack_legacy(&m), TN_EDEVICE, "invalid device ordinal");
    m.tensor.device.id = -1;
    FAILS(tn_from_dlpack_legacy(&m), TN_EDEVICE, "there is no device -1");
}

int main(int argc, char **argv)
{
    static const alone tests[] = {
        ALONE(memory_is_shared, "TENON_FAKE_GPUS=2"),
        ALONE(streams_are_ordered, "TENON_FAKE_GPUS=1"),
        ALONE(memory_comes_back_in_order, "TENON_FAKE_GPUS=1"),
        ANYWHERE(a_device_that_is_not_there, "TENON_FAKE_GPUS=1"),
#ifdef TENON_TEST_WAITS
#include "tensor/waits.def"
#endif
    };
    return alone_main(tests, sizeof tests / sizeof *tests, argc, argv);
}
