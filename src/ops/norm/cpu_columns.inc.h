/* ops/norm/cpu_columns.inc.h: rows that lie side by side, brought to their scales as they lie, a line of memory after the other.
 * Sums are of differences to each row's first number, in double. */
enum { E(STRIP) = 1024 }; /* rows at once */

typedef struct E(strip) {
    T mean[E(STRIP)], scale[E(STRIP)];
    bool fixed[E(STRIP)]; /* the scale is not the row's own, but 1 / eps */
} E(strip);

/* Four lines at once: each sum is loaded and stored a quarter as often. */
static void E(strip_sums)(double *sum, double *square, const double *first, const T *x, int64_t n, int64_t width,
                          int64_t pitch)
{
    int64_t i = 0;
    for (; i + 4 <= n; i += 4, x += 4 * pitch)
        for (int64_t j = 0; j < width; j++) {
            const double a = (double)x[j] - first[j], b = (double)x[j + pitch] - first[j],
                         c = (double)x[j + 2 * pitch] - first[j], d = (double)x[j + 3 * pitch] - first[j];
            sum[j] += (a + b) + (c + d);
            square[j] += (a * a + b * b) + (c * c + d * d);
        }
    for (; i < n; i++, x += pitch)
        for (int64_t j = 0; j < width; j++) {
            const double a = (double)x[j] - first[j];
            sum[j] += a;
            square[j] += a * a;
        }
}

static void E(measure_strip)(E(strip) * s, const T *x, int64_t n, int64_t width, int64_t pitch, int kind, double eps)
{
    double first[E(STRIP)], sum[E(STRIP)], square[E(STRIP)]; /* only width of them are touched */
    const bool centred = kind == TN__BY_VARIANCE;
    for (int64_t j = 0; j < width; j++)
        first[j] = centred ? (double)x[j] : 0, sum[j] = square[j] = 0;
    E(strip_sums)(sum, square, first, x, n, width, pitch);
    for (int64_t j = 0; j < width; j++) {
        const double mean = centred ? sum[j] / (double)n : 0, left = square[j] - (centred ? sum[j] * mean : 0);
        const double rest = left < 0 ? 0 : left, root = sqrt(rest);
        s->mean[j] = (T)(first[j] + mean);
        s->fixed[j] = kind == TN__BY_NORM && root < eps;
        s->scale[j] = (T)(kind == TN__BY_NORM ? 1 / (root < eps ? eps : root) : 1 / sqrt(rest / (double)n + eps));
    }
}

/* width rows of n numbers, pitch from one number of a row to the next; past: results go past the caches */
static void E(standardize_columns)(void *out_, const void *x_, int64_t n, int64_t width, int64_t pitch, int kind,
                                   double eps, bool past)
{
    for (int64_t begin = 0; begin < width; begin += E(STRIP)) {
        const int64_t w = width - begin < E(STRIP) ? width - begin : E(STRIP);
        const T *x = (const T *)x_ + begin;
        T *out = (T *)out_ + begin;
        E(strip) s;
        E(measure_strip)(&s, x, n, w, pitch, kind, eps);
        for (int64_t i = 0; i < n; i++, x += pitch, out += pitch) {
            T line[E(STRIP)], *to = past ? line : out;
            for (int64_t j = 0; j < w; j++)
                to[j] = (x[j] - s.mean[j]) * s.scale[j];
            if (past)
                stream(out, line, (size_t)w * sizeof(T));
        }
    }
}

/* As standardize_back (cpu_loops.inc.h). */
static void E(standardize_columns_backward)(void *out_, const void *g_, const void *x_, int64_t n, int64_t width,
                                            int64_t pitch, int kind, double eps, bool past)
{
    for (int64_t begin = 0; begin < width; begin += E(STRIP)) {
        const int64_t w = width - begin < E(STRIP) ? width - begin : E(STRIP);
        const T *x = (const T *)x_ + begin, *g = (const T *)g_ + begin;
        T *out = (T *)out_ + begin, each[E(STRIP)], along[E(STRIP)];
        double dot[E(STRIP)], sum[E(STRIP)];
        E(strip) s;
        E(measure_strip)(&s, x, n, w, pitch, kind, eps);
        for (int64_t j = 0; j < w; j++)
            dot[j] = sum[j] = 0;
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < w; j++) {
                const double v = (double)g[i * pitch + j];
                sum[j] += v;
                dot[j] += v * (double)((x[i * pitch + j] - s.mean[j]) * s.scale[j]);
            }
        for (int64_t j = 0; j < w; j++) {
            each[j] = (T)(kind == TN__BY_VARIANCE ? sum[j] / (double)n : 0);
            along[j] = (T)(s.fixed[j] ? 0 : kind == TN__BY_NORM ? dot[j] : dot[j] / (double)n);
        }
        for (int64_t i = 0; i < n; i++, x += pitch, g += pitch, out += pitch) {
            T line[E(STRIP)], *to = past ? line : out;
            for (int64_t j = 0; j < w; j++)
                to[j] = s.scale[j] * (g[j] - each[j] - (x[j] - s.mean[j]) * s.scale[j] * along[j]);
            if (past)
                stream(out, line, (size_t)w * sizeof(T));
        }
    }
}
