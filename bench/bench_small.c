/* Small work: where the cost of a call is all there is. */
#include "bench.h"

static tn_tensor *x, *y, *g;

static void begin(void)
{
    x = tn_rand(TN_SHAPE(4));
    y = tn_rand(TN_SHAPE(4));
    g = tn_rand(TN_SHAPE(4), .requires_grad = true);
    CHECK(g);
}

static void end(void)
{
    tn_release(x);
    tn_release(y);
    tn_release(g);
}

static void run_add(void)
{
    tn_release(tn_add(x, y));
}

static void run_add_recording(void)
{
    tn_release(tn_add(g, y));
}

static void run_zeros(void)
{
    tn_release(tn_zeros(TN_SHAPE(4)));
}

static void run_view(void)
{
    tn_release(tn_view(x, TN_SHAPE(2, 2)));
}

static void run_backward(void)
{
    tn_scope *s = tn_scope_open();
    CHECK(tn_backward(tn_sum(tn_mul(g, y))) == TN_OK ? g : NULL);
    tn_scope_close(s);
}

int main(int argc, char **argv)
{
    static const bench list[] = {
        {"add_4", 0, NULL, begin, run_add, end},
        {"add_4_recording", 0, NULL, begin, run_add_recording, end},
        {"zeros_4", 0, NULL, begin, run_zeros, end},
        {"view_4", 0, NULL, begin, run_view, end},
        {"mul_sum_backward_4", 0, NULL, begin, run_backward, end},
    };
    return bench_main(argc, argv, list, (int)(sizeof list / sizeof *list));
}
