/* The layers: linear, flatten, dropout, activations. Written as a user writes modules, but that they know their slots. */
#include "nn/module.h"
#include "core/alloc.h"
#include <math.h>
#include <stdio.h>

/* Gives a module without an owner to the innermost scope. NULL passes. */
static tn_module *hand_out(tn__thread *t, tn_module *m)
{
    if (m)
        tn__scope_adopt(t, m);
    return m;
}

/* ---- linear: slot 0 is the weight, slot 1 the bias, if there is one ---- */

static tn_tensor *linear_forward(tn_module *m, tn_tensor *x)
{
    tn_tensor *bias = m->slots[TN__PARAMETERS].n > 1 ? tn__slot_tensor(m, TN__PARAMETERS, 1) : TN_NONE;
    return tn_linear(x, tn__slot_tensor(m, TN__PARAMETERS, 0), bias);
}

static int64_t linear_describe(const tn_module *m, char *out, size_t n)
{
    const tn_tensor *w = tn__slot_tensor(m, TN__PARAMETERS, 0);
    return snprintf(out, n, "in_features=%lld, out_features=%lld, bias=%s", (long long)tn_tensor_size(w, -1),
                    (long long)tn_tensor_size(w, 0), m->slots[TN__PARAMETERS].n > 1 ? "True" : "False");
}

/* A parameter uniform in +-bound; torch.nn.Linear's kaiming_uniform(a = sqrt(5)) comes to bound = 1 / sqrt(in). */
static bool add_uniform(tn_module *m, const char *name, tn_dims shape, double bound, const tn_nn_linear_options *o)
{
    tn_tensor *t = tn_module_add_parameter(m, name, tn_empty(shape, .device = o->device, .dtype = o->dtype));
    return tn_init_uniform_(t, -bound, bound) != NULL;
}

tn_module *tn_nn_linear_opt(int64_t in, int64_t out, const tn_nn_linear_options *options)
{
    static const tn_module_class cls = {
        .struct_size = sizeof cls, .name = "Linear", .forward = linear_forward, .describe = linear_describe};
    tn_nn_linear_options o;
    tn__options_in(&o, sizeof o, options);
    tn__thread *t = tn__enter(o.site);
    tn_scope scope;
    tn__scope_push(t, &scope);
    tn_module *m = hand_out(t, tn__module_make(&cls, NULL));
    double bound = in > 0 ? 1 / sqrt((double)in) : 0;
    if (m && (!add_uniform(m, "weight", TN_SHAPE(out, in), bound, &o) ||
              (!o.no_bias && !add_uniform(m, "bias", TN_SHAPE(out), bound, &o))))
        m = NULL;
    return tn__scope_pop(t, &scope, m);
}

tn_module *(tn_nn_linear)(int64_t in, int64_t out)
{
    return tn_nn_linear_opt(in, out, NULL);
}

/* ---- flatten ---- */

typedef struct flatten_dims {
    int64_t start, end;
} flatten_dims;

static tn_tensor *flatten_forward(tn_module *m, tn_tensor *x)
{
    const flatten_dims *d = m->ctx;
    int64_t start = d->start < 0 ? d->start + x->ndim : d->start, end = d->end < 0 ? d->end + x->ndim : d->end;
    if (start == end && start >= 0 && start < x->ndim)
        return x;
    return tn_flatten(x, d->start, d->end);
}

static int64_t flatten_describe(const tn_module *m, char *out, size_t n)
{
    const flatten_dims *d = m->ctx;
    return snprintf(out, n, "start_dim=%lld, end_dim=%lld", (long long)d->start, (long long)d->end);
}

static void flatten_destroy(void *ctx)
{
    tn__block_put(ctx, sizeof(flatten_dims));
}

/* A module of that class with a copy of a context that 'destroy' frees. */
static tn_module *make_with(const tn_module_class *cls, const void *ctx, size_t bytes)
{
    void *copy = tn__block_get(bytes);
    if (!copy) {
        tn__error_memory("a module's context", bytes);
        return NULL;
    }
    memcpy(copy, ctx, bytes);
    tn_module *m = tn__module_make(cls, copy);
    if (!m)
        tn__block_put(copy, bytes);
    return m;
}

/* A dimension that was given, or the default. */
static bool dim_option(const tn_scalar *s, int64_t otherwise, int64_t *out)
{
    *out = s->kind == TN_SCALAR_INT ? s->v.i : otherwise;
    if (s->kind == TN_SCALAR_INT || s->kind == TN_SCALAR_NONE)
        return true;
    tn__error(TN_ETYPE, "tn_nn_flatten: a dimension must be a whole number: .start_dim = TN_SCALAR(0)");
    return false;
}

tn_module *tn_nn_flatten_opt(const tn_nn_flatten_options *options)
{
    static const tn_module_class cls = {.struct_size = sizeof cls,
                                        .name = "Flatten",
                                        .forward = flatten_forward,
                                        .destroy = flatten_destroy,
                                        .describe = flatten_describe};
    tn_nn_flatten_options o;
    flatten_dims d;
    tn__options_in(&o, sizeof o, options);
    tn__thread *t = tn__enter(o.site);
    if (!dim_option(&o.start_dim, 1, &d.start) || !dim_option(&o.end_dim, -1, &d.end))
        return NULL;
    return hand_out(t, make_with(&cls, &d, sizeof d));
}

tn_module *(tn_nn_flatten)(void)
{
    return tn_nn_flatten_opt(NULL);
}

/* ---- dropout ---- */

static tn_tensor *dropout_forward(tn_module *m, tn_tensor *x)
{
    double p = *(const double *)m->ctx;
    return m->training && p > 0 ? tn_dropout(x, p) : x;
}

static int64_t dropout_describe(const tn_module *m, char *out, size_t n)
{
    return snprintf(out, n, "p=%s, inplace=False", tn__float_str(*(const double *)m->ctx).s);
}

static void dropout_destroy(void *ctx)
{
    tn__block_put(ctx, sizeof(double));
}

tn_module *tn_nn_dropout_at(const char *site, double p)
{
    static const tn_module_class cls = {.struct_size = sizeof cls,
                                        .name = "Dropout",
                                        .forward = dropout_forward,
                                        .destroy = dropout_destroy,
                                        .describe = dropout_describe};
    tn__thread *t = tn__enter(site);
    if (!(p >= 0 && p <= 1))
        return tn__fail(TN_EVALUE, "dropout probability has to be between 0 and 1, but got %s", tn__float_str(p).s);
    return hand_out(t, make_with(&cls, &p, sizeof p));
}

tn_module *(tn_nn_dropout)(double p)
{
    return tn_nn_dropout_at(TN__NOWHERE, p);
}

/* ---- activations ---- */

static tn_tensor *relu_forward(tn_module *m, tn_tensor *x)
{
    (void)m;
    return tn_relu(x);
}

static tn_tensor *sigmoid_forward(tn_module *m, tn_tensor *x)
{
    (void)m;
    return tn_sigmoid(x);
}

static tn_tensor *tanh_forward(tn_module *m, tn_tensor *x)
{
    (void)m;
    return tn_tanh(x);
}

static tn_tensor *identity_forward(tn_module *m, tn_tensor *x)
{
    (void)m;
    return x;
}

static tn_module *make_plain(const char *name, tn_tensor *(*forward)(tn_module *, tn_tensor *))
{
    const tn_module_class cls = {.struct_size = sizeof cls, .name = name, .forward = forward};
    tn__thread *t = tn__enter(TN__NOWHERE);
    return hand_out(t, tn__module_make(&cls, NULL));
}

tn_module *tn_nn_relu(void)
{
    return make_plain("ReLU", relu_forward);
}

tn_module *tn_nn_sigmoid(void)
{
    return make_plain("Sigmoid", sigmoid_forward);
}

tn_module *tn_nn_tanh(void)
{
    return make_plain("Tanh", tanh_forward);
}

tn_module *tn_nn_identity(void)
{
    return make_plain("Identity", identity_forward);
}
