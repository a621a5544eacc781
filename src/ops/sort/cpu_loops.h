/* ops/sort/cpu_loops.h: the family's loops in each instruction set's table (backend/cpu/isa.h), by compute type. */
#ifndef TENON_OPS_SORT_CPU_LOOPS_H
#define TENON_OPS_SORT_CPU_LOOPS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct tn__sort_loops {
    /* Of n dense elements of the compute type: numbers without a sign, as wide, that order as the elements do; of floats NaN is
     * the largest, and -0 is 0. What they are is turned by 'flip': all bits for the other order; of integers the first bit, too,
     * if they have a sign. */
    void (*keys[4])(void *to, const void *x, int64_t n, uint64_t flip);
    /* The first of the n keys of that width (4 or 8 bytes) that is below the bound, or n. */
    int64_t (*below[2])(const void *keys, int64_t from, int64_t n, uint64_t bound);
    /* Is no element of the row below the one before it, nor NaN? */
    bool (*ascends[4])(const void *row, int64_t n);
    /* Where each of the values belongs in a row of n > 0 elements: before those that equal it (0), or behind them (1); the same
     * in a row that ascends (2 and 3); before those that equal it in one that ascends to NaN at its end (4). */
    void (*places[4])(int64_t *to, const void *row, int64_t n, const void *values, int64_t count, int how);
    /* Elements from .. last - 1 of those at x, which are dense, that are not equal to the one before; of element 0 there is none
     * before. They themselves, and where they are, each if that is not NULL: what is behind them may be written, too, but no more
     * than last - from elements are. How many there are. */
    int64_t (*runs[4])(void *values, int64_t *first, const void *x, int64_t from, int64_t last);
} tn__sort_loops;

#endif
