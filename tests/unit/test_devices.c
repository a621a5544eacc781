/* Where results live, and what moves: the parts that need no GPU (cpu and meta). tests/fake/integration has the rest. */
#include "../check.h"
#include "core/device.h"
#include <math.h>
#include <tenon/memory.h>

/* 0-dim CPU tensors stand where a number could; everything else must be where the others are. */
static void wandering(void **state)
{
    (void)state;
    tn_scope *scope = tn_scope_open();
    tn_tensor *x = tn_ones(TN_SHAPE(2), .device = TN_META), *two = tn_tensor_from(TN_LIST(2), .shape = TN_SHAPE());
    tn_tensor *near = tn_ones(TN_SHAPE(2)), *mask = tn_gt(x, 0);
    PRINTS(tn_add(x, two), "tensor(..., device='meta', size=(2,))");
    PRINTS(tn_add(two, x), "tensor(..., device='meta', size=(2,))");
    PRINTS(tn_where(tn_tensor_from(TN_LIST(1), .shape = TN_SHAPE(), .dtype = TN_BOOL), x, two),
           "tensor(..., device='meta', size=(2,))");
    PRINTS(tn_masked_fill(x, mask, two), "tensor(..., device='meta', size=(2,))");
    PRINTS(tn_fill_(x, two), "tensor(..., device='meta', size=(2,))");
    PRINTS(tn_mse_loss(x, two), "tensor(..., device='meta', size=())");
    FAILS(tn_add(x, near), TN_EDEVICE,
          "but found at least two devices, meta and cpu!\n  add(float32 [2] on meta; "
          "float32 [2] on cpu): move operand 2, for example with tn_to(x");
    FAILS(tn_add(near, x), TN_EDEVICE,
          "but found at least two devices, meta and cpu!\n  add(float32 [2] on cpu; "
          "float32 [2] on meta): move operand 1,");
    FAILS(tn_add_(two, x), TN_EDEVICE, "but found at least two devices, meta and cpu!");
    FAILS(tn_add(tn_ones(TN_SHAPE(), .device = TN_META), near), TN_EDEVICE, "two devices, meta and cpu!");
    FAILS(tn_mm(tn_ones(TN_SHAPE(2, 2), .device = TN_META), tn_ones(TN_SHAPE(2, 2))), TN_EDEVICE,
          "Expected all tensors to be on the same device, but found at least two devices, meta and cpu!");
    FAILS(tn_gather(x, 0, tn_tensor_from(TN_LIST(0))), TN_EDEVICE, "two devices, meta and cpu!");
    FAILS(tn_cat(TN_TENSORS(near, near, x), 0), TN_EDEVICE, "two devices, cpu and meta!");
    tn_scope_close(scope);
}

/* To meta shapes travel; out of it nothing can come; what changes nothing is the same tensor. */
static void moving(void **state)
{
    (void)state;
    tn_scope *scope = tn_scope_open();
    tn_tensor *x = tn_requires_grad_(tn_rand(TN_SHAPE(2, 3)), true), *m = MADE(tn_to(tn_t(x), .device = TN_META));
    PRINTS(m, "tensor(..., device='meta', size=(3, 2), grad_fn=<ToCopyBackward0>)");
    assert_int_equal(tn_tensor_stride(m).dim[0], 1); /* a dense layout is kept */
    assert_ptr_equal(tn_to(x, .device = TN_CPU), x);
    assert_ptr_equal(tn_to(m, .device = TN_META, .dtype = TN_F32, .non_blocking = true), m);
    assert_ptr_not_equal(tn_to(m, .device = TN_META, .copy = true), m);
    assert_int_equal(tn_tensor_dtype(tn_to(x, .device = TN_META, .dtype = TN_I8)), TN_I8);
    FAILS(tn_cpu(m), TN_EDEVICE, "Cannot copy out of meta tensor; no data!");
    FAILS(tn_copy_(tn_zeros(TN_SHAPE(3, 2)), m), TN_EDEVICE, "Cannot copy out of meta tensor; no data!");
    PRINTS(tn_copy_(tn_zeros(TN_SHAPE(4, 3), .device = TN_META), tn_ones(TN_SHAPE(3)), .non_blocking = true),
           "tensor(..., device='meta', size=(4, 3))");
    FAILS(tn_item(tn_ones(TN_SHAPE(), .device = TN_META)) ? NULL : m, TN_EDEVICE, "cannot be called on meta tensors");
    tn_scope_close(scope);
}

/* A gradient that is given must be where its tensor is; one element without a dimension may come from elsewhere. */
static void given_gradients(void **state)
{
    (void)state;
    tn_scope *scope = tn_scope_open();
    tn_tensor *x = tn_ones(TN_SHAPE(2), .device = TN_META, .requires_grad = true), *g = NULL;
    FAILS_STATUS(tn_backward(tn_mul(x, 2), .gradient = tn_ones(TN_SHAPE(2))), TN_EDEVICE,
                 "invalid gradient at index 0 - expected device meta but got cpu");
    assert_null(tn_tensor_grad(x));
    FAILS_STATUS(tn_grad(TN_TENSORS(tn_mul(x, 2)), TN_TENSORS(x), &g, .grad_outputs = TN_TENSORS(tn_ones(TN_SHAPE(2)))),
                 TN_EDEVICE, "invalid gradient at index 0 - expected device meta but got cpu");
    OK(tn_backward(tn_sum(x), .gradient = tn_ones(TN_SHAPE())));
    PRINTS(tn_tensor_grad(x), "tensor(..., device='meta', size=(2,))");
    tn_scope_close(scope);
}

/* What was recorded before a module was moved or converted cannot be walked back, whether or not it kept the weights. */
static void moved_after_the_forward(void **state)
{
    (void)state;
    tn_scope *scope = tn_scope_open();
    for (int i = 0; i < 2; i++) {
        tn_module *m = tn_nn_linear(2, 1);
        tn_tensor *w = tn_module_parameter(m, "weight"), *y = MADE(tn_sum(tn_forward(m, tn_ones(TN_SHAPE(3, 2)))));
        assert_non_null(i ? tn_module_to_dtype(m, TN_F64) : tn_module_to(m, TN_META));
        FAILS_STATUS(tn_backward(y), TN_EGRAD,
                     i ? "invalid gradient - expected device cpu and dtype float64 but got device cpu and dtype float32"
                       : "invalid gradient - expected device meta and dtype float32 but got device cpu");
        assert_null(tn_tensor_grad(w));
    }
    tn_scope_close(scope);
}

/* What is called as a plain function, without its place (tenon/sites.h), does not show the place of another call. */
static void no_place_but_ones_own(void **state)
{
    (void)state;
    tn_scope *scope = tn_scope_open();
    tn_tensor *x = MADE(tn_ones(TN_SHAPE(2)));
    assert_true(isnan((tn_item)(x)));
    assert_string_equal(tn_error_message(), "a Tensor with 2 elements cannot be converted to Scalar");
    assert_int_equal((tn_item_int)(x), 0);
    assert_string_equal(tn_error_message(), "a Tensor with 2 elements cannot be converted to Scalar");
    MADE(tn_ones(TN_SHAPE(2)));
    assert_int_equal((tn_synchronize)(tn_device_make(TN_DEVICE_OPENCL, 0)), TN_EDEVICE);
    assert_null(strstr(tn_error_message(), "\n  at "));
    MADE(tn_ones(TN_SHAPE(2)));
    assert_int_equal((tn_set_default_device)(tn_device_make(TN_DEVICE_OPENCL, 0)), TN_EDEVICE);
    assert_null(strstr(tn_error_message(), "\n  at "));
    MADE(tn_ones(TN_SHAPE(2)));
    assert_int_equal((tn_retain_grad)(x), TN_EGRAD);
    assert_string_equal(tn_error_message(), "can't retain_grad on Tensor that has requires_grad=False");
    tn_error_clear();
    tn_scope_close(scope);
}

/* Where there is no GPU, statistics of one are zero, and nothing is wrong: programs ask without looking first. */
static void nothing_to_tell(void **state)
{
    (void)state;
    if (tn_cuda_is_available())
        skip();
    assert_int_equal(tn_memory_stats(TN_CUDA(0)).allocated, 0);
    assert_int_equal(tn_transfer_stats(TN_CUDA(0)).launches, 0);
    tn_reset_peak_memory_stats(TN_CUDA(1));
    tn_reset_transfer_stats(TN_CUDA(1));
    tn_empty_cache(TN_CUDA(-1));
    tn_empty_pinned_cache();
    assert_int_equal(tn_error_code(), TN_OK);
}

/* Memory is pinned for a GPU: without one there is no pinned memory, and the reason is said. */
static void pinning(void **state)
{
    (void)state;
    tn_scope *scope = tn_scope_open();
    if (!tn_cuda_is_available()) {
        FAILS(tn_ones(TN_SHAPE(3), .pin_memory = true), TN_EDEVICE, "when none is available.");
        FAILS(tn_tensor_from(TN_LIST(1, 2), .pin_memory = true), TN_EDEVICE, "when none is available.");
        FAILS(tn_pin_memory(tn_ones(TN_SHAPE(3))), TN_EDEVICE, "when none is available.");
    }
    FAILS(tn_zeros(TN_SHAPE(3), .pin_memory = true, .device = TN_META), TN_EDEVICE, "Only dense CPU tensors");
    FAILS(tn_pin_memory(tn_ones(TN_SHAPE(3), .device = TN_META)), TN_EDEVICE,
          "cannot pin 'MetaFloatType' only dense CPU tensors can be pinned");
    assert_false(tn_tensor_is_pinned(tn_ones(TN_SHAPE(3))));
    assert_false(tn_tensor_is_pinned(NULL));
    tn_scope_close(scope);
}

/* What errors call devices is their backend's to say; what has none is told as the CPU is. */
static void words(void **state)
{
    (void)state;
    static const struct {
        int32_t type;
        const char *kernels;
        bool gpu;
    } all[] = {{TN_DEVICE_DEFAULT, "cpu", false},
               {TN_DEVICE_CPU, "cpu", false},
               {TN_DEVICE_CUDA, "cuda", true},
               {TN_DEVICE_OPENCL, "cpu", false},
               {TN_DEVICE_META, "cpu", false}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const tn__device_words w = tn__words_of(tn_device_make(all[i].type, -1));
        assert_string_equal(w.kernels, all[i].kernels);
        assert_int_equal(w.gpu, all[i].gpu);
    }
    tn_scope *scope = tn_scope_open();
    FAILS(tn_silu(tn_ones(TN_SHAPE(2), .dtype = TN_I32, .device = TN_META)), TN_EDTYPE,
          "\"silu_cpu\" not implemented for 'Int'");
    FAILS(tn_silu(NULL), TN_EINVAL, "silu: ");
    tn_error_clear();
    tn_scope_close(scope);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(wandering),
                                       cmocka_unit_test(moving),
                                       cmocka_unit_test(pinning),
                                       cmocka_unit_test(given_gradients),
                                       cmocka_unit_test(moved_after_the_forward),
                                       cmocka_unit_test(no_place_but_ones_own),
                                       cmocka_unit_test(nothing_to_tell),
                                       cmocka_unit_test(words)};
    return cmocka_run_group_tests_name("devices", tests, NULL, NULL);
}
