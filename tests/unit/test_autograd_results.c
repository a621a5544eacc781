/* Rows of several results: the derivative is given the gradient of each, and those that the row says have none get no node. */
#include "check.h"
#include "dispatch/apply.h"

static tn_scope *scope;

static int open_scope(void **state)
{
    (void)state;
    scope = tn_scope_open();
    return scope ? 0 : -1;
}

static int close_scope(void **state)
{
    (void)state;
    tn_scope_close(scope);
    tn_error_clear();
    return tn_live_tensors() == 0 ? 0 : -1;
}

/* Gradients that came, bit by bit, and how often. */
static int came, calls;

/* y0 = 2 x, y1 = 3 x */
static tn_status derive_two(tn__backward *b)
{
    tn_tensor *sum = NULL;
    calls++;
    came = (b->g[0] ? 1 : 0) | (b->g[1] ? 2 : 0);
    for (int o = 0; o < 2; o++) {
        tn_tensor *g = b->g[o] ? tn_mul(b->g[o], 2 + o) : NULL;
        if (g)
            sum = sum ? tn_add(sum, g) : g;
    }
    return tn__give(b, 0, sum);
}

/* No row of the list has two floating results: this is a node of one that has, recorded as the door does it. */
static void record_two(tn_tensor *x, tn_tensor *y[2])
{
    tn_status e;
    tn__node *n = tn__node_new(TN__OP_max, 1, 2, NULL);
    assert_non_null(n);
    n->derive = derive_two;
    tn__node_input(n, 0, x, tn__gradient_edge(x, &e));
    assert_int_equal(e, TN_OK);
    for (uint32_t o = 0; o < 2; o++) {
        y[o] = tn_mul(tn_detach(x), 2 + (int)o);
        tn__node_output(n, (int32_t)o, y[o]);
        y[o]->node_output = o;
        atomic_store(&y[o]->node, tn__object_retain(&n->obj));
    }
    tn__object_release(&n->obj);
    calls = came = 0;
}

static double grad_of(const tn_tensor *x, int64_t i)
{
    return ((const double *)tn_data(MADE(tn_tensor_grad(x))))[i];
}

static void test_each_gradient(void **state)
{
    (void)state;
    static const struct {
        bool first, second;
        double want;
    } cases[] = {{true, false, 2}, {false, true, 3}, {true, true, 5}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tn_tensor *y[2], *x = tn_tensor_from(TN_LIST(1, -4), .dtype = TN_F64, .requires_grad = true);
        record_two(x, y);
        tn_tensor *sum = cases[i].first ? tn_sum(y[0]) : NULL;
        if (cases[i].second)
            sum = sum ? tn_add(sum, tn_sum(y[1])) : tn_sum(y[1]);
        OK(tn_backward(sum));
        assert_int_equal(calls, 1);
        assert_int_equal(came, (cases[i].first ? 1 : 0) | (cases[i].second ? 2 : 0));
        assert_true(grad_of(x, 0) == cases[i].want && grad_of(x, 1) == cases[i].want);
    }
}

/* The sum of weights that nll_loss keeps for its derivative has no gradient, and says so. */
static void test_no_gradient(void **state)
{
    (void)state;
    tn_tensor *x = tn_tensor_from(TN_LIST(-0.25, -1.5), .dtype = TN_F64, .requires_grad = true), *total = NULL;
    tn_tensor *target = tn_tensor_from(TN_LIST(1), .dtype = TN_I64), **more[] = {&total};
    const tn_scalar in[] = {tn_scalar_t(tn_reshape(x, TN_SHAPE(1, 2))), tn_scalar_t(target), tn_scalar_none()};
    tn__nll_loss_params p = {.reduction = TN_SUM, .ignore_index = tn_scalar_i(-100)};
    tn_tensor *loss = tn__apply(NULL, TN__OP_nll_loss, in, 3, 3, &p, more);
    assert_non_null(loss);
    assert_non_null(total);
    assert_true(*(const double *)tn_data(loss) == 1.5 && *(const double *)tn_data(total) == 1);
    assert_true(tn_tensor_requires_grad(loss));
    assert_false(tn_tensor_requires_grad(total));
    assert_null(atomic_load(&total->node));
    OK(tn_backward(loss));
    assert_true(grad_of(x, 0) == 0 && grad_of(x, 1) == -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_each_gradient, open_scope, close_scope),
        cmocka_unit_test_setup_teardown(test_no_gradient, open_scope, close_scope),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
