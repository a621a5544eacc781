/* backend/cpu/isa_gemm.c: compiled once per instruction set, with contraction on (a * b + c is one fused instruction where
 * there is one). */
#include "backend/cpu/isa.h"

#define JOIN2(a, b) a##b
#define JOIN(a, b)  JOIN2(a, b)

#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

/* Registers: MR x 2 accumulators, 2 of b, 1 of a. */
#if defined(__AVX512F__)
#define VECTOR_BYTES 64
#define MR           14
#elif defined(__AVX2__)
#define VECTOR_BYTES 32
#define MR           6
#elif defined(__aarch64__)
#define VECTOR_BYTES 16
#define MR           12
#else
#define VECTOR_BYTES 16
#define MR           6
#endif

typedef float vec_f32 __attribute__((vector_size(VECTOR_BYTES)));
typedef double vec_f64 __attribute__((vector_size(VECTOR_BYTES)));
typedef uint32_t vec_i32 __attribute__((vector_size(VECTOR_BYTES)));
typedef uint64_t vec_i64 __attribute__((vector_size(VECTOR_BYTES)));

#define T           float
#define VEC         vec_f32
#define E(name)     name##_f32
#define TN_IS_FLOAT 1
#define TN_IS_WORD  1
#include "backend/cpu/gemm.inc.h"
#undef T
#undef VEC
#undef E
#undef TN_IS_FLOAT
#undef TN_IS_WORD

#define T           double
#define VEC         vec_f64
#define E(name)     name##_f64
#define TN_IS_FLOAT 1
#define TN_IS_WORD  0
#include "backend/cpu/gemm.inc.h"
#undef T
#undef VEC
#undef E
#undef TN_IS_FLOAT
#undef TN_IS_WORD

#define T           uint32_t
#define VEC         vec_i32
#define E(name)     name##_i32
#define TN_IS_FLOAT 0
#define TN_IS_WORD  1
#include "backend/cpu/gemm.inc.h"
#undef T
#undef VEC
#undef E
#undef TN_IS_FLOAT
#undef TN_IS_WORD

#define T           uint64_t
#define VEC         vec_i64
#define E(name)     name##_i64
#define TN_IS_FLOAT 0
#define TN_IS_WORD  0
#include "backend/cpu/gemm.inc.h"
#undef T
#undef VEC
#undef E
#undef TN_IS_FLOAT
#undef TN_IS_WORD

/* sum of a[i] * b[i] of bfloat16, which is a float's upper half: those at even places, then those at odd ones. */
static double dot_bf16(const void *a_, const void *b_, int64_t n)
{
    typedef vec_i32 loose __attribute__((aligned(2), may_alias));
    const uint16_t *a = a_, *b = b_;
    const int64_t step = 2 * VL_f32;
    vec_f32 s[4] = {{0}};
    int64_t i = 0;
    for (; i + 2 * step <= n; i += 2 * step) {
        UNROLL
        for (int j = 0; j < 2; j++) {
            const vec_i32 x = *(const loose *)(const void *)(a + i + j * step);
            const vec_i32 y = *(const loose *)(const void *)(b + i + j * step);
            s[2 * j] += (vec_f32)(x << 16) * (vec_f32)(y << 16);
            s[2 * j + 1] += (vec_f32)(x & 0xffff0000U) * (vec_f32)(y & 0xffff0000U);
        }
    }
    s[0] = (s[0] + s[1]) + (s[2] + s[3]);
    double r = 0;
    for (int j = 0; j < VL_f32; j++)
        r += (double)s[0][j];
    for (; i < n; i++) {
        const uint32_t bits[2] = {(uint32_t)a[i] << 16, (uint32_t)b[i] << 16};
        float v[2];
        memcpy(v, bits, sizeof v);
        r += (double)v[0] * (double)v[1];
    }
    return r;
}

#if VECTOR_BYTES > 16
/* As many floats as a vector holds, of bfloat16. */
static inline vec_f32 widen_bf16(const uint16_t *x)
{
    typedef uint16_t half __attribute__((vector_size(VECTOR_BYTES / 2)));
    typedef half loose __attribute__((aligned(2), may_alias));
    return (vec_f32)(__builtin_convertvector(*(const loose *)x, vec_i32) << 16);
}

/* As columns_f32, of bfloat16: y and x are floats. */
static void columns_bf16(void *y_, const void *a_, int64_t lda, const void *x_, int64_t n, int64_t k)
{
    float *y = y_;
    const uint16_t *a = a_;
    const float *x = x_;
    const int64_t whole = n - n % VL_f32;
    for (int64_t p = 0; p < k; p += 4, a += 4 * lda, x += 4) {
        const int64_t some = k - p < 4 ? k - p : 4;
        const uint16_t *a1 = a + lda, *a2 = a1 + lda, *a3 = a2 + lda;
        for (int64_t i = 0; some == 4 && i < whole; i += VL_f32) {
            any_vec_f32 *to = (any_vec_f32 *)(y + i);
            *to = *to + widen_bf16(a + i) * x[0] + widen_bf16(a1 + i) * x[1] + widen_bf16(a2 + i) * x[2] +
                  widen_bf16(a3 + i) * x[3];
        }
        for (int64_t c = 0; c < some; c++)
            for (int64_t i = some == 4 ? whole : 0; i < n; i++) {
                const uint32_t bits = (uint32_t)a[c * lda + i] << 16;
                float v;
                memcpy(&v, &bits, sizeof v);
                y[i] += v * x[c];
            }
    }
}
#define COLUMNS_BF16 columns_bf16
#else /* converted first: without instructions that widen them it takes a quarter less */
#define COLUMNS_BF16 NULL
#endif

/* clang-format off */
#define TILE_ROW(h, t) {tile_##h##_1_##t, tile_##h##_2_##t}
#if MR == 14
#define TILE_TABLE(t) {TILE_ROW(2, t), TILE_ROW(4, t), TILE_ROW(6, t), TILE_ROW(8, t), TILE_ROW(10, t), \
                       TILE_ROW(12, t), TILE_ROW(14, t)}
#elif MR == 12
#define TILE_TABLE(t) {TILE_ROW(2, t), TILE_ROW(4, t), TILE_ROW(6, t), TILE_ROW(8, t), TILE_ROW(10, t), TILE_ROW(12, t)}
#else
#define TILE_TABLE(t) {TILE_ROW(2, t), TILE_ROW(4, t), TILE_ROW(6, t)}
#endif

extern const tn__gemm_isa JOIN(tn__gemm_, TN_ISA)[TN__TYPES];
const tn__gemm_isa JOIN(tn__gemm_, TN_ISA)[TN__TYPES] = {
    {.mr = MR, .vl = VL_f32, .tile = TILE_TABLE(f32), .pack = pack_f32, .dot = dot_f32, .dot_bf16 = dot_bf16,
     .columns = columns_f32, .columns_bf16 = COLUMNS_BF16, .axpy = axpy_f32},
    {.mr = MR, .vl = VL_f64, .tile = TILE_TABLE(f64), .pack = pack_f64, .dot = dot_f64, .columns = columns_f64,
     .axpy = axpy_f64},
    {.mr = MR, .vl = VL_i32, .tile = TILE_TABLE(i32), .pack = pack_i32, .dot_whole = dot_whole_i32,
     .columns = columns_i32, .axpy = axpy_i32},
    {.mr = MR, .vl = VL_i64, .tile = TILE_TABLE(i64), .pack = pack_i64, .dot_whole = dot_whole_i64,
     .columns = columns_i64, .axpy = axpy_i64},
};
/* clang-format on */

#if defined(__AVX512F__)
#include "backend/cpu/gemm_pairs.inc.h"
#endif
