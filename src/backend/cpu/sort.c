/* The order of the elements of each row: a radix sort by the bytes of a key that orders as the element does; short rows by
 * insertion. Equal elements keep their order. */
#include "backend/cpu/cpu.h"
#include "core/alloc.h"
#include "core/error.h"
#include "core/parallel.h"

enum { SHORT = 32, WORK = 8192 };

typedef struct item {
    uint64_t key;
    int64_t index;
} item;

typedef struct sort_job {
    const tn__launch *l;
    int64_t n;
    _Atomic bool no_memory;
} sort_job;

/* NaN is the largest, -0 is 0. */
static uint64_t key_of_double(double v)
{
    uint64_t u;
    if (v != v)
        return UINT64_MAX;
    v += 0.0;
    memcpy(&u, &v, sizeof u);
    return u >> 63 ? ~u : u | (uint64_t)1 << 63;
}

static uint64_t key_of_float(float v)
{
    uint32_t u;
    if (v != v)
        return UINT32_MAX;
    v += 0.0F;
    memcpy(&u, &v, sizeof u);
    return u >> 31 ? (uint32_t)~u : u | (uint32_t)1 << 31;
}

/* Keys of one row. Returns how many bytes of them differ at most. */
static int load_keys(tn_dtype d, const char *row, int64_t n, bool descending, item *to)
{
    const size_t size = tn__dtype_size(d);
    const int bytes = tn__dtype_is_float(d) ? (d == TN_F64 ? 8 : 4) : (int)size;
    const uint64_t mask = bytes == 8 ? UINT64_MAX : ((uint64_t)1 << (8 * bytes)) - 1,
                   flip = d == TN_U8 || d == TN_BOOL ? 0 : (uint64_t)1 << (8 * bytes - 1);
    for (int64_t i = 0; i < n; i++) {
        const char *p = row + (size_t)i * size;
        uint64_t key;
        if (d == TN_F32)
            key = key_of_float(((const float *)(const void *)row)[i]);
        else if (d == TN_F64)
            key = key_of_double(((const double *)(const void *)row)[i]);
        else if (tn__dtype_is_float(d))
            key = key_of_float((float)tn__load_double(d, p));
        else
            key = ((uint64_t)tn__load_int(d, p) ^ flip) & mask;
        to[i] = (item){descending ? ~key & mask : key, i};
    }
    return bytes;
}

static void insert_sort(item *x, int64_t n)
{
    for (int64_t i = 1; i < n; i++) {
        const item it = x[i];
        int64_t k = i;
        for (; k > 0 && x[k - 1].key > it.key; k--)
            x[k] = x[k - 1];
        x[k] = it;
    }
}

/* The sorted items are in x or in spare: which is returned. */
static item *radix_sort(item *x, item *spare, int64_t n, int bytes)
{
    for (int byte = 0; byte < bytes; byte++) {
        int64_t start[256] = {0}, sum = 0;
        for (int64_t i = 0; i < n; i++)
            start[x[i].key >> (8 * byte) & 255]++;
        if (start[x[0].key >> (8 * byte) & 255] == n)
            continue; /* all alike */
        for (int k = 0; k < 256; k++) {
            const int64_t count = start[k];
            start[k] = sum;
            sum += count;
        }
        for (int64_t i = 0; i < n; i++)
            spare[start[x[i].key >> (8 * byte) & 255]++] = x[i];
        item *swap = x;
        x = spare;
        spare = swap;
    }
    return x;
}

static void sort_rows(void *ctx, int64_t begin, int64_t end)
{
    sort_job *j = ctx;
    const tn__view *x = &j->l->in[0];
    const int64_t n = j->n;
    const size_t bytes = 2 * (size_t)n * sizeof(item), size = tn__dtype_size(x->dtype);
    item few[2 * SHORT], *items = n <= SHORT ? few : tn__block_get(bytes);
    if (!items) {
        j->no_memory = true;
        return;
    }
    for (int64_t r = begin; r < end; r++) {
        const int width =
            load_keys(x->dtype, (const char *)x->data + (size_t)(r * n) * size, n, j->l->attr->flag, items);
        const item *sorted = items;
        if (n <= SHORT)
            insert_sort(items, n);
        else
            sorted = radix_sort(items, items + n, n, width);
        int64_t *out = (int64_t *)j->l->out[0].data + r * n;
        for (int64_t i = 0; i < n; i++)
            out[i] = sorted[i].index;
    }
    if (items != few)
        tn__block_put(items, bytes);
}

tn_status tn__cpu_sort(const tn__launch *l)
{
    const tn__view *x = &l->in[0];
    sort_job j = {.l = l, .n = x->ndim ? x->shape[x->ndim - 1] : 1};
    if (x->numel == 0)
        return TN_OK;
    tn__parallel_for(x->numel / j.n, tn__div_up(WORK, j.n), sort_rows, &j);
    return j.no_memory ? tn__error_memory("keys to sort by", 2 * (size_t)j.n * sizeof(item)) : TN_OK;
}
