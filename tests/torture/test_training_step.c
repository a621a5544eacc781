/* Every allocation of a whole training step made to fail in turn: building a two-layer perceptron and its optimiser,
 * forward, backward, clipping, step, state out and in. Each time there is an error, nothing leaks, parameters are as
 * before or consistently updated, and the next step works. TENON_NO_CACHE=1: every request passes the door. */
#include "../unit/nn_check.h"

typedef tn_optimizer *(*maker)(tn_module *net);

static tn_optimizer *sgd(tn_module *net)
{
    return tn_sgd(net, 0.1, .momentum = 0.9, .nesterov = true);
}

static tn_optimizer *adamw(tn_module *net)
{
    return tn_adamw(net, 0.01);
}

static const maker makers[] = {sgd, adamw};

enum { PARAMETERS = 4, NUMBERS = 8 * 6 + 8 + 3 * 8 + 3 };

static tn_module *perceptron(void)
{
    return tn_nn_sequential(tn_nn_linear(6, 8), tn_nn_relu(), tn_nn_dropout(0.25), tn_nn_linear(8, 3));
}

/* One step on made-up data, as a user writes it. False after an error. */
static bool step(tn_module *net, tn_optimizer *opt)
{
    double norm;
    tn_scope *scope = tn_scope_open();
    if (!scope)
        return false;
    tn_tensor *x = tn_randn(TN_SHAPE(5, 6)), *y = tn_tensor_from(TN_LIST(0, 1, 2, 1, 0));
    tn_optimizer_zero_grad(opt);
    tn_tensor *loss = tn_cross_entropy(tn_forward(net, x), y);
    bool ok = loss && tn_backward(loss) == TN_OK && tn_clip_grad_norm_(net, 1, &norm) == TN_OK &&
              tn_clip_grad_value_(net, 0.5) == TN_OK && tn_optimizer_step(opt) == TN_OK;
    tn_scope_close(scope);
    return ok;
}

static void read_numbers(tn_module *net, float *out)
{
    tn_tensor *p[PARAMETERS];
    assert_int_equal(tn_module_parameters(net, p, PARAMETERS), PARAMETERS);
    for (int i = 0; i < PARAMETERS; i++)
        for (int64_t k = 0; k < tn_tensor_numel(p[i]); k++)
            *out++ = ((const float *)tn_data(p[i]))[k];
}

/* The error that running out of memory leaves. */
static void expect_out_of_memory(int64_t n)
{
    if (tn_error_code() != TN_ENOMEM) {
        print_error("allocation %lld failed, but the error is %s '%s'\n", (long long)n, tn_status_name(tn_error_code()),
                    tn_error_message());
        fail();
    }
    tn_error_clear();
}

/* Building: what was made goes away with the scope, however far it came. */
static void building(void **state)
{
    (void)state;
    for (size_t m = 0; m < sizeof makers / sizeof *makers; m++) {
        int64_t tensors = tn_live_tensors(), blocks = tn__door_live(), n = 1;
        for (;; n++) {
            tn__door_fail(n);
            tn_scope *scope = tn_scope_open();
            tn_module *net = scope ? perceptron() : NULL;
            tn_optimizer *opt = makers[m](net);
            tn__door_fail(0);
            bool ok = net && opt;
            tn_optimizer_free(opt);
            tn_scope_close(scope);
            assert_int_equal(tn_live_tensors(), tensors);
            assert_int_equal(tn__door_live(), blocks);
            if (ok)
                break;
            expect_out_of_memory(n);
        }
        print_message("count: building: %lld allocations failed in turn\n", (long long)(n - 1));
        assert_true(n > 30);
    }
}

/* One step whose n-th allocation fails, after some that went well, and one more. False if there is no n-th. */
static bool fail_at(maker make, int warm, int64_t n)
{
    float before[NUMBERS], after[NUMBERS], later[NUMBERS];
    tn_scope *scope = tn_scope_open();
    tn_manual_seed((uint64_t)n);
    tn_module *net = BUILT(perceptron());
    tn_optimizer *opt = make(net);
    for (int i = 0; i < warm; i++)
        assert_true(step(net, opt));
    tn_optimizer_zero_grad(opt);
    read_numbers(net, before);
    int64_t tensors = tn_live_tensors(), blocks = tn__door_live();
    tn__door_fail(n);
    bool ok = step(net, opt);
    tn__door_fail(0);
    read_numbers(net, after);
    assert_int_equal(memcmp(before, after, sizeof before) == 0, !ok); /* all of the step, or nothing of it */
    tn_optimizer_zero_grad(opt);
    if (!ok && warm) { /* no state is missing any more: nothing at all may be left */
        assert_int_equal(tn_live_tensors(), tensors);
        assert_int_equal(tn__door_live(), blocks);
    }
    if (!ok)
        expect_out_of_memory(n);
    assert_true(step(net, opt)); /* the next one works */
    read_numbers(net, later);
    assert_int_not_equal(memcmp(later, after, sizeof later), 0);
    for (int i = 0; i < NUMBERS; i++)
        assert_true(isfinite(later[i]));
    tn_optimizer_free(opt);
    tn_scope_close(scope);
    return !ok;
}

/* The first step, which makes the optimiser's state, and the third, which finds it. */
static void stepping(void **state)
{
    (void)state;
    for (size_t m = 0; m < sizeof makers / sizeof *makers; m++)
        for (int warm = 0; warm <= 2; warm += 2) {
            int64_t tensors = tn_live_tensors(), blocks = tn__door_live(), n = 1;
            for (; fail_at(makers[m], warm, n); n++) {
                assert_int_equal(tn_live_tensors(), tensors);
                assert_int_equal(tn__door_live(), blocks);
            }
            print_message("count: step %d: %lld allocations failed in turn\n", warm + 1, (long long)(n - 1));
            assert_true(n > 40);
        }
}

/* Without any scope: what was made is released by hand, or was released by the failing call. */
static void forward_without_a_scope(void **state)
{
    (void)state;
    tn_scope *scope = tn_scope_open();
    tn_module *net = tn_module_keep(BUILT(perceptron()));
    tn_scope_close(scope);
    tn_tensor *x = MADE(tn_randn(TN_SHAPE(5, 6)));
    for (int record = 0; record < 2; record++) {
        int64_t tensors = tn_live_tensors(), blocks = tn__door_live(), n = 1;
        bool was = tn_set_grad_enabled(record);
        for (;; n++) {
            tn__door_fail(n);
            tn_tensor *y = tn_forward(net, x);
            tn__door_fail(0);
            tn_release(y);
            assert_int_equal(tn_live_tensors(), tensors);
            assert_int_equal(tn__door_live(), blocks);
            if (y)
                break;
            expect_out_of_memory(n);
        }
        tn_set_grad_enabled(was);
        print_message("count: forward, recording %s: %lld allocations failed in turn\n", record ? "on" : "off",
                      (long long)(n - 1));
        assert_true(n > 10);
    }
    tn_module_release(net);
    tn_release(x);
}

/* A checkpoint out and in: on error the receiving side is as it was. */
static void checkpoint(void **state)
{
    (void)state;
    float before[NUMBERS], after[NUMBERS];
    tn_scope *scope = tn_scope_open();
    tn_module *net = BUILT(perceptron()), *other = BUILT(perceptron());
    tn_optimizer *opt = adamw(net), *fresh = adamw(other);
    assert_true(step(net, opt) && step(net, opt));
    read_numbers(other, before);
    tn_named weights[PARAMETERS], slots[3 * PARAMETERS];
    int64_t n = 1, blocks = tn__door_live();
    for (;; n++) {
        tn__door_fail(n);
        size_t a = tn_module_state(net, weights, PARAMETERS),
               b = a ? tn_optimizer_state(opt, slots, 3 * PARAMETERS) : 0;
        bool optimizer_first = b && tn_optimizer_load_state(fresh, slots, b) == TN_OK;
        bool ok = optimizer_first && tn_module_load_state(other, weights, a) == TN_OK;
        tn__door_fail(0);
        if (ok)
            break;
        expect_out_of_memory(n);
        read_numbers(other, after);
        assert_memory_equal(before, after, sizeof before);
        OK(tn_optimizer_load_state(fresh, NULL, 0));
        /* names and numbers of steps stay with their owners: at most a block of names on either side, and a tensor, its
         * storage and its memory for each step */
        assert_true(tn__door_live() - blocks <= 2 + 3 * PARAMETERS);
    }
    print_message("count: checkpoint: %lld allocations failed in turn\n", (long long)(n - 1));
    assert_true(n > 10);
    read_numbers(other, after);
    read_numbers(net, before);
    assert_memory_equal(before, after, sizeof before);
    assert_true(step(other, fresh));
    tn_optimizer_free(opt);
    tn_optimizer_free(fresh);
    tn_scope_close(scope);
}

/* A step that releases by hand what it made. */
static void step_without_scope(tn_module *net, tn_optimizer *opt)
{
    tn_tensor *x = MADE(tn_randn(TN_SHAPE(5, 6))), *y = MADE(tn_tensor_from(TN_LIST(0, 1, 2, 1, 0)));
    tn_tensor *out = MADE(tn_forward(net, x)), *loss = MADE(tn_cross_entropy(out, y));
    tn_optimizer_zero_grad(opt);
    OK(tn_backward(loss));
    OK(tn_optimizer_step(opt));
    tn_release(loss);
    tn_release(out);
    tn_release(y);
    tn_release(x);
}

static void a_thousand_steps_leave_nothing(void **state)
{
    (void)state;
    for (size_t m = 0; m < sizeof makers / sizeof *makers; m++)
        for (int scoped = 0; scoped < 2; scoped++) {
            tn_scope *outer = tn_scope_open();
            tn_module *net = tn_module_keep(perceptron());
            tn_optimizer *opt = makers[m](net);
            tn_scope_close(outer);
            step_without_scope(net, opt); /* makes gradients and state */
            int64_t tensors = tn_live_tensors(), blocks = tn__door_live();
            for (int i = 0; i < 1000; i++)
                if (scoped)
                    assert_true(step(net, opt));
                else
                    step_without_scope(net, opt);
            assert_int_equal(tn_live_tensors(), tensors);
            assert_int_equal(tn__door_live(), blocks);
            tn_optimizer_free(opt);
            tn_module_release(net);
        }
    assert_int_equal(tn_live_tensors(), 0);
    print_message("count: 0 tensors left after 1000 steps, with and without scopes\n");
}

int main(void)
{
    setenv("TENON_NO_CACHE", "1", 1);
    tn_scope *scope = tn_scope_open(); /* a thread keeps what its first backward pass needs */
    tn_module *net = perceptron();
    tn_optimizer *opt = sgd(net);
    bool ok = step(net, opt);
    tn_optimizer_free(opt);
    tn_scope_close(scope);
    if (!ok)
        return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(building),
        cmocka_unit_test(stepping),
        cmocka_unit_test(forward_without_a_scope),
        cmocka_unit_test(checkpoint),
        cmocka_unit_test(a_thousand_steps_leave_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
