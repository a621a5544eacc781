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

#endif
