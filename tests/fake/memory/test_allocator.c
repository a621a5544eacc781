/* The caching allocator of device memory on fake GPUs. Numbers are what PyTorch's rules give, worked out by hand. */
#include "fake/own_process_gpu.h"
#include "backend/cuda/cuda.h"
#include "backend/gpu/memory.h"
#include "core/thread.h"
#include <tenon/cuda.h>

enum { K = 1 << 10, M = 1 << 20 };

static const tn_device gpu = {TN_DEVICE_CUDA, 0};

static tn__storage *take(size_t bytes)
{
    tn__storage *s = tn__gpu_allocate(gpu, bytes);
    check_ok_(s != NULL, "tn__gpu_allocate", __FILE__, __LINE__);
    assert_true(!bytes || ((uintptr_t)s->data % 512 == 0 && s->stream));
    return s;
}

static tn_memory_statistics stats(void)
{
    return tn_memory_stats(gpu);
}

/* Work that keeps a stream busy for a while. */
static void occupy(tn__stream *stream, tn__storage *memory)
{
    tn__gpu_use(gpu);
    for (int i = 0; i < 24; i++)
        assert_int_equal(tn__cu.memset_d8_async((tn__cu_ptr)(uintptr_t)memory->data, 1, memory->nbytes, stream->handle),
                         0);
}

static bool busy(const tn__stream *stream)
{
    return tn__cu.stream_query(stream->handle) == TN__CU_NOT_READY;
}

/* ---- sizes ---- */

static void rounding(void **state)
{
    static const struct {
        int64_t asked, block, segment;
    } rows[] = {
        {1, 512, 2 * M},
        {512, 512, 2 * M},
        {513, 1024, 2 * M},
        {1 * M, 1 * M, 2 * M},
        {1 * M + 1, 1 * M + 512, 20 * M},
        {5 * M, 5 * M, 20 * M},
        {10 * M - 512, 10 * M - 512, 20 * M},
        {10 * M - 511, 10 * M, 10 * M},
        {10 * M, 10 * M, 10 * M},
        {10 * M + 1, 10 * M + 512, 12 * M},
        {11 * M - 512, 11 * M - 512, 12 * M},
        {11 * M, 12 * M, 12 * M}, /* 1 MiB would be left: too little to be cut off */
        {33 * M - 511, 34 * M, 34 * M},
    };
    (void)state;
    for (size_t i = 0; i < TN_COUNT(rows); i++) {
        tn__storage *s = take((size_t)rows[i].asked);
        assert_int_equal(stats().allocated, rows[i].block);
        assert_int_equal(stats().requested, rows[i].asked);
        assert_int_equal(stats().reserved, rows[i].segment);
        tn__storage_release(s);
        assert_int_equal(stats().allocated, 0);
        assert_int_equal(stats().reserved, rows[i].segment);
        tn_empty_cache(gpu);
        assert_int_equal(stats().reserved, 0);
        assert_int_equal(stats().segments, 0);
    }
    assert_int_equal(stats().allocations, TN_COUNT(rows));
    assert_int_equal(stats().releases, TN_COUNT(rows));
    tn__storage *none = take(0);
    assert_null(none->data);
    tn__storage_release(none);
    assert_int_equal(stats().total_blocks, TN_COUNT(rows));
    CLEAN();
}

#define STATS(allocated_, requested_, active_, split_, reserved_, blocks_, segments_) \
    check_stats(allocated_, requested_, active_, split_, reserved_, blocks_, segments_, __LINE__)

static void check_stats(int64_t allocated, int64_t requested, int64_t active, int64_t split, int64_t reserved,
                        int64_t blocks, int64_t segments, int line)
{
    tn_memory_statistics s = stats();
    if (s.allocated != allocated || s.requested != requested || s.active != active || s.inactive_split != split ||
        s.reserved != reserved || s.blocks != blocks || s.segments != segments) {
        print_error("line %d: allocated %ld requested %ld active %ld split %ld reserved %ld blocks %ld segments %ld\n",
                    line, (long)s.allocated, (long)s.requested, (long)s.active, (long)s.inactive_split,
                    (long)s.reserved, (long)s.blocks, (long)s.segments);
        _fail(__FILE__, line);
    }
}

static void statistics(void **state)
{
    (void)state;
    STATS(0, 0, 0, 0, 0, 0, 0);
    tn__storage *a = take(1);
    STATS(512, 1, 512, 2 * M - 512, 2 * M, 1, 1);
    tn__storage *b = take(600);
    STATS(1536, 601, 1536, 2 * M - 1536, 2 * M, 2, 1);
    tn__storage *c = take(3 * M);
    STATS(3 * M + 1536, 3 * M + 601, 3 * M + 1536, 19 * M - 1536, 22 * M, 3, 2);
    tn__storage_release(a); /* a hole of 512 in front of b */
    STATS(3 * M + 1024, 3 * M + 600, 3 * M + 1024, 19 * M - 1024, 22 * M, 2, 2);
    tn__storage_release(b); /* the small segment is whole again, so it is not split */
    STATS(3 * M, 3 * M, 3 * M, 17 * M, 22 * M, 1, 2);
    tn__storage *d = take(16 * M + M / 2); /* half a MiB less than what is left behind c: all of that is taken */
    STATS(20 * M, 19 * M + M / 2, 20 * M, 0, 22 * M, 2, 2);
    tn__storage_release(c);
    STATS(17 * M, 16 * M + M / 2, 17 * M, 3 * M, 22 * M, 1, 2);
    tn__storage_release(d);
    STATS(0, 0, 0, 0, 22 * M, 0, 2);
    tn_memory_statistics s = stats();
    assert_int_equal(s.allocated_peak, 20 * M);
    assert_int_equal(s.requested_peak, 19 * M + M / 2);
    assert_int_equal(s.active_peak, 20 * M);
    assert_int_equal(s.reserved_peak, 22 * M);
    assert_int_equal(s.inactive_split_peak, 19 * M - 512 - 1024 + 512);
    assert_int_equal(s.blocks_peak, 3);
    assert_int_equal(s.segments_peak, 2);
    assert_int_equal(s.total_blocks, 4);
    assert_int_equal(s.allocations, 2);
    assert_int_equal(s.retries + s.ooms + s.releases, 0);
    tn_reset_peak_memory_stats(gpu);
    assert_int_equal(stats().allocated_peak, 0);
    assert_int_equal(stats().reserved_peak, 22 * M);
    tn_empty_cache(gpu);
    STATS(0, 0, 0, 0, 0, 0, 0);
    assert_int_equal(stats().releases, 2);
    CLEAN();
}

static void fits(void **state)
{
    (void)state;
    tn__storage *s[6];
    char *p = NULL;
    for (int i = 0; i < 6; i++) {
        s[i] = take((size_t)(i + 1) * 512); /* 512 .. 3072, one behind the other */
        assert_ptr_equal(s[i]->data, i ? p : (char *)s[0]->data);
        p = (char *)s[i]->data + (i + 1) * 512;
    }
    char *at1 = s[1]->data, *at3 = s[3]->data;
    tn__storage_release(s[3]);
    tn__storage_release(s[1]); /* holes of 1024 and 2048 */
    tn__storage *x = take(1000), *y = take(1100);
    assert_ptr_equal(x->data, at1); /* the smallest that fits */
    assert_ptr_equal(y->data, at3);
    tn__storage *z = take(512);
    assert_ptr_equal(z->data, at3 + 1536); /* what y left */
    tn__storage_release(x);
    tn__storage_release(s[2]); /* joins the hole in front: 1024 + 1536 */
    x = take(2560);
    assert_ptr_equal(x->data, at1);
    tn__storage *all[] = {s[0], s[4], s[5], x, y, z};
    for (size_t i = 0; i < TN_COUNT(all); i++)
        tn__storage_release(all[i]);
    x = take(1 * M);
    y = take(1 * M); /* the segment is in one piece again */
    assert_ptr_equal((char *)y->data - (char *)x->data, 1 * M);
    tn__storage_release(x);
    tn__storage_release(y);
    assert_int_equal(stats().segments, 1);
    CLEAN();
}

/* A shadow of the set, searched from end to end. */
static void set_of_blocks(void **state)
{
    enum { N = 300 };
    static tn__gpu_block b[N];
    bool in[N] = {false};
    tn__gpu_block *root = NULL;
    uint64_t seed = 42;
    (void)state;
    for (int i = 0; i < N; i++) {
        b[i].p = (char *)(uintptr_t)((size_t)(i * 7919 % N + 1) * 512);
        b[i].size = (size_t)(i * i % 17 + 1) * 512;
    }
    for (int round = 0; round < 20000; round++) {
        seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
        int i = (int)(seed >> 33) % N;
        if (in[i])
            tn__best_fit_remove(&root, &b[i]);
        else
            tn__best_fit_add(&root, &b[i]);
        in[i] = !in[i];
        size_t size = (size_t)((seed >> 20) % 18 + 1) * 512;
        const tn__gpu_block *want = NULL;
        for (int k = 0; k < N; k++)
            if (in[k] && b[k].size >= size &&
                (!want || b[k].size < want->size || (b[k].size == want->size && b[k].p < want->p)))
                want = &b[k];
        assert_ptr_equal(tn__best_fit_find(root, size), want);
    }
}

/* ---- streams ---- */

static void reuse_is_in_stream_order(void **state)
{
    (void)state;
    tn__storage *big = take(64 * M), *x = take(4096);
    tn__stream *s = x->stream;
    void *p = x->data;
    occupy(s, big);
    tn__storage_release(x);
    x = take(4096); /* at once: what comes next on the stream runs after what was there */
    assert_ptr_equal(x->data, p);
    tn_stream *other = tn_cuda_stream_new(gpu, 0);
    assert_non_null(other);
    tn__storage_release(x);
    tn_stream_guard g = tn_stream_enter(other);
    tn__storage *y = take(4096); /* another stream has memory of its own */
    assert_ptr_not_equal(y->data, p);
    assert_ptr_equal(y->stream, other);
    tn_stream_leave(g);
    x = take(4096);
    assert_ptr_equal(x->data, p);
    tn__storage_release(x);
    tn__storage_release(y);
    tn__storage_release(big);
    tn_stream_release(other);
    CLEAN();
}

static void other_streams_are_waited_for(void **state)
{
    (void)state;
    tn_stream *other = tn_cuda_stream_new(gpu, 0);
    tn__storage *big = take(64 * M), *x = take(4096);
    void *p = x->data;
    occupy(other, big);
    tn__gpu_storage_used(x, other);
    tn__gpu_storage_used(x, x->stream);
    tn__storage_release(x);
    assert_int_equal(stats().blocks, 1);
    assert_int_equal(stats().active, 64 * M + 4096);
    assert_int_equal(stats().allocated, 64 * M);
    x = take(4096);
    bool was_busy = busy(other);
    assert_true(!was_busy || x->data != p);
    tn__storage_release(x);
    OK(tn_stream_synchronize(other));
    x = take(8192); /* the next request finds the event passed: all of the segment is free */
    assert_ptr_equal(x->data, p);
    tn__storage_release(x);
    tn__storage_release(big);
    assert_int_equal(stats().active, 0);
    tn_stream_release(other);
    tn_empty_cache(gpu);
    assert_int_equal(stats().reserved, 0);
    CLEAN();
}

static void a_stream_outlives_its_memory(void **state)
{
    (void)state;
    tn_stream *own = tn_cuda_stream_new(gpu, 0);
    tn_stream_guard g = tn_stream_enter(own);
    tn__storage *x = take(4096);
    tn_stream_leave(g);
    tn_stream_release(own); /* the last reference but the allocator's */
    assert_ptr_equal(x->stream, own);
    occupy(x->stream, x);
    tn__storage_release(x);
    tn_empty_cache(gpu);
    assert_int_equal(stats().reserved, 0);
    CLEAN();
}

static void streams_that_are_gone_leave_their_memory(void **state)
{
    (void)state;
    void *p = NULL;
    tn__storage *kept = take(100); /* the default stream's */
    for (int i = 0; i < 40; i++) {
        tn_stream *s = tn_cuda_stream_new(gpu, 0);
        tn_stream_guard g = tn_stream_enter(s);
        tn__storage *x = take(4096);
        assert_true(!p || x->data == p); /* what the one before had */
        p = x->data;
        tn__storage_release(x);
        tn_stream_leave(g);
        tn_stream_release(s);
    }
    assert_int_equal(stats().segments, 2);
    tn__storage_release(kept);
    CLEAN();
}

/* ---- too little ---- */

static void flush_and_retry(void **state)
{
    (void)state;
    tn__storage *keep = take(1000), *x = take(100 * M);
    tn__storage_release(x);
    assert_int_equal(stats().reserved, 102 * M);
    x = take(200 * M); /* of 256 MiB: only without what is cached */
    tn_memory_statistics s = stats();
    assert_int_equal(s.retries, 1);
    assert_int_equal(s.ooms, 0);
    assert_int_equal(s.releases, 1);
    assert_int_equal(s.reserved, 202 * M);
    tn__storage_release(x);
    tn__storage_release(keep);
    CLEAN();
}

static void out_of_memory(void **state)
{
    (void)state;
    tn_stream *other = tn_cuda_stream_new(gpu, 0);
    tn__self()->site = "train.c:42";
    tn__storage *x = take(150 * M);
    tn__self()->site = "model.c:7";
    tn__storage *small = take(20 * M);
    tn__gpu_storage_used(x, other);
    tn_memory_statistics before = stats();
    tn__self()->site = "step.c:9";
    FAILS(tn__gpu_allocate(gpu, 150 * M), TN_ENOMEM,
          "CUDA out of memory. Tried to allocate 150.00 MiB. GPU 0 has a total capacity of 256.00 MiB of which ");
    assert_null(tn__gpu_allocate(gpu, 150 * M));
    const char *m = tn_error_message();
    static const char *const parts[] = {
        "Of the allocated memory 170.00 MiB is allocated by Tenon, and 0 bytes is reserved by Tenon but unallocated.",
        "150.00 MiB  made at train.c:42",
        "20.00 MiB  made at model.c:7",
        "smaller batch",
        "\n  at step.c:9",
    };
    for (size_t i = 0; i < TN_COUNT(parts); i++)
        if (!strstr(m, parts[i])) {
            print_error("no '%s' in:\n%s\n", parts[i], m);
            fail();
        }
    assert_true(strstr(m, "150.00 MiB  made") < strstr(m, "20.00 MiB  made"));
    tn_error_clear();
    tn_memory_statistics after = stats();
    assert_int_equal(after.ooms, 2);
    assert_int_equal(after.retries, 2);
    after.ooms = before.ooms;
    after.retries = before.retries;
    assert_memory_equal(&before, &after, sizeof after); /* nothing has changed */
    tn__storage_release(x);
    x = take(150 * M); /* waits for the stream that used the old one */
    tn__storage_release(x);
    tn__storage_release(small);
    FAILS(tn__gpu_allocate(gpu, SIZE_MAX - 5), TN_ENOMEM, "CUDA out of memory");
    tn_stream_release(other);
    CLEAN();
}

static void fraction(void **state)
{
    (void)state;
    int64_t left = 0, total = 0;
    OK(tn_cuda_mem_get_info(gpu, &left, &total));
    assert_int_equal(total, 256 * M);
    assert_true(left <= total && left > 200 * M);
    FAILS_STATUS(tn_cuda_set_per_process_memory_fraction(1.5, gpu), TN_EVALUE,
                 "Invalid fraction value: 1.5. Allowed range: 0~1");
    FAILS_STATUS(tn_cuda_set_per_process_memory_fraction(-1, gpu), TN_EVALUE, "Invalid fraction value: -1");
    FAILS_STATUS(tn_cuda_set_per_process_memory_fraction(0.5, TN_CPU), TN_EVALUE, "Expected a cuda device");
    OK(tn_cuda_set_per_process_memory_fraction(0.25, gpu));
    tn__storage *x = take(60 * M);
    FAILS(tn__gpu_allocate(gpu, 5 * M), TN_ENOMEM, "64.00 MiB allowed; ");
    assert_null(tn__gpu_allocate(gpu, 5 * M));
    assert_non_null(strstr(tn_error_message(), "this process's share"));
    tn_error_clear();
    tn__storage *y = take(1 * M);
    tn__storage_release(y);
    OK(tn_cuda_set_per_process_memory_fraction(1, gpu));
    y = take(5 * M);
    tn__storage_release(y);
    tn__storage_release(x);
    CLEAN();
}

static void limit(void **state)
{
    (void)state;
    tn__storage *x = take(30 * M);
    FAILS(tn__gpu_allocate(gpu, 3 * M), TN_ENOMEM, "32.00 MiB allowed; ");
    tn__storage_release(x);
    x = take(31 * M); /* the flush makes room */
    tn__storage_release(x);
    assert_int_equal(stats().retries, 2);
    CLEAN();
}

static void limit_not_understood(void **state)
{
    (void)state;
    FAILS(tn__gpu_allocate(gpu, 3 * M), TN_EVALUE, "TENON_CUDA_MEMORY_LIMIT='lots' is not a size");
    CLEAN();
}

static void no_cache(void **state)
{
    (void)state;
    tn__storage *x = take(100), *y = take(3 * M);
    assert_int_equal(stats().reserved, 100 + 3 * M);
    assert_int_equal(stats().segments, 2);
    tn__storage_release(x);
    assert_int_equal(stats().reserved, 3 * M);
    tn_stream *other = tn_cuda_stream_new(gpu, 0);
    tn__gpu_storage_used(y, other);
    tn__storage_release(y);
    OK(tn_stream_synchronize(other));
    x = take(1);
    assert_int_equal(stats().reserved, 1);
    tn__storage_release(x);
    assert_int_equal(stats().allocations, 3);
    assert_int_equal(stats().releases, 3);
    tn_stream_release(other);
    CLEAN();
}

/* ---- reset, fork ---- */

static void reset(void **state)
{
    (void)state;
    tn_stream *own = tn_cuda_stream_new(gpu, 0);
    tn__storage *x = take(4096), *cached = take(5 * M), *waiting = take(1 * M);
    void *scratch = tn__gpu_scratch_get(gpu, 100);
    tn_stream_guard g = tn_stream_enter(own);
    tn__storage *y = take(4096);
    tn_stream_leave(g);
    tn_stream_release(own);
    tn__storage_release(cached);
    tn__gpu_storage_used(waiting, y->stream);
    tn__gpu_storage_used(x, y->stream);
    tn__storage_release(waiting);
    OK(tn_cuda_reset(gpu));
    assert_int_equal(stats().allocated, 0);
    assert_int_equal(stats().reserved, 0);
    tn__storage *z = take(4096);
    tn__gpu_storage_used(x, z->stream);
    tn__storage_release(x);
    assert_int_equal(y->stream->device.index, 0); /* its own stream is still described */
    tn__storage_release(y);
    tn__gpu_scratch_put(gpu, scratch, 100);
    assert_int_equal(stats().allocated, 4096);
    assert_int_equal(stats().reserved, 2 * M);
    tn__storage_release(z);
    tn_empty_cache(gpu);
    assert_int_equal(stats().reserved, 0);
    CLEAN();
}

/* The third operation kills the device. What it held can be released, by anybody; a reset gives all of it back. */
static void a_dead_device(void **state)
{
    (void)state;
    tn_stream *own = tn_cuda_stream_new(gpu, 0);
    tn__storage *x = take(4096), *y = take(20 * M), *z = take(4096), *pinned = tn__gpu_pinned(TN_DEVICE_CUDA, 4096);
    tn__gpu_storage_used(x, own);
    tn__gpu_storage_used(y, own);
    tn__gpu_storage_used(pinned, own);
    tn__storage_release(y);      /* waits for an event that never comes */
    for (int i = 0; i < 24; i++) /* the device is lost in the midst of these, sooner or later */
        (void)tn__cu.memset_d8_async((tn__cu_ptr)(uintptr_t)z->data, 1, z->nbytes, own->handle);
    FAILS_STATUS(tn_synchronize(gpu), TN_EDEVICE, "CUDA error");
    FAILS(tn__gpu_allocate(gpu, 512), TN_EDEVICE, "tn_cuda_reset");
    tn__storage_release(x);
    tn__storage_release(pinned);
    tn_stream_release(own);
    assert_int_equal(tn_error_code(), TN_OK);
    tn_empty_cache(gpu);
    tn_empty_pinned_cache();
    tn_error_clear();
    char report[1024];
    tn__cu.fake_report(report, sizeof report); /* of the fault that was ordered */
    OK(tn_cuda_reset(gpu));
    tn__storage_release(z);
    x = take(4096);
    tn__storage_release(x);
    CLEAN();
}

static void child_of_fork(void **state)
{
    (void)state;
    tn_stream *other = tn_cuda_stream_new(gpu, 0);
    tn__storage *x = take(4096), *y = take(4096);
    tn__storage *pinned = tn__gpu_pinned(TN_DEVICE_CUDA, 4096);
    tn__gpu_storage_used(y, other);
    tn__gpu_storage_used(pinned, other);
    pid_t child = fork();
    if (child == 0) {
        bool good = tn_memory_stats(gpu).reserved == 0;
        tn__storage_release(x);
        tn__storage_release(y);
        memset(pinned->data, 1, 4096); /* still the child's own memory */
        tn__storage_release(pinned);
        tn_empty_cache(gpu);
        tn_empty_pinned_cache();
        good = good && !tn__gpu_allocate(gpu, 1) && !tn__gpu_pinned(TN_DEVICE_CUDA, 1);
        good = good && strstr(tn_error_message(), "Cannot re-initialize CUDA in forked subprocess");
        _exit(good ? 0 : 1);
    }
    int status = 1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    tn__storage_release(x);
    tn__storage_release(y);
    tn__storage_release(pinned);
    tn_stream_release(other);
    CLEAN();
}

static void scratch(void **state)
{
    (void)state;
    void *a = tn__gpu_scratch_get(gpu, 1000), *b = tn__gpu_scratch_get(gpu, 0);
    assert_true(a && b && a != b);
    assert_int_equal(stats().allocated, 1024 + 512);
    tn__gpu_scratch_put(gpu, a, 1000);
    assert_ptr_equal(tn__gpu_scratch_get(gpu, 1000), a);
    tn__gpu_scratch_put(gpu, b, 0);
    tn__gpu_scratch_put(gpu, a, 1000);
    tn__gpu_scratch_put(gpu, NULL, 1000);
    assert_int_equal(stats().allocated, 0);
    CLEAN();
}

/* What torch.cuda.memory_summary() prints of these numbers, but for the name. */
static void summary(void **state)
{
    static const char want[] =
#include "fake/memory/summary.inc"
        ;
    char got[8192];
    (void)state;
    tn__storage *a = take(1), *b = take(600), *c = take(3 * M), *d = take(12 * M);
    tn__storage_release(a);
    tn__storage_release(d);
    int64_t n = tn_memory_summary(gpu, got, sizeof got);
    assert_string_equal(got, want);
    assert_int_equal(n, strlen(want));
    assert_int_equal(tn_memory_summary(gpu, NULL, 0), n);
    assert_int_equal(tn_memory_summary(gpu, got, 10), n);
    assert_string_equal(got, "|========");
    assert_true(tn_memory_summary(TN_CPU, got, sizeof got) < 0);
    tn_error_clear();
    tn__storage_release(b);
    tn__storage_release(c);
    CLEAN();
}

#define GROWS "TENON_CUDA_ALLOC_CONF=expandable_segments:True"

int main(int argc, char **argv)
{
    static const alone tests[] = {
        ANYWHERE(rounding, "TENON_FAKE_GPUS=1x256MiB"),
        ANYWHERE(statistics, "TENON_FAKE_GPUS=1x256MiB"),
        ANYWHERE(fits, "TENON_FAKE_GPUS=1x256MiB"),
        ANYWHERE(set_of_blocks, "TENON_FAKE_GPUS=1x256MiB"),
        ANYWHERE(reuse_is_in_stream_order, "TENON_FAKE_GPUS=1x256MiB"),
        ANYWHERE(other_streams_are_waited_for, "TENON_FAKE_GPUS=1x256MiB"),
        ANYWHERE(a_stream_outlives_its_memory, "TENON_FAKE_GPUS=1x256MiB"),
        ANYWHERE(streams_that_are_gone_leave_their_memory, "TENON_FAKE_GPUS=1x256MiB"),
        ALONE(flush_and_retry, "TENON_FAKE_GPUS=1x256MiB"),
        ALONE(out_of_memory, "TENON_FAKE_GPUS=1x256MiB"),
        ALONE(fraction, "TENON_FAKE_GPUS=1x256MiB"),
        ALONE(limit, "TENON_FAKE_GPUS=1x256MiB", "TENON_CUDA_MEMORY_LIMIT=32MiB"),
        ANYWHERE(limit_not_understood, "TENON_FAKE_GPUS=1x256MiB", "TENON_CUDA_MEMORY_LIMIT=lots"),
        ANYWHERE(no_cache, "TENON_FAKE_GPUS=1x256MiB", "TENON_NO_CACHE=1"),
        ANYWHERE(reset, "TENON_FAKE_GPUS=1x256MiB"),
        ALONE(a_dead_device, "TENON_FAKE_GPUS=1x256MiB", "TENON_FAKE_GPU_FAULTS=lost@3"),
        ANYWHERE(child_of_fork, "TENON_FAKE_GPUS=1x256MiB"),
        ANYWHERE(scratch, "TENON_FAKE_GPUS=1x256MiB"),
        ANYWHERE(summary, "TENON_FAKE_GPUS=1x256MiB"),
        {"reuse_where_segments_grow", reuse_is_in_stream_order, true, {"TENON_FAKE_GPUS=1x256MiB", GROWS}},
        {"streams_where_segments_grow", other_streams_are_waited_for, true, {"TENON_FAKE_GPUS=1x256MiB", GROWS}},
    };
    return alone_main(tests, TN_COUNT(tests), argc, argv);
}
