/* Derivatives of the family index, from public operations. */
#include "autograd/functions.h"

/* ---- joining and indexing ---- */

static tn_tensor *zeros_of_input(const tn__backward *b, int32_t i)
{
    return tn_zeros(tn__input_shape(b, i), .dtype = b->g[0]->dtype, .device = b->g[0]->device);
}

tn_status tn__d_gather(tn__backward *b)
{
    const tn__along_params *p = b->node->params;
    tn_tensor *index = tn__saved_tensor(b, 1);
    return index ? tn__give(b, 0, tn_scatter_add_(zeros_of_input(b, 0), p->dim, index, b->g[0])) : tn_error_code();
}

tn_status tn__d_scatter(tn__backward *b)
{
    const tn__along_params *p = b->node->params;
    tn_tensor *index = tn__saved_tensor(b, 1);
    tn_status e = index ? TN_OK : tn_error_code();
    if (!e && b->need[0])
        e = tn__give(b, 0, tn_scatter(b->g[0], p->dim, index, 0));
    if (!e && b->need[2])
        e = tn__give(b, 2, tn_gather(b->g[0], p->dim, index));
    return e;
}

tn_status tn__d_scatter_add(tn__backward *b)
{
    const tn__along_params *p = b->node->params;
    tn_status e = b->need[0] ? tn__give(b, 0, b->g[0]) : TN_OK;
    if (e || !b->need[2])
        return e;
    tn_tensor *index = tn__saved_tensor(b, 1);
    return index ? tn__give(b, 2, tn_gather(b->g[0], p->dim, index)) : tn_error_code();
}

static tn_tensor *product_at(const tn__backward *b, tn_tensor *index, tn_tensor *src)
{
    tn_tensor *one = tn_ones(tn__input_shape(b, 0), .dtype = b->g[0]->dtype, .device = b->g[0]->device);
    return tn__scatter_mul(one, ((const tn__along_params *)b->node->params)->dim, index, src);
}

/* Each element's gradient is the product of x and the others at its place: of those that are not 0, unless another one is. */
static tn_tensor *of_factors(tn__backward *b, tn_tensor *x, tn_tensor *index, tn_tensor *src)
{
    const int64_t dim = ((const tn__along_params *)b->node->params)->dim;
    tn_tensor *zero = tn_eq(src, 0), *rest = tn_where(zero, 1, src), *mine = zero ? tn_to(zero, .dtype = TN_I64) : NULL;
    tn_tensor *none = tn_zeros(tn__input_shape(b, 0), .dtype = TN_I64, .device = b->g[0]->device);
    tn_tensor *zeros = tn_gather(tn_scatter_add_(none, dim, index, mine), dim, index);
    tn_tensor *all = tn_mul(tn_mul(b->g[0], x), product_at(b, index, rest));
    return tn_where(tn_eq(zeros, mine), tn_div(tn_gather(all, dim, index), rest), 0);
}

tn_status tn__d_scatter_mul(tn__backward *b)
{
    tn_status e = TN_OK;
    tn_tensor *index = tn__saved_tensor(b, 1), *src = tn__saved_tensor(b, 2);
    if (!index || !src)
        return tn_error_code();
    if (b->need[0])
        e = tn__give(b, 0, tn_mul(b->g[0], product_at(b, index, src)));
    if (e || !b->need[2])
        return e;
    tn_tensor *x = tn__saved_tensor(b, 0);
    return x ? tn__give(b, 2, of_factors(b, x, index, src)) : tn_error_code();
}

/* What is as large as the result shares its gradient evenly: x and every source at that place. */
tn_status tn__d_scatter_extreme(tn__backward *b)
{
    const int64_t dim = ((const tn__along_params *)b->node->params)->dim;
    tn_tensor *x = tn__saved_tensor(b, 0), *index = tn__saved_tensor(b, 1), *src = tn__saved_tensor(b, 2),
              *out = tn__saved_tensor(b, 3), *g = b->g[0];
    tn_status e = TN_OK;
    if (!x || !index || !src || !out)
        return tn_error_code();
    tn_tensor *mine = tn_eq(x, out), *theirs = tn_to(tn_eq(src, tn_gather(out, dim, index)), .dtype = g->dtype);
    tn_tensor *how_many = tn_to(mine, .dtype = g->dtype);
    tn_tensor *each = tn_div(g, how_many && theirs ? tn_scatter_add_(how_many, dim, index, theirs) : NULL);
    if (b->need[0])
        e = tn__give(b, 0, tn_mul(each, mine));
    if (!e && b->need[2])
        e = tn__give(b, 2, tn_mul(tn_gather(each, dim, index), theirs));
    return e;
}

tn_status tn__d_index_select(tn__backward *b)
{
    const tn__along_params *p = b->node->params;
    tn_tensor *index = tn__saved_tensor(b, 1);
    if (!index)
        return tn_error_code();
    tn_tensor *g = b->node->in[0].ndim ? b->g[0] : tn_reshape(b->g[0], TN_SHAPE());
    return tn__give(b, 0, tn_index_add_(zeros_of_input(b, 0), p->dim, index, g));
}

tn_status tn__d_index_add(tn__backward *b)
{
    const tn__along_params *p = b->node->params;
    tn_status e = b->need[0] ? tn__give(b, 0, b->g[0]) : TN_OK;
    if (e || !b->need[2])
        return e;
    tn_tensor *index = tn__saved_tensor(b, 1);
    return index ? tn__give(b, 2, tn_index_select(b->g[0], p->dim, index)) : tn_error_code();
}

tn_status tn__d_index_copy(tn__backward *b)
{
    const tn__along_params *p = b->node->params;
    tn_tensor *index = tn__saved_tensor(b, 1);
    if (!index)
        return tn_error_code();
    if (b->need[0]) { /* what was overwritten counts no more */
        tn_tensor *none = tn_zeros(TN_SHAPE(), .dtype = b->g[0]->dtype, .device = b->g[0]->device);
        tn_status e = tn__give(b, 0, tn_index_copy(b->g[0], p->dim, index, tn_expand(none, tn__input_shape(b, 2))));
        if (e)
            return e;
    }
    if (!b->need[2])
        return TN_OK;
    tn_tensor *g = tn_index_select(b->g[0], p->dim, index);
    return tn__give(b, 2, b->node->in[2].ndim == b->g[0]->ndim ? g : tn_reshape(g, tn__input_shape(b, 2)));
}

tn_status tn__d_embedding(tn__backward *b)
{
    const tn__embedding_params *p = b->node->params;
    tn_tensor *index = tn__saved_tensor(b, 1), *g = b->g[0];
    if (!index)
        return tn_error_code();
    tn_tensor *flat = tn_reshape(index, TN_SHAPE(-1));
    if (p->padding_idx.kind) { /* the padding row learns nothing */
        tn_tensor *pad = tn_unsqueeze(tn_eq(index, p->padding_idx), -1);
        g = tn_masked_fill(g, pad, 0);
    }
    g = tn_reshape(g, TN_SHAPE(flat ? flat->numel : 0, b->node->in[0].shape[1]));
    if (p->scale_grad_by_freq && g) { /* scale_grad_by_freq: each row divided by how often it is named */
        tn_tensor *none = tn_zeros(TN_SHAPE(b->node->in[0].shape[0]), .dtype = TN_I64, .device = g->device);
        tn_tensor *one = tn_ones(TN_SHAPE(flat->numel), .dtype = TN_I64, .device = g->device);
        tn_tensor *often = tn_index_select(tn_index_add_(none, 0, flat, one), 0, flat);
        g = tn_div(g, tn_unsqueeze(often, -1));
    }
    return tn__give(b, 0, tn_index_add_(zeros_of_input(b, 0), 0, flat, g));
}
