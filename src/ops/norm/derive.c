/* Derivatives of the family norm, from public operations. */
#include "autograd/functions.h"
#include "ops/norm/infer_kinds.h"

tn_status tn__d_standardize(tn__backward *b)
{
    const tn__standardize_params *p = b->node->params;
    const tn_dims dims = tn_dims_of(p->dim.d, p->dim.n);
    tn_tensor *x = tn__saved_tensor(b, 0);
    return x ? tn__give(b, 0, tn__standardize_backward(b->g[0], x, dims, p->kind, p->eps)) : tn_error_code();
}

/* <x>: the mean over the row; by norm the sum. */
static tn_tensor *over(const tn__standardize_params *p, tn_tensor *x)
{
    const tn_dims dims = tn_dims_of(p->dim.d, p->dim.n);
    return p->kind == TN__BY_NORM ? tn_sum(x, .dims = dims, .keepdim = true)
                                  : tn_mean(x, .dims = dims, .keepdim = true);
}

/* What rows are multiplied with, and (by norm) 1 where that is not fixed, else 0. */
static tn_tensor *scale_of(const tn__standardize_params *p, tn_tensor *x, tn_tensor **free)
{
    const tn_dims dims = tn_dims_of(p->dim.d, p->dim.n);
    if (p->kind == TN__BY_NORM) {
        tn_tensor *norm = tn_norm(x, .dims = dims, .keepdim = true), *bound = tn_clamp_min(norm, p->eps);
        *free = tn_to(tn_ge(norm, p->eps), .dtype = x->dtype);
        return tn_reciprocal(bound);
    }
    if (p->kind == TN__BY_VARIANCE)
        x = tn_sub(x, over(p, x));
    return tn_rsqrt(tn_add(over(p, tn_square(x)), p->eps));
}

/* J g = r (g - <g> - z <g z>), where z is x standardized and r the scale; only that of variance has <g>. J is symmetric. Of
 * sum(gg J g) the gradient with respect to x is -r^2 z (<gg g> - <gg> <g> - <gg z> <g z>) - r (<g z> J gg + <gg z> J g): dr =
 * -r^2 z, by 1 / n of a mean, and dz = J. Where the scale is fixed there is none. */
tn_status tn__d_standardize_backward(tn__backward *b)
{
    const tn__standardize_params *p = b->node->params;
    const tn_dims dims = tn_dims_of(p->dim.d, p->dim.n);
    tn_tensor *g = tn__saved_tensor(b, 0), *x = g ? tn__saved_tensor(b, 1) : NULL, *gg = b->g[0], *free = NULL;
    if (!x)
        return tn_error_code();
    tn_tensor *turned = tn__standardize_backward(gg, x, dims, p->kind, p->eps);
    tn_status e = b->need[0] ? tn__give(b, 0, turned) : TN_OK;
    if (e || !b->need[1])
        return e;
    tn_tensor *z = tn__standardize(x, dims, p->kind, p->eps), *r = scale_of(p, x, &free);
    tn_tensor *gz = over(p, tn_mul(g, z)), *ggz = over(p, tn_mul(gg, z)), *rest = over(p, tn_mul(gg, g));
    if (p->kind == TN__BY_VARIANCE)
        rest = tn_sub(rest, tn_mul(over(p, gg), over(p, g)));
    rest = tn_mul(tn_mul(tn_square(r), z), tn_sub(rest, tn_mul(ggz, gz)));
    tn_tensor *bent = tn_add(tn_mul(gz, turned), tn_mul(ggz, tn__standardize_backward(g, x, dims, p->kind, p->eps)));
    tn_tensor *all = tn_neg(tn_add(rest, tn_mul(r, bent)));
    return tn__give(b, 1, free ? tn_mul(all, free) : all);
}
