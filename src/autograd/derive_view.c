/* Derivatives of views, copies, indexing and products, from public operations. */
#include "autograd/functions.h"
#include "op/infer.h"

/* ---- views ---- */

tn_status tn__d_identity(tn__backward *b)
{
    return tn__give(b, 0, b->g[0]);
}

tn_status tn__d_view(tn__backward *b)
{
    return tn__give(b, 0, tn_reshape(b->g[0], tn__input_shape(b, 0)));
}

tn_status tn__d_permute(tn__backward *b)
{
    const tn__permute_params *a = b->node->params;
    int64_t back[TN_MAX_DIMS];
    for (int32_t d = 0; d < a->dims.n; d++)
        back[a->dims.d[d]] = d;
    return tn__give(b, 0, tn_permute(b->g[0], ((tn_dims){a->dims.n, back})));
}

tn_status tn__d_transpose(tn__backward *b)
{
    const tn__transpose_params *p = b->node->params;
    return tn__give(b, 0, tn_transpose(b->g[0], p->dim0, p->dim1));
}

tn_status tn__d_t(tn__backward *b)
{
    return tn__give(b, 0, tn_t(b->g[0]));
}

tn_status tn__d_expand(tn__backward *b)
{
    return tn__give(b, 0, tn_sum_to_size(b->g[0], tn__input_shape(b, 0)));
}

tn_status tn__d_squeeze(tn__backward *b)
{
    return tn__d_view(b);
}

tn_status tn__d_unsqueeze(tn__backward *b)
{
    return tn__d_view(b);
}

/* select, slice, diagonal: zeros with g in the place that was shown. */
tn_status tn__d_embed(tn__backward *b)
{
    const tn__window_params *a = b->node->params;
    return tn__give(b, 0,
                tn__embed(b->g[0], b->node->op, tn__input_shape(b, 0), a->dim, a->index, a->start, a->end, a->step, a->offset,
                          a->dim1, a->dim2));
}

/* The gradient of zeros-with-g is what the view shows of gg. */
tn_status tn__d_embed_backward(tn__backward *b)
{
    const tn__window_params *a = b->node->params;
    tn_tensor *gg = b->g[0];
    switch ((tn__op_id)a->view) {
    case TN__OP_select:
    case TN__OP__unbind: return tn__give(b, 0, tn_select(gg, a->dim, a->index));
    case TN__OP_diagonal: return tn__give(b, 0, tn_diagonal(gg, a->offset, a->dim1, a->dim2));
    default: return tn__give(b, 0, tn_slice(gg, a->dim, a->start, a->end, a->step));
    }
}

/* g summed over dimensions that were expanded (stride 0): they show one element. */
static tn_tensor *unexpanded(tn_tensor *g, const tn__as_strided_params *a)
{
    for (int32_t d = 0; d < a->size.n && g; d++)
        if (a->stride.d[d] == 0 && a->size.d[d] > 1)
            g = tn_sum(g, .dim = TN_DIMS(d), .keepdim = true);
    return g;
}

/* Does the view g is of show memory before or behind the input? */
static bool reaches_beyond(const tn__as_strided_params *a, const tn__meta *base, const tn_tensor *g)
{
    return g->numel && tn__numel(base->shape, base->ndim) &&
           (a->storage_offset < a->base_offset || a->storage_offset + tn__reach(g->shape, a->stride.d, g->ndim) >
                                            a->base_offset + tn__reach(base->shape, a->base_stride.d, base->ndim));
}

/* What the input shows of memory that holds both, with g in the view's place and zeros elsewhere. */
static tn_tensor *shown_of_all(const tn__backward *b, tn_tensor *g, tn_dims dims, tn_dims strides)
{
    const tn__as_strided_params *a = b->node->params;
    const tn__meta *base = &b->node->in[0];
    const int64_t first = TN_MIN(a->storage_offset, a->base_offset),
                  last = TN_MAX(a->storage_offset + tn__reach(g->shape, a->stride.d, g->ndim),
                                a->base_offset + tn__reach(base->shape, a->base_stride.d, base->ndim));
    tn_tensor *all = tn_zeros(TN_SHAPE(last - first + 1), .dtype = g->dtype, .device = g->device);
    all = tn__as_strided_scatter(all, g, dims, strides, a->storage_offset - first);
    return tn_as_strided(all, tn__input_shape(b, 0), ((tn_dims){base->ndim, a->base_stride.d}), a->base_offset - first);
}

/* For each element that is shown, its place in a line of memory of so many elements. */
static tn_tensor *places_of(const tn_tensor *g, int64_t size, tn_dims dims, tn_dims strides, int64_t start)
{
    tn_tensor *line = tn_arange(0, size, 1, .dtype = TN_I64, .device = g->device);
    return tn_reshape(tn_as_strided(line, dims, strides, start), TN_SHAPE(-1));
}

/* Where elements of the view or of the input share memory: what is shown more than once gets the sum, and what the input
 * has more than once shares it (as in PyTorch: "as_strided Backward and layout-aware/agnostic autograd"). */
static tn_tensor *shared_out(const tn__backward *b, tn_tensor *g, tn_dims dims, tn_dims strides)
{
    const tn__as_strided_params *a = b->node->params;
    const tn__meta *base = &b->node->in[0];
    const tn_dims input = tn__input_shape(b, 0), input_strides = {base->ndim, a->base_stride.d};
    if (g->numel == 0 || tn__numel(base->shape, base->ndim) == 0)
        return tn_zeros(input, .dtype = g->dtype, .device = g->device);
    const int64_t first = TN_MIN(a->storage_offset, a->base_offset),
                  last = TN_MAX(a->storage_offset + tn__reach(g->shape, a->stride.d, g->ndim),
                                a->base_offset + tn__reach(base->shape, a->base_stride.d, base->ndim)),
                  size = last - first + 1;
    tn_tensor *zeros = tn_zeros(TN_SHAPE(size), .dtype = g->dtype, .device = g->device);
    tn_tensor *sums =
        tn_index_add(zeros, 0, places_of(g, size, dims, strides, a->storage_offset - first), tn_reshape(g, TN_SHAPE(-1)));
    if (tn__overlaps_itself(base->shape, a->base_stride.d, base->ndim)) {
        tn_tensor *places = places_of(g, size, input, input_strides, a->base_offset - first);
        tn_tensor *times = tn_index_add(zeros, 0, places, tn_ones_like(places, .dtype = g->dtype));
        sums = tn_div(sums, tn_clamp_min(times, 1));
    }
    return tn_as_strided(sums, input, input_strides, a->base_offset - first);
}

tn_status tn__d_as_strided(tn__backward *b)
{
    const tn__as_strided_params *a = b->node->params;
    const tn__meta *base = &b->node->in[0];
    if (tn__numel(base->shape, base->ndim) == 0) /* whatever was shown, it was nothing of this */
        return tn__give(b, 0, tn_zeros(tn__input_shape(b, 0), .dtype = b->g[0]->dtype, .device = b->g[0]->device));
    tn_tensor *g = unexpanded(b->g[0], a);
    if (!g)
        return tn_error_code();
    const tn_dims dims = {g->ndim, g->shape}, strides = {g->ndim, a->stride.d};
    if (tn__overlaps_itself(base->shape, a->base_stride.d, base->ndim) ||
        tn__overlaps_itself(g->shape, a->stride.d, g->ndim))
        return tn__give(b, 0, shared_out(b, g, dims, strides));
    const tn_dims base_strides = {base->ndim, a->base_stride.d};
    if (reaches_beyond(a, base, g))
        return tn__give(b, 0, shown_of_all(b, g, dims, strides));
    tn_tensor *zeros = tn__zeros_strided(g, tn__input_shape(b, 0), base_strides);
    return tn__give(b, 0, tn__as_strided_scatter(zeros, g, dims, strides, a->storage_offset - a->base_offset));
}

/* x with src written: the gradient of x has zeros there, that of src is what the view shows. */
tn_status tn__d_as_strided_scatter(tn__backward *b)
{
    const tn__as_strided_params *a = b->node->params;
    const tn_dims dims = {a->size.n, a->size.d}, strides = {a->size.n, a->stride.d};
    const tn_dims base = {b->node->out[0].ndim, a->base_stride.d};
    tn_tensor *gg = tn__restride(b->g[0], base);
    tn_status e = gg ? TN_OK : tn_error_code();
    if (!e && b->need[0])
        e = tn__give(b, 0, tn__as_strided_scatter(gg, TN_NONE, dims, strides, a->storage_offset));
    if (!e && b->node->n_in > 1 && b->need[1])
        e = tn__give(b, 1, tn_as_strided(gg, dims, strides, gg->offset + a->storage_offset));
    return e;
}

/* ---- copies ---- */

tn_status tn__d_to_copy(tn__backward *b)
{
    return tn__give(b, 0, tn_to(b->g[0], .dtype = b->node->in[0].dtype, .device = b->node->in[0].device));
}

tn_status tn__d_copy_(tn__backward *b)
{
    tn_status e = b->need[0] ? tn__give(b, 0, tn_zeros_like(b->g[0])) : TN_OK;
    return !e && b->need[1] ? tn__give(b, 1, b->g[0]) : e;
}

tn_status tn__d_fill(tn__backward *b)
{
    return tn__d_copy_(b);
}

tn_status tn__d_zero(tn__backward *b)
{
    return tn__give(b, 0, tn_zeros_like(b->g[0]));
}

tn_status tn__d_tril(tn__backward *b)
{
    const tn__triangle_params *p = b->node->params;
    int64_t n = p->diagonal;
    return tn__give(b, 0, b->node->op == TN__OP_tril ? tn_tril(b->g[0], n) : tn_triu(b->g[0], n));
}

tn_status tn__d_flip(tn__backward *b)
{
    const tn__flip_params *p = b->node->params;
    return tn__give(b, 0, tn_flip(b->g[0], ((tn_dims){p->dims.n, p->dims.d})));
}

/* ---- joining and indexing ---- */

tn_status tn__d_cat(tn__backward *b)
{
    const tn__node *n = b->node;
    const tn__join_params *p = n->params;
    int64_t at = 0, dim = p->dim;
    for (int32_t i = 0; i < n->n_in; i++) {
        bool blank = n->in[i].ndim == 1 && n->in[i].shape[0] == 0;
        int64_t len = blank ? 0 : n->in[i].shape[dim];
        tn_status e = TN_OK;
        if (b->need[i])
            e = tn__give(b, i,
                     blank ? tn_zeros(TN_SHAPE(0), .dtype = n->in[i].dtype, .device = b->g[0]->device)
                           : tn_slice(b->g[0], dim, at, at + len, 1));
        if (e)
            return e;
        at += len;
    }
    return TN_OK;
}

tn_status tn__d_stack(tn__backward *b)
{
    const tn__join_params *p = b->node->params;
    for (int32_t i = 0; i < b->node->n_in; i++)
        if (b->need[i] && tn__give(b, i, tn_select(b->g[0], p->dim, i)))
            return tn_error_code();
    return TN_OK;
}

static tn_tensor *zeros_of_input(const tn__backward *b, int32_t i)
{
    return tn_zeros(tn__input_shape(b, i), .dtype = b->g[0]->dtype, .device = b->g[0]->device);
}

tn_status tn__d_gather(tn__backward *b)
{
    const tn__along_params *p = b->node->params;
    tn_tensor *index = tn__saved_tensor(b, 1);
    return index ? tn__give(b, 0, tn_scatter_add(zeros_of_input(b, 0), p->dim, index, b->g[0]))
                 : tn_error_code();
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

tn_status tn__d_index_select(tn__backward *b)
{
    const tn__along_params *p = b->node->params;
    tn_tensor *index = tn__saved_tensor(b, 1);
    if (!index)
        return tn_error_code();
    tn_tensor *g = b->node->in[0].ndim ? b->g[0] : tn_reshape(b->g[0], TN_SHAPE());
    return tn__give(b, 0, tn_index_add(zeros_of_input(b, 0), p->dim, index, g));
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
    const tn__along_params *p = b->node->params;
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
        tn_tensor *often = tn_index_select(tn_index_add(none, 0, flat, one), 0, flat);
        g = tn_div(g, tn_unsqueeze(often, -1));
    }
    return tn__give(b, 0, tn_index_add(zeros_of_input(b, 0), 0, flat, g));
}

/* ---- products ---- */

tn_status tn__d_mm(tn__backward *b)
{
    tn_status e = TN_OK;
    tn_scalar x = tn__saved_operand(b, 0, &e), y = tn__saved_operand(b, 1, &e);
    if (!e && b->need[0])
        e = tn__give(b, 0, tn_mm(b->g[0], tn_t(y.v.t)));
    if (!e && b->need[1])
        e = tn__give(b, 1, tn_mm(tn_t(x.v.t), b->g[0]));
    return e;
}

tn_status tn__d_bmm(tn__backward *b)
{
    tn_status e = TN_OK;
    tn_scalar x = tn__saved_operand(b, 0, &e), y = tn__saved_operand(b, 1, &e);
    if (!e && b->need[0])
        e = tn__give(b, 0, tn_bmm(b->g[0], tn_transpose(y.v.t, 1, 2)));
    if (!e && b->need[1])
        e = tn__give(b, 1, tn_bmm(tn_transpose(x.v.t, 1, 2), b->g[0]));
    return e;
}

tn_status tn__d_addmm(tn__backward *b)
{
    const tn__addmm_params *a = b->node->params;
    double beta = a->beta.kind ? tn__scalar_double(&a->beta) : 1,
           alpha = a->alpha.kind ? tn__scalar_double(&a->alpha) : 1;
    tn_status e = TN_OK;
    tn_scalar x = tn__saved_operand(b, 1, &e), y = tn__saved_operand(b, 2, &e);
    tn_tensor *g = alpha == 1 || e ? b->g[0] : tn_mul(b->g[0], alpha);
    if (!e && b->need[0])
        e = tn__give(b, 0, beta == 1 ? b->g[0] : tn_mul(b->g[0], beta));
    if (!e && b->need[1])
        e = tn__give(b, 1, tn_mm(g, tn_t(y.v.t)));
    if (!e && b->need[2])
        e = tn__give(b, 2, tn_mm(tn_t(x.v.t), g));
    return e;
}

tn_status tn__d_mv(tn__backward *b)
{
    tn_status e = TN_OK;
    tn_scalar m = tn__saved_operand(b, 0, &e), v = tn__saved_operand(b, 1, &e);
    if (!e && b->need[0])
        e = tn__give(b, 0, tn_outer(b->g[0], v.v.t));
    if (!e && b->need[1])
        e = tn__give(b, 1, tn_mv(tn_t(m.v.t), b->g[0]));
    return e;
}

tn_status tn__d_dot(tn__backward *b)
{
    tn_status e = TN_OK;
    tn_scalar x = tn__saved_operand(b, 0, &e), y = tn__saved_operand(b, 1, &e);
    if (!e && b->need[0])
        e = tn__give(b, 0, tn_mul(b->g[0], y));
    if (!e && b->need[1])
        e = tn__give(b, 1, tn_mul(b->g[0], x));
    return e;
}

/* x [..., k], weight [n, k] or [k], bias [n]: as matrices of rows */
tn_status tn__d_linear(tn__backward *b)
{
    const tn__node *n = b->node;
    tn_status e = TN_OK;
    tn_scalar x = tn__saved_operand(b, 0, &e), w = tn__saved_operand(b, 1, &e);
    if (e)
        return e;
    int64_t k = n->in[0].shape[n->in[0].ndim - 1], cols = n->in[1].ndim == 2 ? n->in[1].shape[0] : 1;
    int64_t rows = tn__numel(n->in[0].shape, n->in[0].ndim - 1);
    bool flat = n->in[0].ndim == 2 && n->in[1].ndim == 2;
    tn_tensor *g = flat ? b->g[0] : tn_reshape(b->g[0], TN_SHAPE(rows, cols));
    if (b->need[0]) {
        tn_tensor *wm = n->in[1].ndim == 2 ? w.v.t : tn_reshape(w.v.t, TN_SHAPE(1, k));
        tn_tensor *gx = tn_mm(g, wm);
        e = tn__give(b, 0, flat ? gx : tn_reshape(gx, tn__input_shape(b, 0)));
    }
    if (!e && b->need[1]) {
        tn_tensor *gw = tn_mm(tn_t(g), flat ? x.v.t : tn_reshape(x.v.t, TN_SHAPE(rows, k)));
        e = tn__give(b, 1, n->in[1].ndim == 2 ? gw : tn_reshape(gw, TN_SHAPE(k)));
    }
    if (!e && n->n_in > 2 && b->need[2])
        e = tn__give(b, 2, tn_sum(g, .dim = TN_DIMS(0)));
    return e;
}
