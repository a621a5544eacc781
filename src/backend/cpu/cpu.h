/* backend/cpu/cpu.h: the CPU backend: what its files share. */
#ifndef TENON_BACKEND_CPU_CPU_H
#define TENON_BACKEND_CPU_CPU_H

#include "backend/backend.h"
#include "backend/cpu/isa.h"
#include "core/alloc.h"

extern const tn__backend tn__cpu_backend;

/* Kernels of structural rows are declared by op/list.h. */

tn_status tn__cpu_elementwise(tn_device device, tn__op_id op, const tn__iter *it, tn_dtype compute);
/* The same of 16-bit floats that stay as they are. False: the row computes, or the operands are others. */
bool tn__cpu_halves(tn__op_id op, const tn__iter *it);
tn_status tn__cpu_iter_copy(tn_device device, const tn__iter *it);

/* ---- strided memory ---- */

/* Dimensions of one operand, fastest first, merged where it is one run. */
typedef struct tn__strided_dims {
    int32_t n;
    int64_t shape[TN_MAX_DIMS], stride[TN_MAX_DIMS];
} tn__strided_dims;

/* The dimensions of v in the mask, by ascending stride, merged; at least one (of size 1). */
void tn__strided_dims_of(tn__strided_dims *d, const tn__view *v, uint32_t mask);

static inline int64_t tn__dims_numel(const tn__strided_dims *d)
{
    int64_t n = 1;
    for (int32_t i = 0; i < d->n; i++)
        n *= d->shape[i];
    return n;
}

/* Offset of the index-th element, fastest dimension first. */
static inline int64_t tn__dims_offset(const tn__strided_dims *d, int64_t index)
{
    int64_t o = 0;
    for (int32_t i = 0; i < d->n; i++) {
        o += index % d->shape[i] * d->stride[i];
        index /= d->shape[i];
    }
    return o;
}

/* Elements of a row that is short: to begin a loop for it takes longer than its elements. */
enum { TN__SHORT_ROW = 24 };

/* Are there many rows (count) of n elements, 'apart' elements from one to the next, each in one piece, so short that it pays to
 * turn them, a tile at a time, to lie side by side? */
static inline bool tn__pays_to_turn(int64_t n, int64_t step, int64_t count, int64_t apart)
{
    return n > 1 && n <= TN__SHORT_ROW && step == 1 && count >= 16 && apart > 0;
}

/* Every dimension of v, or those in the mask, in row-major order: the last one first. */
void tn__dims_in_order(tn__strided_dims *d, const tn__view *v);
void tn__some_dims_in_order(tn__strided_dims *d, const tn__view *v, uint32_t mask);

/* Offset of the i-th element of a view in row-major order. */
static inline int64_t tn__view_offset(const tn__view *v, int64_t i)
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

/* Elements of a chunk of random numbers or of an optimiser's step: a multiple of every loop's group. */
enum { TN__CHUNK = 16384 };

/* Bytes that are worth a thread to copy; of a line that goes past the caches, of which the first and the last piece are stored as
 * others are. */
enum { TN__COPY_GRAIN = 1 << 17, TN__STREAM_LINE = 1024 };

/* out = in, converting; both of one shape. */
void tn__cpu_copy_view(const tn__view *out, const tn__view *in);
/* The same of a part of a result of so many elements, whose other parts are copied, too. */
void tn__cpu_copy_part(const tn__view *out, const tn__view *in, int64_t whole);

/* Loads elements first .. first + n - 1 of strided memory, as the loop type, into dst. */
void tn__load_strided(void *dst, int type, tn_dtype dtype, const void *data, const tn__strided_dims *d, int64_t first,
                      int64_t n);
void tn__store_strided(void *data, tn_dtype dtype, const tn__strided_dims *d, int64_t first, const void *src, int type,
                       int64_t n);

/* n elements each of 'width' rows that lie side by side, the first at src, elements of a row 'stride' apart: as the loop type
 * into rows 'pitch' apart; and back. */
void tn__load_beside(void *dst, int64_t pitch, int type, tn_dtype dtype, const void *src, int64_t stride, int64_t n,
                     int64_t width);
void tn__store_beside(void *dst, tn_dtype dtype, int64_t stride, const void *src, int64_t pitch, int type, int64_t n,
                      int64_t width);

/* Room for a block of any loop type. */
typedef union tn__loop_block {
    double align[TN__BLOCK];
    char bytes[TN__BLOCK * sizeof(double)];
} tn__loop_block;

/* How a kernel reads dense elements of one dtype as its loops take them, and writes what these made, a block at a time. */
typedef struct tn__dense_io {
    tn_dtype dtype;
    int type; /* of the loops */
    int64_t size;
    bool as_is, stream; /* the loops take elements as they lie; results go past the caches */
} tn__dense_io;

static inline const void *tn__dense_read(const tn__dense_io *io, bool as_is, const void *x, int64_t n,
                                         tn__loop_block *b)
{
    if (as_is)
        return x;
    tn__isa()->load[io->dtype][io->type](b, x, 1, n);
    return b;
}

/* Where a loop makes n elements that belong to 'to'; and how they come there. */
static inline void *tn__dense_made(const tn__dense_io *io, void *to, tn__loop_block *b)
{
    return io->as_is && !io->stream ? to : b;
}

static inline void tn__dense_write(const tn__dense_io *io, void *to, const void *made, int64_t n)
{
    tn__loop_block narrow;
    if (!io->as_is) {
        tn__isa()->store[io->dtype][io->type](io->stream ? (void *)&narrow : to, 1, made, n);
        made = &narrow;
    }
    if (io->stream)
        tn__isa()->stream(to, made, (size_t)(n * io->size));
}

/* Is a result of so many bytes written past the caches, where so many are read for it? Not what is little beside that. */
bool tn__cpu_streams(int64_t written, int64_t read);
/* Bytes of both from which it is. */
int64_t tn__cpu_stream_bytes(void);
/* For tests: another size, before anything runs. */
void tn__cpu_set_stream_bytes(int64_t bytes);

/* ---- products ---- */

/* c = scale * a * b, or c += scale * a * b. Strides in elements; c's columns are contiguous. */
typedef struct tn__gemm {
    int64_t m, n, k;
    const void *a;
    int64_t a_rs, a_cs;
    const void *b;
    int64_t b_rs, b_cs;
    void *c;
    int64_t ldc;
    double scale;
    bool accumulate;
    int64_t whole;   /* of integers: the scale */
    tn_dtype stored; /* what a and b lie in memory as, converted as they are read; 0: the compute type */
    bool narrow;     /* c lies as they do (tn__cpu_gemm_narrow) */
} tn__gemm;

static inline int64_t tn__gemm_item(const tn__gemm *g, int type)
{
    return (int64_t)(g->stored ? tn__dtype_size(g->stored) : tn__type_size(type));
}

/* Float or double (type), by BLAS where that is the better choice, else by the own kernel. */
TN_MUST_USE tn_status tn__cpu_gemm_run(const tn__gemm *g, int type);
/* The own kernel, of any type. */
TN_MUST_USE tn_status tn__cpu_gemm_own(const tn__gemm *g, int type);

/* Whether the own kernel writes such a product as it is stored, too: a and b of bfloat16, nothing accumulated. */
bool tn__cpu_gemm_narrow(const tn__gemm *g, int type);

/* One row or one column, of any type: bound by memory, not by arithmetic. */
TN_MUST_USE tn_status tn__cpu_gemv(const tn__gemm *g, int type);

/* The BLAS found at run time. False if there is none, or it should not be used for this product. */
bool tn__blas_gemm(const tn__gemm *g, int type);
/* Whether it may, of operands stored as said (0: in the compute type). */
bool tn__blas_used(tn_dtype stored, int type);
/* The same wherever there is a BLAS, for benchmarks. */
bool tn__blas_gemm_always(const tn__gemm *g, int type);
/* "BLAS libopenblas.so.0, kernels Haswell", or "own products (why there is none)" */
const char *tn__blas_description(void);

#endif
