#include "core/dtype.h"
#include "core/error.h"
#include "core/thread.h"
#include "core/tensor.h"
#include <tenon/dtype.h>
#include <math.h>

/* clang-format off */
const tn__dtype_info tn__dtypes[TN__DTYPES] = {
    [TN_DTYPE_DEFAULT] = {"default",  "Undefined", "default",       0, false, false, 0},
    [TN_BOOL]          = {"bool",     "Bool",      "bool",          1, false, false, TN_I32},
    [TN_U8]            = {"uint8",    "Byte",      "unsigned char", 1, false, false, TN_I32},
    [TN_I8]            = {"int8",     "Char",      "signed char",   1, false, true,  TN_I32},
    [TN_I16]           = {"int16",    "Short",     "short int",     2, false, true,  TN_I32},
    [TN_I32]           = {"int32",    "Int",       "int",           4, false, true,  TN_I32},
    [TN_I64]           = {"int64",    "Long",      "long int",      8, false, true,  TN_I64},
    [TN_F16]           = {"float16",  "Half",      "c10::Half",     2, true,  true,  TN_F32},
    [TN_BF16]          = {"bfloat16", "BFloat16",  "c10::BFloat16", 2, true,  true,  TN_F32},
    [TN_F32]           = {"float32",  "Float",     "float",         4, true,  true,  TN_F32},
    [TN_F64]           = {"float64",  "Double",    "double",        8, true,  true,  TN_F64},
};

/* https://pytorch.org/docs/stable/tensor_attributes.html#type-promotion-doc; row and column BOOL .. F64 */
static const uint8_t promotion[10][10] = {
#define b1 TN_BOOL
#define u1 TN_U8
#define i1 TN_I8
#define i2 TN_I16
#define i4 TN_I32
#define i8 TN_I64
#define f2 TN_F16
#define bf TN_BF16
#define f4 TN_F32
#define f8 TN_F64
    /*        b1  u1  i1  i2  i4  i8  f2  bf  f4  f8 */
    /* b1 */ {b1, u1, i1, i2, i4, i8, f2, bf, f4, f8},
    /* u1 */ {u1, u1, i2, i2, i4, i8, f2, bf, f4, f8},
    /* i1 */ {i1, i2, i1, i2, i4, i8, f2, bf, f4, f8},
    /* i2 */ {i2, i2, i2, i2, i4, i8, f2, bf, f4, f8},
    /* i4 */ {i4, i4, i4, i4, i4, i8, f2, bf, f4, f8},
    /* i8 */ {i8, i8, i8, i8, i8, i8, f2, bf, f4, f8},
    /* f2 */ {f2, f2, f2, f2, f2, f2, f2, f4, f4, f8},
    /* bf */ {bf, bf, bf, bf, bf, bf, f4, bf, f4, f8},
    /* f4 */ {f4, f4, f4, f4, f4, f4, f4, f4, f4, f8},
    /* f8 */ {f8, f8, f8, f8, f8, f8, f8, f8, f8, f8},
#undef b1
#undef u1
#undef i1
#undef i2
#undef i4
#undef i8
#undef f2
#undef bf
#undef f4
#undef f8
};
/* clang-format on */

static _Atomic tn_dtype default_dtype = TN_F32;

tn_dtype tn__default_dtype(void)
{
    return atomic_load_explicit(&default_dtype, memory_order_relaxed);
}

tn_dtype tn__promote(tn_dtype a, tn_dtype b)
{
    if (a == b || b == TN_DTYPE_DEFAULT)
        return a;
    if (a == TN_DTYPE_DEFAULT)
        return b;
    return promotion[a - 1][b - 1];
}

static int kind_of(tn_dtype d)
{
    return tn__dtype_is_float(d) ? 3 : d > TN_BOOL ? 2 : d == TN_BOOL ? 1 : 0;
}

bool tn__can_cast(tn_dtype from, tn_dtype to)
{
    return kind_of(from) <= kind_of(to);
}

tn_dtype tn__number_dtype(const tn_scalar *s)
{
    return s->kind == TN_SCALAR_FLOAT ? tn__default_dtype() : s->kind == TN_SCALAR_BOOL ? TN_BOOL : TN_I64;
}

void tn__promotion_add(tn__promotion *p, const tn_scalar *s)
{
    if (s->kind == TN_SCALAR_NONE)
        return;
    if (s->kind != TN_SCALAR_TENSOR)
        p->number = tn__promote(p->number, tn__number_dtype(s));
    else if (s->v.t->ndim > 0)
        p->dim = tn__promote(p->dim, s->v.t->dtype);
    else
        p->zero = tn__promote(p->zero, s->v.t->dtype);
}

static tn_dtype combine(tn_dtype higher, tn_dtype lower)
{
    if (higher == TN_DTYPE_DEFAULT)
        return lower;
    return kind_of(lower) > kind_of(higher) ? tn__promote(higher, lower) : higher;
}

tn_dtype tn__promotion_result(const tn__promotion *p)
{
    return combine(p->dim, combine(p->zero, p->number));
}

tn_status tn__dtype_check(const char *what, tn_dtype d)
{
    if (TN_LIKELY(d >= TN_DTYPE_DEFAULT && d <= TN_F64))
        return TN_OK;
    if (d == TN_U32 || d == TN_U64)
        return tn__error(TN_EDTYPE, "%s: Tenon has no %s tensors: int64 holds every uint32; convert first", what,
                         d == TN_U32 ? "uint32" : "uint64");
    return tn__error(TN_EINVAL,
                     "%s: %d is not a dtype (TN_BOOL, TN_U8, TN_I8, TN_I16, TN_I32, TN_I64, TN_F16, "
                     "TN_BF16, TN_F32, TN_F64)",
                     what, (int)d);
}

/* ---- one element ---- */

float tn__half_to_float(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, e = (h >> 10) & 31, m = h & 0x3ff, u;
    if (e == 31)
        u = sign | 0x7f800000 | m << 13;
    else if (e)
        u = sign | (e + 112) << 23 | m << 13;
    else {
        float f = (float)m * 5.9604644775390625e-8F; /* 2^-24: subnormals are exact in float */
        memcpy(&u, &f, 4);
        u |= sign;
    }
    float f;
    memcpy(&f, &u, 4);
    return f;
}

uint16_t tn__float_to_half(float f)
{
    uint32_t u;
    memcpy(&u, &f, 4);
    uint32_t sign = u >> 16 & 0x8000;
    u &= 0x7fffffff;
    if (u > 0x7f800000)
        return (uint16_t)(sign | 0x7e00 | (u >> 13 & 0x3ff)); /* NaN stays NaN, quiet */
    if (u >= 0x47800000)
        return (uint16_t)(sign | 0x7c00);
    if (u < 0x38800000) { /* subnormal or zero: let float addition round to a multiple of 2^-24 */
        float a;
        memcpy(&a, &u, 4);
        a += 0.5F;
        memcpy(&u, &a, 4);
        return (uint16_t)(sign | (u - 0x3f000000));
    }
    u += 0xc8000fff + (u >> 13 & 1); /* rebias by -112, round half to even */
    return (uint16_t)(sign | u >> 13);
}

float tn__bf16_to_float(uint16_t h)
{
    uint32_t u = (uint32_t)h << 16;
    float f;
    memcpy(&f, &u, 4);
    return f;
}

uint16_t tn__float_to_bf16(float f)
{
    uint32_t u;
    memcpy(&u, &f, 4);
    if ((u & 0x7fffffff) > 0x7f800000)
        return (uint16_t)(u >> 16 | 0x40);
    return (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}

double tn__load_double(tn_dtype d, const void *p)
{
    switch (d) {
    case TN_F16: return (double)tn__half_to_float(*(const uint16_t *)p);
    case TN_BF16: return (double)tn__bf16_to_float(*(const uint16_t *)p);
    case TN_F32: return (double)*(const float *)p;
    case TN_F64: return *(const double *)p;
    default: return (double)tn__load_int(d, p);
    }
}

/* Float to integer: truncated, saturated, NaN is 0; stated once here and once for loops (backend/cpu/scalar.inc.h). */
static int64_t saturate(double v)
{
    if (isnan(v))
        return 0;
    if (v >= 9223372036854775808.0)
        return INT64_MAX;
    return v <= -9223372036854775808.0 ? INT64_MIN : (int64_t)v;
}

int64_t tn__load_int(tn_dtype d, const void *p)
{
    switch (d) {
    case TN_BOOL: return *(const uint8_t *)p != 0;
    case TN_U8: return *(const uint8_t *)p;
    case TN_I8: return *(const int8_t *)p;
    case TN_I16: return *(const int16_t *)p;
    case TN_I32: return *(const int32_t *)p;
    case TN_I64: return *(const int64_t *)p;
    default: return saturate(tn__load_double(d, p));
    }
}

void tn__store_int(tn_dtype d, void *p, int64_t v)
{
    switch (d) {
    case TN_BOOL: *(uint8_t *)p = v != 0; break;
    case TN_U8: *(uint8_t *)p = (uint8_t)v; break;
    case TN_I8: *(int8_t *)p = (int8_t)(uint8_t)v; break;
    case TN_I16: *(int16_t *)p = (int16_t)(uint16_t)v; break;
    case TN_I32: *(int32_t *)p = (int32_t)(uint32_t)v; break;
    case TN_I64: *(int64_t *)p = v; break;
    case TN_F16: *(uint16_t *)p = tn__float_to_half((float)v); break;
    case TN_BF16: *(uint16_t *)p = tn__float_to_bf16((float)v); break;
    case TN_F32: *(float *)p = (float)v; break;
    default: *(double *)p = (double)v; break;
    }
}

void tn__store_double(tn_dtype d, void *p, double v)
{
    switch (d) {
    case TN_BOOL: *(uint8_t *)p = v != 0; break;
    case TN_F16: *(uint16_t *)p = tn__float_to_half((float)v); break;
    case TN_BF16: *(uint16_t *)p = tn__float_to_bf16((float)v); break;
    case TN_F32: *(float *)p = (float)v; break;
    case TN_F64: *(double *)p = v; break;
    case TN_I32: *(int32_t *)p = (int32_t)TN_MIN(TN_MAX(saturate(v), INT32_MIN), INT32_MAX); break;
    case TN_I64: *(int64_t *)p = saturate(v); break;
    default: tn__store_int(d, p, TN_MIN(TN_MAX(saturate(v), INT32_MIN), INT32_MAX)); break;
    }
}

double tn__scalar_double(const tn_scalar *s)
{
    switch (s->kind) {
    case TN_SCALAR_FLOAT: return s->v.f;
    case TN_SCALAR_UINT: return (double)s->v.u;
    default: return (double)s->v.i;
    }
}

int64_t tn__scalar_int(const tn_scalar *s)
{
    return s->kind == TN_SCALAR_FLOAT ? saturate(s->v.f) : s->v.i;
}

void tn__store_scalar(tn_dtype d, void *p, const tn_scalar *s)
{
    if (s->kind == TN_SCALAR_FLOAT || (s->kind == TN_SCALAR_UINT && tn__dtype_is_float(d)))
        tn__store_double(d, p, tn__scalar_double(s));
    else
        tn__store_int(d, p, s->v.i);
}

bool tn__number_fits(const tn_scalar *s, tn_dtype d)
{
    static const double largest[TN__DTYPES] = {[TN_F16] = 65504, [TN_BF16] = 0x1.fep127, [TN_F32] = 0x1.fffffep127};
    if (s->kind == TN_SCALAR_NONE || s->kind == TN_SCALAR_TENSOR || d == TN_BOOL || d == TN_F64)
        return true;
    double v = tn__scalar_double(s);
    if (tn__dtype_is_float(d))
        return !isfinite(v) || fabs(v) <= largest[d];
    int bits = 8 * (int)tn__dtype_size(d) - tn__dtypes[d].is_signed;
    if (s->kind == TN_SCALAR_FLOAT)
        return v >= (tn__dtypes[d].is_signed ? -ldexp(1, bits) : 0) && v < ldexp(1, bits);
    uint64_t most = (UINT64_C(1) << bits) - 1;
    if (s->kind == TN_SCALAR_UINT || s->v.i >= 0)
        return s->v.u <= most;
    return s->v.i >= (tn__dtypes[d].is_signed ? -(int64_t)most - 1 : -(int64_t)most);
}

tn_status tn__number_check(const tn_scalar *s, tn_dtype d)
{
    static const char *const names[TN__DTYPES] = {
        [TN_BOOL] = "bool",     [TN_U8] = "uint8_t",        [TN_I8] = "int8_t", [TN_I16] = "int16_t",
        [TN_I32] = "int",       [TN_I64] = "int64_t",       [TN_F32] = "float", [TN_F64] = "double",
        [TN_F16] = "c10::Half", [TN_BF16] = "c10::BFloat16"};
    if (TN_LIKELY(tn__number_fits(s, d)))
        return TN_OK;
    return tn__error(TN_EINVAL, "value cannot be converted to type %s without overflow", names[d]);
}

/* ---- public ---- */

const char *tn_dtype_name(tn_dtype dtype)
{
    return tn__dtype_exists(dtype) ? tn__dtypes[dtype].name : "invalid";
}

tn_dtype tn_dtype_parse(const char *name)
{
    static const struct {
        const char *name;
        tn_dtype dtype;
    } also[] = {{"half", TN_F16},  {"float", TN_F32}, {"double", TN_F64},
                {"short", TN_I16}, {"int", TN_I32},   {"long", TN_I64}};
    tn__enter(TN__NOWHERE);
    for (tn_dtype d = TN_BOOL; name && d <= TN_F64; d++)
        if (!strcmp(name, tn__dtypes[d].name))
            return d;
    for (size_t i = 0; name && i < TN_COUNT(also); i++)
        if (!strcmp(name, also[i].name))
            return also[i].dtype;
    tn__error(TN_EINVAL,
              "'%s' is not a dtype: bool, uint8, int8, int16, int32, int64, float16, bfloat16, float32, "
              "float64",
              name ? name : "(null)");
    return TN_DTYPE_DEFAULT;
}

size_t tn_dtype_size(tn_dtype dtype)
{
    return tn__dtype_exists(dtype) ? tn__dtype_size(dtype) : 0;
}

bool tn_dtype_is_floating_point(tn_dtype dtype)
{
    return tn__dtype_exists(dtype) && tn__dtype_is_float(dtype);
}

tn_dtype tn_promote_types(tn_dtype a, tn_dtype b)
{
    return tn__dtype_exists(a) && tn__dtype_exists(b) ? tn__promote(a, b) : TN_DTYPE_DEFAULT;
}

bool tn_can_cast(tn_dtype from, tn_dtype to)
{
    return tn__dtype_exists(from) && tn__dtype_exists(to) && tn__can_cast(from, to);
}

tn_status tn_set_default_dtype(tn_dtype dtype)
{
    tn__enter(TN__NOWHERE);
    if (!tn_dtype_is_floating_point(dtype))
        return tn__error(TN_ETYPE, "only floating-point types are supported as the default type");
    atomic_store(&default_dtype, dtype);
    return TN_OK;
}

tn_dtype tn_get_default_dtype(void)
{
    return tn__default_dtype();
}
