/* optim/optimizer.h: what the optimisers share: a list of parameters, each with its state.
 *
 * Invariants: state[k] is NULL or has its parameter's shape and layout; steps counts the updates of that parameter; state
 * of a parameter with no steps means nothing yet.
 */
#ifndef TENON_OPTIM_OPTIMIZER_H
#define TENON_OPTIM_OPTIMIZER_H

#include "nn/module.h"
#include <tenon/optim.h>

enum { TN__STATES = 2 };

typedef struct tn__entry {
    tn_tensor *p;
    tn_tensor *state[TN__STATES];
    tn_tensor *step; /* steps, as a tensor, for those who ask */
    int64_t steps;
    char name[TN__STATES + 1][40]; /* "0.exp_avg"; the last one is of step */
} tn__entry;

/* One kind of optimiser. */
typedef struct tn__optim_class {
    const char *name;
    const char *state[TN__STATES]; /* what its state is called */
    bool counts;                   /* the number of steps is part of the state */
    /* Updates one parameter, which has a gradient. */
    tn_status (*update)(const tn_optimizer *opt, const tn__entry *e);
} tn__optim_class;

struct tn_optimizer {
    const tn__optim_class *cls;
    int32_t n_state; /* tensors kept for each parameter */
    int64_t n;
    tn__entry *at;
    double lr, weight_decay;
    double momentum, dampening; /* sgd */
    double beta1, beta2, eps;   /* adam */
    bool nesterov, maximize, decoupled;
};

/* An optimiser of the parameters, its n_state and hyperparameters still zero. NULL with an error set. */
tn_optimizer *tn__optimizer_make(const tn__optim_class *cls, tn_params params, double lr);

/* A hyperparameter that must not be negative. False with an error set. */
bool tn__hyper_check(const char *what, double value);

#endif
