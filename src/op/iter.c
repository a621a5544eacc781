/* The tensor iterator: operands broadcast, dimensions ordered and merged. */
#include "op/iter.h"
#include "op/infer.h"

/* > 0: the dimensions a (faster) and b (slower) should change places; < 0: they are right; 0: the operands do not say. */
static int compare(int32_t a, int32_t b, const int64_t *shape, const int64_t (*stride)[TN_MAX_DIMS], int32_t n)
{
    for (int32_t k = 0; k < n; k++) {
        int64_t sa = stride[k][a], sb = stride[k][b];
        if (sa == 0 || sb == 0)
            continue;
        if (sa != sb)
            return sa < sb ? -1 : 1;
        if (shape[a] > shape[b])
            return 1;
    }
    return 0;
}

void tn__iter_order(const int64_t *shape, int32_t ndim, const int64_t (*stride)[TN_MAX_DIMS], int32_t n, int32_t *order)
{
    for (int32_t i = 0; i < ndim; i++)
        order[i] = ndim - 1 - i;
    for (int32_t i = 1; i < ndim; i++) { /* insertion sort: an undecided pair lets the search go on */
        int32_t at = i;
        for (int32_t j = i - 1; j >= 0; j--) {
            int c = compare(order[j], order[at], shape, stride, n);
            if (c > 0) {
                int32_t t = order[j];
                order[j] = order[at];
                order[at] = t;
                at = j;
            } else if (c < 0) {
                break;
            }
        }
    }
}

/* A number wraps around in the dtype of the result where that is smaller than the one computed in, as PyTorch's do.
 * (The truth of comparisons is bool, or computed in int64 where it matters: ops/elementwise/infer.c.) */
static void set_number(tn__iter *it, int32_t k, const tn_scalar *s, tn_dtype compute, tn_dtype result)
{
    tn__iter_operand *o = &it->operand[k];
    o->data = &it->number[k];
    o->dtype = compute;
    tn__store_scalar(compute, o->data, s);
    if (compute == TN_I32 && result != TN_BOOL && !tn__dtype_is_float(result)) {
        int64_t wrapped = 0;
        tn__store_int(result, &wrapped, tn__load_int(compute, o->data));
        tn__store_int(compute, o->data, tn__load_int(result, &wrapped));
    }
    memset(o->stride, 0, sizeof o->stride);
}

static void set_strides(tn__iter_operand *o, int32_t ndim, const int64_t *shape, const int64_t *stride, int32_t have)
{
    int32_t lead = ndim - have;
    for (int32_t d = 0; d < ndim; d++)
        o->stride[d] = d < lead || shape[d - lead] == 1 ? 0 : stride[d - lead];
}

static void set_tensor(tn__iter_operand *o, const tn_tensor *t, int32_t ndim)
{
    o->data = tn__tensor_data(t);
    o->dtype = t->dtype;
    set_strides(o, ndim, t->shape, t->stride, t->ndim);
}

static void set_view(tn__iter_operand *o, const tn__view *v, int32_t ndim)
{
    o->data = v->data;
    o->dtype = v->dtype;
    set_strides(o, ndim, v->shape, v->stride, v->ndim);
}

/* Everything dense, of one shape: one run. */
static bool flat(const tn_tensor *out, const tn_scalar *in, int32_t n)
{
    if (!tn__contiguous(out))
        return false;
    for (int32_t i = 0; i < n; i++) {
        const tn_tensor *t = tn__operand(&in[i]);
        if (t && t->numel != 1 && (!tn__contiguous(t) || !tn__same_shape(t->shape, t->ndim, out->shape, out->ndim)))
            return false;
    }
    return true;
}

static void build_flat(tn__iter *it, const tn_tensor *out, const tn_scalar *in, int32_t n, tn_dtype compute)
{
    it->ndim = 1;
    it->shape[0] = out->numel;
    it->operand[0].data = tn__tensor_data(out);
    it->operand[0].dtype = out->dtype;
    it->operand[0].stride[0] = 1;
    for (int32_t i = 0; i < n; i++) {
        const tn_tensor *t = tn__operand(&in[i]);
        tn__iter_operand *o = &it->operand[i + 1];
        if (!t) {
            set_number(it, i + 1, &in[i], compute, out->dtype);
            continue;
        }
        o->data = tn__tensor_data(t);
        o->dtype = t->dtype;
        o->stride[0] = t->numel == 1 ? 0 : 1;
    }
}

/* Two neighbouring dimensions are one if every operand steps from the end of a to the next of b. */
static bool mergeable(const tn__iter *it, int32_t a, int32_t b)
{
    for (int32_t k = 0; k < it->n; k++)
        if (it->operand[k].stride[b] != it->operand[k].stride[a] * it->shape[a])
            return false;
    return true;
}

static void merge(tn__iter *it)
{
    int32_t to = 0;
    for (int32_t d = 1; d < it->ndim; d++) {
        if (it->shape[d] == 1)
            continue;
        if (it->shape[to] == 1 || mergeable(it, to, d)) {
            if (it->shape[to] == 1)
                for (int32_t k = 0; k < it->n; k++)
                    it->operand[k].stride[to] = it->operand[k].stride[d];
            it->shape[to] *= it->shape[d];
        } else {
            to++;
            it->shape[to] = it->shape[d];
            for (int32_t k = 0; k < it->n; k++)
                it->operand[k].stride[to] = it->operand[k].stride[d];
        }
    }
    it->ndim = to + 1;
}

static void reorder(tn__iter *it)
{
    int64_t stride[TN__MAX_OPERANDS][TN_MAX_DIMS], shape[TN_MAX_DIMS];
    int32_t order[TN_MAX_DIMS];
    for (int32_t k = 0; k < it->n; k++)
        memcpy(stride[k], it->operand[k].stride, sizeof stride[k]);
    memcpy(shape, it->shape, sizeof shape);
    tn__iter_order(shape, it->ndim, (const int64_t(*)[TN_MAX_DIMS])stride, it->n, order);
    for (int32_t d = 0; d < it->ndim; d++) {
        it->shape[d] = shape[order[d]];
        for (int32_t k = 0; k < it->n; k++)
            it->operand[k].stride[d] = stride[k][order[d]];
    }
}

/* Orders and merges the dimensions of operands whose strides are set. */
static void finish(tn__iter *it)
{
    if (it->ndim == 0) {
        it->ndim = 1;
        it->shape[0] = 1;
        for (int32_t k = 0; k < it->n; k++)
            it->operand[k].stride[0] = k == 0;
        return;
    }
    reorder(it);
    merge(it);
}

void tn__iter_copy(tn__iter *it, const tn__view *out, const tn__view *in)
{
    it->n = 2;
    it->numel = out->numel;
    it->ndim = out->ndim;
    for (int32_t d = 0; d < out->ndim; d++)
        it->shape[d] = out->shape[d];
    set_view(&it->operand[0], out, out->ndim);
    set_view(&it->operand[1], in, out->ndim);
    finish(it);
}

void tn__iter_build(tn__iter *it, const tn_tensor *out, const tn_scalar *in, int32_t n, tn_dtype compute)
{
    it->n = n + 1;
    it->numel = out->numel;
    if (TN_LIKELY(flat(out, in, n))) {
        build_flat(it, out, in, n, compute);
        return;
    }
    it->ndim = out->ndim;
    for (int32_t d = 0; d < out->ndim; d++)
        it->shape[d] = out->shape[d];
    set_tensor(&it->operand[0], out, out->ndim);
    for (int32_t i = 0; i < n; i++) {
        const tn_tensor *t = tn__operand(&in[i]);
        if (t)
            set_tensor(&it->operand[i + 1], t, out->ndim);
        else
            set_number(it, i + 1, &in[i], compute, out->dtype);
    }
    finish(it);
}
