/* layout.c: torch.layout, of which every tensor has the one that there is, and torch.memory_format. */
#include "py.h"

typedef struct named {
    PyObject_HEAD const char *name;
} named;

static PyObject *strided;
static PyTypeObject *formats;

/* What tenon/base.h numbers them. */
static const char *const format_names[] = {[TN_CONTIGUOUS_FORMAT] = "contiguous_format",
                                           [TN_PRESERVE_FORMAT] = "preserve_format",
                                           [TN_CHANNELS_LAST] = "channels_last",
                                           [TN_CHANNELS_LAST_3D] = "channels_last_3d"};
enum { FORMATS = sizeof format_names / sizeof *format_names };

tn_memory_format py_format_named(const char *name)
{
    tn_memory_format f = FORMATS - 1;
    while (f > 0 && strcmp(name, format_names[f]))
        f--;
    return f;
}

int py_format_from(PyObject *o, tn_scalar *out)
{
    if (!Py_IS_TYPE(o, formats))
        return 1;
    *out = tn_scalar_i(py_format_named(((named *)(void *)o)->name));
    return 0;
}

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
KIND(memory_format, "The order of a tensor's elements in memory: torch.contiguous_format, torch.channels_last, "
                    "torch.channels_last_3d, or torch.preserve_format: as what it is made from.");

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
    formats = py_type_new(module, &memory_format_spec, NULL);
    strided = add(module, py_type_new(module, &layout_spec, NULL), "strided");
    int status = formats && strided ? 0 : -1;
    for (tn_memory_format f = TN_CONTIGUOUS_FORMAT; f < FORMATS && !status; f++) {
        PyObject *o = add(module, formats, format_names[f]);
        status = !o ? -1 : f == TN_CONTIGUOUS_FORMAT ? PyModule_AddObjectRef(module, "legacy_contiguous_format", o) : 0;
        Py_XDECREF(o);
    }
    return status;
}
