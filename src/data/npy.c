/* npy (numpy.lib.format): "\x93NUMPY", a version, the length of a header, the header (a Python dictionary with 'descr',
 * 'fortran_order' and 'shape'), the elements. */
#include "autograd/functions.h"
#include "core/alloc.h"
#include "data/bytes.h"
#include "data/readers.h"
#include <tenon/data.h>

enum { HEADER_MAX = 1 << 20 };

/* The header's text and how far it is read. base: its place in the file. */
typedef struct cursor {
    const char *name;
    const char *text;
    size_t n, at;
    uint64_t base;
} cursor;

typedef struct header {
    const char *descr; /* borrowed from the text */
    size_t descr_n;
    bool structured; /* descr is a list: a structured dtype */
    bool fortran, has_descr, has_fortran, has_shape;
    tn_dtype dtype;
    bool swap;
    int32_t ndim;
    int64_t shape[TN_MAX_DIMS], numel;
} header;

#define BAD(c, field, ...) tn__bad_field(TN_EFORMAT, (c)->name, field, (c)->base + (c)->at, __VA_ARGS__)

/* ---- the dictionary ---- */

static void skip_space(cursor *c)
{
    while (c->at < c->n && strchr(" \t\r\n\f\v", c->text[c->at]) && c->text[c->at])
        c->at++;
}

/* The next character that is no space; '\0' at the end. It is not consumed. */
static char peek(cursor *c)
{
    skip_space(c);
    return c->at < c->n ? c->text[c->at] : '\0';
}

static bool take(cursor *c, char want)
{
    if (peek(c) != want)
        return false;
    c->at++;
    return true;
}

static bool take_word(cursor *c, const char *word)
{
    size_t n = strlen(word);
    skip_space(c);
    if (c->n - c->at < n || memcmp(c->text + c->at, word, n) != 0)
        return false;
    c->at += n;
    return true;
}

/* A text in quotes of either kind. None that numpy writes holds a backslash. */
static tn_status take_text(cursor *c, const char *field, const char **text, size_t *n)
{
    char quote = peek(c);
    if (quote != '\'' && quote != '"')
        return BAD(c, field, "a text in quotes was expected");
    size_t start = ++c->at;
    while (c->at < c->n && c->text[c->at] != quote && c->text[c->at] != '\\')
        c->at++;
    if (c->at == c->n || c->text[c->at] != quote)
        return BAD(c, field, "the text does not end");
    *text = c->text + start;
    *n = c->at++ - start;
    return TN_OK;
}

static tn_status take_size(cursor *c, int64_t *out)
{
    int64_t v = 0;
    size_t start = (skip_space(c), c->at);
    while (c->at < c->n && c->text[c->at] >= '0' && c->text[c->at] <= '9') {
        if (__builtin_mul_overflow(v, (int64_t)10, &v) || __builtin_add_overflow(v, c->text[c->at] - '0', &v))
            return BAD(c, "shape", "a size is larger than memory can be");
        c->at++;
    }
    if (c->at == start)
        return BAD(c, "shape", "a whole number, 0 or more, was expected");
    if (c->at - start > 1 && c->text[start] == '0')
        return BAD(c, "shape", "a number begins with 0");
    if (c->at < c->n && c->text[c->at] == 'L') /* Python 2 wrote long integers so */
        c->at++;
    *out = v;
    return TN_OK;
}

static tn_status take_shape(cursor *c, header *h)
{
    bool comma = true;
    if (!take(c, '('))
        return BAD(c, "shape", "a tuple was expected");
    while (!take(c, ')')) {
        if (!comma)
            return BAD(c, "shape", "',' or ')' was expected");
        if (h->ndim == TN_MAX_DIMS)
            return BAD(c, "shape", "more than %d dimensions", TN_MAX_DIMS);
        tn_status e = take_size(c, &h->shape[h->ndim]);
        if (e)
            return e;
        h->ndim++;
        comma = take(c, ',');
    }
    if (h->ndim == 1 && !comma)
        return BAD(c, "shape", "a tuple was expected: '(3,)'");
    return TN_OK;
}

static tn_status take_fortran(cursor *c, header *h)
{
    h->fortran = take_word(c, "True");
    if (!h->fortran && !take_word(c, "False"))
        return BAD(c, "fortran_order", "True or False was expected");
    return TN_OK;
}

static tn_status take_descr(cursor *c, header *h)
{
    if (peek(c) != '[')
        return take_text(c, "descr", &h->descr, &h->descr_n);
    h->structured = true; /* fields by name: refused anyway, so the rest need not be understood */
    h->descr = c->text + c->at;
    const char *end = memchr(h->descr, ']', c->n - c->at);
    h->descr_n = end ? (size_t)(end + 1 - h->descr) : c->n - c->at;
    return TN_OK;
}

static tn_status take_value(cursor *c, header *h, const char *key, size_t n)
{
    const struct {
        const char *key;
        bool *seen;
        tn_status (*take)(cursor *, header *);
    } keys[] = {{"descr", &h->has_descr, take_descr},
                {"fortran_order", &h->has_fortran, take_fortran},
                {"shape", &h->has_shape, take_shape}};
    for (size_t i = 0; i < TN_COUNT(keys); i++) {
        if (strlen(keys[i].key) != n || memcmp(keys[i].key, key, n) != 0)
            continue;
        if (*keys[i].seen)
            return BAD(c, "header", "'%s' is there twice", keys[i].key);
        *keys[i].seen = true;
        return keys[i].take(c, h);
    }
    return BAD(c, "header", "%s is none of 'descr', 'fortran_order', 'shape'", tn__quote(key, n).s);
}

static tn_status take_dictionary(cursor *c, header *h)
{
    const char *key = NULL;
    size_t n = 0;
    bool comma = true;
    if (!take(c, '{'))
        return BAD(c, "header", "'{' was expected");
    while (!take(c, '}')) {
        if (!comma)
            return BAD(c, "header", "',' or '}' was expected");
        tn_status e = take_text(c, "header", &key, &n);
        if (e)
            return e;
        if (!take(c, ':'))
            return BAD(c, "header", "':' was expected");
        e = take_value(c, h, key, n);
        if (e || h->structured)
            return e;
        comma = take(c, ',');
    }
    skip_space(c);
    if (c->at != c->n)
        return BAD(c, "header", "something follows the dictionary");
    if (!h->has_descr || !h->has_fortran || !h->has_shape)
        return BAD(c, "header", "'%s' is missing",
                   !h->has_descr     ? "descr"
                   : !h->has_fortran ? "fortran_order"
                                     : "shape");
    return TN_OK;
}

/* ---- descr ---- */

/* What NumPy's other types are, by kind, and what can be done about them. */
static const char *foreign(const char *kind, size_t n)
{
    static const struct {
        const char *kind, *what;
    } known[] = {
        {"c", "complex numbers"},
        {"O", "Python objects, which are never loaded"},
        {"S", "text"},
        {"a", "text"},
        {"U", "text"},
        {"V", "raw or structured data (bfloat16 arrays are saved so: save array.astype('float32'))"},
        {"M", "dates"},
        {"m", "time differences"},
        {"f16", "long double: save array.astype('float64')"},
        {"f12", "long double: save array.astype('float64')"},
    };
    for (size_t i = 0; i < TN_COUNT(known); i++) {
        size_t k = strlen(known[i].kind);
        if (n >= k && (k == 1 || n == k) && memcmp(kind, known[i].kind, k) == 0)
            return known[i].what;
    }
    return NULL;
}

static bool is_order(char c)
{
    return c == '<' || c == '>' || c == '|' || c == '=';
}

static tn_status resolve_descr(const cursor *c, header *h)
{
    const char *d = h->descr;
    size_t n = h->descr_n;
    uint64_t at = c->base + (size_t)(d - c->text);
    if (h->structured)
        return tn__bad_field(TN_EDTYPE, c->name, "descr", at, "%s: a structured array; save its fields one by one",
                             tn__quote(d, n).s);
    bool ordered = n && is_order(*d);
    const char *kind = d + ordered;
    size_t k = n - ordered;
    for (tn_dtype i = 1; k == 2 && i < (tn_dtype)TN__DTYPES; i++)
        if (*tn__dtypes[i].npy && memcmp(kind, tn__dtypes[i].npy, 2) == 0)
            h->dtype = i;
    h->swap = n && *d == '>';
    if (h->dtype)
        return TN_OK;
    const char *what = foreign(kind, k);
    if (what)
        return tn__bad_field(TN_EDTYPE, c->name, "descr", at, "%s: Tenon has no tensors of %s", tn__quote(d, n).s,
                             what);
    return tn__bad_field(TN_EFORMAT, c->name, "descr", at, "%s is no element type", tn__quote(d, n).s);
}

/* ---- the file ---- */

static const char magic[6] = {'\x93', 'N', 'U', 'M', 'P', 'Y'};

/* Everything before the header's text; its length. */
static tn_status read_start(tn__source *s, size_t *length)
{
    uint8_t b[12] = {0};
    if (s->size < 10)
        return tn__bad_field(TN_EFORMAT, s->name, "magic number", 0,
                             "the file has %llu bytes, too few for an npy header", (unsigned long long)s->size);
    tn_status e = tn__source_read(s, b, 8);
    if (e)
        return e;
    if (memcmp(b, magic, sizeof magic) != 0)
        return tn__bad_field(TN_EFORMAT, s->name, "magic number", 0, "not '\\x93NUMPY': this is no npy file%s",
                             b[0] == 'P' && b[1] == 'K' ? " (it may be an npz archive: unpack it)" : "");
    if (b[6] < 1 || b[6] > 3 || b[7])
        return tn__bad_field(TN_EFORMAT, s->name, "version", 6, "%d.%d is none of 1.0, 2.0, 3.0", b[6], b[7]);
    size_t n = b[6] == 1 ? 2 : 4;
    if (tn__source_left(s) < n)
        return tn__bad_field(TN_EFORMAT, s->name, "length of the header", 8, "the file ends");
    if ((e = tn__source_read(s, b + 8, n)))
        return e;
    *length = (size_t)b[8] | (size_t)b[9] << 8 | (size_t)b[10] << 16 | (size_t)b[11] << 24;
    if (*length > HEADER_MAX || *length > tn__source_left(s))
        return tn__bad_field(TN_EFORMAT, s->name, "length of the header", 8,
                             "%zu; at most %d are read, and the file has %llu bytes left", *length, HEADER_MAX,
                             (unsigned long long)tn__source_left(s));
    return TN_OK;
}

static tn_status parse_header(cursor *c, header *h)
{
    tn_status e = take_dictionary(c, h);
    if (!e)
        e = resolve_descr(c, h);
    if (!e && !tn__shape_numel(h->shape, h->ndim, tn__dtype_size(h->dtype), &h->numel))
        e = tn__bad_field(TN_EFORMAT, c->name, "shape", c->base, "%s has more elements than memory can hold",
                          tn__shape_str(h->shape, h->ndim).s);
    return e;
}

static tn_status read_header(tn__source *s, header *h)
{
    size_t n = 0;
    memset(h, 0, sizeof *h);
    tn_status e = read_start(s, &n);
    if (e)
        return e;
    char *text = tn__block_get(n);
    if (!text) {
        tn__error_memory("an npy header", n);
        return tn__while_reading(s->name);
    }
    cursor c = {s->name, text, n, 0, s->at};
    e = tn__source_read(s, text, n);
    if (!e)
        e = parse_header(&c, h);
    h->descr = NULL; /* goes with the text */
    tn__block_put(text, n);
    if (e)
        return e;
    uint64_t want = (uint64_t)h->numel * tn__dtype_size(h->dtype);
    if (want != tn__source_left(s))
        return tn__bad_field(TN_EFORMAT, s->name, "data", s->at, "%s of %s is %llu bytes, the file has %llu",
                             tn__shape_str(h->shape, h->ndim).s, tn__dtypes[h->dtype].name, (unsigned long long)want,
                             (unsigned long long)tn__source_left(s));
    return TN_OK;
}

static void fortran_strides(const header *h, int64_t *stride)
{
    int64_t step = 1;
    for (int32_t d = 0; d < h->ndim; d++) {
        stride[d] = step;
        step *= TN_MAX(h->shape[d], 1);
    }
}

tn_tensor *tn__npy_read(tn__source *s)
{
    header h;
    int64_t stride[TN_MAX_DIMS];
    if (read_header(s, &h))
        return NULL;
    size_t item = tn__dtype_size(h.dtype), n = (size_t)h.numel * item;
    tn__storage *data = tn__host_storage(n);
    if (!data) {
        tn__while_reading(s->name);
        return NULL;
    }
    if (tn__source_read(s, data->data, n)) {
        tn__storage_release(data);
        return NULL;
    }
    if (h.swap)
        tn__swap_bytes(data->data, h.numel, item);
    if (h.dtype == TN_BOOL)
        tn__bool_bytes(data->data, h.numel);
    fortran_strides(&h, stride);
    tn_tensor *t = tn__tensor_over(data, h.dtype, h.shape, h.ndim, h.fortran ? stride : NULL);
    if (!t)
        tn__while_reading(s->name);
    return t;
}

/* ---- public ---- */

tn_tensor *(tn_load_npy_at)(const char *site, const char *path)
{
    return tn__load_with(tn__npy_read, site, path);
}

tn_tensor *(tn_load_npy)(const char *path)
{
    return tn__load_with(tn__npy_read, TN__NOWHERE, path);
}

tn_tensor *(tn_npy_parse_at)(const char *site, const void *data, size_t n, const char *name)
{
    return tn__parse_with(tn__npy_read, site, data, n, name);
}

tn_tensor *(tn_npy_parse)(const void *data, size_t n, const char *name)
{
    return tn__parse_with(tn__npy_read, TN__NOWHERE, data, n, name);
}
