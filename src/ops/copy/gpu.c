/* Launches of the kernels of the family copy on GPUs. */
#include "backend/gpu/run.h"

/* ---- the door ---- */

tn_status tn__gpu_copy(const tn__launch *l)
{
    return tn__gpu_copy_as(l->device, &l->out[0], &l->in[0], tn__ops[l->op].name);
}

tn_status tn__gpu_copy_into(const tn__launch *l)
{
    return tn__gpu_copy_as(l->device, &l->out[0], &l->in[1], tn__ops[l->op].name);
}
