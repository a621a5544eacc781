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

enum { LEAST_ROW = 64, LONG_ROW = 32768, MANY_ROWS = 64 };

/* May one pass by rows give the gradient of x (kinds: rows.def)? Where these lie one after another, and are neither so short that
 * to begin one takes its time, nor so long and few that they leave threads and groups without one. */
static bool by_rows(const tn_tensor *g, const tn_tensor *x, const tn__dims *dim)
{
    const bool fits = tn__self()->no_grad && tn__contiguous(x) && g->dtype == x->dtype && g->numel && x->numel;
    int64_t n = 1;
    for (int32_t d = x->ndim - 1; d >= 0; d--) {
        bool reduced = false;
        for (int32_t i = 0; i < dim->n; i++)
            reduced |= dim->d[i] == d;
        n *= reduced ? x->shape[d] : 1;
        if (!reduced && x->shape[d] > 1) /* what is reduced must be behind it */
            break;
    }
    return fits && n * g->numel == x->numel && n >= LEAST_ROW && (n <= LONG_ROW || g->numel >= MANY_ROWS);
}

/* Element i becomes the product of those before it. */
static tn_tensor *product_before(tn_tensor *x, int64_t dim)
{
    tn_tensor *one = tn_ones_like(tn_slice(x, dim, 0, 1, 1));
    return tn_cumprod(tn_cat(TN_TENSORS(one, tn_slice(x, dim, 0, x->shape[dim] - 1, 1)), dim), dim);
}

/* Product of the others, from both sides: right also where elements are zero. */
static tn_tensor *product_of_others(tn_tensor *x, int64_t dim)
{
    tn_tensor *after = product_before(tn_flip(x, TN_DIMS(dim)), dim);
    return tn_mul(product_before(x, dim), tn_flip(after, TN_DIMS(dim)));
}

/* Is no element of a CPU's tensor 0? Of a GPU's it is not known: nobody waits for it. */
static bool none_is_zero(tn_tensor *x)
{
    if (x->device.type != TN_DEVICE_CPU)
        return false;
    const bool was = tn__set_no_grad(true);
    tn_tensor *all = tn_all(x);
    tn__set_no_grad(was);
    return all && tn_item_int(all) != 0;
}

tn_status tn__d_prod(tn__backward *b)
{
    const tn__sum_params *p = b->node->params;
    tn_tensor *x = tn__saved_tensor(b, 0), *out = x ? tn__saved_tensor(b, 1) : NULL, *g = b->g[0];
    if (!out)
        return tn_error_code();
    if (x->numel == 0)
        return tn__give(b, 0, tn_zeros_like(x));
    if (x->ndim == 0)
        return tn__give(b, 0, g);
    if (none_is_zero(x))
        return tn__give(b, 0, tn_div(unreduced(b, tn_mul(g, out), &p->dim, p->keepdim), x));
    if (p->dim.given)
        return tn__give(b, 0, tn_mul(unreduced(b, g, &p->dim, p->keepdim), product_of_others(x, p->dim.d[0])));
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
    if (!nan && by_rows(b->g[0], x, &p->dim) && tn__contiguous(out))
        return tn__give(b, 0, tn__row_gradients(tn_contiguous(b->g[0]), x, out, 2, 1));
    const tn_dims dims = tn_dims_of(p->dim.d, p->dim.n);
    tn_tensor *g = unreduced(b, b->g[0], &p->dim, p->keepdim), *most = unreduced(b, out, &p->dim, p->keepdim);
    tn_tensor *mine = tn_eq(x, most);
    if (nan)
        mine = tn_logical_or(mine, tn_logical_and(tn_isnan(x), tn_isnan(most)));
    if (!dims.ndim)
        return tn__give(b, 0, tn_mul(tn_to(mine, .dtype = x->dtype), g));
    g = tn_div(g, tn_sum(mine, .dims = dims, .keepdim = true, .dtype = x->dtype));
    return tn__give(b, 0, nan ? tn_where(mine, g, 0) : tn__share(g, x, most));
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
                    tn_scatter_(zeros, p->dim.d[0], unreduced(b, index, &p->dim, p->keepdim),
                                unreduced(b, b->g[0], &p->dim, p->keepdim)));
}

static double degrees_of_freedom(const tn__node *n)
{
    const tn__var_params *p = n->params;
    double correction = p->correction.kind ? tn__scalar_double(&p->correction) : 1;
    return (double)reduced_count(n, &p->dim) - correction;
}

/* d var = 2 (x - mean) / (n - correction) */
static tn_status give_var(tn__backward *b, tn_tensor *g, tn_tensor *x)
{
    const tn__var_params *p = b->node->params;
    const tn_dims dims = tn_dims_of(p->dim.d, p->dim.n);
    tn_tensor *mean = dims.ndim ? tn_mean(x, .dims = dims, .keepdim = true) : x;
    g = tn_mul(unreduced(b, g, &p->dim, p->keepdim), 2 / degrees_of_freedom(b->node));
    return tn__give(b, 0, tn__scaled_difference(g, x, mean));
}

tn_status tn__d_var(tn__backward *b)
{
    const tn__var_params *p = b->node->params;
    tn_tensor *x = tn__saved_tensor(b, 0), *g = b->g[0];
    if (x && by_rows(g, x, &p->dim))
        return tn__give(b, 0, tn__row_gradients(tn_contiguous(g), x, TN_NONE, 0, 2 / degrees_of_freedom(b->node)));
    return x ? give_var(b, g, x) : tn_error_code();
}

tn_status tn__d_std(tn__backward *b)
{
    tn_tensor *x = tn__saved_tensor(b, 0), *out = x ? tn__saved_tensor(b, 1) : NULL;
    if (!out)
        return tn_error_code();
    const tn__var_params *p = b->node->params;
    if (by_rows(b->g[0], x, &p->dim) && tn__contiguous(out))
        return tn__give(b, 0, tn__row_gradients(tn_contiguous(b->g[0]), x, out, 1, 2 / degrees_of_freedom(b->node)));
    tn_tensor *g = tn_div(b->g[0], tn_mul(out, 2));
    return give_var(b, tn_where(tn_eq(out, 0), 0, g), x); /* PyTorch's choice where the deviation is zero */
}

tn_status tn__d_logsumexp(tn__backward *b)
{
    const tn__reduction_params *p = b->node->params;
    tn_tensor *x = tn__saved_tensor(b, 0), *out = x ? tn__saved_tensor(b, 1) : NULL;
    if (!out)
        return tn_error_code();
    return tn__give(
        b, 0, tn__scaled_exp(unreduced(b, b->g[0], &p->dim, p->keepdim), x, unreduced(b, out, &p->dim, p->keepdim)));
}

tn_status tn__d_norm(tn__backward *b)
{
    const tn__reduction_params *p = b->node->params;
    tn_tensor *x = tn__saved_tensor(b, 0), *out = x ? tn__saved_tensor(b, 1) : NULL;
    if (!out)
        return tn_error_code();
    return tn__give(
        b, 0, tn__norm_backward(unreduced(b, b->g[0], &p->dim, p->keepdim), x, unreduced(b, out, &p->dim, p->keepdim)));
}
