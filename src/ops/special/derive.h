/* ops/special/derive.h: gradients of special functions that are more than a formula. */
#ifndef TENON_OPS_SPECIAL_DERIVE_H
#define TENON_OPS_SPECIAL_DERIVE_H

#include "autograd/functions.h"

/* The error of a gradient that PyTorch has not got. NULL. */
tn_tensor *tn__not_derived(const char *what);

tn_tensor *tn__polygamma_grad(tn_tensor *g, tn_scalar n, tn_scalar x);
tn_tensor *tn__zeta_grad(tn_tensor *g, tn_scalar s, tn_scalar q);
/* Of the part below x. */
tn_tensor *tn__igamma_grad(tn_tensor *g, tn_scalar a, tn_scalar x);
tn_tensor *tn__erfcx_grad(tn_tensor *g, tn_tensor *x, tn_tensor *out);
tn_tensor *tn__log_ndtr_grad(tn_tensor *g, tn_tensor *x);
tn_tensor *tn__sinc_bend(tn_tensor *g, tn_tensor *x);
tn_tensor *tn__logit_bend(tn_tensor *g, tn_tensor *x, tn_scalar eps);
tn_tensor *tn__i0e_grad(tn_tensor *g, tn_tensor *x, tn_tensor *out);
tn_tensor *tn__i1_grad(tn_tensor *g, tn_tensor *x, tn_tensor *out);
tn_tensor *tn__i1e_grad(tn_tensor *g, tn_tensor *x, tn_tensor *out);
tn_tensor *tn__k1_grad(tn_tensor *g, tn_tensor *x, tn_tensor *out);
/* Of the first operand: 0 where it is 0 and the logarithm has no number. */
tn_tensor *tn__xlogy_grad(tn_tensor *g, tn_scalar x, tn_scalar y);
tn_tensor *tn__xlog1py_grad(tn_tensor *g, tn_scalar x, tn_scalar y);
tn_tensor *tn__logaddexp2_bend(tn_tensor *g, tn_scalar a, tn_scalar b);
tn_tensor *tn__nextafter_grad(tn_tensor *g, tn_scalar a, tn_scalar b);

#endif
