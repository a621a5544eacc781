/* Indexing with tensors, x[i0, :, i1] and x[mask], and writing so. The indices become one list of places, and what they
 * index one dimension of a view: then index_select reads, index_copy and index_add write, with the derivatives they have. */
#include "autograd/functions.h"
#include "op/infer.h"
#include <math.h>
#include <stdio.h>
#include <tenon/tensor.h>

/* x[...] taken apart. */
typedef struct selection {
    const char *what;              /* "index", for messages */
    tn_tensor *x;                  /* with a dimension of size 1 for each 0-dim mask */
    const tn_tensor *given;        /* x before it was copied because its elements overlap */
    tn_tensor *index[TN_MAX_DIMS]; /* by dimension of x: integers; NULL: all of it */
    tn_tensor *mask;               /* the only index, where that is a mask; over dimensions first .. last */
    int32_t first, last, n;        /* dimensions that are indexed */
    bool overlaps;                 /* x is written to, and one element of its memory is several of it */
    bool fills;                    /* a number is written along one dimension: PyTorch's index_fill_ */
    int64_t shape[TN_MAX_DIMS];    /* that the indices have in common */
    int32_t ndim;
    int64_t result[TN_MAX_DIMS]; /* shape of what is read or written */
    int32_t result_ndim;
    tn_tensor *view, *places; /* places (1-D) along one dimension of the view are that, in order */
    int64_t dim;
} selection;

/* ---- where x is not zero ---- */

/* [ndim, n] as [n, ndim], with PyTorch's strides where n is 0, too. */
static tn_tensor *shown_by_place(tn_tensor *places)
{
    return places
               ? tn_as_strided(places, TN_SHAPE(places->shape[1], places->shape[0]), TN_SHAPE(1, places->shape[1]), 0)
               : NULL;
}

/* int64 [n, ndim] of a mask. The number is read: on a GPU that waits for it. */
static tn_tensor *places_of_mask(tn_tensor *mask)
{
    if (!(mask = tn_contiguous(mask)))
        return NULL;
    const int where = mask->device.type;
    if (where == TN_DEVICE_META)
        return tn__fail(TN_EMISSING, "nonzero: a tensor on meta has no values to look at, so the size of the result is "
                                     "not known");
    tn_tensor *running = TN_NONE, *count = NULL;
    if (where == TN_DEVICE_CPU) {
        count = tn_sum(mask);
    } else {
        running = tn_cumsum(tn_reshape(mask, TN_SHAPE(-1)), 0);
        count = running && running->numel == 0 ? tn_sum(mask) : tn_select(running, 0, -1);
    }
    const double n = count ? tn_item(count) : NAN;
    return n >= 0 ? shown_by_place(tn__nonzero(mask, running, (int64_t)n)) : NULL;
}

static bool given(const char *what, tn_tensor *t)
{
    if (t && t != TN_NONE)
        return true;
    if (t)
        tn__error(TN_ETYPE, "%s: an operand that must be a tensor is TN_NONE", what);
    else
        tn__poisoned(what);
    return false;
}

tn_tensor *tn__fn_nonzero(tn_tensor *x)
{
    if (!given("nonzero", x))
        return NULL;
    return tn__no_view(places_of_mask(x->dtype == TN_BOOL ? x : tn_ne(x, 0)));
}

/* ---- which dimensions, which indices ---- */

static bool is_mask(const tn_tensor *t)
{
    return t->dtype == TN_BOOL || t->dtype == TN_U8;
}

/* An index may stay on the CPU. */
static tn_tensor *index_here(const selection *s, tn_tensor *t)
{
    if (tn__same_device(t->device, s->x->device))
        return t;
    if (t->device.type == TN_DEVICE_CPU)
        return tn_to(t, .device = s->x->device);
    return tn__fail(TN_EDEVICE, "indices should be either on cpu or on the same device as the indexed tensor (%s)",
                    tn_device_text(s->x->device).s);
}

/* A mask becomes the coordinates of what it shows, unless it is alone. */
static bool take_mask(selection *s, tn_tensor *mask, int32_t *at, bool alone)
{
    if (mask->ndim == 0) {
        if (!(s->x = tn_unsqueeze(s->x, *at)) || !(mask = tn_unsqueeze(mask, 0)))
            return false;
    }
    int32_t there;
    for (int32_t d = 0; d < mask->ndim; d++) {
        if (tn__wrap_dim(*at + d, s->x->ndim, &there))
            return false;
        if (mask->shape[d] != s->x->shape[there]) {
            tn__error(TN_EINDEX,
                      "The shape of the mask %s at index %d does not match the shape of the indexed tensor %s at index "
                      "%d",
                      tn__shape_str(mask->shape, mask->ndim).s, (int)d, tn__shape_str(s->x->shape, s->x->ndim).s,
                      (int)(*at + d));
            return false;
        }
    }
    if (mask->dtype == TN_U8)
        mask = tn_ne(mask, 0);
    if (!mask)
        return false;
    if (alone) {
        s->mask = mask;
        s->first = *at;
        s->n = mask->ndim;
        s->last = *at + mask->ndim - 1;
    }
    tn_tensor *places = alone ? NULL : places_of_mask(mask);
    if (!alone && !places)
        return false;
    for (int32_t d = 0; !alone && d < mask->ndim; d++)
        if (!(s->index[*at + d] = tn_select(places, 1, d)))
            return false;
    *at += mask->ndim;
    return true;
}

static bool can_index(const tn_tensor *t)
{
    if (t->dtype == TN_I64 || t->dtype == TN_I32 || is_mask(t))
        return true;
    tn__error(TN_EINDEX, "tensors used as indices must be long, int, byte or bool tensors");
    return false;
}

static bool too_many(const selection *s, int32_t got)
{
    tn__error(TN_EINDEX, "too many indices for tensor of dimension %d (got %d)", (int)s->x->ndim, (int)got);
    return false;
}

static bool take_all(selection *s, tn_tensors indices)
{
    int32_t at = 0, said = 0, named = 0;
    for (size_t i = 0; i < indices.n; i++) {
        if (!indices.t[i]) {
            tn__poisoned(s->what);
            return false;
        }
        const tn_tensor *t = indices.t[i];
        said += t != TN_NONE;
        named += t == TN_NONE || !is_mask(t) || t->ndim > 0;
    }
    if (s->x->ndim < named)
        return too_many(s, named);
    if (said == 0) {
        tn__error(TN_EINDEX, "%s: at least one index must be given", s->what);
        return false;
    }
    for (size_t i = 0; i < indices.n; i++)
        if (indices.t[i] != TN_NONE && !can_index(indices.t[i]))
            return false;
    for (size_t i = 0; i < indices.n; i++) {
        const bool one = indices.t[i] == TN_NONE || !is_mask(indices.t[i]);
        if (one && at >= s->x->ndim)
            return too_many(s, at + 1);
        if (indices.t[i] == TN_NONE) {
            at++;
            continue;
        }
        tn_tensor *t = index_here(s, indices.t[i]);
        if (!t || (is_mask(t) && !take_mask(s, t, &at, said == 1)))
            return false;
        if (!is_mask(t))
            s->index[at++] = t;
    }
    return true;
}

/* ---- what they have in common ---- */

static void say_shapes_differ(const selection *s)
{
    char text[400];
    size_t n = 0;
    text[0] = '\0';
    for (int32_t d = s->first; d <= s->last && n < sizeof text; d++)
        if (s->index[d])
            n += (size_t)snprintf(text + n, sizeof text - n, "%s%s", n ? ", " : "",
                                  tn__shape_str(s->index[d]->shape, s->index[d]->ndim).s);
    tn__error(TN_EINDEX, "shape mismatch: indexing tensors could not be broadcast together with shapes %s", text);
}

/* Widens s->shape by one index's; false where they do not fit. */
static bool widen_shape(selection *s, const tn_tensor *t)
{
    int64_t both[TN_MAX_DIMS];
    const int32_t n = TN_MAX(s->ndim, t->ndim);
    for (int32_t d = 0; d < n; d++) {
        const int32_t a = d - (n - s->ndim), b = d - (n - t->ndim);
        const int64_t x = a < 0 ? 1 : s->shape[a], y = b < 0 ? 1 : t->shape[b];
        if (x != y && x != 1 && y != 1)
            return false;
        both[d] = x == 1 ? y : x;
    }
    s->ndim = n;
    memcpy(s->shape, both, sizeof both[0] * (size_t)n);
    return true;
}

static bool broadcast_indices(selection *s)
{
    s->first = -1;
    for (int32_t d = 0; d < s->x->ndim; d++) {
        if (!s->index[d])
            continue;
        s->first = s->first < 0 ? d : s->first;
        s->last = d;
        s->n++;
    }
    for (int32_t d = s->first; d <= s->last; d++)
        if (s->index[d] && !widen_shape(s, s->index[d])) {
            say_shapes_differ(s);
            return false;
        }
    for (int32_t d = s->first; d <= s->last; d++)
        if (s->index[d] && !(s->index[d] = tn_expand(s->index[d], tn_dims_of(s->shape, s->ndim))))
            return false;
    return true;
}

static bool has_zero(const int64_t *shape, int32_t ndim)
{
    for (int32_t d = 0; d < ndim; d++)
        if (shape[d] == 0)
            return true;
    return false;
}

/* No number is an index of a dimension of size 0. */
static bool check_empty(const selection *s)
{
    for (int32_t d = s->first; d <= s->last; d++)
        if (s->index[d] && s->x->shape[d] == 0 && !has_zero(s->shape, s->ndim)) {
            tn__error(TN_EINDEX, "index is out of bounds for dimension with size 0");
            return false;
        }
    return true;
}

static bool is_indexed(const selection *s, int32_t d)
{
    return s->mask ? d >= s->first && d <= s->last : s->index[d] != NULL;
}

static bool side_by_side(const selection *s)
{
    return s->last - s->first + 1 == s->n;
}

/* The indices' dimensions stand where the first indexed one was, or in front where others lie between. */
static bool shape_result(selection *s)
{
    const tn_tensor *x = s->x;
    int32_t n = 0;
    const int32_t place = side_by_side(s) ? s->first : 0;
    s->result_ndim = s->ndim + x->ndim - s->n;
    if (s->result_ndim > TN_MAX_DIMS) {
        tn__error(TN_EINVAL, "%s: the result would have %d dimensions, more than %d", s->what, (int)s->result_ndim,
                  TN_MAX_DIMS);
        return false;
    }
    for (int32_t d = 0; d <= x->ndim; d++) {
        if (d == place)
            for (int32_t k = 0; k < s->ndim; k++)
                s->result[n++] = s->shape[k];
        if (d < x->ndim && !is_indexed(s, d))
            s->result[n++] = x->shape[d];
    }
    return true;
}

/* ---- as places along one dimension ---- */

/* The indices ravelled into one list: sum of index x stride, wrapped and checked against the sizes. Where nothing is read or
 * written no index is looked at, so that 4 is one of zeros(2, 0). An error counts the indices, not the dimensions. */
static tn_tensor *ravel(const selection *s, const int64_t *stride)
{
    tn_tensor *list[TN_MAX_DIMS];
    int64_t size[TN_MAX_DIMS], step[TN_MAX_DIMS], which = 0;
    const bool nothing = has_zero(s->result, s->result_ndim);
    int32_t n = 0;
    for (int32_t d = s->first; d <= s->last; d++) {
        if (!s->index[d])
            continue;
        if (!(list[n] = nothing ? tn_zeros_like(s->index[d]) : s->index[d]))
            return NULL;
        size[n] = s->x->shape[d];
        step[n] = stride[d];
        which |= (int64_t)(s->fills ? d : n) << (4 * n);
        n++;
    }
    return tn__index(((tn_tensors){list, (size_t)n}), tn_dims_of(size, n), tn_dims_of(step, n), which);
}

/* Dimensions first .. last from the widest stride to the narrowest; a mask's keep their order. */
static void order_dims(const selection *s, int32_t *order)
{
    const int64_t *stride = s->x->stride;
    for (int32_t i = 0; i < s->n; i++) {
        int32_t k = i;
        for (; !s->mask && k > 0 && stride[order[k - 1]] < stride[s->first + i]; k--)
            order[k] = order[k - 1];
        order[k] = s->first + i;
    }
}

/* Are the indexed dimensions, so ordered, one? steps: of each in that one. */
static bool merges(const selection *s, const int32_t *order, int64_t *steps)
{
    int64_t run = 1, expect = -1;
    for (int32_t i = s->n - 1; i >= 0; i--) {
        const int64_t size = s->x->shape[order[i]], stride = s->x->stride[order[i]];
        if (size != 1 && expect >= 0 && stride != expect)
            return false;
        if (size != 1)
            expect = stride * size;
        steps[order[i]] = run;
        run *= size;
    }
    return true;
}

/* The indexed dimensions become one dimension of a view. */
static bool merge(selection *s, const int32_t *order, const int64_t *steps)
{
    const tn_tensor *x = s->x;
    int64_t dims[TN_MAX_DIMS], shape[TN_MAX_DIMS], run = 1;
    int32_t n = 0;
    for (int32_t d = 0; d < x->ndim; d++) {
        dims[d] = is_indexed(s, d) ? order[d - s->first] : d;
        if (is_indexed(s, d))
            run *= x->shape[d];
        if (d == s->last)
            shape[n++] = run;
        else if (!is_indexed(s, d))
            shape[n++] = x->shape[d];
    }
    s->dim = s->first;
    s->view = s->n == 1 ? s->x : tn_reshape(tn_permute(s->x, tn_dims_of(dims, x->ndim)), tn_dims_of(shape, n));
    if (!s->mask)
        s->places = tn_reshape(ravel(s, steps), TN_SHAPE(-1));
    else if ((s->places = places_of_mask(tn_reshape(s->mask, TN_SHAPE(-1)))))
        s->places = tn_reshape(s->places, TN_SHAPE(-1));
    return s->view && s->places;
}

/* No view has them as one: every element that is meant gets a place of its own in x's memory, a 1-D view. */
static bool spread(selection *s)
{
    const tn_tensor *x = s->x;
    int64_t span = x->numel > 0, shape[TN_MAX_DIMS];
    int32_t at = 0;
    tn_tensor *places = ravel(s, x->stride);
    for (int32_t d = 0; d < x->ndim; d++)
        span += x->numel > 0 ? (x->shape[d] - 1) * x->stride[d] : 0;
    const int32_t place = side_by_side(s) ? s->first : 0;
    for (int32_t i = 0; i < s->result_ndim; i++)
        shape[i] = i >= place && i < place + s->ndim ? s->result[i] : 1;
    places = tn_reshape(places, tn_dims_of(shape, s->result_ndim));
    for (int32_t d = 0; d < x->ndim && places; d++) {
        if (at == place)
            at += s->ndim;
        if (is_indexed(s, d))
            continue;
        tn_tensor *along = tn_mul(tn_arange(0, x->shape[d], 1, .device = x->device), x->stride[d]);
        for (int32_t i = 0; i < s->result_ndim; i++)
            shape[i] = i == at ? x->shape[d] : 1;
        places = tn_add(places, tn_reshape(along, tn_dims_of(shape, s->result_ndim)));
        at++;
    }
    s->dim = 0;
    s->view = tn_as_strided(s->x, TN_SHAPE(span), TN_SHAPE(1), x->offset);
    s->places = tn_reshape(places, TN_SHAPE(-1));
    return s->view && s->places;
}

/* A mask over dimensions that do not merge: its coordinates, as indices. */
static bool unmask(selection *s)
{
    tn_tensor *places = places_of_mask(s->mask);
    for (int32_t d = 0; d < s->n; d++)
        if (!places || !(s->index[s->first + d] = tn_select(places, 1, d)))
            return false;
    s->mask = NULL;
    s->n = 0;
    return true;
}

/* What is read or written: its shape; every check but that of the numbers in the indices. */
static bool outline(selection *s, tn_tensors indices, bool reads)
{
    int32_t order[TN_MAX_DIMS];
    int64_t steps[TN_MAX_DIMS] = {
        0}; /* of an empty x whose dimensions do not merge any will do that finds no place outside */
    if (!given(s->what, s->x) ||
        (indices.n && !indices.t && !tn__fail(TN_EINVAL, "%s: not a list of tensors", s->what)))
        return false;
    if (!take_all(s, indices))
        return false;
    s->given = s->x;
    if (reads && tn__overlaps_itself(s->x->shape, s->x->stride, s->x->ndim) && s->n != 1)
        if (!(s->x = tn_contiguous(s->x)))
            return false;
    if (s->mask) {
        order_dims(s, order);
        if (s->x->numel && (s->overlaps || !merges(s, order, steps)) && !unmask(s))
            return false;
    }
    if (!s->mask)
        return broadcast_indices(s) && check_empty(s) && shape_result(s);
    if (!merge(s, order, NULL))
        return false;
    s->ndim = 1;
    s->shape[0] = s->places->numel;
    return shape_result(s);
}

/* Where that is: the view and the places along its dimension. */
static bool locate(selection *s)
{
    int32_t order[TN_MAX_DIMS];
    int64_t steps[TN_MAX_DIMS];
    if (s->mask)
        return true; /* outline had to look */
    if (!side_by_side(s) || s->overlaps)
        return spread(s);
    order_dims(s, order);
    return merges(s, order, steps) || s->x->numel == 0 ? merge(s, order, steps) : spread(s);
}

/* ---- reading ---- */

/* The strides of an index as PyTorch lays it beside the result: 1 in the dimensions that are not indexed. A mask's
 * coordinates lie one after the other. True if it fills the result's shape, row-major. */
static bool stride_of_index(const selection *s, const tn_tensor *index, int32_t place, int64_t *stride)
{
    const int64_t one = 1;
    int64_t shape[TN_MAX_DIMS];
    for (int32_t i = 0; i < s->result_ndim; i++)
        shape[i] = i >= place && i < place + s->ndim ? s->result[i] : 1;
    if (!tn__view_strides(s->shape, index ? index->stride : &one, s->ndim, shape, s->result_ndim, stride))
        tn__contiguous_strides(shape, s->result_ndim, stride);
    const bool fills = tn__same_shape(shape, s->result_ndim, s->result, s->result_ndim) &&
                       tn__is_contiguous(shape, stride, s->result_ndim);
    for (int32_t i = 0; i < s->result_ndim; i++)
        if (shape[i] != s->result[i])
            stride[i] = 0;
    return fills;
}

/* The strides of what is read, as PyTorch's TensorIterator chooses them from x's and the indices'. False: row-major ones. */
static bool result_strides(const selection *s, int64_t *result)
{
    int64_t stride[TN_MAX_DIMS + 1][TN_MAX_DIMS], step = 1;
    int32_t order[TN_MAX_DIMS], n = 1, at = 0;
    const int32_t place = side_by_side(s) ? s->first : 0;
    bool row_major = true;
    for (int32_t i = 0, d = 0; i < s->result_ndim; i++) {
        const bool indexed = i >= place && i < place + s->ndim;
        for (; !indexed && is_indexed(s, d); d++)
            ;
        stride[0][i] = indexed ? 0 : s->given->stride[d++];
    }
    bool flat = tn__is_contiguous(s->result, stride[0], s->result_ndim);
    for (int32_t d = s->first; d <= s->last; d++)
        if (is_indexed(s, d))
            flat &= stride_of_index(s, s->mask ? NULL : s->index[d], place, stride[n++]);
    if (flat)
        return false;
    tn__iter_order(s->result, s->result_ndim, (const int64_t(*)[TN_MAX_DIMS])stride, n, order);
    for (at = 0; at < s->result_ndim; at++) {
        row_major &= order[at] == s->result_ndim - 1 - at;
        result[order[at]] = step;
        step *= s->result[order[at]]; /* 0 beyond a dimension of none */
    }
    return !row_major;
}

tn_tensor *tn__fn_index(tn_tensor *x, tn_tensors indices)
{
    selection s = {.what = "index", .x = x};
    int64_t stride[TN_MAX_DIMS];
    if (!outline(&s, indices, true) || !locate(&s))
        return NULL;
    tn_tensor *read =
        tn__no_view(tn_view(tn_index_select(s.view, s.dim, s.places), tn_dims_of(s.result, s.result_ndim)));
    return read && result_strides(&s, stride) ? tn__restride(read, tn_dims_of(stride, s.result_ndim)) : read;
}

tn_tensor *tn__fn_masked_select(tn_tensor *x, tn_tensor *mask)
{
    if (!given("masked_select", x) || !given("masked_select", mask))
        return NULL;
    if (mask->dtype != TN_BOOL)
        return tn__fail(TN_EDTYPE, "masked_select: expected BoolTensor for mask");
    int64_t shape[TN_MAX_DIMS];
    selection s = {.ndim = x->ndim};
    memcpy(s.shape, x->shape, sizeof s.shape);
    if (!widen_shape(&s, mask))
        return tn_mul(x, mask); /* which says what does not fit */
    memcpy(shape, s.shape, sizeof shape);
    x = tn_expand(x, tn_dims_of(shape, s.ndim));
    mask = tn_expand(mask, tn_dims_of(shape, s.ndim));
    return x && mask ? tn__fn_index(x, (tn_tensors){&mask, 1}) : NULL;
}

tn_tensor *tn__fn_take_along_dim(tn_tensor *x, tn_tensor *index, const tn_take_along_dim_options *o)
{
    if (!given("take_along_dim", x) || !given("take_along_dim", index))
        return NULL;
    if (!tn__same_device(x->device, index->device))
        return tn__fail(
            TN_EDEVICE,
            "Expected tensor to have %s Device, but got tensor with %s Device (while checking arguments for "
            "torch.take_along_dim())",
            tn_device_text(x->device).s, tn_device_text(index->device).s);
    if (!o->dim_given)
        return tn_gather(tn_reshape(x, TN_SHAPE(-1)), 0, tn_reshape(index, TN_SHAPE(-1)));
    if (index->dtype != TN_I64)
        return tn__fail(TN_EDTYPE, "torch.take_along_dim(): dtype of indices should be Long but got %s",
                        tn__dtypes[index->dtype].legacy);
    if (x->ndim != index->ndim)
        return tn__fail(TN_EINVAL,
                        "torch.take_along_dim(): input and indices should have the same number of dimensions, but got "
                        "%d dimensions for input, and %d dimensions for indices",
                        (int)x->ndim, (int)index->ndim);
    int32_t dim;
    if (tn__wrap_own_dim(o->dim, x->ndim, &dim))
        return NULL;
    int64_t of_x[TN_MAX_DIMS], of_index[TN_MAX_DIMS];
    for (int32_t d = 0; d < x->ndim; d++) {
        const int64_t wide = x->shape[d] == 1 ? index->shape[d] : x->shape[d];
        of_x[d] = d == dim ? x->shape[d] : wide;
        of_index[d] = d == dim ? index->shape[d] : wide;
    }
    if (x->ndim && x->shape[dim]) /* as in PyTorch an index counts round and round; NumPy takes one round, backwards */
        index = tn_remainder(index, x->shape[dim]);
    return tn_gather(tn_expand(x, tn_dims_of(of_x, x->ndim)), dim, tn_expand(index, tn_dims_of(of_index, x->ndim)));
}

/* ---- writing ---- */

/* The values as what is written: of x's dtype, in the result's shape. */
static tn_tensor *values_for(const selection *s, tn_scalar values)
{
    tn_tensor *v = tn__operand(&values);
    const tn_dims result = tn_dims_of(s->result, s->result_ndim);
    if (values.kind == TN_SCALAR_TENSOR && !v)
        return tn__poisoned(s->what), NULL;
    if (!v) {
        if (!values.kind)
            return tn__fail(TN_ETYPE, "%s: values must be a tensor or a number", s->what);
        if (tn__number_check(&values, s->x->dtype))
            return NULL;
        return tn_expand(tn_full(TN_SHAPE(), values, .dtype = s->x->dtype, .device = s->x->device), result);
    }
    if (v->ndim == 0 && v->device.type == TN_DEVICE_CPU)
        v = tn_to(v, .device = s->x->device);
    bool fits = v && v->ndim <= s->result_ndim;
    for (int32_t d = 0; fits && d < v->ndim; d++) {
        const int64_t size = v->shape[d];
        fits = size == 1 || size == s->result[s->result_ndim - v->ndim + d];
    }
    if (v && !fits)
        return tn__fail(TN_EINVAL,
                        "shape mismatch: value tensor of shape %s cannot be broadcast to indexing result of shape %s",
                        tn__shape_str(v->shape, v->ndim).s, tn__shape_str(s->result, s->result_ndim).s);
    if (v && v->dtype != s->x->dtype)
        return tn__fail(TN_EDTYPE,
                        "Index put requires the source and destination dtypes match, got %s for the destination and %s "
                        "for the source.",
                        tn__dtypes[s->x->dtype].legacy, tn__dtypes[v->dtype].legacy);
    return tn_expand(v, result);
}

/* x[mask] = one value, without a look at the mask. An element of x itself counts as it was. */
static bool fill_masked(const selection *s, tn_scalar value)
{
    int64_t shape[TN_MAX_DIMS];
    int32_t n = 0;
    if (tn__operand(&value) && tn__operand(&value)->storage == s->x->storage)
        value = tn_scalar_t(tn_clone(value.v.t));
    for (int32_t d = s->first; d < s->x->ndim; d++)
        shape[n++] = d <= s->last ? s->x->shape[d] : 1;
    return tn_masked_fill_(s->x, tn_reshape(s->mask, tn_dims_of(shape, n)), value) != NULL;
}

static bool is_one_value(tn_scalar values)
{
    const tn_tensor *v = tn__operand(&values);
    return v ? v->ndim == 0 : values.kind && values.kind != TN_SCALAR_TENSOR;
}

/* Only a mask is looked at: x[mask] = value needs no list of places. */
static bool only_mask(tn_tensors indices)
{
    int32_t masks = 0;
    for (size_t i = 0; i < indices.n && indices.t; i++)
        masks += indices.t[i] && indices.t[i] != TN_NONE ? (is_mask(indices.t[i]) ? 1 : 2) : 0;
    return masks == 1;
}

/* One element beside a mask is a number, whatever its shape and dtype. */
static tn_scalar as_number(tn_scalar values, tn_dtype dtype)
{
    tn_tensor *v = tn__operand(&values);
    if (!v || v->numel != 1)
        return values;
    v = tn_reshape(v, TN_SHAPE());
    return tn_scalar_t(v && dtype ? tn_to(v, .dtype = dtype) : v);
}

/* What is written while it is read would depend on the order. */
static bool is_apart(const tn_tensor *x, tn_tensors indices, tn_scalar values)
{
    tn_status e = tn__check_apart(x, tn__operand(&values), true);
    for (size_t i = 0; i < indices.n && indices.t && !e; i++)
        if (indices.t[i] != TN_NONE)
            e = tn__check_apart(x, indices.t[i], true);
    return !e;
}

static bool put(tn_tensor *x, tn_tensors indices, tn_scalar values, bool accumulate)
{
    selection s = {.what = "index_put", .x = x};
    if (!given(s.what, x))
        return false;
    const bool overlaps = tn__overlaps_itself(x->shape, x->stride, x->ndim);
    const bool masked = !accumulate && only_mask(indices);
    if (masked)
        values = as_number(values, overlaps ? x->dtype : 0);
    const bool one = !accumulate && is_one_value(values);
    if (one && masked && !overlaps && take_all(&s, indices))
        return fill_masked(&s, values);
    if (!is_apart(x, indices, values))
        return false;
    s = (selection){.what = "index_put", .x = x, .overlaps = overlaps};
    if (!outline(&s, indices, false))
        return false;
    s.fills = one && values.kind != TN_SCALAR_TENSOR && s.n == 1 && s.ndim == 1;
    tn_tensor *v = values_for(&s, values);
    if (!v || !locate(&s))
        return false;
    int64_t shape[TN_MAX_DIMS];
    memcpy(shape, s.view->shape, sizeof shape);
    shape[s.dim] = s.places->numel;
    v = tn_reshape(v, tn_dims_of(shape, s.view->ndim));
    if (!v)
        return false;
    return (accumulate ? tn_index_add_(s.view, s.dim, s.places, v) : tn_index_copy_(s.view, s.dim, s.places, v)) !=
           NULL;
}

tn_tensor *tn__fn_index_put_(tn_tensor *x, tn_tensors indices, tn_scalar values, const tn_index_put__options *o)
{
    const tn__thread *self = tn__self();
    if (!given("index_put_", x))
        return NULL;
    const tn_tensor *v = tn__operand(&values);
    if (tn__check_inplace(x, !self->no_grad && (tn__wants_grad(x) || (v && tn__wants_grad(v)))))
        return NULL;
    return put(x, indices, values, o->accumulate) ? x : NULL;
}

tn_tensor *tn__fn_index_put(tn_tensor *x, tn_tensors indices, tn_scalar values, const tn_index_put_options *o)
{
    if (!given("index_put", x))
        return NULL;
    x = tn_clone(x);
    return x && put(x, indices, values, o->accumulate) ? x : NULL;
}

tn_tensor *tn__fn_masked_scatter(tn_tensor *x, tn_tensor *mask, tn_tensor *source)
{
    if (!given("masked_scatter", x) || !given("masked_scatter", mask) || !given("masked_scatter", source))
        return NULL;
    if (x->dtype != source->dtype)
        return tn__fail(TN_EDTYPE, "masked_scatter: expected self and source to have same dtypes but got %s and %s",
                        tn__dtypes[x->dtype].legacy, tn__dtypes[source->dtype].legacy);
    if (mask->dtype != TN_BOOL)
        return tn__fail(TN_EDTYPE, "masked_scatter_ only supports boolean masks, but got mask with dtype %s",
                        tn__dtypes[mask->dtype].legacy);
    selection s = {.ndim = x->ndim};
    memcpy(s.shape, x->shape, sizeof s.shape);
    if (!widen_shape(&s, mask))
        return tn_mul(x, mask); /* which says what does not fit */
    const tn_dims shape = tn_dims_of(s.shape, s.ndim);
    mask = tn_expand(mask, shape);
    tn_tensor *flat = tn_reshape(mask, TN_SHAPE(-1)), *from = tn_reshape(source, TN_SHAPE(-1));
    tn_tensor *places = places_of_mask(flat);
    if (!places || !from)
        return NULL;
    const int64_t n = places->shape[0];
    if (n > source->numel)
        return tn__fail(TN_EINVAL, "Number of elements of source < number of ones in mask\n  %lld and %lld",
                        (long long)source->numel, (long long)n);
    tn_tensor *out = tn_reshape(tn_clone(tn_expand(x, shape)), TN_SHAPE(-1));
    out = tn_index_copy(out, 0, tn_reshape(places, TN_SHAPE(-1)), tn_slice(from, 0, 0, n, 1));
    return tn__no_view(tn_view(out, shape));
}

tn_tensor *tn__fn_one_hot(tn_tensor *index, int64_t num_classes)
{
    if (!tn__usable("one_hot", index))
        return NULL;
    if (num_classes == -1 && index->numel > 0 && index->dtype == TN_I64) {
        tn_tensor *largest = tn_max(index);
        if (!largest)
            return NULL;
        const int64_t last = tn_item_int(largest); /* once: a GPU is waited for */
        if (last < 0)
            return tn__fail(TN_EINVAL, "Class values must be non-negative.");
        if (__builtin_add_overflow(last, 1, &num_classes))
            return tn__fail(TN_EINVAL, "one_hot: index %lld leaves no room for a number of classes",
                            (long long)INT64_MAX);
    }
    return tn__one_hot(index, num_classes);
}
