/* What a program's own operation is held against: itself in other layouts, dtypes and on other devices, and differences. */
#include "autograd/functions.h"
#include "core/error.h"
#include "op/own.h"
#include <math.h>
#include <stdio.h>
#include <tenon/autograd.h>
#include <tenon/device.h>
#include <tenon/dtype.h>

enum { DIFFERENCES = 48, DEVICES = 2 }; /* elements of an input that are moved; GPUs that are asked */

typedef struct check {
    const tn_op *op;
    tn_op_params params;
    int32_t n;
    tn_tensor *in[TN_OP_INPUTS]; /* without history, on the CPU, or TN_NONE */
    double tolerance;
} check;

typedef struct results {
    tn_tensor *r[TN_OP_RESULTS];
} results;

static tn_status call(const check *k, tn_tensor *const *in, results *out)
{
    *out = (results){{NULL}};
    out->r[0] = tn_op_call(k->op, ((tn_tensors){in, (size_t)k->n}), .params = k->params, .second = &out->r[1]);
    return out->r[0] ? TN_OK : tn_error_code();
}

static bool is_floating(const tn_tensor *t)
{
    return t != TN_NONE && tn__dtype_is_float(t->dtype);
}

/* Each tensor among the inputs as f makes it of the check's own. */
typedef tn_tensor *(*changer)(tn_tensor *t, const void *how);

static tn_status change(const check *k, changer f, const void *how, tn_tensor **to)
{
    for (int32_t i = 0; i < k->n; i++)
        if (!(to[i] = k->in[i] == TN_NONE ? TN_NONE : f(k->in[i], how)))
            return tn_error_code();
    return TN_OK;
}

/* ---- comparing ---- */

/* How far results of a dtype may be from those of a wider one. */
static double slack(tn_dtype d)
{
    return d == TN_F64 ? 1e-9 : d == TN_F32 ? 2e-5 : d == TN_F16 ? 4e-3 : d == TN_BF16 ? 3e-2 : 0;
}

static tn_tensor *home(tn_tensor *t)
{
    return tn_to(tn_detach(t), .device = TN_CPU, .dtype = tn__dtype_is_float(t->dtype) ? TN_F64 : t->dtype);
}

static bool is_close(tn_tensor *x, tn_tensor *y, double tolerance)
{
    const tn_scalar most = tn_scalar_f(tolerance);
    return tn_allclose(x, y, .rtol = most, .atol = most, .equal_nan = true);
}

/* tolerance 0: the same values. */
static tn_status compare(const check *k, const char *what, const results *a, const results *b, double tolerance)
{
    for (int32_t i = 0; i < k->op->def.results; i++) {
        tn_tensor *x = a->r[i], *y = b->r[i];
        if (!x || !y || !tn__same_shape(x->shape, x->ndim, y->shape, y->ndim))
            return tn__error(TN_EINVAL, "%s: %s: result %d has the shape %s, not %s", k->op->name, what, (int)i,
                             x ? tn__shape_str(x->shape, x->ndim).s : "of nothing",
                             y ? tn__shape_str(y->shape, y->ndim).s : "of nothing");
        x = home(x);
        y = home(y);
        if (!x || !y)
            return tn_error_code();
        if (is_close(x, y, tolerance))
            continue;
        if (tn_error_code())
            return tn_error_code();
        return tn__error(TN_EINVAL, "%s: %s: result %d differs: at most by %g", k->op->name, what, (int)i,
                         tn_item(tn_amax(tn_abs(tn_sub(x, y)))));
    }
    return TN_OK;
}

/* ---- layouts ---- */

static tn_tensor *transposed(tn_tensor *t, const void *how)
{
    (void)how;
    return t->ndim < 2 ? t : tn_transpose(tn_contiguous(tn_transpose(t, 0, t->ndim - 1)), 0, t->ndim - 1);
}

static tn_tensor *part_of_larger(tn_tensor *t, const void *how)
{
    (void)how;
    if (!t->ndim)
        return t;
    return tn_narrow(tn_cat(TN_TENSORS(t, t, t), t->ndim - 1), t->ndim - 1, t->shape[t->ndim - 1],
                     t->shape[t->ndim - 1]);
}

/* Those of most dimensions lose their elements; the others are repeated. */
static tn_tensor *emptied(tn_tensor *t, const void *how)
{
    const int32_t *most = how;
    return t->ndim == *most ? tn_narrow(t, 0, 0, 0) : t;
}

static tn_tensor *copied(tn_tensor *t, const void *how)
{
    (void)how;
    return tn_clone(t);
}

static tn_tensor *moved(tn_tensor *t, const void *how)
{
    const tn_device *d = how;
    return tn_to(t, .device = *d);
}

static tn_tensor *as_dtype(tn_tensor *t, const void *how)
{
    const tn_dtype *d = how;
    return is_floating(t) ? tn_to(t, .dtype = *d) : t;
}

static tn_status check_layout(const check *k, const char *what, changer f, const results *want)
{
    tn_tensor *in[TN_OP_INPUTS];
    results got;
    tn_status e = change(k, f, NULL, in);
    if (!e)
        e = call(k, in, &got);
    return e ? e : compare(k, what, &got, want, 0);
}

static tn_status check_empty(const check *k)
{
    tn_tensor *in[TN_OP_INPUTS];
    results got;
    int32_t most = 0;
    for (int32_t i = 0; i < k->n; i++)
        if (k->in[i] != TN_NONE)
            most = TN_MAX(most, k->in[i]->ndim);
    if (!most || k->op->def.rule == TN_OP_ANY || k->op->def.shape)
        return TN_OK;
    tn_status e = change(k, emptied, &most, in);
    if (!e && (e = call(k, in, &got)))
        return tn__error_append("\n  of inputs without elements");
    return e;
}

static tn_status check_itself(const check *k, const results *want)
{
    tn_status e = check_layout(k, "the same call again", copied, want);
    if (!e)
        e = check_layout(k, "of transposed inputs", transposed, want);
    if (!e)
        e = check_layout(k, "of inputs that are part of larger tensors", part_of_larger, want);
    return e ? e : check_empty(k);
}

/* ---- dtypes and devices ---- */

static bool has_dtype(const check *k, tn_dtype d)
{
    return tn__dtype_is_float(d) && k->op->def.dtypes >> d & 1;
}

/* Results in dtype d beside those of the same numbers in the widest one. */
static tn_status check_dtype(const check *k, tn_dtype d, tn_dtype widest)
{
    check narrow = *k, wide = *k;
    results a, b;
    char what[64];
    tn_status e = change(k, as_dtype, &d, narrow.in);
    if (!e)
        e = change(&narrow, as_dtype, &widest, wide.in);
    if (!e && !(e = call(&narrow, narrow.in, &a)))
        e = call(&wide, wide.in, &b);
    snprintf(what, sizeof what, "%s beside %s", tn_dtype_name(d), tn_dtype_name(widest));
    return e ? e : compare(k, what, &a, &b, slack(d));
}

static tn_status check_on(const check *k, tn_device device, tn_dtype d)
{
    check here = *k, there = *k;
    results a, b, c;
    char what[80];
    tn_status e = d ? change(k, as_dtype, &d, here.in) : TN_OK;
    if (!e)
        e = change(&here, moved, &device, there.in);
    if (!e && !(e = call(&here, here.in, &a)))
        e = call(&there, there.in, &b);
    snprintf(what, sizeof what, "%s on %s", d ? tn_dtype_name(d) : "the inputs", tn_device_text(device).s);
    if (!e && !(e = compare(k, what, &b, &a, d ? slack(d) : slack(a.r[0]->dtype))))
        e = call(&there, there.in, &c);
    if (!e)
        e = compare(k, what, &c, &b, 0);
    return e ? e : check_layout(&there, what, transposed, &b);
}

static tn_status check_dtypes(const check *k, bool floating)
{
    const int32_t gpus = k->op->kernel ? TN_MIN(tn_cuda_device_count(), DEVICES) : 0;
    const tn_dtype widest = has_dtype(k, TN_F64) ? TN_F64 : has_dtype(k, TN_F32) ? TN_F32 : 0;
    tn_status e = TN_OK;
    for (tn_dtype d = TN_F16; d <= TN_F64 && floating && !e; d++) {
        if (!has_dtype(k, d))
            continue;
        if (widest && k->op->def.cpu)
            e = check_dtype(k, d, widest);
        for (int32_t i = 0; i < gpus && !e && k->op->def.cpu; i++)
            e = check_on(k, tn_device_make(TN_DEVICE_CUDA, i), d);
    }
    for (int32_t i = 0; i < gpus && !e && !floating && k->op->def.cpu; i++)
        e = check_on(k, tn_device_make(TN_DEVICE_CUDA, i), 0);
    return e;
}

/* ---- gradients ---- */

/* A sum of all results, each element with a weight of its own, so that no two of their gradients can be confused. */
static tn_tensor *weighted(const check *k, const results *y)
{
    tn_tensor *sum = NULL;
    for (int32_t i = 0; i < k->op->def.results; i++) {
        tn_tensor *r = y->r[i];
        if (!r || !tn__dtype_is_float(r->dtype))
            continue;
        tn_tensor *w = tn_cos(tn_arange(0, r->numel, 1, .dtype = r->dtype, .device = r->device));
        tn_tensor *s = tn_sum(tn_mul(r, tn_add(tn_reshape(w, tn__shape_of(r)), 1.5 + i)));
        sum = sum ? tn_add(sum, s) : s;
        if (!sum)
            return NULL;
    }
    return sum ? sum : tn__fail(TN_EGRAD, "%s has a backward, but no result that has a gradient", k->op->name);
}

/* What is differentiated: order 1, of the results; order 2, of a weighted sum of their gradients. */
static tn_tensor *value_of(const check *k, tn_tensor *const *in, int order, tn_tensor **grad)
{
    tn_tensor *xs[TN_OP_INPUTS], *g[TN_OP_INPUTS] = {NULL};
    results y;
    size_t n = 0;
    for (int32_t i = 0; i < k->n; i++)
        if (is_floating(in[i]))
            xs[n++] = in[i];
    tn_tensor *v = call(k, in, &y) ? NULL : weighted(k, &y);
    for (int at = 1; v && (at < order || (at == order && grad)); at++) {
        if (tn_grad(((tn_tensors){&v, 1}), ((tn_tensors){xs, n}), g, .create_graph = at < order, .allow_unused = true))
            return NULL;
        if (at == order)
            break;
        tn_tensor *sum = NULL;
        for (size_t i = 0; i < n; i++) {
            results one = {{g[i], NULL}};
            check first = *k;
            if (!g[i])
                continue;
            tn_tensor *s = weighted(&first, &one);
            sum = sum ? tn_add(sum, s) : s;
            if (!sum)
                return NULL;
        }
        v = sum;
    }
    for (size_t i = 0; grad && i < n; i++)
        grad[i] = g[i];
    return v;
}

typedef struct slope {
    const check *k;
    tn_tensor **in;
    int order;
    tn_dtype dtype;
} slope;

/* The value with an element of a dense input moved. NAN: an error. */
static double value_at(const slope *s, tn_tensor *x, int64_t i, double to)
{
    tn_scope scope;
    tn__thread *t = tn__self();
    if (s->dtype == TN_F64)
        ((double *)tn_data(x))[i] = to;
    else
        ((float *)tn_data(x))[i] = (float)to;
    tn__scope_push(t, &scope);
    tn_tensor *v = value_of(s->k, s->in, s->order, NULL);
    const double value = v ? tn_item(v) : (double)NAN;
    tn__scope_pop(t, &scope, NULL);
    return value;
}

static tn_status check_slope(const slope *s, int32_t input, const double *grad)
{
    tn_tensor *x = s->in[input];
    const double step = s->dtype == TN_F64 ? 1e-6 : 1e-2, tolerance = s->k->tolerance;
    const int64_t stride = TN_MAX(x->numel / DIFFERENCES, 1);
    for (int64_t i = 0; i < x->numel; i += stride) {
        const double was = s->dtype == TN_F64 ? ((double *)tn_data(x))[i] : (double)((float *)tn_data(x))[i];
        const double up = value_at(s, x, i, was + step), down = value_at(s, x, i, was - step);
        const double back = value_at(s, x, i, was), found = (up - down) / (2 * step), said = grad ? grad[i] : 0;
        if (isnan(back) && tn_error_code())
            return tn_error_code();
        if (!(fabs(found - said) <= tolerance * (1 + fabs(found))))
            return tn__error(TN_EGRAD, "%s: the %sgradient of input %d is wrong at element %lld: %g, by differences %g",
                             s->k->op->name, s->order > 1 ? "second " : "", (int)input, (long long)i, said, found);
    }
    return TN_OK;
}

static tn_status check_order(const check *k, tn_tensor **in, int order, tn_dtype dtype)
{
    tn_tensor *grad[TN_OP_INPUTS] = {NULL};
    const slope s = {k, in, order, dtype};
    tn_tensor *v = value_of(k, in, order, grad);
    if (!v)
        return tn_error_code();
    tn_status e = TN_OK;
    for (int32_t i = 0, at = 0; i < k->n && !e; i++) {
        if (!is_floating(in[i]))
            continue;
        tn_tensor *g = grad[at++], *g64 = g ? tn_contiguous(home(g)) : NULL;
        if (g && !g64)
            return tn_error_code();
        e = check_slope(&s, i, g64 ? tn_data(g64) : NULL);
    }
    return e;
}

/* Is there a second derivative: was the gradient itself recorded? */
static bool is_recorded(const check *k, tn_tensor *const *in)
{
    tn_tensor *v = value_of(k, in, 2, NULL);
    const bool recorded = v && tn__wants_grad(v);
    if (!v)
        tn_error_clear();
    return recorded;
}

static tn_status check_gradients(const check *k)
{
    tn_tensor *in[TN_OP_INPUTS];
    const tn_dtype d = has_dtype(k, TN_F64) ? TN_F64 : TN_F32;
    check own = *k;
    tn_status e = has_dtype(k, d) ? change(k, as_dtype, &d, own.in) : TN_OK;
    if (e || !has_dtype(k, d) || !k->op->def.backward || !k->op->def.cpu)
        return e;
    own.tolerance = k->tolerance > 0 ? k->tolerance : d == TN_F64 ? 1e-4 : 2e-2;
    if ((e = change(&own, copied, NULL, in)))
        return e;
    for (int32_t i = 0; i < k->n; i++)
        if (is_floating(in[i]) && !tn_requires_grad_(in[i], true))
            return tn_error_code();
    e = check_order(&own, in, 1, d);
    return e || d != TN_F64 || !is_recorded(&own, in) ? e : check_order(&own, in, 2, d);
}

/* ---- all of it ---- */

static tn_status check_all(const check *k)
{
    tn_tensor *before[TN_OP_INPUTS];
    results want;
    bool floating = false;
    tn_status e = change(k, copied, NULL, before);
    if (!e)
        e = call(k, k->in, &want);
    for (int32_t i = 0; i < k->n && !e; i++) {
        if (k->in[i] != TN_NONE && !is_close(k->in[i], before[i], 0))
            e = tn__error(TN_EINVAL, "%s writes to its input %d", k->op->name, (int)i);
        floating |= is_floating(k->in[i]);
    }
    if (!e && (e = check_itself(k, &want)) == TN_OK)
        e = check_dtypes(k, floating);
    return e || !floating ? e : check_gradients(k);
}

tn_status tn_op_check_opt(const tn_op *op, tn_tensors inputs, const tn_op_check_options *options)
{
    tn_op_check_options o;
    tn_scope scope;
    tn__options_in(&o, sizeof o, options);
    tn__thread *t = tn__enter(o.site);
    if (!op)
        return tn__poisoned("tn_op_check");
    check k = {.op = op, .params = o.params, .n = (int32_t)inputs.n, .tolerance = o.tolerance};
    if (inputs.n != (size_t)op->def.inputs || !inputs.t)
        return tn__error(TN_EINVAL, "%s takes %d tensors, got %zu", op->name, (int)op->def.inputs, inputs.n);
    if (!op->def.cpu)
        return tn__error(TN_EMISSING, "%s has no CPU function that could be the measure of its kernel", op->name);
    const bool no_grad = t->no_grad;
    tn_status e = TN_OK;
    tn_error_clear();
    tn__scope_push(t, &scope);
    for (int32_t i = 0; i < k.n && !e; i++) {
        tn_tensor *x = inputs.t[i];
        if (!x || (x != TN_NONE && x->device.type != TN_DEVICE_CPU))
            e = x ? tn__error(TN_EDEVICE, "tn_op_check: inputs on the CPU were expected") : tn__poisoned("tn_op_check");
        else if (!(k.in[i] = x == TN_NONE ? x : tn_detach(x)))
            e = tn_error_code();
    }
    t->no_grad = false;
    e = e ? e : check_all(&k);
    t->no_grad = no_grad;
    tn__scope_pop(t, &scope, NULL);
    return e;
}
