/* size.c: torch.Size: a tuple of ints that knows how many elements it means. */
#include "args.h"

PyTypeObject *py_size_type;
static newfunc tuple_new;

PyObject *py_size(tn_dims dims)
{
    PyObject *list = PyTuple_New(dims.ndim);
    for (int32_t i = 0; list && i < dims.ndim; i++) {
        PyObject *n = PyLong_FromLongLong(dims.dim[i]);
        if (!n || PyTuple_SetItem(list, i, n))
            Py_CLEAR(list);
    }
    if (!list)
        return NULL;
    PyObject *args = PyTuple_Pack(1, list);
    Py_DECREF(list);
    PyObject *size = args ? tuple_new(py_size_type, args, NULL) : NULL;
    Py_XDECREF(args);
    return size;
}

static PyObject *new (PyTypeObject *type, PyObject *args, PyObject *kwds)
{
    PyObject *size = tuple_new(type, args, kwds);
    for (Py_ssize_t i = 0; size && i < PyTuple_Size(size); i++) {
        PyObject *item = PyTuple_GetItem(size, i);
        if (PyLong_Check(item))
            continue;
        PyObject *n = PyIndex_Check(item) ? PyNumber_Index(item) : NULL;
        if (!n || PyTuple_SetItem(size, i, n)) {
            char got[64];
            PyErr_Clear();
            PyErr_Format(PyExc_TypeError, "torch.Size() takes an iterable of 'int' (item %zd is '%s')", i,
                         py_type_name(item, got, sizeof got));
            Py_CLEAR(size);
        }
    }
    return size;
}

static PyObject *repr(PyObject *self)
{
    PyObject *list = PySequence_List(self);
    PyObject *text = list ? PyUnicode_FromFormat("torch.Size(%R)", list) : NULL;
    Py_XDECREF(list);
    return text;
}

static PyObject *numel(PyObject *self, PyObject *unused)
{
    (void)unused;
    PyObject *n = PyLong_FromLong(1);
    for (Py_ssize_t i = 0; n && i < PyTuple_Size(self); i++) {
        PyObject *product = PyNumber_Multiply(n, PyTuple_GetItem(self, i));
        Py_DECREF(n);
        n = product;
    }
    return n;
}

static PyObject *reduce(PyObject *self, PyObject *unused)
{
    (void)unused;
    PyObject *list = PySequence_Tuple(self);
    return list ? Py_BuildValue("O(N)", py_size_type, list) : NULL;
}

/* What tuple's own operations give is a Size again. */
static PyObject *as_size(PyObject *tuple)
{
    if (!tuple || !PyTuple_Check(tuple))
        return tuple;
    PyObject *size = PyObject_CallFunctionObjArgs((PyObject *)py_size_type, tuple, NULL);
    Py_DECREF(tuple);
    return size;
}

static PyObject *concat(PyObject *a, PyObject *b)
{
    return as_size(((binaryfunc)PyType_GetSlot(&PyTuple_Type, Py_sq_concat))(a, b));
}

static PyObject *repeat(PyObject *a, Py_ssize_t n)
{
    return as_size(((ssizeargfunc)PyType_GetSlot(&PyTuple_Type, Py_sq_repeat))(a, n));
}

static PyObject *subscript(PyObject *self, PyObject *index)
{
    PyObject *r = ((binaryfunc)PyType_GetSlot(&PyTuple_Type, Py_mp_subscript))(self, index);
    return PySlice_Check(index) ? as_size(r) : r;
}

static PyMethodDef methods[] = {
    {"numel", numel, METH_NOARGS, "numel() -> int\n\nThe product of the sizes: how many elements such a tensor has."},
    {"__reduce__", reduce, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_new, (void *)new},
    {Py_tp_repr, (void *)repr},
    {Py_sq_concat, (void *)concat},
    {Py_sq_repeat, (void *)repeat},
    {Py_mp_subscript, (void *)subscript},
    {Py_tp_methods, methods},
    {Py_tp_doc, (void *)"The sizes of a tensor's dimensions: a tuple of ints."},
    {0, NULL},
};

static PyType_Spec spec = {"tenon.Size", 0, 0, Py_TPFLAGS_DEFAULT, slots};

int py_add_size(PyObject *module)
{
    tuple_new = (newfunc)PyType_GetSlot(&PyTuple_Type, Py_tp_new);
    py_size_type = py_type_new(module, &spec, &PyTuple_Type);
    return py_size_type ? 0 : -1;
}
