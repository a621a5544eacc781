/* ops/optimizer/cpu_loops.inc.h: optimiser updates, one pass over parameter, gradient and state. The formulas are those of
 * torch.optim's SGD, Adam and AdamW documentation; hyperparameters are called as the rows name them. */
#define LOOPS_optimizer \
    { \
        .sgd = TWO(sgd), .adam = TWO(adam), .rule = TWO(rule) \
    }

#include "ops/optimizer/infer_rules.h"

#if TN_IS_FLOAT

/* first: the buffer is not set yet. */
static void E(sgd)(void *p_, const void *g_, void *buffer_, int64_t n, const tn__sgd_params *a)
{
    T *p = p_, *buffer = buffer_;
    const T *g = g_;
    const T lr = (T)a->lr, momentum = (T)a->momentum, keep = (T)(1 - a->dampening), decay = (T)a->weight_decay,
            sign = a->maximize ? K(-1) : K(1);
    if (!buffer) {
        for (int64_t i = 0; i < n; i++)
            p[i] -= lr * (sign * g[i] + decay * p[i]);
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        T d = sign * g[i] + decay * p[i];
        T b = a->first ? d : momentum * buffer[i] + keep * d;
        buffer[i] = b;
        p[i] -= lr * (a->nesterov ? d + momentum * b : b);
    }
}

/* step: this one's number, from 1; decoupled: AdamW's decay. */
static void E(adam)(void *p_, const void *g_, void *m_, void *v_, int64_t n, const tn__adam_params *a)
{
    T *p = p_, *m = m_, *v = v_;
    const T *g = g_;
    const double correct1 = 1 - pow(a->beta1, (double)a->step), correct2 = 1 - pow(a->beta2, (double)a->step);
    const T rate = (T)(a->lr / correct1), root = (T)(1 / sqrt(correct2)), eps = (T)a->eps;
    const T b1 = (T)a->beta1, c1 = (T)(1 - a->beta1), b2 = (T)a->beta2, c2 = (T)(1 - a->beta2);
    const T shrink = (T)(a->decoupled ? 1 - a->lr * a->weight_decay : 1),
            decay = (T)(a->decoupled ? 0 : a->weight_decay);
    const T sign = a->maximize ? K(-1) : K(1);
    for (int64_t i = 0; i < n; i++) {
        T w = p[i] * shrink, d = sign * g[i] + decay * w;
        T mi = b1 * m[i] + c1 * d, vi = b2 * v[i] + c2 * (d * d);
        m[i] = mi;
        v[i] = vi;
        p[i] = w - rate * mi / (M(sqrt)(vi) * root + eps);
    }
}

/* ---- rules ---- */

typedef struct E(rule_numbers) {
    T c[8];
} E(rule_numbers);

#define STEP(name) static inline T E(step_##name)(T w, T g, T * a, T * b, E(rule_numbers) n)
#ifdef __GNUC__
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter" /* b, of rules with one state */
#endif
#include "ops/optimizer/gpu_rule_steps.h"
#ifdef __GNUC__
#pragma GCC diagnostic pop
#endif
#undef STEP

#define RULE(name) \
    static void E(all_##name)(T * p, const T *g, T *a, T *b, int64_t count, E(rule_numbers) n, T sign, T decay, \
                              T shrink) \
    { \
        for (int64_t i = 0; i < count; i++) { \
            T w = p[i] * shrink, first = a[i], second = b[i]; \
            p[i] = E(step_##name)(w, sign * g[i] + decay * w, &first, &second, n); \
            a[i] = first; \
            b[i] = second; \
        } \
    }
OPTIMIZER_RULES(RULE)
#undef RULE

static void E(rule)(void *p, const void *g, void *first, void *second, int64_t count, const tn__rule_params *r)
{
    typedef void loop(T *, const T *, T *, T *, int64_t, E(rule_numbers), T, T, T);
    static loop *const loops[] = {
#define RULE(name) E(all_##name),
        OPTIMIZER_RULES(RULE)
#undef RULE
    };
    const E(rule_numbers) n = {{(T)r->c0, (T)r->c1, (T)r->c2, (T)r->c3, (T)r->c4, (T)r->c5, (T)r->c6, (T)r->c7}};
    loops[r->rule](p, g, first, second, count, n, r->maximize ? K(-1) : K(1), (T)r->decay, (T)r->shrink);
}

#endif
