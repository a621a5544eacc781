/* The recorded graph: handles of nodes, hooks, several roots. Values, orders and texts are PyTorch 2.14's, but where a test
 * says otherwise. */
#include "check.h"
#include <pthread.h>

static tn_tensor *leaf(double a, double b)
{
    return MADE(tn_tensor_from(TN_LIST(a, b), .requires_grad = true));
}

static void named(tn_node *n, const char *name)
{
    assert_string_equal(tn_node_name(n).s, name);
}

/* ---- nodes ---- */

static void walking_the_graph(void **state)
{
    (void)state;
    tn_scope *s = tn_scope_open();
    tn_tensor *x = leaf(1, 2), *w = leaf(3, 4), *y = MADE(tn_sum(tn_add(tn_mul(x, 2), w)));
    uint32_t output = 7;
    tn_node *sum = tn_tensor_node(y), *add = tn_node_next(sum, 0, &output), *mul = tn_node_next(add, 0, NULL),
            *to_x = tn_node_next(mul, 0, &output), *to_w = tn_node_next(add, 1, NULL);
    named(sum, "SumBackward0");
    named(add, "AddBackward0");
    named(mul, "MulBackward0");
    named(to_x, "AccumulateGrad");
    assert_int_equal(output, 0);
    assert_int_equal(tn_node_count(sum), 1);
    assert_int_equal(tn_node_count(add), 2);
    assert_int_equal(tn_node_count(mul), 2);
    assert_null(tn_node_next(mul, 1, NULL)); /* a number */
    assert_null(tn_node_next(mul, 2, NULL));
    assert_int_equal(tn_node_count(to_x), 0);
    assert_ptr_equal(tn_node_leaf(to_x), x);
    assert_ptr_equal(tn_node_leaf(to_w), w);
    assert_null(tn_node_leaf(mul));
    tn_node *again = tn_tensor_node(y), *direct = tn_tensor_gradient_node(x, NULL);
    assert_ptr_equal(again, sum);
    assert_ptr_equal(direct, to_x);
    assert_null(tn_tensor_node(x)); /* a leaf */
    assert_null(tn_tensor_gradient_node(MADE(tn_ones(TN_SHAPE(1))), &output));
    tn_node *all[] = {sum, add, mul, to_x, to_w, again, direct};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        tn_node_release(all[i]);
    tn_scope_close(s);
}

static void a_node_keeps_what_it_was_made_from(void **state)
{
    (void)state;
    tn_scope *s = tn_scope_open();
    tn_node *n = tn_tensor_node(MADE(tn_exp(leaf(1, 2)))), *more = tn_node_retain(n);
    tn_scope_close(s);
    tn_node_release(more);
    tn_node *to = tn_node_next(n, 0, NULL);
    PRINTS(tn_node_leaf(to), "tensor([1., 2.], requires_grad=True)");
    tn_node_release(n);
    tn_node_release(to);
    assert_string_equal(tn_node_name(NULL).s, "");
    assert_int_equal(tn_node_count(NULL), 0);
    assert_null(tn_node_next(NULL, 0, NULL));
    assert_null(tn_node_leaf(NULL));
    assert_null(tn_tensor_node(NULL));
    assert_null(tn_node_retain(NULL));
    tn_node_release(NULL);
}

/* A chain of any length can be walked from its end, and is released without recursion. */
static void a_long_chain(void **state)
{
    (void)state;
    enum { LENGTH = 200000 };
    tn_scope *s = tn_scope_open();
    tn_tensor *x = leaf(1, 2), *y = x;
    for (int i = 0; i < LENGTH; i++) {
        tn_tensor *next = MADE(tn_add(y, 1));
        if (y != x)
            tn_release(y);
        y = next;
    }
    tn_node *n = tn_tensor_node(y);
    int seen = 0;
    while (!tn_node_leaf(n)) {
        tn_node *next = tn_node_next(n, 0, NULL);
        tn_node_release(n);
        n = next;
        seen++;
    }
    assert_int_equal(seen, LENGTH);
    tn_node_release(n);
    tn_scope_close(s);
}

/* ---- hooks ---- */

/* What a hook was called with, and what it does. */
typedef struct seen {
    char log[512];
    const char *name;
    double times, plus; /* what it hands back: g * times + plus; times 0: nothing */
    tn_tensor *hand_back;
    tn_status fails;
    int destroyed;
    struct seen *to; /* whose log */
} seen;

static void note(seen *h, const char *text)
{
    seen *to = h->to ? h->to : h;
    snprintf(to->log + strlen(to->log), sizeof to->log - strlen(to->log), "%s%s;", h->name ? h->name : "", text);
}

static tn_status look(void *ctx, tn_tensor *t, tn_tensor **replaced)
{
    seen *h = ctx;
    char text[128];
    if (tn_to_string(replaced ? t : tn_tensor_grad(t), text, sizeof text) < 0)
        return tn_error_code();
    note(h, text);
    if (h->times != 0)
        *replaced = tn_add(tn_mul(t, h->times), h->plus);
    if (h->hand_back)
        *replaced = tn_scope_hold(h->hand_back);
    return h->fails;
}

static void gone(void *ctx)
{
    ((seen *)ctx)->destroyed++;
}

static tn_hook *watch(tn_tensor *t, seen *h)
{
    tn_hook *handle;
    OK(tn_tensor_add_hook(t, look, h, gone, &handle));
    return handle;
}

static void orders_and_values(void **state)
{
    (void)state;
    tn_scope *s = tn_scope_open();
    seen a = {.name = "a "}, twice = {.times = 2, .name = "", .to = &a}, b = {.name = "b ", .to = &a},
         on_x = {.name = "x ", .to = &a}, plus = {.times = 1, .plus = 1, .name = "", .to = &a},
         after = {.name = "post ", .to = &a};
    tn_tensor *x = leaf(1, 2), *y = MADE(tn_mul(x, x));
    seen *on_y[] = {&a, &twice, &b};
    for (int i = 0; i < 3; i++)
        OK(tn_tensor_add_hook(y, look, on_y[i], gone, NULL));
    OK(tn_retain_grad(y));
    OK(tn_tensor_add_accumulate_hook(x, look, &after, gone, NULL));
    OK(tn_tensor_add_hook(x, look, &on_x, gone, NULL));
    OK(tn_tensor_add_hook(x, look, &plus, gone, NULL));
    tn_tensor *z = MADE(tn_add(tn_sum(tn_mul(y, 3)), tn_sum(tn_mul(y, x)))), *g[2];
    OK(tn_backward(z, .retain_graph = true));
    const char *pass =
        "a tensor([4., 5.]);tensor([4., 5.]);b tensor([ 8., 10.]);x tensor([17., 44.]);tensor([17., 44.]);";
    assert_memory_equal(a.log, pass, strlen(pass));
    assert_string_equal(a.log + strlen(pass), "post tensor([18., 45.]);");
    PRINTS(tn_tensor_grad(y), "tensor([ 8., 10.])");
    PRINTS(tn_tensor_grad(x), "tensor([18., 45.])");
    a.log[0] = '\0';
    OK(tn_grad(TN_TENSORS(z), TN_TENSORS(x), g, .retain_graph = true)); /* .grad of leaves is left alone */
    assert_string_equal(a.log, pass);
    PRINTS(g[0], "tensor([18., 45.])");
    PRINTS(tn_tensor_grad(x), "tensor([18., 45.])");
    OK(tn_grad(TN_TENSORS(z), TN_TENSORS(y), g, .retain_graph = true));
    PRINTS(g[0], "tensor([ 8., 10.])"); /* what the hooks made of it */
    a.log[0] = '\0';
    OK(tn_backward(z, .inputs = TN_TENSORS(x)));
    assert_memory_equal(a.log, pass, strlen(pass));
    assert_string_equal(a.log + strlen(pass), "post tensor([36., 90.]);");
    tn_scope_close(s);
    assert_int_equal(a.destroyed + twice.destroyed + b.destroyed + on_x.destroyed + plus.destroyed + after.destroyed,
                     6);
}

static int count_callback(void (*destroy)(void *), void *ctx, void *arg)
{
    (void)ctx;
    *(int *)arg += destroy == gone;
    return *(int *)arg == 3;
}

/* What a collector of cycles is shown: hooks that go with their one holder. */
static void visits(void **state)
{
    (void)state;
    int n = 0;
    seen a = {.name = "a"};
    tn_tensor *x = tn_requires_grad_(tn_ones(TN_SHAPE(2)), true), *y = MADE(tn_mul(x, 2));
    OK(tn_tensor_add_hook(x, look, &a, gone, NULL));
    OK(tn_tensor_add_hook(y, look, &a, gone, NULL));
    OK(tn_tensor_add_accumulate_hook(x, look, &a, gone, NULL));
    tn_node *node = tn_tensor_node(y);
    assert_int_equal(tn_tensor_visit_callbacks(x, count_callback, &n), 0); /* y's graph has it too */
    assert_int_equal(tn_tensor_visit_callbacks(y, count_callback, &n), 0); /* and 'node' y's */
    assert_int_equal(tn_node_visit_callbacks(node, count_callback, &n), 0);
    assert_int_equal(n, 0);
    tn_release(y);
    assert_int_equal(tn_node_visit_callbacks(node, count_callback, &n), 0);
    assert_int_equal(n, 1);
    tn_node_release(node);
    assert_int_equal(tn_tensor_visit_callbacks(x, count_callback, &n), 1); /* the second of them ends it */
    assert_int_equal(n, 3);
    assert_int_equal(tn_tensor_visit_callbacks(NULL, count_callback, &n), 0);
    assert_int_equal(tn_node_visit_callbacks(NULL, count_callback, &n), 0);
    tn_release(x);
    assert_int_equal(a.destroyed, 3);
}

static tn_status pass_on(tn_node *self, void *ctx, tn_tensor *const *grad_outputs, size_t n_out,
                         tn_tensor **grad_inputs, size_t n_in)
{
    (void)self, (void)ctx, (void)n_out, (void)n_in;
    grad_inputs[0] = grad_outputs[0];
    return TN_OK;
}

static int callbacks_of(tn_tensor *t)
{
    int n = 0;
    assert_int_equal(tn_tensor_visit_callbacks(t, count_callback, &n), 0);
    return n;
}

/* Down the edges, too, to what has one reference; hooks can be taken out, which ends a cycle. */
static void visits_along_edges(void **state)
{
    (void)state;
    tn_scope *s = tn_scope_open();
    seen hook = {.name = "hook"}, function = {.name = "function"};
    const tn_function_class cls = {.struct_size = sizeof cls, .name = "Same", .backward = pass_on, .destroy = gone};
    tn_tensor *x = leaf(1, 2), *y = MADE(tn_mul(x, 2)), *r[1], *z;
    OK(tn_tensor_add_hook(y, look, &hook, gone, NULL));
    OK(tn_function_apply(&cls, &function, TN_TENSORS(y), TN_TENSORS(tn_clone(tn_detach(y))), r));
    z = MADE(tn_add(r[0], 1));
    tn_keep(z);
    tn_keep(y);
    tn_scope_close(s);
    assert_int_equal(callbacks_of(z), 1); /* y keeps its hook */
    tn_release(y);
    assert_int_equal(callbacks_of(z), 2);
    tn_tensor *again = tn_retain(z);
    assert_int_equal(callbacks_of(z), 0);
    tn_tensor_drop_hooks(z);
    assert_int_equal(hook.destroyed, 0);
    tn_release(again);
    tn_tensor_drop_hooks(z);
    assert_int_equal(hook.destroyed, 1);
    assert_int_equal(callbacks_of(z), 1); /* the function stays */
    tn_tensor_drop_hooks(NULL);
    tn_node_drop_hooks(NULL);
    tn_release(z);
    assert_int_equal(function.destroyed, 1);
}

static void removal(void **state)
{
    (void)state;
    tn_scope *s = tn_scope_open();
    seen one = {.name = "1"}, two = {.name = "2", .to = &one}, on_y = {.name = "y", .to = &one};
    tn_tensor *x = leaf(1, 2), *y = MADE(tn_mul(x, 2));
    tn_hook *first = watch(x, &one), *second = watch(x, &two), *third = watch(y, &on_y);
    tn_hook_remove(first);
    tn_hook_remove(first);
    assert_int_equal(one.destroyed, 1); /* its handle keeps nothing of it */
    tn_hook_release(first);
    assert_int_equal(one.destroyed, 1);
    OK(tn_backward(tn_sum(y), .retain_graph = true));
    assert_string_equal(one.log, "ytensor([1., 1.]);2tensor([2., 2.]);");
    tn_hook_release(second); /* the hook stays */
    assert_int_equal(two.destroyed, 0);
    tn_hook_remove(third);
    one.log[0] = '\0';
    OK(tn_backward(tn_sum(y)));
    assert_string_equal(one.log, "2tensor([2., 2.]);");
    PRINTS(tn_tensor_grad(x), "tensor([4., 4.])");
    tn_scope_close(s);
    assert_int_equal(two.destroyed, 1);
    tn_hook_remove(third); /* of a tensor that is gone */
    tn_hook_release(third);
    assert_int_equal(on_y.destroyed, 1);
    tn_hook_remove(NULL);
    tn_hook_release(NULL);
}

/* A hook of a computed tensor is its history's: after a write in place the tensor has another one. */
static void writes_in_place(void **state)
{
    (void)state;
    tn_scope *s = tn_scope_open();
    seen before = {.name = "old"}, now = {.name = "new", .to = &before};
    tn_tensor *x = leaf(1, 1), *y = MADE(tn_mul(x, 2));
    tn_hook *a = watch(y, &before);
    MADE(tn_mul_(y, 5));
    tn_hook *b = watch(y, &now);
    OK(tn_backward(tn_sum(y)));
    assert_string_equal(before.log, "newtensor([1., 1.]);oldtensor([5., 5.]);");
    PRINTS(tn_tensor_grad(x), "tensor([10., 10.])");
    tn_hook_release(a);
    tn_hook_release(b);
    tn_scope_close(s);
}

static void second_order(void **state)
{
    (void)state;
    tn_scope *s = tn_scope_open();
    tn_tensor *x = MADE(tn_full(TN_SHAPE(), 3.0, .requires_grad = true)), *y = MADE(tn_mul(x, x)), *g[1], *h[1];
    seen by_y = {.hand_back = y};
    tn_hook *a = watch(y, &by_y);
    OK(tn_grad(TN_TENSORS(tn_mul(y, 2)), TN_TENSORS(x), g, .create_graph = true)); /* 2 * x * y, not 2 * x * 2 */
    PRINTS(tn_detach(g[0]), "tensor(54.)");
    OK(tn_grad(TN_TENSORS(g[0]), TN_TENSORS(x), h)); /* the hook looks again */
    PRINTS(h[0], "tensor(72.)");
    by_y.hand_back = NULL;
    tn_hook_remove(a);
    tn_hook_release(a);
    tn_scope_close(s);
}

static void what_hooks_do_wrong(void **state)
{
    (void)state;
    tn_scope *s = tn_scope_open();
    tn_tensor *x = leaf(1, 2), *y = MADE(tn_mul(x, 2)), *z = MADE(tn_sum(y));
    seen h = {.hand_back = MADE(tn_ones(TN_SHAPE(3)))};
    tn_hook *a = watch(y, &h);
    FAILS_STATUS(tn_backward(z, .retain_graph = true), TN_EGRAD, "hook has changed the size of value");
    h.hand_back = MADE(tn_ones(TN_SHAPE(2), .dtype = TN_F64));
    FAILS_STATUS(tn_backward(z, .retain_graph = true), TN_EGRAD, "hook has changed the type of value");
    h.hand_back = NULL;
    h.fails = TN_ECANCELED;
    FAILS_STATUS(tn_backward(z, .retain_graph = true), TN_ECANCELED, "a hook failed");
    assert_null(tn_tensor_grad(x));
    h.fails = TN_OK;
    OK(tn_backward(z));
    PRINTS(tn_tensor_grad(x), "tensor([2., 2.])");
    tn_hook_release(a);
    tn_tensor *plain = MADE(tn_ones(TN_SHAPE(2)));
    FAILS_STATUS(tn_tensor_add_hook(plain, look, &h, gone, &a), TN_EGRAD,
                 "cannot register a hook on a tensor that doesn't require gradient");
    assert_null(a);
    FAILS_STATUS(tn_tensor_add_accumulate_hook(plain, look, &h, gone, NULL), TN_EGRAD,
                 "cannot register a hook on a tensor that doesn't require gradient");
    FAILS_STATUS(tn_tensor_add_accumulate_hook(y, look, &h, gone, NULL), TN_EGRAD,
                 "post accumulate grad hooks cannot be registered on non-leaf tensors");
    FAILS_STATUS(tn_tensor_add_hook(NULL, look, &h, gone, NULL), TN_EINVAL, "tn_tensor_add_hook");
    FAILS_STATUS(tn_tensor_add_hook(x, NULL, &h, gone, NULL), TN_EINVAL, "NULL");
    assert_int_equal(h.destroyed, 0);
    tn_scope_close(s);
    assert_int_equal(h.destroyed, 1);
}

/* What a callback makes dies with it; a scope it forgets is closed; recording is off in it, and on again after it. */
static tn_status careless(void *ctx, tn_tensor *t, tn_tensor **replaced)
{
    (void)replaced;
    int64_t *live = ctx;
    *live = tn_live_tensors();
    tn_scope_open();
    if (!tn_mul(t, 2) || tn_is_grad_enabled())
        return TN_EINVAL;
    tn_set_grad_enabled(true);
    return TN_OK;
}

static tn_status counted(void *ctx, tn_tensor *t, tn_tensor **replaced)
{
    (void)replaced;
    (void)t;
    *(int64_t *)ctx -= tn_live_tensors();
    return TN_OK;
}

static void callbacks_leave_nothing(void **state)
{
    (void)state;
    tn_scope *s = tn_scope_open();
    int64_t live = 0;
    tn_tensor *x = leaf(1, 2), *y = MADE(tn_mul(x, 2));
    OK(tn_tensor_add_hook(y, careless, &live, NULL, NULL));
    OK(tn_tensor_add_hook(y, counted, &live, NULL, NULL));
    OK(tn_backward(tn_sum(y)));
    assert_int_equal(live, 0);
    assert_true(tn_is_grad_enabled());
    tn_scope_close(s);
}

/* More hooks than a list on the stack has; from two threads. */
static tn_status count_calls(void *ctx, tn_tensor *t, tn_tensor **replaced)
{
    (void)t;
    (void)replaced;
    (*(_Atomic int *)ctx)++;
    return TN_OK;
}

static void *add_and_remove(void *arg)
{
    static _Atomic int unused;
    for (int i = 0; i < 500; i++) {
        tn_hook *h;
        if (tn_tensor_add_hook(arg, count_calls, &unused, NULL, &h))
            return arg;
        tn_hook_remove(h);
        tn_hook_release(h);
    }
    return NULL;
}

static void many_hooks(void **state)
{
    (void)state;
    tn_scope *s = tn_scope_open();
    static _Atomic int calls;
    tn_tensor *x = leaf(1, 2);
    for (int i = 0; i < 20; i++)
        OK(tn_tensor_add_hook(x, count_calls, &calls, NULL, NULL));
    pthread_t other;
    assert_int_equal(pthread_create(&other, NULL, add_and_remove, x), 0);
    for (int i = 0; i < 100; i++)
        OK(tn_backward(tn_sum(tn_mul(x, 2))));
    void *failed;
    assert_int_equal(pthread_join(other, &failed), 0);
    assert_null(failed);
    assert_int_equal(calls, 2000);
    PRINTS(tn_tensor_grad(x), "tensor([200., 200.])");
    tn_scope_close(s);
}

/* The whole of a step of training in a hook: the gradient of one leaf is not kept until those of all are there. */
static tn_status step(void *ctx, tn_tensor *t, tn_tensor **replaced)
{
    (void)ctx;
    (void)replaced;
    if (!tn_sgd_step_(t, tn_tensor_grad(t), TN_NONE, 0.5, 0, 0, 0, false, true, false))
        return tn_error_code();
    return tn_tensor_set_grad(t, TN_NONE);
}

static void a_step_in_a_hook(void **state)
{
    (void)state;
    tn_scope *s = tn_scope_open();
    tn_tensor *x = leaf(1, 2), *w = leaf(3, 4);
    OK(tn_tensor_add_accumulate_hook(x, step, NULL, NULL, NULL));
    OK(tn_tensor_add_accumulate_hook(w, step, NULL, NULL, NULL));
    OK(tn_backward(tn_sum(tn_mul(x, w))));
    PRINTS(tn_detach(x), "tensor([-0.5000,  0.0000])");
    PRINTS(tn_detach(w), "tensor([2.5000, 3.0000])");
    assert_null(tn_tensor_grad(x));
    tn_scope_close(s);
}

/* ---- several roots ---- */

static void several_roots(void **state)
{
    (void)state;
    tn_scope *s = tn_scope_open();
    tn_tensor *x = leaf(1, 1), *w = leaf(1, 1), *y = MADE(tn_mul(x, 2)), *h = MADE(tn_sum(y));
    tn_tensor *ten = MADE(tn_tensor_from(TN_LIST(10.0, 20.0)));
    OK(tn_backward_all(TN_TENSORS(h, y), .gradients = TN_TENSORS(TN_NONE, ten)));
    PRINTS(tn_tensor_grad(x), "tensor([22., 42.])");
    OK(tn_backward_all(TN_TENSORS(x), .gradients = TN_TENSORS(MADE(tn_ones(TN_SHAPE(2)))))); /* a leaf */
    PRINTS(tn_tensor_grad(x), "tensor([23., 43.])");
    tn_tensor *a = MADE(tn_sum(tn_mul(x, w))), *b = MADE(tn_sum(tn_mul(x, x)));
    OK(tn_backward_all(TN_TENSORS(a, b), .inputs = TN_TENSORS(w), .retain_graph = true));
    PRINTS(tn_tensor_grad(w), "tensor([1., 1.])");
    PRINTS(tn_tensor_grad(x), "tensor([23., 43.])");
    OK(tn_backward_all(TN_TENSORS(a, b)));
    PRINTS(tn_tensor_grad(x), "tensor([26., 46.])");
    OK(tn_backward_all(((tn_tensors){NULL, 0}))); /* nothing */
    FAILS_STATUS(tn_backward_all(TN_TENSORS(a, b)), TN_EGRAD, "Trying to backward through the graph a second time");
    FAILS_STATUS(tn_backward_all(TN_TENSORS(y, y), .gradients = TN_TENSORS(ten)), TN_EGRAD,
                 "got 2 tensors and 1 gradients");
    FAILS_STATUS(tn_backward_all(TN_TENSORS(h, ten)), TN_EGRAD,
                 "element 1 of tensors does not require grad and does not have a grad_fn");
    FAILS_STATUS(tn_backward_all(TN_TENSORS(h, y)), TN_EGRAD, "grad can be implicitly created only for scalar outputs");
    tn_scope_close(s);
}

/* ---- inference mode ---- */

static void inference_mode(void **state)
{
    (void)state;
    tn_scope *s = tn_scope_open();
    tn_tensor *x = leaf(1, 2), *plain = MADE(tn_ones(TN_SHAPE(2)));
    assert_false(tn_is_inference_mode());
    bool was = tn_set_grad_enabled(false);
    assert_false(tn_set_inference_mode(true));
    assert_true(tn_is_inference_mode());
    tn_tensor *i = MADE(tn_ones(TN_SHAPE(2))), *sum = MADE(tn_add(x, 1)), *view = MADE(tn_slice(x, 0, 0, 1, 1)),
              *again = MADE(tn_detach(plain));
    MADE(tn_add_(i, 1));
    MADE(tn_add_(plain, 1)); /* stays what it is */
    tn_tensor *own = MADE(tn_requires_grad_(tn_zeros(TN_SHAPE(1)), true));
    assert_true(tn_set_inference_mode(false));
    tn_set_grad_enabled(was);
    assert_true(tn_tensor_is_inference(i) && tn_tensor_is_inference(sum) && tn_tensor_is_inference(own));
    assert_false(tn_tensor_is_inference(view) || tn_tensor_is_inference(plain) || tn_tensor_is_inference(again));
    assert_false(tn_tensor_requires_grad(sum));
    assert_true(tn_tensor_is_inference(tn_slice(i, 0, 0, 1, 1)) && tn_tensor_is_inference(tn_detach(i)));
    assert_false(tn_tensor_is_inference(tn_clone(i)) || tn_tensor_is_inference(tn_add(i, 1)));
    assert_false(tn_tensor_is_inference(NULL));
    MADE(tn_add(x, i)); /* its values are not needed */
    FAILS(tn_mul(x, i), TN_EGRAD,
          "Inference tensors cannot be saved for backward. Please do not use Tensors created in "
          "inference mode in computation tracked by autograd.");
    FAILS(tn_add_(i, 1), TN_EGRAD, "Inplace update to inference tensor outside InferenceMode is not allowed.");
    FAILS(tn_requires_grad_(i, true), TN_EGRAD,
          "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.");
    PRINTS(i, "tensor([2., 2.])");
    OK(tn_backward(tn_sum(tn_mul(x, tn_clone(i)))));
    PRINTS(tn_tensor_grad(x), "tensor([2., 2.])");
    tn_scope_close(s);
}

/* ---- anomalies ---- */

static struct {
    int recorded, forgotten;
    char log[256];
} watched;

static void *keeps_a_place(void)
{
    watched.recorded++;
    return &watched.recorded;
}

static void forgets(void *place)
{
    assert_ptr_equal(place, &watched.recorded);
    watched.forgotten++;
}

static void tells(const char *node, void *place)
{
    const size_t used = strlen(watched.log);
    snprintf(watched.log + used, sizeof watched.log - used, "%s %s;", node, place ? "known" : "unknown");
}

/* The derivative that makes NaN of nothing times infinity fails where one is looked for, and says which it was. */
static void anomalies(void **state)
{
    (void)state;
    tn_scope *s = tn_scope_open();
    tn_tensor *x = MADE(tn_requires_grad_(tn_zeros(TN_SHAPE(2)), true));
    tn_tensor *before = MADE(tn_sum(tn_mul(tn_sqrt(x), 0)));
    tn_anomaly_watch w = {.struct_size = sizeof w, .check_nan = true, .recorded = keeps_a_place, .failed = tells};
    assert_int_equal(tn_watch_anomalies(&w), TN_EINVAL); /* nobody to forget */
    w.forget = forgets;
    w.struct_size--;
    assert_int_equal(tn_watch_anomalies(&w), TN_EINVAL);
    w.struct_size++;
    tn_error_clear();
    OK(tn_watch_anomalies(&w));
    assert_int_equal(tn_backward(before), TN_EGRAD);
    assert_string_equal(watched.log, "SqrtBackward0 unknown;");
    tn_tensor *y = MADE(tn_sum(tn_mul(tn_sqrt(x), 0)));
    assert_int_equal(watched.recorded, 3);
    assert_int_equal(tn_backward(y), TN_EGRAD);
    assert_non_null(strstr(tn_error_message(), "Function 'SqrtBackward0' returned nan values in its 0th output."));
    assert_string_equal(watched.log, "SqrtBackward0 unknown;SqrtBackward0 known;");
    tn_error_clear();
    OK(tn_backward(tn_sum(tn_mul(x, 2)))); /* what has none */
    w.check_nan = false;
    OK(tn_watch_anomalies(&w));
    OK(tn_backward(tn_sum(tn_mul(tn_sqrt(x), 0))));
    OK(tn_watch_anomalies(NULL));
    const int recorded = watched.recorded;
    MADE(tn_sqrt(x));
    assert_int_equal(watched.recorded, recorded);
    tn_scope_close(s);
    assert_int_equal(watched.forgotten, recorded);
}

static int nothing_is_left(void **state)
{
    (void)state;
    return tn_live_tensors() != 0;
}

int main(void)
{
#define TEST(f) cmocka_unit_test_teardown(f, nothing_is_left)
    const struct CMUnitTest tests[] = {
        TEST(walking_the_graph),
        TEST(a_node_keeps_what_it_was_made_from),
        TEST(a_long_chain),
        TEST(orders_and_values),
        TEST(visits),
        TEST(visits_along_edges),
        TEST(removal),
        TEST(writes_in_place),
        TEST(second_order),
        TEST(what_hooks_do_wrong),
        TEST(callbacks_leave_nothing),
        TEST(many_hooks),
        TEST(a_step_in_a_hook),
        TEST(several_roots),
        TEST(inference_mode),
        TEST(anomalies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
