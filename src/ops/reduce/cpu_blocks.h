/* ops/reduce/cpu_blocks.h: reductions that carry more than one number from one block of a row to the next. */
#ifndef TENON_OPS_REDUCE_CPU_BLOCKS_H
#define TENON_OPS_REDUCE_CPU_BLOCKS_H

#include "backend/cpu/cpu.h"

/* What is carried for one result; all 0 before the first block. */
typedef struct tn__carried {
    double a, b, n;
    int64_t whole, at;
} tn__carried;

enum {
    TN__MAX_BUNDLE = 32 /* rows that columns_bf16 gets, at most */,
    TN__MAX_LINE = 1024
}; /* rows that are side by side, at most */

typedef struct tn__block_rules {
    /* n elements of a row, dense and of the loop type, at least one; the first is the row's at-th. */
    void (*block)(const tn__launch *l, int type, tn__carried *c, const void *x, int64_t at, int64_t n);
    /* c, of the elements up to some place, takes what is carried of those from there on, at least one; neither is as it began. */
    void (*join)(const tn__launch *l, int type, tn__carried *c, const tn__carried *next);
    void (*store)(const tn__launch *l, int type, const tn__carried *c, int64_t result);
    /* As block, of bfloat16 as it lies in memory, dense, computed with as float. NULL: it is converted first. */
    void (*block_bf16)(tn__carried *c, const void *x, int64_t n);
    /* The same of 'width' whole rows of n elements that lie side by side, step from one element to the next. */
    void (*columns_bf16)(tn__carried *c, const void *x, int64_t step, int64_t n, int64_t width);
    /* 'width' short rows at once, side by side: n lines of their k-th elements, one line after another; the first result is the
     * result-th, the others follow it. NULL: never. */
    void (*lines)(const tn__launch *l, int type, const void *x, int64_t n, int64_t width, int64_t result);
    bool ordered; /* places count: elements are taken in row-major order, else as they lie */
} tn__block_rules;

/* Of each row of input 0, the elements of the dimensions that are named, block by block. Results are counted row-major. */
void tn__cpu_blocks(const tn__launch *l, const tn__dims *dim, int type, const tn__block_rules *rules);

#endif
