/* args.h: arguments of a call, read as PyTorch reads them.
 *
 * A function has signatures, tried in their order, written as PyTorch writes them in its errors:
 *     "sum(Tensor input, int[1]? dim, bool keepdim=False, *, dtype? dtype=None)"
 * Kinds: Tensor, Operand (tensor or number), Number, Tensor[], Tensor[2] (two, no more and no fewer), int, float, bool,
 * dim (an int for an operation that takes a list), int[], int[1] (one int stands for a list), size (int[] whose items may
 * be given one by one where it is all there is), dtype, device, memory_format, str, object, reduction ('mean', 'sum' or 'none'),
 * Reduction (its number, as PyTorch counts: 0 none, 1 mean, 2 sum), nothing (None alone: what PyTorch deprecated). 'Tensor*
 * tensors', the first of a function: its positional arguments are one list;
 * 'Tensor[]* tensors': so they are unless the list itself, or what an earlier signature takes, is the only one.
 * '?' after the kind: None is taken for 'not said'. 'name@slot' puts the value into another slot than that of its name,
 * 'name@-' into none; 'out@word' is out.h's; methods take no 'out'. They are parsed once, at the first call.
 */
#ifndef TENON_PY_ARGS_H
#define TENON_PY_ARGS_H

#include "py.h"

enum { PY_MAX_SLOTS = 14, PY_MAX_PARAMS = 14, PY_MAX_SIGNATURES = 4 };

/* A value: which members hold it depends on the kind of the parameter. What was not given is all zero, or the default. */
typedef struct py_value {
    tn_scalar s; /* Tensor, Operand, Number; int, bool and memory_format in s.v.i; float in s.v.f */
    tn_device device;
    tn_dtype dtype;
    bool given;
    int32_t n; /* int[]: how many */
    union {
        int64_t dim[TN_MAX_DIMS];
        struct {
            tn_tensor **item; /* Tensor[]: owned, as the array is; py_values_free lets go */
            size_t n;
        } list;
        const char *text; /* str: as long as the argument */
        PyObject *object; /* borrowed */
    } u;
} py_value;

static inline tn_dims py_dims(const py_value *v)
{
    return v->given ? tn_dims_of(v->u.dim, v->n) : (tn_dims){0};
}

static inline bool py_one_dim(const py_value *v, int64_t *dim)
{
    *dim = v->given ? v->u.dim[0] : 0;
    return v->given;
}

static inline tn_ints py_ints(const py_value *v)
{
    return v->given ? (tn_ints){v->u.dim, (size_t)v->n} : (tn_ints){NULL, 0};
}

static inline tn_tensors py_list(const py_value *v)
{
    return v->given ? (tn_tensors){v->u.list.item, v->u.list.n} : (tn_tensors){NULL, 0};
}

typedef enum py_kind {
    PY_TENSOR,
    PY_OPERAND,
    PY_NUMBER,
    PY_TENSORS,
    PY_INT,
    PY_FLOAT,
    PY_BOOL,
    PY_INTS,
    PY_DIM,
    PY_SIZE,
    PY_DTYPE,
    PY_DEVICE,
    PY_FORMAT,
    PY_STR,
    PY_OBJECT,
    PY_REDUCTION,
    PY_NOTHING
} py_kind;

typedef struct py_param {
    char name[32];
    PyObject *key; /* name, interned */
    py_kind kind;
    bool one;      /* int[1]; Tensor[2]; a reduction's number */
    bool optional; /* None is taken */
    bool keyword;  /* after '*' */
    bool required; /* has no default */
    int8_t place;  /* among the parameters, from 0 */
    int8_t slot;
    int8_t rule; /* of 'out': how its dtype is judged, out.c */
    py_value initial;
    char initial_text[20]; /* the default, as PyTorch's errors write it */
} py_param;

typedef struct py_signature {
    int8_t params, positional;
    int8_t older; /* an overload that PyTorch deprecated: deprecated_overloads.c */
    py_param param[PY_MAX_PARAMS];
} py_signature;

typedef struct py_function {
    const char *name;
    const char *slots; /* names, divided by blanks; NULL: each parameter's place is its slot */
    const char *text[PY_MAX_SIGNATURES + 1];
    tn_tensor *(*call)(const py_value *v);                    /* without the GIL where the work is large */
    PyObject *(*run)(PyObject *self, py_value *v, int which); /* or this, with the GIL */
    bool inplace;                                             /* call returns its first operand, not a new reference */
    bool beside;                                              /* call returns what is to be written into it */
    struct py_signature *parsed;
    int8_t signatures, slot_count, out; /* out: the slot of 'out', or -1 */
} py_function;

/* Reads the arguments into v[PY_MAX_SLOTS + 2]; self (NULL for functions) is the first tensor of a method. Returns which
 * signature
 * fits, or -1 with PyTorch's TypeError. Values are to be freed with py_values_free whenever -1 was not returned. */
int py_parse(py_function *f, PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *names, py_value *v);
void py_values_free(const py_function *f, int which, py_value *v);

/* RuntimeError, of a tensor that is not floating and was to be made with requires_grad. Returns NULL. creation.c */
PyObject *py_grad_needs_floating(void);

/* Parses the arguments and runs the function. */
PyObject *py_call(py_function *f, PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *names);

/* The same of functions whose positional arguments are a list: always, or unless there is one that is a list, or one. */
typedef enum py_unless { PY_ALWAYS, PY_UNLESS_LIST, PY_UNLESS_ONE } py_unless;
PyObject *py_call_packed(py_function *f, py_unless unless, PyObject *const *args, Py_ssize_t nargs, PyObject *names);

/* How PyTorch's errors call the type of an argument. */
const char *py_type_name(PyObject *o, char *out, size_t n);

#endif
