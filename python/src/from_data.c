/* from_data.c: torch.tensor: nested lists of numbers become a tensor. Two passes: what is it, then its elements. */
#include "py.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- the first pass: shape, from the first item of each level, and the dtype that holds all numbers ---- */

typedef struct survey {
    int32_t ndim;
    int64_t shape[TN_MAX_DIMS];
    tn_dtype dtype; /* of all numbers seen so far; 0: none */
} survey;

static bool is_text(PyObject *o)
{
    return PyUnicode_Check(o) || PyBytes_Check(o);
}

/* An array inside a list is read as a list; one without dimensions is a number. */
static bool has_dimensions(PyObject *array)
{
    Py_ssize_t n = PySequence_Size(array);
    PyErr_Clear();
    return n >= 0;
}

static bool is_sequence(PyObject *o)
{
    if (py_is_ndarray(o))
        return has_dimensions(o);
    return PyList_Check(o) || PyTuple_Check(o) ||
           (PySequence_Check(o) && !is_text(o) && !py_is_tensor(o) && !py_is_numpy_scalar(o) && !PyDict_Check(o));
}

static int too_deep(PyObject *o)
{
    PyObject *name = PyType_GetName(Py_TYPE(o));
    if (name)
        PyErr_Format(PyExc_ValueError, "too many dimensions '%U'", name);
    Py_XDECREF(name);
    return -1;
}

static int unknown_shape(PyObject *o)
{
    PyErr_Clear();
    PyObject *name = PyType_GetName(Py_TYPE(o));
    if (name)
        PyErr_Format(PyExc_ValueError, "could not determine the shape of object type '%U'", name);
    Py_XDECREF(name);
    return -1;
}

static int find_shape(PyObject *o, survey *s)
{
    PyObject *at = Py_NewRef(o);
    while (is_sequence(at)) {
        Py_ssize_t n = PySequence_Size(at);
        if (n < 0 || s->ndim == TN_MAX_DIMS) {
            int status = n < 0 ? -1 : too_deep(at);
            Py_DECREF(at);
            return status;
        }
        s->shape[s->ndim++] = n;
        if (!n)
            break;
        PyObject *first = PySequence_GetItem(at, 0);
        Py_DECREF(at);
        if (!first)
            return unknown_shape(o);
        at = first;
    }
    int status = s->ndim && is_text(at) ? too_deep(at) : 0;
    Py_DECREF(at);
    return status;
}

/* Of a NumPy scalar or a 0-dim array: its own dtype counts. */
static tn_dtype numpy_dtype(PyObject *o)
{
    PyObject *dtype = PyObject_GetAttrString(o, "dtype"), *name = dtype ? PyObject_Str(dtype) : NULL;
    const char *text = name ? PyUnicode_AsUTF8AndSize(name, NULL) : NULL;
    tn_dtype v = text ? tn_dtype_parse(text) : 0;
    if (text && !v)
        py_raise();
    Py_XDECREF(dtype);
    Py_XDECREF(name);
    return v;
}

/* The dtype of one number; 0 with an exception. */
static tn_dtype number_dtype(PyObject *o)
{
    if (PyBool_Check(o))
        return TN_BOOL;
    if (PyLong_Check(o))
        return TN_I64;
    if (PyFloat_CheckExact(o))
        return tn_get_default_dtype();
    if (py_is_tensor(o))
        return tn_tensor_dtype(py_t(o));
    if (py_is_numpy_scalar(o) || py_is_ndarray(o))
        return numpy_dtype(o);
    if (PyFloat_Check(o))
        return tn_get_default_dtype();
    if (PyComplex_Check(o))
        PyErr_SetString(PyExc_RuntimeError, "Tenon has no complex numbers");
    else if (PyIndex_Check(o))
        return TN_I64;
    else {
        PyObject *name = PyType_GetName(Py_TYPE(o));
        if (name && is_text(o))
            PyErr_Format(PyExc_TypeError, "new(): invalid data type '%U'", name);
        else if (name)
            PyErr_Format(PyExc_RuntimeError, "Could not infer dtype of %U", name);
        Py_XDECREF(name);
    }
    return 0;
}

static int ragged(int64_t want, int level, int64_t got)
{
    PyErr_Format(PyExc_ValueError, "expected sequence of length %lld at dim %d (got %lld)", (long long)want, level,
                 (long long)got);
    return -1;
}

typedef int leaf(PyObject *o, void *ctx);

/* Calls f for each number, in row-major order, after checking that the sequences have the surveyed shape. */
static int each_number(PyObject *o, const survey *s, int level, leaf *f, void *ctx)
{
    if (level == s->ndim)
        return is_sequence(o) ? ragged(1, level, PySequence_Size(o)) : f(o, ctx);
    if (py_is_tensor(o) && tn_tensor_ndim(py_t(o))) { /* beside a list: as that would be read */
        PyObject *list = PyObject_CallMethod(o, "tolist", NULL);
        int read = list ? each_number(list, s, level, f, ctx) : -1;
        Py_XDECREF(list);
        return read;
    }
    if (!is_sequence(o)) {
        PyObject *name = PyType_GetName(Py_TYPE(o));
        if (name)
            PyErr_Format(PyExc_TypeError, "not a sequence");
        Py_XDECREF(name);
        return -1;
    }
    Py_ssize_t n = PySequence_Size(o);
    int status = n < 0 ? -1 : n == s->shape[level] ? 0 : ragged(s->shape[level], level, n);
    static bool warned;
    if (!status && n && level && py_is_ndarray(o))
        status = py_warn_once(&warned,
                              "Creating a tensor from a list of numpy.ndarrays is extremely slow. Please consider "
                              "converting the list to a single numpy.ndarray with numpy.array() before converting to a "
                              "tensor.");
    for (Py_ssize_t i = 0; !status && i < n; i++) { /* a list may shrink while its items are read: GetItem checks */
        PyObject *item = PySequence_GetItem(o, i);
        if (item == o)
            PyErr_SetString(PyExc_TypeError, "new(): self-referential lists are incompatible");
        status = item && item != o ? each_number(item, s, level + 1, f, ctx) : -1;
        Py_XDECREF(item);
    }
    return status;
}

static int note_dtype(PyObject *o, void *ctx)
{
    survey *s = ctx;
    tn_dtype d = number_dtype(o);
    if (!d)
        return -1;
    s->dtype = s->dtype ? tn_promote_types(s->dtype, d) : d;
    if (s->dtype)
        return 0;
    py_raise();
    return -1;
}

/* ---- the second pass: elements, in one of four plain types; others are converted from these ---- */

typedef struct filler {
    tn_dtype type, want; /* of the memory: TN_BOOL, TN_I64, TN_F32 or TN_F64; of the tensor */
    char *at, *end;
} filler;

static tn_dtype plain_type(tn_dtype d)
{
    return d == TN_BOOL || d == TN_F32 ? d : tn_dtype_is_floating_point(d) ? TN_F64 : TN_I64;
}

static int overflows(tn_dtype to)
{
    PyErr_Format(PyExc_RuntimeError, "value cannot be converted to type %s without overflow", tn_dtype_name(to));
    return -1;
}

static int store(PyObject *o, void *ctx);

/* What int64 does not hold. */
static int store_unsigned(PyObject *o, filler *f)
{
    if (!PyIndex_Check(o)) {
        PyErr_SetString(PyExc_TypeError, "an integer is required");
        return -1;
    }
    PyObject *whole = PyNumber_Index(o);
    const uint64_t v = whole ? PyLong_AsUnsignedLongLong(whole) : 0;
    Py_XDECREF(whole);
    if (PyErr_Occurred())
        return -1;
    memcpy(f->at, &v, sizeof v);
    return 0;
}

static int store_integer(PyObject *o, filler *f)
{
    if (f->want == TN_U64)
        return store_unsigned(o, f);
    int64_t i = 0;
    tn_scalar s;
    double real = PyFloat_Check(o) ? PyFloat_AsDouble(o) : 0;
    if (!(real >= -9223372036854775808.0 && real < 9223372036854775808.0))
        return overflows(f->want);
    if (!py_dtypes[f->want].is_signed && real < 0)
        return overflows(f->want);
    if (PyFloat_Check(o))
        i = (int64_t)real;
    else if (py_number(o, &s)) {
        if (PyErr_Occurred()) { /* as PyTorch says it here */
            PyErr_Clear();
            PyErr_SetString(PyExc_ValueError, "Overflow when unpacking long long");
        } else
            PyErr_SetString(PyExc_ValueError, "only one element tensors can be converted to Python scalars");
        return -1;
    } else if (s.kind == TN_SCALAR_UINT) {
        PyErr_SetString(PyExc_ValueError, "Overflow when unpacking long long");
        return -1;
    } else if (s.kind == TN_SCALAR_FLOAT && !(s.v.f >= -9223372036854775808.0 && s.v.f < 9223372036854775808.0))
        return overflows(f->want);
    else
        i = s.kind == TN_SCALAR_FLOAT ? (int64_t)s.v.f : s.v.i;
    const py_dtype_row *row = &py_dtypes[f->want];
    if (i < (row->is_signed ? row->low : -row->high) ||
        i > row->high) /* a negative number of an unsigned dtype wraps */
        return overflows(f->want);
    memcpy(f->at, &i, sizeof i);
    return 0;
}

/* A tensor of one element is that element, however many dimensions it has. */
static int store_tensor(PyObject *o, filler *f)
{
    if (f->type == TN_I64 && tn_dtype_is_floating_point(tn_tensor_dtype(py_t(o)))) {
        PyErr_SetString(PyExc_TypeError, "only integer tensors of a single element can be converted to an index");
        return -1;
    }
    if (tn_tensor_requires_grad(py_t(o)) &&
        PyErr_WarnEx(
            PyExc_UserWarning,
            "Converting a tensor with requires_grad=True to a scalar may lead to unexpected behavior.\nConsider "
            "using tensor.detach() first.",
            1))
        return -1;
    PyObject *item = py_item(o);
    int status = item ? store(item, f) : -1;
    Py_XDECREF(item);
    return status;
}

static int store(PyObject *o, void *ctx)
{
    filler *f = ctx;
    if (py_is_tensor(o) && tn_tensor_numel(py_t(o)) == 1)
        return store_tensor(o, f);
    if (py_is_tensor(o) && (f->type == TN_I64 || f->type == TN_BOOL)) {
        PyErr_SetString(PyExc_TypeError, "only integer tensors of a single element can be converted to an index");
        return -1;
    }
    size_t size = tn_dtype_size(f->type);
    if (f->at + size > f->end) {
        PyErr_SetString(PyExc_RuntimeError, "the data changed while it was read");
        return -1;
    }
    int status = 0;
    if (f->type == TN_I64)
        status = store_integer(o, f);
    else if (f->type == TN_BOOL) {
        int truth = PyObject_IsTrue(o);
        *f->at = truth > 0;
        status = truth < 0 ? -1 : 0;
    } else {
        tn_scalar s;
        if (!PyFloat_Check(o) && !PyLong_Check(o) && py_number(o, &s) > 0 && !PyErr_Occurred())
            PyErr_SetString(PyExc_ValueError, "only one element tensors can be converted to Python scalars");
        double d = PyErr_Occurred() ? 0 : PyFloat_AsDouble(o);
        float single = (float)d;
        status = PyErr_Occurred() ? -1 : 0;
        memcpy(f->at, f->type == TN_F32 ? (void *)&single : (void *)&d, size);
    }
    f->at += size;
    return status;
}

static PyObject *from_memory(const filler *f, void *memory, int64_t numel, const survey *s, tn_device device)
{
    tn_tensor_from_options o = {.struct_size = sizeof o,
                                .site = "",
                                .device = device,
                                .dtype = f->want,
                                .shape = tn_dims_of(s->shape, s->ndim)};
    return py_wrap((tn_tensor_from_opt)((tn_array){memory, (size_t)numel, f->type, false}, &o));
}

static PyObject *from_sequence(PyObject *data, tn_dtype dtype, tn_device device)
{
    survey s = {0};
    if (find_shape(data, &s) || (!dtype && each_number(data, &s, 0, note_dtype, &s)))
        return NULL;
    filler f = {0};
    f.want = dtype ? dtype : s.dtype ? s.dtype : tn_get_default_dtype();
    f.type = plain_type(f.want);
    size_t numel = 1, size = tn_dtype_size(f.type);
    for (int i = 0; i < s.ndim; i++) {
        if (s.shape[i] && numel > SIZE_MAX / 8 / (size_t)s.shape[i])
            return PyErr_Format(PyExc_RuntimeError, "the data has more elements than memory holds");
        numel *= (size_t)s.shape[i];
    }
    char *memory = malloc(numel ? numel * size : 1);
    if (!memory)
        return PyErr_Format(PyExc_RuntimeError, "the data has %zu elements: more than memory holds", numel);
    f.at = memory;
    f.end = memory + numel * size;
    PyObject *t = each_number(data, &s, 0, store, &f) ? NULL : from_memory(&f, memory, (int64_t)numel, &s, device);
    free(memory);
    return t;
}

/* ---- arrays and tensors ---- */

/* A copy of t, of that dtype and device where they are said. */
static PyObject *copy_of(tn_tensor *t, tn_dtype dtype, tn_device device)
{
    bool was = tn_set_grad_enabled(false);
    tn_tensor *r;
    PY_BEGIN_OWNING(t)
        r = (tn_to_opt)(t, &(tn_to_options){.struct_size = sizeof(tn_to_options),
                                            .site = "",
                                            .device = device,
                                            .dtype = dtype,
                                            .copy = true});
    PY_END_OWNING
    tn_set_grad_enabled(was);
    return py_wrap(r);
}

PyObject *py_tensor_from_data(PyObject *data, tn_dtype dtype, tn_device device)
{
    if (py_is_tensor(data))
        return copy_of(py_t(data), dtype, device.type ? device : tn_tensor_device(py_t(data)));
    if (is_text(data)) {
        survey s = {0};
        return note_dtype(data, &s) ? NULL : Py_NewRef(Py_None);
    }
    bool foreign = !PyLong_Check(data) && !PyFloat_Check(data) && !PyList_Check(data) && !PyTuple_Check(data) &&
                   !py_is_numpy_scalar(data);
    if (foreign && !py_is_ndarray(data) && PyObject_HasAttrString(data, "__dlpack__")) {
        PyObject *shared = py_from_dlpack(data);
        PyObject *t =
            shared ? copy_of(py_t(shared), dtype, device.type ? device : tn_tensor_device(py_t(shared))) : NULL;
        Py_XDECREF(shared);
        return t;
    }
    bool array = py_is_ndarray(data) || (foreign && PyObject_HasAttrString(data, "__array__"));
    if (!array)
        return from_sequence(data, dtype, device);
    PyObject *ndarray = py_is_ndarray(data) ? Py_NewRef(data) : PyObject_CallMethod(data, "__array__", NULL);
    PyObject *shared = ndarray ? py_from_numpy(ndarray, true) : NULL;
    PyObject *t = shared ? copy_of(py_t(shared), dtype, device.type ? device : tn_get_default_device()) : NULL;
    Py_XDECREF(shared);
    Py_XDECREF(ndarray);
    return t;
}
