/* backend/cpu/math_double.inc.h: math functions of doubles for loops, as math.inc.h's of floats, by the sums of two parts of
 * math_power.inc.h. Where there is no fused product libm's are as fast. Polynomials: interpolated at Chebyshev's nodes with
 * mpmath. Largest errors seen against long double: tests/unit/test_math.c. */

/* Beyond this pi/2 runs out of digits; loops hand such elements to libm. */
#define TRIG_LIMIT_F64 1e9

/* m_fmod_f64 is exact where |a / b| is below; loops hand the other elements to libm. */
#define FMOD_LIMIT_F64 2251799813685248.0 /* 2^51 */

#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)

/* Part of log(2), pi/2 and others that their doubles lose. */
#define LOG2_LOW      2.3190468138462996e-17
#define PIO2_F64      1.5707963267948966
#define PIO2_LOW_F64  6.123233995736766e-17
#define PIO2_LAST_F64 (-1.4973849048591698e-33)

/* What rounding sum = a + b lost. */
ALWAYS double sum_rest(double a, double b, double sum)
{
    const double c = sum - a;
    return (a - (sum - c)) + (b - c);
}

/* (n + n_low) / (d + d_low) in two parts */
ALWAYS double quotient_two(double n, double n_low, double d, double d_low, double *low)
{
    const double q = n / d;
    *low = (FMA_F64(-q, d, n) + FMA_F64(-q, d_low, n_low)) / d;
    return q;
}

/* ---- logarithms ---- */

ALWAYS double log_edges_f64(double x, double y)
{
    y = x == (double)INFINITY ? (double)INFINITY : y;
    y = x == 0.0 ? -(double)INFINITY : y;
    return ((x < 0.0) | (x != x)) ? (double)NAN : y;
}

/* log u + c u of a small c, which is what u lost: e log 2 + f - (f^2 / 2 - s (f^2 / 2 + R(s^2))), of log_two's m = 1 + f. */
ALWAYS double log_plus(double u, double c)
{
    double e, f = log_mantissa(u, &e) - 1.0, s = f / (f + 2.0), z = s * s, half = 0.5 * f * f;
    const double r = z * FMA_F64(2.0 * z, log_series(z), 0.66666666666666662966);
    const double low = FMA_F64(e, 1.90821492927058770002e-10, FMA_F64(s, half + r, c));
    return FMA_F64(e, 6.93147180369123816490e-01, f - (half - low));
}

ALWAYS double m_log_f64(double x)
{
    return log_edges_f64(x, log_plus(x, 0.0));
}

/* log x times a factor of two parts */
ALWAYS double log_times(double x, double factor, double factor_low)
{
    double low, h = log_two(x, &low), y = h * factor;
    return log_edges_f64(x, y + (FMA_F64(h, factor, -y) + FMA_F64(h, factor_low, low * factor)));
}

ALWAYS double m_log2_f64(double x)
{
    return log_times(x, 1.4426950408889634, 2.0355273740931033e-17);
}

ALWAYS double m_log10_f64(double x)
{
    return log_times(x, 0.4342944819032518, 1.098319650216765e-17);
}

/* log(1 + x + more), of |more| far below |x|: what the sum loses is put back. */
ALWAYS double log1p_sum(double x, double more)
{
    const double u = 1.0 + x;
    double low, h = log_two(u, &low), lost = (sum_rest(1.0, x, u) + more) / u;
    return log_edges_f64(u, h + (fabs(lost) < 1.0 ? low + lost : low));
}

ALWAYS double m_log1p_f64(double x)
{
    const double u = 1.0 + x, lost = sum_rest(1.0, x, u) / u,
                 y = log_edges_f64(u, log_plus(u, fabs(lost) < 1.0 ? lost : 0.0));
    return x == 0.0 ? x : y; /* -0 stays -0 */
}

/* ---- exponential functions ---- */

/* 2^x = 2^n e^(r log 2), |r| up to 1/2 */
ALWAYS double m_exp2_f64(double x)
{
    x = x > 1025.0 ? 1025.0 : x; /* NaN passes both tests by */
    x = x < -1080.0 ? -1080.0 : x;
    const double t = x + ROUNDER_F64, r = (x - (t - ROUNDER_F64)) * 0.6931471805599453;
    return times_power(1.0 + exp_tail(r, r), t, 0);
}

/* (e^x - 1) / 2 in two parts, of x in -40 .. 710: (2^n - 1) + 2^n (e^r - 1), halved, as 2^1024 is no double */
ALWAYS double expm1_half(double x, double *low)
{
    double t, rest;
    const double r = exp_remainder(x, 0.0, &t, &rest), tail = exp_tail(r, rest);
    const double scale = bits_f64((f64_bits(t) << 52) + (UINT64_C(1022) << 52)), base = scale - 0.5, part = scale * r;
    const double sum = base + part, more = FMA_F64(scale, tail, (base - sum) + part), y = sum + more;
    *low = (sum - y) + more;
    return y;
}

ALWAYS double m_expm1_f64(double x)
{
    double w = x > 710.0 ? 710.0 : x, low;
    const double y = 2.0 * expm1_half(w < -40.0 ? -40.0 : w, &low);
    return ((fabs(x) < 1e-17) | (x != x)) ? x : y;
}

/* (e^a + sign e^-a) / 2, of a >= 0: 2^(n - 1) (h + low + sign 2^-2n / h), where e^r is h + low */
ALWAYS double exp_pair(double a, double sign)
{
    double t, rest;
    a = a > 720.0 ? 720.0 : a;
    const double r = exp_remainder(a, 0.0, &t, &rest), one = 1.0 + r, tail = exp_tail(r, rest) + (r - (one - 1.0));
    const double h = one + tail, low = (one - h) + tail, n = t - ROUNDER_F64,
                 down = ROUNDER_F64 - (n > 500.0 ? 500.0 : n);
    const double small = bits_f64((f64_bits(down) << 52) + (UINT64_C(1023) << 52)), g = sign * (small * small) / h;
    const double sum = h + g;
    return times_power(sum + (((h - sum) + g) + low), t, -1);
}

ALWAYS double m_sinh_f64(double x)
{
    const double a = fabs(x), z = x * x;
    double p = FMA_F64(2.8445264169895285e-15, z, 7.646625361656657e-13);
    p = FMA_F64(p, z, 1.6059048396350562e-10);
    p = FMA_F64(p, z, 2.505210836405804e-08);
    p = FMA_F64(p, z, 2.755731922404034e-06);
    p = FMA_F64(p, z, 0.00019841269841269773);
    p = FMA_F64(p, z, 0.008333333333333333);
    p = FMA_F64(p, z, 0.16666666666666666);
    const double small = FMA_F64(p * z, x, x), large = copysign(exp_pair(a, -1.0), x), y = a < 1.0 ? small : large;
    return ((x != x) | (x == 0.0)) ? x : y;
}

ALWAYS double m_cosh_f64(double x)
{
    return exp_pair(fabs(x), 1.0);
}

/* e / (e + 1) of e = (e^2a - 1) / 2 */
ALWAYS double m_tanh_f64(double x)
{
    double low, rest, a = fabs(x);
    a = a > 20.0 ? 20.0 : a;
    const double e = expm1_half(a + a, &low), d = e + 1.0;
    const double q = quotient_two(e, low, d, sum_rest(e, 1.0, d) + low, &rest);
    return copysign(q + rest, x);
}

/* The root of a square and what is added to it, in two parts: of p + low = 1 + a^2, 2 u + u^2. */
ALWAYS double root_two(double p, double p_low, double *low)
{
    const double s = sqrt(p);
    *low = (FMA_F64(-s, s, p) + p_low) / (s + s);
    return s;
}

/* log(1 + x + more), or of a large x, where the root of its square was taken for 2^30, log(2 x) */
ALWAYS double log_of_root(double x, double v, double more)
{
    const double far = x < 1e9 ? 0.0 : 0.6931471805599453, far_low = x < 1e9 ? 0.0 : LOG2_LOW, u = 1.0 + v,
                 w = x < 1e9 ? u : x;
    double low, h = log_two(w, &low), lost = (sum_rest(1.0, v, u) + more) / u, y = h + far;
    lost = x < 1e9 ? lost : far_low;
    return log_edges_f64(w, y + (sum_rest(h, far, y) + (low + lost)));
}

/* log1p(a + a^2 / (1 + root(1 + a^2))) */
ALWAYS double m_asinh_f64(double x)
{
    const double size = fabs(x), a = size < 1e9 ? size : 0.0, p = a * a, f = p + 1.0;
    double low, part_low, s = root_two(f, sum_rest(p, 1.0, f) + FMA_F64(a, a, -p), &low), d = s + 1.0;
    const double part = quotient_two(p, FMA_F64(a, a, -p), d, sum_rest(s, 1.0, d) + low, &part_low), u = a + part;
    return copysign(log_of_root(size, u, ((a - u) + part) + part_low), x);
}

/* log1p(u + root(u (u + 2))), u = x - 1 */
ALWAYS double m_acosh_f64(double x)
{
    const double u = x - 1.0, t = u + 2.0, p = u * t;
    double low, s = root_two(p, FMA_F64(u, t, -p) + u * sum_rest(u, 2.0, t), &low), v = s + u;
    const double y = log_of_root(x, v, ((s - v) + u) + low);
    return x > 1.0 ? y : x == 1.0 ? 0.0 : (double)NAN;
}

/* log1p(2 a / (1 - a)) / 2 */
ALWAYS double m_atanh_f64(double x)
{
    const double a = fabs(x), d = 1.0 - a;
    double low, q = quotient_two(a + a, 0.0, d, (1.0 - d) - a, &low);
    return copysign(0.5 * log1p_sum(q, fabs(low) < 1.0 ? low : 0.0), x);
}

/* ---- angles ---- */

/* x less the whole number in *t's low bits times pi/2, of three doubles: in two parts. */
ALWAYS double trig_remainder(double x, double *t, double *tail)
{
    *t = FMA_F64(x, 0.63661977236758134308, ROUNDER_F64);
    const double n = *t - ROUNDER_F64, a = FMA_F64(n, -PIO2_F64, x), p = n * PIO2_LOW_F64; /* a is exact */
    const double s = a - p, b = s - a;
    *tail = FMA_F64(n, -PIO2_LAST_F64, (a - (s - b)) - (p + b) - FMA_F64(n, PIO2_LOW_F64, -p));
    return s;
}

/* sin(s + tail) and cos(s + tail) in two parts, of |s| up to pi/4 */
ALWAYS double sin_part(double s, double tail, double *low)
{
    const double z = s * s;
    double p = FMA_F64(-7.586692262094344e-13, z, 1.6058531536611833e-10);
    p = FMA_F64(p, z, -2.5052106231927857e-08);
    p = FMA_F64(p, z, 2.7557319219337672e-06);
    p = FMA_F64(p, z, -0.00019841269841265063);
    p = FMA_F64(p, z, 0.008333333333333331);
    p = FMA_F64(p, z, -0.16666666666666666);
    const double more = FMA_F64(s * z, p, FMA_F64(-0.5 * z, tail, tail)), y = s + more;
    *low = (s - y) + more;
    return y;
}

ALWAYS double cos_part(double s, double tail, double *low)
{
    const double z = s * s, half = 0.5 * z, w = 1.0 - half;
    double p = FMA_F64(-1.1382625349447592e-11, z, 2.0876146170183976e-09);
    p = FMA_F64(p, z, -2.7557317271258515e-07);
    p = FMA_F64(p, z, 2.4801587298764778e-05);
    p = FMA_F64(p, z, -0.0013888888888887398);
    p = FMA_F64(p, z, 0.041666666666666664);
    const double more = ((1.0 - w) - half) + FMA_F64(z * z, p, -(s * tail)), y = w + more;
    *low = (w - y) + more;
    return y;
}

/* sin(x + quarter * pi/2) */
ALWAYS double sin_shifted_f64(double x, uint64_t quarter)
{
    double t, tail, low, s = trig_remainder(x, &t, &tail), sine = sin_part(s, tail, &low),
                         cosine = cos_part(s, tail, &low);
    const uint64_t q = f64_bits(t) + quarter;
    const double y = q & 1 ? cosine : sine;
    return bits_f64(f64_bits(y) ^ (q & 2) << 62);
}

ALWAYS double m_sin_f64(double x)
{
    const double y = sin_shifted_f64(x, 0);
    return x == 0.0 ? x : y; /* -0 stays -0 */
}

ALWAYS double m_cos_f64(double x)
{
    return sin_shifted_f64(x, 1);
}

ALWAYS double m_tan_f64(double x)
{
    double t, tail, s_low, c_low, low, r = trig_remainder(x, &t, &tail), s = sin_part(r, tail, &s_low);
    const double c = cos_part(r, tail, &c_low);
    const uint64_t odd = f64_bits(t) & 1;
    const double q = quotient_two(odd ? -c : s, odd ? -c_low : s_low, odd ? s : c, odd ? s_low : c_low, &low),
                 y = q + low;
    return x == 0.0 ? x : y;
}

/* ---- inverse functions, as those of floats: sums of two parts ---- */

ALWAYS double sum_of_f64(double base, double first, double tail)
{
    const double t = base + first;
    return t + (((base - t) + first) + tail);
}

ALWAYS double root_rest_f64(double s, double z)
{
    const double rest = FMA_F64(-s, s, z) / (s + s);
    return s > 0.0 ? rest : 0.0;
}

/* (asin(s) - s) / s for s = root of z, up to 1/2 */
ALWAYS double asin_tail_f64(double z)
{
    double p = FMA_F64(0.028757851367421566, z, -0.014851887071247204);
    p = FMA_F64(p, z, 0.01740087944269402);
    p = FMA_F64(p, z, 0.005457506718640358);
    p = FMA_F64(p, z, 0.01032281435018578);
    p = FMA_F64(p, z, 0.011479177415184906);
    p = FMA_F64(p, z, 0.013971212973552933);
    p = FMA_F64(p, z, 0.017352392720869973);
    p = FMA_F64(p, z, 0.02237217294214989);
    p = FMA_F64(p, z, 0.030381944138531247);
    p = FMA_F64(p, z, 0.04464285714635543);
    p = FMA_F64(p, z, 0.07499999999998433);
    p = FMA_F64(p, z, 0.16666666666666669);
    return p * z;
}

ALWAYS double m_asin_f64(double x)
{
    const double a = fabs(x), z = a > 0.5 ? 0.5 - 0.5 * a : a * a, s = a > 0.5 ? sqrt(z) : a;
    const double tail = s * asin_tail_f64(z), rest = root_rest_f64(s, z);
    const double large = sum_of_f64(PIO2_F64, -2.0 * s, FMA_F64(-2.0, tail + rest, PIO2_LOW_F64));
    return copysign(a > 0.5 ? large : s + tail, x);
}

ALWAYS double m_acos_f64(double x)
{
    const double a = fabs(x), z = a > 0.5 ? 0.5 - 0.5 * a : a * a, s = a > 0.5 ? sqrt(z) : x;
    const double tail = s * asin_tail_f64(z), rest = tail + root_rest_f64(s, z);
    const double small = sum_of_f64(PIO2_F64, -s, PIO2_LOW_F64 - tail), right = FMA_F64(2.0, s, 2.0 * rest);
    const double left = sum_of_f64(2.0 * PIO2_F64, -2.0 * s, 2.0 * (PIO2_LOW_F64 - rest));
    const double large = x < 0.0 ? left : right;
    return a > 0.5 ? large : small;
}

/* octant of floats says what this is. */
ALWAYS double octant_f64(double n, double d, double *base, double *tail)
{
    const double scale = d > 1e307 ? 0.25 : 1.0; /* n + d may be too large */
    n *= scale;
    d *= scale;
    const int64_t far = (n >= 0.5 * d) & (n > 0.0);
    const double less = n == d ? 0.0 : n - d, num = far ? less : n, den = far ? d + n : d,
                 low = far ? n - (den - d) : 0.0;
    const double quotient = num / den, r = den == 0.0 ? 0.0 : quotient, z = r * r;
    double rest = FMA_F64(-r, low, FMA_F64(-r, den, num)) / den;
    rest = fabs(rest) <= fabs(r) ? rest : 0.0;
    double p = FMA_F64(-0.009215792047089858, z, 0.025006503566489507);
    p = FMA_F64(p, z, -0.03806653672057366);
    p = FMA_F64(p, z, 0.04628024868570153);
    p = FMA_F64(p, z, -0.05240099507994713);
    p = FMA_F64(p, z, 0.05879578429582425);
    p = FMA_F64(p, z, -0.06666435677235948);
    p = FMA_F64(p, z, 0.07692294712540285);
    p = FMA_F64(p, z, -0.09090908620322523);
    p = FMA_F64(p, z, 0.11111111100917376);
    p = FMA_F64(p, z, -0.14285714285599188);
    p = FMA_F64(p, z, 0.19999999999999488);
    p = FMA_F64(p, z, -0.3333333333333333);
    *base = far ? 1.0 : 0.0;
    *tail = FMA_F64(p * z, r, FMA_F64(-z, rest, rest));
    return r;
}

/* eighths * pi/4 + r + tail; pi/4's last digits are 0 */
ALWAYS double turned_f64(double eighths, double r, double tail)
{
    return sum_of_f64(eighths * (0.5 * PIO2_F64), r, FMA_F64(eighths, 0.5 * PIO2_LOW_F64, tail));
}

ALWAYS double m_atan2_f64(double y, double x)
{
    double base, tail;
    const double a = fabs(x), b = fabs(y), r = octant_f64(a > b ? b : a, a > b ? a : b, &base, &tail);
    const int64_t steep = b > a, left = (int64_t)f64_bits(x) < 0,
                  less = steep != left; /* less: the angle is taken off */
    const double flat = left ? 4.0 : 0.0, from = steep ? 2.0 : flat;
    const double angle = turned_f64(less ? from - base : from + base, less ? -r : r, less ? -tail : tail);
    return ((x != x) | (y != y)) ? x + y : copysign(angle, y);
}

ALWAYS double m_atan_f64(double x)
{
    double base, tail;
    const double a = fabs(x);
    const int64_t steep = a > 1.0;
    const double r = octant_f64(steep ? 1.0 : a, steep ? a : 1.0, &base, &tail);
    const double y = turned_f64(steep ? 2.0 - base : base, steep ? -r : r, steep ? -tail : tail);
    return x != x ? x : copysign(y, x);
}

/* ---- the error function ---- */

/* Up to 1. */
ALWAYS double erf_near(double x)
{
    const double z = x * x;
    double p = FMA_F64(5.957176147748911e-11, z, -1.1372848856791674e-09);
    p = FMA_F64(p, z, 1.4659775274047436e-08);
    p = FMA_F64(p, z, -1.6350312701054695e-07);
    p = FMA_F64(p, z, 1.6461000484121368e-06);
    p = FMA_F64(p, z, -1.4925595266831182e-05);
    p = FMA_F64(p, z, 0.0001205533111164271);
    p = FMA_F64(p, z, -0.000854832698083379);
    p = FMA_F64(p, z, 0.0052239776248180145);
    p = FMA_F64(p, z, -0.026866170645076792);
    p = FMA_F64(p, z, 0.11283791670954879);
    p = FMA_F64(p, z, -0.3761263890318375);
    p = FMA_F64(p, z, 0.1283791670955126);
    return FMA_F64(x, p, x);
}

/* erfc(a) = e^(-a^2) u P(u), u = 1 / (1 + 0.3 a), of a >= 3/4: 2^64 times too large until the end, as it may be subnormal. */
ALWAYS double erfc_far(double a)
{
    a = a > 27.5 ? 27.5 : a;
    const double d = FMA_F64(0.3, a, 1.0), u = 1.0 / d, square = a * a;
    const double off = FMA_F64(-u, FMA_F64(0.3, a, 1.0 - d), FMA_F64(-u, d, 1.0)); /* 1 - u (1 + 0.3 a) */
    double p = FMA_F64(0.004283530968135969, u, -0.040218985354936815);
    p = FMA_F64(p, u, 0.16978085873561913);
    p = FMA_F64(p, u, -0.42403781535480545);
    p = FMA_F64(p, u, 0.698873884601311);
    p = FMA_F64(p, u, -0.8153043790719022);
    p = FMA_F64(p, u, 0.7187040013951701);
    p = FMA_F64(p, u, -0.4963082139677879);
    p = FMA_F64(p, u, 0.26046399300754497);
    p = FMA_F64(p, u, -0.11767120393445304);
    p = FMA_F64(p, u, 0.04557404662866253);
    p = FMA_F64(p, u, 0.010532897909434145);
    p = FMA_F64(p, u, 0.046122829131576365);
    p = FMA_F64(p, u, 0.06977227514170202);
    p = FMA_F64(p, u, 0.0982908815224802);
    p = FMA_F64(p, u, 0.12457969983683932);
    p = FMA_F64(p, u, 0.14640765628674093);
    p = FMA_F64(p, u, 0.161640291690538);
    p = FMA_F64(p, u, 0.16925687583366944);
    p = FMA_F64(p, u, 0.16925687505294265);
    const double y = p * u, slope = FMA_F64(2.0 * a, y, -1.1283791670955126); /* of e^(a^2) erfc(a) */
    const double better = FMA_F64(off * d, slope * -3.3333333333333333, y);
    return exp_sum(-square, -FMA_F64(a, a, -square), 64) * better * 0x1p-64;
}

ALWAYS double m_erf_f64(double x)
{
    const double a = fabs(x), near = erf_near(x), far = copysign(1.0 - erfc_far(a), x);
    return a < 1.0 ? near : far;
}

ALWAYS double m_erfc_f64(double x)
{
    const double a = fabs(x), y = erfc_far(a), far = x < 0.0 ? 2.0 - y : y, near = 1.0 - erf_near(x);
    return a < 0.75 ? near : far;
}

/* erf(y) - x, y >= 0, where rest = 1 - x */
ALWAYS double erf_less(double y, double x, double rest)
{
    const double near = erf_near(y) - x, far = rest - erfc_far(y);
    return y < 0.75 ? near : far;
}
#define TN_ERF_LESS erf_less

/* ---- lengths ---- */

/* The root of the sum of squares, with what both lost put back (Borges, An improved algorithm for hypot, 2019). */
ALWAYS double m_hypot_f64(double x, double y)
{
    const double p = fabs(x), q = fabs(y), most = p > q ? p : q;
    const double down = most > 1e140 ? 0x1p-600 : 1.0, scale = most < 1e-140 ? 0x1p600 : down;
    const double up = most > 1e140 ? 0x1p600 : 1.0, back = most < 1e-140 ? 0x1p-600 : up;
    const double a = most * scale, b = (p > q ? q : p) * scale, h = sqrt(FMA_F64(a, a, b * b)), hh = h * h, aa = a * a;
    const double lost = FMA_F64(-b, b, hh - aa) + (FMA_F64(h, h, -hh) - FMA_F64(a, a, -aa));
    const double better = (h - lost / (h + h)) * back, number = h > 0.0 ? better : h,
                 sum = ((x != x) | (y != y)) ? x + y : number;
    return ((p == (double)INFINITY) | (q == (double)INFINITY)) ? (double)INFINITY : sum;
}

/* ---- remainders: as those of floats ---- */

ALWAYS double m_fmod_f64(double a, double b)
{
    const double n = trunc(a / b), rest = FMA_F64(-n, b, a), r = n == 0.0 ? a : rest;
    const double other = r + copysign(b, a), y = ((r != 0.0) & ((int64_t)(f64_bits(r) ^ f64_bits(a)) < 0)) ? other : r;
    return copysign(y, a);
}

/* ---- log gamma ---- */

/* log gamma(s + 2) / (s (s + 1)) of s from -1 to 1 */
ALWAYS double lgamma_ratio(double s)
{
    double p = 3.959197081626868e-10;
    p = FMA_F64(p, s, -8.152852870624974e-10);
    p = FMA_F64(p, s, -1.1901067690173132e-09);
    p = FMA_F64(p, s, 2.444386936885692e-09);
    p = FMA_F64(p, s, 4.305001814930314e-09);
    p = FMA_F64(p, s, -8.87711600370437e-09);
    p = FMA_F64(p, s, 3.825749011007784e-10);
    p = FMA_F64(p, s, -9.172949166290702e-10);
    p = FMA_F64(p, s, 2.487638086642932e-08);
    p = FMA_F64(p, s, -5.1889381335192836e-08);
    p = FMA_F64(p, s, 8.858847035326692e-08);
    p = FMA_F64(p, s, -1.8624721164419038e-07);
    p = FMA_F64(p, s, 4.0491147437704024e-07);
    p = FMA_F64(p, s, -8.554195306752008e-07);
    p = FMA_F64(p, s, 1.807724622659563e-06);
    p = FMA_F64(p, s, -3.8465374565754054e-06);
    p = FMA_F64(p, s, 8.222272488433202e-06);
    p = FMA_F64(p, s, -1.7661849545809686e-05);
    p = FMA_F64(p, s, 3.8168877225676815e-05);
    p = FMA_F64(p, s, -8.309510094797398e-05);
    p = FMA_F64(p, s, 0.00018255264018501865);
    p = FMA_F64(p, s, -0.0004057073998333553);
    p = FMA_F64(p, s, 0.0009153769221940612);
    p = FMA_F64(p, s, -0.0021081308338353785);
    p = FMA_F64(p, s, 0.004998641164698701);
    p = FMA_F64(p, s, -0.012384192193374183);
    p = FMA_F64(p, s, 0.032965000621155816);
    p = FMA_F64(p, s, -0.1003173016743539);
    p = FMA_F64(p, s, 0.42278433509846713);
    return p;
}

/* log gamma(a) of a >= 8: Stirling's series (Abramowitz & Stegun 6.1.41) */
ALWAYS double lgamma_far(double a)
{
    const double i = 1.0 / a, v = i * i;
    double s = 0.17964437236883057;
    s = FMA_F64(s, v, -0.029550653594771242);
    s = FMA_F64(s, v, 6.4102564102564103e-3);
    s = FMA_F64(s, v, -1.9175269175269175e-3);
    s = FMA_F64(s, v, 8.4175084175084175e-4);
    s = FMA_F64(s, v, -5.9523809523809524e-4);
    s = FMA_F64(s, v, 7.9365079365079365e-4);
    s = FMA_F64(s, v, -2.7777777777777778e-3);
    s = FMA_F64(s, v, 8.3333333333333333e-2);
    return FMA_F64(a - 0.5, m_log_f64(a), FMA_F64(s, i, 0.91893853320467274178) - a);
}

/* gamma(y) product, the same of a smaller y where it is 3 or more */
ALWAYS void one_down(double *y, double *product)
{
    const double less = *y - 1.0;
    *product = *y >= 3.0 ? *product * less : *product;
    *y = *y >= 3.0 ? less : *y;
}

/* gamma(a) = gamma(a + 1) / a below 1, (a - 1) gamma(a - 1) from 3 to 8; of negative numbers gamma(a) gamma(-a) =
 * -pi / (a sin(pi a)). */
ALWAYS double m_lgamma_f64(double x)
{
    const double a = fabs(x), t = a - rint(a);
    double y = a, product = 1.0;
    one_down(&y, &product);
    one_down(&y, &product);
    one_down(&y, &product);
    one_down(&y, &product);
    one_down(&y, &product);
    product = a < 8.0 ? product : 1.0;
    const double s = a < 1.0 ? a - 1.0 : y - 2.0, near = (a < 1.0 ? a : y - 1.0) * s * lgamma_ratio(s);
    const double size = a < 8.0 ? near : lgamma_far(a < 8.0 ? 8.0 : a);
    const double wave = fabs(m_sin_f64(3.14159265358979323846 * t)) * (a < 1.0 ? 1.0 : a * product);
    const double part = m_log_f64(x < 0.0 ? 3.14159265358979323846 / wave : a < 1.0 ? a : product);
    const double right = a < 1.0 ? size - part : size + part, value = x < 0.0 ? part - size : right;
    return (a == (double)INFINITY) | ((x < 0.0) & (t == 0.0)) ? (double)INFINITY : value;
}

#else
#define m_lgamma_f64 lgamma
#define m_fmod_f64   fmod
#define m_log_f64    log
#define m_log2_f64   log2
#define m_log10_f64  log10
#define m_log1p_f64  log1p
#define m_exp2_f64   exp2
#define m_expm1_f64  expm1
#define m_sinh_f64   sinh
#define m_cosh_f64   cosh
#define m_tanh_f64   tanh
#define m_asinh_f64  asinh
#define m_acosh_f64  acosh
#define m_atanh_f64  atanh
#define m_sin_f64    sin
#define m_cos_f64    cos
#define m_tan_f64    tan
#define m_asin_f64   asin
#define m_acos_f64   acos
#define m_atan_f64   atan
#define m_atan2_f64  atan2
#define m_hypot_f64  hypot
#define m_erf_f64    erf
#define m_erfc_f64   erfc
#endif

ALWAYS double m_normcdf_f64(double x)
{
    return 0.5 * m_erfc_f64(x * -0.70710678118654752440);
}

/* As those of floats. */
ALWAYS double m_logb_f64(double a)
{
    const double size = fabs(a), small = size * 18014398509481984.0; /* 2^54 */
    const bool subnormal = size < 2.2250738585072014e-308;
    double e = (double)((int64_t)(f64_bits(subnormal ? small : size) >> 52) - (subnormal ? 1077 : 1023));
    e = size == 0.0 ? -(double)INFINITY : e;
    return size < (double)INFINITY ? e : size;
}

/* 2^n of a whole n that is a normal number's exponent */
ALWAYS double power_of_2_f64(int64_t n)
{
    return bits_f64((uint64_t)(n + 1023) << 52);
}

ALWAYS double m_ldexp_f64(double a, int n)
{
    n = n < -2200 ? -2200 : n;
    n = n > 2200 ? 2200 : n;
    const int third = n / 3;
    return a * power_of_2_f64(third) * power_of_2_f64(third) * power_of_2_f64(n - 2 * third);
}

ALWAYS double m_nextafter_f64(double a, double b)
{
    const uint64_t u = f64_bits(a), away = (a < b) == (a > 0.0) ? u + 1U : u - 1U;
    const uint64_t next = a == 0.0 ? (f64_bits(b) & UINT64_C(0x8000000000000000)) | 1U : away;
    const double moved = a == b ? b : bits_f64(next);
    return ((a != a) | (b != b)) ? a + b : moved;
}
