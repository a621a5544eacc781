/* Windows of signals, by their formulas in double. */
#include "ops/family.h"
#include <math.h>

static const double pi = 3.14159265358979323846;

typedef double formula_of(double i, double n); /* element i of n + 1 */

static double bartlett(double i, double n)
{
    return 1 - fabs(2 * i / n - 1);
}

static double blackman(double i, double n)
{
    return 0.42 - 0.5 * cos(2 * pi * i / n) + 0.08 * cos(4 * pi * i / n);
}

static double hamming(double i, double n)
{
    return 0.54 - 0.46 * cos(2 * pi * i / n);
}

static double hann(double i, double n)
{
    return sin(pi * i / n) * sin(pi * i / n);
}

/* I0(x) = 1/pi times the integral of exp(x cos t) over 0 .. pi, by the trapezoidal rule, which is exact to the last digits. */
static double bessel(double x)
{
    double sum = 0;
    for (int k = 0; k < 64; k++)
        sum += exp(x * cos(pi * (k + 0.5) / 64));
    return sum / 64;
}

static double kaiser(double i, double n)
{
    const double r = 2 * i / n - 1;
    return bessel(12 * sqrt(1 - r * r)) / bessel(12);
}

static void is_window(const tn_tensor *w, int64_t length, bool periodic, formula_of *f, const char *what)
{
    bool good = w && tn_tensor_ndim(w) == 1 && tn_tensor_numel(w) == length;
    const double last = (double)(periodic ? length : length - 1);
    for (int64_t i = 0; good && i < length; i++) {
        const double want = length == 1 ? 1 : f((double)i, last),
                     got = tn_item(tn_select((tn_tensor *)(uintptr_t)w, 0, i));
        good = fabs(got - want) <= (tn_tensor_dtype(w) == TN_F64 ? 1e-12 : 1e-6);
    }
    truth(good, what);
}

static void run_windows(void)
{
    static const int64_t lengths[] = {0, 1, 2, 5, 64};
    for (int k = 0; k < 10; k++) {
        tn_scope *s = tn_scope_open();
        const int64_t n = lengths[k / 2];
        const bool p = k % 2;
        is_window(MADE(tn_bartlett_window(n, p)), n, p, bartlett, "bartlett_window");
        is_window(MADE(tn_blackman_window(n, p)), n, p, blackman, "blackman_window");
        is_window(MADE(tn_hamming_window(n, p, tn_scalar_none(), tn_scalar_none())), n, p, hamming, "hamming_window");
        is_window(MADE(tn_hann_window(n, p, .dtype = TN_F64)), n, p, hann, "hann_window");
        is_window(MADE(tn_kaiser_window(n, p, tn_scalar_none())), n, p, kaiser, "kaiser_window");
        tn_scope_close(s);
    }
    tn_scope *s = tn_scope_open();
    HOLDS(tn_hamming_window(4, false, tn_scalar_f(0.5), tn_scalar_f(0.25)), TN_SHAPE(4), 0.25, 0.625, 0.625, 0.25);
    TRUTH(tn_tensor_requires_grad(tn_hann_window(4, true, .requires_grad = true)));
    REFUSED(tn_hann_window(-1, true), TN_EINVAL,
            "hann_window requires non-negative window_length, got window_length=-1");
    REFUSED(tn_hann_window(4, true, .dtype = TN_I64), TN_EDTYPE, "hann_window expects floating point dtypes, got:");
    tn_scope_close(s);
}

static void run_range(void)
{
    tn_scope *s = tn_scope_open();
    HOLDS(tn_range(0, 3, 1), TN_SHAPE(4), 0, 1, 2, 3);
    HOLDS(tn_range(3, 0, -1.5), TN_SHAPE(3), 3, 1.5, 0);
    TRUTH(tn_tensor_dtype(tn_range(0, 1, 1)) == TN_F32 &&
          tn_tensor_dtype(tn_range(0, 1, 1, .dtype = TN_I32)) == TN_I32);
    REFUSED(tn_range(3, 0, 1), TN_EINVAL, "upper bound and lower bound inconsistent with step sign");
    REFUSED(tn_range(0, 3, 0), TN_EINVAL, "step must be nonzero");
    HOLDS(tn_scalar_tensor(3), TN_SHAPE(), 3);
    TRUTH(tn_tensor_dtype(tn_scalar_tensor(3)) == TN_F32);
    tn_scope_close(s);
}

static const structural_case cases[] = {
    {"bartlett_window", run_windows}, {"blackman_window", run_windows},
    {"hamming_window", run_windows},  {"hann_window", run_windows},
    {"kaiser_window", run_windows},   {"range", run_range},
    {"scalar_tensor", run_range},     {NULL, NULL},
};

const family_tests factory_windows_tests = {cases, NULL, NULL};
