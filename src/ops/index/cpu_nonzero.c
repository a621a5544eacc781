/* Indices ravelled into one, and the positions of what is true: what tn_index and tn_nonzero are made of. */
#include "backend/cpu/cpu.h"
#include "core/error.h"
#include "core/parallel.h"

enum { WORK = 32768 };

/* ---- several indices as one ---- */

typedef struct ravel_job {
    const tn__launch *l;
    _Atomic int64_t first; /* element with an index out of range; INT64_MAX: none seen */
} ravel_job;

/* Offset of the i-th element in row-major order, and how many follow along the last dimension. */
static int64_t offset_of(const tn__view *v, int64_t i, int64_t *rest)
{
    int64_t o = 0;
    *rest = v->ndim ? v->shape[v->ndim - 1] - i % v->shape[v->ndim - 1] : 1;
    for (int32_t d = v->ndim - 1; d >= 0; d--) {
        o += i % v->shape[d] * v->stride[d];
        i /= v->shape[d];
    }
    return o;
}

static bool ravel_run(const tn__view *v, int64_t offset, int64_t n, int64_t size, int64_t step, bool add, int64_t *out)
{
    const int64_t along = v->ndim ? v->stride[v->ndim - 1] : 0;
    if (v->dtype == TN_I64)
        return tn__isa()->index.ravel((const int64_t *)v->data + offset, along, n, size, step, add, out);
    return tn__isa()->index.ravel_32((const int32_t *)v->data + offset, along, n, size, step, add, out);
}

static void ravel_rows(void *ctx, int64_t begin, int64_t end)
{
    ravel_job *j = ctx;
    const tn__index_params *p = j->l->params;
    int64_t *out = j->l->out[0].data;
    for (int64_t i = begin, n; i < end; i += n) {
        bool outside = false;
        n = end - i;
        for (int32_t k = 0; k < j->l->n_in; k++) {
            int64_t rest, offset = offset_of(&j->l->in[k], i, &rest);
            n = TN_MIN(n, rest); /* all of them have one shape */
            outside |= ravel_run(&j->l->in[k], offset, n, p->size.d[k], p->stride.d[k], k > 0, out + i);
        }
        int64_t seen = j->first;
        while (outside && i < seen && !atomic_compare_exchange_weak(&j->first, &seen, i))
            ;
    }
}

/* Says which index it was: the first of that row. */
static tn_status say_outside(const tn__launch *l, int64_t first)
{
    const tn__index_params *p = l->params;
    for (int64_t i = first; i < l->out[0].numel; i++)
        for (int32_t k = 0; k < l->n_in; k++) {
            const tn__view *v = &l->in[k];
            int64_t rest, offset = offset_of(v, i, &rest), size = p->size.d[k];
            int64_t at = v->dtype == TN_I64 ? ((const int64_t *)v->data)[offset] : ((const int32_t *)v->data)[offset];
            if (at < -size || at >= size)
                return tn__error(TN_EINDEX, "index %lld is out of bounds for dimension %d with size %lld",
                                 (long long)at, (int)(p->which >> (4 * k) & 15), (long long)size);
        }
    return TN_OK;
}

tn_status tn__cpu_ravel_index(const tn__launch *l)
{
    ravel_job j = {.l = l, .first = INT64_MAX};
    tn__parallel_for(l->out[0].numel, WORK, ravel_rows, &j);
    return j.first == INT64_MAX ? TN_OK : say_outside(l, j.first);
}

/* ---- where a mask is true ---- */

/* Those of eight places from first on whose byte of 'some' is not 0. Each is written where those before it end, true or not,
 * which costs less than to ask: what is false is overwritten. */
static inline int64_t eight_places(uint64_t some, int64_t first, int64_t *out)
{
    const uint64_t ones = 0x0101010101010101;
    const uint64_t one = (((some & 0x7f * ones) + 0x7f * ones) | some) >> 7 & ones, upto = one * ones;
    if (one == 0)
        return 0;
    if (one == ones) {
        for (int i = 0; i < 8; i++)
            out[i] = first + i;
        return 8;
    }
    out[0] = first;
    for (int i = 1; i < 8; i++)
        out[upto >> (8 * (i - 1)) & 0xff] = first + i;
    return (int64_t)(upto >> 56);
}

/* The places of a row-major mask that are true, of which there are at most 'room'; how many there are. */
static int64_t list_places(const uint8_t *mask, int64_t n, int64_t room, int64_t *out)
{
    int64_t i = 0, k = 0;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    for (; i + 8 <= n && k + 8 <= room; i += 8) {
        uint64_t some;
        memcpy(&some, mask + i, sizeof some);
        k += eight_places(some, i, out + k);
    }
#endif
    for (; i < n && k < room; i++) {
        out[k] = i;
        k += mask[i] != 0;
    }
    return k;
}

tn_status tn__cpu_nonzero(const tn__launch *l)
{
    const tn__nonzero_params *p = l->params;
    const tn__view *x = &l->in[0];
    const uint8_t *mask = x->data;
    const int64_t n = p->n;
    int64_t *out = l->out[0].data, at[TN_MAX_DIMS] = {0};
    if (x->ndim == 1) {
        list_places(mask, x->shape[0], n, out);
        return TN_OK;
    }
    const int32_t last = x->ndim - 1;
    const int64_t width = x->ndim ? x->shape[last] : 0;
    for (int64_t k = 0; k < n && width; mask += width) {
        const int64_t found = list_places(mask, width, n - k, out + last * n + k);
        for (int32_t d = 0; d < last; d++)
            for (int64_t i = 0; i < found; i++)
                out[d * n + k + i] = at[d];
        k += found;
        for (int32_t d = last - 1; d >= 0 && ++at[d] == x->shape[d]; d--)
            at[d] = 0;
    }
    return TN_OK;
}
