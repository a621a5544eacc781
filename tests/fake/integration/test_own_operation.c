/* Operations of a program's own on GPUs: values and gradients beside the CPU's, dtypes, rows with a barrier, parameters, absent
 * inputs, streams, several devices, copies of a module, texts that do not compile, and the checker there. */
#include "fake/own_process_gpu.h"
#include <math.h>
#include <tenon/cuda.h>

/* ---- swiglu ---- */

static tn_status swiglu_cpu(const tn_op_args *c, int64_t begin, int64_t end)
{
    if (c->out[0].dtype == TN_F64) {
        const double *a = c->in[0].data, *b = c->in[1].data;
        for (int64_t i = begin; i < end; i++)
            ((double *)c->out[0].data)[i] = a[i] / (1 + exp(-a[i])) * b[i];
        return TN_OK;
    }
    const float *a = c->in[0].data, *b = c->in[1].data;
    for (int64_t i = begin; i < end; i++)
        ((float *)c->out[0].data)[i] = a[i] / (1 + expf(-a[i])) * b[i];
    return TN_OK;
}

static const char swiglu_text[] = "KERNEL(swiglu)(GLOBAL ST *out, GLOBAL const ST *a, GLOBAL const ST *b, i64 n)\n"
                                  "{\n"
                                  "    for (i64 i = GLOBAL_ID(0); i < n; i += GLOBAL_SIZE(0)) {\n"
                                  "        const T x = LD(a[i]);\n"
                                  "        out[i] = SV(x / (K(1) + m_exp(-x)) * LD(b[i]));\n"
                                  "    }\n"
                                  "}\n";

static tn_status swiglu_backward(const tn_op_backward *d)
{
    tn_tensor *a = d->in[0], *b = d->in[1], *s = tn_sigmoid(a), *as = tn_mul(a, s);
    d->grad[0] = tn_mul(tn_mul(d->grad_out[0], b), tn_add(s, tn_mul(as, tn_sub(1, s))));
    d->grad[1] = tn_mul(d->grad_out[0], as);
    return d->grad[0] && d->grad[1] ? TN_OK : tn_error_code();
}

static const tn_op_def swiglu_def = {.struct_size = sizeof swiglu_def,
                                     .name = "test::swiglu",
                                     .inputs = 2,
                                     .rule = TN_OP_BROADCAST,
                                     .cpu = swiglu_cpu,
                                     .cpu_dtypes = TN_OP_DTYPE(TN_F32) | TN_OP_DTYPE(TN_F64),
                                     .kernel = swiglu_text,
                                     .backward = swiglu_backward};

static const tn_op *swiglu(void)
{
    const tn_op *op = tn_op_find("test::swiglu");
    return op ? op : tn_op_register(&swiglu_def);
}

/* Value and gradients of a call on a device, on the CPU. */
static void run_on(tn_device device, tn_dtype dtype, tn_tensor *a, tn_tensor *b, tn_tensor **out)
{
    tn_tensor *x = MADE(tn_requires_grad_(tn_to(a, .device = device, .dtype = dtype, .copy = true), true));
    tn_tensor *y = MADE(tn_requires_grad_(tn_to(b, .device = device, .dtype = dtype, .copy = true), true));
    tn_tensor *z = MADE(tn_op_call(swiglu(), TN_TENSORS(tn_t(x), y)));
    assert_string_equal(tn_tensor_grad_fn(z).s, "SwigluBackward0");
    assert_int_equal(tn_tensor_device(z).index, tn_tensor_device(x).index);
    OK(tn_backward(tn_sum(tn_square(z))));
    out[0] = MADE(tn_cpu(tn_detach(z)));
    out[1] = MADE(tn_cpu(tn_tensor_grad(x)));
    out[2] = MADE(tn_cpu(tn_tensor_grad(y)));
}

static void beside_the_cpu(void **state)
{
    (void)state;
    static const struct {
        tn_dtype dtype;
        double slack;
    } dtypes[] = {{TN_F16, 2e-2}, {TN_BF16, 1e-1}, {TN_F32, 1e-5}, {TN_F64, 1e-12}};
    tn_scope *scope = tn_scope_open();
    tn_manual_seed(1);
    tn_tensor *a = MADE(tn_randn(TN_SHAPE(33, 70))), *b = MADE(tn_randn(TN_SHAPE(33)));
    for (int i = 0; i < 4; i++) {
        tn_tensor *cpu[3], *gpu[3];
        run_on(tn_device_make(TN_DEVICE_CPU, 0), dtypes[i].dtype, a, b, cpu);
        for (int d = 0; d < tn_cuda_device_count(); d++) {
            run_on(TN_CUDA(d), dtypes[i].dtype, a, b, gpu);
            for (int k = 0; k < 3; k++)
                if (!tn_allclose(gpu[k], cpu[k], .rtol = TN_SCALAR(dtypes[i].slack),
                                 .atol = TN_SCALAR(dtypes[i].slack))) {
                    print_error("dtype %d, tensor %d\n", (int)dtypes[i].dtype, k);
                    fail();
                }
        }
    }
    tn_scope_close(scope);
    CLEAN();
}

static void checked(void **state)
{
    (void)state;
    tn_scope *scope = tn_scope_open();
    tn_manual_seed(2);
    tn_tensor *a = MADE(tn_randn(TN_SHAPE(3, 4))), *b = MADE(tn_randn(TN_SHAPE(3, 4)));
    OK(tn_op_check(swiglu(), TN_TENSORS(a, b)));
    tn_op_def d = swiglu_def;
    d.name = "test::other";
    d.entry = "swiglu";
    d.kernel = "KERNEL(swiglu)(GLOBAL ST *out, GLOBAL const ST *a, GLOBAL const ST *b, i64 n)\n"
               "{\n"
               "    for (i64 i = GLOBAL_ID(0); i < n; i += GLOBAL_SIZE(0))\n"
               "        out[i] = SV(LD(a[i]) * LD(b[i]));\n"
               "}\n";
    const tn_op *other = tn_op_register(&d);
    FAILS_STATUS(tn_op_check(other, TN_TENSORS(a, b)), TN_EINVAL, "test::other: float16 on cuda:0: result 0 differs");
    tn_scope_close(scope);
    CLEAN();
}

/* ---- rows, a group each, with local memory, two results, parameters, an absent input ---- */

static tn_status rows_cpu(const tn_op_args *c, int64_t begin, int64_t end)
{
    const float *x = c->in[0].data, *bias = c->in[1].data;
    const int64_t width = c->in[0].shape[c->in[0].ndim - 1];
    for (int64_t r = begin; r < end; r++) {
        double sum = 0;
        for (int64_t i = 0; i < width; i++)
            sum += (double)x[r * width + i];
        for (int64_t i = 0; i < width; i++)
            ((float *)c->out[0].data)[r * width + i] =
                x[r * width + i] / (float)sum * (float)c->param[0].v.f + (bias ? bias[r * width + i] : 0);
        for (int64_t i = 0; i < width; i++)
            ((float *)c->out[1].data)[r * width + i] = (float)(sum * (double)c->param[1].v.i);
    }
    return TN_OK;
}

static const char rows_text[] = "KERNEL_B(shares)(GLOBAL OT *out, GLOBAL OT *sums, GLOBAL const ST *x, GLOBAL const ST "
                                "*bias, i64 rows, i64 width,\n"
                                "                 double scale, i64 times)\n"
                                "{\n"
                                "    LOCAL_MEM(T, part, 64);\n"
                                "    for (i64 r = GROUP_ID(0); r < rows; r += NUM_GROUPS(0)) {\n"
                                "        T sum = K(0);\n"
                                "        for (i64 i = LOCAL_ID(0); i < width; i += LOCAL_SIZE(0))\n"
                                "            sum += LD(x[r * width + i]);\n"
                                "        part[LOCAL_ID(0)] = sum;\n"
                                "        BARRIER();\n"
                                "        sum = K(0);\n"
                                "        for (int i = 0; i < LOCAL_SIZE(0); i++)\n"
                                "            sum += part[i];\n"
                                "        BARRIER();\n"
                                "        for (i64 i = LOCAL_ID(0); i < width; i += LOCAL_SIZE(0)) {\n"
                                "            const T b = bias ? LD(bias[r * width + i]) : K(0);\n"
                                "            out[r * width + i] = SVO(LD(x[r * width + i]) / sum * (T)scale + b);\n"
                                "            sums[r * width + i] = SVO(sum * (T)times);\n"
                                "        }\n"
                                "    }\n"
                                "}\n";

static void rows_of_groups(void **state)
{
    (void)state;
    static const tn_op_def def = {.struct_size = sizeof def,
                                  .name = "test::rows",
                                  .inputs = 2,
                                  .results = 2,
                                  .optional = 2,
                                  .params = "fi",
                                  .dtypes = TN_OP_DTYPE(TN_F32),
                                  .items = TN_OP_ROWS,
                                  .cpu = rows_cpu,
                                  .kernel = rows_text,
                                  .entry = "shares",
                                  .local = 64};
    const tn_op *op = tn_op_register(&def);
    tn_scope *scope = tn_scope_open();
    tn_manual_seed(4);
    tn_tensor *x = MADE(tn_rand(TN_SHAPE(5, 3, 130))), *bias = MADE(tn_rand(TN_SHAPE(5, 3, 130)));
    for (int with = 0; with < 2; with++) {
        tn_tensor *second, *far_second, *in = with ? bias : TN_NONE, *far_in = with ? tn_cuda(bias, 0) : TN_NONE;
        tn_tensor *y = MADE(
            tn_op_call(op, TN_TENSORS(x, in), .second = &second, .params = TN_NUMBERS(TN_SCALAR(2.5), TN_SCALAR(-3))));
        tn_tensor *far_y = MADE(tn_op_call(op, TN_TENSORS(tn_cuda(x, 0), far_in), .second = &far_second,
                                           .params = TN_NUMBERS(TN_SCALAR(2.5), TN_SCALAR(-3))));
        assert_true(tn_allclose(tn_cpu(far_y), y, .rtol = TN_SCALAR(1e-4)));
        assert_true(tn_allclose(tn_cpu(far_second), second, .rtol = TN_SCALAR(1e-4)));
    }
    OK(tn_op_check(op, TN_TENSORS(tn_narrow(x, 0, 0, 2), TN_NONE), .params = TN_NUMBERS(TN_SCALAR(1), TN_SCALAR(2))));
    tn_scope_close(scope);
    CLEAN();
}

/* ---- what does not run ---- */

static void refused(void **state)
{
    (void)state;
    tn_op_def d = swiglu_def;
    tn_scope *scope = tn_scope_open();
    tn_tensor *x = MADE(tn_ones(TN_SHAPE(3), .device = TN_CUDA(0)));
    d.name = "test::cpu_alone";
    d.kernel = NULL;
    FAILS(tn_op_call(tn_op_register(&d), TN_TENSORS(x, x)), TN_EMISSING,
          "test::cpu_alone has no kernel: it was registered with a CPU function alone, and does not run on cuda:0");
    d.name = "test::gpu_alone";
    d.kernel = swiglu_text;
    d.entry = "swiglu";
    d.cpu = NULL;
    const tn_op *op = tn_op_register(&d);
    MADE(tn_op_call(op, TN_TENSORS(x, x)));
    FAILS(tn_op_call(op, TN_TENSORS(tn_cpu(x), tn_cpu(x))), TN_EMISSING, "test::gpu_alone has no CPU function");
    FAILS(tn_op_call(op, TN_TENSORS(tn_cpu(x), x)), TN_EDEVICE, "Expected all tensors to be on the same device");
    /* the compiler's message names the operation and the line of its text, every time; others go on */
    d.name = "test::broken";
    d.kernel =
        "KERNEL(swiglu)(GLOBAL ST *out, GLOBAL const ST *a, GLOBAL const ST *b, i64 n)\n{\n    out[0] = nowhere;\n}\n";
    const tn_op *broken = tn_op_register(&d);
    for (int i = 0; i < 2; i++)
        FAILS(tn_op_call(broken, TN_TENSORS(x, x)), TN_EDEVICE, "test::broken");
    assert_null(tn_op_call(broken, TN_TENSORS(x, x)));
    assert_non_null(strstr(tn_error_message(), "nowhere"));
    assert_true(strstr(tn_error_message(), "test::broken:3") || strstr(tn_error_message(), "test::broken(3)"));
    tn_error_clear();
    d.name = "test::nameless";
    d.kernel = swiglu_text;
    d.entry = "swish";
    FAILS(tn_op_call(tn_op_register(&d), TN_TENSORS(x, x)), TN_EDEVICE, "swish");
    PRINTS(tn_cpu(tn_op_call(swiglu(), TN_TENSORS(x, x))), "tensor([0.7311, 0.7311, 0.7311])");
    tn_scope_close(scope);
}

/* ---- in the threads of DataParallel; hooks ---- */

static tn_tensor *gated_forward(tn_module *self, tn_tensor *x)
{
    tn_tensor *w = tn_module_parameter(self, "w");
    return tn_op_call(swiglu(), TN_TENSORS(tn_mul(x, w), x));
}

static tn_module *gated(void)
{
    static const tn_module_class class = {.struct_size = sizeof class, .name = "Gated", .forward = gated_forward};
    tn_module *m = tn_module_new(&class, NULL);
    return m && tn_module_add_parameter(m, "w", tn_full(TN_SHAPE(3), 0.5)) ? m : NULL;
}

static void in_data_parallel(void **state)
{
    (void)state;
    tn_scope *scope = tn_scope_open();
    tn_manual_seed(6);
    tn_tensor *x = MADE(tn_randn(TN_SHAPE(10, 3))), *grad[2], *value[2];
    for (int parallel = 0; parallel < 2; parallel++) {
        tn_module *net = tn_module_to(gated(), TN_CUDA(0));
        tn_module *whole = parallel ? tn_nn_data_parallel(net) : net;
        assert_non_null(whole);
        tn_tensor *y = MADE(tn_forward(whole, tn_cuda(x, 0)));
        OK(tn_backward(tn_sum(tn_square(y))));
        value[parallel] = MADE(tn_cpu(tn_detach(y)));
        grad[parallel] = MADE(tn_cpu(tn_tensor_grad(tn_module_parameter(net, "w"))));
    }
    assert_true(tn_allclose(value[0], value[1]));
    assert_true(tn_allclose(grad[0], grad[1], .rtol = TN_SCALAR(1e-4)));
    tn_scope_close(scope);
    SILENT();
}

static tn_status doubled(void *ctx, tn_tensor *t, tn_tensor **replaced)
{
    ++*(int *)ctx;
    *replaced = tn_mul(t, 2);
    return *replaced ? TN_OK : tn_error_code();
}

/* Copies that were not yet done, on another stream than the tensors' own: fake GPUs refuse what is not ordered. */
static void on_another_stream(void **state)
{
    (void)state;
    int seen = 0;
    tn_scope *scope = tn_scope_open();
    tn_tensor *a = MADE(tn_ones(TN_SHAPE(40, 30), .device = TN_CUDA(0), .requires_grad = true));
    tn_stream *home = tn_cuda_current_stream(TN_CUDA(0)), *s = tn_cuda_stream_new(TN_CUDA(0), 0);
    OK(tn_stream_wait_stream(s, home));
    tn_stream_guard g = tn_stream_enter(s);
    tn_tensor *y = MADE(tn_op_call(swiglu(), TN_TENSORS(tn_t(a), tn_full(TN_SHAPE(40), 3, .device = TN_CUDA(0)))));
    tn_stream_leave(g);
    OK(tn_stream_wait_stream(home, s));
    OK(tn_tensor_add_hook(y, doubled, &seen, NULL, NULL));
    OK(tn_backward(tn_sum(y)));
    assert_int_equal(seen, 1);
    /* 2 * 3 * d silu(1)/da, PyTorch's 0.9276706 */
    assert_true(fabs(tn_item(tn_mean(tn_tensor_grad(a))) - 6 * 0.9276706) < 1e-4);
    tn_stream_release(s);
    tn_stream_release(home);
    tn_scope_close(scope);
    CLEAN();
}

int main(int argc, char **argv)
{
    static const alone tests[] = {
        ANYWHERE(beside_the_cpu, "TENON_FAKE_GPUS=2"),   ANYWHERE(checked, "TENON_FAKE_GPUS=2"),
        ANYWHERE(rows_of_groups, "TENON_FAKE_GPUS=1"),   ANYWHERE(refused, "TENON_FAKE_GPUS=1"),
        ANYWHERE(in_data_parallel, "TENON_FAKE_GPUS=2"), ANYWHERE(on_another_stream, "TENON_FAKE_GPUS=1"),
    };
    return alone_main(tests, sizeof tests / sizeof *tests, argc, argv);
}
