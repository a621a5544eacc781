/* The backends, and what is asked of devices in general: which there are, which one is meant. */
#include "backend/backend.h"
#include "backend/cpu/cpu.h"
#include "backend/cuda/cuda.h"
#include "backend/meta/meta.h"
#include "core/env.h"
#include "core/error.h"
#include "core/thread.h"
#include <stdio.h>

_Atomic uint32_t tn__resets;

const tn__backend *const tn__backends[5] = {
    [TN_DEVICE_CPU] = &tn__cpu_backend,
    [TN_DEVICE_CUDA] = &tn__cuda_backend,
    [TN_DEVICE_META] = &tn__meta_backend,
};

static tn_status no_backend(int32_t type)
{
    char there[64] = "";
    for (int32_t i = TN_DEVICE_CPU; i <= TN_DEVICE_META; i++)
        if (tn__backends[i]) {
            const size_t n = strlen(there);
            snprintf(there + n, sizeof there - n, "%s%s",
                     !n                   ? ""
                     : i < TN_DEVICE_META ? ", "
                                          : " and ",
                     tn_device_text(tn_device_make(i, -1)).s);
        }
    return tn__error(TN_EDEVICE, "this build of Tenon has no backend for %s: tensors live on %s",
                     tn_device_text(tn_device_make(type, -1)).s, there);
}

static tn_status not_there(tn_device d)
{
    const tn__backend *b = tn__backends[d.type];
    if (!b)
        return no_backend(d.type);
    int n = (int)b->count();
    const char *variable = b->gpu->visible_variable, *visible = tn__env_text(variable);
    if (b->vendor_variable && !(visible && *visible)) /* the first counts among those that this one leaves */
        visible = tn__env_text(variable = b->vendor_variable);
    if (!n && b->why_none)
        return b->why_none();
    return tn__error(TN_EDEVICE,
                     "%s error: invalid device ordinal\nGPU device may be out of range, do you have enough GPUs?\n"
                     "  %s was asked for; there %s %d%s%s%s%s%s",
                     b->gpu->label, tn_device_text(d).s, n == 1 ? "is" : "are", n, visible ? ": " : "",
                     visible ? variable : "", visible ? " is '" : "", visible ? visible : "",
                     visible ? "', and devices are counted in its order from 0" : "");
}

tn__device_words tn__words_of(tn_device d)
{
    if (d.type == TN_DEVICE_DEFAULT)
        d = tn_get_default_device();
    const tn__backend *b = d.type > 0 && d.type <= TN_DEVICE_META ? tn__backends[d.type] : NULL;
    if (!b)
        b = &tn__cpu_backend;
    return (tn__device_words){b->word, b->gpu != NULL};
}

tn_status tn__device_resolve(tn_device d, tn_device *out)
{
    if (TN_LIKELY(d.type == TN_DEVICE_CPU)) {
        *out = TN_CPU;
        return TN_OK;
    }
    tn__thread *t = tn__self();
    if (d.type == TN_DEVICE_DEFAULT)
        d = t->default_device.type ? t->default_device : TN_CPU;
    if (d.type == TN_DEVICE_CPU || d.type == TN_DEVICE_META) {
        *out = tn_device_make(d.type, -1);
        return TN_OK;
    }
    if (d.type < 0 || d.type > TN_DEVICE_META)
        return t->error ? t->error
                        : tn__error(TN_EDEVICE, "an invalid device was passed, but no failed call is on record");
    if (d.index < -1)
        return tn__error(TN_EINVAL,
                         "Device index must not be negative\n  it is %d; -1 alone has a meaning, the current "
                         "device",
                         (int)d.index);
    if (d.index < 0)
        d.index = t->current_device[d.type];
    if (!tn__backends[d.type] || d.index >= tn__backends[d.type]->count())
        return not_there(d);
    *out = d;
    return TN_OK;
}

/* Elements from the first to the last one that the strides reach. */
static int64_t span_of(const tn_tensor *t)
{
    int64_t last = 0;
    if (t->numel == 0)
        return 0;
    for (int32_t d = 0; d < t->ndim; d++)
        last += (t->shape[d] - 1) * t->stride[d];
    return last + 1;
}

/* pinner: whose page-locked memory it is to have, or NULL. */
static tn_tensor *make(const tn__spec *s, tn_device device, const tn__backend *pinner)
{
    tn_tensor *t = tn__tensor_new(s->dtype, device, s->shape, s->ndim, s->strided ? s->stride : NULL);
    if (!t)
        return NULL;
    size_t n = (size_t)(s->strided ? span_of(t) : t->numel) * tn__dtype_size(s->dtype);
    t->storage = pinner && n ? pinner->mover->pinned(pinner->type, n) : tn__backend_of(device)->allocate(device, n);
    if (!t->storage) {
        tn__object_release(t);
        return NULL;
    }
    return t;
}

tn_tensor *tn__tensor_make(const tn__spec *s, tn_device device)
{
    return make(s, device, NULL);
}

const tn__backend *tn__accelerator(void)
{
    for (int32_t type = TN_DEVICE_CPU; type < TN_DEVICE_META; type++) {
        const tn__backend *b = tn__backends[type];
        if (b && b->mover && b->count() > 0)
            return b;
    }
    return NULL;
}

tn_tensor *tn__tensor_make_pinned(const tn__spec *s)
{
    const tn__backend *pinner = tn__accelerator();
    if (!pinner)
        return tn__fail(TN_EDEVICE, "Cannot access accelerator device when none is available.\n  memory is pinned "
                                    "for the copies of a GPU");
    return make(s, TN_CPU, pinner);
}

/* ---- public ---- */

size_t tn_devices(tn_device_info *out, size_t cap)
{
    size_t n = 0;
    for (int32_t type = TN_DEVICE_CPU; type < TN_DEVICE_META; type++) {
        const tn__backend *b = tn__backends[type];
        int32_t count = b ? b->count() : 0;
        for (int32_t i = 0; i < count; i++, n++) {
            if (n >= cap)
                continue;
            memset(&out[n], 0, sizeof out[n]);
            out[n].device = tn_device_make(type, tn__device_has_index(type) ? i : -1);
            out[n].physical = -1;
            b->info(i, &out[n]);
        }
    }
    return n;
}

tn_status tn_synchronize(tn_device device)
{
    tn_device d;
    tn__enter(TN__NOWHERE);
    tn_status e = tn__device_resolve(device, &d);
    return e ? e : tn__backend_of(d)->synchronize(d);
}

bool tn__device_asked(tn_device device, tn_device *out)
{
    tn__enter(TN__NOWHERE);
    if (tn__is_gpu(device) && tn__backends[device.type]->count() == 0)
        return false;
    return !tn__device_resolve(device, out);
}

tn_memory_statistics tn_memory_stats(tn_device device)
{
    tn_device d;
    if (!tn__device_asked(device, &d))
        return (tn_memory_statistics){0};
    return tn__backend_of(d)->memory_stats(d);
}

void tn_reset_peak_memory_stats(tn_device device)
{
    tn_device d;
    if (tn__device_asked(device, &d))
        tn__backend_of(d)->reset_peak(d);
}

void tn_empty_cache(tn_device device)
{
    tn_device d;
    if (tn__device_asked(device, &d))
        tn__backend_of(d)->empty_cache(d);
}

tn_status tn_set_default_device(tn_device device)
{
    tn_device d;
    tn__enter(TN__NOWHERE);
    tn_status e = tn__device_resolve(device, &d);
    if (e)
        return e;
    if (device.type && device.index < 0) /* whichever is current when a factory is called */
        d.index = -1;
    tn__self()->default_device = d;
    return TN_OK;
}

tn_device tn_get_default_device(void)
{
    const tn__thread *t = tn__self();
    tn_device d = t->default_device;
    if (tn__device_has_index(d.type) && d.index < 0)
        d.index = t->current_device[d.type];
    return d.type ? d : TN_CPU;
}
