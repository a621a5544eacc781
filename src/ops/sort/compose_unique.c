/* The different elements of a tensor, or slices along a dimension: what is sorted is a row of runs of equal ones, of which the
 * first each is the result. */
#include "ops/compose.h"

/* Whose function it is, by the labels of _distinct. */
enum { ELEMENTS, SLICES, CONSECUTIVE };

/* The first of a, then what is left of b: one more than b has. */
static tn_tensor *with_first(tn_tensor *first, tn_tensor *rest)
{
    return tn_cat(TN_TENSORS(first, rest), 0);
}

/* Is it another than the one before? Of the elements (1-D), or of the rows (2-D). */
static tn_tensor *begins(tn_tensor *x)
{
    const int64_t n = x->shape[0];
    tn_tensor *first = tn_ones(TN_SHAPE(n > 0), .dtype = TN_BOOL, .device = x->device);
    if (n < 2)
        return first;
    tn_tensor *other = tn_ne(tn_slice(x, 0, 1, n, 1), tn_slice(x, 0, 0, n - 1, 1));
    return with_first(first, x->ndim == 1 ? other : tn_any(other, .dim = 1));
}

/* How long each run is, of n elements in runs that begin there. */
static tn_tensor *lengths(tn_tensor *first, int64_t n)
{
    if (!first || first->numel == 0)
        return first;
    tn_tensor *end = tn_full(TN_SHAPE(1), n, .dtype = TN_I64, .device = first->device);
    return tn_sub(tn_cat(TN_TENSORS(tn_slice(first, 0, 1, first->numel, 1), end), 0), first);
}

/* In which run each element is. order: where those that were sorted were; NULL: nothing was. */
static tn_tensor *runs(tn_tensor *begin, tn_tensor *order)
{
    tn_tensor *run = tn_sub(tn_cumsum(begin, 0), 1);
    return order ? tn_scatter(tn_empty_like(order), 0, order, tn_scalar_t(run)) : run;
}

typedef struct question {
    const int64_t *dim; /* NULL: of elements */
    bool sorts;
    tn_tensor **inverse, **counts; /* where they go; NULL: not asked for */
    tn_tensor *found_inverse, *found_counts;
} question;

/* The first n, which share memory with no other tensor; where they are few, the memory of all is let go of. */
static tn_tensor *first_of(tn_tensor *all, int64_t n)
{
    tn_tensor *some = n == all->numel ? all : tn_narrow(all, 0, 0, n);
    return n < all->numel / 2 ? tn_clone(some) : tn__no_view(some);
}

/* Runs of elements on the CPU, of which the kernel tells how many there are. */
static tn_tensor *found_at_once(tn_tensor *sorted, tn_tensor *order, const tn_tensor *x, question *q)
{
    tn_tensor *first = NULL, *run = NULL, *count = NULL;
    tn_tensor *values = tn__runs(tn_contiguous(sorted), q->counts != NULL, q->inverse != NULL, .first = &first,
                                 .run = &run, .count = &count);
    if (!values)
        return NULL;
    const int64_t n = tn_item_int(count);
    if (q->inverse && order)
        run = tn_scatter(tn_empty_like(order), 0, order, tn_scalar_t(run));
    if (q->inverse)
        q->found_inverse = tn__no_view(tn_reshape(run, tn__shape_of(x)));
    if (q->counts)
        q->found_counts = lengths(first_of(first, n), sorted->numel);
    return first_of(values, n);
}

/* The runs of rows (1-D elements, 2-D slices), which are those of x's dimension 'along'; NULL: of its elements. */
static tn_tensor *found(tn_tensor *x, tn_tensor *rows, const int64_t *along, question *q)
{
    tn_tensor *order = NULL, *sorted = rows, *first;
    if (q->sorts && along) {
        order = tn__row_order(rows);
        sorted = tn_index_select(rows, 0, order);
    } else if (q->sorts) {
        sorted = q->inverse ? tn_sort(rows, 0, .indices = &order) : tn__in_order(tn_contiguous(rows));
    }
    if (sorted && !along && sorted->device.type == TN_DEVICE_CPU)
        return found_at_once(sorted, order, x, q);
    tn_tensor *begin = sorted ? begins(sorted) : NULL;
    if (!begin || !(first = tn_reshape(tn_nonzero(begin), TN_SHAPE(-1))))
        return NULL;
    if (q->inverse)
        q->found_inverse = runs(begin, order);
    if (q->inverse && !along)
        q->found_inverse = tn__no_view(tn_reshape(q->found_inverse, tn__shape_of(x)));
    if (q->counts)
        q->found_counts = lengths(first, rows->shape[0]);
    if (!along)
        return tn_index_select(sorted, 0, first);
    tn_tensor *slices = tn_movedim(tn_detach(x), TN_DIMS(*along), TN_DIMS(0));
    tn_tensor *result = tn_index_select(slices, 0, order ? tn_index_select(order, 0, first) : first);
    return tn__no_view(tn_movedim(result, TN_DIMS(0), TN_DIMS(*along)));
}

/* Of nothing there are no runs: all results are empty. */
static tn_tensor *nothing(tn_tensor *x, question *q)
{
    q->found_inverse = tn_zeros(TN_SHAPE(0), .dtype = TN_I64, .device = x->device);
    q->found_counts = tn_zeros(TN_SHAPE(0), .dtype = TN_I64, .device = x->device);
    return tn_empty(tn__shape_of(x), .dtype = x->dtype, .device = x->device);
}

static tn_tensor *distinct(const char *what, tn_tensor *x, question *q)
{
    int32_t d = 0;
    const bool slices = q->dim != NULL;
    if (!tn__usable(what, x))
        return NULL;
    if (slices && tn__wrap_own_dim(*q->dim, x->ndim, &d))
        return NULL;
    tn_tensor *rows = tn_detach(x), *result;
    const int64_t along = d;
    if (slices && x->numel == 0) {
        for (int32_t i = 0; i < x->ndim; i++)
            if ((i == d) != (x->shape[i] == 0))
                return tn__fail(TN_EINVAL,
                                "There are 0 sized dimensions, and they aren't selected, so unique cannot be applied");
        result = nothing(x, q);
    } else {
        rows = slices ? tn_reshape(tn_contiguous(tn_movedim(rows, TN_DIMS(d), TN_DIMS(0))), TN_SHAPE(x->shape[d], -1))
                      : tn_reshape(rows, TN_SHAPE(-1));
        result = rows ? found(x, rows, slices ? &along : NULL, q) : NULL;
    }
    if (result && tn__requires_grad(x) && !tn__self()->no_grad)
        result = tn__distinct(result, x, !q->sorts ? CONSECUTIVE : slices ? SLICES : ELEMENTS);
    if (!result || (q->inverse && !q->found_inverse) || (q->counts && !q->found_counts))
        return NULL;
    return (!q->inverse || tn__scope_give(q->found_inverse, q->inverse)) &&
                   (!q->counts || tn__scope_give(q->found_counts, q->counts))
               ? result
               : NULL;
}

tn_tensor *tn__fn_unique(tn_tensor *x, const tn_unique_options *o)
{
    question q = {.dim = o->dim_given ? &o->dim : NULL, .sorts = true, .inverse = o->inverse, .counts = o->counts};
    return distinct("unique", x, &q);
}

tn_tensor *tn__fn_unique_consecutive(tn_tensor *x, const tn_unique_consecutive_options *o)
{
    question q = {.dim = o->dim_given ? &o->dim : NULL, .inverse = o->inverse, .counts = o->counts};
    return distinct("unique_consecutive", x, &q);
}
