/* Reducing by index: what meets at one place is added, multiplied, averaged, or the largest or smallest of it stays; and writing
 * by places counted through a whole tensor. */
#include "op/infer.h"
#include "ops/index/compose.h"
#include <math.h>
#include <string.h>

/* ---- scatter_reduce ---- */

typedef enum way { SUM, PROD, MEAN, AMAX, AMIN, WAYS } way;

static const char *const names[WAYS] = {"sum", "prod", "mean", "amax", "amin"};

static way way_of(const char *reduce)
{
    int w = 0;
    while (w < WAYS && (!reduce || strcmp(reduce, names[w]) != 0))
        w++;
    return (way)w;
}

/* What changes nothing where it meets others. */
static tn_scalar neutral(way w, tn_dtype d)
{
    if (w == SUM || w == MEAN)
        return tn_scalar_i(0);
    if (w == PROD)
        return tn_scalar_i(1);
    if (d == TN_BOOL)
        return tn_scalar_b(w == AMIN);
    if (tn__dtype_is_float(d))
        return tn_scalar_f(w == AMIN ? INFINITY : -INFINITY);
    const uint64_t most = UINT64_MAX >> (64 - tn__dtypes[d].digits);
    if (w == AMIN)
        return tn_scalar_u(most);
    const bool sign = tn__dtypes[d].digits % 8 == 7;
    return tn_scalar_i(sign ? -(int64_t)most - 1 : 0);
}

static tn_tensor *gathered(way w, tn_tensor *x, int64_t dim, tn_tensor *index, tn_tensor *src, bool inplace)
{
    switch (w) {
    case PROD: return inplace ? tn__scatter_mul_(x, dim, index, src) : tn__scatter_mul(x, dim, index, src);
    case AMAX: return inplace ? tn__scatter_max_(x, dim, index, src) : tn__scatter_max(x, dim, index, src);
    case AMIN: return inplace ? tn__scatter_min_(x, dim, index, src) : tn__scatter_min(x, dim, index, src);
    default: return inplace ? tn_scatter_add_(x, dim, index, src) : tn_scatter_add(x, dim, index, src);
    }
}

/* How many stand at each place: at least 1. */
static tn_tensor *counts(const tn_tensor *x, int64_t dim, tn_tensor *index, const tn_tensor *src, bool include_self)
{
    const tn_dims shape = tn__shape_of(x);
    tn_tensor *own = include_self ? tn_ones(shape, .dtype = x->dtype, .device = x->device)
                                  : tn_zeros(shape, .dtype = x->dtype, .device = x->device);
    tn_tensor *one = tn_ones(tn__shape_of(src), .dtype = x->dtype, .device = x->device);
    tn_tensor *n = own && one ? tn_scatter_add_(own, dim, index, one) : NULL;
    return include_self || !n ? n : tn_clamp_min_(n, 1);
}

/* In place only where nothing that was begun can be found wrong later. */
static tn_tensor *reduced(way w, tn_tensor *x, int64_t dim, tn_tensor *index, tn_tensor *src, bool include_self,
                          bool inplace)
{
    if (w == MEAN && x->dtype == TN_BOOL) {
        tn__no_kernel("scatter_gather_tensor_*_reduce_mean", x);
        return NULL;
    }
    if (tn__dtype_is_bare(x->dtype)) {
        tn__no_kernel("scatter_gather_tensor_*_reduce", x);
        return NULL;
    }
    int32_t at;
    if (tn__wrap_dim(dim, x->ndim, &at))
        return NULL;
    if (index->numel && index->dtype != TN_I64 && index->dtype != TN_I32)
        return tn__fail(TN_EDTYPE, "scatter(): Expected dtype int32/int64 for index");
    tn_tensor *total = x;
    const bool fits = src->dtype == x->dtype && index->numel;
    if (!include_self && fits && !(total = tn_scatter(x, dim, index, neutral(w, x->dtype))))
        return NULL;
    if (fits && !(src = tn__read_by(src, index)))
        return NULL;
    total = gathered(w, total, dim, index, src, inplace || total != x);
    if (w != MEAN || !total || !index->numel)
        return total;
    tn_tensor *n = counts(x, dim, index, src, include_self);
    if (tn__dtype_is_float(x->dtype))
        return inplace ? tn_div_(total, n) : tn_div(total, n);
    return inplace ? tn_div_floor_(total, n) : tn_div_floor(total, n);
}

static bool records(const tn_tensor *x, const tn_tensor *src)
{
    return !tn__self()->no_grad && (tn__wants_grad(x) || tn__wants_grad(src));
}

static tn_tensor *reduced_into(way w, tn_tensor *x, int64_t dim, tn_tensor *index, tn_tensor *src, bool include_self)
{
    const bool writes = records(x, src);
    if (tn__check_inplace(x, writes))
        return NULL;
    if (include_self && (!writes || w < MEAN))
        return reduced(w, x, dim, index, src, true, true);
    tn_tensor *was = writes ? tn_clone(x) : x; /* what backward reads is not written to */
    tn_tensor *r = was ? reduced(w, was, dim, index, src, include_self, false) : NULL;
    return r ? tn_copy_(x, r) : NULL;
}

static bool usable(const char *what, const tn_tensor *x, const tn_tensor *index, const tn_tensor *src)
{
    return tn__usable(what, x) && tn__usable(what, index) && tn__usable(what, src);
}

static bool is_known(way w, const char *reduce)
{
    if (w == WAYS)
        tn__error(TN_EINVAL, "reduce argument must be either sum, prod, mean, amax or amin, got %s",
                  reduce ? reduce : "NULL");
    return w != WAYS;
}

tn_tensor *tn__fn_scatter_reduce(tn_tensor *x, int64_t dim, tn_tensor *index, tn_tensor *src, const char *reduce,
                                 bool include_self)
{
    const way w = way_of(reduce);
    if (!usable("scatter_reduce", x, index, src) || !is_known(w, reduce))
        return NULL;
    return reduced(w, x, dim, index, src, include_self, false);
}

tn_tensor *tn__fn_scatter_reduce_(tn_tensor *x, int64_t dim, tn_tensor *index, tn_tensor *src, const char *reduce,
                                  bool include_self)
{
    const way w = way_of(reduce);
    if (!usable("scatter_reduce_", x, index, src) || !is_known(w, reduce))
        return NULL;
    return reduced_into(w, x, dim, index, src, include_self) ? x : NULL;
}

/* ---- index_reduce ---- */

/* The index for every element of source; NULL with an error. */
static tn_tensor *spread_index(way w, const char *reduce, const tn_tensor *x, int64_t dim, tn_tensor *index,
                               const tn_tensor *source, int32_t *at)
{
    int64_t shape[TN_MAX_DIMS];
    if (w == WAYS || w == SUM)
        return tn__fail(TN_EINVAL, "index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got %s.",
                        reduce ? reduce : "NULL");
    if (tn__wrap_dim(dim, x->ndim, at) || tn__check_slices("index_reduce_", x, index, source, *at))
        return NULL;
    if (w == MEAN && x->dtype == TN_BOOL) {
        tn__no_kernel("div_floor_*", x);
        return NULL;
    }
    for (int32_t d = 0; d < source->ndim; d++)
        shape[d] = d == *at ? index->numel : 1;
    return tn_expand(tn_reshape(index, tn_dims_of(shape, source->ndim)), tn__shape_of(source));
}

/* Where an index is out of range, PyTorch says it in other words than scatter's. */
static tn_tensor *said_of_index(tn_tensor *r)
{
    if (r || strncmp(tn_error_message(), "index ", strlen("index ")) != 0)
        return r;
    return tn__fail(TN_EINDEX, "index out of range in self\n  seen by index_reduce");
}

tn_tensor *tn__fn_index_reduce(tn_tensor *x, int64_t dim, tn_tensor *index, tn_tensor *source, const char *reduce,
                               bool include_self)
{
    const way w = way_of(reduce);
    int32_t at;
    if (!usable("index_reduce", x, index, source) || !(index = spread_index(w, reduce, x, dim, index, source, &at)))
        return NULL;
    return said_of_index(reduced(w, x, at, index, source, include_self, false));
}

tn_tensor *tn__fn_index_reduce_(tn_tensor *x, int64_t dim, tn_tensor *index, tn_tensor *source, const char *reduce,
                                bool include_self)
{
    const way w = way_of(reduce);
    int32_t at;
    if (!usable("index_reduce_", x, index, source) || !(index = spread_index(w, reduce, x, dim, index, source, &at)))
        return NULL;
    return said_of_index(reduced_into(w, x, at, index, source, include_self)) ? x : NULL;
}

/* ---- put ---- */

static tn_status check_put(const tn_tensor *x, const tn_tensor *index, const tn_tensor *source)
{
    if (index->dtype != TN_I64)
        return tn__error(TN_EDTYPE, "put_(): Expected a long tensor for index, but got %s",
                         tn__dtypes[index->dtype].legacy);
    if (x->dtype != source->dtype)
        return tn__error(TN_EDTYPE,
                         "put_(): self and source expected to have the same dtype, but got self.dtype = %s and "
                         "source.dtype = %s",
                         tn__dtypes[x->dtype].legacy, tn__dtypes[source->dtype].legacy);
    if (index->numel != source->numel)
        return tn__error(
            TN_EINDEX,
            "put_(): Expected source and index to have the same number of elements, but got source.numel() = "
            "%lld, index.numel() = %lld",
            (long long)source->numel, (long long)index->numel);
    if (x->numel == 0 && index->numel)
        return tn__error(TN_EINDEX, "put_(): Tried to put elements into an empty tensor");
    return TN_OK;
}

static tn_tensor *put_flat(tn_tensor *flat, tn_tensor *index, tn_tensor *source, bool accumulate, bool inplace)
{
    tn_tensor *places = tn__places_in(index, flat->numel), *from = tn_reshape(source, TN_SHAPE(-1));
    if (!places || !from)
        return NULL;
    if (accumulate)
        return inplace ? tn_index_add_(flat, 0, places, from) : tn_index_add(flat, 0, places, from);
    return inplace ? tn_index_copy_(flat, 0, places, from) : tn_index_copy(flat, 0, places, from);
}

static tn_tensor *put(tn_tensor *x, tn_tensor *index, tn_tensor *source, bool accumulate)
{
    tn_tensor *flat = tn_reshape(x, TN_SHAPE(-1));
    if (!flat || !(flat = put_flat(flat, index, source, accumulate, flat->storage != x->storage)))
        return NULL;
    return tn__no_view(tn_view(flat, tn__shape_of(x)));
}

tn_tensor *tn__fn_put(tn_tensor *x, tn_tensor *index, tn_tensor *source, const tn_put_options *o)
{
    if (!usable("put", x, index, source) || check_put(x, index, source))
        return NULL;
    if (!tn__contiguous(x)) /* lies as x does */
        return tn_put_(tn_clone(x), index, source, .accumulate = o->accumulate);
    return put(x, index, source, o->accumulate);
}

tn_tensor *tn__fn_put_(tn_tensor *x, tn_tensor *index, tn_tensor *source, const tn_put__options *o)
{
    if (!usable("put_", x, index, source) || tn__check_inplace(x, records(x, source)) ||
        tn__check_apart(x, index, true) || tn__check_apart(x, source, true) || check_put(x, index, source))
        return NULL;
    tn_tensor *r = tn__contiguous(x) ? put_flat(tn_view(x, TN_SHAPE(-1)), index, source, o->accumulate, true)
                                     : put(x, index, source, o->accumulate);
    if (r && !tn__contiguous(x))
        r = tn_copy_(x, r);
    return r ? x : NULL;
}
