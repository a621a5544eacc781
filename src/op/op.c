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

tn_status tn__no_dtype_on(tn_device device, const char *kernel, const char *gpu, tn_dtype dtype)
{
    char name[80];
    const tn__device_words words = tn__words_of(device);
    const char *k = words.gpu && gpu ? gpu : kernel;
    const int n = (int)strcspn(k, "*");
    snprintf(name, sizeof name, "%.*s%s%s", n, k, k[n] ? words.kernels : "", k[n] ? k + n + 1 : "");
    return tn__no_dtype(name, dtype);
}

tn__type_text tn__type_str(const tn_tensor *t)
{
    tn__type_text x;
    const tn__device_words words = tn__words_of(t->device);
    if (t->dtype == TN_BOOL || t->dtype == TN_BF16) /* younger than torch's classes of tensors */
        snprintf(x.s, sizeof x.s, "%s%sType", words.gpu ? "CUDA" : "CPU", tn__dtypes[t->dtype].legacy);
    else
        snprintf(x.s, sizeof x.s, "torch.%s%s%sTensor", words.gpu ? words.kernels : "", words.gpu ? "." : "",
                 tn__dtypes[t->dtype].legacy);
    return x;
}
