/* ops/loss/derive.h: gradients of elementwise losses. */
#ifndef TENON_OPS_LOSS_DERIVE_H
#define TENON_OPS_LOSS_DERIVE_H

#include "autograd/functions.h"

/* g / (p (1 - p)), which is not divided by less than 1e-12 */
tn_tensor *tn__bce_slope(tn_tensor *g, tn_scalar p);
/* g times the second derivative of the binary cross entropy of p, y being the target */
tn_tensor *tn__bce_bend(tn_tensor *g, tn_scalar p, tn_scalar y);
/* g where |a - b| < c, else 0 */
tn_tensor *tn__within(tn_tensor *g, tn_scalar a, tn_scalar b, tn_scalar c);
/* g times the slope of both losses of a and b, which bend at c */
tn_tensor *tn__smooth_l1_grad(tn_tensor *g, tn_scalar a, tn_scalar b, tn_scalar c);
tn_tensor *tn__huber_grad(tn_tensor *g, tn_scalar a, tn_scalar b, tn_scalar c);
/* g * (log(1 - p) - log(p)) */
tn_tensor *tn__bce_grad_target(tn_tensor *g, tn_scalar p);

#endif
