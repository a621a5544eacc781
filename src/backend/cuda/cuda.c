/* The CUDA backend: one const struct. */
#include "backend/cuda/cuda.h"
#include "core/error.h"

tn_status tn__cuda_resolve(tn_device asked, tn_device *out)
{
    if (asked.type == TN_DEVICE_DEFAULT)
        asked = TN_CUDA(-1);
    if (asked.type != TN_DEVICE_CUDA)
        return asked.type == TN_DEVICE_INVALID && tn_error_code()
                   ? tn_error_code()
                   : tn__error(TN_EVALUE, "Expected a cuda device, but got: %s", tn_device_text(asked).s);
    return tn__device_resolve(asked, out);
}

static const tn__kernel kernels[TN__OPS] = {
#define KERNEL(op, kernel) [TN__OP_##op] = tn__gpu_##kernel,
#define CPU_KERNEL(op, kernel)
#include "op/kernels.def"
};

const tn__backend tn__cuda_backend = {
    .name = "cuda",
    .type = TN_DEVICE_CUDA,
    .count = tn__cuda_count,
    .info = tn__cuda_info,
    .allocate = tn__cuda_allocate,
    .elementwise = tn__gpu_elementwise,
    .copy = tn__gpu_copy_iter,
    .kernels = kernels,
    .synchronize = tn__cuda_synchronize,
    .memory_stats = tn__cuda_memory_stats,
    .reset_peak = tn__cuda_reset_peak,
    .empty_cache = tn__cuda_empty_cache,
    .mover = &tn__cuda_mover,
    .queue = &tn__cuda_queue,
    .gpu = &tn__cuda_driver,
    .why_none = tn__cuda_why_none,
};
