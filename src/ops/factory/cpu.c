/* Kernels of the family factory for the CPU. */
#include "backend/cpu/cpu.h"
#include "backend/cpu/along_dim.h"

enum { GRAIN = 65536, TILE = 64 };

/* ---- structural rows that are copies ---- */

tn_status tn__cpu_fill(const tn__launch *l)
{
    const tn__view *out = &l->out[0];
    if (l->n_in > 1 && l->in[1].dtype) {
        tn__cpu_copy_view(out, &l->in[1]);
        return TN_OK;
    }
    int64_t value = 0;
    if (l->n_in > 1)
        tn__store_scalar(out->dtype, &value, &l->operand[1]);
    if (value == 0 && out->contiguous && out->numel <= GRAIN) {
        if (out->numel)
            memset(out->data, 0, (size_t)out->numel * tn__dtype_size(out->dtype));
        return TN_OK;
    }
    tn__view one = {.data = &value, .dtype = out->dtype, .numel = 1, .contiguous = true};
    tn__cpu_copy_view(out, &one);
    return TN_OK;
}

/* ---- triangles, ranges, identity ---- */

/* Dense int64: no block between. */
static void arange_i64(int64_t *out, uint64_t start, uint64_t step, int64_t n)
{
    for (int64_t i = 0; i < n; i++, start += step)
        out[i] = (int64_t)start;
}

/* out[i] = start + i * step, computed for each i, as PyTorch (RangeFactories) */
tn_status tn__cpu_arange(const tn__launch *l)
{
    const tn__arange_params *p = l->params;
    const tn__view *out = &l->out[0];
    tn__strided_dims d;
    tn__strided_dims_of(&d, out, (1U << out->ndim) - 1);
    double block[TN__BLOCK];
    if (out->dtype == TN_I64 && out->contiguous) {
        arange_i64(out->data, (uint64_t)tn__scalar_int(&p->start), (uint64_t)tn__scalar_int(&p->step), out->numel);
        return TN_OK;
    }
    const double start = tn__scalar_double(&p->start), step = tn__scalar_double(&p->step);
    for (int64_t i = 0; i < out->numel; i += TN__BLOCK) {
        int64_t n = TN_MIN(TN__BLOCK, out->numel - i);
        if (!tn__dtype_is_float(out->dtype)) { /* the bounds are truncated first, as PyTorch does */
            int64_t *v = (int64_t *)block, s = tn__scalar_int(&p->start), t = tn__scalar_int(&p->step);
            for (int64_t k = 0; k < n; k++)
                v[k] = (int64_t)((uint64_t)s + (uint64_t)(i + k) * (uint64_t)t);
            tn__store_strided(out->data, out->dtype, &d, i, block, TN__I64, n);
            continue;
        }
        for (int32_t k = 0; k < n; k++) /* i + k is exact in double; few processors convert int64 in vectors */
            block[k] = start + step * ((double)i + (double)k);
        tn__store_strided(out->data, out->dtype, &d, i, block, TN__F64, n);
    }
    return TN_OK;
}

/* From both ends, as PyTorch. */
tn_status tn__cpu_linspace(const tn__launch *l)
{
    const tn__linspace_params *p = l->params;
    const tn__view *out = &l->out[0];
    tn__strided_dims d;
    tn__strided_dims_of(&d, out, (1U << out->ndim) - 1);
    double block[TN__BLOCK];
    const double start = tn__scalar_double(&p->start), end = tn__scalar_double(&p->end);
    double step = out->numel > 1 ? (end - start) / (double)(out->numel - 1) : 0;
    if (out->dtype == TN_F32)
        step = out->numel > 1 ? (double)(((float)end - (float)start) / (float)(out->numel - 1)) : 0;
    for (int64_t i = 0; i < out->numel; i += TN__BLOCK) {
        int64_t n = TN_MIN(TN__BLOCK, out->numel - i);
        const int64_t half = out->numel == 1 ? 1 : out->numel / 2, first = TN_MAX(TN_MIN(half - i, n), 0);
        const double before = (double)(out->numel - 1 - i);
        for (int32_t k = 0; k < first; k++)
            block[k] = start + step * ((double)i + (double)k);
        for (int32_t k = (int32_t)first; k < n; k++)
            block[k] = end - step * (before - (double)k);
        tn__store_strided(out->data, out->dtype, &d, i, block, TN__F64, n);
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
