/* ops/loss/compose.h: what composed losses share. */
#ifndef TENON_OPS_LOSS_COMPOSE_H
#define TENON_OPS_LOSS_COMPOSE_H

#include "autograd/functions.h"

/* x reduced as a loss is: mean, sum, or left. */
tn_tensor *tn__reduce_loss(tn_tensor *x, int64_t reduction);

/* x - target of a loss: PyTorch broadcasts them first, so that the dtype of one without dimensions counts too. */
tn_tensor *tn__difference(tn_tensor *x, tn_tensor *target);
/* The same in the common dtype, which must be floating; kernel: as tn__no_kernel takes it. */
tn_tensor *tn__floating_difference(const char *kernel, tn_tensor *x, tn_tensor *target);

#endif
