/* backend/cuda/memory_api.c: the functions of tenon/memory.h that only GPUs have. */
#include "backend/cuda/memory.h"
#include "core/error.h"
#include "core/thread.h"
#include <tenon/memory.h>

int64_t tn_memory_summary(tn_device device, char *out, size_t size)
{
    tn_device d;
    tn__enter(TN__NOWHERE);
    if (tn__cuda_resolve(device, &d))
        return -1;
    return tn__cuda_summary(d.index, out, size);
}

tn_status tn_cuda_mem_get_info(tn_device device, int64_t *free_bytes, int64_t *total_bytes)
{
    tn_device d;
    size_t left = 0, total = 0;
    tn__enter(TN__NOWHERE);
    tn_status e = tn__cuda_resolve(device, &d);
    tn__cuda_device *dev = e ? NULL : tn__cuda_use(d);
    if (!dev)
        return tn_error_code();
    e = tn__cuda_check(dev, tn__cu.mem_get_info(&left, &total), "cuMemGetInfo");
    if (e)
        return e;
    if (free_bytes)
        *free_bytes = (int64_t)left;
    if (total_bytes)
        *total_bytes = (int64_t)total;
    return TN_OK;
}

tn_status tn_cuda_set_per_process_memory_fraction(double fraction, tn_device device)
{
    tn_device d;
    tn__enter(TN__NOWHERE);
    tn_status e = tn__cuda_resolve(device, &d);
    if (e)
        return e;
    if (!(fraction >= 0 && fraction <= 1))
        return tn__error(TN_EVALUE, "Invalid fraction value: %g. Allowed range: 0~1", fraction);
    if (tn__cuda_forked())
        return tn__cuda_refuse_child();
    return tn__cuda_set_memory_fraction(tn__cuda_slot(d.index), fraction);
}
