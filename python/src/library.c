/* library.c: operations of a program's own whose kernels are texts (tenon.library): registered, called, checked. */
#include "py.h"

#include <stdlib.h>
#include <tenon/library.h>

/* What a text became when the C compiler read it: memory of results, then of inputs; a range of items, and how many there are;
 * the width of rows; parameters. */
typedef void (*run_fn)(void **memory, int64_t begin, int64_t end, int64_t items, int64_t width, const int64_t *param);

/* 'user' of such an operation; stays as long as it. */
typedef struct functions {
    run_fn narrow, wide; /* of float and double */
} functions;

/* Results that the call in progress is to have, where its rule is the fake function's. */
typedef struct specs {
    int32_t n;
    tn_op_view view[TN_OP_RESULTS];
} specs;
static PY_TLS const specs *asked;

static tn_status shape(const tn_op_args *a)
{
    if (!asked || asked->n != a->n_out)
        return tn_op_error(TN_EINVAL, "the number of results is not the schema's");
    for (int32_t i = 0; i < a->n_out; i++)
        a->out[i] = asked->view[i];
    return TN_OK;
}

/* The text is compiled for one dtype: what it reads and writes has that of input 0. */
static tn_status check_dtypes(const tn_op_args *a)
{
    const tn_dtype d = a->in[0].dtype;
    char text[256];
    for (int32_t i = 0; i < a->n_in + a->n_out; i++) {
        const bool in = i < a->n_in;
        const tn_op_view *v = in ? &a->in[i] : &a->out[i - a->n_in];
        if (v->dtype == d || (in && !v->data && !v->dtype))
            continue;
        snprintf(text, sizeof text, "%s: on the CPU a text computes in one dtype, and %s %d is %s where input 0 is %s",
                 a->name, in ? "input" : "result", (int)(in ? i : i - a->n_in), tn_dtype_name(v->dtype),
                 tn_dtype_name(d));
        return tn_op_error(TN_EDTYPE, text);
    }
    return TN_OK;
}

static tn_status run(const tn_op_args *a, int64_t begin, int64_t end)
{
    const functions *f = a->user;
    void *memory[TN_OP_INPUTS + TN_OP_RESULTS];
    int64_t param[TN_OP_PARAMS];
    const tn_op_view *o = &a->out[0];
    tn_status e = check_dtypes(a);
    if (e)
        return e;
    for (int32_t i = 0; i < a->n_out; i++)
        memory[i] = a->out[i].data;
    for (int32_t i = 0; i < a->n_in; i++)
        memory[a->n_out + i] = a->in[i].data;
    for (int32_t i = 0; i < a->n_params; i++)
        param[i] = a->param[i].v.i; /* of a double: its bits */
    (a->in[0].dtype == TN_F64 ? f->wide : f->narrow)(memory, begin, end, a->items, o->ndim ? o->shape[o->ndim - 1] : 1,
                                                     param);
    return TN_OK;
}

static const tn_op *op_of(PyObject *capsule)
{
    return PyCapsule_GetPointer(capsule, "tn_op");
}

static PyObject *known(PyObject *self, PyObject *name)
{
    (void)self;
    PyObject *bytes = PyUnicode_AsUTF8String(name);
    if (!bytes)
        return NULL;
    const bool there = tn_op_find(PyBytes_AsString(bytes));
    Py_DECREF(bytes);
    return PyBool_FromLong(there);
}

static int dtypes_of(PyObject *list, uint32_t *bits)
{
    *bits = 0;
    for (Py_ssize_t i = 0; i < PyTuple_Size(list); i++) {
        tn_dtype d;
        const int e = py_dtype_from(PyTuple_GetItem(list, i), &d);
        if (e > 0)
            PyErr_SetString(PyExc_TypeError, "dtypes: a list of dtypes was expected");
        if (e)
            return -1;
        *bits |= TN_OP_DTYPE(d);
    }
    return 0;
}

static PyObject *register_op(PyObject *self, PyObject *args)
{
    (void)self;
    tn_op_def d = {.struct_size = sizeof d, .cpu_dtypes = TN_OP_DTYPE(TN_F32) | TN_OP_DTYPE(TN_F64)};
    PyObject *dtypes;
    unsigned long long narrow, wide;
    int ranges, fake;
    if (!PyArg_ParseTuple(args, "siiIsiiO!zsiKKpp:_op_register", &d.name, &d.inputs, &d.results, &d.optional, &d.params,
                          &d.rule, &d.items, &PyTuple_Type, &dtypes, &d.kernel, &d.entry, &d.local, &narrow, &wide,
                          &ranges, &fake) ||
        dtypes_of(dtypes, &d.dtypes))
        return NULL;
    functions *f = narrow ? malloc(sizeof *f) : NULL;
    if (narrow && !f)
        return PyErr_NoMemory();
    if (f) {
        f->narrow = (run_fn)(uintptr_t)narrow;
        f->wide = (run_fn)(uintptr_t)wide;
        d.cpu = run;
        d.grain = ranges ? 0 : INT64_MAX; /* all items in one call */
    }
    d.user = f;
    d.shape = fake ? shape : NULL;
    const tn_op *op = tn_op_register(&d);
    if (op)
        return PyCapsule_New((void *)(uintptr_t)op, "tn_op", NULL);
    free(f);
    return py_raise();
}

/* Tensors, and None where an input is absent. Their number, -1 with an exception. */
static int take_tensors(PyObject *tuple, tn_tensor **t)
{
    const Py_ssize_t n = PyTuple_Size(tuple);
    if (n > TN_OP_INPUTS) {
        PyErr_Format(PyExc_ValueError, "an operation has at most %d inputs", TN_OP_INPUTS);
        return -1;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *o = PyTuple_GetItem(tuple, i);
        if (o != Py_None && !py_is_tensor(o)) {
            PyErr_SetString(PyExc_TypeError, "inputs are tensors, or None");
            return -1;
        }
        t[i] = o == Py_None ? TN_NONE : py_t(o);
    }
    return (int)n;
}

static int take_params(PyObject *tuple, tn_scalar *p)
{
    const Py_ssize_t n = PyTuple_Size(tuple);
    for (Py_ssize_t i = 0; i < n && i < TN_OP_PARAMS; i++) {
        const int e = py_number(PyTuple_GetItem(tuple, i), &p[i]);
        if (e > 0)
            PyErr_SetString(PyExc_TypeError, "parameters are numbers");
        if (e)
            return -1;
    }
    return (int)n;
}

static int take_specs(PyObject *tuple, specs *s)
{
    if (!PyTuple_Check(tuple)) {
        PyErr_SetString(PyExc_TypeError, "specs: a tuple was expected");
        return -1;
    }
    s->n = (int32_t)PyTuple_Size(tuple);
    for (int32_t i = 0; i < s->n && i < TN_OP_RESULTS; i++) {
        PyObject *one = PyTuple_GetItem(tuple, i), *shape_of = PyTuple_Check(one) ? PyTuple_GetItem(one, 1) : NULL;
        if (!shape_of || !PyTuple_Check(shape_of)) {
            PyErr_SetString(PyExc_TypeError, "specs: pairs of a dtype and a shape were expected");
            return -1;
        }
        tn_op_view *v = &s->view[i];
        *v = (tn_op_view){.ndim = (int32_t)PyTuple_Size(shape_of)};
        if (py_dtype_from(PyTuple_GetItem(one, 0), &v->dtype))
            return -1;
        for (int32_t k = 0; k < v->ndim && k < TN_MAX_DIMS; k++)
            if (py_int(PyTuple_GetItem(shape_of, k), &v->shape[k]))
                return -1;
    }
    return 0;
}

typedef struct call {
    const tn_op *op;
    tn_tensor *in[TN_OP_INPUTS];
    tn_scalar param[TN_OP_PARAMS];
    tn_tensors inputs;
    tn_op_params params;
} call;

static int take_call(call *c, PyObject *capsule, PyObject *tensors, PyObject *params)
{
    c->op = op_of(capsule);
    const int n = c->op ? take_tensors(tensors, c->in) : -1, m = n < 0 ? -1 : take_params(params, c->param);
    c->inputs = (tn_tensors){c->in, (size_t)n};
    c->params = (tn_op_params){c->param, (size_t)m};
    return m < 0 ? -1 : 0;
}

static PyObject *call_op(PyObject *self, PyObject *args)
{
    (void)self;
    PyObject *capsule, *tensors, *params, *given;
    call c;
    specs s = {.n = 0};
    tn_tensor *r[TN_OP_RESULTS];
    if (!PyArg_ParseTuple(args, "OO!O!O:_op_call", &capsule, &PyTuple_Type, &tensors, &PyTuple_Type, &params, &given) ||
        take_call(&c, capsule, tensors, params) || (given != Py_None && take_specs(given, &s)))
        return NULL;
    const bool two = tn_op_definition(c.op)->results > 1;
    const tn_op_options o = {.struct_size = sizeof o, .site = "", .params = c.params, .second = two ? &r[1] : NULL};
    Py_BEGIN_ALLOW_THREADS
        ;
        asked = &s;
        r[0] = tn_op_call_opt(c.op, c.inputs, &o);
        asked = NULL;
    Py_END_ALLOW_THREADS;
    if (!r[0])
        return py_raise();
    return two ? py_wrap_tuple(r, 2) : py_wrap(r[0]);
}

static PyObject *check_op(PyObject *self, PyObject *args)
{
    (void)self;
    PyObject *capsule, *tensors, *params;
    call c;
    if (!PyArg_ParseTuple(args, "OO!O!:_op_check", &capsule, &PyTuple_Type, &tensors, &PyTuple_Type, &params) ||
        take_call(&c, capsule, tensors, params))
        return NULL;
    const tn_op_check_options o = {.struct_size = sizeof o, .site = "", .params = c.params};
    tn_status e;
    Py_BEGIN_ALLOW_THREADS
        ;
        e = tn_op_check_opt(c.op, c.inputs, &o);
    Py_END_ALLOW_THREADS;
    return py_done(e);
}

static PyMethodDef functions_of_library[] = {
    {"_op_known", known, METH_O, "_op_known(name) -> bool"},
    {"_op_register", register_op, METH_VARARGS,
     "_op_register(name, inputs, results, optional, params, rule, items, dtypes, kernel, entry, local, narrow, wide, "
     "ranges, fake) "
     "-> object"},
    {"_op_call", call_op, METH_VARARGS, "_op_call(op, tensors, params, specs) -> object"},
    {"_op_check", check_op, METH_VARARGS, "_op_check(op, tensors, params) -> None"},
    {NULL, NULL, 0, NULL},
};

int py_add_library(PyObject *module)
{
    return PyModule_AddFunctions(module, functions_of_library);
}
