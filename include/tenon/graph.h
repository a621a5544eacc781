/* tenon/graph.h: the graph that autograd records: looking at it, hooks in it, operations of one's own.
 *
 * A node is what made a tensor. Handles of nodes, and of hooks, are reference counted and in no scope: who is given one
 * releases it. Callbacks run on the thread that called tn_backward or tn_grad, while no lock is held and inside a scope
 * of their own: what they make dies with it, but for what they hand back. Recording is on in them where create_graph was
 * asked for. Their errors end the backward pass.
 */
#ifndef TENON_GRAPH_H
#define TENON_GRAPH_H

#include <tenon/autograd.h>
#include <tenon/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- nodes ---- */

/* What made a tensor, or what a leaf's gradient goes into ("AccumulateGrad"). Two handles are equal where they are of one
 * node. A node keeps what it was made from; a leaf's keeps the leaf. */
typedef struct tn_node tn_node;

/* What made t: a new reference. NULL for a leaf, and for NULL; with the error set where a view's history cannot be told. */
TN_API tn_node *tn_tensor_node(const tn_tensor *t);
/* The same, but a leaf that asks for a gradient gives its AccumulateGrad. *output (may be NULL): which of the node's outputs
 * t is. NULL where t asks for no gradient. */
TN_API tn_node *tn_tensor_gradient_node(const tn_tensor *t, uint32_t *output);

/* "AddBackward0", "AccumulateGrad"; "" for NULL. */
TN_API tn_name tn_node_name(const tn_node *n);
/* How many inputs it had, those that need no gradient and numbers among them. */
TN_API size_t tn_node_count(const tn_node *n);
/* What made input i, or the leaf's node that it is: a new reference; *output (may be NULL) as above. NULL where the input
 * takes no gradient, or i is beyond the last. */
TN_API tn_node *tn_node_next(const tn_node *n, size_t i, uint32_t *output);
/* The leaf of an AccumulateGrad, borrowed: valid as long as the node; NULL for others. */
TN_API tn_tensor *tn_node_leaf(const tn_node *n);

TN_API tn_node *tn_node_retain(tn_node *n);
TN_API void tn_node_release(tn_node *n);

/* ---- own functions: what torch.autograd.Function is made from ---- */

/* How a function of one kind is differentiated. The library copies it and its name. */
typedef struct tn_function_class {
    size_t struct_size; /* sizeof(tn_function_class) */
    const char *name;   /* "MyReLU": its node is called MyReLUBackward */
    /* grad_outputs[n_out]: zeros where no gradient came, or NULL (none_for_zeros). Fills grad_inputs[i], NULL at first,
     * where there is a gradient: of input i's shape (or one that broadcasting made of it), in any dtype, on its device; one
     * made inside, or one that somebody holds (tn_scope_hold). What inputs do not need is ignored. TN_OK, or another
     * status with an error set. self: the node, borrowed. May run in several passes, and on several threads. */
    tn_status (*backward)(tn_node *self, void *ctx, tn_tensor *const *grad_outputs, size_t n_out,
                          tn_tensor **grad_inputs, size_t n_in);
    /* Frees ctx, once, from whichever thread lets go last. NULL: nothing to free. */
    void (*destroy)(void *ctx);
} tn_function_class;

typedef struct tn_function_options {
    size_t struct_size;
    const char *site;
    tn_tensors saved;        /* what backward asks for by tn_node_saved; TN_NONE keeps its place */
    const bool *no_gradient; /* [outputs.n] that have none; NULL: only those of dtypes that have none */
    const bool *dirty;       /* [inputs.n] that the forward wrote to in place; NULL: none. They must be outputs too */
    bool new_outputs;    /* the outputs are new tensors, none of them an input, none there twice: nobody need look */
    bool none_for_zeros; /* grad_outputs are NULL, not zeros, where no gradient came */
} tn_function_options;

/* Records, as one node, what was computed from inputs while recording was off. TN_NONE among inputs is an argument that is
 * no tensor, among outputs a result that is none. results[i] is what users of the function are to be given for
 * outputs[i]: the tensor itself where that can be; a view of it where it is an input, or has a history. What is itself and there
 * twice has its gradient in the last place. Each is a reference more, of the innermost scope or the caller's.
 * ctx is the library's from here on, also where nothing had to be recorded, but not on error. */
TN_API tn_status tn_function_apply_opt(const tn_function_class *cls, void *ctx, tn_tensors inputs, tn_tensors outputs,
                                       tn_tensor **results, const tn_function_options *options) TN_MUST_USE;

/* The ctx of an own function's node; NULL for other nodes. Valid as long as the node. */
TN_API void *tn_node_context(const tn_node *n);
/* How many tensors it saved. */
TN_API size_t tn_node_saved_count(const tn_node *n);
/* Saved tensor i, with its history where recording is on; TN_NONE where that was saved. A reference of the innermost scope or
 * the caller's. NULL, with TN_EGRAD, if it was written to since, or given up after a backward pass. */
TN_API tn_tensor *tn_node_saved(tn_node *n, size_t i);

/* ---- hooks ---- */

typedef struct tn_hook tn_hook;

/* t: the gradient, or the leaf. *replaced, where not NULL, may be given another gradient of its shape, dtype and device: one
 * made in the callback, or one that somebody holds (tn_scope_hold). */
typedef tn_status (*tn_hook_fn)(void *ctx, tn_tensor *t, tn_tensor **replaced);

/* fn sees the gradient of t, once in each backward pass that reaches t, summed over all uses of t; before t's .grad is
 * kept and before what made t gets it. Hooks run in the order in which they were added. One of a computed tensor is its
 * history's: written to in place afterwards, t has another one. A leaf's run when the rest of the pass is done.
 * destroy(ctx), from whichever thread, when it is removed or t's history goes (and no pass is running it any more), handle or
 * not; not on error. NULL: nothing to free.
 * handle may be NULL, else it is given a reference. TN_EGRAD where t asks for no gradient. */
TN_API tn_status tn_tensor_add_hook(tn_tensor *t, tn_hook_fn fn, void *ctx, void (*destroy)(void *ctx),
                                    tn_hook **handle) TN_MUST_USE;
/* fn sees a leaf, after a backward pass has added to its .grad; there is nothing to replace. TN_EGRAD for others. */
TN_API tn_status tn_tensor_add_accumulate_hook(tn_tensor *t, tn_hook_fn fn, void *ctx, void (*destroy)(void *ctx),
                                               tn_hook **handle) TN_MUST_USE;
/* It runs no more. The handle stays the caller's to release. Removed before, or of a tensor that is gone: nothing. */
TN_API void tn_hook_remove(tn_hook *h);
TN_API void tn_hook_release(tn_hook *h);

/* For collectors of cycles, such as Python's: calls visit for the ctx of each hook and of each own function that goes when the
 * caller lets go of t, or of the node, as far as that can be told without asking who else has a reference: what is reached from
 * it by way of tensors, nodes and their edges that have one reference each. What visit gives that is not 0 ends it, and is
 * given. visit runs under a lock: it may call nothing of the library. Two calls show the same where no thread uses the graph in
 * between. destroy: as it was given with ctx, by which the caller knows its own. */
typedef int (*tn_callback_visitor)(void (*destroy)(void *ctx), void *ctx, void *arg);
TN_API int tn_tensor_visit_callbacks(const tn_tensor *t, tn_callback_visitor visit, void *arg);
TN_API int tn_node_visit_callbacks(const tn_node *n, tn_callback_visitor visit, void *arg);
/* Removes the hooks among them, so that a cycle ends. */
TN_API void tn_tensor_drop_hooks(const tn_tensor *t);
TN_API void tn_node_drop_hooks(const tn_node *n);

/* ---- anomalies: where an operation was recorded whose derivative fails ---- */

/* For who debugs a program. An error of a backward pass names the place of the C call anyway, where there is one. */
typedef struct tn_anomaly_watch {
    size_t struct_size; /* sizeof(tn_anomaly_watch) */
    bool check_nan;     /* a derivative that gives a NaN is an error: every gradient is read, and waited for */
    /* Runs while an operation is recorded, on its thread, and may call nothing of the library; what it gives is kept with the
     * operation. NULL: nothing is. */
    void *(*recorded)(void);
    /* Frees what recorded gave, from whichever thread, also when the watch is over. It may call nothing of the library. */
    void (*forget)(void *place);
    /* Runs when the derivative of what is called node ("SqrtBackward0") has failed; place: what was kept, or NULL. The error
     * is set. It may call nothing of the library. NULL: nothing runs. */
    void (*failed)(const char *node, void *place);
} tn_anomaly_watch;

/* Of all threads from now on; NULL: of none any more. The struct is copied. Not while other threads record or go backwards. */
TN_API tn_status tn_watch_anomalies(const tn_anomaly_watch *watch);

#ifdef __cplusplus
}
#else
#define tn_function_apply(...) TN__X_function_apply(__VA_ARGS__, )
#define TN__X_function_apply(cls_, ctx_, inputs_, outputs_, results_, ...) \
    TN__OPTIONS(TN__NAMED6(__VA_ARGS__), tn_function_apply_opt, \
                "tn_function_apply(cls, ctx, inputs, outputs, results, .saved, .no_gradient, .dirty, .new_outputs, " \
                ".none_for_zeros)", \
                ".new_outputs = true") \
    ((cls_), (ctx_), (inputs_), (outputs_), (results_), \
     &(tn_function_options){TN__SITE(tn_function_options), __VA_ARGS__})
#endif
#endif
