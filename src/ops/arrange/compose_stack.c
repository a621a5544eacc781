/* Tensors beside each other: those of few dimensions are raised to as many as the join needs. */
#include "core/alloc.h"
#include "ops/compose.h"

typedef tn_tensor *raise_one(tn_tensor *t);
/* What is made of a list, in one[n]. */
typedef tn_tensor *of_list(tn_tensors list, int64_t dim, tn_tensor **one, raise_one *raised);

/* f with room for a tensor of each. */
static tn_tensor *with_room(const char *name, tn_tensors list, of_list *f, int64_t dim, raise_one *raised)
{
    tn_tensor *few[16], **one = few;
    for (size_t i = 0; i < list.n; i++)
        if (!tn__usable(name, list.t[i]))
            return NULL;
    if (list.n > TN_COUNT(few) && !(one = tn__block_get(list.n * sizeof *one)))
        return tn__fail(TN_ENOMEM, "%s: no memory for %zu tensors", name, list.n);
    tn_tensor *result = f(list, dim, one, raised);
    if (one != few)
        tn__block_put(one, list.n * sizeof *one);
    return result;
}

/* ---- stacks ---- */

static tn_tensor *as_column(tn_tensor *t)
{
    return t->ndim <= 1 ? tn_reshape(t, TN_SHAPE(t->numel, 1)) : t;
}

static tn_tensor *raised_and_joined(tn_tensors list, int64_t dim, tn_tensor **one, raise_one *raised)
{
    for (size_t i = 0; i < list.n; i++)
        if (!(one[i] = raised(list.t[i])))
            return NULL;
    return tn_cat(((tn_tensors){one, list.n}), dim);
}

static tn_tensor *joined(const char *name, tn_tensors list, int64_t dim, raise_one *raised)
{
    if (!list.n)
        return tn__fail(TN_EINVAL, "%s expects a non-empty TensorList", name);
    return with_room(name, list, raised_and_joined, dim, raised);
}

tn_tensor *tn__fn_hstack(tn_tensors tensors)
{
    const bool lines = tensors.n && tn__usable("hstack", tensors.t[0]) && tensors.t[0]->ndim <= 1;
    return joined("hstack", tensors, lines ? 0 : 1, tn__fn_atleast_1d);
}

tn_tensor *tn__fn_vstack(tn_tensors tensors)
{
    return joined("vstack", tensors, 0, tn__fn_atleast_2d);
}

tn_tensor *tn__fn_dstack(tn_tensors tensors)
{
    return joined("dstack", tensors, 2, tn__fn_atleast_3d);
}

tn_tensor *tn__fn_column_stack(tn_tensors tensors)
{
    return joined("column_stack", tensors, 1, as_column);
}

/* ---- along the diagonal ---- */

/* One zero, shown everywhere. */
static tn_tensor *blanks(const tn_tensor *like, int64_t width)
{
    return tn_expand(tn_zeros(TN_SHAPE(1, 1), .dtype = like->dtype, .device = like->device),
                     TN_SHAPE(like->shape[0], width));
}

/* Each block in its band, which is joined to the others: what is recorded of it grows with the blocks, not with the matrix. */
static tn_tensor *bands(tn_tensor **block, size_t n, int64_t width)
{
    int64_t at = 0;
    for (size_t i = 0; i < n; i++) {
        const int64_t end = at + block[i]->shape[1];
        block[i] = tn_cat(TN_TENSORS(blanks(block[i], at), block[i], blanks(block[i], width - end)), 1);
        at = end;
    }
    return tn_cat(((tn_tensors){block, n}), 0);
}

/* Blocks that no gradient is wanted of are written into zeros. */
static tn_tensor *written(tn_tensor **block, size_t n, int64_t height, int64_t width)
{
    int64_t row = 0, column = 0;
    tn_tensor *whole = tn_zeros(TN_SHAPE(height, width), .dtype = block[0]->dtype, .device = block[0]->device);
    for (size_t i = 0; i < n && whole; i++) {
        const int64_t rows = block[i]->shape[0], columns = block[i]->shape[1];
        tn_tensor *place = tn_as_strided(whole, TN_SHAPE(rows, columns), TN_SHAPE(width, 1), row * width + column);
        if (block[i]->numel && !(place && tn_copy_(place, block[i])))
            return NULL;
        row += rows;
        column += columns;
    }
    return whole;
}

static tn_tensor *blocks(tn_tensors list, int64_t dim, tn_tensor **one, raise_one *raised)
{
    int64_t width = 0, height = 0;
    bool plain = true;
    (void)dim;
    for (size_t i = 0; i < list.n; i++) {
        if (list.t[i]->ndim > 2)
            return tn__fail(
                TN_EINVAL,
                "torch.block_diag: Input tensors must have 2 or fewer dimensions. Input %zu has %d dimensions", i,
                (int)list.t[i]->ndim);
        if (!(one[i] = raised(list.t[i])))
            return NULL;
        width += one[i]->shape[1];
        height += one[i]->shape[0];
        plain &= one[i]->dtype == one[0]->dtype && tn__same_device(one[i]->device, one[0]->device) &&
                 (tn__self()->no_grad || !tn__wants_grad(one[i]));
    }
    return plain && width && height ? written(one, list.n, height, width) : bands(one, list.n, width);
}

tn_tensor *tn__fn_block_diag(tn_tensors tensors)
{
    return tensors.n ? with_room("block_diag", tensors, blocks, 0, tn__fn_atleast_2d)
                     : tn_empty(TN_SHAPE(1, 0), .dtype = tn__default_dtype());
}

/* ---- every choice of one element from each ---- */

static tn_tensor *choices(tn_tensors list, int64_t dim, tn_tensor **one, raise_one *raised)
{
    int64_t shape[TN_MAX_DIMS], own[TN_MAX_DIMS];
    const int32_t n = (int32_t)list.n;
    (void)raised;
    for (int32_t i = 0; i < n; i++) {
        shape[i] = list.t[i]->numel;
        own[i] = 1;
    }
    for (int32_t i = 0; i < n; i++) {
        own[i] = -1;
        one[i] = tn_reshape(tn_expand(tn_reshape(list.t[i], tn_dims_of(own, n)), tn_dims_of(shape, n)), TN_SHAPE(-1));
        own[i] = 1;
    }
    return tn_stack(((tn_tensors){one, list.n}), dim);
}

tn_tensor *tn__fn_cartesian_prod(tn_tensors tensors)
{
    if (!tensors.n)
        return tn__fail(TN_EINVAL, "meshgrid expects a non-empty TensorList");
    for (size_t i = 0; i < tensors.n; i++) {
        if (!tn__usable("cartesian_prod", tensors.t[i]))
            return NULL;
        if (tensors.t[i]->ndim != 1)
            return tn__fail(TN_EINVAL, "Expect a 1D vector, but got shape %s",
                            tn__shape_str(tensors.t[i]->shape, tensors.t[i]->ndim).s);
    }
    if (tensors.n == 1)
        return tensors.t[0];
    for (size_t i = 1; i < tensors.n; i++)
        if (tensors.t[i]->dtype != tensors.t[0]->dtype)
            return tn__fail(TN_EINVAL, "meshgrid expects all tensors to have the same dtype");
    if (tensors.n > TN_MAX_DIMS)
        return tn__fail(TN_EINVAL, "cartesian_prod: of %zu tensors, but tensors have at most %d dimensions", tensors.n,
                        TN_MAX_DIMS);
    return with_room("cartesian_prod", tensors, choices, 1, NULL);
}
