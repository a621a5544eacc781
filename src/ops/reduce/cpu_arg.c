/* Extremes and their places: argmax argmin max min. */
#include "ops/reduce/cpu_blocks.h"

static bool is_least(const tn__launch *l)
{
    return l->op == TN__OP_argmin || l->op == TN__OP_min;
}

static bool wants_value(const tn__launch *l)
{
    return l->op == TN__OP_max || l->op == TN__OP_min;
}

/* The block is searched only where it beats the best so far: the first of equals is found first. */
static void extreme_float(const tn__launch *l, int type, tn__carried *c, const void *x, int64_t at, int64_t n)
{
    const tn__cpu_isa *isa = tn__isa();
    const bool least = is_least(l);
    const double v = isa->reduce.run_float[least ? TN__MIN : TN__MAX][type](x, n), best = c->a;
    if (at && !(best == best && (v != v || (least ? v < best : v > best))))
        return;
    const float narrow = (float)v;
    c->a = v;
    c->at = at + isa->reduce.find[type](x, n, type == TN__F32 ? (const void *)&narrow : (const void *)&v);
}

static void extreme_int(const tn__launch *l, int type, tn__carried *c, const void *x, int64_t at, int64_t n)
{
    const tn__cpu_isa *isa = tn__isa();
    const bool least = is_least(l);
    const int64_t v = isa->reduce.run_int[least ? TN__MIN : TN__MAX][type - TN__I32](x, n);
    if (at && !(least ? v < c->whole : v > c->whole))
        return;
    const int32_t narrow = (int32_t)v;
    c->whole = v;
    c->at = at + isa->reduce.find[type](x, n, type == TN__I32 ? (const void *)&narrow : (const void *)&v);
}

static void store_extreme(const tn__launch *l, int type, const tn__carried *c, int64_t result)
{
    const tn__view *out = &l->out[0];
    if (!wants_value(l)) {
        ((int64_t *)out->data)[result] = c->at;
        return;
    }
    char *p = (char *)out->data + result * (int64_t)tn__dtype_size(out->dtype);
    if (type <= TN__F64)
        tn__store_double(out->dtype, p, c->a);
    else
        tn__store_int(out->dtype, p, c->whole);
    if (l->n_out == 2)
        ((int64_t *)l->out[1].data)[result] = c->at;
}

static void extreme_lines(const tn__launch *l, int type, const void *x, int64_t n, int64_t width, int64_t result)
{
    const tn__view *out = &l->out[0];
    double best[TN__MAX_LINE];
    int32_t at[TN__MAX_LINE];
    int64_t *places = wants_value(l) ? l->n_out == 2 ? l->out[1].data : NULL : out->data;
    tn__isa()->reduce.extreme_lines[type](best, at, x, n, width, is_least(l));
    if (wants_value(l))
        tn__isa()->store[out->dtype][type]((char *)out->data + result * (int64_t)tn__dtype_size(out->dtype), 1, best,
                                           width);
    for (int64_t w = 0; w < width && places; w++)
        places[result + w] = at[w];
}

tn_status tn__cpu_argreduce(const tn__launch *l)
{
    static const tn__block_rules
        floats = {.block = extreme_float, .store = store_extreme, .lines = extreme_lines, .ordered = true},
        integers = {.block = extreme_int, .store = store_extreme, .lines = extreme_lines, .ordered = true};
    const tn__reduction_params *p = l->params;
    const int type = tn__type_of(tn__dtypes[l->in[0].dtype].compute);
    if (wants_value(l) && l->n_out == 1)
        return tn__cpu_reduce(l); /* the place does not matter */
    tn__cpu_blocks(l, &p->dim, type, type <= TN__F64 ? &floats : &integers);
    return TN_OK;
}
