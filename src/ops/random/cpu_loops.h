/* ops/random/cpu_loops.h: the family's loops in each instruction set's table (backend/cpu/isa.h), by floating type. */
#ifndef TENON_OPS_RANDOM_CPU_LOOPS_H
#define TENON_OPS_RANDOM_CPU_LOOPS_H

#include <tenon/random.h>

typedef struct tn__random_loops {
    /* n numbers from Philox blocks first, first + 1 ...: scaled uniform, or normal. */
    void (*uniform[2])(void *out, uint64_t seed, uint64_t first, int64_t n, int bits, double from, double to);
    void (*normal[2])(void *out, uint64_t seed, uint64_t first, int64_t n, double mean, double std);
    /* out[i] = x[i] * scale where uniform number i >= p, else 0 */
    void (*dropout[2])(void *out, const void *x, uint64_t seed, uint64_t first, int64_t n, double p);
    /* The next n words of an MT19937; numbers in [from, to) from n of them (from 2 n: double), before they are rounded to
     * the dtype; and normal ones, in groups of 16, in the place of uniform ones. */
    void (*mt_words)(tn_mt19937 *g, uint32_t *out, int64_t n);
    void (*mt_uniform[2])(void *out, const uint32_t *words, int64_t n, double from, double to);
    void (*mt_normal)(float *data, int64_t n, float mean, float std);
    /* The derivatives of gamma numbers in[1] by their parameters in[0]; of beta numbers in[0] by in[1], where in[2] is the sum
     * of both parameters. */
    void (*gamma_slopes)(double *out, const double *const *in, int64_t n);
    void (*beta_slopes)(double *out, const double *const *in, int64_t n);
} tn__random_loops;

#endif
