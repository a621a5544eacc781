/* layout.c: torch.layout and torch.memory_format, of which Tenon has the names that say what every tensor is. */
#include "py.h"

typedef struct named {
    PyObject_HEAD const char *name;
} named;

static PyObject *strided;

static PyObject *named_repr(PyObject *self)
{
    return PyUnicode_FromFormat("torch.%s", ((named *)(void *)self)->name);
}

/* Pickled by name, as dtypes are. */
static PyObject *named_reduce(PyObject *self, PyObject *unused)
{
    (void)unused;
    return PyUnicode_FromString(((named *)(void *)self)->name);
}

static PyMethodDef named_methods[] = {
    {"__reduce__", named_reduce, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

#define KIND(type, doc) \
    static PyType_Slot type##_slots[] = { \
        {Py_tp_repr, (void *)named_repr}, {Py_tp_methods, named_methods}, {Py_tp_doc, (void *)(doc)}, {0, NULL}}; \
    static PyType_Spec type##_spec = { \
        "tenon." #type, sizeof(named), 0, \
        Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE, type##_slots}
KIND(layout, "How a tensor's elements are found: torch.strided, by a stride for each dimension.");
KIND(memory_format, "The order of a tensor's elements in memory: torch.contiguous_format, torch.preserve_format.");

/* A new reference to the object of that name, which the module has from here on. */
static PyObject *add(PyObject *module, PyTypeObject *type, const char *name)
{
    named *o = type ? PyObject_New(named, type) : NULL;
    if (!o)
        return NULL;
    o->name = name;
    if (!PyModule_AddObjectRef(module, name, (PyObject *)o))
        return (PyObject *)o;
    Py_DECREF((PyObject *)o);
    return NULL;
}

PyObject *py_layout(void)
{
    return Py_NewRef(strided);
}

int py_add_layouts(PyObject *module)
{
    PyTypeObject *formats = py_type_new(module, &memory_format_spec, NULL);
    strided = add(module, py_type_new(module, &layout_spec, NULL), "strided");
    PyObject *contiguous = strided ? add(module, formats, "contiguous_format") : NULL;
    PyObject *preserve = contiguous ? add(module, formats, "preserve_format") : NULL;
    int status = preserve ? PyModule_AddObjectRef(module, "legacy_contiguous_format", contiguous) : -1;
    Py_XDECREF(contiguous);
    Py_XDECREF(preserve);
    return status;
}
