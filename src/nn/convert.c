/* Modules moved to another device or dtype: everything is made there first, then swapped in, so that nothing is half
 * moved. A parameter stays the same tensor; its memory changes. */
#include "nn/module.h"
#include "backend/backend.h"
#include "core/alloc.h"
#include <tenon/dtype.h>

typedef struct target {
    tn_device device;        /* type 0: where it is */
    tn_dtype dtype;          /* of floating tensors; 0: what it has */
    tn_memory_format format; /* of those of 4 and 5 dimensions; 0: what it has */
} target;

/* What a tensor becomes: itself where nothing changes. It belongs to the open scope, or is t. */
static tn_tensor *converted(tn_tensor *t, const target *to)
{
    if (to->device.type && t->device.type == TN_DEVICE_META && to->device.type != TN_DEVICE_META)
        return tn__fail(TN_EDEVICE,
                        "Cannot copy out of meta tensor; no data!\n  make the module where it is to live, or "
                        "load its state there");
    tn_dtype dtype = to->dtype && tn__dtype_is_float(t->dtype) ? to->dtype : t->dtype;
    const tn_memory_format format = t->ndim == 4 || t->ndim == 5 ? to->format : TN_MEMORY_FORMAT_DEFAULT;
    if (!format && dtype == t->dtype && (!to->device.type || tn__same_device(to->device, t->device)))
        return t;
    return tn_to(t, .device = to->device, .dtype = dtype, .memory_format = format);
}

/* Parameters, their gradients and buffers, and what becomes of each. */
typedef struct move {
    tn__list parameters, buffers;
    tn_tensor **fresh; /* [parameters], [their gradients], [buffers] */
    size_t bytes;
} move;

static bool holds(const tn__list *l, const tn_tensor *t)
{
    for (int64_t i = 0; i < l->n; i++)
        if (l->at[i] == t)
            return true;
    return false;
}

static tn_status make_fresh(move *v, const target *to)
{
    int64_t n = v->parameters.n;
    v->bytes = sizeof *v->fresh * (size_t)(2 * n + v->buffers.n + 1);
    v->fresh = tn__block_zero(v->bytes);
    if (!v->fresh)
        return tn__error_memory("a list of parameters", v->bytes);
    for (int64_t i = 0; i < n; i++) {
        tn_tensor *p = v->parameters.at[i];
        if (!(v->fresh[i] = converted(p, to)) || (p->grad && !(v->fresh[n + i] = converted(p->grad, to))))
            return tn_error_code();
    }
    for (int64_t i = 0; i < v->buffers.n; i++) {
        tn_tensor *b = v->buffers.at[i];
        bool moves_itself = holds(&v->parameters, b); /* it is a parameter too, and stays the same tensor */
        if (!(v->fresh[2 * n + i] = moves_itself ? b : converted(b, to)))
            return tn_error_code();
    }
    return TN_OK;
}

/* Every slot that holds the buffer holds what became of it. */
static void replace_buffers(const tn_module *m, const move *v)
{
    tn_tensor *const *fresh = v->fresh + 2 * v->parameters.n;
    tn__module_iter w;
    tn__module_iter_begin(&w, m);
    for (const tn_module *i; (i = tn__module_iter_next(&w));)
        for (int64_t k = 0; k < i->slots[TN__BUFFERS].n; k++) {
            tn__slot *slot = &i->slots[TN__BUFFERS].at[k];
            int64_t at = 0;
            while (at < v->buffers.n && &v->buffers.at[at]->obj != slot->object)
                at++;
            if (at == v->buffers.n || &fresh[at]->obj == slot->object)
                continue;
            tn__object *old = slot->object;
            slot->object = tn__object_retain(fresh[at]);
            tn__object_release(old);
        }
}

static void swap_in(const tn_module *m, const move *v)
{
    atomic_fetch_add_explicit(&tn__modules_changed, 1, memory_order_relaxed);
    int64_t n = v->parameters.n;
    for (int64_t i = 0; i < n; i++) {
        tn_tensor *p = v->parameters.at[i];
        if (v->fresh[i] != p)
            tn__tensor_renew(p, v->fresh[i]);
        if (p->grad && v->fresh[n + i] != p->grad)
            tn__tensor_renew(p->grad, v->fresh[n + i]);
    }
    replace_buffers(m, v);
}

static tn_module *convert(tn__thread *t, tn_module *m, const target *to)
{
    tn_scope scope;
    move v = {{NULL, 0, 0}, {NULL, 0, 0}, NULL, 0};
    bool was = tn__set_no_grad(true);
    tn__scope_push(t, &scope);
    tn_status e = tn__module_collect(m, TN__PARAMETERS, &v.parameters);
    if (!e)
        e = tn__module_collect(m, TN__BUFFERS, &v.buffers);
    if (!e)
        e = make_fresh(&v, to);
    if (!e)
        swap_in(m, &v);
    tn__block_put(v.fresh, v.bytes);
    tn__list_free(&v.parameters);
    tn__list_free(&v.buffers);
    tn__scope_pop(t, &scope, NULL);
    tn__set_no_grad(was);
    return e ? NULL : m;
}

static tn_module *move_to(const char *site, const char *what, tn_module *m, tn_device device)
{
    tn__thread *t = tn__enter(site);
    target to = {.device = device};
    if (!m) {
        tn__poisoned(what);
        return NULL;
    }
    return tn__device_resolve(device, &to.device) ? NULL : convert(t, m, &to);
}

tn_module *tn_module_to_at(const char *site, tn_module *m, tn_device device)
{
    return move_to(site, "tn_module_to", m, device);
}

tn_module *tn_module_to_cuda_at(const char *site, tn_module *m, int32_t index)
{
    return move_to(site, "tn_module_cuda", m, TN_CUDA(index));
}

tn_module *tn_module_cpu_at(const char *site, tn_module *m)
{
    return move_to(site, "tn_module_cpu", m, TN_CPU);
}

tn_module *tn_module_to_dtype_at(const char *site, tn_module *m, tn_dtype dtype)
{
    tn__thread *t = tn__enter(site);
    const target to = {.dtype = dtype};
    if (!m) {
        tn__poisoned("tn_module_to_dtype");
        return NULL;
    }
    if (!tn__dtype_exists(dtype) && tn__dtype_check("tn_module_to_dtype", dtype ? dtype : -1))
        return NULL;
    if (!tn__dtype_is_float(dtype))
        return tn__fail(TN_ETYPE,
                        "nn.Module.to only accepts floating point or complex dtypes, but got desired "
                        "dtype=torch.%s",
                        tn_dtype_name(dtype));
    return convert(t, m, &to);
}

tn_module *tn_module_to_memory_format_at(const char *site, tn_module *m, tn_memory_format format)
{
    tn__thread *t = tn__enter(site);
    const target to = {.format = format};
    if (!m) {
        tn__poisoned("tn_module_to_memory_format");
        return NULL;
    }
    return convert(t, m, &to);
}

tn_module *(tn_module_to)(tn_module *m, tn_device device)
{
    return tn_module_to_at(TN__NOWHERE, m, device);
}

tn_module *(tn_module_to_cuda)(tn_module *m, int32_t index)
{
    return tn_module_to_cuda_at(TN__NOWHERE, m, index);
}

tn_module *(tn_module_cpu)(tn_module *m)
{
    return tn_module_cpu_at(TN__NOWHERE, m);
}

tn_module *(tn_module_to_dtype)(tn_module *m, tn_dtype dtype)
{
    return tn_module_to_dtype_at(TN__NOWHERE, m, dtype);
}

tn_module *(tn_module_to_memory_format)(tn_module *m, tn_memory_format format)
{
    return tn_module_to_memory_format_at(TN__NOWHERE, m, format);
}
