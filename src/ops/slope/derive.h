/* ops/slope/derive.h: second derivatives of elementwise operations, times g, that are more than a formula. */
#ifndef TENON_OPS_SLOPE_DERIVE_H
#define TENON_OPS_SLOPE_DERIVE_H

#include "autograd/functions.h"

/* g * x / (1 - x^2)^(3/2) */
tn_tensor *tn__asin_bend(tn_tensor *g, tn_scalar x);
/* g * y * x / (y^2 + x^2)^2 */
tn_tensor *tn__atan2_product(tn_tensor *g, tn_scalar y, tn_scalar x);
/* g * (y^2 - x^2) / (y^2 + x^2)^2 */
tn_tensor *tn__atan2_squares(tn_tensor *g, tn_scalar y, tn_scalar x);
/* g * s (1 - s), s = sigmoid(a - b) */
tn_tensor *tn__logaddexp_bend(tn_tensor *g, tn_scalar a, tn_scalar b);
/* g * b (b - 1) a^(b - 2) */
tn_tensor *tn__pow_bend(tn_tensor *g, tn_scalar a, tn_scalar b);
/* g * a^(b - 1) (1 + b log(a)), and 0 where b is 0 */
tn_tensor *tn__pow_bend_exponent(tn_tensor *g, tn_scalar a, tn_scalar b);
/* g * (1 - weight) */
tn_tensor *tn__lerp_grad_start(tn_tensor *g, tn_scalar weight);

#endif
