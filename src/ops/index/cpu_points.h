/* ops/index/cpu_points.h: what the family's kernels share: indices, and loops over elements that they name. */
#ifndef TENON_OPS_INDEX_CPU_POINTS_H
#define TENON_OPS_INDEX_CPU_POINTS_H

#include "backend/cpu/cpu.h"

static inline int64_t index_at(const tn__view *v, int64_t offset)
{
    return v->dtype == TN_I64 ? ((const int64_t *)v->data)[offset] : (int64_t)((const int32_t *)v->data)[offset];
}

static inline int64_t inner_size(const tn__view *v)
{
    return v->ndim ? v->shape[v->ndim - 1] : 1;
}

static inline int64_t inner_stride(const tn__view *v)
{
    return v->ndim ? v->stride[v->ndim - 1] : 0;
}

static inline int64_t size_along(const tn__view *v, int64_t dim)
{
    return v->ndim ? v->shape[dim] : 1;
}

/* What becomes of a table's element and the other one. */
typedef enum effect { READ, WRITE, ADD, MULTIPLY, LARGER, SMALLER, EFFECTS } effect;

/* Points along the innermost dimension: where the first ones are, and the steps to the next. Where it is short there are several
 * rows of them, along the dimension before. */
typedef struct point_run {
    char *table, *other;
    const char *index;
    int64_t table_step, other_step, index_step;
    int64_t rows, table_row, other_row, index_row;
    const int64_t *apart; /* of rows that are dense: for each index how far its row is from the first; NULL: others */
    int64_t along;        /* from one index to the next */
    int64_t n;
    bool wide; /* int64 indices, not int32 */
} point_run;

typedef void (*point_loop)(char *table, int64_t table_step, int64_t along, char *other, int64_t other_step,
                           const int64_t *index, int64_t n);

/* The loop for a dtype. */
point_loop tn__point_loop_of(tn_dtype dtype, effect what);
/* Elements have 'size' bytes. below: what indices must be below; 0: they were looked at. The place of the first that is not, or
 * -1. */
int64_t tn__run_points(point_loop loop, const point_run *r, int64_t size, int64_t below);
/* An error that names the first index that is below 0, or not below size. */
TN_MUST_USE tn_status tn__check_indices(const tn__launch *l, const tn__view *index, int64_t dim, int64_t size);
/* Keys that are not negative, each numbered when it first comes: as many at most as were said. */
typedef struct tn__numbering {
    int64_t *key,
        *slot; /* by number; 1 + the number of the key that hashes there, or before there in a row of full ones */
    int64_t n;
    int bits; /* of the slots' number */
    size_t bytes;
} tn__numbering;

/* False: there is no memory. */
TN_MUST_USE bool tn__numbering_init(tn__numbering *t, int64_t most);
int64_t tn__number_of(tn__numbering *t, int64_t key);
void tn__numbering_release(tn__numbering *t);

/* Are points few beside the table? Then, of 16 bits, floats are kept of what is named alone, while they are added up or
 * multiplied. other: NULL: the value, in the table's dtype. Indices were looked at. False: there is no memory; nothing was
 * written. */
bool tn__are_few(const tn__view *table, const tn__view *index);
bool tn__put_few(const tn__view *table, const tn__view *index, const tn__view *other, const void *value, int64_t dim,
                 effect what);
/* The same of slices that a list names; false, too, where it does not pay. */
bool tn__put_named_slices(const tn__view *table, const tn__view *src, const tn__view *list, int64_t dim, effect what);
/* Slices of the table that a list names, which has no index outside: picked is row-major. */
void tn__pick_slices(const tn__view *table, const tn__view *picked, const tn__view *list, int64_t dim);
/* Slices of src written to those of the table that a list names, or added to them ..., in the order of the indices. */
void tn__put_slices(const tn__view *table, const tn__view *src, const tn__view *list, int64_t dim, effect what);
/* to[k * to_row + i] = from[i * from_row + k], rows x n elements of 1, 2, 4 or 8 bytes: by tiles that are turned beside both. */
void tn__turn(char *to, int64_t to_row, const char *from, int64_t from_row, int64_t rows, int64_t n, size_t bytes);

#endif
