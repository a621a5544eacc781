/* backend/backend.h: what a backend is: one const struct of functions. Capability is the table: an operation without a
 * kernel is an error naming operation, dtype and device, never a trip through the host.
 *
 * Kernels see views of memory, never tensors. They run in the order in which they are called on a device; on the CPU
 * they are done when they return.
 */
#ifndef TENON_BACKEND_BACKEND_H
#define TENON_BACKEND_BACKEND_H

#include "backend/stream.h"
#include "core/storage.h"
#include "op/iter.h"
#include <tenon/device.h>
#include <tenon/memory.h>

typedef struct tn__launch {
    tn__op_id op;
    tn_dtype compute;
    tn_device device;
    int32_t n_in, n_out;
    const tn__view *in;
    const tn_scalar *operand; /* for inputs that are numbers */
    tn__view out[TN__MAX_OUT];
    const void *params; /* the row's own struct (op/list.h) */
} tn__launch;

typedef tn_status (*tn__kernel)(const tn__launch *l);

/* Bytes between a device's memory and elsewhere: raw moves, in the order of the device's current stream. backend/transfer.c
 * alone calls these. A host pointer is pinned if the backend's own pinned memory holds it. Unless non_blocking and pinned,
 * an upload returns when 'from' may be changed, a download when 'to' may be read. */
typedef struct tn__mover {
    tn_status (*upload)(tn_device to_device, void *to, const void *from, size_t bytes, bool pinned, bool non_blocking);
    tn_status (*download)(tn_device from_device, void *to, const void *from, size_t bytes, bool pinned,
                          bool non_blocking);
    /* Between two devices of this backend, on the current stream of the source; the destination's current stream waits
     * for it, and it waits for what the destination's stream has queued. */
    tn_status (*peer)(tn_device to_device, void *to, tn_device from_device, const void *from, size_t bytes);
    /* CPU storage in page-locked memory, for devices of that type. NULL with an error set. */
    tn__storage *(*pinned)(int32_t type, size_t bytes);
    /* Optional: may the host read or write these bytes of such a storage now? host_touch.h asks. */
    tn_status (*touch)(const tn__storage *s, const void *p, size_t bytes, bool write);
} tn__mover;

/* Streams of a backend whose work is queued. */
typedef struct tn__queue {
    /* A new stream, with a reference; a lower priority goes first. NULL with an error set. */
    tn__stream *(*make)(tn_device device, int32_t priority);
    tn__stream *(*current)(tn_device device); /* this thread's; borrowed; NULL with an error set if the device fails */
    void (*set_current)(tn__stream *s);       /* of s->device, on this thread */
    /* The same, where the device can be used, which becomes the current one; else an error, and nothing is changed. */
    tn_status (*enter)(tn__stream *s);
    /* What is queued on s from now on waits for everything that is on 'other' now. */
    tn_status (*wait)(tn__stream *s, tn__stream *other);
    /* The storage (of this backend, or pinned) is used by what is on s now: its memory is not reused before that is
     * done. Not needed where s is the storage's own stream. */
    void (*used)(tn__storage *storage, tn__stream *s);
    /* The storage's own stream waits for all that s did with it: its memory may be reused there at once again. */
    void (*joined)(tn__storage *storage, tn__stream *s);
    tn_status (*synchronize)(tn__stream *s);
    /* Did a reset of its device take the storage's memory away? Asked only once tn__resets is not 0. */
    bool (*gone)(const tn__storage *storage);
    /* Has an asynchronous failure made the device unusable, until it is reset? */
    bool (*lost)(tn_device device);
} tn__queue;

/* Resets of devices since the process began. */
extern _Atomic uint32_t tn__resets;

struct tn__gpu_driver; /* backend/gpu/driver.h */

typedef struct tn__backend {
    const char *name;
    const char *word; /* what errors put into names of kernels for it: "cuda" of "mse_cuda" */
    int32_t type;
    int32_t (*count)(void);
    void (*info)(int32_t index, tn_device_info *out);
    /* Memory for nbytes, its version 0; with a queue, its stream is set. NULL, with TN_ENOMEM set, when there is too
     * little. */
    tn__storage *(*allocate)(tn_device device, size_t nbytes);
    /* An elementwise row over an iterator. */
    tn_status (*elementwise)(tn_device device, tn__op_id op, const tn__iter *it, tn_dtype compute);
    /* operand[0] = operand[1], converting; a number or 0-dim source fills. */
    tn_status (*copy)(tn_device device, const tn__iter *it);
    /* Structural rows, by operation; NULL where there is no kernel. */
    const tn__kernel *kernels;
    tn_status (*synchronize)(tn_device device);
    tn_memory_statistics (*memory_stats)(tn_device device);
    void (*reset_peak)(tn_device device);
    void (*empty_cache)(tn_device device);
    /* Optional; NULL where the backend's work is done when a call returns and its memory is the host's. */
    const tn__mover *mover;
    const tn__queue *queue;
    const struct tn__gpu_driver *gpu; /* of backends that run the kernels of backend/gpu */
    /* Why count() is 0, as an error: no driver, no device. NULL where that cannot be. */
    tn_status (*why_none)(void);
    struct tn__ledger *ledgers;        /* by index: what is counted of each device; backend/ledger.h */
    const char *vendor_variable;       /* "CUDA_VISIBLE_DEVICES": what hides devices from the driver itself */
    int32_t dlpack;                    /* its DLDeviceType; 0: it has none */
    int32_t dlpack_pinned;             /* the same of its page-locked memory, which the CPU can use */
    int32_t (*ordinal)(int32_t index); /* the driver's number of a device, as other libraries count them */
} tn__backend;

/* The backends, by device type; NULL where this build has none. */
extern const tn__backend *const tn__backends[5];

static inline const tn__backend *tn__backend_of(tn_device d)
{
    return tn__backends[d.type];
}

/* Is it one that runs the kernels of backend/gpu? */
static inline bool tn__is_gpu(tn_device d)
{
    const tn__backend *b = d.type >= 0 && d.type <= TN_DEVICE_META ? tn__backends[d.type] : NULL;
    return b && b->gpu;
}

/* The device an unspecific value means: default, current index. TN_EDEVICE if it is not there. */
TN_MUST_USE tn_status tn__device_resolve(tn_device asked, tn_device *out);

/* The same for statistics and caches: a GPU where there is none at all has nothing to tell, and that is no error. */
TN_MUST_USE bool tn__device_asked(tn_device asked, tn_device *out);

/* A view of a tensor, or of nothing. */
static inline tn__view tn__view_of(const tn_tensor *t)
{
    if (!t)
        return (tn__view){0};
    return (tn__view){tn__tensor_data(t), t->dtype, t->ndim, tn__contiguous(t), t->numel, t->shape, t->stride};
}

/* An uninitialised tensor with memory, as the spec says, on a resolved device; in no scope. */
tn_tensor *tn__tensor_make(const tn__spec *s, tn_device device);
/* The same on the CPU, in page-locked memory. */
tn_tensor *tn__tensor_make_pinned(const tn__spec *s);
/* The backend of what "the accelerator" means, whose page-locked memory that is; NULL, without an error, where there is none. */
const tn__backend *tn__accelerator(void);

#endif
