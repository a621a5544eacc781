/* fakegpu/cublas_gemm.inc.h: a product for one type: read once with T float, once with T double. E(name) names it.
 *
 * Panels of MR rows of a and NR columns of b are packed, padded with zeros; the inner loops have constant bounds, so that
 * the compiler keeps the MR x NR sums in vector registers. */
enum { E(MR) = 32 / (int)sizeof(T), E(NR) = 4 };

/* op(a)[i, p] of one panel of rows, or op(b)[p, j] of one panel of columns: [k][width]. 'step' lies between neighbours in the
 * panel, 'next' between values of p. */
static void E(pack)(T *out, const T *from, size_t step, size_t next, int width, int full, int k)
{
    for (int p = 0; p < k; p++)
        for (int i = 0; i < full; i++)
            *out++ = i < width ? from[(size_t)i * step + (size_t)p * next] : 0;
}

static void E(tile)(const T *restrict a, const T *restrict b, int k, T sum[E(NR)][E(MR)])
{
    T s[E(NR)][E(MR)] = {{0}};
    for (int p = 0; p < k; p++, a += E(MR), b += E(NR))
        for (int j = 0; j < E(NR); j++)
            for (int i = 0; i < E(MR); i++)
                s[j][i] += a[i] * b[j];
    memcpy(sum, s, sizeof s);
}

static void E(store)(T *c, int ldc, int rows, int columns, T sum[E(NR)][E(MR)], T alpha, T beta)
{
    for (int j = 0; j < columns; j++)
        for (int i = 0; i < rows; i++) {
            T *at = c + i + (size_t)j * (size_t)ldc;
            *at = beta == 0 ? alpha * sum[j][i] : alpha * sum[j][i] + beta * *at;
        }
}

/* c = alpha * op(a) @ op(b) + beta * c; k may be cut by the caller's accumulating calls. */
static bool E(gemm)(bool ta, bool tb, int m, int n, int k, T alpha, const T *a, int lda, const T *b, int ldb, T beta,
                    T *c, int ldc)
{
    const int panels = (n + E(NR) - 1) / E(NR);
    T *packed_b = malloc((size_t)panels * E(NR) * (size_t)k * sizeof *packed_b);
    T *packed_a = malloc((size_t)E(MR) * (size_t)k * sizeof *packed_a);
    T sum[E(NR)][E(MR)];
    const bool memory = packed_a && packed_b;
    for (int j = 0; memory && j < n; j += E(NR))
        E(pack)
    (packed_b + (size_t)j * (size_t)k, b + (tb ? (size_t)j : (size_t)j * (size_t)ldb), tb ? 1 : (size_t)ldb,
     tb ? (size_t)ldb : 1, n - j < E(NR) ? n - j : E(NR), E(NR), k);
    for (int i = 0; memory && i < m; i += E(MR)) {
        const int rows = m - i < E(MR) ? m - i : E(MR);
        E(pack)
        (packed_a, a + (ta ? (size_t)i * (size_t)lda : (size_t)i), ta ? (size_t)lda : 1, ta ? 1 : (size_t)lda, rows,
         E(MR), k);
        for (int j = 0; j < n; j += E(NR)) {
            E(tile)(packed_a, packed_b + (size_t)j * (size_t)k, k, sum);
            E(store)(c + i + (size_t)j * (size_t)ldc, ldc, rows, n - j < E(NR) ? n - j : E(NR), sum, alpha, beta);
        }
    }
    free(packed_a);
    free(packed_b);
    return memory;
}
