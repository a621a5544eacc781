/* number.c: Tensor's operators: one table, whose rows become Python's number slots. */
#include "py.h"

/* Operand o as a number or tensor. *made: a tensor that the caller releases. 1: it is neither. */
static int operand(PyObject *o, bool left, tn_scalar *out, tn_tensor **made)
{
    *made = NULL;
    if (py_is_tensor(o)) {
        *out = tn_scalar_t(py_t(o));
        return 0;
    }
    if (PyFloat_CheckExact(o)) {
        *out = tn_scalar_f(PyFloat_AsDouble(o));
        return 0;
    }
    if (!py_is_ndarray(o))
        return py_number(o, out);
    if (left) /* as in PyTorch: NumPy's own error follows */
        return 1;
    PyObject *t = py_from_numpy(o, true);
    if (!t)
        return -1;
    *made = tn_retain(py_t(t));
    *out = tn_scalar_t(*made);
    Py_DECREF(t);
    return 0;
}

static bool large(tn_scalar a)
{
    return a.kind == TN_SCALAR_TENSOR && tn_tensor_numel(a.v.t) > PY_UNLOCK;
}

static PyObject *binary(PyObject *a, PyObject *b, tn_tensor *(*f)(const char *, tn_scalar, tn_scalar))
{
    tn_scalar x, y;
    tn_tensor *x_made = NULL, *y_made = NULL, *r;
    int status = operand(a, true, &x, &x_made);
    if (!status)
        status = operand(b, false, &y, &y_made);
    if (status) {
        tn_release(x_made);
        if (status < 0)
            return NULL;
        Py_RETURN_NOTIMPLEMENTED;
    }
    if (large(x) || large(y)) {
        PY_BEGIN_OWNING(py_tensor_in(x), py_tensor_in(y))
            r = f("", x, y);
        PY_END_OWNING
    } else
        r = f("", x, y);
    if (x_made || y_made) {
        tn_release(x_made);
        tn_release(y_made);
    }
    return py_wrap_as(py_tensor_type, r); /* a new tensor: nobody has wrapped it */
}

static PyObject *binary_inplace(PyObject *a, PyObject *b, tn_tensor *(*f)(const char *, tn_tensor *, tn_scalar))
{
    tn_scalar y;
    tn_tensor *y_made, *r;
    int status = operand(b, false, &y, &y_made);
    if (status < 0)
        return NULL;
    if (status)
        Py_RETURN_NOTIMPLEMENTED;
    PY_BEGIN_OWNING(py_t(a), py_tensor_in(y))
        r = f("", py_t(a), y);
    PY_END_OWNING
    tn_release(y_made);
    return r ? Py_NewRef(a) : py_raise();
}

static PyObject *unary(PyObject *a, tn_tensor *(*f)(const char *, tn_tensor *))
{
    tn_tensor *r;
    if (tn_tensor_numel(py_t(a)) > PY_UNLOCK) {
        PY_BEGIN_OWNING(py_t(a))
            r = f("", py_t(a));
        PY_END_OWNING
    } else
        r = f("", py_t(a));
    return py_wrap(r);
}

/* slot, the library's operation */
/* clang-format off */
#define BINARY_OPERATORS(X) \
    X(add, add) X(subtract, sub) X(multiply, mul) X(true_divide, div) X(floor_divide, floor_divide) \
    X(remainder, remainder) X(and, bitwise_and) X(or, bitwise_or) X(xor, bitwise_xor) X(lshift, bitwise_left_shift) \
    X(rshift, bitwise_right_shift)
/* clang-format on */

#define DEFINE(slot, op) \
    static PyObject *nb_##slot(PyObject *a, PyObject *b) \
    { \
        return binary(a, b, tn_##op##_at); \
    } \
    static PyObject *nb_inplace_##slot(PyObject *a, PyObject *b) \
    { \
        return binary_inplace(a, b, tn_##op##__at); \
    }
BINARY_OPERATORS(DEFINE)

static PyObject *power(PyObject *a, PyObject *b, PyObject *modulus)
{
    if (modulus != Py_None)
        Py_RETURN_NOTIMPLEMENTED;
    return binary(a, b, tn_pow_at);
}

static PyObject *inplace_power(PyObject *a, PyObject *b, PyObject *modulus)
{
    if (modulus != Py_None)
        Py_RETURN_NOTIMPLEMENTED;
    return binary_inplace(a, b, tn_pow__at);
}

static bool on_cpu(tn_tensor *t)
{
    return tn_tensor_device(t).type == TN_DEVICE_CPU;
}

/* Is their product soon there? A (m, k) and a (k, n) make no more products than they have pairs of elements, where they have
 * any. */
static bool is_short(tn_tensor *a, tn_tensor *b)
{
    const int64_t n = tn_tensor_numel(a), m = tn_tensor_numel(b);
    return on_cpu(a) && on_cpu(b) && n && m && n <= PY_UNLOCK / m;
}

static tn_tensor *product(tn_tensor *a, tn_tensor *b)
{
    return tn_matmul_at("", a, b);
}

static tn_tensor *product_unlocked(tn_tensor *a, tn_tensor *b)
{
    tn_tensor *r;
    PY_BEGIN_OWNING(a, b)
        r = product(a, b);
    PY_END_OWNING
    return r;
}

static PyObject *matrix_multiply(PyObject *a, PyObject *b)
{
    if (!py_is_tensor(a) || !py_is_tensor(b))
        Py_RETURN_NOTIMPLEMENTED;
    return py_wrap((is_short(py_t(a), py_t(b)) ? product : product_unlocked)(py_t(a), py_t(b)));
}

static PyObject *negative(PyObject *a)
{
    return unary(a, tn_neg_at);
}

static PyObject *positive(PyObject *a)
{
    if (tn_tensor_dtype(py_t(a)) == TN_BOOL)
        return PyErr_Format(PyExc_NotImplementedError, "The `+` operator, on a bool tensor is not supported.");
    return Py_NewRef(a);
}

static PyObject *absolute(PyObject *a)
{
    return unary(a, tn_abs_at);
}

static PyObject *invert(PyObject *a)
{
    if (tn_dtype_is_floating_point(tn_tensor_dtype(py_t(a))))
        return PyErr_Format(PyExc_TypeError,
                            "~ (operator.invert) is only implemented on integer and Boolean-type tensors");
    return unary(a, tn_bitwise_not_at);
}

/* ---- comparisons ---- */

static PyObject *compare(PyObject *a, PyObject *b, int op)
{
    switch (op) {
    case Py_LT: return binary(a, b, tn_lt_at);
    case Py_LE: return binary(a, b, tn_le_at);
    case Py_EQ: return binary(a, b, tn_eq_at);
    case Py_NE: return binary(a, b, tn_ne_at);
    case Py_GT: return binary(a, b, tn_gt_at);
    default: return binary(a, b, tn_ge_at);
    }
}

/* ---- as a Python number ---- */

/* t's element, into the one of f and i that its dtype is read as; false with the error set. */
static bool read_number(tn_tensor *t, bool floating, double *f, int64_t *i)
{
    tn_error_clear();
    if (floating)
        *f = tn_item(t);
    else
        *i = tn_item_int(t);
    return tn_error_code() == TN_OK;
}

/* The one element, waited for without the GIL where it lies on a GPU. */
static PyObject *number_of(tn_tensor *t)
{
    int64_t i = 0;
    double f = 0;
    bool floating = tn_dtype_is_floating_point(tn_tensor_dtype(t)), ok;
    if (on_cpu(t)) {
        ok = read_number(t, floating, &f, &i);
    } else {
        PY_BEGIN_OWNING(t)
            ok = read_number(t, floating, &f, &i);
        PY_END_OWNING
    }
    if (!ok)
        return py_raise();
    if (floating)
        return PyFloat_FromDouble(f);
    if (tn_tensor_dtype(t) == TN_U64)
        return PyLong_FromUnsignedLongLong((unsigned long long)i);
    return tn_tensor_dtype(t) == TN_BOOL ? PyBool_FromLong(i != 0) : PyLong_FromLongLong(i);
}

PyObject *py_item(PyObject *self)
{
    return number_of(py_t(self));
}

static PyObject *one_element(PyObject *self)
{
    if (tn_tensor_numel(py_t(self)) == 1)
        return number_of(py_t(self));
    return PyErr_Format(PyExc_ValueError, "only one element tensors can be converted to Python scalars");
}

static PyObject *as_float(PyObject *self)
{
    PyObject *n = one_element(self), *f = n ? PyNumber_Float(n) : NULL;
    Py_XDECREF(n);
    return f;
}

static PyObject *as_int(PyObject *self)
{
    PyObject *n = one_element(self), *i = n ? PyNumber_Long(n) : NULL;
    Py_XDECREF(n);
    return i;
}

static PyObject *as_index(PyObject *self)
{
    tn_tensor *t = py_t(self);
    if (tn_tensor_numel(t) != 1 || tn_dtype_is_floating_point(tn_tensor_dtype(t)))
        return PyErr_Format(PyExc_TypeError, "only integer tensors of a single element can be converted to an index");
    PyObject *n = number_of(t), *i = n ? PyNumber_Long(n) : NULL;
    Py_XDECREF(n);
    return i;
}

static int as_bool(PyObject *self)
{
    int64_t n = tn_tensor_numel(py_t(self));
    if (n != 1) {
        PyErr_Format(PyExc_RuntimeError, "Boolean value of Tensor with %s is ambiguous",
                     n ? "more than one value" : "no values");
        return -1;
    }
    PyObject *number = number_of(py_t(self));
    int truth = number ? PyObject_IsTrue(number) : -1;
    Py_XDECREF(number);
    return truth;
}

#define SLOT(slot, op) {Py_nb_##slot, (void *)nb_##slot}, {Py_nb_inplace_##slot, (void *)nb_inplace_##slot},
const PyType_Slot py_number_slots[] = {
    BINARY_OPERATORS(SLOT){Py_nb_power, (void *)power},
    {Py_nb_inplace_power, (void *)inplace_power},
    {Py_nb_matrix_multiply, (void *)matrix_multiply},
    {Py_nb_negative, (void *)negative},
    {Py_nb_positive, (void *)positive},
    {Py_nb_absolute, (void *)absolute},
    {Py_nb_invert, (void *)invert},
    {Py_nb_float, (void *)as_float},
    {Py_nb_int, (void *)as_int},
    {Py_nb_index, (void *)as_index},
    {Py_nb_bool, (void *)as_bool},
    {Py_tp_richcompare, (void *)compare},
    {0, NULL},
};
