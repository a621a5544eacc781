/* x.to(torch.float64) */
#include "documents.h"

int main(void)
{
    tn_scope *scope = tn_scope_open();
    tn_tensor *x = tn_ones(TN_SHAPE(3, 3));
    printf("torch.%s\n", tn_dtype_name(tn_tensor_dtype(x)));
    x = tn_to(x, .dtype = TN_F64);
    printf("torch.%s\n", tn_dtype_name(tn_tensor_dtype(x)));
    tn_scope_close(scope);
    return 0;
}
