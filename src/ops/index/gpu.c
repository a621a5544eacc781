/* gather, scatter, scatter_add, index_select, embedding, index_add, index_copy, one_hot: one set of dimensions over
 * what is moved says where its index lies, where the table's element would for index 0, and where the other side is. */
#include "backend/gpu/dims.h"
#include "backend/gpu/run.h"
#include "core/settings.h"
#include "ops/index/gpu_layout.h"

enum { GATHER, SCATTER, ADD, ORDERED, ONE_HOT, RAVEL };
enum { GROUP = 256, NARROW_INDEX = 1, WIDE_ELEMENT = 2 }; /* the latter two: bits of TN_VARIANT */

typedef struct index_job {
    const tn__launch *l;
    const tn__view *table, *index, *other;
    tn_dtype element; /* of the unit */
    bool add;
    int32_t
        ordered; /* what only the kernel that keeps the order does: 2 multiplies, 3 the larger one, 4 the smaller one */
    uint32_t variant;
    uint64_t value; /* bits of a number */
    indexed f;
    const tn__gpu_limits *limits;
    void *fault;
} index_job;

/* What is moved is a word; what is added, an element: of uint16 and its like an integer with a sign has the same bits. */
static tn_dtype element_of(tn_dtype d, bool adds)
{
    return adds && !tn__dtype_is_bare(d) ? d : tn__dtype_word(d);
}

static tn_status begin(index_job *j, int64_t dim)
{
    j->limits = tn__gpu_limits_of(j->l->device);
    j->fault = j->limits ? tn__gpu_fault_words(j->l->device) : NULL;
    j->f.op = (int32_t)j->l->op;
    j->f.along = j->table->ndim ? j->table->stride[dim] : 0;
    j->f.size = tn__size_of(j->table, dim);
    return j->fault ? TN_OK : tn_error_code();
}

static tn__gpu_launch launch_of(const index_job *j, uint32_t kernel, tn_dtype compute)
{
    return (tn__gpu_launch){.device = j->l->device,
                            .unit = {.family = TN__FAMILY_index,
                                     .op = TN__OPS,
                                     .in = j->element,
                                     .compute = compute,
                                     .variant = j->variant | (j->index->dtype == TN_I32 ? NARROW_INDEX : 0)},
                            .kernel = kernel,
                            .groups = {tn__grid_groups(j->f.n, j->limits)},
                            .local = {GROUP},
                            .label = tn__op_name(j->l->op)};
}

/* ---- reading ---- */

/* Slices that are whole 16 bytes on both sides are moved so. */
static bool widen(index_job *j, const tn__view *out)
{
    tn__gpu_dims *w = &j->f.dims;
    const int64_t width = 16 / (int64_t)tn__dtype_size(out->dtype);
    bool fits = w->a[0] == 0 && w->b[0] == 1 && w->shape[0] % width == 0 && j->f.along % width == 0 &&
                tn__aligned16(j->table->data) && tn__aligned16(out->data);
    for (int32_t d = 1; fits && d < w->n; d++)
        fits = w->b[d] % width == 0;
    if (!fits)
        return false;
    w->shape[0] /= width;
    for (int32_t d = 1; d < w->n; d++)
        w->b[d] /= width;
    j->f.along /= width;
    j->f.n = tn__gpu_dims_end(w, &j->variant);
    return true;
}

static tn_status read_table(index_job *j)
{
    const tn__view *out = &j->l->out[0];
    j->element = tn__dtype_word(out->dtype);
    j->f.n = tn__gpu_dims_end(&j->f.dims, &j->variant);
    if (out->numel == 0)
        return TN_OK;
    const bool wide = widen(j, out);
    const tn__gpu_arg arg[] = {TN__GPU_MEMORY(j->table->data), TN__GPU_MEMORY(j->index->data),
                               TN__GPU_MEMORY(out->data), TN__GPU_MEMORY(j->fault), TN__GPU_VALUE(j->f)};
    tn__gpu_launch g = launch_of(j, GATHER, 0);
    if (wide) {
        g.unit.in = TN_I32;
        g.unit.variant |= WIDE_ELEMENT;
    }
    g.arg = arg;
    g.n_arg = TN_COUNT(arg);
    return tn__gpu_run(&g);
}

/* Adds the dimensions of the index: over its own elements. */
static void add_index_dims(index_job *j, int64_t dim, bool all)
{
    const tn__view *index = j->index, *table = j->table, *other = j->other;
    for (int32_t d = index->ndim - 1; d >= 0; d--)
        if (all || d != dim)
            tn__gpu_dims_add(&j->f.dims, index->shape[d], index->stride[d],
                             table->ndim && d != dim ? table->stride[d] : 0,
                             other && other->ndim ? other->stride[d] : 0);
}

tn_status tn__gpu_gather(const tn__launch *l)
{
    const tn__along_params *p = l->params;
    index_job j = {.l = l, .table = &l->in[0], .index = &l->in[1]};
    tn_status e = begin(&j, p->dim);
    if (e)
        return e;
    add_index_dims(&j, p->dim, true);
    return read_table(&j);
}

/* The slices of in[0] along a dimension that in[1] names. */
static tn_status pick_slices(const tn__launch *l, int32_t dim)
{
    index_job j = {.l = l, .table = &l->in[0], .index = &l->in[1]};
    const tn__view *table = j.table, *index = j.index;
    tn_status e = begin(&j, dim);
    if (e)
        return e;
    for (int32_t d = table->ndim - 1; d > dim; d--)
        tn__gpu_dims_add(&j.f.dims, table->shape[d], 0, table->stride[d], 0);
    for (int32_t d = index->ndim - 1; d >= 0; d--)
        tn__gpu_dims_add(&j.f.dims, index->shape[d], index->stride[d], 0, 0);
    for (int32_t d = TN_MIN(dim, table->ndim) - 1; d >= 0; d--)
        tn__gpu_dims_add(&j.f.dims, table->shape[d], 0, table->stride[d], 0);
    return read_table(&j);
}

tn_status tn__gpu_index_select(const tn__launch *l)
{
    const tn__along_params *p = l->params;
    return pick_slices(l, (int32_t)p->dim);
}

tn_status tn__gpu_embedding(const tn__launch *l)
{
    return pick_slices(l, 0);
}

tn_status tn__gpu_one_hot(const tn__launch *l)
{
    const tn__one_hot_params *p = l->params;
    const tn__view *index = &l->in[0], *out = &l->out[0];
    index_job j = {.l = l, .table = out, .index = index, .element = TN_I64};
    if (out->numel == 0)
        return TN_OK;
    tn_status e = begin(&j, 0);
    if (e)
        return e;
    j.f.size = p->num_classes;
    tn__gpu_dims_add(&j.f.dims, p->num_classes, 0, 0, 1);
    for (int32_t d = index->ndim - 1; d >= 0; d--)
        tn__gpu_dims_add(&j.f.dims, index->shape[d], index->stride[d], 0, 0);
    j.f.n = tn__gpu_dims_end(&j.f.dims, &j.variant);
    const tn__gpu_arg arg[] = {TN__GPU_MEMORY(index->data), TN__GPU_MEMORY(out->data), TN__GPU_MEMORY(j.fault),
                               TN__GPU_VALUE(j.f)};
    tn__gpu_launch g = launch_of(&j, ONE_HOT, 0);
    g.arg = arg;
    g.n_arg = TN_COUNT(arg);
    return tn__gpu_run(&g);
}

/* ---- writing ---- */

/* The dimensions are of rows whose destinations nobody shares. */
static tn_status write_in_order(index_job *j)
{
    const void *other = j->other ? j->other->data : NULL;
    const int32_t how = j->ordered ? j->ordered : j->add;
    j->f.n = tn__gpu_dims_end(&j->f.dims, &j->variant);
    j->f.lanes = 1;
    while (j->f.lanes < GROUP && j->f.lanes * 2 <= j->f.size && j->f.n * j->f.lanes < tn__enough_items(j->limits))
        j->f.lanes *= 2;
    const tn__gpu_arg arg[] = {TN__GPU_MEMORY(j->table->data),
                               TN__GPU_MEMORY(j->index->data),
                               TN__GPU_MEMORY(other),
                               TN__GPU_MEMORY(j->fault),
                               TN__GPU_VALUE(j->value),
                               TN__GPU_VALUE(how),
                               TN__GPU_VALUE(j->f)};
    tn__gpu_launch g = launch_of(j, ORDERED, tn__dtypes[j->element].compute);
    g.groups[0] = (uint32_t)tn__div_up(j->f.n * j->f.lanes, GROUP);
    g.arg = arg;
    g.n_arg = TN_COUNT(arg);
    return tn__gpu_run(&g);
}

static tn_status write_anyhow(index_job *j)
{
    const void *other = j->other ? j->other->data : NULL;
    j->f.n = tn__gpu_dims_end(&j->f.dims, &j->variant);
    const tn__gpu_arg scatter[] = {TN__GPU_MEMORY(j->table->data), TN__GPU_MEMORY(j->index->data),
                                   TN__GPU_MEMORY(other),          TN__GPU_MEMORY(j->fault),
                                   TN__GPU_VALUE(j->value),        TN__GPU_VALUE(j->f)};
    const tn__gpu_arg add[] = {scatter[0], scatter[1], scatter[2], scatter[3], scatter[5]};
    tn__gpu_launch g = launch_of(j, j->add ? ADD : SCATTER, j->add ? tn__dtypes[j->element].compute : 0);
    g.arg = j->add ? add : scatter;
    g.n_arg = j->add ? TN_COUNT(add) : TN_COUNT(scatter);
    return tn__gpu_run(&g);
}

/* Sums of integers are the same in any order. Of products and extremes there is no other kernel. */
static bool wants_order(const index_job *j)
{
    return j->ordered || (tn__deterministic() && (!j->add || tn__dtype_is_float(j->table->dtype)));
}

tn_status tn__gpu_scatter(const tn__launch *l)
{
    const tn__along_params *p = l->params;
    index_job j = {.l = l, .table = &l->out[0], .index = &l->in[1], .other = l->in[2].dtype ? &l->in[2] : NULL};
    const int64_t dim = p->dim;
    if (j.index->numel == 0)
        return TN_OK;
    tn_status e = begin(&j, dim);
    if (e)
        return e;
    j.add = l->op == TN__OP_scatter_add;
    j.ordered = l->op == TN__OP__scatter_mul   ? 2
                : l->op == TN__OP__scatter_max ? 3
                : l->op == TN__OP__scatter_min ? 4
                                               : 0;
    j.element = element_of(j.table->dtype, j.add || j.ordered);
    if (!j.other)
        tn__store_scalar(j.table->dtype, &j.value, &l->operand[2]);
    const bool order = wants_order(&j);
    add_index_dims(&j, dim, !order);
    if (!order)
        return write_anyhow(&j);
    j.f.length = tn__size_of(j.index, dim);
    j.f.step_a = tn__stride_of(j.index, dim);
    j.f.step_c = j.other ? tn__stride_of(j.other, dim) : 0;
    return write_in_order(&j);
}

static tn_status put_slices(const tn__launch *l, bool adds)
{
    index_job j = {.l = l, .table = &l->out[0], .index = &l->in[1], .other = &l->in[2], .add = adds};
    const tn__view *src = j.other, *table = j.table;
    const int64_t dim = ((const tn__along_params *)l->params)->dim;
    if (src->numel == 0)
        return TN_OK;
    tn_status e = begin(&j, dim);
    if (e)
        return e;
    j.element = element_of(table->dtype, adds);
    const int64_t step = j.index->ndim ? j.index->stride[0] : 0;
    const bool order = wants_order(&j);
    for (int32_t d = src->ndim - 1; d >= 0; d--)
        if (d != dim || !order)
            tn__gpu_dims_add(&j.f.dims, src->shape[d], d == dim ? step : 0, d == dim ? 0 : table->stride[d],
                             src->stride[d]);
    if (!order)
        return write_anyhow(&j);
    j.f.length = j.index->numel;
    j.f.step_a = step;
    j.f.step_c = tn__stride_of(src, dim);
    return write_in_order(&j);
}

tn_status tn__gpu_index_add(const tn__launch *l)
{
    return put_slices(l, true);
}

tn_status tn__gpu_index_copy(const tn__launch *l)
{
    return put_slices(l, false);
}

/* One index after the other is added to the result. */
tn_status tn__gpu_ravel_index(const tn__launch *l)
{
    const tn__index_params *p = l->params;
    const tn__view *out = &l->out[0];
    tn_status e = TN_OK;
    for (int32_t k = 0; !e && out->numel && k < l->n_in; k++) {
        const tn__view *index = &l->in[k];
        index_job j = {.l = l, .table = out, .index = index, .element = TN_I64};
        const int32_t add = k > 0;
        if ((e = begin(&j, 0)))
            return e;
        j.f.size = p->size.d[k];
        j.f.along = p->stride.d[k];
        for (int32_t d = index->ndim - 1; d >= 0; d--)
            tn__gpu_dims_add(&j.f.dims, index->shape[d], index->stride[d], 0, 0);
        j.f.n = tn__gpu_dims_end(&j.f.dims, &j.variant);
        const tn__gpu_arg arg[] = {TN__GPU_MEMORY(index->data), TN__GPU_MEMORY(out->data), TN__GPU_MEMORY(j.fault),
                                   TN__GPU_VALUE(add), TN__GPU_VALUE(j.f)};
        tn__gpu_launch g = launch_of(&j, RAVEL, 0);
        g.arg = arg;
        g.n_arg = TN_COUNT(arg);
        e = tn__gpu_run(&g);
    }
    return e;
}

/* Of a mask and its running sum. */
tn_status tn__gpu_nonzero(const tn__launch *l)
{
    const tn__nonzero_params *p = l->params;
    const tn__view *x = &l->in[0];
    const tn__gpu_limits *limits = tn__gpu_limits_of(l->device);
    if (!limits)
        return tn_error_code();
    if (l->out[0].numel == 0)
        return TN_OK;
    tn_matrices m = {.matrices = x->numel, .ndim = x->ndim, .rows = p->n};
    for (int32_t d = 0; d < x->ndim; d++)
        m.shape[d] = x->shape[d];
    const tn__gpu_arg args[] = {TN__GPU_MEMORY(x->data), TN__GPU_MEMORY(l->in[1].data), TN__GPU_MEMORY(l->out[0].data),
                                TN__GPU_VALUE(m)};
    return tn__gpu_run(
        &(tn__gpu_launch){.device = l->device,
                          .unit = {.family = TN__FAMILY_nonzero, .op = TN__OPS, .in = tn__dtype_word(x->dtype)},
                          .groups = {tn__gpu_groups(limits, x->numel)},
                          .local = {TN__GPU_LOCAL},
                          .arg = args,
                          .n_arg = (int32_t)TN_COUNT(args),
                          .label = tn__op_name(l->op)});
}
