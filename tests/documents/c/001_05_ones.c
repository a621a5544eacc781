/* torch.ones(2, 3, device=try_gpu()) */
#include "documents.h"

int main(void)
{
    tn_scope *scope = tn_scope_open();
    tn_tensor *x = tn_ones(TN_SHAPE(2, 3), .device = tn_try_gpu(0));
    tn_print(x);
    tn_scope_close(scope);
    return 0;
}
