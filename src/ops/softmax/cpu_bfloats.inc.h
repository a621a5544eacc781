/* ops/softmax/cpu_bfloats.inc.h: dense rows of bfloat16. Elements become floats in registers each time they are read, and results
 * are rounded there: a row sees memory as it lies. Sums are of sixty-four lanes, so that they do not depend on vectors. */
enum { SOFT_LANES = 64, SOFT_TURNS = 32 }; /* lanes; terms of one before they count in double */

/* Lanes to one, in pairs. */
static double sum_of_soft_lanes(const float *lane)
{
    double sum[SOFT_LANES / 4];
    for (int k = 0; k < SOFT_LANES / 4; k++)
        sum[k] = ((double)lane[k] + (double)lane[k + 16]) + ((double)lane[k + 32] + (double)lane[k + 48]);
    for (int h = SOFT_LANES / 8; h; h /= 2)
        for (int k = 0; k < h; k++)
            sum[k] += sum[k + h];
    return sum[0];
}

/* NaN is never it: the sum becomes NaN by what is subtracted from. The next row, which mostly lies behind, is asked for. */
static float most_of_bfloats(const uint16_t *x, int64_t n)
{
    float most[SOFT_LANES], m = -INFINITY;
    int64_t i = 0;
    for (int k = 0; k < SOFT_LANES; k++)
        most[k] = -INFINITY;
    for (; i + SOFT_LANES <= n; i += SOFT_LANES) {
        __builtin_prefetch(x + i + n);
        __builtin_prefetch(x + i + n + 32);
        for (int k = 0; k < SOFT_LANES; k++) {
            const float v = bf16_f32(x[i + k]);
            most[k] = v > most[k] ? v : most[k];
        }
    }
    for (; i < n; i++)
        m = bf16_f32(x[i]) > m ? bf16_f32(x[i]) : m;
    for (int h = SOFT_LANES / 2; h; h /= 2)
        for (int k = 0; k < h; k++)
            most[k] = most[k + h] > most[k] ? most[k + h] : most[k];
    return most[0] > m ? most[0] : m;
}

/* The sum of 'value', floats, for i of 0 .. n - 1. */
#define SUM_OF_BFLOATS(value) \
    double all = 0; \
    for (int64_t at = 0, end; at < n; at = end) { \
        float sum[SOFT_LANES] = {0}; \
        end = n - at < SOFT_TURNS * SOFT_LANES ? n : at + SOFT_TURNS * SOFT_LANES; \
        for (; at + SOFT_LANES <= end; at += SOFT_LANES) \
            for (int k = 0; k < SOFT_LANES; k++) { \
                const int64_t i = at + k; \
                sum[k] += value; \
            } \
        for (int64_t i = at; i < end; i++) \
            sum[i - at] += value; \
        all += sum_of_soft_lanes(sum); \
    } \
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
