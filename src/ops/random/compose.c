/* Dropout, and random tensors made anew. What is made by formulas from uniform and normal numbers: compose_distributions.c. */
#include "core/rng.h"
#include "op/infer.h"
#include "ops/compose.h"

/* ---- dropout ---- */

/* As PyTorch's CPU draws: x by a tensor of 0 and 1 / (1 - p), which rounds as x does. */
static tn_tensor *by_noise(tn_tensor *x, double p)
{
    if (p == 1)
        return tn_mul(x, 0);
    const bool was = tn__set_no_grad(true);
    tn_tensor *noise = tn_rand_like(tn_detach(x), .dtype = TN_F64);
    noise = tn_div(tn_to(tn_lt(noise, 1 - p), .dtype = x->dtype), 1 - p);
    tn__set_no_grad(was);
    return tn_mul(x, noise);
}

/* By numbers that each element's place in memory decides. What is dense in another order than row-major is shown in that order,
 * so that the result lies as x does. */
static tn_tensor *by_place(tn_tensor *x, double p)
{
    int32_t order[TN_MAX_DIMS];
    int64_t turned[TN_MAX_DIMS], back[TN_MAX_DIMS];
    const tn_rng_state r = tn__rng_take(x->device, (uint64_t)tn__div_up(x->numel, 4));
    if (tn__contiguous(x) || !tn__is_dense(x->shape, x->stride, x->ndim))
        return tn__dropout(x, p, (int64_t)r.seed, (int64_t)r.offset);
    tn__iter_order(x->shape, x->ndim, (const int64_t(*)[TN_MAX_DIMS]) & x->stride, 1, order);
    for (int32_t d = 0; d < x->ndim; d++) {
        turned[d] = order[x->ndim - 1 - d];
        back[turned[d]] = d;
    }
    tn_tensor *y = tn__dropout(tn_permute(x, tn_dims_of(turned, x->ndim)), p, (int64_t)r.seed, (int64_t)r.offset);
    return tn__no_view(tn_permute(y, tn_dims_of(back, x->ndim)));
}

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
    if (tn__rng_is_mt(x->device))
        return by_noise(x, p);
    return by_place(x, p);
}

/* ---- factories ---- */

tn_tensor *tn__fn_rand(const tn_dims *shape, const tn_options *o)
{
    tn_tensor *t = tn__factory(shape, o, tn__default_dtype());
    TN__INITIALISED(t, tn_uniform_(t, 0, 1));
    return t;
}

tn_tensor *tn__fn_randn(const tn_dims *shape, const tn_options *o)
{
    tn_tensor *t = tn__factory(shape, o, tn__default_dtype());
    TN__INITIALISED(t, tn_normal_(t, 0, 1));
    return t;
}

/* The last of the whole numbers that a dtype tells apart, as far as int64 holds it: 2^digits, which a floating one has and an
 * integer one just misses. */
static int64_t last_of(tn_dtype d)
{
    const int64_t digits = tn__dtypes[d].digits;
    return tn__dtype_is_float(d) ? INT64_C(1) << digits
           : digits >= 63        ? INT64_MAX
                                 : (int64_t)((UINT64_C(1) << digits) - 1);
}

/* Are low .. high - 1, of which there must be some, numbers of the integer dtype? */
static bool range_fits(tn_dtype d, int64_t low, int64_t high)
{
    const int64_t last = last_of(d), first = tn__dtypes[d].is_signed ? -last - 1 : 0;
    if (low >= high) {
        tn__error(TN_EINVAL, "random_ expects 'from' to be less than 'to', but got from=%lld >= to=%lld",
                  (long long)low, (long long)high);
        return false;
    }
    if (tn__dtype_is_float(d) || (low >= first && low <= last && high - 1 <= last))
        return true;
    tn__error(TN_EINVAL, "%s is out of bounds for %s", low < first || low > last ? "from" : "to - 1",
              tn__dtypes[d].scalar);
    return false;
}

tn_tensor *tn__fn_randint(int64_t low, int64_t high, const tn_dims *shape, const tn_options *o)
{
    if (tn__dtype_check("randint", o->dtype) || !range_fits(o->dtype ? o->dtype : TN_I64, low, high))
        return NULL;
    tn_tensor *t = tn__factory(shape, o, TN_I64);
    TN__INITIALISED(t, tn__randint(t, low, high, false));
    return t;
}

/* What is like x lies in memory as x does, and is filled in that order. */
static tn_tensor *as_it_lies(tn_tensor *t)
{
    return tn_tensor_is_contiguous(t) ? t : tn_as_strided(t, TN_SHAPE(t->numel), TN_SHAPE(1), 0);
}

tn_tensor *tn__fn_randint_like(tn_tensor *x, int64_t low, int64_t high, const tn_options *o)
{
    if (!tn__usable("randint_like", x) || tn__dtype_check("randint_like", o->dtype) ||
        !range_fits(o->dtype ? o->dtype : x->dtype, low, high))
        return NULL;
    tn_tensor *t = tn__factory_like(x, o);
    TN__INITIALISED(t, tn__randint(as_it_lies(t), low, high, false));
    return t;
}

/* From low to the dtype's last number. */
static bool rest_fits(tn_dtype d, int64_t low)
{
    const int64_t last = last_of(d), first = tn__dtypes[d].is_signed ? -last - 1 : 0;
    if (!tn__dtype_is_float(d) && (low < first || low > last))
        tn__error(TN_EINVAL, "from is out of bounds for %s", tn__dtypes[d].scalar);
    else if (low > last)
        tn__error(
            TN_EINVAL,
            "random_ expects 'from' casted to dtype to be less than or equal to 'to_inc' casted to dtype, but got "
            "from=%lld > to_inc=%lld",
            (long long)low, (long long)last);
    else
        return true;
    return false;
}

tn_tensor *tn__fn_random_(tn_tensor *x, const tn_random__options *o)
{
    if (!tn__usable("random_", x))
        return NULL;
    const int64_t last = last_of(x->dtype), low = o->from.kind ? tn__scalar_int(&o->from) : 0;
    const int64_t high = o->to.kind ? tn__scalar_int(&o->to) : last < INT64_MAX ? last + 1 : INT64_MIN;
    const bool all = !o->from.kind && !o->to.kind;
    if (o->to.kind ? !range_fits(x->dtype, low, high) : !rest_fits(x->dtype, low))
        return NULL;
    if (tn__rng_is_mt(x->device) && !tn__requires_grad(x))
        return tn__randint(x, low, high, all);
    tn_tensor *made = tn_empty(tn__shape_of(x), .dtype = x->dtype, .device = x->device);
    made = made ? tn__randint(made, low, high, all) : NULL;
    return made ? tn_copy_(x, made) : NULL;
}

tn_tensor *tn__fn_randperm(int64_t n, const tn_options *o)
{
    if (n < 0)
        return tn__fail(TN_EINVAL, "n must be non-negative, got %lld", (long long)n);
    if (tn__dtype_check("randperm", o->dtype))
        return NULL;
    if (n > 0 && n - 1 > last_of(o->dtype ? o->dtype : TN_I64))
        return tn__fail(TN_EINVAL, "n is too large for result tensor type: 'torch.%s'", tn_dtype_name(o->dtype));
    tn_tensor *t = tn__factory(TN__DIMS(TN_SHAPE(n)), o, TN_I64);
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

/* ---- normal numbers of given means and deviations ---- */

/* Waits for the device where std is a tensor. */
static bool is_deviation(const tn_scalar *std)
{
    if (std->kind == TN_SCALAR_TENSOR) {
        if (!std->v.t->numel)
            return true;
        tn_tensor *low = tn_amin(std->v.t);
        if (!low)
            return false;
        const bool negative = low->device.type != TN_DEVICE_META && tn_item(low) < 0;
        if (negative)
            tn__error(TN_EINVAL, "normal expects all elements of std >= 0.0");
        return !negative;
    }
    const double value = tn__scalar_double(std);
    if (!(value >= 0))
        tn__error(TN_EINVAL, "normal expects std >= 0.0, but found std %g", value);
    return value >= 0;
}

/* In PyTorch's order: what is to want gradients is asked once the numbers are there. */
static tn_tensor *normal_of_numbers(double mean, double std, const tn_normal_options *o)
{
    const tn_options plain = {.device = o->device, .dtype = o->dtype, .pin_memory = o->pin_memory};
    tn_tensor *t = tn__factory(&o->shape, &plain, tn__default_dtype());
    TN__INITIALISED(t, tn_normal_(t, mean, std));
    return t && o->requires_grad ? tn__require_grad(t, true) : t;
}

/* mean + std * z, of the shape that both broadcast to. As PyTorch's it has a history, by which no gradient but 0 goes. Of
 * integers there is none but nothing. */
static tn_tensor *normal_of_tensors(tn_scalar mean, tn_scalar std, tn_dtype dtype)
{
    tn_tensor *both = tn_add(mean, std);
    if (!both)
        return NULL;
    tn_tensor *z = tn_empty(tn__shape_of(both), .dtype = dtype, .device = both->device);
    const bool recorded = tn__requires_grad(both);
    if (z && !both->numel && !recorded)
        return z;
    if (z && both->numel)
        z = tn_normal_(z, 0, 1);
    const bool was = tn__set_no_grad(true);
    z = z ? tn_to(tn_add(tn_mul(z, std), mean), .dtype = dtype) : NULL;
    tn__set_no_grad(was);
    if (!z || !recorded)
        return z;
    tn_tensor *seen = tn_empty(tn__shape_of(both), .dtype = dtype, .device = both->device);
    seen = seen && tn_copy_(seen, both) ? tn_normal_(seen, 0, 1) : NULL;
    tn__set_no_grad(true);
    seen = seen ? tn_copy_(seen, z) : NULL;
    tn__set_no_grad(was);
    return seen;
}

tn_tensor *tn__fn_normal(tn_scalar mean, tn_scalar std, const tn_normal_options *o)
{
    const bool means = mean.kind == TN_SCALAR_TENSOR, stds = std.kind == TN_SCALAR_TENSOR;
    if ((means && !tn__usable("normal", mean.v.t)) || (stds && !tn__usable("normal", std.v.t)) || !is_deviation(&std) ||
        !tn__dims_fit("normal", &o->shape))
        return NULL;
    const tn_tensor *first = means ? mean.v.t : stds ? std.v.t : NULL;
    if (!first)
        return normal_of_numbers(tn__scalar_double(&mean), tn__scalar_double(&std), o);
    if (first->numel && !tn__dtype_is_float(first->dtype)) {
        tn__no_kernel("normal_kernel_*", first);
        return NULL;
    }
    return normal_of_tensors(mean, std, first->dtype);
}
