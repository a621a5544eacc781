/* One model on all GPUs: a module of one's own under DataParallel. A batch of 16 is cut over them, a replica on each says
 * how much of it came, the outputs are joined; backward brings the gradients of all replicas to the model.
 * On a machine that has none: TENON_FAKE_GPUS=2 ./10_data_parallel (docs/data-parallel.md). */
#include <stdio.h>
#include <stdlib.h>
#include <tenon/tenon.h>

/* Replicas are modules of the same class with parts of their own: forward finds these by name, in the 'self' it is given.
 * It runs on a thread for each replica, all at once. */
static tn_tensor *foo_forward(tn_module *self, tn_tensor *x)
{
    tn_module *linears = tn_module_child(self, "linears");
    printf("batch size in forward: %lld\n", (long long)tn_tensor_size(x, 0));
    for (int64_t i = 0; i < tn_module_child_count(linears); i++)
        x = tn_relu(tn_forward(tn_module_nth_child(linears, i), x));
    return x;
}

static tn_module *foo_net(int64_t neural_num, int layers)
{
    static const tn_module_class foo = {.struct_size = sizeof foo, .name = "FooNet", .forward = foo_forward};
    static const tn_module_class list = {.struct_size = sizeof list, .name = "ModuleList"};
    tn_module *net = tn_module_new(&foo, NULL);
    tn_module *linears = tn_module_add_child(net, "linears", tn_module_new(&list, NULL));
    for (int i = 0; i < layers; i++) {
        char name[12];
        snprintf(name, sizeof name, "%d", i);
        if (!tn_module_add_child(linears, name, tn_nn_linear(neural_num, neural_num, .no_bias = true)))
            return NULL;
    }
    return net;
}

/* What each GPU did in the last step: tn_data_parallel_explain prints that with times. */
static void print_shares(tn_module *net)
{
    tn_parallel_report row[8];
    tn_team *team = tn_data_parallel_team(net); /* NULL: without GPUs there is none */
    size_t n = team ? tn_team_report(team, row, sizeof row / sizeof *row) : 0;
    for (size_t i = 0; i < n && i < sizeof row / sizeof *row; i++)
        printf("%s: %lld samples, %lld bytes of parameters came, %lld bytes of gradients went\n",
               tn_device_text(row[i].device).s, (long long)row[i].samples, (long long)row[i].broadcast_bytes,
               (long long)row[i].reduce_bytes);
}

static tn_status step(tn_module *net, tn_tensor *inputs, tn_tensor *labels)
{
    tn_tensor *outputs = tn_forward(net, inputs);
    if (!outputs)
        return tn_error_code();
    printf("model outputs.size: [%lld, %lld]\n", (long long)tn_tensor_size(outputs, 0),
           (long long)tn_tensor_size(outputs, 1));
    tn_status status = tn_backward(tn_mse_loss(outputs, labels));
    tn_tensor *weight = tn_module_parameter(net, "module.linears.0.weight");
    if (!status)
        printf("gradients are on the main device: %s\n",
               tn_device_equal(tn_tensor_device(tn_tensor_grad(weight)), tn_tensor_device(weight)) ? "yes" : "no");
    return status;
}

int main(void)
{
    tn_scope *scope = tn_scope_open();
    tn_device device = tn_try_gpu(0); /* the main one: the model must be there */
    int64_t batch_size = 16;

    tn_tensor *inputs = tn_to(tn_randn(TN_SHAPE(batch_size, 3)), .device = device);
    tn_tensor *labels = tn_to(tn_randn(TN_SHAPE(batch_size, 3)), .device = device);

    tn_module *net = tn_module_to(tn_nn_data_parallel(foo_net(3, 3)), device);
    tn_status status = step(net, inputs, labels);
    if (status)
        fprintf(stderr, "%s\n", tn_error_message());
    else
        print_shares(net);

    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    printf("CUDA_VISIBLE_DEVICES: %s\ndevice_count: %d\n", visible ? visible : "not set", (int)tn_cuda_device_count());
    tn_scope_close(scope);
    return status ? 1 : 0;
}
