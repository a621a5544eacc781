/* Copies and fills. Pinned host memory is copied when the stream comes to it. Pageable memory behaves as with a real
 * driver: what is to be read was read when the call returns, what is to be written was written. */
#include "fakegpu/driver.h"
#include <stdlib.h>
#include <string.h>

enum { STAGED = 64 * 1024 }; /* up to so many bytes a pageable source is kept aside; larger ones are waited for */

typedef struct copy {
    char *to;
    const char *from; /* NULL: fill */
    size_t bytes;
    unsigned char value;
} copy;

static void run_copy(void *arg)
{
    copy *c = arg;
    if (c->from)
        memcpy(c->to, c->from, c->bytes);
    else
        memset(c->to, c->value, c->bytes);
    free(c);
}

/* Queues a copy between host addresses; 'keep': the source is kept aside now. */
static tn__cu_result submit(fake_stream *s, const char *what, const fake_access *access, int n, copy work, bool keep)
{
    copy *c = malloc(sizeof *c + (keep ? work.bytes : 0));
    if (!c)
        return TN__CU_OUT_OF_MEMORY;
    *c = work;
    if (keep) {
        memcpy(c + 1, work.from, work.bytes);
        c->from = (const char *)(c + 1);
    }
    tn__cu_result r = fake_submit(s, what, access, n, true, run_copy, free, c);
    if (r)
        free(c);
    return r;
}

static const void *address(tn__cu_ptr p)
{
    return (const void *)(uintptr_t)p;
}

static bool is_pinned(const void *host)
{
    return fake_table_find(&fake.pinned, host) != NULL;
}

tn__cu_result cuMemcpyHtoDAsync_v2(tn__cu_ptr to, const void *from, size_t bytes, tn__cu_stream stream)
{
    fake_context *c;
    fake_stream *s;
    tn__cu_result r = fake_enter_stream(stream, &c, &s);
    if (r)
        return r;
    if (!bytes)
        return fake_leave(TN__CU_SUCCESS);
    if (!from || !fake_device_of(address(to)) || fake_device_of(from))
        return fake_leave(TN__CU_INVALID_VALUE);
    bool pinned = is_pinned(from);
    fake_access access[] = {{address(to), bytes, true}, {from, bytes, false}};
    copy work = {fake_host_address(address(to)), from, bytes, 0};
    r = submit(s, "copy host to device", access, pinned ? 2 : 1, work, !pinned && bytes <= STAGED);
    if (!r && !pinned && bytes > STAGED)
        fake_wait(s, s->last);
    return fake_leave(r);
}

tn__cu_result cuMemcpyDtoHAsync_v2(void *to, tn__cu_ptr from, size_t bytes, tn__cu_stream stream)
{
    fake_context *c;
    fake_stream *s;
    tn__cu_result r = fake_enter_stream(stream, &c, &s);
    if (r)
        return r;
    if (!bytes)
        return fake_leave(TN__CU_SUCCESS);
    if (!to || !fake_device_of(address(from)) || fake_device_of(to))
        return fake_leave(TN__CU_INVALID_VALUE);
    bool pinned = is_pinned(to);
    fake_access access[] = {{address(from), bytes, false}, {to, bytes, true}};
    copy work = {to, fake_host_address(address(from)), bytes, 0};
    c = s->context;
    r = submit(s, "copy device to host", access, pinned ? 2 : 1, work, false);
    if (!r && !pinned) {
        fake_wait(s, s->last);
        r = c->error;
    }
    return fake_leave(r);
}

tn__cu_result cuMemcpyDtoDAsync_v2(tn__cu_ptr to, tn__cu_ptr from, size_t bytes, tn__cu_stream stream)
{
    fake_context *c;
    fake_stream *s;
    tn__cu_result r = fake_enter_stream(stream, &c, &s);
    if (r)
        return r;
    if (!bytes)
        return fake_leave(TN__CU_SUCCESS);
    if (!fake_device_of(address(to)) || !fake_device_of(address(from)))
        return fake_leave(TN__CU_INVALID_VALUE);
    fake_access access[] = {{address(to), bytes, true}, {address(from), bytes, false}};
    copy work = {fake_host_address(address(to)), fake_host_address(address(from)), bytes, 0};
    return fake_leave(submit(s, "copy device to device", access, 2, work, false));
}

tn__cu_result cuMemcpyPeerAsync(tn__cu_ptr to, tn__cu_context to_context, tn__cu_ptr from, tn__cu_context from_context,
                                size_t bytes, tn__cu_stream stream)
{
    fake_context *c;
    fake_stream *s;
    tn__cu_result r = fake_enter_stream(stream, &c, &s);
    if (r)
        return r;
    if (!bytes)
        return fake_leave(TN__CU_SUCCESS);
    const fake_device *d = fake_device_of(address(to)), *e = fake_device_of(address(from));
    if (!d || !e || &d->context != to_context || &e->context != from_context)
        return fake_leave(TN__CU_INVALID_VALUE);
    fake_access access[] = {{address(to), bytes, true}, {address(from), bytes, false}};
    copy work = {fake_host_address(address(to)), fake_host_address(address(from)), bytes, 0};
    return fake_leave(submit(s, "copy peer to peer", access, 2, work, false));
}

tn__cu_result cuMemsetD8Async(tn__cu_ptr to, unsigned char value, size_t bytes, tn__cu_stream stream)
{
    fake_context *c;
    fake_stream *s;
    tn__cu_result r = fake_enter_stream(stream, &c, &s);
    if (r)
        return r;
    if (!bytes)
        return fake_leave(TN__CU_SUCCESS);
    fake_access access = {address(to), bytes, true};
    if (!access.pointer)
        return fake_leave(TN__CU_INVALID_VALUE);
    copy work = {fake_host_address(address(to)), NULL, bytes, value};
    return fake_leave(submit(s, "memset", &access, 1, work, false));
}
