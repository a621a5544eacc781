/* ops/sort/cpu_loops.inc.h: keys to sort by, and search in sorted rows. */
#define LOOPS_sort \
    { \
        .keys = FOUR(sort_keys), .below = {sort_below_i32, sort_below_i64}, .ascends = FOUR(sort_ascends), \
        .places = FOUR(sort_places), .runs = FOUR(sort_runs) \
    }

#if TN_IS_FLOAT

/* Of a negative number all bits are turned, of another the first one. */
static void E(sort_keys)(void *to_, const void *x_, int64_t n, uint64_t flip_)
{
    const UT first = (UT)1 << (8 * sizeof(UT) - 1), flip = (UT)flip_;
    UT *restrict to = to_;
    const T *restrict x = x_;
    for (int64_t i = 0; i < n; i++) {
        const T v = x[i] + K(0);
        UT u;
        memcpy(&u, &v, sizeof u);
        const UT key = u ^ (((UT)0 - (u >> (8 * sizeof(UT) - 1))) | first);
        to[i] = (v != v ? (UT)-1 : key) ^ flip;
    }
}

#else

static void E(sort_keys)(void *to_, const void *x_, int64_t n, uint64_t flip)
{
    UT *restrict to = to_;
    const UT *restrict x = x_;
    for (int64_t i = 0; i < n; i++)
        to[i] = x[i] ^ (UT)flip;
}

static int64_t E(sort_below)(const void *keys, int64_t from, int64_t n, uint64_t bound_)
{
    enum { PIECE = 32 };
    const UT *key = keys, bound = (UT)bound_;
    int64_t i = from;
    for (; i + PIECE <= n; i += PIECE) {
        int any = 0;
        for (int k = 0; k < PIECE; k++)
            any |= key[i + k] < bound;
        if (any)
            break;
    }
    while (i < n && key[i] >= bound)
        i++;
    return i;
}

#endif

static bool E(sort_ascends)(const void *row_, int64_t n)
{
    enum { PIECE = 64 };
    const T *row = row_;
    int64_t i = 1;
    for (; i + PIECE <= n; i += PIECE) {
        int all = 1;
        for (int k = 0; k < PIECE; k++)
            all &= row[i + k - 1] <= row[i + k];
        if (!all)
            return false;
    }
    for (; i < n; i++)
        if (!(row[i - 1] <= row[i]))
            return false;
#if TN_IS_FLOAT
    return n < 1 || row[0] == row[0]; /* one NaN */
#else
    return true;
#endif
}

/* Does the value belong behind the element? */
#define AT_LEAST(a, v) (!((a) >= (v)))
#define ABOVE(a, v)    (!((a) > (v)))
#define BELOW(a, v)    ((a) < (v))

/* The row is halved as often as it takes: what is found in one that is not sorted is PyTorch's, too. */
#define SORT_HALVED(name, is_before) \
    static void E(name)(int64_t * to, const T *row, int64_t n, const T *value, int64_t count) \
    { \
        for (int64_t i = 0; i < count; i++) { \
            int64_t low = 0, high = n; \
            while (low < high) { \
                const int64_t middle = (low + high) >> 1; \
                if (is_before(row[middle], value[i])) \
                    low = middle + 1; \
                else \
                    high = middle; \
            } \
            to[i] = low; \
        } \
    }
SORT_HALVED(sort_before, AT_LEAST)
SORT_HALVED(sort_behind, ABOVE)
#undef SORT_HALVED

/* Of a row that ascends all values see the same lengths. In a short one those before are counted; else four values are looked up
 * at a time, so that none waits for another's memory. */
/* Up to so many are counted sooner than found by halving (measured): the wider the register, the more. */
enum {
    E(SHORT_TABLE) = TN_REGISTER == 64   ? (sizeof(T) == 4 ? 96 : 64)
                     : TN_REGISTER == 32 ? (sizeof(T) == 4 ? 72 : 24)
                                         : (sizeof(T) == 4 ? 24 : 8)
};
#define SORT_STEP(at, v, is_before) at += half & -(int64_t)(is_before(row[at + half - 1], v))
#define SORT_SORTED(name, is_before) \
    static void E(name##_few)(int64_t * to, const T *row, int64_t n, const T *value, int64_t count) \
    { \
        enum { PIECE = 64 }; \
        T v[PIECE] = {0}; \
        for (int64_t i = 0; i < count; i += PIECE) { \
            const int64_t some = count - i < PIECE ? count - i : PIECE; \
            UT before[PIECE] = {0}; \
            for (int64_t k = 0; k < some; k++) \
                v[k] = value[i + k]; \
            for (int64_t j = 0; j < n; j++) { \
                const T its = row[j]; \
                for (int k = 0; k < PIECE; k++) \
                    before[k] += is_before(its, v[k]); \
            } \
            for (int64_t k = 0; k < some; k++) \
                to[i + k] = (int64_t)before[k]; \
        } \
    } \
    static void E(name)(int64_t * to, const T *row, int64_t n, const T *value, int64_t count) \
    { \
        int64_t i = 0; \
        if (n <= E(SHORT_TABLE)) { \
            E(name##_few)(to, row, n, value, count); \
            return; \
        } \
        for (; i < count; i += 4) { \
            const int64_t last = count - 1; \
            const T p = value[i], q = value[i + 1 < last ? i + 1 : last], r = value[i + 2 < last ? i + 2 : last]; \
            const T s = value[i + 3 < last ? i + 3 : last]; \
            int64_t a = 0, b = 0, c = 0, d = 0; \
            for (int64_t left = n; left > 1;) { \
                const int64_t half = left >> 1; \
                SORT_STEP(a, p, is_before); \
                SORT_STEP(b, q, is_before); \
                SORT_STEP(c, r, is_before); \
                SORT_STEP(d, s, is_before); \
                left -= half; \
            } \
            to[i] = a + is_before(row[a], p); \
            to[i + 1 < last ? i + 1 : last] = b + is_before(row[b], q); \
            to[i + 2 < last ? i + 2 : last] = c + is_before(row[c], r); \
            to[i + 3 < last ? i + 3 : last] = d + is_before(row[d], s); \
        } \
    }
SORT_SORTED(sort_sorted_before, AT_LEAST)
SORT_SORTED(sort_sorted_behind, ABOVE)
SORT_SORTED(sort_before_nan, BELOW)
#undef SORT_SORTED
#undef SORT_STEP
#undef AT_LEAST
#undef ABOVE
#undef BELOW

static void E(sort_places)(int64_t *to, const void *row, int64_t n, const void *values, int64_t count, int how)
{
    static void (*const ways[])(int64_t *, const T *, int64_t, const T *, int64_t) = {
        E(sort_before), E(sort_behind), E(sort_sorted_before), E(sort_sorted_behind), E(sort_before_nan)};
    ways[how](to, row, n, values, count);
}

/* Pieces where none differs, or each does, are told at once. */
static int64_t E(sort_runs)(void *values_, int64_t *first, const void *x_, int64_t from, int64_t last)
{
    enum { PIECE = 32 };
    const T *x = x_;
    T *values = values_;
    int64_t i = from, n = 0, end;
    for (; i < last; i = end) {
        UT other[PIECE] = {1}, others = 1;
        end = i == 0 ? 1 : i + PIECE < last ? i + PIECE : last;
        if (end - i == PIECE) {
            others = 0;
            for (int k = 0; k < PIECE; k++) {
                other[k] = x[i + k] != x[i + k - 1];
                others += other[k];
            }
        } else if (i > 0) {
            for (int64_t k = i; k < end; k++)
                other[k - i] = x[k] != x[k - 1];
        }
        if (others == 0)
            continue;
        int64_t at = n;
        for (int64_t k = i; values && others < PIECE && k < end; k++) {
            values[at] = x[k];
            at += (int64_t)other[k - i];
        }
        for (int64_t k = i; values && others == PIECE && k < end; k++)
            values[at++] = x[k];
        for (int64_t k = i; first && others < PIECE && k < end; k++) {
            first[n] = k;
            n += (int64_t)other[k - i];
        }
        for (int64_t k = i; first && others == PIECE && k < end; k++)
            first[n++] = k;
        n = values ? at : n;
    }
    return n;
}
