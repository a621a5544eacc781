/* backend/cpu/half.inc.h: float16 to float and back, with the instruction set's own conversion where it has one, and float to
 * bfloat16. They round to nearest even and agree to the bit, NaN payloads of float16 apart. */
#if defined(__F16C__) || defined(__AVX2__)
#include <immintrin.h>
#endif

static void halves_to_floats(float *dst, const uint16_t *src, int64_t stride, int64_t n)
{
    int64_t i = 0;
#if defined(__F16C__)
    if (stride == 1)
        for (; i + 8 <= n; i += 8)
            _mm256_storeu_ps(dst + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)(src + i))));
#endif
    for (; i < n; i++)
        dst[i] = half_f32(src[i * stride]);
}

static void floats_to_halves(uint16_t *dst, int64_t stride, const float *src, int64_t n)
{
    int64_t i = 0;
#if defined(__F16C__)
    if (stride == 1)
        for (; i + 8 <= n; i += 8)
            _mm_storeu_si128((__m128i *)(void *)(dst + i),
                             _mm256_cvtps_ph(_mm256_loadu_ps(src + i), _MM_FROUND_TO_NEAREST_INT));
#endif
    for (; i < n; i++)
        dst[i * stride] = f32_half(src[i]);
}

/* Sixteen or thirty-two at a time where none is NaN. */
static void floats_to_bfloats(uint16_t *dst, int64_t stride, const float *src, int64_t n)
{
    int64_t i = 0;
    if (stride != 1) {
        for (; i < n; i++)
            dst[i * stride] = f32_bf16(src[i]);
        return;
    }
#if defined(__AVX512BW__)
    static const uint16_t upper[] = {1,  3,  5,  7,  9,  11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31,
                                     33, 35, 37, 39, 41, 43, 45, 47, 49, 51, 53, 55, 57, 59, 61, 63};
    const __m512i least = _mm512_set1_epi32(1), rest = _mm512_set1_epi32(0x7fff), take = _mm512_loadu_si512(upper);
    for (; i + 32 <= n; i += 32) {
        const __m512 a = _mm512_loadu_ps(src + i), b = _mm512_loadu_ps(src + i + 16);
        if (_mm512_cmp_ps_mask(a, b, _CMP_UNORD_Q)) {
            for (int64_t k = i; k < i + 32; k++)
                dst[k] = f32_bf16(src[k]);
            continue;
        }
        __m512i x = _mm512_castps_si512(a), y = _mm512_castps_si512(b);
        x = _mm512_add_epi32(_mm512_add_epi32(x, rest), _mm512_and_si512(_mm512_srli_epi32(x, 16), least));
        y = _mm512_add_epi32(_mm512_add_epi32(y, rest), _mm512_and_si512(_mm512_srli_epi32(y, 16), least));
        _mm512_storeu_si512(dst + i, _mm512_permutex2var_epi16(x, take, y));
    }
#endif
#if defined(__AVX2__)
    const __m256i one = _mm256_set1_epi32(1), half = _mm256_set1_epi32(0x7fff);
    for (; i + 16 <= n; i += 16) {
        const __m256 a = _mm256_loadu_ps(src + i), b = _mm256_loadu_ps(src + i + 8);
        if (_mm256_movemask_ps(_mm256_cmp_ps(a, b, _CMP_UNORD_Q))) {
            for (int64_t k = i; k < i + 16; k++)
                dst[k] = f32_bf16(src[k]);
            continue;
        }
        __m256i x = _mm256_castps_si256(a), y = _mm256_castps_si256(b);
        x = _mm256_add_epi32(_mm256_add_epi32(x, half), _mm256_and_si256(_mm256_srli_epi32(x, 16), one));
        y = _mm256_add_epi32(_mm256_add_epi32(y, half), _mm256_and_si256(_mm256_srli_epi32(y, 16), one));
        x = _mm256_packus_epi32(_mm256_srli_epi32(x, 16), _mm256_srli_epi32(y, 16));
        _mm256_storeu_si256((__m256i *)(void *)(dst + i), _mm256_permute4x64_epi64(x, 0xd8));
    }
#endif
    for (; i < n; i++)
        dst[i] = f32_bf16(src[i]);
}
