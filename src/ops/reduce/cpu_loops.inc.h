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
        .fold4 = EACH_REDUCTION(FOLD4_FOUR) \
    }

#if TN_IS_FLOAT
#if TN_IS_F32
#define VEC  vf32
#define UVEC uf32
#define IVEC vi32
#else
#define VEC  vf64
#define UVEC uf64
#define IVEC vi64
#endif
enum { E(LANES) = 64 / sizeof(T), E(PIECE) = 16 * 4 * (64 / sizeof(T)) };

/* A piece: 16 additions in each of 4 vectors, then a tree: rounding grows with the logarithm. Pieces add up in double,
 * lane by lane. */
static inline void E(sum_piece)(double *lane, const T *x)
{
    VEC a = {0}, b = {0}, c = {0}, d = {0};
    for (int i = 0; i < E(PIECE); i += 4 * E(LANES)) {
        a += *(const UVEC *)(x + i);
        b += *(const UVEC *)(x + i + E(LANES));
        c += *(const UVEC *)(x + i + 2 * E(LANES));
        d += *(const UVEC *)(x + i + 3 * E(LANES));
    }
    a = (a + b) + (c + d);
    for (int j = 0; j < E(LANES); j++)
        lane[j] += (double)a[j];
}

static double E(run_sum)(const void *x_, int64_t n)
{
    const T *x = x_;
    double s = 0, t = 0, lane[E(LANES)] = {0};
    bool pieces = n >= E(PIECE);
    for (; n >= E(PIECE); n -= E(PIECE), x += E(PIECE))
        E(sum_piece)(lane, x);
    for (int j = 0; pieces && j < E(LANES); j += 4)
        s += (lane[j] + lane[j + 1]) + (lane[j + 2] + lane[j + 3]);
    VEC a = {0};
    int64_t i = 0;
    for (; i + E(LANES) <= n; i += E(LANES))
        a += *(const UVEC *)(x + i);
    for (int j = 0; i && j < E(LANES); j++)
        t += (double)a[j];
    for (; i < n; i++)
        t += (double)x[i];
    return s + t;
}

/* Thirty-two products side by side: one waits for itself. */
static double E(run_prod)(const void *x_, int64_t n)
{
    const T *x = x_;
    double lane[32], p = 1;
    int64_t i = 0;
    for (int k = 0; k < 32; k++)
        lane[k] = 1;
    for (; i + 32 <= n; i += 32)
        for (int k = 0; k < 32; k++)
            lane[k] *= (double)x[i + k];
    for (int k = 0; i && k < 32; k++)
        p *= lane[k];
    for (; i < n; i++)
        p *= (double)x[i];
    return p;
}

/* Largest of a run, or of its negatives: min(x) = -max(-x). NaN if one is. Four chains, as one waits for itself. */
static inline T E(run_extreme)(const T *x, int64_t n, bool negate)
{
    T m = -TN_INFINITY;
    int64_t i = 0;
    bool nan = false;
    if (n >= 4 * E(LANES)) {
        VEC best[4], bad[4] = {0};
        for (int k = 0; k < 4; k++)
            for (int j = 0; j < E(LANES); j++)
                best[k][j] = m;
        for (; i + 4 * E(LANES) <= n; i += 4 * E(LANES))
            for (int k = 0; k < 4; k++) {
                VEC v = *(const UVEC *)(x + i + k * E(LANES));
                v = negate ? -v : v;
                bad[k] += v - v; /* NaN from NaN, and from infinities: looked at again below */
                IVEC more = v > best[k];
                best[k] = (VEC)(((IVEC)v & more) | ((IVEC)best[k] & ~more));
            }
        for (int k = 1; k < 4; k++) {
            IVEC more = best[k] > best[0];
            best[0] = (VEC)(((IVEC)best[k] & more) | ((IVEC)best[0] & ~more));
            bad[0] += bad[k];
        }
        for (int j = 0; j < E(LANES); j++) {
            m = best[0][j] > m ? best[0][j] : m;
            nan |= bad[0][j] != bad[0][j];
        }
        for (int64_t k = 0; nan && k < i; k++)
            if (x[k] != x[k])
                return x[k];
    }
    for (; i < n; i++) {
        T v = negate ? -x[i] : x[i];
        if (v != v)
            return v;
        m = v > m ? v : m;
    }
    return m;
}

static double E(run_max)(const void *x, int64_t n)
{
    return (double)E(run_extreme)(x, n, false);
}

static double E(run_min)(const void *x, int64_t n)
{
    return -(double)E(run_extreme)(x, n, true);
}

#undef VEC
#undef UVEC
#undef IVEC
#define RUN double
#else
#define RUN int64_t

static int64_t E(run_sum)(const void *x_, int64_t n)
{
    const T *x = x_;
    UT s = 0;
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
