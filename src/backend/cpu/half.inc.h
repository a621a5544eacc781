/* backend/cpu/half.inc.h: float16 to float and back, with the instruction set's own conversion where it has one. Both
 * round to nearest even and agree to the bit, NaN payloads apart. */
#if defined(__F16C__)
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
