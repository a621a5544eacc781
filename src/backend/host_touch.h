/* backend/host_touch.h: the host is about to read or write a tensor's elements. An error where they lie in pinned memory that a
 * queued copy still writes, or, for a write, reads, and nothing says that it is done. Real GPUs do not know: there, and wherever
 * memory is not pinned, this is one branch. */
#ifndef TENON_BACKEND_HOST_TOUCH_H
#define TENON_BACKEND_HOST_TOUCH_H

#include "core/tensor.h"

/* Pinned memory has been made whose device knows. */
extern _Atomic bool tn__pinned_watched;

TN_COLD tn_status tn__host_touch_watched(const tn_tensor *t, bool write);

static inline bool tn__host_is_watched(void)
{
    return TN_UNLIKELY(atomic_load_explicit(&tn__pinned_watched, memory_order_relaxed));
}

static inline tn_status tn__host_touch(const tn_tensor *t, bool write)
{
    return tn__host_is_watched() ? tn__host_touch_watched(t, write) : TN_OK;
}

#endif
