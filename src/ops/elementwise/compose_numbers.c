/* Elementwise functions composed of operations. */
#include "ops/compose.h"
#include <math.h>

/* x * number, of which backward needs nothing kept, as of PyTorch's: so the graph can be walked again. */
static tn_tensor *times(tn_tensor *x, double number)
{
    if (x && !tn__dtype_is_float(x->dtype))
        x = tn_to(x, .dtype = tn__default_dtype());
    return tn__multiple(x, number);
}

tn_tensor *tn__fn_deg2rad(tn_tensor *x)
{
    return tn__usable("deg2rad", x) ? times(x, 3.14159265358979323846 / 180) : NULL;
}

tn_tensor *tn__fn_rad2deg(tn_tensor *x)
{
    return tn__usable("rad2deg", x) ? times(x, 180 / 3.14159265358979323846) : NULL;
}

tn_tensor *tn__fn_positive(tn_tensor *x)
{
    if (!tn__usable("positive", x))
        return NULL;
    return x->dtype == TN_BOOL ? tn__fail(TN_EMISSING, "The `+` operator, on a bool tensor is not supported.") : x;
}

tn_tensor *tn__fn_frac(tn_tensor *x)
{
    return tn__floating("frac_*", x) ? tn__frac(x) : NULL;
}

tn_tensor *tn__fn_nan_to_num(tn_tensor *x, const tn_nan_to_num_options *o)
{
    if (!tn__usable("nan_to_num", x))
        return NULL;
    if (!tn__dtype_is_float(x->dtype))
        return tn_clone(x);
    const double most = tn__largest(x->dtype), high = tn__number_or(o->posinf, most),
                 low = tn__number_or(o->neginf, -most);
    if (low == -high)
        return tn__nan_to_num(x, tn__number_or(o->nan, 0), high);
    tn_tensor *result = tn_where(tn_isnan(x), tn__number_or(o->nan, 0), x);
    return tn_where(tn_eq(x, (double)INFINITY), high, tn_where(tn_eq(x, (double)-INFINITY), low, result));
}
