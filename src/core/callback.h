/* core/callback.h: what stands around a call of the user's that answers with a status: a barrier scope, and an error record
 * that is empty before, so that what is on it afterwards is the callback's. */
#ifndef TENON_CORE_CALLBACK_H
#define TENON_CORE_CALLBACK_H

#include "core/error.h"
#include "core/object.h"

/* The error that was on record before a callback: put away, so that it is not taken for the callback's. */
typedef struct tn__stale {
    tn_status error;      /* or TN_OK */
    tn__error_copy *copy; /* NULL: there was no memory for its text */
} tn__stale;

void tn__stale_put_away(tn__stale *s, tn__thread *t);
void tn__stale_bring_back(tn__stale *s, tn__thread *t);

static inline void tn__stale_begin(tn__stale *s, tn__thread *t)
{
    s->error = t->error;
    if (TN_UNLIKELY(s->error))
        tn__stale_put_away(s, t);
}

/* It comes back, unless there is an error now. */
static inline void tn__stale_end(tn__stale *s, tn__thread *t)
{
    if (TN_UNLIKELY(s->error))
        tn__stale_bring_back(s, t);
}

/* A status as a callback may have returned it, made one that there is. */
static inline tn_status tn__status_of(tn_status e)
{
    return e > TN_OK && e <= TN_ECANCELED ? e : TN_EINVAL;
}

typedef struct tn__visit {
    tn__thread *t;
    tn_scope scope;
    const char *site;
    tn__stale stale;
} tn__visit;

static inline void tn__visit_begin(tn__visit *v)
{
    v->t = tn__self();
    v->site = v->t->site;
    tn__stale_begin(&v->stale, v->t);
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
    tn__stale_end(&v->stale, v->t);
}

#endif
