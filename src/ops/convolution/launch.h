/* ops/convolution/launch.h: a convolution as numbers: the same for every backend, of one to three dimensions, the first of
 * which are of size 1 where there are fewer.
 *
 * y[n][o][t] = the sum over c and k of weight[o][c][k] * x[n][c][t * stride - pad + k * dilation], x being 0 outside. */
#ifndef TENON_OPS_CONVOLUTION_LAUNCH_H
#define TENON_OPS_CONVOLUTION_LAUNCH_H

#include "backend/backend.h"

enum { TN__SPATIAL = 3 };

typedef struct tn__conv_dim {
    int64_t x, y, kernel, stride, pad, dilation; /* sizes of x, of y and of the kernel */
} tn__conv_dim;

typedef struct tn__conv {
    int64_t images, groups, in, out; /* channels of a group: of x, of y */
    tn__conv_dim d[TN__SPATIAL];
} tn__conv;

/* Of any of the three rows. */
tn__conv tn__conv_of(const tn__launch *l);

/* Elements of a channel: of x, y and the kernel. */
static inline int64_t tn__conv_x(const tn__conv *c)
{
    return c->d[0].x * c->d[1].x * c->d[2].x;
}
static inline int64_t tn__conv_y(const tn__conv *c)
{
    return c->d[0].y * c->d[1].y * c->d[2].y;
}
static inline int64_t tn__conv_taps(const tn__conv *c)
{
    return c->d[0].kernel * c->d[1].kernel * c->d[2].kernel;
}

#endif
