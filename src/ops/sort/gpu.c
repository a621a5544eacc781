/* The order of the elements of each row, and of rows. */
#include "backend/gpu/dims.h"
#include "ops/sort/gpu_layout.h"

enum { START, MERGE, MERGE_ROWS };

/* Runs of indices are merged in pairs, by that kernel, until one is left. */
static tn_status merged(const tn__launch *l, sort_rows r, int kernel)
{
    const tn__view *x = &l->in[0], *out = &l->out[0];
    const tn__gpu_limits *limits = tn__gpu_limits_of(l->device);
    if (!limits)
        return tn_error_code();
    if (out->numel == 0)
        return TN_OK;
    const size_t bytes = (size_t)out->numel * sizeof(int64_t);
    void *scratch = r.n > 1 ? tn__gpu_scratch_get(l->device, bytes) : NULL;
    if (r.n > 1 && !scratch)
        return tn_error_code();
    int passes = 0;
    for (int64_t width = 1; width < r.n; width *= 2)
        passes++;
    void *from = passes % 2 ? scratch : out->data,
         *to = passes % 2 ? out->data : scratch; /* the last one ends in out */
    const tn__gpu_arg start[] = {TN__GPU_MEMORY(from), TN__GPU_VALUE(r)};
    tn__gpu_launch g = {.device = l->device,
                        .unit = {.family = TN__FAMILY_sort,
                                 .op = TN__OPS,
                                 .in = x->dtype,
                                 .out = x->dtype,
                                 .compute = tn__dtypes[x->dtype].compute},
                        .kernel = START,
                        .groups = {tn__grid_groups(r.all, limits)},
                        .local = {256},
                        .arg = start,
                        .n_arg = TN_COUNT(start),
                        .label = tn__op_name(l->op)};
    tn_status e = tn__gpu_run(&g);
    for (r.width = 1; !e && r.width < r.n; r.width *= 2) {
        const tn__gpu_arg merge[] = {TN__GPU_MEMORY(x->data), TN__GPU_MEMORY(from), TN__GPU_MEMORY(to),
                                     TN__GPU_VALUE(r)};
        g.kernel = kernel;
        g.arg = merge;
        g.n_arg = TN_COUNT(merge);
        e = tn__gpu_run(&g);
        void *swap = from;
        from = to;
        to = swap;
    }
    if (scratch)
        tn__gpu_scratch_put(l->device, scratch, bytes);
    return e;
}

tn_status tn__gpu_sort(const tn__launch *l)
{
    const tn__order_params *p = l->params;
    const tn__view *x = &l->in[0];
    const int64_t n = x->ndim ? x->shape[x->ndim - 1] : 1;
    return merged(l, (sort_rows){.n = n, .all = l->out[0].numel, .descending = p->descending}, MERGE);
}

tn_status tn__gpu_row_order(const tn__launch *l)
{
    const int64_t *shape = l->in[0].shape;
    return merged(l, (sort_rows){.n = shape[0], .all = shape[0], .columns = shape[1]}, MERGE_ROWS);
}
