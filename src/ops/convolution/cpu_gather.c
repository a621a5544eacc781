/* Panels of what a convolution reads, and the product with its weights. */
#include "ops/convolution/cpu_gather.h"
#include "core/error.h"
#include "core/parallel.h"
#include "core/thread.h"

/* ---- panels ---- */

/* Pieces of a row of so many places: each line of the result that it touches is one. */
static int64_t most_pieces(const tn__gather *g, int64_t width)
{
    return TN_MIN(width, width / TN_MAX(g->d[2].places, 1) + 2);
}

static size_t rounded(size_t bytes)
{
    return (bytes + 63) & ~(size_t)63;
}

size_t tn__panel_bytes(const tn__gather *g, int64_t width)
{
    const size_t taps = (size_t)tn__gather_taps(g);
    return rounded(taps * (size_t)most_pieces(g, width) * sizeof(tn__piece)) + rounded((taps + 1) * sizeof(int32_t)) +
           rounded(taps);
}

void tn__panel_in(tn__panel *p, const tn__gather *g, void *room, int64_t width)
{
    const size_t taps = (size_t)tn__gather_taps(g);
    char *at = room;
    p->piece = (tn__piece *)(void *)at;
    at += rounded(taps * (size_t)most_pieces(g, width) * sizeof(tn__piece));
    p->first = (int32_t *)(void *)at;
    at += rounded((taps + 1) * sizeof(int32_t));
    p->whole = (bool *)at;
}

/* The places of [from, from + n) that read inside: *n of them from the returned one on. */
static int64_t inside(const tn__taps *d, int64_t offset, int64_t from, int64_t *n)
{
    int64_t end = from + *n;
    if (from * d->step + offset < 0)
        from = tn__div_up(-offset, d->step);
    if ((end - 1) * d->step + offset >= d->size)
        end = offset >= d->size ? from : (d->size - 1 - offset) / d->step + 1;
    *n = TN_MAX(end - from, 0);
    return from;
}

/* The pieces of one tap: a line of the result after the other. */
static int32_t pieces_of(const tn__gather *g, const int64_t *tap, int64_t j, int64_t n, tn__piece *to, int32_t *covered)
{
    const tn__taps *d = g->d;
    int64_t t[TN__SPATIAL] = {j / (d[1].places * d[2].places), j / d[2].places % d[1].places, j % d[2].places};
    int32_t pieces = 0, all = 0;
    for (int64_t at = 0, some; at < n; at += some) {
        some = TN_MIN(n - at, d[2].places - t[2]);
        const int64_t x0 = t[0] * d[0].step + d[0].offset[tap[0]], x1 = t[1] * d[1].step + d[1].offset[tap[1]];
        int64_t count = some;
        const int64_t first = inside(&d[2], d[2].offset[tap[2]], t[2], &count);
        if (count && x0 >= 0 && x0 < d[0].size && x1 >= 0 && x1 < d[1].size) {
            const int64_t from =
                x0 * d[0].stride + x1 * d[1].stride + (first * d[2].step + d[2].offset[tap[2]]) * d[2].stride;
            tn__piece *last = to + pieces - 1;
            const int32_t place = (int32_t)(at + first - t[2]);
            if (pieces && last->at + last->n == place && last->from + last->n * d[2].step * d[2].stride == from)
                last->n += (int32_t)count;
            else
                to[pieces++] = (tn__piece){place, (int32_t)count, from};
            all += (int32_t)count;
        }
        t[2] = 0;
        if (++t[1] == d[1].places) {
            t[1] = 0;
            t[0]++;
        }
    }
    *covered = all;
    return pieces;
}

void tn__panel_at(tn__panel *p, const tn__gather *g, int64_t j, int64_t n)
{
    const int64_t taps = tn__gather_taps(g);
    int64_t tap[TN__SPATIAL] = {0, 0, 0};
    p->width = (int32_t)n;
    p->first[0] = 0;
    for (int64_t i = 0; i < taps; i++) {
        int32_t covered;
        p->first[i + 1] = p->first[i] + pieces_of(g, tap, j, n, p->piece + p->first[i], &covered);
        p->whole[i] = covered == n;
        if (++tap[2] == g->d[2].n) {
            tap[2] = 0;
            if (++tap[1] == g->d[1].n) {
                tap[1] = 0;
                tap[0]++;
            }
        }
    }
}

/* Dense elements: 16 bytes at once, the last ones again. */
static void copy_dense(char *to, const char *from, int64_t bytes)
{
    if (bytes == 64) { /* most panels */
        memcpy(to, from, 64);
        return;
    }
    if (bytes >= 16) {
        for (int64_t i = 0; i + 16 <= bytes; i += 16)
            memcpy(to + i, from + i, 16);
        memcpy(to + bytes - 16, from + bytes - 16, 16);
        return;
    }
    for (int64_t i = 0; i < bytes; i += 4)
        memcpy(to + i, from + i, 4);
}

static void copy_apart(char *to, const char *from, int64_t n, int64_t step, int64_t item)
{
    if (step == 2) {
        tn__isa()->convolution.second[item == 4 ? TN__F32 : TN__F64](to, from, n);
        return;
    }
    if (item == 4)
        for (int64_t i = 0; i < n; i++)
            memcpy(to + 4 * i, from + 4 * i * step, 4);
    else
        for (int64_t i = 0; i < n; i++)
            memcpy(to + 8 * i, from + 8 * i * step, 8);
}

static void row_of(const tn__panel *p, const tn__gather *g, const char *channel, int64_t tap, char *to, int64_t width)
{
    const int64_t item = (int64_t)tn__type_size(g->type), step = g->d[2].step * g->d[2].stride;
    if (!p->whole[tap] || p->width < width)
        memset(to, 0, (size_t)(width * item));
    for (int32_t i = p->first[tap]; i < p->first[tap + 1]; i++) {
        const tn__piece *q = p->piece + i;
        if (step == 1)
            copy_dense(to + q->at * item, channel + q->from * item, q->n * item);
        else
            copy_apart(to + q->at * item, channel + q->from * item, q->n, step, item);
    }
}

void tn__panel_row(const tn__panel *p, const tn__gather *g, const char *channels, int64_t k, char *to, int64_t width)
{
    const int64_t taps = tn__gather_taps(g);
    row_of(p, g, channels + k / taps * g->in_channel * (int64_t)tn__type_size(g->type), k % taps, to, width);
}

/* ---- the product ---- */

enum {
    DEPTH = 256,        /* of a block: a panel of it stays in the nearest cache */
    PANELS = 16,        /* of a task: a block of weights is read once for all of them */
    PIECES = 1 << 20,   /* bytes of what is known of them */
    TASKS = 4,          /* for each thread */
    SERIAL = 64 * 4096, /* multiplications for which a second thread comes too late */
    LANES = 32          /* the widest panel */
};

typedef struct job {
    const tn__gather_product *p;
    const tn__gemm_isa *isa;
    int64_t item, depth, places, width;
    int64_t height, padded; /* of a panel of weights; all rows of a group's */
    int64_t run, step;      /* of a row of weights: so many lie 'step' apart */
    char *packed;           /* weights: [group][block of depth][panel][k][height] */
    int64_t cols, rows, col_tasks, row_tasks;
    bool dense; /* places of the result lie one after the other */
    _Atomic bool failed;
} job;

/* Even, and such that the fewest rows are of none. */
static int64_t panel_height(int64_t most, int64_t rows)
{
    int64_t best = most, least = INT64_MAX;
    for (int64_t h = most; h >= 2 && h > most / 2; h -= 2) {
        const int64_t cost = tn__div_up(rows, h) * (8 * h + 1);
        if (cost < least) {
            best = h;
            least = cost;
        }
    }
    return TN_MIN(best, rows + (rows & 1));
}

/* How many weights of a row lie evenly, in the order of the depth. */
static void find_runs(job *j)
{
    const tn__weights *w = &j->p->weights;
    const tn__taps *d = j->p->g.d;
    const int64_t taps = tn__gather_taps(&j->p->g);
    j->step = w->tap[2];
    j->run = d[2].n;
    if (d[1].n == 1 || w->tap[1] == j->run * j->step)
        j->run *= d[1].n;
    if (j->run == d[1].n * d[2].n && (d[0].n == 1 || w->tap[0] == j->run * j->step))
        j->run *= d[0].n;
    if (taps == 1)
        j->step = w->channel;
    if (j->run == taps && (taps == 1 || w->channel == taps * j->step))
        j->run = j->depth;
}

/* Where in its group the weight of a row is that stands at this place of the depth. */
static int64_t place_of(const job *j, int64_t at)
{
    const tn__weights *w = &j->p->weights;
    const tn__taps *d = j->p->g.d;
    const int64_t taps = tn__gather_taps(&j->p->g), tap = at % taps;
    return at / taps * w->channel + tap / (d[1].n * d[2].n) * w->tap[0] + tap / d[2].n % d[1].n * w->tap[1] +
           tap % d[2].n * w->tap[2];
}

/* Items are blocks of the depth, of each group. What lies together is read together: run by run, the panels of each. */
static void pack_weights(void *ctx, int64_t begin, int64_t end)
{
    const job *j = ctx;
    const tn__weights *w = &j->p->weights;
    const int64_t blocks = tn__div_up(j->depth, DEPTH), rows = j->p->rows;
    for (int64_t b = begin; b < end; b++) {
        const int64_t group = b / blocks, k0 = b % blocks * DEPTH, k = TN_MIN(DEPTH, j->depth - k0);
        char *to = j->packed + (group * j->depth + k0) * j->padded * j->item;
        for (int64_t at = k0, some; at < k0 + k; at += some, to += some * j->height * j->item) {
            const char *from = w->at + (group * w->group + place_of(j, at)) * j->item;
            some = TN_MIN(k0 + k - at, j->run - at % j->run);
            for (int64_t i = 0; i < rows; i += j->height)
                j->isa->pack(to + i * k * j->item, (int)j->height, from + i * w->row * j->item, w->row, j->step,
                             TN_MIN(j->height, rows - i), some, 1, 1);
        }
    }
}

/* What a task has: panels, what is gathered by them, where the places of one panel lie in the result. */
typedef struct work {
    tn__panel *panel;
    char *gathered;
    const char *in; /* the group's channels */
    char *out;      /* its rows */
    int64_t group, at[LANES];
} work;

static int panel_vectors(const job *j, int64_t n)
{
    return n <= j->isa->vl ? 1 : 2;
}

static void places_of(const job *j, work *w, int64_t first, int64_t n)
{
    const tn__taps *d = j->p->g.d;
    const int64_t *step = j->p->out_step;
    for (int64_t i = 0; i < n; i++) {
        const int64_t at = first + i;
        w->at[i] = j->dense ? at
                            : at / (d[1].places * d[2].places) * step[0] + at / d[2].places % d[1].places * step[1] +
                                  at % d[2].places * step[2];
    }
}

static void move(char *to, const char *from, int64_t item)
{
    if (item == 4)
        memcpy(to, from, 4);
    else
        memcpy(to, from, 8);
}

/* A row of n elements between the result and where a tile is made aside. */
static void exchange(const job *j, const work *w, char *row, char *aside, int64_t n, bool back)
{
    if (j->dense) {
        char *at = row + w->at[0] * j->item;
        copy_dense(back ? at : aside, back ? aside : at, n * j->item);
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        char *at = row + w->at[i] * j->item;
        move(back ? at : aside + i * j->item, back ? aside + i * j->item : at, j->item);
    }
}

static void fill_row(char *to, const char *value, int64_t n, int64_t item)
{
    for (int64_t i = 0; i < n; i++)
        move(to + i * item, value, item);
}

/* The tile of rows from i on: in place where it is whole, else made aside. What is added to: the bias, or what the blocks before
 * have left. */
static void run_tile(const job *j, const work *w, int64_t i, const char *a, const char *b, int64_t n, int64_t k0,
                     int64_t k)
{
    const int vectors = panel_vectors(j, n);
    const int64_t width = vectors * j->isa->vl, rows = TN_MIN(j->height, j->p->rows - i), ld = j->p->out_channel;
    const char *bias = k0 == 0 && j->p->bias ? j->p->bias + (w->group * j->p->rows + i) * j->item : NULL;
    char *out = w->out + i * ld * j->item;
    _Alignas(64) char aside[16 * LANES * 8];
    const bool whole = j->dense && n == width && rows == j->height, add = k0 > 0 || bias;
    char *to = whole ? out + w->at[0] * j->item : aside;
    const int64_t ldc = whole ? ld : width;
    if (add && !whole)
        memset(aside, 0, (size_t)(j->height * width * j->item));
    for (int64_t r = 0; r < rows && add; r++)
        if (bias)
            fill_row(to + r * ldc * j->item, bias + r * j->item, n, j->item);
        else if (!whole)
            exchange(j, w, out + r * ld * j->item, to + r * ldc * j->item, n, false);
    j->isa->tile[j->height / 2 - 1][vectors - 1](k, a, b, width, to, ldc, add);
    for (int64_t r = 0; r < rows && !whole; r++)
        exchange(j, w, out + r * ld * j->item, aside + r * ldc * j->item, n, true);
}

/* All rows of a task, by one panel of places. */
static void run_panel(const job *j, work *w, int64_t i0, int64_t m, int64_t first, int64_t n, const char *b, int64_t k0,
                      int64_t k)
{
    const char *a = j->packed + (w->group * j->depth + k0) * j->padded * j->item;
    places_of(j, w, first, n);
    for (int64_t i = i0; i < i0 + m; i += j->height)
        run_tile(j, w, i, a + i * k * j->item, b, n, k0, k);
}

static void gather_panel(const job *j, const work *w, const tn__panel *p, char *to, int64_t width, int64_t k0,
                         int64_t k)
{
    const tn__gather *g = &j->p->g;
    const int64_t taps = tn__gather_taps(g), line = width * j->item;
    int64_t tap = k0 % taps;
    const char *channel = w->in + k0 / taps * g->in_channel * j->item;
    const bool full = p->width == width && line == 64 && g->d[2].step * g->d[2].stride == 1;
    for (int64_t i = 0; i < k; i++, to += line) {
        const tn__piece *first = p->piece + p->first[tap];
        if (full && p->whole[tap] && first->n == width) /* most rows of most panels */
            memcpy(to, channel + first->from * j->item, 64);
        else
            row_of(p, g, channel, tap, to, width);
        if (++tap == taps) {
            tap = 0;
            channel += g->in_channel * j->item;
        }
    }
}

static void run_task(const job *j, work *w, int64_t j0, int64_t n, int64_t i0, int64_t m)
{
    const int64_t panels = tn__div_up(n, j->width);
    for (int64_t q = 0; q < panels; q++)
        tn__panel_at(&w->panel[q], &j->p->g, j0 + q * j->width, TN_MIN(j->width, n - q * j->width));
    for (int64_t k0 = 0; k0 < j->depth; k0 += DEPTH) {
        const int64_t k = TN_MIN(DEPTH, j->depth - k0);
        for (int64_t q = 0; q < panels; q++) {
            const int64_t some = TN_MIN(j->width, n - q * j->width);
            char *b = w->gathered;
            gather_panel(j, w, &w->panel[q], b, panel_vectors(j, some) * j->isa->vl, k0, k);
            run_panel(j, w, i0, m, j0 + q * j->width, some, b, k0, k);
        }
    }
}

static void run_tasks(void *ctx, int64_t begin, int64_t end)
{
    job *j = ctx;
    const tn__gather *g = &j->p->g;
    const int64_t panels = tn__div_up(j->cols, j->width);
    const size_t each = tn__panel_bytes(g, j->width), list = rounded((size_t)panels * sizeof(tn__panel)),
                 gathered = rounded((size_t)(TN_MIN(DEPTH, j->depth) * j->width * j->item)),
                 bytes = list + (size_t)panels * each + gathered;
    char *room = tn__block_get(bytes);
    if (!room) {
        atomic_store(&j->failed, true);
        return;
    }
    work w = {.panel = (tn__panel *)(void *)room, .gathered = room + list + (size_t)panels * each};
    for (int64_t q = 0; q < panels; q++)
        tn__panel_in(&w.panel[q], g, room + list + (size_t)q * each, j->width);
    for (int64_t t = begin; t < end; t++) {
        const int64_t i0 = t % j->row_tasks * j->rows, j0 = t / j->row_tasks % j->col_tasks * j->cols,
                      of = t / j->row_tasks / j->col_tasks, image = of / g->groups;
        w.group = of % g->groups;
        w.in = g->in + (image * g->in_image + w.group * g->channels * g->in_channel) * j->item;
        w.out = j->p->out + (image * j->p->out_image + w.group * j->p->rows * j->p->out_channel) * j->item;
        run_task(j, &w, j0, TN_MIN(j->cols, j->places - j0), i0, TN_MIN(j->rows, j->p->rows - i0));
    }
    tn__block_put(room, bytes);
}

/* Nothing is gathered: the bias alone. */
static void fill(const tn__gather_product *p, int64_t item)
{
    const tn__gather *g = &p->g;
    const char zero[8] = {0};
    const int64_t *step = p->out_step;
    for (int64_t i = 0; i < g->images * g->groups * p->rows; i++) {
        const int64_t channel = i % (g->groups * p->rows);
        char *row = p->out + (i / (g->groups * p->rows) * p->out_image + channel * p->out_channel) * item;
        for (int64_t a = 0; a < g->d[0].places; a++)
            for (int64_t b = 0; b < g->d[1].places; b++)
                for (int64_t c = 0; c < g->d[2].places; c++)
                    move(row + (a * step[0] + b * step[1] + c * step[2]) * item,
                         p->bias ? p->bias + channel * item : zero, item);
    }
}

/* As many tasks as threads can share: fewer columns each, then fewer rows. */
static void cut(job *j, int64_t threads)
{
    const tn__gather *g = &j->p->g;
    const int64_t planes = g->images * g->groups, panels = tn__div_up(j->places, j->width);
    const int64_t want = threads > 1 ? tn__div_up(TASKS * threads, planes) : 1;
    const int64_t fit = PIECES / (int64_t)tn__panel_bytes(g, j->width), most = TN_MAX(TN_MIN(PANELS, fit), 1);
    const int64_t each = TN_MIN(most, TN_MAX(panels / want, 1));
    j->cols = each * j->width;
    j->col_tasks = tn__div_up(panels, each);
    const int64_t high = tn__div_up(j->p->rows, j->height);
    j->row_tasks = TN_MIN(threads > 1 && planes * j->col_tasks < threads ? threads : 1, high);
    j->rows = tn__div_up(high, j->row_tasks) * j->height;
    j->row_tasks = tn__div_up(j->p->rows, j->rows);
}

tn_status tn__gather_multiply(const tn__gather_product *p)
{
    const tn__gather *g = &p->g;
    const tn__taps *d = g->d;
    job j = {.p = p,
             .isa = &tn__isa()->gemm[g->type],
             .item = (int64_t)tn__type_size(g->type),
             .depth = g->channels * tn__gather_taps(g),
             .places = tn__gather_places(g)};
    if (j.places == 0 || p->rows == 0 || g->images == 0)
        return TN_OK;
    if (j.depth == 0) {
        fill(p, j.item);
        return TN_OK;
    }
    if (tn__direct_fits(g, p->rows))
        return tn__direct_multiply(p);
    find_runs(&j);
    j.width = 2 * j.isa->vl;
    j.height = panel_height(j.isa->mr, p->rows);
    j.padded = tn__div_up(p->rows, j.height) * j.height;
    j.dense = p->out_step[2] == 1 && p->out_step[1] == d[2].places && p->out_step[0] == d[1].places * d[2].places;
    const double effort = (double)g->images * (double)g->groups * (double)p->rows * (double)j.places * (double)j.depth;
    const int64_t threads = tn__self()->in_parallel || effort < SERIAL ? 1 : tn__num_threads();
    const size_t bytes = (size_t)(g->groups * j.depth * j.padded * j.item);
    if (!(j.packed = tn__block_get(bytes)))
        return tn__error_memory("the weights of a convolution", bytes);
    const int64_t blocks = g->groups * tn__div_up(j.depth, DEPTH);
    tn__parallel_for(blocks, threads == 1 ? blocks : tn__div_up(8, j.padded), pack_weights, &j);
    cut(&j, threads);
    const int64_t tasks = g->images * g->groups * j.col_tasks * j.row_tasks;
    tn__parallel_for(tasks, threads == 1 ? tasks : tn__div_up(tasks, 8 * threads), run_tasks, &j);
    tn__block_put(j.packed, bytes);
    return j.failed ? tn__error_memory("a panel of a convolution", (size_t)(DEPTH * j.width * j.item)) : TN_OK;
}
