/* The BLAS found at run time, by its C interface. Its settings are left as they are.
 *
 * It is asked for products above 64^3 that are not thin (is_thin), unless its kernels are known to be of an older instruction set
 * than the own ones (OpenBLAS 0.3.21 runs Haswell kernels on a CPU with AVX-512: measured, half the rate of the own product).
 * TENON_BLAS: a path to load instead, or 'off'. A build for ThreadSanitizer opens none unless TENON_BLAS names it: a
 * BLAS's threads are ordered by means that ThreadSanitizer does not see. */
#include "backend/cpu/cpu.h"
#include "core/dynlib.h"
#include "core/env.h"
#include "core/variables.h"
#include <pthread.h>
#include <stdio.h>

typedef void (*sgemm_fn)(int, int, int, int, int, int, float, const float *, int, const float *, int, float, float *,
                         int);
typedef void (*dgemm_fn)(int, int, int, int, int, int, double, const double *, int, const double *, int, double,
                         double *, int);

enum { ROW_MAJOR = 101, NO_TRANS = 111, TRANS = 112, SMALL = 64 * 64 * 64 };

static struct {
    pthread_once_t once;
    sgemm_fn sgemm;
    dgemm_fn dgemm;
    bool prefer; /* at least as new an instruction set as the own kernels' */
    char description[256];
} blas = {.once = PTHREAD_ONCE_INIT};

static const char *const libraries[] = {"libopenblas.so.0",
                                        "libopenblas.so",
                                        "libscipy_openblas.so",
                                        "libmkl_rt.so.2",
                                        "libmkl_rt.so",
                                        "libblis.so.4",
                                        "libblis.so",
                                        "/System/Library/Frameworks/Accelerate.framework/Accelerate",
                                        NULL};

static bool find_products(void *lib)
{
    static const char *const names[][2] = {{"cblas_sgemm", "cblas_dgemm"}, {"scipy_cblas_sgemm", "scipy_cblas_dgemm"}};
    for (size_t i = 0; i < TN_COUNT(names); i++) {
        void *slot[2];
        if (tn__dynlib_symbols(lib, names[i], slot, 2)) {
            memcpy(&blas.sgemm, &slot[0], sizeof slot[0]);
            memcpy(&blas.dgemm, &slot[1], sizeof slot[1]);
            return true;
        }
    }
    return false;
}

/* OpenBLAS says which kernels it runs; others choose by themselves and are trusted. */
static const char *core_name(void *lib)
{
    static const char *const names[] = {"openblas_get_corename", "scipy_openblas_get_corename"};
    for (size_t i = 0; i < TN_COUNT(names); i++) {
        const char *(*get)(void);
        void *slot;
        if (tn__dynlib_symbols(lib, &names[i], &slot, 1)) {
            memcpy(&get, &slot, sizeof slot);
            return get();
        }
    }
    return NULL;
}

static bool is_wide(const char *core)
{
    static const char *const wide[] = {"SkylakeX", "Cooperlake", "SapphireRapids", "Zen4", "Zen5"};
    for (size_t i = 0; i < TN_COUNT(wide); i++)
        if (!strcmp(core, wide[i]))
            return true;
    return false;
}

static void *open_library(const char **opened)
{
    const char *path = tn__env_text("TENON_BLAS");
    const char *const only[] = {path, NULL};
    bool named = path && *path;
    if (named ? !strcmp(path, "off") : TN_TSAN)
        return NULL;
    *opened = path;
    return tn__dynlib_open(named ? only : libraries, opened, NULL);
}

/* Why there is no BLAS. */
static void describe_none(void)
{
    const char *path = tn__env_text("TENON_BLAS");
    const bool named = path && *path, looked_for = named ? strcmp(path, "off") != 0 : !TN_TSAN;
    if (looked_for && tn__dynlib_exhausted()) {
        snprintf(blas.description, sizeof blas.description,
                 "own products (too many open files: no BLAS could be opened)");
        return;
    }
    if (named && looked_for) {
        snprintf(blas.description, sizeof blas.description, "own products (TENON_BLAS: %.160s is not a BLAS)", path);
        tn__variable_refuse("TENON_BLAS", "it is not a BLAS");
        return;
    }
    snprintf(blas.description, sizeof blas.description, "own products (%s)",
             named     ? "TENON_BLAS=off"
             : TN_TSAN ? "no BLAS is opened under ThreadSanitizer"
                       : "no BLAS was found");
}

/* A BLAS that is not to be used is closed again: an open one keeps threads of its own, which wait by spinning. */
static void find(void)
{
    const char *opened = "";
    void *lib = open_library(&opened);
    if (!lib || !find_products(lib)) {
        tn__dynlib_close(lib);
        describe_none();
        return;
    }
    const char *core = core_name(lib);
    blas.prefer = !core || strcmp(tn__isa()->name, "avx512") != 0 || is_wide(core);
    snprintf(blas.description, sizeof blas.description, "BLAS %.120s%s%.40s%s", opened, core ? ", kernels " : "",
             core ? core : "", blas.prefer ? "" : " (own products are faster here)");
    if (!blas.prefer) {
        blas.sgemm = NULL;
        blas.dgemm = NULL;
        tn__dynlib_close(lib);
    }
}

const char *tn__blas_description(void)
{
    pthread_once(&blas.once, find);
    return blas.description;
}

/* BLAS wants one of the strides to be 1. */
static bool layout(int64_t rs, int64_t cs, int64_t rows, int64_t cols, int *trans, int *ld)
{
    if (cs == 1 && rs >= TN_MAX(cols, 1) && rs <= INT32_MAX) {
        *trans = NO_TRANS;
        *ld = (int)rs;
        return true;
    }
    if (rs == 1 && cs >= TN_MAX(rows, 1) && cs <= INT32_MAX) {
        *trans = TRANS;
        *ld = (int)cs;
        return true;
    }
    return false;
}

static bool call(const tn__gemm *g, int type)
{
    int ta, tb, lda, ldb;
    if (!blas.sgemm || g->m > INT32_MAX || g->n > INT32_MAX || g->k > INT32_MAX || g->ldc > INT32_MAX ||
        !layout(g->a_rs, g->a_cs, g->m, g->k, &ta, &lda) || !layout(g->b_rs, g->b_cs, g->k, g->n, &tb, &ldb))
        return false;
    int m = (int)g->m, n = (int)g->n, k = (int)g->k, ldc = (int)g->ldc;
    if (type == TN__F32)
        blas.sgemm(ROW_MAJOR, ta, tb, m, n, k, (float)g->scale, g->a, lda, g->b, ldb, g->accumulate ? 1 : 0, g->c, ldc);
    else
        blas.dgemm(ROW_MAJOR, ta, tb, m, n, k, g->scale, g->a, lda, g->b, ldb, g->accumulate ? 1 : 0, g->c, ldc);
    return true;
}

/* Few products to a number, or a few numbers of long sums: what a BLAS does beside the arithmetic takes longer. Measured with
 * OpenBLAS 0.3.21 (its time by the own product's, AVX2): 8192 x 256 of 8: 4.4, of 32: 1.6; 8 x 64 of 8192: 2.3, 24 x 24: 1.7. */
static bool is_thin(const tn__gemm *g, int type)
{
    const int64_t few = type == TN__F32 ? 32 : 8;
    return (g->k <= few && g->n >= 64) || (g->m <= 8 && g->n <= 64) || (g->m <= 24 && g->n <= 24);
}

bool tn__blas_used(tn_dtype stored, int type)
{
    pthread_once(&blas.once, find);
    return !stored && type <= TN__F64 && blas.prefer && blas.sgemm;
}

bool tn__blas_gemm(const tn__gemm *g, int type)
{
    if (g->stored || (double)g->m * (double)g->n * (double)g->k < SMALL || is_thin(g, type))
        return false;
    pthread_once(&blas.once, find);
    return blas.prefer && call(g, type);
}

bool tn__blas_gemm_always(const tn__gemm *g, int type)
{
    const char *opened;
    pthread_once(&blas.once, find);
    if (!blas.sgemm) {
        void *lib = open_library(&opened);
        if (!lib || !find_products(lib))
            return false;
    }
    return call(g, type);
}
