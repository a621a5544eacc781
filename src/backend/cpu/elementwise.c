/* Loads and stores of strided memory, and the driver of elementwise rows.
 *
 * A row runs in blocks that fit L1: operands that are dense and of the compute type are used where they lie, others are
 * loaded into a block of it; the result is stored, converted, past the caches if it is larger than they are.
 */
#include "backend/cpu/cpu.h"
#include "core/error.h"
#include "core/parallel.h"

enum { GRAIN = 32768, GRAIN_HEAVY = 8192, SHORT_ROW = 256 };

void tn__strided_dims_of(tn__strided_dims *d, const tn__view *v, uint32_t mask)
{
    int32_t order[TN_MAX_DIMS], n = 0;
    for (int32_t i = v->ndim - 1; i >= 0; i--) {
        if (!(mask >> i & 1) || v->shape[i] == 1)
            continue;
        int32_t j = n++;
        for (; j > 0 && v->stride[order[j - 1]] > v->stride[i]; j--)
            order[j] = order[j - 1];
        order[j] = i;
    }
    d->n = 1;
    d->shape[0] = 1;
    d->stride[0] = 1;
    for (int32_t i = 0; i < n; i++) {
        int64_t shape = v->shape[order[i]], stride = v->stride[order[i]];
        int32_t last = d->n - 1;
        if (d->shape[last] == 1 && last == 0) {
            d->shape[0] = shape;
            d->stride[0] = stride;
        } else if (stride == d->shape[last] * d->stride[last]) {
            d->shape[last] *= shape;
        } else {
            d->shape[d->n] = shape;
            d->stride[d->n++] = stride;
        }
    }
}

/* Visits elements first .. first + n - 1 in runs along the fastest dimension. */
#define EACH_RUN(d, first, n, offset, done, len) \
    int64_t at_[TN_MAX_DIMS], rest_ = (first), offset = 0; \
    for (int32_t i_ = 0; i_ < (d)->n; i_++) { \
        at_[i_] = rest_ % (d)->shape[i_]; \
        rest_ /= (d)->shape[i_]; \
        offset += at_[i_] * (d)->stride[i_]; \
    } \
    for (int64_t done = 0, len; done < (n) && (len = TN_MIN((d)->shape[0] - at_[0], (n)-done), true); \
         done += len, offset += advance(d, at_, len))

/* Steps len elements on; returns the change of offset. */
static inline int64_t advance(const tn__strided_dims *d, int64_t *at, int64_t len)
{
    int64_t delta = len * d->stride[0];
    at[0] += len;
    for (int32_t i = 0; i + 1 < d->n && at[i] == d->shape[i]; i++) {
        delta += d->stride[i + 1] - at[i] * d->stride[i];
        at[i] = 0;
        at[i + 1]++;
    }
    return delta;
}

void tn__load_strided(void *dst, int type, tn_dtype dtype, const void *data, const tn__strided_dims *d, int64_t first,
                      int64_t n)
{
    tn__load load = tn__isa()->load[dtype][type];
    size_t to = tn__type_size(type);
    int64_t from = (int64_t)tn__dtype_size(dtype);
    EACH_RUN (d, first, n, offset, done, len)
        load((char *)dst + (size_t)done * to, (const char *)data + offset * from, d->stride[0], len);
}

void tn__store_strided(void *data, tn_dtype dtype, const tn__strided_dims *d, int64_t first, const void *src, int type,
                       int64_t n)
{
    tn__store store = tn__isa()->store[dtype][type];
    size_t from = tn__type_size(type);
    int64_t to = (int64_t)tn__dtype_size(dtype);
    EACH_RUN (d, first, n, offset, done, len)
        store((char *)data + offset * to, d->stride[0], (const char *)src + (size_t)done * from, len);
}

/* ---- elementwise rows ---- */

typedef struct operand {
    char *data;
    tn_dtype dtype;
    int64_t size; /* bytes of an element */
    tn__load load;
    bool constant; /* one element throughout */
    bool as_is;    /* of the compute type: no conversion where dense */
    tn__strided_dims dims;
} operand;

typedef struct job {
    const tn__cpu_isa *isa;
    tn__loop loop;
    int type, n; /* n inputs */
    bool test;   /* the loop gives bytes */
    bool stream;
    bool result_as_is;
    int64_t result_size; /* bytes of an element of what the loop gives */
    operand op[TN__MAX_OPERANDS];
} job;

typedef union block {
    double align[TN__BLOCK];
    char bytes[TN__BLOCK * sizeof(double)];
} block;

static void set_operand(operand *o, const tn__iter *it, int k, int type)
{
    const tn__iter_operand *from = &it->operand[k];
    o->data = from->data;
    o->dtype = from->dtype;
    o->size = (int64_t)tn__dtype_size(from->dtype);
    o->load = tn__isa()->load[from->dtype][type];
    o->as_is = tn__dtypes[from->dtype].compute == from->dtype && tn__type_of(from->dtype) == type;
    o->constant = true;
    o->dims.n = it->ndim;
    for (int32_t d = 0; d < it->ndim; d++) {
        o->dims.shape[d] = it->shape[d];
        o->dims.stride[d] = from->stride[d];
        o->constant &= from->stride[d] == 0 || it->shape[d] == 1;
    }
}

/* A block full of one value. */
static void fill_block(const operand *o, block *b, int64_t n)
{
    o->load(b, o->data, 0, n);
}

/* The operand's elements first .. first + n - 1, in one piece; in b unless they lie so already. rows: the range does not
 * cross the end of a row. */
static const void *fetch(const operand *o, int type, int64_t first, int64_t n, block *b)
{
    if (o->constant)
        return b;
    if (o->dims.n == 1) {
        const char *p = o->data + first * o->dims.stride[0] * o->size;
        if (o->as_is && o->dims.stride[0] == 1)
            return p;
        o->load(b, p, o->dims.stride[0], n);
        return b;
    }
    int64_t row = first / o->dims.shape[0], col = first - row * o->dims.shape[0];
    if (col + n <= o->dims.shape[0]) {
        const tn__strided_dims *d = &o->dims;
        int64_t offset = col * d->stride[0];
        for (int32_t i = 1; i < d->n; i++) {
            offset += row % d->shape[i] * d->stride[i];
            row /= d->shape[i];
        }
        const char *p = o->data + offset * o->size;
        if (o->as_is && d->stride[0] == 1)
            return p;
        o->load(b, p, d->stride[0], n);
        return b;
    }
    tn__load_strided(b, type, o->dtype, o->data, &o->dims, first, n);
    return b;
}

/* Stores n results of the loop. The bytes of a test go by way of int32 where they cannot stay in place. */
static void put(const job *j, int64_t first, block *result, int64_t n)
{
    const operand *o = &j->op[0];
    if (j->test && !j->stream) {
        int32_t wide[TN__BLOCK];
        j->isa->load[TN_U8][TN__I32](wide, result, 1, n);
        tn__store_strided(o->data, o->dtype, &o->dims, first, wide, TN__I32, n);
        return;
    }
    if (!j->stream) {
        tn__store_strided(o->data, o->dtype, &o->dims, first, result, j->type, n);
        return;
    }
    char *to = o->data + first * o->size;
    if (j->result_as_is) {
        j->isa->stream(to, result, (size_t)(n * o->size));
        return;
    }
    block converted;
    j->isa->store[o->dtype][j->type](&converted, 1, result, n);
    j->isa->stream(to, &converted, (size_t)(n * o->size));
}

/* Do elements lie one after another, in the order of the dimensions? */
static bool is_dense(const tn__strided_dims *d)
{
    int64_t next = 1;
    for (int32_t i = 0; i < d->n; i++) {
        if (d->stride[i] != next)
            return false;
        next *= d->shape[i];
    }
    return true;
}

static void run_range(void *ctx, int64_t begin, int64_t end)
{
    const job *j = ctx;
    const operand *out = &j->op[0];
    block in[3], result;
    const void *p[3] = {NULL, NULL, NULL};
    bool dense = j->result_as_is && !j->stream && is_dense(&out->dims);
    bool rows = out->dims.n > 1 && out->dims.shape[0] >= SHORT_ROW;
    for (int k = 0; k < j->n; k++)
        if (j->op[k + 1].constant)
            fill_block(&j->op[k + 1], &in[k], TN_MIN(TN__BLOCK, end - begin));
    for (int64_t i = begin; i < end;) {
        int64_t n = TN_MIN(TN__BLOCK, end - i);
        if (rows)
            n = TN_MIN(n, out->dims.shape[0] - i % out->dims.shape[0]);
        for (int k = 0; k < j->n; k++)
            p[k] = fetch(&j->op[k + 1], j->type, i, n, &in[k]);
        if (dense) {
            j->loop(out->data + i * out->size, p[0], p[1], p[2], n);
        } else {
            j->loop(&result, p[0], p[1], p[2], n);
            put(j, i, &result, n);
        }
        i += n;
    }
}

static bool has_zero(const operand *o, int type, int64_t numel)
{
    block b;
    if (o->constant) {
        fill_block(o, &b, 1);
        return tn__isa()->has_zero[type](&b, 1);
    }
    for (int64_t i = 0; i < numel; i += TN__BLOCK) {
        int64_t n = TN_MIN(TN__BLOCK, numel - i);
        if (tn__isa()->has_zero[type](fetch(o, type, i, n, &b), n))
            return true;
    }
    return false;
}

/* Past the caches only where the result is one dense run that no operand shares. */
static bool should_stream(const job *j, const tn__iter *it)
{
    const operand *o = &j->op[0];
    if (!is_dense(&o->dims) || it->numel * o->size <= tn__cpu_stream_bytes())
        return false;
    for (int k = 1; k <= j->n; k++)
        if (j->op[k].data == o->data)
            return false;
    return !j->test || j->result_as_is;
}

/* Few elements, all dense or constant and of the compute type: one call of the loop. False: not so. */
static bool run_small(tn__op_id op, const tn__iter *it, tn_dtype compute)
{
    if (it->ndim != 1 || it->numel > 64 || it->operand[0].stride[0] != 1 || tn__ops[op].rule == R_DIVIDE)
        return false;
    tn_dtype want = tn__ops[op].rule == R_TEST ? TN_BOOL : compute;
    tn__loop loop = tn__isa()->loops[op][tn__type_of(compute)];
    if (it->operand[0].dtype != want || !loop)
        return false;
    double constant[3][64];
    const void *p[3] = {NULL, NULL, NULL};
    for (int k = 1; k < it->n; k++) {
        const tn__iter_operand *o = &it->operand[k];
        if (o->dtype != compute)
            return false;
        p[k - 1] = o->data;
        if (o->stride[0] == 1)
            continue;
        if (o->stride[0] != 0 && it->numel != 1)
            return false;
        tn__isa()->load[compute][tn__type_of(compute)](constant[k - 1], o->data, 0, it->numel);
        p[k - 1] = constant[k - 1];
    }
    loop(it->operand[0].data, p[0], p[1], p[2], it->numel);
    return true;
}

tn_status tn__cpu_elementwise(tn_device device, tn__op_id op, const tn__iter *it, tn_dtype compute)
{
    (void)device;
    if (it->numel == 0 || run_small(op, it, compute))
        return TN_OK;
    job j = {.isa = tn__isa(), .type = tn__type_of(compute), .n = it->n - 1};
    j.loop = j.isa->loops[op][j.type];
    if (!j.loop)
        return tn__no_dtype(tn__ops[op].name, compute);
    for (int k = 0; k < it->n; k++)
        set_operand(&j.op[k], it, k, j.type);
    const int rule = tn__ops[op].rule;
    j.test = rule == R_TEST;
    j.result_as_is = j.test ? j.op[0].dtype == TN_BOOL || j.op[0].dtype == TN_U8 : j.op[0].as_is;
    if (rule == R_DIVIDE && j.type >= TN__I32 && has_zero(&j.op[2], j.type, it->numel))
        return tn__error(TN_EVALUE, "ZeroDivisionError\n  %s: an integer divisor is zero", tn__ops[op].name);
    if (it->numel <= TN__BLOCK) {
        run_range(&j, 0, it->numel);
        return TN_OK;
    }
    j.stream = should_stream(&j, it);
    const bool heavy = rule == R_FLOAT || rule == R_FLOATING || tn__ops[op].flags & F_HEAVY;
    tn__parallel_for(it->numel, heavy ? GRAIN_HEAVY : GRAIN, run_range, &j);
    return TN_OK;
}

void tn__some_dims_in_order(tn__strided_dims *d, const tn__view *v, uint32_t mask)
{
    *d = (tn__strided_dims){.n = 1, .shape = {1}, .stride = {1}};
    for (int32_t i = v->ndim - 1; i >= 0; i--) {
        const int32_t last = d->n - 1;
        if (!(mask >> i & 1) || v->shape[i] == 1)
            continue;
        if (d->shape[0] == 1 && last == 0) {
            d->shape[0] = v->shape[i];
            d->stride[0] = v->stride[i];
        } else if (v->stride[i] == d->shape[last] * d->stride[last]) {
            d->shape[last] *= v->shape[i];
        } else {
            d->shape[d->n] = v->shape[i];
            d->stride[d->n++] = v->stride[i];
        }
    }
}

void tn__dims_in_order(tn__strided_dims *d, const tn__view *v)
{
    d->n = TN_MAX(v->ndim, 1);
    d->shape[0] = d->stride[0] = 1;
    for (int32_t i = 0; i < v->ndim; i++) {
        d->shape[i] = v->shape[v->ndim - 1 - i];
        d->stride[i] = v->stride[v->ndim - 1 - i];
    }
    if (v->contiguous) {
        d->n = 1;
        d->shape[0] = v->numel;
        d->stride[0] = 1;
    }
}
