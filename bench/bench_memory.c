/* Operations bound by memory, on 64 MiB tensors, and the limits they are held against. */
#include "bench.h"
#include "backend/cpu/cpu.h"
#include "core/alloc.h"
#include "core/parallel.h"
#include <string.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

enum { N = 16 << 20, SIDE = 4096, BYTES = 64 << 20 };

static tn_tensor *a, *b, *c, *m, *bias, *index_, *i8a, *i8b, *ha, *hb, *small;

static void begin_two(void)
{
    a = tn_rand(TN_SHAPE(N));
    b = tn_rand(TN_SHAPE(N));
    c = tn_zeros(TN_SHAPE(N));
    CHECK(c);
}

static void end_all(void)
{
    tn_tensor **all[] = {&a, &b, &c, &m, &bias, &index_, &i8a, &i8b, &ha, &hb, &small};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        tn_release(*all[i]);
        *all[i] = NULL;
    }
}

static void run_add(void)
{
    tn_release(tn_add(a, b));
}

static void run_add_into(void)
{
    CHECK(tn_add_(c, b)); /* reads two, writes one, as torch.add(out=) of the peer does */
}

static void run_exp(void)
{
    tn_release(tn_exp(a));
}

static void run_sum(void)
{
    tn_release(tn_sum(a));
}

static void begin_matrix(void)
{
    m = tn_rand(TN_SHAPE(SIDE, SIDE));
    bias = tn_rand(TN_SHAPE(SIDE));
    index_ = tn_randint(0, SIDE, TN_SHAPE(SIDE));
    small = tn_rand(TN_SHAPE(4096, 1024));
    CHECK(small);
}

static void run_softmax(void)
{
    tn_release(tn_softmax(small, 1));
}

static void run_transpose(void)
{
    tn_tensor *t = tn_t(m);
    tn_release(tn_contiguous(t));
    tn_release(t);
}

static void run_bias(void)
{
    tn_release(tn_add(m, bias));
}

static void run_column_sum(void)
{
    tn_release(tn_sum(m, .dim = 0));
}

static void run_gather(void)
{
    tn_release(tn_index_select(m, 0, index_));
}

static void begin_other(void)
{
    i8a = tn_randint(0, 1000, TN_SHAPE(N / 2));
    i8b = tn_randint(0, 1000, TN_SHAPE(N / 2));
    ha = tn_rand(TN_SHAPE(2 * N), .dtype = TN_F16);
    hb = tn_rand(TN_SHAPE(2 * N), .dtype = TN_F16);
    CHECK(hb);
}

static void run_add_i64(void)
{
    tn_release(tn_add(i8a, i8b));
}

static void run_add_f16(void)
{
    tn_release(tn_add(ha, hb));
}

/* ---- limits: what the machine does with the same bytes, in plain loops ---- */

/* STREAM's sum: 16-byte loads and stores past the caches. */
static void add_chunk(void *ctx, int64_t begin, int64_t end)
{
    (void)ctx;
    const float *x = tn_data(a), *y = tn_data(b);
    float *z = tn_data(c);
#if defined(__SSE2__)
    for (int64_t i = begin; i < end; i += 4)
        _mm_stream_ps(z + i, _mm_add_ps(_mm_load_ps(x + i), _mm_load_ps(y + i)));
#else
    for (int64_t i = begin; i < end; i++)
        z[i] = x[i] + y[i];
#endif
}

static void run_limit_add(void)
{
    tn__parallel_for(N, 1 << 16, add_chunk, NULL);
}

static void copy_chunk(void *ctx, int64_t begin, int64_t end)
{
    (void)ctx;
    tn__isa()->stream((float *)tn_data(c) + begin, (const float *)tn_data(a) + begin, (size_t)(end - begin) * 4);
}

static void run_limit_copy(void)
{
    tn__parallel_for(N, 1 << 16, copy_chunk, NULL);
}

static double sink;

static void read_chunk(void *ctx, int64_t begin, int64_t end)
{
    (void)ctx;
    sink += tn__isa()->reduce.run_float[TN__MAX][TN__F32]((const float *)tn_data(a) + begin, end - begin) > 2;
}

static void run_limit_read(void)
{
    tn__parallel_for(N, 1 << 16, read_chunk, NULL);
}

static void exp_chunk(void *ctx, int64_t begin, int64_t end)
{
    (void)ctx;
    float in[1024], out[1024];
    memset(in, 0, sizeof in);
    for (int64_t i = begin; i < end; i += 1024)
        tn__isa()->loops[TN__OP_exp][TN__F32](out, in, NULL, NULL, 1024);
}

static void run_limit_exp(void)
{
    tn__parallel_for(N, 1 << 16, exp_chunk, NULL);
}

int main(int argc, char **argv)
{
    static const bench list[] = {
        {"add_new_64MiB", 3.0 * BYTES, "B", begin_two, run_add, end_all},
        {"add_into_64MiB", 3.0 * BYTES, "B", begin_two, run_add_into, end_all},
        {"exp_64MiB", 2.0 * BYTES, "B", begin_two, run_exp, end_all},
        {"sum_64MiB", 1.0 * BYTES, "B", begin_two, run_sum, end_all},
        {"softmax_4096x1024", 2.0 * BYTES / 4, "B", begin_matrix, run_softmax, end_all},
        {"transpose_64MiB", 2.0 * BYTES, "B", begin_matrix, run_transpose, end_all},
        {"bias_64MiB", 2.0 * BYTES, "B", begin_matrix, run_bias, end_all},
        {"column_sum_64MiB", 1.0 * BYTES, "B", begin_matrix, run_column_sum, end_all},
        {"gather_rows_64MiB", 2.0 * BYTES, "B", begin_matrix, run_gather, end_all},
        {"add_int64_64MiB", 3.0 * BYTES, "B", begin_other, run_add_i64, end_all},
        {"add_float16_64MiB", 3.0 * BYTES, "B", begin_other, run_add_f16, end_all},
        {"limit_add", 3.0 * BYTES, "B", begin_two, run_limit_add, end_all},
        {"limit_copy", 2.0 * BYTES, "B", begin_two, run_limit_copy, end_all},
        {"limit_read", 1.0 * BYTES, "B", begin_two, run_limit_read, end_all},
        {"limit_exp", 2.0 * BYTES, "B", NULL, run_limit_exp, NULL},
    };
    return bench_main(argc, argv, list, (int)(sizeof list / sizeof *list));
}
