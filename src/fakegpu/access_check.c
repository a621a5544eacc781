/* Who may touch what: every stretch that queued work touches must lie in one live block that its context may use, in a
 * piece that the library's allocator has handed out, and after all conflicting accesses. */
#include "fakegpu/driver.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Finds the block and the bytes. Gives ILLEGAL_ADDRESS for what no GPU would take, ILLEGAL_STATE for what only a fake one
 * sees; 'why' is then the reason. */
static tn__cu_result find(const fake_context *c, const fake_access *a, bool anywhere, fake_touch *t, char *why,
                          size_t size)
{
    const fake_device *d = fake_device_of(a->pointer);
    fake_block *b = fake_block_of(a->pointer);
    *t = (fake_touch){.block = NULL};
    if (!b) {
        snprintf(why, size, d ? "%p is no live memory of device %d" : "%p is neither device memory nor pinned memory",
                 a->pointer, d ? d->ordinal : 0);
        return TN__CU_ILLEGAL_ADDRESS;
    }
    if (d && d != c->device && !anywhere && !c->peer[d->ordinal]) {
        snprintf(why, size, "%p is memory of device %d: device %d has no access to it (cuCtxEnablePeerAccess)",
                 a->pointer, d->ordinal, c->device->ordinal);
        return TN__CU_ILLEGAL_ADDRESS;
    }
    size_t offset = (size_t)((const char *)a->pointer - b->base);
    if (offset >= b->bytes || a->bytes > b->bytes - offset) {
        snprintf(why, size, "%p + %zu bytes is past the end of the %zu bytes at %p", a->pointer, a->bytes, b->bytes,
                 (void *)b->base);
        return TN__CU_ILLEGAL_ADDRESS;
    }
    if (!fake_is_mapped(b, offset, offset + (a->bytes ? a->bytes : 1))) {
        snprintf(why, size, "there is no memory behind the address %p, which is only reserved", a->pointer);
        return TN__CU_ILLEGAL_ADDRESS;
    }
    fake_suballocation piece;
    bool live = fake_suballocation_find(b, offset, &piece);
    *t = (fake_touch){b, a->bytes ? offset : piece.from, a->bytes ? offset + a->bytes : piece.to, a->write};
    if (live && t->to <= piece.to)
        return TN__CU_SUCCESS;
    if (live)
        snprintf(why, size, "%p + %zu bytes is past the end of the tensor's %zu bytes at %p", a->pointer, a->bytes,
                 piece.to - piece.from, (void *)(b->base + piece.from));
    else if (piece.to)
        snprintf(why, size, "%p lies in a block of %zu bytes at %p that was freed (the allocator keeps it for reuse)",
                 a->pointer, piece.to - piece.from, (void *)(b->base + piece.from));
    else
        snprintf(why, size, "%p lies in memory that the allocator has handed out to nobody", a->pointer);
    return TN__CU_ILLEGAL_STATE;
}

/* All accesses. Mapped pinned memory of kernels is not ordered: it is how they speak to the host while they run; nor is a block
 * whose tensors are not known apart. */
static tn__cu_result find_all(const fake_stream *s, const fake_work *work, const fake_access *access, int n,
                              fake_touch *touch, char *text, size_t size)
{
    for (int i = 0; i < n; i++) {
        char why[256];
        touch[i].block = NULL;
        if (!access[i].pointer)
            continue;
        tn__cu_result r = find(s->context, &access[i], work->anywhere, &touch[i], why, sizeof why);
        if (r) {
            snprintf(text, size, "%s on stream %u of device %d: address %d: %s", work->what, s->id,
                     s->context->device->ordinal, i, why);
            return r;
        }
        if ((!work->copy && !touch[i].block->device) || touch[i].block->uncut)
            touch[i].block = NULL;
    }
    return TN__CU_SUCCESS;
}

static fake_item *new_item(const fake_work *work)
{
    fake_item *item = calloc(1, sizeof *item);
    if (item) {
        item->kind = FAKE_RUN;
        item->work = *work;
    }
    return item;
}

/* What is wrong with the item from the start is found when its turn comes. */
static void doom(fake_item *item, tn__cu_result error, const char *text)
{
    if (item->error)
        return;
    item->error = error;
    item->report = strdup(text);
}

static bool add_stretch(fake_item *item, const fake_block *b, size_t from, size_t to, int becomes)
{
    fake_stretch *stretch = malloc(sizeof *stretch);
    if (stretch) {
        *stretch = (fake_stretch){item->stale, b->base + b->device->span + from, to - from, becomes};
        item->stale = stretch;
    }
    return stretch;
}

/* The first work on a tensor finds it open for AddressSanitizer, and what rounding added behind it shut: the bytes of both
 * may have been an earlier tensor's, whose work is over when this runs; where somebody may still be at those behind, they are
 * left as they are. The last word stays open: small dtypes are added to by exchanging the word that they lie in. What is
 * added last is done first. */
static void fence(fake_item *item, const fake_stream *s, const fake_touch *touch)
{
    bool wrote;
    size_t end = 0;
    fake_block *b = touch->block;
    fake_suballocation *p = fake_has_asan() ? fake_suballocation_unfenced(b, touch->from, &end) : NULL;
    if (!p)
        return;
    const size_t to = (p->to + 3) / 4 * 4;
    const fake_touch behind = {b, to, end, true};
    if (to < end && !fake_history_conflict(&b->history, &behind, &s->clock, &wrote))
        add_stretch(item, b, to, end, FAKE_SHUT);
    p->fenced = add_stretch(item, b, p->from, to, FAKE_OPEN);
}

/* Bytes that an earlier tensor left are to be poison for the first work that touches them, but for what a copy writes over
 * anyway. All that is before it on its stream, or in order with it, is over when it runs: so nobody else is disturbed. No
 * memory: they are not poisoned. */
static void renew(fake_item *item, const fake_stream *s, const fake_touch *touch, int n)
{
    fake_touch t;
    for (int i = 0; i < n; i++) {
        fake_block *b = touch[i].block;
        if (!b || !b->device || (item->work.copy && touch[i].write))
            continue;
        while (fake_history_stale(&b->history, &touch[i], &s->clock, &t))
            if (!add_stretch(item, b, t.from, t.to, FAKE_STALE))
                return;
    }
    for (int i = 0; i < n; i++)
        if (touch[i].block && touch[i].block->device)
            fence(item, s, &touch[i]); /* before what is written: stretches are done in the order opposite to this */
}

tn__cu_result fake_submit(fake_stream *s, const fake_work *work, const fake_access *access, int n)
{
    fake_touch touch[FAKE_MAX_ARGS];
    char text[512];
    const char *name = NULL;
    int device = s->context->device->ordinal;
    if (n > FAKE_MAX_ARGS)
        return TN__CU_INVALID_VALUE;
    tn__cu_result r = find_all(s, work, access, n, touch, text, sizeof text);
    if (r == TN__CU_ILLEGAL_STATE || (r && work->copy)) {
        if (r == TN__CU_ILLEGAL_STATE)
            return fake_refuse("%s", text);
        fake_report("%s", text);
        return TN__CU_INVALID_VALUE;
    }
    fake_item *item = new_item(work);
    if (!item)
        return TN__CU_OUT_OF_MEMORY;
    if (r)
        doom(item, r, text);
    if (fake.order && !r) {
        name = fake_call_name(work->what);
        if (fake_order_check(s, name, touch, n)) {
            free(item);
            return TN__CU_ILLEGAL_STATE;
        }
        renew(item, s, touch, n);
    }
    if (!work->copy && fake_fault(FAKE_FAULT_LAUNCH, device)) {
        snprintf(text, sizeof text, "%s on stream %u of device %d: failed by TENON_FAKE_GPU_FAULTS", work->what, s->id,
                 device);
        doom(item, TN__CU_ILLEGAL_ADDRESS, text);
    }
    if (fake_fault(FAKE_FAULT_LOST, device)) {
        snprintf(text, sizeof text, "device %d was lost at %s on stream %u: TENON_FAKE_GPU_FAULTS", device, work->what,
                 s->id);
        doom(item, TN__CU_ECC_UNCORRECTABLE, text);
    }
    bool sound = !item->error;
    item->delay = fake_fault_delay(work->copy, device);
    r = fake_queue(s, item);
    if (!r && sound && fake.order)
        fake_order_note(s, name, touch, n);
    return r;
}

tn__cu_result fake_enqueue(tn__cu_stream stream, const char *what, const fake_access *access, int n,
                           void (*run)(void *arg), void (*drop)(void *arg), void *arg)
{
    fake_context *c;
    fake_stream *s;
    bool taken = false;
    tn__cu_result r = fake_enter_queue(stream, &c, &s);
    if (!r) {
        const fake_work work = {.what = what, .run = run, .drop = drop, .arg = arg};
        r = s->context == c ? fake_submit(s, &work, access, n) : TN__CU_INVALID_HANDLE;
        taken = !r;
        if (taken) {
            c->device->count[TN__FAKE_LAUNCHES]++;
            r = fake_if_blocking(s);
        }
        fake_leave(r);
    }
    if (!taken && drop)
        drop(arg);
    return r;
}
