/* The program's check that long waits call, and when it is time to call it. */
#include "core/interrupt.h"
#include "core/error.h"
#include "core/thread.h"
#include <tenon/scope.h>
#include <time.h>

enum { BETWEEN = 100 * 1000 * 1000 }; /* nanoseconds from one check to the next */

_Atomic(tn_wait_check) tn__wait_check;

void tn_set_wait_check(tn_wait_check check)
{
    atomic_store(&tn__wait_check, check);
}

int64_t tn__coarse_now(void)
{
    struct timespec t;
#ifdef CLOCK_MONOTONIC_COARSE
    clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
#else
    clock_gettime(CLOCK_MONOTONIC, &t);
#endif
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* The check may call whatever it likes of the library: it finds no scope of the call that waits, and leaves that call's
 * record, site and mode as they were. */
static bool call(tn_wait_check check)
{
    tn__thread *self = tn__self();
    tn__error_copy record;
    const char *site = self->site;
    bool no_grad = self->no_grad;
    tn__error_save(&record);
    tn_scope *scopes = tn_scope_suspend();
    bool stop = check() != 0;
    tn_scope_resume(scopes);
    tn__error_restore(&record);
    self->no_grad = no_grad;
    self->site = site;
    return stop;
}

tn_status tn__poll_wait_check(int64_t *looked)
{
    tn_wait_check check = atomic_load(&tn__wait_check);
    int64_t now = tn__coarse_now();
    if (!*looked)
        *looked = now;
    if (!check || now - *looked < BETWEEN)
        return TN_OK;
    bool stop = call(check);
    *looked = tn__coarse_now();
    return stop ? tn__error(TN_ECANCELED, "interrupted while waiting; what was queued on devices goes on") : TN_OK;
}
