/* Matrix products: the own blocked product, and the kernel of every row that is one (mm bmm addmm mv dot linear).
 *
 * For each block of k: b is packed once, shared; then tasks, each some rows of a (packed by the task) times some columns
 * of b. Element (i, j) adds its products in the same order whatever the tasks, so threads do not change results.
 *
 * Of bfloat16, where the processor multiplies pairs (tn__isa_pairs), panels are of words that hold two elements each, along k.
 */
#include "backend/cpu/cpu.h"
#include "core/error.h"
#include "core/parallel.h"
#include "core/thread.h"
#include "ops/product/gemm.h"

enum {
    KC = 256,
    NC = 4096,
    MC_PANELS = 12,
    PAIR_LINE =
        (KC + 16) * 4, /* bytes from a copied row to the next: no power of 2, which few places of a cache share */
    WAYS = 12,
    SERIAL = 90 * 90 * 90, /* below this effort a second thread comes too late */
    EACH = 8192,           /* effort of one product of a batch, however small it is */
    NEAR = 1 << 20,        /* bytes of a product's matrices that a core's own caches hold */
    EVEN = 8               /* products of a batch for each thread, so that one more or less hardly matters */
};

/* In multiplications: an element of an operand or of the result costs as much as some. */
static double effort(int64_t m, int64_t n, int64_t k)
{
    const double a = (double)m * (double)k, b = (double)k * (double)n, c = (double)m * (double)n;
    return a * (double)n + 8 * (a + b + c);
}

typedef struct own_gemm {
    const tn__gemm *g;
    const tn__gemm_isa *isa;
    int64_t item, size;   /* bytes of an element computed with, and of one of a or b as it lies in memory */
    bool pairs;           /* k is counted in words of two elements */
    bool lines, in_place; /* rows of a lie along k, and tiles read them so: copies, or where they are */
    int64_t j0, n, p0, k; /* the block at work: columns of b, and k */
    int64_t width;        /* of a full b panel: two vectors */
    char *packed_b;       /* NULL: b's rows are used where they lie */
    int64_t rows, cols;   /* of a task */
    int64_t col_tasks;
    _Atomic bool failed;
} own_gemm;

static const char *at(const void *base, int64_t index, int64_t item)
{
    return (const char *)base + index * item;
}

/* Panels of b are two vectors wide; a last one that fits one vector is one wide. */
static int panel_width(const own_gemm *p, int64_t left)
{
    return left <= p->isa->vl ? p->isa->vl : (int)p->width;
}

/* How much of k there is, in what it is counted in. */
static int64_t depth(const own_gemm *p)
{
    return p->pairs ? tn__div_up(p->g->k, 2) : p->g->k;
}

/* A block of a matrix as panels are made of it: lines, each one row of a panel, and the step from one k to the next. */
typedef struct block {
    const char *at;
    int64_t line, step;
} block;

/* The block in the compute type, in 'room', one element after the other in the direction in which it lies in memory. */
static block convert_block(const own_gemm *p, char *room, block from, int64_t lines)
{
    tn__load load = tn__isa()->load[p->g->stored][p->isa - tn__isa()->gemm];
    if (from.line == 1 && from.step != 1) {
        for (int64_t k = 0; k < p->k; k++)
            load(room + k * lines * p->item, from.at + k * from.step * p->size, 1, lines);
        return (block){room, 1, lines};
    }
    for (int64_t i = 0; i < lines; i++)
        load(room + i * p->k * p->item, from.at + i * from.line * p->size, from.step, p->k);
    return (block){room, p->k, 1};
}

/* The block in words: as they lie in memory where they do, else in 'room'. */
static block pair_block(const own_gemm *p, char *room, block from, int64_t lines)
{
    const int64_t k = TN_MIN(2 * p->k, p->g->k - 2 * p->p0);
    if (from.line == 1 && from.step != 1) {
        p->isa->interleave(room, lines, from.at, from.step, lines, k);
        return (block){room, 1, lines};
    }
    if (from.step == 1 && k % 2 == 0 && from.line % 2 == 0 && (uintptr_t)from.at % 4 == 0)
        return (block){from.at, from.line / 2, 1};
    for (int64_t i = 0; i < lines; i++) {
        char *to = room + i * p->k * p->item;
        tn__isa()->move(to, 1, from.at + i * from.line * p->size, from.step, k, (size_t)p->size);
        if (k % 2)
            memset(to + k * p->size, 0, (size_t)p->size);
    }
    return (block){room, p->k, 1};
}

enum { GROUP = 8 /* panels of b that are converted together */ };

/* Panels of b from column first on, whose elements are converted, or joined to pairs. */
static void pack_converted(const own_gemm *p, block b, int64_t first, int64_t cols, char *room)
{
    const bool rows = p->pairs && b.line == 1 && b.step != 1; /* become panels at once */
    if (!rows)
        b = p->pairs ? pair_block(p, room, b, cols) : convert_block(p, room, b, cols);
    for (int64_t j = 0; j < cols; j += p->width) {
        const int64_t n = TN_MIN(p->width, cols - j), left = p->g->k - 2 * p->p0;
        char *const to = p->packed_b + (first + j) * p->k * p->item;
        if (rows)
            p->isa->interleave(to, panel_width(p, n), b.at + j * p->size, b.step, n, TN_MIN(2 * p->k, left));
        else
            p->isa->pack(to, panel_width(p, n), at(b.at, j * b.line, p->item), b.line, b.step, n, p->k, 1, 1);
    }
}

/* Panels of b from the i-th on, at most GROUP. */
static void pack_group(const own_gemm *p, int64_t i, int64_t panels, char *room)
{
    const tn__gemm *g = p->g;
    const int64_t first = i * p->width, cols = TN_MIN(panels * p->width, p->n - first);
    const int64_t k0 = p->pairs ? 2 * p->p0 : p->p0;
    const char *b = at(g->b, k0 * g->b_rs + (p->j0 + first) * g->b_cs, p->size);
    if (room) {
        pack_converted(p, (block){b, g->b_cs, g->b_rs}, first, cols, room);
        return;
    }
    for (int64_t j = 0; j < cols; j += p->width) {
        const int64_t n = TN_MIN(p->width, cols - j);
        p->isa->pack(p->packed_b + (first + j) * p->k * p->item, panel_width(p, n), at(b, j * g->b_cs, p->item),
                     g->b_cs, g->b_rs, n, p->k, 1, 1);
    }
}

static void pack_b(void *ctx, int64_t begin, int64_t end)
{
    own_gemm *p = ctx;
    const size_t bytes = (size_t)(GROUP * p->width * p->k * p->item);
    char *room = p->g->stored ? tn__block_get(bytes) : NULL;
    if (p->g->stored && !room) {
        atomic_store(&p->failed, true);
        return;
    }
    for (int64_t i = begin; i < end; i += GROUP)
        pack_group(p, i, TN_MIN(GROUP, end - i), room);
    if (room)
        tn__block_put(room, bytes);
}

/* Height of the panels that m rows are cut into: the even one that wastes least. A tile of h rows takes about h cycles
 * for each k, and as many as 40 to begin and to end. Rows that are read where they are, 4096 bytes apart, share as many places of
 * the nearest cache as it has ways. */
static int64_t panel_height(const own_gemm *p, int64_t m)
{
    const int64_t most = p->in_place && p->g->a_rs * p->size % 4096 == 0 ? TN_MIN(WAYS, p->isa->mr) : p->isa->mr;
    int64_t best = most, least = INT64_MAX;
    for (int64_t h = most; h >= 2 && h > p->isa->mr / 2; h -= 2) {
        int64_t cost = tn__div_up(m, h) * (h * p->k + 40);
        if (cost < least) {
            best = h;
            least = cost;
        }
    }
    return TN_MIN(best, m + (m & 1));
}

/* Rows of a as a tile reads them: 'line' bytes apart, or, of 0, a packed panel. */
typedef struct left {
    const char *at;
    int64_t line;
} left;

static void multiply(const own_gemm *p, left a, int64_t h, const char *b, int64_t ldb, int vectors, char *c,
                     int64_t ldc, bool accumulate)
{
    if (a.line)
        p->isa->tile_lines[h / 2 - 1][vectors - 1](p->k, a.at, a.line, b, ldb, c, ldc, accumulate);
    else
        p->isa->tile[h / 2 - 1][vectors - 1](p->k, a.at, b, ldb, c, ldc, accumulate);
}

/* One tile; where it hangs over an edge of c it is made aside and what belongs is copied. */
static void run_tile(const own_gemm *p, left a, int64_t h, const char *b, int64_t ldb, int vectors, char *c, int64_t m,
                     int64_t n)
{
    const tn__gemm *g = p->g;
    bool accumulate = g->accumulate || p->p0 > 0;
    const double scale = p->pairs ? g->scale : 1; /* that others' panels have in them */
    if (m == h && n == vectors * p->isa->vl && scale == 1 && !g->narrow) {
        multiply(p, a, h, b, ldb, vectors, c, g->ldc, accumulate);
        return;
    }
    _Alignas(64) char aside[16 * 32 * 8];
    int64_t ld = vectors * p->isa->vl;
    multiply(p, a, h, b, ldb, vectors, aside, ld, false);
    if (g->narrow) {
        p->isa->put(c, g->ldc, aside, ld, m, n, scale);
        return;
    }
    for (int64_t i = 0; i < m; i++) {
        char *to = c + i * g->ldc * p->item;
        const char *from = aside + i * ld * p->item;
        if (!accumulate && scale == 1) {
            memcpy(to, from, (size_t)(n * p->item));
            continue;
        }
        if (!accumulate)
            memset(to, 0, (size_t)(n * p->item));
        p->isa->axpy(to, from, scale, n);
    }
}

/* Where panel j of b begins, and its row stride: packed, or in place. */
static const char *panel_of_b(const own_gemm *p, int64_t j, int width, int64_t *ldb)
{
    const tn__gemm *g = p->g;
    *ldb = p->packed_b ? width : g->b_rs;
    return p->packed_b ? p->packed_b + j * p->k * p->item : at(g->b, p->p0 * g->b_rs + p->j0 + j, p->item);
}

/* What the next task packs, asked for while this one multiplies: packing waits for memory otherwise, a quarter of the time of a
 * product of 64 columns whose left side lies in no cache. Pieces of some bytes, and how many lines of a cache those are. */
typedef struct ahead {
    const char *at;
    int64_t apart, piece, lines, fetched, line;
} ahead;

enum { CACHE_LINE = 64, PAGES = 16384, FEW_COLUMNS = 256, FAR = 2 << 20 /* bytes of a that may lie in no cache */ };

static ahead rows_ahead(const own_gemm *p, int64_t i0, int64_t m)
{
    const tn__gemm *g = p->g;
    const int64_t scale = p->pairs ? 2 : 1, k = TN_MIN(p->k * scale, g->k - p->p0 * scale);
    const char *from = at(g->a, i0 * g->a_rs + p->p0 * scale * g->a_cs, p->size);
    const bool along = g->a_cs == 1;
    if (p->in_place || m <= 0 || p->n > FEW_COLUMNS || g->m * g->k * p->size < FAR || !(along || g->a_rs == 1))
        return (ahead){.lines = 0};
    const int64_t piece = tn__div_up((along ? k : m) * p->size, CACHE_LINE);
    return (ahead){from, (along ? g->a_rs : g->a_cs) * p->size, piece, piece * (along ? m : k), 0, 0};
}

static void fetch_until(ahead *next, int64_t end)
{
    for (; next->fetched < end; next->fetched++) {
        __builtin_prefetch(next->at + next->line * CACHE_LINE, 0, 2);
        if (++next->line == next->piece) {
            next->line = 0;
            next->at += next->apart;
        }
    }
}

/* Rows of a as tiles read them: an even number, of whole words. Nothing is turned, which takes longer than the copy. */
static void copy_lines(const own_gemm *p, char *to, const char *from, int64_t m)
{
    const int64_t k = TN_MIN(2 * p->k, p->g->k - 2 * p->p0);
    for (int64_t i = 0; i < m; i++) {
        memcpy(to + i * PAIR_LINE, from + i * p->g->a_rs * p->size, (size_t)(k * p->size));
        if (k % 2)
            memset(to + i * PAIR_LINE + k * p->size, 0, (size_t)p->size);
    }
    if (m % 2)
        memset(to + m * PAIR_LINE, 0, (size_t)(p->k * p->item));
}

/* Rows of a in panels of h, or as tiles read them; what is read where it is has copies of the rows of an odd last tile. 'room' as
 * in run_task. */
static left pack_a(const own_gemm *p, char *to, block a, int64_t m, int64_t h, char *room)
{
    const int64_t line = a.line * p->size, whole = m % 2 ? (m - 1) / h * h : m;
    if (p->in_place) {
        copy_lines(p, to, a.at + whole * line, m - whole);
        return (left){a.at, line};
    }
    if (p->lines) {
        copy_lines(p, to, a.at, m);
        return (left){to, PAIR_LINE};
    }
    if (room)
        a = p->pairs ? pair_block(p, room, a, m) : convert_block(p, room, a, m);
    for (int64_t i = 0; i < m; i += h)
        p->isa->pack(to + i * p->k * p->item, (int)h, at(a.at, i * a.line, p->item), a.line, a.step, TN_MIN(h, m - i),
                     p->k, p->g->scale, p->g->whole);
    return (left){to, 0};
}

/* The rows of a of a tile that begins with row i and has m of them. */
static left rows_from(const own_gemm *p, left a, const char *packed, int64_t i, int64_t m)
{
    if (p->in_place && m % 2)
        return (left){packed, PAIR_LINE};
    return (left){a.at + i * (a.line ? a.line : p->k * p->item), a.line};
}

/* room: for the rows of a, converted; NULL where they need not be. */
static void run_task(const own_gemm *p, int64_t i0, int64_t m, int64_t j0, int64_t n, char *packed_a, char *room,
                     ahead *next)
{
    const tn__gemm *g = p->g;
    const int64_t h = panel_height(p, m), k0 = p->pairs ? 2 * p->p0 : p->p0, item_c = g->narrow ? p->size : p->item;
    const block from = {at(g->a, i0 * g->a_rs + k0 * g->a_cs, p->size), g->a_rs, g->a_cs};
    const left a = pack_a(p, packed_a, from, m, h, room);
    const int64_t tiles = next ? tn__div_up(n, p->width) * tn__div_up(m, h) : 0;
    int64_t tile = 0;
    for (int64_t j = j0; j < j0 + n; j += p->width) {
        int64_t cols = TN_MIN(p->width, p->n - j), ldb;
        int width = panel_width(p, cols);
        const char *b = panel_of_b(p, j, width, &ldb);
        for (int64_t i = 0; i < m; i += h) {
            const int64_t rows = TN_MIN(h, m - i), high = a.line ? rows + rows % 2 : h;
            if (next)
                fetch_until(next, next->lines * ++tile / tiles);
            char *c = (char *)g->c + ((i0 + i) * g->ldc + p->j0 + j) * item_c;
            run_tile(p, rows_from(p, a, packed_a, i, rows), high, b, ldb, width / p->isa->vl, c, rows, cols);
        }
    }
}

/* How tiles of pairs read a. Where it is pays where few columns come of it, unless its rows lie so that few places of a cache
 * share them; the words of an odd row end beyond it. */
static void choose_lines(own_gemm *p)
{
    const tn__gemm *g = p->g;
    p->lines = p->pairs && g->a_cs == 1;
    p->in_place = p->lines && g->k % 2 == 0 && p->n <= FEW_COLUMNS && g->a_rs * p->size % PAGES != 0;
}

static void run_tasks(void *ctx, int64_t begin, int64_t end)
{
    own_gemm *p = ctx;
    const int64_t packed = (p->rows + 2 * p->isa->mr) * (p->lines ? PAIR_LINE : p->k * p->item),
                  room = p->g->stored ? p->rows * p->k * p->item : 0;
    const size_t bytes = (size_t)(packed + room);
    char *packed_a = tn__block_get(bytes);
    if (!packed_a) {
        atomic_store(&p->failed, true);
        return;
    }
    for (int64_t t = begin; t < end; t++) {
        int64_t i = t / p->col_tasks * p->rows, j = t % p->col_tasks * p->cols;
        const int64_t after = i + p->rows, last = t + 1 == end || (t + 1) % p->col_tasks;
        ahead next = rows_ahead(p, after, last ? 0 : TN_MIN(p->rows, p->g->m - after));
        run_task(p, i, TN_MIN(p->rows, p->g->m - i), j, TN_MIN(p->cols, p->n - j), packed_a,
                 room ? packed_a + packed : NULL, next.lines ? &next : NULL);
    }
    tn__block_put(packed_a, bytes);
}

/* Rows of a task: few enough that every thread has several, enough that packing a pays; then columns likewise. */
static void cut(own_gemm *p, int threads)
{
    const int64_t mr = p->isa->mr, want = threads == 1 ? 1 : 4 * threads;
    int64_t panels = tn__div_up(p->g->m, mr), per = tn__div_up(panels, want);
    p->rows = TN_MIN(TN_MAX(per, threads == 1 ? MC_PANELS : 2), MC_PANELS) * mr;
    int64_t row_tasks = tn__div_up(p->g->m, p->rows);
    p->rows = tn__div_up(p->g->m, row_tasks); /* even shares */
    p->rows = tn__div_up(p->rows, mr) * mr < p->g->m ? tn__div_up(p->rows, mr) * mr : p->g->m;
    row_tasks = tn__div_up(p->g->m, p->rows);
    int64_t split = row_tasks >= 2 * threads ? 1 : tn__div_up(2 * threads, row_tasks);
    int64_t col_panels = tn__div_up(p->n, p->width);
    p->cols = threads == 1 ? p->n : tn__div_up(col_panels, TN_MIN(split, col_panels)) * p->width;
    p->col_tasks = tn__div_up(p->n, p->cols);
}

/* b can stay where it is: rows contiguous, whole panels, and few enough rows of a that packing would not pay. */
static bool use_in_place(const own_gemm *p)
{
    return !p->g->stored && p->g->b_cs == 1 && p->n % p->isa->vl == 0 && p->g->m <= 6 * p->isa->mr &&
           p->g->b_rs * p->item % 4096 != 0;
}

enum { SMALL_BYTES = 24576, SMALL_WORK = 48 * 48 * 48 };

/* A product whose packed operands lie on the stack: no memory is asked for, and no thread. */
static bool run_small(own_gemm *p)
{
    _Alignas(64) char a[SMALL_BYTES], b[SMALL_BYTES], room[SMALL_BYTES];
    const tn__gemm *g = p->g;
    const int64_t panels = tn__div_up(g->n, p->width), rows = g->m + 2 * p->isa->mr, k = depth(p),
                  most = SMALL_BYTES / TN_MAX(k * p->item, 1);
    if (k > KC || rows > most || panels * p->width > most || GROUP * p->width > (g->stored ? most : INT64_MAX) ||
        (double)g->m * (double)g->n * (double)g->k > SMALL_WORK)
        return false;
    char *const apart = g->stored ? room : NULL;
    p->n = g->n;
    p->k = k;
    if (!use_in_place(p)) {
        p->packed_b = b;
        for (int64_t i = 0; i < panels; i += GROUP)
            pack_group(p, i, TN_MIN(GROUP, panels - i), apart);
    }
    run_task(p, 0, g->m, 0, g->n, a, apart, NULL);
    return true;
}

static bool is_pairs(const tn__gemm *g, int type)
{
    return g->stored == TN_BF16 && type == TN__F32 && tn__isa_pairs();
}

tn_status tn__cpu_gemm_own(const tn__gemm *g, int type)
{
    own_gemm p = {
        .g = g, .isa = &tn__isa()->gemm[type], .item = (int64_t)tn__type_size(type), .pairs = is_pairs(g, type)};
    if (p.pairs)
        p.isa = tn__isa_pairs();
    p.size = tn__gemm_item(g, type);
    p.width = 2 * p.isa->vl;
    const int64_t k = depth(&p);
    if (run_small(&p))
        return TN_OK;
    int threads = tn__self()->in_parallel || effort(g->m, g->n, g->k) < SERIAL ? 1 : tn__num_threads();
    int64_t nc = TN_MIN(NC, tn__div_up(g->n, p.width) * p.width);
    size_t bytes = (size_t)(nc * TN_MIN(KC, k) * p.item);
    char *buffer = NULL;
    for (p.j0 = 0; p.j0 < g->n; p.j0 += NC) {
        p.n = TN_MIN(NC, g->n - p.j0);
        choose_lines(&p);
        for (p.p0 = 0; p.p0 < k; p.p0 += KC) {
            p.k = TN_MIN(KC, k - p.p0);
            bool in_place = use_in_place(&p);
            if (!in_place && !buffer && !(buffer = tn__block_get(bytes)))
                return tn__error_memory("a packed operand", bytes);
            p.packed_b = in_place ? NULL : buffer;
            cut(&p, threads);
            int64_t panels = tn__div_up(p.n, p.width), tasks = tn__div_up(g->m, p.rows) * p.col_tasks;
            if (!in_place)
                tn__parallel_for(panels, threads == 1 ? panels : TN_MAX(1, tn__div_up(panels, 4 * threads)), pack_b,
                                 &p);
            tn__parallel_for(tasks, threads == 1 ? tasks : 1, run_tasks, &p);
        }
    }
    tn__block_put(buffer, bytes);
    return p.failed ? tn__error_memory("a packed operand", bytes) : TN_OK;
}

tn_status tn__cpu_gemm_run(const tn__gemm *g, int type)
{
    if (g->m == 0 || g->n == 0 || g->k == 0)
        return TN_OK;
    if (tn__blas_gemm(g, type))
        return TN_OK;
    return tn__cpu_gemm_own(g, type);
}

/* A few long sums: packing would cost more than they do. */
static bool is_few_dots(const tn__gemm *g, int type)
{
    return type <= TN__F64 && g->m * g->n <= 64 && g->k >= 512 && g->a_cs == 1 && g->b_rs == 1;
}

bool tn__cpu_gemm_narrow(const tn__gemm *g, int type)
{
    return is_pairs(g, type) && !g->accumulate && g->k > 0 && g->k <= 2 * KC && g->m > 1 && g->n > 1 &&
           !is_few_dots(g, type);
}

static tn_status run_dots(const tn__gemm *g, int type)
{
    tn_status e = TN_OK;
    for (int64_t j = 0; j < g->n && !e; j++) {
        tn__gemm one = *g;
        one.n = 1;
        one.b = at(g->b, j * g->b_cs, tn__gemm_item(g, type));
        one.c = (char *)g->c + j * (int64_t)tn__type_size(type);
        e = tn__cpu_gemv(&one, type);
    }
    return e;
}

static tn_status run_gemm(const tn__gemm *g, int type)
{
    if (g->k == 0 && !g->accumulate)
        for (int64_t i = 0; i < g->m; i++)
            memset((char *)g->c + i * g->ldc * (int64_t)tn__type_size(type), 0, (size_t)g->n * tn__type_size(type));
    if (g->m == 0 || g->n == 0 || g->k == 0)
        return TN_OK;
    if (g->m == 1 || g->n == 1)
        return tn__cpu_gemv(g, type);
    if (is_few_dots(g, type))
        return run_dots(g, type);
    return type <= TN__F64 ? tn__cpu_gemm_run(g, type) : tn__cpu_gemm_own(g, type);
}

/* ---- the kernel of the rows ---- */

/* A view converted to the compute type, dense and row-major. */
static void *converted(const tn__view *v, int type, size_t *bytes)
{
    tn__strided_dims d = {.n = TN_MAX(v->ndim, 1), .shape = {1}, .stride = {1}};
    for (int32_t i = 0; i < v->ndim; i++) {
        d.shape[i] = v->shape[v->ndim - 1 - i];
        d.stride[i] = v->stride[v->ndim - 1 - i];
    }
    *bytes = (size_t)TN_MAX(v->numel, 1) * tn__type_size(type);
    void *p = tn__block_get(*bytes);
    if (p && v->numel)
        tn__load_strided(p, type, v->dtype, v->data, &d, 0, v->numel);
    return p;
}

typedef struct bias_job {
    const tn__gemm_problem *s;
    int64_t n, rs, cs; /* a row of c, and the steps in the bias */
    char *c;
    int type;
} bias_job;

static void scale_row(const tn__gemm_problem *s, int64_t n, void *row, int type)
{
    for (int64_t k = 0; k < n; k++) {
        if (type == TN__F32)
            ((float *)row)[k] *= (float)s->beta;
        else if (type == TN__F64)
            ((double *)row)[k] *= s->beta;
        else if (type == TN__I32)
            ((uint32_t *)row)[k] *= (uint32_t)s->whole_beta;
        else
            ((uint64_t *)row)[k] *= (uint64_t)s->whole_beta;
    }
}

/* Rows of c = beta * bias, broadcast; c is dense. */
static void set_rows(void *ctx, int64_t begin, int64_t end)
{
    const bias_job *j = ctx;
    const tn__view *v = j->s->bias;
    const int64_t item = (int64_t)tn__type_size(j->type), size = (int64_t)tn__dtype_size(v->dtype);
    tn__load load = tn__isa()->load[v->dtype][j->type];
    for (int64_t i = begin; i < end; i++) {
        char *row = j->c + i * j->n * item;
        if (i > begin && j->rs == 0) {
            memcpy(row, row - j->n * item, (size_t)(j->n * item));
            continue;
        }
        load(row, (const char *)v->data + i * j->rs * size, j->cs, j->n);
        if (j->s->beta != 1)
            scale_row(j->s, j->n, row, j->type);
    }
}

/* One column is a row, too. */
static void set_from_bias(const tn__gemm_problem *s, void *c, int type)
{
    const bool column = s->n == 1;
    bias_job j = {s, column ? s->m : s->n, column ? 0 : s->bias_rs, column ? s->bias_rs : s->bias_cs, c, type};
    tn__parallel_for(column ? 1 : s->m, tn__div_up(32768, TN_MAX(j.n, 1)), set_rows, &j);
}

typedef struct batch_job {
    const tn__gemm_problem *s;
    int type;
    tn_dtype stored; /* of a and b; 0: the compute type */
    bool narrow;     /* and of the result */
    const void *a, *b;
    void *c;
    _Atomic tn_status status;
} batch_job;

/* Product 'i' of a batch. */
static tn__gemm product_of(const batch_job *j, int64_t i)
{
    const tn__gemm_problem *s = j->s;
    const int64_t item = (int64_t)tn__type_size(j->type), size = j->stored ? (int64_t)tn__dtype_size(j->stored) : item;
    return (tn__gemm){.m = s->m,
                      .n = s->n,
                      .k = s->k,
                      .a = at(j->a, i * s->a_bs, size),
                      .a_rs = s->a_rs,
                      .a_cs = s->a_cs,
                      .b = at(j->b, i * s->b_bs, size),
                      .b_rs = s->b_rs,
                      .b_cs = s->b_cs,
                      .c = (char *)j->c + i * s->m * s->n * (j->narrow ? size : item),
                      .ldc = s->n,
                      .scale = s->alpha,
                      .whole = s->whole_alpha,
                      .stored = j->stored,
                      .narrow = j->narrow,
                      .accumulate = s->bias != NULL && s->beta != 0};
}

static void run_batch(void *ctx, int64_t begin, int64_t end)
{
    batch_job *j = ctx;
    for (int64_t i = begin; i < end; i++) {
        const tn__gemm g = product_of(j, i);
        tn_status e = run_gemm(&g, j->type);
        if (e)
            atomic_store(&j->status, e);
    }
}

/* One number each, of rows that lie in one piece. */
static bool is_dots(const tn__gemm_problem *s, int type, tn_dtype stored)
{
    return s->m == 1 && s->n == 1 && s->a_cs == 1 && s->b_rs == 1 && type <= TN__F64 && !stored && !s->bias;
}

static void run_dots_of_batch(void *ctx, int64_t begin, int64_t end)
{
    const batch_job *j = ctx;
    const tn__gemm_problem *s = j->s;
    const tn__gemm_isa *isa = &tn__isa()->gemm[j->type];
    const int64_t item = (int64_t)tn__type_size(j->type);
    for (int64_t i = begin; i < end; i++) {
        const double sum = s->alpha * isa->dot(at(j->a, i * s->a_bs, item), at(j->b, i * s->b_bs, item), s->k);
        if (j->type == TN__F32)
            ((float *)j->c)[i] = (float)sum;
        else
            ((double *)j->c)[i] = sum;
    }
}

enum { DOTS = 128, DOTS_BLOCK = 1024 };

static void fill_ones(void *to, int type, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (type == TN__F32)
            ((float *)to)[i] = 1;
        else
            ((double *)to)[i] = 1;
}

/* The same of short rows that follow each other: multiplied in one run, turned, and added up as columns. */
static void run_short_dots(void *ctx, int64_t begin, int64_t end)
{
    double ones[TN__SHORT_ROW];
    _Alignas(64) char product[DOTS_BLOCK * 8], tile[DOTS_BLOCK * 8];
    const batch_job *j = ctx;
    const int64_t item = (int64_t)tn__type_size(j->type), k = j->s->k, most = TN_MIN(DOTS, DOTS_BLOCK / k);
    fill_ones(ones, j->type, k);
    for (int64_t i = begin; i < end; i += most) {
        const int64_t n = TN_MIN(most, end - i);
        char *to = (char *)j->c + i * item;
        tn__isa()->loops[TN__OP_mul][j->type](product, at(j->a, i * k, item), at(j->b, i * k, item), NULL, n * k);
        tn__isa()->transpose(tile, n, product, k, n, k, (size_t)item);
        memset(to, 0, (size_t)(n * item));
        tn__isa()->gemm[j->type].columns(to, tile, n, ones, n, k);
    }
}

static bool is_short_dots(const batch_job *j)
{
    const tn__gemm_problem *s = j->s;
    return is_dots(s, j->type, j->stored) && s->k < 4 * tn__isa()->gemm[j->type].vl && s->alpha == 1 &&
           s->a_bs == s->k && s->b_bs == s->k && tn__pays_to_turn(s->k, 1, s->batch, s->k);
}

/* Many products that are not small go to a thread each where the nearest caches hold them: two threads at one of them pack its
 * right side together, and wait for each other twice. A BLAS has threads of its own. */
static bool pays_each(const batch_job *j)
{
    const tn__gemm_problem *s = j->s;
    const int64_t item = j->stored ? (int64_t)tn__dtype_size(j->stored) : (int64_t)tn__type_size(j->type),
                  bytes = (s->m * s->k + s->k * s->n + s->m * s->n) * item;
    return bytes <= NEAR && s->batch >= EVEN * tn__num_threads() && !tn__blas_used(j->stored, j->type);
}

/* Operands as they are stored, the result in the compute type, or narrow, dense. */
static tn_status run_shape(batch_job *j)
{
    const tn__gemm_problem *s = j->s;
    if (s->bias && s->beta != 0)
        set_from_bias(s, j->c, j->type);
    const double work = effort(s->m, s->n, s->k);
    if (s->batch > 1 && work < SERIAL)
        tn__parallel_for(s->batch, (int64_t)(SERIAL / (work + EACH)) + 1,
                         is_short_dots(j)                 ? run_short_dots
                         : is_dots(s, j->type, j->stored) ? run_dots_of_batch
                                                          : run_batch,
                         j);
    else if (s->batch > 1 && pays_each(j))
        tn__parallel_for(s->batch, 1, run_batch, j);
    else
        run_batch(j, 0, s->batch);
    return j->status;
}

typedef struct store_job {
    const tn__view *out;
    const char *c;
    int type;
} store_job;

static void store_piece(void *ctx, int64_t begin, int64_t end)
{
    const store_job *j = ctx;
    tn__isa()->store[j->out->dtype][j->type]((char *)j->out->data + begin * (int64_t)tn__dtype_size(j->out->dtype), 1,
                                             j->c + begin * (int64_t)tn__type_size(j->type), end - begin);
}

static void store_result(const tn__view *out, const void *c, int type)
{
    store_job j = {out, c, type};
    if (out->contiguous) {
        tn__parallel_for(out->numel, 32768, store_piece, &j);
        return;
    }
    tn__strided_dims d = {.n = TN_MAX(out->ndim, 1), .shape = {1}, .stride = {1}};
    for (int32_t i = 0; i < out->ndim; i++) {
        d.shape[i] = out->shape[out->ndim - 1 - i];
        d.stride[i] = out->stride[out->ndim - 1 - i];
    }
    tn__store_strided(out->data, out->dtype, &d, 0, c, type, out->numel);
}

/* Operands that are no matrices where they lie (linear's input, whose rows are not one run) are copied first. */
static tn_status run_copies(const tn__launch *l, tn__gemm_problem *s, int type, void *c)
{
    size_t na = 0, nb = 0;
    void *a = converted(s->a, type, &na), *b = converted(s->b, type, &nb);
    tn_status e = a && b ? TN_OK : tn__error_memory("converted operands of a product", na + nb);
    if (!e) {
        tn__gemm_problem_dense(s, l->op == TN__OP_linear);
        batch_job j = {.s = s, .type = type, .a = a, .b = b, .c = c};
        e = run_shape(&j);
    }
    tn__block_put(a, na);
    tn__block_put(b, nb);
    return e;
}

/* The result is written where it is to lie: in the compute type, or narrow. */
static bool writes_out(const tn__launch *l, batch_job *j)
{
    const tn__view *out = &l->out[0];
    if (!out->contiguous || (l->op == TN__OP_addmm && (tn__views_meet(out, j->s->a) || tn__views_meet(out, j->s->b))))
        return false;
    if (!j->stored)
        return true;
    const tn__gemm first = product_of(j, 0);
    return j->narrow = tn__cpu_gemm_narrow(&first, j->type);
}

tn_status tn__cpu_gemm(const tn__launch *l)
{
    const tn__view *out = &l->out[0];
    tn__gemm_problem s = tn__gemm_problem_of(l);
    if (out->numel == 0)
        return TN_OK;
    const bool rows = l->op != TN__OP_linear || tn__gemm_problem_rows(&l->in[0], &s.a_rs);
    batch_job j = {.s = &s, .type = tn__type_of(l->compute), .a = s.a->data, .b = s.b->data, .c = out->data};
    if (tn__dtypes[out->dtype].compute != out->dtype)
        j.stored = out->dtype;
    const bool into = (rows || !j.stored) && writes_out(l, &j);
    size_t bytes = (size_t)out->numel * tn__type_size(j.type);
    void *c = into ? out->data : tn__block_get(bytes);
    if (!c)
        return tn__error_memory("the result of a product", bytes);
    j.c = c;
    tn_status e = rows ? run_shape(&j) : run_copies(l, &s, j.type, c);
    if (!into) {
        if (!e)
            store_result(out, c, j.type);
        tn__block_put(c, bytes);
    }
    return e;
}
