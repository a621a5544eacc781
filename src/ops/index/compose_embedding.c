/* Rows of a table of vectors: what is done to them before they are read. */
#include "autograd/functions.h"

/* Scales down, in place, the rows that index names and whose norm exceeds max_norm. */
static bool renormalise(tn_tensor *weight, tn_tensor *index, double max_norm, double p)
{
    if (weight->ndim != 2)
        return tn__error(TN_EINVAL,
                         "Expected 2-dimensional tensor, but got %d-dimensional tensor for argument #1 'self' (while "
                         "checking arguments for embedding_renorm_)",
                         (int)weight->ndim),
               false;
    if (!tn__dtype_is_float(weight->dtype) && index->numel)
        return tn__error(TN_EMISSING, "norm(): input dtype should be either floating point or complex. Got %s instead.",
                         tn__dtypes[weight->dtype].legacy),
               false;
    bool was = tn__set_no_grad(true);
    tn_tensor *flat = tn_reshape(tn_to(index, .dtype = TN_I64), TN_SHAPE(-1)), *rows = tn_index_select(weight, 0, flat);
    if (index->numel == 0) { /* of any dtype; it counts as a write all the same */
        tn_tensor *none = rows ? tn_expand(tn_unsqueeze(flat, 1), tn__shape_of(rows)) : NULL;
        const bool written = tn_scatter_(weight, 0, none, rows) != NULL;
        tn__set_no_grad(was);
        return written;
    }
    tn_tensor *norm = tn_norm(rows, .p = tn_scalar_f(p), .dim = 1, .keepdim = true);
    norm = norm ? tn_to(norm, .dtype = TN_F64) : NULL;
    tn_tensor *scale = tn_where(tn_gt(norm, max_norm), tn_div(max_norm, tn_add(norm, 1e-7)), 1.0);
    scale =
        scale ? tn_to(scale, .dtype = weight->dtype) : NULL; /* as a number is rounded that rows are multiplied by */
    tn_tensor *every = rows ? tn_expand(tn_unsqueeze(flat, 1), tn__shape_of(rows)) : NULL;
    bool done = tn_scatter_(weight, 0, every, tn_to(tn_mul(rows, scale), .dtype = weight->dtype)) != NULL;
    tn__set_no_grad(was);
    return done;
}

tn_tensor *tn__fn_embedding(tn_tensor *weight, tn_tensor *index, const tn_embedding_options *o)
{
    if (!tn__usable("embedding", weight) || !tn__usable("embedding", index))
        return NULL;
    tn_scalar padding = o->padding_idx;
    if (padding.kind && weight->ndim) {
        const int64_t pad = tn__scalar_int(&padding), n = weight->shape[0];
        if (pad < -n || (pad && pad >= n))
            return tn__fail(TN_EINVAL, "Padding_idx must be within num_embeddings");
        padding = tn_scalar_i(pad < 0 ? pad + n : pad);
    }
    if (o->max_norm.kind != TN_SCALAR_NONE &&
        !renormalise(weight, index, tn__number_or(o->max_norm, 0), tn__number_or(o->norm_type, 2)))
        return NULL;
    return tn__embedding(weight, index, padding, o->scale_grad_by_freq);
}

tn_tensor *tn__fn_embedding_renorm_(tn_tensor *weight, tn_tensor *index, double max_norm, double norm_type)
{
    if (!tn__usable("embedding_renorm_", weight) || !tn__usable("embedding_renorm_", index))
        return NULL;
    if (index->dtype != TN_I64 && index->dtype != TN_I32)
        return tn__fail(
            TN_EDTYPE,
            "Expected tensor for argument #2 'indices' to have one of the following scalar types: Long, Int; but "
            "got %s instead (while checking arguments for embedding_renorm_)",
            tn__type_str(index).s);
    return renormalise(weight, index, max_norm, norm_type) ? weight : NULL;
}
