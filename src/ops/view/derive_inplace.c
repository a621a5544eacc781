/* Nodes of views that are written to: what autograd asks the family view for (autograd/functions.h). */
#include "autograd/functions.h"

/* Geometry of a view in its base: dims and strides of the view, start relative to the base's first element. */
static void view_geometry(tn__as_strided_params *p, const tn_tensor *v)
{
    const tn_tensor *base = v->base;
    memset(p, 0, sizeof *p);
    p->size.n = p->stride.n = v->ndim;
    for (int32_t d = 0; d < v->ndim; d++) {
        p->size.d[d] = v->shape[d];
        p->stride.d[d] = v->stride[d];
    }
    p->storage_offset = v->offset;
    p->base_offset = base->offset;
    for (int32_t d = 0; d < base->ndim; d++)
        p->base_stride.d[d] = base->stride[d];
}

tn__node *tn__view_node(const tn_tensor *v)
{
    tn__as_strided_params p;
    view_geometry(&p, v);
    tn__node *n = tn__node_new(TN__OP_as_strided, 1, 1, &p);
    if (n)
        n->derive = tn__d_as_strided;
    return n;
}

/* Gradient of a base after an operation in place on a view of it: the part the view shows goes through the operation,
 * the rest passes. */
static tn_status derive_slices(tn__backward *b)
{
    tn__node *s = b->node, *inner = s->inner;
    const tn__as_strided_params *p = s->params;
    const tn_dims dims = tn_dims_of(p->size.d, p->size.n), strides = tn_dims_of(p->stride.d, p->size.n),
                  base = tn_dims_of(p->base_stride.d, s->in[0].ndim);
    tn_tensor *g = b->g[0];
    if (!g)
        return TN_OK;
    if (s->freed)
        return tn__freed();
    tn_tensor *whole = tn__same_shape(g->stride, g->ndim, p->base_stride.d, g->ndim) ? g : tn__restride(g, base);
    if (!whole)
        return tn_error_code();
    int64_t start = p->storage_offset - p->base_offset;
    tn_tensor *part = tn_as_strided(whole, dims, strides, whole->offset + start);
    bool need[TN__MAX_IN] = {false};
    for (int32_t i = 0; i < s->n_in && i < TN__MAX_IN; i++)
        need[i] = b->need[i];
    tn_tensor *grad[TN__MAX_IN] = {NULL};
    tn__backward in = {.node = inner, .g = &part, .need = need, .grad = grad};
    tn_status e = part ? inner->derive(&in) : tn_error_code();
    if (e)
        return e;
    for (int32_t i = 1; i < s->n_in && i < TN__MAX_IN; i++)
        b->grad[i] = grad[i];
    if (!need[0])
        return TN_OK;
    tn_tensor *first = grad[0];
    if (first && !tn__same_shape(first->shape, first->ndim, p->size.d, p->size.n)) /* an operand that was broadcast */
        first = tn_expand(first, dims);
    if (grad[0] && !first)
        return tn_error_code();
    b->grad[0] = tn__as_strided_scatter(whole, first ? first : TN_NONE, dims, strides, start);
    return b->grad[0] ? TN_OK : tn_error_code();
}

tn__node *tn__slices_node(const tn_tensor *v, int32_t n_in)
{
    tn__as_strided_params p;
    view_geometry(&p, v);
    tn__node *n = tn__node_new(TN__OP_as_strided, n_in, 1, &p);
    if (n) {
        n->name = "CopySlices";
        n->derive = derive_slices;
    }
    return n;
}
