/* net = net.cuda(); net(x) for an x of integers */
#include "documents.h"

int main(void)
{
    tn_scope *scope = tn_scope_open();
    tn_module *net = tn_nn_linear(3, 1);
    printf("%s\n", first_device(net));

    net = tn_module_cuda(net);
    tn_tensor *x = tn_cuda(tn_tensor_from(TN_LIST(1, 2, 3)));
    if (!tn_forward(net, x))
        print_error();
    tn_scope_close(scope);
    return 0;
}
