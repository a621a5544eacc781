/* torch.cuda.current_device() */
#include "documents.h"

int main(void)
{
    tn_scope *scope = tn_scope_open();
    printf("%d\n", (int)tn_cuda_current_device());
    tn_scope_close(scope);
    return 0;
}
