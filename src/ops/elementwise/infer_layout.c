/* The strides of new tensors. Programs print them, view by them and hand them to NumPy: they are PyTorch's to the letter,
 * those of dimensions of one element and of empty tensors as well. */
#include "op/infer.h"
#include "op/iter.h"

static bool is_row_major(const int32_t *order, int32_t ndim)
{
    for (int32_t i = 0; i < ndim; i++)
        if (order[i] != ndim - 1 - i)
            return false;
    return true;
}

static void take_strides(tn__spec *s, const int64_t *stride)
{
    s->strided = true;
    for (int32_t d = 0; d < s->ndim; d++)
        s->stride[d] = stride[d];
}

void tn__layout_like(tn__spec *s, const tn_tensor *x)
{
    int32_t order[TN_MAX_DIMS];
    int64_t stride[1][TN_MAX_DIMS], step = 1;
    if (tn__contiguous(x) || tn__is_dense(x->shape, x->stride, x->ndim)) {
        take_strides(s, x->stride);
        return;
    }
    for (int32_t d = 0; d < x->ndim; d++)
        stride[0][d] = x->stride[d];
    tn__iter_order(x->shape, x->ndim, (const int64_t(*)[TN_MAX_DIMS])stride, 1, order);
    s->strided = true;
    for (int32_t i = 0; i < x->ndim; i++) {
        s->stride[order[i]] = step;
        step *= TN_MAX(x->shape[order[i]], 1);
    }
}

tn_status tn__layout_asked(tn__spec *s, const tn_tensor *x, tn_memory_format format)
{
    const tn_status e = tn__check_format(format, s->ndim);
    if (!e && (format == TN_MEMORY_FORMAT_DEFAULT || format == TN_PRESERVE_FORMAT))
        tn__layout_like(s, x);
    else if (!e)
        tn__layout_in(s, format);
    return e;
}

static bool numbers_count(const tn__call *c)
{
    return !(tn__ops[c->op].flags & F_CONSTANTS);
}

/* Are the strides those of a new row-major tensor, in dimensions of one element too? */
static bool canonical(const tn_tensor *t)
{
    int64_t expect = 1;
    for (int32_t d = t->ndim - 1; d >= 0; d--) {
        if (t->stride[d] != expect)
            return false;
        expect *= TN_MAX(t->shape[d], 1);
    }
    return true;
}

typedef struct layouts {
    const tn_tensor *tensor[TN__MAX_OPERANDS];
    int32_t n;
    bool plain, canonical, same_shape, same_strides, dense, nhwc;
} layouts;

static layouts look(const tn__call *c)
{
    layouts l = {
        .plain = true, .canonical = true, .same_shape = true, .same_strides = true, .dense = true, .nhwc = true};
    for (int32_t i = 0; i < c->n_in; i++) {
        const tn_tensor *t = tn__operand(&c->in[i]);
        if (!t) {
            l.same_shape &= !numbers_count(c);
            continue;
        }
        const tn_tensor *first = l.n ? l.tensor[0] : t;
        l.plain &= tn__contiguous(t);
        l.canonical &= l.plain && canonical(t);
        l.same_shape &= tn__same_shape(t->shape, t->ndim, first->shape, first->ndim);
        l.tensor[l.n++] = t;
    }
    for (int32_t i = 0; i < l.n && !l.plain && l.same_shape; i++) {
        const tn_tensor *t = l.tensor[i];
        l.same_strides &= tn__same_shape(t->stride, t->ndim, l.tensor[0]->stride, l.tensor[0]->ndim);
        l.dense &= tn__contiguous(t) || tn__is_dense(t->shape, t->stride, t->ndim);
        l.nhwc &= tn__is_in_format(TN_CHANNELS_LAST, t->shape, t->stride, t->ndim);
    }
    return l;
}

void tn__layout_of_operands(const tn__call *c, tn__spec *s)
{
    int64_t stride[TN__MAX_OPERANDS][TN_MAX_DIMS], step = 1;
    int32_t order[TN_MAX_DIMS];
    const layouts l = look(c);
    if (tn__ops[c->op].rule == R_FILL) /* a row-major copy that is filled */
        return;
    if ((c->op == TN__OP_isfinite || c->op == TN__OP_isinf) &&
        !tn__dtype_is_float(c->common)) { /* ones, zeros like x */
        tn__layout_like(s, tn__in(c, 0));
        return;
    }
    if (s->ndim == 0 || (l.plain && (l.same_shape || (l.canonical && tn__numel(s->shape, s->ndim) > 0))))
        return;
    if (l.same_shape && l.dense && l.same_strides && !l.nhwc) {
        take_strides(s, l.tensor[0]->stride);
        return;
    }
    for (int32_t i = 0; i < l.n; i++) {
        const tn_tensor *t = l.tensor[i];
        int32_t lead = s->ndim - t->ndim;
        for (int32_t d = 0; d < s->ndim; d++)
            stride[i][d] = d < lead || (t->shape[d - lead] == 1 && s->shape[d] != 1) ? 0 : t->stride[d - lead];
    }
    tn__iter_order(s->shape, s->ndim, (const int64_t(*)[TN_MAX_DIMS])stride, l.n, order);
    if (is_row_major(order, s->ndim))
        return;
    s->strided = true;
    for (int32_t i = 0; i < s->ndim; i++) {
        s->stride[order[i]] = step;
        step *= s->shape[order[i]]; /* 0 beyond a dimension of none */
    }
}
