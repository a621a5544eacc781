/* Loads and stores of strided memory, and the driver of elementwise rows.
 *
 * A row runs in blocks that fit L1: operands that are dense and of the compute type are used where they lie, others are
 * loaded into a block of it; the result is stored, converted, past the caches if it is larger than they are. Where an operand
 * lies across, dense along another dimension than the result, the row runs in tiles, so that each line of memory is read once.
 */
#include "backend/cpu/cpu.h"
#include "core/error.h"
#include "core/parallel.h"

enum { GRAIN = 32768, GRAIN_HEAVY = 8192, LONG_ROW = 128, SHORT_ROW = 8, LEAST_ROW = 32, SHORT_RUN = 64 };

/* Dimensions of stride 0 come last: what lies in one run is read as one. */
static bool lies_further(int64_t stride, int64_t than)
{
    return than != 0 && (stride == 0 || stride > than);
}

void tn__strided_dims_of(tn__strided_dims *d, const tn__view *v, uint32_t mask)
{
    int32_t order[TN_MAX_DIMS], n = 0;
    for (int32_t i = v->ndim - 1; i >= 0; i--) {
        if (!(mask >> i & 1) || v->shape[i] == 1)
            continue;
        int32_t j = n++;
        for (; j > 0 && lies_further(v->stride[order[j - 1]], v->stride[i]); j--)
            order[j] = order[j - 1];
        order[j] = i;
    }
    d->n = 1;
    d->shape[0] = 1;
    d->stride[0] = 1;
    for (int32_t i = 0; i < n; i++) {
        int64_t shape = v->shape[order[i]], stride = v->stride[order[i]];
        int32_t last = d->n - 1;
        if (d->shape[last] == 1 && last == 0) {
            d->shape[0] = shape;
            d->stride[0] = stride;
        } else if (stride == d->shape[last] * d->stride[last]) {
            d->shape[last] *= shape;
        } else {
            d->shape[d->n] = shape;
            d->stride[d->n++] = stride;
        }
    }
}

/* Visits elements first .. first + n - 1 in runs along the fastest dimension. */
#define EACH_RUN(d, first, n, offset, done, len) \
    int64_t at_[TN_MAX_DIMS], rest_ = (first), offset = 0; \
    for (int32_t i_ = 0; i_ < (d)->n; i_++) { \
        at_[i_] = rest_ % (d)->shape[i_]; \
        rest_ /= (d)->shape[i_]; \
        offset += at_[i_] * (d)->stride[i_]; \
    } \
    for (int64_t done = 0, len; done < (n) && (len = TN_MIN((d)->shape[0] - at_[0], (n)-done), true); \
         done += len, offset += advance(d, at_, 0, len))

/* Steps len elements on, or (dim 1) rows; returns the change of offset. */
static inline int64_t advance(const tn__strided_dims *d, int64_t *at, int32_t dim, int64_t len)
{
    int64_t delta = len * d->stride[dim];
    at[dim] += len;
    for (int32_t i = dim; i + 1 < d->n && at[i] == d->shape[i]; i++) {
        delta += d->stride[i + 1] - at[i] * d->stride[i];
        at[i] = 0;
        at[i + 1]++;
    }
    return delta;
}

/* One run; of stride 0 one element is loaded and copied on. */
static void load_run(tn__load load, void *dst, int type, const void *src, int64_t stride, int64_t n)
{
    uint64_t value = 0;
    if (stride != 0 || n < 8) {
        load(dst, src, stride, n);
        return;
    }
    load(&value, src, 1, 1);
    tn__isa()->move(dst, 1, &value, 0, n, tn__type_size(type));
}

/* n elements from 'first' on, as they are, to a dense run or (back) from it: runs that are short go many at once. */
static void move_runs(char *dense, char *data, size_t size, const tn__strided_dims *d, int64_t first, int64_t n,
                      bool back)
{
    int64_t at[TN_MAX_DIMS], rest = first, offset = 0;
    for (int32_t i = 0; i < d->n; i++) {
        at[i] = rest % d->shape[i];
        rest /= d->shape[i];
        offset += at[i] * d->stride[i];
    }
    while (n > 0) {
        const bool whole = at[0] == 0 && n >= d->shape[0];
        const int64_t len = whole ? d->shape[0] : TN_MIN(n, d->shape[0] - at[0]),
                      rows = whole ? TN_MIN(n / len, d->shape[1] - at[1]) : 1;
        char *there = data + offset * (int64_t)size;
        const int64_t apart = (whole ? d->stride[1] : 0) * (int64_t)size, row = len * (int64_t)size;
        const tn__rows r = {back ? there : dense,
                            back ? dense : there,
                            back ? d->stride[0] : 1,
                            back ? 1 : d->stride[0],
                            back ? apart : row,
                            back ? row : apart,
                            len,
                            rows,
                            size};
        tn__isa()->move_rows(&r);
        offset += advance(d, at, whole, whole ? rows : len);
        dense += rows * row;
        n -= rows * len;
    }
}

/* Are its runs shorter than what a call for each of them pays for? */
static bool has_short_runs(const tn__strided_dims *d, int64_t n)
{
    return d->n > 1 && d->shape[0] < SHORT_RUN && n > d->shape[0];
}

static bool is_as_computed(tn_dtype dtype, int type)
{
    return tn__dtypes[dtype].compute == dtype && tn__type_of(dtype) == type;
}

void tn__load_strided(void *dst, int type, tn_dtype dtype, const void *data, const tn__strided_dims *d, int64_t first,
                      int64_t n)
{
    tn__load load = tn__isa()->load[dtype][type];
    size_t to = tn__type_size(type), from = tn__dtype_size(dtype);
    if (has_short_runs(d, n)) {
        double raw[TN__BLOCK];
        if (is_as_computed(dtype, type)) {
            move_runs(dst, (char *)(uintptr_t)data, from, d, first, n, false);
            return;
        }
        for (int64_t i = 0, some; i < n; i += some) {
            some = TN_MIN(TN__BLOCK, n - i);
            move_runs((char *)raw, (char *)(uintptr_t)data, from, d, first + i, some, false);
            load((char *)dst + (size_t)i * to, raw, 1, some);
        }
        return;
    }
    EACH_RUN (d, first, n, offset, done, len)
        load_run(load, (char *)dst + (size_t)done * to, type, (const char *)data + offset * (int64_t)from, d->stride[0],
                 len);
}

void tn__store_strided(void *data, tn_dtype dtype, const tn__strided_dims *d, int64_t first, const void *src, int type,
                       int64_t n)
{
    tn__store store = tn__isa()->store[dtype][type];
    size_t from = tn__type_size(type), to = tn__dtype_size(dtype);
    if (has_short_runs(d, n)) {
        double raw[TN__BLOCK];
        if (is_as_computed(dtype, type)) {
            move_runs((char *)(uintptr_t)src, data, to, d, first, n, true);
            return;
        }
        for (int64_t i = 0, some; i < n; i += some) {
            some = TN_MIN(TN__BLOCK, n - i);
            store(raw, 1, (const char *)src + (size_t)i * from, some);
            move_runs((char *)raw, data, to, d, first + i, some, true);
        }
        return;
    }
    EACH_RUN (d, first, n, offset, done, len)
        store((char *)data + offset * (int64_t)to, d->stride[0], (const char *)src + (size_t)done * from, len);
}

/* ---- elementwise rows ---- */

typedef struct operand {
    char *data;
    tn_dtype dtype;
    int64_t size; /* bytes of an element */
    tn__load load;
    bool constant; /* one element throughout */
    bool as_is;    /* of the compute type: no conversion where dense */
    bool single;   /* one element along dimension 0, of which the loop takes but the address */
    tn__strided_dims dims;
} operand;

typedef struct job {
    const tn__cpu_isa *isa;
    tn__loop loop;
    int type, n; /* n inputs */
    bool test;   /* the loop gives bytes */
    bool stream;
    bool result_as_is;
    int64_t result_size; /* bytes of an element of what the loop gives */
    operand op[TN__MAX_OPERANDS];
} job;

typedef tn__loop_block block;

static void set_operand(operand *o, const tn__iter *it, int k, int type)
{
    const tn__iter_operand *from = &it->operand[k];
    o->data = from->data;
    o->dtype = from->dtype;
    o->size = (int64_t)tn__dtype_size(from->dtype);
    o->load = tn__isa()->load[from->dtype][type];
    o->as_is = tn__dtypes[from->dtype].compute == from->dtype && tn__type_of(from->dtype) == type;
    o->constant = true;
    o->dims.n = it->ndim;
    for (int32_t d = 0; d < it->ndim; d++) {
        o->dims.shape[d] = it->shape[d];
        o->dims.stride[d] = from->stride[d];
        o->constant &= from->stride[d] == 0 || it->shape[d] == 1;
    }
}

/* A block of n times one value. */
static void fill_block(const operand *o, int type, block *b, int64_t n)
{
    load_run(o->load, b, type, o->data, 0, n);
}

/* Blocks of the operands that are one value; of two operands the second says so by the third's address (tn__loop). */
static void fill_constants(const job *j, block *in, const void **p, int64_t n)
{
    for (int k = 0; k < j->n; k++)
        if (j->op[k + 1].constant)
            fill_block(&j->op[k + 1], j->type, &in[k], j->op[k + 1].single ? 1 : n);
    if (j->n == 2 && j->op[2].constant)
        p[2] = &in[1];
}

/* The operand's elements first .. first + n - 1, in one piece; in b unless they lie so already. */
static const void *fetch(const operand *o, int type, int64_t first, int64_t n, block *b)
{
    if (o->constant)
        return b;
    if (o->dims.n == 1) {
        const char *p = o->data + first * o->dims.stride[0] * o->size;
        if (o->as_is && o->dims.stride[0] == 1)
            return p;
        load_run(o->load, b, type, p, o->dims.stride[0], n);
        return b;
    }
    int64_t row = first / o->dims.shape[0], col = first - row * o->dims.shape[0];
    if (col + n <= o->dims.shape[0]) {
        const tn__strided_dims *d = &o->dims;
        int64_t offset = col * d->stride[0];
        for (int32_t i = 1; i < d->n; i++) {
            offset += row % d->shape[i] * d->stride[i];
            row /= d->shape[i];
        }
        const char *p = o->data + offset * o->size;
        if (o->as_is && d->stride[0] == 1)
            return p;
        load_run(o->load, b, type, p, d->stride[0], n);
        return b;
    }
    tn__load_strided(b, type, o->dtype, o->data, &o->dims, first, n);
    return b;
}

/* n results of the loop to a dense run, past the caches. */
static void put_past(const job *j, char *to, const block *result, int64_t n)
{
    const operand *o = &j->op[0];
    if (j->result_as_is) {
        j->isa->stream(to, result, (size_t)(n * o->size));
        return;
    }
    block converted;
    j->isa->store[o->dtype][j->type](&converted, 1, result, n);
    j->isa->stream(to, &converted, (size_t)(n * o->size));
}

/* Stores n results of the loop. The bytes of a test go by way of int32 where they cannot stay in place. */
static void put(const job *j, int64_t first, block *result, int64_t n)
{
    const operand *o = &j->op[0];
    if (j->test && !j->stream) {
        int32_t wide[TN__BLOCK];
        j->isa->load[TN_U8][TN__I32](wide, result, 1, n);
        tn__store_strided(o->data, o->dtype, &o->dims, first, wide, TN__I32, n);
        return;
    }
    if (j->stream)
        put_past(j, o->data + first * o->size, result, n);
    else
        tn__store_strided(o->data, o->dtype, &o->dims, first, result, j->type, n);
}

/* Do elements lie one after another, in the order of the dimensions? */
static bool is_dense(const tn__strided_dims *d)
{
    int64_t next = 1;
    for (int32_t i = 0; i < d->n; i++) {
        if (d->stride[i] != next)
            return false;
        next *= d->shape[i];
    }
    return true;
}

/* Of n elements so many for a call of the loop: all, where everything lies as it reads and writes it. */
static int64_t at_once(const job *j, bool dense, int64_t n)
{
    for (int k = 1; k <= j->n && dense; k++) {
        const operand *o = &j->op[k];
        dense = o->constant ? o->single : o->as_is && o->dims.n == 1 && o->dims.stride[0] == 1;
    }
    return dense ? n : TN_MIN(TN__BLOCK, n);
}

static void run_range(void *ctx, int64_t begin, int64_t end)
{
    const job *j = ctx;
    const operand *out = &j->op[0];
    block in[3], result;
    const void *p[3] = {NULL, NULL, NULL};
    const bool dense = j->result_as_is && !j->stream && is_dense(&out->dims);
    const int64_t most = at_once(j, dense, end - begin);
    fill_constants(j, in, p, TN_MIN(TN__BLOCK, end - begin));
    for (int64_t i = begin; i < end;) {
        const int64_t n = TN_MIN(most, end - i);
        for (int k = 0; k < j->n; k++)
            p[k] = fetch(&j->op[k + 1], j->type, i, n, &in[k]);
        if (dense) {
            j->loop(out->data + i * out->size, p[0], p[1], p[2], n);
        } else {
            j->loop(&result, p[0], p[1], p[2], n);
            put(j, i, &result, n);
        }
        i += n;
    }
}

/* ---- operands that lie across ---- */

/* A tile takes some lines of memory of each run that lies across into a panel, and whole rows of what lies as the result does: no
 * hardware sees short runs coming (x.t() + y of 16 MiB each: 2 lines and rows of 2 KiB 2.1 ms, 4 and 8 KiB 1.6; int64: 4.4 and
 * 3.7). A panel of few columns stays in the nearest cache. Its rows are no power of two apart, as a cache would hold few. */
enum { FEW_LINES = 2 * TN_CACHE_LINE, LINES = 4 * TN_CACHE_LINE, FEW_COLS = 512, TILE_COLS = 2048 };
enum { TILE_LEAST = 8, PLOT = 4096 };

typedef struct tiling {
    const job *j;
    int32_t dim;         /* along which operands that lie across are dense; where none does: that after dimension 0 */
    bool across;         /* one does: tiles follow one another along dim, by which its lines are read whole */
    int64_t rows, cols;  /* of a tile, along dim and dimension 0 */
    int64_t down, along; /* tiles along them */
    int turned;          /* operands that come by way of a panel */
    size_t panel;        /* bytes of one */
} tiling;

static bool lies_across(const operand *o, int32_t dim)
{
    return !o->constant && o->dims.stride[0] > 1 && o->dims.stride[dim] == 1;
}

/* Does the operand come by way of a panel? Tiles that are not across are no squares: what is dense along dim is so by chance. */
static bool is_turned(const tiling *t, const operand *o)
{
    return t->across && lies_across(o, t->dim);
}

/* Bytes from a row of a panel to the next. */
static int64_t pitch(const tiling *t, int64_t size)
{
    return (tn__div_up(t->cols * size, TN_CACHE_LINE) + 1) * TN_CACHE_LINE;
}

/* The first element of a tile: dimension 0 from col, dim from row, the others by the index of their plane. */
static char *tile_begin(const operand *o, int32_t dim, int64_t plane, int64_t row, int64_t col)
{
    int64_t offset = col * o->dims.stride[0] + row * o->dims.stride[dim];
    for (int32_t d = 1; d < o->dims.n; d++) {
        if (d == dim)
            continue;
        offset += plane % o->dims.shape[d] * o->dims.stride[d];
        plane /= o->dims.shape[d];
    }
    return o->data + offset * o->size;
}

/* n elements of row r of an operand's tile that begins at 'at', from its column col on, in one piece; in b unless they lie so
 * already, or in the panel. */
static const void *tile_row(const tiling *t, const operand *o, const char *at, const char *panel, int64_t r,
                            int64_t col, int64_t n, block *b)
{
    if (o->constant)
        return b;
    const int64_t stride = panel ? 1 : o->dims.stride[0];
    const char *from =
        (panel ? panel + r * pitch(t, o->size) : at + r * o->dims.stride[t->dim] * o->size) + col * stride * o->size;
    if (o->as_is && (stride == 1 || o->single))
        return from;
    load_run(o->load, b, t->j->type, from, stride, o->single ? 1 : n);
    return b;
}

/* n results of the loop to memory that is no dense run of them. */
static void put_run(const job *j, char *to, int64_t stride, const block *result, int64_t n)
{
    const tn_dtype dtype = j->op[0].dtype;
    int32_t wide[TN__BLOCK];
    if (j->test) {
        j->isa->load[TN_U8][TN__I32](wide, result, 1, n);
        j->isa->store[dtype][TN__I32](to, stride, wide, n);
    } else {
        j->isa->store[dtype][j->type](to, stride, result, n);
    }
}

typedef struct tile {
    char *at[TN__MAX_OPERANDS]; /* where it begins */
    const char *panel[3];       /* of inputs; NULL: read where it lies */
} tile;

/* Some columns of row r. */
static void run_tile_row(const tiling *t, const tile *at, int64_t r, int64_t col, int64_t n, block *in, const void **p)
{
    const job *j = t->j;
    const operand *out = &j->op[0];
    for (int k = 0; k < j->n; k++)
        p[k] = tile_row(t, &j->op[k + 1], at->at[k + 1], at->panel[k], r, col, n, &in[k]);
    char *to = at->at[0] + (r * out->dims.stride[t->dim] + col * out->dims.stride[0]) * out->size;
    if (j->result_as_is && out->dims.stride[0] == 1 && !j->stream) {
        j->loop(to, p[0], p[1], p[2], n);
        return;
    }
    block result;
    j->loop(&result, p[0], p[1], p[2], n);
    if (j->stream)
        put_past(j, to, &result, n);
    else
        put_run(j, to, out->dims.stride[0], &result, n);
}

static void run_tile(const tiling *t, int64_t index, char *panels, block *in, const void **p)
{
    const job *j = t->j;
    const operand *out = &j->op[0];
    const int64_t first = t->across ? t->down : t->along, at_first = index % first, rest = index / first,
                  second = t->across ? t->along : t->down, at_second = rest % second, plane = rest / second,
                  row = (t->across ? at_first : at_second) * t->rows,
                  col = (t->across ? at_second : at_first) * t->cols,
                  rows = TN_MIN(t->rows, out->dims.shape[t->dim] - row),
                  cols = TN_MIN(t->cols, out->dims.shape[0] - col);
    tile at = {{NULL}, {NULL}};
    for (int k = 0; k <= j->n; k++) {
        const operand *o = &j->op[k];
        at.at[k] = tile_begin(o, t->dim, plane, row, col);
        if (!k || !panels || !is_turned(t, o))
            continue;
        j->isa->transpose(panels, pitch(t, o->size) / o->size, at.at[k], o->dims.stride[0], cols, rows,
                          (size_t)o->size);
        at.panel[k - 1] = panels;
        panels += t->panel;
    }
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < cols; c += TN__BLOCK)
            run_tile_row(t, &at, r, c, TN_MIN(TN__BLOCK, cols - c), in, p);
}

static void run_tiles(void *ctx, int64_t begin, int64_t end)
{
    const tiling *t = ctx;
    const void *p[3] = {NULL, NULL, NULL};
    block in[3];
    const size_t bytes = (size_t)t->turned * t->panel;
    char *panels = bytes ? tn__block_get(bytes) : NULL; /* no memory: what lies across is read element by element */
    fill_constants(t->j, in, p, TN_MIN(t->cols, TN__BLOCK));
    for (int64_t i = begin; i < end; i++)
        run_tile(t, i, panels, in, p);
    tn__block_put(panels, bytes);
}

/* Does each call of the loop find the operand's elements, bfloat16, in one run? */
static bool is_bfloat_run(const operand *o)
{
    return o->dtype == TN_BF16 && !o->constant && o->dims.stride[0] == 1;
}

/* Is it one element along dimension 0? */
static bool is_single(const operand *o)
{
    return o->constant || o->dims.stride[0] == 0;
}

/* Of three operands the second, the third or both, of two the second; in rows along dimension 0, or throughout. */
static bool take_numbers(job *j, tn__op_id op, bool rows)
{
    const bool b = rows ? is_single(&j->op[2]) : j->op[2].constant,
               c = j->n == 3 && (rows ? is_single(&j->op[3]) : j->op[3].constant);
    const int single = b + 2 * c;
    const tn__numbers *best = NULL;
    for (const tn__numbers *row = j->isa->numbers; row->which && single; row++)
        if (row->op == op && (row->which & ~single) == 0 && row->loops[j->type] && (!best || row->which > best->which))
            best = row;
    if (!best || (j->type == TN__F32 && j->isa->bfloat[op][0] && is_bfloat_run(&j->op[0]) && is_bfloat_run(&j->op[1])))
        return false;
    j->loop = best->loops[j->type];
    j->op[2].single = best->which & 1;
    j->op[3].single = best->which & 2;
    return true;
}

/* One element along dimension 0 of one operand, along which another has many: a loop that knows. True: there is one. */
static bool take_single(job *j, tn__op_id op)
{
    const tn__cpu_isa *isa = j->isa;
    const bool narrow = j->type == TN__F32 && j->op[0].dtype == TN_BF16 && isa->narrow[op];
    if (j->n == 3 || (j->n == 2 && !isa->one[op][0][0]))
        return (j->n == 3 || !narrow) && take_numbers(j, op, true);
    const bool first = is_single(&j->op[1]);
    if (j->n != 2 || first == is_single(&j->op[2]) || j->type > TN__F64)
        return false;
    const int which = first ? 1 : 2;
    const bool bfloats = j->type == TN__F32 && is_bfloat_run(&j->op[0]) && is_bfloat_run(&j->op[3 - which]);
    j->loop = bfloats ? isa->bfloat[op][1 + which] : isa->one[op][which - 1][j->type];
    j->op[which].single = true;
    j->op[3 - which].as_is |= bfloats;
    j->result_as_is |= bfloats;
    return true;
}

/* Bfloat16 in and out by a loop that converts. */
static void convert_inside(job *j, tn__op_id op)
{
    const tn__loop *loops = j->isa->bfloat[op];
    if (j->type != TN__F32 || !loops[0] || !is_bfloat_run(&j->op[0]) || !is_bfloat_run(&j->op[1]))
        return;
    const bool second = loops[1] && is_bfloat_run(&j->op[2]), third = second && j->n == 3 && is_bfloat_run(&j->op[3]);
    j->loop = !second ? loops[0] : third || j->n == 2 ? loops[1] : loops[2];
    j->result_as_is = j->op[1].as_is = true;
    j->op[2].as_is |= second;
    j->op[3].as_is |= third;
}

/* Bytes of the operand's elements. */
static int64_t bytes_of(const operand *o)
{
    int64_t n = o->size;
    for (int32_t i = 0; i < o->dims.n; i++)
        n *= o->dims.stride[i] ? o->dims.shape[i] : 1;
    return n;
}

/* Past the caches only where no operand shares the result. What is read twice counts once. */
static bool should_stream(const job *j, int64_t numel)
{
    const operand *o = j->op;
    int64_t read = 0;
    for (int k = 1; k <= j->n; k++) {
        if (o[k].data == o->data)
            return false;
        const bool again = (k > 1 && o[k].data == o[1].data) || (k > 2 && o[k].data == o[2].data);
        read += again ? 0 : bytes_of(&o[k]);
    }
    return tn__cpu_streams(numel * o->size, read) && (!j->test || j->result_as_is);
}

/* How large tiles are. */
static void size_tiles(tiling *t)
{
    const job *j = t->j;
    const tn__strided_dims *d = &j->op[0].dims;
    int64_t widest = 1;
    for (int k = 1; k <= j->n; k++)
        if (is_turned(t, &j->op[k])) {
            t->turned++;
            widest = TN_MAX(widest, j->op[k].size);
        }
    t->cols = TN_MIN(d->shape[0], t->across ? TILE_COLS / t->turned : TN__BLOCK);
    t->rows = t->across                 ? (t->cols > FEW_COLS ? LINES : FEW_LINES) / widest
              : d->shape[0] > TN__BLOCK ? 1
                                        : PLOT / t->cols;
    t->rows = TN_MIN(t->rows, d->shape[t->dim]);
    t->panel = (size_t)(t->rows * pitch(t, widest));
    t->down = tn__div_up(d->shape[t->dim], t->rows);
    t->along = tn__div_up(d->shape[0], t->cols);
}

/* Rows that are long, too, though nothing lies across: their operands need no division. False: neither. */
static bool run_tiled(job *j, tn__op_id op, int64_t numel, int64_t grain)
{
    const tn__strided_dims *d = &j->op[0].dims;
    tiling t = {.j = j};
    for (int k = 1; k <= j->n && d->shape[0] >= 4 * TILE_LEAST; k++)
        for (int32_t i = 1; i < d->n && !t.dim; i++)
            if (lies_across(&j->op[k], i) && d->shape[i] >= TILE_LEAST)
                t.dim = i;
    t.across = t.dim != 0;
    if (!t.dim && d->n > 1 && d->shape[0] >= LONG_ROW)
        t.dim = 1;
    if (!t.dim)
        return false;
    if (!take_single(j, op))
        convert_inside(j, op);
    size_tiles(&t);
    /* rows that begin within a line would write its halves past the caches, each for itself (diff: 730 us against 1100) */
    const int64_t apart = d->stride[t.dim] * j->op[0].size;
    j->stream = !t.across && should_stream(j, numel) && d->stride[0] == 1 && apart % TN_CACHE_LINE == 0;
    const int64_t planes = numel / (d->shape[0] * d->shape[t.dim]);
    tn__parallel_for(planes * t.down * t.along, TN_MAX(grain / (t.rows * t.cols), 1), run_tiles, &t);
    return true;
}

/* Does the operand take one piece of memory, from its first element on, in whatever order? */
static bool is_one_piece(const operand *o, int64_t *elements)
{
    int64_t last = 0, n = 1;
    for (int32_t i = 0; i < o->dims.n; i++) {
        if (o->dims.stride[i] < 0)
            return false;
        last += (o->dims.shape[i] - 1) * o->dims.stride[i];
        n *= o->dims.stride[i] ? o->dims.shape[i] : 1;
    }
    *elements = n;
    return last + 1 == n;
}

static bool has_zero(const operand *operand_, int type, int64_t numel)
{
    operand flat = *operand_;
    const operand *o = &flat;
    block b;
    if (o->constant) {
        fill_block(o, type, &b, 1);
        return tn__isa()->has_zero[type](&b, 1);
    }
    if (is_one_piece(o, &numel)) {
        flat.dims.n = 1;
        flat.dims.shape[0] = numel;
        flat.dims.stride[0] = 1;
    }
    for (int64_t i = 0; i < numel; i += TN__BLOCK) {
        int64_t n = TN_MIN(TN__BLOCK, numel - i);
        if (tn__isa()->has_zero[type](fetch(o, type, i, n, &b), n))
            return true;
    }
    return false;
}

/* Few elements, all dense or constant and of the compute type: one call of the loop. False: not so. */
static bool run_small(tn__op_id op, const tn__iter *it, tn_dtype compute)
{
    if (it->ndim != 1 || it->numel > 64 || it->operand[0].stride[0] != 1 || tn__ops[op].rule == R_DIVIDE)
        return false;
    tn_dtype want = tn__ops[op].rule == R_TEST ? TN_BOOL : compute;
    tn__loop loop = tn__isa()->loops[op][tn__type_of(compute)];
    if (it->operand[0].dtype != want || !loop)
        return false;
    double constant[3][64];
    const void *p[3] = {NULL, NULL, NULL};
    for (int k = 1; k < it->n; k++) {
        const tn__iter_operand *o = &it->operand[k];
        if (o->dtype != compute)
            return false;
        p[k - 1] = o->data;
        if (o->stride[0] == 1)
            continue;
        if (o->stride[0] != 0 && it->numel != 1)
            return false;
        tn__isa()->load[compute][tn__type_of(compute)](constant[k - 1], o->data, 0, it->numel);
        p[k - 1] = constant[k - 1];
        if (it->n == 3 && k == 2)
            p[2] = constant[1];
    }
    loop(it->operand[0].data, p[0], p[1], p[2], it->numel);
    return true;
}

/* Are all runs of dimension 0 dense, or one element, and many beside each other? They go many at once then. */
static bool moves_rows(const job *j)
{
    bool dense = j->op[0].dims.n > 1 && j->op[0].dims.shape[1] >= LEAST_ROW && j->op[0].dims.stride[0] == 1;
    for (int k = 1; k <= j->n && dense; k++)
        dense = j->op[k].constant || j->op[k].dims.stride[0] == 1 || j->op[k].dims.stride[0] == 0;
    return dense;
}

/* The largest part of n in which runs are long and what they leave out between stays in the nearest cache; n if there is none. */
static int64_t part_of(int64_t n)
{
    for (int64_t part = 2 * LONG_ROW; part >= LEAST_ROW; part--)
        if (n > part && n % part == 0)
            return part;
    return n;
}

/* Where the runs of dimension 0 are but a few elements, the longest dimension takes its place, in parts: the rest of it comes
 * last, so that threads write stretches of memory of their own. */
static void put_longest_first(job *j)
{
    const tn__strided_dims *d = &j->op[0].dims;
    int32_t longest = 0;
    const bool few = d->shape[0] < SHORT_ROW && !moves_rows(j);
    for (int32_t i = 1; i < d->n && few; i++)
        if (d->shape[i] >= LEAST_ROW && d->shape[i] > d->shape[longest])
            longest = i;
    if (!longest)
        return;
    const int64_t all = d->shape[longest], part = d->n < TN_MAX_DIMS ? part_of(all) : all;
    for (int k = 0; k <= j->n; k++) {
        tn__strided_dims *o = &j->op[k].dims;
        const int64_t shape = o->shape[0], stride = o->stride[0], step = o->stride[longest];
        o->shape[0] = part, o->stride[0] = step;
        o->shape[longest] = shape, o->stride[longest] = stride;
        if (part < all) {
            o->shape[o->n] = all / part;
            o->stride[o->n++] = step * part;
        }
    }
}

/* Dimensions of one operand that follow one another in its memory are one: runs are as long as they can be for it. */
static void collapse(tn__strided_dims *d)
{
    int32_t last = 0;
    for (int32_t i = 1; i < d->n; i++) {
        if (d->stride[i] == d->shape[last] * d->stride[last]) {
            d->shape[last] *= d->shape[i];
            continue;
        }
        last++;
        d->shape[last] = d->shape[i];
        d->stride[last] = d->stride[i];
    }
    d->n = last + 1;
}

tn_status tn__cpu_elementwise(tn_device device, tn__op_id op, const tn__iter *it, tn_dtype compute)
{
    (void)device;
    if (it->numel == 0 || run_small(op, it, compute) || tn__cpu_halves(op, it))
        return TN_OK;
    job j = {.isa = tn__isa(), .type = tn__type_of(compute), .n = it->n - 1};
    j.loop = j.isa->loops[op][j.type];
    if (!j.loop)
        return tn__no_dtype(tn__ops[op].name, compute);
    if (j.type == TN__F32 && it->operand[0].dtype == TN_BF16 && j.isa->narrow[op])
        j.loop = j.isa->narrow[op];
    for (int k = 0; k < it->n; k++)
        set_operand(&j.op[k], it, k, j.type);
    const int rule = tn__ops[op].rule;
    j.test = rule == R_TEST;
    j.result_as_is = j.test ? j.op[0].dtype == TN_BOOL || j.op[0].dtype == TN_U8 : j.op[0].as_is;
    if (rule == R_DIVIDE && j.type >= TN__I32 && has_zero(&j.op[2], j.type, it->numel))
        return tn__error(TN_EVALUE, "ZeroDivisionError\n  %s: an integer divisor is zero", tn__ops[op].name);
    if (j.n == 3)
        take_numbers(&j, op, false);
    if (it->ndim == 1 && !take_single(&j, op))
        convert_inside(&j, op);
    if (it->numel <= TN__BLOCK) {
        run_range(&j, 0, it->numel);
        return TN_OK;
    }
    put_longest_first(&j);
    const uint32_t flags = tn__ops[op].flags;
    const bool heavy = flags & F_HEAVY || ((rule == R_FLOAT || rule == R_FLOATING) && !(flags & F_LIGHT));
    const int64_t grain = heavy ? GRAIN_HEAVY : GRAIN;
    if (run_tiled(&j, op, it->numel, grain))
        return TN_OK;
    for (int k = 0; k <= j.n; k++)
        collapse(&j.op[k].dims);
    j.stream = should_stream(&j, it->numel) && is_dense(&j.op[0].dims);
    tn__parallel_for(it->numel, grain, run_range, &j);
    return TN_OK;
}
