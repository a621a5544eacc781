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
    if (c->n > 0 && !(best == best && (v != v || (least ? v < best : v > best))))
        return;
    const float narrow = (float)v;
    c->a = v;
    c->n = 1;
    c->at = at + isa->reduce.find[type](x, n, type == TN__F32 ? (const void *)&narrow : (const void *)&v);
}

static void extreme_int(const tn__launch *l, int type, tn__carried *c, const void *x, int64_t at, int64_t n)
{
    const tn__cpu_isa *isa = tn__isa();
    const bool least = is_least(l);
    const int64_t v = isa->reduce.run_int[least ? TN__MIN : TN__MAX][type - TN__I32](x, n);
    if (c->n > 0 && !(least ? v < c->whole : v > c->whole))
        return;
    const int32_t narrow = (int32_t)v;
    c->whole = v;
    c->n = 1;
    c->at = at + isa->reduce.find[type](x, n, type == TN__I32 ? (const void *)&narrow : (const void *)&v);
}

/* Does what a run has beat the best of the others, whatever order they come in? Of equals, and of NaN, the first place counts. */
static bool beats(bool least, int type, const tn__carried *run, const tn__carried *best)
{
    const bool before = run->at < best->at;
    if (type > TN__F64)
        return run->whole == best->whole ? before : least ? run->whole < best->whole : run->whole > best->whole;
    const bool nan = run->a != run->a, was = best->a != best->a;
    if (nan || was)
        return nan && (before || !was);
    return run->a == best->a ? before : least ? run->a < best->a : run->a > best->a;
}

static void join_extremes(const tn__launch *l, int type, tn__carried *c, const tn__carried *next)
{
    if (beats(is_least(l), type, next, c))
        *c = *next;
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

/* ---- all elements of what lies in another order than its places count ---- */

enum { LEAST_RUN = 64 };

typedef struct orders {
    int32_t run; /* the dimension along which elements are one after another in memory */
    int64_t place[TN_MAX_DIMS];
} orders;

/* False: places count as memory does, or runs are short. */
static bool find_run(orders *o, const tn__view *x, const tn__dims *dim)
{
    int64_t place = 1;
    o->run = -1;
    for (int32_t d = x->ndim - 1; d >= 0; d--) {
        o->place[d] = place;
        place *= x->shape[d];
        if (x->stride[d] == 1 && x->shape[d] >= LEAST_RUN)
            o->run = d;
    }
    return dim->n == x->ndim && o->run >= 0 && o->place[o->run] > 1;
}

/* Elements first .. of the run that begins at p, a block of them. */
static void take_block(const tn__launch *l, int type, const tn__block_rules *rules, tn__carried *c, const void *p,
                       int64_t n)
{
    const tn_dtype dtype = l->in[0].dtype;
    double buffer[TN__BLOCK];
    if (tn__dtypes[dtype].compute != dtype || tn__type_of(dtype) != type) {
        tn__isa()->load[dtype][type](buffer, p, 1, n);
        p = buffer;
    }
    *c = (tn__carried){0};
    rules->block(l, type, c, p, 0, n);
}

static bool all_as_they_lie(const tn__launch *l, const tn__dims *dim, int type, const tn__block_rules *rules)
{
    const tn__view *x = &l->in[0];
    const int64_t size = (int64_t)tn__dtype_size(x->dtype);
    orders o;
    tn__carried best = {0}, c;
    bool any = false;
    if (!find_run(&o, x, dim))
        return false;
    const int64_t n = x->shape[o.run], runs = x->numel / n;
    for (int64_t r = 0; r < runs; r++) {
        int64_t rest = r, offset = 0, place = 0;
        for (int32_t d = x->ndim - 1; d >= 0; d--) {
            if (d == o.run)
                continue;
            const int64_t at = rest % x->shape[d];
            rest /= x->shape[d];
            offset += at * x->stride[d];
            place += at * o.place[d];
        }
        for (int64_t i = 0; i < n; i += TN__BLOCK) {
            take_block(l, type, rules, &c, (const char *)x->data + (offset + i) * size, TN_MIN(TN__BLOCK, n - i));
            c.at = place + (i + c.at) * o.place[o.run];
            if (any)
                join_extremes(l, type, &best, &c);
            else
                best = c;
            any = true;
        }
    }
    rules->store(l, type, &best, 0);
    return any;
}

tn_status tn__cpu_argreduce(const tn__launch *l)
{
    static const tn__block_rules floats = {.block = extreme_float,
                                           .join = join_extremes,
                                           .store = store_extreme,
                                           .lines = extreme_lines,
                                           .ordered = true},
                                 integers = {.block = extreme_int,
                                             .join = join_extremes,
                                             .store = store_extreme,
                                             .lines = extreme_lines,
                                             .ordered = true};
    const tn__reduction_params *p = l->params;
    const int type = tn__type_of(tn__dtypes[l->in[0].dtype].compute);
    if (wants_value(l) && l->n_out == 1)
        return tn__cpu_reduce(l); /* the place does not matter */
    const tn__block_rules *rules = type <= TN__F64 ? &floats : &integers;
    if (!all_as_they_lie(l, &p->dim, type, rules))
        tn__cpu_blocks(l, &p->dim, type, rules);
    return TN_OK;
}
