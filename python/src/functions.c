/* functions.c: the operations as functions and methods: python_calls.h, made from the list of operations. */
#include "functions.h"

#define FASTCALL PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *names

/* One C function an entry and door. */
#define PY_FUNCTION(id) \
    static PyObject *fn_##id(FASTCALL) \
    { \
        (void)self; \
        return py_call(&pf_##id, NULL, args, n, names); \
    }
#define PY_METHOD(id) \
    static PyObject *me_##id(FASTCALL) \
    { \
        return py_call(&pf_##id, self, args, n, names); \
    }

#include "python_calls.h"

/* ---- into the module and the type ---- */

enum { N_METHODS = sizeof methods / sizeof *methods };

PyMethodDef *py_tensor_all_methods(void)
{
    static PyMethodDef all[N_METHODS + 160];
    size_t n = 0;
    for (PyMethodDef *m = methods; m->ml_name; m++)
        all[n++] = *m;
    for (PyMethodDef *m = py_tensor_methods; m->ml_name && n + 1 < sizeof all / sizeof *all; m++)
        all[n++] = *m;
    return all;
}

int py_add_functions(PyObject *module)
{
    static struct PyModuleDef nn = {.m_base = PyModuleDef_HEAD_INIT, .m_name = "tenon._C._nn", .m_size = -1};
    nn.m_methods = nn_functions;
    PyObject *sub = PyModule_Create(&nn);
    int status =
        !sub || PyModule_AddObjectRef(module, "_nn", sub) || PyModule_AddFunctions(module, torch_functions) ? -1 : 0;
    Py_XDECREF(sub);
    return status;
}
