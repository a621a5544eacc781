/* Views as row-major copies. */
#include "autograd/functions.h"

/* A view that was just made; NULL where it could not be. */
static tn_tensor *copy_of(tn_tensor *view)
{
    return view ? tn_clone_in(view, TN_CONTIGUOUS_FORMAT) : NULL;
}

tn_tensor *tn__fn_alias_copy(tn_tensor *x)
{
    return tn__usable("alias_copy", x) ? copy_of(x) : NULL;
}

tn_tensor *tn__fn_as_strided_copy(tn_tensor *x, const tn_dims *size, const tn_dims *stride, int64_t storage_offset)
{
    return copy_of(tn_as_strided_at(TN_HERE, x, size, stride, storage_offset));
}

tn_tensor *tn__fn_diagonal_copy(tn_tensor *x, int64_t offset, int64_t dim1, int64_t dim2)
{
    return copy_of(tn_diagonal(x, offset, dim1, dim2));
}

tn_tensor *tn__fn_expand_copy(tn_tensor *x, const tn_dims *shape)
{
    return copy_of(tn_expand_at(TN_HERE, x, shape));
}

tn_tensor *tn__fn_narrow_copy(tn_tensor *x, int64_t dim, int64_t start, int64_t length)
{
    return copy_of(tn_narrow(x, dim, start, length));
}

tn_tensor *tn__fn_permute_copy(tn_tensor *x, const tn_dims *dims)
{
    return copy_of(tn_permute_at(TN_HERE, x, dims));
}

tn_tensor *tn__fn_select_copy(tn_tensor *x, int64_t dim, int64_t index)
{
    return copy_of(tn_select(x, dim, index));
}

tn_tensor *tn__fn_slice_copy(tn_tensor *x, int64_t dim, int64_t start, int64_t end, int64_t step)
{
    return copy_of(tn_slice(x, dim, start, end, step));
}

tn_tensor *tn__fn_squeeze_copy(tn_tensor *x, const tn_squeeze_copy_options *o)
{
    return copy_of(tn_squeeze(x, .dims = o->dims));
}

tn_tensor *tn__fn_t_copy(tn_tensor *x)
{
    return copy_of(tn_t(x));
}

tn_tensor *tn__fn_transpose_copy(tn_tensor *x, int64_t dim0, int64_t dim1)
{
    return copy_of(tn_transpose(x, dim0, dim1));
}

tn_tensor *tn__fn_unfold_copy(tn_tensor *x, int64_t dimension, int64_t size, int64_t step)
{
    return copy_of(tn_unfold(x, dimension, size, step));
}

tn_tensor *tn__fn_unsqueeze_copy(tn_tensor *x, int64_t dim)
{
    return copy_of(tn_unsqueeze(x, dim));
}

/* Unlike a view's, its shape need not be one of the same memory. */
tn_tensor *tn__fn_view_copy(tn_tensor *x, const tn_dims *shape)
{
    tn_tensor *shaped = tn_reshape_at(TN_HERE, x, shape);
    return !shaped || shaped->storage != x->storage ? shaped : copy_of(shaped);
}
