/* MNIST on several GPUs reaches what one reaches: the same network, the same batches. TENON_TEST_STEPS: how many steps, 2000
 * for a full run; the suite takes fewer. */
#include "fake/parallel/helpers.h"

enum { BATCH = 64, TESTED = 2000, FIRST = 30 };

static int steps(void)
{
    const char *said = getenv("TENON_TEST_STEPS");
    int n = said ? atoi(said) : 0;
    return n > 0 ? n : 250;
}

static tn_module *perceptron(void)
{
    tn_manual_seed(11);
    return tn_nn_sequential(tn_nn_flatten(), tn_nn_linear(784, 32), tn_nn_relu(), tn_nn_linear(32, 10));
}

/* Pixels from 0 to 1, and classes. */
static void read_set(const char *images, const char *labels, tn_tensor **x, tn_tensor **y)
{
    *x = MADE(tn_div(tn_to(MADE(tn_load_idx(images)), .dtype = TN_F32), 255.0));
    *y = MADE(tn_to(MADE(tn_load_idx(labels)), .dtype = TN_I64));
}

/* Accuracy on the test set, of the network moved to the CPU. */
static double accuracy(tn_module *net, tn_tensor *x, tn_tensor *y)
{
    BUILT(tn_module_cpu(net));
    tn_module_eval(net);
    tn_tensor *right = MADE(tn_eq(tn_argmax(tn_forward(net, x), .dim = 1), y));
    return tn_item(MADE(tn_mean(tn_to(right, .dtype = TN_F32))));
}

/* Trains net through 'whole' (itself, or a DataParallel of it). */
static void train(tn_module *whole, tn_tensor *x, tn_tensor *y, int n, double *losses)
{
    tn_loader *batches = tn_loader_new(TN_TENSORS(x, y), .batch_size = BATCH, .shuffle = true, .seed = 3,
                                       .drop_last = true, .device = TN_CUDA(0));
    tn_optimizer *opt = tn_sgd(whole, 0.1, .momentum = 0.9);
    assert_true(batches && opt);
    for (int i = 0; i < n;) {
        tn_scope *scope = tn_scope_open();
        tn_tensor *b[2];
        int32_t got = tn_loader_next(batches, b, 2);
        assert_true(got >= 0);
        if (got) {
            tn_optimizer_zero_grad(opt);
            tn_tensor *loss = MADE(tn_cross_entropy(tn_forward(whole, b[0]), b[1]));
            OK(tn_backward(loss));
            OK(tn_optimizer_step(opt));
            if (i < FIRST)
                losses[i] = tn_item(loss);
            i++;
        }
        tn_scope_close(scope);
    }
    tn_optimizer_free(opt);
    tn_loader_free(batches);
}

static void reaches_the_accuracy_of_one(void **state)
{
    (void)state;
    if (access(TENON_MNIST "/train-images-idx3-ubyte.gz", R_OK) != 0)
        ALONE_SKIP("no MNIST in " TENON_MNIST);
    const int n = steps();
    tn_scope *scope = tn_scope_open();
    double losses[2][FIRST], reached[2];
    tn_tensor *x, *y, *tx, *ty;
    read_set(TENON_MNIST "/train-images-idx3-ubyte.gz", TENON_MNIST "/train-labels-idx1-ubyte.gz", &x, &y);
    read_set(TENON_MNIST "/t10k-images-idx3-ubyte.gz", TENON_MNIST "/t10k-labels-idx1-ubyte.gz", &tx, &ty);
    tx = MADE(tn_narrow(tx, 0, 0, TESTED));
    ty = MADE(tn_narrow(ty, 0, 0, TESTED));
    for (int k = 0; k < 2; k++) {
        tn_module *net = BUILT(tn_module_to(perceptron(), TN_CUDA(0)));
        tn_module *whole = k ? BUILT(tn_nn_data_parallel(net, .device_ids = kit_all())) : net;
        train(whole, x, y, n, losses[k]);
        reached[k] = accuracy(net, tx, ty);
    }
    print_message("count: MNIST, %d steps of %d: accuracy %.4f on one GPU, %.4f on %d\n", n, BATCH, reached[0],
                  reached[1], tn_cuda_device_count());
    for (int i = 0; i < FIRST; i++)
        NEAR(losses[1][i], losses[0][i], 1e-3);
    assert_true(reached[0] > 0.8 && fabs(reached[1] - reached[0]) <= 0.02);
    kit_end(scope);
}

int main(int argc, char **argv)
{
    static const alone tests[] = {
        ANYWHERE(reaches_the_accuracy_of_one, "TENON_FAKE_GPUS=2"),
    };
    return alone_main(tests, sizeof tests / sizeof *tests, argc, argv);
}
