/* ops/sort/cpu_words.h: sorting words by some of their bits, and the k-th of many keys. */
#ifndef TENON_OPS_SORT_CPU_WORDS_H
#define TENON_OPS_SORT_CPU_WORDS_H

#include "core/base.h"

enum { TN__FEW_WORDS = 32, TN__LONG_ROW = 1 << 17 };

/* Bits that the number needs. */
static inline int tn__bits_of(uint64_t v)
{
    return v ? 64 - __builtin_clzll(v) : 0;
}

/* Sorts n words by their bits low .. high - 1; of equal ones the lower word stays first, as all are in order of their lower
 * bits before. The result is in 'to', which is x or spare; both are written. Long rows by several threads, whose number has
 * no say in the result. done(ctx, words, n): what is to be done with each part that is sorted, apart in its first bits from
 * what is around it; NULL: nothing. */
typedef void (*tn__words_done)(void *ctx, uint64_t *words, int64_t n);
void tn__sort_words(uint64_t *x, uint64_t *spare, int64_t n, int low, int high, uint64_t *to, tn__words_done done,
                    void *ctx);

/* The k-th smallest, from 0, of n > k keys of 4 or 8 bytes, of which 'bits' differ. The array is left in another order, of fewer
 * keys. In a number of passes that has nothing to do with their order. */
uint64_t tn__select_key(void *keys, int bytes, int64_t n, int64_t k, int bits);

#endif
