/* Numbers, rounding and index arithmetic, stated once more and plainly. They touch no tensor: no sanitizer watches them
 * (CMakeLists.txt). */
#include "ops/kit.h"
#include <string.h>

/* ---- dtypes ---- */

int kit_size(tn_dtype d)
{
    switch (d) {
    case TN_BOOL:
    case TN_U8:
    case TN_I8: return 1;
    case TN_I16:
    case TN_F16:
    case TN_BF16: return 2;
    case TN_I32:
    case TN_F32: return 4;
    default: return 8;
    }
}

int kit_category(tn_dtype d)
{
    return d == TN_BOOL ? 0 : kit_is_float(d) ? 2 : 1;
}

tn_dtype kit_promote(tn_dtype a, tn_dtype b)
{
    if (a == b)
        return a;
    if (kit_category(a) != kit_category(b))
        return kit_category(a) > kit_category(b) ? a : b;
    if (kit_is_float(a))
        return a == TN_F64 || b == TN_F64 ? TN_F64
                                          : TN_F32; /* two different ones, at most one of them 16 bits wide less */
    if (a == TN_U8 || b == TN_U8) {                 /* what holds both: signed and wider than 8 bits */
        tn_dtype other = a == TN_U8 ? b : a;
        return other == TN_I8 ? TN_I16 : other;
    }
    return kit_size(a) > kit_size(b) ? a : b;
}

int kit_digits(tn_dtype d)
{
    return d == TN_F64 ? 53 : d == TN_F32 ? 24 : d == TN_F16 ? 11 : 8;
}

int kit_top_exponent(tn_dtype d)
{
    return d == TN_F64 ? 1023 : d == TN_F16 ? 15 : 127;
}

int64_t kit_min(tn_dtype d)
{
    switch (d) {
    case TN_I8: return INT8_MIN;
    case TN_I16: return INT16_MIN;
    case TN_I32: return INT32_MIN;
    case TN_I64: return INT64_MIN;
    default: return 0;
    }
}

int64_t kit_max(tn_dtype d)
{
    switch (d) {
    case TN_BOOL: return 1;
    case TN_U8: return UINT8_MAX;
    case TN_I8: return INT8_MAX;
    case TN_I16: return INT16_MAX;
    case TN_I32: return INT32_MAX;
    default: return INT64_MAX;
    }
}

/* v is less than 2^exponent_of(v), and not less than half of that; 2^e. As frexpl and ldexpl say, in a fifth of the time. */
#if LDBL_MANT_DIG == 64
typedef union x87 {
    struct {
        uint64_t fraction;
        uint16_t sign_exponent;
    } bits;
    real value;
} x87;

static int exponent_of(real v)
{
    const x87 u = {.value = v};
    return (u.bits.sign_exponent & 0x7fff) - 16382;
}

static real power_of_two(int e)
{
    const x87 u = {.bits = {UINT64_C(1) << 63, (uint16_t)(e + 16383)}};
    return u.value;
}
#else
static int exponent_of(real v)
{
    int e;
    frexpl(v, &e);
    return e;
}

static real power_of_two(int e)
{
    return ldexpl(1, e);
}
#endif

/* To nearest, ties to even, at 'digits' bits, gradual underflow included: a number whose last place is the one that is to be
 * kept is added and taken away again. */
static real round_float(real v, tn_dtype d)
{
    const int digits = kit_digits(d), top = kit_top_exponent(d);
    if (v == 0 || isnan(v) || isinf(v))
        return v;
    if (d == TN_F64)
        return (real)(double)v;
    if (d == TN_F32)
        return (real)(float)v;
    const int e = exponent_of(v), least = 1 - top - (digits - 1);
    if (e > top + 1)
        return copysignl(KIT_INF, v);
    const real big = 1.5L * power_of_two((e - digits < least ? least : e - digits) + LDBL_MANT_DIG - 1);
    real r = v + big - big;
    if (fabsl(r) >= power_of_two(top + 1))
        r = KIT_INF;
    return copysignl(r, v);
}

static int64_t saturated(real v, int64_t lo, int64_t hi)
{
    if (isnan(v))
        return 0;
    return v <= (real)lo ? lo : v >= (real)hi ? hi : (int64_t)v;
}

real kit_wrapped(uint64_t u, tn_dtype d)
{
    switch (d) {
    case TN_BOOL: return u != 0;
    case TN_U8: return (real)(uint8_t)u;
    case TN_I8: return (real)(int8_t)(uint8_t)u;
    case TN_I16: return (real)(int16_t)(uint16_t)u;
    case TN_I32: return (real)(int32_t)(uint32_t)u;
    default: return (real)(int64_t)u;
    }
}

real kit_round(real v, tn_dtype d)
{
    if (kit_is_float(d))
        return round_float(v, d);
    if (d == TN_BOOL)
        return v != 0;
    if (v == floorl(v) && v >= -0x1p63L && v < 0x1p63L)
        return kit_wrapped((uint64_t)(int64_t)v, d);
    bool wide = d == TN_I64;
    return kit_wrapped((uint64_t)saturated(v, wide ? INT64_MIN : INT32_MIN, wide ? INT64_MAX : INT32_MAX), d);
}

real kit_convert(real v, tn_dtype from, tn_dtype to)
{
    if (to == TN_BOOL)
        return v != 0;
    if (from == TN_F64 && (to == TN_F16 || to == TN_BF16))
        v = round_float(v, TN_F32);
    if ((from == TN_I64 || from == TN_I32) && (to == TN_F16 || to == TN_BF16))
        v = round_float(v, TN_F32);
    if (kit_is_float(from) && !kit_is_float(to)) {
        bool wide = to == TN_I64;
        return kit_wrapped((uint64_t)saturated(v, wide ? INT64_MIN : INT32_MIN, wide ? INT64_MAX : INT32_MAX), to);
    }
    return kit_round(v, to);
}

/* Sign, exponent and fraction of a 16-bit float. */
static real decode_small(uint16_t bits, tn_dtype d)
{
    int fraction = kit_digits(d) - 1, top = kit_top_exponent(d), e = (bits & 0x7fff) >> fraction;
    int64_t f = bits & ((1 << fraction) - 1);
    real v;
    if (e == 2 * top + 1)
        v = f ? KIT_NAN : KIT_INF;
    else
        v = ldexpl((real)(e ? f + (1 << fraction) : f), (e ? e : 1) - top - fraction);
    return bits & 0x8000 ? -v : v;
}

/* All of them, decoded once. */
real kit_widened(uint16_t bits, tn_dtype d)
{
    static float all[2][65536];
    static bool done;
    for (int i = 0; i < 65536 && !done; i++) {
        all[0][i] = (float)decode_small((uint16_t)i, TN_F16);
        all[1][i] = (float)decode_small((uint16_t)i, TN_BF16);
    }
    done = true;
    return (real)all[d == TN_BF16][bits];
}

uint16_t kit_narrowed(real v, tn_dtype d)
{
    int fraction = kit_digits(d) - 1, top = kit_top_exponent(d), e;
    uint16_t sign = signbit(v) ? 0x8000 : 0, infinity = (uint16_t)((2 * top + 1) << fraction);
    if (isnan(v))
        return (uint16_t)(infinity | 1U << (fraction - 1));
    real a = fabsl(round_float(v, d));
    if (isinf(a))
        return sign | infinity;
    if (a == 0)
        return sign;
    frexpl(a, &e);
    int biased = e - 1 + top;
    if (biased < 1)
        return (uint16_t)(sign | (uint16_t)ldexpl(a, top - 1 + fraction));
    return (uint16_t)(sign + ((biased - 1) << fraction) + (int)ldexpl(a, fraction - (e - 1)));
}

/* The bits of a float as a number that grows with it. */
static int64_t rank(tn_dtype d, real v)
{
    int64_t m;
    uint64_t u = 0;
    if (d == TN_F64) {
        double x = (double)fabsl(v);
        memcpy(&u, &x, 8);
    } else if (d == TN_F32) {
        float x = (float)fabsl(v);
        uint32_t b;
        memcpy(&b, &x, 4);
        u = b;
    } else {
        u = kit_narrowed(fabsl(v), d);
    }
    m = (int64_t)u;
    return signbit(v) ? -m : m;
}

int64_t kit_ulps(tn_dtype d, real a, real b)
{
    if (isnan(a) || isnan(b))
        return isnan(a) && isnan(b) ? 0 : INT64_MAX;
    if (!kit_is_float(d))
        return a == b ? 0 : INT64_MAX;
    int64_t x = rank(d, a), y = rank(d, b);
    uint64_t apart = x > y ? (uint64_t)x - (uint64_t)y : (uint64_t)y - (uint64_t)x;
    return apart > INT64_MAX ? INT64_MAX : (int64_t)apart;
}

real kit_ulp(tn_dtype d, real v)
{
    int e, least = 1 - kit_top_exponent(d) - (kit_digits(d) - 1);
    if (!isfinite(v))
        return 0;
    if (v == 0)
        return ldexpl(1, least);
    frexpl(v, &e);
    return ldexpl(1, e - kit_digits(d) < least ? least : e - kit_digits(d));
}

/* ---- index arithmetic ---- */

int64_t kit_count(int32_t ndim, const int64_t *shape)
{
    int64_t n = 1;
    for (int32_t d = 0; d < ndim; d++)
        n *= shape[d];
    return n;
}

void kit_unravel(int64_t i, int32_t ndim, const int64_t *shape, int64_t *at)
{
    for (int32_t d = ndim - 1; d >= 0; d--) {
        at[d] = i % shape[d];
        i /= shape[d];
    }
}

int64_t kit_ravel(int32_t ndim, const int64_t *stride, const int64_t *at)
{
    int64_t o = 0;
    for (int32_t d = 0; d < ndim; d++)
        o += at[d] * stride[d];
    return o;
}
