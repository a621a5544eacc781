/* x = x.cuda() */
#include "documents.h"

int main(void)
{
    tn_scope *scope = tn_scope_open();
    tn_tensor *x = tn_tensor_from(TN_LIST(1.0, 2.0, 3.0));
    x = tn_cuda(x);
    tn_print(x);
    tn_scope_close(scope);
    return 0;
}
