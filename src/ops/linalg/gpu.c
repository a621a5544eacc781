/* Sums of singular values, and polar factors: a group of work items for each matrix. */
#include "backend/gpu/run.h"
#include "op/infer.h"
#include "ops/linalg/gpu_layout.h"

enum { GROUP = 128 };

static svd_matrices matrices_of(const tn__view *x, const tn__view *out)
{
    const int32_t r = x->ndim - 2, c = x->ndim - 1;
    const bool wide = x->shape[r] < x->shape[c], polar = out->ndim == x->ndim;
    const int32_t rows = wide ? c : r, columns = wide ? r : c;
    svd_matrices m = {.rows = x->shape[rows],
                      .columns = x->shape[columns],
                      .row_step = x->stride[rows],
                      .col_step = x->stride[columns],
                      .out_row = polar ? out->stride[rows] : 0,
                      .out_col = polar ? out->stride[columns] : 0,
                      .count = 1,
                      .n = r,
                      .polar = polar};
    for (int32_t d = 0; d < r; d++) {
        m.shape[d] = x->shape[d];
        m.from[d] = x->stride[d];
        m.to[d] = out->stride[d];
        m.count *= x->shape[d];
    }
    return m;
}

tn_status tn__gpu_svd(const tn__launch *l)
{
    const tn__view *x = &l->in[0], *out = &l->out[0];
    const tn__gpu_limits *limits = tn__gpu_limits_of(l->device);
    if (!limits)
        return tn_error_code();
    if (out->numel == 0)
        return TN_OK;
    const svd_matrices m = matrices_of(x, out);
    const int64_t groups = TN_MIN(m.count, (int64_t)limits->multiprocessors * 8);
    const int64_t doubles = m.rows * m.columns + (m.polar ? m.columns * m.columns : 0) + m.rows;
    const size_t bytes = (size_t)TN_MAX(groups * doubles, 1) * sizeof(double);
    void *work = tn__gpu_scratch_get(l->device, bytes);
    if (!work)
        return tn_error_code();
    const tn__gpu_arg args[] = {TN__GPU_MEMORY(x->data), TN__GPU_MEMORY(out->data), TN__GPU_MEMORY(work),
                                TN__GPU_VALUE(m)};
    const tn_status e =
        tn__gpu_run(&(tn__gpu_launch){.device = l->device,
                                      .unit = {TN__FAMILY_svd, TN__OPS, x->dtype, out->dtype, TN_F64, 0},
                                      .groups = {(uint32_t)groups},
                                      .local = {GROUP},
                                      .arg = args,
                                      .n_arg = (int32_t)TN_COUNT(args),
                                      .label = tn__op_name(l->op)});
    tn__gpu_scratch_put(l->device, work, bytes);
    return e;
}
