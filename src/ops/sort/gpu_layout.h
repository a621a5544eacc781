/* ops/sort/gpu_layout.h: the rows that are sorted: the argument of kernels, in the dialect's types.
 * gpu.c and sort.k include this text. */
typedef struct sort_rows {
    i64 n, all, width; /* of a row; of all rows; of the runs that are merged */
    i32 descending, unused;
} sort_rows;
