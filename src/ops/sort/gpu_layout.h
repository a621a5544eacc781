/* ops/sort/gpu_layout.h: what is sorted, each row's elements or whole rows, what is searched, and what is counted: arguments of
 * kernels, in the dialect's types. gpu.c and the kernels include this text. */
typedef struct sort_rows {
    i64 n, all, width,
        columns;           /* of a row; of all rows; of the runs that are merged; of rows that are sorted as a whole */
    i32 descending, which; /* which: of infer_select.h */
} sort_rows;

/* Values of a digit; the most elements that are taken of a row; what 'which' is where not infer_select.h says it; work items of a
 * group, at most. */
enum { SELECT_DIGIT = 256, SELECT_ROOM = 1024, SELECT_FIRST = 3, SELECT_ITEMS = 512 };

/* Of each row the element at a rank, or the first k of its order. */
typedef struct select_rows {
    i32 n, rank, k,
        take; /* of a row; which is looked for; results; elements taken, of which they are the first: k or n */
    i32 which, descending; /* of infer_select.h, or SELECT_FIRST */
    i32 digits, vector;    /* of a key, and, for SELECT_FIRST, of a place; everything fits loads of 16 bytes */
    i32 piece, pass;       /* elements of a row that one group takes; the digit that is counted */
    i32 words, unused;     /* of a row's state */
} select_rows;

typedef struct search_rows {
    i64 n, all, count; /* of a row; values; values for each row */
    i32 behind, missing;
} search_rows;

typedef struct bin_rows {
    double low, high;
    i64 all, edges; /* elements; edges; of a tally: places, and what they are below */
    i64 how;
} bin_rows;
