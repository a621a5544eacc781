/* Recorded operations: made, saved, named, freed. */
#include "autograd/node.h"
#include "autograd/anomaly.h"
#include "autograd/hooks.h"
#include "backend/backend.h"
#include "core/alloc.h"
#include "core/error.h"
#include "core/thread.h"
#include "op/infer.h"
#include <ctype.h>
#include <stdio.h>

static void release_saved(tn__saved *s)
{
    if (s->kept && s->value.kind == TN_SCALAR_TENSOR)
        tn__object_release(s->value.v.t);
    s->kept = false;
    s->value = tn_scalar_none();
}

void tn__node_free_saved(tn__node *n)
{
    for (int32_t i = 0; i < n->n_in + n->n_out + n->n_more; i++) {
        const bool constant =
            i == 2 || (i == 1 && tn__ops[n->op].flags & F_AGAIN); /* the factor of a sum, no operand */
        if (constant && n->saved[i].kept && n->saved[i].value.kind != TN_SCALAR_TENSOR)
            continue;                 /* it stays */
        n->freed |= n->saved[i].kept; /* a node that has saved nothing can be passed again */
        release_saved(&n->saved[i]);
    }
    if (n->inner) { /* as in PyTorch, whatever it saved */
        tn__node_free_saved(n->inner);
        n->freed = true;
    }
}

static void destroy_node(tn__object *o)
{
    tn__node *n = (tn__node *)o;
    for (int32_t i = 0; i < n->n_in + n->n_more; i++)
        tn__object_release(n->edge[i].to);
    for (int32_t i = 0; i < n->n_in + n->n_out + n->n_more; i++)
        release_saved(&n->saved[i]);
    if (TN_UNLIKELY(atomic_load_explicit(&n->hooks, memory_order_acquire) != NULL))
        tn__hooks_free(n);
    if (n->inner)
        tn__object_release(&n->inner->obj);
    if (n->ctx_free)
        n->ctx_free(n->ctx);
    if (TN_UNLIKELY(n->place != NULL))
        tn__anomaly_forget(n->place);
    tn__stream_release(n->stream);
    tn__block_put(n, n->bytes);
}

const tn__class tn__node_class = {.name = "node", .destroy = destroy_node};

static size_t aligned(size_t n)
{
    return (n + 7) & ~(size_t)7;
}

static uint64_t next_seq(void)
{
    static _Atomic uint64_t counter = TN__FIRST_SEQ;
    return atomic_fetch_add_explicit(&counter, 1, memory_order_relaxed);
}

static inline tn__node *make(tn__op_id op, int32_t n_in, int32_t n_out, int32_t n_more, const void *params)
{
    const size_t head = aligned(sizeof(tn__node)), edges = sizeof(tn__edge) * (size_t)(n_in + n_more);
    const size_t kept = sizeof(_Atomic(tn_tensor *)) * (size_t)n_out;
    const size_t metas = sizeof(tn__meta) * (size_t)(n_in + n_out);
    const size_t saves = sizeof(tn__saved) * (size_t)(n_in + n_out + n_more);
    const size_t bytes = head + edges + kept + metas + saves + (params ? tn__ops[op].params : 0);
    char *p = tn__block_get(bytes);
    if (!p) {
        tn__error_memory("recording an operation", bytes);
        return NULL;
    }
    tn__node *n = (tn__node *)(void *)p;
    memset(n, 0, head);
    tn__object_init(&n->obj, &tn__node_class);
    n->op = op;
    n->n_in = n_in;
    n->n_out = n_out;
    n->n_more = n_more;
    n->bytes = bytes;
    n->seq = next_seq();
    n->site = tn__self()->site;
    n->edge = (tn__edge *)(void *)(p + head);
    n->retained = (_Atomic(tn_tensor *) *)(void *)(p + head + edges);
    n->in = (tn__meta *)(void *)(p + head + edges + kept);
    n->out = n->in + n_in;
    n->saved = (tn__saved *)(void *)(p + head + edges + kept + metas);
    memset(n->edge, 0, edges + kept);
    memset(n->saved, 0, saves);
    if (params)
        n->params = memcpy(p + head + edges + kept + metas + saves, params, tn__ops[op].params);
    return n;
}

tn__node *tn__node_new(tn__op_id op, int32_t n_in, int32_t n_out, const void *params)
{
    return make(op, n_in, n_out, 0, params);
}

tn__node *tn__node_make(tn__op_id op, int32_t n_in, int32_t n_out, int32_t n_more, const void *params)
{
    return make(op, n_in, n_out, n_more, params);
}

static void describe(tn__meta *m, const tn_tensor *t)
{
    m->dtype = t->dtype;
    m->ndim = t->ndim;
    m->device = t->device;
    for (int32_t d = 0; d < t->ndim; d++)
        m->shape[d] = t->shape[d];
}

void tn__node_input(tn__node *n, int32_t i, const tn_tensor *t, tn__edge edge)
{
    if (edge.to && edge.to->cls == &tn__node_class && ((tn__node *)edge.to)->seq > n->seq)
        n->seq = next_seq(); /* made after this node, for a view whose base was written to */
    n->edge[i] = edge;
    describe(&n->in[i], t);
}

void tn__node_output(tn__node *n, int32_t i, const tn_tensor *t)
{
    const tn__queue *q = tn__backend_of(t->device)->queue;
    describe(&n->out[i], t);
    if (TN_UNLIKELY(q != NULL) && !n->stream)
        n->stream = tn__stream_retain(q->current(t->device)); /* none where the device fails: so does what comes next */
}

bool tn__node_save(tn__node *n, int32_t slot, const tn_scalar *value)
{
    tn__saved *s = &n->saved[slot];
    s->value = *value;
    if (value->kind == TN_SCALAR_TENSOR) {
        tn_tensor *t = value->v.t;
        if (TN_UNLIKELY(t->obj.flags & TN__INFERENCE)) {
            tn__error(
                TN_EGRAD,
                "Inference tensors cannot be saved for backward. Please do not use Tensors created in inference "
                "mode in computation tracked by autograd. To work around this, you can make a clone to get a normal "
                "tensor and use it in autograd, or use `torch.no_grad()` instead of `torch.inference_mode()`.");
            return false;
        }
        s->version = tn__tensor_version(t);
        bool output = slot >= n->n_in && slot < n->n_in + n->n_out;
        if (t->obj.flags & TN__REQUIRES_GRAD && !output) /* such a leaf never gets history: no cycle */
            s->value.v.t = tn__object_retain(t);
        else if (!(s->value.v.t = tn__tensor_alias(t)))
            return false;
    }
    s->kept = true;
    return true;
}

/* "Max1 Max0" and variant 1: "Max0". */
static void pick_label(const char *labels, uint8_t variant, char *out, size_t size)
{
    const char *p = labels;
    for (uint8_t i = 0; i < variant; i++) {
        const char *space = strchr(p, ' ');
        if (!space)
            break;
        p = space + 1;
    }
    snprintf(out, size, "%.*s", (int)strcspn(p, " "), p);
}

/* log_softmax -> LogSoftmax, log1p -> Log1P */
static void camel(const char *name, char *out, size_t size)
{
    size_t n = 0;
    bool up = true;
    for (; *name && n + 1 < size; name++) {
        if (*name == '_') {
            up = true;
            continue;
        }
        out[n++] = (char)(up ? toupper((unsigned char)*name) : *name);
        up = isdigit((unsigned char)*name);
    }
    out[n] = '\0';
}

tn__node_text tn__node_name(const tn__node *n)
{
    tn__node_text t;
    char label[48];
    if (n->name) {
        snprintf(t.s, sizeof t.s, "%s", n->name);
        return t;
    }
    const char *labels = tn__ops[n->op].label;
    if (!*labels) { /* a number at the end of its own name counts nothing: Atan2Backward0 */
        camel(tn__op_name(n->op), label, sizeof label);
        snprintf(t.s, sizeof t.s, "%sBackward0", label);
        return t;
    }
    pick_label(labels, n->variant, label, sizeof label);
    const int last = (int)strlen(label) - 1; /* "Max1": MaxBackward1; "Copys": CopyBackwards, PyTorch's spelling */
    snprintf(t.s, sizeof t.s, "%.*sBackward%c", last, label, label[last]);
    return t;
}

/* ---- saved operands, in backward ---- */

static const char freed_text[] =
    "Trying to backward through the graph a second time (or directly access saved tensors after they have already been "
    "freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). Specify "
    "retain_graph=True if you need to backward through the graph a second time or if you need to access saved tensors "
    "after calling backward.";

tn_status tn__freed(void)
{
    return tn__error(TN_EGRAD, "%s", freed_text);
}

/* What PyTorch calls the node in that message: its name without 'Backward0'. */
static void short_name(const tn__object *node, char *out, size_t size)
{
    tn__node_text t = tn__node_name((const tn__node *)node);
    char *cut = strstr(t.s, "Backward");
    if (cut)
        *cut = '\0';
    snprintf(out, size, "%s", t.s);
}

/* What made the tensor in a slot: this node an output. Borrowed. */
static tn__edge maker_of(const tn__node *n, int32_t slot)
{
    if (slot < n->n_in)
        return n->edge[slot];
    if (slot < n->n_in + n->n_out)
        return (tn__edge){(tn__object *)(uintptr_t)&n->obj, (uint32_t)(slot - n->n_in)};
    return n->edge[slot - n->n_out];
}

static tn_status overwritten(const tn__node *n, int32_t slot, const tn__saved *s)
{
    const tn_tensor *t = s->value.v.t;
    const tn__edge from = maker_of(n, slot);
    const tn__object *maker = from.to;
    uint32_t output = from.output;
    char origin[96] = "";
    if (maker && maker->cls == &tn__node_class) {
        char name[64];
        short_name(maker, name, sizeof name);
        snprintf(origin, sizeof origin, ", which is output %u of %s,", (unsigned)output, name);
    }
    tn__error(TN_EGRAD,
              "one of the variables needed for gradient computation has been modified by an inplace operation: "
              "[%s %s]%s is at version %u; expected version %u instead. Hint: %s",
              tn__type_str(t).s, tn__shape_str(t->shape, t->ndim).s, origin, (unsigned)tn__tensor_version(t),
              (unsigned)s->version,
              tn__anomaly_watched()
                  ? "the backtrace further above shows the operation that failed to compute its gradient. The variable "
                    "in question was changed in there or anywhere later. Good luck!"
                  : "enable anomaly detection to find the operation that failed to compute its gradient, with "
                    "torch.autograd.set_detect_anomaly(True, check_nan=False).");
    if (n->site)
        tn__error_append("\n  it is needed by %s, recorded at %s", tn__node_name(n).s, n->site);
    return TN_EGRAD;
}

/* An alias with the history that slot had, so that higher derivatives see it. */
static tn_tensor *with_history(tn__backward *b, int32_t slot, tn_tensor *t)
{
    const tn__edge from = maker_of(b->node, slot);
    tn__object *maker = from.to;
    if (!maker)
        return t;
    if (maker->cls == &tn__tensor_class) /* a leaf is its own history */
        return (tn_tensor *)maker;
    tn_tensor *a = tn__tensor_alias(t);
    if (!a)
        return NULL;
    a->node_output = from.output;
    atomic_store_explicit(&a->node, tn__object_retain(maker), memory_order_relaxed);
    tn__scope_adopt(tn__self(), a);
    return a;
}

tn_tensor *tn__saved_tensor(tn__backward *b, int32_t slot)
{
    tn__node *n = b->node;
    tn__saved *s = &n->saved[slot];
    if (n->freed)
        return tn__fail(TN_EGRAD, "%s", freed_text);
    if (!s->kept || s->value.kind != TN_SCALAR_TENSOR)
        return tn__fail(TN_EINVAL, "%s: operand %d was not saved for backward", tn__node_name(n).s, (int)slot);
    if (tn__tensor_version(s->value.v.t) != s->version) {
        overwritten(n, slot, s);
        return NULL;
    }
    return tn__self()->no_grad ? s->value.v.t : with_history(b, slot, s->value.v.t);
}

tn_scalar tn__saved_operand(tn__backward *b, int32_t slot, tn_status *status)
{
    tn__saved *s = &b->node->saved[slot];
    if (b->node->freed)
        *status = tn__freed();
    if (!s->kept || s->value.kind != TN_SCALAR_TENSOR)
        return s->value;
    tn_tensor *t = tn__saved_tensor(b, slot);
    if (!t)
        *status = tn_error_code();
    return tn_scalar_t(t);
}
