/* function.c: Python code inside the graph: hooks, and functions with a backward of their own (torch.autograd.Function). */
#include "args.h"
#include "py.h"

#include <pthread.h>
#include <stdlib.h>

/* ---- Python code called by the library ---- */

/* What a callback changes and gives back: the GIL, and the scopes of the library, which own nothing of Python's. */
typedef struct call {
    PyGILState_STATE gil;
    tn_scope *scopes;
} call;

static call enter(void)
{
    call c;
    c.gil = PyGILState_Ensure();
    c.scopes = tn_scope_suspend();
    return c;
}

static tn_status leave(call c, bool failed)
{
    tn_scope_resume(c.scopes);
    PyGILState_Release(c.gil);
    return failed ? TN_ECANCELED : TN_OK; /* the exception stays set: py_raise keeps it */
}

/* A reference of the library's scope to what Python's tensor wraps: valid when the callback is over. */
static tn_tensor *hand_over(call c, PyObject *o)
{
    tn_scope_resume(c.scopes);
    tn_tensor *t = tn_scope_hold(py_t(o));
    tn_scope_suspend();
    return t;
}

/* ---- hooks ---- */

static bool refuse_result(PyObject *result)
{
    char name[64];
    if (py_is_tensor(result))
        PyErr_SetString(PyExc_RuntimeError, "Tensor post accumulate grad hooks should return None.");
    else
        PyErr_Format(PyExc_TypeError, "expected Variable, but hook returned '%s'",
                     py_type_name(result, name, sizeof name));
    return true;
}

static tn_status run_hook(void *ctx, tn_tensor *t, tn_tensor **replaced)
{
    call c = enter();
    PyObject *arg = py_borrowed(t);
    PyObject *result = arg ? PyObject_CallFunctionObjArgs(ctx, arg, NULL) : NULL;
    bool failed = !result;
    if (result && result != Py_None) {
        if (py_is_tensor(result) && replaced)
            failed = !(*replaced = hand_over(c, result));
        else
            failed = refuse_result(result);
    }
    Py_XDECREF(result);
    Py_XDECREF(arg);
    return leave(c, failed);
}

/* What the collector of cycles calls for each object that a hook or a function holds. */
typedef struct visitor {
    visitproc visit;
    void *arg;
} visitor;

static int visit_callback(void (*destroy)(void *), void *ctx, void *arg)
{
    const visitor *v = arg;
    return destroy == py_release_later ? v->visit(ctx, v->arg) : 0;
}

_Atomic int py_unlocked;
PY_TLS int py_unlocked_here;

static void after_fork(void)
{
    py_unlocked = py_unlocked_here;
}

void py_lock_owning(PyThreadState *thread, tn_tensor *const *own, size_t n)
{
    PyEval_RestoreThread(thread);
    py_holds_gil++;
    for (size_t i = 0; i < n; i++)
        tn_release(own[i]);
    py_holds_gil--;
}

/* A collection looks twice, with the GIL, and takes for garbage what only the first look sees. The second must see all that
 * the first saw, while other threads work on graphs without the GIL. It does:
 *  - What is seen hangs on a wrapper by references each of which is the only one of what it leads to (its chain). So nothing
 *    outside a chain refers to anything in it: the object's one reference is spent.
 *  - Such a thread has references of its own of the tensors that it was given, which are in no chain therefore, and gets
 *    from there, by counted references, to nothing in one: the step into the chain would be a second reference; and the
 *    chain's head has its wrapper's. It neither retains, nor writes to, nor frees what the first look saw.
 *  - It begins, and gives its own references up, with the GIL: not between two looks. What it lets go of meanwhile can
 *    only make chains longer: the second look sees more than the first, and an object more is kept until the next time.
 *  - The one pointer of the graph that counts for nothing leads from a node to tensors that retain their gradient: hooks.c does
 *    not look at these while somebody else has their node.
 * Who uses what others own is counted (py.h), and nothing is seen meanwhile: that begins with the GIL, too, and its end
 * between two looks only makes the second see more. */
int py_visit_callbacks(const tn_tensor *t, visitproc visit, void *arg)
{
    return py_unlocked ? 0 : tn_tensor_visit_callbacks(t, visit_callback, &(visitor){visit, arg});
}

int py_visit_callbacks_of_node(const tn_node *n, visitproc visit, void *arg)
{
    return py_unlocked ? 0 : tn_node_visit_callbacks(n, visit_callback, &(visitor){visit, arg});
}

void py_drop_hooks(const tn_tensor *t, const tn_node *n)
{
    if (py_unlocked) /* the next collection will find it */
        return;
    py_holds_gil++;
    tn_tensor_drop_hooks(t);
    tn_node_drop_hooks(n);
    py_holds_gil--;
}

typedef struct handle {
    PyObject_HEAD tn_hook *hook;
} handle;

static PyTypeObject *handle_type;

/* _add_hook(tensor, function, accumulate) -> a handle with remove() */
static PyObject *add_hook(PyObject *self, PyObject *args)
{
    PyObject *t, *f;
    int accumulate;
    tn_hook *hook = NULL;
    (void)self;
    if (!PyArg_ParseTuple(args, "O!Op:_add_hook", py_tensor_type, &t, &f, &accumulate))
        return NULL;
    handle *h = PyObject_New(handle, handle_type);
    if (!h)
        return NULL;
    h->hook = NULL;
    Py_INCREF(f);
    tn_status status = (accumulate ? tn_tensor_add_accumulate_hook : tn_tensor_add_hook)(py_t(t), run_hook, f,
                                                                                         py_release_later, &hook);
    h->hook = hook;
    if (!status)
        return (PyObject *)h;
    Py_DECREF(f);
    Py_DECREF(h);
    return py_raise();
}

static void handle_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    tn_hook_release(((handle *)(void *)self)->hook);
    PyObject_Free(self);
    Py_DECREF(type);
}

static PyObject *handle_remove(PyObject *self, PyObject *unused)
{
    (void)unused;
    py_holds_gil++;
    tn_hook_remove(((handle *)(void *)self)->hook);
    py_holds_gil--;
    Py_RETURN_NONE;
}

static PyMethodDef handle_methods[] = {
    {"remove", handle_remove, METH_NOARGS, "remove()\n\nThe hook runs no more."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot handle_slots[] = {
    {Py_tp_dealloc, (void *)handle_dealloc},
    {Py_tp_methods, handle_methods},
    {0, NULL},
};

static PyType_Spec handle_spec = {"tenon._HookHandle", sizeof(handle), 0,
                                  Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, handle_slots};

/* ---- functions of one's own: their Python side is tenon/autograd/function.py ---- */

static PyObject *gradient_arguments(tn_tensor *const *g, size_t n)
{
    PyObject *tuple = PyTuple_New((Py_ssize_t)n);
    for (size_t i = 0; tuple && i < n; i++) {
        PyObject *item = py_borrowed(g[i]);
        if (!item || PyTuple_SetItem(tuple, (Py_ssize_t)i, item))
            Py_CLEAR(tuple);
    }
    return tuple;
}

PY_TLS bool py_pass_retains;

/* ctx is called with the node, the gradients, and whether the graph stays; it returns a tuple: a tensor or None for each
 * input. */
static tn_status run_backward(tn_node *self, void *ctx, tn_tensor *const *grad_outputs, size_t n_out,
                              tn_tensor **grad_inputs, size_t n_in)
{
    call c = enter();
    PyObject *node = py_node(tn_node_retain(self)), *given = node ? gradient_arguments(grad_outputs, n_out) : NULL;
    PyObject *stays = py_pass_retains ? Py_True : Py_False;
    PyObject *result = given ? PyObject_CallFunctionObjArgs(ctx, node, given, stays, NULL) : NULL;
    bool failed = !result;
    if (result && !PyTuple_Check(result)) {
        PyErr_SetString(PyExc_TypeError, "a function's backward must give a tuple");
        failed = true;
    }
    for (size_t i = 0; !failed && i < n_in && i < (size_t)PyTuple_Size(result); i++) {
        PyObject *g = PyTuple_GetItem(result, (Py_ssize_t)i);
        if (py_is_tensor(g))
            failed = !(grad_inputs[i] = hand_over(c, g));
    }
    Py_XDECREF(result);
    Py_XDECREF(given);
    Py_XDECREF(node);
    return leave(c, failed);
}

enum { MOST = 64 };

/* A tuple of tensors and None into an array. -1 with an exception. */
static int tensors_of(PyObject *tuple, tn_tensor **out)
{
    Py_ssize_t n = PyTuple_Size(tuple);
    if (n > MOST) {
        PyErr_Format(PyExc_ValueError, "a function takes, gives and saves at most %d tensors", MOST);
        return -1;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *o = PyTuple_GetItem(tuple, i);
        out[i] = py_is_tensor(o) ? py_t(o) : TN_NONE;
    }
    return 0;
}

static void flags_of(PyObject *tuple, bool *out)
{
    for (Py_ssize_t i = 0; i < PyTuple_Size(tuple) && i < MOST; i++)
        out[i] = PyTuple_GetItem(tuple, i) == Py_True;
}

static PyObject *results_of(tn_tensor **r, Py_ssize_t n)
{
    PyObject *tuple = PyTuple_New(n);
    for (Py_ssize_t i = 0; i < n; i++) {
        bool none = r[i] == TN_NONE || !r[i];
        PyObject *item = !tuple ? NULL : none ? Py_NewRef(Py_None) : py_wrap(r[i]);
        if (!tuple && !none)
            tn_release(r[i]);
        else if (tuple && (!item || PyTuple_SetItem(tuple, i, item)))
            Py_CLEAR(tuple);
    }
    return tuple;
}

/* _function_apply(name, backward, inputs, outputs, saved, no_gradient, dirty, zeros) -> tuple of results
 * inputs, outputs, saved: tuples of tensors and None; no_gradient, dirty: tuples of bools, one for each output and input */
static PyObject *function_apply(PyObject *self, PyObject *args)
{
    const char *name;
    PyObject *backward, *inputs, *outputs, *saved, *no_gradient, *dirty;
    int zeros;
    tn_tensor *in[MOST], *out[MOST], *keep[MOST], *result[MOST] = {NULL};
    bool without[MOST] = {false}, written[MOST] = {false};
    (void)self;
    if (!PyArg_ParseTuple(args, "sOO!O!O!O!O!p:_function_apply", &name, &backward, &PyTuple_Type, &inputs,
                          &PyTuple_Type, &outputs, &PyTuple_Type, &saved, &PyTuple_Type, &no_gradient, &PyTuple_Type,
                          &dirty, &zeros))
        return NULL;
    if (tensors_of(inputs, in) || tensors_of(outputs, out) || tensors_of(saved, keep))
        return NULL;
    flags_of(no_gradient, without);
    flags_of(dirty, written);
    tn_function_class cls = {
        .struct_size = sizeof cls, .name = name, .backward = run_backward, .destroy = py_release_later};
    tn_function_options o = {.struct_size = sizeof o,
                             .site = "",
                             .saved = {keep, (size_t)PyTuple_Size(saved)},
                             .no_gradient = without,
                             .dirty = written,
                             .none_for_zeros = !zeros};
    Py_INCREF(backward);
    py_holds_gil++;
    tn_status status = (tn_function_apply_opt)(&cls, backward, (tn_tensors){in, (size_t)PyTuple_Size(inputs)},
                                               (tn_tensors){out, (size_t)PyTuple_Size(outputs)}, result, &o);
    py_holds_gil--;
    if (!status)
        return results_of(result, PyTuple_Size(outputs));
    Py_DECREF(backward);
    return py_raise();
}

/* The tensors that an own function saved, from its node. */
static PyObject *saved_of(PyObject *self, PyObject *o)
{
    tn_node *n = py_node_of(o);
    (void)self;
    if (!n)
        return NULL;
    size_t count = tn_node_saved_count(n);
    PyObject *tuple = PyTuple_New((Py_ssize_t)count);
    for (size_t i = 0; tuple && i < count; i++) {
        tn_tensor *t = tn_node_saved(n, i);
        PyObject *item = t == TN_NONE ? Py_NewRef(Py_None) : py_wrap(t);
        if (!item || PyTuple_SetItem(tuple, (Py_ssize_t)i, item))
            Py_CLEAR(tuple);
    }
    return tuple;
}

/* ---- anomalies ---- */

static PyObject *place_of, *failed_of; /* of the watch; owned */

static void *recorded(void)
{
    call c = enter();
    PyObject *place = PyErr_Occurred() ? NULL : PyObject_CallNoArgs(place_of);
    if (!place)
        PyErr_Clear();
    (void)leave(c, false);
    return place;
}

static void failed(const char *node, void *place)
{
    call c = enter();
    if (!PyErr_Occurred())
        Py_XDECREF(PyObject_CallFunction(failed_of, "sO", node, place ? (PyObject *)place : Py_None));
    (void)leave(c, false);
}

/* _watch_anomalies(check_nan, function that tells the place, function of a node's name and that place), or (None): no more */
static PyObject *watch_anomalies(PyObject *self, PyObject *args)
{
    PyObject *nan, *place = NULL, *told = NULL;
    (void)self;
    if (!PyArg_ParseTuple(args, "O|OO:_watch_anomalies", &nan, &place, &told))
        return NULL;
    if (nan == Py_None || !told)
        return py_done(tn_watch_anomalies(NULL));
    PyObject *old_place = place_of, *old_told = failed_of;
    place_of = Py_NewRef(place);
    failed_of = Py_NewRef(told);
    Py_XDECREF(old_place);
    Py_XDECREF(old_told);
    const tn_anomaly_watch watch = {.struct_size = sizeof watch,
                                    .check_nan = nan == Py_True,
                                    .recorded = recorded,
                                    .forget = py_release_later,
                                    .failed = failed};
    return py_done(tn_watch_anomalies(&watch));
}

static PyMethodDef functions[] = {
    {"_watch_anomalies", watch_anomalies, METH_VARARGS, NULL},
    {"_add_hook", add_hook, METH_VARARGS, NULL},
    {"_function_apply", function_apply, METH_VARARGS, NULL},
    {"_saved_tensors", saved_of, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

/* ---- signals ---- */

/* Long waits of the library call it. Python runs handlers of signals in its main thread, where what they raise ends the
 * wait. Threads that Python does not know have none to run; one that has an exception is on its way out already. */
static int look_for_signals(void)
{
    if (!PyGILState_GetThisThreadState())
        return 0;
    int holds = py_holds_gil;
    PyGILState_STATE gil = PyGILState_Ensure();
    py_holds_gil = 0; /* a handler may give it away */
    int raised = !PyErr_Occurred() && PyErr_CheckSignals();
    py_holds_gil = holds;
    PyGILState_Release(gil);
    return raised;
}

int py_add_function(PyObject *module)
{
    tn_set_wait_check(look_for_signals);
    if (pthread_atfork(NULL, NULL, after_fork)) {
        PyErr_NoMemory();
        return -1;
    }
    handle_type = py_type_new(module, &handle_spec, NULL);
    return handle_type && !PyModule_AddFunctions(module, functions) ? 0 : -1;
}
