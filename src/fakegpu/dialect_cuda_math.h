/* fakegpu/dialect_cuda_math.h: the mathematics and intrinsics of CUDA C, behind dialect_cuda.h. Embedded as text. */
/* ---- mathematics: functions of float have an f, or a float to know them by; integers become double ---- */
template <typename T> struct tn_integral {
    static constexpr bool yes = (T)0.5 == (T)0;
};
template <bool, typename T> struct tn_if {
};
template <typename T> struct tn_if<true, T> {
    typedef T type;
};
#define TN_MATH_1(name) \
    extern "C" double name(double) noexcept; \
    extern "C" float name##f(float) noexcept; \
    static inline float name(float x) \
    { \
        return __builtin_##name##f(x); \
    } \
    template <typename T> static inline typename tn_if<tn_integral<T>::yes, double>::type name(T x) \
    { \
        return __builtin_##name((double)x); \
    }
#define TN_MATH_2(name) \
    extern "C" double name(double, double) noexcept; \
    extern "C" float name##f(float, float) noexcept; \
    static inline float name(float x, float y) \
    { \
        return __builtin_##name##f(x, y); \
    } \
    template <typename T, typename U> \
    static inline typename tn_if<tn_integral<T>::yes || tn_integral<U>::yes || sizeof(T) != sizeof(U), double>::type \
    name(T x, U y) \
    { \
        return __builtin_##name((double)x, (double)y); \
    }
/* clang-format off */
TN_MATH_1(fabs) TN_MATH_1(exp) TN_MATH_1(exp2) TN_MATH_1(expm1) TN_MATH_1(log) TN_MATH_1(log2) TN_MATH_1(log10)
TN_MATH_1(log1p) TN_MATH_1(sqrt) TN_MATH_1(cbrt) TN_MATH_1(sin) TN_MATH_1(cos) TN_MATH_1(tan) TN_MATH_1(asin)
TN_MATH_1(acos) TN_MATH_1(atan) TN_MATH_1(sinh) TN_MATH_1(cosh) TN_MATH_1(tanh) TN_MATH_1(asinh) TN_MATH_1(acosh)
TN_MATH_1(atanh) TN_MATH_1(erf) TN_MATH_1(erfc) TN_MATH_1(lgamma) TN_MATH_1(tgamma) TN_MATH_1(floor) TN_MATH_1(ceil)
TN_MATH_1(trunc) TN_MATH_1(rint) TN_MATH_1(round) TN_MATH_1(nearbyint) TN_MATH_1(logb)
TN_MATH_2(pow) TN_MATH_2(fmod) TN_MATH_2(fmin) TN_MATH_2(fmax) TN_MATH_2(atan2) TN_MATH_2(hypot) TN_MATH_2(copysign)
TN_MATH_2(nextafter) TN_MATH_2(remainder) TN_MATH_2(fdim)
    /* clang-format on */
    extern "C" double fma(double, double, double) noexcept;
extern "C" float fmaf(float, float, float) noexcept;
extern "C" double ldexp(double, int) noexcept;
extern "C" float ldexpf(float, int) noexcept;
extern "C" double frexp(double, int *) noexcept;
extern "C" float frexpf(float, int *) noexcept;
extern "C" double modf(double, double *) noexcept;
extern "C" float modff(float, float *) noexcept;
extern "C" long lrint(double) noexcept;
extern "C" long lrintf(float) noexcept;
extern "C" long lround(double) noexcept;
extern "C" long lroundf(float) noexcept;
extern "C" double j0(double) noexcept;
extern "C" double j1(double) noexcept;
static inline float fma(float a, float b, float c)
{
    return __builtin_fmaf(a, b, c);
}
static inline float ldexp(float x, int n)
{
    return __builtin_ldexpf(x, n);
}
static inline float rsqrtf(float x)
{
    return (float)(1.0 / __builtin_sqrt(x));
}
static inline double rsqrt(double x)
{
    return 1.0 / __builtin_sqrt(x);
}
static inline float rsqrt(float x)
{
    return rsqrtf(x);
}
static inline float rcbrtf(float x)
{
    return 1.0f / __builtin_cbrtf(x);
}
static inline double rcbrt(double x)
{
    return 1.0 / __builtin_cbrt(x);
}
static inline void sincosf(float x, float *s, float *c)
{
    *s = __builtin_sinf(x);
    *c = __builtin_cosf(x);
}
static inline void sincos(double x, double *s, double *c)
{
    *s = __builtin_sin(x);
    *c = __builtin_cos(x);
}
static inline float sinpif(float x)
{
    return (float)__builtin_sin(3.14159265358979323846 * x);
}
static inline float cospif(float x)
{
    return (float)__builtin_cos(3.14159265358979323846 * x);
}
static inline double sinpi(double x)
{
    return __builtin_sin(3.14159265358979323846 * x);
}
static inline double cospi(double x)
{
    return __builtin_cos(3.14159265358979323846 * x);
}
static inline float exp10f(float x)
{
    return __builtin_powf(10.0f, x);
}
static inline double exp10(double x)
{
    return __builtin_pow(10.0, x);
}
static inline float normcdff(float x)
{
    return 0.5f * __builtin_erfcf(-x * 0.70710678f);
}
static inline double normcdf(double x)
{
    return 0.5 * __builtin_erfc(-x * 0.70710678118654752440);
}
static inline bool isnan(float x)
{
    return __builtin_isnan(x);
}
static inline bool isnan(double x)
{
    return __builtin_isnan(x);
}
static inline bool isinf(float x)
{
    return __builtin_isinf(x);
}
static inline bool isinf(double x)
{
    return __builtin_isinf(x);
}
static inline bool isfinite(float x)
{
    return __builtin_isfinite(x);
}
static inline bool isfinite(double x)
{
    return __builtin_isfinite(x);
}
static inline bool signbit(float x)
{
    return __builtin_signbit(x) != 0;
}
static inline bool signbit(double x)
{
    return __builtin_signbit(x) != 0;
}
static inline int abs(int x)
{
    return x < 0 ? -x : x;
}
static inline long abs(long x)
{
    return x < 0 ? -x : x;
}
static inline long long abs(long long x)
{
    return x < 0 ? -x : x;
}
static inline float abs(float x)
{
    return __builtin_fabsf(x);
}
static inline double abs(double x)
{
    return __builtin_fabs(x);
}
static inline long long llabs(long long x)
{
    return x < 0 ? -x : x;
}
#define TN_LIMITS(R, T, U) \
    static inline R min(T a, U b) \
    { \
        return (R)a < (R)b ? (R)a : (R)b; \
    } \
    static inline R max(T a, U b) \
    { \
        return (R)a > (R)b ? (R)a : (R)b; \
    }
TN_LIMITS(int, int, int)
TN_LIMITS(unsigned, unsigned, unsigned)
TN_LIMITS(unsigned, int, unsigned)
TN_LIMITS(unsigned, unsigned, int)
TN_LIMITS(long, long, long)
TN_LIMITS(unsigned long, unsigned long, unsigned long)
TN_LIMITS(long long, long long, long long)
TN_LIMITS(unsigned long long, unsigned long long, unsigned long long)
static inline float min(float a, float b)
{
    return __builtin_fminf(a, b);
}
static inline float max(float a, float b)
{
    return __builtin_fmaxf(a, b);
}
static inline double min(double a, double b)
{
    return __builtin_fmin(a, b);
}
static inline double max(double a, double b)
{
    return __builtin_fmax(a, b);
}
static inline double min(float a, double b)
{
    return __builtin_fmin(a, b);
}
static inline double max(float a, double b)
{
    return __builtin_fmax(a, b);
}
static inline double min(double a, float b)
{
    return __builtin_fmin(a, b);
}
static inline double max(double a, float b)
{
    return __builtin_fmax(a, b);
}

/* ---- intrinsics: the fast ones are as exact as the others here ---- */
#define TN_FAST(name, f) \
    static inline float name(float x) \
    { \
        return __builtin_##f(x); \
    }
/* clang-format off */
TN_FAST(__expf, expf) TN_FAST(__logf, logf) TN_FAST(__log2f, log2f) TN_FAST(__log10f, log10f) TN_FAST(__sinf, sinf)
TN_FAST(__cosf, cosf) TN_FAST(__tanf, tanf) TN_FAST(__fsqrt_rn, sqrtf) TN_FAST(__tanhf, tanhf)
    /* clang-format on */
    static inline float __exp10f(float x)
{
    return exp10f(x);
}
static inline float __powf(float x, float y)
{
    return __builtin_powf(x, y);
}
static inline float __fdividef(float x, float y)
{
    return x / y;
}
static inline void __sincosf(float x, float *s, float *c)
{
    sincosf(x, s, c);
}
static inline float __saturatef(float x)
{
    return x > 0 ? x < 1 ? x : 1 : 0;
}
static inline float __frsqrt_rn(float x)
{
    return rsqrtf(x);
}
static inline float __frcp_rn(float x)
{
    return 1.0f / x;
}
static inline float __fadd_rn(float x, float y)
{
    return x + y;
}
static inline float __fsub_rn(float x, float y)
{
    return x - y;
}
static inline float __fmul_rn(float x, float y)
{
    return x * y;
}
static inline float __fdiv_rn(float x, float y)
{
    return x / y;
}
static inline float __fmaf_rn(float x, float y, float z)
{
    return __builtin_fmaf(x, y, z);
}
static inline double __dadd_rn(double x, double y)
{
    return x + y;
}
static inline double __dsub_rn(double x, double y)
{
    return x - y;
}
static inline double __dmul_rn(double x, double y)
{
    return x * y;
}
static inline double __ddiv_rn(double x, double y)
{
    return x / y;
}
static inline double __dsqrt_rn(double x)
{
    return __builtin_sqrt(x);
}
static inline double __fma_rn(double x, double y, double z)
{
    return __builtin_fma(x, y, z);
}
static inline int __float_as_int(float x)
{
    return tn_value<int>(tn_bits(x));
}
static inline unsigned __float_as_uint(float x)
{
    return tn_value<unsigned>(tn_bits(x));
}
static inline float __int_as_float(int x)
{
    return tn_value<float>(tn_bits(x));
}
static inline float __uint_as_float(unsigned x)
{
    return tn_value<float>(tn_bits(x));
}
static inline long long __double_as_longlong(double x)
{
    return tn_value<long long>(tn_bits(x));
}
static inline double __longlong_as_double(long long x)
{
    return tn_value<double>(tn_bits(x));
}
static inline int __double2loint(double x)
{
    return (int)__double_as_longlong(x);
}
static inline int __double2hiint(double x)
{
    return (int)(__double_as_longlong(x) >> 32);
}
static inline double __hiloint2double(int high, int low)
{
    return __longlong_as_double((long long)high << 32 | (unsigned)low);
}
/* float to integer: saturating, NaN gives 0 */
template <typename T> static inline T tn_saturated(double x, double least, double most)
{
    const T top = (T) ~(T)0 < 0 ? (T) ~((T)1 << (sizeof(T) * 8 - 1)) : (T) ~(T)0;
    return x != x ? 0 : x >= most ? top : x <= least ? (T)least : (T)x;
}
#define TN_TO_INTEGER(from, T, F, least, most) \
    static inline T __##from##_rz(F x) \
    { \
        return tn_saturated<T>(__builtin_trunc(x), least, most); \
    } \
    static inline T __##from##_rn(F x) \
    { \
        return tn_saturated<T>(__builtin_rint(x), least, most); \
    } \
    static inline T __##from##_ru(F x) \
    { \
        return tn_saturated<T>(__builtin_ceil(x), least, most); \
    } \
    static inline T __##from##_rd(F x) \
    { \
        return tn_saturated<T>(__builtin_floor(x), least, most); \
    }
TN_TO_INTEGER(float2int, int, float, -2147483648.0, 2147483647.0)
TN_TO_INTEGER(double2int, int, double, -2147483648.0, 2147483647.0)
TN_TO_INTEGER(float2uint, unsigned, float, 0.0, 4294967295.0)
TN_TO_INTEGER(double2uint, unsigned, double, 0.0, 4294967295.0)
TN_TO_INTEGER(float2ll, long long, float, -9223372036854775808.0, 9223372036854775807.0)
TN_TO_INTEGER(double2ll, long long, double, -9223372036854775808.0, 9223372036854775807.0)
TN_TO_INTEGER(float2ull, unsigned long long, float, 0.0, 18446744073709551615.0)
TN_TO_INTEGER(double2ull, unsigned long long, double, 0.0, 18446744073709551615.0)
static inline float __int2float_rn(int x)
{
    return (float)x;
}
static inline float __uint2float_rn(unsigned x)
{
    return (float)x;
}
static inline float __ll2float_rn(long long x)
{
    return (float)x;
}
static inline float __ull2float_rn(unsigned long long x)
{
    return (float)x;
}
static inline float __double2float_rn(double x)
{
    return (float)x;
}
static inline double __int2double_rn(int x)
{
    return x;
}
static inline double __uint2double_rn(unsigned x)
{
    return x;
}
static inline double __ll2double_rn(long long x)
{
    return (double)x;
}
static inline int __mul24(int a, int b)
{
    return (int)((unsigned)(a << 8 >> 8) * (unsigned)(b << 8 >> 8));
}
static inline unsigned __umul24(unsigned a, unsigned b)
{
    return (a & 0xffffffu) * (b & 0xffffffu);
}
static inline int __mulhi(int a, int b)
{
    return (int)((long long)a * b >> 32);
}
static inline unsigned __umulhi(unsigned a, unsigned b)
{
    return (unsigned)((unsigned long long)a * b >> 32);
}
static inline long long __mul64hi(long long a, long long b)
{
    return (long long)((__int128)a * b >> 64);
}
static inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b)
{
    return (unsigned long long)((unsigned __int128)a * b >> 64);
}
static inline int __popc(unsigned x)
{
    return __builtin_popcount(x);
}
static inline int __popcll(unsigned long long x)
{
    return __builtin_popcountll(x);
}
static inline int __clz(int x)
{
    return x ? __builtin_clz((unsigned)x) : 32;
}
static inline int __clzll(long long x)
{
    return x ? __builtin_clzll((unsigned long long)x) : 64;
}
static inline int __ffs(int x)
{
    return __builtin_ffs(x);
}
static inline int __ffsll(long long x)
{
    return __builtin_ffsll(x);
}
static inline unsigned __brev(unsigned x)
{
    unsigned r = 0;
    for (int i = 0; i < 32; i++)
        r |= (x >> i & 1) << (31 - i);
    return r;
}
static inline unsigned long long __brevll(unsigned long long x)
{
    return (unsigned long long)__brev((unsigned)x) << 32 | __brev((unsigned)(x >> 32));
}
static inline unsigned __byte_perm(unsigned a, unsigned b, unsigned s)
{
    const unsigned long long both = (unsigned long long)b << 32 | a;
    unsigned r = 0;
    for (int i = 0; i < 4; i++)
        r |= (unsigned)(both >> (s >> 4 * i & 7) * 8 & 255) << 8 * i;
    return r;
}
static inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned by)
{
    return (unsigned)(((unsigned long long)high << 32 | low) << (by & 31) >> 32);
}
static inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned by)
{
    return (unsigned)(((unsigned long long)high << 32 | low) >> (by & 31));
}
static inline unsigned __usad(unsigned a, unsigned b, unsigned c)
{
    return (a > b ? a - b : b - a) + c;
}
static inline unsigned __sad(int a, int b, unsigned c)
{
    return (unsigned)(a > b ? a - b : b - a) + c;
}
