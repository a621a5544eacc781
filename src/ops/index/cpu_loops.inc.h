/* ops/index/cpu_loops.inc.h: many indices at a time. What is below zero, or above size - 1, has its highest bit set, or size - 1
 * less it has. */
#define LOOPS_index \
    { \
        .outside = index_outside, .moved = index_moved, .ravel = index_ravel_i64, .ravel_32 = index_ravel_i32 \
    }

#if TN_IS_I64
typedef uint64_t index_lanes __attribute__((vector_size(TN_REGISTER)));
typedef uint64_t any_index_lanes __attribute__((vector_size(TN_REGISTER), aligned(8), may_alias));
enum { INDEX_LANES = TN_REGISTER / 8 };

/* What registers have seen, and what is left of n indices one by one. */
ALWAYS bool index_any(index_lanes all, const int64_t *index, int64_t n, int64_t size)
{
    uint64_t bits = 0;
    TN_UNROLL
    for (int i = 0; i < INDEX_LANES; i++)
        bits |= all[i];
    for (int64_t i = 0; i < n; i++)
        bits |= (uint64_t)index[i] | ((uint64_t)size - 1 - (uint64_t)index[i]);
    return bits >> 63;
}

static bool index_outside(const int64_t *index, int64_t n, int64_t size)
{
    index_lanes seen[4] = {{0}};
    int64_t k = 0;
    for (; k + 4 * INDEX_LANES <= n; k += 4 * INDEX_LANES) {
        TN_UNROLL
        for (int i = 0; i < 4; i++) {
            const index_lanes at = *(const any_index_lanes *)(const void *)(index + k + i * INDEX_LANES);
            seen[i] |= at | ((uint64_t)size - 1 - at);
        }
    }
    return index_any(seen[0] | seen[1] | seen[2] | seen[3], index + k, n - k, size);
}

static bool index_moved(int64_t *restrict to, const int64_t *restrict index, const int64_t *restrict apart, int64_t n,
                        int64_t size)
{
    index_lanes seen[4] = {{0}};
    int64_t k = 0;
    for (; k + 4 * INDEX_LANES <= n; k += 4 * INDEX_LANES) {
        TN_UNROLL
        for (int i = 0; i < 4; i++) {
            const int64_t first = k + i * INDEX_LANES;
            const index_lanes at = *(const any_index_lanes *)(const void *)(index + first);
            seen[i] |= at | ((uint64_t)size - 1 - at);
            *(any_index_lanes *)(void *)(to + first) = at + *(const any_index_lanes *)(const void *)(apart + first);
        }
    }
    for (int64_t i = k; i < n; i++)
        to[i] = (int64_t)((uint64_t)index[i] + (uint64_t)apart[i]);
    return size && index_any(seen[0] | seen[1] | seen[2] | seen[3], index + k, n - k, size);
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
