/* Kernels of the family norm for the CPU. */
#include "backend/cpu/along_dim.h"

static double eps_of(const tn__row_job *j)
{
    const tn__standardize_params *p = j->l->params;
    return p->eps;
}

static void standardize_row(const tn__row_job *j, void *out, const void *x, const void *none)
{
    (void)none;
    tn__isa()->norm.row[j->type](out, x, j->n, eps_of(j));
}

static void standardize_backward_row(const tn__row_job *j, void *out, const void *g, const void *x)
{
    tn__isa()->norm.row_backward[j->type](out, g, x, j->n, eps_of(j));
}

tn_status tn__cpu_standardize(const tn__launch *l)
{
    const tn__standardize_params *p = l->params;
    return tn__cpu_along_dim(l, p->dim, standardize_row, 1);
}

tn_status tn__cpu_standardize_backward(const tn__launch *l)
{
    const tn__standardize_params *p = l->params;
    return tn__cpu_along_dim(l, p->dim, standardize_backward_row, 2);
}
