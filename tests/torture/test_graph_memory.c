/* Every allocation made to fail in turn: own functions, hooks, other data, several roots, handles of nodes. Each time
 * there is an error, and nothing is left. TENON_NO_CACHE=1: every request passes the door. */
#include "../unit/nn_check.h"

enum { OUTPUTS = 10, HOOKS = 10 };

static int destroyed;

static void gone(void *ctx)
{
    (void)ctx;
    destroyed++;
}

static tn_status backward(tn_node *self, void *ctx, tn_tensor *const *g, size_t n_out, tn_tensor **grad, size_t n)
{
    (void)ctx;
    tn_tensor *saved = tn_node_saved(self, 0), *captured = tn_node_saved(self, 1),
              *out = tn_node_saved(self, n_out == 1 ? 0 : 2);
    tn_tensor *sum = g[0];
    for (size_t i = 1; i < n_out; i++)
        sum = tn_add(sum, g[i]);
    sum = tn_mul(tn_mul(sum, saved), tn_mul(captured, out));
    for (size_t i = 0; i < n && sum; i++)
        grad[i] = sum;
    return sum ? TN_OK : tn_error_code();
}

static const tn_function_class function = {
    .struct_size = sizeof function, .name = "Mine", .backward = backward, .destroy = gone};

/* What is made while recording is off; NULL where memory is out. */
static bool forward(tn_tensor *x, tn_tensor **out)
{
    bool was = tn_set_grad_enabled(false), ok = true;
    for (int i = 0; i < OUTPUTS; i++)
        ok &= (out[i] = i == 1 ? tn_retain(x) : tn_mul(x, i + 1.0)) != NULL;
    tn_set_grad_enabled(was);
    if (out[1])
        tn_release(out[1]);
    return ok;
}

static tn_status doubled(void *ctx, tn_tensor *t, tn_tensor **replaced)
{
    (void)ctx;
    if (replaced && !(*replaced = tn_mul(t, 2)))
        return tn_error_code();
    return TN_OK;
}

/* Several outputs, one of them an input; a captured tensor with a history; a write to a view. */
static bool functions(tn_tensor *x, tn_tensor **y)
{
    tn_tensor *out[OUTPUTS], *captured = tn_exp(x), *part, *written;
    const bool dirty[] = {true};
    int ctx;
    if (!captured || !forward(x, out) ||
        tn_function_apply(&function, &ctx, TN_TENSORS(x, TN_NONE), ((tn_tensors){out, OUTPUTS}), y,
                          .saved = TN_TENSORS(x, captured, out[2])))
        return false;
    tn_tensor *b = tn_mul(x, 1);
    if (!(part = tn_slice(b, 0, 0, 2, 1)))
        return false;
    bool was = tn_set_grad_enabled(false);
    part = tn_mul_(part, 2);
    tn_set_grad_enabled(was);
    if (!part || tn_function_apply(&function, &ctx, TN_TENSORS(part), TN_TENSORS(part), &written, .dirty = dirty,
                                   .saved = TN_TENSORS(part, part)))
        return false;
    y[OUTPUTS] = tn_sum(b);
    return y[OUTPUTS] != NULL;
}

static bool hooks(tn_tensor *x, tn_tensor *y)
{
    tn_hook *h = NULL;
    for (int i = 0; i < HOOKS; i++)
        if (tn_tensor_add_hook(i % 2 ? x : y, doubled, NULL, gone, NULL) ||
            tn_tensor_add_hook(x, doubled, NULL, gone, NULL))
            return false;
    if (tn_tensor_add_accumulate_hook(x, doubled, NULL, gone, &h))
        return false;
    tn_hook_remove(h);
    tn_hook_release(h);
    return tn_retain_grad(y) == TN_OK;
}

static bool everything(void)
{
    tn_tensor *y[OUTPUTS + 1], *sum = NULL;
    tn_tensor *x = tn_ones(TN_SHAPE(3), .requires_grad = true), *data = tn_full(TN_SHAPE(3), 2.0);
    if (!x || !data || tn_tensor_set_data(x, data) || !functions(x, y) || !hooks(x, y[7]))
        return false;
    for (int i = 0; i < OUTPUTS; i++)
        if (!(sum = tn_sum(i ? tn_add(sum, y[i]) : y[i])))
            return false;
    tn_node *n = tn_tensor_node(y[3]), *next = n ? tn_node_next(n, 0, NULL) : NULL;
    bool same = next && tn_node_leaf(next) == x;
    tn_node_release(n);
    tn_node_release(next);
    tn_tensor *g[2];
    return same && tn_grad(TN_TENSORS(sum), TN_TENSORS(x, y[7]), g, .create_graph = true) == TN_OK &&
           tn_grad(TN_TENSORS(tn_sum(g[0])), TN_TENSORS(x), g, .retain_graph = true) == TN_OK &&
           tn_backward_all(TN_TENSORS(sum, y[OUTPUTS])) == TN_OK;
}

static void each_in_turn(void **state)
{
    (void)state;
    int64_t tensors = tn_live_tensors(), blocks = tn__door_live(), n = 1;
    for (;; n++) {
        tn__door_fail(n);
        tn_scope *scope = tn_scope_open();
        bool ok = scope && everything();
        tn__door_fail(0);
        tn_scope_close(scope);
        assert_int_equal(tn_live_tensors(), tensors);
        assert_int_equal(tn__door_live(), blocks);
        assert_true(tn_is_grad_enabled());
        if (ok)
            break;
        if (tn_error_code() != TN_ENOMEM) {
            print_error("allocation %lld failed, but the error is '%s'\n", (long long)n, tn_error_message());
            fail();
        }
        tn_error_clear();
    }
    print_message("count: graphs: %lld allocations failed in turn\n", (long long)(n - 1));
    assert_true(n > 200);
    assert_true(destroyed > 100);
}

int main(void)
{
    setenv("TENON_NO_CACHE", "1", 1);
    tn_scope *scope = tn_scope_open(); /* a thread keeps what its first backward pass needs */
    bool ok = everything();
    tn_scope_close(scope);
    if (!ok) {
        fprintf(stderr, "%s\n", tn_error_message());
        return 1;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_in_turn)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
