/* tenon/dlpack.h: tensors shared with other libraries, without a copy.
 *
 * DLPack is the exchange format of array libraries: https://dmlc.github.io/dlpack/latest. The structs below are its ABI,
 * version 1.0, in Tenon's own names: a pointer to one is a pointer to the other. What Python's __dlpack__ puts into a capsule
 * is a tn_dl_managed ("dltensor") or a tn_dl_managed_versioned ("dltensor_versioned").
 */
#ifndef TENON_DLPACK_H
#define TENON_DLPACK_H

#include <tenon/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* device.type. Others exist; Tenon refuses them. */
enum { TN_DL_CPU = 1, TN_DL_CUDA = 2, TN_DL_CUDA_HOST = 3 };
/* dtype.code. Others exist; Tenon refuses them. */
enum { TN_DL_INT = 0, TN_DL_UINT = 1, TN_DL_FLOAT = 2, TN_DL_BFLOAT = 4, TN_DL_BOOL = 6 };
/* Bits of flags. */
enum { TN_DL_READ_ONLY = 1, TN_DL_IS_COPIED = 2 };

typedef struct tn_dl_device {
    int32_t type, id;
} tn_dl_device;

typedef struct tn_dl_dtype {
    uint8_t code, bits;
    uint16_t lanes; /* elements in a vector: 1 */
} tn_dl_dtype;

typedef struct tn_dl_tensor {
    void *data;
    tn_dl_device device;
    int32_t ndim;
    tn_dl_dtype dtype;
    int64_t *shape;
    int64_t *strides;     /* in elements; NULL: row-major without gaps */
    uint64_t byte_offset; /* from data to the first element */
} tn_dl_tensor;

typedef struct tn_dl_managed {
    tn_dl_tensor tensor;
    void *manager_ctx;
    void (*deleter)(struct tn_dl_managed *self); /* NULL: nothing to do */
} tn_dl_managed;

typedef struct tn_dl_version {
    uint32_t major, minor;
} tn_dl_version;

typedef struct tn_dl_managed_versioned {
    tn_dl_version version;
    void *manager_ctx;
    void (*deleter)(struct tn_dl_managed_versioned *self); /* NULL: nothing to do */
    uint64_t flags;
    tn_dl_tensor tensor;
} tn_dl_managed_versioned;

/* stream: on which the consumer will use memory of a GPU: -1: it asks for no order; 1: the legacy default stream; 2: the
 * default stream of each thread; else a CUstream. What Tenon has queued on its current stream is done before that stream
 * goes on. Without a meaning on the CPU. */

/* t's memory for another library, which calls .deleter when it is done, from any thread; until then the memory lives, also
 * without t. TN_EGRAD where t requires a gradient, TN_EDEVICE on meta. NULL on error. */
TN_API tn_dl_managed_versioned *tn_to_dlpack(tn_tensor *t, int64_t stream);

/* The same for consumers of the time before version 1.0, which know no read-only memory: then TN_EINVAL. */
TN_API tn_dl_managed *tn_to_dlpack_legacy(tn_tensor *t, int64_t stream);

/* A tensor that shows another library's memory. Takes m over: its deleter runs when the last tensor that shows the memory is
 * gone (on a GPU once what Tenon has queued on its current stream is done). On error NULL is returned and m still is the
 * caller's. Memory flagged TN_DL_READ_ONLY cannot be written in place. Refused with a message: other major versions, devices
 * and dtypes than Tenon's, vectors, more than 8 dimensions, negative sizes or strides, memory not aligned to its elements. */
TN_API tn_tensor *tn_from_dlpack(tn_dl_managed_versioned *m);
TN_API tn_tensor *tn_from_dlpack_legacy(tn_dl_managed *m);

#ifdef __cplusplus
}
#endif
#endif
