/* Rows along dimensions: brought into one piece, computed, stored; by threads. */
#include "backend/cpu/along_dim.h"
#include "core/error.h"
#include "core/parallel.h"

enum { WORK = 32768, BUNDLE = 16, BUNDLE_BYTES = 1 << 19, OPERANDS = 3 };
/* Lines: elements of rows that lie side by side; rows that are too few; elements of a line, of all lines. */
enum { DEEP = 256, FEW = 16, WIDE = 64, TILE = 4096 };

/* How rows of one operand lie. */
typedef struct side {
    const tn__view *v;
    int64_t size;                /* of an element */
    tn__strided_dims row;        /* elements of a row */
    int64_t stride[TN_MAX_DIMS]; /* of the kept dimensions */
    bool whole;                  /* a row is in one piece and of the loop type */
    bool beside;                 /* rows that follow each other along the first kept dimension lie side by side */
} side;

typedef struct rows_run {
    tn__row_job j;
    tn__row_body body;
    tn__lines_body lines_body;
    int n_sides;         /* inputs, then the result */
    side side[OPERANDS]; /* of those */
    int32_t n_kept;      /* dimensions that are not a row's, of those rows are bundled along first */
    int64_t kept[TN_MAX_DIMS];
    size_t bytes;          /* of one row in a buffer */
    int64_t bundle, lines; /* rows taken at once; how many bundles kept[0] has */
    _Atomic tn_status status;
} rows_run;

static bool as_computed(const tn__view *v, int type)
{
    return tn__dtypes[v->dtype].compute == v->dtype && tn__type_of(v->dtype) == type;
}

/* Rows i, i + 1 .. along kept[0], 'width' of them, begin here. */
static char *row_at(const rows_run *r, const side *s, int64_t i)
{
    int64_t offset = 0;
    for (int32_t d = 0; d < r->n_kept; d++) {
        offset += i % r->kept[d] * s->stride[d];
        i /= r->kept[d];
    }
    return (char *)s->v->data + offset * s->size;
}

/* A bundle of an input: where its rows lie, and how far apart (bytes). */
static const char *load_bundle(const rows_run *r, const side *s, int64_t i, int64_t width, char *buffer, int64_t *apart)
{
    const char *p = row_at(r, s, i);
    const int64_t step = s->stride[0] * s->size;
    *apart = step;
    if (s->whole)
        return p;
    *apart = (int64_t)r->bytes;
    if (s->beside && width > 1)
        tn__load_beside(buffer, (int64_t)(r->bytes / tn__type_size(r->j.type)), r->j.type, s->v->dtype, p,
                        s->row.stride[0], r->j.n, width);
    else
        for (int64_t w = 0; w < width; w++)
            tn__load_strided(buffer + (size_t)w * r->bytes, r->j.type, s->v->dtype, p + w * step, &s->row, 0, r->j.n);
    return buffer;
}

static void store_bundle(const rows_run *r, const side *s, int64_t i, int64_t width, const char *buffer)
{
    char *p = row_at(r, s, i);
    if (s->beside && width > 1)
        tn__store_beside(p, s->v->dtype, s->row.stride[0], buffer, (int64_t)(r->bytes / tn__type_size(r->j.type)),
                         r->j.type, r->j.n, width);
    else
        for (int64_t w = 0; w < width; w++)
            tn__store_strided(p + w * s->stride[0] * s->size, s->v->dtype, &s->row, 0, buffer + (size_t)w * r->bytes,
                              r->j.type, r->j.n);
}

static void run_bundle(const rows_run *r, int64_t i, int64_t width, char *buffer)
{
    const size_t part = (size_t)r->bundle * r->bytes;
    const side *out = &r->side[r->n_sides - 1];
    const char *in[2] = {NULL, NULL};
    int64_t apart[2] = {0, 0};
    for (int k = 0; k + 1 < r->n_sides; k++)
        in[k] = load_bundle(r, &r->side[k], i, width, buffer + (size_t)k * part, &apart[k]);
    char *to = out->whole ? row_at(r, out, i) : buffer + 2 * part;
    const int64_t step = out->whole ? out->stride[0] * out->size : (int64_t)r->bytes;
    for (int64_t w = 0; w < width; w++)
        r->body(&r->j, to + w * step, in[0] + w * apart[0], in[1] ? in[1] + w * apart[1] : NULL);
    if (!out->whole)
        store_bundle(r, out, i, width, to);
}

/* Items are bundles. Each chunk takes its buffers from the cache. */
static void run_bundles(void *ctx, int64_t begin, int64_t end)
{
    rows_run *r = ctx;
    const size_t bytes = OPERANDS * (size_t)r->bundle * r->bytes;
    char *buffer = tn__block_get(bytes);
    if (!buffer) {
        r->status = TN_ENOMEM;
        return;
    }
    for (int64_t i = begin; i < end; i++) {
        const int64_t first = i % r->lines * r->bundle;
        run_bundle(r, i / r->lines * r->kept[0] + first, TN_MIN(r->bundle, r->kept[0] - first), buffer);
    }
    tn__block_put(buffer, bytes);
}

/* ---- rows side by side ---- */

/* A tile of an input: its lines, by way of 'raw' where its rows are turned first. */
static void load_lines(const rows_run *r, const side *s, int64_t i, int64_t width, char *to, char *raw)
{
    const tn__cpu_isa *isa = tn__isa();
    const tn__load load = isa->load[s->v->dtype][r->j.type];
    const char *p = row_at(r, s, i);
    const int64_t bytes = width * (int64_t)tn__type_size(r->j.type);
    if (s->beside) {
        for (int64_t k = 0; k < r->j.n; k++)
            load(to + k * bytes, p + k * s->row.stride[0] * s->size, 1, width);
        return;
    }
    isa->transpose(s->whole ? to : raw, width, p, s->stride[0], width, r->j.n, (size_t)s->size);
    if (!s->whole)
        load(to, raw, 1, width * r->j.n);
}

static void store_lines(const rows_run *r, const side *s, int64_t i, int64_t width, const char *from, char *raw)
{
    const tn__cpu_isa *isa = tn__isa();
    const tn__store store = isa->store[s->v->dtype][r->j.type];
    char *p = row_at(r, s, i);
    const int64_t bytes = width * (int64_t)tn__type_size(r->j.type);
    if (s->beside) {
        for (int64_t k = 0; k < r->j.n; k++)
            store(p + k * s->row.stride[0] * s->size, 1, from + k * bytes, width);
        return;
    }
    if (!s->whole)
        store(raw, 1, from, width * r->j.n);
    isa->transpose(p, s->stride[0], s->whole ? from : raw, width, r->j.n, width, (size_t)s->size);
}

/* Items are tiles, of 'bundle' rows. */
static void run_tiles(void *ctx, int64_t begin, int64_t end)
{
    rows_run *r = ctx;
    const size_t part = (size_t)r->bundle * r->bytes, bytes = (OPERANDS + 1) * part;
    char *buffer = tn__block_get(bytes);
    if (!buffer) {
        r->status = TN_ENOMEM;
        return;
    }
    char *raw = buffer + OPERANDS * part;
    for (int64_t item = begin; item < end; item++) {
        const int64_t first = item % r->lines * r->bundle, i = item / r->lines * r->kept[0] + first;
        const int64_t width = TN_MIN(r->bundle, r->kept[0] - first);
        for (int k = 0; k + 1 < r->n_sides; k++)
            load_lines(r, &r->side[k], i, width, buffer + (size_t)k * part, raw);
        r->lines_body(&r->j, buffer + 2 * part, buffer, buffer + part, width);
        store_lines(r, &r->side[r->n_sides - 1], i, width, buffer + 2 * part, raw);
    }
    tn__block_put(buffer, bytes);
}

/* How many rows are taken at once as lines; 0: none, they are few, long, or lie otherwise. */
static int64_t rows_as_lines(const rows_run *r)
{
    bool beside = true, fits = r->j.n > 1 && r->kept[0] >= FEW;
    for (int k = 0; k < r->n_sides; k++) {
        const side *s = &r->side[k];
        fits &= s->row.n == 1 && (s->beside || tn__pays_to_turn(r->j.n, s->row.stride[0], r->kept[0], s->stride[0]));
        beside &= s->beside;
    }
    if (!fits || r->j.n > DEEP)
        return 0;
    return beside ? WIDE : TN_MIN(TILE / r->j.n, r->kept[0]);
}

/* All rows lie as they are wanted, one after another. */
static void run_dense(void *ctx, int64_t begin, int64_t end)
{
    const rows_run *r = ctx;
    const tn__row_job *j = &r->j;
    const int64_t step = j->n * (int64_t)tn__type_size(j->type);
    char *to = j->l->out[0].data;
    const char *a = j->l->in[0].data, *b = r->n_sides > 2 ? j->l->in[1].data : a;
    for (int64_t i = begin; i < end; i++)
        r->body(j, to + i * step, a + i * step, b + i * step);
}

/* The dimension along which rows are bundled: where rows of an operand that are not in one piece are neighbours. */
static int32_t neighbours(const rows_run *r, uint32_t mask)
{
    for (int k = 0; k < r->n_sides; k++) {
        const tn__view *v = r->side[k].v;
        for (int32_t d = v->ndim - 1; d >= 0 && !(r->side[k].row.n == 1 && r->side[k].row.stride[0] == 1); d--)
            if (!(mask >> d & 1) && v->stride[d] == 1 && v->shape[d] > 1)
                return d;
    }
    return -1;
}

static void set_sides(rows_run *r, uint32_t mask)
{
    const tn__view *out = r->side[r->n_sides - 1].v;
    for (int k = 0; k < r->n_sides; k++) {
        side *s = &r->side[k];
        s->size = (int64_t)tn__dtype_size(s->v->dtype);
        tn__some_dims_in_order(&s->row, s->v, mask);
    }
    int32_t order[TN_MAX_DIMS], first = neighbours(r, mask);
    if (first >= 0)
        order[r->n_kept++] = first;
    for (int32_t d = out->ndim - 1; d >= 0; d--)
        if (!(mask >> d & 1) && d != first && out->shape[d] != 1)
            order[r->n_kept++] = d;
    r->bundle = first >= 0 ? BUNDLE : 1;
    r->kept[0] = 1;
    for (int32_t i = 0; i < r->n_kept; i++)
        r->kept[i] = out->shape[order[i]];
    for (int k = 0; k < r->n_sides; k++) {
        side *s = &r->side[k];
        s->stride[0] = 0;
        for (int32_t i = 0; i < r->n_kept; i++)
            s->stride[i] = s->v->stride[order[i]];
        s->whole = s->row.n == 1 && s->row.stride[0] == 1 && as_computed(s->v, r->j.type);
        s->beside = s->stride[0] == 1 && s->row.n == 1;
    }
}

/* Are rows the last dimensions of contiguous memory of the loop type? */
static bool one_after_another(const tn__view *v, uint32_t mask, int type)
{
    return v->contiguous && as_computed(v, type) && (!v->ndim || mask + (mask & -mask) == 1U << v->ndim);
}

static tn_status along(const tn__launch *l, uint32_t mask, tn__row_body body, tn__lines_body lines, int inputs)
{
    rows_run r = {.j = {.l = l, .type = tn__type_of(l->compute), .n = 1},
                  .body = body,
                  .lines_body = lines,
                  .n_sides = inputs + 1};
    const tn__view *out = &l->out[0];
    if (out->numel == 0)
        return TN_OK;
    bool dense = true;
    for (int k = 0; k < r.n_sides; k++) {
        r.side[k].v = k < inputs ? &l->in[k] : out;
        dense &= one_after_another(r.side[k].v, mask, r.j.type);
    }
    for (int32_t d = 0; d < out->ndim; d++)
        r.j.n *= mask >> d & 1 ? out->shape[d] : 1;
    const int64_t rows = out->numel / r.j.n, grain = tn__div_up(WORK, r.j.n);
    if (dense && (!lines || r.j.n > TN__SHORT_ROW)) {
        tn__parallel_for(rows, grain, run_dense, &r);
        return TN_OK;
    }
    set_sides(&r, mask);
    const int64_t at_once = lines ? rows_as_lines(&r) : 0;
    if (!at_once && dense) {
        tn__parallel_for(rows, grain, run_dense, &r);
        return TN_OK;
    }
    /* a cache line more than it takes: rows a power of two apart would fight for the same places in the cache */
    r.bytes = (size_t)r.j.n * tn__type_size(r.j.type);
    r.bytes = at_once ? r.bytes : ((r.bytes + 63) & ~(size_t)63) + 64;
    r.bundle = at_once ? at_once : r.bundle;
    while (r.bundle > 1 && (size_t)r.bundle * r.bytes > BUNDLE_BYTES)
        r.bundle /= 2;
    r.lines = tn__div_up(r.kept[0], r.bundle);
    tn__parallel_for(rows / r.kept[0] * r.lines, tn__div_up(grain, r.bundle), at_once ? run_tiles : run_bundles, &r);
    return r.status ? tn__error_memory("a temporary", (OPERANDS + (at_once != 0)) * (size_t)r.bundle * r.bytes) : TN_OK;
}

tn_status tn__cpu_along_dims(const tn__launch *l, uint32_t mask, tn__row_body body, tn__lines_body lines, int inputs)
{
    return along(l, mask, body, lines, inputs);
}

tn_status tn__cpu_along_dim(const tn__launch *l, int64_t dim, tn__row_body body, tn__lines_body lines, int inputs)
{
    return along(l, l->out[0].ndim ? 1U << dim : 0, body, lines, inputs);
}

/* ---- dimensions in the order of memory ---- */

void tn__some_dims_in_order(tn__strided_dims *d, const tn__view *v, uint32_t mask)
{
    *d = (tn__strided_dims){.n = 1, .shape = {1}, .stride = {1}};
    for (int32_t i = v->ndim - 1; i >= 0; i--) {
        const int32_t last = d->n - 1;
        if (!(mask >> i & 1) || v->shape[i] == 1)
            continue;
        if (d->shape[0] == 1 && last == 0) {
            d->shape[0] = v->shape[i];
            d->stride[0] = v->stride[i];
        } else if (v->stride[i] == d->shape[last] * d->stride[last]) {
            d->shape[last] *= v->shape[i];
        } else {
            d->shape[d->n] = v->shape[i];
            d->stride[d->n++] = v->stride[i];
        }
    }
}

void tn__dims_in_order(tn__strided_dims *d, const tn__view *v)
{
    d->n = TN_MAX(v->ndim, 1);
    d->shape[0] = d->stride[0] = 1;
    for (int32_t i = 0; i < v->ndim; i++) {
        d->shape[i] = v->shape[v->ndim - 1 - i];
        d->stride[i] = v->stride[v->ndim - 1 - i];
    }
    if (v->contiguous) {
        d->n = 1;
        d->shape[0] = v->numel;
        d->stride[0] = 1;
    }
}
