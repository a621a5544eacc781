/* Products of vectors of three elements, and covariances. */
#include "ops/compose.h"

/* ---- cross ---- */

/* own: NULL for the first dimension of three. */
static bool are_vectors(const tn_tensor *x, const tn_tensor *other, const int64_t *own, int32_t *d)
{
    int64_t dim = own ? *own : 0;
    if (!tn__usable("cross", x) || !tn__usable("cross", other))
        return false;
    if (x->ndim != other->ndim)
        return tn__error(TN_EINVAL, "linalg.cross: inputs must have the same number of dimensions."), false;
    while (!own && dim < x->ndim && x->shape[dim] != 3)
        dim++;
    if (!own && dim == x->ndim)
        return tn__error(TN_EINVAL, "no dimension of size 3 in input"), false;
    if (tn__wrap_own_dim(dim, x->ndim, d))
        return false;
    if (x->shape[*d] != 3 || other->shape[*d] != 3)
        return tn__error(TN_EINVAL, "linalg.cross: inputs dimension %lld must have length 3. Got %lld and %lld",
                         (long long)dim, (long long)x->shape[*d], (long long)other->shape[*d]),
               false;
    return true;
}

/* On the host, of numbers that loops compute with as they lie in memory or of bfloat16, where nothing asks for gradients? */
static bool is_one_pass(const tn_tensor *x, const tn_tensor *other)
{
    const bool host = x->device.type == TN_DEVICE_CPU && other->device.type == TN_DEVICE_CPU;
    return host && (tn__dtypes[x->dtype].compute == x->dtype || x->dtype == TN_BF16) &&
           (tn__self()->no_grad || (!tn__requires_grad(x) && !tn__requires_grad(other)));
}

tn_tensor *tn__fn_cross(tn_tensor *x, tn_tensor *other, const tn_cross_options *o)
{
    tn_tensor *both[] = {x, other}, *a[3], *b[3], *part[3];
    int32_t d;
    if (!are_vectors(x, other, o->dim_given ? &o->dim : NULL, &d) || !tn__broadcast_all(both, 2))
        return NULL;
    if (x->dtype == TN_BOOL)
        return tn__no_kernel("cross", x), NULL;
    if (x->dtype != other->dtype)
        return tn__fail(TN_EINVAL, "expected scalar type %s but found %s", tn__dtypes[x->dtype].legacy,
                        tn__dtypes[other->dtype].legacy);
    if (is_one_pass(both[0], both[1]))
        return tn__cross(both[0], both[1], d);
    for (int i = 0; i < 2; i++) /* vectors far from each other are read once, not at each of their numbers */
        if (both[i]->stride[d] == 1 && !tn__words_of(x->device).gpu && !(both[i] = tn_contiguous(both[i])))
            return NULL;
    if (tn_unbind(both[0], d, a, 3) != 3 || tn_unbind(both[1], d, b, 3) != 3)
        return NULL;
    for (int i = 0; i < 3; i++) {
        const int k = (i + 1) % 3, l = (i + 2) % 3;
        if (!(part[i] = tn_sub(tn_mul(a[k], b[l]), tn_mul(a[l], b[k]))))
            return NULL;
    }
    return tn_stack(((tn_tensors){part, 3}), d);
}

/* ---- covariances ---- */

/* PyTorch's demands on weights of n observations. */
static bool are_weights(const char *name, tn_tensor *w, bool whole, int64_t n)
{
    if (!w)
        return true;
    if (w->ndim > 1)
        return tn__error(TN_EINVAL, "cov(): expected %s to have one or fewer dimensions but got %s with %d dimensions",
                         name, name, (int)w->ndim),
               false;
    if (whole == tn__dtype_is_float(w->dtype) || w->dtype == TN_BOOL)
        return tn__error(TN_EINVAL, "cov(): expected %s to have %s dtype but got %s with %s dtype", name,
                         whole ? "integral" : "floating point", name, tn__dtypes[w->dtype].legacy),
               false;
    if (w->numel != n)
        return tn__error(TN_EINVAL,
                         "cov(): expected %s to have the same numel as there are observations in the input but got "
                         "%lld != %lld",
                         name, (long long)w->numel, (long long)n),
               false;
    if (w->device.type == TN_DEVICE_META)
        return tn__error(TN_EMISSING, "cov(): %s on meta have no values to look at", name), false;
    tn_tensor *least = n ? tn_min(w) : NULL;
    if (n && !least)
        return false;
    if (least && tn_item(least) < 0)
        return tn__error(TN_EINVAL, "cov(): %s cannot be negative", name), false;
    return true;
}

static bool are_observations(const tn_tensor *x, tn_tensor *fweights, tn_tensor *aweights)
{
    const int64_t n = x->ndim ? x->shape[x->ndim - 1] : 1;
    if (x->ndim > 2)
        return tn__error(TN_EINVAL,
                         "cov(): expected input to have two or fewer dimensions but got an input with %d dimensions",
                         (int)x->ndim),
               false;
    if (x->dtype == TN_BOOL)
        return tn__error(TN_EMISSING, "cov(): bool dtype is not supported for input"), false;
    if (!are_weights("fweights", fweights, true, n) || !are_weights("aweights", aweights, false, n))
        return false;
    if (n == 0 && (fweights || aweights))
        return tn__error(TN_EINVAL, "cov(): weights sum to zero, can't be normalized"), false;
    return true;
}

/* Of rows of n observations; what is divided by: n less the correction. */
static tn_tensor *plain_products(tn_tensor *rows, double correction, tn_tensor **over)
{
    const int64_t n = rows->shape[1];
    tn_tensor *mean = tn_div(tn_sum(rows, .dim = 1, .keepdim = true), n), *centred = tn_sub(rows, mean);
    tn_tensor *products = tn_matmul(centred, tn_t(centred));
    const double left = (double)n - correction;
    *over =
        products ? tn_full(TN_SHAPE(), left > 0 ? left : 0.0, .dtype = products->dtype, .device = rows->device) : NULL;
    return products;
}

/* The same with weights; aweights count in the correction once more. */
static tn_tensor *weighed_products(tn_tensor *rows, tn_scalar correction, tn_tensor *weights, tn_tensor *aweights,
                                   tn_tensor **over)
{
    tn_tensor *total = tn_sum(weights), *twice = aweights ? tn_sum(tn_mul(weights, aweights)) : total;
    tn_tensor *mean = tn_div(tn_sum(tn_mul(rows, weights), .dim = 1, .keepdim = true), total);
    tn_tensor *centred = tn_sub(rows, mean);
    *over = tn_clamp_min(tn_sub(total, tn_div(tn_mul(twice, correction), total)), 0);
    return tn_matmul(centred, tn_t(tn_mul(centred, weights)));
}

tn_tensor *tn__fn_cov(tn_tensor *x, const tn_cov_options *o)
{
    tn_tensor *fweights = tn__given(o->fweights), *aweights = tn__given(o->aweights), *over;
    const tn_scalar correction = o->correction.kind ? o->correction : tn_scalar_i(1);
    if (!tn__usable("cov", x) || !are_observations(x, fweights, aweights))
        return NULL;
    tn_tensor *rows = x->ndim < 2 ? tn_reshape(x, TN_SHAPE(1, x->numel)) : x;
    tn_tensor *weights = fweights && aweights ? tn_mul(fweights, aweights) : fweights ? fweights : aweights;
    if (!rows || (fweights && !weights))
        return NULL;
    tn_tensor *products = weights ? weighed_products(rows, correction, weights, aweights, &over)
                                  : plain_products(rows, tn__scalar_double(&correction), &over);
    tn_tensor *result = tn_div(products, over);
    return result && result->numel == 1 ? tn_reshape(result, TN_SHAPE()) : result;
}

tn_tensor *tn__fn_corrcoef(tn_tensor *x)
{
    if (!tn__usable("corrcoef", x))
        return NULL;
    if (x->ndim > 2)
        return tn__fail(
            TN_EINVAL, "corrcoef(): expected input to have two or fewer dimensions but got an input with %d dimensions",
            (int)x->ndim);
    tn_tensor *c = tn_cov(x);
    if (!c || c->ndim == 0)
        return tn_div(c, c);
    tn_tensor *deviation = tn_sqrt(tn_diagonal(c, 0, 0, 1));
    return tn_clamp(tn_div(tn_div(c, tn_unsqueeze(deviation, 1)), deviation), -1, 1);
}

/* ---- vecdot ---- */

tn_tensor *tn__fn_vecdot(tn_tensor *x, tn_tensor *y, const tn_vecdot_options *o)
{
    int32_t d;
    if (!tn__usable("vecdot", x) || !tn__usable("vecdot", y))
        return NULL;
    if (!tn__dtype_is_float(x->dtype))
        return tn__fail(TN_EMISSING, "linalg.vecdot: Expected a floating point or complex tensor as input. Got %s",
                        tn__dtypes[x->dtype].legacy);
    if (x->dtype != y->dtype)
        return tn__fail(
            TN_EINVAL,
            "linalg.vecdot: Expected x and y to have the same dtype, but found x of type %s and y of type %s instead",
            tn__dtypes[x->dtype].legacy, tn__dtypes[y->dtype].legacy);
    if (tn__wrap_dim(o->dim_given ? o->dim : -1, TN_MAX(x->ndim, y->ndim), &d))
        return NULL;
    const bool same = tn__same_shape(x->shape, x->ndim, y->shape, y->ndim), last = d == TN_MAX(x->ndim, y->ndim) - 1;
    if (y->ndim == 1 && x->ndim && last && x->shape[d] == y->shape[0])
        return tn_matmul(x, y);
    if (!same || !last || x->ndim == 0 || !tn_tensor_is_contiguous(x) || !tn_tensor_is_contiguous(y))
        return tn_sum(tn_mul(x, y), .dim = d);
    const int64_t k = x->shape[d], n = tn__numel(x->shape, d);
    tn_tensor *rows = tn_bmm(tn_reshape(x, TN_SHAPE(n, 1, k)), tn_reshape(y, TN_SHAPE(n, k, 1)));
    return tn__no_view(tn_reshape(rows, tn_dims_of(x->shape, d)));
}

/* ---- vander ---- */

/* 1, x, x^2, .. along a new last dimension */
static tn_tensor *powers(tn_tensor *x, int64_t n)
{
    const tn_dtype dtype = x->dtype;
    int64_t shape[TN_MAX_DIMS];
    if (x->ndim + 1 > TN_MAX_DIMS)
        return tn__fail(TN_EINVAL, "vander: at most %d dimensions", TN_MAX_DIMS - 1);
    for (int32_t d = 0; d < x->ndim; d++)
        shape[d] = x->shape[d];
    shape[x->ndim] = n < 1 ? n : 1;
    const bool narrow = dtype == TN_F16 || dtype == TN_BF16; /* products are floats, and rounded once, as in cumprod */
    if (narrow || !tn__dtype_is_float(dtype))
        x = tn_to(x, .dtype = narrow ? TN_F32 : TN_I64);
    if (!x)
        return NULL;
    tn_tensor *one = tn_ones(tn_dims_of(shape, x->ndim + 1), .dtype = x->dtype, .device = x->device);
    if (n < 2)
        return narrow ? tn_to(one, .dtype = dtype) : one;
    shape[x->ndim] = n - 1;
    tn_tensor *rest = tn_cumprod(tn_expand(tn_unsqueeze(x, -1), tn_dims_of(shape, x->ndim + 1)), -1);
    tn_tensor *all = tn_cat(TN_TENSORS(one, rest), -1);
    return narrow ? tn_to(all, .dtype = dtype) : all;
}

tn_tensor *tn__fn_vander(tn_tensor *x, const tn_vander_options *o)
{
    if (!tn__usable("vander", x))
        return NULL;
    if (x->ndim != 1)
        return tn__fail(TN_EINVAL, "x must be a one-dimensional tensor.");
    const int64_t n = o->N.kind ? tn__scalar_int(&o->N) : x->shape[0];
    if (n < 0)
        return tn__fail(TN_EINVAL, "N must be non-negative.");
    tn_tensor *all = powers(x, n);
    return o->increasing ? all : tn_flip(all, TN_SHAPE(1));
}

tn_tensor *tn__fn_linalg_vander(tn_tensor *x, const tn_linalg_vander_options *o)
{
    if (!tn__usable("linalg_vander", x))
        return NULL;
    if (x->dtype == TN_BOOL || x->dtype == TN_F16 || x->dtype == TN_BF16)
        return tn__fail(TN_EMISSING, "linalg.vander supports floating point, complex, and integer tensors, but got %s",
                        tn__dtypes[x->dtype].legacy);
    const int64_t n = o->N.kind ? tn__scalar_int(&o->N) : x->ndim ? x->shape[x->ndim - 1] : 1;
    if (x->ndim == 0)
        x = tn_unsqueeze(x, 0);
    if (!x)
        return NULL;
    return n > 1 ? powers(x, n) : tn__fail(TN_EINVAL, "N must be greater than 1.");
}
