/* ops/optimizer/compose.h: what the composed steps share. */
#ifndef TENON_OPS_OPTIMIZER_COMPOSE_H
#define TENON_OPS_OPTIMIZER_COMPOSE_H

#include "autograd/functions.h"

/* grad, turned round where the objective is maximised, plus weight_decay * p */
tn_tensor *tn__direction(tn_tensor *p, tn_tensor *grad, double weight_decay, bool maximize);

/* state = by * state + added; without what is added the state stays as it is */
tn_tensor *tn__decayed(tn_tensor *state, double by, tn_tensor *added);

/* A recorded operation keeps its operand, which the next step writes: where recorded, a copy of it. */
tn_tensor *tn__kept(tn_tensor *t);

#endif
