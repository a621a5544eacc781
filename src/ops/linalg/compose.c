/* Functions of the family linalg that are composed of others. */
#include "autograd/functions.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <tenon/dtype.h>

/* ---- norms ---- */

/* The p-th root of a sum, and its gradient, are zero where that is. */
static tn_tensor *root(tn_tensor *sum, double p)
{
    tn_tensor *zero = tn_eq(sum, 0), *other = tn_masked_fill(sum, zero, 1);
    return tn_where(zero, tn_scalar_t(p < 0 ? tn_pow(sum, 1 / p) : sum), tn_scalar_t(tn_pow(other, 1 / p)));
}

/* |x|^p, whose slope at 0 is 0, as PyTorch has it also for p < 1. */
static tn_tensor *powers(tn_tensor *size, double p)
{
    if (p > 1)
        return tn_pow(size, p);
    tn_tensor *zero = tn_eq(size, 0);
    return tn_masked_fill(tn_pow(tn_masked_fill(size, zero, 1), p), zero, p < 0 ? INFINITY : 0);
}

/* How many are not 0: the gradient is 0, and there is one. */
static tn_tensor *count(tn_tensor *x, const tn_norm_options *o)
{
    tn_tensor *one = tn_add(tn_to(tn_ne(x, 0), .dtype = x->dtype), tn_mul(tn_sign(x), 0));
    return tn_sum(one, .dims = o->dims, .keepdim = o->keepdim);
}

/* What PyTorch's linalg.vector_norm asks of dtypes, in its order. */
static bool is_vector_norm(const tn_tensor *x, tn_dtype asked)
{
    if (!tn__dtype_is_float(x->dtype))
        tn__error(TN_EDTYPE, "linalg.vector_norm: Expected a floating point or complex tensor as input. Got %s",
                  tn__dtypes[x->dtype].legacy);
    else if (asked && !tn__dtype_is_float(asked))
        tn__error(TN_EINVAL, "linalg.vector_norm: dtype should be floating point or complex, but got %s",
                  tn__dtypes[asked].legacy);
    else if (asked && tn_promote_types(x->dtype, asked) != asked)
        tn__error(TN_EINVAL,
                  "linalg.vector_norm: the dtype of the input (%s) should be convertible without narrowing to the "
                  "specified dtype (%s)",
                  tn__dtypes[x->dtype].legacy, tn__dtypes[asked].legacy);
    else
        return true;
    return false;
}

tn_tensor *tn__fn_norm(tn_tensor *x, const tn_norm_options *o)
{
    const double p = o->p.kind ? tn__scalar_double(&o->p) : 2;
    if (!tn__usable("norm", x) || !is_vector_norm(x, o->dtype))
        return NULL;
    if (o->dtype)
        x = tn_to(x, .dtype = o->dtype);
    if (p == 2)
        return tn__vector_norm(x, o->dims, o->keepdim);
    if (x && (x->dtype == TN_F16 || x->dtype == TN_BF16)) { /* whose squares are often more than they can hold */
        tn_norm_options wide = *o;
        wide.dtype = TN_F32;
        return tn_to(tn__fn_norm(x, &wide), .dtype = x->dtype);
    }
    tn_tensor *size = tn_abs(x);
    if (p == INFINITY)
        return tn_amax(size, .dims = o->dims, .keepdim = o->keepdim);
    if (p == -INFINITY)
        return tn_amin(size, .dims = o->dims, .keepdim = o->keepdim);
    if (p == 1)
        return tn_sum(size, .dims = o->dims, .keepdim = o->keepdim);
    if (p == 0 && x)
        return count(x, o);
    return root(tn_sum(powers(size, p), .dims = o->dims, .keepdim = o->keepdim), p);
}

/* What PyTorch's linalg.matrix_norm asks of its operands, in its order; the two dimensions, wrapped. */
static bool is_matrix_norm(const tn_tensor *x, const tn_dims *dim, tn_dtype dtype, int32_t d[2])
{
    static const char name[] = "linalg.matrix_norm";
    char got[24 * TN_MAX_DIMS + 1] = "";
    if (x->ndim < 2)
        return tn__error(TN_EINVAL, "%s: The input tensor A must have at least 2 dimensions.", name), false;
    if (!tn__dtype_is_float(x->dtype))
        return tn__error(TN_EDTYPE, "%s: Expected a floating point or complex tensor as input. Got %s", name,
                         tn__dtypes[x->dtype].legacy),
               false;
    if (x->dtype != TN_F32 && x->dtype != TN_F64)
        return tn__error(TN_EDTYPE, "%s: Low precision dtypes not supported. Got %s", name,
                         tn__dtypes[x->dtype].legacy),
               false;
    if (dim->ndim != 2) {
        for (int32_t i = 0; i < dim->ndim; i++)
            snprintf(got + strlen(got), 24, i ? " %lld" : "%lld", (long long)dim->dim[i]);
        return tn__error(TN_EINVAL, "%s: dim must be a 2-tuple. Got %s", name, got), false;
    }
    if (tn__wrap_dim(dim->dim[0], x->ndim, &d[0]) || tn__wrap_dim(dim->dim[1], x->ndim, &d[1]))
        return false;
    if (d[0] == d[1])
        return tn__error(TN_EINVAL, "%s: dims must be different. Got (%d, %d)", name, (int)d[0], (int)d[1]), false;
    if (dtype && !tn__dtype_is_float(dtype))
        return tn__error(TN_EINVAL, "%s: dtype should be floating point or complex, but got %s", name,
                         tn__dtypes[dtype].legacy),
               false;
    if (dtype && tn__dtype_size(dtype) < tn__dtype_size(x->dtype))
        return tn__error(TN_EINVAL,
                         "%s: the dtype of the input (%s) should be convertible without narrowing to the specified "
                         "dtype (%s)",
                         name, tn__dtypes[x->dtype].legacy, tn__dtypes[dtype].legacy),
               false;
    return true;
}

/* Matrices in the last two dimensions that a GPU gets: its kernel cannot refuse, so they are asked first, and waited for (as in
 * PyTorch). The CPU's kernel refuses itself, in these words. */
static bool are_numbers(tn_tensor *x)
{
    if (!x || !tn__words_of(x->device).gpu)
        return x != NULL;
    tn_tensor *bad = tn_any(tn_isnan(x), .dims = TN_DIMS(-2, -1));
    if (!bad || tn_item_int(tn_any(bad)) == 0)
        return bad != NULL;
    char element[48] = "";
    if (bad->ndim)
        snprintf(element, sizeof element,
                 "(Batch element %lld): ", (long long)tn_item_int(tn_argmax(tn_to(bad, .dtype = TN_I32))));
    return tn__error(
               TN_EINVAL,
               "linalg.svd: %sThe algorithm failed to converge because the input matrix contained non-finite values.",
               element),
           false;
}

tn_tensor *tn__fn_nuclear_norm(tn_tensor *x, const tn_nuclear_norm_options *o)
{
    int64_t all[TN_MAX_DIMS], order[TN_MAX_DIMS], back[TN_MAX_DIMS];
    int32_t d[2], n = 0;
    if (!tn__usable("nuclear_norm", x) || !tn__dims_fit("nuclear_norm", &o->dims))
        return NULL;
    for (int32_t i = 0; i < x->ndim; i++)
        all[i] = i;
    if (!is_matrix_norm(x, o->dims.ndim ? &o->dims : TN__DIMS(tn_dims_of(all, x->ndim)), o->dtype, d))
        return NULL;
    if (o->dtype)
        x = tn_to(x, .dtype = o->dtype);
    if (!x)
        return NULL;
    for (int32_t i = 0; i < x->ndim; i++)
        if (i != d[0] && i != d[1])
            order[n++] = i;
    order[n] = d[0];
    order[n + 1] = d[1];
    for (int32_t i = 0; i < x->ndim; i++)
        back[order[i]] = i;
    tn_tensor *matrices = tn_permute(x, tn_dims_of(order, x->ndim));
    tn_tensor *norm = are_numbers(matrices) ? tn__nuclear_norm(matrices) : NULL;
    return o->keepdim ? tn_permute(tn_unsqueeze(tn_unsqueeze(norm, -1), -1), tn_dims_of(back, x->ndim)) : norm;
}

/* ---- by other names ---- */

tn_tensor *tn__fn_frobenius_norm(tn_tensor *x, const tn_dims *dim, const tn_frobenius_norm_options *o)
{
    if (!tn__usable("frobenius_norm", x) || !tn__dims_fit("frobenius_norm", dim))
        return NULL;
    if (dim->ndim > 2)
        return tn__fail(TN_EINVAL, "Expected at most 2 dimensions, but got %d dimensions instead.", (int)dim->ndim);
    return tn_norm(x, .dims = *dim, .keepdim = o->keepdim);
}

tn_tensor *tn__fn_norm_except_dim(tn_tensor *v, int64_t pow, int64_t dim)
{
    int64_t rest[TN_MAX_DIMS];
    int32_t n = 0, own;
    if (!tn__usable("norm_except_dim", v))
        return NULL;
    if (!tn__dtype_is_float(v->dtype))
        return tn__fail(TN_EDTYPE, "norm(): input dtype should be either floating point or complex. Got %s instead.",
                        tn__dtypes[v->dtype].legacy);
    if (dim == -1)
        return tn_norm(v, .p = tn_scalar_i(pow));
    if (tn__wrap_dim(dim, v->ndim, &own))
        return NULL;
    for (int32_t d = 0; d < v->ndim; d++)
        if (d != own)
            rest[n++] = d;
    return n ? tn_norm(v, .p = tn_scalar_i(pow), .dims = tn_dims_of(rest, n), .keepdim = true)
             : tn_norm(tn_unsqueeze(v, 1), .p = tn_scalar_i(pow), .dim = 1);
}
