/* ops/scan/cpu_loops.h: the family's loops in each instruction set's table (backend/cpu/isa.h), by compute type. */
#ifndef TENON_OPS_SCAN_CPU_LOOPS_H
#define TENON_OPS_SCAN_CPU_LOOPS_H

#include <stdbool.h>
#include <stdint.h>

enum { TN__SCAN_SUM, TN__SCAN_PRODUCT, TN__SCAN_LOGSUM, TN__SCAN_MAX, TN__SCAN_MIN, TN__SCANS };

/* What is behind an element of a row: x is dense, 'step' the place of its first element in the row (0: nothing is behind it).
 * Each gets and leaves in a and b what has come so far: a the double or integer sum or product; of logsum the double s and b
 * the largest m, of which s * e^m is the sum; of extremes a the extreme and b, int64, where it stands. index: of extremes.
 *
 * row: n elements of one row. columns: some elements each, in lines, of n rows that lie side by side; a and b have n. */
typedef void (*tn__scan_loop)(void *a, void *b, void *out, int64_t *index, const void *x, int64_t n, int64_t step,
                              int64_t lines);

typedef struct tn__scan_loops {
    tn__scan_loop row[TN__SCANS][4], columns[TN__SCANS][4]; /* logsum: of floats alone */
} tn__scan_loops;

#endif
