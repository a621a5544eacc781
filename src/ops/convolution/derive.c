/* Derivatives of convolutions: of any order, for each of the three rows is linear in either input, and its derivatives are the
 * other two. */
#include "autograd/functions.h"

static tn_dims dims(const tn__dims *d)
{
    return tn_dims_of(d->d, d->n);
}

/* The first elements of a convolution's result: as many as there are of the gradient that it is to be. A transposed one may have
 * been given more sizes than its input reaches (output_padding). */
static tn_tensor *first_of(tn_tensor *y, const tn__backward *b, int32_t i)
{
    const int64_t *size = b->node->in[i].shape;
    for (int32_t d = 2; y && d < y->ndim; d++)
        if (y->shape[d] != size[d])
            y = tn_narrow(y, d, 0, size[d]);
    return y;
}

/* The rows with the numbers of one of them. */
static tn_tensor *y_of(const tn__convolution_params *p, tn_tensor *x, tn_tensor *w)
{
    return tn__convolution(x, w, TN_NONE, dims(&p->stride), dims(&p->padding), dims(&p->dilation), p->groups);
}

static tn_tensor *x_of(const tn__convolution_params *p, tn_tensor *g, tn_tensor *w, tn_dims size)
{
    return tn__convolution_input(g, w, TN_NONE, dims(&p->stride), dims(&p->padding), dims(&p->dilation), p->groups,
                                 size);
}

static tn_tensor *weight_of(const tn__convolution_params *p, tn_tensor *g, tn_tensor *x, tn_dims size)
{
    return tn__convolution_weight(g, x, dims(&p->stride), dims(&p->padding), dims(&p->dilation), p->groups, size);
}

/* The spatial sizes of input i. */
static tn_dims spatial(const tn__backward *b, int32_t i)
{
    return tn_dims_of(b->node->in[i].shape + 2, b->node->in[i].ndim - 2);
}

static tn_tensor *sum_of_channels(tn_tensor *g)
{
    int64_t dims[4] = {0, 2, 3, 4};
    return tn_sum(g, .dims = tn_dims_of(dims, tn_tensor_ndim(g) - 1));
}

/* y of x, weight and bias. */
tn_status tn__d_convolution(tn__backward *b)
{
    const tn__convolution_params *p = b->node->params;
    tn_status e = TN_OK;
    tn_tensor *g = b->g[0];
    if (b->need[0]) {
        tn_tensor *w = tn__saved_tensor(b, 1);
        e = w ? tn__give(b, 0, x_of(p, g, w, spatial(b, 0))) : tn_error_code();
    }
    if (!e && b->need[1]) {
        tn_tensor *x = tn__saved_tensor(b, 0);
        e = x ? tn__give(b, 1, weight_of(p, g, x, spatial(b, 1))) : tn_error_code();
    }
    if (!e && b->node->n_in > 2 && b->need[2])
        e = tn__give(b, 2, sum_of_channels(g));
    return e;
}

/* x of g, weight and bias: what comes is of x's shape. */
tn_status tn__d_convolution_input(tn__backward *b)
{
    const tn__convolution_params *p = b->node->params;
    tn_status e = TN_OK;
    tn_tensor *gg = b->g[0];
    if (b->need[0]) {
        tn_tensor *w = tn__saved_tensor(b, 1);
        e = w ? tn__give(b, 0, first_of(y_of(p, gg, w), b, 0)) : tn_error_code();
    }
    if (!e && b->need[1]) {
        tn_tensor *g = tn__saved_tensor(b, 0);
        e = g ? tn__give(b, 1, weight_of(p, g, gg, spatial(b, 1))) : tn_error_code();
    }
    if (!e && b->node->n_in > 2 && b->need[2])
        e = tn__give(b, 2, sum_of_channels(gg));
    return e;
}

/* weight of g and x: what comes is of weight's shape. */
tn_status tn__d_convolution_weight(tn__backward *b)
{
    const tn__convolution_params *p = b->node->params;
    tn_status e = TN_OK;
    tn_tensor *gw = b->g[0];
    if (b->need[0]) {
        tn_tensor *x = tn__saved_tensor(b, 1);
        e = x ? tn__give(b, 0, first_of(y_of(p, x, gw), b, 0)) : tn_error_code();
    }
    if (!e && b->need[1]) {
        tn_tensor *g = tn__saved_tensor(b, 0);
        e = g ? tn__give(b, 1, x_of(p, g, gw, spatial(b, 1))) : tn_error_code();
    }
    return e;
}
