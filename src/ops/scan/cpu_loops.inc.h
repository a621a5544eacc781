/* ops/scan/cpu_loops.inc.h: running sums, products, logarithms of sums of powers, and extremes. */
#define SCAN_LOOPS(kind) \
    { \
        [TN__SCAN_SUM] = FOUR(scan_sum_##kind), [TN__SCAN_PRODUCT] = FOUR(scan_product_##kind), \
        [TN__SCAN_LOGSUM] = TWO(scan_logsum_##kind), [TN__SCAN_MAX] = FOUR(scan_max_##kind), \
        [TN__SCAN_MIN] = FOUR(scan_min_##kind) \
    }
#define LOOPS_scan \
    { \
        .row = SCAN_LOOPS(row), .columns = SCAN_LOOPS(columns) \
    }

/* ---- sums and products: floats in double; integers wrap ---- */

#if TN_IS_FLOAT
#define RUNNING double
#else
#define RUNNING UT
#endif

#define SCAN_ROW(name, first, op) \
    static void E(name##_row)(void *a, void *b, void *out_, int64_t *index, const void *x_, int64_t n, int64_t step, \
                              int64_t lines) \
    { \
        RUNNING s = step ? *(RUNNING *)a : (RUNNING)(first); \
        T *out = out_; \
        const T *x = x_; \
        (void)b, (void)index, (void)lines; \
        for (int64_t i = 0; i < n; i++) \
            out[i] = (T)(s = s op(RUNNING) x[i]); \
        *(RUNNING *)a = s; \
    }
#define SCAN_COLUMNS(name, first, op) \
    ALWAYS void E(name##_lines)(RUNNING *restrict s, T *restrict out, const T *restrict x, int64_t n, int64_t lines) \
    { \
        for (; lines-- > 0; x += n, out += n) \
            for (int64_t i = 0; i < n; i++) { \
                s[i] = s[i] op(RUNNING) x[i]; \
                out[i] = (T)s[i]; \
            } \
    } \
    static void E(name##_columns)(void *a, void *b, void *out, int64_t *index, const void *x, int64_t n, int64_t step, \
                                  int64_t lines) \
    { \
        RUNNING *s = a; \
        (void)b, (void)index; \
        for (int64_t i = 0; step == 0 && i < n; i++) \
            s[i] = (RUNNING)(first); \
        E(name##_lines)(s, out, x, n, lines); \
    }
SCAN_ROW(scan_sum, 0, +)
SCAN_ROW(scan_product, 1, *)
SCAN_COLUMNS(scan_sum, 0, +)
SCAN_COLUMNS(scan_product, 1, *)
#undef SCAN_ROW
#undef SCAN_COLUMNS

/* ---- logarithms of sums of powers ---- */

#if TN_IS_FLOAT

/* s e^m + e^x = s' e^m' with m' the larger of m and x, so that no power is above 1. Equal infinities have no difference. */
#define LOGSUM_ADD(s, m, x) \
    const T e_ = M(exp)((x) == (m) ? K(0) : -M(fabs)((x) - (m))); \
    (s) = (x) > (m) ? (s) * (double)e_ + 1 : (s) + (double)e_; \
    (m) = (x) > (m) ? (x) : (m)

static void E(scan_logsum_columns)(void *a, void *b, void *out_, int64_t *index, const void *x_, int64_t n,
                                   int64_t step, int64_t lines)
{
    double *restrict s = a;
    T *restrict m = b, *restrict out = out_;
    const T *restrict x = x_;
    (void)index;
    for (int64_t i = 0; step == 0 && i < n; i++) {
        s[i] = 0;
        m[i] = -TN_INFINITY;
    }
    for (; lines-- > 0; x += n, out += n)
        for (int64_t i = 0; i < n; i++) {
            LOGSUM_ADD(s[i], m[i], x[i]);
            out[i] = m[i] + M(log)((T)s[i]);
        }
}

/* Elements of a block share their m where all are finite and none so small beside it that its power would lose digits. */
static void E(scan_logsum_row)(void *a, void *b, void *out_, int64_t *index, const void *x_, int64_t n, int64_t step,
                               int64_t lines)
{
    enum { PIECE = 64 };
    double s = step ? *(double *)a : 0;
    T m = step ? *(T *)b : -TN_INFINITY, *out = out_;
    const T *x = x_;
    (void)index, (void)lines;
    for (int64_t i = 0; i < n; i += PIECE) {
        const int64_t len = n - i < PIECE ? n - i : PIECE;
        T most = m > -TN_INFINITY ? m : x[i], least = x[i], power[PIECE], sums[PIECE];
        int apart = !(s >= 0);
        for (int64_t k = 0; k < len; k++) {
            most = x[i + k] > most ? x[i + k] : most;
            least = x[i + k] < least ? x[i + k] : least;
            apart |= !(M(fabs)(x[i + k]) < TN_INFINITY);
        }
        if (apart || !(most - least < 64)) {
            for (int64_t k = 0; k < len; k++) {
                LOGSUM_ADD(s, m, x[i + k]);
                out[i + k] = m + M(log)((T)s);
            }
            continue;
        }
        for (int64_t k = 0; k < len; k++)
            power[k] = M(exp)(x[i + k] - most);
        s = s > 0 ? s * (double)M(exp)(m - most) : 0;
        m = most;
        for (int64_t k = 0; k < len; k++)
            sums[k] = (T)(s += (double)power[k]);
        for (int64_t k = 0; k < len; k++)
            out[i + k] = m + M(log)(sums[k]);
    }
    *(double *)a = s;
    *(T *)b = m;
}
#undef LOGSUM_ADD
#endif

/* ---- extremes: the last of equals; NaN takes the place of everything, and of NaN before it ---- */

#if TN_IS_FLOAT
#define TAKES(x, cmp, best) (((x)cmp(best)) | ((x) != (x)))
#else
#define TAKES(x, cmp, best) ((x)cmp(best))
#endif

/* Most elements of a long row are no new extreme: PIECE of them are looked at together. */
#define SCAN_EXTREME(name, cmp) \
    static void E(name##_one)(T * best, int64_t * at, T * out, int64_t * index, const T *x, int64_t n, int64_t step) \
    { \
        for (int64_t i = 0; i < n; i++) { \
            const int takes = TAKES(x[i], cmp, *best); \
            *best = takes ? x[i] : *best; \
            *at = takes ? step + i : *at; \
            out[i] = *best; \
            index[i] = *at; \
        } \
    } \
    static void E(name##_row)(void *a, void *b, void *out, int64_t *index, const void *x_, int64_t n, int64_t step, \
                              int64_t lines) \
    { \
        enum { PIECE = 32 }; \
        const T *x = x_; \
        T best = step ? *(T *)a : x[0], *to = out; \
        int64_t at = step ? *(int64_t *)b : 0, i = 0; \
        (void)lines; \
        for (; i + PIECE <= n; i += PIECE) { \
            int any = 0; \
            for (int k = 0; k < PIECE; k++) \
                any |= TAKES(x[i + k], cmp, best); \
            if (any) { \
                E(name##_one)(&best, &at, to + i, index + i, x + i, PIECE, step + i); \
                continue; \
            } \
            for (int k = 0; k < PIECE; k++) { \
                to[i + k] = best; \
                index[i + k] = at; \
            } \
        } \
        E(name##_one)(&best, &at, to + i, index + i, x + i, n - i, step + i); \
        *(T *)a = best; \
        *(int64_t *)b = at; \
    } \
    ALWAYS void E(name##_lines)(T *restrict best, int64_t *restrict at, T *restrict out, int64_t *restrict index, \
                                const T *restrict x, int64_t n, int64_t step, int64_t lines) \
    { \
        for (; lines-- > 0; x += n, out += n, index += n, step++) \
            for (int64_t i = 0; i < n; i++) { \
                const int takes = TAKES(x[i], cmp, best[i]); \
                best[i] = takes ? x[i] : best[i]; \
                at[i] = takes ? step : at[i]; \
                out[i] = best[i]; \
                index[i] = at[i]; \
            } \
    } \
    static void E(name##_columns)(void *a, void *b, void *out, int64_t *index, const void *x, int64_t n, int64_t step, \
                                  int64_t lines) \
    { \
        T *best = a; \
        int64_t *at = b; \
        for (int64_t i = 0; step == 0 && i < n; i++) { \
            best[i] = ((const T *)x)[i]; \
            at[i] = 0; \
        } \
        E(name##_lines)(best, at, out, index, x, n, step, lines); \
    }
/* clang-format off */
SCAN_EXTREME(scan_max, >=)
SCAN_EXTREME(scan_min, <=)
/* clang-format on */
#undef SCAN_EXTREME
#undef TAKES
#undef RUNNING
