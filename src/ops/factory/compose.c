/* Functions of the family factory that are composed of others. */
#include "autograd/functions.h"
#include "core/settings.h"
#include <math.h>

/* t, of which nothing is written yet: filled where that must be seen. */
static tn_tensor *unwritten(tn_tensor *t)
{
    if (!t || !tn__fills_uninitialised())
        return t;
    const tn_scalar most =
        tn__dtype_is_float(t->dtype) ? tn_scalar_f(NAN) : tn_scalar_u(UINT64_MAX >> (64 - tn__dtypes[t->dtype].digits));
    TN__INITIALISED(t, tn_fill_(t, most));
    return t;
}

tn_tensor *tn__fn_empty(const tn_dims *shape, const tn_options *o)
{
    return unwritten(tn__factory(shape, o, tn__default_dtype()));
}

tn_tensor *tn__fn_zeros(const tn_dims *shape, const tn_options *o)
{
    tn_tensor *t = tn__factory(shape, o, tn__default_dtype());
    TN__INITIALISED(t, tn_zero_(t));
    return t;
}

tn_tensor *tn__fn_ones(const tn_dims *shape, const tn_options *o)
{
    tn_options ones = *o;
    ones.dtype = o->dtype ? o->dtype : tn__default_dtype();
    return tn__fn_full(shape, tn_scalar_f(1), &ones);
}

tn_tensor *tn__fn_full(const tn_dims *shape, tn_scalar value, const tn_options *o)
{
    if (value.kind == TN_SCALAR_TENSOR || value.kind == TN_SCALAR_NONE)
        return tn__fail(TN_ETYPE, "full: the value must be a number");
    tn_tensor *t = tn__factory(shape, o, tn__number_dtype(&value));
    TN__INITIALISED(t, tn_fill_(t, value));
    return t;
}

tn_tensor *tn__fn_eye(int64_t n, int64_t m, const tn_options *o)
{
    if (n < 0)
        return tn__fail(TN_EINVAL, "n must be greater or equal to 0, got %lld", (long long)n);
    tn_tensor *t = tn__factory(TN__DIMS(TN_SHAPE(n, m < 0 ? n : m)), o, tn__default_dtype());
    if (t && tn__dtype_is_bare(t->dtype)) {
        tn__no_dtype("eye", t->dtype);
        return NULL;
    }
    TN__INITIALISED(t, tn__eye(t));
    return t;
}

static bool any_float(const tn_scalar *s, int n)
{
    for (int i = 0; i < n; i++)
        if (s[i].kind == TN_SCALAR_FLOAT)
            return true;
    return false;
}

static bool all_int64(const tn_scalar *s, int n)
{
    for (int i = 0; i < n; i++)
        if (s[i].kind == TN_SCALAR_FLOAT || (s[i].kind == TN_SCALAR_UINT && s[i].v.u > INT64_MAX))
            return false;
    return true;
}

/* How many whole numbers from a, step s, are before b: a double would round them. */
static double count_whole(int64_t a, int64_t b, int64_t s, int64_t *n)
{
    uint64_t span = s > 0 ? (uint64_t)b - (uint64_t)a : (uint64_t)a - (uint64_t)b;
    uint64_t each = s > 0 ? (uint64_t)s : 0 - (uint64_t)s, count = span / each + (span % each > 0);
    *n = (int64_t)count;
    return (double)count;
}

tn_tensor *tn__fn_arange(tn_scalar start, tn_scalar end, tn_scalar step, const tn_options *o)
{
    const tn_scalar all[] = {start, end, step};
    double a = tn__scalar_double(&start), b = tn__scalar_double(&end), s = tn__scalar_double(&step);
    tn_dtype dtype = o->dtype ? o->dtype : any_float(all, 3) ? tn__default_dtype() : TN_I64;
    bool whole = all_int64(all, 3) && !tn__dtype_is_float(dtype);
    bool down = whole ? end.v.i < start.v.i : b < a, up = whole ? end.v.i > start.v.i : b > a;
    if (dtype == TN_BOOL || tn__dtype_is_bare(dtype)) {
        tn__no_dtype_on(o->device, "arange_*", NULL, dtype);
        return NULL;
    }
    if (s == 0 || !isfinite(s))
        return tn__fail(TN_EINVAL, "step must be nonzero");
    if (!isfinite(a) || !isfinite(b))
        return tn__fail(TN_EINVAL, "unsupported range: %g -> %g", a, b);
    if ((s > 0 && down) || (s < 0 && up))
        return tn__fail(TN_EINVAL, "upper bound and lower bound inconsistent with step sign");
    int64_t count = 0;
    double n = whole ? count_whole(start.v.i, end.v.i, step.v.i, &count) : ceil((b - a) / s);
    if (n > 9e18)
        return tn__fail(TN_EINVAL, "invalid size, possible overflow?");
    tn_tensor *t = tn__factory(TN__DIMS(TN_SHAPE(whole ? count : (int64_t)n)), o, dtype);
    TN__INITIALISED(t, tn__arange(t, start, step));
    return t;
}

static tn_scalar held(tn_scalar number, tn_dtype d)
{
    int64_t bits = 0;
    tn__store_scalar(d, &bits, &number);
    return tn_scalar_i(tn__load_int(d, &bits));
}

tn_tensor *tn__fn_linspace(tn_scalar start, tn_scalar end, int64_t steps, const tn_options *o)
{
    if (steps < 0)
        return tn__fail(TN_EINVAL, "number of steps must be non-negative");
    tn_tensor *t = tn__factory(TN__DIMS(TN_SHAPE(steps)), o, tn__default_dtype());
    if (t && ((t->dtype == TN_BOOL && steps > 1) || tn__dtype_is_bare(t->dtype))) {
        tn__no_dtype_on(t->device, "linspace_*", NULL, t->dtype);
        return NULL;
    }
    if (t && t->dtype == TN_BOOL)
        return tn_fill_(t, start);
    if (t && (tn__number_check(&start, t->dtype) || tn__number_check(&end, t->dtype)))
        return NULL;
    if (t && !tn__dtype_is_float(t->dtype)) { /* the ends are made whole first, as the dtype holds them */
        start = held(start, t->dtype);
        end = held(end, t->dtype);
    }
    TN__INITIALISED(t, tn__linspace(t, start, end));
    return t;
}

/* Of one step alone the start counts, and integers take what is left of the power. */
tn_tensor *tn__fn_logspace(tn_scalar start, tn_scalar end, int64_t steps, tn_scalar base, const tn_options *o)
{
    if (steps < 0)
        return tn__fail(TN_EINVAL, "number of steps must be non-negative");
    tn_tensor *t = tn__factory(TN__DIMS(TN_SHAPE(steps)), o, tn__default_dtype());
    if (t && steps > 1 && (t->dtype == TN_BOOL || tn__dtype_is_bare(t->dtype))) {
        tn__no_dtype_on(t->device, "logspace_*", NULL, t->dtype);
        return NULL;
    }
    if (t && steps > 1 && (tn__number_check(&start, t->dtype) || tn__number_check(&end, t->dtype)))
        return NULL;
    if (t && steps > 1 && !tn__dtype_is_float(t->dtype)) {
        start = held(start, t->dtype);
        end = held(end, t->dtype);
    }
    if (!t || steps == 0)
        return t;
    tn_tensor *places = tn_linspace(start, end, steps, .dtype = TN_F64, .device = t->device);
    tn_tensor *powers = tn_pow(tn__scalar_double(&base), places);
    TN__INITIALISED(t, powers ? tn_copy_(t, powers) : NULL);
    return t;
}

tn_tensor *tn__fn_empty_like(tn_tensor *x, const tn_options *o)
{
    return unwritten(tn__factory_like(x, o));
}

tn_tensor *tn__fn_zeros_like(tn_tensor *x, const tn_options *o)
{
    tn_tensor *t = tn__factory_like(x, o);
    TN__INITIALISED(t, tn_zero_(t));
    return t;
}

tn_tensor *tn__fn_ones_like(tn_tensor *x, const tn_options *o)
{
    return tn__fn_full_like(x, tn_scalar_i(1), o);
}

tn_tensor *tn__fn_full_like(tn_tensor *x, tn_scalar value, const tn_options *o)
{
    if (value.kind == TN_SCALAR_TENSOR || value.kind == TN_SCALAR_NONE)
        return tn__fail(TN_ETYPE, "full_like: the value must be a number");
    tn_tensor *t = tn__factory_like(x, o);
    TN__INITIALISED(t, tn_fill_(t, value));
    return t;
}
