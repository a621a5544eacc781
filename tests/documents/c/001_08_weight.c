/* net[0].weight.data.device */
#include "documents.h"

int main(void)
{
    tn_scope *scope = tn_scope_open();
    tn_module *net = tn_nn_sequential(tn_nn_linear(3, 1));
    net = tn_module_to(net, tn_try_gpu(0));
    tn_tensor *weight = tn_module_parameter(tn_module_nth_child(net, 0), "weight");
    printf("%s\n", device_repr(tn_tensor_device(tn_detach(weight))).s);
    tn_scope_close(scope);
    return 0;
}
