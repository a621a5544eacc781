/* Concatenation. Dense pieces of the result's dtype go up to eight at a launch; others are copied one by one. */
#include "backend/gpu/run.h"
#include "core/error.h"

/* Pieces to be launched together. */
typedef struct batch {
    const tn__launch *l;
    const tn__gpu_limits *limits;
    int64_t rows, row; /* of the result: rows, and elements of one */
    int32_t n;
    bool vectors; /* so far everything is made of 16-byte vectors */
    void *data[TN_PIECES];
    int64_t width[TN_PIECES], at[TN_PIECES];
} batch;

static int64_t product(const int64_t *shape, int64_t from, int64_t to)
{
    int64_t n = 1;
    for (int64_t d = from; d < to; d++)
        n *= shape[d];
    return n;
}

static tn_status flush(batch *b)
{
    const tn__view *out = &b->l->out[0];
    const int64_t size = (int64_t)tn__dtype_size(out->dtype), unit = b->vectors ? 16 / size : 1;
    tn_cat_pieces cat = {.rows = (uint32_t)b->rows, .row = (uint32_t)(b->row / unit)};
    void *data = out->data;
    int64_t widest = 0;
    int32_t kinds = b->vectors ? TN_VECTORS : 0;
    if (b->n == 0)
        return TN_OK;
    for (int32_t k = 0; k < TN_PIECES; k++) {
        cat.width[k] = (uint32_t)(k < b->n ? b->width[k] / unit : 1);
        cat.at[k] = (uint32_t)(k < b->n ? b->at[k] / unit : 0);
        tn__gpu_magic(cat.width[k], &cat.magic[k], &cat.shift[k]);
        widest = TN_MAX(widest, (int64_t)cat.width[k]);
        b->data[k] = k < b->n ? b->data[k] : NULL;
    }
    const tn__gpu_arg args[] = {TN__GPU_MEMORY(b->data[0]), TN__GPU_MEMORY(b->data[1]), TN__GPU_MEMORY(b->data[2]),
                                TN__GPU_MEMORY(b->data[3]), TN__GPU_MEMORY(b->data[4]), TN__GPU_MEMORY(b->data[5]),
                                TN__GPU_MEMORY(b->data[6]), TN__GPU_MEMORY(b->data[7]), TN__GPU_MEMORY(data),
                                TN__GPU_VALUE(kinds),       TN__GPU_VALUE(cat)};
    const tn_dtype word = tn__dtype_word(out->dtype);
    const tn__gpu_launch launch = {.device = b->l->device,
                                   .unit = {.family = TN__FAMILY_cat,
                                            .op = TN__OPS,
                                            .in = word,
                                            .out = word,
                                            .compute = word == TN_I64 ? TN_I64 : TN_I32},
                                   .groups = {tn__gpu_groups(b->limits, widest * b->rows), (uint32_t)b->n},
                                   .local = {TN__GPU_LOCAL},
                                   .arg = args,
                                   .n_arg = (int32_t)TN_COUNT(args),
                                   .label = tn__ops[b->l->op].name};
    b->n = 0;
    return tn__gpu_run(&launch);
}

/* One piece by a copy of its own: the result's part, and the input with stack's new dimension of size 1. */
static tn_status copy_piece(const tn__launch *l, const tn__view *piece, int64_t at)
{
    const tn__view *out = &l->out[0];
    const int64_t dim = ((const tn__join_params *)l->params)->dim;
    const bool stack = l->op == TN__OP_stack;
    tn__view in = *piece, part = *out;
    int64_t shape[TN_MAX_DIMS], stride[TN_MAX_DIMS];
    memcpy(shape, out->shape, sizeof(int64_t) * (size_t)out->ndim);
    for (int32_t d = 0; d < out->ndim; d++)
        stride[d] = stack ? (d == dim ? 1 : in.stride[d - (d > dim)]) : in.stride[d];
    shape[dim] = stack ? 1 : in.shape[dim];
    part.data = (char *)out->data + at * out->stride[dim] * (int64_t)tn__dtype_size(out->dtype);
    part.shape = in.shape = shape;
    part.numel = in.numel;
    part.contiguous = false;
    in.stride = stride;
    in.ndim = out->ndim;
    return tn__gpu_copy_as(l->device, &part, &in, tn__ops[l->op].name);
}

static bool joins(const tn__view *out, const tn__view *in)
{
    return in->contiguous && out->contiguous && in->dtype == out->dtype && out->numel <= TN__GPU_INDEX_MAX;
}

tn_status tn__gpu_cat(const tn__launch *l)
{
    const tn__join_params *p = l->params;
    const tn__view *out = &l->out[0];
    const int64_t dim = p->dim, inner = product(out->shape, dim + 1, out->ndim);
    const int64_t size = (int64_t)tn__dtype_size(out->dtype);
    batch b = {.l = l, .limits = tn__gpu_limits_of(l->device), .row = out->shape[dim] * inner};
    tn_status e = TN_OK;
    if (!b.limits)
        return tn_error_code();
    b.rows = product(out->shape, 0, dim);
    b.vectors = tn__gpu_aligned(out->data, 16) && b.row * size % 16 == 0;
    const bool aligned = b.vectors;
    int64_t at = 0;
    for (int32_t i = 0; i < l->n_in && !e; i++) {
        const tn__view *in = &l->in[i];
        const int64_t n = l->op == TN__OP_stack ? 1 : in->numel ? in->shape[dim] : 0;
        if (in->numel && joins(out, in)) {
            b.vectors = (b.n ? b.vectors : aligned) && tn__gpu_aligned(in->data, 16) && n * inner * size % 16 == 0 &&
                        at * inner * size % 16 == 0;
            b.data[b.n] = in->data;
            b.width[b.n] = n * inner;
            b.at[b.n++] = at * inner;
            e = b.n == TN_PIECES ? flush(&b) : TN_OK;
        } else if (in->numel) {
            e = copy_piece(l, in, at);
        }
        at += n;
    }
    return e ? e : flush(&b);
}
