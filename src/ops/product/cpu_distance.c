/* p-distances between rows, and their gradient: tiles of some rows of one matrix and some of the other, which is packed
 * column by column as a matrix product's right side is. */
#include "backend/cpu/cpu.h"
#include "core/error.h"
#include "core/parallel.h"

typedef struct distance_job {
    const tn__view *x1, *x2, *g, *known, *out;
    int type;
    int64_t item, columns; /* bytes; of a tile */
    int64_t batch, n1, n2, m;
    double p;
    bool upper;
    bool turned; /* rows of x2 lie as columns: Euclidean slopes of short rows */
    _Atomic bool failed;
} distance_job;

/* Row 'index' of a matrix of a batch, in the compute type. */
static void load_row(const distance_job *j, void *to, const tn__view *v, int64_t batch, int64_t index)
{
    const int64_t at = batch * v->stride[0] + index * v->stride[1];
    tn__isa()->load[v->dtype][j->type](to, (const char *)v->data + at * (int64_t)tn__dtype_size(v->dtype), v->stride[2],
                                       j->m);
}

/* Rows of x2 from 'first' on, side by side: [m][columns]; what is beyond the last one repeats it. rows: room for as many. */
static void pack_columns(const distance_job *j, char *to, int64_t batch, int64_t first, char *rows)
{
    for (int64_t c = 0; c < j->columns; c++)
        load_row(j, rows + c * j->m * j->item, j->x2, batch, TN_MIN(first + c, j->n2 - 1));
    tn__isa()->transpose(to, j->columns, rows, j->m, j->columns, j->m, (size_t)j->item);
}

/* Where the distances of row i to those after it begin, of each two of n rows. */
static int64_t pairs_before(int64_t i, int64_t n)
{
    return i * (2 * n - i - 1) / 2;
}

/* What a tile says of 'row': distances to n rows from c on. */
static void store_tile(const distance_job *j, int64_t batch, int64_t row, int64_t c, int64_t n, const char *tile)
{
    const int64_t size = (int64_t)tn__dtype_size(j->out->dtype), skip = j->upper ? TN_MAX(row + 1 - c, 0) : 0;
    const int64_t at = j->upper ? pairs_before(row, j->n2) + c - row - 1 : (batch * j->n1 + row) * j->n2 + c;
    if (n > skip)
        tn__isa()->store[j->out->dtype][j->type]((char *)j->out->data + (at + skip) * size, 1, tile + skip * j->item,
                                                 n - skip);
}

/* One tile's worth of rows of x1 against all of x2's tiles. */
static void run_rows(const distance_job *j, int64_t batch, int64_t first, const char *packed, char *rows)
{
    char tile[TN__FAR_ROWS * TN__FAR_F32 * 4];
    const int64_t n = TN_MIN(TN__FAR_ROWS, j->n1 - first);
    for (int64_t r = 0; r < TN__FAR_ROWS; r++)
        load_row(j, rows + r * j->m * j->item, j->x1, batch, first + TN_MIN(r, n - 1));
    for (int64_t c = j->upper ? first / j->columns * j->columns : 0; c < j->n2; c += j->columns) {
        tn__isa()->product.distances[j->type](tile, rows, j->m, packed + c * j->m * j->item, j->m, j->p);
        for (int64_t r = 0; r < n; r++)
            store_tile(j, batch, first + r, c, TN_MIN(j->columns, j->n2 - c), tile + r * j->columns * j->item);
    }
}

typedef struct tile_job {
    distance_job *j;
    int64_t batch;
    char *packed;
} tile_job;

static void pack_tiles(void *ctx, int64_t begin, int64_t end)
{
    const tile_job *t = ctx;
    const distance_job *j = t->j;
    const size_t bytes = (size_t)(j->columns * j->m * j->item);
    char *rows = tn__block_get(bytes);
    if (!rows) {
        atomic_store(&t->j->failed, true);
        return;
    }
    for (int64_t i = begin; i < end; i++)
        pack_columns(j, t->packed + i * j->columns * j->m * j->item, t->batch, i * j->columns, rows);
    tn__block_put(rows, bytes);
}

static void run_tiles(void *ctx, int64_t begin, int64_t end)
{
    const tile_job *t = ctx;
    const distance_job *j = t->j;
    const size_t bytes = (size_t)(TN__FAR_ROWS * j->m * j->item);
    char *rows = tn__block_get(bytes);
    if (!rows) {
        atomic_store(&t->j->failed, true);
        return;
    }
    for (int64_t i = begin; i < end; i++)
        run_rows(j, t->batch, i * TN__FAR_ROWS, t->packed, rows);
    tn__block_put(rows, bytes);
}

static tn_status run_batches(distance_job *j)
{
    const int64_t tiles = tn__div_up(j->n2, j->columns);
    const size_t bytes = (size_t)(tiles * j->columns * j->m * j->item);
    tile_job t = {.j = j, .packed = tn__block_get(bytes)};
    if (!t.packed)
        return tn__error_memory("packed rows", bytes);
    for (t.batch = 0; t.batch < j->batch; t.batch++) {
        tn__parallel_for(tiles, tn__div_up(16384, TN_MAX(j->columns * j->m, 1)), pack_tiles, &t);
        tn__parallel_for(tn__div_up(j->n1, TN__FAR_ROWS), tn__div_up(65536, TN_MAX(TN__FAR_ROWS * j->n2 * j->m, 1)),
                         run_tiles, &t);
    }
    tn__block_put(t.packed, bytes);
    return j->failed ? tn__error_memory("rows of distances", bytes) : TN_OK;
}

static distance_job job_of(const tn__launch *l, const tn__view *x1, const tn__view *x2, double p)
{
    distance_job j = {.x1 = x1, .x2 = x2, .out = &l->out[0], .type = tn__type_of(l->compute), .p = p};
    j.item = (int64_t)tn__type_size(j.type);
    j.columns = j.type == TN__F32 ? TN__FAR_F32 : TN__FAR_F64;
    j.batch = x1->shape[0];
    j.n1 = x1->shape[1];
    j.n2 = x2->shape[1];
    j.m = x1->shape[2];
    return j;
}

tn_status tn__cpu_distances(const tn__launch *l)
{
    const tn__distances_params *p = l->params;
    distance_job j = job_of(l, &l->in[0], &l->in[1], p->p);
    j.upper = p->upper;
    return l->out[0].numel ? run_batches(&j) : TN_OK;
}

/* ---- the gradient ---- */

enum { SHORT = 64 /* rows whose slopes are computed across rows, not along them */ };

/* Row 'index' of a matrix of numbers for each pair of rows, in the compute type. */
static void load_pairs(const distance_job *j, void *to, const tn__view *v, int64_t batch, int64_t index)
{
    const int64_t at = batch * v->stride[0] + index * v->stride[1];
    tn__isa()->load[v->dtype][j->type](to, (const char *)v->data + at * (int64_t)tn__dtype_size(v->dtype), v->stride[2],
                                       j->n2);
}

/* The same of each two of n2 rows. */
static void load_each_two(const distance_job *j, void *to, const tn__view *v, int64_t index)
{
    const int64_t size = (int64_t)tn__dtype_size(v->dtype), step = v->stride[0] * size;
    const tn__load load = tn__isa()->load[v->dtype][j->type];
    const char *data = v->data;
    for (int64_t i = 0, at = index - 1; i < index; at += j->n2 - i - 2, i++)
        if (j->type == TN__F32)
            ((float *)to)[i] = *(const float *)(const void *)(data + at * step);
        else
            ((double *)to)[i] = *(const double *)(const void *)(data + at * step);
    memset((char *)to + index * j->item, 0, (size_t)j->item);
    if (index + 1 < j->n2)
        load((char *)to + (index + 1) * j->item, data + pairs_before(index, j->n2) * step, v->stride[0],
             j->n2 - index - 1);
}

/* each = each / far, 0 where that is. */
static void divide_slopes(const distance_job *j, void *each, const void *far)
{
    for (int64_t c = 0; c < j->n2; c++)
        if (j->type == TN__F32)
            ((float *)each)[c] = ((const float *)far)[c] == 0 ? 0 : ((float *)each)[c] / ((const float *)far)[c];
        else
            ((double *)each)[c] = ((const double *)far)[c] == 0 ? 0 : ((double *)each)[c] / ((const double *)far)[c];
}

static double number_of(const distance_job *j, const void *row, int64_t i)
{
    return j->type == TN__F32 ? (double)((const float *)row)[i] : ((const double *)row)[i];
}

/* One row's gradient: of its distances to all rows of x2, which lie as they are computed with, or turned. room: for two
 * rows and two rows of pairs. */
static void slope_row(const distance_job *j, int64_t index, const char *others, char *room)
{
    const int64_t batch = index / j->n1, i = index % j->n1, size = (int64_t)tn__dtype_size(j->out->dtype);
    char *sum = room + j->m * j->item, *w = sum + j->m * j->item, *far = w + j->n2 * j->item;
    load_row(j, room, j->x1, batch, i);
    if (j->upper) {
        load_each_two(j, w, j->g, i);
        load_each_two(j, far, j->known, i);
    } else {
        load_pairs(j, w, j->g, batch, i);
        load_pairs(j, far, j->known, batch, i);
    }
    memset(sum, 0, (size_t)(j->m * j->item));
    if (j->turned) {
        divide_slopes(j, w, far);
        tn__isa()->product.euclidean_slopes[j->type](sum, room, others + batch * j->n2 * j->m * j->item, j->n2, j->n2,
                                                     j->m, w);
    }
    for (int64_t c = 0; c < j->n2 && !j->turned; c++)
        tn__isa()->product.distance_slope[j->type](sum, room, others + (batch * j->n2 + c) * j->m * j->item, j->m,
                                                   number_of(j, w, c), number_of(j, far, c), j->p);
    tn__isa()->store[j->out->dtype][j->type]((char *)j->out->data + index * j->m * size, 1, sum, j->m);
}

typedef struct slope_job {
    distance_job *j;
    const char *others;
} slope_job;

static void slope_rows(void *ctx, int64_t begin, int64_t end)
{
    const slope_job *s = ctx;
    const size_t bytes = (size_t)(2 * (s->j->m + s->j->n2) * s->j->item);
    char *room = tn__block_get(bytes);
    if (!room) {
        atomic_store(&s->j->failed, true);
        return;
    }
    for (int64_t i = begin; i < end; i++)
        slope_row(s->j, i, s->others, room);
    tn__block_put(room, bytes);
}

/* Each batch's rows, n2 of m, become m of n2. */
static bool turn(const distance_job *j, char **rows, size_t bytes)
{
    char *to = tn__block_get(bytes);
    if (!to)
        return false;
    const int64_t apart = j->n2 * j->m * j->item;
    for (int64_t b = 0; b < j->batch; b++)
        for (int64_t c = 0; c < j->n2; c += j->columns)
            tn__isa()->transpose(to + b * apart + c * j->item, j->n2, *rows + b * apart + c * j->m * j->item, j->m,
                                 TN_MIN(j->columns, j->n2 - c), j->m, (size_t)j->item);
    tn__block_put(*rows, bytes);
    *rows = to;
    return true;
}

tn_status tn__cpu_distances_backward(const tn__launch *l)
{
    const tn__distances_backward_params *p = l->params;
    distance_job j = job_of(l, &l->in[1], &l->in[2], p->p);
    j.g = &l->in[0];
    j.known = &l->in[3];
    j.upper = j.g->ndim == 1;
    j.turned = j.p == 2 && j.m <= SHORT && j.n2 >= j.columns;
    if (l->out[0].numel == 0)
        return TN_OK;
    const size_t bytes = (size_t)(j.batch * j.n2 * j.m * j.item);
    char *others = tn__block_get(bytes);
    if (!others)
        return tn__error_memory("rows of distances", bytes);
    for (int64_t i = 0; i < j.batch * j.n2; i++)
        load_row(&j, others + i * j.m * j.item, j.x2, i / j.n2, i % j.n2);
    if (j.turned && !turn(&j, &others, bytes)) {
        tn__block_put(others, bytes);
        return tn__error_memory("rows of distances", bytes);
    }
    slope_job s = {&j, others};
    tn__parallel_for(j.batch * j.n1, tn__div_up(32768, TN_MAX(j.n2 * j.m, 1)), slope_rows, &s);
    tn__block_put(others, bytes);
    return j.failed ? tn__error_memory("rows of distances", bytes) : TN_OK;
}
