/* named_results.c: results with names: torch.return_types.max(values=..., indices=...). The classes are Python's:
 * tenon/return_types.py. */
#include "functions.h"

PyObject *py_named_result(const char *name, tn_tensor **t, Py_ssize_t n)
{
    PyObject *values = py_wrap_tuple(t, n);
    PyObject *module = values ? PyImport_ImportModule("tenon.return_types") : NULL;
    PyObject *result = module ? PyObject_CallMethod(module, name, "(O)", values) : NULL;
    Py_XDECREF(module);
    Py_XDECREF(values);
    return result;
}
