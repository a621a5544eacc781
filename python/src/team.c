/* team.c: one model on several GPUs: what tenon/nn/parallel stands on. A team keeps memory and streams from one step to the
 * next (tenon/parallel.h); the functions scatter, gather, broadcast and sum, as part of a step or by themselves. */
#include "cuda.h"

#include <stdlib.h>

typedef struct py_team {
    PyObject_HEAD tn_team *team;
} py_team;

typedef struct py_team_step {
    PyObject_HEAD tn_team_step *step;
} py_team_step;

static PyTypeObject *team_type, *step_type;

enum { FEW = 64 };

/* ---- arguments ---- */

/* Devices from a sequence of devices, strings and ints (-1: the CPU). */
typedef struct devices {
    tn_device few[FEW], *d;
    size_t n;
} devices;

static void devices_free(devices *list)
{
    if (list->d != list->few)
        free(list->d);
}

static int device_from(PyObject *o, tn_device *out)
{
    if (PyLong_Check(o) && PyLong_AsLong(o) == -1) {
        if (PyErr_Occurred())
            return -1;
        *out = TN_CPU;
        return 0;
    }
    int status = py_device_from(o, out);
    if (status > 0) {
        PyErr_Format(PyExc_TypeError, "expected a device, a string or an int, but got %R", o);
        return -1;
    }
    if (!status && out->type == TN_DEVICE_CUDA && out->index < 0)
        out->index = tn_cuda_current_device();
    return status;
}

static int devices_from(PyObject *o, devices *out)
{
    PyObject *tuple = PySequence_Tuple(o);
    out->d = out->few;
    out->n = tuple ? (size_t)PyTuple_Size(tuple) : 0;
    if (tuple && out->n > FEW)
        out->d = malloc(out->n * sizeof *out->d);
    int status = tuple && out->d ? 0 : -1;
    for (size_t i = 0; !status && i < out->n; i++)
        status = device_from(PyTuple_GetItem(tuple, (Py_ssize_t)i), &out->d[i]);
    if (status && !PyErr_Occurred())
        PyErr_NoMemory();
    if (status)
        devices_free(out);
    Py_XDECREF(tuple);
    return status;
}

static tn_device_list list_of(const devices *list)
{
    return (tn_device_list){list->d, list->n};
}

/* Tensors from a sequence; 'keep' holds them while the GIL is let go. */
typedef struct tensors {
    tn_tensor *few[FEW], **t;
    PyObject *keep;
    size_t n;
} tensors;

static void tensors_free(tensors *list)
{
    for (size_t i = 0; i < list->n; i++)
        tn_release(list->t[i]);
    if (list->t != list->few)
        free(list->t);
    Py_CLEAR(list->keep);
}

static int tensors_from(PyObject *o, tensors *out)
{
    out->t = out->few;
    out->n = 0;
    out->keep = PySequence_Tuple(o);
    if (!out->keep)
        return -1;
    const size_t n = (size_t)PyTuple_Size(out->keep);
    if (n > FEW && !(out->t = malloc(n * sizeof *out->t))) {
        tensors_free(out);
        PyErr_NoMemory();
        return -1;
    }
    for (size_t i = 0; i < n; i++) {
        PyObject *item = PyTuple_GetItem(out->keep, (Py_ssize_t)i);
        if (!py_is_tensor(item)) {
            PyErr_Format(PyExc_TypeError, "element %zu must be a Tensor, not %R", i, (PyObject *)Py_TYPE(item));
            tensors_free(out);
            return -1;
        }
        out->t[out->n++] = tn_retain(py_t(item));
    }
    return 0;
}

static int step_from(PyObject *o, tn_team_step **out)
{
    *out = NULL;
    if (o && o != Py_None && !Py_IS_TYPE(o, step_type)) {
        PyErr_Format(PyExc_TypeError, "step must be a _TeamStep, not %R", (PyObject *)Py_TYPE(o));
        return -1;
    }
    if (o && o != Py_None)
        *out = ((py_team_step *)(void *)o)->step;
    return 0;
}

static tn_parallel_options options_of(int64_t dim, tn_team_step *step)
{
    return (tn_parallel_options){.struct_size = sizeof(tn_parallel_options), .site = "", .dim = dim, .step = step};
}

/* A list of wrappers; takes the references over, also when it fails. */
static PyObject *list_from(tn_tensor **t, size_t n)
{
    PyObject *list = PyList_New((Py_ssize_t)n);
    for (size_t i = 0; i < n; i++) {
        PyObject *item = list ? py_wrap(t[i]) : NULL;
        if (!list)
            tn_release(t[i]);
        else if (!item || PyList_SetItem(list, (Py_ssize_t)i, item))
            Py_CLEAR(list);
    }
    return list;
}

/* ---- the pieces ---- */

/* sizes of chunks from a sequence of ints: as many as there are devices. NULL with an exception. */
static int64_t *sizes_from(PyObject *o, size_t n)
{
    PyObject *tuple = PySequence_Tuple(o);
    int64_t *sizes = tuple ? malloc((n ? n : 1) * sizeof *sizes) : NULL;
    bool ok = sizes != NULL;
    if (ok && (size_t)PyTuple_Size(tuple) != n) {
        PyErr_Format(PyExc_RuntimeError,
                     "Expected devices and chunk_sizes to be of same length, but got len(devices) = %zu and "
                     "len(chunk_sizes) = %zd",
                     n, PyTuple_Size(tuple));
        ok = false;
    }
    for (size_t i = 0; ok && i < n; i++) {
        int status = py_int(PyTuple_GetItem(tuple, (Py_ssize_t)i), &sizes[i]);
        if (status > 0)
            PyErr_SetString(PyExc_TypeError, "chunk_sizes must be ints");
        ok = !status;
    }
    if (tuple && !PyErr_Occurred() && !ok)
        PyErr_NoMemory();
    Py_XDECREF(tuple);
    if (ok)
        return sizes;
    free(sizes);
    return NULL;
}

static PyObject *scatter_to(PyObject *x, const devices *to, tn_parallel_options *o)
{
    tn_tensor *few[FEW], **out = to->n > FEW ? malloc(to->n * sizeof *out) : few;
    size_t n = 0;
    tn_status status;
    if (!out)
        return PyErr_NoMemory();
    PY_BEGIN_OWNING(py_t(x))
        status = tn_parallel_scatter_opt(py_t(x), list_of(to), out, &n, o);
    PY_END_OWNING
    PyObject *result = status ? py_raise() : py_wrap_tuple(out, (Py_ssize_t)n);
    if (out != few)
        free(out);
    return result;
}

/* _parallel_scatter(tensor, devices, dim=0, sizes=None, step=None) -> a tuple of chunks */
static PyObject *scatter(PyObject *self, PyObject *args)
{
    PyObject *x, *to, *sizes = NULL, *of = NULL, *result = NULL;
    long long dim = 0;
    tn_team_step *step;
    devices list;
    (void)self;
    if (!PyArg_ParseTuple(args, "O!O|LOO:_parallel_scatter", py_tensor_type, &x, &to, &dim, &sizes, &of) ||
        step_from(of, &step) || devices_from(to, &list))
        return NULL;
    tn_parallel_options o = options_of(dim, step);
    int64_t *cut = NULL;
    if (!list.n)
        PyErr_SetString(PyExc_RuntimeError, "Expected at least one device to scatter to");
    else if (!tn_tensor_ndim(py_t(x)))
        PyErr_SetString(PyExc_RuntimeError, "chunk expects at least a 1-dimensional tensor");
    else if (!sizes || sizes == Py_None || (cut = sizes_from(sizes, list.n))) {
        o.sizes = cut;
        result = scatter_to(x, &list, &o);
    }
    free(cut);
    devices_free(&list);
    return result;
}

/* Both functions of many tensors to one device. */
static PyObject *join(PyObject *args, const char *format, bool sum)
{
    PyObject *of, *where, *in = NULL;
    long long dim = 0;
    tn_team_step *step;
    tensors parts;
    tn_device device;
    tn_tensor *result;
    if (!PyArg_ParseTuple(args, format, &of, &where, &dim, &in) || step_from(in, &step) ||
        device_from(where, &device) || tensors_from(of, &parts))
        return NULL;
    tn_parallel_options o = options_of(dim, step);
    tn_tensors list = {parts.t, parts.n};
    UNLOCKED(result = sum ? tn_parallel_reduce_add_opt(list, device, &o) : tn_parallel_gather_opt(list, device, &o));
    tensors_free(&parts);
    return py_wrap(result);
}

/* _parallel_gather(tensors, device, dim=0, step=None) */
static PyObject *gather(PyObject *self, PyObject *args)
{
    (void)self;
    return join(args, "OO|LO:_parallel_gather", false);
}

/* _parallel_reduce_add(tensors, device) */
static PyObject *reduce_add(PyObject *self, PyObject *args)
{
    (void)self;
    return join(args, "OO|LO:_parallel_reduce_add", true);
}

/* A list for each device; takes the references over. */
static PyObject *lists_from(tn_tensor **t, size_t n_devices, size_t n)
{
    PyObject *lists = PyList_New((Py_ssize_t)n_devices);
    for (size_t i = 0; i < n_devices; i++) {
        PyObject *list = list_from(t + i * n, n);
        if (!lists || !list || PyList_SetItem(lists, (Py_ssize_t)i, list)) {
            if (!lists)
                Py_XDECREF(list);
            Py_CLEAR(lists);
        }
    }
    return lists;
}

/* _parallel_broadcast(tensors, devices, step=None) -> a list of copies for each device */
static PyObject *broadcast(PyObject *self, PyObject *args)
{
    PyObject *of, *to, *in = NULL, *result = NULL;
    tn_team_step *step;
    devices where;
    tensors list;
    tn_tensor *few[FEW], **out = few;
    (void)self;
    if (!PyArg_ParseTuple(args, "OO|O:_parallel_broadcast", &of, &to, &in) || step_from(in, &step) ||
        devices_from(to, &where))
        return NULL;
    if (tensors_from(of, &list)) {
        devices_free(&where);
        return NULL;
    }
    size_t count = where.n * list.n;
    tn_parallel_options o = options_of(0, step);
    if (count > FEW)
        out = malloc(count * sizeof *out);
    if (!out)
        PyErr_NoMemory();
    else {
        tn_status status = TN_OK;
        if (count)
            UNLOCKED(status = tn_parallel_broadcast_opt((tn_tensors){list.t, list.n}, list_of(&where), out, &o));
        result = status ? py_raise() : lists_from(out, where.n, list.n);
    }
    if (out != few)
        free(out);
    tensors_free(&list);
    devices_free(&where);
    return result;
}

/* _parallel_elsewhere(tensors, device) -> the first that is not on the device, or None */
static PyObject *elsewhere(PyObject *self, PyObject *args)
{
    PyObject *list, *where;
    tn_device device;
    (void)self;
    if (!PyArg_ParseTuple(args, "O!O:_parallel_elsewhere", &PyList_Type, &list, &where) || device_from(where, &device))
        return NULL;
    for (Py_ssize_t i = 0; i < PyList_Size(list); i++) {
        PyObject *item = PyList_GetItem(list, i);
        if (py_is_tensor(item) && !tn_device_equal(tn_tensor_device(py_t(item)), device))
            return Py_NewRef(item);
    }
    Py_RETURN_NONE;
}

/* ---- steps ---- */

static tn_team_step *step_of(PyObject *o)
{
    return ((py_team_step *)(void *)o)->step;
}

static void release(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(type);
}

static void step_dealloc(PyObject *self)
{
    tn_team_step_release(step_of(self));
    release(self);
}

static PyObject *step_devices(PyObject *self, void *unused)
{
    tn_device_list list = tn_team_step_devices(step_of(self));
    PyObject *out = PyList_New((Py_ssize_t)list.n);
    (void)unused;
    for (size_t i = 0; out && i < list.n; i++) {
        PyObject *item = py_device_object(list.d[i]);
        if (!item || PyList_SetItem(out, (Py_ssize_t)i, item))
            Py_CLEAR(out);
    }
    return out;
}

static PyObject *step_indices(PyObject *self, void *unused)
{
    tn_device_list list = tn_team_step_devices(step_of(self));
    PyObject *out = PyList_New((Py_ssize_t)list.n);
    (void)unused;
    for (size_t i = 0; out && i < list.n; i++) {
        PyObject *item = PyLong_FromLong(list.d[i].index);
        if (!item || PyList_SetItem(out, (Py_ssize_t)i, item))
            Py_CLEAR(out);
    }
    return out;
}

/* call(i, function, args, kwargs): function(*args, **kwargs) as replica i */
static PyObject *step_call(PyObject *self, PyObject *args)
{
    Py_ssize_t i;
    PyObject *function, *positional, *named;
    tn_replica_guard guard;
    tn_team_step *step = step_of(self);
    if (!PyArg_ParseTuple(args, "nOO!O!:call", &i, &function, &PyTuple_Type, &positional, &PyDict_Type, &named))
        return NULL;
    UNLOCKED(guard = tn_team_step_enter(step, (size_t)i));
    PyObject *result = guard.replica < 0 ? py_raise() : PyObject_Call(function, positional, named);
    tn_team_step_leave(step, guard);
    return result;
}

static PyMethodDef step_methods[] = {
    {"call", step_call, METH_VARARGS,
     "function(*args, **kwargs) of replica i: on its device, with the streams of the thread that made the step."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef step_getset[] = {
    {"devices", step_devices, NULL, "The devices that it takes.", NULL},
    {"device_ids", step_indices, NULL, "Their indices.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot step_slots[] = {
    {Py_tp_dealloc, (void *)step_dealloc},
    {Py_tp_methods, step_methods},
    {Py_tp_getset, step_getset},
    {Py_tp_doc, (void *)"A forward and its backward on the devices of a team."},
    {0, NULL},
};

static PyType_Spec step_spec = {"tenon._C._TeamStep", sizeof(py_team_step), 0,
                                Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, step_slots};

/* ---- teams ---- */

static tn_team *team_of(PyObject *o)
{
    return ((py_team *)(void *)o)->team;
}

static PyObject *team_new(PyTypeObject *type, PyObject *args, PyObject *kwds)
{
    static char *names[] = {"devices", NULL};
    PyObject *o;
    devices list;
    tn_team *team;
    if (!PyArg_ParseTupleAndKeywords(args, kwds, "O:_Team", names, &o) || devices_from(o, &list))
        return NULL;
    UNLOCKED(team = tn_team_new(list_of(&list)));
    devices_free(&list);
    if (!team)
        return py_raise();
    PyObject *self = ((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
    if (self)
        ((py_team *)(void *)self)->team = team;
    else
        tn_team_release(team);
    return self;
}

static void team_dealloc(PyObject *self)
{
    tn_team *team = team_of(self);
    UNLOCKED(tn_team_release(team));
    release(self);
}

static PyObject *team_step(PyObject *self, PyObject *unused)
{
    (void)unused;
    tn_team_step *step;
    UNLOCKED(step = tn_team_step_new(team_of(self)));
    if (!step)
        return py_raise();
    PyObject *o = ((allocfunc)PyType_GetSlot(step_type, Py_tp_alloc))(step_type, 0);
    if (o)
        ((py_team_step *)(void *)o)->step = step;
    else
        tn_team_step_release(step);
    return o;
}

/* report() -> a list of tuples, in the order of tn_parallel_report */
static PyObject *team_report(PyObject *self, PyObject *unused)
{
    (void)unused;
    tn_parallel_report few[FEW];
    size_t n;
    tn_error_clear();
    UNLOCKED(n = tn_team_report(team_of(self), few, FEW));
    if (tn_error_code())
        return py_raise();
    PyObject *rows = PyList_New(0);
    for (size_t i = 0; rows && i < n && i < FEW; i++) {
        const tn_parallel_report *r = &few[i];
        PyObject *row = Py_BuildValue(
            "(NLdddddddLLLL)", py_device_object(r->device), (long long)r->samples, r->scatter_ms, r->broadcast_ms,
            r->forward_ms, r->gather_ms, r->backward_ms, r->reduce_ms, r->host_ms, (long long)r->scatter_bytes,
            (long long)r->broadcast_bytes, (long long)r->gather_bytes, (long long)r->reduce_bytes);
        if (!row || PyList_Append(rows, row))
            Py_CLEAR(rows);
        Py_XDECREF(row);
    }
    return rows;
}

static PyObject *team_explain(PyObject *self, PyObject *unused)
{
    (void)unused;
    char few[4096];
    int64_t n;
    UNLOCKED(n = tn_team_explain(team_of(self), few, sizeof few));
    if (n < 0)
        return py_raise();
    if ((size_t)n < sizeof few)
        return PyUnicode_FromStringAndSize(few, (Py_ssize_t)n);
    char *text = malloc((size_t)n + 1);
    if (!text)
        return PyErr_NoMemory();
    int64_t again; /* of another step, where one has begun in the meantime */
    UNLOCKED(again = tn_team_explain(team_of(self), text, (size_t)n + 1));
    PyObject *result = again < 0 ? py_raise() : PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
    free(text);
    return result;
}

static PyMethodDef team_methods[] = {
    {"step", team_step, METH_NOARGS, "A new step, of the devices that can be used now."},
    {"report", team_report, METH_NOARGS, "What the last step cost: a tuple for each device."},
    {"explain", team_explain, METH_NOARGS, "The same as text."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot team_slots[] = {
    {Py_tp_new, (void *)team_new},
    {Py_tp_dealloc, (void *)team_dealloc},
    {Py_tp_methods, team_methods},
    {Py_tp_doc, (void *)"Devices that work on one model, and what they keep from one step to the next."},
    {0, NULL},
};

static PyType_Spec team_spec = {"tenon._C._Team", sizeof(py_team), 0, Py_TPFLAGS_DEFAULT, team_slots};

int py_add_team(PyObject *module)
{
    static PyMethodDef functions[] = {
        {"_parallel_scatter", scatter, METH_VARARGS, "A tensor cut over devices."},
        {"_parallel_gather", gather, METH_VARARGS, "Tensors joined on a device."},
        {"_parallel_broadcast", broadcast, METH_VARARGS, "Tensors on each of several devices."},
        {"_parallel_reduce_add", reduce_add, METH_VARARGS, "The sum of tensors on a device."},
        {"_parallel_elsewhere", elsewhere, METH_VARARGS, "The first tensor that is not on the device."},
        {NULL, NULL, 0, NULL},
    };
    team_type = py_type_new(module, &team_spec, NULL);
    step_type = team_type ? py_type_new(module, &step_spec, NULL) : NULL;
    return step_type ? PyModule_AddFunctions(module, functions) : -1;
}
