/* error.c: the library's error record as a Python exception. */
#include "py.h"

PyObject *py_out_of_memory, *py_accelerator_error;

static PyObject *exception_of(tn_status code, const char *text)
{
    if (strstr(text, "not implemented for '") || !strncmp(text, "Negation, the `-` operator", 26))
        return PyExc_NotImplementedError; /* a RuntimeError too */
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

PyObject *py_raise(void)
{
    tn_status code = tn_error_code();
    const char *text = tn_error_message();
    if (!PyErr_Occurred())
        PyErr_SetString(exception_of(code, text), code ? text : "a call failed and set no error: this is a bug of Tenon");
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
    py_accelerator_error = PyErr_NewExceptionWithDoc("tenon.AcceleratorError", "An error of a GPU's driver.",
                                                     PyExc_RuntimeError, NULL);
    if (!py_out_of_memory || !py_accelerator_error)
        return -1;
    return PyModule_AddObjectRef(module, "OutOfMemoryError", py_out_of_memory) ||
                   PyModule_AddObjectRef(module, "AcceleratorError", py_accelerator_error)
               ? -1
               : 0;
}
