/* torch.rand(2, 2, device='cuda'); x.to('cuda') */
#include "documents.h"

int main(void)
{
    tn_scope *scope = tn_scope_open();
    tn_tensor *x = tn_rand(TN_SHAPE(2, 2), .device = tn_device_parse("cuda"));
    if (!x) {
        print_error();
        tn_scope_close(scope);
        return 0;
    }
    tn_print(x);

    x = tn_ones(TN_SHAPE(2, 3));
    tn_tensor *y = NULL;
    if (tn_cuda_is_available())
        y = tn_to(x, .device = tn_device_parse("cuda"));
    printf("%s torch.%s %s\n", size_repr(x).s, tn_dtype_name(tn_tensor_dtype(x)), device_of(x));
    printf("%s torch.%s %s\n", size_repr(y).s, tn_dtype_name(tn_tensor_dtype(y)), device_of(y));
    tn_scope_close(scope);
    return 0;
}
