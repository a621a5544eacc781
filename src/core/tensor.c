/* Tensor structs: made, aliased, swapped, destroyed; live ones are listed in debug builds. */
#include "core/tensor.h"
#include "core/alloc.h"
#include "core/error.h"
#include <stdio.h>
#include <tenon/dtype.h>

void (*tn__tensor_forget)(tn_tensor *t);

#ifndef NDEBUG
/* Debug builds report, at exit, the tensors nobody released, with the place that made each. */
#include <pthread.h>
#include <stdlib.h>
static struct {
    pthread_mutex_t lock;
    tn_tensor *first;
    bool registered;
} live = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void report_live(void)
{
    int shown = 0;
    for (tn_tensor *t = live.first; t && shown < 20; t = t->live_next, shown++)
        fprintf(stderr, "tenon: still alive at exit: %s, made at %s\n", tn__tensor_str(t).s,
                t->site ? t->site : "(unknown)");
}

static void live_add(tn_tensor *t)
{
    pthread_mutex_lock(&live.lock);
    if (!live.registered) {
        live.registered = true;
        atexit(report_live);
    }
    t->live_prev = NULL;
    t->live_next = live.first;
    if (live.first)
        live.first->live_prev = t;
    live.first = t;
    pthread_mutex_unlock(&live.lock);
}

static void live_remove(tn_tensor *t)
{
    pthread_mutex_lock(&live.lock);
    if (t->live_prev)
        t->live_prev->live_next = t->live_next;
    else
        live.first = t->live_next;
    if (t->live_next)
        t->live_next->live_prev = t->live_prev;
    pthread_mutex_unlock(&live.lock);
}

void tn__tensors_each(void (*f)(const tn_tensor *, void *), void *ctx)
{
    pthread_mutex_lock(&live.lock);
    for (const tn_tensor *t = live.first; t; t = t->live_next)
        f(t, ctx);
    pthread_mutex_unlock(&live.lock);
}
#else
void tn__tensors_each(void (*f)(const tn_tensor *, void *), void *ctx)
{
    (void)f;
    (void)ctx;
}

static inline void live_add(tn_tensor *t)
{
    (void)t;
}
static inline void live_remove(tn_tensor *t)
{
    (void)t;
}
#endif

static void destroy_tensor(tn__object *o)
{
    tn_tensor *t = (tn_tensor *)o;
    live_remove(t); /* first: whoever reads the list finds no tensor that is half gone */
    if (t->obj.flags & TN__RETAINS_GRAD && t->node)
        tn__tensor_forget(t);
    if (t->node)
        tn__object_release(t->node);
    if (t->base)
        tn__object_release(t->base);
    if (t->grad)
        tn__object_release(t->grad);
    if (t->accumulator)
        tn__object_release(t->accumulator);
    tn__storage_release(t->storage);
    tn__tally_add(&tn__self()->tally.tensors, -1);
    tn__block_put(t, sizeof *t);
}

const tn__class tn__tensor_class = {.name = "tensor", .destroy = destroy_tensor};

void tn__tensor_geometry(tn_tensor *t)
{
    t->numel = tn__numel(t->shape, t->ndim);
    if (tn__is_contiguous(t->shape, t->stride, t->ndim))
        t->obj.flags |= TN__CONTIGUOUS;
    else
        t->obj.flags &= ~(uint32_t)TN__CONTIGUOUS;
}

tn_tensor *tn__tensor_new(tn_dtype dtype, tn_device device, const int64_t *shape, int32_t ndim, const int64_t *stride)
{
    tn_tensor *t = tn__block_get(sizeof *t);
    if (!t)
        return tn__fail(TN_ENOMEM, "out of memory for a tensor's description");
    tn__thread *self = tn__self();
    tn__object_init(&t->obj, &tn__tensor_class);
    t->obj.flags = self->born;
    t->dtype = dtype;
    t->ndim = ndim;
    t->device = device;
    t->offset = 0;
    t->storage = NULL;
    atomic_init(&t->node, NULL);
    t->node_output = 0;
    atomic_init(&t->view_version, 0);
    t->base = NULL;
    t->grad = NULL;
    atomic_init(&t->accumulator, NULL);
    atomic_init(&t->binding, NULL);
    t->version_shift = 0;
    t->site = self->site;
    for (int32_t i = 0; i < ndim; i++)
        t->shape[i] = shape[i];
    if (stride) {
        for (int32_t i = 0; i < ndim; i++)
            t->stride[i] = stride[i];
        tn__tensor_geometry(t);
    } else {
        tn__contiguous_strides(shape, ndim, t->stride);
        t->numel = tn__numel(shape, ndim);
        t->obj.flags |= TN__CONTIGUOUS;
    }
    tn__tally_add(&self->tally.tensors, 1);
    live_add(t);
    return t;
}

tn_tensor *tn__tensor_alias(const tn_tensor *t)
{
    tn_tensor *a = tn__tensor_new(t->dtype, t->device, t->shape, t->ndim, t->stride);
    if (!a)
        return NULL;
    a->offset = t->offset;
    a->version_shift = t->version_shift;
    tn__inherit_kind(a, t);
    if (t->storage)
        a->storage = tn__storage_retain(t->storage);
    return a;
}

static void take_content(tn_tensor *t, const tn_tensor *from)
{
    const uint32_t moving =
        TN__CONTIGUOUS | TN__IS_VIEW | TN__VIEW_NO_GRAD | TN__VIEW_MULTI | TN__VIEW_FUNCTION | TN__UNSEEN;
    t->dtype = from->dtype;
    t->device = from->device;
    t->ndim = from->ndim;
    t->numel = from->numel;
    t->offset = from->offset;
    t->storage = from->storage;
    t->base = from->base;
    t->view_version = from->view_version;
    t->version_shift = from->version_shift;
    memcpy(t->shape, from->shape, sizeof t->shape);
    memcpy(t->stride, from->stride, sizeof t->stride);
    t->obj.flags = (t->obj.flags & ~moving) | (from->obj.flags & moving);
}

void tn__tensor_swap(tn_tensor *a, tn_tensor *b)
{
    tn_tensor x;
    x.obj.flags = 0;
    take_content(&x, a);
    take_content(a, b);
    take_content(b, &x);
}

void tn__tensor_renew(tn_tensor *t, tn_tensor *fresh)
{
    fresh->obj.flags &= ~(uint32_t)TN__UNSEEN;
    fresh->version_shift += tn__tensor_version(t) + 1 - tn__tensor_version(fresh);
    tn__tensor_swap(t, fresh);
}

tn__tensor_text tn__tensor_str(const tn_tensor *t)
{
    tn__tensor_text x;
    if (!t || t == TN_NONE)
        snprintf(x.s, sizeof x.s, "%s", t ? "TN_NONE" : "NULL");
    else
        snprintf(x.s, sizeof x.s, "%s %s on %s", tn_dtype_name(t->dtype), tn__shape_str(t->shape, t->ndim).s,
                 tn_device_text(t->device).s);
    return x;
}

static void add_tensors(tn__thread *t, void *sum)
{
    *(int64_t *)sum += atomic_load_explicit(&t->tally.tensors, memory_order_relaxed);
}

int64_t tn_live_tensors(void)
{
    int64_t n = atomic_load(&tn__thread_ended_tally()->tensors);
    tn__threads_each(add_tensors, &n);
    return n;
}
