/* tests/ops/view.h: what cases of views share. */
#ifndef TENON_TESTS_OPS_VIEW_H
#define TENON_TESTS_OPS_VIEW_H

#include "ops/family.h"

/* A mapping from the view's coordinates to x's, set by each case before it calls 'shows'. */
typedef struct mapping {
    void (*map)(const int64_t *at, int64_t *from, const struct mapping *m);
    int64_t a, b, c, e;
    const int64_t *list;
    int32_t n;
} mapping;

/* got has that shape and shows, at each place, x's element that the mapping names; copies are told apart. */
void shows(const tn_tensor *got, const kit_array *x, int32_t ndim, const int64_t *shape, const mapping *m, bool shares,
           const char *name);

#endif
