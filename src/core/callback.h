/* core/callback.h: what stands around a call of the user's that answers with a status: a barrier scope, and an error record
 * that is empty before, so that what is on it afterwards is the callback's. */
#ifndef TENON_CORE_CALLBACK_H
#define TENON_CORE_CALLBACK_H

#include "core/error.h"
#include "core/object.h"

typedef struct tn__visit {
    tn__thread *t;
    tn_scope scope;
    const char *site;
    tn_status error; /* that was on record */
} tn__visit;

static inline void tn__visit_begin(tn__visit *v)
{
    v->t = tn__self();
    v->site = v->t->site;
    v->error = v->t->error;
    v->t->error = TN_OK;
    tn__barrier_push(v->t, &v->scope);
}

/* The callback has returned e, with that error or none: the call site is the caller's again. The status that counts: where e
 * is one, and nothing on record, there is an error that says so of "what of whose". */
TN_MUST_USE tn_status tn__visit_answer(const tn__visit *v, tn_status e, const char *what, const char *whose);

/* Closes the scope. What was on record before comes back, unless there is an error now. */
static inline void tn__visit_end(tn__visit *v)
{
    tn__barrier_pop(v->t, &v->scope, NULL);
    v->t->site = v->site;
    if (!v->t->error)
        v->t->error = v->error;
}

#endif
