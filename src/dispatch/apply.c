/* The door that every operation passes: operands, shape rule, checks, memory, kernel, record. */
#include "dispatch/apply.h"
#include "autograd/anomaly.h"
#include "backend/backend.h"
#include "backend/host_touch.h"
#include "backend/transfer.h"
#include "core/alloc.h"
#include "op/infer.h"
#include <tenon/dtype.h>

/* One operation on its way through the door. */
typedef struct passage {
    tn__thread *self;
    tn__call c;
    uint32_t wanted; /* bit i: input i wants a gradient; of a list's further inputs it is found again */
    bool records;
    bool mixed;      /* 0-dim CPU tensors among operands that are elsewhere */
    tn_tensor *into; /* offered by the caller, or NULL; once outputs are made: only if it was taken */
    tn_tensor *out[TN__MAX_OUT];
    tn__node *node;
    tn__node *slices;    /* in place on a view */
    tn_tensor *original; /* in place: input 0 before the write, where the derivative needs it */
} passage;

bool tn__dtype_usable(const char *site, const char *what, tn_dtype dtype)
{
    if (TN_LIKELY(!dtype || tn__dtype_exists(dtype)))
        return true;
    tn__enter(site);
    return tn__dtype_check(what, dtype) == TN_OK;
}

TN_COLD static bool no_list(const char *site, const tn_dims *d)
{
    tn__enter(site);
    if (d && !d->no_number && d->ndim > 0)
        tn__error(TN_EINVAL, "a list of 0 to %d dimensions was expected, got %d", TN_MAX_DIMS, (int)d->ndim);
    else
        tn__error(TN_EINVAL, "a list of 0 to %d dimensions was expected, got %s", TN_MAX_DIMS,
                  !d             ? "NULL"
                  : d->no_number ? "a number"
                                 : "none: its count is negative, its array or its tensor NULL");
    return false;
}

bool tn__dims_take(const char *site, tn__dims *to, const tn_dims *from)
{
    if (TN_UNLIKELY(!from || from->no_number || from->ndim < 0 || from->ndim > TN_MAX_DIMS))
        return no_list(site, from);
    for (int32_t i = 0; i < from->ndim;
         i++) /* one by one, as they were written: a wider load would wait for those stores */
        to->d[i] = from->dim[i];
    to->n = from->ndim;
    to->given = from->said || from->ndim;
    return true;
}

TN_COLD bool tn__dim_unsaid(const char *site, int64_t dim)
{
    tn__enter(site);
    tn__error(TN_EINVAL, "dim is %lld, but dim_given is false: who fills an options struct by hand sets both",
              (long long)dim);
    return false;
}

bool tn__dims_said(const char *site, tn__dims *to, const tn_dims *dims, int64_t dim, bool dim_given)
{
    if (!dim_given)
        return tn__dim_meant(site, dim, false) && (!dims || tn__dims_take(site, to, dims));
    if (TN_UNLIKELY(dims && (dims->said || dims->ndim))) {
        tn__enter(site);
        tn__error(TN_EINVAL, "dim and dims are both given: one of them says along what");
        return false;
    }
    to->d[0] = dim;
    to->n = 1;
    to->given = true;
    return true;
}

bool tn__one_dim(const char *site, tn_dims *dims, int64_t dim, bool dim_given)
{
    tn__dims taken;
    if (!dim_given)
        return tn__dim_meant(site, dim, false);
    if (!tn__dims_said(site, &taken, dims, dim, true))
        return false;
    *dims = tn_dims_of(&dim, 1);
    return true;
}

static void note_operands(const tn__call *c)
{
    if (!c->all_said && !strstr(tn_error_message(), tn__op_name(c->op)))
        tn__error_append("\n  in %s(%s)", tn__op_name(c->op), tn__operands_str(c->in, c->n_in).s);
}

/* ---- who wants a gradient ---- */

/* A comparison that is written over its operand: nothing of that is left, and the gradient is 0. Beside it, it is a bool. */
static bool compares_in_place(const tn__call *c)
{
    return c->inplace && tn__ops[c->op].flags & F_COMPARE;
}

static tn_status derive_nothing_left(tn__backward *b)
{
    for (int32_t i = 0; i < b->node->n_in; i++)
        if (b->need[i] && !(b->grad[i] = tn_zeros_like(b->g[0])))
            return tn_error_code();
    return TN_OK;
}

static bool is_differentiable(const tn__call *c, int32_t i)
{
    if (TN_UNLIKELY(compares_in_place(c)))
        return true;
    return !(tn__saves(c->op, i) & TN__NODIFF) && tn__derivatives[c->op] != tn__d_none;
}

static bool wants(const tn__call *c, int32_t i)
{
    const tn_tensor *t = tn__operand(&c->in[i]);
    return t && tn__dtype_is_float(t->dtype) && tn__wants_grad(t) && is_differentiable(c, i);
}

enum { NOTED = 32 }; /* inputs that have a bit in 'wanted' */

static bool wanted(const passage *p, int32_t i)
{
    return i < NOTED ? p->wanted >> i & 1 : wants(&p->c, i);
}

/* Notes who wants a gradient. Does anyone? */
static bool should_record(passage *p)
{
    const tn__call *c = &p->c;
    uint32_t bits = 0;
    if (p->self->no_grad || (c->inplace && !tn__dtype_is_float(c->in[0].v.t->dtype))) /* integers want no gradient */
        return false;
    for (int32_t i = 0; i < c->n_in && i < NOTED; i++)
        bits |= (uint32_t)wants(c, i) << i;
    p->wanted = bits;
    for (int32_t i = NOTED; i < c->n_in && !bits; i++)
        bits = wants(c, i);
    return bits != 0;
}

/* Weights of losses have no derivative; PyTorch refuses them rather than leave a gradient out. */
static tn_status check_constants(const tn__call *c)
{
    const tn__op *op = &tn__ops[c->op];
    for (int32_t i = 0; op->constants >> i; i++) {
        const tn_tensor *t = op->constants >> i & 1 && i < c->n_in ? tn__operand(&c->in[i]) : NULL;
        if (t && tn__wants_grad(t))
            return tn__error(TN_EGRAD,
                             "The function '%s' is not differentiable with respect to argument '%s'. This input cannot "
                             "have requires_grad True.",
                             tn__torch_name(c), op->words->argument[i]);
    }
    return TN_OK;
}

/* ---- in place ---- */

static tn_status check_sharing(const tn__call *c, const tn_tensor *t)
{
    const uint32_t flags = tn__ops[c->op].flags;
    if (!(flags & F_ONE_VALUE) && tn__overlaps_itself(t->shape, t->stride, t->ndim))
        return tn__error(TN_EINVAL,
                         "unsupported operation: more than one element of the written-to tensor refers to a "
                         "single memory location. Please clone() the tensor before performing the operation.");
    for (int32_t i = 1; i < c->n_in; i++) {
        const tn_tensor *other = tn__operand(&c->in[i]);
        if (!other || TN_LIKELY(other->storage != t->storage))
            continue;
        tn_status e = tn__check_apart(t, other, flags & F_APART);
        if (e)
            return e;
    }
    return TN_OK;
}

/* Do shapes and dtypes count only once the memory is found fit? PyTorch asks so of what is computed element by element. */
static bool shared_first(const tn__op *op)
{
    return op->kind <= TN__TERNARY && !(op->flags & F_SHAPES_FIRST);
}

/* What is asked of input 0 before anything else of the call: may it be written to at all? */
static tn_status check_history(const passage *p)
{
    const tn__call *c = &p->c;
    const tn__op *op = &tn__ops[c->op];
    tn_status e = op->saves[0] & TN__UNHEARD ? TN_OK : tn__check_inplace(c->in[0].v.t, p->records);
    return e || !shared_first(op) ? e : check_sharing(c, c->in[0].v.t);
}

static tn_status check_write(const passage *p)
{
    const tn__call *c = &p->c;
    const tn__spec *s = &c->spec[0];
    const tn_tensor *t = c->in[0].v.t;
    if (TN_UNLIKELY(t->obj.flags & TN__INFERENCE) && !p->self->born)
        return tn__error(TN_EGRAD,
                         "Inplace update to inference tensor outside InferenceMode is not allowed.You can make "
                         "a clone to get a normal tensor before doing inplace update.");
    if (t->storage && t->storage->read_only)
        return tn__error(TN_EINVAL, "%s_: the tensor shows read-only memory (a mapped file): clone it first",
                         tn__op_name(c->op));
    if (!tn__same_shape(s->shape, s->ndim, t->shape, t->ndim))
        return tn__error(TN_EINVAL,
                         tn__is_elementwise(c->op)
                             ? "output with shape %s doesn't match the broadcast shape %s"
                             : "Bad in-place call: input tensor size %s and output tensor size %s should match",
                         tn__shape_str(t->shape, t->ndim).s, tn__shape_str(s->shape, s->ndim).s);
    if (!tn__can_cast(s->dtype, t->dtype) && s->dtype != t->dtype)
        return tn__error(TN_EDTYPE, "result type %s can't be cast to the desired output type %s",
                         tn__dtypes[s->dtype].legacy, tn__dtypes[t->dtype].legacy);
    return shared_first(&tn__ops[c->op]) ? TN_OK : check_sharing(c, t);
}

/* ---- recording ---- */

static uint32_t saves_of(const passage *p)
{
    uint32_t saves = 0;
    for (int32_t i = 0; i < p->c.n_in; i++)
        if (wanted(p, i))
            saves |= tn__saves(p->c.op, i);
    return compares_in_place(&p->c) ? 0 : saves;
}

/* Makes the node, saves the inputs. Outputs are saved too, so that nothing can fail once the kernel has run. */
static tn_status prepare_node(passage *p)
{
    const tn__call *c = &p->c;
    tn__node *n = p->node = tn__node_new(c->op, c->n_in, c->n_out, c->params);
    if (!n)
        return TN_ENOMEM;
    if (tn__anomaly_watched())
        tn__anomaly_recorded(n);
    n->variant = c->variant;
    n->derive = compares_in_place(c) ? derive_nothing_left : tn__derivatives[c->op];
    uint32_t saves = saves_of(p);
    for (int32_t i = 0; i < c->n_in; i++) {
        tn_tensor *t = tn__operand(&c->in[i]);
        tn_status e = TN_OK;
        tn__edge edge = {NULL, 0};
        if (t && wanted(p, i))
            edge = tn__gradient_edge(t, &e);
        if (e)
            return e;
        if (t)
            tn__node_input(n, i, t, edge);
        bool save = i < TN__SAVED_IN && saves & TN__SAVE_IN(i);
        tn_scalar value = c->in[i];
        if (save && i == 0 && c->inplace) {
            if (!p->original && !(p->original = tn__tensor_alias(t)))
                return TN_ENOMEM;
            value = tn_scalar_t(p->original);
        }
        if (save && !tn__node_save(n, i, &value))
            return tn_error_code();
    }
    for (int32_t i = 0; i < c->n_out; i++) {
        tn_scalar value = tn_scalar_t(p->out[i]);
        tn__node_output(n, i, p->out[i]);
        if (saves & TN__SAVE_OUT(i) && !tn__node_save(n, c->n_in + i, &value))
            return tn_error_code();
    }
    return TN_OK;
}

/* In place, what the derivative needs of the old values is copied before they go. */
static tn_status save_original(passage *p)
{
    tn_tensor *t = p->c.in[0].v.t;
    if (!p->c.inplace || !p->records || !(saves_of(p) & TN__SAVE_IN(0)))
        return TN_OK;
    bool no_grad = p->self->no_grad;
    p->self->no_grad = true;
    tn_tensor *copy = tn_clone(t);
    p->self->no_grad = no_grad;
    if (!copy)
        return tn_error_code();
    tn__scope_disown(p->self, copy);
    p->original = copy;
    return TN_OK;
}

/* After the kernel: outputs get their history. */
static void attach(passage *p)
{
    const tn__call *c = &p->c;
    tn__node *n = p->node;
    for (int32_t i = 0; i < c->n_out; i++) {
        if (n->saved[c->n_in + i].kept)
            n->saved[c->n_in + i].version = tn__tensor_version(p->out[i]);
        if (c->inplace || !tn__dtype_is_float(p->out[i]->dtype))
            continue;
        if (TN_UNLIKELY(c->n_out > 1) && tn__ops[c->op].flags & F_NOGRAD_RESULT(i))
            continue;
        p->out[i]->node_output = (uint32_t)i;
        atomic_store_explicit(&p->out[i]->node, tn__object_retain(&n->obj),
                              memory_order_relaxed); /* nobody sees it yet */
    }
    if (c->inplace)
        tn__rebase(p->out[0], n, 0, p->slices);
    else
        tn__object_release(&n->obj);
    p->node = p->slices = NULL;
}

/* ---- memory and kernels ---- */

static tn_tensor *make_view(const tn__call *c)
{
    const tn__spec *s = &c->spec[0];
    tn_tensor *x = c->in[0].v.t, *v = tn__tensor_new(s->dtype, x->device, s->shape, s->ndim, s->stride);
    if (!v)
        return NULL;
    v->offset = s->offset;
    v->version_shift = x->version_shift;
    tn__inherit_kind(v, x);
    if (x->storage)
        v->storage = tn__storage_retain(x->storage);
    if (!(tn__ops[c->op].flags & F_DETACH))
        tn__make_view(v, x, tn__ops[c->op].piece_at != 0);
    return v;
}

/* A copy to the CPU that nobody waits for: only into pinned memory it runs beside the host. */
static bool lands_later(const tn__call *c)
{
    return tn__ops[c->op].flags & F_CROSSES && tn__asked_later(c->op, c->params) && c->device.type == TN_DEVICE_CPU &&
           tn__backend_of(c->in[0].v.t->device)->mover;
}

static tn_status make_outputs(passage *p)
{
    tn__call *c = &p->c;
    if (TN_UNLIKELY(p->into != NULL) && (p->records || p->mixed || !tn__goes_into(c, p->into)))
        p->into = NULL;
    if (TN_UNLIKELY(p->into != NULL))
        p->self->apart = NULL;
    for (int32_t i = 0; i < c->n_out; i++) {
        if (c->inplace)
            p->out[i] = tn__object_retain(c->in[0].v.t);
        else if (tn__ops[c->op].kind == TN__VIEW)
            p->out[i] = make_view(c);
        else {
            int64_t numel;
            const tn__spec *s = &c->spec[i];
            if (TN_UNLIKELY(p->into != NULL) && (p->out[i] = tn__tensor_alias(p->into)))
                continue;
            if (!tn__shape_numel(s->shape, s->ndim, tn__dtype_size(s->dtype), &numel))
                return tn__error(TN_EINVAL, "%s: a result of shape %s is larger than memory can be", tn__op_name(c->op),
                                 tn__shape_str(s->shape, s->ndim).s);
            p->out[i] = lands_later(c) ? tn__tensor_make_pinned(s) : tn__tensor_make(s, c->device);
        }
        if (!p->out[i])
            return tn_error_code();
    }
    return TN_OK;
}

/* The result of F_COPY rows begins as a copy of input 0. */
static tn_status copy_first(const tn__backend *b, const passage *p)
{
    tn__iter it;
    if (!(tn__ops[p->c.op].flags & F_COPY) || p->c.inplace)
        return TN_OK;
    tn__iter_build(&it, p->out[0], p->c.in, 1, p->c.compute);
    return b->copy(p->c.device, &it);
}

static tn_status run_structural(const tn__backend *b, passage *p, const tn_scalar *operand)
{
    const tn__call *c = &p->c;
    tn__view few[TN__MAX_IN], *in = few;
    if (!b->kernels[c->op])
        return tn__error(TN_EMISSING, "%s is not implemented on %s for %s", tn__op_name(c->op), b->name,
                         tn_dtype_name(p->out[0]->dtype));
    size_t bytes = sizeof *in * (size_t)c->n_in;
    if (c->n_in > TN__MAX_IN && !(in = tn__block_get(bytes)))
        return tn__error_memory("a list of operands", bytes);
    tn__launch l = {.op = c->op,
                    .compute = c->compute,
                    .device = c->device,
                    .n_in = c->n_in,
                    .n_out = c->n_out,
                    .in = in,
                    .operand = operand,
                    .params = c->params};
    for (int32_t i = 0; i < c->n_in; i++)
        in[i] = tn__view_of(tn__operand(&operand[i]));
    for (int32_t i = 0; i < c->n_out; i++)
        l.out[i] = tn__view_of(p->out[i]);
    tn_status e = copy_first(b, p);
    if (!e)
        e = b->kernels[c->op](&l);
    if (in != few)
        tn__block_put(in, bytes);
    return e;
}

/* Memory taken on another stream than the current one is told that it is used here too. */
static void mark_used(const tn__queue *q, const passage *p)
{
    const tn__call *c = &p->c;
    tn__stream *s = q->current(c->device);
    if (!s)
        return;
    for (int32_t i = 0; i < c->n_in; i++) {
        const tn_tensor *t = tn__operand(&c->in[i]);
        if (t && t->storage->stream && t->storage->stream != s)
            q->used(t->storage, s);
    }
    for (int32_t i = 0; i < c->n_out; i++)
        if (p->out[i]->storage->stream && p->out[i]->storage->stream != s)
            q->used(p->out[i]->storage, s);
}

static tn_status touch_operands(const passage *p)
{
    tn_status e = TN_OK;
    for (int32_t i = 0; i < p->c.n_in && !e; i++) {
        const tn_tensor *t = tn__operand(&p->c.in[i]);
        e = t ? tn__host_touch_watched(t, false) : TN_OK;
    }
    for (int32_t i = 0; i < p->c.n_out && !e; i++)
        e = tn__host_touch_watched(p->out[i], true);
    return e;
}

static tn_status run(passage *p)
{
    const tn__call *c = &p->c;
    const tn__backend *b = tn__backend_of(c->device);
    tn_scalar local[TN__MAX_IN];
    const tn_scalar *in = c->in;
    tn__iter it;
    tn_status e;
    if (tn__ops[c->op].kind == TN__VIEW)
        return TN_OK;
    if (tn__ops[c->op].flags & F_CROSSES) {
        const tn_tensor *from = c->in[c->n_in - 1].v.t;
        if (!tn__same_device(from->device, c->device))
            return tn__transfer(p->out[0], from, tn__asked_later(c->op, c->params));
    }
    if (tn__host_is_watched() && (e = touch_operands(p)))
        return e;
    if (TN_UNLIKELY(p->mixed || c->adjusts)) {
        tn__operands_local(c, local);
        in = local;
    }
    if (tn__is_elementwise(c->op)) {
        tn__iter_build(&it, p->out[0], in, c->n_in, c->compute);
        e = b->elementwise(c->device, TN_UNLIKELY(c->common == TN_U64) ? tn__ops[c->op].of_u64 : c->op, &it,
                           c->compute);
    } else {
        e = run_structural(b, p, in);
    }
    if (b->queue)
        mark_used(b->queue, p);
    return e;
}

/* ---- the door ---- */

static tn_status pass(passage *p, uint32_t required)
{
    tn__call *c = &p->c;
    const bool elementwise = tn__is_elementwise(c->op);
    tn_status e = tn__operands_check(c, required, &p->mixed);
    if (TN_UNLIKELY(e))
        return e;
    p->records = should_record(p);
    if (c->inplace && (e = check_history(p)))
        return e;
    e = elementwise ? tn__infer_elementwise(c) : tn__ops[c->op].infer(c);
    if (TN_UNLIKELY(e)) {
        note_operands(c);
        return e;
    }
    if (!p->self->no_grad && (e = check_constants(c)))
        return e;
    if (p->records && tn__ops[c->op].flags & F_ASKS) {
        const tn_dtype asked = tn__asked_dtype(c->op, c->params);
        if (TN_UNLIKELY(asked && (e = tn__check_derived(c->in[0].v.t, asked))))
            return e;
    }
    if (c->inplace && (e = check_write(p)))
        return e;
    if (TN_UNLIKELY(elementwise && (e = tn__check_elementwise_dtype(c)))) {
        note_operands(c);
        return e;
    }
    if (c->inplace && (e = save_original(p)))
        return e;
    if ((e = make_outputs(p)))
        return e;
    if (p->records && (e = prepare_node(p)))
        return e;
    if (p->records && c->inplace && p->out[0]->base && !(p->slices = tn__rebase_prepare(p->out[0], p->node)))
        return TN_ENOMEM;
    e = run(p);
    if (TN_UNLIKELY(e)) {
        note_operands(c);
        return e;
    }
    if (c->inplace)
        tn__tensor_written(p->out[0]);
    if (p->records)
        attach(p);
    return TN_OK;
}

static void clean_up(passage *p, bool failed)
{
    if (p->original)
        tn__object_release(p->original);
    if (!failed)
        return;
    for (int32_t i = 0; i < TN__MAX_OUT; i++)
        tn__object_release(p->out[i]);
    if (p->slices)
        tn__object_release(&p->slices->obj);
    else if (p->node)
        tn__object_release(&p->node->obj);
}

static tn_tensor *go(passage *p, uint32_t required, tn_tensor **const *more)
{
    TN__DOOR(p->self);
    if (TN_UNLIKELY(pass(p, required))) {
        clean_up(p, true);
        return NULL;
    }
    clean_up(p, false);
    if (p->c.inplace) {
        tn__object_release(p->out[0]);
        return p->c.in[0].v.t;
    }
    tn__scope_adopt(p->self, p->out[0]);
    for (int32_t i = 1; i < p->c.n_out; i++) {
        tn_tensor **to = more ? more[i - 1] : NULL;
        if (!to) {
            tn__object_release(p->out[i]);
            continue;
        }
        tn__scope_adopt(p->self, p->out[i]);
        *to = p->out[i];
    }
    return p->out[0];
}

static void begin(passage *p, const char *site, tn__op_id op, const tn_scalar *in, int32_t n_in, void *params,
                  bool inplace)
{
    p->into = tn__offer(tn__self(), site);
    p->self = tn__enter(site);
    for (int32_t i = 0; i < TN__MAX_OUT; i++)
        p->out[i] = NULL;
    p->node = p->slices = NULL;
    p->original = NULL;
    p->c.op = op;
    p->c.n_in = n_in;
    p->c.n_out = 1;
    p->c.in = in;
    p->c.params = params;
    p->c.variant = 0;
    p->c.adjusts = p->c.all_said = false;
    p->c.inplace = inplace;
}

/* A COMP row: computed with recording off, recorded as one node. */
static tn_tensor *apply_composite(passage *p, uint32_t required)
{
    tn_scope scope;
    bool no_grad = p->self->no_grad;
    if (tn__operands_check(&p->c, required, &p->mixed) || (!no_grad && check_constants(&p->c)))
        return NULL;
    p->records = should_record(p);
    tn__scope_push(p->self, &scope);
    p->self->no_grad = true;
    tn_tensor *out = tn__composites[p->c.op](p->c.in, p->c.params);
    p->self->no_grad = no_grad;
    if (out && p->records) {
        p->out[0] = out;
        if (prepare_node(p)) {
            if (p->node)
                tn__object_release(&p->node->obj);
            out = NULL;
        } else {
            attach(p);
        }
    }
    return tn__scope_pop(p->self, &scope, out);
}

/* Does the asked result dtype lose what elements have? Then they are converted before anything is done with them, as
 * PyTorch does: a sum in bool is 'any', a float16 sum of float32 is of rounded elements. A mean is rounded at its end. */
static bool converts_first(tn__op_id op, const tn_scalar *in, const void *params)
{
    if (TN_LIKELY(!(tn__ops[op].flags & F_CONVERTS)))
        return false;
    const tn_tensor *x = tn__operand(&in[0]);
    const tn_dtype asked = tn__asked_dtype(op, params);
    return (asked == TN_F16 || asked == TN_BF16 || asked == TN_BOOL) && x && x->dtype != asked;
}

static tn_tensor *apply_converted(const char *site, tn__op_id op, tn_tensor *x, void *params)
{
    tn_scope scope;
    tn__thread *self = tn__enter(site);
    tn__scope_push(self, &scope);
    const tn_scalar in = tn_scalar_t(tn__to_copy(x, tn__asked_dtype(op, params), x->device, false, TN_PRESERVE_FORMAT));
    return tn__scope_pop(self, &scope, tn__apply(NULL, op, &in, 1, 1, params, NULL));
}

/* An integer of no dimensions beside integers of another dtype is one of theirs before it divides, shifts or is the larger: as a
 * number wraps around. Sums and products come to the same without; comparisons and bounds take it as it is. */
static bool narrows(tn__op_id op, const tn_scalar *in)
{
    const tn_tensor *a = tn__operand(&in[0]), *b = tn__operand(&in[1]);
    if (TN_LIKELY(!a || !b || a->dtype == b->dtype) || !a->ndim == !b->ndim)
        return false;
    return tn__ops[op].flags & F_NARROW && !tn__dtype_is_float(a->dtype) && !tn__dtype_is_float(b->dtype) &&
           a->dtype != TN_BOOL && b->dtype != TN_BOOL;
}

static tn_tensor *apply_narrowed(const char *site, tn__op_id op, const tn_scalar *in, bool inplace)
{
    tn_scope scope;
    tn__thread *self = tn__enter(site);
    tn_tensor *a = in[0].v.t, *b = in[1].v.t;
    tn__scope_push(self, &scope);
    if (a->ndim)
        b = tn__to_copy(b, a->dtype, b->device, false, TN_PRESERVE_FORMAT);
    else
        a = tn__to_copy(a, b->dtype, a->device, false, TN_PRESERVE_FORMAT);
    const tn_scalar same[] = {tn_scalar_t(a), tn_scalar_t(b)};
    tn_tensor *out =
        inplace ? tn__apply_inplace(NULL, op, same, 2, 3, NULL) : tn__apply(NULL, op, same, 2, 3, NULL, NULL);
    return tn__scope_pop(self, &scope, out);
}

tn_tensor *tn__apply(const char *site, tn__op_id op, const tn_scalar *in, int32_t n_in, uint32_t required, void *params,
                     tn_tensor **const *more)
{
    passage p;
    if (tn__ops[op].kind == TN__BINARY && TN_UNLIKELY(narrows(op, in)))
        return apply_narrowed(site, op, in, false);
    if (TN_UNLIKELY(converts_first(op, in, params)))
        return apply_converted(site, op, in[0].v.t, params);
    begin(&p, site, op, in, n_in, params, false);
    if (tn__ops[op].kind == TN__COMPOSITE)
        return apply_composite(&p, required);
    return go(&p, required, more);
}

tn_tensor *tn__apply_inplace(const char *site, tn__op_id op, const tn_scalar *in, int32_t n_in, uint32_t required,
                             void *params)
{
    passage p;
    if (tn__ops[op].kind == TN__BINARY && TN_UNLIKELY(narrows(op, in)) && in[0].v.t->ndim)
        return apply_narrowed(site, op, in, true);
    begin(&p, site, op, in, n_in, params, true);
    return go(&p, required | 1, NULL);
}

tn_tensor *tn__apply_list(const char *site, tn__op_id op, tn_tensors xs, void *params)
{
    tn_scalar few[8], *in = few;
    size_t bytes = sizeof *in * xs.n;
    if (xs.n > INT32_MAX / 64 || (xs.n && !xs.t))
        return tn__fail(TN_EINVAL, "%s: not a list of tensors", tn__op_name(op));
    if (xs.n > TN_COUNT(few) && !(in = tn__block_get(bytes))) {
        tn__error_memory("a list of operands", bytes);
        return NULL;
    }
    for (size_t i = 0; i < xs.n; i++)
        in[i] = tn_scalar_t(xs.t[i]);
    tn_tensor *out = tn__apply(site, op, in, (int32_t)xs.n, xs.n >= 32 ? UINT32_MAX : (1U << xs.n) - 1, params, NULL);
    if (in != few)
        tn__block_put(in, bytes);
    return out;
}
