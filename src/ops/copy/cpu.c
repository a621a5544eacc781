/* Kernels of the family copy for the CPU. */
#include "backend/cpu/cpu.h"

/* ---- structural rows that are copies ---- */

tn_status tn__cpu_copy(const tn__launch *l)
{
    tn__cpu_copy_view(&l->out[0], &l->in[0]);
    return TN_OK;
}

tn_status tn__cpu_copy_into(const tn__launch *l)
{
    tn__cpu_copy_view(&l->out[0], &l->in[1]);
    return TN_OK;
}
