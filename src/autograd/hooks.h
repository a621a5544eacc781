/* autograd/hooks.h: who looks at gradients on their way: hooks, and tensors that are no leaves and keep theirs.
 *
 * A hook of a tensor that was computed belongs to its node, for one output; a leaf's to the leaf's accumulator: a node
 * without inputs that is made with the first hook. Where a leaf has one, its gradients are summed up there, and its turn
 * comes when the pass is over, so a hook sees the whole gradient once.
 *
 * Invariants: lists change under one lock; hooks run without it, over references of their own.
 */
#ifndef TENON_AUTOGRAD_HOOKS_H
#define TENON_AUTOGRAD_HOOKS_H

#include "autograd/node.h"
#include "core/thread.h"
#include <tenon/graph.h>

typedef struct tn__hooks {
    tn_hook *first, *last;
} tn__hooks;

/* Handles keep the struct, not what runs: ctx goes with the last use, which are the list's and those of passes that run. */
struct tn_hook {
    tn__object obj;
    tn__hooks *list; /* NULL: removed */
    tn_hook *next, *prev;
    _Atomic int32_t uses;
    tn_hook_fn fn;
    void *ctx;
    void (*destroy)(void *ctx);
};

/* Of one output. after: of accumulators, when the gradient has been added. */
struct tn__output_hooks {
    tn__hooks hooks, after;
};

/* A node that goes has no hooks any more. */
void tn__hooks_free(tn__node *n);

/* Runs the hooks of an output, in the order of adding. *g, a reference of the caller's, may be replaced. */
TN_MUST_USE tn_status tn__hooks_run(tn__thread *self, tn__node *n, uint32_t output, tn_tensor **g);
TN_MUST_USE tn_status tn__hooks_run_after(tn__thread *self, tn__node *n, tn_tensor *leaf);

/* The leaf whose gradients go through n; NULL where n is no accumulator. Borrowed: who has an edge to it keeps it. */
tn_tensor *tn__accumulator_leaf(const tn__node *n);

/* The tensor that keeps the gradient of that output, retained; or NULL. */
tn_tensor *tn__retained_grad(tn__node *n, uint32_t output);

/* One more, or one less, of what collectors of cycles look for: a hook, or a function of the user's. */
void tn__callbacks_add(int n);

/* A callback said that it failed; it may have left no error. */
tn_status tn__callback_failed(tn_status e, const char *what);

#endif
