/* backend/cpu/memory.inc.h: stores past the caches, and transposition in squares. */
#if defined(__SSE2__)
#include <immintrin.h>
#endif

/* For results larger than the last-level cache: a plain store would read each line first and push others out. */
static void stream(void *dst, const void *src, size_t bytes)
{
#if defined(__SSE2__)
    char *d = dst;
    const char *s = src;
    size_t head = (size_t)(-(uintptr_t)d & 63);
    if (head > bytes)
        head = bytes;
    memcpy(d, s, head);
    d += head, s += head, bytes -= head;
    for (; bytes >= 64; bytes -= 64, d += 64, s += 64) {
#if defined(__AVX512F__)
        _mm512_stream_si512((void *)d, _mm512_loadu_si512((const void *)s));
#elif defined(__AVX__)
        _mm256_stream_si256((__m256i *)(void *)d, _mm256_loadu_si256((const __m256i *)(const void *)s));
        _mm256_stream_si256((__m256i *)(void *)(d + 32), _mm256_loadu_si256((const __m256i *)(const void *)(s + 32)));
#else
        for (int i = 0; i < 64; i += 16)
            _mm_stream_si128((__m128i *)(void *)(d + i), _mm_loadu_si128((const __m128i *)(const void *)(s + i)));
#endif
    }
    memcpy(d, s, bytes);
#else
    memcpy(dst, src, bytes);
#endif
}

typedef float quad __attribute__((vector_size(16)));
typedef float uquad __attribute__((vector_size(16), aligned(4), may_alias));

/* A 4 x 4 square of 4-byte elements, in registers. */
static inline void transpose_quad(float *d, int64_t ld_d, const float *s, int64_t ld_s)
{
    quad r0 = *(const uquad *)s, r1 = *(const uquad *)(s + ld_s), r2 = *(const uquad *)(s + 2 * ld_s),
         r3 = *(const uquad *)(s + 3 * ld_s);
    quad a = __builtin_shufflevector(r0, r1, 0, 4, 1, 5), b = __builtin_shufflevector(r2, r3, 0, 4, 1, 5);
    quad e = __builtin_shufflevector(r0, r1, 2, 6, 3, 7), f = __builtin_shufflevector(r2, r3, 2, 6, 3, 7);
    *(uquad *)d = __builtin_shufflevector(a, b, 0, 1, 4, 5);
    *(uquad *)(d + ld_d) = __builtin_shufflevector(a, b, 2, 3, 6, 7);
    *(uquad *)(d + 2 * ld_d) = __builtin_shufflevector(e, f, 0, 1, 4, 5);
    *(uquad *)(d + 3 * ld_d) = __builtin_shufflevector(e, f, 2, 3, 6, 7);
}

#define TRANSPOSE(U, name) \
    static void name(U *d, int64_t ld_d, const U *s, int64_t ld_s, int64_t rows, int64_t cols) \
    { \
        for (int64_t i = 0; i < rows; i++) \
            for (int64_t j = 0; j < cols; j++) \
                d[j * ld_d + i] = s[i * ld_s + j]; \
    }
TRANSPOSE(uint8_t, transpose_1)
TRANSPOSE(uint16_t, transpose_2)
TRANSPOSE(uint32_t, transpose_4)
TRANSPOSE(uint64_t, transpose_8)
#undef TRANSPOSE

static void transpose(void *dst, int64_t ld_d, const void *src, int64_t ld_s, int64_t rows, int64_t cols, size_t size)
{
    if (size == 1)
        transpose_1(dst, ld_d, src, ld_s, rows, cols);
    else if (size == 2)
        transpose_2(dst, ld_d, src, ld_s, rows, cols);
    else if (size == 8)
        transpose_8(dst, ld_d, src, ld_s, rows, cols);
    else {
        int64_t r4 = rows & ~INT64_C(3), c4 = cols & ~INT64_C(3);
        float *d = dst;
        const float *s = src;
        for (int64_t i = 0; i < r4; i += 4) {         /* reads run along rows; the scattered writes stay in a tile */
            for (int64_t k = i + 32; k < i + 36; k++) /* short rows: the hardware does not see them coming */
                for (int64_t j = 0; j < c4; j += 16)
                    __builtin_prefetch(s + k * ld_s + j);
            for (int64_t j = 0; j < c4; j += 4)
                transpose_quad(d + j * ld_d + i, ld_d, s + i * ld_s + j, ld_s);
        }
        transpose_4((uint32_t *)dst + r4, ld_d, (const uint32_t *)src + r4 * ld_s, ld_s, rows - r4, cols);
        transpose_4((uint32_t *)dst + c4 * ld_d, ld_d, (const uint32_t *)src + c4, ld_s, r4, cols - c4);
    }
}
