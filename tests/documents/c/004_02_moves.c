/* x.cuda(0), device=device, to(device), cpu() */
#include "documents.h"

int main(void)
{
    tn_scope *scope = tn_scope_open();
    tn_tensor *x = tn_tensor_from(TN_LIST(1, 2, 3));
    printf("%s\n", device_of(x));

    x = tn_cuda(x, 0);
    printf("%s\n", device_of(x));

    tn_device device = tn_cuda_is_available() ? tn_device_parse("cuda") : TN_CPU;
    tn_tensor *y = tn_tensor_from(TN_LIST(1, 2, 3), .device = device);
    printf("%s\n", device_of(y));

    tn_tensor *z = tn_to(tn_tensor_from(TN_LIST(1, 2, 3)), .device = device);
    printf("%s\n", device_of(z));

    z = tn_cpu(z);
    printf("%s\n", device_of(z));
    tn_scope_close(scope);
    return 0;
}
