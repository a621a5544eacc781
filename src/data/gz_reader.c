/* Reading a source from front to back with zlib: gzip members one after the other, or plain bytes as they are. */
#include "data/gz_reader.h"
#include "core/alloc.h"

enum {
    IN_BYTES = 1 << 16,
    DEFLATE_RATIO = 1032 /* 258 bytes from two bits is the best deflate can do (zlib.net/zlib_tech.html) */
};

/* zlib's memory comes through the door too. Its free function is told no size: it lies before the block. */
static void *zlib_get(void *opaque, unsigned items, unsigned size)
{
    (void)opaque;
    size_t n;
    if (__builtin_mul_overflow((size_t)items, (size_t)size, &n) || __builtin_add_overflow(n, TN_CACHE_LINE, &n))
        return NULL;
    char *p = tn__block_get(n);
    if (!p)
        return NULL;
    memcpy(p, &n, sizeof n);
    return p + TN_CACHE_LINE;
}

static void zlib_put(void *opaque, void *block)
{
    (void)opaque;
    char *p = (char *)block - TN_CACHE_LINE;
    size_t n;
    memcpy(&n, p, sizeof n);
    tn__block_put(p, n);
}

static tn_status refill(tn__gz_reader *s)
{
    size_t n = (size_t)TN_MIN(tn__source_left(s->from), (uint64_t)IN_BYTES);
    s->z.next_in = s->in;
    s->z.avail_in = (unsigned)n;
    return tn__source_read(s->from, s->in, n);
}

static tn_status no_memory(const tn__source *from)
{
    tn__error_memory("zlib", IN_BYTES);
    return tn__while_reading(from->name);
}

static tn_status begin_gzip(tn__gz_reader *s)
{
    s->in = tn__block_get(IN_BYTES);
    if (!s->in)
        return no_memory(s->from);
    s->z = (z_stream){.zalloc = zlib_get, .zfree = zlib_put};
    if (inflateInit2(&s->z, 16 + MAX_WBITS) == Z_OK)
        return TN_OK;
    tn__block_put(s->in, IN_BYTES);
    return no_memory(s->from);
}

tn_status tn__gz_reader_open(tn__gz_reader *s, tn__source *from)
{
    unsigned char first[2] = {0, 0};
    *s = (tn__gz_reader){.from = from};
    tn_status e = tn__source_read(from, first, (size_t)TN_MIN(from->size, (uint64_t)2));
    from->at = 0;
    s->gzip = first[0] == 0x1f && first[1] == 0x8b;
    return e || !s->gzip ? e : begin_gzip(s);
}

/* Where zlib stands in the source. */
static uint64_t compressed_at(const tn__gz_reader *s)
{
    return s->from->at - s->z.avail_in;
}

/* A member is complete: a file may hold several, one after the other (RFC 1952, 2.2). */
static tn_status next_member(tn__gz_reader *s)
{
    tn_status e = s->z.avail_in ? TN_OK : refill(s);
    if (e)
        return e;
    if (s->z.avail_in == 0) {
        s->ended = true;
        return TN_OK;
    }
    if (s->z.next_in[0] != 0x1f)
        return tn__bad_field(TN_EFORMAT, s->from->name, "gzip stream", compressed_at(s),
                             "%llu bytes that do not belong to it follow its end",
                             (unsigned long long)(s->from->size - compressed_at(s)));
    return inflateReset(&s->z) == Z_OK ? TN_OK : no_memory(s->from);
}

static tn_status inflate_some(tn__gz_reader *s)
{
    tn_status e = s->z.avail_in ? TN_OK : refill(s);
    if (e)
        return e;
    if (s->z.avail_in == 0)
        return tn__bad_field(TN_EFORMAT, s->from->name, "gzip stream", s->from->size,
                             "the file ends in the middle of it, after %llu inflated bytes", (unsigned long long)s->at);
    switch (inflate(&s->z, Z_NO_FLUSH)) {
    case Z_OK: return TN_OK;
    case Z_STREAM_END: return next_member(s);
    case Z_MEM_ERROR: return no_memory(s->from);
    default:
        return tn__bad_field(TN_EFORMAT, s->from->name, "gzip stream", compressed_at(s), "%s",
                             s->z.msg ? s->z.msg : "no progress");
    }
}

static tn_status read_gzip(tn__gz_reader *s, unsigned char *to, size_t n, size_t *got)
{
    *got = 0;
    while (*got < n && !s->ended) {
        unsigned room = (unsigned)TN_MIN(n - *got, (size_t)1 << 30);
        s->z.next_out = to + *got;
        s->z.avail_out = room;
        tn_status e = inflate_some(s);
        *got += room - s->z.avail_out;
        s->at += room - s->z.avail_out;
        if (e)
            return e;
    }
    return TN_OK;
}

tn_status tn__gz_reader_read(tn__gz_reader *s, void *to, size_t n, size_t *got)
{
    if (s->gzip)
        return read_gzip(s, to, n, got);
    *got = (size_t)TN_MIN((uint64_t)n, tn__source_left(s->from));
    s->at += *got;
    return tn__source_read(s->from, to, *got);
}

void tn__gz_reader_close(tn__gz_reader *s)
{
    if (!s->gzip)
        return;
    inflateEnd(&s->z);
    tn__block_put(s->in, IN_BYTES);
}

uint64_t tn__gz_reader_limit(const tn__gz_reader *s)
{
    uint64_t limit = s->from->size;
    if (s->gzip && __builtin_mul_overflow(limit, (uint64_t)DEFLATE_RATIO, &limit))
        return UINT64_MAX;
    return limit;
}
