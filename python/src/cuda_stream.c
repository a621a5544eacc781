/* cuda_stream.c: streams and events of GPUs. tenon/cuda/streams.py derives the classes that programs see. */
#include "cuda.h"
#include "functions.h"

typedef struct py_stream {
    PyObject_HEAD tn_stream *s;
} py_stream;

typedef struct py_event {
    PyObject_HEAD tn_event *e;
    tn_device device; /* of the first stream it was recorded on; index -1 before */
} py_event;

typedef struct py_stream_context {
    PyObject_HEAD PyObject *stream; /* NULL: None was given, nothing is changed */
    tn_stream_guard guard;
    bool entered;
} py_stream_context;

static PyTypeObject *stream_type, *event_type, *context_type;

static tn_stream *stream_of(PyObject *o)
{
    return ((py_stream *)(void *)o)->s;
}

static py_event *event_of(PyObject *o)
{
    return (py_event *)(void *)o;
}

static PyObject *alloc(PyTypeObject *type)
{
    return ((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
}

static void release(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(type);
}

/* o as a stream; NULL with a TypeError. */
static tn_stream *stream_argument(const char *function, PyObject *o)
{
    char name[64];
    if (PyObject_TypeCheck(o, stream_type))
        return stream_of(o);
    PyErr_Format(PyExc_TypeError, "%s(): expected a torch.cuda.Stream, but got %s", function,
                 py_type_name(o, name, sizeof name));
    return NULL;
}

/* The same of one that may be left out: the current stream of the current device. The caller releases it. */
static tn_stream *stream_or_current(const char *function, PyObject *o)
{
    if (o && o != Py_None)
        return tn_stream_retain(stream_argument(function, o));
    tn_stream *s;
    UNLOCKED(s = tn_cuda_current_stream(TN_CUDA(-1)));
    if (!s)
        py_raise();
    return s;
}

/* ---- Stream ---- */

/* Takes the reference of s over. */
static PyObject *wrap_stream(PyTypeObject *type, tn_stream *s)
{
    if (!s)
        return py_raise();
    PyObject *self = alloc(type);
    if (self)
        ((py_stream *)(void *)self)->s = s;
    else
        tn_stream_release(s);
    return self;
}

static PyObject *stream_new(PyTypeObject *type, PyObject *args, PyObject *kwds)
{
    static char *names[] = {"device_index", "priority", NULL};
    int index = -1, priority = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwds, "|ii:Stream", names, &index, &priority))
        return NULL;
    tn_stream *s;
    UNLOCKED(s = tn_cuda_stream_new(TN_CUDA(index < 0 ? -1 : index), priority));
    return wrap_stream(type, s);
}

static PyObject *stream_external(PyObject *type, PyObject *args)
{
    PyObject *handle;
    int index;
    if (!PyArg_ParseTuple(args, "O!i", &PyLong_Type, &handle, &index))
        return NULL;
    void *p = PyLong_AsVoidPtr(handle);
    if (PyErr_Occurred())
        return NULL;
    tn_stream *s;
    UNLOCKED(s = tn_cuda_stream_from_handle(p, TN_CUDA(index < 0 ? -1 : index)));
    return wrap_stream((PyTypeObject *)type, s);
}

static PyObject *stream_current(PyObject *type, PyObject *o)
{
    tn_device d;
    tn_stream *s;
    if (py_cuda_index(o, &d))
        return NULL;
    UNLOCKED(s = tn_cuda_current_stream(d));
    return wrap_stream((PyTypeObject *)type, s);
}

static PyObject *stream_default(PyObject *type, PyObject *o)
{
    tn_device d;
    tn_stream *s;
    if (py_cuda_index(o, &d))
        return NULL;
    UNLOCKED(s = tn_cuda_default_stream(d));
    return wrap_stream((PyTypeObject *)type, s);
}

static void stream_dealloc(PyObject *self)
{
    tn_stream *s = stream_of(self);
    UNLOCKED(tn_stream_release(s));
    release(self);
}

static PyObject *wait_stream(PyObject *self, PyObject *o)
{
    tn_stream *other = stream_argument("wait_stream", o);
    tn_status status;
    if (!other)
        return NULL;
    UNLOCKED(status = tn_stream_wait_stream(stream_of(self), other));
    return py_done(status);
}

static bool is_event(const char *function, PyObject *o)
{
    char name[64];
    if (PyObject_TypeCheck(o, event_type))
        return true;
    PyErr_Format(PyExc_TypeError, "%s(): expected a torch.cuda.Event, but got %s", function,
                 py_type_name(o, name, sizeof name));
    return false;
}

static PyObject *wait_event(PyObject *self, PyObject *o)
{
    tn_status status;
    if (!is_event("wait_event", o))
        return NULL;
    UNLOCKED(status = tn_stream_wait_event(stream_of(self), event_of(o)->e));
    return py_done(status);
}

static PyObject *stream_synchronize(PyObject *self, PyObject *unused)
{
    (void)unused;
    tn_status status;
    UNLOCKED(status = tn_stream_synchronize(stream_of(self)));
    return py_done(status);
}

static PyObject *stream_query(PyObject *self, PyObject *unused)
{
    (void)unused;
    bool done;
    tn_error_clear();
    UNLOCKED(done = tn_stream_query(stream_of(self)));
    return tn_error_code() ? py_raise() : PyBool_FromLong(done);
}

static PyObject *stream_repr(PyObject *self)
{
    const tn_stream *s = stream_of(self);
    char text[96];
    PyOS_snprintf(text, sizeof text, "<torch.cuda.Stream device=%s cuda_stream=0x%llx>",
                  tn_device_text(tn_stream_device(s)).s, (unsigned long long)(uintptr_t)tn_stream_handle(s));
    return PyUnicode_FromString(text);
}

static PyObject *stream_compare(PyObject *a, PyObject *b, int op)
{
    if ((op != Py_EQ && op != Py_NE) || !PyObject_TypeCheck(a, stream_type) || !PyObject_TypeCheck(b, stream_type))
        Py_RETURN_NOTIMPLEMENTED;
    const tn_stream *x = stream_of(a), *y = stream_of(b);
    bool same = tn_device_equal(tn_stream_device(x), tn_stream_device(y)) && tn_stream_id(x) == tn_stream_id(y);
    return PyBool_FromLong(same == (op == Py_EQ));
}

static Py_hash_t stream_hash(PyObject *self)
{
    const tn_stream *s = stream_of(self);
    return (Py_hash_t)tn_stream_id(s) * 131 + tn_stream_device(s).index;
}

static PyObject *stream_get_handle(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromVoidPtr(tn_stream_handle(stream_of(self)));
}

static PyObject *stream_get_id(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromUnsignedLong(tn_stream_id(stream_of(self)));
}

static PyObject *stream_get_priority(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromLong(tn_stream_priority(stream_of(self)));
}

static PyObject *stream_get_device(PyObject *self, void *unused)
{
    (void)unused;
    return py_device_object(tn_stream_device(stream_of(self)));
}

static PyObject *stream_get_index(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromLong(tn_stream_device(stream_of(self)).index);
}

static PyMethodDef stream_methods[] = {
    {"_current", stream_current, METH_O | METH_CLASS, "The current stream of a GPU."},
    {"_external", stream_external, METH_VARARGS | METH_CLASS, "(handle, index): a stream of another library."},
    {"_default", stream_default, METH_O | METH_CLASS, "The default stream of a GPU."},
    {"wait_stream", wait_stream, METH_O, "What is queued here from now on waits for what is on the other stream now."},
    {"wait_event", wait_event, METH_O, "What is queued here from now on waits for the event."},
    {"synchronize", stream_synchronize, METH_NOARGS, "Waits until everything on it is done."},
    {"query", stream_query, METH_NOARGS, "Is everything on it done?"},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef stream_getset[] = {
    {"cuda_stream", stream_get_handle, NULL, "The driver's handle; 0 of default streams.", NULL},
    {"stream_id", stream_get_id, NULL, "Unique in the process; 0 of default streams.", NULL},
    {"priority", stream_get_priority, NULL, "Lower numbers go first.", NULL},
    {"device", stream_get_device, NULL, "Its GPU.", NULL},
    {"device_index", stream_get_index, NULL, "The GPU's index.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot stream_slots[] = {
    {Py_tp_new, (void *)stream_new},
    {Py_tp_dealloc, (void *)stream_dealloc},
    {Py_tp_repr, (void *)stream_repr},
    {Py_tp_richcompare, (void *)stream_compare},
    {Py_tp_hash, (void *)stream_hash},
    {Py_tp_methods, stream_methods},
    {Py_tp_getset, stream_getset},
    {Py_tp_doc, (void *)"Work on a GPU that runs in order."},
    {0, NULL},
};

static PyType_Spec stream_spec = {"tenon._C._cuda.Stream", sizeof(py_stream), 0,
                                  Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, stream_slots};

/* ---- 'with torch.cuda.stream(s):' ---- */

static PyObject *context_new(PyTypeObject *type, PyObject *args, PyObject *kwds)
{
    static char *names[] = {"stream", NULL};
    PyObject *o;
    if (!PyArg_ParseTupleAndKeywords(args, kwds, "O:StreamContext", names, &o) ||
        (o != Py_None && !stream_argument("StreamContext", o)))
        return NULL;
    PyObject *self = alloc(type);
    if (self && o != Py_None)
        ((py_stream_context *)(void *)self)->stream = Py_NewRef(o);
    return self;
}

static void context_dealloc(PyObject *self)
{
    Py_XDECREF(((py_stream_context *)(void *)self)->stream);
    release(self);
}

static PyObject *context_enter(PyObject *o, PyObject *unused)
{
    py_stream_context *self = (py_stream_context *)(void *)o;
    (void)unused;
    if (self->entered)
        return PyErr_Format(PyExc_RuntimeError, "a StreamContext cannot be entered again before it was left");
    if (!self->stream)
        Py_RETURN_NONE;
    UNLOCKED(self->guard = tn_stream_enter(stream_of(self->stream)));
    if (!self->guard.before)
        return py_raise();
    self->entered = true;
    Py_RETURN_NONE;
}

static PyObject *context_exit(PyObject *o, PyObject *args)
{
    py_stream_context *self = (py_stream_context *)(void *)o;
    (void)args;
    if (self->entered)
        UNLOCKED(tn_stream_leave(self->guard));
    self->entered = false;
    Py_RETURN_NONE;
}

static PyMethodDef context_methods[] = {
    {"__enter__", context_enter, METH_NOARGS, NULL},
    {"__exit__", context_exit, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef context_members[] = {
    {"stream", T_OBJECT, offsetof(py_stream_context, stream), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot context_slots[] = {
    {Py_tp_new, (void *)context_new},
    {Py_tp_dealloc, (void *)context_dealloc},
    {Py_tp_methods, context_methods},
    {Py_tp_members, context_members},
    {Py_tp_doc,
     (void *)"StreamContext(stream)\n\nInside it the stream, and its GPU, are the current ones of this thread."},
    {0, NULL},
};

static PyType_Spec context_spec = {"tenon.cuda.StreamContext", sizeof(py_stream_context), 0,
                                   Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, context_slots};

/* ---- Event ---- */

static PyObject *event_new(PyTypeObject *type, PyObject *args, PyObject *kwds)
{
    static char *names[] = {"enable_timing", "blocking", "interprocess", NULL};
    int timing = 0, blocking = 0, interprocess = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwds, "|ppp:Event", names, &timing, &blocking, &interprocess))
        return NULL;
    if (interprocess)
        return PyErr_Format(PyExc_NotImplementedError, "Tenon's events cannot be shared between processes");
    tn_event *e = tn_event_new((timing ? TN_EVENT_TIMING : 0) | (blocking ? TN_EVENT_BLOCKING : 0));
    PyObject *self = e ? alloc(type) : py_raise();
    if (!self) {
        tn_event_release(e);
        return NULL;
    }
    event_of(self)->e = e;
    event_of(self)->device = TN_CUDA(-1);
    return self;
}

static void event_dealloc(PyObject *self)
{
    tn_event *e = event_of(self)->e;
    UNLOCKED(tn_event_release(e));
    release(self);
}

static PyObject *event_record(PyObject *self, PyObject *args, PyObject *kwds)
{
    static char *names[] = {"stream", NULL};
    PyObject *o = NULL;
    tn_status status;
    if (!PyArg_ParseTupleAndKeywords(args, kwds, "|O:record", names, &o))
        return NULL;
    tn_stream *s = stream_or_current("record", o);
    if (!s)
        return NULL;
    UNLOCKED(status = tn_event_record(event_of(self)->e, s));
    if (!status && event_of(self)->device.index < 0)
        event_of(self)->device = tn_stream_device(s);
    tn_stream_release(s);
    return py_done(status);
}

static PyObject *event_wait(PyObject *self, PyObject *args, PyObject *kwds)
{
    static char *names[] = {"stream", NULL};
    PyObject *o = NULL;
    tn_status status;
    if (!PyArg_ParseTupleAndKeywords(args, kwds, "|O:wait", names, &o))
        return NULL;
    tn_stream *s = stream_or_current("wait", o);
    if (!s)
        return NULL;
    UNLOCKED(status = tn_stream_wait_event(s, event_of(self)->e));
    tn_stream_release(s);
    return py_done(status);
}

static PyObject *event_query(PyObject *self, PyObject *unused)
{
    (void)unused;
    bool done;
    tn_error_clear();
    UNLOCKED(done = tn_event_query(event_of(self)->e));
    return tn_error_code() ? py_raise() : PyBool_FromLong(done);
}

static PyObject *event_synchronize(PyObject *self, PyObject *unused)
{
    (void)unused;
    tn_status status;
    UNLOCKED(status = tn_event_synchronize(event_of(self)->e));
    return py_done(status);
}

static PyObject *event_elapsed_time(PyObject *self, PyObject *o)
{
    tn_status status;
    double milliseconds = 0;
    if (!is_event("elapsed_time", o))
        return NULL;
    UNLOCKED(status = tn_event_elapsed_time(event_of(self)->e, event_of(o)->e, &milliseconds));
    return status ? py_raise() : PyFloat_FromDouble(milliseconds);
}

static PyObject *event_repr(PyObject *self)
{
    char text[64];
    if (event_of(self)->device.index < 0)
        return PyUnicode_FromString("<torch.cuda.Event uninitialized>");
    PyOS_snprintf(text, sizeof text, "<torch.cuda.Event 0x%llx>", (unsigned long long)(uintptr_t)event_of(self)->e);
    return PyUnicode_FromString(text);
}

static PyObject *event_get_device(PyObject *self, void *unused)
{
    (void)unused;
    if (event_of(self)->device.index < 0)
        Py_RETURN_NONE;
    return py_device_object(event_of(self)->device);
}

static PyMethodDef event_methods[] = {
    {"record", (PyCFunction)(void (*)(void))event_record, METH_VARARGS | METH_KEYWORDS,
     "Stands for everything that is on the stream (the current one) now."},
    {"wait", (PyCFunction)(void (*)(void))event_wait, METH_VARARGS | METH_KEYWORDS,
     "What is queued on the stream (the current one) from now on waits for it."},
    {"query", event_query, METH_NOARGS, "Is it done? True of one that was never recorded."},
    {"synchronize", event_synchronize, METH_NOARGS, "Waits until it is done."},
    {"elapsed_time", event_elapsed_time, METH_O, "Milliseconds from this event to the other."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef event_getset[] = {
    {"device", event_get_device, NULL, "The GPU of the first stream it was recorded on; None before.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot event_slots[] = {
    {Py_tp_new, (void *)event_new},
    {Py_tp_dealloc, (void *)event_dealloc},
    {Py_tp_repr, (void *)event_repr},
    {Py_tp_methods, event_methods},
    {Py_tp_getset, event_getset},
    {Py_tp_doc,
     (void *)"Event(enable_timing=False, blocking=False, interprocess=False)\n\nA mark on a stream, to be waited "
             "for or timed."},
    {0, NULL},
};

static PyType_Spec event_spec = {"tenon.cuda.Event", sizeof(py_event), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
                                 event_slots};

/* ---- functions ---- */

static PyObject *set_stream(PyObject *self, PyObject *o)
{
    (void)self;
    tn_stream *s = stream_argument("set_stream", o);
    tn_status status;
    if (!s)
        return NULL;
    UNLOCKED(status = tn_cuda_set_stream(s));
    return py_done(status);
}

PyObject *run_record_stream(PyObject *self, py_value *v, int which)
{
    (void)self, (void)which;
    tn_stream *s = stream_argument("record_stream", v[1].u.object);
    tn_status status;
    if (!s)
        return NULL;
    PY_BEGIN_OWNING(v[0].s.v.t)
        status = tn_tensor_record_stream(v[0].s.v.t, s);
    PY_END_OWNING
    return py_done(status);
}

int py_add_cuda_streams(PyObject *cuda)
{
    static PyMethodDef functions[] = {
        {"set_stream", set_stream, METH_O, "Makes it the current stream of its GPU, and that the current GPU."},
        {NULL, NULL, 0, NULL},
    };
    stream_type = py_type_new(cuda, &stream_spec, NULL);
    event_type = stream_type ? py_type_new(cuda, &event_spec, NULL) : NULL;
    context_type = event_type ? py_type_new(cuda, &context_spec, NULL) : NULL;
    return context_type ? PyModule_AddFunctions(cuda, functions) : -1;
}
