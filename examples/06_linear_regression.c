/* Linear regression by hand: two parameters, the model as a formula, an optimiser for the update.
 * The data come from a line that is known, so that what was learned can be compared with it. */
#include <stdio.h>
#include <tenon/tenon.h>

enum { EXAMPLES = 1000, BATCH = 50, EPOCHS = 4 };

/* features [n, 2] @ w [2, 1] + b [1] */
static tn_tensor *model(tn_tensor *features, tn_tensor *w, tn_tensor *b)
{
    return tn_add(tn_matmul(features, w), b);
}

/* One pass over the data. Returns the mean loss of the batches, or -1 with an error set. */
static double epoch(tn_optimizer *opt, tn_tensor *features, tn_tensor *labels, tn_tensor *w, tn_tensor *b)
{
    double sum = 0;
    tn_tensor *order = tn_randperm(EXAMPLES);
    for (int i = 0; i < EXAMPLES; i += BATCH) {
        tn_scope *scope = tn_scope_open();
        tn_tensor *rows = tn_narrow(order, 0, i, BATCH);
        tn_tensor *x = tn_index_select(features, 0, rows), *y = tn_index_select(labels, 0, rows);
        tn_tensor *loss = tn_mse_loss(model(x, w, b), y);
        tn_optimizer_zero_grad(opt);
        bool good = loss && !tn_backward(loss) && !tn_optimizer_step(opt); /* one check for the whole chain */
        sum = good ? sum + tn_item(loss) * BATCH / EXAMPLES : -1;
        tn_scope_close(scope);
        if (!good)
            break;
    }
    return sum;
}

int main(void)
{
    tn_scope *scope = tn_scope_open();
    tn_manual_seed(0);

    /* y = 2 x0 - 3.4 x1 + 4.2 + noise */
    tn_tensor *true_w = tn_tensor_from(TN_LIST(2, -3.4), .shape = TN_SHAPE(2, 1));
    tn_tensor *true_b = tn_tensor_from(TN_LIST(4.2));
    tn_tensor *features = tn_randn(TN_SHAPE(EXAMPLES, 2));
    tn_tensor *noise = tn_mul(tn_randn(TN_SHAPE(EXAMPLES, 1)), 0.01);
    tn_tensor *labels = tn_add(model(features, true_w, true_b), noise);

    /* Parameters: leaves that ask for gradients. */
    tn_tensor *w = tn_requires_grad_(tn_mul(tn_randn(TN_SHAPE(2, 1)), 0.01), true);
    tn_tensor *b = tn_zeros(TN_SHAPE(1), .requires_grad = true);
    tn_optimizer *opt = tn_sgd(TN_TENSORS(w, b), 0.03, .momentum = 0.5);

    int status = opt ? 0 : 1;
    for (int i = 1; i <= EPOCHS && !status; i++) {
        double loss = epoch(opt, features, labels, w, b);
        if (loss < 0)
            status = 1;
        else
            printf("epoch %d: loss %.2g\n", i, loss);
    }
    if (status)
        fprintf(stderr, "%s\n", tn_error_message());

    printf("w = [%.2f, %.2f], b = %.2f\n", tn_item(tn_select(w, 0, 0)), tn_item(tn_select(w, 0, 1)), tn_item(b));
    bool close = tn_allclose(w, true_w, .atol = TN_SCALAR(5e-3)) && tn_allclose(b, true_b, .atol = TN_SCALAR(5e-3));
    printf("within 0.005 of the line: %s\n", close ? "yes" : "no");

    tn_optimizer_free(opt); /* an optimiser is the caller's, not the scope's */
    tn_scope_close(scope);
    return status;
}
