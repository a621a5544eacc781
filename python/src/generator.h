/* generator.h: torch.Generator, and operations that draw from one.
 *
 * The library has one generator for each device. A Generator of its own keeps a state, which takes the place of its
 * device's for one operation. A mutex keeps every other operation of this kind out meanwhile; operations that draw without
 * asking for a generator (dropout, nn.init) do not know it: in another thread, at that moment, they would draw from it.
 */
#ifndef TENON_PY_GENERATOR_H
#define TENON_PY_GENERATOR_H

#include "args.h"

typedef struct py_generator {
    PyObject_HEAD tn_device device; /* of cuda with its index; cpu without one */
    bool shared;                    /* it is the device's own: the state is the library's */
    tn_rng_state state;             /* otherwise */
    tn_mt19937 mt;                  /* the same, of a CPU's while tn_uses_mt19937() */
} py_generator;

/* One operation's use of a generator (NULL: the device's own). It runs without the GIL. */
typedef struct py_draw {
    py_generator *generator;
    tn_device device;
    bool mt;
    tn_rng_state before;
    tn_mt19937 mt_before;
    PyThreadState *thread;
    tn_tensor *own[4]; /* what it uses; NULL is none */
} py_draw;

/* v is the value of an 'object? generator', device where the operation runs, used the n values that it is given, at most 4 of
 * them tensors. 0, or -1 with an exception. After 0 the GIL is let go, until py_draw_end. */
int py_draw_begin(py_draw *draw, const char *function, const py_value *v, tn_device device, const py_value *used,
                  int n);
void py_draw_end(py_draw *draw);

/* "Long" for int64: how PyTorch's errors call a dtype. */
const char *py_scalar_type_name(tn_dtype dtype);

/* py_write_out where 'out' was given, and its wrapper; else the result's own. Takes the result's reference; NULL raises. */
PyObject *py_into(const char *function, const py_value *out, tn_tensor *result);

#endif
