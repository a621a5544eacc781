/* ops/index/cpu_loops.inc.h: many indices at a time. What is below zero, or above size - 1, has its highest bit set, or size - 1
 * less it has. */
#define LOOPS_index \
    { \
        .outside = index_outside, .moved = index_moved, .ravel = index_ravel_i64, .ravel_32 = index_ravel_i32 \
    }

#if TN_IS_I64
static bool index_outside(const int64_t *index, int64_t n, int64_t size)
{
    uint64_t bits = 0;
    for (int64_t i = 0; i < n; i++)
        bits |= (uint64_t)index[i] | ((uint64_t)size - 1 - (uint64_t)index[i]);
    return bits >> 63;
}

static bool index_moved(int64_t *restrict to, const int64_t *restrict index, const int64_t *restrict apart, int64_t n,
                        int64_t size)
{
    uint64_t bits = 0;
    for (int64_t i = 0; i < n; i++) {
        const uint64_t at = (uint64_t)index[i];
        bits |= at | ((uint64_t)size - 1 - at);
        to[i] = (int64_t)(at + (uint64_t)apart[i]);
    }
    return size && bits >> 63;
}

/* Where all is one dimension the loop has no product. */
#define RAVEL_LOOP(name, I) \
    static bool name(const I *index, int64_t along, int64_t n, int64_t size, int64_t step, bool add, int64_t *out) \
    { \
        uint64_t bits = 0; \
        if (along == 1 && step == 1 && !add) \
            for (int64_t k = 0; k < n; k++) { \
                const int64_t i = index[k], at = i + (i < 0 ? size : 0); \
                bits |= (uint64_t)at | ((uint64_t)size - 1 - (uint64_t)at); \
                out[k] = at; \
            } \
        else \
            for (int64_t k = 0; k < n; k++) { \
                const int64_t i = index[k * along], at = i + (i < 0 ? size : 0); \
                bits |= (uint64_t)at | ((uint64_t)size - 1 - (uint64_t)at); \
                out[k] = (add ? out[k] : 0) + (int64_t)((uint64_t)at * (uint64_t)step); \
            } \
        return n && bits >> 63; \
    }
RAVEL_LOOP(index_ravel_i64, int64_t)
RAVEL_LOOP(index_ravel_i32, int32_t)
#undef RAVEL_LOOP
#endif
