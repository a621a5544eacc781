/* op/op.h: the operations as data: what the list's rows say, and what one call of one of them is. */
#ifndef TENON_OP_OP_H
#define TENON_OP_OP_H

#include "core/tensor.h"
#include <string.h>

/* A list of dimensions or sizes among an operation's parameters. given: something was said, if only that there are none. */
typedef struct tn__dims {
    int32_t n;
    bool given;
    int64_t d[TN_MAX_DIMS];
} tn__dims;

#include "op/list.h"

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
    R_LONG,     /* bool becomes int64 */
    R_FLOAT,    /* integers and bool become the default dtype */
    R_FLOATING, /* floating dtypes alone */
    R_TEST,     /* any dtype; the result is bool */
    R_PROMOTE,  /* any dtypes; the result is the common one */
    R_BITS,     /* integers and bool; the result is the common one */
    R_INTEGER,  /* the same, without bool */
    R_SUB,      /* no bool operand */
    R_DIVIDE,   /* the common dtype may not be bool; integers are not divided by zero */
    R_POW,      /* the common dtype may not be bool; no negative integer number as the exponent of integers */
    R_CLAMP,    /* the common dtype may not be bool */
    R_WHERE,    /* the first operand is bool; the result is the others' common dtype */
    R_FILL      /* the second operand is bool, the third 0-dim; the result has the first one's dtype */
} tn__rule;

/* What a node keeps for backward, by input that wants a gradient: bits of inputs and results. */
enum { TN__SAVED_IN = 16 }; /* inputs that have a bit */
#define TN__SAVE_IN(i)  (UINT32_C(1) << (i))
#define TN__SAVE_OUT(i) (UINT32_C(1) << (16 + (i)))
#define TN__NODIFF      (UINT32_C(1) << 30)
#define TN__UNHEARD     (UINT32_C(1) << 31)

/* What rows do: the words after 'does' in rows.def. */
enum {
    F_INPLACE = 1,            /* also has an in-place form */
    F_ONLY_INPLACE = 2,       /* writes input 0, always */
    F_COPY = 4,               /* the result starts as a copy of input 0 */
    F_APART = 8,              /* in place, no other input may share memory with input 0 */
    F_ONE_VALUE = 16,         /* writes the same everywhere: elements of input 0 may share memory */
    F_NUMBER = 32,            /* the last input may be a number: an Operand */
    F_CROSSES = 64,           /* from the last input's device to the result's: moves bytes (backend/transfer.h) */
    F_ASKS = 128,             /* its dtype is what is computed in: integers have no gradient */
    F_CONVERTS = 256,         /* a narrower dtype that is asked for converts the operand before anything else */
    F_DETACH = 512,           /* a view without history, and no view of its base */
    F_NARROW = 1024,          /* of two integers one of no dimensions becomes one of the other's dtype first */
    F_LAST_FIRST = 4096,      /* PyTorch counts the last, optional input first: a linear layer's bias */
    F_NOT_BARE = 8192,        /* PyTorch has it not for uint16, uint32 and uint64, though its rule has them */
    F_COMPARE = 2048,         /* written over its operand nothing of that is left, and the gradient is 0 */
    F_HEAVY = 16384,          /* an element costs so much that threads share few */
    F_SHAPES_FIRST = 32768,   /* in place, shapes and dtypes are looked at before memory that operands share */
    F_BOOL_IN_DOUBLE = 65536, /* bool elements are computed in double: any fraction is true */
    F_LISTED = 131072,        /* its only input is a list of tensors */
    F_FAILS_FIRST = 262144,   /* where it fails on the CPU, it has written nothing */
    F_CONSTANTS =
        1 << 20, /* PyTorch gives numbers to its kernel as constants, not as operands: they have no say in strides */
    F_LIGHT = 1 << 21, /* a few instructions an element: the loop converts 16-bit floats itself, threads share many */
    F_AGAIN = 1 << 22  /* a number it keeps is a constant, no operand: the graph can be walked again */
};

/* Bits of flags behind those: results without a gradient, which get no node. */
#define F_NOGRAD_RESULT(i) (UINT32_C(1) << (24 + (i)))

/* What infer decides about one result. */
typedef struct tn__spec {
    tn_dtype dtype;
    int32_t ndim;
    bool strided;   /* stride is given; else row-major */
    int64_t offset; /* views: elements from the storage's start */
    int64_t shape[TN_MAX_DIMS], stride[TN_MAX_DIMS];
} tn__spec;

/* One call. infer reads op, in and params; fills spec, n_out, compute and variant, and wraps dimensions in params. */
typedef struct tn__call {
    tn__op_id op;
    int32_t n_in, n_out;
    const tn_scalar *in;
    void *params; /* the row's own struct, tn__<params>_params of op/list.h; NULL where it has none */
    tn_device device;
    tn_dtype compute; /* what elementwise and other kernels compute in */
    uint8_t variant;  /* which of the row's labels grad_fn has */
    bool inplace;
    bool all_said;   /* the shape rule's error is whole: operands are not named after it */
    bool adjusts;    /* elementwise: numbers are taken as tn__number_as gives them */
    tn_dtype common; /* elementwise: the operands' common dtype */
    tn__spec spec[TN__MAX_OUT];
} tn__call;

typedef tn_status (*tn__infer)(tn__call *c);

/* What an operation's errors call it and its inputs. */
typedef struct tn__op_words {
    const char *argument[TN__MAX_IN]; /* inputs */
    const char *wrapper[2];           /* what PyTorch calls the function; [1]: without its last, optional input */
} tn__op_words;

/* A row as every call reads it: one cache line. */
typedef struct tn__op {
    const char *name;  /* as users call it, behind a leading '_' if it is internal */
    const char *label; /* of grad_fn, by variant; "" is the name */
    tn__infer infer;
    uint32_t saves[TN__MAX_IN]; /* by input that wants a gradient; of a list all are as the first */
    uint8_t kind, rule;
    uint16_t of_u64; /* elementwise: the row whose loops compute it of uint64 */
    uint32_t flags;
    uint8_t mask;      /* elementwise: 1 + the operand that is a mask; 0: none */
    uint8_t constants; /* bit i: input i gets no gradient, and may not want one */
    uint16_t params;   /* bytes of its parameters */
    /* 1 + where in them: the dtype; the device; whether nobody waits for a copy; which piece a view is. 0: nowhere */
    uint8_t dtype_at, device_at, later_at, piece_at;
    const tn__op_words *words;
} tn__op;
_Static_assert(TN__MAX_IN > 4 || sizeof(tn__op) <= 64, "a row of the table of operations is one cache line");

/* The list's rows, and those that programs register (op/own.h), each written once, before anybody knows its number. So a row
 * is const for all who read it. The table is not, for op/own.c alone: the same under another name. */
extern const tn__op tn__ops[TN__ROWS];
#define TN__OPS_TO_WRITE(declaration) declaration __asm__(TN__STR(__USER_LABEL_PREFIX__) "tn__ops")

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

/* The same of a kernel that PyTorch calls by its device: '*' in the name is the device's word, "cpu" or "cuda". gpu: what it
 * is called on GPUs; NULL: the same. */
TN_COLD tn_status tn__no_dtype_on(tn_device device, const char *kernel, const char *gpu, tn_dtype dtype);

/* "torch.FloatTensor", "torch.cuda.FloatTensor": PyTorch's old names of types, which some errors have. */
typedef struct tn__type_text {
    char s[48];
} tn__type_text;
tn__type_text tn__type_str(const tn_tensor *t);

/* The value of a 0-dim tensor on the CPU. */
tn_scalar tn__operand_value(const tn_tensor *t);

/* A number as operands of dtype d take it: a bound of integers is the end of their range that it is beyond; among 16-bit
 * floats it is one of them. */
tn_scalar tn__number_as(tn_scalar number, tn_dtype d);
/* The integer that is left of the number in dtype d. */
tn_scalar tn__number_wrapped(tn_scalar number, tn_dtype d);

/* Has the row elements of dtype d? */
bool tn__elementwise_takes(tn__op_id op, tn_dtype d);

/* Dtype rule and broadcast of an elementwise row: fills spec[0].dtype, shape, compute. Whether its kernel has the operands'
 * dtype is asked last, once the result has its place. */
TN_MUST_USE tn_status tn__infer_elementwise(tn__call *c);
TN_MUST_USE tn_status tn__check_elementwise_dtype(const tn__call *c);

/* What is saved if input i wants a gradient. */
static inline uint32_t tn__saves(tn__op_id op, int32_t i)
{
    return tn__ops[op].saves[tn__ops[op].flags & F_LISTED ? 0 : i];
}

/* The dtype among an operation's parameters, 0 where there is none, or none was asked for. */
static inline tn_dtype tn__asked_dtype(tn__op_id op, const void *params)
{
    const uint8_t at = tn__ops[op].dtype_at;
    tn_dtype d = 0;
    if (at)
        memcpy(&d, (const char *)params + at - 1, sizeof d);
    return d;
}

/* The same of the device. */
static inline tn_device tn__asked_device(tn__op_id op, const void *params)
{
    const uint8_t at = tn__ops[op].device_at;
    tn_device d = {0};
    if (at)
        memcpy(&d, (const char *)params + at - 1, sizeof d);
    return d;
}

/* Is nobody to wait for the copy to another device? */
static inline bool tn__asked_later(tn__op_id op, const void *params)
{
    const uint8_t at = tn__ops[op].later_at;
    return at && *((const bool *)params + at - 1);
}

#endif
