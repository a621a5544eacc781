/* op/op.h: the operations as data: what ops.def's rows say, and what one call of one of them is. */
#ifndef TENON_OP_OP_H
#define TENON_OP_OP_H

#include "core/tensor.h"

typedef enum tn__op_id {
#define UNARY(name, ...)   TN__OP_##name,
#define BINARY(name, ...)  TN__OP_##name,
#define TERNARY(name, ...) TN__OP_##name,
#define OP(name, ...)      TN__OP_##name,
#define VIEW(name, ...)    TN__OP_##name,
#define COMP(name, ...)    TN__OP_##name,
#define FUNC(name, ...)
#include "op/ops.def"
#include "op/ops_undef.h"
    TN__OPS
} tn__op_id;

typedef enum tn__op_kind {
    TN__UNARY = 1,
    TN__BINARY,
    TN__TERNARY,
    TN__STRUCTURAL,
    TN__VIEW,
    TN__COMPOSITE
} tn__op_kind;

/* Elementwise dtype rules. The operands' common dtype (PyTorch's result_type) is the compute dtype's source. */
typedef enum tn__rule {
    R_SAME,   /* any dtype; the result has it */
    R_NUMBER, /* the same, bool refused */
    R_NEG,    /* the same, with PyTorch's advice for bool */
    R_RELU,
    R_LONG,    /* bool becomes int64 */
    R_FLOAT,   /* integers and bool become the default dtype */
    R_TEST,    /* any dtype; the result is bool */
    R_PROMOTE, /* any dtypes; the result is the common one */
    R_BITS,    /* integers and bool; the result is the common one */
    R_INTEGER, /* the same, without bool */
    R_SUB,     /* no bool operand */
    R_DIVIDE,  /* the common dtype may not be bool; integers are not divided by zero */
    R_POW,     /* the common dtype may not be bool; no negative integer number as the exponent of integers */
    R_CLAMP,   /* the common dtype may not be bool */
    R_WHERE,   /* the first operand is bool; the result is the others' common dtype */
    R_FILL     /* the second operand is bool, the third 0-dim; the result has the first one's dtype */
} tn__rule;

/* What a node keeps for backward. */
enum { S_A = 1, S_B = 2, S_C = 4, S_D = 8, S_OUT = 64, S_OUT2 = 128, TN__NODIFF = 256, TN__UNHEARD = 512 };

/* Row flags. */
enum {
    F_INPLACE = 1,      /* also has an in-place form */
    F_ONLY_INPLACE = 2, /* writes input 0, always */
    F_COPY = 4,         /* the result starts as a copy of input 0 */
    F_APART = 8,        /* in place, no other input may share memory with input 0 */
    F_ONE_VALUE = 16,   /* writes the same everywhere: elements of input 0 may share memory */
    F_NUMBER = 32,      /* the last input may be a number: its signature says N */
    F_CROSSES = 64      /* from the last input's device to the result's: moves bytes (backend/transfer.h) */
};

/* Everything an operation takes beside tensors. Signatures in ops.def name these fields; infer wraps dimensions. */
typedef struct tn__attr {
    int64_t dim, dim2, start, end, step, n;
    int64_t reduction, view, seed, offset;
    int64_t dims[TN_MAX_DIMS], strides[TN_MAX_DIMS];
    int64_t base_strides[TN_MAX_DIMS], base_start; /* as_strided: geometry of the tensor it was asked of */
    int32_t n_dims, n_strides;
    double x, y, z, w, u;
    tn_scalar value, value2;
    tn_dtype dtype;
    tn_device device; /* type 0: where the operands are */
    bool keepdim, flag, maximize, has_dims, non_blocking;
} tn__attr;

/* What infer decides about one result. */
typedef struct tn__spec {
    tn_dtype dtype;
    int32_t ndim;
    bool strided;   /* stride is given; else row-major */
    int64_t offset; /* views: elements from the storage's start */
    int64_t shape[TN_MAX_DIMS], stride[TN_MAX_DIMS];
} tn__spec;

/* Four inputs are enough for every row but those that take a list. */
enum { TN__MAX_IN = 4, TN__MAX_OUT = 2 };

/* One call. infer reads op, in and attr; fills spec, n_out, compute and variant, and wraps dimensions in attr. */
typedef struct tn__call {
    tn__op_id op;
    int32_t n_in, n_out;
    const tn_scalar *in;
    tn__attr *attr;
    tn_device device;
    tn_dtype compute; /* what elementwise and other kernels compute in */
    uint8_t variant;  /* which of the row's labels grad_fn has */
    bool inplace;
    bool adjusts;    /* elementwise: numbers are taken as tn__number_as gives them */
    tn_dtype common; /* elementwise: the operands' common dtype */
    tn__spec spec[TN__MAX_OUT];
} tn__call;

typedef tn_status (*tn__infer)(tn__call *c);

typedef struct tn__op {
    const char *name;      /* as users call it, without a leading '_' */
    const char *label;     /* of grad_fn, by variant; "" is the name */
    const char *signature; /* of structural rows */
    tn__infer infer;
    uint16_t saves[3]; /* by input that wants a gradient; inputs above 2 as 2 */
    uint8_t kind, rule, flags;
} tn__op;

extern const tn__op tn__ops[TN__OPS];

static inline bool tn__is_elementwise(tn__op_id op)
{
    return tn__ops[op].kind <= TN__TERNARY;
}

/* The tensor of an operand, NULL for a number or none. */
static inline tn_tensor *tn__operand(const tn_scalar *s)
{
    return s->kind == TN_SCALAR_TENSOR ? s->v.t : NULL;
}

/* "int64 [3] on cuda:0, 2.5" for messages. */
typedef struct tn__operands_text {
    char s[640];
} tn__operands_text;
tn__operands_text tn__operands_str(const tn_scalar *in, int32_t n);

/* One error for a dtype an operation does not have: '"abs" not implemented for 'Bool''. */
TN_COLD tn_status tn__no_dtype(const char *op, tn_dtype dtype);

/* The value of a 0-dim tensor on the CPU. */
tn_scalar tn__operand_value(const tn_tensor *t);

/* A number as operands of dtype d take it: a bound of integers is the end of their range that it is beyond; among 16-bit
 * floats it is one of them. */
tn_scalar tn__number_as(tn_scalar number, tn_dtype d);

/* Dtype rule and broadcast of an elementwise row: fills spec[0].dtype, shape, compute. Whether its kernel has the operands'
 * dtype is asked last, once the result has its place. */
TN_MUST_USE tn_status tn__infer_elementwise(tn__call *c);
TN_MUST_USE tn_status tn__check_elementwise_dtype(const tn__call *c);

/* Prototypes of every shape rule. */
#define UNARY(...)
#define BINARY(...)
#define TERNARY(...)
#define OP(name, sig, infer, ...)   TN_MUST_USE tn_status tn__infer_##infer(tn__call *c);
#define VIEW(name, sig, infer, ...) TN_MUST_USE tn_status tn__infer_##infer(tn__call *c);
#define COMP(...)
#define FUNC(...)
#include "op/ops.def"
#include "op/ops_undef.h"

#endif
