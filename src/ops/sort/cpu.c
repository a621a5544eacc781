/* The order of the elements of each row: a radix sort by the bytes of a key that orders as the element does; short rows by
 * insertion. Equal elements keep their order. Keys of up to 32 bits lie with their index in one word: half the memory to
 * move, and fewer passes. */
#include "backend/cpu/cpu.h"
#include "core/alloc.h"
#include "core/error.h"
#include "core/parallel.h"
#include "ops/sort/cpu_keys.h"

enum { SHORT = 32, WORK = 8192, LONG = 4096, DIGITS = 1 << 11 };

typedef struct item {
    uint64_t key;
    int64_t index;
} item;

typedef struct sort_job {
    const tn__launch *l;
    int64_t n;
    bool descending;
    _Atomic bool no_memory;
} sort_job;

/* Keys of one row of 8 bytes an element. */
static void load_keys(tn_dtype d, const char *row, int64_t n, bool descending, item *to)
{
    const void *p = row;
    const uint64_t sign = (uint64_t)(tn__dtypes[d].kind == TN__KIND_INT) << 63, flip = descending ? UINT64_MAX : 0;
    for (int64_t i = 0; i < n; i++)
        to[i] = (item){
            (d == TN_F64 ? tn__key_of_double(((const double *)p)[i]) : ((const uint64_t *)p)[i] ^ sign) ^ flip, i};
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

/* The sorted items are in x or in spare: which is returned. All bytes are counted in one pass. */
static item *radix_sort(item *x, item *spare, int64_t n)
{
    int64_t counts[8][256] = {{0}};
    for (int64_t i = 0; i < n; i++)
        for (int byte = 0; byte < 8; byte++)
            counts[byte][x[i].key >> (8 * byte) & 255]++;
    for (int byte = 0; byte < 8; byte++) {
        int64_t *start = counts[byte], sum = 0;
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

/* ---- keys of up to 32 bits: key << 32 | index, so that words in order are elements in order, and equal ones too ---- */

#define EACH_KEY(expression) \
    for (int64_t i = 0; i < n; i++) \
    to[i] = (uint64_t)((uint32_t)(expression) ^ flip) << 32 | (uint64_t)i

/* Returns how many bits of the keys there are. Of 8-bit and 16-bit integers the upper ones are the sign's: they are cut. */
static int load_words(tn_dtype d, const char *row, int64_t n, bool descending, uint64_t *to)
{
    const void *p = row;
    uint32_t flip = descending ? UINT32_MAX : 0;
    const size_t size = tn__dtype_size(d);
    const uint32_t sign = tn__dtypes[d].kind == TN__KIND_INT ? 1U << (8 * size - 1) : 0;
    if (d == TN_F32) {
        EACH_KEY(tn__key_of_float(((const float *)p)[i]));
        return 32;
    }
    if (tn__dtype_is_float(d)) {
        EACH_KEY(tn__key_of_float((float)tn__load_double(d, row + 2 * i)));
        return 32;
    }
    flip &= UINT32_MAX >> (32 - 8 * size);
    if (size == 4)
        EACH_KEY(((const uint32_t *)p)[i] ^ sign);
    else if (size == 2)
        EACH_KEY(((const uint16_t *)p)[i] ^ sign);
    else
        EACH_KEY(((const uint8_t *)p)[i] ^ sign);
    return 8 * (int)size;
}

static void insert_words(uint64_t *x, int64_t n)
{
    for (int64_t i = 1; i < n; i++) {
        const uint64_t word = x[i];
        int64_t k = i;
        for (; k > 0 && x[k - 1] > word; k--)
            x[k] = x[k - 1];
        x[k] = word;
    }
}

/* The sorted words are in x or in spare: which is returned. */
static uint64_t *radix_words(uint64_t *x, uint64_t *spare, int64_t n, int bits)
{
    const int digit = n < LONG ? 8 : 11; /* counts that are longer than the row would take the time */
    const uint64_t mask = ((uint64_t)1 << digit) - 1;
    for (int shift = 32; shift < 32 + bits; shift += digit) {
        uint32_t start[DIGITS], sum = 0;
        memset(start, 0, (size_t)(mask + 1) * sizeof *start);
        for (int64_t i = 0; i < n; i++)
            start[x[i] >> shift & mask]++;
        if (start[x[0] >> shift & mask] == n)
            continue; /* all alike */
        for (uint64_t k = 0; k <= mask; k++) {
            const uint32_t count = start[k];
            start[k] = sum;
            sum += count;
        }
        for (int64_t i = 0; i < n; i++)
            spare[start[x[i] >> shift & mask]++] = x[i];
        uint64_t *swap = x;
        x = spare;
        spare = swap;
    }
    return x;
}

static void sort_words(void *ctx, int64_t begin, int64_t end)
{
    sort_job *j = ctx;
    const tn__view *x = &j->l->in[0];
    const int64_t n = j->n;
    const size_t bytes = 2 * (size_t)n * sizeof(uint64_t), size = tn__dtype_size(x->dtype);
    uint64_t few[SHORT], *words = n <= SHORT ? few : tn__block_get(bytes);
    if (!words) {
        j->no_memory = true;
        return;
    }
    for (int64_t r = begin; r < end; r++) {
        const int bits = load_words(x->dtype, (const char *)x->data + (size_t)(r * n) * size, n, j->descending, words);
        const uint64_t *sorted = words;
        if (n <= SHORT)
            insert_words(words, n);
        else
            sorted = radix_words(words, words + n, n, bits);
        int64_t *out = (int64_t *)j->l->out[0].data + r * n;
        for (int64_t i = 0; i < n; i++)
            out[i] = (int64_t)(sorted[i] & UINT32_MAX);
    }
    if (words != few)
        tn__block_put(words, bytes);
}

/* ---- longer keys ---- */

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
        load_keys(x->dtype, (const char *)x->data + (size_t)(r * n) * size, n, j->descending, items);
        const item *sorted = items;
        if (n <= SHORT)
            insert_sort(items, n);
        else
            sorted = radix_sort(items, items + n, n);
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
    const tn__order_params *p = l->params;
    sort_job j = {.l = l, .descending = p->descending, .n = x->ndim ? x->shape[x->ndim - 1] : 1};
    if (x->numel == 0)
        return TN_OK;
    const bool narrow = j.n <= UINT32_MAX && tn__dtype_size(x->dtype) <= 4;
    tn__parallel_for(x->numel / j.n, tn__div_up(WORK, j.n), narrow ? sort_words : sort_rows, &j);
    return j.no_memory ? tn__error_memory("keys to sort by", 2 * (size_t)j.n * sizeof(item)) : TN_OK;
}
