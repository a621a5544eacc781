/* Copies between host and devices, and between devices, on fake GPUs: every byte, and what is counted. */
#include "alone.h"
#include "backend/cuda/memory.h"
#include "core/alloc.h"
#include <tenon/cuda.h>

enum { K = 1 << 10, M = 1 << 20 };

static tn__storage *on(int32_t device, size_t bytes)
{
    tn__storage *s = tn__cuda_allocate(TN_CUDA(device), bytes);
    check_ok_(s != NULL, "tn__cuda_allocate", __FILE__, __LINE__);
    return s;
}

static void fill(void *p, size_t bytes, uint32_t seed)
{
    unsigned char *c = p;
    for (size_t i = 0; i < bytes; i++)
        c[i] = (unsigned char)((i + seed) * 2654435761u >> 13);
}

static const size_t sizes[] = {1,     3,         4095,  65536,        65537,         M + 1,     4 * M - 1,
                               4 * M, 4 * M + 1, 8 * M, 16 * M + 511, 16 * M + 4096, 37 * M + 5};

static void check_round_trip(size_t bytes, bool pinned_from, bool pinned_to, bool non_blocking)
{
    tn__storage *d = on(0, bytes);
    tn__storage *from = pinned_from ? tn__cuda_pinned(bytes) : NULL, *to = pinned_to ? tn__cuda_pinned(bytes) : NULL;
    char *a = from ? from->data : tn__block_get(bytes), *b = to ? to->data : tn__block_get(bytes);
    assert_true(a && b);
    fill(a, bytes, (uint32_t)bytes);
    memset(b, 0, bytes);
    OK(tn__cuda_mover.upload(TN_CUDA(0), d->data, a, bytes, pinned_from, non_blocking));
    if (!(pinned_from && non_blocking)) /* the source is ours again */
        memset(a, 7, bytes);
    OK(tn__cuda_mover.download(TN_CUDA(0), b, d->data, bytes, pinned_to, non_blocking));
    if (pinned_to && non_blocking)
        OK(tn__cuda_queue.synchronize(d->stream));
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
    OK(tn__cuda_mover.upload(TN_CUDA(0), NULL, NULL, 0, false, false));
    OK(tn__cuda_mover.download(TN_CUDA(0), NULL, NULL, 0, false, false));
    assert_int_equal(tn_pinned_memory_stats().allocated, 0);
}

static void check_count(tn_transfer_count c, int64_t copies, int64_t bytes)
{
    assert_int_equal(c.copies, copies);
    assert_int_equal(c.bytes, bytes);
}

static void counts(void **state)
{
    (void)state;
    tn__storage *d = on(0, 9 * M), *pinned = tn__cuda_pinned(9 * M);
    char *p = tn__block_get(9 * M);
    memset(p, 1, 9 * M);
    memset(pinned->data, 1, 9 * M);
    tn_reset_transfer_stats(TN_CUDA(0));
    OK(tn__cuda_mover.upload(TN_CUDA(0), d->data, p, 1000, false, false));
    OK(tn__cuda_mover.upload(TN_CUDA(0), d->data, p, 9 * M, false, true));
    tn_transfer_statistics s = tn_transfer_stats(TN_CUDA(0));
    check_count(s.upload_pageable, 2, 9 * M + 1000);
    assert_int_equal(s.synchronizations, 0); /* the source is free, and nobody has waited */
    OK(tn__cuda_mover.upload(TN_CUDA(0), d->data, pinned->data, 5, true, true));
    assert_int_equal(tn_transfer_stats(TN_CUDA(0)).synchronizations, 0);
    OK(tn__cuda_mover.upload(TN_CUDA(0), d->data, pinned->data, 5, true, false));
    OK(tn__cuda_mover.download(TN_CUDA(0), pinned->data, d->data, 6, true, false));
    OK(tn__cuda_mover.download(TN_CUDA(0), p, d->data, 7, false, false));
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
}

/* ---- peers ---- */

static void check_peer(int32_t from, int32_t to, size_t bytes)
{
    char *host = tn__block_get(bytes), *back = tn__block_get(bytes);
    tn__storage *a = on(from, bytes), *b = on(to, bytes);
    fill(host, bytes, (uint32_t)bytes + 1);
    OK(tn__cuda_mover.upload(a->device, a->data, host, bytes, false, true));
    OK(tn__cuda_mover.peer(b->device, b->data, a->device, a->data, bytes));
    OK(tn__cuda_mover.download(b->device, back, b->data, bytes, false, false));
    assert_memory_equal(host, back, bytes);
    tn__storage_release(a);
    tn__storage_release(b);
    tn__block_put(host, bytes);
    tn__block_put(back, bytes);
}

static void peers(void **state)
{
    (void)state;
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
        assert_int_equal(s.staged, 0);
    }
}

int main(int argc, char **argv)
{
    static const alone tests[] = {
        ALONE(round_trips, "TENON_FAKE_GPUS=2x256MiB"),
        ALONE(counts, "TENON_FAKE_GPUS=2x256MiB"),
        ALONE(peers, "TENON_FAKE_GPUS=2x256MiB"),
    };
    return alone_main(tests, TN_COUNT(tests), argc, argv);
}
