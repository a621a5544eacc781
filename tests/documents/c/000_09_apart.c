/* z = y + x.cpu() */
#include "documents.h"

int main(void)
{
    tn_scope *scope = tn_scope_open();
    tn_tensor *x = tn_tensor_from(TN_LIST(1, 2, 3), .device = tn_device_parse("cuda"));
    tn_tensor *y = tn_pow(x, 2);
    tn_tensor *z = tn_add(y, tn_cpu(x));
    if (!z)
        print_error();
    tn_scope_close(scope);
    return 0;
}
