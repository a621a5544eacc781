/* autograd.c: gradient mode, backward, nodes of the graph. Hooks and functions of one's own: function.c. */
#include "py.h"

#include <stdlib.h>
#include <tenon/graph.h>

/* ---- recording ---- */

static PyObject *set_grad_enabled(PyObject *self, PyObject *on)
{
    (void)self;
    int truth = PyObject_IsTrue(on);
    return truth < 0 ? NULL : PyBool_FromLong(tn_set_grad_enabled(truth != 0));
}

static PyObject *is_grad_enabled(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    return PyBool_FromLong(tn_is_grad_enabled());
}

static PyObject *set_inference_mode(PyObject *self, PyObject *on)
{
    (void)self;
    int truth = PyObject_IsTrue(on);
    return truth < 0 ? NULL : PyBool_FromLong(tn_set_inference_mode(truth != 0));
}

static PyObject *is_inference_mode_enabled(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    return PyBool_FromLong(tn_is_inference_mode());
}

/* ---- lists of tensors ---- */

typedef struct tensors {
    tn_tensor **t;  /* owned; None is 'none' */
    PyObject *keep; /* the sequence, which holds the wrappers */
    Py_ssize_t n;
} tensors;

static void tensors_free(tensors *list)
{
    for (Py_ssize_t i = 0; list->t && i < list->n; i++)
        tn_release(list->t[i]);
    free(list->t);
    Py_CLEAR(list->keep);
    memset(list, 0, sizeof *list);
}

/* From None, a tensor, or a sequence of tensors (and None, where 'none' is not NULL and stands for it). */
static int tensors_from(PyObject *o, const char *what, tn_tensor *none, tensors *out)
{
    memset(out, 0, sizeof *out);
    if (!o || o == Py_None)
        return 0;
    out->keep = py_is_tensor(o) ? PyTuple_Pack(1, o) : PySequence_Tuple(o);
    if (!out->keep)
        return -1;
    out->n = PyTuple_Size(out->keep);
    out->t = calloc((size_t)(out->n ? out->n : 1), sizeof *out->t);
    for (Py_ssize_t i = 0; out->t && i < out->n; i++) {
        PyObject *item = PyTuple_GetItem(out->keep, i);
        out->t[i] = py_is_tensor(item) ? tn_retain(py_t(item)) : item == Py_None ? none : NULL;
        if (!out->t[i]) {
            PyObject *name = PyType_GetName(Py_TYPE(item));
            PyErr_Format(PyExc_TypeError, "%s: element %zd must be a Tensor, not %S", what, i, name ? name : Py_None);
            Py_XDECREF(name);
            tensors_free(out);
            return -1;
        }
    }
    if (out->t)
        return 0;
    tensors_free(out);
    PyErr_NoMemory();
    return -1;
}

static tn_tensors list_of(const tensors *l)
{
    return (tn_tensors){l->t, (size_t)l->n};
}

/* ---- backward ---- */

/* Once: what PyTorch says of the cycle that only the user can break. */
static int warn_of_cycle(void)
{
    static bool warned;
    return py_warn_once(
        &warned,
        "Using backward() with create_graph=True will create a reference cycle between the parameter and its gradient "
        "which can cause a memory leak. We recommend using autograd.grad when creating the graph to avoid this. If you "
        "have to use this function, make sure to reset the .grad fields of your parameters to None after use to break "
        "the cycle and avoid the leak.");
}

/* Gives what is to be put back: the pass around this one, where a hook or a function began it. */
static bool pass_begins(bool retains)
{
    const bool outer = py_pass_retains;
    py_pass_retains = retains;
    return outer;
}

/* _backward(tensors, gradients or None, retain_graph, create_graph, inputs or None) */
static PyObject *backward(PyObject *self, PyObject *args)
{
    PyObject *of, *given, *to;
    int retain, create;
    tensors roots, gradients = {0}, inputs = {0};
    (void)self;
    if (!PyArg_ParseTuple(args, "OOppO:_backward", &of, &given, &retain, &create, &to) || (create && warn_of_cycle()))
        return NULL;
    if (tensors_from(of, "backward()", NULL, &roots))
        return NULL;
    PyObject *result = NULL;
    if (!tensors_from(given, "backward()", TN_NONE, &gradients) && !tensors_from(to, "backward()", NULL, &inputs)) {
        tn_backward_all_options o = {.struct_size = sizeof o,
                                     .site = "",
                                     .gradients = list_of(&gradients),
                                     .retain_graph = retain != 0,
                                     .create_graph = create != 0,
                                     .inputs = list_of(&inputs)};
        tn_status status;
        if (to != Py_None && !inputs.n)
            PyErr_SetString(PyExc_RuntimeError, "`inputs` argument to `backward()` cannot be empty.");
        else {
            const bool outer = pass_begins(retain || create);
            PY_BEGIN_OWNING(NULL) /* the lists do */
                status = (tn_backward_all_opt)(list_of(&roots), &o);
            PY_END_OWNING
            py_pass_retains = outer;
            result = py_done(status);
        }
    }
    tensors_free(&inputs);
    tensors_free(&gradients);
    tensors_free(&roots);
    return result;
}

/* The gradients as a tuple; NULL ones as None. */
static PyObject *gradient_tuple(tn_tensor **g, Py_ssize_t n)
{
    PyObject *tuple = PyTuple_New(n);
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *item = !tuple ? NULL : g[i] ? py_wrap(g[i]) : Py_NewRef(Py_None);
        if (!tuple)
            tn_release(g[i]);
        else if (!item || PyTuple_SetItem(tuple, i, item))
            Py_CLEAR(tuple);
    }
    return tuple;
}

/* _grad(outputs, inputs, grad_outputs or None, retain_graph, create_graph, allow_unused) -> tuple */
static PyObject *grad(PyObject *self, PyObject *args)
{
    PyObject *of, *to, *given;
    int retain, create, unused;
    tensors outputs, inputs = {0}, gradients = {0};
    (void)self;
    if (!PyArg_ParseTuple(args, "OOOppp:_grad", &of, &to, &given, &retain, &create, &unused))
        return NULL;
    if (tensors_from(of, "grad()", NULL, &outputs))
        return NULL;
    PyObject *result = NULL;
    if (!tensors_from(to, "grad()", NULL, &inputs) && !tensors_from(given, "grad()", TN_NONE, &gradients)) {
        tn_grad_options o = {.struct_size = sizeof o,
                             .site = "",
                             .grad_outputs = list_of(&gradients),
                             .retain_graph = retain != 0,
                             .create_graph = create != 0,
                             .allow_unused = unused != 0};
        tn_tensor **g = calloc((size_t)(inputs.n ? inputs.n : 1), sizeof *g);
        tn_status status = TN_ENOMEM;
        if (g) {
            const bool outer = pass_begins(retain || create);
            PY_BEGIN_OWNING(NULL) /* the lists do */
                status = (tn_grad_opt)(list_of(&outputs), list_of(&inputs), g, &o);
            PY_END_OWNING
            py_pass_retains = outer;
            result = status ? py_raise() : gradient_tuple(g, inputs.n);
        } else
            PyErr_NoMemory();
        free(g);
    }
    tensors_free(&gradients);
    tensors_free(&inputs);
    tensors_free(&outputs);
    return result;
}

static PyObject *detach_(PyObject *self, PyObject *t)
{
    (void)self;
    if (!py_is_tensor(t))
        return PyErr_Format(PyExc_TypeError, "_detach_(): a Tensor is asked for");
    py_holds_gil++; /* its history may hold Python's functions */
    tn_status status = tn_detach_(py_t(t));
    py_holds_gil--;
    return py_done(status);
}

/* ---- nodes ---- */

typedef struct node {
    PyObject_HEAD tn_node *n;
} node;

static PyTypeObject *node_type;

/* The wrapper of each node that has one, so that x.grad_fn is x.grad_fn: addresses of nodes to addresses of wrappers. */
static PyObject *wrappers;

/* The wrapper of n, borrowed; NULL where it has none. */
static PyObject *wrapper_of(tn_node *n)
{
    PyObject *key = PyLong_FromVoidPtr(n), *known = key && wrappers ? PyDict_GetItemWithError(wrappers, key) : NULL;
    Py_XDECREF(key);
    return known ? PyLong_AsVoidPtr(known) : NULL;
}

static int remember(tn_node *n, PyObject *wrapper)
{
    PyObject *key = PyLong_FromVoidPtr(n), *value = PyLong_FromVoidPtr(wrapper);
    if (!wrappers)
        wrappers = PyDict_New();
    int status = key && value && wrappers ? PyDict_SetItem(wrappers, key, value) : -1;
    Py_XDECREF(key);
    Py_XDECREF(value);
    return status;
}

static void forget(tn_node *n)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyObject *key = PyLong_FromVoidPtr(n);
    if (key && wrappers)
        (void)!PyDict_DelItem(wrappers, key);
    Py_XDECREF(key);
    PyErr_Restore(type, value, traceback);
}

PyObject *py_node(tn_node *n)
{
    if (!n) {
        if (tn_error_code())
            return py_raise();
        Py_RETURN_NONE;
    }
    PyObject *known = wrapper_of(n);
    if (known || PyErr_Occurred()) {
        tn_node_release(n); /* the wrapper has its own reference */
        return known ? Py_NewRef(known) : NULL;
    }
    node *o = PyObject_GC_New(node, node_type);
    if (!o) {
        tn_node_release(n);
        return NULL;
    }
    o->n = n;
    PyObject_GC_Track(o);
    if (!remember(n, (PyObject *)o))
        return (PyObject *)o;
    Py_DECREF((PyObject *)o);
    return NULL;
}

static tn_node *node_of(PyObject *self)
{
    return ((node *)(void *)self)->n;
}

tn_node *py_node_of(PyObject *o)
{
    if (Py_IS_TYPE(o, node_type))
        return node_of(o);
    PyErr_SetString(PyExc_TypeError, "a node of the graph is asked for");
    return NULL;
}

static void node_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    forget(node_of(self));
    py_holds_gil++;
    tn_node_release(node_of(self));
    py_holds_gil--;
    PyObject_GC_Del(self);
    Py_DECREF(type);
}

static int node_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    return py_visit_callbacks_of_node(node_of(self), visit, arg);
}

static int node_clear(PyObject *self)
{
    py_drop_hooks(NULL, node_of(self));
    return 0;
}

static PyObject *node_name(PyObject *self, PyObject *unused)
{
    (void)unused;
    return PyUnicode_FromString(tn_node_name(node_of(self)).s);
}

static PyObject *node_repr(PyObject *self)
{
    return PyUnicode_FromFormat("<%s object at %p>", tn_node_name(node_of(self)).s, (void *)node_of(self));
}

static PyObject *next_functions(PyObject *self, void *unused)
{
    size_t n = tn_node_count(node_of(self));
    PyObject *tuple = PyTuple_New((Py_ssize_t)n);
    (void)unused;
    for (size_t i = 0; tuple && i < n; i++) {
        uint32_t output = 0;
        tn_error_clear();
        PyObject *next = py_node(tn_node_next(node_of(self), i, &output));
        PyObject *pair = next ? Py_BuildValue("(NI)", next, (unsigned)output) : NULL;
        if (!pair || PyTuple_SetItem(tuple, (Py_ssize_t)i, pair))
            Py_CLEAR(tuple);
    }
    return tuple;
}

static PyObject *node_variable(PyObject *self, void *unused)
{
    (void)unused;
    tn_tensor *leaf = tn_node_leaf(node_of(self));
    if (leaf)
        return py_borrowed(leaf);
    return PyErr_Format(PyExc_AttributeError, "'%s' object has no attribute 'variable'", tn_node_name(node_of(self)).s);
}

static PyObject *node_compare(PyObject *a, PyObject *b, int op)
{
    if ((op != Py_EQ && op != Py_NE) || !Py_IS_TYPE(b, node_type))
        Py_RETURN_NOTIMPLEMENTED;
    return PyBool_FromLong((node_of(a) == node_of(b)) == (op == Py_EQ));
}

static Py_hash_t node_hash(PyObject *self)
{
    return (Py_hash_t)((uintptr_t)node_of(self) >> 4);
}

static PyMethodDef node_methods[] = {
    {"name", node_name, METH_NOARGS, "name() -> str\n\nWhat made the tensor: 'AddBackward0'."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef node_getset[] = {
    {"next_functions", next_functions, NULL,
     "What made its inputs: pairs of a node (or None) and which of its outputs.", NULL},
    {"variable", node_variable, NULL, "The leaf of an AccumulateGrad.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot node_slots[] = {
    {Py_tp_dealloc, (void *)node_dealloc},
    {Py_tp_traverse, (void *)node_traverse},
    {Py_tp_clear, (void *)node_clear},
    {Py_tp_repr, (void *)node_repr},
    {Py_tp_richcompare, (void *)node_compare},
    {Py_tp_hash, (void *)node_hash},
    {Py_tp_methods, node_methods},
    {Py_tp_getset, node_getset},
    {Py_tp_doc, (void *)"What made a tensor: a node of the graph that autograd records."},
    {0, NULL},
};

static PyType_Spec node_spec = {"tenon.Node", sizeof(node), 0,
                                Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                node_slots};

/* ---- the module's ---- */

static PyMethodDef functions[] = {
    {"_set_grad_enabled", set_grad_enabled, METH_O, "_set_grad_enabled(on) -> what it was"},
    {"is_grad_enabled", is_grad_enabled, METH_NOARGS,
     "is_grad_enabled() -> bool\n\nAre operations recorded on this thread?"},
    {"_set_inference_mode", set_inference_mode, METH_O, "_set_inference_mode(on) -> bool"},
    {"is_inference_mode_enabled", is_inference_mode_enabled, METH_NOARGS,
     "is_inference_mode_enabled() -> bool\n\nIs this thread in inference mode?"},
    {"_detach_", detach_, METH_O, NULL},
    {"_backward", backward, METH_VARARGS, NULL},
    {"_grad", grad, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

int py_add_autograd(PyObject *module)
{
    node_type = py_type_new(module, &node_spec, NULL);
    return node_type && !PyModule_AddFunctions(module, functions) ? 0 : -1;
}
