/* Functions of the family product that are composed of others. */
#include "op/infer.h"
#include "ops/compose.h"

/* ---- sums of products ---- */

/* Integers are multiplied by the whole part of the number. */
static tn_tensor *scaled(tn_tensor *x, tn_scalar by)
{
    if (!x || !by.kind)
        return x;
    return tn__dtype_is_float(x->dtype) ? tn_mul(x, by) : tn_mul(x, tn__scalar_int(&by));
}

/* PyTorch asks for the result's shape first, then for dtypes; the rest bmm says. */
static bool adds_products(tn_tensor *x, tn_tensor *a, tn_tensor *b)
{
    int64_t shape[3];
    for (int32_t d = 0; d < 3; d++) {
        const tn_tensor *t = d < 2 ? a : b;
        int32_t at;
        if (tn__wrap_own_dim(d, t->ndim, &at))
            return false;
        shape[d] = t->shape[at];
    }
    if (tn__check_expand(x, shape, 3))
        return false;
    if (x->dtype != a->dtype) {
        tn__error(TN_EDTYPE, "Input dtypes must be the same, got: input %s, batch1: %s, batch2: %s",
                  tn__dtypes[x->dtype].scalar, tn__dtypes[a->dtype].scalar, tn__dtypes[b->dtype].scalar);
        return false;
    }
    const bool fits = a->ndim == 3 && b->ndim == 3 && a->shape[0] == b->shape[0] && a->shape[2] == b->shape[1] &&
                      a->numel && b->numel; /* of nothing any dtype will do */
    if (x->dtype == TN_BOOL && fits)
        tn__no_dtype("baddbmm", TN_BOOL);
    return x->dtype != TN_BOOL || !fits;
}

tn_tensor *tn__fn_baddbmm(tn_tensor *x, tn_tensor *a, tn_tensor *b, const tn_baddbmm_options *o)
{
    if (!tn__usable("baddbmm", x) || !tn__usable("baddbmm", a) || !tn__usable("baddbmm", b) || !adds_products(x, a, b))
        return NULL;
    if (tn__number_check(&o->alpha, tn__between(x->dtype)) || tn__number_check(&o->beta, tn__between(x->dtype)))
        return NULL;
    tn_tensor *product = scaled(tn_bmm(a, b), o->alpha);
    if (x->dtype == TN_BOOL) /* of nothing */
        return tn_to(product, .dtype = TN_BOOL);
    if (o->beta.kind && tn__scalar_double(&o->beta) == 0) { /* NaN in x does not count, but x's history does */
        const bool recorded = tn__wants_grad(x) && !tn__self()->no_grad;
        return recorded ? tn_add(product, tn_masked_fill(x, tn_ones_like(x, .dtype = TN_BOOL), 0)) : product;
    }
    if (!o->beta.kind || tn__scalar_double(&o->beta) == 1) {
        const bool plain = product && (tn__self()->no_grad || !(tn__wants_grad(product) || tn__wants_grad(x)));
        const bool within =
            plain && x->dtype == product->dtype && tn__same_shape(x->shape, x->ndim, product->shape, product->ndim);
        return within ? tn_add_(product, x) : tn_add(product, x); /* lies as the product does */
    }
    return tn__add_product(product, tn_scalar_t(x),
                           tn__dtype_is_float(x->dtype) ? o->beta : tn_scalar_i(tn__scalar_int(&o->beta)));
}

/* ---- products ---- */

bool tn__batch_shape(const tn_tensor *a, const tn_tensor *b, int64_t *shape, int32_t *n)
{
    int32_t na = TN_MAX(a->ndim - 2, 0), nb = TN_MAX(b->ndim - 2, 0);
    *n = TN_MAX(na, nb);
    for (int32_t d = 0; d < *n; d++) {
        int64_t x = d < *n - na ? 1 : a->shape[d - (*n - na)], y = d < *n - nb ? 1 : b->shape[d - (*n - nb)];
        if (x != y && x != 1 && y != 1) {
            tn__error(TN_EINVAL,
                      "The size of tensor a (%lld) must match the size of tensor b (%lld) at non-singleton "
                      "dimension %d",
                      (long long)x, (long long)y, (int)d);
            return false;
        }
        shape[d] = x == 1 ? y : x;
    }
    return true;
}

/* t as [batch, rows, cols], expanded to the batch's dimensions. */
static tn_tensor *as_batch(tn_tensor *t, const int64_t *batch, int32_t n, int64_t count)
{
    int64_t shape[TN_MAX_DIMS];
    for (int32_t d = 0; d < n; d++)
        shape[d] = batch[d];
    shape[n] = t->shape[t->ndim - 2];
    shape[n + 1] = t->shape[t->ndim - 1];
    return tn_reshape(tn_expand(t, tn_dims_of(shape, n + 2)), TN_SHAPE(count, shape[n], shape[n + 1]));
}

static tn_tensor *matmul_batched(tn_tensor *a, tn_tensor *b)
{
    int64_t shape[TN_MAX_DIMS];
    int32_t n;
    if (!tn__batch_shape(a, b, shape, &n))
        return NULL;
    int64_t count = tn__numel(shape, n), rows = a->shape[a->ndim - 2], cols = b->shape[b->ndim - 1];
    tn_tensor *c = tn_bmm(as_batch(a, shape, n, count), as_batch(b, shape, n, count));
    shape[n] = rows;
    shape[n + 1] = cols;
    return tn__no_view(tn_view(c, tn_dims_of(shape, n + 2)));
}

tn_tensor *tn__fn_matmul(tn_tensor *a, tn_tensor *b)
{
    if (!tn__usable("matmul", a) || !tn__usable("matmul", b))
        return NULL;
    if (a->ndim == 0 || b->ndim == 0)
        return tn__fail(TN_EINVAL, "both arguments to matmul need to be at least 1D, but they are %dD and %dD",
                        (int)a->ndim, (int)b->ndim);
    if (a->ndim == 1)
        return b->ndim == 1 ? tn_dot(a, b)
                            : tn__no_view(tn_squeeze(tn_matmul(tn_unsqueeze(a, 0), b), .dim = b->ndim - 2));
    const int64_t k = a->shape[a->ndim - 1], rows = tn__numel(a->shape, a->ndim - 1);
    if (a->ndim == 2 && b->ndim <= 2)
        return b->ndim == 1 ? tn_mv(a, b) : tn_mm(a, b);
    if (b->ndim == 1)
        return tn__no_view(tn_view(tn_mv(tn_reshape(a, TN_SHAPE(rows, k)), b), tn_dims_of(a->shape, a->ndim - 1)));
    if (b->ndim == 2) { /* the batch is more rows */
        int64_t shape[TN_MAX_DIMS];
        for (int32_t d = 0; d < a->ndim - 1; d++)
            shape[d] = a->shape[d];
        shape[a->ndim - 1] = b->shape[1];
        return tn__no_view(tn_view(tn_mm(tn_reshape(a, TN_SHAPE(rows, k)), b), tn_dims_of(shape, a->ndim)));
    }
    return matmul_batched(a, b);
}

tn_tensor *tn__fn_outer(tn_tensor *a, tn_tensor *b)
{
    if (!tn__usable("outer", a) || !tn__usable("outer", b))
        return NULL;
    if (a->ndim != 1 || b->ndim != 1)
        return tn__fail(TN_EINVAL, "outer: Expected 1-D argument %s, but got %d-D", a->ndim != 1 ? "self" : "vec2",
                        (int)(a->ndim != 1 ? a->ndim : b->ndim));
    return tn_mul(tn_unsqueeze(a, 1), b);
}
