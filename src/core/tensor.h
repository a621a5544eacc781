/* core/tensor.h: the tensor: a strided view of a storage, and its place in the autograd graph. */
#ifndef TENON_CORE_TENSOR_H
#define TENON_CORE_TENSOR_H

#include "core/device.h"
#include "core/dtype.h"
#include "core/object.h"
#include "core/shape.h"
#include "core/storage.h"

/* tn__object.flags of a tensor */
enum {
    TN__REQUIRES_GRAD = 1, /* a leaf that asks for a gradient; others ask through their node */
    TN__RETAINS_GRAD = 2,  /* keeps .grad although it is no leaf */
    TN__CONTIGUOUS = 4,
    TN__IS_VIEW = 8,         /* a differentiable view: base is set */
    TN__VIEW_NO_GRAD = 16,   /* ... made while recording was off */
    TN__VIEW_MULTI = 32,     /* ... by an operation with several views for outputs (chunk, split, unbind) */
    TN__WRAPPED_NUMBER = 64, /* 0-dim tensor that stands for a number: promotes like one */
    TN__VIEW_FUNCTION = 128, /* ... a view that an own function gave: its history is that function's */
    TN__INFERENCE = 256,     /* made in inference mode, or a view of such: never part of a graph */
    TN__UNSEEN = 512,        /* writes through it are counted apart, and no graph notices them: tn_tensor_data */
};

/* Invariants: numel is the product of shape; storage is NULL only on meta; offset + reach of the strides stays inside
 * the storage; only one of 'requires grad' and 'node' is set. shape and stride hold ndim valid entries. */
struct tn_tensor {
    tn__object obj;
    tn_dtype dtype;
    int32_t ndim;
    tn_device device;
    int64_t numel;
    int64_t offset; /* elements into the storage */
    tn__storage *storage;
    _Atomic(tn__object *) node;    /* what made it: tn__node, or NULL. A view's is made anew when it is first read after
                                      a write to its base: autograd/inplace.c, which alone may replace one */
    uint32_t node_output;          /* which of the node's outputs it is */
    _Atomic uint32_t view_version; /* storage version for which a view's node is right */
    tn_tensor *base;               /* of a view: the tensor it shows; never a view itself */
    tn_tensor *grad;
    _Atomic(tn__object *) accumulator; /* of a leaf with hooks: the node that its gradients go through; owned */
    _Atomic(void *) binding;           /* a language binding's wrapper of this tensor; not owned */
    uint32_t version_shift; /* what was written, as this tensor counts it, less what its storage counts: it can be given
                                other memory, and graphs that were recorded before must notice */
    const char *site;       /* birthplace, or NULL */
    int64_t shape[TN_MAX_DIMS], stride[TN_MAX_DIMS];
#ifndef NDEBUG
    tn_tensor *live_next, *live_prev; /* all live tensors, for the report at exit */
#endif
};

extern const tn__class tn__tensor_class;

/* A tensor struct without a storage; dims' strides row-major unless given. NULL and TN_ENOMEM when memory is out. The
 * caller owns it; it is in no scope. */
tn_tensor *tn__tensor_new(tn_dtype dtype, tn_device device, const int64_t *shape, int32_t ndim, const int64_t *stride);

/* Another tensor struct showing the same memory, without autograd history. */
tn_tensor *tn__tensor_alias(const tn_tensor *t);

/* What two tensors show changes places: memory, shape, dtype, device, and what a view is a view of; but not identity,
 * history, gradient and wish for one. */
void tn__tensor_swap(tn_tensor *a, tn_tensor *b);

/* The same where t is given the content of 'fresh' for good: graphs that were recorded with t's old memory notice. */
void tn__tensor_renew(tn_tensor *t, tn_tensor *fresh);

static inline bool tn__contiguous(const tn_tensor *t)
{
    return (t->obj.flags & TN__CONTIGUOUS) != 0;
}

/* Recomputes what is cached of shape and strides, after they were written by hand. */
void tn__tensor_geometry(tn_tensor *t);

/* Address of element 0; NULL where there is no memory or no element: an empty view may begin behind the end of its
 * storage, an address that nobody may be given. */
static inline void *tn__tensor_data(const tn_tensor *t)
{
    bool any = t->storage && t->storage->data && t->numel;
    return any ? (char *)t->storage->data + t->offset * (int64_t)tn__dtype_size(t->dtype) : NULL;
}

/* Another tensor of t's memory is as t is, whatever mode it is made in. */
static inline void tn__inherit_kind(tn_tensor *another, const tn_tensor *t)
{
    const uint32_t both = TN__INFERENCE | TN__UNSEEN;
    another->obj.flags = (another->obj.flags & ~both) | (t->obj.flags & both);
}

static inline bool tn__requires_grad(const tn_tensor *t)
{
    return (t->obj.flags & TN__REQUIRES_GRAD) != 0 || t->node != NULL;
}

static inline bool tn__is_leaf(const tn_tensor *t)
{
    return t->node == NULL;
}

static inline uint32_t tn__tensor_version(const tn_tensor *t)
{
    if (!t->storage)
        return t->version_shift;
    if (TN_UNLIKELY(t->obj.flags & TN__UNSEEN))
        return atomic_load_explicit(&t->storage->unseen, memory_order_relaxed) + t->version_shift;
    return tn__storage_version(t->storage) + t->version_shift;
}

/* The same of all writes to its memory, seen or not: for who keeps copies. */
static inline uint32_t tn__tensor_writes(const tn_tensor *t)
{
    uint32_t seen = t->storage ? tn__storage_version(t->storage) : 0;
    return seen + (t->storage ? atomic_load_explicit(&t->storage->unseen, memory_order_relaxed) : 0) + t->version_shift;
}

/* It has been written to. */
static inline void tn__tensor_written(const tn_tensor *t)
{
    if (t->storage)
        atomic_fetch_add_explicit(t->obj.flags & TN__UNSEEN ? &t->storage->unseen : &t->storage->version, 1,
                                  memory_order_relaxed);
}

/* "float32 [2, 3] on cpu", for messages; by value. */
typedef struct tn__tensor_text {
    char s[288];
} tn__tensor_text;
tn__tensor_text tn__tensor_str(const tn_tensor *t);

/* Calls f for every live tensor of the process, under the list's lock: f may read a tensor's own fields, and follow none.
 * Only debug builds keep such a list; others call f for none. */
void tn__tensors_each(void (*f)(const tn_tensor *, void *), void *ctx);

/* A tensor that is being destroyed and keeps the gradient of a non-leaf: the node must forget it (set by autograd). */
extern void (*tn__tensor_forget)(tn_tensor *t);

#endif
