/* Kernels of the family optimizer for the CPU. */
#include "backend/cpu/cpu.h"
#include "core/parallel.h"
#include <string.h>

/* ---- optimiser steps: inputs 0.. are parameter, gradient and state ---- */

typedef struct step_job {
    const tn__launch *l;
    int type;
    tn__strided_dims dims[4];
} step_job;

static void step_chunk(void *ctx, int64_t begin, int64_t end)
{
    const step_job *j = ctx;
    const tn__launch *l = j->l;
    double block[4][TN__BLOCK];
    void *p[4] = {NULL, NULL, NULL, NULL};
    const bool rule = l->op == TN__OP__rule_step_;
    if (rule && !l->in[3].dtype)
        p[3] = memset(block[3], 0, sizeof block[3]);
    for (int64_t i = begin; i < end; i += TN__BLOCK) {
        int64_t n = TN_MIN(TN__BLOCK, end - i);
        bool as_is[4];
        for (int32_t k = 0; k < l->n_in; k++) {
            const tn__view *v = &l->in[k];
            as_is[k] = v->contiguous && tn__dtypes[v->dtype].compute == v->dtype && tn__type_of(v->dtype) == j->type;
            if (!v->dtype)
                continue;
            p[k] = as_is[k] ? (void *)((char *)v->data + i * (int64_t)tn__dtype_size(v->dtype)) : (void *)block[k];
            if (!as_is[k])
                tn__load_strided(block[k], j->type, v->dtype, v->data, &j->dims[k], i, n);
        }
        if (l->op == TN__OP_sgd_step_)
            tn__isa()->optimizer.sgd[j->type](p[0], p[1], p[2], n, l->params);
        else if (rule)
            tn__isa()->optimizer.rule[j->type](p[0], p[1], p[2], p[3], n, l->params);
        else
            tn__isa()->optimizer.adam[j->type](p[0], p[1], p[2], p[3], n, l->params);
        for (int32_t k = 0; k < l->n_in; k++)
            if (k != 1 && l->in[k].dtype && !as_is[k])
                tn__store_strided(l->in[k].data, l->in[k].dtype, &j->dims[k], i, block[k], j->type, n);
    }
}

static tn_status step(const tn__launch *l)
{
    step_job j = {.l = l, .type = tn__type_of(l->compute)};
    if (l->out[0].numel == 0)
        return TN_OK;
    for (int32_t k = 0; k < l->n_in; k++)
        if (l->in[k].dtype)
            tn__dims_in_order(&j.dims[k], &l->in[k]);
    tn__parallel_for(l->out[0].numel, TN__CHUNK, step_chunk, &j);
    return TN_OK;
}

tn_status tn__cpu_sgd_step(const tn__launch *l)
{
    return step(l);
}

tn_status tn__cpu_adam_step(const tn__launch *l)
{
    return step(l);
}

tn_status tn__cpu_rule_step(const tn__launch *l)
{
    return step(l);
}
