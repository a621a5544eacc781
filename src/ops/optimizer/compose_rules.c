/* Steps of the optimisers whose rules stand in gpu_rule_steps.h: one pass (_rule_step_) where nothing is recorded; else
 * composed of operations, so that gradients flow through them. */
#include "ops/compose.h"
#include "ops/optimizer/compose.h"
#include "ops/optimizer/infer_rules.h"
#include <math.h>

enum rule {
#define RULE(name) RULE_##name,
    OPTIMIZER_RULES(RULE) RULES
#undef RULE
};

/* What a step is about: the rule's numbers, and what becomes of the gradient before. */
typedef struct rule_step {
    enum rule rule;
    bool maximize;
    double decay, shrink, c[8];
} rule_step;

static tn_tensor *by_rule(tn_tensor *p, tn_tensor *grad, tn_tensor *a, tn_tensor *b, rule_step s)
{
    return tn__rule_step_(p, grad, a, b, s.rule, s.maximize, s.decay, s.shrink, s.c[0], s.c[1], s.c[2], s.c[3], s.c[4],
                          s.c[5], s.c[6], s.c[7]);
}

static bool recorded(void)
{
    return !tn__self()->no_grad;
}

/* state += by * (towards - state) */
static tn_tensor *moved_to(tn_tensor *state, tn_tensor *towards, double by)
{
    return towards ? tn_add_(state, tn_mul(tn_sub(towards, state), by)) : NULL;
}

tn_tensor *tn__fn_adagrad_step_(tn_tensor *p, tn_tensor *grad, tn_tensor *sum, double lr, double lr_decay, double eps,
                                double weight_decay, int64_t step, bool maximize)
{
    lr = lr / (1 + ((double)step - 1) * lr_decay);
    if (!recorded())
        return by_rule(p, grad, sum, TN_NONE, (rule_step){RULE_adagrad, maximize, weight_decay, 1, {lr, eps}});
    tn_tensor *d = tn__direction(p, grad, weight_decay, maximize);
    if (!d || !tn_add_(sum, tn_mul(d, d)))
        return NULL;
    return tn_sub_(p, tn_mul(tn_div(d, tn_add(tn_sqrt(tn__kept(sum)), eps)), lr));
}

tn_tensor *tn__fn_adadelta_step_(tn_tensor *p, tn_tensor *grad, tn_tensor *square, tn_tensor *delta, double lr,
                                 double rho, double eps, double weight_decay, bool maximize)
{
    if (!recorded())
        return by_rule(p, grad, square, delta,
                       (rule_step){RULE_adadelta, maximize, weight_decay, 1, {rho, 1 - rho, lr, eps}});
    tn_tensor *d = tn__direction(p, grad, weight_decay, maximize);
    if (!d || !tn__decayed(square, rho, tn_mul(tn_mul(d, d), 1 - rho)))
        return NULL;
    tn_tensor *u = tn_mul(tn_div(tn_sqrt(tn_add(tn__kept(delta), eps)), tn_sqrt(tn_add(tn__kept(square), eps))), d);
    return u && tn__decayed(delta, rho, tn_mul(tn_mul(u, u), 1 - rho)) ? tn_sub_(p, tn_mul(u, lr)) : NULL;
}

tn_tensor *tn__fn_rmsprop_step_(tn_tensor *p, tn_tensor *grad, tn_tensor *square, tn_tensor *mean, tn_tensor *buffer,
                                double lr, double alpha, double eps, double weight_decay, double momentum,
                                bool maximize)
{
    tn_tensor *own_mean = tn__given(mean), *own_buffer = tn__given(buffer);
    const enum rule rule = own_mean ? RULE_rmsprop_centred : own_buffer ? RULE_rmsprop_momentum : RULE_rmsprop;
    if (!recorded() && !(own_mean && own_buffer))
        return by_rule(p, grad, square, own_mean ? mean : buffer,
                       (rule_step){rule, maximize, weight_decay, 1, {alpha, 1 - alpha, lr, eps, momentum}});
    tn_tensor *d = tn__direction(p, grad, weight_decay, maximize);
    tn_tensor *spread = d ? tn__decayed(square, alpha, tn_mul(tn_mul(d, d), 1 - alpha)) : NULL;
    if (spread && own_mean) {
        if (!moved_to(mean, d, 1 - alpha))
            return NULL;
        spread = tn_sub(spread, tn_mul(mean, mean));
    }
    tn_tensor *change = spread ? tn_div(d, tn_add(tn_sqrt(spread), eps)) : NULL;
    if (change && own_buffer)
        change = tn__decayed(buffer, momentum, change);
    return change ? tn_sub_(p, tn_mul(change, lr)) : NULL;
}

tn_tensor *tn__fn_adamax_step_(tn_tensor *p, tn_tensor *grad, tn_tensor *m, tn_tensor *largest, double lr, double beta1,
                               double beta2, double eps, double weight_decay, int64_t step, bool maximize)
{
    const double rate = lr / (1 - pow(beta1, (double)step));
    if (!recorded())
        return by_rule(p, grad, m, largest,
                       (rule_step){RULE_adamax, maximize, weight_decay, 1, {beta1, 1 - beta1, beta2, rate, eps}});
    tn_tensor *d = tn__direction(p, grad, weight_decay, maximize);
    tn_tensor *norm = d ? tn_maximum(tn_mul(tn__kept(largest), beta2), tn_add(tn_abs(d), eps)) : NULL;
    if (!norm || !tn_copy_(largest, norm) || !moved_to(m, d, 1 - beta1))
        return NULL;
    return tn_sub_(p, tn_mul(tn_div(tn__kept(m), norm), rate));
}

/* m and v of Adam; false with an error set */
static bool moments(tn_tensor *m, tn_tensor *v, tn_tensor *d, double beta1, double beta2)
{
    return moved_to(m, d, 1 - beta1) && tn__decayed(v, beta2, tn_mul(tn_mul(d, d), 1 - beta2));
}

/* The gradient with its decay, which may come off the parameter instead. */
static tn_tensor *decayed_direction(tn_tensor *p, tn_tensor *grad, double lr, double weight_decay, bool decoupled,
                                    bool maximize)
{
    tn_tensor *d = tn__direction(p, grad, decoupled ? 0 : weight_decay, maximize);
    return d && decoupled && weight_decay != 0 && !tn_mul_(p, 1 - lr * weight_decay) ? NULL : d;
}

tn_tensor *tn__fn_nadam_step_(tn_tensor *p, tn_tensor *grad, tn_tensor *m, tn_tensor *v, double lr, double beta1,
                              double beta2, double eps, double weight_decay, double grad_rate, double m_rate,
                              int64_t step, bool decoupled, bool maximize)
{
    const double root = 1 / sqrt(1 - pow(beta2, (double)step));
    if (!recorded())
        return by_rule(p, grad, m, v,
                       (rule_step){RULE_nadam,
                                   maximize,
                                   decoupled ? 0 : weight_decay,
                                   decoupled ? 1 - lr * weight_decay : 1,
                                   {beta1, 1 - beta1, beta2, 1 - beta2, grad_rate, m_rate, root, eps}});
    tn_tensor *d = decayed_direction(p, grad, lr, weight_decay, decoupled, maximize);
    if (!d || !moments(m, v, d, beta1, beta2))
        return NULL;
    tn_tensor *scale = tn_add(tn_mul(tn_sqrt(tn__kept(v)), root), eps);
    return tn_sub_(p, tn_div(tn_add(tn_mul(d, grad_rate), tn_mul(tn__kept(m), m_rate)), scale));
}

/* How far RAdam's step is rectified (0: not at all, the step is plain): Liu et al. 2020, algorithm 2. */
static double rectification(double beta2, int64_t step)
{
    const double most = 2 / (1 - beta2) - 1, power = pow(beta2, (double)step);
    const double now = most - 2 * (double)step * power / (1 - power);
    return now > 5 ? sqrt((now - 4) * (now - 2) * most / ((most - 4) * (most - 2) * now)) : 0;
}

tn_tensor *tn__fn_radam_step_(tn_tensor *p, tn_tensor *grad, tn_tensor *m, tn_tensor *v, double lr, double beta1,
                              double beta2, double eps, double weight_decay, int64_t step, bool decoupled,
                              bool maximize)
{
    const double rectified = rectification(beta2, step), t = (double)step;
    const double rate = lr / (1 - pow(beta1, t)) * (rectified != 0 ? rectified * sqrt(1 - pow(beta2, t)) : 1);
    if (!recorded())
        return by_rule(p, grad, m, v,
                       (rule_step){rectified != 0 ? RULE_radam : RULE_radam_early,
                                   maximize,
                                   decoupled ? 0 : weight_decay,
                                   decoupled ? 1 - lr * weight_decay : 1,
                                   {beta1, 1 - beta1, beta2, 1 - beta2, rate, eps}});
    tn_tensor *d = decayed_direction(p, grad, lr, weight_decay, decoupled, maximize);
    if (!d || !moments(m, v, d, beta1, beta2))
        return NULL;
    tn_tensor *change = tn__kept(m);
    if (rectified != 0)
        change = tn_div(change, tn_add(tn_sqrt(tn__kept(v)), eps));
    return tn_sub_(p, tn_mul(change, rate));
}

tn_tensor *tn__fn_rprop_step_(tn_tensor *p, tn_tensor *grad, tn_tensor *previous, tn_tensor *size, double etaminus,
                              double etaplus, double smallest, double largest, bool maximize)
{
    if (!recorded())
        return by_rule(p, grad, previous, size,
                       (rule_step){RULE_rprop, maximize, 0, 1, {etaminus, etaplus, smallest, largest}});
    tn_tensor *d = tn__direction(p, grad, 0, maximize), *product = d ? tn_mul(d, tn__kept(previous)) : NULL;
    if (!product)
        return NULL;
    tn_tensor *turned = tn_lt(product, 0);
    tn_tensor *factor = tn_masked_fill(tn_ones_like(product), tn_gt(product, 0), etaplus);
    factor = tn_masked_fill(factor, turned, etaminus);
    if (!tn_copy_(size, tn__clamp(tn_mul(tn__kept(size), factor), smallest, largest)))
        return NULL;
    d = tn_masked_fill(d, turned, 0);
    return tn_copy_(previous, d) ? tn_sub_(p, tn_mul(tn_sign(d), tn__kept(size))) : NULL;
}

tn_tensor *tn__fn_asgd_step_(tn_tensor *p, tn_tensor *grad, tn_tensor *average, double eta, double lambd, double mu,
                             double weight_decay, bool maximize)
{
    if (!recorded())
        return by_rule(p, grad, average, TN_NONE,
                       (rule_step){RULE_asgd, maximize, weight_decay, 1, {1 - lambd * eta, eta, mu}});
    tn_tensor *d = tn__direction(p, grad, weight_decay, maximize);
    if (!d || !tn_mul_(p, 1 - lambd * eta) || !tn_sub_(p, tn_mul(d, eta)))
        return NULL;
    return moved_to(average, tn__kept(p), mu) ? p : NULL;
}
