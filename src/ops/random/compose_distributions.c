/* Random numbers that are made from uniform and normal ones by formulas. They are drawn with recording off: autograd sees that
 * x is written. */
#include "core/rng.h"
#include "ops/compose.h"
#include <math.h>

static tn_tensor *written(tn_tensor *x, bool was, tn_tensor *made)
{
    tn__set_no_grad(was);
    return made ? tn_copy_(x, made) : NULL;
}

/* Uniform in [0, 1), of x's shape and device; float64 where x is, else float32: half types are too coarse for a formula. */
static tn_tensor *uniform_for(tn_tensor *x)
{
    if (tn__rng_is_mt(x->device)) /* as PyTorch draws them: in double, in the order in which x lies in memory */
        return tn_rand_like(tn_detach(x), .dtype = TN_F64);
    return tn_rand(tn__shape_of(x), .dtype = x->dtype == TN_F64 ? TN_F64 : TN_F32, .device = x->device);
}

/* Does the kernel that draws for x know its dtype? Nothing asks no kernel. */
static bool is_drawn(const char *kernel, const tn_tensor *x, bool has)
{
    if (!has && x->numel)
        tn__no_kernel(kernel, x);
    return has || !x->numel;
}

static bool is_positive(const char *function, const char *name, double value)
{
    if (!(value > 0))
        tn__error(TN_EINVAL, "%s expects %s > 0.0, but found %s=%g", function, name, name, value);
    return value > 0;
}

static bool is_continuous(const char *law, const char *type, tn_dtype dtype)
{
    if (!tn__dtype_is_float(dtype))
        tn__error(TN_EINVAL,
                  "%s distribution is a continuous probability distribution. dtype must be a floating point but you "
                  "specified %s",
                  law, type);
    return tn__dtype_is_float(dtype);
}

/* ---- bernoulli ---- */

/* The host hears of probabilities out of range on the CPU alone: a GPU would have to be waited for. */
static bool are_probabilities(tn_tensor *p)
{
    if (!is_drawn("bernoulli_tensor_*_p_", p, tn__dtype_is_float(p->dtype)))
        return false;
    if (p->device.type != TN_DEVICE_CPU || !p->numel)
        return true;
    tn_tensor *fine = tn_all(tn_logical_and(tn_ge(p, 0), tn_le(p, 1)));
    if (!fine || tn_item(fine) != 0)
        return fine != NULL;
    tn__error(TN_EINVAL, "Expected p_in >= 0 && p_in <= 1 to be true, but got false.");
    return false;
}

static bool is_probability(double p)
{
    if (!(p >= 0 && p <= 1))
        tn__error(TN_EINVAL, "bernoulli_ expects p to be in [0, 1], but got p=%g", p);
    return p >= 0 && p <= 1;
}

/* Of x's shape and dtype; p: a tensor that broadcasts to it, or a number. */
static tn_tensor *bernoulli_for(tn_tensor *x, tn_scalar p)
{
    tn_tensor *of = tn__operand(&p);
    if (of == x && tn__rng_is_mt(x->device) && tn_tensor_is_contiguous(x))
        return is_drawn("bernoulli_tensor_*_p_", x, tn__dtype_is_float(x->dtype)) ? tn__mt_bernoulli(x) : NULL;
    const bool fine = p.kind != TN_SCALAR_TENSOR ? is_probability(tn__scalar_double(&p))
                                                 : tn__usable("bernoulli", of) && are_probabilities(of);
    if (!fine)
        return NULL;
    if (!tn__rng_is_mt(x->device) || p.kind != TN_SCALAR_TENSOR || of->dtype == TN_F64)
        return tn_to(tn_lt(uniform_for(x), p), .dtype = x->dtype);
    return tn_to(tn_lt(tn_rand_like(tn_detach(x), .dtype = TN_F32), p), .dtype = x->dtype);
}

tn_tensor *tn__fn_bernoulli(tn_tensor *x, const tn_bernoulli_options *o)
{
    if (!tn__usable("bernoulli", x))
        return NULL;
    const bool was = tn__set_no_grad(true);
    tn_tensor *like = tn__rng_is_mt(x->device) ? tn_contiguous(x) : x; /* the result is contiguous */
    tn_tensor *r = like ? bernoulli_for(like, o->p.kind ? o->p : tn_scalar_t(like)) : NULL;
    tn__set_no_grad(was);
    if (!r || was || !tn__requires_grad(x))
        return r;
    tn_tensor *over = tn_clone(x); /* a history by which no gradient but 0 goes */
    return over ? tn_copy_(over, r) : NULL;
}

tn_tensor *tn__fn_bernoulli_(tn_tensor *x, tn_scalar p)
{
    if (!tn__usable("bernoulli_", x))
        return NULL;
    if (tn__rng_is_mt(x->device) && p.kind != TN_SCALAR_TENSOR) {
        const double probability = tn__scalar_double(&p);
        return is_probability(probability) ? tn__mt_law(x, TN__OP_lt, probability, 0) : NULL;
    }
    const bool was = tn__set_no_grad(true);
    return written(x, was, bernoulli_for(x, p));
}

/* ---- others ---- */

/* log(1 - u), at most 0: minus an exponential number of rate 1 */
static tn_tensor *log_uniform(tn_tensor *x)
{
    return tn_log1p(tn_neg(uniform_for(x)));
}

tn_tensor *tn__fn_exponential_(tn_tensor *x, double lambd)
{
    if (!tn__usable("exponential_", x) || !is_positive("exponential_", "lambda", lambd) ||
        (x->numel && !is_continuous("Exponential", tn__dtypes[x->dtype].legacy, x->dtype)))
        return NULL;
    if (tn__rng_is_mt(x->device))
        return tn__mt_law(x, TN__OP__exponential_of, 0, -1 / lambd);
    const double least = x->dtype == TN_F64 ? DBL_EPSILON : FLT_EPSILON; /* never 0: some divide by it */
    const bool was = tn__set_no_grad(true);
    return written(x, was, tn__exponential_of(uniform_for(x), -least / 2, -1 / lambd));
}

static tn_tensor *normals_for(tn_tensor *x, double mean, double std)
{
    tn_tensor *z = uniform_for(x); /* what it draws is drawn again: the stream goes on behind both */
    return z ? tn_normal_(z, mean, std) : NULL;
}

tn_tensor *tn__fn_log_normal_(tn_tensor *x, double mean, double std)
{
    if (!tn__usable("log_normal_", x) || !is_positive("log_normal_", "std", std) ||
        !is_drawn("log_normal_*", x, tn__dtype_is_float(x->dtype)))
        return NULL;
    if (tn__rng_is_mt(x->device)) /* one by one */
        return tn__mt_law(x, TN__OP_exp, mean, std);
    const bool was = tn__set_no_grad(true);
    return written(x, was, tn_exp(normals_for(x, mean, std)));
}

/* median + sigma * tan(pi * (u - 1/2)) */
tn_tensor *tn__fn_cauchy_(tn_tensor *x, double median, double sigma)
{
    if (!tn__usable("cauchy_", x) || !is_positive("cauchy_", "sigma", sigma) ||
        !is_continuous("Cauchy", tn__dtypes[x->dtype].scalar, x->dtype))
        return NULL;
    if (tn__rng_is_mt(x->device))
        return tn__mt_law(x, TN__OP__cauchy_of, median, sigma);
    const bool was = tn__set_no_grad(true);
    return written(x, was, tn__cauchy_of(tn_sub(uniform_for(x), 0.5), median, sigma));
}

/* P(X > k) = (1 - p)^k for k = 1, 2 ...: the exponential one, rounded down to whole numbers, plus 1 */
tn_tensor *tn__fn_geometric_(tn_tensor *x, double p)
{
    if (!tn__usable("geometric_", x))
        return NULL;
    if (!(p > 0 && p < 1))
        return tn__fail(TN_EINVAL, "geometric_ expects p to be in (0, 1), but got p=%g", p);
    if (!is_drawn("geometric_*", x, x->dtype != TN_BOOL))
        return NULL;
    if (tn__rng_is_mt(x->device))
        return tn__mt_law(x, TN__OP__geometric_of, log1p(-p), 0);
    const bool was = tn__set_no_grad(true);
    return written(x, was, tn_add(tn_floor(tn_div(log_uniform(x), log1p(-p))), 1));
}
