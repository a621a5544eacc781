/* IDX: two zero bytes, an element type, the number of dimensions, each size as a big-endian uint32, the elements,
 * big-endian, row-major. Byte counts in messages are of the inflated data where the file is compressed. */
#include "autograd/functions.h"
#include "data/bytes.h"
#include "data/readers.h"
#include "data/gz_reader.h"
#include <tenon/data.h>

enum { FIRST_GUESS = 8, LEAST = 1 << 12 };

static const struct {
    uint8_t code;
    tn_dtype dtype;
} types[] = {{0x08, TN_U8}, {0x09, TN_I8}, {0x0b, TN_I16}, {0x0c, TN_I32}, {0x0d, TN_F32}, {0x0e, TN_F64}};

typedef struct header {
    tn_dtype dtype;
    int32_t ndim;
    int64_t shape[TN_MAX_DIMS], numel;
} header;

/* n bytes, all of which must be there. */
static tn_status read_all(tn__gz_reader *s, void *to, size_t n, const char *field)
{
    size_t got;
    uint64_t at = s->at;
    tn_status e = tn__gz_reader_read(s, to, n, &got);
    if (!e && got < n)
        e = tn__bad_field(TN_EFORMAT, s->from->name, field, at, "the data ends after %zu of %zu%s bytes", got, n,
                          s->gzip ? " inflated" : "");
    return e;
}

static tn_status read_type(tn__gz_reader *s, const uint8_t magic[4], header *h)
{
    if (magic[0] || magic[1])
        return tn__bad_field(TN_EFORMAT, s->from->name, "magic number", 0,
                             "0x%02x%02x where an IDX file has 0x0000 (or a gzip file 0x1f8b)", magic[0], magic[1]);
    for (size_t i = 0; i < TN_COUNT(types); i++)
        if (types[i].code == magic[2])
            h->dtype = types[i].dtype;
    if (!h->dtype)
        return tn__bad_field(TN_EFORMAT, s->from->name, "element type", 2,
                             "0x%02x is none of 0x08 (uint8), 0x09 (int8), 0x0b (int16), 0x0c (int32), 0x0d (float32), "
                             "0x0e (float64)",
                             magic[2]);
    h->ndim = magic[3];
    if (h->ndim > TN_MAX_DIMS)
        return tn__bad_field(TN_EFORMAT, s->from->name, "number of dimensions", 3, "%d; a tensor has at most %d",
                             (int)h->ndim, TN_MAX_DIMS);
    return TN_OK;
}

static tn_status read_header(tn__gz_reader *s, header *h)
{
    uint8_t magic[4], size[4 * TN_MAX_DIMS];
    memset(h, 0, sizeof *h);
    tn_status e = read_all(s, magic, sizeof magic, "magic number");
    if (e || (e = read_type(s, magic, h)) || (e = read_all(s, size, 4 * (size_t)h->ndim, "sizes of the dimensions")))
        return e;
    for (int32_t d = 0; d < h->ndim; d++)
        h->shape[d] = (int64_t)((uint32_t)size[4 * d] << 24 | (uint32_t)size[4 * d + 1] << 16 |
                                (uint32_t)size[4 * d + 2] << 8 | size[4 * d + 3]);
    if (!tn__shape_numel(h->shape, h->ndim, tn__dtype_size(h->dtype), &h->numel))
        return tn__bad_field(TN_EFORMAT, s->from->name, "sizes of the dimensions", 4,
                             "%s has more elements than memory can hold", tn__shape_str(h->shape, h->ndim).s);
    return TN_OK;
}

/* Is what the header says possible at all? For a plain file its size must be right to the byte. */
static tn_status check_size(const tn__gz_reader *s, const header *h)
{
    uint64_t want = (uint64_t)h->numel * tn__dtype_size(h->dtype), limit = tn__gz_reader_limit(s);
    if (s->gzip ? want <= limit : want == limit - s->at)
        return TN_OK;
    if (s->gzip)
        return tn__bad_field(TN_EFORMAT, s->from->name, "sizes of the dimensions", 4,
                             "%s of %s is %llu bytes, more than %llu compressed bytes can hold",
                             tn__shape_str(h->shape, h->ndim).s, tn__dtypes[h->dtype].name, (unsigned long long)want,
                             (unsigned long long)s->from->size);
    return tn__bad_field(TN_EFORMAT, s->from->name, "data", s->at, "%s of %s is %llu bytes, the file has %llu",
                         tn__shape_str(h->shape, h->ndim).s, tn__dtypes[h->dtype].name, (unsigned long long)want,
                         (unsigned long long)(limit - s->at));
}

/* The same bytes in a storage of n. Takes over old, also on error. */
static tn__storage *grown(tn__storage *old, size_t have, size_t n)
{
    tn__storage *s = tn__host_storage(n);
    if (s && have)
        memcpy(s->data, old->data, have);
    tn__storage_release(old);
    return s;
}

/* n bytes. The memory grows with what arrives, so that a small file cannot make us ask for much more than it holds. Data
 * that is up to eight times the size of its file, as plain data and compressed images are, needs one allocation. */
static tn__storage *read_data(tn__gz_reader *s, size_t n)
{
    uint64_t guess = TN_MIN(TN_MAX(s->from->size, (uint64_t)LEAST), UINT64_MAX / FIRST_GUESS) * FIRST_GUESS;
    size_t have = 0, cap = (size_t)TN_MIN((uint64_t)n, guess);
    tn__storage *data = tn__host_storage(cap);
    while (data && have < n) {
        if (have == cap) {
            cap = TN_MIN(n, cap * 4);
            data = grown(data, have, cap);
            continue;
        }
        if (read_all(s, (char *)data->data + have, cap - have, "data")) {
            tn__storage_release(data);
            return NULL;
        }
        have = cap;
    }
    if (!data)
        tn__while_reading(s->from->name);
    return data;
}

static tn_status check_end(tn__gz_reader *s)
{
    char more;
    size_t got;
    uint64_t at = s->at;
    tn_status e = tn__gz_reader_read(s, &more, 1, &got);
    if (!e && got)
        e = tn__bad_field(TN_EFORMAT, s->from->name, "end", at, "more data follows than the header says");
    return e;
}

static tn_tensor *read_stream(tn__gz_reader *s)
{
    header h;
    if (read_header(s, &h) || check_size(s, &h))
        return NULL;
    size_t item = tn__dtype_size(h.dtype);
    tn__storage *data = read_data(s, (size_t)h.numel * item);
    if (!data)
        return NULL;
    if (check_end(s)) {
        tn__storage_release(data);
        return NULL;
    }
    tn__swap_bytes(data->data, h.numel, item);
    tn_tensor *t = tn__tensor_over(data, h.dtype, h.shape, h.ndim, NULL);
    if (!t)
        tn__while_reading(s->from->name);
    return t;
}

tn_tensor *tn__idx_read(tn__source *from)
{
    tn__gz_reader s;
    if (tn__gz_reader_open(&s, from))
        return NULL;
    tn_tensor *t = read_stream(&s);
    tn__gz_reader_close(&s);
    return t;
}

/* ---- public ---- */

tn_tensor *(tn_load_idx_at)(const char *site, const char *path)
{
    return tn__load_with(tn__idx_read, site, path);
}

tn_tensor *(tn_load_idx)(const char *path)
{
    return tn__load_with(tn__idx_read, TN__NOWHERE, path);
}
