/* Kernels of the family factory for the CPU. */
#include "backend/cpu/cpu.h"
#include "backend/cpu/along_dim.h"
#include "core/parallel.h"

enum { GRAIN = 65536, TILE = 64, CHUNK = 16 * TN__BLOCK };

/* ---- structural rows that are copies ---- */

/* All of a view becomes the element that 'value' begins with. */
static void fill(const tn__view *out, int64_t value)
{
    const tn__view one = {.data = &value, .dtype = out->dtype, .numel = 1, .contiguous = true};
    if (value == 0 && out->contiguous && out->numel <= GRAIN)
        memset(out->data, 0, (size_t)out->numel * tn__dtype_size(out->dtype));
    else
        tn__cpu_copy_view(out, &one);
}

tn_status tn__cpu_fill(const tn__launch *l)
{
    const tn__view *out = &l->out[0];
    int64_t value = 0;
    if (l->n_in > 1 && l->in[1].dtype) {
        tn__cpu_copy_view(out, &l->in[1]);
        return TN_OK;
    }
    if (l->n_in > 1)
        tn__store_scalar(out->dtype, &value, &l->operand[1]);
    if (out->numel)
        fill(out, value);
    return TN_OK;
}

/* ---- triangles, ranges, identity ---- */

typedef struct range_job {
    const tn__view *out;
    tn__strided_dims d;
    double start, step, end;
    uint64_t whole_start, whole_step; /* bounds of integers are truncated first, as PyTorch does */
} range_job;

/* out[i] = start + i * step, computed for each i, as PyTorch (RangeFactories) */
static void arange_chunk(void *ctx, int64_t begin, int64_t end)
{
    const range_job *j = ctx;
    const tn__view *out = j->out;
    union {
        double real[TN__BLOCK];
        uint64_t whole[TN__BLOCK];
    } block;
    for (int64_t i = begin; i < end; i += TN__BLOCK) {
        const int32_t n = (int32_t)TN_MIN(TN__BLOCK, end - i);
        const bool real = tn__dtype_is_float(out->dtype);
        uint64_t *whole = out->dtype == TN_I64 && out->contiguous ? (uint64_t *)out->data + i : block.whole;
        double *numbers = out->dtype == TN_F64 && out->contiguous ? (double *)out->data + i : block.real;
        for (int32_t k = 0; k < n && real; k++) /* i + k is exact in double; few processors convert int64 in vectors */
            numbers[k] = j->start + j->step * ((double)i + (double)k);
        uint64_t v = j->whole_start + (uint64_t)i * j->whole_step;
        for (int32_t k = 0; k < n && !real; k++, v += j->whole_step)
            whole[k] = v;
        if (real ? numbers == block.real : whole == block.whole)
            tn__store_strided(out->data, out->dtype, &j->d, i, &block, real ? TN__F64 : TN__I64, n);
    }
}

tn_status tn__cpu_arange(const tn__launch *l)
{
    const tn__arange_params *p = l->params;
    range_job j = {.out = &l->out[0], .start = tn__scalar_double(&p->start), .step = tn__scalar_double(&p->step)};
    if (!tn__dtype_is_float(j.out->dtype)) {
        j.whole_start = (uint64_t)tn__scalar_int(&p->start);
        j.whole_step = (uint64_t)tn__scalar_int(&p->step);
    }
    tn__strided_dims_of(&j.d, j.out, (1U << j.out->ndim) - 1);
    tn__parallel_for(j.out->numel, CHUNK, arange_chunk, &j);
    return TN_OK;
}

static void linspace_chunk(void *ctx, int64_t begin, int64_t end)
{
    const range_job *j = ctx;
    const tn__view *out = j->out;
    double block[TN__BLOCK];
    for (int64_t i = begin; i < end; i += TN__BLOCK) {
        const int64_t n = TN_MIN(TN__BLOCK, end - i);
        const int64_t half = out->numel == 1 ? 1 : out->numel / 2, first = TN_MAX(TN_MIN(half - i, n), 0);
        const double before = (double)(out->numel - 1 - i);
        for (int32_t k = 0; k < first; k++)
            block[k] = j->start + j->step * ((double)i + (double)k);
        for (int32_t k = (int32_t)first; k < n; k++)
            block[k] = j->end - j->step * (before - (double)k);
        tn__store_strided(out->data, out->dtype, &j->d, i, block, TN__F64, n);
    }
}

/* From both ends, as PyTorch. */
tn_status tn__cpu_linspace(const tn__launch *l)
{
    const tn__linspace_params *p = l->params;
    const tn__view *out = &l->out[0];
    range_job j = {.out = out, .start = tn__scalar_double(&p->start), .end = tn__scalar_double(&p->end)};
    tn__strided_dims_of(&j.d, out, (1U << out->ndim) - 1);
    j.step = out->numel > 1 ? (j.end - j.start) / (double)(out->numel - 1) : 0;
    if (out->dtype == TN_F32)
        j.step = out->numel > 1 ? (double)(((float)j.end - (float)j.start) / (float)(out->numel - 1)) : 0;
    tn__parallel_for(out->numel, CHUNK, linspace_chunk, &j);
    return TN_OK;
}

tn_status tn__cpu_eye(const tn__launch *l)
{
    const tn__view *out = &l->out[0];
    const int64_t size = (int64_t)tn__dtype_size(out->dtype);
    if (out->numel == 0)
        return TN_OK;
    fill(out, 0);
    for (int64_t i = 0; i < TN_MIN(out->shape[0], out->shape[1]); i++)
        tn__store_int(out->dtype, (char *)out->data + i * (out->stride[0] + out->stride[1]) * size, 1);
    return TN_OK;
}
