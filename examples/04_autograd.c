/* Gradients: what is computed from a tensor that asks for one is recorded, and backward walks the record. */
#include <stdio.h>
#include <tenon/tenon.h>

/* f(x) = x^3 - 2x */
static tn_tensor *f(tn_tensor *x)
{
    return tn_sub(tn_pow(x, 3), tn_mul(x, 2));
}

int main(void)
{
    tn_scope *scope = tn_scope_open();

    /* df/dx = 3x^2 - 2 */
    tn_tensor *x = tn_tensor_from(TN_LIST(1.0, 2.0, 3.0), .requires_grad = true);
    tn_tensor *y = f(x);
    tn_print(y);
    if (tn_backward(tn_sum(y)) != TN_OK) /* a status that must be looked at */
        printf("%s\n", tn_error_message());
    tn_print(tn_tensor_grad(x));

    /* Gradients add up until they are cleared. */
    if (tn_backward(tn_sum(f(x))) != TN_OK)
        printf("%s\n", tn_error_message());
    tn_print(tn_tensor_grad(x));
    if (tn_tensor_set_grad(x, TN_NONE) != TN_OK)
        printf("%s\n", tn_error_message());
    printf("cleared: %s\n", tn_tensor_grad(x) ? "no" : "yes");

    /* tn_grad hands gradients out and leaves .grad alone; create_graph lets them be differentiated again: 6x. */
    tn_tensor *first = NULL, *second = NULL;
    if (tn_grad(TN_TENSORS(tn_sum(f(x))), TN_TENSORS(x), &first, .create_graph = true) ||
        tn_grad(TN_TENSORS(tn_sum(first)), TN_TENSORS(x), &second))
        printf("%s\n", tn_error_message());
    tn_print(tn_detach(first));
    tn_print(second);

    /* Newton's method for a root of f, with derivatives that nobody wrote: x -= f(x) / f'(x). */
    tn_tensor *root = tn_tensor_from(TN_LIST(3.0), .dtype = TN_F64, .requires_grad = true);
    for (int i = 0; i < 8; i++) {
        tn_scope *step = tn_scope_open(); /* what a step makes is gone after it */
        tn_tensor *value = f(root), *slope = NULL;
        if (tn_grad(TN_TENSORS(value), TN_TENSORS(root), &slope))
            printf("%s\n", tn_error_message());
        bool was = tn_set_grad_enabled(false); /* an update is no part of the record */
        tn_sub_(root, tn_div(value, slope));
        tn_set_grad_enabled(was);
        tn_scope_close(step);
    }
    printf("root %.6f, its square %.6f\n", tn_item(root), tn_item(tn_square(tn_detach(root))));

    /* Without recording nothing is kept for backward. */
    bool was = tn_set_grad_enabled(false);
    printf("recorded: %s\n", tn_tensor_requires_grad(f(x)) ? "yes" : "no");
    tn_set_grad_enabled(was);
    printf("recorded: %s, by %s\n", tn_tensor_requires_grad(f(x)) ? "yes" : "no", tn_tensor_grad_fn(f(x)).s);

    /* A leaf that asks for a gradient must not be overwritten while recording is on. */
    if (!tn_mul_(x, 2)) {
        printf("%s: %.74s ...\n", tn_status_name(tn_error_code()), tn_error_message());
        tn_error_clear();
    }
    tn_scope_close(scope);
    return 0;
}
