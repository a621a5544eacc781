/* Training: one step of a small perceptron, and an epoch of a digit classifier on 57,000 images. */
#include "bench.h"

enum { IMAGES = 57000 };

typedef struct training {
    tn_module *net;
    tn_optimizer *opt;
    tn_tensor *x, *y;
} training;

static training t;

static void end(void)
{
    tn_optimizer_free(t.opt);
    tn_module_release(t.net);
    tn_release(t.x);
    tn_release(t.y);
}

static void step(tn_tensor *x, tn_tensor *y)
{
    tn_tensor *loss = tn_cross_entropy(tn_forward(t.net, x), y);
    tn_optimizer_zero_grad(t.opt);
    CHECK(loss && !tn_backward(loss) && !tn_optimizer_step(t.opt) ? loss : NULL);
}

static void begin(int64_t in, int64_t hidden, int64_t rows, bool adam)
{
    tn_scope *s = tn_scope_open();
    tn_manual_seed(1);
    t.net = tn_module_keep(tn_nn_sequential(tn_nn_linear(in, hidden), tn_nn_relu(), tn_nn_linear(hidden, 10)));
    t.opt = adam ? tn_adamw(t.net, 1e-3) : tn_sgd(t.net, 0.1);
    t.x = tn_keep(tn_rand(TN_SHAPE(rows, in)));
    t.y = tn_keep(tn_randint(0, 10, TN_SHAPE(rows)));
    CHECK(t.opt && t.x ? t.y : NULL);
    tn_scope_close(s);
}

static void begin_perceptron(void)
{
    begin(64, 128, 32, false);
}

static void run_perceptron(void)
{
    tn_scope *s = tn_scope_open();
    step(t.x, t.y);
    tn_scope_close(s);
}

static void begin_digits(void)
{
    begin(784, 500, IMAGES, true);
}

/* Batches of shuffled rows, as a loader makes them. */
static void epoch(int64_t batch)
{
    tn_scope *outer = tn_scope_open();
    tn_tensor *order = tn_randperm(IMAGES);
    for (int64_t i = 0; i < IMAGES; i += batch) {
        tn_scope *s = tn_scope_open();
        tn_tensor *rows = tn_slice(order, 0, i, i + batch, 1);
        step(tn_index_select(t.x, 0, rows), tn_index_select(t.y, 0, rows));
        tn_scope_close(s);
    }
    tn_scope_close(outer);
}

static void run_500(void)
{
    epoch(500);
}

static void run_64(void)
{
    epoch(64);
}

int main(int argc, char **argv)
{
    static const bench list[] = {
        {"perceptron_step", 0, NULL, begin_perceptron, run_perceptron, end},
        {"mnist_epoch_batch_500", IMAGES, "images", begin_digits, run_500, end},
        {"mnist_epoch_batch_64", IMAGES, "images", begin_digits, run_64, end},
    };
    return bench_main(argc, argv, list, (int)(sizeof list / sizeof *list));
}
