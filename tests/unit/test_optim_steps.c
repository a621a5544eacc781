/* Optimisers against torch.optim: ten steps of each, every option; what bad input gets; what a step leaves alone. */
#include "nn_check.h"

enum { STEPS = 10, VALUES = 3 };
typedef enum kind { KIND_SGD, KIND_ADAM, KIND_ADAMW } kind;

typedef struct row {
    kind kind;
    const char *name;
    double lr;
    bool missing, falls; /* every third step the bias has no gradient; the rate halves every third step */
    tn_sgd_options sgd;
    tn_adam_options adam;
    double value[STEPS * VALUES];
} row;

#define OPTIONS(...) __VA_ARGS__
#define SGD(name, lr, missing, falls, o, ...) \
    {KIND_SGD, name, lr, missing, falls, .sgd = OPTIONS o, .value = {__VA_ARGS__}},
#define ADAM(name, lr, missing, falls, o, ...) \
    {KIND_ADAM, name, lr, missing, falls, .adam = OPTIONS o, .value = {__VA_ARGS__}},
#define ADAMW(name, lr, missing, falls, o, ...) \
    {KIND_ADAMW, name, lr, missing, falls, .adam = OPTIONS o, .value = {__VA_ARGS__}},
static const row rows[] = {
#include "optim_golden.inc.h"
};

static tn_optimizer *make(const row *r, tn_params params)
{
    tn_sgd_options sgd = r->sgd;
    tn_adam_options adam = r->adam;
    sgd.struct_size = sizeof sgd;
    adam.struct_size = sizeof adam;
    if (r->kind == KIND_SGD)
        return tn_sgd_opt(params, r->lr, &sgd);
    return r->kind == KIND_ADAM ? tn_adam_opt(params, r->lr, &adam) : tn_adamw_opt(params, r->lr, &adam);
}

static tn_module *regression(tn_dtype dtype)
{
    tn_module *net = tn_nn_linear(2, 1, .dtype = dtype);
    OK(tn_module_load_state(net,
                            ((tn_named[]){{"weight", tn_tensor_from(TN_LIST(0.5, -0.25), .shape = TN_SHAPE(1, 2))},
                                          {"bias", tn_tensor_from(TN_LIST(0.1), .dtype = TN_F64)}}),
                            2));
    return net;
}

/* The gradients of one step. */
static void backward(tn_module *net, tn_dtype dtype)
{
    static const double x[] = {1, 2, 3, -1, 0.5, 0.25, -2, 1}, y[] = {1, -1, 2, 0.5};
    tn_scope *scope = tn_scope_open();
    tn_tensor *out = tn_forward(net, tn_tensor_from(TN_ARRAY(x), .shape = TN_SHAPE(4, 2), .dtype = dtype));
    tn_tensor *target = tn_tensor_from(TN_ARRAY(y), .shape = TN_SHAPE(4, 1), .dtype = dtype);
    OK(tn_backward(MADE(tn_mse_loss(out, target))));
    tn_scope_close(scope);
}

static void one_step(const row *r, tn_module *net, tn_optimizer *opt, tn_dtype dtype, int k)
{
    if (r->falls)
        OK(tn_optimizer_set_lr(opt, tn_lr_step(r->lr, k, 3, 0.5)));
    tn_optimizer_zero_grad(opt);
    backward(net, dtype);
    if (r->missing && k % 3 == 1)
        OK(tn_tensor_set_grad(tn_module_parameter(net, "bias"), TN_NONE));
    OK(tn_optimizer_step(opt));
}

static double value_of(tn_module *net, int i)
{
    return element(tn_module_parameter(net, i < 2 ? "weight" : "bias"), i < 2 ? i : 0);
}

static void follow(const row *r, tn_dtype dtype, double tolerance)
{
    tn_scope *scope = tn_scope_open();
    tn_module *net = regression(dtype);
    tn_optimizer *opt = make(r, TN_PARAMS(net));
    check_ok_(opt != NULL, r->name, __FILE__, __LINE__);
    for (int k = 0; k < STEPS; k++) {
        one_step(r, net, opt, dtype, k);
        for (int i = 0; i < VALUES; i++) {
            double want = r->value[k * VALUES + i], got = value_of(net, i);
            if (!(fabs(got - want) <= tolerance * (1 + fabs(want)))) {
                print_error("%s, %s, step %d, value %d: expected %.17g, got %.17g\n", r->name, tn_dtype_name(dtype), k,
                            i, want, got);
                fail();
            }
        }
    }
    tn_optimizer_free(opt);
    tn_scope_close(scope);
}

static void agrees_with_torch_in_float64(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        follow(&rows[i], TN_F64, 1e-13);
    print_message("%zu optimiser configurations, %zu values\n", sizeof rows / sizeof *rows,
                  sizeof rows / sizeof *rows * STEPS * VALUES);
}

static void agrees_with_torch_in_float32(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        follow(&rows[i], TN_F32,
               strcmp(rows[i].name, "no beta2") ? 4e-6 : 1e-4); /* that divides by what may be near 0 */
}

/* 16-bit parameters are updated in float32 and rounded once: 1 - 0.5 * 0.25 and so on, exact in both. */
static void half_parameters(void **state)
{
    (void)state;
    const tn_dtype dtypes[] = {TN_F16, TN_BF16};
    for (int i = 0; i < 2; i++) {
        tn_scope *scope = tn_scope_open();
        tn_tensor *p = tn_ones(TN_SHAPE(2), .dtype = dtypes[i], .requires_grad = true);
        tn_optimizer *opt = tn_sgd(TN_TENSORS(p), 0.5, .momentum = 0.5);
        OK(tn_tensor_set_grad(p, tn_full_like(p, 0.25)));
        OK(tn_optimizer_step(opt));
        NEAR(element(p, 1), 0.875, 0);
        OK(tn_optimizer_step(opt)); /* buffer 0.375 */
        NEAR(element(p, 1), 0.6875, 0);
        tn_optimizer_free(opt);
        opt = tn_adam(TN_TENSORS(p), 0.5);
        OK(tn_optimizer_step(opt)); /* the first step of Adam is lr * sign */
        NEAR(element(p, 0), 0.1875, 1e-3);
        tn_optimizer_free(opt);
        tn_scope_close(scope);
    }
}

/* A transposed parameter, its state laid out like it, and a gradient laid out otherwise. */
static void strided_parameters(void **state)
{
    (void)state;
    tn_scope *scope = tn_scope_open();
    tn_tensor *p = tn_requires_grad_(MADE(tn_t(tn_reshape(tn_arange(0, 6, 1, .dtype = TN_F32), TN_SHAPE(2, 3)))), true);
    tn_tensor *g = MADE(tn_reshape(tn_arange(1, 7, 1, .dtype = TN_F32), TN_SHAPE(3, 2)));
    OK(tn_tensor_set_grad(p, g));
    tn_optimizer *opt = tn_sgd(TN_TENSORS(p), 1, .momentum = 0.5);
    OK(tn_optimizer_step(opt));
    OK(tn_optimizer_step(opt));
    PRINTS(values(p), "tensor([[ -2.5000,  -2.0000],\n        [ -6.5000,  -6.0000],\n        [-10.5000, -10.0000]])");
    tn_named s[2];
    assert_int_equal(tn_optimizer_state(opt, s, 2), 1);
    assert_string_equal(s[0].name, "0.momentum_buffer");
    assert_int_equal(tn_tensor_stride(s[0].tensor).dim[0], 1);
    assert_int_equal(tn_tensor_stride(s[0].tensor).dim[1], 3);
    PRINTS(s[0].tensor, "tensor([[1.5000, 3.0000],\n        [4.5000, 6.0000],\n        [7.5000, 9.0000]])");
    tn_optimizer_free(opt);
    tn_scope_close(scope);
}

static void parameters_without_gradient_stay(void **state)
{
    (void)state;
    tn_scope *scope = tn_scope_open();
    tn_tensor *a = tn_ones(TN_SHAPE(2), .requires_grad = true), *b = tn_ones(TN_SHAPE(3), .requires_grad = true);
    tn_optimizer *opt = tn_adamw(TN_TENSORS(a, b), 0.1, .weight_decay = 0.5);
    OK(tn_optimizer_step(opt));
    assert_int_equal(tn_optimizer_state(opt, NULL, 0), 0);
    OK(tn_tensor_set_grad(a, tn_ones(TN_SHAPE(2))));
    OK(tn_optimizer_step(opt));
    assert_int_equal(tn_optimizer_state(opt, NULL, 0), 3);
    PRINTS(values(b), "tensor([1., 1., 1.])");
    assert_true(element(a, 0) < 0.9);
    tn_optimizer_zero_grad(opt);
    assert_null(tn_tensor_grad(a));
    tn_optimizer_free(opt);
    tn_optimizer_free(NULL);
    tn_scope_close(scope);
}

/* A step is not recorded, marks the parameter as written, and leaves the gradient as it is. */
static void a_step_is_no_part_of_a_graph(void **state)
{
    (void)state;
    tn_scope *scope = tn_scope_open();
    tn_tensor *p = tn_ones(TN_SHAPE(2), .requires_grad = true), *x = tn_ones(TN_SHAPE(2), .requires_grad = true);
    tn_optimizer *opt = tn_adam(TN_TENSORS(p), 0.1);
    OK(tn_tensor_set_grad(p, tn_ones(TN_SHAPE(2))));
    tn_tensor *loss = MADE(tn_sum(tn_mul(p, x))); /* saves p */
    uint32_t version = tn_tensor_version(p);
    OK(tn_optimizer_step(opt));
    assert_true(tn_tensor_version(p) > version);
    assert_true(tn_tensor_is_leaf(p) && tn_tensor_requires_grad(p) && tn_is_grad_enabled());
    FAILS_STATUS(tn_backward(loss), TN_EGRAD,
                 "one of the variables needed for gradient computation has been modified by an "
                 "inplace operation");
    tn_named s[3];
    assert_int_equal(tn_optimizer_state(opt, s, 3), 3);
    for (int i = 0; i < 3; i++)
        assert_false(tn_tensor_requires_grad(s[i].tensor));
    PRINTS(tn_tensor_grad(p), "tensor([1., 1.])");
    tn_tensor *old = MADE(tn_sum(tn_mul(x, s[1].tensor))); /* state in a graph: its overwriting is noticed too */
    OK(tn_optimizer_step(opt));
    FAILS_STATUS(tn_backward(old), TN_EGRAD, "modified by an inplace operation");
    tn_optimizer_free(opt);
    tn_scope_close(scope);
}

static void a_later_step_allocates_nothing(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tn_scope *scope = tn_scope_open();
        tn_module *net = regression(TN_F64);
        tn_optimizer *opt = make(&rows[i], TN_PARAMS(net));
        backward(net, TN_F64);
        OK(tn_optimizer_step(opt));
        int64_t doors = tn__door_count(),
                tensors = tn_live_tensors(); /* TENON_NO_CACHE: every request passes the door */
        for (int k = 0; k < 5; k++)
            OK(tn_optimizer_step(opt));
        assert_int_equal(tn__door_count(), doors);
        assert_int_equal(tn_live_tensors(), tensors);
        tn_optimizer_free(opt);
        tn_scope_close(scope);
    }
}

static void nothing_leaks(void **state)
{
    (void)state;
    int64_t tensors = tn_live_tensors(), blocks = tn__door_live();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        follow(&rows[i], TN_F64, 1e-13);
    assert_int_equal(tn_live_tensors(), tensors);
    assert_int_equal(tn__door_live(), blocks);
}

/* An optimiser keeps its parameters alive by itself. */
static void holds_its_parameters(void **state)
{
    (void)state;
    int64_t tensors = tn_live_tensors();
    tn_scope *scope = tn_scope_open();
    tn_optimizer *opt = tn_sgd(tn_nn_linear(2, 1), 0.1);
    tn_scope_close(scope);
    assert_int_equal(tn_live_tensors(), tensors + 2);
    OK(tn_optimizer_step(opt));
    tn_optimizer_free(opt);
    assert_int_equal(tn_live_tensors(), tensors);
}

/* The texts are torch 2.14.1's, but for numbers that Python prints as they were given. */
static void bad_input(void **state)
{
    (void)state;
    tn_scope *scope = tn_scope_open();
    tn_tensor *p = tn_ones(TN_SHAPE(2), .requires_grad = true);
    const tn_tensors ps = TN_TENSORS(p), none = {NULL, 0};
    FAILS(tn_sgd(none, 0.1), TN_EVALUE, "optimizer got an empty parameter list");
    FAILS(tn_sgd(tn_nn_relu(), 0.1), TN_EVALUE, "optimizer got an empty parameter list");
    FAILS(tn_sgd(ps, -1.5), TN_EVALUE, "Invalid learning rate: -1.5");
    FAILS(tn_sgd(ps, (double)NAN), TN_EVALUE, "Invalid learning rate: nan");
    FAILS(tn_sgd(ps, 0.1, .momentum = -0.5), TN_EVALUE, "Invalid momentum value: -0.5");
    FAILS(tn_sgd(ps, 0.1, .weight_decay = -0.5), TN_EVALUE, "Invalid weight_decay value: -0.5");
    FAILS(tn_sgd(ps, 0.1, .nesterov = true), TN_EVALUE, "Nesterov momentum requires a momentum and zero dampening");
    FAILS(tn_sgd(ps, 0.1, .nesterov = true, .momentum = 0.9, .dampening = 0.1), TN_EVALUE,
          "Nesterov momentum requires a momentum and zero dampening");
    FAILS(tn_sgd(TN_TENSORS(tn_mul(p, 2)), 0.1), TN_EVALUE, "can't optimize a non-leaf Tensor");
    FAILS(tn_sgd(TN_TENSORS(p, p), 0.1), TN_EVALUE, "optimizer contains a parameter group with duplicate parameters");
    FAILS(tn_adam(ps, -1), TN_EVALUE, "Invalid learning rate: -1.0");
    FAILS(tn_adam(ps, 0.1, .beta1 = 1), TN_EVALUE, "Invalid beta parameter at index 0: 1.0");
    FAILS(tn_adamw(ps, 0.1, .beta2 = -0.1), TN_EVALUE, "Invalid beta parameter at index 1: -0.1");
    FAILS(tn_adam(ps, 0.1, .eps = -1), TN_EVALUE, "Invalid epsilon value: -1.0");
    FAILS(tn_adamw(ps, 0.1, .weight_decay = -1), TN_EVALUE, "Invalid weight_decay value: -1.0");
    FAILS(tn_adam(ps, -1), TN_EVALUE, "test_optim_steps.c:");
    FAILS(tn_sgd(TN_TENSORS(p, TN_NONE), 0.1), TN_ETYPE, "parameter 1 is TN_NONE");
    FAILS(tn_sgd(TN_TENSORS(tn_add(p, tn_ones(TN_SHAPE(3)))), 0.1), TN_EINVAL, "The size of tensor a (2)");
    FAILS(tn_sgd((tn_module *)NULL, 0.1), TN_EINVAL, "no failed call is on record");
    FAILS_STATUS(tn_optimizer_step(NULL), TN_EINVAL, "tn_optimizer_step: an operand is NULL");
    FAILS_STATUS(tn_optimizer_set_lr(NULL, 1), TN_EINVAL, "tn_optimizer_set_lr: an operand is NULL");
    assert_int_equal(tn_optimizer_state(NULL, NULL, 0), 0);
    assert_int_equal(tn_error_code(), TN_EINVAL);
    tn_error_clear();
    assert_true(isnan(tn_optimizer_lr(NULL)));
    tn_optimizer *opt = tn_sgd(ps, 0.1);
    FAILS_STATUS(tn_optimizer_set_lr(opt, -2), TN_EVALUE, "Invalid learning rate: -2.0");
    NEAR(tn_optimizer_lr(opt), 0.1, 0);
    OK(tn_optimizer_set_lr(opt, 0));
    NEAR(tn_optimizer_lr(opt), 0, 0);
    tn_optimizer_free(opt);
    tn_scope_close(scope);
}

/* State made on one device, parameters moved to another: an error before anything is written. */
static void moved_parameters(void **state)
{
    (void)state;
    tn_scope *scope = tn_scope_open();
    tn_module *net = tn_nn_linear(2, 1);
    tn_optimizer *opt = tn_adam(net, 0.1), *early = tn_sgd(net, 0.1);
    tn_tensor *w = tn_module_parameter(net, "weight");
    OK(tn_backward(tn_sum(tn_forward(net, tn_ones(TN_SHAPE(1, 2))))));
    OK(tn_optimizer_step(opt));
    assert_non_null(tn_module_to(net, TN_META));
    FAILS_STATUS(tn_optimizer_step(opt), TN_EDEVICE,
                 "Expected all tensors to be on the same device, but found at least two "
                 "devices, meta and cpu!");
    OK(tn_optimizer_step(early)); /* one without state does not mind */
    assert_ptr_equal(tn_module_parameter(net, "weight"), w);
    tn_optimizer_free(opt);
    tn_optimizer_free(early);
    tn_scope_close(scope);
}

/* torch.optim.lr_scheduler's CosineAnnealingLR(T_max=10, eta_min=0.01) and StepLR(step_size=3, gamma=0.5), lr 0.1. */
static void rates(void **state)
{
    (void)state;
    static const double cosine[] = {
        0.1,   0.097797543233281922, 0.091405764746872634, 0.081450336353161299, 0.068905764746872623,
        0.055, 0.041094235253127377, 0.028549663646838711, 0.018594235253127367, 0.012202456766718092,
        0.01};
    for (int i = 0; i <= 10; i++)
        NEAR(tn_lr_cosine(0.1, i, 10, 0.01), cosine[i], 1e-16);
    NEAR(tn_lr_cosine(0.1, 11, 10, 0.01), 0.01, 0);
    NEAR(tn_lr_cosine(0.1, -1, 10, 0.01), 0.1, 0);
    NEAR(tn_lr_cosine(0.1, 0, 0, 0.01), 0.01, 0);
    static const double steps[] = {0.1, 0.1, 0.1, 0.05, 0.05, 0.05, 0.025};
    for (int i = 0; i < 7; i++)
        NEAR(tn_lr_step(0.1, i, 3, 0.5), steps[i], 1e-17);
    NEAR(tn_lr_step(0.1, 5, 0, 0.5), 0.1, 0);
}

/* What a step cannot write to is found before the first parameter has changed. */
static void parameters_that_cannot_be_written(void **state)
{
    (void)state;
    static float mapped[2] = {5, 6};
    tn_scope *scope = tn_scope_open();
    tn_tensor *bad[] = {MADE(tn_from_data(mapped, TN_F32, TN_SHAPE(2), .read_only = true)),
                        MADE(tn_expand(tn_ones(TN_SHAPE(1)), TN_SHAPE(2)))};
    const char *why[] = {"parameter 1 shows read-only memory", "elements of parameter 1 share memory"};
    for (int i = 0; i < 2; i++) {
        tn_tensor *p = MADE(tn_ones(TN_SHAPE(2), .requires_grad = true)), *q = MADE(tn_requires_grad_(bad[i], true));
        tn_optimizer *opt = tn_sgd(TN_TENSORS(p, q), 1);
        OK(tn_tensor_set_grad(p, tn_ones(TN_SHAPE(2))));
        OK(tn_optimizer_step(opt)); /* without a gradient it is not written */
        OK(tn_tensor_set_grad(q, tn_ones(TN_SHAPE(2))));
        FAILS_STATUS(tn_optimizer_step(opt), TN_EINVAL, why[i]);
        NEAR(element(p, 0), 0, 0);
        tn_optimizer_free(opt);
    }
    tn_scope_close(scope);
}

int main(void)
{
    setenv("TENON_NO_CACHE", "1", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_torch_in_float64),
        cmocka_unit_test(agrees_with_torch_in_float32),
        cmocka_unit_test(half_parameters),
        cmocka_unit_test(strided_parameters),
        cmocka_unit_test(parameters_without_gradient_stay),
        cmocka_unit_test(a_step_is_no_part_of_a_graph),
        cmocka_unit_test(a_later_step_allocates_nothing),
        cmocka_unit_test(nothing_leaks),
        cmocka_unit_test(holds_its_parameters),
        cmocka_unit_test(bad_input),
        cmocka_unit_test(parameters_that_cannot_be_written),
        cmocka_unit_test(moved_parameters),
        cmocka_unit_test(rates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
