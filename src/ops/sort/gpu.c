/* The order of the elements of each row, and of rows; what is taken by it; search in sorted rows. */
#include "backend/gpu/dims.h"
#include "ops/sort/gpu_layout.h"
#include "ops/sort/infer_search.h"
#include "ops/sort/infer_select.h"

enum { START, MERGE, MERGE_ROWS, TAKE, TAKE_VALUES, PICK };
enum { WHOLE, COUNT, GATHER, FINISH }; /* select.k */

static tn_status run(const tn__launch *l, tn_dtype d, uint32_t family, uint32_t kernel, int64_t items,
                     const tn__gpu_arg *arg, int32_t n)
{
    const tn__gpu_limits *limits = tn__gpu_limits_of(l->device);
    if (!limits)
        return tn_error_code();
    tn__gpu_launch g = {.device = l->device,
                        .unit = {.family = family, .op = TN__OPS, .in = d, .out = d, .compute = tn__dtypes[d].compute},
                        .kernel = kernel,
                        .groups = {tn__grid_groups(items, limits)},
                        .local = {256},
                        .arg = arg,
                        .n_arg = n,
                        .label = tn__op_name(l->op)};
    return tn__gpu_run(&g);
}

/* Runs of indices are merged in pairs, by that kernel, until one is left: in 'order'. */
static tn_status merged(const tn__launch *l, sort_rows r, uint32_t kernel, void *order)
{
    const size_t bytes = (size_t)r.all * sizeof(int64_t);
    void *scratch = r.n > 1 ? tn__gpu_scratch_get(l->device, bytes) : NULL;
    if (r.n > 1 && !scratch)
        return tn_error_code();
    int passes = 0;
    for (int64_t width = 1; width < r.n; width *= 2)
        passes++;
    void *from = passes % 2 ? scratch : order, *to = passes % 2 ? order : scratch; /* the last one ends in order */
    const tn__gpu_arg start[] = {TN__GPU_MEMORY(from), TN__GPU_VALUE(r)};
    tn_status e = run(l, l->in[0].dtype, TN__FAMILY_sort, START, r.all, start, TN_COUNT(start));
    for (r.width = 1; !e && r.width < r.n; r.width *= 2) {
        const tn__gpu_arg merge[] = {TN__GPU_MEMORY(l->in[0].data), TN__GPU_MEMORY(from), TN__GPU_MEMORY(to),
                                     TN__GPU_VALUE(r)};
        e = run(l, l->in[0].dtype, TN__FAMILY_sort, kernel, r.all, merge, TN_COUNT(merge));
        void *swap = from;
        from = to;
        to = swap;
    }
    if (scratch)
        tn__gpu_scratch_put(l->device, scratch, bytes);
    return e;
}

static sort_rows rows_of(const tn__view *x, bool descending)
{
    return (sort_rows){.n = x->ndim ? x->shape[x->ndim - 1] : 1, .all = x->numel, .descending = descending};
}

tn_status tn__gpu_order(const tn__launch *l)
{
    const tn__order_params *p = l->params;
    return l->out[0].numel ? merged(l, rows_of(&l->in[0], p->descending), MERGE, l->out[0].data) : TN_OK;
}

/* The rows in order, and of that what the kernel takes: k of each row. */
static tn_status taken(const tn__launch *l, bool descending, uint32_t kernel, int64_t k, int32_t which)
{
    sort_rows r = rows_of(&l->in[0], descending);
    if (l->out[0].numel == 0)
        return TN_OK;
    const size_t bytes = (size_t)r.all * sizeof(int64_t);
    void *order = tn__gpu_scratch_get(l->device, bytes);
    if (!order)
        return tn_error_code();
    tn_status e = merged(l, r, MERGE, order);
    r.all = l->out[0].numel;
    r.width = k;
    r.which = which;
    tn__gpu_arg arg[5] = {TN__GPU_MEMORY(l->in[0].data), TN__GPU_MEMORY(order), TN__GPU_MEMORY(l->out[0].data)};
    int32_t n = 3;
    if (kernel != TAKE_VALUES)
        arg[n++] = (tn__gpu_arg)TN__GPU_MEMORY(l->out[1].data);
    arg[n++] = (tn__gpu_arg)TN__GPU_VALUE(r);
    if (!e)
        e = run(l, l->in[0].dtype, TN__FAMILY_sort, kernel, r.all, arg, n);
    tn__gpu_scratch_put(l->device, order, bytes);
    return e;
}

tn_status tn__gpu_sort(const tn__launch *l)
{
    const tn__order_params *p = l->params;
    return taken(l, p->descending, TAKE, rows_of(&l->in[0], false).n, 0);
}

tn_status tn__gpu_in_order(const tn__launch *l)
{
    return taken(l, false, TAKE_VALUES, rows_of(&l->in[0], false).n, 0);
}

/* ---- selection ---- */

enum {
    SHORT_ROW = 16,            /* is sorted */
    TAKEN_WHOLE = 128,         /* all elements are sorted by the group that would select */
    LONGEST_ROW = 1 << 30,     /* int32 counts places */
    LARGEST = SELECT_ITEMS,    /* of a group */
    FEW_LONG = 1 << 16,        /* elements of a row that may be cut into pieces ... */
    LEAST_PIECE = 16 * LARGEST /* ... and of a piece */
};

static tn_status run_select(const tn__launch *l, uint32_t kernel, const int64_t size[3], const tn__gpu_arg *arg,
                            int32_t n)
{
    const tn_dtype d = l->in[0].dtype;
    tn__gpu_launch g = {.device = l->device,
                        .unit = {TN__FAMILY_select, TN__OPS, d, d, tn__dtypes[d].compute, 0},
                        .kernel = kernel,
                        .groups = {(uint32_t)size[0], (uint32_t)size[1]},
                        .local = {(uint32_t)size[2]},
                        .arg = arg,
                        .n_arg = n,
                        .label = tn__op_name(l->op)};
    return tn__gpu_run(&g);
}

/* Few long rows: a launch for each digit, one for what is taken, one for the results. */
static tn_status select_in_pieces(const tn__launch *l, select_rows r, int64_t rows)
{
    const size_t state_bytes = (size_t)rows * (size_t)r.words * sizeof(int32_t);
    const size_t bytes = state_bytes + (size_t)rows * (size_t)r.take * sizeof(int32_t);
    char *state = tn__gpu_scratch_get(l->device, bytes);
    if (!state)
        return tn_error_code();
    const char *behind = state + (r.take ? state_bytes : 0); /* or memory that nobody touches by this name */
    const tn__gpu_arg x = TN__GPU_MEMORY(l->in[0].data), counted = TN__GPU_MEMORY(state);
    const tn__gpu_arg chosen = TN__GPU_MEMORY(behind);
    const int64_t all[3] = {rows, tn__div_up(r.n, r.piece), LARGEST};
    const int64_t one[3] = {rows, 1, r.which == SELECT_FIRST ? LARGEST : 32};
    tn_status e = tn__gpu_zero(l->device, state, state_bytes);
    for (r.pass = 0; !e && r.pass < r.digits; r.pass++) {
        const tn__gpu_arg arg[] = {x, counted, TN__GPU_VALUE(r)};
        e = run_select(l, COUNT, all, arg, TN_COUNT(arg));
    }
    const tn__gpu_arg gather[] = {x, counted, chosen, TN__GPU_VALUE(r)};
    const tn__gpu_arg finish[] = {
        x, counted, chosen, TN__GPU_MEMORY(l->out[0].data), TN__GPU_MEMORY(l->out[1].data), TN__GPU_VALUE(r)};
    if (!e)
        e = run_select(l, GATHER, all, gather, TN_COUNT(gather));
    if (!e)
        e = run_select(l, FINISH, one, finish, TN_COUNT(finish));
    tn__gpu_scratch_put(l->device, state, bytes);
    return e;
}

static int32_t bytes_of(int64_t n)
{
    int32_t bytes = 1;
    while (n >> 8 * bytes)
        bytes++;
    return bytes;
}

/* which: of infer_select.h, k the rank; or SELECT_FIRST, k how many. */
static tn_status selected(const tn__launch *l, int64_t k, int32_t which, bool descending)
{
    const tn__view *x = &l->in[0];
    const tn__gpu_limits *limits = tn__gpu_limits_of(l->device);
    if (!limits)
        return tn_error_code();
    const int64_t n = x->shape[x->ndim - 1], rows = x->numel / n, size = (int64_t)tn__dtype_size(x->dtype);
    const bool first = which == SELECT_FIRST;
    select_rows r = {.n = (int32_t)n, .k = first ? (int32_t)k : 1, .which = which, .descending = descending};
    r.take = first ? (n <= TAKEN_WHOLE ? r.n : r.k) : 0;
    r.rank = first ? r.take - 1 : (int32_t)k;
    r.digits = (int32_t)size + (first ? bytes_of(n - 1) : 0);
    r.words = r.digits * SELECT_DIGIT + 3;
    r.vector = n % (16 / size) == 0 && tn__aligned16(x->data);
    const int64_t pieces =
        TN_MIN(TN_MIN(2 * tn__enough_items(limits) / (rows * LARGEST), n / LEAST_PIECE), (int64_t)UINT16_MAX);
    if (n >= FEW_LONG && pieces > 1) {
        r.piece = (int32_t)(tn__div_up(tn__div_up(n, pieces), LARGEST * 16) * LARGEST * 16);
        return select_in_pieces(l, r, rows);
    }
    const int64_t groups[3] = {rows, 1, TN_MAX(tn__power_of_two(tn__div_up(n, 16), LARGEST), 32)};
    const tn__gpu_arg arg[] = {TN__GPU_MEMORY(x->data), TN__GPU_MEMORY(l->out[0].data), TN__GPU_MEMORY(l->out[1].data),
                               TN__GPU_VALUE(r)};
    return run_select(l, WHOLE, groups, arg, TN_COUNT(arg));
}

/* Is that cheaper than sorting? Short rows are sorted by few launches, whose groups have all items at work. */
static bool is_selected(const tn__view *x, int64_t taken)
{
    const int64_t n = x->ndim ? x->shape[x->ndim - 1] : 1;
    return n > SHORT_ROW && n <= LONGEST_ROW && taken <= SELECT_ROOM && x->numel / n <= INT32_MAX;
}

tn_status tn__gpu_topk(const tn__launch *l)
{
    const tn__topk_params *p = l->params;
    if (l->out[0].numel && is_selected(&l->in[0], p->k))
        return selected(l, p->k, SELECT_FIRST, !p->smallest);
    return taken(l, !p->smallest, TAKE, p->k, 0);
}

tn_status tn__gpu_select_kth(const tn__launch *l)
{
    const tn__select_params *p = l->params;
    if (l->out[0].numel && is_selected(&l->in[0], 1))
        return selected(l, p->k, (int32_t)p->which, false);
    return taken(l, false, PICK, p->k, (int32_t)p->which);
}

tn_status tn__gpu_row_order(const tn__launch *l)
{
    const int64_t *shape = l->in[0].shape;
    const sort_rows r = {.n = shape[0], .all = shape[0], .columns = shape[1]};
    return r.n ? merged(l, r, MERGE_ROWS, l->out[0].data) : TN_OK;
}

/* ---- search ---- */

tn_status tn__gpu_search(const tn__launch *l)
{
    enum { PLACES, SHORT_PLACES, FOUND };
    const tn__search_params *p = l->params;
    const tn__view *rows = &l->in[0], *value = &l->in[1], *out = &l->out[0];
    const search_rows r = {.n = rows->shape[rows->ndim - 1],
                           .all = value->numel,
                           .count = rows->ndim == 1 ? value->numel : value->shape[value->ndim - 1],
                           .behind = p->how == TN__SEARCH_BEHIND,
                           .missing = p->how == TN__SEARCH_MISSING};
    const tn__gpu_arg arg[] = {TN__GPU_MEMORY(rows->data), TN__GPU_MEMORY(value->data), TN__GPU_MEMORY(out->data),
                               TN__GPU_VALUE(r)};
    const uint32_t kernel = out->dtype == TN_BOOL ? FOUND : out->dtype == TN_I32 ? SHORT_PLACES : PLACES;
    return out->numel ? run(l, l->in[0].dtype, TN__FAMILY_search, kernel, r.all, arg, TN_COUNT(arg)) : TN_OK;
}

/* ---- bins ---- */

enum { BIN, COUNTS, SUMS };

tn_status tn__gpu_bins(const tn__launch *l)
{
    const tn__bins_params *p = l->params;
    const bin_rows r = {.low = p->low, .high = p->high, .all = l->in[0].numel, .edges = l->in[1].numel, .how = p->how};
    const tn__gpu_arg arg[] = {TN__GPU_MEMORY(l->in[0].data), TN__GPU_MEMORY(l->in[1].data),
                               TN__GPU_MEMORY(l->out[0].data), TN__GPU_VALUE(r)};
    return r.all ? run(l, l->in[0].dtype, TN__FAMILY_bin, BIN, r.all, arg, TN_COUNT(arg)) : TN_OK;
}

tn_status tn__gpu_counted(const tn__launch *l)
{
    const tn__view *weights = l->n_in > 1 && l->in[1].data ? &l->in[1] : NULL, *out = &l->out[0];
    const bin_rows r = {.all = l->in[0].numel, .edges = out->numel};
    if (out->numel == 0)
        return TN_OK;
    tn_status e = tn__gpu_zero(l->device, out->data, (size_t)out->numel * tn__dtype_size(out->dtype));
    tn__gpu_arg arg[4] = {TN__GPU_MEMORY(l->in[0].data)};
    int32_t n = 1;
    if (weights)
        arg[n++] = (tn__gpu_arg)TN__GPU_MEMORY(weights->data);
    arg[n++] = (tn__gpu_arg)TN__GPU_MEMORY(out->data);
    arg[n++] = (tn__gpu_arg)TN__GPU_VALUE(r);
    const tn_dtype d = weights ? weights->dtype : TN_F32;
    return e || r.all == 0 ? e : run(l, d, TN__FAMILY_bin, weights ? SUMS : COUNTS, r.all, arg, n);
}
