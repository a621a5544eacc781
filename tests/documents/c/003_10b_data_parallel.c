/* The document's program: a model of one's own on two GPUs, a batch of 16, of which each replica says its share. */
#define _POSIX_C_SOURCE 200112L
#include "documents.h"
#include <stdlib.h>

static int64_t share[8]; /* of the batch, by the GPU that had it: each replica writes its own */

static tn_tensor *foo_forward(tn_module *self, tn_tensor *x)
{
    int32_t gpu = tn_tensor_device(x).index;
    tn_module *linears = tn_module_child(self, "linears");
    printf("batch size in forward: %lld\n", (long long)tn_tensor_size(x, 0));
    if (gpu >= 0 && gpu < (int32_t)(sizeof share / sizeof *share))
        share[gpu] = tn_tensor_size(x, 0);
    for (int64_t i = 0; i < tn_module_child_count(linears); i++)
        x = tn_relu(tn_forward(tn_module_nth_child(linears, i), x));
    return x;
}

static tn_module *foo_net(int64_t neural_num, int layers)
{
    static const tn_module_class class = {.struct_size = sizeof class, .name = "FooNet", .forward = foo_forward};
    static const tn_module_class list = {.struct_size = sizeof list, .name = "ModuleList"};
    tn_module *net = tn_module_new(&class, NULL),
              *linears = tn_module_add_child(net, "linears", tn_module_new(&list, NULL));
    for (int i = 0; i < layers; i++) {
        char name[12];
        snprintf(name, sizeof name, "%d", i);
        if (!tn_module_add_child(linears, name, tn_nn_linear(neural_num, neural_num, .no_bias = true)))
            return NULL;
    }
    return net;
}

int main(void)
{
    setenv("CUDA_VISIBLE_DEVICES", "0,1", 0); /* two GPUs; before the first use of one */
    tn_scope *scope = tn_scope_open();
    tn_device device = tn_cuda_is_available() ? TN_CUDA(0) : TN_CPU;
    int64_t batch_size = 16;

    tn_tensor *inputs = tn_to(tn_randn(TN_SHAPE(batch_size, 3)), .device = device);
    tn_module *net = tn_module_to(tn_nn_data_parallel(foo_net(3, 3)), device);

    for (int epoch = 0; epoch < 1; epoch++) {
        tn_tensor *outputs = tn_forward(net, inputs);
        if (outputs)
            printf("model outputs.size: %s\n", size_repr(outputs).s);
        else
            print_error();
    }

    printf("CUDA_VISIBLE_DEVICES :%s\n", getenv("CUDA_VISIBLE_DEVICES"));
    printf("device_count :%d\n", (int)tn_cuda_device_count());
    for (int32_t i = 0; i < tn_cuda_device_count(); i++)
        printf("gpu%d is GPU %d: %lld\n", (int)i, (int)tn_cuda_physical(TN_CUDA(i)), (long long)share[i]);
    tn_scope_close(scope);
    return 0;
}
