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

/* Two registers of floats, of which none need be a number, to as many bfloat16. Of constant length, so that what a loop has just
 * computed into 'src' never sees memory. */
#if defined(__SSE2__)
enum { BFLOATS = 2 * TN_REGISTER / (int)sizeof(float) };
#else
enum { BFLOATS = 16 };
#endif
ALWAYS void round_bfloats(uint16_t *dst, const float *src)
{
#if defined(__AVX512BW__)
    static const uint16_t upper[] = {1,  3,  5,  7,  9,  11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31,
                                     33, 35, 37, 39, 41, 43, 45, 47, 49, 51, 53, 55, 57, 59, 61, 63};
    const __m512i least = _mm512_set1_epi32(1), rest = _mm512_set1_epi32(0x7fff), quiet = _mm512_set1_epi32(0x400000);
    const __m512 a = _mm512_loadu_ps(src), b = _mm512_loadu_ps(src + 16);
    const __m512i u = _mm512_castps_si512(a), v = _mm512_castps_si512(b);
    __m512i x = _mm512_add_epi32(_mm512_add_epi32(u, rest), _mm512_and_si512(_mm512_srli_epi32(u, 16), least));
    __m512i y = _mm512_add_epi32(_mm512_add_epi32(v, rest), _mm512_and_si512(_mm512_srli_epi32(v, 16), least));
    x = _mm512_mask_or_epi32(x, _mm512_cmp_ps_mask(a, a, _CMP_UNORD_Q), u, quiet);
    y = _mm512_mask_or_epi32(y, _mm512_cmp_ps_mask(b, b, _CMP_UNORD_Q), v, quiet);
    _mm512_storeu_si512(dst, _mm512_permutex2var_epi16(x, _mm512_loadu_si512(upper), y));
#elif defined(__AVX2__)
    const __m256i least = _mm256_set1_epi32(1), rest = _mm256_set1_epi32(0x7fff), quiet = _mm256_set1_epi32(0x400000);
    const __m256 a = _mm256_loadu_ps(src), b = _mm256_loadu_ps(src + 8);
    const __m256i u = _mm256_castps_si256(a), v = _mm256_castps_si256(b);
    __m256i x = _mm256_add_epi32(_mm256_add_epi32(u, rest), _mm256_and_si256(_mm256_srli_epi32(u, 16), least));
    __m256i y = _mm256_add_epi32(_mm256_add_epi32(v, rest), _mm256_and_si256(_mm256_srli_epi32(v, 16), least));
    x = _mm256_blendv_epi8(x, _mm256_or_si256(u, quiet), _mm256_castps_si256(_mm256_cmp_ps(a, a, _CMP_UNORD_Q)));
    y = _mm256_blendv_epi8(y, _mm256_or_si256(v, quiet), _mm256_castps_si256(_mm256_cmp_ps(b, b, _CMP_UNORD_Q)));
    x = _mm256_packs_epi32(_mm256_srai_epi32(x, 16), _mm256_srai_epi32(y, 16));
    _mm256_storeu_si256((__m256i *)(void *)dst, _mm256_permute4x64_epi64(x, 0xd8));
#elif defined(__SSE2__)
    __m128i part[2];
    TN_UNROLL
    for (int k = 0; k < 2; k++) {
        const __m128 a = _mm_loadu_ps(src + 4 * k);
        const __m128i u = _mm_castps_si128(a), number = _mm_castps_si128(_mm_cmpord_ps(a, a));
        const __m128i up =
            _mm_add_epi32(_mm_set1_epi32(0x7fff), _mm_and_si128(_mm_srli_epi32(u, 16), _mm_set1_epi32(1)));
        const __m128i x = _mm_or_si128(_mm_add_epi32(u, _mm_and_si128(up, number)),
                                       _mm_andnot_si128(number, _mm_set1_epi32(0x400000)));
        part[k] = _mm_srai_epi32(x, 16);
    }
    _mm_storeu_si128((__m128i *)(void *)dst, _mm_packs_epi32(part[0], part[1]));
#else
    for (int k = 0; k < BFLOATS; k++)
        dst[k] = f32_bf16(src[k]);
#endif
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
