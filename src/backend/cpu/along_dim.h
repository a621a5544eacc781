/* backend/cpu/along_dim.h: kernels of the CPU that compute along one dimension, or several. */
#ifndef TENON_BACKEND_CPU_ALONG_DIM_H
#define TENON_BACKEND_CPU_ALONG_DIM_H

#include "backend/cpu/cpu.h"

/* n: elements of a row. */
typedef struct tn__row_job {
    const tn__launch *l;
    int type;
    int64_t n;
} tn__row_job;

/* One row of the result from rows of the inputs, all dense and of the loop type. b: NULL where there is one input. */
typedef void (*tn__row_body)(const tn__row_job *j, void *out, const void *a, const void *b);

/* The same of 'width' rows at once, side by side: their k-th elements lie together, in line k of n, one line after another. */
typedef void (*tn__lines_body)(const tn__row_job *j, void *out, const void *a, const void *b, int64_t width);

/* Runs body for every row of the result: the elements along dim; or along all dimensions in the mask, the last one fastest.
 * lines: called in its place where rows are short, or lie side by side anyway. */
tn_status tn__cpu_along_dim(const tn__launch *l, int64_t dim, tn__row_body body, tn__lines_body lines, int inputs);
tn_status tn__cpu_along_dims(const tn__launch *l, uint32_t mask, tn__row_body body, tn__lines_body lines, int inputs);

#endif
