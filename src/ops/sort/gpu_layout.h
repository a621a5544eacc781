/* ops/sort/gpu_layout.h: what is sorted, each row's elements or whole rows: the argument of kernels, in the dialect's types.
 * gpu.c and sort.k include this text. */
typedef struct sort_rows {
    i64 n, all, width,
        columns; /* of a row; of all rows; of the runs that are merged; of rows that are sorted as a whole */
    i32 descending, unused;
} sort_rows;
