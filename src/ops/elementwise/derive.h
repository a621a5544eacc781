/* ops/elementwise/derive.h: gradients of elementwise rows that are more than a formula. */
#ifndef TENON_OPS_ELEMENTWISE_DERIVE_H
#define TENON_OPS_ELEMENTWISE_DERIVE_H

#include "autograd/functions.h"

tn_tensor *tn__remainder_grad(tn_tensor *g, tn_scalar a, tn_scalar b);
tn_tensor *tn__pow_grad_base(tn_tensor *g, tn_scalar a, tn_scalar b);
tn_tensor *tn__pow_grad_exponent(tn_tensor *g, tn_scalar a, tn_scalar b, tn_tensor *out);
/* g * of / (a^2 + b^2) */
tn_tensor *tn__atan2_grad(tn_tensor *g, tn_scalar of, tn_scalar a, tn_scalar b);
/* g but where 'theirs', half of it where 'tie': NaN, which compares false, passes the gradient to both, as in PyTorch */
tn_tensor *tn__pass_grad(tn_tensor *g, tn_tensor *theirs, tn_tensor *tie);
/* Gradient of a bounded operand: where inside for a number; for a tensor bound where not beyond, and shared on a tie. */
tn_tensor *tn__bound_grad(tn_tensor *g, tn_scalar x, tn_scalar bound, tn_tensor *inside, tn_tensor *beyond);
tn_tensor *tn__clamp_grad(tn_tensor *g, tn_scalar x, tn_scalar lower, tn_scalar upper);
tn_tensor *tn__clamp_grad_lower(tn_tensor *g, tn_scalar x, tn_scalar lower, tn_scalar upper);
tn_tensor *tn__clamp_grad_upper(tn_tensor *g, tn_scalar x, tn_scalar lower, tn_scalar upper);

#endif
