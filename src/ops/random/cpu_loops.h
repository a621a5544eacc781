/* ops/random/cpu_loops.h: the family's loops in each instruction set's table (backend/cpu/isa.h), by floating type. */
#ifndef TENON_OPS_RANDOM_CPU_LOOPS_H
#define TENON_OPS_RANDOM_CPU_LOOPS_H

#include <stdint.h>

typedef struct tn__random_loops {
    /* n numbers from Philox blocks first, first + 1 ...: scaled uniform, or normal. */
    void (*uniform[2])(void *out, uint64_t seed, uint64_t first, int64_t n, int bits, double from, double to);
    void (*normal[2])(void *out, uint64_t seed, uint64_t first, int64_t n, double mean, double std);
    /* out[i] = x[i] * scale where uniform number i >= p, else 0 */
    void (*dropout[2])(void *out, const void *x, uint64_t seed, uint64_t first, int64_t n, double p);
} tn__random_loops;

#endif
