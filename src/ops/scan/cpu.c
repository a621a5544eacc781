/* Kernels of the family scan for the CPU. Rows that lie along the memory are gone through one after the other, in blocks; others
 * in bands of neighbouring ones, an element of each at a time, so that all of a cache line is used. */
#include "backend/cpu/cpu.h"
#include "core/error.h"
#include "core/parallel.h"

enum { WORK = 32768, BAND = 256, NARROW = 32, FEW_ROWS = 16, TILE = 16, DEPTH = 128, TURNED = 2048 };

typedef struct scan_job {
    const tn__launch *l;
    tn__scan_loop loop;
    int type;
    int64_t dim, n, inner, bands; /* bands of each 'inner': neighbouring rows */
    int64_t band, at_once;        /* elements of each of its rows that are taken at once: a few rows lie in one piece */
    int64_t x_step, out_step;     /* from one element of a row to the next */
    int64_t x_beside, out_beside; /* from a row to the next of its band */
    bool dense_x, dense_out;      /* need neither conversion nor another place */
    bool dense_index;
    int64_t back_x, back_out; /* elements of lines that follow one another from the last to the first; 0: they do not */
} scan_job;

/* Of the first element of row 'at' of those dimensions that are not dim; inner dimensions first. */
static int64_t row_offset(const tn__view *v, int64_t dim, int64_t at)
{
    int64_t offset = 0;
    for (int32_t d = v->ndim - 1; d >= 0; d--)
        if (d != dim) {
            offset += at % v->shape[d] * v->stride[d];
            at /= v->shape[d];
        }
    return offset;
}

static bool as_computed(const tn__view *v, int type)
{
    return tn__dtypes[v->dtype].compute == v->dtype && tn__type_of(v->dtype) == type;
}

/* What is read or written from its end on, in lines of 'unit' elements: from memory to dense lines in order, or back. */
static void turn(void *dense, char *end, int64_t unit, int64_t n, size_t size, bool from_dense)
{
    const int64_t line = unit * (int64_t)size;
    const tn__rows r = from_dense ? (tn__rows){end, dense, 1, 1, -line, line, unit, n / unit, size}
                                  : (tn__rows){dense, end, 1, 1, line, -line, unit, n / unit, size};
    if (unit > 1)
        tn__isa()->move_rows(&r);
    else if (from_dense)
        tn__isa()->move(end - (n - 1) * (int64_t)size, 1, (char *)dense + (n - 1) * (int64_t)size, -1, n, size);
    else
        tn__isa()->move(dense, 1, end, -1, n, size);
}

/* count * lines elements of x as the loop takes them. */
static const void *fetch(const scan_job *j, char *x, int64_t n, int64_t stride, double *block)
{
    const tn__view *from = &j->l->in[0];
    double raw[TN__BLOCK];
    if (j->dense_x)
        return x;
    const tn__load load = tn__isa()->load[from->dtype][j->type];
    if (!j->back_x) {
        load(block, x, stride, n);
        return block;
    }
    const bool as_is = as_computed(from, j->type);
    turn(as_is ? block : raw, x, j->back_x, n, tn__dtype_size(from->dtype), false);
    if (!as_is)
        load(block, raw, 1, n);
    return block;
}

static void put(const scan_job *j, char *out, int64_t n, int64_t stride, double *block)
{
    const tn__view *to = &j->l->out[0];
    double raw[TN__BLOCK];
    if (j->dense_out)
        return;
    const tn__store store = tn__isa()->store[to->dtype][j->type];
    if (!j->back_out) {
        store(out, stride, block, n);
        return;
    }
    const bool as_is = as_computed(to, j->type);
    if (!as_is)
        store(raw, 1, block, n);
    turn(as_is ? block : raw, out, j->back_out, n, tn__dtype_size(to->dtype), true);
}

/* 'lines' of count elements: one of a row, or some of each of count rows side by side. a, b: what has come so far. */
static void scan_piece(const scan_job *j, char *x, char *out, int64_t *index, int64_t count, int64_t lines,
                       int64_t step, void *a, void *b)
{
    double in_block[TN__BLOCK], out_block[TN__BLOCK];
    int64_t places[TN__BLOCK];
    const int64_t x_stride = j->band ? j->x_beside : j->x_step, out_stride = j->band ? j->out_beside : j->out_step;
    void *result = j->dense_out ? (void *)out : (void *)out_block;
    int64_t *where = j->dense_index ? index : places;
    j->loop(a, b, result, where, fetch(j, x, count * lines, x_stride, in_block), count, step, lines);
    put(j, out, count * lines, out_stride, out_block);
    if (index && !j->dense_index)
        tn__isa()->store[TN_I64][TN__I64](index, out_stride, places, count * lines);
}

static void scan_rows(void *ctx, int64_t begin, int64_t end)
{
    const scan_job *j = ctx;
    const tn__view *x = &j->l->in[0], *out = &j->l->out[0], *index = j->l->n_out > 1 ? &j->l->out[1] : NULL;
    const int64_t x_size = (int64_t)tn__dtype_size(x->dtype), size = (int64_t)tn__dtype_size(out->dtype);
    for (int64_t r = begin; r < end; r++) {
        double a = 0, b = 0;
        char *from = (char *)x->data + row_offset(x, j->dim, r) * x_size;
        const int64_t at = row_offset(out, j->dim, r);
        char *to = (char *)out->data + at * size;
        int64_t *where = index ? (int64_t *)index->data + at : NULL;
        for (int64_t i = 0; i < j->n; i += TN__BLOCK)
            scan_piece(j, from + i * j->x_step * x_size, to + i * j->out_step * size,
                       where ? where + i * j->out_step : NULL, TN_MIN(j->n - i, TN__BLOCK), 1, i, &a, &b);
    }
}

static void scan_bands(void *ctx, int64_t begin, int64_t end)
{
    const scan_job *j = ctx;
    const tn__view *x = &j->l->in[0], *out = &j->l->out[0], *index = j->l->n_out > 1 ? &j->l->out[1] : NULL;
    const int64_t x_size = (int64_t)tn__dtype_size(x->dtype), size = (int64_t)tn__dtype_size(out->dtype);
    for (int64_t r = begin; r < end; r++) {
        double a[BAND], b[BAND];
        const int64_t first = r % j->bands * j->band, row = r / j->bands * j->inner + first;
        const int64_t width = TN_MIN(j->band, j->inner - first), at = row_offset(out, j->dim, row);
        char *from = (char *)x->data + row_offset(x, j->dim, row) * x_size, *to = (char *)out->data + at * size;
        int64_t *where = index ? (int64_t *)index->data + at : NULL;
        for (int64_t i = 0; i < j->n; i += j->at_once)
            scan_piece(j, from + i * j->x_step * x_size, to + i * j->out_step * size,
                       where ? where + i * j->out_step : NULL, width, TN_MIN(j->at_once, j->n - i), i, a, b);
    }
}

/* Rows that are written one after another but lie side by side: some elements of each are turned into rows of their own. */
static void scan_tiles(void *ctx, int64_t begin, int64_t end)
{
    const scan_job *j = ctx;
    const tn__view *x = &j->l->in[0], *out = &j->l->out[0], *index = j->l->n_out > 1 ? &j->l->out[1] : NULL;
    const int64_t x_size = (int64_t)tn__dtype_size(x->dtype), size = (int64_t)tn__dtype_size(out->dtype);
    double buffer[TILE * DEPTH];
    scan_job rows = *j;
    rows.band = 0;
    rows.x_step = 1;
    rows.dense_x = as_computed(x, j->type);
    rows.back_x = 0;
    for (int64_t r = begin; r < end; r++) {
        double a[TILE], b[TILE];
        const int64_t first = r % j->bands * TILE, row = r / j->bands * j->inner + first;
        const int64_t width = TN_MIN(TILE, j->inner - first), at = row_offset(out, j->dim, row);
        const char *from = (const char *)x->data + row_offset(x, j->dim, row) * x_size;
        for (int64_t i = 0; i < j->n; i += DEPTH) {
            const int64_t count = TN_MIN(j->n - i, DEPTH);
            tn__isa()->transpose(buffer, DEPTH, from + i * j->x_step * x_size, j->x_step, count, width, (size_t)x_size);
            for (int64_t w = 0; w < width; w++) {
                const int64_t to = at + w * j->out_beside + i * j->out_step;
                scan_piece(&rows, (char *)buffer + w * DEPTH * x_size, (char *)out->data + to * size,
                           index ? (int64_t *)index->data + to : NULL, count, 1, i, &a[w], &b[w]);
            }
        }
    }
}

/* Short rows that lie along the memory: some are turned to lie side by side, and what comes of them back. */
static void scan_short(void *ctx, int64_t begin, int64_t end)
{
    const scan_job *j = ctx;
    const tn__cpu_isa *isa = tn__isa();
    const tn__view *x = &j->l->in[0], *out = &j->l->out[0], *index = j->l->n_out > 1 ? &j->l->out[1] : NULL;
    const int64_t x_size = (int64_t)tn__dtype_size(x->dtype), size = (int64_t)tn__dtype_size(out->dtype);
    double in_tile[TURNED], out_tile[TURNED], a[BAND], b[BAND];
    int64_t places[TURNED];
    scan_job lines = *j;
    lines.x_beside = lines.out_beside = 1;
    lines.dense_index = true;
    const int64_t back = j->x_step < 0 ? j->n - 1 : 0; /* from the last element to the first: views may point to that */
    for (int64_t r = begin; r < end; r++) {
        const int64_t first = r % j->bands * j->band, row = r / j->bands * j->inner + first;
        const int64_t width = TN_MIN(j->band, j->inner - first), at = row_offset(out, j->dim, row);
        isa->transpose(in_tile, width, (const char *)x->data + (row_offset(x, j->dim, row) - back) * x_size,
                       j->x_beside, width, j->n, (size_t)x_size);
        for (int64_t i = 0; i < j->n; i++) {
            const int64_t line = (back ? back - i : i) * width;
            scan_piece(&lines, (char *)in_tile + line * x_size, (char *)out_tile + line * size,
                       index ? places + line : NULL, width, 1, i, a, b);
        }
        isa->transpose((char *)out->data + (at - back) * size, j->out_beside, out_tile, width, j->n, width,
                       (size_t)size);
        if (index)
            isa->transpose((int64_t *)index->data + at, j->out_beside, places, width, j->n, width, sizeof *places);
    }
}

/* The last dimension beside dim: that of the rows of a band. */
static int32_t dim_beside(const tn__view *v, int64_t dim)
{
    return dim == v->ndim - 1 ? v->ndim - 2 : v->ndim - 1;
}

static tn_status scan(const tn__launch *l, int64_t dim, int kind)
{
    const tn__view *x = &l->in[0], *out = &l->out[0];
    scan_job j = {.l = l, .dim = dim, .n = x->ndim ? x->shape[dim] : 1, .type = tn__type_of(l->compute)};
    if (x->numel == 0)
        return TN_OK;
    j.x_step = x->ndim ? x->stride[dim] : 1;
    j.out_step = out->ndim ? out->stride[dim] : 1;
    const bool back = j.x_step == -1 && j.out_step == -1,
               along = j.n == 1 || back || (j.x_step == 1 && j.out_step == 1);
    if (x->ndim > 1) {
        const int32_t beside = dim_beside(x, dim);
        j.inner = x->shape[beside];
        j.x_beside = x->stride[beside];
        j.out_beside = out->stride[beside];
    }
    const bool few = j.inner > 1 && j.inner < FEW_ROWS && j.x_beside == 1 && j.out_beside == 1 &&
                     (j.x_step == j.inner || j.x_step == -j.inner) &&
                     j.out_step == j.x_step; /* in one piece, whole lines of them */
    j.at_once = few ? TN__BLOCK / j.inner : 1;
    const bool turned = along && j.out_beside > 0 && tn__pays_to_turn(j.n, 1, j.inner, j.x_beside);
    if (turned)
        j.band = TN_MIN(BAND, TURNED / j.n);
    else if (few)
        j.band = j.inner;
    else if (along || j.inner < FEW_ROWS) /* other neighbours that are a few are no band */
        j.band = 0;
    else if (j.out_step == 1 || j.out_step == -1)
        j.band = j.x_beside == 1 ? TILE : 0;
    else
        j.band = j.x_beside == 1 && j.out_beside == 1 ? BAND : NARROW;
    const bool columns = few || j.band > TILE;
    const int64_t in_stride = columns && !turned ? j.x_beside : j.x_step;
    const int64_t out_stride = columns && !turned ? j.out_beside : j.out_step;
    if (few && j.x_step < 0)
        j.back_x = j.back_out = j.inner;
    else if (!columns)
        j.back_x = j.x_step == -1, j.back_out = j.out_step == -1;
    j.dense_x = !j.back_x && (in_stride == 1 || turned) && as_computed(x, j.type);
    j.dense_out = !j.back_out && (out_stride == 1 || turned) && as_computed(out, j.type);
    j.dense_index = out_stride == 1;
    j.loop = columns ? tn__isa()->scan.columns[kind][j.type] : tn__isa()->scan.row[kind][j.type];
    if (!j.band) {
        tn__parallel_for(x->numel / j.n, tn__div_up(WORK, j.n), scan_rows, &j);
        return TN_OK;
    }
    j.bands = tn__div_up(j.inner, j.band);
    tn__parallel_for(x->numel / (j.n * j.inner) * j.bands, tn__div_up(WORK, j.n * j.band),
                     turned           ? scan_short
                     : j.band == TILE ? scan_tiles
                                      : scan_bands,
                     &j);
    return TN_OK;
}

/* ops/scan/rows.def: sums, products and their like share their parameters. */
tn_status tn__cpu_cumsum(const tn__launch *l)
{
    const tn__running_params *p = l->params;
    const bool behind = l->op == TN__OP__sum_behind || l->op == TN__OP__logsum_behind;
    const int kind = l->op == TN__OP_cumsum || l->op == TN__OP__sum_behind ? TN__SCAN_SUM
                     : l->op == TN__OP_cumprod                             ? TN__SCAN_PRODUCT
                                                                           : TN__SCAN_LOGSUM;
    if (!behind)
        return scan(l, p->dim, kind);
    int64_t stride[2][TN_MAX_DIMS];
    const tn__view x = tn__view_backwards(&l->in[0], p->dim, stride[0]);
    tn__launch from_the_end = *l;
    from_the_end.in = &x;
    from_the_end.out[0] = tn__view_backwards(&l->out[0], p->dim, stride[1]);
    return scan(&from_the_end, p->dim, kind);
}

tn_status tn__cpu_cummax(const tn__launch *l)
{
    const tn__extreme_params *p = l->params;
    return scan(l, p->dim, l->op == TN__OP_cummax ? TN__SCAN_MAX : TN__SCAN_MIN);
}
