/* ops/special/cpu_loops_integers.inc.h: greatest common divisors, least common multiples. */

#if !TN_IS_FLOAT && defined(__AVX512DQ__)

/* By halves and differences (Stein 1967), many numbers at a time: registers count zero bits by the exponent of 2^k, as which the
 * lowest bit becomes floating. What is left of them takes Euclid's way, each as many steps as it needs. */
enum { E(GCD_MANY) = 32 * 8 / (int)sizeof(T) };

/* k, where 2^k is the largest power of two that divides v; of 0 any */
static inline UT E(twos)(UT v)
{
#if defined(TN_IS_I64)
    const double lowest = (double)(v & -v);
    enum { DIGITS = 52, BIAS = 1023 };
#else
    const float lowest = (float)(v & -v);
    enum { DIGITS = 23, BIAS = 127 };
#endif
    UT bits;
    memcpy(&bits, &lowest, sizeof bits);
    return ((bits >> DIGITS) - BIAS) & (TN_BITS - 1);
}

/* x and y: GCD_MANY numbers each, of which those of y are lost; of 0 and 0 it is 0. */
static inline void E(gcds)(UT *x, UT *y)
{
    UT shared[E(GCD_MANY)], left;
    for (int k = 0; k < E(GCD_MANY); k++) {
        const UT a = x[k], b = y[k], odd = a ? a : b;
        shared[k] = E(twos)(a | b);
        x[k] = odd >> E(twos)(odd);
        y[k] = a ? b : 0;
    }
    do {
        left = 0;
        for (int k = 0; k < E(GCD_MANY); k++) {
            const UT a = x[k], b = y[k] >> E(twos)(y[k]), least = b && b < a ? b : a;
            x[k] = least;
            y[k] = b ? (a < b ? b : a) - least : 0;
            left |= y[k];
        }
    } while (left);
    for (int k = 0; k < E(GCD_MANY); k++)
        x[k] <<= shared[k];
}

static void E(row_many_gcd)(void *out, const void *a_, const void *b_, const void *c, int64_t n)
{
    enum { MANY = E(GCD_MANY) };
    T *o = out;
    const T *a = a_, *b = b_;
    int64_t i = 0;
    for (; i + MANY <= n; i += MANY) {
        UT x[MANY], y[MANY];
        for (int k = 0; k < MANY; k++) {
            x[k] = (UT)TN_ABS(a[i + k]);
            y[k] = (UT)TN_ABS(b[i + k]);
        }
        E(gcds)(x, y);
        memcpy(o + i, x, sizeof x);
    }
    E(row_gcd)(o + i, a + i, b + i, c, n - i);
}

/* a by a divisor d of it, which is not 0: without its twos it has an inverse among the numbers of so many bits, of which each of
 * Newton's steps finds twice as many as the one before. */
static inline T E(exact_quotient)(T a, UT d)
{
    const UT twos = E(twos)(d), odd = d >> twos;
    UT inverse = (UT)3 * odd ^ 2; /* of 5 bits */
    for (UT bits = 5; bits < TN_BITS; bits *= 2)
        inverse *= (UT)2 - odd * inverse;
    return (T)((UT)(a >> twos) * inverse);
}

static void E(row_many_lcm)(void *out, const void *a_, const void *b_, const void *c, int64_t n)
{
    enum { MANY = E(GCD_MANY) };
    T *o = out;
    const T *a = a_, *b = b_;
    int64_t i = 0;
    for (; i + MANY <= n; i += MANY) {
        T divisor[MANY];
        E(row_many_gcd)(divisor, a + i, b + i, c, MANY);
        for (int k = 0; k < MANY; k++) {
            const UT d = (UT)divisor[k];
            const T multiple = TN_MUL(E(exact_quotient)(a[i + k], d ? d : 1), b[i + k]);
            o[i + k] = TN_ABS(multiple);
        }
    }
    E(row_lcm)(o + i, a + i, b + i, c, n - i);
}

#if defined(TN_IS_I64)
#define row_gcd_i64 row_many_gcd_i64
#define row_lcm_i64 row_many_lcm_i64
#else
#define row_gcd_i32 row_many_gcd_i32
#define row_lcm_i32 row_many_lcm_i32
#endif

#endif
