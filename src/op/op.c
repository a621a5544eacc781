/* Operands in messages. */
#include "op/op.h"
#include "core/error.h"
#include <stdio.h>

tn__operands_text tn__operands_str(const tn_scalar *in, int32_t n)
{
    tn__operands_text x;
    size_t at = 0;
    x.s[0] = '\0';
    for (int32_t i = 0; i < n && at < sizeof x.s - 1; i++) {
        const char *sep = at ? "; " : "";
        int k = 0;
        switch (in[i].kind) {
        case TN_SCALAR_NONE: continue;
        case TN_SCALAR_TENSOR: k = snprintf(x.s + at, sizeof x.s - at, "%s%s", sep, tn__tensor_str(in[i].v.t).s); break;
        case TN_SCALAR_FLOAT: k = snprintf(x.s + at, sizeof x.s - at, "%s%g", sep, in[i].v.f); break;
        default: k = snprintf(x.s + at, sizeof x.s - at, "%s%lld", sep, (long long)in[i].v.i); break;
        }
        at += k > 0 ? (size_t)k : 0;
    }
    return x;
}

tn_status tn__no_dtype(const char *op, tn_dtype dtype)
{
    return tn__error(TN_EDTYPE, "\"%s\" not implemented for '%s'", op, tn__dtypes[dtype].legacy);
}
