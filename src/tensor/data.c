/* The functions of tenon/tensor.h and tenon/autograd.h that ask or set one thing. */
#include "autograd/functions.h"
#include "backend/backend.h"
#include "backend/host_touch.h"
#include "core/alloc.h"
#include "core/memory_format.h"
#include <math.h>
#include <tenon/autograd.h>
#include <tenon/tensor.h>

/* ---- from data ---- */

static bool has_point(tn_dtype d)
{
    return d == TN_F32 || d == TN_F64;
}

/* A written-out list is int64, or the default dtype; a C array keeps what it is. */
static tn_dtype dtype_of_array(const tn_array *a)
{
    if (!a->literal)
        return a->dtype;
    return has_point(a->dtype) ? tn__default_dtype() : a->dtype == TN_BOOL ? TN_BOOL : TN_I64;
}

static tn_status fill_from(tn_tensor *t, const tn_array *a)
{
    size_t to = tn__dtype_size(t->dtype);
    char *p = tn__tensor_data(t);
    if (a->dtype == t->dtype) {
        if (a->n)
            memcpy(p, a->data, a->n * to);
        return TN_OK;
    }
    for (size_t i = 0; i < a->n; i++) {
        if (tn__dtype_is_float(a->dtype))
            tn__store_double(t->dtype, p + i * to,
                             tn__load_double(a->dtype, (const char *)a->data + i * tn__dtype_size(a->dtype)));
        else
            tn__store_int(t->dtype, p + i * to,
                          tn__load_int(a->dtype, (const char *)a->data + i * tn__dtype_size(a->dtype)));
    }
    return TN_OK;
}

static tn_status check_array(const tn_array *a, tn_dtype dtype)
{
    if (a->n && !a->data)
        return tn__error(TN_EINVAL, "tn_tensor_from: the array is NULL");
    if (!tn__dtype_exists(a->dtype))
        return tn__dtype_check("tn_tensor_from", a->dtype ? a->dtype : -1);
    return tn__dtype_check("tn_tensor_from", dtype);
}

tn_tensor *tn_tensor_from_opt(tn_array data, const tn_tensor_from_options *options)
{
    tn_tensor_from_options space;
    const tn_tensor_from_options *o = tn__options(&space, sizeof space, options);
    tn__thread *self = tn__enter(o->site);
    tn_scope scope;
    tn_dims shape = {.ndim = 1, .said = true, .dim = {(int64_t)data.n}};
    if (check_array(&data, o->dtype))
        return NULL;
    if (o->shape.said || o->shape.ndim) {
        if (tn__shape_check("tn_tensor_from", o->shape.dim, o->shape.ndim, (int64_t)data.n, shape.dim))
            return NULL;
        shape.ndim = o->shape.ndim;
    }
    if (tn__numel(shape.dim, shape.ndim) != (int64_t)data.n)
        return tn__fail(TN_EINVAL, "shape '%s' is invalid for input of size %zu",
                        tn__shape_str(shape.dim, shape.ndim).s, data.n);
    tn__scope_push(self, &scope);
    const tn_options host = {.device = TN_CPU, .dtype = o->dtype, .pin_memory = o->pin_memory};
    tn_tensor *t = tn__factory(&shape, &host, dtype_of_array(&data));
    if (t && fill_from(t, &data))
        t = NULL;
    if (t && o->device.type != TN_DEVICE_CPU) {
        tn_device d;
        t = tn__device_resolve(o->device, &d) ? NULL : tn_to(t, .device = d);
        if (t && o->pin_memory && d.type != TN_DEVICE_CPU)
            t = tn__fail(TN_EDEVICE, "Only dense CPU tensors can be pinned");
    }
    if (t && o->requires_grad)
        t = tn__require_grad(t, true);
    return tn__scope_return(self, &scope, t);
}

static void release_user_data(tn__storage *s)
{
    if (s->user_release)
        s->user_release(s->ctx);
}

tn_tensor *tn_from_data_opt(void *data, tn_dtype dtype, const tn_dims *shape, const tn_from_data_options *options)
{
    tn_from_data_options o;
    tn__options_in(&o, sizeof o, options);
    tn__thread *self = tn__enter(o.site);
    int64_t dims[TN_MAX_DIMS], numel, last = 0;
    if (!tn__dtype_exists(dtype) && tn__dtype_check("tn_from_data", dtype ? dtype : -1))
        return NULL;
    if (!shape)
        return tn__fail(TN_EINVAL, "tn_from_data: the shape is NULL");
    if (tn__shape_check("tn_from_data", shape->dim, shape->ndim, -1, dims))
        return NULL;
    if (!tn__shape_numel(dims, shape->ndim, tn__dtype_size(dtype), &numel))
        return tn__fail(TN_EINVAL, "tn_from_data: the shape %s is larger than memory can be",
                        tn__shape_str(dims, shape->ndim).s);
    if (!data && numel)
        return tn__fail(TN_EINVAL, "tn_from_data: the data is NULL");
    const bool strided = o.stride.said || o.stride.ndim;
    if (strided && o.stride.ndim != shape->ndim)
        return tn__fail(TN_EINVAL, "tn_from_data: %d strides for %d dimensions", (int)o.stride.ndim, (int)shape->ndim);
    for (int32_t d = 0; d < shape->ndim; d++) {
        int64_t step = 0;
        if (strided && o.stride.dim[d] < 0)
            return tn__fail(TN_EVALUE,
                            "At least one stride in the given array is negative, and tensors with negative strides "
                            "are not currently supported.");
        if (strided && numel &&
            (__builtin_mul_overflow(o.stride.dim[d], dims[d] - 1, &step) || __builtin_add_overflow(last, step, &last)))
            return tn__fail(TN_EINVAL, "tn_from_data: the strides reach beyond what an index can count");
    }
    tn_tensor *t = tn__tensor_new(dtype, TN_CPU, dims, shape->ndim, strided ? o.stride.dim : NULL);
    if (!t)
        return NULL;
    size_t n = (size_t)(numel == 0 ? 0 : strided ? last + 1 : numel) * tn__dtype_size(dtype);
    t->storage = tn__storage_new(TN_CPU, data, n, release_user_data);
    if (!t->storage) {
        tn__object_release(t);
        return tn__fail(TN_ENOMEM, "out of memory for a storage's description");
    }
    t->storage->user_release = o.release;
    t->storage->ctx = o.ctx;
    t->storage->read_only = o.read_only;
    tn__scope_adopt(self, t);
    return t;
}

/* ---- asking ---- */

static bool real(const tn_tensor *t)
{
    return t && t != TN_NONE;
}

tn_device tn_tensor_device(const tn_tensor *t)
{
    return real(t) ? t->device : tn_device_make(TN_DEVICE_INVALID, -1);
}

tn_dtype tn_tensor_dtype(const tn_tensor *t)
{
    return real(t) ? t->dtype : TN_DTYPE_DEFAULT;
}

int32_t tn_tensor_ndim(const tn_tensor *t)
{
    return real(t) ? t->ndim : 0;
}

/* All eight, which is quicker than as many as there are. */
static tn_dims list_of(const int64_t *dim, int32_t n)
{
    tn_dims d;
    d.no_number = NULL;
    d.ndim = n;
    d.said = true;
    memcpy(d.dim, dim, sizeof d.dim);
    return d;
}

tn_dims tn_tensor_shape(const tn_tensor *t)
{
    return real(t) ? list_of(t->shape, t->ndim) : (tn_dims){.ndim = -1};
}

tn_dims tn_tensor_stride(const tn_tensor *t)
{
    return real(t) ? list_of(t->stride, t->ndim) : (tn_dims){.ndim = -1};
}

int64_t tn_tensor_size(const tn_tensor *t, int64_t dim)
{
    int32_t d;
    if (!real(t)) {
        tn__enter(TN__NOWHERE);
        tn__poisoned("tn_tensor_size");
        return -1;
    }
    if (dim < -t->ndim || dim >= t->ndim)
        tn__enter(TN__NOWHERE);
    if (t->ndim == 0) {
        tn__error(TN_EINDEX, "Dimension specified as %lld but tensor has no dimensions", (long long)dim);
        return -1;
    }
    return tn__wrap_dim(dim, t->ndim, &d) ? -1 : t->shape[d];
}

int64_t tn_tensor_numel(const tn_tensor *t)
{
    return real(t) ? t->numel : 0;
}

int64_t tn_tensor_storage_offset(const tn_tensor *t)
{
    return real(t) ? t->offset : 0;
}

bool tn_tensor_is_contiguous(const tn_tensor *t)
{
    return real(t) && tn__contiguous(t);
}

bool tn_tensor_is_contiguous_in(const tn_tensor *t, tn_memory_format format)
{
    return real(t) && tn__is_in_format(format, t->shape, t->stride, t->ndim);
}

tn_memory_format tn_tensor_memory_format(const tn_tensor *t)
{
    return real(t) ? tn__suggest_format(t->shape, t->stride, t->ndim) : TN_MEMORY_FORMAT_DEFAULT;
}

bool tn_tensor_is_cuda(const tn_tensor *t)
{
    return real(t) && t->device.type == TN_DEVICE_CUDA;
}

bool tn_tensor_is_pinned(const tn_tensor *t)
{
    return real(t) && t->storage && t->storage->pinned;
}

bool tn_tensor_is_read_only(const tn_tensor *t)
{
    return real(t) && t->storage && t->storage->read_only;
}

/* One memory that was imported twice (DLPack, NumPy) is two storages of the same bytes. */
static bool overlap(const tn__storage *a, const tn__storage *b)
{
    uintptr_t x = (uintptr_t)a->data, y = (uintptr_t)b->data;
    return x && y && tn__same_device(a->device, b->device) && x < y + b->nbytes && y < x + a->nbytes;
}

bool tn_tensor_shares_storage(const tn_tensor *a, const tn_tensor *b)
{
    return real(a) && real(b) && a->storage && a->storage == b->storage;
}

bool tn_tensor_shares_memory(const tn_tensor *a, const tn_tensor *b)
{
    return tn_tensor_shares_storage(a, b) ||
           (real(a) && real(b) && a->storage && b->storage && overlap(a->storage, b->storage));
}

void *tn_tensor_binding(const tn_tensor *t)
{
    return real(t) ? atomic_load_explicit(&t->binding, memory_order_acquire) : NULL;
}

void tn_tensor_bind(tn_tensor *t, void *object)
{
    if (real(t))
        atomic_store_explicit(&t->binding, object, memory_order_release);
}

void *tn_data(const tn_tensor *t)
{
    if (real(t) && t->device.type == TN_DEVICE_CPU)
        return tn__host_touch(t, false) ? NULL : tn__tensor_data(t);
    tn__enter(TN__NOWHERE);
    if (!real(t)) {
        tn__poisoned("tn_data");
        return NULL;
    }
    return tn__fail(TN_EDEVICE,
                    "can't convert %s device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host "
                    "memory first.\n  in C: tn_data(tn_cpu(t))",
                    tn_device_text(t->device).s);
}

void *tn_tensor_address(const tn_tensor *t)
{
    if (!real(t))
        return NULL;
    tn__storage_expose(t->storage);
    return tn__tensor_data(t);
}

void *tn_tensor_storage(const tn_tensor *t, int64_t *nbytes)
{
    tn__storage *s = real(t) ? t->storage : NULL;
    tn__storage_expose(s);
    if (nbytes)
        *nbytes = s ? (int64_t)s->nbytes : 0;
    return s ? s->data : NULL;
}

/* The one element's address on the host, and the tensor that holds it (a copy where t lives elsewhere). */
static const void *one_element(const tn_tensor *t, tn_tensor **host)
{
    *host = NULL;
    if (!real(t)) {
        tn__poisoned("tn_item");
        return NULL;
    }
    if (t->numel != 1)
        return tn__fail(TN_EINVAL, "a Tensor with %lld elements cannot be converted to Scalar", (long long)t->numel);
    if (t->device.type == TN_DEVICE_META)
        return tn__fail(TN_EDEVICE, "Tensor.item() cannot be called on meta tensors");
    if (t->device.type != TN_DEVICE_CPU) {
        bool was = tn__set_no_grad(true);
        *host = tn_cpu((tn_tensor *)(uintptr_t)t);
        tn__set_no_grad(was);
        return *host ? tn__tensor_data(*host) : NULL;
    }
    return tn__host_touch(t, false) ? NULL : tn__tensor_data(t);
}

/* An error here has no place (its caller's macro adds one): that of the operation before would be a lie. What a
 * function of the library does after it has asked for one goes on at the place of its own caller. */
double tn_item(const tn_tensor *t)
{
    tn_scope scope;
    const char *site = tn__self()->site;
    tn__thread *self = tn__enter(TN__NOWHERE);
    tn_tensor *host;
    tn__scope_push(self, &scope);
    const void *p = one_element(t, &host);
    double v = p ? tn__load_double(t->dtype, p) : (double)NAN;
    tn__scope_pop(self, &scope, NULL);
    self->site = site;
    return v;
}

int64_t tn_item_int(const tn_tensor *t)
{
    tn_scope scope;
    const char *site = tn__self()->site;
    tn__thread *self = tn__enter(TN__NOWHERE);
    tn_tensor *host;
    tn__scope_push(self, &scope);
    const void *p = one_element(t, &host);
    int64_t v = p ? tn__load_int(t->dtype, p) : 0;
    tn__scope_pop(self, &scope, NULL);
    self->site = site;
    return v;
}

/* ---- other memory ---- */

static bool same_kind(const tn_tensor *a, const tn_tensor *b)
{
    return a->dtype == b->dtype && tn__same_device(a->device, b->device) &&
           tn__same_shape(a->shape, a->ndim, b->shape, b->ndim);
}

static bool same_view(const tn_tensor *a, const tn_tensor *b)
{
    return a->storage == b->storage && a->offset == b->offset && same_kind(a, b) &&
           tn__same_shape(a->stride, a->ndim, b->stride, b->ndim);
}

static tn_status check_data(const tn_tensor *t, const tn_tensor *data)
{
    if ((t->device.type == TN_DEVICE_META) != (data->device.type == TN_DEVICE_META))
        return tn__error(TN_EINVAL, "Attempted to call `variable.set_data(tensor)`, but `variable` and `tensor` have "
                                    "incompatible tensor type.\n  one of them is on meta and has no memory");
    if (tn__wants_grad(t) && !tn__dtype_is_float(data->dtype))
        return tn__error(TN_EDTYPE,
                         "data set to a tensor that requires gradients must be floating point or complex dtype");
    if (t->node && !same_kind(t, data))
        return tn__error(TN_EGRAD,
                         "tn_tensor_set_data: %s, which was computed by %s, cannot be given the data of %s: its "
                         "gradient would fit no more. detach() it first",
                         tn__tensor_str(t).s, tn_tensor_grad_fn(t).s, tn__tensor_str(data).s);
    return TN_OK;
}

tn_tensor *tn_tensor_data(tn_tensor *t)
{
    tn_tensor *data = tn_detach(t);
    if (data && data->storage && !(data->obj.flags & TN__UNSEEN)) {
        data->obj.flags |= TN__UNSEEN;
        data->version_shift = 0 - atomic_load_explicit(&data->storage->unseen, memory_order_relaxed);
    }
    return data;
}

tn_status tn_tensor_set_data(tn_tensor *t, tn_tensor *data)
{
    tn__enter(TN__NOWHERE);
    if (!t || !data)
        return tn__poisoned("tn_tensor_set_data");
    if (!real(t) || !real(data))
        return tn__error(TN_ETYPE, "tn_tensor_set_data: both operands must be tensors, not TN_NONE");
    tn_status e = check_data(t, data);
    if (e || same_view(t, data))
        return e;
    tn_tensor *fresh = tn__tensor_alias(data);
    if (!fresh)
        return TN_ENOMEM;
    tn__tensor_renew(t, fresh);
    tn__object_release(fresh);
    return TN_OK;
}

/* ---- gradients ---- */

tn_tensor *tn__require_grad(tn_tensor *t, bool requires_grad)
{
    if (!real(t)) {
        tn__poisoned("tn_requires_grad_");
        return NULL;
    }
    if (requires_grad && !tn__dtype_is_float(t->dtype))
        return tn__fail(TN_EDTYPE, "Only Tensors of floating point and complex dtype can require gradients");
    if (requires_grad && TN_UNLIKELY(t->obj.flags & TN__INFERENCE) && !tn__self()->born)
        return tn__fail(TN_EGRAD,
                        "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.");
    if (!requires_grad && (t->node || (t->base && tn__requires_grad(t->base))))
        return tn__fail(TN_EGRAD,
                        "you can only change requires_grad flags of leaf variables. If you want to use a computed "
                        "variable in a subgraph that doesn't require differentiation use var_no_grad = "
                        "var.detach().");
    if (requires_grad && !t->node)
        t->obj.flags |= TN__REQUIRES_GRAD;
    else if (!requires_grad)
        t->obj.flags &= ~(uint32_t)TN__REQUIRES_GRAD;
    return t;
}

tn_tensor *tn_requires_grad_(tn_tensor *t, bool requires_grad)
{
    tn__enter(TN__NOWHERE);
    if (real(t) && requires_grad && !tn__dtype_is_float(t->dtype))
        return tn__fail(TN_EDTYPE, "only Tensors of floating point dtype can require gradients");
    return tn__require_grad(t, requires_grad);
}

tn_status tn_detach_(tn_tensor *t)
{
    tn__enter(TN__NOWHERE);
    if (!real(t))
        return tn__poisoned("tn_detach_");
    if (t->base)
        return tn__error(TN_EGRAD, "Can't detach views in-place. Use detach() instead.");
    if (t->obj.flags & TN__RETAINS_GRAD && t->node)
        tn__tensor_forget(t); /* the node will not fill t's .grad any more */
    tn__object *node = atomic_exchange(&t->node, NULL);
    t->obj.flags &= ~(uint32_t)(TN__REQUIRES_GRAD | TN__RETAINS_GRAD);
    if (node)
        tn__object_release(node);
    return TN_OK;
}

bool tn_tensor_requires_grad(const tn_tensor *t)
{
    return real(t) && tn__wants_grad(t);
}

bool tn_tensor_is_leaf(const tn_tensor *t)
{
    return real(t) && tn__is_leaf(t) && !tn__needs_refresh(t);
}

tn_tensor *tn_tensor_base(const tn_tensor *t)
{
    return real(t) ? t->base : NULL;
}

bool tn_tensor_retains_grad(const tn_tensor *t)
{
    return real(t) && t->node && t->obj.flags & TN__RETAINS_GRAD;
}

tn_tensor *tn_tensor_grad(const tn_tensor *t)
{
    return real(t) ? t->grad : NULL;
}

tn_status tn_tensor_set_grad(tn_tensor *t, tn_tensor *grad)
{
    tn__enter(TN__NOWHERE);
    if (!real(t) || !grad)
        return tn__poisoned("tn_tensor_set_grad");
    tn_tensor *g = grad == TN_NONE ? NULL : grad;
    if (g && !tn__same_shape(g->shape, g->ndim, t->shape, t->ndim))
        return tn__error(TN_EINVAL,
                         "attempting to assign a gradient of size '%s' to a tensor of size '%s'. Please ensure that "
                         "the gradient and the tensor are the same size",
                         tn__shape_str(g->shape, g->ndim).s, tn__shape_str(t->shape, t->ndim).s);
    if (g && g->dtype != t->dtype)
        return tn__error(TN_EDTYPE,
                         "attempting to assign a gradient with dtype '%s' to a tensor with grad_dtype '%s'. The "
                         "gradient must match the tensor's grad_dtype (defaults to the tensor's dtype).",
                         tn__dtypes[g->dtype].scalar, tn__dtypes[t->dtype].legacy);
    if (g && !tn__same_device(g->device, t->device))
        return tn__error(TN_EDEVICE,
                         "attempting to assign a gradient with device type '%s' to a tensor with device type '%s'. "
                         "Please ensure that the gradient and the tensor are on the same device",
                         tn_device_text(g->device).s, tn_device_text(t->device).s);
    if (g)
        tn__object_retain(g);
    tn_tensor *old = t->grad;
    t->grad = g;
    tn__object_release(old);
    return TN_OK;
}

uint32_t tn_tensor_version(const tn_tensor *t)
{
    return real(t) ? tn__tensor_version(t) : 0;
}

tn_name tn_tensor_grad_fn(const tn_tensor *t)
{
    tn_name n = {""};
    if (!real(t))
        return n;
    tn_status e = TN_OK;
    tn__edge edge = tn__gradient_edge((tn_tensor *)(uintptr_t)t, &e);
    if (edge.to && edge.to->cls == &tn__node_class)
        memcpy(n.s, tn__node_name((const tn__node *)edge.to).s, sizeof n.s);
    tn__object_release(edge.to);
    return n;
}

bool tn_set_grad_enabled(bool enabled)
{
    return !tn__set_no_grad(!enabled);
}

bool tn_is_grad_enabled(void)
{
    return !tn__self()->no_grad;
}

bool tn_set_inference_mode(bool enabled)
{
    tn__thread *t = tn__self();
    bool was = t->born != 0;
    t->born = enabled ? TN__INFERENCE : 0;
    return was;
}

bool tn_is_inference_mode(void)
{
    return tn__self()->born != 0;
}

bool tn_tensor_is_inference(const tn_tensor *t)
{
    return real(t) && t->obj.flags & TN__INFERENCE;
}
