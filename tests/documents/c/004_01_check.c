/* torch.__version__, is_available, current_device, get_device_name */
#include "documents.h"

int main(void)
{
    tn_scope *scope = tn_scope_open();
    printf("%s\n", tn_version());
    printf("%s\n", truth(tn_cuda_is_available()));
    printf("%d\n", (int)tn_cuda_current_device());
    printf("%s\n", tn_cuda_device_name(TN_CUDA(0)));
    tn_scope_close(scope);
    return 0;
}
