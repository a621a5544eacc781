/* optim/optimizer.h: what the optimisers share: groups of parameters, each with its numbers, each parameter with its state.
 *
 * Invariants: option 0 is the learning rate; where the class makes no state of its own, state[k] is NULL or has its
 * parameter's shape and layout; steps counts the updates of that parameter; state of a parameter with no steps means nothing
 * yet.
 */
#ifndef TENON_OPTIM_OPTIMIZER_H
#define TENON_OPTIM_OPTIMIZER_H

#include "nn/module.h"
#include <tenon/optim.h>

enum { TN__STATES = TN_OPTIMIZER_STATES, TN__STATE_NAME = 64 };

typedef struct tn__entry {
    tn_tensor *p;
    int64_t group;
    tn_tensor *step; /* steps, as a tensor, for those who ask */
    int64_t steps;
    tn_tensor **state;            /* [class's n_states] */
    char (*name)[TN__STATE_NAME]; /* [n_states + 1]: "0.exp_avg"; the last one is of step */
} tn__entry;

/* Numbers that hold for some of the parameters. */
typedef struct tn__group {
    double option[TN_OPTIMIZER_OPTIONS];
    int32_t n_state; /* tensors kept for each parameter: as many as the class has, or the first of them */
    void *block;     /* where the states and names of its entries lie */
    size_t bytes;
} tn__group;

typedef struct tn__optim_class tn__optim_class;

struct tn_optimizer {
    const tn__optim_class *cls;
    int64_t n, cap;
    tn__entry *at;
    int64_t n_groups, cap_groups;
    tn__group *group;
    double initial[TN_OPTIMIZER_OPTIONS]; /* of groups that say nothing else */
    void *ctx;                            /* of a class of the user's: */
    bool owns_class;                      /* it is one, and both are freed with the optimiser */
};

/* One kind of optimiser. */
struct tn__optim_class {
    const char *name;
    tn_hyper option[TN_OPTIMIZER_OPTIONS]; /* with what they are unless said; "lr" is the first */
    int32_t n_options;
    const char *state[TN__STATES]; /* what its state is called */
    int32_t n_states;
    bool counts; /* the number of steps is part of the state */
    /* Are these numbers allowed? False with an error set. */
    bool (*check)(const double *option);
    /* How many of the states a group with these numbers keeps. NULL: all. */
    int32_t (*keeps)(const double *option);
    /* Updates one parameter, which has a gradient. */
    tn_status (*update)(const tn__group *g, const tn__entry *e);
    const tn_optimizer_class *own; /* the callbacks of a class of the user's, which come instead of 'update'; or NULL */
};

/* An optimiser of the parameters: one group, with these numbers and then those values. NULL with an error set. */
tn_optimizer *tn__optimizer_make(const tn__optim_class *cls, tn_params params, const double *option, tn_hypers values);

/* A hyperparameter that must not be negative. False with an error set. */
bool tn__hyper_check(const char *what, double value);

/* ---- classes of the user's ---- */

/* state[0 .. n_states), references: what the class begins with for p. None is left on error. */
TN_MUST_USE tn_status tn__own_state(tn_optimizer *opt, tn_tensor *p, tn_tensor **state);
/* An update of every parameter that has a gradient. */
TN_MUST_USE tn_status tn__own_step(tn_optimizer *opt);
/* Frees ctx and the class. */
void tn__own_free(tn_optimizer *opt);

#endif
