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
        return tn__no_dtype(tn__op_name(c->op), x->dtype);
    if (!(p->std >= 0))
        return tn__error(TN_EINVAL, "normal expects std >= 0.0, but found std %g", p->std);
    return take(c, reals_per_block(x), &p->seed, &p->offset);
}

tn_status tn__infer_randint(tn__call *c)
{
    tn__randint_params *p = c->params;
    if (p->low >= p->high)
        return tn__error(TN_EINVAL, "random_ expects 'from' to be less than 'to', but got from=%lld >= to=%lld",
                         (long long)p->low, (long long)p->high);
    return take(c, 2, &p->seed, &p->offset);
}

tn_status tn__infer_randperm(tn__call *c)
{
    tn__randperm_params *p = c->params;
    const tn_tensor *x = tn__in(c, 0);
    if (x->dtype == TN_BOOL || tn__dtype_is_bare(x->dtype))
        return tn__no_dtype("randperm", x->dtype);
    return take(c, 2, &p->seed, &p->offset);
}
