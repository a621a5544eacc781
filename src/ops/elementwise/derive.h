/* ops/elementwise/derive.h: gradients of elementwise rows that are more than a formula. */
#ifndef TENON_OPS_ELEMENTWISE_DERIVE_H
#define TENON_OPS_ELEMENTWISE_DERIVE_H

#include "autograd/functions.h"

tn_tensor *tn__remainder_grad(tn_tensor *g, tn_scalar a, tn_scalar b);
tn_tensor *tn__pow_grad_base(tn_tensor *g, tn_scalar a, tn_scalar b);
tn_tensor *tn__pow_grad_exponent(tn_tensor *g, tn_scalar a, tn_scalar b, tn_tensor *out);
/* Gradient of a bounded operand: where inside for a number; for a tensor bound where not beyond, and shared on a tie. */
tn_tensor *tn__clamp_min_grad(tn_tensor *g, tn_scalar x, tn_scalar bound);
tn_tensor *tn__clamp_max_grad(tn_tensor *g, tn_scalar x, tn_scalar bound);
tn_tensor *tn__clamp_grad(tn_tensor *g, tn_scalar x, tn_scalar lower, tn_scalar upper);
tn_tensor *tn__clamp_grad_lower(tn_tensor *g, tn_scalar x, tn_scalar lower, tn_scalar upper);
tn_tensor *tn__clamp_grad_upper(tn_tensor *g, tn_scalar x, tn_scalar lower, tn_scalar upper);

#endif
