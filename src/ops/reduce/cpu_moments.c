/* Reductions that are computed in double and take some steps to a result: var std logsumexp norm. */
#include "ops/reduce/cpu_blocks.h"
#include <math.h>

static void store(const tn__launch *l, double v, int64_t result)
{
    const tn__view *out = &l->out[0];
    tn__store_double(out->dtype, (char *)out->data + result * (int64_t)tn__dtype_size(out->dtype), v);
}

/* ---- variance: a: mean, b: squares of distances from it; blocks joined as by Chan, Golub and LeVeque (1979) ---- */

static void join_var(const tn__launch *l, int type, tn__carried *c, const tn__carried *next)
{
    const double all = c->n + next->n, delta = next->a - c->a;
    (void)l, (void)type;
    c->b += next->b + delta * delta * (c->n * next->n / all);
    c->a += delta * (next->n / all);
    c->n = all;
}

static void var_block(const tn__launch *l, int type, tn__carried *c, const void *x, int64_t at, int64_t n)
{
    const double first = type == TN__F32 ? (double)*(const float *)x : *(const double *)x, m = (double)n;
    double sums[2];
    (void)at;
    tn__isa()->reduce.moments[type](sums, x, n);
    const tn__carried here = {.a = first + sums[0] / m, .b = sums[1] - sums[0] * sums[0] / m, .n = m};
    if (c->n > 0)
        join_var(l, type, c, &here);
    else
        *c = here;
}

static void store_var(const tn__launch *l, int type, const tn__carried *c, int64_t result)
{
    const tn__var_params *p = l->params;
    const double correction = p->correction.kind ? tn__scalar_double(&p->correction) : 1;
    double v = TN_MAX(c->b, 0) / TN_MAX(c->n - correction, 0);
    (void)type;
    if (c->b != c->b || !(c->n > 0)) /* nothing has no variance, whatever the correction is */
        v = NAN;
    store(l, l->op == TN__OP_std ? sqrt(v) : v, result);
}

tn_status tn__cpu_var(const tn__launch *l)
{
    static const tn__block_rules rules = {.block = var_block, .join = join_var, .store = store_var};
    const tn__var_params *p = l->params;
    tn__cpu_blocks(l, &p->dim, tn__type_of(l->compute), &rules);
    return TN_OK;
}

/* ---- log(sum(exp(x))): b times e^a, a the largest so far; at: what is infinite or NaN decides: 1, 2 ---- */

static void join_logs(const tn__launch *l, int type, tn__carried *c, const tn__carried *next)
{
    (void)l, (void)type;
    c->at = TN_MAX(c->at, next->at);
    if (!(next->b > 0))
        return;
    const double most = c->b > 0 ? TN_MAX(c->a, next->a) : next->a;
    c->b = (c->b > 0 ? c->b * exp(c->a - most) : 0) + next->b * exp(next->a - most);
    c->a = most;
}

static void exp_block(const tn__launch *l, int type, tn__carried *c, const void *x, int64_t at, int64_t n)
{
    const double m = tn__isa()->reduce.run_float[TN__MAX][type](x, n);
    (void)at;
    if (m != m)
        c->at = 2;
    else if (m == INFINITY)
        c->at = TN_MAX(c->at, 1);
    if (!(fabs(m) < INFINITY))
        return;
    const tn__carried here = {.a = m, .b = tn__isa()->softmax.sum_exp[type](x, n, m)};
    join_logs(l, type, c, &here);
}

static void store_log(const tn__launch *l, int type, const tn__carried *c, int64_t result)
{
    (void)type;
    store(l, c->at ? (c->at == 2 ? NAN : INFINITY) : c->b > 0 ? c->a + log(c->b) : -INFINITY, result);
}

/* sum[i] += x[i], in double */
static void add_line(double *sum, const void *x, int type, int64_t width)
{
    for (int64_t w = 0; w < width; w++)
        sum[w] += type == TN__F32 ? (double)((const float *)x)[w] : ((const double *)x)[w];
}

/* The largest of each column, and 0 where that is infinite: powers are infinite or 0 then, and so is the result. */
static void most_of_lines(double *most, int type, const char *x, int64_t n, int64_t width)
{
    const int64_t line = width * (int64_t)tn__type_size(type);
    memcpy(most, x, (size_t)line);
    for (int64_t k = 1; k < n; k++)
        tn__isa()->reduce.fold[TN__MAX][type](most, x + k * line, width);
    for (int64_t w = 0; w < width; w++)
        if (type == TN__F32)
            ((float *)most)[w] = fabsf(((float *)most)[w]) == INFINITY ? 0 : ((float *)most)[w];
        else
            most[w] = fabs(most[w]) == INFINITY ? 0 : most[w];
}

static void log_lines(const tn__launch *l, int type, const void *x_, int64_t n, int64_t width, int64_t result)
{
    const tn__cpu_isa *isa = tn__isa();
    const tn__view *out = &l->out[0];
    const char *x = x_;
    const int64_t line = width * (int64_t)tn__type_size(type);
    double most[TN__MAX_LINE], sum[TN__MAX_LINE], power[TN__MAX_LINE];
    memset(sum, 0, (size_t)width * sizeof *sum);
    most_of_lines(most, type, x, n, width);
    for (int64_t k = 0; k < n; k++) {
        isa->loops[TN__OP_sub][type](power, x + k * line, most, NULL, width);
        isa->loops[TN__OP_exp][type](power, power, NULL, NULL, width);
        add_line(sum, power, type, width);
    }
    isa->loops[TN__OP_log][TN__F64](sum, sum, NULL, NULL, width);
    add_line(sum, most, type, width);
    isa->store[out->dtype][TN__F64]((char *)out->data + result * (int64_t)tn__dtype_size(out->dtype), 1, sum, width);
}

tn_status tn__cpu_logsumexp(const tn__launch *l)
{
    static const tn__block_rules rules = {
        .block = exp_block, .join = join_logs, .store = store_log, .lines = log_lines};
    const tn__reduction_params *p = l->params;
    tn__cpu_blocks(l, &p->dim, tn__type_of(l->compute), &rules);
    return TN_OK;
}

/* ---- the square root of the sum of squares ---- */

static void square_block(const tn__launch *l, int type, tn__carried *c, const void *x, int64_t at, int64_t n)
{
    (void)l, (void)at;
    c->a += tn__isa()->reduce.squares[type](x, n);
}

static void square_block_bf16(tn__carried *c, const void *x, int64_t n)
{
    c->a += tn__isa()->reduce.squares_bf16(x, n);
}

static void square_columns_bf16(tn__carried *c, const void *x, int64_t step, int64_t n, int64_t width)
{
    double sums[TN__MAX_BUNDLE];
    tn__isa()->reduce.square_columns_bf16(sums, x, step, n, width);
    for (int64_t w = 0; w < width; w++)
        c[w].a = sums[w];
}

static void join_squares(const tn__launch *l, int type, tn__carried *c, const tn__carried *next)
{
    (void)l, (void)type;
    c->a += next->a;
}

static void store_root(const tn__launch *l, int type, const tn__carried *c, int64_t result)
{
    (void)type;
    store(l, sqrt(c->a), result);
}

static void root_lines(const tn__launch *l, int type, const void *x, int64_t n, int64_t width, int64_t result)
{
    const tn__view *out = &l->out[0];
    double sums[TN__MAX_LINE];
    tn__isa()->reduce.square_lines[type](sums, x, n, width);
    for (int64_t w = 0; w < width; w++)
        sums[w] = sqrt(sums[w]);
    tn__isa()->store[out->dtype][TN__F64]((char *)out->data + result * (int64_t)tn__dtype_size(out->dtype), 1, sums,
                                          width);
}

tn_status tn__cpu_norm(const tn__launch *l)
{
    static const tn__block_rules rules = {.block = square_block,
                                          .join = join_squares,
                                          .store = store_root,
                                          .block_bf16 = square_block_bf16,
                                          .columns_bf16 = square_columns_bf16,
                                          .lines = root_lines};
    const tn__reduction_params *p = l->params;
    tn__cpu_blocks(l, &p->dim, tn__type_of(l->compute), &rules);
    return TN_OK;
}
