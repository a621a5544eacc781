/* backend/cpu/gemm_pairs.inc.h: the tiles of products of bfloat16, and their packing, for processors that multiply two of them
 * at once (AVX512_BF16: vdpbf16ps). Panels are those of gemm.inc.h with words for elements: two that follow each other along k
 * share one, the first in the low half. Sums are floats; each product is added to them with one rounding, as a fused a * b + c
 * does. What the instruction treats otherwise: a product or sum below the least normal float counts as zero, and so does
 * such an element (PyTorch's products do the same there). Included where T would be float; VL_f32 words are a vector. */
#include <immintrin.h>

#define PAIRS __attribute__((target("avx512bf16")))

static inline __attribute__((always_inline)) PAIRS __m512 add_pairs(__m512 sum, __m512i a, __m512i b)
{
    return _mm512_dpbf16_ps(sum, (__m512bh)a, (__m512bh)b);
}

typedef __m512 pair_sums[MR][2];

/* To c, or, to be added to what is there. */
static inline __attribute__((always_inline)) void put_sums(const int h, const int v, pair_sums acc, float *c,
                                                           int64_t ldc, bool accumulate)
{
    UNROLL
    for (int i = 0; i < h; i++) {
        UNROLL
        for (int j = 0; j < v; j++) {
            float *to = c + i * ldc + 16 * j;
            _mm512_storeu_ps(to, accumulate ? _mm512_add_ps(acc[i][j], _mm512_loadu_ps(to)) : acc[i][j]);
        }
    }
}

/* As tile_f32; k counts words. */
static inline __attribute__((always_inline)) PAIRS void pair_tile(const int h, const int v, int64_t k,
                                                                  const uint32_t *a, const uint32_t *b, int64_t ldb,
                                                                  float *c, int64_t ldc, bool accumulate)
{
    pair_sums acc;
    UNROLL
    for (int i = 0; i < h; i++)
        acc[i][0] = acc[i][1] = _mm512_setzero_ps();
    for (int64_t p = 0; p < k; p++) {
        const __m512i b0 = _mm512_loadu_si512(b), b1 = v > 1 ? _mm512_loadu_si512(b + 16) : b0;
        UNROLL
        for (int i = 0; i < h; i++) {
            const __m512i one = _mm512_set1_epi32((int)a[i]);
            acc[i][0] = add_pairs(acc[i][0], one, b0);
            if (v > 1)
                acc[i][1] = add_pairs(acc[i][1], one, b1);
        }
        a += h;
        b += ldb;
    }
    put_sums(h, v, acc, c, ldc, accumulate);
}

/* The same of rows that lie along k, lda bytes apart. Three share a pointer, with an offset that an address has room for. */
static inline __attribute__((always_inline)) PAIRS void line_tile(const int h, const int v, int64_t k, const char *a,
                                                                  int64_t lda, const uint32_t *b, int64_t ldb, float *c,
                                                                  int64_t ldc, bool accumulate)
{
    const char *row[(MR + 2) / 3];
    pair_sums acc;
    UNROLL
    for (int i = 0; i < h; i++) {
        acc[i][0] = acc[i][1] = _mm512_setzero_ps();
        row[i / 3] = a + i / 3 * 3 * lda;
    }
    for (int64_t p = 0; p < k; p++) {
        const __m512i b0 = _mm512_loadu_si512(b), b1 = v > 1 ? _mm512_loadu_si512(b + 16) : b0;
        UNROLL
        for (int i = 0; i < h; i++) {
            int32_t word;
            memcpy(&word, row[i / 3] + i % 3 * lda, sizeof word);
            const __m512i one = _mm512_set1_epi32(word);
            acc[i][0] = add_pairs(acc[i][0], one, b0);
            if (v > 1)
                acc[i][1] = add_pairs(acc[i][1], one, b1);
        }
        UNROLL
        for (int i = 0; i < (h + 2) / 3; i++) {
            row[i] += sizeof(int32_t);
            __asm__("" : "+r"(row[i])); /* else each row would have a pointer, more than there are registers */
        }
        b += ldb;
    }
    put_sums(h, v, acc, c, ldc, accumulate);
}

#define PAIR_TILE(h, v) \
    static PAIRS void tile_##h##_##v##_pairs(int64_t k, const void *a, const void *b, int64_t ldb, void *c, \
                                             int64_t ldc, bool acc) \
    { \
        pair_tile(h, v, k, a, b, ldb, c, ldc, acc); \
    } \
    static PAIRS void tile_##h##_##v##_lines(int64_t k, const void *a, int64_t lda, const void *b, int64_t ldb, \
                                             void *c, int64_t ldc, bool acc) \
    { \
        line_tile(h, v, k, a, lda, b, ldb, c, ldc, acc); \
    }
#define PAIR_TILES(h) PAIR_TILE(h, 1) PAIR_TILE(h, 2)
PAIR_TILES(2)
PAIR_TILES(4)
PAIR_TILES(6)
PAIR_TILES(8)
PAIR_TILES(10)
PAIR_TILES(12)
PAIR_TILES(14)
#undef PAIR_TILE
#undef PAIR_TILES

/* Words of two rows of n elements, zero from n to ld; a second row that is not there is zero. n is a constant where this
 * is inlined for whole panels. */
static inline __attribute__((always_inline)) void interleave_rows(uint32_t *dst, int64_t ld, const uint16_t *first,
                                                                  const uint16_t *second, int64_t n)
{
    if (second)
        for (int64_t i = 0; i < n; i++)
            dst[i] = first[i] | (uint32_t)second[i] << 16;
    else
        for (int64_t i = 0; i < n; i++)
            dst[i] = first[i];
    for (int64_t i = n; i < ld; i++)
        dst[i] = 0;
}

/* Rows of n elements, step apart, are those of k: rows of words, ld apart. */
static void interleave(void *dst_, int64_t ld, const void *src_, int64_t step, int64_t n, int64_t k)
{
    uint32_t *dst = dst_;
    const uint16_t *src = src_;
    if (n == 2 * VL_f32 && ld == n)
        for (; k > 1; k -= 2, dst += ld, src += 2 * step)
            interleave_rows(dst, 2 * VL_f32, src, src + step, 2 * VL_f32);
    for (; k > 0; k -= 2, dst += ld, src += 2 * step)
        interleave_rows(dst, ld, src, k > 1 ? src + step : NULL, n);
}

/* m rows of n floats, ld apart, become bfloat16 as core/dtype.c rounds: to nearest even; NaN stays one. */
static void put_bf16(void *dst_, int64_t ldc, const void *src_, int64_t ld, int64_t m, int64_t n, double scale)
{
    uint16_t *dst = dst_;
    const float *src = src_, by = (float)scale;
    for (int64_t r = 0; r < m; r++, dst += ldc, src += ld)
        for (int64_t i = 0; i < n; i += 16) {
            const __mmask16 some = n - i < 16 ? (__mmask16)((1U << (n - i)) - 1) : 0xffff;
            const __m512 v = _mm512_mul_ps(_mm512_maskz_loadu_ps(some, src + i), _mm512_set1_ps(by));
            const __m512i x = _mm512_castps_si512(v), high = _mm512_srli_epi32(x, 16);
            const __m512i odd = _mm512_and_si512(high, _mm512_set1_epi32(1));
            __m512i y = _mm512_srli_epi32(_mm512_add_epi32(_mm512_add_epi32(x, _mm512_set1_epi32(0x7fff)), odd), 16);
            y = _mm512_mask_or_epi32(y, _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q), high, _mm512_set1_epi32(0x40));
            _mm256_mask_storeu_epi16(dst + i, some, _mm512_cvtepi32_epi16(y));
        }
}

static void pack_words(void *dst, int width, const void *src, int64_t rs, int64_t cs, int64_t n, int64_t k,
                       double scale, int64_t whole)
{
    (void)scale, (void)whole; /* what is scaled is the result */
    pack_panel_i32(dst, width, src, rs, cs, n, k, 1);
}

const tn__gemm_isa tn__gemm_pairs_avx512 = {.mr = MR,
                                            .vl = VL_f32,
                                            .tile = TILE_TABLE(pairs),
                                            .tile_lines = TILE_TABLE(lines),
                                            .pack = pack_words,
                                            .axpy = axpy_f32,
                                            .interleave = interleave,
                                            .put = put_bf16};
#undef PAIRS
