/* A user's program, built against an installed Tenon in every way there is: each macro form once. */
#include <stdio.h>
#include <string.h>
#include <tenon/tenon.h>

int main(void)
{
    char text[64];
    tn_scope *scope = tn_scope_open();
    tn_tensor *x = tn_tensor_from(TN_LIST(1, 2, 3), .requires_grad = false);
    tn_tensor *y = tn_pow(tn_add(tn_mul(x, 2), 0), 2);
    tn_module *net = tn_nn_sequential(tn_nn_linear(3, 8), tn_nn_relu(), tn_nn_linear(8, 1, .no_bias = true));
    tn_tensor *out = tn_forward(net, tn_rand(TN_SHAPE(2, 3), .dtype = TN_F32));
    tn_optimizer *opt = tn_sgd(net, 0.1, .momentum = 0.9);
    int good = opt && tn_backward(tn_mean(out, .dims = TN_DIMS(0, 1))) == TN_OK && tn_optimizer_step(opt) == TN_OK;
    tn_optimizer_free(opt);
    tn_to_string(y, text, sizeof text);
    good = good && strcmp(text, "tensor([ 4, 16, 36])") == 0 && strcmp(tn_version(), TN_VERSION_TEXT) == 0;
    puts(good ? text : tn_error_message());
    tn_scope_close(scope);
    return good ? 0 : 1;
}
