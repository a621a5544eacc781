/* Derivatives of the family reduce, from public operations. */
#include "autograd/functions.h"

/* The gradient of a reduction's result with the reduced dimensions back, as size 1. */
static tn_tensor *unreduced(const tn__backward *b, tn_tensor *g, const tn__dims *dim, bool keepdim)
{
    const tn__node *n = b->node;
    if (keepdim || g->ndim == n->in[0].ndim)
        return g;
    int64_t shape[TN_MAX_DIMS];
    for (int32_t d = 0; d < n->in[0].ndim; d++)
        shape[d] = n->in[0].shape[d];
    for (int32_t i = 0; i < dim->n; i++)
        shape[dim->d[i]] = 1;
    return tn_reshape(g, tn_dims_of(shape, n->in[0].ndim));
}

static int64_t reduced_count(const tn__node *n, const tn__dims *dim)
{
    int64_t count = 1;
    for (int32_t i = 0; i < dim->n; i++)
        count *= n->in[0].shape[dim->d[i]];
    return count;
}

tn_status tn__d_sum(tn__backward *b)
{
    const tn__sum_params *p = b->node->params;
    return tn__give(b, 0, tn_expand(unreduced(b, b->g[0], &p->dim, p->keepdim), tn__input_shape(b, 0)));
}

tn_status tn__d_mean(tn__backward *b)
{
    const tn__sum_params *p = b->node->params;
    tn_tensor *g = tn_div(unreduced(b, b->g[0], &p->dim, p->keepdim), (double)reduced_count(b->node, &p->dim));
    return tn__give(b, 0, tn_expand(g, tn__input_shape(b, 0)));
}

/* Element i becomes the product of those before it. Each round doubles how many of them are in it. */
static tn_tensor *product_before(tn_tensor *x, int64_t dim)
{
    int64_t n = x->shape[dim];
    tn_tensor *one = tn_ones_like(tn_slice(x, dim, 0, 1, 1));
    tn_tensor *p = tn_cat(TN_TENSORS(one, tn_slice(x, dim, 0, n - 1, 1)), dim);
    for (int64_t have = 1; have < n - 1 && p; have += have) {
        tn_tensor *rest = tn_mul(tn_slice(p, dim, have, n, 1), tn_slice(p, dim, 0, n - have, 1));
        p = tn_cat(TN_TENSORS(tn_slice(p, dim, 0, have, 1), rest), dim);
    }
    return p;
}

/* Product of the others, from both sides: right also where elements are zero. */
static tn_tensor *product_of_others(tn_tensor *x, int64_t dim)
{
    tn_tensor *after = product_before(tn_flip(x, TN_DIMS(dim)), dim);
    return tn_mul(product_before(x, dim), tn_flip(after, TN_DIMS(dim)));
}

tn_status tn__d_prod(tn__backward *b)
{
    const tn__node *n = b->node;
    const tn__sum_params *p = n->params;
    tn_tensor *x = tn__saved_tensor(b, 0), *g = b->g[0];
    if (!x)
        return tn_error_code();
    if (x->numel == 0)
        return tn__give(b, 0, tn_zeros_like(x));
    if (p->dim.given) {
        if (x->ndim == 0)
            return tn__give(b, 0, g);
        return tn__give(b, 0, tn_mul(unreduced(b, g, &p->dim, p->keepdim), product_of_others(x, p->dim.d[0])));
    }
    tn_tensor *flat = product_of_others(tn_reshape(x, TN_SHAPE(-1)), 0);
    return tn__give(b, 0, tn_mul(g, tn_reshape(flat, tn__input_shape(b, 0))));
}

/* Equal extremes share the gradient evenly; nan: so do NaN. */
static tn_status share_extremes(tn__backward *b, bool nan)
{
    const tn__reduction_params *p = b->node->params;
    tn_tensor *x = tn__saved_tensor(b, 0), *out = x ? tn__saved_tensor(b, 1) : NULL;
    if (!out)
        return tn_error_code();
    const tn_dims dims = tn_dims_of(p->dim.d, p->dim.n);
    tn_tensor *mine = tn_eq(x, unreduced(b, out, &p->dim, p->keepdim));
    if (nan)
        mine = tn_logical_or(mine, tn_logical_and(tn_isnan(x), tn_isnan(out)));
    tn_tensor *same = tn_to(mine, .dtype = x->dtype);
    tn_tensor *count = dims.ndim ? tn_sum(same, .dims = dims, .keepdim = true) : same;
    return tn__give(b, 0, tn_mul(same, tn_div(unreduced(b, b->g[0], &p->dim, p->keepdim), count)));
}

tn_status tn__d_amax(tn__backward *b)
{
    return share_extremes(b, false);
}

/* Along a dimension the element that was named gets the gradient; over all, ties share it. */
tn_status tn__d_max(tn__backward *b)
{
    const tn__node *n = b->node;
    const tn__reduction_params *p = n->params;
    if (!p->dim.given)
        return share_extremes(b, true);
    if (n->in[0].ndim == 0)
        return tn__give(b, 0, b->g[0]);
    tn_tensor *index = tn__saved_tensor(b, 2);
    if (!index)
        return tn_error_code();
    tn_tensor *zeros = tn_zeros(tn__input_shape(b, 0), .dtype = b->g[0]->dtype, .device = b->g[0]->device);
    return tn__give(b, 0,
                    tn_scatter(zeros, p->dim.d[0], unreduced(b, index, &p->dim, p->keepdim),
                               unreduced(b, b->g[0], &p->dim, p->keepdim)));
}

static double degrees_of_freedom(const tn__node *n)
{
    const tn__var_params *p = n->params;
    double correction = p->correction.kind ? tn__scalar_double(&p->correction) : 1;
    return (double)reduced_count(n, &p->dim) - correction;
}

/* d var = 2 (x - mean) / (n - correction) */
static tn_tensor *var_slope(tn__backward *b, tn_tensor *x)
{
    const tn__var_params *p = b->node->params;
    const tn_dims dims = tn_dims_of(p->dim.d, p->dim.n);
    tn_tensor *mean = dims.ndim ? tn_mean(x, .dims = dims, .keepdim = true) : x;
    return tn_mul(tn_sub(x, mean), 2 / degrees_of_freedom(b->node));
}

tn_status tn__d_var(tn__backward *b)
{
    const tn__var_params *p = b->node->params;
    tn_tensor *x = tn__saved_tensor(b, 0);
    return x ? tn__give(b, 0, tn_mul(unreduced(b, b->g[0], &p->dim, p->keepdim), var_slope(b, x))) : tn_error_code();
}

tn_status tn__d_std(tn__backward *b)
{
    const tn__var_params *p = b->node->params;
    tn_tensor *x = tn__saved_tensor(b, 0), *out = x ? tn__saved_tensor(b, 1) : NULL;
    if (!out)
        return tn_error_code();
    tn_tensor *g = tn_div(b->g[0], tn_mul(out, 2));
    g = tn_where(tn_eq(out, 0), 0, g); /* PyTorch's choice where the deviation is zero */
    return tn__give(b, 0, tn_mul(unreduced(b, g, &p->dim, p->keepdim), var_slope(b, x)));
}

tn_status tn__d_logsumexp(tn__backward *b)
{
    const tn__logsumexp_params *p = b->node->params;
    tn_tensor *x = tn__saved_tensor(b, 0), *out = x ? tn__saved_tensor(b, 1) : NULL;
    if (!out)
        return tn_error_code();
    return tn__give(
        b, 0,
        tn_mul(unreduced(b, b->g[0], &p->dim, p->keepdim), tn_exp(tn_sub(x, unreduced(b, out, &p->dim, p->keepdim)))));
}
