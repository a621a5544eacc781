/* Each allocation of the host's memory made to fail in turn through a step over two GPUs, and through each piece. There is
 * an error each time, TN_ENOMEM; nothing leaks, nothing of the model has changed, device and streams of the thread are as they
 * were, and the next step works. TENON_NO_CACHE=1: each allocation passes the door. */
#include "fake/parallel/helpers.h"

typedef struct stage {
    tn_module *dp;
    tn_team *team;
    tn_optimizer *opt;
    tn_tensor *x, *y;
} stage;

/* A running count, in the first replica's buffer. */
static tn_tensor *counted_forward(tn_module *self, tn_tensor *x)
{
    tn_tensor *h = tn_tanh(tn_linear(x, tn_module_parameter(self, "w"), TN_NONE));
    bool was = tn_set_grad_enabled(false);
    bool ok = h && tn_add_(tn_module_buffer(self, "count"), 1);
    tn_set_grad_enabled(was);
    return ok ? tn_forward(tn_module_child(self, "head"), h) : NULL;
}

static tn_module *counted(void)
{
    static const tn_module_class cls = {.struct_size = sizeof cls, .name = "Counted", .forward = counted_forward};
    tn_manual_seed(7);
    tn_module *m = tn_module_new(&cls, NULL);
    tn_module_add_parameter(m, "w", tn_randn(TN_SHAPE(KIT_HIDDEN, KIT_IN)));
    tn_module_add_buffer(m, "count", tn_zeros(TN_SHAPE(1)));
    tn_module_add_child(m, "head", tn_nn_linear(KIT_HIDDEN, KIT_OUT));
    return m;
}

/* ---- what is made to fail: false after an error ---- */

static bool train(stage *s)
{
    tn_scope *scope = tn_scope_open();
    if (!scope)
        return false;
    tn_optimizer_zero_grad(s->opt);
    tn_tensor *loss = kit_loss(s->dp, s->x, s->y);
    bool ok = loss && tn_backward(loss) == TN_OK && tn_optimizer_step(s->opt) == TN_OK;
    tn_scope_close(scope);
    return ok;
}

static bool evaluate(stage *s)
{
    bool was = tn_set_grad_enabled(false);
    tn_scope *scope = tn_scope_open();
    bool ok = scope && tn_forward(s->dp, s->x);
    tn_scope_close(scope);
    tn_set_grad_enabled(was);
    return ok;
}

static bool make_anew(stage *s)
{
    tn_scope *scope = tn_scope_open();
    tn_module *dp = scope ? tn_nn_data_parallel(tn_module_child(s->dp, "module"), .device_ids = kit_gpus(2)) : NULL;
    bool ok = dp && tn_forward(dp, s->x);
    tn_scope_close(scope);
    return ok;
}

static bool differentiate_twice(stage *s)
{
    tn_scope *scope = tn_scope_open();
    tn_tensor *g[1], *loss = scope ? kit_loss(s->dp, s->x, s->y) : NULL;
    tn_tensor *w = loss ? tn_module_parameter(tn_module_child(s->dp, "module"), "head.weight") : NULL;
    bool ok = w && tn_grad(TN_TENSORS(loss), TN_TENSORS(w), g, .create_graph = true) == TN_OK &&
              tn_backward(tn_sum(tn_square(g[0]))) == TN_OK;
    tn_scope_close(scope);
    return ok;
}

static bool use_pieces(stage *s)
{
    tn_scope *scope = tn_scope_open();
    tn_tensor *xs[2], *out[2], *whole = NULL, *sum = NULL;
    tn_module *r[2];
    size_t n;
    tn_team_step *step = scope ? tn_team_step_new(s->team) : NULL;
    bool ok =
        step && tn_parallel_scatter(s->x, tn_team_step_devices(step), xs, &n, .step = step) == TN_OK &&
        tn_parallel_replicate(tn_module_child(s->dp, "module"), tn_team_step_devices(step), r, .step = step) == TN_OK &&
        tn_parallel_apply(r, ((tn_tensors){xs, 2}), out, .step = step) == TN_OK;
    if (ok) {
        whole = tn_parallel_gather(((tn_tensors){out, 2}), TN_CUDA(1), .step = step);
        sum = tn_parallel_reduce_add(TN_TENSORS(tn_sum(out[0]), tn_sum(out[1])), TN_CUDA(0), .step = step);
        ok = whole && sum && tn_backward_all(TN_TENSORS(tn_sum(whole), sum)) == TN_OK;
    }
    tn_team_step_release(step);
    tn_scope_close(scope);
    return ok;
}

static bool make_a_team(stage *s)
{
    (void)s;
    tn_team *team = tn_team_new(kit_gpus(2));
    tn_team_step *step = team ? tn_team_step_new(team) : NULL;
    tn_parallel_report rows[2];
    bool ok = step && tn_team_report(team, rows, 2) <= 2;
    tn_team_step_release(step);
    tn_team_release(team);
    return ok;
}

/* ---- one after the other ---- */

static bool at_home(void)
{
    bool ok = tn_cuda_current_device() == 0 && tn_is_grad_enabled();
    for (int32_t i = 0; i < 2; i++) {
        tn_stream *now = tn_cuda_current_stream(TN_CUDA(i)), *home = tn_cuda_default_stream(TN_CUDA(i));
        ok &= now && now == home;
        tn_stream_release(now);
        tn_stream_release(home);
    }
    return ok;
}

static void settle(stage *s)
{
    tn_optimizer_zero_grad(s->opt);
    OK(tn_synchronize(TN_CUDA(0)));
    OK(tn_synchronize(TN_CUDA(1)));
}

typedef struct model {
    size_t n;
    tn_tensor *p[KIT_MOST], *value[KIT_MOST];
} model;

static model look(tn_module *dp)
{
    model m;
    m.n = tn_module_parameters(dp, m.p, KIT_MOST);
    for (size_t i = 0; i < m.n; i++)
        m.value[i] = kit_copy(m.p[i]);
    return m;
}

/* The optimiser's step is all or nothing, as tests/torture says; so the parameters are as they were. */
static void same_model(const model *m)
{
    for (size_t i = 0; i < m->n; i++)
        CLOSE_TO(m->p[i], m->value[i], 0);
}

static void each_of(stage *s, bool (*run)(stage *s), const char *what, int least)
{
    int64_t n = 1, without = 0;
    for (;; n++) {
        tn_scope *scope = tn_scope_open();
        settle(s);
        model m = look(s->dp);
        int64_t tensors = tn_live_tensors(), blocks = tn__door_live(), passed = tn__door_count();
        tn__door_fail(n);
        bool ok = run(s), over = tn__door_count() - passed < n; /* some can be done without: events for the report */
        tn__door_fail(0);
        tn_status code = tn_error_code();
        settle(s);
        if (!at_home() || tn_live_tensors() > tensors || (!ok && code != TN_ENOMEM) ||
            tn__door_live() > blocks + 64) { /* events, users of blocks, kept copies: for next time */
            print_error("%s: allocation %lld: %s, %lld tensors and %lld blocks more: %s\n", what, (long long)n,
                        tn_status_name(code), (long long)(tn_live_tensors() - tensors),
                        (long long)(tn__door_live() - blocks), tn_error_message());
            fail();
        }
        tn_error_clear();
        if (!ok)
            same_model(&m);
        tn_scope_close(scope);
        if (over)
            break;
        without += ok;
        if (!run(s)) {
            print_error("%s: after allocation %lld failed: %s\n", what, (long long)n, tn_error_message());
            fail();
        }
    }
    print_message("count: %s: %lld allocations failed in turn, %lld were done without\n", what, (long long)(n - 1),
                  (long long)without);
    assert_true(n > least);
}

static void torture(kit_maker make, bool on_the_cpu)
{
    tn_scope *scope = tn_scope_open();
    tn_module *dp = kit_over(2, make());
    stage s = {dp, tn_team_new(kit_gpus(2)), tn_adamw(dp, 0.01), kit_rows(5), kit_classes(5)};
    s.y = MADE(tn_to(s.y, .device = TN_CUDA(0)));
    if (!on_the_cpu)
        s.x = MADE(tn_to(s.x, .device = TN_CUDA(0)));
    for (int i = 0; i < 3; i++)
        assert_true(train(&s) && evaluate(&s) && use_pieces(&s));
    int64_t blocks = tn__door_live();
    each_of(&s, train, "a training step", 60);
    each_of(&s, evaluate, "a forward", 10);
    each_of(&s, make_anew, "a new DataParallel and its first step", 40);
    if (make == kit_user)
        each_of(&s, differentiate_twice, "a double backward", 100);
    each_of(&s, use_pieces, "the pieces", 60);
    each_of(&s, make_a_team, "a team", 4);
    settle(&s);
    print_message("count: %lld blocks more than before\n", (long long)(tn__door_live() - blocks));
    assert_true(tn__door_live() <= blocks + 128); /* far less than one for each failure */
    tn_optimizer_free(s.opt);
    tn_team_release(s.team);
    kit_end(scope);
}

static void of_the_library(void **state)
{
    (void)state;
    torture(kit_sequential, true);
}

/* On threads. */
static void of_the_user(void **state)
{
    (void)state;
    torture(kit_user, false);
}

static void with_contexts(void **state)
{
    (void)state;
    int balance = atomic_load(&kit_parts_made) - atomic_load(&kit_parts_gone);
    torture(kit_held, false);
    assert_int_equal(atomic_load(&kit_parts_made) - atomic_load(&kit_parts_gone), balance);
}

static void with_buffers(void **state)
{
    (void)state;
    torture(counted, false);
}

int main(int argc, char **argv)
{
    static const alone tests[] = {
        ALONE(of_the_library, "TENON_FAKE_GPUS=2", "TENON_NO_CACHE=1"),
        ALONE(of_the_user, "TENON_FAKE_GPUS=2", "TENON_NO_CACHE=1"),
        ALONE(with_contexts, "TENON_FAKE_GPUS=2", "TENON_NO_CACHE=1"),
        ALONE(with_buffers, "TENON_FAKE_GPUS=2", "TENON_NO_CACHE=1"),
    };
    return alone_main(tests, sizeof tests / sizeof *tests, argc, argv);
}
