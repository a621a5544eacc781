/* Looking up in sorted rows, and in sets. */
#include "ops/compose.h"
#include "ops/sort/infer_search.h"

/* A number as a 0-dim tensor there, a tensor as it is. */
static tn_tensor *as_tensor(tn_scalar s, tn_device device)
{
    return s.kind == TN_SCALAR_TENSOR ? s.v.t : tn_full(TN_SHAPE(), s, .device = device);
}

/* The dtype that both are compared in. */
static tn_dtype common_of(tn_tensor *a, tn_tensor *b)
{
    const tn_scalar both[2] = {tn_scalar_t(a), tn_scalar_t(b)};
    tn__promotion p = {0};
    tn__promotion_add(&p, &both[0]);
    tn__promotion_add(&p, &both[1]);
    return tn__promotion_result(&p);
}

/* ---- sorted rows ---- */

static bool sorter_fits(const tn_tensor *rows, tn_tensor *sorter)
{
    if (!tn__same_shape(sorter->shape, sorter->ndim, rows->shape, rows->ndim))
        return tn__error(
                   TN_EINVAL,
                   "torch.searchsorted(): boundary and sorter must have the same size, but got boundary tensor %sand "
                   "got sorter tensor %s",
                   tn__shape_str(rows->shape, rows->ndim).s, tn__shape_str(sorter->shape, sorter->ndim).s),
               false;
    if (sorter->dtype != TN_I64)
        return tn__error(TN_EDTYPE, "torch.searchsorted(): sorter must be a tensor of long dtype but got dtype %s",
                         tn__dtypes[sorter->dtype].legacy),
               false;
    if (sorter->numel == 0)
        return true;
    tn_tensor *out = tn_any(tn_logical_or(tn_lt(sorter, 0), tn_ge(sorter, rows->shape[rows->ndim - 1])));
    if (out && tn_item_int(out))
        tn__error(TN_EINVAL, "torch.searchsorted(): sorter index out of range");
    else
        return out != NULL;
    return false;
}

static bool searched(const tn_tensor *rows, const tn_tensor *value)
{
    const char *what = "torch.searchsorted()";
    if (value->ndim == 0 && rows->ndim != 1)
        tn__error(
            TN_EINVAL,
            "%s: input value can be a scalar only when boundaries tensor dimension is 1, but we got boundaries tensor "
            "dim(%d) and input value's dim(%d) numel(%lld)",
            what, (int)rows->ndim, (int)value->ndim, (long long)value->numel);
    else if (rows->ndim == 0)
        tn__error(TN_EINVAL, "%s: boundaries tensor should have positive dimension, but got 0 dimension", what);
    else if (rows->ndim != 1 &&
             (rows->ndim != value->ndim || !tn__same_shape(rows->shape, rows->ndim - 1, value->shape, value->ndim - 1)))
        tn__error(
            TN_EINVAL,
            "%s: boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries tensor and input "
            "value tensor must match, but we got boundaries tensor %s and input value tensor %s",
            what, tn__shape_str(rows->shape, rows->ndim).s, tn__shape_str(value->shape, value->ndim).s);
    else if (rows->dtype == TN_BOOL && value->dtype == TN_BOOL)
        tn__no_kernel("searchsorted_out_*", rows);
    else
        return true;
    return false;
}

tn_tensor *tn__fn_searchsorted(tn_tensor *rows, tn_scalar input, const tn_searchsorted_options *o)
{
    tn_tensor *sorter = tn__given(o->sorter);
    if (!tn__usable("searchsorted", rows))
        return NULL;
    tn_tensor *value = as_tensor(input, rows->device);
    if (!tn__usable("searchsorted", value) || !searched(rows, value) || (sorter && !sorter_fits(rows, sorter)))
        return NULL;
    const tn_dtype common = common_of(rows, value);
    if (!common || tn__dtype_is_bare(common))
        return common ? tn__no_kernel("searchsorted_out_*", rows), NULL : NULL;
    rows = tn_detach(rows);
    if (sorter)
        rows = tn_gather(rows, -1, sorter);
    rows = tn_contiguous(tn_to(rows, .dtype = common));
    value = tn_contiguous(tn_to(tn_detach(value), .dtype = common));
    return tn__search(rows, value, o->right ? TN__SEARCH_BEHIND : TN__SEARCH_BEFORE, o->out_int32);
}

tn_tensor *tn__fn_bucketize(tn_scalar input, tn_tensor *boundaries, const tn_bucketize_options *o)
{
    if (!tn__usable("bucketize", boundaries))
        return NULL;
    if (boundaries->ndim != 1)
        return tn__fail(TN_EINVAL, "boundaries tensor must be 1 dimension, but got dim(%d)", (int)boundaries->ndim);
    return tn_searchsorted(boundaries, input, .out_int32 = o->out_int32, .right = o->right);
}

/* ---- sets ---- */

/* The set is put in order, and each element looked up. */
static tn_tensor *among(tn_tensor *x, tn_tensor *set, bool invert)
{
    const tn_dtype common = common_of(x, set);
    if (!common)
        return NULL;
    set = tn_contiguous(tn_reshape(tn_to(tn_detach(set), .dtype = common), TN_SHAPE(-1)));
    x = tn_contiguous(tn_to(tn_detach(x), .dtype = common));
    return set && x ? tn__search(tn__in_order(set), x, invert ? TN__SEARCH_MISSING : TN__SEARCH_FOUND, false) : NULL;
}

tn_tensor *tn__fn_isin(tn_scalar elements, tn_scalar test_elements, const tn_isin_options *o)
{
    const tn_scalar *first = elements.kind == TN_SCALAR_TENSOR ? &elements : &test_elements;
    if (first->kind != TN_SCALAR_TENSOR || !tn__usable("isin", first->v.t))
        return tn__fail(TN_ETYPE, "isin: one of both must be a tensor");
    const bool one = test_elements.kind != TN_SCALAR_TENSOR;
    const tn_device where = first->v.t->device;
    tn_tensor *x = as_tensor(elements, where), *set = one ? NULL : as_tensor(test_elements, where);
    if (!tn__usable("isin", x) || (!one && !tn__usable("isin", set)))
        return NULL;
    if (!one && !tn__same_device(x->device, set->device))
        return tn__fail(TN_EDEVICE,
                        "Expected all tensors to be on the same device, but got test_elements is on %s, different from "
                        "other tensors on %s (when checking argument in method wrapper_CUDA_isin_Tensor_Tensor)",
                        tn_device_text(set->device).s, tn_device_text(x->device).s);
    if (x->dtype == TN_BOOL || (one ? test_elements.kind == TN_SCALAR_BOOL : set->dtype == TN_BOOL))
        return tn__fail(TN_EMISSING, "Unsupported input type encountered for isin(): Bool");
    if (!one && (tn__dtype_is_bare(x->dtype) || tn__dtype_is_bare(set->dtype)))
        return tn__no_kernel("isin_default_*", tn__dtype_is_bare(x->dtype) ? x : set), NULL;
    if (!one)
        return among(x, set, o->invert);
    tn_tensor *line = tn_reshape(x, TN_SHAPE(-1));
    tn_tensor *found = tn__no_view(tn_reshape(tn_eq(line, test_elements), tn__shape_of(x))); /* in x's dtype */
    return o->invert ? tn_logical_not(found) : found;
}
