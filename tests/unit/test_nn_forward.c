/* Running modules: values, who owns results, how much memory it takes, several threads at once. */
#include "nn_check.h"
#include <pthread.h>

/* ---- values: torch 2.14.1, float64, parameters ((37 k + 11) mod 29 - 14) / 16 in order ---- */

static tn_module *known_net(void)
{
    tn_named p[4];
    tn_module *net = BUILT(tn_nn_sequential(tn_nn_linear(3, 4, .dtype = TN_F64), tn_nn_relu(),
                                            tn_nn_linear(4, 2, .dtype = TN_F64), tn_nn_tanh()));
    int k = 0;
    assert_int_equal(tn_module_state(net, p, 4), 4);
    for (int i = 0; i < 4; i++) {
        double *data = tn_data(p[i].tensor);
        for (int64_t j = 0; j < tn_tensor_numel(p[i].tensor); j++, k++)
            data[j] = ((k * 37 + 11) % 29 - 14) / 16.0;
    }
    return net;
}

static void expect(tn_tensor *t, const double *want, int n)
{
    assert_int_equal(tn_tensor_numel(t), n);
    for (int i = 0; i < n; i++)
        NEAR(element(t, i), want[i], 2e-9);
}

static void agrees_with_torch(void **state)
{
    (void)state;
    static const double y[] = {-0.695935517, 0.120505307, -0.668273686, -0.173992859};
    static const double w0[] = {-0.167286611,  -2.00743934, 0.669146445,  0.59085383, 1.42425396, -0.542203605, 0, 0, 0,
                                -0.0755268784, 0.151053757, -0.0377634392};
    static const double b0[] = {-0.669146445, 1.14927418, 0, -0.0755268784};
    static const double w2[] = {-0.33515801, -0.633509367, 0, -1.39064327, -0.15290747, 0.0640814904, 0, 0.460177121};
    static const double b2[] = {-1.45741042, -0.0999401962};
    static const double gx[] = {-0.254281586, 0.047204299, 0.211797717, -0.246815272, -0.209108264, -0.171401256};
    tn_scope *scope = tn_scope_open();
    tn_module *net = known_net();
    tn_tensor *x = tn_tensor_from(TN_LIST(1, -2, 0.5, 0.25, 3, -1), .shape = TN_SHAPE(2, 3), .dtype = TN_F64,
                                  .requires_grad = true);
    tn_tensor *out = MADE(tn_forward(net, x));
    expect(out, y, 4);
    OK(tn_backward(tn_sum(tn_square(out))));
    expect(tn_tensor_grad(tn_module_parameter(net, "0.weight")), w0, 12);
    expect(tn_tensor_grad(tn_module_parameter(net, "0.bias")), b0, 4);
    expect(tn_tensor_grad(tn_module_parameter(net, "2.weight")), w2, 8);
    expect(tn_tensor_grad(tn_module_parameter(net, "2.bias")), b2, 2);
    expect(tn_tensor_grad(x), gx, 6);
    tn_scope_close(scope);
}

/* ---- own modules that do unusual things ---- */

typedef enum oddity {
    GIVES_ARGUMENT,
    GIVES_PARAMETER,
    GIVES_NULL,
    GIVES_NONE,
    FAILS_INSIDE,
    LEAVES_SCOPES_OPEN,
    CLOSES_OUTER_SCOPE,
    GIVES_VIEW,
    MAKES_MANY,
    GIVES_GRADIENT,
    RECORDS_ITS_TRAINING
} oddity;

typedef struct odd {
    oddity what;
    tn_scope *outer;
    bool training;
} odd;

static tn_tensor *odd_forward(tn_module *self, tn_tensor *x)
{
    odd *o = tn_module_context(self);
    tn_tensor *t = x;
    switch (o->what) {
    case GIVES_ARGUMENT: return x;
    case GIVES_PARAMETER: return tn_module_parameter(self, "p");
    case GIVES_NULL: return NULL;
    case GIVES_NONE: return TN_NONE;
    case FAILS_INSIDE: return tn_add(x, tn_ones(TN_SHAPE(77)));
    case LEAVES_SCOPES_OPEN:
        tn_scope_open();
        t = tn_add(x, 1);
        tn_scope_open();
        tn_mul(t, 2);
        return t;
    case CLOSES_OUTER_SCOPE:
        t = tn_add(x, 1);
        tn_scope_close(o->outer);
        return t;
    case GIVES_VIEW: return tn_select(x, 0, 0);
    case MAKES_MANY:
        for (int i = 0; i < 10; i++)
            t = tn_add(t, 1);
        return t;
    case GIVES_GRADIENT: /* lent by a tensor that dies with this call */
        t = tn_ones(TN_SHAPE(2), .requires_grad = true);
        return tn_backward(tn_sum(tn_mul(t, 3))) ? NULL : tn_tensor_grad(t);
    case RECORDS_ITS_TRAINING: o->training = tn_module_is_training(self); return tn_neg(x);
    }
    return NULL;
}

static const tn_module_class odd_class = {.struct_size = sizeof odd_class, .name = "Odd", .forward = odd_forward};

static tn_module *odd_module(odd *o)
{
    return BUILT(tn_module_new(&odd_class, o));
}

/* Results with and without a scope outside: nothing leaks, nothing is released twice, each result is the caller's. */
static void results_belong_outside(void **state)
{
    (void)state;
    static const struct {
        oddity what;
        const char *text;
    } cases[] = {{GIVES_ARGUMENT, "tensor([1., 2.])"}, {LEAVES_SCOPES_OPEN, "tensor([2., 3.])"},
                 {GIVES_VIEW, "tensor(1.)"},           {MAKES_MANY, "tensor([11., 12.])"},
                 {GIVES_GRADIENT, "tensor([3., 3.])"}, {RECORDS_ITS_TRAINING, "tensor([-1., -2.])"},
                 {GIVES_PARAMETER, "tensor([5., 5.])"}};
    int64_t tensors = tn_live_tensors(), blocks = tn__door_live();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int in_scope = 0; in_scope < 2; in_scope++)
            for (int in_net = 0; in_net < 2; in_net++) {
                odd o = {.what = cases[i].what};
                tn_scope *home = tn_scope_open();
                tn_module *m = odd_module(&o);
                if (o.what == GIVES_PARAMETER)
                    tn_requires_grad_(tn_module_add_parameter(m, "p", tn_full(TN_SHAPE(2), 5.0)), false);
                if (in_net)
                    m = BUILT(tn_nn_sequential(tn_nn_identity(), m, tn_nn_identity()));
                tn_module_keep(m);
                tn_tensor *x = tn_keep(tn_tensor_from(TN_LIST(1.0, 2.0)));
                tn_scope_close(home);
                tn_scope *scope = in_scope ? tn_scope_open() : NULL;
                tn_tensor *y = tn_forward(m, x);
                PRINTS(MADE(y), cases[i].text);
                assert_true((y == x) == (cases[i].what == GIVES_ARGUMENT));
                tn_release(x);
                tn_module_release(m);
                PRINTS(y, cases[i].text); /* it stands by itself */
                if (in_scope)
                    tn_scope_close(scope);
                else
                    tn_release(y);
                assert_int_equal(tn_live_tensors(), tensors);
                assert_int_equal(tn__door_live(), blocks);
            }
}

static void what_fails(void **state)
{
    (void)state;
    int64_t tensors = tn_live_tensors(), blocks = tn__door_live();
    tn_scope *scope = tn_scope_open();
    odd o = {.what = GIVES_NULL, .outer = scope};
    tn_module *m = odd_module(&o),
              *net = BUILT(tn_nn_sequential(tn_nn_linear(2, 2), tn_nn_sequential(tn_nn_relu(), m)));
    tn_tensor *x = tn_ones(TN_SHAPE(1, 2));
    FAILS(tn_forward(m, x), TN_EINVAL, "the forward of Odd gave NULL, but no failed call is on record");
    o.what = GIVES_NONE;
    FAILS(tn_forward(m, x), TN_ETYPE, "the forward of Odd gave TN_NONE, not a tensor");
    o.what = FAILS_INSIDE;
    FAILS(tn_forward(net, x), TN_EINVAL, "The size of tensor a (2) must match the size of tensor b (77)");
    FAILS(tn_forward(net, x), TN_EINVAL, "\n  in (1): Odd()\n  in (1): Sequential");
    o.what = CLOSES_OUTER_SCOPE; /* is refused; the forward goes on */
    MADE(tn_forward(m, x));
    FAILS(NULL, TN_EINVAL, "the scope was opened outside the callback that is running");
    FAILS(tn_forward(net, tn_ones(TN_SHAPE(1, 3))), TN_EINVAL,
          "addmm: mat1 and mat2 shapes cannot be multiplied (1x3 and 2x2)");
    FAILS(tn_forward(net, tn_ones(TN_SHAPE(1, 3))), TN_EINVAL, "test_nn_forward.c:");
    FAILS(tn_forward(net, tn_ones(TN_SHAPE(1, 3))), TN_EINVAL,
          "\n  in (0): Linear(in_features=2, out_features=2, bias=True)");
    FAILS(tn_forward(net, tn_tensor_from(TN_LIST(1, 2))), TN_EDTYPE,
          "must have the same dtype, but got Long and Float");
    FAILS(tn_forward(NULL, x), TN_EINVAL, "tn_forward: an operand is NULL");
    FAILS(tn_forward(net, NULL), TN_EINVAL, "tn_forward: an operand is NULL");
    FAILS(tn_forward(net, tn_zeros(TN_SHAPE(-2))), TN_EINVAL, "negative dimension -2");
    FAILS(tn_forward(net, TN_NONE), TN_ETYPE, "the input of Sequential is TN_NONE");
    const tn_module_class silent = {.struct_size = sizeof silent, .name = "Module"};
    FAILS(tn_forward(tn_module_new(&silent, NULL), x), TN_EMISSING,
          "Module [Module] is missing the required \"forward\" function");
    tn_scope_close(scope);
    assert_int_equal(tn_live_tensors(), tensors);
    assert_int_equal(tn__door_live(), blocks);
}

/* An error after a user's forward names the place of tn_forward, not a line inside the callback. */
static void the_site_is_the_callers(void **state)
{
    (void)state;
    char here[64];
    tn_scope *scope = tn_scope_open();
    odd o = {.what = MAKES_MANY};
    tn_module *net = BUILT(tn_nn_sequential(odd_module(&o), tn_nn_linear(3, 3)));
    tn_tensor *x = tn_ones(TN_SHAPE(1, 2));
    snprintf(here, sizeof here, "test_nn_forward.c:%d", __LINE__ + 1);
    FAILS(tn_forward(net, x), TN_EINVAL, here);
    tn_scope_close(scope);
}

static void modes_reach_own_modules(void **state)
{
    (void)state;
    tn_scope *scope = tn_scope_open();
    odd o = {.what = RECORDS_ITS_TRAINING};
    tn_module *net = BUILT(tn_nn_sequential(odd_module(&o)));
    MADE(tn_forward(net, tn_ones(TN_SHAPE(1))));
    assert_true(o.training);
    tn_module_eval(net);
    MADE(tn_forward(net, tn_ones(TN_SHAPE(1))));
    assert_false(o.training);
    tn_scope_close(scope);
}

/* ---- memory: 50 layers of 256 x 160 floats, 160 KiB each ---- */

enum { BATCH = 256, WIDTH = 160, LAYERS = 50 };
static const int64_t activation = (int64_t)BATCH * WIDTH * 4;

static tn_module *deep_net(bool nested)
{
    tn_scope *scope = tn_scope_open();
    tn_module *layers[LAYERS], *part[5];
    for (int i = 0; i < LAYERS; i++)
        layers[i] = BUILT(tn_nn_linear(WIDTH, WIDTH));
    for (int i = 0; i < 5; i++)
        part[i] = BUILT(tn_nn_sequential_n(layers + i * (LAYERS / 5), LAYERS / 5));
    tn_module *net = tn_module_keep(nested ? tn_nn_sequential_n(part, 5) : tn_nn_sequential_n(layers, LAYERS));
    tn_scope_close(scope);
    return BUILT(net);
}

/* Activations beyond what there was before, at the peak of one forward, or of forward and backward. */
static double peak_of(tn_module *net, tn_tensor *x, bool scoped, bool backward)
{
    tn_reset_peak_memory_stats(TN_CPU);
    int64_t before = tn_memory_stats(TN_CPU).allocated;
    tn_scope *scope = scoped ? tn_scope_open() : NULL;
    tn_tensor *y = MADE(tn_forward(net, x));
    if (backward)
        OK(tn_backward(y, .gradient = x));
    double peak = (double)(tn_memory_stats(TN_CPU).allocated_peak - before) / (double)activation;
    if (scoped)
        tn_scope_close(scope);
    else
        tn_release(y);
    return peak;
}

static void peak_memory_of_fifty_layers(void **state)
{
    (void)state;
    tn_tensor *x = tn_rand(TN_SHAPE(BATCH, WIDTH));
    for (int nested = 0; nested < 2; nested++) {
        tn_module *net = deep_net(nested);
        for (int scoped = 0; scoped < 2; scoped++) {
            bool was = tn_set_grad_enabled(false);
            double quiet = peak_of(net, x, scoped, false);
            tn_set_grad_enabled(was);
            double recording = peak_of(net, x, scoped, false);
            double backward = peak_of(net, x, scoped, true);
            tn_module_zero_grad(net);
            print_message(
                "count: %s, %s scope: peak of a forward %.2f activations, recording %.2f, backward too %.2f\n",
                nested ? "nested" : "flat", scoped ? "open" : "no", quiet, recording, backward);
            assert_true(quiet <= 2.01); /* one layer's input and output: the minimum */
            assert_true(recording <= LAYERS + 0.01);
        }
        tn_module_release(net);
    }
    tn_release(x);
}

static void nothing_is_left_of_a_thousand_steps(void **state)
{
    (void)state;
    for (int scoped = 0; scoped < 2; scoped++) {
        int64_t tensors = tn_live_tensors(), blocks = tn__door_live();
        tn_scope *scope = tn_scope_open();
        tn_module *net =
            tn_module_keep(tn_nn_sequential(tn_nn_linear(4, 8), tn_nn_relu(), tn_nn_dropout(0.1), tn_nn_linear(8, 2)));
        tn_scope_close(scope);
        tn_optimizer *opt = tn_adam(net, 1e-3);
        for (int i = 0; i < 1000; i++) {
            scope = scoped ? tn_scope_open() : NULL;
            tn_tensor *x = MADE(tn_rand(TN_SHAPE(3, 4))), *y = MADE(tn_forward(net, x)), *loss = MADE(tn_mean(y));
            tn_optimizer_zero_grad(opt);
            OK(tn_backward(loss));
            OK(tn_optimizer_step(opt));
            if (scoped) {
                tn_scope_close(scope);
                continue;
            }
            tn_release(x);
            tn_release(y);
            tn_release(loss);
        }
        tn_optimizer_free(opt);
        tn_module_release(net);
        assert_int_equal(tn_live_tensors(), tensors);
        assert_int_equal(tn__door_live(), blocks);
    }
}

/* ---- threads ---- */

typedef struct crowd {
    tn_module *net;
    tn_tensor *x, *want;
    bool record;
    _Atomic int wrong;
} crowd;

static void *run_in_thread(void *arg)
{
    crowd *c = arg;
    tn_set_grad_enabled(c->record);
    for (int i = 0; i < 50; i++) {
        tn_scope *scope = i % 2 ? tn_scope_open() : NULL;
        tn_named names[4];
        tn_tensor *y = tn_forward(c->net, c->x);
        bool ok = y && tn_allclose(y, c->want, .rtol = TN_SCALAR(0), .atol = TN_SCALAR(0)) &&
                  tn_module_state(c->net, names, 4) == 4 && !strcmp(names[3].name, "4.bias") &&
                  tn_module_parameter(c->net, "4.bias") == names[3].tensor;
        if (!ok)
            atomic_fetch_add(&c->wrong, 1);
        if (i % 2)
            tn_scope_close(scope);
        else
            tn_release(y);
    }
    return NULL;
}

/* The flatten and the dropout give back their argument here, which all threads share. */
static void concurrent_forward_in_eval_mode(void **state)
{
    (void)state;
    for (int record = 0; record < 2; record++) {
        pthread_t thread[4];
        tn_scope *scope = tn_scope_open();
        crowd c = {.record = record};
        c.net = BUILT(tn_nn_sequential(tn_nn_flatten(), tn_nn_dropout(0.5), tn_nn_linear(16, 32), tn_nn_relu(),
                                       tn_nn_linear(32, 4)));
        tn_module_eval(c.net);
        c.x = tn_keep(tn_rand(TN_SHAPE(8, 16)));
        c.want = MADE(tn_forward(c.net, c.x));
        for (int i = 0; i < 4; i++)
            assert_int_equal(pthread_create(&thread[i], NULL, run_in_thread, &c), 0);
        for (int i = 0; i < 4; i++)
            pthread_join(thread[i], NULL);
        assert_int_equal(c.wrong, 0);
        tn_release(c.x);
        tn_scope_close(scope);
    }
}

int main(void)
{
    setenv("TENON_NO_CACHE", "1", 1);
    warm_up();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_torch),
        cmocka_unit_test(results_belong_outside),
        cmocka_unit_test(what_fails),
        cmocka_unit_test(the_site_is_the_callers),
        cmocka_unit_test(modes_reach_own_modules),
        cmocka_unit_test(peak_memory_of_fifty_layers),
        cmocka_unit_test(nothing_is_left_of_a_thousand_steps),
        cmocka_unit_test(concurrent_forward_in_eval_mode),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
