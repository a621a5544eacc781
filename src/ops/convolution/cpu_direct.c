/* Filters of one channel (depthwise convolutions): too little for a product of matrices. Each channel is copied with what it is
 * padded by, its lines parted by the stride's remainders, so that a tap reads a line of places in one piece. */
#include "core/error.h"
#include "core/parallel.h"
#include "ops/convolution/cpu_gather.h"

enum { FEW_ROWS = 4, FEW_ELEMENTS = 1024, WORK = 16384 };

/* A padded channel: lines in two dimensions, each of 'parts' pieces of 'length' elements. */
typedef struct plane {
    int64_t low[TN__SPATIAL]; /* what the first place reads least, in each dimension; of the last, in steps */
    int64_t lines[2], parts, length;
} plane;

static int64_t floor_div(int64_t a, int64_t b)
{
    return a >= 0 ? a / b : -tn__div_up(-a, b);
}

static plane plane_of(const tn__gather *g)
{
    plane p = {.parts = g->d[2].step};
    for (int i = 0; i < TN__SPATIAL; i++) {
        const tn__taps *d = &g->d[i];
        int64_t low = d->offset[0], high = low;
        for (int64_t k = 1; k < d->n; k++) {
            low = TN_MIN(low, d->offset[k]);
            high = TN_MAX(high, d->offset[k]);
        }
        if (i < 2) {
            p.low[i] = low;
            p.lines[i] = (d->places - 1) * d->step + high - low + 1;
        } else {
            p.low[i] = floor_div(low, d->step);
            p.length = d->places + floor_div(high, d->step) - p.low[i];
        }
    }
    return p;
}

/* Is a padded channel not much more than what is read of it? It may be anything, and more than memory holds. */
static bool pays_to_pad(const tn__gather *g, const plane *p)
{
    const double padded = (double)p->lines[0] * (double)p->lines[1] * (double)p->parts * (double)p->length,
                 reads = (double)tn__gather_places(g) * (double)tn__gather_taps(g);
    return padded <= 4 * reads + FEW_ELEMENTS;
}

bool tn__direct_fits(const tn__gather *g, int64_t rows)
{
    if (g->type > TN__F64 || g->channels != 1 || rows >= FEW_ROWS || tn__gather_taps(g) == 0)
        return false;
    const plane p = plane_of(g);
    return pays_to_pad(g, &p);
}

static int64_t pitch(const plane *p)
{
    return p->parts * p->length;
}

/* Where each tap of place 0 is read. */
static void places_of(const plane *p, const tn__gather *g, int64_t *at)
{
    const tn__taps *d = g->d;
    for (int64_t a = 0; a < d[0].n; a++)
        for (int64_t b = 0; b < d[1].n; b++)
            for (int64_t c = 0; c < d[2].n; c++) {
                const int64_t step = floor_div(d[2].offset[c], d[2].step), part = d[2].offset[c] - step * d[2].step,
                              line = (d[0].offset[a] - p->low[0]) * p->lines[1] + d[1].offset[b] - p->low[1];
                *at++ = line * pitch(p) + part * p->length + step - p->low[2];
            }
}

/* A line of x, whose element 0 is at 'from', as pieces. */
static void fill_line(const plane *p, const tn__gather *g, char *to, const char *from)
{
    const tn__taps *d = &g->d[2];
    const int64_t item = (int64_t)tn__type_size(g->type);
    for (int64_t part = 0; part < p->parts; part++, to += p->length * item) {
        /* place q of the piece is x's (q + low) * step + part */
        int64_t first = TN_MAX(-p->low[2], 0), end = floor_div(d->size - 1 - part, d->step) + 1 - p->low[2];
        end = TN_MIN(end, p->length);
        if (end < first)
            end = first = TN_MIN(first, p->length);
        memset(to, 0, (size_t)(first * item));
        memset(to + end * item, 0, (size_t)((p->length - end) * item));
        const char *src = from + ((first + p->low[2]) * d->step + part) * d->stride * item;
        if (end > first && d->step * d->stride == 2)
            tn__isa()->convolution.second[g->type](to + first * item, src, end - first);
        else if (end > first)
            tn__isa()->move(to + first * item, 1, src, d->step * d->stride, end - first, (size_t)item);
    }
}

static void fill_plane(const plane *p, const tn__gather *g, char *to, const char *channel)
{
    const int64_t item = (int64_t)tn__type_size(g->type), line = pitch(p) * item;
    for (int64_t a = 0; a < p->lines[0]; a++)
        for (int64_t b = 0; b < p->lines[1]; b++, to += line) {
            const int64_t x0 = a + p->low[0], x1 = b + p->low[1];
            if (x0 < 0 || x0 >= g->d[0].size || x1 < 0 || x1 >= g->d[1].size)
                memset(to, 0, (size_t)line);
            else
                fill_line(p, g, to, channel + (x0 * g->d[0].stride + x1 * g->d[1].stride) * item);
        }
}

/* Memory of a thread: the plane, where taps are, their weights, a line of the result. */
typedef struct room {
    char *base, *plane, *weights, *line;
    int64_t *at;
    size_t bytes;
} room;

static bool room_get(room *r, const plane *p, const tn__gather *g)
{
    const size_t item = tn__type_size(g->type), taps = (size_t)tn__gather_taps(g),
                 all = (size_t)(p->lines[0] * p->lines[1] * pitch(p)) * item + 2 * TN__CONV_BEYOND,
                 plane_bytes = (all + 63) & ~(size_t)63, line = (size_t)g->d[2].places * item;
    r->bytes = plane_bytes + taps * sizeof(int64_t) + taps * item + line;
    if (!(r->base = tn__block_get(r->bytes)))
        return false;
    const size_t used = all - 2 * TN__CONV_BEYOND;
    memset(r->base + used, 0, plane_bytes - used); /* read, and for nothing */
    r->plane = r->base;
    r->at = (int64_t *)(void *)(r->base + plane_bytes);
    r->weights = (char *)(r->at + taps);
    r->line = r->weights + taps * item;
    places_of(p, g, r->at);
    return true;
}

typedef struct job {
    const tn__gather_product *p;
    const tn__gather_sums *s;
    plane plane;
    _Atomic bool failed;
} job;

/* ---- the product ---- */

static void copy_weights(const tn__gather_product *p, int64_t group, int64_t row, char *to)
{
    const tn__weights *w = &p->weights;
    const tn__taps *d = p->g.d;
    const int64_t item = (int64_t)tn__type_size(p->g.type);
    const char *from = w->at + (group * w->group + row * w->row) * item;
    for (int64_t a = 0; a < d[0].n; a++)
        for (int64_t b = 0; b < d[1].n; b++)
            for (int64_t c = 0; c < d[2].n; c++, to += item)
                memcpy(to, from + (a * w->tap[0] + b * w->tap[1] + c * w->tap[2]) * item, (size_t)item);
}

/* One channel of the result. */
static void run_row(const job *j, const room *r, int64_t image, int64_t group, int64_t row)
{
    const tn__gather_product *p = j->p;
    const tn__taps *d = p->g.d;
    const int64_t item = (int64_t)tn__type_size(p->g.type), taps = tn__gather_taps(&p->g),
                  channel = group * p->rows + row;
    const char *bias = p->bias ? p->bias + channel * item : NULL;
    char *out = p->out + (image * p->out_image + channel * p->out_channel) * item;
    copy_weights(p, group, row, r->weights);
    for (int64_t a = 0; a < d[0].places; a++)
        for (int64_t b = 0; b < d[1].places; b++) {
            const char *x = r->plane + (a * d[0].step * j->plane.lines[1] + b * d[1].step) * pitch(&j->plane) * item;
            char *to = out + (a * p->out_step[0] + b * p->out_step[1]) * item;
            const bool dense = p->out_step[2] == 1;
            tn__isa()->convolution.line[p->g.type](dense ? to : r->line, x, r->at, r->weights, taps, bias, d[2].places);
            if (!dense)
                tn__isa()->move(to, p->out_step[2], r->line, 1, d[2].places, (size_t)item);
        }
}

/* Items are channels of x, of all images. */
static void multiply(void *ctx, int64_t begin, int64_t end)
{
    job *j = ctx;
    const tn__gather *g = &j->p->g;
    room r;
    if (!room_get(&r, &j->plane, g)) {
        atomic_store(&j->failed, true);
        return;
    }
    for (int64_t i = begin; i < end; i++) {
        const int64_t image = i / g->groups, group = i % g->groups;
        fill_plane(&j->plane, g, r.plane,
                   g->in + (image * g->in_image + group * g->in_channel) * (int64_t)tn__type_size(g->type));
        for (int64_t row = 0; row < j->p->rows; row++)
            run_row(j, &r, image, group, row);
    }
    tn__block_put(r.base, r.bytes);
}

static tn_status run(job *j, const tn__gather *g, int64_t items, int64_t each, tn__body body)
{
    j->plane = plane_of(g);
    tn__parallel_for(items, tn__div_up(WORK, TN_MAX(each, 1)), body, j);
    return j->failed ? tn__error_memory("a channel of a convolution", (size_t)(j->plane.lines[0] * j->plane.lines[1]))
                     : TN_OK;
}

tn_status tn__direct_multiply(const tn__gather_product *p)
{
    job j = {.p = p};
    const int64_t each = tn__gather_places(&p->g) * (tn__gather_taps(&p->g) + 4) * p->rows;
    return run(&j, &p->g, p->g.images * p->g.groups, each, multiply);
}

/* ---- the sums ---- */

/* Items are groups: the images of each are added in their order. */
static void sum(void *ctx, int64_t begin, int64_t end)
{
    job *j = ctx;
    const tn__gather_sums *s = j->s;
    const tn__gather *g = &s->g;
    const tn__taps *d = g->d;
    const int64_t item = (int64_t)tn__type_size(g->type), taps = tn__gather_taps(g), line = pitch(&j->plane);
    room r;
    if (!room_get(&r, &j->plane, g)) {
        atomic_store(&j->failed, true);
        return;
    }
    memset(s->to + begin * s->rows * taps * item, 0, (size_t)((end - begin) * s->rows * taps * item));
    for (int64_t i = begin * g->images; i < end * g->images; i++) {
        const int64_t group = i / g->images, image = i % g->images;
        fill_plane(&j->plane, g, r.plane, g->in + (image * g->in_image + group * g->in_channel) * item);
        for (int64_t row = 0; row < s->rows; row++)
            for (int64_t k = 0; k < taps; k++)
                for (int64_t a = 0; a < d[0].places; a++) {
                    const char *y = s->y + (image * s->y_image + (group * s->rows + row) * s->y_channel) * item +
                                    a * d[1].places * d[2].places * item;
                    const char *x = r.plane + (r.at[k] + a * d[0].step * j->plane.lines[1] * line) * item;
                    tn__isa()->convolution.dot[g->type](s->to + ((group * s->rows + row) * taps + k) * item, y,
                                                        d[2].places, x, d[1].step * line, d[2].places, d[1].places);
                }
    }
    tn__block_put(r.base, r.bytes);
}

tn_status tn__direct_sum(const tn__gather_sums *s)
{
    job j = {.s = s};
    const int64_t each = tn__gather_places(&s->g) * (tn__gather_taps(&s->g) + 4) * s->rows * s->g.images;
    return run(&j, &s->g, s->g.groups, each, sum);
}
