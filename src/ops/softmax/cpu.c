/* Kernels of the family softmax for the CPU. */
#include "backend/cpu/along_dim.h"

static void softmax_row(const tn__row_job *j, void *out, const void *a, const void *b)
{
    (void)b;
    tn__isa()->softmax.row[j->type](out, a, j->n, j->l->op == TN__OP_log_softmax);
}

static void softmax_backward_row(const tn__row_job *j, void *out, const void *a, const void *b)
{
    tn__isa()->softmax.row_backward[j->type](out, a, b, j->n, j->l->op == TN__OP__log_softmax_backward);
}

static void softmax_lines(const tn__row_job *j, void *out, const void *a, const void *b, int64_t width)
{
    (void)b;
    tn__isa()->softmax.lines[j->type](out, a, j->n, width, j->l->op == TN__OP_log_softmax);
}

static void softmax_backward_lines(const tn__row_job *j, void *out, const void *a, const void *b, int64_t width)
{
    tn__isa()->softmax.lines_backward[j->type](out, a, b, j->n, width, j->l->op == TN__OP__log_softmax_backward);
}

tn_status tn__cpu_softmax(const tn__launch *l)
{
    const tn__softmax_params *p = l->params;
    return tn__cpu_along_dim(l, p->dim, softmax_row, softmax_lines, 1);
}

tn_status tn__cpu_softmax_backward(const tn__launch *l)
{
    const tn__softmax_backward_params *p = l->params;
    return tn__cpu_along_dim(l, p->dim, softmax_backward_row, softmax_backward_lines, 2);
}
