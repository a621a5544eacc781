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
    /* out[i] = index[i * along] * step, to which what is there is added if 'add'; what is negative counts from size. Is one of
     * them outside? Of int64 indices, of int32 ones. */
    bool (*ravel)(const int64_t *index, int64_t along, int64_t n, int64_t size, int64_t step, bool add, int64_t *out);
    bool (*ravel_32)(const int32_t *index, int64_t along, int64_t n, int64_t size, int64_t step, bool add,
                     int64_t *out);
} tn__index_loops;

#endif
