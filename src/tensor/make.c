/* What a factory's options ask for, as a tensor: shape, strides, dtype, device, pinned or not, recorded or not. */
#include "autograd/functions.h"
#include "backend/backend.h"
#include "op/infer.h"
#include <string.h>

/* The tensor that a factory's options ask for. */
tn_tensor *tn__factory_finish(const tn__spec *s, tn_device device, const tn_options *o)
{
    if (o->pin_memory && device.type != TN_DEVICE_CPU)
        return tn__fail(TN_EDEVICE, "Only dense CPU tensors can be pinned");
    tn_tensor *t = o->pin_memory || o->requires_grad ? NULL : tn__made_into(s, device);
    if (TN_LIKELY(!t))
        t = o->pin_memory ? tn__tensor_make_pinned(s) : tn__tensor_make(s, device);
    if (!t)
        return NULL;
    tn__scope_adopt(tn__self(), t);
    return o->requires_grad ? tn__require_grad(t, true) : t;
}

/* The spec's layout is the format's. False, and an error, where there is no such. */
static bool takes_format(tn__spec *s, tn_memory_format format)
{
    if (tn__check_format(format, s->ndim))
        return false;
    if (format == TN_PRESERVE_FORMAT) {
        tn__error(TN_EINVAL, "unsupported memory format Preserve");
        return false;
    }
    if (format != TN_CONTIGUOUS_FORMAT)
        tn__layout_in(s, format);
    return true;
}

tn_tensor *tn__factory(const tn_dims *shape, const tn_options *o, tn_dtype otherwise)
{
    if (!shape)
        return tn__fail(TN_EINVAL, "a factory: the shape is NULL");
    tn__spec s = {.dtype = o->dtype ? o->dtype : otherwise, .ndim = shape->ndim};
    tn_device device;
    int64_t numel;
    if (tn__device_resolve(o->device, &device) || tn__dtype_check("a factory", o->dtype) ||
        tn__shape_check("a factory", shape->dim, shape->ndim, -1, s.shape))
        return NULL;
    if (!tn__shape_numel(s.shape, s.ndim, tn__dtype_size(s.dtype), &numel))
        return tn__shape_too_large(s.shape, s.ndim), NULL;
    if (o->memory_format && !takes_format(&s, o->memory_format))
        return NULL;
    return tn__factory_finish(&s, device, o);
}

tn_tensor *tn__zeros_strided(const tn_tensor *x, tn_dims shape, tn_dims stride)
{
    tn__spec s = {.dtype = x->dtype, .ndim = shape.ndim, .strided = true};
    for (int32_t d = 0; d < shape.ndim; d++) {
        s.shape[d] = shape.dim[d];
        s.stride[d] = stride.dim[d];
    }
    tn_tensor *t = tn__tensor_make(&s, x->device);
    if (!t)
        return NULL;
    tn__scope_adopt(tn__self(), t);
    TN__INITIALISED(t, tn_zero_(t));
    return t;
}

/* What x has, where the options say nothing; its layout as clone keeps it. */
tn_tensor *tn__factory_like(tn_tensor *x, const tn_options *o)
{
    if (!x || x == TN_NONE) {
        tn__poisoned("a factory 'like' a tensor");
        return NULL;
    }
    tn__spec s = {.dtype = o->dtype ? o->dtype : x->dtype, .ndim = x->ndim};
    tn_device device = x->device;
    if (tn__dtype_check("a factory", o->dtype) || (o->device.type && tn__device_resolve(o->device, &device)))
        return NULL;
    for (int32_t d = 0; d < x->ndim; d++)
        s.shape[d] = x->shape[d];
    if (tn__layout_asked(&s, x, o->memory_format))
        return NULL;
    return tn__factory_finish(&s, device, o);
}
