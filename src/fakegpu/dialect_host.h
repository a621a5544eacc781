/* fakegpu/dialect_host.h: the kernel dialect for the host: the words of backend/gpu/kernels/prelude.h in GNU C11. It is
 * embedded as text; the fake NVRTC puts it, after the other dialect_*.h, before every unit. No header is
 * included: reading them would take longer than compiling the kernels.
 *
 * __tn_kernel, __tn_kernel_b and __tn_local are for the fake NVRTC, which rewrites them after preprocessing (translate.c). */
#define TN_HOST_DIALECT 1

#define KERNEL(name)           __tn_kernel name
#define KERNEL_B(name)         __tn_kernel_b name
#define KERNEL_N(name, items)  __tn_kernel(items) name
#define KERNEL_BN(name, items) __tn_kernel_b(items) name
#define LOCAL_MEM(T, name, n)  __tn_local(T, name, n)
#define FIXED                  const
#define GLOBAL
#define LOCAL
#define DEVICE      static inline __attribute__((unused))
#define CONST_TABLE static const
#define ALIGNED(n)  __attribute__((aligned(n)))
#define RESTRICT    __restrict__

typedef signed char i8;
typedef unsigned char u8;
typedef short i16;
typedef unsigned short u16;
typedef int i32;
typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;
typedef float f32;

/* ---- work items ---- */
#ifndef tn_item
static _Thread_local struct tn_items tn_item;
#endif

#define GROUP_ID(d)    (tn_item.group[d])
#define LOCAL_ID(d)    (tn_item.local[d])
#define LOCAL_SIZE(d)  (tn_item.size[d])
#define NUM_GROUPS(d)  (tn_item.groups[d])
#define GLOBAL_ID(d)   ((i64)GROUP_ID(d) * LOCAL_SIZE(d) + LOCAL_ID(d))
#define GLOBAL_SIZE(d) ((i64)NUM_GROUPS(d) * LOCAL_SIZE(d))
#define WARP           32

/* Others run while one waits: its own ids are put back afterwards. */
DEVICE void tn_barrier(int site, int all)
{
    const int x = LOCAL_ID(0), y = LOCAL_ID(1), z = LOCAL_ID(2);
    tn_item.barrier(tn_item.run, site, all);
    LOCAL_ID(0) = x;
    LOCAL_ID(1) = y;
    LOCAL_ID(2) = z;
}

DEVICE void tn_sync_warp(int site)
{
    const int x = LOCAL_ID(0), y = LOCAL_ID(1), z = LOCAL_ID(2);
    tn_item.sync_warp(tn_item.run, site);
    LOCAL_ID(0) = x;
    LOCAL_ID(1) = y;
    LOCAL_ID(2) = z;
}

DEVICE u64 tn_shuffle(int site, u64 v, int by, int down)
{
    const int x = LOCAL_ID(0), y = LOCAL_ID(1), z = LOCAL_ID(2);
    const u64 got = tn_item.shuffle(tn_item.run, site, v, by, down);
    LOCAL_ID(0) = x;
    LOCAL_ID(1) = y;
    LOCAL_ID(2) = z;
    return got;
}

#define BARRIER()                tn_barrier(__COUNTER__, 0)
#define BARRIER_ALL()            tn_barrier(__COUNTER__, 1)
#define SYNC_WARP()              tn_sync_warp(__COUNTER__)
#define TN_SHUFFLE_THERE         1
#define SHUFFLE_XOR_U32(v, mask) ((u32)tn_shuffle(__COUNTER__, (u32)(v), mask, 0))
#define SHUFFLE_XOR_U64(v, mask) tn_shuffle(__COUNTER__, (u64)(v), mask, 0)
#define SHUFFLE_DOWN_U32(v, by)  ((u32)tn_shuffle(__COUNTER__, (u32)(v), by, 1))

/* ---- bits ---- */
#define MULHI_U32(a, b) ((u32)((u64)(u32)(a) * (u32)(b) >> 32))

#define AS_F32(bits) tn_float_of_bits(bits)
#define AS_U32(x)    tn_bits_of_float(x)

DEVICE double AS_F64(u64 bits)
{
    double x;
    __builtin_memcpy(&x, &bits, sizeof x);
    return x;
}

DEVICE u64 AS_U64(double x)
{
    u64 bits;
    __builtin_memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* ---- float to integer: saturating, NaN gives 0 ---- */
DEVICE i32 SATURATE_I32(double x)
{
    return x >= 2147483647.0 ? 2147483647 : x <= -2147483648.0 ? -2147483647 - 1 : x == x ? (i32)x : 0;
}

DEVICE i64 SATURATE_I64(double x)
{
    const i64 most = 0x7fffffffffffffffll;
    return x >= 9223372036854775808.0 ? most : x <= -9223372036854775808.0 ? -most - 1 : x == x ? (i64)x : 0;
}

/* ---- atomics: they return the old value ---- */
#define ATOMIC_ADD_I32(p, v) __atomic_fetch_add((i32 *)(p), (i32)(v), __ATOMIC_RELAXED)
#define ATOMIC_ADD_I64(p, v) __atomic_fetch_add((i64 *)(p), (i64)(v), __ATOMIC_RELAXED)

DEVICE u32 ATOMIC_CAS_U32(u32 *p, u32 expected, u32 desired)
{
    __atomic_compare_exchange_n(p, &expected, desired, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    return expected;
}

DEVICE u64 ATOMIC_CAS_U64(u64 *p, u64 expected, u64 desired)
{
    __atomic_compare_exchange_n(p, &expected, desired, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    return expected;
}

#define ATOMIC_LOAD_U64(p) ATOMIC_CAS_U64((u64 *)(p), 0, 0) /* as an atomic: sanitizers see the others' */

DEVICE f32 ATOMIC_ADD_F32(f32 *p, f32 v)
{
    u32 *const word = (u32 *)p, seen = __atomic_load_n(word, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(word, &seen, AS_U32(AS_F32(seen) + v), 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
    return AS_F32(seen);
}

DEVICE double ATOMIC_ADD_F64(double *p, double v)
{
    u64 *const word = (u64 *)p, seen = __atomic_load_n(word, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(word, &seen, AS_U64(AS_F64(seen) + v), 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
    return AS_F64(seen);
}

DEVICE i32 ATOMIC_MAX_I32(i32 *p, i32 v)
{
    i32 seen = __atomic_load_n(p, __ATOMIC_RELAXED);
    while (seen < v && !__atomic_compare_exchange_n(p, &seen, v, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
    return seen;
}

DEVICE i32 ATOMIC_MIN_I32(i32 *p, i32 v)
{
    i32 seen = __atomic_load_n(p, __ATOMIC_RELAXED);
    while (seen > v && !__atomic_compare_exchange_n(p, &seen, v, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
    return seen;
}

/* items of a group run one at a time */
#define LOCAL_ADD_I32(p, v) ATOMIC_ADD_I32(p, v)
#define LOCAL_MAX_I32(p, v) ATOMIC_MAX_I32(p, v)

/* ---- mathematics: by the type of the first argument, as on the other sides ---- */
#define INFINITY          __builtin_inff()
#define NAN               __builtin_nanf("")
#define TN_F1(name, x)    _Generic((x), f32 : TN_BUILTIN(name##f), default : TN_BUILTIN(name))(x)
#define TN_F2(name, x, y) _Generic((x) + (y), f32 : TN_BUILTIN(name##f), default : TN_BUILTIN(name))(x, y)
#define FMA(a, b, c)      _Generic((a) + (b) + (c), f32 : TN_BUILTIN(fmaf), default : TN_BUILTIN(fma))(a, b, c)
#define fma(a, b, c)      FMA(a, b, c)
#define fabs(x)           TN_F1(fabs, x)
#define exp(x)            TN_F1(exp, x)
#define exp2(x)           TN_F1(exp2, x)
#define expm1(x)          TN_F1(expm1, x)
#define log(x)            TN_F1(log, x)
#define log2(x)           TN_F1(log2, x)
#define log10(x)          TN_F1(log10, x)
#define log1p(x)          TN_F1(log1p, x)
#define sqrt(x)           TN_F1(sqrt, x)
#define cbrt(x)           TN_F1(cbrt, x)
#define sin(x)            TN_F1(sin, x)
#define cos(x)            TN_F1(cos, x)
#define tan(x)            TN_F1(tan, x)
#define asin(x)           TN_F1(asin, x)
#define acos(x)           TN_F1(acos, x)
#define atan(x)           TN_F1(atan, x)
#define sinh(x)           TN_F1(sinh, x)
#define cosh(x)           TN_F1(cosh, x)
#define tanh(x)           TN_F1(tanh, x)
#define asinh(x)          TN_F1(asinh, x)
#define acosh(x)          TN_F1(acosh, x)
#define atanh(x)          TN_F1(atanh, x)
#define erf(x)            TN_F1(erf, x)
#define erfc(x)           TN_F1(erfc, x)
#define lgamma(x)         TN_F1(lgamma, x)
#define logb(x)           TN_F1(logb, x)
#define tgamma(x)         TN_F1(tgamma, x)
#define floor(x)          TN_F1(floor, x)
#define ceil(x)           TN_F1(ceil, x)
#define trunc(x)          TN_F1(trunc, x)
#define rint(x)           TN_F1(rint, x)
#define round(x)          TN_F1(round, x)
#define atan2(x, y)       TN_F2(atan2, x, y)
#define hypot(x, y)       TN_F2(hypot, x, y)
#define pow(x, y)         TN_F2(pow, x, y)
#define fmod(x, y)        TN_F2(fmod, x, y)
#define fmin(x, y)        TN_F2(fmin, x, y)
#define fmax(x, y)        TN_F2(fmax, x, y)
#define copysign(x, y)    TN_F2(copysign, x, y)
#define nextafter(x, y)   TN_F2(nextafter, x, y)
#define ldexp(x, n)       _Generic((x), f32 : TN_BUILTIN(ldexpf), default : TN_BUILTIN(ldexp))(x, n)
#define isnan(x)          __builtin_isnan(x)
#define isinf(x)          __builtin_isinf(x)
#define isfinite(x)       __builtin_isfinite(x)
#define signbit(x)        (__builtin_signbit(x) != 0)
