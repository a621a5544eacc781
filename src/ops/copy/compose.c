/* Functions of the family copy that are composed of others. */
#include "autograd/functions.h"

/* ---- layout ---- */

tn_tensor *tn__fn_contiguous(tn_tensor *x)
{
    if (!tn__usable("contiguous", x))
        return NULL;
    return tn__contiguous(x) ? x : tn__contiguous_copy(x);
}
