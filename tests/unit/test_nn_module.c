/* Modules: made, given parts, asked for them; who owns what. */
#include "nn_check.h"

typedef struct counter {
    int destroyed;
} counter;

static void count_destroy(void *ctx)
{
    ((counter *)ctx)->destroyed++;
}

static tn_tensor *scale_forward(tn_module *self, tn_tensor *x)
{
    return tn_mul(x, tn_module_parameter(self, "scale"));
}

static int64_t scale_describe(const tn_module *self, char *out, size_t n)
{
    return snprintf(out, n, "of=%d", ((counter *)tn_module_context(self))->destroyed);
}

static const tn_module_class scale_class = {.struct_size = sizeof scale_class,
                                            .name = "Scale",
                                            .forward = scale_forward,
                                            .destroy = count_destroy,
                                            .describe = scale_describe};
static const tn_module_class bare_class = {.struct_size = sizeof bare_class, .name = "Bare"};

static tn_module *bare(void)
{
    return BUILT(tn_module_new(&bare_class, NULL));
}

static void own_module(void **state)
{
    (void)state;
    counter c = {0};
    int64_t tensors = tn_live_tensors(), blocks = tn__door_live();
    tn_scope *scope = tn_scope_open();
    tn_module *m = BUILT(tn_module_new(&scale_class, &c));
    assert_ptr_equal(tn_module_context(m), &c);
    assert_string_equal(tn_module_class_name(m), "Scale");
    assert_true(tn_module_is_training(m));
    tn_tensor *s = tn_full(TN_SHAPE(2), 3.0);
    assert_ptr_equal(tn_module_add_parameter(m, "scale", s), s);
    assert_true(tn_tensor_requires_grad(s));
    PRINTS(tn_forward(m, tn_ones(TN_SHAPE(2))), "tensor([3., 3.], grad_fn=<MulBackward0>)");
    MODULE_PRINTS(m, "Scale(of=0)");
    tn_module *net = BUILT(tn_nn_sequential(m, tn_nn_relu()));
    MODULE_PRINTS(net, "Sequential(\n  (0): Scale(of=0)\n  (1): ReLU()\n)");
    OK(tn_backward(tn_sum(tn_forward(net, tn_full(TN_SHAPE(2), 0.5)))));
    PRINTS(tn_tensor_grad(tn_module_parameter(net, "0.scale")), "tensor([0.5000, 0.5000])");
    assert_int_equal(c.destroyed, 0);
    tn_scope_close(scope);
    assert_int_equal(c.destroyed, 1);
    assert_int_equal(tn_live_tensors(), tensors);
    assert_int_equal(tn__door_live(), blocks);
}

static void the_class_is_copied(void **state)
{
    (void)state;
    char name[] = "Mine";
    tn_module_class cls = {.struct_size = sizeof cls, .name = name};
    tn_module *m = BUILT(tn_module_new(&cls, NULL));
    memset(name, 'x', 4);
    memset(&cls, 0, sizeof cls);
    assert_string_equal(tn_module_class_name(m), "Mine");
    tn_module_release(m);
    /* a struct of an older, shorter library, and one of a newer, longer one */
    struct {
        tn_module_class cls;
        void *more[2];
    } newer = {.cls = {.struct_size = sizeof newer, .name = "Newer"}};
    m = BUILT(tn_module_new(&newer.cls, NULL));
    tn_module_release(m);
    cls = (tn_module_class){.struct_size = offsetof(tn_module_class, destroy), .name = "Old", .destroy = count_destroy};
    m = BUILT(tn_module_new(&cls, NULL)); /* destroy is beyond what the size covers: not called with NULL */
    tn_module_release(m);
    FAILS(tn_module_new(NULL, NULL), TN_EINVAL, "a class with its size and a name");
    FAILS(tn_module_new(&(tn_module_class){.name = "x"}, NULL), TN_EINVAL, "a class with its size and a name");
    FAILS(tn_module_new(&(tn_module_class){.struct_size = sizeof cls}, NULL), TN_EINVAL, "test_nn_module.c:");
}

static void references(void **state)
{
    (void)state;
    counter c = {0};
    tn_scope *scope = tn_scope_open();
    tn_module *kept = tn_module_keep(BUILT(tn_module_new(&scale_class, &c)));
    tn_module *child = BUILT(tn_module_new(&scale_class, &c));
    tn_module *parent = tn_module_retain(bare());
    assert_ptr_equal(tn_module_add_child(parent, "a", child), child);
    assert_ptr_equal(tn_module_add_child(parent, "b", child), child);
    tn_scope_close(scope);
    assert_int_equal(c.destroyed, 0);
    assert_ptr_equal(tn_module_child(parent, "b"), child);
    tn_module_release(parent);
    assert_int_equal(c.destroyed, 1);
    tn_module_release(kept);
    assert_int_equal(c.destroyed, 2);
    tn_module *alone = bare(); /* no scope: the caller's */
    tn_module_release(alone);
    tn_module_release(NULL);
}

/* 30,000 modules in chains of 60 under one root: walking and releasing need no deep stack. */
static void many_modules(void **state)
{
    (void)state;
    int64_t blocks = tn__door_live();
    tn_module *root = bare();
    for (int i = 0; i < 500; i++) {
        tn_scope *scope = tn_scope_open();
        char name[16];
        tn_module *m = bare();
        snprintf(name, sizeof name, "%d", i);
        for (int k = 0; k < 60; k++) {
            tn_module *outer = bare();
            assert_non_null(tn_module_add_child(outer, "in", m));
            m = outer;
        }
        assert_non_null(tn_module_add_child(root, name, m));
        tn_scope_close(scope);
    }
    assert_int_equal(tn_module_child_count(root), 500);
    assert_ptr_equal(tn_module_eval(root), root);
    assert_false(tn_module_is_training(tn_module_child(root, "499.in.in.in")));
    tn_module_release(root);
    assert_int_equal(tn__door_live(), blocks);
}

static void circles_and_depth(void **state)
{
    (void)state;
    tn_scope *scope = tn_scope_open();
    tn_module *a = bare(), *b = bare(), *c = bare();
    FAILS(tn_module_add_child(a, "x", a), TN_EINVAL, "a module cannot be inside itself");
    assert_non_null(tn_module_add_child(a, "b", b));
    assert_non_null(tn_module_add_child(b, "c", c));
    FAILS(tn_module_add_child(c, "a", a), TN_EINVAL, "a module cannot be inside itself");
    assert_int_equal(tn_module_child_count(c), 0);
    /* grown from the top and from the bottom: 64 levels are allowed, 65 are not */
    tn_module *top = bare(), *at = top;
    for (int i = 1; i < 64; i++)
        at = BUILT(tn_module_add_child(at, "d", bare()));
    FAILS(tn_module_add_child(at, "d", bare()), TN_EINVAL, "modules nest at most 64 deep");
    assert_ptr_equal(tn_module_train(top), top);
    FAILS(tn_module_add_child(bare(), "t", top), TN_EINVAL, "modules nest at most 64 deep");
    char text[8192];
    assert_true(tn_module_to_string(top, text, sizeof text) > 4096);
    tn_scope_close(scope);
}

static void names_are_checked(void **state)
{
    (void)state;
    tn_scope *scope = tn_scope_open();
    tn_module *m = bare();
    tn_tensor *t = tn_ones(TN_SHAPE(1));
    FAILS(tn_module_add_parameter(m, "a.b", t), TN_EINVAL, "parameter name can't contain \".\"");
    FAILS(tn_module_add_parameter(m, "", t), TN_EINVAL, "parameter name can't be empty string \"\"");
    FAILS(tn_module_add_parameter(m, NULL, t), TN_EINVAL, "parameter name can't be empty string \"\"");
    FAILS(tn_module_add_buffer(m, "a.b", t), TN_EINVAL, "buffer name can't contain \".\"");
    FAILS(tn_module_add_buffer(m, "", t), TN_EINVAL, "buffer name can't be empty string \"\"");
    FAILS(tn_module_add_child(m, "w.x", tn_nn_relu()), TN_EINVAL, "module name can't contain \".\", got: w.x");
    FAILS(tn_module_add_child(m, "", tn_nn_relu()), TN_EINVAL, "module name can't be empty string \"\"");
    assert_non_null(tn_module_add_parameter(m, "w", t));
    FAILS(tn_module_add_buffer(m, "w", t), TN_EINVAL, "attribute 'w' already exists");
    FAILS(tn_module_add_child(m, "w", tn_nn_relu()), TN_EINVAL, "attribute 'w' already exists");
    /* the same kind replaces, in its place */
    assert_non_null(tn_module_add_parameter(m, "v", tn_ones(TN_SHAPE(1))));
    tn_tensor *other = tn_zeros(TN_SHAPE(1));
    assert_ptr_equal(tn_module_add_parameter(m, "w", other), other);
    tn_named p[4];
    assert_int_equal(tn_module_named_parameters(m, p, 4), 2);
    assert_string_equal(p[0].name, "w");
    assert_ptr_equal(p[0].tensor, other);
    assert_string_equal(p[1].name, "v");
    tn_scope_close(scope);
}

static void parts_are_checked(void **state)
{
    (void)state;
    tn_scope *scope = tn_scope_open();
    tn_module *m = bare();
    tn_tensor *w = tn_requires_grad_(tn_ones(TN_SHAPE(2)), true);
    FAILS(tn_module_add_parameter(m, "z", tn_mul(w, 2)), TN_EGRAD,
          "Cannot assign non-leaf Tensor to parameter 'z'. Model parameters must be created explicitly.");
    FAILS(tn_module_add_parameter(m, "z", tn_tensor_from(TN_LIST(1, 2))), TN_EDTYPE,
          "only Tensors of floating point dtype can require gradients");
    FAILS(tn_module_add_parameter(m, "z", TN_NONE), TN_ETYPE, "TN_NONE cannot be a part of a module");
    assert_int_equal(tn_module_parameters(m, NULL, 0), 0);
    /* NULL passes on and leaves the record of the call that failed */
    FAILS(tn_module_add_parameter(m, "z", tn_zeros(TN_SHAPE(-3))), TN_EINVAL, "negative dimension -3");
    FAILS(tn_module_add_child(m, "z", tn_nn_dropout(2)), TN_EVALUE, "dropout probability");
    FAILS(tn_module_add_buffer(NULL, "z", w), TN_EINVAL, "tn_module_add_buffer: an operand is NULL");
    FAILS(tn_nn_sequential(tn_nn_relu(), tn_nn_linear(-1, 2)), TN_EINVAL, "negative dimension -1: [2, -1]");
    FAILS(tn_nn_sequential_n(NULL, 2), TN_EINVAL, "not a list of modules");
    assert_non_null(tn_nn_sequential_n(NULL, 0));
    assert_int_equal(tn_module_child_count(tn_nn_sequential()), 0);
    tn_scope_close(scope);
}

/* The texts begin as torch 2.14.1's get_parameter, get_buffer, get_submodule and Sequential.__getitem__ do. */
static void looking_up(void **state)
{
    (void)state;
    tn_scope *scope = tn_scope_open();
    tn_module *net = BUILT(tn_nn_sequential(tn_nn_linear(3, 8), tn_nn_relu(), tn_nn_linear(8, 1)));
    tn_tensor *w = MADE(tn_module_parameter(net, "0.weight"));
    assert_int_equal(tn_tensor_size(w, 0), 8);
    assert_int_equal(tn_tensor_size(w, 1), 3);
    assert_ptr_equal(tn_module_parameter(tn_module_child(net, "0"), "weight"), w);
    assert_ptr_equal(tn_module_child(net, "2"), tn_module_nth_child(net, -1));
    assert_ptr_equal(tn_module_child(net, "0"), tn_module_nth_child(net, 0));
    assert_ptr_equal(tn_module_nth_child(net, -3), tn_module_nth_child(net, 0));
    assert_string_equal(tn_module_child_name(net, 1), "1");
    assert_string_equal(tn_module_child_name(net, 3), "");
    assert_int_equal(tn_module_child_count(net), 3);
    FAILS(tn_module_parameter(net, "0.foo"), TN_EMISSING, "Linear has no attribute `foo`\n  at ");
    FAILS(tn_module_parameter(net, "0.foo"), TN_EMISSING, "\n  its parameters are: weight, bias");
    FAILS(tn_module_parameter(net, "7.weight"), TN_EMISSING, "Sequential has no attribute `7`");
    FAILS(tn_module_parameter(net, "7.weight"), TN_EMISSING, "its children are: 0, 1, 2");
    FAILS(tn_module_parameter(net, "0"), TN_EMISSING, "Sequential has no attribute `0`");
    FAILS(tn_module_parameter(net, ""), TN_EMISSING, "Sequential has no attribute ``");
    FAILS(tn_module_parameter(net, "."), TN_EMISSING, "Sequential has no attribute ``");
    FAILS(tn_module_parameter(net, "0.weight."), TN_EMISSING, "Linear has no attribute `weight`");
    FAILS(tn_module_parameter(net, NULL), TN_EINVAL, "the name is NULL");
    FAILS(tn_module_parameter(NULL, "w"), TN_EINVAL, "tn_module_parameter: an operand is NULL");
    FAILS(tn_module_buffer(net, "foo"), TN_EMISSING, "Sequential has no attribute `foo`");
    FAILS(tn_module_buffer(net, "foo"), TN_EMISSING, "its buffers are: none");
    FAILS(tn_module_child(net, "9"), TN_EMISSING, "Sequential has no attribute `9`");
    FAILS(tn_module_nth_child(net, 7), TN_EINDEX, "index 7 is out of range");
    FAILS(tn_module_nth_child(net, -4), TN_EINDEX, "index -4 is out of range");
    FAILS(tn_module_nth_child(NULL, 0), TN_EINVAL, "an operand is NULL");
    tn_scope_close(scope);
}

static void expect_names(const tn_named *got, size_t n, const char *const *want)
{
    for (size_t i = 0; i < n; i++)
        assert_string_equal(got[i].name, want[i]);
}

/* As torch's named_parameters, named_buffers and state_dict list such a module. */
static void enumerations(void **state)
{
    (void)state;
    tn_scope *scope = tn_scope_open();
    tn_module *tied = BUILT(tn_nn_linear(2, 2)), *other = BUILT(tn_nn_linear(2, 2)), *m = bare(), *in = bare();
    MADE(tn_module_add_parameter(in, "own", tn_ones(TN_SHAPE(3))));
    MADE(tn_module_add_buffer(in, "mean", tn_ones(TN_SHAPE(1))));
    MADE(tn_module_add_buffer(in, "count", tn_tensor_from(TN_LIST(7))));
    MADE(tn_module_add_parameter(other, "weight", tn_module_parameter(tied, "weight"))); /* weight tying */
    BUILT(tn_module_add_child(m, "a", tied));
    BUILT(tn_module_add_child(m, "in", in));
    BUILT(tn_module_add_child(in, "deep", other));
    BUILT(tn_module_add_child(m, "z", tied)); /* the same module twice */
    MADE(tn_module_add_parameter(m, "last", tn_ones(TN_SHAPE(1))));
    MADE(tn_module_add_buffer(m, "shared", tn_module_buffer(in, "mean")));
    static const char *const parameters[] = {"last", "a.weight", "a.bias", "in.own", "in.deep.bias"};
    static const char *const buffers[] = {"shared", "in.count"};
    static const char *const all[] = {"last",     "shared",         "a.weight",     "a.bias",   "in.own", "in.mean",
                                      "in.count", "in.deep.weight", "in.deep.bias", "z.weight", "z.bias"};
    tn_named out[16];
    tn_tensor *t[16];
    assert_int_equal(tn_module_named_parameters(m, out, 16), 5);
    expect_names(out, 5, parameters);
    assert_int_equal(tn_module_parameters(m, t, 16), 5);
    for (int i = 0; i < 5; i++)
        assert_ptr_equal(t[i], out[i].tensor);
    assert_int_equal(tn_module_numel(m), 1 + 4 + 2 + 3 + 2);
    tn_named few[2] = {{NULL, NULL}};
    const char *lent = out[4].name;
    assert_int_equal(tn_module_named_parameters(m, few, 1), 5);
    assert_null(few[1].name);
    assert_int_equal(tn_module_named_buffers(m, out, 16), 2);
    expect_names(out, 2, buffers);
    assert_int_equal(tn_module_state(m, out, 16), 11);
    expect_names(out, 11, all);
    assert_ptr_equal(out[2].tensor, out[7].tensor);
    assert_ptr_equal(out[8].name, lent); /* names stay where they are while nothing is added */
    MADE(tn_module_add_buffer(other, "new", tn_ones(TN_SHAPE(1))));
    assert_int_equal(tn_module_state(m, out, 16), 12);
    assert_string_equal(out[9].name, "in.deep.new");
    assert_int_equal(tn_module_state(NULL, out, 16), 0);
    FAILS(NULL, TN_EINVAL, "tn_module_state: an operand is NULL");
    assert_int_equal(tn_module_parameters(NULL, t, 16), 0);
    FAILS(NULL, TN_EINVAL, "tn_module_parameters: an operand is NULL");
    tn_scope_close(scope);
}

static void modes(void **state)
{
    (void)state;
    tn_scope *scope = tn_scope_open();
    tn_module *net = BUILT(tn_nn_sequential(tn_nn_linear(2, 2), tn_nn_sequential(tn_nn_dropout(0.5))));
    assert_ptr_equal(tn_module_eval(net), net);
    assert_false(tn_module_is_training(net));
    assert_false(tn_module_is_training(tn_module_child(net, "1.0")));
    assert_ptr_equal(tn_module_train(net), net);
    assert_true(tn_module_is_training(tn_module_child(net, "1.0")));
    assert_ptr_equal(tn_module_requires_grad_(net, false), net);
    assert_false(tn_tensor_requires_grad(tn_module_parameter(net, "0.bias")));
    assert_false(tn_tensor_requires_grad(tn_forward(net, tn_ones(TN_SHAPE(1, 2)))));
    assert_ptr_equal(tn_module_requires_grad_(net, true), net);
    OK(tn_backward(tn_sum(tn_forward(net, tn_ones(TN_SHAPE(1, 2))))));
    assert_non_null(tn_tensor_grad(tn_module_parameter(net, "0.bias")));
    tn_module_zero_grad(net);
    assert_null(tn_tensor_grad(tn_module_parameter(net, "0.bias")));
    assert_null(tn_tensor_grad(tn_module_parameter(net, "0.weight")));
    FAILS(tn_module_train(NULL), TN_EINVAL, "tn_module_train: an operand is NULL");
    FAILS(tn_module_eval(NULL), TN_EINVAL, "tn_module_eval: an operand is NULL");
    FAILS(tn_module_requires_grad_(NULL, true), TN_EINVAL, "an operand is NULL");
    tn_module_zero_grad(NULL);
    FAILS(NULL, TN_EINVAL, "tn_module_zero_grad: an operand is NULL");
    assert_false(tn_module_is_training(NULL));
    tn_scope_close(scope);
}

/* Every allocation of building a network by hand fails in turn: an error, no leak, and then it works. */
static void out_of_memory(void **state)
{
    (void)state;
    counter c = {0};
    tn_scope *outer = tn_scope_open();
    tn_tensor *t = tn_ones(TN_SHAPE(2)), *b = tn_ones(TN_SHAPE(2));
    tn_module *warm = tn_nn_linear(2, 2);
    (void)warm;
    int64_t tensors = tn_live_tensors(), blocks = tn__door_live();
    int failures = 0;
    for (int64_t n = 1;; n++, failures++) {
        tn_named out[8];
        c.destroyed = 0;
        tn__door_fail(n);
        tn_scope *scope = tn_scope_open();
        tn_module *m = scope ? tn_module_new(&scale_class, &c) : NULL;
        bool made = m != NULL;
        bool ok =
            tn_module_add_parameter(m, "scale", t) && tn_module_add_buffer(m, "b", b) &&
            tn_module_add_child(
                m, "net", tn_nn_sequential(tn_nn_linear(2, 2), tn_nn_flatten(), tn_nn_dropout(0.5), tn_nn_relu())) &&
            tn_module_state(m, out, 8) == 4 && tn_module_parameters(m, NULL, 0) == 3;
        tn__door_fail(0);
        tn_scope_close(scope);
        assert_int_equal(tn_live_tensors(), tensors);
        assert_int_equal(tn__door_live(), blocks);
        assert_int_equal(c.destroyed, made);
        if (ok)
            break;
        FAILS(NULL, TN_ENOMEM, "out of memory");
    }
    assert_true(failures > 30);
    tn_scope_close(outer);
}

/* An enumeration that runs out of memory has written nothing. */
static void enumerations_write_all_or_nothing(void **state)
{
    (void)state;
    enum { N = 40 };
    tn_module *few[N];
    tn_named out[2 * N];
    const tn_named none = {"as it was", NULL};
    tn_scope *scope = tn_scope_open();
    for (int i = 0; i < N; i++)
        few[i] = tn_nn_linear(1, 1);
    tn_module *net = BUILT(tn_nn_sequential_n(few, N));
    int failures = 0;
    for (int64_t n = 1;; n++, failures++) {
        for (int i = 0; i < 2 * N; i++)
            out[i] = none;
        tn__door_fail(n);
        size_t found = tn_module_named_parameters(net, out, 2 * N);
        tn__door_fail(0);
        if (found) {
            assert_int_equal(found, 2 * N);
            break;
        }
        assert_int_equal(tn_error_code(), TN_ENOMEM);
        tn_error_clear();
        for (int i = 0; i < 2 * N; i++)
            assert_ptr_equal(out[i].name, none.name);
    }
    assert_true(failures >= 2);
    tn_scope_close(scope);
}

int main(void)
{
    setenv("TENON_NO_CACHE", "1", 1);
    warm_up();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(own_module),        cmocka_unit_test(the_class_is_copied),
        cmocka_unit_test(references),        cmocka_unit_test(many_modules),
        cmocka_unit_test(circles_and_depth), cmocka_unit_test(names_are_checked),
        cmocka_unit_test(parts_are_checked), cmocka_unit_test(looking_up),
        cmocka_unit_test(enumerations),      cmocka_unit_test(modes),
        cmocka_unit_test(out_of_memory),     cmocka_unit_test(enumerations_write_all_or_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
