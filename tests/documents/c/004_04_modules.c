/* net.cuda(0), device=, to(), cpu() */
#include "documents.h"

int main(void)
{
    tn_scope *scope = tn_scope_open();
    tn_module *net = tn_nn_linear(3, 1);
    printf("%s\n", first_device(net));

    tn_module_cuda(net, 0);
    printf("%s\n", first_device(net));

    tn_device device = tn_cuda_is_available() ? tn_device_parse("cuda") : TN_CPU;
    tn_module *net2 = tn_nn_linear(3, 1, .device = device);
    printf("%s\n", first_device(net2));

    tn_module *net3 = tn_module_to(tn_nn_linear(3, 1), device);
    printf("%s\n", first_device(net3));

    net3 = tn_module_cpu(net3);
    printf("%s\n", first_device(net3));
    tn_scope_close(scope);
    return 0;
}
