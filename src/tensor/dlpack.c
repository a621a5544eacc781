/* Memory shared with other libraries in both directions: tenon/dlpack.h. */
#include "autograd/functions.h"
#include "backend/backend.h"
#include "backend/gpu/driver.h"
#include "backend/host_touch.h"
#include "core/alloc.h"
#include "op/infer.h"
#include <tenon/cuda.h>
#include <stdio.h>
#include <tenon/dlpack.h>

_Static_assert(sizeof(tn_dl_dtype) == 4 && sizeof(tn_dl_device) == 8, "as the ABI has them");
_Static_assert(sizeof(void *) != 8 ||
                   (sizeof(tn_dl_tensor) == 48 && sizeof(tn_dl_managed) == 64 && sizeof(tn_dl_managed_versioned) == 80),
               "as the ABI has them");

static const uint8_t dl_codes[] = {
    [TN__KIND_BOOL] = TN_DL_BOOL,  [TN__KIND_INT] = TN_DL_INT,       [TN__KIND_UINT] = TN_DL_UINT,
    [TN__KIND_HALF] = TN_DL_FLOAT, [TN__KIND_BFLOAT] = TN_DL_BFLOAT, [TN__KIND_FLOAT] = TN_DL_FLOAT};

static tn_dl_dtype dl_dtype(tn_dtype d)
{
    return (tn_dl_dtype){dl_codes[tn__dtypes[d].kind], (uint8_t)(8 * tn__dtype_size(d)), 1};
}

/* ---- out ---- */

/* What is given away: one block of memory, which holds the storage. */
typedef struct given {
    union {
        tn_dl_managed legacy;
        tn_dl_managed_versioned versioned;
    } u;
    tn__storage *storage;
    int64_t shape[TN_MAX_DIMS], stride[TN_MAX_DIMS];
} given;

static void give_up(given *g)
{
    tn__storage_release(g->storage);
    tn__block_put(g, sizeof *g);
}

static void delete_legacy(tn_dl_managed *m)
{
    if (m)
        give_up(m->manager_ctx);
}

static void delete_versioned(tn_dl_managed_versioned *m)
{
    if (m)
        give_up(m->manager_ctx);
}

/* The consumer's stream goes on when what is on the current one now is done: unless they are the same, it waits for an event.
 * The handles 1 and 2 are the driver's own words for the default streams. */
static tn_status order(const tn_tensor *t, int64_t stream)
{
    const tn__queue *q = tn__backend_of(t->device)->queue;
    if (!q || stream == -1)
        return TN_OK;
    if (stream < -1 || stream == 0)
        return tn__error(TN_EVALUE,
                         "tn_to_dlpack: %lld is no stream: -1 (no order), 1 (the legacy default stream), 2 "
                         "(each thread's) or a handle",
                         (long long)stream);
    if (q->gone(t->storage))
        return tn__error(TN_EDEVICE, "tn_to_dlpack: the tensor is void: tn_cuda_reset took the memory of %s away",
                         tn_device_text(t->device).s);
    tn__stream *s = q->current(t->device);
    if (!s)
        return tn_error_code();
    const uintptr_t handle = (uintptr_t)tn_stream_handle(s);
    if (handle == (uintptr_t)stream || (handle == 0 && stream == 1))
        return TN_OK;
    tn_stream *consumer = tn_cuda_stream_from_handle((void *)(uintptr_t)stream, t->device);
    tn_status e = consumer ? TN__QUEUED(dlpack_given, q->wait(consumer, s)) : tn_error_code();
    tn_stream_release(consumer);
    return e;
}

static given *give(tn_tensor *t, int64_t stream, tn_dl_tensor *out)
{
    (void)tn__enter(TN__NOWHERE);
    if (!t || t == TN_NONE) {
        if (!t)
            tn__poisoned("tn_to_dlpack");
        return t ? tn__fail(TN_ETYPE, "tn_to_dlpack: a tensor was expected, not TN_NONE") : NULL;
    }
    if (tn__wants_grad(t))
        return tn__fail(TN_EGRAD, "Can't export tensors that require gradient, use tensor.detach()");
    const tn__backend *b = tn__backend_of(t->device);
    if (!b->dlpack)
        return tn__fail(TN_EDEVICE, "tn_to_dlpack: a tensor on %s has no memory to share", tn_device_text(t->device).s);
    if (order(t, stream) || tn__host_touch(t, false))
        return NULL;
    given *g = tn__block_get(sizeof *g);
    if (!g) {
        tn__error_memory("a DLPack tensor", sizeof *g);
        return NULL;
    }
    memset(g, 0, sizeof *g);
    g->storage = tn__storage_retain(t->storage);
    for (int32_t d = 0; d < t->ndim; d++) {
        g->shape[d] = t->shape[d];
        g->stride[d] = t->shape[d] == 1 ? 1 : t->stride[d];
    }
    tn__storage_expose(t->storage);
    *out = (tn_dl_tensor){.data = tn__tensor_data(t),
                          .device = {b->dlpack, b->ordinal ? b->ordinal(t->device.index) : 0},
                          .ndim = t->ndim,
                          .dtype = dl_dtype(t->dtype),
                          .shape = g->shape,
                          .strides = g->stride};
    return g;
}

tn_dl_managed_versioned *tn_to_dlpack(tn_tensor *t, int64_t stream)
{
    tn_dl_tensor out;
    given *g = give(t, stream, &out);
    if (!g)
        return NULL;
    g->u.versioned = (tn_dl_managed_versioned){.version = {1, 0},
                                               .manager_ctx = g,
                                               .deleter = delete_versioned,
                                               .flags = g->storage->read_only ? TN_DL_READ_ONLY : 0,
                                               .tensor = out};
    return &g->u.versioned;
}

tn_dl_managed *tn_to_dlpack_legacy(tn_tensor *t, int64_t stream)
{
    tn_dl_tensor out;
    given *g = give(t, stream, &out);
    if (g && g->storage->read_only) {
        give_up(g);
        return tn__fail(TN_EINVAL, "tn_to_dlpack_legacy: the tensor shows read-only memory, which consumers before "
                                   "DLPack 1.0 do not know: clone it first");
    }
    if (!g)
        return NULL;
    g->u.legacy = (tn_dl_managed){.tensor = out, .manager_ctx = g, .deleter = delete_legacy};
    return &g->u.legacy;
}

/* ---- in ---- */

static tn_status find_dtype(const tn_dl_dtype *d, tn_dtype *out)
{
    for (tn_dtype k = 1; k < (tn_dtype)TN__DTYPES; k++)
        if (dl_dtype(k).code == d->code && dl_dtype(k).bits == d->bits && d->lanes == 1) {
            *out = k;
            return TN_OK;
        }
    return tn__error(TN_EDTYPE, "tn_from_dlpack: no dtype of Tenon's is of code %d with %d bits and %d lanes",
                     (int)d->code, (int)d->bits, (int)d->lanes);
}

/* The device of the backend that others call by that ordinal: of several the current one, else the first. -1: none. */
static int32_t of_ordinal(const tn__backend *b, int32_t ordinal)
{
    const int32_t n = b->count(), now = tn__self()->current_device[b->type];
    int32_t i = 0;
    if (now < n && b->ordinal(now) == ordinal)
        return now;
    while (i < n && b->ordinal(i) != ordinal)
        i++;
    return i < n ? i : -1;
}

/* Whose memory has devices of that DLDeviceType; page-locked memory is the CPU's. NULL: nobody's. */
static const tn__backend *of_dl_type(int32_t type)
{
    for (int32_t i = TN_DEVICE_CPU; i < TN_DEVICE_META; i++) {
        const tn__backend *b = tn__backends[i];
        if (b && type && b->dlpack == type)
            return b;
        if (b && type && b->dlpack_pinned == type)
            return tn__backends[TN_DEVICE_CPU];
    }
    return NULL;
}

/* Whose memory can be used: "1 (cpu), 2 (cuda), 3 (cuda's pinned memory)". */
static void write_dl_types(char *text, size_t size)
{
    size_t n = 0;
    for (int32_t i = TN_DEVICE_CPU; i < TN_DEVICE_META; i++) {
        const tn__backend *b = tn__backends[i];
        if (b && b->dlpack && n < size)
            n += (size_t)snprintf(text + n, size - n, "%s%d (%s)", n ? ", " : "", (int)b->dlpack, b->word);
        if (b && b->dlpack_pinned && n < size)
            n += (size_t)snprintf(text + n, size - n, ", %d (%s's pinned memory)", (int)b->dlpack_pinned, b->word);
    }
}

static tn_status find_device(const tn_dl_device *d, tn_device *out)
{
    const tn__backend *b = of_dl_type(d->type);
    *out = TN_CPU;
    if (b && b->type == TN_DEVICE_CPU)
        return TN_OK;
    if (!b || !b->ordinal) {
        char types[128] = "";
        write_dl_types(types, sizeof types);
        return tn__error(TN_EDEVICE, "tn_from_dlpack: memory of the device type %d cannot be used: that of %s can",
                         (int)d->type, types);
    }
    const int32_t index = d->id < 0 ? -1 : of_ordinal(b, d->id);
    if (index >= 0 || d->id >= b->count()) /* the latter is refused there */
        return tn__device_resolve(tn_device_make(b->type, index >= 0 ? index : d->id), out);
    return tn__error(TN_EDEVICE, "tn_from_dlpack: there is no device %d%s%s", (int)d->id, d->id < 0 ? "" : " in ",
                     d->id < 0 ? "" : b->gpu->visible_variable);
}

/* Sizes and strides; *extent: elements from the first to the last. */
static tn_status check_geometry(const tn_dl_tensor *t, tn_dtype dtype, int64_t *extent)
{
    int64_t numel, last = 0, step;
    if (t->ndim < 0 || t->ndim > TN_MAX_DIMS)
        return tn__error(TN_EINVAL, "tn_from_dlpack: %d dimensions; tensors have 0 to %d", (int)t->ndim, TN_MAX_DIMS);
    if (t->ndim && !t->shape)
        return tn__error(TN_EINVAL, "tn_from_dlpack: the shape is NULL");
    if (!tn__shape_numel(t->shape, t->ndim, tn__dtype_size(dtype), &numel))
        return tn__error(TN_EINVAL, "tn_from_dlpack: the shape %s is negative or larger than memory can be",
                         tn__shape_str(t->shape, t->ndim).s);
    for (int32_t d = 0; t->strides && d < t->ndim; d++) {
        if (t->strides[d] < 0 && t->shape[d] > 1)
            return tn__error(TN_EVALUE,
                             "tn_from_dlpack: the stride of dimension %d is negative (%lld), which is not "
                             "supported",
                             (int)d, (long long)t->strides[d]);
        if (numel && t->shape[d] > 1 &&
            (__builtin_mul_overflow(t->strides[d], t->shape[d] - 1, &step) ||
             __builtin_add_overflow(last, step, &last) || last > INT64_MAX / 16))
            return tn__error(TN_EINVAL, "tn_from_dlpack: the strides reach beyond what an index can count");
    }
    *extent = numel == 0 ? 0 : t->strides ? last + 1 : numel;
    if (numel && !t->data)
        return tn__error(TN_EINVAL, "tn_from_dlpack: the data is NULL");
    const uintptr_t first = (uintptr_t)t->data + (uintptr_t)t->byte_offset;
    if (numel && first % tn__dtype_size(dtype))
        return tn__error(TN_EINVAL,
                         "tn_from_dlpack: the data lies at an address that is no multiple of %zu, the size of "
                         "its elements (%s): copy it first",
                         tn__dtype_size(dtype), tn__dtypes[dtype].name);
    return TN_OK;
}

/* On a GPU the owner may do with the memory what it likes only when queued work is done. */
static void wait_for(const tn__storage *s)
{
    const tn__queue *q = tn__backend_of(s->device)->queue;
    tn__stream *stream = q ? q->current(s->device) : NULL;
    if (stream && TN__QUEUED(dlpack_returned, q->synchronize(stream)))
        tn_error_clear(); /* nobody could be told */
}

static void return_legacy(tn__storage *s)
{
    tn_dl_managed *m = s->ctx;
    wait_for(s);
    if (m->deleter)
        m->deleter(m);
}

static void return_versioned(tn__storage *s)
{
    tn_dl_managed_versioned *m = s->ctx;
    wait_for(s);
    if (m->deleter)
        m->deleter(m);
}

static tn_tensor *take(const tn_dl_tensor *t, void *owner, bool read_only, void (*release)(tn__storage *))
{
    tn__thread *self = tn__self();
    int64_t stride[TN_MAX_DIMS], extent = 0;
    tn_dtype dtype = 0;
    tn_device device;
    if (find_dtype(&t->dtype, &dtype) || find_device(&t->device, &device) || check_geometry(t, dtype, &extent))
        return NULL;
    for (int32_t d = 0; t->strides && d < t->ndim; d++) /* that of a dimension of size 1 may be anything */
        stride[d] = t->shape[d] > 1 ? t->strides[d] : 1;
    tn_tensor *out = tn__tensor_new(dtype, device, t->shape, t->ndim, t->strides ? stride : NULL);
    if (!out)
        return NULL;
    char *data = t->data ? (char *)t->data + t->byte_offset : NULL;
    out->storage = tn__storage_new(device, data, (size_t)extent * tn__dtype_size(dtype), release);
    if (!out->storage) {
        tn__object_release(out);
        return tn__fail(TN_ENOMEM, "out of memory for a storage's description");
    }
    out->storage->ctx = owner;
    out->storage->read_only = read_only;
    tn__scope_adopt(self, out);
    return out;
}

tn_tensor *tn_from_dlpack(tn_dl_managed_versioned *m)
{
    (void)tn__enter(TN__NOWHERE);
    if (!m)
        return tn__fail(TN_EINVAL, "tn_from_dlpack: NULL");
    if (m->version.major != 1)
        return tn__fail(TN_EINVAL, "tn_from_dlpack: DLPack %u.%u is not known, 1.x is", (unsigned)m->version.major,
                        (unsigned)m->version.minor);
    return take(&m->tensor, m, m->flags & TN_DL_READ_ONLY, return_versioned);
}

tn_tensor *tn_from_dlpack_legacy(tn_dl_managed *m)
{
    (void)tn__enter(TN__NOWHERE);
    return m ? take(&m->tensor, m, false, return_legacy) : tn__fail(TN_EINVAL, "tn_from_dlpack_legacy: NULL");
}
