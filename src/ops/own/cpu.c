/* Operations that programs register, on the CPU: their function over ranges of items, shared among threads. */
#include "backend/own_call.h"
#include "core/callback.h"
#include "core/parallel.h"
#include "core/thread.h"

enum { ELEMENTS = 16384 }; /* that a thread takes at once, where the description does not say */

typedef struct job {
    const tn__own_call *c;
    const char *site; /* the call's: errors of other threads name it, too */
    _Atomic bool failed;
    tn_status status; /* of the range that failed first, on whichever thread that was, and its error */
    tn__error_copy error;
} job;

static tn_status run(const tn__own_call *c, int64_t begin, int64_t end)
{
    tn__thread *t = tn__self();
    tn__stale stale;
    tn__stale_begin(&stale, t);
    tn_status e = c->op->def.cpu(&c->args, begin, end);
    if (TN_UNLIKELY(e))
        e = t->error ? t->error
                     : tn__error(tn__status_of(e), "%s failed, but no failed call is on record", c->op->name);
    tn__stale_end(&stale, t);
    return e;
}

static void body(void *ctx, int64_t begin, int64_t end)
{
    job *j = ctx;
    if (atomic_load_explicit(&j->failed, memory_order_relaxed))
        return;
    tn__thread *t = tn__self();
    const char *site = t->site;
    t->site = j->site;
    tn_status e = run(j->c, begin, end);
    t->site = site;
    if (TN_LIKELY(!e))
        return;
    if (!atomic_exchange(&j->failed, true)) {
        j->status = e;
        tn__error_save(&j->error);
    }
    tn_error_clear();
}

static tn_status share(const tn__own_call *c, int64_t grain)
{
    job j = {.c = c, .site = tn__self()->site};
    tn__parallel_for(c->args.items, grain, body, &j);
    if (TN_LIKELY(!j.failed))
        return TN_OK;
    tn__error_restore(&j.error);
    return j.status;
}

tn_status tn__cpu_own(const tn__launch *l)
{
    const tn_op_def *d = &tn__own_of(l->op)->def;
    tn__own_call c;
    if (!d->cpu)
        return tn__error(TN_EMISSING, "%s has no CPU function: it was registered with a kernel for GPUs alone",
                         d->name);
    tn_status e = tn__own_begin(&c, l, d->cpu_dtypes);
    const int64_t per = d->items == TN_OP_ROWS ? TN_MAX(ELEMENTS / TN_MAX(c.width, 1), 1) : ELEMENTS;
    const int64_t grain = d->grain ? d->grain : per;
    if (!e && !c.empty)
        e = c.args.items <= grain ? run(&c, 0, c.args.items) : share(&c, grain);
    return tn__own_end(&c, l, e);
}
