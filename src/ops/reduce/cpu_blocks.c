/* Rows, block by block. Those that lie side by side in memory are taken some at a time, as columns of a matrix; many short
 * ones are turned to lie so. */
#include "ops/reduce/cpu_blocks.h"
#include "core/parallel.h"

enum { WORK = 32768, BUNDLE = 16, PART = 256, PITCH = PART + 16 }; /* PART: elements of a block of a bundle's row */
enum { TILE = 2048, PIECES = 64 }; /* elements turned at once; pieces of long rows, at most */

typedef struct blocks {
    const tn__launch *l;
    const tn__block_rules *rules;
    int type;
    bool as_is;                 /* rows are in one piece and of the loop type */
    bool as_bf16, columns_bf16; /* bfloat16 is taken as it lies, by rows or by bundles */
    bool turned;                /* bundles are of short rows */
    tn__strided_dims row;
    int64_t n; /* elements of a row */
    int32_t n_kept;
    int64_t kept[TN_MAX_DIMS], stride[TN_MAX_DIMS],
        dense[TN_MAX_DIMS]; /* the dimension of bundles first; dense: of results */
    int64_t bundle, lines;
} blocks;

/* Elements from .. to of a row. */
static void carry(const blocks *b, const char *base, int64_t from, int64_t to, tn__carried *c)
{
    const tn_dtype dtype = b->l->in[0].dtype;
    const int64_t size = (int64_t)tn__dtype_size(dtype);
    double buffer[TN__BLOCK];
    for (int64_t i = from; i < to; i += TN__BLOCK) {
        const int64_t n = TN_MIN(TN__BLOCK, to - i);
        const void *x = buffer;
        if (b->as_bf16) {
            b->rules->block_bf16(c, base + i * size, n);
            continue;
        }
        if (b->as_is)
            x = base + i * size;
        else if (b->row.n == 1)
            tn__isa()->load[dtype][b->type](buffer, base + i * b->row.stride[0] * size, b->row.stride[0], n);
        else
            tn__load_strided(buffer, b->type, dtype, base, &b->row, i, n);
        b->rules->block(b->l, b->type, c, x, i, n);
    }
}

static void run_row(const blocks *b, const char *base, int64_t result)
{
    tn__carried c = {0};
    carry(b, base, 0, b->n, &c);
    b->rules->store(b->l, b->type, &c, result);
}

static void run_bundle(const blocks *b, const char *base, int64_t result, int64_t width)
{
    const tn_dtype dtype = b->l->in[0].dtype;
    const int64_t size = (int64_t)tn__dtype_size(dtype), step = b->row.stride[0];
    tn__carried c[TN__MAX_BUNDLE] = {{0}};
    double tile[BUNDLE * PITCH];
    if (b->columns_bf16)
        b->rules->columns_bf16(c, base, step, b->n, width);
    for (int64_t i = 0; i < b->n && !b->columns_bf16; i += PART) {
        const int64_t n = TN_MIN(PART, b->n - i);
        tn__load_beside(tile, PITCH, b->type, dtype, base + i * step * size, step, n, width);
        for (int64_t w = 0; w < width; w++)
            b->rules->block(b->l, b->type, &c[w], (const char *)tile + (size_t)(w * PITCH) * tn__type_size(b->type), i,
                            n);
    }
    for (int64_t w = 0; w < width; w++)
        b->rules->store(b->l, b->type, &c[w], result + w * b->dense[0]);
}

static void run_turned(const blocks *b, const char *base, int64_t result, int64_t width)
{
    const tn_dtype dtype = b->l->in[0].dtype;
    double tile[TILE], raw[TILE];
    tn__isa()->transpose(b->as_is ? tile : raw, width, base, b->stride[0], width, b->n, tn__dtype_size(dtype));
    if (!b->as_is)
        tn__isa()->load[dtype][b->type](tile, raw, 1, width * b->n);
    b->rules->lines(b->l, b->type, tile, b->n, width, result);
}

/* Where the rows of an item begin, and its first result. */
static const char *place(const blocks *b, int64_t item, int64_t *result)
{
    const tn__view *x = &b->l->in[0];
    const int64_t first = item % b->lines * b->bundle;
    int64_t rest = item / b->lines, offset = first * b->stride[0];
    *result = first * b->dense[0];
    for (int32_t d = 1; d < b->n_kept; d++) {
        offset += rest % b->kept[d] * b->stride[d];
        *result += rest % b->kept[d] * b->dense[d];
        rest /= b->kept[d];
    }
    return (const char *)x->data + offset * (int64_t)tn__dtype_size(x->dtype);
}

static void run(void *ctx, int64_t begin, int64_t end)
{
    const blocks *b = ctx;
    for (int64_t item = begin; item < end; item++) {
        const int64_t width = TN_MIN(b->bundle, b->kept[0] - item % b->lines * b->bundle);
        int64_t result;
        const char *base = place(b, item, &result);
        if (b->turned)
            run_turned(b, base, result, width);
        else if (width > 1)
            run_bundle(b, base, result, width);
        else
            run_row(b, base, result);
    }
}

/* ---- few long rows, in pieces ---- */

typedef struct pieces {
    const blocks *b;
    int64_t count, size; /* of each row */
    tn__carried carried[PIECES];
} pieces;

static void run_pieces(void *ctx, int64_t begin, int64_t end)
{
    pieces *p = ctx;
    for (int64_t i = begin; i < end; i++) {
        const int64_t from = i % p->count * p->size;
        int64_t result;
        carry(p->b, place(p->b, i / p->count, &result), from, TN_MIN(from + p->size, p->b->n), &p->carried[i]);
    }
}

/* Sizes follow from the shape alone, so results do not change with the number of threads. False: no use. */
static bool run_in_pieces(const blocks *b, int64_t results)
{
    if (b->bundle > 1 || b->n < 2 * WORK || results > PIECES / 2)
        return false;
    pieces p = {.b = b, .size = TN_MAX(WORK, tn__div_up(b->n * results, PIECES))};
    p.size = tn__div_up(p.size, TN__BLOCK) * TN__BLOCK;
    p.count = tn__div_up(b->n, p.size);
    tn__parallel_for(results * p.count, 1, run_pieces, &p);
    for (int64_t r = 0; r < results; r++) {
        int64_t result;
        tn__carried *c = &p.carried[r * p.count];
        for (int64_t k = 1; k < p.count; k++)
            b->rules->join(b->l, b->type, c, &c[k]);
        place(b, r, &result);
        b->rules->store(b->l, b->type, c, result);
    }
    return true;
}

static void add_kept(blocks *b, const tn__view *x, const int64_t *dense, int32_t d)
{
    b->kept[b->n_kept] = x->shape[d];
    b->stride[b->n_kept] = x->stride[d];
    b->dense[b->n_kept++] = dense[d];
}

void tn__cpu_blocks(const tn__launch *l, const tn__dims *dim, int type, const tn__block_rules *rules)
{
    const tn__view *x = &l->in[0];
    blocks b = {.l = l, .rules = rules, .type = type, .kept = {1}, .bundle = 1};
    int64_t dense[TN_MAX_DIMS], results = 1;
    uint32_t mask = 0;
    int32_t first = -1;
    for (int32_t i = 0; i < dim->n; i++)
        mask |= 1U << dim->d[i];
    if (rules->ordered)
        tn__some_dims_in_order(&b.row, x, mask);
    else
        tn__strided_dims_of(&b.row, x, mask);
    b.n = tn__dims_numel(&b.row);
    b.as_is = b.row.n == 1 && b.row.stride[0] == 1 && tn__dtypes[x->dtype].compute == x->dtype &&
              tn__type_of(x->dtype) == type;
    b.as_bf16 = rules->block_bf16 && x->dtype == TN_BF16 && type == TN__F32 && b.row.n == 1 && b.row.stride[0] == 1;
    for (int32_t d = x->ndim - 1; d >= 0; d--) {
        dense[d] = results;
        if (mask >> d & 1)
            continue;
        results *= x->shape[d];
        if (x->stride[d] == 1 && x->shape[d] > 1 && b.row.n == 1 && b.row.stride[0] != 1)
            first = d;
    }
    if (!results)
        return;
    if (first >= 0) {
        add_kept(&b, x, dense, first);
        b.columns_bf16 = rules->columns_bf16 && x->dtype == TN_BF16 && type == TN__F32;
        b.bundle = b.columns_bf16 ? TN__MAX_BUNDLE : BUNDLE;
    }
    for (int32_t d = x->ndim - 1; d >= 0; d--)
        if (!(mask >> d & 1) && d != first)
            add_kept(&b, x, dense, d);
    b.turned = rules->lines && first < 0 && b.row.n == 1 && b.dense[0] == 1 &&
               tn__pays_to_turn(b.n, b.row.stride[0], b.kept[0], b.stride[0]);
    if (b.turned)
        b.bundle = TILE / b.n;
    b.lines = tn__div_up(b.kept[0], b.bundle);
    if (run_in_pieces(&b, results))
        return;
    tn__parallel_for(results / b.kept[0] * b.lines, tn__div_up(WORK, TN_MAX(b.n, 1) * b.bundle), run, &b);
}
