/* ops/softmax/cpu_columns.inc.h: many long rows that lie side by side, as they lie: a strip of them is read twice, line by line,
 * the second time from a cache where it fits one. The maxima so far are subtracted; sums follow them. */
#include <float.h>

/* Rows at once, lines at once. */
enum { E(STRIP_ROWS) = 512, E(STRIP_LINES) = 4, E(STRIP_AHEAD) = 8 };

/* The strip's line i, where it lies, or loaded to 'to'. A line that follows soon is asked for: no hardware looks ahead beyond a
 * page. */
static inline const T *E(strip_line)(const tn__softmax_columns *c, const void *x, int64_t i, int64_t at, int64_t width,
                                     T *to)
{
    const char *line = (const char *)x + (i * c->pitch + at) * c->size;
    if (i + E(STRIP_AHEAD) < c->n)
        for (int64_t k = 0; k < width * c->size; k += 64)
            __builtin_prefetch(line + E(STRIP_AHEAD) * c->pitch * c->size + k);
    if (!c->load)
        return (const T *)(const void *)line;
    c->load(to, line, 1, width);
    return to;
}

static inline T *E(strip_result)(const tn__softmax_columns *c, int64_t i, int64_t at, T *line)
{
    return c->past || c->load ? line : (T *)c->out + i * c->pitch + at;
}

static inline void E(put_strip)(const tn__softmax_columns *c, int64_t i, int64_t at, int64_t width, const T *line)
{
    char *to = (char *)c->out + (i * c->pitch + at) * c->size;
    if (c->load)
        c->store(to, 1, line, width);
    else if (c->past)
        stream(to, line, (size_t)width * sizeof(T));
}

/* NaN is never it: the sum becomes NaN by what is subtracted from. */
#define LARGER_OF(a, b) ((b) > (a) ? (b) : (a))

static inline void E(follow_four)(T *restrict most, T *restrict sum, const T *a, const T *b, const T *c, const T *d,
                                  int64_t width)
{
    for (int64_t w = 0; w < width; w++) {
        const T was = most[w], x0 = a[w], x1 = b[w], x2 = c[w], x3 = d[w];
        const T p = LARGER_OF(x0, x1), q = LARGER_OF(x2, x3), r = LARGER_OF(p, q), m = LARGER_OF(was, r);
        most[w] = m;
        sum[w] = sum[w] * M(exp_down)(was - m) +
                 ((M(exp_down)(x0 - m) + M(exp_down)(x1 - m)) + (M(exp_down)(x2 - m) + M(exp_down)(x3 - m)));
    }
}

static inline void E(follow_one)(T *restrict most, T *restrict sum, const T *a, int64_t width)
{
    for (int64_t w = 0; w < width; w++) {
        const T was = most[w], x = a[w], m = LARGER_OF(was, x);
        most[w] = m;
        sum[w] = sum[w] * M(exp_down)(was - m) + M(exp_down)(x - m);
    }
}
#undef LARGER_OF

/* Of each row the largest element, and the sum of what is left when it is subtracted. It begins with the least finite number:
 * -inf less -inf would be NaN, and of a row of nothing else the quotient is. */
static void E(measure_rows)(const tn__softmax_columns *c, int64_t at, int64_t width, T *most, T *sum)
{
    T loaded[E(STRIP_LINES)][E(STRIP_ROWS)];
    const T *x[E(STRIP_LINES)];
    int64_t i = 0;
    for (int64_t w = 0; w < width; w++)
        most[w] = -FLT_MAX, sum[w] = 0;
    for (; i + E(STRIP_LINES) <= c->n; i += E(STRIP_LINES)) {
        for (int k = 0; k < E(STRIP_LINES); k++)
            x[k] = E(strip_line)(c, c->a, i + k, at, width, loaded[k]);
        E(follow_four)(most, sum, x[0], x[1], x[2], x[3], width);
    }
    for (; i < c->n; i++)
        E(follow_one)(most, sum, E(strip_line)(c, c->a, i, at, width, loaded[0]), width);
}

static void E(softmax_columns)(const tn__softmax_columns *c)
{
    T most[E(STRIP_ROWS)], sum[E(STRIP_ROWS)], loaded[E(STRIP_ROWS)], line[E(STRIP_ROWS)];
    for (int64_t at = 0, width; at < c->width; at += width) {
        width = c->width - at < E(STRIP_ROWS) ? c->width - at : E(STRIP_ROWS);
        E(measure_rows)(c, at, width, most, sum);
        for (int64_t w = 0; w < width; w++)
            sum[w] = c->log ? M(log)(sum[w]) : 1 / sum[w];
        for (int64_t i = 0; i < c->n; i++) {
            const T *x = E(strip_line)(c, c->a, i, at, width, loaded);
            T *to = E(strip_result)(c, i, at, line);
            if (c->log)
                for (int64_t w = 0; w < width; w++)
                    to[w] = x[w] - most[w] - sum[w];
            else
                for (int64_t w = 0; w < width; w++)
                    to[w] = M(exp_down)(x[w] - most[w]) * sum[w];
            E(put_strip)(c, i, at, width, to);
        }
    }
}

/* Of each row the sum of g, or of g * y. */
static void E(sum_rows)(const tn__softmax_columns *c, int64_t at, int64_t width, T *restrict sum)
{
    T loaded[2][E(STRIP_ROWS)], some[E(STRIP_ROWS)];
    memset(sum, 0, (size_t)width * sizeof(T));
    for (int64_t i = 0; i < c->n;) {
        memset(some, 0, (size_t)width * sizeof(T));
        for (int k = 0; k < E(SOFT_TERMS) && i < c->n; k++, i++) {
            const T *g = E(strip_line)(c, c->a, i, at, width, loaded[0]);
            const T *y = c->log ? g : E(strip_line)(c, c->b, i, at, width, loaded[1]);
            if (c->log)
                for (int64_t w = 0; w < width; w++)
                    some[w] += g[w];
            else
                for (int64_t w = 0; w < width; w++)
                    some[w] += g[w] * y[w];
        }
        for (int64_t w = 0; w < width; w++)
            sum[w] += some[w];
    }
}

static void E(softmax_columns_backward)(const tn__softmax_columns *c)
{
    T sum[E(STRIP_ROWS)], loaded[2][E(STRIP_ROWS)], line[E(STRIP_ROWS)];
    for (int64_t at = 0, width; at < c->width; at += width) {
        width = c->width - at < E(STRIP_ROWS) ? c->width - at : E(STRIP_ROWS);
        E(sum_rows)(c, at, width, sum);
        for (int64_t i = 0; i < c->n; i++) {
            const T *g = E(strip_line)(c, c->a, i, at, width, loaded[0]);
            const T *y = E(strip_line)(c, c->b, i, at, width, loaded[1]);
            T *to = E(strip_result)(c, i, at, line);
            if (c->log)
                for (int64_t w = 0; w < width; w++)
                    to[w] = g[w] - M(exp)(y[w]) * sum[w];
            else
                for (int64_t w = 0; w < width; w++)
                    to[w] = y[w] * (g[w] - sum[w]);
            E(put_strip)(c, i, at, width, to);
        }
    }
}
