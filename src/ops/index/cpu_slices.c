/* Kernels of the family index for the CPU: one index per slice, as of index_select, embedding, index_add ... */
#include "core/alloc.h"
#include "core/parallel.h"
#include "ops/index/cpu_points.h"

enum { WORK = 32768, SOME = 256 };

/* A table [outer][rows][inner] and what is picked of it [outer][n][inner]. */
typedef struct slice_job {
    const tn__view *table, *picked, *index;
    int64_t dim, outer, inner, n;
    bool table_dense, picked_dense; /* a slice is one run */
    bool one;                       /* a slice of what is picked shows one element */
    bool all_one;                   /* all of them the same */
    bool filled;                    /* what every slice is written with is here */
    _Alignas(8) char fill[64];
    effect effect;
    int64_t parts;                        /* of the table's rows */
    tn__strided_dims in_table, in_picked; /* a slice's dimensions */
} slice_job;

static bool slice_is_run(const tn__view *v, int64_t dim)
{
    int64_t run = 1;
    bool dense = true;
    for (int32_t d = v->ndim - 1; d > dim; d--) {
        dense &= v->shape[d] == 1 || v->stride[d] == run;
        run *= v->shape[d];
    }
    return dense;
}

/* The dimensions behind dim, of v's memory where it begins. */
static tn__view slice_view(const tn__view *v, int64_t dim, int64_t inner)
{
    tn__view s = *v;
    const int32_t first = v->ndim ? (int32_t)dim + 1 : 0;
    s.ndim = v->ndim - first;
    s.shape = v->shape + first;
    s.stride = v->stride + first;
    s.numel = inner;
    s.contiguous = false;
    return s;
}

static slice_job slices_of(const tn__view *table, const tn__view *picked, const tn__view *index, int64_t dim,
                           effect what)
{
    slice_job j = {.table = table,
                   .picked = picked,
                   .index = index,
                   .dim = dim,
                   .outer = 1,
                   .inner = 1,
                   .n = index->numel,
                   .effect = what};
    for (int32_t d = 0; d < table->ndim; d++) {
        if (d < dim)
            j.outer *= table->shape[d];
        else if (d > dim)
            j.inner *= table->shape[d];
    }
    const int64_t at =
        picked->ndim == table->ndim ? dim : picked->ndim - (table->ndim - dim); /* an index of several dimensions */
    j.table_dense = slice_is_run(table, dim);
    j.picked_dense = slice_is_run(picked, at);
    j.one = true;
    for (int32_t d = (int32_t)at + 1; d < picked->ndim; d++)
        j.one &= picked->stride[d] == 0 || picked->shape[d] == 1;
    j.all_one = true;
    for (int32_t d = 0; d < picked->ndim; d++)
        j.all_one &= picked->stride[d] == 0 || picked->shape[d] == 1;
    const tn__view in_table = slice_view(table, dim, j.inner), in_picked = slice_view(picked, at, j.inner);
    tn__dims_in_order(&j.in_table, &in_table);
    tn__dims_in_order(&j.in_picked, &in_picked);
    return j;
}

/* Offset in the table of [outer][row][inner]. */
static int64_t table_offset(const slice_job *j, int64_t outer, int64_t row, int64_t inner)
{
    const tn__view *t = j->table;
    int64_t o = t->ndim ? row * t->stride[j->dim] : 0;
    for (int32_t d = t->ndim - 1; d > j->dim; d--) {
        o += inner % t->shape[d] * t->stride[d];
        inner /= t->shape[d];
    }
    for (int32_t d = (int32_t)j->dim - 1; d >= 0; d--) {
        o += outer % t->shape[d] * t->stride[d];
        outer /= t->shape[d];
    }
    return o;
}

/* The table's slice that the k-th index names. */
static int64_t nth_row(const slice_job *j, int64_t k)
{
    return index_at(j->index, j->index->contiguous ? k : tn__view_offset(j->index, k));
}

/* Points of one line: those of the indices k, k + 1 .. k + n - 1, the other side of which is 'step' apart. */
static void run_line(const slice_job *j, point_loop loop, char *line, char *other, int64_t step, int64_t k, int64_t n)
{
    const tn__view *index = j->index;
    const int64_t width = inner_size(index), size = (int64_t)tn__dtype_size(j->table->dtype);
    point_run r = {.table = line,
                   .wide = index->dtype == TN_I64,
                   .rows = 1,
                   .index_step = inner_stride(index),
                   .along = j->table->ndim ? j->table->stride[j->dim] : 0,
                   .other_step = step};
    for (int64_t i = 0; i < n; i += r.n) {
        r.n = TN_MIN(n - i, width - (k + i) % width);
        r.index = (const char *)index->data + tn__view_offset(index, k + i) * (r.wide ? 8 : 4);
        r.other = other + i * step * size;
        (void)tn__run_points(loop, &r, size, 0);
    }
}

/* Lines along the table's dimension, each as gather and scatter go: where slices are of one element, or the table lies in memory
 * along that dimension. What is picked has the table's dimensions then, or is row-major. */
static void lines(void *ctx, int64_t begin, int64_t end)
{
    const slice_job *j = ctx;
    const tn__view *table = j->table, *picked = j->picked;
    const int64_t size = (int64_t)tn__dtype_size(table->dtype), width = inner_size(j->index);
    const int64_t step = picked->contiguous ? j->inner : !picked->ndim ? 1 : picked->stride[j->dim];
    point_loop loop = tn__point_loop_of(table->dtype, j->effect);
    for (int64_t i = begin; i < end; i++) {
        const int64_t outer = i / j->inner, inner = i % j->inner;
        char *line = (char *)table->data + table_offset(j, outer, 0, inner) * size;
        for (int64_t k = 0, n; k < j->n; k += n) {
            n = TN_MIN(j->n - k, width - k % width);
            char *other = (char *)picked->data + tn__view_offset(picked, (outer * j->n + k) * j->inner + inner) * size;
            run_line(j, loop, line, other, step, k, n);
        }
    }
}

/* Elements of a list of places; of a short line at most. */
enum { LIST = 512, SHORT_LINE = 64 };

/* Short lines that lie one after another, as what is picked of them does: several at once, for each of which one list of places
 * holds. */
static void short_lines(void *ctx, int64_t begin, int64_t end)
{
    const slice_job *j = ctx;
    const int64_t size = (int64_t)tn__dtype_size(j->table->dtype), n = j->n, width = size_along(j->table, j->dim);
    const int64_t most = TN_MIN(LIST / n, end - begin);
    char *table = j->table->data, *picked = j->picked->data;
    point_loop loop = tn__point_loop_of(j->table->dtype, j->effect);
    int64_t place[LIST];
    for (int64_t k = 0; k < n; k++)
        place[k] = nth_row(j, k);
    for (int64_t i = n; i < most * n; i++)
        place[i] = place[i - n] + width;
    for (int64_t i = begin; i < end; i += most)
        loop(table + i * width * size, 0, 1, picked + i * n * size, 1, place, TN_MIN(most, end - i) * n);
}

static bool are_short_lines(const slice_job *j)
{
    return j->inner == 1 && j->n <= SHORT_LINE && j->table->ndim && j->table->contiguous && j->picked->contiguous;
}

/* ---- tables that lie in memory otherwise than what is picked of them: by way of tiles that are turned ---- */

/* Elements of a tile's sides at most; bytes that lines beside each other may have to be found in a cache again and again. */
enum { SIDE = 64, NEAR = 1 << 19 };

/* Lines of a tile: no fewer than share a line of memory of what is picked. */
static int64_t lines_at_once(const slice_job *j)
{
    const int64_t size = (int64_t)tn__dtype_size(j->table->dtype), fit = NEAR / (size_along(j->table, j->dim) * size);
    return TN_MIN(TN_MAX(fit, 64 / size), SIDE);
}

/* Rows of n elements, as they are. They are turned beside the memory that they lie in: rows a power of two apart would fight for
 * the same places in the cache while they are written bit by bit. */
static void copy_rows(char *to, int64_t to_row, const char *from, int64_t from_row, int64_t n, int64_t rows,
                      size_t size)
{
    const tn__rows all = {.to = to,
                          .from = from,
                          .to_step = 1,
                          .from_step = 1,
                          .to_row = to_row * (int64_t)size,
                          .from_row = from_row * (int64_t)size,
                          .n = n,
                          .rows = rows,
                          .size = size};
    tn__isa()->move_rows(&all);
}

/* As lines, several at once. */
static void turned_lines(void *ctx, int64_t begin, int64_t end)
{
    const slice_job *j = ctx;
    const size_t bytes = tn__dtype_size(j->table->dtype);
    const int64_t size = (int64_t)bytes, most = lines_at_once(j), parts = tn__div_up(j->inner, most);
    point_loop loop = tn__point_loop_of(j->table->dtype, j->effect);
    _Alignas(64) char tile[SIDE * SIDE * 8], turned[SIDE * SIDE * 8];
    for (int64_t part = begin; part < end; part++) {
        const int64_t outer = part / parts, first = part % parts * most, some = TN_MIN(most, j->inner - first);
        for (int64_t k = 0; k < j->n; k += SIDE) {
            const int64_t n = TN_MIN(SIDE, j->n - k);
            char *picked = (char *)j->picked->data + ((outer * j->n + k) * j->inner + first) * size;
            if (j->effect != READ) {
                copy_rows(turned, SIDE, picked, j->inner, some, n, bytes);
                tn__isa()->transpose(tile, SIDE, turned, SIDE, n, some, bytes);
            }
            for (int64_t i = 0; i < some; i++)
                run_line(j, loop, (char *)j->table->data + table_offset(j, outer, 0, first + i) * size,
                         tile + i * SIDE * size, 1, k, n);
            if (j->effect == READ) {
                tn__isa()->transpose(turned, SIDE, tile, SIDE, some, n, bytes);
                copy_rows(picked, j->inner, turned, SIDE, some, n, bytes);
            }
        }
    }
}

/* Where the table lies along the dimension before, and slices are of one element: pieces of that dimension are read. */
static void turned_pieces(void *ctx, int64_t begin, int64_t end)
{
    const slice_job *j = ctx;
    const size_t bytes = tn__dtype_size(j->table->dtype);
    const int64_t size = (int64_t)bytes, wide = j->table->shape[j->dim - 1], parts = tn__div_up(wide, SIDE);
    const int64_t apart = j->table->stride[j->dim] * size;
    _Alignas(64) char tile[SIDE * SIDE * 8], turned[SIDE * SIDE * 8];
    for (int64_t part = begin; part < end; part++) {
        const int64_t outer = part / parts * wide + part % parts * SIDE,
                      some = TN_MIN(SIDE, wide - part % parts * SIDE);
        const char *from = (const char *)j->table->data + table_offset(j, outer, 0, 0) * size;
        for (int64_t k = 0; k < j->n; k += SIDE) {
            const int64_t n = TN_MIN(SIDE, j->n - k);
            for (int64_t i = 0; i < n; i++)
                memcpy(tile + i * SIDE * size, from + nth_row(j, k + i) * apart, (size_t)(some * size));
            tn__isa()->transpose(turned, SIDE, tile, SIDE, n, some, bytes);
            copy_rows((char *)j->picked->data + (outer * j->n + k) * size, j->n, turned, SIDE, n, some, bytes);
        }
    }
}

static bool goes_in_pieces(const slice_job *j)
{
    const tn__view *t = j->table;
    return j->effect == READ && j->inner == 1 && t->ndim && j->dim > 0 && t->stride[j->dim - 1] == 1 &&
           t->shape[j->dim - 1] >= 16 && t->stride[j->dim] != 1 && j->picked->contiguous && j->n >= 4;
}

static bool goes_in_lines(const slice_job *j)
{
    const tn__view *t = j->table;
    if (j->inner == 1)
        return true;
    return t->stride[j->dim] == 1 && !j->table_dense && j->n >= 16 &&
           (j->picked->ndim == t->ndim || j->picked->contiguous);
}

/* A slice with other steps than the run's. */
static void copy_slice(const slice_job *j, char *to, const char *from, bool reads)
{
    const tn__view *out = reads ? j->picked : j->table, *in = reads ? j->table : j->picked;
    tn__view o = slice_view(out, out->ndim - (j->table->ndim - j->dim), j->inner),
             i = slice_view(in, in->ndim - (j->table->ndim - j->dim), j->inner);
    o.data = to;
    i.data = (void *)(uintptr_t)from;
    tn__cpu_copy_view(&o, &i);
}

/* Few bytes go in two or four pieces, of which some overlap. */
static inline void copy_few(char *to, const char *from, size_t bytes)
{
    char first[16], second[16], third[16], last[16];
    if (bytes < 16 || bytes > 64) {
        memcpy(to, from, bytes);
        return;
    }
    memcpy(first, from, 16);
    memcpy(last, from + bytes - 16, 16);
    if (bytes > 32) {
        memcpy(second, from + 16, 16);
        memcpy(third, from + bytes - 32, 16);
        memcpy(to + 16, second, 16);
        memcpy(to + bytes - 32, third, 16);
    }
    memcpy(to, first, 16);
    memcpy(to + bytes - 16, last, 16);
}

/* Where the table's first slice is, and how far the next one. */
static char *first_slice(const slice_job *j, int64_t outer, int64_t *apart)
{
    const int64_t size = (int64_t)tn__dtype_size(j->table->dtype);
    *apart = j->table->ndim ? j->table->stride[j->dim] * size : 0;
    return (char *)j->table->data + table_offset(j, outer, 0, 0) * size;
}

static void select_slices(void *ctx, int64_t begin, int64_t end)
{
    const slice_job *j = ctx;
    const int64_t bytes = j->inner * (int64_t)tn__dtype_size(j->table->dtype);
    const bool runs = j->table_dense && j->picked_dense;
    const int64_t all = j->picked->numel / j->inner * bytes;
    const bool stream = runs && bytes >= 256 && tn__cpu_streams(all, all);
    int64_t outer = begin / j->n, k = begin % j->n, apart;
    const char *first = first_slice(j, outer, &apart);
    char *to = (char *)j->picked->data + begin * bytes;
    for (int64_t i = begin; i < end; i++, k++, to += bytes) {
        if (k == j->n) {
            k = 0;
            first = first_slice(j, ++outer, &apart);
        }
        const char *from = first + nth_row(j, k) * apart;
        if (stream)
            tn__isa()->stream(to, from, (size_t)bytes);
        else if (runs)
            copy_few(to, from, (size_t)bytes);
        else
            copy_slice(j, to, from, true);
    }
}

/* A slice added to another one (or multiplied with it, or the larger or smaller elements), some at a time in the type that they
 * compute in. */
static void fold_slice(const slice_job *j, char *to, const char *from)
{
    static const tn__reduction of[EFFECTS] = {
        [ADD] = TN__SUM, [MULTIPLY] = TN__PROD, [LARGER] = TN__MAX, [SMALLER] = TN__MIN};
    const tn_dtype d = j->table->dtype;
    const int type = tn__type_of(tn__dtypes[d].compute);
    double sum[TN__BLOCK], more[TN__BLOCK];
    if (tn__dtypes[d].compute == d && j->table_dense && j->picked_dense) {
        tn__isa()->reduce.fold[of[j->effect]][type](to, from, j->inner);
        return;
    }
    const int64_t size = (int64_t)tn__dtype_size(d);
    for (int64_t i = 0; i < j->inner; i += TN__BLOCK) {
        const int64_t n = TN_MIN(TN__BLOCK, j->inner - i);
        if (j->table_dense && j->picked_dense) {
            tn__isa()->load[d][type](sum, to + i * size, 1, n);
            tn__isa()->load[d][type](more, from + i * size, 1, n);
            tn__isa()->reduce.fold[of[j->effect]][type](sum, more, n);
            tn__isa()->store[d][type](to + i * size, 1, sum, n);
            continue;
        }
        tn__load_strided(sum, type, d, to, &j->in_table, i, n);
        tn__load_strided(more, type, d, from, &j->in_picked, i, n);
        tn__isa()->reduce.fold[of[j->effect]][type](sum, more, n);
        tn__store_strided(to, d, &j->in_table, i, sum, type, n);
    }
}

/* Elements i .. i + n - 1 of a slice, as floats. */
static void load_part(const slice_job *j, float *to, const char *slice, const tn__strided_dims *dims, bool dense,
                      int64_t i, int64_t n)
{
    const tn_dtype d = j->table->dtype;
    if (dense)
        tn__isa()->load[d][TN__F32](to, slice + i * (int64_t)tn__dtype_size(d), 1, n);
    else
        tn__load_strided(to, TN__F32, d, slice, dims, i, n);
}

/* The k-th slice of the source. */
static const char *source_slice(const slice_job *j, int64_t outer, int64_t k)
{
    const tn__view *src = j->picked;
    const int64_t at = (outer * j->n + k) * j->inner;
    if (j->filled)
        return j->fill;
    if (j->all_one)
        return src->data;
    return (const char *)src->data +
           (src->contiguous ? at : tn__view_offset(src, at)) * (int64_t)tn__dtype_size(src->dtype);
}

/* Slices k, next[k], next[next[k]] ... of 16 bits added to one of the table, or multiplied with it: rounded once. */
static void fold_chain(const slice_job *j, char *to, int64_t outer, int64_t k, const int64_t *next)
{
    const tn_dtype d = j->table->dtype;
    const tn__reduction how = j->effect == ADD ? TN__SUM : TN__PROD;
    float sum[TN__BLOCK], more[TN__BLOCK];
    for (int64_t i = 0; i < j->inner; i += TN__BLOCK) {
        const int64_t n = TN_MIN(TN__BLOCK, j->inner - i);
        load_part(j, sum, to, &j->in_table, j->table_dense, i, n);
        for (int64_t at = k; at >= 0; at = next[at]) {
            load_part(j, more, source_slice(j, outer, at), &j->in_picked, j->picked_dense, i, n);
            tn__isa()->reduce.fold[how][TN__F32](sum, more, n);
        }
        if (j->table_dense)
            tn__isa()->store[d][TN__F32](to + i * (int64_t)tn__dtype_size(d), 1, sum, n);
        else
            tn__store_strided(to, d, &j->in_table, i, sum, TN__F32, n);
    }
}

/* That slice added to its row, or written there. */
static void put_slice(const slice_job *j, char *to, int64_t outer, int64_t k)
{
    const size_t size = tn__dtype_size(j->table->dtype);
    const char *from = source_slice(j, outer, k);
    if (j->effect > WRITE)
        fold_slice(j, to, from);
    else if (j->filled || (j->table_dense && j->picked_dense))
        copy_few(to, from, (size_t)j->inner * size);
    else if (j->table_dense && j->one)
        tn__isa()->move(to, 1, from, 0, j->inner, size);
    else
        copy_slice(j, to, from, false);
}

void tn__turn(char *to, int64_t to_row, const char *from, int64_t from_row, int64_t rows, int64_t n, size_t bytes)
{
    _Alignas(64) char tile[SIDE * SIDE * 8], turned[SIDE * SIDE * 8];
    const int64_t size = (int64_t)bytes;
    for (int64_t i = 0; i < rows; i += SIDE)
        for (int64_t k = 0; k < n; k += SIDE) {
            const int64_t high = TN_MIN(SIDE, rows - i), wide = TN_MIN(SIDE, n - k);
            copy_rows(tile, SIDE, from + (i * from_row + k) * size, from_row, wide, high, bytes);
            tn__isa()->transpose(turned, SIDE, tile, SIDE, high, wide, bytes);
            copy_rows(to + (k * to_row + i) * size, to_row, turned, SIDE, high, wide, bytes);
        }
}

/* Some lines of the table are turned as a whole: the parts of its slices that they hold are dense then. */
static void turned_tables(void *ctx, int64_t begin, int64_t end)
{
    const slice_job *j = ctx;
    const size_t size = tn__dtype_size(j->table->dtype);
    const int64_t rows = j->table->shape[j->dim], apart = j->in_table.stride[0], most = lines_at_once(j);
    const int64_t parts = tn__div_up(j->inner, most);
    const size_t bytes = (size_t)(rows * most) * size;
    slice_job dense = *j;
    char *block = tn__block_get(bytes);
    if (!block) {
        turned_lines(ctx, begin, end);
        return;
    }
    dense.table_dense = dense.picked_dense = true;
    for (int64_t part = begin; part < end; part++) {
        const int64_t outer = part / parts, first = part % parts * most;
        char *table = (char *)j->table->data + table_offset(j, outer, 0, first) * (int64_t)size;
        char *other = (char *)j->picked->data + (outer * j->n * j->inner + first) * (int64_t)size;
        dense.inner = TN_MIN(most, j->inner - first);
        const size_t width = (size_t)dense.inner * size;
        tn__turn(block, dense.inner, table, apart, dense.inner, rows, size);
        for (int64_t k = 0; k < j->n; k++, other += j->inner * (int64_t)size) {
            char *row = block + (size_t)nth_row(j, k) * width;
            if (j->effect > WRITE)
                fold_slice(&dense, row, other);
            else
                copy_few(j->effect == READ ? other : row, j->effect == READ ? row : other, width);
        }
        if (j->effect != READ)
            tn__turn(table, apart, block, dense.inner, rows, dense.inner, size);
    }
    tn__block_put(block, bytes);
}

static void put_outer(void *ctx, int64_t begin, int64_t end)
{
    const slice_job *j = ctx;
    for (int64_t outer = begin, apart; outer < end; outer++) {
        char *first = first_slice(j, outer, &apart);
        for (int64_t k = 0; k < j->n; k++)
            put_slice(j, first + nth_row(j, k) * apart, outer, k);
    }
}

/* Slices k, k + 1 .. k + n - 1 of the source are copied to the rows that lie from 'to' on, apart from each other. */
static void copy_slices(const slice_job *j, char *to, int64_t apart, const int64_t *row, int64_t k, int64_t n)
{
    const size_t bytes = (size_t)j->inner * tn__dtype_size(j->table->dtype);
    const char *from = source_slice(j, 0, k);
    for (int64_t i = 0; i < n; i++, from += j->filled ? 0 : bytes)
        copy_few(to + row[i] * apart, from, bytes);
}

/* As copy_slices, of those whose row is one of from .. to - 1: they are gathered first, for which ones is hard to foresee. */
static void copy_own(const slice_job *j, char *first, int64_t apart, const int64_t *row, int64_t k, int64_t n,
                     int64_t from, int64_t to)
{
    const size_t bytes = (size_t)j->inner * tn__dtype_size(j->table->dtype);
    const char *source = source_slice(j, 0, k);
    const size_t step = j->filled ? 0 : bytes;
    int32_t own[SOME];
    int64_t many = 0;
    for (int32_t i = 0; i < n; i++) {
        own[many] = i;
        many += row[i] >= from && row[i] < to;
    }
    for (int64_t i = 0; i < many; i++)
        copy_few(first + row[own[i]] * apart, source + (size_t)own[i] * step, bytes);
}

/* Each part minds the indices of its own rows. */
static void put_rows(void *ctx, int64_t begin, int64_t end)
{
    const slice_job *j = ctx;
    const int64_t rows = size_along(j->table, j->dim);
    const bool runs = j->filled || (j->effect == WRITE && j->table_dense && j->picked->contiguous);
    int64_t apart, row[SOME];
    char *first = first_slice(j, 0, &apart);
    for (int64_t part = begin; part < end; part++) {
        const int64_t from = rows * part / j->parts, to = rows * (part + 1) / j->parts;
        for (int64_t k = 0; k < j->n; k += SOME) {
            const int64_t n = TN_MIN(SOME, j->n - k);
            for (int64_t i = 0; i < n; i++)
                row[i] = nth_row(j, k + i);
            if (runs && j->parts == 1)
                copy_slices(j, first, apart, row, k, n);
            else if (runs)
                copy_own(j, first, apart, row, k, n, from, to);
            for (int64_t i = 0; i < n && !runs; i++)
                if (row[i] >= from && row[i] < to)
                    put_slice(j, first + row[i] * apart, 0, k + i);
        }
    }
}

/* Where half of the slices are named at least, and a part of the table as wide as a line of memory is not too much. */
static bool pays_to_turn_all(const slice_job *j)
{
    const int64_t rows = j->table->shape[j->dim];
    return j->in_table.n == 1 && j->n >= rows / 2 && rows * 64 <= 8 * NEAR;
}

/* All points, line by line. */
static void go_in_lines(slice_job *j)
{
    if (goes_in_pieces(j))
        tn__parallel_for(j->outer / j->table->shape[j->dim - 1] * tn__div_up(j->table->shape[j->dim - 1], SIDE),
                         tn__div_up(WORK, SIDE * j->n), turned_pieces, j);
    else if (j->inner >= 4 && j->picked->contiguous)
        tn__parallel_for(j->outer * tn__div_up(j->inner, lines_at_once(j)), tn__div_up(WORK, lines_at_once(j) * j->n),
                         pays_to_turn_all(j) ? turned_tables : turned_lines, j);
    else if (are_short_lines(j))
        tn__parallel_for(j->outer, tn__div_up(WORK, j->n), short_lines, j);
    else
        tn__parallel_for(j->outer * j->inner, tn__div_up(WORK, j->n), lines, j);
}

void tn__pick_slices(const tn__view *table, const tn__view *picked, const tn__view *list, int64_t dim)
{
    slice_job j = slices_of(table, picked, list, dim, READ);
    if (!picked->numel)
        return;
    if (goes_in_lines(&j))
        go_in_lines(&j);
    else
        tn__parallel_for(j.outer * j.n, tn__div_up(WORK, j.inner), select_slices, &j);
}

/* The slices of in[0] along a dimension that in[1] names. */
static tn_status pick_slices(const tn__launch *l, int64_t dim)
{
    tn_status e = tn__check_indices(l, &l->in[1], dim, size_along(&l->in[0], dim));
    if (!e)
        tn__pick_slices(&l->in[0], &l->out[0], &l->in[1], dim);
    return e;
}

tn_status tn__cpu_index_select(const tn__launch *l)
{
    const tn__along_params *p = l->params;
    return pick_slices(l, p->dim);
}

tn_status tn__cpu_embedding(const tn__launch *l)
{
    return pick_slices(l, 0);
}

/* In the order of the indices, wherever two of them meet: neither the sum nor who wrote last depends on threads. */
static void write_slices(slice_job *j)
{
    const size_t size = tn__dtype_size(j->table->dtype);
    j->filled =
        j->all_one && j->table_dense && j->effect == WRITE && j->inner * (int64_t)size <= (int64_t)sizeof j->fill;
    if (j->filled)
        tn__isa()->move(j->fill, 1, j->picked->data, 0, j->inner, size);
    if (goes_in_lines(j)) {
        go_in_lines(j);
    } else if (j->outer > 1) {
        tn__parallel_for(j->outer, tn__div_up(WORK, j->n * j->inner), put_outer, j);
    } else {
        j->parts = j->picked->numel < 2 * WORK ? 1 : tn__num_threads();
        tn__parallel_for(j->parts, 1, put_rows, j);
    }
}

void tn__put_slices(const tn__view *table, const tn__view *src, const tn__view *list, int64_t dim, effect what)
{
    slice_job j = slices_of(table, src, list, dim, what);
    write_slices(&j);
}

/* Slices that are named, each with those of the source that go there, in their order. */
typedef struct chain_job {
    const slice_job *slices;
    tn__numbering rows;
    int64_t *first, *last, *next; /* by row's number, by index */
} chain_job;

static void fold_chains(void *ctx, int64_t begin, int64_t end)
{
    const chain_job *c = ctx;
    for (int64_t i = begin; i < end; i++) {
        const int64_t outer = i / c->rows.n, row = i % c->rows.n;
        int64_t apart;
        char *first = first_slice(c->slices, outer, &apart);
        fold_chain(c->slices, first + c->rows.key[row] * apart, outer, c->first[row], c->next);
    }
}

/* Short slices cost more than their elements do, unless the table has many others. */
static bool pays_to_name(const slice_job *j)
{
    const int64_t more = j->table->numel / TN_MAX(j->picked->numel, 1);
    return more >= 64 || (more >= 16 && j->inner >= 4) || (j->inner >= 16 && !goes_in_lines(j));
}

bool tn__put_named_slices(const tn__view *table, const tn__view *src, const tn__view *list, int64_t dim, effect what)
{
    slice_job j = slices_of(table, src, list, dim, what);
    const size_t bytes = 3 * (size_t)j.n * sizeof(int64_t);
    chain_job c = {.slices = &j, .first = pays_to_name(&j) ? tn__block_get(bytes) : NULL};
    if (!c.first || !tn__numbering_init(&c.rows, j.n)) {
        if (c.first)
            tn__block_put(c.first, bytes);
        return false;
    }
    c.last = c.first + j.n;
    c.next = c.last + j.n;
    for (int64_t k = 0; k < j.n; k++) {
        const int64_t known = c.rows.n, row = tn__number_of(&c.rows, nth_row(&j, k));
        if (row == known)
            c.first[row] = k;
        else
            c.next[c.last[row]] = k;
        c.last[row] = k;
        c.next[k] = -1;
    }
    const int64_t each = tn__div_up(j.n * j.inner, c.rows.n);
    tn__parallel_for(j.outer * c.rows.n, tn__div_up(WORK, each), fold_chains, &c);
    tn__numbering_release(&c.rows);
    tn__block_put(c.first, bytes);
    return true;
}

static tn_status put_slices(const tn__launch *l, bool add)
{
    const int64_t dim = ((const tn__along_params *)l->params)->dim;
    const tn__view *src = &l->in[2];
    if (add && l->out[0].numel == 0 && l->out[0].ndim > 1) /* as in PyTorch nothing is looked at then */
        return TN_OK;
    tn_status e = tn__check_indices(l, &l->in[1], dim, size_along(&l->out[0], dim));
    if (e || src->numel == 0)
        return e;
    tn__put_slices(&l->out[0], src, &l->in[1], dim, add ? ADD : WRITE);
    return TN_OK;
}

tn_status tn__cpu_index_add(const tn__launch *l)
{
    return put_slices(l, true);
}

tn_status tn__cpu_index_copy(const tn__launch *l)
{
    return put_slices(l, false);
}
