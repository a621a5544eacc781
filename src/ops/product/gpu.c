/* Matrix products: a library's where it has one for them, else the own tiled kernel. */
#include "backend/gpu/strided_view.h"
#include "backend/gpu/run.h"
#include "core/error.h"
#include "ops/product/gpu_layout.h"
#include "ops/product/gemm.h"

typedef struct job {
    const tn__launch *l;
    tn__gemm_problem s;
    tn_dtype dtype;
    void *c; /* dense, row-major [batch][m][n] */
} job;

/* ---- the own kernel ---- */

static tn_status run_tiled(const job *j, const void *a, const void *b)
{
    enum { TILE = 32, MOST = 65535 }; /* groups; the kernel loops over the rest */
    const tn__gemm_problem *s = &j->s;
    const tn_dtype c = tn__dtypes[j->dtype].compute;
    const bool whole = !tn__dtype_is_float(j->dtype), biased = s->bias && s->beta != 0;
    const gemm_shape shape = {s->m,    s->n,    s->k, s->batch, s->a_rs,     s->a_cs,    s->a_bs,   s->b_rs,
                              s->b_cs, s->b_bs, s->n, 1,        s->m * s->n, s->bias_rs, s->bias_cs};
    const tn__gpu_number alpha = whole ? tn__gpu_whole(c, s->whole_alpha) : tn__gpu_real(c, s->alpha);
    const tn__gpu_number beta = whole ? tn__gpu_whole(c, s->whole_beta) : tn__gpu_real(c, s->beta);
    const void *bias = biased ? s->bias->data : NULL;
    const tn__gpu_arg args[] = {TN__GPU_MEMORY(a),           TN__GPU_MEMORY(b),    TN__GPU_MEMORY(bias),
                                TN__GPU_MEMORY(j->c),        TN__GPU_VALUE(shape), tn__gpu_number_arg(c, &alpha),
                                tn__gpu_number_arg(c, &beta)};
    const int64_t columns = tn__div_up(s->n, TILE), rows = tn__div_up(s->m, TILE);
    const tn__gpu_launch run = {
        .device = j->l->device,
        .unit = {.family = TN__FAMILY_gemm, .op = TN__OPS, .in = j->dtype, .out = j->dtype, .compute = c},
        .groups = {(uint32_t)columns, (uint32_t)TN_MIN(rows, MOST), (uint32_t)TN_MIN(s->batch, MOST)},
        .local = {16, 16, 1},
        .arg = args,
        .n_arg = (int32_t)TN_COUNT(args),
        .label = tn__ops[j->l->op].name};
    return tn__gpu_run(&run);
}

/* ---- a library's ---- */

/* A matrix of rows x columns as libraries take it: dense along one dimension. False if it is not. */
static bool as_stored(int64_t rows, int64_t columns, int64_t rs, int64_t cs, bool *trans, int64_t *ld)
{
    *trans = !(cs == 1 || columns == 1) || (rows == 1 && cs != 1 && columns > 1);
    if (!*trans) {
        *ld = rows == 1 ? columns : rs;
        return (columns == 1 ? rs >= 1 || rows == 1 : cs == 1) && (rows == 1 || rs >= columns);
    }
    *ld = columns == 1 ? rows : cs;
    return (rows == 1 || rs == 1) && (columns == 1 || cs >= rows);
}

/* c = beta * bias, broadcast, where the library then adds: its beta is 1. In place c is the bias already. */
static tn_status set_from_bias(const job *j, double *beta)
{
    const tn__gemm_problem *s = &j->s;
    const tn__view *bias = s->bias;
    *beta = 0;
    if (!bias || s->beta == 0)
        return TN_OK;
    *beta = s->beta;
    if (bias->data == j->c && bias->contiguous && bias->numel == s->m * s->n)
        return TN_OK;
    const int64_t shape[2] = {s->m, s->n}, to_stride[2] = {s->n, 1}, from_stride[2] = {s->bias_rs, s->bias_cs};
    const tn__view to = {j->c, j->dtype, 2, true, s->m * s->n, shape, to_stride};
    const tn__view from = {bias->data, bias->dtype, 2, false, s->m * s->n, shape, from_stride};
    return tn__gpu_copy_view(j->l->device, &to, &from);
}

static bool describe(const job *j, const void *a, const void *b, tn__gpu_gemm_call *p)
{
    const tn__gemm_problem *s = &j->s;
    *p = (tn__gpu_gemm_call){.dtype = j->dtype,
                             .m = s->m,
                             .n = s->n,
                             .k = s->k,
                             .batch = s->batch,
                             .a = a,
                             .b = b,
                             .c = j->c,
                             .ldc = s->n,
                             .stride_a = s->a_bs,
                             .stride_b = s->b_bs,
                             .stride_c = s->m * s->n,
                             .alpha = s->alpha};
    return as_stored(s->m, s->k, s->a_rs, s->a_cs, &p->a_trans, &p->lda) &&
           as_stored(s->k, s->n, s->b_rs, s->b_cs, &p->b_trans, &p->ldb);
}

static tn_status multiply(const job *j, const void *a, const void *b)
{
    tn__gpu_gemm_call p;
    const tn__gpu_driver *driver = tn__backend_of(j->l->device)->gpu;
    const bool library = driver->gemm && tn__dtype_is_float(j->dtype) && j->s.k > 0 && describe(j, a, b, &p);
    if (!library)
        return run_tiled(j, a, b);
    tn_status e = set_from_bias(j, &p.beta);
    if (!e)
        e = driver->gemm(j->l->device, &p, tn__ops[j->l->op].name);
    return e == TN_EMISSING ? run_tiled(j, a, b) : e;
}

/* ---- the row ---- */

/* By dense copies of the operands, whose layout the kernels do not take. */
static tn_status multiply_packed(job *j)
{
    const tn_device d = j->l->device;
    const tn__view *va = j->s.a, *vb = j->s.b;
    void *a = tn__gpu_packed(d, va, j->dtype), *b = a ? tn__gpu_packed(d, vb, j->dtype) : NULL;
    tn_status e = a && b ? TN_OK : tn_error_code();
    if (!e) {
        tn__gemm_problem_dense(&j->s, j->l->op == TN__OP_linear);
        e = multiply(j, a, b);
    }
    tn__gpu_packed_put(d, a, va, j->dtype);
    tn__gpu_packed_put(d, b, vb, j->dtype);
    return e;
}

/* Can the operands be used as they lie? Integers always can; floats should lie as the library wants them. */
static bool fits_as_is(const job *j)
{
    tn__gpu_gemm_call p;
    return !tn__dtype_is_float(j->dtype) || describe(j, j->s.a->data, j->s.b->data, &p) || j->s.k == 0;
}

tn_status tn__gpu_gemm(const tn__launch *l)
{
    const tn__view *out = &l->out[0];
    job j = {.l = l, .s = tn__gemm_problem_of(l), .dtype = out->dtype, .c = out->data};
    if (out->numel == 0)
        return TN_OK;
    const size_t bytes = (size_t)out->numel * tn__dtype_size(out->dtype);
    const bool rows = l->op != TN__OP_linear || tn__gemm_problem_rows(&l->in[0], &j.s.a_rs);
    const bool apart = l->op != TN__OP_addmm || !(tn__views_meet(out, j.s.a) || tn__views_meet(out, j.s.b));
    const bool aside = !out->contiguous || !apart;
    if (aside && !(j.c = tn__gpu_scratch_get(l->device, bytes)))
        return tn_error_code();
    tn_status e = rows && fits_as_is(&j) ? multiply(&j, j.s.a->data, j.s.b->data) : multiply_packed(&j);
    if (aside && !e) {
        int64_t stride[TN_MAX_DIMS];
        const tn__view dense = tn__gpu_dense_view(out, j.c, out->dtype, stride);
        e = tn__gpu_copy_view(l->device, out, &dense);
    }
    if (aside)
        tn__gpu_scratch_put(l->device, j.c, bytes);
    return e;
}
