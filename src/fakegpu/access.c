/* Who may touch what: every stretch that queued work touches must lie in one live block that its context may use. */
#include "fakegpu/driver.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Writes what is wrong with an access, or returns false. */
static bool is_illegal(const fake_context *c, const fake_access *a, char *text, size_t size)
{
    if (!a->pointer)
        return false;
    const fake_device *d = fake_device_of(a->pointer);
    const fake_block *b = fake_block_of(a->pointer);
    if (!b) {
        snprintf(text, size, d ? "%p is no live memory of device %d" : "%p is neither device memory nor pinned memory",
                 a->pointer, d ? d->ordinal : 0);
        return true;
    }
    if (d && d != c->device && !c->peer[d->ordinal]) {
        snprintf(text, size, "%p is memory of device %d: device %d has no access to it (cuCtxEnablePeerAccess)",
                 a->pointer, d->ordinal, c->device->ordinal);
        return true;
    }
    size_t offset = (size_t)((const char *)a->pointer - b->base);
    if (offset < b->bytes && a->bytes <= b->bytes - offset)
        return false;
    snprintf(text, size, "%p + %zu bytes is past the end of the %zu bytes at %p", a->pointer, a->bytes, b->bytes,
             (void *)b->base);
    return true;
}

/* The first illegal access, described, from malloc; NULL if all are legal. */
static char *find_illegal(const fake_stream *s, const char *what, const fake_access *access, int n)
{
    char why[256], text[512];
    for (int i = 0; i < n; i++)
        if (is_illegal(s->context, &access[i], why, sizeof why)) {
            snprintf(text, sizeof text, "%s on stream %u of device %d: address %d: %s", what, s->id,
                     s->context->device->ordinal, i, why);
            return strdup(text);
        }
    return NULL;
}

tn__cu_result fake_submit(fake_stream *s, const char *what, const fake_access *access, int n, bool strict,
                          void (*run)(void *), void (*drop)(void *), void *arg)
{
    fake_item *item = calloc(1, sizeof *item);
    if (!item)
        return TN__CU_OUT_OF_MEMORY;
    item->illegal = find_illegal(s, what, access, n);
    if (item->illegal && strict) {
        fake_report("%s", item->illegal);
        free(item->illegal);
        free(item);
        return TN__CU_INVALID_VALUE;
    }
    item->kind = FAKE_RUN;
    item->run = run;
    item->drop = drop;
    item->arg = arg;
    return fake_queue(s, item);
}

tn__cu_result fake_enqueue(tn__cu_stream stream, const char *what, const fake_access *access, int n,
                           void (*run)(void *arg), void (*drop)(void *arg), void *arg)
{
    fake_context *c;
    fake_stream *s;
    tn__cu_result r = fake_enter_stream(stream, &c, &s);
    if (!r) {
        r = s->context == c ? fake_submit(s, what, access, n, false, run, drop, arg) : TN__CU_INVALID_HANDLE;
        if (!r && fake.blocking) {
            fake_wait(s, s->last);
            return fake_leave(c->error); /* the work was taken, whatever became of it */
        }
        fake_leave(r);
    }
    if (r && drop)
        drop(arg);
    return r;
}
