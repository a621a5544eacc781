/* ops/index/cpu_loops.h: the family's loops in each instruction set's table (backend/cpu/isa.h). */
#ifndef TENON_OPS_INDEX_CPU_LOOPS_H
#define TENON_OPS_INDEX_CPU_LOOPS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct tn__index_loops {
    /* Is one of n indices below zero, or not below size, which is above 0? */
    bool (*outside)(const int64_t *index, int64_t n, int64_t size);
    /* to[i] = index[i] + apart[i]. Is one of the indices outside? size 0: it is not asked. */
    bool (*moved)(int64_t *to, const int64_t *index, const int64_t *apart, int64_t n, int64_t size);
} tn__index_loops;

#endif
