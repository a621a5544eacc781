/* Layers, initial values, printing. Texts and gains are torch 2.14.1's. */
#include "nn_check.h"

/* ---- printing ---- */

static void prints_as_torch_does(void **state)
{
    (void)state;
    tn_scope *scope = tn_scope_open();
    MODULE_PRINTS(tn_nn_sequential(tn_nn_linear(3, 8), tn_nn_relu(), tn_nn_linear(8, 1, .no_bias = true),
                                   tn_nn_flatten(), tn_nn_dropout(0.1), tn_nn_sigmoid(), tn_nn_tanh(), tn_nn_identity(),
                                   tn_nn_sequential(),
                                   tn_nn_sequential(tn_nn_linear(1, 1), tn_nn_sequential(tn_nn_dropout(0.5)))),
                  "Sequential(\n"
                  "  (0): Linear(in_features=3, out_features=8, bias=True)\n"
                  "  (1): ReLU()\n"
                  "  (2): Linear(in_features=8, out_features=1, bias=False)\n"
                  "  (3): Flatten(start_dim=1, end_dim=-1)\n"
                  "  (4): Dropout(p=0.1, inplace=False)\n"
                  "  (5): Sigmoid()\n"
                  "  (6): Tanh()\n"
                  "  (7): Identity()\n"
                  "  (8): Sequential()\n"
                  "  (9): Sequential(\n"
                  "    (0): Linear(in_features=1, out_features=1, bias=True)\n"
                  "    (1): Sequential(\n"
                  "      (0): Dropout(p=0.5, inplace=False)\n"
                  "    )\n"
                  "  )\n"
                  ")");
    MODULE_PRINTS(tn_nn_linear(3, 8), "Linear(in_features=3, out_features=8, bias=True)");
    MODULE_PRINTS(tn_nn_dropout(1), "Dropout(p=1.0, inplace=False)");
    MODULE_PRINTS(tn_nn_dropout(0), "Dropout(p=0.0, inplace=False)");
    MODULE_PRINTS(tn_nn_dropout(1e-5), "Dropout(p=1e-05, inplace=False)");
    MODULE_PRINTS(tn_nn_dropout(1.0 / 3), "Dropout(p=0.3333333333333333, inplace=False)");
    MODULE_PRINTS(tn_nn_dropout(0.00012), "Dropout(p=0.00012, inplace=False)");
    MODULE_PRINTS(tn_nn_flatten(.start_dim = TN_SCALAR(0), .end_dim = TN_SCALAR(-2)),
                  "Flatten(start_dim=0, end_dim=-2)");
    tn_scope_close(scope);
}

static int64_t two_lines(const tn_module *m, char *out, size_t n)
{
    (void)m;
    return snprintf(out, n, "first=1\nsecond=2");
}

static int64_t long_line(const tn_module *m, char *out, size_t n)
{
    (void)m;
    return snprintf(out, n, "%0600d", 7);
}

/* Module.__repr__'s rules for extra_repr: one line stays inside, more or with children go on lines of their own. */
static void own_descriptions(void **state)
{
    (void)state;
    tn_scope *scope = tn_scope_open();
    const tn_module_class two = {.struct_size = sizeof two, .name = "Two", .describe = two_lines};
    const tn_module_class wide = {.struct_size = sizeof wide, .name = "Wide", .describe = long_line};
    tn_module *m = BUILT(tn_module_new(&two, NULL));
    MODULE_PRINTS(m, "Two(\n  first=1\n  second=2\n)");
    BUILT(tn_module_add_child(m, "a", tn_nn_relu()));
    MODULE_PRINTS(m, "Two(\n  first=1\n  second=2\n  (a): ReLU()\n)");
    MODULE_PRINTS(tn_nn_sequential(m), "Sequential(\n  (0): Two(\n    first=1\n    second=2\n    (a): ReLU()\n  )\n)");
    m = BUILT(tn_module_new(&wide, NULL));
    char text[700], few[9];
    assert_int_equal(tn_module_to_string(m, text, sizeof text), 606);
    assert_string_equal(text + 600, "00007)");
    assert_int_equal(tn_module_to_string(m, few, sizeof few), 606);
    assert_string_equal(few, "Wide(000");
    assert_int_equal(tn_module_to_string(m, few, 0), 606);
    assert_int_equal(tn_module_to_string(m, NULL, 0), 606);
    assert_true(tn_module_to_string(NULL, few, sizeof few) < 0);
    FAILS(NULL, TN_EINVAL, "tn_module_to_string: an operand is NULL");
    tn__door_fail(1);
    assert_true(tn_module_to_string(m, text, sizeof text) < 0);
    tn__door_fail(0);
    FAILS(NULL, TN_ENOMEM, "a module's description");
    tn_scope_close(scope);
}

/* ---- linear ---- */

static void linear_shapes(void **state)
{
    (void)state;
    tn_scope *scope = tn_scope_open();
    tn_module *m = BUILT(tn_nn_linear(3, 2));
    OK(tn_module_load_state(
        m,
        ((tn_named[]){{"weight", tn_tensor_from(TN_LIST(1, 2, 3, 4, 5, 6), .shape = TN_SHAPE(2, 3))},
                      {"bias", tn_tensor_from(TN_LIST(10, 20))}}),
        2));
    tn_module_requires_grad_(m, false);
    PRINTS(tn_forward(m, tn_tensor_from(TN_LIST(1.0, 0, -1))), "tensor([ 8., 18.])");
    PRINTS(tn_forward(m, tn_ones(TN_SHAPE(1, 2, 3))), "tensor([[[16., 35.],\n         [16., 35.]]])");
    PRINTS(tn_forward(m, tn_ones(TN_SHAPE(0, 3))), "tensor([], size=(0, 2))");
    m = BUILT(tn_nn_linear(3, 2, .no_bias = true, .dtype = TN_F64));
    assert_int_equal(tn_module_parameters(m, NULL, 0), 1);
    assert_int_equal(tn_tensor_dtype(tn_module_parameter(m, "weight")), TN_F64);
    FAILS(tn_module_parameter(m, "bias"), TN_EMISSING, "Linear has no attribute `bias`");
    m = BUILT(tn_nn_linear(4, 5, .device = TN_META));
    assert_int_equal(tn_tensor_device(tn_module_parameter(m, "bias")).type, TN_DEVICE_META);
    assert_int_equal(tn_tensor_size(tn_forward(m, tn_zeros(TN_SHAPE(7, 4), .device = TN_META)), 1), 5);
    BUILT(tn_nn_linear(0, 2));
    BUILT(tn_nn_linear(2, 0));
    FAILS(tn_nn_linear(-1, 2), TN_EINVAL, "negative dimension -1: [2, -1]");
    FAILS(tn_nn_linear(2, 2, .dtype = TN_I64), TN_EDTYPE, "only Tensors of floating point dtype can require gradients");
    FAILS(tn_nn_linear(2, 2, .device = tn_device_parse("gpu")), TN_EINVAL, "at start of device string: gpu");
    FAILS(tn_nn_linear(2, 2, .device = TN_CUDA(7)), TN_EDEVICE, "GPU");
    FAILS(tn_nn_linear(INT64_C(1) << 40, INT64_C(1) << 40), TN_EINVAL, "Storage size calculation overflowed");
    tn_scope_close(scope);
}

/* ---- flatten, dropout, activations ---- */

static void flatten(void **state)
{
    (void)state;
    tn_scope *scope = tn_scope_open();
    tn_tensor *x = tn_ones(TN_SHAPE(2, 3, 4, 5)), *flat = tn_ones(TN_SHAPE(2, 60)), *line = tn_ones(TN_SHAPE(7));
    tn_tensor *y = MADE(tn_forward(tn_nn_flatten(), x));
    assert_int_equal(tn_tensor_ndim(y), 2);
    assert_int_equal(tn_tensor_size(y, 1), 60);
    assert_true(tn_tensor_shares_memory(x, y));
    assert_ptr_equal(tn_forward(tn_nn_flatten(), flat), flat);
    y = MADE(tn_forward(tn_nn_flatten(.start_dim = TN_SCALAR(0)), x));
    assert_int_equal(tn_tensor_ndim(y), 1);
    y = MADE(tn_forward(tn_nn_flatten(.start_dim = TN_SCALAR(-3), .end_dim = TN_SCALAR(2)), x));
    assert_int_equal(tn_tensor_ndim(y), 3);
    assert_int_equal(tn_tensor_size(y, 1), 12);
    FAILS(tn_forward(tn_nn_flatten(), line), TN_EINDEX,
          "Dimension out of range (expected to be in range of [-1, 0], but got 1)");
    FAILS(tn_forward(tn_nn_flatten(.start_dim = TN_SCALAR(2), .end_dim = TN_SCALAR(1)), x), TN_EINVAL,
          "start_dim cannot come after end_dim");
    FAILS(tn_nn_flatten(.start_dim = TN_SCALAR(1.5)), TN_ETYPE, "a dimension must be a whole number");
    tn_scope_close(scope);
}

static void dropout(void **state)
{
    (void)state;
    enum { N = 20000 };
    tn_scope *scope = tn_scope_open();
    tn_module *m = BUILT(tn_nn_dropout(0.25));
    tn_tensor *x = tn_ones(TN_SHAPE(N));
    tn_manual_seed(3);
    tn_tensor *y = MADE(tn_forward(m, x));
    const float *data = tn_data(y);
    int zeros = 0;
    for (int i = 0; i < N; i++) {
        zeros += data[i] == 0;
        assert_true(data[i] == 0 || data[i] == 1.0F / 0.75F);
    }
    assert_true(abs(zeros - N / 4) < 250); /* 4 standard deviations */
    tn_module_eval(m);
    assert_ptr_equal(tn_forward(m, x), x);
    m = BUILT(tn_nn_dropout(0));
    assert_ptr_equal(tn_forward(m, x), x);
    NEAR(tn_item(tn_sum(tn_forward(tn_nn_dropout(1), x))), 0, 0);
    FAILS(tn_nn_dropout(1.5), TN_EVALUE, "dropout probability has to be between 0 and 1, but got 1.5");
    FAILS(tn_nn_dropout(-0.5), TN_EVALUE, "dropout probability has to be between 0 and 1, but got -0.5");
    FAILS(tn_nn_dropout((double)NAN), TN_EVALUE, "but got nan");
    FAILS(tn_nn_dropout(2), TN_EVALUE, "test_nn_layers.c:");
    tn_scope_close(scope);
}

static void activations(void **state)
{
    (void)state;
    tn_scope *scope = tn_scope_open();
    tn_tensor *x = tn_tensor_from(TN_LIST(-1.0, 0, 2));
    PRINTS(tn_forward(tn_nn_relu(), x), "tensor([0., 0., 2.])");
    PRINTS(tn_forward(tn_nn_sigmoid(), x), "tensor([0.2689, 0.5000, 0.8808])");
    PRINTS(tn_forward(tn_nn_tanh(), x), "tensor([-0.7616,  0.0000,  0.9640])");
    assert_ptr_equal(tn_forward(tn_nn_identity(), x), x);
    tn_scope_close(scope);
}

/* ---- initial values ---- */

typedef struct moments {
    double mean, std, low, high;
} moments;

static moments moments_of(tn_tensor *t)
{
    moments m = {0, 0, INFINITY, -INFINITY};
    int64_t n = tn_tensor_numel(t);
    for (int pass = 0; pass < 2; pass++)
        for (int64_t i = 0; i < n; i++) {
            double v = ((const float *)tn_data(t))[i];
            m.mean += pass ? 0 : v / (double)n;
            m.std += pass ? (v - m.mean) * (v - m.mean) / (double)n : 0;
            m.low = fmin(m.low, v);
            m.high = fmax(m.high, v);
        }
    m.std = sqrt(m.std);
    return m;
}

/* Uniform in +-bound: nothing outside, close to both ends, the right deviation. */
static void expect_uniform(tn_tensor *t, double bound)
{
    moments m = moments_of(MADE(t));
    double n = sqrt((double)tn_tensor_numel(t));
    assert_true(m.low >= -(float)bound && m.high <= (float)bound);
    assert_true(m.low < -bound * (1 - 20 / n / n) && m.high > bound * (1 - 20 / n / n));
    assert_true(fabs(m.mean) < 5 * bound / sqrt(3) / n);
    NEAR(m.std / (bound / sqrt(3)), 1, 5 * 0.45 / n);
}

static void expect_normal(tn_tensor *t, double std)
{
    moments m = moments_of(MADE(t));
    double n = sqrt((double)tn_tensor_numel(t));
    assert_true(fabs(m.mean) < 5 * std / n);
    NEAR(m.std / std, 1, 5 * 0.71 / n);
    assert_true(m.high > 3 * std && m.low < -3 * std);
}

static void linear_begins_as_torch_does(void **state)
{
    (void)state;
    tn_scope *scope = tn_scope_open();
    tn_manual_seed(1);
    tn_module *m = BUILT(tn_nn_linear(784, 500));
    expect_uniform(tn_module_parameter(m, "weight"), 1 / sqrt(784));
    expect_uniform(tn_module_parameter(m, "bias"), 1 / sqrt(784));
    assert_int_equal(tn_tensor_size(tn_module_parameter(m, "bias"), 0), 500);
    tn_manual_seed(1);
    tn_module *again = BUILT(tn_nn_linear(784, 500)); /* the same seed, the same numbers */
    assert_true(tn_equal(tn_module_parameter(m, "weight"), tn_module_parameter(again, "weight")));
    tn_module *next = BUILT(tn_nn_linear(784, 500));
    assert_false(tn_equal(tn_module_parameter(m, "weight"), tn_module_parameter(next, "weight")));
    tn_scope_close(scope);
}

static void distributions(void **state)
{
    (void)state;
    tn_scope *scope = tn_scope_open();
    tn_manual_seed(2);
    tn_tensor *t = tn_empty(TN_SHAPE(300, 200), .requires_grad = true); /* fan_in 200, fan_out 300 */
    tn_tensor *k = tn_empty(TN_SHAPE(40, 20, 5, 5));                    /* fan_in 500, fan_out 1000 */
    assert_ptr_equal(tn_init_uniform_(t, -0.3, 0.3), t);
    expect_uniform(t, 0.3);
    assert_ptr_equal(tn_init_normal_(t, 0, 0.2), t);
    expect_normal(t, 0.2);
    expect_uniform(tn_init_xavier_uniform_(t), sqrt(6.0 / 500));
    expect_uniform(tn_init_xavier_uniform_(t, .gain = 2), 2 * sqrt(6.0 / 500));
    expect_normal(tn_init_xavier_normal_(t), sqrt(2.0 / 500));
    expect_normal(tn_init_xavier_normal_(k, .gain = 0.5), 0.5 * sqrt(2.0 / 1500));
    assert_null(tn_init_xavier_uniform_(t, .gain = NAN));
    assert_non_null(strstr(tn_error_message(), "tn_init_xavier_uniform_: the gain is NaN"));
    assert_null(tn_init_kaiming_normal_(t, .a = NAN));
    tn_error_clear();
    expect_uniform(tn_init_kaiming_uniform_(t), sqrt(2) * sqrt(3.0 / 200));
    expect_uniform(tn_init_kaiming_uniform_(t, .a = sqrt(5)), 1 / sqrt(200));
    expect_uniform(tn_init_kaiming_uniform_(t, .fan_out = true, .nonlinearity = TN_GAIN_RELU),
                   sqrt(2) * sqrt(3.0 / 300));
    expect_uniform(tn_init_kaiming_uniform_(k, .nonlinearity = TN_GAIN_TANH), 5.0 / 3 * sqrt(3.0 / 500));
    expect_normal(tn_init_kaiming_normal_(t, .nonlinearity = TN_GAIN_LINEAR), 1 / sqrt(200));
    expect_normal(tn_init_kaiming_normal_(k, .fan_out = true, .nonlinearity = TN_GAIN_SELU), 0.75 / sqrt(1000));
    assert_true(fabs(tn_init_xavier_std(k, 0.5) - 0.5 * sqrt(2.0 / 1500)) < 1e-15 && tn_init_xavier_std(t, 0) == 0);
    assert_true(fabs(tn_init_kaiming_std(k, 3, true) - 3 / sqrt(1000)) < 1e-15);
    assert_true(fabs(tn_init_xavier_bound(k, 0.5) - 0.5 * sqrt(6.0 / 1500)) < 1e-15);
    assert_true(fabs(tn_init_kaiming_bound(k, 3, false) - 3 * sqrt(3.0 / 500)) < 1e-15);
    double in, out;
    assert_true(tn_init_fans(k, &in, &out) && in == 500 && out == 1000);
    assert_ptr_equal(tn_init_trunc_normal_(t, 1, 2, -1, 3), t);
    assert_true(tn_item(tn_amin(t)) >= -1 && tn_item(tn_amax(t)) <= 3 && fabs(tn_item(tn_mean(t)) - 1) < 0.02);
    /* one deviation to each side: variance 1 - 2 phi(1) / (2 Phi(1) - 1) of the full one */
    assert_true(fabs(tn_item(tn_std(t)) - 2 * sqrt(1 - 2 * exp(-0.5) / sqrt(2 * acos(-1)) / erf(sqrt(0.5)))) < 0.02);
    assert_ptr_equal(tn_init_trunc_normal_(t, 0, 0.01, 1, 2), t); /* nothing is drawn there: uniform, next to 1 */
    assert_true(tn_item(tn_amin(t)) >= 1 && tn_item(tn_amax(t)) <= 1.01 + 1e-6);
    assert_true(tn_tensor_requires_grad(t) && tn_tensor_is_leaf(t) && tn_is_grad_enabled());
    PRINTS(values(tn_init_constant_(tn_empty(TN_SHAPE(2), .requires_grad = true), 2.5)), "tensor([2.5000, 2.5000])");
    PRINTS(tn_init_constant_(tn_empty(TN_SHAPE(2), .dtype = TN_I64), 7), "tensor([7, 7])");
    PRINTS(tn_init_zeros_(tn_empty(TN_SHAPE(2))), "tensor([0., 0.])");
    PRINTS(tn_init_ones_(tn_empty(TN_SHAPE(2))), "tensor([1., 1.])");
    PRINTS(values(tn_init_eye_(tn_ones(TN_SHAPE(2, 3), .requires_grad = true))),
           "tensor([[1., 0., 0.],\n        [0., 1., 0.]])");
    PRINTS(tn_init_eye_(tn_transpose(tn_ones(TN_SHAPE(2, 3), .dtype = TN_I64), 0, 1)),
           "tensor([[1, 0],\n        [0, 1],\n        [0, 0]])");
    tn_scope_close(scope);
}

/* torch.nn.init.calculate_gain */
static void gains(void **state)
{
    (void)state;
    NEAR(tn_init_gain(TN_GAIN_LEAKY_RELU, 0.2), 1.3867504905630728, 1e-15);
    NEAR(tn_init_gain(TN_GAIN_LEAKY_RELU, 0), 1.4142135623730951, 1e-15);
    NEAR(tn_init_gain(TN_GAIN_LINEAR, 0), 1, 0);
    NEAR(tn_init_gain(TN_GAIN_SIGMOID, 0), 1, 0);
    NEAR(tn_init_gain(TN_GAIN_TANH, 0), 1.6666666666666667, 1e-15);
    NEAR(tn_init_gain(TN_GAIN_RELU, 0), 1.4142135623730951, 1e-15);
    NEAR(tn_init_gain(TN_GAIN_SELU, 0), 0.75, 0);
    assert_true(isnan(tn_init_gain(17, 0)));
    FAILS(NULL, TN_EVALUE, "Unsupported nonlinearity 17");
}

static void bad_initial_values(void **state)
{
    (void)state;
    tn_scope *scope = tn_scope_open();
    tn_tensor *t = tn_ones(TN_SHAPE(3)), *empty = tn_ones(TN_SHAPE(0, 3)),
              *whole = tn_ones(TN_SHAPE(2, 2), .dtype = TN_I64);
    const char *fewer = "Fan in and fan out can not be computed for tensor with fewer than 2 dimensions";
    FAILS(tn_init_xavier_uniform_(t), TN_EVALUE, fewer);
    FAILS(tn_init_xavier_normal_(t), TN_EVALUE, fewer);
    FAILS(tn_init_kaiming_uniform_(t), TN_EVALUE, fewer);
    FAILS(tn_init_kaiming_normal_(t), TN_EVALUE, "test_nn_layers.c:");
    FAILS(tn_init_kaiming_normal_(TN_NONE), TN_EVALUE, fewer);
    FAILS(tn_init_kaiming_normal_(NULL), TN_EINVAL, "tn_init_kaiming_normal_: an operand is NULL");
    FAILS(tn_init_kaiming_normal_(whole, .nonlinearity = -1), TN_EVALUE, "Unsupported nonlinearity -1");
    FAILS(tn_init_xavier_uniform_(whole), TN_EDTYPE, "not implemented for 'Long'");
    FAILS(tn_init_uniform_(t, 2, 1), TN_EINVAL,
          "uniform_ expects to return a [from, to) range, but found from=2 > to=1");
    FAILS(tn_init_normal_(t, 0, -1), TN_EINVAL, "normal expects std >= 0.0, but found std -1");
    FAILS(tn_init_uniform_(NULL, 0, 1), TN_EINVAL, "an operand is NULL");
    FAILS(tn_init_eye_(t), TN_EVALUE, "Only tensors with 2 dimensions are supported");
    FAILS(tn_init_eye_(NULL), TN_EINVAL, "an operand is NULL");
    double in, out;
    assert_true(isnan(tn_init_xavier_bound(t, 1)) && !tn_init_fans(t, &in, &out));
    FAILS(NULL, TN_EVALUE, fewer);
    assert_ptr_equal(tn_init_xavier_uniform_(empty), empty);
    assert_ptr_equal(tn_init_kaiming_normal_(empty), empty);
    assert_true(tn_is_grad_enabled());
    tn_scope_close(scope);
}

int main(void)
{
    setenv("TENON_NO_CACHE", "1", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prints_as_torch_does),
        cmocka_unit_test(own_descriptions),
        cmocka_unit_test(linear_shapes),
        cmocka_unit_test(flatten),
        cmocka_unit_test(dropout),
        cmocka_unit_test(activations),
        cmocka_unit_test(linear_begins_as_torch_does),
        cmocka_unit_test(distributions),
        cmocka_unit_test(gains),
        cmocka_unit_test(bad_initial_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
