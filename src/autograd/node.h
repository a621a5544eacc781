/* autograd/node.h: one recorded operation.
 *
 * A node holds edges to what made its inputs (a node, or a leaf that wants a gradient), the shapes needed to undo
 * broadcasting, and what its derivative needs. It never holds a tensor that holds it: inputs are saved as aliases without
 * history (edge i says what their history was), outputs as aliases that are given this node again when they are used. So
 * graphs have no cycles and reference counts free them.
 */
#ifndef TENON_AUTOGRAD_NODE_H
#define TENON_AUTOGRAD_NODE_H

#include "backend/stream.h"
#include "op/op.h"

typedef struct tn__node tn__node;

/* Where a gradient goes: a node's output, or a leaf tensor (its class tells), or nowhere (NULL). Owned. */
typedef struct tn__edge {
    tn__object *to;
    uint32_t output;
} tn__edge;

typedef struct tn__meta {
    tn_dtype dtype;
    int32_t ndim;
    tn_device device;
    int64_t shape[TN_MAX_DIMS];
} tn__meta;

/* A saved operand. Tensors are owned; version is the storage's when it was saved. */
typedef struct tn__saved {
    tn_scalar value;
    uint32_t version;
    bool kept;
} tn__saved;

/* What a derivative is given, and gives. g: gradients of the outputs, NULL where none came; one came at least, so that of a row
 * with one result that has a gradient is there. It fills grad[i] where need[i]; what it makes belongs to the scope that is
 * open. */
typedef struct tn__backward {
    tn__node *node;
    tn_tensor *const *g;
    const bool *need;
    tn_tensor **grad;
    bool accumulates; /* unrecorded, into leaves: not what tn_grad asks for */
} tn__backward;

typedef tn_status (*tn__derivative)(tn__backward *b);

/* What a node does when the gradient of an output has come: hooks.c. */
typedef struct tn__output_hooks tn__output_hooks;

struct tn__node {
    tn__object obj;
    tn__op_id op; /* TN__OPS: no row, but a function of the user's, or a leaf's accumulator */
    uint8_t variant;
    bool freed; /* the saved operands were given up after a backward */
    int32_t n_in, n_out, n_more;
    size_t bytes;
    uint64_t seq;     /* order of recording: edges lead to smaller ones */
    const char *site; /* the user's call, or NULL */
    const char *name; /* of nodes that are no row: "CopySlices" */
    void *place;      /* what a watch for anomalies keeps of the call; NULL where nobody watched */
    tn__derivative derive;
    /* NULL, or told of each gradient that comes for an output: 'on' is the stream where it is ready now. Its derivative
     * waits for the gradients itself, unless others look at them first, or it is recorded. */
    tn_status (*arrived)(tn__node *node, uint32_t output, tn__stream *on);
    tn__edge *edge;                    /* [n_in], then [n_more]: the history of what else is saved */
    tn__meta *in, *out;                /* [n_in], [n_out] */
    tn__saved *saved;                  /* [n_in] inputs, then [n_out] outputs, then [n_more] others */
    const void *params;                /* a copy of the row's own struct; NULL where it has none */
    _Atomic(tn_tensor *) *retained;    /* [n_out] that keep their gradient: not owned, they deregister */
    _Atomic(tn__output_hooks *) hooks; /* [n_out] hooks; NULL: nobody ever had one. Owned */
    tn__stream *stream; /* on which it ran, of the device of its outputs; NULL where work is not queued. Retained */
    tn__node *inner;    /* CopySlices: the operation on the view; owned */
    void *ctx;          /* of nodes that are no row */
    void (*ctx_free)(void *);
};

extern const tn__class tn__node_class;

/* A node with room for n_in inputs and n_out outputs and, if params is not NULL, a copy of the row's parameters. NULL, with
 * TN_ENOMEM set. */
tn__node *tn__node_new(tn__op_id op, int32_t n_in, int32_t n_out, const void *params);
/* The same with room for n_more saved tensors that are neither. */
tn__node *tn__node_make(tn__op_id op, int32_t n_in, int32_t n_out, int32_t n_more, const void *params);

/* Numbers of nodes begin above those of accumulators, whose turn comes when all else is done. */
#define TN__FIRST_SEQ (UINT64_C(1) << 40)

/* Describes input i; saves nothing. */
void tn__node_input(tn__node *n, int32_t i, const tn_tensor *t, tn__edge edge);
/* Describes output i, and notes the stream on which it is being computed. */
void tn__node_output(tn__node *n, int32_t i, const tn_tensor *t);

/* Saves a tensor or number in slot i. False, with the error set, when memory is out, or it is an inference tensor. */
TN_MUST_USE bool tn__node_save(tn__node *n, int32_t slot, const tn_scalar *value);

/* Gives up the saved operands. */
void tn__node_free_saved(tn__node *n);

/* The error of who asks for them after that. */
tn_status tn__freed(void);

/* "AddBackward0", by value. */
typedef struct tn__node_text {
    char s[64];
} tn__node_text;
tn__node_text tn__node_name(const tn__node *n);

/* The edge to where t's gradient goes, owned by the caller; {NULL, 0} if t wants none. Refreshes a view whose base was
 * written to; that can fail: *status. */
tn__edge tn__gradient_edge(tn_tensor *t, tn_status *status);

/* Has a view's base got a history, by a write, that the view's own does not show? What was made while recording was off wants a
 * gradient as its base does, but gets none, and is a leaf, until then. */
bool tn__needs_refresh(const tn_tensor *v);

/* True if a gradient with respect to t is wanted (through its base, for a view). */
static inline bool tn__wants_grad(const tn_tensor *t)
{
    return tn__requires_grad(t) || (t->base && tn__requires_grad(t->base));
}

/* ---- for derivatives ---- */

/* Saved operand in slot i (n_in + k: output k) as a tensor to compute with; NULL with an error when it was freed or
 * overwritten. With recording on it carries its history. It belongs to the open scope. */
tn_tensor *tn__saved_tensor(tn__backward *b, int32_t slot);
/* The same as an operand: numbers as they are; kind none where it was not saved. */
tn_scalar tn__saved_operand(tn__backward *b, int32_t slot, tn_status *status);

#endif
