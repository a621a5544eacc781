/* Distances and products composed of operations. */
#include "op/infer.h"
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

/* |a - b|^2 = |a|^2 + |b|^2 - 2 a b: a product of matrices, as PyTorch has it. */
tn_tensor *tn__fn__euclidean(const tn_scalar *in, tn__euclidean_params *p)
{
    tn_tensor *x1 = in[0].v.t, *x2 = in[1].v.t;
    const tn_dtype d = x1->dtype;
    if (p->wide) {
        x1 = tn_to(x1, .dtype = TN_F32);
        x2 = tn_to(x2, .dtype = TN_F32);
    }
    tn_tensor *of1 = tn_sum(tn_square(x1), .dim = -1, .keepdim = true), *of2 = tn_sum(tn_square(x2), .dim = -1);
    tn_tensor *both = tn_add(of1, tn_unsqueeze(of2, -2)), *turned = tn_transpose(x2, -2, -1);
    tn_tensor *squares = x1 && x1->ndim == 2 ? tn_addmm(both, x1, turned, .alpha = TN_SCALAR(-2))
                                             : tn__add_product(both, tn_matmul(x1, turned), tn_scalar_i(-2));
    tn_tensor *r = tn_sqrt_(tn_clamp_min_(squares, 0));
    return p->wide ? tn_to(r, .dtype = d) : r;
}

/* Each row is read many times; one whose elements lie apart is copied first. */
static tn_tensor *rows_in_one_piece(tn_tensor *x)
{
    return x && x->stride[x->ndim - 1] != 1 && x->shape[x->ndim - 1] > 1 ? tn_contiguous(x) : x;
}

/* Both with the same batch dimensions, which are one for the kernel. */
static tn_tensor *in_a_pass(tn_tensor *x1, tn_tensor *x2, double p)
{
    const int64_t n = x1->shape[x1->ndim - 2], r = x2->shape[x2->ndim - 2], m = x1->shape[x1->ndim - 1];
    const int64_t batch = tn__numel(x1->shape, x1->ndim - 2);
    int64_t shape[TN_MAX_DIMS];
    const int32_t ndim = x1->ndim;
    if (!(x1 = rows_in_one_piece(x1)) || !(x2 = rows_in_one_piece(x2)))
        return NULL;
    if (ndim == 3)
        return tn__distances(x1, x2, p, false);
    for (int32_t d = 0; d < ndim - 2; d++)
        shape[d] = x1->shape[d];
    shape[ndim - 2] = n;
    shape[ndim - 1] = r;
    tn_tensor *all =
        tn__distances(tn_reshape(x1, TN_SHAPE(batch, n, m)), tn_reshape(x2, TN_SHAPE(batch, r, m)), p, false);
    return tn__no_view(tn_reshape(all, tn_dims_of(shape, ndim)));
}

/* Expanded to the batch dimensions of both. */
static bool expand_batches(tn_tensor **x1, tn_tensor **x2)
{
    int64_t shape[TN_MAX_DIMS];
    int32_t n;
    if (!tn__batch_shape(*x1, *x2, shape, &n))
        return false;
    for (int i = 0; i < 2; i++) {
        tn_tensor **x = i ? x2 : x1;
        shape[n] = (*x)->shape[(*x)->ndim - 2];
        shape[n + 1] = (*x)->shape[(*x)->ndim - 1];
        if (!tn__same_shape(shape, n + 2, (*x)->shape, (*x)->ndim) && !(*x = tn_expand(*x, tn_dims_of(shape, n + 2))))
            return false;
    }
    return true;
}

tn_tensor *tn__fn_cdist(tn_tensor *x1, tn_tensor *x2, const tn_cdist_options *o)
{
    const double p = tn__number_or(o->p, 2);
    const tn_tensor *both[] = {x1, x2};
    if (!are_rows(both))
        return NULL;
    const bool many = o->product || x1->shape[x1->ndim - 2] > 25 || x2->shape[x2->ndim - 2] > 25;
    const bool exact = p != 2 || o->exact || !many;
    if (exact && x1->numel && x2->numel && (x1->dtype == TN_F16 || x1->dtype == TN_BF16)) /* as PyTorch: no kernel */
        return tn__no_kernel("cdist", x1), NULL;
    if (p < 0)
        return tn__fail(TN_EINVAL, "cdist only supports non-negative p values");
    if (x1->dtype != x2->dtype)
        return exact ? tn__fail(TN_EDTYPE, "expected scalar type %s but found %s", tn__dtypes[x1->dtype].legacy,
                                tn__dtypes[x2->dtype].legacy)
                     : tn__fail(TN_EDTYPE, "expected m1 and m2 to have the same dtype, but got: %s != %s",
                                tn__dtypes[x1->dtype].scalar, tn__dtypes[x2->dtype].scalar);
    if (!expand_batches(&x1, &x2))
        return NULL;
    if (!exact)
        return tn__euclidean(x1, x2, x1->dtype == TN_F16 || x1->dtype == TN_BF16); /* their squares go beyond them */
    if (!tn__words_of(x1->device).gpu && (x1->dtype == TN_F32 || x1->dtype == TN_F64))
        return in_a_pass(x1, x2, p);
    return tn_norm(tn_sub(tn_unsqueeze(x1, -2), tn_unsqueeze(x2, -3)), .p = tn_scalar_f(p), .dim = -1);
}

/* Distances of all rows to all, of which the upper triangle is wanted. */
tn_tensor *tn__fn_pdist(tn_tensor *x, const tn_pdist_options *o)
{
    const double p = tn__number_or(o->p, 2);
    if (!tn__usable("pdist", x))
        return NULL;
    if (x->ndim != 2)
        return tn__fail(TN_EINVAL, "pdist only supports 2D tensors, got: %dD", (int)x->ndim);
    if (!tn__dtype_is_float(x->dtype))
        return tn__fail(TN_EINVAL, "pdist only supports floating-point dtypes");
    if (p < 0)
        return tn__fail(TN_EINVAL, "pdist only supports non-negative p values");
    if ((x->dtype == TN_F16 || x->dtype == TN_BF16) && x->shape[0] > 1)
        return tn__no_kernel("pdist", x), NULL;
    const int64_t n = x->shape[0];
    if (n < 2)
        return tn_clone(tn_reshape(tn_narrow(x, 0, 0, 0), TN_SHAPE(0)));
    const bool here = !tn__words_of(x->device).gpu;
    if (here) {
        tn_tensor *rows = rows_in_one_piece(tn_unsqueeze(x, 0));
        return tn__distances(rows, tn_detach(rows), p, true);
    }
    tn_tensor *all = tn_cdist(x, x, .p = tn_scalar_f(p), .exact = true);
    tn_tensor *upper = tn_triu(tn_ones(TN_SHAPE(n, n), .dtype = TN_BOOL, .device = x->device), 1);
    return tn_masked_select(all, upper);
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
