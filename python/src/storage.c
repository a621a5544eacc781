/* storage.c: the memory behind tensors, and files of tensors. */
#include "py.h"

#include <stdlib.h>

/* A writable memoryview of a contiguous CPU tensor's memory. */
static PyObject *bytes_of(PyObject *self, PyObject *o)
{
    (void)self;
    if (!py_is_tensor(o))
        return PyErr_Format(PyExc_TypeError, "_bytes(): a Tensor is asked for");
    tn_tensor *t = py_t(o);
    if (tn_tensor_device(t).type != TN_DEVICE_CPU || !tn_tensor_is_contiguous(t))
        return PyErr_Format(PyExc_ValueError, "_bytes(): a contiguous CPU tensor is asked for");
    /* as uint8 whatever the dtype: bfloat16 has no format of its own */
    size_t n = (size_t)tn_tensor_numel(t) * tn_dtype_size(tn_tensor_dtype(t));
    void *data = n ? tn_data(t) : NULL;
    if (n && !data)
        return py_raise();
    if (!n) {
        PyObject *nothing = PyByteArray_FromStringAndSize(NULL, 0),
                 *empty = nothing ? PyMemoryView_FromObject(nothing) : NULL;
        Py_XDECREF(nothing);
        return empty;
    }
    int64_t shape[1] = {(int64_t)n};
    tn_from_data_options keep = {.struct_size = sizeof keep,
                                 .site = "",
                                 .release = py_release_later,
                                 .ctx = Py_NewRef(o),
                                 .read_only = tn_tensor_is_read_only(t)};
    tn_tensor *flat = (tn_from_data_opt)(data, TN_U8, TN__DIMS(tn_dims_of(shape, 1)), &keep);
    if (!flat) {
        Py_DECREF(o);
        return py_raise();
    }
    PyObject *wrapper = py_wrap(flat), *view = wrapper ? PyMemoryView_FromObject(wrapper) : NULL;
    Py_XDECREF(wrapper);
    return view;
}

/* (address, bytes) of the memory that a tensor shows a part of: equal for tensors that share it. */
static PyObject *storage_of(PyObject *self, PyObject *o)
{
    int64_t bytes = 0;
    (void)self;
    if (!py_is_tensor(o))
        return PyErr_Format(PyExc_TypeError, "_storage(): a Tensor is asked for");
    void *base = tn_tensor_storage(py_t(o), &bytes);
    return Py_BuildValue("(NL)", PyLong_FromVoidPtr(base), (long long)bytes);
}

/* ---- safetensors ---- */

static PyObject *metadata_of(const tn_safetensors *file)
{
    tn_pairs all = tn_safetensors_metadata_all(file);
    PyObject *d = PyDict_New();
    for (size_t i = 0; d && i < all.n; i++) {
        PyObject *value = PyUnicode_FromString(all.pair[i].value);
        if (!value || PyDict_SetItemString(d, all.pair[i].key, value))
            Py_CLEAR(d);
        Py_XDECREF(value);
    }
    return d;
}

static const char handle_name[] = "tenon safetensors file";

static void close_handle(PyObject *capsule)
{
    tn_safetensors_close(PyCapsule_GetPointer(capsule, handle_name));
}

static PyObject *names_of(const tn_safetensors *file)
{
    size_t n = tn_safetensors_count(file);
    PyObject *names = PyList_New((Py_ssize_t)n);
    for (size_t i = 0; names && i < n; i++) {
        PyObject *name = PyUnicode_FromString(tn_safetensors_name(file, i));
        if (!name || PyList_SetItem(names, (Py_ssize_t)i, name))
            Py_CLEAR(names);
    }
    return names;
}

/* (handle, list of names, dict of metadata) */
static PyObject *opened(tn_safetensors *file)
{
    if (!file)
        return py_raise();
    PyObject *handle = PyCapsule_New(file, handle_name, close_handle);
    if (!handle)
        tn_safetensors_close(file);
    PyObject *names = handle ? names_of(file) : NULL, *metadata = names ? metadata_of(file) : NULL;
    PyObject *all = metadata ? PyTuple_Pack(3, handle, names, metadata) : NULL;
    Py_XDECREF(handle);
    Py_XDECREF(names);
    Py_XDECREF(metadata);
    return all;
}

/* _safetensors_tensor(handle, name, copy): in memory of its own, or showing the mapped file */
static PyObject *safetensors_tensor(PyObject *self, PyObject *args)
{
    PyObject *capsule;
    const char *name;
    int copy;
    tn_tensor *t;
    (void)self;
    if (!PyArg_ParseTuple(args, "Osp:_safetensors_tensor", &capsule, &name, &copy))
        return NULL;
    tn_safetensors *file = PyCapsule_GetPointer(capsule, handle_name);
    if (!file)
        return NULL;
    PY_BEGIN_OWNING(NULL)
        t = copy ? (tn_safetensors_read_at)("", file, name) : (tn_safetensors_tensor_at)("", file, name);
    PY_END_OWNING
    return py_wrap(t);
}

static PyObject *safetensors_open(PyObject *self, PyObject *args)
{
    PyObject *path;
    tn_safetensors *file;
    (void)self;
    if (!PyArg_ParseTuple(args, "O&:_safetensors_open", PyUnicode_FSConverter, &path))
        return NULL;
    const char *name = PyBytes_AsString(path);
    PY_BEGIN_OWNING(NULL)
        file = (tn_safetensors_open_at)("", name);
    PY_END_OWNING
    Py_DECREF(path);
    return opened(file);
}

static PyObject *safetensors_parse(PyObject *self, PyObject *args)
{
    Py_buffer data;
    (void)self;
    if (!PyArg_ParseTuple(args, "y*:_safetensors_parse", &data))
        return NULL;
    tn_safetensors *file = (tn_safetensors_parse_at)("", data.buf, (size_t)data.len, NULL);
    PyBuffer_Release(&data);
    return opened(file);
}

/* The items of a dict as two lists, which stay valid as long as the list of items. */
typedef struct named_items {
    PyObject *items;
    const char **keys;
    const char **values; /* of a dict of texts */
    tn_tensor **tensors; /* of a dict of tensors */
    Py_ssize_t n;
} named_items;

static void named_free(named_items *x)
{
    free(x->keys);
    free(x->values);
    free(x->tensors);
    Py_XDECREF(x->items);
}

static int named_from(PyObject *dict, bool tensors, named_items *x)
{
    memset(x, 0, sizeof *x);
    if (!dict || dict == Py_None)
        return 0;
    if (!PyDict_Check(dict) || !(x->items = PyDict_Items(dict)))
        return PyErr_Occurred() ? -1 : (PyErr_SetString(PyExc_TypeError, "a dict is asked for"), -1);
    x->n = PyList_Size(x->items);
    x->keys = calloc((size_t)x->n + 1, sizeof *x->keys);
    x->values = calloc((size_t)x->n + 1, sizeof *x->values);
    x->tensors = calloc((size_t)x->n + 1, sizeof *x->tensors);
    if (!x->keys || !x->values || !x->tensors)
        return PyErr_NoMemory(), -1;
    for (Py_ssize_t i = 0; i < x->n; i++) {
        PyObject *pair = PyList_GetItem(x->items, i), *key = PyTuple_GetItem(pair, 0),
                 *value = PyTuple_GetItem(pair, 1);
        if (!PyUnicode_Check(key) || !(tensors ? py_is_tensor(value) : PyUnicode_Check(value)))
            return PyErr_Format(PyExc_TypeError, "the dict must have texts for keys and %s for values",
                                tensors ? "tensors" : "texts"),
                   -1;
        x->keys[i] = PyUnicode_AsUTF8AndSize(key, NULL);
        if (tensors)
            x->tensors[i] = py_t(value);
        else
            x->values[i] = PyUnicode_AsUTF8AndSize(value, NULL);
        if (!x->keys[i] || (!tensors && !x->values[i]))
            return -1;
    }
    return 0;
}

/* _safetensors_save(dict, path, metadata or None) */
static PyObject *safetensors_save(PyObject *self, PyObject *args)
{
    PyObject *dict, *path, *metadata = NULL, *result = NULL;
    named_items t = {0}, m = {0};
    (void)self;
    if (!PyArg_ParseTuple(args, "OO&|O:_safetensors_save", &dict, PyUnicode_FSConverter, &path, &metadata))
        return NULL;
    if (!named_from(dict, true, &t) && !named_from(metadata, false, &m)) {
        tn_pair *pairs = calloc((size_t)m.n + 1, sizeof *pairs);
        for (Py_ssize_t i = 0; pairs && i < m.n; i++)
            pairs[i] = (tn_pair){m.keys[i], m.values[i]};
        if (!pairs) {
            PyErr_NoMemory();
            goto done;
        }
        const char *name = PyBytes_AsString(path);
        tn_status status;
        tn_save_safetensors_options o = {.struct_size = sizeof o, .site = "", .metadata = {pairs, (size_t)m.n}};
        Py_BEGIN_ALLOW_THREADS
            status = (tn_save_safetensors_opt)(name, t.keys, (tn_tensors){t.tensors, (size_t)t.n}, &o);
        Py_END_ALLOW_THREADS
        result = py_done(status);
        free(pairs);
    }
done:
    named_free(&t);
    named_free(&m);
    Py_DECREF(path);
    return result;
}

static PyObject *load_idx(PyObject *self, PyObject *args)
{
    PyObject *path;
    tn_tensor *t;
    (void)self;
    if (!PyArg_ParseTuple(args, "O&:load_idx", PyUnicode_FSConverter, &path))
        return NULL;
    const char *name = PyBytes_AsString(path);
    PY_BEGIN_OWNING(NULL)
        t = (tn_load_idx_at)("", name);
    PY_END_OWNING
    Py_DECREF(path);
    return py_wrap(t);
}

static PyMethodDef functions[] = {
    {"_bytes", bytes_of, METH_O, NULL},
    {"_storage", storage_of, METH_O, NULL},
    {"_safetensors_open", safetensors_open, METH_VARARGS, NULL},
    {"_safetensors_parse", safetensors_parse, METH_VARARGS, NULL},
    {"_safetensors_tensor", safetensors_tensor, METH_VARARGS, NULL},
    {"_safetensors_save", safetensors_save, METH_VARARGS, NULL},
    {"load_idx", load_idx, METH_VARARGS,
     "load_idx(path) -> Tensor\n\nThe array of an IDX file (MNIST's format), plain or gzipped."},
    {NULL, NULL, 0, NULL},
};

int py_add_storage(PyObject *module)
{
    return PyModule_AddFunctions(module, functions);
}
