/* Optimisers of the user's and groups of parameters, beside torch.optim's of the same formulas; state; misuse. */
#include "nn_check.h"

/* ---- Adagrad: sum += g^2; p -= lr * g / (sqrt(sum) + eps) ---- */

typedef enum fault { NO_FAULT, SETS_AN_ERROR, SAYS_NOTHING, NESTED } fault;

typedef struct adagrad {
    double begin; /* of the sums */
    fault fault;
    int64_t at; /* the parameter */
    int calls, destroyed;
    int64_t seen[2]; /* the last 'step' of each parameter */
} adagrad;

static tn_status adagrad_create(tn_optimizer *self, tn_tensor *p, tn_tensor **state, size_t n)
{
    const adagrad *a = tn_optimizer_context(self);
    assert_int_equal(n, 1);
    assert_null(state[0]);
    state[0] = tn_full_like(p, a->begin);
    return state[0] ? TN_OK : tn_error_code();
}

static tn_status adagrad_step(tn_optimizer *self, const tn_update *u)
{
    adagrad *a = tn_optimizer_context(self);
    a->calls++;
    assert_false(tn_is_grad_enabled());
    if (a->fault && u->index == a->at) {
        if (a->fault == SETS_AN_ERROR)
            return (void)tn_load_npy("/no/such/file.npy"), tn_error_code();
        return a->fault == NESTED && tn_add_(u->parameter, tn_ones(TN_SHAPE(77))) ? TN_OK
               : a->fault == NESTED                                               ? tn_error_code()
                                                                                  : TN_EVALUE;
    }
    if (u->index < 2)
        a->seen[u->index] = u->step;
    tn_tensor *sum = tn_add_(u->state[0], tn_square(u->gradient));
    tn_tensor *by = tn_div(u->gradient, tn_add(tn_sqrt(sum), u->option[0]));
    return tn_sub_(u->parameter, tn_mul(by, u->lr)) ? TN_OK : tn_error_code();
}

static tn_status adagrad_step_all(tn_optimizer *self, const tn_update *const *u, size_t n)
{
    tn_status e = TN_OK;
    for (size_t i = 0; i < n && !e; i++)
        e = adagrad_step(self, u[i]);
    return e;
}

static void adagrad_destroy(void *ctx)
{
    ((adagrad *)ctx)->destroyed++;
}

static const tn_optimizer_class adagrad_class = {.struct_size = sizeof adagrad_class,
                                                 .name = "Adagrad",
                                                 .options = {{"eps", 1e-10}},
                                                 .states = {"sum"},
                                                 .create = adagrad_create,
                                                 .step = adagrad_step,
                                                 .destroy = adagrad_destroy};

static tn_optimizer_class adagrad_of(bool all)
{
    tn_optimizer_class c = adagrad_class;
    c.step = all ? NULL : adagrad_step;
    c.step_all = all ? adagrad_step_all : NULL;
    return c;
}

static tn_optimizer *there(tn_optimizer *opt)
{
    if (!opt)
        print_error("%s\n", tn_error_message());
    assert_non_null(opt);
    return opt;
}

/* p [2] and q [3], and their gradients of step k; from a script that used torch.optim with the same ones, in float64. */
typedef struct pair {
    tn_tensor *p, *q;
} pair;

static pair begin(void)
{
    static const double p[] = {1, -2}, q[] = {0.5, 0, 3};
    return (pair){MADE(tn_tensor_from(TN_ARRAY(p), .requires_grad = true)),
                  MADE(tn_tensor_from(TN_ARRAY(q), .requires_grad = true))};
}

static void give_gradients(pair x, int k)
{
    const double p[] = {0.5 * k - 1, 0.25 * k * k}, q[] = {1. - k, 0.1 * k, -0.3};
    tn_scope *s = tn_scope_open();
    OK(tn_tensor_set_grad(x.p, tn_tensor_from(TN_ARRAY(p))));
    OK(tn_tensor_set_grad(x.q, tn_tensor_from(TN_ARRAY(q))));
    tn_scope_close(s);
}

static void equals(pair x, const double *expected)
{
    for (int i = 0; i < 5; i++)
        NEAR(i < 2 ? element(x.p, i) : element(x.q, i - 2), expected[i], 1e-10);
}

/* Two groups; q has no gradient at step 2; the rates halve at step 4. */
static void adagrad_steps(tn_optimizer *opt, pair x, int from, int to)
{
    for (int k = from; k <= to; k++) {
        give_gradients(x, k);
        if (k == 2)
            OK(tn_tensor_set_grad(x.q, TN_NONE));
        for (int64_t g = 0; g < 2 && k == 4; g++)
            OK(tn_optimizer_set(opt, g, "lr", tn_optimizer_get(opt, g, "lr") / 2));
        OK(tn_optimizer_step(opt));
    }
}

static tn_optimizer *adagrad_for(pair x, adagrad *a, bool all)
{
    const tn_optimizer_class cls = adagrad_of(all); /* is copied */
    tn_optimizer *opt = there(tn_optimizer_new(&cls, TN_TENSORS(x.p), 0.1, .ctx = a));
    OK(tn_optimizer_add_group(opt, TN_TENSORS(x.q), TN_HYPERS({"lr", 0.2}, {"eps", 0.01})));
    return opt;
}

static const double after_3[] = {1.01996570303, -2.24494568823, 0.696575104089, -0.189766996324, 3.24584859773},
                    after_6[] = {0.906522162414, -2.36501200173, 0.92113294098, -0.378858327374, 3.37787428041},
                    sums[] = {7.85, 142.2875, 54.1, 0.97, 0.55};

static void as_torch_does(void **state)
{
    (void)state;
    for (int all = 0; all < 2; all++) {
        adagrad a = {.begin = 0.1};
        tn_scope *s = tn_scope_open();
        pair x = begin();
        tn_optimizer *opt = adagrad_for(x, &a, all);
        assert_int_equal(tn_optimizer_groups(opt), 2);
        assert_ptr_equal(tn_optimizer_context(opt), &a);
        NEAR(tn_optimizer_get(opt, 0, "eps"), 1e-10, 0);
        NEAR(tn_optimizer_get(opt, 1, "eps"), 0.01, 0);
        NEAR(tn_optimizer_lr(opt), 0.1, 0);
        assert_int_equal(tn_optimizer_state(opt, NULL, 0), 0);
        adagrad_steps(opt, x, 1, 3);
        equals(x, after_3);
        adagrad_steps(opt, x, 4, 6);
        equals(x, after_6);
        assert_int_equal(a.calls, 11);
        assert_int_equal(a.seen[0], 6);
        assert_int_equal(a.seen[1], 5);
        tn_named n[4];
        assert_int_equal(tn_optimizer_state(opt, n, 4), 4);
        assert_string_equal(n[0].name, "0.step");
        assert_string_equal(n[1].name, "0.sum");
        assert_string_equal(n[3].name, "1.sum");
        assert_int_equal(tn_item_int(n[2].tensor), 5);
        equals((pair){n[1].tensor, n[3].tensor}, sums);
        OK(tn_optimizer_set_lr(opt, 0.5)); /* in all groups */
        NEAR(tn_optimizer_get(opt, 1, "lr"), 0.5, 0);
        tn_optimizer_zero_grad(opt);
        OK(tn_optimizer_step(opt)); /* nothing to do */
        assert_int_equal(a.calls, 11);
        tn_optimizer_free(opt);
        assert_int_equal(a.destroyed, 1);
        tn_scope_close(s);
        assert_int_equal(tn_live_tensors(), 0);
    }
}

/* Saved in the middle and loaded by another one: bit for bit. */
static void state_is_saved_and_loaded(void **state)
{
    (void)state;
    adagrad a = {.begin = 0.1}, b = {.begin = 77};
    tn_scope *s = tn_scope_open();
    pair x = begin(), y;
    tn_optimizer *opt = adagrad_for(x, &a, false), *other;
    tn_named n[4], copy[4];
    adagrad_steps(opt, x, 1, 3);
    y = (pair){MADE(tn_requires_grad_(tn_clone(values(x.p)), true)),
               MADE(tn_requires_grad_(tn_clone(values(x.q)), true))};
    other = adagrad_for(y, &b, true);
    assert_int_equal(tn_optimizer_state(opt, n, 4), 4);
    for (int i = 0; i < 4; i++)
        copy[i] = (tn_named){n[i].name, MADE(tn_clone(n[i].tensor))};
    OK(tn_optimizer_load_state(other, copy, 4));
    adagrad_steps(opt, x, 4, 6);
    adagrad_steps(other, y, 4, 6);
    assert_true(tn_equal(x.p, y.p) && tn_equal(x.q, y.q));
    equals(y, after_6);
    assert_int_equal(b.seen[1], 5);
    FAILS_STATUS(tn_optimizer_load_state(other, copy, 3), TN_EINVAL, "Missing key(s) in state_dict: \"1.sum\"");
    copy[1].name = "0.mean";
    FAILS_STATUS(tn_optimizer_load_state(other, copy, 4), TN_EINVAL, "Unexpected key(s) in state_dict: \"0.mean\"");
    copy[1] = (tn_named){"0.sum", tn_ones(TN_SHAPE(3))};
    FAILS_STATUS(tn_optimizer_load_state(other, copy, 4), TN_EINVAL,
                 "Error(s) in loading state of Adagrad:\n\tsize mismatch for 0.sum: copying a state with shape "
                 "torch.Size([3]) from checkpoint, the shape of the state is torch.Size([2]).");
    assert_int_equal(tn_optimizer_state(other, n, 4), 4);
    equals((pair){n[1].tensor, n[3].tensor}, sums); /* as before */
    tn_optimizer_free(opt);
    tn_optimizer_free(other);
    tn_scope_close(s);
}

/* ---- states of other shapes; a class that keeps none ---- */

/* Heavy ball with a velocity like the parameter and the largest gradient so far: two states, one of them a number. */
static tn_status ball_create(tn_optimizer *self, tn_tensor *p, tn_tensor **state, size_t n)
{
    (void)self;
    assert_int_equal(n, 2);
    state[1] = tn_zeros(TN_SHAPE(), .dtype = tn_tensor_dtype(p));
    return TN_OK; /* state[0]: zeros like p */
}

static tn_status ball_step(tn_optimizer *self, const tn_update *u)
{
    (void)self;
    tn_tensor *most = tn_copy_(u->state[1], tn_maximum(u->state[1], tn_max(tn_abs(u->gradient))));
    tn_tensor *v = tn_add_(tn_mul_(u->state[0], u->option[1]), u->gradient);
    return most && tn_sub_(u->parameter, tn_mul(v, u->lr * u->option[0])) ? TN_OK : tn_error_code();
}

static const tn_optimizer_class ball_class = {.struct_size = sizeof ball_class,
                                              .name = "Ball",
                                              .options = {{"scale", 1}, {"friction", 0.5}},
                                              .states = {"velocity", "most"},
                                              .create = ball_create,
                                              .step = ball_step};

/* x = 10, gradient 2 x: v = 20, x = 8; v = 10 + 16 = 26, x = 5.4; v = 13 + 10.8 = 23.8, x = 3.02. */
static void states_of_any_shape(void **state)
{
    (void)state;
    tn_scope *s = tn_scope_open();
    tn_tensor *x = MADE(tn_tensor_from(TN_LIST(10.0), .dtype = TN_F64, .requires_grad = true));
    tn_optimizer *opt = there(tn_optimizer_new(&ball_class, TN_TENSORS(x), 0.2, .values = TN_HYPERS({"scale", 0.5})));
    for (int k = 0; k < 3; k++) {
        tn_optimizer_zero_grad(opt);
        OK(tn_backward(tn_sum(tn_square(x))));
        OK(tn_clip_grad_norm_(TN_TENSORS(x), 1000, NULL));
        OK(tn_optimizer_step(opt));
    }
    NEAR(element(x, 0), 3.02, 1e-12);
    tn_named n[3];
    assert_int_equal(tn_optimizer_state(opt, n, 3), 3);
    NEAR(element(n[1].tensor, 0), 23.8, 1e-12);
    assert_string_equal(n[2].name, "0.most");
    assert_int_equal(tn_tensor_ndim(n[2].tensor), 0);
    NEAR(tn_item(n[2].tensor), 20, 0);
    OK(tn_clip_grad_norm_(TN_TENSORS(x), 1, NULL)); /* the gradient is 1 now: v = 12.9, x = 1.73 */
    OK(tn_optimizer_step(opt));
    NEAR(element(x, 0), 1.73, 1e-6);
    tn_optimizer_free(opt);
    tn_scope_close(s);
}

static tn_status sign_step(tn_optimizer *self, const tn_update *u)
{
    (void)self;
    return tn_sub_(u->parameter, tn_mul(tn_sign(u->gradient), u->lr)) ? TN_OK : tn_error_code();
}

static void without_state(void **state)
{
    (void)state;
    const tn_optimizer_class sign = {.struct_size = sizeof sign, .name = "Sign", .step = sign_step};
    tn_scope *s = tn_scope_open();
    tn_module *net = BUILT(tn_nn_linear(1, 1));
    OK(tn_module_load_state(net, ((tn_named[]){{"weight", tn_ones(TN_SHAPE(1, 1))}, {"bias", tn_zeros(TN_SHAPE(1))}}),
                            2));
    tn_optimizer *opt = there(tn_optimizer_new(&sign, net, 0.25));
    OK(tn_backward(tn_sum(tn_forward(net, tn_full(TN_SHAPE(1, 1), -3.0)))));
    OK(tn_optimizer_step(opt));
    PRINTS(values(tn_module_parameter(net, "weight")), "tensor([[1.2500]])");
    PRINTS(values(tn_module_parameter(net, "bias")), "tensor([-0.2500])");
    tn_named n[2];
    assert_int_equal(tn_optimizer_state(opt, n, 2), 2); /* the steps */
    assert_string_equal(n[1].name, "1.step");
    tn_tensor *nine = tn_full(TN_SHAPE(), 9, .dtype = TN_I64);
    OK(tn_optimizer_load_state(opt, ((tn_named[]){{"0.step", nine}}), 1));
    assert_int_equal(tn_optimizer_state(opt, n, 2), 1);
    assert_int_equal(tn_item_int(n[0].tensor), 9);
    tn_optimizer_free(opt);
    tn_scope_close(s);
}

/* ---- groups of the library's own ---- */

static void groups_of_adamw_and_sgd(void **state)
{
    (void)state;
    static const double adamw[] = {0.998666812468, -2.03486132632, 0.536010370728, -0.0501333967088, 3.04999999833},
                        sgd[] = {0.94, -2.28875, 2.085155, -0.24766395, 3.26744535}; /* torch.optim's, as above */
    tn_scope *s = tn_scope_open();
    pair x = begin();
    tn_optimizer *opt = there(tn_adamw(TN_TENSORS(x.p), 0.01, .weight_decay = 0.1));
    OK(tn_optimizer_add_group(opt, TN_TENSORS(x.q), TN_HYPERS({"weight_decay", 0}, {"beta1", 0.8}, {"beta2", 0.99})));
    for (int k = 1; k <= 5; k++) {
        give_gradients(x, k);
        OK(tn_optimizer_step(opt));
    }
    equals(x, adamw);
    tn_optimizer_free(opt);
    x = begin();
    opt = there(tn_sgd(TN_TENSORS(x.p), 0.01));
    OK(tn_optimizer_add_group(opt, TN_TENSORS(x.q), TN_HYPERS({"momentum", 0.9}, {"lr", 0.05})));
    for (int k = 1; k <= 6; k++) {
        give_gradients(x, k);
        if (k == 4)
            OK(tn_optimizer_set(opt, 0, "momentum", 0.5)); /* its state begins here */
        assert_int_equal(tn_optimizer_state(opt, NULL, 0), k == 1 ? 0 : k > 4 ? 2 : 1 + (k == 4));
        OK(tn_optimizer_step(opt));
    }
    equals(x, sgd);
    tn_optimizer_free(opt);
    tn_scope_close(s);
}

/* ---- misuse ---- */

static void what_is_refused(void **state)
{
    (void)state;
    adagrad a = {.begin = 0};
    tn_scope *s = tn_scope_open();
    pair x = begin();
    tn_optimizer_class c = adagrad_class;
    c.struct_size = 8;
    FAILS(tn_optimizer_new(&c, TN_TENSORS(x.p), 0.1), TN_EINVAL, "a class with its size and a name is needed");
    FAILS(tn_optimizer_new(NULL, TN_TENSORS(x.p), 0.1), TN_EINVAL, "a class with its size and a name is needed");
    c = adagrad_class;
    c.step = NULL;
    FAILS(tn_optimizer_new(&c, TN_TENSORS(x.p), 0.1), TN_EINVAL, "Adagrad has neither a step nor a step_all");
    c.step = adagrad_step;
    c.step_all = adagrad_step_all;
    FAILS(tn_optimizer_new(&c, TN_TENSORS(x.p), 0.1), TN_EINVAL, "Adagrad has a step and a step_all");
    c = adagrad_class;
    static const char *const bad[] = {"", "a.b", "step", "sum", "12345678901234567890123456789012345678901"};
    for (int i = 0; i < 5; i++) {
        c.states[1] = bad[i];
        FAILS(tn_optimizer_new(&c, TN_TENSORS(x.p), 0.1), TN_EINVAL, "a name has 1 to 40 characters");
    }
    c = adagrad_class;
    c.options[1].name = "lr";
    FAILS(tn_optimizer_new(&c, TN_TENSORS(x.p), 0.1), TN_EINVAL, "the option \"lr\" of Adagrad");
    static const char names[] = "a\0b\0c\0d\0e\0f\0g\0h\0i\0j\0k\0l\0m\0n\0o\0p";
    for (int i = 0; i < 16; i++)
        c.options[i].name = names + 2 * i;
    FAILS(tn_optimizer_new(&c, TN_TENSORS(x.p), 0.1), TN_EINVAL, "Adagrad has more than 15 options");
    FAILS(tn_optimizer_new(&adagrad_class, TN_TENSORS(x.p), -1, .ctx = &a), TN_EVALUE, "Invalid learning rate: -1.0");
    FAILS(tn_optimizer_new(&adagrad_class, ((tn_tensors){NULL, 0}), 1, .ctx = &a), TN_EVALUE,
          "optimizer got an empty parameter list");
    FAILS(tn_optimizer_new(&adagrad_class, TN_TENSORS(tn_mul(x.p, 2)), 1, .ctx = &a), TN_EVALUE, "non-leaf Tensor");
    FAILS(tn_optimizer_new(&adagrad_class, TN_TENSORS(x.p), 1, .ctx = &a, .values = TN_HYPERS({"epsilon", 1})),
          TN_EMISSING, "Adagrad has no option \"epsilon\"");
    FAILS(tn_optimizer_new(&adagrad_class, TN_TENSORS(x.p), 1, .ctx = &a, .values = TN_HYPERS({"eps", NAN})), TN_EVALUE,
          "Invalid eps: nan");
    assert_int_equal(a.destroyed, 0); /* ctx is still the caller's */
    tn_scope_close(s);
    assert_int_equal(tn_live_tensors(), 0);
}

static void groups_that_are_refused(void **state)
{
    (void)state;
    tn_scope *s = tn_scope_open();
    pair x = begin();
    tn_optimizer *opt = there(tn_sgd(TN_TENSORS(x.p), 0.1, .momentum = 0.9));
    FAILS_STATUS(tn_optimizer_add_group(opt, TN_TENSORS(x.p), TN_HYPERS()), TN_EVALUE,
                 "some parameters appear in more than one parameter group");
    FAILS_STATUS(tn_optimizer_add_group(opt, TN_TENSORS(x.q, x.q), TN_HYPERS()), TN_EVALUE, "duplicate parameters");
    FAILS_STATUS(tn_optimizer_add_group(opt, TN_TENSORS(x.q), TN_HYPERS({"beta1", 1})), TN_EMISSING,
                 "\n  it has: lr, momentum, dampening, weight_decay, nesterov, maximize");
    FAILS_STATUS(tn_optimizer_add_group(opt, TN_TENSORS(x.q), TN_HYPERS({"weight_decay", -1})), TN_EVALUE,
                 "Invalid weight_decay value: -1.0");
    FAILS_STATUS(tn_optimizer_add_group(NULL, TN_TENSORS(x.q), TN_HYPERS()), TN_EINVAL, "an operand is NULL");
    FAILS_STATUS(tn_optimizer_add_group(opt, TN_TENSORS(x.q), ((tn_hypers){NULL, 2})), TN_EINVAL, "not a list");
    assert_int_equal(tn_optimizer_groups(opt), 1);
    OK(tn_optimizer_add_group(opt, TN_TENSORS(x.q), TN_HYPERS({"momentum", 0})));
    FAILS_STATUS(tn_optimizer_set(opt, -1, "nesterov", 1), TN_EVALUE, "Nesterov momentum requires a momentum");
    NEAR(tn_optimizer_get(opt, 0, "nesterov"), 0, 0); /* all or nothing */
    FAILS_STATUS(tn_optimizer_set(opt, 2, "lr", 1), TN_EINDEX, "tn_optimizer_set: group 2 of an optimizer that has 2");
    FAILS_STATUS(tn_optimizer_set(opt, 0, NULL, 1), TN_EMISSING, "tn_sgd has no option \"NULL\"");
    assert_true(isnan(tn_optimizer_get(opt, -1, "lr")));
    FAILS_STATUS(tn_error_code(), TN_EINDEX, "tn_optimizer_get: group -1");
    assert_true(isnan(tn_optimizer_get(opt, 0, "eps")));
    FAILS_STATUS(tn_error_code(), TN_EMISSING, "test_optim_own.c:");
    assert_int_equal(tn_optimizer_groups(NULL), 0);
    assert_null(tn_optimizer_context(opt));
    tn_optimizer_free(opt);
    tn_scope_close(s);
}

/* A callback that fails: the parameters before it are updated, the steps of the others not counted. */
static void what_fails(void **state)
{
    (void)state;
    static const struct {
        fault fault;
        tn_status code;
        const char *text;
    } cases[] = {{SETS_AN_ERROR, TN_EIO, "/no/such/file.npy"},
                 {SAYS_NOTHING, TN_EVALUE, "of Adagrad failed with status"},
                 {NESTED, TN_EINVAL, "77"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int all = 0; all < 2; all++) {
            adagrad a = {.begin = 0.1};
            tn_scope *s = tn_scope_open();
            pair x = begin();
            tn_optimizer *opt = adagrad_for(x, &a, all);
            adagrad_steps(opt, x, 1, 3);
            a.fault = cases[i].fault;
            a.at = 1;
            give_gradients(x, 4);
            tn_status e = tn_optimizer_step(opt);
            assert_true(all || strstr(tn_error_message(), "\n  in parameter 1 of Adagrad"));
            FAILS_STATUS(e, cases[i].code, cases[i].text);
            tn_named n[4];
            assert_int_equal(tn_optimizer_state(opt, n, 4), 4);
            assert_int_equal(tn_item_int(n[0].tensor), all ? 3 : 4);
            assert_int_equal(tn_item_int(n[2].tensor), 2);
            tn_optimizer_free(opt);
            assert_int_equal(a.destroyed, 1);
            tn_scope_close(s);
            assert_int_equal(tn_live_tensors(), 0);
        }
}

static tn_status no_state(tn_optimizer *self, tn_tensor *p, tn_tensor **state, size_t n)
{
    (void)p;
    (void)n;
    if (tn_optimizer_lr(self) > 1)
        state[0] = TN_NONE;
    else
        state[0] = tn_relu(tn_add(p, tn_ones(TN_SHAPE(77))));
    return TN_OK;
}

static void a_state_that_cannot_be_made(void **state)
{
    (void)state;
    adagrad a = {.begin = 0};
    tn_scope *s = tn_scope_open();
    pair x = begin();
    tn_optimizer_class c = adagrad_class;
    c.create = no_state;
    tn_optimizer *opt = there(tn_optimizer_new(&c, TN_TENSORS(x.p, x.q), 2, .ctx = &a));
    give_gradients(x, 1);
    FAILS_STATUS(tn_optimizer_step(opt), TN_ETYPE, "create of Adagrad gave TN_NONE as \"sum\"");
    OK(tn_optimizer_set_lr(opt, 0.5));
    FAILS_STATUS(tn_optimizer_step(opt), TN_EINVAL, "The size of tensor a (2) must match the size of tensor b (77)");
    assert_int_equal(a.calls, 0); /* no parameter has changed */
    tn_optimizer_free(opt);
    tn_scope_close(s);
    assert_int_equal(tn_live_tensors(), 0);
}

static void without_memory(void **state)
{
    (void)state;
    for (int all = 0; all < 2; all++) {
        bool failed = true;
        for (int64_t nth = 1; failed; nth++) {
            adagrad a = {.begin = 0.1};
            const tn_optimizer_class cls = adagrad_of(all);
            tn_scope *s = tn_scope_open();
            pair x = begin();
            give_gradients(x, 1);
            tn__door_fail(nth);
            tn_optimizer *opt = tn_optimizer_new(&cls, TN_TENSORS(x.p), 0.1, .ctx = &a);
            failed =
                !opt || tn_optimizer_add_group(opt, TN_TENSORS(x.q), TN_HYPERS({"eps", 0.5})) || tn_optimizer_step(opt);
            tn__door_fail(0);
            assert_true(!failed || tn_error_code() == TN_ENOMEM);
            tn_error_clear();
            tn_optimizer_free(opt);
            assert_int_equal(a.destroyed, opt != NULL);
            tn_scope_close(s);
            assert_int_equal(tn_live_tensors(), 0);
            assert_true(nth < 1000);
        }
    }
}

int main(void)
{
    warm_up();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_torch_does),
        cmocka_unit_test(state_is_saved_and_loaded),
        cmocka_unit_test(states_of_any_shape),
        cmocka_unit_test(without_state),
        cmocka_unit_test(groups_of_adamw_and_sgd),
        cmocka_unit_test(what_is_refused),
        cmocka_unit_test(groups_that_are_refused),
        cmocka_unit_test(what_fails),
        cmocka_unit_test(a_state_that_cannot_be_made),
        cmocka_unit_test(without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
