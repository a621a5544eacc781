/* ops/activation/derive.h: second derivatives of activations, times g, and slopes that are more than a row. */
#ifndef TENON_OPS_ACTIVATION_DERIVE_H
#define TENON_OPS_ACTIVATION_DERIVE_H

#include "autograd/functions.h"

tn_tensor *tn__silu_bend(tn_tensor *g, tn_scalar x);
tn_tensor *tn__gelu_bend(tn_tensor *g, tn_scalar x);
tn_tensor *tn__gelu_tanh_bend(tn_tensor *g, tn_scalar x);
tn_tensor *tn__mish_bend(tn_tensor *g, tn_scalar x);
tn_tensor *tn__softplus_bend(tn_tensor *g, tn_scalar x, tn_scalar threshold);
tn_tensor *tn__softsign_bend(tn_tensor *g, tn_scalar x);
tn_tensor *tn__tanhshrink_bend(tn_tensor *g, tn_scalar x);
tn_tensor *tn__gate_bend(tn_tensor *g, tn_scalar x);
/* g * x, and 0 where x is above 0: of leaky_relu's slope */
tn_tensor *tn__slope_grad(tn_tensor *g, tn_scalar x);
/* g where x is between the bounds, or NaN */
tn_tensor *tn__hardtanh_slope(tn_tensor *g, tn_scalar x, tn_scalar low, tn_scalar high);

#endif
