/* Kernels of the family scan for the CPU. */
#include "backend/cpu/along_dim.h"
#include "core/error.h"
#include "core/parallel.h"

static void cumsum_row(const tn__row_job *j, void *out, const void *a, const void *b)
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

tn_status tn__cpu_cumsum(const tn__launch *l)
{
    const tn__cumsum_params *p = l->params;
    return tn__cpu_along_dim(l, p->dim, cumsum_row, 1);
}

/* ---- extremes so far: their values, and where they stand ---- */

typedef struct extreme_job {
    const tn__launch *l;
    int64_t dim, n;
    int type;
    _Atomic bool no_memory;
} extreme_job;

/* Of the first element of the i-th row of a view along dim, in elements. */
static int64_t row_offset(const tn__view *v, int64_t dim, int64_t i)
{
    int64_t offset = 0;
    for (int32_t d = v->ndim - 1; d >= 0; d--)
        if (d != dim) {
            offset += i % v->shape[d] * v->stride[d];
            i /= v->shape[d];
        }
    return offset;
}

/* x becomes its extremes so far, index where they stand. NaN takes the place of everything, and of NaN before it. */
#define EXTREMES(name, T, IS_NAN) \
    static void name(void *x_, int64_t *index, int64_t n, bool largest) \
    { \
        T *x = x_, best = x[0]; \
        int64_t at = 0; \
        for (int64_t i = 0; i < n; i++) { \
            if (IS_NAN(x[i]) || (!IS_NAN(best) && (largest ? x[i] >= best : x[i] <= best))) \
                best = x[i], at = i; \
            x[i] = best; \
            index[i] = at; \
        } \
    }
#define UNORDERED(v) ((v) != (v))
#define NEVER(v)     false
EXTREMES(extremes_f32, float, UNORDERED)
EXTREMES(extremes_f64, double, UNORDERED)
EXTREMES(extremes_i32, int32_t, NEVER)
EXTREMES(extremes_i64, int64_t, NEVER)

static void extreme_rows(void *ctx, int64_t begin, int64_t end)
{
    static void (*const extremes[TN__TYPES])(void *x, int64_t *index, int64_t n, bool largest) = {
        [TN__F32] = extremes_f32, [TN__F64] = extremes_f64, [TN__I32] = extremes_i32, [TN__I64] = extremes_i64};
    extreme_job *j = ctx;
    const tn__view *x = &j->l->in[0], *out = &j->l->out[0], *index = &j->l->out[1];
    const int64_t size = (int64_t)tn__dtype_size(x->dtype), n = j->n, dim = j->dim;
    const size_t bytes = 2 * sizeof(int64_t) * (size_t)n;
    int64_t *buffer = tn__block_get(bytes);
    if (!buffer) {
        j->no_memory = true;
        return;
    }
    int64_t *positions = buffer + n;
    for (int64_t i = begin; i < end; i++) {
        const char *from = (const char *)x->data + row_offset(x, dim, i) * size;
        tn__isa()->load[x->dtype][j->type](buffer, from, x->ndim ? x->stride[dim] : 1, n);
        extremes[j->type](buffer, positions, n, j->l->op == TN__OP_cummax);
        tn__isa()->store[x->dtype][j->type]((char *)out->data + row_offset(out, dim, i) * size,
                                            out->ndim ? out->stride[dim] : 1, buffer, n);
        tn__isa()->store[TN_I64][TN__I64]((int64_t *)index->data + row_offset(index, dim, i),
                                          index->ndim ? index->stride[dim] : 1, positions, n);
    }
    tn__block_put(buffer, bytes);
}

tn_status tn__cpu_cummax(const tn__launch *l)
{
    const tn__extreme_params *p = l->params;
    const tn__view *x = &l->in[0];
    extreme_job j = {.l = l, .dim = p->dim, .n = x->ndim ? x->shape[p->dim] : 1, .type = tn__type_of(l->compute)};
    if (x->numel == 0)
        return TN_OK;
    tn__parallel_for(x->numel / j.n, tn__div_up(16384, j.n), extreme_rows, &j);
    return j.no_memory ? tn__error_memory("rows of extremes", 2 * sizeof(int64_t) * (size_t)j.n) : TN_OK;
}
