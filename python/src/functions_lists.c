/* functions_lists.c: functions of several tensors that give a tuple of as many. */
#include "functions.h"

#include <stdlib.h>

/* ---- each with more dimensions ---- */

typedef tn_tensor *raised(const char *site, tn_tensor *x);

/* slots: input tensors. Of one tensor one, of a list a tuple. */
static PyObject *raise_each(raised *f, const py_value *v)
{
    if (!v[1].given)
        return py_wrap(f("", v[0].s.v.t));
    const tn_tensors list = py_list(&v[1]);
    PyObject *tuple = PyTuple_New((Py_ssize_t)list.n);
    for (size_t i = 0; tuple && i < list.n; i++) {
        PyObject *item = py_wrap(f("", list.t[i]));
        if (!item || PyTuple_SetItem(tuple, (Py_ssize_t)i, item))
            Py_CLEAR(tuple);
    }
    return tuple;
}

PyObject *run_atleast_1d(PyObject *self, py_value *v, int which)
{
    (void)self, (void)which;
    return raise_each(tn_atleast_1d_at, v);
}

PyObject *run_atleast_2d(PyObject *self, py_value *v, int which)
{
    (void)self, (void)which;
    return raise_each(tn_atleast_2d_at, v);
}

PyObject *run_atleast_3d(PyObject *self, py_value *v, int which)
{
    (void)self, (void)which;
    return raise_each(tn_atleast_3d_at, v);
}

/* ---- one shape for all ---- */

/* indexing: of a grid; NULL: what they broadcast to */
static PyObject *of_one_shape(tn_tensors list, const char *indexing)
{
    tn_tensor **out = malloc((list.n ? list.n : 1) * sizeof *out);
    if (!out)
        return PyErr_NoMemory();
    tn_error_clear();
    const int64_t n =
        indexing ? (tn_meshgrid_at)("", list, indexing, out, list.n) : (tn_broadcast_tensors_at)("", list, out, list.n);
    PyObject *tuple = n || !tn_error_code() ? py_wrap_tuple(out, (Py_ssize_t)n) : py_raise();
    free(out);
    return tuple;
}

PyObject *run_broadcast_tensors(PyObject *self, py_value *v, int which)
{
    (void)self, (void)which;
    return of_one_shape(py_list(&v[0]), NULL);
}

PyObject *run_meshgrid(PyObject *self, py_value *v, int which)
{
    (void)self, (void)which;
    if (!v[1].given && PyErr_WarnEx(PyExc_UserWarning,
                                    "torch.meshgrid: in an upcoming release, it will be required to pass the indexing "
                                    "argument.",
                                    1))
        return NULL;
    return of_one_shape(py_list(&v[0]), v[1].given ? v[1].u.text : "ij");
}
