/* Shapes that several tensors share, and grids of them. */
#include "ops/compose.h"
#include <stdio.h>
#include <string.h>

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

/* The error of a tensor that has no shape in common with those before it, of which shape is. */
static void no_common_shape(const int64_t *shape, int32_t ndim, const tn_tensor *t)
{
    for (int32_t d = TN_MAX(ndim, t->ndim) - 1, a = ndim - 1, b = t->ndim - 1; a >= 0 && b >= 0; d--, a--, b--)
        if (shape[a] != t->shape[b] && shape[a] != 1 && t->shape[b] != 1) {
            tn__error(
                TN_EINVAL,
                "The size of tensor a (%lld) must match the size of tensor b (%lld) at non-singleton dimension %d",
                (long long)shape[a], (long long)t->shape[b], (int)d);
            return;
        }
}

/* The shape that all have in common; false with an error. */
static bool common_shape(tn_tensor *const *t, size_t n, int64_t *shape, int32_t *ndim)
{
    *ndim = 0;
    for (size_t i = 0; i < n; i++) {
        if (!tn__usable("broadcast_tensors", t[i]))
            return false;
        int64_t before[TN_MAX_DIMS];
        const int32_t dims = *ndim;
        memcpy(before, shape, (size_t)dims * sizeof *shape);
        if (!tn__broadcast_with(shape, ndim, tn__shape_of(t[i])))
            return no_common_shape(before, dims, t[i]), false;
    }
    return true;
}

bool tn__broadcast_all(tn_tensor **t, size_t n)
{
    int64_t shape[TN_MAX_DIMS];
    int32_t ndim;
    if (!common_shape(t, n, shape, &ndim))
        return false;
    for (size_t i = 0; i < n; i++) /* no view where none is needed, as PyTorch */
        if (!tn__same_shape(shape, ndim, t[i]->shape, t[i]->ndim) && !(t[i] = tn_expand(t[i], tn_dims_of(shape, ndim))))
            return false;
    return true;
}

/* ---- lists of views: results go to the scope outside, as those of rows do ---- */

/* Lets go of the first of the results, as there is no next. */
static int64_t none_of(tn_tensor **out, size_t made)
{
    while (made-- > 0)
        tn_release(out[made]);
    return 0;
}

static bool has_room(const char *what, size_t n, size_t cap)
{
    if (n > cap)
        tn__error(TN_EINVAL, "%s: there are %zu tensors, but room for %zu", what, n, cap);
    return n <= cap;
}

int64_t tn__fn_broadcast_tensors(tn_tensors tensors, tn_tensor **out, size_t cap)
{
    int64_t shape[TN_MAX_DIMS];
    int32_t ndim;
    if (!common_shape(tensors.t, tensors.n, shape, &ndim))
        return 0;
    if (out && !has_room("broadcast_tensors", tensors.n, cap))
        return 0;
    for (size_t i = 0; out && i < tensors.n; i++) {
        tn_tensor *t = tensors.t[i];
        const bool fits = tn__same_shape(shape, ndim, t->shape, t->ndim);
        if (!(out[i] = fits ? tn__scope_hold(tn__self(), t) : tn_expand(t, tn_dims_of(shape, ndim))))
            return none_of(out, i);
    }
    return (int64_t)tensors.n;
}

/* May they be the sides of a grid? */
static bool are_sides(tn_tensors tensors)
{
    if (!tensors.n)
        tn__error(TN_EINVAL, "meshgrid expects a non-empty TensorList");
    for (size_t i = 0; i < tensors.n; i++) {
        const tn_tensor *t = tensors.t[i], *first = tensors.t[0];
        if (!tn__usable("meshgrid", t))
            return false;
        const char *wrong = t->dtype != first->dtype                     ? "dtype"
                            : !tn__same_device(t->device, first->device) ? "device"
                                                                         : NULL;
        if (wrong)
            return tn__error(TN_EINVAL, "meshgrid expects all tensors to have the same %s", wrong), false;
    }
    for (size_t i = 0; i < tensors.n; i++)
        if (tensors.t[i]->ndim > 1)
            return tn__error(TN_EINVAL,
                             "torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got a tensor with %d "
                             "dimensions",
                             (int)tensors.t[i]->ndim),
                   false;
    if (tensors.n > TN_MAX_DIMS)
        tn__error(TN_EINVAL, "meshgrid: of %zu tensors, but tensors have at most %d dimensions", tensors.n,
                  TN_MAX_DIMS);
    return tensors.n && tensors.n <= TN_MAX_DIMS;
}

/* A side, along its dimension, all over the grid. What stands between is let go of here. */
static tn_tensor *spread(tn_tensor *side, int32_t along, tn_dims shape)
{
    int64_t own[TN_MAX_DIMS];
    tn__thread *t = tn__self();
    tn_scope scope;
    for (int32_t d = 0; d < shape.ndim; d++)
        own[d] = d == along ? -1 : 1;
    tn__scope_push(t, &scope);
    return tn__scope_return(t, &scope, tn_expand(tn_reshape(side, tn_dims_of(own, shape.ndim)), shape));
}

int64_t tn__fn_meshgrid(tn_tensors tensors, const char *indexing, tn_tensor **out, size_t cap)
{
    int64_t shape[TN_MAX_DIMS];
    if (!are_sides(tensors))
        return 0;
    if (!indexing || (strcmp(indexing, "ij") && strcmp(indexing, "xy"))) {
        tn__error(TN_EINVAL, "torch.meshgrid: indexing must be one of \"xy\" or \"ij\", but received: %s",
                  indexing ? indexing : "NULL");
        return 0;
    }
    const int32_t n = (int32_t)tensors.n;
    const bool swap = n >= 2 && indexing[0] == 'x'; /* the first two change places */
    if (out && !has_room("meshgrid", tensors.n, cap))
        return 0;
    for (int32_t i = 0; i < n; i++)
        shape[swap && i < 2 ? 1 - i : i] = tensors.t[i]->numel;
    for (int32_t i = 0; out && i < n; i++)
        if (!(out[i] = spread(tensors.t[i], swap && i < 2 ? 1 - i : i, tn_dims_of(shape, n))))
            return none_of(out, (size_t)i);
    return n;
}
