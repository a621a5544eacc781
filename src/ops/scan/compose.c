/* Functions of the family scan that are composed of others. */
#include "autograd/functions.h"
#include <math.h>

/* ---- running product ---- */

/* In log2(n) steps: each multiplies by what lies as far behind as there are factors already. */
tn_tensor *tn__fn_cumprod(tn_tensor *x, int64_t dim, const tn_cumprod_options *o)
{
    int32_t d;
    if (!tn__usable("cumprod", x) || tn__wrap_dim(dim, x->ndim, &d))
        return NULL;
    const tn_dtype to = o->dtype ? o->dtype : tn__dtype_is_float(x->dtype) ? x->dtype : TN_I64;
    if (tn__check_derived(x, to) || !(x = tn_to(x, .dtype = to)))
        return NULL;
    if (to == TN_BOOL && x->ndim && x->numel) {
        tn__no_dtype_on(x->device, "cumprod_out_*", "cumprod_*", to);
        return NULL;
    }
    const int64_t n = x->ndim ? x->shape[d] : 1;
    if (n <= 1)
        return tn__contiguous_copy(x);
    for (int64_t step = 1; step < n && x; step *= 2)
        x = tn_cat(
            TN_TENSORS(tn_slice(x, d, 0, step, 1), tn_mul(tn_slice(x, d, step, n, 1), tn_slice(x, d, 0, n - step, 1))),
            d);
    return x;
}
