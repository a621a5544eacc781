/* py.h: what the files of the Python extension share.
 *
 * The extension stands on <tenon/tenon.h> and CPython's limited API (3.11) alone. Everything here is called with the GIL
 * held, unless it says otherwise. A function that returns a PyObject * returns a new reference, or NULL with a Python
 * exception set; one that returns int returns 0, or -1 with an exception set.
 */
#ifndef TENON_PY_H
#define TENON_PY_H

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030b0000
#include <Python.h>
#include <structmember.h>

/* Headers of 3.12 and later count no reference of these, even in the limited API of 3.11: what they build would end a 3.11
 * that runs it ("deallocating None"). */
#undef Py_RETURN_NONE
#undef Py_RETURN_TRUE
#undef Py_RETURN_FALSE
#undef Py_RETURN_NOTIMPLEMENTED
#define Py_RETURN_NONE           return Py_NewRef(Py_None)
#define Py_RETURN_TRUE           return Py_NewRef(Py_True)
#define Py_RETURN_FALSE          return Py_NewRef(Py_False)
#define Py_RETURN_NOTIMPLEMENTED return Py_NewRef(Py_NotImplemented)

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define TN_NO_SITES /* a line of this extension is no place of a program's */
#include <tenon/graph.h>
#include <tenon/tenon.h>

#define PY_TLS _Thread_local __attribute__((tls_model("initial-exec")))

/* ---- types ---- */

/* t is the wrapper's own reference, never NULL in a tensor that Python can see. A tensor has one wrapper at most, which its
 * binding names (tenon/tensor.h), so that x.grad is x.grad. */
typedef struct py_tensor {
    PyObject_HEAD tn_tensor *t;
    PyObject *dict, *weakrefs; /* attributes that users set; NULL until there is one */
} py_tensor;

typedef struct py_device {
    PyObject_HEAD tn_device d; /* index -1: none was said */
} py_device;

typedef struct py_dtype {
    PyObject_HEAD tn_dtype v;
} py_dtype;

/* What core/dtypes.def says of a dtype; [TN_DTYPE_DEFAULT] is "Undefined". */
typedef struct py_dtype_row {
    const char *name, *older, *legacy, *scalar; /* older may be NULL */
    const char *npy, *safetensors;              /* npy: "" where NumPy has none */
    const char *format;                         /* of buffers; "" where they have none */
    int size, digits;
    bool is_signed, is_bare; /* bare: one of PyTorch's dtypes of few operations, such as uint32 */
    int64_t low, high;       /* the whole numbers that it can tell apart, as far as int64 holds them */
    double most;             /* the largest finite number of a floating one; 0 of others */
} py_dtype_row;

enum {
    PY_DTYPE_DEFAULT,
#define DTYPE(ID, ...) PY_DTYPE_##ID,
#include "dtypes.def"
    PY_DTYPES
};
extern const py_dtype_row py_dtypes[PY_DTYPES];

extern PyTypeObject *py_tensor_type, *py_device_type, *py_dtype_type, *py_size_type;
extern PyObject *py_out_of_memory, *py_accelerator_error;

static inline bool py_is_tensor(PyObject *o)
{
    return Py_IS_TYPE(o, py_tensor_type) || PyObject_TypeCheck(o, py_tensor_type);
}

static inline tn_tensor *py_t(PyObject *o)
{
    return ((py_tensor *)(void *)o)->t;
}

static inline bool py_same_dims(tn_dims a, tn_dims b)
{
    return a.ndim == b.ndim && !memcmp(a.dim, b.dim, (size_t)a.ndim * sizeof *a.dim);
}

static inline bool py_same_shape(tn_tensor *a, tn_tensor *b)
{
    return py_same_dims(tn_tensor_shape(a), tn_tensor_shape(b));
}

/* Is an element shown more than once, along a dimension such as expand makes? */
bool py_is_expanded(tn_tensor *t);

/* ---- results ---- */

/* The wrapper of t, whose reference it takes over; NULL where t is NULL, with the exception that the library's error calls
 * for. */
PyObject *py_wrap(tn_tensor *t);
/* The same, of a class derived from Tensor; t has no wrapper yet. */
PyObject *py_wrap_as(PyTypeObject *type, tn_tensor *t);
/* The wrapper of a tensor that somebody else owns; None where t is NULL and no error is meant. */
PyObject *py_borrowed(tn_tensor *t);
/* A tuple of wrappers; takes the references over, also when it fails. */
PyObject *py_wrap_tuple(tn_tensor **t, Py_ssize_t n);

/* The library's error as an exception. Returns NULL, always. An exception that is set already stays. */
PyObject *py_raise(void);
/* None, or the exception of a status. */
PyObject *py_done(tn_status status);

/* A UserWarning, the first time only, which *warned keeps; each time where set_warn_always asks for it. 0, or -1 where it is
 * an exception. */
int py_warn_once(bool *warned, const char *text);
/* Warns of each setting in the environment that is wrong, once a process; called by a Python file of the package, so that the
 * line that called that one is named. 0, or -1 where one became an exception. */
int py_warn_of_settings(void);

PyObject *py_dtype_of(tn_dtype dtype);
/* A memory format by its object, as an integer (1: it is none), and by its name (0: there is none such). layout.c */
int py_format_from(PyObject *o, tn_scalar *out);
tn_memory_format py_format_named(const char *name);
PyObject *py_layout(void); /* torch.strided */
PyObject *py_device_object(tn_device device);
PyObject *py_size(tn_dims dims);

/* ---- arguments ---- */

/* A number: bool, int, float, what has __index__, NumPy's numbers, and tensors of one element. 1: it is none (no exception);
 * -1: it is one that fails. */
int py_number(PyObject *o, tn_scalar *out);
/* An int, from whatever has __index__. 1: it is none; -1 with an exception. */
int py_int(PyObject *o, int64_t *out);
/* A device from a device, a string, or an int (that one's accelerator). 1: it is none of these; -1 with an exception. */
int py_device_from(PyObject *o, tn_device *out);
/* A dtype from a dtype or from Python's float, int, bool. 1: it is none. */
int py_dtype_from(PyObject *o, tn_dtype *out);
/* Anything that NumPy calls an array or a scalar of its own, without importing NumPy. */
bool py_is_ndarray(PyObject *o);
bool py_is_numpy_scalar(PyObject *o);

/* torch.tensor: a new tensor from nested lists, numbers, arrays. Zero dtype and device: inferred, default. */
PyObject *py_tensor_from_data(PyObject *data, tn_dtype dtype, tn_device device);
/* torch.from_numpy: shares the array's memory. copied: to be copied at once, so that read-only memory needs no warning. */
PyObject *py_from_numpy(PyObject *array, bool copied);
/* torch.from_dlpack: shares the memory of a capsule, or of an object that gives one. */
PyObject *py_from_dlpack(PyObject *o);
/* count elements of a buffer from that byte on (-1: all that are left), sharing its memory. */
PyObject *py_from_buffer(PyObject *buffer, tn_dtype dtype, int64_t count, int64_t offset);

/* ---- work without the GIL ---- */

/* Above this many elements an operation lets other Python threads run. */
enum { PY_UNLOCK = 32768 };

/* The collector of cycles follows references of the library that are the only one, with the GIL held. What a thread without the
 * GIL can reach must therefore either have another reference for as long as the thread is at it, or be shown to no collection:
 *  - PY_BEGIN_OWNING(t, ...) .. PY_END_OWNING: the thread has a reference of its own of every tensor that it is given. NULL is
 *    none; so it is where all that is used is owned already. function.c says why that is enough.
 *  - Py_BEGIN_ALLOW_THREADS .. Py_END_ALLOW_THREADS, which whoever did not think of it uses: collections see nothing of the
 *    graph meanwhile. py_unlocked counts these threads, those in a callback of such a call too. It grows with the GIL held, that
 *    is: not within a collection; it falls before the GIL is waited for, when the thread is done with the library. */
extern _Atomic int py_unlocked;
extern PY_TLS int py_unlocked_here; /* of those, this thread's: what is left of them in the child of a fork */

static inline PyThreadState *py_unlock(void)
{
    py_unlocked++;
    py_unlocked_here++;
    return PyEval_SaveThread();
}

static inline void py_lock(PyThreadState *thread)
{
    py_unlocked_here--;
    py_unlocked--;
    PyEval_RestoreThread(thread);
}

static inline PyThreadState *py_unlock_owning(tn_tensor *const *own, size_t n)
{
    for (size_t i = 0; i < n; i++)
        tn_retain(own[i]);
    return PyEval_SaveThread();
}

/* With the GIL again: a collection sees a tensor's references change between its looks at no time. */
void py_lock_owning(PyThreadState *thread, tn_tensor *const *own, size_t n);

static inline tn_tensor *py_tensor_in(tn_scalar s)
{
    return s.kind == TN_SCALAR_TENSOR ? s.v.t : NULL;
}

#undef Py_BEGIN_ALLOW_THREADS
#undef Py_END_ALLOW_THREADS
#undef Py_BLOCK_THREADS
#undef Py_UNBLOCK_THREADS
#define Py_BEGIN_ALLOW_THREADS \
    { \
        PyThreadState *py_thread_ = py_unlock();
#define Py_END_ALLOW_THREADS \
    py_lock(py_thread_); \
    }
#define PY_BEGIN_OWNING(...) \
    { \
        tn_tensor *const py_own_[] = {__VA_ARGS__}; \
        PyThreadState *py_thread_ = py_unlock_owning(py_own_, sizeof py_own_ / sizeof *py_own_);
#define PY_END_OWNING \
    py_lock_owning(py_thread_, py_own_, sizeof py_own_ / sizeof *py_own_); \
    }

/* ---- modules ---- */

/* A heap type from its spec, put into the module under its name. Returns the type (borrowed from the module), or NULL. */
PyTypeObject *py_type_new(PyObject *module, PyType_Spec *spec, PyTypeObject *base);

/* Each adds what its file defines to the module. */
int py_add_errors(PyObject *module);
int py_add_dtypes(PyObject *module);
int py_add_layouts(PyObject *module);
int py_add_devices(PyObject *module);
int py_add_size(PyObject *module);
int py_add_tensor(PyObject *module);
int py_add_functions(PyObject *module);
int py_add_creation(PyObject *module);
int py_add_signatures(PyObject *module);
int py_add_cuda(PyObject *module);
int py_add_autograd(PyObject *module);
int py_add_init(PyObject *module);
int py_add_library(PyObject *module);
int py_add_storage(PyObject *module);
int py_add_optim(PyObject *module);
int py_add_function(PyObject *module);
int py_add_dlpack(PyObject *module);
int py_add_random(PyObject *module);
int py_add_settings(PyObject *module);
bool py_warns(bool *warned); /* is a warning that comes once to be given now? warned: has it been; settings.c */
int py_add_team(PyObject *module);
int py_add_replicas(PyObject *module);

/* The slots of Tensor that other files define; a NULL name ends each list. */
extern PyMethodDef py_tensor_methods[];     /* methods that are written by hand: tensor_methods.c */
extern PyGetSetDef py_tensor_getset[];      /* attributes: tensor_attr.c */
PyMethodDef *py_tensor_all_methods(void);   /* those, and the ones of the list of operations: functions.c */
extern const PyType_Slot py_number_slots[]; /* operators: number.c; ends with {0, NULL} */
PyObject *py_get_item(PyObject *self, PyObject *index);
int py_set_item(PyObject *self, PyObject *index, PyObject *value);
/* The wrapper of a node, whose reference it takes over; None for NULL without an error. */
PyObject *py_node(tn_node *node);
/* For the collector of cycles: what hooks and functions of the graph hold that go when this wrapper does; and an end of those
 * hooks (t or n NULL: none). */
int py_visit_callbacks(const tn_tensor *t, visitproc visit, void *arg);
int py_visit_callbacks_of_node(const tn_node *n, visitproc visit, void *arg);
void py_drop_hooks(const tn_tensor *t, const tn_node *n);
/* Does the pass that runs on this thread keep the graph? */
extern PY_TLS bool py_pass_retains;
/* The node in a wrapper, borrowed; NULL with an exception. */
tn_node *py_node_of(PyObject *o);
PyObject *py_item(PyObject *self);
PyObject *py_to_numpy(PyObject *self);
extern const PyType_Slot py_buffer_slots[]; /* buffer.c */
extern PY_TLS int py_holds_gil; /* > 0: this thread is known to hold the GIL: what is let go of goes at once */
/* Drops a reference, from any thread, with the GIL or without. */
void py_release_later(void *object);
PyObject *py_tensor_repr(PyObject *self);

#endif
