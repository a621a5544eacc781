/* Functions of the family copy that are composed of others. */
#include "autograd/functions.h"
#include "op/infer.h"

/* ---- layout ---- */

tn_tensor *tn__fn_contiguous(tn_tensor *x)
{
    if (!tn__usable("contiguous", x))
        return NULL;
    return tn__contiguous(x) ? x : tn_clone_in(x, TN_CONTIGUOUS_FORMAT);
}

tn_tensor *tn__fn_contiguous_in(tn_tensor *x, tn_memory_format format)
{
    if (!tn__usable("contiguous_in", x) || tn__check_format(format, x->ndim))
        return NULL;
    if (tn__is_in_format(format, x->shape, x->stride, x->ndim))
        return x;
    if (format == TN_PRESERVE_FORMAT)
        return tn__fail(TN_EINVAL, "preserve memory format is unsupported by the contiguous operator");
    return tn_clone_in(x, format ? format : TN_CONTIGUOUS_FORMAT);
}
