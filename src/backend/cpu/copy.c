/* Copies: conversion, fill, transposition, joining. */
#include "backend/cpu/cpu.h"
#include "core/error.h"
#include "core/parallel.h"

enum { GRAIN = 65536, TILE = 64 };

/* The loop type through which values of one dtype pass on their way to another without loss that PyTorch does not have. */
static int pass_through(tn_dtype from, tn_dtype to)
{
    if (tn__dtype_is_float(from))
        return from == TN_F64 ? TN__F64 : TN__F32;
    if (tn__dtype_is_float(to))
        return to == TN_F64 ? TN__F64 : TN__F32;
    return from == TN_I64 || to == TN_I64 ? TN__I64 : TN__I32;
}

/* The same dtype is copied as an integer of its size, to the bit. */
static tn_dtype as_bits(tn_dtype d)
{
    static const tn_dtype by_size[] = {0, TN_U8, TN_I16, 0, TN_I32, 0, 0, 0, TN_I64};
    return by_size[tn__dtype_size(d)];
}

typedef struct copy_job {
    const tn__iter *it;
    tn_dtype to, from;
    int type;
    bool dense, stream;
    tn__dims8 d, s; /* destination, source */
} copy_job;

/* Runs are long: element by element, or in one piece where both sides are dense. */
static void copy_rows(void *ctx, int64_t begin, int64_t end)
{
    const copy_job *j = ctx;
    int64_t size = (int64_t)tn__dtype_size(j->to), width = j->d.shape[0];
    char *data = j->it->operand[0].data;
    const char *src = j->it->operand[1].data;
    for (int64_t i = begin, n; i < end; i += n) {
        n = TN_MIN(width - i % width, end - i);
        char *to = data + tn__dims_offset(&j->d, i) * size;
        const char *from = src + tn__dims_offset(&j->s, i) * size;
        if (j->stream)
            tn__isa()->stream(to, from, (size_t)(n * size));
        else
            memcpy(to, from, (size_t)(n * size));
    }
}

static void copy_blocks(void *ctx, int64_t begin, int64_t end)
{
    const copy_job *j = ctx;
    double block[TN__BLOCK], out[TN__BLOCK];
    int64_t size = (int64_t)tn__dtype_size(j->to);
    for (int64_t i = begin; i < end; i += TN__BLOCK) {
        int64_t n = TN_MIN(TN__BLOCK, end - i);
        tn__load_walk(block, j->type, j->from, j->it->operand[1].data, &j->s, i, n);
        if (j->stream) {
            tn__isa()->store[j->to][j->type](out, 1, block, n);
            tn__isa()->stream((char *)j->it->operand[0].data + i * size, out, (size_t)(n * size));
        } else {
            tn__store_walk(j->it->operand[0].data, j->to, &j->d, i, block, j->type, n);
        }
    }
}

/* ---- transposition: the source is dense along a dimension that is not the destination's ---- */

typedef struct transpose_job {
    const tn__iter *it;
    int32_t dim; /* where the source is dense */
    int64_t size;
    int64_t tiles_i, tiles_j; /* along dimension 0, and dim */
    bool stream;
} transpose_job;

/* Offset of everything but dimensions 0 and dim. */
static void plane(const transpose_job *j, int64_t index, int64_t *to, int64_t *from)
{
    *to = *from = 0;
    for (int32_t d = 1; d < j->it->ndim; d++) {
        if (d == j->dim)
            continue;
        int64_t at = index % j->it->shape[d];
        index /= j->it->shape[d];
        *to += at * j->it->operand[0].stride[d];
        *from += at * j->it->operand[1].stride[d];
    }
}

/* The next tile's rows: too short for the hardware to see them coming. */
static void prefetch_rows(const char *s, int64_t rows, int64_t stride, int64_t bytes)
{
    for (int64_t r = 0; r < rows; r++)
        for (int64_t k = 0; k < bytes; k += 64)
            __builtin_prefetch(s + r * stride + k, 0, 2);
}

static void transpose_tiles(void *ctx, int64_t begin, int64_t end)
{
    const transpose_job *j = ctx;
    const tn__iter *it = j->it;
    const int64_t *ds = it->operand[0].stride, *ss = it->operand[1].stride;
    _Alignas(64) char tile[TILE * TILE * 8];
    for (int64_t t = begin; t < end; t++) {
        int64_t to, from, ti = t % j->tiles_i, tj = t / j->tiles_i % j->tiles_j;
        plane(j, t / j->tiles_i / j->tiles_j, &to, &from);
        int64_t i = ti * TILE, k = tj * TILE;
        int64_t rows = TN_MIN(TILE, it->shape[0] - i), cols = TN_MIN(TILE, it->shape[j->dim] - k);
        char *d = (char *)it->operand[0].data + (to + i + k * ds[j->dim]) * j->size;
        const char *s = (const char *)it->operand[1].data + (from + i * ss[0] + k) * j->size;
        if (!j->stream) {
            tn__isa()->transpose(d, ds[j->dim], s, ss[0], rows, cols, (size_t)j->size);
            continue;
        }
        prefetch_rows(s + rows * ss[0] * j->size, TN_MIN(TILE, it->shape[0] - i - rows), ss[0] * j->size,
                      cols * j->size);
        tn__isa()->transpose(tile, TILE, s, ss[0], rows, cols, (size_t)j->size);
        for (int64_t c = 0; c < cols; c++)
            tn__isa()->stream(d + c * ds[j->dim] * j->size, tile + c * TILE * j->size, (size_t)(rows * j->size));
    }
}

static bool transpose(const tn__iter *it)
{
    transpose_job j = {.it = it, .size = (int64_t)tn__dtype_size(it->operand[0].dtype)};
    if (it->operand[0].dtype != it->operand[1].dtype || it->operand[0].stride[0] != 1 || it->operand[1].stride[0] <= 1)
        return false;
    for (int32_t d = 1; d < it->ndim && !j.dim; d++)
        if (it->operand[1].stride[d] == 1 && it->shape[d] >= 8)
            j.dim = d;
    if (!j.dim || it->shape[0] < 8)
        return false;
    j.tiles_i = tn__div_up(it->shape[0], TILE);
    j.tiles_j = tn__div_up(it->shape[j.dim], TILE);
    j.stream = it->numel * j.size > tn__cpu_stream_bytes();
    int64_t planes = it->numel / (it->shape[0] * it->shape[j.dim]);
    tn__parallel_for(planes * j.tiles_i * j.tiles_j, 16, transpose_tiles, &j);
    return true;
}

static void dims_of(tn__dims8 *d, const tn__iter *it, int k)
{
    d->n = it->ndim;
    for (int32_t i = 0; i < it->ndim; i++) {
        d->shape[i] = it->shape[i];
        d->stride[i] = it->operand[k].stride[i];
    }
}

tn_status tn__cpu_iter_copy(tn_device device, const tn__iter *it)
{
    (void)device;
    if (it->numel == 0)
        return TN_OK;
    if (it->operand[0].dtype == it->operand[1].dtype && it->ndim == 1 && it->operand[0].stride[0] == 1 &&
        it->operand[1].stride[0] == 1 && it->numel <= 16384) {
        memcpy(it->operand[0].data, it->operand[1].data, (size_t)it->numel * tn__dtype_size(it->operand[0].dtype));
        return TN_OK;
    }
    if (transpose(it))
        return TN_OK;
    copy_job j = {.it = it, .to = it->operand[0].dtype, .from = it->operand[1].dtype};
    if (j.to == j.from)
        j.to = j.from = as_bits(j.to);
    j.type = pass_through(j.from, j.to);
    dims_of(&j.d, it, 0);
    dims_of(&j.s, it, 1);
    bool one_run = it->ndim == 1 && j.d.stride[0] == 1;
    j.stream = one_run && it->numel * (int64_t)tn__dtype_size(j.to) > tn__cpu_stream_bytes();
    j.dense = j.to == j.from && j.d.stride[0] == 1 && j.s.stride[0] == 1 && it->shape[0] >= 16;
    tn__parallel_for(it->numel, GRAIN, j.dense ? copy_rows : copy_blocks, &j);
    return TN_OK;
}

/* ---- structural rows that are copies ---- */

void tn__cpu_copy_view(const tn__view *out, const tn__view *in)
{
    tn__iter it;
    tn__iter_copy(&it, out, in);
    (void)tn__cpu_iter_copy(TN_CPU, &it);
}

tn_status tn__cpu_copy(const tn__launch *l)
{
    tn__cpu_copy_view(&l->out[0], &l->in[0]);
    return TN_OK;
}

tn_status tn__cpu_copy_into(const tn__launch *l)
{
    tn__cpu_copy_view(&l->out[0], &l->in[1]);
    return TN_OK;
}

tn_status tn__cpu_fill(const tn__launch *l)
{
    const tn__view *out = &l->out[0];
    if (l->n_in > 1 && l->in[1].dtype) {
        tn__cpu_copy_view(out, &l->in[1]);
        return TN_OK;
    }
    int64_t value = 0;
    if (l->n_in > 1)
        tn__store_scalar(out->dtype, &value, &l->operand[1]);
    if (value == 0 && out->contiguous && out->numel <= GRAIN) {
        if (out->numel)
            memset(out->data, 0, (size_t)out->numel * tn__dtype_size(out->dtype));
        return TN_OK;
    }
    tn__view one = {.data = &value, .dtype = out->dtype, .numel = 1, .contiguous = true};
    tn__cpu_copy_view(out, &one);
    return TN_OK;
}

tn_status tn__cpu_cat(const tn__launch *l)
{
    const tn__join_params *p = l->params;
    const tn__view *out = &l->out[0];
    int64_t dim = p->dim, at = 0;
    bool stack = l->op == TN__OP_stack;
    for (int32_t i = 0; i < l->n_in; i++) {
        tn__view in = l->in[i], part = *out;
        int64_t shape[TN_MAX_DIMS], stride[TN_MAX_DIMS];
        if (in.numel == 0)
            continue;
        memcpy(shape, out->shape, sizeof(int64_t) * (size_t)out->ndim);
        for (int32_t d = 0; d < out->ndim; d++) /* the input, with stack's new dimension of size 1 */
            stride[d] = stack ? (d == dim ? 1 : in.stride[d - (d > dim)]) : in.stride[d];
        shape[dim] = stack ? 1 : in.shape[dim];
        part.data = (char *)out->data + at * out->stride[dim] * (int64_t)tn__dtype_size(out->dtype);
        part.shape = in.shape = shape;
        part.numel = in.numel;
        part.contiguous = false;
        in.stride = stride;
        in.ndim = out->ndim;
        tn__cpu_copy_view(&part, &in);
        at += shape[dim];
    }
    return TN_OK;
}

tn_status tn__cpu_flip(const tn__launch *l)
{
    const tn__flip_params *p = l->params;
    tn__view in = l->in[0];
    const tn__view *out = &l->out[0];
    if (in.numel == 0)
        return TN_OK;
    /* read backwards: negative strides from the far end, dimension by dimension */
    int64_t stride[TN_MAX_DIMS], offset = 0;
    memcpy(stride, in.stride, sizeof(int64_t) * (size_t)in.ndim);
    for (int32_t i = 0; i < p->dims.n; i++) {
        int64_t d = p->dims.d[i];
        offset += (in.shape[d] - 1) * in.stride[d];
        stride[d] = -in.stride[d];
    }
    in.data = (char *)in.data + offset * (int64_t)tn__dtype_size(in.dtype);
    in.stride = stride;
    in.contiguous = false;
    tn__cpu_copy_view(out, &in);
    return TN_OK;
}

/* Zeros with in[0] where the view of the row p.view would show; shape rule of that view, on the result. */
tn_status tn__cpu_embed(const tn__launch *l)
{
    const tn__view *out = &l->out[0];
    tn_tensor shell = {.dtype = out->dtype, .ndim = out->ndim, .numel = out->numel, .device = l->device};
    memcpy(shell.shape, out->shape, sizeof(int64_t) * (size_t)out->ndim);
    memcpy(shell.stride, out->stride, sizeof(int64_t) * (size_t)out->ndim);
    tn__window_params p = *(const tn__window_params *)l->params;
    const tn_scalar in = tn_scalar_t(&shell);
    tn__call c = {.op = (tn__op_id)p.view, .n_in = 1, .in = &in, .params = &p};
    tn_status e = tn__ops[p.view].infer(&c);
    if (e)
        return e;
    if (out->numel)
        memset(out->data, 0, (size_t)out->numel * tn__dtype_size(out->dtype));
    const tn__spec *s = &c.spec[0];
    tn__view part = {.data = (char *)out->data + s->offset * (int64_t)tn__dtype_size(out->dtype),
                     .dtype = out->dtype,
                     .ndim = s->ndim,
                     .numel = l->in[0].numel,
                     .shape = s->shape,
                     .stride = s->stride};
    tn__cpu_copy_view(&part, &l->in[0]);
    return TN_OK;
}

tn_status tn__cpu_as_strided_scatter(const tn__launch *l)
{
    const tn__view *out = &l->out[0];
    const tn__as_strided_params *a = l->params;
    int64_t numel = tn__numel(a->size.d, a->size.n), zero = 0;
    tn__view part = {.data = (char *)out->data + a->storage_offset * (int64_t)tn__dtype_size(out->dtype),
                     .dtype = out->dtype,
                     .ndim = a->size.n,
                     .numel = numel,
                     .shape = a->size.d,
                     .stride = a->stride.d};
    tn__view nothing = {.data = &zero, .dtype = out->dtype, .numel = 1, .contiguous = true};
    tn__cpu_copy_view(&part, l->in[1].dtype ? &l->in[1] : &nothing);
    return TN_OK;
}
