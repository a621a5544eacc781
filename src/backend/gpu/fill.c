/* Fills of views with one value on a GPU. */
#include "backend/gpu/run.h"
#include "core/error.h"

enum { FLAT, STRIDED }; /* kernels of the family */

typedef struct job {
    const tn__gpu_limits *limits;
    tn__gpu_launch launch;
    uint64_t bits;
} job;

static tn_status launch(job *j, uint32_t kernel, int64_t items, const tn__gpu_arg *args, size_t n)
{
    j->launch.kernel = kernel;
    j->launch.local[0] = TN__GPU_LOCAL;
    j->launch.groups[0] = tn__gpu_groups(j->limits, items);
    j->launch.arg = args;
    j->launch.n_arg = (int32_t)n;
    return tn__gpu_run(&j->launch);
}

static tn_status run_flat(job *j, void *out, int64_t n)
{
    const int64_t width = 16 / (int64_t)tn__dtype_size(j->launch.unit.out);
    const int32_t kinds = n >= width && tn__gpu_aligned(out, 16) ? TN_VECTORS : 0;
    const tn__gpu_arg args[] = {TN__GPU_MEMORY(out), TN__GPU_VALUE(j->bits), TN__GPU_VALUE(kinds), TN__GPU_VALUE(n)};
    return launch(j, FLAT, kinds ? n / width : n, args, TN_COUNT(args));
}

static tn_status run_strided(void *ctx, const tn__iter *it)
{
    job *j = ctx;
    tn_gpu_iter w;
    void *out = it->operand[0].data;
    const int32_t n = (int32_t)it->numel;
    tn__gpu_iter_of(&w, it, 1);
    const tn__gpu_arg args[] = {TN__GPU_MEMORY(out), TN__GPU_VALUE(j->bits), TN__GPU_VALUE(w), TN__GPU_VALUE(n)};
    return launch(j, STRIDED, n, args, TN_COUNT(args));
}

tn_status tn__gpu_fill_iter(tn_device device, const tn__iter *it, uint64_t bits, const char *label)
{
    const tn__iter_operand *o = &it->operand[0];
    const bool dense = it->ndim == 1 && (o->stride[0] == 1 || it->numel == 1);
    if (it->numel == 0)
        return TN_OK;
    if (dense && bits == 0)
        return tn__gpu_zero(device, o->data, (size_t)it->numel * tn__dtype_size(o->dtype));
    job j = {.limits = tn__gpu_limits_of(device), .bits = bits, .launch = {.device = device, .label = label}};
    if (!j.limits)
        return tn_error_code();
    j.launch.unit = (tn__gpu_unit){.family = TN__FAMILY_fill, .op = TN__OPS, .out = tn__dtype_word(o->dtype)};
    return dense ? run_flat(&j, o->data, it->numel) : tn__gpu_in_parts(it, TN__GPU_INDEX_MAX, run_strided, &j);
}

tn_status tn__gpu_fill_view(tn_device device, const tn__view *out, uint64_t bits, const char *label)
{
    tn__iter it;
    const tn__view one = {.data = it.number, .dtype = out->dtype, .numel = 1, .contiguous = true};
    tn__iter_copy(&it, out, &one);
    return tn__gpu_fill_iter(device, &it, bits, label);
}
