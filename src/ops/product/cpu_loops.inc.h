/* ops/product/cpu_loops.inc.h: tiles of p-distances between rows, and their slopes. A tile adds up along the rows in one
 * order, so results do not depend on threads nor on the instruction set. */
#define LOOPS_product \
    { \
        .distances = TWO(distances), .distance_slope = TWO(distance_slope), .euclidean_slopes = TWO(euclidean_slopes) \
    }

#if TN_IS_FLOAT

/* a register, and the same anywhere in memory */
typedef T E(far_vec) __attribute__((vector_size(TN_REGISTER)));
typedef T E(far_any) __attribute__((vector_size(TN_REGISTER), aligned(sizeof(T)), may_alias));
typedef UT E(far_bits) __attribute__((vector_size(TN_REGISTER)));

typedef enum E(far_kind) { E(FAR_COUNT), E(FAR_ONE), E(FAR_TWO), E(FAR_MOST), E(FAR_WHOLE), E(FAR_POWER) } E(far_kind);

enum { E(FAR_LANES) = TN_REGISTER / sizeof(T), E(FAR_WIDTH) = 64 / sizeof(T), E(FAR_PARTS) = 64 / TN_REGISTER };

/* Adds differences to distances that grow. */
static inline __attribute__((always_inline)) void E(far_add)(const E(far_kind) kind, E(far_vec) * sum,
                                                             const E(far_vec) d, T p)
{
    const E(far_vec) none = {0};
    if (kind == E(FAR_TWO)) {
        *sum += d * d;
        return;
    }
    if (kind == E(FAR_COUNT)) {
        *sum += (E(far_vec))((E(far_bits))(d != none) & (E(far_bits))(none + K(1)));
        return;
    }
    const E(far_vec) size = (E(far_vec))((E(far_bits))d & (((E(far_bits)){0} - 1) >> 1));
    if (kind == E(FAR_ONE)) {
        *sum += size;
    } else if (kind == E(FAR_MOST)) { /* NaN is more than all */
        const E(far_bits) more = (E(far_bits))(size > *sum) | (E(far_bits))(size != size);
        *sum = (E(far_vec))((more & (E(far_bits))size) | (~more & (E(far_bits)) * sum));
    } else if (kind == E(FAR_WHOLE)) { /* a whole power, from 3 on */
        E(far_vec) power = size * size;
        for (int i = 2; i < (int)p; i++)
            power *= size;
        *sum += power;
    } else {
        T each[E(FAR_LANES)];
        *(E(far_any) *)each = size;
        for (int i = 0; i < E(FAR_LANES); i++)
            each[i] = M(pow)(each[i], p);
        *sum += *(const E(far_any) *)each;
    }
}

static inline __attribute__((always_inline)) void E(far_tile)(const E(far_kind) kind, void *out, const T *a,
                                                              int64_t lda, const T *b, int64_t m, T p)
{
    E(far_vec) sum[TN__FAR_ROWS][E(FAR_PARTS)];
    TN_UNROLL
    for (int r = 0; r < TN__FAR_ROWS; r++) {
        TN_UNROLL
        for (int v = 0; v < E(FAR_PARTS); v++)
            sum[r][v] = (E(far_vec)){0};
    }
    for (int64_t k = 0; k < m; k++, b += E(FAR_WIDTH)) {
        TN_UNROLL
        for (int v = 0; v < E(FAR_PARTS); v++) {
            const E(far_vec) column = *(const E(far_any) *)(b + v * E(FAR_LANES));
            TN_UNROLL
            for (int r = 0; r < TN__FAR_ROWS; r++)
                E(far_add)(kind, &sum[r][v], a[r * lda + k] - column, p);
        }
    }
    TN_UNROLL
    for (int r = 0; r < TN__FAR_ROWS; r++) {
        TN_UNROLL
        for (int v = 0; v < E(FAR_PARTS); v++)
            *(E(far_any) *)((T *)out + r * E(FAR_WIDTH) + v * E(FAR_LANES)) = sum[r][v];
    }
}

static void E(distances)(void *out_, const void *a, int64_t lda, const void *b, int64_t m, double p)
{
    const int n = TN__FAR_ROWS * E(FAR_WIDTH);
    T *out = out_;
    if (p == 0) {
        E(far_tile)(E(FAR_COUNT), out, a, lda, b, m, K(0));
    } else if (p == 1) {
        E(far_tile)(E(FAR_ONE), out, a, lda, b, m, K(1));
    } else if (p == 2) {
        E(far_tile)(E(FAR_TWO), out, a, lda, b, m, K(2));
        for (int i = 0; i < n; i++)
            out[i] = M(sqrt)(out[i]);
    } else if (isinf(p)) {
        E(far_tile)(E(FAR_MOST), out, a, lda, b, m, K(0));
    } else {
        if (p >= 3 && p <= 8 && p == (int)p)
            E(far_tile)(E(FAR_WHOLE), out, a, lda, b, m, (T)p);
        else
            E(far_tile)(E(FAR_POWER), out, a, lda, b, m, (T)p);
        for (int i = 0; i < n; i++)
            out[i] = M(pow)(out[i], (T)(1 / p));
    }
}

static void E(euclidean_slopes)(void *out_, const void *x_, const void *turned_, int64_t ld, int64_t n, int64_t m,
                                const void *each_)
{
    T *out = out_;
    const T *x = x_, *turned = turned_, *each = each_;
    for (int64_t k = 0; k < m; k++, turned += ld) {
        E(far_vec) sum[E(FAR_PARTS)];
        int64_t c = 0;
        TN_UNROLL
        for (int v = 0; v < E(FAR_PARTS); v++)
            sum[v] = (E(far_vec)){0};
        for (; c + E(FAR_WIDTH) <= n; c += E(FAR_WIDTH)) {
            TN_UNROLL
            for (int v = 0; v < E(FAR_PARTS); v++)
                sum[v] += *(const E(far_any) *)(each + c + v * E(FAR_LANES)) *
                          (x[k] - *(const E(far_any) *)(turned + c + v * E(FAR_LANES)));
        }
        T lane[E(FAR_WIDTH)], total = 0;
        TN_UNROLL
        for (int v = 0; v < E(FAR_PARTS); v++)
            *(E(far_any) *)(lane + v * E(FAR_LANES)) = sum[v];
        for (int i = 0; i < E(FAR_WIDTH); i++)
            total += lane[i];
        for (; c < n; c++)
            total += each[c] * (x[k] - turned[c]);
        out[k] += total;
    }
}

/* Slopes, as PyTorch has them: 0 where a distance is 0, and where the difference is, for p < 1. */
static void E(distance_slope)(void *out_, const void *x_, const void *y_, int64_t m, double w_, double distance,
                              double p)
{
    T *restrict out = out_;
    const T *x = x_, *y = y_, far = (T)distance, w = (T)w_;
    if (p == 0 || w == 0 || (distance == 0 && p != 1))
        return;
    if (p == 1) {
        for (int64_t k = 0; k < m; k++) {
            const T d = x[k] - y[k];
            out[k] += (d > 0 ? w : K(0)) - (d < 0 ? w : K(0));
        }
    } else if (p == 2) {
        const T each = w / far;
        for (int64_t k = 0; k < m; k++)
            out[k] += (x[k] - y[k]) * each;
    } else if (isinf(p)) {
        for (int64_t k = 0; k < m; k++) {
            const T d = x[k] - y[k];
            out[k] += (d == far ? w : K(0)) - (d == -far ? w : K(0));
        }
    } else {
        const T each = w / M(pow)(far, (T)(p - 1)), q = (T)(p - 1);
        for (int64_t k = 0; k < m; k++) {
            const T d = x[k] - y[k], slope = M(pow)(M(fabs)(d), q) * each;
            out[k] += (d > 0 ? slope : K(0)) - (d < 0 ? slope : K(0));
        }
    }
}

#endif
