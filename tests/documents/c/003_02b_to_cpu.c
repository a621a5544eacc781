/* and back */
#include "documents.h"

int main(void)
{
    tn_scope *scope = tn_scope_open();
    tn_tensor *tensor = tn_ones(TN_SHAPE(2, 3)), *before = tensor;
    tn_module *module = tn_nn_linear(3, 1);
    tn_tensor *weight = tn_module_parameter(module, "weight");
    tensor = tn_cuda(tensor);
    tn_module_cuda(module);

    tn_device device = tn_device_parse("cpu");
    tensor = tn_to(tensor, .device = device);
    tn_module_print(tn_module_to(module, device));

    printf("%s %s %s\n", device_of(tensor), device_of(before), truth(tensor == before));
    printf("%s %s\n", device_of(tn_module_parameter(module, "weight")),
           truth(tn_module_parameter(module, "weight") == weight));
    tn_scope_close(scope);
    return 0;
}
