/* Distances and products composed of operations. */
#include "ops/compose.h"

tn_tensor *tn__fn_dist(tn_tensor *x, tn_tensor *other, const tn_dist_options *o)
{
    tn_tensor *d = tn_sub(x, other);
    if (d && !tn__dtype_is_float(d->dtype))
        return tn__fail(TN_EMISSING, "norm(): input dtype should be either floating point or complex. Got %s instead.",
                        tn__dtypes[d->dtype].legacy);
    return tn_norm(d, .p = o->p);
}

static bool are_rows(const tn_tensor *x[2])
{
    for (int i = 0; i < 2; i++)
        if (!tn__usable("cdist", x[i]))
            return false;
    for (int i = 0; i < 2; i++)
        if (x[i]->ndim < 2)
            return tn__error(TN_EINVAL, "cdist only supports at least 2D tensors, X%d got: %dD", i + 1,
                             (int)x[i]->ndim),
                   false;
    const int64_t n[] = {x[0]->shape[x[0]->ndim - 1], x[1]->shape[x[1]->ndim - 1]};
    if (n[0] != n[1])
        return tn__error(TN_EINVAL, "X1 and X2 must have the same number of columns. X1: %lld X2: %lld",
                         (long long)n[0], (long long)n[1]),
               false;
    for (int i = 0; i < 2; i++)
        if (!tn__dtype_is_float(x[i]->dtype))
            return tn__error(TN_EDTYPE, "cdist only supports floating-point dtypes, X%d got: %s", i + 1,
                             tn__dtypes[x[i]->dtype].legacy),
                   false;
    return true;
}

tn_tensor *tn__fn_cdist(tn_tensor *x1, tn_tensor *x2, const tn_cdist_options *o)
{
    const double p = tn__number_or(o->p, 2);
    const tn_tensor *both[] = {x1, x2};
    if (!are_rows(both))
        return NULL;
    const bool few = p != 2 || o->exact || (x1->shape[x1->ndim - 2] <= 25 && x2->shape[x2->ndim - 2] <= 25);
    if (few && x1->numel && x2->numel &&
        (x1->dtype == TN_F16 || x1->dtype == TN_BF16)) /* as PyTorch: it has no kernel */
        return tn__no_kernel("cdist", x1), NULL;
    if (p < 0)
        return tn__fail(TN_EINVAL, "cdist only supports non-negative p values");
    return tn_norm(tn_sub(tn_unsqueeze(x1, -2), tn_unsqueeze(x2, -3)), .p = o->p, .dim = -1);
}

tn_tensor *tn__fn_kron(tn_tensor *a, tn_tensor *b)
{
    int64_t left[TN_MAX_DIMS], right[TN_MAX_DIMS], shape[TN_MAX_DIMS];
    if (!tn__usable("kron", a) || !tn__usable("kron", b))
        return NULL;
    const int32_t n = a->ndim > b->ndim ? a->ndim : b->ndim;
    if (2 * n > TN_MAX_DIMS)
        return tn__fail(TN_EINVAL, "kron: at most %d dimensions", TN_MAX_DIMS / 2);
    for (int32_t d = 0; d < n; d++) {
        const int32_t i = d - (n - a->ndim), k = d - (n - b->ndim);
        left[2 * d] = i < 0 ? 1 : a->shape[i];
        right[2 * d + 1] = k < 0 ? 1 : b->shape[k];
        left[2 * d + 1] = right[2 * d] = 1;
        if (__builtin_mul_overflow(left[2 * d], right[2 * d + 1], &shape[d]))
            return tn__fail(TN_EINVAL, "kron: the result would have more elements than an index can count");
    }
    tn_tensor *product = tn_mul(tn_reshape(a, tn_dims_of(left, 2 * n)), tn_reshape(b, tn_dims_of(right, 2 * n)));
    return tn_reshape(product, tn_dims_of(shape, n));
}
