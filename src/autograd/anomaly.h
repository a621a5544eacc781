/* autograd/anomaly.h: what the recording of operations and the backward engine ask where somebody watches for anomalies. */
#ifndef TENON_AUTOGRAD_ANOMALY_H
#define TENON_AUTOGRAD_ANOMALY_H

#include "autograd/node.h"

enum { TN__ANOMALY_WATCHED = 1, TN__ANOMALY_NAN = 2 };

/* 0 where nobody watches: all that is read then. */
extern _Atomic int tn__anomaly_on;

static inline bool tn__anomaly_watched(void)
{
    return TN_UNLIKELY(atomic_load_explicit(&tn__anomaly_on, memory_order_acquire) != 0);
}

static inline bool tn__anomaly_asks_nan(void)
{
    return TN_UNLIKELY(atomic_load_explicit(&tn__anomaly_on, memory_order_acquire) & TN__ANOMALY_NAN);
}

/* Keeps the place of what is being recorded. Not under a lock: user code runs. */
TN_COLD void tn__anomaly_recorded(tn__node *n);
TN_COLD void tn__anomaly_forget(void *place);
/* The node's derivative has failed: the error is set, and stays. */
TN_COLD void tn__anomaly_failed(const tn__node *n);
/* The error if a gradient that the node has given is not a number somewhere. grad[n_in], NULL where there is none. */
TN_COLD tn_status tn__anomaly_nan(const tn__node *n, tn_tensor *const *grad) TN_MUST_USE;

#endif
