/* autograd/apply.h: the one door every operation goes through: infer, check devices, allocate, run, record. */
#ifndef TENON_AUTOGRAD_APPLY_H
#define TENON_AUTOGRAD_APPLY_H

#include "autograd/node.h"
#include "core/thread.h"

/* Runs one row. site: the user's call, or NULL inside the library. required: bit i set where input i must be a tensor.
 * params: the row's own struct (op/list.h), NULL where it has none; infer wraps dimensions in it. more: where further results
 * go, each of which may be NULL; or NULL.
 * The results belong to the innermost scope, or to the caller where there is none. NULL on error. */
tn_tensor *tn__apply(const char *site, tn__op_id op, const tn_scalar *in, int32_t n_in, uint32_t required, void *params,
                     tn_tensor **const *more);

/* The same, writing to input 0, which is returned. */
tn_tensor *tn__apply_inplace(const char *site, tn__op_id op, const tn_scalar *in, int32_t n_in, uint32_t required,
                             void *params);

/* A row with a list of inputs, all of them tensors. */
tn_tensor *tn__apply_list(const char *site, tn__op_id op, tn_tensors xs, void *params);

/* Copies a list of dimensions into parameters. False, with an error set, if it is too long. */
TN_MUST_USE bool tn__dims_take(tn__dims *to, tn_dims from);

/* ---- where operands are (operands.c) ---- */

/* NULL poisons; a missing operand is named; all are on one device, which becomes the call's. 0-dim CPU tensors may stand
 * where a number could: then *mixed. */
TN_MUST_USE tn_status tn__operands_check(tn__call *c, uint32_t required, bool *mixed);

/* What PyTorch calls the function that a row is, where it says so in errors: "nll_loss_forward". */
typedef struct tn__torch_text {
    char s[48];
} tn__torch_text;
tn__torch_text tn__torch_name(const tn__call *c);

/* A mixed call's operands as a kernel on its device takes them: those tensors are numbers, read now; and bounds as adjusted. */
void tn__operands_local(const tn__call *c, tn_scalar *out);

/* ---- what op/derivatives.c, made from the rows, holds ---- */

/* Gradient of an elementwise row with respect to one operand, of g, the saved operands and the result. */
typedef tn_tensor *(*tn__formula)(tn_tensor *g, const tn_scalar *s, tn_tensor *out);
extern const tn__formula tn__formulas[TN__OPS][3];

/* Each row's derivative, by operation. */
extern const tn__derivative tn__derivatives[TN__OPS];

/* Forward functions of COMP rows. They wrap dimensions in their parameters, as shape rules do. */
typedef tn_tensor *(*tn__composite)(const tn_scalar *in, void *params);
extern const tn__composite tn__composites[TN__OPS];

tn_status tn__derive_elementwise(tn__backward *b);

/* ---- in-place writes (inplace.c) ---- */

/* May t be written, with recording as it is? PyTorch's rules and texts. */
TN_MUST_USE tn_status tn__check_inplace(const tn_tensor *t, bool records);

/* May a sum over x be asked for in that dtype? Not in integers, where it would be recorded. */
TN_MUST_USE tn_status tn__check_derived(const tn_tensor *x, tn_dtype asked);

/* May t be written from other, as far as they share memory? A part of it: never; the same elements: unless apart. other: NULL,
 * if there is none. */
TN_MUST_USE tn_status tn__check_apart(const tn_tensor *t, const tn_tensor *other, bool apart);

/* Gives t, which was just written, its new history, that output of node; for a view, of output 0, rebases the base's. node
 * is taken over. Everything it
 * needs was allocated by tn__rebase_prepare, so it cannot fail. */
tn__node *tn__rebase_prepare(tn_tensor *t, tn__node *node);
void tn__rebase(tn_tensor *t, tn__node *node, uint32_t output, tn__node *slices);

/* Has t's node keep the gradient for t, which is no leaf (watch.c). */
void tn__keep_grad(tn_tensor *t);

/* Makes v a view of x: base, flags. */
void tn__make_view(tn_tensor *v, tn_tensor *x, bool multi);
/* v itself, a new view of what is new and nobody else's: no view then, for nobody sees what it would be a view of. */
tn_tensor *tn__no_view(tn_tensor *v);

#endif
