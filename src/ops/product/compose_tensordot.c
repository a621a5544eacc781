/* Products summed over pairs of dimensions: each tensor becomes a matrix. */
#include "ops/compose.h"

/* One tensor's dimensions: those that are summed over, and the others. */
typedef struct split {
    int32_t n, others;
    int64_t summed[TN_MAX_DIMS], other[TN_MAX_DIMS];
} split;

static bool split_dims(const tn_tensor *t, const tn_dims *dims, split *s)
{
    uint32_t seen = 0;
    s->n = dims->ndim;
    s->others = 0;
    for (int32_t i = 0; i < dims->ndim; i++) {
        int32_t d;
        if (tn__wrap_own_dim(dims->dim[i], t->ndim, &d))
            return false;
        s->summed[i] = d;
    }
    for (int32_t i = 0; i < dims->ndim; i++) {
        if (seen >> s->summed[i] & 1)
            return tn__error(TN_EINVAL, "dim %d appears multiple times in the list of dims", (int)s->summed[i]), false;
        seen |= 1U << s->summed[i];
    }
    for (int32_t d = 0; d < t->ndim; d++)
        if (!(seen >> d & 1))
            s->other[s->others++] = d;
    return true;
}

/* Sizes that go together: what stands beside a size of 1 is summed first. */
static bool match_sizes(tn_tensor **a, const split *of_a, tn_tensor **b, const split *of_b)
{
    for (int32_t k = 0; k < of_a->n; k++) {
        const int64_t i = of_a->summed[k], j = of_b->summed[k], m = (*a)->shape[i], n = (*b)->shape[j];
        if (m == 1 && n != 1)
            *b = tn_sum(*b, .dim = j, .keepdim = true, .dtype = (*b)->dtype);
        else if (n == 1 && m != 1)
            *a = tn_sum(*a, .dim = i, .keepdim = true, .dtype = (*a)->dtype);
        else if (m != n)
            return tn__error(TN_EINVAL,
                             "contracted dimensions need to match, but first has size %lld in dim %lld and second has "
                             "size %lld in dim %lld",
                             (long long)m, (long long)i, (long long)n, (long long)j),
                   false;
        if (!*a || !*b)
            return false;
    }
    return true;
}

/* The sizes of some dimensions, and their product. */
static int64_t sizes_of(const tn_tensor *t, const int64_t *dims, int32_t n, int64_t *to)
{
    int64_t all = 1;
    for (int32_t i = 0; i < n; i++)
        all *= to[i] = t->shape[dims[i]];
    return all;
}

/* t as a matrix: the dimensions of first, then those of second. */
static tn_tensor *as_matrix(tn_tensor *t, const int64_t *first, int32_t n, const int64_t *second, int32_t m)
{
    int64_t order[TN_MAX_DIMS], sizes[TN_MAX_DIMS];
    for (int32_t i = 0; i < n + m; i++)
        order[i] = i < n ? first[i] : second[i - n];
    const int64_t rows = sizes_of(t, first, n, sizes), columns = sizes_of(t, second, m, sizes);
    return tn_reshape(tn_permute(t, tn_dims_of(order, n + m)), TN_SHAPE(rows, columns));
}

tn_tensor *tn__fn_tensordot(tn_tensor *a, tn_tensor *b, const tn_dims *dims_self, const tn_dims *dims_other)
{
    split of_a, of_b;
    int64_t shape[2 * TN_MAX_DIMS];
    if (!tn__usable("tensordot", a) || !tn__usable("tensordot", b) || !tn__dims_fit("tensordot", dims_self) ||
        !tn__dims_fit("tensordot", dims_other))
        return NULL;
    if (dims_self->ndim != dims_other->ndim)
        return tn__fail(TN_EINVAL, "both dimension lists should have same length");
    if (a->dtype != b->dtype)
        return tn__fail(TN_EINVAL, "both inputs should have same dtype");
    if (!split_dims(a, dims_self, &of_a) || !split_dims(b, dims_other, &of_b) || !match_sizes(&a, &of_a, &b, &of_b))
        return NULL;
    if (of_a.others + of_b.others > TN_MAX_DIMS)
        return tn__fail(TN_EINVAL, "tensordot: the result would have %d dimensions, more than %d",
                        (int)(of_a.others + of_b.others), TN_MAX_DIMS);
    sizes_of(a, of_a.other, of_a.others, shape);
    sizes_of(b, of_b.other, of_b.others, shape + of_a.others);
    tn_tensor *left = as_matrix(a, of_a.other, of_a.others, of_a.summed, of_a.n);
    tn_tensor *right = as_matrix(b, of_b.summed, of_b.n, of_b.other, of_b.others);
    if (left && right && a->dtype == TN_BOOL && left->shape[0] == 1 &&
        right->shape[1] == 1) /* PyTorch's kernel there */
        return tn__no_kernel("dot", a), NULL;
    return tn_reshape(tn_matmul(left, right), tn_dims_of(shape, of_a.others + of_b.others));
}
