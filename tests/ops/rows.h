/* tests/ops/rows.h: the list's elementwise rows as data for tests: how each is called, and its expression compiled once
 * more, for long double and int64, as a slow plain reference. A new row is here as soon as it is in the list of operations. */
#ifndef TENON_TESTS_OPS_ROWS_H
#define TENON_TESTS_OPS_ROWS_H

#include "ops/kit.h"

typedef struct row {
    const char *name; /* internal rows begin with '_' */
    int arity;
    tn__rule rule;
    real (*f)(real a, real b, real c);
    int64_t (*i)(int64_t a, int64_t b, int64_t c); /* NULL where integers compute as floats */
    bool differentiable[3];
    tn_tensor *(*one)(const char *site, tn_tensor *x);
    tn_tensor *(*two)(const char *site, tn_scalar a, tn_scalar b);
    tn_tensor *(*three)(const char *site, tn_scalar a, tn_scalar b, tn_scalar c);
    tn_tensor *(*one_)(const char *site, tn_tensor *x);
    tn_tensor *(*two_)(const char *site, tn_tensor *a, tn_scalar b);
    tn_tensor *(*three_)(const char *site, tn_tensor *a, tn_scalar b, tn_scalar c);
} row;

extern const row rows[];
extern const int n_rows;

const row *row_find(const char *name);

/* Calls it, out of place or writing to the first operand. */
tn_tensor *row_call(const row *r, const tn_scalar *in, bool inplace);

/* ---- what PyTorch's promotion makes of operands ---- */
typedef struct row_operand {
    tn_dtype dtype; /* of a number: bool, int64 or float64 (a Python float) */
    bool number, zero_dim;
} row_operand;

typedef struct row_dtypes {
    bool refused;
    tn_dtype common;  /* result_type of the operands that count */
    tn_dtype compute; /* what Tenon computes in: the list of operations */
    tn_dtype result;
} row_dtypes;

row_dtypes row_infer(const row *r, const row_operand *o);

/* How exact a row is. Errors in units in the last place (ulps) of the compute dtype; a result in a 16-bit dtype may be one
 * of its own ulps off if k > 0 (the value was near the middle of two), none if k is 0. */
typedef struct row_bound {
    int k32, k64;
    bool backward;         /* or the exact result of operands that are one ulp off: rows that cancel or jump */
    real floor32, floor64; /* absolute error that is always allowed */
} row_bound;

row_bound row_bound_of(const row *r);

/* Is operand i one that only some values make sense for, an order or what a gradient saved? Then *v is one of them. */
bool row_has_domain(const row *r, int i, tn_dtype d, real *v);

/* Activations that are smooth, and their gradients: their operands are drawn from -9 .. 9 (slopes from 0.5 .. 3), where nothing
 * overflows on the way; what cancels in them is as exact as the largest term. */
bool row_is_smooth(const row *r);

/* The reference's result for one element; operands as they are in their dtypes (numbers: as given). */
real row_reference(const row *r, const row_operand *o, const row_dtypes *d, const real *in);

/* Is 'got' a right answer, given the reference's? to: the dtype of the tensor that holds it. */
bool row_accepts(const row *r, const row_operand *o, const row_dtypes *d, tn_dtype to, const real *in, real got);

/* The largest error seen in compute dtype float32, float64, in ulps of it, by row. */
extern int64_t row_worst[][2];

#endif
