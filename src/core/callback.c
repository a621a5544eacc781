/* Callbacks that fail. */
#include "core/callback.h"

tn_status tn__visit_answer(const tn__visit *v, tn_status e, const char *what, const char *whose)
{
    tn__thread *t = v->t;
    t->site = v->site;
    if (!e || t->error)
        return e ? t->error : TN_OK;
    return tn__error(e > TN_OK && e <= TN_ECANCELED ? e : TN_EINVAL,
                     "%s of %s failed with status %d, but no failed call is on record", what, whose, (int)e);
}
