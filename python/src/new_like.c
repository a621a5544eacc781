/* new_like.c: x.new_zeros() and the like: a tensor's device and dtype where nothing else is said. And what asks whether two
 * tensors are alike. */
#include "functions.h"

/* ---- new tensors. slots: input dtype device requires_grad pin_memory, then the function's own ---- */

static tn_options like(const py_value *v)
{
    const tn_tensor *x = v[0].s.v.t;
    return (tn_options){.struct_size = sizeof(tn_options),
                        .site = "",
                        .dtype = v[1].given ? v[1].dtype : tn_tensor_dtype(x),
                        .device = v[2].given ? v[2].device : tn_tensor_device(x),
                        .requires_grad = v[3].s.v.i != 0,
                        .pin_memory = v[4].s.v.i != 0};
}

tn_tensor *call_new_empty(const py_value *v)
{
    const tn_options o = like(v);
    return (tn_empty_opt)(TN__DIMS(py_dims(&v[5])), &o);
}

tn_tensor *call_new_empty_strided(const py_value *v)
{
    const tn_options o = like(v);
    return (tn_empty_strided_opt)(TN__DIMS(py_dims(&v[5])), TN__DIMS(py_dims(&v[6])), &o);
}

tn_tensor *call_new_zeros(const py_value *v)
{
    const tn_options o = like(v);
    return (tn_zeros_opt)(TN__DIMS(py_dims(&v[5])), &o);
}

tn_tensor *call_new_ones(const py_value *v)
{
    const tn_options o = like(v);
    return (tn_ones_opt)(TN__DIMS(py_dims(&v[5])), &o);
}

tn_tensor *call_new_full(const py_value *v)
{
    const tn_options o = like(v);
    return (tn_full_opt)(TN__DIMS(py_dims(&v[5])), v[6].s, &o);
}

/* ---- alike ---- */

/* slots: input other */
PyObject *run_is_same_size(PyObject *self, py_value *v, int which)
{
    (void)self, (void)which;
    return PyBool_FromLong(py_same_shape(v[0].s.v.t, v[1].s.v.t));
}

/* slots: input */
PyObject *run_is_conj(PyObject *self, py_value *v, int which)
{
    (void)self, (void)v, (void)which;
    Py_RETURN_FALSE;
}

/* slots: input */
PyObject *run_is_neg(PyObject *self, py_value *v, int which)
{
    return run_is_conj(self, v, which);
}

/* slots: input tensor */
PyObject *run_is_set_to(PyObject *self, py_value *v, int which)
{
    const tn_tensor *x = v[0].s.v.t, *other = v[1].s.v.t;
    const tn_dims a = tn_tensor_stride(x), b = tn_tensor_stride(other);
    (void)self, (void)which;
    return PyBool_FromLong(x == other || (tn_tensor_shares_storage(x, other) &&
                                          tn_tensor_storage_offset(x) == tn_tensor_storage_offset(other) &&
                                          py_same_shape(v[0].s.v.t, v[1].s.v.t) && py_same_dims(a, b)));
}
