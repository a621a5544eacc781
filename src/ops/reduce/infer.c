/* Shape rules of the family reduce. */
#include "op/infer.h"
#include <stdio.h>

/* Result shape: the named dimensions gone, or 1 where keepdim. */
static tn_status reduce_to(tn__call *c, tn__spec *s, tn_dtype dtype, tn__dims *dim, bool keepdim, bool needs_elements)
{
    const tn_tensor *x = tn__in(c, 0);
    uint32_t mask;
    tn_status e = tn__infer_dims(dim, x->ndim, &mask);
    if (e)
        return e;
    s->dtype = dtype;
    s->ndim = 0;
    s->strided = false;
    for (int32_t d = 0; d < x->ndim; d++) {
        bool named = mask >> d & 1;
        if (named && needs_elements && x->shape[d] == 0) {
            if (!dim->given)
                return tn__error(TN_EINVAL,
                                 "%s(): Expected reduction dim to be specified for input.numel() == 0. "
                                 "Specify the reduction dim with the 'dim' argument.",
                                 tn__op_name(c->op));
            return tn__error(TN_EINDEX, "%s(): Expected reduction dim %d to have non-zero size.", tn__op_name(c->op),
                             (int)d);
        }
        if (!named)
            s->shape[s->ndim++] = x->shape[d];
        else if (keepdim)
            s->shape[s->ndim++] = 1;
    }
    c->variant = dim->given;
    return TN_OK;
}

/* PyTorch reduces uint16 and its like to other dtypes alone. */
static TN_COLD tn_status not_bare(const tn__call *c, tn_dtype d)
{
    const char *name = tn__op_name(c->op), *suffix = "";
    char kernel[48], gpu[48];
    if (c->op == TN__OP_amax || c->op == TN__OP_amin)
        name = c->op == TN__OP_amax ? "max_values" : "min_values";
    else if (c->op == TN__OP_prod)
        suffix = "_out";
    if ((c->op == TN__OP_max || c->op == TN__OP_min) && !((const tn__reduction_params *)c->params)->dim.given)
        return snprintf(kernel, sizeof kernel, "%s_all", name), tn__no_dtype(kernel, d);
    snprintf(kernel, sizeof kernel, "%s%s_*", name, suffix);
    snprintf(gpu, sizeof gpu, "%s_*", name);
    return tn__no_dtype_on(c->device, kernel, gpu, d);
}

static tn_status one_reduction(tn__call *c, tn_dtype dtype, tn__dims *dim, bool keepdim, bool needs_elements)
{
    if (tn__dtype_is_bare(dtype))
        return not_bare(c, dtype);
    tn_status e = reduce_to(c, &c->spec[0], dtype, dim, keepdim, needs_elements);
    return e ? e : tn__infer_one(c);
}

static tn_status one_dim_at_most(const tn__call *c, const tn__dims *dim)
{
    if (dim->n > 1)
        return tn__error(TN_EINVAL, "%s: takes one dimension, or none for all; got %d", tn__op_name(c->op),
                         (int)dim->n);
    return TN_OK;
}

tn_status tn__infer_sum(tn__call *c)
{
    tn__sum_params *p = c->params;
    return one_reduction(c, tn__sum_dtype(tn__in(c, 0), p->dtype), &p->dim, p->keepdim, false);
}

tn_status tn__infer_mean(tn__call *c)
{
    tn__sum_params *p = c->params;
    tn_dtype d = p->dtype ? p->dtype : tn__in(c, 0)->dtype;
    if (!tn__dtype_is_float(d))
        return tn__error(TN_EDTYPE,
                         "mean(): could not infer output dtype. %s dtype must be either a floating point or "
                         "complex dtype. Got: %s",
                         p->dtype ? "Optional" : "Input", tn__dtypes[d].legacy);
    return one_reduction(c, d, &p->dim, p->keepdim, false);
}

tn_status tn__infer_prod(tn__call *c)
{
    tn__sum_params *p = c->params;
    tn_status e = one_dim_at_most(c, &p->dim);
    return e ? e : one_reduction(c, tn__sum_dtype(tn__in(c, 0), p->dtype), &p->dim, p->keepdim, false);
}

tn_status tn__infer_amax(tn__call *c)
{
    tn__reduction_params *p = c->params;
    return one_reduction(c, tn__in(c, 0)->dtype, &p->dim, p->keepdim, true);
}

/* Of floating dtypes, which the caller has made sure of. */
tn_status tn__infer_norm(tn__call *c)
{
    tn__reduction_params *p = c->params;
    return one_reduction(c, tn__in(c, 0)->dtype, &p->dim, p->keepdim, false);
}

tn_status tn__infer_any(tn__call *c)
{
    tn__reduction_params *p = c->params;
    const tn_tensor *x = tn__in(c, 0);
    const tn_dtype d = x->dtype, to = d == TN_U8 ? TN_U8 : TN_BOOL; /* PyTorch's exception for uint8 */
    const bool each = p->dim.given && p->dim.n == 0;                /* an empty list is none here, not all */
    tn_status e = one_reduction(c, to, &p->dim, p->keepdim, false);
    if (!e && each) {
        tn__spec_like(&c->spec[0], x);
        c->spec[0].dtype = to;
        p->dim.n = 0;
    }
    c->compute = tn__dtypes[d].compute;
    return e;
}

tn_status tn__infer_argmax(tn__call *c)
{
    tn__reduction_params *p = c->params;
    tn_dtype d = tn__in(c, 0)->dtype;
    if (d == TN_BOOL)
        return tn__error(TN_EDTYPE, "%s(): does not support bool input", tn__op_name(c->op));
    if (tn__dtype_is_bare(d))
        return not_bare(c, d);
    tn_status e = one_dim_at_most(c, &p->dim);
    if (e || (e = one_reduction(c, TN_I64, &p->dim, p->keepdim, true)))
        return e;
    c->compute = tn__dtypes[d].compute;
    return TN_OK;
}

tn_status tn__infer_max(tn__call *c)
{
    tn__reduction_params *p = c->params;
    tn_status e = one_dim_at_most(c, &p->dim);
    if (e || (e = one_reduction(c, tn__in(c, 0)->dtype, &p->dim, p->keepdim, true)))
        return e;
    if (p->dim.given) {
        c->spec[1] = c->spec[0];
        c->spec[1].dtype = TN_I64;
        c->n_out = 2;
    }
    return TN_OK;
}

/* Of a tensor that has elements. */
tn_status tn__infer_extremes(tn__call *c)
{
    tn__spec *s = &c->spec[0];
    s->dtype = tn__in(c, 0)->dtype;
    s->ndim = 0;
    s->strided = false;
    tn_status e = tn__infer_one(c);
    c->spec[1] = *s;
    c->n_out = 2;
    return e;
}

tn_status tn__infer_var(tn__call *c)
{
    tn__var_params *p = c->params;
    tn_dtype d = tn__in(c, 0)->dtype;
    if (!tn__dtype_is_float(d))
        return tn__error(TN_EDTYPE, "std and var only support floating point and complex dtypes");
    return one_reduction(c, d, &p->dim, p->keepdim, false);
}

tn_status tn__infer_row_gradients(tn__call *c)
{
    const tn__row_gradients_params *p = c->params;
    const tn_tensor *g = tn__in(c, 0), *x = tn__in(c, 1), *out = tn__in_or_null(c, 2);
    bool fits = tn__dtype_is_float(x->dtype) && g->dtype == x->dtype && tn__contiguous(g) && tn__contiguous(x);
    fits = fits && g->numel > 0 && x->numel % g->numel == 0 && p->kind >= 0 && p->kind <= 2 && (out || p->kind == 0);
    fits = fits && (!out || (out->dtype == x->dtype && tn__contiguous(out) && out->numel == g->numel));
    if (!fits)
        return tn__error(TN_EINVAL,
                         "row_gradients: tensors must be dense, of one floating dtype, and rows as many as g has");
    tn__spec_like(&c->spec[0], x);
    return tn__infer_one(c);
}

tn_status tn__infer_equal_runs(tn__call *c)
{
    tn__spec *s = &c->spec[0];
    s->dtype = TN_BOOL;
    s->ndim = 0;
    s->strided = false;
    return tn__infer_one(c);
}
