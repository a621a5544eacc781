/* view_in_place.c: x.t_() and the like: x shows its elements as a view of it would. */
#include "functions.h"

/* May x show its elements otherwise? That is refused before the view is looked at. */
static bool may_change(tn_tensor *x)
{
    return !tn_tensor_check_inplace(x, false) || py_raise();
}

/* x, which shows what the view shows; the view is taken. */
static PyObject *show(tn_tensor *x, tn_tensor *view)
{
    const bool done = view && !tn_tensor_set_view(x, view);
    tn_release(view);
    return done ? py_borrowed(x) : py_raise();
}

/* slots: input dim */
PyObject *run_squeeze_(PyObject *self, py_value *v, int which)
{
    const tn_squeeze_options o = {.struct_size = sizeof o, .site = "", .dims = py_dims(&v[1])};
    tn_tensor *x = v[0].s.v.t;
    (void)self, (void)which;
    return may_change(x) ? show(x, (tn_squeeze_opt)(x, &o)) : NULL;
}

PyObject *run_unsqueeze_(PyObject *self, py_value *v, int which)
{
    tn_tensor *x = v[0].s.v.t;
    (void)self, (void)which;
    return may_change(x) ? show(x, (tn_unsqueeze_at)("", x, v[1].s.v.i)) : NULL;
}

PyObject *run_t_(PyObject *self, py_value *v, int which)
{
    tn_tensor *x = v[0].s.v.t;
    (void)self, (void)which;
    if (!may_change(x))
        return NULL;
    if (tn_tensor_ndim(x) > 2)
        return PyErr_Format(PyExc_RuntimeError, "t_() expects a tensor with <= 2 dimensions, but self is %dD",
                            (int)tn_tensor_ndim(x));
    return show(x, (tn_t_at)("", x));
}

/* slots: input dim0 dim1 */
PyObject *run_transpose_(PyObject *self, py_value *v, int which)
{
    tn_tensor *x = v[0].s.v.t;
    (void)self, (void)which;
    return may_change(x) ? show(x, (tn_transpose_at)("", x, v[1].s.v.i, v[2].s.v.i)) : NULL;
}

/* slots: input size stride storage_offset */
PyObject *run_as_strided_(PyObject *self, py_value *v, int which)
{
    (void)self, (void)which;
    return may_change(v[0].s.v.t) ? show(v[0].s.v.t, call_as_strided_at(v)) : NULL;
}
