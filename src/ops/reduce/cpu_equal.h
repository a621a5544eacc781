/* ops/reduce/cpu_equal.h: are two runs of elements of one dtype equal, each to its own? As == is: NaN to nothing, -0 to 0. */
#ifndef TENON_OPS_REDUCE_CPU_EQUAL_H
#define TENON_OPS_REDUCE_CPU_EQUAL_H

#include <stdbool.h>
#include <stdint.h>
#include <tenon/dtype.h>

bool tn__equal_runs(tn_dtype dtype, const void *a, const void *b, int64_t n);

#endif
