/* backend/gpu/kernels/reduction_layout.h: what the kernels of a reduction (reduction.h) are to do.
 * Host and kernels include this text. */
typedef struct tn__gpu_reduction {
    tn__gpu_dims kept;    /* a: in x, b: in the result */
    tn__gpu_dims reduced; /* a: in x */
    i64 n_kept, n;
    i64 piece;     /* elements of a row that one group takes */
    i32 pieces;    /* if more than one, 'partial' [n_kept][pieces] is written, not the result */
    i32 width;     /* columns: of a work item */
    double factor; /* the family's own number */
} tn__gpu_reduction;
