/* A user's program that wants two GPUs: the same binary with and without. Prints what it computed on cuda:1, or the
 * error, and ends with 1 then. */
#include <stdio.h>
#include <tenon/tenon.h>

int main(void)
{
    tn_scope *scope = tn_scope_open();
    tn_tensor *x = tn_tensor_from(TN_LIST(1, 2, 3), .device = tn_device_parse("cuda:1"));
    tn_tensor *y = tn_pow(x, 2);
    if (y)
        tn_print(y);
    if (y && !tn_add(y, tn_to(x, .device = TN_CUDA(0))))
        puts(tn_error_message());
    else if (!y)
        fprintf(stderr, "%s\n", tn_error_message());
    tn_scope_close(scope);
    return y ? 0 : 1;
}
