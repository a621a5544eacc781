/* core/interrupt.h: what long waits do for the program around them: every 100 ms they call the check that it has set
 * (tn_set_wait_check), which may end them. Where there is none, nothing of this costs more than one load. */
#ifndef TENON_CORE_INTERRUPT_H
#define TENON_CORE_INTERRUPT_H

#include "core/base.h"
#include <tenon/device.h>

extern _Atomic(tn_wait_check) tn__wait_check;

static inline bool tn__has_wait_check(void)
{
    return atomic_load_explicit(&tn__wait_check, memory_order_relaxed) != NULL;
}

/* Nanoseconds of a clock that only goes on, to a few milliseconds. */
int64_t tn__coarse_now(void);

/* Calls the check if the last time was 100 ms ago. looked: 0 at the beginning of a wait. TN_ECANCELED, with the error set:
 * the check says that the wait is to end. No lock is held. */
TN_MUST_USE tn_status tn__poll_wait_check(int64_t *looked);

#endif
