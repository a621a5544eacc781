/* What is divided by norms of neighbours, and norms that are bounded. */
#include "ops/norm/compose.h"

tn_tensor *tn__fn_local_response_norm(tn_tensor *x, int64_t size, const tn_local_response_norm_options *o)
{
    if (!tn__usable("local_response_norm", x))
        return NULL;
    if (x->ndim < 3)
        return tn__fail(TN_EVALUE, "Expected 3D or higher dimensionality input (got %d dimensions)", (int)x->ndim);
    if (size < 1)
        return tn__fail(TN_EINVAL, "kernel size should be greater than zero, but got kH: %lld kW: 1", (long long)size);
    if (x->numel == 0)
        return x;
    const int64_t channels = x->shape[1];
    int64_t edge[TN_MAX_DIMS];
    for (int32_t d = 0; d < x->ndim; d++)
        edge[d] = d == 1 ? size - 1 : x->shape[d];
    tn_tensor *none = tn_zeros(tn_dims_of(edge, x->ndim), .dtype = x->dtype, .device = x->device), *sum = NULL;
    tn_tensor *squares =
        tn_cat(TN_TENSORS(tn_narrow(none, 1, 0, size / 2), tn_square(x), tn_narrow(none, 1, 0, (size - 1) / 2)), 1);
    for (int64_t i = 0; i < size && squares; i++) {
        tn_tensor *part = tn_narrow(squares, 1, i, channels);
        sum = sum ? tn_add(sum, part) : part;
    }
    const double alpha = tn__number_or(o->alpha, 1e-4), k = tn__number_or(o->k, 1);
    if (!tn__dtype_is_float(x->dtype)) /* whose mean is whole */
        sum = tn_mul(tn_div_floor(sum, size), alpha);
    else
        sum = tn_mul(sum, alpha / (double)size);
    return tn_div(x, tn_pow(tn_add(sum, k), tn__number_or(o->beta, 0.75)));
}

tn_tensor *tn__fn_renorm(tn_tensor *x, tn_scalar p, int64_t dim, tn_scalar maxnorm)
{
    int64_t rest[TN_MAX_DIMS];
    int32_t n = 0, own;
    if (!tn__usable("renorm", x))
        return NULL;
    if (!(tn__scalar_double(&p) > 0))
        return tn__fail(TN_EINVAL, "renorm: non-positive-norm not supported");
    const double most = tn__scalar_double(&maxnorm);
    if (!(most >= 0))
        return tn__fail(TN_EINVAL, "renorm: expected maxnorm to be >= 0 but got %g", most);
    if (x->ndim < 2)
        return tn__fail(TN_EINVAL, "renorm: input needs at least 2 dimensions, got %d dimensions", (int)x->ndim);
    if (tn__wrap_dim(dim, x->ndim, &own))
        return NULL;
    for (int32_t d = 0; d < x->ndim; d++)
        if (d != own)
            rest[n++] = d;
    tn_tensor *norm = tn_norm(x, .p = p, .dims = tn_dims_of(rest, n), .keepdim = true,
                              .dtype = x->dtype == TN_F16 || x->dtype == TN_BF16 ? TN_F32 : 0);
    tn_tensor *factor = tn_where(tn_gt(norm, most), tn_div(most, tn_add(norm, 1e-7)), 1.0);
    return tn_mul(x, tn_to(factor, .dtype = x->dtype)); /* small; x itself is passed over once, in its own dtype */
}
