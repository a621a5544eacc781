/* tests/ops/gradients.h: what the parts of test_gradients share: which derivatives were walked, and how results
 * compare. */
#ifndef TENON_TESTS_OPS_GRADIENTS_H
#define TENON_TESTS_OPS_GRADIENTS_H

#include "ops/rows.h"

/* Notes every operation in the graph behind t. At the end each row with a derivative must have been met. */
void graph_seen(tn_tensor *t);
/* Fails for rows with a derivative that no graph had. Returns how many rows have one. */
int graph_report(void);

/* got (float64, of a's shape) against values and allowed errors; NULL is zero everywhere. */
bool gradient_is(const kit_array *a, const tn_tensor *got, const real *want, const real *tol, const char *words);

/* Makes the array's tensor a leaf that asks for a gradient. */
tn_tensor *leaf(kit_array *a);
/* Sum of t times weights (of t's shape), as a 0-dim tensor. */
tn_tensor *weighted(tn_tensor *t, tn_tensor *weights);

/* The parts. */
void gradients_of_rows(const char *only);
void gradients_of_structural(const char *only);
void gradients_at_kinks(void);

#endif
