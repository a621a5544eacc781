/* Derivatives of the family scan, from public operations. */
#include "autograd/functions.h"
#include <float.h>

tn_status tn__d_sum_behind(tn__backward *b)
{
    const tn__running_params *p = b->node->params;
    return tn__give(b, 0, tn_cumsum(b->g[0], p->dim));
}

static tn_tensor *logsum_behind(tn_tensor *x, int64_t dim)
{
    if (tn__self()->no_grad)
        return tn__logsum_behind(x, dim);
    return tn_flip(tn_logcumsumexp(tn_flip(x, TN_DIMS(dim)), dim), TN_DIMS(dim));
}

tn_status tn__d_cumsum(tn__backward *b)
{
    const tn__running_params *p = b->node->params;
    return tn__give(b, 0, b->node->in[0].ndim == 0 ? b->g[0] : tn__sum_behind(b->g[0], p->dim));
}

/* ---- products ----
 *
 * Of y_k = x_0 ... x_k the gradient is
 *     dx_i = sum over k >= i of g_k y_k / x_i                  as long as no x is 0.
 * With the first 0 at z it holds for i < z (behind z each y is 0); dx_z is the sum over k >= z of g_k times the product without
 * x_z, and behind z all is 0. */

static tn_tensor *zeros_mind(tn_tensor *x, tn_tensor *y, tn_tensor *g, tn_tensor *zero, int64_t dim)
{
    tn_tensor *so_far = tn_cumsum(zero, dim), *first = tn_logical_and(zero, tn_eq(so_far, 1));
    tn_tensor *without = tn_masked_fill(x, first, 1);
    tn_tensor *there = tn__sum_behind(tn_mul(tn_cumprod(without, dim), g), dim);
    tn_tensor *before = tn_div(tn__sum_behind(tn_mul(y, g), dim), tn_masked_fill(x, zero, 1));
    return tn_where(first, tn_scalar_t(there), tn_scalar_t(tn_masked_fill(before, tn_gt(so_far, 0), 0)));
}

/* The same of any order: what is behind a place is a sum s_i = g_i + x_(i+1) s_(i+1), found by doubling in log2(n) steps, and
 * dx_i = x_0 ... x_(i-1) s_i. Nothing is divided, so that it has derivatives where x is 0. */
static tn_tensor *by_doubling(tn_tensor *x, tn_tensor *g, int64_t dim)
{
    const int64_t n = x->shape[dim];
    tn_tensor *one = tn_ones_like(tn_narrow(x, dim, 0, 1)), *s = g;
    tn_tensor *factor = tn_cat(TN_TENSORS(tn_narrow(x, dim, 1, n - 1), tn_zeros_like(one)), dim);
    for (int64_t step = 1; step < n && s; step *= 2) {
        tn_tensor *near = tn_narrow(factor, dim, 0, n - step);
        tn_tensor *more = tn_mul(near, tn_narrow(s, dim, step, n - step));
        tn_tensor *last = tn_narrow(s, dim, n - step, step);
        s = tn_cat(TN_TENSORS(tn_add(tn_narrow(s, dim, 0, n - step), more), last), dim);
        tn_tensor *product = tn_mul(near, tn_narrow(factor, dim, step, n - step));
        factor = tn_cat(TN_TENSORS(product, tn_zeros_like(last)), dim);
    }
    return tn_mul(tn_cat(TN_TENSORS(one, tn_cumprod(tn_narrow(x, dim, 0, n - 1), dim)), dim), s);
}

tn_status tn__d_cumprod(tn__backward *b)
{
    const tn__running_params *p = b->node->params;
    const int64_t dim = p->dim;
    tn_tensor *x = tn__saved_tensor(b, 0), *y = tn__saved_tensor(b, 1), *g = b->g[0];
    if (!x || !y)
        return tn_error_code();
    if (x->ndim == 0 || x->numel <= 1)
        return tn__give(b, 0, g);
    if (x->dtype != g->dtype)
        x = tn_to(x, .dtype = g->dtype);
    if (!tn__self()->no_grad && (tn__requires_grad(x) || tn__requires_grad(g)))
        return tn__give(b, 0, by_doubling(x, g, dim));
    tn_tensor *zero = tn_eq(x, 0);
    if (zero && x->device.type == TN_DEVICE_CPU) { /* elsewhere it would be waited for */
        tn_tensor *any = tn_any(zero);
        if (any && !tn_item_int(any))
            return tn__give(b, 0, tn_div(tn__sum_behind(tn_mul(y, g), dim), x));
    }
    return tn__give(b, 0, zeros_mind(x, y, g, zero, dim));
}

/* dx_i = e^x_i times the sum over k >= i of g_k e^-y_k, which is the difference of the positive and the negative terms, each
 * again a logarithm of such a sum. What is no term is the lowest number, which differs from infinity in having a derivative. */
tn_status tn__d_logcumsumexp(tn__backward *b)
{
    const tn__running_params *p = b->node->params;
    tn_tensor *x = tn__saved_tensor(b, 0), *y = tn__saved_tensor(b, 1), *g = b->g[0], *part[2];
    if (!x || !y)
        return tn_error_code();
    if (x->ndim == 0)
        return tn__give(b, 0, tn_mul(g, tn_exp(tn_sub(x, y))));
    const double lowest = g->dtype == TN_F16    ? -65504
                          : g->dtype == TN_BF16 ? -0x1.fep127
                          : g->dtype == TN_F32  ? -FLT_MAX
                                                : -DBL_MAX;
    for (int k = 0; k < 2; k++) {
        tn_tensor *others = k ? tn_ge(g, 0) : tn_le(g, 0);
        tn_tensor *terms = tn_sub(tn_masked_fill(tn_log(tn_abs(g)), others, lowest), y);
        tn_tensor *behind = logsum_behind(terms, p->dim);
        part[k] = tn_exp(tn_add(behind, x));
    }
    return tn__give(b, 0, tn_sub(part[0], part[1]));
}

/* The elements that were the largest get the gradients of all places where they were. */
tn_status tn__d_cummax(tn__backward *b)
{
    const tn__extreme_params *p = b->node->params;
    tn_tensor *index = tn__saved_tensor(b, 2), *g = b->g[0];
    if (!index || g->ndim == 0)
        return index ? tn__give(b, 0, g) : tn_error_code();
    tn_tensor *zeros = tn_zeros(tn__input_shape(b, 0), .dtype = g->dtype, .device = g->device);
    return tn__give(b, 0, tn_scatter_add_(zeros, p->dim, index, g));
}
