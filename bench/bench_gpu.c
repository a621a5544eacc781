/* Operations on cuda:0, and the limits they are held against: what the driver's own copies reach in the same round.
 *
 *     bench_gpu --first-use       milliseconds of the first launch of a kernel, context and libraries apart */
#include "bench.h"
#include "backend/cuda/cuda.h"
#include <stdio.h>
#include <string.h>
#include <time.h>

#define GIB (INT64_C(1) << 30)
enum { ROWS = 16384, COLUMNS = 16384 };

static tn_tensor *a, *b, *c, *host;

static tn_device gpu(void)
{
    return TN_CUDA(0);
}

static void end_all(void)
{
    tn_tensor **all[] = {&a, &b, &c, &host};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        tn_release(*all[i]);
        *all[i] = NULL;
    }
    tn_empty_cache(gpu());
}

static void finish(void)
{
    if (tn_synchronize(gpu()))
        bench_check(NULL);
}

/* ---- memory ---- */

static void begin_gib(void)
{
    a = tn_rand(TN_SHAPE(GIB / 4), .device = gpu());
    b = tn_rand(TN_SHAPE(GIB / 4), .device = gpu());
    c = tn_empty(TN_SHAPE(GIB / 4), .device = gpu());
    CHECK(c);
}

static void run_add(void)
{
    tn_release(tn_add(a, b));
}

static void run_exp(void)
{
    tn_release(tn_exp(a));
}

static void run_limit_copy(void)
{
    tn__gpu_device *dev = tn__gpu_use(gpu());
    CHECK(dev);
    if (tn__cu.memcpy_dtod_async((tn__cu_ptr)(uintptr_t)c->storage->data, (tn__cu_ptr)(uintptr_t)a->storage->data,
                                 (size_t)GIB, tn__gpu_current(dev)->handle))
        bench_check(NULL);
}

/* ---- rows ---- */

static void begin_rows(void)
{
    a = tn_rand(TN_SHAPE(ROWS, COLUMNS), .device = gpu());
    CHECK(a);
}

static void run_softmax(void)
{
    tn_release(tn_softmax(a, 1));
}

static void run_sum(void)
{
    tn_release(tn_sum(a, .dim = 1));
}

static void run_argmax(void)
{
    tn_release(tn_argmax(a, .dim = 1));
}

static void run_sum_all(void)
{
    tn_release(tn_sum(a));
}

static void run_column_sum(void)
{
    tn_release(tn_sum(a, .dim = 0));
}

static void run_transpose(void)
{
    tn_tensor *t = tn_t(a);
    tn_release(tn_contiguous(t));
    tn_release(t);
}

/* ---- small work ---- */

static void begin_four(void)
{
    a = tn_rand(TN_SHAPE(4), .device = gpu());
    b = tn_rand(TN_SHAPE(4), .device = gpu());
    CHECK(b);
}

/* ---- between host and device ---- */

static void begin_pageable(void)
{
    host = tn_ones(TN_SHAPE(GIB / 4));
    CHECK(host);
}

static void begin_pinned(void)
{
    tn_tensor *plain = tn_ones(TN_SHAPE(GIB / 4));
    host = tn_pin_memory(plain);
    tn_release(plain);
    c = tn_empty(TN_SHAPE(GIB / 4), .device = gpu());
    CHECK(host);
    CHECK(c);
}

static void run_upload(void)
{
    tn_release(tn_to(host, .device = gpu()));
}

static void run_upload_pinned(void)
{
    tn_release(tn_to(host, .device = gpu(), .non_blocking = true));
}

static void run_limit_link(void)
{
    tn__gpu_device *dev = tn__gpu_use(gpu());
    CHECK(dev);
    if (tn__cu.memcpy_htod_async((tn__cu_ptr)(uintptr_t)c->storage->data, host->storage->data, (size_t)GIB,
                                 tn__gpu_current(dev)->handle))
        bench_check(NULL);
}

static void begin_download(void)
{
    a = tn_ones(TN_SHAPE(GIB / 4), .device = gpu());
    CHECK(a);
}

static void run_download(void)
{
    tn_release(tn_cpu(a));
}

/* ---- products ---- */

static void begin_product(tn_dtype dtype, int64_t n)
{
    tn_tensor *x = tn_rand(TN_SHAPE(n, n), .device = gpu()), *y = tn_rand(TN_SHAPE(n, n), .device = gpu());
    a = tn_to(x, .dtype = dtype);
    b = tn_to(y, .dtype = dtype);
    tn_release(x);
    tn_release(y);
    CHECK(b);
}

static void run_product(void)
{
    tn_release(tn_mm(a, b));
}

static void precision(const char *name)
{
    if (tn_set_float32_matmul_precision(name))
        bench_check(NULL);
}

static void end_product(void)
{
    precision("highest");
    end_all();
}

#define PRODUCT(n) \
    static void begin_f32_##n(void) \
    { \
        begin_product(TN_F32, n); \
    } \
    static void begin_tf32_##n(void) \
    { \
        precision("high"); \
        begin_product(TN_F32, n); \
    } \
    static void begin_bf16_##n(void) \
    { \
        begin_product(TN_BF16, n); \
    }
PRODUCT(1024)
PRODUCT(2048)
PRODUCT(4096)
PRODUCT(8192)
#define ROW_OF(kind, n) \
    { \
        "gpu_" #kind "_" #n, 2.0 * n *n *n, "FLOP", begin_##kind##_##n, run_product, end_product \
    }
#define ROWS_OF(n) ROW_OF(bf16, n), ROW_OF(tf32, n), ROW_OF(f32, n)

/* ---- a training step ---- */

static tn_module *net;
static tn_optimizer *opt;

static void begin_step(void)
{
    net = tn_nn_sequential(tn_nn_linear(784, 500), tn_nn_relu(), tn_nn_linear(500, 10));
    CHECK(tn_module_to(net, gpu()));
    opt = tn_adamw(net, 1e-3);
    a = tn_rand(TN_SHAPE(500, 784), .device = gpu());
    b = tn_randint(0, 10, TN_SHAPE(500), .device = gpu());
    CHECK(opt);
    CHECK(b);
}

static void run_step(void)
{
    tn_scope *s = tn_scope_open();
    tn_tensor *loss = tn_cross_entropy(tn_forward(net, a), b);
    tn_optimizer_zero_grad(opt);
    if (tn_backward(loss) || tn_optimizer_step(opt))
        bench_check(NULL);
    tn_scope_close(s);
}

static void end_step(void)
{
    tn_optimizer_free(opt);
    tn_module_release(net);
    end_all();
}

/* ---- the first launch ---- */

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Once to fill the cache on disk, in a process before this one; context and memory are there, the kernel is not. */
static int first_use(void)
{
    tn_tensor *x = tn_empty(TN_SHAPE(4), .device = gpu()), *y = tn_empty(TN_SHAPE(4), .device = gpu());
    CHECK(y);
    finish();
    double start = now();
    tn_tensor *z = tn_add(x, y);
    CHECK(z);
    double queued = now();
    finish();
    printf("%.3f ms to queue, %.3f ms to the result\n", (queued - start) * 1e3, (now() - start) * 1e3);
    tn_release(x);
    tn_release(y);
    tn_release(z);
    return 0;
}

int main(int argc, char **argv)
{
    static const bench list[] = {
        ROWS_OF(1024),
        ROWS_OF(2048),
        ROWS_OF(4096),
        ROWS_OF(8192),
        {"gpu_add_1GiB", 3.0 * GIB, "B", begin_gib, run_add, end_all},
        {"gpu_exp_1GiB", 2.0 * GIB, "B", begin_gib, run_exp, end_all},
        {"gpu_softmax_rows", 2.0 * GIB, "B", begin_rows, run_softmax, end_all},
        {"gpu_sum_rows", 1.0 * GIB, "B", begin_rows, run_sum, end_all},
        {"gpu_argmax_rows", 1.0 * GIB, "B", begin_rows, run_argmax, end_all},
        {"gpu_sum_all", 1.0 * GIB, "B", begin_rows, run_sum_all, end_all},
        {"gpu_sum_columns", 1.0 * GIB, "B", begin_rows, run_column_sum, end_all},
        {"gpu_transpose_1GiB", 2.0 * GIB, "B", begin_rows, run_transpose, end_all},
        {"gpu_add_4", 0, NULL, begin_four, run_add, end_all},
        {"gpu_mnist_step", 0, NULL, begin_step, run_step, end_step},
        {"gpu_upload_pageable", 1.0 * GIB, "B", begin_pageable, run_upload, end_all},
        {"gpu_upload_pinned", 1.0 * GIB, "B", begin_pinned, run_upload_pinned, end_all},
        {"gpu_download_pageable", 1.0 * GIB, "B", begin_download, run_download, end_all},
        {"limit_device_copy", 2.0 * GIB, "B", begin_gib, run_limit_copy, end_all},
        {"limit_link", 1.0 * GIB, "B", begin_pinned, run_limit_link, end_all},
    };
    if (argc > 1 && !strcmp(argv[1], "--first-use"))
        return first_use();
    bench_finish = finish;
    return bench_main(argc, argv, list, (int)(sizeof list / sizeof *list));
}
