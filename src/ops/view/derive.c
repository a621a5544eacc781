/* Derivatives of the family view, from public operations. */
#include "autograd/functions.h"

/* ---- views ---- */

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
    return tn__give(b, 0, tn_permute(b->g[0], tn_dims_of(back, a->dims.n)));
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

/* select, slice, diagonal: zeros with g in the place that was shown; the gradient of that is what the view shows of gg. */
tn_status tn__d_select(tn__backward *b)
{
    const tn__select_params *p = b->node->params;
    return tn__give(b, 0, tn__embed_select(b->g[0], tn__input_shape(b, 0), p->dim, p->index));
}

tn_status tn__d_embed_select(tn__backward *b)
{
    const tn__embed_select_params *p = b->node->params;
    return tn__give(b, 0, tn_select(b->g[0], p->dim, p->index));
}

tn_status tn__d_slice(tn__backward *b)
{
    const tn__slice_params *p = b->node->params;
    return tn__give(b, 0, tn__embed_slice(b->g[0], tn__input_shape(b, 0), p->dim, p->start, p->end, p->step));
}

tn_status tn__d_split(tn__backward *b)
{
    const tn__split_params *p = b->node->params;
    return tn__give(b, 0, tn__embed_slice(b->g[0], tn__input_shape(b, 0), p->dim, p->start, p->end, p->step));
}

tn_status tn__d_embed_slice(tn__backward *b)
{
    const tn__embed_slice_params *p = b->node->params;
    return tn__give(b, 0, tn_slice(b->g[0], p->dim, p->start, p->end, p->step));
}

tn_status tn__d_diagonal(tn__backward *b)
{
    const tn__diagonal_params *p = b->node->params;
    return tn__give(b, 0, tn__embed_diagonal(b->g[0], tn__input_shape(b, 0), p->offset, p->dim1, p->dim2));
}

tn_status tn__d_embed_diagonal(tn__backward *b)
{
    const tn__embed_diagonal_params *p = b->node->params;
    return tn__give(b, 0, tn_diagonal(b->g[0], p->offset, p->dim1, p->dim2));
}

/* Each window's gradients are added where its elements came from. */
tn_status tn__d_unfold(tn__backward *b)
{
    const tn__unfold_params *p = b->node->params;
    const tn_dims input = tn__input_shape(b, 0);
    tn_tensor *g = b->g[0];
    if (input.ndim == 0)
        return tn__give(b, 0, tn_sum(g));
    const int64_t d = p->dimension, windows = g->shape[d];
    tn_tensor *from = tn_arange(0, input.dim[d], 1, .device = g->device);
    from = tn_reshape(tn_as_strided(from, TN_SHAPE(windows, p->size), TN_SHAPE(p->step, 1), 0), TN_SHAPE(-1));
    tn_tensor *zeros = tn_zeros(input, .dtype = g->dtype, .device = g->device);
    if (!from || !zeros)
        return tn_error_code();
    tn_tensor *rows = tn_movedim(g, TN_DIMS(-1), TN_DIMS(d + 1));
    return tn__give(b, 0, tn_index_add(zeros, d, from, rows ? tn_flatten(rows, d, d + 1) : NULL));
}

/* g summed over dimensions that were expanded (stride 0): they show one element. */
static tn_tensor *unexpanded(tn_tensor *g, const tn__as_strided_params *a)
{
    for (int32_t d = 0; d < a->size.n && g; d++)
        if (a->stride.d[d] == 0 && a->size.d[d] > 1)
            g = tn_sum(g, .dim = d, .keepdim = true);
    return g;
}

/* Does the view g is of show memory before or behind the input? */
static bool reaches_beyond(const tn__as_strided_params *a, const tn__meta *base, const tn_tensor *g)
{
    return g->numel && tn__numel(base->shape, base->ndim) &&
           (a->storage_offset < a->base_offset ||
            a->storage_offset + tn__reach(g->shape, a->stride.d, g->ndim) >
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
    return tn_as_strided(all, tn__input_shape(b, 0), tn_dims_of(a->base_stride.d, base->ndim), a->base_offset - first);
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
    const tn_dims input = tn__input_shape(b, 0), input_strides = tn_dims_of(a->base_stride.d, base->ndim);
    if (g->numel == 0 || tn__numel(base->shape, base->ndim) == 0)
        return tn_zeros(input, .dtype = g->dtype, .device = g->device);
    const int64_t first = TN_MIN(a->storage_offset, a->base_offset),
                  last = TN_MAX(a->storage_offset + tn__reach(g->shape, a->stride.d, g->ndim),
                                a->base_offset + tn__reach(base->shape, a->base_stride.d, base->ndim)),
                  size = last - first + 1;
    tn_tensor *zeros = tn_zeros(TN_SHAPE(size), .dtype = g->dtype, .device = g->device);
    tn_tensor *sums = tn_index_add(zeros, 0, places_of(g, size, dims, strides, a->storage_offset - first),
                                   tn_reshape(g, TN_SHAPE(-1)));
    if (tn__overlaps_itself(base->shape, a->base_stride.d, base->ndim)) {
        tn_tensor *places = places_of(g, size, input, input_strides, a->base_offset - first);
        tn_tensor *times = tn_index_add(zeros, 0, places, tn_ones_like(places, .dtype = g->dtype));
        sums = tn_div(sums, tn_clamp_min(times, 1));
    }
    return tn_as_strided(sums, input, input_strides, a->base_offset - first);
}

/* Does the view show each element of the input once, and lies g as the view did? */
static bool lies_as_all(const tn__as_strided_params *a, const tn__meta *base, const tn_tensor *g, tn_dims strides)
{
    return a->storage_offset == a->base_offset && g->numel == tn__numel(base->shape, base->ndim) &&
           tn__is_dense(base->shape, a->base_stride.d, base->ndim) &&
           tn__same_shape(g->stride, g->ndim, strides.dim, strides.ndim);
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
    const tn_dims dims = tn_dims_of(g->shape, g->ndim), strides = tn_dims_of(a->stride.d, g->ndim);
    if (tn__overlaps_itself(base->shape, a->base_stride.d, base->ndim) ||
        tn__overlaps_itself(g->shape, a->stride.d, g->ndim))
        return tn__give(b, 0, shared_out(b, g, dims, strides));
    const tn_dims base_strides = tn_dims_of(a->base_stride.d, base->ndim);
    if (reaches_beyond(a, base, g))
        return tn__give(b, 0, shown_of_all(b, g, dims, strides));
    if (lies_as_all(a, base, g, strides))
        return tn__give(b, 0, tn_as_strided(g, tn__input_shape(b, 0), base_strides, g->offset));
    tn_tensor *zeros = tn__zeros_strided(g, tn__input_shape(b, 0), base_strides);
    return tn__give(b, 0, tn__as_strided_scatter(zeros, g, dims, strides, a->storage_offset - a->base_offset));
}

/* x with src written: the gradient of x has zeros there, that of src is what the view shows. */
tn_status tn__d_as_strided_scatter(tn__backward *b)
{
    const tn__as_strided_scatter_params *a = b->node->params;
    const tn_dims dims = tn_dims_of(a->size.d, a->size.n), strides = tn_dims_of(a->stride.d, a->size.n);
    const tn_dims base = tn_dims_of(a->base_stride.d, b->node->out[0].ndim);
    tn_tensor *gg = tn__restride(b->g[0], base);
    tn_status e = gg ? TN_OK : tn_error_code();
    if (!e && b->need[0])
        e = tn__give(b, 0, tn__as_strided_scatter(gg, TN_NONE, dims, strides, a->storage_offset));
    if (!e && b->node->n_in > 1 && b->need[1])
        e = tn__give(b, 1, tn_as_strided(gg, dims, strides, gg->offset + a->storage_offset));
    return e;
}
