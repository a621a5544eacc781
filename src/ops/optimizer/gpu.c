/* Optimiser steps: inputs 0.. are parameter, gradient and state. */
#include "backend/gpu/strided_view.h"
#include "core/error.h"
#include <math.h>

enum { SGD, ADAM, RULE, LOCAL = 256, MOST = 4 };

/* What lies dense in the parameter's dtype is worked on where it lies; the rest in dense copies, which are written back. */
typedef struct operands {
    const tn__launch *l;
    tn_dtype dtype;
    void *p[MOST];
    bool packed[MOST];
    int32_t vectors;
} operands;

static bool fits(const tn__view *v, tn_dtype dtype)
{
    return v->contiguous && v->dtype == dtype;
}

static tn_status take(operands *o, const tn__launch *l)
{
    *o = (operands){.l = l, .dtype = l->in[0].dtype, .vectors = 1};
    for (int32_t i = 0; i < l->n_in; i++) {
        const tn__view *v = &l->in[i];
        if (!v->dtype)
            continue;
        o->packed[i] = !fits(v, o->dtype);
        o->p[i] = o->packed[i] ? tn__gpu_packed(l->device, v, o->dtype) : v->data;
        if (!o->p[i])
            return tn_error_code();
        o->vectors &= (uintptr_t)o->p[i] % 16 == 0;
    }
    return TN_OK;
}

/* Gradients (input 1) are only read. */
static tn_status give_back(operands *o, tn_status e)
{
    int64_t stride[TN_MAX_DIMS];
    for (int32_t i = 0; i < o->l->n_in; i++) {
        if (!o->packed[i] || !o->p[i])
            continue;
        const tn__view dense = tn__gpu_dense_view(&o->l->in[i], o->p[i], o->dtype, stride);
        if (!e && i != 1)
            e = tn__gpu_copy_view(o->l->device, &o->l->in[i], &dense);
        tn__gpu_packed_put(o->l->device, o->p[i], &o->l->in[i], o->dtype);
    }
    return e;
}

static tn_status launch(const operands *o, uint32_t kernel, const tn__gpu_arg *args, int32_t n_arg)
{
    const tn__gpu_limits *limits = tn__gpu_limits_of(o->l->device);
    if (!limits)
        return tn_error_code();
    const int64_t items =
        o->vectors ? tn__div_up(o->l->in[0].numel, 16 / (int64_t)tn__dtype_size(o->dtype)) : o->l->in[0].numel;
    const tn__gpu_launch run = {.device = o->l->device,
                                .unit = {.family = TN__FAMILY_optim,
                                         .op = TN__OPS,
                                         .in = o->dtype,
                                         .out = o->dtype,
                                         .compute = tn__dtypes[o->dtype].compute},
                                .kernel = kernel,
                                .groups = {tn__gpu_spread(limits, items, LOCAL), 1, 1},
                                .local = {LOCAL, 1, 1},
                                .arg = args,
                                .n_arg = n_arg,
                                .label = tn__ops[o->l->op].name};
    return tn__gpu_run(&run);
}

tn_status tn__gpu_sgd_step(const tn__launch *l)
{
    const tn__sgd_params *a = l->params;
    operands o;
    if (l->in[0].numel == 0)
        return TN_OK;
    tn_status e = take(&o, l);
    if (!e) {
        const tn_dtype c = tn__dtypes[o.dtype].compute;
        const tn__gpu_number lr = tn__gpu_real(c, a->lr), momentum = tn__gpu_real(c, a->momentum),
                             keep = tn__gpu_real(c, 1 - a->dampening), decay = tn__gpu_real(c, a->weight_decay),
                             sign = tn__gpu_real(c, a->maximize ? -1 : 1);
        const int32_t how = (o.p[2] ? 1 : 0) | (a->first ? 2 : 0) | (a->nesterov ? 4 : 0);
        const int64_t n = l->in[0].numel;
        const tn__gpu_arg args[] = {TN__GPU_MEMORY(o.p[0]),
                                    TN__GPU_MEMORY(o.p[1]),
                                    TN__GPU_MEMORY(o.p[2]),
                                    tn__gpu_number_arg(c, &lr),
                                    tn__gpu_number_arg(c, &momentum),
                                    tn__gpu_number_arg(c, &keep),
                                    tn__gpu_number_arg(c, &decay),
                                    tn__gpu_number_arg(c, &sign),
                                    TN__GPU_VALUE(how),
                                    TN__GPU_VALUE(o.vectors),
                                    TN__GPU_VALUE(n)};
        e = launch(&o, SGD, args, (int32_t)TN_COUNT(args));
    }
    return give_back(&o, e);
}

/* A kernel of four pointers, numbers, further values, 'vectors' and the number of elements. */
static tn_status launch_numbers(operands *o, uint32_t kernel, const double *values, int32_t n_values,
                                const int32_t *how, int32_t n_how)
{
    enum { NUMBERS = 12, HOW = 2 };
    const tn_dtype c = tn__dtypes[o->dtype].compute;
    const int64_t n = o->l->in[0].numel;
    tn__gpu_number number[NUMBERS];
    tn__gpu_arg args[MOST + NUMBERS + HOW + 2];
    int32_t k = 0;
    for (; k < MOST; k++)
        args[k] = (tn__gpu_arg)TN__GPU_MEMORY(o->p[k]);
    for (int32_t i = 0; i < n_values; i++) {
        number[i] = tn__gpu_real(c, values[i]);
        args[k++] = tn__gpu_number_arg(c, &number[i]);
    }
    for (int32_t i = 0; i < n_how; i++)
        args[k++] = (tn__gpu_arg)TN__GPU_VALUE(how[i]);
    args[k++] = (tn__gpu_arg)TN__GPU_VALUE(o->vectors);
    args[k++] = (tn__gpu_arg)TN__GPU_VALUE(n);
    return launch(o, kernel, args, k);
}

tn_status tn__gpu_adam_step(const tn__launch *l)
{
    const tn__adam_params *a = l->params;
    operands o;
    if (l->in[0].numel == 0)
        return TN_OK;
    tn_status e = take(&o, l);
    if (!e) {
        const double correct1 = 1 - pow(a->beta1, (double)a->step), correct2 = 1 - pow(a->beta2, (double)a->step);
        const double values[] = {a->maximize ? -1 : 1,
                                 a->decoupled ? 0 : a->weight_decay,
                                 a->decoupled ? 1 - a->lr * a->weight_decay : 1,
                                 a->beta1,
                                 1 - a->beta1,
                                 a->beta2,
                                 1 - a->beta2,
                                 a->lr / correct1,
                                 1 / sqrt(correct2),
                                 a->eps};
        e = launch_numbers(&o, ADAM, values, (int32_t)TN_COUNT(values), NULL, 0);
    }
    return give_back(&o, e);
}

tn_status tn__gpu_rule_step(const tn__launch *l)
{
    const tn__rule_params *r = l->params;
    operands o;
    if (l->in[0].numel == 0)
        return TN_OK;
    tn_status e = take(&o, l);
    if (!e) {
        const double values[] = {
            r->maximize ? -1 : 1, r->decay, r->shrink, r->c0, r->c1, r->c2, r->c3, r->c4, r->c5, r->c6, r->c7};
        const int32_t how[] = {(int32_t)r->rule, o.p[3] != NULL};
        e = launch_numbers(&o, RULE, values, (int32_t)TN_COUNT(values), how, (int32_t)TN_COUNT(how));
    }
    return give_back(&o, e);
}
