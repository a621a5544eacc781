/* tests/ops/structural.h: what the cases of structural rows share. A case is a function that tries one public row of
 * the list in every dtype and layout it has, against loops of its own. test_structural.c runs the case of every row, and
 * fails for a row that has none. */
#ifndef TENON_TESTS_OPS_STRUCTURAL_H
#define TENON_TESTS_OPS_STRUCTURAL_H

#include "ops/kit.h"

typedef struct structural_case {
    const char *row;
    void (*run)(void);
} structural_case;

/* ---- shapes to try ---- */
typedef struct shape_list {
    int32_t ndim;
    int64_t dim[TN_MAX_DIMS];
} shape_list;
extern const shape_list some_shapes[]; /* the last ones are empty */
enum { N_SHAPES = 11, N_NOT_EMPTY = 8 };

/* ---- what a result must be ---- */
typedef struct expected {
    tn_dtype dtype;
    int32_t ndim;
    int64_t shape[TN_MAX_DIMS], numel;
    real *v;   /* [numel], row-major */
    real *tol; /* absolute error allowed, beside 'ulps' of the result's dtype; NULL: none */
    int ulps;
    bool bits;   /* also the sign of zero */
    int *writes; /* expected_write: how many to each element, and the sum of their absolute values; NULL: not noted */
    real *size;
} expected;

void expected_init(expected *e, tn_dtype dtype, int32_t ndim, const int64_t *shape);
void expected_tolerate(expected *e); /* gives it .tol, all zero */
void expected_free(expected *e);

/* What writes by index: each write of v to element i is noted; then, on GPUs, where the order of several writes to one place is
 * not said, such a place may have any of them, or the sum or product in any order; then the array that was written in place gets
 * what it has now, for what follows. */
typedef enum write_kind { WRITES, SUMS, PRODUCTS } write_kind;
void expected_write(expected *e, int64_t i, real v);
void expected_any_order(expected *e, write_kind kind);
void expected_in_place(const expected *e, kit_array *x);

/* Compares; the words say what was tried. */
bool check(const expected *e, const tn_tensor *got, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* The same, and frees e. */
bool check_free(expected *e, const tn_tensor *got, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* got is NULL and the error has this code and contains the text. */
bool refused(const void *got, tn_status code, const char *text, const char *what);
#define REFUSED(call, code, text) refused((call), (code), (text), #call)

/* An index out of range: the CPU refuses the call so; a GPU makes a result, and its next synchronisation says 'later'. */
bool refused_index(const void *got, tn_status code, const char *text, const char *later, const char *what);
#define REFUSED_INDEX(call, code, text, later) refused_index((call), (code), (text), (later), #call)

/* got has this shape and these values, row by row; exactly. */
void holds(const tn_tensor *got, tn_dims shape, const double *want, const char *what);
#define HOLDS(call, shape, ...) holds((call), shape, (const double[]){__VA_ARGS__}, #call)
/* Evaluates to the tensor, and notes a failure where there is none. */
tn_tensor *made(tn_tensor *t, const char *what);
#define MADE(call) made((call), #call)
void truth(bool holds, const char *what);
#define TRUTH(condition) truth((condition), #condition)

/* Of one shape and dtype, and no element further from the other than a + a times its size, both NaN apart. */
bool same_within(tn_tensor *got, tn_tensor *want, double a);

/* A shown array of random values; tame ones are small. */
void random_array(kit_array *a, tn_dtype dtype, int32_t ndim, const int64_t *shape, kit_layout layout, bool tame);
/* Random indices in [0, n): int64 or int32. */
void index_array(kit_array *a, tn_dtype dtype, int32_t ndim, const int64_t *shape, kit_layout layout, int64_t n);

/* Calls it with an array of every dtype, shape and layout, in a scope of its own; tame: small numbers. What is drawn for one,
 * by the tests or the library, does not depend on the others. */
void each_array(void (*attempt)(kit_array *x), bool tame);

/* got has x's dtype, shape and values, and the same zeros. */
void equals_values(const kit_array *x, const tn_tensor *got, const char *name);

/* ---- small tensors of known values ---- */
tn_tensor *four_values(double a, double b, double c, double d); /* float64 */
tn_tensor *counted(tn_dims shape, int64_t n);                   /* 1 .. n, float32 */
tn_tensor *few_indices(void);                                   /* 2 0 0, 1 2 1 */

/* ---- functions that are a formula of one or two elements, composed of operations ---- */
typedef struct formula {
    const char *name;
    tn_tensor *(*f)(tn_tensor *x, tn_tensor *y);
    real (*reference)(real x, real y);
    int roundings;      /* allowed: so many of the dtype, of the sizes at hand */
    bool probabilities; /* both in (0, 1) */
} formula;

#define FORMULA(name, expression, want) \
    static tn_tensor *formula_##name(tn_tensor *x, tn_tensor *y) \
    { \
        (void)y; \
        return expression; \
    } \
    static real wanted_##name(real x, real y) \
    { \
        (void)y; \
        return want; \
    }
#define FORMULA_ROW(name, roundings, probabilities) \
    { \
#name, formula_##name, wanted_##name, roundings, probabilities \
    }
#define NONE .reduction = TN_NO_REDUCTION

/* Element by element, in every floating dtype, shape and layout; a formula's operands depend on its name. */
void formulas_hold(const formula *all, size_t n);

/* A row-major array taken apart at a dimension: element k of lane (o, i) is at (o * n + k) * inner + i. 0-dim: one of
 * one. */
typedef struct lane {
    int64_t outer, n, inner;
} lane;
lane lane_of(const kit_array *x, int32_t dim);
/* x's shape without that dimension, or with 1 there; returns how many dimensions that is. */
int32_t without_dim(const kit_array *x, int32_t dim, bool keepdim, int64_t *shape);

/* eps of the dtype that dtype d computes in: 2^-24 for float32 and below, 2^-53. */
static inline real compute_eps(tn_dtype d)
{
    return d == TN_F64 ? 0x1p-53L : 0x1p-24L;
}

#endif
