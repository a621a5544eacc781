/* Reductions: sum mean prod amax amin any all.
 *
 * Dimensions are split into kept and reduced ones and merged. Where the fastest one is reduced, each result is a sum over
 * runs ('rows'); where it is kept, rows are folded into a line of accumulators ('columns'). Work is cut into pieces whose
 * borders depend on the sizes alone; partial results are combined in order. Many short rows are turned, a tile at a time, and
 * folded as columns: to begin a run of eight elements takes longer than to add them.
 */
#include "backend/cpu/cpu.h"
#include "core/error.h"
#include "core/parallel.h"

enum { PIECE = 32768, LINE = 1024, LEVELS = 3, LEVEL_ROWS = 32 };
enum { SOME = 16, TILE = 4096 }; /* results stored at once, elements turned at once */
enum { NEAR = 2048 };            /* bytes between rows that are asked for before they are needed */

typedef struct reduce_job {
    const tn__launch *l;
    tn__reduction kind;
    int type;
    tn__strided_dims kept, reduced; /* of the input */
    tn__strided_dims out;           /* of the result, in kept's order */
    int64_t n_kept, n_reduced;
    int64_t pieces; /* each result's run is cut into so many */
    double divisor; /* mean: how many; else 1 */
    bool runs;      /* reduced elements are read where they lie, a run of many at a time */
    void *partial;  /* [n_kept][pieces] of double or int64 */
    tn_status status;
} reduce_job;

static bool floating(const reduce_job *j)
{
    return j->type <= TN__F64;
}

static tn__reduction kind_of(tn__op_id op)
{
    switch (op) {
    case TN__OP_prod: return TN__PROD;
    case TN__OP_amax:
    case TN__OP_max: return TN__MAX;
    case TN__OP_amin:
    case TN__OP_min: return TN__MIN;
    case TN__OP_any: return TN__ANY;
    case TN__OP_all: return TN__ALL;
    default: return TN__SUM;
    }
}

/* The kept dimensions in the result's strides: the result is row-major over them, with or without the reduced ones. */
static void out_dims(reduce_job *j, const tn__view *x, uint32_t mask)
{
    int64_t dense[TN_MAX_DIMS], step = 1;
    for (int32_t d = x->ndim - 1; d >= 0; d--) {
        dense[d] = step;
        if (!(mask >> d & 1))
            step *= x->shape[d];
    }
    /* both in the input's order of strides; merge only where both agree */
    int32_t order[TN_MAX_DIMS], n = 0;
    for (int32_t i = x->ndim - 1; i >= 0; i--) {
        if (mask >> i & 1 || x->shape[i] == 1)
            continue;
        int32_t k = n++;
        for (; k > 0 && x->stride[order[k - 1]] > x->stride[i]; k--)
            order[k] = order[k - 1];
        order[k] = i;
    }
    j->kept = j->out = (tn__strided_dims){.n = 1, .shape = {1}, .stride = {1}};
    for (int32_t i = 0; i < n; i++) {
        int64_t shape = x->shape[order[i]], xs = x->stride[order[i]], os = dense[order[i]];
        int32_t at = j->kept.n - 1;
        bool first = i == 0;
        bool joins =
            !first && xs == j->kept.shape[at] * j->kept.stride[at] && os == j->out.shape[at] * j->out.stride[at];
        if (joins) {
            j->kept.shape[at] *= shape;
            j->out.shape[at] *= shape;
            continue;
        }
        at = first ? 0 : at + 1;
        j->kept.n = j->out.n = at + 1;
        j->kept.shape[at] = j->out.shape[at] = shape;
        j->kept.stride[at] = xs;
        j->out.stride[at] = os;
    }
}

static void store_float(const reduce_job *j, int64_t index, double v)
{
    const tn__view *out = &j->l->out[0];
    char *p = (char *)out->data + tn__dims_offset(&j->out, index) * (int64_t)tn__dtype_size(out->dtype);
    if (j->kind == TN__SUM)
        v /= j->divisor;
    tn__store_double(out->dtype, p, v);
}

static void store_int(const reduce_job *j, int64_t index, int64_t v)
{
    const tn__view *out = &j->l->out[0];
    char *p = (char *)out->data + tn__dims_offset(&j->out, index) * (int64_t)tn__dtype_size(out->dtype);
    tn__store_int(out->dtype, p, v);
}

static double combine_float(tn__reduction kind, double a, double b)
{
    switch (kind) {
    case TN__SUM: return a + b;
    case TN__PROD: return a * b;
    case TN__MAX: return a != a ? a : b != b ? b : TN_MAX(a, b);
    case TN__MIN: return a != a ? a : b != b ? b : TN_MIN(a, b);
    case TN__ANY: return a != 0 || b != 0;
    default: return a != 0 && b != 0;
    }
}

static int64_t combine_int(tn__reduction kind, int64_t a, int64_t b)
{
    switch (kind) {
    case TN__SUM: return (int64_t)((uint64_t)a + (uint64_t)b);
    case TN__PROD: return (int64_t)((uint64_t)a * (uint64_t)b);
    case TN__MAX: return TN_MAX(a, b);
    case TN__MIN: return TN_MIN(a, b);
    case TN__ANY: return a || b;
    default: return a && b;
    }
}

/* ---- rows ---- */

enum { LEAST_RUN = 64 }; /* elements that are worth a call of a loop for them alone */

/* Can the loops read the reduced elements where they are? */
static bool reads_runs(const reduce_job *j)
{
    const tn_dtype dtype = j->l->in[0].dtype;
    return j->reduced.stride[0] == 1 && (j->reduced.n == 1 || j->reduced.shape[0] >= LEAST_RUN) &&
           tn__type_of(dtype) == j->type && tn__dtypes[dtype].compute == dtype;
}

/* Elements i .. of the reduced ones, of 'left' that are wanted; *n: how many. Where they lie, or in the block. */
static const void *next_run(const reduce_job *j, const char *base, int64_t i, int64_t left, void *block, int64_t *n)
{
    const tn_dtype dtype = j->l->in[0].dtype;
    if (!j->runs) {
        *n = TN_MIN(TN__BLOCK, left);
        tn__load_strided(block, j->type, dtype, base, &j->reduced, i, *n);
        return block;
    }
    *n = TN_MIN(left, j->reduced.shape[0] - i % j->reduced.shape[0]);
    return base + tn__dims_offset(&j->reduced, i) * (int64_t)tn__dtype_size(dtype);
}

/* The run first .. first + n - 1 of the reduced elements behind 'base', in one number. */
static double row_float(const reduce_job *j, const char *base, int64_t first, int64_t n)
{
    const tn__view *x = &j->l->in[0];
    double (*run)(const void *, int64_t) = tn__isa()->reduce.run_float[j->kind][j->type];
    if (j->runs && j->reduced.n == 1)
        return run(base + first * (int64_t)tn__dtype_size(x->dtype), n);
    if (j->reduced.n == 1 && j->reduced.stride[0] == 1 && x->dtype == TN_BF16 && j->kind == TN__SUM &&
        j->type == TN__F32)
        return tn__isa()->reduce.sum_bf16(base + first * 2, n);
    double block[TN__BLOCK], total = 0;
    for (int64_t i = 0, m; i < n; i += m) {
        const void *p = next_run(j, base, first + i, n - i, block, &m);
        const double v = run(p, m);
        total = i ? combine_float(j->kind, total, v) : v;
    }
    return total;
}

static int64_t row_int(const reduce_job *j, const char *base, int64_t first, int64_t n)
{
    const tn__view *x = &j->l->in[0];
    int64_t (*run)(const void *, int64_t) = tn__isa()->reduce.run_int[j->kind][j->type - TN__I32];
    int64_t block[TN__BLOCK], total = 0;
    if (j->runs && j->reduced.n == 1)
        return run(base + first * (int64_t)tn__dtype_size(x->dtype), n);
    if (j->reduced.n == 1 && j->reduced.stride[0] == 1 && x->dtype == TN_BOOL && j->kind == TN__SUM)
        return tn__isa()->reduce.sum_b8(base + first, n);
    for (int64_t i = 0, m; i < n; i += m) {
        const void *p = next_run(j, base, first + i, n - i, block, &m);
        const int64_t v = run(p, m);
        total = i ? combine_int(j->kind, total, v) : v;
    }
    return total;
}

/* Items are (result, piece), each in one number. */
static void row_pieces(void *ctx, int64_t begin, int64_t end)
{
    const reduce_job *j = ctx;
    const tn__view *x = &j->l->in[0];
    for (int64_t i = begin; i < end; i++) {
        int64_t index = i / j->pieces, first = i % j->pieces * PIECE, n = TN_MIN(PIECE, j->n_reduced - first);
        const char *base = (const char *)x->data + tn__dims_offset(&j->kept, index) * (int64_t)tn__dtype_size(x->dtype);
        if (floating(j))
            ((double *)j->partial)[i] = row_float(j, base, first, n);
        else
            ((int64_t *)j->partial)[i] = row_int(j, base, first, n);
    }
}

/* Items are results, some of which are stored at once. */
static void rows(void *ctx, int64_t begin, int64_t end)
{
    const reduce_job *j = ctx;
    const tn__view *x = &j->l->in[0], *out = &j->l->out[0];
    const int64_t size = (int64_t)tn__dtype_size(x->dtype), apart = j->kept.n == 1 ? j->kept.stride[0] : 0;
    union {
        double f[SOME];
        int64_t i[SOME];
    } v;
    for (int64_t i = begin; i < end; i += SOME) {
        const int64_t n = TN_MIN(SOME, end - i);
        for (int64_t k = 0; k < n; k++) {
            const char *base =
                (const char *)x->data + (apart ? (i + k) * apart : tn__dims_offset(&j->kept, i + k)) * size;
            if (floating(j))
                v.f[k] = row_float(j, base, 0, j->n_reduced) / j->divisor;
            else
                v.i[k] = row_int(j, base, 0, j->n_reduced);
        }
        tn__store_strided(out->data, out->dtype, &j->out, i, &v, floating(j) ? TN__F64 : TN__I64, n);
    }
}

static void combine_pieces(const reduce_job *j)
{
    for (int64_t i = 0; i < j->n_kept; i++) {
        if (floating(j)) {
            const double *p = (const double *)j->partial + i * j->pieces;
            double v = p[0];
            for (int64_t k = 1; k < j->pieces; k++)
                v = combine_float(j->kind, v, p[k]);
            store_float(j, i, v);
        } else {
            const int64_t *p = (const int64_t *)j->partial + i * j->pieces;
            int64_t v = p[0];
            for (int64_t k = 1; k < j->pieces; k++)
                v = combine_int(j->kind, v, p[k]);
            store_int(j, i, v);
        }
    }
}

static tn_status reduce_rows(reduce_job *j)
{
    j->pieces = j->n_kept < 64 ? tn__div_up(j->n_reduced, PIECE) : 1;
    int64_t items = j->n_kept * j->pieces, per = tn__div_up(PIECE, TN_MAX(j->pieces == 1 ? j->n_reduced : PIECE, 1));
    if (j->pieces == 1) {
        tn__parallel_for(items, per, rows, j);
        return TN_OK;
    }
    size_t bytes = (size_t)items * sizeof(double);
    j->partial = tn__block_get(bytes);
    if (!j->partial)
        return tn__error_memory("partial results", bytes);
    tn__parallel_for(items, 1, row_pieces, j);
    combine_pieces(j);
    tn__block_put(j->partial, bytes);
    return TN_OK;
}

/* ---- columns ---- */

/* A line of accumulators being folded. Sums go through levels of 32 rows, so that rounding grows with the logarithm of
 * their number. */
typedef struct accumulators {
    void (*fold)(void *, const void *, int64_t);
    void (*fold4)(void *, const void *, int64_t, int64_t);
    size_t bytes;
    int64_t width, filled[LEVELS];
    bool cascade, truth;
    double level[LEVELS][LINE];
} accumulators;

static void line_carry(accumulators *l, int k, const void *row)
{
    for (; k < LEVELS; k++) {
        if (l->filled[k]++ == 0) {
            memcpy(l->level[k], row, l->bytes);
            if (l->truth)
                l->fold(l->level[k], row, l->width);
        } else {
            l->fold(l->level[k], row, l->width);
        }
        if (!l->cascade || l->filled[k] < LEVEL_ROWS || k == LEVELS - 1)
            return;
        l->filled[k] = 0;
        row = l->level[k];
    }
}

static void line_add(accumulators *l, const void *row)
{
    line_carry(l, 0, row);
}

/* Four rows, 'stride' elements apart, in one pass but where they begin. Levels are of a multiple of four. */
static void line_add_four(accumulators *l, const void *rows, int64_t stride, int64_t size)
{
    if ((l->filled[0] == 0 && !l->cascade) || l->truth) {
        for (int64_t r = 0; r < 4; r++)
            line_add(l, (const char *)rows + r * stride * size);
        return;
    }
    if (l->filled[0] == 0)
        memset(l->level[0], 0, l->bytes);
    l->fold4(l->level[0], rows, stride, l->width);
    l->filled[0] += 4;
    if (l->cascade && l->filled[0] == LEVEL_ROWS) {
        l->filled[0] = 0;
        line_carry(l, 1, l->level[0]);
    }
}

static void line_finish(accumulators *l, void *acc)
{
    bool any = false;
    for (int k = 0; k < LEVELS; k++) {
        if (!l->filled[k])
            continue;
        if (any)
            l->fold(acc, l->level[k], l->width);
        else
            memcpy(acc, l->level[k], l->bytes);
        any = true;
    }
}

/* The next four rows: no hardware follows such that lie far apart. */
static void prefetch_rows(const char *p, int64_t stride, int64_t bytes)
{
    for (int r = 0; r < 4; r++)
        for (int64_t k = 0; k < bytes; k += 64)
            __builtin_prefetch(p + r * stride + k);
}

/* Rows of 'width' elements, 'step' apart, each dims_offset or (dims NULL) width after the one before. */
static void fold_some(const reduce_job *j, const char *base, const tn__strided_dims *dims, int64_t first, int64_t n,
                      int64_t width, int64_t step, void *acc)
{
    const tn__view *x = &j->l->in[0];
    const int64_t size = (int64_t)tn__dtype_size(x->dtype);
    tn__load load = tn__isa()->load[x->dtype][j->type];
    bool as_is = step == 1 && tn__dtypes[x->dtype].compute == x->dtype && tn__type_of(x->dtype) == j->type;
    accumulators l; /* its levels are written before they are read */
    l.fold = tn__isa()->reduce.fold[j->kind][j->type];
    l.fold4 = tn__isa()->reduce.fold4[j->kind][j->type];
    l.width = width;
    l.truth = j->kind >= TN__ANY;
    l.bytes = (size_t)width * tn__type_size(j->type);
    l.cascade = j->kind == TN__SUM && floating(j);
    memset(l.filled, 0, sizeof l.filled);
    double rows[4 * LINE];
    const int64_t apart = !dims ? width : dims->n == 1 ? dims->stride[0] : 0, item = (int64_t)tn__type_size(j->type);
    int64_t r = first;
    for (; apart && r + 4 <= first + n; r += 4) {
        const char *p = base + r * apart * size;
        if (apart * size > NEAR && r + 8 <= first + n)
            prefetch_rows(p + 4 * apart * size, apart * size, width * size);
        if (as_is) {
            line_add_four(&l, p, apart, size);
            continue;
        }
        for (int64_t k = 0; k < 4; k++)
            load((char *)rows + k * width * item, p + k * apart * size, step, width);
        line_add_four(&l, rows, width, item);
    }
    for (; r < first + n; r++) {
        const char *p = base + (apart ? r * apart : tn__dims_offset(dims, r)) * size;
        if (!as_is)
            load(rows, p, step, width);
        line_add(&l, as_is ? (const void *)p : rows);
    }
    line_finish(&l, acc);
}

/* Folds rows first .. first + n - 1 of the reduced dimensions, 'width' columns from base on, into acc (as T). Narrow rows
 * that follow each other in memory are folded many at a time, as one wide row. */
static void fold_rows(const reduce_job *j, const char *base, int64_t first, int64_t n, int64_t width, void *acc)
{
    int64_t many = LINE / width, step = j->kept.stride[0];
    bool narrow = many >= 4 && n >= 2 * many && step == 1 && j->reduced.n == 1 && j->reduced.stride[0] == width;
    if (!narrow) {
        fold_some(j, base, &j->reduced, first, n, width, step, acc);
        return;
    }
    const size_t item = tn__type_size(j->type);
    void (*fold)(void *, const void *, int64_t) = tn__isa()->reduce.fold[j->kind][j->type];
    double wide[LINE], rest[LINE];
    int64_t groups = n / many, left = n - groups * many;
    fold_some(j, base + first * width * (int64_t)tn__dtype_size(j->l->in[0].dtype), NULL, 0, groups, many * width, 1,
              wide);
    for (int64_t half; many > 1; many -= half) { /* its second half onto its first */
        half = many / 2;
        fold(wide, (const char *)wide + (size_t)((many - half) * width) * item, half * width);
    }
    memcpy(acc, wide, (size_t)width * item);
    if (left) {
        fold_some(j, base, &j->reduced, first + n - left, left, width, step, rest);
        fold(acc, rest, width);
    }
}

/* Stores a line of accumulators as results first .. */
static void store_line(const reduce_job *j, int64_t first, void *acc, int64_t width)
{
    const tn__view *out = &j->l->out[0];
    if (j->divisor != 1 && j->type == TN__F32)
        for (int64_t i = 0; i < width; i++)
            ((float *)acc)[i] = (float)((double)((float *)acc)[i] / j->divisor);
    else if (j->divisor != 1)
        for (int64_t i = 0; i < width; i++)
            ((double *)acc)[i] /= j->divisor;
    tn__store_strided(out->data, out->dtype, &j->out, first, acc, j->type, width);
}

typedef struct column_job {
    reduce_job *j;
    int64_t lines, line;   /* per row of kept[0]: how many lines, of how many columns */
    int64_t pieces, piece; /* of the reduced rows */
    bool turned;           /* they are short rows */
    char *partial;
} column_job;

/* Short rows, width of them from base on, in one piece each. */
static void fold_turned(const reduce_job *j, const char *base, int64_t width, void *acc)
{
    const size_t size = tn__dtype_size(j->l->in[0].dtype);
    double tile[TILE];
    tn__isa()->transpose(tile, width, base, j->kept.stride[0], width, j->n_reduced, size);
    fold_some(j, (const char *)tile, NULL, 0, j->n_reduced, width, 1, acc);
}

static void columns(void *ctx, int64_t begin, int64_t end)
{
    const column_job *c = ctx;
    const reduce_job *j = c->j;
    const tn__view *x = &j->l->in[0];
    const int64_t size = (int64_t)tn__dtype_size(x->dtype);
    double acc[LINE];
    for (int64_t i = begin; i < end; i++) {
        int64_t piece = i % c->pieces, line = i / c->pieces;
        int64_t outer = line / c->lines, col = line % c->lines * c->line;
        int64_t width = TN_MIN(c->line, j->kept.shape[0] - col), first = outer * j->kept.shape[0] + col;
        int64_t from = piece * c->piece, n = TN_MIN(c->piece, j->n_reduced - from);
        void *to = c->partial ? (void *)(c->partial + (size_t)i * LINE * sizeof(double)) : (void *)acc;
        const char *base = (const char *)x->data + tn__dims_offset(&j->kept, first) * size;
        if (c->turned)
            fold_turned(j, base, width, to);
        else
            fold_rows(j, base, from, n, width, to);
        if (!c->partial)
            store_line(j, first, to, width);
    }
}

static void combine_columns(const column_job *c)
{
    const reduce_job *j = c->j;
    void (*fold)(void *, const void *, int64_t) = tn__isa()->reduce.fold[j->kind][j->type];
    int64_t lines = j->n_kept / j->kept.shape[0] * c->lines;
    for (int64_t line = 0; line < lines; line++) {
        int64_t outer = line / c->lines, col = line % c->lines * c->line;
        int64_t width = TN_MIN(c->line, j->kept.shape[0] - col);
        char *acc = c->partial + (size_t)(line * c->pieces) * LINE * sizeof(double);
        for (int64_t p = 1; p < c->pieces; p++)
            fold(acc, acc + (size_t)p * LINE * sizeof(double), width);
        store_line(j, outer * j->kept.shape[0] + col, acc, width);
    }
}

static tn_status reduce_short(reduce_job *j)
{
    column_job c = {
        .j = j, .line = TN_MIN(LINE, TILE / j->n_reduced), .pieces = 1, .turned = true, .piece = j->n_reduced};
    c.lines = tn__div_up(j->kept.shape[0], c.line);
    tn__parallel_for(j->n_kept / j->kept.shape[0] * c.lines, tn__div_up(PIECE, j->n_reduced * c.line), columns, &c);
    return TN_OK;
}

static tn_status reduce_columns(reduce_job *j)
{
    column_job c = {.j = j, .line = LINE, .pieces = 1, .piece = j->n_reduced};
    c.lines = tn__div_up(j->kept.shape[0], LINE);
    int64_t lines = j->n_kept / j->kept.shape[0] * c.lines, width = TN_MIN(LINE, j->kept.shape[0]);
    if (lines < 64 && j->n_reduced * width >= 2 * PIECE) {
        c.piece = tn__div_up(PIECE, width);
        c.pieces = tn__div_up(j->n_reduced, c.piece);
    }
    if (c.pieces == 1) {
        tn__parallel_for(lines, tn__div_up(PIECE, j->n_reduced * width), columns, &c);
        return TN_OK;
    }
    size_t bytes = (size_t)(lines * c.pieces) * LINE * sizeof(double);
    c.partial = tn__block_get(bytes);
    if (!c.partial)
        return tn__error_memory("partial results", bytes);
    tn__parallel_for(lines * c.pieces, 1, columns, &c);
    combine_columns(&c);
    tn__block_put(c.partial, bytes);
    return TN_OK;
}

/* Results one after the other lie in lines of memory of their own, but beside others, for which these are needed again. */
static bool scatters(const reduce_job *j)
{
    const int64_t size = (int64_t)tn__dtype_size(j->l->out[0].dtype);
    bool beside = false;
    for (int32_t d = 1; d < j->out.n; d++)
        beside |= j->out.stride[d] == 1 && j->out.shape[d] >= 8;
    return beside && j->out.stride[0] * size >= 64 && j->out.shape[0] * 64 >= 8192;
}

/* Columns whose results are gathered in the input's order, and turned then. */
static tn_status reduce_scattered(reduce_job *j)
{
    const tn__launch *l = j->l;
    const size_t bytes = (size_t)j->n_kept * tn__dtype_size(l->out[0].dtype);
    const tn__strided_dims dims = j->out;
    int64_t shape[TN_MAX_DIMS], to[TN_MAX_DIMS], from[TN_MAX_DIMS], step = 1;
    char *space = tn__block_get(bytes);
    if (!space)
        return reduce_columns(j);
    for (int32_t d = 0; d < dims.n; step *= dims.shape[d++]) {
        const int32_t at = dims.n - 1 - d;
        shape[at] = dims.shape[d];
        to[at] = dims.stride[d];
        from[at] = j->out.stride[d] = step;
    }
    tn__launch aside = *l;
    aside.out[0].data = space;
    j->l = &aside;
    const tn_status e = reduce_columns(j);
    tn__view out = l->out[0], in = aside.out[0];
    out.ndim = in.ndim = dims.n;
    out.shape = in.shape = shape;
    out.stride = to, in.stride = from;
    out.contiguous = false, in.contiguous = true;
    if (!e)
        tn__cpu_copy_view(&out, &in);
    tn__block_put(space, bytes);
    return e;
}

/* ---- the kernel ---- */

static void fill_identity(const reduce_job *j)
{
    double v = j->kind == TN__PROD || j->kind == TN__ALL ? 1 : 0;
    if (j->kind == TN__SUM)
        v /= j->divisor; /* mean of nothing: NaN */
    const tn__view *out = &j->l->out[0];
    for (int64_t i = 0; i < out->numel; i++)
        tn__store_double(out->dtype, (char *)out->data + i * (int64_t)tn__dtype_size(out->dtype), v);
}

static tn_status reduce(const tn__launch *l, const tn__dims *dim)
{
    const tn__view *x = &l->in[0];
    uint32_t mask = 0;
    reduce_job j = {.l = l, .kind = kind_of(l->op), .type = tn__type_of(l->compute), .pieces = 1, .divisor = 1};
    for (int32_t i = 0; i < dim->n; i++)
        mask |= 1U << dim->d[i];
    tn__strided_dims_of(&j.reduced, x, mask);
    j.runs = reads_runs(&j);
    out_dims(&j, x, mask);
    j.n_reduced = tn__dims_numel(&j.reduced);
    j.n_kept = l->out[0].numel;
    if (l->op == TN__OP_mean)
        j.divisor = (double)j.n_reduced;
    if (j.n_kept == 0)
        return TN_OK;
    if (j.n_reduced == 0) {
        fill_identity(&j);
        return TN_OK;
    }
    bool column = j.n_kept > 1 && j.n_reduced > 1 && j.kept.stride[0] < j.reduced.stride[0] && j.kept.shape[0] > 1;
    if (!column && j.reduced.n == 1 &&
        tn__pays_to_turn(j.n_reduced, j.reduced.stride[0], j.kept.shape[0], j.kept.stride[0]))
        return reduce_short(&j);
    if (column && scatters(&j))
        return reduce_scattered(&j);
    return column ? reduce_columns(&j) : reduce_rows(&j);
}

tn_status tn__cpu_sum(const tn__launch *l)
{
    const tn__sum_params *p = l->params;
    return reduce(l, &p->dim);
}

tn_status tn__cpu_reduce(const tn__launch *l)
{
    const tn__reduction_params *p = l->params;
    return reduce(l, &p->dim);
}
