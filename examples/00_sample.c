#include <tenon/tenon.h>
#include <stdio.h>

int main(void)
{
    tn_scope *scope = tn_scope_open();                      /* owns every tensor made below    */

    tn_device gpu = tn_try_gpu(0);                          /* cuda:0, or cpu where there is none */
    tn_tensor *x = tn_tensor_from(TN_LIST(1, 2, 3), .device = gpu);         /* int64, shape [3] */
    tn_tensor *y = tn_pow(x, 2);
    tn_print(y);                                    /* tensor([1, 4, 9], device='cuda:0')      */

    tn_tensor *z = tn_add(y, tn_cpu(x));            /* NULL on a GPU: the operands are apart   */
    if (!z) { fprintf(stderr, "%s\n", tn_error_message()); tn_error_clear(); }

    tn_module *net = tn_nn_sequential(tn_nn_linear(3, 8), tn_nn_relu(), tn_nn_linear(8, 1));
    net = tn_module_to(net, gpu);                   /* in place                                */
    tn_tensor *out = tn_forward(net, tn_rand(TN_SHAPE(2, 3), .device = gpu));
    tn_print(out);

    int status = out ? 0 : 1;
    tn_scope_close(scope);
    return status;
}
