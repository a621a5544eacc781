/* ops/reduce/cpu_loops.inc.h: reductions of dense runs, and folds of one run into another. */
#define EACH_REDUCTION(X) \
    { \
        [TN__SUM] = X(sum), [TN__PROD] = X(prod), [TN__MAX] = X(max), [TN__MIN] = X(min), [TN__ANY] = X(any), \
        [TN__ALL] = X(all) \
    }
#define RUN_FLOAT(name) \
    { \
        run_##name##_f32, run_##name##_f64 \
    }
#define RUN_INT(name) \
    { \
        run_##name##_i32, run_##name##_i64 \
    }
#define FOLD_FOUR(name)  FOUR(fold_##name)
#define FOLD4_FOUR(name) FOUR(fold4_##name)
#define LOOPS_reduce \
    { \
        .run_float = EACH_REDUCTION(RUN_FLOAT), .run_int = EACH_REDUCTION(RUN_INT), .fold = EACH_REDUCTION(FOLD_FOUR), \
        .fold4 = EACH_REDUCTION(FOLD4_FOUR), .find = FOUR(find), .extremes = FOUR(extremes), \
        .extremes_half = extremes_half, .moments = TWO(moments), .squares = TWO(squares), .centred = TWO(centred), \
        .ties = TWO(ties), .shared = TWO(shared), .square_lines = TWO(square_lines), \
        .extreme_lines = FOUR(extreme_lines), .sum_bf16 = sum_bf16, .squares_bf16 = squares_bf16, \
        .square_columns_bf16 = square_columns_bf16, .sum_b8 = sum_b8 \
    }

#if TN_IS_FLOAT
#if TN_IS_F32
#define REG  rf32
#define UREG uf32
#define IREG ri32
#else
#define REG  rf64
#define UREG uf64
#define IREG ri64
#endif
/* Elements of 64 bytes, of 256, of a piece, of a register. */
enum { E(LANES) = 64 / sizeof(T), E(WIDE) = 4 * E(LANES), E(PIECE) = 16 * E(WIDE), E(STEP) = TN_REGISTER / sizeof(T) };

/* n elements, a multiple of 256 bytes: added up in 4 times 64 bytes, those by a tree, and each lane of it to a sum in double:
 * of a piece rounding grows with the logarithm. */
static inline void E(sum_wide)(double *lane, const T *x, int64_t n)
{
    REG a[4 * TN_PARTS];
    T part[E(LANES)];
    TN_UNROLL
    for (int k = 0; k < 4 * TN_PARTS; k++)
        a[k] = *(const UREG *)(x + k * E(STEP));
    for (int64_t i = E(WIDE); i < n; i += E(WIDE)) {
        TN_UNROLL
        for (int k = 0; k < 4 * TN_PARTS; k++)
            a[k] += *(const UREG *)(x + i + k * E(STEP));
    }
    TN_UNROLL
    for (int k = 0; k < TN_PARTS; k++)
        *(UREG *)(part + k * E(STEP)) = (a[k] + a[k + TN_PARTS]) + (a[k + 2 * TN_PARTS] + a[k + 3 * TN_PARTS]);
    for (int j = 0; j < E(LANES); j++)
        lane[j] += (double)part[j];
}

/* As many doubles as a register holds; sixteen take DOUBLES registers. */
enum { E(FEW) = TN_REGISTER / 8, E(DOUBLES) = 16 / E(FEW) };
#if TN_IS_F32
#define DOUBLES_AT(p) widened(p)
#else
#define DOUBLES_AT(p) (*(const uf64 *)(p))
#endif

#if TN_IS_F32
/* Sixteen sums, or products, to one. */
static inline double tree_of_sums(double *lane)
{
    for (int j = 0; j < 8; j++)
        lane[j] += lane[j + 8];
    for (int j = 0; j < 4; j++)
        lane[j] += lane[j + 4];
    return (lane[0] + lane[2]) + (lane[1] + lane[3]);
}

static inline double tree_of_products(double *lane)
{
    for (int j = 0; j < 8; j++)
        lane[j] *= lane[j + 8];
    for (int j = 0; j < 4; j++)
        lane[j] *= lane[j + 4];
    return (lane[0] * lane[2]) * (lane[1] * lane[3]);
}
#endif

/* Less than 64 bytes. */
static inline double E(sum_few)(const T *x, int64_t n)
{
    double s = 0;
    for (int64_t i = 0; i < n; i++)
        s += (double)x[i];
    return s;
}

static double E(run_sum)(const void *x_, int64_t n)
{
    const T *x = x_;
    if (n < E(LANES))
        return E(sum_few)(x, n);
    double lane[16] = {0};
    for (; n >= E(PIECE); n -= E(PIECE), x += E(PIECE))
        E(sum_wide)(lane, x, E(PIECE));
    if (n >= E(WIDE)) {
        const int64_t wide = n - n % E(WIDE);
        E(sum_wide)(lane, x, wide);
        x += wide, n -= wide;
    }
    for (; n >= E(LANES); n -= E(LANES), x += E(LANES))
        for (int j = 0; j < E(LANES); j++)
            lane[j] += (double)x[j];
    return tree_of_sums(lane) + E(sum_few)(x, n);
}

#if TN_IS_F32
/* As run_sum; a 32-bit word is two elements, of which one is the upper half of a float as it stands. */
static double sum_bf16(const void *x_, int64_t n)
{
    const uint16_t *x = x_;
    double lane[LANES_f32] = {0}, rest = 0;
    while (n >= WIDE_f32) {
        const int64_t m = n >= PIECE_f32 ? PIECE_f32 : n - n % WIDE_f32;
        rf32 a[4 * TN_PARTS];
        float part[LANES_f32];
        TN_UNROLL
        for (int k = 0; k < 4 * TN_PARTS; k++)
            a[k] = (rf32){0};
        for (int64_t i = 0; i < m; i += WIDE_f32) {
            TN_UNROLL
            for (int k = 0; k < 2 * TN_PARTS; k++) {
                const ru32 two = *(const uu32 *)(const void *)(x + i + 2 * k * STEP_f32);
                a[2 * k] += (rf32)(two << 16);
                a[2 * k + 1] += (rf32)(two & 0xffff0000U);
            }
        }
        TN_UNROLL
        for (int k = 0; k < TN_PARTS; k++)
            *(uf32 *)(part + k * STEP_f32) = (a[k] + a[k + TN_PARTS]) + (a[k + 2 * TN_PARTS] + a[k + 3 * TN_PARTS]);
        for (int j = 0; j < LANES_f32; j++)
            lane[j] += (double)part[j];
        x += m, n -= m;
    }
    for (int64_t i = 0; i < n; i++)
        rest += (double)bf16_f32(x[i]);
    return tree_of_sums(lane) + rest;
}

/* Sixty-four counts of bytes side by side, before they could overflow. */
static int64_t sum_b8(const void *x_, int64_t n)
{
    const uint8_t *x = x_;
    int64_t sum = 0;
    while (n >= 64) {
        const int64_t m = n < 64 * 255 ? n - n % 64 : 64 * 255;
        uint8_t part[64] = {0};
        for (int64_t i = 0; i < m; i += 64)
            for (int k = 0; k < 64; k++)
                part[k] = (uint8_t)(part[k] + (x[i + k] != 0));
        for (int k = 0; k < 64; k++)
            sum += part[k];
        x += m, n -= m;
    }
    for (int64_t i = 0; i < n; i++)
        sum += x[i] != 0;
    return sum;
}
#endif

static void E(centred)(void *out, const void *x_, double mean, double scale, int64_t n)
{
    const T *x = x_, m = (T)mean, s = (T)scale;
    T *o = out;
    TN_IVDEP
    for (int64_t i = 0; i < n; i++)
        o[i] = s * (x[i] - m);
}

static int64_t E(ties)(const void *x_, double most, int64_t n)
{
    const T *x = x_, m = (T)most;
    int64_t many = 0;
    for (int64_t i = 0; i < n; i++)
        many += x[i] == m;
    return many;
}

static void E(shared)(void *out, const void *x_, double most, double share, int64_t n)
{
    const T *x = x_, m = (T)most, s = (T)share;
    T *o = out;
    TN_IVDEP
    for (int64_t i = 0; i < n; i++)
        o[i] = x[i] == m ? s : K(0);
}

/* Sixteen sums side by side: one waits for itself. */
static void E(moments)(double sums[2], const void *x_, int64_t n)
{
    const T *x = x_;
    const double first = (double)x[0];
    rf64 sum[E(DOUBLES)], square[E(DOUBLES)];
    double sum_of[16], square_of[16];
    int64_t i = 0;
    TN_UNROLL
    for (int k = 0; k < E(DOUBLES); k++)
        sum[k] = square[k] = (rf64){0};
    for (; i + 16 <= n; i += 16) {
        TN_UNROLL
        for (int k = 0; k < E(DOUBLES); k++) {
            const rf64 d = DOUBLES_AT(x + i + k * E(FEW)) - first;
            sum[k] += d;
            square[k] += d * d;
        }
    }
    TN_UNROLL
    for (int k = 0; k < E(DOUBLES); k++) {
        *(uf64 *)(sum_of + k * E(FEW)) = sum[k];
        *(uf64 *)(square_of + k * E(FEW)) = square[k];
    }
    for (int k = 0; i < n; i++, k++) {
        const double d = (double)x[i] - first;
        sum_of[k] += d;
        square_of[k] += d * d;
    }
    sums[0] = tree_of_sums(sum_of);
    sums[1] = tree_of_sums(square_of);
}

static double E(squares)(const void *x_, int64_t n)
{
    const T *x = x_;
    rf64 square[E(DOUBLES)];
    double square_of[16];
    int64_t i = 0;
    TN_UNROLL
    for (int k = 0; k < E(DOUBLES); k++)
        square[k] = (rf64){0};
    for (; i + 16 <= n; i += 16) {
        TN_UNROLL
        for (int k = 0; k < E(DOUBLES); k++) {
            const rf64 v = DOUBLES_AT(x + i + k * E(FEW));
            square[k] += v * v;
        }
    }
    TN_UNROLL
    for (int k = 0; k < E(DOUBLES); k++)
        *(uf64 *)(square_of + k * E(FEW)) = square[k];
    for (int k = 0; i < n; i++, k++)
        square_of[k] += (double)x[i] * (double)x[i];
    return tree_of_sums(square_of);
}

#if TN_IS_F32
/* Squares of bfloat16 are exact in float, as long as they are neither too large for it nor too small, of which the sum tells: a
 * square lost below 2^-149 is nothing beside a sum above 2^-60. Else in double. */
static double squares_bf16(const void *x_, int64_t n)
{
    const uint16_t *x = x_;
    rf32 a[4 * TN_PARTS];
    float part[LANES_f32];
    double lane[LANES_f32], rest = 0;
    int64_t i = 0;
    TN_UNROLL
    for (int k = 0; k < 4 * TN_PARTS; k++)
        a[k] = (rf32){0};
    for (; i + WIDE_f32 <= n; i += WIDE_f32) {
        TN_UNROLL
        for (int k = 0; k < 2 * TN_PARTS; k++) {
            const ru32 two = *(const uu32 *)(const void *)(x + i + 2 * k * STEP_f32);
            const rf32 even = (rf32)(two << 16), odd = (rf32)(two & 0xffff0000U);
            a[2 * k] += even * even;
            a[2 * k + 1] += odd * odd;
        }
    }
    TN_UNROLL
    for (int k = 0; k < TN_PARTS; k++)
        *(uf32 *)(part + k * STEP_f32) = (a[k] + a[k + TN_PARTS]) + (a[k + 2 * TN_PARTS] + a[k + 3 * TN_PARTS]);
    for (int j = 0; j < LANES_f32; j++)
        lane[j] = (double)part[j];
    const double sum = tree_of_sums(lane), least = 0x1p-60;
    for (int64_t k = sum >= least && sum < INFINITY ? i : 0; k < n; k++) {
        const double v = (double)bf16_f32(x[k]);
        rest += v * v;
    }
    return sum >= least && sum < INFINITY ? sum + rest : rest;
}

/* As many bfloat16 as a register holds doubles. */
static inline rf64 widened_bf16(const uint16_t *x)
{
#if defined(__AVX512F__)
    const __m256i bits =
        _mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)(const void *)x)), 16);
    return (rf64)_mm512_cvtps_pd(_mm256_castsi256_ps(bits));
#elif defined(__AVX2__)
    const __m128i bits = _mm_slli_epi32(_mm_cvtepu16_epi32(_mm_loadl_epi64((const __m128i *)(const void *)x)), 16);
    return (rf64)_mm256_cvtps_pd(_mm_castsi128_ps(bits));
#else
    return (rf64){(double)bf16_f32(x[0]), (double)bf16_f32(x[1])};
#endif
}

static void square_columns_bf16(double *sums, const void *x_, int64_t step, int64_t n, int64_t width)
{
    enum { REGISTERS = 4, SOME = REGISTERS * FEW_f32 };
    const uint16_t *x = x_;
    for (; width >= SOME; width -= SOME, x += SOME, sums += SOME) {
        rf64 a[REGISTERS];
        TN_UNROLL
        for (int k = 0; k < REGISTERS; k++)
            a[k] = (rf64){0};
        for (int64_t i = 0; i < n; i++) {
            TN_UNROLL
            for (int k = 0; k < REGISTERS; k++) {
                const rf64 v = widened_bf16(x + i * step + k * FEW_f32);
                a[k] += v * v;
            }
        }
        TN_UNROLL
        for (int k = 0; k < REGISTERS; k++)
            *(uf64 *)(sums + k * FEW_f32) = a[k];
    }
    for (; width > 0; width--, x++, sums++) {
        *sums = 0;
        for (int64_t i = 0; i < n; i++)
            *sums += (double)bf16_f32(x[i * step]) * (double)bf16_f32(x[i * step]);
    }
}
#endif

/* Sixteen products side by side. */
static double E(run_prod)(const void *x_, int64_t n)
{
    const T *x = x_;
    rf64 product[E(DOUBLES)];
    double product_of[16];
    int64_t i = 0;
    TN_UNROLL
    for (int k = 0; k < E(DOUBLES); k++)
        product[k] = (rf64){0} + 1;
#if TN_IS_F32 /* two at a time: of floats no product of two leaves what a double holds, and a register waits half as often */
    for (; i + 32 <= n; i += 32) {
        TN_UNROLL
        for (int k = 0; k < E(DOUBLES); k++)
            product[k] *= DOUBLES_AT(x + i + k * E(FEW)) * DOUBLES_AT(x + i + 16 + k * E(FEW));
    }
#endif
    for (; i + 16 <= n; i += 16) {
        TN_UNROLL
        for (int k = 0; k < E(DOUBLES); k++)
            product[k] *= DOUBLES_AT(x + i + k * E(FEW));
    }
    TN_UNROLL
    for (int k = 0; k < E(DOUBLES); k++)
        *(uf64 *)(product_of + k * E(FEW)) = product[k];
    for (int k = 0; i < n; i++, k++)
        product_of[k] *= (double)x[i];
    return tree_of_products(product_of);
}
#undef DOUBLES_AT

/* Registers side by side that are compared with what comes, as one waits for itself; an even number. */
enum { E(RACES) = TN_REGISTER == 64 ? 4 : 2 * TN_PARTS, E(RACE) = E(RACES) * E(STEP) };

/* The largest of a run of RACE elements or more, or the smallest; i: those that were taken. NaN: one is. */
static inline __attribute__((always_inline)) T E(wide_extreme)(const T *x, int64_t n, const bool least, int64_t *i)
{
    REG best[E(RACES)];
    E(noted) bad[E(RACES) / 2], none;
    T part[E(STEP)], m;
    memset(bad, 0, sizeof bad);
    memset(&none, 0, sizeof none);
    TN_UNROLL
    for (int k = 0; k < E(RACES); k++)
        best[k] = *(const UREG *)(x + k * E(STEP));
    for (*i = 0; *i + E(RACE) <= n; *i += E(RACE)) {
        TN_UNROLL
        for (int k = 0; k < E(RACES); k += 2) {
            const REG v = *(const UREG *)(x + *i + k * E(STEP)), w = *(const UREG *)(x + *i + (k + 1) * E(STEP));
            bad[k / 2] = E(note)(bad[k / 2], v, w);
            best[k] = E(extreme_of)(v, best[k], least);
            best[k + 1] = E(extreme_of)(w, best[k + 1], least);
        }
    }
    TN_UNROLL
    for (int k = 1; k < E(RACES) / 2; k++)
        bad[0] |= bad[k];
    TN_UNROLL
    for (int k = 1; k < E(RACES); k++)
        best[0] = E(extreme_of)(best[k], best[0], least);
    if (memcmp(bad, &none, sizeof none) != 0)
        return TN_INFINITY - TN_INFINITY;
    *(UREG *)part = best[0];
    m = part[0];
    for (int k = 1; k < E(STEP); k++)
        m = (least ? part[k] < m : part[k] > m) ? part[k] : m;
    return m;
}

/* The largest of a run, or the smallest. NaN if one is: the first. */
static inline __attribute__((always_inline)) T E(run_extreme)(const T *x, int64_t n, const bool least)
{
    T m = least ? TN_INFINITY : -TN_INFINITY;
    int64_t i = 0;
    if (n >= E(RACE))
        m = E(wide_extreme)(x, n, least, &i);
    if (m != m)
        i = 0;
    for (; i < n; i++) {
        if (x[i] != x[i])
            return x[i];
        m = (least ? x[i] < m : x[i] > m) ? x[i] : m;
    }
    return m;
}

static double E(run_max)(const void *x, int64_t n)
{
    return (double)E(run_extreme)(x, n, false);
}

static double E(run_min)(const void *x, int64_t n)
{
    return (double)E(run_extreme)(x, n, true);
}

#undef REG
#undef UREG
#undef IREG
#define RUN double
#else
#define RUN int64_t

/* In four registers: one would wait for itself at each step. */
static int64_t E(run_sum)(const void *x_, int64_t n)
{
    typedef UT many __attribute__((vector_size(TN_REGISTER)));
    typedef UT lying __attribute__((vector_size(TN_REGISTER), aligned(sizeof(T)), may_alias));
    enum { STEP = TN_REGISTER / (int)sizeof(T) };
    const T *x = x_;
    many a = {0}, b = {0}, c = {0}, d = {0};
    UT s = 0;
    for (; n >= 4 * STEP; n -= 4 * STEP, x += 4 * STEP) {
        const lying *from = (const void *)x;
        a += from[0], b += from[1], c += from[2], d += from[3];
    }
    a += b + (c + d);
    for (int k = 0; k < STEP; k++)
        s += a[k];
    for (int64_t i = 0; i < n; i++)
        s += (UT)x[i];
    return (int64_t)(T)s;
}

static int64_t E(run_prod)(const void *x_, int64_t n)
{
    const T *x = x_;
    UT p = 1;
    for (int64_t i = 0; i < n; i++)
        p *= (UT)x[i];
    return (int64_t)(T)p;
}

static int64_t E(run_max)(const void *x_, int64_t n)
{
    const T *x = x_;
    T m = x[0];
    for (int64_t i = 1; i < n; i++)
        m = x[i] > m ? x[i] : m;
    return m;
}

static int64_t E(run_min)(const void *x_, int64_t n)
{
    const T *x = x_;
    T m = x[0];
    for (int64_t i = 1; i < n; i++)
        m = x[i] < m ? x[i] : m;
    return m;
}
#endif

#if TN_IS_FLOAT
#define SAME(a, b) (((a) == (b)) | (((a) != (a)) & ((b) != (b))))
#else
#define SAME(a, b) ((a) == (b))
#endif
static int64_t E(find)(const void *x_, int64_t n, const void *value)
{
    const T *x = x_, v = *(const T *)value;
    int64_t i = 0;
    for (; i + 64 <= n; i += 64) { /* a vector at a time: leaving a loop early keeps it from being one */
        int32_t hits = 0;
        for (int k = 0; k < 64; k++)
            hits |= SAME(x[i + k], v);
        if (hits)
            break;
    }
    while (i + 1 < n && !SAME(x[i], v))
        i++;
    return i;
}
#undef SAME

/* ---- lines: rows side by side ---- */

#if TN_IS_FLOAT
static void E(square_lines)(double *restrict sums, const void *x_, int64_t n, int64_t width)
{
    const T *restrict x = x_;
    for (int64_t w = 0; w < width; w++)
        sums[w] = (double)x[w] * (double)x[w];
    for (int64_t k = 1; k < n; k++)
        for (int64_t w = 0; w < width; w++)
            sums[w] += (double)x[k * width + w] * (double)x[k * width + w];
}
#define BEATS(v, cmp, best) (((best) == (best)) & (((v) != (v)) | ((v)cmp(best)))) /* the first NaN beats all */
#else
#define BEATS(v, cmp, best) ((v)cmp(best))
#endif

#define EXTREME_LINES(cmp) \
    for (int64_t k = 1; k < n; k++) \
        for (int64_t w = 0; w < width; w++) { \
            const T v = x[k * width + w]; \
            const bool beats = BEATS(v, cmp, best[w]); \
            best[w] = beats ? v : best[w]; \
            at[w] = beats ? (int32_t)k : at[w]; \
        }
static void E(extreme_lines)(void *best_, int32_t *restrict at, const void *x_, int64_t n, int64_t width, bool least)
{
    const T *restrict x = x_;
    T *restrict best = best_;
    for (int64_t w = 0; w < width; w++)
        best[w] = x[w], at[w] = 0;
    if (least) {
        EXTREME_LINES(<)
    } else {
        EXTREME_LINES(>)
    }
}
#undef EXTREME_LINES
#undef BEATS

/* ---- both ends at once ---- */

typedef T E(end_vec) __attribute__((vector_size(TN_REGISTER)));
typedef T E(any_ends) __attribute__((vector_size(TN_REGISTER), aligned(sizeof(T)), may_alias));
typedef UT E(end_mask) __attribute__((vector_size(TN_REGISTER)));
/* Elements of a register; registers side by side, of which there are three times as many. */
enum { E(ENDS) = TN_REGISTER / sizeof(T), E(SIDES) = TN_REGISTER > 16 ? 2 * TN_PARTS : TN_PARTS };
#if TN_IS_FLOAT
#define NO_NUMBER(v) ((v) != (v))
#else
#define NO_NUMBER(v) ((v) < (v))
#endif

static void E(extremes)(void *ends, const void *x_, int64_t n)
{
    const T *x = x_;
    E(end_vec) least[E(SIDES)], most[E(SIDES)];
    E(end_mask) bad[E(SIDES)];
    T low = x[0], high = x[0];
    bool nan = NO_NUMBER(x[0]);
    int64_t i = 0;
    TN_UNROLL
    for (int k = 0; k < E(SIDES); k++) {
        least[k] = most[k] = (E(end_vec)){0} + x[0];
        bad[k] = (E(end_mask)){0};
    }
    for (; i + (int)(E(SIDES) * E(ENDS)) <= n; i += (int)(E(SIDES) * E(ENDS))) {
        TN_UNROLL
        for (int k = 0; k < E(SIDES); k++) {
            const E(end_vec) v = *(const E(any_ends) *)(x + i + k * (int)E(ENDS));
            const E(end_mask) less = v<least[k], more = v> most[k];
            bad[k] |= (E(end_mask))NO_NUMBER(v);
            least[k] = (E(end_vec))(((E(end_mask))v & less) | ((E(end_mask))least[k] & ~less));
            most[k] = (E(end_vec))(((E(end_mask))v & more) | ((E(end_mask))most[k] & ~more));
        }
    }
    for (; i < n; i++) {
        nan |= NO_NUMBER(x[i]);
        low = x[i] < low ? x[i] : low;
        high = x[i] > high ? x[i] : high;
    }
    TN_UNROLL
    for (int k = 0; k < E(SIDES); k++) {
        TN_UNROLL
        for (int j = 0; j < (int)E(ENDS); j++) {
            nan |= bad[k][j] != 0;
            low = least[k][j] < low ? least[k][j] : low;
            high = most[k][j] > high ? most[k][j] : high;
        }
    }
    for (i = 0; nan && !NO_NUMBER(x[i]); i++)
        ;
    ((T *)ends)[0] = nan ? x[i] : low;
    ((T *)ends)[1] = nan ? x[i] : high;
}
#undef NO_NUMBER

#if TN_IS_F32
/* By their bits as a number, with those of what is below zero turned: -0 is less than 0. */
static void extremes_half(uint16_t ends[2], const uint16_t *x, int64_t n, uint16_t infinity)
{
    int16_t low = INT16_MAX, high = INT16_MIN, far = 0;
    int64_t i = 0;
    for (; i < n; i++) {
        const int16_t bits = (int16_t)x[i], size = bits & 0x7fff, key = (int16_t)(bits ^ (bits >> 15 & 0x7fff));
        low = key < low ? key : low;
        high = key > high ? key : high;
        far = size > far ? size : far;
    }
    ends[0] = (uint16_t)(low ^ (low >> 15 & 0x7fff));
    ends[1] = (uint16_t)(high ^ (high >> 15 & 0x7fff));
    for (i = 0; far > infinity && (x[i] & 0x7fff) <= infinity; i++)
        ;
    if (far > infinity)
        ends[0] = ends[1] = x[i];
}
#endif

static RUN E(run_any)(const void *x_, int64_t n)
{
    const T *x = x_;
    int64_t i = 0;
    for (; i + 64 <= n; i += 64) {
        int32_t more = 0;
        for (int k = 0; k < 64; k++)
            more |= x[i + k] != 0;
        if (more)
            return 1;
    }
    for (; i < n; i++)
        if (x[i] != 0)
            return 1;
    return 0;
}

static RUN E(run_all)(const void *x, int64_t n)
{
    return !E(has_zero)(x, n);
}
#undef RUN

#define FOLD(name, expr) \
    static void E(fold_##name)(void *acc_, const void *x_, int64_t n) \
    { \
        T *acc = acc_; \
        const T *x = x_; \
        for (int64_t i = 0; i < n; i++) { \
            T a = acc[i], v = x[i]; \
            acc[i] = (T)(expr); \
        } \
    } \
    static inline T E(pair_##name)(T a, T v) \
    { \
        return (T)(expr); \
    } \
    static void E(fold4_##name)(void *acc_, const void *x_, int64_t stride, int64_t n) \
    { \
        T *acc = acc_; \
        const T *x = x_, *y = x + stride, *z = y + stride, *w = z + stride; \
        for (int64_t i = 0; i < n; i++) \
            acc[i] = E(pair_##name)(acc[i], E(pair_##name)(E(pair_##name)(x[i], y[i]), E(pair_##name)(z[i], w[i]))); \
    }

FOLD(sum, TN_ADD(a, v))
FOLD(prod, TN_MUL(a, v))
FOLD(max, TN_MAXIMUM(a, v))
FOLD(min, TN_MINIMUM(a, v))
FOLD(any, (a != 0) | (v != 0))
FOLD(all, (a != 0) & (v != 0))
#undef FOLD
