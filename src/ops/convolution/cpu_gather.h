/* ops/convolution/cpu_gather.h: products of matrices one of which is gathered from images: element (k, t), with k a channel and a
 * tap of the kernel, and t a place of the result, is the image's at t * step + offset[tap], 0 outside. The product takes panels
 * of it, packed as they are needed (an implicit GEMM): it is never whole in memory. */
#ifndef TENON_OPS_CONVOLUTION_CPU_GATHER_H
#define TENON_OPS_CONVOLUTION_CPU_GATHER_H

#include "backend/cpu/cpu.h"
#include "ops/convolution/launch.h"

/* One dimension: places, of which each reads size elements of the image 'stride' apart. */
typedef struct tn__taps {
    int64_t places, size, step, stride, n;
    const int64_t *offset; /* n of them */
} tn__taps;

typedef struct tn__gather {
    int type;
    int64_t images, groups, channels; /* channels of a group */
    tn__taps d[TN__SPATIAL];
    const char *in; /* of the type, channels one after another */
    int64_t in_image, in_channel;
} tn__gather;

/* Elements that lie in a row: 'n' of them from element 'from' of a channel on, to place 'at' of a row of a panel. */
typedef struct tn__piece {
    int32_t at, n;
    int64_t from;
} tn__piece;

/* Where the rows of a panel of some places are gathered from, by tap. */
typedef struct tn__panel {
    int32_t width;
    bool *whole;      /* pieces cover the row */
    int32_t *first;   /* taps + 1: their first pieces */
    tn__piece *piece; /* of one tap after the other */
} tn__panel;

static inline int64_t tn__gather_places(const tn__gather *g)
{
    return g->d[0].places * g->d[1].places * g->d[2].places;
}
static inline int64_t tn__gather_taps(const tn__gather *g)
{
    return g->d[0].n * g->d[1].n * g->d[2].n;
}

/* Bytes of a panel of that width, and the panel in them. */
size_t tn__panel_bytes(const tn__gather *g, int64_t width);
void tn__panel_in(tn__panel *p, const tn__gather *g, void *room, int64_t width);

/* The n places from the j-th on. */
void tn__panel_at(tn__panel *p, const tn__gather *g, int64_t j, int64_t n);

/* Row k (channel, then tap) of a group's n places into to[width], zeros behind them. */
void tn__panel_row(const tn__panel *p, const tn__gather *g, const char *channels, int64_t k, char *to, int64_t width);

/* Weights as they lie: elements from a group to the next, a row, a channel, a tap of each dimension. */
typedef struct tn__weights {
    const char *at;
    int64_t group, row, channel, tap[TN__SPATIAL];
} tn__weights;

/* out[image][group * rows + r][place] = bias + weights[group][r][k] * gathered[k][place], where place t is at
 * t[0] * out_step[0] + t[1] * out_step[1] + t[2] * out_step[2]. */
typedef struct tn__gather_product {
    tn__gather g;
    int64_t rows;
    tn__weights weights;
    const char *bias; /* NULL: none */
    char *out;
    int64_t out_image, out_channel, out_step[TN__SPATIAL];
} tn__gather_product;

TN_MUST_USE tn_status tn__gather_multiply(const tn__gather_product *p);

/* to[group][r][k] = the sum over images and places of y[image][group * rows + r][place] * gathered[k][place]; y's places lie one
 * after the other. */
typedef struct tn__gather_sums {
    tn__gather g;
    int64_t rows;
    const char *y;
    int64_t y_image, y_channel;
    char *to;
} tn__gather_sums;

TN_MUST_USE tn_status tn__gather_sum(const tn__gather_sums *s);

/* The same of few filters of one channel each (cpu_direct.c). */
bool tn__direct_fits(const tn__gather *g, int64_t rows);
TN_MUST_USE tn_status tn__direct_multiply(const tn__gather_product *p);
TN_MUST_USE tn_status tn__direct_sum(const tn__gather_sums *s);

#endif
