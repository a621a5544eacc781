/* Kernels of the family arrange for the CPU. */
#include "backend/cpu/cpu.h"
#include "backend/cpu/along_dim.h"
#include "core/parallel.h"

/* ---- structural rows that are copies ---- */

enum { LONG_PIECE = 256 }; /* bytes of an input's piece of a row */

/* Dense inputs of one dtype, by turns a piece of each. */
typedef struct row_join {
    const tn__launch *l;
    int64_t rows, bytes; /* of the result: how many, of one */
    bool stream;
} row_join;

/* The result is written from its first byte to its last: no cache has gaps to remember (cat of two matrices of 8 MiB along
 * dimension 1: input by input 650 us, by turns 420). */
static void join_rows(void *ctx, int64_t begin, int64_t end)
{
    const row_join *j = ctx;
    char *to = (char *)j->l->out[0].data + begin * j->bytes;
    const int64_t size = (int64_t)tn__dtype_size(j->l->out[0].dtype);
    for (int64_t r = begin; r < end; r++)
        for (int32_t i = 0; i < j->l->n_in; i++) {
            const tn__view *in = &j->l->in[i];
            const int64_t n = in->numel / j->rows;
            const char *from = (const char *)in->data + r * n * size;
            if (j->stream)
                tn__isa()->stream(to, from, (size_t)(n * size));
            else
                tn__isa()->move(to, 1, from, 1, n, (size_t)size);
            to += n * size;
        }
}

/* False: one is not dense, or its pieces are short, or there is one row. */
static bool joined_by_rows(const tn__launch *l, int64_t dim)
{
    const tn__view *out = &l->out[0];
    const int64_t size = (int64_t)tn__dtype_size(out->dtype);
    row_join j = {.l = l, .rows = 1};
    if (!out->contiguous || !out->numel)
        return false;
    for (int64_t d = 0; d < dim; d++)
        j.rows *= out->shape[d];
    bool fits = j.rows > 1;
    int64_t least = INT64_MAX; /* bytes of the shortest piece */
    for (int32_t i = 0; i < l->n_in && fits; i++) {
        fits = l->in[i].contiguous && l->in[i].dtype == out->dtype;
        least = TN_MIN(least, l->in[i].numel / j.rows * size);
    }
    if (!fits || least < LONG_PIECE)
        return false;
    const int64_t bytes = out->numel * size;
    j.bytes = bytes / j.rows;
    j.stream = tn__cpu_streams(bytes, bytes) && least >= TN__STREAM_LINE;
    tn__parallel_for(j.rows, tn__div_up(TN__COPY_GRAIN, j.bytes), join_rows, &j);
    return true;
}

tn_status tn__cpu_cat(const tn__launch *l)
{
    const tn__join_params *p = l->params;
    const tn__view *out = &l->out[0];
    int64_t dim = p->dim, at = 0;
    bool stack = l->op == TN__OP_stack;
    if (joined_by_rows(l, dim))
        return TN_OK;
    for (int32_t i = 0; i < l->n_in; i++) {
        tn__view in = l->in[i], part = *out;
        int64_t shape[TN_MAX_DIMS], stride[TN_MAX_DIMS];
        if (in.numel == 0)
            continue;
        memcpy(shape, out->shape, sizeof(int64_t) * (size_t)out->ndim);
        for (int32_t d = 0; d < out->ndim; d++) /* the input, with stack's new dimension of size 1 */
            stride[d] = stack ? (d == dim ? 1 : in.stride[d - (d > dim)]) : in.stride[d];
        shape[dim] = stack ? 1 : in.shape[dim];
        part.data = (char *)out->data + at * out->stride[dim] * (int64_t)tn__dtype_size(out->dtype);
        part.shape = in.shape = shape;
        part.numel = in.numel;
        part.contiguous = false;
        in.stride = stride;
        in.ndim = out->ndim;
        tn__cpu_copy_part(&part, &in, out->numel);
        at += shape[dim];
    }
    return TN_OK;
}

tn_status tn__cpu_flip(const tn__launch *l)
{
    const tn__flip_params *p = l->params;
    tn__view in = l->in[0];
    const tn__view *out = &l->out[0];
    if (in.numel == 0)
        return TN_OK;
    /* read backwards: negative strides from the far end, dimension by dimension */
    int64_t stride[TN_MAX_DIMS], offset = 0;
    memcpy(stride, in.stride, sizeof(int64_t) * (size_t)in.ndim);
    for (int32_t i = 0; i < p->dims.n; i++) {
        int64_t d = p->dims.d[i];
        offset += (in.shape[d] - 1) * in.stride[d];
        stride[d] = -in.stride[d];
    }
    in.data = (char *)in.data + offset * (int64_t)tn__dtype_size(in.dtype);
    in.stride = stride;
    in.contiguous = false;
    tn__cpu_copy_view(out, &in);
    return TN_OK;
}

enum { WORK = 32768 };

/* ---- triangles, ranges, identity ---- */

typedef struct triangle_job {
    const tn__launch *l;
    int64_t rows, cols;
    bool copied; /* all of x is there, and only zeros are to be written */
} triangle_job;

/* From element 'from' of a row on, n: x's, or (x NULL) zeros; and of the rows behind it, several in all. */
static void write_part(const triangle_job *j, char *to, const char *x, int64_t from, int64_t n, int64_t rows)
{
    static const uint64_t zero = 0;
    const tn__view *in = &j->l->in[0], *out = &j->l->out[0];
    const int64_t size = (int64_t)tn__dtype_size(out->dtype), ds = out->stride[out->ndim - 1],
                  ss = in->stride[in->ndim - 1];
    if (n <= 0)
        return;
    to += from * ds * size;
    if (rows == 1) {
        if (x || ds != 1)
            tn__isa()->move(to, ds, x ? x + from * ss * size : (const char *)&zero, x ? ss : 0, n, (size_t)size);
        else
            memset(to, 0, (size_t)(n * size));
        return;
    }
    const tn__rows all = {.to = to,
                          .from = x ? x + from * ss * size : (const char *)&zero,
                          .to_step = ds,
                          .from_step = x ? ss : 0,
                          .to_row = out->stride[out->ndim - 2] * size,
                          .from_row = x ? in->stride[in->ndim - 2] * size : 0,
                          .n = n,
                          .rows = rows,
                          .size = (size_t)size};
    tn__isa()->move_rows(&all);
}

/* Where the matrix of a row lies: in x, and in the result. */
static void matrix_at(const triangle_job *j, int64_t matrix, int64_t *xo, int64_t *oo)
{
    const tn__view *x = &j->l->in[0], *out = &j->l->out[0];
    *xo = *oo = 0;
    for (int64_t d = x->ndim - 3; d >= 0; d--) {
        *xo += matrix % x->shape[d] * x->stride[d];
        *oo += matrix % x->shape[d] * out->stride[d];
        matrix /= x->shape[d];
    }
}

static void triangle_rows(void *ctx, int64_t begin, int64_t end)
{
    const triangle_job *j = ctx;
    const tn__triangle_params *p = j->l->params;
    const tn__view *x = &j->l->in[0], *out = &j->l->out[0];
    const int64_t size = (int64_t)tn__dtype_size(x->dtype), n = x->ndim;
    const bool lower = j->l->op == TN__OP_tril;
    int64_t matrix = begin / j->rows, row = begin % j->rows, xo, oo;
    matrix_at(j, matrix, &xo, &oo);
    for (int64_t i = begin, rows; i < end; i += rows, row += rows) {
        if (row == j->rows) {
            row = 0;
            matrix_at(j, ++matrix, &xo, &oo);
        }
        const char *from = (const char *)x->data + (xo + row * x->stride[n - 2]) * size;
        char *to = (char *)out->data + (oo + row * out->stride[n - 2]) * size;
        int64_t edge = row + p->diagonal + (lower ? 1 : 0); /* first column above, or first one kept */
        rows = edge >= j->cols ? j->rows : edge <= 0 ? 1 - TN_MAX(edge, -j->rows) : 1; /* that are all alike */
        rows = TN_MIN(TN_MIN(rows, j->rows - row), end - i);
        edge = TN_MAX(TN_MIN(edge, j->cols), 0);
        if (!j->copied)
            write_part(j, to, from, lower ? 0 : edge, lower ? edge : j->cols - edge, rows);
        write_part(j, to, NULL, lower ? edge : 0, lower ? j->cols - edge : edge, rows);
    }
}

/* Where rows do not lie in memory as the result's do, all of x is copied first: in tiles. */
tn_status tn__cpu_tril(const tn__launch *l)
{
    const tn__view *x = &l->in[0], *out = &l->out[0];
    triangle_job j = {.l = l, .rows = x->shape[x->ndim - 2], .cols = x->shape[x->ndim - 1]};
    if (x->numel == 0)
        return TN_OK;
    j.copied = (x->data == out->data && x->stride[x->ndim - 1] == out->stride[x->ndim - 1]) ||
               (x->data != out->data && x->stride[x->ndim - 1] != 1 && out->stride[x->ndim - 1] == 1 && j.cols > 1);
    if (j.copied && x->data != out->data)
        tn__cpu_copy_view(out, x);
    tn__parallel_for(x->numel / j.cols, tn__div_up(WORK, j.cols), triangle_rows, &j);
    return TN_OK;
}
