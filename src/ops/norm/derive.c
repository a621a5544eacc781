/* Derivatives of the family norm, from public operations. */
#include "autograd/functions.h"

tn_status tn__d_standardize(tn__backward *b)
{
    const tn__standardize_params *p = b->node->params;
    tn_tensor *x = tn__saved_tensor(b, 0);
    return x ? tn__give(b, 0, tn__standardize_backward(b->g[0], x, p->dim, p->eps)) : tn_error_code();
}

static tn_tensor *mean_of(tn_tensor *x, int64_t dim)
{
    return tn_mean(x, .dim = dim, .keepdim = true);
}

/* J g = r (g - <g> - z <g z>), where z is x standardized, r the scale and <> the mean: J is symmetric. Of sum(gg J g) the
 * gradient with respect to x is -r^2 z (<gg g> - <gg> <g> - <gg z> <g z>) - r (<g z> J gg + <gg z> J g) / r: dr = -r^2 z / n
 * and dz = J. */
tn_status tn__d_standardize_backward(tn__backward *b)
{
    const tn__standardize_params *p = b->node->params;
    tn_tensor *g = tn__saved_tensor(b, 0), *x = g ? tn__saved_tensor(b, 1) : NULL, *gg = b->g[0];
    const int64_t dim = p->dim;
    if (!x)
        return tn_error_code();
    tn_tensor *turned = tn__standardize_backward(gg, x, dim, p->eps);
    tn_status e = b->need[0] ? tn__give(b, 0, turned) : TN_OK;
    if (e || !b->need[1])
        return e;
    tn_tensor *z = tn__standardize(x, dim, p->eps), *centred = tn_sub(x, mean_of(x, dim));
    tn_tensor *r = tn_rsqrt(tn_add(mean_of(tn_square(centred), dim), p->eps));
    tn_tensor *gz = mean_of(tn_mul(g, z), dim), *ggz = mean_of(tn_mul(gg, z), dim);
    tn_tensor *rest = tn_sub(mean_of(tn_mul(gg, g), dim), tn_mul(mean_of(gg, dim), mean_of(g, dim)));
    rest = tn_mul(tn_mul(tn_square(r), z), tn_sub(rest, tn_mul(ggz, gz)));
    tn_tensor *bent = tn_add(tn_mul(gz, turned), tn_mul(ggz, tn__standardize_backward(g, x, dim, p->eps)));
    return tn__give(b, 1, tn_neg(tn_add(rest, tn_mul(r, bent))));
}
