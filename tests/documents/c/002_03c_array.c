/* t.numpy() of a tensor on a GPU: the host has no pointer to it */
#include "documents.h"

int main(void)
{
    tn_scope *scope = tn_scope_open();
    tn_tensor *t = tn_to(tn_full(TN_SHAPE(5), 5.0), .device = tn_device_parse("cuda"));
    const float *n = tn_data(t);
    if (!n)
        print_error();
    tn_scope_close(scope);
    return 0;
}
