/* Threads, devices and streams at random: memory is allocated, written, copied, used by other streams and released by
 * whoever comes by. Every byte that is read must be right, and the fake GPUs, which watch the order of all accesses, must
 * have nothing to say. */
#include "fake/own_process_gpu.h"
#include "backend/cuda/cuda.h"
#include "backend/gpu/memory.h"
#include "core/alloc.h"
#include <pthread.h>
#include <tenon/cuda.h>

enum { THREADS = 4, DEVICES = 2, STREAMS = 4, SLOTS = 32, ROUNDS = 400, LARGEST = 3 << 20 };

static tn_stream *streams[DEVICES][STREAMS];
static _Atomic(tn__storage *) slots[SLOTS];
static _Atomic int wrong, refused;

typedef struct worker {
    uint64_t seed;
    char *host;
} worker;

static uint32_t chance(worker *w, uint32_t n)
{
    w->seed = w->seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(w->seed >> 33) % n;
}

/* ThreadSanitizer pays for each byte, and looks for the order of accesses, not for their sizes. */
#ifdef __SANITIZE_THREAD__
enum { LARGE = 8 }; /* one of so many may be large */
#else
enum { LARGE = 1 };
#endif

static size_t any_size(worker *w)
{
    static const uint32_t most[] = {512, 8192, 65536, 1 << 20, LARGEST};
    if (chance(w, LARGE))
        return 1 + chance(w, most[chance(w, 3)]);
    return 1 + chance(w, most[chance(w, 5)]);
}

/* Too little memory is part of the game; anything else is not. */
static bool fine(bool done)
{
    if (done)
        return true;
    if (tn_error_code() == TN_ENOMEM) {
        atomic_fetch_add(&refused, 1);
    } else {
        print_error("%s\n", tn_error_message());
        atomic_fetch_add(&wrong, 1);
    }
    tn_error_clear();
    return false;
}

static tn_stream *enter(tn_stream *s)
{
    fine(!tn_cuda_set_stream(s));
    return s;
}

static bool set(tn__storage *s, unsigned char value)
{
    tn__gpu_device *dev = tn__gpu_use(s->device);
    tn__cu_ptr p = (tn__cu_ptr)(uintptr_t)s->data;
    return dev &&
           !tn__cuda_check(dev, tn__cu.memset_d8_async(p, value, s->nbytes, tn__gpu_current(dev)->handle), "memset");
}

/* All of s has the value, seen from the current stream of its device. */
static void check(worker *w, const tn__storage *s, unsigned char value)
{
    if (!fine(!tn__gpu_mover.download(s->device, w->host, s->data, s->nbytes, false, false)))
        return;
    if ((unsigned char)*w->host == value && memcmp(w->host, w->host + 1, s->nbytes - 1) == 0)
        return;
    size_t i = 0;
    while ((unsigned char)w->host[i] == value)
        i++;
    print_error("byte %zu of %zu is %d, not %d\n", i, s->nbytes, w->host[i], value);
    atomic_fetch_add(&wrong, 1);
}

/* Another stream of the device reads s after what its own has done; s may be released at once. */
static void use_elsewhere(worker *w, tn__storage *s, unsigned char value)
{
    tn_stream *own = s->stream, *other = enter(streams[s->device.index][chance(w, STREAMS)]);
    if (own != other && fine(!tn_stream_wait_stream(other, own))) {
        tn__gpu_storage_used(s, other);
        if (chance(w, 2)) {
            check(w, s, value);
        } else {
            tn__storage *copy = tn__gpu_allocate(s->device, s->nbytes);
            tn__gpu_device *dev = tn__gpu_use(s->device);
            if (fine(copy && dev))
                fine(!tn__cuda_check(dev,
                                     tn__cu.memcpy_dtod_async((tn__cu_ptr)(uintptr_t)copy->data,
                                                              (tn__cu_ptr)(uintptr_t)s->data, s->nbytes, other->handle),
                                     "copy"));
            if (copy && chance(w, 4) == 0)
                check(w, copy, value);
            tn__storage_release(copy);
        }
    }
    enter(own);
}

static void send(worker *w, const tn__storage *s, unsigned char value)
{
    tn_device to = TN_CUDA(1 - s->device.index);
    enter(streams[to.index][chance(w, STREAMS)]);
    tn__storage *there = tn__gpu_allocate(to, s->nbytes);
    if (fine(there != NULL) && fine(!tn__gpu_mover.peer(to, there->data, s->device, s->data, s->nbytes)) &&
        chance(w, 2))
        check(w, there, value);
    tn__storage_release(there);
}

static void send_pinned(tn__storage *s, unsigned char value)
{
    tn__storage *host = tn__gpu_pinned(TN_DEVICE_CUDA, s->nbytes);
    if (!fine(host != NULL))
        return;
    memset(host->data, value, s->nbytes);
    if (fine(!tn__gpu_mover.upload(s->device, s->data, host->data, s->nbytes, true, true)))
        tn__gpu_storage_used(host, s->stream);
    tn__storage_release(host);
}

static void one_round(worker *w)
{
    int32_t d = (int32_t)chance(w, DEVICES);
    unsigned char value = (unsigned char)chance(w, 256);
    enter(streams[d][chance(w, STREAMS)]);
    tn__storage *s = tn__gpu_allocate(TN_CUDA(d), any_size(w));
    if (!fine(s != NULL))
        return;
    if (chance(w, 2))
        fine(set(s, value));
    else
        send_pinned(s, value);
    switch (chance(w, 6)) {
    case 0: check(w, s, value); break;
    case 1: use_elsewhere(w, s, value); break;
    case 2: send(w, s, value); break;
    case 3: tn__gpu_scratch_put(s->device, tn__gpu_scratch_get(s->device, any_size(w)), 0); break;
    case 4:
        if (chance(w, 20) == 0)
            tn_empty_cache(s->device);
        break;
    default: break;
    }
    tn__storage_release(atomic_exchange(&slots[chance(w, SLOTS)], s));
}

static void *work(void *arg)
{
    worker *w = arg;
    for (int i = 0; i < ROUNDS; i++)
        one_round(w);
    return NULL;
}

static void stress(void **state)
{
    pthread_t thread[THREADS];
    worker w[THREADS];
    (void)state;
    if (tn__gpu_count(TN_DEVICE_CUDA) < DEVICES)
        ALONE_SKIP("too few GPUs");
    for (int32_t d = 0; d < DEVICES; d++)
        for (int i = 0; i < STREAMS; i++) {
            streams[d][i] = i ? tn_cuda_stream_new(TN_CUDA(d), 0) : tn_cuda_default_stream(TN_CUDA(d));
            assert_non_null(streams[d][i]);
        }
    for (uint64_t i = 0; i < THREADS; i++) {
        w[i] = (worker){i + 1, tn__block_get(LARGEST)};
        assert_int_equal(pthread_create(&thread[i], NULL, work, &w[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(thread[i], NULL);
        tn__block_put(w[i].host, LARGEST);
    }
    for (int i = 0; i < SLOTS; i++)
        tn__storage_release(atomic_load(&slots[i]));
    for (int32_t d = 0; d < DEVICES; d++)
        for (int i = 0; i < STREAMS; i++)
            tn_stream_release(streams[d][i]);
    assert_int_equal(wrong, 0);
    print_message("%d rounds, %d refused\n", THREADS * ROUNDS, (int)refused);
    CLEAN();
}

int main(int argc, char **argv)
{
    static const alone tests[] = {
        ANYWHERE(stress, "TENON_FAKE_GPUS=2x256MiB"),
        {"stress_with_delays", stress, false, {"TENON_FAKE_GPUS=2x256MiB", "TENON_FAKE_GPU_FAULTS=delay=random:7"}},
        {"stress_short_of_memory", stress, false, {"TENON_FAKE_GPUS=2x256MiB", "TENON_CUDA_MEMORY_LIMIT=48MiB"}},
        {"stress_without_links", stress, false, {"TENON_FAKE_GPUS=2x256MiB", "TENON_FAKE_GPU_FAULTS=peer=0-1"}},
        {"stress_without_cache", stress, false, {"TENON_FAKE_GPUS=2x256MiB", "TENON_NO_CACHE=1"}},
    };
    return alone_main(tests, TN_COUNT(tests), argc, argv);
}
