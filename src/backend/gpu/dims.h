/* backend/gpu/dims.h: dimensions as kernels index them: ordered, merged, the fastest first; and what files of operations share
 * in choosing launches. */
#ifndef TENON_BACKEND_GPU_DIMS_H
#define TENON_BACKEND_GPU_DIMS_H

#include "backend/gpu/run.h"
#include "op/infer.h"

#include "backend/gpu/kernels/dims_layout.h"

enum { TN__LARGE = 8 }; /* variant of a unit: for 2^31 elements or more */
/* The most elements that need no large variant; tests lower it, to run large variants on small tensors. */
extern int64_t tn__gpu_index32_limit;

/* Begin with {0}; add dimensions from the fastest to the slowest: one that continues the one before is merged with it;
 * then end, which makes it at least one dimension and sets TN__LARGE where it must be. Returns the number of elements. */
void tn__gpu_dims_add(tn__gpu_dims *w, int64_t shape, int64_t a, int64_t b, int64_t c);
int64_t tn__gpu_dims_end(tn__gpu_dims *w, uint32_t *variant);

/* The stride of a dimension; a 0-dim view is one of shape [1]. */
static inline int64_t tn__stride_of(const tn__view *v, int64_t dim)
{
    return v->ndim ? v->stride[dim] : 1;
}

static inline int64_t tn__size_of(const tn__view *v, int64_t dim)
{
    return v->ndim ? v->shape[dim] : 1;
}

/* The rows of a along one dimension: the dimensions but that one, in the order of a's strides. b and c: further operands of
 * that shape, or NULL. Returns how many rows. */
int64_t tn__gpu_dims_except(tn__gpu_dims *w, uint32_t *variant, int64_t dim, const tn__view *a, const tn__view *b,
                            const tn__view *c);

/* Are the strides multiples of what 16 bytes hold of the view, its memory aligned, its step along the rows 1? */
bool tn__gpu_dims_vectorizable(const tn__gpu_dims *w, const int64_t *stride, const tn__view *v, int64_t step);

/* Dimensions of v that are in the mask, from the smallest stride to the largest. Returns how many. */
int32_t tn__gpu_dims_order(const tn__view *v, uint32_t mask, int32_t order[TN_MAX_DIMS]);

static inline uint32_t tn__all_dims(const tn__view *v)
{
    return (1U << v->ndim) - 1;
}

/* The smallest power of two that is not below n; from 1 to most. */
static inline int32_t tn__power_of_two(int64_t n, int32_t most)
{
    int32_t p = 1;
    while (p < n && p < most)
        p *= 2;
    return p;
}

/* Is the memory fit for loads of 16 bytes? */
static inline bool tn__aligned16(const void *p)
{
    return ((uintptr_t)p & 15) == 0;
}

/* Work items that keep a device busy: enough loads under way to fill its memory's pipes. */
static inline int64_t tn__enough_items(const tn__gpu_limits *limits)
{
    return (int64_t)TN_MAX(limits->multiprocessors, 1) * 1024;
}

/* Groups of 256 for n work items that go on by the size of the grid. */
static inline uint32_t tn__grid_groups(int64_t n, const tn__gpu_limits *limits)
{
    int64_t groups = tn__div_up(n, 256), most = (int64_t)TN_MAX(limits->multiprocessors, 1) * 16;
    return (uint32_t)TN_MAX(TN_MIN(groups, most), 1);
}

/* ---- reductions of any kind (kernels/reduction.h) ---- */

/* What a family's kernels "single", "rows", "columns", "finish" are to do: their argument. */
#include "backend/gpu/kernels/reduction_layout.h"

/* Dimensions of x that are in the mask are reduced, in row-major order if 'ordered' (an element's position in it matters). */
void tn__gpu_reduction_dims(tn__gpu_reduction *f, uint32_t *variant, const tn__view *x, uint32_t mask, bool ordered);

/* item: bytes of the family's G; width: columns a work item may take (REDUCE_WIDTH); index: NULL or int64 results. */
TN_MUST_USE tn_status tn__gpu_reduction_run(const tn__launch *l, tn__gpu_unit unit, tn__gpu_reduction *f, void *out,
                                            void *index, size_t item, int32_t width);

#endif
