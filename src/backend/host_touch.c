/* backend/host_touch.c: what the host reads and writes of pinned memory, told to devices that know what is still queued there:
 * fake GPUs. Exactly the bytes: of what lies apart, piece by piece, so that a copy between the pieces is no fault. */
#include "backend/host_touch.h"
#include "backend/backend.h"

_Atomic bool tn__pinned_watched;

enum { MOST_PIECES = 4096 }; /* what lies in more is not asked about */

/* How many of the last dimensions are one piece, and how many such pieces there are. */
static int64_t pieces_of(const tn_tensor *t, int32_t *outer, size_t *elements)
{
    int64_t n = 1, piece = 1;
    int32_t d = t->ndim;
    for (; d > 0 && (t->shape[d - 1] == 1 || t->stride[d - 1] == piece); d--)
        piece *= t->shape[d - 1];
    *outer = d;
    *elements = (size_t)piece;
    for (int32_t i = 0; i < d; i++)
        n *= t->stride[i] ? t->shape[i] : 1;
    return n;
}

/* The i-th piece's offset, in elements. */
static int64_t offset_of(const tn_tensor *t, int32_t outer, int64_t i)
{
    int64_t offset = 0;
    for (int32_t d = outer; d-- > 0;) {
        if (!t->stride[d])
            continue;
        offset += i % t->shape[d] * t->stride[d];
        i /= t->shape[d];
    }
    return offset;
}

tn_status tn__host_touch_watched(const tn_tensor *t, bool write)
{
    const tn__storage *s = t->storage;
    if (t->device.type != TN_DEVICE_CPU || !s || !atomic_load_explicit(&s->pinned, memory_order_relaxed) || !t->numel)
        return TN_OK;
    const tn__backend *b = tn__accelerator();
    const size_t size = tn__dtype_size(t->dtype);
    if (!b || !b->mover->touch)
        return TN_OK;
    if (tn__is_dense(t->shape, t->stride, t->ndim))
        return b->mover->touch(s, tn__tensor_data(t), (size_t)t->numel * size, write);
    int32_t outer;
    size_t elements;
    const int64_t n = pieces_of(t, &outer, &elements);
    tn_status e = TN_OK;
    for (int64_t i = 0; i < n && n <= MOST_PIECES && !e; i++)
        e = b->mover->touch(s, (const char *)tn__tensor_data(t) + offset_of(t, outer, i) * (int64_t)size,
                            elements * size, write);
    return e;
}
