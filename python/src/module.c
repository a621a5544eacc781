/* module.c: the extension module tenon._C. */
#include "py.h"

PyTypeObject *py_type_new(PyObject *module, PyType_Spec *spec, PyTypeObject *base)
{
    PyObject *type = PyType_FromModuleAndSpec(module, spec, (PyObject *)base);
    const char *dot = strrchr(spec->name, '.');
    if (!type)
        return NULL;
    const char *name = dot ? dot + 1 : spec->name;
    PyObject *text = PyUnicode_FromString(name);
    int status = text ? PyModule_AddObjectRef(module, name, type) : -1;
    if (!status &&
        !(spec->flags & Py_TPFLAGS_IMMUTABLETYPE)) /* "'Tensor' object has no attribute", not "'tenon.Tensor'" */
        status = PyObject_SetAttrString(type, "__name__", text);
    Py_XDECREF(text);
    if (status) {
        Py_DECREF(type);
        return NULL;
    }
    return (PyTypeObject *)type; /* the types of this extension live as long as the process */
}

static struct PyModuleDef definition = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "tenon._C",
    .m_doc = "Tenon's extension for Python: what tenon/tenon.h has, as Python objects.",
    .m_size = -1,
};

PyMODINIT_FUNC PyInit__C(void);

PyMODINIT_FUNC PyInit__C(void)
{
    static int (*const parts[])(PyObject *) = {
        py_add_errors,    py_add_dtypes,   py_add_layouts,    py_add_devices, py_add_size,     py_add_tensor,
        py_add_functions, py_add_creation, py_add_random,     py_add_cuda,    py_add_autograd, py_add_storage,
        py_add_settings,  py_add_optim,    py_add_function,   py_add_init,    py_add_dlpack,   py_add_team,
        py_add_replicas,  py_add_library,  py_add_signatures,
    };
    PyObject *module = PyModule_Create(&definition);
    for (size_t i = 0; module && i < sizeof parts / sizeof *parts; i++)
        if (parts[i](module))
            Py_CLEAR(module);
    if (module && PyModule_AddStringConstant(module, "__version__", tn_version()))
        Py_CLEAR(module);
    return module;
}
