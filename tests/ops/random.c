/* Random numbers by their bounds and moments (their bits: tests/unit/test_random.c). */
#include "ops/family.h"

/* ---- random ---- */

typedef struct moments {
    real mean, var, least, most;
} moments;

static moments moments_of(const tn_tensor *t)
{
    int64_t n = tn_tensor_numel(t);
    moments m = {0, 0, KIT_INF, -KIT_INF};
    for (int64_t i = 0; i < n; i++) {
        real v = kit_item(t, i);
        m.mean += v / n;
        m.var += v * v / n;
        m.least = v < m.least ? v : m.least;
        m.most = v > m.most ? v : m.most;
    }
    m.var -= m.mean * m.mean;
    return m;
}

enum { N_RANDOM = 200000 };

/* Mean and variance of a uniform law within 6 of their standard errors; plus what the dtype's grid moves them by. */
static void is_uniform(const tn_tensor *t, real lo, real hi, const char *name)
{
    moments m = moments_of(t);
    tn_dtype d = tn_tensor_dtype(t);
    real span = hi - lo, grid = kit_is_float(d) ? ldexpl(span, 1 - kit_digits(d)) : 1;
    kit.cases++;
    if (!(m.least >= lo && m.most < hi && fabsl(m.mean - (lo + hi) / 2) < 6 * span / sqrtl(12.0L * N_RANDOM) + grid &&
          fabsl(m.var - span * span / 12) < 6 * span * span / sqrtl(180.0L * N_RANDOM) + span * grid))
        kit_fail("%s of %s: mean %Lg, variance %Lg, in [%Lg, %Lg]", name, tn_dtype_name(d), m.mean, m.var, m.least,
                 m.most);
}

static void is_normal(const tn_tensor *t, real mean, real std, const char *name)
{
    moments m = moments_of(t);
    tn_dtype d = tn_tensor_dtype(t);
    real grid = ldexpl(std, 2 - kit_digits(d)) + (kit_digits(d) < 24 ? ldexpl(fabsl(mean), -kit_digits(d)) : 0);
    kit.cases++;
    if (!(fabsl(m.mean - mean) < 6 * std / sqrtl(N_RANDOM) + grid &&
          fabsl(m.var - std * std) < 6 * std * std * sqrtl(2.0L / N_RANDOM) + std * grid && m.most > mean + 3 * std &&
          m.most < mean + 8 * std && m.least < mean - 3 * std && m.least > mean - 8 * std))
        kit_fail("%s of %s: mean %Lg, variance %Lg, in [%Lg, %Lg]", name, tn_dtype_name(d), m.mean, m.var, m.least,
                 m.most);
}

static void run_rand(void)
{
    for (int i = 6; i < KIT_DTYPES; i++) {
        tn_scope *s = tn_scope_open();
        tn_tensor *t = MADE(tn_rand(TN_SHAPE(N_RANDOM), .dtype = kit_dtypes[i]));
        is_uniform(t, 0, 1, "rand");
        TRUTH(!tn_equal(t, tn_rand(TN_SHAPE(N_RANDOM), .dtype = kit_dtypes[i])));
        is_uniform(tn_uniform_(t, -2, 6), -2, 6, "uniform_");
        tn_scope_close(s);
    }
    tn_scope *s = tn_scope_open();
    REFUSED(tn_rand(TN_SHAPE(2), .dtype = TN_I64), TN_EDTYPE, "not implemented for 'Long'");
    REFUSED(tn_uniform_(tn_ones(TN_SHAPE(2)), 3, 2), TN_EINVAL,
            "uniform_ expects to return a [from, to) range, but found from=3 > to=2");
    REFUSED(tn_uniform_(tn_ones(TN_SHAPE(2)), 0, 1e39), TN_EINVAL, "to is out of bounds for float");
    REFUSED(tn_uniform_(tn_ones(TN_SHAPE(2), .dtype = TN_F16), -60000, 60000), TN_EINVAL,
            "uniform_ expects to-from <= std::numeric_limits<Half>::max(), but found to=60000 and from=-60000 which "
            "result in to-from to exceed the limit");
    tn_scope_close(s);
}

static void run_randn(void)
{
    for (int i = 6; i < KIT_DTYPES; i++) {
        tn_scope *s = tn_scope_open();
        tn_tensor *t = MADE(tn_randn(TN_SHAPE(N_RANDOM), .dtype = kit_dtypes[i]));
        is_normal(t, 0, 1, "randn");
        is_normal(tn_normal_(t, 3, 0.5), 3, 0.5L, "normal_");
        tn_scope_close(s);
    }
    tn_scope *s = tn_scope_open();
    REFUSED(tn_randn(TN_SHAPE(2), .dtype = TN_I64), TN_EDTYPE, "not implemented for 'Long'");
    REFUSED(tn_normal_(tn_ones(TN_SHAPE(2)), 0, -1), TN_EINVAL, "normal expects std >= 0.0, but found std -1");
    tn_scope_close(s);
}

static void run_randint(void)
{
    for (int i = 1; i < KIT_DTYPES; i++) {
        tn_scope *s = tn_scope_open();
        tn_tensor *t = MADE(tn_randint(3, 103, TN_SHAPE(N_RANDOM), .dtype = kit_dtypes[i]));
        int64_t seen[103] = {0};
        for (int64_t k = 0; k < N_RANDOM && t; k++) {
            real v = kit_item(t, k);
            if (v < 3 || v >= 103 || v != floorl(v))
                kit_fail("randint of %s gives %Lg", tn_dtype_name(kit_dtypes[i]), v);
            else
                seen[(int)v]++;
        }
        for (int v = 3; v < 103; v++) /* 2000 each: within 6 standard deviations, 45 */
            truth(seen[v] > 2000 - 270 && seen[v] < 2000 + 270, "randint is even");
        tn_scope_close(s);
    }
    tn_scope *s = tn_scope_open();
    TRUTH(tn_tensor_dtype(tn_randint(0, 5, TN_SHAPE(2))) == TN_I64);
    REFUSED(tn_randint(5, 5, TN_SHAPE(2)), TN_EINVAL,
            "random_ expects 'from' to be less than 'to', but got from=5 >= to=5");
    tn_scope_close(s);
}

static void run_randperm(void)
{
    for (int i = 1; i < KIT_DTYPES; i++)
        for (int64_t n = 0; n < 120; n += 17) {
            tn_scope *s = tn_scope_open();
            bool seen[120] = {false};
            tn_tensor *t = MADE(tn_randperm(n, .dtype = kit_dtypes[i]));
            for (int64_t k = 0; k < n && t; k++) {
                int64_t v = (int64_t)kit_item(t, k);
                truth(v >= 0 && v < n && !seen[v], "randperm names each number once");
                seen[v < 0 || v >= n ? 0 : v] = true;
            }
            tn_scope_close(s);
        }
    tn_scope *s = tn_scope_open();
    TRUTH(!tn_equal(tn_randperm(100), tn_arange(0, 100, 1)));
    REFUSED(tn_randperm(-1), TN_EINVAL, "n must be non-negative, got -1");
    tn_scope_close(s);
}

/* ---- what is made from them ---- */

/* It draws from its device's generator: a state that is set again gives the numbers again, and the stream goes on. */
typedef tn_tensor *drawing(tn_tensor *x);
static tn_tensor *d_bernoulli(tn_tensor *x)
{
    return tn_bernoulli(x);
}
static tn_tensor *d_bernoulli_(tn_tensor *x)
{
    return tn_bernoulli_(x, 0.5);
}
static tn_tensor *d_exponential(tn_tensor *x)
{
    return tn_exponential_(x, 1);
}
static tn_tensor *d_log_normal(tn_tensor *x)
{
    return tn_log_normal_(x, 0, 1);
}
static tn_tensor *d_cauchy(tn_tensor *x)
{
    return tn_cauchy_(x, 0, 1);
}
static tn_tensor *d_geometric(tn_tensor *x)
{
    return tn_geometric_(x, 0.01);
}
static tn_tensor *d_random(tn_tensor *x)
{
    return tn_random_(x);
}
static tn_tensor *d_randint_like(tn_tensor *x)
{
    return tn_randint_like(x, 0, 1000);
}
static tn_tensor *d_normal(tn_tensor *x)
{
    return tn_normal(x, 1);
}
static tn_tensor *d_multinomial(tn_tensor *x)
{
    return tn_multinomial(x, 40, true);
}

static void repeats(drawing *draw)
{
    tn_scope *s = tn_scope_open();
    const tn_device device = tn_get_default_device();
    const tn_rng_state before = tn_get_rng_state(device);
    tn_tensor *a = draw(tn_full(TN_SHAPE(64), 0.5));
    const tn_rng_state after = tn_get_rng_state(device);
    tn_tensor *other = draw(tn_full(TN_SHAPE(64), 0.5));
    TRUTH(tn_set_rng_state(device, before) == TN_OK);
    tn_tensor *b = draw(tn_full(TN_SHAPE(64), 0.5));
    TRUTH(a && b && tn_equal(a, b) && !tn_equal(a, other));
    TRUTH(after.offset > before.offset && after.offset == tn_get_rng_state(device).offset);
    tn_scope_close(s);
}

typedef real law(real x, real a, real b);

static real exponential_law(real x, real rate, real none)
{
    (void)none;
    return -expm1l(-rate * x);
}

static real cauchy_law(real x, real median, real sigma)
{
    return 0.5L + atanl((x - median) / sigma) / acosl(-1);
}

static real log_normal_law(real x, real mean, real std)
{
    return erfcl((mean - logl(x)) / (std * sqrtl(2))) / 2;
}

/* By a continuous law's distribution function its numbers become uniform ones. */
static void follows(const tn_tensor *t, law *f, real a, real b, const char *name)
{
    real mean = 0, square = 0, n = (real)tn_tensor_numel(t), grid = ldexpl(1, 1 - kit_digits(tn_tensor_dtype(t)));
    for (int64_t i = 0; i < tn_tensor_numel(t); i++) {
        real u = f(kit_item(t, i), a, b);
        mean += u / n;
        square += u * u / n;
    }
    kit.cases++;
    if (!(fabsl(mean - 0.5L) < 6 / sqrtl(12 * n) + grid && fabsl(square - 1 / 3.0L) < 6 * sqrtl(4 / (45 * n)) + grid))
        kit_fail("%s of %s: by its law mean %Lg, mean square %Lg", name, tn_dtype_name(tn_tensor_dtype(t)), mean,
                 square);
}

static void run_continuous(void)
{
    for (int i = 6; i < KIT_DTYPES; i++) {
        tn_scope *s = tn_scope_open();
        tn_tensor *t = MADE(tn_empty(TN_SHAPE(N_RANDOM), .dtype = kit_dtypes[i]));
        TRUTH(tn_exponential_(t, 2.5) == t);
        TRUTH(tn_item(tn_min(t)) > 0);
        follows(t, exponential_law, 2.5L, 0, "exponential_");
        follows(tn_cauchy_(t, 1.5, 0.25), cauchy_law, 1.5L, 0.25L, "cauchy_");
        follows(tn_log_normal_(t, 0.5, 0.75), log_normal_law, 0.5L, 0.75L, "log_normal_");
        tn_scope_close(s);
    }
    tn_scope *s = tn_scope_open();
    tn_tensor *x = tn_ones(TN_SHAPE(3)), *whole = tn_ones(TN_SHAPE(3), .dtype = TN_I64, .device = TN_CPU);
    REFUSED(tn_exponential_(x, 0), TN_EINVAL, "exponential_ expects lambda > 0.0, but found lambda=0");
    REFUSED(tn_cauchy_(x, 0, -1.5), TN_EINVAL, "cauchy_ expects sigma > 0.0, but found sigma=-1.5");
    REFUSED(tn_log_normal_(x, 0, 0), TN_EINVAL, "log_normal_ expects std > 0.0, but found std=0");
    REFUSED(tn_exponential_(whole, 1), TN_EINVAL,
            "Exponential distribution is a continuous probability distribution. dtype must be a floating point but you "
            "specified Long");
    REFUSED(tn_cauchy_(whole, 0, 1), TN_EINVAL,
            "Cauchy distribution is a continuous probability distribution. dtype must be a floating point but you "
            "specified long int");
    REFUSED(tn_log_normal_(whole, 0, 1), TN_EDTYPE, "\"log_normal_cpu\" not implemented for 'Long'");
    TRUTH(tn_exponential_(tn_empty(TN_SHAPE(0), .dtype = TN_I64), 1) != NULL); /* nothing asks no kernel */
    REFUSED(tn_exponential_(TN_NONE, 1), TN_ETYPE, "TN_NONE");
    REFUSED(tn_cauchy_(tn_requires_grad_(x, true), 0, 1), TN_EGRAD,
            "a leaf Variable that requires grad is being used in an in-place operation.");
    tn_scope_close(s);
    repeats(d_exponential);
    repeats(d_cauchy);
    repeats(d_log_normal);
}

static void run_geometric(void)
{
    static const double p[] = {0.3, 0.9};
    for (int i = 1; i < KIT_DTYPES; i++)
        for (int k = 0; k < 2; k++) {
            tn_scope *s = tn_scope_open();
            tn_tensor *t = MADE(tn_geometric_(tn_empty(TN_SHAPE(N_RANDOM), .dtype = kit_dtypes[i]), p[k]));
            int64_t seen[4] = {0};
            for (int64_t j = 0; j < N_RANDOM && t; j++) {
                real v = kit_item(t, j);
                if (v < 1 || v != floorl(v))
                    kit_fail("geometric_ of %s gives %Lg", tn_dtype_name(kit_dtypes[i]), v);
                else if (v < 4)
                    seen[(int)v]++;
            }
            for (int v = 1; v < 4; v++) { /* within 6 standard deviations of a binomial distribution */
                double q = p[k] * pow(1 - p[k], v - 1), n = N_RANDOM;
                TRUTH(fabs((double)seen[v] - n * q) < 6 * sqrt(n * q * (1 - q)));
            }
            tn_scope_close(s);
        }
    tn_scope *s = tn_scope_open();
    REFUSED(tn_geometric_(tn_ones(TN_SHAPE(2)), 1), TN_EINVAL, "geometric_ expects p to be in (0, 1), but got p=1");
    REFUSED(tn_geometric_(tn_ones(TN_SHAPE(2), .dtype = TN_BOOL, .device = TN_CPU), 0.5), TN_EDTYPE,
            "\"geometric_cpu\" not implemented for 'Bool'");
    tn_scope_close(s);
    repeats(d_geometric);
}

/* Zeros and ones, of these how many: n q, within 6 standard deviations. */
static void is_hit(const tn_tensor *t, real q, const char *name)
{
    moments m = moments_of(t);
    for (int64_t i = 0; i < N_RANDOM; i++)
        if (kit_item(t, i) != 0 && kit_item(t, i) != 1)
            kit_fail("%s of %s gives %Lg", name, tn_dtype_name(tn_tensor_dtype(t)), kit_item(t, i));
    truth(fabsl(m.mean - q) <= 6 * sqrtl(q * (1 - q) / N_RANDOM), name);
}

static void run_bernoulli(void)
{
    for (int i = 1; i < KIT_DTYPES; i++) {
        tn_scope *s = tn_scope_open();
        tn_tensor *t = MADE(tn_empty(TN_SHAPE(N_RANDOM), .dtype = kit_dtypes[i]));
        is_hit(tn_bernoulli(t, .p = TN_SCALAR(0.25)), 0.25L, "bernoulli of a number");
        is_hit(tn_bernoulli_(t, 0.75), 0.75L, "bernoulli_ of a number");
        is_hit(tn_bernoulli_(t, tn_full(TN_SHAPE(1), 0.125)), 0.125L, "bernoulli_ of a tensor");
        if (kit_is_float(kit_dtypes[i])) {
            is_hit(tn_bernoulli(tn_fill_(t, 0.5)), 0.5L, "bernoulli");
            tn_tensor *both = tn_bernoulli(tn_zeros(TN_SHAPE(50), .dtype = kit_dtypes[i]));
            TRUTH(tn_item(tn_sum(both)) == 0);
            TRUTH(tn_item(tn_sum(tn_bernoulli(tn_ones(TN_SHAPE(50), .dtype = kit_dtypes[i])))) == 50);
        }
        tn_scope_close(s);
    }
    tn_scope *s = tn_scope_open();
    tn_tensor *x = tn_requires_grad_(tn_full(TN_SHAPE(3), 0.5), true), *y = tn_bernoulli(x);
    TRUTH(y && tn_tensor_requires_grad(y) && tn_backward(tn_sum(y)) == TN_OK &&
          tn_item(tn_sum(tn_tensor_grad(x))) == 0);
    TRUTH(!tn_tensor_requires_grad(tn_bernoulli_(tn_ones(TN_SHAPE(3)), x)));
    REFUSED(tn_bernoulli(tn_ones(TN_SHAPE(2)), .p = TN_SCALAR(1.5)), TN_EINVAL,
            "bernoulli_ expects p to be in [0, 1], but got p=1.5");
    REFUSED(tn_bernoulli(tn_full(TN_SHAPE(2), -0.5, .device = TN_CPU)), TN_EINVAL, /* no GPU is waited for */
            "Expected p_in >= 0 && p_in <= 1 to be true, but got false.");
    REFUSED(tn_bernoulli(tn_ones(TN_SHAPE(2), .dtype = TN_I64, .device = TN_CPU)), TN_EDTYPE,
            "\"bernoulli_tensor_cpu_p_\" not implemented for 'Long'");
    REFUSED(tn_bernoulli_(tn_ones(TN_SHAPE(2)), TN_NONE), TN_ETYPE, "TN_NONE");
    tn_scope_close(s);
    repeats(d_bernoulli);
    repeats(d_bernoulli_);
}

static void run_random(void)
{
    for (int i = 1; i < KIT_DTYPES; i++) {
        tn_scope *s = tn_scope_open();
        const tn_dtype d = kit_dtypes[i];
        tn_tensor *t = MADE(tn_empty(TN_SHAPE(N_RANDOM), .dtype = d));
        moments m = moments_of(tn_random_(t, .from = TN_SCALAR(3), .to = TN_SCALAR(7)));
        TRUTH(m.least == 3 && m.most == 6 && fabsl(m.mean - 4.5L) < 6 * sqrtl(1.25L / N_RANDOM));
        m = moments_of(tn_random_(t)); /* all of an integer dtype from 0; what a floating one tells apart */
        const real last =
            kit_is_float(d) ? ldexpl(1, kit_digits(d)) : ldexpl(1, 8 * (int)tn_dtype_size(d) - (d != TN_U8)) - 1;
        TRUTH(m.least >= 0 && m.most <= last && fabsl(m.mean / last - 0.5L) < 6 / sqrtl(12.0L * N_RANDOM) + 1e-5L);
        tn_scope_close(s);
    }
    tn_scope *s = tn_scope_open();
    tn_tensor *bytes = tn_ones(TN_SHAPE(2), .dtype = TN_U8);
    REFUSED(tn_random_(bytes, .from = TN_SCALAR(5), .to = TN_SCALAR(5)), TN_EINVAL,
            "random_ expects 'from' to be less than 'to', but got from=5 >= to=5");
    REFUSED(tn_random_(bytes, .from = TN_SCALAR(-1), .to = TN_SCALAR(5)), TN_EINVAL,
            "from is out of bounds for unsigned char");
    REFUSED(tn_random_(bytes, .to = TN_SCALAR(257)), TN_EINVAL, "to - 1 is out of bounds for unsigned char");
    REFUSED(tn_randint(0, 257, TN_SHAPE(2), .dtype = TN_U8), TN_EINVAL, "to - 1 is out of bounds for unsigned char");
    REFUSED(tn_randint_like(bytes, -1, 3), TN_EINVAL, "from is out of bounds for unsigned char");
    REFUSED(tn_randperm(300, .dtype = TN_U8), TN_EINVAL, "n is too large for result tensor type: 'torch.uint8'");
    tn_scope_close(s);
    repeats(d_random);
}

/* Like x in what the options do not say, drawn in the order of memory. */
static void run_randint_like(void)
{
    tn_scope *s = tn_scope_open();
    tn_tensor *x = tn_ones(TN_SHAPE(30, 40), .dtype = TN_I16), *turned = tn_transpose(x, 0, 1);
    tn_manual_seed(5);
    tn_tensor *a = MADE(tn_randint_like(x, -4, 9));
    tn_manual_seed(5);
    tn_tensor *b = MADE(tn_randint_like(turned, -4, 9));
    tn_manual_seed(5);
    tn_tensor *c = MADE(tn_randint(-4, 9, TN_SHAPE(30, 40), .dtype = TN_I16));
    TRUTH(tn_tensor_dtype(a) == TN_I16 && tn_equal(a, c) && tn_equal(tn_transpose(b, 0, 1), a));
    TRUTH(!tn_tensor_is_contiguous(b) && tn_tensor_version(b) == 0);
    tn_tensor *wants = MADE(tn_randint_like(turned, 0, 2, .dtype = TN_F64, .requires_grad = true));
    TRUTH(tn_tensor_dtype(wants) == TN_F64 && tn_tensor_requires_grad(wants) && tn_tensor_is_leaf(wants));
    REFUSED(tn_randint_like(TN_NONE, 0, 2), TN_ETYPE, "TN_NONE");
    tn_scope_close(s);
    repeats(d_randint_like);
}

static void run_normal(void)
{
    for (int i = 6; i < KIT_DTYPES; i++) {
        tn_scope *s = tn_scope_open();
        tn_tensor *mean = MADE(tn_full(TN_SHAPE(N_RANDOM), 3, .dtype = kit_dtypes[i]));
        is_normal(tn_normal(mean, 0.5), 3, 0.5L, "normal of means");
        is_normal(tn_normal(mean, tn_full(TN_SHAPE(1), 0.25)), 3, 0.25L, "normal of two tensors");
        is_normal(tn_normal(-1, tn_mul(mean, 0.5)), -1, 1.5L, "normal of deviations");
        tn_tensor *t = tn_normal(2, 0.5, .shape = TN_SHAPE(N_RANDOM), .dtype = kit_dtypes[i]);
        is_normal(t, 2, 0.5L, "normal of numbers");
        TRUTH(tn_tensor_dtype(tn_normal(mean, tn_ones(TN_SHAPE(1), .dtype = TN_F64))) == kit_dtypes[i]);
        tn_scope_close(s);
    }
    tn_scope *s = tn_scope_open();
    tn_tensor *x = tn_requires_grad_(tn_ones(TN_SHAPE(3)), true), *y = tn_normal(x, 1);
    TRUTH(y && tn_tensor_requires_grad(y) && tn_backward(tn_sum(y)) == TN_OK &&
          tn_item(tn_sum(tn_tensor_grad(x))) == 0);
    TRUTH(tn_item(tn_normal(2, 0)) == 2); /* no shape: that of a number */
    REFUSED(tn_normal(x, -2), TN_EINVAL, "normal expects std >= 0.0, but found std -2");
    REFUSED(tn_normal(x, tn_full(TN_SHAPE(3), -1)), TN_EINVAL, "normal expects all elements of std >= 0.0");
    REFUSED(tn_normal(tn_ones(TN_SHAPE(2), .dtype = TN_I64, .device = TN_CPU), 1), TN_EDTYPE,
            "\"normal_kernel_cpu\" not implemented for 'Long'");
    REFUSED(tn_normal(x, TN_NONE), TN_ETYPE, "TN_NONE");
    tn_scope_close(s);
    repeats(d_normal);
}

/* How often each of four categories is drawn of n: within 6 standard deviations of n p. */
static void is_drawn(const tn_tensor *t, int64_t n, const double p[4])
{
    double seen[4] = {0};
    for (int64_t i = 0; i < n; i++)
        seen[(int)kit_item(t, i) & 3]++;
    for (int c = 0; c < 4; c++)
        TRUTH(fabs(seen[c] - (double)n * p[c]) <= 6 * sqrt((double)n * p[c] * (1 - p[c])));
}

static void run_multinomial(void)
{
    static const double p[2][4] = {{0.125, 0, 0.375, 0.5}, {0.25, 0.25, 0.25, 0.25}};
    for (int i = 6; i < KIT_DTYPES; i++) {
        tn_scope *s = tn_scope_open();
        tn_tensor *w = tn_tensor_from(TN_LIST(1, 0, 3, 4, 7, 7, 7, 7), .shape = TN_SHAPE(2, 4), .dtype = kit_dtypes[i]);
        tn_tensor *t = MADE(tn_multinomial(w, 20000, true));
        for (int r = 0; r < 2; r++) {
            is_drawn(tn_select(t, 0, r), 20000, p[r]);
            is_drawn(tn_multinomial(tn_select(w, 0, r), 20000, true), 20000, p[r]);
        }
        tn_tensor *many = tn_expand(tn_unsqueeze(tn_select(w, 0, 0), 0), TN_SHAPE(20000, 4));
        t = MADE(tn_multinomial(many, 3, false)); /* the first is drawn as with replacement; then none again */
        is_drawn(tn_select(t, 1, 0), 20000, p[0]);
        TRUTH(tn_tensor_dtype(t) == TN_I64 && tn_item(tn_any(tn_eq(t, 1))) == 0);
        TRUTH(tn_item(tn_all(tn_eq(tn_sum(t, .dim = 1), 5))) == 1);
        tn_scope_close(s);
    }
    tn_scope *s = tn_scope_open();
    tn_tensor *x = tn_ones(TN_SHAPE(3));
    REFUSED(tn_multinomial(x, 4, false), TN_EINVAL,
            "cannot sample n_sample > prob_dist.size(-1) samples without replacement");
    REFUSED(tn_multinomial(x, 0, true), TN_EINVAL, "cannot sample n_sample <= 0 samples");
    REFUSED(tn_multinomial(tn_ones(TN_SHAPE(2, 2, 2)), 1, true), TN_EINVAL, "prob_dist must be 1 or 2 dim");
    REFUSED(tn_multinomial(tn_neg(x), 1, true), TN_EINVAL,
            "probability tensor contains either `inf`, `nan` or element < 0");
    REFUSED(tn_multinomial(tn_zeros(TN_SHAPE(3)), 1, true), TN_EINVAL,
            "invalid multinomial distribution (sum of probabilities <= 0)");
    REFUSED(tn_multinomial(tn_ones(TN_SHAPE(3), .dtype = TN_I64), 1, true), TN_EINVAL,
            "multinomial only supports floating-point dtypes for input, got: Long");
    tn_scope_close(s);
    repeats(d_multinomial);
}

/* ---- dropout ---- */

static void dropout_each(kit_array *x)
{
    if (!kit_is_float(x->dtype) && x->numel == 0) { /* of nothing any dtype will do, as in PyTorch */
        TRUTH(tn_dropout(x->t, 0.5) != NULL);
        return;
    }
    if (!kit_is_float(x->dtype)) {
        REFUSED(tn_dropout(x->t, 0.5), TN_EDTYPE, "can't be cast to the desired output type");
        return;
    }
    static const double p[] = {0, 0.3, 1};
    for (int i = 0; i < 3; i++) {
        expected e;
        tn_tensor *y = MADE(tn_dropout(x->t, p[i]));
        expected_init(&e, x->dtype, x->ndim, x->shape);
        for (int64_t k = 0; k < x->numel && y; k++) { /* each element is zero, or scaled */
            real kept = kit_round(x->v[k] / (1 - (real)p[i]), x->dtype), got = kit_item(y, k);
            e.v[k] = p[i] == 1 || (p[i] > 0 && got == 0) ? 0 : kept;
        }
        e.ulps = 1;
        check_free(&e, y, "dropout of %s %s %s, p %g", tn_dtype_name(x->dtype), kit_shape_text(x->ndim, x->shape),
                   kit_layout_names[x->layout], p[i]);
    }
}

static void run_dropout(void)
{
    each_array(dropout_each, true);
    tn_scope *s = tn_scope_open();
    static const double p[] = {0.1, 0.5, 0.9};
    for (int i = 0; i < 3; i++) { /* how many: within 6 standard deviations of n p, of a binomial distribution */
        const int64_t n = 1000003;
        tn_tensor *y = tn_dropout(tn_ones(TN_SHAPE(n)), p[i]);
        double zeros = (double)n - tn_item(tn_sum(tn_ne(y, 0)));
        TRUTH(fabs(zeros - (double)n * p[i]) < 6 * sqrt((double)n * p[i] * (1 - p[i])));
    }
    TRUTH(!tn_equal(tn_dropout(tn_ones(TN_SHAPE(100)), 0.5),
                    tn_dropout(tn_ones(TN_SHAPE(100)), 0.5))); /* another mask each time */
    REFUSED(tn_dropout(tn_ones(TN_SHAPE(2)), 1.5), TN_EVALUE,
            "dropout probability has to be between 0 and 1, but got 1.5");
    REFUSED(tn_dropout(tn_ones(TN_SHAPE(2)), -0.5), TN_EVALUE,
            "dropout probability has to be between 0 and 1, but got -0.5");
    tn_scope_close(s);
}

static const structural_case cases[] = {
    {"rand", run_rand},
    {"randn", run_randn},
    {"randint", run_randint},
    {"randperm", run_randperm},
    {"uniform_", run_rand},
    {"normal_", run_randn},
    {"dropout", run_dropout},
    {"exponential_", run_continuous},
    {"cauchy_", run_continuous},
    {"log_normal_", run_continuous},
    {"geometric_", run_geometric},
    {"bernoulli", run_bernoulli},
    {"bernoulli_", run_bernoulli},
    {"random_", run_random},
    {"randint_like", run_randint_like},
    {"normal", run_normal},
    {"multinomial", run_multinomial},
    {NULL, NULL},
};

/* ---- gradients ---- */

static tn_tensor *f_dropout(tn_tensor **in)
{
    tn_manual_seed(7);
    return tn_dropout(in[0], 0.4);
}

/* All of them 1, by the CPU's other generator. */
static tn_tensor *f_bernoulli_(tn_tensor **in)
{
    const bool was = tn_uses_mt19937();
    tn_use_mt19937(true);
    tn_tensor *out = tn_mul(tn_bernoulli_(tn_clone(in[0]), 1), in[1]);
    tn_use_mt19937(was);
    return out;
}

F(uniform_, tn_mul(tn_uniform_(tn_clone(x), 1, 1), y))
F(normal_, tn_mul(tn_normal_(tn_clone(x), 1, 0), y))

static const gradient_case gradients[] = {
    ONE(dropout), TWO(uniform_), TWO(normal_), TWO(bernoulli_), {NULL, NULL, 0, {{0, {0}}}, false},
};

const family_tests random_tests = {cases, gradients, NULL};
