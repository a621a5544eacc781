/* ops/index/gpu_layout.h: which elements of the table the indices name: the argument of kernels, in the dialect's types.
 * gpu.c and index.k include this text. */
typedef struct indexed {
    tn__gpu_dims dims; /* over the indices' elements; a: index, b: table at index 0, c: what is read or written */
    i64 n, along;      /* from one index to the next, in the table */
    i64 size;          /* of the table along it */
    i64 step_a, step_c, length; /* ordered: each row's indices */
    i32 op, lanes;              /* ordered: work items that share a row's destinations */
} indexed;
