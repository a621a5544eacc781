/* backend/gpu/gpu.h: what GPU backends share: which text makes a kernel, where the compiled one is kept, how it is
 * launched. Below it stands a driver (driver.h; backend/cuda), above it the operations' kernels, which know views and never a
 * driver.
 *
 * A unit is one text compiled once: a family of kernels for given dtypes. Its key is small, so that a launch finds its
 * kernel with one look into a table: no lock, no string, no allocation.
 */
#ifndef TENON_BACKEND_GPU_GPU_H
#define TENON_BACKEND_GPU_GPU_H

#include "backend/backend.h"
#include "backend/gpu/driver.h"

/* Families of kernels, one a text <name>.k: kernels/families.def. */
typedef enum tn__gpu_family {
#define FAMILY(name, ...) TN__FAMILY_##name,
#include "backend/gpu/kernels/families.def"
    TN__FAMILIES
} tn__gpu_family;

/* In place of an elementwise unit's row: all that compute so, in full. */
#define TN__ALL_ROWS ((tn__op_id)(TN__ROWS - 1))

/* What a unit is compiled for. Fields a family does not depend on stay 0. In the text they are TN_DT_<in> (storage of
 * the inputs), TN_OT_<out> (of the result), TN_CT_<compute>, and for rows of the list ROW. 'variant' is TN_VARIANT. */
typedef struct tn__gpu_unit {
    tn__gpu_family family;
    tn__op_id op; /* of elementwise units, and of a program's own; TN__OPS where none; TN__ALL_ROWS */
    tn_dtype in, out, compute;
    uint32_t variant; /* below 16 */
} tn__gpu_unit;

/* One argument of a kernel: the address of its value, and its size; size 0: a device address. */
typedef struct tn__gpu_arg {
    const void *value;
    size_t size;
} tn__gpu_arg;
#define TN__GPU_MEMORY(p) \
    { \
        &(p), 0 \
    } /* p: a variable that holds a device address (or NULL) */
#define TN__GPU_VALUE(v) \
    { \
        &(v), sizeof(v) \
    } /* v: a variable of exactly the parameter's type */

typedef struct tn__gpu_launch {
    tn_device device;
    tn__gpu_unit unit;
    uint32_t kernel;    /* index in the family's list of names (families.def) */
    uint32_t groups[3]; /* each at least 1 (0 is read as 1); y and z at most 65535 */
    uint32_t local[3];  /* work items of a group, at most 1024 in all; 0 is read as 1 */
    const tn__gpu_arg *arg;
    int32_t n_arg;
    const char *label; /* the operation, for messages; a static string */
} tn__gpu_launch;

/* Compiles and loads the unit if this is the first launch that needs it, then queues it on the device's current stream. */
TN_MUST_USE tn_status tn__gpu_run(const tn__gpu_launch *l);

/* How units came to be, in this process. */
typedef struct tn__gpu_counts {
    int64_t compiled, from_disk;
} tn__gpu_counts;
tn__gpu_counts tn__gpu_counts_now(void);

/* From now on elementwise rows are compiled together, all that are of the same dtypes: for programs that run nearly all rows
 * (tests), in which a compiler's start costs more than a row. */
void tn__gpu_rows_together(bool together);

/* ---- facts that launch geometry needs ---- */
typedef struct tn__gpu_limits {
    int32_t multiprocessors;
    int32_t max_local;    /* work items of a group */
    int32_t local_memory; /* bytes of a group */
    bool shuffle;         /* warp shuffles are to be used (TENON_GPU_SHUFFLE=0 turns them off) */
} tn__gpu_limits;
/* Borrowed; NULL with an error set if the device cannot be used. */
const tn__gpu_limits *tn__gpu_limits_of(tn_device device);

/* Four 64-bit words that kernels may write and the host reads after a synchronisation: where a kernel met an index out of
 * range. {0 or op id + 1, index, size, 0}; TN_INDEX_FAULT of the prelude fills them. The address is the device's. */
void *tn__gpu_fault_words(tn_device device);

/* Sets *out to zeros on the current stream: dense memory. */
TN_MUST_USE tn_status tn__gpu_zero(tn_device device, void *out, size_t bytes);

/* Scratch memory that a launch needs beside its operands: valid for what is queued on the current stream until it is put
 * back (at once, after the last launch that uses it). NULL with an error set. */
void *tn__gpu_scratch_get(tn_device device, size_t bytes);
void tn__gpu_scratch_put(tn_device device, void *scratch, size_t bytes);

/* A product, row-major in BLAS's words: c[m, n] = alpha * op(a)[m, k] @ op(b)[k, n] + beta * c; batch of them with
 * strides in elements. Leading dimensions in elements; a_trans: a is stored [k, m]. All of one dtype: float16, bfloat16
 * (which add up in float32), float32, float64. */
typedef struct tn__gpu_gemm_call {
    tn_dtype dtype;
    int64_t m, n, k, batch;
    const void *a, *b;
    void *c;
    int64_t lda, ldb, ldc, stride_a, stride_b, stride_c;
    bool a_trans, b_trans;
    double alpha, beta;
} tn__gpu_gemm_call;

/* ---- the text of a unit, for the cache, for tests (nvrtc, OpenCL) ---- */

/* Writes the unit's whole text. Returns its length; cap as snprintf. Negative with an error set. Kernels are called as
 * families.def says. An elementwise unit without a row (op TN__OPS) is the text of all rows that compute so, for tests
 * (variants that differ from row to row in the expression alone: of one row of each kind): there each name has the row's
 * before it, "add_flat". TN__ALL_ROWS leaves none out. */
int64_t tn__gpu_unit_text(const tn__gpu_unit *unit, char *out, size_t cap);
/* Is the row among those of the unit of TN__ALL_ROWS that has these dtypes? */
bool tn__gpu_unit_has(const tn__gpu_unit *unit, tn__op_id op);
/* The i-th unit of a family's list (kernels/units.def; elementwise: all rows in each), for tests. False past the last. */
bool tn__gpu_units_of(tn__gpu_family family, int32_t i, tn__gpu_unit *unit);
/* Names of the family's kernels, in order; n of them. */
const char *const *tn__gpu_family_kernels(tn__gpu_family family, size_t *n);
const char *tn__gpu_family_name(tn__gpu_family family);
/* "reduce_float16_float32", for messages and file names. */
typedef struct tn__gpu_unit_name {
    char s[96];
} tn__gpu_unit_name;
tn__gpu_unit_name tn__gpu_unit_str(const tn__gpu_unit *unit);
/* Forgets what is loaded on a device whose context went away (reset). */
void tn__gpu_forget(tn_device device);
/* The library goes: the table itself is freed. */
void tn__gpu_kernels_end(tn_device device);

/* ---- elementwise rows and copies; kernels of structural rows are declared by op/list.h ---- */
tn_status tn__gpu_elementwise(tn_device device, tn__op_id op, const tn__iter *it, tn_dtype compute);
tn_status tn__gpu_copy_iter(tn_device device, const tn__iter *it);
/* Structural rows, by operation: what a backend on these kernels puts into its struct. */
extern const tn__kernel tn__gpu_kernels[TN__ROWS];

#endif
