/* backend/gpu/kernels/layout.h: structs and codes that the host writes and kernels read, in the dialect's types (run.h has
 * these for the host). Every unit has this text after the prelude. No struct needs padding: fields lie the same everywhere.
 */
#define TN_RANK     8   /* TN_MAX_DIMS */
#define TN_OPERANDS 4   /* the result and three inputs */
#define TN_ITEMS    128 /* work items of a group of kernels that do not care */

/* The tensor iterator as kernels have it: up to four operands, whose elements and offsets count below 2^31 (more come in parts).
 * Dimension 0 is the fastest. An index divided by shape[d] is (MULHI_U32(index, magic[d]) + index) >> shift[d]. Strides in
 * elements. */
typedef struct tn_gpu_iter {
    i32 ndim;
    u32 shape[TN_RANK], magic[TN_RANK], shift[TN_RANK];
    i32 stride[TN_OPERANDS][TN_RANK];
} tn_gpu_iter;

/* How kernels over operands take input k (0 is the first one) */
#define TN_VARIES(k) \
    (1 << (k)) /* one element after another; else one value: along dimension 0 of an iterator, or throughout */
#define TN_MEMORY(k) (16 << (k)) /* that value lies in memory; else it is a number, given as bits of the compute type */
#define TN_VECTORS   256         /* in vectors of 16 bytes: everything is aligned so */

/* Matrices, one for each index of the outer dimensions (matrices of them in all). Of matrices to be transposed, the result is
 * dense along columns and the source along rows; strides in elements. */
typedef struct tn_matrices {
    i64 matrices, rows, columns;
    i64 row_in, column_in, row_out, column_out;
    i64 ndim, shape[TN_RANK], in[TN_RANK], out[TN_RANK];
} tn_matrices;
#define TN_TILE 32 /* rows and columns of a tile to be transposed, by groups of TN_TILE x TN_TILE / 4 */

/* Pieces to be concatenated: each a dense matrix of 'rows' rows; piece k has width[k] columns, which go to column at[k] of rows
 * that are 'row' long. Divisions by width as above. */
#define TN_PIECES 8
typedef struct tn_cat_pieces {
    u32 rows, row;
    u32 width[TN_PIECES], magic[TN_PIECES], shift[TN_PIECES], at[TN_PIECES];
} tn_cat_pieces;

#if defined(KERNEL) /* for kernels alone */
/* Offsets of one index, of each operand. */
typedef struct tn_offsets {
    i32 at[TN_OPERANDS];
} tn_offsets;

/* Of n indices, which are used up; n is a constant. */
DEVICE void tn_gpu_iter_offsets(tn_offsets *o, u32 *index, int n, tn_gpu_iter w)
{
    UNROLL
    for (int u = 0; u < n; u++)
        UNROLL
    for (int k = 0; k < TN_OPERANDS; k++)
        o[u].at[k] = 0;
    UNROLL
    for (int d = 0; d < TN_RANK; d++) {
        if (d == w.ndim)
            break;
        UNROLL
        for (int u = 0; u < n; u++) {
            const u32 next = d + 1 == w.ndim ? 0 : (MULHI_U32(index[u], w.magic[d]) + index[u]) >> w.shift[d];
            const i32 here = (i32)(index[u] - next * w.shape[d]);
            UNROLL
            for (int k = 0; k < TN_OPERANDS; k++)
                o[u].at[k] += here * w.stride[k][d];
            index[u] = next;
        }
    }
}
#endif
