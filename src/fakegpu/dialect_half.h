/* fakegpu/dialect_half.h: float16 by integer arithmetic, for kernels (embedded as text) and for the fake cuBLAS. Plain C
 * types and no include. */
#ifndef TENON_FAKEGPU_DIALECT_HALF_H
#define TENON_FAKEGPU_DIALECT_HALF_H

static inline __attribute__((unused)) float tn_float_of_bits(unsigned bits)
{
    float x;
    __builtin_memcpy(&x, &bits, sizeof x);
    return x;
}

static inline __attribute__((unused)) unsigned tn_bits_of_float(float x)
{
    unsigned bits;
    __builtin_memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* Exact: subnormals are multiples of 2^-24. */
static inline __attribute__((unused)) float half_f32(unsigned short h)
{
    const unsigned sign = (h & 0x8000u) << 16, exponent = h >> 10 & 31u, mantissa = h & 0x3ffu;
    if (exponent == 31)
        return tn_float_of_bits(sign | 0x7f800000u | mantissa << 13);
    if (exponent != 0)
        return tn_float_of_bits(sign | (exponent + 112) << 23 | mantissa << 13);
    return tn_float_of_bits(sign | tn_bits_of_float((float)mantissa * 5.9604644775390625e-8f));
}

/* To nearest, ties to even. Below 2^-14 the 24-bit mantissa is shifted to units of 2^-24; what falls out decides. */
static inline __attribute__((unused)) unsigned short f32_half(float x)
{
    const unsigned bits = tn_bits_of_float(x), sign = bits >> 16 & 0x8000u, u = bits & 0x7fffffffu;
    if (u > 0x7f800000u) /* NaN stays NaN, quiet */
        return (unsigned short)(sign | 0x7e00u | (u >> 13 & 0x3ffu));
    if (u >= 0x47800000u)
        return (unsigned short)(sign | 0x7c00u);
    if (u >= 0x38800000u)
        return (unsigned short)(sign | (u - 0x38000000u + 0xfffu + (u >> 13 & 1u)) >> 13);
    if (u < 0x33000000u) /* below 2^-25 */
        return (unsigned short)sign;
    const unsigned mantissa = (u & 0x7fffffu) | 0x800000u, shift = 126u - (u >> 23), kept = mantissa >> shift;
    const unsigned rest = mantissa & ((1u << shift) - 1u), half = 1u << (shift - 1u);
    return (unsigned short)(sign | (kept + (rest > half || (rest == half && (kept & 1u)))));
}

#endif
