/* The three rows on the CPU: operands in the dtype that is computed in, dense, and which products make the result. */
#include "backend/cpu/along_dim.h"
#include "core/error.h"
#include "core/parallel.h"
#include "ops/convolution/cpu_gather.h"

/* An operand or a result, dense and of the compute type: where it lies, or a copy. */
typedef struct dense {
    char *at;
    size_t bytes; /* of the copy; 0: it is none */
} dense;

typedef struct copy_job {
    const tn__view *v;
    char *at;
    int type;
    bool back;
} copy_job;

static void copy_part(void *ctx, int64_t begin, int64_t end)
{
    const copy_job *j = ctx;
    tn__strided_dims d;
    tn__dims_in_order(&d, j->v);
    char *at = j->at + begin * (int64_t)tn__type_size(j->type);
    if (j->back)
        tn__store_strided(j->v->data, j->v->dtype, &d, begin, at, j->type, end - begin);
    else
        tn__load_strided(at, j->type, j->v->dtype, j->v->data, &d, begin, end - begin);
}

static bool lies_so(const tn__view *v, int type)
{
    return v->contiguous && tn__dtypes[v->dtype].compute == v->dtype && tn__type_of(v->dtype) == type;
}

/* Room for v; filled, where it is an operand. */
static tn_status dense_of(dense *d, const tn__view *v, int type, bool operand)
{
    *d = (dense){.at = v->data};
    if (!v->data || lies_so(v, type) || v->numel == 0)
        return TN_OK;
    const size_t bytes = (size_t)v->numel * tn__type_size(type);
    if (!(d->at = tn__block_get(bytes)))
        return tn__error_memory("an operand of a convolution", bytes);
    d->bytes = bytes;
    copy_job j = {v, d->at, type, false};
    if (operand)
        tn__parallel_for(v->numel, 32768, copy_part, &j);
    return TN_OK;
}

static void put_result(const dense *d, const tn__view *v, int type)
{
    copy_job j = {v, d->at, type, true};
    if (d->bytes)
        tn__parallel_for(v->numel, 32768, copy_part, &j);
}

static void drop(const dense *d)
{
    if (d->bytes)
        tn__block_put(d->at, d->bytes);
}

/* Three operands, the last of which may be absent, and the result. */
typedef struct operands {
    tn__conv c;
    int type;
    dense in[3], out;
} operands;

static tn_status prepare(operands *o, const tn__launch *l)
{
    o->c = tn__conv_of(l);
    o->type = tn__type_of(l->compute);
    tn_status e = dense_of(&o->out, &l->out[0], o->type, false);
    for (int32_t i = 0; i < l->n_in && !e; i++)
        e = dense_of(&o->in[i], &l->in[i], o->type, true);
    return e;
}

static tn_status finish(operands *o, const tn__launch *l, tn_status e)
{
    if (!e)
        put_result(&o->out, &l->out[0], o->type);
    for (int i = 0; i < 3; i++)
        drop(&o->in[i]);
    drop(&o->out);
    return e;
}

/* ---- x is gathered: y, and weight's gradient ---- */

enum { MOST_TAPS = 64 };

/* The taps of each dimension: in 'few' where there are not many, else in a block. */
typedef struct offsets {
    int64_t few[MOST_TAPS], *at;
    size_t bytes;
} offsets;

static tn_status offsets_get(offsets *o, const tn__conv *c)
{
    const int64_t n = c->d[0].kernel + c->d[1].kernel + c->d[2].kernel;
    o->at = o->few;
    o->bytes = n > MOST_TAPS ? (size_t)n * sizeof *o->at : 0;
    if (o->bytes && !(o->at = tn__block_get(o->bytes)))
        return tn__error_memory("offsets of a convolution", o->bytes);
    return TN_OK;
}

static void offsets_put(offsets *o)
{
    if (o->bytes && o->at)
        tn__block_put(o->at, o->bytes);
}

/* What a row does with its operands; offset: room for the taps of all dimensions. */
typedef tn_status (*products)(const operands *o, const tn__launch *l, int64_t *offset);

static tn_status run(const tn__launch *l, products row)
{
    operands o = {.type = 0};
    offsets f = {.at = NULL};
    tn_status e = prepare(&o, l);
    e = e ? e : offsets_get(&f, &o.c);
    e = e ? e : row(&o, l, f.at);
    offsets_put(&f);
    return finish(&o, l, e);
}

static const char *bias_of(const operands *o, const tn__launch *l)
{
    return l->n_in > 2 ? o->in[2].at : NULL;
}

static tn__gather gather_x(const operands *o, const char *x, int64_t *offset)
{
    const tn__conv *c = &o->c;
    tn__gather g = {.type = o->type, .images = c->images, .groups = c->groups, .channels = c->in, .in = x};
    int64_t stride = 1;
    for (int i = TN__SPATIAL - 1; i >= 0; i--) {
        const tn__conv_dim *d = &c->d[i];
        g.d[i] = (tn__taps){d->y, d->x, d->stride, stride, d->kernel, offset};
        for (int64_t k = 0; k < d->kernel; k++)
            *offset++ = k * d->dilation - d->pad;
        stride *= d->x;
    }
    g.in_channel = stride;
    g.in_image = c->groups * c->in * stride;
    return g;
}

static tn_status multiply(const operands *o, const tn__launch *l, int64_t *offset)
{
    const tn__conv *c = &o->c;
    const int64_t taps = tn__conv_taps(c);
    tn__gather_product p = {.g = gather_x(o, o->in[0].at, offset),
                            .rows = c->out,
                            .weights = {o->in[1].at,
                                        c->out * c->in * taps,
                                        c->in * taps,
                                        taps,
                                        {c->d[1].kernel * c->d[2].kernel, c->d[2].kernel, 1}},
                            .bias = bias_of(o, l),
                            .out = o->out.at,
                            .out_channel = tn__conv_y(c),
                            .out_step = {c->d[1].y * c->d[2].y, c->d[2].y, 1}};
    p.out_image = c->groups * c->out * p.out_channel;
    return tn__gather_multiply(&p);
}

tn_status tn__cpu_convolution(const tn__launch *l)
{
    return run(l, multiply);
}

static tn_status sum(const operands *o, const tn__launch *l, int64_t *offset)
{
    const tn__conv *c = &o->c;
    tn__gather_sums s = {.g = gather_x(o, o->in[1].at, offset),
                         .rows = c->out,
                         .y = o->in[0].at,
                         .y_channel = tn__conv_y(c),
                         .to = o->out.at};
    (void)l;
    s.y_image = c->groups * c->out * s.y_channel;
    return tn__gather_sum(&s);
}

tn_status tn__cpu_convolution_weight(const tn__launch *l)
{
    return run(l, sum);
}

/* ---- y is gathered: x's gradient ----
 *
 * x[i] meets tap k of y[t] where t * stride = i + pad - k * dilation. The places i = r + stride * t' of one remainder r meet the
 * same taps, each of them at t = t' + (r + pad - k * dilation) / stride: for each remainder of each dimension a product of its
 * own, whose weights are those taps. */

/* The taps of remainder r, every 'step'th from 'first' on, and where they read. */
static int64_t taps_of(const tn__conv_dim *d, int64_t r, int64_t *first, int64_t *step, int64_t *offset)
{
    int64_t n = 0;
    for (int64_t k = 0; k < d->kernel; k++) {
        const int64_t at = r + d->pad - k * d->dilation;
        if (at % d->stride)
            continue;
        if (n == 0)
            *first = k;
        if (n == 1)
            *step = k - *first;
        offset[n++] = at / d->stride;
    }
    return n;
}

static tn_status run_phase(const operands *o, const char *bias, int64_t *offset, const int64_t *r)
{
    const tn__conv *c = &o->c;
    const int64_t item = (int64_t)tn__type_size(o->type), taps = tn__conv_taps(c);
    tn__gather_product p = {.g = {.type = o->type,
                                  .images = c->images,
                                  .groups = c->groups,
                                  .channels = c->out,
                                  .in = o->in[0].at,
                                  .in_channel = tn__conv_y(c)},
                            .rows = c->in,
                            .weights = {o->in[1].at, c->out * c->in * taps, taps, c->in * taps, {0}},
                            .bias = bias,
                            .out = o->out.at,
                            .out_channel = tn__conv_x(c)};
    int64_t x_stride = 1, y_stride = 1, w_stride = 1;
    for (int i = TN__SPATIAL - 1; i >= 0; i--) {
        const tn__conv_dim *d = &c->d[i];
        int64_t first = 0, step = 1;
        const int64_t n = taps_of(d, r[i], &first, &step, offset);
        p.g.d[i] = (tn__taps){tn__div_up(d->x - r[i], d->stride), d->y, 1, y_stride, n, offset};
        p.weights.at += first * w_stride * item;
        p.weights.tap[i] = step * w_stride;
        p.out_step[i] = d->stride * x_stride;
        p.out += r[i] * x_stride * item;
        offset += n;
        x_stride *= d->x;
        y_stride *= d->y;
        w_stride *= d->kernel;
    }
    p.g.in_image = c->groups * c->out * p.g.in_channel;
    p.out_image = c->groups * c->in * p.out_channel;
    return tn__gather_multiply(&p);
}

static tn_status run_phases(const operands *o, const tn__launch *l, int64_t *offset)
{
    const tn__conv *c = &o->c;
    tn_status e = TN_OK;
    int64_t r[TN__SPATIAL];
    for (r[0] = 0; r[0] < TN_MIN(c->d[0].stride, c->d[0].x) && !e; r[0]++)
        for (r[1] = 0; r[1] < TN_MIN(c->d[1].stride, c->d[1].x) && !e; r[1]++)
            for (r[2] = 0; r[2] < TN_MIN(c->d[2].stride, c->d[2].x) && !e; r[2]++)
                e = run_phase(o, bias_of(o, l), offset, r);
    return e;
}

tn_status tn__cpu_convolution_input(const tn__launch *l)
{
    return run(l, run_phases);
}
