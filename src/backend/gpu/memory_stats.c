/* backend/gpu/memory_stats.c: the functions of tenon/memory.h that only GPUs have, and what GPUs answer to the others. */
#include "backend/gpu/arena.h"
#include "core/error.h"
#include "core/thread.h"
#include <tenon/memory.h>

void tn__gpu_statistics_of(tn_device device, tn__gpu_statistics *out)
{
    memset(out, 0, sizeof *out);
    if (tn__gpu_forked())
        return;
    tn__gpu_arena *a = tn__gpu_arena_of(tn__gpu_slot(device));
    pthread_mutex_lock(&a->lock);
    *out = a->stats;
    pthread_mutex_unlock(&a->lock);
}

static void level(tn__gpu_tally *c)
{
    for (int k = 0; k < TN__GPU_KINDS; k++)
        c[k].peak = c[k].now;
}

void tn__gpu_reset_peak(tn_device device)
{
    if (tn__gpu_forked())
        return;
    tn__gpu_arena *a = tn__gpu_arena_of(tn__gpu_slot(device));
    tn__gpu_statistics *s = &a->stats;
    pthread_mutex_lock(&a->lock);
    level(s->allocated_bytes);
    level(s->active_bytes);
    level(s->requested_bytes);
    level(s->reserved_bytes);
    level(s->inactive_split_bytes);
    level(s->allocation);
    level(s->active);
    level(s->segment);
    level(s->inactive_split);
    s->oversize_allocation.peak = s->oversize_allocation.now;
    s->oversize_segment.peak = s->oversize_segment.now;
    pthread_mutex_unlock(&a->lock);
}

tn_memory_statistics tn__gpu_memory_stats(tn_device device)
{
    tn__gpu_statistics s;
    tn__gpu_statistics_of(device, &s);
    return (tn_memory_statistics){
        .allocated = s.allocated_bytes->now,
        .allocated_peak = s.allocated_bytes->peak,
        .reserved = s.reserved_bytes->now,
        .reserved_peak = s.reserved_bytes->peak,
        .allocations = s.device_allocs,
        .requested = s.requested_bytes->now,
        .requested_peak = s.requested_bytes->peak,
        .active = s.active_bytes->now,
        .active_peak = s.active_bytes->peak,
        .inactive_split = s.inactive_split_bytes->now,
        .inactive_split_peak = s.inactive_split_bytes->peak,
        .segments = s.segment->now,
        .segments_peak = s.segment->peak,
        .blocks = s.allocation->now,
        .blocks_peak = s.allocation->peak,
        .total_blocks = s.allocation->up,
        .releases = s.device_frees,
        .retries = s.alloc_retries,
        .ooms = s.ooms,
    };
}

void tn__gpu_empty_siblings(const tn__gpu_device *dev)
{
    for (const tn__gpu_device *s = dev->first; s; s = tn__gpu_sibling(s))
        if (s != dev)
            tn__gpu_empty_cache(s->device);
}

int64_t tn_memory_summary(tn_device device, char *out, size_t size)
{
    tn_device d;
    tn__enter(TN__NOWHERE);
    if (tn__gpu_resolve(device, &d))
        return -1;
    return tn__gpu_summary(d, out, size);
}

tn_status tn_cuda_mem_get_info(tn_device device, int64_t *free_bytes, int64_t *total_bytes)
{
    tn_device d;
    size_t left = 0, total = 0;
    TN__DOOR(tn__enter(TN__NOWHERE));
    tn_status e = tn__gpu_resolve(device, &d);
    tn__gpu_device *dev = e ? NULL : tn__gpu_use(d);
    if (!dev)
        return tn_error_code();
    e = tn__gpu_check(dev, dev->driver->memory_info(&left, &total), "asking for free memory");
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
    tn_status e = tn__gpu_resolve(device, &d);
    if (e)
        return e;
    if (!(fraction >= 0 && fraction <= 1))
        return tn__error(TN_EVALUE, "Invalid fraction value: %g. Allowed range: 0~1", fraction);
    if (tn__gpu_forked())
        return tn__gpu_refuse_child(d.type);
    return tn__gpu_set_memory_fraction(tn__gpu_slot(d), fraction);
}
