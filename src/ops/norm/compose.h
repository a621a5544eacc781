/* ops/norm/compose.h: what compositions of the family share. */
#ifndef TENON_OPS_NORM_COMPOSE_H
#define TENON_OPS_NORM_COMPOSE_H

#include "ops/compose.h"

/* Are parameters and statistics (NULL: not given) of x's dtype? Beside one of 16 bits they may all be of float32. */
bool tn__parameters_fit(const tn_tensor *x, tn_tensor *const *t, int n);
/* What is of 16 bits in float32. */
tn_tensor *tn__widened(tn_tensor *x);
/* x * weight + bias, of which either may be missing, in dtype d. */
tn_tensor *tn__scaled(tn_tensor *x, tn_tensor *weight, tn_tensor *bias, tn_dtype d);

#endif
