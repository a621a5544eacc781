/* Products of several matrices, in the order that costs least, and powers of one. */
#include "core/alloc.h"
#include "op/infer.h"
#include "ops/compose.h"

/* ---- multi_dot ---- */

/* Among the products of matrices first .. last: size[i] x size[i + 1] is matrix i. split: where the outermost product of
 * first .. last parts them (Cormen et al., Introduction to Algorithms, 15.2). */
typedef struct chain {
    tn_tensor *const *m;
    int64_t n;
    double *cost;
    int64_t *split, *size;
} chain;

static void order(const chain *c)
{
    const int64_t n = c->n;
    for (int64_t i = 0; i < n; i++)
        c->cost[i * n + i] = 0;
    for (int64_t length = 2; length <= n; length++)
        for (int64_t i = 0; i + length <= n; i++) {
            const int64_t j = i + length - 1;
            c->cost[i * n + j] = -1;
            for (int64_t k = i; k < j; k++) {
                const double all = c->cost[i * n + k] + c->cost[(k + 1) * n + j] +
                                   (double)c->size[i] * (double)c->size[k + 1] * (double)c->size[j + 1];
                if (c->cost[i * n + j] < 0 || all < c->cost[i * n + j]) {
                    c->cost[i * n + j] = all;
                    c->split[i * n + j] = k;
                }
            }
        }
}

static tn_tensor *chained(const chain *c, int64_t first, int64_t last)
{
    if (first == last)
        return c->m[first];
    const int64_t k = c->split[first * c->n + last];
    tn_tensor *a = chained(c, first, k);
    return a ? tn_mm(a, chained(c, k + 1, last)) : NULL;
}

/* Of matrices that fit; at least two. */
static tn_tensor *multiplied(tn_tensor *const *m, int64_t n)
{
    if (n == 2)
        return tn_mm(m[0], m[1]);
    const size_t bytes = (size_t)(n * n) * (sizeof(double) + sizeof(int64_t)) + (size_t)(n + 1) * sizeof(int64_t);
    void *block = tn__block_get(bytes);
    if (!block)
        return tn__error_memory("the order of products", bytes), NULL;
    chain c = {.m = m, .n = n, .cost = block};
    c.split = (int64_t *)(void *)(c.cost + n * n);
    c.size = c.split + n * n;
    for (int64_t i = 0; i < n; i++)
        c.size[i] = m[i]->shape[0];
    c.size[n] = m[n - 1]->shape[1];
    order(&c);
    tn_tensor *r = chained(&c, 0, n - 1);
    tn__block_put(block, bytes);
    return r;
}

/* Vectors are allowed at both ends alone; ends: 1 or 2 dimensions. */
static bool is_chain(const tn_tensors *all)
{
    tn_tensor *const *m = all->t;
    const size_t n = all->n;
    if (n < 2)
        return tn__error(TN_EINVAL, "multi_dot(): expected at least 2 tensors but got %zu", n), false;
    for (size_t i = 0; i < n; i += n - 1)
        if (m[i]->ndim < 1 || m[i]->ndim > 2)
            return tn__error(TN_EINVAL, "multi_dot(): the %s tensor must be 1D or 2D but got %dD", i ? "last" : "first",
                             (int)m[i]->ndim),
                   false;
    for (size_t i = 1; i + 1 < n; i++)
        if (m[i]->ndim != 2)
            return tn__error(TN_EINVAL, "multi_dot(): tensor %zu must be 2D but got %dD", i, (int)m[i]->ndim), false;
    for (size_t i = 1; i < n; i++)
        if (m[i]->dtype != m[0]->dtype)
            return tn__error(TN_EINVAL,
                             "multi_dot(): all tensors must have be the same dtype but tensor 0 is %s and tensor %zu "
                             "%s",
                             tn__dtypes[m[0]->dtype].scalar, i, tn__dtypes[m[i]->dtype].scalar),
                   false;
    return true;
}

static bool fits(const tn_tensors *all, tn_tensor *const *m)
{
    for (size_t i = 0; i + 1 < all->n; i++)
        if (m[i]->shape[1] != m[i + 1]->shape[0])
            return tn__error(TN_EINVAL, "multi_dot(): tensors %zu and %zu with shapes %s and %s cannot be multiplied",
                             i, i + 1, tn__shape_str(m[i]->shape, m[i]->ndim).s,
                             tn__shape_str(m[i + 1]->shape, m[i + 1]->ndim).s),
                   false;
    return true;
}

/* With vectors as matrices of one row, or one column, in a list of its own. */
static tn_tensor *multi_dot(const tn_tensors *all, tn_tensor **m)
{
    const int64_t n = (int64_t)all->n;
    const bool row = all->t[0]->ndim == 1, column = all->t[n - 1]->ndim == 1;
    memcpy(m, all->t, (size_t)n * sizeof *m);
    if ((row && !(m[0] = tn_unsqueeze(m[0], 0))) || (column && !(m[n - 1] = tn_unsqueeze(m[n - 1], 1))) ||
        !fits(all, m))
        return NULL;
    tn_tensor *r = multiplied(m, n);
    if (column)
        r = tn_squeeze(r, .dim = 1);
    if (row)
        r = tn_squeeze(r, .dim = 0);
    return row || column ? tn__no_view(r) : r;
}

static bool is_list(const char *what, const tn_tensors *all)
{
    if ((!all->t && all->n) || all->n > INT32_MAX)
        return tn__error(TN_EINVAL, "%s: not a list of tensors", what), false;
    for (size_t i = 0; i < all->n; i++)
        if (!tn__usable(what, all->t[i]))
            return false;
    return true;
}

tn_tensor *tn__fn_multi_dot(tn_tensors tensors)
{
    if (!is_list("multi_dot", &tensors) || !is_chain(&tensors))
        return NULL;
    const size_t bytes = tensors.n * sizeof(tn_tensor *);
    tn_tensor *few[8], **m = tensors.n <= TN_COUNT(few) ? few : tn__block_get(bytes);
    if (!m)
        return tn__error_memory("the matrices of a product", bytes), NULL;
    tn_tensor *r = multi_dot(&tensors, m);
    if (m != few)
        tn__block_put(m, bytes);
    return r;
}

tn_tensor *tn__fn_chain_matmul(tn_tensors matrices)
{
    if (!is_list("chain_matmul", &matrices))
        return NULL;
    if (matrices.n == 0)
        return tn__fail(TN_EINVAL, "chain_matmul(): Expected one or more matrices");
    for (size_t i = 0; i < matrices.n; i++)
        if (matrices.t[i]->ndim != 2)
            return tn__fail(TN_EINVAL, "Tensor dimension is %d, expected 2 instead.", (int)matrices.t[i]->ndim);
    return matrices.n == 1 ? tn_clone(matrices.t[0]) : tn_multi_dot(matrices);
}

/* ---- matrix_power ---- */

tn_tensor *tn__fn_matrix_power(tn_tensor *x, int64_t n)
{
    if (!tn__usable("matrix_power", x))
        return NULL;
    if (x->ndim < 2)
        return tn__fail(TN_EINVAL, "linalg.matrix_power: The input tensor A must have at least 2 dimensions.");
    const int64_t rows = x->shape[x->ndim - 2], columns = x->shape[x->ndim - 1];
    if (rows != columns)
        return tn__fail(TN_EINVAL,
                        "linalg.matrix_power: A must be batches of square matrices, but they are %lld by %lld matrices",
                        (long long)rows, (long long)columns);
    if (n < 0 && !tn__dtype_is_float(x->dtype))
        return tn__fail(TN_EMISSING, "linalg.inv: Expected a floating point or complex tensor as input. Got %s",
                        tn__dtypes[x->dtype].legacy);
    if (n < 0)
        return tn__fail(TN_EMISSING, "matrix_power: a negative power needs an inverse, which Tenon does not have");
    if (n == 0) { /* the same whatever x is, of which it is a result all the same */
        tn_tensor *one = tn_eye(rows, rows, .dtype = TN_BOOL, .device = x->device);
        return tn_masked_fill(tn_masked_fill(x, tn_logical_not(one), 0), one, 1);
    }
    tn_tensor *power = x, *result = NULL; /* x^(2^i), and the product of those that n has */
    for (; n && power; n >>= 1) {
        if (n & 1)
            result = result ? tn_matmul(result, power) : power;
        if (n > 1)
            power = tn_matmul(power, power);
    }
    return !power ? NULL : result == x ? tn_clone(x) : result;
}
