/* tensor.c: the type Tensor: a wrapper of a tn_tensor. Its methods and attributes are listed elsewhere (py.h). */
#include "py.h"

PyTypeObject *py_tensor_type;

/* Wrappers that were let go, for the next results: no malloc on a small operation's path. */
#ifdef __SANITIZE_ADDRESS__
enum { FREE_LIST = 0 }; /* that the sanitizer sees a wrapper used after its end */
#else
enum { FREE_LIST = 256 };
#endif
static py_tensor *free_list[FREE_LIST + 1];
static int n_free;
static freefunc type_free;
static allocfunc type_alloc;

static py_tensor *new_wrapper(PyTypeObject *type)
{
    py_tensor *self;
    if (type == py_tensor_type && n_free) {
        self = free_list[--n_free];
        PyObject_Init((PyObject *)self, type);
        PyObject_GC_Track(self);
        return self;
    }
    self = (py_tensor *)(void *)type_alloc(type, 0);
    return self;
}

PyObject *py_wrap_as(PyTypeObject *type, tn_tensor *t)
{
    if (!t)
        return py_raise();
    py_tensor *self = new_wrapper(type);
    if (!self) {
        tn_release(t);
        return NULL;
    }
    self->t = t;
    self->dict = self->weakrefs = NULL;
    tn_tensor_bind(t, self);
    return (PyObject *)self;
}

PyObject *py_wrap(tn_tensor *t)
{
    if (!t)
        return py_raise();
    PyObject *known = tn_tensor_binding(t);
    if (!known)
        return py_wrap_as(py_tensor_type, t);
    tn_release(t); /* the wrapper has its own reference */
    return Py_NewRef(known);
}

PyObject *py_borrowed(tn_tensor *t)
{
    if (!t)
        Py_RETURN_NONE;
    return py_wrap(tn_retain(t));
}

PyObject *py_wrap_tuple(tn_tensor **t, Py_ssize_t n)
{
    PyObject *tuple = PyTuple_New(n);
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *item = tuple ? py_wrap(t[i]) : NULL;
        if (!tuple)
            tn_release(t[i]);
        else if (!item || PyTuple_SetItem(tuple, i, item))
            Py_CLEAR(tuple);
    }
    return tuple;
}

bool py_is_expanded(tn_tensor *t)
{
    tn_dims shape = tn_tensor_shape(t), stride = tn_tensor_stride(t);
    bool expanded = false;
    for (int32_t d = 0; d < shape.ndim; d++) {
        if (!shape.dim[d])
            return false;
        expanded |= shape.dim[d] > 1 && !stride.dim[d];
    }
    return expanded;
}

static int traverse(PyObject *o, visitproc visit, void *arg)
{
    py_tensor *self = (py_tensor *)(void *)o;
    Py_VISIT(Py_TYPE(o));
    Py_VISIT(self->dict);
    return py_visit_callbacks(self->t, visit, arg);
}

static int clear(PyObject *o)
{
    py_tensor *self = (py_tensor *)(void *)o;
    Py_CLEAR(self->dict);
    py_drop_hooks(self->t, NULL);
    return 0;
}

static void dealloc(PyObject *o)
{
    py_tensor *self = (py_tensor *)(void *)o;
    PyTypeObject *type = Py_TYPE(o);
    PyObject_GC_UnTrack(o);
    /* first: what the callbacks of weak references find as x.grad must not be this wrapper, which is going */
    if (self->t && tn_tensor_binding(self->t) == self)
        tn_tensor_bind(self->t, NULL);
    if (self->weakrefs)
        PyObject_ClearWeakRefs(o);
    Py_CLEAR(self->dict);
    if (self->t) {
        py_holds_gil++;
        tn_release(self->t);
        py_holds_gil--;
    }
    if (FREE_LIST > 0 && type == py_tensor_type && n_free < FREE_LIST)
        free_list[n_free++] = self;
    else if (type == py_tensor_type)
        type_free(o);
    else
        ((freefunc)PyType_GetSlot(type, Py_tp_free))(o);
    Py_DECREF(type);
}

static PyMemberDef members[] = {
    {"__dictoffset__", T_PYSSIZET, offsetof(py_tensor, dict), READONLY, NULL},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(py_tensor, weakrefs), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

/* A tensor stands for itself in sets and dictionaries, although == compares elements. */
static Py_hash_t hash(PyObject *self)
{
    return (Py_hash_t)((uintptr_t)self >> 4 | (uintptr_t)self << (8 * sizeof(uintptr_t) - 4));
}

static Py_ssize_t length(PyObject *self)
{
    tn_dims shape = tn_tensor_shape(py_t(self));
    if (shape.ndim)
        return (Py_ssize_t)shape.dim[0];
    PyErr_SetString(PyExc_TypeError, "len() of a 0-d tensor");
    return -1;
}

PyObject *py_tensor_new(PyTypeObject *type, PyObject *args, PyObject *kwds);

int py_add_tensor(PyObject *module)
{
    PyType_Slot slots[96] = {
        {Py_tp_new, (void *)py_tensor_new},
        {Py_tp_dealloc, (void *)dealloc},
        {Py_tp_traverse, (void *)traverse},
        {Py_tp_clear, (void *)clear},
        {Py_tp_members, members},
        {Py_tp_hash, (void *)hash},
        {Py_tp_repr, (void *)py_tensor_repr},
        {Py_mp_length, (void *)length},
        {Py_mp_subscript, (void *)py_get_item},
        {Py_mp_ass_subscript, (void *)py_set_item},
        {Py_tp_methods, py_tensor_all_methods()},
        {Py_tp_getset, py_tensor_getset},
        {Py_tp_doc, (void *)"A multi-dimensional array of one dtype, on one device."},
    };
    int n = 0;
    while (slots[n].slot)
        n++;
    for (const PyType_Slot *s = py_number_slots; s->slot && n < 95; s++)
        slots[n++] = *s;
    for (const PyType_Slot *s = py_buffer_slots; s->slot && n < 95; s++)
        slots[n++] = *s;
    PyType_Spec spec = {"tenon.Tensor", sizeof(py_tensor), 0,
                        Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots};
    py_tensor_type = py_type_new(module, &spec, NULL);
    if (!py_tensor_type)
        return -1;
    type_free = (freefunc)PyType_GetSlot(py_tensor_type, Py_tp_free);
    type_alloc = (allocfunc)PyType_GetSlot(py_tensor_type, Py_tp_alloc);
    return 0;
}
