/* Corners: operands that share memory, sizes and numbers at the ends of int64, tensors without dimensions. Values and
 * texts: PyTorch 2.14.1. */
#include "check.h"
#include <math.h>

#define I64(...)   MADE(tn_tensor_from(((tn_array){(const int64_t[]){__VA_ARGS__}, \
                                                   sizeof((const int64_t[]){__VA_ARGS__}) / 8, TN_I64, true})))
#define MATRIX(t)  MADE(tn_reshape((t), TN_SHAPE(2, 2)))

/* ---- products ---- */

static void addmm_in_place_of_a_factor(void **state)
{
    (void)state;
    tn_scope *s = tn_scope_open();
    tn_tensor *a = MATRIX(I64(1, 2, 3, 4)), *b = MATRIX(I64(1, 2, 3, 4));
    MADE(tn_addmm_(a, a, a)); /* torch: a.addmm_(a, a) */
    PRINTS(a, "tensor([[ 8, 12],\n        [18, 26]])");
    MADE(tn_addmm_(b, MATRIX(I64(1, 0, 0, 1)), b));
    PRINTS(b, "tensor([[2, 4],\n        [6, 8]])");
    for (int64_t n = 64; n <= 600; n += 536) {
        tn_manual_seed(1);
        tn_tensor *x = MADE(tn_randn(TN_SHAPE(n, n))), *y = MADE(tn_clone(x)), *z = MADE(tn_clone(x));
        tn_tensor *want = MADE(tn_addmm(y, z, MADE(tn_clone(x)))), *got = MADE(tn_addmm_(x, x, x));
        assert_true(tn_allclose(got, want, .rtol = tn_scalar_f(1e-4), .atol = tn_scalar_f(1e-4)));
    }
    tn_scope_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addmm_in_place_of_a_factor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
