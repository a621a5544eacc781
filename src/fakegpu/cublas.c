/* cuBLAS as the fake GPUs answer it: handles, checks, and products queued on the handle's stream. Behaviour and codes:
 * NVIDIA's cuBLAS documentation. */
#include "fakegpu/cublas.h"
#include "fakegpu/driver.h"
#include <stdlib.h>
#include <string.h>

#define FN(name, symbol, older, parameters)       FAKE_API unsigned symbol parameters;
#define OPTIONAL(name, symbol, older, parameters) FAKE_API unsigned symbol parameters;
#include "abi/cublas.def"

enum { /* cublasStatus_t */
       SUCCESS = 0,
       NOT_INITIALIZED = 1,
       ALLOC_FAILED = 3,
       INVALID_VALUE = 7,
       EXECUTION_FAILED = 13,
       NOT_SUPPORTED = 15
};
enum { OP_C = 2, TENSOR_OP_MATH = 1, VERSION = 130000 };

struct cublasContext {
    unsigned math;
    tn__cu_context context;
    tn__cu_stream stream;
    void *workspace;
    size_t workspace_bytes;
};

/* ---- handles ---- */

unsigned cublasCreate_v2(tn__cublas_handle *handle)
{
    tn__cu_context context = NULL;
    if (!handle)
        return INVALID_VALUE;
    if (cuCtxGetCurrent(&context) != TN__CU_SUCCESS || !context)
        return NOT_INITIALIZED;
    struct cublasContext *h = calloc(1, sizeof *h);
    if (!h)
        return ALLOC_FAILED;
    h->context = context;
    const tn__cu_result r = fake_library_handle_add(h);
    if (r) {
        free(h);
        return r == TN__CU_OUT_OF_MEMORY ? ALLOC_FAILED : NOT_INITIALIZED;
    }
    *handle = h;
    return SUCCESS;
}

static bool is_handle(tn__cublas_handle h)
{
    return fake_library_handle_check(h) == TN__CU_SUCCESS;
}

/* Also where its context is no more. */
unsigned cublasDestroy_v2(tn__cublas_handle handle)
{
    if (!fake_library_handle_remove(handle))
        return NOT_INITIALIZED;
    free(handle);
    return SUCCESS;
}

unsigned cublasGetVersion_v2(tn__cublas_handle handle, int *version)
{
    (void)handle;
    if (!version)
        return INVALID_VALUE;
    *version = VERSION;
    return SUCCESS;
}

/* The workspace goes back to the library's own. */
unsigned cublasSetStream_v2(tn__cublas_handle handle, tn__cu_stream stream)
{
    if (!is_handle(handle))
        return NOT_INITIALIZED;
    handle->stream = stream;
    handle->workspace = NULL;
    handle->workspace_bytes = 0;
    return SUCCESS;
}

unsigned cublasSetWorkspace_v2(tn__cublas_handle handle, void *workspace, size_t bytes)
{
    if (!is_handle(handle))
        return NOT_INITIALIZED;
    if ((uintptr_t)workspace % 256 != 0)
        return INVALID_VALUE;
    handle->workspace = bytes ? workspace : NULL;
    handle->workspace_bytes = workspace ? bytes : 0;
    return SUCCESS;
}

unsigned cublasSetMathMode(tn__cublas_handle handle, unsigned mode)
{
    const unsigned base = mode & ~(unsigned)TN__CUBLAS_DISALLOW_REDUCED_PRECISION;
    if (!is_handle(handle))
        return NOT_INITIALIZED;
    if (base != TN__CUBLAS_DEFAULT_MATH && base != TENSOR_OP_MATH && base != TN__CUBLAS_PEDANTIC_MATH &&
        base != TN__CUBLAS_TF32_MATH)
        return INVALID_VALUE;
    handle->math = base;
    return SUCCESS;
}

/* ---- products ---- */

typedef struct job {
    fake_gemm gemm; /* device addresses */
    long long stride_a, stride_b, stride_c;
    int batch;
} job;

static size_t size_of(unsigned type)
{
    return type == TN__CUBLAS_R_64F ? 8 : type == TN__CUBLAS_R_32F ? 4 : 2;
}

/* Which types go together: the table of cublasGemmEx. */
static bool types_fit(const fake_gemm *p, unsigned compute)
{
    const unsigned in = p->a_type;
    if (in != p->b_type)
        return false;
    if (compute == TN__CUBLAS_COMPUTE_64F)
        return in == TN__CUBLAS_R_64F && p->c_type == in;
    if (compute == TN__CUBLAS_COMPUTE_32F_FAST_TF32 || in == TN__CUBLAS_R_32F)
        return in == TN__CUBLAS_R_32F && p->c_type == in;
    return (in == TN__CUBLAS_R_16F || in == TN__CUBLAS_R_16BF) && (p->c_type == in || p->c_type == TN__CUBLAS_R_32F);
}

static int at_least_1(int n)
{
    return n > 1 ? n : 1;
}

static unsigned check(const job *j, unsigned op_a, unsigned op_b, const void *alpha, const void *beta, unsigned compute)
{
    const fake_gemm *p = &j->gemm;
    if (op_a > OP_C || op_b > OP_C || p->m < 0 || p->n < 0 || p->k < 0 || j->batch < 0 || !alpha || !beta ||
        p->lda < at_least_1(op_a ? p->k : p->m) || p->ldb < at_least_1(op_b ? p->n : p->k) || p->ldc < at_least_1(p->m))
        return INVALID_VALUE;
    if ((compute != TN__CUBLAS_COMPUTE_32F && compute != TN__CUBLAS_COMPUTE_64F &&
         compute != TN__CUBLAS_COMPUTE_32F_FAST_TF32) ||
        !types_fit(p, compute))
        return NOT_SUPPORTED;
    if (p->m && p->n && j->batch && (!p->c || (p->k && (!p->a || !p->b))))
        return INVALID_VALUE;
    return SUCCESS;
}

/* What a matrix touches: exact stretches while they are few, else from its first element to its last. */
enum { MAX_STRETCHES = (FAKE_MAX_ARGS - 1) / 3 }; /* three matrices and a workspace are one call */

static int stretches(fake_access *to, const void *at, unsigned type, int rows, int columns, int ld, long long stride,
                     int batch, bool write)
{
    const size_t size = size_of(type), next = (size_t)ld * size;
    const bool dense = ld == rows || columns == 1;
    const size_t piece = (size_t)rows * (dense ? (size_t)columns : 1) * size;
    const int pieces = dense ? 1 : columns, times = stride == 0 ? 1 : batch;
    const char *base = at;
    if (stride < 0) { /* the last one lies first */
        base += stride * (times - 1) * (long long)size;
        stride = -stride;
    }
    const size_t first = (size_t)stride * size;
    if ((double)pieces * times > MAX_STRETCHES) {
        to[0] = (fake_access){base, (size_t)(times - 1) * first + (size_t)(pieces - 1) * next + piece, write};
        return 1;
    }
    for (int i = 0; i < times; i++)
        for (int j = 0; j < pieces; j++)
            to[i * pieces + j] = (fake_access){base + (size_t)i * first + (size_t)j * next, piece, write};
    return times * pieces;
}

static void run(void *arg)
{
    job *j = arg;
    fake_gemm p = j->gemm;
    const char *a = fake_host_address(p.a), *b = fake_host_address(p.b);
    char *c = fake_host_address(p.c);
    bool ok = true;
    for (int i = 0; ok && i < j->batch; i++) {
        p.a = a + (long long)i * j->stride_a * (long long)size_of(p.a_type);
        p.b = b + (long long)i * j->stride_b * (long long)size_of(p.b_type);
        p.c = c + (long long)i * j->stride_c * (long long)size_of(p.c_type);
        ok = fake_gemm_run(&p);
    }
    if (!ok)
        fake_device_fail(TN__CU_OUT_OF_MEMORY, "no memory for the panels of a product");
    free(j);
}

static unsigned queue(tn__cublas_handle h, const job *j)
{
    const fake_gemm *p = &j->gemm;
    fake_access access[3 * MAX_STRETCHES + 1];
    const bool multiplies = p->k && p->alpha != 0;
    int n = stretches(access, p->c, p->c_type, p->m, p->n, p->ldc, j->stride_c, j->batch, true);
    if (multiplies) {
        const int rows_a = p->trans_a ? p->k : p->m, rows_b = p->trans_b ? p->n : p->k;
        n += stretches(access + n, p->a, p->a_type, rows_a, p->trans_a ? p->m : p->k, p->lda, j->stride_a, j->batch,
                       false);
        n += stretches(access + n, p->b, p->b_type, rows_b, p->trans_b ? p->k : p->n, p->ldb, j->stride_b, j->batch,
                       false);
    }
    if (h->workspace)
        access[n++] = (fake_access){h->workspace, h->workspace_bytes, true};
    job *copy = malloc(sizeof *copy);
    if (!copy)
        return ALLOC_FAILED;
    *copy = *j;
    return fake_enqueue(h->stream, "cuBLAS product", access, n, run, free, copy) ? EXECUTION_FAILED : SUCCESS;
}

static unsigned multiply(tn__cublas_handle h, unsigned op_a, unsigned op_b, job *j, const void *alpha, const void *beta,
                         unsigned compute)
{
    fake_gemm *p = &j->gemm;
    tn__cu_context context = NULL;
    if (!is_handle(h))
        return NOT_INITIALIZED;
    const unsigned status = check(j, op_a, op_b, alpha, beta, compute);
    if (status)
        return status;
    if (cuCtxGetCurrent(&context) != TN__CU_SUCCESS || context != h->context) {
        fake_report("cuBLAS: a handle of one device is used while another is current");
        return EXECUTION_FAILED;
    }
    p->trans_a = op_a != TN__CUBLAS_OP_N;
    p->trans_b = op_b != TN__CUBLAS_OP_N;
    p->alpha = compute == TN__CUBLAS_COMPUTE_64F ? *(const double *)alpha : (double)*(const float *)alpha;
    p->beta = compute == TN__CUBLAS_COMPUTE_64F ? *(const double *)beta : (double)*(const float *)beta;
    p->tf32 = p->a_type == TN__CUBLAS_R_32F &&
              (compute == TN__CUBLAS_COMPUTE_32F_FAST_TF32 || h->math == TN__CUBLAS_TF32_MATH);
    return p->m && p->n && j->batch ? queue(h, j) : SUCCESS;
}

unsigned cublasGemmStridedBatchedEx(tn__cublas_handle handle, unsigned op_a, unsigned op_b, int m, int n, int k,
                                    const void *alpha, const void *a, unsigned a_type, int lda, long long stride_a,
                                    const void *b, unsigned b_type, int ldb, long long stride_b, const void *beta,
                                    void *c, unsigned c_type, int ldc, long long stride_c, int batch, unsigned compute,
                                    int algorithm)
{
    job j = {.gemm = {.m = m,
                      .n = n,
                      .k = k,
                      .a = a,
                      .b = b,
                      .c = c,
                      .a_type = a_type,
                      .b_type = b_type,
                      .c_type = c_type,
                      .lda = lda,
                      .ldb = ldb,
                      .ldc = ldc},
             .stride_a = stride_a,
             .stride_b = stride_b,
             .stride_c = stride_c,
             .batch = batch};
    (void)algorithm;
    return multiply(handle, op_a, op_b, &j, alpha, beta, compute);
}

unsigned cublasGemmEx(tn__cublas_handle handle, unsigned op_a, unsigned op_b, int m, int n, int k, const void *alpha,
                      const void *a, unsigned a_type, int lda, const void *b, unsigned b_type, int ldb,
                      const void *beta, void *c, unsigned c_type, int ldc, unsigned compute, int algorithm)
{
    return cublasGemmStridedBatchedEx(handle, op_a, op_b, m, n, k, alpha, a, a_type, lda, 0, b, b_type, ldb, 0, beta, c,
                                      c_type, ldc, 0, 1, compute, algorithm);
}
