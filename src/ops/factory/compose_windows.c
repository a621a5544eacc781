/* Windows of signals, and factories that PyTorch keeps for older programs. Formulas: Harris, "On the use of windows for harmonic
 * analysis with the discrete Fourier transform" (1978); computed in the dtype asked for, in PyTorch's order. */
#include "autograd/functions.h"
#include "core/settings.h"
#include <math.h>

static const double pi = 3.14159265358979323846;

/* ---- ranges ---- */

tn_tensor *tn__fn_range(tn_scalar start, tn_scalar end, tn_scalar step, const tn_options *o)
{
    const double a = tn__scalar_double(&start), b = tn__scalar_double(&end), s = tn__scalar_double(&step);
    const tn_dtype dtype = o->dtype ? o->dtype : tn__default_dtype();
    if (dtype == TN_BOOL || tn__dtype_is_bare(dtype)) {
        tn__no_dtype_on(o->device, "range_*", NULL, dtype);
        return NULL;
    }
    if (s == 0 || !isfinite(s))
        return tn__fail(TN_EINVAL, "step must be nonzero");
    if (!isfinite(a) || !isfinite(b))
        return tn__fail(TN_EINVAL, "unsupported range: %g -> %g", a, b);
    if ((s > 0 && b < a) || (s < 0 && b > a))
        return tn__fail(TN_EINVAL, "upper bound and lower bound inconsistent with step sign");
    const double n = floor((b - a) / s) + 1;
    if (n > 9e18)
        return tn__fail(TN_EINVAL, "invalid size, possible overflow?");
    tn_tensor *t = tn__factory(TN__DIMS(TN_SHAPE((int64_t)n)), o, dtype);
    TN__INITIALISED(t, tn__arange(t, start, step));
    return t;
}

tn_tensor *tn__fn_scalar_tensor(tn_scalar value, const tn_options *o)
{
    tn_options plain = *o;
    plain.dtype = o->dtype ? o->dtype : tn__default_dtype();
    return tn__fn_full(TN__DIMS(TN_SHAPE()), value, &plain);
}

/* ---- windows ---- */

/* A window under way: its places 0, 1 ... n - 1, of one more than was asked for where it is periodic. */
typedef struct window {
    tn_tensor *t;
    int64_t length, n;
    bool done; /* there is nothing to compute */
} window;

static window begin(const char *name, int64_t length, bool periodic, const tn_options *o)
{
    const tn_dtype dtype = o->dtype ? o->dtype : tn__default_dtype();
    window w = {.length = length, .n = length + (periodic && length < INT64_MAX), .done = true};
    if (!tn__dtype_is_float(dtype)) {
        w.t = tn__fail(TN_EDTYPE,
                       "%s expects floating point dtypes, got: TensorOptions(dtype=%s, device=%s, layout=Strided "
                       "(default), requires_grad=false (default), pinned_memory=false, memory_format=(nullopt))",
                       name, tn__dtypes[dtype].scalar,
                       tn_device_text(o->device.type ? o->device : tn_get_default_device()).s);
        return w;
    }
    if (length < 0 || length == INT64_MAX) {
        w.t = tn__fail(TN_EINVAL, "%s requires non-negative window_length, got window_length=%lld", name,
                       (long long)length);
        return w;
    }
    tn_options plain = *o;
    plain.dtype = dtype;
    plain.requires_grad = false;
    w.done = length <= 1;
    w.t = w.done ? tn__fn_ones(TN__DIMS(TN_SHAPE(length)), &plain)
                 : tn__fn_arange(tn_scalar_i(0), tn_scalar_i(w.n), tn_scalar_i(1), &plain);
    return w;
}

/* What was made of it, as long as was asked for. */
static tn_tensor *end(const window *w, tn_tensor *t, const tn_options *o)
{
    if (t && !w->done && w->n != w->length)
        t = tn_detach(tn_narrow(t, 0, 0, w->length));
    return t && o->requires_grad ? tn__require_grad(tn__no_view(t), true) : t;
}

/* alpha - beta cos(2 pi i / (n - 1)) */
static tn_tensor *raised_cosine(const window *w, double alpha, double beta)
{
    tn_tensor *t = tn_mul_(w->t, pi * 2 / (double)(w->n - 1));
    return t && tn_cos_(t) && tn_mul_(t, -beta) ? tn_add_(t, alpha) : NULL;
}

tn_tensor *tn__fn_bartlett_window(int64_t window_length, bool periodic, const tn_options *o)
{
    window w = begin("bartlett_window", window_length, periodic, o);
    if (w.done)
        return end(&w, w.t, o);
    const int64_t rising = ((w.n - 1) >> 1) + 1;
    tn_tensor *t = tn_mul_(w.t, 2 / (double)(w.n - 1));
    tn_tensor *falls = t ? tn_narrow(t, 0, rising, w.n - rising) : NULL;
    return falls && tn_mul_(falls, -1) && tn_add_(falls, 2) ? end(&w, t, o) : NULL;
}

tn_tensor *tn__fn_blackman_window(int64_t window_length, bool periodic, const tn_options *o)
{
    window w = begin("blackman_window", window_length, periodic, o);
    if (w.done)
        return end(&w, w.t, o);
    tn_tensor *t = tn_mul_(w.t, pi / (double)(w.n - 1));
    tn_tensor *fast = t ? tn_cos_(tn_mul(t, 4)) : NULL, *slow = t ? tn_cos_(tn_mul(t, 2)) : NULL;
    if (!fast || !slow || !tn_mul_(fast, 0.08) || !tn_mul_(slow, 0.5) || !tn_sub_(fast, slow))
        return NULL;
    return end(&w, tn_add_(fast, 0.42), o);
}

tn_tensor *tn__fn_hamming_window(int64_t window_length, bool periodic, tn_scalar alpha, tn_scalar beta,
                                 const tn_options *o)
{
    window w = begin("hamming_window", window_length, periodic, o);
    return end(&w, w.done ? w.t : raised_cosine(&w, tn__number_or(alpha, 0.54), tn__number_or(beta, 0.46)), o);
}

tn_tensor *tn__fn_hann_window(int64_t window_length, bool periodic, const tn_options *o)
{
    window w = begin("hann_window", window_length, periodic, o);
    return end(&w, w.done ? w.t : raised_cosine(&w, 0.5, 0.5), o);
}

/* The modified Bessel function of order 0 by its series, sum of ((x / 2)^k / k!)^2 (Abramowitz and Stegun 9.6.12): all terms are
 * positive, so that none is lost. */
static double i0(double x)
{
    const double q = x * x / 4;
    double term = 1, sum = 1;
    for (int k = 1; k < 1000 && term > sum * 1e-17; k++) {
        term *= q / ((double)k * k);
        sum += term;
    }
    return sum;
}

tn_tensor *tn__fn_kaiser_window(int64_t window_length, bool periodic, tn_scalar beta, const tn_options *o)
{
    window w = begin("kaiser_window", window_length, periodic, o);
    if (w.done)
        return end(&w, w.t, o);
    const double b = tn__number_or(beta, 12), top = i0(b), half = (double)(w.n - 1) / 2;
    tn_tensor *x = w.t ? tn_arange(0, w.n, 1, .dtype = TN_F64, .device = w.t->device) : NULL;
    /* in place: of a long window memory that was never used takes longer than the numbers */
    x = tn_clamp_min_(tn_add_(tn_neg_(tn_square_(tn_div_(tn_sub_(x, half), half))), 1), 0);
    x = tn_div_(tn_i0_(tn_mul_(tn_sqrt_(x), b)), top);
    return x && tn_copy_(w.t, tn_to(x, .dtype = w.t->dtype)) ? end(&w, w.t, o) : NULL;
}
