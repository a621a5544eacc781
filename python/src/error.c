/* error.c: the library's error record as a Python exception. */
#include "py.h"

PyObject *py_out_of_memory, *py_accelerator_error;

/* Errors of values that PyTorch raises as RuntimeError, or as a class derived from it. */
static PyObject *by_text(const char *text)
{
    static const char *const dtypes[] = {"argmax(): does not support bool",
                                         "argmin(): does not support bool",
                                         "Boolean inputs not supported for relu",
                                         "Negation, the `-` operator",
                                         "Subtraction, the `-` operator",
                                         "linalg.matrix_norm: Expected a floating",
                                         "linalg.matrix_norm: Low precision",
                                         "linalg.vector_norm: Expected a floating",
                                         "mean(): could not infer output dtype.",
                                         "norm(): input dtype should be either floating",
                                         "std and var only support",
                                         "std_mean only support",
                                         "var_mean only support"};
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
        if (!strncmp(text, dtypes[i], strlen(dtypes[i])))
            return PyExc_NotImplementedError; /* a RuntimeError too */
    if (strstr(text, "not implemented for '"))
        return PyExc_NotImplementedError;
    static const char *const adders[] = {"gather",      "scatter",     "scatter_add", "scatter_mul",
                                         "scatter_max", "scatter_min", "index_add"};
    const char *by = strncmp(text, "index ", 6) || strstr(text, " on cuda:") ? NULL : strstr(text, "\n  seen by ");
    for (size_t i = 0; by && i < sizeof adders / sizeof *adders; i++)
        if (!strcmp(by + strlen("\n  seen by "), adders[i]))
            return PyExc_RuntimeError; /* of an index: theirs alone are no IndexError in PyTorch */
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

/* What the library's help says in C, and what stands for it in Python; longer ones before what they begin with. */
static const char *const in_c_and_python[][2] = {
    {"\n  in C: tn_data(tn_cpu(t))", ""},
    {"\n  tn_event_new(TN_EVENT_TIMING)", ""},
    {"tn_to(x, .device = tn_device_parse(\"meta\"))", "x.to('meta')"},
    {"tn_cuda(x, ", "x.cuda("},
    {"tn_cpu(x)", "x.cpu()"},
    {"tn_cpu(t)", "t.cpu()"},
    {"tn_empty_cache()", "torch.cuda.empty_cache()"},
    {"tn_tensor_set_data", "Tensor.data"},
    {"tn_cuda_", "torch.cuda."},
    {"tn_", ""},
    {"TN_NONE", "None"},
};

/* A word of C at p: its length, or 0; and what Python says for it, *n bytes. */
static size_t word_of_c(const char *p, const char **python, size_t *n)
{
    for (size_t i = 0; i < sizeof in_c_and_python / sizeof *in_c_and_python; i++) {
        size_t length = strlen(in_c_and_python[i][0]);
        if (!strncmp(p, in_c_and_python[i][0], length)) {
            *python = in_c_and_python[i][1];
            *n = strlen(*python);
            return length;
        }
    }
    size_t digits = strncmp(p, "TN_CUDA(", 8) ? 0 : strspn(p + 8, "0123456789");
    if (!digits || p[8 + digits] != ')')
        return 0;
    *python = p + 8;
    *n = digits;
    return digits + 9;
}

static bool inside_a_word(const char *text, const char *p)
{
    return p > text && (p[-1] == '_' || (p[-1] >= '0' && p[-1] <= '9') || ((p[-1] | 32) >= 'a' && (p[-1] | 32) <= 'z'));
}

/* The library's text as Python says it: a new string. */
static PyObject *in_python(const char *text)
{
    char out[8192]; /* twice the longest text: nothing above is more than twice as long in Python */
    size_t at = 0;
    for (const char *p = text; *p && at < sizeof out - 64;) {
        const char *python = p;
        size_t n = 1, length = *p == '\n' || *p == 't' || *p == 'T' ? word_of_c(p, &python, &n) : 0;
        if (!length || inside_a_word(text, p)) {
            out[at++] = *p++;
            continue;
        }
        memcpy(out + at, python, n);
        at += n;
        p += length;
    }
    return PyUnicode_DecodeUTF8(out, (Py_ssize_t)at, "replace");
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

int py_warn_once(bool *warned, const char *text)
{
    if (!py_warns(warned))
        return 0;
    return PyErr_WarnEx(PyExc_UserWarning, text, 1);
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
