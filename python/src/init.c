/* init.c: what torch.nn.init asks of the library: gains, fans, standard deviations and bounds, normal numbers within bounds. */
#include "generator.h"

#include <math.h>
#include <string.h>
#include <tenon/nn.h>

static PyObject *gain(PyObject *self, PyObject *args)
{
    static const struct {
        const char *name;
        int32_t which;
    } known[] = {
        {"leaky_relu", TN_GAIN_LEAKY_RELU}, {"tanh", TN_GAIN_TANH}, {"relu", TN_GAIN_RELU}, {"selu", TN_GAIN_SELU}};
    (void)self;
    PyObject *name;
    double a;
    if (!PyArg_ParseTuple(args, "Od:_gain", &name, &a))
        return NULL;
    for (size_t i = 0; PyUnicode_Check(name) && i < sizeof known / sizeof *known; i++)
        if (!PyUnicode_CompareWithASCIIString(name, known[i].name))
            return PyFloat_FromDouble(tn_init_gain(known[i].which, a));
    return PyErr_Format(PyExc_ValueError, "Unsupported nonlinearity %S", name);
}

static bool tensor_first(PyObject *o)
{
    char name[64];
    if (!py_is_tensor(o))
        PyErr_Format(PyExc_TypeError, "a Tensor was expected, but got %s", py_type_name(o, name, sizeof name));
    return py_is_tensor(o);
}

static PyObject *fans(PyObject *self, PyObject *t)
{
    (void)self;
    double in, out;
    if (!tensor_first(t))
        return NULL;
    if (!tn_init_fans(py_t(t), &in, &out))
        return py_raise();
    return Py_BuildValue("NN", PyLong_FromDouble(in), PyLong_FromDouble(out));
}

/* What f gives of a tensor and a gain. A gain of 1 tells what is wrong with the tensor, whatever the gain is: NaN is the
 * library's error; without anything going in, PyTorch's Python divides by 0. */
static PyObject *of_gain(PyObject *args, double (*f)(const tn_tensor *t, double gain, bool fan_out))
{
    PyObject *t;
    double gain;
    int fan_out = 0;
    if (!PyArg_ParseTuple(args, "Od|p:init", &t, &gain, &fan_out) || !tensor_first(t))
        return NULL;
    const double one = f(py_t(t), 1, fan_out);
    if (isnan(one))
        return py_raise();
    if (isinf(one)) {
        PyErr_SetString(PyExc_ZeroDivisionError, "float division by zero");
        return NULL;
    }
    return PyFloat_FromDouble(f(py_t(t), gain, fan_out));
}

static double xavier_std_of(const tn_tensor *t, double gain, bool unused)
{
    (void)unused;
    return tn_init_xavier_std(t, gain);
}

static double xavier_bound_of(const tn_tensor *t, double gain, bool unused)
{
    (void)unused;
    return tn_init_xavier_bound(t, gain);
}

static PyObject *xavier_std(PyObject *self, PyObject *args)
{
    (void)self;
    return of_gain(args, xavier_std_of);
}

static PyObject *xavier_bound(PyObject *self, PyObject *args)
{
    (void)self;
    return of_gain(args, xavier_bound_of);
}

static PyObject *kaiming_std(PyObject *self, PyObject *args)
{
    (void)self;
    return of_gain(args, tn_init_kaiming_std);
}

static PyObject *kaiming_bound(PyObject *self, PyObject *args)
{
    (void)self;
    return of_gain(args, tn_init_kaiming_bound);
}

static PyObject *eye(PyObject *self, PyObject *t)
{
    (void)self;
    if (!tensor_first(t))
        return NULL;
    return tn_init_eye_(py_t(t)) ? Py_NewRef(t) : py_raise();
}

static PyObject *trunc_normal(PyObject *self, PyObject *args)
{
    (void)self;
    PyObject *t, *generator;
    double mean, std, low, high;
    if (!PyArg_ParseTuple(args, "OddddO:trunc_normal_", &t, &mean, &std, &low, &high, &generator) || !tensor_first(t))
        return NULL;
    const py_value from = {.given = true, .u.object = generator}, used = {.s = tn_scalar_t(py_t(t))};
    py_draw draw;
    if (py_draw_begin(&draw, "normal_", &from, tn_tensor_device(py_t(t)), &used, 1))
        return NULL;
    const tn_tensor *done = tn_init_trunc_normal__at("", py_t(t), mean, std, low, high);
    py_draw_end(&draw);
    return done ? Py_NewRef(t) : py_raise();
}

static PyMethodDef functions[] = {
    {"_gain", gain, METH_VARARGS, "_gain(nonlinearity, a) -> float"},
    {"_fans", fans, METH_O, "_fans(tensor) -> tuple"},
    {"_xavier_std", xavier_std, METH_VARARGS, "_xavier_std(tensor, gain) -> float"},
    {"_kaiming_std", kaiming_std, METH_VARARGS, "_kaiming_std(tensor, gain, fan_out) -> float"},
    {"_xavier_bound", xavier_bound, METH_VARARGS, "_xavier_bound(tensor, gain) -> float"},
    {"_kaiming_bound", kaiming_bound, METH_VARARGS, "_kaiming_bound(tensor, gain, fan_out) -> float"},
    {"_init_eye_", eye, METH_O, "_init_eye_(tensor) -> Tensor"},
    {"_trunc_normal_", trunc_normal, METH_VARARGS, "_trunc_normal_(tensor, mean, std, a, b, generator) -> Tensor"},
    {NULL, NULL, 0, NULL},
};

int py_add_init(PyObject *module)
{
    return PyModule_AddFunctions(module, functions);
}
