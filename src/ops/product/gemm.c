/* Rows of products as matrix products, for every backend. */
#include "ops/product/gemm.h"

static void set_a(tn__gemm_problem *s, const tn__view *v, int32_t row, int32_t col)
{
    s->a = v;
    s->a_rs = row >= 0 ? v->stride[row] : 0;
    s->a_cs = v->stride[col];
}

static void set_b(tn__gemm_problem *s, const tn__view *v, int32_t row, int32_t col)
{
    s->b = v;
    s->b_rs = v->stride[row];
    s->b_cs = col >= 0 ? v->stride[col] : 0;
}

static void set_bias(tn__gemm_problem *s, const tn__view *v)
{
    s->bias = v;
    s->bias_cs = v->ndim && v->shape[v->ndim - 1] > 1 ? v->stride[v->ndim - 1] : 0;
    s->bias_rs = v->ndim == 2 && v->shape[0] > 1 ? v->stride[0] : 0;
}

/* Fractions of integers' factors are dropped, as PyTorch does. */
static void set_factors(tn__gemm_problem *s, const tn__addmm_params *p, bool whole)
{
    const tn_scalar *beta = &p->beta, *alpha = &p->alpha;
    if (beta->kind) {
        s->whole_beta = tn__scalar_int(beta);
        s->beta = whole ? (double)s->whole_beta : tn__scalar_double(beta);
    }
    if (alpha->kind) {
        s->whole_alpha = tn__scalar_int(alpha);
        s->alpha = whole ? (double)s->whole_alpha : tn__scalar_double(alpha);
    }
}

bool tn__gemm_problem_rows(const tn__view *x, int64_t *stride)
{
    int64_t run = 1;
    *stride = x->shape[x->ndim - 1];
    for (int32_t d = x->ndim - 2; d >= 0; d--) {
        if (x->shape[d] == 1)
            continue;
        if (run == 1)
            *stride = x->stride[d];
        else if (x->stride[d] != run * *stride)
            return false;
        run *= x->shape[d];
    }
    return true;
}

tn__gemm_problem tn__gemm_problem_of(const tn__launch *l)
{
    const tn__view *in = l->in, *out = &l->out[0];
    tn__gemm_problem s = {.batch = 1, .m = 1, .n = 1, .alpha = 1, .beta = 1, .whole_alpha = 1, .whole_beta = 1};
    switch (l->op) {
    case TN__OP_bmm:
        s.batch = in[0].shape[0];
        s.a_bs = in[0].stride[0];
        s.b_bs = in[1].stride[0];
        s.m = in[0].shape[1], s.k = in[0].shape[2], s.n = in[1].shape[2];
        set_a(&s, &in[0], 1, 2);
        set_b(&s, &in[1], 1, 2);
        break;
    case TN__OP_addmm:
        s.m = in[1].shape[0], s.k = in[1].shape[1], s.n = in[2].shape[1];
        set_a(&s, &in[1], 0, 1);
        set_b(&s, &in[2], 0, 1);
        set_bias(&s, &in[0]);
        set_factors(&s, l->params, !tn__dtype_is_float(out->dtype));
        break;
    case TN__OP_mv:
        s.m = in[0].shape[0], s.k = in[0].shape[1];
        set_a(&s, &in[0], 0, 1);
        set_b(&s, &in[1], 0, -1);
        break;
    case TN__OP_dot:
        s.k = in[0].shape[0];
        set_a(&s, &in[0], -1, 0);
        set_b(&s, &in[1], 0, -1);
        break;
    case TN__OP_linear:
        s.k = in[0].shape[in[0].ndim - 1];
        s.n = in[1].ndim == 2 ? in[1].shape[0] : 1;
        s.m = s.n ? out->numel / s.n : 0;
        set_a(&s, &in[0], -1, in[0].ndim - 1);
        s.b = &in[1];
        s.b_rs = in[1].stride[in[1].ndim - 1];
        s.b_cs = in[1].ndim == 2 ? in[1].stride[0] : 0;
        if (l->n_in > 2 && in[2].dtype)
            set_bias(&s, &in[2]);
        break;
    default:
        s.m = in[0].shape[0], s.k = in[0].shape[1], s.n = in[1].shape[1];
        set_a(&s, &in[0], 0, 1);
        set_b(&s, &in[1], 0, 1);
        break;
    }
    return s;
}

/* Bytes that a view's elements lie in: from .. to. */
static void extent(const tn__view *v, const char **from, const char **to)
{
    int64_t last = 0;
    for (int32_t d = 0; d < v->ndim; d++)
        last += (v->shape[d] - 1) * v->stride[d];
    *from = v->data;
    *to = *from + (last + 1) * (int64_t)tn__dtype_size(v->dtype);
}

bool tn__views_meet(const tn__view *out, const tn__view *factor)
{
    const char *from, *to, *f, *t;
    if (factor->numel == 0)
        return false;
    extent(out, &from, &to);
    extent(factor, &f, &t);
    return f < to && from < t;
}

void tn__gemm_problem_dense(tn__gemm_problem *s, bool weight_rows)
{
    s->a_cs = 1;
    s->a_rs = s->k;
    s->a_bs = s->m * s->k;
    s->b_bs = s->k * s->n;
    if (weight_rows) { /* linear: b is [n][k] */
        s->b_rs = 1;
        s->b_cs = s->k;
    } else {
        s->b_rs = s->n;
        s->b_cs = 1;
    }
}
