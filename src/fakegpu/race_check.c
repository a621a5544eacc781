/* Order: two accesses to the same bytes, at least one a write, must be ordered by streams, events and waits of the host.
 * This is checked when the later one is queued. Everything that can order it has been said by then, so what is missing is
 * found whether or not the two would have met this time. TENON_FAKE_GPU_ORDER=0 turns it off, and with it the allocator's
 * blocks (suballocation.c). */
#include "fakegpu/driver.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static fake_clock host;
static uint64_t host_version = 1;

/* ---- slots: one per stream; taken over from an ended one only if the host knows all that it did ---- */

typedef struct slot {
    uint64_t last;               /* tick of its last operation */
    const fake_context *context; /* whose stream has it, or had it last */
    bool used;
} slot;

static struct {
    slot *at;
    unsigned n, room;
} slots;

static bool more_slots(void)
{
    const unsigned room = slots.room ? 2 * slots.room : 64;
    slot *at = fake_analysis_memory(slots.at, room > UINT16_MAX ? SIZE_MAX : room * sizeof *at);
    if (!at)
        return false;
    slots.at = at;
    slots.room = room;
    return true;
}

static bool take_slot(fake_stream *s)
{
    unsigned i = 0;
    while (i < slots.n && (slots.at[i].used || (i < host.n ? host.at[i] : 0) < slots.at[i].last))
        i++;
    if (i == slots.n) {
        if (slots.n == slots.room && !more_slots())
            return false;
        slots.at[slots.n++] = (slot){0};
    }
    slots.at[i].used = true;
    slots.at[i].context = s->context;
    s->slot = i;
    s->has_slot = true;
    fake_clock_set(&s->clock, i, slots.at[i].last);
    return true;
}

void fake_order_end(fake_stream *s)
{
    if (s->has_slot)
        slots.at[s->slot].used = false;
    fake_clock_free(&s->clock);
}

/* ---- memory ---- */

void *fake_analysis_memory(void *old, size_t bytes)
{
    void *p = bytes == SIZE_MAX || fake_fault(FAKE_FAULT_ORDER, -1) ? NULL : realloc(old, bytes);
    fake.count[TN__FAKE_GAVE_UP] += !p;
    return p;
}

/* ---- names, kept for ever: there are as many as kernels, and calls of them ---- */

static void (*caller)(const char **operation, const char **site);

tn__cu_result tenonFakeCallSites(void (*where)(const char **operation, const char **site))
{
    tn__cu_result r = fake_enter();
    if (r)
        return r;
    caller = where;
    return fake_leave(TN__CU_SUCCESS);
}

enum { PARTS = 3 };

typedef struct call_name {
    struct call_name *next;
    const char *part[PARTS]; /* what, operation, site: "" where there is none */
    char text[];             /* as it is printed; the parts lie behind it */
} call_name;

static call_name *new_name(const char *const part[PARTS])
{
    const bool both = *part[1] && *part[2];
    const char *open = *part[1] || *part[2] ? " (" : "", *close = *open ? ")" : "", *at = both ? " at " : "";
    const size_t size = strlen(part[0]) + strlen(part[1]) + strlen(part[2]) + 16;
    call_name *n = fake_analysis_memory(NULL, sizeof *n + 2 * size);
    if (!n)
        return NULL;
    snprintf(n->text, size, "%s%s%s%s%s%s", part[0], open, part[1], at, part[2], close);
    char *to = n->text + size;
    for (int i = 0; i < PARTS; i++) {
        const size_t bytes = strlen(part[i]) + 1;
        n->part[i] = memcpy(to, part[i], bytes);
        to += bytes;
    }
    return n;
}

const char *fake_call_name(const char *what)
{
    static call_name *names[512];
    const char *part[PARTS] = {what, NULL, NULL};
    if (caller)
        caller(&part[1], &part[2]);
    uint32_t hash = 2166136261U; /* FNV-1a */
    for (int i = 0; i < PARTS; i++) {
        part[i] = part[i] ? part[i] : "";
        for (const char *p = part[i]; *p; p++)
            hash = (hash ^ (unsigned char)*p) * 16777619U;
    }
    call_name **at = &names[hash % 512];
    for (const call_name *n = *at; n; n = n->next)
        if (!strcmp(n->part[0], part[0]) && !strcmp(n->part[1], part[1]) && !strcmp(n->part[2], part[2]))
            return n->text;
    call_name *n = new_name(part);
    if (!n)
        return "an operation";
    n->next = *at;
    *at = n;
    return n->text;
}

/* ---- what is known ---- */

void fake_order_known(const fake_clock *clock)
{
    fake_clock_join(&host, clock);
    host_version++;
}

void fake_order_over(const fake_context *c)
{
    for (unsigned i = 0; i < slots.n; i++)
        if (slots.at[i].context == c)
            fake_clock_set(&host, i, slots.at[i].last);
    host_version++;
}

void fake_order_collect(const fake_context *c, fake_clock *clock)
{
    for (const fake_stream *s = c->streams; s; s = s->next)
        fake_clock_join(clock, &s->clock);
    fake_clock_join(clock, &c->ended[0]);
    fake_clock_join(clock, &c->ended[1]);
}

void fake_order_join(fake_stream *s)
{
    if (s->host_version != host_version) {
        fake_clock_join(&s->clock, &host);
        s->host_version = host_version;
    }
    const fake_context *c = s->context;
    if (s->flags & TN__CU_STREAM_NON_BLOCKING)
        return;
    if (s != c->fallback) {
        fake_clock_join(&s->clock, &c->fallback->clock);
        return;
    }
    fake_clock_join(&s->clock, &c->ended[0]);
    for (const fake_stream *other = c->streams; other; other = other->next)
        if (other != s && !(other->flags & TN__CU_STREAM_NON_BLOCKING))
            fake_clock_join(&s->clock, &other->clock);
}

void fake_order_wait(fake_stream *s, const fake_event *e)
{
    fake_clock_join(&s->clock, &e->clock);
}

/* ---- checks ---- */

static void name_stream(char *out, size_t size, unsigned id, int device)
{
    const fake_stream *fallback = fake.visible[device]->context.fallback;
    if (fallback && fallback->id == id)
        snprintf(out, size, "the default stream of device %d", device);
    else
        snprintf(out, size, "stream %u of device %d", id, device);
}

/* Where it happens, and in which tensor's block. */
static void name_memory(char *out, size_t size, const fake_touch *t)
{
    const fake_block *b = t->block;
    fake_suballocation piece;
    if (!fake_suballocation_find(b, t->from, &piece))
        piece = (fake_suballocation){.to = b->bytes, .live = true};
    char owner[32] = "pinned memory";
    if (b->device)
        snprintf(owner, sizeof owner, "memory of device %d", b->device->ordinal);
    snprintf(out, size, "%zu bytes at %p (%s; the block at %p has %zu bytes)", t->to - t->from,
             (void *)(b->base + t->from), owner, (void *)(b->base + piece.from), piece.to - piece.from);
}

/* 'what': a name of fake_call_name. */
static tn__cu_result check(const fake_stream *s, const char *what, const fake_touch *touch, int n)
{
    for (int i = 0; i < n; i++) {
        bool wrote;
        const fake_touch *t = &touch[i];
        const fake_epoch *e = t->block ? fake_history_conflict(&t->block->history, t, &s->clock, &wrote) : NULL;
        if (!e || fake.blind)
            continue;
        char here[64], there[64], memory[256];
        name_stream(here, sizeof here, s->id, s->context->device->ordinal);
        name_stream(there, sizeof there, e->stream, e->device);
        name_memory(memory, sizeof memory, t);
        const tn__cu_result r = fake_unordered(
            what, e->what,
            "%s on %s %s %s, which %s on %s %s: nothing orders the two. Record an event on %s after %s and let "
            "%s wait for it before %s, or let the host wait in between.",
            what, here, t->write ? "writes" : "reads", memory, e->what, there, wrote ? "writes" : "reads", there,
            e->what, here, what);
        if (r)
            return r;
    }
    return TN__CU_SUCCESS;
}

tn__cu_result fake_order_check(fake_stream *s, const char *what, const fake_touch *touch, int n)
{
    static fake_clock before; /* the lock is held */
    bool alone = s->flags & TN__CU_STREAM_NON_BLOCKING;
    if (!alone)
        fake_clock_copy(&before, &s->clock);
    fake_order_join(s);
    tn__cu_result r = check(s, what, touch, n);
    if (r && !alone) { /* nothing is queued: it does not wait for the default stream either */
        fake_clock_copy(&s->clock, &before);
        s->host_version = 0;
    }
    return r;
}

void fake_order_note(fake_stream *s, const char *what, const fake_touch *touch, int n)
{
    if (!s->has_slot && !take_slot(s))
        return;
    uint64_t tick = ++slots.at[s->slot].last;
    fake_clock_set(&s->clock, s->slot, tick);
    fake_epoch e = {tick, what, s->id, (uint16_t)s->slot, (int16_t)s->context->device->ordinal};
    for (int i = 0; i < n; i++)
        if (touch[i].block)
            fake_history_note(&touch[i].block->history, &touch[i], e);
}

bool fake_order_is_used(const fake_touch *touch)
{
    bool wrote;
    return fake.blind || fake_history_conflict(&touch->block->history, touch, &host, &wrote);
}

static tn__cu_result check_host(const char *doing, const fake_touch *touch, const fake_clock *clock)
{
    bool wrote;
    const fake_epoch *e = fake_history_conflict(&touch->block->history, touch, clock, &wrote);
    if (!e || fake.blind)
        return TN__CU_SUCCESS;
    char there[64], memory[256];
    const char *call = fake_call_name("the host");
    name_stream(there, sizeof there, e->stream, e->device);
    name_memory(memory, sizeof memory, touch);
    return fake_unordered(
        call, e->what,
        "%s %s %s, which %s on %s %s: nothing orders the two. Let the host wait first for %s, or for an event "
        "recorded there after %s.",
        call, doing, memory, e->what, there, wrote ? "writes" : "reads", there, e->what);
}

tn__cu_result fake_order_host(const char *doing, const fake_touch *touch)
{
    return check_host(doing, touch, &host);
}

tn__cu_result fake_order_free(const fake_touch *touch)
{
    fake_clock then = {0};
    fake_clock_copy(&then, &host);
    if (touch->block->device)
        fake_order_collect(&touch->block->device->context, &then);
    const tn__cu_result r = check_host("frees", touch, &then);
    fake_clock_free(&then);
    return r;
}
