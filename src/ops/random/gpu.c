/* Random numbers, dropout, permutations: bit-equal to the CPU's. */
#include "backend/gpu/strided_view.h"
#include "core/alloc.h"
#include "core/error.h"
#include "core/philox.h"

enum { UNIFORM, NORMAL, INTEGERS, DROPOUT, POISSON, BINOMIAL, GAMMA, GAMMA_SLOPE, BETA_SLOPE, LOCAL = 128 };

static tn_status run(const tn__launch *l, uint32_t kernel, tn_dtype compute, int64_t blocks, const tn__gpu_arg *args,
                     int32_t n_arg)
{
    const tn__gpu_limits *limits = tn__gpu_limits_of(l->device);
    if (!limits)
        return tn_error_code();
    const tn__gpu_launch launch = {
        .device = l->device,
        .unit = {.family = TN__FAMILY_random, .op = TN__OPS, .out = l->out[0].dtype, .compute = compute},
        .kernel = kernel,
        .groups = {(uint32_t)TN_MAX(TN_MIN(tn__div_up(blocks, LOCAL), INT32_MAX), 1), 1, 1},
        .local = {LOCAL, 1, 1},
        .arg = args,
        .n_arg = n_arg,
        .label = tn__ops[l->op].name};
    return tn__gpu_run(&launch);
}

tn_status tn__gpu_randint(const tn__launch *l)
{
    const tn__randint_params *a = l->params;
    const tn__view *out = &l->out[0];
    if (out->numel == 0)
        return TN_OK;
    const tn__strided w = tn__strided_of(out);
    const uint64_t seed = (uint64_t)a->seed, first = (uint64_t)a->offset, range = (uint64_t)a->high - (uint64_t)a->low;
    const int64_t from = a->low, n = out->numel;
    const tn__gpu_arg args[] = {TN__GPU_MEMORY(out->data), TN__GPU_VALUE(w),    TN__GPU_VALUE(seed),
                                TN__GPU_VALUE(first),      TN__GPU_VALUE(from), TN__GPU_VALUE(range),
                                TN__GPU_VALUE(n)};
    return run(l, INTEGERS, TN_I64, tn__div_up(n, 2), args, (int32_t)TN_COUNT(args));
}

tn_status tn__gpu_uniform(const tn__launch *l)
{
    const tn__uniform__params *a = l->params;
    const tn__view *out = &l->out[0];
    const tn_dtype c = tn__dtypes[out->dtype].compute;
    if (out->numel == 0)
        return TN_OK;
    const tn__strided w = tn__strided_of(out);
    const uint64_t seed = (uint64_t)a->seed, first = (uint64_t)a->offset;
    const tn__gpu_number from = tn__gpu_real(c, a->from), to = tn__gpu_real(c, a->to);
    const int32_t bits = tn__dtype_uniform_bits(out->dtype);
    const int64_t n = out->numel;
    const tn__gpu_arg args[] = {
        TN__GPU_MEMORY(out->data),    TN__GPU_VALUE(w),           TN__GPU_VALUE(seed), TN__GPU_VALUE(first),
        tn__gpu_number_arg(c, &from), tn__gpu_number_arg(c, &to), TN__GPU_VALUE(bits), TN__GPU_VALUE(n)};
    return run(l, UNIFORM, c, tn__div_up(n, c == TN_F64 ? 2 : 4), args, (int32_t)TN_COUNT(args));
}

tn_status tn__gpu_normal(const tn__launch *l)
{
    const tn__normal__params *a = l->params;
    const tn__view *out = &l->out[0];
    const tn_dtype c = tn__dtypes[out->dtype].compute;
    if (out->numel == 0)
        return TN_OK;
    const tn__strided w = tn__strided_of(out);
    const uint64_t seed = (uint64_t)a->seed, first = (uint64_t)a->offset;
    const tn__gpu_number mean = tn__gpu_real(c, a->mean), std = tn__gpu_real(c, a->std);
    const int64_t n = out->numel;
    const tn__gpu_arg args[] = {TN__GPU_MEMORY(out->data),
                                TN__GPU_VALUE(w),
                                TN__GPU_VALUE(seed),
                                TN__GPU_VALUE(first),
                                tn__gpu_number_arg(c, &mean),
                                tn__gpu_number_arg(c, &std),
                                TN__GPU_VALUE(n)};
    return run(l, NORMAL, c, tn__div_up(n, c == TN_F64 ? 2 : 4), args, (int32_t)TN_COUNT(args));
}

tn_status tn__gpu_dropout(const tn__launch *l)
{
    const tn__dropout_params *a = l->params;
    const tn__view *x = &l->in[0], *out = &l->out[0];
    const tn_dtype c = tn__dtypes[out->dtype].compute;
    if (out->numel == 0)
        return TN_OK;
    const tn__strided xw = tn__strided_of(x), w = tn__strided_of(out);
    const uint64_t seed = (uint64_t)a->seed, first = (uint64_t)a->offset, threshold = (uint64_t)(a->p * 4294967296.0);
    const tn__gpu_number scale = tn__gpu_real(c, a->p < 1 ? 1 / (1 - a->p) : 0);
    const int64_t n = out->numel;
    const tn__gpu_arg args[] = {
        TN__GPU_MEMORY(x->data), TN__GPU_VALUE(xw),    TN__GPU_MEMORY(out->data), TN__GPU_VALUE(w),
        TN__GPU_VALUE(seed),     TN__GPU_VALUE(first), TN__GPU_VALUE(threshold),  tn__gpu_number_arg(c, &scale),
        TN__GPU_VALUE(n)};
    return run(l, DROPOUT, c, tn__div_up(n, 4), args, (int32_t)TN_COUNT(args));
}

/* x, and n where the law has one, are dense. */
static tn_status law(const tn__launch *l, uint32_t kernel)
{
    const tn__law_params *a = l->params;
    const tn__view *x = &l->in[0], *count = &l->in[l->n_in - 1], *out = &l->out[0];
    if (out->numel == 0)
        return TN_OK;
    const uint64_t seed = (uint64_t)a->seed, first = (uint64_t)a->offset, blocks = (uint64_t)a->blocks;
    const int64_t n = out->numel;
    const tn__gpu_arg args[] = {TN__GPU_MEMORY(x->data), TN__GPU_MEMORY(count->data), TN__GPU_MEMORY(out->data),
                                TN__GPU_VALUE(seed),     TN__GPU_VALUE(first),        TN__GPU_VALUE(blocks),
                                TN__GPU_VALUE(n)};
    return run(l, kernel, tn__dtypes[out->dtype].compute, n, args, (int32_t)TN_COUNT(args));
}

tn_status tn__gpu_poisson(const tn__launch *l)
{
    return law(l, POISSON);
}

tn_status tn__gpu_binomial(const tn__launch *l)
{
    return law(l, BINOMIAL);
}

tn_status tn__gpu_gamma(const tn__launch *l)
{
    return law(l, GAMMA);
}

static tn_status slope(const tn__launch *l, uint32_t kernel)
{
    const tn__view *a = &l->in[0], *b = &l->in[1], *c = &l->in[l->n_in - 1], *out = &l->out[0];
    if (out->numel == 0)
        return TN_OK;
    const tn__strided aw = tn__strided_of(a), bw = tn__strided_of(b), cw = tn__strided_of(c), w = tn__strided_of(out);
    const int64_t n = out->numel;
    const tn__gpu_arg args[] = {TN__GPU_MEMORY(a->data),   TN__GPU_VALUE(aw),       TN__GPU_MEMORY(b->data),
                                TN__GPU_VALUE(bw),         TN__GPU_MEMORY(c->data), TN__GPU_VALUE(cw),
                                TN__GPU_MEMORY(out->data), TN__GPU_VALUE(w),        TN__GPU_VALUE(n)};
    return run(l, kernel, tn__dtypes[out->dtype].compute, n, args, (int32_t)TN_COUNT(args));
}

tn_status tn__gpu_gamma_slope(const tn__launch *l)
{
    return slope(l, GAMMA_SLOPE);
}

tn_status tn__gpu_beta_slope(const tn__launch *l)
{
    return slope(l, BETA_SLOPE);
}

/* Each place of a permutation depends on those before it: made on the host, then moved. */
tn_status tn__gpu_randperm(const tn__launch *l)
{
    const tn__randperm_params *p = l->params;
    const tn__view *out = &l->out[0];
    const size_t bytes = (size_t)out->numel * sizeof(int64_t);
    int64_t stride[TN_MAX_DIMS];
    if (out->numel == 0)
        return TN_OK;
    int64_t *order = tn__block_get(bytes);
    if (!order)
        return tn__error_memory("a permutation", bytes);
    tn__philox_permutation(order, out->numel, (uint64_t)p->seed, (uint64_t)p->offset);
    void *landed = tn__gpu_scratch_get(l->device, bytes);
    tn_status e = landed ? tn__backend_of(l->device)->mover->upload(l->device, landed, order, bytes, false, false)
                         : tn_error_code();
    if (!e) {
        const tn__view dense = tn__gpu_dense_view(out, landed, TN_I64, stride);
        e = tn__gpu_copy_view(l->device, out, &dense);
    }
    if (landed)
        tn__gpu_scratch_put(l->device, landed, bytes);
    tn__block_put(order, bytes);
    return e;
}
