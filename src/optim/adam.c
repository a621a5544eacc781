/* Adam and AdamW: torch.optim.Adam, torch.optim.AdamW. */
#include "optim/optimizer.h"

static tn_status adam_update(const tn_optimizer *o, const tn__entry *e)
{
    return tn_adam_step_(e->p, e->p->grad, e->state[0], e->state[1], o->lr, o->beta1, o->beta2, o->eps, o->weight_decay,
                         e->steps + 1, o->decoupled, o->maximize)
               ? TN_OK
               : tn_error_code();
}

static const tn__optim_class adam_class = {
    .name = "tn_adam", .state = {"exp_avg", "exp_avg_sq"}, .counts = true, .update = adam_update};
static const tn__optim_class adamw_class = {
    .name = "tn_adamw", .state = {"exp_avg", "exp_avg_sq"}, .counts = true, .update = adam_update};

/* What was said, or the default; none: zero, on purpose. */
static double said(double value, bool none, double otherwise)
{
    return none ? 0 : value != 0 ? value : otherwise;
}

static bool check_beta(int index, double beta)
{
    if (beta >= 0 && beta < 1)
        return true;
    tn__error(TN_EVALUE, "Invalid beta parameter at index %d: %s", index, tn__float_str(beta).s);
    return false;
}

static tn_optimizer *make(const tn__optim_class *cls, tn_params params, double lr, const tn_adam_options *options,
                          double default_decay)
{
    tn_adam_options o;
    tn__options_in(&o, sizeof o, options);
    tn__enter(o.site);
    o.beta1 = said(o.beta1, o.no_beta1, 0.9);
    o.beta2 = said(o.beta2, o.no_beta2, 0.999);
    o.eps = said(o.eps, o.no_eps, 1e-8);
    o.weight_decay = said(o.weight_decay, o.no_weight_decay, default_decay);
    if (!tn__hyper_check("learning rate", lr) || !tn__hyper_check("epsilon value", o.eps) || !check_beta(0, o.beta1) ||
        !check_beta(1, o.beta2) || !tn__hyper_check("weight_decay value", o.weight_decay))
        return NULL;
    tn_optimizer *opt = tn__optimizer_make(cls, params, lr);
    if (!opt)
        return NULL;
    opt->n_state = 2;
    opt->beta1 = o.beta1;
    opt->beta2 = o.beta2;
    opt->eps = o.eps;
    opt->weight_decay = o.weight_decay;
    opt->maximize = o.maximize;
    opt->decoupled = cls == &adamw_class;
    return opt;
}

tn_optimizer *tn_adam_opt(tn_params params, double lr, const tn_adam_options *options)
{
    return make(&adam_class, params, lr, options, 0);
}

tn_optimizer *tn_adamw_opt(tn_params params, double lr, const tn_adam_options *options)
{
    return make(&adamw_class, params, lr, options, 0.01);
}

tn_optimizer *(tn_adam)(tn_params params, double lr)
{
    return tn_adam_opt(params, lr, NULL);
}

tn_optimizer *(tn_adamw)(tn_params params, double lr)
{
    return tn_adamw_opt(params, lr, NULL);
}
