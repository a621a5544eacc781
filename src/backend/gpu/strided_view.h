/* backend/gpu/strided_view.h: views for small kernels: the host's side of tn_strided (kernels/prelude.h), and what small
 * launches share. */
#ifndef TENON_BACKEND_GPU_STRIDED_VIEW_H
#define TENON_BACKEND_GPU_STRIDED_VIEW_H

#include "backend/gpu/gpu.h"

typedef struct tn__strided {
    int64_t shape[TN_MAX_DIMS], stride[TN_MAX_DIMS], dense;
} tn__strided;

static inline tn__strided tn__strided_of(const tn__view *v)
{
    tn__strided w;
    const int32_t lead = TN_MAX_DIMS - v->ndim;
    for (int32_t d = 0; d < TN_MAX_DIMS; d++) {
        w.shape[d] = d < lead ? 1 : v->shape[d - lead];
        w.stride[d] = d < lead ? 0 : v->stride[d - lead];
    }
    w.dense = v->contiguous;
    return w;
}

/* A value as the kernels of a compute type take it: T. */
typedef union tn__gpu_number {
    float f32;
    double f64;
    int32_t i32;
    int64_t i64;
} tn__gpu_number;

static inline tn__gpu_number tn__gpu_real(tn_dtype compute, double v)
{
    tn__gpu_number n = {.f64 = v};
    if (compute != TN_F64)
        n = (tn__gpu_number){.f32 = (float)v};
    return n;
}

static inline tn__gpu_number tn__gpu_whole(tn_dtype compute, int64_t v)
{
    tn__gpu_number n = {.i64 = v};
    if (compute != TN_I64)
        n = (tn__gpu_number){.i32 = (int32_t)(uint32_t)(uint64_t)v};
    return n;
}

static inline tn__gpu_arg tn__gpu_number_arg(tn_dtype compute, const tn__gpu_number *n)
{
    return (tn__gpu_arg){n, tn__dtype_size(compute)};
}

/* Groups of 'local' work items for so many items, no more than fill the device some times over: kernels loop. */
static inline uint32_t tn__gpu_spread(const tn__gpu_limits *limits, int64_t items, uint32_t local)
{
    const int64_t most = (int64_t)limits->multiprocessors * 32;
    return (uint32_t)TN_MAX(TN_MIN(tn__div_up(items, local), most), 1);
}

/* A dense copy of the view in another dtype, in scratch; NULL with an error set. Put back with tn__gpu_packed_put. */
void *tn__gpu_packed(tn_device device, const tn__view *v, tn_dtype dtype);
void tn__gpu_packed_put(tn_device device, void *p, const tn__view *v, tn_dtype dtype);
/* The view of a dense block in v's shape; strides are written to stride. */
tn__view tn__gpu_dense_view(const tn__view *v, void *p, tn_dtype dtype, int64_t stride[TN_MAX_DIMS]);
TN_MUST_USE tn_status tn__gpu_copy_view(tn_device device, const tn__view *to, const tn__view *from);

#endif
