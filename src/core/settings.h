/* core/settings.h: choices of the user that hold for the whole process. Read on every call they matter to: plain loads. */
#ifndef TENON_CORE_SETTINGS_H
#define TENON_CORE_SETTINGS_H

#include "core/base.h"

/* float32 products on GPUs: what their factors may be rounded to. */
typedef enum tn__precision { TN__PRECISION_HIGHEST, TN__PRECISION_HIGH, TN__PRECISION_MEDIUM } tn__precision;

typedef struct tn__settings {
    _Atomic bool deterministic;
    _Atomic bool leave_uninitialised; /* memory that nobody has written stays as it is, whatever the one above says */
    _Atomic int32_t precision;
} tn__settings;
extern tn__settings tn__settings_now;

/* Operations must give the same bits in every run. */
static inline bool tn__deterministic(void)
{
    return atomic_load_explicit(&tn__settings_now.deterministic, memory_order_relaxed);
}

/* Memory that nobody has written is filled, so that its use gives the same bits in every run. */
static inline bool tn__fills_uninitialised(void)
{
    return tn__deterministic() && !atomic_load_explicit(&tn__settings_now.leave_uninitialised, memory_order_relaxed);
}

/* float32 products may use TensorFloat32. */
static inline bool tn__tf32(void)
{
    return atomic_load_explicit(&tn__settings_now.precision, memory_order_relaxed) != TN__PRECISION_HIGHEST;
}

#endif
