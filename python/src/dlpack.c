/* dlpack.c: capsules of DLPack, in which array libraries give each other their memory. The protocol is spoken in
 * tenon/_tensor.py and tenon/utils/dlpack.py. */
#include "py.h"

#include <tenon/dlpack.h>

static const char *const plain = "dltensor", *const versioned = "dltensor_versioned";

/* ---- out: a capsule that nobody took gives its memory back when it goes ---- */

static void drop_plain(PyObject *capsule)
{
    if (!PyCapsule_IsValid(capsule, plain)) /* taken: its name says so */
        return;
    tn_dl_managed *m = PyCapsule_GetPointer(capsule, plain);
    if (m && m->deleter)
        m->deleter(m);
}

static void drop_versioned(PyObject *capsule)
{
    if (!PyCapsule_IsValid(capsule, versioned))
        return;
    tn_dl_managed_versioned *m = PyCapsule_GetPointer(capsule, versioned);
    if (m && m->deleter)
        m->deleter(m);
}

/* What cannot be exported is a BufferError. */
static PyObject *refuse(tn_tensor *t)
{
    if (tn_tensor_device(t).type == TN_DEVICE_META)
        PyErr_SetString(PyExc_BufferError, "Cannot pack tensors on meta");
    else if (tn_error_code() == TN_EGRAD || tn_error_code() == TN_EINVAL || tn_error_code() == TN_EVALUE)
        PyErr_SetString(PyExc_BufferError, tn_error_message());
    return py_raise();
}

/* _to_dlpack(tensor, stream, with a version?, is it a copy?) -> capsule */
static PyObject *to_dlpack(PyObject *self, PyObject *args)
{
    PyObject *o, *capsule = NULL;
    long long stream;
    int with_version, copied;
    void *m;
    (void)self;
    if (!PyArg_ParseTuple(args, "O!Lpp:_to_dlpack", py_tensor_type, &o, &stream, &with_version, &copied))
        return NULL;
    tn_tensor *t = py_t(o);
    tn_error_clear();
    PY_BEGIN_OWNING(t)
        m = with_version ? (void *)tn_to_dlpack(t, stream) : (void *)tn_to_dlpack_legacy(t, stream);
    PY_END_OWNING
    if (!m)
        return refuse(t);
    if (with_version && copied)
        ((tn_dl_managed_versioned *)m)->flags |= TN_DL_IS_COPIED;
    capsule = with_version ? PyCapsule_New(m, versioned, drop_versioned) : PyCapsule_New(m, plain, drop_plain);
    if (!capsule && with_version)
        ((tn_dl_managed_versioned *)m)->deleter(m);
    else if (!capsule)
        ((tn_dl_managed *)m)->deleter(m);
    return capsule;
}

/* ---- in ---- */

/* _from_dlpack(capsule) -> tensor; the capsule is used up. */
static PyObject *from_dlpack(PyObject *self, PyObject *o)
{
    (void)self;
    bool old = PyCapsule_IsValid(o, plain);
    if (!old && !PyCapsule_IsValid(o, versioned))
        return PyErr_Format(PyExc_RuntimeError,
                            "from_dlpack received an invalid capsule. Note that DLTensor capsules can be "
                            "consumed only once, so you might have already constructed a tensor from it once.");
    void *m = PyCapsule_GetPointer(o, old ? plain : versioned);
    tn_tensor *t;
    PY_BEGIN_OWNING(NULL)
        t = old ? tn_from_dlpack_legacy(m) : tn_from_dlpack(m);
    PY_END_OWNING
    if (!t)
        return py_raise();
    if (PyCapsule_SetName(o, old ? "used_dltensor" : "used_dltensor_versioned")) { /* cannot be: its name was read */
        PyErr_Clear();
        PyCapsule_SetDestructor(o, NULL);
    }
    return py_wrap(t);
}

PyObject *py_from_dlpack(PyObject *o)
{
    PyObject *module = PyImport_ImportModule("tenon.utils.dlpack");
    PyObject *t = module ? PyObject_CallMethod(module, "from_dlpack", "(O)", o) : NULL;
    Py_XDECREF(module);
    return t;
}

static PyMethodDef functions[] = {
    {"_to_dlpack", to_dlpack, METH_VARARGS, NULL},
    {"_from_dlpack", from_dlpack, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

int py_add_dlpack(PyObject *module)
{
    return PyModule_AddFunctions(module, functions);
}
