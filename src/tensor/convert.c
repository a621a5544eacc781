/* A tensor on another device, in another dtype, in pinned memory: tn_to and what is short for it. */
#include "autograd/functions.h"
#include "backend/backend.h"
#include "op/infer.h"
#include <string.h>

/* ---- moving and converting ---- */

tn_tensor *tn_to_opt(tn_tensor *t, const tn_to_options *options)
{
    tn_to_options o;
    tn_device device;
    tn__options_in(&o, sizeof o, options);
    tn__thread *self = tn__enter(o.site);
    if (!t || t == TN_NONE) {
        tn__poisoned("to");
        return NULL;
    }
    device = t->device;
    if ((o.device.type && tn__device_resolve(o.device, &device)) || tn__dtype_check("to", o.dtype))
        return NULL;
    tn_dtype dtype = o.dtype ? o.dtype : t->dtype;
    const bool keeps = !o.memory_format || o.memory_format == TN_PRESERVE_FORMAT ||
                       o.memory_format == tn__suggest_format(t->shape, t->stride, t->ndim);
    if (tn__same_device(device, t->device) && dtype == t->dtype && !o.copy && keeps)
        return tn__scope_hold(self, t);
    return tn__to_copy(t, dtype, device, o.non_blocking, o.memory_format);
}

tn_tensor *(tn_cpu_at)(const char *site, tn_tensor *t)
{
    return tn_to_opt(t, &(tn_to_options){.struct_size = sizeof(tn_to_options), .site = site, .device = TN_CPU});
}

tn_tensor *(tn_cpu)(tn_tensor *t)
{
    return (tn_cpu_at)(TN__NOWHERE, t);
}

tn_tensor *(tn_to_cuda_at)(const char *site, tn_tensor *t, int32_t index)
{
    return tn_to_opt(t, &(tn_to_options){.struct_size = sizeof(tn_to_options), .site = site, .device = TN_CUDA(index)});
}

tn_tensor *(tn_to_cuda)(tn_tensor *t, int32_t index)
{
    return (tn_to_cuda_at)(TN__NOWHERE, t, index);
}

/* Pinned memory is the CPU's. */
static tn_tensor *pinned_copy(tn_tensor *t)
{
    tn__spec s = {.dtype = t->dtype, .ndim = t->ndim};
    memcpy(s.shape, t->shape, sizeof s.shape[0] * (size_t)t->ndim);
    tn_tensor *p = tn__tensor_make_pinned(&s);
    if (!p)
        return NULL;
    tn__scope_adopt(tn__self(), p);
    return tn_copy_(p, t);
}

tn_tensor *(tn_pin_memory_at)(const char *site, tn_tensor *t)
{
    tn__thread *self = tn__enter(site);
    tn_scope scope;
    if (!t || t == TN_NONE) {
        tn__poisoned("tn_pin_memory");
        return NULL;
    }
    if (t->device.type == TN_DEVICE_META)
        return tn__fail(TN_EDEVICE, "cannot pin 'Meta%sType' only dense CPU tensors can be pinned",
                        tn__dtypes[t->dtype].legacy);
    if (tn__words_of(t->device).gpu)
        return tn__fail(TN_EDEVICE, "cannot pin '%s' only dense CPU tensors can be pinned", tn__type_str(t).s);
    tn__scope_push(self, &scope);
    return tn__scope_return(self, &scope, t->storage->pinned ? t : pinned_copy(t));
}

tn_tensor *(tn_pin_memory)(tn_tensor *t)
{
    return (tn_pin_memory_at)(TN__NOWHERE, t);
}
