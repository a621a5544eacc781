/* x.device of torch.tensor([1, 2, 3]) */
#include "documents.h"

int main(void)
{
    tn_scope *scope = tn_scope_open();
    tn_tensor *x = tn_tensor_from(TN_LIST(1, 2, 3));
    printf("%s\n", device_repr(tn_tensor_device(x)).s);
    tn_scope_close(scope);
    return 0;
}
