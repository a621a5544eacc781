/* Derivatives of the family factory, from public operations. */
#include "autograd/functions.h"

/* ---- copies ---- */

tn_status tn__d_fill(tn__backward *b)
{
    return tn__d_copy_(b);
}
