/* Adam and AdamW: torch.optim.Adam, torch.optim.AdamW. */
#include "optim/optimizer.h"

enum { LR, BETA1, BETA2, EPS, WEIGHT_DECAY, MAXIMIZE, OPTIONS };

static bool check_beta(int index, double beta)
{
    if (beta >= 0 && beta < 1)
        return true;
    tn__error(TN_EVALUE, "Invalid beta parameter at index %d: %s", index, tn__float_str(beta).s);
    return false;
}

static bool adam_check(const double *o)
{
    return tn__hyper_check("learning rate", o[LR]) && tn__hyper_check("epsilon value", o[EPS]) &&
           check_beta(0, o[BETA1]) && check_beta(1, o[BETA2]) && tn__hyper_check("weight_decay value", o[WEIGHT_DECAY]);
}

static tn_status adam_step(const double *o, const tn__entry *e, bool decoupled)
{
    return tn_adam_step_(e->p, e->p->grad, e->state[0], e->state[1], o[LR], o[BETA1], o[BETA2], o[EPS], o[WEIGHT_DECAY],
                         e->steps + 1, decoupled, o[MAXIMIZE] != 0)
               ? TN_OK
               : tn_error_code();
}

static tn_status adam_update(const tn__group *g, const tn__entry *e)
{
    return adam_step(g->option, e, false);
}

static tn_status adamw_update(const tn__group *g, const tn__entry *e)
{
    return adam_step(g->option, e, true);
}

static const tn__optim_class
    adam_class = {.name = "tn_adam",
                  .option = {{"lr", 0}, {"beta1", 0}, {"beta2", 0}, {"eps", 0}, {"weight_decay", 0}, {"maximize", 0}},
                  .n_options = OPTIONS,
                  .state = {"exp_avg", "exp_avg_sq"},
                  .n_states = 2,
                  .counts = true,
                  .check = adam_check,
                  .update = adam_update},
    adamw_class = {.name = "tn_adamw",
                   .option = {{"lr", 0}, {"beta1", 0}, {"beta2", 0}, {"eps", 0}, {"weight_decay", 0}, {"maximize", 0}},
                   .n_options = OPTIONS,
                   .state = {"exp_avg", "exp_avg_sq"},
                   .n_states = 2,
                   .counts = true,
                   .check = adam_check,
                   .update = adamw_update};

/* What was said, or the default; none: zero, on purpose. */
static double said(double value, bool none, double otherwise)
{
    return none ? 0 : value != 0 ? value : otherwise;
}

static tn_optimizer *make(const tn__optim_class *cls, tn_params params, double lr, const tn_adam_options *options,
                          double default_decay)
{
    tn_adam_options o;
    tn__options_in(&o, sizeof o, options);
    tn__enter(o.site);
    const double option[OPTIONS] = {[LR] = lr,
                                    [BETA1] = said(o.beta1, o.no_beta1, 0.9),
                                    [BETA2] = said(o.beta2, o.no_beta2, 0.999),
                                    [EPS] = said(o.eps, o.no_eps, 1e-8),
                                    [WEIGHT_DECAY] = said(o.weight_decay, o.no_weight_decay, default_decay),
                                    [MAXIMIZE] = o.maximize};
    return tn__optimizer_make(cls, params, option, (tn_hypers){NULL, 0});
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
