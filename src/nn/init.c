/* Initial values: torch.nn.init. Written in place with recording off. */
#include "core/rng.h"
#include "nn/module.h"
#include <math.h>

/* The result of an in-place call made with recording off. */
static tn_tensor *quietly(bool was, tn_tensor *result)
{
    tn__set_no_grad(was);
    return result;
}

tn_tensor *tn_init_uniform__at(const char *site, tn_tensor *t, double from, double to)
{
    tn__enter(site);
    bool was = tn__set_no_grad(true);
    return quietly(was, tn_uniform_(t, from, to));
}

tn_tensor *tn_init_normal__at(const char *site, tn_tensor *t, double mean, double std)
{
    tn__enter(site);
    bool was = tn__set_no_grad(true);
    return quietly(was, tn_normal_(t, mean, std));
}

tn_tensor *tn_init_constant__at(const char *site, tn_tensor *t, tn_scalar value)
{
    tn__enter(site);
    bool was = tn__set_no_grad(true);
    return quietly(was, tn_fill_(t, value));
}

tn_tensor *(tn_init_uniform_)(tn_tensor *t, double from, double to)
{
    return tn_init_uniform__at(TN__NOWHERE, t, from, to);
}

tn_tensor *(tn_init_normal_)(tn_tensor *t, double mean, double std)
{
    return tn_init_normal__at(TN__NOWHERE, t, mean, std);
}

tn_tensor *(tn_init_constant_)(tn_tensor *t, double value)
{
    return tn_init_constant__at(TN__NOWHERE, t, tn_scalar_f(value));
}

tn_tensor *tn_init_zeros_(tn_tensor *t)
{
    return (tn_init_constant_)(t, 0);
}

tn_tensor *tn_init_ones_(tn_tensor *t)
{
    return (tn_init_constant_)(t, 1);
}

static tn_tensor *eye(tn__thread *self, tn_tensor *t)
{
    tn_scope scope;
    if (!tn__usable("tn_init_eye_", t))
        return NULL;
    if (t->ndim != 2)
        return tn__fail(TN_EVALUE, "Only tensors with 2 dimensions are supported");
    tn__scope_push(self, &scope);
    tn_tensor *one = tn_eye(t->shape[0], t->shape[1], .dtype = t->dtype, .device = t->device);
    const bool done = one && tn_copy_(t, one);
    tn__scope_pop(self, &scope, NULL);
    return done ? t : NULL;
}

tn_tensor *tn_init_eye_(tn_tensor *t)
{
    tn__thread *self = tn__enter(TN__NOWHERE);
    bool was = tn__set_no_grad(true);
    return quietly(was, eye(self, t));
}

/* ---- normal within bounds ---- */

/* Draws again where t lies beyond: 1 where all of it was inside, 0 where some was not, -1 with an error. */
static int drawn_again(tn__thread *self, tn_tensor *t, const double bound[2],
                       tn_tensor *(*draw)(tn_tensor *, double, double), double x, double y)
{
    tn_scope scope;
    tn__scope_push(self, &scope);
    tn_tensor *outside = tn_logical_or(tn_lt(t, bound[0]), tn_gt(t, bound[1])), *any = tn_any(outside);
    const double found = any ? tn_item(any) : (double)NAN;
    int inside = isnan(found) ? -1 : found == 0;
    if (inside == 0) {
        tn_tensor *again = draw(tn_empty_like(t), x, y);
        if (!tn_copy_(t, tn_where(outside, tn_scalar_t(again), tn_scalar_t(t))))
            inside = -1;
    }
    tn__scope_pop(self, &scope, NULL);
    return inside;
}

static tn_tensor *draw_normal(tn_tensor *t, double mean, double std)
{
    return tn_normal_(t, mean, std);
}

static tn_tensor *draw_uniform(tn_tensor *t, double from, double to)
{
    return tn_uniform_(t, from, to);
}

/* Is a candidate not taken? It is with the density's ratio to that of the likeliest value, whose logarithm is peak. */
static tn_tensor *refused(tn_tensor *candidates, double mean, double std, double peak)
{
    tn_tensor *z = tn_div(tn_sub(candidates, mean), std);
    tn_tensor *log_ratio = tn_sub(tn_mul(tn_mul(z, z), -0.5), peak);
    return tn_gt(tn_log(tn_uniform_(tn_empty_like(candidates), 0, 1)), log_ratio);
}

/* One round for what is still pending, which it says anew: 1 where nothing is, 0 where some is, -1 with an error. */
static int candidates_taken(tn__thread *self, tn_tensor *t, tn_tensor *pending, const double bound[2],
                            const double law[3], bool first)
{
    tn_scope scope;
    tn__scope_push(self, &scope);
    tn_tensor *made = tn_uniform_(tn_empty_like(t), bound[0], bound[1]), *any = NULL;
    tn_tensor *taken = made && !first ? tn_where(pending, tn_scalar_t(made), tn_scalar_t(t)) : made;
    tn_tensor *again = made ? refused(made, law[0], law[1], law[2]) : NULL;
    if (again && !first)
        again = tn_logical_and(pending, again);
    if (again && tn_copy_(t, taken) && tn_copy_(pending, again))
        any = tn_any(pending);
    const double found = any ? tn_item(any) : (double)NAN;
    tn__scope_pop(self, &scope, NULL);
    return isnan(found) ? -1 : found == 0;
}

/* As PyTorch where most normal numbers would lie outside: uniform candidates. A round more or less moves all numbers that are
 * drawn after it, so there are as many as it takes, to an end that only bounds far out come to; -1, 0 or 1 as above. */
static int by_candidates(tn__thread *self, tn_tensor *t, double mean, double std, const double bound[2], double near)
{
    tn_tensor *pending = tn_empty_like(t, .dtype = TN_BOOL);
    const double z = (near - mean) / std, law[3] = {mean, std, -0.5 * z * z};
    int done = pending ? 0 : -1;
    for (int i = 0; i < 4096 && !done; i++)
        done = candidates_taken(self, t, pending, bound, law, i == 0);
    if (!done) { /* the part nearest the mean, for those that are left */
        tn_tensor *last = tn_uniform_(tn_empty_like(t), fmax(bound[0], near - std), fmin(bound[1], near + std));
        done = last && tn_copy_(t, tn_where(pending, tn_scalar_t(last), tn_scalar_t(t))) ? 1 : -1;
    }
    return done;
}

static double normal_below(double z)
{
    return (1 + erf(z / sqrt(2))) / 2;
}

static tn_tensor *trunc_normal(tn__thread *self, tn_tensor *t, double mean, double std, const double bound[2])
{
    const double near = fmin(fmax(mean, bound[0]), bound[1]); /* the likeliest value that is allowed */
    int inside = 0;
    if (!(bound[0] < bound[1]) || std <= 0)
        return tn_fill_(t, near);
    if (tn__rng_is_mt(t->device) &&
        !(normal_below((bound[1] - mean) / std) - normal_below((bound[0] - mean) / std) > 0.3)) {
        tn_scope scope;
        tn__scope_push(self, &scope);
        inside = by_candidates(self, t, mean, std, bound, near);
        tn__scope_pop(self, &scope, NULL);
        return inside < 0 ? NULL : t;
    }
    if (!tn_normal_(t, mean, std))
        return NULL;
    for (int i = 0; i < 64 && !inside; i++)
        inside = drawn_again(self, t, bound, draw_normal, mean, std);
    /* bounds so far out that next to nothing falls between them: spread over the part nearest the mean */
    if (!inside)
        inside = drawn_again(self, t, bound, draw_uniform, fmax(bound[0], near - std), fmin(bound[1], near + std));
    return inside < 0 ? NULL : t;
}

tn_tensor *tn_init_trunc_normal__at(const char *site, tn_tensor *t, double mean, double std, double low, double high)
{
    tn__thread *self = tn__enter(site);
    bool was = tn__set_no_grad(true);
    return quietly(was, trunc_normal(self, t, mean, std, (const double[]){low, high}));
}

tn_tensor *(tn_init_trunc_normal_)(tn_tensor *t, double mean, double std, double low, double high)
{
    return tn_init_trunc_normal__at(TN__NOWHERE, t, mean, std, low, high);
}

/* ---- by fan ---- */

static double gain_of(int32_t nonlinearity, double a)
{
    switch (nonlinearity) {
    case TN_GAIN_LEAKY_RELU: return sqrt(2 / (1 + a * a));
    case TN_GAIN_LINEAR:
    case TN_GAIN_SIGMOID: return 1;
    case TN_GAIN_TANH: return 5.0 / 3;
    case TN_GAIN_RELU: return sqrt(2);
    case TN_GAIN_SELU: return 0.75;
    default:
        tn__error(TN_EVALUE, "Unsupported nonlinearity %d: TN_GAIN_LEAKY_RELU ... TN_GAIN_SELU", (int)nonlinearity);
        return (double)NAN;
    }
}

double tn_init_gain(int32_t nonlinearity, double a)
{
    tn__enter(TN__NOWHERE);
    return gain_of(nonlinearity, a);
}

/* What goes into and out of an element of t; false with an error set. */
static bool fans_of(const char *what, const tn_tensor *t, double *fan_in, double *fan_out)
{
    double rest = 1;
    if (!t) {
        tn__poisoned(what);
        return false;
    }
    if (t == TN_NONE || t->ndim < 2) {
        tn__error(TN_EVALUE,
                  "Fan in and fan out can not be computed for tensor with fewer than 2 dimensions\n  in %s(%s)", what,
                  tn__tensor_str(t).s);
        return false;
    }
    for (int32_t i = 2; i < t->ndim; i++)
        rest *= (double)t->shape[i];
    *fan_in = (double)t->shape[1] * rest;
    *fan_out = (double)t->shape[0] * rest;
    return true;
}

bool tn_init_fans(const tn_tensor *t, double *fan_in, double *fan_out)
{
    tn__enter(TN__NOWHERE);
    return fans_of("tn_init_fans", t, fan_in, fan_out);
}

static double xavier_std(const char *what, const tn_tensor *t, double gain)
{
    double in, out;
    return fans_of(what, t, &in, &out) ? gain * sqrt(2 / (in + out)) : (double)NAN;
}

static double kaiming_std(const char *what, const tn_tensor *t, double gain, bool fan_out)
{
    double in, out;
    return fans_of(what, t, &in, &out) ? gain / sqrt(fan_out ? out : in) : (double)NAN;
}

double tn_init_xavier_std(const tn_tensor *t, double gain)
{
    tn__enter(TN__NOWHERE);
    return xavier_std("tn_init_xavier_std", t, gain);
}

double tn_init_kaiming_std(const tn_tensor *t, double gain, bool fan_out)
{
    tn__enter(TN__NOWHERE);
    return kaiming_std("tn_init_kaiming_std", t, gain, fan_out);
}

/* The uniform distribution with that deviation reaches so far. */
static double bound_of(double std)
{
    return sqrt(3) * std;
}

double tn_init_xavier_bound(const tn_tensor *t, double gain)
{
    tn__enter(TN__NOWHERE);
    return bound_of(xavier_std("tn_init_xavier_bound", t, gain));
}

double tn_init_kaiming_bound(const tn_tensor *t, double gain, bool fan_out)
{
    tn__enter(TN__NOWHERE);
    return bound_of(kaiming_std("tn_init_kaiming_bound", t, gain, fan_out));
}

static tn_tensor *fill(tn_tensor *t, double std, bool normal)
{
    if (isnan(std))
        return NULL;
    if (t->numel == 0)
        return t;
    const double bound = bound_of(std);
    return normal ? tn_init_normal_(t, 0, std) : tn_init_uniform_(t, -bound, bound);
}

static tn_tensor *xavier(const char *what, tn_tensor *t, const tn_init_options *options, bool normal)
{
    tn_init_options o;
    tn__options_in(&o, sizeof o, options);
    tn__enter(o.site);
    if (isnan(o.gain))
        return tn__fail(TN_EVALUE, "%s: the gain is NaN", what);
    return fill(t, xavier_std(what, t, o.gain != 0 ? o.gain : 1), normal);
}

static tn_tensor *kaiming(const char *what, tn_tensor *t, const tn_init_options *options, bool normal)
{
    tn_init_options o;
    double in, out;
    tn__options_in(&o, sizeof o, options);
    tn__enter(o.site);
    if (!fans_of(what, t, &in, &out))
        return NULL;
    if (isnan(o.a))
        return tn__fail(TN_EVALUE, "%s: the slope a is NaN", what);
    return fill(t, kaiming_std(what, t, gain_of(o.nonlinearity, o.a), o.fan_out), normal);
}

tn_tensor *tn_init_xavier_uniform__opt(tn_tensor *t, const tn_init_options *options)
{
    return xavier("tn_init_xavier_uniform_", t, options, false);
}

tn_tensor *tn_init_xavier_normal__opt(tn_tensor *t, const tn_init_options *options)
{
    return xavier("tn_init_xavier_normal_", t, options, true);
}

tn_tensor *tn_init_kaiming_uniform__opt(tn_tensor *t, const tn_init_options *options)
{
    return kaiming("tn_init_kaiming_uniform_", t, options, false);
}

tn_tensor *tn_init_kaiming_normal__opt(tn_tensor *t, const tn_init_options *options)
{
    return kaiming("tn_init_kaiming_normal_", t, options, true);
}
