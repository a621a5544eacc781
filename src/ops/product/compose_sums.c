/* Products that something is added to, and inner ones. */
#include "op/infer.h"
#include "ops/compose.h"

/* x without its values, which do not count where beta is 0, but with its history. */
static tn_tensor *faded(tn_tensor *x)
{
    return tn_masked_fill(x, tn_ones_like(x, .dtype = TN_BOOL), 0);
}

static bool is_nothing(tn_scalar by)
{
    return by.kind && tn__scalar_double(&by) == 0;
}

static bool is_one(tn_scalar by)
{
    return !by.kind || tn__scalar_double(&by) == 1;
}

/* ---- addmv ---- */

static bool is_matrix_and_vectors(const tn_tensor *x, const tn_tensor *mat, const tn_tensor *vec)
{
    if (mat->ndim != 2 || vec->ndim != 1 || x->ndim > 1)
        return tn__error(TN_EINVAL, "vector + matrix @ vector expected, got %d, %d, %d", (int)x->ndim, (int)mat->ndim,
                         (int)vec->ndim),
               false;
    if (mat->shape[1] != vec->shape[0] || (x->numel != 1 && x->shape[0] != mat->shape[0]))
        return tn__error(TN_EINVAL, "size mismatch, got input (%lld), mat (%lldx%lld), vec (%lld)", (long long)x->numel,
                         (long long)mat->shape[0], (long long)mat->shape[1], (long long)vec->shape[0]),
               false;
    if (x->dtype != mat->dtype || x->dtype != vec->dtype)
        return tn__error(TN_EDTYPE, "addmv input tensors must have the same dtype, but got %s, %s, and %s",
                         tn__dtypes[x->dtype].legacy, tn__dtypes[mat->dtype].legacy, tn__dtypes[vec->dtype].legacy),
               false;
    if (x->dtype == TN_BOOL && mat->numel)
        return tn__no_kernel("addmv_impl_cpu", x), false;
    return true;
}

/* One column of a matrix product: addmm adds and scales in the same pass. */
tn_tensor *tn__fn_addmv(tn_tensor *x, tn_tensor *mat, tn_tensor *vec, const tn_addmv_options *o)
{
    if (!tn__usable("addmv", x) || !tn__usable("addmv", mat) || !tn__usable("addmv", vec) ||
        !is_matrix_and_vectors(x, mat, vec))
        return NULL;
    tn_tensor *column =
        tn_addmm(x->ndim ? tn_unsqueeze(x, 1) : x, mat, tn_unsqueeze(vec, 1), .beta = o->beta, .alpha = o->alpha);
    return tn__no_view(tn_squeeze(column, .dim = 1));
}

/* ---- addr ---- */

static bool is_factor(tn_scalar by, const char *name, tn_dtype d)
{
    if (by.kind == TN_SCALAR_FLOAT && !tn__dtype_is_float(d))
        return tn__error(TN_EDTYPE, "For integral input tensors, argument %s must not be a floating point number.",
                         name),
               false;
    return by.kind == TN_SCALAR_NONE || !tn__number_check(&by, tn__between(d));
}

/* Of bools 'or' adds, and 'and' multiplies. */
static tn_tensor *addr_bools(tn_tensor *x, tn_tensor *products, bool adds, bool multiplies)
{
    if (!multiplies)
        products = tn_zeros_like(products);
    return adds ? tn_logical_or(x, products) : products;
}

tn_tensor *tn__fn_addr(tn_tensor *x, tn_tensor *a, tn_tensor *b, const tn_addr_options *o)
{
    if (!tn__usable("addr", x) || !tn__usable("addr", a) || !tn__usable("addr", b))
        return NULL;
    if (a->ndim != 1 || b->ndim != 1)
        return tn__fail(TN_EINVAL, "addr: Expected 1-D argument %s, but got %d-D", a->ndim != 1 ? "vec1" : "vec2",
                        (int)(a->ndim != 1 ? a->ndim : b->ndim));
    const int64_t shape[2] = {a->shape[0], b->shape[0]};
    const tn_dtype d = tn_promote_types(x->dtype, tn_promote_types(a->dtype, b->dtype));
    if (tn__check_expand(x, shape, 2) || !is_factor(o->beta, "beta", d) || !is_factor(o->alpha, "alpha", d))
        return NULL;
    if (!x->ndim && !(x = tn_expand(x, TN_SHAPE(1)))) /* its dtype counts as that of what it is expanded to */
        return NULL;
    tn_tensor *rows = tn_unsqueeze(a, 1);
    if (d == TN_BOOL)
        return addr_bools(x, tn_logical_and(rows, b), !is_nothing(o->beta), !is_nothing(o->alpha));
    if (is_nothing(o->beta))
        x = faded(x);
    else if (!is_one(o->beta))
        x = tn_mul(x, o->beta);
    return is_one(o->alpha) ? tn_addcmul(x, rows, b) : tn_addcmul(x, rows, b, .value = o->alpha);
}

/* ---- addbmm ---- */

static bool are_batches(const tn_tensor *x, const tn_tensor *a, const tn_tensor *b)
{
    int64_t shape[2];
    for (int32_t d = 0; d < 2; d++) {
        const tn_tensor *t = d ? b : a;
        int32_t at;
        if (tn__wrap_own_dim(d + 1, t->ndim, &at))
            return false;
        shape[d] = t->shape[at];
    }
    if (tn__check_expand(x, shape, 2))
        return false;
    if (a->ndim != 3 || b->ndim != 3)
        return tn__error(TN_EINVAL, "%s must be a 3D tensor", a->ndim != 3 ? "batch1" : "batch2"), false;
    if (a->shape[0] != b->shape[0])
        return tn__error(TN_EINVAL, "batch1 and batch2 must have same number of batches, got %lld and %lld",
                         (long long)a->shape[0], (long long)b->shape[0]),
               false;
    if (a->shape[2] != b->shape[1])
        return tn__error(TN_EINVAL, "Incompatible matrix sizes for bmm (%lldx%lld and %lldx%lld)",
                         (long long)a->shape[1], (long long)a->shape[2], (long long)b->shape[1],
                         (long long)b->shape[2]),
               false;
    return true;
}

/* A sum over batches is one product, whose inner dimension is all batches' inner dimensions. */
tn_tensor *tn__fn_addbmm(tn_tensor *x, tn_tensor *a, tn_tensor *b, const tn_addbmm_options *o)
{
    if (!tn__usable("addbmm", x) || !tn__usable("addbmm", a) || !tn__usable("addbmm", b) || !are_batches(x, a, b))
        return NULL;
    const int64_t inner = a->shape[0] * a->shape[2];
    tn_tensor *left = tn_reshape(tn_transpose(a, 0, 1), TN_SHAPE(a->shape[1], inner));
    return tn_addmm(x, left, tn_reshape(b, TN_SHAPE(inner, b->shape[2])), .beta = o->beta, .alpha = o->alpha);
}

/* ---- inner ---- */

tn_tensor *tn__fn_inner(tn_tensor *a, tn_tensor *b)
{
    if (!tn__usable("inner", a) || !tn__usable("inner", b))
        return NULL;
    if (a->ndim == 0 || b->ndim == 0)
        return tn_mul(a, b);
    if (a->shape[a->ndim - 1] != b->shape[b->ndim - 1])
        return tn__fail(TN_EINVAL,
                        "inner() the last dimension must match on both input tensors but got shapes %s and %s",
                        tn__shape_str(a->shape, a->ndim).s, tn__shape_str(b->shape, b->ndim).s);
    if (a->ndim == 1 && b->ndim == 1 && a->dtype == b->dtype)
        return tn_dot(a, b);
    return tn_tensordot(a, b, TN_SHAPE(-1), TN_SHAPE(-1));
}

/* ---- bilinear ---- */

/* PyTorch asks for these sizes, and says no more than that they are not there. */
static bool has_dim(const tn_tensor *t, int d)
{
    if (t->ndim == 0)
        tn__error(TN_EINDEX, "Dimension specified as %d but tensor has no dimensions", d);
    else if (d >= t->ndim)
        tn__error(TN_EINDEX, "Dimension out of range (expected to be in range of [%d, %d], but got %d)", -(int)t->ndim,
                  (int)t->ndim - 1, d);
    return t->ndim && d < t->ndim;
}

static bool are_bilinear(const tn_tensor *x1, const tn_tensor *x2, const tn_tensor *w, const tn_tensor *bias)
{
    if (x1->dtype != x2->dtype || x1->dtype != w->dtype || (bias && bias->dtype != x1->dtype))
        return tn__error(TN_EDTYPE, "All tensors must have the same dtype, got input1: %s, input2: %s, weight: %s%s%s",
                         tn__dtypes[x1->dtype].scalar, tn__dtypes[x2->dtype].scalar, tn__dtypes[w->dtype].scalar,
                         bias ? ", bias: " : "", bias ? tn__dtypes[bias->dtype].scalar : ""),
               false;
    if (x1->ndim != x2->ndim)
        return tn__error(TN_EINVAL, "bilinear(): input dimensions do not match: got %d and %d", (int)x1->ndim,
                         (int)x2->ndim),
               false;
    for (int32_t d = 0; d < x1->ndim - 1; d++)
        if (x1->shape[d] != x2->shape[d])
            return tn__error(TN_EINVAL, "bilinear(): input batch dimensions do not match at dim %d: got %lld and %lld",
                             (int)d, (long long)x1->shape[d], (long long)x2->shape[d]),
                   false;
    for (int i = 0; i < 2; i++) {
        const tn_tensor *x = i ? x2 : x1;
        if (!has_dim(w, i + 1) || !has_dim(x, -1))
            return false;
        if (x->shape[x->ndim - 1] != w->shape[i + 1])
            return tn__error(TN_EINVAL,
                             "bilinear(): input%d size does not match weight size: got %lld but expected %lld", i + 1,
                             (long long)x->shape[x->ndim - 1], (long long)w->shape[i + 1]),
                   false;
    }
    if (bias && !has_dim(bias, 0))
        return false;
    if (bias && bias->shape[0] != w->shape[0])
        return tn__error(TN_EINVAL, "bilinear(): bias size does not match weight size: got %lld but expected %lld",
                         (long long)bias->shape[0], (long long)w->shape[0]),
               false;
    if (w->ndim != 3)
        return tn__error(TN_EINVAL, "number of dimensions must match"), false;
    return true;
}

/* result[n, o] = sum over i, j of x1[n, i] weight[o, i, j] x2[n, j]: a product with weight as [i, o j], then one with x2 for
 * each row. */
tn_tensor *tn__fn_bilinear(tn_tensor *x1, tn_tensor *x2, tn_tensor *w, tn_tensor *bias)
{
    bias = tn__given(bias);
    if (!tn__usable("bilinear", x1) || !tn__usable("bilinear", x2) || !tn__usable("bilinear", w) ||
        !are_bilinear(x1, x2, w, bias))
        return NULL;
    int64_t shape[TN_MAX_DIMS];
    const int64_t o = w->shape[0], i = w->shape[1], j = w->shape[2], n = tn__numel(x1->shape, x1->ndim - 1);
    for (int32_t d = 0; d < x1->ndim - 1; d++)
        shape[d] = x1->shape[d];
    shape[x1->ndim - 1] = o;
    tn_tensor *rows = tn_mm(tn_reshape(x1, TN_SHAPE(n, i)), tn_reshape(tn_transpose(w, 0, 1), TN_SHAPE(i, o * j)));
    tn_tensor *r = tn_bmm(tn_reshape(rows, TN_SHAPE(n, o, j)), tn_reshape(x2, TN_SHAPE(n, j, 1)));
    r = tn__no_view(tn_reshape(r, tn_dims_of(shape, x1->ndim)));
    return bias ? tn_add(r, bias) : r;
}
