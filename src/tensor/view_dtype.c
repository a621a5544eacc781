/* The bytes of a tensor as elements of another dtype. */
#include "autograd/functions.h"
#include <stdio.h>

static tn_tensor *refuse(const tn_tensor *t, tn_dtype dtype, const char *what, int64_t by, int64_t got)
{
    return tn__fail(TN_EINVAL,
                    "self.%s must be divisible by %lld to view %s as %s (different element sizes), but got %lld", what,
                    (long long)by, tn__dtypes[t->dtype].legacy, tn__dtypes[dtype].legacy, (long long)got);
}

/* The last dimension has 'more' elements for each one. */
static void finer(tn_tensor *out, int64_t more)
{
    for (int32_t d = 0; d < out->ndim - 1; d++)
        out->stride[d] *= more;
    out->shape[out->ndim - 1] *= more;
    out->offset *= more;
}

/* The last dimension has one element for each 'fewer'. */
static tn_tensor *coarser(const tn_tensor *t, tn_tensor *out, int64_t fewer)
{
    char what[32];
    const int32_t last = t->ndim - 1;
    if (t->shape[last] % fewer)
        return refuse(t, out->dtype, "size(-1)", fewer, t->shape[last]);
    if (t->offset % fewer)
        return refuse(t, out->dtype, "storage_offset()", fewer, t->offset);
    for (int32_t d = 0; d < last; d++) {
        snprintf(what, sizeof what, "stride(%d)", (int)d);
        if (t->stride[d] % fewer)
            return refuse(t, out->dtype, what, fewer, t->stride[d]);
        out->stride[d] /= fewer;
    }
    out->shape[last] /= fewer;
    out->offset /= fewer;
    return out;
}

static tn_tensor *reshaped(const tn_tensor *t, tn_tensor *out)
{
    const int64_t from = (int64_t)tn__dtype_size(t->dtype), to = (int64_t)tn__dtype_size(out->dtype);
    if (from == to)
        return out;
    if (!t->ndim)
        return tn__fail(TN_EINVAL, "self.dim() cannot be 0 to view %s as %s (different element sizes)",
                        tn__dtypes[t->dtype].legacy, tn__dtypes[out->dtype].legacy);
    if (t->stride[t->ndim - 1] != 1)
        return tn__fail(TN_EINVAL, "self.stride(-1) must be 1 to view %s as %s (different element sizes), but got %lld",
                        tn__dtypes[t->dtype].legacy, tn__dtypes[out->dtype].legacy, (long long)t->stride[t->ndim - 1]);
    if (from < to)
        return coarser(t, out, to / from);
    finer(out, from / to);
    return out;
}

tn_tensor *(tn_view_dtype_at)(const char *site, tn_tensor *t, tn_dtype dtype)
{
    tn__thread *self = tn__enter(site);
    if (!t || t == TN_NONE) {
        tn__poisoned("tn_view_dtype");
        return NULL;
    }
    if (!tn__dtype_exists(dtype) && tn__dtype_check("tn_view_dtype", dtype ? dtype : -1))
        return NULL;
    tn_tensor *out = tn__tensor_alias(t);
    if (!out)
        return NULL;
    out->dtype = dtype;
    if (!reshaped(t, out)) {
        tn__object_release(out);
        return NULL;
    }
    tn__tensor_geometry(out);
    tn__scope_adopt(self, out);
    return out;
}

tn_tensor *(tn_view_dtype)(tn_tensor *t, tn_dtype dtype)
{
    return (tn_view_dtype_at)(TN__NOWHERE, t, dtype);
}
