/* How exact the math functions are: every row that computes with one, over many float32 values (every exponent, with
 * subnormals, huge ones, boundaries of the polynomials' ranges) against libm in double,
 * and float64 against long double.
 *
 * Bounds in units in the last place, and why:
 *   sqrt                        0.5  IEEE 754 rounds it correctly
 *   rsqrt reciprocal            1.5  one or two roundings
 *   exp                         1.0  the last addition rounds (0.5); the tail's error is < 0.3
 *   log log1p                   2.0, 3.0  polynomial 1, sum with e * log 2 (0.5); log1p adds a quotient
 *   tanh                        3.0  1 - 2 / (exp(2x) + 1): exp, sum, quotient, difference; below 0.625 a polynomial
 *   sigmoid                     3.0  exp, sum, quotient
 *   sin cos, |x| <= 10,000      2^-24 absolute or 2 ulp: the reduction's error is absolute; beyond that libm, 1 ulp
 *   expm1 exp2 log2 log10       2.0  as exp and log; one product with a constant in two parts more
 *   sinh cosh                   2.0  exp, a quotient, sum; sinh below 1 a polynomial
 *   tan, |x| <= 10,000          4.0  a polynomial of the remainder (1.5), its reciprocal (0.5), the reduction (2)
 *   erfc                        7.0  exp, and a polynomial that triples the error (1) of the quotient it is taken of
 *   erf                         1.5  1 - erfc, of which at most a sixth counts; below 1 a polynomial
 *   asinh acosh atanh lgamma    0.6  computed in double
 *   asin acos atan              1.0  a sum whose first part is exact to twice the digits; the tail's error is < 0.5
 *   pow                         1.5  glibc's is below 1; small whole exponents multiply
 *   float64                     where there is no fused product libm's: glibc's manual gives 1, tanh 2, erfc 5, of the rounded
 *                               result: half an ulp more; else sums of two parts, below 1.1 (erfc 3.5, sigmoid 2.2, lgamma 2.5)
 * Results below the smallest normal number may be flushed by no one: they must be within 1 of the smallest subnormals.
 * sigmoid is the exception: exp overflows before the result, which is < 2^-126, is zero. */
#include "check.h"
#include "backend/cpu/isa.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>

typedef struct function {
    const char *name;
    tn_tensor *(*f)(tn_tensor *x);
    double (*exact)(double x);
    long double (*exact64)(long double x);
    double ulps, ulps64;
    double lo, hi;   /* |x| for which this line holds */
    double absolute; /* error of float32 that is always allowed */
} function;

/* The gradient of f's sum: it computes with another function than f does. */
static tn_tensor *slope(tn_tensor *(*f)(tn_tensor *x), tn_tensor *x)
{
    tn_tensor *grad = NULL, *y = f(tn_requires_grad_(x, true));
    return !y || tn_grad(TN_TENSORS(y), TN_TENSORS(x), &grad, .grad_outputs = TN_TENSORS(tn_ones_like(y))) ? NULL
                                                                                                           : grad;
}
static tn_tensor *sin_slope(tn_tensor *x)
{
    return slope(tn_sin, x);
}
static tn_tensor *cos_slope(tn_tensor *x)
{
    return slope(tn_cos, x);
}
static double minus_sin(double x)
{
    return -sin(x);
}
static long double minus_sin_l(long double x)
{
    return -sinl(x);
}
static tn_tensor *lgamma_of_size(tn_tensor *x)
{
    return tn_lgamma(tn_abs(x));
}
static double size_lgamma(double x)
{
    return lgamma(fabs(x));
}
static long double size_lgamma_l(long double x)
{
    return lgammal(fabsl(x));
}
static double rsqrt_(double x)
{
    return 1 / sqrt(x);
}
static double reciprocal_(double x)
{
    return 1 / x;
}
static double sigmoid_(double x)
{
    return 1 / (1 + exp(-x));
}
static long double rsqrt_l(long double x)
{
    return 1 / sqrtl(x);
}
static long double reciprocal_l(long double x)
{
    return 1 / x;
}
static long double sigmoid_l(long double x)
{
    return 1 / (1 + expl(-x));
}

static const function functions[] = {
    {"exp", (tn_exp), exp, expl, 1.0, 1.5, 0, HUGE_VAL, 0},
    {"log", (tn_log), log, logl, 2.0, 1.5, 0, HUGE_VAL, 0},
    {"log1p", (tn_log1p), log1p, log1pl, 3.0, 1.5, 0, HUGE_VAL, 0},
    {"sqrt", (tn_sqrt), sqrt, sqrtl, 0.5, 0.5, 0, HUGE_VAL, 0},
    {"rsqrt", (tn_rsqrt), rsqrt_, rsqrt_l, 1.5, 1.5, 0, HUGE_VAL, 0},
    {"reciprocal", (tn_reciprocal), reciprocal_, reciprocal_l, 0.5, 0.5, 0, HUGE_VAL, 0},
    {"tanh", (tn_tanh), tanh, tanhl, 3.0, 2.5, 0, HUGE_VAL, 0},
    {"sigmoid", (tn_sigmoid), sigmoid_, sigmoid_l, 3.0, 3, 0, HUGE_VAL, 0x1p-126},
    {"sin", (tn_sin), sin, sinl, 2.0, 1.5, 0, 9999.999, 0x1p-24},
    {"cos", (tn_cos), cos, cosl, 2.0, 1.5, 0, 9999.999, 0x1p-24},
    {"tan", (tn_tan), tan, tanl, 4.0, 1.5, 0, 9999.999, 0},
    {"expm1", (tn_expm1), expm1, expm1l, 2.0, 1.5, 0, HUGE_VAL, 0},
    {"exp2", (tn_exp2), exp2, exp2l, 1.5, 1.5, 0, HUGE_VAL, 0},
    {"log2", (tn_log2), log2, log2l, 2.0, 1.5, 0, HUGE_VAL, 0},
    {"log10", (tn_log10), log10, log10l, 2.0, 2.5, 0, HUGE_VAL, 0},
    {"sinh", (tn_sinh), sinh, sinhl, 2.0, 2.5, 0, HUGE_VAL, 0},
    {"cosh", (tn_cosh), cosh, coshl, 2.0, 2.5, 0, HUGE_VAL, 0},
    {"erfc", (tn_erfc), erfc, erfcl, 7.0, 5.5, 0, HUGE_VAL, 0},
    {"erf", (tn_erf), erf, erfl, 1.5, 1.5, 0, HUGE_VAL, 0},
    {"lgamma of |x|", lgamma_of_size, size_lgamma, size_lgamma_l, 0.6, 3.5, 0, HUGE_VAL, 0},
    {"asinh", (tn_asinh), asinh, asinhl, 0.6, 2.5, 0, HUGE_VAL, 0},
    {"acosh", (tn_acosh), acosh, acoshl, 0.6, 2.5, 0, HUGE_VAL, 0},
    {"atanh", (tn_atanh), atanh, atanhl, 0.6, 2.5, 0, HUGE_VAL, 0},
    {"asin", (tn_asin), asin, asinl, 1.0, 1.5, 0, HUGE_VAL, 0},
    {"acos", (tn_acos), acos, acosl, 1.0, 1.5, 0, HUGE_VAL, 0},
    {"atan", (tn_atan), atan, atanl, 1.0, 1.5, 0, HUGE_VAL, 0},
    {"tan beyond 10,000", (tn_tan), tan, tanl, 1.5, 1.5, 10000, HUGE_VAL, 0},
    {"sin beyond 10,000", (tn_sin), sin, sinl, 1.0, 1.5, 10000, HUGE_VAL, 0},
    {"cos beyond 10,000", (tn_cos), cos, cosl, 1.0, 1.5, 10000, HUGE_VAL, 0},
    {"slope of sin", (sin_slope), cos, cosl, 1.0, 1.5, 10000, HUGE_VAL, 0},
    {"slope of cos", (cos_slope), minus_sin, minus_sin_l, 1.0, 1.5, 10000, HUGE_VAL, 0},
};

/* ---- float32 ---- */

enum { STEP = 2039, BORDERS = 64, N32 = (int)(UINT32_MAX / STEP) + 1, QUARTERS = 6400 };
static float *values;
static int n_values;

static void add_near(double v)
{
    float f = (float)v, up = f, down = f;
    for (int k = 0; k < 4; k++) {
        values[n_values++] = up;
        values[n_values++] = down;
        up = nextafterf(up, INFINITY);
        down = nextafterf(down, -INFINITY);
    }
}

/* Every 2039th of all floats (each exponent has 4,115 of them), and the neighbours of borders and of
 * multiples of pi/2. */
static int make_values(void **state)
{
    static const double borders[] = {0,         0.625,     10,        20,         88.72283935546875,
                                     88.72283,  89,        -87.33654, -103.97208, -103.2789,
                                     -104,      -88.72284, 1,         -1,         2,
                                     M_SQRT1_2, M_SQRT2,   0.5,       FLT_MIN,    -FLT_MIN,
                                     0x1p-149,  FLT_MAX,   -FLT_MAX,  8388608,    10000,
                                     -10000,    M_LN2,     M_LN2 / 2, 0x1p-24,    -0x1p-24,
                                     0x1p-12,   1e-30,     1e30};
    (void)state;
    values = malloc(sizeof *values * (N32 + 8 * (BORDERS + 2 * QUARTERS) + 8));
    if (!values)
        return -1;
    for (uint64_t u = 0; u <= UINT32_MAX; u += STEP) {
        uint32_t bits = (uint32_t)u;
        memcpy(&values[n_values++], &bits, 4);
    }
    for (size_t i = 0; i < sizeof borders / sizeof *borders; i++)
        add_near(borders[i]);
    for (int k = 1; k <= QUARTERS; k++) {
        add_near(k * M_PI_2);
        add_near(-k * M_PI_2);
    }
    const float special[] = {0.0F, -0.0F, INFINITY, -INFINITY, NAN};
    for (int i = 0; i < 5; i++)
        values[n_values++] = special[i];
    return 0;
}

static int free_values(void **state)
{
    (void)state;
    free(values);
    return tn_live_tensors() == 0 ? 0 : -1;
}

/* Distance in units of the last place of the exact result, at 'digits' bits and least exponent 'least'; what is
 * beyond the largest number counts as infinite. 0: right, infinitely large: wrong in kind (NaN, sign of zero,
 * infinity). */
static double error_of(long double got, long double exact, int digits, int least, long double largest)
{
    int e;
    if (isnan(got) || isnan(exact))
        return isnan(got) && isnan(exact) ? 0 : HUGE_VAL;
    if (exact == 0)
        return got == 0 && !signbit(got) == !signbit(exact) ? 0 : HUGE_VAL;
    if (isinf(got) || isinf(exact)) {
        long double half = ldexpl(largest, -digits - 1); /* beyond this is infinite once rounded */
        return got == exact || (isinf(got) && fabsl(exact) > largest - 4 * half && signbit(got) == signbit(exact))
                   ? 0
                   : HUGE_VAL;
    }
    frexpl(exact, &e);
    return (double)ldexpl(fabsl(got - exact), -(e - digits < least ? least : e - digits));
}

/* The worst of f; -1 where an element is out of bounds, having said which. */
static double worst32(const function *f, int64_t *count)
{
    double worst = 0;
    tn_scope *scope = tn_scope_open();
    tn_tensor *x = tn_from_data(values, TN_F32, TN_SHAPE(n_values)), *y = f->f(x);
    const float *got = y ? tn_data(y) : NULL;
    for (int i = 0; got && i < n_values; i++) {
        double v = (double)values[i], exact, error;
        if (!isnan(v) && !(fabs(v) >= f->lo && fabs(v) <= f->hi))
            continue;
        exact = f->exact(v);
        error = error_of((long double)got[i], (long double)exact, 24, -149, (long double)FLT_MAX);
        ++*count;
        if (error > f->ulps && fabs((double)got[i] - exact) <= f->absolute)
            continue;
        if (error > worst)
            worst = error;
        if (error > f->ulps) {
            print_error("%s(%a) is %a, exact %a: %g ulp, allowed %g\n", f->name, v, (double)got[i], exact, error,
                        f->ulps);
            worst = -1;
            break;
        }
    }
    tn_scope_close(scope);
    return got ? worst : -1;
}

static void float32(void **state)
{
    bool right = true;
    (void)state;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        int64_t count = 0;
        double worst = worst32(&functions[i], &count);
        print_message("%-18s float32: %8lld values, largest error %.3f ulp (bound %g) on %s\n", functions[i].name,
                      (long long)count, worst, functions[i].ulps, tn__isa()->name);
        right &= worst >= 0 && count > 1000;
    }
    assert_true(right);
}

/* ---- float64: random bits, so every exponent ---- */

enum { N64 = 100000 };

static uint64_t next(uint64_t *s)
{
    *s ^= *s << 13;
    *s ^= *s >> 7;
    return *s ^= *s << 17;
}

static void float64(void **state)
{
    (void)state;
    if (LDBL_MANT_DIG < 64) {
        print_message("skipped: long double is no wider than double here\n");
        return;
    }
    double *v = malloc(sizeof *v * N64);
    uint64_t s = 88172645463325252U;
    bool right = v != NULL;
    for (int i = 0; i < N64 && right; i++) {
        uint64_t u = next(&s);
        if (i % 2) /* or of moderate size */
            v[i] = ldexp((double)(int64_t)u, -63 + (int)(next(&s) % 24) - 12);
        else
            memcpy(&v[i], &u, 8);
    }
    for (size_t k = 0; k < sizeof functions / sizeof *functions && right; k++) {
        const function *f = &functions[k];
        double worst = 0;
        tn_scope *scope = tn_scope_open();
        tn_tensor *y = MADE(f->f(tn_from_data(v, TN_F64, TN_SHAPE(N64))));
        const double *got = tn_data(y);
        for (int i = 0; i < N64; i++) {
            long double exact = f->exact64((long double)v[i]);
            double error = error_of((long double)got[i], exact, 53, -1074, (long double)DBL_MAX);
            if (error > f->ulps64 && f->absolute == 0x1p-126 && fabsl(exact) < (long double)DBL_MIN)
                continue;
            worst = error > worst ? error : worst;
        }
        print_message("%-18s float64: largest error %.3f ulp (bound %g)\n", f->name, worst, f->ulps64 + 0.01);
        right &= worst <= f->ulps64 + 0.01; /* the reference itself is off by 2^-11 ulp */
        tn_scope_close(scope);
    }
    free(v);
    assert_true(right);
}

/* ---- pow: bases against exponents, and exponents that are numbers ---- */

enum { BASES = 1200 };

static double pow_worst(const float *a, const float *b, const float *got, int64_t n, int64_t m)
{
    double worst = 0;
    for (int64_t i = 0; i < n * m; i++) {
        double x = (double)a[i / m], y = (double)b[i % m];
        double error = error_of((long double)got[i], (long double)pow(x, y), 24, -149, (long double)FLT_MAX);
        if (error > 1.5)
            print_error("pow(%a, %a) is %a, exact %a\n", x, y, (double)got[i], pow(x, y));
        worst = error > worst ? error : worst;
    }
    return worst;
}

static void powers(void **state)
{
    static float a[BASES], b[BASES];
    static const float special[] = {0.0F,    -0.0F,     1,          -1,          2,         -2,         0.5F,
                                    -0.5F,   3,         -3,         INFINITY,    -INFINITY, NAN,        FLT_MAX,
                                    FLT_MIN, 0x1p-149F, 1.0000001F, 0.99999994F, 1e9F,      16777217.0F};
    static const double numbers[] = {2, 3, 0.5, -0.5, -1, -2, 0, 1, 4, 2.5, 1.0 / 3};
    uint64_t s = 1234567;
    (void)state;
    for (int i = 0; i < BASES; i++) {
        bool named = i < (int)(sizeof special / sizeof *special);
        a[i] = named ? special[i]
                     : ldexpf((float)(next(&s) >> 40) * 0x1p-24F + 1,
                              (int)(next(&s) % (i % 2 ? 8 : 250)) - (i % 2 ? 4 : 125));
        b[i] = named ? special[i] : ldexpf((float)(int32_t)next(&s), -31 + (int)(next(&s) % 9));
    }
    tn_scope *scope = tn_scope_open();
    tn_tensor *x = tn_from_data(a, TN_F32, TN_SHAPE(BASES, 1)), *y = tn_from_data(b, TN_F32, TN_SHAPE(1, BASES)),
              *z = MADE(tn_pow(x, y));
    double worst = pow_worst(a, b, tn_data(z), BASES, BASES);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        float k = (float)numbers[i];
        tn_tensor *w = MADE(tn_pow(x, (double)k));
        double error = pow_worst(a, &k, tn_data(w), BASES, 1);
        worst = error > worst ? error : worst;
    }
    print_message("pow                float32: %d pairs, largest error %.3f ulp (bound 1.5)\n", BASES * BASES, worst);
    assert_true(worst <= 1.5);
    tn_scope_close(scope);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(float32, make_values, free_values),
        cmocka_unit_test(float64),
        cmocka_unit_test(powers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
