/* Numbers of laws that reject some of what they draw (cpu_laws.c), and what is made of them. */
#include "ops/compose.h"

/* As the laws' rows take it. */
static tn_tensor *dense(tn_tensor *x)
{
    const bool was = tn__set_no_grad(true);
    x = tn_contiguous(tn_detach(x));
    tn__set_no_grad(was);
    return x;
}

/* A history by which no gradient but 0 goes, where x has one, as PyTorch's have. */
static tn_tensor *with_history(tn_tensor *x, tn_tensor *made)
{
    if (!made || tn__self()->no_grad || !tn__requires_grad(x))
        return made;
    tn_tensor *over = tn_clone(x);
    return over ? tn_copy_(over, made) : NULL;
}

/* The host hears of rates that are none on the CPU alone: a GPU would have to be waited for. */
static bool are_rates(tn_tensor *x)
{
    if (x->device.type != TN_DEVICE_CPU || !x->numel)
        return true;
    const bool was = tn__set_no_grad(true);
    tn_tensor *fine = tn_all(tn_ge(x, 0));
    tn__set_no_grad(was);
    if (fine && tn_item(fine) == 0)
        tn__error(TN_EINVAL, "invalid Poisson rate, expected rate to be non-negative");
    return fine && tn_item(fine) != 0;
}

tn_tensor *tn__fn_poisson(tn_tensor *x)
{
    if (!tn__floating("poisson_*", x) || !are_rates(x))
        return NULL;
    return with_history(x, tn__poisson(dense(x)));
}

static bool is_wide_float(const char *kernel, const tn_tensor *x)
{
    if (x->dtype == TN_F32 || x->dtype == TN_F64)
        return true;
    tn__no_kernel(kernel, x);
    return false;
}

tn_tensor *tn__fn_binomial(tn_tensor *count, tn_tensor *prob)
{
    tn_tensor *both[] = {count, prob};
    if (!tn__usable("binomial", count) || !tn__usable("binomial", prob))
        return NULL;
    if (!tn__dtype_is_float(count->dtype))
        return tn__fail(TN_EVALUE, "binomial only supports floating-point dtypes for count, got: %s",
                        tn__dtypes[count->dtype].legacy);
    if (count->dtype != prob->dtype)
        return tn__fail(TN_EDTYPE, "Found dtype %s but expected %s", tn__dtypes[prob->dtype].legacy,
                        tn__dtypes[count->dtype].legacy);
    if (!is_wide_float("binomial_*", count) || !tn__broadcast_all(both, 2))
        return NULL;
    tn_tensor *made = tn__binomial(dense(both[1]), dense(both[0]));
    return with_history(both[1], with_history(both[0], made));
}

/* ---- gamma, and what is made of it ---- */

tn_tensor *tn__fn_standard_gamma(const tn_scalar *in, void *params)
{
    tn_tensor *x = in[0].v.t;
    (void)params;
    return is_wide_float("gamma_*", x) ? tn__gamma(dense(x)) : NULL;
}

/* Gamma numbers, divided by their sums over the last dimension. In double: of small parameters they vanish in float. */
tn_tensor *tn__fn_sample_dirichlet(const tn_scalar *in, void *params)
{
    tn_tensor *x = in[0].v.t;
    (void)params;
    if (!is_wide_float("dirichlet", x))
        return NULL;
    if (!x->ndim)
        return tn__fail(TN_EINDEX, "Dimension specified as -1 but tensor has no dimensions");
    tn_tensor *wide = tn__gamma(dense(tn_to(x, .dtype = TN_F64)));
    tn_tensor *part = tn_div(wide, tn_sum(wide, .dim = x->ndim - 1, .keepdim = true));
    const double least = x->dtype == TN_F32 ? FLT_MIN : DBL_MIN, eps = x->dtype == TN_F32 ? FLT_EPSILON : DBL_EPSILON;
    part = part ? tn_to(part, .dtype = x->dtype) : NULL;
    return tn_clamp(part, least, 1 - eps / 2);
}

tn_tensor *tn__fn_standard_gamma_grad(tn_tensor *x, tn_tensor *output)
{
    tn_tensor *both[] = {x, output};
    if (!tn__usable("standard_gamma_grad", x) || !tn__usable("standard_gamma_grad", output) ||
        !is_wide_float("_standard_gamma_grad_*", x) || !tn__broadcast_all(both, 2))
        return NULL;
    return tn__gamma_slope(both[0], both[1]);
}

tn_tensor *tn__fn_dirichlet_grad(tn_tensor *x, tn_tensor *alpha, tn_tensor *total)
{
    tn_tensor *all[] = {x, alpha, total};
    if (!tn__usable("dirichlet_grad", x) || !tn__usable("dirichlet_grad", alpha) ||
        !tn__usable("dirichlet_grad", total) || !is_wide_float("_dirichlet_grad_*", x) || !tn__broadcast_all(all, 3))
        return NULL;
    return tn__beta_slope(all[0], all[1], all[2]);
}

/* ---- softmax with Gumbel's noise (Jang, Gu and Poole; Maddison, Mnih and Teh, 2017) ---- */

tn_tensor *tn__fn_gumbel_softmax(tn_tensor *x, int64_t dim, const tn_gumbel_softmax_options *o)
{
    if (!tn__usable("gumbel_softmax", x))
        return NULL;
    const bool was = tn__set_no_grad(true);
    tn_tensor *noise = tn_empty(tn__shape_of(x), .dtype = x->dtype, .device = x->device);
    noise = noise ? tn_exponential_(noise, 1) : NULL;
    noise = tn_neg(tn_log(noise));
    tn__set_no_grad(was);
    tn_tensor *soft = tn_softmax(tn_div(tn_add(x, noise), tn__number_or(o->tau, 1)), dim);
    if (!soft || !o->hard)
        return soft;
    tn_tensor *most = tn_argmax(tn_detach(soft), .dim = dim, .keepdim = true);
    tn_tensor *hard = tn_scatter(tn_zeros(tn__shape_of(x), .dtype = x->dtype, .device = x->device), dim, most, 1);
    return tn_add(tn_sub(hard, tn_detach(soft)), soft); /* the gradient is that of soft */
}
