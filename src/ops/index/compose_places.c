/* Places of elements as numbers: so many of those that are not zero; coordinates of a count in row-major order. */
#include "ops/compose.h"
#include <stdio.h>

tn_tensor *tn__fn_nonzero_static(tn_tensor *x, int64_t size, const tn_nonzero_static_options *o)
{
    if (!tn__usable("nonzero_static", x))
        return NULL;
    if (size < 0)
        return tn__fail(TN_EINVAL, "nonzero_static: 'size' must be an non-negative integer");
    const tn_scalar fill = o->fill_value.kind ? o->fill_value : tn_scalar_i(-1);
    tn_tensor *found = size ? tn_nonzero(x) : NULL;
    if (size && !found)
        return NULL;
    if (found && found->shape[0] >= size)
        return tn_contiguous(tn_narrow(found, 0, 0, size));
    tn_tensor *rest =
        tn_full(TN_SHAPE(found ? size - found->shape[0] : 0, x->ndim), fill, .dtype = TN_I64, .device = x->device);
    return found ? tn_cat(TN_TENSORS(found, rest), 0) : rest;
}

/* As Python writes it. */
static tn__shape_text tuple_text(const tn_dims *shape)
{
    tn__shape_text text = {"("};
    size_t at = 1;
    for (int32_t d = 0; d < shape->ndim && at < sizeof text.s - 24; d++)
        at += (size_t)snprintf(text.s + at, sizeof text.s - at, d ? ", %lld" : "%lld", (long long)shape->dim[d]);
    snprintf(text.s + at, sizeof text.s - at, shape->ndim == 1 ? ",)" : ")");
    return text;
}

/* Of dimension d: how many times the elements behind it have passed, modulo its size. */
int64_t tn__fn_unravel_index(tn_tensor *indices, const tn_dims *shape, tn_tensor **out, size_t cap)
{
    int64_t step = 1;
    if (!tn__usable("unravel_index", indices) || !tn__dims_fit("unravel_index", shape))
        return 0;
    if (tn__dtype_is_float(indices->dtype) || indices->dtype == TN_BOOL)
        return tn__error(TN_ETYPE, "expected 'indices' to be integer dtype, but got torch.%s",
                         tn__dtypes[indices->dtype].name),
               0;
    for (int32_t d = 0; d < shape->ndim; d++)
        if (shape->dim[d] < 0 || (shape->dim[d] == 0 && indices->numel))
            return tn__error(TN_EINVAL,
                             shape->dim[d] ? "'shape' cannot have negative values, but got %s"
                                           : "'shape' cannot have zero dimensions when 'indices' is "
                                             "non-empty, but got %s",
                             tuple_text(shape).s),
                   0;
    if (!out)
        return shape->ndim;
    if ((size_t)shape->ndim > cap)
        return tn__error(TN_EINVAL, "unravel_index: there are %d results, but room for %zu", (int)shape->ndim, cap), 0;
    tn__thread *self = tn__self();
    tn_scope scope;
    int32_t left = shape->ndim;
    tn__scope_push(self, &scope);
    indices = tn_to(indices, .dtype = TN_I64); /* as PyTorch, which divides by a tensor */
    while (left > 0) {
        const int64_t size = TN_MAX(shape->dim[left - 1], 1);
        tn_tensor *passed = step > 1 ? tn_floor_divide(indices, step) : indices;
        if (!tn__scope_give(tn_remainder(passed, size), &out[left - 1]))
            break;
        step *= size;
        left--;
    }
    tn__scope_pop(self, &scope, NULL);
    for (int32_t d = left; left && d < shape->ndim; d++)
        tn_release(out[d]);
    return left ? 0 : shape->ndim;
}
