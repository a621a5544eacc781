/* Autograd's rules: in place, views, versions, leaves, saved tensors, retain_graph, no-grad, detach. Each case names
 * what PyTorch 2.14.1 (CPU) gave for the same program: values, or the text of its error (without its 'Hint'). */
#include "check.h"
#include <math.h>
#include <pthread.h>
#include <stdlib.h>

static tn_scope *scope;
static int cases; /* programs compared with PyTorch's answer */

static int open_scope(void **state)
{
    (void)state;
    scope = tn_scope_open();
    return scope ? 0 : -1;
}

static int close_scope(void **state)
{
    (void)state;
    tn_scope_close(scope);
    tn_error_clear();
    return tn_live_tensors() == 0 ? 0 : -1;
}

#define T64(...)             tn_tensor_from(TN_LIST(__VA_ARGS__), .dtype = TN_F64)
#define LEAF(...)            tn_tensor_from(TN_LIST(__VA_ARGS__), .dtype = TN_F64, .requires_grad = true)
#define SECONDS(x, from, to) tn_slice((x), 0, (from), (to), 1)

/* The tensor's elements, row-major, are these. */
#define VALUES(t, ...) \
    values_((t), (const double[]){__VA_ARGS__}, sizeof((const double[]){__VA_ARGS__}) / sizeof(double), #t, __LINE__)
static void values_(tn_tensor *t, const double *want, size_t n, const char *what, int line)
{
    tn_scope *s = tn_scope_open();
    cases++;
    if (!t || (size_t)tn_tensor_numel(t) != n) {
        print_error("%s has %lld elements, not %zu: %s\n", what, (long long)tn_tensor_numel(t), n, tn_error_message());
        _fail(__FILE__, line);
    }
    tn_tensor *flat = tn_to(tn_reshape(tn_contiguous(tn_detach(t)), TN_SHAPE(-1)), .dtype = TN_F64);
    const double *got = tn_data(flat);
    for (size_t i = 0; i < n; i++)
        if (!(fabs(got[i] - want[i]) <= 4e-16 * fabs(want[i]))) {
            print_error("%s: element %zu is %.17g, PyTorch %.17g\n", what, i, got[i], want[i]);
            _fail(__FILE__, line);
        }
    tn_scope_close(s);
}

/* The call failed with a message whose first line is exactly this. */
#define TEXT(failed, text) text_((failed), (text), #failed, __LINE__)
static void text_(bool failed, const char *want, const char *what, int line)
{
    const char *got = tn_error_message();
    size_t n = strcspn(got, "\n");
    cases++;
    if (!failed || n != strlen(want) || strncmp(got, want, n) != 0) {
        print_error("%s %s:\n  %.*s\nPyTorch:\n  %s\n", what, failed ? "failed" : "did not fail", (int)n, got, want);
        _fail(__FILE__, line);
    }
    tn_error_clear();
}

#define AGAIN \
    "Trying to backward through the graph a second time (or directly access saved tensors after they have already " \
    "been " \
    "freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). Specify " \
    "retain_graph=True if you need to backward through the graph a second time or if you need to access saved " \
    "tensors " \
    "after calling backward."
#define CHANGED(type, shape, origin) \
    "one of the variables needed for gradient computation has been modified by an inplace operation: [torch." type \
    "Tensor " shape "]" origin \
    " is at version 1; expected version 0 instead. Hint: enable anomaly detection to find the operation that " \
    "failed to compute its gradient, with torch.autograd.set_detect_anomaly(True, check_nan=False)."
#define MULTIPLE(output, name) \
    "Output " output " of " name \
    " is a view and is being modified inplace. This view is the output of a function that " \
    "returns multiple views. Such functions do not allow the output views to be modified inplace. You should replace " \
    "the " \
    "inplace operation by an out-of-place one."
#define OVERLAP \
    "unsupported operation: more than one element of the written-to tensor refers to a single memory location. " \
    "Please " \
    "clone() the tensor before performing the operation."

/* ---- leaves ---- */

static void leaves_in_place(void **state)
{
    (void)state;
    tn_tensor *x = LEAF(1, 2, 3);
    TEXT(!tn_add_(x, 1), "a leaf Variable that requires grad is being used in an in-place operation.");
    TEXT(!tn_mul_(SECONDS(x, 0, 2), 2),
         "a view of a leaf Variable that requires grad is being used in an in-place operation.");
    VALUES(x, 1, 2, 3);
    assert_int_equal(tn_tensor_version(x), 0);
    bool was = tn_set_grad_enabled(false);
    MADE(tn_add_(x, 1));
    tn_set_grad_enabled(was);
    assert_int_equal(tn_tensor_version(x), 1);
    OK(tn_backward(tn_sum(tn_mul(x, x))));
    VALUES(x, 2, 3, 4);
    VALUES(tn_tensor_grad(x), 4, 6, 8);
}

static void leaf_flags(void **state)
{
    (void)state;
    tn_tensor *x = LEAF(1, 2);
    TEXT(!tn_requires_grad_(tn_tensor_from(TN_LIST(1, 2)), true),
         "only Tensors of floating point dtype can require gradients");
    TEXT(!tn_requires_grad_(tn_mul(x, 2), false), "you can only change requires_grad flags of leaf variables. If you "
                                                  "want to use a computed variable in a subgraph that "
                                                  "doesn't require differentiation use var_no_grad = var.detach().");
    TEXT(tn_tensor_set_grad(x, T64(1, 2, 3)) != TN_OK,
         "attempting to assign a gradient of size '[3]' to a tensor of size '[2]'. "
         "Please ensure that the gradient and the tensor are the same size");
    tn_tensor *y = tn_t(x), *first = tn_select(x, 0, 0);
    assert_true(tn_tensor_is_leaf(x) && !tn_tensor_is_leaf(y) && tn_tensor_requires_grad(y) &&
                !tn_tensor_is_leaf(first));
    assert_true(tn_requires_grad_(x, false) == x && !tn_tensor_requires_grad(x));
    cases += 2;
}

static void expanded_leaf(void **state)
{
    (void)state;
    tn_tensor *x = tn_requires_grad_(tn_expand(tn_ones(TN_SHAPE(1), .dtype = TN_F64), TN_SHAPE(3)), true);
    OK(tn_backward(tn_sum(tn_mul(x, T64(1, 2, 3)))));
    VALUES(tn_tensor_grad(x), 1, 2, 3);
}

/* ---- expanded views ---- */

static void expanded_views(void **state)
{
    (void)state;
    tn_tensor *x = LEAF(1, 2, 3), *y = tn_mul(x, 2);
    TEXT(!tn_add_(tn_expand(y, TN_SHAPE(2, 3)), 1), OVERLAP);
    TEXT(!tn_add_(tn_expand(tn_zeros(TN_SHAPE(1)), TN_SHAPE(3)), 1), OVERLAP);
    assert_int_equal(tn_tensor_version(y), 0);
    tn_tensor *e = tn_expand(SECONDS(x, 0, 1), TN_SHAPE(3));
    OK(tn_backward(tn_sum(tn_mul(e, e))));
    VALUES(tn_tensor_grad(x), 6, 0, 0);
}

/* ---- saved tensors that were overwritten ---- */

static void overwritten_outputs(void **state)
{
    (void)state;
    static tn_tensor *(*const f[])(tn_tensor *) = {(tn_exp), (tn_sqrt), (tn_relu), (tn_sigmoid), (tn_tanh), (tn_rsqrt)};
    static const char *const text[] = {
        CHANGED("Double", "[3]", ", which is output 0 of Exp,"),
        CHANGED("Double", "[3]", ", which is output 0 of Sqrt,"),
        CHANGED("Double", "[3]", ", which is output 0 of Relu,"),
        CHANGED("Double", "[3]", ", which is output 0 of Sigmoid,"),
        CHANGED("Double", "[3]", ", which is output 0 of Tanh,"),
        CHANGED("Double", "[3]", ", which is output 0 of Rsqrt,"),
    };
    for (size_t i = 0; i < sizeof f / sizeof *f; i++) {
        tn_tensor *x = LEAF(1, 4, 9), *y = f[i](x);
        MADE(tn_add_(y, 1));
        TEXT(tn_backward(tn_sum(y)) != TN_OK, text[i]);
        assert_null(tn_tensor_grad(x));
    }
}

/* PyTorch names what made the present value (Add, Pow, Zero), Tenon what made the saved one: meant, here and in the
 * design (a node saves an alias, not the variable). The rest of the text is the same. */
static void overwritten_inputs(void **state)
{
    (void)state;
    tn_tensor *x = LEAF(1, 2, 3), *y = tn_mul(x, 2), *z = tn_mul(y, y);
    MADE(tn_add_(y, 1));
    TEXT(tn_backward(tn_sum(z)) != TN_OK, CHANGED("Double", "[3]", ", which is output 0 of Mul,"));
    y = tn_mul(x, 2);
    z = tn_pow(y, 2);
    MADE(tn_pow_(y, 2));
    TEXT(tn_backward(tn_sum(z)) != TN_OK, CHANGED("Double", "[3]", ", which is output 0 of Mul,"));
    tn_tensor *a = tn_ones(TN_SHAPE(2, 3), .dtype = TN_F64, .requires_grad = true);
    tn_tensor *b = tn_ones(TN_SHAPE(3, 2), .dtype = TN_F64, .requires_grad = true), *c = tn_mul(a, 1), *d = tn_mm(c, b);
    MADE(tn_zero_(c));
    TEXT(tn_backward(tn_sum(d)) != TN_OK, CHANGED("Double", "[2, 3]", ", which is output 0 of Mul,"));
    y = tn_mul(x, 2); /* through a detached alias: here PyTorch names the same */
    z = tn_mul(y, y);
    MADE(tn_zero_(tn_detach(y)));
    TEXT(tn_backward(tn_sum(z)) != TN_OK, CHANGED("Double", "[3]", ", which is output 0 of Mul,"));
    tn_tensor *i = tn_tensor_from(TN_LIST(0, 0, 1));
    z = tn_gather(tn_mul(x, 2), 0, i);
    MADE(tn_zero_(i));
    TEXT(tn_backward(tn_sum(z)) != TN_OK, CHANGED("Long", "[3]", ""));
}

static void harmless_writes(void **state)
{
    (void)state;
    tn_tensor *x = LEAF(1, 2, 3), *y = tn_mul(x, 2), *z = tn_add(y, 1); /* add saves nothing */
    MADE(tn_add_(y, 1));
    OK(tn_backward(tn_sum(z)));
    VALUES(tn_tensor_grad(x), 2, 2, 2);
    x = LEAF(1, 2, 3);
    y = tn_mul(x, 2);
    MADE(tn_sigmoid_(y));
    OK(tn_backward(tn_sum(y)));
    VALUES(tn_tensor_grad(x), 0.20998717080701323, 0.035325412426582214, 0.004933018582719862);
    x = LEAF(1, 2, 3);
    y = tn_mul(x, x);
    MADE(tn_zero_(y));
    OK(tn_backward(tn_sum(tn_add(y, x))));
    VALUES(tn_tensor_grad(x), 1, 1, 1);
    x = LEAF(1, 2, 3);
    y = tn_mul(x, 2);
    MADE(tn_mul_(y, y));
    TEXT(tn_backward(tn_sum(y)) != TN_OK, CHANGED("Double", "[3]", ", which is output 0 of Mul,"));
}

/* ---- views ---- */

static void write_to_a_view(void **state)
{
    (void)state;
    tn_tensor *x = LEAF(1, 2, 3), *y = tn_mul(x, 2), *v = SECONDS(y, 1, 3);
    MADE(tn_mul_(v, 10));
    VALUES(y, 2, 40, 60);
    assert_string_equal(tn_tensor_grad_fn(y).s, "CopySlices");
    assert_string_equal(tn_tensor_grad_fn(v).s, "AsStridedBackward0");
    OK(tn_backward(tn_sum(y)));
    VALUES(tn_tensor_grad(x), 2, 20, 20);
}

static void write_to_the_base(void **state)
{
    (void)state;
    tn_tensor *x = LEAF(1, 2, 3), *y = tn_mul(x, 2), *v = SECONDS(y, 1, 3);
    MADE(tn_mul_(y, 3));
    VALUES(v, 12, 18);
    assert_string_equal(tn_tensor_grad_fn(v).s, "AsStridedBackward0");
    OK(tn_backward(tn_sum(v)));
    VALUES(tn_tensor_grad(x), 0, 6, 6);
}

static void views_of_views(void **state)
{
    (void)state;
    tn_tensor *x = LEAF(1, 2, 3), *y = tn_mul(x, 2), *v = tn_view(y, TN_SHAPE(3, 1)), *w = tn_t(v);
    MADE(tn_mul_(w, 3));
    VALUES(y, 6, 12, 18);
    assert_string_equal(tn_tensor_grad_fn(y).s, "CopySlices");
    assert_string_equal(tn_tensor_grad_fn(v).s, "AsStridedBackward0");
    assert_string_equal(tn_tensor_grad_fn(w).s, "AsStridedBackward0");
    assert_int_equal(tn_tensor_version(y), 1);
    OK(tn_backward(tn_sum(tn_mul(v, v))));
    VALUES(tn_tensor_grad(x), 72, 144, 216);
    x = LEAF(1, 2, 3);
    y = tn_mul(x, 2);
    v = tn_slice(y, 0, 0, 3, 2);
    MADE(tn_add_(v, T64(1, 1)));
    OK(tn_backward(tn_sum(tn_mul(v, tn_slice(y, 0, 0, 3, 2)))));
    VALUES(tn_tensor_grad(x), 12, 0, 28);
}

static void several_views_at_once(void **state)
{
    (void)state;
    tn_tensor *out[3], *x = LEAF(1, 2, 3);
    assert_int_equal(tn_split_sizes(tn_mul(x, 2), TN_INTS(1, 2), 0, out, 3), 2);
    TEXT(!tn_mul_(out[1], 2), MULTIPLE("1", "SplitWithSizes"));
    assert_int_equal(tn_chunk(tn_mul(x, 2), 2, 0, out, 3), 2);
    TEXT(!tn_mul_(out[1], 2), MULTIPLE("1", "Split"));
    assert_int_equal(tn_unbind(tn_mul(x, 2), 0, out, 3), 3);
    TEXT(!tn_mul_(out[1], 2), MULTIPLE("1", "Unbind"));
}

static void views_made_without_recording(void **state)
{
    (void)state;
    tn_tensor *x = LEAF(1, 2, 3), *y = tn_mul(x, 2);
    bool was = tn_set_grad_enabled(false);
    tn_tensor *v = SECONDS(y, 1, 3);
    tn_set_grad_enabled(was);
    TEXT(!tn_mul_(v, 2),
         "A view was created in no_grad mode and is being modified inplace with grad mode enabled. Given that this "
         "use case is ambiguous and error-prone, it is forbidden. You can clarify your code by moving both the "
         "view and the inplace either both inside the no_grad block (if you don't want the inplace to be tracked) "
         "or both outside (if you want the inplace to be tracked).");
}

static void writes_into_constants(void **state)
{
    (void)state;
    tn_tensor *x = LEAF(1, 2, 3), *y = tn_zeros(TN_SHAPE(3), .dtype = TN_F64);
    MADE(tn_mul_(tn_copy_(y, x), 2));
    assert_int_equal(tn_tensor_version(y), 2);
    assert_true(tn_tensor_requires_grad(y));
    OK(tn_backward(tn_sum(y)));
    VALUES(tn_tensor_grad(x), 2, 2, 2);
    x = LEAF(1, 2, 3);
    y = tn_zeros(TN_SHAPE(2, 3), .dtype = TN_F64);
    MADE(tn_copy_(tn_select(y, 0, 0), tn_mul(x, x)));
    OK(tn_backward(tn_sum(tn_mul(y, y))));
    VALUES(tn_tensor_grad(x), 4, 32, 108);
    x = LEAF(1, 2, 3);
    y = tn_clone(x);
    MADE(tn_fill_(tn_select(y, 0, 1), 5));
    OK(tn_backward(tn_sum(y)));
    VALUES(tn_tensor_grad(x), 1, 0, 1);
    assert_int_equal(tn_tensor_version(y), 1);
    x = LEAF(1, 2, 3);
    y = tn_masked_fill_(tn_clone(x), tn_tensor_from(TN_LIST(1, 0, 1), .dtype = TN_BOOL), 7);
    OK(tn_backward(tn_sum(tn_mul(y, y))));
    VALUES(tn_tensor_grad(x), 0, 4, 0);
}

/* ---- detach, no-grad ---- */

static void detached(void **state)
{
    (void)state;
    tn_tensor *x = LEAF(1, 2, 3), *y = tn_mul(x, 2), *d = tn_detach(y);
    assert_true(!tn_tensor_requires_grad(d) && tn_tensor_is_leaf(d) && tn_tensor_shares_memory(d, y));
    MADE(tn_add_(d, 1));
    VALUES(y, 3, 5, 7);
    assert_int_equal(tn_tensor_version(y), 1);
    tn_tensor *x2 = tn_requires_grad_(tn_detach(x), true);
    OK(tn_backward(tn_sum(tn_mul(x, x2))));
    VALUES(tn_tensor_grad(x), 1, 2, 3);
    VALUES(tn_tensor_grad(x2), 1, 2, 3);
    x = LEAF(1, 2, 3);
    y = tn_mul(x, 2);
    tn_tensor *v = tn_view(y, TN_SHAPE(3));
    MADE(tn_add_(tn_detach(v), 1));
    assert_int_equal(tn_tensor_version(v), 1);
    OK(tn_backward(tn_sum(tn_mul(v, 1))));
    VALUES(tn_tensor_grad(x), 2, 2, 2);
}

static void not_recorded(void **state)
{
    (void)state;
    tn_tensor *x = LEAF(1, 2, 3);
    bool was = tn_set_grad_enabled(false);
    assert_true(was && !tn_is_grad_enabled());
    tn_tensor *y = tn_mul(x, 2);
    assert_false(tn_set_grad_enabled(true));
    assert_true(!tn_tensor_requires_grad(y) && tn_tensor_is_leaf(y) && !*tn_tensor_grad_fn(y).s);
    cases++;
    static tn_tensor *(*const none[])(tn_tensor *) = {(tn_isnan), (tn_argmax), (tn_any),
                                                      (tn_all),   (tn_detach), (tn_logical_not)};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) /* without a derivative: not recorded */
        assert_false(tn_tensor_requires_grad(MADE(none[i](x))));
    assert_false(tn_tensor_requires_grad(tn_eq(x, x)));
}

/* ---- walking ---- */

static void walked_twice(void **state)
{
    (void)state;
    tn_tensor *x = LEAF(1, 2, 3), *y = tn_sum(tn_mul(x, x));
    OK(tn_backward(y));
    TEXT(tn_backward(y) != TN_OK, AGAIN);
    x = LEAF(1, 2, 3);
    y = tn_sum(tn_add(x, x)); /* nothing was saved, so nothing is missing */
    OK(tn_backward(y));
    OK(tn_backward(y));
    VALUES(tn_tensor_grad(x), 4, 4, 4);
    x = LEAF(1, 2, 3);
    y = tn_sum(tn_mul(x, x));
    OK(tn_backward(y, .retain_graph = true));
    OK(tn_backward(y));
    VALUES(tn_tensor_grad(x), 4, 8, 12);
    tn_tensor *inner = tn_mul(x, 2), *g;
    y = tn_sum(tn_mul(inner, inner));
    OK(tn_grad(TN_TENSORS(y), TN_TENSORS(inner), &g));
    VALUES(g, 4, 8, 12);
    TEXT(tn_backward(y) != TN_OK, AGAIN);
}

static void refused_walks(void **state)
{
    (void)state;
    tn_tensor *x = LEAF(1, 2, 3), *y = LEAF(1, 2, 3), *g[2];
    TEXT(tn_backward(tn_sum(T64(1, 2))) != TN_OK,
         "element 0 of tensors does not require grad and does not have a grad_fn");
    TEXT(tn_backward(tn_mul(x, 2)) != TN_OK, "grad can be implicitly created only for scalar outputs");
    TEXT(tn_backward(tn_mul(x, 2), .gradient = T64(1, 2)) != TN_OK,
         "Mismatch in shape: grad_output[0] has a shape of torch.Size([2]) and output[0] has a shape of "
         "torch.Size([3]).");
    TEXT(tn_grad(TN_TENSORS(tn_sum(tn_mul(x, 2))), TN_TENSORS(y), g) != TN_OK,
         "The differentiated Tensor at index 0 appears to not have been used in the graph. Set allow_unused=True if "
         "this is the "
         "desired behavior.");
    OK(tn_grad(TN_TENSORS(tn_sum(tn_mul(x, 2))), TN_TENSORS(x, y), g, .allow_unused = true));
    VALUES(g[0], 2, 2, 2);
    assert_null(g[1]);
    TEXT(tn_grad(TN_TENSORS(tn_sum(x)), TN_TENSORS(T64(1, 2)), g) != TN_OK,
         "One of the differentiated Tensors does not require grad");
    tn_tensor *w = tn_ones(TN_SHAPE(3), .dtype = TN_F64, .requires_grad = true), *p = tn_reshape(x, TN_SHAPE(1, 3));
    TEXT(!tn_nll_loss(p, tn_tensor_from(TN_LIST(1)), .weight = w),
         "The function 'nll_loss_forward' is not differentiable with respect to argument 'weight'. This input cannot "
         "have requires_grad True.");
    TEXT(!tn_binary_cross_entropy_with_logits(x, T64(0, 1, 0), .pos_weight = w),
         "The function 'binary_cross_entropy_with_logits' is not differentiable with respect to argument 'pos_weight'. "
         "This input cannot "
         "have requires_grad True.");
}

static void kept_gradients(void **state)
{
    (void)state;
    tn_tensor *x = LEAF(1, 2, 3), *y = tn_mul(x, x), *g[2];
    OK(tn_retain_grad(y));
    OK(tn_backward(tn_sum(tn_mul(y, 3))));
    VALUES(tn_tensor_grad(y), 3, 3, 3);
    VALUES(tn_tensor_grad(x), 6, 12, 18);
    TEXT(tn_retain_grad(T64(1, 2)) != TN_OK, "can't retain_grad on Tensor that has requires_grad=False");
    OK(tn_retain_grad(x));        /* a leaf does anyway */
    tn_tensor *z = LEAF(1, 2, 3); /* a write moves what keeps the gradient along */
    y = tn_mul(z, z);
    OK(tn_retain_grad(y));
    MADE(tn_mul_(y, 2));
    OK(tn_backward(tn_sum(tn_mul(y, 3))));
    VALUES(tn_tensor_grad(y), 3, 3, 3);
    VALUES(tn_tensor_grad(z), 12, 24, 36);
    z = LEAF(1, 2, 3);
    y = tn_mul(z, z);
    tn_tensor *v = SECONDS(y, 1, 3);
    OK(tn_retain_grad(v));
    MADE(tn_mul_(v, 2));
    OK(tn_backward(tn_sum(tn_mul(y, tn_sum(v)))));
    VALUES(tn_tensor_grad(v), 27, 27);
    VALUES(tn_tensor_grad(z), 52, 424, 636);
    y = tn_mul(x, 2);
    tn_tensor *w = tn_mul(y, 3);
    OK(tn_grad(TN_TENSORS(tn_sum(tn_mul(w, w))), TN_TENSORS(w, y), g));
    VALUES(g[0], 12, 24, 36);
    VALUES(g[1], 36, 72, 108);
    VALUES(tn_tensor_grad(x), 6, 12, 18);
}

/* The caller's own gradient may come back: it belongs to the caller's scope once, not twice. */
static void gradient_given_back(void **state)
{
    (void)state;
    int64_t alive = tn_live_tensors();
    tn_scope *s = tn_scope_open();
    tn_tensor *x = LEAF(1, 2, 3), *ones = T64(1, 2, 3), *g[2];
    OK(tn_grad(TN_TENSORS(tn_add(x, 1)), TN_TENSORS(x, x), g, .grad_outputs = TN_TENSORS(ones)));
    VALUES(g[0], 1, 2, 3);
    VALUES(g[1], 1, 2, 3);
    tn_scope_close(s);
    assert_int_equal(tn_live_tensors(), alive);
    x = tn_keep(LEAF(1, 2, 3)); /* and with no scope of its own */
    ones = tn_keep(T64(4, 5, 6));
    tn_tensor *y = tn_keep(tn_add(x, 1));
    OK(tn_grad(TN_TENSORS(y), TN_TENSORS(x), g, .grad_outputs = TN_TENSORS(ones)));
    VALUES(g[0], 4, 5, 6);
    tn_release(x);
    tn_release(y);
    tn_release(ones);
}

static void sums_of_gradients(void **state)
{
    (void)state;
    tn_tensor *x = LEAF(1, 2, 3);
    OK(tn_backward(tn_sum(tn_add(tn_add(tn_mul(x, x), tn_mul(x, 3)), x)))); /* used three times */
    OK(tn_backward(tn_sum(tn_mul(x, 2))));                                  /* and added to */
    VALUES(tn_tensor_grad(x), 8, 10, 12);
    tn_tensor *a = LEAF(1, 2, 3),
              *b = tn_tensor_from(TN_LIST(1.0, 2.0), .shape = TN_SHAPE(2, 1), .dtype = TN_F64, .requires_grad = true);
    OK(tn_backward(tn_sum(tn_mul(a, b))));
    VALUES(tn_tensor_grad(a), 3, 3, 3);
    VALUES(tn_tensor_grad(b), 6, 6);
    tn_tensor *zero = tn_full(TN_SHAPE(), 2.0, .dtype = TN_F64, .requires_grad = true),
              *f = tn_ones(TN_SHAPE(2, 3), .requires_grad = true);
    OK(tn_backward(tn_sum(tn_mul(tn_mul(zero, f), f))));
    VALUES(tn_tensor_grad(zero), 6);
    VALUES(tn_tensor_grad(f), 4, 4, 4, 4, 4, 4);
    assert_int_equal(tn_tensor_dtype(tn_tensor_grad(f)), TN_F32);
    tn_tensor *half = tn_tensor_from(TN_LIST(1.0, 2.0), .requires_grad = true);
    OK(tn_backward(tn_sum(tn_mul(tn_to(half, .dtype = TN_F64), 2))));
    VALUES(tn_tensor_grad(half), 2, 2);
    assert_int_equal(tn_tensor_dtype(tn_tensor_grad(half)), TN_F32);
}

static void gradients_are_own_memory(void **state)
{
    (void)state;
    tn_tensor *x = LEAF(1, 2, 3), *y = LEAF(1, 2, 3), *g = T64(1, 1, 1);
    OK(tn_backward(tn_add(x, y), .gradient = g));
    assert_false(tn_tensor_shares_memory(tn_tensor_grad(x), tn_tensor_grad(y)));
    assert_false(tn_tensor_shares_memory(tn_tensor_grad(x), g));
    MADE(tn_mul_(g, 5));
    VALUES(tn_tensor_grad(x), 1, 1, 1);
    OK(tn_tensor_set_grad(x, TN_NONE));
    assert_null(tn_tensor_grad(x));
}

static void higher_orders(void **state)
{
    (void)state;
    tn_tensor *x = LEAF(2, 3), *g, *h, *k;
    OK(tn_grad(TN_TENSORS(tn_sum(tn_pow(x, 3))), TN_TENSORS(x), &g, .create_graph = true));
    OK(tn_grad(TN_TENSORS(tn_sum(g)), TN_TENSORS(x), &h, .create_graph = true));
    OK(tn_grad(TN_TENSORS(tn_sum(h)), TN_TENSORS(x), &k));
    VALUES(g, 12, 27);
    VALUES(h, 12, 18);
    VALUES(k, 6, 6);
}

static void padding_learns_nothing(void **state)
{
    (void)state;
    tn_tensor *w =
        tn_tensor_from(TN_LIST(1, 2, 3, 4, 5, 6), .shape = TN_SHAPE(3, 2), .dtype = TN_F64, .requires_grad = true);
    OK(tn_backward(tn_sum(tn_embedding(w, tn_tensor_from(TN_LIST(0, 2, 2)), .padding_idx = tn_scalar_i(2)))));
    VALUES(tn_tensor_grad(w), 1, 1, 0, 0, 0, 0);
    tn_tensor *x = LEAF(3, 1, 2);
    OK(tn_backward(tn_max(x)));
    VALUES(tn_tensor_grad(x), 1, 0, 0);
}

/* ---- long graphs ---- */

enum { NODES = 100000, SMALL_STACK = 128 * 1024 };

/* A chain, and a chain in which each node is used twice, as deep as NODES; walked, and released unwalked. A frame of 2
 * bytes a node would already be too much for the stack. */
static void *long_graphs(void *result)
{
    for (int kind = 0; kind < 3; kind++) {
        tn_scope *outer = tn_scope_open();
        tn_tensor *x = tn_full(TN_SHAPE(2), 1.0, .dtype = TN_F64, .requires_grad = true), *y = x;
        for (int i = 0; i < NODES && y; i++) {
            tn_scope *s = tn_scope_open();
            y = kind == 1 ? tn_mul(tn_add(y, y), 0.5) : tn_add(y, 1);
            i += kind == 1;
            tn_scope_close_keep(s, y);
        }
        tn_tensor *g = NULL;
        bool right = y != NULL;
        if (kind < 2)
            right = right && tn_backward(tn_sum(y)) == TN_OK && tn_item(tn_select(tn_tensor_grad(x), 0, 0)) == 1;
        if (kind == 1) {
            y = x;
            for (int i = 0; i < NODES && y; i++)
                y = tn_add(y, 1);
            right = right &&
                    tn_grad(TN_TENSORS(y), TN_TENSORS(x), &g, .grad_outputs = TN_TENSORS(tn_ones_like(x))) == TN_OK &&
                    tn_item(tn_select(g, 0, 1)) == 1;
        }
        tn_scope_close(outer);
        *(bool *)result = *(bool *)result && right && tn_live_tensors() == 0;
    }
    return NULL;
}

static void without_recursion(void **state)
{
    (void)state;
    bool right = true;
    pthread_t thread;
    pthread_attr_t attr;
    assert_int_equal(pthread_attr_init(&attr), 0);
    assert_int_equal(pthread_attr_setstacksize(&attr, SMALL_STACK), 0);
    assert_int_equal(pthread_create(&thread, &attr, long_graphs, &right), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    pthread_attr_destroy(&attr);
    assert_true(right);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, open_scope, close_scope)
    const struct CMUnitTest tests[] = {
        TEST(leaves_in_place),
        TEST(leaf_flags),
        TEST(expanded_leaf),
        TEST(expanded_views),
        TEST(overwritten_outputs),
        TEST(overwritten_inputs),
        TEST(harmless_writes),
        TEST(write_to_a_view),
        TEST(write_to_the_base),
        TEST(views_of_views),
        TEST(several_views_at_once),
        TEST(views_made_without_recording),
        TEST(writes_into_constants),
        TEST(detached),
        TEST(not_recorded),
        TEST(walked_twice),
        TEST(refused_walks),
        TEST(kept_gradients),
        TEST(gradient_given_back),
        TEST(sums_of_gradients),
        TEST(gradients_are_own_memory),
        TEST(higher_orders),
        TEST(padding_learns_nothing),
        cmocka_unit_test(without_recursion),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    printf("count: autograd: %d answers compared with PyTorch's; one difference is meant (what an overwritten input is "
           "called)\n",
           cases);
    return failed;
}
