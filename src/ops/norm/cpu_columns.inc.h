/* ops/norm/cpu_columns.inc.h: rows that lie side by side, brought to their scales as they lie, a line of memory after the other.
 * Sums are of differences to each row's first number, in double. */
/* Rows at once; of those that are loaded: four lines of them lie in L1, too; lines that are asked for ahead; that are added up
 * at once, of bfloat16 and of others. Bfloat16 becomes floats in registers, and so do its results. */
enum { E(STRIP) = 1024, E(LOADED) = 512, E(AHEAD) = 8, E(MANY) = 8, E(FOUR) = 4 };

typedef struct E(strip) {
    int64_t at, width; /* the first row, how many */
    T mean[E(STRIP)], scale[E(STRIP)];
    bool fixed[E(STRIP)]; /* the scale is not the row's own, but 1 / eps */
} E(strip);

static inline __attribute__((always_inline)) T E(number)(const void *line, int64_t j, bool bfloats)
{
    return bfloats ? (T)bf16_f32(((const uint16_t *)line)[j]) : ((const T *)line)[j];
}

/* Line i of x, or of g, where it lies, or loaded to 'to'. A line that follows soon is asked for: no hardware looks ahead beyond a
 * page. */
static inline const void *E(line_of)(const tn__norm_columns *c, const E(strip) * s, const void *x, int64_t i, T *to)
{
    const int64_t first = i * c->pitch + s->at, ahead = i + E(AHEAD) < c->n ? E(AHEAD) * c->pitch : 0;
    for (int64_t k = 0; c->pitch > s->width && ahead && k < s->width * c->size; k += 64)
        __builtin_prefetch((const char *)x + (first + ahead) * c->size + k);
    if (!c->load || c->bfloats)
        return (const char *)x + first * c->size;
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

/* A number's difference to the first one of its row, and sums of some lines: in double; of numbers that have 16 bits, as T. */
static inline __attribute__((always_inline)) void E(add_lines)(double *restrict sum, double *restrict square,
                                                               const double *restrict first, const void *const *x,
                                                               int lines, int64_t width, bool narrow, bool bfloats)
{
    for (int64_t j = 0; j < width; j++) {
        T few[E(MANY)];
        double all[E(FOUR)];
        TN_UNROLL
        for (int k = 0; narrow && k < lines; k++)
            few[k] = E(number)(x[k], j, bfloats) - (T)first[j];
        TN_UNROLL
        for (int k = 0; !narrow && k < E(FOUR); k++)
            all[k] = (double)E(number)(x[k], j, false) - first[j];
        if (narrow) {
            T s = 0, q = 0;
            TN_UNROLL
            for (int k = 0; k < lines; k += 2)
                s += few[k] + few[k + 1], q += few[k] * few[k] + few[k + 1] * few[k + 1];
            sum[j] += (double)s;
            square[j] += (double)q;
        } else {
            sum[j] += (all[0] + all[1]) + (all[2] + all[3]);
            square[j] += (all[0] * all[0] + all[1] * all[1]) + (all[2] * all[2] + all[3] * all[3]);
        }
    }
}

/* Some lines at once: each sum is loaded and stored so much less often. */
static void E(strip_sums)(const tn__norm_columns *c, const E(strip) * s, double *restrict sum, double *restrict square,
                          const double *restrict first)
{
    T lines[E(FOUR) * E(LOADED)];
    const int many = c->bfloats ? E(MANY) : E(FOUR);
    const void *x[E(MANY)];
    int64_t i = 0;
    for (; i + many <= c->n; i += many) {
        for (int k = 0; k < many; k++)
            x[k] = E(line_of)(c, s, c->x, i + k, c->bfloats ? NULL : lines + k * E(LOADED));
        if (c->bfloats)
            E(add_lines)(sum, square, first, x, E(MANY), s->width, true, true);
        else if (c->load)
            E(add_lines)(sum, square, first, x, E(FOUR), s->width, true, false);
        else
            E(add_lines)(sum, square, first, x, E(FOUR), s->width, false, false);
    }
    for (; i < c->n; i++) {
        x[0] = E(line_of)(c, s, c->x, i, lines);
        for (int64_t j = 0; j < s->width; j++) {
            const double v = (double)E(number)(x[0], j, c->bfloats) - first[j];
            sum[j] += v;
            square[j] += v * v;
        }
    }
}

/* Loops that ask nothing, which become vectors. */
static void E(scales_of)(const tn__norm_columns *c, E(strip) * s, double *restrict square)
{
    const double n = (double)c->n, eps = c->eps;
    if (c->kind != TN__BY_NORM) {
        for (int64_t j = 0; j < s->width; j++)
            s->scale[j] = (T)(1 / sqrt(square[j] / n + eps));
        return;
    }
    for (int64_t j = 0; j < s->width; j++) {
        square[j] = sqrt(square[j]);
        s->scale[j] = (T)(1 / (square[j] < eps ? eps : square[j]));
    }
    for (int64_t j = 0; j < s->width; j++)
        s->fixed[j] = square[j] < eps;
}

static void E(measure_strip)(const tn__norm_columns *c, E(strip) * s)
{
    double first[E(STRIP)], sum[E(STRIP)], square[E(STRIP)]; /* only width of them are touched */
    T line[E(STRIP)];
    const bool centred = c->kind == TN__BY_VARIANCE;
    const double n = (double)c->n;
    const void *x = E(line_of)(c, s, c->x, 0, line);
    for (int64_t j = 0; j < s->width; j++)
        first[j] = centred ? (double)E(number)(x, j, c->bfloats) : 0, sum[j] = square[j] = 0;
    E(strip_sums)(c, s, sum, square, first);
    for (int64_t j = 0; j < s->width; j++) {
        const double mean = centred ? sum[j] / n : 0, left = square[j] - (centred ? sum[j] * mean : 0);
        square[j] = left < 0 ? 0 : left;
        s->mean[j] = (T)(first[j] + mean);
        s->fixed[j] = false;
    }
    E(scales_of)(c, s, square);
}

static int64_t E(strip_width)(const tn__norm_columns *c, int64_t at)
{
    const int64_t most = c->load && !c->bfloats ? E(LOADED) : E(STRIP);
    return c->width - at < most ? c->width - at : most;
}

#if TN_IS_F32
/* Rounded where it is computed. */
#define EACH_BFLOAT(to, width, value) \
    for (int64_t at_ = 0, many_; at_ < (width); at_ += many_) { \
        float some_[BFLOATS]; \
        many_ = (width)-at_ < BFLOATS ? (width)-at_ : BFLOATS; \
        if (many_ == BFLOATS) { \
            for (int k_ = 0; k_ < BFLOATS; k_++) { \
                const int64_t j = at_ + k_; \
                some_[k_] = value; \
            } \
            round_bfloats((to) + at_, some_); \
        } else { \
            for (int64_t j = at_; j < (width); j++) \
                (to)[j] = f32_bf16(value); \
        } \
    }

static void standardize_bfloats(const tn__norm_columns *c, const strip_f32 *s, int64_t i)
{
    const float w = c->weight ? ((const float *)c->weight)[i] : 1, b = c->bias ? ((const float *)c->bias)[i] : 0;
    const uint16_t *x = line_of_f32(c, s, c->x, i, NULL);
    uint16_t *to = (uint16_t *)c->out + i * c->pitch + s->at;
    if (c->bias)
        EACH_BFLOAT(to, s->width, (bf16_f32(x[j]) - s->mean[j]) * s->scale[j] * w + b)
    else
        EACH_BFLOAT(to, s->width, (bf16_f32(x[j]) - s->mean[j]) * s->scale[j] * w)
}

static void standardize_back_bfloats(const tn__norm_columns *c, const strip_f32 *s, int64_t i, const float *each,
                                     const float *along)
{
    const float w = c->weight ? ((const float *)c->weight)[i] : 1;
    const uint16_t *x = line_of_f32(c, s, c->x, i, NULL), *g = line_of_f32(c, s, c->g, i, NULL);
    uint16_t *to = (uint16_t *)c->out + i * c->pitch + s->at;
    EACH_BFLOAT(to, s->width,
                s->scale[j] * (bf16_f32(g[j]) * w - each[j] - (bf16_f32(x[j]) - s->mean[j]) * s->scale[j] * along[j]))
}
#undef EACH_BFLOAT
#else
#define standardize_bfloats(c, s, i)                   ((void)0)
#define standardize_back_bfloats(c, s, i, each, along) ((void)0)
#endif

static void E(standardize_columns)(const tn__norm_columns *c)
{
    const T *weight = c->weight, *bias = c->bias;
    T loaded[E(LOADED)], line[E(STRIP)];
    E(strip) s;
    for (s.at = 0; s.at < c->width; s.at += s.width) {
        s.width = E(strip_width)(c, s.at);
        E(measure_strip)(c, &s);
        for (int64_t i = 0; i < c->n && c->bfloats; i++)
            standardize_bfloats(c, &s, i);
        for (int64_t i = 0; i < c->n && !c->bfloats; i++) {
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
                                                             const E(strip) * s, const void *const g[2],
                                                             const void *const x[2], const T w[2], bool bfloats)
{
    for (int64_t j = 0; j < s->width; j++) {
        const T v = E(number)(g[0], j, bfloats) * w[0], v2 = E(number)(g[1], j, bfloats) * w[1];
        const T z = (E(number)(x[0], j, bfloats) - s->mean[j]) * s->scale[j],
                z2 = (E(number)(x[1], j, bfloats) - s->mean[j]) * s->scale[j];
        sum[j] += (double)(v + v2);
        dot[j] += (double)(v * z + v2 * z2);
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
        const void *x[] = {E(line_of)(c, s, c->x, i, loaded[0]), E(line_of)(c, s, c->x, k, loaded[2])};
        const void *g[] = {E(line_of)(c, s, c->g, i, loaded[1]), E(line_of)(c, s, c->g, k, loaded[3])};
        const T w[] = {weight ? weight[i] : 1, k == i ? 0 : weight ? weight[k] : 1};
        if (c->bfloats)
            E(add_two)(sum, dot, s, g, x, w, true);
        else
            E(add_two)(sum, dot, s, g, x, w, false);
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
        for (int64_t i = 0; i < c->n && c->bfloats; i++)
            standardize_back_bfloats(c, &s, i, each, along);
        for (int64_t i = 0; i < c->n && !c->bfloats; i++) {
            const T *x = E(line_of)(c, &s, c->x, i, loaded[0]), *g = E(line_of)(c, &s, c->g, i, loaded[1]);
            const T w = weight ? weight[i] : 1;
            T *to = E(line_to)(c, &s, i, line);
            for (int64_t j = 0; j < s.width; j++)
                to[j] = s.scale[j] * (g[j] * w - each[j] - (x[j] - s.mean[j]) * s.scale[j] * along[j]);
            E(put_line)(c, &s, i, to);
        }
    }
}
