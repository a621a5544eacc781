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
#define PY_PACKED(id, unless) \
    static PyObject *fn_##id(FASTCALL) \
    { \
        (void)self; \
        return py_call_packed(&pf_##id, unless, args, n, names); \
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

/* ("max values indices", ...): the classes of return_types.py. */
static PyObject *all_named_results(void)
{
    const Py_ssize_t n = sizeof named_results / sizeof *named_results - 1;
    PyObject *all = PyTuple_New(n);
    for (Py_ssize_t i = 0; all && i < n; i++) {
        PyObject *text = PyUnicode_FromString(named_results[i]);
        if (!text || PyTuple_SetItem(all, i, text))
            Py_CLEAR(all);
    }
    return all;
}

int py_add_functions(PyObject *module)
{
    static struct PyModuleDef nn = {.m_base = PyModuleDef_HEAD_INIT, .m_name = "tenon._C._nn", .m_size = -1},
                              of_special = {
                                  .m_base = PyModuleDef_HEAD_INIT, .m_name = "tenon._C._special", .m_size = -1};
    nn.m_methods = nn_functions;
    of_special.m_methods = special_functions;
    PyObject *sub = PyModule_Create(&nn), *special = PyModule_Create(&of_special), *named = all_named_results();
    int status = !sub || !special || !named || PyModule_AddObjectRef(module, "_nn", sub) ||
                         PyModule_AddObjectRef(module, "_special", special) ||
                         PyModule_AddObjectRef(module, "_named_results", named) ||
                         PyModule_AddFunctions(module, torch_functions)
                     ? -1
                     : 0;
    Py_XDECREF(sub);
    Py_XDECREF(special);
    Py_XDECREF(named);
    return status;
}
