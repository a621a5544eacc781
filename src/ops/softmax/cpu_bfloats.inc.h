/* ops/softmax/cpu_bfloats.inc.h: dense rows of bfloat16. Elements become floats in registers each time they are read, and results
 * are rounded there: a row sees memory as it lies. Sums are of thirty-two lanes, so that they do not depend on vectors. */
enum { SOFT_LANES = 32, SOFT_STEP = TN_REGISTER / (int)sizeof(float), SOFT_REGISTERS = SOFT_LANES / SOFT_STEP };

/* Two times 64 bytes of lanes to four, lane by lane. */
#define SOFT_FOUR(of_four, soft, two) \
    float some_[SOFT_LANES], of_four[4]; \
    TN_UNROLL \
    for (int k = 0; k < SOFT_REGISTERS / 2; k++) { \
        const rf32 a = (soft)[k], b = (soft)[k + SOFT_REGISTERS / 2]; \
        *(uf32 *)(some_ + k * SOFT_STEP) = a; \
        *(uf32 *)(some_ + SOFT_LANES / 2 + k * SOFT_STEP) = b; \
    } \
    for (int k = 0; k < 4; k++) { \
        const float p = two(some_[k], some_[k + 16]), q = two(some_[k + 8], some_[k + 24]), \
                    r = two(some_[k + 4], some_[k + 20]), s = two(some_[k + 12], some_[k + 28]); \
        const float t = two(p, q), u = two(r, s); \
        (of_four)[k] = two(t, u); \
    }
#define SOFT_MORE(a, b) ((a) > (b) ? (a) : (b))
#define SOFT_SUM(a, b)  ((a) + (b))

static inline __attribute__((always_inline)) float sum_of_soft_lanes(const rf32 *soft)
{
    SOFT_FOUR(of_four, soft, SOFT_SUM)
    return (of_four[0] + of_four[2]) + (of_four[1] + of_four[3]);
}

static inline __attribute__((always_inline)) float most_of_soft_lanes(const rf32 *soft)
{
    SOFT_FOUR(of_four, soft, SOFT_MORE)
    const float p = SOFT_MORE(of_four[0], of_four[2]), q = SOFT_MORE(of_four[1], of_four[3]);
    return SOFT_MORE(p, q);
}
#undef SOFT_FOUR

/* NaN is never it: the sum becomes NaN by what is subtracted from. The next row, which mostly lies behind, is asked for. */
static float most_of_bfloats(const uint16_t *x, int64_t n)
{
    rf32 most[SOFT_REGISTERS];
    int64_t i = 0;
    TN_UNROLL
    for (int k = 0; k < SOFT_REGISTERS; k++)
        most[k] = (rf32){0} - INFINITY;
    for (; i + SOFT_LANES <= n; i += SOFT_LANES) {
        float some[SOFT_LANES];
        __builtin_prefetch(x + i + n);
        for (int k = 0; k < SOFT_LANES; k++)
            some[k] = bf16_f32(x[i + k]);
        TN_UNROLL
        for (int k = 0; k < SOFT_REGISTERS; k++)
            most[k] = extreme_of_f32(*(const uf32 *)(some + k * SOFT_STEP), most[k], false);
    }
    float m = most_of_soft_lanes(most);
    for (; i < n; i++)
        m = SOFT_MORE(bf16_f32(x[i]), m);
    return m;
}
#undef SOFT_MORE
#undef SOFT_SUM

/* The sum of 'value', floats, for i of 0 .. n - 1; a thousand at a time, then in double. */
#define SUM_OF_BFLOATS(value) \
    double all = 0; \
    int64_t at = 0; \
    while (n - at >= SOFT_LANES) { \
        const int64_t end = n - at < 1024 ? at + (n - at) / SOFT_LANES * SOFT_LANES : at + 1024; \
        rf32 sum[SOFT_REGISTERS]; \
        TN_UNROLL \
        for (int k = 0; k < SOFT_REGISTERS; k++) \
            sum[k] = (rf32){0}; \
        for (; at < end; at += SOFT_LANES) { \
            float some[SOFT_LANES]; \
            for (int k = 0; k < SOFT_LANES; k++) { \
                const int64_t i = at + k; \
                some[k] = value; \
            } \
            TN_UNROLL \
            for (int k = 0; k < SOFT_REGISTERS; k++) \
                sum[k] += *(const uf32 *)(some + k * SOFT_STEP); \
        } \
        all += (double)sum_of_soft_lanes(sum); \
    } \
    for (int64_t i = at; i < n; i++) \
        all += (double)(value); \
    return all;

static double exps_of_bfloats(const uint16_t *x, int64_t n, float m)
{
    SUM_OF_BFLOATS(m_exp_down_f32(bf16_f32(x[i]) - m))
}

static double kept_exps_of_bfloats(float *restrict kept, const uint16_t *x, int64_t n, float m)
{
    SUM_OF_BFLOATS((kept[i] = m_exp_down_f32(bf16_f32(x[i]) - m)))
}

static double products_of_bfloats(const uint16_t *g, const uint16_t *y, int64_t n)
{
    SUM_OF_BFLOATS(bf16_f32(g[i]) * bf16_f32(y[i]))
}

static double total_of_bfloats(const uint16_t *g, int64_t n)
{
    SUM_OF_BFLOATS(bf16_f32(g[i]))
}
#undef SUM_OF_BFLOATS

/* 'value', a float, for i of 0 .. n - 1, rounded. */
#define TO_BFLOATS(out, value) \
    int64_t at = 0; \
    for (; at + BFLOATS <= n; at += BFLOATS) { \
        float some[BFLOATS]; \
        for (int k = 0; k < BFLOATS; k++) { \
            const int64_t i = at + k; \
            some[k] = value; \
        } \
        round_bfloats((out) + at, some); \
    } \
    for (int64_t i = at; i < n; i++) \
        (out)[i] = f32_bf16(value);

static void softmax_bfloats(void *out_, const void *x_, int64_t n, float *room, bool logarithm)
{
    uint16_t *out = out_;
    const uint16_t *x = x_;
    const float m = most_of_bfloats(x, n);
    if (logarithm) {
        const float shift = (float)log(exps_of_bfloats(x, n, m));
        TO_BFLOATS(out, bf16_f32(x[i]) - m - shift)
    } else {
        const float scale = (float)(1 / kept_exps_of_bfloats(room, x, n, m));
        TO_BFLOATS(out, room[i] * scale)
    }
}

/* As softmax_row_backward. */
static void softmax_bfloats_backward(void *out_, const void *g_, const void *y_, int64_t n, bool logarithm)
{
    uint16_t *out = out_;
    const uint16_t *g = g_, *y = y_;
    if (logarithm) {
        const float sum = (float)total_of_bfloats(g, n);
        TO_BFLOATS(out, bf16_f32(g[i]) - m_exp_f32(bf16_f32(y[i])) * sum)
    } else {
        const float d = (float)products_of_bfloats(g, y, n);
        TO_BFLOATS(out, bf16_f32(y[i]) * (bf16_f32(g[i]) - d))
    }
}
#undef TO_BFLOATS
