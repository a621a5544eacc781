/* ops/norm/cpu_columns.inc.h: rows that lie side by side, brought to their scales as they lie, a line of memory after the other.
 * Sums are of differences to each row's first number, in double. */
/* Rows at once; of those that are loaded: four lines of them lie in L1, too; lines that are asked for ahead. */
enum { E(STRIP) = 1024, E(LOADED) = 512, E(AHEAD) = 8 };

typedef struct E(strip) {
    int64_t at, width; /* the first row, how many */
    T mean[E(STRIP)], scale[E(STRIP)];
    bool fixed[E(STRIP)]; /* the scale is not the row's own, but 1 / eps */
} E(strip);

/* Line i of x, or of g, where it lies, or loaded to 'to'. A line that follows soon is asked for: no hardware looks ahead beyond a
 * page. */
static inline const T *E(line_of)(const tn__norm_columns *c, const E(strip) * s, const void *x, int64_t i, T *to)
{
    const int64_t first = i * c->pitch + s->at, ahead = i + E(AHEAD) < c->n ? E(AHEAD) * c->pitch : 0;
    for (int64_t k = 0; c->pitch > s->width && ahead && k < s->width * c->size; k += 64)
        __builtin_prefetch((const char *)x + (first + ahead) * c->size + k);
    if (!c->load)
        return (const T *)x + first;
    c->load(to, (const char *)x + first * c->size, 1, s->width);
    return to;
}

/* Where line i of the result is computed, and how it comes to its place. */
static inline T *E(line_to)(const tn__norm_columns *c, const E(strip) * s, int64_t i, T *line)
{
    return c->past || c->load ? line : (T *)c->out + i * c->pitch + s->at;
}

static inline void E(put_line)(const tn__norm_columns *c, const E(strip) * s, int64_t i, const T *line)
{
    void *to = (char *)c->out + (i * c->pitch + s->at) * c->size;
    if (c->load)
        c->store(to, 1, line, s->width);
    else if (c->past)
        stream(to, line, (size_t)s->width * sizeof(T));
}

/* A number's difference to the first one of its row, and sums of four: in double; of numbers that have 16 bits, as T. */
static inline __attribute__((always_inline)) void E(add_four)(double *restrict sum, double *restrict square,
                                                              const double *restrict first, const T *a, const T *b,
                                                              const T *c, const T *d, int64_t width, bool narrow)
{
    for (int64_t j = 0; j < width; j++) {
        if (narrow) {
            const T f = (T)first[j], p = a[j] - f, q = b[j] - f, r = c[j] - f, s = d[j] - f;
            sum[j] += (double)((p + q) + (r + s));
            square[j] += (double)((p * p + q * q) + (r * r + s * s));
            continue;
        }
        const double f = first[j], p = (double)a[j] - f, q = (double)b[j] - f, r = (double)c[j] - f,
                     s = (double)d[j] - f;
        sum[j] += (p + q) + (r + s);
        square[j] += (p * p + q * q) + (r * r + s * s);
    }
}

/* Four lines at once: each sum is loaded and stored a quarter as often. */
static void E(strip_sums)(const tn__norm_columns *c, const E(strip) * s, double *restrict sum, double *restrict square,
                          const double *restrict first)
{
    T lines[4 * E(LOADED)];
    const T *x[4];
    int64_t i = 0;
    for (; i + 4 <= c->n; i += 4) {
        for (int k = 0; k < 4; k++)
            x[k] = E(line_of)(c, s, c->x, i + k, lines + k * E(LOADED));
        if (c->load)
            E(add_four)(sum, square, first, x[0], x[1], x[2], x[3], s->width, true);
        else
            E(add_four)(sum, square, first, x[0], x[1], x[2], x[3], s->width, false);
    }
    for (; i < c->n; i++) {
        x[0] = E(line_of)(c, s, c->x, i, lines);
        for (int64_t j = 0; j < s->width; j++) {
            const double v = (double)x[0][j] - first[j];
            sum[j] += v;
            square[j] += v * v;
        }
    }
}

static void E(measure_strip)(const tn__norm_columns *c, E(strip) * s)
{
    double first[E(STRIP)], sum[E(STRIP)], square[E(STRIP)]; /* only width of them are touched */
    T line[E(STRIP)];
    const bool centred = c->kind == TN__BY_VARIANCE;
    const double n = (double)c->n;
    const T *x = E(line_of)(c, s, c->x, 0, line);
    for (int64_t j = 0; j < s->width; j++)
        first[j] = centred ? (double)x[j] : 0, sum[j] = square[j] = 0;
    E(strip_sums)(c, s, sum, square, first);
    for (int64_t j = 0; j < s->width; j++) {
        const double mean = centred ? sum[j] / n : 0, left = square[j] - (centred ? sum[j] * mean : 0);
        const double rest = left < 0 ? 0 : left, root = sqrt(rest);
        s->mean[j] = (T)(first[j] + mean);
        s->fixed[j] = c->kind == TN__BY_NORM && root < c->eps;
        s->scale[j] = (T)(c->kind == TN__BY_NORM ? 1 / (root < c->eps ? c->eps : root) : 1 / sqrt(rest / n + c->eps));
    }
}

static int64_t E(strip_width)(const tn__norm_columns *c, int64_t at)
{
    const int64_t most = c->load ? E(LOADED) : E(STRIP);
    return c->width - at < most ? c->width - at : most;
}

static void E(standardize_columns)(const tn__norm_columns *c)
{
    const T *weight = c->weight, *bias = c->bias;
    T loaded[E(LOADED)], line[E(STRIP)];
    E(strip) s;
    for (s.at = 0; s.at < c->width; s.at += s.width) {
        s.width = E(strip_width)(c, s.at);
        E(measure_strip)(c, &s);
        for (int64_t i = 0; i < c->n; i++) {
            const T *x = E(line_of)(c, &s, c->x, i, loaded), w = weight ? weight[i] : 1, b = bias ? bias[i] : 0;
            T *to = E(line_to)(c, &s, i, line);
            if (bias)
                for (int64_t j = 0; j < s.width; j++)
                    to[j] = (x[j] - s.mean[j]) * s.scale[j] * w + b;
            else
                for (int64_t j = 0; j < s.width; j++)
                    to[j] = (x[j] - s.mean[j]) * s.scale[j] * w;
            E(put_line)(c, &s, i, to);
        }
    }
}

/* Two lines: their sums, and those of their products with the standardized numbers. */
static inline __attribute__((always_inline)) void E(add_two)(double *restrict sum, double *restrict dot,
                                                             const E(strip) * s, const T *g, const T *x, const T *g2,
                                                             const T *x2, T w, T w2)
{
    for (int64_t j = 0; j < s->width; j++) {
        const T v = g[j] * w, v2 = g2[j] * w2, mean = s->mean[j], scale = s->scale[j];
        sum[j] += (double)(v + v2);
        dot[j] += (double)(v * ((x[j] - mean) * scale) + v2 * ((x2[j] - mean) * scale));
    }
}

/* Of each row what its gradient loses: 'each' everywhere, 'along' times the standardized number. */
static void E(strip_losses)(const tn__norm_columns *c, const E(strip) * s, T *restrict each, T *restrict along)
{
    T loaded[4][E(LOADED)];
    double dot[E(STRIP)], sum[E(STRIP)];
    const T *weight = c->weight;
    for (int64_t j = 0; j < s->width; j++)
        dot[j] = sum[j] = 0;
    for (int64_t i = 0; i < c->n; i += 2) {
        const int64_t k = i + 1 < c->n ? i + 1 : i;
        const T *x = E(line_of)(c, s, c->x, i, loaded[0]), *g = E(line_of)(c, s, c->g, i, loaded[1]);
        const T *x2 = E(line_of)(c, s, c->x, k, loaded[2]), *g2 = E(line_of)(c, s, c->g, k, loaded[3]);
        E(add_two)(sum, dot, s, g, x, g2, x2, weight ? weight[i] : 1, k == i ? 0 : weight ? weight[k] : 1);
    }
    for (int64_t j = 0; j < s->width; j++) {
        each[j] = (T)(c->kind == TN__BY_VARIANCE ? sum[j] / (double)c->n : 0);
        along[j] = (T)(s->fixed[j] ? 0 : c->kind == TN__BY_NORM ? dot[j] : dot[j] / (double)c->n);
    }
}

/* As standardize_back (cpu_loops.inc.h). */
static void E(standardize_columns_backward)(const tn__norm_columns *c)
{
    const T *weight = c->weight;
    T each[E(STRIP)], along[E(STRIP)], loaded[2][E(LOADED)], line[E(STRIP)];
    E(strip) s;
    for (s.at = 0; s.at < c->width; s.at += s.width) {
        s.width = E(strip_width)(c, s.at);
        E(measure_strip)(c, &s);
        E(strip_losses)(c, &s, each, along);
        for (int64_t i = 0; i < c->n; i++) {
            const T *x = E(line_of)(c, &s, c->x, i, loaded[0]), *g = E(line_of)(c, &s, c->g, i, loaded[1]);
            const T w = weight ? weight[i] : 1;
            T *to = E(line_to)(c, &s, i, line);
            for (int64_t j = 0; j < s.width; j++)
                to[j] = s.scale[j] * (g[j] * w - each[j] - (x[j] - s.mean[j]) * s.scale[j] * along[j]);
            E(put_line)(c, &s, i, to);
        }
    }
}
