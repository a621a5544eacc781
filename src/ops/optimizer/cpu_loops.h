/* ops/optimizer/cpu_loops.h: the family's loops in each instruction set's table (backend/cpu/isa.h), by floating type. */
#ifndef TENON_OPS_OPTIMIZER_CPU_LOOPS_H
#define TENON_OPS_OPTIMIZER_CPU_LOOPS_H

#include "op/op.h"

/* Dense parameter, gradient and state, in place. */
typedef struct tn__optimizer_loops {
    void (*sgd[2])(void *p, const void *g, void *buffer, int64_t n, const tn__sgd_params *a);
    void (*adam[2])(void *p, const void *g, void *m, void *v, int64_t n, const tn__adam_params *a);
    /* first, second: state; what a rule has not is scratch memory */
    void (*rule[2])(void *p, const void *g, void *first, void *second, int64_t n, const tn__rule_params *r);
} tn__optimizer_loops;

#endif
