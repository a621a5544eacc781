/* core/mt19937.h: MT19937 (Matsumoto and Nishimura, TOMACS 8, 1998): what gives a CPU PyTorch's numbers. Its stream has one
 * order, so who draws holds the generator (tn__mt_lock) from the first number to the last. */
#ifndef TENON_CORE_MT19937_H
#define TENON_CORE_MT19937_H

#include "core/base.h"
#include <tenon/random.h>

enum { TN__MT_N = 624, TN__MT_M = 397 };

static inline uint32_t tn__mt_twist(uint32_t a, uint32_t b)
{
    return (((a & 0x80000000U) | (b & 0x7fffffffU)) >> 1) ^ (0x9908b0dfU & (0U - (b & 1U)));
}

static inline uint32_t tn__mt_temper(uint32_t y)
{
    y ^= y >> 11;
    y ^= (y << 7) & 0x9d2c5680U;
    y ^= (y << 15) & 0xefc60000U;
    return y ^ (y >> 18);
}

/* The next 624 words. Each loop reads ahead of what it writes, or 227 behind: as many as any vector is wide go abreast. */
static inline void tn__mt_refill(tn_mt19937 *g)
{
    uint32_t *s = g->state;
    for (int i = 0; i < TN__MT_N - TN__MT_M; i++)
        s[i] = s[i + TN__MT_M] ^ tn__mt_twist(s[i], s[i + 1]);
    for (int i = TN__MT_N - TN__MT_M; i < TN__MT_N - 1; i++)
        s[i] = s[i - (TN__MT_N - TN__MT_M)] ^ tn__mt_twist(s[i], s[i + 1]);
    s[TN__MT_N - 1] = s[TN__MT_M - 1] ^ tn__mt_twist(s[TN__MT_N - 1], s[0]);
    g->left = TN__MT_N + 1;
    g->next = 0;
}

static inline uint32_t tn__mt_next(tn_mt19937 *g)
{
    if (g->left <= 1)
        tn__mt_refill(g);
    g->left--;
    return tn__mt_temper(g->state[g->next++]);
}

/* Of two numbers the first is the high half. */
static inline uint64_t tn__mt_next64(tn_mt19937 *g)
{
    const uint64_t high = tn__mt_next(g);
    return high << 32 | tn__mt_next(g);
}

/* 53 bits in [0, 1) */
static inline double tn__mt_double(tn_mt19937 *g)
{
    return (double)(int64_t)(tn__mt_next64(g) & 0x1fffffffffffffU) * 1.1102230246251565e-16;
}

#endif
