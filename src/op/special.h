/* op/special.h: the special functions of the list's expressions, SPECIAL(name)(a, b): read after op/element.h, for one compute
 * type, by the same rules. GPUs read it with rows that name one.
 *
 * They compute in TW: double where the result is the CPU's float, so that sums that cancel keep its digits, else T.
 *   KW(x)  the literal x as TW     MW(f)  the math function f of TW     FMAW(a, b, c)  a * b + c, rounded once where that is fast
 *   TN_NARROW  1 where 24 digits are wanted     TN_SPARE  1 where TW has more than T
 * What has no loop has no branch, so that loops over it become vectors. Formulas: Abramowitz & Stegun, Handbook of Mathematical
 * Functions (numbers in comments), but where another source stands. No include guard: the CPU reads it once per type. */
#define SPECIAL(name) E(tn_##name)
#ifndef DEVICE_LOOP
#define DEVICE_LOOP DEVICE
#endif
#ifndef LOOP_POW
#define LOOP_POW MW(pow)
#endif

#if TN_IS_FLOAT
#include "special_fits.h"

#define TN_PI KW(3.14159265358979323846)

/* ---- sines of multiples of pi ---- */

DEVICE TW E(tn_sin_pi)(TW x)
{
    const TW n = MW(rint)(x), s = MW(sin)(TN_PI * (x - n));
    return KW(2) * MW(rint)(KW(0.5) * n) == n ? s : -s;
}

DEVICE TW E(tn_cos_pi)(TW x)
{
    const TW n = MW(rint)(x), c = MW(sin)(TN_PI * (KW(0.5) - MW(fabs)(x - n)));
    return KW(2) * MW(rint)(KW(0.5) * n) == n ? c : -c;
}

DEVICE T E(tn_sinc)(T a)
{
    const TW x = a;
    return a == K(0) ? K(1) : (T)(E(tn_sin_pi)(x) / (TN_PI * x));
}

/* pi (cos(x) - sin(x) / x) / x of x = pi a; near 0, where that cancels, its power series */
DEVICE T E(tn_sinc_slope)(T a)
{
    const TW x = TN_PI * (TW)a, s = E(tn_sin_pi)((TW)a), c = E(tn_cos_pi)((TW)a), v = x * x;
    TW p = KW(-1.4797143443923793e-16); /* (-1)^k 2k / (2k + 1)!, k = 9 .. 1 */
    p = FMAW(p, v, KW(4.4983316069528332e-14));
    p = FMAW(p, v, KW(-1.0706029224547743e-11));
    p = FMAW(p, v, KW(1.9270852604185938e-9));
    p = FMAW(p, v, KW(-2.5052108385441719e-7));
    p = FMAW(p, v, KW(2.2045855379188713e-5));
    p = FMAW(p, v, KW(-1.1904761904761905e-3));
    p = FMAW(p, v, KW(3.3333333333333333e-2));
    p = FMAW(p, v, KW(-0.33333333333333333));
    return v < KW(1) ? (T)(TN_PI * x * p) : (T)((c - s / x) / (TW)a);
}

/* ---- gamma's derivatives: moved by 8 to where the asymptotic series (6.3.18, 6.4.12) holds, and to the positive numbers by
 * reflection (6.3.7, 6.4.7). With t = z (z + 7), (z + k)(z + 7 - k) is t, t + 6, t + 10, t + 12. ---- */

DEVICE TW E(tn_digamma_right)(TW z)
{
    const TW t = z * (z + KW(7)), p = t * (t + KW(6)), q = (t + KW(10)) * (t + KW(12));
    const TW moved = (z + z + KW(7)) * ((KW(2) * t + KW(6)) * q + (KW(2) * t + KW(22)) * p) / (p * q);
    const TW w = z < KW(8) ? z + KW(8) : z, i = KW(1) / w, v = i * i;
    TW s = KW(3.0539543302701197);
    s = FMAW(s, -v, KW(0.44325980392156863));
    s = FMAW(s, -v, KW(0.083333333333333333));
    s = FMAW(s, -v, KW(0.021092796092796093));
    s = FMAW(s, -v, KW(0.0075757575757575758));
    s = FMAW(s, -v, KW(0.0041666666666666667));
    s = FMAW(s, -v, KW(0.0039682539682539683));
    s = FMAW(s, -v, KW(0.0083333333333333333));
    s = FMAW(s, -v, KW(0.083333333333333333));
    s = MW(log)(w) - (KW(0.5) * i + v * s);
    return z < KW(8) ? s - moved : s;
}

DEVICE T E(tn_digamma)(T a)
{
    const TW x = a, r = x - MW(rint)(x), size = MW(fabs)(r);
    const TW cot = MW(sin)(TN_PI * (KW(0.5) - size)) / MW(sin)(TN_PI * r);
    const TW y = E(tn_digamma_right)(x < KW(0) ? KW(1) - x : x), z = x < KW(0) ? y - TN_PI * cot : y;
    const T pole = a == K(0) ? M(copysign)(TN_INFINITY, -a) : TN_INFINITY - TN_INFINITY;
    return a <= K(0) && size == KW(0) ? pole : (T)z;
}

DEVICE T E(tn_trigamma)(T a)
{
    const TW x = a, z = x < KW(0) ? KW(1) - x : x, t = z * (z + KW(7)), u = t + KW(6), v = t + KW(10), y = t + KW(12);
    const TW moved = (KW(2) * t + KW(49)) / (t * t) + (KW(2) * t + KW(37)) / (u * u) + (KW(2) * t + KW(29)) / (v * v) +
                     (KW(2) * t + KW(25)) / (y * y);
    const TW w = z < KW(8) ? z + KW(8) : z, i = KW(1) / w, j = i * i;
    TW s = KW(54.971177944862155);
    s = FMAW(s, -j, KW(7.0921568627450980));
    s = FMAW(s, -j, KW(1.1666666666666667));
    s = FMAW(s, -j, KW(0.25311355311355311));
    s = FMAW(s, -j, KW(0.075757575757575758));
    s = FMAW(s, -j, KW(0.033333333333333333));
    s = FMAW(s, -j, KW(0.023809523809523810));
    s = FMAW(s, -j, KW(0.033333333333333333));
    s = FMAW(s, -j, KW(0.16666666666666667));
    s = i + j * (KW(0.5) + i * s);
    s = z < KW(8) ? s + moved : s;
    const TW wave = MW(sin)(TN_PI * (x - MW(rint)(x))) / TN_PI;
    return (T)(x < KW(0) ? KW(1) / (wave * wave) - s : s);
}

/* Hurwitz' zeta by Euler and Maclaurin: terms up to w, then the integral, half a term, and seven of the rest, each with the
 * factor (x + 2j - 1)(x + 2j) / w^2 and a quotient of Bernoulli's numbers to the one before. */
DEVICE_LOOP TW E(tn_zeta_sum)(TW x, TW q)
{
    TW sum = KW(0), w = q;
    while (w < (TN_NARROW ? KW(4) + x : KW(10) + KW(2.5) * x)) { /* the rest to 3e-12, or to double's digits */
        const TW term = LOOP_POW(w, -x);
        sum += term;
        w += KW(1);
        if (term <= sum * KW(1e-18)) /* all that follow are smaller */
            return sum;
    }
    const TW v = KW(1) / (w * w);
    TW s = KW(1) - (x + KW(11)) * (x + KW(12)) * v * KW(0.025330967205748023);
    s = KW(1) - (x + KW(9)) * (x + KW(10)) * v * KW(0.025311355311355311) * s;
    s = KW(1) - (x + KW(7)) * (x + KW(8)) * v * KW(0.025252525252525253) * s;
    s = KW(1) - (x + KW(5)) * (x + KW(6)) * v * KW(0.025) * s;
    s = KW(1) - (x + KW(3)) * (x + KW(4)) * v * KW(0.023809523809523810) * s;
    s = KW(1) - (x + KW(1)) * (x + KW(2)) * v * KW(0.016666666666666667) * s;
    const TW rest = (KW(0.5) + x / (KW(12) * w) * s) / w, power = LOOP_POW(w, KW(1) - x);
    return power == KW(0) ? sum : sum + power * (KW(1) / (x - KW(1)) + rest);
}

/* Where q is negative, the terms up to 0 are those of two sums of positive numbers; x is whole then. */
DEVICE TW E(tn_zeta_wide)(TW x, TW q)
{
    const TW none = (TW)TN_INFINITY - (TW)TN_INFINITY, inf = (TW)TN_INFINITY;
    if (x == KW(1))
        return inf;
    if (x != x && q <= KW(0) && q == MW(floor)(q)) /* a pole whatever x is */
        return inf;
    if (!(x > KW(1)) || q != q)
        return none;
    if (q <= KW(0) && (q == MW(floor)(q) || x != MW(floor)(x)))
        return q == MW(floor)(q) ? inf : none;
    if (x == inf || q == inf)
        return q > KW(1) ? KW(0) : q == KW(1) ? KW(1) : inf;
    if (q > KW(0))
        return E(tn_zeta_sum)(x, q);
    const TW n = -MW(floor)(q), above = q + n, below = -(q + (n - KW(1))), up = E(tn_zeta_sum)(x, above);
    const TW part = E(tn_zeta_sum)(x, below) - E(tn_zeta_sum)(x, below + n);
    if (KW(2) * MW(floor)(KW(0.5) * x) == x)
        return up + part;
    return up == inf && part == inf ? (above < below ? inf : -inf) : up - part;
}

DEVICE T E(tn_zeta)(T a, T b)
{
    return (T)E(tn_zeta_wide)((TW)a, (TW)b);
}

/* (-1)^(n + 1) n! zeta(n + 1, x), of n >= 2 (6.4.10) */
DEVICE T E(tn_polygamma)(T a, T b)
{
    TW factorial = KW(1), n = KW(2);
    for (; n <= (TW)a && n < KW(200); n += KW(1))
        factorial *= n;
    const TW value = factorial * E(tn_zeta_wide)((TW)a + KW(1), (TW)b);
    return (T)(MW(rint)(KW(0.5) * (TW)a) * KW(2) == (TW)a ? -value : value);
}

/* ---- incomplete gamma functions: the series (6.5.29) below a + 1, else the continued fraction (6.5.31) by Lentz's method
 * (Press et al., Numerical Recipes, 6.2); both hold where they are used ---- */

/* x^a e^-x / gamma(a + 1); of a large a by Stirling's series (6.1.41), for a log x, x and log gamma are large, too */
DEVICE TW E(tn_gamma_factor)(TW a, TW x)
{
    if (a < (TN_NARROW ? KW(3) : KW(10)))
        return MW(exp)(a * MW(log)(x) - x - MW(lgamma)(a + KW(1)));
    const TW mu = (x - a) / a, v = KW(1) / (a * a);
    TW s = KW(0.0019175269175269175);
    s = FMAW(s, -v, KW(0.00084175084175084175));
    s = FMAW(s, -v, KW(0.00059523809523809524));
    s = FMAW(s, -v, KW(0.00079365079365079365));
    s = FMAW(s, -v, KW(0.0027777777777777778));
    s = FMAW(s, -v, KW(0.083333333333333333));
    return MW(exp)(a * (MW(log1p)(mu) - mu) - s / a) / MW(sqrt)(KW(2) * TN_PI * a);
}

#define TN_SMALLEST_TERM (TN_NARROW ? KW(1e-9) : KW(1e-17))
/* A factor of the fraction that is one but for its last place: it may stay beside one for ever, and never be it. */
#define TN_LAST_PLACE (TN_NARROW ? KW(1.2e-7) : KW(2.3e-16))
#define TN_MOST_TERMS 200000

DEVICE TW E(tn_gamma_series)(TW a, TW x)
{
    TW term = KW(1), sum = KW(1);
    for (int k = 1; k < TN_MOST_TERMS && term > sum * TN_SMALLEST_TERM; k++) {
        term *= x / (a + (TW)k);
        sum += term;
    }
    return sum * E(tn_gamma_factor)(a, x);
}

DEVICE TW E(tn_gamma_fraction)(TW a, TW x)
{
    TW b = x + KW(1) - a, c = KW(1e30), d = KW(1) / b, h = d, change = KW(0);
    for (int k = 1; k < TN_MOST_TERMS && MW(fabs)(change - KW(1)) > TN_LAST_PLACE; k++) {
        const TW n = -(TW)k * ((TW)k - a);
        b += KW(2);
        d = KW(1) / (n * d + b);
        c = b + n / c;
        change = c * d;
        h *= change;
    }
    return h * a * E(tn_gamma_factor)(a, x);
}

/* The part above x of a large a: Temme's expansion to first order (NIST Handbook of Mathematical Functions, 8.12.4). */
DEVICE TW E(tn_gamma_far)(TW a, TW x)
{
    const TW mu = (x - a) / a, halved = mu - MW(log1p)(mu), eta = MW(sqrt)(KW(2) * halved);
    const TW side = mu < KW(0) ? -eta : eta;
    const TW more = MW(fabs)(mu) < KW(1e-3) ? mu / KW(12) - KW(1) / KW(3) : KW(1) / mu - KW(1) / side;
    return KW(0.5) * MW(erfc)(side * MW(sqrt)(KW(0.5) * a)) + MW(exp)(-a * halved) / MW(sqrt)(KW(2) * TN_PI * a) * more;
}

/* The part below x, or above. */
DEVICE T E(tn_gamma_part)(T a, T b, int upper)
{
    const T all = K(1), none = K(0);
    if (!(a >= K(0)) || !(b >= K(0)) || (a == K(0) && b == K(0)) || (a == TN_INFINITY && b == TN_INFINITY))
        return TN_INFINITY - TN_INFINITY;
    if (a == K(0) || b == TN_INFINITY)
        return upper ? none : all;
    if (b == K(0) || a == TN_INFINITY)
        return upper ? all : none;
    const int far = a > (sizeof(TW) == 4 ? K(1e5) : K(1e8)), low = !far && b < a + K(1);
    const TW part = far   ? E(tn_gamma_far)((TW)a, (TW)b)
                    : low ? E(tn_gamma_series)((TW)a, (TW)b)
                          : E(tn_gamma_fraction)((TW)a, (TW)b);
    const TW wanted = low == upper ? KW(1) - part : part;
    return wanted <= KW(0) ? none : (T)wanted; /* roundings may go below 0 */
}

DEVICE T E(tn_igamma)(T a, T b)
{
    return E(tn_gamma_part)(a, b, 0);
}

DEVICE T E(tn_igammac)(T a, T b)
{
    return E(tn_gamma_part)(a, b, 1);
}

/* ---- the error function's relatives ---- */

/* exp(a^2) erfc(a), of a >= 0 */
DEVICE TW E(tn_erfcx_right)(TW a)
{
    const TW u = KW(1) / FMAW(KW(0.4), a, KW(1));
    return u * E(tn_fit_erfcx)(KW(2) * u - KW(1));
}

DEVICE T E(tn_erfcx)(T a)
{
    const TW x = a, right = E(tn_erfcx_right)(MW(fabs)(x));
    return (T)(x < KW(0) ? KW(2) * MW(exp)(x * x) - right : right);
}

#define TN_SQRT_HALF KW(0.70710678118654752440)

DEVICE T E(tn_ndtr)(T a)
{
    const TW x = a, less = KW(0.5) * MW(exp)(KW(-0.5) * x * x) * E(tn_erfcx_right)(TN_SQRT_HALF * MW(fabs)(x));
#if !TN_SPARE
    if (MW(fabs)(x) < KW(1))
        return (T)(KW(0.5) + KW(0.5) * MW(erf)(TN_SQRT_HALF * x));
#endif
    return (T)(x < KW(0) ? less : KW(1) - less);
}

DEVICE T E(tn_log_ndtr)(T a)
{
    const TW x = a, h = KW(0.5) * x * x, halved = KW(0.5) * E(tn_erfcx_right)(TN_SQRT_HALF * MW(fabs)(x));
    TW lower = halved, upper = -MW(exp)(-h) * halved, more = h;
#if !TN_SPARE
    const TW part = KW(0.5) * MW(erf)(TN_SQRT_HALF * x);
    const int near = MW(fabs)(x) < KW(1);
    lower = near ? KW(0.5) + part : lower;
    upper = near ? part - KW(0.5) : upper;
    more = near ? KW(0) : more;
#endif
    const TW left = MW(log)(lower) - more, right = MW(log1p)(upper);
    return (T)(x < KW(0) ? left : right);
}

/* erfinv(x) / x, of w = -log(1 - x^2), to 9 digits: w says how far x is from 1 (Giles, Approximating the erfinv function). */
DEVICE TW E(tn_erfinv_ratio)(TW w)
{
    const TW root = MW(sqrt)(w), t = KW(1) / root;
    const TW near = E(tn_fit_erfinv_near)(w * KW(0.32) - KW(1));
    const TW far = root * E(tn_fit_erfinv_far)((t - KW(0.2261904761904762)) * KW(5.25));
    return w < KW(6.25) ? near : far;
}

/* erf(y) - x, where rest = 1 - x: of the smaller of erf and erfc; defined before where one of them serves for both. */
#ifndef TN_ERF_LESS
#define TN_ERF_LESS(y, x, rest) ((x) < KW(0.5) ? MW(erf)(y) - (x) : (rest)-MW(erfc)(y))
#endif

DEVICE T E(tn_erfinv)(T a)
{
    const TW x = a, size = MW(fabs)(x);
#if TN_NARROW
    const TW w = -MW(log)((KW(1) - size) * (KW(1) + size));
    const TW near = E(tn_fit_erfinv_near)(w * KW(0.32) - KW(1));
    const TW far = E(tn_fit_erfinv_end)((MW(sqrt)(w) - KW(3.3)) * KW(1.1111111111111112));
    const TW y = size * (w < KW(6.25) ? near : far);
#else
    /* Halley's step */
    TW y = size * E(tn_erfinv_ratio)(-MW(log)((KW(1) - size) * (KW(1) + size)));
    const TW d = TN_ERF_LESS(y, size, KW(1) - size) * KW(0.88622692545275801365) * MW(exp)(y * y);
    y = size < KW(1) ? y - d / (KW(1) + y * d) : y;
#endif
    return M(copysign)(size == KW(1) ? TN_INFINITY : (T)y, a);
}

DEVICE T E(tn_ndtri)(T a)
{
    const TW p = a, less = p < KW(0.5) ? p : KW(1) - p, x = KW(1) - KW(2) * less;
    TW z = x * E(tn_erfinv_ratio)(-MW(log)(KW(4) * less * (KW(1) - less))) / TN_SQRT_HALF;
#if !TN_NARROW /* of the distance from a half, or of the tail */
    const TW h = TN_SQRT_HALF * z, off = KW(0.5) * TN_ERF_LESS(h, x, KW(2) * less);
    const TW d = off * KW(2.5066282746310005024) * MW(exp)(h * h);
    z = less > KW(1e-300) ? z - d / (KW(1) + KW(0.5) * z * d) : z;
#endif
    z = less == KW(0) ? (TW)TN_INFINITY : z;
    return (T)(p < KW(0.5) ? -z : z);
}

/* x / (1 - x) of a number between eps and 1 - eps, or as it is where eps is negative; and the slope of its logarithm. */
DEVICE T E(tn_odds)(T x, T eps)
{
    const T rest = K(1) - x, other = K(1) - eps;
    const T y = x < eps ? eps : rest < eps ? other : x;
    return y / (x < eps ? other : rest < eps ? eps : rest);
}

DEVICE T E(tn_logit_slope)(T g, T x, T eps)
{
    const T rest = K(1) - x, slope = g / (x * rest), inside = rest == K(0) ? g * TN_INFINITY : slope;
    const T low = eps < K(0) ? K(0) : eps, beyond = eps < K(0) ? TN_INFINITY - TN_INFINITY : K(0);
    return ((x < low) | (rest < low)) ? beyond : inside; /* no branch: loops vectorise */
}

/* ---- Bessel's modified functions ---- */

/* exp(-a) I0(a), and exp(-a) I1(a), of a >= 0 */
DEVICE TW E(tn_i0e_right)(TW a)
{
    const TW i = KW(1) / a, small = E(tn_fit_i0_small)(KW(0.25) * a - KW(1));
    return a <= KW(8) ? small : E(tn_fit_i0_large)(KW(16) * i - KW(1)) * MW(sqrt)(i);
}

DEVICE TW E(tn_i1e_right)(TW a)
{
    const TW i = KW(1) / a, small = a * E(tn_fit_i1_small)(KW(0.25) * a - KW(1));
    return a <= KW(8) ? small : E(tn_fit_i1_large)(KW(16) * i - KW(1)) * MW(sqrt)(i);
}

DEVICE T E(tn_i0e)(T a)
{
    return (T)E(tn_i0e_right)(MW(fabs)((TW)a));
}

DEVICE T E(tn_i0)(T a)
{
    const TW x = MW(fabs)((TW)a), halved = MW(exp)(KW(0.5) * x); /* the whole may be too large */
    return x == (TW)TN_INFINITY ? TN_INFINITY : (T)(halved * E(tn_i0e_right)(x) * halved);
}

DEVICE T E(tn_i1e)(T a)
{
    const TW x = a, y = E(tn_i1e_right)(MW(fabs)(x));
    return (T)(x < KW(0) ? -y : y);
}

DEVICE T E(tn_i1)(T a)
{
    const TW x = a, size = MW(fabs)(x), halved = MW(exp)(KW(0.5) * size);
    const TW y = halved * E(tn_i1e_right)(size) * halved;
    return size == (TW)TN_INFINITY ? a : (T)(x < KW(0) ? -y : y);
}

/* exp(a) K0(a), or without the factor */
DEVICE T E(tn_k0)(T a, int scaled)
{
    const TW x = a, s = KW(0.25) * x * x, e = MW(exp)(scaled ? x : -x);
    const TW small = E(tn_fit_k0_series)(s) - MW(log)(KW(0.5) * x) * E(tn_fit_i0_series)(s);
    const TW large = E(tn_fit_k0_large)(KW(4) / x - KW(1)) / MW(sqrt)(x);
    if (x < KW(0))
        return TN_INFINITY - TN_INFINITY;
    return (T)(x == KW(0) ? (TW)TN_INFINITY : x <= KW(2) ? (scaled ? e * small : small) : scaled ? large : e * large);
}

DEVICE T E(tn_k1)(T a, int scaled)
{
    const TW x = a, s = KW(0.25) * x * x, e = MW(exp)(scaled ? x : -x);
    const TW small = KW(1) / x + KW(0.5) * x *
                                     ((MW(log)(x) - KW(0.69314718055994530942)) * E(tn_fit_i1_series)(s) -
                                      KW(0.5) * E(tn_fit_k1_series)(s));
    const TW large = E(tn_fit_k1_large)(KW(4) / x - KW(1)) / MW(sqrt)(x);
    return (T)(x == KW(0) ? (TW)TN_INFINITY : x <= KW(2) ? (scaled ? e * small : small) : scaled ? large : e * large);
}

DEVICE T E(tn_spherical_j0)(T a)
{
    const TW x = a, v = x * x;
    TW s = KW(-2.5052108385441719e-8); /* sin(x) / x near 0 */
    s = FMAW(s, v, KW(2.7557319223985891e-6));
    s = FMAW(s, v, KW(-1.9841269841269841e-4));
    s = FMAW(s, v, KW(8.3333333333333333e-3));
    s = FMAW(s, v, KW(-0.16666666666666667));
    s = FMAW(s, v, KW(1));
    const TW far = MW(sin)(x) / x;
    return M(fabs)(a) == TN_INFINITY ? K(0) : M(fabs)(a) < K(0.5) ? (T)s : (T)far;
}

/* ---- numbers apart and put together ---- */

/* a = m 2^e, m from 1/2 to 1; as PyTorch has it, 0, infinity and NaN are their own m, with e = 0. */
DEVICE T E(tn_exponent)(T a)
{
    return a == K(0) || !(M(fabs)(a) < TN_INFINITY) ? K(0) : M(logb)(a) + K(1);
}

DEVICE T E(tn_mantissa)(T a)
{
    return M(ldexp)(a, -(int)E(tn_exponent)(a));
}

/* The next of numbers of 16 bits, which a is one of, with so many digits behind the point: 0.7 to 1.4 units further, which the
 * store rounds; of a power of two 0.7, which is less than one and a half of the units below. */
DEVICE T E(tn_next_narrow)(T a, T b, T digits)
{
    const T least = digits == K(10) ? K(6.103515625e-5) : K(1.1754943508222875e-38);
    const T largest = digits == K(10) ? K(65504) : K(3.3895313892515355e38);
    const T size = M(fabs)(a), step = (size < least ? least : size) * (K(0.7) * M(exp2)(-digits));
    const T next = a < b ? a + step : a - step, far = size == TN_INFINITY ? M(copysign)(largest, a) : next;
    const T other = a == b ? b : far;
    return ((a != a) | (b != b)) ? a + b : other;
}

#else

/* Euclid's, of the sizes, which are numbers without a sign: that of -2^(bits - 1), too. */
DEVICE T E(tn_gcd)(T a, T b)
{
    UT x = (UT)TN_ABS(a), y = (UT)TN_ABS(b);
    while (x != 0) {
        const UT rest = y % x;
        y = x;
        x = rest;
    }
    return (T)y;
}

DEVICE T E(tn_lcm)(T a, T b)
{
    const T divisor = E(tn_gcd)(a, b);
    return divisor == K(0) ? K(0) : TN_ABS(TN_MUL(TN_DIV_TRUNC(a, divisor), b));
}

#endif
