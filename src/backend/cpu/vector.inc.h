/* backend/cpu/vector.inc.h: the instruction set's own registers in GCC's and clang's vector extension. Reductions take 64 bytes
 * at a time (TN_PARTS registers: one with AVX-512, two with AVX2, four with SSE2 or NEON), so that they add in the same order
 * whatever the instruction set; loops over registers are unrolled, for else they live in memory. */
#if defined(__SSE2__)
#include <immintrin.h>
#endif
#if defined(__AVX512F__)
#define TN_REGISTER 64
#elif defined(__AVX__)
#define TN_REGISTER 32
#else
#define TN_REGISTER 16
#endif
#if defined(__clang__)
#define TN_UNROLL _Pragma("clang loop unroll(full)")
#define TN_IVDEP  _Pragma("clang loop vectorize(assume_safety)")
#else
#define TN_IVDEP  _Pragma("GCC ivdep")
#define TN_UNROLL _Pragma("GCC unroll 16")
#endif
enum { TN_PARTS = 64 / TN_REGISTER };

typedef float rf32 __attribute__((vector_size(TN_REGISTER)));
typedef double rf64 __attribute__((vector_size(TN_REGISTER)));
typedef uint32_t ru32 __attribute__((vector_size(TN_REGISTER)));
typedef int32_t ri32 __attribute__((vector_size(TN_REGISTER)));
typedef int64_t ri64 __attribute__((vector_size(TN_REGISTER)));
/* the same, anywhere in memory */
typedef float uf32 __attribute__((vector_size(TN_REGISTER), aligned(4), may_alias));
typedef uint32_t uu32 __attribute__((vector_size(TN_REGISTER), aligned(2), may_alias));
typedef double uf64 __attribute__((vector_size(TN_REGISTER), aligned(8), may_alias));

/* As many floats, which lie anywhere, as a register holds doubles: gcc's own conversion takes two at a time. */
static inline rf64 widened(const float *x)
{
#if defined(__AVX512F__)
    return (rf64)_mm512_cvtps_pd(_mm256_loadu_ps(x));
#elif defined(__AVX__)
    return (rf64)_mm256_cvtps_pd(_mm_loadu_ps(x));
#else
    return (rf64){(double)x[0], (double)x[1]};
#endif
}

/* v where it is beyond best (the smaller, or the larger of both), else best, also where one is NaN; and where one of two is NaN,
 * beside what was noted before. */
#define EXTREMES_OF(T, mask, least_of, most_of, unordered) \
    typedef mask noted_##T; \
    static inline __attribute__((always_inline)) r##T extreme_of_##T(r##T v, r##T best, const bool least) \
    { \
        return least ? (r##T)least_of : (r##T)most_of; \
    } \
    static inline __attribute__((always_inline)) noted_##T note_##T(noted_##T before, r##T v, r##T w) \
    { \
        return before | (noted_##T)(unordered); \
    }
#if defined(__AVX512F__)
EXTREMES_OF(f32, __mmask16, _mm512_min_ps(v, best), _mm512_max_ps(v, best), _mm512_cmp_ps_mask(v, w, _CMP_UNORD_Q))
EXTREMES_OF(f64, __mmask8, _mm512_min_pd(v, best), _mm512_max_pd(v, best), _mm512_cmp_pd_mask(v, w, _CMP_UNORD_Q))
#elif defined(__AVX__)
EXTREMES_OF(f32, ri32, _mm256_min_ps(v, best), _mm256_max_ps(v, best), _mm256_cmp_ps(v, w, _CMP_UNORD_Q))
EXTREMES_OF(f64, ri64, _mm256_min_pd(v, best), _mm256_max_pd(v, best), _mm256_cmp_pd(v, w, _CMP_UNORD_Q))
#elif defined(__SSE2__)
EXTREMES_OF(f32, ri32, _mm_min_ps(v, best), _mm_max_ps(v, best), _mm_cmpunord_ps(v, w))
EXTREMES_OF(f64, ri64, _mm_min_pd(v, best), _mm_max_pd(v, best), _mm_cmpunord_pd(v, w))
#else
#define PICKED(T, I, test) (((I)v & (test)) | ((I)best & ~(test)))
EXTREMES_OF(f32, ri32, PICKED(f32, ri32, v < best), PICKED(f32, ri32, v > best), (v != v) | (w != w))
EXTREMES_OF(f64, ri64, PICKED(f64, ri64, v < best), PICKED(f64, ri64, v > best), (v != v) | (w != w))
#undef PICKED
#endif
#undef EXTREMES_OF

/* Truncated, saturated, NaN 0. x86 makes the least int32 of all that it does not hold: what is too large is turned over. */
#if defined(__SSE2__)
static inline ri32 whole_of(rf32 v)
{
    const rf32 top = (rf32){0} + 2147483648.0F;
#if defined(__AVX512F__)
    const __m512i x = _mm512_maskz_cvttps_epi32(_mm512_cmp_ps_mask(v, v, _CMP_ORD_Q), v);
    return (ri32)_mm512_mask_mov_epi32(x, _mm512_cmp_ps_mask(v, top, _CMP_GE_OQ), _mm512_set1_epi32(INT32_MAX));
#elif defined(__AVX__)
    return ((ri32)_mm256_cvttps_epi32(v) ^ (ri32)(v >= top)) & (ri32)(v == v);
#else
    return ((ri32)_mm_cvttps_epi32(v) ^ (ri32)(v >= top)) & (ri32)(v == v);
#endif
}

/* The same of a register of doubles, which hold the largest int32: what is too large is bounded first. */
static inline void store_whole_doubles(int32_t *d, const double *s)
{
#if defined(__AVX512F__)
    const __m512d v = _mm512_loadu_pd(s), least = _mm512_min_pd(v, _mm512_set1_pd(INT32_MAX));
    _mm256_storeu_si256((__m256i *)(void *)d, _mm512_maskz_cvttpd_epi32(_mm512_cmp_pd_mask(v, v, _CMP_ORD_Q), least));
#elif defined(__AVX__)
    const __m256d v = _mm256_loadu_pd(s), number = _mm256_and_pd(v, _mm256_cmp_pd(v, v, _CMP_ORD_Q));
    _mm_storeu_si128((__m128i *)(void *)d, _mm256_cvttpd_epi32(_mm256_min_pd(number, _mm256_set1_pd(INT32_MAX))));
#else
    const __m128d v = _mm_loadu_pd(s), number = _mm_and_pd(v, _mm_cmpord_pd(v, v));
    _mm_storel_epi64((__m128i *)(void *)d, _mm_cvttpd_epi32(_mm_min_pd(number, _mm_set1_pd(INT32_MAX))));
#endif
}

/* A register of floats that lie as bfloat16. */
static inline rf32 widened_bfloats(const uint16_t *x)
{
#if defined(__AVX512F__)
    const __m256i low = _mm256_loadu_si256((const __m256i *)(const void *)x);
    return (rf32)_mm512_slli_epi32(_mm512_cvtepu16_epi32(low), 16);
#elif defined(__AVX2__)
    const __m128i low = _mm_loadu_si128((const __m128i *)(const void *)x);
    return (rf32)_mm256_slli_epi32(_mm256_cvtepu16_epi32(low), 16);
#else
    return (rf32)_mm_unpacklo_epi16(_mm_setzero_si128(), _mm_loadl_epi64((const __m128i *)(const void *)x));
#endif
}
#endif
