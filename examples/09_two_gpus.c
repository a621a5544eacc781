/* Two GPUs: a model on one, data on the other, the error, the move, a network that spans both, what each holds.
 * On a machine that has none: TENON_FAKE_GPUS=2 ./09_two_gpus (docs/fake-gpus.md). */
#include <stdio.h>
#include <string.h>
#include <tenon/tenon.h>

/* What tensors hold on each GPU. */
static void memory(const char *when)
{
    printf("%s: %lld KiB on cuda:0, %lld KiB on cuda:1\n", when,
           (long long)tn_memory_stats(TN_CUDA(0)).allocated / 1024,
           (long long)tn_memory_stats(TN_CUDA(1)).allocated / 1024);
}

/* The model lives on cuda:0, the data on cuda:1: an error that says so, until the data is moved. */
static tn_status apart_and_together(tn_tensor *x)
{
    tn_module *net = tn_module_to(tn_nn_linear(512, 256), TN_CUDA(0));
    if (!tn_forward(net, x)) {
        const char *message = tn_error_message();
        printf("model on cuda:0, data on cuda:1:\n  %.*s\n", (int)strcspn(message, "\n"), message);
        tn_error_clear();
    }
    tn_tensor *y = tn_forward(net, tn_to(x, .device = TN_CUDA(0)));
    if (!y)
        return tn_error_code();
    printf("data moved to cuda:0: the result is on %s\n", tn_device_text(tn_tensor_device(y)).s);
    memory("with model and data");
    return TN_OK;
}

/* The first half of a network on cuda:0, the second on cuda:1: the activations cross once on the way forward, their
 * gradient once on the way back. */
static tn_status spanning(tn_tensor *inputs, tn_tensor *targets)
{
    tn_module *front = tn_module_to(tn_nn_sequential(tn_nn_linear(8, 32), tn_nn_relu()), TN_CUDA(0));
    tn_module *back = tn_module_to(tn_nn_linear(32, 1), TN_CUDA(1));
    tn_module *net = tn_nn_sequential(front, back);
    tn_optimizer *opt = tn_sgd(net, 0.05);
    tn_tensor *x = tn_to(inputs, .device = TN_CUDA(0)), *y = tn_to(targets, .device = TN_CUDA(1));
    double first = 0, last = 0;
    for (int step = 0; step < 100; step++) {
        tn_scope *scope = tn_scope_open(); /* what a step makes goes with it */
        tn_tensor *guess = tn_forward(back, tn_to(tn_forward(front, x), .device = TN_CUDA(1)));
        tn_tensor *loss = tn_mse_loss(guess, y);
        tn_optimizer_zero_grad(opt);
        tn_status status = tn_backward(loss);
        if (!status)
            status = tn_optimizer_step(opt);
        if (step == 0)
            first = tn_item(loss);
        last = tn_item(loss);
        tn_scope_close(scope);
        if (status)
            break;
    }
    tn_optimizer_free(opt);
    if (tn_error_code())
        return tn_error_code();
    printf("a network on both: weights on %s and %s, the loss %s\n",
           tn_device_text(tn_tensor_device(tn_module_parameter(front, "0.weight"))).s,
           tn_device_text(tn_tensor_device(tn_module_parameter(back, "weight"))).s,
           last < first / 10 ? "fell to less than a tenth" : "did not fall");
    return TN_OK;
}

int main(void)
{
    int32_t n = tn_cuda_device_count();
    if (n < 2) {
        printf("There %s %d GPU%s; this program is about two: TENON_FAKE_GPUS=2 makes them.\n", n == 1 ? "is" : "are",
               (int)n, n == 1 ? "" : "s");
        return 0;
    }
    tn_scope *scope = tn_scope_open();
    tn_manual_seed(0);
    tn_tensor *x = tn_rand(TN_SHAPE(1024, 512), .device = TN_CUDA(1));
    tn_status status = x ? apart_and_together(x) : tn_error_code();
    if (!status) {
        tn_tensor *inputs = tn_rand(TN_SHAPE(64, 8));
        status = spanning(inputs, tn_sum(inputs, .dim = 1, .keepdim = true));
    }
    if (status)
        fprintf(stderr, "%s\n", tn_error_message());
    tn_scope_close(scope);
    memory("at the end");
    return status ? 1 : 0;
}
