/* net(x) */
#include "documents.h"

int main(void)
{
    tn_scope *scope = tn_scope_open();
    tn_tensor *x = tn_ones(TN_SHAPE(2, 3), .device = tn_try_gpu(0));
    tn_module *net = tn_nn_sequential(tn_nn_linear(3, 1));
    net = tn_module_to(net, tn_try_gpu(0));
    tn_print(tn_forward(net, x));
    tn_scope_close(scope);
    return 0;
}
