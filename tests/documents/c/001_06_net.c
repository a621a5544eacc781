/* net = net.to(device=try_gpu()) */
#include "documents.h"

int main(void)
{
    tn_scope *scope = tn_scope_open();
    tn_module *net = tn_nn_sequential(tn_nn_linear(3, 1));
    net = tn_module_to(net, tn_try_gpu(0));
    printf("%s %s %s\n", tn_module_class_name(net), device_of(tn_module_parameter(net, "0.weight")),
           device_of(tn_module_parameter(net, "0.bias")));
    tn_scope_close(scope);
    return 0;
}
