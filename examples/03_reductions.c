/* Sums, means, extremes, and products of vectors and matrices. */
#include <stdio.h>
#include <tenon/tenon.h>

int main(void)
{
    tn_scope *scope = tn_scope_open();
    tn_tensor *x = tn_tensor_from(TN_LIST(4.0, 1.0, 3.0, 2.0, 0.5, 6.0), .shape = TN_SHAPE(2, 3));
    tn_print(x);

    /* Over everything, or along the dimensions named: .dim = .... */
    tn_print(tn_sum(x));
    tn_print(tn_sum(x, .dim = 0));
    tn_print(tn_mean(x, .dim = 1, .keepdim = true));
    tn_print(tn_std(x, .dim = 1));
    tn_print(tn_cumsum(x, 1));
    printf("largest %g, at %lld of the six\n", tn_item(tn_max(x)), (long long)tn_item_int(tn_argmax(x)));

    /* The largest along a dimension, and where it is. */
    tn_tensor *where = NULL, *largest = tn_max(x, .dim = 1, .indices = &where);
    tn_print(largest);
    tn_print(where);

    /* Conditions are tensors of bool: count them, ask for any or all. */
    tn_tensor *big = tn_gt(x, 2);
    tn_print(big);
    printf("%lld are above 2; any: %s, all: %s\n", (long long)tn_item_int(tn_sum(big)),
           tn_item_int(tn_any(big)) ? "yes" : "no", tn_item_int(tn_all(big)) ? "yes" : "no");

    /* Products: matmul does as NumPy's @ does; mm, mv, dot and outer are the plain cases. */
    tn_tensor *v = tn_tensor_from(TN_LIST(1.0, 0.0, -1.0));
    tn_print(tn_matmul(x, tn_t(x))); /* [2, 3] @ [3, 2] */
    tn_print(tn_matmul(x, v));       /* [2, 3] @ [3]    */
    tn_print(tn_dot(v, v));
    tn_print(tn_outer(tn_tensor_from(TN_LIST(1, 2)), tn_tensor_from(TN_LIST(3, 4, 5))));

    /* A batch of matrices against one: [2, 2, 2] @ [2, 2]. */
    tn_tensor *batch = tn_reshape(tn_arange(0, 8, 1), TN_SHAPE(2, 2, 2));
    tn_print(tn_matmul(batch, tn_tensor_from(TN_LIST(0, 1, 1, 0), .shape = TN_SHAPE(2, 2))));

    /* Standardised columns: mean 0, deviation 1. Reductions and broadcasting together. */
    tn_tensor *mean = tn_mean(x, .dim = 0), *deviation = tn_std(x, .dim = 0);
    tn_print(tn_div(tn_sub(x, mean), deviation));

    /* Scores to probabilities: each row sums to 1, however large the scores are. */
    tn_tensor *p = tn_softmax(tn_mul(x, 100), 1);
    printf("rows sum to 1: %s\n", tn_allclose(tn_sum(p, .dim = 1), tn_ones(TN_SHAPE(2))) ? "yes" : "no");

    tn_scope_close(scope);
    return 0;
}
