/* ops/random/cpu_mt.h: kernels that draw from the CPU's MT19937, in PyTorch's order. */
#ifndef TENON_OPS_RANDOM_CPU_MT_H
#define TENON_OPS_RANDOM_CPU_MT_H

#include "backend/backend.h"
#include <tenon/random.h>

tn_status tn__cpu_mt_uniform(const tn__launch *l);
tn_status tn__cpu_mt_normal(const tn__launch *l);
tn_status tn__cpu_mt_randint(const tn__launch *l);

/* One normal number, of two that are made together. */
double tn__mt_normal(tn_mt19937 *g);

/* order = a permutation of 0 .. n - 1 */
void tn__mt_permutation(int64_t *order, int64_t n);

#endif
