/* Views and writes in place: orders of reading and writing that once went wrong. Values and texts are PyTorch 2.14.1's. */
#include "check.h"
#include <pthread.h>

static tn_tensor *leaf(int64_t n)
{
    return MADE(tn_ones(TN_SHAPE(n), .requires_grad = true));
}

static tn_tensor *part(tn_tensor *x, int64_t from, int64_t to)
{
    return MADE(tn_slice(x, 0, from, to, 1));
}

/* A view made before its base was written to, used twice after: its history is made anew between the two uses. */
static void a_stale_view_used_twice(void **state)
{
    (void)state;
    for (int through_view = 0; through_view < 2; through_view++) {
        tn_scope *s = tn_scope_open();
        tn_tensor *x = leaf(4), *b = MADE(tn_mul(x, 1)), *v = part(b, 0, 2);
        MADE(tn_mul_(through_view ? v : b, 2));
        OK(tn_backward(tn_sum(tn_add(tn_mul(v, 3), tn_mul(v, 5))), .retain_graph = true));
        PRINTS(tn_tensor_grad(x), "tensor([16., 16.,  0.,  0.])");
        tn_tensor *g[1];
        v = part(b, 1, 3);
        MADE(tn_mul_(b, 3));
        OK(tn_grad(TN_TENSORS(tn_sum(tn_mul(v, tn_mul(v, 5)))), TN_TENSORS(x), g));
        PRINTS(g[0], through_view ? "tensor([  0., 360.,  90.,   0.])" : "tensor([  0., 360., 360.,   0.])");
        tn_scope_close(s);
    }
}

static void a_plain_buffer_written_through_a_view(void **state)
{
    (void)state;
    tn_scope *s = tn_scope_open();
    tn_tensor *buffer = MADE(tn_ones(TN_SHAPE(4))), *w = leaf(2);
    MADE(tn_mul_(part(buffer, 0, 2), w));
    OK(tn_backward(tn_sum(buffer)));
    PRINTS(tn_tensor_grad(w), "tensor([1., 1.])");
    tn_scope_close(s);
}

static void second_order_through_a_written_view(void **state)
{
    (void)state;
    tn_scope *s = tn_scope_open();
    tn_tensor *x = leaf(4), *b = MADE(tn_mul(x, x)), *g[1], *h[1];
    MADE(tn_mul_(part(b, 0, 2), 3));
    OK(tn_grad(TN_TENSORS(tn_sum(tn_square(b))), TN_TENSORS(x), g, .create_graph = true));
    OK(tn_grad(TN_TENSORS(tn_sum(tn_square(g[0]))), TN_TENSORS(x), h));
    PRINTS(h[0], "tensor([7776., 7776.,   96.,   96.])");
    x = leaf(20000);
    b = MADE(tn_mul(x, x));
    MADE(tn_mul_(part(b, 0, 10000), 3));
    OK(tn_grad(TN_TENSORS(tn_sum(tn_square(b))), TN_TENSORS(x), g, .create_graph = true));
    OK(tn_grad(TN_TENSORS(tn_sum(tn_square(g[0]))), TN_TENSORS(x), h));
    assert_true(tn_item(tn_sum(h[0])) == 10000 * (7776.0 + 96));
    tn_scope_close(s);
}

static void second_order_of_cross_entropy(void **state)
{
    (void)state;
    tn_scope *s = tn_scope_open();
    tn_tensor *x = MADE(tn_tensor_from(TN_LIST(0.5, 1, 1.5, 2, 0.25, 1), .shape = TN_SHAPE(2, 3), .dtype = TN_F64,
                                       .requires_grad = true));
    tn_tensor *loss = MADE(tn_cross_entropy(tn_square(x), tn_tensor_from(TN_LIST(2, 0)))), *g[1], *h[1];
    OK(tn_grad(TN_TENSORS(loss), TN_TENSORS(x), g, .create_graph = true));
    OK(tn_grad(TN_TENSORS(tn_sum(tn_square(g[0]))), TN_TENSORS(x), h));
    PRINTS(h[0], "tensor([[ 0.0948,  0.5875, -0.7526],\n        [-0.1252,  0.0046,  0.0577]], dtype=torch.float64)");
    tn_scope_close(s);
}

/* as_strided may show more of a storage than the tensor it is asked of. */
static void a_view_outside_of_its_base(void **state)
{
    (void)state;
    tn_scope *s = tn_scope_open();
    tn_tensor *big = MADE(tn_zeros(TN_SHAPE(5000))), *d = MADE(tn_detach(part(big, 0, 2)));
    MADE(tn_mul_(d, leaf(2)));
    tn_tensor *v = MADE(tn_as_strided(d, TN_SHAPE(4000), TN_SHAPE(1), 0));
    MADE(tn_mul_(v, 2));
    FAILS_STATUS(tn_backward(tn_sum(d), .retain_graph = true), TN_EINVAL, "out of bounds for storage of size 8");
    tn_tensor *whole =
        MADE(tn_cat(TN_TENSORS(d, tn_zeros(TN_SHAPE(4998))), 0)); /* its gradient is part of a large one */
    FAILS_STATUS(tn_backward(tn_sum(tn_mul(whole, tn_ones(TN_SHAPE(5000))))), TN_EGRAD,
                 "outside of the tensor it was made from");
    tn_scope_close(s);
}

#define NO_GRAD_VIEW \
    "A view was created in no_grad mode and its base or another view of its base has been modified inplace with grad " \
    "mode " \
    "enabled. Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your code by " \
    "moving " \
    "both the view and the inplace either both inside the no_grad block (if you don't want the inplace to be " \
    "tracked) or " \
    "both outside (if you want the inplace to be tracked)."
#define ONE_OF_SEVERAL \
    " is a view and its base or another view of its base has been modified inplace. This view is the output of a " \
    "function " \
    "that returns multiple views. Such functions do not allow the output views to be modified inplace. You should " \
    "replace " \
    "the inplace operation by an out-of-place one."

static void stale_views_that_are_refused(void **state)
{
    (void)state;
    tn_scope *s = tn_scope_open();
    tn_tensor *x = leaf(4), *b = MADE(tn_mul(x, 1)), *pieces[4];
    bool was = tn_set_grad_enabled(false);
    tn_tensor *v = part(b, 0, 2);
    tn_set_grad_enabled(was);
    assert_int_equal(tn_unbind(b, 0, pieces, 4), 4);
    MADE(tn_mul_(b, 2));
    FAILS(tn_mul(v, 3), TN_EGRAD, NO_GRAD_VIEW);
    FAILS(tn_mul(pieces[1], 3), TN_EGRAD, "Output 1 of Unbind" ONE_OF_SEVERAL);
    tn_set_grad_enabled(false);
    PRINTS(tn_mul(tn_detach(v), 3), "tensor([6., 6.])");
    tn_set_grad_enabled(was);
    tn_scope_close(s);
}

#define SHARED \
    "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single memory " \
    "location"

static void shared_memory_is_refused(void **state)
{
    (void)state;
    tn_scope *s = tn_scope_open();
    tn_tensor *y = MADE(tn_reshape(tn_arange(0., 8., 1.), TN_SHAPE(2, 2, 2)));
    tn_tensor *square = MADE(tn_reshape(tn_arange(0., 4., 1.), TN_SHAPE(2, 2)));
    tn_tensor *x = MADE(tn_arange(0., 4., 1.)), *i = MADE(tn_tensor_from(TN_LIST(1, 2, 3, 0)));
    tn_tensor *one = MADE(tn_reshape(tn_arange(0., 4., 1.), TN_SHAPE(1, 2, 2)));
    FAILS(tn_add_(one, tn_t(tn_select(one, 0, 0))), TN_EINVAL, SHARED);
    FAILS(tn_add_(y, tn_t(tn_select(y, 0, 0))), TN_EINVAL, SHARED);
    FAILS(tn_index_add_(square, 0, tn_tensor_from(TN_LIST(1, 0)), square), TN_EINVAL, SHARED);
    FAILS(tn_scatter_(x, 0, i, x), TN_EINVAL, SHARED);
    FAILS(tn_scatter_add_(x, 0, i, x), TN_EINVAL, SHARED);
    FAILS(tn_scatter_(i, 0, i, 5), TN_EINVAL, SHARED);
    PRINTS(x, "tensor([0., 1., 2., 3.])");
    PRINTS(tn_add_(x, x), "tensor([0., 2., 4., 6.])"); /* element by element is fine */
    PRINTS(tn_copy_(x, x), "tensor([0., 2., 4., 6.])");
    tn_scope_close(s);
}

/* One value everywhere may be written to elements that share memory; anything else may not. */
static void expanded_tensors_can_be_filled(void **state)
{
    (void)state;
    tn_scope *s = tn_scope_open();
    tn_tensor *x = MADE(tn_expand(tn_zeros(TN_SHAPE(1)), TN_SHAPE(3)));
    PRINTS(tn_fill_(x, 2), "tensor([2., 2., 2.])");
    PRINTS(tn_zero_(x), "tensor([0., 0., 0.])");
    FAILS(tn_mul_(x, 2), TN_EINVAL,
          "more than one element of the written-to tensor refers to a single memory location");
    FAILS(tn_copy_(x, tn_ones(TN_SHAPE(3))), TN_EINVAL, "more than one element of the written-to tensor");
    tn_scope_close(s);
}

static void no_gradient_given_is_one(void **state)
{
    (void)state;
    tn_scope *s = tn_scope_open();
    tn_tensor *x = leaf(2), *g[1];
    OK(tn_backward(tn_sum(x), .gradient = TN_NONE));
    PRINTS(tn_tensor_grad(x), "tensor([1., 1.])");
    OK(tn_grad(TN_TENSORS(tn_sum(x)), TN_TENSORS(x), g, .grad_outputs = TN_TENSORS(TN_NONE)));
    PRINTS(g[0], "tensor([1., 1.])");
    FAILS_STATUS(tn_backward(tn_mul(x, 2), .gradient = TN_NONE), TN_EGRAD,
                 "grad can be implicitly created only for scalar outputs");
    tn_scope_close(s);
}

/* ---- two threads read views that are stale ---- */

enum { VIEWS = 64 };
static tn_tensor *shared[VIEWS];
static pthread_barrier_t together;

static void *read_views(void *arg)
{
    long failures = 0;
    (void)arg;
    pthread_barrier_wait(&together);
    for (int i = 0; i < VIEWS; i++) {
        tn_scope *s = tn_scope_open();
        failures += !tn_tensor_grad_fn(shared[i]).s[0];
        tn_tensor *y = tn_mul(shared[i], 3);
        failures += !y || !tn_tensor_requires_grad(y);
        tn_scope_close(s);
    }
    return (void *)failures;
}

static void stale_views_are_shared_between_threads(void **state)
{
    (void)state;
    tn_scope *s = tn_scope_open();
    pthread_t t[2];
    assert_int_equal(pthread_barrier_init(&together, NULL, 2), 0);
    for (int round = 0; round < 20; round++) {
        tn_scope *inner = tn_scope_open();
        for (int i = 0; i < VIEWS; i++) {
            tn_tensor *b = MADE(tn_mul(leaf(4), 1));
            shared[i] = part(b, 0, 2);
            MADE(tn_mul_(b, 2));
        }
        for (int i = 0; i < 2; i++)
            assert_int_equal(pthread_create(&t[i], NULL, read_views, NULL), 0);
        for (int i = 0; i < 2; i++) {
            void *failures;
            assert_int_equal(pthread_join(t[i], &failures), 0);
            assert_null(failures);
        }
        tn_scope_close(inner);
    }
    pthread_barrier_destroy(&together);
    tn_scope_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stale_view_used_twice),
        cmocka_unit_test(a_plain_buffer_written_through_a_view),
        cmocka_unit_test(second_order_through_a_written_view),
        cmocka_unit_test(second_order_of_cross_entropy),
        cmocka_unit_test(a_view_outside_of_its_base),
        cmocka_unit_test(stale_views_that_are_refused),
        cmocka_unit_test(shared_memory_is_refused),
        cmocka_unit_test(expanded_tensors_can_be_filled),
        cmocka_unit_test(no_gradient_given_is_one),
        cmocka_unit_test(stale_views_are_shared_between_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
