/* Dimensions as kernels index them: ordered, merged, counted in 32 bits where that fits. */
#include "backend/gpu/dims.h"
#include "backend/gpu/run.h"

int64_t tn__gpu_index32_limit = INT32_MAX;

void tn__gpu_dims_add(tn__gpu_dims *w, int64_t shape, int64_t a, int64_t b, int64_t c)
{
    if (shape == 1)
        return;
    int32_t last = w->n - 1;
    if (last >= 0 && a == w->shape[last] * w->a[last] && b == w->shape[last] * w->b[last] &&
        c == w->shape[last] * w->c[last]) {
        w->shape[last] *= shape;
        return;
    }
    last = w->n++;
    w->shape[last] = shape;
    w->a[last] = a;
    w->b[last] = b;
    w->c[last] = c;
}

int64_t tn__gpu_dims_end(tn__gpu_dims *w, uint32_t *variant)
{
    int64_t n = 1;
    if (w->n == 0) {
        w->n = 1;
        w->shape[0] = 1;
    }
    for (int32_t i = 0; i < w->n; i++)
        n *= w->shape[i];
    if (n > tn__gpu_index32_limit)
        *variant |= TN__LARGE;
    else /* of no elements nothing is divided: other dimensions may be 2^32 long */
        for (int32_t i = 0; n && i + 1 < w->n; i++)
            tn__gpu_magic((uint32_t)w->shape[i], &w->magic[i], &w->shift[i]);
    return n;
}

int32_t tn__gpu_dims_order(const tn__view *v, uint32_t mask, int32_t order[TN_MAX_DIMS])
{
    int32_t n = 0;
    for (int32_t d = v->ndim - 1; d >= 0; d--) {
        if (!(mask >> d & 1))
            continue;
        int32_t k = n++;
        for (; k > 0 && v->stride[order[k - 1]] > v->stride[d]; k--)
            order[k] = order[k - 1];
        order[k] = d;
    }
    return n;
}

int64_t tn__gpu_dims_except(tn__gpu_dims *w, uint32_t *variant, int64_t dim, const tn__view *a, const tn__view *b,
                            const tn__view *c)
{
    int32_t order[TN_MAX_DIMS], n = tn__gpu_dims_order(a, tn__all_dims(a) & ~(1U << dim), order);
    for (int32_t i = 0; a->ndim && i < n; i++) {
        int32_t d = order[i];
        tn__gpu_dims_add(w, a->shape[d], a->stride[d], b ? b->stride[d] : 0, c ? c->stride[d] : 0);
    }
    return tn__gpu_dims_end(w, variant);
}

bool tn__gpu_dims_vectorizable(const tn__gpu_dims *w, const int64_t *stride, const tn__view *v, int64_t step)
{
    const int64_t width = 16 / (int64_t)tn__dtype_size(v->dtype);
    bool fits = step == 1 && tn__aligned16(v->data);
    for (int32_t i = 0; fits && i < w->n; i++)
        fits = stride[i] % width == 0;
    return fits;
}
