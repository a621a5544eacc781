/* backend/cpu/gemm.inc.h: the inner kernels of a matrix product and the packing of its operands, for float, double
 * and integers, which are unsigned here so that they wrap (bound by T, VEC, E, TN_IS_FLOAT, TN_IS_WORD: 4 bytes). The
 * structure is Goto and van de Geijn's ("Anatomy of high-performance matrix multiplication", TOMS 34, 2008): a tile of c stays in
 * registers while k runs over a packed panel of a and a panel of b.
 *
 * a panel: [k][h], h even, at most MR; b panel: rows of one or two vectors, ldb apart (packed: side by side). */

enum { E(VL) = sizeof(VEC) / sizeof(T) };

typedef VEC E(any_vec) __attribute__((aligned(sizeof(T)), may_alias));

/* c[h][v vectors] (+)= a * b. h and v are constants where this is inlined: the loops unroll and acc lives in registers. */
static inline __attribute__((always_inline)) void E(tile)(const int h, const int v, int64_t k, const T *a, const T *b,
                                                          int64_t ldb, T *c, int64_t ldc, bool accumulate)
{
    VEC acc[MR][2];
    UNROLL
    for (int i = 0; i < h; i++)
        acc[i][0] = acc[i][1] = (VEC){0};
    for (int64_t p = 0; p < k; p++) {
        VEC b0 = *(const E(any_vec) *)b, b1 = b0;
        if (v > 1)
            b1 = *(const E(any_vec) *)(b + E(VL));
        UNROLL
        for (int i = 0; i < h; i++) {
            acc[i][0] += a[i] * b0;
            if (v > 1)
                acc[i][1] += a[i] * b1;
        }
        a += h;
        b += ldb;
    }
    UNROLL
    for (int i = 0; i < h; i++) {
        E(any_vec) *to = (E(any_vec) *)(c + i * ldc);
        if (accumulate) {
            acc[i][0] += to[0];
            if (v > 1)
                acc[i][1] += to[1];
        }
        to[0] = acc[i][0];
        if (v > 1)
            to[1] = acc[i][1];
    }
}

#define TILE(h, v) \
    static void E(tile_##h##_##v)(int64_t k, const void *a, const void *b, int64_t ldb, void *c, int64_t ldc, \
                                  bool acc) \
    { \
        E(tile)(h, v, k, a, b, ldb, c, ldc, acc); \
    }
#define TILES(h) TILE(h, 1) TILE(h, 2)
TILES(2)
TILES(4)
TILES(6)
#if MR > 6
TILES(8)
TILES(10)
TILES(12)
#endif
#if MR > 12
TILES(14)
#endif
#undef TILE
#undef TILES

/* A 4 x 4 square: rows rs apart become columns, width apart. */
static inline void E(transpose_panel)(T *dst, int width, const T *src, int64_t rs, T scale)
{
    typedef T four __attribute__((vector_size(4 * sizeof(T))));
    typedef four loose __attribute__((aligned(sizeof(T)), may_alias));
    four r0 = *(const loose *)src, r1 = *(const loose *)(src + rs), r2 = *(const loose *)(src + 2 * rs),
         r3 = *(const loose *)(src + 3 * rs);
    four a = __builtin_shufflevector(r0, r1, 0, 4, 1, 5), b = __builtin_shufflevector(r2, r3, 0, 4, 1, 5);
    four c = __builtin_shufflevector(r0, r1, 2, 6, 3, 7), d = __builtin_shufflevector(r2, r3, 2, 6, 3, 7);
    *(loose *)dst = scale * __builtin_shufflevector(a, b, 0, 1, 4, 5);
    *(loose *)(dst + width) = scale * __builtin_shufflevector(a, b, 2, 3, 6, 7);
    *(loose *)(dst + 2 * width) = scale * __builtin_shufflevector(c, d, 0, 1, 4, 5);
    *(loose *)(dst + 3 * width) = scale * __builtin_shufflevector(c, d, 2, 3, 6, 7);
}

/* Two rows of four elements, rs apart, become four of two. */
static inline void E(transpose_pair)(T *dst, int width, const T *src, int64_t rs, T scale)
{
    typedef T four __attribute__((vector_size(4 * sizeof(T))));
    typedef four loose __attribute__((aligned(sizeof(T)), may_alias));
    typedef T two __attribute__((vector_size(2 * sizeof(T)), aligned(sizeof(T)), may_alias));
    four r0 = scale * *(const loose *)src, r1 = scale * *(const loose *)(src + rs);
    *(two *)dst = __builtin_shufflevector(r0, r1, 0, 4);
    *(two *)(dst + width) = __builtin_shufflevector(r0, r1, 1, 5);
    *(two *)(dst + 2 * width) = __builtin_shufflevector(r0, r1, 2, 6);
    *(two *)(dst + 3 * width) = __builtin_shufflevector(r0, r1, 3, 7);
}

#if TN_IS_WORD && VECTOR_BYTES == 64 /* vectors that are two registers would go through memory */
/* Four squares of 4 side by side, transposed each in its lane: lane l of q[j] is column 4l + j of rows rs apart. */
static inline __attribute__((always_inline)) void E(transpose_lanes)(T __attribute__((vector_size(64))) q[4],
                                                                     const T *src, int64_t rs)
{
    typedef T wide __attribute__((vector_size(64)));
    typedef wide loose __attribute__((aligned(4), may_alias));
    wide r0 = *(const loose *)src, r1 = *(const loose *)(src + rs), r2 = *(const loose *)(src + 2 * rs),
         r3 = *(const loose *)(src + 3 * rs);
    wide a = __builtin_shufflevector(r0, r1, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29);
    wide b = __builtin_shufflevector(r2, r3, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29);
    wide c = __builtin_shufflevector(r0, r1, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31);
    wide d = __builtin_shufflevector(r2, r3, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31);
    q[0] = __builtin_shufflevector(a, b, 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29);
    q[1] = __builtin_shufflevector(a, b, 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31);
    q[2] = __builtin_shufflevector(c, d, 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29);
    q[3] = __builtin_shufflevector(c, d, 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31);
}

/* 4 rows of 16 elements become 16 of 4. */
static inline void E(transpose_four)(T *dst, int width, const T *src, int64_t rs, T scale)
{
    typedef T four __attribute__((vector_size(16), aligned(4), may_alias));
    typedef T wide __attribute__((vector_size(64)));
    wide q[4];
    E(transpose_lanes)(q, src, rs);
    UNROLL
    for (int j = 0; j < 4; j++) {
        q[j] *= scale;
        *(four *)(dst + j * width) = __builtin_shufflevector(q[j], q[j], 0, 1, 2, 3);
        *(four *)(dst + (4 + j) * width) = __builtin_shufflevector(q[j], q[j], 4, 5, 6, 7);
        *(four *)(dst + (8 + j) * width) = __builtin_shufflevector(q[j], q[j], 8, 9, 10, 11);
        *(four *)(dst + (12 + j) * width) = __builtin_shufflevector(q[j], q[j], 12, 13, 14, 15);
    }
}

/* Sixteen rows of 16 elements become 16 of 16. */
static inline void E(transpose_sixteen)(T *dst, int width, const T *src, int64_t rs, T scale)
{
    typedef T wide __attribute__((vector_size(64)));
    typedef wide loose __attribute__((aligned(4), may_alias));
    wide q[4][4];
    UNROLL
    for (int g = 0; g < 4; g++)
        E(transpose_lanes)(q[g], src + 4 * g * rs, rs);
    UNROLL
    for (int j = 0; j < 4; j++) { /* lane l of q[g][j]: rows 4g .. 4g + 3 of column 4l + j */
        wide t0 = __builtin_shufflevector(q[0][j], q[1][j], 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23);
        wide t1 =
            __builtin_shufflevector(q[0][j], q[1][j], 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31);
        wide u0 = __builtin_shufflevector(q[2][j], q[3][j], 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23);
        wide u1 =
            __builtin_shufflevector(q[2][j], q[3][j], 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31);
        *(loose *)(dst + j * width) =
            scale * __builtin_shufflevector(t0, u0, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27);
        *(loose *)(dst + (4 + j) * width) =
            scale * __builtin_shufflevector(t0, u0, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31);
        *(loose *)(dst + (8 + j) * width) =
            scale * __builtin_shufflevector(t1, u1, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27);
        *(loose *)(dst + (12 + j) * width) =
            scale * __builtin_shufflevector(t1, u1, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31);
    }
}
#endif

/* A whole panel whose rows lie in memory as they are wanted; width, which is even, is a constant where this is inlined. */
static inline __attribute__((always_inline)) void E(copy_panel)(const int width, T *dst, const T *src, int64_t cs,
                                                                int64_t k, T scale)
{
    typedef T four __attribute__((vector_size(4 * sizeof(T)), aligned(sizeof(T)), may_alias));
    for (int64_t p = 0; p < k; p++, dst += width, src += cs) {
        UNROLL
        for (int i = 0; i + 4 <= width; i += 4)
            *(four *)(dst + i) = scale * *(const four *)(src + i);
        if (width % 4) {
            dst[width - 2] = scale * src[width - 2];
            dst[width - 1] = scale * src[width - 1];
        }
    }
}

static bool E(copy_whole)(T *dst, int width, const T *src, int64_t cs, int64_t k, T scale)
{
    switch (width) {
    case 4: E(copy_panel)(4, dst, src, cs, k, scale); return true;
    case 6: E(copy_panel)(6, dst, src, cs, k, scale); return true;
    case 8: E(copy_panel)(8, dst, src, cs, k, scale); return true;
    case 10: E(copy_panel)(10, dst, src, cs, k, scale); return true;
    case 12: E(copy_panel)(12, dst, src, cs, k, scale); return true;
    case 14: E(copy_panel)(14, dst, src, cs, k, scale); return true;
    case 16: E(copy_panel)(16, dst, src, cs, k, scale); return true;
    case 32: E(copy_panel)(32, dst, src, cs, k, scale); return true;
    default: return false;
    }
}

/* The next rows, at most 'left' of them, over k elements, which is a multiple of 4; returns how many rows. */
static int64_t E(transpose_rows)(T *dst, int width, const T *src, int64_t rs, int64_t left, int64_t k, T scale)
{
    int64_t p = 0;
#if TN_IS_WORD && VECTOR_BYTES == 64
    if (left >= 16) {
        for (; p + 16 <= k; p += 16)
            E(transpose_sixteen)(dst + p * width, width, src + p, rs, scale);
        for (; p < k; p += 4)
            for (int64_t i = 0; i < 16; i += 4)
                E(transpose_panel)(dst + p * width + i, width, src + i * rs + p, rs, scale);
        return 16;
    }
#endif
    (void)left;
#if TN_IS_WORD && VECTOR_BYTES == 64
    for (; p + 16 <= k; p += 16)
        E(transpose_four)(dst + p * width, width, src + p, rs, scale);
#endif
    for (; p < k; p += 4)
        E(transpose_panel)(dst + p * width, width, src + p, rs, scale);
    return 4;
}

/* dst[p * width + i] = scale * src[i * rs + p * cs] for i < n (zero from n to width), p < k. */
static void E(pack_panel)(T *dst, int width, const T *src, int64_t rs, int64_t cs, int64_t n, int64_t k, T scale)
{
    if (rs == 1 && n == width && E(copy_whole)(dst, width, src, cs, k, scale))
        return;
    if (n < width)
        memset(dst, 0, (size_t)k * (size_t)width * sizeof(T));
    if (rs == 1) { /* the panel's rows lie in memory as they are wanted */
        for (int64_t p = 0; p < k; p++)
            for (int64_t i = 0; i < n; i++)
                dst[p * width + i] = scale * src[p * cs + i];
        return;
    }
    int64_t squares = cs == 1 ? n & ~INT64_C(3) : 0, even = cs == 1 ? k & ~INT64_C(3) : 0;
    for (int64_t i = 0, rows; i < squares; i += rows) /* a transposition, in squares */
        rows = E(transpose_rows)(dst + i, width, src + i * rs, rs, squares - i, even, scale);
    if (cs == 1 && n - squares >= 2) {
        for (int64_t p = 0; p < even; p += 4)
            E(transpose_pair)(dst + p * width + squares, width, src + squares * rs + p, rs, scale);
        squares += 2;
    }
    for (int64_t i = 0; i < n; i++)
        for (int64_t p = i < squares ? even : 0; p < k; p++)
            dst[p * width + i] = scale * src[i * rs + p * cs];
}

/* Packs n rows (stride rs) of k elements (stride cs) as one panel of the given width, zero-padded. whole: the scale of
 * integers. */
static void E(pack)(void *dst, int width, const void *src, int64_t rs, int64_t cs, int64_t n, int64_t k, double scale,
                    int64_t whole)
{
    E(pack_panel)(dst, width, src, rs, cs, n, k, TN_IS_FLOAT ? (T)scale : (T)whole);
}

#if TN_IS_FLOAT
/* sum of a[i] * b[i]: four chains of vectors, then a tree */
static double E(dot)(const void *a_, const void *b_, int64_t n)
{
    const T *a = a_, *b = b_;
    VEC s[4] = {{0}};
    int64_t i = 0;
    for (; i + 4 * E(VL) <= n; i += 4 * E(VL))
        UNROLL
    for (int j = 0; j < 4; j++)
        s[j] += *(const E(any_vec) *)(a + i + j * E(VL)) * *(const E(any_vec) *)(b + i + j * E(VL));
    s[0] = (s[0] + s[1]) + (s[2] + s[3]);
    double r = 0;
    for (int j = 0; j < E(VL); j++)
        r += (double)s[0][j];
    for (; i < n; i++)
        r += (double)a[i] * (double)b[i];
    return r;
}
#else
static uint64_t E(dot_whole)(const void *a_, const void *b_, int64_t n)
{
    const T *a = a_, *b = b_;
    T s = 0;
    for (int64_t i = 0; i < n; i++)
        s += a[i] * b[i];
    return s;
}
#endif

/* y[i] += the sum over p < k of a[p * lda + i] * x[p]: four columns in a pass over y, in order. */
static void E(columns)(void *y_, const void *a_, int64_t lda, const void *x_, int64_t n, int64_t k)
{
    T *restrict y = y_;
    const T *a = a_, *x = x_;
    for (; k >= 4; k -= 4, a += 4 * lda, x += 4) {
        const T *a1 = a + lda, *a2 = a1 + lda, *a3 = a2 + lda, x0 = x[0], x1 = x[1], x2 = x[2], x3 = x[3];
        for (int64_t i = 0; i < n; i++)
            y[i] = y[i] + a[i] * x0 + a1[i] * x1 + a2[i] * x2 + a3[i] * x3;
    }
    for (; k > 0; k--, a += lda, x++)
        for (int64_t i = 0; i < n; i++)
            y[i] += a[i] * *x;
}

/* y[i] += alpha * x[i] */
static void E(axpy)(void *y_, const void *x_, double alpha_, int64_t n)
{
    T *y = y_;
    const T *x = x_, alpha = (T)alpha_;
    for (int64_t i = 0; i < n; i++)
        y[i] += alpha * x[i];
}
