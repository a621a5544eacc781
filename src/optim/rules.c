/* The optimisers whose updates are rules (ops/optimizer): torch.optim's Adagrad, Adadelta, RMSprop, Rprop, Adamax, NAdam, RAdam
 * and ASGD. */
#include "optim/optimizer.h"
#include <math.h>
#include <stddef.h>

static tn_status done(const tn_tensor *p)
{
    return p ? TN_OK : tn_error_code();
}

/* A number that must be from 0 to below 1; what: as PyTorch names it. */
static bool check_beta(int index, double beta)
{
    if (beta >= 0 && beta < 1)
        return true;
    tn__error(TN_EVALUE, "Invalid beta parameter at index %d: %s", index, tn__float_str(beta).s);
    return false;
}

/* ---- Adagrad ---- */

enum { LR, ADAGRAD_LR_DECAY = 1, ADAGRAD_WEIGHT_DECAY, ADAGRAD_INITIAL, ADAGRAD_EPS, ADAGRAD_MAXIMIZE };

static bool adagrad_check(const double *o)
{
    return tn__hyper_check("learning rate", o[LR]) && tn__hyper_check("lr_decay value", o[ADAGRAD_LR_DECAY]) &&
           tn__hyper_check("weight_decay value", o[ADAGRAD_WEIGHT_DECAY]) &&
           tn__hyper_check("initial_accumulator_value value", o[ADAGRAD_INITIAL]) &&
           tn__hyper_check("epsilon value", o[ADAGRAD_EPS]);
}

static tn_status adagrad_update(const tn__group *g, const tn__entry *e)
{
    const double *o = g->option;
    if (e->steps == 0 && o[ADAGRAD_INITIAL] != 0 && !tn_fill_(e->state[0], o[ADAGRAD_INITIAL]))
        return tn_error_code();
    return done(tn_adagrad_step_(e->p, e->p->grad, e->state[0], o[LR], o[ADAGRAD_LR_DECAY], o[ADAGRAD_EPS],
                                 o[ADAGRAD_WEIGHT_DECAY], e->steps + 1, o[ADAGRAD_MAXIMIZE] != 0));
}

/* ---- Adadelta ---- */

enum { ADADELTA_RHO = 1, ADADELTA_EPS, ADADELTA_WEIGHT_DECAY, ADADELTA_MAXIMIZE };

static bool adadelta_check(const double *o)
{
    if (!(o[ADADELTA_RHO] >= 0 && o[ADADELTA_RHO] <= 1)) {
        tn__error(TN_EVALUE, "Invalid rho value: %s", tn__float_str(o[ADADELTA_RHO]).s);
        return false;
    }
    return tn__hyper_check("learning rate", o[LR]) && tn__hyper_check("epsilon value", o[ADADELTA_EPS]) &&
           tn__hyper_check("weight_decay value", o[ADADELTA_WEIGHT_DECAY]);
}

static tn_status adadelta_update(const tn__group *g, const tn__entry *e)
{
    const double *o = g->option;
    return done(tn_adadelta_step_(e->p, e->p->grad, e->state[0], e->state[1], o[LR], o[ADADELTA_RHO], o[ADADELTA_EPS],
                                  o[ADADELTA_WEIGHT_DECAY], o[ADADELTA_MAXIMIZE] != 0));
}

/* ---- RMSprop: two classes, by their states ---- */

enum { RMSPROP_ALPHA = 1, RMSPROP_EPS, RMSPROP_WEIGHT_DECAY, RMSPROP_MOMENTUM, RMSPROP_MAXIMIZE };

static bool rmsprop_check(const double *o)
{
    return tn__hyper_check("learning rate", o[LR]) && tn__hyper_check("epsilon value", o[RMSPROP_EPS]) &&
           tn__hyper_check("momentum value", o[RMSPROP_MOMENTUM]) &&
           tn__hyper_check("weight_decay value", o[RMSPROP_WEIGHT_DECAY]) &&
           tn__hyper_check("alpha value", o[RMSPROP_ALPHA]);
}

static int32_t rmsprop_keeps(const double *o)
{
    return 1 + (o[RMSPROP_MOMENTUM] != 0);
}

static int32_t rmsprop_centered_keeps(const double *o)
{
    return 2 + (o[RMSPROP_MOMENTUM] != 0);
}

static tn_status rmsprop_step(const tn__group *g, const tn__entry *e, tn_tensor *mean, tn_tensor *buffer)
{
    const double *o = g->option;
    tn__thread *t = tn__self();
    tn_scope scope;
    tn__scope_push(t, &scope); /* with both states the step is composed */
    const tn_status s =
        done(tn_rmsprop_step_(e->p, e->p->grad, e->state[0], mean, buffer, o[LR], o[RMSPROP_ALPHA], o[RMSPROP_EPS],
                              o[RMSPROP_WEIGHT_DECAY], o[RMSPROP_MOMENTUM], o[RMSPROP_MAXIMIZE] != 0));
    tn__scope_pop(t, &scope, NULL);
    return s;
}

static tn_status rmsprop_update(const tn__group *g, const tn__entry *e)
{
    return rmsprop_step(g, e, TN_NONE, g->n_state > 1 ? e->state[1] : TN_NONE);
}

static tn_status rmsprop_centered_update(const tn__group *g, const tn__entry *e)
{
    return rmsprop_step(g, e, e->state[1], g->n_state > 2 ? e->state[2] : TN_NONE);
}

/* ---- Rprop ---- */

enum { RPROP_ETAMINUS = 1, RPROP_ETAPLUS, RPROP_SMALLEST, RPROP_LARGEST, RPROP_MAXIMIZE };

static bool rprop_check(const double *o)
{
    if (!(o[RPROP_ETAMINUS] > 0 && o[RPROP_ETAMINUS] < 1 && o[RPROP_ETAPLUS] > 1)) {
        tn__error(TN_EVALUE, "Invalid eta values: %s, %s", tn__float_str(o[RPROP_ETAMINUS]).s,
                  tn__float_str(o[RPROP_ETAPLUS]).s);
        return false;
    }
    return tn__hyper_check("learning rate", o[LR]);
}

static tn_status rprop_update(const tn__group *g, const tn__entry *e)
{
    const double *o = g->option;
    if (e->steps == 0 && !tn_fill_(e->state[1], o[LR]))
        return tn_error_code();
    return done(tn_rprop_step_(e->p, e->p->grad, e->state[0], e->state[1], o[RPROP_ETAMINUS], o[RPROP_ETAPLUS],
                               o[RPROP_SMALLEST], o[RPROP_LARGEST], o[RPROP_MAXIMIZE] != 0));
}

/* ---- of Adam's kind: options lr, beta1, beta2, eps, weight_decay begin all of them ---- */

enum { BETA1 = 1, BETA2, EPS, WEIGHT_DECAY, ADAMAX_MAXIMIZE };
enum { RADAM_DECOUPLED = 5, RADAM_MAXIMIZE };
enum { NADAM_MOMENTUM_DECAY = 5, NADAM_DECOUPLED, NADAM_MAXIMIZE };

static bool adam_kind_check(const double *o)
{
    return tn__hyper_check("learning rate", o[LR]) && tn__hyper_check("epsilon value", o[EPS]) &&
           check_beta(0, o[BETA1]) && check_beta(1, o[BETA2]) && tn__hyper_check("weight_decay value", o[WEIGHT_DECAY]);
}

static bool nadam_check(const double *o)
{
    return adam_kind_check(o) && tn__hyper_check("momentum_decay value", o[NADAM_MOMENTUM_DECAY]);
}

static tn_status adamax_update(const tn__group *g, const tn__entry *e)
{
    const double *o = g->option;
    return done(tn_adamax_step_(e->p, e->p->grad, e->state[0], e->state[1], o[LR], o[BETA1], o[BETA2], o[EPS],
                                o[WEIGHT_DECAY], e->steps + 1, o[ADAMAX_MAXIMIZE] != 0));
}

static double nadam_momentum(const double *o, int64_t t)
{
    return o[BETA1] * (1 - 0.5 * pow(0.96, (double)t * o[NADAM_MOMENTUM_DECAY]));
}

/* mu_1 * ... * mu_t; below 2^-60 it is none, beside 1 */
static double nadam_product(const double *o, int64_t t)
{
    double product = 1;
    for (int64_t i = 1; i <= t && product > 0x1p-60; i++)
        product *= nadam_momentum(o, i);
    return product;
}

static tn_status nadam_update(const tn__group *g, const tn__entry *e)
{
    const double *o = g->option;
    const int64_t t = e->steps + 1;
    const double mu = nadam_momentum(o, t), next = nadam_momentum(o, t + 1), product = nadam_product(o, t);
    return done(tn_nadam_step_(e->p, e->p->grad, e->state[0], e->state[1], o[LR], o[BETA1], o[BETA2], o[EPS],
                               o[WEIGHT_DECAY], o[LR] * (1 - mu) / (1 - product), o[LR] * next / (1 - product * next),
                               t, o[NADAM_DECOUPLED] != 0, o[NADAM_MAXIMIZE] != 0));
}

static tn_status radam_update(const tn__group *g, const tn__entry *e)
{
    const double *o = g->option;
    return done(tn_radam_step_(e->p, e->p->grad, e->state[0], e->state[1], o[LR], o[BETA1], o[BETA2], o[EPS],
                               o[WEIGHT_DECAY], e->steps + 1, o[RADAM_DECOUPLED] != 0, o[RADAM_MAXIMIZE] != 0));
}

/* ---- ASGD ---- */

enum { ASGD_LAMBD = 1, ASGD_ALPHA, ASGD_T0, ASGD_WEIGHT_DECAY, ASGD_MAXIMIZE };

static bool asgd_check(const double *o)
{
    return tn__hyper_check("learning rate", o[LR]) && tn__hyper_check("weight_decay value", o[ASGD_WEIGHT_DECAY]);
}

static tn_status asgd_update(const tn__group *g, const tn__entry *e)
{
    const double *o = g->option, before = (double)e->steps;
    const double eta = o[LR] / pow(1 + o[ASGD_LAMBD] * o[LR] * before, o[ASGD_ALPHA]);
    return done(tn_asgd_step_(e->p, e->p->grad, e->state[0], eta, o[ASGD_LAMBD],
                              1 / (before - o[ASGD_T0] > 1 ? before - o[ASGD_T0] : 1), o[ASGD_WEIGHT_DECAY],
                              o[ASGD_MAXIMIZE] != 0));
}

/* ---- making them ---- */

/* A number among the fields of the options' struct; flag: a bool. */
typedef struct field {
    size_t offset;
    double otherwise;
    bool flag;
} field;

/* option[1 ..] by the fields that follow each other in a struct of options. */
static tn_optimizer *make(const tn__optim_class *cls, tn_params params, double lr, const void *options, const field *f)
{
    double option[TN_OPTIMIZER_OPTIONS] = {lr};
    for (int32_t i = 1; i < cls->n_options; i++, f++) {
        const char *at = (const char *)options + f->offset;
        const double said = f->flag ? *(const bool *)at : *(const double *)(const void *)at;
        option[i] = said != 0 ? said : f->otherwise;
    }
    return tn__optimizer_make(cls, params, option, (tn_hypers){NULL, 0});
}

#define NUMBER(type, name, otherwise) \
    { \
        offsetof(tn_##type##_options, name), otherwise, false \
    }
#define FLAG(type, name) \
    { \
        offsetof(tn_##type##_options, name), 0, true \
    }

static const tn__optim_class adagrad_class = {.name = "tn_adagrad",
                                              .option = {{"lr", 0},
                                                         {"lr_decay", 0},
                                                         {"weight_decay", 0},
                                                         {"initial_accumulator_value", 0},
                                                         {"eps", 0},
                                                         {"maximize", 0}},
                                              .n_options = 6,
                                              .state = {"sum"},
                                              .n_states = 1,
                                              .counts = true,
                                              .check = adagrad_check,
                                              .update = adagrad_update};

tn_optimizer *tn_adagrad_opt(tn_params params, double lr, const tn_adagrad_options *options)
{
    static const field fields[] = {NUMBER(adagrad, lr_decay, 0), NUMBER(adagrad, weight_decay, 0),
                                   NUMBER(adagrad, initial_accumulator_value, 0), NUMBER(adagrad, eps, 1e-10),
                                   FLAG(adagrad, maximize)};
    tn_adagrad_options o;
    tn__options_in(&o, sizeof o, options);
    tn__enter(o.site);
    return make(&adagrad_class, params, lr, &o, fields);
}

tn_optimizer *(tn_adagrad)(tn_params params, double lr)
{
    return tn_adagrad_opt(params, lr, NULL);
}

static const tn__optim_class adadelta_class = {
    .name = "tn_adadelta",
    .option = {{"lr", 0}, {"rho", 0}, {"eps", 0}, {"weight_decay", 0}, {"maximize", 0}},
    .n_options = 5,
    .state = {"square_avg", "acc_delta"},
    .n_states = 2,
    .counts = true,
    .check = adadelta_check,
    .update = adadelta_update};

tn_optimizer *tn_adadelta_opt(tn_params params, double lr, const tn_adadelta_options *options)
{
    static const field fields[] = {NUMBER(adadelta, rho, 0.9), NUMBER(adadelta, eps, 1e-6),
                                   NUMBER(adadelta, weight_decay, 0), FLAG(adadelta, maximize)};
    tn_adadelta_options o;
    tn__options_in(&o, sizeof o, options);
    tn__enter(o.site);
    return make(&adadelta_class, params, lr, &o, fields);
}

tn_optimizer *(tn_adadelta)(tn_params params, double lr)
{
    return tn_adadelta_opt(params, lr, NULL);
}

static const tn__optim_class rmsprop_class = {
    .name = "tn_rmsprop",
    .option = {{"lr", 0}, {"alpha", 0}, {"eps", 0}, {"weight_decay", 0}, {"momentum", 0}, {"maximize", 0}},
    .n_options = 6,
    .state = {"square_avg", "momentum_buffer"},
    .n_states = 2,
    .counts = true,
    .check = rmsprop_check,
    .keeps = rmsprop_keeps,
    .update = rmsprop_update};
static const tn__optim_class rmsprop_centered_class = {
    .name = "tn_rmsprop",
    .option = {{"lr", 0}, {"alpha", 0}, {"eps", 0}, {"weight_decay", 0}, {"momentum", 0}, {"maximize", 0}},
    .n_options = 6,
    .state = {"square_avg", "grad_avg", "momentum_buffer"},
    .n_states = 3,
    .counts = true,
    .check = rmsprop_check,
    .keeps = rmsprop_centered_keeps,
    .update = rmsprop_centered_update};

tn_optimizer *tn_rmsprop_opt(tn_params params, double lr, const tn_rmsprop_options *options)
{
    static const field fields[] = {NUMBER(rmsprop, alpha, 0.99), NUMBER(rmsprop, eps, 1e-8),
                                   NUMBER(rmsprop, weight_decay, 0), NUMBER(rmsprop, momentum, 0),
                                   FLAG(rmsprop, maximize)};
    tn_rmsprop_options o;
    tn__options_in(&o, sizeof o, options);
    tn__enter(o.site);
    return make(o.centered ? &rmsprop_centered_class : &rmsprop_class, params, lr, &o, fields);
}

tn_optimizer *(tn_rmsprop)(tn_params params, double lr)
{
    return tn_rmsprop_opt(params, lr, NULL);
}

static const tn__optim_class rprop_class = {
    .name = "tn_rprop",
    .option = {{"lr", 0}, {"etaminus", 0}, {"etaplus", 0}, {"step_min", 0}, {"step_max", 0}, {"maximize", 0}},
    .n_options = 6,
    .state = {"prev", "step_size"},
    .n_states = 2,
    .counts = true,
    .check = rprop_check,
    .update = rprop_update};

tn_optimizer *tn_rprop_opt(tn_params params, double lr, const tn_rprop_options *options)
{
    static const field fields[] = {NUMBER(rprop, etaminus, 0.5), NUMBER(rprop, etaplus, 1.2),
                                   NUMBER(rprop, step_min, 1e-6), NUMBER(rprop, step_max, 50), FLAG(rprop, maximize)};
    tn_rprop_options o;
    tn__options_in(&o, sizeof o, options);
    tn__enter(o.site);
    return make(&rprop_class, params, lr, &o, fields);
}

tn_optimizer *(tn_rprop)(tn_params params, double lr)
{
    return tn_rprop_opt(params, lr, NULL);
}

static const tn__optim_class adamax_class = {
    .name = "tn_adamax",
    .option = {{"lr", 0}, {"beta1", 0}, {"beta2", 0}, {"eps", 0}, {"weight_decay", 0}, {"maximize", 0}},
    .n_options = 6,
    .state = {"exp_avg", "exp_inf"},
    .n_states = 2,
    .counts = true,
    .check = adam_kind_check,
    .update = adamax_update};

tn_optimizer *tn_adamax_opt(tn_params params, double lr, const tn_adamax_options *options)
{
    static const field fields[] = {NUMBER(adamax, beta1, 0.9), NUMBER(adamax, beta2, 0.999), NUMBER(adamax, eps, 1e-8),
                                   NUMBER(adamax, weight_decay, 0), FLAG(adamax, maximize)};
    tn_adamax_options o;
    tn__options_in(&o, sizeof o, options);
    tn__enter(o.site);
    return make(&adamax_class, params, lr, &o, fields);
}

tn_optimizer *(tn_adamax)(tn_params params, double lr)
{
    return tn_adamax_opt(params, lr, NULL);
}

static const tn__optim_class nadam_class = {.name = "tn_nadam",
                                            .option = {{"lr", 0},
                                                       {"beta1", 0},
                                                       {"beta2", 0},
                                                       {"eps", 0},
                                                       {"weight_decay", 0},
                                                       {"momentum_decay", 0},
                                                       {"decoupled_weight_decay", 0},
                                                       {"maximize", 0}},
                                            .n_options = 8,
                                            .state = {"exp_avg", "exp_avg_sq"},
                                            .n_states = 2,
                                            .counts = true,
                                            .check = nadam_check,
                                            .update = nadam_update};

tn_optimizer *tn_nadam_opt(tn_params params, double lr, const tn_nadam_options *options)
{
    static const field fields[] = {
        NUMBER(nadam, beta1, 0.9),      NUMBER(nadam, beta2, 0.999),         NUMBER(nadam, eps, 1e-8),
        NUMBER(nadam, weight_decay, 0), NUMBER(nadam, momentum_decay, 4e-3), FLAG(nadam, decoupled_weight_decay),
        FLAG(nadam, maximize)};
    tn_nadam_options o;
    tn__options_in(&o, sizeof o, options);
    tn__enter(o.site);
    return make(&nadam_class, params, lr, &o, fields);
}

tn_optimizer *(tn_nadam)(tn_params params, double lr)
{
    return tn_nadam_opt(params, lr, NULL);
}

static const tn__optim_class radam_class = {.name = "tn_radam",
                                            .option = {{"lr", 0},
                                                       {"beta1", 0},
                                                       {"beta2", 0},
                                                       {"eps", 0},
                                                       {"weight_decay", 0},
                                                       {"decoupled_weight_decay", 0},
                                                       {"maximize", 0}},
                                            .n_options = 7,
                                            .state = {"exp_avg", "exp_avg_sq"},
                                            .n_states = 2,
                                            .counts = true,
                                            .check = adam_kind_check,
                                            .update = radam_update};

tn_optimizer *tn_radam_opt(tn_params params, double lr, const tn_radam_options *options)
{
    static const field fields[] = {
        NUMBER(radam, beta1, 0.9),      NUMBER(radam, beta2, 0.999),         NUMBER(radam, eps, 1e-8),
        NUMBER(radam, weight_decay, 0), FLAG(radam, decoupled_weight_decay), FLAG(radam, maximize)};
    tn_radam_options o;
    tn__options_in(&o, sizeof o, options);
    tn__enter(o.site);
    return make(&radam_class, params, lr, &o, fields);
}

tn_optimizer *(tn_radam)(tn_params params, double lr)
{
    return tn_radam_opt(params, lr, NULL);
}

static const tn__optim_class asgd_class = {
    .name = "tn_asgd",
    .option = {{"lr", 0}, {"lambd", 0}, {"alpha", 0}, {"t0", 0}, {"weight_decay", 0}, {"maximize", 0}},
    .n_options = 6,
    .state = {"ax"},
    .n_states = 1,
    .counts = true,
    .check = asgd_check,
    .update = asgd_update};

tn_optimizer *tn_asgd_opt(tn_params params, double lr, const tn_asgd_options *options)
{
    static const field fields[] = {NUMBER(asgd, lambd, 1e-4), NUMBER(asgd, alpha, 0.75), NUMBER(asgd, t0, 1e6),
                                   NUMBER(asgd, weight_decay, 0), FLAG(asgd, maximize)};
    tn_asgd_options o;
    tn__options_in(&o, sizeof o, options);
    tn__enter(o.site);
    return make(&asgd_class, params, lr, &o, fields);
}

tn_optimizer *(tn_asgd)(tn_params params, double lr)
{
    return tn_asgd_opt(params, lr, NULL);
}
