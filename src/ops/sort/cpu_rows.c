/* The order of rows, by their first element that differs: runs of indices are merged in pairs, so that equal rows keep their
 * order. Rows are compared by keys that order as the elements do (cpu_keys.h). */
#include "backend/cpu/cpu.h"
#include "core/alloc.h"
#include "core/error.h"
#include "ops/sort/cpu_keys.h"

/* Of n elements that lie one after the other. */
static void load_keys(tn_dtype d, const char *p, int64_t n, uint64_t *keys)
{
    const tn__keys k = tn__keys_of(d, false);
    const size_t size = tn__dtype_size(d);
    for (int64_t i = 0; i < n; i += TN__BLOCK) {
        uint32_t block[TN__BLOCK];
        const int64_t some = TN_MIN(n - i, TN__BLOCK);
        tn__keys_load(&k, p + (size_t)i * size, some, k.bytes == 4 ? (void *)block : (void *)(keys + i));
        for (int64_t at = 0; k.bytes == 4 && at < some; at++)
            keys[i + at] = block[at];
    }
}

static bool stands_before(const uint64_t *a, const uint64_t *b, int64_t columns)
{
    for (int64_t k = 0; k < columns; k++)
        if (a[k] != b[k])
            return a[k] < b[k];
    return false;
}

/* from[begin .. middle) and from[middle .. end) are in order: both together, to[begin .. end). */
static void merge_runs(const uint64_t *keys, int64_t columns, const int64_t *from, int64_t begin, int64_t middle,
                       int64_t end, int64_t *to)
{
    int64_t a = begin, b = middle;
    for (int64_t i = begin; i < end; i++) {
        const bool second =
            a == middle || (b < end && stands_before(keys + from[b] * columns, keys + from[a] * columns, columns));
        to[i] = from[second ? b++ : a++];
    }
}

tn_status tn__cpu_row_order(const tn__launch *l)
{
    const tn__view *x = &l->in[0];
    const int64_t n = x->shape[0], columns = x->shape[1];
    const size_t bytes = (size_t)(x->numel + n) * sizeof(uint64_t);
    int64_t *order = l->out[0].data;
    if (n == 0)
        return TN_OK;
    uint64_t *keys = tn__block_get(bytes);
    if (!keys)
        return tn__error_memory("keys to sort by", bytes);
    int64_t *from = order, *to = (int64_t *)(keys + x->numel);
    load_keys(x->dtype, x->data, x->numel, keys);
    for (int64_t i = 0; i < n; i++)
        from[i] = i;
    for (int64_t width = 1; width < n; width *= 2) {
        for (int64_t begin = 0; begin < n; begin += 2 * width)
            merge_runs(keys, columns, from, begin, TN_MIN(begin + width, n), TN_MIN(begin + 2 * width, n), to);
        int64_t *swap = from;
        from = to;
        to = swap;
    }
    if (from != order)
        memcpy(order, from, (size_t)n * sizeof *order);
    tn__block_put(keys, bytes);
    return TN_OK;
}
