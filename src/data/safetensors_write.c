/* Writing safetensors: byte for byte what the reference implementation (huggingface/safetensors 0.8) writes. */
#include "autograd/functions.h"
#include "core/alloc.h"
#include "data/atomic_file.h"
#include "data/bytes.h"
#include "data/json.h"
#include "data/safetensors.h"
#include <stdio.h>
#include <tenon/data.h>

typedef struct item {
    const char *name;
    tn_tensor *t;
    int32_t rank; /* of its dtype: higher ranks come first */
} item;

/* sorted: item *[n] in the order of the file. */
typedef struct writer {
    int64_t n;
    item *item;
    void **sorted;
} writer;

/* A text that grows. */
typedef struct text {
    char *s;
    int64_t n, cap;
} text;

/* ---- the header ---- */

static tn_status put(text *t, const char *s, size_t n)
{
    if (!tn__grow(&t->s, 1, &t->cap, t->n + (int64_t)n))
        return tn__error_memory("a safetensors header", (size_t)t->n + n);
    memcpy(t->s + t->n, s, n);
    t->n += (int64_t)n;
    return TN_OK;
}

static tn_status put_text(text *t, const char *s)
{
    return put(t, s, strlen(s));
}

static tn_status put_number(text *t, int64_t v)
{
    char s[24];
    snprintf(s, sizeof s, "%lld", (long long)v);
    return put_text(t, s);
}

static tn_status put_escaped(text *t, unsigned char c)
{
    static const char from[] = "\"\\\b\f\n\r\t", to[] = "\"\\bfnrt";
    const char *found = strchr(from, c);
    char s[8];
    if (found)
        snprintf(s, sizeof s, "\\%c", to[found - from]);
    else
        snprintf(s, sizeof s, c < 0x20 ? "\\u%04x" : "%c", c);
    return put_text(t, s);
}

static tn_status put_quoted(text *t, const char *s)
{
    tn_status e = put(t, "\"", 1);
    for (; *s && !e; s++)
        e = put_escaped(t, (unsigned char)*s);
    return e ? e : put(t, "\"", 1);
}

static tn_status put_metadata(text *t, tn_pairs metadata)
{
    tn_status e = put_text(t, "\"" TN__SAFETENSORS_METADATA "\":{");
    for (size_t i = 0; i < metadata.n && !e; i++)
        if ((i && (e = put(t, ",", 1))) || (e = put_quoted(t, metadata.pair[i].key)) || (e = put(t, ":", 1)) ||
            (e = put_quoted(t, metadata.pair[i].value)))
            return e;
    return e ? e : put(t, "}", 1);
}

static int64_t bytes_of(const tn_tensor *t)
{
    return t->numel * (int64_t)tn__dtype_size(t->dtype);
}

static tn_status put_item(text *t, const item *x, int64_t begin)
{
    tn_status e;
    if ((e = put_quoted(t, x->name)) || (e = put_text(t, ":{\"dtype\":\"")) ||
        (e = put_text(t, tn__safetensors_types[x->rank].name)) || (e = put_text(t, "\",\"shape\":[")))
        return e;
    for (int32_t d = 0; d < x->t->ndim; d++)
        if ((d && (e = put(t, ",", 1))) || (e = put_number(t, x->t->shape[d])))
            return e;
    if ((e = put_text(t, "],\"data_offsets\":[")) || (e = put_number(t, begin)) || (e = put(t, ",", 1)) ||
        (e = put_number(t, begin + bytes_of(x->t))))
        return e;
    return put_text(t, "]}");
}

/* The length, the header, and spaces up to a multiple of eight, so that every tensor is aligned. */
static tn_status make_header(text *t, const writer *w, tn_pairs metadata)
{
    int64_t begin = 0;
    tn_status e = put(t, "\0\0\0\0\0\0\0\0{", 9);
    if (metadata.n && !e)
        e = put_metadata(t, metadata);
    for (int64_t i = 0; i < w->n && !e; i++) {
        const item *x = w->sorted[i];
        if ((i || metadata.n) && (e = put(t, ",", 1)))
            break;
        e = put_item(t, x, begin);
        begin += bytes_of(x->t);
    }
    if (e || (e = put(t, "}", 1)) || (e = put(t, "        ", (size_t)(-t->n & 7))))
        return e;
    uint64_t n = (uint64_t)t->n - 8;
    if (n > TN__SAFETENSORS_HEADER_MAX)
        return tn__error(TN_EINVAL, "tn_save_safetensors: the header would have %llu bytes, the format allows %d",
                         (unsigned long long)n, TN__SAFETENSORS_HEADER_MAX);
    memcpy(t->s, &n, 8);
    return TN_OK;
}

/* ---- what is to be written ---- */

static bool written_before(const void *a, const void *b)
{
    const item *x = a, *y = b;
    return x->rank != y->rank ? x->rank > y->rank : strcmp(x->name, y->name) < 0;
}

static bool named_before(const void *a, const void *b)
{
    return strcmp(((const item *)a)->name, ((const item *)b)->name) < 0;
}

static int32_t rank_of(tn_dtype dtype)
{
    int32_t rank = 0;
    while (strcmp(tn__safetensors_types[rank].name, tn__dtypes[dtype].safetensors))
        rank++;
    return rank;
}

static tn_status check_text(const char *what, const char *s, size_t i)
{
    if (!s)
        return tn__error(TN_EINVAL, "tn_save_safetensors: %s %zu is NULL", what, i);
    if (!tn__is_utf8(s))
        return tn__error(TN_EINVAL, "tn_save_safetensors: %s %zu, %s, is not UTF-8", what, i,
                         tn__quote(s, strlen(s)).s);
    return TN_OK;
}

static tn_status twice(const char *what, const char *s)
{
    return tn__error(TN_EINVAL, "tn_save_safetensors: the %s %s is there twice", what, tn__quote(s, strlen(s)).s);
}

static tn_status check_metadata(tn_pairs m)
{
    if (m.n && !m.pair)
        return tn__error(TN_EINVAL, "tn_save_safetensors: the metadata is NULL");
    for (size_t i = 0; i < m.n; i++) {
        tn_status e;
        if ((e = check_text("metadata key", m.pair[i].key, i)) ||
            (e = check_text("metadata value", m.pair[i].value, i)))
            return e;
        for (size_t k = 0; k < i; k++) /* a handful: no need to sort */
            if (!strcmp(m.pair[k].key, m.pair[i].key))
                return twice("metadata key", m.pair[i].key);
    }
    return TN_OK;
}

static tn_status check_item(const char *name, const tn_tensor *t, size_t i)
{
    tn_status e = check_text("name", name, i);
    if (e)
        return e;
    if (!strcmp(name, TN__SAFETENSORS_METADATA))
        return tn__error(TN_EINVAL,
                         "tn_save_safetensors: the name '" TN__SAFETENSORS_METADATA "' is reserved: use .metadata");
    if (!t)
        return tn__poisoned("tn_save_safetensors");
    if (t == TN_NONE)
        return tn__error(TN_ETYPE, "tn_save_safetensors: tensor %zu, %s, is TN_NONE", i,
                         tn__quote(name, strlen(name)).s);
    return TN_OK;
}

static tn_status fill(writer *w, const char *const *names, tn_tensors tensors)
{
    for (int64_t i = 0; i < w->n; i++) {
        tn_status e = check_item(names[i], tensors.t[i], (size_t)i);
        if (e)
            return e;
        w->item[i] = (item){names[i], tensors.t[i], rank_of(tensors.t[i]->dtype)};
        w->sorted[i] = &w->item[i];
    }
    tn__safetensors_sort(w->sorted, w->n, named_before);
    for (int64_t i = 1; i < w->n; i++) {
        const item *a = w->sorted[i - 1], *b = w->sorted[i];
        if (!strcmp(a->name, b->name))
            return twice("name", a->name);
    }
    tn__safetensors_sort(w->sorted, w->n, written_before);
    return TN_OK;
}

/* ---- writing ---- */

/* Copies (of tensors elsewhere, or not contiguous) live one at a time. */
static tn_status write_item(tn__atomic_file *f, const item *x)
{
    tn__thread *self = tn__self();
    tn_scope scope;
    tn__scope_push(self, &scope);
    const tn_tensor *rows = tn__host_rows(x->t);
    tn_status e = rows ? tn__atomic_write(f, tn__tensor_data(rows), (size_t)bytes_of(rows)) : tn_error_code();
    tn__scope_pop(self, &scope, NULL);
    return e;
}

static tn_status write_all(const writer *w, const text *header, const char *path)
{
    tn__atomic_file f;
    tn_status e = tn__atomic_open(&f, path);
    if (e)
        return e;
    e = tn__atomic_write(&f, header->s, (size_t)header->n);
    for (int64_t i = 0; i < w->n && !e; i++)
        e = write_item(&f, w->sorted[i]);
    if (!e)
        return tn__atomic_commit(&f);
    tn__atomic_abandon(&f);
    return e;
}

static tn_status save(writer *w, const char *const *names, tn_tensors tensors, tn_pairs metadata, const char *path)
{
    text header = {0};
    size_t items = (size_t)w->n * sizeof *w->item, places = (size_t)w->n * sizeof *w->sorted;
    w->item = tn__block_get(items);
    w->sorted = tn__block_get(places);
    tn_status e = w->item && w->sorted ? TN_OK : tn__error_memory("a list of tensors", items + places);
    if (!e && !(e = fill(w, names, tensors)) && !(e = make_header(&header, w, metadata)))
        e = write_all(w, &header, path);
    tn__block_put(header.s, (size_t)header.cap);
    tn__block_put(w->sorted, places);
    tn__block_put(w->item, items);
    return e;
}

tn_status tn_save_safetensors_opt(const char *path, const char *const *names, tn_tensors tensors,
                                  const tn_save_safetensors_options *options)
{
    tn_save_safetensors_options o;
    tn__options_in(&o, sizeof o, options);
    tn__enter(o.site);
    if (tensors.n && (!names || !tensors.t))
        return tn__error(TN_EINVAL, "tn_save_safetensors: the list of %s is NULL", names ? "tensors" : "names");
    tn_status e = check_metadata(o.metadata);
    writer w = {.n = (int64_t)tensors.n};
    return e ? e : save(&w, names, tensors, o.metadata, path);
}
