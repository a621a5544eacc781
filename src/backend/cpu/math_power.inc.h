/* backend/cpu/math_power.inc.h: powers, and the exponential function of doubles, for loops, as in math.inc.h. Where there is no
 * fused product libm's functions of doubles are faster than loops are. */

/* y = |a|^b, but of a that is infinite, 0 (1 takes its place: subnormal powers take long) or NaN: what it is there, and its sign.
 * A float from 2^23 on is whole. */
ALWAYS float power_edges_f32(float a, float b, float y)
{
    const float size = fabsf(a), power = fabsf(b), half = 0.5F * power;
    const float far = (b < 0.0F) == (size == 0.0F) ? INFINITY : 0.0F;
    const bool whole = (power >= 8388608.0F) | ((power + 8388608.0F) - 8388608.0F == power);
    const bool even = (half >= 8388608.0F) | ((half + 8388608.0F) - 8388608.0F == half);
    y = ((size == 0.0F) | (size == INFINITY)) ? far : y;
    y = size == 1.0F ? 1.0F : y;
    const float broken = ((a < 0.0F) & (size < INFINITY)) ? NAN : y, odd = copysignf(y, a);
    y = whole ? even ? y : odd : broken;
    y = ((a != a) | (b != b)) ? a + b : y;
    return ((a == 1.0F) | (b == 0.0F)) ? 1.0F : y;
}

/* e^(b log |a|), both functions by polynomials in double, to 1e-10. */
ALWAYS float m_pow_f32(float a, float b)
{
    const float size = a == 0.0F ? 1.0F : fabsf(a), tiny = size < 1.17549435e-38F ? 8388608.0F : 1.0F;
    const uint32_t v = f32_bits(size * tiny) - 0x3f3504f3U;
    const double f = (double)(bits_f32((v & 0x007fffffU) + 0x3f3504f3U) - 1.0F);
    const double e = (double)((float)((int32_t)v >> 23) - (tiny == 1.0F ? 0.0F : 23.0F));
    double p = FMA_F64(5.2358885169237831845e-2, f, -9.8044200677862027697e-2);
    p = FMA_F64(p, f, 1.0047205111888933e-1);
    p = FMA_F64(p, f, -9.9459961867196613162e-2);
    p = FMA_F64(p, f, 1.1006038270379548e-1);
    p = FMA_F64(p, f, -1.2495435324995145e-1);
    p = FMA_F64(p, f, 1.4290811739438990306e-1);
    p = FMA_F64(p, f, -1.6667024572009080e-1);
    p = FMA_F64(p, f, 1.9999888139969376e-1);
    p = FMA_F64(p, f, -2.4999992728449305e-1);
    p = FMA_F64(p, f, 3.3333334249206593e-1);
    p = FMA_F64(p, f, -5.0000000035951704673e-1);
    p = FMA_F64(p, f, 9.9999999998746515e-1);
    double x = FMA_F64(e, 0.69314718055994530942, p * f) * (double)b;
    x = x > 90.0 ? 90.0 : x;
    x = x < -110.0 ? -110.0 : x;
    double t = FMA_F64(x, 1.44269504088896338700, ROUNDER_F64), n = t - ROUNDER_F64;
    double r = FMA_F64(n, -0.69314718055994530942, x);
    double q = FMA_F64(1.99075693108482892e-4, r, 1.3948578326459795968e-3);
    q = FMA_F64(q, r, 8.3332835387085270e-3);
    q = FMA_F64(q, r, 4.1666218319291946863e-2);
    q = FMA_F64(q, r, 1.6666666786308586202e-1);
    q = FMA_F64(q, r, 5.000000107729165e-1);
    q = FMA_F64(q, r, 9.9999999999550904e-1);
    q = FMA_F64(q, r, 9.9999999995956175e-1);
    return power_edges_f32(a, b, (float)bits_f64(f64_bits(q) + (f64_bits(t) << 52)));
}

#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)

/* x + more = n log 2 + r + *rest; n is the whole number in *t's low bits. */
ALWAYS double exp_remainder(double x, double more, double *t, double *rest)
{
    *t = FMA_F64(x, 1.44269504088896338700, ROUNDER_F64);
    const double n = *t - ROUNDER_F64, a = FMA_F64(n, -6.93147180369123816490e-01, x);
    const double low = FMA_F64(n, -1.90821492927058770002e-10, more), r = a + low;
    *rest = (a - r) + low;
    return r;
}

/* e^(r + rest) - 1 - r, of |r| up to 0.35 */
ALWAYS double exp_tail(double r, double rest)
{
    double q = FMA_F64(2.09146793765839351e-9, r, 2.5105206373957011116e-8);
    q = FMA_F64(q, r, 2.7557273661348636219e-7);
    q = FMA_F64(q, r, 2.7557255425746434282e-6);
    q = FMA_F64(q, r, 2.4801587325533363819e-5);
    q = FMA_F64(q, r, 1.9841269874800491981e-4);
    q = FMA_F64(q, r, 1.3888888888883752417e-3);
    q = FMA_F64(q, r, 8.333333333326140884e-3);
    q = FMA_F64(q, r, 4.1666666666666669752e-2);
    q = FMA_F64(q, r, 1.6666666666666670986e-1);
    q = FMA_F64(q, r, 0.5);
    return FMA_F64(q, r * r, rest);
}

/* y 2^(n + shift), n the whole number in t's low bits, in two steps: the result may be subnormal, and 2^n no double. */
ALWAYS double times_power(double y, double t, int shift)
{
    const double h = FMA_F64(t - ROUNDER_F64, 0.5, ROUNDER_F64);
    const double first = bits_f64((f64_bits(h) << 52) + (UINT64_C(1023) << 52));
    return y * first * bits_f64(((f64_bits(t) - f64_bits(h)) << 52) + ((uint64_t)(1023 + shift) << 52));
}

/* e^(x + more) 2^shift, x in -800 .. 720 or NaN, |more| < 1. e^r = one + tail: 1 + r is taken apart exactly, so that only the
 * last addition rounds much. */
ALWAYS double exp_sum(double x, double more, int shift)
{
    double t, rest, r = exp_remainder(x, more, &t, &rest), one = 1.0 + r;
    return times_power(one + (exp_tail(r, rest) + (r - (one - 1.0))), t, shift);
}

ALWAYS double m_exp_f64(double x)
{
    x = x > 710.0 ? 710.0 : x; /* NaN passes both tests by */
    return exp_sum(x < -746.0 ? -746.0 : x, 0.0, 0);
}

/* a = 2^*e m, m from root 1/2 to root 2, which is returned; subnormal numbers, too. */
ALWAYS double log_mantissa(double a, double *e)
{
    const double tiny = a < 2.2250738585072014e-308 ? 18014398509481984.0 : 1.0;
    const uint64_t u = f64_bits(a * tiny) + UINT64_C(0x00095f619980c433);
    const double whole = bits_f64((u >> 52) | UINT64_C(0x4330000000000000)) - 4503599627371519.0;
    *e = tiny == 1.0 ? whole : whole - 54.0;
    return bits_f64((u & UINT64_C(0x000fffffffffffff)) + UINT64_C(0x3fe6a09e667f3bcd));
}

/* Q(z) of log m = 2 s + s^3 (2/3 + 2 z Q(z)), s = (m - 1) / (m + 1), z = s^2 */
ALWAYS double log_series(double z)
{
    double q = FMA_F64(5.3811457093143224346e-2, z, 5.2281709727126426412e-2);
    q = FMA_F64(q, z, 5.8834062330574734841e-2);
    q = FMA_F64(q, z, 6.6666482747861816892e-2);
    q = FMA_F64(q, z, 7.6923078804887319471e-2);
    q = FMA_F64(q, z, 9.0909090898291237517e-2);
    q = FMA_F64(q, z, 1.1111111111114212696e-1);
    q = FMA_F64(q, z, 1.4285714285714282288e-1);
    q = FMA_F64(q, z, 2.0000000000000000001e-1);
    return q;
}

/* log a in two parts, of 67 digits. a = 2^e m, m from root 1/2 to root 2, log m = 2 artanh(s) = 2 s + s^3 (2/3 + 2 z Q(z)), with
 * s = (m - 1) / (m + 1) and z = s^2: each in two parts, but Q. */
ALWAYS double log_two(double a, double *low)
{
    double e, m = log_mantissa(a, &e), f = m - 1.0, g = m + 1.0, rest = m - (g - 1.0), inverse = 1.0 / g;
    double s = f * inverse, s_low = FMA_F64(-s, rest, FMA_F64(-s, g, f)) * inverse;
    double z = s * s, z_low = FMA_F64(s, s, -z) + 2.0 * s * s_low;
    double w = 2.0 * z * log_series(z), third = 0.66666666666666662966;
    double p = third + w, p_low = (third - p) + w + 3.7007434154171882626e-17;
    double c = s * z, c_low = FMA_F64(s, z, -c) + FMA_F64(s, z_low, s_low * z);
    double d = c * p, d_low = FMA_F64(c, p, -d) + FMA_F64(c, p_low, c_low * p);
    double y = 2.0 * s + d, y_low = (2.0 * s - y) + d + FMA_F64(2.0, s_low, d_low);
    double big = e * 6.93147180369123816490e-01, sum = big + y;
    double sum_low = (big - sum) + y + FMA_F64(e, 1.90821492927058770002e-10, y_low);
    double h = sum + sum_low;
    *low = (sum - h) + sum_low;
    return h;
}

/* power_edges_f32 of doubles, which are whole from 2^52 on. */
ALWAYS double power_edges_f64(double a, double b, double y)
{
    const double size = fabs(a), power = fabs(b), half = 0.5 * power;
    const double far = (b < 0.0) == (size == 0.0) ? (double)INFINITY : 0.0;
    const int64_t whole = (power >= 4503599627370496.0) | ((power + 4503599627370496.0) - 4503599627370496.0 == power);
    const int64_t even = (half >= 4503599627370496.0) | ((half + 4503599627370496.0) - 4503599627370496.0 == half);
    y = ((size == 0.0) | (size == (double)INFINITY)) ? far : y;
    y = size == 1.0 ? 1.0 : y;
    const double broken = ((a < 0.0) & (size < (double)INFINITY)) ? (double)NAN : y, odd = copysign(y, a);
    y = whole ? even ? y : odd : broken;
    y = ((a != a) | (b != b)) ? a + b : y;
    return ((a == 1.0) | (b == 0.0)) ? 1.0 : y;
}

ALWAYS double m_pow_f64(double a, double b)
{
    double low, h = log_two(a == 0.0 ? 1.0 : fabs(a), &low), x = h * b, x_low = FMA_F64(b, h, -x) + b * low;
    x = x > 720.0 ? 720.0 : x;
    x = x < -760.0 ? -760.0 : x;
    x_low = fabs(x_low) < 1.0 ? x_low : 0.0; /* of what is too large it is NaN */
    return power_edges_f64(a, b, exp_sum(x, x_low, 0));
}

/* e^x of x <= 0 or NaN within 1 ulp: fewer steps. */
ALWAYS double m_exp_down_f64(double x)
{
    double t = FMA_F64(x, 1.44269504088896338700, ROUNDER_F64), n = t - ROUNDER_F64;
    double r = FMA_F64(n, -1.90821492927058770002e-10, FMA_F64(n, -6.93147180369123816490e-01, x));
    double y = 1.0 + exp_tail(r, r);
    y *= bits_f64((f64_bits(t) << 52) + (UINT64_C(1087) << 52)); /* 2^64 too large, as it may be subnormal */
    return x < -746.0 ? 0.0 : y * 0x1p-64;                       /* further down y is anything */
}

#else
#define m_exp_f64      exp
#define m_pow_f64      pow
#define m_exp_down_f64 exp
#endif

/* As that of floats. */
ALWAYS double m_sigmoid_f64(double x)
{
    double e = m_exp_down_f64(-fabs(x)), y = 1.0 / (1.0 + e);
    return x < 0.0 ? e * y : y;
}
