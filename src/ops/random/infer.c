/* Shape rules of the family random. */
#include "core/rng.h"
#include "op/infer.h"
#include <math.h>

/* Takes x's numbers from its device's stream: per_block of them are one Philox block. Nothing fails after it. Of an MT19937,
 * whose offset is -1, the kernel takes them. */
static tn_status take(tn__call *c, int64_t per_block, int64_t *seed, int64_t *offset)
{
    const tn_tensor *x = tn__in(c, 0);
    if (tn__rng_is_mt(x->device)) {
        *seed = 0;
        *offset = -1;
        return tn__infer_inplace(c);
    }
    tn_rng_state r = tn__rng_take(x->device, (uint64_t)tn__div_up(x->numel, per_block));
    *seed = (int64_t)r.seed;
    *offset = (int64_t)r.offset;
    return tn__infer_inplace(c);
}

static int64_t reals_per_block(const tn_tensor *x)
{
    return x->dtype == TN_F64 ? 2 : 4;
}

/* Bounds that the dtype does not hold would make infinities of every number. */
static tn_status check_bounds(tn_dtype dtype, double from, double to)
{
    const tn__dtype_info *d = &tn__dtypes[dtype];
    if (!(fabs(from) <= d->most) || !(fabs(to) <= d->most))
        return tn__error(TN_EINVAL, "%s is out of bounds for %s", fabs(from) <= d->most ? "to" : "from", d->scalar);
    if (from > to)
        return tn__error(TN_EINVAL, "uniform_ expects to return a [from, to) range, but found from=%g > to=%g", from,
                         to);
    if (to - from > d->most)
        return tn__error(
            TN_EINVAL,
            "uniform_ expects to-from <= std::numeric_limits<%s>::max(), but found to=%g and from=%g which "
            "result in to-from to exceed the limit",
            d->legacy, to, from);
    return TN_OK;
}

tn_status tn__infer_uniform(tn__call *c)
{
    tn__uniform__params *p = c->params;
    const tn_tensor *x = tn__in(c, 0);
    if (!tn__dtype_is_float(x->dtype))
        return tn__no_dtype("check_uniform_bounds", x->dtype);
    tn_status e = check_bounds(x->dtype, p->from, p->to);
    c->all_said = e != TN_OK;
    return e ? e : take(c, reals_per_block(x), &p->seed, &p->offset);
}

tn_status tn__infer_normal(tn__call *c)
{
    tn__normal__params *p = c->params;
    const tn_tensor *x = tn__in(c, 0);
    if (!tn__dtype_is_float(x->dtype) && x->numel) /* of no elements PyTorch asks no kernel */
        return tn__no_dtype_on(c->device, "normal_kernel_*", NULL, x->dtype);
    if (!(p->std >= 0))
        return tn__error(TN_EINVAL, "normal expects std >= 0.0, but found std %g", p->std);
    return take(c, reals_per_block(x), &p->seed, &p->offset);
}

tn_status tn__infer_randint(tn__call *c)
{
    tn__randint_params *p = c->params;
    if (p->high != INT64_MIN && p->low >= p->high) /* INT64_MIN is 2^63, where the last number is to be in it */
        return tn__error(TN_EINVAL, "random_ expects 'from' to be less than 'to', but got from=%lld >= to=%lld",
                         (long long)p->low, (long long)p->high);
    return take(c, 2, &p->seed, &p->offset);
}

/* x, and n where there is one, are dense and of one shape. Each number has Philox blocks of its own, which seldom are all
 * used. */
tn_status tn__infer_law(tn__call *c)
{
    enum { BLOCKS = 64 };
    tn__law_params *p = c->params;
    const tn_tensor *x = tn__in(c, 0);
    p->blocks = BLOCKS;
    if (tn__rng_is_mt(x->device)) {
        p->seed = 0;
        p->offset = -1;
        return tn__infer_same1(c);
    }
    const tn_rng_state r = tn__rng_take(x->device, (uint64_t)x->numel * BLOCKS);
    p->seed = (int64_t)r.seed;
    p->offset = (int64_t)r.offset;
    return tn__infer_same1(c);
}

/* A new tensor of the broadcast operands' shape: they may lie in strides of 0. */
tn_status tn__infer_law_slope(tn__call *c)
{
    const tn_tensor *a = tn__in(c, 0);
    tn__spec_set(&c->spec[0], a->dtype, a->shape, a->ndim);
    return tn__infer_one(c);
}

tn_status tn__infer_randperm(tn__call *c)
{
    tn__randperm_params *p = c->params;
    const tn_tensor *x = tn__in(c, 0);
    if (x->dtype == TN_BOOL || tn__dtype_is_bare(x->dtype))
        return tn__no_dtype("randperm", x->dtype);
    return take(c, 2, &p->seed, &p->offset);
}
