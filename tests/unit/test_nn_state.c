/* State of modules, out and in; moving to other devices and dtypes. Texts are torch 2.14.1's. */
#include "nn_check.h"

#define LOAD(m, ...) \
    tn_module_load_state(m, ((tn_named[]){__VA_ARGS__}), sizeof((tn_named[]){__VA_ARGS__}) / sizeof(tn_named))

static tn_module *network(void)
{
    return BUILT(tn_nn_sequential(tn_nn_linear(3, 8), tn_nn_relu(), tn_nn_linear(8, 1)));
}

static bool equal_state(tn_module *a, tn_module *b)
{
    tn_named x[8], y[8];
    size_t n = tn_module_state(a, x, 8);
    assert_int_equal(tn_module_state(b, y, 8), n);
    for (size_t i = 0; i < n; i++)
        if (!tn_equal(x[i].tensor, y[i].tensor))
            return false;
    return true;
}

static void goes_from_one_to_another(void **state)
{
    (void)state;
    tn_scope *scope = tn_scope_open();
    tn_module *a = network(), *b = network();
    tn_named s[4], mixed[4];
    assert_false(equal_state(a, b));
    assert_int_equal(tn_module_state(a, s, 4), 4);
    for (int i = 0; i < 4; i++)
        mixed[i] = s[(i * 3 + 2) % 4]; /* the order does not matter */
    tn_tensor *w = tn_module_parameter(b, "0.weight");
    uint32_t version = tn_tensor_version(w);
    OK(tn_module_load_state(b, mixed, 4));
    assert_true(equal_state(a, b));
    assert_ptr_equal(tn_module_parameter(b, "0.weight"), w);
    assert_false(tn_tensor_shares_memory(w, tn_module_parameter(a, "0.weight")));
    assert_true(tn_tensor_requires_grad(w) && tn_tensor_is_leaf(w) && tn_tensor_version(w) > version);
    assert_true(tn_is_grad_enabled());
    OK(tn_module_load_state(a, s, 4)); /* into itself */
    assert_true(equal_state(a, b));
    tn_scope_close(scope);
}

static void converts(void **state)
{
    (void)state;
    tn_scope *scope = tn_scope_open();
    tn_module *m = BUILT(tn_nn_linear(2, 2));
    OK(LOAD(m, {"weight", tn_t(tn_tensor_from(TN_LIST(1, 2, 3, 4), .shape = TN_SHAPE(2, 2)))},
            {"bias", tn_expand(tn_tensor_from(TN_LIST(0.1), .dtype = TN_F64), TN_SHAPE(2))}));
    PRINTS(values(tn_module_parameter(m, "weight")), "tensor([[1., 3.],\n        [2., 4.]])");
    PRINTS(values(tn_module_parameter(m, "bias")), "tensor([0.1000, 0.1000])");
    tn_scope_close(scope);
}

/* Sources that are parts of the memory that is written: what they held before is what arrives. */
static void sources_inside_the_module(void **state)
{
    (void)state;
    tn_scope *scope = tn_scope_open();
    tn_module *m = BUILT(tn_nn_sequential(tn_nn_linear(1, 2, .no_bias = true), tn_nn_linear(1, 2, .no_bias = true)));
    tn_tensor *a = tn_module_parameter(m, "0.weight"), *b = tn_module_parameter(m, "1.weight");
    OK(LOAD(m, {"0.weight", tn_tensor_from(TN_LIST(1, 2), .shape = TN_SHAPE(2, 1))},
            {"1.weight", tn_tensor_from(TN_LIST(3, 4), .shape = TN_SHAPE(2, 1))}));
    OK(LOAD(m, {"0.weight", b}, {"1.weight", a})); /* swapped */
    PRINTS(values(a), "tensor([[3.],\n        [4.]])");
    PRINTS(values(b), "tensor([[1.],\n        [2.]])");
    bool was = tn_set_grad_enabled(false);
    tn_tensor *one = tn_expand(tn_slice(tn_detach(a), 0, 1, 2, 1), TN_SHAPE(2, 1));
    tn_set_grad_enabled(was);
    OK(LOAD(m, {"0.weight", one}, {"1.weight", b}));
    PRINTS(values(a), "tensor([[4.],\n        [4.]])");
    tn_scope_close(scope);
}

static void what_does_not_fit(void **state)
{
    (void)state;
    tn_scope *scope = tn_scope_open();
    tn_module *net = network(), *linear = BUILT(tn_nn_linear(2, 2)), *copy = network();
    tn_tensor *one = tn_zeros(TN_SHAPE(1)), *two = tn_zeros(TN_SHAPE(2)), *square = tn_zeros(TN_SHAPE(2, 2));
    tn_named s[4];
    tn_module_state(net, s, 4);
    OK(tn_module_load_state(copy, s, 4));
    FAILS_STATUS(
        LOAD(net, {"0.weight", tn_zeros(TN_SHAPE(3, 4))}, {"0.bias", tn_ones(TN_SHAPE(8))}, {"x", one}, {"2.wei", two}),
        TN_EINVAL,
        "Error(s) in loading state_dict for Sequential:\n\tMissing key(s) in state_dict: \"2.weight\", \"2.bias\". "
        "\n\tUnexpected key(s) in state_dict: \"x\", \"2.wei\". \n\tsize mismatch for 0.weight: copying a param with "
        "shape torch.Size([3, 4]) from checkpoint, the shape in current model is torch.Size([8, 3]).\n  at ");
    assert_true(equal_state(net, copy)); /* 0.bias would have fitted, and was not written */
    FAILS_STATUS(tn_module_load_state(linear, NULL, 0), TN_EINVAL,
                 "Error(s) in loading state_dict for Linear:\n\tMissing key(s) in state_dict: \"weight\", \"bias\". ");
    FAILS_STATUS(LOAD(linear, {"weight", square}, {"bias", two}, {"a", one}, {"b", one}), TN_EINVAL,
                 "Error(s) in loading state_dict for Linear:\n\tUnexpected key(s) in state_dict: \"a\", \"b\". ");
    FAILS_STATUS(LOAD(linear, {"weight", square}, {"bias", tn_zeros(TN_SHAPE(3))}), TN_EINVAL,
                 "Error(s) in loading state_dict for Linear:\n\tsize mismatch for bias: copying a param with shape "
                 "torch.Size([3]) from checkpoint, the shape in current model is torch.Size([2]).");
    FAILS_STATUS(LOAD(linear, {"weight", square}, {"bias", two}, {"bias", two}), TN_EINVAL,
                 "Unexpected key(s) in state_dict: \"bias\". ");
    FAILS_STATUS(LOAD(linear, {"weight", square}, {"bias", tn_zeros(TN_SHAPE(-4))}), TN_EINVAL,
                 "negative dimension -4");
    FAILS_STATUS(LOAD(linear, {"weight", square}, {"bias", TN_NONE}), TN_ETYPE, "\"bias\" is TN_NONE, not a tensor");
    FAILS_STATUS(LOAD(linear, {NULL, square}), TN_EINVAL, "entry 0 has no name");
    FAILS_STATUS(tn_module_load_state(linear, NULL, 3), TN_EINVAL, "the state is NULL");
    FAILS_STATUS(tn_module_load_state(NULL, s, 4), TN_EINVAL, "tn_module_load_state: an operand is NULL");
    FAILS_STATUS(LOAD(linear, {"weight", tn_zeros(TN_SHAPE(2, 2), .device = TN_META)}, {"bias", two}), TN_EDEVICE,
                 "Cannot copy out of meta tensor; no data!");
    tn_scope_close(scope);
}

static void not_strict(void **state)
{
    (void)state;
    tn_scope *scope = tn_scope_open();
    tn_module *m = BUILT(tn_nn_linear(2, 2));
    double bias = element(tn_module_parameter(m, "bias"), 0);
    tn_named s[] = {{"weight", tn_ones(TN_SHAPE(2, 2))}, {"zzz", tn_ones(TN_SHAPE(1))}};
    OK(tn_module_load_state(m, s, 2, .not_strict = true));
    NEAR(element(tn_module_parameter(m, "weight"), 3), 1, 0);
    NEAR(element(tn_module_parameter(m, "bias"), 0), bias, 0);
    s[0].tensor = tn_ones(TN_SHAPE(1, 2));
    FAILS_STATUS(tn_module_load_state(m, s, 2, .not_strict = true), TN_EINVAL, "size mismatch for weight");
    tn_scope_close(scope);
}

/* More names than an error message holds: cut, not overrun. */
static void long_reports_are_cut(void **state)
{
    (void)state;
    enum { N = 400 };
    static char names[N][24];
    tn_named s[N];
    tn_scope *scope = tn_scope_open();
    tn_tensor *t = tn_zeros(TN_SHAPE(1));
    for (int i = 0; i < N; i++) {
        snprintf(names[i], sizeof names[i], "unexpected.%d", i);
        s[i] = (tn_named){names[i], t};
    }
    FAILS_STATUS(tn_module_load_state(tn_nn_relu(), s, N), TN_EINVAL, "\"unexpected.0\", \"unexpected.1\", ");
    assert_int_equal(tn_module_load_state(tn_nn_relu(), s, N), TN_EINVAL);
    assert_non_null(strstr(tn_error_message(), " ...\n  at "));
    tn_error_clear();
    tn_scope_close(scope);
}

/* ---- moving ---- */

/* Linear, with a floating and an integer buffer, one of them shared with a child. */
static tn_module *with_buffers(void)
{
    tn_module *m = BUILT(tn_nn_linear(2, 3)), *in = BUILT(tn_nn_identity());
    MADE(tn_module_add_buffer(m, "mean", tn_ones(TN_SHAPE(3))));
    MADE(tn_module_add_buffer(m, "count", tn_tensor_from(TN_LIST(3))));
    MADE(tn_module_add_buffer(in, "same", tn_module_buffer(m, "mean")));
    MADE(tn_module_add_parameter(in, "tied", tn_module_parameter(m, "weight")));
    BUILT(tn_module_add_child(m, "in", in));
    return m;
}

static void other_dtypes(void **state)
{
    (void)state;
    const tn_dtype dtypes[] = {TN_F64, TN_F16, TN_BF16, TN_F32};
    tn_scope *scope = tn_scope_open();
    tn_module *m = with_buffers();
    tn_tensor *w = tn_module_parameter(m, "weight"), *mean = tn_module_buffer(m, "mean"),
              *count = tn_module_buffer(m, "count");
    tn_init_constant_(w, 0.5);
    OK(tn_backward(tn_sum(tn_forward(m, tn_ones(TN_SHAPE(1, 2))))));
    tn_tensor *g = tn_tensor_grad(w);
    int64_t tensors = tn_live_tensors();
    for (int i = 0; i < 4; i++) {
        assert_ptr_equal(tn_module_to_dtype(m, dtypes[i]), m);
        assert_ptr_equal(tn_module_parameter(m, "weight"), w);
        assert_ptr_equal(tn_module_parameter(m, "in.tied"), w);
        assert_ptr_equal(tn_tensor_grad(w), g);
        assert_ptr_equal(tn_module_buffer(m, "count"), count);
        assert_int_equal(tn_tensor_dtype(w), dtypes[i]);
        assert_int_equal(tn_tensor_dtype(g), dtypes[i]);
        assert_int_equal(tn_tensor_dtype(count), TN_I64);
        assert_int_equal(tn_tensor_dtype(tn_module_buffer(m, "mean")), dtypes[i]);
        assert_ptr_not_equal(tn_module_buffer(m, "mean"), mean); /* replaced, also where it is shared */
        assert_ptr_equal(tn_module_buffer(m, "mean"), tn_module_buffer(m, "in.same"));
        NEAR(element(w, 5), 0.5, 0);
        NEAR(element(g, 0), 1, 0);
        assert_true(tn_tensor_requires_grad(w) && tn_tensor_is_leaf(w));
    }
    assert_int_equal(tn_tensor_dtype(mean), TN_F32); /* the old one is as it was */
    assert_int_equal(tn_live_tensors(), tensors + 1);
    assert_ptr_equal(tn_module_to_dtype(m, TN_F32), m); /* nothing to do: nothing is replaced */
    assert_int_equal(tn_live_tensors(), tensors + 1);
    FAILS(tn_module_to_dtype(m, TN_I64), TN_ETYPE,
          "nn.Module.to only accepts floating point or complex dtypes, but got desired dtype=torch.int64");
    FAILS(tn_module_to_dtype(m, TN_BOOL), TN_ETYPE, "desired dtype=torch.bool");
    FAILS(tn_module_to_dtype(m, 77), TN_EINVAL, "77 is not a dtype");
    FAILS(tn_module_to_dtype(m, 0), TN_EINVAL, "is not a dtype");
    FAILS(tn_module_to_dtype(NULL, TN_F32), TN_EINVAL, "tn_module_to_dtype: an operand is NULL");
    tn_scope_close(scope);
}

/* The optimiser follows the moved parameter; a graph recorded before notices. */
static void holders_see_the_move(void **state)
{
    (void)state;
    tn_scope *scope = tn_scope_open();
    tn_module *m = BUILT(tn_nn_linear(2, 1));
    tn_tensor *w = tn_module_parameter(m, "weight"), *x = tn_ones(TN_SHAPE(1, 2), .requires_grad = true);
    tn_optimizer *opt = tn_sgd(m, 0.5);
    MADE(tn_init_constant_(w, 2));
    tn_tensor *y = MADE(tn_sum(tn_forward(m, x)));
    BUILT(tn_module_to_dtype(m, TN_F64));
    FAILS_STATUS(tn_backward(y), TN_EGRAD, "has been modified by an inplace operation");
    tn_module_zero_grad(m);
    OK(tn_backward(tn_sum(tn_forward(m, tn_ones(TN_SHAPE(1, 2), .dtype = TN_F64)))));
    OK(tn_optimizer_step(opt));
    PRINTS(values(w), "tensor([[1.5000, 1.5000]], dtype=torch.float64)");
    tn_optimizer_free(opt);
    tn_scope_close(scope);
}

/* A parameter that shows part of another tensor gets memory of its own. */
static void a_view_as_parameter(void **state)
{
    (void)state;
    tn_scope *scope = tn_scope_open();
    tn_tensor *whole = tn_reshape(tn_arange(0, 6, 1, .dtype = TN_F32), TN_SHAPE(2, 3));
    tn_tensor *p = MADE(tn_t(whole));
    tn_module *m = BUILT(tn_nn_identity());
    MADE(tn_module_add_parameter(m, "p", p));
    BUILT(tn_module_to_dtype(m, TN_F64));
    assert_false(tn_tensor_shares_memory(p, whole));
    PRINTS(values(p), "tensor([[0., 3.],\n        [1., 4.],\n        [2., 5.]], dtype=torch.float64)");
    OK(tn_backward(tn_sum(tn_mul(p, 2))));
    PRINTS(tn_tensor_grad(p), "tensor([[2., 2.],\n        [2., 2.],\n        [2., 2.]], dtype=torch.float64)");
    assert_int_equal(tn_tensor_dtype(whole), TN_F32);
    tn_scope_close(scope);
}

static void other_devices(void **state)
{
    (void)state;
    int64_t tensors = tn_live_tensors(), blocks = tn__door_live();
    tn_scope *scope = tn_scope_open();
    tn_module *m = with_buffers();
    tn_tensor *w = tn_module_parameter(m, "weight"), *mean = tn_module_buffer(m, "mean");
    OK(tn_backward(tn_sum(tn_forward(m, tn_ones(TN_SHAPE(1, 2))))));
    tn_tensor *g = tn_tensor_grad(w);
    assert_ptr_equal(tn_module_to(m, TN_CPU), m);
    assert_ptr_equal(tn_module_cpu(m), m);
    assert_ptr_equal(tn_module_buffer(m, "mean"), mean);
    FAILS(tn_module_cuda(m), TN_EDEVICE, "NVIDIA");
    FAILS(tn_module_cuda(m, 3), TN_EDEVICE, "NVIDIA");
    FAILS(tn_module_to(m, TN_CUDA(0)), TN_EDEVICE, "test_nn_state.c:");
    FAILS(tn_module_to(m, tn_device_parse("gpu")), TN_EINVAL, "at start of device string: gpu"); /* poisons */
    FAILS(tn_module_to(NULL, TN_CPU), TN_EINVAL, "tn_module_to: an operand is NULL");
    FAILS(tn_module_cpu(NULL), TN_EINVAL, "tn_module_cpu: an operand is NULL");
    FAILS(tn_module_cuda(NULL), TN_EINVAL, "tn_module_cuda: an operand is NULL");
    assert_ptr_equal(tn_module_to(m, TN_META), m);
    assert_ptr_equal(tn_module_parameter(m, "weight"), w);
    assert_ptr_equal(tn_tensor_grad(w), g);
    assert_int_equal(tn_tensor_device(w).type, TN_DEVICE_META);
    assert_int_equal(tn_tensor_device(g).type, TN_DEVICE_META);
    assert_int_equal(tn_tensor_device(tn_module_buffer(m, "count")).type, TN_DEVICE_META);
    assert_int_equal(tn_tensor_device(mean).type, TN_DEVICE_CPU);
    assert_int_equal(tn_tensor_size(tn_forward(m, tn_ones(TN_SHAPE(5, 2), .device = TN_META)), 1), 3);
    FAILS(tn_module_to(m, TN_CPU), TN_EDEVICE, "Cannot copy out of meta tensor; no data!");
    assert_int_equal(tn_tensor_device(w).type, TN_DEVICE_META);
    tn_scope_close(scope);
    assert_int_equal(tn_live_tensors(), tensors);
    assert_int_equal(tn__door_live(), blocks);
}

/* Memory runs out at each allocation in turn: the module is as it was, then the next call works. */
static void nothing_is_half_moved(void **state)
{
    (void)state;
    tn_scope *scope = tn_scope_open();
    tn_module *m = with_buffers(), *from = with_buffers();
    OK(tn_backward(tn_sum(tn_forward(m, tn_ones(TN_SHAPE(1, 2))))));
    tn_named s[6], before[6];
    assert_int_equal(tn_module_state(from, s, 6), 6);
    assert_int_equal(tn_module_state(m, before, 6), 6);
    double first = element(before[0].tensor, 0);
    for (int what = 0; what < 2; what++) {
        int64_t tensors = tn_live_tensors(), blocks = tn__door_live();
        int failures = 0;
        for (int64_t n = 1;; n++, failures++) {
            tn__door_fail(n);
            bool ok = what == 0 ? tn_module_load_state(m, s, 6) == TN_OK : tn_module_to_dtype(m, TN_F64) != NULL;
            tn__door_fail(0);
            if (ok)
                break;
            FAILS(NULL, TN_ENOMEM, "out of memory");
            tn_named now[6];
            assert_int_equal(tn_module_state(m, now, 6), 6);
            for (int i = 0; i < 6; i++)
                assert_true(now[i].tensor == before[i].tensor && now[i].name == before[i].name);
            assert_int_equal(tn_tensor_dtype(before[0].tensor), TN_F32);
            assert_int_equal(tn_tensor_dtype(tn_tensor_grad(before[0].tensor)), TN_F32);
            NEAR(element(before[0].tensor, 0), what ? element(s[0].tensor, 0) : first, 0);
            assert_int_equal(tn_live_tensors(), tensors);
            assert_int_equal(tn__door_live(), blocks);
        }
        assert_true(failures > (what ? 15 : 2));
    }
    assert_int_equal(tn_tensor_dtype(tn_tensor_grad(before[0].tensor)), TN_F64);
    tn_scope_close(scope);
}

/* A tensor that is a parameter here and a buffer there is one tensor, before and after. */
static void a_parameter_that_is_a_buffer_too(void **state)
{
    (void)state;
    tn_scope *scope = tn_scope_open();
    tn_module *inner = BUILT(tn_nn_linear(2, 1)), *net = BUILT(tn_nn_sequential(inner));
    tn_tensor *w = MADE(tn_module_parameter(net, "0.weight")), *apart = MADE(tn_ones(TN_SHAPE(2)));
    MADE(tn_module_add_buffer(net, "tied", w));
    MADE(tn_module_add_buffer(net, "apart", apart));
    MADE(tn_module_add_buffer(inner, "apart_too", apart));
    BUILT(tn_module_to_dtype(net, TN_F64));
    assert_ptr_equal(tn_module_parameter(net, "0.weight"), w);
    assert_ptr_equal(tn_module_buffer(net, "tied"), w);
    assert_int_equal(tn_tensor_dtype(w), TN_F64);
    assert_ptr_not_equal(tn_module_buffer(net, "apart"), apart);
    assert_ptr_equal(tn_module_buffer(net, "apart"), tn_module_buffer(net, "0.apart_too"));
    assert_int_equal(tn_tensor_dtype(apart), TN_F32);
    tn_scope_close(scope);
}

int main(void)
{
    setenv("TENON_NO_CACHE", "1", 1);
    warm_up();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(goes_from_one_to_another),
        cmocka_unit_test(converts),
        cmocka_unit_test(sources_inside_the_module),
        cmocka_unit_test(what_does_not_fit),
        cmocka_unit_test(not_strict),
        cmocka_unit_test(long_reports_are_cut),
        cmocka_unit_test(other_dtypes),
        cmocka_unit_test(holders_see_the_move),
        cmocka_unit_test(a_view_as_parameter),
        cmocka_unit_test(a_parameter_that_is_a_buffer_too),
        cmocka_unit_test(other_devices),
        cmocka_unit_test(nothing_is_half_moved),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
