/* ops/sort/cpu_keys.h: whole numbers that order as elements do: NaN is the largest, -0 is 0. They have as many bytes as the
 * element's compute type: 4 or 8. */
#ifndef TENON_OPS_SORT_CPU_KEYS_H
#define TENON_OPS_SORT_CPU_KEYS_H

#include "backend/cpu/cpu.h"

typedef struct tn__keys {
    tn_dtype dtype;
    int type;
    uint64_t flip;
    int bytes;  /* of a key */
    int bits;   /* that tell keys apart: fewer where elements are smaller; higher ones are 0 */
    bool dense; /* elements are of the compute type */
} tn__keys;

/* Keys of elements of the dtype, or of the other order. */
static inline tn__keys tn__keys_of(tn_dtype d, bool descending)
{
    const tn_dtype compute = tn__dtypes[d].compute;
    tn__keys k = {.dtype = d, .type = tn__type_of(compute), .dense = compute == d || d == TN_U64};
    const bool is_float = tn__dtype_is_float(d);
    k.bytes = (int)tn__type_size(k.type);
    k.bits = 8 * (is_float ? k.bytes : (int)tn__dtype_size(d));
    const uint64_t all = UINT64_MAX >> (64 - k.bits);
    /* integers of fewer bytes than their compute type are moved up, so that none is negative: add_first */
    k.flip = descending ? all : 0;
    if (!is_float && tn__dtypes[d].kind == TN__KIND_INT && k.bits == 8 * k.bytes)
        k.flip ^= (uint64_t)1 << (k.bits - 1);
    return k;
}

/* Keys of the n <= TN__BLOCK elements at p, that lie one after another. */
static inline void tn__keys_load(const tn__keys *k, const void *p, int64_t n, void *to)
{
    double block[TN__BLOCK];
    const void *x = p;
    if (!k->dense) {
        tn__isa()->load[k->dtype][k->type](block, p, 1, n);
        x = block;
        if (k->bits < 8 * k->bytes && tn__dtypes[k->dtype].kind == TN__KIND_INT)
            for (int64_t i = 0; i < n; i++) /* 8 and 16 bits, in int32 */
                ((int32_t *)block)[i] += (int32_t)1 << (k->bits - 1);
    }
    tn__isa()->sort.keys[k->type](to, x, n, k->flip);
}

static inline uint64_t tn__key_at(const tn__keys *k, const void *keys, int64_t i)
{
    return k->bytes == 4 ? ((const uint32_t *)keys)[i] : ((const uint64_t *)keys)[i];
}

#endif
