/* State of optimisers: names, resuming exactly, errors that leave it as it was. */
#include "nn_check.h"

typedef tn_optimizer *(*maker)(tn_module *net);

static tn_optimizer *sgd(tn_module *net)
{
    return tn_sgd(net, 0.05, .momentum = 0.9, .weight_decay = 1e-3, .nesterov = true);
}

static tn_optimizer *plain(tn_module *net)
{
    return tn_sgd(net, 0.05);
}

static tn_optimizer *adam(tn_module *net)
{
    return tn_adam(net, 0.02);
}

static tn_optimizer *adamw(tn_module *net)
{
    return tn_adamw(net, 0.02, .weight_decay = 0.1);
}

static tn_module *network(void)
{
    tn_manual_seed(5);
    return BUILT(tn_nn_sequential(tn_nn_linear(3, 4), tn_nn_tanh(), tn_nn_linear(4, 2)));
}

static void train(tn_module *net, tn_optimizer *opt, int from, int to)
{
    for (int k = from; k < to; k++) {
        tn_scope *scope = tn_scope_open();
        tn_tensor *x = tn_add(tn_reshape(tn_arange(0, 15, 1, .dtype = TN_F32), TN_SHAPE(5, 3)), -7 + k);
        tn_optimizer_zero_grad(opt);
        OK(tn_backward(MADE(tn_mean(tn_square(tn_sub(tn_forward(net, tn_div(x, 8)), 0.5))))));
        OK(tn_optimizer_step(opt));
        tn_scope_close(scope);
    }
}

/* A copy of everything, as a file would give it back. */
static size_t copied(const tn_named *from, size_t n, tn_named *to)
{
    for (size_t i = 0; i < n; i++)
        to[i] = (tn_named){from[i].name, MADE(tn_clone(values(from[i].tensor)))};
    return n;
}

static bool same_state(tn_module *a, tn_module *b)
{
    tn_named x[4], y[4];
    assert_int_equal(tn_module_state(a, x, 4), 4);
    assert_int_equal(tn_module_state(b, y, 4), 4);
    for (int i = 0; i < 4; i++)
        if (!tn_equal(x[i].tensor, y[i].tensor))
            return false;
    return true;
}

static void resumes_exactly(void **state)
{
    (void)state;
    const maker makers[] = {sgd, plain, adam, adamw};
    for (int i = 0; i < 4; i++) {
        tn_scope *scope = tn_scope_open();
        tn_module *net = network(), *again = network(), *without = network();
        tn_optimizer *opt = makers[i](net), *resumed = makers[i](again), *fresh = makers[i](without);
        tn_named s[16], kept[16], weights[4];
        train(net, opt, 0, 5);
        size_t n = copied(s, tn_optimizer_state(opt, s, 16), kept);
        tn_module_state(net, s, 4);
        copied(s, 4, weights);
        train(net, opt, 5, 10);
        OK(tn_module_load_state(again, weights, 4));
        OK(tn_module_load_state(without, weights, 4));
        OK(tn_optimizer_load_state(resumed, kept, n));
        train(again, resumed, 5, 10);
        train(without, fresh, 5, 10);
        assert_true(same_state(net, again));
        assert_true(same_state(net, without) == (makers[i] == plain)); /* the state does matter */
        tn_optimizer_free(opt);
        tn_optimizer_free(resumed);
        tn_optimizer_free(fresh);
        tn_scope_close(scope);
    }
}

static void names(void **state)
{
    (void)state;
    static const char *const want[] = {"0.step", "0.exp_avg", "0.exp_avg_sq", "1.step", "1.exp_avg", "1.exp_avg_sq",
                                       "2.step", "2.exp_avg", "2.exp_avg_sq", "3.step", "3.exp_avg", "3.exp_avg_sq"};
    tn_scope *scope = tn_scope_open();
    tn_module *net = network();
    tn_optimizer *opt = adam(net);
    tn_named s[12];
    assert_int_equal(tn_optimizer_state(opt, s, 12), 0);
    train(net, opt, 0, 3);
    assert_int_equal(tn_optimizer_state(opt, NULL, 0), 12);
    assert_int_equal(tn_optimizer_state(opt, s, 12), 12);
    for (int i = 0; i < 12; i++)
        assert_string_equal(s[i].name, want[i]);
    PRINTS(s[0].tensor, "tensor(3)");
    assert_int_equal(tn_tensor_size(s[1].tensor, 0), 4);
    train(net, opt, 3, 4);
    PRINTS(s[0].tensor, "tensor(3)");
    assert_int_equal(tn_optimizer_state(opt, s, 1), 12);
    PRINTS(s[0].tensor, "tensor(4)");
    tn_optimizer_free(opt);
    opt = sgd(net);
    train(net, opt, 0, 1);
    assert_int_equal(tn_optimizer_state(opt, s, 12), 4);
    assert_string_equal(s[3].name, "3.momentum_buffer");
    tn_optimizer_free(opt);
    opt = plain(net);
    train(net, opt, 0, 1);
    assert_int_equal(tn_optimizer_state(opt, s, 12), 0);
    tn_optimizer_free(opt);
    tn_scope_close(scope);
}

/* Other dtypes are converted; parameters that are not named begin anew. */
static void partial_and_converted(void **state)
{
    (void)state;
    tn_scope *scope = tn_scope_open();
    tn_tensor *p = tn_ones(TN_SHAPE(2), .requires_grad = true), *q = tn_ones(TN_SHAPE(1), .requires_grad = true);
    tn_optimizer *opt = tn_adam(TN_TENSORS(p, q), 0.1);
    OK(tn_tensor_set_grad(p, tn_ones(TN_SHAPE(2))));
    OK(tn_tensor_set_grad(q, tn_ones(TN_SHAPE(1))));
    OK(tn_optimizer_step(opt));
    tn_named s[6] = {{"1.exp_avg_sq", tn_tensor_from(TN_LIST(4.0), .dtype = TN_F64)},
                     {"1.step", tn_tensor_from(TN_LIST(7.0))},
                     {"1.exp_avg", tn_tensor_from(TN_LIST(2))}};
    OK(tn_optimizer_load_state(opt, s, 3));
    assert_int_equal(tn_optimizer_state(opt, s, 6), 3);
    assert_string_equal(s[0].name, "1.step");
    PRINTS(s[0].tensor, "tensor(7)");
    PRINTS(s[1].tensor, "tensor([2.])");
    PRINTS(s[2].tensor, "tensor([4.])");
    OK(tn_optimizer_load_state(opt, s, 3)); /* its own tensors */
    assert_int_equal(tn_optimizer_state(opt, s, 6), 3);
    PRINTS(s[1].tensor, "tensor([2.])");
    OK(tn_optimizer_load_state(opt, NULL, 0)); /* none: all begin anew */
    assert_int_equal(tn_optimizer_state(opt, NULL, 0), 0);
    tn_optimizer_free(opt);
    tn_scope_close(scope);
}

/* Each of these is refused and changes nothing. */
static void refused(void **state)
{
    (void)state;
    tn_scope *scope = tn_scope_open();
    tn_tensor *p = tn_ones(TN_SHAPE(2), .requires_grad = true), *two = tn_ones(TN_SHAPE(2)),
              *one = tn_tensor_from(TN_LIST(1));
    tn_optimizer *opt = tn_adam(TN_TENSORS(p), 0.1), *momentum = tn_sgd(TN_TENSORS(p), 0.1, .momentum = 0.5);
    OK(tn_tensor_set_grad(p, tn_full_like(p, 3)));
    OK(tn_optimizer_step(opt));
#define LOAD(o, ...) \
    tn_optimizer_load_state(o, ((tn_named[]){__VA_ARGS__}), sizeof((tn_named[]){__VA_ARGS__}) / sizeof(tn_named))
#define UNEXPECTED(o, name) \
    FAILS_STATUS(LOAD(o, {name, two}), TN_EINVAL, "\n\tUnexpected key(s) in state_dict: \"" name "\". ")
    UNEXPECTED(opt, "1.exp_avg");
    UNEXPECTED(opt, "-1.exp_avg");
    UNEXPECTED(opt, "0.momentum_buffer");
    UNEXPECTED(opt, "exp_avg");
    UNEXPECTED(opt, "0");
    UNEXPECTED(opt, "");
    UNEXPECTED(opt, "99999999999999999999999.exp_avg");
    UNEXPECTED(opt, "00.exp_avg");
    UNEXPECTED(opt, "0.");
    UNEXPECTED(momentum, "0.step");
    UNEXPECTED(momentum, "0.exp_avg");
    FAILS_STATUS(LOAD(opt, {"0.exp_avg", two}, {"0.exp_avg", two}), TN_EINVAL, "Unexpected key(s)");
    FAILS_STATUS(LOAD(opt, {"0.exp_avg", two}, {"0.step", one}), TN_EINVAL,
                 "Missing key(s) in state_dict: \"0.exp_avg_sq\". ");
    FAILS_STATUS(LOAD(opt, {"0.exp_avg", two}, {"0.exp_avg_sq", two}), TN_EINVAL,
                 "Missing key(s) in state_dict: \"0.step\". ");
    FAILS_STATUS(
        LOAD(opt, {"0.exp_avg", two}, {"0.exp_avg_sq", tn_ones(TN_SHAPE(3))}, {"0.step", one}), TN_EINVAL,
        "size mismatch for 0.exp_avg_sq: copying a state with shape torch.Size([3]) from checkpoint, the shape of "
        "the parameter is torch.Size([2]).");
    FAILS_STATUS(LOAD(opt, {"0.exp_avg", two}, {"0.exp_avg_sq", two}, {"0.step", two}), TN_EINVAL,
                 "must be one number from 0 to 2^53");
    FAILS_STATUS(LOAD(opt, {"0.exp_avg", two}, {"0.exp_avg_sq", two}, {"0.step", tn_neg(one)}), TN_EINVAL,
                 "one number from 0 to 2^53");
#define STEP(t) LOAD(opt, {"0.exp_avg", two}, {"0.exp_avg_sq", two}, {"0.step", t})
    FAILS_STATUS(STEP(tn_full(TN_SHAPE(), INT64_MAX)), TN_EINVAL, "one number from 0 to 2^53");
    FAILS_STATUS(STEP(tn_full(TN_SHAPE(), NAN)), TN_EINVAL, "one number from 0 to 2^53");
    FAILS_STATUS(STEP(tn_full(TN_SHAPE(), INFINITY)), TN_EINVAL, "one number from 0 to 2^53");
    FAILS_STATUS(STEP(tn_ones(TN_SHAPE(), .device = TN_META)), TN_EINVAL, "one number from 0 to 2^53");
    FAILS_STATUS(LOAD(opt, {"0.exp_avg", tn_zeros(TN_SHAPE(-1))}), TN_EINVAL, "");
    FAILS_STATUS(LOAD(opt, {"0.exp_avg", TN_NONE}), TN_EINVAL, "entry 0 has no tensor");
    FAILS_STATUS(LOAD(opt, {NULL, two}), TN_EINVAL, "entry 0 has no name");
    FAILS_STATUS(tn_optimizer_load_state(opt, NULL, 1), TN_EINVAL, "the state is NULL");
    FAILS_STATUS(tn_optimizer_load_state(NULL, NULL, 0), TN_EINVAL, "an operand is NULL");
    tn_named s[3];
    assert_int_equal(tn_optimizer_state(opt, s, 3), 3);
    PRINTS(s[0].tensor, "tensor(1)");
    PRINTS(s[1].tensor, "tensor([0.3000, 0.3000])");
    PRINTS(s[2].tensor, "tensor([0.0090, 0.0090])");
    assert_int_equal(tn_optimizer_state(momentum, NULL, 0), 0);
    OK(STEP(tn_full(TN_SHAPE(), 9007199254740992))); /* the last that is taken */
    OK(tn_optimizer_step(opt));
    assert_true(isfinite(element(p, 0)));
    tn_optimizer_free(opt);
    tn_optimizer_free(momentum);
    tn_scope_close(scope);
}

/* Memory runs out at each allocation of a load in turn: an error, the old state, and the next load works. */
static void out_of_memory(void **state)
{
    (void)state;
    tn_scope *scope = tn_scope_open();
    tn_tensor *p = tn_ones(TN_SHAPE(2), .requires_grad = true), *q = tn_ones(TN_SHAPE(1), .requires_grad = true);
    const tn_named s[] = {{"0.exp_avg", tn_ones(TN_SHAPE(2))},    {"0.exp_avg_sq", tn_ones(TN_SHAPE(2))},
                          {"0.step", tn_tensor_from(TN_LIST(3))}, {"1.exp_avg", tn_ones(TN_SHAPE(1), .dtype = TN_F64)},
                          {"1.exp_avg_sq", tn_ones(TN_SHAPE(1))}, {"1.step", tn_tensor_from(TN_LIST(3))}};
    tn_optimizer *opt = tn_adam(TN_TENSORS(p, q), 0.1);
    int64_t tensors = tn_live_tensors(), blocks = tn__door_live();
    int failures = 0;
    for (int64_t n = 1;; n++) {
        tn__door_fail(n);
        tn_status e = tn_optimizer_load_state(opt, s, 6);
        tn__door_fail(0);
        if (!e)
            break;
        assert_int_equal(e, TN_ENOMEM);
        assert_int_equal(tn_error_code(), TN_ENOMEM);
        assert_int_equal(tn_live_tensors(), tensors);
        assert_int_equal(tn__door_live(), blocks);
        assert_int_equal(tn_optimizer_state(opt, NULL, 0), 0);
        failures++;
    }
    tn_error_clear();
    assert_true(failures > 8);
    assert_int_equal(tn_optimizer_state(opt, NULL, 0), 6);
    tn_optimizer_free(opt);
    tn_scope_close(scope);
}

int main(void)
{
    setenv("TENON_NO_CACHE", "1", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(resumes_exactly), cmocka_unit_test(names),         cmocka_unit_test(partial_and_converted),
        cmocka_unit_test(refused),         cmocka_unit_test(out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
