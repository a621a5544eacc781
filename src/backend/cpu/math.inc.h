/* backend/cpu/math.inc.h: math functions that loops over float can be vectorised with: no branches, no calls. Read once
 * by each instruction set's loops. Polynomials: Lawson-iterated least-squares fits (minimax to 3 digits) made with mpmath;
 * range reductions as in Cody & Waite, Software Manual for the Elementary Functions. Largest errors seen against libm in
 * double over all floats: tests/unit/test_math.c. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
#define FMA_F32(a, b, c) __builtin_fmaf(a, b, c)
#else
#define FMA_F32(a, b, c) ((a) * (b) + (c)) /* constants below are split so that this loses nothing that matters */
#endif

#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
#define FMA_F64(a, b, c) __builtin_fma(a, b, c)
#else
#define FMA_F64(a, b, c) ((a) * (b) + (c))
#endif

/* A call in a loop keeps it from becoming vectors, and the compiler stops to inline what many loops call. */
#define ALWAYS static inline __attribute__((always_inline))

ALWAYS float bits_f32(uint32_t u)
{
    float f;
    memcpy(&f, &u, 4);
    return f;
}

ALWAYS uint32_t f32_bits(float f)
{
    uint32_t u;
    memcpy(&u, &f, 4);
    return u;
}

/* Adding this rounds |x| < 2^22 to a whole number, which is then in the low bits. */
#define ROUNDER 12582912.0F

/* x = n ln 2 + r + rest; n is the whole number in t's low bits. */
ALWAYS float exp_reduce(float x, float *r, float *rest, int32_t *i)
{
    float t = FMA_F32(x, 1.44269504F, ROUNDER), n = t - ROUNDER;
    float a = FMA_F32(n, -0.693359375F, x);
    *r = FMA_F32(n, 2.12194440e-4F, a);
    *rest = FMA_F32(n, 2.12194440e-4F, a - *r);
    *i = (int32_t)(f32_bits(t) - f32_bits(ROUNDER));
    float q = FMA_F32(1.98548019e-4F, *r, 1.39330549e-3F);
    q = FMA_F32(q, *r, 8.33330676e-3F);
    q = FMA_F32(q, *r, 4.16664854e-2F);
    return FMA_F32(q, *r, 1.66666672e-1F); /* e^r = 1 + r + r^2 / 2 + r^3 q */
}

ALWAYS float power_of_2(int32_t i)
{
    return bits_f32((uint32_t)(i + 127) << 23);
}

/* e^x 2^shift for x in [-104, 90] or NaN. e^r = (1 + r) + tail: 1 + r is taken apart exactly, and what the reduction's
 * rounding lost (rest) goes into the tail, so that only the last addition rounds much. */
ALWAYS float exp_times(float x, int32_t shift)
{
    float r, rest;
    int32_t i;
    float q = exp_reduce(x, &r, &rest, &i);
    float one = 1.0F + r, lost = r - (one - 1.0F);
    float square = r * r,
          tip = FMA_F32(r, r, -square); /* r^2 = square + tip, exactly, where there is a fused product */
    rest = FMA_F32(rest, r, rest);      /* e^(r + rest) - e^r, to second order */
    float tail = FMA_F32(q * r, square, FMA_F32(0.5F, tip, rest) + lost);
    float y = one + FMA_F32(0.5F, square, tail);
    i += shift;
    int32_t half = i >> 1; /* 2^i in two steps: i may be below -126 */
    return y * power_of_2(half) * power_of_2(i - half);
}

ALWAYS float m_exp_f32(float x)
{
    x = x > 89.0F ? 89.0F : x; /* NaN passes both tests by */
    x = x < -104.0F ? -104.0F : x;
    return exp_times(x, 0);
}

ALWAYS float m_exp2_f32(float x)
{
    x = x > 129.0F ? 129.0F : x;
    x = x < -151.0F ? -151.0F : x;
    float t = x + ROUNDER, r = x - (t - ROUNDER);
    float q = FMA_F32(1.53149464e-5F, r, 1.54671104e-4F);
    q = FMA_F32(q, r, 1.33334308e-3F);
    q = FMA_F32(q, r, 9.61803691e-3F);
    q = FMA_F32(q, r, 5.55041096e-2F);
    q = FMA_F32(q, r, 2.40226511e-1F);
    float y = 1.0F + FMA_F32(q * r, r, 6.93147181e-1F * r);
    int32_t i = (int32_t)(f32_bits(t) - f32_bits(ROUNDER)), half = i >> 1;
    return y * power_of_2(half) * power_of_2(i - half);
}

ALWAYS float m_expm1_f32(float x)
{
    float w = x > 89.0F ? 89.0F : x, r, rest;
    w = w < -20.0F ? -20.0F : w;
    int32_t i;
    float q = exp_reduce(w, &r, &rest, &i);
    float less = r + FMA_F32(q * r, r * r, FMA_F32(0.5F * r, r, FMA_F32(rest, r, rest))); /* e^r - 1 */
    float scale = power_of_2(i - 1), y = FMA_F32(scale, less, scale - 0.5F); /* half of it: 2^128 is no float */
    float a = x < 0.0F ? -x : x;
    return a < 1e-7F || x != x ? x : 2.0F * y; /* -0 stays -0, and subnormals what they are */
}

ALWAYS float m_sinh_f32(float x)
{
    float a = x < 0.0F ? -x : x, z = x * x;
    float p = FMA_F32(2.81743965e-6F, z, 1.98360672e-4F);
    p = FMA_F32(p, z, 8.3333506e-3F);
    p = FMA_F32(p, z, 1.66666665e-1F);
    float small = FMA_F32(p * z, x, x);
    float half = exp_times(a > 90.0F ? 90.0F : a, -1), large = half - 0.25F / half; /* e^a may be too large */
    large = x < 0.0F ? -large : large;
    return x != x || x == 0.0F ? x : a < 1.0F ? small : large;
}

ALWAYS float m_cosh_f32(float x)
{
    float a = x < 0.0F ? -x : x, half = exp_times(a > 90.0F ? 90.0F : a, -1);
    return half + 0.25F / half;
}

/* e^x of x <= 0 or NaN where a relative error of 1.2e-7 will do: half the work. */
ALWAYS float m_exp_down_f32(float x)
{
    float t = FMA_F32(x, 1.44269504F, ROUNDER), n = t - ROUNDER;
    float r = FMA_F32(n, 2.12194440e-4F, FMA_F32(n, -0.693359375F, x));
    float q = FMA_F32(1.38637854e-3F, r, 8.36747698e-3F);
    q = FMA_F32(q, r, 4.16672379e-2F);
    q = FMA_F32(q, r, 1.66665345e-1F);
    q = FMA_F32(q, r, 0.5F);
    float y = 1.0F + FMA_F32(q, r * r, r);
    y *= bits_f32((f32_bits(t) - f32_bits(ROUNDER) + 127U + 64U) << 23); /* 2^64 too large, as it may be subnormal */
    return x < -104.0F ? 0.0F : y * 5.42101086e-20F;                     /* further down y is anything */
}

/* erfc(a) = e^(-a^2) u P(u), u = 1 / (1 + 0.35 a), for a >= 0; 2 - erfc(-x) below. a^2 = square + tip. */
ALWAYS float m_erfc_f32(float x)
{
    float a = x < 0.0F ? -x : x;
    a = a > 10.5F ? 10.5F : a;
    float u = 1.0F / FMA_F32(0.35F, a, 1.0F);
    float p = FMA_F32(3.85462076e-2F, u, -1.59740894e-1F);
    p = FMA_F32(p, u, 1.83436954e-1F);
    p = FMA_F32(p, u, -3.04392e-2F);
    p = FMA_F32(p, u, 8.93863706e-2F);
    p = FMA_F32(p, u, 1.44713268e-1F);
    p = FMA_F32(p, u, 1.51668727e-1F);
    p = FMA_F32(p, u, 1.87793277e-1F);
    p = FMA_F32(p, u, 1.97152282e-1F);
    p = FMA_F32(p, u, 1.97483015e-1F) * u;
    float square = a * a, high = bits_f32(f32_bits(a) & 0xfffff000U);
    float tip = high * high - square + (a - high) * (a + high);
    square = square > 103.0F ? 103.0F : square;
    float e = exp_times(-square, 64); /* without the shift it may be subnormal */
    float y = FMA_F32(-tip, e, e) * p * 5.42101086e-20F;
    y = x < 0.0F ? 2.0F - y : y;
    float z = x * x, q = FMA_F32(4.71992592e-3F, z, -2.67581545e-2F); /* near zero, 1 - erf(x) */
    q = FMA_F32(q, z, 1.1282838e-1F);
    q = FMA_F32(q, z, -3.76126093e-1F);
    q = FMA_F32(q, z, 1.12837917F);
    y = a < 0.5F ? 1.0F - q * x : y;
    y = x > 10.06F ? 0.0F : y;
    return x != x ? x : y;
}

/* The normal distribution's cumulative probability, erfc(-x / sqrt(2)) / 2: of -|x| as erfc above (0.35 a and the halves are
 * in the constants), 1 less that on the other side. */
ALWAYS float m_normcdf_f32(float x)
{
    float a = fabsf(x);
    a = a > 15.0F ? 15.0F : a;
    float u = 1.0F / FMA_F32(0.247487373F, a, 1.0F);
    float p = FMA_F32(1.92731038e-2F, u, -7.9870447e-2F);
    p = FMA_F32(p, u, 9.1718477e-2F);
    p = FMA_F32(p, u, -1.52196e-2F);
    p = FMA_F32(p, u, 4.46931853e-2F);
    p = FMA_F32(p, u, 7.2356634e-2F);
    p = FMA_F32(p, u, 7.58343635e-2F);
    p = FMA_F32(p, u, 9.38966385e-2F);
    p = FMA_F32(p, u, 9.8576141e-2F);
    p = FMA_F32(p, u, 9.87415075e-2F) * u;
    float square = a * a, tip = FMA_F32(a, a, -square), e = m_exp_down_f32(-0.5F * square);
    float y = p * FMA_F32(-0.5F * tip, e, e);
    return x > 0.0F ? 1.0F - y : y;
}

/* Up to 1 a polynomial; beyond, 1 - erfc(x), which is small. */
ALWAYS float m_erf_f32(float x)
{
    float a = fabsf(x), z = x * x;
    float p = FMA_F32(7.85386146e-05F, z, -8.01019371e-4F);
    p = FMA_F32(p, z, 5.18832775e-3F);
    p = FMA_F32(p, z, -2.68538129e-2F);
    p = FMA_F32(p, z, 1.12835854e-1F);
    p = FMA_F32(p, z, -3.7612626e-1F);
    p = FMA_F32(p, z, 1.28379166e-1F);
    float large = 1.0F - m_erfc_f32(a);
    return x != x ? x : a < 1.0F ? FMA_F32(x, p, x) : copysignf(large, x);
}

/* log x = e ln 2 + f - f^2 / 2 + f^2 p for positive finite x, |f| < 0.42. Returns e. */
ALWAYS float log_parts(float x, float *f_, float *p_)
{
    float tiny = x < 1.17549435e-38F ? 8388608.0F : 1.0F; /* subnormals are scaled by 2^23 first */
    uint32_t u = f32_bits(x * tiny), v = u - 0x3f3504f3U; /* sqrt(1/2): mantissa to [sqrt(1/2), sqrt(2)) */
    float e = (float)((int32_t)v >> 23) - (tiny == 1.0F ? 0.0F : 23.0F);
    float f = bits_f32((v & 0x007fffffU) + 0x3f3504f3U) - 1.0F;
    float p = FMA_F32(6.909897e-2F, f, -1.17893286e-1F);
    p = FMA_F32(p, f, 1.1874966e-1F);
    p = FMA_F32(p, f, -1.238454e-1F);
    p = FMA_F32(p, f, 1.4218438e-1F);
    p = FMA_F32(p, f, -1.6669235e-1F);
    p = FMA_F32(p, f, 2.0002235e-1F);
    p = FMA_F32(p, f, -2.4999987e-1F);
    p = FMA_F32(p, f, 3.333331e-1F);
    *f_ = f;
    *p_ = p * f;
    return e;
}

ALWAYS float log_edges(float x, float y)
{
    y = x == INFINITY ? INFINITY : y;
    y = x == 0.0F ? -INFINITY : y;
    return x < 0.0F || x != x ? NAN : y;
}

ALWAYS float m_log_f32(float x)
{
    float f, p, e = log_parts(x, &f, &p), z = f * f;
    float y = FMA_F32(p, z, e * -2.12194440e-4F);
    y = FMA_F32(z, -0.5F, y);
    return log_edges(x, FMA_F32(e, 0.693359375F, f + y));
}

/* e * step + (f - f^2 / 2 + f^2 p) * factor; both constants come in two parts. f's twelve upper bits times the upper part
 * of the factor is exact. */
ALWAYS float log_base(float x, float factor, float factor_low, float step, float step_low)
{
    float f, p, e = log_parts(x, &f, &p), z = f * f;
    float y = FMA_F32(p, z, -0.5F * z), high = bits_f32(f32_bits(f + y) & 0xfffff000U), low = (f - high) + y;
    float part = FMA_F32(low, factor, FMA_F32(e, step_low, (high + low) * factor_low));
    return log_edges(x, FMA_F32(e, step, high * factor) + part);
}

ALWAYS float m_log2_f32(float x)
{
    return log_base(x, 1.44287109F, -0.000176052854F, 1.0F, 0.0F);
}

ALWAYS float m_log10_f32(float x)
{
    return log_base(x, 0.434326172F, -3.16899714e-05F, 0.301025391F, 4.60503907e-06F);
}

ALWAYS float m_log1p_f32(float x)
{
    float u = 1.0F + x, y = m_log_f32(u) + (x - (u - 1.0F)) / u; /* what rounding 1 + x lost, to first order */
    y = u == 1.0F ? x : y;
    return x == INFINITY || x == -1.0F ? m_log_f32(u) : y;
}

ALWAYS float m_tanh_f32(float x)
{
    float a = x < 0.0F ? -x : x, z = x * x;
    float p = FMA_F32(-5.7095005e-3F, z, 2.064414e-2F);
    p = FMA_F32(p, z, -5.3741623e-2F);
    p = FMA_F32(p, z, 1.333147e-1F);
    p = FMA_F32(p, z, -3.3333284e-1F);
    float small = FMA_F32(p * z, x, x);
    a = a > 10.0F ? 10.0F : a;
    float large = 1.0F - 2.0F / (m_exp_f32(a + a) + 1.0F);
    large = x < 0.0F ? -large : large;
    float y = a < 0.625F ? small : large;
    return x != x || x == 0.0F ? x : y; /* -0 stays -0 */
}

/* Of -|x|, so that the power is no more than 1: e^x / (1 + e^x) = 1 / (1 + e^-x). */
ALWAYS float m_sigmoid_f32(float x)
{
    float e = m_exp_down_f32(-fabsf(x)), y = 1.0F / (1.0F + e);
    return x < 0.0F ? e * y : y;
}

/* Beyond this the three-part pi/2 runs out of digits; loops hand such elements to libm. */
#define TRIG_LIMIT 10000.0F

/* sin(x + quarter * pi/2) */
ALWAYS float sin_shifted(float x, int32_t quarter)
{
    float t = FMA_F32(x, 0.636619772F, ROUNDER), n = t - ROUNDER;
    float r = FMA_F32(n, -1.5703125F, x);
    r = FMA_F32(n, -4.837512969970703125e-4F, r);
    r = FMA_F32(n, -7.54978995489188216e-8F, r);
    int32_t q = (int32_t)(f32_bits(t) - f32_bits(ROUNDER)) + quarter;
    float z = r * r;
    float s = FMA_F32(2.7182373e-6F, z, -1.9839327e-4F);
    s = FMA_F32(s, z, 8.333329e-3F);
    s = FMA_F32(s, z, -1.6666667e-1F);
    s = FMA_F32(s * z, r, r);
    float c = FMA_F32(2.443773e-5F, z, -1.3887362e-3F);
    c = FMA_F32(c, z, 4.1666646e-2F);
    c = FMA_F32(c, z * z, FMA_F32(z, -0.5F, 1.0F));
    float y = q & 1 ? c : s;
    return q & 2 ? -y : y;
}

ALWAYS float m_sin_f32(float x)
{
    return x == 0.0F ? x : sin_shifted(x, 0); /* -0 stays -0 */
}

ALWAYS float m_cos_f32(float x)
{
    return sin_shifted(x, 1);
}

/* tan: as sin and cos, but with every part of pi/2 short enough that its product with n is exact: the quotient needs the
 * remainder's relative error small near multiples of pi/2. */
ALWAYS float m_tan_f32(float x)
{
    float t = FMA_F32(x, 0.636619772F, ROUNDER), n = t - ROUNDER;
    float r = x - n * 1.5703125F;
    r = r - n * 0.00048375129699707031F;
    r = r - n * 7.5495336204767227e-08F;
    r = FMA_F32(n, -2.56334407e-12F, r);
    int32_t q = (int32_t)(f32_bits(t) - f32_bits(ROUNDER));
    float z = r * r, p = FMA_F32(9.46642077e-3F, z, 2.97306133e-3F);
    p = FMA_F32(p, z, 2.45291212e-2F);
    p = FMA_F32(p, z, 5.33810137e-2F);
    p = FMA_F32(p, z, 1.3339203e-1F);
    p = FMA_F32(p, z, 3.33331394e-1F);
    float y = FMA_F32(p * z, r, r);
    y = q & 1 ? -1.0F / y : y;
    return x == 0.0F ? x : y; /* -0 stays -0 */
}

/* ---- inverse functions: sums of two parts, the first with what its rounding lost, so that only the last addition rounds
 * much. pi/2 = PIO2 + PIO2_LOW. ---- */

#define PIO2     1.57079637F
#define PIO2_LOW (-4.371139e-08F)

/* base + sign * first + tail, where |base| >= |first| or base is 0 */
ALWAYS float sum_of(float base, float first, float tail)
{
    float t = base + first;
    return t + (((base - t) + first) + tail);
}

/* What the root s of z lost: z = (s + this)^2. */
ALWAYS float root_rest(float s, float z)
{
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
    return s > 0.0F ? __builtin_fmaf(-s, s, z) / (s + s) : 0.0F;
#else
    float high = bits_f32(f32_bits(s) & 0xfffff000U), low = s - high;
    return s > 0.0F ? (((z - high * high) - 2.0F * high * low) - low * low) / (s + s) : 0.0F;
#endif
}

/* (asin(s) - s) / s for s = root of z, up to 1/2 */
ALWAYS float asin_tail(float z)
{
    float p = FMA_F32(3.75652127e-2F, z, 1.44025972e-2F);
    p = FMA_F32(p, z, 3.1817615e-2F);
    p = FMA_F32(p, z, 4.45157215e-2F);
    p = FMA_F32(p, z, 7.50051066e-2F);
    p = FMA_F32(p, z, 1.66666597e-1F);
    return p * z;
}

/* Above 1/2: asin(x) = pi/2 - 2 asin(s), s^2 = (1 - x) / 2. Beyond 1 the root is NaN. */
ALWAYS float m_asin_f32(float x)
{
    float a = fabsf(x);
    int big = a > 0.5F;
    float z = big ? 0.5F - 0.5F * a : a * a, s = big ? sqrtf(z) : a;
    float tail = s * asin_tail(z), rest = root_rest(s, z);
    float large = sum_of(PIO2, -2.0F * s, FMA_F32(-2.0F, tail + rest, PIO2_LOW));
    return copysignf(big ? large : s + tail, x);
}

ALWAYS float m_acos_f32(float x)
{
    float a = fabsf(x);
    int big = a > 0.5F;
    float z = big ? 0.5F - 0.5F * a : a * a, s = big ? sqrtf(z) : x;
    float tail = s * asin_tail(z), rest = tail + root_rest(s, z);
    float small = sum_of(PIO2, -s, PIO2_LOW - tail), left = sum_of(2.0F * PIO2, -2.0F * s, 2.0F * (PIO2_LOW - rest));
    float right = FMA_F32(2.0F, s, 2.0F * rest);
    return big ? x < 0.0F ? left : right : small;
}

/* The angle whose tangent is n / d, 0 <= n <= d: *base eighths of a turn (0 or 1), plus r, which is returned, plus *tail. From
 * 1/2 on it is that of (n - d) / (n + d), an eighth further: the difference is exact, and what the sum and the quotient lose
 * goes into the tail, but where d is 0 or infinite. */
ALWAYS float octant(float n, float d, float *base, float *tail)
{
    float scale = d > 1e38F ? 0.25F : 1.0F; /* n + d may be too large */
    n *= scale;
    d *= scale;
    int far = n >= 0.5F * d && n > 0.0F;
    float num = far ? n == d ? 0.0F : n - d : n, den = far ? d + n : d, low = far ? n - (den - d) : 0.0F;
    float r = den == 0.0F ? 0.0F : num / den, z = r * r;
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
    float rest = __builtin_fmaf(-r, low, __builtin_fmaf(-r, den, num)) / den;
#else
    float rest = (float)((double)num - (double)r * ((double)den + (double)low)) / den;
#endif
    rest = fabsf(rest) <= fabsf(r) ? rest : 0.0F;
    float p = FMA_F32(3.87232676e-2F, z, -7.98406452e-2F);
    p = FMA_F32(p, z, 1.09409831e-1F);
    p = FMA_F32(p, z, -1.42720789e-1F);
    p = FMA_F32(p, z, 1.99994892e-1F);
    p = FMA_F32(p, z, -3.33333284e-1F);
    *base = far ? 1.0F : 0.0F;
    *tail =
        FMA_F32(p * z, r, FMA_F32(-z, rest, rest)); /* atan' is 1 / (1 + z), near enough to 1 - z for what is lost */
    return r;
}

/* eighths * pi/4 + r + tail; pi/4 in two parts, of which the first has few enough digits */
ALWAYS float turned(float eighths, float r, float tail)
{
    return sum_of(eighths * 0.785398006F, r, FMA_F32(eighths, 1.56958239e-07F, tail));
}

ALWAYS float m_atan2_f32(float y, float x)
{
    float a = fabsf(x), b = fabsf(y), base, tail, r = octant(a > b ? b : a, a > b ? a : b, &base, &tail);
    int steep = b > a, left = (int32_t)f32_bits(x) < 0, less = steep != left; /* less: the angle is taken off */
    float from = steep ? 2.0F : left ? 4.0F : 0.0F;
    float angle = turned(less ? from - base : from + base, less ? -r : r, less ? -tail : tail);
    return x != x || y != y ? x + y : copysignf(angle, y);
}

ALWAYS float m_atan_f32(float x)
{
    float a = fabsf(x), base, tail;
    int steep = a > 1.0F;
    float r = octant(steep ? 1.0F : a, steep ? a : 1.0F, &base, &tail);
    float y = turned(steep ? 2.0F - base : base, steep ? -r : r, steep ? -tail : tail);
    return x != x ? x : copysignf(y, x);
}

/* ---- functions of double for results of float: relative errors below 1e-11. op/special.h calls them MW(f). ---- */

ALWAYS double bits_f64(uint64_t u)
{
    double d;
    memcpy(&d, &u, 8);
    return d;
}

ALWAYS uint64_t f64_bits(double d)
{
    uint64_t u;
    memcpy(&u, &d, 8);
    return u;
}

/* As ROUNDER, of |x| < 2^51. */
#define ROUNDER_F64 6755399441055744.0

/* Whole numbers of |a| < 2^51 as doubles, and back, which loops do before AVX-512, too. */
ALWAYS double whole_f64(int64_t a)
{
    return bits_f64((uint64_t)a + UINT64_C(0x4338000000000000)) - ROUNDER_F64;
}

ALWAYS int64_t f64_whole(double a)
{
    return (int64_t)(f64_bits(a + ROUNDER_F64) - UINT64_C(0x4338000000000000));
}

ALWAYS double wide_rint(double x)
{
    double y = (x + ROUNDER_F64) - ROUNDER_F64;
    return fabs(x) < 2251799813685248.0 ? y : x;
}

/* Taylor's series of the remainder; beyond the range what is no float either. */
ALWAYS double wide_exp(double x)
{
    x = x > 709.0 ? 709.0 : x;   /* NaN passes both tests by */
    x = x < -350.0 ? -350.0 : x; /* products with it stay normal numbers, which take a tenth of the time */
    double t = FMA_F64(x, 1.44269504088896338700, ROUNDER_F64), n = t - ROUNDER_F64;
    double r = FMA_F64(n, -1.90821492927058770002e-10, FMA_F64(n, -6.93147180369123816490e-01, x));
    double p = FMA_F64(2.7557319223985891e-6, r, 2.4801587301587302e-5);
    p = FMA_F64(p, r, 1.9841269841269841e-4);
    p = FMA_F64(p, r, 1.3888888888888889e-3);
    p = FMA_F64(p, r, 8.3333333333333333e-3);
    p = FMA_F64(p, r, 4.1666666666666667e-2);
    p = FMA_F64(p, r, 1.6666666666666667e-1);
    p = FMA_F64(p, r, 0.5);
    p = FMA_F64(p, r, 1.0);
    p = FMA_F64(p, r, 1.0);
    return p * bits_f64((f64_bits(t) << 52) + (UINT64_C(1023) << 52));
}

/* x = 2^e m, m from root 1/2 to root 2; log m = 2 artanh((m - 1) / (m + 1)). Subnormal numbers are no floats. */
ALWAYS double wide_log(double x)
{
    uint64_t u = f64_bits(x) + UINT64_C(0x00095f619980c433);
    double e = bits_f64((u >> 52) | UINT64_C(0x4330000000000000)) - 4503599627371519.0;
    double m = bits_f64((u & UINT64_C(0x000fffffffffffff)) + UINT64_C(0x3fe6a09e667f3bcd));
    double s = (m - 1.0) / (m + 1.0), z = s * s;
    double p = FMA_F64(1.5384615384615385e-1, z, 1.8181818181818182e-1);
    p = FMA_F64(p, z, 2.2222222222222222e-1);
    p = FMA_F64(p, z, 2.8571428571428571e-1);
    p = FMA_F64(p, z, 4.0e-1);
    p = FMA_F64(p, z, 6.6666666666666667e-1);
    double y = FMA_F64(e, 0.69314718055994530942, FMA_F64(p * z, s, 2.0 * s));
    y = x == (double)INFINITY ? (double)INFINITY : y;
    y = x == 0.0 ? -(double)INFINITY : y;
    return x < 0.0 || x != x ? (double)NAN : y;
}

/* What 1 + x loses is put back. */
ALWAYS double wide_log1p(double x)
{
    double v = 1.0 + x, y = wide_log(v), rest = (x - (v - 1.0)) / v;
    y = fabs(rest) < 1.0 ? y + rest : y;
    return x == 0.0 ? x : y;
}

/* Less a multiple of pi, which has 106 digits here: enough for what is not near 0 once it is divided by x. Taylor's series. */
ALWAYS double wide_sin(double x)
{
    double n = wide_rint(x * 0.31830988618379067154), half = 0.5 * n;
    x = FMA_F64(n, -1.2246467991473532e-16, FMA_F64(n, -3.1415926535897931, x));
    x = wide_rint(half) == half ? x : -x;
    double z = x * x, p = FMA_F64(-7.6471637318198165e-13, z, 1.6059043836821614e-10);
    p = FMA_F64(p, z, -2.5052108385441719e-8);
    p = FMA_F64(p, z, 2.7557319223985891e-6);
    p = FMA_F64(p, z, -1.9841269841269841e-4);
    p = FMA_F64(p, z, 8.3333333333333333e-3);
    p = FMA_F64(p, z, -1.6666666666666667e-1);
    return FMA_F64(p * z, x, x);
}

ALWAYS float m_hypot_f32(float a, float b)
{
    double x = (double)a, y = (double)b;
    float r = (float)sqrt(x * x + y * y);
    return fabsf(a) == INFINITY || fabsf(b) == INFINITY ? INFINITY : r;
}

ALWAYS float m_asinh_f32(float x)
{
    double a = fabs((double)x), u = a + a * a / (1.0 + sqrt(FMA_F64(a, a, 1.0)));
    return x == 0.0F || a == (double)INFINITY ? x : copysignf((float)wide_log1p(u), x);
}

ALWAYS float m_acosh_f32(float x)
{
    double u = (double)x - 1.0;
    return u < 0.0 ? NAN : (float)wide_log1p(u + sqrt(u * (u + 2.0)));
}

ALWAYS float m_atanh_f32(float x)
{
    double a = fabs((double)x), y = 0.5 * wide_log1p(2.0 * a / (1.0 - a));
    return x == 0.0F ? x : copysignf((float)y, x);
}

/* log gamma(y) / ((y - 1) (y - 2)) for y from 1 to 3, s = y - 2 */
ALWAYS double lgamma_quotient(double s)
{
    double p = 1.1660443077756478e-06;
    p = FMA_F64(p, s, -2.449431116074312e-06);
    p = FMA_F64(p, s, 2.0345105469746178e-07);
    p = FMA_F64(p, s, -4.892146044701243e-07);
    p = FMA_F64(p, s, 9.851317705107945e-06);
    p = FMA_F64(p, s, -2.1069867673657713e-05);
    p = FMA_F64(p, s, 3.726165923978742e-05);
    p = FMA_F64(p, s, -8.119753686100794e-05);
    p = FMA_F64(p, s, 0.00018283370421637044);
    p = FMA_F64(p, s, -0.0004062952108244314);
    p = FMA_F64(p, s, 0.0009153312963726914);
    p = FMA_F64(p, s, -0.0021080354202493846);
    p = FMA_F64(p, s, 0.0049986444619814765);
    p = FMA_F64(p, s, -0.012384199088411981);
    p = FMA_F64(p, s, 0.03296500055213166);
    p = FMA_F64(p, s, -0.10031730153001821);
    p = FMA_F64(p, s, 0.42278433509846713);
    return p;
}

/* log gamma(a), of a >= 1: from 3 on Stirling's series, at 8 or more; then *factor is what is to be divided by. */
ALWAYS double lgamma_right(double a, double *factor)
{
    double w = a < 8.0 ? a + 5.0 : a, i = 1.0 / w, v = i * i;
    double s = FMA_F64(v, 8.4175084175084175e-4, -5.9523809523809524e-4);
    s = FMA_F64(s, v, 7.9365079365079365e-4);
    s = FMA_F64(s, v, -2.7777777777777778e-3);
    s = FMA_F64(s, v, 8.3333333333333333e-2);
    double large = FMA_F64(w - 0.5, wide_log(w), FMA_F64(s, i, 0.91893853320467274178 - w));
    double product = a * (a + 1.0) * (a + 2.0) * ((a + 3.0) * (a + 4.0));
    *factor = a >= 3.0 && a < 8.0 ? product : 1.0;
    return a < 3.0 ? (a - 1.0) * (a - 2.0) * lgamma_quotient(a - 2.0) : large;
}

/* Below 1 by gamma(a + 1) = a gamma(a), of negative numbers by gamma(a) gamma(-a) = -pi / (a sin(pi a)). */
ALWAYS float m_lgamma_f32(float x)
{
    double a = fabs((double)x), factor, y = lgamma_right(a < 1.0 ? a + 1.0 : a, &factor);
    factor = a < 1.0 ? a : factor;
    double wave = fabs(wide_sin(3.14159265358979323846 * (a - wide_rint(a))));
    double part = wide_log(x < 0.0F ? factor * 3.14159265358979323846 / (a * wave) : factor);
    return a == (double)INFINITY ? INFINITY : (float)(x < 0.0F ? part - y : y - part) + 0.0F; /* no -0 */
}

#define wide_fabs   fabs
#define wide_sqrt   sqrt
#define wide_pow    pow
#define wide_lgamma lgamma
#define wide_erfc   erfc
#define wide_floor  floor

/* ---- remainders: exact where |a / b| < FMOD_LIMIT; loops hand the other elements to libm ---- */

#define FMOD_LIMIT 4194304.0F

/* n = trunc(a / b) may be one too large, where the quotient was rounded up; else a - n b is the remainder, exactly. */
ALWAYS float m_fmod_f32(float a, float b)
{
    float n = truncf(a / b);
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
    float r = __builtin_fmaf(-n, b, a);
#else
    float r = (float)((double)a - (double)n * (double)b);
#endif
    r = n == 0.0F ? a : r;
    r = r != 0.0F && (int32_t)(f32_bits(r) ^ f32_bits(a)) < 0 ? r + copysignf(b, a) : r;
    return copysignf(r, a);
}

/* ---- exponents and neighbours ---- */

/* Of 0 -infinity, of infinity infinity. */
ALWAYS float m_logb_f32(float a)
{
    const float size = fabsf(a), small = size * 33554432.0F; /* 2^25 */
    const bool subnormal = size < 1.17549435e-38F;
    float e = (float)((int32_t)(f32_bits(subnormal ? small : size) >> 23) - (subnormal ? 152 : 127));
    e = size == 0.0F ? -INFINITY : e;
    return size < INFINITY ? e : size;
}

/* In three steps, none of which is beyond the exponents of float; a subnormal result may have been rounded twice. */
ALWAYS float m_ldexp_f32(float a, int n)
{
    n = n < -300 ? -300 : n;
    n = n > 300 ? 300 : n;
    const int third = n / 3;
    return a * power_of_2(third) * power_of_2(third) * power_of_2(n - 2 * third);
}

/* Floats of one sign follow one another as their bits do. */
ALWAYS float m_nextafter_f32(float a, float b)
{
    const uint32_t u = f32_bits(a), away = (a < b) == (a > 0.0F) ? u + 1U : u - 1U;
    const uint32_t next = a == 0.0F ? (f32_bits(b) & 0x80000000U) | 1U : away;
    const float moved = a == b ? b : bits_f32(next);
    return a != a || b != b ? a + b : moved;
}

/* ---- 16-bit floats; the same results as core/dtype.c ---- */

ALWAYS float half_f32(uint16_t h)
{
    uint32_t m = (uint32_t)(h & 0x7fff) << 13;
    float f = bits_f32(m) * 5.192296858534828e33F; /* 2^112 moves the exponent, subnormals included */
    uint32_t u = f32_bits(f) | ((h & 0x7c00) == 0x7c00 ? 0x7f800000U : 0U);
    return bits_f32(u | (uint32_t)(h & 0x8000) << 16);
}

ALWAYS uint16_t f32_half(float f)
{
    uint32_t u = f32_bits(f), sign = u >> 16 & 0x8000U, a = u & 0x7fffffffU;
    uint32_t small = f32_bits(bits_f32(a) + 0.5F) - 0x3f000000U;
    uint32_t normal = (a + 0xc8000fffU + (a >> 13 & 1U)) >> 13;
    uint32_t h = a < 0x38800000U ? small : normal;
    h = a >= 0x47800000U ? 0x7c00U : h;
    h = a > 0x7f800000U ? 0x7e00U | (a >> 13 & 0x3ffU) : h;
    return (uint16_t)(sign | h);
}

ALWAYS float bf16_f32(uint16_t h)
{
    return bits_f32((uint32_t)h << 16);
}

/* What is added to the bits: of numbers what rounds to nearest even, of NaN the quiet bit. By a mask: gcc would choose between
 * results of 16 bits, and pack each side for itself. */
ALWAYS uint16_t f32_bf16(float f)
{
    const uint32_t u = f32_bits(f), up = 0x7fffU + (u >> 16 & 1U), quiet = ~u & 0x400000U, number = -(uint32_t)(f == f);
    return (uint16_t)((u + (quiet ^ ((quiet ^ up) & number))) >> 16);
}

/* Float to integer: truncated, saturated, NaN is 0 (core/dtype.c states the same rule for one element). */
ALWAYS int32_t saturate_f32_i32(float v)
{
    float w = v < -2147483648.0F ? -2147483648.0F : v;
    int32_t i = w < 2147483648.0F ? (int32_t)w : INT32_MAX;
    return v != v ? 0 : i;
}

ALWAYS int32_t saturate_f64_i32(double v)
{
    double w = v < -2147483648.0 ? -2147483648.0 : v;
    int32_t i = w < 2147483648.0 ? (int32_t)w : INT32_MAX;
    return v != v ? 0 : i;
}

ALWAYS int64_t saturate_f64_i64(double v)
{
    double w = v < -9223372036854775808.0 ? -9223372036854775808.0 : v;
    int64_t i = w < 9223372036854775808.0 ? (int64_t)w : INT64_MAX;
    return v != v ? 0 : i;
}

ALWAYS int64_t saturate_f32_i64(float v)
{
    return saturate_f64_i64((double)v);
}
