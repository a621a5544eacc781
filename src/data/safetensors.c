/* safetensors: eight bytes with the length of a header, the header (JSON: for each name a dtype, a shape and where its
 * bytes begin and end), the bytes. */
#include "data/safetensors.h"
#include "autograd/functions.h"
#include "core/alloc.h"
#include "data/bytes.h"
#include "data/json.h"
#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <tenon/data.h>
#include <unistd.h>

/* The file's bytes: mapped, or a copy. The handle and each tensor that shows them hold a reference. */
typedef struct image {
    _Atomic int32_t refs;
    bool mapped;
    unsigned char *bytes;
    size_t n;
} image;

typedef struct entry {
    const char *name;
    const tn__safetensors_type *type;
    tn_dtype dtype; /* 0: Tenon has no such tensors */
    int32_t ndim;
    int64_t shape[TN_MAX_DIMS], numel;
    int64_t begin, end; /* from the end of the header */
    int64_t place;      /* in the header: the order of empty tensors */
} entry;

/* Texts lie in the arena. */
struct tn_safetensors {
    image *file;
    int fd; /* of the file: what is read by it is an error where the file was cut, not a signal; -1: there is none */
    char *name; /* of the source */
    char *arena;
    size_t header_n; /* bytes of the header and of the arena */
    entry *entry;
    int64_t n, cap;
    void **in_file; /* entry *[n], by begin */
    void **by_name; /* entry *[n], by name */
    tn_pair *pair;
    int64_t n_pairs, cap_pairs;
    bool has_metadata;
};

/* ---- the bytes ---- */

static void image_release(image *m)
{
    if (!m || atomic_fetch_sub_explicit(&m->refs, 1, memory_order_acq_rel) > 1)
        return;
    if (m->mapped)
        munmap(m->bytes, m->n);
    else
        tn__block_put(m->bytes, m->n);
    tn__block_put(m, sizeof *m);
}

static tn_status no_memory(const char *name, size_t n)
{
    tn__error_memory("a safetensors file's description", n);
    return tn__while_reading(name);
}

static tn_status image_fill(image *m, tn__source *s)
{
    m->mapped = s->fd >= 0;
    if (!m->mapped) {
        m->bytes = tn__block_get(m->n);
        tn_status e = m->bytes ? tn__source_read(s, m->bytes, m->n) : no_memory(s->name, m->n);
        s->at = 0;
        return e;
    }
    void *p = mmap(NULL, m->n, PROT_READ, MAP_PRIVATE, s->fd, 0);
    if (p == MAP_FAILED)
        return tn__system_error(errno, s->name, "mapping it into memory");
    m->bytes = p;
    return TN_OK;
}

static tn_status image_new(tn__source *s, image **out)
{
    image *m = tn__block_zero(sizeof *m);
    *out = NULL;
    if (!m)
        return no_memory(s->name, sizeof *m);
    atomic_init(&m->refs, 1);
    m->n = (size_t)s->size;
    tn_status e = image_fill(m, s);
    if (e) {
        if (m->bytes)
            tn__block_put(m->bytes, m->n);
        tn__block_put(m, sizeof *m);
        return e;
    }
    *out = m;
    return TN_OK;
}

/* ---- one entry of the header ---- */

/* "shape of 'w'"; by value. */
typedef struct field_text {
    char s[112];
} field_text;

static field_text field_of(const char *what, const char *name)
{
    field_text f;
    snprintf(f.s, sizeof f.s, "%s of %s", what, tn__quote(name, strlen(name)).s);
    return f;
}

static tn_status take_type(tn__json *j, entry *t)
{
    const char *text;
    tn_status e = tn__json_text(j, "dtype", &text);
    if (e)
        return e;
    for (size_t i = 0; i < TN__SAFETENSORS_TYPES; i++)
        if (!strcmp(text, tn__safetensors_types[i].name))
            t->type = &tn__safetensors_types[i];
    t->dtype = t->type ? tn__safetensors_dtype(text) : 0;
    if (t->type)
        return TN_OK;
    return tn__json_bad(j, field_of("dtype", t->name).s, "%s is none of the format's", tn__quote(text, strlen(text)).s);
}

static tn_status take_shape(tn__json *j, entry *t)
{
    field_text field = field_of("shape", t->name);
    tn_status e = tn__json_expect(j, '[', field.s);
    for (bool more = true; !e;) {
        e = tn__json_more(j, t->ndim == 0, ']', field.s, &more);
        if (e || !more)
            break;
        if (t->ndim == TN_MAX_DIMS)
            return tn__json_bad(j, field.s, "more than %d dimensions", TN_MAX_DIMS);
        e = tn__json_whole(j, field.s, &t->shape[t->ndim]);
        t->ndim++;
    }
    return e;
}

static tn_status take_offsets(tn__json *j, entry *t)
{
    field_text field = field_of("data_offsets", t->name);
    tn_status e = tn__json_expect(j, '[', field.s);
    if (e || (e = tn__json_whole(j, field.s, &t->begin)) || (e = tn__json_expect(j, ',', field.s)) ||
        (e = tn__json_whole(j, field.s, &t->end)))
        return e;
    return tn__json_expect(j, ']', field.s);
}

/* Does the shape fill the bytes that the offsets name? Whether those are in the file is checked when all are known. */
static tn_status check_entry(tn__json *j, entry *t)
{
    int64_t bits;
    if (t->end < t->begin)
        return tn__json_bad(j, field_of("data_offsets", t->name).s, "they end at %lld, before they begin at %lld",
                            (long long)t->end, (long long)t->begin);
    if (!tn__shape_numel(t->shape, t->ndim, 8, &t->numel) || __builtin_mul_overflow(t->numel, t->type->bits, &bits))
        return tn__json_bad(j, field_of("shape", t->name).s, "%s has more elements than memory can hold",
                            tn__shape_str(t->shape, t->ndim).s);
    if (bits % 8 || bits / 8 != t->end - t->begin)
        return tn__json_bad(j, field_of("data_offsets", t->name).s, "%lld bytes, but %s of %s is %lld bits",
                            (long long)(t->end - t->begin), tn__shape_str(t->shape, t->ndim).s, t->type->name,
                            (long long)bits);
    return TN_OK;
}

static tn_status take_entry(tn__json *j, entry *t)
{
    const struct {
        const char *key;
        tn_status (*take)(tn__json *, entry *);
    } keys[] = {{"dtype", take_type}, {"shape", take_shape}, {"data_offsets", take_offsets}};
    unsigned seen = 0;
    field_text field = field_of("description", t->name);
    tn_status e = tn__json_expect(j, '{', field.s);
    for (bool more = true, first = true; !e; first = false) {
        const char *key;
        size_t i = 0;
        e = tn__json_more(j, first, '}', field.s, &more);
        if (e || !more)
            break;
        if ((e = tn__json_text(j, field.s, &key)) || (e = tn__json_expect(j, ':', field.s)))
            return e;
        while (i < TN_COUNT(keys) && strcmp(key, keys[i].key) != 0)
            i++;
        if (i == TN_COUNT(keys) || seen & 1U << i)
            return tn__json_bad(j, field.s, "%s is %s", tn__quote(key, strlen(key)).s,
                                i == TN_COUNT(keys) ? "none of 'dtype', 'shape', 'data_offsets'" : "there twice");
        seen |= 1U << i;
        e = keys[i].take(j, t);
    }
    if (!e && seen != (1U << TN_COUNT(keys)) - 1)
        e = tn__json_bad(j, field.s, "'dtype', 'shape' and 'data_offsets' must all be there");
    return e ? e : check_entry(j, t);
}

static tn_status take_metadata(tn_safetensors *f, tn__json *j)
{
    const char *field = TN__SAFETENSORS_METADATA;
    if (f->has_metadata)
        return tn__json_bad(j, field, "it is there twice");
    f->has_metadata = true;
    tn_status e = tn__json_expect(j, '{', field);
    for (bool more = true, first = true; !e; first = false) {
        tn_pair p;
        e = tn__json_more(j, first, '}', field, &more);
        if (e || !more)
            break;
        if ((e = tn__json_text(j, field, &p.key)) || (e = tn__json_expect(j, ':', field)) ||
            (e = tn__json_text(j, field, &p.value)))
            return e;
        if (!tn__grow(&f->pair, sizeof p, &f->cap_pairs, f->n_pairs + 1))
            return no_memory(j->name, sizeof p * (size_t)f->n_pairs);
        f->pair[f->n_pairs++] = p;
    }
    return e;
}

static tn_status take_header(tn_safetensors *f, tn__json *j)
{
    if (j->n == 0 || j->text[0] != '{')
        return tn__json_bad(j, "header", "it must begin with '{'");
    tn_status e = tn__json_expect(j, '{', "header");
    for (bool more = true, first = true; !e; first = false) {
        entry t = {.place = f->n};
        e = tn__json_more(j, first, '}', "header", &more);
        if (e || !more)
            break;
        if ((e = tn__json_text(j, "header", &t.name)) || (e = tn__json_expect(j, ':', "header")))
            return e;
        if (!strcmp(t.name, TN__SAFETENSORS_METADATA)) {
            e = take_metadata(f, j);
            continue;
        }
        if ((e = take_entry(j, &t)))
            return e;
        if (!tn__grow(&f->entry, sizeof t, &f->cap, f->n + 1))
            return no_memory(j->name, sizeof t * (size_t)f->n);
        f->entry[f->n++] = t;
    }
    return e ? e : tn__json_end(j, "header");
}

/* ---- all of them together ---- */

static bool begins_before(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    if (x->begin != y->begin)
        return x->begin < y->begin;
    return x->end != y->end ? x->end < y->end : x->place < y->place;
}

static bool named_before(const void *a, const void *b)
{
    return strcmp(((const entry *)a)->name, ((const entry *)b)->name) < 0;
}

static bool key_before(const void *a, const void *b)
{
    return strcmp(((const tn_pair *)a)->key, ((const tn_pair *)b)->key) < 0;
}

static tn_status sort_entries(tn_safetensors *f)
{
    size_t bytes = (size_t)f->n * sizeof *f->in_file;
    f->in_file = tn__block_get(bytes);
    f->by_name = tn__block_get(bytes);
    if (!f->in_file || !f->by_name)
        return no_memory(f->name, bytes);
    for (int64_t i = 0; i < f->n; i++)
        f->in_file[i] = f->by_name[i] = &f->entry[i];
    tn__safetensors_sort(f->in_file, f->n, begins_before);
    tn__safetensors_sort(f->by_name, f->n, named_before);
    return TN_OK;
}

static tn_status check_names(const tn_safetensors *f)
{
    for (int64_t i = 1; i < f->n; i++) {
        const entry *a = f->by_name[i - 1], *b = f->by_name[i];
        if (!strcmp(a->name, b->name))
            return tn__bad_field(TN_EFORMAT, f->name, "header", 8, "%s is there twice",
                                 tn__quote(a->name, strlen(a->name)).s);
    }
    return TN_OK;
}

static tn_status check_keys(const tn_safetensors *f)
{
    size_t bytes = (size_t)f->n_pairs * sizeof(void *);
    void **sorted = tn__block_get(bytes);
    if (!sorted)
        return no_memory(f->name, bytes);
    for (int64_t i = 0; i < f->n_pairs; i++)
        sorted[i] = &f->pair[i];
    tn__safetensors_sort(sorted, f->n_pairs, key_before);
    tn_status e = TN_OK;
    for (int64_t i = 1; i < f->n_pairs && !e; i++) {
        const tn_pair *a = sorted[i - 1], *b = sorted[i];
        if (!strcmp(a->key, b->key))
            e = tn__bad_field(TN_EFORMAT, f->name, TN__SAFETENSORS_METADATA, 8, "%s is there twice",
                              tn__quote(a->key, strlen(a->key)).s);
    }
    tn__block_put(sorted, bytes);
    return e;
}

/* The tensors follow one another and end where the file does. */
static tn_status check_cover(const tn_safetensors *f)
{
    int64_t at = 0, all = (int64_t)(f->file->n - 8 - f->header_n);
    for (int64_t i = 0; i < f->n; i++) {
        const entry *t = f->in_file[i];
        if (t->begin != at)
            return tn__bad_field(TN_EFORMAT, f->name, field_of("data_offsets", t->name).s, 8,
                                 "it begins at %lld, where %lld is the end of what is before it (%s)",
                                 (long long)t->begin, (long long)at, t->begin < at ? "an overlap" : "a gap");
        at = t->end;
    }
    if (at != all)
        return tn__bad_field(TN_EFORMAT, f->name, "data", 8 + f->header_n,
                             "the tensors are %lld bytes, the file has %lld", (long long)at, (long long)all);
    return TN_OK;
}

static tn_status read_length(tn_safetensors *f, tn__source *s)
{
    uint64_t n = 0;
    if (f->file->n < 8)
        return tn__bad_field(TN_EFORMAT, f->name, "length of the header", 0, "the file has %zu bytes, too few for it",
                             f->file->n);
    tn_status e = tn__source_read(s, &n, 8);
    if (e)
        return e;
    if (n > TN__SAFETENSORS_HEADER_MAX || n > f->file->n - 8)
        return tn__bad_field(TN_EFORMAT, f->name, "length of the header", 0,
                             "%llu; at most %d is allowed, and the file has %zu bytes left", (unsigned long long)n,
                             TN__SAFETENSORS_HEADER_MAX, f->file->n - 8);
    f->header_n = (size_t)n;
    return TN_OK;
}

static tn_status parse_header(tn_safetensors *f, const unsigned char *text)
{
    tn__json j = {.name = f->name, .text = text, .n = f->header_n, .base = 8, .arena = f->arena};
    tn_status e = take_header(f, &j);
    if (e || (e = sort_entries(f)) || (e = check_names(f)) || (e = check_keys(f)))
        return e;
    return check_cover(f);
}

/* The header is read, not looked at in the mapping: a file that is cut meanwhile is an error. */
static tn_status read_header(tn_safetensors *f, tn__source *s)
{
    tn_status e = read_length(f, s);
    if (e)
        return e;
    f->arena = tn__block_get(f->header_n);
    unsigned char *text = tn__block_get(f->header_n);
    if (!f->arena || !text)
        e = no_memory(f->name, f->header_n);
    if (!e)
        e = tn__source_read(s, text, f->header_n);
    if (!e)
        e = parse_header(f, text);
    tn__block_put(text, f->header_n);
    return e;
}

static tn_safetensors *open_source(tn__source *s)
{
    tn_safetensors *f = tn__block_zero(sizeof *f);
    if (!f) {
        no_memory(s->name, sizeof *f);
        return NULL;
    }
    f->fd = -1;
    f->name = tn__text_get(s->name);
    if (!f->name)
        no_memory(s->name, strlen(s->name));
    if (!f->name ||
        (s->size == 0 ? tn__bad_field(TN_EFORMAT, s->name, "length of the header", 0, "the file is empty")
                      : image_new(s, &f->file)) ||
        read_header(f, s)) {
        tn_safetensors_close(f);
        return NULL;
    }
    f->fd = s->fd; /* the handle's from here on */
    s->fd = -1;
    return f;
}

/* ---- public ---- */

tn_safetensors *(tn_safetensors_open_at)(const char *site, const char *path)
{
    tn__source s;
    tn__enter(site);
    if (tn__source_open(&s, path))
        return NULL;
    tn_safetensors *f = open_source(&s);
    tn__source_close(&s);
    return f;
}

tn_safetensors *(tn_safetensors_open)(const char *path)
{
    return (tn_safetensors_open_at)(TN__NOWHERE, path);
}

tn_safetensors *(tn_safetensors_parse_at)(const char *site, const void *data, size_t n, const char *name)
{
    tn__source s;
    tn__enter(site);
    return tn__source_memory(&s, data, n, name) ? NULL : open_source(&s);
}

tn_safetensors *(tn_safetensors_parse)(const void *data, size_t n, const char *name)
{
    return (tn_safetensors_parse_at)(TN__NOWHERE, data, n, name);
}

void tn_safetensors_close(tn_safetensors *f)
{
    if (!f)
        return;
    tn__block_put(f->entry, (size_t)f->cap * sizeof *f->entry);
    tn__block_put(f->in_file, (size_t)f->n * sizeof *f->in_file);
    tn__block_put(f->by_name, (size_t)f->n * sizeof *f->by_name);
    tn__block_put(f->pair, (size_t)f->cap_pairs * sizeof *f->pair);
    tn__block_put(f->arena, f->header_n);
    tn__text_put(f->name);
    if (f->fd >= 0)
        close(f->fd);
    image_release(f->file);
    tn__block_put(f, sizeof *f);
}

size_t tn_safetensors_count(const tn_safetensors *f)
{
    return f ? (size_t)f->n : 0;
}

const char *tn_safetensors_name(const tn_safetensors *f, size_t i)
{
    tn__enter(TN__NOWHERE);
    if (!f) {
        tn__poisoned("tn_safetensors_name");
        return NULL;
    }
    if (i >= (size_t)f->n)
        return tn__fail(TN_EINDEX, "%.1024s: there are %lld tensors, %zu is not the index of one", f->name,
                        (long long)f->n, i);
    return ((const entry *)f->in_file[i])->name;
}

static const entry *find(const tn_safetensors *f, const char *name)
{
    int64_t low = 0, high = f->n;
    while (low < high) {
        int64_t mid = low + (high - low) / 2;
        const entry *t = f->by_name[mid];
        int c = strcmp(name, t->name);
        if (c == 0)
            return t;
        if (c < 0)
            high = mid;
        else
            low = mid + 1;
    }
    return NULL;
}

/* The entry, or NULL after an error that says what the file has instead. */
static const entry *find_or_fail(const char *what, const tn_safetensors *f, const char *name)
{
    enum { SHOWN = 4 };
    if (!f) {
        tn__poisoned(what);
        return NULL;
    }
    if (!name)
        return tn__fail(TN_EINVAL, "%s: the name is NULL", what);
    const entry *t = find(f, name);
    if (t)
        return t;
    tn__error(TN_EMISSING, "%.1024s: there is no tensor %s", f->name, tn__quote(name, strlen(name)).s);
    for (int64_t i = 0; i < f->n && i < SHOWN; i++) {
        const char *other = ((const entry *)f->in_file[i])->name;
        tn__error_append("%s%s", i ? ", " : "\n  there are ", tn__quote(other, strlen(other)).s);
    }
    if (f->n > SHOWN)
        tn__error_append(" and %lld more", (long long)(f->n - SHOWN));
    return NULL;
}

bool tn_safetensors_has(const tn_safetensors *f, const char *name)
{
    return f && name && find(f, name);
}

tn_status tn_safetensors_info(const tn_safetensors *f, const char *name, tn_safetensors_entry *out)
{
    tn__enter(TN__NOWHERE);
    const entry *t = find_or_fail("tn_safetensors_info", f, name);
    if (!t)
        return tn_error_code();
    *out =
        (tn_safetensors_entry){t->dtype, t->type->name, tn_dims_of(t->shape, t->ndim), (uint64_t)(t->end - t->begin)};
    return TN_OK;
}

/* ---- tensors ---- */

static void release_image(tn__storage *s)
{
    image_release(s->ctx);
}

static tn__storage *shown(image *m, unsigned char *bytes, size_t n)
{
    tn__storage *s = tn__storage_new(TN_CPU, bytes, n, release_image);
    if (!s)
        return tn__fail(TN_ENOMEM, "out of memory for a storage's description");
    atomic_fetch_add_explicit(&m->refs, 1, memory_order_relaxed);
    s->ctx = m;
    s->read_only = true;
    return s;
}

/* The bytes of an entry, read into memory of their own. */
static tn__storage *copied(const tn_safetensors *f, const entry *t)
{
    size_t n = (size_t)(t->end - t->begin), at = 8 + f->header_n + (size_t)t->begin;
    tn__source from = {.name = f->name, .memory = f->file->bytes, .fd = f->fd, .at = at, .size = f->file->n};
    tn__storage *s = tn__host_storage(n);
    if (!s)
        return NULL;
    if (tn__source_read(&from, s->data, n)) {
        tn__storage_release(s);
        return NULL;
    }
    if (t->dtype == TN_BOOL)
        tn__bool_bytes(s->data, (int64_t)n);
    return s;
}

/* Is the mapped file still as long as it was? What is beyond its end must not be touched. */
static tn_status check_uncut(const tn_safetensors *f)
{
    struct stat st;
    if (f->fd < 0 || fstat(f->fd, &st) != 0 || (uint64_t)st.st_size >= f->file->n)
        return TN_OK;
    return tn__error(TN_EIO, "%.1024s: the file was cut from %zu to %lld bytes since it was opened", f->name,
                     f->file->n, (long long)st.st_size);
}

/* The file's own bytes, where they lie so that they can be shown as they are; else a copy. */
static tn__storage *shown_or_copied(const tn_safetensors *f, const entry *t)
{
    unsigned char *bytes = f->file->bytes + 8 + f->header_n + t->begin;
    size_t n = (size_t)(t->end - t->begin);
    if (check_uncut(f))
        return NULL;
    bool as_it_is = n && (uintptr_t)bytes % tn__dtype_size(t->dtype) == 0 &&
                    (t->dtype != TN_BOOL || tn__is_bool_bytes(bytes, t->numel));
    return as_it_is ? shown(f->file, bytes, n) : copied(f, t);
}

static tn_tensor *take(tn__thread *self, const tn_safetensors *f, const entry *t,
                       tn__storage *(*storage)(const tn_safetensors *, const entry *))
{
    if (!t->dtype)
        return tn__fail(TN_EDTYPE, "%.1024s: %s is of dtype %s, which Tenon has not", f->name,
                        tn__quote(t->name, strlen(t->name)).s, t->type->name);
    tn__storage *s = storage(f, t);
    tn_tensor *made = s ? tn__tensor_over(s, t->dtype, t->shape, t->ndim, NULL) : NULL;
    if (!made) {
        if (tn_error_code() != TN_EIO) /* that says which file */
            tn__while_reading(f->name);
        return NULL;
    }
    tn__scope_adopt(self, made);
    return made;
}

tn_tensor *(tn_safetensors_tensor_at)(const char *site, const tn_safetensors *f, const char *name)
{
    tn__thread *self = tn__enter(site);
    const entry *t = find_or_fail("tn_safetensors_tensor", f, name);
    return t ? take(self, f, t, shown_or_copied) : NULL;
}

tn_tensor *(tn_safetensors_tensor)(const tn_safetensors *f, const char *name)
{
    return (tn_safetensors_tensor_at)(TN__NOWHERE, f, name);
}

tn_tensor *(tn_safetensors_read_at)(const char *site, const tn_safetensors *f, const char *name)
{
    tn__thread *self = tn__enter(site);
    const entry *t = find_or_fail("tn_safetensors_read", f, name);
    return t ? take(self, f, t, copied) : NULL;
}

tn_tensor *(tn_safetensors_read)(const tn_safetensors *f, const char *name)
{
    return (tn_safetensors_read_at)(TN__NOWHERE, f, name);
}

/* ---- metadata ---- */

const char *tn_safetensors_metadata(const tn_safetensors *f, const char *key)
{
    for (int64_t i = 0; f && key && i < f->n_pairs; i++)
        if (!strcmp(key, f->pair[i].key))
            return f->pair[i].value;
    return NULL;
}

tn_pairs tn_safetensors_metadata_all(const tn_safetensors *f)
{
    return f ? (tn_pairs){f->pair, (size_t)f->n_pairs} : (tn_pairs){NULL, 0};
}
