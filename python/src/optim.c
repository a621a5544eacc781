/* optim.c: what Python's optimisers do to a whole list of parameters in one call. */
#include "py.h"

#include <stdlib.h>

/* A tensor of a list, borrowed; NULL for None; *bad is set where it is neither. */
static tn_tensor *item_at(PyObject *list, Py_ssize_t i, bool *bad)
{
    PyObject *o = PyList_GetItem(list, i);
    if (o && py_is_tensor(o))
        return py_t(o);
    if (o != Py_None)
        *bad = true;
    return NULL;
}

static int refuse(void)
{
    if (!PyErr_Occurred())
        PyErr_SetString(PyExc_TypeError, "the optimiser's lists must be of one length, and hold tensors or None");
    return -1;
}

/* Puts a tensor of p's shape into list[i] where there is None: what is missing is made before the first parameter changes. */
static int fill_missing(PyObject *list, PyObject *params)
{
    bool bad = false;
    if (!PyList_Check(list) || PyList_Size(list) != PyList_Size(params))
        return refuse();
    for (Py_ssize_t i = 0; i < PyList_Size(params); i++) {
        tn_tensor *p = item_at(params, i, &bad);
        if (bad || !p)
            return refuse();
        if (!tn_tensor_grad(p) || item_at(list, i, &bad))
            continue;
        PyObject *zeros =
            bad ? NULL : py_wrap((tn_zeros_like_opt)(p, &(tn_options){.struct_size = sizeof(tn_options), .site = ""}));
        if (!zeros || PyList_SetItem(list, i, zeros))
            return refuse();
    }
    return 0;
}

/* ---- the work: on references of its own, so that the GIL can be let go ---- */

typedef struct update {
    tn_tensor *p, *grad, *first, *second; /* first, second: the optimiser's state; TN_NONE where it has none */
    int64_t step;                         /* of Adam: which; of SGD: 1 where the buffer is new */
} update;

typedef struct hyper {
    double lr, a, b, eps, weight_decay; /* a, b: momentum and dampening, or both betas */
    bool mode, maximize;                /* nesterov, or decoupled */
} hyper;

typedef tn_tensor *apply(const update *u, const hyper *h);

static tn_tensor *apply_sgd(const update *u, const hyper *h)
{
    return tn_sgd_step__at("", u->p, u->grad, u->first, h->lr, h->a, h->b, h->weight_decay, h->mode, u->step == 1,
                           h->maximize);
}

static tn_tensor *apply_adam(const update *u, const hyper *h)
{
    return tn_adam_step__at("", u->p, u->grad, u->first, u->second, h->lr, h->a, h->b, h->eps, h->weight_decay, u->step,
                            h->mode, h->maximize);
}

static bool apply_all(apply *f, const update *u, Py_ssize_t n, const hyper *h)
{
    bool ok = true, was = tn_set_grad_enabled(false);
    for (Py_ssize_t i = 0; i < n && ok; i++)
        ok = f(&u[i], h) != NULL;
    tn_set_grad_enabled(was);
    return ok;
}

static void let_go(update *u, Py_ssize_t n)
{
    for (Py_ssize_t i = 0; i < n; i++) {
        tn_release(u[i].p);
        tn_release(u[i].grad);
        tn_release(u[i].first);
        tn_release(u[i].second);
    }
    free(u);
}

/* Runs the updates, without the GIL where they are large; lets go of what they hold. */
static PyObject *run(apply *f, update *u, Py_ssize_t n, const hyper *h)
{
    int64_t elements = 0;
    bool ok;
    for (Py_ssize_t i = 0; i < n; i++)
        elements += tn_tensor_numel(u[i].p);
    if (elements > PY_UNLOCK) {
        PY_BEGIN_OWNING(NULL)
            ok = apply_all(f, u, n, h);
        PY_END_OWNING
    } else
        ok = apply_all(f, u, n, h);
    let_go(u, n);
    if (!ok)
        return py_raise();
    Py_RETURN_NONE;
}

static update *updates_new(PyObject *params)
{
    Py_ssize_t n = PyList_Size(params);
    update *u = calloc((size_t)(n ? n : 1), sizeof *u);
    if (!u)
        PyErr_NoMemory();
    return u;
}

/* Adds parameter i, if it has a gradient, with its state. Returns whether it was added. */
static bool add_update(update *u, tn_tensor *p, tn_tensor *first, tn_tensor *second)
{
    tn_tensor *grad = p ? tn_tensor_grad(p) : NULL;
    if (!grad || !first || !second)
        return false;
    *u = (update){tn_retain(p), tn_retain(grad), tn_retain(first), tn_retain(second), 0};
    return true;
}

/* _sgd_step(params, buffers, lr, momentum, dampening, weight_decay, nesterov, maximize) */
static PyObject *sgd_step(PyObject *self, PyObject *args)
{
    PyObject *params, *buffers;
    hyper h = {0};
    int nesterov, maximize;
    bool bad = false;
    (void)self;
    if (!PyArg_ParseTuple(args, "O!Oddddpp:_sgd_step", &PyList_Type, &params, &buffers, &h.lr, &h.a, &h.b,
                          &h.weight_decay, &nesterov, &maximize))
        return NULL;
    h.mode = nesterov != 0;
    h.maximize = maximize != 0;
    bool state = buffers != Py_None;
    if (state && (!PyList_Check(buffers) || PyList_Size(buffers) != PyList_Size(params)))
        return refuse(), NULL;
    update *u = updates_new(params);
    if (!u)
        return NULL;
    for (Py_ssize_t i = 0; state && i < PyList_Size(params); i++)
        u[i].step = !item_at(buffers, i, &bad); /* which are new, before they are made */
    if (bad || (state && fill_missing(buffers, params))) {
        free(u);
        return refuse(), NULL;
    }
    Py_ssize_t n = 0;
    for (Py_ssize_t i = 0; i < PyList_Size(params); i++) {
        int64_t fresh = u[i].step;
        tn_tensor *p = item_at(params, i, &bad), *b = state ? item_at(buffers, i, &bad) : TN_NONE;
        if (add_update(&u[n], p, b, TN_NONE))
            u[n++].step = fresh;
    }
    if (bad) {
        let_go(u, n);
        return refuse(), NULL;
    }
    return run(apply_sgd, u, n, &h);
}

/* One more in a step counter, a tensor of one float32 or float64 on the CPU; the new count. 0 with an exception. */
static int64_t count(PyObject *steps, Py_ssize_t i)
{
    bool bad = false;
    tn_tensor *t = item_at(steps, i, &bad);
    tn_dtype dtype = t && tn_tensor_numel(t) == 1 ? tn_tensor_dtype(t) : TN_BOOL;
    void *at = dtype == TN_F32 || dtype == TN_F64 ? tn_data(t) : NULL;
    if (!at) {
        PyErr_SetString(PyExc_TypeError, "an optimiser's step must be a tensor of one float32 or float64 on the CPU");
        tn_error_clear();
        return 0;
    }
    return dtype == TN_F32 ? (int64_t)(*(float *)at += 1) : (int64_t)(*(double *)at += 1);
}

static int fill_steps(PyObject *steps, PyObject *params)
{
    bool bad = false;
    tn_dtype dtype = tn_get_default_dtype() == TN_F64 ? TN_F64 : TN_F32; /* as PyTorch counts */
    if (!PyList_Check(steps) || PyList_Size(steps) != PyList_Size(params))
        return refuse();
    for (Py_ssize_t i = 0; i < PyList_Size(params); i++) {
        if (item_at(steps, i, &bad) || !tn_tensor_grad(item_at(params, i, &bad)))
            continue;
        tn_options o = {.struct_size = sizeof o, .site = "", .device = TN_CPU, .dtype = dtype};
        PyObject *zero = bad ? NULL : py_wrap((tn_zeros_opt)(TN__DIMS(TN_SHAPE()), &o));
        if (!zero || PyList_SetItem(steps, i, zero))
            return refuse();
    }
    return 0;
}

/* _adam_step(params, exp_avgs, exp_avg_sqs, steps, lr, beta1, beta2, eps, weight_decay, decoupled, maximize) */
static PyObject *adam_step(PyObject *self, PyObject *args)
{
    PyObject *params, *m, *v, *steps;
    hyper h = {0};
    int decoupled, maximize;
    bool bad = false;
    (void)self;
    if (!PyArg_ParseTuple(args, "O!O!O!O!dddddpp:_adam_step", &PyList_Type, &params, &PyList_Type, &m, &PyList_Type, &v,
                          &PyList_Type, &steps, &h.lr, &h.a, &h.b, &h.eps, &h.weight_decay, &decoupled, &maximize))
        return NULL;
    h.mode = decoupled != 0;
    h.maximize = maximize != 0;
    if (fill_missing(m, params) || fill_missing(v, params) || fill_steps(steps, params))
        return NULL;
    update *u = updates_new(params);
    Py_ssize_t n = 0;
    for (Py_ssize_t i = 0; u && i < PyList_Size(params) && !bad; i++) {
        tn_tensor *p = item_at(params, i, &bad), *mi = item_at(m, i, &bad), *vi = item_at(v, i, &bad);
        if (!bad && add_update(&u[n], p, mi, vi))
            bad = !(u[n++].step = count(steps, i));
    }
    if (u && bad) {
        let_go(u, n);
        return refuse(), NULL;
    }
    return u ? run(apply_adam, u, n, &h) : NULL;
}

/* _count_step(step): one more in a tensor of one element, on any device and of any dtype; the new count */
static PyObject *count_step(PyObject *self, PyObject *o)
{
    (void)self;
    if (!py_is_tensor(o) || tn_tensor_numel(py_t(o)) != 1)
        return PyErr_Format(PyExc_TypeError, "an optimiser's step must be a tensor of one element");
    if (!tn_add__at("", py_t(o), tn_scalar_i(1)))
        return py_raise();
    tn_error_clear();
    const double count = tn_item(py_t(o));
    return tn_error_code() ? py_raise() : PyFloat_FromDouble(count);
}

/* _zero_grads(tensors, set_to_none) */
static PyObject *zero_grads(PyObject *self, PyObject *args)
{
    PyObject *tensors;
    int none;
    (void)self;
    if (!PyArg_ParseTuple(args, "O!p:_zero_grads", &PyList_Type, &tensors, &none))
        return NULL;
    bool bad = false, ok = true;
    for (Py_ssize_t i = 0; i < PyList_Size(tensors) && ok; i++) {
        tn_tensor *t = item_at(tensors, i, &bad), *g = t ? tn_tensor_grad(t) : NULL;
        if (!g)
            continue;
        if (none || !tn_tensor_is_leaf(g)) {
            tn_tensor *zeros = none ? TN_NONE : tn_zeros_like(g);
            ok = zeros && !tn_tensor_set_grad(t, zeros);
            tn_release(zeros);
        } else {
            bool was = tn_set_grad_enabled(false);
            ok = tn_zero__at("", g) != NULL;
            tn_set_grad_enabled(was);
        }
    }
    if (bad)
        return refuse(), NULL;
    if (!ok)
        return py_raise();
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"_sgd_step", sgd_step, METH_VARARGS, NULL},
    {"_adam_step", adam_step, METH_VARARGS, NULL},
    {"_count_step", count_step, METH_O, NULL},
    {"_zero_grads", zero_grads, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

int py_add_optim(PyObject *module)
{
    return PyModule_AddFunctions(module, functions);
}
