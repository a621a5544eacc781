/* autograd/functions.h: what functions composed of operations share, and the helpers that the list's derivatives name. */
#ifndef TENON_AUTOGRAD_FUNCTIONS_H
#define TENON_AUTOGRAD_FUNCTIONS_H

#include "autograd/node.h"
#include "core/error.h"
#include "core/thread.h"
#include "op/ops_private.h"
#include <tenon/tensor.h>

/* Options from outside into a struct of this library's size: what an older caller's struct lacks is zero. NULL: all of it,
 * and no call site. */
void tn__options_in(void *to, size_t size, const void *from);

/* The same without a copy where the caller's struct has all of this library's. */
static inline const void *tn__options(void *space, size_t size, const void *from)
{
    size_t have = 0;
    if (TN_LIKELY(from != NULL))
        memcpy(&have, from, sizeof have);
    if (TN_LIKELY(have >= size))
        return from;
    tn__options_in(space, size, from);
    return space;
}

/* An optional tensor of an options struct: NULL means 'not said'. */
static inline tn_scalar tn__optional(tn_tensor *t)
{
    return t ? tn_scalar_t(t) : tn_scalar_none();
}

/* Closes the scope of a composed function. Its result goes outside; a result that was an argument gets a new reference. */
tn_tensor *tn__scope_return(tn__thread *t, tn_scope *scope, tn_tensor *result);

/* A further result of a composed function, outside its scope; not where out is NULL: nobody asked for it. False without t, or
 * where no memory is left to note it. */
bool tn__scope_give(tn_tensor *t, tn_tensor **out);

/* tn_requires_grad_ within another function's call. */
tn_tensor *tn__require_grad(tn_tensor *t, bool requires_grad);

/* An uninitialised tensor on the options' device; dtype as given where the options say none. */
tn_tensor *tn__factory(const tn_dims *shape, const tn_options *o, tn_dtype otherwise);

/* Zeros with given strides; x's dtype and device. */
tn_tensor *tn__zeros_strided(const tn_tensor *x, tn_dims shape, tn_dims stride);

static inline bool tn__set_no_grad(bool off)
{
    tn__thread *t = tn__self();
    bool was = t->no_grad;
    t->no_grad = off;
    return was;
}

/* Can nobody else see its memory? Then a sum may be made in it. */
static inline bool tn__is_private(tn_tensor *t)
{
    return tn__object_sole(t) && !t->node && !t->base && t->storage && atomic_load(&t->storage->refs) == 1 &&
           !t->storage->read_only && tn__is_dense(t->shape, t->stride, t->ndim);
}

/* ---- for derivatives ---- */

static inline tn_dims tn__input_shape(const tn__backward *b, int32_t i)
{
    return tn_dims_of(b->node->in[i].shape, b->node->in[i].ndim);
}

/* Would what came, handed on as the gradient of input i, be copied there? So it is for a leaf that has no gradient yet, for
 * nobody else may hold that. (engine.c) */
bool tn__backward_copies(const tn__backward *b, int32_t i, const tn_tensor *g);

/* The gradient of input i. */
static inline tn_status tn__give(tn__backward *b, int32_t i, tn_tensor *grad)
{
    b->grad[i] = grad;
    return grad ? TN_OK : tn_error_code();
}

/* An operand as a tensor; a number becomes one of no dimensions, which does not decide about dtypes. */
tn_tensor *tn__as_tensor(tn_scalar s, tn_device device);

/* ---- for composed functions: what they look into before any row does ---- */

/* Is it a tensor? Else the error of what, the function, is set. */
bool tn__usable(const char *what, const tn_tensor *t);
/* A list of any length, that can be read; one of at most as many as a tensor has dimensions. */
bool tn__usable_ints(const char *what, tn_ints list);
bool tn__dims_fit(const char *what, const tn_dims *dims);

/* The error of a kernel that has not x's dtype. kernel: PyTorch's name for it, '*' where that says "cpu" or "cuda". */
TN_COLD void tn__no_kernel(const char *kernel, const tn_tensor *x);
/* x, if it is a tensor of a floating dtype; else the kernel's error. A name with '*' has '_' before it. */
tn_tensor *tn__floating(const char *kernel, tn_tensor *x);

/* May a sum over x be asked for in that dtype? Not in integers, where it would be recorded. */
TN_MUST_USE tn_status tn__check_derived(const tn_tensor *x, tn_dtype asked);

static inline double tn__number_or(tn_scalar s, double otherwise)
{
    return s.kind ? tn__scalar_double(&s) : otherwise;
}

/* What is computed between operands and result of dtype d has this one. */
static inline tn_dtype tn__between(tn_dtype d)
{
    return tn__dtype_is_float(d) ? tn__dtypes[d].compute : d;
}

static inline tn_dims tn__shape_of(const tn_tensor *t)
{
    return tn_dims_of(t->shape, t->ndim);
}

/* ---- factories ---- */

/* The tensor that a factory's options ask for. */
tn_tensor *tn__factory_finish(const tn__spec *s, tn_device device, const tn_options *o);
/* One like x in what the options do not say. */
tn_tensor *tn__factory_like(tn_tensor *x, const tn_options *o);

/* In the memory that the caller has offered (tn_into, apart): NULL where it has not, or that does not fit. (dispatch/into.c) */
tn_tensor *tn__made_into(const tn__spec *s, tn_device device);

/* Runs an in-place initialisation: with recording off, and without counting as a write to a leaf. */
#define TN__INITIALISED(t, statement) \
    do { \
        bool was_ = tn__set_no_grad(true); \
        const uint32_t version_ = (t) && (t)->storage ? tn__storage_version((t)->storage) : 0; \
        if ((t) && !(statement)) \
            (t) = NULL; \
        tn__set_no_grad(was_); \
        if ((t) && (t)->storage) \
            atomic_store_explicit(&(t)->storage->version, version_, memory_order_relaxed); \
    } while (0)

/* ---- derivatives that are more than a formula ---- */

/* The error of an operation whose gradient PyTorch has not got either, under PyTorch's name. NULL. */
tn_tensor *tn__underived(const char *name);

/* ---- derivatives that are a program's callback (function.c) ---- */

/* Gradients of all results into g: zeros where none came, or NULL. */
TN_MUST_USE tn_status tn__all_gradients(const tn__backward *b, bool zeros, tn_tensor **g);
/* The callback's gradients out of its barrier scope, which is closed, into the one outside; nothing where e, its status, is an
 * error. name: who gave them, in errors. */
TN_MUST_USE tn_status tn__hand_gradients(tn__thread *t, tn_scope *scope, const tn__backward *b, const char *name,
                                         tn_status e);

/* ---- what op/derivatives.c, made from the rows, holds ---- */

/* Gradient of an elementwise row with respect to one operand, of g, the saved operands and the result. */
typedef tn_tensor *(*tn__formula)(tn_tensor *g, const tn_scalar *s, tn_tensor *out);
extern const tn__formula tn__formulas[TN__OPS][3];

/* A row whose two gradients one pass can give: 1 + its number among those, 0: it is none; which of them are what came. */
typedef struct tn__both {
    uint8_t number;
    bool same[2];
} tn__both;
extern const tn__both tn__boths[TN__OPS];

/* Each row's derivative, by operation. */
extern const tn__derivative tn__derivatives[TN__ROWS];

/* Forward functions of COMP rows. They wrap dimensions in their parameters, as shape rules do. */
typedef tn_tensor *(*tn__composite)(const tn_scalar *in, void *params);
extern const tn__composite tn__composites[TN__OPS];

tn_status tn__derive_elementwise(tn__backward *b);

/* ---- what the family view makes (ops/view) ---- */

/* The node of a view, without edges, that says: this part of v's base. NULL, with TN_ENOMEM set. */
tn__node *tn__view_node(const tn_tensor *v);
/* That of v's base after an operation of n_in inputs in place on v, which is to be its 'inner'. */
tn__node *tn__slices_node(const tn_tensor *v, int32_t n_in);

/* The ctx of an own function's node, and what frees it; NULL for other nodes (function.c). */
void *tn__function_ctx(const tn__node *n, void (**destroy)(void *ctx));

/* ---- in-place writes (inplace.c) ---- */

/* May t be written, with recording as it is? PyTorch's rules and texts. */
TN_MUST_USE tn_status tn__check_inplace(const tn_tensor *t, bool records);

/* May t be written from other, as far as they share memory? A part of it: never; the same elements: unless apart. other: NULL,
 * if there is none. */
TN_MUST_USE tn_status tn__check_apart(const tn_tensor *t, const tn_tensor *other, bool apart);

/* Gives t, which was just written, its new history, that output of node; for a view, of output 0, rebases the base's. node
 * is taken over. Everything it needs was allocated by tn__rebase_prepare, so it cannot fail. */
tn__node *tn__rebase_prepare(tn_tensor *t, tn__node *node);
void tn__rebase(tn_tensor *t, tn__node *node, uint32_t output, tn__node *slices);

/* Has t's node keep the gradient for t, which is no leaf (hooks.c). */
void tn__keep_grad(tn_tensor *t);

/* Makes v a view of x: base, flags. */
void tn__make_view(tn_tensor *v, tn_tensor *x, bool multi);
/* v itself, a new view of what is new and nobody else's: no view then, for nobody sees what it would be a view of. */
tn_tensor *tn__no_view(tn_tensor *v);

#endif
