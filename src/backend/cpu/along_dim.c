/* Rows along one dimension: brought into one piece, computed, stored; by threads. */
#include "backend/cpu/along_dim.h"
#include "core/error.h"
#include "core/parallel.h"

enum { WORK = 32768 };

static tn__row_job make_job(const tn__launch *l, int64_t dim)
{
    const tn__view *x = &l->out[0];
    tn__row_job j = {.l = l, .type = tn__type_of(l->compute), .dim = dim, .inner = 1, .outer = 1, .n = 1};
    for (int32_t d = 0; d < x->ndim; d++) {
        if (d < dim)
            j.outer *= x->shape[d];
        else if (d > dim)
            j.inner *= x->shape[d];
        else
            j.n = x->shape[d];
    }
    return j;
}

/* Address of [outer][0][inner] of a view. */
static char *row_at(const tn__view *v, int64_t dim, int64_t outer, int64_t inner)
{
    int64_t offset = 0;
    for (int32_t d = v->ndim - 1; d > dim; d--) {
        offset += inner % v->shape[d] * v->stride[d];
        inner /= v->shape[d];
    }
    for (int32_t d = (int32_t)dim - 1; d >= 0; d--) {
        offset += outer % v->shape[d] * v->stride[d];
        outer /= v->shape[d];
    }
    return (char *)v->data + offset * (int64_t)tn__dtype_size(v->dtype);
}

static int64_t row_stride(const tn__view *v, int64_t dim)
{
    return v->ndim ? v->stride[dim] : 1;
}

static bool is_row(const tn__view *v, int64_t dim, int type)
{
    return row_stride(v, dim) == 1 && tn__dtypes[v->dtype].compute == v->dtype && tn__type_of(v->dtype) == type;
}

/* A row in one piece, in buffer unless it lies so. */
static const void *load_row(const tn__row_job *j, int input, int64_t outer, int64_t inner, void *buffer)
{
    const tn__view *v = &j->l->in[input];
    const char *p = row_at(v, j->dim, outer, inner);
    if (is_row(v, j->dim, j->type))
        return p;
    tn__isa()->load[v->dtype][j->type](buffer, p, row_stride(v, j->dim), j->n);
    return buffer;
}

enum { BUNDLE = 16, BUNDLE_BYTES = 1 << 19 };

typedef struct rows_run {
    tn__row_job j;
    tn__row_body body;
    int inputs;
    size_t bytes;   /* of one row in a buffer */
    bool dense;     /* all lie as they are wanted, one row after another */
    int64_t bundle; /* rows taken at once where they lie side by side: as columns; 1: they do not */
    _Atomic tn_status status;
} rows_run;

static void run_row(const rows_run *r, int64_t i, char *buffer)
{
    const tn__row_job *j = &r->j;
    const tn__view *out = &j->l->out[0];
    int64_t outer = i / j->inner, inner = i % j->inner;
    const void *a = load_row(j, 0, outer, inner, buffer);
    const void *b = r->inputs > 1 ? load_row(j, 1, outer, inner, buffer + r->bytes) : NULL;
    char *to = row_at(out, j->dim, outer, inner);
    bool direct = is_row(out, j->dim, j->type);
    void *result = direct ? (void *)to : (void *)(buffer + 2 * r->bytes);
    r->body(j, result, a, b);
    if (!direct)
        tn__isa()->store[out->dtype][j->type](to, row_stride(out, j->dim), result, j->n);
}

/* Rows i .. i + width - 1, which are columns of one matrix: transposed, computed, transposed back. */
static void run_bundle(const rows_run *r, int64_t i, int64_t width, char *buffer)
{
    const tn__row_job *j = &r->j;
    const tn__view *out = &j->l->out[0];
    const int64_t dim = j->dim, outer = i / j->inner, inner = i % j->inner;
    const size_t size = tn__type_size(j->type), part = (size_t)r->bundle * r->bytes;
    const int64_t pitch = (int64_t)(r->bytes / size);
    for (int k = 0; k < r->inputs; k++) {
        const tn__view *v = &j->l->in[k];
        tn__isa()->transpose(buffer + (size_t)k * part, pitch, row_at(v, dim, outer, inner), v->stride[dim], j->n,
                             width, size);
    }
    char *result = buffer + 2 * part;
    for (int64_t w = 0; w < width; w++) {
        const size_t at = (size_t)w * r->bytes;
        r->body(j, result + at, buffer + at, buffer + part + at);
    }
    tn__isa()->transpose(row_at(out, dim, outer, inner), out->stride[dim], result, pitch, width, j->n, size);
}

static void run_dense(const rows_run *r, int64_t begin, int64_t end)
{
    const tn__row_job *j = &r->j;
    const int64_t step = j->n * (int64_t)tn__type_size(j->type);
    char *to = j->l->out[0].data;
    const char *a = j->l->in[0].data, *b = r->inputs > 1 ? j->l->in[1].data : a;
    for (int64_t i = begin; i < end; i++)
        r->body(j, to + i * step, a + i * step, b + i * step);
}

/* Items are rows. Each chunk takes its buffers from the cache: rows that lie as they are wanted need none. */
static void run_rows(void *ctx, int64_t begin, int64_t end)
{
    rows_run *r = ctx;
    if (r->dense) {
        run_dense(r, begin, end);
        return;
    }
    const tn__view *out = &r->j.l->out[0];
    const int64_t last = out->ndim ? out->shape[out->ndim - 1] : 1;
    const size_t bytes = 3 * (size_t)r->bundle * r->bytes;
    char *buffer = tn__block_get(bytes);
    if (!buffer) {
        r->status = TN_ENOMEM;
        return;
    }
    for (int64_t i = begin, width; i < end; i += width) {
        width = r->bundle == 1 ? 1 : TN_MIN(TN_MIN(r->bundle, end - i), last - i % last);
        if (width == 1)
            run_row(r, i, buffer);
        else
            run_bundle(r, i, width, buffer);
    }
    tn__block_put(buffer, bytes);
}

static bool one_after_another(const tn__view *v, int64_t dim, int type)
{
    return v->contiguous && dim == v->ndim - 1 && is_row(v, dim, type);
}

/* Do neighbouring rows lie side by side in memory, as they are computed? */
static bool side_by_side(const tn__view *v, int64_t dim, int type)
{
    return dim < v->ndim - 1 && v->stride[v->ndim - 1] == 1 && tn__dtypes[v->dtype].compute == v->dtype &&
           tn__type_of(v->dtype) == type;
}

tn_status tn__cpu_along_dim(const tn__launch *l, int64_t dim, tn__row_body body, int inputs)
{
    rows_run r = {.j = make_job(l, dim), .body = body, .inputs = inputs, .bundle = BUNDLE};
    if (l->out[0].numel == 0)
        return TN_OK;
    /* a cache line more than it takes: rows a power of two apart would fight for the same places in the cache */
    r.bytes = (((size_t)r.j.n * tn__type_size(r.j.type) + 63) & ~(size_t)63) + 64;
    while (r.bundle > 1 && (size_t)r.bundle * r.bytes > BUNDLE_BYTES)
        r.bundle /= 2;
    bool beside = side_by_side(&l->out[0], dim, r.j.type);
    r.dense = one_after_another(&l->out[0], dim, r.j.type);
    for (int k = 0; k < inputs; k++) {
        beside &= side_by_side(&l->in[k], dim, r.j.type);
        r.dense &= one_after_another(&l->in[k], dim, r.j.type);
    }
    r.bundle = beside ? r.bundle : 1;
    tn__parallel_for(r.j.outer * r.j.inner, TN_MAX(r.bundle, tn__div_up(WORK, r.j.n)), run_rows, &r);
    return r.status ? tn__error_memory("a temporary", 3 * (size_t)r.bundle * r.bytes) : TN_OK;
}
