/* Moves between devices. Memory that lies alike on both sides, in one dtype, is one raw move. Otherwise one side packs
 * (copies into a temporary that can be moved raw), or the other unpacks (out of such a temporary), or both:
 *   - what crosses has the smaller one of the two dtypes, so that fewer bytes cross; of equally large ones the side that
 *     is not the CPU converts;
 *   - elements that broadcasting repeats cross once;
 *   - where either side could put the elements in order, the one that is not the CPU does.
 * Temporaries are taken and released in the order of their device's current stream, on which all of this runs. */
#include "backend/transfer.h"
#include "backend/backend.h"
#include "backend/host_touch.h"
#include "core/alloc.h"
#include "core/error.h"

typedef struct plan {
    tn__spec wire; /* what crosses */
    bool pack, unpack;
} plan;

static bool is_host(const tn_tensor *t)
{
    return t->device.type == TN_DEVICE_CPU;
}

static bool is_dense(const tn_tensor *t)
{
    return tn__contiguous(t) || tn__is_dense(t->shape, t->stride, t->ndim);
}

/* Do elements of the same place lie alike? Both are dense, of equally many elements that broadcast to each other. */
static bool lie_alike(const tn_tensor *a, const tn_tensor *b)
{
    if (tn__contiguous(a) && tn__contiguous(b))
        return true;
    return tn__same_shape(a->shape, a->ndim, b->shape, b->ndim) &&
           tn__same_shape(a->stride, a->ndim, b->stride, b->ndim);
}

static tn_dtype wire_dtype(const tn_tensor *to, const tn_tensor *from)
{
    size_t a = tn__dtype_size(from->dtype), b = tn__dtype_size(to->dtype);
    if (a != b)
        return a < b ? from->dtype : to->dtype;
    return is_host(from) ? from->dtype : to->dtype;
}

static void lie_as(tn__spec *wire, const tn_tensor *t)
{
    wire->ndim = t->ndim;
    wire->strided = !tn__contiguous(t);
    for (int32_t d = 0; d < t->ndim; d++) {
        wire->shape[d] = t->shape[d];
        wire->stride[d] = t->stride[d];
    }
}

static plan make_plan(const tn_tensor *to, const tn_tensor *from)
{
    plan p = {.wire = {.dtype = wire_dtype(to, from)}};
    bool from_fits = p.wire.dtype == from->dtype && is_dense(from);
    bool to_fits = p.wire.dtype == to->dtype && is_dense(to) &&
                   (tn__same_shape(from->shape, from->ndim, to->shape, to->ndim) ||
                    (from->numel == to->numel && tn__contiguous(from) && tn__contiguous(to)));
    bool alike = from_fits && to_fits && lie_alike(from, to);
    p.pack = !from_fits || (to_fits && !alike && !is_host(from));
    p.unpack = !to_fits || (!p.pack && !alike);
    lie_as(&p.wire, p.pack && to_fits ? to : from);
    if (p.pack && !to_fits)
        p.wire.strided = false; /* row-major */
    return p;
}

/* ---- raw moves ---- */

/* Between devices of two kinds that are both not the CPU. */
static tn_status move_through_host(const tn_tensor *to, const tn_tensor *from, size_t bytes)
{
    void *host = tn__block_get(bytes);
    if (!host)
        return tn__error_memory("a copy between devices", bytes);
    tn_status e =
        tn__backend_of(from->device)->mover->download(from->device, host, tn__tensor_data(from), bytes, false, false);
    if (!e)
        e = tn__backend_of(to->device)->mover->upload(to->device, tn__tensor_data(to), host, bytes, false, false);
    tn__block_put(host, bytes);
    return e;
}

/* The device's current stream works on t's memory, which may belong to another one (pinned memory belongs to none). */
static void note_use(tn_device device, const tn_tensor *t)
{
    const tn__queue *q = tn__backend_of(device)->queue;
    tn__stream *s = q ? q->current(device) : NULL;
    if (s && (t->storage->pinned || (t->storage->stream && t->storage->stream != s)))
        q->used(t->storage, s);
}

/* All of from's memory into all of to's, as it lies. */
static tn_status move(const tn_tensor *to, const tn_tensor *from, bool non_blocking)
{
    const tn__mover *up = tn__backend_of(to->device)->mover, *down = tn__backend_of(from->device)->mover;
    size_t bytes = (size_t)from->numel * tn__dtype_size(from->dtype);
    void *p = tn__tensor_data(to), *q = tn__tensor_data(from);
    tn_status e;
    if (is_host(from)) {
        bool pinned = from->storage->pinned;
        e = up->upload(to->device, p, q, bytes, pinned, non_blocking);
        if (pinned && (non_blocking || e)) /* a wait that was interrupted leaves the copy at work */
            note_use(to->device, from);
    } else if (is_host(to)) {
        bool pinned = to->storage->pinned;
        e = down->download(from->device, p, q, bytes, pinned, non_blocking);
        if (pinned && (non_blocking || e))
            note_use(from->device, to);
    } else {
        e = to->device.type == from->device.type ? up->peer(to->device, p, from->device, q, bytes)
                                                 : move_through_host(to, from, bytes);
    }
    if (!is_host(from))
        note_use(from->device, from);
    if (!is_host(to))
        note_use(to->device, to);
    return e;
}

/* ---- packing ---- */

/* to = from on one device, converted and broadcast. */
static tn_status copy_here(const tn_tensor *to, const tn_tensor *from)
{
    const tn__view out = tn__view_of(to), in = tn__view_of(from);
    tn__iter it;
    tn__iter_copy(&it, &out, &in);
    tn_status e = tn__host_touch(from, false);
    if (!e)
        e = tn__host_touch(to, true);
    if (!e)
        e = tn__backend_of(to->device)->copy(to->device, &it);
    if (!is_host(to)) {
        note_use(to->device, to);
        note_use(to->device, from);
    }
    return e;
}

static tn_status carry_out(const plan *p, const tn_tensor *to, const tn_tensor *from, bool non_blocking)
{
    tn_tensor *packed = p->pack ? tn__tensor_make(&p->wire, from->device) : NULL;
    tn_tensor *landed = p->unpack ? tn__tensor_make(&p->wire, to->device) : NULL;
    tn_status e = (p->pack && !packed) || (p->unpack && !landed) ? tn_error_code() : TN_OK;
    if (!e && packed)
        e = copy_here(packed, from);
    if (!e)
        e = move(landed ? landed : to, packed ? packed : from, non_blocking);
    if (!e && landed)
        e = copy_here(to, landed);
    tn__object_release(packed);
    tn__object_release(landed);
    return e;
}

/* ---- the door ---- */

/* Another tensor struct that shows each element of an expanded tensor once; NULL with an error set. */
static tn_tensor *unexpanded(const tn_tensor *t)
{
    tn_tensor *a = tn__tensor_alias(t);
    if (!a)
        return NULL;
    for (int32_t d = 0; d < a->ndim; d++)
        if (a->stride[d] == 0)
            a->shape[d] = 1;
    tn__tensor_geometry(a);
    return a;
}

static bool is_expanded(const tn_tensor *t)
{
    for (int32_t d = 0; d < t->ndim && !tn__contiguous(t); d++)
        if (t->stride[d] == 0 && t->shape[d] > 1)
            return true;
    return false;
}

tn_status tn__transfer(const tn_tensor *to, const tn_tensor *from, bool non_blocking)
{
    if (to->device.type == TN_DEVICE_META)
        return TN_OK;
    if (from->device.type == TN_DEVICE_META)
        return tn__error(TN_EDEVICE, "Cannot copy out of meta tensor; no data!");
    if (to->numel == 0)
        return TN_OK;
    tn_tensor *once = NULL;
    if (is_expanded(from) && !(once = unexpanded(from)))
        return tn_error_code();
    const tn_tensor *source = once ? once : from;
    const plan p = make_plan(to, source);
    tn_status e = carry_out(&p, to, source, non_blocking);
    tn__object_release(once);
    return e;
}
