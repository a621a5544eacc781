/* tenon/library.h: operations of a program's own: a row more in the table of operations.
 *
 * A description says the inputs, the results' shapes and dtypes, a C function for the CPU, the text of a kernel for GPUs, and the
 * derivative. What is registered passes the door that built-in operations pass: operands are checked, errors name the
 * operation, its operands and the call's site, results get memory, autograd records it. It runs where it has a function: without
 * a kernel it is an error on GPUs, nothing travels through the host.
 *
 *     static const tn_op_def def = {.struct_size = sizeof def, .name = "mylib::swiglu", .inputs = 2,
 *                                   .cpu = swiglu, .kernel = text, .backward = swiglu_backward};
 *     const tn_op *swiglu = tn_op_register(&def);
 *     tn_tensor *y = tn_op_call(swiglu, TN_TENSORS(a, b));
 *
 * Memory that callbacks get is dense, in row-major order, of the dtype that the description says: what lies otherwise is copied
 * first. Callbacks may run on several threads at a time; the library holds no lock then. What they point to (functions, 'user')
 * must stay as long as the process: with the shared library, operations of a plugin that was unloaded stay registered, and must
 * not be called. (Operations of a plugin that the static library is part of go with it.) At most 256 are registered.
 */
#ifndef TENON_LIBRARY_H
#define TENON_LIBRARY_H

#include <tenon/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A registered operation: valid as long as the process, from any thread. */
typedef struct tn_op tn_op;

enum { TN_OP_INPUTS = 12, TN_OP_RESULTS = 2, TN_OP_PARAMS = 8 }; /* at most */

/* A tensor as callbacks see it. dtype 0: an input that is absent. */
typedef struct tn_op_view {
    void *data; /* of an input: only read. On a GPU: an address of its memory. In a shape rule: NULL */
    tn_dtype dtype;
    int32_t ndim;
    int64_t numel;
    int64_t shape[TN_MAX_DIMS];
} tn_op_view;

/* One call, as callbacks see it; valid while they run. */
typedef struct tn_op_args {
    size_t struct_size;
    const char *name;
    void *user; /* the description's */
    tn_device device;
    int32_t n_in, n_out, n_params;
    const tn_op_view *in;   /* [n_in] */
    tn_op_view *out;        /* [n_out] */
    const tn_scalar *param; /* [n_params], each of the kind that 'params' says */
    int64_t items;          /* how many there are to share among threads */
} tn_op_args;

/* The derivative of one call. Tensors are the library's; what grad is given was made in the callback, or is held by somebody. */
typedef struct tn_op_backward {
    size_t struct_size;
    const char *name;
    void *user;
    int32_t n_in, n_out, n_params;
    const tn_scalar *param;
    tn_tensor *const *grad_out; /* [n_out] of the results; zeros where none came */
    tn_tensor *const *in;       /* [n_in] what was saved of inputs; NULL: absent, or not saved */
    tn_tensor *const *out;      /* [n_out] the same of results */
    const bool *need;           /* [n_in] which inputs want a gradient */
    /* [n_in] to be filled: of the input's shape, or of one that it was broadcast to; NULL: none, or the error of a call in the
     * callback that has failed. */
    tn_tensor **grad;
} tn_op_backward;

/* Ready rules: what inputs must be, and what results are before 'shape' says otherwise. */
enum {
    TN_OP_LIKE_FIRST, /* the inputs have one shape and dtype, and the results that one */
    TN_OP_BROADCAST, /* elementwise: inputs are converted to their common dtype and repeated to one shape, the results' */
    TN_OP_ANY        /* any shapes and dtypes; results are as the first input */
};

/* What work is shared by: items. */
enum {
    TN_OP_ELEMENTS, /* elements of result 0. On a GPU a work item takes those from GLOBAL_ID(0) on, by GLOBAL_SIZE(0) */
    TN_OP_ROWS, /* rows (the last dimension) of result 0. On a GPU a group takes those from GROUP_ID(0), by NUM_GROUPS(0) */
    TN_OP_WHOLE /* one item: the CPU function runs once, on the calling thread; on a GPU there is one group */
};

#define TN_OP_DTYPE(d) (UINT32_C(1) << (d))
#define TN_OP_FLOATING (TN_OP_DTYPE(TN_F16) | TN_OP_DTYPE(TN_BF16) | TN_OP_DTYPE(TN_F32) | TN_OP_DTYPE(TN_F64))
#define TN_OP_NOTHING  (UINT32_C(1) << 31)

/* What an operation is. The library copies it, its name, and its texts. What is 0 is not said. */
typedef struct tn_op_def {
    size_t struct_size; /* sizeof(tn_op_def) */
    const char *name;   /* "mylib::swiglu"; its node is called SwigluBackward0 */
    int32_t inputs;     /* 1 to TN_OP_INPUTS tensors */
    int32_t results;    /* 1 (not said) or 2 */
    uint32_t optional;  /* bit i: input i may be TN_NONE */
    /* Numbers of a call, a letter each: 'f' a double, 'i' an int64, 'b' a bool: "fi". NULL: none. */
    const char *params;
    int32_t rule; /* TN_OP_LIKE_FIRST ... */
    uint32_t
        dtypes; /* TN_OP_DTYPE of those that input 0 (broadcast: the common dtype) may have; not said: TN_OP_FLOATING */
    /* Changes a->out, which are as the rule says: dtype, ndim, shape. Or refuses the call: TN_EINVAL, with tn_op_error. */
    tn_status (*shape)(const tn_op_args *a);

    int32_t items; /* TN_OP_ELEMENTS ... */
    int64_t grain; /* items that a thread takes at once; not said: rows of, or, 16384 elements */
    /* Computes items begin to end - 1 of every result, which no other thread has. NULL: there is no CPU function. */
    tn_status (*cpu)(const tn_op_args *a, int64_t begin, int64_t end);
    /* The dtypes that 'cpu' knows; not said: all. Floating inputs of another one are converted to float32 for it, and floating
     * results back. */
    uint32_t cpu_dtypes;

    /* The kernel for GPUs: in the dialect of all of them (docs/custom-operations.md), or CUDA C, which NVIDIA's alone run.
     * It is compiled for the dtypes of a call: ST is the storage of input 0, OT of result 0, T what is computed in; LD(x) and
     * SV(v) convert to T and back, LDO and SVO the same of OT. Its arguments: pointers to the results, to the inputs (NULL:
     * absent), i64 items, of TN_OP_ROWS i64 width, then params: double, or i64. NULL: there is none. */
    const char *kernel;
    const char *entry; /* the kernel's name; not said: what stands behind "::" */
    int32_t local;     /* work items of a group; not said: 128 */

    /* NULL: a backward pass through it is an error. Made of functions on tensors, it has itself a derivative. */
    tn_status (*backward)(const tn_op_backward *b);
    uint32_t save_in;  /* bit i: input i is saved for backward; not said: all. TN_OP_NOTHING: none */
    uint32_t save_out; /* the same of results; not said: none */
    void *user;        /* the callbacks' */
} tn_op_def;

/* Makes an operation of the description. TN_EINVAL: a wrong description, or the name is taken; TN_ENOMEM, also for the
 * 257th. Of threads that register one name at a time one succeeds; tn_op_find gives the others its operation.
 * A kernel is compiled when a call needs it: its compiler's messages name lines of the text. */
TN_API const tn_op *tn_op_register(const tn_op_def *def);
/* The operation of that name, whole, also while another thread registers it; NULL, without an error, where there is none. */
TN_API const tn_op *tn_op_find(const char *name);
TN_API const char *tn_op_name(const tn_op *op);
/* What it was registered as; the texts are the library's. */
TN_API const tn_op_def *tn_op_definition(const tn_op *op);

/* The error of a callback: sets the message, returns code. */
TN_API tn_status tn_op_error(tn_status code, const char *message) TN_MUST_USE;

typedef struct tn_op_params {
    const tn_scalar *p;
    size_t n;
} tn_op_params;

typedef struct tn_op_options {
    size_t struct_size;
    const char *site;
    tn_op_params params; /* numbers of the call, as many as 'params' of the description has letters */
    tn_tensor **second;  /* where result 1 goes; NULL: it is not wanted */
} tn_op_options;

/* Result 0. The results belong to the innermost scope, or to the caller. */
TN_API tn_tensor *tn_op_call_opt(const tn_op *op, tn_tensors inputs, const tn_op_options *options);

typedef struct tn_op_check_options {
    size_t struct_size;
    const char *site;
    tn_op_params params;
    double tolerance; /* of gradients against differences, relative; not said: 1e-4, of float32 2e-2 */
} tn_op_check_options;

/* Checks an operation as the built-in ones are checked, on inputs on the CPU of a kind that it takes (small: each element costs
 * two calls): the same call gives the same bits and leaves its inputs alone; inputs that lie otherwise (transposed, part of
 * another tensor) and inputs without elements; each floating dtype that it has against the widest one; each of at most two GPUs
 * that are there (fake ones too) against the CPU; the gradient against differences, and the gradient of that where it has one.
 * TN_OK; or what did not hold, in the error. */
TN_API tn_status tn_op_check_opt(const tn_op *op, tn_tensors inputs, const tn_op_check_options *options) TN_MUST_USE;

#ifdef __cplusplus
}
#else
/* .params = TN_NUMBERS(TN_SCALAR(0.5), TN_SCALAR(3)) */
#define TN_NUMBERS(...) \
    ((tn_op_params){(const tn_scalar[]){__VA_ARGS__}, sizeof((const tn_scalar[]){__VA_ARGS__}) / sizeof(tn_scalar)})
#define tn_op_call(...) TN__X_op_call(__VA_ARGS__, )
#define TN__X_op_call(op_, inputs_, ...) \
    TN__OPTIONS(TN__NAMED4(__VA_ARGS__), tn_op_call_opt, "tn_op_call(op, inputs, .params, .second)", ".second = &x") \
    ((op_), (inputs_), &(tn_op_options){TN__SITE(tn_op_options), __VA_ARGS__})
#define tn_op_check(...) TN__X_op_check(__VA_ARGS__, )
#define TN__X_op_check(op_, inputs_, ...) \
    TN__OPTIONS(TN__NAMED4(__VA_ARGS__), tn_op_check_opt, "tn_op_check(op, inputs, .params, .tolerance)", \
                ".tolerance = 0.01") \
    ((op_), (inputs_), &(tn_op_check_options){TN__SITE(tn_op_check_options), __VA_ARGS__})
#endif
#endif
