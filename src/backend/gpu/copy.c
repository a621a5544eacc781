/* Copies between dtypes and layouts on one GPU: which kernel of the family copy takes them. */
#include "backend/gpu/run.h"
#include "core/error.h"

enum { FLAT, STRIDED, TRANSPOSE }; /* kernels of the family */

enum { DENSE_UNIT, STRIDED_UNIT }; /* variants */

enum { TURN_AT_LEAST = 8 }; /* rows and columns that are worth a tile */

enum { MOST_Y = 65535, MOST_Z = 1024 }; /* groups; kernels loop over the rest */

typedef struct job {
    const tn__gpu_limits *limits;
    tn__gpu_launch launch;
    int32_t width; /* elements of a vector: copy.k */
    size_t align[2];
} job;

/* The compute type through which values pass on their way without a loss that PyTorch does not have. */
static tn_dtype pass_through(tn_dtype from, tn_dtype to)
{
    if (tn__dtype_is_float(from))
        return from == TN_F64 ? TN_F64 : TN_F32;
    if (tn__dtype_is_float(to))
        return to == TN_F64 ? TN_F64 : TN_F32;
    return tn__dtypes[from].compute == TN_I64 || tn__dtypes[to].compute == TN_I64 ? TN_I64 : TN_I32;
}

static void set_unit(job *j, tn_dtype from, tn_dtype to)
{
    if (from == to)
        from = to = tn__dtype_word(to);
    const int32_t in = (int32_t)tn__dtype_size(from), out = (int32_t)tn__dtype_size(to), smaller = TN_MIN(in, out);
    j->launch.unit = (tn__gpu_unit){
        .family = TN__FAMILY_copy, .op = TN__OPS, .in = from, .out = to, .compute = pass_through(from, to)};
    j->width = in == out || smaller > 1 ? 16 / smaller : 8;
    j->align[0] = (size_t)TN_MIN(j->width * out, 16);
    j->align[1] = (size_t)TN_MIN(j->width * in, 16);
}

static tn_status launch(job *j, uint32_t variant, uint32_t kernel, const tn__gpu_arg *args, size_t n)
{
    j->launch.unit.variant = variant;
    j->launch.kernel = kernel;
    j->launch.arg = args;
    j->launch.n_arg = (int32_t)n;
    return tn__gpu_run(&j->launch);
}

/* ---- dense ---- */

static bool is_flat(const tn__iter *it)
{
    const int64_t in = it->operand[1].stride[0];
    return it->ndim == 1 && (it->numel == 1 || (it->operand[0].stride[0] == 1 && (in == 0 || in == 1)));
}

static tn_status run_flat(job *j, const tn__iter *it)
{
    void *out = it->operand[0].data, *in = it->operand[1].data;
    const int64_t n = it->numel;
    int32_t kinds = TN_MEMORY(0) | (it->operand[1].stride[0] == 1 ? TN_VARIES(0) : 0);
    if (n >= j->width && tn__gpu_aligned(out, j->align[0]) &&
        (!(kinds & TN_VARIES(0)) || tn__gpu_aligned(in, j->align[1])))
        kinds |= TN_VECTORS;
    const tn__gpu_arg args[] = {TN__GPU_MEMORY(in), TN__GPU_MEMORY(out), TN__GPU_VALUE(kinds), TN__GPU_VALUE(n)};
    j->launch.local[0] = TN__GPU_LOCAL;
    j->launch.groups[0] = tn__gpu_all_groups(kinds & TN_VECTORS ? n / j->width : n);
    return launch(j, DENSE_UNIT, FLAT, args, TN_COUNT(args));
}

/* ---- strided ---- */

static tn_status run_strided(void *ctx, const tn__iter *it)
{
    job *j = ctx;
    tn_gpu_iter w;
    void *out = it->operand[0].data, *in = it->operand[1].data;
    const bool vectors = tn__gpu_in_vectors(it, j->width, j->align);
    const int32_t width = vectors ? j->width : 1, n = (int32_t)(it->numel / width);
    const int32_t kinds =
        TN_MEMORY(0) | (vectors ? TN_VECTORS : 0) | (vectors && it->operand[1].stride[0] == 1 ? TN_VARIES(0) : 0);
    tn__gpu_iter_of(&w, it, width);
    const tn__gpu_arg args[] = {TN__GPU_MEMORY(in), TN__GPU_MEMORY(out), TN__GPU_VALUE(kinds), TN__GPU_VALUE(w),
                                TN__GPU_VALUE(n)};
    j->launch.local[0] = TN__GPU_LOCAL;
    j->launch.groups[0] = tn__gpu_groups(j->limits, n);
    return launch(j, STRIDED_UNIT, STRIDED, args, TN_COUNT(args));
}

/* ---- transposed ---- */

/* The dimension along which the source is dense, if that is not the result's and tiles pay; 0: none. */
static int32_t transposed_dimension(const tn__iter *it)
{
    const int64_t *out = it->operand[0].stride, *in = it->operand[1].stride;
    if (out[0] != 1 || in[0] == 1 || in[0] == 0 || it->shape[0] < TURN_AT_LEAST)
        return 0;
    for (int32_t d = 1; d < it->ndim; d++)
        if (in[d] == 1 && it->shape[d] >= TURN_AT_LEAST)
            return d;
    return 0;
}

static tn_status run_transposed(job *j, const tn__iter *it, int32_t transposed)
{
    void *out = it->operand[0].data, *in = it->operand[1].data;
    tn_matrices m = {.rows = it->shape[transposed],
                     .columns = it->shape[0],
                     .row_in = 1,
                     .column_in = it->operand[1].stride[0],
                     .row_out = it->operand[0].stride[transposed],
                     .column_out = 1,
                     .matrices = it->numel / (it->shape[0] * it->shape[transposed])};
    for (int32_t d = 1; d < it->ndim; d++) {
        if (d == transposed)
            continue;
        m.shape[m.ndim] = it->shape[d];
        m.in[m.ndim] = it->operand[1].stride[d];
        m.out[m.ndim++] = it->operand[0].stride[d];
    }
    const tn__gpu_arg args[] = {TN__GPU_MEMORY(in), TN__GPU_MEMORY(out), TN__GPU_VALUE(m)};
    j->launch.local[0] = TN_TILE;
    j->launch.local[1] = TN_TILE / 4;
    j->launch.groups[0] = (uint32_t)tn__div_up(m.columns, TN_TILE);
    j->launch.groups[1] = (uint32_t)TN_MIN(tn__div_up(m.rows, TN_TILE), MOST_Y);
    j->launch.groups[2] = (uint32_t)TN_MIN(m.matrices, MOST_Z);
    return launch(j, STRIDED_UNIT, TRANSPOSE, args, TN_COUNT(args));
}

/* ---- the door ---- */

static uint64_t number_as(const tn__iter_operand *number, tn_dtype to)
{
    uint64_t bits = 0;
    if (tn__dtype_is_float(number->dtype))
        tn__store_double(to, &bits, tn__load_double(number->dtype, number->data));
    else
        tn__store_int(to, &bits, tn__load_int(number->dtype, number->data));
    return bits;
}

static tn_status copy(tn_device device, const tn__iter *it, const char *label)
{
    if (it->numel == 0)
        return TN_OK;
    job j = {.limits = tn__gpu_limits_of(device), .launch = {.device = device, .label = label}};
    if (!j.limits)
        return tn_error_code();
    set_unit(&j, it->operand[1].dtype, it->operand[0].dtype);
    if (is_flat(it))
        return run_flat(&j, it);
    const int32_t transposed = transposed_dimension(it);
    if (transposed)
        return run_transposed(&j, it, transposed);
    return tn__gpu_in_parts(it, TN__GPU_INDEX_MAX, run_strided, &j);
}

tn_status tn__gpu_copy_iter(tn_device device, const tn__iter *it)
{
    if (tn__gpu_is_number(it, 1))
        return tn__gpu_fill_iter(device, it, number_as(&it->operand[1], it->operand[0].dtype), "fill");
    return copy(device, it, "copy");
}

tn_status tn__gpu_copy_as(tn_device device, const tn__view *out, const tn__view *in, const char *label)
{
    tn__iter it;
    tn__iter_copy(&it, out, in);
    return copy(device, &it, label);
}
