/* What goes wrong in the middle: each allocation of a training step over several streams made to fail in turn; devices that
 * have too little memory, or die on the way. There is an error each time, nothing leaks, the thread's streams are as they
 * were, and the next step works. */
#include "unit/nn_check.h"
#include "fake/own_process.h"
#include "backend/cuda/cuda.h"
#include <tenon/cuda.h>

typedef struct stage {
    tn_module *net;
    tn_optimizer *opt;
    tn_tensor *x, *y, *scale;
    tn_stream *side;
} stage;

/* The last layer's scale is a number on the CPU; half of the net is on another stream. */
static bool make(stage *s)
{
    const tn_device d = TN_CUDA(0);
    tn_manual_seed(5);
    s->net =
        tn_module_to(tn_nn_sequential(tn_nn_linear(6, 8), tn_nn_relu(), tn_nn_dropout(0.25), tn_nn_linear(8, 3)), d);
    s->opt = tn_adamw(s->net, 0.01);
    s->x = tn_randn(TN_SHAPE(5, 6));
    s->y = tn_to(tn_tensor_from(TN_LIST(0, 1, 2, 1, 0)), .device = d);
    s->scale = tn_tensor_from(TN_LIST(1.5), .shape = TN_SHAPE(), .requires_grad = true);
    s->side = tn_cuda_stream_new(d, 0);
    return s->net && s->opt && s->x && s->y && s->scale && s->side;
}

static void drop(stage *s)
{
    tn_optimizer_free(s->opt);
    tn_stream_release(s->side);
}

static tn_tensor *loss_of(stage *s, tn_stream *home)
{
    tn_tensor *x = tn_to(tn_t(tn_t(s->x)), .device = TN_CUDA(0), .non_blocking = true);
    if (!x || tn_stream_wait_stream(s->side, home))
        return NULL;
    tn_stream_guard g = tn_stream_enter(s->side);
    tn_tensor *h = tn_forward(s->net, x);
    tn_stream_leave(g);
    if (!h || tn_stream_wait_stream(home, s->side))
        return NULL;
    return tn_add(tn_cross_entropy(tn_mul(h, s->scale), s->y), tn_mul(tn_to(tn_mean(h), .device = TN_CPU), 0.1));
}

/* One step, as a user writes it. False after an error. */
static bool step(stage *s)
{
    tn_scope *scope = tn_scope_open();
    tn_stream *home = scope ? tn_cuda_current_stream(TN_CUDA(0)) : NULL;
    bool cleared = home && tn_tensor_set_grad(s->scale, TN_NONE) == TN_OK;
    tn_optimizer_zero_grad(s->opt);
    tn_tensor *loss = cleared ? loss_of(s, home) : NULL;
    bool ok = loss && tn_backward(loss) == TN_OK && tn_clip_grad_norm_(s->net, 1, NULL) == TN_OK &&
              tn_optimizer_step(s->opt) == TN_OK;
    tn_stream_release(home);
    tn_scope_close(scope);
    return ok;
}

static bool on_the_default_stream(void)
{
    tn_stream *now = tn_cuda_current_stream(TN_CUDA(0)), *home = tn_cuda_default_stream(TN_CUDA(0));
    bool same = now && now == home;
    tn_stream_release(now);
    tn_stream_release(home);
    return same;
}

static void clear_gradients(stage *s)
{
    tn_optimizer_zero_grad(s->opt);
    OK(tn_tensor_set_grad(s->scale, TN_NONE));
    OK(tn_synchronize(TN_CUDA(0)));
}

/* Every allocation of a warm step, of the host's memory, in turn. TENON_NO_CACHE=1: each passes the door. */
static void each_host_allocation(void **state)
{
    (void)state;
    stage s;
    tn_scope *scope = tn_scope_open();
    assert_true(make(&s));
    for (int i = 0; i < 3; i++)
        assert_true(step(&s));
    int64_t n = 1;
    for (;; n++) {
        clear_gradients(&s);
        int64_t tensors = tn_live_tensors(), blocks = tn__door_live();
        tn__door_fail(n);
        bool ok = step(&s);
        tn__door_fail(0);
        tn_status code = tn_error_code();
        clear_gradients(&s);
        if (!on_the_default_stream() || tn_live_tensors() != tensors || (!ok && code != TN_ENOMEM) ||
            tn__door_live() > blocks + 8) { /* events and users of blocks are kept for next time */
            print_error("allocation %lld: %s, %lld tensors and %lld blocks more: %s\n", (long long)n,
                        tn_status_name(code), (long long)(tn_live_tensors() - tensors),
                        (long long)(tn__door_live() - blocks), tn_error_message());
            fail();
        }
        tn_error_clear();
        if (ok)
            break;
        assert_true(step(&s));
    }
    print_message("count: %lld allocations failed in turn\n", (long long)(n - 1));
    assert_true(n > 100);
    drop(&s);
    tn_scope_close(scope);
    assert_int_equal(tn_live_tensors(), 0);
}

/* A device that has no memory left: an error, and the step can be tried again. */
static void no_device_memory(void **state)
{
    (void)state;
    stage s;
    tn_scope *scope = tn_scope_open();
    assert_true(make(&s) && step(&s));
    tn_scope *inner = tn_scope_open();
    clear_gradients(&s);
    tn_empty_cache(TN_CUDA(0));
    tn__cu.fake_set_faults("oom");
    FAILS(tn_ones(TN_SHAPE(8 << 20), .device = TN_CUDA(0)), TN_ENOMEM,
          "CUDA out of memory. Tried to allocate 32.00 MiB");
    tn_tensor *near = tn_ones(TN_SHAPE(8 << 20));
    FAILS(tn_to(near, .device = TN_CUDA(0), .dtype = TN_F64), TN_ENOMEM, "CUDA out of memory.");
    tn__cu.fake_set_faults("");
    MADE(tn_to(near, .device = TN_CUDA(0), .dtype = TN_F64));
    tn_scope_close(inner);
    assert_true(step(&s));
    drop(&s);
    tn_scope_close(scope);
    assert_int_equal(tn_live_tensors(), 0);
}

/* A device that dies in the middle of a step: an error there or later, nothing hangs, nothing leaks; the CPU and the other
 * device go on; a reset revives it. */
static void dies_on_the_way(void **state)
{
    (void)state;
    for (int at = 1; at <= 60; at += 3) {
        stage s;
        char fault[32];
        tn_scope *scope = tn_scope_open();
        assert_true(make(&s) && step(&s));
        OK(tn_synchronize(TN_CUDA(0)));
        snprintf(fault, sizeof fault, "launch@%d:0", at);
        tn__cu.fake_set_faults(fault);
        bool ok = step(&s) && step(&s) && tn_synchronize(TN_CUDA(0)) == TN_OK;
        assert_false(ok);
        assert_int_equal(tn_error_code(), TN_EDEVICE);
        tn_error_clear();
        FAILS_STATUS(tn_synchronize(TN_CUDA(0)), TN_EDEVICE, "CUDA error");
        FAILS(tn_to(s.x, .device = TN_CUDA(0)), TN_EDEVICE, "CUDA error");
        MADE(tn_exp(s.x));
        assert_int_equal(tn_item_int(tn_sum(tn_full(TN_SHAPE(2), TN_SCALAR(at), .device = TN_CUDA(1)))), 2 * at);
        drop(&s);
        tn_scope_close(scope);
        tn__cu.fake_set_faults("");
        OK(tn_cuda_reset(TN_CUDA(0)));
        assert_int_equal(tn_live_tensors(), 0);
        assert_true(on_the_default_stream());
    }
}

int main(int argc, char **argv)
{
    static const alone tests[] = {
        ALONE(each_host_allocation, "TENON_FAKE_GPUS=1", "TENON_NO_CACHE=1"),
        ALONE(no_device_memory, "TENON_FAKE_GPUS=1"),
        ALONE(dies_on_the_way, "TENON_FAKE_GPUS=2"),
    };
    return alone_main(tests, sizeof tests / sizeof *tests, argc, argv);
}
