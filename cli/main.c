#include <tenon/tenon.h>
#include <stdio.h>
int main(void)
{
    tn_scope *s = tn_scope_open();
    tn_tensor *x = tn_tensor_from(TN_LIST(1, 2, 3));
    tn_tensor *y = tn_pow(x, 2);
    for (int i = 0; i < 3; i++)
        printf("%lld ", (long long)((int64_t *)tn_data(y))[i]);
    tn_tensor *a = tn_tensor_from(TN_LIST(1.0, 2.0, 3.0, 4.0), .shape = TN_SHAPE(2, 2), .requires_grad = true);
    tn_tensor *l = tn_sum(tn_exp(tn_matmul(a, a)));
    if (!l || tn_backward(l))
        printf("%s\n", tn_error_message());
    tn_tensor *g = tn_tensor_grad(a);
    for (int i = 0; i < 4; i++)
        printf("%g ", (double)((float *)tn_data(g))[i]);
    tn_tensor *z = tn_add(y, TN_NONE);
    printf("%p %s %s\n", (void *)z, tn_error_message(), tn_tensor_grad_fn(l).s);
    tn_scope_close(s);
    printf("live %lld\n", (long long)tn_live_tensors());
    return 0;
}
