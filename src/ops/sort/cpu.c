/* The order of the elements of each row: words of a key that orders as the element does, and of where the element is, are sorted
 * (cpu_words.h); of equal ones the first stays first. A key that leaves too little room for the place loses its last bits, and
 * what is equal in the others is put in order afterwards. */
#include "backend/cpu/cpu.h"
#include "core/error.h"
#include "core/parallel.h"
#include "ops/sort/cpu_keys.h"
#include "ops/sort/cpu_words.h"

enum { WORK = 8192, CHUNKS = 64, NEAR_BYTES = 1 << 18 };

/* Rows of n elements, and what is asked for of them: the elements in order; where they were. */
typedef struct sort_job {
    const tn__view *x;
    char *values;
    int64_t *indices;
    int64_t n;
    size_t size; /* of an element */
    tn__keys keys;
    _Atomic bool no_memory;
} sort_job;

/* One row. A word is (key - least) >> lost << place_bits | place. */
typedef struct sort_row {
    sort_job *job;
    const char *x;
    char *values;
    int64_t *indices;
    uint64_t *words;
    int64_t chunk; /* elements of a part that a thread takes */
    uint64_t least, chunk_least[CHUNKS], chunk_most[CHUNKS];
    int place_bits, lost;
} sort_row;

/* ---- words ---- */

static void find_range(void *ctx, int64_t begin, int64_t end)
{
    sort_row *r = ctx;
    uint64_t key[TN__BLOCK];
    for (int64_t c = begin; c < end; c++) {
        const int64_t last = TN_MIN((c + 1) * r->chunk, r->job->n);
        uint64_t least = UINT64_MAX, most = 0;
        for (int64_t i = c * r->chunk; i < last; i += TN__BLOCK) {
            const int64_t some = TN_MIN(last - i, TN__BLOCK);
            tn__keys_load(&r->job->keys, r->x + (size_t)i * r->job->size, some, key);
            for (int64_t k = 0; k < some; k++) {
                least = key[k] < least ? key[k] : least;
                most = key[k] > most ? key[k] : most;
            }
        }
        r->chunk_least[c] = least;
        r->chunk_most[c] = most;
    }
}

static void make_words(void *ctx, int64_t begin, int64_t end)
{
    sort_row *r = ctx;
    const tn__keys *keys = &r->job->keys;
    uint64_t block[TN__BLOCK];
    for (int64_t c = begin; c < end; c++) {
        const int64_t last = TN_MIN((c + 1) * r->chunk, r->job->n);
        for (int64_t i = c * r->chunk; i < last; i += TN__BLOCK) {
            const int64_t some = TN_MIN(last - i, TN__BLOCK);
            uint64_t *to = r->words + i;
            tn__keys_load(keys, r->x + (size_t)i * r->job->size, some, block);
            if (keys->bytes == 4)
                for (int64_t k = 0; k < some; k++)
                    to[k] = (uint64_t)((const uint32_t *)block)[k] << r->place_bits | (uint64_t)(i + k);
            else
                for (int64_t k = 0; k < some; k++)
                    to[k] = (block[k] - r->least) >> r->lost << r->place_bits | (uint64_t)(i + k);
        }
    }
}

/* Words that are equal but for their places: by the whole key. */
static void mend(void *ctx, uint64_t *words, int64_t n)
{
    sort_row *r = ctx;
    const uint64_t places = ((uint64_t)1 << r->place_bits) - 1;
    for (int64_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && words[end] >> r->place_bits == words[i] >> r->place_bits;)
            end++;
        const int64_t m = end - i;
        if (m == 1)
            continue;
        /* the bits that were lost, and which of these words it is */
        uint64_t few[3 * TN__FEW_WORDS], *word = few;
        const size_t bytes = 3 * (size_t)m * sizeof *word;
        if (m > TN__FEW_WORDS && !(word = tn__block_get(bytes))) {
            r->job->no_memory = true;
            return;
        }
        const int own = tn__bits_of((uint64_t)m - 1);
        for (int64_t k = 0; k < m; k++) {
            uint64_t key;
            tn__keys_load(&r->job->keys, r->x + (size_t)(words[i + k] & places) * r->job->size, 1, &key);
            word[k] = ((key - r->least) & (((uint64_t)1 << r->lost) - 1)) << own | (uint64_t)k;
            word[2 * m + k] = words[i + k];
        }
        tn__sort_words(word, word + m, m, own, own + r->lost, word, NULL, NULL);
        for (int64_t k = 0; k < m; k++)
            words[i + k] = word[2 * m + (int64_t)(word[k] & (((uint64_t)1 << own) - 1))];
        if (word != few)
            tn__block_put(word, bytes);
    }
}

/* ---- results ---- */

/* An element by its key. Of zeros and NaN there are several: these are looked up. */
#define FROM_KEYS(name, W, is_float) \
    static void name(const sort_row *r, const uint64_t *words, int64_t n, W *to) \
    { \
        const W first = (W)1 << (8 * sizeof(W) - 1), flip = (W)r->job->keys.flip; \
        const uint64_t places = ((uint64_t)1 << r->place_bits) - 1; \
        for (int64_t i = 0; i < n; i++) { \
            const W key = (W)((words[i] >> r->place_bits) + r->least) ^ flip; \
            to[i] = !(is_float) ? key : key & first ? key ^ first : (W)~key; \
            if ((is_float) && (key == first || key == (W)-1)) \
                to[i] = ((const W *)r->x)[words[i] & places]; \
        } \
    }
FROM_KEYS(floats_of_keys, uint32_t, 1)
FROM_KEYS(doubles_of_keys, uint64_t, 1)
FROM_KEYS(ints_of_keys, uint32_t, 0)
FROM_KEYS(longs_of_keys, uint64_t, 0)

#define LOOK_UP(W) \
    for (int64_t i = 0; i < n; i++) \
    ((W *)to)[i] = ((const W *)r->x)[words[i] & places]

static void store_values(const sort_row *r, const uint64_t *words, int64_t n, void *to)
{
    const uint64_t places = ((uint64_t)1 << r->place_bits) - 1;
    const size_t size = r->job->size;
    const tn_dtype d = r->job->keys.dtype;
    const bool by_key = r->job->keys.dense && !r->lost && (size_t)r->job->n * size > NEAR_BYTES;
    if (by_key && d == TN_F32)
        floats_of_keys(r, words, n, to);
    else if (by_key && d == TN_F64)
        doubles_of_keys(r, words, n, to);
    else if (by_key && size == 4)
        ints_of_keys(r, words, n, to);
    else if (by_key)
        longs_of_keys(r, words, n, to);
    else if (size == 1)
        LOOK_UP(uint8_t);
    else if (size == 2)
        LOOK_UP(uint16_t);
    else if (size == 4)
        LOOK_UP(uint32_t);
    else
        LOOK_UP(uint64_t);
}

static void store_results(void *ctx, int64_t begin, int64_t end)
{
    const sort_row *r = ctx;
    const int64_t places = (int64_t)(((uint64_t)1 << r->place_bits) - 1);
    for (int64_t c = begin; c < end; c++) {
        const int64_t first = c * r->chunk, last = TN_MIN(first + r->chunk, r->job->n);
        if (r->values)
            store_values(r, r->words + first, last - first, r->values + (size_t)first * r->job->size);
        if (r->indices)
            for (int64_t i = first; i < last; i++)
                r->indices[i] = (int64_t)r->words[i] & places;
    }
}

/* ---- rows ---- */

static void sort_one(sort_row *r, uint64_t *words)
{
    const sort_job *j = r->job;
    const int64_t n = j->n, chunks = n < TN__LONG_ROW ? 1 : TN_MIN(tn__div_up(n, 1 << 16), CHUNKS);
    uint64_t most = 0;
    int key_bits = j->keys.bits;
    r->chunk = tn__div_up(n, chunks);
    r->words = words;
    r->place_bits = TN_MAX(tn__bits_of((uint64_t)n - 1), 1);
    r->least = 0;
    if (j->keys.bytes == 8) {
        tn__parallel_for(chunks, 1, find_range, r);
        r->least = UINT64_MAX;
        for (int64_t c = 0; c < chunks; c++) {
            r->least = TN_MIN(r->least, r->chunk_least[c]);
            most = TN_MAX(most, r->chunk_most[c]);
        }
        key_bits = tn__bits_of(most - r->least);
    }
    r->lost = TN_MAX(key_bits + r->place_bits - 64, 0);
    tn__parallel_for(chunks, 1, make_words, r);
    tn__sort_words(words, words + n, n, r->place_bits, r->place_bits + key_bits - r->lost, words, r->lost ? mend : NULL,
                   r);
    tn__parallel_for(chunks, 1, store_results, r);
}

static void sort_rows(void *ctx, int64_t begin, int64_t end)
{
    sort_job *j = ctx;
    const int64_t n = j->n;
    const size_t bytes = 2 * (size_t)n * sizeof(uint64_t);
    uint64_t few[2 * TN__FEW_WORDS], *words = n <= TN__FEW_WORDS ? few : tn__block_get(bytes);
    if (!words) {
        j->no_memory = true;
        return;
    }
    sort_row r = {.job = j};
    for (int64_t i = begin; i < end; i++) {
        const size_t at = (size_t)(i * n) * j->size;
        r.x = (const char *)j->x->data + at;
        r.values = j->values ? j->values + at : NULL;
        r.indices = j->indices ? j->indices + i * n : NULL;
        sort_one(&r, words);
    }
    if (words != few)
        tn__block_put(words, bytes);
}

/* ---- short rows: several beside each other ---- */

/* Rows at once; elements of a row at most, of keys that have 4 bytes or 8. */
enum { LANES = 32, SHORT_4 = 32, SHORT_8 = 16 };

/* Where each element of the rows belongs, whose keys lie in lines of LANES: how many keys are below it, or are equal and stand
 * before it. No branch depends on what is compared. */
#define RANKS(name, W, S) \
    static void name(const void *keys, int64_t n, int64_t rows, uint8_t *rank) \
    { \
        const W *from = keys, first = (W)1 << (8 * sizeof(W) - 1); \
        S key[SHORT_4 * LANES]; \
        W at[SHORT_4 * LANES]; \
        for (int64_t i = 0; i < n; i++) \
            for (int64_t l = 0; l < LANES; l++) { \
                key[i * LANES + l] = l < rows ? (S)(from[l * n + i] ^ first) : 0; \
                at[i * LANES + l] = (W)i; \
            } \
        for (int64_t j = 1; j < n; j++) \
            for (int64_t i = 0; i < j; i++) \
                for (int64_t l = 0; l < LANES; l++) { \
                    const W above = key[j * LANES + l] < key[i * LANES + l]; \
                    at[i * LANES + l] += above; \
                    at[j * LANES + l] -= above; \
                } \
        for (int64_t l = 0; l < rows; l++) \
            for (int64_t i = 0; i < n; i++) \
                rank[l * n + i] = (uint8_t)at[i * LANES + l]; \
    }
RANKS(ranks_of_4, uint32_t, int32_t)
RANKS(ranks_of_8, uint64_t, int64_t)
#undef RANKS

#define PUT_AT_RANKS(W) \
    for (int64_t l = 0; l < rows * n; l += n) \
        for (int64_t i = 0; i < n; i++) \
    ((W *)to)[l + rank[l + i]] = ((const W *)x)[l + i]

static void put_at_ranks(void *to, const void *x, size_t size, const uint8_t *rank, int64_t n, int64_t rows)
{
    if (size == 1)
        PUT_AT_RANKS(uint8_t);
    else if (size == 2)
        PUT_AT_RANKS(uint16_t);
    else if (size == 4)
        PUT_AT_RANKS(uint32_t);
    else
        PUT_AT_RANKS(uint64_t);
}

/* Is every row in order? One that is not says so soon. */
#define ASCEND(name, W) \
    static bool name(const void *keys, int64_t n, int64_t rows) \
    { \
        const W *key = keys; \
        for (int64_t l = 0; l < rows * n; l += n) \
            for (int64_t i = l + 1; i < l + n; i++) \
                if (key[i] < key[i - 1]) \
                    return false; \
        return true; \
    }
ASCEND(ascend_4, uint32_t)
ASCEND(ascend_8, uint64_t)
#undef ASCEND

static void store_as_they_are(const sort_job *j, int64_t row, int64_t rows)
{
    const int64_t n = j->n;
    const size_t at = (size_t)(row * n) * j->size;
    if (j->values)
        memcpy(j->values + at, (const char *)j->x->data + at, (size_t)(rows * n) * j->size);
    for (int64_t l = row * n; l < (row + rows) * n && j->indices; l += n)
        for (int64_t i = 0; i < n; i++)
            j->indices[l + i] = i;
}

static void sort_short_rows(void *ctx, int64_t begin, int64_t end)
{
    const sort_job *j = ctx;
    const int64_t n = j->n;
    uint64_t keys[TN__BLOCK];
    uint8_t rank[TN__BLOCK];
    for (int64_t i = begin; i < end; i += LANES) {
        const int64_t rows = TN_MIN(LANES, end - i);
        const char *x = (const char *)j->x->data + (size_t)(i * n) * j->size;
        tn__keys_load(&j->keys, x, rows * n, keys);
        if ((j->keys.bytes == 4 ? ascend_4 : ascend_8)(keys, n, rows)) {
            store_as_they_are(j, i, rows);
            continue;
        }
        (j->keys.bytes == 4 ? ranks_of_4 : ranks_of_8)(keys, n, rows, rank);
        if (j->values)
            put_at_ranks(j->values + (size_t)(i * n) * j->size, x, j->size, rank, n, rows);
        for (int64_t l = 0; l < rows * n && j->indices; l += n)
            for (int64_t k = 0; k < n; k++)
                j->indices[i * n + l + rank[l + k]] = k;
    }
}

static tn_status sort(const tn__view *x, bool descending, void *values, void *indices)
{
    sort_job j = {.x = x, .values = values, .indices = indices, .n = x->ndim ? x->shape[x->ndim - 1] : 1};
    if (x->numel == 0)
        return TN_OK;
    j.size = tn__dtype_size(x->dtype);
    j.keys = tn__keys_of(x->dtype, descending);
    if (j.n <= (j.keys.bytes == 4 ? SHORT_4 : SHORT_8) && x->numel / j.n >= LANES / 4)
        tn__parallel_for(x->numel / j.n, tn__div_up(tn__div_up(WORK, j.n), LANES) * LANES, sort_short_rows, &j);
    else if (j.n >= TN__LONG_ROW)
        sort_rows(&j, 0, x->numel / j.n);
    else
        tn__parallel_for(x->numel / j.n, tn__div_up(WORK, j.n), sort_rows, &j);
    return j.no_memory ? tn__error_memory("keys to sort by", 2 * (size_t)j.n * sizeof(uint64_t)) : TN_OK;
}

tn_status tn__cpu_order(const tn__launch *l)
{
    const tn__order_params *p = l->params;
    return sort(&l->in[0], p->descending, NULL, l->out[0].data);
}

tn_status tn__cpu_sort(const tn__launch *l)
{
    const tn__order_params *p = l->params;
    return sort(&l->in[0], p->descending, l->out[0].data, l->out[1].data);
}

tn_status tn__cpu_in_order(const tn__launch *l)
{
    return sort(&l->in[0], false, l->out[0].data, NULL);
}
