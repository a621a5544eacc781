/* backend/cpu/isa.h: the loops that exist once per instruction set, as one const table each. Chosen once, by cpuid or
 * TENON_CPU=baseline|avx2|avx512. */
#ifndef TENON_BACKEND_CPU_ISA_H
#define TENON_BACKEND_CPU_ISA_H

#include "backend/backend.h"
#include "op/cpu_loops.h"

/* Loops compute in four types. */
enum { TN__F32, TN__F64, TN__I32, TN__I64, TN__TYPES };

static inline int tn__type_of(tn_dtype compute)
{
    return compute == TN_F32 ? TN__F32 : compute == TN_F64 ? TN__F64 : compute == TN_I64 ? TN__I64 : TN__I32;
}

static inline size_t tn__type_size(int type)
{
    return type == TN__F32 || type == TN__I32 ? 4 : 8;
}

/* Elements of a block: operands and result of one block fit the L1 cache together. */
enum { TN__BLOCK = 1024 };

/* out[i] = f(a[i], b[i], c[i]): dense; rows that test give bytes, others the compute type. Of rows of two operands c is not NULL
 * where b is known to be one value throughout. */
typedef void (*tn__loop)(void *out, const void *a, const void *b, const void *c, int64_t n);
/* Strided elements of a dtype to dense ones of a compute type, and back. */
typedef void (*tn__load)(void *dst, const void *src, int64_t stride, int64_t n);
typedef void (*tn__store)(void *dst, int64_t stride, const void *src, int64_t n);

/* Pieces of a matrix product: backend/cpu/gemm.inc.h says what each does. */
typedef void (*tn__tile)(int64_t k, const void *a, const void *b, int64_t ldb, void *c, int64_t ldc, bool accumulate);

/* The same of rows of a that lie along k, lda bytes apart. */
typedef void (*tn__line_tile)(int64_t k, const void *a, int64_t lda, const void *b, int64_t ldb, void *c, int64_t ldc,
                              bool accumulate);

typedef struct tn__gemm_isa {
    int mr, vl;          /* rows of the tallest tile; elements of a vector */
    tn__tile tile[7][2]; /* [height / 2 - 1][vectors - 1] */
    void (*pack)(void *dst, int width, const void *src, int64_t rs, int64_t cs, int64_t n, int64_t k, double scale,
                 int64_t whole);
    double (*dot)(const void *a, const void *b, int64_t n);         /* floats only */
    double (*dot_bf16)(const void *a, const void *b, int64_t n);    /* f32 only: of elements stored as bfloat16 */
    uint64_t (*dot_whole)(const void *a, const void *b, int64_t n); /* integers only */
    void (*columns)(void *y, const void *a, int64_t lda, const void *x, int64_t n, int64_t k);
    /* f32 only, where an instruction widens elements: a is stored as bfloat16 */
    void (*columns_bf16)(void *y, const void *a, int64_t lda, const void *x, int64_t n, int64_t k);
    void (*axpy)(void *y, const void *x, double alpha, int64_t n);
    /* of pairs only: tiles of rows; rows of elements to words, and floats to elements */
    tn__line_tile tile_lines[7][2];
    void (*interleave)(void *dst, int64_t ld, const void *src, int64_t step, int64_t n, int64_t k);
    void (*put)(void *dst, int64_t ldc, const void *src, int64_t ld, int64_t m, int64_t n, double scale);
} tn__gemm_isa;

/* Rows of n elements of 1, 2, 4 or 8 bytes, steps in elements, and from row to row in bytes. No row of n elements is empty. */
typedef struct tn__rows {
    char *to;
    const char *from;
    int64_t to_step, from_step, to_row, from_row;
    int64_t n, rows;
    size_t size;
} tn__rows;

/* Loops of a row of three operands where b (1), c (2) or both (3) are one number throughout, whose address is given, or of two
 * where b is; 0: the list ends. */
typedef struct tn__numbers {
    int which;
    tn__op_id op;
    tn__loop loops[TN__TYPES];
} tn__numbers;

/* 0, which no compiler knows. */
extern const uint64_t tn__no_bits;

typedef struct tn__cpu_isa {
    const char *name;
    tn__loop loops[TN__OPS][TN__TYPES]; /* NULL where the row does not compute in that type */
    tn__load load[TN__DTYPES][TN__TYPES];
    tn__store store[TN__DTYPES][TN__TYPES];
    /* Rows that do to 16-bit floats what integers do: of one dtype throughout, dense. NULL: the others. */
    tn__loop half[TN__OPS];
    /* Loops of floats whose results become bfloat16, and have no digits that it has not. NULL: the others. */
    tn__loop narrow[TN__OPS];
    /* Rows that are light, of two operands, floating (TN__F32, TN__F64), where the first is one number throughout, whose address
     * is given; [1]: where the second is. NULL: the others. */
    tn__loop one[TN__OPS][2][2];
    const tn__numbers *numbers;
    /* Rows that are light: a and the result bfloat16, b and c float; [1]: all of them bfloat16; of two operands [2]: b alone, and
     * a one float throughout, [3]: a alone, and b one float throughout; of three [2]: a and b. NULL: the others. */
    tn__loop bfloat[TN__OPS][4];
    /* Bfloat16 to int32, dense, stride 1: neither is a compute type that has this width. NULL: by way of a block of floats. */
    tn__load bfloats_to_ints;
    /* dst = src past the caches; dst 64-byte aligned or not. */
    void (*stream)(void *dst, const void *src, size_t bytes);
    /* n elements of 1, 2, 4 or 8 bytes, from ss apart to ds apart; ss may be negative, or 0: one element. */
    void (*move)(void *dst, int64_t ds, const void *src, int64_t ss, int64_t n, size_t size);
    /* The same for many rows, however short. */
    void (*move_rows)(const tn__rows *rows);
    bool (*has_zero[TN__TYPES])(const void *x, int64_t n); /* in a dense run */
    /* dst[j * ld_dst + i] = src[i * ld_src + j] for a tile of rows x cols elements of 1, 2, 4 or 8 bytes. */
    void (*transpose)(void *dst, int64_t ld_dst, const void *src, int64_t ld_src, int64_t rows, int64_t cols,
                      size_t size);
    const tn__gemm_isa *gemm; /* [TN__TYPES] */
    /* What families have of their own, each under its name: ops/<family>/cpu_loops.h. */
#define LOOPS(family) tn__##family##_loops family;
#include "op/cpu_loops.def"
} tn__cpu_isa;

/* The table in use. */
const tn__cpu_isa *tn__isa(void);
/* Products of bfloat16 two by two (backend/cpu/gemm_pairs.inc.h); NULL where the processor has no instruction for them. */
const tn__gemm_isa *tn__isa_pairs(void);

/* Those that were built; TN_LEAST_ISA is the first of them (src/CMakeLists.txt). */
#if defined(TN_HAVE_BASELINE)
extern const tn__cpu_isa tn__isa_baseline;
#endif
#if defined(TN_HAVE_AVX2)
extern const tn__cpu_isa tn__isa_avx2;
#endif
#if defined(TN_HAVE_AVX512)
extern const tn__cpu_isa tn__isa_avx512;
extern const tn__gemm_isa tn__gemm_pairs_avx512;
#endif

#endif
