/* The k largest or smallest of each row, and its k-th: found by keys, none of which is compared with all others. */
#include "backend/cpu/cpu.h"
#include "core/error.h"
#include "core/parallel.h"
#include "ops/sort/cpu_keys.h"
#include "ops/sort/cpu_words.h"
#include "ops/sort/infer_select.h"

enum { WORK = 16384, FEW = 64 }; /* so many are kept in order while a row is read */

typedef struct select_job {
    const tn__launch *l;
    int64_t n, k;
    size_t size; /* of an element */
    tn__keys keys;
    int which;    /* infer_select.h */
    size_t bytes; /* of a buffer for keys */
    _Atomic bool no_memory;
} select_job;

static void copy_element(char *to, const char *from, size_t size)
{
    if (size == 4)
        memcpy(to, from, 4);
    else if (size == 8)
        memcpy(to, from, 8);
    else if (size == 2)
        memcpy(to, from, 2);
    else
        *to = *from;
}

/* All keys of a row. */
static void load_row(const select_job *j, const char *x, void *keys)
{
    for (int64_t i = 0; i < j->n; i += TN__BLOCK)
        tn__keys_load(&j->keys, x + (size_t)i * j->size, TN_MIN(j->n - i, TN__BLOCK),
                      (char *)keys + (size_t)i * (size_t)j->keys.bytes);
}

/* ---- the first k of an order ---- */

static void store_first(const select_job *j, int64_t row, const char *x, int64_t at, int64_t index)
{
    const int64_t to = row * j->k + at;
    copy_element((char *)j->l->out[0].data + (size_t)to * j->size, x + (size_t)index * j->size, j->size);
    ((int64_t *)j->l->out[1].data)[to] = index;
}

/* Few: those that were the first so far stay in order. Of equal ones the first is taken. */
static void first_few(const select_job *j, int64_t row, const char *x)
{
    uint64_t block[TN__BLOCK], best[FEW];
    int64_t place[FEW], have = 0;
    const int64_t k = j->k;
    for (int64_t i = 0; i < j->n; i += TN__BLOCK) {
        const int64_t some = TN_MIN(j->n - i, TN__BLOCK);
        tn__keys_load(&j->keys, x + (size_t)i * j->size, some, block);
        for (int64_t at = 0; at < some; at++) {
            if (have == k) {
                at = tn__isa()->sort.below[j->keys.bytes == 8](block, at, some, best[k - 1]);
                if (at == some)
                    break;
            }
            const uint64_t key = tn__key_at(&j->keys, block, at);
            int64_t to = have < k ? have++ : k - 1;
            for (; to > 0 && best[to - 1] > key; to--) {
                best[to] = best[to - 1];
                place[to] = place[to - 1];
            }
            best[to] = key;
            place[to] = i + at;
        }
    }
    for (int64_t at = 0; at < k; at++)
        store_first(j, row, x, at, place[at]);
}

/* Many: the k-th key, then those that are before it and as many of its equals as are missing, and these are sorted. */
static void first_many(const select_job *j, int64_t row, const char *x, char *buffer)
{
    const int bytes = j->keys.bytes;
    char *keys = buffer, *spare = buffer + (size_t)j->n * (size_t)bytes;
    const int64_t k = j->k;
    load_row(j, x, keys);
    memcpy(spare, keys, (size_t)j->n * (size_t)bytes);
    const uint64_t last = tn__select_key(spare, bytes, j->n, k - 1, j->keys.bits);
    const int own = TN_MAX(tn__bits_of((uint64_t)k - 1), 1);
    uint64_t *chosen = (uint64_t *)(buffer + 2 * (size_t)j->n * (size_t)bytes), *word = chosen + k, *more = word + k;
    int64_t equal = k, m = 0;
    for (int64_t i = 0; i < j->n; i++)
        equal -= tn__key_at(&j->keys, keys, i) < last;
    for (int64_t i = 0; m < k; i++) {
        const uint64_t key = tn__key_at(&j->keys, keys, i);
        if (key < last || (key == last && equal-- > 0))
            chosen[m++] = (uint64_t)i;
    }
    /* by the last digits first: what fits a word beside its place among the chosen ones at a time */
    const int room = 64 - own;
    for (int64_t i = 0; i < k; i++)
        word[i] = (uint64_t)i;
    uint64_t *order = more + k;
    for (int64_t i = 0; i < k; i++)
        order[i] = (uint64_t)i;
    for (int low = 0; low < j->keys.bits; low += room) {
        const int some = TN_MIN(room, j->keys.bits - low);
        for (int64_t i = 0; i < k; i++) {
            const uint64_t key = tn__key_at(&j->keys, keys, (int64_t)chosen[order[i]]);
            word[i] = (key >> low & (UINT64_MAX >> (64 - some))) << own | (uint64_t)i;
        }
        tn__sort_words(word, more, k, own, own + some, word, NULL, NULL);
        for (int64_t i = 0; i < k; i++)
            more[i] = order[word[i] & (((uint64_t)1 << own) - 1)];
        memcpy(order, more, (size_t)k * sizeof *order);
    }
    for (int64_t at = 0; at < k; at++)
        store_first(j, row, x, at, (int64_t)chosen[order[at]]);
}

static void topk_rows(void *ctx, int64_t begin, int64_t end)
{
    select_job *j = ctx;
    char *buffer = j->bytes ? tn__block_get(j->bytes) : NULL;
    if (j->bytes && !buffer) {
        j->no_memory = true;
        return;
    }
    for (int64_t row = begin; row < end; row++) {
        const char *x = (const char *)j->l->in[0].data + (size_t)(row * j->n) * j->size;
        if (buffer)
            first_many(j, row, x, buffer);
        else
            first_few(j, row, x);
    }
    if (buffer)
        tn__block_put(buffer, j->bytes);
}

static tn_status run(select_job *j, tn__body body)
{
    const tn__view *x = &j->l->in[0];
    tn__parallel_for(x->numel / j->n, tn__div_up(WORK, j->n), body, j);
    return j->no_memory ? tn__error_memory("keys to select by", j->bytes) : TN_OK;
}

tn_status tn__cpu_topk(const tn__launch *l)
{
    const tn__topk_params *p = l->params;
    const tn__view *x = &l->in[0];
    select_job j = {.l = l, .n = x->ndim ? x->shape[x->ndim - 1] : 1, .k = p->k, .size = tn__dtype_size(x->dtype)};
    j.keys = tn__keys_of(x->dtype, !p->smallest);
    if (l->out[0].numel == 0)
        return TN_OK;
    if (j.k > FEW)
        j.bytes = 2 * (size_t)j.n * (size_t)j.keys.bytes + 4 * (size_t)j.k * sizeof(uint64_t);
    return run(&j, topk_rows);
}

/* ---- the k-th ---- */

static int64_t first_of(const select_job *j, const void *keys, uint64_t key)
{
    int64_t i = 0;
    if (j->keys.bytes == 4)
        while (((const uint32_t *)keys)[i] != (uint32_t)key)
            i++;
    else
        while (((const uint64_t *)keys)[i] != key)
            i++;
    return i;
}

static int64_t count_of(const select_job *j, const void *keys, uint64_t key)
{
    int64_t count = 0;
    if (j->keys.bytes == 4)
        for (int64_t i = 0; i < j->n; i++)
            count += ((const uint32_t *)keys)[i] == (uint32_t)key;
    else
        for (int64_t i = 0; i < j->n; i++)
            count += ((const uint64_t *)keys)[i] == key;
    return count;
}

static void select_rows(void *ctx, int64_t begin, int64_t end)
{
    select_job *j = ctx;
    char *keys = tn__block_get(j->bytes);
    if (!keys) {
        j->no_memory = true;
        return;
    }
    const size_t half = (size_t)j->n * (size_t)j->keys.bytes;
    const uint64_t nan = j->keys.bytes == 4 ? UINT32_MAX : UINT64_MAX;
    for (int64_t row = begin; row < end; row++) {
        const char *x = (const char *)j->l->in[0].data + (size_t)(row * j->n) * j->size;
        int64_t k = j->k, index;
        load_row(j, x, keys);
        const int64_t nans =
            j->which != TN__SELECT_KTH && tn__dtype_is_float(j->keys.dtype) ? count_of(j, keys, nan) : 0;
        if (j->which == TN__SELECT_NANMEDIAN)
            k = nans == j->n ? 0 : (j->n - nans - 1) / 2;
        if (nans && (j->which == TN__SELECT_MEDIAN || nans == j->n)) {
            index = first_of(j, keys, nan);
        } else {
            memcpy(keys + half, keys, half);
            index = first_of(j, keys, tn__select_key(keys + half, j->keys.bytes, j->n, k, j->keys.bits));
        }
        copy_element((char *)j->l->out[0].data + (size_t)row * j->size, x + (size_t)index * j->size, j->size);
        ((int64_t *)j->l->out[1].data)[row] = index;
    }
    tn__block_put(keys, j->bytes);
}

tn_status tn__cpu_select_kth(const tn__launch *l)
{
    const tn__select_params *p = l->params;
    const tn__view *x = &l->in[0];
    select_job j = {.l = l, .n = x->ndim ? x->shape[x->ndim - 1] : 1, .k = p->k, .size = tn__dtype_size(x->dtype)};
    j.which = (int)p->which;
    j.keys = tn__keys_of(x->dtype, false);
    j.bytes = 2 * (size_t)j.n * (size_t)j.keys.bytes;
    return l->out[0].numel ? run(&j, select_rows) : TN_OK;
}
