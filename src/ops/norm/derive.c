/* Derivatives of the family norm, from public operations. */
#include "autograd/functions.h"
#include "ops/norm/infer_kinds.h"

/* Rows of so few elements are computed as lines; so many are long, and of so few not much is to be had by fewer passes. */
enum { LINES = 24, FEW_LONG = 1 << 17, FEW = 16 };

static tn_tensor *widened(tn_tensor *x)
{
    return x ? tn_to(x, .dtype = tn__dtypes[x->dtype].compute) : NULL;
}

/* The saved weight, TN_NONE where there was none. */
static tn_tensor *weight_of(tn__backward *b, int32_t i, tn_status *e)
{
    const tn_scalar w = i < b->node->n_in ? tn__saved_operand(b, i, e) : tn_scalar_none();
    return w.kind ? w.v.t : TN_NONE;
}

/* The sum of g (times z; spent: which is not read again) over the dimensions that a parameter does not have, which are the first,
 * in the dtype that g's is computed in. */
static tn_tensor *of_parameter(tn__backward *b, int32_t i, tn_tensor *g, tn_tensor *z, bool spent)
{
    int64_t first[TN_MAX_DIMS];
    const int32_t n = g ? g->ndim - b->node->in[i].ndim : 0;
    for (int32_t d = 0; d < n; d++)
        first[d] = d;
    const tn_dtype wide = g ? tn__dtypes[g->dtype].compute : TN_F32;
    if (z)
        g = spent && tn__self()->no_grad ? tn_mul_(z, g) : tn_mul(z, g);
    return n ? tn_sum(g, .dims = tn_dims_of(first, n), .dtype = wide) : g ? tn_to(g, .dtype = wide) : NULL;
}

/* Do dense rows lie one after another, long ones and many, in the CPU's memory? Then one pass gives all gradients. */
static bool at_once(const tn__standardize_params *p, const tn_tensor *g, const tn_tensor *x)
{
    int64_t n = 1;
    for (int32_t i = 0; i < p->dim.n && x; i++) {
        if (p->dim.d[i] < x->ndim - p->dim.n)
            return false;
        n *= x->shape[p->dim.d[i]];
    }
    return x && tn__self()->no_grad && x->device.type == TN_DEVICE_CPU && g->dtype == x->dtype && n > LINES &&
           n < FEW_LONG && x->numel / n >= FEW && tn__contiguous(g) && tn__contiguous(x);
}

/* The gradient of input i is that row, in memory of its own. */
static tn_status give_row(tn__backward *b, int32_t i, tn_tensor *rows, int64_t row)
{
    return rows ? tn__give(b, i, tn_reshape(tn_clone(tn_select(rows, 0, row)), tn__input_shape(b, i)))
                : tn_error_code();
}

/* The parameters are of the dtype that is computed in, and so are their gradients. */
static tn_status all_at_once(tn__backward *b, tn_tensor *x, tn_tensor *weight, tn_dims dims)
{
    const tn__standardize_params *p = b->node->params;
    tn_tensor *of_parameters = NULL;
    tn_tensor *of_x =
        tn__standardize_gradients(b->g[0], x, weight, dims, p->kind, p->eps, .of_parameters = &of_parameters);
    tn_status e = tn__give(b, 0, of_x);
    if (!e && b->need[1])
        e = give_row(b, 1, of_parameters, 0);
    return !e && b->node->n_in > 2 && b->need[2] ? give_row(b, 2, of_parameters, 1) : e;
}

tn_status tn__d_standardize(tn__backward *b)
{
    const tn__standardize_params *p = b->node->params;
    const tn_dims dims = tn_dims_of(p->dim.d, p->dim.n);
    const bool weighted = b->node->n_in > 1 && b->need[1], shifted = b->node->n_in > 2 && b->need[2];
    tn_status e = TN_OK;
    tn_tensor *g = b->g[0], *x = b->need[0] || weighted ? tn__saved_tensor(b, 0) : NULL, *weight = NULL;
    if ((b->need[0] || weighted) && !x)
        return tn_error_code();
    if (b->need[0]) {
        weight = weight_of(b, 1, &e);
        if (!e && weighted && at_once(p, g, x))
            return all_at_once(b, x, weight, dims);
        if (!e)
            e = tn__give(b, 0, tn__standardize_backward(g, x, weight, dims, p->kind, p->eps));
    }
    if (!e && weighted) {
        tn_tensor *z = tn__standardize(widened(x), TN_NONE, TN_NONE, dims, p->kind, p->eps);
        e = z ? tn__give(b, 1, of_parameter(b, 1, g, z, true)) : tn_error_code();
    }
    return !e && shifted ? tn__give(b, 2, of_parameter(b, 2, g, NULL, false)) : e;
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
static tn_tensor *bend(const tn__standardize_params *p, tn_tensor *gg, tn_tensor *g, tn_tensor *x, tn_tensor *turned)
{
    const tn_dims dims = tn_dims_of(p->dim.d, p->dim.n);
    tn_tensor *free = NULL, *z = tn__standardize(x, TN_NONE, TN_NONE, dims, p->kind, p->eps),
              *r = scale_of(p, x, &free);
    tn_tensor *gz = over(p, tn_mul(g, z)), *ggz = over(p, tn_mul(gg, z)), *rest = over(p, tn_mul(gg, g));
    if (p->kind == TN__BY_VARIANCE)
        rest = tn_sub(rest, tn_mul(over(p, gg), over(p, g)));
    rest = tn_mul(tn_mul(tn_square(r), z), tn_sub(rest, tn_mul(ggz, gz)));
    tn_tensor *back = tn__standardize_backward(g, x, TN_NONE, dims, p->kind, p->eps);
    tn_tensor *all = tn_neg(tn_add(rest, tn_mul(r, tn_add(tn_mul(gz, turned), tn_mul(ggz, back)))));
    return free ? tn_mul(all, free) : all;
}

/* Of J (g w): with respect to g it is w J gg, to w g J gg, to x as above with g w for g. */
tn_status tn__d_standardize_backward(tn__backward *b)
{
    const tn__standardize_params *p = b->node->params;
    const bool weighted = b->node->n_in > 2 && b->need[2];
    tn_status e = TN_OK;
    tn_tensor *g = b->need[1] || weighted ? tn__saved_tensor(b, 0) : NULL, *x = tn__saved_tensor(b, 1), *gg = b->g[0];
    tn_tensor *weight = b->need[0] || b->need[1] ? weight_of(b, 2, &e) : TN_NONE;
    if (e || !x || ((b->need[1] || weighted) && !g))
        return tn_error_code();
    tn_tensor *turned = tn__standardize_backward(gg, x, TN_NONE, tn_dims_of(p->dim.d, p->dim.n), p->kind, p->eps);
    if (weight != TN_NONE)
        weight = tn_to(weight, .dtype = x->dtype);
    if (b->need[0])
        e = tn__give(b, 0, weight != TN_NONE ? tn_mul(turned, weight) : turned);
    if (!e && weighted)
        e = tn__give(b, 2, of_parameter(b, 2, g, widened(turned), false));
    if (!e && b->need[1])
        e = tn__give(b, 1, bend(p, gg, weight != TN_NONE ? tn_mul(g, weight) : g, x, turned));
    return e;
}
