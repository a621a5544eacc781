/* Printing, to the letter as PyTorch prints (its _tensor_str.py of 2.14 was read for the rules). */
#include "autograd/functions.h"
#include "backend/host_touch.h"
#include "core/alloc.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <tenon/autograd.h>
#include <tenon/dtype.h>

typedef struct text {
    char *s;
    int64_t n, cap;
    bool failed;
} text;

/* How one tensor's numbers are written: decided by all that will be shown. */
typedef struct style {
    tn_print_options o;
    bool floating, whole, scientific, summarize;
    int width;
    double least, most; /* of finite non-zero magnitudes */
    bool any;
} style;

static _Atomic int32_t option[5]; /* precision, threshold, edgeitems, linewidth, sci_mode; 0: default, -1: zero */

void tn_set_print_options(tn_print_options o)
{
    const int32_t values[5] = {o.precision, o.threshold, o.edgeitems, o.linewidth, o.sci_mode};
    for (int i = 0; i < 5; i++)
        atomic_store(&option[i], values[i]);
}

static tn_print_options print_options(void)
{
    static const int32_t otherwise[5] = {4, 1000, 3, 80, 0};
    int32_t v[5];
    for (int i = 0; i < 5; i++) {
        v[i] = atomic_load(&option[i]);
        if (i < 4)
            v[i] = v[i] ? TN_MAX(v[i], 0) : otherwise[i];
    }
    return (tn_print_options){v[0], v[1], v[2], v[3], v[4]};
}

static void put(text *t, const char *s, int64_t n)
{
    if (t->failed || !tn__grow(&t->s, 1, &t->cap, t->n + n + 1)) {
        t->failed = true;
        return;
    }
    memcpy(t->s + t->n, s, (size_t)n);
    t->n += n;
    t->s[t->n] = '\0';
}

static void puts_(text *t, const char *s)
{
    put(t, s, (int64_t)strlen(s));
}

static void spaces(text *t, int n)
{
    for (; n > 0; n--)
        put(t, " ", 1);
}

/* ---- one number ---- */

static int number(const style *s, const tn_tensor *t, const void *p, char *out, size_t size)
{
    if (t->dtype == TN_BOOL)
        return snprintf(out, size, "%s", tn__load_int(TN_BOOL, p) ? "True" : "False");
    if (t->dtype == TN_U64)
        return snprintf(out, size, "%llu", (unsigned long long)tn__load_int(t->dtype, p));
    if (!s->floating)
        return snprintf(out, size, "%lld", (long long)tn__load_int(t->dtype, p));
    double v = tn__load_double(t->dtype, p);
    if (isnan(v)) /* C may print a sign */
        return snprintf(out, size, "nan");
    if (s->scientific)
        return snprintf(out, size, "%.*e", (int)s->o.precision, v);
    if (s->whole)
        return snprintf(out, size, isinf(v) ? "%.0f" : "%.0f.", v);
    return snprintf(out, size, "%.*f", (int)s->o.precision, v);
}

static const char *at(const tn_tensor *t, int64_t offset)
{
    return (const char *)tn__tensor_data(t) + offset * (int64_t)tn__dtype_size(t->dtype);
}

static bool cut_short(const style *s, int64_t n)
{
    return s->summarize && n > 2 * s->o.edgeitems;
}

/* Calls f for every element that will be shown. */
static void each_shown(style *s, const tn_tensor *t, int32_t dim, int64_t offset,
                       void (*f)(style *s, const tn_tensor *t, const void *p))
{
    if (dim == t->ndim) {
        f(s, t, at(t, offset));
        return;
    }
    int64_t n = t->shape[dim];
    for (int64_t i = 0; i < n; i++) {
        if (cut_short(s, n) && i == s->o.edgeitems)
            i = n - s->o.edgeitems;
        each_shown(s, t, dim + 1, offset + i * t->stride[dim], f);
    }
}

static void look(style *s, const tn_tensor *t, const void *p)
{
    double v = tn__load_double(t->dtype, p), a = fabs(v);
    if (!isfinite(v) || v == 0)
        return;
    s->least = s->any ? fmin(s->least, a) : a;
    s->most = s->any ? fmax(s->most, a) : a;
    s->any = true;
    s->whole &= v == ceil(v);
}

static void measure(style *s, const tn_tensor *t, const void *p)
{
    char b[512];
    if (s->floating) {
        double v = tn__load_double(t->dtype, p);
        if (!isfinite(v) || v == 0)
            return;
    }
    int n = number(s, t, p, b, sizeof b);
    s->width = TN_MAX(s->width, n);
}

static style style_of(const tn_tensor *t, bool summarize)
{
    style s = {.o = print_options(), .floating = tn__dtype_is_float(t->dtype), .whole = true, .width = 1};
    s.summarize = summarize;
    if (s.floating) {
        each_shown(&s, t, 0, 0, look);
        if (!s.any)
            return s;
        s.scientific = s.most / s.least > 1000.0 || s.most > 1.0e8 || s.least < 1.0e-4;
        if (s.o.sci_mode)
            s.scientific = s.o.sci_mode > 0;
    }
    each_shown(&s, t, 0, 0, measure);
    return s;
}

/* ---- brackets ---- */

static void put_number(text *x, const style *s, const tn_tensor *t, int64_t offset)
{
    char b[512];
    int n = number(s, t, at(t, offset), b, sizeof b);
    spaces(x, s->width - n);
    put(x, b, n);
}

static void put_vector(text *x, const style *s, const tn_tensor *t, int32_t dim, int64_t offset, int indent)
{
    int64_t n = t->shape[dim], shown = 0, per_line = (s->o.linewidth - indent) / (s->width + 2);
    per_line = TN_MAX(per_line, 1);
    put(x, "[", 1);
    for (int64_t i = 0; i < n; i++, shown++) {
        if (shown) {
            if (shown % per_line == 0) {
                puts_(x, ",\n");
                spaces(x, indent + 1);
            } else {
                puts_(x, ", ");
            }
        }
        if (cut_short(s, n) && i == s->o.edgeitems && shown == i) {
            puts_(x, " ...");
            i = n - s->o.edgeitems - 1;
            continue;
        }
        put_number(x, s, t, offset + i * t->stride[dim]);
    }
    put(x, "]", 1);
}

static void put_tensor(text *x, const style *s, const tn_tensor *t, int32_t dim, int64_t offset, int indent)
{
    if (t->ndim == 0) {
        put_number(x, s, t, 0);
        return;
    }
    if (dim == t->ndim - 1) {
        put_vector(x, s, t, dim, offset, indent);
        return;
    }
    int64_t n = t->shape[dim];
    put(x, "[", 1);
    for (int64_t i = 0; i < n; i++) {
        if (i) {
            put(x, ",", 1);
            for (int32_t k = 0; k < t->ndim - 1 - dim; k++)
                put(x, "\n", 1);
            spaces(x, indent + 1);
        }
        if (cut_short(s, n) && i == s->o.edgeitems) {
            puts_(x, "...,");
            for (int32_t k = 0; k < t->ndim - 1 - dim; k++)
                put(x, "\n", 1);
            spaces(x, indent + 1);
            i = n - s->o.edgeitems;
        }
        put_tensor(x, s, t, dim + 1, offset + i * t->stride[dim], indent + 1);
    }
    put(x, "]", 1);
}

/* ---- what follows the numbers ---- */

static void put_suffix(text *x, int64_t *line, int linewidth, const char *format, ...) TN_PRINTF(4, 5);
static void put_suffix(text *x, int64_t *line, int linewidth, const char *format, ...)
{
    char b[256];
    va_list ap;
    va_start(ap, format);
    int n = vsnprintf(b, sizeof b, format, ap);
    va_end(ap);
    if (*line + n + 2 > linewidth) {
        puts_(x, ",\n       ");
        *line = 7 + n;
    } else {
        puts_(x, ", ");
        *line += n + 2;
    }
    puts_(x, b);
}

static void tuple(const tn_tensor *t, char *out, size_t n)
{
    size_t k = (size_t)snprintf(out, n, "(");
    for (int32_t d = 0; d < t->ndim && k < n; d++)
        k += (size_t)snprintf(out + k, n - k, d ? ", %lld" : "%lld", (long long)t->shape[d]);
    if (k < n)
        snprintf(out + k, n - k, t->ndim == 1 ? ",)" : ")");
}

/* A view whose history is lost, since it was written to in another mode, cannot say what made it. */
static void put_history(text *x, int64_t *line, int linewidth, const tn_tensor *t)
{
    if (!tn_tensor_requires_grad(t))
        return;
    if (tn_tensor_is_leaf(t)) {
        put_suffix(x, line, linewidth, "requires_grad=True");
        return;
    }
    tn_name grad_fn = tn_tensor_grad_fn(t);
    const bool known = *grad_fn.s;
    put_suffix(x, line, linewidth, "grad_fn=<%s>", known ? grad_fn.s : "Invalid");
    if (!known)
        tn_error_clear();
}

static void put_suffixes(text *x, const tn_tensor *t, tn_print_options o)
{
    const int linewidth = o.linewidth;
    char size[200];
    bool meta = t->device.type == TN_DEVICE_META, plain = t->dtype == tn__default_dtype();
    int64_t line = x->n + 2;
    for (int64_t i = x->n - 1; i >= 0 && !x->failed; i--)
        if (x->s[i] == '\n') {
            line = x->n - i + 1;
            break;
        }
    tuple(t, size, sizeof size);
    if (t->device.type != TN_DEVICE_CPU)
        put_suffix(x, &line, linewidth, "device='%s'", tn_device_text(t->device).s);
    if (meta || (t->numel == 0 ? t->ndim != 1 : o.edgeitems == 0))
        put_suffix(x, &line, linewidth, "size=%s", size);
    if (meta || t->numel == 0 ? !plain : !plain && t->dtype != TN_I64 && t->dtype != TN_BOOL)
        put_suffix(x, &line, linewidth, "dtype=torch.%s", tn_dtype_name(t->dtype));
    put_history(x, &line, linewidth, t);
    put(x, ")", 1);
}

/* Of a long tensor elsewhere what will be shown, and one more where "..." stands: the rest need not cross. */
static tn_tensor *edges_of(tn_tensor *t, int64_t edge)
{
    for (int32_t d = 0; t && d < t->ndim && edge >= 0; d++) {
        int64_t n = t->shape[d];
        if (n > 2 * edge + 1)
            t = tn_cat(TN_TENSORS(tn_narrow(t, d, 0, edge + 1), tn_narrow(t, d, n - edge, edge)), d);
    }
    return t;
}

/* The whole text; false with an error set. */
static bool describe(text *x, const tn_tensor *t)
{
    tn_scope scope;
    tn__thread *self = tn__enter(TN__NOWHERE);
    const tn_print_options o = print_options();
    const bool summarize = t->numel > o.threshold;
    const tn_tensor *host = t;
    tn__scope_push(self, &scope);
    if (t->device.type != TN_DEVICE_CPU && t->device.type != TN_DEVICE_META) {
        tn_tensor *there = tn_detach((tn_tensor *)(uintptr_t)t);
        host = tn_cpu(summarize ? edges_of(there, o.edgeitems) : there);
    } else if (tn__host_touch(t, false)) {
        host = NULL;
    }
    if (host) {
        puts_(x, "tensor(");
        if (t->device.type == TN_DEVICE_META) {
            puts_(x, "...");
        } else if (t->numel == 0) {
            puts_(x, "[]");
        } else if (summarize && t->ndim && o.edgeitems == 0) {
            puts_(x, "[...]");
        } else {
            style s = style_of(host, summarize);
            put_tensor(x, &s, host, 0, 0, 7);
        }
        put_suffixes(x, t, o);
    }
    tn__scope_pop(self, &scope, NULL);
    if (host && x->failed)
        tn__error_memory("a tensor's text", (size_t)x->n);
    return host && !x->failed;
}

int64_t tn_to_string(const tn_tensor *t, char *out, size_t n)
{
    text x = {NULL, 0, 0, false};
    int64_t len = -1;
    if (n)
        *out = '\0';
    if (!t || t == TN_NONE) {
        tn__enter(TN__NOWHERE);
        tn__poisoned("tn_to_string");
        return -1;
    }
    if (describe(&x, t)) {
        len = x.n;
        if (n) {
            size_t k = TN_MIN((size_t)x.n, n - 1);
            memcpy(out, x.s, k);
            out[k] = '\0';
        }
    }
    tn__block_put(x.s, (size_t)x.cap);
    return len;
}

void tn_print(const tn_tensor *t)
{
    text x = {NULL, 0, 0, false};
    if (!t || t == TN_NONE || !describe(&x, t))
        fprintf(stderr, "%s\n", t && t != TN_NONE ? tn_error_message() : t ? "TN_NONE" : tn_error_message());
    else
        printf("%s\n", x.s);
    tn__block_put(x.s, (size_t)x.cap);
}
