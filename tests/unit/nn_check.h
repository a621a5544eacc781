/* tests/unit/nn_check.h: what the tests of modules and optimisers share beside check.h. */
#ifndef TENON_TESTS_NN_CHECK_H
#define TENON_TESTS_NN_CHECK_H

#include "check.h"
#include "core/alloc.h"
#include <math.h>
#include <stdlib.h>

/* A module that must be there; gives it back. */
#define BUILT(m) built_((m), #m, __FILE__, __LINE__)
/* Doubles that agree: |a - b| <= tolerance * (1 + |b|). */
#define NEAR(a, b, tolerance) near_((a), (b), (tolerance), #a, __FILE__, __LINE__)
/* The module prints as text. */
#define MODULE_PRINTS(m, text) module_prints_((m), text, __FILE__, __LINE__)

static inline tn_module *built_(tn_module *m, const char *what, const char *file, int line)
{
    check_ok_(m != NULL, what, file, line);
    return m;
}

static inline void near_(double a, double b, double tolerance, const char *what, const char *file, int line)
{
    if (!(fabs(a - b) <= tolerance * (1 + fabs(b))) && !(a == b) && !(isnan(a) && isnan(b))) {
        print_error("%s: expected %.17g, got %.17g\n", what, b, a);
        _fail(file, line);
    }
}

static inline void module_prints_(const tn_module *m, const char *text, const char *file, int line)
{
    char got[4096];
    int64_t n = tn_module_to_string(m, got, sizeof got);
    if (n < 0 || strcmp(got, text) != 0 || (size_t)n != strlen(text)) {
        print_error("expected:\n%s\ngot:\n%s\n", text, n < 0 ? tn_error_message() : got);
        _fail(file, line);
    }
}

/* Element i of t, in row-major order, as a double. */
static inline double element(tn_tensor *t, int64_t i)
{
    bool was = tn_set_grad_enabled(false);
    tn_scope *scope = tn_scope_open();
    double v = tn_item(tn_select(tn_reshape(t, TN_SHAPE(-1)), 0, i));
    tn_scope_close(scope);
    tn_set_grad_enabled(was);
    return v;
}

/* The values of t, without its history; prints as a plain tensor. */
static inline tn_tensor *values(tn_tensor *t)
{
    bool was = tn_set_grad_enabled(false);
    tn_tensor *plain = tn_detach(t);
    tn_set_grad_enabled(was);
    return check_made_(plain, "values", __FILE__, __LINE__);
}

/* The thread's scratch for backward passes is made at the first one and kept: before blocks are counted, there is one. */
static inline void warm_up(void)
{
    tn_scope *scope = tn_scope_open();
    OK(tn_backward(tn_sum(tn_mul(tn_ones(TN_SHAPE(1), .requires_grad = true), 2))));
    tn_scope_close(scope);
}

#endif
