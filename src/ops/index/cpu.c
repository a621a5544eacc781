/* Kernels of the family index for the CPU. */
#include "backend/cpu/cpu.h"
#include "core/error.h"
#include "core/parallel.h"
#include "op/infer.h"

enum { WORK = 32768 };

static inline int64_t index_at(const tn__view *v, int64_t offset)
{
    return v->dtype == TN_I64 ? ((const int64_t *)v->data)[offset] : (int64_t)((const int32_t *)v->data)[offset];
}

static tn_status out_of_range(const tn__launch *l, int64_t index, int64_t dim, int64_t size)
{
    const char *name = l->op == TN__OP__embedding ? "embedding" : tn__op_name(l->op);
    const bool flat = l->op == TN__OP_index_add && l->out[0].ndim <= 1;
    if (l->op == TN__OP__embedding || l->op == TN__OP_index_select || flat)
        return tn__error(TN_EINDEX, "index out of range in self\n  %s got index %lld for %lld entries", name,
                         (long long)index, (long long)size);
    return tn__error(TN_EINDEX, "%sindex %lld is out of bounds for dimension %lld with size %lld\n  seen by %s",
                     l->op == TN__OP_index_copy ? "index_copy_(): " : "", (long long)index, (long long)dim,
                     (long long)size, name);
}

/* ---- are all indices inside? ---- */

typedef struct range_job {
    const tn__view *index;
    int64_t size;
    _Atomic int64_t first; /* element that is not; INT64_MAX: none seen */
} range_job;

static int64_t inner_size(const tn__view *v)
{
    return v->ndim ? v->shape[v->ndim - 1] : 1;
}

static int64_t inner_stride(const tn__view *v)
{
    return v->ndim ? v->stride[v->ndim - 1] : 0;
}

/* n indices from an offset on: is one below zero, or not below size? */
static bool any_outside(const tn__view *v, int64_t offset, int64_t stride, int64_t n, int64_t size)
{
    bool outside = false;
    if (v->dtype == TN_I64)
        for (int64_t k = 0; k < n; k++)
            outside |= (uint64_t)((const int64_t *)v->data)[offset + k * stride] >= (uint64_t)size;
    else
        for (int64_t k = 0; k < n; k++)
            outside |= (uint64_t)((const int32_t *)v->data)[offset + k * stride] >= (uint64_t)size;
    return outside;
}

static void range_rows(void *ctx, int64_t begin, int64_t end)
{
    range_job *j = ctx;
    int64_t inner = inner_size(j->index), stride = inner_stride(j->index);
    for (int64_t i = begin, n; i < end; i += n) {
        int64_t offset = tn__view_offset(j->index, i), k = 0;
        n = TN_MIN(end - i, inner - i % inner);
        if (!any_outside(j->index, offset, stride, n, j->size))
            continue;
        while (!any_outside(j->index, offset + k * stride, 0, 1, j->size))
            k++;
        int64_t seen = j->first;
        while (i + k < seen && !atomic_compare_exchange_weak(&j->first, &seen, i + k))
            ;
        return;
    }
}

static tn_status check_indices(const tn__launch *l, const tn__view *index, int64_t dim, int64_t size)
{
    range_job j = {.index = index, .size = size, .first = INT64_MAX};
    tn__parallel_for(index->numel, WORK, range_rows, &j);
    return j.first == INT64_MAX ? TN_OK : out_of_range(l, index_at(index, tn__view_offset(index, j.first)), dim, size);
}

/* ---- elements ---- */

static inline void copy_element(void *to, const void *from, size_t size)
{
    switch (size) {
    case 1: *(uint8_t *)to = *(const uint8_t *)from; break;
    case 2: *(uint16_t *)to = *(const uint16_t *)from; break;
    case 4: *(uint32_t *)to = *(const uint32_t *)from; break;
    default: *(uint64_t *)to = *(const uint64_t *)from; break;
    }
}

static void add_element(tn_dtype d, void *to, const void *from)
{
    switch (d) {
    case TN_F32: *(float *)to += *(const float *)from; break;
    case TN_F64: *(double *)to += *(const double *)from; break;
    case TN_F16:
    case TN_BF16: tn__store_double(d, to, tn__load_double(d, to) + tn__load_double(d, from)); break;
    default: tn__store_int(d, to, (int64_t)((uint64_t)tn__load_int(d, to) + (uint64_t)tn__load_int(d, from))); break;
    }
}

static void multiply_element(tn_dtype d, void *to, const void *from)
{
    switch (d) {
    case TN_F32: *(float *)to *= *(const float *)from; break;
    case TN_F64: *(double *)to *= *(const double *)from; break;
    case TN_F16:
    case TN_BF16: tn__store_double(d, to, (float)tn__load_double(d, to) * (float)tn__load_double(d, from)); break;
    default: tn__store_int(d, to, (int64_t)((uint64_t)tn__load_int(d, to) * (uint64_t)tn__load_int(d, from))); break;
    }
}

/* What becomes of a table's element and the other one. */
typedef enum effect { READ, WRITE, ADD, MULTIPLY } effect;

/* ---- gather, scatter, scatter_add, scatter_mul: one index per element ---- */

typedef struct point_job {
    const tn__launch *l;
    const tn__view *table;         /* what is indexed: input 0 of gather, the result of scatter */
    const tn__view *index, *other; /* other: gather's result, scatter's source; data NULL where that is a number */
    int64_t dim;
    uint64_t value; /* the number, in the table's dtype */
    effect effect;
} point_job;

/* Points along the innermost dimension: where the first ones are, and the steps to the next. */
typedef struct point_run {
    char *table, *other;
    const char *index;
    int64_t table_step, other_step, index_step;
    int64_t along; /* from one index to the next */
    int64_t n;
    bool wide; /* int64 indices, not int32 */
} point_run;

static inline int64_t run_index(const point_run *r, int64_t k)
{
    return r->wide ? ((const int64_t *)(const void *)r->index)[k * r->index_step]
                   : (int64_t)((const int32_t *)(const void *)r->index)[k * r->index_step];
}

#define POINT_LOOP(name, T, statement) \
    static void name(const point_run *r) \
    { \
        T *table = (T *)(void *)r->table, *other = (T *)(void *)r->other; \
        for (int64_t k = 0; k < r->n; k++) { \
            T *t = table + k * r->table_step + run_index(r, k) * r->along, *o = other + k * r->other_step; \
            statement; \
        } \
    }

POINT_LOOP(gather_1, uint8_t, *o = *t)
POINT_LOOP(gather_2, uint16_t, *o = *t)
POINT_LOOP(gather_4, uint32_t, *o = *t)
POINT_LOOP(gather_8, uint64_t, *o = *t)
POINT_LOOP(scatter_1, uint8_t, *t = *o)
POINT_LOOP(scatter_2, uint16_t, *t = *o)
POINT_LOOP(scatter_4, uint32_t, *t = *o)
POINT_LOOP(scatter_8, uint64_t, *t = *o)
#define ADD_BOOL(ID)                               add_element(TN_##ID, t, o)
#define ADD_INT(ID)                                add_element(TN_##ID, t, o)
#define ADD_UINT(ID)                               add_element(TN_##ID, t, o)
#define ADD_HALF(ID)                               add_element(TN_##ID, t, o)
#define ADD_BFLOAT(ID)                             add_element(TN_##ID, t, o)
#define ADD_FLOAT(ID)                              *t += *o
#define DTYPE(ID, token, name, storage, kind, ...) POINT_LOOP(add_##token, storage, ADD_##kind(ID))
#include "core/dtypes.def"
#define DTYPE(ID, token, name, storage, ...) POINT_LOOP(multiply_##token, storage, multiply_element(TN_##ID, t, o))
#include "core/dtypes.def"
#undef POINT_LOOP

typedef void (*point_loop)(const point_run *r);

/* The loop for a dtype. */
static point_loop loop_of(tn_dtype dtype, effect what)
{
    static const point_loop adds[TN__DTYPES] = {
#define DTYPE(ID, token, ...) [TN_##ID] = add_##token,
#include "core/dtypes.def"
    };
    static const point_loop products[TN__DTYPES] = {
#define DTYPE(ID, token, ...) [TN_##ID] = multiply_##token,
#include "core/dtypes.def"
    };
    static const point_loop gathers[] = {gather_1, gather_2, gather_4, gather_8};
    static const point_loop scatters[] = {scatter_1, scatter_2, scatter_4, scatter_8};
    if (what == ADD || what == MULTIPLY)
        return (what == ADD ? adds : products)[dtype];
    size_t size = tn__dtype_size(dtype);
    return (what == READ ? gathers : scatters)[size == 1 ? 0 : size == 2 ? 1 : size == 4 ? 2 : 3];
}

/* The run that begins with element i. A 0-dim index is one of shape [1]; a 0-dim table has one element. */
static point_run run_at(const point_job *j, int64_t i, int64_t most)
{
    const tn__view *index = j->index, *table = j->table, *other = j->other;
    const int64_t size = (int64_t)tn__dtype_size(table->dtype);
    int32_t last = index->ndim - 1;
    point_run r = {.wide = index->dtype == TN_I64,
                   .n = TN_MIN(most, inner_size(index) - i % inner_size(index)),
                   .index_step = inner_stride(index),
                   .along = table->ndim ? table->stride[j->dim] : 0};
    int64_t rest = i, at_index = 0, at_table = 0, at_other = 0;
    for (int32_t d = last; d >= 0; d--) {
        int64_t at = rest % index->shape[d];
        rest /= index->shape[d];
        at_index += at * index->stride[d];
        if (other && other->ndim)
            at_other += at * other->stride[d];
        if (table->ndim && d != j->dim)
            at_table += at * table->stride[d];
    }
    if (last >= 0 && table->ndim && last != j->dim)
        r.table_step = table->stride[last];
    if (last >= 0 && other && other->ndim)
        r.other_step = other->stride[last];
    r.index = (const char *)index->data + at_index * (r.wide ? 8 : 4);
    r.table = (char *)table->data + at_table * size;
    r.other = other ? (char *)other->data + at_other * size : (char *)(uintptr_t)&j->value;
    return r;
}

static void points(void *ctx, int64_t begin, int64_t end)
{
    const point_job *j = ctx;
    point_loop loop = loop_of(j->table->dtype, j->effect);
    for (int64_t i = begin; i < end;) {
        point_run r = run_at(j, i, end - i);
        loop(&r);
        i += r.n;
    }
}

static int64_t size_along(const tn__view *v, int64_t dim)
{
    return v->ndim ? v->shape[dim] : 1;
}

tn_status tn__cpu_gather(const tn__launch *l)
{
    const tn__along_params *p = l->params;
    point_job j = {.l = l, .table = &l->in[0], .index = &l->in[1], .other = &l->out[0], .dim = p->dim, .effect = READ};
    tn_status e = check_indices(l, j.index, j.dim, size_along(j.table, j.dim));
    if (!e)
        tn__parallel_for(j.index->numel, WORK, points, &j);
    return e;
}

/* Two indices may name one element: the last one written wins, in order, so this runs in one thread. */
tn_status tn__cpu_scatter(const tn__launch *l)
{
    const tn__along_params *p = l->params;
    const tn__view *src = l->in[2].dtype ? &l->in[2] : NULL;
    point_job j = {.l = l, .table = &l->out[0], .index = &l->in[1], .other = src, .dim = p->dim};
    j.effect = l->op == TN__OP_scatter_add ? ADD : l->op == TN__OP__scatter_mul ? MULTIPLY : WRITE;
    tn_status e = check_indices(l, j.index, j.dim, size_along(j.table, j.dim));
    if (e || j.index->numel == 0)
        return e;
    if (!src)
        tn__store_scalar(j.table->dtype, &j.value, &l->operand[2]);
    points(&j, 0, j.index->numel);
    return TN_OK;
}

/* ---- index_select, embedding, index_add: one index per slice ---- */

/* A table [outer][rows][inner] and what is picked of it [outer][n][inner]. */
typedef struct slice_job {
    const tn__view *table, *picked, *index;
    int64_t dim, outer, inner, n;
    bool dense;    /* inner is one run in both */
    effect effect; /* of single_elements */
} slice_job;

static slice_job slices_of(const tn__view *table, const tn__view *picked, const tn__view *index, int64_t dim)
{
    slice_job j = {
        .table = table, .picked = picked, .index = index, .dim = dim, .outer = 1, .inner = 1, .n = index->numel};
    for (int32_t d = 0; d < table->ndim; d++) {
        if (d < dim)
            j.outer *= table->shape[d];
        else if (d > dim)
            j.inner *= table->shape[d];
    }
    int64_t run = 1;
    j.dense = picked->contiguous;
    for (int32_t d = table->ndim - 1; d > dim; d--) {
        j.dense &= table->shape[d] == 1 || table->stride[d] == run;
        run *= table->shape[d];
    }
    return j;
}

/* Offset in the table of [outer][row][inner]. */
static int64_t table_offset(const slice_job *j, int64_t outer, int64_t row, int64_t inner)
{
    const tn__view *t = j->table;
    int64_t o = t->ndim ? row * t->stride[j->dim] : 0;
    for (int32_t d = t->ndim - 1; d > j->dim; d--) {
        o += inner % t->shape[d] * t->stride[d];
        inner /= t->shape[d];
    }
    for (int32_t d = (int32_t)j->dim - 1; d >= 0; d--) {
        o += outer % t->shape[d] * t->stride[d];
        outer /= t->shape[d];
    }
    return o;
}

/* Slices are of one element: along the table's dimension as gather and scatter go. */
static void single_elements(void *ctx, int64_t begin, int64_t end)
{
    const slice_job *j = ctx;
    const tn__view *table = j->table, *picked = j->picked, *index = j->index;
    const int64_t size = (int64_t)tn__dtype_size(table->dtype);
    point_loop loop = loop_of(table->dtype, j->effect);
    point_run r = {.wide = index->dtype == TN_I64,
                   .index_step = inner_stride(index),
                   .along = table->ndim ? table->stride[j->dim] : 0,
                   .other_step = picked->contiguous || !picked->ndim ? 1 : picked->stride[j->dim]};
    for (int64_t i = begin; i < end; i += r.n) {
        const int64_t from = i % j->n;
        int64_t inner = inner_size(index);
        r.n = TN_MIN(end - i, TN_MIN(j->n - from, inner - from % inner));
        r.index = (const char *)index->data + tn__view_offset(index, from) * (r.wide ? 8 : 4);
        r.table = (char *)table->data + table_offset(j, i / j->n, 0, 0) * size;
        r.other = (char *)picked->data + tn__view_offset(picked, i) * size;
        loop(&r);
    }
}

static void select_slices(void *ctx, int64_t begin, int64_t end)
{
    const slice_job *j = ctx;
    const int64_t size = (int64_t)tn__dtype_size(j->table->dtype);
    bool stream = j->dense && j->picked->numel * size > tn__cpu_stream_bytes() && j->inner * size >= 256;
    for (int64_t i = begin; i < end; i++) {
        int64_t outer = i / j->n, row = index_at(j->index, tn__view_offset(j->index, i % j->n));
        char *to = (char *)j->picked->data + i * j->inner * size;
        const char *from = (const char *)j->table->data;
        if (stream) {
            tn__isa()->stream(to, from + table_offset(j, outer, row, 0) * size, (size_t)(j->inner * size));
        } else if (j->dense) {
            memcpy(to, from + table_offset(j, outer, row, 0) * size, (size_t)(j->inner * size));
        } else {
            for (int64_t k = 0; k < j->inner; k++)
                copy_element(to + k * size, from + table_offset(j, outer, row, k) * size, (size_t)size);
        }
    }
}

/* The slices of in[0] along a dimension that in[1] names. */
static tn_status pick_slices(const tn__launch *l, int64_t dim)
{
    slice_job j = slices_of(&l->in[0], &l->out[0], &l->in[1], dim);
    tn_status e = check_indices(l, j.index, dim, size_along(j.table, dim));
    j.effect = READ;
    if (!e && l->out[0].numel && j.inner == 1)
        tn__parallel_for(j.outer * j.n, WORK, single_elements, &j);
    else if (!e && l->out[0].numel)
        tn__parallel_for(j.outer * j.n, tn__div_up(WORK, j.inner), select_slices, &j);
    return e;
}

tn_status tn__cpu_index_select(const tn__launch *l)
{
    const tn__along_params *p = l->params;
    return pick_slices(l, p->dim);
}

tn_status tn__cpu_embedding(const tn__launch *l)
{
    return pick_slices(l, 0);
}

static void add_run(tn_dtype d, void *to, const void *from, int64_t n)
{
    const int64_t size = (int64_t)tn__dtype_size(d);
    if (tn__dtypes[d].compute == d) {
        tn__isa()->reduce.fold[TN__SUM][tn__type_of(d)](to, from, n);
        return;
    }
    for (int64_t i = 0; i < n; i++)
        add_element(d, (char *)to + i * size, (const char *)from + i * size);
}

/* One slice of the source added to its row, or written there. */
static void put_slice(const slice_job *j, const tn__view *src, int64_t i, bool add)
{
    const int64_t size = (int64_t)tn__dtype_size(src->dtype);
    const int64_t outer = i / j->n, row = index_at(j->index, tn__view_offset(j->index, i % j->n));
    char *table = j->table->data;
    const char *from = src->data;
    if (j->dense) {
        char *to = table + table_offset(j, outer, row, 0) * size;
        if (add)
            add_run(src->dtype, to, from + i * j->inner * size, j->inner);
        else
            memcpy(to, from + i * j->inner * size, (size_t)(j->inner * size));
        return;
    }
    for (int64_t k = 0; k < j->inner; k++) {
        char *to = table + table_offset(j, outer, row, k) * size;
        const char *element = from + tn__view_offset(src, i * j->inner + k) * size;
        if (add)
            add_element(src->dtype, to, element);
        else
            copy_element(to, element, (size_t)size);
    }
}

/* In the order of the indices, in one thread: neither the sum nor who wrote last depends on timing. */
static tn_status put_slices(const tn__launch *l, bool add)
{
    const int64_t dim = ((const tn__along_params *)l->params)->dim;
    const tn__view *src = &l->in[2];
    slice_job j = slices_of(&l->out[0], src, &l->in[1], dim);
    if (add && l->out[0].numel == 0 && l->out[0].ndim > 1) /* as in PyTorch nothing is looked at then */
        return TN_OK;
    tn_status e = check_indices(l, j.index, dim, size_along(j.table, dim));
    if (e || src->numel == 0)
        return e;
    j.effect = add ? ADD : WRITE;
    if (j.inner == 1)
        single_elements(&j, 0, j.outer * j.n);
    for (int64_t i = 0; j.inner > 1 && i < j.outer * j.n; i++)
        put_slice(&j, src, i, add);
    return TN_OK;
}

tn_status tn__cpu_index_add(const tn__launch *l)
{
    return put_slices(l, true);
}

tn_status tn__cpu_index_copy(const tn__launch *l)
{
    return put_slices(l, false);
}

tn_status tn__cpu_one_hot(const tn__launch *l)
{
    const tn__one_hot_params *p = l->params;
    const tn__view *index = &l->in[0], *out = &l->out[0];
    int64_t n = p->num_classes, *to = out->data;
    for (int64_t i = 0; i < index->numel; i++) {
        int64_t v = index_at(index, tn__view_offset(index, i));
        if (v < 0)
            return tn__error(TN_EINVAL, "Class values must be non-negative.");
        if (v >= n)
            return tn__error(TN_EINVAL, "Class values must be smaller than num_classes.");
    }
    if (out->numel)
        memset(to, 0, (size_t)out->numel * sizeof *to);
    for (int64_t i = 0; i < index->numel; i++)
        to[i * n + index_at(index, tn__view_offset(index, i))] = 1;
    return TN_OK;
}
