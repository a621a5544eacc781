/* tests/ops/adapters.h: what the files of adapters share: a record's arguments as the C API takes them. */
#ifndef TENON_TESTS_OPS_ADAPTERS_H
#define TENON_TESTS_OPS_ADAPTERS_H

#include "ops/record.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef bool (*adapter)(record *r, results *out);

typedef struct named_adapter {
    const char *name;
    adapter run;
} named_adapter;

static inline int64_t int_of(value v, int64_t otherwise)
{
    switch (v.kind) {
    case V_BOOL:
    case V_INT: return v.i;
    case V_FLOAT: return (int64_t)v.f;
    case V_TENSOR: return tn_item_int(v.t);
    default: return otherwise;
    }
}

static inline bool flag_of(value v)
{
    return v.kind == V_BOOL && v.i;
}

static inline tn_scalar scalar_of(value v)
{
    switch (v.kind) {
    case V_BOOL: return tn_scalar_b(v.i != 0);
    case V_INT: return tn_scalar_i(v.i);
    case V_FLOAT: return tn_scalar_f(v.f);
    case V_TENSOR: return tn_scalar_t(v.t);
    default: return tn_scalar_none();
    }
}

static inline tn_dtype dtype_of(value v)
{
    return v.kind == V_TEXT && !strncmp(v.text, "torch.", 6) ? tn_dtype_parse(v.text + 6) : TN_DTYPE_DEFAULT;
}

typedef struct dims_buffer {
    int64_t d[TN_MAX_DIMS];
} dims_buffer;

/* A list of integers, or one; not said where there is none. */
static inline tn_dims dims_of(value v, dims_buffer *b)
{
    int n = 0;
    if (v.kind != V_INT && v.kind != V_LIST)
        return (tn_dims){0};
    if (v.kind == V_INT)
        b->d[n++] = v.i;
    for (int i = 0; v.kind == V_LIST && i < v.n && i < TN_MAX_DIMS; i++)
        b->d[n++] = v.item[i].i;
    return tn_dims_of(b->d, n);
}

/* The same of any length. */
static inline tn_ints ints_of(value v, int64_t (*b)[64])
{
    size_t n = 0;
    for (int i = 0; v.kind == V_LIST && i < v.n && n < 64; i++)
        (*b)[n++] = v.item[i].i;
    return (tn_ints){*b, n};
}

/* Options of which one dimension may be left out: OPTIONAL(argmax, x, ONE_OF(list)) */
#define OPTIONAL(name, ...) OPTIONAL_OF(name, __VA_ARGS__)
#define OPTIONAL_OF(name, x, ...) \
    (tn_##name##_opt)(x, &(tn_##name##_options){TN__SITE(tn_##name##_options), __VA_ARGS__})
#define ONE_OF(list) .dim = (list).dim[0], .dim_given = (list).ndim > 0

static inline bool give(results *out, tn_tensor *t)
{
    out->t[0] = t;
    out->n = 1;
    return true;
}

static inline bool give_truth(results *out, bool b)
{
    out->scalar = (value){.kind = V_BOOL, .i = b};
    return true;
}

static inline int64_t reduction_of(record *r)
{
    value v = record_arg(r, -1, "reduction");
    if (v.kind != V_TEXT || !strcmp(v.text, "mean"))
        return TN_MEAN;
    return strcmp(v.text, "sum") ? TN_NO_REDUCTION : TN_SUM;
}

static inline tn_options options_of(record *r)
{
    (void)record_arg(r, -1, "device");
    (void)record_arg(r, -1, "requires_grad");
    return (tn_options){.struct_size = sizeof(tn_options),
                        .site = TN_HERE,
                        .device = tn_get_default_device(),
                        .dtype = dtype_of(record_arg(r, -1, "dtype"))};
}

#define DTYPE , .dtype = dtype_of(record_arg(r, -1, "dtype"))

static inline tn_tensors tensors_of(const value *v, tn_tensor **t)
{
    for (int i = 0; i < v->n; i++)
        t[i] = v->item[i].kind == V_NULL ? TN_NONE : v->item[i].t;
    return (tn_tensors){t, (size_t)v->n};
}

/* ---- functions that an adapter is made of ---- */

#define SCALAR(name)            scalar_of(record_arg(r, -1, name))
#define AT(i, name)             scalar_of(record_arg(r, i, name))
#define TENSOR(i, name)         record_arg(r, i, name).t
#define DIM(i, name, otherwise) int_of(record_arg(r, i, name), otherwise)

#define ADAPTER(name, expression) \
    static bool record_##name(record *r, results *out) \
    { \
        tn_tensor *x = r->input.t; \
        return give(out, expression); \
    }

#define REDUCTION(name, ...) \
    static bool record_##name(record *r, results *out) \
    { \
        dims_buffer b; \
        tn_dims dim = dims_of(record_arg(r, 0, "dim"), &b); \
        bool keepdim = flag_of(record_arg(r, 1, "keepdim")); \
        return give(out, tn_##name(r->input.t, .dims = dim, .keepdim = keepdim __VA_ARGS__)); \
    }

#define REDUCTION_OVER_ONE(name) \
    static bool record_##name(record *r, results *out) \
    { \
        dims_buffer b; \
        tn_dims dim = dims_of(record_arg(r, 0, "dim"), &b); \
        return give(out, OPTIONAL(name, r->input.t, ONE_OF(dim), .keepdim = flag_of(record_arg(r, 1, "keepdim")))); \
    }

#define ALONG(name) \
    static bool record_##name(record *r, results *out) \
    { \
        return give(out, tn_##name(r->input.t, int_of(record_arg(r, 0, "dim"), 0) DTYPE)); \
    }

#define TWO_TENSORS(name) \
    static bool record_##name(record *r, results *out) \
    { \
        return give(out, tn_##name(r->input.t, record_arg(r, 0, "other").t)); \
    }

/* A shape given as one list or as several integers. */
static inline tn_dims shape_args(record *r, dims_buffer *b, const char *name)
{
    value v = record_arg(r, 0, name);
    if (v.kind != V_INT)
        return dims_of(v, b);
    for (int i = 0; i < r->n_args; i++)
        b->d[i] = r->arg[i].i;
    return tn_dims_of(b->d, r->n_args);
}

#define SHAPED(name, function, keyword) \
    static bool record_##name(record *r, results *out) \
    { \
        dims_buffer b; \
        return give(out, function(r->input.t, shape_args(r, &b, keyword))); \
    }

#endif
