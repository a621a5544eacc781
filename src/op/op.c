#include "op/op.h"
#include "core/error.h"
#include <stdio.h>

#define G(saves, gradient) (saves)
#define NODIFF             TN__NODIFF
#define UNHEARD            (TN__NODIFF | TN__UNHEARD)
/* clang-format off */
#define SAVE(a, b, c)      {(a), (b), (c)}
/* clang-format on */

const tn__op tn__ops[TN__OPS] = {
#define UNARY(name_, rule_, expr, da, label_, doc) \
    [TN__OP_##name_] = { \
        .name = #name_, .label = label_, .kind = TN__UNARY, .rule = rule_, .saves = {da}, .flags = F_INPLACE},
#define BINARY(name_, rule_, expr, da, db, label_, doc) \
    [TN__OP_##name_] = { \
        .name = #name_, .label = label_, .kind = TN__BINARY, .rule = rule_, .saves = {da, db}, .flags = F_INPLACE},
#define TERNARY(name_, rule_, expr, da, db, dc, label_, doc) \
    [TN__OP_##name_] = {.name = #name_, \
                        .label = label_, \
                        .kind = TN__TERNARY, \
                        .rule = rule_, \
                        .saves = {da, db, dc}, \
                        .flags = F_INPLACE},
#define OP(name_, sig, infer_, kernel, save, d, flags_, label_, doc) \
    [TN__OP_##name_] = {.name = #name_, \
                        .label = label_, \
                        .signature = sig, \
                        .infer = tn__infer_##infer_, \
                        .kind = TN__STRUCTURAL, \
                        .saves = save, \
                        .flags = flags_},
#define VIEW(name_, sig, infer_, d, label_, doc) \
    [TN__OP_##name_] = {.name = #name_, .label = label_, .infer = tn__infer_##infer_, .kind = TN__VIEW},
#define COMP(name_, sig, save, d, label_, doc) \
    [TN__OP_##name_] = {.name = #name_, .label = label_, .kind = TN__COMPOSITE, .saves = save},
#define FUNC(...)
#include "op/ops.def"
#include "op/ops_undef.h"
};

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
