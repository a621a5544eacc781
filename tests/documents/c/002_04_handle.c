/* my_device: a handle, not a name */
#include "documents.h"

int main(void)
{
    tn_scope *scope = tn_scope_open();
    tn_device my_device = tn_cuda_is_available() ? tn_device_parse("cuda") : TN_CPU;
    printf("Device: %s\n", tn_device_text(my_device).s);

    tn_tensor *x = tn_rand(TN_SHAPE(2, 2), .device = my_device);
    tn_print(x);
    tn_scope_close(scope);
    return 0;
}
