/* Own functions, as torch.autograd.Function has them. Values and texts are PyTorch 2.14's, but where a test says otherwise. */
#include "check.h"
#include <pthread.h>
#include <time.h>

static int destroyed;

static void gone(void *ctx)
{
    (void)ctx;
    destroyed++;
}

/* What a function's calls share. */
typedef struct call {
    int calls;
    bool gave[16];     /* which gradients of outputs came */
    tn_tensor *answer; /* what is handed back for input 0; NULL: what the function computes */
    tn_status fails;
    int64_t live;
} call;

static tn_tensor *floats(double a, double b)
{
    return MADE(tn_tensor_from(TN_LIST(a, b), .requires_grad = true));
}

/* A call of f on inputs, its forward without recording. */
#define FORWARD(type, name, expression) \
    bool was_##name = tn_set_grad_enabled(false); \
    type name = MADE(expression); \
    tn_set_grad_enabled(was_##name)

/* ---- one input, one output ---- */

static tn_status square_backward(tn_node *self, void *ctx, tn_tensor *const *g, size_t n_out, tn_tensor **grad,
                                 size_t n)
{
    call *c = ctx;
    assert_int_equal(n_out, 1);
    assert_int_equal(n, 1);
    assert_ptr_equal(tn_node_context(self), ctx);
    c->calls++;
    c->live = tn_live_tensors();
    tn_tensor *x = tn_node_saved(self, 0);
    grad[0] = c->answer ? tn_scope_hold(c->answer) : tn_mul(tn_mul(g[0], x), 2);
    return c->fails ? c->fails : grad[0] ? TN_OK : tn_error_code();
}

static const tn_function_class square_class = {
    .struct_size = sizeof square_class, .name = "MySquare", .backward = square_backward, .destroy = gone};

static tn_tensor *square(call *c, tn_tensor *x)
{
    tn_tensor *result;
    FORWARD(tn_tensor *, y, tn_mul(x, x));
    OK(tn_function_apply(&square_class, c, TN_TENSORS(x), TN_TENSORS(y), &result, .saved = TN_TENSORS(x)));
    return result;
}

static void one_to_one(void **state)
{
    (void)state;
    tn_scope *s = tn_scope_open();
    call c = {0};
    tn_tensor *x = floats(1, 2), *w = MADE(tn_mul(x, 3)), *y = square(&c, w);
    PRINTS(y, "tensor([ 9., 36.], grad_fn=<MySquareBackward>)");
    assert_false(tn_tensor_is_leaf(y));
    tn_node *n = tn_tensor_node(y), *next = tn_node_next(n, 0, NULL);
    assert_string_equal(tn_node_name(next).s, "MulBackward0");
    assert_null(tn_node_context(next));
    assert_int_equal(tn_node_saved_count(next), 0);
    assert_int_equal(tn_node_saved_count(n), 1);
    PRINTS(tn_node_saved(n, 0), "tensor([3., 6.], grad_fn=<MulBackward0>)"); /* with its history */
    FAILS(tn_node_saved(n, 1), TN_EINDEX, "tensor 1 of 1");
    OK(tn_backward(tn_sum(y), .retain_graph = true));
    PRINTS(tn_tensor_grad(x), "tensor([18., 36.])");
    OK(tn_backward(tn_sum(y)));
    PRINTS(tn_tensor_grad(x), "tensor([36., 72.])");
    FAILS_STATUS(tn_backward(tn_sum(y)), TN_EGRAD, "Trying to backward through the graph a second time");
    FAILS(tn_node_saved(n, 0), TN_EGRAD, "Trying to backward through the graph a second time");
    assert_int_equal(c.calls, 3);
    tn_node_release(next);
    tn_scope_close(s);
    assert_int_equal(destroyed, 0); /* the handle keeps it */
    tn_node_release(n);
    assert_int_equal(destroyed, 1);
}

static void gradients_that_do_not_fit(void **state)
{
    (void)state;
    tn_scope *s = tn_scope_open();
    call c = {.answer = MADE(tn_ones(TN_SHAPE(3)))};
    tn_tensor *x = floats(1, 2), *y = MADE(tn_sum(square(&c, x)));
    FAILS_STATUS(tn_backward(y, .retain_graph = true), TN_EGRAD,
                 "Function MySquareBackward returned an invalid gradient at index 0 - got [3] but expected shape "
                 "compatible with [2]");
    c.answer = MADE(tn_ones(TN_SHAPE()));
    FAILS_STATUS(tn_backward(y, .retain_graph = true), TN_EGRAD, "got [] but expected shape compatible with [2]");
    c.answer = MADE(tn_ones(TN_SHAPE(2), .device = TN_META));
    FAILS_STATUS(tn_backward(y, .retain_graph = true), TN_EGRAD, "expected device cpu but got meta");
    c.answer = NULL;
    c.fails = TN_ECANCELED;
    FAILS_STATUS(tn_backward(y, .retain_graph = true), TN_ECANCELED, "MySquareBackward failed");
    assert_null(tn_tensor_grad(x));
    c.fails = TN_OK;
    c.answer = MADE(tn_ones(TN_SHAPE(3, 2), .dtype = TN_F64)); /* what broadcasting makes of [2] */
    OK(tn_backward(y, .retain_graph = true));
    PRINTS(tn_tensor_grad(x), "tensor([3., 3.])");
    c.answer = MADE(tn_ones(TN_SHAPE(2), .dtype = TN_I64)); /* converted */
    OK(tn_backward(y, .retain_graph = true));
    PRINTS(tn_tensor_grad(x), "tensor([4., 4.])");
    c.answer = TN_NONE;
    OK(tn_backward(y));
    PRINTS(tn_tensor_grad(x), "tensor([4., 4.])");
    tn_scope_close(s);
}

static void saved_and_overwritten(void **state)
{
    (void)state;
    tn_scope *s = tn_scope_open();
    call c = {0};
    tn_tensor *x = floats(1, 2), *w = MADE(tn_mul(x, 3)), *y = MADE(tn_sum(square(&c, w)));
    MADE(tn_add_(w, 1));
    FAILS_STATUS(tn_backward(y), TN_EGRAD, "has been modified by an inplace operation");
    tn_scope_close(s);
}

static void where_nothing_is_recorded(void **state)
{
    (void)state;
    tn_scope *s = tn_scope_open();
    call c = {0};
    tn_tensor *x = floats(1, 2), *plain = MADE(tn_ones(TN_SHAPE(2))), *y;
    y = square(&c, plain);
    assert_false(tn_tensor_requires_grad(y));
    assert_int_equal(destroyed, 1);
    bool was = tn_set_grad_enabled(false);
    y = square(&c, x);
    tn_set_grad_enabled(was);
    assert_false(tn_tensor_requires_grad(y));
    assert_int_equal(destroyed, 2);
    tn_tensor *r = y;
    tn_function_class bad = square_class;
    bad.backward = NULL;
    FAILS_STATUS(tn_function_apply(&bad, &c, TN_TENSORS(x), TN_TENSORS(y), &r), TN_EINVAL, "no backward");
    assert_null(r);
    FAILS_STATUS(tn_function_apply(&square_class, &c, TN_TENSORS(NULL), TN_TENSORS(y), &r), TN_EINVAL, "MySquare");
    FAILS_STATUS(tn_function_apply(&square_class, &c, TN_TENSORS(x), TN_TENSORS(NULL), &r), TN_EINVAL, "MySquare");
    FAILS_STATUS(tn_function_apply(&square_class, &c, TN_TENSORS(x), TN_TENSORS(y), &r, .saved = TN_TENSORS(NULL)),
                 TN_EINVAL, "MySquare");
    FAILS_STATUS(tn_function_apply(NULL, &c, TN_TENSORS(x), TN_TENSORS(y), &r), TN_EINVAL, "class");
    assert_int_equal(destroyed, 2); /* not on error */
    tn_scope_close(s);
}

/* Without a scope every result is the caller's. */
static void without_a_scope(void **state)
{
    (void)state;
    call c = {0};
    tn_tensor *x = floats(1, 2), *y = MADE(tn_mul(MADE(x), 1)), *r[2];
    bool was = tn_set_grad_enabled(false);
    tn_tensor *z = MADE(tn_mul(x, x));
    tn_set_grad_enabled(was);
    OK(tn_function_apply(&square_class, &c, TN_TENSORS(x), TN_TENSORS(z, x), r, .saved = TN_TENSORS(x)));
    assert_ptr_equal(r[0], z);
    assert_ptr_not_equal(r[1], x);
    tn_release(z);
    tn_release(r[0]);
    tn_release(r[1]);
    tn_release(y);
    tn_release(x);
    assert_int_equal(destroyed, 1);
}

/* ---- higher derivatives: from a saved output, and through recorded operations ---- */

static tn_status exp_backward(tn_node *self, void *ctx, tn_tensor *const *g, size_t n_out, tn_tensor **grad, size_t n)
{
    (void)n_out;
    (void)n;
    (void)ctx;
    tn_tensor *y = tn_node_saved(self, 0);
    grad[0] = y ? tn_mul(g[0], y) : NULL;
    return grad[0] ? TN_OK : tn_error_code();
}

static void higher_orders(void **state)
{
    (void)state;
    static const tn_function_class exp_class = {
        .struct_size = sizeof exp_class, .name = "MyExp", .backward = exp_backward};
    tn_scope *s = tn_scope_open();
    call c = {0};
    tn_tensor *x = MADE(tn_zeros(TN_SHAPE(2), .requires_grad = true)), *y, *g[1], *h[1];
    FORWARD(tn_tensor *, e, tn_exp(x));
    OK(tn_function_apply(&exp_class, &c, TN_TENSORS(x), TN_TENSORS(e), &y, .saved = TN_TENSORS(e)));
    assert_ptr_equal(y, e); /* and no circle of references: nothing is left */
    OK(tn_grad(TN_TENSORS(tn_sum(y)), TN_TENSORS(x), g, .create_graph = true));
    PRINTS(tn_detach(g[0]), "tensor([1., 1.])");
    OK(tn_grad(TN_TENSORS(tn_sum(g[0])), TN_TENSORS(x), h, .create_graph = true));
    PRINTS(tn_detach(h[0]), "tensor([1., 1.])");
    OK(tn_grad(TN_TENSORS(tn_sum(h[0])), TN_TENSORS(x), g));
    PRINTS(g[0], "tensor([1., 1.])");
    x = floats(1, 3);
    OK(tn_grad(TN_TENSORS(tn_sum(square(&c, tn_square(x)))), TN_TENSORS(x), g, .create_graph = true)); /* x^4 */
    OK(tn_grad(TN_TENSORS(tn_sum(g[0])), TN_TENSORS(x), h));
    PRINTS(h[0], "tensor([ 12., 108.])");
    OK(tn_grad(TN_TENSORS(tn_sum(square(&c, x))), TN_TENSORS(x), g));
    assert_false(tn_tensor_requires_grad(g[0])); /* not recorded where it was not asked for */
    tn_scope_close(s);
}

/* ---- several ---- */

/* outputs[k] = a * (k + 1) + b * (k + 2) */
static tn_status many_backward(tn_node *self, void *ctx, tn_tensor *const *g, size_t n_out, tn_tensor **grad, size_t n)
{
    call *c = ctx;
    (void)self;
    c->calls++;
    for (size_t k = 0; k < n_out; k++) {
        c->gave[k] = g[k] != NULL;
        for (size_t i = 0; i < n && g[k]; i += n - 1) {
            tn_tensor *part = tn_mul(g[k], (double)(k + (i ? 2 : 1)));
            grad[i] = grad[i] ? tn_add(grad[i], part) : part;
        }
    }
    return TN_OK;
}

static const tn_function_class many_class = {
    .struct_size = sizeof many_class, .name = "Many", .backward = many_backward, .destroy = gone};

enum { OUTPUTS = 12 };

static void many(call *c, tn_tensor *a, tn_tensor *b, tn_tensor **result, bool no_zeros, const bool *no_gradient)
{
    tn_tensor *out[OUTPUTS];
    bool was = tn_set_grad_enabled(false);
    for (int k = 0; k < OUTPUTS; k++)
        out[k] = MADE(tn_add(tn_mul(a, k + 1.0), tn_mul(b, k + 2.0)));
    tn_set_grad_enabled(was);
    OK(tn_function_apply(&many_class, c, TN_TENSORS(a, TN_NONE, TN_NONE, TN_NONE, TN_NONE, b),
                         ((tn_tensors){out, OUTPUTS}), result, .none_for_zeros = no_zeros, .no_gradient = no_gradient));
}

static void several_of_each(void **state)
{
    (void)state;
    tn_scope *s = tn_scope_open();
    call c = {0};
    tn_tensor *a = floats(1, 2), *b = floats(3, 4), *y[OUTPUTS], *g[2];
    many(&c, a, b, y, true, NULL);
    tn_node *n = tn_tensor_node(y[0]), *m = tn_tensor_node(y[11]);
    assert_ptr_equal(n, m);
    tn_node_release(n);
    uint32_t output;
    tn_node_release(m);
    m = tn_tensor_gradient_node(y[7], &output);
    assert_int_equal(output, 7);
    assert_int_equal(tn_node_count(m), 6);
    assert_null(tn_node_next(m, 1, NULL));
    tn_node_release(m);
    OK(tn_backward(tn_add(tn_sum(y[3]), tn_sum(tn_mul(y[11], 10))), .retain_graph = true));
    PRINTS(tn_tensor_grad(a), "tensor([124., 124.])"); /* 4 + 12 * 10 */
    PRINTS(tn_tensor_grad(b), "tensor([135., 135.])");
    assert_true(c.gave[3] && c.gave[11] && !c.gave[0] && !c.gave[4]);
    OK(tn_retain_grad(y[9]));
    OK(tn_grad(TN_TENSORS(tn_sum(tn_mul(y[9], y[9]))), TN_TENSORS(y[9], a), g));
    PRINTS(g[0], "tensor([ 86., 128.])");
    PRINTS(g[1], "tensor([ 860., 1280.])");
    PRINTS(tn_tensor_grad(y[9]), "tensor([ 86., 128.])");
    many(&c, a, MADE(tn_ones(TN_SHAPE(2))), y, false, NULL); /* b needs none; zeros for what did not come */
    OK(tn_backward(tn_sum(y[1])));
    PRINTS(tn_tensor_grad(a), "tensor([126., 126.])");
    for (int k = 0; k < OUTPUTS; k++)
        assert_true(c.gave[k]);
    FAILS_STATUS(tn_backward_all(TN_TENSORS(y[1], y[2]), .gradients = TN_TENSORS(y[1])), TN_EGRAD, "got 2 tensors");
    tn_scope_close(s);
    assert_int_equal(destroyed, 2);
}

/* A pass that fails half way leaves nothing. */
static void several_that_fail(void **state)
{
    (void)state;
    tn_scope *s = tn_scope_open();
    call c = {.answer = MADE(tn_ones(TN_SHAPE(3)))};
    tn_tensor *a = floats(1, 2), *b = floats(3, 4), *y[OUTPUTS];
    many(&c, a, b, y, true, NULL);
    FAILS_STATUS(tn_backward_all(TN_TENSORS(tn_sum(y[5]), tn_sum(square(&c, a)))), TN_EGRAD, "got [3]");
    assert_int_equal(c.calls, 1);
    tn_scope_close(s);
    assert_int_equal(destroyed, 2);
}

static void outputs_without_a_gradient(void **state)
{
    (void)state;
    tn_scope *s = tn_scope_open();
    call c = {0};
    tn_tensor *a = floats(1, 2), *b = floats(3, 4), *y[OUTPUTS], *r[4];
    const bool no[OUTPUTS] = {[1] = true};
    many(&c, a, b, y, false, no);
    assert_true(tn_tensor_requires_grad(y[0]));
    assert_false(tn_tensor_requires_grad(y[1]));
    assert_true(tn_tensor_is_leaf(y[1]));
    OK(tn_backward(tn_sum(tn_mul(y[0], y[1]))));
    PRINTS(tn_tensor_grad(a), "tensor([11., 16.])");
    assert_true(c.gave[1]); /* zeros, though nothing can come */
    FORWARD(tn_tensor *, i, tn_argmax(a));
    FORWARD(tn_tensor *, part, tn_slice(a, 0, 0, 1, 1));
    const bool none[4] = {[2] = true, [3] = true};
    OK(tn_function_apply(&many_class, &c, TN_TENSORS(a, b), TN_TENSORS(i, TN_NONE, part, a), r, .no_gradient = none));
    PRINTS(r[0], "tensor(1)");
    assert_ptr_equal(r[1], TN_NONE);
    assert_false(
        tn_tensor_requires_grad(r[2])); /* though the view's base does; PyTorch says so too of what is no view */
    assert_false(tn_tensor_requires_grad(r[3]));
    assert_true(tn_tensor_shares_memory(r[3], a));
    assert_true(tn_tensor_requires_grad(a));
    tn_scope_close(s);
}

/* ---- outputs that are inputs, or show their memory ---- */

#define OWN_FUNCTION \
    " is a view and is being modified inplace. This view was created inside a custom Function (or because an input " \
    "was " \
    "returned as-is) and the autograd logic to handle view+inplace would override the custom backward associated " \
    "with the " \
    "custom Function, leading to incorrect gradients. This behavior is forbidden. You can fix this by cloning the " \
    "output " \
    "of the custom Function."

static void inputs_as_they_are(void **state)
{
    (void)state;
    tn_scope *s = tn_scope_open();
    call c = {0};
    tn_tensor *x = floats(1, 2), *y, *r[2];
    c.answer = MADE(tn_full(TN_SHAPE(2), 7.0));
    OK(tn_function_apply(&square_class, &c, TN_TENSORS(x), TN_TENSORS(x), &y, .saved = TN_TENSORS(x)));
    assert_ptr_not_equal(y, x);
    assert_true(tn_tensor_shares_memory(x, y) && tn_tensor_is_leaf(x));
    PRINTS(y, "tensor([1., 2.], grad_fn=<MySquareBackward>)");
    FAILS(tn_add_(y, 1), TN_EGRAD, "Output 0 of MySquare" OWN_FUNCTION);
    OK(tn_backward(tn_sum(tn_mul(y, 3))));
    PRINTS(tn_tensor_grad(x), "tensor([7., 7.])");
    /* a view that the forward made, and the same tensor twice */
    FORWARD(tn_tensor *, v, tn_slice(x, 0, 1, 2, 1));
    c.answer = NULL;
    OK(tn_function_apply(&many_class, &c, TN_TENSORS(x, x), TN_TENSORS(v, v), r));
    assert_ptr_equal(r[0], v);
    assert_ptr_equal(r[1], v);
    FAILS(tn_add_(r[1], 1), TN_EGRAD, "Output 1 of Many" OWN_FUNCTION);
    FAILS_STATUS(
        tn_backward(tn_sum(r[1])), TN_EGRAD,
        "Function ManyBackward returned an invalid gradient at index 0 - got [1] but expected shape compatible "
        "with [2]");
    bool was = tn_set_grad_enabled(false);
    OK(tn_function_apply(&square_class, &c, TN_TENSORS(x), TN_TENSORS(x), &y));
    tn_set_grad_enabled(was);
    assert_ptr_not_equal(y, x);
    tn_scope_close(s);
}

/* x *= 2, in place */
static tn_status twice_backward(tn_node *self, void *ctx, tn_tensor *const *g, size_t n_out, tn_tensor **grad, size_t n)
{
    (void)self;
    (void)n_out;
    (void)n;
    ((call *)ctx)->calls++;
    grad[0] = tn_mul(g[0], 2);
    return grad[0] ? TN_OK : tn_error_code();
}

static const tn_function_class twice_class = {
    .struct_size = sizeof twice_class, .name = "Twice_", .backward = twice_backward, .destroy = gone};

static tn_status twice_(call *c, tn_tensor *x, tn_tensor **r)
{
    const bool dirty[] = {true};
    FORWARD(tn_tensor *, y, tn_mul_(x, 2));
    return tn_function_apply(&twice_class, c, TN_TENSORS(x), TN_TENSORS(y), r, .dirty = dirty);
}

static void written_in_place(void **state)
{
    (void)state;
    tn_scope *s = tn_scope_open();
    call c = {0};
    tn_tensor *x = floats(1, 2), *b = MADE(tn_mul(x, 1)), *r, *rs[2];
    OK(twice_(&c, b, &r));
    assert_ptr_equal(r, b);
    PRINTS(b, "tensor([2., 4.], grad_fn=<Twice_Backward>)");
    OK(tn_backward(tn_sum(tn_mul(b, b))));
    PRINTS(tn_tensor_grad(x), "tensor([ 8., 16.])");
    FAILS_STATUS(twice_(&c, x, &r), TN_EGRAD,
                 "a leaf Variable that requires grad has been used in an in-place operation.");
    assert_null(r);
    /* a view: the rest of its base passes */
    x = MADE(tn_ones(TN_SHAPE(4), .requires_grad = true));
    b = MADE(tn_mul(x, 1));
    tn_tensor *v = MADE(tn_slice(b, 0, 0, 2, 1));
    OK(twice_(&c, v, &r));
    assert_ptr_equal(r, v);
    assert_string_equal(tn_tensor_grad_fn(b).s, "CopySlices");
    assert_string_equal(tn_tensor_grad_fn(v).s, "AsStridedBackward0");
    OK(tn_backward(tn_sum(b)));
    PRINTS(tn_tensor_grad(x), "tensor([2., 2., 1., 1.])");
    assert_int_equal(c.calls, 2);
    const bool dirty[] = {true, false};
    tn_tensor *w = floats(1, 2), *y = MADE(tn_ones(TN_SHAPE(2)));
    b = MADE(tn_mul(x, 1));
    v = MADE(tn_slice(b, 0, 0, 2, 1));
    FAILS_STATUS(
        tn_function_apply(&twice_class, &c, TN_TENSORS(v), TN_TENSORS(v, y), rs, .dirty = dirty), TN_EGRAD,
        "If your Function modifies inplace an input that is a view of another Tensor, your Function cannot return "
        "more than one Tensor.");
    FAILS_STATUS(tn_function_apply(&twice_class, &c, TN_TENSORS(b, w), TN_TENSORS(y), rs, .dirty = dirty), TN_EGRAD,
                 "The inputs that are modified inplace must all be outputs of the Function.");
    const bool second[] = {false, true};
    FAILS_STATUS(tn_function_apply(&twice_class, &c, TN_TENSORS(w, v), TN_TENSORS(v), rs, .dirty = second), TN_EGRAD,
                 "must be the first of at most 4 inputs");
    tn_scope_close(s);
    assert_int_equal(destroyed, 2);
}

/* A plain buffer, written to by a function of what needs a gradient: it is given a history, output 1's. */
static void a_buffer_written_to(void **state)
{
    (void)state;
    tn_scope *s = tn_scope_open();
    call c = {0};
    tn_tensor *w = floats(1, 2), *buffer = MADE(tn_zeros(TN_SHAPE(2))), *r[2];
    const bool dirty[] = {false, true};
    FORWARD(tn_tensor *, y, tn_mul(w, 5));
    FORWARD(tn_tensor *, written, tn_copy_(buffer, y));
    OK(tn_function_apply(&many_class, &c, TN_TENSORS(w, buffer), TN_TENSORS(y, written), r, .dirty = dirty,
                         .saved = TN_TENSORS(buffer)));
    assert_ptr_equal(r[1], buffer);
    assert_true(tn_tensor_requires_grad(buffer));
    OK(tn_retain_grad(buffer));
    OK(tn_backward(tn_sum(tn_mul(buffer, 2))));
    PRINTS(tn_tensor_grad(w), "tensor([4., 4.])");
    PRINTS(tn_tensor_grad(buffer), "tensor([2., 2.])");
    tn_scope_close(s);
}

/* ---- threads ---- */

static void *release_there(void *t)
{
    tn_release(t);
    return NULL;
}

static void released_elsewhere(void **state)
{
    (void)state;
    tn_scope *s = tn_scope_open();
    call c = {0};
    tn_tensor *y = tn_keep(square(&c, tn_mul(floats(1, 2), 1)));
    tn_scope_close(s);
    assert_int_equal(destroyed, 0);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, release_there, y), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(destroyed, 1);
}

/* ---- a check that looks around while a backward lasts ---- */

static int checks, answer_of_check;

static int check(void)
{
    checks++;
    tn_scope *scope = tn_scope_open(); /* it may use the library */
    tn_tensor *two = tn_add(tn_ones(TN_SHAPE()), 1);
    assert_true(two && tn_item(two) == 2);
    FAILS(tn_add(tn_ones(TN_SHAPE(2)), tn_ones(TN_SHAPE(3))), TN_EINVAL, "must match");
    tn_scope_close(scope);
    return answer_of_check;
}

static tn_status slow_backward(tn_node *self, void *ctx, tn_tensor *const *g, size_t n_out, tn_tensor **grad, size_t n)
{
    const struct timespec longer_than_between_checks = {0, 150 * 1000 * 1000};
    nanosleep(&longer_than_between_checks, NULL);
    return square_backward(self, ctx, g, n_out, grad, n);
}

static const tn_function_class slow_class = {
    .struct_size = sizeof slow_class, .name = "Slow", .backward = slow_backward, .destroy = gone};

static tn_tensor *slow(call *c, tn_tensor *x)
{
    tn_tensor *result;
    FORWARD(tn_tensor *, y, tn_mul(x, x));
    OK(tn_function_apply(&slow_class, c, TN_TENSORS(x), TN_TENSORS(y), &result, .saved = TN_TENSORS(x)));
    return result;
}

static void interrupted(void **state)
{
    (void)state;
    tn_scope *s = tn_scope_open();
    call first = {0}, second = {0};
    tn_tensor *x = floats(1, 2), *y = MADE(tn_sum(slow(&second, slow(&first, x))));
    tn_set_wait_check(check);
    OK(tn_backward(y, .retain_graph = true));
    PRINTS(tn_tensor_grad(x), "tensor([ 4., 32.])");
    assert_int_equal(checks, 1);
    OK(tn_tensor_set_grad(x, TN_NONE));
    answer_of_check = 1;
    FAILS_STATUS(tn_backward(y, .retain_graph = true), TN_ECANCELED, "interrupted");
    assert_null(tn_tensor_grad(x));
    assert_int_equal(second.calls, 2);
    assert_int_equal(first.calls, 1);
    tn_set_wait_check(NULL);
    OK(tn_backward(y));
    PRINTS(tn_tensor_grad(x), "tensor([ 4., 32.])");
    tn_scope_close(s);
}

static int before(void **state)
{
    (void)state;
    destroyed = 0;
    return 0;
}

static int nothing_is_left(void **state)
{
    (void)state;
    return tn_live_tensors() != 0;
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, before, nothing_is_left)
    const struct CMUnitTest tests[] = {
        TEST(one_to_one),
        TEST(gradients_that_do_not_fit),
        TEST(saved_and_overwritten),
        TEST(where_nothing_is_recorded),
        TEST(without_a_scope),
        TEST(higher_orders),
        TEST(several_of_each),
        TEST(several_that_fail),
        TEST(outputs_without_a_gradient),
        TEST(inputs_as_they_are),
        TEST(written_in_place),
        TEST(a_buffer_written_to),
        TEST(released_elsewhere),
        TEST(interrupted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
