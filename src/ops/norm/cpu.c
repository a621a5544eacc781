/* Kernels of the family norm for the CPU. */
#include "backend/cpu/along_dim.h"

/* NULL: not given */
static const void *parameter(const tn__row_job *j, int32_t i)
{
    return i < j->l->n_in && j->l->in[i].dtype ? j->l->in[i].data : NULL;
}

static void standardize_row(const tn__row_job *j, void *out, const void *x, const void *none)
{
    const tn__standardize_params *p = j->l->params;
    (void)none;
    tn__isa()->norm.row[j->type](out, x, parameter(j, 1), parameter(j, 2), j->n, (int)p->kind, p->eps);
}

static void standardize_backward_row(const tn__row_job *j, void *out, const void *g, const void *x)
{
    const tn__standardize_params *p = j->l->params;
    tn__isa()->norm.row_backward[j->type](out, g, x, parameter(j, 2), j->n, (int)p->kind, p->eps);
}

static uint32_t mask_of(const tn__launch *l)
{
    const tn__standardize_params *p = l->params;
    uint32_t mask = 0;
    for (int32_t i = 0; i < p->dim.n; i++)
        mask |= 1U << p->dim.d[i];
    return mask;
}

tn_status tn__cpu_standardize(const tn__launch *l)
{
    return tn__cpu_along_dims(l, mask_of(l), standardize_row, 1);
}

tn_status tn__cpu_standardize_backward(const tn__launch *l)
{
    return tn__cpu_along_dims(l, mask_of(l), standardize_backward_row, 2);
}
