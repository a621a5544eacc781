/* backend/cpu/convert.inc.h: strided elements of every dtype (core/dtypes.def) to dense ones of the compute type bound at
 * present, and back.
 * Before reading it define E(from_f32), E(from_f64), and for floating T E(to_i32), E(to_i64): conversions of one element. */

/* A loop of its own for stride 1, which vectorises. */
#define LOAD(name, S, convert) \
    static void E(load_##name)(void *dst, const void *src, int64_t stride, int64_t n) \
    { \
        T *d = dst; \
        const S *s = src; \
        if (stride == 1) { \
            for (int64_t i = 0; i < n; i++) { \
                S v = s[i]; \
                d[i] = (T)(convert); \
            } \
            return; \
        } \
        for (int64_t i = 0; i < n; i++) { \
            S v = s[i * stride]; \
            d[i] = (T)(convert); \
        } \
    }

#define STORE(name, S, convert) \
    static void E(store_##name)(void *dst, int64_t stride, const void *src, int64_t n) \
    { \
        S *d = dst; \
        const T *s = src; \
        if (stride == 1) { \
            for (int64_t i = 0; i < n; i++) { \
                T v = s[i]; \
                d[i] = (S)(convert); \
            } \
            return; \
        } \
        for (int64_t i = 0; i < n; i++) { \
            T v = s[i]; \
            d[i * stride] = (S)(convert); \
        } \
    }

/* Integers are stored by the type that their dtype computes in: what it holds too much is cut off. */
#if TN_IS_FLOAT
#define TO_I32(v) ((uint32_t)E(to_i32)(v))
#define TO_I64(v) E(to_i64)(v)
#define TO_U64(v) \
    ((v) >= K(9223372036854775808.0) ? ((v) >= K(18446744073709551616.0) ? UINT64_MAX : (uint64_t)(v)) \
                                     : (uint64_t)E(to_i64)(v))
#else
#define TO_I32(v) ((uint32_t)(v))
#define TO_I64(v) (v)
#define TO_U64(v) (v)
#endif
#define TO_F32(v) ((float)(v))

/* What a row of the list loads and stores, by kind. */
#define LOAD_BOOL(token, S)           LOAD(token, S, v != 0)
#define LOAD_UINT(token, S)           LOAD(token, S, v)
#define LOAD_INT(token, S)            LOAD(token, S, v)
#define LOAD_HALF(token, S)           /* below */
#define LOAD_BFLOAT(token, S)         LOAD(token, S, E(from_f32)(bf16_f32(v)))
#define LOAD_FLOAT(token, S)          LOAD(token, S, E(from_##token)(v))
#define STORE_BOOL(token, S, compute) STORE(token, S, v != 0)
#define STORE_UINT(token, S, compute) STORE(token, S, sizeof(S) == 8 ? (S)TO_U64(v) : (S)TO_##compute(v))
#define STORE_INT(token, S, compute)  STORE(token, S, TO_##compute(v))
#define STORE_HALF(token, S, compute) /* below */
#if TN_IS_F32
#define STORE_BFLOAT(token, S, compute) /* below */
#else
#define STORE_BFLOAT(token, S, compute) STORE(token, S, f32_bf16(TO_F32(v)))
#endif
#define STORE_FLOAT(token, S, compute) STORE(token, S, v)
#define DTYPE(ID, token, name, storage, kind, has, digits, compute, ...) \
    LOAD_##kind(token, storage) STORE_##kind(token, storage, compute)
#include "core/dtypes.def"

/* As store_i64, where none of many is far from 0: before AVX-512 each of them becomes an integer of 64 bits for itself.
 * 2^52 and a number below are a double whose low bits are that number rounded. */
#if TN_IS_FLOAT
static void E(store_near_i64)(void *dst, int64_t stride, const void *src, int64_t n)
{
    enum { MANY = 64 };
    const double above = 4503599627370496.0;
    int64_t *d = dst, i = 0;
    const T *s = src;
    for (; stride == 1 && i + MANY <= n; i += MANY) {
        int32_t far = 0;
        for (int k = 0; k < MANY; k++)
            far |= !(M(fabs)(s[i + k]) < K(2251799813685248));
        if (far) {
            E(store_i64)(d + i, 1, s + i, MANY);
            continue;
        }
        for (int k = 0; k < MANY; k++) {
            const double v = (double)s[i + k], size = fabs(v), sum = size + above;
            const uint64_t whole = f64_bits(sum) - f64_bits(above) - (sum - above > size ? 1U : 0U);
            const uint64_t below = -(f64_bits(v) >> 63);
            d[i + k] = (int64_t)((whole ^ below) - below);
        }
    }
    E(store_i64)(d + i * stride, stride, s + i, n - i);
}
#if TN_IS_F32
#define store_i64_f32 store_near_i64_f32
#else
#define store_i64_f64 store_near_i64_f64
#endif
#endif

/* As store_i32, with fewer comparisons than what gcc makes of it. */
#if TN_IS_F32 && defined(__SSE2__)
static void store_whole_i32(void *dst, int64_t stride, const void *src, int64_t n)
{
    enum { MANY = TN_REGISTER / sizeof(float) };
    int32_t *d = dst;
    const float *s = src;
    int64_t i = 0;
    for (; stride == 1 && i + MANY <= n; i += MANY)
        *(uu32 *)(void *)(d + i) = (ru32)whole_of(*(const uf32 *)(s + i));
    store_i32_f32(d + i * stride, stride, s + i, n - i);
}
#define store_i32_f32 store_whole_i32

/* In one loop: by way of a block of floats the destination is written in bursts, which farther memory takes slowly. */
static void bfloats_to_ints(void *dst, const void *src, int64_t stride, int64_t n)
{
    enum { MANY = TN_REGISTER / sizeof(float) };
    int32_t *d = dst;
    const uint16_t *s = src;
    float rest[MANY];
    int64_t i = 0;
    for (; i + MANY <= n; i += MANY)
        *(uu32 *)(void *)(d + i) = (ru32)whole_of(widened_bfloats(s + i));
    load_bf16_f32(rest, s + i, stride, n - i);
    store_i32_f32(d + i, 1, rest, n - i);
}
#define BFLOATS_TO_INTS bfloats_to_ints
#elif TN_IS_F32
#define BFLOATS_TO_INTS NULL
#endif

#if TN_IS_FLOAT && !TN_IS_F32 && defined(__SSE2__)
static void store_whole_i32_f64(void *dst, int64_t stride, const void *src, int64_t n)
{
    enum { MANY = TN_REGISTER / sizeof(double) };
    int32_t *d = dst;
    const double *s = src;
    int64_t i = 0;
    for (; stride == 1 && i + MANY <= n; i += MANY)
        store_whole_doubles(d + i, s + i);
    store_i32_f64(d + i * stride, stride, s + i, n - i);
}
#define store_i32_f64 store_whole_i32_f64
#endif

/* float16 goes through a block of float, for which the instruction set has its own conversion (half.inc.h). */
#if TN_IS_F32
static void E(store_bf16)(void *dst, int64_t stride, const void *src, int64_t n)
{
    floats_to_bfloats(dst, stride, src, n);
}

static void E(load_f16)(void *dst, const void *src, int64_t stride, int64_t n)
{
    halves_to_floats(dst, src, stride, n);
}

static void E(store_f16)(void *dst, int64_t stride, const void *src, int64_t n)
{
    floats_to_halves(dst, stride, src, n);
}
#else
static void E(load_f16)(void *dst, const void *src, int64_t stride, int64_t n)
{
    T *d = dst;
    const uint16_t *s = src;
    float block[256];
    for (int64_t i = 0; i < n; i += 256) {
        int64_t m = n - i < 256 ? n - i : 256;
        halves_to_floats(block, s + i * stride, stride, m);
        for (int64_t j = 0; j < m; j++)
            d[i + j] = (T)E(from_f32)(block[j]);
    }
}

static void E(store_f16)(void *dst, int64_t stride, const void *src, int64_t n)
{
    uint16_t *d = dst;
    const T *s = src;
    float block[256];
    for (int64_t i = 0; i < n; i += 256) {
        int64_t m = n - i < 256 ? n - i : 256;
        for (int64_t j = 0; j < m; j++)
            block[j] = TO_F32(s[i + j]);
        floats_to_halves(d + i * stride, stride, block, m);
    }
}
#endif

#undef LOAD
#undef STORE
#undef TO_F32
#undef TO_I32
#undef TO_I64
#undef TO_U64
#undef LOAD_BOOL
#undef LOAD_UINT
#undef LOAD_INT
#undef LOAD_HALF
#undef LOAD_BFLOAT
#undef LOAD_FLOAT
#undef STORE_BOOL
#undef STORE_UINT
#undef STORE_INT
#undef STORE_HALF
#undef STORE_BFLOAT
#undef STORE_FLOAT

static bool E(has_zero)(const void *x_, int64_t n)
{
    const T *x = x_;
    int64_t i = 0;
    for (; i + 64 <= n; i += 64) { /* a vector at a time: leaving a loop early keeps it from being one */
        int32_t zeros = 0;
        for (int k = 0; k < 64; k++)
            zeros |= x[i + k] == 0;
        if (zeros)
            return true;
    }
    for (; i < n; i++)
        if (x[i] == 0)
            return true;
    return false;
}
