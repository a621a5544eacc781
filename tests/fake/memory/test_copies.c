/* Copies between host and devices, and between devices, on fake GPUs: every byte, and what is counted. */
#include "fake/own_process_gpu.h"
#include "backend/cuda/cuda.h"
#include "backend/gpu/memory.h"
#include "core/alloc.h"
#include <pthread.h>
#include <tenon/cuda.h>

enum { K = 1 << 10, M = 1 << 20 };

static tn__storage *on(int32_t device, size_t bytes)
{
    tn__storage *s = tn__gpu_allocate(TN_CUDA(device), bytes);
    check_ok_(s != NULL, "tn__gpu_allocate", __FILE__, __LINE__);
    return s;
}

static void fill(void *p, size_t bytes, uint32_t seed)
{
    static unsigned char
        one[(64 << 10) + 251]; /* of a length that no chunk is a multiple of; filled by loops, then copied */
    const size_t n = bytes < sizeof one ? bytes : sizeof one;
    for (size_t i = 0; i < n; i++)
        one[i] = (unsigned char)((i + seed) * 2654435761u >> 13);
    for (size_t at = 0; at < bytes; at += sizeof one)
        memcpy((char *)p + at, one, bytes - at < sizeof one ? bytes - at : sizeof one);
}

/* About the pieces that a copy is cut into, and about their ring, which the last two go round; ThreadSanitizer, which pays
 * for each byte, goes with one of them. */
static const size_t sizes[] = {
    1,          3, 4095, 65536, 65537, M + 1, 4 * M - 1, 4 * M, 4 * M + 1, 8 * M, 16 * M + 511,
#ifndef __SANITIZE_THREAD__
    21 * M + 5,
#endif
};

static void check_round_trip(size_t bytes, bool pinned_from, bool pinned_to, bool non_blocking)
{
    tn__storage *d = on(0, bytes);
    tn__storage *from = pinned_from ? tn__gpu_pinned(TN_DEVICE_CUDA, bytes) : NULL,
                *to = pinned_to ? tn__gpu_pinned(TN_DEVICE_CUDA, bytes) : NULL;
    char *a = from ? from->data : tn__block_get(bytes), *b = to ? to->data : tn__block_get(bytes);
    assert_true(a && b);
    fill(a, bytes, (uint32_t)bytes);
    memset(b, 0, bytes);
    OK(tn__gpu_mover.upload(TN_CUDA(0), d->data, a, bytes, pinned_from, non_blocking));
    if (!(pinned_from && non_blocking)) /* the source is ours again */
        memset(a, 7, bytes);
    OK(tn__gpu_mover.download(TN_CUDA(0), b, d->data, bytes, pinned_to, non_blocking));
    if (pinned_to && non_blocking)
        OK(tn__gpu_queue.synchronize(d->stream));
    fill(a, bytes, (uint32_t)bytes);
    assert_memory_equal(a, b, bytes);
    tn__storage_release(d);
    if (from)
        tn__storage_release(from);
    else
        tn__block_put(a, bytes);
    if (to)
        tn__storage_release(to);
    else
        tn__block_put(b, bytes);
}

static void round_trips(void **state)
{
    (void)state;
    for (size_t i = 0; i < TN_COUNT(sizes); i++)
        for (int how = 0; how < 8; how++)
            check_round_trip(sizes[i], how & 1, how & 2, how & 4);
    OK(tn__gpu_mover.upload(TN_CUDA(0), NULL, NULL, 0, false, false));
    OK(tn__gpu_mover.download(TN_CUDA(0), NULL, NULL, 0, false, false));
    assert_int_equal(tn_pinned_memory_stats().allocated, 0);
    CLEAN();
}

static void check_count(tn_transfer_count c, int64_t copies, int64_t bytes)
{
    assert_int_equal(c.copies, copies);
    assert_int_equal(c.bytes, bytes);
}

static void counts(void **state)
{
    (void)state;
    tn__storage *d = on(0, 9 * M), *pinned = tn__gpu_pinned(TN_DEVICE_CUDA, 9 * M);
    char *p = tn__block_get(9 * M);
    memset(p, 1, 9 * M);
    memset(pinned->data, 1, 9 * M);
    tn_reset_transfer_stats(TN_CUDA(0));
    OK(tn__gpu_mover.upload(TN_CUDA(0), d->data, p, 1000, false, false));
    OK(tn__gpu_mover.upload(TN_CUDA(0), d->data, p, 9 * M, false, true));
    tn_transfer_statistics s = tn_transfer_stats(TN_CUDA(0));
    check_count(s.upload_pageable, 2, 9 * M + 1000);
    assert_int_equal(s.synchronizations, 0); /* the source is free, and nobody has waited */
    OK(tn__gpu_mover.upload(TN_CUDA(0), d->data, pinned->data, 5, true, true));
    assert_int_equal(tn_transfer_stats(TN_CUDA(0)).synchronizations, 0);
    OK(tn__gpu_mover.upload(TN_CUDA(0), d->data, pinned->data, 5, true, false));
    OK(tn__gpu_mover.download(TN_CUDA(0), pinned->data, d->data, 6, true, false));
    OK(tn__gpu_mover.download(TN_CUDA(0), p, d->data, 7, false, false));
    s = tn_transfer_stats(TN_CUDA(0));
    check_count(s.upload_pinned, 2, 10);
    check_count(s.download_pinned, 1, 6);
    check_count(s.download_pageable, 1, 7);
    check_count(s.peer_in, 0, 0);
    check_count(s.peer_out, 0, 0);
    assert_int_equal(s.synchronizations, 3);
    assert_int_equal(s.launches, 0);
    check_count(tn_transfer_stats(TN_CUDA(1)).upload_pageable, 0, 0);
    check_count(tn_transfer_stats(TN_CPU).upload_pageable, 0, 0);
    tn_reset_transfer_stats(TN_CUDA(0));
    check_count(tn_transfer_stats(TN_CUDA(0)).upload_pageable, 0, 0);
    tn__block_put(p, 9 * M);
    tn__storage_release(d);
    tn__storage_release(pinned);
    CLEAN();
}

/* ---- peers ---- */

static void check_peer(int32_t from, int32_t to, size_t bytes)
{
    char *host = tn__block_get(bytes), *back = tn__block_get(bytes);
    tn__storage *a = on(from, bytes), *b = on(to, bytes);
    fill(host, bytes, (uint32_t)bytes + 1);
    OK(tn__gpu_mover.upload(a->device, a->data, host, bytes, false, true));
    OK(tn__gpu_mover.peer(b->device, b->data, a->device, a->data, bytes));
    OK(tn__gpu_mover.download(b->device, back, b->data, bytes, false, false));
    assert_memory_equal(host, back, bytes);
    tn__storage_release(a);
    tn__storage_release(b);
    tn__block_put(host, bytes);
    tn__block_put(back, bytes);
}

/* Both ways, every size; staged: how many of the copies went through the host. */
static void check_peers(int64_t staged)
{
    int64_t total = 0;
    for (size_t i = 0; i < TN_COUNT(sizes); i++) {
        check_peer(0, 1, sizes[i]);
        check_peer(1, 0, sizes[i]);
        total += (int64_t)sizes[i];
    }
    for (int32_t d = 0; d < 2; d++) {
        tn_transfer_statistics s = tn_transfer_stats(TN_CUDA(d));
        check_count(s.peer_in, TN_COUNT(sizes), total);
        check_count(s.peer_out, TN_COUNT(sizes), total);
        assert_int_equal(s.staged, staged);
    }
}

static void peers(void **state)
{
    uint64_t n[16];
    (void)state;
    check_peers(0);
    tn__cu.fake_counters(0, n);
    assert_int_equal(n[TN__FAKE_P2P], TN_COUNT(sizes) + 1); /* and the pattern */
    CLEAN();
}

/* The link is there and delivers rubbish: seen by the pattern, once, and never used again. */
static void bad_peers(void **state)
{
    uint64_t n[16];
    (void)state;
    check_peers(TN_COUNT(sizes));
    tn__cu.fake_counters(0, n);
    assert_int_equal(n[TN__FAKE_P2P], 1);
    CLEAN();
}

static void no_peers(void **state)
{
    uint64_t n[16];
    (void)state;
    check_peers(TN_COUNT(sizes));
    tn__cu.fake_counters(0, n);
    assert_int_equal(n[TN__FAKE_P2P], 0);
    CLEAN();
}

/* After a reset the link is tried anew. */
static void peers_and_reset(void **state)
{
    uint64_t n[16];
    (void)state;
    check_peer(0, 1, 1000);
    check_peer(0, 1, 1000);
    tn__cu.fake_counters(0, n);
    assert_int_equal(n[TN__FAKE_P2P], 3);
    OK(tn_cuda_reset(TN_CUDA(1)));
    check_peer(0, 1, 1000);
    tn__cu.fake_counters(0, n);
    assert_int_equal(n[TN__FAKE_P2P], 5);
    OK(tn_cuda_reset(TN_CUDA(0)));
    check_peer(1, 0, 1000);
    CLEAN();
}

/* Work on both sides' own streams, nothing waited for by the host: what arrives is what was there in their order. */
static void check_order_of_peers(size_t bytes)
{
    tn_stream *from = tn_cuda_stream_new(TN_CUDA(0), 0), *to = tn_cuda_stream_new(TN_CUDA(1), 0);
    char *back = tn__block_get(bytes);
    tn_stream_guard g = tn_stream_enter(from), h = tn_stream_enter(to);
    tn__storage *a = on(0, bytes), *b = on(1, bytes);
    assert_non_null(tn__gpu_use(TN_CUDA(1)));
    assert_int_equal(tn__cu.memset_d8_async((tn__cu_ptr)(uintptr_t)b->data, 1, bytes, to->handle), 0);
    assert_non_null(tn__gpu_use(TN_CUDA(0)));
    assert_int_equal(tn__cu.memset_d8_async((tn__cu_ptr)(uintptr_t)a->data, 2, bytes, from->handle), 0);
    OK(tn__gpu_mover.peer(b->device, b->data, a->device, a->data, bytes));
    assert_non_null(tn__gpu_use(TN_CUDA(0)));
    assert_int_equal(tn__cu.memset_d8_async((tn__cu_ptr)(uintptr_t)a->data, 3, bytes, from->handle), 0);
    OK(tn__gpu_mover.download(b->device, back, b->data, bytes, false, false));
    assert_true(*back == 2 && memcmp(back, back + 1, bytes - 1) == 0);
    tn__storage_release(a);
    tn__storage_release(b);
    tn_stream_leave(h);
    tn_stream_leave(g);
    tn_stream_release(from);
    tn_stream_release(to);
    tn__block_put(back, bytes);
}

static void order_of_peers(void **state)
{
    (void)state;
    if (tn__gpu_count(TN_DEVICE_CUDA) < 2)
        ALONE_SKIP("one GPU");
    check_order_of_peers(1000);
    check_order_of_peers(30 * M);
    CLEAN();
}

static tn__cu_result (*register_memory)(void *, size_t, unsigned);
static int n_registered;

static tn__cu_result register_in_the_sources_context(void *p, size_t bytes, unsigned flags)
{
    tn__cu_context now = NULL;
    assert_int_equal(tn__cu.ctx_get_current(&now), 0);
    assert_ptr_equal(now, tn__gpu_slot(TN_CUDA(0))->context);
    n_registered++;
    return register_memory(p, bytes, flags);
}

/* Chunks of a copy through the host count as the source's: in its context they must be locked, all of them. */
static void chunks_are_the_sources(void **state)
{
    (void)state;
    assert_non_null(tn__gpu_use(TN_CUDA(1)));
    tn__storage *a = on(0, 16 * M), *b = on(1, 16 * M);
    register_memory = tn__cu.mem_host_register;
    tn__cu.mem_host_register = register_in_the_sources_context;
    OK(tn__gpu_mover.peer(b->device, b->data, a->device, a->data, 16 * M));
    tn__cu.mem_host_register = register_memory;
    assert_int_equal(n_registered, 4);
    tn__storage_release(a);
    tn__storage_release(b);
    CLEAN();
}

static tn__cu_result (*record_event)(tn__cu_event, tn__cu_stream);
static int records_left;

static tn__cu_result record_some(tn__cu_event e, tn__cu_stream s)
{
    return records_left-- > 0 ? record_event(e, s) : TN__CU_OUT_OF_MEMORY;
}

/* The copy is queued, but the destination's stream cannot be made to wait for it: nobody may take the memory before it is
 * done. */
static void a_peer_copy_that_cannot_be_waited_for(void **state)
{
    (void)state;
    check_peer(0, 1, 1000);
    tn__storage *a = on(0, 1 * M), *b = on(1, 1 * M);
    record_event = tn__cu.event_record;
    tn__cu.event_record = record_some;
    records_left = 1;
    FAILS_STATUS(tn__gpu_mover.peer(b->device, b->data, a->device, a->data, 1 * M), TN_ENOMEM, "recording an event");
    tn__cu.event_record = record_event;
    assert_non_null(tn__gpu_use(TN_CUDA(0)));
    assert_int_equal(tn__cu.stream_query(a->stream->handle), 0);
    tn__storage_release(b);
    b = on(1, 1 * M);
    assert_non_null(tn__gpu_use(TN_CUDA(1)));
    assert_int_equal(tn__cu.memset_d8_async((tn__cu_ptr)(uintptr_t)b->data, 1, 1 * M, b->stream->handle), 0);
    tn__storage_release(a);
    tn__storage_release(b);
    CLEAN();
}

/* No memory to keep it: it goes, and the context that was current stays so. */
static void an_event_that_is_not_kept(void **state)
{
    tn__cu_context now = NULL;
    (void)state;
    tn__gpu_device *dev = tn__gpu_use(TN_CUDA(0)), *other = tn__gpu_use(TN_CUDA(1));
    assert_true(dev && other && tn__gpu_use(TN_CUDA(0)));
    tn__cu_event e = tn__gpu_event_get(dev);
    assert_non_null(tn__gpu_use(TN_CUDA(1)));
    tn__door_fail(1);
    tn__gpu_event_put(dev, e);
    tn__door_fail(0);
    assert_int_equal(dev->n_spare, 0);
    assert_int_equal(tn__cu.ctx_get_current(&now), 0);
    assert_ptr_equal(now, other->context);
    CLEAN();
}

/* ---- pinned memory ---- */

static tn__storage *pinned(size_t bytes)
{
    tn__storage *s = tn__gpu_pinned(TN_DEVICE_CUDA, bytes);
    check_ok_(s != NULL, "tn__cuda_pinned", __FILE__, __LINE__);
    assert_true(s && s->pinned && s->device.type == TN_DEVICE_CPU);
    return s;
}

static void pinned_sizes(void **state)
{
    (void)state;
    tn__storage *a = pinned(1), *b = pinned(513), *c = pinned(3 * M), *none = pinned(0);
    tn_pinned_statistics s = tn_pinned_memory_stats();
    assert_int_equal(s.allocated, 512 + 1024 + 4 * M);
    assert_int_equal(s.reserved, 2 * M + 4 * M);
    assert_int_equal(s.allocations, 2);
    void *p = a->data;
    memset(c->data, 1, 3 * M);
    tn__storage_release(a);
    a = pinned(400); /* the same block again */
    assert_ptr_equal(a->data, p);
    tn__storage *all[] = {a, b, c, none};
    for (size_t i = 0; i < TN_COUNT(all); i++)
        tn__storage_release(all[i]);
    assert_int_equal(tn_pinned_memory_stats().reserved, 6 * M);
    tn_empty_pinned_cache();
    assert_int_equal(tn_pinned_memory_stats().reserved, 0);
    a = pinned(600); /* halves are whole sheets again */
    b = pinned(2 * M);
    tn__storage_release(a);
    tn_empty_pinned_cache();
    assert_int_equal(tn_pinned_memory_stats().reserved, 2 * M);
    tn__storage_release(b);
    assert_int_equal(tn_pinned_memory_stats().allocated, 0);
    assert_int_equal(tn_pinned_memory_stats().allocated_peak, 512 + 1024 + 4 * M);
    CLEAN();
}

/* A block that a stream still reads is not handed out; TENON_FAKE_GPU_FAULTS makes copies slow. */
static void pinned_waits(void **state)
{
    (void)state;
    tn__storage *d = on(0, 4096), *a = pinned(4096);
    void *p = a->data;
    OK(tn__gpu_mover.upload(TN_CUDA(0), d->data, p, 4096, true, true));
    tn__gpu_storage_used(a, d->stream);
    tn__storage_release(a);
    a = pinned(4096);
    assert_ptr_not_equal(a->data, p);
    tn__storage_release(a);
    OK(tn__gpu_queue.synchronize(d->stream));
    tn__storage *b = pinned(4096), *c = pinned(4096);
    assert_true(b->data == p || c->data == p);
    tn__storage_release(b);
    tn__storage_release(c);
    tn__storage_release(d);
    CLEAN();
}

/* A reset of the device in whose context memory was locked: tensors stay as they are, ordinary memory. */
static void pinned_outlives_reset(void **state)
{
    (void)state;
    if (tn__gpu_count(TN_DEVICE_CUDA) < 2)
        ALONE_SKIP("one GPU");
    tn__storage *a = pinned(5000), *b = pinned(9 * M), *d = on(1, 5000);
    fill(a->data, 5000, 1);
    fill(b->data, 9 * M, 2);
    OK(tn__gpu_mover.upload(TN_CUDA(1), d->data, a->data, 5000, true, true)); /* under way on the other device */
    tn__gpu_storage_used(a, d->stream);
    OK(tn_cuda_reset(TN_CUDA(0)));
    char *want = tn__block_get(9 * M), *got = tn__block_get(9 * M);
    fill(want, 5000, 1);
    assert_memory_equal(a->data, want, 5000);
    OK(tn__gpu_mover.download(TN_CUDA(1), got, d->data, 5000, false, false));
    assert_memory_equal(got, want, 5000);
    fill(want, 9 * M, 2);
    assert_memory_equal(b->data, want, 9 * M);
    tn__storage *e = on(0, 9 * M);
    OK(tn__gpu_mover.upload(TN_CUDA(0), e->data, b->data, 9 * M, true, true));
    OK(tn__gpu_mover.download(TN_CUDA(0), got, e->data, 9 * M, false, false));
    assert_memory_equal(got, want, 9 * M);
    tn__storage *all[] = {a, b, d, e};
    for (size_t i = 0; i < TN_COUNT(all); i++)
        tn__storage_release(all[i]);
    tn__block_put(want, 9 * M);
    tn__block_put(got, 9 * M);
    CLEAN();
}

static int unlocked;
static tn__cu_result (*unlock)(void *pointer);

/* What is to be unlocked must still be there. */
static tn__cu_result count_unlocked(void *p)
{
    unlocked += *(volatile char *)p == 7;
    return unlock(p);
}

/* A reset unlocks the pages that the context had locked before they go, those of dead devices too. */
static void reset_unlocks_pages(void **state)
{
    (void)state;
    tn__storage *a = pinned(5000), *b = pinned(9 * M);
    *(char *)a->data = *(char *)b->data = 7;
    unlock = tn__cu.mem_host_unregister;
    tn__cu.mem_host_unregister = count_unlocked;
    OK(tn_cuda_reset(TN_CUDA(0)));
    assert_int_equal(unlocked, 2);
    tn__storage_release(a);
    tn__storage_release(b);
    assert_int_equal(unlocked, 2);
    CLEAN();
}

/* Whose context locks memory does not matter, so none is made for it where there is one. */
static void pinning_makes_no_second_context(void **state)
{
    unsigned flags;
    int active = 1;
    (void)state;
    assert_non_null(tn__gpu_use(TN_CUDA(1)));
    tn__storage_release(pinned(1000));
    assert_int_equal(tn__cu.primary_ctx_get_state(0, &flags, &active), 0);
    assert_false(active);
    CLEAN();
}

static void *empty_it(void *ctx)
{
    (void)ctx;
    tn_empty_pinned_cache();
    return NULL;
}

/* A thread that never used a GPU, so no context is current there. */
static void any_thread_may_empty_the_cache(void **state)
{
    pthread_t thread;
    (void)state;
    tn__storage *d = on(0, 4096), *a = pinned(4096);
    OK(tn__gpu_mover.upload(TN_CUDA(0), d->data, a->data, 4096, true, true));
    tn__gpu_storage_used(a, d->stream);
    tn__storage_release(a);
    assert_int_equal(pthread_create(&thread, NULL, empty_it, NULL), 0);
    pthread_join(thread, NULL);
    assert_int_equal(tn_pinned_memory_stats().reserved, 0);
    assert_int_equal(tn__cu.stream_query(d->stream->handle), 0); /* it has waited for the copy */
    tn__storage_release(d);
    CLEAN();
}

/* A copy is under way into memory that nobody holds any more: a reset lets it end before the memory goes. */
static void reset_waits_for_copies(void **state)
{
    (void)state;
    tn__storage *d = on(0, 9 * M), *a = pinned(9 * M);
    for (int i = 0; i < 3; i++)
        OK(tn__gpu_mover.download(TN_CUDA(0), a->data, d->data, 9 * M, true, true));
    tn__gpu_storage_used(a, d->stream);
    tn__storage_release(a);
    OK(tn_cuda_reset(TN_CUDA(0)));
    assert_int_equal(tn_pinned_memory_stats().reserved, 0);
    tn__storage_release(d);
    CLEAN();
}

/* No memory to remember a stream with: it is waited for at once, whichever device's context is current. */
static void a_use_that_cannot_be_remembered(void **state)
{
    (void)state;
    tn__storage *d = on(0, 4096), *a = pinned(4096);
    OK(tn__gpu_mover.upload(TN_CUDA(0), d->data, a->data, 4096, true, true));
    assert_non_null(tn__gpu_use(TN_CUDA(1)));
    tn__door_fail(1);
    tn__gpu_storage_used(a, d->stream);
    tn__door_fail(0);
    assert_non_null(tn__gpu_use(TN_CUDA(0)));
    assert_int_equal(tn__cu.stream_query(d->stream->handle), 0);
    tn__storage_release(a);
    tn__storage_release(d);
    CLEAN();
}

/* ---- faults: every n-th allocation of the driver fails, once; nothing is lost, and the next try works ---- */

static void try_all(int *failures)
{
    size_t bytes = 9 * M;
    char *host = tn__block_get(bytes), *back = tn__block_get(bytes);
    fill(host, bytes, 3);
    tn__storage *a = tn__gpu_allocate(TN_CUDA(0), bytes), *b = a ? tn__gpu_allocate(TN_CUDA(1), bytes) : NULL;
    tn__storage *p = b ? tn__gpu_pinned(TN_DEVICE_CUDA, bytes) : NULL;
    bool done = p && !tn__gpu_mover.upload(TN_CUDA(0), a->data, host, bytes, false, true) &&
                !tn__gpu_mover.peer(TN_CUDA(1), b->data, TN_CUDA(0), a->data, bytes) &&
                !tn__gpu_mover.download(TN_CUDA(1), back, b->data, bytes, false, false);
    if (done)
        assert_memory_equal(host, back, bytes);
    else
        assert_int_equal(tn_error_code(), TN_ENOMEM);
    *failures += !done;
    tn_error_clear();
    tn__storage_release(a);
    tn__storage_release(b);
    tn__storage_release(p);
    tn__block_put(host, bytes);
    tn__block_put(back, bytes);
}

static void driver_has_too_little(void **state)
{
    static const char *const kinds[] = {"oom@%d+", "host@%d+", "oom@%d", "host@%d"};
    (void)state;
    assert_non_null(tn__gpu_use(TN_CUDA(0))); /* the devices' own words are pinned too */
    assert_non_null(tn__gpu_use(TN_CUDA(1)));
    for (size_t k = 0; k < TN_COUNT(kinds); k++) {
        int failures = 0;
        for (int n = 1; n <= 12; n++) {
            char fault[32];
            snprintf(fault, sizeof fault, kinds[k], n);
            assert_int_equal(tn__cu.fake_set_faults(fault), 0);
            try_all(&failures);
            assert_int_equal(tn__cu.fake_set_faults(""), 0);
            CLEAN();
        }
        assert_true(strchr(kinds[k], '+') ? failures > 1 : failures == 0); /* once: the flush helps */
    }
    int failures = 0;
    try_all(&failures);
    assert_int_equal(failures, 0);
    CLEAN();
}

int main(int argc, char **argv)
{
    static const alone tests[] = {
        ANYWHERE(round_trips, "TENON_FAKE_GPUS=2x256MiB"),
        ANYWHERE(counts, "TENON_FAKE_GPUS=2x256MiB"),
        ALONE(peers, "TENON_FAKE_GPUS=2x256MiB"),
        ALONE(bad_peers, "TENON_FAKE_GPUS=2x256MiB", "TENON_FAKE_GPU_FAULTS=badpeer=0-1"),
        ALONE(no_peers, "TENON_FAKE_GPUS=2x256MiB", "TENON_FAKE_GPU_FAULTS=peer=0-1"),
        ALONE(peers_and_reset, "TENON_FAKE_GPUS=2x256MiB"),
        ANYWHERE(order_of_peers, "TENON_FAKE_GPUS=2x256MiB", "TENON_FAKE_GPU_FAULTS=delay=random:1"),
        {"order_of_staged_peers",
         order_of_peers,
         false,
         {"TENON_FAKE_GPUS=2x256MiB", "TENON_FAKE_GPU_FAULTS=peer=0-1"}},
        ANYWHERE(pinned_sizes, "TENON_FAKE_GPUS=2x256MiB"),
        ALONE(pinned_waits, "TENON_FAKE_GPUS=1x256MiB", "TENON_FAKE_GPU_FAULTS=slowcopy=20ms"),
        ANYWHERE(pinned_outlives_reset, "TENON_FAKE_GPUS=2x256MiB", "TENON_FAKE_GPU_FAULTS=slowcopy=10ms"),
        {"the_drivers_memory_outlives_reset", /* a driver that locks no pages of the process's own */
         pinned_outlives_reset,
         false,
         {"TENON_FAKE_GPUS=2x256MiB", "TENON_FAKE_GPU_FAULTS=slowcopy=10ms,register"}},
        ALONE(reset_unlocks_pages, "TENON_FAKE_GPUS=1x256MiB"),
        ALONE(chunks_are_the_sources, "TENON_FAKE_GPUS=2x256MiB", "TENON_FAKE_GPU_FAULTS=peer=0-1"),
        ALONE(a_peer_copy_that_cannot_be_waited_for, "TENON_FAKE_GPUS=2x256MiB", "TENON_FAKE_GPU_FAULTS=slowcopy=20ms"),
        ALONE(a_use_that_cannot_be_remembered, "TENON_FAKE_GPUS=2x256MiB", "TENON_FAKE_GPU_FAULTS=slowcopy=20ms",
              "TENON_NO_CACHE=1"),
        ALONE(an_event_that_is_not_kept, "TENON_FAKE_GPUS=2x256MiB", "TENON_NO_CACHE=1"),
        ALONE(pinning_makes_no_second_context, "TENON_FAKE_GPUS=2x256MiB"),
        ALONE(any_thread_may_empty_the_cache, "TENON_FAKE_GPUS=1x256MiB", "TENON_FAKE_GPU_FAULTS=slowcopy=20ms"),
        ALONE(reset_waits_for_copies, "TENON_FAKE_GPUS=1x256MiB", "TENON_FAKE_GPU_FAULTS=slowcopy=20ms"),
        ALONE(driver_has_too_little, "TENON_FAKE_GPUS=2x256MiB"),
    };
    return alone_main(tests, TN_COUNT(tests), argc, argv);
}
