/* Kernels along one dimension: softmax and its gradients, cumsum; and the triangle, ranges and the identity. */
#include "backend/cpu/lines.h"
#include "core/error.h"
#include "core/parallel.h"
#include <math.h>

enum { WORK = 32768 };

static void softmax_line(const tn__line_job *j, void *out, const void *a, const void *b)
{
    (void)b;
    tn__isa()->softmax_row[j->type](out, a, j->n, j->l->op == TN__OP_log_softmax);
}

static void softmax_backward_line(const tn__line_job *j, void *out, const void *a, const void *b)
{
    tn__isa()->softmax_row_backward[j->type](out, a, b, j->n, j->l->op == TN__OP__log_softmax_backward);
}

static void cumsum_line(const tn__line_job *j, void *out, const void *a, const void *b)
{
    (void)b;
    int64_t n = j->n;
    if (j->type == TN__F32) {
        double s = 0;
        for (int64_t i = 0; i < n; i++)
            ((float *)out)[i] = (float)(s += (double)((const float *)a)[i]);
    } else if (j->type == TN__F64) {
        double s = 0;
        for (int64_t i = 0; i < n; i++)
            ((double *)out)[i] = s += ((const double *)a)[i];
    } else if (j->type == TN__I32) {
        uint32_t s = 0;
        for (int64_t i = 0; i < n; i++)
            ((int32_t *)out)[i] = (int32_t)(s += (uint32_t)((const int32_t *)a)[i]);
    } else {
        uint64_t s = 0;
        for (int64_t i = 0; i < n; i++)
            ((int64_t *)out)[i] = (int64_t)(s += (uint64_t)((const int64_t *)a)[i]);
    }
}

tn_status tn__cpu_softmax(const tn__launch *l)
{
    const tn__softmax_params *p = l->params;
    return tn__cpu_lines(l, p->dim, softmax_line, 1);
}

tn_status tn__cpu_softmax_backward(const tn__launch *l)
{
    const tn__softmax_params *p = l->params;
    return tn__cpu_lines(l, p->dim, softmax_backward_line, 2);
}

tn_status tn__cpu_cumsum(const tn__launch *l)
{
    const tn__cumsum_params *p = l->params;
    return tn__cpu_lines(l, p->dim, cumsum_line, 1);
}

/* ---- triangles, ranges, identity ---- */

typedef struct triangle_job {
    const tn__launch *l;
    int64_t rows, cols;
} triangle_job;

static void triangle_rows(void *ctx, int64_t begin, int64_t end)
{
    const triangle_job *j = ctx;
    const tn__triangle_params *p = j->l->params;
    const tn__view *x = &j->l->in[0], *out = &j->l->out[0];
    const int64_t size = (int64_t)tn__dtype_size(x->dtype), n = x->ndim;
    bool lower = j->l->op == TN__OP_tril;
    for (int64_t i = begin; i < end; i++) {
        int64_t row = i % j->rows, outer = i / j->rows, xo = 0, oo = 0;
        for (int64_t d = n - 3; d >= 0; d--) {
            xo += outer % x->shape[d] * x->stride[d];
            oo += outer % x->shape[d] * out->stride[d];
            outer /= x->shape[d];
        }
        const char *from = (const char *)x->data + (xo + row * x->stride[n - 2]) * size;
        char *to = (char *)out->data + (oo + row * out->stride[n - 2]) * size;
        int64_t edge = row + p->diagonal + (lower ? 1 : 0); /* first column above, or first one kept */
        edge = TN_MAX(TN_MIN(edge, j->cols), 0);
        int64_t keep = lower ? 0 : edge, kept = lower ? edge : j->cols - edge, zero = lower ? edge : 0;
        for (int64_t c = keep; c < keep + kept; c++)
            memmove(to + c * out->stride[n - 1] * size, from + c * x->stride[n - 1] * size, (size_t)size);
        for (int64_t c = zero; c < zero + j->cols - kept; c++)
            memset(to + c * out->stride[n - 1] * size, 0, (size_t)size);
    }
}

tn_status tn__cpu_tril(const tn__launch *l)
{
    const tn__view *x = &l->in[0];
    triangle_job j = {.l = l, .rows = x->shape[x->ndim - 2], .cols = x->shape[x->ndim - 1]};
    if (x->numel == 0)
        return TN_OK;
    tn__parallel_for(x->numel / j.cols, tn__div_up(WORK, j.cols), triangle_rows, &j);
    return TN_OK;
}

/* out[i] = start + i * step, computed for each i; linspace from both ends, as PyTorch (RangeFactories). */
tn_status tn__cpu_arange(const tn__launch *l)
{
    const tn__range_params *p = l->params;
    const tn__view *out = &l->out[0];
    const tn_scalar *a = &p->start, *b = l->op == TN__OP__arange ? &p->step : &p->end;
    tn__dims8 d;
    tn__dims_pick(&d, out, (1U << out->ndim) - 1);
    double block[TN__BLOCK];
    bool whole = !tn__dtype_is_float(out->dtype); /* the bounds are truncated first, as PyTorch does */
    double start = tn__scalar_double(a), end = tn__scalar_double(b);
    double step = l->op == TN__OP__arange ? end : out->numel > 1 ? (end - start) / (double)(out->numel - 1) : 0;
    if (l->op == TN__OP__linspace && out->dtype == TN_F32)
        step = out->numel > 1 ? (double)(((float)end - (float)start) / (float)(out->numel - 1)) : 0;
    for (int64_t i = 0; i < out->numel; i += TN__BLOCK) {
        int64_t n = TN_MIN(TN__BLOCK, out->numel - i);
        if (whole && l->op == TN__OP__arange) {
            int64_t *v = (int64_t *)block, s = tn__scalar_int(a), t = tn__scalar_int(b);
            for (int64_t k = 0; k < n; k++)
                v[k] = (int64_t)((uint64_t)s + (uint64_t)(i + k) * (uint64_t)t);
            tn__store_walk(out->data, out->dtype, &d, i, block, TN__I64, n);
            continue;
        }
        for (int64_t k = 0; k < n; k++) {
            int64_t at = i + k, back = out->numel - 1 - at;
            bool first_half = l->op == TN__OP__arange || at < out->numel / 2 || out->numel == 1;
            block[k] = first_half ? start + step * (double)at : end - step * (double)back;
        }
        tn__store_walk(out->data, out->dtype, &d, i, block, TN__F64, n);
    }
    return TN_OK;
}

tn_status tn__cpu_eye(const tn__launch *l)
{
    const tn__view *out = &l->out[0];
    const int64_t size = (int64_t)tn__dtype_size(out->dtype);
    if (out->numel == 0)
        return TN_OK;
    memset(out->data, 0, (size_t)(out->numel * size));
    for (int64_t i = 0; i < TN_MIN(out->shape[0], out->shape[1]); i++)
        tn__store_int(out->dtype, (char *)out->data + i * (out->stride[0] + out->stride[1]) * size, 1);
    return TN_OK;
}
