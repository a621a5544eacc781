/* args_error.h: what did not fit, in PyTorch's words. */
#ifndef TENON_PY_ARGS_ERROR_H
#define TENON_PY_ARGS_ERROR_H

#include "args.h"

typedef struct py_arguments {
    PyObject *self, *const *args;
    Py_ssize_t nargs;
    PyObject *names;
} py_arguments;

enum { PY_TOO_MANY = 1, PY_WRONG_TYPE, PY_UNKNOWN_NAME, PY_TWICE, PY_MISSING };

/* Why a signature was refused; what it points to is borrowed. */
typedef struct py_mismatch {
    int why;
    const py_param *param;
    PyObject *object, *name;
    int position; /* of the argument, from 0; -1: by name */
    int item;     /* of sizes that are given one by one: which of them, from 0 */
    const py_signature *signature;
    unsigned seen;
} py_mismatch;

static inline int py_mismatch_count(py_mismatch *m)
{
    return m->why = PY_TOO_MANY;
}

static inline int py_mismatch_type(py_mismatch *m, const py_param *p, PyObject *o, int position)
{
    m->param = p;
    m->object = o;
    m->position = position;
    return m->why = PY_WRONG_TYPE;
}

static inline int py_mismatch_name(py_mismatch *m, PyObject *name)
{
    m->name = name;
    return m->why = PY_UNKNOWN_NAME;
}

static inline int py_mismatch_twice(py_mismatch *m, PyObject *name)
{
    m->name = name;
    return m->why = PY_TWICE;
}

static inline int py_mismatch_missing(py_mismatch *m, const py_signature *s, unsigned seen)
{
    m->signature = s;
    m->seen = seen;
    return m->why = PY_MISSING;
}

/* Is it what a list of integers takes? Leaves no exception. */
bool py_is_int(PyObject *o);

/* The one signature that takes as many arguments as were given, for its own error; -1: none, or one of several. Older ones
 * do not count. */
int py_plausible(const py_function *f, py_arguments a);

/* Sets the TypeError of a call that fits no signature; only: py_plausible's, whose mismatch 'why' is. */
void py_arguments_error(const py_function *f, py_arguments a, int only, const py_mismatch *why);

/* PyTorch's warning of an overload that it deprecated: the first time. 0, or -1 where it became an exception. */
int py_warn_older(const py_function *f, int which, bool method);

/* The i-th older overload of the function of that name, NULL where there is none; as what it is called. deprecated_overloads.c */
const char *py_older_overload(const char *name, int i, int8_t *forms);
bool py_older_fits(const py_signature *s, bool method);

/* result, a tensor or a tuple of them, written into what was given as out=, and that in its place. Takes result.
 * write_result.c */
PyObject *py_write_result(const py_function *f, int which, const py_value *v, PyObject *result);

/* Sets a RuntimeError: text has %S twice, for the two shapes. */
void py_shapes_differ(const char *text, tn_dims have, tn_dims want);

/* x, with result written into it, as an in-place operation whose result that is. Takes result's reference. */
/* May ldexp_ write its result, a float, into x? Else false with PyTorch's RuntimeError. */
bool py_can_scale(tn_tensor *x);
PyObject *py_put_into(tn_tensor *x, tn_tensor *result);

#endif
