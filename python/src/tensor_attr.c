/* tensor_attr.c: Tensor's attributes. */
#include "args.h"
#include "py.h"

static PyObject *get_shape(PyObject *self, void *unused)
{
    (void)unused;
    return py_size(tn_tensor_shape(py_t(self)));
}

static PyObject *get_dtype(PyObject *self, void *unused)
{
    (void)unused;
    return py_dtype_of(tn_tensor_dtype(py_t(self)));
}

static PyObject *get_device(PyObject *self, void *unused)
{
    (void)unused;
    return py_device_object(tn_tensor_device(py_t(self)));
}

static PyObject *is_of(PyObject *self, int32_t type)
{
    return PyBool_FromLong(tn_tensor_device(py_t(self)).type == type);
}

static PyObject *get_is_cuda(PyObject *self, void *unused)
{
    (void)unused;
    return is_of(self, TN_DEVICE_CUDA);
}

static PyObject *get_is_cpu(PyObject *self, void *unused)
{
    (void)unused;
    return is_of(self, TN_DEVICE_CPU);
}

static PyObject *get_is_meta(PyObject *self, void *unused)
{
    (void)unused;
    return is_of(self, TN_DEVICE_META);
}

static PyObject *get_layout(PyObject *self, void *unused)
{
    (void)self, (void)unused;
    return py_layout();
}

/* PyTorch's from the time when names were given to what tracing saw. */
static PyObject *get_none(PyObject *self, void *unused)
{
    (void)self, (void)unused;
    Py_RETURN_NONE;
}

/* What Tenon's tensors never are: sparse, quantized, complex ... */
static PyObject *get_false(PyObject *self, void *unused)
{
    (void)self, (void)unused;
    Py_RETURN_FALSE;
}

static PyObject *get_ndim(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromLong(tn_tensor_ndim(py_t(self)));
}

static PyObject *get_itemsize(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromSize_t(tn_dtype_size(tn_tensor_dtype(py_t(self))));
}

static PyObject *get_nbytes(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromLongLong(tn_tensor_numel(py_t(self)) * (int64_t)tn_dtype_size(tn_tensor_dtype(py_t(self))));
}

static PyObject *get_version(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromUnsignedLong(tn_tensor_version(py_t(self)));
}

/* ---- autograd ---- */

static PyObject *get_requires_grad(PyObject *self, void *unused)
{
    (void)unused;
    return PyBool_FromLong(tn_tensor_requires_grad(py_t(self)));
}

static int set_requires_grad(PyObject *self, PyObject *value, void *unused)
{
    (void)unused;
    if (!value || !PyBool_Check(value)) {
        PyErr_SetString(PyExc_RuntimeError, "requires_grad must be a bool");
        return -1;
    }
    return tn_requires_grad_(py_t(self), value == Py_True) ? 0 : (py_raise(), -1);
}

static PyObject *get_is_leaf(PyObject *self, void *unused)
{
    (void)unused;
    if (tn_tensor_is_leaf(py_t(self)))
        Py_RETURN_TRUE;
    tn_node *made = tn_tensor_node(py_t(self)); /* a view whose base was written to may have no history any more */
    if (!made)
        return py_raise();
    tn_node_release(made);
    Py_RETURN_FALSE;
}

static PyObject *get_real(PyObject *self, void *unused)
{
    (void)unused;
    return Py_NewRef(self);
}

static PyObject *get_output_nr(PyObject *self, void *unused)
{
    uint32_t output = 0;
    (void)unused;
    tn_node_release(tn_tensor_gradient_node(py_t(self), &output));
    return PyLong_FromUnsignedLong(output);
}

static PyObject *get_retains_grad(PyObject *self, void *unused)
{
    (void)unused;
    return PyBool_FromLong(tn_tensor_retains_grad(py_t(self)));
}

static PyObject *get_base(PyObject *self, void *unused)
{
    (void)unused;
    tn_tensor *base = tn_tensor_base(py_t(self));
    return base ? py_wrap(tn_retain(base)) : Py_NewRef(Py_None);
}

static PyObject *get_grad(PyObject *self, void *unused)
{
    (void)unused;
    tn_tensor *t = py_t(self);
    if (!tn_tensor_is_leaf(t) && !tn_tensor_grad(t) && !tn_tensor_retains_grad(t) &&
        PyErr_WarnEx(
            PyExc_UserWarning,
            "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad attribute won't be "
            "populated during autograd.backward(). If you indeed want the .grad field to be populated for a non-leaf "
            "Tensor, use .retain_grad() on the non-leaf Tensor.",
            1))
        return NULL;
    return py_borrowed(tn_tensor_grad(t));
}

static int set_grad(PyObject *self, PyObject *value, void *unused)
{
    (void)unused;
    if (value && value != Py_None && !py_is_tensor(value)) {
        PyObject *name = PyType_GetName(Py_TYPE(value));
        PyErr_Format(PyExc_TypeError, "assigned grad expected to be a Tensor or None but got grad of type %S",
                     name ? name : Py_None);
        Py_XDECREF(name);
        return -1;
    }
    if (value == self) {
        PyErr_SetString(PyExc_RuntimeError, "can't assign Tensor as its own grad");
        return -1;
    }
    return tn_tensor_set_grad(py_t(self), value && value != Py_None ? py_t(value) : TN_NONE) ? (py_raise(), -1) : 0;
}

static PyObject *get_grad_fn(PyObject *self, void *unused)
{
    (void)unused;
    return tn_tensor_is_leaf(py_t(self)) ? Py_NewRef(Py_None) : py_node(tn_tensor_node(py_t(self)));
}

/* ---- the same memory ---- */

static PyObject *get_data(PyObject *self, void *unused)
{
    (void)unused;
    return py_wrap(tn_tensor_data(py_t(self)));
}

static int set_data(PyObject *self, PyObject *value, void *unused)
{
    (void)unused;
    char name[64];
    if (!value) {
        PyErr_SetString(PyExc_RuntimeError, "Deleting tensor data is not allowed. Delete tensor instead!");
        return -1;
    }
    if (!py_is_tensor(value)) {
        PyErr_Format(PyExc_TypeError, "Variable data has to be a tensor, but got %s",
                     py_type_name(value, name, sizeof name));
        return -1;
    }
    return tn_tensor_set_data(py_t(self), py_t(value)) ? (py_raise(), -1) : 0;
}

static PyObject *get_T(PyObject *self, void *unused)
{
    tn_tensor *t = py_t(self);
    int64_t dims[TN_MAX_DIMS];
    int32_t n = tn_tensor_ndim(t);
    (void)unused;
    for (int32_t i = 0; i < n; i++)
        dims[i] = n - 1 - i;
    return py_wrap((tn_permute_at)("", t, TN__DIMS(tn_dims_of(dims, n))));
}

static PyObject *swapped(PyObject *self, const char *name)
{
    const int n = tn_tensor_ndim(py_t(self));
    if (n == 1)
        return PyErr_Format(PyExc_RuntimeError,
                            "tensor.%s is only supported on matrices or batches of matrices. Got 1-D tensor.", name);
    if (n == 0 &&
        PyErr_WarnFormat(PyExc_UserWarning, 1,
                         "Tensor.%s is deprecated on 0-D tensors. This function is the identity in these cases.", name))
        return NULL;
    return n ? py_wrap((tn_transpose_at)("", py_t(self), -2, -1)) : Py_NewRef(self);
}

static PyObject *get_mT(PyObject *self, void *unused)
{
    (void)unused;
    return swapped(self, "mT");
}

static PyObject *get_mH(PyObject *self, void *unused)
{
    (void)unused;
    return swapped(self, "mH");
}

static PyObject *get_H(PyObject *self, void *unused)
{
    const int n = tn_tensor_ndim(py_t(self));
    (void)unused;
    if (n != 0 && n != 2)
        return PyErr_Format(PyExc_RuntimeError,
                            "tensor.H is only supported on matrices (2-D tensors). Got %d-D tensor.%s", n,
                            n > 2 ? " For batches of matrices, consider using tensor.mH" : "");
    if (n == 0 && PyErr_WarnEx(PyExc_UserWarning, "Tensor.H is deprecated on 0-D tensors. Consider using x.conj().", 1))
        return NULL;
    return n ? py_wrap((tn_transpose_at)("", py_t(self), 0, 1)) : Py_NewRef(self);
}

static PyObject *get_priority(PyObject *self, void *unused)
{
    (void)self, (void)unused;
    return PyLong_FromLong(1000); /* NumPy's operators leave the work to Tensor's */
}

PyGetSetDef py_tensor_getset[] = {
    {"shape", get_shape, NULL, "The sizes of its dimensions.", NULL},
    {"dtype", get_dtype, NULL, "The type of its elements.", NULL},
    {"device", get_device, NULL, "Where it lives.", NULL},
    {"is_cuda", get_is_cuda, NULL, "Does it live on a GPU?", NULL},
    {"is_cpu", get_is_cpu, NULL, "Does it live in the host's memory?", NULL},
    {"is_meta", get_is_meta, NULL, "Has it a shape, but no memory?", NULL},
    {"layout", get_layout, NULL, "torch.strided: how its elements are found.", NULL},
    {"name", get_none, NULL, "None.", NULL},
    {"is_sparse", get_false, NULL, "False.", NULL},
    {"is_sparse_csr", get_false, NULL, "False.", NULL},
    {"is_quantized", get_false, NULL, "False.", NULL},
    {"is_mkldnn", get_false, NULL, "False.", NULL},
    {"is_nested", get_false, NULL, "False.", NULL},
    {"is_ipu", get_false, NULL, "False.", NULL},
    {"is_maia", get_false, NULL, "False.", NULL},
    {"is_mps", get_false, NULL, "False.", NULL},
    {"is_mtia", get_false, NULL, "False.", NULL},
    {"is_vulkan", get_false, NULL, "False.", NULL},
    {"is_xla", get_false, NULL, "False.", NULL},
    {"is_xpu", get_false, NULL, "False.", NULL},
    {"ndim", get_ndim, NULL, "How many dimensions it has.", NULL},
    {"itemsize", get_itemsize, NULL, "Bytes of one element.", NULL},
    {"nbytes", get_nbytes, NULL, "Bytes of all elements.", NULL},
    {"requires_grad", get_requires_grad, set_requires_grad, "Are operations on it recorded?", NULL},
    {"is_leaf", get_is_leaf, NULL, "Was it made by the user, not by a recorded operation?", NULL},
    {"output_nr", get_output_nr, NULL, "Which of its grad_fn's results it is.", NULL},
    {"real", get_real, NULL, "The tensor itself: its numbers are real.", NULL},
    {"retains_grad", get_retains_grad, NULL, "Is it no leaf, and told by retain_grad() to keep its .grad?", NULL},
    {"_base", get_base, NULL, "The tensor that it is a view of, or None.", NULL},
    {"_grad", get_grad, set_grad, "The accumulated gradient, or None.", NULL},
    {"grad", get_grad, set_grad, "The accumulated gradient, or None.", NULL},
    {"grad_fn", get_grad_fn, NULL, "What made it; None for a leaf.", NULL},
    {"data", get_data, set_data, "The same memory without history; assigned, the tensor shows other memory.", NULL},
    {"T", get_T, NULL, "Its dimensions reversed.", NULL},
    {"mT", get_mT, NULL, "Its last two dimensions swapped.", NULL},
    {"mH", get_mH, NULL, "Its last two dimensions swapped.", NULL},
    {"H", get_H, NULL, "The transpose of a matrix.", NULL},
    {"_version", get_version, NULL, "How often its memory was written in place.", NULL},
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, NULL, NULL},
    {"__array_priority__", get_priority, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
