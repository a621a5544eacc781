/* Modules of several inputs and results: alone, in sequences, beside modules of one; whose the results are; misuse. */
#include "gate_module.h"

/* ---- as PyTorch computes it ---- */

static void a_gate(void **state)
{
    (void)state;
    tn_scope *scope = tn_scope_open();
    tn_module *m = gate_module();
    assert_int_equal(tn_module_inputs(m), 2);
    assert_int_equal(tn_module_outputs(m), 2);
    assert_int_equal(tn_module_inputs(tn_nn_relu()), 1);
    assert_int_equal(tn_module_outputs(tn_nn_relu()), 1);
    assert_int_equal(tn_module_inputs(NULL), 0);
    gate_step(m, "");
    tn_module_zero_grad(m);
    tn_tensor *x[2], *y[2];
    gate_inputs(x);
    OK(tn_forward_n(m, TN_TENSORS(x[0], TN_NONE), y, 2)); /* absent on purpose: y0 = h, y1 = tanh(h) - 1 */
    NEAR(element(y[0], 1), 5, 1e-12);
    NEAR(element(y[1], 1), tanh(5) - 1, 1e-12);
    MODULE_PRINTS(m, "Gate()");
    tn_scope_close(scope);
}

/* y[0] = x[0] + ... + x[n - 1], of any number. */
static tn_status sum_forward(tn_module *self, tn_tensor *const *x, size_t n, tn_tensor **y, size_t n_y)
{
    (void)self;
    (void)n_y;
    y[0] = x[0];
    for (size_t i = 1; i < n && y[0]; i++)
        y[0] = tn_add(y[0], x[i]);
    return y[0] ? TN_OK : tn_error_code();
}

/* The two the other way round: the very tensors that came. */
static tn_status swap_forward(tn_module *self, tn_tensor *const *x, size_t n, tn_tensor **y, size_t n_y)
{
    (void)self;
    for (size_t i = 0; i < n && i < n_y; i++)
        y[i] = x[n - 1 - i];
    return TN_OK;
}

/* {-2 x, x}: one becomes two. */
static tn_status fork_forward(tn_module *self, tn_tensor *const *x, size_t n, tn_tensor **y, size_t n_y)
{
    (void)self;
    (void)n;
    (void)n_y;
    y[0] = tn_mul(x[0], -2);
    y[1] = x[0];
    return y[0] ? TN_OK : tn_error_code();
}

static const tn_module_class sum_class = {.struct_size = sizeof sum_class, .name = "Sum", .forward_n = sum_forward},
                             swap_class = {.struct_size = sizeof swap_class,
                                           .name = "Swap",
                                           .forward_n = swap_forward,
                                           .inputs = 2,
                                           .outputs = 2},
                             fork_class = {.struct_size = sizeof fork_class,
                                           .name = "Fork",
                                           .forward_n = fork_forward,
                                           .inputs = 1,
                                           .outputs = 2};

static tn_module *of(const tn_module_class *cls)
{
    return BUILT(tn_module_new(cls, NULL));
}

static void in_sequences(void **state)
{
    (void)state;
    tn_tensor *x[2], *y[2];
    tn_scope *scope = tn_scope_open();
    gate_inputs(x);
    tn_module *pair = BUILT(tn_nn_sequential(of(&swap_class), tn_nn_sequential(), of(&swap_class), gate_module()));
    assert_int_equal(tn_module_inputs(pair), 2);
    assert_int_equal(tn_module_outputs(pair), 2);
    gate_step(pair, "3.");
    tn_module *all = BUILT(tn_nn_sequential(pair, of(&sum_class), tn_nn_sequential(tn_nn_identity(), of(&fork_class)),
                                            tn_nn_sequential()));
    assert_int_equal(tn_module_inputs(all), 2);
    assert_int_equal(tn_module_outputs(all), 2);
    OK(tn_forward_n(all, ((tn_tensors){x, 2}), y, 2));
    for (int64_t i = 0; i < 8; i++) {
        NEAR(element(y[0], i), -2 * (gate_y0[i] + gate_y1[i]), 1e-10);
        NEAR(element(y[1], i), gate_y0[i] + gate_y1[i], 1e-10);
    }
    tn_module *one = BUILT(tn_nn_sequential(of(&fork_class), of(&sum_class), tn_nn_relu())); /* relu(-x) */
    assert_int_equal(tn_module_inputs(one), 1);
    assert_int_equal(tn_module_outputs(one), 1);
    PRINTS(MADE(tn_forward(one, tn_tensor_from(TN_LIST(-1.5, 2.0)))), "tensor([1.5000, 0.0000])");
    OK(tn_forward_n(one, TN_TENSORS(tn_tensor_from(TN_LIST(-1.5, 2.0))), y, 1));
    PRINTS(y[0], "tensor([1.5000, 0.0000])");
    tn_module *empty = BUILT(tn_nn_sequential());
    assert_int_equal(tn_module_outputs(empty), 0);
    OK(tn_forward_n(empty, ((tn_tensors){x, 2}), y, 2));
    assert_ptr_equal(y[1], x[1]);
    MODULE_PRINTS(one, "Sequential(\n  (0): Fork()\n  (1): Sum()\n  (2): ReLU()\n)");
    tn_module_eval(all);
    assert_false(tn_module_is_training(tn_module_child(all, "0.3")));
    assert_int_equal(tn_module_state(all, NULL, 0), 2);
    OK(tn_forward_n(tn_nn_identity(), TN_TENSORS(x[0]), y, 1)); /* the door of several, for one */
    assert_ptr_equal(y[0], x[0]);
    PRINTS(MADE(tn_forward(of(&sum_class), tn_ones(TN_SHAPE(2)))), "tensor([1., 1.])"); /* and that of one */
    tn_scope_close(scope);
}

/* ---- whose the results are ---- */

typedef enum oddity { GIVES_INPUTS, GIVES_TWICE, GIVES_PART, LEAVES_SCOPES_OPEN, SHOWS_A_VIEW } oddity;

static tn_status odd_forward(tn_module *self, tn_tensor *const *x, size_t n, tn_tensor **y, size_t n_y)
{
    oddity what = *(oddity *)tn_module_context(self);
    assert_int_equal(n, 2);
    assert_int_equal(n_y, 2);
    y[0] = x[1];
    y[1] = x[0];
    if (what == GIVES_TWICE)
        y[0] = y[1] = tn_add(x[0], x[1]);
    if (what == GIVES_PART)
        y[1] = tn_module_parameter(self, "p");
    if (what == LEAVES_SCOPES_OPEN) {
        y[0] = tn_add(x[0], 1);
        (void)tn_scope_open();
        y[1] = tn_add(x[1], 1);
        (void)tn_scope_open();
        (void)tn_add(x[1], 3);
    }
    if (what == SHOWS_A_VIEW) {
        y[0] = tn_add(x[0], 10);
        y[1] = tn_narrow(y[0], 0, 0, 1);
    }
    return TN_OK;
}

static void results_belong_outside(void **state)
{
    (void)state;
    static const tn_module_class cls = {
        .struct_size = sizeof cls, .name = "Odd", .forward_n = odd_forward, .inputs = 2, .outputs = 2};
    static const char *const text[][2] = {{"tensor([3., 4.])", "tensor([1., 2.])"},
                                          {"tensor([4., 6.])", "tensor([4., 6.])"},
                                          {"tensor([3., 4.])", "tensor([5.])"},
                                          {"tensor([2., 3.])", "tensor([4., 5.])"},
                                          {"tensor([11., 12.])", "tensor([11.])"}};
    int64_t tensors = tn_live_tensors(), blocks = tn__door_live();
    for (oddity what = GIVES_INPUTS; what <= SHOWS_A_VIEW; what++)
        for (int in_scope = 0; in_scope < 2; in_scope++)
            for (int in_net = 0; in_net < 2; in_net++) {
                tn_scope *home = tn_scope_open();
                tn_module *m = BUILT(tn_module_new(&cls, &what));
                tn_requires_grad_(tn_module_add_parameter(m, "p", tn_full(TN_SHAPE(1), 5.0)), false);
                if (in_net)
                    m = BUILT(tn_nn_sequential(of(&swap_class), of(&swap_class), m, tn_nn_sequential(of(&swap_class)),
                                               of(&swap_class)));
                tn_module_keep(m);
                tn_tensor *a = tn_keep(tn_tensor_from(TN_LIST(1.0, 2.0))), *b = tn_keep(tn_add(a, 2)), *y[2];
                tn_scope_close(home);
                tn_scope *scope = in_scope ? tn_scope_open() : NULL;
                OK(tn_forward_n(m, TN_TENSORS(a, b), y, 2));
                tn_release(a);
                tn_release(b);
                tn_module_release(m);
                PRINTS(y[0], text[what][0]);
                PRINTS(y[1], text[what][1]);
                if (in_scope)
                    tn_scope_close(scope);
                for (int i = 0; i < 2 && !in_scope; i++)
                    tn_release(y[i]);
                assert_int_equal(tn_live_tensors(), tensors);
                assert_int_equal(tn__door_live(), blocks);
            }
}

/* What one layer made is gone when the next one has used it. */
static int64_t most_seen;

static tn_status count_forward(tn_module *self, tn_tensor *const *x, size_t n, tn_tensor **y, size_t n_y)
{
    (void)self;
    (void)n;
    (void)n_y;
    most_seen = tn_live_tensors() > most_seen ? tn_live_tensors() : most_seen;
    y[0] = tn_add(x[0], 1);
    y[1] = tn_add(x[1], 1);
    return TN_OK;
}

static void nothing_stays_in_flight(void **state)
{
    (void)state;
    static const tn_module_class cls = {
        .struct_size = sizeof cls, .name = "Count", .forward_n = count_forward, .inputs = 2, .outputs = 2};
    tn_scope *scope = tn_scope_open();
    tn_module *layer[20];
    tn_tensor *x = tn_zeros(TN_SHAPE(1)), *y[2];
    for (int i = 0; i < 20; i++)
        layer[i] = of(&cls);
    int64_t before = tn_live_tensors();
    OK(tn_forward_n(tn_nn_sequential_n(layer, 20), TN_TENSORS(x, x), y, 2));
    assert_true(most_seen <= before + 2);
    PRINTS(y[1], "tensor([20.])");
    tn_scope_close(scope);
}

/* ---- misuse ---- */

typedef enum fault { NOTHING, ONE_OF_TWO, NONE_OF_TWO, SAYS_SO, SAYS_NOTHING, NESTED } fault;

static tn_status faulty_forward(tn_module *self, tn_tensor *const *x, size_t n, tn_tensor **y, size_t n_y)
{
    fault f = *(fault *)tn_module_context(self);
    (void)n;
    (void)n_y;
    y[0] = f == NOTHING ? NULL : x[0];
    if (f == NONE_OF_TWO)
        y[1] = TN_NONE;
    if (f == NESTED)
        y[1] = tn_relu(tn_add(x[0], tn_ones(TN_SHAPE(77))));
    if (f == SAYS_SO)
        return (void)tn_add(x[0], tn_ones(TN_SHAPE(77))), tn_error_code();
    return f == SAYS_NOTHING ? TN_EVALUE : TN_OK;
}

static const tn_module_class faulty_class = {
    .struct_size = sizeof faulty_class, .name = "Faulty", .forward_n = faulty_forward, .inputs = 2, .outputs = 2};

static void what_fails(void **state)
{
    (void)state;
    int64_t tensors = tn_live_tensors(), blocks = tn__door_live();
    tn_scope *scope = tn_scope_open();
    fault f = NOTHING;
    tn_module *m = BUILT(tn_module_new(&faulty_class, &f)), *net = BUILT(tn_nn_sequential(of(&fork_class), m));
    tn_tensor *x = tn_ones(TN_SHAPE(2)), *y[2] = {x, x};
    FAILS_STATUS(tn_forward_n(m, TN_TENSORS(x, x), y, 2), TN_EINVAL,
                 "the forward_n of Faulty gave NULL as result 0, but no failed call is on record");
    assert_null(y[0]);
    assert_null(y[1]);
    f = ONE_OF_TWO;
    FAILS_STATUS(tn_forward_n(m, TN_TENSORS(x, x), y, 2), TN_EINVAL, "gave NULL as result 1");
    f = NONE_OF_TWO;
    FAILS_STATUS(tn_forward_n(m, TN_TENSORS(x, x), y, 2), TN_ETYPE,
                 "the forward_n of Faulty gave TN_NONE, not a tensor, as result 1");
    f = SAYS_NOTHING;
    FAILS_STATUS(tn_forward_n(m, TN_TENSORS(x, x), y, 2), TN_EVALUE,
                 "the forward_n of Faulty failed, but no failed call is on record");
    for (f = SAYS_SO; f <= NESTED; f++)
        if (f != SAYS_NOTHING) {
            FAILS_STATUS(tn_forward_n(net, TN_TENSORS(x), y, 2), TN_EINVAL,
                         "The size of tensor a (2) must match the size of tensor b (77)");
            FAILS_STATUS(tn_forward_n(net, TN_TENSORS(x), y, 2), TN_EINVAL, "\n  in (1): Faulty()");
        }
    tn_scope_close(scope);
    assert_int_equal(tn_live_tensors(), tensors);
    assert_int_equal(tn__door_live(), blocks);
}

static void numbers_that_do_not_fit(void **state)
{
    (void)state;
    fault f = NOTHING;
    tn_scope *scope = tn_scope_open();
    tn_module *m = BUILT(tn_module_new(&faulty_class, &f));
    tn_tensor *x = tn_ones(TN_SHAPE(2)), *y[2], *many[33];
    for (int i = 0; i < 33; i++)
        many[i] = x;
    FAILS_STATUS(tn_forward_n(m, TN_TENSORS(x), y, 2), TN_EINVAL, "Faulty takes 2 tensors, got 1");
    FAILS_STATUS(tn_forward_n(m, TN_TENSORS(x, x, x), y, 2), TN_EINVAL, "Faulty takes 2 tensors, got 3");
    FAILS_STATUS(tn_forward_n(m, TN_TENSORS(x, x), y, 1), TN_EINVAL,
                 "Faulty gives 2 tensors, not 1: tn_forward_n(m, inputs, out, 2)");
    FAILS_STATUS(tn_forward_n(m, ((tn_tensors){NULL, 0}), y, 2), TN_EINVAL, "Faulty takes 2 tensors, got 0");
    FAILS_STATUS(tn_forward_n(of(&sum_class), ((tn_tensors){many, 33}), y, 1), TN_EINVAL,
                 "Sum takes 1 to 32 tensors, got 33");
    FAILS(tn_forward(m, x), TN_EINVAL, "Faulty takes 2 tensors, got 1: tn_forward_n takes several");
    FAILS(tn_forward(of(&fork_class), x), TN_EINVAL, "Fork gives 2 tensors, not 1");
    FAILS(tn_forward(tn_nn_sequential(tn_nn_relu(), of(&fork_class)), x), TN_EINVAL,
          "Sequential gives 2 tensors, not 1");
    FAILS(tn_forward(tn_nn_sequential(of(&swap_class)), x), TN_EINVAL, "Swap takes 2 tensors, got 1");
    FAILS_STATUS(tn_forward_n(tn_nn_sequential(of(&fork_class), tn_nn_relu()), TN_TENSORS(x), y, 1), TN_EINVAL,
                 "ReLU takes 1 tensor, got 2");
    FAILS_STATUS(tn_forward_n(tn_nn_relu(), TN_TENSORS(x, x), y, 1), TN_EINVAL, "ReLU takes 1 tensor, got 2");
    FAILS_STATUS(tn_forward_n(tn_nn_relu(), TN_TENSORS(TN_NONE), y, 1), TN_ETYPE, "the input of ReLU is TN_NONE");
    FAILS_STATUS(tn_forward_n(NULL, TN_TENSORS(x), y, 1), TN_EINVAL, "tn_forward_n: an operand is NULL");
    FAILS_STATUS(tn_forward_n(m, TN_TENSORS(x, NULL), y, 2), TN_EINVAL, "tn_forward_n: an operand is NULL");
    FAILS_STATUS(tn_forward_n(m, ((tn_tensors){NULL, 2}), y, 2), TN_EINVAL, "not a list of tensors");
    FAILS_STATUS(tn_forward_n(m, TN_TENSORS(x, x), NULL, 2), TN_EINVAL, "no room for results");
    FAILS_STATUS(tn_forward_n(m, TN_TENSORS(x), y, 2), TN_EINVAL, "test_nn_several.c:");
    tn_scope_close(scope);
}

static tn_tensor *bare_forward(tn_module *self, tn_tensor *x)
{
    (void)self;
    return x;
}

static void classes_that_do_not_fit(void **state)
{
    (void)state;
    tn_scope *scope = tn_scope_open();
    tn_tensor *x = tn_ones(TN_SHAPE(2)), *y[2];
    tn_module_class c = {.struct_size = sizeof c, .name = "C", .inputs = 2};
    FAILS(tn_module_new(&c, NULL), TN_EINVAL, "C has no forward_n, but a number of inputs or outputs");
    c.forward_n = sum_forward;
    c.forward = bare_forward;
    c.inputs = 0;
    FAILS(tn_module_new(&c, NULL), TN_EINVAL, "C has a forward and a forward_n: which one is it?");
    c.forward = NULL;
    c.inputs = 33;
    FAILS(tn_module_new(&c, NULL), TN_EVALUE, "C has 33 inputs and 0 outputs");
    c.inputs = -1;
    FAILS(tn_module_new(&c, NULL), TN_EVALUE, "C has -1 inputs");
    c = (tn_module_class){.struct_size = sizeof c, .name = "C"};
    FAILS_STATUS(tn_forward_n(tn_module_new(&c, NULL), TN_TENSORS(x, x), y, 2), TN_EMISSING,
                 "Module [C] is missing the required \"forward\" function");
    c.struct_size = offsetof(tn_module_class, forward_n); /* a program built before there was one */
    c.forward_n = sum_forward;
    FAILS(tn_forward(tn_module_new(&c, NULL), x), TN_EMISSING, "is missing the required");
    tn_scope_close(scope);
}

/* Whichever request for memory fails, nothing is left and the next try works. */
static void without_memory(void **state)
{
    (void)state;
    tn_scope *scope = tn_scope_open();
    tn_tensor *x[2], *y[2];
    gate_inputs(x);
    tn_module *net = BUILT(tn_nn_sequential(of(&swap_class), of(&swap_class), gate_module(), of(&swap_class)));
    bool failed = true;
    for (int64_t nth = 1; failed; nth++) {
        int64_t tensors = tn_live_tensors();
        tn_scope *inner = tn_scope_open();
        tn__door_fail(nth);
        failed = tn_forward_n(net, ((tn_tensors){x, 2}), y, 2) != TN_OK;
        tn__door_fail(0);
        assert_true(!failed || tn_error_code() == TN_ENOMEM);
        assert_true(!failed || (!y[0] && !y[1]));
        tn_error_clear();
        tn_scope_close(inner);
        assert_int_equal(tn_live_tensors(), tensors);
        assert_true(nth < 1000);
    }
    tn_scope_close(scope);
}

int main(void)
{
    warm_up();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_gate),
        cmocka_unit_test(in_sequences),
        cmocka_unit_test(results_belong_outside),
        cmocka_unit_test(nothing_stays_in_flight),
        cmocka_unit_test(what_fails),
        cmocka_unit_test(numbers_that_do_not_fit),
        cmocka_unit_test(classes_that_do_not_fit),
        cmocka_unit_test(without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
