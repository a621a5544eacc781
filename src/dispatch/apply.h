/* dispatch/apply.h: the one door every operation goes through: infer, check devices, allocate, run, record. */
#ifndef TENON_DISPATCH_APPLY_H
#define TENON_DISPATCH_APPLY_H

#include "autograd/functions.h"

/* Runs one row. site: the user's call, or NULL inside the library. required: bit i set where input i must be a tensor.
 * params: the row's own struct (op/list.h), NULL where it has none; infer wraps dimensions in it. more: where further results
 * go, each of which may be NULL; or NULL.
 * The results belong to the innermost scope, or to the caller where there is none. NULL on error. */
tn_tensor *tn__apply(const char *site, tn__op_id op, const tn_scalar *in, int32_t n_in, uint32_t required, void *params,
                     tn_tensor **const *more);

/* The same, writing to input 0, which is returned. */
tn_tensor *tn__apply_inplace(const char *site, tn__op_id op, const tn_scalar *in, int32_t n_in, uint32_t required,
                             void *params);

/* What a call may write its result to; site: NULL inside the library. */
static inline tn_tensor *tn__offer(const tn__thread *t, const char *site)
{
    return TN_UNLIKELY(t->apart != NULL) ? t->apart : site ? t->into : NULL;
}
/* May the result of a call whose shape rule has run be written to that memory, which was offered (tn_into)? (into.c) */
bool tn__goes_into(const tn__call *c, const tn_tensor *out);

/* A row with a list of inputs, all of them tensors. */
tn_tensor *tn__apply_list(const char *site, tn__op_id op, tn_tensors xs, void *params);

/* ---- what is asked before an operation's call begins; errors are of the call at site ---- */

TN_MUST_USE bool tn__dtype_usable(const char *site, const char *what, tn_dtype dtype);
/* Copies a list of dimensions into parameters. False, with an error set, if it is none, or too long. */
TN_MUST_USE bool tn__dims_take(const char *site, tn__dims *to, const tn_dims *from);
/* The same of options: .dims, NULL where there is none such, or .dim. False, too, if both are said. */
TN_MUST_USE bool tn__dims_said(const char *site, tn__dims *to, const tn_dims *dims, int64_t dim, bool dim_given);
/* False, with an error set, if an options struct has a dim that its dim_given does not say: of 0 it cannot be told. */
bool tn__dim_unsaid(const char *site, int64_t dim);
TN_MUST_USE static inline bool tn__dim_meant(const char *site, int64_t dim, bool dim_given)
{
    return TN_LIKELY(!dim || dim_given) || tn__dim_unsaid(site, dim);
}
/* For functions written by hand: .dim, if that is what is said, becomes .dims. False, with an error set, if both are. */
TN_MUST_USE bool tn__one_dim(const char *site, tn_dims *dims, int64_t dim, bool dim_given);

/* ---- where operands are (operands.c) ---- */

/* NULL poisons; a missing operand is named; all are on one device, which becomes the call's. 0-dim CPU tensors may stand
 * where a number could: then *mixed. */
TN_MUST_USE tn_status tn__operands_check(tn__call *c, uint32_t required, bool *mixed);

/* What PyTorch calls the function that a row is, where it says so in errors: "nll_loss_forward". */
const char *tn__torch_name(const tn__call *c);

/* A mixed call's operands as a kernel on its device takes them: those tensors are numbers, read now; and bounds as adjusted. */
void tn__operands_local(const tn__call *c, tn_scalar *out);

#endif
