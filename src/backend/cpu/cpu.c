/* The CPU backend: one const struct, and the instruction set that its loops are made for. */
#include "backend/cpu/cpu.h"
#include "core/alloc.h"
#include "core/env.h"
#include "core/error.h"
#include "core/parallel.h"
#include <pthread.h>
#include <stdio.h>
#include <tenon/dlpack.h>

/* A last-level cache of less is not believed: virtual machines may show a part of it alone, and what the next operation reads
 * is then fetched from memory (16 MiB: up to 10 times slower with two threads). Results go past it where what is read and
 * written is more than it holds: a plain store would read each line first. Several threads gain by what the cache holds of
 * both until that is half more than it: two, relu over and over, us for each MiB, plain and past it (Zen 5, 32 MiB): of 32
 * MiB 7 and 12, 40 9 and 12, 48 12 and 13, 64 15 and 15; one 14 and 12, 16 and 13, 17 and 14, 19 and 16. Where other work had
 * the cache between two calls, which is how programs are, one thread takes for 32 MiB 700 to 790 us with plain stores, in
 * whatever memory; past it 750 to 1190, by where the result lies; for 48 MiB 1060 to 1160, and 1010 to 1070. */
enum { STREAM_LEAST = 32 << 20 };

/* ---- instruction set ---- */

const uint64_t tn__no_bits = 0;

static struct {
    pthread_once_t once;
    const tn__cpu_isa *isa;
    const tn__gemm_isa *pairs;
    int64_t stream_bytes;
} cpu = {.once = PTHREAD_ONCE_INIT};

static bool has_avx2(void)
{
#if defined(TN_HAVE_AVX2) || defined(TN_HAVE_AVX512)
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
    return false;
#endif
}

static bool has_avx512(void)
{
#if defined(TN_HAVE_AVX512)
    return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
#else
    return false;
#endif
}

static void choose(void)
{
    const char *force = tn__env_choice("TENON_CPU");
    cpu.isa = &TN_LEAST_ISA; /* of those that were built */
#if defined(TN_HAVE_AVX2)
    if (has_avx2() && (!force || strcmp(force, "baseline") != 0))
        cpu.isa = &tn__isa_avx2;
#endif
#if defined(TN_HAVE_AVX512)
    if (has_avx512() && (!force || (strcmp(force, "baseline") != 0 && strcmp(force, "avx2") != 0)))
        cpu.isa = &tn__isa_avx512;
    if (cpu.isa == &tn__isa_avx512 && __builtin_cpu_supports("avx512bf16"))
        cpu.pairs = &tn__gemm_pairs_avx512;
#endif
    (void)force;
    (void)has_avx2;
    (void)has_avx512;
    const int64_t cache = tn__env_last_level_cache();
    cpu.stream_bytes = cache < STREAM_LEAST ? 2 * STREAM_LEAST : cache;
}

const tn__cpu_isa *tn__isa(void)
{
    pthread_once(&cpu.once, choose);
    return cpu.isa;
}

const tn__gemm_isa *tn__isa_pairs(void)
{
    pthread_once(&cpu.once, choose);
    return cpu.pairs;
}

int64_t tn__cpu_stream_bytes(void)
{
    pthread_once(&cpu.once, choose);
    return cpu.stream_bytes;
}

bool tn__cpu_streams(int64_t written, int64_t read)
{
    const int64_t most = tn__cpu_stream_bytes();
    if (4 * read < written) /* a fill: with two threads plain stores take half the time as long as the cache holds it */
        return written > most;
    const int64_t both = written + read;
    return 4 * written > read && (tn__num_threads() > 1 ? 2 * both > 3 * most : 4 * both > 5 * most);
}

void tn__cpu_set_stream_bytes(int64_t bytes)
{
    pthread_once(&cpu.once, choose);
    cpu.stream_bytes = bytes;
}

/* ---- the backend ---- */

static int32_t count(void)
{
    return 1;
}

static void cpu_name(char *out, size_t n)
{
    snprintf(out, n, "CPU");
    FILE *f = fopen("/proc/cpuinfo", "r");
    char line[256];
    while (f && fgets(line, sizeof line, f)) {
        const char *colon = strchr(line, ':');
        if (!strncmp(line, "model name", 10) && colon) {
            line[strcspn(line, "\n")] = '\0';
            snprintf(out, n, "%s", colon + 2);
            break;
        }
    }
    if (f)
        fclose(f);
}

static int64_t available_memory(void)
{
    FILE *f = fopen("/proc/meminfo", "r");
    char line[128];
    long long kib = 0;
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "MemAvailable: %lld kB", &kib) == 1)
            break;
    if (f)
        fclose(f);
    return (int64_t)kib << 10;
}

static void info(int32_t index, tn_device_info *out)
{
    (void)index;
    cpu_name(out->name, sizeof out->name);
    out->total_memory = tn__env_physical_memory();
    out->free_memory = available_memory();
    out->units = tn__num_threads();
    snprintf(out->detail, sizeof out->detail, "%s kernels; %s", tn__isa()->name, tn__blas_description());
}

static void release(tn__storage *s)
{
    tn__cpu_memory_count(-(int64_t)s->nbytes);
    tn__block_put(s->data, s->nbytes);
}

static tn__storage *allocate(tn_device device, size_t nbytes)
{
    void *data = nbytes ? tn__block_get(nbytes) : NULL;
    tn__storage *s = NULL;
    if (data || !nbytes)
        s = tn__storage_new(device, data, nbytes, nbytes ? release : NULL);
    if (TN_UNLIKELY(!s)) {
        tn__block_put(data, nbytes);
        tn_memory_statistics m = tn__cpu_memory_stats();
        return tn__fail(
            TN_ENOMEM,
            "CPU out of memory. Tried to allocate %s; this process holds %s in tensors and %s in all, the machine has "
            "%s left of %s",
            tn__size_str((int64_t)nbytes).s, tn__size_str(m.allocated).s, tn__size_str(m.reserved).s,
            tn__size_str(available_memory()).s, tn__size_str(tn__env_physical_memory()).s);
    }
    tn__cpu_memory_count((int64_t)nbytes);
    return s;
}

static tn_status synchronize(tn_device device)
{
    (void)device;
    return TN_OK;
}

static tn_memory_statistics memory_stats(tn_device device)
{
    (void)device;
    return tn__cpu_memory_stats();
}

static void reset_peak(tn_device device)
{
    (void)device;
    tn__cpu_memory_reset_peak();
}

static void empty_cache(tn_device device)
{
    (void)device;
    tn__cpu_empty_cache();
}

static const tn__kernel kernels[TN__ROWS] = {
#define KERNEL(op, kernel)     [TN__OP_##op] = tn__cpu_##kernel,
#define CPU_KERNEL(op, kernel) [TN__OP_##op] = tn__cpu_##kernel,
#include "op/kernels.def"
};

const tn__backend tn__cpu_backend = {
    .name = "cpu",
    .word = "cpu",
    .type = TN_DEVICE_CPU,
    .dlpack = TN_DL_CPU,
    .count = count,
    .info = info,
    .allocate = allocate,
    .elementwise = tn__cpu_elementwise,
    .copy = tn__cpu_iter_copy,
    .kernels = kernels,
    .synchronize = synchronize,
    .memory_stats = memory_stats,
    .reset_peak = reset_peak,
    .empty_cache = empty_cache,
};
