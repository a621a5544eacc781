/* Every wait of allocator, pinned memory and copies, left out in turn: the fake GPUs must notice each. With all of them in
 * place they must be silent. Leaving out needs a build with TENON_TEST_WAITS. */
#include "fake/own_process_gpu.h"
#include "backend/cuda/cuda.h"
#include "backend/gpu/memory.h"
#include "core/alloc.h"
#include <tenon/cuda.h>

enum { K = 1 << 10, M = 1 << 20 };

static tn__storage *on(int32_t device, size_t bytes)
{
    tn__storage *s = tn__gpu_allocate(TN_CUDA(device), bytes);
    check_ok_(s != NULL, "tn__gpu_allocate", __FILE__, __LINE__);
    return s;
}

static tn_status set(tn__storage *s, tn_stream *stream)
{
    tn__gpu_device *dev = tn__gpu_use(s->device);
    tn__cu_ptr p = (tn__cu_ptr)(uintptr_t)s->data;
    return tn__cuda_check(dev, tn__cu.memset_d8_async(p, 1, s->nbytes, stream->handle), "memset");
}

/* Each scenario returns what it was told: TN_OK, or the error of the first call that the fake GPUs refused. */

static tn_status reuse_across_streams(void)
{
    tn_stream *other = tn_cuda_stream_new(TN_CUDA(0), 0);
    tn__storage *x = on(0, 4096);
    tn_status e = tn__gpu_queue.wait(other, x->stream);
    tn__gpu_storage_used(x, other);
    if (!e)
        e = set(x, other);
    tn__storage_release(x);
    tn__storage *y = on(0, 4096), *z = on(0, 1 * M);
    if (!e)
        e = set(y, y->stream);
    if (!e)
        e = set(z, z->stream);
    tn__storage_release(y);
    tn__storage_release(z);
    tn_stream_release(other);
    return e;
}

static tn_status after_a_stream_is_gone(void)
{
    tn_stream *gone = tn_cuda_stream_new(TN_CUDA(0), 0);
    tn_stream_guard g = tn_stream_enter(gone);
    tn__storage *x = on(0, 64 * M);
    tn_status e = set(x, gone);
    tn__storage_release(x);
    tn_stream_leave(g);
    tn_stream_release(gone);
    x = on(0, 64 * M);
    if (!e)
        e = set(x, x->stream);
    tn__storage_release(x);
    return e;
}

/* The device's driver for a while: no event can be recorded. */
static tn__gpu_result no_record(void *event, void *stream)
{
    (void)event;
    (void)stream;
    return TN__GPU_OUT_OF_MEMORY;
}

static const tn__gpu_driver *records_fail(tn__gpu_device *dev)
{
    static tn__gpu_driver poor;
    const tn__gpu_driver *own = dev->driver;
    poor = *own;
    poor.event_record = no_record;
    dev->driver = &poor;
    return own;
}

typedef enum way { UNLISTED, UNMARKED, FLUSHED } way;

/* What x's other user still does is over when x comes back, however it was given back. */
static tn_status reused(way how)
{
    tn_stream *other = tn_cuda_stream_new(TN_CUDA(0), 0);
    tn__gpu_device *dev = tn__gpu_use(TN_CUDA(0));
    const tn__gpu_driver *own = dev->driver;
    tn__storage *neighbour = on(0, 4096), *x = on(0, 4096); /* which keeps their memory from the driver */
    const void *place = x->data;
    tn_status e = tn__gpu_queue.wait(other, x->stream);
    /* events that are used again have passed: where its record is left out, x's says so, too, and x is taken again at once */
    assert_int_equal(tn_synchronize(TN_CUDA(0)), TN_OK);
    if (!e)
        e = set(x, other);
    tn__door_fail(how == UNLISTED);
    tn__gpu_storage_used(x, other);
    tn__door_fail(0);
    if (how == UNMARKED)
        own = records_fail(dev);
    tn__storage_release(x);
    dev->driver = own;
    if (how == FLUSHED)
        tn_empty_cache(TN_CUDA(0));
    x = on(0, 4096);
    assert_ptr_equal(x->data, place);
    if (!e)
        e = set(x, x->stream);
    tn__storage_release(x);
    tn__storage_release(neighbour);
    tn_stream_release(other);
    return e;
}

static tn_status reuse_unlisted(void)
{
    return reused(UNLISTED);
}

static tn_status reuse_unmarked(void)
{
    return reused(UNMARKED);
}

static tn_status reuse_after_a_flush(void)
{
    return reused(FLUSHED);
}

static tn_status upload_from_pinned(void)
{
    tn__storage *x = on(0, 4096), *p = tn__gpu_pinned(TN_DEVICE_CUDA, 4096);
    tn_status e = tn__gpu_mover.upload(x->device, x->data, p->data, 4096, true, false);
    if (!e)
        e = tn__gpu_touch(tn__gpu_slot(TN_CUDA(0)), p->data, 4096, 1);
    tn__storage_release(x);
    tn__storage_release(p);
    return e;
}

static tn_status download(void)
{
    tn__storage *x = on(0, 4096), *p = tn__gpu_pinned(TN_DEVICE_CUDA, 4096);
    char bytes[4096];
    tn_status e = set(x, x->stream);
    if (!e)
        e = tn__gpu_mover.download(x->device, bytes, x->data, 4096, false, false);
    if (!e)
        e = tn__gpu_mover.download(x->device, p->data, x->data, 4096, true, false);
    if (!e)
        e = tn__gpu_touch(tn__gpu_slot(TN_CUDA(0)), p->data, 4096, 0);
    tn__storage_release(x);
    tn__storage_release(p);
    return e;
}

static tn_status in_chunks(void)
{
    size_t bytes = 30 * M;
    char *host = tn__block_zero(bytes);
    tn__storage *x = on(0, bytes);
    tn_status e = tn__gpu_mover.upload(x->device, x->data, host, bytes, false, false);
    if (!e)
        e = tn__gpu_mover.download(x->device, host, x->data, bytes, false, false);
    tn__storage_release(x);
    tn__block_put(host, bytes);
    return e;
}

static tn_status peers(void)
{
    size_t bytes = 30 * M;
    tn_stream *from = tn_cuda_stream_new(TN_CUDA(0), 0), *to = tn_cuda_stream_new(TN_CUDA(1), 0);
    tn_stream_guard g = tn_stream_enter(from), h = tn_stream_enter(to);
    tn__storage *a = on(0, bytes), *b = on(1, bytes);
    tn_status e = set(a, from);
    if (!e)
        e = set(b, to);
    if (!e)
        e = tn__gpu_mover.peer(b->device, b->data, a->device, a->data, bytes);
    if (!e)
        e = set(b, to);
    if (!e)
        e = set(a, from);
    tn__storage_release(a);
    tn__storage_release(b);
    tn_stream_leave(h);
    tn_stream_leave(g);
    tn_stream_release(from);
    tn_stream_release(to);
    return e;
}

/* The copy is queued, and its end cannot be marked: the call fails, and the memory may be used all the same. */
static tn_status peer_without_an_event(void)
{
    tn_stream *from = tn_cuda_stream_new(TN_CUDA(0), 0);
    tn_stream_guard g = tn_stream_enter(from);
    tn__storage *a = on(0, 4096), *b = on(1, 4096);
    tn__gpu_device *dev = tn__gpu_use(TN_CUDA(0));
    tn_status e = set(a, from);
    if (!e)
        e = tn__gpu_mover.peer(b->device, b->data, a->device, a->data, 4096); /* the link has been tried */
    const tn__gpu_driver *own = records_fail(dev);
    if (!e) {
        const tn_status refused = tn__gpu_mover.peer(b->device, b->data, a->device, a->data, 4096);
        assert_true(refused || getenv("LEFT_OUT")); /* the record itself may be what is left out */
        tn_error_clear();
    }
    dev->driver = own;
    if (!e)
        e = set(b, b->stream);
    tn__storage_release(a);
    tn__storage_release(b);
    tn_stream_leave(g);
    tn_stream_release(from);
    return e;
}

static const struct {
    const char *name;
    tn_status (*run)(void);
} scenarios[] = {
    {"reuse, unlisted", reuse_unlisted}, /* the first: nothing is there yet to list users in */
    {"reuse, unmarked", reuse_unmarked},
    {"reuse after a flush", reuse_after_a_flush},
    {"reuse across streams", reuse_across_streams},
    {"after a stream is gone", after_a_stream_is_gone},
    {"upload from pinned", upload_from_pinned},
    {"download", download},
    {"in chunks", in_chunks},
    {"peers", peers},
    {"peer without an event", peer_without_an_event},
};

static void all_are_silent(void **state)
{
    (void)state;
    for (size_t i = 0; i < TN_COUNT(scenarios); i++) {
        OK(scenarios[i].run());
        SILENT();
    }
    CLEAN();
}

#ifdef TENON_TEST_WAITS
static void one_is_left_out(void **state)
{
    const char *left_out = getenv("LEFT_OUT");
    int found = 0;
    (void)state;
    tn__drop_wait(left_out);
    for (size_t i = 0; i < TN_COUNT(scenarios); i++) {
        tn_status e = scenarios[i].run();
        char report[512] = "";
        tn__cu.fake_report(report, sizeof report);
        if (!e && !*report)
            continue;
        assert_non_null(strstr(e ? tn_error_message() : report, "nothing orders")); /* nothing else was wrong */
        found++;
        print_message("%s: %s: %s\n", left_out, scenarios[i].name, e ? tn_error_message() : report);
        tn_error_clear();
    }
    assert_true(tn__waits_left_out() > 0);
    assert_true(found > 0);
}
#define LEFT_OUT(wait) \
    { \
        "without_" #wait, one_is_left_out, false, \
        { \
            "TENON_FAKE_GPUS=2x256MiB", "LEFT_OUT=" #wait \
        } \
    }
#define LEFT_OUT_LOGICAL(wait) \
    { \
        "without_" #wait "_on_one_gpu", one_is_left_out, false, \
        { \
            "TENON_FAKE_GPUS=1x512MiB", "TENON_VISIBLE_DEVICES=0,0", "LEFT_OUT=" #wait \
        } \
    }
#define LEFT_OUT_STAGED(wait) \
    { \
        "without_" #wait, one_is_left_out, false, \
        { \
            "TENON_FAKE_GPUS=2x256MiB", "LEFT_OUT=" #wait, "TENON_FAKE_GPU_FAULTS=peer=0-1" \
        } \
    }
#endif

enum {
    ELSEWHERE = 2,  /* stream_wait_record, stream_wait: devices/test_streams.c */
    ON_ONE_GPU = 3, /* left out a second time */
    WAITS = 0
#define WAIT(name, why) +1
#include "backend/gpu/waits.def"
};

int main(int argc, char **argv)
{
    static const alone tests[] = {
        ALONE(all_are_silent, "TENON_FAKE_GPUS=2x256MiB"),
        {"all_are_silent_staged",
         all_are_silent,
         false,
         {"TENON_FAKE_GPUS=2x256MiB", "TENON_FAKE_GPU_FAULTS=peer=0-1"}},
        {"all_are_silent_on_one_gpu", all_are_silent, false, {"TENON_FAKE_GPUS=1x512MiB", "TENON_VISIBLE_DEVICES=0,0"}},
#ifdef TENON_TEST_WAITS
        LEFT_OUT(block_record),
        LEFT_OUT(block_query),
        LEFT_OUT(block_wait),
        LEFT_OUT(block_unmarked),
        LEFT_OUT(block_unlisted),
        LEFT_OUT(orphan_query),
        LEFT_OUT(upload_wait),
        LEFT_OUT(download_small),
        LEFT_OUT(download_pinned),
        LEFT_OUT(chunk_record),
        LEFT_OUT(chunk_wait),
        LEFT_OUT(peer_record),
        LEFT_OUT(peer_before),
        LEFT_OUT(peer_after),
        LEFT_OUT(peer_instead),
        LEFT_OUT(peer_pattern),
        LEFT_OUT_LOGICAL(peer_record),
        LEFT_OUT_LOGICAL(peer_before),
        LEFT_OUT_LOGICAL(peer_after),
        LEFT_OUT_STAGED(staged_came_record),
        LEFT_OUT_STAGED(staged_came),
        LEFT_OUT_STAGED(staged_went_record),
        LEFT_OUT_STAGED(staged_went),
#endif
    };
#ifdef TENON_TEST_WAITS
    _Static_assert(TN_COUNT(tests) == 3 + WAITS - ELSEWHERE + ON_ONE_GPU,
                   "each wait of waits.def is left out in a test");
#endif
    return alone_main(tests, TN_COUNT(tests), argc, argv);
}
