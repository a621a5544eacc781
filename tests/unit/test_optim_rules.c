/* The optimisers whose updates are rules, against torch.optim 2.15: p = (1, 2, -3) after twelve steps in float64, whose gradients
 * are (0.5 (k + 1), 0.75 k - 1, 2 - k), k from 0; every option. */
#include "nn_check.h"

enum { STEPS = 12 };

static tn_optimizer *make_0(tn_tensors ps)
{
    return tn_adagrad(ps, 0.1);
}

static tn_optimizer *make_1(tn_tensors ps)
{
    return tn_adagrad(ps, 0.1, .lr_decay = 0.1, .weight_decay = 0.2, .initial_accumulator_value = 0.5, .eps = 0.01,
                      .maximize = true);
}

static tn_optimizer *make_2(tn_tensors ps)
{
    return tn_adadelta(ps, 1);
}

static tn_optimizer *make_3(tn_tensors ps)
{
    return tn_adadelta(ps, 0.5, .rho = 0.7, .eps = 0.01, .weight_decay = 0.1, .maximize = true);
}

static tn_optimizer *make_4(tn_tensors ps)
{
    return tn_rmsprop(ps, 0.1);
}

static tn_optimizer *make_5(tn_tensors ps)
{
    return tn_rmsprop(ps, 0.1, .alpha = 0.8, .eps = 0.01, .weight_decay = 0.1, .momentum = 0.5);
}

static tn_optimizer *make_6(tn_tensors ps)
{
    return tn_rmsprop(ps, 0.1, .centered = true);
}

static tn_optimizer *make_7(tn_tensors ps)
{
    return tn_rmsprop(ps, 0.1, .momentum = 0.5, .centered = true, .maximize = true);
}

static tn_optimizer *make_8(tn_tensors ps)
{
    return tn_rprop(ps, 0.1);
}

static tn_optimizer *make_9(tn_tensors ps)
{
    return tn_rprop(ps, 0.1, .etaminus = 0.3, .etaplus = 1.5, .step_min = 0.05, .step_max = 0.25, .maximize = true);
}

static tn_optimizer *make_10(tn_tensors ps)
{
    return tn_adamax(ps, 0.1);
}

static tn_optimizer *make_11(tn_tensors ps)
{
    return tn_adamax(ps, 0.1, .beta1 = 0.7, .beta2 = 0.8, .eps = 0.01, .weight_decay = 0.1, .maximize = true);
}

static tn_optimizer *make_12(tn_tensors ps)
{
    return tn_nadam(ps, 0.1);
}

static tn_optimizer *make_13(tn_tensors ps)
{
    return tn_nadam(ps, 0.1, .beta1 = 0.7, .beta2 = 0.8, .eps = 0.01, .weight_decay = 0.1, .momentum_decay = 0.1,
                    .decoupled_weight_decay = true, .maximize = true);
}

static tn_optimizer *make_14(tn_tensors ps)
{
    return tn_radam(ps, 0.1);
}

static tn_optimizer *make_15(tn_tensors ps)
{
    return tn_radam(ps, 0.1, .beta1 = 0.7, .beta2 = 0.95, .eps = 0.01, .weight_decay = 0.1,
                    .decoupled_weight_decay = true, .maximize = true);
}

static tn_optimizer *make_16(tn_tensors ps)
{
    return tn_asgd(ps, 0.1);
}

static tn_optimizer *make_17(tn_tensors ps)
{
    return tn_asgd(ps, 0.1, .lambd = 0.2, .alpha = 0.5, .t0 = 3, .weight_decay = 0.1, .maximize = true);
}

static const struct row {
    const char *name;
    tn_optimizer *(*make)(tn_tensors ps);
    double value[3];
    size_t states;
} rows[] = {
    {"Adagrad", make_0, {0.21161520112490403, 1.5048377757482119, -2.6121081379932174}, 2},
    {"Adagrad", make_1, {1.487602848176614, 2.2057743824179408, -3.1141952116769867}, 2},
    {"Adadelta", make_2, {0.9091448366464308, 1.9359034588504413, -2.9523028874353057}, 3},
    {"Adadelta", make_3, {3.522539114578469, 3.6565821042484608, -4.286331144255608}, 3},
    {"RMSprop", make_4, {-6.926956384883111, -2.9917199132196854, 0.9227458826673794}, 2},
    {"RMSprop", make_5, {-2.5633127680983043, -0.4695123620267933, -0.9657722371277752}, 3},
    {"RMSprop", make_6, {-7.112469968910831, -3.085885249185229, 0.9849414638698936}, 3},
    {"RMSprop", make_7, {16.186250005517383, 11.043618514417672, -9.825336193110802}, 4},
    {"Rprop", make_8, {-2.958050224127999, 0.9720658944000005, -0.7241317888000007}, 3},
    {"Rprop", make_9, {3.725, 3.40625, -4.875}, 3},
    {"Adamax", make_10, {0.18004133374993342, 1.7841702332941012, -2.929505704046566}, 3},
    {"Adamax", make_11, {1.9326875199001519, 2.33427798114194, -3.1714648591198267}, 3},
    {"NAdam", make_12, {-0.30615052335152837, 1.0411440620801078, -2.1962498215822603}, 3},
    {"NAdam", make_13, {2.2078189811175886, 2.7376816619687276, -3.482531107863487}, 3},
    {"RAdam", make_14, {0.4474496516918411, 2.0648972297847217, -3.431705097276015}, 3},
    {"RAdam", make_15, {1.6600093898859758, 2.008608741949305, -2.5786881095062886}, 3},
    {"ASGD", make_16, {-2.899762522454974, -1.7499058837200152, 1.1999915004673405}, 2},
    {"ASGD", make_17, {3.9991956369618977, 4.641115037245231, -5.771897179159515}, 2},
};

static void step(tn_optimizer *opt, tn_tensor *p, int k)
{
    tn_scope *scope = tn_scope_open();
    OK(tn_tensor_set_grad(p, tn_tensor_from(TN_LIST(0.5 * (k + 1), 0.75 * k - 1, 2.0 - k), .dtype = TN_F64)));
    OK(tn_optimizer_step(opt));
    tn_scope_close(scope);
}

static void agree_with_torch(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tn_scope *scope = tn_scope_open();
        tn_tensor *p = tn_tensor_from(TN_LIST(1, 2, -3), .dtype = TN_F64, .requires_grad = true);
        tn_optimizer *opt = rows[i].make(TN_TENSORS(p));
        check_ok_(opt != NULL, rows[i].name, __FILE__, __LINE__);
        for (int k = 0; k < STEPS; k++)
            step(opt, p, k);
        for (int k = 0; k < 3; k++)
            if (!(fabs(element(p, k) - rows[i].value[k]) <= 1e-12 * (1 + fabs(rows[i].value[k])))) {
                print_error("row %zu, %s, value %d: expected %.17g, got %.17g\n", i, rows[i].name, k, rows[i].value[k],
                            element(p, k));
                fail();
            }
        tn_optimizer_free(opt);
        tn_scope_close(scope);
    }
}

/* Half of the steps, the state into another one, the other half. */
static void go_on_from_their_state(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tn_scope *scope = tn_scope_open();
        tn_tensor *p = tn_tensor_from(TN_LIST(1, 2, -3), .dtype = TN_F64, .requires_grad = true);
        tn_optimizer *first = rows[i].make(TN_TENSORS(p)), *second = rows[i].make(TN_TENSORS(p));
        tn_named saved[8];
        for (int k = 0; k < STEPS / 2; k++)
            step(first, p, k);
        const size_t n = tn_optimizer_state(first, saved, 8);
        assert_in_range(n, rows[i].states, rows[i].states + 1); /* a momentum of 0 has a buffer, where it is centered */
        OK(tn_optimizer_load_state(second, saved, n));
        for (int k = STEPS / 2; k < STEPS; k++)
            step(second, p, k);
        for (int k = 0; k < 3; k++)
            NEAR(element(p, k), rows[i].value[k], 1e-12 * (1 + fabs(rows[i].value[k])));
        tn_optimizer_free(first);
        tn_optimizer_free(second);
        tn_scope_close(scope);
    }
}

static void refuse_bad_numbers(void **state)
{
    (void)state;
    tn_scope *scope = tn_scope_open();
    tn_tensor *p = tn_ones(TN_SHAPE(3), .requires_grad = true);
    tn_tensors ps = TN_TENSORS(p);
    FAILS(tn_adagrad(ps, -1), TN_EVALUE, "Invalid learning rate: -1");
    FAILS(tn_adagrad(ps, 1, .eps = -1), TN_EVALUE, "Invalid epsilon value: -1");
    FAILS(tn_adadelta(ps, 1, .rho = 2), TN_EVALUE, "Invalid rho value: 2");
    FAILS(tn_rmsprop(ps, 1, .momentum = -2), TN_EVALUE, "Invalid momentum value: -2");
    FAILS(tn_rprop(ps, 1, .etaminus = 1.5, .etaplus = 2), TN_EVALUE, "Invalid eta values: 1.5, 2");
    FAILS(tn_adamax(ps, 1, .beta2 = 1), TN_EVALUE, "Invalid beta parameter at index 1: 1");
    FAILS(tn_nadam(ps, 1, .momentum_decay = -1), TN_EVALUE, "Invalid momentum_decay value: -1");
    FAILS(tn_radam(ps, 1, .weight_decay = -1), TN_EVALUE, "Invalid weight_decay value: -1");
    FAILS(tn_asgd(ps, 1, .weight_decay = -1), TN_EVALUE, "Invalid weight_decay value: -1");
    tn_optimizer *opt = tn_rmsprop(ps, 1);
    OK(tn_optimizer_set(opt, -1, "eps", 0));
    NEAR(tn_optimizer_get(opt, 0, "eps"), 0, 0);
    NEAR(tn_optimizer_get(opt, 0, "alpha"), 0.99, 0);
    assert_int_equal(tn_optimizer_set(opt, 0, "rho", 1), TN_EMISSING);
    tn_optimizer_free(opt);
    tn_scope_close(scope);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agree_with_torch),
        cmocka_unit_test(go_on_from_their_state),
        cmocka_unit_test(refuse_bad_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
