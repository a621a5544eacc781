/* optim.c: what Python's optimisers do to a whole list of parameters in one call. */
#include "py.h"

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

/* _sgd_step(params, buffers, lr, momentum, dampening, weight_decay, nesterov, maximize) */
static PyObject *sgd_step(PyObject *self, PyObject *args)
{
    PyObject *params, *buffers;
    double lr, momentum, dampening, weight_decay;
    int nesterov, maximize;
    (void)self;
    if (!PyArg_ParseTuple(args, "O!Oddddpp:_sgd_step", &PyList_Type, &params, &buffers, &lr, &momentum, &dampening,
                          &weight_decay, &nesterov, &maximize))
        return NULL;
    Py_ssize_t n = PyList_Size(params);
    bool bad = false, was, fresh[256] = {false};
    if (buffers != Py_None) {
        if (n > 256 || !PyList_Check(buffers) || PyList_Size(buffers) != n)
            return n > 256 ? PyErr_Format(PyExc_ValueError, "a group of more than 256 parameters goes in pieces")
                           : (refuse(), NULL);
        for (Py_ssize_t i = 0; i < n; i++)
            fresh[i] = !item_at(buffers, i, &bad);
        if (bad || fill_missing(buffers, params))
            return refuse(), NULL;
    }
    was = tn_set_grad_enabled(false);
    bool ok = true;
    for (Py_ssize_t i = 0; i < n && ok && !bad; i++) {
        tn_tensor *p = item_at(params, i, &bad), *g = p ? tn_tensor_grad(p) : NULL;
        tn_tensor *b = buffers == Py_None ? TN_NONE : item_at(buffers, i, &bad);
        if (g && !bad)
            ok = tn_sgd_step__at("", p, g, b, lr, momentum, dampening, weight_decay, nesterov != 0, fresh[i],
                                 maximize != 0) != NULL;
    }
    tn_set_grad_enabled(was);
    if (bad)
        return refuse(), NULL;
    if (!ok)
        return py_raise();
    Py_RETURN_NONE;
}

/* One more in a step counter, a 0-dim float32 tensor on the CPU; the new count. 0 with an exception. */
static int64_t count(PyObject *steps, Py_ssize_t i)
{
    bool bad = false;
    tn_tensor *t = item_at(steps, i, &bad);
    float *f = t && tn_tensor_dtype(t) == TN_F32 && tn_tensor_numel(t) == 1 ? tn_data(t) : NULL;
    if (!f) {
        PyErr_SetString(PyExc_TypeError, "an optimiser's step must be a 0-dim float32 tensor on the CPU");
        tn_error_clear();
        return 0;
    }
    return (int64_t)(*f += 1);
}

static int fill_steps(PyObject *steps, PyObject *params)
{
    bool bad = false;
    if (!PyList_Check(steps) || PyList_Size(steps) != PyList_Size(params))
        return refuse();
    for (Py_ssize_t i = 0; i < PyList_Size(params); i++) {
        if (item_at(steps, i, &bad) || !tn_tensor_grad(item_at(params, i, &bad)))
            continue;
        tn_options o = {.struct_size = sizeof o, .site = "", .device = TN_CPU, .dtype = TN_F32};
        PyObject *zero = bad ? NULL : py_wrap((tn_zeros_opt)((tn_dims){0, (const int64_t[]){0}}, &o));
        if (!zero || PyList_SetItem(steps, i, zero))
            return refuse();
    }
    return 0;
}

/* _adam_step(params, exp_avgs, exp_avg_sqs, steps, lr, beta1, beta2, eps, weight_decay, decoupled, maximize) */
static PyObject *adam_step(PyObject *self, PyObject *args)
{
    PyObject *params, *m, *v, *steps;
    double lr, beta1, beta2, eps, weight_decay;
    int decoupled, maximize;
    (void)self;
    if (!PyArg_ParseTuple(args, "O!O!O!O!dddddpp:_adam_step", &PyList_Type, &params, &PyList_Type, &m, &PyList_Type, &v,
                          &PyList_Type, &steps, &lr, &beta1, &beta2, &eps, &weight_decay, &decoupled, &maximize))
        return NULL;
    if (fill_missing(m, params) || fill_missing(v, params) || fill_steps(steps, params))
        return NULL;
    bool bad = false, ok = true, was = tn_set_grad_enabled(false);
    for (Py_ssize_t i = 0; i < PyList_Size(params) && ok && !bad; i++) {
        tn_tensor *p = item_at(params, i, &bad), *g = p ? tn_tensor_grad(p) : NULL;
        tn_tensor *mi = item_at(m, i, &bad), *vi = item_at(v, i, &bad);
        int64_t step = g ? count(steps, i) : 0;
        if (g && !step)
            bad = true;
        else if (g)
            ok = tn_adam_step__at("", p, g, mi, vi, lr, beta1, beta2, eps, weight_decay, step, decoupled != 0,
                                  maximize != 0) != NULL;
    }
    tn_set_grad_enabled(was);
    if (bad)
        return refuse(), NULL;
    if (!ok)
        return py_raise();
    Py_RETURN_NONE;
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
    {"_zero_grads", zero_grads, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

int py_add_optim(PyObject *module)
{
    return PyModule_AddFunctions(module, functions);
}
