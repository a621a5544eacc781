/* backend/cpu/math_narrow.inc.h: math functions of floats for results of bfloat16, whose 8 digits a relative error of 1e-5 moves
 * by a hundredth of half a unit: M(f) of the rows' lines 'narrow'. Polynomials as in math.inc.h. */

/* e^y, with q = e^(r / 2) and t = n + ROUNDER of y = n 2 log 2 + r: its root squared, of which neither the root nor its power of
 * 2 is beyond the exponents of float. */
ALWAYS float narrow_power(float q, float t)
{
    const float root = bits_f32(f32_bits(q) + (f32_bits(t) << 23));
    return root * root;
}

/* e^(r / 2), |r| <= log 2 */
ALWAYS float narrow_root(float r)
{
    float q = FMA_F32(2.59301713e-4F, r, 2.61971145e-3F);
    q = FMA_F32(q, r, 2.08344683e-2F);
    q = FMA_F32(q, r, 1.24997236e-1F);
    q = FMA_F32(q, r, 4.99999851e-1F);
    return FMA_F32(q, r, 1.0F);
}

/* x in -1000 .. 90, or NaN */
ALWAYS float narrow_exp(float x)
{
    const float t = FMA_F32(x, 0.72134752F, ROUNDER), n = t - ROUNDER;
    return narrow_power(narrow_root(FMA_F32(n, -1.38629436F, x)), t);
}

ALWAYS float m_exp_narrow(float x)
{
    x = x > 89.0F ? 89.0F : x; /* NaN passes both tests by */
    return narrow_exp(x < -104.0F ? -104.0F : x);
}

ALWAYS float m_exp2_narrow(float x)
{
    x = x > 129.0F ? 129.0F : x;
    x = x < -151.0F ? -151.0F : x;
    const float t = FMA_F32(x, 0.5F, ROUNDER), n = t - ROUNDER;
    return narrow_power(narrow_root(0.693147181F * FMA_F32(n, -2.0F, x)), t);
}

/* Beyond 2.25 it is nearer to 1 than to the number below. */
ALWAYS float m_erf_narrow(float x)
{
    float a = x > 2.25F ? 2.25F : x;
    a = a < -2.25F ? -2.25F : a;
    float z = a * a, p = FMA_F32(1.93807594e-7F, z, -5.84839654e-6F);
    p = FMA_F32(p, z, 8.29445271e-5F);
    p = FMA_F32(p, z, -7.54598994e-4F);
    p = FMA_F32(p, z, 5.05811023e-3F);
    p = FMA_F32(p, z, -2.67061964e-2F);
    p = FMA_F32(p, z, 1.12758294e-1F);
    p = FMA_F32(p, z, -3.76110673e-1F);
    return a * FMA_F32(p, z, 1.12837863F);
}

/* m_normcdf_f32, with fewer terms. Of 15 e^(-a^2 / 2) is 0. */
ALWAYS float m_normcdf_narrow(float x)
{
    float a = fabsf(x);
    a = a > 15.0F ? 15.0F : a;
    const float u = 1.0F / FMA_F32(0.2F, a, 1.0F);
    float p = FMA_F32(0.279094279F, u, -0.386826277F);
    p = FMA_F32(p, u, 0.446939677F);
    p = FMA_F32(p, u, -0.123186506F);
    p = FMA_F32(p, u, 0.132537127F);
    p = FMA_F32(p, u, 0.0710921288F);
    p = FMA_F32(p, u, 0.0803501904F);
    const float y = p * u * narrow_exp(-0.5F * (a * a));
    return x > 0.0F ? 1.0F - y : y;
}

/* x = 2^e (1 + f), not subnormal: returns e, and *f. */
ALWAYS float narrow_parts(float x, float *f)
{
    const uint32_t v = f32_bits(x) - 0x3f3504f3U; /* sqrt(1/2) */
    *f = bits_f32((v & 0x007fffffU) + 0x3f3504f3U) - 1.0F;
    return (float)((int32_t)v >> 23);
}

/* e log 2 + log(1 + f) */
ALWAYS float narrow_log(float e, float f)
{
    float p = FMA_F32(-1.01068839e-1F, f, 1.62225753e-1F);
    p = FMA_F32(p, f, -1.72508314e-1F);
    p = FMA_F32(p, f, 1.99001655e-1F);
    p = FMA_F32(p, f, -2.49699086e-1F);
    p = FMA_F32(p, f, 3.33350599e-1F);
    p = FMA_F32(p, f, -5.00003636e-1F);
    p = FMA_F32(p, f, 1.0F);
    return FMA_F32(e, 0.693147181F, p * f);
}

ALWAYS float m_log_narrow(float x)
{
    const bool tiny = x < 1.17549435e-38F; /* 2^23 x is no longer subnormal */
    float f, e = narrow_parts(x * (tiny ? 8388608.0F : 1.0F), &f);
    return log_edges(x, narrow_log(e - (tiny ? 23.0F : 0.0F), f));
}

ALWAYS float m_log2_narrow(float x)
{
    return 1.44269504F * m_log_narrow(x);
}

ALWAYS float m_log10_narrow(float x)
{
    return 0.434294482F * m_log_narrow(x);
}

/* Where 1 + x is near 1, f is x itself. */
ALWAYS float m_log1p_narrow(float x)
{
    float u = 1.0F + x, f, e = narrow_parts(u, &f);
    const float y = narrow_log(e, e == 0.0F ? x : f);
    return x == 0.0F ? x : log_edges(u, y); /* -0 stays -0 */
}

/* The result's error is that of b log |a|, less than 128 units of 2^-24. */
ALWAYS float m_pow_narrow(float a, float b)
{
    const float size = a == 0.0F ? 1.0F : fabsf(a);
    const bool tiny = size < 1.17549435e-38F;
    float f, e = narrow_parts(size * (tiny ? 8388608.0F : 1.0F), &f) - (tiny ? 23.0F : 0.0F);
    return power_edges_f32(a, b, m_exp_narrow(b * narrow_log(e, f)));
}

#define m_fabs_narrow fabsf
#define m_sqrt_narrow sqrtf
