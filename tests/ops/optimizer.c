/* Steps of optimisers, and clipping of gradients. */
#include "ops/family.h"

/* What is tried: every option in one way or the other. */
typedef struct rates {
    double lr, momentum, dampening, decay, beta1, beta2, eps;
    int64_t step;
    bool nesterov, first, maximize, decoupled, plain; /* plain: no buffer */
} rates;

/* The state or gradient beside p: its dtype and shape, another layout. */
static void beside(kit_array *a, const kit_array *p, kit_layout layout)
{
    random_array(a, p->dtype, p->ndim, p->shape, layout, true);
}

static bool is_clean(const kit_array *a)
{
    return kit_surroundings_intact(a);
}

/* Values are below 10, so sums of a few of them, each rounded a few times, are off by less. */
static void begin(expected *e, const kit_array *like)
{
    expected_init(e, like->dtype, like->ndim, like->shape);
    expected_tolerate(e);
    e->ulps = 1;
    for (int64_t i = 0; i < e->numel; i++)
        e->tol[i] = 400 * compute_eps(like->dtype);
}

static real sgd_one(const rates *r, real p, real g, real *b)
{
    g = (r->maximize ? -g : g) + r->decay * p;
    if (r->plain)
        return p - r->lr * g;
    *b = r->first ? g : r->momentum * *b + (1 - r->dampening) * g;
    return p - r->lr * (r->nesterov ? g + r->momentum * *b : *b);
}

static void sgd_with(kit_array *p, const rates *r, kit_layout layout)
{
    kit_array g, b;
    expected to_p, to_b;
    beside(&g, p, layout);
    beside(&b, p, layout == KIT_EXPANDED ? KIT_DENSE : layout);
    begin(&to_p, p);
    begin(&to_b, &b);
    for (int64_t i = 0; i < p->numel; i++) {
        to_b.v[i] = b.v[i];
        to_p.v[i] = sgd_one(r, p->v[i], g.v[i], &to_b.v[i]);
    }
    uint32_t version = tn_tensor_version(b.t);
    tn_tensor *got = tn_sgd_step_(p->t, g.t, r->plain ? TN_NONE : b.t, r->lr, r->momentum, r->dampening, r->decay,
                                  r->nesterov, r->first, r->maximize);
    check(&to_p, got, "sgd_step_ of %s %s %s", tn_dtype_name(p->dtype), kit_shape_text(p->ndim, p->shape),
          kit_layout_names[p->layout]);
    check(&to_b, b.t, "the buffer of sgd_step_, %s %s", tn_dtype_name(p->dtype), kit_layout_names[b.layout]);
    TRUTH(got == p->t && is_clean(p) && is_clean(&b));
    TRUTH((tn_tensor_version(b.t) > version) == !r->plain);
    expected_free(&to_p);
    expected_free(&to_b);
    kit_array_free(&g);
    kit_array_free(&b);
}

/* p as the next step finds it. */
static void again(kit_array *p)
{
    for (int64_t i = 0; i < p->numel; i++)
        p->v[i] = kit_tame_value(p->dtype);
    kit_show(p);
}

static bool has_steps(const kit_array *p)
{
    tn_tensor *g = tn_ones_like(p->t), *b = tn_ones_like(p->t);
    if (!kit_is_float(p->dtype))
        REFUSED(tn_sgd_step_(p->t, g, b, 1, 0, 0, 0, false, true, false), TN_EDTYPE, "not implemented for");
    else if (p->layout == KIT_EXPANDED && p->numel > 1)
        REFUSED(tn_adam_step_(p->t, g, b, tn_ones_like(p->t), 1, 0, 0, 1, 0, 1, false, false), TN_EINVAL,
                "refers to a single memory location");
    else
        return true;
    return false;
}

static void sgd_each(kit_array *p)
{
    static const rates ways[] = {
        {.lr = 0.5, .plain = true},
        {.lr = 0.25, .decay = 0.125, .maximize = true, .plain = true},
        {.lr = 0.5, .momentum = 0.75, .dampening = 0.5, .decay = 0.25},
        {.lr = 0.5, .momentum = 0.75, .dampening = 0.5, .first = true},
        {.lr = 0.125, .momentum = 0.5, .nesterov = true, .maximize = true},
    };
    for (size_t i = 0; i < sizeof ways / sizeof *ways && has_steps(p); i++) {
        sgd_with(p, &ways[i], (kit_layout)(i % KIT_LAYOUTS));
        again(p);
    }
}

static void run_sgd_step_(void)
{
    each_array(sgd_each, true);
    tn_scope *s = tn_scope_open();
    tn_tensor *p = MADE(tn_ones(TN_SHAPE(3))), *g = MADE(tn_ones(TN_SHAPE(3))), *x;
    REFUSED(tn_sgd_step_(p, tn_ones(TN_SHAPE(2)), TN_NONE, 1, 0, 0, 0, false, true, false), TN_EINVAL,
            "differ in shape");
    REFUSED(tn_sgd_step_(p, g, tn_ones(TN_SHAPE(3, 1)), 1, 0, 0, 0, false, true, false), TN_EINVAL, "differ in shape");
    REFUSED(tn_sgd_step_(p, g, tn_ones(TN_SHAPE(3), .dtype = TN_I64), 1, 0, 0, 0, false, true, false), TN_EDTYPE,
            "not implemented for 'Long'");
    REFUSED(tn_sgd_step_(p, g, tn_expand(tn_ones(TN_SHAPE(1)), TN_SHAPE(3)), 1, 0, 0, 0, false, true, false), TN_EINVAL,
            "the state float32 [3]");
    REFUSED(tn_sgd_step_(p, TN_NONE, TN_NONE, 1, 0, 0, 0, false, true, false), TN_ETYPE, "must be a tensor");
    REFUSED(tn_sgd_step_(MADE(tn_requires_grad_(p, true)), g, TN_NONE, 1, 0, 0, 0, false, true, false), TN_EGRAD,
            "a leaf Variable that requires grad is being used in an in-place operation.");
    x = MADE(tn_mul(p, 1));
    REFUSED(tn_sgd_step_(x, g, TN_NONE, 1, 0, 0, 0, false, true, false), TN_EGRAD, "sgd_step_");
    bool was = tn_set_grad_enabled(false);
    TRUTH(tn_sgd_step_(p, g, TN_NONE, 0.5, 0, 0, 0, false, true, false) == p && kit_item(p, 0) == 0.5);
    tn_set_grad_enabled(was);
    tn_scope_close(s);
}

static real adam_one(const rates *r, real p, real g, real *m, real *v)
{
    g = r->maximize ? -g : g;
    if (r->decoupled)
        p -= r->lr * r->decay * p;
    else
        g += r->decay * p;
    *m = r->beta1 * *m + (1 - r->beta1) * g;
    *v = r->beta2 * *v + (1 - r->beta2) * g * g;
    real step = r->lr / (1 - powl(r->beta1, r->step));
    return p - step * *m / (sqrtl(*v / (1 - powl(r->beta2, r->step))) + r->eps);
}

static void adam_with(kit_array *p, const rates *r, kit_layout layout)
{
    kit_array g, m, v;
    expected to_p, to_m, to_v;
    beside(&g, p, layout);
    beside(&m, p, layout);
    kit_array_init(&v, p->dtype, p->ndim, p->shape, KIT_DENSE);
    for (int64_t i = 0; i < v.numel; i++)
        v.v[i] = kit_round(1 + fabsl(kit_tame_value(p->dtype)), p->dtype);
    kit_show(&v);
    begin(&to_p, p);
    begin(&to_m, &m);
    begin(&to_v, &v);
    for (int64_t i = 0; i < p->numel; i++) {
        to_m.v[i] = m.v[i];
        to_v.v[i] = v.v[i];
        to_p.v[i] = adam_one(r, p->v[i], g.v[i], &to_m.v[i], &to_v.v[i]);
    }
    tn_tensor *got = tn_adam_step_(p->t, g.t, m.t, v.t, r->lr, r->beta1, r->beta2, r->eps, r->decay, r->step,
                                   r->decoupled, r->maximize);
    check(&to_p, got, "adam_step_ of %s %s %s", tn_dtype_name(p->dtype), kit_shape_text(p->ndim, p->shape),
          kit_layout_names[p->layout]);
    check(&to_m, m.t, "m of adam_step_, %s %s", tn_dtype_name(p->dtype), kit_layout_names[m.layout]);
    check(&to_v, v.t, "v of adam_step_, %s", tn_dtype_name(p->dtype));
    TRUTH(got == p->t && is_clean(p) && is_clean(&m) && is_clean(&v));
    expected_free(&to_p);
    expected_free(&to_m);
    expected_free(&to_v);
    kit_array_free(&g);
    kit_array_free(&m);
    kit_array_free(&v);
}

static void adam_each(kit_array *p)
{
    static const rates ways[] = {
        {.lr = 0.5, .beta1 = 0.75, .beta2 = 0.5, .eps = 0.125, .step = 1},
        {.lr = 0.25, .beta1 = 0.5, .beta2 = 0.75, .eps = 0.25, .decay = 0.125, .step = 3, .maximize = true},
        {.lr = 0.5, .beta1 = 0.75, .beta2 = 0.875, .eps = 0.125, .decay = 0.25, .step = 2, .decoupled = true},
    };
    for (size_t i = 0; i < sizeof ways / sizeof *ways && has_steps(p); i++) {
        adam_with(p, &ways[i], (kit_layout)(2 * i % KIT_EXPANDED));
        again(p);
    }
}

static void run_adam_step_(void)
{
    each_array(adam_each, true);
    tn_scope *s = tn_scope_open();
    tn_tensor *p = MADE(tn_ones(TN_SHAPE(3))), *m = MADE(tn_zeros(TN_SHAPE(3))), *v = MADE(tn_zeros(TN_SHAPE(3)));
    REFUSED(tn_adam_step_(p, p, m, v, 1, 0, 0, 1, 0, 0, false, false), TN_EVALUE, "counted from 1");
    REFUSED(tn_adam_step_(p, m, m, TN_NONE, 1, 0, 0, 1, 0, 1, false, false), TN_ETYPE, "must be a tensor");
    REFUSED(tn_adam_step_(p, m, m, tn_zeros(TN_SHAPE(3), .dtype = TN_BOOL), 1, 0, 0, 1, 0, 1, false, false), TN_EDTYPE,
            "not implemented for 'Bool'");
    tn_scope_close(s);
}

/* ---- steps that are composed, and clipping: worked out by hand ---- */

static tn_tensor *pair(double a, double b)
{
    tn_tensor *t = tn_zeros(TN_SHAPE(2), .dtype = TN_F64);
    (void)tn_fill_(tn_select(t, 0, 0), a);
    (void)tn_fill_(tn_select(t, 0, 1), b);
    return t;
}

static void run_composed(void)
{
    tn_scope *s = tn_scope_open();
    tn_tensor *g = pair(2, -4), *state = pair(0, 0), *more = pair(0, 0), *p = pair(1, 1);
    HOLDS(tn_adagrad_step_(p, g, state, 0.5, 3, 0, 0, 1, false), TN_SHAPE(2), 0.5, 1.5);
    HOLDS(state, TN_SHAPE(2), 4, 16);
    HOLDS(tn_adagrad_step_(p, pair(0, 0), state, 0.5, 0, 0, 4, 7, true), TN_SHAPE(2), 0.5 - 0.5 * (2 / sqrt(8)),
          1.5 - 0.5 * (6 / sqrt(52)));
    p = pair(1, 1), state = pair(0, 0); /* lr / (1 + 2 * 1.5) */
    HOLDS(tn_adagrad_step_(p, g, state, 2, 1.5, 0, 0, 3, false), TN_SHAPE(2), 0.5, 1.5);
    p = pair(1, 1), state = pair(0, 0);
    HOLDS(tn_rmsprop_step_(p, g, state, TN_NONE, more, 0.25, 0.75, 0, 0, 0.5, false), TN_SHAPE(2), 0.5, 1.5);
    HOLDS(more, TN_SHAPE(2), 2, -2);
    p = pair(1, 1), state = pair(0, 0), more = pair(0, 0); /* the average is 1, -2; its square leaves 1, 4 of 2, 8 */
    HOLDS(tn_rmsprop_step_(p, g, state, more, TN_NONE, 0.5, 0.5, 0, 0, 0, false), TN_SHAPE(2), 0, 2);
    p = pair(1, 1), state = pair(0, 0);
    HOLDS(tn_sgd_update_(p, g, state, 0.5, 0.5, 0, 0, false, true, false), TN_SHAPE(2), 0, 3);
    HOLDS(tn_sgd_update_(p, g, state, 0.5, 0.5, 0.5, 0, true, false, false), TN_SHAPE(2), -1.5, 6);
    HOLDS(state, TN_SHAPE(2), 2, -4);
    p = pair(1, 1), state = pair(0, 0), more = pair(0, 0);
    tn_tensor *largest = pair(64, 0);
    HOLDS(tn_adam_update_(p, g, state, more, largest, 0.5, 0.5, 0.75, 0, 0, 1, false, false), TN_SHAPE(2),
          1 - 0.5 * (1 / 8.0 * 0.5 / 0.5), 1.5);
    HOLDS(largest, TN_SHAPE(2), 64, 4);
    /* a bad gradient leaves parameter and state as they are */
    p = pair(1, 2), state = pair(3, 4), more = pair(5, 6);
    REFUSED(tn_adam_update_(p, TN_NONE, state, more, TN_NONE, 0.5, 0.5, 0.75, 0, 0.1, 1, true, false), TN_ETYPE,
            "TN_NONE");
    HOLDS(p, TN_SHAPE(2), 1, 2);
    HOLDS(state, TN_SHAPE(2), 3, 4);
    HOLDS(more, TN_SHAPE(2), 5, 6);
    REFUSED(tn_adagrad_step_(p, TN_NONE, state, 1, 0, 0, 0, 1, false), TN_ETYPE, "TN_NONE");
    tn_scope_close(s);
}

/* The rules, one pass and recorded: the same p and state. Where no test of Python's has it: numbers worked out by hand. */
typedef tn_tensor *rule_call(tn_tensor *p, tn_tensor *g, tn_tensor *a, tn_tensor *b);

static tn_tensor *call_adagrad(tn_tensor *p, tn_tensor *g, tn_tensor *a, tn_tensor *b)
{
    (void)b;
    return tn_adagrad_step_(p, g, a, 0.5, 0.25, 0.125, 0.25, 3, true);
}

static tn_tensor *call_adadelta(tn_tensor *p, tn_tensor *g, tn_tensor *a, tn_tensor *b)
{
    return tn_adadelta_step_(p, g, a, b, 0.5, 0.75, 0.25, 0.125, false);
}

static tn_tensor *call_rmsprop(tn_tensor *p, tn_tensor *g, tn_tensor *a, tn_tensor *b)
{
    (void)b;
    return tn_rmsprop_step_(p, g, a, TN_NONE, TN_NONE, 0.5, 0.75, 0.25, 0.125, 0, false);
}

static tn_tensor *call_rmsprop_centred(tn_tensor *p, tn_tensor *g, tn_tensor *a, tn_tensor *b)
{
    return tn_rmsprop_step_(p, g, a, tn_mul_(b, 0.125), TN_NONE, 0.5, 0.75, 0.25, 0.125, 0, true);
}

static tn_tensor *call_rmsprop_momentum(tn_tensor *p, tn_tensor *g, tn_tensor *a, tn_tensor *b)
{
    return tn_rmsprop_step_(p, g, a, TN_NONE, b, 0.5, 0.75, 0.25, 0.125, 0.5, true);
}

static tn_tensor *call_adamax(tn_tensor *p, tn_tensor *g, tn_tensor *a, tn_tensor *b)
{
    return tn_adamax_step_(p, g, a, b, 0.5, 0.75, 0.5, 0.25, 0.125, 3, false);
}

static tn_tensor *call_nadam(tn_tensor *p, tn_tensor *g, tn_tensor *a, tn_tensor *b)
{
    return tn_nadam_step_(p, g, a, b, 0.5, 0.75, 0.5, 0.25, 0.125, 0.25, 0.5, 2, true, false);
}

static tn_tensor *call_radam(tn_tensor *p, tn_tensor *g, tn_tensor *a, tn_tensor *b)
{
    return tn_radam_step_(p, g, a, b, 0.5, 0.75, 0.9375, 0.25, 0.125, 12, false, false);
}

static tn_tensor *call_radam_early(tn_tensor *p, tn_tensor *g, tn_tensor *a, tn_tensor *b)
{
    return tn_radam_step_(p, g, a, b, 0.5, 0.75, 0.9375, 0.25, 0.125, 1, true, true);
}

static tn_tensor *call_rprop(tn_tensor *p, tn_tensor *g, tn_tensor *a, tn_tensor *b)
{
    return tn_rprop_step_(p, g, a, b, 0.5, 1.25, 0.5, 2, false);
}

static tn_tensor *call_asgd(tn_tensor *p, tn_tensor *g, tn_tensor *a, tn_tensor *b)
{
    (void)b;
    return tn_asgd_step_(p, g, a, 0.25, 0.5, 0.125, 0.25, true);
}

static rule_call *const rule_calls[] = {call_adagrad,          call_adadelta, call_rmsprop, call_rmsprop_centred,
                                        call_rmsprop_momentum, call_adamax,   call_nadam,   call_radam,
                                        call_radam_early,      call_rprop,    call_asgd};

/* Fused, of what lies in this layout, beside the composition of dense tensors. */
static void rules_each(kit_array *p)
{
    for (size_t i = 0; i < sizeof rule_calls / sizeof *rule_calls && has_steps(p); i++) {
        const kit_layout layout = (kit_layout)(i % KIT_EXPANDED);
        kit_array g, a, b;
        beside(&g, p, layout);
        beside(&a, p, layout);
        beside(&b, p, KIT_DENSE);
        for (int64_t k = 0; k < b.numel; k++) {
            a.v[k] = i == 9 ? a.v[k] : kit_round(1 + fabsl(a.v[k]), p->dtype);
            b.v[k] = kit_round(1 + fabsl(b.v[k]), p->dtype);
        }
        kit_show(&a);
        kit_show(&b);
        tn_tensor *wide[4] = {tn_to(p->t, .dtype = TN_F64, .copy = true), tn_to(g.t, .dtype = TN_F64, .copy = true),
                              tn_to(a.t, .dtype = TN_F64, .copy = true), tn_to(b.t, .dtype = TN_F64, .copy = true)};
        const bool was = tn_set_grad_enabled(true);
        TRUTH(rule_calls[i](wide[0], wide[1], wide[2], wide[3]) == wide[0]);
        tn_set_grad_enabled(false);
        TRUTH(rule_calls[i](p->t, g.t, a.t, b.t) == p->t);
        tn_set_grad_enabled(was);
        kit_array *const got[] = {p, &a, &b};
        for (int k = 0; k < 3; k++) {
            expected e;
            tn_tensor *want = tn_cpu(wide[k ? k + 1 : 0]);
            begin(&e, got[k]);
            for (int64_t n = 0; n < e.numel; n++)
                e.v[n] = kit_item(want, n);
            check(&e, got[k]->t, "rule %d, operand %d, of %s %s %s", (int)i, k, tn_dtype_name(p->dtype),
                  kit_shape_text(p->ndim, p->shape), kit_layout_names[p->layout]);
            TRUTH(is_clean(got[k]));
            expected_free(&e);
        }
        kit_array_free(&g);
        kit_array_free(&a);
        kit_array_free(&b);
        again(p);
    }
}

static void run_rules(void)
{
    each_array(rules_each, true);
    tn_scope *s = tn_scope_open();
    const bool was = tn_set_grad_enabled(false);
    tn_tensor *p = pair(1, 1), *a = pair(0, 0), *b = pair(0, 0);
    HOLDS(tn_adamax_step_(p, pair(2, -4), a, b, 0.5, 0.5, 0.5, 0, 0, 1, false), TN_SHAPE(2), 0.5, 1.5);
    HOLDS(b, TN_SHAPE(2), 2, 4);
    p = pair(1, 1), a = pair(1, -1), b = pair(0.5, 0.5);
    HOLDS(tn_rprop_step_(p, pair(2, 4), a, b, 0.5, 2, 0.125, 50, false), TN_SHAPE(2), 0, 1);
    HOLDS(a, TN_SHAPE(2), 2, 0);
    HOLDS(b, TN_SHAPE(2), 1, 0.25);
    p = pair(1, 1), a = pair(0, 0);
    HOLDS(tn_asgd_step_(p, pair(2, -4), a, 0.25, 1, 0.5, 0, false), TN_SHAPE(2), 0.25, 1.75);
    HOLDS(a, TN_SHAPE(2), 0.125, 0.875);
    p = pair(1, 1), a = pair(0, 0), b = pair(0, 0);
    HOLDS(tn_adadelta_step_(p, pair(2, -4), a, b, 1, 0.75, 3, 0, false), TN_SHAPE(2), 1 - sqrt(3 / 4.0) * 2,
          1 + sqrt(3 / 7.0) * 4);
    REFUSED(tn_adadelta_step_(p, pair(1, 1), a, tn_zeros(TN_SHAPE(3)), 1, 0.75, 3, 0, false), TN_EINVAL,
            "differ in shape");
    tn_set_grad_enabled(was);
    tn_scope_close(s);
}

static void run_clipping(void)
{
    tn_scope *s = tn_scope_open();
    tn_tensor *a = pair(3, 0), *b = pair(0, -4), *total = tn_total_norm(TN_TENSORS(a, b));
    HOLDS(total, TN_SHAPE(), 5);
    HOLDS(tn_total_norm(TN_TENSORS(a, b), .norm_type = TN_SCALAR(INFINITY)), TN_SHAPE(), 4);
    HOLDS(tn_total_norm(TN_TENSORS(a, b), .norm_type = TN_SCALAR(1)), TN_SHAPE(), 7);
    HOLDS(tn_total_norm(TN_TENSORS(a, b), .norm_type = TN_SCALAR(0)), TN_SHAPE(), 2);
    HOLDS(tn_total_norm(((tn_tensors){NULL, 0})), TN_SHAPE(), 0);
    TRUTH(tn_clip_to_norm(TN_TENSORS(a, b), 10, total) && kit_item(a, 0) == 3);
    TRUTH(tn_clip_to_norm(TN_TENSORS(a, b), 2.5 + 0.5e-6, total) && kit_item(a, 0) == 1.5 && kit_item(b, 1) == -2);
    TRUTH(tn_clip_values(TN_TENSORS(a, b), 1) && kit_item(a, 0) == 1 && kit_item(b, 1) == -1);
    REFUSED(tn_total_norm(TN_TENSORS(a, TN_NONE)), TN_ETYPE, "TN_NONE");
    tn_scope_close(s);
}

static const structural_case cases[] = {
    {"sgd_step_", run_sgd_step_},    {"adam_step_", run_adam_step_},
    {"sgd_update_", run_composed},   {"adam_update_", run_composed},
    {"adagrad_step_", run_composed}, {"rmsprop_step_", run_composed},

    {"adadelta_step_", run_rules},   {"adamax_step_", run_rules},
    {"nadam_step_", run_rules},      {"radam_step_", run_rules},
    {"rprop_step_", run_rules},      {"asgd_step_", run_rules},
    {"total_norm", run_clipping},    {"clip_to_norm", run_clipping},
    {"clip_values", run_clipping},   {NULL, NULL},
};

const family_tests optimizer_tests = {cases, NULL, NULL};
