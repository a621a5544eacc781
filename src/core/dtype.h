/* core/dtype.h: what a dtype is, and PyTorch's promotion rules. */
#ifndef TENON_CORE_DTYPE_H
#define TENON_CORE_DTYPE_H

#include "core/base.h"

/* TN_DTYPE_DEFAULT, and one more than the rows of core/dtypes.def */
enum {
    TN__ROW_DEFAULT,
#define DTYPE(ID, ...) TN__ROW_##ID,
#include "core/dtypes.def"
    TN__DTYPES
};

typedef enum tn__kind {
    TN__KIND_BOOL,
    TN__KIND_INT,
    TN__KIND_UINT,
    TN__KIND_HALF,
    TN__KIND_BFLOAT,
    TN__KIND_FLOAT
} tn__kind;

/* A row of core/dtypes.def. */
typedef struct tn__dtype_info {
    const char *name;   /* "float32": what torch.float32 prints after the dot */
    const char *legacy; /* "Float": what PyTorch's messages say */
    const char *scalar; /* "float": what others of its messages say */
    const char *value;  /* and of what a number is converted to */
    const char *older;  /* "float", or NULL */
    const char *npy, *safetensors;
    uint8_t size;   /* bytes */
    uint8_t kind;   /* tn__kind */
    uint8_t digits; /* bits of an integer without its sign, or of the significand */
    bool is_float, is_signed;
    tn_dtype compute; /* what loops compute it in: TN_F32, TN_F64, TN_I32 or TN_I64 */
    double most;      /* the largest finite number of a floating one */
} tn__dtype_info;

extern const tn__dtype_info tn__dtypes[TN__DTYPES];

enum { TN__HAS_BARE, TN__HAS_FULL };

/* A set of dtypes, one bit each; those of a kind. */
#define TN__BIT(dtype) (1U << (dtype))
enum {
    TN__DT_BOOL = 0
#define DTYPE(ID, token, name, storage, kind, ...) | (TN__KIND_##kind == TN__KIND_BOOL) << TN_##ID
#include "core/dtypes.def"
    ,
    TN__DT_INT = 0
#define DTYPE(ID, token, name, storage, kind, has, ...) \
    | (TN__HAS_##has && (TN__KIND_##kind == TN__KIND_INT || TN__KIND_##kind == TN__KIND_UINT)) << TN_##ID
#include "core/dtypes.def"
    ,
    TN__DT_BARE = 0 /* integers, of which DT_INT, DT_NUMBER and DT_ALL know nothing */
#define DTYPE(ID, token, name, storage, kind, has, ...) | !TN__HAS_##has << TN_##ID
#include "core/dtypes.def"
    ,
    TN__DT_FLOAT = 0
#define DTYPE(ID, token, name, storage, kind, ...) | (TN__KIND_##kind >= TN__KIND_HALF) << TN_##ID
#include "core/dtypes.def"
    ,
    TN__DT_NUMBER = TN__DT_FLOAT | TN__DT_INT,
    TN__DT_ALL = TN__DT_NUMBER | TN__DT_BOOL
};

static inline bool tn__dtype_exists(tn_dtype d)
{
    return d > TN_DTYPE_DEFAULT && d < (tn_dtype)TN__DTYPES;
}

static inline size_t tn__dtype_size(tn_dtype d)
{
    return tn__dtypes[d].size;
}

/* The integer dtype of the same size: what is moved without conversion, to the bit. */
static inline tn_dtype tn__dtype_word(tn_dtype d)
{
    static const tn_dtype by_size[] = {0, TN_U8, TN_I16, 0, TN_I32, 0, 0, 0, TN_I64};
    return by_size[tn__dtype_size(d)];
}

static inline bool tn__dtype_is_float(tn_dtype d)
{
    return (uint32_t)TN__DT_FLOAT >> d & 1;
}

/* Is it one of those that are promoted with floating dtypes alone? (BARE in core/dtypes.def) */
static inline bool tn__dtype_is_bare(tn_dtype d)
{
    return (uint32_t)TN__DT_BARE >> d & 1;
}

/* The dtype of an operation on both: torch.promote_types; TN_DTYPE_DEFAULT, with the error set, where there is none. */
tn_dtype tn__promote(tn_dtype a, tn_dtype b);

/* May a result of 'from' be written into a tensor of 'to'? torch.can_cast: never from float to integer, nor to bool. */
bool tn__can_cast(tn_dtype from, tn_dtype to);

/* The dtype a bare number brings along: bool, int64 or the default dtype. */
tn_dtype tn__number_dtype(const tn_scalar *s);

/* PyTorch's result_type: tensors with dimensions outrank 0-dim tensors, which outrank numbers, unless of a higher kind
 * (bool < integer < float). Feed every operand, then ask. */
typedef struct tn__promotion {
    tn_dtype dim, zero, number;
    bool refused; /* two that are not promoted: the error is set */
} tn__promotion;

void tn__promotion_add(tn__promotion *p, const tn_scalar *operand);
/* TN_DTYPE_DEFAULT: an error. */
tn_dtype tn__promotion_result(const tn__promotion *p);

/* The dtype of floating-point numbers nobody gave one: float32 until tn_set_default_dtype. */
tn_dtype tn__default_dtype(void);

/* Checks a dtype from outside: default, or one that tensors have. */
TN_MUST_USE tn_status tn__dtype_check(const char *what, tn_dtype d);

/* 16-bit floats. */
float tn__half_to_float(uint16_t h);
uint16_t tn__float_to_half(float f);
float tn__bf16_to_float(uint16_t h);
uint16_t tn__float_to_bf16(float f);

/* One element of any dtype, by value. */
double tn__load_double(tn_dtype d, const void *p);
int64_t tn__load_int(tn_dtype d, const void *p);
void tn__store_double(tn_dtype d, void *p, double v);
void tn__store_int(tn_dtype d, void *p, int64_t v);
/* A number stored as dtype d: integers exactly, floats to integers by saturation. */
void tn__store_scalar(tn_dtype d, void *p, const tn_scalar *s);
/* Can a tensor of dtype d hold the number? By PyTorch's rule: fractions are dropped, bool holds all, a uint8 also
 * -255 .. -1 (they wrap), infinity and NaN are floats of any size. tn__number_check says so in its words. */
bool tn__number_fits(const tn_scalar *s, tn_dtype d);
TN_MUST_USE tn_status tn__number_check(const tn_scalar *s, tn_dtype d);
double tn__scalar_double(const tn_scalar *s);
int64_t tn__scalar_int(const tn_scalar *s);

/* Mantissa bits of uniform random numbers: what the dtype holds, at most 24 (float64 has its own way). */
static inline int32_t tn__dtype_uniform_bits(tn_dtype d)
{
    return tn__dtypes[d].digits < 24 ? tn__dtypes[d].digits : 24;
}

#endif
