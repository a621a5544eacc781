/* Products for the fake cuBLAS: by a BLAS of the machine, if one is found and the product is worth it, else by an own blocked
 * loop. The BLAS's settings are left as they are. TENON_BLAS: a path to load instead, or 'off'. */
#include "fakegpu/cublas.h"
#include "abi/abi.h"
#include "fakegpu/dialect_half.h"
#include "fakegpu/env.h"
#include "fakegpu/sanitizers.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define T       float
#define E(name) f32_##name
#include "fakegpu/cublas_gemm.inc.h"
#undef T
#undef E
#define T       double
#define E(name) f64_##name
#include "fakegpu/cublas_gemm.inc.h"
#undef T
#undef E

/* ---- the machine's BLAS ---- */

enum { COLUMN_MAJOR = 102, NO_TRANS = 111, TRANS = 112, SMALL = 64 * 64 * 64 };

typedef void (*sgemm_fn)(int, int, int, int, int, int, float, const float *, int, const float *, int, float, float *,
                         int);
typedef void (*dgemm_fn)(int, int, int, int, int, int, double, const double *, int, const double *, int, double,
                         double *, int);

static struct {
    pthread_once_t once;
    sgemm_fn sgemm;
    dgemm_fn dgemm;
} blas = {.once = PTHREAD_ONCE_INIT};

static bool take(void *library, const char *sgemm, const char *dgemm)
{
    void *s = dlsym(library, sgemm), *d = dlsym(library, dgemm);
    if (!s || !d)
        return false;
    memcpy(&blas.sgemm, &s, sizeof s);
    memcpy(&blas.dgemm, &d, sizeof d);
    return true;
}

static void find_blas(void)
{
    const char *only = fake_env("TENON_BLAS");
    const char *const names[] = {"libopenblas.so.0", "libopenblas.so", "libscipy_openblas.so",
                                 "libmkl_rt.so.2",   "libmkl_rt.so",   "libblis.so.4",
                                 "libblis.so"};
    if (only && !strcmp(only, "off"))
        return;
    const size_t n = only && *only ? 1 : sizeof names / sizeof *names;
    for (size_t i = 0; i < n && !blas.sgemm; i++) {
        void *library = dlopen(only && *only ? only : names[i], RTLD_NOW | RTLD_LOCAL);
        if (library && !take(library, "cblas_sgemm", "cblas_dgemm") &&
            !take(library, "scipy_cblas_sgemm", "scipy_cblas_dgemm"))
            dlclose(library);
    }
}

/* Small products do not wake the BLAS's threads. ThreadSanitizer would not see how these wait for each other. */
static bool use_blas(const fake_gemm *p)
{
#if defined(TN_TSAN)
    if (p)
        return false;
#endif
    if ((double)p->m * p->n * p->k < SMALL)
        return false;
    pthread_once(&blas.once, find_blas);
    return blas.sgemm != NULL;
}

/* ---- types ---- */

static size_t size_of(unsigned type)
{
    return type == TN__CUBLAS_R_64F ? 8 : type == TN__CUBLAS_R_32F ? 4 : 2;
}

/* To 10 bits of mantissa, to nearest, ties away from zero (PTX: cvt.rna.tf32.f32). */
static float tf32(float x)
{
    const unsigned u = tn_bits_of_float(x);
    return (u & 0x7f800000u) == 0x7f800000u ? x : tn_float_of_bits((u + 0x1000u) & ~0x1fffu);
}

static float bf16_f32(unsigned short h)
{
    return tn_float_of_bits((unsigned)h << 16);
}

static unsigned short f32_bf16(float x)
{
    const unsigned u = tn_bits_of_float(x);
    if ((u & 0x7fffffffu) > 0x7f800000u)
        return (unsigned short)(u >> 16 | 0x40u);
    return (unsigned short)((u + 0x7fffu + (u >> 16 & 1u)) >> 16);
}

static float load(const void *from, unsigned type, size_t i)
{
    return type == TN__CUBLAS_R_32F   ? ((const float *)from)[i]
           : type == TN__CUBLAS_R_16F ? half_f32(((const unsigned short *)from)[i])
                                      : bf16_f32(((const unsigned short *)from)[i]);
}

/* A rows x columns matrix of 'type' as floats, dense. */
static float *widened(const void *from, unsigned type, size_t rows, size_t columns, size_t ld, bool round)
{
    float *to = malloc(rows * columns * sizeof *to), *out = to;
    for (size_t j = 0; to && j < columns; j++)
        for (size_t i = 0; i < rows; i++) {
            const float f = load(from, type, i + j * ld);
            *out++ = round ? tf32(f) : f;
        }
    return to;
}

static void narrow(const float *from, void *to, unsigned type, size_t rows, size_t columns, size_t ld)
{
    unsigned short *out = to;
    for (size_t j = 0; j < columns; j++)
        for (size_t i = 0; i < rows; i++, from++)
            out[i + j * ld] = type == TN__CUBLAS_R_16F ? f32_half(*from) : f32_bf16(*from);
}

/* ---- products ---- */

static bool gemm_f32(const fake_gemm *p)
{
    const float alpha = (float)p->alpha, beta = (float)p->beta;
    if (!use_blas(p))
        return f32_gemm(p->trans_a, p->trans_b, p->m, p->n, p->k, alpha, p->a, p->lda, p->b, p->ldb, beta, p->c,
                        p->ldc);
    blas.sgemm(COLUMN_MAJOR, p->trans_a ? TRANS : NO_TRANS, p->trans_b ? TRANS : NO_TRANS, p->m, p->n, p->k, alpha,
               p->a, p->lda, p->b, p->ldb, beta, p->c, p->ldc);
    return true;
}

static bool gemm_f64(const fake_gemm *p)
{
    if (!use_blas(p))
        return f64_gemm(p->trans_a, p->trans_b, p->m, p->n, p->k, p->alpha, p->a, p->lda, p->b, p->ldb, p->beta, p->c,
                        p->ldc);
    blas.dgemm(COLUMN_MAJOR, p->trans_a ? TRANS : NO_TRANS, p->trans_b ? TRANS : NO_TRANS, p->m, p->n, p->k, p->alpha,
               p->a, p->lda, p->b, p->ldb, p->beta, p->c, p->ldc);
    return true;
}

/* Neither a nor b is read. */
static void scale(const fake_gemm *p)
{
    for (int j = 0; j < p->n; j++)
        for (int i = 0; i < p->m; i++) {
            char *at = (char *)p->c + ((size_t)i + (size_t)j * (size_t)p->ldc) * size_of(p->c_type);
            if (p->beta == 0)
                memset(at, 0, size_of(p->c_type));
            else if (p->c_type == TN__CUBLAS_R_64F)
                *(double *)(void *)at *= p->beta;
            else if (p->c_type == TN__CUBLAS_R_32F)
                *(float *)(void *)at *= (float)p->beta;
            else if (p->c_type == TN__CUBLAS_R_16F)
                *(unsigned short *)(void *)at = f32_half(half_f32(*(unsigned short *)(void *)at) * (float)p->beta);
            else
                *(unsigned short *)(void *)at = f32_bf16(bf16_f32(*(unsigned short *)(void *)at) * (float)p->beta);
        }
}

/* Through float copies of what is not float32 already. */
static bool gemm_mixed(const fake_gemm *p)
{
    const size_t m = (size_t)p->m, n = (size_t)p->n, k = (size_t)p->k;
    const size_t rows_a = p->trans_a ? k : m, columns_a = p->trans_a ? m : k;
    const size_t rows_b = p->trans_b ? n : k, columns_b = p->trans_b ? k : n;
    float *a = NULL, *b = NULL, *c = NULL;
    fake_gemm f = *p;
    if (p->tf32 || p->a_type != TN__CUBLAS_R_32F) {
        f.a = a = widened(p->a, p->a_type, rows_a, columns_a, (size_t)p->lda, p->tf32);
        f.lda = (int)rows_a;
    }
    if (p->tf32 || p->b_type != TN__CUBLAS_R_32F) {
        f.b = b = widened(p->b, p->b_type, rows_b, columns_b, (size_t)p->ldb, p->tf32);
        f.ldb = (int)rows_b;
    }
    if (p->c_type != TN__CUBLAS_R_32F) {
        c = p->beta != 0 ? widened(p->c, p->c_type, m, n, (size_t)p->ldc, false) : malloc(m * n * sizeof *c);
        f.c = c;
        f.ldc = p->m;
    }
    const bool ok = f.a && f.b && f.c && gemm_f32(&f);
    if (ok && c)
        narrow(c, p->c, p->c_type, m, n, (size_t)p->ldc);
    free(a);
    free(b);
    free(c);
    return ok;
}

bool fake_gemm_run(const fake_gemm *p)
{
    if (p->m == 0 || p->n == 0)
        return true;
    if (p->k == 0 || p->alpha == 0) {
        scale(p);
        return true;
    }
    return p->a_type == TN__CUBLAS_R_64F ? gemm_f64(p) : gemm_mixed(p);
}
