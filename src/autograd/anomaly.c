/* Who watches for anomalies: where operations were recorded, and which of their derivatives fails. */
#include "autograd/anomaly.h"
#include "autograd/functions.h"
#include "autograd/hooks.h"
#include "core/error.h"
#include <math.h>

_Atomic int tn__anomaly_on;
static tn_anomaly_watch watch; /* read where tn__anomaly_on says so; 'forget' stays */

tn_status tn_watch_anomalies(const tn_anomaly_watch *w)
{
    tn__enter(TN__NOWHERE);
    if (w && w->struct_size != sizeof *w)
        return tn__error(TN_EINVAL, "tn_watch_anomalies: struct_size is %zu, not %zu", w->struct_size, sizeof *w);
    if (w && (!w->recorded != !w->forget))
        return tn__error(TN_EINVAL, "tn_watch_anomalies: recorded and forget belong together");
    atomic_store_explicit(&tn__anomaly_on, 0, memory_order_release);
    if (!w)
        return TN_OK;
    void (*forget)(void *) = w->forget ? w->forget : watch.forget; /* of what an earlier watch has kept */
    watch = *w;
    watch.forget = forget;
    atomic_store_explicit(&tn__anomaly_on, TN__ANOMALY_WATCHED | (w->check_nan ? TN__ANOMALY_NAN : 0),
                          memory_order_release);
    return TN_OK;
}

void tn__anomaly_recorded(tn__node *n)
{
    if (watch.recorded)
        n->place = watch.recorded();
}

void tn__anomaly_forget(void *place)
{
    watch.forget(place);
}

void tn__anomaly_failed(const tn__node *n)
{
    if (watch.failed)
        watch.failed(tn__node_name(n).s, n->place);
}

/* Is there one? -1 where that cannot be told. */
static int has_nan(tn_tensor *t)
{
    if (!tn__dtype_is_float(t->dtype) || t->device.type == TN_DEVICE_META || !t->numel)
        return 0;
    tn_tensor *any = tn_any(tn_isnan(t));
    const double found = any ? tn_item(any) : NAN; /* NaN: could not be read */
    return isnan(found) ? -1 : found != 0;
}

tn_status tn__anomaly_nan(const tn__node *n, tn_tensor *const *grad)
{
    tn__thread *self = tn__self();
    const bool before = self->no_grad;
    tn_status s = TN_OK;
    self->no_grad = true; /* looking is no part of a derivative that is recorded */
    for (int32_t i = 0; i < n->n_in && !s; i++) {
        const int found = grad[i] ? has_nan(grad[i]) : 0;
        if (found < 0)
            s = tn_error_code();
        else if (found)
            s = tn__error(TN_EGRAD, "Function '%s' returned nan values in its %dth output.", tn__node_name(n).s, i);
    }
    self->no_grad = before;
    return s;
}
