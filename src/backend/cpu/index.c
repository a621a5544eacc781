/* Kernels that read or write by index. Indices are checked before anything is written. */
#include "backend/cpu/cpu.h"
#include "core/error.h"
#include "core/parallel.h"

enum { WORK = 32768 };

static inline int64_t index_at(const tn__view *v, int64_t offset)
{
    return v->dtype == TN_I64 ? ((const int64_t *)v->data)[offset] : (int64_t)((const int32_t *)v->data)[offset];
}

/* Offset of the i-th element of a view in row-major order. */
static int64_t element_offset(const tn__view *v, int64_t i)
{
    int64_t o = 0;
    if (v->contiguous)
        return i;
    for (int32_t d = v->ndim - 1; d >= 0; d--) {
        o += i % v->shape[d] * v->stride[d];
        i /= v->shape[d];
    }
    return o;
}

static tn_status out_of_range(const tn__launch *l, int64_t index, int64_t dim, int64_t size)
{
    if (l->op == TN__OP__embedding || l->op == TN__OP_index_select)
        return tn__error(TN_EINDEX, "index out of range in self: %s got index %lld for %lld entries",
                         l->op == TN__OP__embedding ? "embedding" : "index_select", (long long)index, (long long)size);
    return tn__error(TN_EINDEX, "index %lld is out of bounds for dimension %lld with size %lld", (long long)index,
                     (long long)dim, (long long)size);
}

static tn_status check_indices(const tn__launch *l, const tn__view *index, int64_t dim, int64_t size)
{
    for (int64_t i = 0; i < index->numel; i++) {
        int64_t v = index_at(index, element_offset(index, i));
        if (v < 0 || v >= size)
            return out_of_range(l, v, dim, size);
    }
    return TN_OK;
}

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

/* ---- gather, scatter, scatter_add: one index per element ---- */

typedef struct point_job {
    const tn__launch *l;
    const tn__view *table; /* what is indexed: input 0 of gather, the result of scatter */
    const tn__view *index, *other; /* other: gather's result, scatter's source; data NULL where that is a number */
    int64_t dim;
    uint64_t value; /* the number, in the table's dtype */
    bool add;
} point_job;

static void points(void *ctx, int64_t begin, int64_t end)
{
    const point_job *j = ctx;
    const int64_t size = (int64_t)tn__dtype_size(j->table->dtype);
    bool gather = j->l->op == TN__OP_gather;
    int64_t only = j->index->ndim == 0 && j->table->ndim ? j->table->stride[0] : 0; /* a 0-dim index is one of shape [1] */
    for (int64_t i = begin; i < end; i++) {
        int64_t rest = i, table = 0, index = 0, other = 0, along = only;
        for (int32_t d = j->index->ndim - 1; d >= 0; d--) {
            int64_t at = rest % j->index->shape[d];
            rest /= j->index->shape[d];
            index += at * j->index->stride[d];
            if (j->other && j->other->ndim)
                other += at * j->other->stride[d];
            if (j->table->ndim == 0)
                continue;
            if (d == j->dim)
                along = j->table->stride[d];
            else
                table += at * j->table->stride[d];
        }
        char *t = (char *)j->table->data + (table + index_at(j->index, index) * along) * size;
        char *o = j->other ? (char *)j->other->data + other * size : NULL;
        if (gather)
            copy_element(o, t, (size_t)size);
        else if (j->add)
            add_element(j->table->dtype, t, o);
        else
            copy_element(t, o ? o : (const char *)&j->value, (size_t)size);
    }
}

static int64_t size_along(const tn__view *v, int64_t dim)
{
    return v->ndim ? v->shape[dim] : 1;
}

tn_status tn__cpu_gather(const tn__launch *l)
{
    point_job j = {.l = l, .table = &l->in[0], .index = &l->in[1], .other = &l->out[0], .dim = l->attr->dim};
    tn_status e = check_indices(l, j.index, j.dim, size_along(j.table, j.dim));
    if (!e)
        tn__parallel_for(j.index->numel, WORK, points, &j);
    return e;
}

/* Two indices may name one element: the last one written wins, in order, so this runs in one thread. */
tn_status tn__cpu_scatter(const tn__launch *l)
{
    const tn__view *src = l->in[2].dtype ? &l->in[2] : NULL;
    point_job j = {.l = l, .table = &l->out[0], .index = &l->in[1], .other = src, .dim = l->attr->dim};
    j.add = l->op == TN__OP_scatter_add;
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
    bool dense; /* inner is one run in both */
} slice_job;

static slice_job slices_of(const tn__view *table, const tn__view *picked, const tn__view *index, int64_t dim)
{
    slice_job j = {.table = table, .picked = picked, .index = index, .dim = dim, .outer = 1, .inner = 1, .n = index->numel};
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

static void select_slices(void *ctx, int64_t begin, int64_t end)
{
    const slice_job *j = ctx;
    const int64_t size = (int64_t)tn__dtype_size(j->table->dtype);
    bool stream = j->dense && j->picked->numel * size > tn__cpu_stream_bytes() && j->inner * size >= 256;
    for (int64_t i = begin; i < end; i++) {
        int64_t outer = i / j->n, row = index_at(j->index, element_offset(j->index, i % j->n));
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

tn_status tn__cpu_index_select(const tn__launch *l)
{
    int64_t dim = l->attr->dim;
    slice_job j = slices_of(&l->in[0], &l->out[0], &l->in[1], dim);
    tn_status e = check_indices(l, j.index, dim, size_along(j.table, dim));
    if (!e && l->out[0].numel)
        tn__parallel_for(j.outer * j.n, tn__div_up(WORK, j.inner), select_slices, &j);
    return e;
}

static void add_run(tn_dtype d, void *to, const void *from, int64_t n)
{
    const int64_t size = (int64_t)tn__dtype_size(d);
    if (tn__dtypes[d].compute == d) {
        tn__isa()->fold[TN__SUM][tn__type_of(d)](to, from, n);
        return;
    }
    for (int64_t i = 0; i < n; i++)
        add_element(d, (char *)to + i * size, (const char *)from + i * size);
}

/* Adds in the order of the indices, in one thread: the sum does not depend on timing. */
tn_status tn__cpu_index_add(const tn__launch *l)
{
    int64_t dim = l->attr->dim;
    const tn__view *src = &l->in[2];
    slice_job j = slices_of(&l->out[0], src, &l->in[1], dim);
    const int64_t size = (int64_t)tn__dtype_size(src->dtype);
    tn_status e = check_indices(l, j.index, dim, size_along(j.table, dim));
    for (int64_t i = 0; !e && src->numel && i < j.outer * j.n; i++) {
        int64_t outer = i / j.n, row = index_at(j.index, element_offset(j.index, i % j.n));
        char *table = j.table->data;
        const char *from = src->data;
        if (j.dense) {
            add_run(src->dtype, table + table_offset(&j, outer, row, 0) * size, from + i * j.inner * size, j.inner);
            continue;
        }
        for (int64_t k = 0; k < j.inner; k++)
            add_element(src->dtype, table + table_offset(&j, outer, row, k) * size,
                        from + element_offset(src, i * j.inner + k) * size);
    }
    return e;
}

tn_status tn__cpu_one_hot(const tn__launch *l)
{
    const tn__view *index = &l->in[0], *out = &l->out[0];
    int64_t n = l->attr->n, *to = out->data;
    for (int64_t i = 0; i < index->numel; i++) {
        int64_t v = index_at(index, element_offset(index, i));
        if (v < 0)
            return tn__error(TN_EINVAL, "Class values must be non-negative.");
        if (v >= n)
            return tn__error(TN_EINVAL, "Class values must be smaller than num_classes.");
    }
    if (out->numel)
        memset(to, 0, (size_t)out->numel * sizeof *to);
    for (int64_t i = 0; i < index->numel; i++)
        to[i * n + index_at(index, element_offset(index, i))] = 1;
    return TN_OK;
}

/* ---- negative log likelihood: x [batch][classes][spatial], target [batch][spatial] ---- */

typedef struct nll {
    const tn__view *target, *weight;
    int64_t batch, classes, spatial, ignore;
} nll;

static nll nll_of(const tn__launch *l, int32_t ndim, const int64_t *shape)
{
    nll n = {.target = &l->in[1], .weight = l->n_in > 2 && l->in[2].dtype ? &l->in[2] : NULL, .batch = 1, .spatial = 1};
    n.ignore = l->attr->value.kind ? tn__scalar_int(&l->attr->value) : -100;
    n.classes = shape[ndim == 1 ? 0 : 1];
    if (ndim > 1)
        n.batch = shape[0];
    for (int32_t d = 2; d < ndim; d++)
        n.spatial *= shape[d];
    return n;
}

static int64_t target_of(const nll *n, int64_t i)
{
    int64_t o = element_offset(n->target, i);
    return n->target->dtype == TN_U8 ? (int64_t)((const uint8_t *)n->target->data)[o] : ((const int64_t *)n->target->data)[o];
}

static double weight_of(const nll *n, int64_t c)
{
    if (!n->weight)
        return 1;
    const int64_t size = (int64_t)tn__dtype_size(n->weight->dtype);
    return tn__load_double(n->weight->dtype, (const char *)n->weight->data + c * n->weight->stride[0] * size);
}

static tn_status check_targets(const nll *n)
{
    for (int64_t i = 0; i < n->batch * n->spatial; i++) {
        int64_t t = target_of(n, i);
        if (t != n->ignore && (t < 0 || t >= n->classes))
            return tn__error(TN_EINDEX, "Target %lld is out of bounds.", (long long)t);
    }
    return TN_OK;
}

tn_status tn__cpu_nll_loss(const tn__launch *l)
{
    const tn__view *x = &l->in[0], *out = &l->out[0], *total_out = &l->out[1];
    nll n = nll_of(l, x->ndim, x->shape);
    const int64_t size = (int64_t)tn__dtype_size(x->dtype);
    double sum = 0, total = 0;
    tn_status e = check_targets(&n);
    if (e)
        return e;
    for (int64_t i = 0; i < n.batch * n.spatial; i++) {
        int64_t t = target_of(&n, i), b = i / n.spatial, s = i % n.spatial;
        double loss = 0, w = 0;
        if (t != n.ignore) {
            w = weight_of(&n, t);
            loss = -w * tn__load_double(x->dtype, (const char *)x->data +
                                                      element_offset(x, (b * n.classes + t) * n.spatial + s) * size);
        }
        sum += loss;
        total += w;
        if (l->attr->reduction == TN_NO_REDUCTION)
            tn__store_double(out->dtype, (char *)out->data + i * size, loss);
    }
    if (l->attr->reduction != TN_NO_REDUCTION)
        tn__store_double(out->dtype, out->data, l->attr->reduction == TN_SUM ? sum : sum / total);
    tn__store_double(total_out->dtype, total_out->data, total);
    return TN_OK;
}

/* in: g, target, weight, total; out: gradient of x */
tn_status tn__cpu_nll_loss_backward(const tn__launch *l)
{
    const tn__view *g = &l->in[0], *out = &l->out[0];
    nll n = nll_of(l, out->ndim, out->shape);
    const int64_t size = (int64_t)tn__dtype_size(out->dtype);
    double total = tn__load_double(l->in[3].dtype, l->in[3].data);
    if (out->numel)
        memset(out->data, 0, (size_t)(out->numel * size));
    for (int64_t i = 0; i < n.batch * n.spatial; i++) {
        int64_t t = target_of(&n, i), b = i / n.spatial, s = i % n.spatial;
        if (t == n.ignore)
            continue;
        double d = tn__load_double(g->dtype, (const char *)g->data + (g->numel == 1 ? 0 : element_offset(g, i)) * size);
        d *= -weight_of(&n, t);
        if (l->attr->reduction == TN_MEAN)
            d /= total;
        tn__store_double(out->dtype, (char *)out->data + ((b * n.classes + t) * n.spatial + s) * size, d);
    }
    return TN_OK;
}
