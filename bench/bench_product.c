/* Matrix products: with the BLAS that is found (if it is preferred), and by the own kernel. */
#include "bench.h"
#include "backend/cpu/cpu.h"
#include <string.h>

static tn_tensor *a, *b;

static void begin(int64_t m, int64_t n, int64_t k)
{
    a = tn_rand(TN_SHAPE(m, k));
    b = tn_rand(TN_SHAPE(k, n));
    CHECK(b);
}

static void end(void)
{
    tn_release(a);
    tn_release(b);
}

static void run(void)
{
    tn_release(tn_mm(a, b));
}

static void begin_small(void)
{
    begin(32, 128, 64);
}

static void begin_256(void)
{
    begin(256, 256, 256);
}

static void begin_1024(void)
{
    begin(1024, 1024, 1024);
}

static void begin_2048(void)
{
    begin(2048, 2048, 2048);
}

/* The own kernel and the BLAS, called directly on the same operands. */
static bool direct(bool own)
{
    int64_t m = tn_tensor_size(a, 0), k = tn_tensor_size(a, 1), n = tn_tensor_size(b, 1);
    static float c[2048 * 2048];
    tn__gemm g = {.m = m,
                  .n = n,
                  .k = k,
                  .a = tn_data(a),
                  .a_rs = k,
                  .a_cs = 1,
                  .b = tn_data(b),
                  .b_rs = n,
                  .b_cs = 1,
                  .c = c,
                  .ldc = n,
                  .scale = 1};
    return own ? tn__cpu_gemm_own(&g, TN__F32) == TN_OK : tn__blas_gemm_always(&g, TN__F32);
}

static void run_own(void)
{
    CHECK(direct(true) ? a : NULL);
}

static void run_blas(void)
{
    CHECK(direct(false) ? a : NULL);
}

static bool is_able(const char *name)
{
    if (strncmp(name, "blas_", 5) != 0)
        return true;
    begin(64, 64, 64);
    bool has = direct(false);
    end();
    return has;
}

int main(int argc, char **argv)
{
    static const bench list[] = {
        {"sgemm_32x128x64", 2.0 * 32 * 128 * 64, "FLOP", begin_small, run, end},
        {"sgemm_256", 2.0 * 256 * 256 * 256, "FLOP", begin_256, run, end},
        {"sgemm_1024", 2.0 * 1024 * 1024 * 1024, "FLOP", begin_1024, run, end},
        {"sgemm_2048", 2.0 * 2048 * 2048 * 2048, "FLOP", begin_2048, run, end},
        {"own_256", 2.0 * 256 * 256 * 256, "FLOP", begin_256, run_own, end},
        {"own_1024", 2.0 * 1024 * 1024 * 1024, "FLOP", begin_1024, run_own, end},
        {"own_2048", 2.0 * 2048 * 2048 * 2048, "FLOP", begin_2048, run_own, end},
        {"blas_256", 2.0 * 256 * 256 * 256, "FLOP", begin_256, run_blas, end},
        {"blas_1024", 2.0 * 1024 * 1024 * 1024, "FLOP", begin_1024, run_blas, end},
        {"blas_2048", 2.0 * 2048 * 2048 * 2048, "FLOP", begin_2048, run_blas, end},
    };
    bench_able = is_able;
    return bench_main(argc, argv, list, (int)(sizeof list / sizeof *list));
}
