/* settings.c: settings of the process and of the thread, and questions about dtypes and tensors. */
#define TN_HERE "" /* errors name no line of this file */
#include "args.h"
#include "out.h"
#include <stdlib.h>

static PyObject *wrong(const char *function, const char *expected, PyObject *got)
{
    char name[64];
    return PyErr_Format(PyExc_RuntimeError, "%s expects %s, but got %s", function, expected,
                        py_type_name(got, name, sizeof name));
}

/* ---- the environment ---- */

static int warn_of(const tn_setting *s, PyObject *said)
{
    PyObject *text = PyUnicode_FromFormat("%s=%s: %s", s->name, s->value, s->wrong);
    int known = text ? PySet_Contains(said, text) : -1, status = known < 0 ? -1 : 0;
    if (!known)
        status = PyErr_WarnFormat(PyExc_UserWarning, 2, "%U", text) || PySet_Add(said, text) ? -1 : 0;
    Py_XDECREF(text);
    return status;
}

int py_warn_of_settings(void)
{
    static PyObject *said;
    const size_t n = tn_settings(NULL, 0);
    int status = 0;
    if (!n || (!said && !(said = PySet_New(NULL))))
        return n ? -1 : 0;
    tn_setting *set = PyMem_Calloc(n, sizeof *set);
    if (!set) {
        PyErr_NoMemory();
        return -1;
    }
    tn_settings(set, n);
    for (size_t i = 0; i < n && !status; i++)
        if (*set[i].wrong)
            status = warn_of(&set[i], said);
    PyMem_Free(set);
    return status;
}

static PyObject *warn_of_settings(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    if (py_warn_of_settings())
        return NULL;
    Py_RETURN_NONE;
}

/* ---- warnings of the library ---- */

/* In the main thread, by Python itself, between two of its instructions. */
static int give_warning(void *text)
{
    const int status = PyErr_WarnEx(PyExc_UserWarning, text, 1);
    free(text);
    return status;
}

/* Any thread may be the one, with or without the GIL, in the middle of a call: it asks for nothing, and waits for nobody. */
static void note_warning(const char *message)
{
    char *text = Py_IsInitialized() ? strdup(message) : NULL; /* not of Python's allocators: those want the GIL */
    if (text && Py_AddPendingCall(give_warning, text))
        free(text);
}

/* ---- threads ---- */

/* What a pool's size may be: 1 .. 2^31 - 1. */
static int pool_size(const char *function, PyObject *o, int32_t *out)
{
    if (!PyLong_Check(o) || PyBool_Check(o)) {
        wrong(function, "an int", o);
        return -1;
    }
    int overflow;
    long n = PyLong_AsLongAndOverflow(o, &overflow);
    if (overflow || n <= 0 || n > INT32_MAX) {
        PyErr_Format(PyExc_RuntimeError, "%s expects a positive integer", function);
        return -1;
    }
    *out = (int32_t)n;
    return 0;
}

static PyObject *set_num_threads(PyObject *self, PyObject *o)
{
    (void)self;
    int32_t n;
    return pool_size("set_num_threads", o, &n) ? NULL : py_done(tn_set_num_threads(n));
}

static PyObject *get_num_threads(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    return PyLong_FromLong(tn_get_num_threads());
}

/* Operations of one thread never run beside each other: there is no pool whose size this could be. */
static PyObject *set_num_interop_threads(PyObject *self, PyObject *o)
{
    (void)self;
    int32_t n;
    if (pool_size("set_num_interop_threads", o, &n))
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *get_num_interop_threads(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    return PyLong_FromLong(1);
}

/* ---- defaults ---- */

static PyObject *set_default_dtype(PyObject *self, PyObject *o)
{
    (void)self;
    if (Py_IS_TYPE(o, py_dtype_type))
        return py_done(tn_set_default_dtype(((py_dtype *)(void *)o)->v));
    return PyErr_Format(PyExc_TypeError,
                        "invalid dtype object: only floating-point types are supported as the default type");
}

static PyObject *get_default_dtype(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    return py_dtype_of(tn_get_default_dtype());
}

static PyObject *set_default_device(PyObject *self, PyObject *o)
{
    (void)self;
    char name[64];
    tn_device device = TN_CPU; /* None */
    int status = o == Py_None ? 0 : py_device_from(o, &device);
    if (status > 0)
        return PyErr_Format(PyExc_TypeError, "set_default_device(): argument 'device' must be torch.device, not %s",
                            py_type_name(o, name, sizeof name));
    return status ? NULL : py_done(tn_set_default_device(device));
}

static PyObject *get_default_device(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    return py_device_object(tn_get_default_device());
}

/* ---- arithmetic ---- */

static PyObject *set_float32_matmul_precision(PyObject *self, PyObject *o)
{
    (void)self;
    if (!PyUnicode_Check(o))
        return wrong("set_float32_matmul_precision", "a str", o);
    const char *text = PyUnicode_AsUTF8AndSize(o, NULL);
    if (!text)
        return NULL;
    if (!tn_set_float32_matmul_precision(text))
        Py_RETURN_NONE;
    /* PyTorch warns, and goes on */
    int status = PyErr_WarnEx(PyExc_UserWarning, tn_error_message(), 1);
    tn_error_clear();
    if (status)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *get_float32_matmul_precision(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    return PyUnicode_FromString(tn_get_float32_matmul_precision());
}

/* Nothing in Tenon is without a deterministic way, so there is nothing to warn of: warn_only is kept to be told again. */
static bool warn_only;

static PyObject *use_deterministic_algorithms(PyObject *self, PyObject *args, PyObject *kwds)
{
    static char *names[] = {"mode", "warn_only", NULL};
    PyObject *mode, *warn = Py_False;
    char name[64];
    (void)self;
    if (!PyArg_ParseTupleAndKeywords(args, kwds, "O|$O:use_deterministic_algorithms", names, &mode, &warn))
        return NULL;
    if (!PyBool_Check(mode) || !PyBool_Check(warn))
        return PyErr_Format(PyExc_TypeError,
                            "_set_deterministic_algorithms(): argument '%s' (position 1) must be bool, not %s",
                            PyBool_Check(mode) ? "warn_only" : "mode",
                            py_type_name(PyBool_Check(mode) ? warn : mode, name, sizeof name));
    tn_use_deterministic_algorithms(mode == Py_True);
    warn_only = warn == Py_True;
    Py_RETURN_NONE;
}

static PyObject *are_deterministic(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    return PyBool_FromLong(tn_are_deterministic_algorithms_enabled());
}

/* ---- warnings that come once ---- */

static bool warn_always;

bool py_warns(bool *warned)
{
    const bool now = warn_always || !*warned;
    *warned = true;
    return now;
}

static PyObject *set_warn_always(PyObject *self, PyObject *o)
{
    char name[64];
    (void)self;
    if (!PyBool_Check(o))
        return PyErr_Format(PyExc_RuntimeError, "setWarnOnlyOnce expects a bool, but got %s",
                            py_type_name(o, name, sizeof name));
    warn_always = o == Py_True;
    Py_RETURN_NONE;
}

static PyObject *is_warn_always(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    return PyBool_FromLong(warn_always);
}

/* _fill_uninitialized([mode]): sets it where said, tells what holds. */
static PyObject *fill_uninitialized(PyObject *self, PyObject *args)
{
    PyObject *mode = NULL;
    char name[64];
    (void)self;
    if (!PyArg_ParseTuple(args, "|O:_fill_uninitialized", &mode))
        return NULL;
    if (mode && !PyBool_Check(mode))
        return PyErr_Format(PyExc_RuntimeError, "expected a bool, but got %s", py_type_name(mode, name, sizeof name));
    if (mode)
        tn_set_fill_uninitialized_memory(mode == Py_True);
    return PyBool_FromLong(tn_fills_uninitialized_memory());
}

static PyObject *is_warn_only(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    return PyBool_FromLong(warn_only);
}

/* ---- printing ---- */

/* All five are said: tenon/_printing.py knows the profiles. */
static PyObject *set_print_options(PyObject *self, PyObject *args)
{
    int precision, threshold, edgeitems, linewidth, sci_mode;
    (void)self;
    if (!PyArg_ParseTuple(args, "iiiii", &precision, &threshold, &edgeitems, &linewidth, &sci_mode))
        return NULL;
    if (!linewidth)
        linewidth = 1; /* for the library zero is 'not said', and a negative number is zero */
    tn_set_print_options((tn_print_options){precision ? precision : -1, threshold ? threshold : -1,
                                            edgeitems ? edgeitems : -1, linewidth, sci_mode});
    Py_RETURN_NONE;
}

/* ---- dtypes ---- */

static PyObject *run_promote_types(PyObject *self, py_value *v, int which)
{
    (void)self, (void)which;
    const tn_dtype dtype = tn_promote_types(v[0].dtype, v[1].dtype);
    return dtype ? py_dtype_of(dtype) : py_raise();
}

static PyObject *run_can_cast(PyObject *self, py_value *v, int which)
{
    (void)self, (void)which;
    return PyBool_FromLong(tn_can_cast(v[0].dtype, v[1].dtype));
}

static tn_dtype dtype_of_number(tn_scalar s)
{
    return s.kind == TN_SCALAR_BOOL ? TN_BOOL : s.kind == TN_SCALAR_FLOAT ? tn_get_default_dtype() : TN_I64;
}

/* What counts of an operand for promotion, on meta: dtype, and whether it has dimensions. */
static tn_scalar shadow(tn_scalar s)
{
    if (s.kind != TN_SCALAR_TENSOR)
        return s;
    tn_dims shape = tn_tensor_ndim(s.v.t) ? TN_SHAPE(0) : (tn_dims){0};
    tn_options o = {.struct_size = sizeof o, .site = "", .device = TN_META, .dtype = tn_tensor_dtype(s.v.t)};
    return tn_scalar_t((tn_empty_opt)(TN__DIMS(shape), &o));
}

tn_dtype py_result_type(tn_scalar a, tn_scalar b)
{
    if (a.kind != TN_SCALAR_TENSOR && b.kind != TN_SCALAR_TENSOR)
        return tn_promote_types(dtype_of_number(a), dtype_of_number(b));
    tn_scope *scope = tn_scope_open();
    tn_tensor *product = (tn_mul_at)("", shadow(a), shadow(b));
    tn_dtype dtype = product ? tn_tensor_dtype(product) : 0;
    tn_scope_close(scope);
    return dtype;
}

static PyObject *run_result_type(PyObject *self, py_value *v, int which)
{
    (void)self, (void)which;
    const tn_dtype dtype = py_result_type(v[0].s, v[1].s);
    return dtype ? py_dtype_of(dtype) : py_raise();
}

/* ---- questions about tensors ---- */

static PyObject *is_tensor(PyObject *self, PyObject *o)
{
    (void)self;
    return PyBool_FromLong(py_is_tensor(o));
}

static PyObject *run_is_floating_point(PyObject *self, py_value *v, int which)
{
    (void)self, (void)which;
    return PyBool_FromLong(tn_dtype_is_floating_point(tn_tensor_dtype(v[0].s.v.t)));
}

/* Tenon has no complex dtype. */
static PyObject *run_is_complex(PyObject *self, py_value *v, int which)
{
    (void)self, (void)v, (void)which;
    Py_RETURN_FALSE;
}

static PyObject *run_is_signed(PyObject *self, py_value *v, int which)
{
    (void)self, (void)which;
    tn_dtype dtype = tn_tensor_dtype(v[0].s.v.t);
    return PyBool_FromLong(py_dtypes[dtype].is_signed);
}

static PyObject *run_numel(PyObject *self, py_value *v, int which)
{
    (void)self, (void)which;
    return PyLong_FromLongLong(tn_tensor_numel(v[0].s.v.t));
}

static PyObject *run_is_nonzero(PyObject *self, py_value *v, int which)
{
    (void)self, (void)which;
    int64_t n = tn_tensor_numel(v[0].s.v.t);
    if (n != 1)
        return PyErr_Format(PyExc_RuntimeError, "Boolean value of Tensor with %s is ambiguous",
                            n ? "more than one value" : "no values");
    double value;
    tn_error_clear();
    PY_BEGIN_OWNING(v[0].s.v.t)
        value = tn_item(v[0].s.v.t);
    PY_END_OWNING
    return tn_error_code() ? py_raise() : PyBool_FromLong(value != 0);
}

#define ASK(name, slots, signature) \
    static PyObject *name(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *names) \
    { \
        static py_function f = {#name, slots, {#name signature}, NULL, run_##name, false, false, NULL, 0, 0, 0}; \
        (void)self; \
        return py_call(&f, NULL, args, n, names); \
    }
ASK(promote_types, "type1 type2", "(dtype type1, dtype type2)")
ASK(can_cast, "from_ to", "(dtype from_, dtype to)")

static PyObject *result_type(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *names)
{
    static py_function f = {"result_type",
                            NULL,
                            {"result_type(Tensor tensor, Operand other)", "result_type(Number scalar, Tensor tensor)",
                             "result_type(Number scalar1, Number scalar2)"},
                            NULL,
                            run_result_type,
                            false,
                            false,
                            NULL,
                            0,
                            0,
                            0};
    (void)self;
    return py_call(&f, NULL, args, n, names);
}
ASK(is_floating_point, "input", "(Tensor input)")
ASK(is_complex, "input", "(Tensor input)")
ASK(is_signed, "input", "(Tensor input)")
ASK(is_nonzero, "input", "(Tensor input)")
ASK(numel, "input", "(Tensor input)")
#define FASTCALL(f) (PyCFunction)(void (*)(void)) f, METH_FASTCALL | METH_KEYWORDS

static PyMethodDef functions[] = {
    {"_warn_of_settings", warn_of_settings, METH_NOARGS, "Warns of each variable in the environment that is wrong."},
    {"set_num_threads", set_num_threads, METH_O,
     "set_num_threads(n: int) -> None\n\nSets how many threads CPU operations use: 1 to 256."},
    {"get_num_threads", get_num_threads, METH_NOARGS,
     "get_num_threads() -> int\n\nHow many threads CPU operations use."},
    {"set_num_interop_threads", set_num_interop_threads, METH_O,
     "set_num_interop_threads(n: int) -> None\n\nNo effect: operations do not run beside each other."},
    {"get_num_interop_threads", get_num_interop_threads, METH_NOARGS,
     "get_num_interop_threads() -> int\n\n1: operations do not run beside each other."},
    {"set_default_dtype", set_default_dtype, METH_O,
     "set_default_dtype(dtype: dtype) -> None\n\nSets the dtype of floating literals and of factories."},
    {"get_default_dtype", get_default_dtype, METH_NOARGS,
     "get_default_dtype() -> dtype\n\nThe dtype of floating literals and of factories."},
    {"set_default_device", set_default_device, METH_O,
     "set_default_device(device: device | str | int | None) -> None\n\nSets the device of factories; None: the CPU."},
    {"get_default_device", get_default_device, METH_NOARGS,
     "get_default_device() -> device\n\nThe device of factories."},
    {"set_float32_matmul_precision", set_float32_matmul_precision, METH_O,
     "set_float32_matmul_precision(precision: str) -> None\n\n'highest', 'high' or 'medium'."},
    {"get_float32_matmul_precision", get_float32_matmul_precision, METH_NOARGS,
     "get_float32_matmul_precision() -> str\n\n'highest', 'high' or 'medium'"},
    {"use_deterministic_algorithms", (PyCFunction)(void (*)(void))use_deterministic_algorithms,
     METH_VARARGS | METH_KEYWORDS,
     "use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None\n\nOn: the same bits in every run, "
     "also where another way is faster; what nobody has written is filled (torch.utils.deterministic)."},
    {"set_warn_always", set_warn_always, METH_O,
     "set_warn_always(b: bool) -> None\n\nOn: warnings that come once in a process come each time."},
    {"is_warn_always_enabled", is_warn_always, METH_NOARGS, "is_warn_always_enabled() -> bool\n\nDo they?"},
    {"_fill_uninitialized", fill_uninitialized, METH_VARARGS, NULL},
    {"are_deterministic_algorithms_enabled", are_deterministic, METH_NOARGS,
     "are_deterministic_algorithms_enabled() -> bool\n\nAre they?"},
    {"is_deterministic_algorithms_warn_only_enabled", is_warn_only, METH_NOARGS,
     "is_deterministic_algorithms_warn_only_enabled() -> bool\n\nWhat was said last."},
    {"_set_print_options", set_print_options, METH_VARARGS, "(precision, threshold, edgeitems, linewidth, sci_mode)"},
    {"is_tensor", is_tensor, METH_O, "is_tensor(obj) -> bool\n\nIs it a Tensor?"},
    {"promote_types", FASTCALL(promote_types),
     "promote_types(type1: dtype, type2: dtype) -> dtype\n\nThe smallest dtype that both can be."},
    {"can_cast", FASTCALL(can_cast),
     "can_cast(from_: dtype, to: dtype) -> bool\n\nDoes from_ become to without a change of kind?"},
    {"result_type", FASTCALL(result_type),
     "result_type(tensor1: Tensor | Number, tensor2: Tensor | Number) -> dtype\n\nThe dtype of arithmetic between "
     "both."},
    {"is_floating_point", FASTCALL(is_floating_point),
     "is_floating_point(input: Tensor) -> bool\n\nIs the dtype a floating one?"},
    {"is_complex", FASTCALL(is_complex), "is_complex(input: Tensor) -> bool\n\nFalse: Tenon has no complex numbers."},
    {"is_signed", FASTCALL(is_signed), "is_signed(input: Tensor) -> bool\n\nHas the dtype negative numbers?"},
    {"is_nonzero", FASTCALL(is_nonzero), "is_nonzero(input: Tensor) -> bool\n\nIs the one element other than zero?"},
    {"numel", FASTCALL(numel), "numel(input: Tensor) -> int\n\nHow many elements."},
    {NULL, NULL, 0, NULL},
};

int py_add_settings(PyObject *module)
{
    tn_set_warning_handler(note_warning);
    return PyModule_AddFunctions(module, functions);
}
