/* tenon/optim.h: optimisers, learning-rate schedules, gradient clipping. What torch.optim is to PyTorch.
 *
 *     tn_optimizer *opt = tn_adamw(net, 1e-3, .weight_decay = 0.05);
 *     ... tn_optimizer_zero_grad(opt); tn_backward(loss); tn_optimizer_step(opt); ...
 *     tn_optimizer_free(opt);
 *
 * An optimiser holds references to the parameters; the caller owns it, no scope does. Formulas, defaults and texts of
 * errors are those of the PyTorch class of the same name. Parameters are given as a module (all of its parameters) or
 * as TN_TENSORS(w, b).
 */
#ifndef TENON_OPTIM_H
#define TENON_OPTIM_H

#include <tenon/nn.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tn_optimizer tn_optimizer;

/* A number that an optimiser works with, and its name: "lr", "weight_decay". A list of them, for the call that takes it:
 * TN_HYPERS({"lr", 1e-4}, {"weight_decay", 0}). */
typedef struct tn_hyper {
    const char *name;
    double value;
} tn_hyper;
typedef struct tn_hypers {
    const tn_hyper *at;
    size_t n;
} tn_hypers;

/* ---- making one: lr >= 0; NULL with TN_EVALUE set for a value out of range, an empty list, a tensor that is no leaf
 * or is listed twice ---- */

typedef struct tn_sgd_options {
    size_t struct_size;
    const char *site;
    double momentum, dampening, weight_decay; /* 0 */
    bool nesterov;                            /* needs a momentum and no dampening */
    bool maximize;
} tn_sgd_options;
/* d = grad + weight_decay * p; b = momentum * b + (1 - dampening) * d (the first time b = d);
 * p -= lr * (nesterov ? d + momentum * b : b). State: "i.momentum_buffer", where there is a momentum. */
TN_API tn_optimizer *tn_sgd_opt(tn_params params, double lr, const tn_sgd_options *options);
TN_API tn_optimizer *tn_sgd(tn_params params, double lr);

typedef struct tn_adam_options {
    size_t struct_size;
    const char *site;
    double beta1, beta2;                              /* 0.9 and 0.999, unless said; below 1 */
    double eps;                                       /* 1e-8 unless said */
    double weight_decay;                              /* adam: 0; adamw: 0.01 unless said */
    bool no_beta1, no_beta2, no_eps, no_weight_decay; /* they are zero */
    bool maximize;
} tn_adam_options;
/* m = beta1 * m + (1 - beta1) * d; v = beta2 * v + (1 - beta2) * d^2;
 * p -= lr * (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + eps)          (Kingma and Ba 2014)
 * tn_adam: d = grad + weight_decay * p. tn_adamw: d = grad and p *= 1 - lr * weight_decay first (Loshchilov and Hutter
 * 2017). State: "i.step" (int64), "i.exp_avg", "i.exp_avg_sq". */
TN_API tn_optimizer *tn_adam_opt(tn_params params, double lr, const tn_adam_options *options);
TN_API tn_optimizer *tn_adam(tn_params params, double lr);
TN_API tn_optimizer *tn_adamw_opt(tn_params params, double lr, const tn_adam_options *options);
TN_API tn_optimizer *tn_adamw(tn_params params, double lr);

/* ---- further ones. d = grad + weight_decay * p, or -grad where the objective is maximised; t: the step, from 1. A number
 * that is left out or 0 is PyTorch's default, which stands beside it; tn_optimizer_set makes one 0. ---- */

typedef struct tn_adagrad_options {
    size_t struct_size;
    const char *site;
    double lr_decay, weight_decay, initial_accumulator_value, eps; /* 0, 0, 0, 1e-10 */
    bool maximize;
} tn_adagrad_options;
/* sum += d^2; p -= lr / (1 + (t - 1) * lr_decay) * d / (sqrt(sum) + eps)              (Duchi et al. 2011)
 * State: "i.step", "i.sum", which begins as initial_accumulator_value. */
TN_API tn_optimizer *tn_adagrad_opt(tn_params params, double lr, const tn_adagrad_options *options);
TN_API tn_optimizer *tn_adagrad(tn_params params, double lr);

typedef struct tn_adadelta_options {
    size_t struct_size;
    const char *site;
    double rho, eps, weight_decay; /* 0.9, 1e-6, 0 */
    bool maximize;
} tn_adadelta_options;
/* s = rho * s + (1 - rho) * d^2; u = sqrt(a + eps) / sqrt(s + eps) * d; a = rho * a + (1 - rho) * u^2;
 * p -= lr * u          (Zeiler 2012). State: "i.step", "i.square_avg" (s), "i.acc_delta" (a). */
TN_API tn_optimizer *tn_adadelta_opt(tn_params params, double lr, const tn_adadelta_options *options);
TN_API tn_optimizer *tn_adadelta(tn_params params, double lr);

typedef struct tn_rmsprop_options {
    size_t struct_size;
    const char *site;
    double alpha, eps, weight_decay, momentum; /* 0.99, 1e-8, 0, 0 */
    bool centered, maximize;
} tn_rmsprop_options;
/* s = alpha * s + (1 - alpha) * d^2; p -= lr * d / (sqrt(s) + eps). centered: s less the square of a like average of d;
 * momentum: p -= lr * b, b = momentum * b + that quotient. State: "i.step", "i.square_avg", "i.momentum_buffer" where there
 * is a momentum; where it is centered, "i.grad_avg" and "i.momentum_buffer". */
TN_API tn_optimizer *tn_rmsprop_opt(tn_params params, double lr, const tn_rmsprop_options *options);
TN_API tn_optimizer *tn_rmsprop(tn_params params, double lr);

typedef struct tn_rprop_options {
    size_t struct_size;
    const char *site;
    double etaminus, etaplus, step_min, step_max; /* 0.5, 1.2, 1e-6, 50 */
    bool maximize;
} tn_rprop_options;
/* Each element has a step of its own, lr at first: times etaplus where the gradient keeps its sign, times etaminus where it
 * changes, within step_min .. step_max; p -= sign(grad) * step          (Riedmiller and Braun 1993)
 * State: "i.step", "i.prev", "i.step_size". */
TN_API tn_optimizer *tn_rprop_opt(tn_params params, double lr, const tn_rprop_options *options);
TN_API tn_optimizer *tn_rprop(tn_params params, double lr);

typedef struct tn_adamax_options {
    size_t struct_size;
    const char *site;
    double beta1, beta2, eps, weight_decay; /* 0.9, 0.999, 1e-8, 0 */
    bool maximize;
} tn_adamax_options;
/* m = beta1 * m + (1 - beta1) * d; u = max(beta2 * u, |d| + eps); p -= lr / (1 - beta1^t) * m / u
 * (Kingma and Ba 2014, section 7). State: "i.step", "i.exp_avg" (m), "i.exp_inf" (u). */
TN_API tn_optimizer *tn_adamax_opt(tn_params params, double lr, const tn_adamax_options *options);
TN_API tn_optimizer *tn_adamax(tn_params params, double lr);

typedef struct tn_nadam_options {
    size_t struct_size;
    const char *site;
    double beta1, beta2, eps, weight_decay, momentum_decay; /* 0.9, 0.999, 1e-8, 0, 4e-3 */
    bool decoupled_weight_decay, maximize;
} tn_nadam_options;
/* tn_adam with Nesterov's momentum, mu_t = beta1 * (1 - 0.96^(t * momentum_decay) / 2)          (Dozat 2016)
 * State: as tn_adam's. */
TN_API tn_optimizer *tn_nadam_opt(tn_params params, double lr, const tn_nadam_options *options);
TN_API tn_optimizer *tn_nadam(tn_params params, double lr);

typedef struct tn_radam_options {
    size_t struct_size;
    const char *site;
    double beta1, beta2, eps, weight_decay; /* 0.9, 0.999, 1e-8, 0 */
    bool decoupled_weight_decay, maximize;
} tn_radam_options;
/* tn_adam whose first steps are plain momentum, and whose later ones are rectified          (Liu et al. 2020)
 * State: as tn_adam's. */
TN_API tn_optimizer *tn_radam_opt(tn_params params, double lr, const tn_radam_options *options);
TN_API tn_optimizer *tn_radam(tn_params params, double lr);

typedef struct tn_asgd_options {
    size_t struct_size;
    const char *site;
    double lambd, alpha, t0, weight_decay; /* 1e-4, 0.75, 1e6, 0 */
    bool maximize;
} tn_asgd_options;
/* p = (1 - lambd * eta) * p - eta * d, eta = lr / (1 + lambd * lr * (t - 1))^alpha; ax += mu * (p - ax), mu = 1 / max(1, t -
 * 1 - t0): the average of p from step t0 on (Polyak and Juditsky 1992). State: "i.step", "i.ax". */
TN_API tn_optimizer *tn_asgd_opt(tn_params params, double lr, const tn_asgd_options *options);
TN_API tn_optimizer *tn_asgd(tn_params params, double lr);

/* ---- optimisers of one's own ---- */

enum { TN_OPTIMIZER_OPTIONS = 16, TN_OPTIMIZER_STATES = 8 }; /* at most, "lr" among the options */

/* One parameter's update. */
typedef struct tn_update {
    tn_tensor *parameter, *gradient; /* the first one is to be changed in place (tn_add_) */
    tn_tensor *const *state;         /* in the order of the class's states, to be changed in place */
    const double *option;            /* its group's, in the order of the class's options */
    double lr;                       /* its group's */
    int64_t step;                    /* 1 at the first update of this parameter */
    int64_t index, group;            /* which parameter, of which group */
} tn_update;

/* How optimisers of one kind work. The library copies it, with its names. Callbacks run with recording off, on the thread
 * that steps or loads; what they make belongs to a scope that closes when they return; they do not add groups, step or free.
 * They return TN_OK, or a status with an error set, which the caller gets with the parameter named. */
typedef struct tn_optimizer_class {
    size_t struct_size;
    const char *name;                       /* "Lion" */
    tn_hyper options[TN_OPTIMIZER_OPTIONS]; /* besides "lr", with what they are unless said: {{"beta1", 0.9}} */
    const char
        *states[TN_OPTIMIZER_STATES]; /* tensors kept for each parameter: {"exp_avg"}; "step" is the library's own */
    /* What state a parameter begins with: state[0 .. n), NULL before; what stays NULL becomes zeros like the parameter, and
     * so does all of it where there is no create. Any shape, dtype and device. Called before a parameter's first update, and
     * by tn_optimizer_load_state, for the shapes. */
    tn_status (*create)(tn_optimizer *self, tn_tensor *parameter, tn_tensor **state, size_t n);
    /* Updates one parameter, or all n of a step at once: one of the two. Parameters without a gradient do not come. */
    tn_status (*step)(tn_optimizer *self, const tn_update *update);
    tn_status (*step_all)(tn_optimizer *self, const tn_update *const *updates, size_t n);
    /* Frees ctx: called once, by tn_optimizer_free. NULL: nothing to free. */
    void (*destroy)(void *ctx);
} tn_optimizer_class;

typedef struct tn_optimizer_options {
    size_t struct_size;
    const char *site;
    void *ctx;        /* the class's own: tn_optimizer_context */
    tn_hypers values; /* of the class's options */
} tn_optimizer_options;
/* One group of the parameters. On error ctx is not destroyed. State: "i.step" (int64), and "i.NAME" for each of the class's. */
TN_API tn_optimizer *tn_optimizer_new_opt(const tn_optimizer_class *cls, tn_params params, double lr,
                                          const tn_optimizer_options *options);
/* The ctx it was made with; NULL for one of the library's. */
TN_API void *tn_optimizer_context(const tn_optimizer *opt);

/* ---- groups: parameters with numbers of their own, as PyTorch's param_groups ---- */

/* One more group; numbers that are not named are those the optimiser was made with. The parameters count on from those that
 * are there. TN_EMISSING for a name that the optimiser has not, TN_EVALUE for a number out of range or a parameter that it
 * has already. tn_sgd: lr, momentum, dampening, weight_decay, nesterov, maximize (1 or 0); tn_adam and tn_adamw: lr, beta1,
 * beta2, eps, weight_decay, maximize. */
TN_API tn_status tn_optimizer_add_group_at(const char *site, tn_optimizer *opt, tn_params params,
                                           tn_hypers values) TN_MUST_USE;
TN_API tn_status tn_optimizer_add_group(tn_optimizer *opt, tn_params params, tn_hypers values) TN_MUST_USE;
/* How many there are: 1 at first; 0 for NULL. */
TN_API int64_t tn_optimizer_groups(const tn_optimizer *opt);
/* A number of a group; NaN with TN_EINDEX or TN_EMISSING set where there is no such one. */
TN_API double tn_optimizer_get_at(const char *site, const tn_optimizer *opt, int64_t group, const char *name);
TN_API double tn_optimizer_get(const tn_optimizer *opt, int64_t group, const char *name);
/* Sets it, from the next step on; group -1: in all of them. All or nothing. */
TN_API tn_status tn_optimizer_set_at(const char *site, tn_optimizer *opt, int64_t group, const char *name,
                                     double value) TN_MUST_USE;
TN_API tn_status tn_optimizer_set(tn_optimizer *opt, int64_t group, const char *name, double value) TN_MUST_USE;

/* ---- using it ---- */

/* One update of every parameter that has a gradient; the others and their state stay as they are. What state is missing
 * is made first, so that when memory is out no parameter has changed. Later steps of the library's optimisers allocate
 * nothing. Where a 'step' of one's own fails, the parameters before it have been updated. */
TN_API tn_status tn_optimizer_step_at(const char *site, tn_optimizer *opt) TN_MUST_USE;
TN_API tn_status tn_optimizer_step(tn_optimizer *opt) TN_MUST_USE;
/* Removes the parameters' gradients. */
TN_API void tn_optimizer_zero_grad(tn_optimizer *opt);
/* The learning rate (of the first group); NaN for NULL. Setting it sets that of all groups. */
TN_API double tn_optimizer_lr(const tn_optimizer *opt);
TN_API tn_status tn_optimizer_set_lr_at(const char *site, tn_optimizer *opt, double lr) TN_MUST_USE;
TN_API tn_status tn_optimizer_set_lr(tn_optimizer *opt, double lr) TN_MUST_USE;
/* Gives up its state and its references to the parameters. NULL is fine. */
TN_API void tn_optimizer_free(tn_optimizer *opt);

/* ---- state, for checkpoints: with it and the same hyperparameters a run goes on as if it had not stopped ---- */

/* Tensors named "i.what", i counting parameters from 0. Writes up to cap of them to out, returns how many there are; 0
 * with an error set when memory is out. Tensors and names belong to the optimiser; the tensors change with each step
 * ("i.step" with each call of this), and tn_optimizer_load_state replaces them. */
TN_API size_t tn_optimizer_state(tn_optimizer *opt, tn_named *out, size_t cap);
/* Replaces the state by copies of these tensors; parameters that are not named begin anew. All or nothing: an unknown or
 * missing name, another shape or a step that is no count is TN_EINVAL, with the state as before. */
TN_API tn_status tn_optimizer_load_state_at(const char *site, tn_optimizer *opt, const tn_named *state,
                                            size_t n) TN_MUST_USE;
TN_API tn_status tn_optimizer_load_state(tn_optimizer *opt, const tn_named *state, size_t n) TN_MUST_USE;

/* ---- learning rates, as functions of the step (or epoch), for tn_optimizer_set_lr ---- */

/* min + (base - min) * (1 + cos(pi * step / total)) / 2: torch's CosineAnnealingLR; stays at min from 'total' on. */
TN_API double tn_lr_cosine(double base, int64_t step, int64_t total, double min);
/* base * gamma^(step / every), a whole division: torch's StepLR. */
TN_API double tn_lr_step(double base, int64_t step, int64_t every, double gamma);

/* ---- clipping: parameters without a gradient are passed over ---- */

/* Scales all gradients by max_norm / (norm + 1e-6) if that is below 1, norm being the 2-norm of all of them together,
 * which goes to *total. NULL is fine: on a GPU nothing is waited for then, and nothing comes to the host. A norm that is NaN
 * makes every gradient NaN, as in PyTorch: look at *total. */
TN_API tn_status tn_clip_grad_norm__at(const char *site, tn_params params, double max_norm, double *total) TN_MUST_USE;
TN_API tn_status tn_clip_grad_norm_(tn_params params, double max_norm, double *total) TN_MUST_USE;
/* Limits each element of each gradient to -limit .. limit. */
TN_API tn_status tn_clip_grad_value__at(const char *site, tn_params params, double limit) TN_MUST_USE;
TN_API tn_status tn_clip_grad_value_(tn_params params, double limit) TN_MUST_USE;

#ifdef __cplusplus
}
#else
#define tn_sgd(...) TN__X_sgd(__VA_ARGS__, )
#define TN__X_sgd(params_, lr_, ...) \
    TN__OPTIONS(TN__BARE(#lr_) && TN__NAMED6(__VA_ARGS__), tn_sgd_opt, \
                "tn_sgd(params, lr, .momentum, .dampening, .weight_decay, .nesterov, .maximize)", ".momentum = 0.9") \
    (TN_PARAMS(params_), (lr_), &(tn_sgd_options){TN__SITE(tn_sgd_options), __VA_ARGS__})
#define tn_adam(...) TN__X_adam(__VA_ARGS__, )
#define TN__X_adam(params_, lr_, ...) \
    TN__OPTIONS(TN__BARE(#lr_) && TN__NAMED13(__VA_ARGS__), tn_adam_opt, \
                "tn_adam(params, lr, .beta1, .beta2, .eps, .weight_decay, .no_beta1, .no_beta2, .no_eps, " \
                ".no_weight_decay, .maximize)", \
                ".beta1 = 0.8") \
    (TN_PARAMS(params_), (lr_), &(tn_adam_options){TN__SITE(tn_adam_options), __VA_ARGS__})
#define tn_adamw(...) TN__X_adamw(__VA_ARGS__, )
#define TN__X_adamw(params_, lr_, ...) \
    TN__OPTIONS(TN__BARE(#lr_) && TN__NAMED13(__VA_ARGS__), tn_adamw_opt, \
                "tn_adamw(params, lr, .beta1, .beta2, .eps, .weight_decay, .no_beta1, .no_beta2, .no_eps, " \
                ".no_weight_decay, .maximize)", \
                ".weight_decay = 0.05") \
    (TN_PARAMS(params_), (lr_), &(tn_adam_options){TN__SITE(tn_adam_options), __VA_ARGS__})
#define tn_adagrad(...) TN__X_adagrad(__VA_ARGS__, )
#define TN__X_adagrad(params_, lr_, ...) \
    TN__OPTIONS(TN__BARE(#lr_) && TN__NAMED6(__VA_ARGS__), tn_adagrad_opt, \
                "tn_adagrad(params, lr, .lr_decay, .weight_decay, .initial_accumulator_value, .eps, " \
                ".maximize)", \
                ".lr_decay = 0.5") \
    (TN_PARAMS(params_), (lr_), &(tn_adagrad_options){TN__SITE(tn_adagrad_options), __VA_ARGS__})
#define tn_adadelta(...) TN__X_adadelta(__VA_ARGS__, )
#define TN__X_adadelta(params_, lr_, ...) \
    TN__OPTIONS(TN__BARE(#lr_) && TN__NAMED6(__VA_ARGS__), tn_adadelta_opt, \
                "tn_adadelta(params, lr, .rho, .eps, .weight_decay, .maximize)", ".rho = 0.9") \
    (TN_PARAMS(params_), (lr_), &(tn_adadelta_options){TN__SITE(tn_adadelta_options), __VA_ARGS__})
#define tn_rmsprop(...) TN__X_rmsprop(__VA_ARGS__, )
#define TN__X_rmsprop(params_, lr_, ...) \
    TN__OPTIONS(TN__BARE(#lr_) && TN__NAMED6(__VA_ARGS__), tn_rmsprop_opt, \
                "tn_rmsprop(params, lr, .alpha, .eps, .weight_decay, .momentum, .centered, .maximize)", \
                ".alpha = 0.99") \
    (TN_PARAMS(params_), (lr_), &(tn_rmsprop_options){TN__SITE(tn_rmsprop_options), __VA_ARGS__})
#define tn_rprop(...) TN__X_rprop(__VA_ARGS__, )
#define TN__X_rprop(params_, lr_, ...) \
    TN__OPTIONS(TN__BARE(#lr_) && TN__NAMED6(__VA_ARGS__), tn_rprop_opt, \
                "tn_rprop(params, lr, .etaminus, .etaplus, .step_min, .step_max, .maximize)", ".etaminus = 0.5") \
    (TN_PARAMS(params_), (lr_), &(tn_rprop_options){TN__SITE(tn_rprop_options), __VA_ARGS__})
#define tn_adamax(...) TN__X_adamax(__VA_ARGS__, )
#define TN__X_adamax(params_, lr_, ...) \
    TN__OPTIONS(TN__BARE(#lr_) && TN__NAMED6(__VA_ARGS__), tn_adamax_opt, \
                "tn_adamax(params, lr, .beta1, .beta2, .eps, .weight_decay, .maximize)", ".beta1 = 0.9") \
    (TN_PARAMS(params_), (lr_), &(tn_adamax_options){TN__SITE(tn_adamax_options), __VA_ARGS__})
#define tn_nadam(...) TN__X_nadam(__VA_ARGS__, )
#define TN__X_nadam(params_, lr_, ...) \
    TN__OPTIONS(TN__BARE(#lr_) && TN__NAMED13(__VA_ARGS__), tn_nadam_opt, \
                "tn_nadam(params, lr, .beta1, .beta2, .eps, .weight_decay, .momentum_decay, " \
                ".decoupled_weight_decay, .maximize)", \
                ".beta1 = 0.9") \
    (TN_PARAMS(params_), (lr_), &(tn_nadam_options){TN__SITE(tn_nadam_options), __VA_ARGS__})
#define tn_radam(...) TN__X_radam(__VA_ARGS__, )
#define TN__X_radam(params_, lr_, ...) \
    TN__OPTIONS(TN__BARE(#lr_) && TN__NAMED6(__VA_ARGS__), tn_radam_opt, \
                "tn_radam(params, lr, .beta1, .beta2, .eps, .weight_decay, .decoupled_weight_decay, " \
                ".maximize)", \
                ".beta1 = 0.9") \
    (TN_PARAMS(params_), (lr_), &(tn_radam_options){TN__SITE(tn_radam_options), __VA_ARGS__})
#define tn_asgd(...) TN__X_asgd(__VA_ARGS__, )
#define TN__X_asgd(params_, lr_, ...) \
    TN__OPTIONS(TN__BARE(#lr_) && TN__NAMED6(__VA_ARGS__), tn_asgd_opt, \
                "tn_asgd(params, lr, .lambd, .alpha, .t0, .weight_decay, .maximize)", ".lambd = 1e-4") \
    (TN_PARAMS(params_), (lr_), &(tn_asgd_options){TN__SITE(tn_asgd_options), __VA_ARGS__})
#define TN_HYPERS(...) \
    ((tn_hypers){(const tn_hyper[]){{NULL, 0}, __VA_ARGS__} + 1, \
                 sizeof((const tn_hyper[]){{NULL, 0}, __VA_ARGS__}) / sizeof(tn_hyper) - 1})
#define tn_optimizer_new(...) TN__X_optimizer_new(__VA_ARGS__, )
#define TN__X_optimizer_new(cls_, params_, lr_, ...) \
    TN__OPTIONS(TN__BARE(#lr_) && TN__NAMED4(__VA_ARGS__), tn_optimizer_new_opt, \
                "tn_optimizer_new(cls, params, lr, .ctx, .values)", ".ctx = NULL") \
    ((cls_), TN_PARAMS(params_), (lr_), &(tn_optimizer_options){TN__SITE(tn_optimizer_options), __VA_ARGS__})
#define tn_optimizer_add_group(o_, p_, v_)   tn_optimizer_add_group_at(TN_HERE, (o_), TN_PARAMS(p_), (v_))
#define tn_optimizer_get(o_, g_, n_)         tn_optimizer_get_at(TN_HERE, (o_), (g_), (n_))
#define tn_optimizer_set(o_, g_, n_, v_)     tn_optimizer_set_at(TN_HERE, (o_), (g_), (n_), (v_))
#define tn_optimizer_step(o_)                tn_optimizer_step_at(TN_HERE, (o_))
#define tn_optimizer_set_lr(o_, lr_)         tn_optimizer_set_lr_at(TN_HERE, (o_), (lr_))
#define tn_optimizer_load_state(o_, s_, n_)  tn_optimizer_load_state_at(TN_HERE, (o_), (s_), (n_))
#define tn_clip_grad_norm_(p_, max_, total_) tn_clip_grad_norm__at(TN_HERE, TN_PARAMS(p_), (max_), (total_))
#define tn_clip_grad_value_(p_, limit_)      tn_clip_grad_value__at(TN_HERE, TN_PARAMS(p_), (limit_))
#endif
#endif
