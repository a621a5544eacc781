/* Functions of the family random that are composed of others. */
#include "autograd/functions.h"
#include "core/rng.h"

/* ---- losses ---- */

tn_tensor *tn__fn_dropout(tn_tensor *x, double p)
{
    if (!tn__usable("dropout", x))
        return NULL;
    if (!(p >= 0 && p <= 1))
        return tn__fail(TN_EVALUE, "dropout probability has to be between 0 and 1, but got %g", p);
    if (p == 0 || x->numel == 0)
        return x;
    if (!tn__dtype_is_float(x->dtype))
        return p == 1 ? tn_mul(x, false)
                      : tn__fail(TN_EDTYPE, "result type Float can't be cast to the desired output type %s",
                                 tn__dtypes[x->dtype].legacy);
    tn_rng_state r = tn__rng_take(x->device, (uint64_t)tn__div_up(x->numel, 4));
    return tn__dropout(x, p, (int64_t)r.seed, (int64_t)r.offset);
}

tn_tensor *tn__fn_rand(tn_dims shape, const tn_options *o)
{
    tn_tensor *t = tn__factory(shape, o, tn__default_dtype());
    TN__INITIALISED(t, tn_uniform_(t, 0, 1));
    return t;
}

tn_tensor *tn__fn_randn(tn_dims shape, const tn_options *o)
{
    tn_tensor *t = tn__factory(shape, o, tn__default_dtype());
    TN__INITIALISED(t, tn_normal_(t, 0, 1));
    return t;
}

tn_tensor *tn__fn_randint(int64_t low, int64_t high, tn_dims shape, const tn_options *o)
{
    tn_tensor *t = tn__factory(shape, o, TN_I64);
    TN__INITIALISED(t, tn__randint(t, low, high));
    return t;
}

tn_tensor *tn__fn_randperm(int64_t n, const tn_options *o)
{
    if (n < 0)
        return tn__fail(TN_EINVAL, "n must be non-negative, got %lld", (long long)n);
    tn_tensor *t = tn__factory(TN_SHAPE(n), o, TN_I64);
    TN__INITIALISED(t, tn__randperm(t));
    return t;
}

tn_tensor *tn__fn_rand_like(tn_tensor *x, const tn_options *o)
{
    tn_tensor *t = tn__factory_like(x, o);
    TN__INITIALISED(t, tn_uniform_(t, 0, 1));
    return t;
}

tn_tensor *tn__fn_randn_like(tn_tensor *x, const tn_options *o)
{
    tn_tensor *t = tn__factory_like(x, o);
    TN__INITIALISED(t, tn_normal_(t, 0, 1));
    return t;
}
