/* ops/loss/derive.h: gradients of elementwise losses. */
#ifndef TENON_OPS_LOSS_DERIVE_H
#define TENON_OPS_LOSS_DERIVE_H

#include "autograd/functions.h"

/* g * (p - y) / (p (1 - p)), which is not divided by less than 1e-12 */
tn_tensor *tn__bce_grad(tn_tensor *g, tn_scalar p, tn_scalar y);
/* g * (log(1 - p) - log(p)) */
tn_tensor *tn__bce_grad_target(tn_tensor *g, tn_scalar p);

#endif
