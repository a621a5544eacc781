/* distributions.c: random numbers that are made from uniform and normal ones by formulas. */
#define TN_HERE "" /* errors name no line of this file */
#include "functions.h"
#include "generator.h"
#include "out.h"

#include <float.h>
#include <math.h>

/* A call under way: what refused it is raised once the GIL is back. */
typedef struct work {
    tn_tensor *x;
    double a, b;
    tn_tensor *p;
    int64_t n;
    bool flag;
    const char *why;
} work;

typedef tn_tensor *worker(work *w);

/* Runs f with recording off, the result the caller's. */
static tn_tensor *compute(worker *f, work *w)
{
    bool was = tn_set_grad_enabled(false);
    tn_scope *scope = tn_scope_open();
    tn_tensor *r = f(w);
    tn_scope_close_keep(scope, r);
    (void)tn_set_grad_enabled(was);
    return r;
}

/* A new tensor from f. out: NULL, or the value of 'out'. */
static PyObject *fresh(const char *name, worker *f, work *w, const py_value *generator, const py_value *out)
{
    py_draw draw;
    if (py_draw_begin(&draw, name, generator, tn_tensor_device(w->x)))
        return NULL;
    tn_tensor *r = compute(f, w);
    py_draw_end(&draw);
    if (!r && w->why)
        return PyErr_Format(PyExc_RuntimeError, "%s", w->why);
    if (r && tn_is_grad_enabled() && tn_tensor_requires_grad(w->x) &&
        tn_dtype_is_floating_point(tn_tensor_dtype(r))) { /* a history by which no gradient but 0 goes */
        tn_tensor *over = tn_clone(w->x), *made = over ? tn_copy_(over, r) : NULL;
        tn_release(r);
        if (!made)
            tn_release(over);
        r = made;
    }
    return out ? py_into(name, out, r) : py_wrap(r);
}

/* What f makes, written into x, which autograd sees. */
static PyObject *inplace(PyObject *self, const char *name, worker *f, work *w, const py_value *generator)
{
    py_draw draw;
    if (py_draw_begin(&draw, name, generator, tn_tensor_device(w->x)))
        return NULL;
    tn_tensor *made = compute(f, w), *done = made ? tn_copy_(w->x, made) : NULL;
    tn_release(made);
    py_draw_end(&draw);
    if (!made && w->why)
        return PyErr_Format(PyExc_RuntimeError, "%s", w->why);
    return done ? Py_NewRef(self) : py_raise();
}

/* Uniform in [0, 1), of x's shape and device; float64 where x is, else float32: half types are too coarse for a formula. */
static tn_tensor *uniform_for(const tn_tensor *x)
{
    return tn_rand(tn_tensor_shape(x), .dtype = tn_tensor_dtype(x) == TN_F64 ? TN_F64 : TN_F32,
                   .device = tn_tensor_device(x));
}

/* ---- bernoulli ---- */

/* The host hears of probabilities out of range on the CPU alone: a GPU would have to be waited for. */
static bool are_probabilities(tn_tensor *p)
{
    if (tn_tensor_device(p).type != TN_DEVICE_CPU || !tn_tensor_numel(p))
        return true;
    tn_tensor *fine = tn_all(tn_logical_and(tn_ge(p, 0), tn_le(p, 1)));
    return fine && tn_item(fine) != 0;
}

static tn_tensor *bernoulli_of(work *w)
{
    if (w->p && !are_probabilities(w->p)) {
        w->why = "Expected p_in >= 0 && p_in <= 1 to be true, but got false.";
        return NULL;
    }
    tn_tensor *hit = w->p ? tn_lt(uniform_for(w->x), w->p) : tn_lt(uniform_for(w->x), w->a);
    return tn_to(hit, .dtype = tn_tensor_dtype(w->x));
}

static bool is_probability(const char *name, double p)
{
    if (p >= 0 && p <= 1)
        return true;
    char text[32];
    PyOS_snprintf(text, sizeof text, "%g", p);
    PyErr_Format(PyExc_RuntimeError, "%s expects p to be in [0, 1], but got p=%s", name, text);
    return false;
}

/* Does the kernel that draws for x know its dtype? name: the kernel's, but for its device. Nothing asks no kernel. */
static bool is_drawn(const char *name, const tn_tensor *x, bool has)
{
    if (has || !tn_tensor_numel(x))
        return true;
    PyErr_Format(PyExc_NotImplementedError, "\"%s_%s%s\" not implemented for '%s'", name,
                 tn_tensor_device(x).type == TN_DEVICE_CUDA ? "cuda" : "cpu", *name == 'b' ? "_p_" : "",
                 py_scalar_type_name(tn_tensor_dtype(x)));
    return false;
}

static bool is_floating(const char *name, const tn_tensor *x)
{
    return is_drawn(name, x, tn_dtype_is_floating_point(tn_tensor_dtype(x)));
}

PyObject *run_bernoulli(PyObject *self, py_value *v, int which)
{
    (void)self;
    work w = {.x = v[0].s.v.t, .a = v[1].s.v.f, .p = which ? NULL : v[0].s.v.t};
    if (which ? !is_probability("bernoulli_", w.a) : !is_floating("bernoulli_tensor", w.x))
        return NULL;
    return fresh("bernoulli", bernoulli_of, &w, &v[2], which ? NULL : &v[3]);
}

PyObject *run_bernoulli_(PyObject *self, py_value *v, int which)
{
    work w = {.x = v[0].s.v.t, .a = v[1].s.v.f, .p = which ? NULL : v[1].s.v.t};
    if (which ? !is_probability("bernoulli_", w.a) : !is_floating("bernoulli_tensor", w.p))
        return NULL;
    return inplace(self, "bernoulli_", bernoulli_of, &w, &v[2]);
}

/* ---- continuous ones ---- */

/* log(1 - u), at most 0: minus an exponential number of rate 1 */
static tn_tensor *log_uniform(const tn_tensor *x)
{
    return tn_log1p(tn_neg(uniform_for(x)));
}

static tn_tensor *exponential_of(work *w)
{
    double least = tn_tensor_dtype(w->x) == TN_F64 ? DBL_EPSILON : FLT_EPSILON; /* never 0: some divide by it */
    return tn_mul(tn_clamp_max(log_uniform(w->x), -least / 2), -1 / w->a);
}

static tn_tensor *log_normal_of(work *w)
{
    tn_tensor *z = uniform_for(w->x);
    return tn_exp(z ? tn_normal_(z, w->a, w->b) : NULL);
}

/* median + sigma * tan(pi * (u - 1/2)) */
static tn_tensor *cauchy_of(work *w)
{
    static const double pi = 3.14159265358979323846;
    tn_tensor *angle = tn_mul(tn_sub(uniform_for(w->x), 0.5), pi);
    return tn_add(tn_mul(tn_div(tn_sin(angle), tn_cos(angle)), w->b), w->a);
}

/* P(X > k) = (1 - p)^k for k = 1, 2 ...: the exponential one, rounded down to whole numbers, plus 1 */
static tn_tensor *geometric_of(work *w)
{
    return tn_add(tn_floor(tn_div(log_uniform(w->x), log1p(-w->a))), 1);
}

static bool is_positive(double value, const char *format)
{
    if (value > 0)
        return true;
    char text[32];
    PyOS_snprintf(text, sizeof text, "%g", value);
    PyErr_Format(PyExc_RuntimeError, format, text);
    return false;
}

static bool is_continuous(const char *name, const tn_tensor *x)
{
    if (tn_dtype_is_floating_point(tn_tensor_dtype(x)) || (*name == 'E' && !tn_tensor_numel(x)))
        return true;
    PyErr_Format(PyExc_RuntimeError,
                 "%s distribution is a continuous probability distribution. dtype must be a floating point but you "
                 "specified %s",
                 name, *name == 'E' ? py_scalar_type_name(tn_tensor_dtype(x)) : py_c_type_name(tn_tensor_dtype(x)));
    return false;
}

PyObject *run_exponential_(PyObject *self, py_value *v, int which)
{
    (void)which;
    work w = {.x = v[0].s.v.t, .a = v[1].s.v.f};
    if (!is_positive(w.a, "exponential_ expects lambda > 0.0, but found lambda=%s") ||
        !is_continuous("Exponential", w.x))
        return NULL;
    return inplace(self, "exponential_", exponential_of, &w, &v[2]);
}

PyObject *run_log_normal_(PyObject *self, py_value *v, int which)
{
    (void)which;
    work w = {.x = v[0].s.v.t, .a = v[1].s.v.f, .b = v[2].s.v.f};
    if (!is_positive(w.b, "log_normal_ expects std > 0.0, but found std=%s") || !is_floating("log_normal", w.x))
        return NULL;
    return inplace(self, "log_normal_", log_normal_of, &w, &v[3]);
}

PyObject *run_cauchy_(PyObject *self, py_value *v, int which)
{
    (void)which;
    work w = {.x = v[0].s.v.t, .a = v[1].s.v.f, .b = v[2].s.v.f};
    if (!is_positive(w.b, "cauchy_ expects sigma > 0.0, but found sigma=%s") || !is_continuous("Cauchy", w.x))
        return NULL;
    return inplace(self, "cauchy_", cauchy_of, &w, &v[3]);
}

PyObject *run_geometric_(PyObject *self, py_value *v, int which)
{
    (void)which;
    work w = {.x = v[0].s.v.t, .a = v[1].s.v.f};
    if (!(w.a > 0 && w.a < 1)) {
        char text[32];
        PyOS_snprintf(text, sizeof text, "%g", w.a);
        return PyErr_Format(PyExc_RuntimeError, "geometric_ expects p to be in (0, 1), but got p=%s", text);
    }
    if (!is_drawn("geometric", w.x, tn_tensor_dtype(w.x) != TN_BOOL))
        return NULL;
    return inplace(self, "geometric_", geometric_of, &w, &v[2]);
}

/* ---- multinomial ---- */

enum { CHUNK = 1 << 22 }; /* comparisons of samples with categories at once */

/* With replacement: the category is how many entries of the running sum are not above u times the whole. One whose
 * probability is 0 has an empty interval. In float64, where u < 1 makes u * total < total. cdf is [rows, categories]. */
static tn_tensor *draw_again(tn_tensor *cdf, int64_t n)
{
    int64_t rows = tn_tensor_size(cdf, 0), c = tn_tensor_size(cdf, 1), step = CHUNK / (rows * c) + 1;
    tn_tensor *total = tn_slice(cdf, 1, c - 1, c, 1), *edges = tn_unsqueeze(cdf, 1);
    tn_tensor *r = tn_empty(TN_SHAPE(rows, n), .dtype = TN_I64, .device = tn_tensor_device(cdf));
    for (int64_t at = 0; r && at < n; at += step) {
        int64_t k = n - at < step ? n - at : step;
        tn_scope *scope = tn_scope_open();
        tn_tensor *u = tn_rand(TN_SHAPE(rows, k), .dtype = TN_F64, .device = tn_tensor_device(cdf));
        tn_tensor *below = tn_ge(tn_unsqueeze(tn_mul(u, total), 2), edges);
        bool ok = tn_copy_(tn_slice(r, 1, at, at + k, 1), tn_sum(below, .dim = TN_DIMS(2))) != NULL;
        tn_scope_close(scope);
        if (!ok)
            return NULL;
    }
    return r;
}

/* Without: the order of p / e, e exponential (Efraimidis and Spirakis 2006: u^(1/p), in logarithms). Categories whose
 * probability is 0 come last. */
static tn_tensor *draw_once(tn_tensor *p, int64_t n)
{
    tn_tensor *e = tn_clamp_min(tn_neg(log_uniform(p)), 1e-300);
    tn_tensor *score = tn_div(p, e);
    tn_tensor *r = tn_empty(TN_SHAPE(tn_tensor_size(p, 0), n), .dtype = TN_I64, .device = tn_tensor_device(p));
    for (int64_t i = 0; r && score && i < n; i++) {
        tn_scope *scope = tn_scope_open();
        tn_tensor *best = tn_argmax(score, .dim = TN_DIMS(1), .keepdim = true);
        bool ok = tn_copy_(tn_slice(r, 1, i, i + 1, 1), best) && tn_scatter_(score, 1, best, -1.0);
        tn_scope_close(scope);
        if (!ok)
            return NULL;
    }
    return score ? r : NULL;
}

/* Waits for the device: what is no distribution is an error at once, also on a GPU. */
static const char *why_not(tn_tensor *p)
{
    tn_tensor *high = tn_amax(p), *low = tn_amin(p);
    if (!high || !low)
        return NULL;
    if (!(isfinite(tn_item(high)) && tn_item(low) >= 0))
        return "probability tensor contains either `inf`, `nan` or element < 0";
    tn_tensor *least = tn_amin(tn_sum(p, .dim = TN_DIMS(1)));
    return least && !(tn_item(least) > 0) ? "invalid multinomial distribution (sum of probabilities <= 0)" : NULL;
}

static tn_tensor *multinomial_of(work *w)
{
    tn_tensor *p = tn_to(tn_detach(w->x), .dtype = TN_F64);
    bool flat = tn_tensor_ndim(w->x) == 1;
    if (flat)
        p = tn_unsqueeze(p, 0);
    if (tn_tensor_size(p, 0) == 0)
        return tn_empty(TN_SHAPE(0, w->n), .dtype = TN_I64, .device = tn_tensor_device(w->x));
    w->why = p ? why_not(p) : NULL;
    if (!p || w->why)
        return NULL;
    tn_tensor *r = w->flag ? draw_again(tn_cumsum(p, 1), w->n) : draw_once(p, w->n);
    return tn_detach(flat ? tn_squeeze(r, .dim = TN_DIMS(0)) : r); /* no view of what nobody has */
}

PyObject *run_multinomial(PyObject *self, py_value *v, int which)
{
    (void)self, (void)which;
    work w = {.x = v[0].s.v.t, .n = v[1].s.v.i, .flag = v[2].s.v.i != 0};
    int32_t ndim = tn_tensor_ndim(w.x);
    const char *why = NULL;
    if (ndim < 1 || ndim > 2)
        why = "prob_dist must be 1 or 2 dim";
    else if (w.n <= 0)
        why = "cannot sample n_sample <= 0 samples";
    else if (!w.flag && w.n > tn_tensor_size(w.x, -1))
        why = "cannot sample n_sample > prob_dist.size(-1) samples without replacement";
    else if (tn_tensor_size(w.x, -1) == 0)
        why = "invalid multinomial distribution (sum of probabilities <= 0)";
    if (why)
        return PyErr_Format(PyExc_RuntimeError, "%s", why);
    if (!tn_dtype_is_floating_point(tn_tensor_dtype(w.x)))
        return PyErr_Format(PyExc_RuntimeError, "multinomial only supports floating-point dtypes for input, got: %s",
                            py_scalar_type_name(tn_tensor_dtype(w.x)));
    tn_tensor *out = v[4].given ? v[4].s.v.t : NULL;
    if (out && !tn_device_equal(tn_tensor_device(out), tn_tensor_device(w.x)))
        return PyErr_Format(PyExc_RuntimeError,
                            "Expected all tensors to be on the same device, but found at least two devices, %s and %s!",
                            tn_device_text(tn_tensor_device(w.x)).s, tn_device_text(tn_tensor_device(out)).s);
    if (out && tn_tensor_dtype(out) != TN_I64)
        return PyErr_Format(PyExc_RuntimeError, "multinomial expects Long tensor out, got: %s",
                            py_scalar_type_name(tn_tensor_dtype(out)));
    return fresh("multinomial", multinomial_of, &w, &v[3], &v[4]);
}
