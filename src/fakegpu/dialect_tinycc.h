/* fakegpu/dialect_tinycc.h: what TinyCC lacks of the GNU C of dialect_half.h and dialect_host.h, which stand behind it in every
 * unit: a variable of a thread, atomics, builtin functions. The library gives the first two (struct tn_host). */
#ifdef __TINYC__
const struct tn_host *tn_fake_host; /* set when the binary is loaded */

#define tn_item (*tn_fake_host->items())

#define __builtin_isnan(x)    ((x) != (x))
#define __builtin_isinf(x)    ((x) == (x) && (x) - (x) != 0)
#define __builtin_isfinite(x) ((x) - (x) == 0)
#define __builtin_signbit(x)  _Generic((x), float : tn_float_sign, default : tn_double_sign)(x)
#define __builtin_inff()      ((float)1e999)
#define __builtin_nanf(text)  tn_nan()
#define __builtin_memcpy      memcpy
void *memcpy(void *to, const void *from, unsigned long bytes);

static inline int tn_float_sign(float x)
{
    unsigned bits;
    memcpy(&bits, &x, sizeof bits);
    return bits >> 31;
}

static inline int tn_double_sign(double x)
{
    unsigned long long bits;
    memcpy(&bits, &x, sizeof bits);
    return bits >> 63;
}

static inline float tn_nan(void)
{
    const unsigned bits = 0x7fc00000u;
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* ---- atomics on 32 and 64 bits; the order is always the strictest ---- */
#define __ATOMIC_RELAXED      0
#define __atomic_load_n(p, o) (*(volatile __typeof__(*(p)) *)(p))
#define __atomic_compare_exchange_n(p, seen, wanted, w, o, q) \
    (sizeof *(p) == 4 \
         ? tn_exchange_32((unsigned *)(p), (unsigned *)(seen), (unsigned)(wanted)) \
         : tn_exchange_64((unsigned long long *)(p), (unsigned long long *)(seen), (unsigned long long)(wanted)))
#define __atomic_fetch_add(p, v, o) \
    (sizeof *(p) == 4 ? (long long)tn_add_32((unsigned *)(p), (unsigned)(v)) \
                      : (long long)tn_add_64((unsigned long long *)(p), (unsigned long long)(v)))

static inline int tn_exchange_32(unsigned *p, unsigned *seen, unsigned wanted)
{
    const unsigned expected = *seen;
    *seen = tn_fake_host->swap_32(p, expected, wanted);
    return *seen == expected;
}

static inline int tn_exchange_64(unsigned long long *p, unsigned long long *seen, unsigned long long wanted)
{
    const unsigned long long expected = *seen;
    *seen = tn_fake_host->swap_64(p, expected, wanted);
    return *seen == expected;
}

static inline int tn_add_32(unsigned *p, unsigned v)
{
    unsigned seen = *p;
    while (!tn_exchange_32(p, &seen, seen + v))
        ;
    return (int)seen;
}

static inline long long tn_add_64(unsigned long long *p, unsigned long long v)
{
    unsigned long long seen = *p;
    while (!tn_exchange_64(p, &seen, seen + v))
        ;
    return (long long)seen;
}

/* ---- the C library's mathematics ---- */
#define TN_MATH_1(name) \
    double name(double x); \
    float name##f(float x);
#define TN_MATH_2(name) \
    double name(double x, double y); \
    float name##f(float x, float y);
/* clang-format off */
TN_MATH_1(fabs) TN_MATH_1(exp) TN_MATH_1(exp2) TN_MATH_1(expm1) TN_MATH_1(log) TN_MATH_1(log2) TN_MATH_1(log10)
TN_MATH_1(log1p) TN_MATH_1(sqrt) TN_MATH_1(cbrt) TN_MATH_1(sin) TN_MATH_1(cos) TN_MATH_1(tan) TN_MATH_1(asin)
TN_MATH_1(acos) TN_MATH_1(atan) TN_MATH_1(sinh) TN_MATH_1(cosh) TN_MATH_1(tanh) TN_MATH_1(asinh) TN_MATH_1(acosh)
TN_MATH_1(atanh) TN_MATH_1(erf) TN_MATH_1(erfc) TN_MATH_1(lgamma) TN_MATH_1(logb) TN_MATH_1(tgamma) TN_MATH_1(floor)
TN_MATH_1(ceil) TN_MATH_1(trunc) TN_MATH_1(rint) TN_MATH_1(round)
TN_MATH_2(atan2) TN_MATH_2(hypot) TN_MATH_2(pow) TN_MATH_2(fmod) TN_MATH_2(fmin) TN_MATH_2(fmax) TN_MATH_2(copysign)
TN_MATH_2(nextafter)
    /* clang-format on */
    double ldexp(double x, int n),
    fma(double x, double y, double z);
float ldexpf(float x, int n), fmaf(float x, float y, float z);

#define TN_BUILTIN(name) name
#else
#define TN_BUILTIN(name) __builtin_##name
#endif
