/* tenon/scope.h: who owns what.
 *
 * Tensors and modules are reference counted. A scope (they form a stack per thread) owns every tensor and module made
 * while it is the innermost one: closing it releases them. With no scope open the caller owns each result and releases
 * it with tn_release(); nested calls would then leak their inner results. Containers (modules, optimisers, graphs) hold
 * references of their own, so closing a scope never takes a parameter away from its model.
 *
 *     tn_scope *scope = tn_scope_open();
 *     tn_tensor *y = tn_add(tn_mul(x, 2), 1);      // both results belong to the scope
 *     tn_scope_close_keep(scope, y);               // the product is gone; y belongs to whoever is outside
 */
#ifndef TENON_SCOPE_H
#define TENON_SCOPE_H

#include <tenon/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Opens a scope on this thread. NULL when memory is out (what is made then belongs to the scope outside). */
TN_API tn_scope *tn_scope_open(void);

/* Closes it, and every scope opened after it on this thread; releases what they own. NULL is fine. A scope opened
 * outside a user callback (module class, hook) cannot be closed inside it: that sets TN_EINVAL and does nothing. */
TN_API void tn_scope_close(tn_scope *scope);

/* Closes it, but hands t to the scope outside, or to the caller where there is none. Returns t. */
TN_API tn_tensor *tn_scope_close_keep(tn_scope *scope, tn_tensor *t);

/* Takes the innermost scope's reference of t out of it: the caller owns and releases it. Returns t. What no scope owns is
 * the caller's already; what another thread's scope owns stays there, and the caller gets one reference more. */
TN_API tn_tensor *tn_keep(tn_tensor *t);

/* One more reference, which the caller owns. Returns t. NULL and TN_NONE are fine. */
TN_API tn_tensor *tn_retain(tn_tensor *t);

/* One reference less: one that the caller owns, or the only one of a new tensor, early, before its scope would do it. What
 * else a scope owns it releases itself. NULL and TN_NONE are fine. */
TN_API void tn_release(tn_tensor *t);

/* One more reference, which the innermost scope owns (the caller, where there is none): what a callback hands back may be
 * released by its owner then. Returns t; NULL with TN_ENOMEM. NULL and TN_NONE are fine. */
TN_API tn_tensor *tn_scope_hold(tn_tensor *t);

/* For bindings to languages that count references by themselves, around code of theirs that a callback runs: between the two
 * calls, on this thread, no scope owns what is made; every result is the caller's. suspend returns the scopes that were open (or
 * NULL), which resume takes. */
TN_API tn_scope *tn_scope_suspend(void);
TN_API void tn_scope_resume(tn_scope *open);

TN_API tn_module *tn_module_keep(tn_module *m);
TN_API tn_module *tn_module_retain(tn_module *m);
TN_API void tn_module_release(tn_module *m);

#ifdef __cplusplus
}
#endif
#endif
