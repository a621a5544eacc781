/* The fake cuBLAS against a plain loop in double, and its checks. */
#include "fake/compiler/helpers.h"
#include "fakegpu/dialect_half.h"
#include <math.h>
#include <stdlib.h>

#define COUNT(a) (sizeof(a) / sizeof *(a))

static tn__cublas_handle handle;

static int set_up(void **state)
{
    (void)state;
    return (int)cublasCreate_v2(&handle);
}

static int tear_down(void **state)
{
    (void)state;
    return (int)cublasDestroy_v2(handle);
}

/* ---- elements ---- */

static size_t size_of(unsigned type)
{
    return type == TN__CUBLAS_R_64F ? 8 : type == TN__CUBLAS_R_32F ? 4 : 2;
}

static double get(const void *p, unsigned type, size_t i)
{
    switch (type) {
    case TN__CUBLAS_R_64F: return ((const double *)p)[i];
    case TN__CUBLAS_R_32F: return (double)((const float *)p)[i];
    case TN__CUBLAS_R_16F: return (double)half_f32(((const uint16_t *)p)[i]);
    default: return (double)tn_float_of_bits((uint32_t)((const uint16_t *)p)[i] << 16);
    }
}

/* bfloat16 by cutting: only values that it holds are put */
static void put(void *p, unsigned type, size_t i, double v)
{
    switch (type) {
    case TN__CUBLAS_R_64F: ((double *)p)[i] = v; break;
    case TN__CUBLAS_R_32F: ((float *)p)[i] = (float)v; break;
    case TN__CUBLAS_R_16F: ((uint16_t *)p)[i] = f32_half((float)v); break;
    default: ((uint16_t *)p)[i] = (uint16_t)(tn_bits_of_float((float)v) >> 16); break;
    }
}

/* Multiples of 1/16 below 4: every type holds them, and products of them are exact in float. */
static void *filled(unsigned type, size_t n, uint32_t seed)
{
    void *p = malloc(n * size_of(type) + 1);
    for (size_t i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        put(p, type, i, (double)(int)(seed >> 26) / 16.0 - 2.0);
    }
    return p;
}

/* ---- one product ---- */

typedef struct product {
    unsigned in, out, compute;
    unsigned op_a, op_b;
    int m, n, k, batch, gap; /* gap: between columns, and between matrices */
    double alpha, beta;
} product;

static unsigned multiply(const product *p, const void *a, const void *b, void *c, const int ld[3],
                         const long long stride[3])
{
    const float alpha = (float)p->alpha, beta = (float)p->beta;
    const bool wide = p->compute == TN__CUBLAS_COMPUTE_64F;
    const void *pa = wide ? (const void *)&p->alpha : &alpha, *pb = wide ? (const void *)&p->beta : &beta;
    if (p->batch == 1)
        return cublasGemmEx(handle, p->op_a, p->op_b, p->m, p->n, p->k, pa, a, p->in, ld[0], b, p->in, ld[1], pb, c,
                            p->out, ld[2], p->compute, TN__CUBLAS_GEMM_DEFAULT);
    return cublasGemmStridedBatchedEx(handle, p->op_a, p->op_b, p->m, p->n, p->k, pa, a, p->in, ld[0], stride[0], b,
                                      p->in, ld[1], stride[1], pb, c, p->out, ld[2], stride[2], p->batch, p->compute,
                                      TN__CUBLAS_GEMM_DEFAULT);
}

static void check_element(const product *p, const void *a, const void *b, double before, double got, size_t a_at,
                          size_t b_at, const int ld[3], double tolerance)
{
    double sum = 0, magnitude = 0;
    for (int q = 0; p->alpha != 0 && q < p->k; q++) {
        const double x = get(a, p->in, a_at + (size_t)q * (p->op_a ? 1 : (size_t)ld[0]));
        const double y = get(b, p->in, b_at + (size_t)q * (p->op_b ? (size_t)ld[1] : 1));
        sum += x * y;
        magnitude += fabs(x * y);
    }
    const double kept = p->beta != 0 ? p->beta * before : 0, want = p->alpha * sum + kept;
    const double scale = fabs(p->alpha) * magnitude + fabs(kept) + 1e-30;
    if (!(fabs(got - want) <= tolerance * scale))
        fail_msg("type %u, ops %u %u, %d x %d x %d: %g where %g should be", p->in, p->op_a, p->op_b, p->m, p->n, p->k,
                 got, want);
}

static void check(const product *p)
{
    const int rows[3] = {p->op_a ? p->k : p->m, p->op_b ? p->n : p->k, p->m};
    const int columns[3] = {p->op_a ? p->m : p->k, p->op_b ? p->k : p->n, p->n};
    int ld[3];
    long long stride[3];
    for (int i = 0; i < 3; i++) {
        ld[i] = (rows[i] > 0 ? rows[i] : 1) + p->gap;
        stride[i] = (long long)ld[i] * columns[i] + p->gap;
    }
    const size_t batch = (size_t)p->batch, total = (size_t)stride[2] * batch;
    void *a = filled(p->in, (size_t)stride[0] * batch, 1), *b = filled(p->in, (size_t)stride[1] * batch, 2);
    void *c = filled(p->out, total, 3), *before = malloc(total * size_of(p->out) + 1);
    if (p->beta == 0) /* what is there is not read */
        for (size_t i = 0; i < total; i++)
            put(c, p->out, i, (double)NAN);
    memcpy(before, c, total * size_of(p->out));
    assert_int_equal(multiply(p, a, b, c, ld, stride), 0);
    const double tolerance = p->out == TN__CUBLAS_R_64F   ? 1e-14
                             : p->out == TN__CUBLAS_R_32F ? 2e-6
                             : p->out == TN__CUBLAS_R_16F ? 5e-4
                                                          : 4e-3;
    for (size_t z = 0; z < batch; z++)
        for (int j = 0; j < p->n; j++)
            for (int i = 0; i < ld[2]; i++) {
                const size_t at = z * (size_t)stride[2] + (size_t)j * (size_t)ld[2] + (size_t)i;
                if (i >= p->m) { /* between columns nothing changes */
                    assert_memory_equal((char *)c + at * size_of(p->out), (char *)before + at * size_of(p->out),
                                        size_of(p->out));
                    continue;
                }
                check_element(p, a, b, get(before, p->out, at), get(c, p->out, at),
                              z * (size_t)stride[0] + (size_t)i * (p->op_a ? (size_t)ld[0] : 1),
                              z * (size_t)stride[1] + (size_t)j * (p->op_b ? 1 : (size_t)ld[1]), ld, tolerance);
            }
    free(a);
    free(b);
    free(c);
    free(before);
}

static const struct {
    unsigned in, out, compute;
} types[] = {{TN__CUBLAS_R_32F, TN__CUBLAS_R_32F, TN__CUBLAS_COMPUTE_32F},
             {TN__CUBLAS_R_64F, TN__CUBLAS_R_64F, TN__CUBLAS_COMPUTE_64F},
             {TN__CUBLAS_R_16F, TN__CUBLAS_R_16F, TN__CUBLAS_COMPUTE_32F},
             {TN__CUBLAS_R_16BF, TN__CUBLAS_R_16BF, TN__CUBLAS_COMPUTE_32F},
             {TN__CUBLAS_R_16F, TN__CUBLAS_R_32F, TN__CUBLAS_COMPUTE_32F},
             {TN__CUBLAS_R_16BF, TN__CUBLAS_R_32F, TN__CUBLAS_COMPUTE_32F},
             {TN__CUBLAS_R_32F, TN__CUBLAS_R_32F, TN__CUBLAS_COMPUTE_32F_FAST_TF32}};

static void products_are_right(void **state)
{
    (void)state;
    static const int sizes[][3] = {{1, 1, 1}, {3, 5, 7}, {17, 4, 9}, {8, 33, 64}, {70, 66, 65}, {129, 3, 1}};
    static const double factors[][2] = {{1, 0}, {1, 1}, {0.5, -2}, {0, 3}, {0, 0}};
    int n = 0;
    for (size_t t = 0; t < COUNT(types); t++)
        for (size_t s = 0; s < COUNT(sizes); s++)
            for (unsigned ops = 0; ops < 4; ops++)
                for (size_t f = 0; f < COUNT(factors); f++, n++) {
                    product p = {types[t].in,        types[t].out, types[t].compute, ops & 1,
                                 ops >> 1,           sizes[s][0],  sizes[s][1],      sizes[s][2],
                                 n % 3 == 0 ? 3 : 1, n % 2 * 5,    factors[f][0],    factors[f][1]};
                    check(&p);
                }
    product none = {TN__CUBLAS_R_32F, TN__CUBLAS_R_32F, TN__CUBLAS_COMPUTE_32F, 0, 0, 5, 4, 0, 1, 0, 1, 2};
    check(&none);
    none.beta = 0;
    check(&none);
    printf("count: %d products\n", n + 2);
}

/* The machine's BLAS, if there is one, and the own loop. */
static void large_products_are_right(void **state)
{
    (void)state;
    for (size_t t = 0; t < COUNT(types); t++) {
        product p = {types[t].in, types[t].out, types[t].compute, t & 1, t >> 1 & 1, 150, 97, 201, 2,
                     3,           1.5,          t & 1 ? 1 : 0};
        check(&p);
    }
}

static float tf32_product(unsigned compute, float x, float y)
{
    const float one = 1, zero = 0;
    float c = 0;
    assert_int_equal(cublasGemmEx(handle, 0, 0, 1, 1, 1, &one, &x, TN__CUBLAS_R_32F, 1, &y, TN__CUBLAS_R_32F, 1, &zero,
                                  &c, TN__CUBLAS_R_32F, 1, compute, TN__CUBLAS_GEMM_DEFAULT),
                     0);
    return c;
}

static void tf32_rounds_only_when_asked(void **state)
{
    (void)state;
    const float x = 1.0F + 0x1p-11F + 0x1p-20F, low = 1.0F + 0x1p-12F;
    assert_true(tf32_product(TN__CUBLAS_COMPUTE_32F, x, 1) == x);
    assert_true(tf32_product(TN__CUBLAS_COMPUTE_32F_FAST_TF32, x, 1) == 1.0F + 0x1p-10F);
    assert_true(tf32_product(TN__CUBLAS_COMPUTE_32F_FAST_TF32, 1, low) == 1.0F);
    assert_true(isinf(tf32_product(TN__CUBLAS_COMPUTE_32F_FAST_TF32, INFINITY, 1)));
    assert_int_equal(cublasSetMathMode(handle, TN__CUBLAS_TF32_MATH), 0);
    assert_true(tf32_product(TN__CUBLAS_COMPUTE_32F, x, 1) == 1.0F + 0x1p-10F);
    assert_int_equal(cublasSetMathMode(handle, TN__CUBLAS_DEFAULT_MATH | TN__CUBLAS_DISALLOW_REDUCED_PRECISION), 0);
    assert_true(tf32_product(TN__CUBLAS_COMPUTE_32F, x, 1) == x);
    assert_int_equal(cublasSetMathMode(handle, 9), 7);
}

/* ---- checks ---- */

static unsigned call(unsigned op_a, unsigned op_b, int m, int n, int k, unsigned a_type, int lda, unsigned b_type,
                     int ldb, unsigned c_type, int ldc, unsigned compute)
{
    static double a[64], b[64], c[64], one[1] = {0};
    return cublasGemmEx(handle, op_a, op_b, m, n, k, one, a, a_type, lda, b, b_type, ldb, one, c, c_type, ldc, compute,
                        TN__CUBLAS_GEMM_DEFAULT);
}

static void arguments_are_checked(void **state)
{
    (void)state;
    enum { F32 = TN__CUBLAS_R_32F, F64 = TN__CUBLAS_R_64F, F16 = TN__CUBLAS_R_16F, BF16 = TN__CUBLAS_R_16BF };
    enum { C32 = TN__CUBLAS_COMPUTE_32F, C64 = TN__CUBLAS_COMPUTE_64F, TF32 = TN__CUBLAS_COMPUTE_32F_FAST_TF32 };
    assert_int_equal(call(0, 0, 2, 3, 4, F32, 2, F32, 4, F32, 2, C32), 0);
    assert_int_equal(call(0, 0, 2, 3, 4, F32, 1, F32, 4, F32, 2, C32), 7); /* lda >= m */
    assert_int_equal(call(1, 0, 2, 3, 4, F32, 3, F32, 4, F32, 2, C32), 7); /* lda >= k */
    assert_int_equal(call(1, 0, 2, 3, 4, F32, 4, F32, 3, F32, 2, C32), 7); /* ldb >= k */
    assert_int_equal(call(0, 1, 2, 3, 4, F32, 2, F32, 2, F32, 2, C32), 7); /* ldb >= n */
    assert_int_equal(call(0, 1, 2, 3, 4, F32, 2, F32, 3, F32, 1, C32), 7); /* ldc >= m */
    assert_int_equal(call(0, 0, 0, 3, 4, F32, 0, F32, 4, F32, 1, C32), 7); /* at least 1 */
    assert_int_equal(call(0, 0, 0, 3, 4, F32, 1, F32, 4, F32, 1, C32), 0);
    assert_int_equal(call(0, 0, -1, 3, 4, F32, 1, F32, 4, F32, 1, C32), 7);
    assert_int_equal(call(3, 0, 2, 3, 4, F32, 2, F32, 4, F32, 2, C32), 7);
    assert_int_equal(call(2, 2, 2, 3, 4, F32, 4, F32, 3, F32, 2, C32), 0); /* conjugate: of real numbers, transposed */
    assert_int_equal(call(0, 0, 2, 3, 4, F32, 2, F16, 4, F32, 2, C32), 15);
    assert_int_equal(call(0, 0, 2, 3, 4, F32, 2, F32, 4, F16, 2, C32), 15);
    assert_int_equal(call(0, 0, 2, 3, 4, F64, 2, F64, 4, F64, 2, C32), 15);
    assert_int_equal(call(0, 0, 2, 3, 4, F32, 2, F32, 4, F32, 2, C64), 15);
    assert_int_equal(call(0, 0, 2, 3, 4, F16, 2, F16, 4, F16, 2, TF32), 15);
    assert_int_equal(call(0, 0, 2, 3, 4, F16, 2, F16, 4, BF16, 2, C32), 15);
    assert_int_equal(call(0, 0, 2, 3, 4, 3, 2, 3, 4, 3, 2, C32), 15);
    assert_int_equal(call(0, 0, 2, 3, 4, F32, 2, F32, 4, F32, 2, 1), 15);
    assert_int_equal(cublasGemmEx(NULL, 0, 0, 1, 1, 1, NULL, NULL, 0, 1, NULL, 0, 1, NULL, NULL, 0, 1, C32, -1), 1);
    assert_int_equal(cublasGemmEx(handle, 0, 0, 1, 1, 1, NULL, NULL, 0, 1, NULL, 0, 1, NULL, NULL, 0, 1, C32, -1), 7);
    int version;
    assert_int_equal(cublasGetVersion_v2(handle, &version), 0);
    assert_true(version >= 110000);
    kit_context = (tn__cu_context)&version; /* another device is current */
    assert_int_equal(call(0, 0, 2, 3, 4, F32, 2, F32, 4, F32, 2, C32), 13);
    assert_non_null(strstr(kit_report(), "a handle of one device is used while another is current"));
    kit_context = NULL;
    tn__cublas_handle other;
    assert_int_equal(cublasCreate_v2(&other), 1);
}

/* What a product touches is told exactly: the order of queued work is checked by it. */
static void accesses_are_exact(void **state)
{
    (void)state;
    tn__cu_context context = kit_context;
    static char place;
    kit_context = (tn__cu_context)&place;
    tn__cublas_handle h;
    static float a[1000], b[1000], c[1000];
    const float one = 1, zero = 0;
    static _Alignas(256) char workspace[512];
    assert_int_equal(cublasCreate_v2(&h), 0);
    assert_int_equal(cublasSetWorkspace_v2(h, workspace + 1, 256), 7);
    assert_int_equal(cublasSetWorkspace_v2(h, workspace, 512), 0);
    assert_int_equal(cublasGemmEx(h, 0, 1, 3, 4, 5, &one, a, 0, 3, b, 0, 10, &zero, c, 0, 7, 68, -1), 0);
    assert_int_equal(kit_accesses, 4 + 1 + 5 + 1);
    for (int j = 0; j < 4; j++) { /* four columns of three */
        assert_ptr_equal(kit_access[j].pointer, c + 7 * j);
        assert_int_equal(kit_access[j].bytes, 12);
        assert_true(kit_access[j].write);
    }
    assert_ptr_equal(kit_access[4].pointer, a); /* dense */
    assert_int_equal(kit_access[4].bytes, 60);
    assert_false(kit_access[4].write);
    assert_ptr_equal(kit_access[9].pointer, b + 40);
    assert_int_equal(kit_access[9].bytes, 16);
    assert_ptr_equal(kit_access[10].pointer, workspace);
    assert_true(kit_access[10].write && kit_access[10].bytes == 512);
    assert_int_equal(cublasSetStream_v2(h, NULL), 0); /* the workspace is the library's again */
    assert_int_equal(
        cublasGemmStridedBatchedEx(h, 0, 0, 2, 2, 2, &one, a, 0, 2, 0, b, 0, 2, 4, &zero, c, 0, 2, 9, 3, 68, -1), 0);
    assert_int_equal(kit_accesses, 3 + 1 + 3);
    assert_int_equal(kit_access[3].bytes, 16);
    assert_ptr_equal(kit_access[2].pointer, c + 18);
    assert_int_equal(cublasGemmEx(h, 0, 0, 1, 200, 1, &one, a, 0, 1, b, 0, 2, &zero, c, 0, 3, 68, -1), 0);
    assert_int_equal(kit_accesses, 3); /* too many: from the first to the last */
    assert_int_equal(kit_access[0].bytes, (199 * 3 + 1) * 4);
    assert_int_equal(cublasGemmEx(h, 0, 0, 1, 2, 1, &zero, NULL, 0, 1, NULL, 0, 1, &one, c, 0, 1, 68, -1), 7);
    assert_int_equal(cublasGemmEx(h, 0, 0, 1, 2, 1, &zero, a, 0, 1, b, 0, 1, &one, c, 0, 1, 68, -1), 0);
    assert_int_equal(kit_accesses, 1); /* alpha 0 */
    assert_int_equal(cublasDestroy_v2(h), 0);
    kit_context = context;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_are_right),          cmocka_unit_test(large_products_are_right),
        cmocka_unit_test(tf32_rounds_only_when_asked), cmocka_unit_test(accesses_are_exact),
        cmocka_unit_test(arguments_are_checked),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
