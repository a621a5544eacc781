/* ops/random/cpu_philox.h: Philox blocks, sixteen abreast: what the loops of both types draw from, per instruction set. */
#ifndef TENON_OPS_RANDOM_CPU_PHILOX_H
#define TENON_OPS_RANDOM_CPU_PHILOX_H

#include "core/philox.h"

enum { LANES = 16, WORDS = 4 * LANES };

/* Words of blocks first .. first + 15, in order: out[4 * i + k] is word k of block first + i. */
static void philox_words(uint64_t seed, uint64_t first, uint32_t out[WORDS])
{
    uint32_t c0[LANES], c1[LANES], c2[LANES] = {0}, c3[LANES] = {0};
    uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
    for (int i = 0; i < LANES; i++) {
        c0[i] = (uint32_t)(first + (uint64_t)i);
        c1[i] = (uint32_t)((first + (uint64_t)i) >> 32);
    }
    for (int round = 0; round < 10; round++) {
        for (int i = 0; i < LANES; i++) {
            uint64_t p0 = (uint64_t)0xD2511F53U * c0[i], p1 = (uint64_t)0xCD9E8D57U * c2[i];
            c0[i] = (uint32_t)(p1 >> 32) ^ c1[i] ^ k0;
            c2[i] = (uint32_t)(p0 >> 32) ^ c3[i] ^ k1;
            c1[i] = (uint32_t)p1;
            c3[i] = (uint32_t)p0;
        }
        k0 += 0x9E3779B9U;
        k1 += 0xBB67AE85U;
    }
    for (int i = 0; i < LANES; i++) {
        out[4 * i] = c0[i];
        out[4 * i + 1] = c1[i];
        out[4 * i + 2] = c2[i];
        out[4 * i + 3] = c3[i];
    }
}

static inline double words_f64(const uint32_t *w)
{
    uint64_t u = ((uint64_t)w[1] << 32 | w[0]) >> 11;
    return (double)u * 1.1102230246251565e-16; /* 2^-53 */
}

#endif
