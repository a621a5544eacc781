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

/* Two, as every instruction set has a register for them: more would live in memory. */
typedef uint64_t two_i64 __attribute__((vector_size(16)));
typedef uint64_t any_two_i64 __attribute__((vector_size(16), aligned(8), may_alias));

/* Is one of n below zero, or not below size? Then it has its highest bit set, or size - 1 less it has. */
static bool any_outside_dense(const int64_t *index, int64_t n, uint64_t size)
{
    two_i64 seen[4] = {{0}};
    uint64_t bits = 0;
    int64_t k = 0;
    for (; k + 8 <= n; k += 8)
        for (int i = 0; i < 4; i++) {
            const two_i64 at = *(const any_two_i64 *)(const void *)(index + k + 2 * i);
            seen[i] |= at | (size - 1 - at);
        }
    for (; k < n; k++)
        bits |= (uint64_t)index[k] | (size - 1 - (uint64_t)index[k]);
    for (int i = 0; i < 4; i++)
        bits |= seen[i][0] | seen[i][1];
    return n && bits >> 63;
}

/* n indices from an offset on. */
static bool any_outside(const tn__view *v, int64_t offset, int64_t stride, int64_t n, int64_t size)
{
    bool outside = false;
    if (v->dtype == TN_I64 && stride == 1 && size > 0)
        return any_outside_dense((const int64_t *)v->data + offset, n, (uint64_t)size);
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

/* Elements of the dtypes that the loops have no arithmetic for. */
static void add_element(tn_dtype d, void *to, const void *from)
{
    tn__store_double(d, to, tn__load_double(d, to) + tn__load_double(d, from));
}

static inline float float_of(uint16_t bfloat)
{
    const uint32_t bits = (uint32_t)bfloat << 16;
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

/* Rounded to the nearest, of two to the even one. */
static inline uint16_t bfloat_of(float f)
{
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return f != f ? (uint16_t)(bits >> 16 | 0x40) : (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static void multiply_element(tn_dtype d, void *to, const void *from)
{
    tn__store_double(d, to, (float)tn__load_double(d, to) * (float)tn__load_double(d, from));
}

static void extreme_element(tn_dtype d, void *to, const void *from, bool smaller)
{
    const double a = tn__load_double(d, to), b = tn__load_double(d, from);
    if (a == a && (b != b || (smaller ? b < a : b > a)))
        memcpy(to, from, tn__dtype_size(d));
}

/* What becomes of a table's element and the other one. */
typedef enum effect { READ, WRITE, ADD, MULTIPLY, LARGER, SMALLER, EFFECTS } effect;

/* ---- gather, scatter, scatter_add ...: one index per element ---- */

typedef struct point_job {
    const tn__launch *l;
    const tn__view *table;         /* what is indexed: input 0 of gather, the result of scatter */
    const tn__view *index, *other; /* other: gather's result, scatter's source; data NULL where that is a number */
    int64_t dim;
    uint64_t value; /* the number, in the table's dtype */
    effect effect;
    int32_t cut;              /* the dimension that threads share out */
    int64_t size;             /* what indices must be below; 0: they were looked at */
    _Atomic int64_t *outside; /* the place of the first that is not, in row-major order; NULL: they were looked at */
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

/* Along the last dimension of what lies row by row no step is more than one: a loop of its own. */
#define POINTS(T, t_at, o_at, statement) \
    for (int64_t k = 0; k < n; k++) { \
        T *t = (T *)(void *)table + (t_at), *o = (T *)(void *)other + (o_at); \
        statement; \
    }
#define POINT_LOOP(name, T, statement) \
    static void name(char *table, int64_t table_step, int64_t along, char *other, int64_t other_step, \
                     const int64_t *index, int64_t n) \
    { \
        if (!table_step && along == 1 && other_step == 1) \
            POINTS(T, index[k], k, statement) \
        else \
            POINTS(T, k *table_step + index[k] * along, k * other_step, statement) \
    }

/* Reads do not wait for the writes before them where four are done first. */
#define GATHER_LOOP(name, T) \
    POINT_LOOP(name##_any, T, *o = *t) \
    static void name(char *table, int64_t table_step, int64_t along, char *other, int64_t other_step, \
                     const int64_t *index, int64_t n) \
    { \
        const T *t = (const T *)(const void *)table; \
        T *o = (T *)(void *)other; \
        int64_t k = 0; \
        for (; !table_step && along == 1 && other_step == 1 && k + 4 <= n; k += 4) { \
            const T four[4] = {t[index[k]], t[index[k + 1]], t[index[k + 2]], t[index[k + 3]]}; \
            memcpy(o + k, four, sizeof four); \
        } \
        name##_any(table + k * table_step * (int64_t)sizeof *t, table_step, along, \
                   other + k * other_step * (int64_t)sizeof *t, other_step, index + k, n - k); \
    }

GATHER_LOOP(gather_1, uint8_t)
GATHER_LOOP(gather_2, uint16_t)
GATHER_LOOP(gather_4, uint32_t)
GATHER_LOOP(gather_8, uint64_t)
#undef GATHER_LOOP
POINT_LOOP(scatter_1, uint8_t, *t = *o)
POINT_LOOP(scatter_2, uint16_t, *t = *o)
POINT_LOOP(scatter_4, uint32_t, *t = *o)
POINT_LOOP(scatter_8, uint64_t, *t = *o)
/* By kind of dtype; integers wrap around, and NaN is larger and smaller than all. */
#define ADD_BOOL(ID)        *t = *t | *o
#define ADD_INT(ID)         *t = (__typeof__(*t))((uint64_t)*t + (uint64_t)*o)
#define ADD_UINT(ID)        ADD_INT(ID)
#define ADD_HALF(ID)        add_element(TN_##ID, t, o)
#define ADD_BFLOAT(ID)      *t = bfloat_of(float_of(*t) + float_of(*o))
#define ADD_FLOAT(ID)       *t += *o
#define MULTIPLY_BOOL(ID)   *t = *t & *o
#define MULTIPLY_INT(ID)    *t = (__typeof__(*t))((uint64_t)*t * (uint64_t)*o)
#define MULTIPLY_UINT(ID)   MULTIPLY_INT(ID)
#define MULTIPLY_HALF(ID)   multiply_element(TN_##ID, t, o)
#define MULTIPLY_BFLOAT(ID) *t = bfloat_of(float_of(*t) * float_of(*o))
#define MULTIPLY_FLOAT(ID)  *t *= *o
#define LARGER_BOOL(ID)     *t = *o > *t ? *o : *t
#define LARGER_INT(ID)      LARGER_BOOL(ID)
#define LARGER_UINT(ID)     LARGER_BOOL(ID)
#define LARGER_HALF(ID)     extreme_element(TN_##ID, t, o, false)
#define LARGER_BFLOAT(ID)   *t = float_of(*t) != float_of(*t) || float_of(*o) <= float_of(*t) ? *t : *o
#define LARGER_FLOAT(ID)    *t = *t != *t || *o <= *t ? *t : *o
#define SMALLER_BOOL(ID)    *t = *o < *t ? *o : *t
#define SMALLER_INT(ID)     SMALLER_BOOL(ID)
#define SMALLER_UINT(ID)    SMALLER_BOOL(ID)
#define SMALLER_HALF(ID)    extreme_element(TN_##ID, t, o, true)
#define SMALLER_BFLOAT(ID)  *t = float_of(*t) != float_of(*t) || float_of(*o) >= float_of(*t) ? *t : *o
#define SMALLER_FLOAT(ID)   *t = *t != *t || *o >= *t ? *t : *o
#define DTYPE(ID, token, name, storage, kind, ...) \
    POINT_LOOP(add_##token, storage, ADD_##kind(ID)) \
    POINT_LOOP(multiply_##token, storage, MULTIPLY_##kind(ID)) \
    POINT_LOOP(larger_##token, storage, LARGER_##kind(ID)) POINT_LOOP(smaller_##token, storage, SMALLER_##kind(ID))
#include "core/dtypes.def"
#undef POINT_LOOP
#undef POINTS

typedef void (*point_loop)(char *table, int64_t table_step, int64_t along, char *other, int64_t other_step,
                           const int64_t *index, int64_t n);

/* The loop for a dtype. */
static point_loop loop_of(tn_dtype dtype, effect what)
{
    static const point_loop reductions[EFFECTS][TN__DTYPES] = {
#define DTYPE(ID, token, ...) \
    [ADD][TN_##ID] = add_##token, [MULTIPLY][TN_##ID] = multiply_##token, [LARGER][TN_##ID] = larger_##token, \
    [SMALLER][TN_##ID] = smaller_##token,
#include "core/dtypes.def"
    };
    static const point_loop gathers[] = {gather_1, gather_2, gather_4, gather_8};
    static const point_loop scatters[] = {scatter_1, scatter_2, scatter_4, scatter_8};
    if (what > WRITE)
        return reductions[what][dtype];
    size_t size = tn__dtype_size(dtype);
    return (what == READ ? gathers : scatters)[size == 1 ? 0 : size == 2 ? 1 : size == 4 ? 2 : 3];
}

enum { SOME = 512 }; /* indices at once: they are read twice, the second time from the nearest cache */

/* k indices of a run, from place 'at' on, dense and int64. */
static const int64_t *some_indices(const point_run *r, int64_t at, int64_t n, int64_t *space)
{
    if (r->wide && r->index_step == 1)
        return (const int64_t *)(const void *)r->index + at;
    for (int64_t i = 0; i < n; i++)
        space[i] = r->wide ? ((const int64_t *)(const void *)r->index)[(at + i) * r->index_step]
                           : ((const int32_t *)(const void *)r->index)[(at + i) * r->index_step];
    return space;
}

/* below: what indices must be below; 0: they were looked at. The place of the first that is not, or -1. */
static int64_t run_points(point_loop loop, const point_run *r, int64_t size, int64_t below)
{
    int64_t space[SOME];
    for (int64_t k = 0, n; k < r->n; k += n) {
        n = TN_MIN(SOME, r->n - k);
        const int64_t *index = some_indices(r, k, n, space);
        if (below && any_outside_dense(index, n, (uint64_t)below)) {
            while ((uint64_t)*index < (uint64_t)below)
                index++, k++;
            return k;
        }
        loop(r->table + k * r->table_step * size, r->table_step, r->along, r->other + k * r->other_step * size,
             r->other_step, index, n);
    }
    return -1;
}

/* The run that begins with element i, whose coordinates are noted. A 0-dim index is one of shape [1]; a 0-dim table has one
 * element. */
static point_run run_at(const point_job *j, int64_t i, int64_t *coordinate)
{
    const tn__view *index = j->index, *table = j->table, *other = j->other;
    const int64_t size = (int64_t)tn__dtype_size(table->dtype);
    int32_t last = index->ndim - 1;
    point_run r = {.wide = index->dtype == TN_I64,
                   .n = inner_size(index) - i % inner_size(index),
                   .index_step = inner_stride(index),
                   .along = table->ndim ? table->stride[j->dim] : 0};
    int64_t rest = i, at_index = 0, at_table = 0, at_other = 0;
    for (int32_t d = last; d >= 0; d--) {
        int64_t at = rest % index->shape[d];
        rest /= index->shape[d];
        coordinate[d] = at;
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

/* The run behind r, which was a whole one. */
static void next_run(const point_job *j, point_run *r, int64_t *coordinate)
{
    const tn__view *index = j->index, *table = j->table, *other = j->other;
    const int64_t size = (int64_t)tn__dtype_size(table->dtype);
    for (int32_t d = index->ndim - 2; d >= 0; d--) {
        const bool carries = ++coordinate[d] == index->shape[d];
        const int64_t by = carries ? 1 - index->shape[d] : 1;
        r->index += by * index->stride[d] * (r->wide ? 8 : 4);
        if (table->ndim && d != j->dim)
            r->table += by * table->stride[d] * size;
        if (other && other->ndim)
            r->other += by * other->stride[d] * size;
        if (!carries)
            return;
        coordinate[d] = 0;
    }
}

static void points(void *ctx, int64_t begin, int64_t end)
{
    const point_job *j = ctx;
    const int64_t size = (int64_t)tn__dtype_size(j->table->dtype), width = inner_size(j->index);
    int64_t coordinate[TN_MAX_DIMS];
    point_loop loop = loop_of(j->table->dtype, j->effect);
    point_run r = {0};
    bool whole = false; /* the run before was */
    for (int64_t i = begin; i < end; i += r.n) {
        if (whole)
            next_run(j, &r, coordinate);
        else
            r = run_at(j, i, coordinate);
        whole = r.n == width;
        r.n = TN_MIN(r.n, end - i);
        const int64_t bad = run_points(loop, &r, size, j->size);
        if (bad >= 0) {
            int64_t seen = *j->outside;
            while (i + bad < seen && !atomic_compare_exchange_weak(j->outside, &seen, i + bad))
                ;
            return;
        }
    }
}

static int64_t size_along(const tn__view *v, int64_t dim)
{
    return v->ndim ? v->shape[dim] : 1;
}

tn_status tn__cpu_gather(const tn__launch *l)
{
    const tn__along_params *p = l->params;
    _Atomic int64_t outside = INT64_MAX;
    point_job j = {.l = l,
                   .table = &l->in[0],
                   .index = &l->in[1],
                   .other = &l->out[0],
                   .dim = p->dim,
                   .effect = READ,
                   .size = size_along(&l->in[0], p->dim),
                   .outside = &outside};
    if (j.size == 0)
        return check_indices(l, j.index, j.dim, 0);
    tn__parallel_for(j.index->numel, WORK, points, &j);
    return outside == INT64_MAX ? TN_OK
                                : out_of_range(l, index_at(j.index, tn__view_offset(j.index, outside)), j.dim, j.size);
}

/* The places begin .. end of the dimension that is shared out. */
static void points_between(void *ctx, int64_t begin, int64_t end)
{
    const point_job *j = ctx;
    const int32_t d = j->cut;
    const int64_t size = (int64_t)tn__dtype_size(j->table->dtype);
    int64_t shape[TN_MAX_DIMS];
    tn__view index = *j->index, table = *j->table, other;
    point_job part = *j;
    memcpy(shape, index.shape, (size_t)index.ndim * sizeof *shape);
    shape[d] = end - begin;
    index.numel = index.numel / index.shape[d] * shape[d];
    index.shape = shape;
    index.contiguous = false;
    index.data = (char *)index.data + begin * index.stride[d] * (index.dtype == TN_I64 ? 8 : 4);
    table.data = (char *)table.data + begin * table.stride[d] * size;
    part.index = &index;
    part.table = &table;
    if (j->other) {
        other = *j->other;
        other.data = (char *)other.data + begin * other.stride[d] * size;
        part.other = &other;
    }
    points(&part, 0, index.numel);
}

/* Two indices may name one element: the last one written wins, sums go in order. So threads share out lines along the other
 * dimensions, of which none meets another. */
static void write_points(point_job *j)
{
    const tn__view *index = j->index;
    j->cut = -1;
    for (int32_t d = 0; d < index->ndim && j->table->ndim == index->ndim && index->numel > WORK; d++)
        if (d != j->dim && (j->cut < 0 || index->shape[d] > index->shape[j->cut]))
            j->cut = d;
    if (j->cut < 0 || (j->other && j->other->ndim != index->ndim))
        points(j, 0, index->numel);
    else
        tn__parallel_for(index->shape[j->cut], tn__div_up(WORK, index->numel / index->shape[j->cut]), points_between,
                         j);
}

/* ---- index_select, embedding, index_add ...: one index per slice ---- */

/* A table [outer][rows][inner] and what is picked of it [outer][n][inner]. */
typedef struct slice_job {
    const tn__view *table, *picked, *index;
    int64_t dim, outer, inner, n;
    bool table_dense, picked_dense; /* a slice is one run */
    bool one;                       /* a slice of what is picked shows one element */
    effect effect;
    int64_t parts;                        /* of the table's rows */
    tn__strided_dims in_table, in_picked; /* a slice's dimensions */
} slice_job;

static bool slice_is_run(const tn__view *v, int64_t dim)
{
    int64_t run = 1;
    bool dense = true;
    for (int32_t d = v->ndim - 1; d > dim; d--) {
        dense &= v->shape[d] == 1 || v->stride[d] == run;
        run *= v->shape[d];
    }
    return dense;
}

/* The dimensions behind dim, of v's memory where it begins. */
static tn__view slice_view(const tn__view *v, int64_t dim, int64_t inner)
{
    tn__view s = *v;
    const int32_t first = v->ndim ? (int32_t)dim + 1 : 0;
    s.ndim = v->ndim - first;
    s.shape = v->shape + first;
    s.stride = v->stride + first;
    s.numel = inner;
    s.contiguous = false;
    return s;
}

static slice_job slices_of(const tn__view *table, const tn__view *picked, const tn__view *index, int64_t dim,
                           effect what)
{
    slice_job j = {.table = table,
                   .picked = picked,
                   .index = index,
                   .dim = dim,
                   .outer = 1,
                   .inner = 1,
                   .n = index->numel,
                   .effect = what};
    for (int32_t d = 0; d < table->ndim; d++) {
        if (d < dim)
            j.outer *= table->shape[d];
        else if (d > dim)
            j.inner *= table->shape[d];
    }
    const int64_t at =
        picked->ndim == table->ndim ? dim : picked->ndim - (table->ndim - dim); /* an index of several dimensions */
    j.table_dense = slice_is_run(table, dim);
    j.picked_dense = slice_is_run(picked, at);
    j.one = true;
    for (int32_t d = (int32_t)at + 1; d < picked->ndim; d++)
        j.one &= picked->stride[d] == 0 || picked->shape[d] == 1;
    const tn__view in_table = slice_view(table, dim, j.inner), in_picked = slice_view(picked, at, j.inner);
    tn__dims_in_order(&j.in_table, &in_table);
    tn__dims_in_order(&j.in_picked, &in_picked);
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

/* Lines along the table's dimension, each as gather and scatter go: where slices are of one element, or the table lies in memory
 * along that dimension. What is picked has the table's dimensions then, or is row-major. */
static void lines(void *ctx, int64_t begin, int64_t end)
{
    const slice_job *j = ctx;
    const tn__view *table = j->table, *picked = j->picked, *index = j->index;
    const int64_t size = (int64_t)tn__dtype_size(table->dtype);
    point_loop loop = loop_of(table->dtype, j->effect);
    point_run r = {.wide = index->dtype == TN_I64,
                   .index_step = inner_stride(index),
                   .along = table->ndim ? table->stride[j->dim] : 0,
                   .other_step = picked->contiguous ? j->inner
                                 : !picked->ndim    ? 1
                                                    : picked->stride[j->dim]};
    for (int64_t i = begin; i < end; i++) {
        const int64_t outer = i / j->inner, inner = i % j->inner;
        char *line = (char *)table->data + table_offset(j, outer, 0, inner) * size;
        for (int64_t k = 0; k < j->n; k += r.n) {
            const int64_t width = inner_size(index);
            r.n = TN_MIN(j->n - k, width - k % width);
            r.index = (const char *)index->data + tn__view_offset(index, k) * (r.wide ? 8 : 4);
            r.table = line;
            r.other = (char *)picked->data + tn__view_offset(picked, (outer * j->n + k) * j->inner + inner) * size;
            (void)run_points(loop, &r, size, 0);
        }
    }
}

static bool goes_in_lines(const slice_job *j)
{
    const tn__view *t = j->table;
    if (j->inner == 1)
        return true;
    return t->stride[j->dim] == 1 && !j->table_dense && j->n >= 16 &&
           (j->picked->ndim == t->ndim || j->picked->contiguous);
}

/* A slice with other steps than the run's. */
static void copy_slice(const slice_job *j, char *to, const char *from, bool reads)
{
    const tn__view *out = reads ? j->picked : j->table, *in = reads ? j->table : j->picked;
    tn__view o = slice_view(out, out->ndim - (j->table->ndim - j->dim), j->inner),
             i = slice_view(in, in->ndim - (j->table->ndim - j->dim), j->inner);
    o.data = to;
    i.data = (void *)(uintptr_t)from;
    tn__cpu_copy_view(&o, &i);
}

static void select_slices(void *ctx, int64_t begin, int64_t end)
{
    const slice_job *j = ctx;
    const int64_t size = (int64_t)tn__dtype_size(j->table->dtype);
    const bool runs = j->table_dense && j->picked_dense;
    bool stream = runs && j->picked->numel * size > tn__cpu_stream_bytes() && j->inner * size >= 256;
    for (int64_t i = begin; i < end; i++) {
        int64_t outer = i / j->n, row = index_at(j->index, tn__view_offset(j->index, i % j->n));
        char *to = (char *)j->picked->data + i * j->inner * size;
        const char *from = (const char *)j->table->data + table_offset(j, outer, row, 0) * size;
        if (stream)
            tn__isa()->stream(to, from, (size_t)(j->inner * size));
        else if (runs)
            memcpy(to, from, (size_t)(j->inner * size));
        else
            copy_slice(j, to, from, true);
    }
}

/* The slices of in[0] along a dimension that in[1] names. */
static tn_status pick_slices(const tn__launch *l, int64_t dim)
{
    slice_job j = slices_of(&l->in[0], &l->out[0], &l->in[1], dim, READ);
    tn_status e = check_indices(l, j.index, dim, size_along(j.table, dim));
    if (e || !l->out[0].numel)
        return e;
    if (goes_in_lines(&j))
        tn__parallel_for(j.outer * j.inner, tn__div_up(WORK, j.n), lines, &j);
    else
        tn__parallel_for(j.outer * j.n, tn__div_up(WORK, j.inner), select_slices, &j);
    return TN_OK;
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

/* A slice added to another one (or multiplied with it, or the larger or smaller elements), some at a time in the type that they
 * compute in. */
static void fold_slice(const slice_job *j, char *to, const char *from)
{
    static const tn__reduction of[EFFECTS] = {
        [ADD] = TN__SUM, [MULTIPLY] = TN__PROD, [LARGER] = TN__MAX, [SMALLER] = TN__MIN};
    const tn_dtype d = j->table->dtype;
    const int type = tn__type_of(tn__dtypes[d].compute);
    double sum[TN__BLOCK], more[TN__BLOCK];
    if (tn__dtypes[d].compute == d && j->table_dense && j->picked_dense) {
        tn__isa()->reduce.fold[of[j->effect]][type](to, from, j->inner);
        return;
    }
    const int64_t size = (int64_t)tn__dtype_size(d);
    for (int64_t i = 0; i < j->inner; i += TN__BLOCK) {
        const int64_t n = TN_MIN(TN__BLOCK, j->inner - i);
        if (j->table_dense && j->picked_dense) {
            tn__isa()->load[d][type](sum, to + i * size, 1, n);
            tn__isa()->load[d][type](more, from + i * size, 1, n);
            tn__isa()->reduce.fold[of[j->effect]][type](sum, more, n);
            tn__isa()->store[d][type](to + i * size, 1, sum, n);
            continue;
        }
        tn__load_strided(sum, type, d, to, &j->in_table, i, n);
        tn__load_strided(more, type, d, from, &j->in_picked, i, n);
        tn__isa()->reduce.fold[of[j->effect]][type](sum, more, n);
        tn__store_strided(to, d, &j->in_table, i, sum, type, n);
    }
}

/* One slice of the source added to its row, or written there. */
static void put_slice(const slice_job *j, int64_t outer, int64_t row, int64_t k)
{
    const tn__view *src = j->picked;
    const int64_t size = (int64_t)tn__dtype_size(src->dtype);
    char *to = (char *)j->table->data + table_offset(j, outer, row, 0) * size;
    const char *from = (const char *)src->data + tn__view_offset(src, (outer * j->n + k) * j->inner) * size;
    if (j->effect > WRITE)
        fold_slice(j, to, from);
    else if (j->table_dense && (j->picked_dense || j->one))
        tn__isa()->move(to, 1, from, j->one ? 0 : 1, j->inner, (size_t)size);
    else
        copy_slice(j, to, from, false);
}

static void put_outer(void *ctx, int64_t begin, int64_t end)
{
    const slice_job *j = ctx;
    for (int64_t outer = begin; outer < end; outer++)
        for (int64_t k = 0; k < j->n; k++)
            put_slice(j, outer, index_at(j->index, tn__view_offset(j->index, k)), k);
}

/* Each part minds the indices of its own rows. */
static void put_rows(void *ctx, int64_t begin, int64_t end)
{
    const slice_job *j = ctx;
    const int64_t rows = size_along(j->table, j->dim);
    for (int64_t part = begin; part < end; part++) {
        const int64_t from = rows * part / j->parts, to = rows * (part + 1) / j->parts;
        for (int64_t k = 0; k < j->n; k++) {
            const int64_t row = index_at(j->index, tn__view_offset(j->index, k));
            if (row >= from && row < to)
                put_slice(j, 0, row, k);
        }
    }
}

/* In the order of the indices, wherever two of them meet: neither the sum nor who wrote last depends on threads. */
static void write_slices(slice_job *j)
{
    if (goes_in_lines(j)) {
        tn__parallel_for(j->outer * j->inner, tn__div_up(WORK, j->n), lines, j);
    } else if (j->outer > 1) {
        tn__parallel_for(j->outer, tn__div_up(WORK, j->n * j->inner), put_outer, j);
    } else {
        j->parts = j->picked->numel < 2 * WORK ? 1 : tn__num_threads();
        tn__parallel_for(j->parts, 1, put_rows, j);
    }
}

static tn_status put_slices(const tn__launch *l, bool add)
{
    const int64_t dim = ((const tn__along_params *)l->params)->dim;
    const tn__view *src = &l->in[2];
    if (add && l->out[0].numel == 0 && l->out[0].ndim > 1) /* as in PyTorch nothing is looked at then */
        return TN_OK;
    tn_status e = check_indices(l, &l->in[1], dim, size_along(&l->out[0], dim));
    if (e || src->numel == 0)
        return e;
    slice_job j = slices_of(&l->out[0], src, &l->in[1], dim, add ? ADD : WRITE);
    write_slices(&j);
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

/* ---- scatter whose index is one list for whole slices, expanded ---- */

static bool are_slices(const point_job *j)
{
    const tn__view *index = j->index, *table = j->table, *src = j->other;
    bool are = src && index->ndim > 1 && index->ndim == table->ndim && index->ndim == src->ndim;
    for (int32_t d = 0; are && d < index->ndim; d++)
        are = src->shape[d] == index->shape[d] &&
              (d == j->dim || (index->shape[d] == table->shape[d] && (index->stride[d] == 0 || index->shape[d] == 1)));
    return are;
}

tn_status tn__cpu_scatter(const tn__launch *l)
{
    const tn__along_params *p = l->params;
    const tn__view *src = l->in[2].dtype ? &l->in[2] : NULL;
    point_job j = {.l = l, .table = &l->out[0], .index = &l->in[1], .other = src, .dim = p->dim};
    j.effect = l->op == TN__OP_scatter_add    ? ADD
               : l->op == TN__OP__scatter_mul ? MULTIPLY
               : l->op == TN__OP__scatter_max ? LARGER
               : l->op == TN__OP__scatter_min ? SMALLER
                                              : WRITE;
    const int64_t size = size_along(j.table, j.dim);
    _Atomic int64_t outside = INT64_MAX;
    const bool fresh = l->in[0].data != l->out[0].data && size > 0; /* what is half written then is nobody's */
    tn_status e = fresh ? TN_OK : check_indices(l, j.index, j.dim, size);
    if (e || j.index->numel == 0)
        return e;
    j.size = fresh ? size : 0;
    j.outside = &outside;
    if (are_slices(&j)) {
        const int64_t n = j.index->shape[j.dim], step = j.index->stride[j.dim];
        tn__view list = *j.index;
        list.ndim = 1;
        list.shape = &n;
        list.stride = &step;
        list.numel = n;
        list.contiguous = step == 1;
        e = fresh ? check_indices(l, &list, j.dim, size) : TN_OK;
        slice_job s = slices_of(j.table, src, &list, j.dim, j.effect);
        if (!e)
            write_slices(&s);
        return e;
    }
    if (!src)
        tn__store_scalar(j.table->dtype, &j.value, &l->operand[2]);
    write_points(&j);
    return outside == INT64_MAX ? TN_OK : check_indices(l, j.index, j.dim, size);
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
