/* ops/convolution/cpu_loops.inc.h: a filter of one channel over a line, and its gradient. */
#define LOOPS_convolution \
    { \
        .line = TWO(conv_line), .dot = TWO(conv_dot), .second = TWO(conv_second) \
    }

#if TN_IS_FLOAT
#if TN_IS_F32
#define CONV_REG  rf32
#define CONV_UREG uf32
#else
#define CONV_REG  rf64
#define CONV_UREG uf64
#endif
enum { E(CONV_STEP) = TN_REGISTER / sizeof(T) };

/* r registers of out, of which n elements are kept. */
static inline __attribute__((always_inline)) void E(conv_some)(const int r, T *out, const T *x, const int64_t *at,
                                                               const T *w, int64_t taps, T bias, int64_t n)
{
    CONV_REG sum[4];
    TN_UNROLL
    for (int j = 0; j < r; j++)
        sum[j] = (CONV_REG){0} + bias;
    for (int64_t k = 0; k < taps; k++) {
        const T *from = x + at[k];
        const T by = w[k];
        TN_UNROLL
        for (int j = 0; j < r; j++)
            sum[j] += *(const CONV_UREG *)(from + j * E(CONV_STEP)) * by;
    }
    TN_UNROLL
    for (int j = 0; j < r - 1; j++)
        *(CONV_UREG *)(out + j * E(CONV_STEP)) = sum[j];
    const int64_t left = n - (r - 1) * E(CONV_STEP);
    if (left == E(CONV_STEP)) {
        *(CONV_UREG *)(out + (r - 1) * E(CONV_STEP)) = sum[r - 1];
        return;
    }
    for (int64_t i = 0; i < left; i++)
        out[(r - 1) * E(CONV_STEP) + i] = sum[r - 1][i];
}

static void E(conv_line)(void *out_, const void *x_, const int64_t *at, const void *w, int64_t taps, const void *bias_,
                         int64_t n)
{
    T *out = out_;
    const T *x = x_, bias = bias_ ? *(const T *)bias_ : 0;
    for (; n > 3 * E(CONV_STEP); n -= 4 * E(CONV_STEP), out += 4 * E(CONV_STEP), x += 4 * E(CONV_STEP)) {
        E(conv_some)(4, out, x, at, w, taps, bias, n < 4 * E(CONV_STEP) ? n : 4 * E(CONV_STEP));
        if (n <= 4 * E(CONV_STEP))
            return;
    }
    if (n > 2 * E(CONV_STEP))
        E(conv_some)(3, out, x, at, w, taps, bias, n);
    else if (n > E(CONV_STEP))
        E(conv_some)(2, out, x, at, w, taps, bias, n);
    else if (n > 0)
        E(conv_some)(1, out, x, at, w, taps, bias, n);
}

static void E(conv_dot)(void *to, const void *g_, int64_t g_line, const void *x_, int64_t x_line, int64_t n,
                        int64_t lines)
{
    CONV_REG sum[2] = {{0}};
    const T *g = g_, *x = x_;
    T rest = 0;
    for (; lines-- > 0; g += g_line, x += x_line) {
        int64_t i = 0;
        for (; i + 2 * E(CONV_STEP) <= n; i += 2 * E(CONV_STEP)) {
            sum[0] += *(const CONV_UREG *)(g + i) * *(const CONV_UREG *)(x + i);
            sum[1] += *(const CONV_UREG *)(g + i + E(CONV_STEP)) * *(const CONV_UREG *)(x + i + E(CONV_STEP));
        }
        for (; i + E(CONV_STEP) <= n; i += E(CONV_STEP))
            sum[0] += *(const CONV_UREG *)(g + i) * *(const CONV_UREG *)(x + i);
        for (; i < n; i++)
            rest += g[i] * x[i];
    }
    sum[0] += sum[1];
    for (int j = 0; j < E(CONV_STEP); j++)
        rest += sum[0][j];
    *(T *)to += rest;
}

static void E(conv_second)(void *out_, const void *x_, int64_t n)
{
    UT *restrict out = out_;
    const UT *restrict x = x_;
    for (int64_t i = 0; i < n; i++)
        out[i] = x[2 * i];
}
#undef CONV_REG
#undef CONV_UREG
#endif
