/* ops/sort/gpu_layout.h: what is sorted, each row's elements or whole rows, what is searched, and what is counted: arguments of
 * kernels, in the dialect's types. gpu.c and the kernels include this text. */
typedef struct sort_rows {
    i64 n, all, width,
        columns;           /* of a row; of all rows; of the runs that are merged; of rows that are sorted as a whole */
    i32 descending, which; /* which: of infer_select.h */
} sort_rows;

typedef struct search_rows {
    i64 n, all, count; /* of a row; values; values for each row */
    i32 behind, missing;
} search_rows;

typedef struct bin_rows {
    double low, high;
    i64 all, edges; /* elements; edges; of a tally: places, and what they are below */
    i64 how;
} bin_rows;
