/* The tensor iterator for kernels: cut into parts that 32-bit indices reach, divisions by multiplication. */
#include "backend/gpu/run.h"

/* ---- parts ---- */

/* The largest offset of operand k, in elements. */
static int64_t reach(const tn__iter *it, int32_t k)
{
    int64_t sum = 0;
    for (int32_t d = 0; d < it->ndim; d++) {
        int64_t stride = it->operand[k].stride[d];
        sum += (it->shape[d] - 1) * (stride < 0 ? -stride : stride);
    }
    return sum;
}

static bool fits(const tn__iter *it, int64_t most)
{
    if (it->numel > most)
        return false;
    for (int32_t k = 0; k < it->n; k++)
        if (reach(it, k) > most)
            return false;
    return true;
}

/* Where a cut helps most: the longest way that one dimension goes. */
static int32_t widest(const tn__iter *it)
{
    int32_t best = 0;
    int64_t longest = -1;
    for (int32_t d = 0; d < it->ndim; d++)
        for (int32_t k = 0; k < it->n; k++) {
            int64_t stride = it->operand[k].stride[d];
            int64_t way = (it->shape[d] - 1) * TN_MAX(stride < 0 ? -stride : stride, 1);
            if (way > longest && it->shape[d] > 1) {
                longest = way;
                best = d;
            }
        }
    return best;
}

/* Elements first .. first + n - 1 of dimension d. */
static void cut(tn__iter *it, int32_t d, int64_t first, int64_t n)
{
    for (int32_t k = 0; k < it->n; k++) {
        tn__iter_operand *o = &it->operand[k];
        o->data = (char *)o->data + first * o->stride[d] * (int64_t)tn__dtype_size(o->dtype);
    }
    it->numel = it->numel / it->shape[d] * n;
    it->shape[d] = n;
}

tn_status tn__gpu_in_parts(const tn__iter *it, int64_t most, tn__gpu_part body, void *ctx)
{
    if (fits(it, most))
        return body(ctx, it);
    const int32_t d = widest(it);
    const int64_t half = it->shape[d] / 2;
    tn__iter part = *it;
    cut(&part, d, 0, half);
    tn_status e = tn__gpu_in_parts(&part, most, body, ctx);
    if (e)
        return e;
    part = *it;
    cut(&part, d, half, it->shape[d] - half);
    return tn__gpu_in_parts(&part, most, body, ctx);
}

/* ---- for kernels ---- */

/* n / divisor is (mulhi(n, magic) + n) >> shift for n below 2^31: Granlund and Montgomery, "Division by invariant integers
 * using multiplication" (1994), figure 4.1. */
void tn__gpu_magic(uint32_t divisor, uint32_t *magic, uint32_t *shift)
{
    *shift = 0;
    while (*shift < 32 && (UINT64_C(1) << *shift) < divisor)
        ++*shift;
    *magic = (uint32_t)((UINT64_C(1) << 32) * ((UINT64_C(1) << *shift) - divisor) / divisor + 1);
}

void tn__gpu_iter_of(tn_gpu_iter *w, const tn__iter *it, int32_t width)
{
    w->ndim = it->ndim;
    for (int32_t d = 0; d < it->ndim; d++) {
        const int32_t step = d == 0 ? width : 1;
        w->shape[d] = (uint32_t)(it->shape[d] / step);
        tn__gpu_magic(w->shape[d], &w->magic[d], &w->shift[d]);
        for (int32_t k = 0; k < TN__MAX_OPERANDS; k++)
            w->stride[k][d] = k < it->n ? (int32_t)it->operand[k].stride[d] * step : 0;
    }
    for (int32_t d = it->ndim; d < TN_RANK; d++) {
        w->shape[d] = 1;
        w->magic[d] = w->shift[d] = 0;
        for (int32_t k = 0; k < TN__MAX_OPERANDS; k++)
            w->stride[k][d] = 0;
    }
}

bool tn__gpu_in_vectors(const tn__iter *it, int32_t width, const size_t *align)
{
    if (width < 2 || it->shape[0] % width)
        return false;
    for (int32_t k = 0; k < it->n; k++) {
        const tn__iter_operand *o = &it->operand[k];
        if (o->stride[0] == 0 && k > 0)
            continue;
        if (o->stride[0] != 1 || !tn__gpu_aligned(o->data, align[k]))
            return false;
        for (int32_t d = 1; d < it->ndim; d++)
            if (o->stride[d] % width)
                return false;
    }
    return true;
}
