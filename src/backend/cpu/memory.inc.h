/* backend/cpu/memory.inc.h: stores past the caches, steps, and transposition in squares. */
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

/* n elements from ss apart to ds apart: the usual steps have loops of their own, which become vectors. */
#define STEPS(U, name, to, from) \
    static void name(void *dst, int64_t ds, const void *src, int64_t ss, int64_t n) \
    { \
        (void)ds, (void)ss; \
        for (int64_t i = 0; i < n; i++) \
            ((U *)dst)[to] = ((const U *)src)[from]; \
    }
#define EACH_STEP(U) \
    STEPS(U, back_##U, i, -i) \
    STEPS(U, halve_##U, i, 2 * i) \
    STEPS(U, spread_##U, 2 * i, i) STEPS(U, pick_##U, i, i *ss) STEPS(U, any_##U, i *ds, i *ss)
EACH_STEP(uint8_t)
EACH_STEP(uint16_t)
EACH_STEP(uint32_t)
EACH_STEP(uint64_t)
#undef EACH_STEP
#undef STEPS

/* One element everywhere. */
#define SAME(U) \
    static void same_##U(void *dst, int64_t ds, const void *src, int64_t ss, int64_t n) \
    { \
        U *d = dst, v = *(const U *)src; \
        (void)ds, (void)ss; \
        for (int64_t i = 0; i < n; i++) \
            d[i] = v; \
    }
SAME(uint8_t)
SAME(uint16_t)
SAME(uint32_t)
SAME(uint64_t)
#undef SAME

typedef uint64_t piece __attribute__((vector_size(32), aligned(1), may_alias));

/* Long runs go in vectors: the C library's copy may use an instruction of the processor that is ten times slower where both sides
 * lie almost alike in their pages, but not quite. */
static void copy_dense(void *dst, const void *src, size_t bytes)
{
    char *d = dst;
    const char *s = src;
    size_t head = (size_t)(-(uintptr_t)d & 31);
    if (bytes < 2048) {
        memcpy(d, s, bytes);
        return;
    }
    memcpy(d, s, sizeof(piece)); /* the first piece, and below the last ones, whole: no loop of bytes at the ends */
    d += head, s += head, bytes -= head;
    for (; bytes >= 128; bytes -= 128, d += 128, s += 128) {
        const piece *from = (const void *)s;
        const piece p0 = from[0], p1 = from[1], p2 = from[2], p3 = from[3];
        piece *to = (void *)d;
        to[0] = p0, to[1] = p1, to[2] = p2, to[3] = p3;
    }
    memcpy(d + bytes - 128, s + bytes - 128, 128);
}

static void move(void *dst, int64_t ds, const void *src, int64_t ss, int64_t n, size_t size)
{
    typedef void steps(void *dst, int64_t ds, const void *src, int64_t ss, int64_t n);
#define OF(U) \
    { \
        any_##U, pick_##U, back_##U, same_##U, halve_##U, spread_##U \
    }
    static steps *const table[4][6] = {OF(uint8_t), OF(uint16_t), OF(uint32_t), OF(uint64_t)};
#undef OF
    if (ds == 1 && ss == 1) {
        copy_dense(dst, src, (size_t)n * size);
        return;
    }
    const int kind = ds == 2 && ss == 1 ? 5 : ds != 1 ? 0 : ss == -1 ? 2 : ss == 0 ? 3 : ss == 2 ? 4 : 1;
    table[__builtin_ctzll(size)][kind](dst, ds, src, ss, n);
}

typedef uint32_t quad __attribute__((vector_size(16)));
typedef uint32_t uquad __attribute__((vector_size(16), aligned(4), may_alias));

/* A 4 x 4 square of 4-byte elements, in registers. */
static inline void transpose_quad(uint32_t *d, int64_t ld_d, const uint32_t *s, int64_t ld_s)
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
TRANSPOSE(uint8_t, one_by_one_8)
TRANSPOSE(uint16_t, one_by_one_16)
TRANSPOSE(uint32_t, one_by_one_32)
TRANSPOSE(uint64_t, one_by_one_64)
#undef TRANSPOSE

typedef uint16_t eight __attribute__((vector_size(16)));
typedef uint16_t ueight __attribute__((vector_size(16), aligned(2), may_alias));
#define LOW_16(a, b)  __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11)
#define HIGH_16(a, b) __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15)

/* An 8 x 8 square of 2-byte elements: rows that are 4 apart are zipped, three times over. */
static inline void transpose_eight(uint16_t *d, int64_t ld_d, const uint16_t *s, int64_t ld_s)
{
    eight r[8], t[8];
    for (int i = 0; i < 8; i++)
        r[i] = *(const ueight *)(s + i * ld_s);
    for (int pass = 0; pass < 3; pass++) {
        for (int i = 0; i < 4; i++) {
            t[2 * i] = LOW_16(r[i], r[i + 4]);
            t[2 * i + 1] = HIGH_16(r[i], r[i + 4]);
        }
        for (int i = 0; i < 8; i++)
            r[i] = t[i];
    }
    for (int i = 0; i < 8; i++)
        *(ueight *)(d + i * ld_d) = r[i];
}
#undef LOW_16
#undef HIGH_16

typedef uint8_t sixteen __attribute__((vector_size(16)));
typedef uint8_t usixteen __attribute__((vector_size(16), aligned(1), may_alias));
#define LOW_8(a, b)  __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
#define HIGH_8(a, b) __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)

/* A 16 x 16 square of bytes: rows that are 8 apart are zipped, four times over. */
static inline void transpose_sixteen(uint8_t *d, int64_t ld_d, const uint8_t *s, int64_t ld_s)
{
    sixteen r[16], t[16];
    TN_UNROLL
    for (int i = 0; i < 16; i++)
        r[i] = *(const usixteen *)(s + i * ld_s);
    TN_UNROLL
    for (int pass = 0; pass < 4; pass++) {
        TN_UNROLL
        for (int i = 0; i < 8; i++) {
            t[2 * i] = LOW_8(r[i], r[i + 8]);
            t[2 * i + 1] = HIGH_8(r[i], r[i + 8]);
        }
        TN_UNROLL
        for (int i = 0; i < 16; i++)
            r[i] = t[i];
    }
    TN_UNROLL
    for (int i = 0; i < 16; i++)
        *(usixteen *)(d + i * ld_d) = r[i];
}
#undef LOW_8
#undef HIGH_8

typedef uint64_t four __attribute__((vector_size(32)));
typedef uint64_t ufour __attribute__((vector_size(32), aligned(8), may_alias));

/* A 4 x 4 square of 8-byte elements. */
static inline void transpose_four(uint64_t *d, int64_t ld_d, const uint64_t *s, int64_t ld_s)
{
    four r0 = *(const ufour *)s, r1 = *(const ufour *)(s + ld_s), r2 = *(const ufour *)(s + 2 * ld_s),
         r3 = *(const ufour *)(s + 3 * ld_s);
    four a = __builtin_shufflevector(r0, r1, 0, 4, 2, 6), b = __builtin_shufflevector(r0, r1, 1, 5, 3, 7);
    four e = __builtin_shufflevector(r2, r3, 0, 4, 2, 6), f = __builtin_shufflevector(r2, r3, 1, 5, 3, 7);
    *(ufour *)d = __builtin_shufflevector(a, e, 0, 1, 4, 5);
    *(ufour *)(d + ld_d) = __builtin_shufflevector(b, f, 0, 1, 4, 5);
    *(ufour *)(d + 2 * ld_d) = __builtin_shufflevector(a, e, 2, 3, 6, 7);
    *(ufour *)(d + 3 * ld_d) = __builtin_shufflevector(b, f, 2, 3, 6, 7);
}

/* Squares under one another, as many as a register has 16 bytes: rows that lie 'step' bytes apart beside each other in it, its
 * 16 bytes shuffled alike, columns stored whole. */
#if TN_REGISTER == 64
#define OF_REGISTER(name) _mm512_##name
typedef __m512i lanes;
#elif TN_REGISTER == 32 && defined(__AVX2__)
#define OF_REGISTER(name) _mm256_##name
typedef __m256i lanes;
#endif
#ifdef OF_REGISTER
enum { TALL_16 = TN_REGISTER / 2, TALL_32 = TN_REGISTER / 4 };

static inline lanes rows_beside(const void *s, int64_t step)
{
    const char *p = s;
    const __m128i r0 = _mm_loadu_si128((const void *)p), r1 = _mm_loadu_si128((const void *)(p + step));
    const __m256i low = _mm256_inserti128_si256(_mm256_castsi128_si256(r0), r1, 1);
#if TN_REGISTER == 64
    const __m128i r2 = _mm_loadu_si128((const void *)(p + 2 * step)),
                  r3 = _mm_loadu_si128((const void *)(p + 3 * step));
    return _mm512_inserti64x4(_mm512_castsi256_si512(low), _mm256_inserti128_si256(_mm256_castsi128_si256(r2), r3, 1),
                              1);
#else
    return low;
#endif
}

static inline void store_wide(void *d, lanes v)
{
    memcpy(d, &v, sizeof v);
}

static inline void transpose_tall_16(uint16_t *d, int64_t ld_d, const uint16_t *s, int64_t ld_s)
{
    lanes r[8], t[8];
    TN_UNROLL
    for (int i = 0; i < 8; i++)
        r[i] = rows_beside(s + i * ld_s, 16 * ld_s);
    TN_UNROLL
    for (int pass = 0; pass < 3; pass++) {
        TN_UNROLL
        for (int i = 0; i < 4; i++) {
            t[2 * i] = OF_REGISTER(unpacklo_epi16)(r[i], r[i + 4]);
            t[2 * i + 1] = OF_REGISTER(unpackhi_epi16)(r[i], r[i + 4]);
        }
        TN_UNROLL
        for (int i = 0; i < 8; i++)
            r[i] = t[i];
    }
    TN_UNROLL
    for (int i = 0; i < 8; i++)
        store_wide(d + i * ld_d, r[i]);
}

static inline void transpose_tall_32(uint32_t *d, int64_t ld_d, const uint32_t *s, int64_t ld_s)
{
    const int64_t step = 16 * ld_s;
    const lanes r0 = rows_beside(s, step), r1 = rows_beside(s + ld_s, step), r2 = rows_beside(s + 2 * ld_s, step),
                r3 = rows_beside(s + 3 * ld_s, step);
    const lanes a = OF_REGISTER(unpacklo_epi32)(r0, r1), b = OF_REGISTER(unpacklo_epi32)(r2, r3),
                e = OF_REGISTER(unpackhi_epi32)(r0, r1), f = OF_REGISTER(unpackhi_epi32)(r2, r3);
    store_wide(d, OF_REGISTER(unpacklo_epi64)(a, b));
    store_wide(d + ld_d, OF_REGISTER(unpackhi_epi64)(a, b));
    store_wide(d + 2 * ld_d, OF_REGISTER(unpacklo_epi64)(e, f));
    store_wide(d + 3 * ld_d, OF_REGISTER(unpackhi_epi64)(e, f));
}
#undef OF_REGISTER
#else
enum { TALL_16 = 8, TALL_32 = 4 };
#define transpose_tall_16 transpose_eight
#define transpose_tall_32 transpose_quad
#endif
enum { TALL_8 = 16, TALL_64 = 4 };
#define transpose_tall_8  transpose_sixteen
#define transpose_tall_64 transpose_four

/* An 8 x 8 square of 4-byte elements, where registers hold a row of it: half the stores of four smaller ones. */
#if defined(__AVX2__)
enum { BROAD_32 = 8 };
typedef uint32_t octet __attribute__((vector_size(32)));
typedef uint32_t uoctet __attribute__((vector_size(32), aligned(4), may_alias));

static inline void transpose_octets(uint32_t *d, int64_t ld_d, const uint32_t *s, int64_t ld_s)
{
    octet r[8], t[8];
    TN_UNROLL
    for (int i = 0; i < 8; i++)
        r[i] = *(const uoctet *)(s + i * ld_s);
    TN_UNROLL
    for (int i = 0; i < 8; i += 2) {
        t[i] = __builtin_shufflevector(r[i], r[i + 1], 0, 8, 1, 9, 4, 12, 5, 13);
        t[i + 1] = __builtin_shufflevector(r[i], r[i + 1], 2, 10, 3, 11, 6, 14, 7, 15);
    }
    TN_UNROLL
    for (int i = 0; i < 8; i++) { /* columns i % 4 and that + 4, of rows 0 to 3 or 4 to 7 */
        const octet a = t[i / 4 * 4 + i % 4 / 2], b = t[i / 4 * 4 + i % 4 / 2 + 2];
        r[i] = i % 2 ? __builtin_shufflevector(a, b, 2, 3, 10, 11, 6, 7, 14, 15)
                     : __builtin_shufflevector(a, b, 0, 1, 8, 9, 4, 5, 12, 13);
    }
    TN_UNROLL
    for (int i = 0; i < 4; i++) {
        *(uoctet *)(d + i * ld_d) = __builtin_shufflevector(r[i], r[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
        *(uoctet *)(d + (i + 4) * ld_d) = __builtin_shufflevector(r[i], r[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
    }
}
#else
enum { BROAD_32 = INT32_MAX };
#define transpose_octets transpose_quad
#endif
enum { BROAD_8 = INT32_MAX, BROAD_16 = INT32_MAX, BROAD_64 = INT32_MAX };

/* Where rows lie a multiple of ALIKE bytes apart, a cache holds but few of them: they fall into the same sets. No hardware sees
 * the next of rows FAR_APART coming, as they are in other pages: they are asked for, AHEAD. */
enum { ALIKE = 1024, FAR_APART = 2048, AHEAD = 32, LINE_BYTES = 64 };

/* Squares of a side, those first that share lines of memory; rows that a cache would not hold are read a line at a time, once. */
#define IN_SQUARES(U, bits, side, square, broader, rest) \
    static inline void squares_##bits(U *d, int64_t ld_d, const U *s, int64_t ld_s, int64_t rows, int64_t cols) \
    { \
        for (int64_t j = 0; j < cols; j += (side)) { \
            int64_t i = 0; \
            for (; i + TALL_##bits <= rows; i += TALL_##bits) \
                transpose_tall_##bits(d + j * ld_d + i, ld_d, s + i * ld_s + j, ld_s); \
            for (; i + BROAD_##bits <= rows && j / BROAD_##bits * BROAD_##bits + BROAD_##bits <= cols; \
                 i += BROAD_##bits) \
                if (j % BROAD_##bits == 0) /* else done */ \
                    broader(d + j * ld_d + i, ld_d, s + i * ld_s + j, ld_s); \
            for (; i < rows; i += (side)) \
                square(d + j * ld_d + i, ld_d, s + i * ld_s + j, ld_s); \
        } \
    } \
    static void transpose_##bits(U *d, int64_t ld_d, const U *s, int64_t ld_s, int64_t rows, int64_t cols) \
    { \
        enum { LINE = LINE_BYTES / sizeof(U) }; \
        _Alignas(LINE_BYTES) U lines[LINE * LINE]; \
        const int64_t r = rows - rows % (side), c = cols - cols % (side); \
        const bool alike = ld_s * (int64_t)sizeof(U) % ALIKE == 0, far = ld_s * (int64_t)sizeof(U) >= FAR_APART; \
        const bool few = r <= 8 || (c <= LINE && !alike && !far); /* nothing is read again after it left the cache */ \
        if (few) \
            squares_##bits(d, ld_d, s, ld_s, r, c); \
        for (int64_t i = 0; i < r && !few; i += LINE) \
            for (int64_t j = 0; j < c; j += LINE) { \
                const int64_t high = r - i < LINE ? r - i : LINE, broad = c - j < LINE ? c - j : LINE; \
                const U *from = s + i * ld_s + j; \
                const bool copied = alike && broad == LINE; \
                for (int64_t k = 0; far && k < high && i + AHEAD + k < r; k++) \
                    __builtin_prefetch(from + (AHEAD + k) * ld_s, 0, 2); \
                for (int64_t k = 0; copied && k < high; k++) \
                    memcpy(lines + k * LINE, from + k * ld_s, LINE_BYTES); \
                squares_##bits(d + j * ld_d + i, ld_d, copied ? lines : from, copied ? LINE : ld_s, high, broad); \
            } \
        rest(d + r, ld_d, s + r * ld_s, ld_s, rows - r, cols); \
        if (c < cols) \
            rest(d + c * ld_d, ld_d, s + c, ld_s, r, cols - c); \
    }
IN_SQUARES(uint8_t, 8, 16, transpose_sixteen, transpose_sixteen, one_by_one_8)
IN_SQUARES(uint16_t, 16, 8, transpose_eight, transpose_eight, one_by_one_16)
IN_SQUARES(uint32_t, 32, 4, transpose_quad, transpose_octets, one_by_one_32)
IN_SQUARES(uint64_t, 64, 4, transpose_four, transpose_four, one_by_one_64)
#undef IN_SQUARES

static void transpose(void *dst, int64_t ld_d, const void *src, int64_t ld_s, int64_t rows, int64_t cols, size_t size)
{
    char *d = dst;
    const char *s = src;
    if (cols < 4 && rows >= 4) /* less than a square: column by column */
        for (int64_t j = 0; j < cols; j++)
            move(d + j * ld_d * (int64_t)size, 1, s + j * (int64_t)size, ld_s, rows, size);
    else if (rows < 4 && cols >= 4)
        for (int64_t i = 0; i < rows; i++)
            move(d + i * (int64_t)size, ld_d, s + i * ld_s * (int64_t)size, 1, cols, size);
    else if (size == 1)
        transpose_8(dst, ld_d, src, ld_s, rows, cols);
    else if (size == 2)
        transpose_16(dst, ld_d, src, ld_s, rows, cols);
    else if (size == 8)
        transpose_64(dst, ld_d, src, ld_s, rows, cols);
    else
        transpose_32(dst, ld_d, src, ld_s, rows, cols);
}
