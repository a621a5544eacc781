/* torch.cuda.get_device_name(device_id) */
#include "documents.h"

int main(void)
{
    tn_scope *scope = tn_scope_open();
    int32_t device_id = 0;
    printf("%s\n", tn_cuda_device_name(TN_CUDA(device_id)));
    tn_scope_close(scope);
    return 0;
}
