/* backend/cpu/convert.inc.h: strided elements of every dtype to dense ones of the compute type bound at present, and back.
 * Before reading it define FROM_x(v) and TO_x(v) for the float-to-T and T-to-float conversions of 16-bit dtypes. */

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

#if TN_IS_FLOAT
#define FROM_FLOAT(v)  (v)
#define TO_F32(v)      ((float)(v))
#define TO_I32(v)      E(to_i32)(v)
#define TO_I64(v)      E(to_i64)(v)
#define TO_SMALL(S, v) ((S)(uint32_t)E(to_i32)(v))
#else
#define FROM_FLOAT(v)  E(from_float)(v)
#define TO_F32(v)      ((float)(v))
#define TO_I32(v)      ((int32_t)(uint32_t)(v))
#define TO_I64(v)      (v)
#define TO_SMALL(S, v) ((S)(uint32_t)(v))
#endif

LOAD(bool, uint8_t, v != 0)
LOAD(u8, uint8_t, v)
LOAD(i8, int8_t, v)
LOAD(i16, int16_t, v)
LOAD(i32, int32_t, v)
LOAD(i64, int64_t, v)
LOAD(bf16, uint16_t, FROM_FLOAT(bf16_f32(v)))
LOAD(f32, float, FROM_FLOAT(v))
LOAD(f64, double, E(from_double)(v))
STORE(bool, uint8_t, v != 0)
STORE(u8, uint8_t, TO_SMALL(uint8_t, v))
STORE(i8, int8_t, TO_SMALL(uint8_t, v))
STORE(i16, int16_t, TO_SMALL(uint16_t, v))
STORE(i32, int32_t, TO_I32(v))
STORE(i64, int64_t, TO_I64(v))
STORE(bf16, uint16_t, f32_bf16(TO_F32(v)))
STORE(f32, float, TO_F32(v))
STORE(f64, double, v)

/* float16 goes through a block of float, for which the instruction set has its own conversion (half.inc.h). */
#if TN_IS_F32
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
            d[i + j] = (T)FROM_FLOAT(block[j]);
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
#undef FROM_FLOAT
#undef TO_F32
#undef TO_I32
#undef TO_I64
#undef TO_SMALL
