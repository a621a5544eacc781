/* backend/cpu/gemm.inc.h: the inner kernels of a matrix product and the packing of its operands, for float, double
 * and integers, which are unsigned here so that they wrap (bound by T, VEC, E and TN_IS_FLOAT). The structure is Goto
 * and van de Geijn's ("Anatomy of high-performance matrix multiplication", TOMS 34, 2008): a tile of c stays in
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
static inline void E(turn)(T *dst, int width, const T *src, int64_t rs, T scale)
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

/* dst[p * width + i] = scale * src[i * rs + p * cs] for i < n (zero from n to width), p < k. */
static void E(pack_panel)(T *dst, int width, const T *src, int64_t rs, int64_t cs, int64_t n, int64_t k, T scale)
{
    if (rs == 1) { /* the panel's rows lie in memory as they are wanted */
        for (int64_t p = 0; p < k; p++, dst += width) {
            const T *s = src + p * cs;
            for (int64_t i = 0; i < n; i++)
                dst[i] = scale * s[i];
            for (int64_t i = n; i < width; i++)
                dst[i] = 0;
        }
        return;
    }
    int64_t squares = cs == 1 ? n & ~INT64_C(3) : 0, even = cs == 1 ? k & ~INT64_C(3) : 0;
    for (int64_t i = 0; i < squares; i += 4) /* a transposition, in squares of 4 */
        for (int64_t p = 0; p < even; p += 4)
            E(turn)(dst + p * width + i, width, src + i * rs + p, rs, scale);
    for (int64_t p = 0; p < k; p++)
        for (int64_t i = p < even ? squares : 0; i < width; i++)
            dst[p * width + i] = i < n ? scale * src[i * rs + p * cs] : 0;
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
#endif

/* y[i] += alpha * x[i] */
static void E(axpy)(void *y_, const void *x_, double alpha_, int64_t n)
{
    T *y = y_;
    const T *x = x_, alpha = (T)alpha_;
    for (int64_t i = 0; i < n; i++)
        y[i] += alpha * x[i];
}
