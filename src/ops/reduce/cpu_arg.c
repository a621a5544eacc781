/* Reductions that need each element's position or several sums at once: argmax argmin max min (with indices), var, std. */
#include "backend/cpu/cpu.h"
#include "core/parallel.h"
#include <math.h>

enum { WORK = 65536 };

typedef struct arg_job {
    const tn__launch *l;
    int type;
    bool least, want_value, want_index;
    tn__strided_dims reduced;
    int64_t n_reduced;
    int32_t n_kept_dims;
    int64_t shape[TN_MAX_DIMS], stride[TN_MAX_DIMS]; /* kept, slowest first */
} arg_job;

/* Offset of the index-th kept element: the result is row-major over them. */
static int64_t kept_offset(const arg_job *j, int64_t index)
{
    int64_t o = 0;
    for (int32_t d = j->n_kept_dims - 1; d >= 0; d--) {
        o += index % j->shape[d] * j->stride[d];
        index /= j->shape[d];
    }
    return o;
}

static void set_kept(arg_job *j, const tn__view *x, uint32_t mask)
{
    for (int32_t d = 0; d < x->ndim; d++)
        if (!(mask >> d & 1)) {
            j->shape[j->n_kept_dims] = x->shape[d];
            j->stride[j->n_kept_dims++] = x->stride[d];
        }
}

/* First place of the value in a block; NaN is found as itself. */
static int64_t find_float(const void *block, int type, int64_t n, double v)
{
    for (int64_t i = 0; i < n; i++) {
        double x = type == TN__F32 ? (double)((const float *)block)[i] : ((const double *)block)[i];
        if (x == v || (x != x && v != v))
            return i;
    }
    return 0;
}

static int64_t find_int(const void *block, int type, int64_t n, int64_t v)
{
    for (int64_t i = 0; i < n; i++)
        if ((type == TN__I32 ? ((const int32_t *)block)[i] : ((const int64_t *)block)[i]) == v)
            return i;
    return 0;
}

/* The extreme of one run and its first place: block by block, and only where a block beats the best is it searched. */
static int64_t search(const arg_job *j, const char *base, double *value, int64_t *whole)
{
    const tn__view *x = &j->l->in[0];
    const tn__cpu_isa *isa = tn__isa();
    tn__reduction kind = j->least ? TN__MIN : TN__MAX;
    bool as_is = j->reduced.n == 1 && j->reduced.stride[0] == 1 && tn__type_of(x->dtype) == j->type &&
                 tn__dtypes[x->dtype].compute == x->dtype;
    int64_t buffer[TN__BLOCK], at = 0;
    for (int64_t i = 0; i < j->n_reduced; i += TN__BLOCK) {
        int64_t n = TN_MIN(TN__BLOCK, j->n_reduced - i);
        const void *block = buffer;
        if (as_is)
            block = base + i * (int64_t)tn__dtype_size(x->dtype);
        else
            tn__load_strided(buffer, j->type, x->dtype, base, &j->reduced, i, n);
        if (j->type <= TN__F64) {
            double v = isa->reduce.run_float[kind][j->type](block, n);
            if (i == 0 || (*value == *value && (v != v || (j->least ? v < *value : v > *value)))) {
                *value = v;
                at = i + (j->want_index ? find_float(block, j->type, n, v) : 0);
            }
        } else {
            int64_t v = isa->reduce.run_int[kind][j->type - TN__I32](block, n);
            if (i == 0 || (j->least ? v < *whole : v > *whole)) {
                *whole = v;
                at = i + (j->want_index ? find_int(block, j->type, n, v) : 0);
            }
        }
    }
    return at;
}

static void arg_rows(void *ctx, int64_t begin, int64_t end)
{
    const arg_job *j = ctx;
    const tn__view *x = &j->l->in[0];
    const tn__view *values = &j->l->out[0], *indices = j->want_value ? &j->l->out[1] : &j->l->out[0];
    for (int64_t i = begin; i < end; i++) {
        double v = 0;
        int64_t whole = 0;
        const char *base = (const char *)x->data + kept_offset(j, i) * (int64_t)tn__dtype_size(x->dtype);
        int64_t at = search(j, base, &v, &whole);
        if (j->want_value) {
            char *p = (char *)values->data + i * (int64_t)tn__dtype_size(values->dtype);
            if (j->type <= TN__F64)
                tn__store_double(values->dtype, p, v);
            else
                tn__store_int(values->dtype, p, whole);
        }
        if (j->want_index)
            ((int64_t *)indices->data)[i] = at;
    }
}

/* The reduced dimensions in row-major order: a position is the index users see, and the first of equals is found
 * first. */
static void reduce_in_order(tn__strided_dims *d, const tn__view *x, uint32_t mask)
{
    *d = (tn__strided_dims){.n = 1, .shape = {1}, .stride = {1}};
    for (int32_t i = x->ndim - 1; i >= 0; i--) {
        if (!(mask >> i & 1) || x->shape[i] == 1)
            continue;
        int32_t last = d->n - 1;
        if (d->shape[0] == 1 && last == 0) {
            d->shape[0] = x->shape[i];
            d->stride[0] = x->stride[i];
        } else if (x->stride[i] == d->shape[last] * d->stride[last]) {
            d->shape[last] *= x->shape[i];
        } else {
            d->shape[d->n] = x->shape[i];
            d->stride[d->n++] = x->stride[i];
        }
    }
}

tn_status tn__cpu_argreduce(const tn__launch *l)
{
    const tn__reduction_params *p = l->params;
    const tn__view *x = &l->in[0];
    uint32_t mask = 0;
    for (int32_t i = 0; i < p->dim.n; i++)
        mask |= 1U << p->dim.d[i];
    arg_job j = {.l = l, .type = tn__type_of(tn__dtypes[x->dtype].compute)};
    j.least = l->op == TN__OP_argmin || l->op == TN__OP_min;
    j.want_value = l->op == TN__OP_max || l->op == TN__OP_min;
    j.want_index = !j.want_value || l->n_out == 2;
    reduce_in_order(&j.reduced, x, mask);
    set_kept(&j, x, mask);
    j.n_reduced = tn__dims_numel(&j.reduced);
    int64_t n = l->out[0].numel;
    if (n == 1 && j.want_value && !j.want_index)
        return tn__cpu_reduce(l); /* in parallel, the place does not matter */
    tn__parallel_for(n, tn__div_up(WORK, TN_MAX(j.n_reduced, 1)), arg_rows, &j);
    return TN_OK;
}

/* ---- variance: blocks shifted by their first element, joined as by Chan, Golub and LeVeque (1979) ---- */

typedef struct moments {
    double n, mean, m2;
} moments;

static void join(moments *a, const moments *b)
{
    if (b->n == 0)
        return;
    double n = a->n + b->n, delta = b->mean - a->mean;
    a->m2 += b->m2 + delta * delta * (a->n * b->n / n);
    a->mean += delta * (b->n / n);
    a->n = n;
}

static moments of_block(const double *x, int64_t n)
{
    double shift = x[0], sum = 0, squares = 0;
    for (int64_t i = 0; i < n; i++) {
        double d = x[i] - shift;
        sum += d;
        squares += d * d;
    }
    return (moments){(double)n, shift + sum / (double)n, squares - sum * sum / (double)n};
}

static void var_rows(void *ctx, int64_t begin, int64_t end)
{
    const arg_job *j = ctx;
    const tn__view *x = &j->l->in[0], *out = &j->l->out[0];
    const tn__var_params *p = j->l->params;
    double block[256], correction = p->correction.kind ? tn__scalar_double(&p->correction) : 1;
    for (int64_t i = begin; i < end; i++) {
        moments all = {0};
        const char *base = (const char *)x->data + kept_offset(j, i) * (int64_t)tn__dtype_size(x->dtype);
        for (int64_t k = 0; k < j->n_reduced; k += 256) {
            int64_t n = TN_MIN(256, j->n_reduced - k);
            tn__load_strided(block, TN__F64, x->dtype, base, &j->reduced, k, n);
            moments m = of_block(block, n);
            join(&all, &m);
        }
        double v = TN_MAX(all.m2, 0) / TN_MAX(all.n - correction, 0);
        if (all.m2 != all.m2 || !(all.n > 0)) /* nothing has no variance, whatever the correction is */
            v = NAN;
        tn__store_double(out->dtype, (char *)out->data + i * (int64_t)tn__dtype_size(out->dtype),
                         j->l->op == TN__OP_std ? sqrt(v) : v);
    }
}

tn_status tn__cpu_var(const tn__launch *l)
{
    const tn__var_params *p = l->params;
    const tn__view *x = &l->in[0];
    uint32_t mask = 0;
    for (int32_t i = 0; i < p->dim.n; i++)
        mask |= 1U << p->dim.d[i];
    arg_job j = {.l = l};
    tn__strided_dims_of(&j.reduced, x, mask);
    set_kept(&j, x, mask);
    j.n_reduced = tn__dims_numel(&j.reduced);
    tn__parallel_for(l->out[0].numel, tn__div_up(WORK, TN_MAX(j.n_reduced, 1)), var_rows, &j);
    return TN_OK;
}
