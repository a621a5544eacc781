/* GPUs chosen by their free memory, in one call: nothing is parsed, no variable is set, nothing is started on a GPU that is
 * not taken. On a machine that has none: TENON_FAKE_GPUS=4x64MiB ./11_free_memory */
#include <stdio.h>
#include <tenon/tenon.h>

enum { WANTED = 2, MOST = 64 };

static void print_order(const tn_device *gpu, size_t n)
{
    printf("most free memory first:");
    for (size_t i = 0; i < n; i++)
        printf(" %s", tn_device_text(gpu[i]).s);
    printf("\n");
}

int main(void)
{
    tn_device gpu[MOST];
    size_t n = tn_cuda_devices_by_free_memory(gpu, MOST);
    if (n < WANTED) {
        printf("There %s %zu GPU%s; this program chooses two: TENON_FAKE_GPUS=4x64MiB makes four.\n",
               n == 1 ? "is" : "are", n, n == 1 ? "" : "s");
        return 0;
    }
    tn_scope *scope = tn_scope_open();
    print_order(gpu, n);

    /* Somebody works on cuda:0, with 16 MiB, and a little on cuda:2. */
    tn_tensor *held = tn_zeros(TN_SHAPE(4 << 20), .device = TN_CUDA(0));
    tn_tensor *more = tn_zeros(TN_SHAPE(1 << 16), .device = TN_CUDA(n > 2 ? 2 : 1));
    tn_cuda_devices_by_free_memory(gpu, MOST);
    print_order(gpu, n);

    /* The best is the main one, the model goes there; the batch is shared by both. */
    tn_module *net = tn_module_to(tn_nn_sequential(tn_nn_linear(8, 16), tn_nn_relu(), tn_nn_linear(16, 4)), gpu[0]);
    net = tn_nn_data_parallel(net, .device_ids = {gpu, WANTED});
    tn_tensor *y = tn_forward(net, tn_randn(TN_SHAPE(32, 8)));
    bool good = held && more && y;
    if (good)
        printf("the model is on %s, and so is its output\n", tn_device_text(tn_tensor_device(y)).s);
    else
        fprintf(stderr, "%s\n", tn_error_message());
    tn_scope_close(scope);
    return good ? 0 : 1;
}
