/* repr.c: print(x), as PyTorch prints: the library writes the text. */
#include "py.h"

#include <stdlib.h>

/* The library's text of a tensor. Values are read from the device, so it may wait. */
static char *text_of(tn_tensor *t, int64_t *length)
{
    char *text = NULL;
    for (size_t room = 1024;; room = (size_t)*length + 1) {
        char *more = realloc(text, room);
        if (!more) {
            free(text);
            return NULL;
        }
        text = more;
        PY_BEGIN_OWNING(t)
            *length = tn_to_string(t, text, room);
        PY_END_OWNING
        if (*length < (int64_t)room)
            return text;
    }
}

PyObject *py_tensor_repr(PyObject *self)
{
    int64_t length = -1;
    char *text = text_of(py_t(self), &length);
    if (!text)
        return PyErr_NoMemory();
    PyObject *r = length < 0 ? py_raise() : PyUnicode_DecodeUTF8(text, (Py_ssize_t)length, "replace");
    free(text);
    return r;
}
