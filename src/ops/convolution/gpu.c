/* Convolutions on GPUs by the own kernels. */
#include "backend/gpu/run.h"
#include "core/error.h"
#include "ops/convolution/launch.h"
#include "ops/convolution/gpu_layout.h"

enum { GATHER, WEIGHT, FINISH };
enum { TILE = 32, MOST = 65535, PARTS = 64 };

static void set_channels(const tn__view *v, i64 *first, i64 *second, int32_t dims, conv_line *d, size_t stride_at)
{
    *first = v->stride[0];
    *second = v->stride[1];
    for (int32_t i = 2; i < v->ndim; i++)
        *(i64 *)(void *)((char *)&d[TN__SPATIAL - dims + i - 2] + stride_at) = v->stride[i];
}

/* Sizes that kernels count in 32 bits, and rows of tiles that a launch has. */
static tn_status check_sizes(const tn__conv *c)
{
    const double most = (double)INT32_MAX - TILE, taps = (double)tn__conv_taps(c), wide = (double)TN_MAX(c->in, c->out);
    if ((double)tn__conv_x(c) > most || (double)tn__conv_y(c) > most || (double)c->images > most ||
        wide * taps > most || wide * (double)c->groups > most || wide > (double)MOST * TILE)
        return tn__error(TN_EINVAL,
                         "a convolution on a GPU has at most 2^31 elements in a channel and in a filter, and "
                         "2,097,120 channels in a group");
    for (int i = 0; i < TN__SPATIAL; i++)
        if ((double)c->d[i].x + 2 * (double)c->d[i].pad > most ||
            (double)c->d[i].kernel * (double)c->d[i].dilation > most ||
            (c->d[i].y > 1 && (double)c->d[i].stride > most))
            return tn__error(TN_EINVAL, "a convolution on a GPU has strides, padding and dilated kernels below 2^31");
    return TN_OK;
}

static tn_status describe(conv_shape *s, const tn__conv *c, const tn__view *x, const tn__view *y, const tn__view *w)
{
    tn_status e = check_sizes(c);
    if (e)
        return e;
    *s = (conv_shape){
        .images = (i32)c->images, .groups = (i32)c->groups, .in = (i32)c->in, .out = (i32)c->out, .parts = 1};
    for (int i = 0; i < TN__SPATIAL; i++)
        s->d[i] = (conv_line){.x = (i32)c->d[i].x,
                              .y = (i32)c->d[i].y,
                              .taps = (i32)c->d[i].kernel,
                              .stride = (i32)(c->d[i].y > 1 ? c->d[i].stride : 1), /* nobody takes a step */
                              .pad = (i32)c->d[i].pad,
                              .dilation = (i32)c->d[i].dilation};
    const int32_t dims = x->ndim - 2;
    set_channels(x, &s->x_image, &s->x_channel, dims, s->d, offsetof(conv_line, x_stride));
    set_channels(y, &s->y_image, &s->y_channel, dims, s->d, offsetof(conv_line, y_stride));
    set_channels(w, &s->w_out, &s->w_in, dims, s->d, offsetof(conv_line, w_stride));
    return TN_OK;
}

static tn__gpu_launch launch_of(const tn__launch *l, uint32_t kernel, int64_t columns, int64_t rows, int64_t third)
{
    const tn_dtype dtype = l->out[0].dtype;
    return (tn__gpu_launch){.device = l->device,
                            .unit = {.family = TN__FAMILY_convolution,
                                     .op = TN__OPS,
                                     .in = dtype,
                                     .out = dtype,
                                     .compute = tn__dtypes[dtype].compute},
                            .kernel = kernel,
                            .groups = {(uint32_t)tn__div_up(columns, TILE), (uint32_t)tn__div_up(rows, TILE),
                                       (uint32_t)TN_MIN(third, MOST)},
                            .local = {16, 16, 1},
                            .label = tn__ops[l->op].name};
}

static tn_status gather(const tn__launch *l, bool back)
{
    const tn__view *x = back ? &l->out[0] : &l->in[0], *y = back ? &l->in[0] : &l->out[0], *w = &l->in[1];
    const tn__view *bias = l->n_in > 2 && l->in[2].dtype ? &l->in[2] : NULL;
    const void *added = bias ? bias->data : NULL;
    const tn__conv c = tn__conv_of(l);
    const int32_t backward = back;
    conv_shape s;
    if (l->out[0].numel == 0)
        return TN_OK;
    tn_status e = describe(&s, &c, x, y, w);
    if (e)
        return e;
    s.bias_stride = bias ? bias->stride[0] : 0;
    const tn__gpu_arg args[] = {TN__GPU_MEMORY(l->in[0].data),  TN__GPU_MEMORY(w->data), TN__GPU_MEMORY(added),
                                TN__GPU_MEMORY(l->out[0].data), TN__GPU_VALUE(s),        TN__GPU_VALUE(backward)};
    tn__gpu_launch run =
        launch_of(l, GATHER, back ? tn__conv_x(&c) : tn__conv_y(&c), back ? c.in : c.out, c.images * c.groups);
    run.arg = args;
    run.n_arg = (int32_t)TN_COUNT(args);
    return tn__gpu_run(&run);
}

tn_status tn__gpu_convolution(const tn__launch *l)
{
    return gather(l, false);
}

tn_status tn__gpu_convolution_input(const tn__launch *l)
{
    return gather(l, true);
}

static tn_status run_parts(const tn__launch *l, const tn__conv *c, const conv_shape *s, void *parts)
{
    const int64_t depth = c->in * tn__conv_taps(c);
    const tn__gpu_arg args[] = {TN__GPU_MEMORY(l->in[0].data), TN__GPU_MEMORY(l->in[1].data), TN__GPU_MEMORY(parts),
                                TN__GPU_VALUE(*s)};
    tn__gpu_launch run = launch_of(l, WEIGHT, depth, c->out, s->parts * c->groups);
    run.arg = args;
    run.n_arg = (int32_t)TN_COUNT(args);
    tn_status e = tn__gpu_run(&run);
    if (e)
        return e;
    const tn__gpu_limits *limits = tn__gpu_limits_of(l->device);
    const tn__gpu_arg last[] = {TN__GPU_MEMORY(parts), TN__GPU_MEMORY(l->out[0].data), TN__GPU_VALUE(*s)};
    run.kernel = FINISH;
    run.groups[0] = tn__gpu_groups(limits, l->out[0].numel);
    run.groups[1] = run.groups[2] = 1;
    run.local[0] = TN__GPU_LOCAL;
    run.local[1] = 1;
    run.arg = last;
    run.n_arg = (int32_t)TN_COUNT(last);
    return tn__gpu_run(&run);
}

/* Images are shared by as many parts as give the device work; each part's sum is apart, and they are added in order. */
tn_status tn__gpu_convolution_weight(const tn__launch *l)
{
    const tn__view *out = &l->out[0];
    const tn__conv c = tn__conv_of(l);
    const tn__gpu_limits *limits = tn__gpu_limits_of(l->device);
    conv_shape s;
    if (!limits)
        return tn_error_code();
    if (out->numel == 0)
        return TN_OK;
    tn_status e = describe(&s, &c, &l->in[1], &l->in[0], out);
    if (e)
        return e;
    const int64_t tiles = tn__div_up(c.in * tn__conv_taps(&c), TILE) * tn__div_up(c.out, TILE) * c.groups;
    s.parts = TN_MIN(TN_MIN(tn__div_up(4 * (int64_t)limits->multiprocessors, tiles), PARTS), TN_MAX(c.images, 1));
    const size_t bytes = (size_t)(s.parts * out->numel) * tn__dtype_size(tn__dtypes[out->dtype].compute);
    void *parts = tn__gpu_scratch_get(l->device, bytes);
    if (!parts)
        return tn_error_code();
    e = run_parts(l, &c, &s, parts);
    tn__gpu_scratch_put(l->device, parts, bytes);
    return e;
}
