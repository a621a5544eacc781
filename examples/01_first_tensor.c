/* First steps: making tensors, printing them, asking them what they are.
 *
 *     cc 01_first_tensor.c $(pkg-config --cflags --libs tenon) && ./a.out
 */
#include <inttypes.h>
#include <stdio.h>
#include <tenon/tenon.h>

static void describe(const char *name, tn_tensor *t)
{
    tn_dims shape = tn_tensor_shape(t);
    printf("%s: %s on %s, %" PRId64 " elements, shape [", name, tn_dtype_name(tn_tensor_dtype(t)),
           tn_device_text(tn_tensor_device(t)).s, tn_tensor_numel(t));
    for (int32_t i = 0; i < shape.ndim; i++)
        printf("%s%" PRId64, i ? ", " : "", shape.dim[i]);
    printf("]\n");
}

int main(void)
{
    tn_scope *scope = tn_scope_open(); /* owns every tensor made until it is closed */

    /* Whole numbers make int64, a point makes float32, and a C array keeps its type. */
    const unsigned char bytes[] = {0, 127, 255};
    tn_tensor *whole = tn_tensor_from(TN_LIST(1, 2, 3));
    tn_tensor *real = tn_tensor_from(TN_LIST(1, 2.5, 3));
    tn_tensor *pixel = tn_tensor_from(TN_ARRAY(bytes));
    tn_tensor *table = tn_tensor_from(TN_LIST(1, 2, 3, 4, 5, 6), .shape = TN_SHAPE(2, 3), .dtype = TN_F64);
    tn_print(whole);
    tn_print(real);
    tn_print(pixel);
    tn_print(table);

    /* Tensors without data at hand. Options are named; what is not said has its usual value. */
    tn_print(tn_zeros(TN_SHAPE(2, 2)));
    tn_print(tn_full(TN_SHAPE(3), 7, .dtype = TN_F16));
    tn_print(tn_arange(0, 10, 3));
    tn_print(tn_linspace(0, 1, 5));
    tn_print(tn_eye(3, 3));

    describe("whole", whole);
    describe("real", real);
    describe("pixel", pixel);
    describe("table", table);

    /* Calls nest, and a number may stand for a tensor. The result has the dtype that holds both operands. */
    tn_print(tn_add(tn_mul(whole, 10), 1));
    tn_print(tn_mul(whole, 0.5));
    tn_print(tn_add(whole, table));
    tn_print(tn_to(real, .dtype = TN_I32));

    /* One element as a C number; a larger tensor as memory. */
    printf("sum %g\n", tn_item(tn_sum(real)));
    const float *data = tn_data(real);
    printf("elements %g %g %g\n", data[0], data[1], data[2]);

    /* A seed makes random numbers the same in every run, on every machine, with any number of threads. */
    tn_manual_seed(42);
    tn_tensor *a = tn_rand(TN_SHAPE(1000));
    tn_manual_seed(42);
    printf("the same again: %s\n", tn_equal(a, tn_rand(TN_SHAPE(1000))) ? "yes" : "no");

    tn_scope_close(scope); /* all of them are gone */
    printf("live tensors: %" PRId64 "\n", tn_live_tensors());
    return 0;
}
