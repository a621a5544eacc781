/* mul = tensor * tensor2: one on the CPU, one on a GPU */
#include "documents.h"

int main(void)
{
    tn_scope *scope = tn_scope_open();
    tn_tensor *tensor = tn_ones(TN_SHAPE(2, 3)), *tensor2 = tn_ones(TN_SHAPE(2, 3), .device = tn_device_parse("cuda"));
    tn_tensor *mul = tn_mul(tensor, tensor2);
    if (!mul)
        print_error();
    tn_scope_close(scope);
    return 0;
}
