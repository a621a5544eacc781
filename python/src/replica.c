/* replica.c: shallow copies of a module and of all inside it, for one forward (tenon/nn/parallel/replicate.py).
 *
 * A plan has a row for each module, parents first: (plain, parameters, buffers, children), where the last three are tuples
 * of (name, number): of the tensor or module that it is, -1 for None. What makes a replica is done once a module, a GPU and a
 * forward, hence in C. */
#include "py.h"

/* Names in a module's __dict__. */
static PyObject *name_parameters, *name_buffers, *name_modules, *name_former, *name_replica, *name_owner;

/* dict.__new__(type): without its __init__. */
static PyObject *members_new(PyObject *type, PyObject *owner)
{
    static newfunc make;
    if (!make)
        make = (newfunc)PyType_GetSlot(&PyDict_Type, Py_tp_new);
    PyObject *none = PyTuple_New(0), *held = none ? make((PyTypeObject *)type, none, NULL) : NULL;
    Py_XDECREF(none);
    if (held && PyObject_SetAttr(held, name_owner, owner))
        Py_CLEAR(held);
    return held;
}

static int refuse(void)
{
    PyErr_SetString(PyExc_TypeError, "_replica: this is no plan of a module");
    return -1;
}

/* A row that the functions below may take apart. */
static bool is_row(PyObject *row)
{
    return row && PyTuple_Check(row) && PyTuple_Size(row) == 4 && PyTuple_Check(PyTuple_GetItem(row, 1)) &&
           PyTuple_Check(PyTuple_GetItem(row, 2)) && PyTuple_Check(PyTuple_GetItem(row, 3));
}

/* Calls put with each (name, value) of entries: value is what[number], or None. */
typedef int put(PyObject *to, PyObject *also, PyObject *name, PyObject *value);

static int each(PyObject *entries, PyObject *what, put *f, PyObject *to, PyObject *also)
{
    for (Py_ssize_t i = 0; i < PyTuple_Size(entries); i++) {
        PyObject *entry = PyTuple_GetItem(entries, i), *value = Py_None;
        if (!PyTuple_Check(entry) || PyTuple_Size(entry) != 2)
            return refuse();
        Py_ssize_t at = PyLong_AsSsize_t(PyTuple_GetItem(entry, 1));
        if (at >= 0)
            value = PyList_GetItem(what, at);
        if (PyErr_Occurred() || !value || f(to, also, PyTuple_GetItem(entry, 0), value))
            return -1;
    }
    return 0;
}

static int put_parameter(PyObject *attributes, PyObject *former, PyObject *name, PyObject *value)
{
    if (value == Py_None) /* a place where there is none stays one */
        return PyDict_SetItem(PyDict_GetItem(attributes, name_parameters), name, value);
    return PyDict_SetItem(attributes, name, value) || PyDict_SetItem(former, name, value) ? -1 : 0;
}

static int put_member(PyObject *attributes, PyObject *held, PyObject *name, PyObject *value)
{
    return PyDict_SetItem(attributes, name, value) || PyDict_SetItem(held, name, value) ? -1 : 0;
}

static int set_attribute(PyObject *replica, PyObject *modules, PyObject *name, PyObject *value)
{
    return value == Py_None ? PyObject_SetItem(modules, name, value) : PyObject_SetAttr(replica, name, value);
}

/* The attributes of a replica: those of the module, with its own members, and tensors for parameters and buffers. */
static int fill(PyObject *attributes, PyObject *row, PyObject *tensors, PyObject *members, PyObject *owner)
{
    PyObject *parameters = members_new(members, owner), *buffers = members_new(members, owner);
    PyObject *modules = members_new(members, owner), *former = PyDict_New();
    int status = parameters && buffers && modules && former &&
                         !PyDict_SetItem(attributes, name_parameters, parameters) &&
                         !PyDict_SetItem(attributes, name_buffers, buffers) &&
                         !PyDict_SetItem(attributes, name_modules, modules) &&
                         !PyDict_SetItem(attributes, name_former, former) &&
                         !PyDict_SetItem(attributes, name_replica, Py_True) &&
                         !each(PyTuple_GetItem(row, 1), tensors, put_parameter, attributes, former) &&
                         !each(PyTuple_GetItem(row, 2), tensors, put_member, attributes, buffers)
                     ? 0
                     : -1;
    Py_XDECREF(parameters);
    Py_XDECREF(buffers);
    Py_XDECREF(modules);
    Py_XDECREF(former);
    return status;
}

/* A replica without its children, of a module that any copy of its __dict__ makes another of. */
static PyObject *plain_replica(PyObject *module, PyObject *row, PyObject *tensors, PyObject *members)
{
    PyObject *replica = PyType_GenericAlloc(Py_TYPE(module), 0), *own = PyObject_GenericGetDict(module, NULL);
    PyObject *attributes = own ? PyDict_Copy(own) : NULL;
    PyObject *owner = replica && attributes ? PyWeakref_NewRef(replica, NULL) : NULL;
    if (!owner || fill(attributes, row, tensors, members, owner) || PyObject_GenericSetDict(replica, attributes, NULL))
        Py_CLEAR(replica);
    Py_XDECREF(owner);
    Py_XDECREF(attributes);
    Py_XDECREF(own);
    return replica;
}

static int add_children(PyObject *replica, PyObject *row, PyObject *replicas)
{
    PyObject *children = PyTuple_GetItem(row, 3);
    if (!PyTuple_Size(children))
        return 0;
    bool plain = PyTuple_GetItem(row, 0) == Py_True;
    PyObject *modules = PyObject_GetAttr(replica, name_modules);
    PyObject *attributes = modules && plain ? PyObject_GenericGetDict(replica, NULL) : NULL;
    int status = -1;
    if (modules && plain && attributes)
        status = each(children, replicas, put_member, attributes, modules);
    else if (modules && !plain)
        status = each(children, replicas, set_attribute, replica, modules);
    Py_XDECREF(attributes);
    Py_XDECREF(modules);
    return status;
}

static PyObject *replicas_of(PyObject *modules, PyObject *rows, PyObject *tensors, PyObject *members, PyObject *other)
{
    PyObject *list = PyList_New(0);
    for (Py_ssize_t i = 0; list && i < PyList_Size(rows); i++) {
        PyObject *row = PyList_GetItem(rows, i), *module = PyList_GetItem(modules, i);
        PyObject *replica = !row || !module ? NULL
                            : PyTuple_GetItem(row, 0) == Py_True
                                ? plain_replica(module, row, tensors, members)
                                : PyObject_CallFunction(other, "OOO", module, row, tensors);
        if (!replica || PyList_Append(list, replica))
            Py_CLEAR(list);
        Py_XDECREF(replica);
    }
    return list;
}

/* _replica(modules, rows, tensors, Members, other) -> the replica of the first module
 * other: called with (module, row, tensors) for a module that is not plain */
static PyObject *replica(PyObject *self, PyObject *args)
{
    PyObject *modules, *rows, *tensors, *members, *other, *result = NULL;
    (void)self;
    if (!PyArg_ParseTuple(args, "O!O!O!O!O:_replica", &PyList_Type, &modules, &PyList_Type, &rows, &PyList_Type,
                          &tensors, &PyType_Type, &members, &other))
        return NULL;
    for (Py_ssize_t i = 0; i < PyList_Size(rows); i++)
        if (!is_row(PyList_GetItem(rows, i)) || !PyType_IsSubtype((PyTypeObject *)members, &PyDict_Type))
            return refuse(), NULL;
    PyObject *replicas = replicas_of(modules, rows, tensors, members, other);
    bool ok = replicas != NULL;
    for (Py_ssize_t i = 0; ok && i < PyList_Size(replicas); i++)
        ok = !add_children(PyList_GetItem(replicas, i), PyList_GetItem(rows, i), replicas);
    if (ok && PyList_Size(replicas))
        result = Py_NewRef(PyList_GetItem(replicas, 0));
    else if (ok)
        PyErr_SetString(PyExc_ValueError, "_replica: there is no module");
    Py_XDECREF(replicas);
    return result;
}

int py_add_replicas(PyObject *module)
{
    static PyMethodDef functions[] = {
        {"_replica", replica, METH_VARARGS, "A shallow copy of a module, and of all inside it, over other tensors."},
        {NULL, NULL, 0, NULL},
    };
    name_parameters = PyUnicode_InternFromString("_parameters");
    name_buffers = PyUnicode_InternFromString("_buffers");
    name_modules = PyUnicode_InternFromString("_modules");
    name_former = PyUnicode_InternFromString("_former_parameters");
    name_replica = PyUnicode_InternFromString("_is_replica");
    name_owner = PyUnicode_InternFromString("_owner");
    return name_parameters && name_buffers && name_modules && name_former && name_replica && name_owner
               ? PyModule_AddFunctions(module, functions)
               : -1;
}
