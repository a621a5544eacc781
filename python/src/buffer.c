/* buffer.c: memory shared with Python: NumPy's arrays as tensors, tensors as buffers, without importing NumPy. */
#include "py.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- letting go of a buffer from any thread: one that may not hold the GIL leaves it to the interpreter's next pause ---- */

typedef struct held {
    Py_buffer view;
    PyObject *object; /* beside the view, or instead of it */
    struct held *next;
} held;

static _Atomic(held *) left;
PY_TLS int py_holds_gil; /* > 0: this thread is known to hold it */

static void let_go(held *h)
{
    int holds = py_holds_gil;
    py_holds_gil = 0; /* what runs now may give the GIL away */
    if (h->view.obj)
        PyBuffer_Release(&h->view);
    Py_XDECREF(h->object);
    free(h);
    py_holds_gil = holds;
}

static int let_go_all(void *unused)
{
    (void)unused;
    held *h = atomic_exchange(&left, NULL);
    while (h) {
        held *next = h->next;
        let_go(h);
        h = next;
    }
    return 0;
}

static void release(void *ctx)
{
    held *h = ctx;
    if (py_holds_gil) {
        let_go(h);
        return;
    }
    if (!Py_IsInitialized()) /* the interpreter is over: what it held goes with the process */
        return;
    h->next = atomic_load(&left);
    while (!atomic_compare_exchange_weak(&left, &h->next, h))
        ;
    Py_AddPendingCall(let_go_all, NULL); /* a full queue: the next one that is left takes this along */
}

void py_release_later(void *object)
{
    held *h = calloc(1, sizeof *h);
    if (!h) /* better a leak than a crash without the GIL */
        return;
    h->object = object;
    release(h);
}

/* ---- a buffer as a tensor ---- */

static tn_dtype dtype_of_format(const char *format, Py_ssize_t size)
{
    if (!format)
        return TN_U8;
    char c = *format == '@' || *format == '=' ? format[1] : *format;
    const char *rest = format + (*format == '@' || *format == '=') + 1;
    if (!c || *rest)
        return 0;
    if (strchr("lnLN", c)) /* C's long and ssize_t */
        c = (size == 8 ? "qQ" : "iI")[c == 'L' || c == 'N'];
    for (tn_dtype d = 1; d < (tn_dtype)PY_DTYPES; d++)
        if (*py_dtypes[d].format == c && py_dtypes[d].size == size)
            return d;
    return 0;
}

static PyObject *wrong_dtype(PyObject *array)
{
    PyObject *dtype = PyObject_GetAttrString(array, "dtype"),
             *type = dtype ? PyObject_GetAttrString(dtype, "type") : NULL;
    PyObject *name = type ? PyObject_GetAttrString(type, "__name__") : NULL;
    PyErr_Clear();
    PyErr_Format(PyExc_TypeError,
                 "can't convert np.ndarray of type numpy.%S. The only supported types are: float64, float32, float16, "
                 "int64, int32, int16, int8, uint64, uint32, uint16, uint8, and bool.",
                 name ? name : Py_None);
    Py_XDECREF(dtype);
    Py_XDECREF(type);
    Py_XDECREF(name);
    return NULL;
}

/* The strides of a view in elements; -1 with PyTorch's error. */
static int strides_of(const Py_buffer *view, int64_t *stride)
{
    for (int i = 0; i < view->ndim; i++) {
        if (view->strides[i] < 0) {
            PyErr_SetString(
                PyExc_ValueError,
                "At least one stride in the given numpy array is negative, and tensors with negative strides are "
                "not currently supported. (You can probably work around this by making a copy of your array  "
                "with array.copy().) ");
            return -1;
        }
        if (view->strides[i] % view->itemsize && view->shape[i] > 1) {
            PyErr_SetString(PyExc_ValueError,
                            "given numpy array strides not a multiple of the element byte size. Copy the "
                            "numpy array to reallocate the memory.");
            return -1;
        }
        stride[i] = view->strides[i] / view->itemsize;
    }
    return 0;
}

static int warn_read_only(void)
{
    static bool warned;
    return py_warn_once(
        &warned,
        "The given NumPy array is not writable, and PyTorch does not support non-writable tensors. This means "
        "writing to this tensor will result in undefined behavior. You may want to copy the array to protect "
        "its data or make it writable before converting it to a tensor. This type of warning will be "
        "suppressed for the rest of this program. (Tenon does: it refuses in-place operations on this tensor.)");
}

/* *owned: a tensor was made, which lets go of h. */
static PyObject *tensor_of(held *h, PyObject *array, bool *owned)
{
    static char nothing[64];
    int64_t stride[TN_MAX_DIMS], shape[TN_MAX_DIMS];
    Py_buffer *view = &h->view;
    *owned = false;
    if (view->format && strchr("<>!", *view->format) && view->itemsize > 1)
        return PyErr_Format(PyExc_ValueError, "given numpy array has byte order different from the native byte order. "
                                              "Conversion between byte orders is currently not supported.");
    tn_dtype dtype = dtype_of_format(view->format, view->itemsize);
    if (!dtype)
        return wrong_dtype(array);
    if (view->ndim > TN_MAX_DIMS)
        return PyErr_Format(PyExc_ValueError, "the array has %d dimensions, tensors have at most %d", view->ndim,
                            TN_MAX_DIMS);
    if (strides_of(view, stride))
        return NULL;
    for (int i = 0; i < view->ndim; i++)
        shape[i] = view->shape[i];
    tn_from_data_options o = {.struct_size = sizeof o,
                              .site = "",
                              .stride = tn_dims_of(stride, view->ndim),
                              .release = release,
                              .ctx = h,
                              .read_only = view->readonly != 0};
    tn_tensor *t =
        (tn_from_data_opt)(view->len ? view->buf : nothing, dtype, TN__DIMS(tn_dims_of(shape, view->ndim)), &o);
    *owned = t != NULL;
    return py_wrap(t);
}

PyObject *py_from_numpy(PyObject *array, bool copied)
{
    held *h = calloc(1, sizeof *h);
    if (!h)
        return PyErr_NoMemory();
    if (PyObject_GetBuffer(array, &h->view, PyBUF_RECORDS_RO)) {
        free(h);
        return PyErr_ExceptionMatches(PyExc_ValueError) || PyErr_ExceptionMatches(PyExc_BufferError)
                   ? wrong_dtype(array)
                   : NULL;
    }
    bool owned = false, refused = !copied && h->view.readonly && warn_read_only();
    PyObject *t = refused ? NULL : tensor_of(h, array, &owned);
    if (!owned)
        let_go(h);
    return t;
}

static int warn_read_only_buffer(void)
{
    static bool warned;
    return py_warn_once(
        &warned,
        "The given buffer is not writable, and PyTorch does not support non-writable tensors. This means you can write "
        "to the underlying (supposedly non-writable) buffer using the tensor. You may want to copy the buffer to "
        "protect its data or make it writable before converting it to a tensor. This type of warning will be "
        "suppressed for the rest of this program.");
}

PyObject *py_from_buffer(PyObject *buffer, tn_dtype dtype, int64_t count, int64_t offset)
{
    int64_t size = (int64_t)tn_dtype_size(dtype);
    held *h = calloc(1, sizeof *h);
    if (!h)
        return PyErr_NoMemory();
    if (!PyObject_CheckBuffer(buffer) || PyObject_GetBuffer(buffer, &h->view, PyBUF_SIMPLE)) {
        bool has_one = PyErr_Occurred() != NULL;
        free(h);
        PyErr_Clear();
        return has_one
                   ? PyErr_Format(PyExc_RuntimeError, "could not retrieve a contiguous buffer from the given object "
                                                      "(non-contiguous buffers are not supported)")
                   : PyErr_Format(PyExc_ValueError, "object does not implement Python buffer protocol.");
    }
    int64_t bytes = h->view.len;
    if (h->view.readonly && warn_read_only_buffer()) {
        let_go(h);
        return NULL;
    }
    if (bytes == 0 || count == 0)
        PyErr_Format(PyExc_ValueError, "both buffer length (%lld) and count (%lld) must not be 0", (long long)bytes,
                     (long long)count);
    else if (offset < 0 || offset >= bytes)
        PyErr_Format(PyExc_ValueError,
                     "offset (%lld bytes) must be non-negative and no greater than buffer length (%lld bytes) minus 1",
                     (long long)offset, (long long)bytes);
    else if (count < 0 && (bytes - offset) % size)
        PyErr_Format(PyExc_ValueError,
                     "buffer length (%lld bytes) after offset (%lld bytes) must be a multiple of element size (%lld)",
                     (long long)(bytes - offset), (long long)offset, (long long)size);
    else if (count >= 0 && count > (bytes - offset) / size)
        PyErr_Format(PyExc_ValueError,
                     "requested buffer length (%lld * %lld bytes) after offset (%lld bytes) must not be greater than "
                     "actual buffer "
                     "length (%lld bytes)",
                     (long long)count, (long long)size, (long long)offset, (long long)bytes);
    else if (((uintptr_t)h->view.buf + (uintptr_t)offset) % (uintptr_t)size)
        PyErr_Format(PyExc_ValueError, "the buffer is not aligned for elements of %lld bytes at offset %lld",
                     (long long)size, (long long)offset);
    if (PyErr_Occurred()) {
        let_go(h);
        return NULL;
    }
    int64_t shape[1] = {count < 0 ? (bytes - offset) / size : count};
    tn_from_data_options o = {
        .struct_size = sizeof o, .site = "", .release = release, .ctx = h, .read_only = h->view.readonly != 0};
    tn_tensor *t = (tn_from_data_opt)((char *)h->view.buf + offset, dtype, TN__DIMS(tn_dims_of(shape, 1)), &o);
    if (!t)
        let_go(h);
    return py_wrap(t);
}

/* ---- a tensor as a buffer ---- */

/* What the view needs beside the memory; sizes in bytes. */
typedef struct exported {
    tn_tensor *t; /* keeps the memory, whatever becomes of the tensor */
    Py_ssize_t shape[TN_MAX_DIMS + 1], stride[TN_MAX_DIMS + 1];
} exported;

static int refuse(Py_buffer *view, const char *why)
{
    view->obj = NULL;
    PyErr_SetString(PyExc_BufferError, why);
    return -1;
}

/* Do its elements lie as the flags ask: row-major, column-major, or one of both? */
static bool has_order(tn_tensor *t, int flags)
{
    bool rows = tn_tensor_is_contiguous(t), columns = true;
    tn_dims shape = tn_tensor_shape(t), stride = tn_tensor_stride(t);
    int64_t step = 1;
    for (int32_t d = 0; d < shape.ndim; step *= shape.dim[d++])
        columns = columns && (shape.dim[d] == 1 || stride.dim[d] == step);
    columns = columns || !tn_tensor_numel(t);
    if ((flags & PyBUF_ANY_CONTIGUOUS) == PyBUF_ANY_CONTIGUOUS)
        return rows || columns;
    if ((flags & PyBUF_C_CONTIGUOUS) == PyBUF_C_CONTIGUOUS && !rows)
        return false;
    return (flags & PyBUF_F_CONTIGUOUS) != PyBUF_F_CONTIGUOUS || columns;
}

static int get_buffer(PyObject *self, Py_buffer *view, int flags)
{
    static char nothing[64];
    tn_tensor *t = py_t(self);
    tn_dtype dtype = tn_tensor_dtype(t);
    const char *format = py_dtypes[dtype].format;
    if (tn_tensor_device(t).type != TN_DEVICE_CPU)
        return refuse(view, "the tensor's memory is not the host's: call .cpu() first");
    if (!*format)
        return refuse(view, "buffers have no such dtype");
    if (tn_is_grad_enabled() && tn_tensor_requires_grad(t))
        return refuse(view, "the tensor requires grad: call .detach() first");
    if ((flags & PyBUF_STRIDES) != PyBUF_STRIDES && !tn_tensor_is_contiguous(t))
        return refuse(view, "the tensor is not contiguous");
    if (!has_order(t, flags))
        return refuse(view, "the tensor's memory does not lie in the order that is asked for");
    if (flags & PyBUF_WRITABLE && tn_tensor_is_read_only(t))
        return refuse(view, "the tensor shows read-only memory");
    exported *e = calloc(1, sizeof *e);
    tn_tensor *alias = e ? tn_detach(t) : NULL;
    if (!alias) {
        free(e);
        view->obj = NULL;
        if (!e)
            PyErr_NoMemory();
        else
            py_raise();
        return -1;
    }
    tn_dims shape = tn_tensor_shape(t), stride = tn_tensor_stride(t);
    e->t = alias;
    view->itemsize = (Py_ssize_t)tn_dtype_size(dtype);
    for (int i = 0; i < shape.ndim; i++) {
        e->shape[i] = (Py_ssize_t)shape.dim[i];
        e->stride[i] = (Py_ssize_t)stride.dim[i] * view->itemsize;
    }
    void *data = tn_tensor_numel(t) ? tn_data(alias) : nothing;
    if (!data) { /* a fake GPU's copy is still to come */
        view->obj = NULL;
        py_raise();
        tn_release(alias);
        free(e);
        return -1;
    }
    view->buf = data;
    view->obj = Py_NewRef(self);
    view->len = (Py_ssize_t)tn_tensor_numel(t) * view->itemsize;
    view->readonly = tn_tensor_is_read_only(t);
    view->ndim = flags & PyBUF_ND ? shape.ndim : 1;
    view->format = flags & PyBUF_FORMAT ? (char *)(uintptr_t)format : NULL;
    view->shape = flags & PyBUF_ND ? e->shape : NULL;
    view->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? e->stride : NULL;
    view->suboffsets = NULL;
    view->internal = e;
    return 0;
}

static void release_buffer(PyObject *self, Py_buffer *view)
{
    exported *e = view->internal;
    (void)self;
    tn_release(e->t);
    free(e);
}

const PyType_Slot py_buffer_slots[] = {
    {Py_bf_getbuffer, (void *)get_buffer},
    {Py_bf_releasebuffer, (void *)release_buffer},
    {0, NULL},
};

/* ---- Tensor.numpy() ---- */

static PyObject *as_array(PyObject *self)
{
    PyObject *numpy = PyImport_ImportModule("numpy");
    PyObject *view = numpy ? PyMemoryView_FromObject(self) : NULL;
    PyObject *array = view ? PyObject_CallMethod(numpy, "asarray", "(O)", view) : NULL;
    Py_XDECREF(view);
    Py_XDECREF(numpy);
    return array;
}

PyObject *py_to_numpy(PyObject *self)
{
    tn_tensor *t = py_t(self);
    tn_device device = tn_tensor_device(t);
    if (tn_tensor_dtype(t) == TN_BF16)
        return PyErr_Format(PyExc_TypeError, "Got unsupported ScalarType BFloat16");
    if (tn_is_grad_enabled() && tn_tensor_requires_grad(t))
        return PyErr_Format(PyExc_RuntimeError,
                            "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.");
    if (device.type != TN_DEVICE_CPU)
        return PyErr_Format(
            PyExc_TypeError,
            "can't convert %s device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first.",
            tn_device_text(device).s);
    return as_array(self);
}
