/* torch.tensor([1, 2, 3], device=device) */
#include "documents.h"

int main(void)
{
    tn_scope *scope = tn_scope_open();
    tn_device device = tn_device_parse("cuda");
    tn_tensor *x = tn_tensor_from(TN_LIST(1, 2, 3), .device = device);
    tn_print(x);
    tn_scope_close(scope);
    return 0;
}
