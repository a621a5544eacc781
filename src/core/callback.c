/* Callbacks that fail. */
#include "core/callback.h"
#include "core/alloc.h"

void tn__stale_put_away(tn__stale *s, tn__thread *t)
{
    s->copy = tn__block_get(sizeof *s->copy);
    if (s->copy)
        tn__error_save(s->copy);
    t->error = TN_OK;
}

void tn__stale_bring_back(tn__stale *s, tn__thread *t)
{
    if (!t->error && s->copy)
        tn__error_restore(s->copy);
    if (!t->error)
        t->error = s->error;
    if (s->copy)
        tn__block_put(s->copy, sizeof *s->copy);
}

tn_status tn__visit_answer(const tn__visit *v, tn_status e, const char *what, const char *whose)
{
    tn__thread *t = v->t;
    t->site = v->site;
    if (!e || t->error)
        return e ? t->error : TN_OK;
    return tn__error(tn__status_of(e), "%s of %s failed with status %d, but no failed call is on record", what, whose,
                     (int)e);
}
