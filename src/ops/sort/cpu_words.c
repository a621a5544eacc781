/* Words are sorted by their first bits into parts that the cache holds, and those from their last bits on. */
#include "ops/sort/cpu_words.h"
#include "core/parallel.h"
#include <string.h>

enum { CACHED = 1 << 15, LONG = 4096, DIGITS = 1 << 11, PARTS = 256, MOST_CHUNKS = 64 };

/* ---- what the cache holds ---- */

static void insert(uint64_t *x, int64_t n)
{
    for (int64_t i = 1; i < n; i++) {
        const uint64_t word = x[i];
        int64_t k = i;
        for (; k > 0 && x[k - 1] > word; k--)
            x[k] = x[k - 1];
        x[k] = word;
    }
}

/* Where each of the digits begins, from how often it is there. False: all are alike. */
static bool starts_of(uint32_t *count, uint32_t digits, uint32_t n)
{
    uint32_t sum = 0;
    for (uint32_t k = 0; k < digits; k++) {
        const uint32_t here = count[k];
        if (here == n)
            return false;
        count[k] = sum;
        sum += here;
    }
    return true;
}

/* From the last digit to the first. */
static void sort_cached(uint64_t *x, uint64_t *spare, int64_t n, int low, int high, uint64_t *to)
{
    const int most = n < LONG ? 8 : 11; /* counts that are longer than the row would take the time */
    const int passes = (int)tn__div_up(high - low, most), digit = passes ? (int)tn__div_up(high - low, passes) : 0;
    for (int shift = low; shift < high; shift += digit) {
        const uint64_t mask = ((uint64_t)1 << TN_MIN(digit, high - shift)) - 1;
        uint32_t start[DIGITS];
        memset(start, 0, (size_t)(mask + 1) * sizeof *start);
        for (int64_t i = 0; i < n; i++)
            start[x[i] >> shift & mask]++;
        if (!starts_of(start, (uint32_t)mask + 1, (uint32_t)n))
            continue;
        for (int64_t i = 0; i < n; i++)
            spare[start[x[i] >> shift & mask]++] = x[i];
        uint64_t *swap = x;
        x = spare;
        spare = swap;
    }
    if (x != to)
        memcpy(to, x, (size_t)n * sizeof *x);
}

/* ---- longer ones ---- */

typedef struct sorting {
    uint64_t *x, *spare, *to;
    int64_t n, chunk;
    int low, shift; /* the first digit is what is from 'shift' on */
    uint64_t mask;
    tn__words_done done;
    void *ctx;
    int64_t place[MOST_CHUNKS][PARTS], begin[PARTS + 1];
} sorting;

static void sort_part(uint64_t *x, uint64_t *spare, int64_t n, int low, int high, uint64_t *to, tn__words_done done,
                      void *ctx);

static void count_chunks(void *ctx, int64_t begin, int64_t end)
{
    sorting *s = ctx;
    for (int64_t c = begin; c < end; c++) {
        const int64_t last = TN_MIN((c + 1) * s->chunk, s->n);
        memset(s->place[c], 0, sizeof s->place[c]);
        for (int64_t i = c * s->chunk; i < last; i++)
            s->place[c][s->x[i] >> s->shift & s->mask]++;
    }
}

static void move_chunks(void *ctx, int64_t begin, int64_t end)
{
    sorting *s = ctx;
    for (int64_t c = begin; c < end; c++) {
        const int64_t last = TN_MIN((c + 1) * s->chunk, s->n);
        for (int64_t i = c * s->chunk; i < last; i++)
            s->spare[s->place[c][s->x[i] >> s->shift & s->mask]++] = s->x[i];
    }
}

static void sort_parts(void *ctx, int64_t begin, int64_t end)
{
    sorting *s = ctx;
    for (int64_t k = begin; k < end; k++) {
        const int64_t at = s->begin[k], n = s->begin[k + 1] - at;
        if (n)
            sort_part(s->spare + at, s->x + at, n, s->low, s->shift, s->to + at, s->done, s->ctx);
    }
}

/* Into parts by the first digit; these by what is behind it. */
static void split(sorting *s, int64_t chunks)
{
    s->chunk = tn__div_up(s->n, chunks);
    tn__parallel_for(chunks, 1, count_chunks, s);
    int64_t sum = 0;
    for (int k = 0; k < PARTS; k++) {
        s->begin[k] = sum;
        for (int64_t c = 0; c < chunks; c++) {
            const int64_t here = s->place[c][k];
            s->place[c][k] = sum;
            sum += here;
        }
    }
    s->begin[PARTS] = sum;
    tn__parallel_for(chunks, 1, move_chunks, s);
    tn__parallel_for(PARTS, 1, sort_parts, s);
}

/* The same in one thread, with little on its stack. */
static void split_here(uint64_t *x, uint64_t *spare, int64_t n, int low, int shift, uint64_t mask, uint64_t *to,
                       tn__words_done done, void *ctx)
{
    int64_t begin[PARTS + 1] = {0}, place[PARTS], sum = 0;
    for (int64_t i = 0; i < n; i++)
        begin[x[i] >> shift & mask]++;
    for (int k = 0; k < PARTS; k++) {
        const int64_t here = begin[k];
        begin[k] = place[k] = sum;
        sum += here;
    }
    begin[PARTS] = sum;
    for (int64_t i = 0; i < n; i++)
        spare[place[x[i] >> shift & mask]++] = x[i];
    for (int k = 0; k < PARTS; k++)
        if (begin[k + 1] > begin[k])
            sort_part(spare + begin[k], x + begin[k], begin[k + 1] - begin[k], low, shift, to + begin[k], done, ctx);
}

static void sort_part(uint64_t *x, uint64_t *spare, int64_t n, int low, int high, uint64_t *to, tn__words_done done,
                      void *ctx)
{
    if (n > CACHED && high > low) {
        const int shift = TN_MAX(high - 8, low);
        split_here(x, spare, n, low, shift, ((uint64_t)1 << (high - shift)) - 1, to, done, ctx);
        return;
    }
    if (n <= TN__FEW_WORDS) {
        insert(x, n);
        if (x != to)
            memcpy(to, x, (size_t)n * sizeof *x);
    } else if (n <= CACHED) {
        sort_cached(x, spare, n, low, high, to);
    } else if (x != to) {
        memcpy(to, x, (size_t)n * sizeof *x);
    }
    if (done)
        done(ctx, to, n);
}

void tn__sort_words(uint64_t *x, uint64_t *spare, int64_t n, int low, int high, uint64_t *to, tn__words_done done,
                    void *ctx)
{
    if (n < TN__LONG_ROW || high == low) {
        sort_part(x, spare, n, low, high, to, done, ctx);
        return;
    }
    const int shift = TN_MAX(high - 8, low);
    sorting s;
    s.x = x;
    s.spare = spare;
    s.to = to;
    s.n = n;
    s.low = low;
    s.shift = shift;
    s.mask = ((uint64_t)1 << (high - shift)) - 1;
    s.done = done;
    s.ctx = ctx;
    split(&s, TN_MIN(tn__div_up(n, 1 << 16), MOST_CHUNKS));
}

/* ---- selection ---- */

#define W      uint32_t
#define SELECT select_32
#include "ops/sort/cpu_select.inc.h"

#define W      uint64_t
#define SELECT select_64
#include "ops/sort/cpu_select.inc.h"

/* Of few: the one that k or fewer are below, while more than k are not above it. All are compared with all, and no branch
 * depends on it. */
#define SELECT_FEW(name, W) \
    static W name(const W *key, W n, W k) \
    { \
        W found = 0; \
        for (W i = 0; i < n; i++) { \
            const W own = key[i]; \
            W below = 0, upto = 0; \
            for (W j = 0; j < n; j++) { \
                below += key[j] < own; \
                upto += key[j] <= own; \
            } \
            found |= own & -(W)((below <= k) & (k < upto)); \
        } \
        return found; \
    }
SELECT_FEW(few_32, uint32_t)
SELECT_FEW(few_64, uint64_t)
#undef SELECT_FEW

uint64_t tn__select_key(void *keys, int bytes, int64_t n, int64_t k, int bits)
{
    if (n <= TN__FEW_WORDS && bytes == 4)
        return few_32(keys, (uint32_t)n, (uint32_t)k);
    if (n <= TN__FEW_WORDS / 2 && bytes == 8)
        return few_64(keys, (uint64_t)n, (uint64_t)k);
    return bytes == 4 ? select_32(keys, n, k, bits) : select_64(keys, n, k, bits);
}
