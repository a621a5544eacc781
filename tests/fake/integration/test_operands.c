/* Results live where operands live: 0-dim CPU tensors as operands on a GPU, in values and gradients; operands apart. */
#include "fake/own_process.h"
#include <math.h>

typedef tn_tensor *(*binary)(tn_tensor *a, tn_tensor *b);

/* clang-format off */
#define ROWS(X) \
    X(add) X(sub) X(mul) X(div) X(div_floor) X(remainder) X(pow) X(maximum) X(minimum) X(eq) X(ne) X(lt) X(le) X(gt) \
    X(ge) X(logical_and) X(logical_xor)
/* clang-format on */
#define FUNCTION(name) \
    static tn_tensor *row_##name(tn_tensor *a, tn_tensor *b) \
    { \
        return tn_##name(a, b); \
    }
ROWS(FUNCTION)

static const struct {
    const char *name;
    binary f;
} rows[] = {
#define ROW(name) {#name, row_##name},
    ROWS(ROW)};

static tn_tensor *far_of(tn_tensor *t)
{
    return tn_to(t, .device = TN_CUDA(0));
}

static void same(tn_tensor *got, tn_tensor *want, const char *what)
{
    if (!got || tn_tensor_device(got).type != TN_DEVICE_CUDA || tn_tensor_dtype(got) != tn_tensor_dtype(want) ||
        !tn_allclose(tn_cpu(got), want, .equal_nan = true, .rtol = TN_SCALAR(1e-5))) {
        print_error("%s: %s\n", what, got ? "other values, dtype or device" : tn_error_message());
        tn_print(want);
        if (got)
            tn_print(got);
        fail();
    }
}

/* dtypes of the GPU's operand, and of the number on the CPU. */
static const tn_dtype dtypes[] = {TN_U8, TN_I8, TN_I32, TN_I64, TN_F16, TN_F32, TN_F64};
enum { DTYPES = sizeof dtypes / sizeof *dtypes };

/* Either operand may be the number; the result is what the CPU gives for the same operands. */
static void numbers_go_anywhere(void **state)
{
    (void)state;
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
        for (int a = 0; a < DTYPES; a++)
            for (int b = 0; b < DTYPES; b++) {
                char what[96];
                tn_scope *scope = tn_scope_open();
                tn_tensor *x = tn_tensor_from(TN_LIST(1, 2, 5, 3), .dtype = dtypes[a]);
                tn_tensor *two = tn_tensor_from(TN_LIST(2), .shape = TN_SHAPE(), .dtype = dtypes[b]);
                snprintf(what, sizeof what, "%s of %s and %s", rows[r].name, tn_dtype_name(dtypes[a]),
                         tn_dtype_name(dtypes[b]));
                same(rows[r].f(far_of(x), two), rows[r].f(x, two), what);
                same(rows[r].f(two, far_of(x)), rows[r].f(two, x), what);
                tn_scope_close(scope);
            }
}

/* Conditions, bounds, fills, scattered numbers, in place. */
static void other_rows(void **state)
{
    (void)state;
    tn_scope *scope = tn_scope_open();
    tn_tensor *x = tn_tensor_from(TN_LIST(1.5, -2.5, 3.25)), *g = far_of(x), *mask = tn_gt(g, 0);
    tn_tensor *two = tn_tensor_from(TN_LIST(2), .shape = TN_SHAPE()),
              *half = tn_tensor_from(TN_LIST(0.5), .shape = TN_SHAPE());
    tn_tensor *yes = tn_tensor_from(TN_LIST(1), .shape = TN_SHAPE(), .dtype = TN_BOOL);
    PRINTS(tn_where(mask, g, two), "tensor([1.5000, 2.0000, 3.2500], device='cuda:0')");
    PRINTS(tn_where(yes, g, two), "tensor([ 1.5000, -2.5000,  3.2500], device='cuda:0')");
    PRINTS(tn_where(mask, half, two), "tensor([0.5000, 2.0000, 0.5000], device='cuda:0')");
    PRINTS(tn_masked_fill(g, mask, half), "tensor([ 0.5000, -2.5000,  0.5000], device='cuda:0')");
    PRINTS(tn_clamp(g, half, two), "tensor([1.5000, 0.5000, 2.0000], device='cuda:0')");
    PRINTS(tn_fill(g, half), "tensor([0.5000, 0.5000, 0.5000], device='cuda:0')");
    PRINTS(tn_add_(g, two), "tensor([ 3.5000, -0.5000,  5.2500], device='cuda:0')");
    PRINTS(tn_fill_(g, two), "tensor([2., 2., 2.], device='cuda:0')");
    PRINTS(tn_mul(tn_tensor_from(TN_LIST(3), .dtype = TN_I8, .device = TN_CUDA(0)),
                  tn_tensor_from(TN_LIST(300), .shape = TN_SHAPE())),
           "tensor([-124], device='cuda:0', dtype=torch.int8)"); /* wraps around, as a number does */
    FAILS(tn_add_(two, g), TN_EDEVICE, "but found at least two devices, cuda:0 and cpu!");
    FAILS(tn_add(tn_select(g, 0, 0), x), TN_EDEVICE, "but found at least two devices, cuda:0 and cpu!");
    FAILS(tn_masked_fill(g, tn_gt(x, 0), 1), TN_EDEVICE, "but found at least two devices, cuda:0 and cpu!");
    tn_scope_close(scope);
}

/* The gradient of a number on the CPU comes back to it, summed. */
static void gradients_of_numbers(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        binary f;
    } smooth[] = {{"add", row_add}, {"sub", row_sub}, {"mul", row_mul},
                  {"div", row_div}, {"pow", row_pow}, {"maximum", row_maximum}};
    for (size_t r = 0; r < sizeof smooth / sizeof *smooth; r++)
        for (int swapped = 0; swapped < 2; swapped++) {
            tn_scope *scope = tn_scope_open();
            tn_tensor *x[2], *n[2], *seed = tn_tensor_from(TN_LIST(1.0, -2.0, 0.5));
            for (int far = 0; far < 2; far++) {
                tn_device d = far ? TN_CUDA(0) : TN_CPU;
                x[far] = tn_tensor_from(TN_LIST(1.5, 2.5, 0.75), .device = d, .requires_grad = true);
                n[far] = tn_tensor_from(TN_LIST(2.0), .shape = TN_SHAPE(), .requires_grad = true);
                tn_tensor *y = MADE(swapped ? smooth[r].f(n[far], x[far]) : smooth[r].f(x[far], n[far]));
                OK(tn_backward(y, .gradient = tn_to(seed, .device = d)));
            }
            assert_int_equal(tn_tensor_device(tn_tensor_grad(n[1])).type, TN_DEVICE_CPU);
            assert_int_equal(tn_tensor_ndim(tn_tensor_grad(n[1])), 0);
            assert_true(tn_allclose(tn_tensor_grad(n[0]), tn_tensor_grad(n[1])));
            same(tn_tensor_grad(x[1]), tn_tensor_grad(x[0]), smooth[r].name);
            tn_scope_close(scope);
        }
}

/* The same for rows of three operands, fills and scattered numbers: n is the number. */
static tn_tensor *by_where(tn_tensor *x, tn_tensor *n)
{
    return tn_where(tn_gt(x, 1), x, n);
}

static tn_tensor *by_mask(tn_tensor *x, tn_tensor *n)
{
    return tn_masked_fill(x, tn_gt(x, 1), n);
}

static tn_tensor *by_bounds(tn_tensor *x, tn_tensor *n)
{
    return tn_clamp(x, tn_mul(n, 0.25), n);
}

static tn_tensor *by_fill(tn_tensor *x, tn_tensor *n)
{
    return tn_add(x, tn_fill_(tn_mul(x, 2), n));
}

static tn_tensor *by_scatter(tn_tensor *x, tn_tensor *n)
{
    return tn_scatter(x, 0, tn_zeros(TN_SHAPE(1), .dtype = TN_I64, .device = tn_tensor_device(x)), n);
}

static tn_tensor *by_loss(tn_tensor *x, tn_tensor *n)
{
    return tn_mul(x, tn_mse_loss(x, n));
}

static void gradients_of_other_rows(void **state)
{
    (void)state;
    static const binary f[] = {by_where, by_mask, by_bounds, by_fill, by_scatter, by_loss};
    for (size_t r = 0; r < sizeof f / sizeof *f; r++) {
        tn_scope *scope = tn_scope_open();
        tn_tensor *x[2], *n[2], *y[2], *seed = tn_tensor_from(TN_LIST(1.0, -2.0, 0.5));
        for (int far = 0; far < 2; far++) {
            tn_device d = far ? TN_CUDA(0) : TN_CPU;
            x[far] = tn_tensor_from(TN_LIST(1.5, 2.5, 0.25), .device = d, .requires_grad = true);
            n[far] = tn_tensor_from(TN_LIST(2.0), .shape = TN_SHAPE(), .requires_grad = true);
            y[far] = MADE(f[r](x[far], n[far]));
            OK(tn_backward(y[far], .gradient = tn_to(seed, .device = d)));
        }
        char what[32];
        snprintf(what, sizeof what, "row %d", (int)r);
        same(y[1], y[0], what);
        same(tn_tensor_grad(x[1]), tn_tensor_grad(x[0]), what);
        assert_int_equal(tn_tensor_device(tn_tensor_grad(n[1])).type, TN_DEVICE_CPU);
        assert_true(tn_allclose(tn_tensor_grad(n[0]), tn_tensor_grad(n[1])));
        tn_scope_close(scope);
    }
}

#define APART "Expected all tensors to be on the same device, but found at least two devices, "

/* What is said where operands are apart: PyTorch's sentence for each kind of operation, and what mends it. */
static void apart(void **state)
{
    (void)state;
    tn_scope *scope = tn_scope_open();
    const tn_device one = TN_CUDA(1);
    tn_tensor *x = tn_ones(TN_SHAPE(2, 3)), *g = far_of(x), *h = tn_to(x, .device = one),
              *index = tn_zeros(TN_SHAPE(2, 3), .dtype = TN_I64);
    FAILS(tn_add(g, x), TN_EDEVICE,
          APART "cuda:0 and cpu!\n  add(float32 [2, 3] on cuda:0; float32 [2, 3] on cpu): move "
                "operand 2, for example with tn_cuda(x, 0)\n  at ");
    FAILS(tn_add(x, g), TN_EDEVICE,
          APART "cuda:0 and cpu!\n  add(float32 [2, 3] on cpu; float32 [2, 3] on cuda:0): move "
                "operand 1, for example with tn_cuda(x, 0)");
    FAILS(tn_add(h, g), TN_EDEVICE, APART "cuda:1 and cuda:0!");
    FAILS(tn_mm(g, tn_t(x)), TN_EDEVICE,
          APART "cuda:0 and cpu! (when checking argument for argument mat2 in method wrapper_CUDA_mm)");
    tn_tensor *w = tn_ones(TN_SHAPE(4, 3)), *b = tn_ones(TN_SHAPE(4));
    FAILS(tn_linear(g, w, b), TN_EDEVICE,
          APART "cpu and cuda:0! (when checking argument for argument mat1 in method wrapper_CUDA_addmm)");
    FAILS(tn_linear(x, far_of(w), far_of(b)), TN_EDEVICE,
          APART "cuda:0 and cpu! (when checking argument for argument mat1 in method wrapper_CUDA_addmm)");
    FAILS(tn_linear(g, w, TN_NONE), TN_EDEVICE,
          APART "cuda:0 and cpu! (when checking argument for argument mat2 in method wrapper_CUDA_mm)");
    FAILS(tn_gather(g, 0, index), TN_EDEVICE,
          APART "cuda:0 and cpu! (when checking argument for argument index in method wrapper_CUDA_gather)");
    FAILS(tn_embedding(g, index), TN_EDEVICE,
          APART "cuda:0 and cpu! (when checking argument for argument index in method wrapper_CUDA__index_select)");
    FAILS(tn_nll_loss(g, tn_zeros(TN_SHAPE(2), .dtype = TN_I64)), TN_EDEVICE,
          APART "cuda:0 and cpu! (when checking argument for argument target in method wrapper_CUDA_nll_loss_forward)");
    FAILS(tn_cat(TN_TENSORS(g, g, x), 0), TN_EDEVICE,
          APART "cuda:0 and cpu! (when checking argument for argument tensors in method wrapper_CUDA_cat)");
    FAILS(tn_mse_loss(g, x), TN_EDEVICE, APART "cuda:0 and cpu!");
    assert_int_equal(tn_error_code(), TN_OK);
    tn_scope_close(scope);
}

int main(int argc, char **argv)
{
    static const alone tests[] = {
        ANYWHERE(numbers_go_anywhere, "TENON_FAKE_GPUS=1"),
        ANYWHERE(other_rows, "TENON_FAKE_GPUS=1"),
        ANYWHERE(gradients_of_numbers, "TENON_FAKE_GPUS=1"),
        ANYWHERE(gradients_of_other_rows, "TENON_FAKE_GPUS=1"),
        ALONE(apart, "TENON_FAKE_GPUS=2"),
    };
    return alone_main(tests, sizeof tests / sizeof *tests, argc, argv);
}
