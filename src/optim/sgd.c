/* SGD: torch.optim.SGD. */
#include "optim/optimizer.h"

enum { LR, MOMENTUM, DAMPENING, WEIGHT_DECAY, NESTEROV, MAXIMIZE, OPTIONS };

static bool sgd_check(const double *o)
{
    if (!tn__hyper_check("momentum value", o[MOMENTUM]) || !tn__hyper_check("weight_decay value", o[WEIGHT_DECAY]))
        return false;
    if (o[NESTEROV] != 0 && (o[MOMENTUM] == 0 || o[DAMPENING] != 0)) {
        tn__error(TN_EVALUE, "Nesterov momentum requires a momentum and zero dampening");
        return false;
    }
    return tn__hyper_check("learning rate", o[LR]);
}

static int32_t sgd_keeps(const double *o)
{
    return o[MOMENTUM] != 0;
}

static tn_status sgd_update(const tn__group *g, const tn__entry *e)
{
    const double *o = g->option;
    tn_tensor *buffer = g->n_state ? e->state[0] : TN_NONE;
    return tn_sgd_step_(e->p, e->p->grad, buffer, o[LR], o[MOMENTUM], o[DAMPENING], o[WEIGHT_DECAY], o[NESTEROV] != 0,
                        e->steps == 0, o[MAXIMIZE] != 0)
               ? TN_OK
               : tn_error_code();
}

static const tn__optim_class sgd_class = {
    .name = "tn_sgd",
    .option = {{"lr", 0}, {"momentum", 0}, {"dampening", 0}, {"weight_decay", 0}, {"nesterov", 0}, {"maximize", 0}},
    .n_options = OPTIONS,
    .state = {"momentum_buffer"},
    .n_states = 1,
    .check = sgd_check,
    .keeps = sgd_keeps,
    .update = sgd_update};

tn_optimizer *tn_sgd_opt(tn_params params, double lr, const tn_sgd_options *options)
{
    tn_sgd_options o;
    tn__options_in(&o, sizeof o, options);
    tn__enter(o.site);
    const double option[OPTIONS] = {[LR] = lr,
                                    [MOMENTUM] = o.momentum,
                                    [DAMPENING] = o.dampening,
                                    [WEIGHT_DECAY] = o.weight_decay,
                                    [NESTEROV] = o.nesterov,
                                    [MAXIMIZE] = o.maximize};
    return tn__optimizer_make(&sgd_class, params, option, (tn_hypers){NULL, 0});
}

tn_optimizer *(tn_sgd)(tn_params params, double lr)
{
    return tn_sgd_opt(params, lr, NULL);
}
