/* The settings of the process, as users read and write them. */
#include "core/settings.h"
#include "core/error.h"
#include "core/thread.h"
#include <tenon/cuda.h>

tn__settings tn__settings_now;

static const char *const precisions[] = {"highest", "high", "medium"};

void tn_use_deterministic_algorithms(bool on)
{
    atomic_store(&tn__settings_now.deterministic, on);
}

bool tn_are_deterministic_algorithms_enabled(void)
{
    return tn__deterministic();
}

void tn_set_fill_uninitialized_memory(bool on)
{
    atomic_store(&tn__settings_now.leave_uninitialised, !on);
}

bool tn_fills_uninitialized_memory(void)
{
    return !atomic_load(&tn__settings_now.leave_uninitialised);
}

tn_status tn_set_float32_matmul_precision(const char *precision)
{
    tn__enter(TN__NOWHERE);
    for (size_t i = 0; precision && i < TN_COUNT(precisions); i++)
        if (!strcmp(precision, precisions[i])) {
            atomic_store(&tn__settings_now.precision, (int32_t)i);
            return TN_OK;
        }
    return tn__error(
        TN_EVALUE,
        "%s is not one of 'highest', 'high', or 'medium'; the current setFloat32MatmulPrecision call has no "
        "effect.",
        precision ? precision : "NULL");
}

const char *tn_get_float32_matmul_precision(void)
{
    return precisions[atomic_load(&tn__settings_now.precision)];
}
