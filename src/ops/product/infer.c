/* Shape rules of matrix products. */
#include "op/infer.h"

/* What the CPU's kernel is called in PyTorch. */
static const char *kernel_name(tn__op_id op)
{
    switch (op) {
    case TN__OP_mm:
    case TN__OP_linear:
    case TN__OP_addmm: return "addmm_impl_cpu_";
    case TN__OP_mv: return "addmv_impl_cpu";
    default: return tn__op_name(op);
    }
}

/* multiplies: is there a product at all? Of nothing any dtype will do. */
static tn_status check_dtypes(const tn__call *c, const tn_tensor *a, const tn_tensor *b, bool multiplies)
{
    if (a->dtype != b->dtype) {
        if (c->op == TN__OP_addmm || (c->op == TN__OP_linear && tn__in_or_null(c, 2)))
            return tn__error(TN_EDTYPE, "mat1 and mat2 must have the same dtype, but got %s and %s",
                             tn__dtypes[a->dtype].legacy, tn__dtypes[b->dtype].legacy);
        if (c->op == TN__OP_bmm && a->dtype == TN_BOOL && multiplies)
            return tn__no_dtype("bmm", TN_BOOL);
        if (c->op == TN__OP_bmm)
            return tn__error(TN_EDTYPE, "expected scalar type %s but found %s", tn__dtypes[a->dtype].legacy,
                             tn__dtypes[b->dtype].legacy);
        if (c->op == TN__OP_mv)
            return tn__error(TN_EDTYPE, "addmv input tensors must have the same dtype, but got %s, %s, and %s",
                             tn__dtypes[b->dtype].legacy, tn__dtypes[a->dtype].legacy, tn__dtypes[b->dtype].legacy);
        if (c->op == TN__OP_dot)
            return tn__error(TN_EDTYPE, "dot : expected both vectors to have same dtype, but found %s and %s",
                             tn__dtypes[a->dtype].legacy, tn__dtypes[b->dtype].legacy);
        return tn__error(TN_EDTYPE, "expected m1 and m2 to have the same dtype, but got: %s != %s",
                         tn__dtypes[a->dtype].scalar, tn__dtypes[b->dtype].scalar);
    }
    const bool none = a->dtype == TN_BOOL || tn__dtype_is_bare(a->dtype);
    return none && multiplies ? tn__no_dtype(kernel_name(c->op), a->dtype) : TN_OK;
}

static tn_status cannot_multiply(const char *by, int64_t m, int64_t k, int64_t k2, int64_t n)
{
    return tn__error(TN_EINVAL, "%s: mat1 and mat2 shapes cannot be multiplied (%lldx%lld and %lldx%lld)", by,
                     (long long)m, (long long)k, (long long)k2, (long long)n);
}

static tn_status sizes_differ(int64_t m, int64_t k, int64_t n)
{
    return tn__error(TN_EINVAL, "size mismatch, got input (%lld), mat (%lldx%lld), vec (%lld)", (long long)m,
                     (long long)m, (long long)k, (long long)n);
}

static tn_status lengths_differ(int64_t a, int64_t b)
{
    return tn__error(TN_EINVAL,
                     "inconsistent tensor size, expected tensor [%lld] and src [%lld] to have the same "
                     "number of elements, but got %lld and %lld elements respectively",
                     (long long)a, (long long)b, (long long)a, (long long)b);
}

static tn_status check_matrices(const char *by, const tn_tensor *a, const tn_tensor *b)
{
    if (a->ndim != 2 || b->ndim != 2)
        return tn__error(TN_EINVAL, "%s: %s must be a matrix, got %d-D tensor", by, a->ndim != 2 ? "self" : "mat2",
                         (int)(a->ndim != 2 ? a->ndim : b->ndim));
    return a->shape[1] == b->shape[0] ? TN_OK : cannot_multiply(by, a->shape[0], a->shape[1], b->shape[0], b->shape[1]);
}

static tn_status set_result(tn__call *c, tn_dtype dtype, int32_t ndim, int64_t d0, int64_t d1, int64_t d2)
{
    tn__spec_set(&c->spec[0], dtype, (int64_t[]){d0, d1, d2}, ndim);
    return tn__infer_one(c);
}

tn_status tn__infer_mm(tn__call *c)
{
    const tn_tensor *a = tn__in(c, 0), *b = tn__in(c, 1);
    tn_status e = check_matrices("mm", a, b);
    if (!e)
        e = check_dtypes(c, a, b, a->numel && b->numel);
    return e ? e : set_result(c, a->dtype, 2, a->shape[0], b->shape[1], 0);
}

tn_status tn__infer_bmm(tn__call *c)
{
    const tn_tensor *a = tn__in(c, 0), *b = tn__in(c, 1);
    if (a->ndim != 3 || b->ndim != 3)
        return tn__error(TN_EINVAL, a->ndim != 3 ? "batch1 must be a 3D tensor" : "batch2 must be a 3D tensor");
    if (a->shape[0] != b->shape[0] || a->shape[2] != b->shape[1])
        return tn__error(TN_EINVAL,
                         "Expected size for first two dimensions of batch2 tensor to be: [%lld, %lld] but "
                         "got: [%lld, %lld].",
                         (long long)a->shape[0], (long long)a->shape[2], (long long)b->shape[0],
                         (long long)b->shape[1]);
    tn_status e = check_dtypes(c, a, b, a->numel && b->numel);
    return e ? e : set_result(c, a->dtype, 3, a->shape[0], a->shape[1], b->shape[2]);
}

tn_status tn__infer_addmm(tn__call *c)
{
    tn__addmm_params *p = c->params;
    const tn_tensor *bias = tn__in(c, 0), *a = tn__in(c, 1), *b = tn__in(c, 2);
    tn_status e = check_matrices("addmm", a, b);
    if (!e && bias->dtype != b->dtype)
        return tn__error(TN_EDTYPE, "self and mat2 must have the same dtype, but got %s and %s",
                         tn__dtypes[bias->dtype].legacy, tn__dtypes[b->dtype].legacy);
    if (e || (e = check_dtypes(c, a, b, false)))
        return e;
    const bool whole = !tn__dtype_is_float(a->dtype);
    const tn_dtype between = whole ? a->dtype : tn__dtypes[a->dtype].compute;
    const tn_scalar *beta = &p->beta, *alpha = &p->alpha;
    if (whole && ((e = tn__number_check(beta, between)) || (e = tn__number_check(alpha, between))))
        return e;
    const int64_t shape[2] = {a->shape[0], b->shape[1]};
    if (!c->inplace && (e = tn__check_expand(bias, shape, 2)))
        return e;
    /* in place, the door wants the very shape, and says so before dtypes and numbers are */
    const bool fits = !c->inplace || tn__same_shape(bias->shape, bias->ndim, shape, 2);
    if (fits && ((e = check_dtypes(c, a, b, a->numel && b->numel)) || (e = tn__number_check(beta, between)) ||
                 (e = tn__number_check(alpha, between))))
        return e;
    return set_result(c, a->dtype, 2, shape[0], shape[1], 0);
}

tn_status tn__infer_mv(tn__call *c)
{
    const tn_tensor *a = tn__in(c, 0), *v = tn__in(c, 1);
    if (a->ndim == 0)
        return tn__error(TN_EINDEX, "Dimension specified as 0 but tensor has no dimensions");
    if (a->ndim != 2 || v->ndim != 1)
        return tn__error(TN_EINVAL, "vector + matrix @ vector expected, got 1, %d, %d", (int)a->ndim, (int)v->ndim);
    if (a->shape[1] != v->shape[0])
        return sizes_differ(a->shape[0], a->shape[1], v->shape[0]);
    tn_status e = check_dtypes(c, a, v, a->numel);
    return e ? e : set_result(c, a->dtype, 1, a->shape[0], 0, 0);
}

tn_status tn__infer_dot(tn__call *c)
{
    const tn_tensor *a = tn__in(c, 0), *b = tn__in(c, 1);
    if (a->ndim != 1 || b->ndim != 1)
        return tn__error(TN_EINVAL, "1D tensors expected, but got %dD and %dD tensors", (int)a->ndim, (int)b->ndim);
    tn_status e = check_dtypes(c, a, b, true);
    if (e)
        return e;
    if (a->shape[0] != b->shape[0])
        return lengths_differ(a->shape[0], b->shape[0]);
    return set_result(c, a->dtype, 0, 0, 0, 0);
}

/* That the shapes of x, weight and bias go together, rows being all of x's dimensions but the last. */
static tn_status check_linear(const tn_tensor *x, const tn_tensor *w, const tn_tensor *b)
{
    if (x->ndim < 1 || w->ndim < 1)
        return tn__error(TN_EINVAL, "both arguments to linear need to be at least 1D, but they are %dD and %dD",
                         (int)x->ndim, (int)w->ndim);
    if (w->ndim > 2)
        return tn__error(TN_EINVAL, "t() expects a tensor with <= 2 dimensions, but self is %dD", (int)w->ndim);
    const int64_t k = w->shape[w->ndim - 1], last = x->shape[x->ndim - 1], rows = tn__numel(x->shape, x->ndim - 1);
    if (last != k && w->ndim == 2)
        return cannot_multiply(b ? "addmm" : "mm", rows, last, k, w->shape[0]);
    if (last != k)
        return x->ndim == 1 ? lengths_differ(last, k) : sizes_differ(rows, last, k);
    if (!b || b->ndim == 0 || (b->ndim == 1 && (b->shape[0] == 1 || (w->ndim == 2 && b->shape[0] == w->shape[0]))))
        return TN_OK;
    if (b->ndim > 1 || w->ndim == 1)
        return tn__error(TN_EINVAL, "linear: bias %s does not fit weight %s", tn__shape_str(b->shape, b->ndim).s,
                         tn__shape_str(w->shape, w->ndim).s);
    return tn__error(TN_EINVAL,
                     "The expanded size of the tensor (%lld) must match the existing size (%lld) at non-singleton "
                     "dimension 1.  Target sizes: [%lld, %lld].  Tensor sizes: [%lld]",
                     (long long)w->shape[0], (long long)b->shape[0], (long long)rows, (long long)w->shape[0],
                     (long long)b->shape[0]);
}

tn_status tn__infer_linear(tn__call *c)
{
    const tn_tensor *x = tn__in(c, 0), *w = tn__in(c, 1), *b = tn__in_or_null(c, 2);
    tn_status e = check_linear(x, w, b);
    if (e || (e = check_dtypes(c, x, w, x->numel && w->numel)))
        return e;
    if (b && b->dtype != x->dtype)
        return tn__error(TN_EDTYPE, "self and mat2 must have the same dtype, but got %s and %s",
                         tn__dtypes[b->dtype].legacy, tn__dtypes[x->dtype].legacy);
    tn__spec_set(&c->spec[0], x->dtype, x->shape, x->ndim - 1);
    if (w->ndim == 2)
        c->spec[0].shape[c->spec[0].ndim++] = w->shape[0];
    c->variant = x->ndim == 2 ? (b ? 0 : 1) : x->ndim == 1 && !b ? 3 : 2;
    return tn__infer_one(c);
}

/* [B, n, m] and [B, r, m] have distances [B, n, r]; tn__fn_cdist has made them so. */
tn_status tn__infer_distances(tn__call *c)
{
    const tn_tensor *x1 = tn__in(c, 0), *x2 = tn__in(c, 1);
    if (x1->ndim != 3 || x2->ndim != 3 || x1->shape[0] != x2->shape[0] || x1->shape[2] != x2->shape[2])
        return tn__error(TN_EINVAL, "cdist: batches of rows %s and %s do not fit", tn__shape_str(x1->shape, x1->ndim).s,
                         tn__shape_str(x2->shape, x2->ndim).s);
    if (x1->dtype != x2->dtype)
        return tn__error(TN_EDTYPE, "expected scalar type %s but found %s", tn__dtypes[x1->dtype].legacy,
                         tn__dtypes[x2->dtype].legacy);
    if (x1->dtype != TN_F32 && x1->dtype != TN_F64)
        return tn__no_dtype("cdist", x1->dtype);
    const tn__distances_params *p = c->params;
    int64_t pairs;
    if (!p->upper)
        return set_result(c, x1->dtype, 3, x1->shape[0], x1->shape[1], x2->shape[1]);
    if (x1->shape[0] != 1 || x1->shape[1] < 1 || x1->shape[1] != x2->shape[1])
        return tn__error(TN_EINVAL, "pdist: rows %s are not one matrix", tn__shape_str(x1->shape, x1->ndim).s);
    if (__builtin_mul_overflow(x1->shape[1], x1->shape[1] - 1, &pairs))
        return tn__error(TN_EINVAL, "pdist: the result would have more elements than an index can count");
    return set_result(c, x1->dtype, 1, pairs / 2, INT64_C(0), INT64_C(0));
}

/* Of all rows to all, or of each two. */
static bool are_distances(const tn_tensor *g, const tn_tensor *x1, const tn_tensor *x2)
{
    const int64_t n = x1->shape[1];
    if (g->ndim == 1)
        return x1->shape[0] == 1 && n == x2->shape[1] && n < INT32_MAX && g->shape[0] == n * (n - 1) / 2;
    return tn__same_shape(g->shape, g->ndim, (int64_t[]){x1->shape[0], n, x2->shape[1]}, 3);
}

tn_status tn__infer_distances_backward(tn__call *c)
{
    const tn_tensor *g = tn__in(c, 0), *x1 = tn__in(c, 1), *x2 = tn__in(c, 2), *known = tn__in(c, 3);
    if (x1->ndim != 3 || x2->ndim != 3 || !tn__same_shape(g->shape, g->ndim, known->shape, known->ndim) ||
        !are_distances(g, x1, x2))
        return tn__error(TN_EINVAL, "cdist: a gradient of %s distances is not of rows %s",
                         tn__shape_str(g->shape, g->ndim).s, tn__shape_str(x1->shape, x1->ndim).s);
    if (x1->dtype != x2->dtype || x1->dtype != g->dtype || x1->dtype != known->dtype)
        return tn__error(TN_EDTYPE, "expected scalar type %s but found %s", tn__dtypes[x1->dtype].legacy,
                         tn__dtypes[x1->dtype != x2->dtype ? x2->dtype : g->dtype].legacy);
    if (x1->dtype != TN_F32 && x1->dtype != TN_F64)
        return tn__no_dtype("cdist_backward", x1->dtype);
    return set_result(c, x1->dtype, 3, x1->shape[0], x1->shape[1], x1->shape[2]);
}
