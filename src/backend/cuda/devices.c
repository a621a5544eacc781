/* Which CUDA devices there are, by the names of the public functions, and which is current. */
#include "backend/cuda/cuda.h"
#include "core/thread.h"
#include <tenon/cuda.h>

int32_t tn_cuda_device_count(void)
{
    return tn__gpu_count(TN_DEVICE_CUDA);
}

bool tn_cuda_is_available(void)
{
    return tn_cuda_device_count() > 0;
}

tn_device tn_try_gpu(int32_t i)
{
    return i >= 0 && i < tn_cuda_device_count() ? TN_CUDA(i) : TN_CPU;
}

size_t tn_try_all_gpus(tn_device *out, size_t cap)
{
    size_t n = (size_t)tn_cuda_device_count();
    for (size_t i = 0; i < n && i < cap; i++)
        out[i] = TN_CUDA((int32_t)i);
    if (n)
        return n;
    if (cap)
        out[0] = TN_CPU;
    return 1;
}

size_t tn_cuda_devices_by_free_memory(tn_device *out, size_t cap)
{
    tn_device_info best, next;
    int32_t n = tn_cuda_device_count();
    bool taken[TN__GPU_EACH] = {false};
    n = TN_MIN(n, TN__GPU_EACH);
    for (int32_t k = 0; k < n && (size_t)k < cap; k++) { /* few devices: the largest of the rest, each time */
        int32_t at = -1;
        for (int32_t i = 0; i < n; i++) {
            if (taken[i])
                continue;
            memset(&next, 0, sizeof next);
            tn__cuda_info(i, &next);
            if (at >= 0 && next.free_memory <= best.free_memory)
                continue;
            at = i;
            best = next;
        }
        taken[at] = true;
        out[k] = TN_CUDA(at);
    }
    return (size_t)n;
}

int32_t tn_cuda_current_device(void)
{
    return tn__self()->current_device[TN_DEVICE_CUDA];
}

tn_status tn_cuda_set_device(int32_t index)
{
    tn_device d;
    tn__thread *t = tn__enter(TN__NOWHERE);
    if (index < 0)
        return TN_OK;
    tn_status e = tn__gpu_resolve(TN_CUDA(index), &d);
    if (!e)
        t->current_device[TN_DEVICE_CUDA] = index;
    return e;
}
