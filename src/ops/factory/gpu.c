/* Ranges and the identity. */
#include "backend/gpu/run.h"
#include "core/error.h"

enum { ARANGE, LINSPACE }; /* kernels of the family */

static uint64_t bits_of(double v)
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}

/* The step that PyTorch takes: of float32, computed in float32. */
static double linspace_step(const tn__view *out, double start, double end)
{
    if (out->numel < 2)
        return 0;
    if (out->dtype == TN_F32)
        return (double)(((float)end - (float)start) / (float)(out->numel - 1));
    return (end - start) / (double)(out->numel - 1);
}

static tn_status run(const tn__launch *l, bool whole, const uint64_t *numbers, int32_t n_numbers)
{
    const tn__view *out = &l->out[0];
    const tn__gpu_limits *limits = tn__gpu_limits_of(l->device);
    void *data = out->data;
    const int64_t stride = out->contiguous ? 1 : out->stride[0], n = out->numel;
    tn__gpu_arg args[6] = {TN__GPU_MEMORY(data)};
    int32_t n_arg = 1;
    if (!limits)
        return tn_error_code();
    for (int32_t i = 0; i < n_numbers; i++)
        args[n_arg++] = (tn__gpu_arg)TN__GPU_VALUE(numbers[i]);
    args[n_arg++] = (tn__gpu_arg)TN__GPU_VALUE(stride);
    args[n_arg++] = (tn__gpu_arg)TN__GPU_VALUE(n);
    return tn__gpu_run(&(tn__gpu_launch){
        .device = l->device,
        .unit = {.family = TN__FAMILY_make, .op = TN__OPS, .out = out->dtype, .compute = whole ? TN_I64 : TN_F64},
        .kernel = n_numbers == 2 ? ARANGE : LINSPACE,
        .groups = {tn__gpu_groups(limits, n)},
        .local = {TN__GPU_LOCAL},
        .arg = args,
        .n_arg = n_arg,
        .label = tn__ops[l->op].name});
}

tn_status tn__gpu_arange(const tn__launch *l)
{
    const tn__arange_params *p = l->params;
    const tn__view *out = &l->out[0];
    if (out->numel == 0)
        return TN_OK;
    if (tn__dtype_is_float(out->dtype))
        return run(l, false,
                   (const uint64_t[]){bits_of(tn__scalar_double(&p->start)), bits_of(tn__scalar_double(&p->step))}, 2);
    /* integers: the bounds are truncated first, as PyTorch does */
    return run(l, true, (const uint64_t[]){(uint64_t)tn__scalar_int(&p->start), (uint64_t)tn__scalar_int(&p->step)}, 2);
}

tn_status tn__gpu_linspace(const tn__launch *l)
{
    const tn__linspace_params *p = l->params;
    const tn__view *out = &l->out[0];
    const double start = tn__scalar_double(&p->start), end = tn__scalar_double(&p->end);
    if (out->numel == 0)
        return TN_OK;
    return run(l, false, (const uint64_t[]){bits_of(start), bits_of(end), bits_of(linspace_step(out, start, end))}, 3);
}

tn_status tn__gpu_eye(const tn__launch *l)
{
    const tn__view *out = &l->out[0];
    const size_t size = tn__dtype_size(out->dtype);
    const int64_t n = out->numel ? TN_MIN(out->shape[0], out->shape[1]) : 0;
    const int64_t step = n ? out->stride[0] + out->stride[1] : 1;
    const tn__view diagonal = {
        .data = out->data, .dtype = out->dtype, .ndim = 1, .numel = n, .shape = &n, .stride = &step};
    uint64_t one = 0;
    tn_status e = tn__gpu_zero(l->device, out->data, (size_t)out->numel * size);
    tn__store_int(out->dtype, &one, 1);
    return e ? e : tn__gpu_fill_view(l->device, &diagonal, one, "eye");
}

tn_status tn__gpu_fill(const tn__launch *l)
{
    uint64_t bits = 0;
    if (l->n_in > 1 && l->in[1].dtype)
        return tn__gpu_copy_as(l->device, &l->out[0], &l->in[1], tn__ops[l->op].name);
    if (l->n_in > 1)
        tn__store_scalar(l->out[0].dtype, &bits, &l->operand[1]);
    return tn__gpu_fill_view(l->device, &l->out[0], bits, tn__ops[l->op].name);
}
