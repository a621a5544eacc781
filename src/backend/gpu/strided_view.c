/* Views for small kernels: dense copies, and copies between views. */
#include "backend/gpu/strided_view.h"

tn__view tn__gpu_dense_view(const tn__view *v, void *p, tn_dtype dtype, int64_t stride[TN_MAX_DIMS])
{
    int64_t step = 1;
    for (int32_t d = v->ndim - 1; d >= 0; d--) {
        stride[d] = step;
        step *= TN_MAX(v->shape[d], 1);
    }
    return (tn__view){p, dtype, v->ndim, true, v->numel, v->shape, stride};
}

tn_status tn__gpu_copy_view(tn_device device, const tn__view *to, const tn__view *from)
{
    tn__iter it;
    if (to->numel == 0)
        return TN_OK;
    tn__iter_copy(&it, to, from);
    return tn__gpu_copy_iter(device, &it);
}

static size_t bytes_of(const tn__view *v, tn_dtype dtype)
{
    return (size_t)TN_MAX(v->numel, 1) * tn__dtype_size(dtype);
}

void *tn__gpu_packed(tn_device device, const tn__view *v, tn_dtype dtype)
{
    int64_t stride[TN_MAX_DIMS];
    void *p = tn__gpu_scratch_get(device, bytes_of(v, dtype));
    if (!p)
        return NULL;
    const tn__view dense = tn__gpu_dense_view(v, p, dtype, stride);
    if (!tn__gpu_copy_view(device, &dense, v))
        return p;
    tn__gpu_packed_put(device, p, v, dtype);
    return NULL;
}

void tn__gpu_packed_put(tn_device device, void *p, const tn__view *v, tn_dtype dtype)
{
    if (p)
        tn__gpu_scratch_put(device, p, bytes_of(v, dtype));
}
