/* Where results live, and what moves: the parts that need no GPU (cpu and meta). tests/fake/test_integ.c has the rest. */
#include "../check.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(wandering), cmocka_unit_test(moving),
                                       cmocka_unit_test(pinning)};
    return cmocka_run_group_tests_name("devices", tests, NULL, NULL);
}
