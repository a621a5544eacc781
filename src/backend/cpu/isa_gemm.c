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
/* clang-format on */

extern const tn__gemm_isa JOIN(tn__gemm_, TN_ISA)[TN__TYPES];
const tn__gemm_isa JOIN(tn__gemm_, TN_ISA)[TN__TYPES] = {
    {MR, VL_f32, TILE_TABLE(f32), pack_f32, dot_f32, axpy_f32},
    {MR, VL_f64, TILE_TABLE(f64), pack_f64, dot_f64, axpy_f64},
    {MR, VL_i32, TILE_TABLE(i32), pack_i32, NULL, axpy_i32},
    {MR, VL_i64, TILE_TABLE(i64), pack_i64, NULL, axpy_i64},
};
