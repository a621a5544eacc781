/* ops/sort/cpu_keys.h: whole numbers that order as floats do. NaN is the largest, -0 is 0. */
#ifndef TENON_OPS_SORT_CPU_KEYS_H
#define TENON_OPS_SORT_CPU_KEYS_H

#include <stdint.h>
#include <string.h>

static inline uint64_t tn__key_of_double(double v)
{
    uint64_t u;
    if (v != v)
        return UINT64_MAX;
    v += 0.0;
    memcpy(&u, &v, sizeof u);
    return u >> 63 ? ~u : u | (uint64_t)1 << 63;
}

static inline uint32_t tn__key_of_float(float v)
{
    uint32_t u;
    if (v != v)
        return UINT32_MAX;
    v += 0.0F;
    memcpy(&u, &v, sizeof u);
    return u >> 31 ? ~u : u | (uint32_t)1 << 31;
}

#endif
