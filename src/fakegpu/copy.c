/* Copies and fills. Pinned host memory is copied when the stream comes to it. Pageable memory behaves as with a real
 * driver: what is to be read was read when the call returns, what is to be written was written. */
#include "fakegpu/driver.h"
#include <stdlib.h>
#include <string.h>

enum {
    STAGED = 64 * 1024, /* up to so many bytes a pageable source is kept aside; larger ones are waited for */
    EDGE = 64 * 1024    /* so much of pinned memory is poisoned at either end: the lock is held */
};

typedef struct copy {
    char *to;
    const char *from; /* NULL: fill */
    size_t bytes;
    unsigned char value;
    bool damaged; /* by a bad link */
} copy;

static void run_copy(void *arg)
{
    copy *c = arg;
    if (c->from)
        memcpy(c->to, c->from, c->bytes);
    else
        memset(c->to, c->value, c->bytes);
    for (size_t i = 0; c->damaged && i < c->bytes; i += 61)
        c->to[i] ^= 0x40;
    free(c);
}

typedef struct manner {
    bool keep;     /* the source is kept aside now */
    bool anywhere; /* see fake_work */
} manner;

/* Queues a copy between host addresses. */
static tn__cu_result submit(fake_stream *s, const char *what, const fake_access *access, int n, copy job, manner how)
{
    copy *c = malloc(sizeof *c + (how.keep ? job.bytes : 0));
    if (!c)
        return TN__CU_OUT_OF_MEMORY;
    *c = job;
    if (how.keep) {
        memcpy(c + 1, job.from, job.bytes);
        c->from = (const char *)(c + 1);
    }
    const fake_work work = {
        .what = what, .copy = true, .anywhere = how.anywhere, .run = run_copy, .drop = free, .arg = c};
    tn__cu_result r = fake_submit(s, &work, access, n);
    if (r)
        free(c);
    return r;
}

static void count(uint64_t *counts, int copies, size_t bytes)
{
    counts[copies]++;
    counts[copies + TN__FAKE_H2D_BYTES - TN__FAKE_H2D] += bytes;
}

static const void *address(tn__cu_ptr p)
{
    return (const void *)(uintptr_t)p;
}

static bool is_pinned(const void *host)
{
    return fake_table_find(&fake.pinned, host) != NULL;
}

/* Memory of a device, or a variable of a module. */
static bool is_devices(tn__cu_ptr p)
{
    return fake_device_of(address(p)) || fake_is_variable(address(p));
}

tn__cu_result cuMemcpyHtoDAsync_v2(tn__cu_ptr to, const void *from, size_t bytes, tn__cu_stream stream)
{
    fake_context *c;
    fake_stream *s;
    tn__cu_result r = fake_enter_queue(stream, &c, &s);
    if (r)
        return r;
    if (!bytes)
        return fake_leave(TN__CU_SUCCESS);
    if (!from || !is_devices(to) || fake_device_of(from))
        return fake_leave(TN__CU_INVALID_VALUE);
    bool pinned = is_pinned(from);
    fake_access access[] = {{address(to), bytes, true}, {from, bytes, false}};
    copy job = {.to = fake_host_address(address(to)), .from = from, .bytes = bytes};
    c = s->context;
    r = submit(s, "copy host to device", access, pinned ? 2 : 1, job, (manner){.keep = !pinned && bytes <= STAGED});
    if (r)
        return fake_leave(r);
    count(c->device->count, TN__FAKE_H2D, bytes);
    if (!pinned)
        count(fake.count, TN__FAKE_H2D, bytes);
    if (!pinned && bytes > STAGED)
        fake_wait(s, s->last); /* as with a real driver, the host does not learn that the device has it */
    return fake_leave(fake_context_error(c));
}

/* Whether pinned memory that a copy is to fill may be poisoned until then, so that a host that reads it too early does not
 * find what was there before: nobody may still be at it. */
static bool may_poison(const void *host, size_t bytes)
{
    fake_block *b = fake.order ? fake_block_of(host) : NULL;
    if (!b || b->device)
        return false;
    size_t from = (size_t)((const char *)host - b->base);
    return !fake_order_is_used(&(fake_touch){b, from, from + bytes, true});
}

static void poison_edges(char *memory, size_t bytes)
{
    size_t edge = bytes < EDGE ? bytes : EDGE;
    memset(memory, 0xff, edge);
    memset(memory + bytes - edge, 0xff, edge);
}

tn__cu_result cuMemcpyDtoHAsync_v2(void *to, tn__cu_ptr from, size_t bytes, tn__cu_stream stream)
{
    fake_context *c;
    fake_stream *s;
    tn__cu_result r = fake_enter_queue(stream, &c, &s);
    if (r)
        return r;
    if (!bytes)
        return fake_leave(TN__CU_SUCCESS);
    if (!to || !is_devices(from) || fake_device_of(to))
        return fake_leave(TN__CU_INVALID_VALUE);
    bool pinned = is_pinned(to), poison = may_poison(to, bytes);
    fake_access access[] = {{address(from), bytes, false}, {to, bytes, true}};
    copy job = {.to = to, .from = fake_host_address(address(from)), .bytes = bytes};
    c = s->context;
    r = submit(s, "copy device to host", access, pinned ? 2 : 1, job, (manner){0});
    if (r)
        return fake_leave(r);
    if (poison) /* it was queued just now: its turn comes when the lock is let go */
        poison_edges(to, bytes);
    count(c->device->count, TN__FAKE_D2H, bytes);
    if (!pinned) {
        count(fake.count, TN__FAKE_D2H, bytes);
        fake_synchronize(s);
    }
    return fake_leave(fake_context_error(c));
}

/* Within a device or between two. */
static tn__cu_result submit_device(fake_stream *s, const char *what, tn__cu_ptr to, tn__cu_ptr from, size_t bytes,
                                   bool anywhere)
{
    const fake_device *d = fake_device_of(address(to)), *e = fake_device_of(address(from));
    fake_access access[] = {{address(to), bytes, true}, {address(from), bytes, false}};
    copy job = {.to = fake_host_address(address(to)),
                .from = fake_host_address(address(from)),
                .bytes = bytes,
                .damaged = d != e && fake_fault_pair(FAKE_FAULT_BADPEER, d->ordinal, e->ordinal)};
    tn__cu_result r = submit(s, what, access, 2, job, (manner){.anywhere = anywhere});
    if (!r)
        count(s->context->device->count, d == e ? TN__FAKE_D2D : TN__FAKE_P2P, bytes);
    return r;
}

tn__cu_result cuMemcpyDtoDAsync_v2(tn__cu_ptr to, tn__cu_ptr from, size_t bytes, tn__cu_stream stream)
{
    fake_context *c;
    fake_stream *s;
    tn__cu_result r = fake_enter_queue(stream, &c, &s);
    if (r)
        return r;
    if (!bytes)
        return fake_leave(TN__CU_SUCCESS);
    if (!fake_device_of(address(to)) || !fake_device_of(address(from)))
        return fake_leave(TN__CU_INVALID_VALUE);
    return fake_leave(submit_device(s, "copy device to device", to, from, bytes, false));
}

/* Needs no access between the two: a driver goes through the host where there is no link. */
tn__cu_result cuMemcpyPeerAsync(tn__cu_ptr to, tn__cu_context to_context, tn__cu_ptr from, tn__cu_context from_context,
                                size_t bytes, tn__cu_stream stream)
{
    fake_context *c;
    fake_stream *s;
    tn__cu_result r = fake_enter_queue(stream, &c, &s);
    if (r)
        return r;
    if (!bytes)
        return fake_leave(TN__CU_SUCCESS);
    const fake_device *d = fake_device_of(address(to)), *e = fake_device_of(address(from));
    if (!d || !e || &d->context != to_context || &e->context != from_context)
        return fake_leave(TN__CU_INVALID_VALUE);
    return fake_leave(submit_device(s, "copy peer to peer", to, from, bytes, true));
}

tn__cu_result cuMemsetD8Async(tn__cu_ptr to, unsigned char value, size_t bytes, tn__cu_stream stream)
{
    fake_context *c;
    fake_stream *s;
    tn__cu_result r = fake_enter_queue(stream, &c, &s);
    if (r)
        return r;
    if (!bytes)
        return fake_leave(TN__CU_SUCCESS);
    fake_access access = {address(to), bytes, true};
    if (!access.pointer)
        return fake_leave(TN__CU_INVALID_VALUE);
    copy job = {.to = fake_host_address(address(to)), .bytes = bytes, .value = value};
    return fake_leave(submit(s, "memset", &access, 1, job, (manner){0}));
}
