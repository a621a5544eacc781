/* Initial values: torch.nn.init. Written in place with recording off. */
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

/* Where and in which way numbers are drawn. */
typedef struct draw {
    tn_init_options o;
    bool normal;
    double fan_in, fan_out;
} draw;

/* Options in, fans counted. False with an error set. */
static bool prepare(draw *d, const char *what, tn_tensor *t, const tn_init_options *options, bool normal)
{
    double rest = 1;
    tn__options_in(&d->o, sizeof d->o, options);
    tn__enter(d->o.site);
    d->normal = normal;
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
    d->fan_in = (double)t->shape[1] * rest;
    d->fan_out = (double)t->shape[0] * rest;
    return true;
}

static tn_tensor *fill(const draw *d, tn_tensor *t, double std)
{
    if (t->numel == 0)
        return t;
    double bound = sqrt(3) * std; /* of the uniform distribution with that deviation */
    return d->normal ? tn_init_normal_(t, 0, std) : tn_init_uniform_(t, -bound, bound);
}

static tn_tensor *xavier(draw *d, tn_tensor *t)
{
    double gain = d->o.gain != 0 ? d->o.gain : 1;
    return fill(d, t, gain * sqrt(2 / (d->fan_in + d->fan_out)));
}

static tn_tensor *kaiming(draw *d, tn_tensor *t)
{
    double gain = gain_of(d->o.nonlinearity, d->o.a);
    return isnan(gain) ? NULL : fill(d, t, gain / sqrt(d->o.fan_out ? d->fan_out : d->fan_in));
}

tn_tensor *tn_init_xavier_uniform__opt(tn_tensor *t, const tn_init_options *options)
{
    draw d;
    return prepare(&d, "tn_init_xavier_uniform_", t, options, false) ? xavier(&d, t) : NULL;
}

tn_tensor *tn_init_xavier_normal__opt(tn_tensor *t, const tn_init_options *options)
{
    draw d;
    return prepare(&d, "tn_init_xavier_normal_", t, options, true) ? xavier(&d, t) : NULL;
}

tn_tensor *tn_init_kaiming_uniform__opt(tn_tensor *t, const tn_init_options *options)
{
    draw d;
    return prepare(&d, "tn_init_kaiming_uniform_", t, options, false) ? kaiming(&d, t) : NULL;
}

tn_tensor *tn_init_kaiming_normal__opt(tn_tensor *t, const tn_init_options *options)
{
    draw d;
    return prepare(&d, "tn_init_kaiming_normal_", t, options, true) ? kaiming(&d, t) : NULL;
}
