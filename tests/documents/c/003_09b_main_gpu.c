/* The model on cuda:2, the main GPU cuda:1 */
#include "documents.h"

int main(void)
{
    tn_scope *scope = tn_scope_open();
    tn_tensor *inputs = tn_randn(TN_SHAPE(16, 3));
    tn_module *net = tn_module_to(tn_nn_linear(3, 3), TN_CUDA(2));
    net = tn_nn_data_parallel(net, .device_ids = TN_DEVICES(TN_CUDA(1), TN_CUDA(2)));
    if (!tn_forward(net, inputs))
        print_error();
    tn_scope_close(scope);
    return 0;
}
