/* Parts of tensors, other ways to look at the same memory, and operands of different shapes. */
#include <inttypes.h>
#include <stdio.h>
#include <tenon/tenon.h>

int main(void)
{
    tn_scope *scope = tn_scope_open();
    tn_tensor *x = tn_reshape(tn_arange(0, 12, 1), TN_SHAPE(3, 4)); /* -1 may stand for one of the sizes */
    tn_print(x);

    /* Indexing: dimension first. Negative numbers count from the end; slices leave their end out. */
    tn_print(tn_select(x, 0, 1));                  /* x[1]          */
    tn_print(tn_select(x, 1, -1));                 /* x[:, -1]      */
    tn_print(tn_slice(x, 1, 1, 3, 1));             /* x[:, 1:3]     */
    tn_print(tn_slice(x, 0, 0, INT64_MAX, 2));     /* x[::2]        */
    tn_print(tn_select(tn_select(x, 0, 2), 0, 3)); /* x[2, 3]       */
    tn_print(tn_diagonal(x, 0, 0, 1));

    /* Views share memory: writing through one is seen in all of them. */
    tn_tensor *column = tn_select(x, 1, 0);
    tn_fill_(column, -1);
    tn_print(x);
    printf("a view: %s\n", tn_tensor_shares_memory(x, column) ? "yes" : "no");

    /* A transpose swaps strides and moves nothing; contiguous makes the copy. */
    tn_tensor *turned = tn_transpose(x, 0, 1), *copy = tn_contiguous(turned);
    tn_dims stride = tn_tensor_stride(turned);
    printf("strides %" PRId64 ", %" PRId64 "; contiguous: %s, %s\n", stride.dim[0], stride.dim[1],
           tn_tensor_is_contiguous(turned) ? "yes" : "no", tn_tensor_is_contiguous(copy) ? "yes" : "no");

    /* Picking rows by number, and elements by a condition. */
    tn_print(tn_index_select(x, 0, tn_tensor_from(TN_LIST(2, 0))));
    tn_print(tn_where(tn_gt(x, 5), x, 0));
    tn_print(tn_masked_fill(x, tn_lt(x, 0), 100));

    /* Broadcasting: sizes of 1, and dimensions that are missing in front, are repeated without a copy. */
    tn_tensor *row = tn_tensor_from(TN_LIST(10, 20, 30)), *col = tn_unsqueeze(tn_tensor_from(TN_LIST(1, 2)), 1);
    tn_print(tn_add(col, row)); /* [2, 1] + [3] is [2, 3] */

    /* What does not fit is an error with a text, not a crash. */
    if (!tn_add(row, tn_ones(TN_SHAPE(2)))) {
        printf("%s: %.*s ...\n", tn_status_name(tn_error_code()), 67, tn_error_message());
        tn_error_clear();
    }

    /* Joining and splitting. */
    tn_tensor *parts[2];
    tn_print(tn_cat(TN_TENSORS(row, row), 0));
    tn_print(tn_stack(TN_TENSORS(row, row), 0));
    int64_t n = (int64_t)tn_split(row, 2, 0, parts, 2);
    for (int64_t i = 0; i < n; i++)
        tn_print(parts[i]);

    tn_scope_close(scope);
    return 0;
}
