/* tests/ops/gradients.h: what the parts of test_gradients share: which derivatives were checked, and how results
 * compare. */
#ifndef TENON_TESTS_OPS_GRADIENTS_H
#define TENON_TESTS_OPS_GRADIENTS_H

#include "ops/kit.h"

/* ---- cases of structural rows, which the families have ---- */

enum { INPUTS = 4 };

typedef struct gradient_shape {
    int32_t ndim;
    int64_t dim[4];
} gradient_shape;

/* A function of up to four float64 tensors. */
typedef struct gradient_case {
    const char *name;
    tn_tensor *(*f)(tn_tensor **in);
    int n;
    gradient_shape in[INPUTS];
    bool once; /* linear, or second order has no derivative: said why */
} gradient_case;

#define F(name, expression) \
    static tn_tensor *f_##name(tn_tensor **in) \
    { \
        tn_tensor *x = in[0], *y = in[1]; \
        (void)x, (void)y; \
        return expression; \
    }
#define M34 \
    { \
        2, \
        { \
            3, 4 \
        } \
    }
#define NINE \
    { \
        1, \
        { \
            4 \
        } \
    }
#define ONE(name) \
    { \
#name, f_##name, 1, {M34 }, false \
    }
#define TWO(name) \
    { \
#name, f_##name, 2, {M34, M34 }, false \
    }

/* ---- what the parts of test_gradients share ---- */

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
