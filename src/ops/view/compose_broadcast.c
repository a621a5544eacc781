/* Shapes that several tensors share. */
#include "core/shape.h"
#include "ops/compose.h"
#include <stdio.h>

bool tn__broadcast_with(int64_t *shape, int32_t *ndim, tn_dims t)
{
    const int32_t n = t.ndim > *ndim ? t.ndim : *ndim, own = n - *ndim, its = n - t.ndim;
    memmove(shape + own, shape, (size_t)*ndim * sizeof *shape);
    for (int32_t d = 0; d < n; d++) {
        const int64_t have = d < own ? 1 : shape[d], want = d < its ? 1 : t.dim[d - its];
        if (have != want && have != 1 && want != 1)
            return false;
        shape[d] = have == 1 ? want : have;
    }
    *ndim = n;
    return true;
}

/* The error of tensors that have no shape in common. */
static void no_common_shape(tn_tensor *const *t, size_t n)
{
    char text[512] = "";
    for (size_t i = 0; i < n; i++) {
        size_t at = strlen(text);
        const tn_dims s = tn__shape_of(t[i]);
        at += (size_t)snprintf(text + at, sizeof text - at, "%s(", i ? " and " : "");
        for (int32_t d = 0; d < s.ndim && at < sizeof text; d++)
            at += (size_t)snprintf(text + at, sizeof text - at, "%s%lld", d ? ", " : "", (long long)s.dim[d]);
        if (at < sizeof text)
            snprintf(text + at, sizeof text - at, s.ndim == 1 ? ",)" : ")");
        if (at + 2 >= sizeof text)
            break;
    }
    tn__error(TN_EINVAL, "Shape mismatch: objects cannot be broadcast to a single shape: %s", text);
}

bool tn__broadcast_all(tn_tensor **t, size_t n)
{
    int64_t shape[TN_MAX_DIMS];
    int32_t ndim = 0;
    for (size_t i = 0; i < n; i++) {
        if (!tn__usable("broadcast_tensors", t[i]))
            return false;
        if (!tn__broadcast_with(shape, &ndim, tn__shape_of(t[i])))
            return no_common_shape(t, n), false;
    }
    for (size_t i = 0; i < n; i++) /* no view where none is needed, as PyTorch */
        if (!tn__same_shape(shape, ndim, t[i]->shape, t[i]->ndim) &&
            !(t[i] = tn_expand(t[i], ((tn_dims){ndim, shape}))))
            return false;
    return true;
}
