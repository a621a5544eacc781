/* signature.c: PyTorch's signatures of functions that are written in Python. What they are called with is read as the arguments
 * of the list's functions are, so that what fits none of them raises PyTorch's TypeError; the values are Python's own affair. */
#include "args.h"
#include "out.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct signature {
    py_function f;
    PyObject *texts; /* that f.text points into */
    char name[64];
} signature;

static void signature_free(PyObject *capsule)
{
    signature *s = PyCapsule_GetPointer(capsule, NULL);
    free(s->f.parsed);
    Py_DECREF(s->texts);
    PyMem_Free(s);
}

static PyObject *check(PyObject *capsule, PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *names)
{
    py_value v[PY_MAX_SLOTS + 2];
    signature *s = PyCapsule_GetPointer(capsule, NULL);
    int which = s ? py_parse(&s->f, self, args, n, names, v) : -1;
    if (which < 0)
        return NULL;
    bool ok = s->f.out < 0 || !v[s->f.out].given || py_out_begin(&s->f, which, v);
    py_values_free(&s->f, which, v);
    return ok ? Py_NewRef(Py_None) : NULL;
}

static PyObject *check_function(PyObject *capsule, PyObject *const *args, Py_ssize_t n, PyObject *names)
{
    return check(capsule, NULL, args, n, names);
}

static PyObject *check_method(PyObject *capsule, PyObject *const *args, Py_ssize_t n, PyObject *names)
{
    if (n < 1) {
        PyErr_SetString(PyExc_TypeError, "a method needs its tensor");
        return NULL;
    }
    return check(capsule, args[0], args + 1, n - 1, names);
}

static bool read_texts(signature *s)
{
    const Py_ssize_t count = PyTuple_Size(s->texts);
    bool ok = count >= 1 && count <= PY_MAX_SIGNATURES;
    for (Py_ssize_t i = 0; ok && i < count; i++) {
        PyObject *text = PyTuple_GetItem(s->texts, i);
        s->f.text[i] = PyUnicode_Check(text) ? PyUnicode_AsUTF8AndSize(text, NULL) : NULL;
        ok = s->f.text[i] && strchr(s->f.text[i], '(');
    }
    if (!ok && !PyErr_Occurred())
        PyErr_SetString(PyExc_ValueError, "signatures, as the list of operations has them, are asked for");
    return ok;
}

/* _signature(text, ...) -> what raises for arguments that do not fit, called as the function is, and as the method is */
static PyObject *signature_new(PyObject *module, PyObject *texts)
{
    static PyMethodDef forms[] = {
        {"function", (PyCFunction)(void (*)(void))check_function, METH_FASTCALL | METH_KEYWORDS, NULL},
        {"method", (PyCFunction)(void (*)(void))check_method, METH_FASTCALL | METH_KEYWORDS, NULL},
    };
    signature *s = PyMem_Calloc(1, sizeof *s);
    PyObject *function, *method, *pair, *capsule = s ? PyCapsule_New(s, NULL, signature_free) : NULL;
    (void)module;
    if (!capsule) {
        PyMem_Free(s);
        return PyErr_NoMemory();
    }
    s->texts = Py_NewRef(texts);
    if (!read_texts(s)) {
        Py_DECREF(capsule);
        return NULL;
    }
    snprintf(s->name, sizeof s->name, "%.*s", (int)strcspn(s->f.text[0], "("), s->f.text[0]);
    s->f.name = s->name;
    function = PyCFunction_New(&forms[0], capsule);
    method = PyCFunction_New(&forms[1], capsule);
    pair = function && method ? PyTuple_Pack(2, function, method) : NULL;
    Py_XDECREF(function);
    Py_XDECREF(method);
    Py_DECREF(capsule);
    return pair;
}

int py_add_signatures(PyObject *module)
{
    static PyMethodDef functions[] = {{"_signature", signature_new, METH_VARARGS, NULL}, {NULL, NULL, 0, NULL}};
    return PyModule_AddFunctions(module, functions);
}
