/* Elementwise rows: which kernel, for which dtypes, of how many work items. */
#include "backend/gpu/run.h"
#include "core/error.h"

enum { FLAT, STRIDED, MIXED }; /* kernels of the family, and its variants */

typedef struct job {
    const tn__gpu_limits *limits;
    tn__gpu_launch launch;
    int32_t kinds;                  /* TN_MEMORY of inputs that are no numbers */
    int32_t mask;                   /* the input that is a mask; -1: none */
    uint64_t number[3];             /* bits of the compute type */
    int32_t dtypes;                 /* 4 bits each, the result's first */
    size_t align[TN__MAX_OPERANDS]; /* of vectors */
    int32_t width;                  /* elements in 16 bytes of the inputs' dtype */
} job;

static uint64_t number_bits(const tn__iter_operand *o, tn_dtype compute)
{
    uint64_t bits = 0;
    if (tn__dtype_size(compute) == 8) {
        memcpy(&bits, o->data, sizeof bits);
    } else {
        uint32_t word;
        memcpy(&word, o->data, sizeof word);
        bits = word;
    }
    return bits;
}

/* The storage dtype that all inputs in memory have, masks apart; 0 where they differ. */
static tn_dtype common_dtype(const job *j, const tn__iter *it, tn_dtype compute)
{
    tn_dtype common = 0;
    for (int32_t k = 1; k < it->n; k++) {
        if (!(j->kinds & TN_MEMORY(k - 1)) || k - 1 == j->mask)
            continue;
        if (common && common != it->operand[k].dtype)
            return 0;
        common = it->operand[k].dtype;
    }
    return common ? common : compute;
}

static void set_up(job *j, const tn__iter *it, tn__op_id op, tn_dtype compute)
{
    j->mask = tn__ops[op].mask - 1;
    j->dtypes = it->operand[0].dtype;
    for (int32_t k = 1; k < it->n; k++) {
        j->dtypes |= it->operand[k].dtype << 4 * k;
        if (tn__gpu_is_number(it, k))
            j->number[k - 1] = number_bits(&it->operand[k], compute);
        else
            j->kinds |= TN_MEMORY(k - 1);
    }
    const tn_dtype in = common_dtype(j, it, compute);
    tn__gpu_unit *u = &j->launch.unit;
    *u = (tn__gpu_unit){.family = TN__FAMILY_elementwise, .op = op, .compute = compute, .variant = MIXED};
    if (!in)
        return;
    u->in = in;
    u->out = it->operand[0].dtype;
    u->variant = STRIDED;
    j->width = 16 / (int32_t)tn__dtype_size(in);
    for (int32_t k = 0; k < it->n; k++)
        j->align[k] = TN_MIN((size_t)j->width * tn__dtype_size(it->operand[k].dtype), 16);
}

/* ---- dense ---- */

/* Everything is dense, or has one value throughout. */
static bool is_flat(const tn__iter *it)
{
    if (it->ndim != 1 || (it->operand[0].stride[0] != 1 && it->numel > 1))
        return false;
    for (int32_t k = 1; k < it->n; k++)
        if (it->operand[k].stride[0] > 1 && it->numel > 1)
            return false;
    return true;
}

/* The arguments that all kernels of the family begin with. */
#define OPERANDS(j, p) \
    TN__GPU_MEMORY(p[1]), TN__GPU_MEMORY(p[2]), TN__GPU_MEMORY(p[3]), TN__GPU_MEMORY(p[0]), \
        TN__GPU_VALUE((j)->number[0]), TN__GPU_VALUE((j)->number[1]), TN__GPU_VALUE((j)->number[2]), \
        TN__GPU_VALUE((j)->kinds)

static tn_status launch(job *j, uint32_t kernel, int64_t items, const tn__gpu_arg *args, size_t n)
{
    j->launch.unit.variant = j->launch.kernel = kernel;
    const tn__gpu_unit *u = &j->launch.unit;
    const bool all = kernel == FLAT && tn__dtype_size(u->out) >= tn__dtype_size(u->in);
    j->launch.groups[0] = all ? tn__gpu_all_groups(items) : tn__gpu_groups(j->limits, items);
    j->launch.arg = args;
    j->launch.n_arg = (int32_t)n;
    return tn__gpu_run(&j->launch);
}

/* Addresses of memory; numbers have none. */
static void addresses(const job *j, const tn__iter *it, void **p)
{
    p[0] = it->operand[0].data;
    for (int32_t k = 1; k < TN__MAX_OPERANDS; k++)
        p[k] = k < it->n && j->kinds & TN_MEMORY(k - 1) ? it->operand[k].data : NULL;
}

static tn_status run_flat(job *j, const tn__iter *it)
{
    void *p[TN__MAX_OPERANDS];
    addresses(j, it, p);
    bool aligned = it->numel >= j->width && tn__gpu_aligned(p[0], j->align[0]);
    for (int32_t k = 1; k < it->n; k++)
        if (p[k] && it->operand[k].stride[0] == 1) {
            j->kinds |= TN_VARIES(k - 1);
            aligned = aligned && tn__gpu_aligned(p[k], j->align[k]);
        }
    if (aligned)
        j->kinds |= TN_VECTORS;
    const int64_t n = it->numel;
    const tn__gpu_arg args[] = {OPERANDS(j, p), TN__GPU_VALUE(n)};
    return launch(j, FLAT, aligned ? n / j->width : n, args, TN_COUNT(args));
}

/* ---- over strided memory ---- */

static tn_status run_strided(void *ctx, const tn__iter *it)
{
    job *j = ctx;
    void *p[TN__MAX_OPERANDS];
    tn_gpu_iter w;
    const bool vectors = tn__gpu_in_vectors(it, j->width, j->align);
    const int32_t width = vectors ? j->width : 1, n = (int32_t)(it->numel / width);
    j->kinds &= ~(TN_VECTORS | TN_VARIES(0) | TN_VARIES(1) | TN_VARIES(2));
    addresses(j, it, p);
    for (int32_t k = 1; k < it->n && vectors; k++)
        if (p[k] && it->operand[k].stride[0] == 1)
            j->kinds |= TN_VARIES(k - 1);
    if (vectors)
        j->kinds |= TN_VECTORS;
    tn__gpu_iter_of(&w, it, width);
    const tn__gpu_arg args[] = {OPERANDS(j, p), TN__GPU_VALUE(w), TN__GPU_VALUE(n)};
    return launch(j, STRIDED, n, args, TN_COUNT(args));
}

static tn_status run_mixed(void *ctx, const tn__iter *it)
{
    job *j = ctx;
    void *p[TN__MAX_OPERANDS];
    tn_gpu_iter w;
    const int32_t n = (int32_t)it->numel;
    addresses(j, it, p);
    tn__gpu_iter_of(&w, it, 1);
    const tn__gpu_arg args[] = {OPERANDS(j, p), TN__GPU_VALUE(j->dtypes), TN__GPU_VALUE(w), TN__GPU_VALUE(n)};
    return launch(j, MIXED, n, args, TN_COUNT(args));
}

tn_status tn__gpu_elementwise(tn_device device, tn__op_id op, const tn__iter *it, tn_dtype compute)
{
    if (it->numel == 0)
        return TN_OK;
    job j = {.limits = tn__gpu_limits_of(device), .launch = {.device = device, .label = tn__ops[op].name}};
    if (!j.limits)
        return tn_error_code();
    j.launch.local[0] = TN__GPU_LOCAL;
    set_up(&j, it, op, compute);
    if (!j.launch.unit.in)
        return tn__gpu_in_parts(it, TN__GPU_INDEX_MAX, run_mixed, &j);
    if (is_flat(it))
        return run_flat(&j, it);
    return tn__gpu_in_parts(it, TN__GPU_INDEX_MAX, run_strided, &j);
}
