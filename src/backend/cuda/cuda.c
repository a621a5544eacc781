/* The CUDA backend: one const struct. */
#include "backend/cuda/cuda.h"
#include <tenon/dlpack.h>

static tn__ledger ledgers[TN__LEDGER_DEVICES];

static int32_t count(void)
{
    return tn__gpu_count(TN_DEVICE_CUDA);
}

static tn_status why_none(void)
{
    return tn__gpu_why_none(TN_DEVICE_CUDA);
}

static int32_t ordinal(int32_t index)
{
    return tn__gpu_slot(TN_CUDA(index))->ordinal;
}

const tn__backend tn__cuda_backend = {
    .name = "cuda",
    .word = "cuda",
    .type = TN_DEVICE_CUDA,
    .count = count,
    .info = tn__cuda_info,
    .allocate = tn__gpu_allocate,
    .elementwise = tn__gpu_elementwise,
    .copy = tn__gpu_copy_iter,
    .kernels = tn__gpu_kernels,
    .synchronize = tn__gpu_synchronize,
    .memory_stats = tn__gpu_memory_stats,
    .reset_peak = tn__gpu_reset_peak,
    .empty_cache = tn__gpu_empty_cache,
    .mover = &tn__gpu_mover,
    .queue = &tn__gpu_queue,
    .gpu = &tn__cuda_driver,
    .why_none = why_none,
    .ledgers = ledgers,
    .vendor_variable = "CUDA_VISIBLE_DEVICES",
    .dlpack = TN_DL_CUDA,
    .dlpack_pinned = TN_DL_CUDA_HOST,
    .ordinal = ordinal,
};
