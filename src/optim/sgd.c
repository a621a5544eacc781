/* SGD: torch.optim.SGD. */
#include "optim/optimizer.h"

static tn_status sgd_update(const tn_optimizer *o, const tn__entry *e)
{
    tn_tensor *buffer = o->n_state ? e->state[0] : TN_NONE;
    return tn_sgd_step_(e->p, e->p->grad, buffer, o->lr, o->momentum, o->dampening, o->weight_decay, o->nesterov,
                        e->steps == 0, o->maximize)
               ? TN_OK
               : tn_error_code();
}

static const tn__optim_class sgd_class = {.name = "tn_sgd", .state = {"momentum_buffer"}, .update = sgd_update};

tn_optimizer *tn_sgd_opt(tn_params params, double lr, const tn_sgd_options *options)
{
    tn_sgd_options o;
    tn__options_in(&o, sizeof o, options);
    tn__enter(o.site);
    if (!tn__hyper_check("momentum value", o.momentum) || !tn__hyper_check("weight_decay value", o.weight_decay))
        return NULL;
    if (o.nesterov && (o.momentum == 0 || o.dampening != 0))
        return tn__fail(TN_EVALUE, "Nesterov momentum requires a momentum and zero dampening");
    tn_optimizer *opt = tn__optimizer_make(&sgd_class, params, lr);
    if (!opt)
        return NULL;
    opt->n_state = o.momentum != 0 ? 1 : 0;
    opt->momentum = o.momentum;
    opt->dampening = o.dampening;
    opt->weight_decay = o.weight_decay;
    opt->nesterov = o.nesterov;
    opt->maximize = o.maximize;
    return opt;
}

tn_optimizer *(tn_sgd)(tn_params params, double lr)
{
    return tn_sgd_opt(params, lr, NULL);
}
