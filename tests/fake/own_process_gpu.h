/* tests/fake/own_process_gpu.h: what a test that ran alone must leave behind: nothing. */
#ifndef TENON_TESTS_FAKE_OWN_PROCESS_GPU_H
#define TENON_TESTS_FAKE_OWN_PROCESS_GPU_H

#include "fake/own_process.h"
#include "backend/cuda/cuda.h"

/* The fake GPUs have nothing to report that nobody has read, on whatever thread. */
static inline void check_silent(const char *file, int line)
{
    char report[1024] = "";
    uint64_t n[16] = {0};
    if (tn__cu.fake_counters)
        tn__cu.fake_counters(-1, n);
    if (!n[TN__FAKE_UNHEARD])
        return;
    tn__cu.fake_report(report, sizeof report);
    print_error("%d reports of the fake GPUs were not read; of this thread: %s\n", (int)n[TN__FAKE_UNHEARD], report);
    _fail(file, line);
}
#define SILENT() check_silent(__FILE__, __LINE__)

/* Nothing is left: of memory on the devices, of pinned memory (but the words that each device in use has for faults). */
static inline void check_clean(const char *file, int line)
{
    uint64_t n[16] = {0}, used = 0;
    tn_empty_pinned_cache();
    for (int i = 0; i < tn__gpu_count(TN_DEVICE_CUDA); i++)
        tn_empty_cache(TN_CUDA(i));
    for (int i = 0; i < tn__gpu_count(TN_DEVICE_CUDA); i++) {
        used += tn__cu.fake_counters && atomic_load(&tn__gpu_slot(TN_CUDA(i))->ready);
        if (tn__cu.fake_counters)
            tn__cu.fake_counters(tn__gpu_slot(TN_CUDA(i))->ordinal, n);
        if (n[TN__FAKE_LIVE] || tn_memory_stats(TN_CUDA(i)).reserved) {
            print_error("cuda:%d: %d blocks of the driver's are left\n", i, (int)n[TN__FAKE_LIVE]);
            _fail(file, line);
        }
    }
    if (tn__cu.fake_counters)
        tn__cu.fake_counters(-1, n);
    if (n[TN__FAKE_LIVE] != used || tn_pinned_memory_stats().reserved) {
        print_error("%d pinned blocks are left, %d devices are in use\n", (int)n[TN__FAKE_LIVE], (int)used);
        _fail(file, line);
    }
    check_silent(file, line);
}
#define CLEAN() check_clean(__FILE__, __LINE__)

#endif
