/* a net and its input on one GPU */
#include "documents.h"

int main(void)
{
    tn_scope *scope = tn_scope_open();
    tn_module *net = tn_module_cuda(tn_nn_linear(3, 1), 0);
    tn_tensor *x = tn_cuda(tn_rand(TN_SHAPE(2, 3)), 0);
    tn_print(tn_forward(net, x));
    tn_scope_close(scope);
    return 0;
}
