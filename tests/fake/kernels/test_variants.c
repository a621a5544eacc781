/* What kernels have beside their usual form, on a fake GPU against the CPU: local memory in place of shuffles, 2^31
 * elements and more, rows shared out as on a large device, writing in the order of indices. Numbers are whole, so that sums
 * are the same in any order. */
#include "fake/own_process.h"
#include "backend/gpu/dims.h"
#include "core/tensor.h"
#include "op/ops_private.h"

#define SCOPED for (tn_scope *scope_ = tn_scope_open(), *open_ = scope_; open_; tn_scope_close(scope_), open_ = NULL)

static tn_tensor *on_gpu(tn_tensor *t)
{
    return MADE(tn_to(t, .device = TN_CUDA(0)));
}

static void check_same(tn_tensor *gpu, tn_tensor *cpu)
{
    tn_tensor *got = MADE(tn_to(MADE(gpu), .device = TN_CPU));
    assert_int_equal(tn_equal(got, MADE(cpu)), 1);
}

/* The variance of one element is NaN. */
static void check_near(tn_tensor *gpu, tn_tensor *cpu, double atol)
{
    tn_tensor *got = MADE(tn_to(MADE(gpu), .device = TN_CPU));
    assert_int_equal(
        tn_allclose(got, MADE(cpu), .rtol = tn_scalar_f(1e-5), .atol = tn_scalar_f(atol), .equal_nan = true), 1);
}

static tn_tensor *whole_numbers(tn_dims shape, int64_t most)
{
    return MADE(tn_to(tn_randint(-most, most, shape), .dtype = TN_F32));
}

/* ---- reductions, running sums, softmax ---- */

/* Many are equal, so that places tell which of them was taken. */
static void check_extremes(tn_tensor *x, tn_tensor *y, int64_t dim)
{
    tn_tensor *few = MADE(tn_floor(tn_div(x, 10))), *there = MADE(tn_floor(tn_div(y, 10))), *at = NULL, *want = NULL;
    check_same(tn_cummax(there, dim, .indices = &at), tn_cummax(few, dim, .indices = &want));
    check_same(at, want);
    check_same(tn_cummin(there, dim, .indices = &at), tn_cummin(few, dim, .indices = &want));
    check_same(at, want);
}

static void check_line(tn_tensor *x, tn_tensor *y, int64_t dim)
{
    const tn_dims d = TN_DIMS(dim);
    check_same(tn_sum(y, .dims = d), tn_sum(x, .dims = d));
    check_same(tn_amax(y, .dims = d), tn_amax(x, .dims = d));
    check_same(tn_argmax(y, .dim = dim), tn_argmax(x, .dim = dim));
    check_same(tn_cumsum(y, dim), tn_cumsum(x, dim));
    check_extremes(x, y, dim);
    check_near(tn_var(y, .dims = d), tn_var(x, .dims = d), 0);
    tn_tensor *p = MADE(tn_softmax(x, dim)), *q = MADE(tn_softmax(y, dim));
    check_near(q, p, 1e-7);
    check_near(tn__softmax_backward(y, q, dim), tn__softmax_backward(x, p, dim), 1e-4);
    tn_tensor *u = MADE(tn_log_softmax(x, dim)), *v = MADE(tn_log_softmax(y, dim));
    check_near(v, u, 1e-5);
    check_near(tn__log_softmax_backward(y, v, dim), tn__log_softmax_backward(x, u, dim), 1e-4);
}

/* Each kernel of the families: lines that one work item takes, a few lanes, a group, several groups; side by side or one
 * after another; dimensions that do not merge. */
static void check_lines(void)
{
    static const int64_t shapes[][3] = {{3, 40, 5}, {2, 3, 3000}, {1, 2, 100001}, {1, 60001, 3}, {9, 130, 40}};
    static const int64_t orders[][3] = {{0, 1, 2}, {2, 0, 1}};
    for (size_t s = 0; s < TN_COUNT(shapes); s++)
        for (size_t o = 0; o < TN_COUNT(orders); o++)
            if (!TN_ASAN || (s + o) % 2 == 0) /* there items take turns ten times as slowly */
                SCOPED
                {
                    tn_tensor *all = whole_numbers(tn_dims_of(shapes[s], 3), 50), *there = on_gpu(all);
                    const tn_dims order = tn_dims_of(orders[o], 3), two = TN_DIMS(0, 2);
                    tn_tensor *x = MADE(tn_slice(tn_permute(all, order), 1, 0, INT64_MAX, 2));
                    tn_tensor *y = MADE(tn_slice(tn_permute(there, order), 1, 0, INT64_MAX, 2));
                    for (int64_t d = 0; d < 3; d++)
                        check_line(x, y, d);
                    check_same(tn_sum(y, .dims = two), tn_sum(x, .dims = two));
                    check_same(tn_amax(y, .dims = two), tn_amax(x, .dims = two));
                    check_near(tn_var(y, .dims = two), tn_var(x, .dims = two), 0);
                    check_same(tn_argmax(y), tn_argmax(x));
                }
}

static void lines_without_shuffles(void **state)
{
    (void)state;
    check_lines();
}

static void rows_of_large_tensors(void **state)
{
    (void)state;
    tn__gpu_index32_limit = 0;
    check_lines();
}

/* A fake GPU has few processors: on a large one rows are shared out among more lanes and more pieces. */
static void lines_on_a_large_device(void **state)
{
    (void)state;
    tn__gpu_limits *limits = (tn__gpu_limits *)(uintptr_t)tn__gpu_limits_of(TN_CUDA(0));
    assert_non_null(limits);
    limits->multiprocessors = 132;
    check_lines();
}

/* ---- indexing ---- */

/* Many indices name the same element. */
static void check_indexing(tn_tensor *x)
{
    for (int64_t d = 0; d < 2; d++) {
        tn_tensor *index = MADE(tn_randint(0, 7, TN_SHAPE(20, 30))), *src = whole_numbers(TN_SHAPE(30, 20), 1000);
        tn_tensor *y = on_gpu(x), *there = on_gpu(index), *s = MADE(tn_t(src)), *t = MADE(tn_t(on_gpu(src)));
        tn_tensor *some = MADE(tn_randint(0, 20, TN_SHAPE(d ? 30 : 20))), *few = on_gpu(some);
        check_same(tn_gather(y, d, there), tn_gather(x, d, index));
        check_same(tn_index_select(tn_t(y), d, few), tn_index_select(tn_t(x), d, some));
        check_same(tn_scatter_add(y, d, there, t), tn_scatter_add(x, d, index, s));
        check_same(tn_index_add(tn_slice(y, 1 - d, 0, d ? 20 : 30, 1), d, few, t),
                   tn_index_add(tn_slice(x, 1 - d, 0, d ? 20 : 30, 1), d, some, s));
        check_same(tn_one_hot(there, 7), tn_one_hot(index, 7));
    }
}

static void indices_of_large_tensors(void **state)
{
    (void)state;
    tn__gpu_index32_limit = 0;
    SCOPED check_indexing(whole_numbers(TN_SHAPE(40, 40), 1000));
}

/* The last of those that name one element stays, and rounding is that of a loop. */
static void in_order(void **state)
{
    (void)state;
    tn_use_deterministic_algorithms(true);
    SCOPED
    {
        tn_tensor *x = whole_numbers(TN_SHAPE(40, 40), 1000), *y = on_gpu(x);
        tn_tensor *src = MADE(tn_mul(tn_randn(TN_SHAPE(40, 40)), 1e6)), *far = on_gpu(src);
        check_indexing(x);
        for (int64_t d = 0; d < 2; d++)
            for (int wide = 0; wide < 2; wide++) {
                tn_tensor *index = MADE(tn_to(tn_randint(0, 7, TN_SHAPE(40, 40)), .dtype = wide ? TN_I64 : TN_I32));
                tn_tensor *there = on_gpu(index), *one = MADE(tn_select(index, 0, 3)), *few = on_gpu(one);
                check_same(tn_scatter(y, d, there, far), tn_scatter(x, d, index, src));
                check_same(tn_scatter(y, d, there, 0.5), tn_scatter(x, d, index, 0.5));
                check_same(tn_scatter_add(y, d, there, far), tn_scatter_add(x, d, index, src));
                check_same(tn_index_add(y, d, few, far), tn_index_add(x, d, one, src));
            }
        tn_tensor *wrong = on_gpu(tn_tensor_from(TN_LIST(0, -1, 40, 0))), *four = on_gpu(tn_ones(TN_SHAPE(4)));
        tn_tensor *sums = MADE(tn_scatter_add(on_gpu(tn_zeros(TN_SHAPE(40))), 0, wrong, four));
        FAILS(tn_to(sums, .device = TN_CPU), TN_EINDEX, "is out of bounds for dimension with size 40");
        tn_tensor *want = MADE(tn_zeros(TN_SHAPE(40)));
        MADE(tn_fill_(tn_select(want, 0, 0), 2));
        check_same(sums, want);
    }
}

int main(int argc, char **argv)
{
    static const alone tests[] = {
        ANYWHERE(lines_without_shuffles, "TENON_FAKE_GPUS=1", "TENON_GPU_SHUFFLE=0"),
        ANYWHERE(rows_of_large_tensors, "TENON_FAKE_GPUS=1"),
        ANYWHERE(lines_on_a_large_device, "TENON_FAKE_GPUS=1"),
        ANYWHERE(indices_of_large_tensors, "TENON_FAKE_GPUS=1"),
        ANYWHERE(in_order, "TENON_FAKE_GPUS=1"),
    };
    return alone_main(tests, (int)TN_COUNT(tests), argc, argv);
}
