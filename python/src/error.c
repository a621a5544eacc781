/* error.c: the library's error record as a Python exception. */
#include "py.h"

PyObject *py_out_of_memory, *py_accelerator_error;

/* Errors of values that PyTorch raises as RuntimeError, or as a class derived from it. */
static PyObject *by_text(const char *text)
{
    if (strstr(text, "not implemented for '") || !strncmp(text, "Negation, the `-` operator", 26) ||
        !strncmp(text, "Subtraction, the `-` operator", 29) ||
        !strncmp(text, "linalg.matrix_norm: Expected a floating", 39) ||
        !strncmp(text, "linalg.matrix_norm: Low precision", 33))
        return PyExc_NotImplementedError; /* a RuntimeError too */
    if (!strncmp(text, "argmax(): Expected reduction", 28) || !strncmp(text, "argmin(): Expected reduction", 28))
        return PyExc_IndexError;
    if (!strncmp(text, "ZeroDivisionError", 17) || !strncmp(text, "Integers to negative integer powers", 35))
        return PyExc_RuntimeError;
    return NULL;
}

static PyObject *exception_of(tn_status code, const char *text)
{
    PyObject *named = by_text(text);
    if (named)
        return named;
    switch (code) {
    case TN_ENOMEM: return py_out_of_memory;
    case TN_EDEVICE: return strncmp(text, "CUDA error", 10) ? PyExc_RuntimeError : py_accelerator_error;
    case TN_EINDEX: return PyExc_IndexError;
    case TN_EVALUE:
    case TN_EFORMAT: return PyExc_ValueError;
    case TN_ETYPE: return PyExc_TypeError;
    case TN_EIO: return PyExc_OSError;
    case TN_EMISSING: return PyExc_NotImplementedError;
    default: return PyExc_RuntimeError;
    }
}

/* The library's help names C's calls: here Python's stand for them. Returns a new string. */
static PyObject *in_python(const char *text)
{
    static const char *const calls[][2] = {
        {"tn_cuda(x, ", "x.cuda("},
        {"tn_cpu(x)", "x.cpu()"},
        {"tn_cpu(t)", "t.cpu()"},
        {"tn_empty_cache()", "torch.cuda.empty_cache()"},
        {"tn_cuda_set_per_process_memory_fraction", "torch.cuda.set_per_process_memory_fraction"},
    };
    PyObject *s = PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
    for (size_t i = 0; s && i < sizeof calls / sizeof *calls; i++)
        if (strstr(text, calls[i][0])) {
            PyObject *next = PyObject_CallMethod(s, "replace", "ss", calls[i][0], calls[i][1]);
            Py_DECREF(s);
            s = next;
        }
    return s;
}

PyObject *py_raise(void)
{
    tn_status code = tn_error_code();
    const char *text = code ? tn_error_message() : "a call failed and set no error: this is a bug of Tenon";
    if (!PyErr_Occurred()) {
        PyObject *message = in_python(text);
        if (message)
            PyErr_SetObject(exception_of(code, text), message);
        Py_XDECREF(message);
    }
    tn_error_clear();
    return NULL;
}

PyObject *py_done(tn_status status)
{
    if (status)
        return py_raise();
    Py_RETURN_NONE;
}

int py_add_errors(PyObject *module)
{
    py_out_of_memory = PyErr_NewExceptionWithDoc(
        "tenon.OutOfMemoryError", "A device has too little memory. Nothing has changed: the call can be tried again.",
        PyExc_RuntimeError, NULL);
    py_accelerator_error =
        PyErr_NewExceptionWithDoc("tenon.AcceleratorError", "An error of a GPU's driver.", PyExc_RuntimeError, NULL);
    if (!py_out_of_memory || !py_accelerator_error)
        return -1;
    return PyModule_AddObjectRef(module, "OutOfMemoryError", py_out_of_memory) ||
                   PyModule_AddObjectRef(module, "AcceleratorError", py_accelerator_error)
               ? -1
               : 0;
}
