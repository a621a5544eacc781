/* Gradient clipping: torch.nn.utils.clip_grad_norm_ and clip_grad_value_. */
#include "optim/optimizer.h"
#include <math.h>

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

/* The 2-norm of all of them together. Sums meet on the first one's device, and cross to the host once. */
static tn_status norm_of(tn__thread *t, const tn__list *grads, double *norm)
{
    tn_tensor *sum = NULL;
    *norm = 0;
    if (grads->n == 0)
        return TN_OK;
    for (int64_t i = 0; i < grads->n; i++) {
        tn_tensor *s = square_sum(t, grads->at[i]);
        if (!s)
            return tn_error_code();
        sum = sum ? tn_add(sum, tn_to(s, .device = sum->device)) : s;
        if (!sum)
            return tn_error_code();
    }
    tn_tensor *host = tn_cpu(sum);
    if (!host)
        return tn_error_code();
    *norm = sqrt(tn_item(host));
    return TN_OK;
}

static tn_status scale(const tn__list *grads, double by)
{
    for (int64_t i = 0; i < grads->n; i++)
        if (!tn_mul_(grads->at[i], by))
            return tn_error_code();
    return TN_OK;
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
        e = norm_of(t, &grads, &norm);
    double by = max_norm / (norm + 1e-6);
    if (!e && !(by >= 1))
        e = scale(&grads, by);
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
