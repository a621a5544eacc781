/* The product over places: what a convolution's weights get.
 *
 * Blocks of places (of several images, where an image has few) are packed: y's rows, and columns of what is gathered, turned. A
 * task has some columns and some of the blocks; each of these has a sum of its own, which are added in their order, so threads do
 * not change results. */
#include "core/error.h"
#include "core/parallel.h"
#include "core/thread.h"
#include "ops/convolution/cpu_gather.h"

enum {
    DEPTH = 256,     /* places of a block */
    COLUMNS = 8,     /* panels of a task */
    SUMS = 8,        /* at most */
    BYTES = 1 << 20, /* of sums beside the first */
    SERIAL = 64 * 4096,
    LANES = 32
};

typedef struct job {
    const tn__gather_sums *s;
    const tn__gemm_isa *isa;
    int64_t item, depth, places, width, height, padded;
    int64_t images, blocks, image_blocks; /* images of a block; blocks of places, and of images */
    int64_t sums, each;                   /* of image blocks: so many to a sum */
    int64_t cols, col_tasks;
    char *apart; /* the sums beside the first */
    _Atomic bool failed;
} job;

typedef struct work {
    tn__panel panel;
    char *left, *rows, *right; /* y's panels; gathered rows; their panel */
    int64_t group;
    char *to;
} work;

/* A block: n places from p0 on of some images. */
typedef struct block {
    int64_t image, images, p0, n;
} block;

static void pack_left(const job *j, work *w, const block *b)
{
    const tn__gather_sums *s = j->s;
    const int64_t k = b->images * b->n;
    for (int64_t i = 0; i < s->rows; i += j->height)
        for (int64_t m = 0; m < b->images; m++) {
            const char *from =
                s->y + ((b->image + m) * s->y_image + (w->group * s->rows + i) * s->y_channel + b->p0) * j->item;
            j->isa->pack(w->left + (i * k + m * b->n * j->height) * j->item, (int)j->height, from, s->y_channel, 1,
                         TN_MIN(j->height, s->rows - i), b->n, 1, 1);
        }
}

static void pack_right(const job *j, const work *w, const block *b, int64_t c0, int64_t n, int width)
{
    const tn__gather *g = &j->s->g;
    const int64_t k = b->images * b->n;
    for (int64_t c = 0; c < n; c++)
        for (int64_t m = 0; m < b->images; m++) {
            const char *channels =
                g->in + ((b->image + m) * g->in_image + w->group * g->channels * g->in_channel) * j->item;
            tn__panel_row(&w->panel, g, channels, c0 + c, w->rows + (c * k + m * b->n) * j->item, b->n);
        }
    j->isa->pack(w->right, width, w->rows, k, 1, n, k, 1, 1);
}

static void run_tile(const job *j, const work *w, int64_t i, int64_t k, int64_t c0, int64_t n, int vectors)
{
    const int64_t rows = TN_MIN(j->height, j->s->rows - i), width = vectors * j->isa->vl, item = j->item;
    char *to = w->to + (i * j->depth + c0) * item;
    _Alignas(64) char aside[16 * LANES * 8];
    const char *a = w->left + i * k * item;
    tn__tile tile = j->isa->tile[j->height / 2 - 1][vectors - 1];
    if (rows == j->height && n == width) {
        tile(k, a, w->right, width, to, j->depth, true);
        return;
    }
    tile(k, a, w->right, width, aside, width, false);
    for (int64_t r = 0; r < rows; r++)
        j->isa->axpy(to + r * j->depth * item, aside + r * width * item, 1, n);
}

static void run_block(const job *j, work *w, const block *b, int64_t c0, int64_t cols)
{
    const int64_t k = b->images * b->n;
    pack_left(j, w, b);
    for (int64_t c = c0; c < c0 + cols; c += j->width) {
        const int64_t n = TN_MIN(j->width, c0 + cols - c);
        const int vectors = n <= j->isa->vl ? 1 : 2;
        pack_right(j, w, b, c, n, vectors * j->isa->vl);
        for (int64_t i = 0; i < j->s->rows; i += j->height)
            run_tile(j, w, i, k, c, n, vectors);
    }
}

/* Some columns of one sum of a group. */
static void run_task(const job *j, work *w, int64_t sum, int64_t c0, int64_t cols)
{
    const tn__gather *g = &j->s->g;
    const int64_t all = g->groups * j->s->rows * j->depth, first = sum * j->each,
                  last = TN_MIN(first + j->each, j->image_blocks);
    char *base = sum ? j->apart + (sum - 1) * all * j->item : j->s->to;
    w->to = base + w->group * j->s->rows * j->depth * j->item;
    for (int64_t r = 0; r < j->s->rows; r++)
        memset(w->to + (r * j->depth + c0) * j->item, 0, (size_t)(cols * j->item));
    for (int64_t p = 0; p < j->blocks; p++) {
        block b = {.p0 = p * DEPTH, .n = TN_MIN(DEPTH, j->places - p * DEPTH)};
        tn__panel_at(&w->panel, g, b.p0, b.n);
        for (int64_t i = first; i < last; i++) {
            b.image = i * j->images;
            b.images = TN_MIN(j->images, g->images - b.image);
            run_block(j, w, &b, c0, cols);
        }
    }
}

static void run_tasks(void *ctx, int64_t begin, int64_t end)
{
    job *j = ctx;
    const int64_t k = TN_MIN(DEPTH, j->places) * j->images;
    const size_t panel = tn__panel_bytes(&j->s->g, TN_MIN(DEPTH, j->places)),
                 left = (size_t)((k * j->padded * j->item + 63) & ~INT64_C(63)),
                 right = (size_t)(k * j->width * j->item), bytes = panel + left + 2 * right;
    char *room = tn__block_get(bytes);
    if (!room) {
        atomic_store(&j->failed, true);
        return;
    }
    work w = {.left = room + panel, .rows = room + panel + left, .right = room + panel + left + right};
    tn__panel_in(&w.panel, &j->s->g, room, TN_MIN(DEPTH, j->places));
    for (int64_t t = begin; t < end; t++) {
        const int64_t c0 = t % j->col_tasks * j->cols, sum = t / j->col_tasks % j->sums;
        w.group = t / j->col_tasks / j->sums;
        run_task(j, &w, sum, c0, TN_MIN(j->cols, j->depth - c0));
    }
    tn__block_put(room, bytes);
}

static void add_sums(void *ctx, int64_t begin, int64_t end)
{
    const job *j = ctx;
    const int64_t all = j->s->g.groups * j->s->rows * j->depth;
    for (int64_t i = 0; i + 1 < j->sums; i++)
        j->isa->axpy(j->s->to + begin * j->item, j->apart + (i * all + begin) * j->item, 1, end - begin);
}

/* Sums by images, where their memory is little: of sizes alone, never of how many threads there are. */
static void cut(job *j)
{
    const tn__gather *g = &j->s->g;
    const int64_t all = g->groups * j->s->rows * j->depth * j->item;
    j->images = TN_MAX(DEPTH / j->places, 1);
    j->images = TN_MIN(j->images, g->images);
    j->blocks = tn__div_up(j->places, DEPTH);
    j->image_blocks = tn__div_up(g->images, j->images);
    j->sums = TN_MIN(TN_MIN(j->image_blocks, SUMS), 1 + BYTES / TN_MAX(all, 1));
    j->each = tn__div_up(j->image_blocks, j->sums);
    j->sums = tn__div_up(j->image_blocks, j->each);
    const int64_t panels = tn__div_up(j->depth, j->width);
    const int64_t each = TN_MIN(COLUMNS, TN_MAX(panels / TN_MAX(SUMS / (j->sums * g->groups), 1), 1));
    j->cols = each * j->width;
    j->col_tasks = tn__div_up(panels, each);
}

tn_status tn__gather_sum(const tn__gather_sums *s)
{
    const tn__gather *g = &s->g;
    job j = {.s = s,
             .isa = &tn__isa()->gemm[g->type],
             .item = (int64_t)tn__type_size(g->type),
             .depth = g->channels * tn__gather_taps(g),
             .places = tn__gather_places(g)};
    const int64_t all = g->groups * s->rows * j.depth;
    if (all == 0)
        return TN_OK;
    if (g->images == 0 || j.places == 0) {
        memset(s->to, 0, (size_t)(all * j.item));
        return TN_OK;
    }
    if (tn__direct_fits(g, s->rows))
        return tn__direct_sum(s);
    j.width = 2 * j.isa->vl;
    j.height = TN_MIN(j.isa->mr, s->rows + (s->rows & 1));
    j.padded = tn__div_up(s->rows, j.height) * j.height;
    cut(&j);
    const size_t bytes = (size_t)((j.sums - 1) * all * j.item);
    if (bytes && !(j.apart = tn__block_get(bytes)))
        return tn__error_memory("the sums of a convolution", bytes);
    const double effort = (double)g->images * (double)all * (double)j.places;
    const int64_t tasks = g->groups * j.sums * j.col_tasks;
    tn__parallel_for(tasks, tn__self()->in_parallel || effort < SERIAL ? tasks : tn__div_up(tasks, 64), run_tasks, &j);
    if (bytes) {
        if (!j.failed)
            tn__parallel_for(all, 32768, add_sums, &j);
        tn__block_put(j.apart, bytes);
    }
    return j.failed ? tn__error_memory("a panel of a convolution", (size_t)(DEPTH * j.padded * j.item)) : TN_OK;
}
