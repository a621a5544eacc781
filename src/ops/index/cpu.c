/* Kernels of the family index for the CPU. */
#include "core/error.h"
#include "core/parallel.h"
#include "core/shape.h"
#include "op/infer.h"
#include "ops/index/cpu_points.h"

enum { WORK = 32768 };

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

/* n indices from an offset on. */
static bool any_outside(const tn__view *v, int64_t offset, int64_t stride, int64_t n, int64_t size)
{
    bool outside = false;
    n = stride ? n : TN_MIN(n, 1);
    if (v->dtype == TN_I64 && stride == 1 && size > 0)
        return tn__isa()->index.outside((const int64_t *)v->data + offset, n, size);
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
    const bool dense = j->index->contiguous;
    int64_t inner = dense ? j->index->numel : inner_size(j->index), stride = dense ? 1 : inner_stride(j->index);
    for (int64_t i = begin, n; i < end; i += n) {
        int64_t offset = dense ? i : tn__view_offset(j->index, i), k = 0;
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

tn_status tn__check_indices(const tn__launch *l, const tn__view *index, int64_t dim, int64_t size)
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

/* Along the last dimension of what lies row by row no step is more than one: a loop of its own. So has a row for one index. */
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
        else if (table_step == 1 && !along && other_step == 1) \
            POINTS(T, k, k, statement) \
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
#define SCATTER_LOOP(name, T) \
    POINT_LOOP(name##_any, T, *t = *o) \
    static void name(char *table, int64_t table_step, int64_t along, char *other, int64_t other_step, \
                     const int64_t *index, int64_t n) \
    { \
        T *t = (T *)(void *)table; \
        const T *o = (const T *)(const void *)other; \
        int64_t k = 0; \
        for (; !table_step && along == 1 && other_step == 1 && k + 4 <= n; k += 4) { \
            const int64_t at[4] = {index[k], index[k + 1], index[k + 2], index[k + 3]}; \
            const T from[4] = {o[k], o[k + 1], o[k + 2], o[k + 3]}; \
            t[at[0]] = from[0], t[at[1]] = from[1], t[at[2]] = from[2], t[at[3]] = from[3]; \
        } \
        name##_any(table + k * table_step * (int64_t)sizeof *t, table_step, along, \
                   other + k * other_step * (int64_t)sizeof *t, other_step, index + k, n - k); \
    }

SCATTER_LOOP(scatter_1, uint8_t)
SCATTER_LOOP(scatter_2, uint16_t)
SCATTER_LOOP(scatter_4, uint32_t)
SCATTER_LOOP(scatter_8, uint64_t)
#undef SCATTER_LOOP
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
#define LARGER_FLOAT(ID)    *t = TN_UNLIKELY(*o != *o) ? *t != *t ? *t : *o : *o > *t ? *o : *t
#define SMALLER_BOOL(ID)    *t = *o < *t ? *o : *t
#define SMALLER_INT(ID)     SMALLER_BOOL(ID)
#define SMALLER_UINT(ID)    SMALLER_BOOL(ID)
#define SMALLER_HALF(ID)    extreme_element(TN_##ID, t, o, true)
#define SMALLER_BFLOAT(ID)  *t = float_of(*t) != float_of(*t) || float_of(*o) >= float_of(*t) ? *t : *o
#define SMALLER_FLOAT(ID)   *t = TN_UNLIKELY(*o != *o) ? *t != *t ? *t : *o : *o < *t ? *o : *t
#define DTYPE(ID, token, name, storage, kind, ...) \
    POINT_LOOP(add_##token, storage, ADD_##kind(ID)) \
    POINT_LOOP(multiply_##token, storage, MULTIPLY_##kind(ID)) \
    POINT_LOOP(larger_##token, storage, LARGER_##kind(ID)) POINT_LOOP(smaller_##token, storage, SMALLER_##kind(ID))
#include "core/dtypes.def"
#undef POINT_LOOP
#undef POINTS

point_loop tn__point_loop_of(tn_dtype dtype, effect what)
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

/* Indices at once: they are read twice, the second time from the nearest cache. Rows of more than SHORT_WIDTH go one by one. */
enum { SOME = 512, SHORT_WIDTH = 64 };

/* n indices of a run, from place 'at' on, dense and int64. */
static const int64_t *some_indices(const point_run *r, int64_t at, int64_t n, int64_t *space)
{
    if (r->wide && r->index_step == 1)
        return (const int64_t *)(const void *)r->index + at;
    for (int64_t i = 0; i < n; i++)
        space[i] = r->wide ? ((const int64_t *)(const void *)r->index)[(at + i) * r->index_step]
                           : ((const int32_t *)(const void *)r->index)[(at + i) * r->index_step];
    return space;
}

/* The indices of several rows, which are not more than SOME. */
static const int64_t *rows_of_indices(const point_run *r, int64_t *space)
{
    if (r->wide && r->index_step == 1 && r->index_row == r->n)
        return (const int64_t *)(const void *)r->index;
    for (int64_t i = 0; i < r->rows; i++) {
        point_run row = *r;
        row.index += i * r->index_row * (r->wide ? 8 : 4);
        const int64_t *from = some_indices(&row, 0, r->n, space + i * r->n);
        if (from != space + i * r->n)
            memcpy(space + i * r->n, from, (size_t)r->n * sizeof *from);
    }
    return space;
}

/* A run of one index throughout, table and other side by side: a row for a row. */
static int64_t run_row(point_loop loop, const point_run *r, int64_t size, int64_t below)
{
    int64_t space[1];
    const int64_t index = *some_indices(r, 0, 1, space);
    if (below && (uint64_t)index >= (uint64_t)below)
        return 0;
    loop(r->table + index * r->along * size, 1, 0, r->other, 1, &index, r->n);
    return -1;
}

/* Where the first index of n is that is not below. */
static int64_t first_outside(const int64_t *index, int64_t below)
{
    int64_t k = 0;
    while ((uint64_t)index[k] < (uint64_t)below)
        k++;
    return k;
}

/* Several rows at once; dense ones as one, whose indices count from the first row on. */
static int64_t run_rows(point_loop loop, const point_run *r, int64_t size, int64_t below)
{
    int64_t space[SOME], joined[SOME];
    const int64_t *index = rows_of_indices(r, space), n = r->n * r->rows;
    if (r->apart) {
        if (tn__isa()->index.moved(joined, index, r->apart, n, below))
            return first_outside(index, below);
        loop(r->table, 0, 1, r->other, 1, joined, n);
        return -1;
    }
    if (below && tn__isa()->index.outside(index, n, below))
        return first_outside(index, below);
    for (int64_t i = 0; i < r->rows && r->n > 1; i++)
        loop(r->table + i * r->table_row * size, r->table_step, r->along, r->other + i * r->other_row * size,
             r->other_step, index + i * r->n, r->n);
    if (r->n == 1)
        loop(r->table, r->table_row, r->along, r->other, r->other_row, index, r->rows);
    return -1;
}

/* Memory that is read soon. */
static void ask_for(const void *memory, int64_t bytes)
{
    for (int64_t i = 0; i < bytes; i += 64)
        __builtin_prefetch((const char *)memory + i);
}

int64_t tn__run_points(point_loop loop, const point_run *r, int64_t size, int64_t below)
{
    int64_t space[SOME];
    if (r->rows == 1 && r->index_step == 0 && r->table_step == 1 && r->other_step == 1 && r->n > 1)
        return run_row(loop, r, size, below);
    if (r->rows > 1)
        return run_rows(loop, r, size, below);
    for (int64_t k = 0, n; k < r->n; k += n) {
        n = TN_MIN(SOME, r->n - k);
        const int64_t *index = some_indices(r, k, n, space);
        if (below && tn__isa()->index.outside(index, n, below))
            return k + first_outside(index, below);
        if (index != space && n == SOME)
            ask_for(index + n, n * (int64_t)sizeof *index);
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
                   .rows = 1,
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

/* Whole rows from r's on, of which 'most' are wanted: they are several where they are short. */
static int64_t take_rows(const point_job *j, point_run *r, const int64_t *coordinate, int64_t most)
{
    const tn__view *index = j->index, *table = j->table, *other = j->other;
    const int32_t d = index->ndim - 2;
    if (d < 0 || r->n > SHORT_WIDTH)
        return 1;
    r->index_row = index->stride[d];
    r->table_row = table->ndim && d != j->dim ? table->stride[d] : 0;
    r->other_row = other && other->ndim ? other->stride[d] : 0;
    return TN_MIN(TN_MIN(most, SOME / r->n), index->shape[d] - coordinate[d]);
}

/* What is behind r, which was whole rows. */
static void next_run(const point_job *j, point_run *r, int64_t *coordinate)
{
    const tn__view *index = j->index, *table = j->table, *other = j->other;
    const int64_t size = (int64_t)tn__dtype_size(table->dtype);
    int64_t step = r->rows;
    for (int32_t d = index->ndim - 2; d >= 0; d--, step = 1) {
        coordinate[d] += step;
        const bool carries = coordinate[d] == index->shape[d];
        const int64_t by = carries ? step - index->shape[d] : step;
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

/* Rows of table and other that lie one after another. */
static bool are_joined(const point_run *r)
{
    return r->n > 1 && !r->table_step && r->along == 1 && r->other_step == 1 && r->other_row == r->n;
}

static void points(void *ctx, int64_t begin, int64_t end)
{
    const point_job *j = ctx;
    const int64_t size = (int64_t)tn__dtype_size(j->table->dtype), width = inner_size(j->index);
    int64_t coordinate[TN_MAX_DIMS], apart[SOME], filled = 0;
    point_loop loop = tn__point_loop_of(j->table->dtype, j->effect);
    point_run r = {0};
    bool whole = false; /* the run before was */
    for (int64_t i = begin; i < end; i += r.n * r.rows) {
        if (whole)
            next_run(j, &r, coordinate);
        else
            r = run_at(j, i, coordinate);
        whole = r.n == width && width <= end - i;
        r.n = TN_MIN(r.n, end - i);
        r.rows = whole ? take_rows(j, &r, coordinate, (end - i) / width) : 1;
        r.apart = r.rows > 1 && are_joined(&r) ? apart : NULL;
        for (; r.apart && filled < r.rows * r.n; filled++)
            apart[filled] = filled / r.n * r.table_row;
        const int64_t bad = tn__run_points(loop, &r, size, j->size);
        if (bad >= 0) {
            int64_t seen = *j->outside;
            while (i + bad < seen && !atomic_compare_exchange_weak(j->outside, &seen, i + bad))
                ;
            return;
        }
    }
}

/* A view of the places begin .. end - 1 of dimension d; shape is room for its own. */
static tn__view between(const tn__view *v, int32_t d, int64_t begin, int64_t end, int64_t *shape)
{
    tn__view part = *v;
    memmove(shape, v->shape, (size_t)v->ndim * sizeof *shape);
    shape[d] = end - begin;
    part.shape = shape;
    part.numel = v->numel / v->shape[d] * shape[d];
    part.contiguous = false;
    part.data = (char *)v->data + begin * v->stride[d] * (int64_t)tn__dtype_size(v->dtype);
    return part;
}

/* ---- sums and products of 16 bits: in float, as PyTorch's, rounded where all are done ---- */

static bool is_widened(const point_job *j)
{
    return (j->effect == ADD || j->effect == MULTIPLY) && (j->table->dtype == TN_F16 || j->table->dtype == TN_BF16);
}

/* Do pieces of table and source lie in one piece each, and are so many elements named that it pays to widen the others? */
static bool goes_by_pieces(const point_job *j)
{
    const tn__view *index = j->index, *table = j->table, *other = j->other;
    return is_widened(j) && other && other->dtype == table->dtype && table->ndim == index->ndim &&
           other->ndim == index->ndim && j->cut == 0 && table->contiguous && other->contiguous &&
           index->numel >= table->numel / 2 && other->numel / 2 <= index->numel;
}

/* The elements of v, dense, as float; v is of these then. */
static float *widen(tn__view *v, float *to)
{
    tn__isa()->load[v->dtype][TN__F32](to, v->data, 1, v->numel);
    v->dtype = TN_F32;
    v->data = to;
    return to + v->numel;
}

/* False: there is no memory for it. */
static bool points_widened(point_job *part, tn__view *table, tn__view *other)
{
    const size_t bytes = (size_t)(table->numel + other->numel) * sizeof(float);
    const tn__view was = *table;
    float *space = tn__block_get(bytes);
    if (!space)
        return false;
    widen(other, widen(table, space));
    points(part, 0, part->index->numel);
    tn__isa()->store[was.dtype][TN__F32](was.data, 1, space, was.numel);
    tn__block_put(space, bytes);
    return true;
}

/* The places begin .. end of the dimension that is shared out. */
static void points_between(void *ctx, int64_t begin, int64_t end)
{
    const point_job *j = ctx;
    int64_t shape[3][TN_MAX_DIMS];
    const tn__view index = between(j->index, j->cut, begin, end, shape[0]);
    tn__view table = between(j->table, j->cut, begin, end, shape[1]), other;
    point_job part = *j;
    part.index = &index;
    part.table = &table;
    if (j->other) {
        other = between(j->other, j->cut, begin, end, shape[2]);
        part.other = &other;
    }
    if (!goes_by_pieces(j) || !points_widened(&part, &table, &other))
        points(&part, 0, index.numel);
}

/* ---- a table that lies in memory along another dimension: some of its lines are turned first ---- */

/* Bytes that the nearest cache holds; that turned lines may have in the next one; lines at most. */
enum { FIRST_CACHE = 1 << 15, NEAR = 1 << 18, MOST_LINES = 64 };

/* No fewer lines than share a line of memory. */
static int64_t turned_at_once(const point_job *j)
{
    const int64_t size = (int64_t)tn__dtype_size(j->table->dtype);
    return TN_MIN(TN_MAX(NEAR / (j->table->shape[j->dim] * size), 64 / size), MOST_LINES);
}

static void points_turned(void *ctx, int64_t begin, int64_t end)
{
    const point_job *j = ctx;
    const size_t size = tn__dtype_size(j->table->dtype);
    const int64_t n = j->table->shape[j->dim], apart = j->table->stride[j->dim], wide = turned_at_once(j);
    const int64_t pitch = n + 64 / (int64_t)size, lines = j->index->shape[j->cut];
    const size_t bytes = (size_t)(wide * pitch) * size;
    int64_t shape[2][TN_MAX_DIMS], stride[TN_MAX_DIMS] = {0};
    tn__view table = *j->table, index, other;
    point_job part = *j;
    char *tile = tn__block_get(bytes);
    if (!tile) {
        points_between(ctx, begin * wide, TN_MIN(end * wide, lines));
        return;
    }
    stride[j->cut] = pitch, stride[j->dim] = 1;
    table.data = tile, table.stride = stride, table.contiguous = false;
    part.table = &table, part.index = &index;
    for (int64_t i = begin * wide, some; i < TN_MIN(end * wide, lines); i += some) {
        char *from = (char *)j->table->data + i * (int64_t)size;
        some = TN_MIN(wide, lines - i);
        index = between(j->index, j->cut, i, i + some, shape[0]);
        if (j->other) {
            other = between(j->other, j->cut, i, i + some, shape[1]);
            part.other = &other;
        }
        tn__turn(tile, pitch, from, apart, n, some, size);
        points(&part, 0, index.numel);
        if (j->effect != READ)
            tn__turn(from, apart, tile, pitch, some, n, size);
    }
    tn__block_put(tile, bytes);
}

/* Not where the nearest cache holds what a line's elements share their lines of memory with, or few of them are named. */
static bool by_turned_lines(point_job *j)
{
    const tn__view *index = j->index, *table = j->table;
    if (table->ndim != index->ndim || table->ndim < 2 || (j->other && j->other->ndim != index->ndim))
        return false;
    const int64_t n = table->shape[j->dim];
    j->cut = -1;
    for (int32_t d = 0; d < table->ndim; d++)
        if (d != j->dim && index->shape[d] >= 8 && table->stride[d] == 1)
            j->cut = d;
        else if (d != j->dim && index->shape[d] != 1)
            return false;
    if (j->cut < 0 || table->stride[j->dim] <= 1 || n * 64 < FIRST_CACHE / 2 || index->shape[j->dim] < n / 2)
        return false;
    const int64_t wide = turned_at_once(j);
    tn__parallel_for(tn__div_up(index->shape[j->cut], wide), tn__div_up(WORK, wide * index->shape[j->dim]),
                     points_turned, j);
    return true;
}

/* Two indices may name one element: the last one written wins, sums go in order. So threads share out lines along the other
 * dimensions, of which none meets another: of one of those, the longest; -1: there is none, or not much to do. */
static int32_t cut_of(const point_job *j)
{
    const tn__view *index = j->index;
    int32_t cut = -1;
    for (int32_t d = 0; d < index->ndim && j->table->ndim == index->ndim && index->numel > WORK; d++)
        if (d != j->dim && (cut < 0 || index->shape[d] > index->shape[cut]))
            cut = d;
    return j->other && j->other->ndim != index->ndim ? -1 : cut;
}

static void write_points(point_job *j)
{
    const tn__view *index = j->index;
    j->cut = cut_of(j);
    if (j->cut < 0)
        points(j, 0, index->numel);
    else
        tn__parallel_for(index->shape[j->cut], tn__div_up(WORK, index->numel / index->shape[j->cut]), points_between,
                         j);
}

/* ---- an index that is one list for whole slices, expanded ---- */

static bool are_slices(const point_job *j)
{
    const tn__view *index = j->index, *table = j->table, *src = j->other;
    bool are = src && index->numel && index->ndim > 1 && index->ndim == table->ndim && index->ndim == src->ndim;
    for (int32_t d = 0; are && d < index->ndim; d++)
        are = src->shape[d] == index->shape[d] &&
              (d == j->dim || (index->shape[d] == table->shape[d] && (index->stride[d] == 0 || index->shape[d] == 1)));
    return are;
}

/* That list, in room for its shape and stride. */
static tn__view list_of(const point_job *j, int64_t *n, int64_t *step)
{
    tn__view list = *j->index;
    *n = list.shape[j->dim];
    *step = list.stride[j->dim];
    list.ndim = 1;
    list.shape = n;
    list.stride = step;
    list.numel = *n;
    list.contiguous = *step == 1;
    return list;
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
        return tn__check_indices(l, j.index, j.dim, 0);
    if (are_slices(&j) && j.other->contiguous) {
        int64_t n, step;
        const tn__view list = list_of(&j, &n, &step);
        const tn_status e = tn__check_indices(l, &list, j.dim, j.size);
        if (!e)
            tn__pick_slices(j.table, j.other, &list, j.dim);
        return e;
    }
    if (!by_turned_lines(&j))
        tn__parallel_for(j.index->numel, WORK, points, &j);
    return outside == INT64_MAX ? TN_OK : tn__check_indices(l, j.index, j.dim, j.size);
}

/* size: of the dimension; fresh: indices are looked at meanwhile. */
static tn_status scatter(point_job *j, int64_t size, bool fresh)
{
    const tn__launch *l = j->l;
    _Atomic int64_t outside = INT64_MAX;
    j->size = fresh ? size : 0;
    j->outside = &outside;
    if (are_slices(j)) {
        int64_t n, step;
        const tn__view list = list_of(j, &n, &step);
        tn_status e = fresh ? tn__check_indices(l, &list, j->dim, size) : TN_OK;
        if (!e)
            tn__put_slices(j->table, j->other, &list, j->dim, j->effect);
        return e;
    }
    if (!by_turned_lines(j))
        write_points(j);
    return outside == INT64_MAX ? TN_OK : tn__check_indices(l, j->index, j->dim, size);
}

/* Do its elements, in some order, fill one piece of memory? */
static bool fills_memory(const tn__view *v)
{
    tn__strided_dims d;
    tn__strided_dims_of(&d, v, (1U << v->ndim) - 1);
    return d.n == 1 && d.stride[0] == 1;
}

/* A view of v's elements as floats, as they lie in memory, or else dense in row-major order; stride is room for its own. */
static tn__view as_floats(const tn__view *v, float *to, int64_t *stride)
{
    tn__strided_dims dims;
    tn__view wide = *v;
    wide.data = to, wide.dtype = TN_F32;
    if (fills_memory(v)) {
        tn__isa()->load[v->dtype][TN__F32](to, v->data, 1, v->numel);
        return wide;
    }
    tn__dims_in_order(&dims, v);
    tn__load_strided(to, TN__F32, v->dtype, v->data, &dims, 0, v->numel);
    tn__contiguous_strides(v->shape, v->ndim, stride);
    wide.stride = stride, wide.contiguous = true;
    return wide;
}

/* What the index names of the source, which may be larger: an expanded one by far. */
static tn__view named_of(const tn__view *other, const tn__view *index)
{
    tn__view v = *other;
    if (v.ndim != index->ndim || tn__same_shape(v.shape, v.ndim, index->shape, index->ndim))
        return v;
    v.shape = index->shape;
    v.numel = index->numel;
    v.contiguous = false;
    return v;
}

/* Where floats of what is named are enough, and there is memory for them: then all is done, or the error noted. */
static bool scatter_named(const point_job *j, int64_t size, bool fresh, tn_status *e)
{
    int64_t n, step;
    if (j->other && j->other->dtype != j->table->dtype)
        return false;
    if (are_slices(j)) {
        const tn__view list = list_of(j, &n, &step);
        *e = fresh ? tn__check_indices(j->l, &list, j->dim, size) : TN_OK;
        return *e || tn__put_named_slices(j->table, j->other, &list, j->dim, j->effect);
    }
    if (!tn__are_few(j->table, j->index))
        return false;
    *e = fresh ? tn__check_indices(j->l, j->index, j->dim, size) : TN_OK;
    return *e || tn__put_few(j->table, j->index, j->other, &j->value, j->dim, j->effect);
}

static tn_status scatter_widened(const point_job *j, int64_t size, bool fresh)
{
    const tn__view *to = j->table, from = j->other ? named_of(j->other, j->index) : (tn__view){0};
    const size_t bytes = (size_t)(to->numel + from.numel) * sizeof(float);
    int64_t stride[2][TN_MAX_DIMS];
    float value = 0;
    point_job wide = *j;
    tn__strided_dims dims;
    tn__view other;
    tn_status e;
    if (scatter_named(j, size, fresh, &e))
        return e;
    float *space = tn__block_get(bytes);
    if (!space)
        return tn__error_memory("a temporary", bytes);
    const tn__view table = as_floats(to, space, stride[0]);
    wide.table = &table;
    if (j->other) {
        other = as_floats(&from, space + to->numel, stride[1]);
        wide.other = &other;
    } else {
        tn__isa()->load[to->dtype][TN__F32](&value, &j->value, 1, 1);
        memcpy(&wide.value, &value, sizeof value);
    }
    e = scatter(&wide, size, fresh);
    tn__dims_in_order(&dims, to);
    if (fills_memory(to))
        tn__isa()->store[to->dtype][TN__F32](to->data, 1, space, to->numel);
    else
        tn__store_strided(to->data, to->dtype, &dims, 0, space, TN__F32, to->numel);
    tn__block_put(space, bytes);
    return e;
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
    const bool fresh = l->in[0].data != l->out[0].data && size > 0; /* what is half written then is nobody's */
    tn_status e = fresh ? TN_OK : tn__check_indices(l, j.index, j.dim, size);
    if (e || j.index->numel == 0)
        return e;
    if (!src)
        tn__store_scalar(j.table->dtype, &j.value, &l->operand[2]);
    j.cut = cut_of(&j);
    if (goes_by_pieces(&j)) {
        _Atomic int64_t outside = INT64_MAX;
        j.size = fresh ? size : 0, j.outside = &outside;
        write_points(&j);
        return outside == INT64_MAX ? TN_OK : tn__check_indices(l, j.index, j.dim, size);
    }
    return is_widened(&j) ? scatter_widened(&j, size, fresh) : scatter(&j, size, fresh);
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
