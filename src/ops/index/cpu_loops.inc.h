/* ops/index/cpu_loops.inc.h: many indices at a time. What is below zero, or above size - 1, has its highest bit set, or size - 1
 * less it has. */
#define LOOPS_index \
    { \
        .outside = index_outside, .moved = index_moved \
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
#endif
