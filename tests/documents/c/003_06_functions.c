/* device_count, get_device_name */
#include "documents.h"

int main(void)
{
    tn_scope *scope = tn_scope_open();
    printf("%d\n", (int)tn_cuda_device_count());
    printf("%s\n", tn_cuda_device_name(TN_CUDA(-1)));
    tn_scope_close(scope);
    return 0;
}
