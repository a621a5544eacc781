/* backend/cpu/lines.h: kernels of the CPU that compute along one dimension. */
#ifndef TENON_BACKEND_CPU_LINES_H
#define TENON_BACKEND_CPU_LINES_H

#include "backend/cpu/cpu.h"

/* x seen as [outer][n][inner], n the dimension; inner and outer are walked by their own dimensions. */
typedef struct tn__line_job {
    const tn__launch *l;
    int type;
    int64_t dim, n, inner, outer;
} tn__line_job;

/* One line of the result from lines of the inputs, all dense and of the loop type. b: NULL where there is one input. */
typedef void (*tn__line_body)(const tn__line_job *j, void *out, const void *a, const void *b);

/* Runs body for every line of the result along dim. */
tn_status tn__cpu_lines(const tn__launch *l, int64_t dim, tn__line_body body, int inputs);

#endif
