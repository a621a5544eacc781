/* Histograms: each element is put into a bin, and the bins are counted. */
#include "ops/compose.h"
#include "ops/sort/infer_search.h"
#include <math.h>

/* PyTorch's errors call all of them so. */
#define WHAT "torch.histogramdd"

/* ---- edges ---- */

/* The range of coordinate d, if it can be divided; of one number alone one around it. */
static bool range_fits(double *low, double *high, int64_t d)
{
    if (!isfinite(*low) || !isfinite(*high))
        tn__error(TN_EINVAL, WHAT ": dimension %lld's range [%g, %g] is not finite", (long long)d, *low, *high);
    else if (*low > *high)
        tn__error(TN_EINVAL, WHAT ": min should not exceed max, but got min %g max %g for dimension %lld", *low, *high,
                  (long long)d);
    else {
        if (*low == *high) {
            *low -= 0.5;
            *high += 0.5;
        }
        return true;
    }
    return false;
}

/* The range of the elements, [0, 1] of none. */
static bool range_of_elements(tn_tensor *x, double *low, double *high)
{
    *low = 0;
    *high = 1;
    if (x->numel == 0)
        return true;
    tn_tensor *least = tn_amin(x), *most = tn_amax(x);
    if (!least || !most)
        return false;
    if (x->device.type == TN_DEVICE_META)
        return tn__error(TN_EMISSING, "histogram: a tensor on meta has no values to find a range of"), false;
    *low = tn_item(least);
    *high = tn_item(most);
    return true;
}

static tn_tensor *even_edges(const tn_tensor *x, int64_t bins, double low, double high)
{
    return tn_linspace(low, high, bins < INT64_MAX ? bins + 1 : bins, /* no memory holds as many */ .dtype = x->dtype,
                       .device = x->device);
}

static bool has_kernel(const char *name, const tn_tensor *x)
{
    if (x->dtype == TN_F32 || x->dtype == TN_F64)
        return true;
    tn__no_kernel(name, x);
    return false;
}

static bool bins_fit(int64_t bins, int64_t d)
{
    if (bins <= 0)
        tn__error(TN_EINVAL, "torch.histogram(): bins must be > 0, but got %lld for dimension %lld", (long long)bins,
                  (long long)d);
    return bins > 0;
}

static bool edges_fit(const tn_tensor *x, const tn_tensor *edges, int64_t d)
{
    if (edges->dtype != x->dtype)
        tn__error(TN_EINVAL,
                  WHAT
                  ": input tensor and bins tensors should have the same dtype, but got input with dtype %s and bins "
                  "for dimension %lld with dtype %s",
                  tn__dtypes[x->dtype].value, (long long)d, tn__dtypes[edges->dtype].scalar);
    else if (edges->ndim != 1)
        tn__error(TN_EINVAL,
                  WHAT
                  ": bins tensor should have one dimension, but got %d dimensions in the bins tensor for dimension "
                  "%lld",
                  (int)edges->ndim, (long long)d);
    else if (edges->numel == 0)
        tn__error(TN_EINVAL,
                  WHAT ": bins tensor should have at least 1 element, but got 0 elements in the bins tensor for "
                       "dimension %lld",
                  (long long)d);
    else
        return bins_fit(edges->numel - 1, d);
    return false;
}

/* shape: of x as PyTorch has it, points by coordinates; the weights have that of the points. */
static bool weights_fit(const tn_tensor *x, const tn_tensor *weight, const int64_t *shape, int32_t ndim,
                        bool same_shape)
{
    if (!weight)
        return true;
    if (weight->dtype != x->dtype)
        tn__error(TN_EINVAL,
                  WHAT
                  ": if weight tensor is provided, input tensor and weight tensor should have the same dtype, but got "
                  "input(%s), and weight(%s)",
                  tn__dtypes[x->dtype].value, tn__dtypes[weight->dtype].scalar);
    else if (!same_shape) {
        const int64_t flat = weight->numel;
        const bool one = ndim == 2 && shape[1] == 1 && x->ndim != 2;
        tn__error(TN_EINVAL,
                  WHAT ": if weight tensor is provided it should have the same shape as the input tensor excluding its "
                       "innermost dimension, but got input with shape %s and weight with shape %s",
                  tn__shape_str(shape, ndim).s, tn__shape_str(one ? &flat : weight->shape, one ? 1 : weight->ndim).s);
    }
    return same_shape && weight->dtype == x->dtype;
}

/* ---- counting ---- */

/* How often each place is there, or its weights, in x's dtype. */
static tn_tensor *tallied(const tn_tensor *x, tn_tensor *place, tn_tensor *weight, int64_t n)
{
    if (weight)
        return tn__counted(place, tn_contiguous(tn_reshape(tn_detach(weight), TN_SHAPE(-1))), n);
    return tn_to(tn__counted(place, TN_NONE, n), .dtype = x->dtype);
}

/* As parts of the whole, for each unit of volume. */
static tn_tensor *dense(tn_tensor *hist, tn_tensor *const *edges, int32_t n)
{
    tn_tensor *part = tn_div(hist, tn_sum(hist));
    for (int32_t d = 0; d < n; d++) {
        int64_t shape[TN_MAX_DIMS];
        for (int32_t i = 0; i < n; i++)
            shape[i] = i == d ? edges[d]->numel - 1 : 1;
        part = tn_div(part, tn_reshape(tn_diff(edges[d], 1, 0), tn_dims_of(shape, n)));
    }
    return part;
}

/* Of one coordinate. how, low, high: _bins's. */
static tn_tensor *counted(tn_tensor *x, tn_tensor *edges, tn_tensor *weight, bool density, double low, double high,
                          int how)
{
    tn_tensor *line = tn_contiguous(tn_reshape(tn_detach(x), TN_SHAPE(-1)));
    edges = tn_contiguous(tn_detach(edges));
    if (!line || !edges)
        return NULL;
    tn_tensor *hist = tallied(x, tn__bins(line, edges, low, high, how), weight, edges->numel - 1);
    return density && hist ? dense(hist, &edges, 1) : hist;
}

tn_tensor *tn__fn_histogram(tn_tensor *x, int64_t bins, const tn_histogram_options *o)
{
    tn_tensor *weight = tn__given(o->weight);
    double low, high;
    if (!tn__usable("histogram", x) || (weight && !tn__usable("histogram", weight)))
        return NULL;
    const int64_t points[2] = {x->numel, 1};
    const bool said = o->min.kind && o->max.kind;
    if (!bins_fit(bins, 0) ||
        !weights_fit(x, weight, points, 2, weight && tn__same_shape(weight->shape, weight->ndim, x->shape, x->ndim)) ||
        !has_kernel(said || !x->numel ? "histogram_cpu" : "histogramdd", x) ||
        (!said && !range_of_elements(tn_detach(x), &low, &high)))
        return NULL;
    if (said) {
        low = tn__scalar_double(&o->min);
        high = tn__scalar_double(&o->max);
    }
    tn_tensor *edges = range_fits(&low, &high, 0) ? even_edges(x, bins, low, high) : NULL;
    tn_tensor *hist = edges ? counted(x, edges, weight, o->density, low, high, TN__BIN_NEAR) : NULL;
    return hist && tn__scope_give(edges, o->bin_edges) ? hist : NULL;
}

tn_tensor *tn__fn_histogram_between(tn_tensor *x, tn_tensor *edges, const tn_histogram_between_options *o)
{
    tn_tensor *weight = tn__given(o->weight);
    if (!tn__usable("histogram", x) || !tn__usable("histogram", edges) || (weight && !tn__usable("histogram", weight)))
        return NULL;
    const int64_t points[2] = {x->numel, 1};
    if (!edges_fit(x, edges, 0) ||
        !weights_fit(x, weight, points, 2, weight && tn__same_shape(weight->shape, weight->ndim, x->shape, x->ndim)) ||
        !has_kernel("histogram_cpu", x))
        return NULL;
    return counted(x, edges, weight, o->density, 0, 0, TN__BIN_EDGES);
}

/* ---- of several coordinates ---- */

static bool points_fit(const tn_tensor *x, size_t n)
{
    if (x->ndim < 2)
        tn__error(TN_EINVAL, WHAT ": input tensor should have at least 2 dimensions");
    else if ((int64_t)n != x->shape[x->ndim - 1])
        tn__error(TN_EINVAL, WHAT ": expected %lld sequences of bin edges for a %lld-dimensional histogram but got %zu",
                  (long long)x->shape[x->ndim - 1], (long long)x->shape[x->ndim - 1], n);
    else if (n > TN_MAX_DIMS)
        tn__error(TN_EINVAL, WHAT ": a histogram of more than %d dimensions", TN_MAX_DIMS);
    else
        return true;
    return false;
}

tn_tensor *tn__fn_histogramdd(tn_tensor *x, tn_tensors edges, const tn_histogramdd_options *o)
{
    tn_tensor *weight = tn__given(o->weight), *place = NULL, *inside = NULL, *edge[TN_MAX_DIMS];
    int64_t shape[TN_MAX_DIMS], all = 1;
    const int32_t n = (int32_t)edges.n;
    if (!tn__usable("histogramdd", x) || (weight && !tn__usable("histogramdd", weight)) || !points_fit(x, edges.n))
        return NULL;
    for (int32_t d = 0; d < n; d++) {
        if (!tn__usable("histogramdd", edges.t[d]) || !edges_fit(x, edges.t[d], d))
            return NULL;
        edge[d] = tn_contiguous(tn_detach(edges.t[d]));
        shape[d] = edges.t[d]->numel - 1;
        all *= shape[d];
    }
    if (!weights_fit(x, weight, x->shape, x->ndim,
                     weight && tn__same_shape(weight->shape, weight->ndim, x->shape, x->ndim - 1)) ||
        !has_kernel("histogramdd", x))
        return NULL;
    tn_tensor *points = tn_reshape(tn_detach(x), TN_SHAPE(x->numel / n, n));
    for (int32_t d = 0; d < n && points; d++) {
        tn_tensor *bin = tn__bins(tn_contiguous(tn_select(points, 1, d)), edge[d], 0, 0, TN__BIN_EDGES);
        tn_tensor *here = tn_ge(bin, 0);
        place = place ? tn_add(tn_mul(place, shape[d]), bin) : bin;
        inside = inside ? tn_logical_and(inside, here) : here;
    }
    if (!place || !inside)
        return NULL;
    tn_tensor *hist = tallied(x, tn_masked_fill(place, tn_logical_not(inside), -1), weight, all);
    hist = tn__no_view(tn_reshape(hist, tn_dims_of(shape, n)));
    return o->density && hist ? dense(hist, edge, n) : hist;
}

/* The ends of coordinate d's range: as they were said, or of the elements. */
static bool ends_of(tn_tensor *x, tn_tensor *range, int64_t d, double *low, double *high)
{
    if (!range)
        return range_of_elements(tn_select(tn_detach(x), -1, d), low, high);
    tn_tensor *first = tn_select(range, 0, 2 * d), *second = tn_select(range, 0, 2 * d + 1);
    if (!first || !second)
        return false;
    *low = tn_item(first);
    *high = tn_item(second);
    return true;
}

int64_t tn__fn_histogramdd_edges(tn_tensor *x, tn_ints bins, tn_tensor *range, tn_tensor **out, size_t cap)
{
    range = tn__given(range);
    if (!tn__usable("histogramdd", x) || (range && !tn__usable("histogramdd", range)) ||
        !tn__usable_ints("histogramdd", bins))
        return 0;
    if (x->ndim < 2)
        return tn__error(TN_EINVAL, WHAT ": input tensor should have at least 2 dimensions"), 0;
    const int64_t n = x->shape[x->ndim - 1];
    if (!has_kernel("histogramdd", x))
        return 0;
    if ((int64_t)bins.n != n)
        return tn__error(TN_EINVAL,
                         "histogramdd: The size of bins must be equal to the innermost dimension of the input."),
               0;
    if (range && range->numel != 2 * n)
        return tn__error(TN_EINVAL,
                         WHAT ": for a %lld-dimensional histogram range should have %lld elements, but got %lld",
                         (long long)n, (long long)(2 * n), (long long)range->numel),
               0;
    for (int64_t d = 0; d < n; d++)
        if (!bins_fit(bins.i[d], d))
            return 0;
    if (!out)
        return n;
    if ((size_t)n > cap)
        return tn__error(TN_EINVAL, "histogramdd_edges: there are %lld results, but room for %zu", (long long)n, cap),
               0;
    tn__thread *self = tn__self();
    tn_scope scope;
    int64_t made = 0;
    tn__scope_push(self, &scope);
    for (double low, high; made < n; made++)
        if (!ends_of(x, range, made, &low, &high) || !range_fits(&low, &high, made) ||
            !tn__scope_give(even_edges(x, bins.i[made], low, high), &out[made]))
            break;
    tn__scope_pop(self, &scope, NULL);
    for (int64_t d = 0; made < n && d < made; d++)
        tn_release(out[d]);
    return made == n ? n : 0;
}
