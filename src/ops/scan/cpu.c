/* Kernels of the family scan for the CPU. */
#include "backend/cpu/lines.h"

static void cumsum_line(const tn__line_job *j, void *out, const void *a, const void *b)
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
    return tn__cpu_lines(l, p->dim, cumsum_line, 1);
}
