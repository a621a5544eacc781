/* the net on the CPU, its input on a GPU */
#include "documents.h"

int main(void)
{
    tn_scope *scope = tn_scope_open();
    tn_module *net = tn_module_cuda(tn_nn_linear(3, 1), 0);
    tn_tensor *x = tn_cuda(tn_rand(TN_SHAPE(2, 3)), 0);
    net = tn_module_cpu(net);
    if (!tn_forward(net, x))
        print_error();
    tn_scope_close(scope);
    return 0;
}
