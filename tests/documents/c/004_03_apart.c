/* two tensors on two devices */
#include "documents.h"

int main(void)
{
    tn_scope *scope = tn_scope_open();
    tn_tensor *x = tn_cuda(tn_tensor_from(TN_LIST(1, 2, 3)), 0);
    tn_tensor *y = tn_tensor_from(TN_LIST(1, 2, 3));
    printf("x: %s \ny: %s\n", device_of(x), device_of(y));
    tn_scope_close(scope);
    return 0;
}
