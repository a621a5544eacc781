/* core/philox.h: Philox 4x32-10 (Salmon et al., SC'11, "Parallel random numbers: as easy as 1, 2, 3"; constants as in
 * Random123). Block i of a stream depends on (seed, i) alone, so any thread, lane or device can make any part of it. */
#ifndef TENON_CORE_PHILOX_H
#define TENON_CORE_PHILOX_H

#include "core/base.h"

typedef struct tn__u32x4 {
    uint32_t v[4];
} tn__u32x4;

static inline tn__u32x4 tn__philox(const uint32_t key[2], const uint32_t counter[4])
{
    uint32_t k0 = key[0], k1 = key[1];
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
    for (int round = 0; round < 10; round++) {
        uint64_t p0 = (uint64_t)0xD2511F53U * c0, p1 = (uint64_t)0xCD9E8D57U * c2;
        uint32_t n0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0, n2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c1 = (uint32_t)p1;
        c3 = (uint32_t)p0;
        c0 = n0;
        c2 = n2;
        k0 += 0x9E3779B9U;
        k1 += 0xBB67AE85U;
    }
    return (tn__u32x4){{c0, c1, c2, c3}};
}

/* Block 'index' of the stream of 'seed'. */
static inline tn__u32x4 tn__philox_block(uint64_t seed, uint64_t index)
{
    const uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    const uint32_t counter[4] = {(uint32_t)index, (uint32_t)(index >> 32), 0, 0};
    return tn__philox(key, counter);
}

/* Number i of [0, range), of all 64 bits where range is 0: the high half of a 64-bit random number times the range (Lemire,
 * TOMACS 29, 2019). */
static inline uint64_t tn__philox_below(uint64_t seed, uint64_t first, int64_t i, uint64_t range)
{
    tn__u32x4 b = tn__philox_block(seed, first + (uint64_t)(i / 2));
    uint64_t r = (uint64_t)b.v[2 * (i % 2) + 1] << 32 | b.v[2 * (i % 2)];
    __extension__ typedef unsigned __int128 wide;
    return range ? (uint64_t)(((wide)r * range) >> 64) : r;
}

/* A permutation of 0 .. n - 1. Fisher and Yates, from the end: place i changes with a place in [0, i]. */
static inline void tn__philox_permutation(int64_t *order, int64_t n, uint64_t seed, uint64_t first)
{
    for (int64_t i = 0; i < n; i++)
        order[i] = i;
    for (int64_t i = n - 1; i > 0; i--) {
        int64_t k = (int64_t)tn__philox_below(seed, first, i, (uint64_t)i + 1), t = order[i];
        order[i] = order[k];
        order[k] = t;
    }
}

#endif
