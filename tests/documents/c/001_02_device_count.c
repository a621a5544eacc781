/* torch.cuda.device_count() */
#include "documents.h"

int main(void)
{
    tn_scope *scope = tn_scope_open();
    printf("%d\n", (int)tn_cuda_device_count());
    tn_scope_close(scope);
    return 0;
}
