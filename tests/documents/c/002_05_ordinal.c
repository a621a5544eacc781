/* x.to('cuda:1') where there is one GPU */
#include "documents.h"

int main(void)
{
    tn_scope *scope = tn_scope_open();
    tn_device device1 = tn_device_parse("cuda:1");
    tn_tensor *x = tn_ones(TN_SHAPE(2, 3));
    x = tn_to(x, .device = device1);
    if (!x)
        print_error();
    tn_scope_close(scope);
    return 0;
}
