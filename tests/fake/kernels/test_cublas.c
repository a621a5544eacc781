/* Products by (fake) cuBLAS against sums in double precision: layouts, strides, batches, dtypes, precisions. */
#include "fake/kernels/own_kernels.h"
#include <math.h>
#include <pthread.h>

typedef struct layout {
    bool a_trans, b_trans;
    int64_t m, n, k, batch;
    int64_t pad; /* elements between rows that belong to nobody */
} layout;

static double element(const tn_tensor *t, int64_t i)
{
    return ((const double *)tn_data(t))[i];
}

/* Small whole numbers and halves: exact in every dtype. */
static tn_tensor *numbers(int64_t n, tn_dtype dtype, uint64_t seed)
{
    tn_manual_seed(seed);
    return MADE(tn_to(MADE(tn_div(MADE(tn_floor(MADE(tn_mul(MADE(tn_rand(TN_SHAPE(n))), 8)))), 2)), .dtype = dtype));
}

/* c = alpha op(a) op(b) + beta c, compared everywhere, padding too. */
static void check(const layout *l, tn_dtype dtype, double alpha, double beta)
{
    tn_scope *scope = tn_scope_open();
    const int64_t lda = (l->a_trans ? l->m : l->k) + l->pad, ldb = (l->b_trans ? l->k : l->n) + l->pad;
    const int64_t ldc = l->n + l->pad;
    const int64_t sa = lda * (l->a_trans ? l->k : l->m), sb = ldb * (l->b_trans ? l->n : l->k), sc = ldc * l->m;
    tn_tensor *a = numbers(sa * l->batch, dtype, 1), *b = numbers(sb * l->batch, dtype, 2);
    tn_tensor *c = numbers(sc * l->batch, dtype, 3);
    tn_tensor *on[3] = {MADE(tn_cuda(a, 0)), MADE(tn_cuda(b, 0)), MADE(tn_cuda(c, 0))};
    const tn__gpu_gemm_call p = {.dtype = dtype,
                                 .m = l->m,
                                 .n = l->n,
                                 .k = l->k,
                                 .batch = l->batch,
                                 .a = tn__tensor_data(on[0]),
                                 .b = tn__tensor_data(on[1]),
                                 .c = tn__tensor_data(on[2]),
                                 .lda = lda,
                                 .ldb = ldb,
                                 .ldc = ldc,
                                 .stride_a = sa,
                                 .stride_b = sb,
                                 .stride_c = sc,
                                 .a_trans = l->a_trans,
                                 .b_trans = l->b_trans,
                                 .alpha = alpha,
                                 .beta = beta};
    OK(tn__cuda_gemm(TN_CUDA(0), &p, "gemm"));
    tn_tensor *got = MADE(tn_to(MADE(tn_cpu(on[2])), .dtype = TN_F64));
    a = MADE(tn_to(a, .dtype = TN_F64));
    b = MADE(tn_to(b, .dtype = TN_F64));
    c = MADE(tn_to(c, .dtype = TN_F64));
    for (int64_t z = 0; z < l->batch; z++)
        for (int64_t i = 0; i < l->m; i++)
            for (int64_t j = 0; j < ldc; j++) {
                const int64_t at = z * sc + i * ldc + j;
                double sum = 0;
                for (int64_t x = 0; x < l->k && j < l->n; x++)
                    sum += element(a, z * sa + (l->a_trans ? x * lda + i : i * lda + x)) *
                           element(b, z * sb + (l->b_trans ? j * ldb + x : x * ldb + j));
                const double wanted = j < l->n ? alpha * sum + beta * element(c, at) : element(c, at);
                const double slack = dtype == TN_BF16 ? 0.01 : dtype == TN_F16 ? 0.001 : 1e-6;
                if (fabs(element(got, at) - wanted) > slack * (1 + fabs(wanted)))
                    fail_msg("[%d, %d, %d] of %dx%dx%d: %g, not %g", (int)z, (int)i, (int)j, (int)l->m, (int)l->n,
                             (int)l->k, element(got, at), wanted);
            }
    tn_scope_close(scope);
}

static const layout layouts[] = {
    {false, false, 3, 4, 5, 1, 0}, {true, false, 3, 4, 5, 1, 0},  {false, true, 3, 4, 5, 1, 2},
    {true, true, 7, 2, 9, 1, 3},   {false, false, 1, 4, 5, 1, 0}, {false, true, 6, 1, 1, 1, 0},
    {false, false, 3, 4, 5, 6, 1}, {true, true, 2, 3, 4, 5, 0},
};

static void every_layout(void **state)
{
    (void)state;
    static const tn_dtype dtypes[] = {TN_F16, TN_BF16, TN_F32, TN_F64};
    for (size_t d = 0; d < TN_COUNT(dtypes); d++)
        for (size_t i = 0; i < TN_COUNT(layouts); i++) {
            check(&layouts[i], dtypes[d], 1, 0);
            check(&layouts[i], dtypes[d], 0.5, 2);
        }
    assert_int_equal(atomic_load(&tn__cuda_backend.ledgers[0].launches), 2 * TN_COUNT(dtypes) * TN_COUNT(layouts));
}

/* What cuBLAS does not do is left to the own kernel: no error. */
static void others_are_left(void **state)
{
    (void)state;
    tn__gpu_gemm_call p = {.dtype = TN_I32, .m = 2, .n = 2, .k = 2, .batch = 1, .lda = 2, .ldb = 2, .ldc = 2};
    assert_int_equal(tn__cuda_gemm(TN_CUDA(0), &p, "mm"), TN_EMISSING);
    p.dtype = TN_F32;
    p.k = 0;
    assert_int_equal(tn__cuda_gemm(TN_CUDA(0), &p, "mm"), TN_EMISSING);
    p.k = (int64_t)1 << 32;
    assert_int_equal(tn__cuda_gemm(TN_CUDA(0), &p, "mm"), TN_EMISSING);
    assert_int_equal(tn_error_code(), TN_OK);
}

static void precision_is_a_choice(void **state)
{
    (void)state;
    assert_string_equal(tn_get_float32_matmul_precision(), "highest");
    OK(tn_set_float32_matmul_precision("high"));
    assert_string_equal(tn_get_float32_matmul_precision(), "high");
    check(&layouts[0], TN_F32, 1, 0); /* these numbers are exact in TensorFloat32 too */
    OK(tn_set_float32_matmul_precision("medium"));
    FAILS_STATUS(tn_set_float32_matmul_precision("higher"), TN_EVALUE,
                 "higher is not one of 'highest', 'high', or 'medium'");
    FAILS_STATUS(tn_set_float32_matmul_precision(NULL), TN_EVALUE, "is not one of");
    assert_string_equal(tn_get_float32_matmul_precision(), "medium");
}

/* Each stream has a workspace of its own, taken once. */
static void deterministic_products(void **state)
{
    (void)state;
    tn_stream *s = tn_cuda_stream_new(TN_CUDA(0), 0), *d = tn_cuda_default_stream(TN_CUDA(0));
    assert_false(tn_are_deterministic_algorithms_enabled());
    check(&layouts[0], TN_F32, 1, 0);
    int64_t plain = tn_memory_stats(TN_CUDA(0)).allocated;
    tn_use_deterministic_algorithms(true);
    assert_true(tn_are_deterministic_algorithms_enabled());
    for (int i = 0; i < 3; i++) {
        OK(tn_cuda_set_stream(s));
        check(&layouts[1], TN_F32, 1, 0);
        OK(tn_cuda_set_stream(d));
        check(&layouts[2], TN_F32, 1, 0);
    }
    assert_int_equal(tn_memory_stats(TN_CUDA(0)).allocated, plain + 2 * (8 << 20));
    tn_use_deterministic_algorithms(false);
    check(&layouts[3], TN_F32, 1, 0);
    OK(tn_cuda_reset(TN_CUDA(0)));
    check(&layouts[3], TN_F32, 1, 0);
    tn_stream_release(s);
    tn_stream_release(d);
}

/* A workspace goes with its stream: otherwise the seventh one would find the GPU full. */
static void workspaces_of_streams_that_are_gone(void **state)
{
    (void)state;
    tn_use_deterministic_algorithms(true);
    for (int i = 0; i < 20; i++) {
        tn_stream *s = tn_cuda_stream_new(TN_CUDA(0), 0);
        tn_stream_guard g = tn_stream_enter(s);
        check(&layouts[0], TN_F32, 1, 0);
        tn_stream_leave(g);
        tn_stream_release(s);
    }
    assert_true(tn_memory_stats(TN_CUDA(0)).allocated <= 2 * (8 << 20));
}

static void *multiply(void *arg)
{
    tn_stream *s = arg;
    OK(tn_cuda_set_stream(s));
    for (int i = 0; i < 20; i++)
        check(&layouts[i % (int)TN_COUNT(layouts)], TN_F32, 1, 0.5);
    return NULL;
}

static void from_several_threads(void **state)
{
    (void)state;
    enum { THREADS = 4 };
    pthread_t t[THREADS];
    tn_stream *s[THREADS];
    for (int i = 0; i < THREADS; i++) {
        s[i] = tn_cuda_stream_new(TN_CUDA(0), 0);
        assert_int_equal(pthread_create(&t[i], NULL, multiply, s[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(t[i], NULL);
        tn_stream_release(s[i]);
    }
}

int main(int argc, char **argv)
{
    static const alone tests[] = {
        ALONE(every_layout, "TENON_FAKE_GPUS=1x256MiB"),
        ALONE(others_are_left, "TENON_FAKE_GPUS=1x256MiB"),
        ALONE(precision_is_a_choice, "TENON_FAKE_GPUS=1x256MiB"),
        ALONE(deterministic_products, "TENON_FAKE_GPUS=1x256MiB"),
        ALONE(workspaces_of_streams_that_are_gone, "TENON_FAKE_GPUS=1x192MiB"),
        ALONE(from_several_threads, "TENON_FAKE_GPUS=1x256MiB"),
    };
    return alone_main(tests, TN_COUNT(tests), argc, argv);
}
