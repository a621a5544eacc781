/* The thread's error record: set, read, added to, kept aside and brought back. */
#include "core/error.h"
#include "core/thread.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <tenon/sites.h>

tn_status tn_error_code(void)
{
    return tn__self()->error;
}

const char *tn_error_message(void)
{
    tn__thread *t = tn__self();
    if (!t->error)
        return "";
    return t->message ? t->message : "out of memory, also for the message that would say more";
}

void tn_error_clear(void)
{
    tn__self()->error = TN_OK;
}

const char *tn_status_name(tn_status code)
{
    static const char *const names[] = {"TN_OK",     "TN_EINVAL",   "TN_EDEVICE",  "TN_ENOMEM", "TN_EINDEX",
                                        "TN_EDTYPE", "TN_EVALUE",   "TN_ETYPE",    "TN_EIO",    "TN_EFORMAT",
                                        "TN_EGRAD",  "TN_EMISSING", "TN_ECANCELED"};
    return code >= 0 && (size_t)code < TN_COUNT(names) ? names[code] : "TN_?";
}

static char *message_of(tn__thread *t)
{
    if (!t->message && !t->emergency) /* not through the door: reporting a failure must not fail by injection */
        t->message = calloc(1, TN__MESSAGE);
    return t->message;
}

tn_status tn__error(tn_status code, const char *format, ...)
{
    tn__thread *t = tn__self();
    t->error = code;
    t->unsited = !t->site;
    char *m = message_of(t);
    if (!m)
        return code;
    va_list ap;
    va_start(ap, format);
    int n = vsnprintf(m, TN__MESSAGE, format, ap);
    va_end(ap);
    if (n > 0 && n < TN__MESSAGE && t->site)
        snprintf(m + n, (size_t)(TN__MESSAGE - n), "\n  at %s", t->site);
    return code;
}

void tn_error_at(const char *site)
{
    tn__thread *t = tn__self();
    if (t->unsited && site && *site)
        tn__error_append("\n  at %s", site);
    t->unsited = false;
}

void tn__error_save(tn__error_copy *c)
{
    const tn__thread *t = tn__self();
    c->code = t->error;
    if (c->code && t->message)
        memcpy(c->text, t->message, TN__MESSAGE);
    else
        c->text[0] = '\0';
}

void tn__error_restore(const tn__error_copy *c)
{
    tn__thread *t = tn__self();
    t->error = c->code;
    char *m = c->code && c->text[0] ? message_of(t) : NULL; /* the first error of this thread may be another's */
    if (m)
        memcpy(m, c->text, TN__MESSAGE);
}

_Static_assert(sizeof((tn__error_copy *)0)->text == TN__MESSAGE, "a copy holds a message");

tn_status tn__error_append(const char *format, ...)
{
    tn__thread *t = tn__self();
    if (!t->error || !t->message)
        return t->error;
    size_t n = strlen(t->message);
    va_list ap;
    va_start(ap, format);
    vsnprintf(t->message + n, TN__MESSAGE - n, format, ap);
    va_end(ap);
    return t->error;
}

tn__size_text tn__size_str(int64_t bytes)
{
    tn__size_text t;
    if (bytes <= 1024)
        snprintf(t.s, sizeof t.s, "%lld bytes", (long long)bytes);
    else if (bytes <= 1048576)
        snprintf(t.s, sizeof t.s, "%.2f KiB", (double)bytes / 1024);
    else if (bytes <= 1073741824)
        snprintf(t.s, sizeof t.s, "%.2f MiB", (double)bytes / 1048576);
    else
        snprintf(t.s, sizeof t.s, "%.2f GiB", (double)bytes / 1073741824);
    return t;
}

tn_status tn__error_memory(const char *what, size_t bytes)
{
    return tn__error(TN_ENOMEM, "out of memory: %zu bytes for %s could not be had", bytes, what);
}

tn_status tn__poisoned(const char *what)
{
    tn__thread *t = tn__self();
    if (!t->error)
        return tn__error(TN_EINVAL,
                         "%s: an operand is NULL, but no failed call is on record; "
                         "an operand that is absent on purpose is TN_NONE",
                         what);
    return t->error;
}
