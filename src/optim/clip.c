/* Gradient clipping: torch.nn.utils.clip_grad_norm_ and clip_grad_value_. */
#include "optim/optimizer.h"

/* The gradients of the parameters. */
static tn_status collect(const char *what, tn_params params, tn__list *grads)
{
    tn__list all = {NULL, 0, 0};
    tn_status e = tn__params_collect(what, params, &all);
    for (int64_t i = 0; i < all.n && !e; i++)
        if (all.at[i]->grad)
            e = tn__list_add(grads, all.at[i]->grad);
    tn__list_free(&all);
    return e;
}

/* Sum of squares, 0-dim, at least float32; 16-bit squares would overflow. */
static tn_tensor *square_sum(tn__thread *t, tn_tensor *g)
{
    tn_scope scope;
    tn__scope_push(t, &scope);
    tn_tensor *wide = tn__dtype_size(g->dtype) < 4 ? tn_to(g, .dtype = TN_F32) : g;
    return tn__scope_pop(t, &scope, tn_sum(tn_square(wide)));
}

/* The 2-norm of all of them together: 0-dim, float64, on the first one's device. */
static tn_tensor *norm_of(tn__thread *t, const tn__list *grads)
{
    tn_tensor *sum = square_sum(t, grads->at[0]);
    for (int64_t i = 1; i < grads->n && sum; i++)
        sum = tn_add(sum, tn_to(square_sum(t, grads->at[i]), .device = sum->device));
    return tn_sqrt(tn_to(sum, .dtype = TN_F64));
}

/* What the host can read is known before anything is scaled; elsewhere a factor of 1 costs less than waiting for it. */
static tn_status scale(const tn__list *grads, tn_tensor *norm, double max_norm)
{
    tn_tensor *by = tn_clamp_max(tn_div(max_norm, tn_add(norm, 1e-6)), 1.0);
    if (!by)
        return tn_error_code();
    if (by->device.type == TN_DEVICE_CPU && tn_item(by) >= 1)
        return TN_OK;
    for (int64_t i = 0; i < grads->n; i++)
        if (!tn_mul_(grads->at[i], tn_to(by, .device = grads->at[i]->device)))
            return tn_error_code();
    return TN_OK;
}

static tn_status clip(tn__thread *t, const tn__list *grads, double max_norm, double *total)
{
    if (total)
        *total = 0;
    if (grads->n == 0)
        return TN_OK;
    tn_tensor *norm = norm_of(t, grads);
    tn_status e = norm ? scale(grads, norm, max_norm) : tn_error_code();
    if (!e && total) {
        tn_tensor *host = tn_cpu(norm);
        if (!host)
            return tn_error_code();
        *total = tn_item(host);
    }
    return e;
}

tn_status tn_clip_grad_norm__at(const char *site, tn_params params, double max_norm, double *total)
{
    tn__thread *t = tn__enter(site);
    tn__list grads = {NULL, 0, 0};
    tn_scope scope;
    double norm = 0;
    bool was = tn__set_no_grad(true);
    tn__scope_push(t, &scope);
    tn_status e = collect("tn_clip_grad_norm_", params, &grads);
    if (!e)
        e = clip(t, &grads, max_norm, total ? &norm : NULL);
    tn__list_free(&grads);
    tn__scope_pop(t, &scope, NULL);
    tn__set_no_grad(was);
    if (!e && total)
        *total = norm;
    return e;
}

tn_status tn_clip_grad_value__at(const char *site, tn_params params, double limit)
{
    tn__enter(site);
    tn__list grads = {NULL, 0, 0};
    bool was = tn__set_no_grad(true);
    tn_status e = collect("tn_clip_grad_value_", params, &grads);
    for (int64_t i = 0; i < grads.n && !e; i++)
        if (!tn__clamp_(grads.at[i], -limit, limit))
            e = tn_error_code();
    tn__list_free(&grads);
    tn__set_no_grad(was);
    return e;
}

tn_status(tn_clip_grad_norm_)(tn_params params, double max_norm, double *total)
{
    return tn_clip_grad_norm__at(TN__NOWHERE, params, max_norm, total);
}

tn_status(tn_clip_grad_value_)(tn_params params, double limit)
{
    return tn_clip_grad_value__at(TN__NOWHERE, params, limit);
}
